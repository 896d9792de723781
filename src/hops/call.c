/* call.c -- call: a closed graph applied to operands. cond: one of two. What they mean;
 * their derivatives are in call_ad.c and cond_ad.c. */
#include "ad/ad.h"
#include "hops/body.h"

#include <string.h>

/* call operands {sargs body} -- apply a graph; equal graphs are compiled once */
hop_status hop_infer_call(hop_infer *f)
{
	const struct hop_attr_call *a = f->attr;
	HOP_TRY(hop_body_takes(f, "body", a->body, a->sargs, f->nin, f->in));
	hop_infer_outs(f, a->body->nout);
	for (uint32_t k = 0; k < f->nout; k++)
		HOP_TRY(hop_body_gives(f, "body", a->body, a->sargs, k, &f->out[k]));
	return HOP_OK;
}

hop_status hop_eval_call(hop_interp *p, const hop_node *n, hop_tensor *const *in,
                         hop_tensor **out)
{
	return hop_interp_body(p, n, HOP_ATTR(n, call)->body, in, out);
}

/* cond pred operands {sargs then else} -- apply one of two graphs; only that one runs */
hop_status hop_infer_cond(hop_infer *f)
{
	const struct hop_attr_cond *a = f->attr;
	if (!f->nin || f->in[0]->dtype != HOP_bool || f->in[0]->rank)
		return hop_infer_fail(f, HOP_ETYPE, "cond: the predicate must be a bool scalar: "
		                      "compare, or reduce with amax, first");
	HOP_TRY(hop_body_takes(f, "then", a->then, a->sargs, f->nin - 1, f->in + 1));
	HOP_TRY(hop_body_takes(f, "else", a->else_, a->sargs, f->nin - 1, f->in + 1));
	if (a->then->nout != a->else_->nout)
		return hop_infer_fail(f, HOP_ETYPE, "cond: then gives %u results, else gives %u",
		                      a->then->nout, a->else_->nout);
	hop_infer_outs(f, a->then->nout);
	for (uint32_t k = 0; k < f->nout; k++) {
		const hop_type *t;
		HOP_TRY(hop_body_gives(f, "then", a->then, a->sargs, k, &f->out[k]));
		HOP_TRY(hop_body_gives(f, "else", a->else_, a->sargs, k, &t));
		HOP_TRY(hop_types_agree(f, f->out[k], t, "result", k, "then", "else"));
	}
	return HOP_OK;
}

hop_status hop_eval_cond(hop_interp *p, const hop_node *n, hop_tensor *const *in,
                         hop_tensor **out)
{
	const struct hop_attr_cond *a = HOP_ATTR(n, cond);
	return hop_interp_body(p, n, hop_tensor_i(in[0], 0) ? a->then : a->else_, in + 1, out);
}

