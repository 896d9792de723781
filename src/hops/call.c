/* call.c -- call: a closed graph applied to operands. What it means; its derivatives are in
 * call_ad.c. */
#include "ad/ad.h"
#include "hops/body.h"

#include <string.h>

/* call operands {no_inline no_fuse unroll hints to sargs body} -- apply a graph; equal are one */
hop_status hop_infer_call(hop_infer *f)
{
	const struct hop_attr_call *a = f->attr;
	if (a->unroll < 0)
		return hop_infer_fail(f, HOP_EVALUE, "call: unroll is %lld: it is how many steps of its loops "
		                      "run at a time", (long long)a->unroll);
	HOP_TRY(hop_body_takes(f, "body", a->body, a->sargs, f->nin, f->in));
	hop_infer_outs(f, a->body->nout);
	for (uint32_t k = 0; k < f->nout; k++)
		HOP_TRY(hop_body_gives(f, "body", a->body, a->sargs, k, &f->out[k]));
	return HOP_OK;
}

hop_status hop_eval_call(hop_interp *p, const hop_node *n, hop_array *const *in,
                         hop_array **out)
{
	return hop_interp_body(p, n, HOP_ATTR(n, call)->body, in, out);
}
