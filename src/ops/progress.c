/* progress.c -- progress: how far a loop is, for whoever waits for it. It gives no result and decides
 * nothing, so that it may be dropped; what is made of it is in ctx/meter.c. */
#include "ops/ops.h"

/* progress i n {text} -- trip i, from 0, of n (0 = not known) is done; shown now and then, or dropped */
hop_status hop_infer_progress(hop_infer *f)
{
	static const char *const what[2] = { "the trip", "the number of trips" };
	for (uint32_t i = 0; i < 2; i++) {
		if (f->in[i]->dtype != HOP_i64)
			return hop_infer_fail(f, HOP_ETYPE, "progress: %s is %s, i64 it must be", what[i],
			                      hop_dtype_name(f->in[i]->dtype));
		if (f->in[i]->rank)
			return hop_infer_fail(f, HOP_ESHAPE, "progress: %s has rank %d, a scalar it must be",
			                      what[i], f->in[i]->rank);
	}
	return HOP_OK;
}

hop_status hop_eval_progress(hop_interp *p, const hop_node *n, hop_array *const *in,
                             hop_array **out)
{
	(void)out;
	hop_meter_tell(&p->meter, n->loc, HOP_ATTR(n, progress)->text.s,
	               *(const int64_t *)in[0]->data, *(const int64_t *)in[1]->data);
	return HOP_OK;
}

/* The most of all lanes; of those that are not there, -1, which says nothing. */
static hop_val furthest(hop_build *b, const hop_rule *r, hop_val v, bool batched)
{
	const hop_type *t = hop_type_get(b->env, HOP_i64, 1, &r->bsize);
	const int64_t axis = 0;
	hop_val none = hop_emit_lead(b, hop_emit_const_i(b, HOP_i64, -1), r->bsize);
	hop_val all = batched ? v : hop_emit_lead(b, v, r->bsize);
	if (!hop_is_zero(r->mask))
		all = hop_emit(b, select, hop_emit_match(b, r->mask, t), all, none);
	return hop_emit_reduce(b, HOP_OP_amax, all, 1, &axis);
}

/* One for all lanes. */
hop_status hop_batch_progress(hop_build *b, hop_rule *r)
{
	struct hop_attr_progress a = *HOP_ATTR(r->n, progress);
	hop_val in[2];
	for (int i = 0; i < 2; i++) {
		bool one = !r->bin[i] && (i || hop_is_zero(r->mask));
		in[i] = one ? r->in[i] : furthest(b, r, r->in[i], r->bin[i]);
	}
	if (!b->st)
		hop_emit_op(b, HOP_OP_progress, &a, 2, in);
	return b->st;
}
