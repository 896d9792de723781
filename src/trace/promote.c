/* promote.c -- the one place that decides dtypes and shapes of mixed operands: PyTorch's
 * rule for tensors, 0-d tensors and numbers. It emits casts and broadcasts, which cost
 * nothing; the ops themselves need operands of one type. */
#include "trace/trace.h"

#include <string.h>

_Static_assert((int)HOP_RANK == (int)HOP_MAXRANK, "both headers say how many axes there are");

enum { NONE = -1 };

static int wider(int a, int b)
{
	return a == NONE ? b : b == NONE ? a : (int)hop_dtype_join((hop_dtype)a, (hop_dtype)b);
}

/* Operands of higher standing decide, unless those of lower standing are of a higher kind:
 * then both count. */
static int outrank(int high, int low)
{
	if (high == NONE || low == NONE)
		return wider(high, low);
	enum hop_dclass h = hop_dtype_class((hop_dtype)high), l = hop_dtype_class((hop_dtype)low);
	return l > h ? wider(high, low) : high;
}

hop_dtype hop_promote_dtype(hop_trace *t, int n, const hop_value *v)
{
	int dim = NONE, zero = NONE, num = NONE;
	for (int i = 0; i < n; i++) {
		int64_t s = hop_slot_of(t, v[i]);
		if (s < 0)
			return HOP_f32;
		const hop_cell *c = &t->slot[s];
		int d = c->type->dtype;
		if (c->weak)
			num = wider(num, d);
		else if (c->type->rank)
			dim = wider(dim, d);
		else
			zero = wider(zero, d);
	}
	int d = outrank(outrank(dim, zero), num);
	return d == NONE ? HOP_f32 : (hop_dtype)d;
}

hop_val hop_promote_cast(hop_trace *t, hop_value v, hop_dtype d)
{
	int64_t i = hop_slot_of(t, v);
	if (i < 0)
		return HOP_BAD;
	hop_cell s = t->slot[i];
	if (!s.weak)
		return hop_emit_cast(&t->b, hop_slot_read(t, (uint32_t)i), d);
	if (s.weak != HOP_WEAK_FLOAT)
		return hop_dtype_float(d) ? hop_emit_const_f(&t->b, d, (double)s.i)
		                          : hop_emit_const_i(&t->b, d, s.i);
	if (hop_dtype_float(d))
		return hop_emit_const_f(&t->b, d, s.f);
	return hop_emit_cast(&t->b, hop_emit_const_f(&t->b, HOP_f64, s.f), d);
}

hop_val hop_promote_whole(hop_trace *t, hop_value v, const char *what)
{
	int64_t i = hop_slot_of(t, v);
	if (i < 0)
		return HOP_BAD;
	hop_dtype d = (hop_dtype)t->slot[i].type->dtype;
	if (hop_dtype_class(d) != HOP_DC_INT) {
		hop_trace_fail(t, HOP_ETYPE, "%s: %s is %s, an integer it must be: cast it", t->op,
		               what, hop_dtype_name(d));
		return HOP_BAD;
	}
	return hop_promote_cast(t, v, HOP_i64);
}

/* Two operands whose sizes, right aligned, are known not to broadcast: fails with both types. */
static bool fit(hop_trace *t, hop_val x, hop_val y)
{
	const hop_type *a = hop_typeof(&t->b, x), *b = hop_typeof(&t->b, y);
	for (int k = 1; k <= a->rank && k <= b->rank; k++) {
		hop_size m = a->dim[a->rank - k], n = b->dim[b->rank - k];
		if (!hop_size_const(m) || !hop_size_const(n) || m.k == n.k || m.k == 1 || n.k == 1)
			continue;
		hop_trace_fail(t, HOP_ESHAPE, "%s: %s and %s do not broadcast: on axis %d are %lld and %lld",
		               t->op, hop_type_text(t, a), hop_type_text(t, b), -k, (long long)m.k,
		               (long long)n.k);
		return false;
	}
	return true;
}

bool hop_common_shape(hop_trace *t, int n, const hop_val *v, int *out_rank,
                      hop_size *out_dim)
{
	int rank = 0;
	for (int i = 0; i < n; i++) {
		if (hop_is_bad(v[i]))
			return false;
		int r = hop_typeof(&t->b, v[i])->rank;
		rank = r > rank ? r : rank;
		for (int j = 0; j < i; j++)
			if (!fit(t, v[j], v[i]))
				return false;
	}
	for (int k = 0; k < rank; k++)
		out_dim[k] = hop_size_int(1);
	for (int i = 0; i < n; i++) {
		const hop_type *type = hop_typeof(&t->b, v[i]);
		for (int k = 0; k < type->rank; k++) {
			hop_size *d = &out_dim[rank - type->rank + k];
			if (hop_size_is(*d, 1))
				*d = type->dim[k];
		}
	}
	*out_rank = rank;
	return true;
}

/* Sizes of 1 go by a reshape, then the axes that are left are placed. A size that is neither
 * 1 nor equal is left to the op's own check, which names it. */
hop_val hop_broadcast_to(hop_trace *t, hop_val x, int rank, const hop_size *dim)
{
	hop_build *b = &t->b;
	if (b->st || hop_is_bad(x))
		return HOP_BAD;
	const hop_type *type = hop_typeof(b, x);
	int lead = rank - type->rank, n = 0;
	int64_t axes[HOP_MAXRANK];
	hop_size kept[HOP_MAXRANK], want[HOP_MAXRANK];
	bool same = lead == 0;
	for (int k = 0; k < rank; k++)
		want[k] = dim[k];
	for (int k = 0; k < type->rank; k++) {
		hop_size s = type->dim[k];
		if (hop_size_is(s, 1) && !hop_size_is(dim[lead + k], 1)) {
			same = false;
			continue;
		}
		if (!hop_size_eq(s, dim[lead + k]) && hop_size_const(s) &&
		    hop_size_const(dim[lead + k])) {
			hop_trace_fail(t, HOP_ESHAPE, "%s: %s and size %lld do not broadcast: dimension "
			               "%d is %lld", t->op, hop_type_text(t, type),
			               (long long)dim[lead + k].k, k, (long long)s.k);
			return HOP_BAD;
		}
		axes[n] = lead + k;
		want[lead + k] = s;
		kept[n++] = s;
	}
	if (same)
		return x;
	if (n < type->rank)
		x = hop_emit_reshape(b, x, n, kept);
	return b->st ? HOP_BAD : hop_emit_broadcast(b, x, rank, want, axes);
}

bool hop_promote(hop_trace *t, int n, const hop_value *v, hop_dtype d, hop_val *out)
{
	int rank;
	hop_size dim[HOP_MAXRANK];
	if (d == HOP_NDTYPE)
		d = hop_promote_dtype(t, n, v);
	for (int i = 0; i < n; i++)
		if (hop_is_bad(out[i] = hop_promote_cast(t, v[i], d)))
			return false;
	if (!hop_common_shape(t, n, out, &rank, dim))
		return false;
	for (int i = 0; i < n; i++)
		if (hop_is_bad(out[i] = hop_broadcast_to(t, out[i], rank, dim)))
			return false;
	return true;
}
