/* cut_tag.c -- what names and packing in a joint graph say to the cut. Names are the values they
 * name: the cut decides about those, once, however many names they have. */
#include "ad/cut.h"
#include "ad/flow.h"

#include <string.h>

/* Can what pack gives leave the forward half, and be unpacked in the other? */
static bool can_pack(const hop_cutter *c, const hop_node *n)
{
	const struct hop_attr_packed *a = n->attr;
	for (int64_t i = 0; i < a->sargs.n; i++)
		if ((uint32_t)hop_size_nsym(a->sargs.v[i]) > c->j->nsym)
			return false;
	for (uint32_t k = 0; k < a->pack->nout; k++)
		if (hop_cut_local(c, hop_cut_pack_type(c, n, k)))
			return false;
	return true;
}

const hop_type *hop_cut_pack_type(const hop_cutter *c, const hop_node *n, uint32_t k)
{
	const struct hop_attr_packed *a = n->attr;
	return hop_type_subst(c->env, hop_graph_out_type(a->pack, k), a->sargs.v, (int)a->sargs.n);
}

/* needs: late. */
void hop_cut_tags(hop_cutter *c)
{
	const hop_graph *j = c->j;
	c->root = HOP_NEWN(&c->env->tmp, uint32_t, j->nvalue);
	c->tag = HOP_NEWN(&c->env->tmp, uint8_t, j->nvalue);
	c->called = HOP_NEWN(&c->env->tmp, hop_str, j->nvalue);
	c->packer = HOP_NEWN(&c->env->tmp, const hop_node *, j->nvalue);
	for (uint32_t v = 0; v < j->nvalue; v++)
		c->root[v] = v;
	for (uint32_t i = 0; i < j->nnode; i++) {
		const hop_node *n = &j->node[i];
		if (!hop_cut_names(n))
			continue;
		uint32_t x = c->root[n->out0.id] = c->root[n->in[0].id];
		if (c->late[n->out0.id])
			continue;
		if (n->op == HOP_OP_packed && can_pack(c, n))
			c->packer[x] = n;
		if (n->op == HOP_OP_name && HOP_ATTR(n, name)->save)
			c->tag[x] = (uint8_t)HOP_ATTR(n, name)->save;
		if (n->op == HOP_OP_name && HOP_ATTR(n, name)->name.n)
			c->called[x] = HOP_ATTR(n, name)->name;
	}
}

bool hop_cut_names(const hop_node *n)
{
	return n->op == HOP_OP_name || n->op == HOP_OP_packed ||
	       (n->op == HOP_OP_hook && !(hop_node_holds(n) & HOP_HOLDS_HOST));
}

/* What is pure may be asked again where only the run knows how much there is to keep. */
bool hop_cut_once(const hop_cutter *c, const hop_node *n)
{
	uint16_t holds = hop_node_holds(n);
	if (hop_cut_names(n) || hop_optab[n->op].flags & HOP_F_G || !(holds & HOP_HOLDS_HOST))
		return false;
	for (uint32_t k = 0; !(holds & HOP_HOLDS_ASKS) && k < n->nout; k++)
		if (hop_cut_local(c, c->j->type[n->out0.id + k]))
			return false;
	return true;
}

int64_t hop_cut_crossing(const hop_cutter *c, uint32_t v)
{
	const hop_node *p = c->packer[v];
	if (!p)
		return hop_cut_bytes(c, c->j->type[v]);
	int64_t n = 0;
	for (uint32_t k = 0; k < HOP_ATTR(p, packed)->pack->nout; k++)
		n += hop_cut_bytes(c, hop_cut_pack_type(c, p, k));
	return n < HOP_FLOW_INF >> 20 ? n : HOP_FLOW_INF >> 20;
}

bool hop_cut_pinned(const hop_cutter *c, uint32_t v)
{
	return c->tag[v] == HOP_SAVE_must_save && v >= c->nprimal && !hop_cut_local(c, c->j->type[v]);
}

/* One of the results of n has this tag. */
static bool tagged(const hop_cutter *c, const hop_node *n, enum hop_save save)
{
	for (uint32_t k = 0; k < n->nout; k++)
		if (c->tag[n->out0.id + k] == save)
			return true;
	return false;
}

bool hop_cut_banned(const hop_cutter *c, const hop_node *n, bool heavy, bool prefer)
{
	if (hop_cut_once(c, n))
		return true;
	if (hop_cut_names(n) || tagged(c, n, HOP_SAVE_must_recompute) ||
	    tagged(c, n, HOP_SAVE_prefer_recompute))
		return false;
	return heavy || (prefer && tagged(c, n, HOP_SAVE_prefer_save));
}

/* Why there is no cut: what the host gives is kept, and this cannot be, or must not. */
hop_status hop_cut_stuck(const hop_cutter *c)
{
	for (uint32_t i = 0; i < c->j->nnode; i++) {
		const hop_node *n = &c->j->node[i];
		for (uint32_t k = 0; hop_cut_once(c, n) && k < n->nout; k++) {
			uint32_t v = n->out0.id + k;
			if (hop_cut_local(c, c->j->type[v]))
				return hop_fail(c->env, n->loc, HOP_EREFUSED, "%s: reverse mode must keep result %u, "
				                "since the host is not asked twice, but only the run knows its size: "
				                "give the result its capacity", hop_optab[n->op].name, k);
			if (!c->late[v] && c->tag[v] == HOP_SAVE_must_recompute)
				return hop_fail(c->env, n->loc, HOP_EREFUSED, "%s: result %u%s%.*s must be computed "
				                "again, but the host is not asked twice: let it be saved",
				                hop_optab[n->op].name, k, c->called[v].n ? ", called " : "",
				                (int)c->called[v].n, c->called[v].n ? c->called[v].s : "");
		}
	}
	HOP_ASSERT(!"all but parameters and what the host gives can be computed again");
	return HOP_EREFUSED;
}
