/* host_batch.c -- functions of the host under batching: lane by lane, in the order of the lanes, and
 * only those that are there; or once for all of them, where the function says that it takes leading
 * axes. The former is a loop around the node, so that a function sees what it was written for. */
#include "data/foreign.h"
#include "hops/batch.h"
#include "ops/ops.h"

#include <string.h>

/* A lane's graph: its parameters are operands[order], its size parameters the symbols that the node
 * mentions. */
struct lane {
	hop_build      *b;
	const hop_rule *r;
	uint32_t       *order;         /* batched operands, then the others */
	hop_size       *to;            /* source symbol -> size of the lane's graph */
	int            *sym;           /* size parameter -> source symbol */
	int             nsym;
};

static void meet(void *user, int s)
{
	struct lane *l = user;
	for (int i = 0; i < l->nsym; i++)
		if (l->sym[i] == s)
			return;
	l->to[s] = hop_size_sym(l->b->env, l->nsym);
	l->sym[l->nsym++] = s;
}

static void lane_init(struct lane *l)
{
	const hop_rule *r = l->r;
	hop_arena *tmp = &l->b->env->tmp;
	uint32_t n = 0;
	l->order = HOP_NEWN(tmp, uint32_t, r->n->nin);
	l->to = HOP_NEWN(tmp, hop_size, r->nsmap);
	l->sym = HOP_NEWN(tmp, int, r->nsmap);
	for (int batched = 1; batched >= 0; batched--)
		for (uint32_t i = 0; i < r->n->nin; i++)
			if (r->bin[i] == batched)
				l->order[n++] = i;
	for (uint32_t i = 0; i < r->n->nin; i++)
		for (int k = 0; k < r->type[r->n->in[i].id]->rank; k++)
			hop_size_syms(r->type[r->n->in[i].id]->dim[k], meet, l);
	hop_node_syms(r->n, meet, l);
}

static const hop_type *type_in(const struct lane *l, hop_val source)
{
	return hop_type_subst(l->b->env, l->r->type[source.id], l->to, l->r->nsmap);
}

/* Parameters in the lane's order; in[] in the node's. */
static void open(struct lane *l, hop_build *c, bool masked, hop_val *mask, hop_val *in)
{
	const hop_node *n = l->r->n;
	hop_build_open(c, l->b->env);
	c->loc = n->loc;
	for (int i = 0; i < l->nsym; i++)
		hop_build_sym(c, (hop_range){ 0, HOP_SIZE_MAX }, NULL);
	if (masked)
		*mask = hop_build_param(c, hop_type_scalar(l->b->env, HOP_bool));
	for (uint32_t i = 0; i < n->nin; i++)
		in[l->order[i]] = hop_build_param(c, type_in(l, n->in[l->order[i]]));
}

/* What a lane does that is there, and what one gives that is not: zeros, and what it would have
 * written as it was. */
