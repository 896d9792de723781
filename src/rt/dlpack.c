/* dlpack.c -- arrays from and to DLPack tensors. The structs are laid out as its ABI says; a
 * tensor comes from outside, so nothing in it is believed. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "data/stream.h"
#include "hop/dlpack.h"
#include "rt/device.h"

enum { ON_CPU = HOP_CPU, ON_CUDA_HOST = 3 };         /* devices whose memory is ours to read */
enum { IS_INT = 0, IS_UINT = 1, IS_FLOAT = 2, IS_BFLOAT = 4, IS_COMPLEX = 5, IS_BOOL = 6 };
enum { MAJOR = 1, MINOR = 0, READ_ONLY = 1 };

typedef struct tensor {
	void    *data;
	struct { int32_t type, id; } device;
	int32_t  ndim;
	struct { uint8_t code, bits; uint16_t lanes; } dtype;
	int64_t *shape, *strides;           /* in elements; strides NULL = dense */
	uint64_t offset;                    /* in bytes */
} tensor;

struct DLManagedTensor {
	tensor t;
	void  *owner;
	void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
	struct { uint32_t major, minor; } version;
	void    *owner;
	void   (*deleter)(struct DLManagedTensorVersioned *self);
	uint64_t flags;
	tensor   t;
};

__attribute__((format(printf, 3, 4)))
static hop_status refuse(hop_ctx *c, hop_status st, const char *fmt, ...)
{
	char text[200];
	va_list ap;
	int n = snprintf(text, sizeof text, "error: DLPack: ");
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof text - (size_t)n, fmt, ap);
	va_end(ap);
	hop_diag d = { .st = st, .text = text, .len = strlen(text) };
	hop_ctx_set_message(c, &d);
	return st;
}

/* ---- in ---- */

static const char *code_name(int code)
{
	return code == IS_INT ? "int" : code == IS_UINT ? "uint" : code == IS_FLOAT ? "float" :
	       code == IS_BFLOAT ? "bfloat" : code == IS_COMPLEX ? "complex" :
	       code == IS_BOOL ? "bool" : "a type of unknown code with bits ";
}

static hop_status dtype_of(hop_ctx *c, const tensor *t, hop_dtype *out)
{
	int code = t->dtype.code, bits = t->dtype.bits;
	if (t->dtype.lanes != 1)
		return refuse(c, HOP_ETYPE, "elements are vectors of %d lanes", (int)t->dtype.lanes);
	for (int d = 0; d < HOP_NDTYPE; d++)
		if (hop_dtab[d].dlpack == code && 8 * hop_dtab[d].bytes == bits) {
			*out = (hop_dtype)d;
			return HOP_OK;
		}
	char all[100] = "";
	for (int d = 0; d < HOP_NDTYPE; d++)
		snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", d ? ", " : "",
		         hop_dtab[d].name);
	return refuse(c, HOP_ETYPE, "elements are %s%d; hop has %s: convert the tensor first",
	              code_name(code), bits, all);
}

/* Row-major without gaps; an axis of one element, or a tensor of none, may have any stride. */
static bool is_dense(const tensor *t)
{
	int64_t step = 1;
	for (int i = 0; i < t->ndim; i++)
		if (!t->shape[i])
			return true;
	for (int i = t->ndim - 1; t->strides && i >= 0; i--) {
		if (t->shape[i] != 1 && t->strides[i] != step)
			return false;
		if (__builtin_mul_overflow(step, t->shape[i], &step))
			return false;
	}
	return true;
}

/* Any byte that is not zero is true elsewhere; here it is 1. */
static bool is_bools(const hop_array *a)
{
	const uint8_t *p = a->data;
	for (int64_t i = 0; i < a->count; i++)
		if (p[i] > 1)
			return false;
	return true;
}

