/* checkpoint.c -- checkpoint: a call, to all but a reverse pass. What that does is in call_ad.c. */
#include "hops/body.h"
#include "loop/lower.h"

/* checkpoint operands {budget sargs body} -- a call; a reverse pass computes it again */
hop_status hop_infer_checkpoint(hop_infer *f)
{
	const struct hop_attr_checkpoint *a = f->attr;
	if (!(a->budget >= 0 && a->budget <= 1))
		return hop_infer_fail(f, HOP_EVALUE, "checkpoint: a budget of %g: it must be from 0 to 1",
		                      a->budget);
	HOP_TRY(hop_body_takes(f, "body", a->body, a->sargs, f->nin, f->in));
	hop_infer_outs(f, a->body->nout);
	for (uint32_t k = 0; k < f->nout; k++)
		HOP_TRY(hop_body_gives(f, "body", a->body, a->sargs, k, &f->out[k]));
	return HOP_OK;
}

hop_status hop_eval_checkpoint(hop_interp *p, const hop_node *n, hop_array *const *in,
                               hop_array **out)
{
	return hop_interp_body(p, n, HOP_ATTR(n, checkpoint)->body, in, out);
}

/* The pass `plain` makes calls of them; without it they are none the less. */
hop_status hop_lower_checkpoint(hop_lower *l, const hop_node *n)
{
	return hop_lower_call_body(l, n, HOP_ATTR(n, checkpoint)->body);
}
