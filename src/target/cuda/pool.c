/* pool.c -- memory of the device that runs borrow one after the other. Who gives a block back is done
 * with it: nothing here knows of streams. */
#include <string.h>

#include "target/cuda/device.h"

enum { SMALL = 1 << 16, LARGE = 1 << 21 };

/* Rounded, so that runs of about the same size find each other's blocks. */
static size_t rounded(size_t n)
{
	size_t step = n <= LARGE ? SMALL : LARGE;
	return (n + step - 1) / step * step;
}

/* The smallest that is kept and large enough, if not much too large. */
static bool find(hop_cuda *d, size_t n, hop_cuda_block *out)
{
	int best = -1;
	for (int i = 0; i < d->nkept; i++) {
		size_t b = d->kept[i].bytes;
		if (b >= n && b / 2 <= n + LARGE && (best < 0 || b < d->kept[best].bytes))
			best = i;
	}
	if (best < 0)
		return false;
	*out = d->kept[best];
	d->nkept--;
	memmove(d->kept + best, d->kept + best + 1, sizeof *d->kept * (size_t)(d->nkept - best));
	return true;
}

int hop_cuda_take(hop_cuda *d, size_t n, hop_cuda_block *out)
{
	*out = (hop_cuda_block){ 0 };
	if (!n)
		return 0;
	if (n > SIZE_MAX / 2)
		return HOP_CU_NOMEM;
	n = rounded(n);
	pthread_mutex_lock(&d->lock);
	bool found = find(d, n, out);
	pthread_mutex_unlock(&d->lock);
	if (found)
		return 0;
	int error = d->cu->alloc(&out->p, n);
	if (error == HOP_CU_NOMEM) {
		hop_cuda_relieve(d);
		error = d->cu->alloc(&out->p, n);
	}
	out->bytes = error ? 0 : n;
	return error;
}

void hop_cuda_give(hop_cuda *d, unsigned gen, hop_cuda_block *b)
{
	hop_cuda_block oldest = { 0 };
	if (b->bytes && d->gen == gen) {
		pthread_mutex_lock(&d->lock);
		if (d->nkept == HOP_CUDA_KEPT) {
			oldest = d->kept[0];
			memmove(d->kept, d->kept + 1, sizeof *d->kept * (HOP_CUDA_KEPT - 1));
			d->nkept--;
		}
		d->kept[d->nkept++] = *b;
		pthread_mutex_unlock(&d->lock);
	}
	if (oldest.bytes)
		d->cu->free(oldest.p);
	*b = (hop_cuda_block){ 0 };
}

void hop_cuda_relieve(hop_cuda *d)
{
	hop_cuda_block b[HOP_CUDA_KEPT];
	pthread_mutex_lock(&d->lock);
	for (hop_cuda_hoard *h = d->hoards; h; h = h->next)
		h->drop(h->user);
	int n = d->nkept;
	memcpy(b, d->kept, sizeof *b * (size_t)n);
	d->nkept = 0;
	pthread_mutex_unlock(&d->lock);
	for (int i = 0; i < n; i++)
		d->cu->free(b[i].p);
	if (d->pools) {
		d->cu->stream_wait(d->side);
		d->cu->pool_trim(d->pool, 0);
	}
}

void hop_cuda_hoard_add(hop_cuda *d, hop_cuda_hoard *h)
{
	pthread_mutex_lock(&d->lock);
	h->next = d->hoards;
	h->at = &d->hoards;
	if (h->next)
		h->next->at = &h->next;
	d->hoards = h;
	pthread_mutex_unlock(&d->lock);
}

void hop_cuda_hoard_remove(hop_cuda *d, hop_cuda_hoard *h)
{
	pthread_mutex_lock(&d->lock);
	*h->at = h->next;
	if (h->next)
		h->next->at = h->at;
	pthread_mutex_unlock(&d->lock);
}