static hop_status copy(hop_ctx *c, hop_dtype d, const tensor *t, const char *from, hop_array **out_a)
{
	hop_status st = hop_array_raw(c, d, t->ndim, t->shape, out_a);
	if (st)
		return st;
	hop_array *a = *out_a;
	int64_t dense[HOP_RANK];
	if (a->count && is_dense(t)) {
		memcpy(a->data, from, a->bytes);
	} else if (a->count) {
		hop_dense_strides(a->rank, a->dim, dense);
		hop_copy_strided(hop_dtype_bytes(d), a->rank, a->dim, a->data, dense, from, t->strides);
	}
	for (int64_t i = 0; hop_dtype_bool(d) && i < a->count; i++)
		((uint8_t *)a->data)[i] = ((uint8_t *)a->data)[i] != 0;
	return HOP_OK;
}

/* ---- tensors on a device ---- */

static const hop_memory *memory_of(hop_ctx *c, const tensor *t, hop_status *out_st)
{
	const hop_memory *m = NULL;
	if (!hop_target_on(c, NULL, t->device.type))
		*out_st = refuse(c, HOP_EVALUE, "the tensor is on device type %d; move it to the CPU first",
		                 (int)t->device.type);
	else
		*out_st = hop_device_memory(c, (hop_device){ t->device.type, t->device.id }, &m);
	return m;
}

/* Rows of the last axes that lie together, a step apart: all that copies on a device can pack. */
struct rows {
	size_t bytes, n, step;
	bool   fits;
};

static struct rows rows_of(hop_dtype d, const tensor *t)
{
	size_t w = hop_dtype_bytes(d);
	int64_t together = 1, n = 1, step = 0;
	int i = t->ndim - 1;
	for (; i >= 0 && (t->shape[i] == 1 || t->strides[i] == together); i--)
		together *= t->shape[i];
	for (int64_t want = 0; i >= 0; i--) {
		if (t->shape[i] == 1)
			continue;
		if (want && t->strides[i] != want)
			return (struct rows){ .fits = false };
		step = step ? step : t->strides[i];
		n *= t->shape[i];
		if (__builtin_mul_overflow(t->strides[i], t->shape[i], &want) || step > HOP_SIZE_MAX)
			return (struct rows){ .fits = false };
	}
	return (struct rows){ (size_t)together * w, (size_t)n, (size_t)(step > 0 ? step : 0) * w,
	                      step >= together || n == 1 };
}

static hop_status copy_there(hop_ctx *c, const hop_memory *m, hop_dtype d, const tensor *t,
                             const char *from, hop_stream *s, hop_array **out_a)
{
	if (!from)
		return refuse(c, HOP_EUSE, "the tensor has no data");
	HOP_TRY(hop_array_far(c, m, t->device.id, s, d, t->ndim, t->shape, out_a));
	struct rows r = rows_of(d, t);
	if (!r.fits) {
		hop_array_release(*out_a);
		*out_a = NULL;
		return refuse(c, HOP_EREFUSED, "the tensor on %s has strides that are not rows a step apart: "
		              "make it contiguous first", m->far->name);
	}
	const char *words = m->far->copy_rows(hop_stream_queue(s), (*out_a)->data, r.bytes, from, r.step,
	                                      r.bytes, r.n);
	if (!words)                             /* the tensor is deleted then */
		words = m->wait(hop_stream_queue(s));
	if (!words)
		return HOP_OK;
	hop_array_release(*out_a);
	*out_a = NULL;
	return hop_far_told(c, "DLPack: copy on", words);
}

