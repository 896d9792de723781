/* cond.c -- cond: one of two graphs; switch: one of any number. What they mean; derivatives
 * and batching are in cond_ad.c. */
#include "hops/body.h"

#include <string.h>

/* The name of body j, for messages: a list of bodies is told apart by numbers. */
static const char *name_of(hop_infer *f, int j)
{
	hop_node n = { .op = (uint16_t)f->op, .attr = f->attr };
	const hop_field *d = hop_node_subfield(&n, j);
	const char *s = d->name;
	if (d->kind == HOP_AK_graphs)
		return hop_infer_text(f, "%s %d", s, j);
	return s[0] && s[strlen(s) - 1] == '_' ? hop_infer_text(f, "%.*s", (int)strlen(s) - 1, s) : s;
}

/* Every body takes the operands behind the first and gives results of the same types. */
static hop_status branches(hop_infer *f)
{
	hop_node n = { .op = (uint16_t)f->op, .attr = f->attr };
	hop_graphs sub = hop_node_subs(&n);
	hop_sizes sargs = hop_node_sargs(&n);
	const char *op = hop_optab[f->op].name, *first = name_of(f, 0);
	for (int j = 0; j < sub.n; j++)
		HOP_TRY(hop_body_takes(f, name_of(f, j), sub.v[j], sargs, f->nin - 1, f->in + 1));
	for (int j = 1; j < sub.n; j++)
		if (sub.v[j]->nout != sub.v[0]->nout)
			return hop_infer_fail(f, HOP_ETYPE, "%s: %s gives %u results, %s gives %u", op,
			                      first, sub.v[0]->nout, name_of(f, j), sub.v[j]->nout);
	hop_infer_outs(f, sub.v[0]->nout);
	for (uint32_t k = 0; k < f->nout; k++) {
		HOP_TRY(hop_body_gives(f, first, sub.v[0], sargs, k, &f->out[k]));
		for (int j = 1; j < sub.n; j++) {
			const hop_type *t;
			HOP_TRY(hop_body_gives(f, name_of(f, j), sub.v[j], sargs, k, &t));
			if (t != f->out[k])
				HOP_TRY(hop_types_agree(f, f->out[k], t, "result", k, first, name_of(f, j)));
		}
	}
	return HOP_OK;
}

/* cond pred operands {sargs then else} -- apply one of two graphs; only that one runs */
hop_status hop_infer_cond(hop_infer *f)
{
	if (!f->nin || !hop_type_is_scalar(f->in[0], HOP_bool))
		return hop_infer_fail(f, HOP_ETYPE, "cond: the predicate must be a bool scalar: "
		                      "compare, or reduce with amax, first");
	return branches(f);
}

/* switch index operands {sargs branch...} -- apply the graph of this number, counted from 0;
 * an index before the first means the first, one past the last the last */
hop_status hop_infer_switch(hop_infer *f)
{
	const struct hop_attr_switch *a = f->attr;
	if (!a->branch.n)
		return hop_infer_fail(f, HOP_ETYPE, "switch: there is no branch to choose from");
	if (!f->nin || !hop_type_is_scalar(f->in[0], HOP_i64))
		return hop_infer_fail(f, HOP_ETYPE, "switch: the index must be an i64 scalar");
	return branches(f);
}

hop_status hop_eval_cond(hop_interp *p, const hop_node *n, hop_array *const *in,
                         hop_array **out)
{
	const struct hop_attr_cond *a = HOP_ATTR(n, cond);
	return hop_interp_body(p, n, hop_array_i(in[0], 0) ? a->then : a->else_, in + 1, out);
}

hop_status hop_eval_switch(hop_interp *p, const hop_node *n, hop_array *const *in,
                           hop_array **out)
{
	hop_graphs b = HOP_ATTR(n, switch)->branch;
	int64_t k = hop_array_i(in[0], 0);
	return hop_interp_body(p, n, b.v[k < 0 ? 0 : k < b.n ? k : b.n - 1], in + 1, out);
}
