/* clock.c -- events of the CUDA driver, opened by its name; without it, the host's clock. Times are
 * medians of rounds of launches back to back: a device changes its clock, and one launch is mostly
 * the way to it. */
#include "gpu.h"

#include <dlfcn.h>
#include <stdlib.h>

struct gpu_clock {
	void *lib, *stream, *context, *from, *to;
	int (*context_current)(void *context);
	int (*event_new)(void **out, unsigned flags);
	int (*event_record)(void *event, void *stream);
	int (*event_wait)(void *event);
	int (*event_time)(float *out, void *from, void *to);
	int (*event_free)(void *event);
	int (*copy)(unsigned long long to, unsigned long long from, size_t n, void *stream);
};

static bool find(void *lib, const char *name, void *out)
{
	void *p = dlsym(lib, name);

	*(void **)out = p;
	return p != NULL;
}

gpu_clock *gpu_clock_open(hop_stream *s)
{
	const char *name = getenv("HOP_CUDA_DRIVER");
	gpu_clock  *k = calloc(1, sizeof *k);
	int       (*retain)(void **out, int device);

	k->lib = dlopen(name && *name ? name : "libcuda.so.1", RTLD_NOW);
	k->stream = s ? hop_stream_handle(s) : NULL;
	if (k->lib && k->stream && find(k->lib, "cuDevicePrimaryCtxRetain", &retain) &&
	    find(k->lib, "cuCtxSetCurrent", &k->context_current) &&
	    find(k->lib, "cuEventCreate", &k->event_new) &&
	       find(k->lib, "cuEventRecord", &k->event_record) &&
	    find(k->lib, "cuEventSynchronize", &k->event_wait) &&
	    find(k->lib, "cuEventElapsedTime", &k->event_time) &&
	    find(k->lib, "cuEventDestroy_v2", &k->event_free) &&
	    find(k->lib, "cuMemcpyDtoDAsync_v2", &k->copy) && !retain(&k->context, 0) &&
	    !k->context_current(k->context) && !k->event_new(&k->from, 0) && !k->event_new(&k->to, 0))
		return k;
	free(k);
	return NULL;
}

void gpu_clock_close(gpu_clock *k)
{
	if (!k)
		return;
	k->event_free(k->from);
	k->event_free(k->to);
	free(k);
}

void gpu_clock_start(gpu_clock *k)
{
	k->context_current(k->context);
	k->event_record(k->from, k->stream);
}

double gpu_clock_stop(gpu_clock *k)
{
	float ms = 0;

	k->event_record(k->to, k->stream);
	if (k->event_wait(k->to) || k->event_time(&ms, k->from, k->to))
		return -1;
	return ms * 1e-3;
}

bool gpu_clock_copy(gpu_clock *k, void *to, const void *from, size_t bytes)
{
	return !k->copy((unsigned long long)(uintptr_t)to, (unsigned long long)(uintptr_t)from, bytes,
	                k->stream);
}

/* Seconds of n calls; -1: one failed. */
static double round_of(const gpu_place *p, gpu_call *f, void *user, int n)
{
	double start = bench_now();

	if (p->clock)
		gpu_clock_start(p->clock);
	for (int i = 0; i < n; i++)
		if (!f(user, i))
			return -1;
	if (p->clock)
		return gpu_clock_stop(p->clock);
	if (p->stream && hop_stream_wait(p->stream))
		return -1;
	return bench_now() - start;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double gpu_median(const gpu_place *p, gpu_call *f, void *user)
{
	enum { ROUNDS = 9, LEAST = 8 };
	double t[ROUNDS], one = round_of(p, f, user, 2);
	int    n = LEAST;

	if (one < 0)
		return -1;
	while (n < 4096 && (one = round_of(p, f, user, n)) < 4e-3 && one >= 0)
		n *= 2;
	for (int i = 0; i < ROUNDS; i++)
		t[i] = round_of(p, f, user, n) / n;
	qsort(t, ROUNDS, sizeof *t, by_value);
	return t[0] < 0 ? -1 : t[ROUNDS / 2];
}
