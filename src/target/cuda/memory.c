/* memory.c -- memory of the device for arrays (base/memory.h): allocated and freed in the order of
 * queues, which are the driver's streams. */
#include "target/cuda/cublaslt.h"

static void *stream(const hop_cuda *d, void *queue)
{
	return queue ? queue : d->side;
}

/* queue NULL: it has happened. */
static int settle(const hop_cuda *d, void *queue, int error)
{
	return error || queue ? error : d->cu->stream_wait(d->side);
}

static int alloc_once(const hop_cuda *d, void *queue, size_t n, hop_cuptr *out)
{
	if (!d->pools)
		return d->cu->alloc(out, n);
	return settle(d, queue, d->cu->alloc_async(out, n, stream(d, queue)));
}

static void *alloc(const hop_mem *m, void *queue, size_t n)
{
	hop_cuda *d;
	hop_cuptr p = 0;
	(void)m;
	if (hop_cuda_open(&d) || hop_cuda_unfit(d, d->gen))
		return NULL;
	bool entered = hop_cuda_enter(d);
	int error = alloc_once(d, queue, n ? n : 1, &p);
	if (error == HOP_CU_NOMEM) {
		hop_cuda_relieve(d);
		error = alloc_once(d, queue, n ? n : 1, &p);
	}
	hop_cuda_leave(d, entered);
	hop_cuda_said(d, error, "allocating");
	return error ? NULL : (void *)(uintptr_t)p;
}

/* What a context that broke had is gone: the driver does not know it any more. */
static void release(const hop_mem *m, void *queue, void *p, size_t n)
{
	hop_cuda *d = hop_cuda_started();
	(void)m;
	(void)n;
	if (!p || !d || hop_cuda_unfit(d, d->gen))
		return;
	bool entered = hop_cuda_enter(d);
	if (!d->pools || d->cu->free_async((uintptr_t)p, stream(d, queue)))
		d->cu->free((uintptr_t)p);
	hop_cuda_leave(d, entered);
}

static int type_of(const hop_cuda *d, const void *p)
{
	unsigned type = 0;
	return d->cu->pointer_attribute(&type, HOP_CU_POINTER_TYPE, (uintptr_t)p) ? 0 : (int)type;
}

/* The driver has read other memory of this process when a copy returns, but not locked one. */
static int after_copy(const hop_cuda *d, void *queue, const void *from, int error)
{
	if (!error && queue && type_of(d, from) == HOP_CU_HOST)
		return d->cu->stream_wait(queue);
	return settle(d, queue, error);
}

static const char *copy(void *queue, void *to, const void *from, size_t n)
{
	hop_cuda *d;
	const char *why = hop_cuda_open(&d);
	if (!why)
		why = hop_cuda_unfit(d, d->gen);
	if (why || !n)
		return why;
	bool entered = hop_cuda_enter(d);
	int error = d->cu->copy((uintptr_t)to, (uintptr_t)from, n, stream(d, queue));
	error = after_copy(d, queue, from, error);
	hop_cuda_leave(d, entered);
	return hop_cuda_said(d, error, "a copy");
}

static const char *wait(void *queue)
{
	hop_cuda *d = hop_cuda_started();
	if (!queue || !d)
		return NULL;
	const char *why = hop_cuda_unfit(d, d->gen);
	if (why)
		return why;
	bool entered = hop_cuda_enter(d);
	int error = d->cu->stream_wait(queue);
	hop_cuda_leave(d, entered);
	return hop_cuda_said(d, error, "a program on a queue");
}

/* ---- what a device has besides ---- */

static const char *far_open(void)
{
	hop_cuda *d;
	const char *why = hop_cuda_open(&d);
	return why ? why : hop_cuda_unfit(d, d->gen);
}

static int far_count(void)
{
	hop_cuda *d;
	return hop_cuda_open(&d) ? 0 : 1;
}

static const char *far_about(int id)
{
	hop_cuda *d;
	const char *why = hop_cuda_open(&d);
	return why ? why : id ? "there is no such device" : d->about;
}

static const char *far_products(void)
{
	static char text[320];
	hop_cuda *d;
	const char *why = hop_cuda_open(&d);
	if (why)
		return why;
	hop_lt_about(d, text, sizeof text);
	return text;
}

static const char *queue_new(void **out_queue)
{
	hop_cuda *d;
	const char *why = hop_cuda_open(&d);
	*out_queue = NULL;
	if (why)
		return why;
	bool entered = hop_cuda_enter(d);
	int error = d->cu->stream_new(out_queue, HOP_CU_NONBLOCKING);
	hop_cuda_leave(d, entered);
	return hop_cuda_said(d, error, "a new queue");
}

static void queue_free(void *queue)
{
	hop_cuda *d = hop_cuda_started();
	if (!d || !queue || hop_cuda_unfit(d, d->gen))
		return;
	bool entered = hop_cuda_enter(d);
	d->cu->stream_wait(queue);
	d->cu->stream_free(queue);
	hop_cuda_leave(d, entered);
}

static const char *after(void *queue, void *other)
{
	hop_cuda *d;
	const char *why = hop_cuda_open(&d);
	void *event = NULL;
	if (why || queue == other)
		return why;
	if (!queue)
		return wait(other);
	bool entered = hop_cuda_enter(d);
	int error = d->cu->event_new(&event, HOP_CU_NOTIMING);
	if (!error)
		error = d->cu->event_record(event, stream(d, other));
	if (!error)
		error = d->cu->stream_after(queue, event, 0);
	if (event)
		d->cu->event_free(event);
	hop_cuda_leave(d, entered);
	return hop_cuda_said(d, error, "a queue behind another");
}

static bool owns(const void *p)
{
	hop_cuda *d = hop_cuda_started();
	if (!p || !d)
		return false;
	bool entered = hop_cuda_enter(d);
	int type = type_of(d, p);
	hop_cuda_leave(d, entered);
	return type == HOP_CU_DEVICE || type == HOP_CU_UNIFIED;
}

static const char *copy_rows(void *queue, void *to, size_t to_step, const void *from,
                             size_t from_step, size_t bytes, size_t rows)
{
	hop_cucopy c = { .from_type = HOP_CU_UNIFIED, .from = (uintptr_t)from, .from_step = from_step,
		         .to_type = HOP_CU_UNIFIED, .to = (uintptr_t)to, .to_step = to_step,
		         .bytes = bytes, .rows = rows };
	hop_cuda *d;
	const char *why = hop_cuda_open(&d);
	if (!why)
		why = hop_cuda_unfit(d, d->gen);
	if (why || !bytes || !rows)
		return why;
	bool entered = hop_cuda_enter(d);
	int error = after_copy(d, queue, from, d->cu->copy_rows(&c, stream(d, queue)));
	hop_cuda_leave(d, entered);
	return hop_cuda_said(d, error, "a copy of rows");
}

static const hop_far far_cells = {
	.type = 2, .name = "cuda", .open = far_open, .count = far_count, .about = far_about,
	.products = far_products,
	.queue_new = queue_new, .queue_free = queue_free, .after = after, .owns = owns,
	.copy_rows = copy_rows, .common = HOP_CU_LEGACY,
};

const hop_memory hop_cuda_memory = { alloc, release, copy, wait, &far_cells };
