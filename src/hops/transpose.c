/* transpose.c -- linear functions turned round: reverse mode of what does not depend on where it
 * is asked. Also tells what is linear: by the structure of the graph, never by numbers.
 *
 * A function is linear if its reverse does not read the inputs, and if every result vanishes where
 * the inputs do: the second refuses x + 1. */
#include "hops/transpose.h"

#include <string.h>

#include "ad/ad.h"
#include "hops/body.h"

/* Parameters: g's, then cotangents. Results: cotangents of those with lin; what they do not need is
 * gone. */
static hop_status reverse(hop_env *e, const hop_graph *g, const bool *lin, const hop_graph **out_g)
{
	const hop_graph *j;
	hop_graph *made;
	hop_build b;
	bool *ct = HOP_NEWN(&e->tmp, bool, g->nout);
	for (uint32_t k = 0; k < g->nout; k++)
		ct[k] = hop_type_diff(hop_graph_out_type(g, k));
	HOP_TRY(hop_ad_pure(e, g, &g));
	HOP_TRY(hop_ad_vjp(e, g, ct, lin, &j));
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, j->nparam);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, j->nout);
	hop_body_open(&b, e, j);
	for (uint32_t i = 0; i < j->nparam; i++)
		in[i] = hop_build_param(&b, j->type[i]);
	hop_body_inline(&b, j, in, out);
	HOP_TRY(hop_seal(&b, j->nout - g->nout, out + g->nout, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

hop_status hop_graph_transpose(hop_env *e, const hop_graph *g, const bool *lin, const hop_graph **out_g)
{
	const hop_graph *r;
	hop_graph *made;
	hop_build b;
	HOP_TRY(reverse(e, g, lin, &r));
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, r->nparam);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, r->nout);
	hop_body_open(&b, e, r);
	for (uint32_t i = g->nparam; i < r->nparam; i++)
		in[i] = hop_build_param(&b, r->type[i]);
	for (uint32_t i = 0; i < g->nparam; i++)
		if (!lin[i])
			in[i] = hop_build_param(&b, g->type[i]);
	for (uint32_t i = 0; i < g->nparam; i++)
		if (lin[i])
			in[i] = hop_emit_zeros(&b, g->type[i]);
	hop_body_inline(&b, r, in, out);
	HOP_TRY(hop_seal(&b, r->nout, out, g->name, &made));
	*out_g = made;
	return HOP_OK;
}

/* ---- does the reverse read the inputs? ---- */

static hop_status reads_inputs(hop_env *e, const hop_graph *g, const bool *lin, bool *out_reads)
{
	const hop_graph *r;
	HOP_TRY(reverse(e, g, lin, &r));
	*out_reads = false;
	for (uint32_t i = 0; i < r->nnode; i++)
		for (uint32_t k = 0; k < r->node[i].nin; k++) {
			uint32_t v = r->node[i].in[k].id;
			*out_reads |= v < g->nparam && lin[v];
		}
	return HOP_OK;
}

/* g up to node n, whose float results it gives; NULL if it has none. */
static hop_status prefix(hop_env *e, const hop_graph *g, uint32_t n, hop_graph **out_g)
{
	hop_build b;
	int nsym = (int)(g->nsym + g->nlocal);
	hop_val *map = HOP_NEWN(&e->tmp, hop_val, g->nvalue);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->node[n].nout);
	hop_size *smap = HOP_NEWN(&e->tmp, hop_size, nsym);
	uint32_t nout = 0;
	*out_g = NULL;
	hop_body_open(&b, e, g);
	for (uint32_t i = 0; i < g->nsym; i++)
		smap[i] = hop_size_sym(e, (int)i);
	for (uint32_t i = 0; i < g->nparam; i++)
		map[i] = hop_build_param(&b, g->type[i]);
	for (uint32_t i = 0; i <= n && !b.st; i++) {
		const hop_node *d = &g->node[i];
		hop_val *in = HOP_NEWN(&e->tmp, hop_val, d->nin);
		for (uint32_t k = 0; k < d->nin; k++)
			in[k] = map[d->in[k].id];
		hop_val v = hop_emit_copy(&b, g, d, in, smap, nsym);
		for (uint32_t k = 0; k < d->nout; k++)
			map[d->out0.id + k] = hop_is_bad(v) ? v : (hop_val){ v.id + k };
	}
	for (uint32_t k = 0; k < g->node[n].nout; k++)
		if (hop_type_diff(g->type[g->node[n].out0.id + k]))
			out[nout++] = map[g->node[n].out0.id + k];
	return hop_seal(&b, nout, out, NULL, out_g);
}

/* Name the first node whose results are not linear. */
static hop_status refuse(hop_env *e, const char *op, hop_loc loc, const hop_graph *g,
                         const bool *lin)
{
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		hop_graph *h;
		bool reads;
		HOP_TRY(prefix(e, g, i, &h));
		HOP_TRY(reads_inputs(e, h, lin, &reads));
		if (reads)
			return hop_fail(e, n->loc ? n->loc : loc, HOP_ENODIFF, "%s: %s is not linear in the "
			                "inputs: it needs their values", op, hop_optab[n->op].name);
	}
	return hop_fail(e, loc, HOP_ENODIFF, "%s: the function is not linear in the inputs: its "
	                "derivative needs their values", op);
}

/* ---- does it vanish where the inputs do? ---- */

static void vanishing(hop_env *e, const hop_graph *g, const bool *in, const bool *dep, bool *out);

