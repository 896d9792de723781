/* stop.c -- stop_gradient, straight, retain_grad and name in all their cells: identities that mean
 * something to a derivative. No pass may drop them: a graph that is optimised may still be
 * differentiated. They cost nothing in compiled code. */
#include "loop/lower.h"
#include "ops/ops.h"

#include <string.h>

/* stop_gradient x -- x, as a constant to every derivative */
hop_status hop_infer_stop(hop_infer *f)
{
	f->out[0] = f->in[0];
	return HOP_OK;
}

hop_status hop_eval_stop(hop_interp *p, const hop_node *n, hop_array *const *in,
                         hop_array **out)
{
	(void)p, (void)n;
	if (in[0]->count)
		memcpy(out[0]->data, in[0]->data,
		       (size_t)in[0]->count * hop_dtype_bytes(in[0]->dtype));
	return HOP_OK;
}

hop_status hop_lower_stop(hop_lower *l, const hop_node *n)
{
	l->reg = hop_lower_arg(l, n, 0, l->q.ix);
	return HOP_OK;
}

/* straight x y -- x, with the derivatives of y: what is between them has the slope 1 */
hop_status hop_jvp_straight(hop_build *b, hop_rule *r)
{
	(void)b;
	r->dout[0] = r->din[1];
	return HOP_OK;
}

hop_status hop_vjp_straight(hop_build *b, hop_rule *r)
{
	(void)b;
	if (r->act[1])
		r->din[1] = r->dout[0];
	return HOP_OK;
}

/* retain_grad x {name} -- x; a gradient gives that of x too, as a result of this name */
hop_status hop_infer_retain(hop_infer *f)
{
	const struct hop_attr_retain_grad *a = f->attr;
	if (!hop_type_diff(f->in[0]))
		return hop_infer_fail(f, HOP_ENODIFF, "retain_grad: %s is no float: it has no gradient",
		                      hop_dtype_name((hop_dtype)f->in[0]->dtype));
	if (!a->name.n)
		return hop_infer_fail(f, HOP_EVALUE, "retain_grad: a name is needed");
	f->out[0] = f->in[0];
	return HOP_OK;
}

/* name x {name save} -- x; what a cut of the reverse pass that needs x does with it */
hop_status hop_infer_name(hop_infer *f)
{
	f->out[0] = f->in[0];
	return HOP_OK;
}

/* Tangents and cotangents are not marked. */
hop_status hop_jvp_retain(hop_build *b, hop_rule *r)
{
	(void)b;
	r->dout[0] = r->din[0];
	return HOP_OK;
}

hop_status hop_vjp_retain(hop_build *b, hop_rule *r)
{
	(void)b;
	r->din[0] = r->dout[0];
	return HOP_OK;
}