/* s: in whose order the tensor is ready; NULL = that of the device's default. */
static hop_status take_there(hop_ctx *c, hop_dtype d, const tensor *t, bool readonly, hop_stream *s,
                             hop_array **out_a, bool *out_kept)
{
	hop_status st;
	const hop_memory *m = memory_of(c, t, &st);
	const char *from = (const char *)t->data + (t->data ? t->offset : 0);
	if (!m)
		return st;
	if (s && s->mem != m)
		return refuse(c, HOP_EUSE, "the tensor is on %s, and the stream is not", m->far->name);
	if (from && !m->far->owns(from))
		return refuse(c, HOP_EVALUE, "the tensor says that it is on %s, and its data are not",
		              m->far->name);
	if (!s)
		HOP_TRY(hop_far_told(c, "DLPack: what computes a tensor on",
		                     m->far->after(NULL, m->far->common)));
	*out_kept = is_dense(t) && (uintptr_t)from % hop_dtype_bytes(d) == 0;
	if (!*out_kept && (uintptr_t)from % hop_dtype_bytes(d))
		return refuse(c, HOP_EREFUSED, "the tensor on %s is not aligned to its elements",
		              m->far->name);
	if (!*out_kept)
		return copy_there(c, m, d, t, from, s, out_a);
	HOP_TRY(hop_array_far_adopt(c, m, t->device.id, d, t->ndim, t->shape, (void *)(uintptr_t)from,
	                            readonly, out_a));
	st = hop_array_use(*out_a, s, true);
	if (st) {
		hop_array_release(*out_a);
		*out_a = NULL;
	}
	return st;
}

/* ---- and in memory ---- */

/* *out_kept: the array stands on the tensor's memory. */
static hop_status take(hop_ctx *c, const tensor *t, bool readonly, hop_stream *s, hop_drop *drop,
                       void *owner, hop_array **out_a, bool *out_kept)
{
	hop_dtype d = HOP_f32;
	*out_kept = false;
	if (t->ndim < 0 || t->ndim > HOP_RANK || (t->ndim && !t->shape))
		return refuse(c, HOP_EVALUE, "rank %d; at most %d", (int)t->ndim, HOP_RANK);
	HOP_TRY(dtype_of(c, t, &d));
	const char *from = (const char *)t->data + (t->data ? t->offset : 0);
	if (t->device.type != ON_CPU && t->device.type != ON_CUDA_HOST) {
		HOP_TRY(take_there(c, d, t, readonly, s, out_a, out_kept));
		if (*out_kept) {
			(*out_a)->drop = drop;
			(*out_a)->owner = owner;
		}
		return HOP_OK;
	}
	if (is_dense(t) && (uintptr_t)from % hop_dtype_bytes(d) == 0) {
		HOP_TRY(hop_array_adopt(c, d, t->ndim, t->shape, (void *)(uintptr_t)from, readonly, NULL,
		                        NULL, out_a));
		if (!hop_dtype_bool(d) || is_bools(*out_a)) {
			(*out_a)->drop = drop;
			(*out_a)->owner = owner;
			*out_kept = true;
			return HOP_OK;
		}
		hop_array_release(*out_a);
		*out_a = NULL;
	}
	if (!t->data)
		return refuse(c, HOP_EUSE, "the tensor has no data");
	return copy(c, d, t, from, out_a);
}

static void drop_new(void *owner)
{
	struct DLManagedTensorVersioned *m = owner;
	if (m->deleter)
		m->deleter(m);
}

static void drop_old(void *owner)
{
	struct DLManagedTensor *m = owner;
	if (m->deleter)
		m->deleter(m);
}

hop_status hop_array_from_dlpack(hop_ctx *c, struct DLManagedTensorVersioned *m, hop_array **out_a)
{
	return hop_array_from_dlpack_on(c, m, NULL, out_a);
}

hop_status hop_array_from_dlpack_on(hop_ctx *c, struct DLManagedTensorVersioned *m, hop_stream *s,
                                    hop_array **out_a)
{
	bool kept;
	if (out_a)
		*out_a = NULL;
	if (!c || !m || !out_a)
		return HOP_EUSE;
	if (m->version.major != MAJOR)
		return refuse(c, HOP_EVALUE, "version %u.%u; hop reads version %d", m->version.major,
		              m->version.minor, MAJOR);
	HOP_TRY(take(c, &m->t, m->flags & READ_ONLY, s, drop_new, m, out_a, &kept));
	if (!kept)
		drop_new(m);
	return HOP_OK;
}

