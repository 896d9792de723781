/* abs.c -- the absolute value: all that the row `abs` of ops.def names and no other row
 * has. Its shapes, types and batching are those of every elementwise op. */
#include "ops/ops.h"

/* abs x -- the absolute value; the least integer stays as it is */
hop_status hop_eval_abs(hop_interp *p, const hop_node *n, hop_array *const *in,
                        hop_array **out)
{
	const hop_array *x = in[0];
	(void)p;
	(void)n;
	for (int64_t i = 0; i < x->count; i++) {
		if (hop_dtype_real(x->dtype)) {
			double v = hop_array_f(x, i);
			hop_array_set_f(out[0], i, __builtin_fabs(v));
		} else {
			int64_t v = hop_array_i(x, i);
			hop_array_set_i(out[0], i, v < 0 ? (int64_t)(0 - (uint64_t)v) : v);
		}
	}
	return HOP_OK;
}

/* t with the sign of x; zero where x is zero, as PyTorch has it. */
static hop_val with_sign(hop_build *b, hop_val x, hop_val t)
{
	if (b->st)
		return HOP_BAD;
	hop_val zero = hop_emit_zeros(b, hop_typeof(b, x));
	hop_val below = hop_emit(b, select, hop_emit(b, lt, x, zero), hop_emit(b, neg, t), zero);
	return hop_emit(b, select, hop_emit(b, lt, zero, x), t, below);
}

hop_status hop_jvp_abs(hop_build *b, hop_rule *r)
{
	r->dout[0] = with_sign(b, r->in[0], r->din[0]);
	return HOP_OK;
}

hop_status hop_vjp_abs(hop_build *b, hop_rule *r)
{
	r->din[0] = with_sign(b, r->in[0], r->dout[0]);
	return HOP_OK;
}
