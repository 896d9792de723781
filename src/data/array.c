/* array.c -- making arrays, letting them go, and asking them. Computes nothing. */
#include "data/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctx/ctx.h"

static char nothing;                        /* where no elements are */

static hop_status refuse(hop_ctx *c, hop_status st, const char *text)
{
	hop_diag d = { .st = st, .text = (char *)(uintptr_t)text, .len = strlen(text) };
	hop_ctx_set_message(c, &d);
	return st;
}

/* With data: of somebody else. */
static hop_status make(hop_ctx *c, hop_dtype d, int rank, const int64_t *dim, void *data,
                       hop_array **out_a)
{
	if (!out_a)
		return HOP_EUSE;
	*out_a = NULL;
	if (!c)
		return HOP_EUSE;
	if ((unsigned)d >= HOP_NDTYPE || rank < 0 || rank > HOP_RANK || (rank && !dim))
		return refuse(c, HOP_EVALUE, "error: array: a dtype or a rank that is none");
	int64_t count = 1;
	for (int i = 0; i < rank; i++)
		if (dim[i] < 0 || dim[i] > HOP_SIZE_MAX ||
		    __builtin_mul_overflow(count, dim[i], &count) || count > HOP_SIZE_MAX)
			return refuse(c, HOP_EVALUE, "error: array: sizes that are negative or too large");
	hop_mem m = hop_ctx_mem(c);
	size_t bytes = (size_t)count * hop_dtype_bytes(d), room;
	size_t behind = data ? 0 : bytes + HOP_ARRAY_ALIGN;
	hop_array *a = hop_shelf_take(hop_ctx_shelf(c), &m, sizeof *a + behind, &room);
	if (!a)
		return refuse(c, HOP_ENOMEM, "error: no memory");
	if (!data)
		data = (void *)(((uintptr_t)(a + 1) + HOP_ARRAY_ALIGN - 1) / HOP_ARRAY_ALIGN *
		                HOP_ARRAY_ALIGN);
	*a = (hop_array){ .refs = 1, .ctx = c, .dtype = d, .rank = rank, .count = count,
	                  .dense = true, .bytes = bytes, .data = data, .room = room };
	for (int i = 0; i < rank; i++)
		a->dim[i] = dim[i];
	*out_a = a;
	return HOP_OK;
}

uint64_t hop_array_version(const hop_array *a)
{
	return __atomic_load_n(&a->version, __ATOMIC_ACQUIRE);
}

void hop_array_changed(hop_array *a)
{
	if (a)
		__atomic_fetch_add(&a->version, 1, __ATOMIC_RELEASE);
}

hop_status hop_array_raw(hop_ctx *c, hop_dtype d, int rank, const int64_t *dim,
                         hop_array **out_a)
{
	return make(c, d, rank, dim, NULL, out_a);
}

hop_status hop_array_far_adopt(hop_ctx *c, const hop_memory *mem, int id, hop_dtype d, int rank,
                               const int64_t *dim, void *data, bool readonly, hop_array **out_a)
{
	HOP_TRY(make(c, d, rank, dim, data ? data : &nothing, out_a));
	hop_array *a = *out_a;
	a->mem = mem;
	a->device = id;
	a->readonly = readonly;
	a->owner = &nothing;                    /* not ours to free */
	if (data || !a->bytes)
		return HOP_OK;
	hop_array_release(a);
	*out_a = NULL;
	return refuse(c, HOP_EUSE, "error: adopt: no data");
}

hop_status hop_array_far(hop_ctx *c, const hop_memory *mem, int id, struct hop_stream *s,
                         hop_dtype d, int rank, const int64_t *dim, hop_array **out_a)
{
	HOP_TRY(make(c, d, rank, dim, &nothing, out_a));
	hop_array *a = *out_a;
	hop_mem m = hop_ctx_mem(c);
	a->mem = mem;
	a->device = id;
	void *p = a->bytes ? mem->alloc(&m, hop_stream_queue(s), a->bytes) : &nothing;
	if (!p)
		a->bytes = 0;                       /* nothing to free */
	else
		a->data = p;
	hop_status st = p ? hop_array_use(a, s, true) : HOP_ENOMEM;
	if (!p)
		refuse(c, HOP_ENOMEM, "error: array: no memory on the device");
	if (st) {
		hop_array_release(a);
		*out_a = NULL;
	}
	return st;
}

hop_status hop_array_adopt(hop_ctx *c, hop_dtype d, int rank, const int64_t *dim, void *data,
                           bool readonly, hop_drop *drop, void *owner, hop_array **out_a)
{
	return hop_array_adopt_strided(c, d, rank, dim, NULL, data, readonly, drop, owner, out_a);
}

/* Row-major without gaps; an axis of one element, or an array of none, may have any stride. */
static bool is_dense(const hop_array *a, const int64_t *stride)
{
	int64_t step = 1;
	for (int i = a->rank - 1; stride && a->count && i >= 0; i--) {
		if (a->dim[i] != 1 && stride[i] != step)
			return false;
		step *= a->dim[i];
	}
	return true;
}

/* Whether the elements lie within what an address can say, and, if they are to be written, each in
 * a place of its own: going from the shortest stride to the longest, each must step over all that
 * the shorter ones reach. */