hop_status hop_array_from_dlpack0(hop_ctx *c, struct DLManagedTensor *m, hop_array **out_a)
{
	bool kept;
	if (out_a)
		*out_a = NULL;
	if (!c || !m || !out_a)
		return HOP_EUSE;
	HOP_TRY(take(c, &m->t, false, NULL, drop_old, m, out_a, &kept));
	if (!kept)
		drop_old(m);
	return HOP_OK;
}

/* ---- out ---- */

/* A tensor of either kind with its sizes and strides in one block, and the array it keeps. */
struct given {
	union { struct DLManagedTensor old; struct DLManagedTensorVersioned new; } m;
	int64_t    shape[HOP_RANK], strides[HOP_RANK];
	hop_array *a;
};

static void give_up(struct given *g)
{
	hop_array *a = g->a;
	hop_mem m = hop_ctx_mem(a->ctx);
	hop_raw_free(&m, g, sizeof *g);
	hop_array_release(a);
}

static void delete_new(struct DLManagedTensorVersioned *m)
{
	give_up((struct given *)(void *)m);
}

static void delete_old(struct DLManagedTensor *m)
{
	give_up((struct given *)(void *)m);
}

/* For a reader on s; NULL = on whatever stream, when a is computed. */
static hop_status hand_over(hop_array *a, hop_stream *s)
{
	if (s && s->ended)
		return refuse(a->ctx, HOP_EUSE, "the stream has been freed");
	if (s && s->mem != a->mem)
		return refuse(a->ctx, HOP_EUSE, "the stream is of another device than the array");
	HOP_TRY(hop_array_use(a, s, false));
	a->lent = a->lent || (a->mem && !s);
	return HOP_OK;
}

static struct given *give(hop_array *a, tensor *t)
{
	hop_mem m = hop_ctx_mem(a->ctx);
	struct given *g = hop_raw_try(&m, sizeof *g);
	if (!g)
		return NULL;
	memset(g, 0, sizeof *g);
	g->a = hop_array_retain(a);
	memcpy(g->shape, a->dim, sizeof g->shape);
	if (a->dense)
		hop_dense_strides(a->rank, a->dim, g->strides);
	else
		memcpy(g->strides, a->stride, sizeof g->strides);
	*t = (tensor){ .data = a->data, .device = { a->mem ? a->mem->far->type : ON_CPU, a->device },
	               .ndim = a->rank, .shape = g->shape, .strides = g->strides };
	t->dtype.code = hop_dtype_row(a->dtype)->dlpack;
	t->dtype.bits = (uint8_t)(8 * hop_dtype_bytes(a->dtype));
	t->dtype.lanes = 1;
	return g;
}

hop_status hop_array_to_dlpack(hop_array *a, struct DLManagedTensorVersioned **out_m)
{
	return hop_array_to_dlpack_on(a, NULL, out_m);
}

hop_status hop_array_to_dlpack_on(hop_array *a, hop_stream *s,
                                  struct DLManagedTensorVersioned **out_m)
{
	tensor t;
	if (out_m)
		*out_m = NULL;
	if (!a || !out_m)
		return HOP_EUSE;
	HOP_TRY(hand_over(a, s));
	struct given *g = give(a, &t);
	if (!g)
		return HOP_ENOMEM;
	g->m.new = (struct DLManagedTensorVersioned){ .version = { MAJOR, MINOR },
		.deleter = delete_new, .flags = a->readonly ? READ_ONLY : 0, .t = t };
	*out_m = &g->m.new;
	return HOP_OK;
}

hop_status hop_array_to_dlpack0(hop_array *a, struct DLManagedTensor **out_m)
{
	tensor t;
	if (out_m)
		*out_m = NULL;
	if (!a || !out_m)
		return HOP_EUSE;
	if (a->readonly)
		return refuse(a->ctx, HOP_EUSE, "memory that is read-only needs version 1");
	HOP_TRY(hand_over(a, NULL));
	struct given *g = give(a, &t);
	if (!g)
		return HOP_ENOMEM;
	g->m.old = (struct DLManagedTensor){ .t = t, .deleter = delete_old };
	*out_m = &g->m.old;
	return HOP_OK;
}
