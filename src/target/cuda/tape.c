/* tape.c -- tapes of a run: an address that is reserved once and behind which more memory is mapped,
 * twice as much each time, so that nothing is copied and no address changes. Where the device cannot
 * map, they are allocated anew and copied. */
#include <string.h>

#include "target/cuda/image.h"

enum { FIRST = 1 << 16 };

/* ---- mapped ---- */

static int map_more(hop_cuda *d, hop_cuda_trail *t, size_t more)
{
	hop_cuprop what = { .type = HOP_CU_PINNED, .place = 1, .id = d->dev };
	hop_cuaccess access = { 1, d->dev, HOP_CU_READWRITE };
	unsigned long long handle;
	int error = d->cu->create(&handle, more, &what, 0);
	if (error)
		return error;
	error = d->cu->map(t->p + t->bytes, more, 0, handle, 0);
	if (!error) {
		error = d->cu->access(t->p + t->bytes, more, &access, 1);
		if (error)
			d->cu->unmap(t->p + t->bytes, more);
	}
	if (error) {
		d->cu->release(handle);
		return error;
	}
	t->part[t->nhandle].handle = handle;
	t->part[t->nhandle++].bytes = more;
	t->bytes += more;
	return 0;
}

/* No tape is longer than memory. */
static int map_to(hop_cuda *d, hop_cuda_trail *t, size_t bytes)
{
	size_t want = bytes > 2 * t->bytes ? bytes : 2 * t->bytes;
	int error = 0;
	if (!t->reserved) {
		size_t all = d->total / d->grain * d->grain;
		error = d->cu->reserve(&t->p, all, 0, 0, 0);
		t->reserved = error ? 0 : all;
	}
	if (error)
		return error;
	if (bytes > t->reserved || t->nhandle == HOP_CUDA_PARTS)
		return HOP_CU_NOMEM;
	want = want > t->reserved ? t->reserved : want;
	size_t least = (bytes - t->bytes + d->grain - 1) / d->grain * d->grain;
	size_t more = (want - t->bytes + d->grain - 1) / d->grain * d->grain;
	error = map_more(d, t, more);
	if (error == HOP_CU_NOMEM) {
		hop_cuda_relieve(d);
		error = map_more(d, t, least);
	}
	return error;
}

/* ---- copied ---- */

static int copy_to(hop_cuda *d, hop_cuda_trail *t, size_t bytes, void *stream)
{
	size_t want = bytes > 2 * t->bytes ? bytes : 2 * t->bytes;
	hop_cuptr p = 0;
	want = want < FIRST ? FIRST : want;
	int error = d->cu->alloc(&p, want);
	if (error == HOP_CU_NOMEM) {
		hop_cuda_relieve(d);
		error = d->cu->alloc(&p, want);
	}
	if (!error && t->bytes)
		error = d->cu->copy(p, t->p, t->bytes, stream);
	if (!error)
		error = d->cu->stream_wait(stream);
	if (error) {
		if (p)
			d->cu->free(p);
		return error;
	}
	if (t->p)
		d->cu->free(t->p);
	t->p = p;
	t->bytes = want;
	return 0;
}

int hop_cuda_tape_grow(hop_cuda_image *i, hop_cuda_trail *t, size_t bytes, void *stream)
{
	if (bytes <= t->bytes)
		return 0;
	return i->d->vmm ? map_to(i->d, t, bytes) : copy_to(i->d, t, bytes, stream);
}

void hop_cuda_tape_drop(hop_cuda_image *i, hop_cuda_trail *t)
{
	const hop_cu *cu = i->d->cu;
	if (!t->reserved) {
		if (t->p)
			cu->free(t->p);
	} else {
		if (t->bytes)
			cu->unmap(t->p, t->bytes);
		for (int k = 0; k < t->nhandle; k++)
			cu->release(t->part[k].handle);
		cu->unreserve(t->p, t->reserved);
	}
	memset(t, 0, sizeof *t);
}
