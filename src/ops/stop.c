/* stop.c -- stop_gradient in all its cells: the identity whose derivative is zero. No pass may drop
 * it: a graph that is optimised may still be differentiated. It costs nothing in compiled code. */
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
