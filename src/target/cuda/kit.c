/* kit.c -- what a run needs besides memory of the device, and the driver takes long to make: a stream,
 * an event, locked memory of this process. Kits stay with the device, as many as were in use at once,
 * so that the first run of another program finds one. Nothing here knows what they are used for. */
#include "target/cuda/device.h"

enum { AT_ONCE = 8 };                  /* pieces of locked memory */

/* A piece is the driver's to free only with those that were made with it: all are kept. */
struct hop_cuda_spare { struct hop_cuda_spare *next; void *stream, *event; };
_Static_assert(sizeof(hop_cuda_spare) <= HOP_CUDA_LOCKED, "a piece that is spare holds its own note");

static hop_cuda_spare *pop(hop_cuda *d)
{
	pthread_mutex_lock(&d->lock);
	hop_cuda_spare *s = d->spare;
	if (s)
		d->spare = s->next;
	pthread_mutex_unlock(&d->lock);
	return s;
}

static void push(hop_cuda *d, hop_cuda_spare *s)
{
	pthread_mutex_lock(&d->lock);
	s->next = d->spare;
	d->spare = s;
	pthread_mutex_unlock(&d->lock);
}

static int more(hop_cuda *d)
{
	void *p = NULL;
	size_t n = (size_t)AT_ONCE * HOP_CUDA_LOCKED;
	int error = d->cu->host_alloc(&p, n, HOP_CU_PORTABLE | HOP_CU_MAPPED);
	for (int i = 0; !error && i < AT_ONCE; i++) {
		hop_cuda_spare *s = (hop_cuda_spare *)(void *)((char *)p + (size_t)i * HOP_CUDA_LOCKED);
		*s = (hop_cuda_spare){ 0 };
		push(d, s);
	}
	return error;
}

int hop_cuda_kit_take(hop_cuda *d, hop_cuda_kit *out)
{
	hop_cuda_spare *s;
	int error = 0;
	*out = (hop_cuda_kit){ 0 };
	while (!(s = pop(d)) && !error)
		error = more(d);
	if (!s)
		return error;
	*out = (hop_cuda_kit){ s->stream, s->event, (char *)s };
	if (!out->stream)
		error = d->cu->stream_new(&out->stream, HOP_CU_NONBLOCKING);
	if (!error && !out->event)
		error = d->cu->event_new(&out->event, HOP_CU_NOTIMING);
	if (error)
		hop_cuda_kit_give(d, d->gen, out);
	return error;
}

void hop_cuda_kit_give(hop_cuda *d, unsigned gen, hop_cuda_kit *k)
{
	hop_cuda_spare *s = (hop_cuda_spare *)(void *)k->locked;
	if (s && d->gen == gen) {              /* else the driver has taken all of it back */
		*s = (hop_cuda_spare){ .stream = k->stream, .event = k->event };
		push(d, s);
	}
	*k = (hop_cuda_kit){ 0 };
}
