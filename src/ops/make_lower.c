/* make_lower.c -- lowering of ops that make values: constants, iota, sizes.
 * Random numbers are in random_lower.c. */
#include <string.h>

#include "loop/lower.h"

/* Equal elements need no memory. */
static bool is_splat(const hop_data *v)
{
	size_t b = hop_dtype_bytes((hop_dtype)v->type->dtype);
	return v->nbyte <= b || !memcmp(v->bytes, (const char *)v->bytes + b, v->nbyte - b);
}

hop_status hop_lower_constant(hop_lower *l, const hop_node *n)
{
	const hop_data *v = HOP_ATTR(n, constant)->value;
	hop_dtype of = (hop_dtype)v->type->dtype, d = hop_dtype_computes(of);
	if (!is_splat(v)) {
		hop_lower_is_data(l, n, v);
		return HOP_OK;
	}
	if (!v->nbyte)
		l->reg = hop_lower_const(l, d, 0, 0);
	else if (hop_dtype_real(d))
		l->reg = hop_lower_const(l, d, hop_elem_f(of, v->bytes), 0);
	else
		l->reg = hop_lower_const(l, d, 0, hop_elem_i(of, v->bytes));
	return HOP_OK;
}

hop_status hop_lower_iota(hop_lower *l, const hop_node *n)
{
	hop_reg r = hop_lower_ixreg(l, l->q.ix[HOP_ATTR(n, iota)->axis]);
	l->reg = hop_lower_to(l, (hop_dtype)hop_lower_out(l, n, 0)->dtype, HOP_i64, r);
	return HOP_OK;
}

hop_status hop_lower_size_of(hop_lower *l, const hop_node *n)
{
	l->reg = hop_lower_sizereg(l, hop_lower_size(l, HOP_ATTR(n, size_of)->size));
	return HOP_OK;
}

/* Also binds the symbol: later sizes read its buffer. */
hop_status hop_lower_as_size(hop_lower *l, const hop_node *n)
{
	hop_reg lo, hi, r;
	if (l->q.ask != HOP_ASK_STORE) {
		hop_lower_must(l);
		if (l->q.dry.on)
			(void)hop_lower_scalar(l, n, 0);
		return HOP_OK;
	}
	r = hop_lower_scalar(l, n, 0);
	lo = hop_lower_const(l, HOP_i64, 0, HOP_ATTR(n, as_size)->min);
	hi = hop_lower_const(l, HOP_i64, 0, HOP_ATTR(n, as_size)->max);
	r = hop_lower_do(l, max, HOP_i64, r, lo);
	r = hop_lower_do(l, min, HOP_i64, r, hi);
	hop_lower_put(l, HOP_i64, l->q.dest.buf, l->q.dest.base, r);
	if (!l->q.dry.on)
		hop_lower_put(l, HOP_i64,
		              hop_lower_local(l, l->q.inst, (int)HOP_ATTR(n, as_size)->sym),
		              hop_ix_size(l, hop_size_int(0)), r);
	return HOP_OK;
}