static bool strides_fit(int rank, const int64_t *dim, const int64_t *stride, bool readonly)
{
	int64_t reach = 0, far;
	uint32_t done = 0;
	for (int i = 0; i < rank; i++)
		if (stride[i] > HOP_SIZE_MAX || stride[i] < -HOP_SIZE_MAX)
			return false;
	for (int k = 0; k < rank; k++) {
		int next = -1;
		for (int i = 0; i < rank; i++)
			if (!(done >> i & 1) && (next < 0 || llabs(stride[i]) < llabs(stride[next])))
				next = i;
		done |= 1u << next;
		if (dim[next] == 1)
			continue;
		if ((!readonly && llabs(stride[next]) <= reach) ||
		    __builtin_mul_overflow(dim[next] - 1, llabs(stride[next]), &far) ||
		    __builtin_add_overflow(reach, far, &reach) || reach > HOP_SIZE_MAX)
			return false;
	}
	return true;
}

hop_status hop_array_adopt_strided(hop_ctx *c, hop_dtype d, int rank, const int64_t *dim,
                                   const int64_t *stride, void *data, bool readonly,
                                   hop_drop *drop, void *owner, hop_array **out_a)
{
	int64_t none = 1;
	for (int i = 0; i < rank && rank <= HOP_RANK && dim; i++)
		none = dim[i] && none;
	if (!data && !none)
		data = &nothing;                    /* of no elements */
	if (out_a)
		*out_a = NULL;
	if (!data || !out_a)
		return c ? refuse(c, HOP_EUSE, "error: adopt: no data, or no place for the array")
		         : HOP_EUSE;
	if ((unsigned)d < HOP_NDTYPE && (uintptr_t)data % hop_dtype_bytes(d) && none)
		return c ? refuse(c, HOP_EVALUE, "error: adopt: the data are not aligned to their "
		                  "elements") : HOP_EUSE;
	hop_array *a;
	hop_status st = make(c, d, rank, dim, data, &a);
	if (st)
		return st;
	a->dense = is_dense(a, stride);
	if (!a->dense && !strides_fit(rank, dim, stride, readonly)) {
		hop_array_release(a);
		return refuse(c, HOP_EVALUE, "error: adopt: strides that put two elements in one place, "
		              "or too far apart; what is readonly may have the first");
	}
	for (int i = 0; !a->dense && i < rank; i++)
		a->stride[i] = stride[i];
	a->readonly = readonly;
	a->drop = drop;
	a->owner = owner;
	*out_a = a;
	return HOP_OK;
}

hop_status hop_array_new(hop_ctx *c, hop_dtype d, int rank, const int64_t *dim,
                         const void *data, hop_array **out_a)
{
	hop_status st = hop_array_raw(c, d, rank, dim, out_a);
	if (st)
		return st;
	uint8_t *p = (*out_a)->data;
	size_t bytes = (*out_a)->bytes;
	if (!data)
		memset(p, 0, bytes);
	else if (bytes)
		memcpy(p, data, bytes);
	if (data && hop_dtype_bool(d))          /* any byte that is not zero is true */
		for (size_t i = 0; i < bytes; i++)
			p[i] = p[i] != 0;
	return HOP_OK;
}

hop_array *hop_array_retain(hop_array *a)
{
	if (a)
		__atomic_fetch_add(&a->refs, 1, __ATOMIC_RELAXED);
	return a;
}

void hop_array_release(hop_array *a)
{
	if (!a || __atomic_fetch_sub(&a->refs, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	hop_mem m = hop_ctx_mem(a->ctx);
	void *queue = NULL;
	if (a->mem)
		hop_array_unuse(a, &queue);
	if (a->drop)
		a->drop(a->owner);
	else if (a->mem && a->bytes && !a->owner)
		a->mem->free(&m, queue, a->data, a->bytes);
	hop_shelf_give(hop_ctx_shelf(a->ctx), &m, a, a->room);
}

void *hop_array_data(hop_array *a)
{
	char where[HOP_DEVICE_TEXT], text[160];
	if (!a || !a->mem)
		return a ? a->data : NULL;
	snprintf(text, sizeof text, "error: data: the array is on %s: hop_array_read copies its elements, "
	         "hop_array_to makes an array here", hop_array_where(a, where));
	refuse(a->ctx, HOP_EUSE, text);
	return NULL;
}

hop_dtype hop_array_dtype(const hop_array *a)
{
	return a ? a->dtype : HOP_f32;
}

int hop_array_rank(const hop_array *a)
{
	return a ? a->rank : 0;
}

const int64_t *hop_array_dims(const hop_array *a)
{
	return a ? a->dim : NULL;
}

int64_t hop_array_count(const hop_array *a)
{
	return a ? a->count : 0;
}

const int64_t *hop_array_strides(const hop_array *a)
{
	return a && !a->dense ? a->stride : NULL;
}

/* NaN, with a message, if the device fails. */
static double far_at(const hop_array *a, const char *p)
{
	uint64_t one;
	if (hop_array_use((hop_array *)(uintptr_t)a, NULL, false) ||
	    hop_far_told(a->ctx, "copy from", a->mem->copy(NULL, &one, p, hop_dtype_bytes(a->dtype))))
		return strtod("nan", NULL);
	return hop_elem_f(a->dtype, &one);
}

double hop_array_at(const hop_array *a, int64_t i)
{
	int64_t at = i;
	if (!a || i < 0 || i >= a->count)
		return 0;
	if (!a->dense) {
		at = 0;
		for (int k = a->rank - 1; k >= 0; i /= a->dim[k--])
			at += i % a->dim[k] * a->stride[k];
	}
	const char *p = (const char *)a->data + at * (int64_t)hop_dtype_bytes(a->dtype);
	return a->mem ? far_at(a, p) : hop_elem_f(a->dtype, p);
}
