/* cuda_rig.h -- tests of a device: whether there is one, and calls that are canceled while they run. */
#ifndef CUDA_RIG_H
#define CUDA_RIG_H

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "numbers_rig.h"

#include "hop/run.h"

static hop_device far;
static bool absent;

/* A context, and the device; a test of one begins with NEED_CUDA. */
static inline int open_cuda(void **state)
{
	if (open_ctx(state))
		return 1;
	absent = hop_device_find(ctx, "cuda", &far) != HOP_OK;
	if (absent)
		print_message("skipped: no device (%s)\n", hop_message(ctx));
	return 0;
}
#define NEED_CUDA() do { if (absent) skip(); } while (0)

static inline void *stop_soon(void *c)
{
	struct timespec w = { .tv_nsec = 40000000 };
	nanosleep(&w, NULL);
	hop_cancel_set(c);
	return NULL;
}

/* f, which has no end, stops when it is told to, and can be run again. */
static inline void judge_canceled(hop_fn *f, hop_array *x)
{
	hop_array *y = NULL;
	pthread_t th;
	for (int k = 0; k < 2; k++) {
		hop_cancel c = { 0 };
		alarm(100);
		assert_int_equal(pthread_create(&th, NULL, stop_soon, &c), 0);
		hop_status st = hop_call_with(f, 1, &x, 1, &y, HOP_RUN_OPTS(.cancel = &c));
		pthread_join(th, NULL);
		alarm(0);
		if (st != HOP_ECANCELED)
			fail_msg("call %d, canceled: status %d: %s", k, (int)st, hop_message(ctx));
	}
}

#endif