static bool zero_data(const hop_data *d)
{
	for (size_t i = 0; i < d->nbyte; i++)
		if (((const char *)d->bytes)[i])
			return false;
	return true;
}

/* Linear in one operand each, given the others: zero if that one is. */
static bool product(int op)
{
	return op == HOP_OP_mul || op == HOP_OP_div || op == HOP_OP_dot || op == HOP_OP_solve ||
	       op == HOP_OP_triangular_solve;
}

/* A plain node; dep: it depends on the inputs, and then it is linear in them. */
static bool plain_vanishes(const hop_graph *g, const hop_node *n, const bool *van, const bool *dep,
                           bool depends)
{
	if (n->op == HOP_OP_constant)
		return zero_data(HOP_ATTR(n, constant)->value);
	if (!n->nin || !(depends || hop_optab[n->op].flags & HOP_F_L))
		return false;
	bool all = true, any = false;
	for (uint32_t k = 0; k < n->nin; k++) {
		uint32_t v = n->in[k].id;
		if (!hop_type_diff(g->type[v]))
			continue;
		all &= van[v];
		any |= van[v] && dep[v];
	}
	return product(n->op) ? any : all;
}

/* By its bodies: a carry vanishes as long as a step keeps it so. */
static void bodies_vanish(hop_env *e, const hop_node *n, bool *in, const bool *dep, bool *out)
{
	hop_roles node, body;
	hop_graphs sub = hop_node_subs(n);
	hop_node_roles(n, &node);
	for (bool more = true; more; ) {
		bool runs = false;
		more = false;
		memset(out, 1, n->nout);
		for (int j = 0; j < sub.n; j++) {
			hop_body_roles(n, j, &body);
			if (!sub.v[j] || !hop_sig_gives(&body))
				continue;
			runs = true;
			bool *res = HOP_NEWN(&e->tmp, bool, sub.v[j]->nout);
			vanishing(e, sub.v[j], in + node.lead, dep + node.lead, res);
			for (uint32_t k = 0; k < sub.v[j]->nout; k++) {
				uint32_t to = hop_sig_result(&node, &body, k);
				if (to != UINT32_MAX)
					out[to] &= res[k];
			}
		}
		if (!runs)
			memset(out, 0, n->nout);
		for (uint32_t k = 0; k < node.in.carry.n; k++) {
			bool *a = &in[node.in.carry.at + k], *o = &out[node.out.carry.at + k];
			more |= *a && !*o;
			*a = *o = *a && *o;
		}
	}
}

/* A solution is zero if all right-hand sides are. */
static void solution_vanishes(const hop_node *n, const bool *in, bool *out)
{
	bool all = true;
	for (uint32_t k = 0; k + 1 < n->nout; k++)
		all &= in[k];
	memset(out, all, n->nout);
}

/* in: which parameters vanish; dep: which depend on the inputs. */
static void vanishing(hop_env *e, const hop_graph *g, const bool *in, const bool *dep, bool *out)
{
	bool *van = HOP_NEWN(&e->tmp, bool, g->nvalue), *on = HOP_NEWN(&e->tmp, bool, g->nvalue);
	memcpy(van, in, g->nparam * sizeof *van);
	memcpy(on, dep, g->nparam * sizeof *on);
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		bool depends = false;
		bool *a = HOP_NEWN(&e->tmp, bool, n->nin), *d = HOP_NEWN(&e->tmp, bool, n->nin);
		bool *o = van + n->out0.id;
		for (uint32_t k = 0; k < n->nin; k++) {
			a[k] = van[n->in[k].id];
			d[k] = on[n->in[k].id];
			depends |= d[k];
		}
		for (uint32_t k = 0; k < n->nout; k++)
			on[n->out0.id + k] = depends;
		if (n->op == HOP_OP_linear_solve)
			solution_vanishes(n, a, o);
		else if (n->op == HOP_OP_packed)
			o[0] = a[0];
		else if (hop_optab[n->op].flags & HOP_F_R)
			bodies_vanish(e, n, a, d, o);
		else if (n->nout)
			o[0] = plain_vanishes(g, n, van, on, depends);
	}
	for (uint32_t k = 0; k < g->nout; k++)
		out[k] = van[g->out[k].id];
}

hop_status hop_linear_check(hop_env *e, const char *op, hop_loc loc, const hop_graph *g,
                            const bool *lin)
{
	hop_mark m = hop_mark_at(&e->tmp);
	bool reads, *van = HOP_NEWN(&e->tmp, bool, g->nout);
	hop_status st = HOP_OK;
	for (uint32_t k = 0; k < g->nout && !st; k++)
		if (!hop_type_diff(hop_graph_out_type(g, k)))
			st = hop_fail(e, loc, HOP_ENODIFF, "%s: result %u is %s: a linear function gives "
			              "floats", op, k,
			              hop_dtype_name((hop_dtype)hop_graph_out_type(g, k)->dtype));
	if (!st)
		st = reads_inputs(e, g, lin, &reads);
	if (!st && reads)
		st = refuse(e, op, loc, g, lin);
	if (!st)
		vanishing(e, g, lin, lin, van);
	for (uint32_t k = 0; k < g->nout && !st; k++)
		if (!van[k])
			st = hop_fail(e, loc, HOP_ENODIFF, "%s: result %u is not zero where the inputs are: it "
			              "adds something that does not depend on them", op, k);
	hop_rewind(&e->tmp, m);
	return st;
}
