/* type.c -- interned types.
 * Does not check sizes: whether a dimension may be negative is for infer to say. */
#include <string.h>

#include "ctx/ctx.h"
#include "ir/type.h"

const hop_type *hop_type_get(hop_env *e, hop_dtype d, int rank, const hop_size *dim)
{
	HOP_ASSERT(d < HOP_NDTYPE && rank >= 0 && rank <= HOP_MAXRANK);
	union {                     /* zeroed, padding too: it is interned as bytes */
		hop_type t;
		char bytes[sizeof(hop_type) + HOP_MAXRANK * sizeof(hop_size)];
	} u;
	size_t n = (size_t)rank * sizeof(hop_size);
	memset(&u, 0, sizeof u);
	u.t.dtype = (uint8_t)d;
	u.t.rank = (uint8_t)rank;
	if (n)
		memcpy(u.bytes + sizeof(hop_type), dim, n);
	return hop_ctx_intern(e, HOP_IN_TYPE, &u, sizeof(hop_type) + n, _Alignof(hop_type));
}

_Static_assert(offsetof(hop_type, dim) == sizeof(hop_type), "dim[] starts at the end");

const hop_type *hop_type_scalar(hop_env *e, hop_dtype d)
{
	return hop_type_get(e, d, 0, NULL);
}

const hop_type *hop_type_with(hop_env *e, const hop_type *t, hop_dtype d)
{
	return hop_type_get(e, d, t->rank, t->dim);
}

const hop_type *hop_type_prepend(hop_env *e, const hop_type *t, hop_size n)
{
	hop_size dim[HOP_MAXRANK];
	HOP_ASSERT(t->rank < HOP_MAXRANK);
	dim[0] = n;
	for (int i = 0; i < t->rank; i++)
		dim[i + 1] = t->dim[i];
	return hop_type_get(e, (hop_dtype)t->dtype, t->rank + 1, dim);
}

const hop_type *hop_type_drop(hop_env *e, const hop_type *t)
{
	HOP_ASSERT(t->rank > 0);
	return hop_type_get(e, (hop_dtype)t->dtype, t->rank - 1, t->dim + 1);
}

const hop_type *hop_type_subst(hop_env *e, const hop_type *t, const hop_size *args, int n)
{
	hop_size dim[HOP_MAXRANK];
	bool same = true;
	for (int i = 0; i < t->rank; i++) {
		dim[i] = hop_size_subst(e, t->dim[i], args, n);
		same = same && hop_size_eq(dim[i], t->dim[i]);
	}
	return same ? t : hop_type_get(e, (hop_dtype)t->dtype, t->rank, dim);
}

hop_size hop_type_count(hop_env *e, const hop_type *t)
{
	hop_size n = hop_size_int(1);
	for (int i = 0; i < t->rank; i++)
		n = hop_size_mul(e, n, t->dim[i]);
	return n;
}

bool hop_type_diff(const hop_type *t)
{
	return hop_dtype_diff((hop_dtype)t->dtype);
}

bool hop_type_is_scalar(const hop_type *t, hop_dtype d)
{
	return t && t->dtype == d && !t->rank;
}

void hop_type_print(hop_buf *b, const hop_type *t, const char *const *names, int n)
{
	hop_put(b, hop_dtype_name((hop_dtype)t->dtype));
	if (!t->rank)
		return;
	for (int i = 0; i < t->rank; i++) {
		hop_put(b, i ? ", " : "[");
		hop_size_print(b, t->dim[i], names, n);
	}
	hop_putc(b, ']');
}
