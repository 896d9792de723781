/* tensor.c -- dense tensors of the interpreter. No arithmetic here. */
#include "interp/interp.h"

#include <string.h>

/* The header is padded so that the data behind it is aligned for any vector unit. */
enum { ALIGN = 64 };

hop_tensor *hop_tensor_new(hop_interp *p, hop_dtype d, int rank, const int64_t *dim)
{
	size_t n = 1, bytes;
	HOP_ASSERT(rank >= 0 && rank <= HOP_MAXRANK);
	for (int i = 0; i < rank; i++)
		if (dim[i] < 0 || __builtin_mul_overflow(n, (size_t)dim[i], &n))
			hop_nomem(p->env);
	if (__builtin_mul_overflow(n, hop_dtype_bytes(d), &bytes) || bytes > SIZE_MAX / 2)
		hop_nomem(p->env);
	size_t total = sizeof(hop_tensor) + 2 * ALIGN + bytes;
	hop_tensor *t = hop_raw_new(p->env, total);
	memset(t, 0, sizeof *t);
	t->refs = 1;
	t->dtype = d;
	t->rank = rank;
	for (int i = 0; i < rank; i++)
		t->dim[i] = dim[i];
	t->count = (int64_t)n;
	t->bytes = total;
	t->data = (void *)(((uintptr_t)(t + 1) + ALIGN - 1) / ALIGN * ALIGN);
	memset(t->data, 0, bytes);
	t->next = p->live.next;
	t->prev = &p->live;
	p->live.next->prev = t;
	p->live.next = t;
	return t;
}

hop_tensor *hop_tensor_retain(hop_tensor *t)
{
	t->refs++;
	return t;
}

void hop_tensor_release(hop_interp *p, hop_tensor *t)
{
	if (!t || --t->refs)
		return;
	t->next->prev = t->prev;
	t->prev->next = t->next;
	hop_raw_free(&p->env->mem, t, t->bytes);
}

void hop_interp_init(hop_interp *p, hop_env *e)
{
	memset(p, 0, sizeof *p);
	p->env = e;
	p->live.next = p->live.prev = &p->live;
}

void hop_interp_fini(hop_interp *p)
{
	while (p->live.next != &p->live) {
		p->live.next->refs = 1;
		hop_tensor_release(p, p->live.next);
	}
}

hop_tensor *hop_tensor_of(hop_interp *p, const hop_type *t)
{
	int64_t dim[HOP_MAXRANK];
	for (int i = 0; i < t->rank; i++)
		dim[i] = hop_interp_size(p, t->dim[i]);
	return hop_tensor_new(p, (hop_dtype)t->dtype, t->rank, dim);
}

/* ---- elements ---- */

static void *element(const hop_tensor *t, int64_t i)
{
	return (char *)t->data + (size_t)i * hop_dtype_bytes(t->dtype);
}

double hop_tensor_f(const hop_tensor *t, int64_t i)
{
	return hop_elem_f(t->dtype, element(t, i));
}

int64_t hop_tensor_i(const hop_tensor *t, int64_t i)
{
	return hop_elem_i(t->dtype, element(t, i));
}

void hop_tensor_set_f(hop_tensor *t, int64_t i, double v)
{
	hop_elem_set_f(t->dtype, element(t, i), v);
}

void hop_tensor_set_i(hop_tensor *t, int64_t i, int64_t v)
{
	hop_elem_set_i(t->dtype, element(t, i), v);
}
