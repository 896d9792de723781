/* spare.c -- memory to work in that is kept from one call of an exec to the next. Always of this
 * process: code of a device has a frame of its own there. */
#include "rt/exec.h"

enum { ALIGN = 64 };

static void drop(const hop_exec *x, struct hop_spare *s)
{
	if (s)
		hop_raw_free(&x->mem, s, s->bytes);
}

/* What the last call left, if it is enough; calls at the same time have their own. */
struct hop_spare *hop_spare_take(hop_exec *x, int64_t bytes)
{
	struct hop_spare *s = atomic_exchange(&x->spare, NULL);
	size_t n = sizeof *s + (size_t)bytes + ALIGN;
	if (s && s->bytes >= n)
		return s;
	drop(x, s);
	s = hop_raw_data(&x->mem, n);
	if (s) {
		s->bytes = n;
		s->p = (void *)(((uintptr_t)(s + 1) + ALIGN - 1) / ALIGN * ALIGN);
	}
	return s;
}

void hop_spare_give(hop_exec *x, struct hop_spare *s)
{
	drop(x, atomic_exchange(&x->spare, s));
}

void hop_spare_drop(hop_exec *x)
{
	drop(x, atomic_exchange(&x->spare, NULL));
}