static hop_status lane_graph(struct lane *l, bool there, const hop_graph **out_g)
{
	const hop_node *n = l->r->n;
	hop_arena *tmp = &l->b->env->tmp;
	hop_val *in = HOP_NEWN(tmp, hop_val, n->nin), *out = HOP_NEWN(tmp, hop_val, n->nout);
	hop_build c;
	hop_graph *made;
	open(l, &c, false, NULL, in);
	hop_val v = there ? hop_emit_copy(&c, l->r->g, n, in, l->to, l->r->nsmap) : HOP_ZERO;
	hop_ints w = hop_node_writes(n);
	uint32_t nout = n->nout - (uint32_t)w.n;
	for (uint32_t k = 0; k < n->nout && !c.st; k++) {
		if (there)
			out[k] = (hop_val){ v.id + k };
		else if (k < nout)
			out[k] = hop_emit_zeros(&c, type_in(l, (hop_val){ n->out0.id + k }));
		else
			out[k] = in[w.v[k - nout]];
	}
	HOP_TRY(hop_seal(&c, n->nout, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

static hop_status masked_graph(struct lane *l, const hop_graph **out_g)
{
	const hop_node *n = l->r->n;
	hop_env *e = l->b->env;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, n->nin), *out = HOP_NEWN(&e->tmp, hop_val, n->nout);
	hop_val *moved = HOP_NEWN(&e->tmp, hop_val, n->nin), mask;
	const hop_graph *then, *els;
	hop_build c;
	hop_graph *made;
	HOP_TRY(lane_graph(l, true, &then));
	HOP_TRY(lane_graph(l, false, &els));
	open(l, &c, true, &mask, in);
	for (uint32_t i = 0; i < n->nin; i++)
		moved[i] = in[l->order[i]];
	hop_emit_cond(&c, then, els, hop_own_sizes(e, (uint32_t)l->nsym), mask, moved, out);
	HOP_TRY(hop_seal(&c, n->nout, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

static hop_status by_lane(hop_build *b, hop_rule *r)
{
	const hop_node *n = r->n;
	hop_env *e = b->env;
	struct lane l = { .b = b, .r = r };
	bool masked = !hop_is_zero(r->mask);
	uint32_t nx = masked;
	lane_init(&l);
	hop_scan_args s = { .length = r->bsize, .count = HOP_ZERO,
	                    .unordered = !(hop_optab[n->op].flags & HOP_F_X) };
	HOP_TRY(masked ? masked_graph(&l, &s.body) : lane_graph(&l, true, &s.body));
	hop_size *sargs = HOP_NEWN(&e->tmp, hop_size, l.nsym);
	for (int i = 0; i < l.nsym; i++)
		sargs[i] = r->smap[l.sym[i]];
	s.sargs = (hop_sizes){ l.nsym, sargs };
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, n->nin + 1);
	in[0] = r->mask;
	for (uint32_t i = 0; i < n->nin; i++) {
		in[masked + i] = r->in[l.order[i]];
		nx += r->bin[i];
	}
	s.nx = nx;
	s.nconst = n->nin + masked - nx;
	s.x = in;
	s.konst = in + nx;
	return hop_emit_scan(b, &s, r->out);
}

/* One call: every operand and every result has the leading axis. A lane that is not there has the
 * values of one that is. */
static hop_status at_once(hop_build *b, hop_rule *r)
{
	const hop_node *n = r->n;
	hop_env *e = b->env;
	struct hop_attr_host *a = hop_rule_attr(b, r);
	hop_types t = a->types;
	hop_size *dim = HOP_NEWN(&e->tmp, hop_size, t.ndim + t.n), *to = dim;
	int64_t *head = HOP_NEWN(&e->tmp, int64_t, 2 * t.n);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, n->nin);
	hop_val some = hop_is_zero(r->mask) ? HOP_ZERO : hop_emit_some_lane(b, r->mask);
	for (uint32_t i = 0; i < n->nin; i++)
		in[i] = !r->bin[i] ? hop_emit_lead(b, r->in[i], r->bsize)
		      : hop_is_zero(some) ? r->in[i] : hop_emit_safe(b, r->mask, some, r->in[i]);
	for (int64_t k = 0; k < t.n; k++) {
		head[2 * k] = t.head[2 * k];
		head[2 * k + 1] = t.head[2 * k + 1] + 1;
		if (head[2 * k + 1] > HOP_MAXRANK)
			return hop_fail(e, n->loc, HOP_ESHAPE, "%s: result %lld has rank %d already",
			                hop_optab[n->op].name, (long long)k, HOP_MAXRANK);
		*to++ = r->bsize;
		for (int64_t i = 0; i < t.head[2 * k + 1]; i++)
			*to++ = *t.dim++;
	}
	a->types = (hop_types){ t.ndim + t.n, dim, t.n, head };
	hop_val v = hop_emit_op(b, n->op, a, n->nin, in);
	for (uint32_t k = 0; k < n->nout; k++)
		r->out[k] = b->st ? HOP_BAD : (hop_val){ v.id + k };
	return b->st;
}

/* An effect is never done for lanes that are not there. */
hop_status hop_batch_host(hop_build *b, hop_rule *r)
{
	hop_str s = HOP_ATTR(r->n, host)->fn;
	const hop_foreign *f = hop_foreign_find(b->env->ctx, s.s, (size_t)s.n);
	bool effect = hop_optab[r->n->op].flags & HOP_F_X;
	memset(r->bout, 1, r->n->nout);
	if (f && f->batch == HOP_HOST_WHOLE && !(effect && !hop_is_zero(r->mask)))
		return at_once(b, r);
	return by_lane(b, r);
}
