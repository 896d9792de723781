/* elements.c -- the elements of arrays: one by one, and copied from one layout to another. */
#include "data/stream.h"

#include <string.h>

static void *element(const hop_array *a, int64_t i)
{
	return (char *)a->data + (size_t)i * hop_dtype_bytes(a->dtype);
}

double hop_array_f(const hop_array *a, int64_t i)
{
	return hop_elem_f(a->dtype, element(a, i));
}

int64_t hop_array_i(const hop_array *a, int64_t i)
{
	return hop_elem_i(a->dtype, element(a, i));
}

void hop_array_set_f(hop_array *a, int64_t i, double v)
{
	hop_elem_set_f(a->dtype, element(a, i), v);
}

void hop_array_set_i(hop_array *a, int64_t i, int64_t v)
{
	hop_elem_set_i(a->dtype, element(a, i), v);
}

/* ---- layouts ---- */

void hop_copy_strided(size_t size, int rank, const int64_t *dim, void *to, const int64_t *ts,
                      const void *from, const int64_t *fs)
{
	char *t = to;
	const char *f = from;
	if (!rank) {
		memcpy(t, f, size);
		return;
	}
	for (int64_t i = 0; i < dim[0]; i++)
		hop_copy_strided(size, rank - 1, dim + 1, t + i * ts[0] * (int64_t)size, ts + 1,
		                 f + i * fs[0] * (int64_t)size, fs + 1);
}

void hop_dense_strides(int rank, const int64_t *dim, int64_t *out)
{
	int64_t n = 1;
	for (int i = rank; i-- > 0; ) {
		out[i] = n;
		n *= dim[i];
	}
}

hop_status hop_array_pack(const hop_array *a, void *to)
{
	int64_t s[HOP_RANK];
	if (!a->bytes)
		return HOP_OK;
	if (a->mem) {
		HOP_TRY(hop_array_use((hop_array *)(uintptr_t)a, NULL, false));
		return hop_far_told(a->ctx, "copy from", a->mem->copy(NULL, to, a->data, a->bytes));
	}
	if (a->dense) {
		memcpy(to, a->data, a->bytes);
		return HOP_OK;
	}
	hop_dense_strides(a->rank, a->dim, s);
	hop_copy_strided(hop_dtype_bytes(a->dtype), a->rank, a->dim, to, s, a->data, a->stride);
	return HOP_OK;
}

hop_status hop_array_unpack(hop_array *a, const void *from)
{
	int64_t s[HOP_RANK];
	if (!a->bytes)
		return HOP_OK;
	hop_array_changed(a);
	if (a->mem) {
		HOP_TRY(hop_array_use(a, NULL, true));
		return hop_far_told(a->ctx, "copy to", a->mem->copy(NULL, a->data, from, a->bytes));
	}
	if (a->dense) {
		memcpy(a->data, from, a->bytes);
		return HOP_OK;
	}
	hop_dense_strides(a->rank, a->dim, s);
	hop_copy_strided(hop_dtype_bytes(a->dtype), a->rank, a->dim, a->data, a->stride, from, s);
	return HOP_OK;
}

/* The bytes from the first to the last of its elements. */
static void span(const hop_array *a, uintptr_t *out_lo, uintptr_t *out_hi)
{
	int64_t lo = 0, hi = 1, size = (int64_t)hop_dtype_bytes(a->dtype);
	for (int i = 0; !a->dense && i < a->rank; i++) {
		int64_t far = (a->dim[i] - 1) * a->stride[i];
		lo += far < 0 ? far : 0;
		hi += far > 0 ? far : 0;
	}
	*out_lo = (uintptr_t)a->data + (uintptr_t)(lo * size);
	*out_hi = (uintptr_t)a->data + (a->dense ? a->bytes : (uintptr_t)(hi * size));
}

bool hop_array_meet(const hop_array *a, const hop_array *b)
{
	uintptr_t x, y, xe, ye;
	if (!a->bytes || !b->bytes || a->mem != b->mem)
		return false;
	span(a, &x, &xe);
	span(b, &y, &ye);
	return x < ye && y < xe;
}
