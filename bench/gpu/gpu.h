/* gpu.h -- the benchmark of a device: programs, how one is timed, and what it is held to. */
#ifndef BENCH_GPU_H
#define BENCH_GPU_H

#include <hop/compile.h>
#include <hop/hop.h>

#include "../bench.h"

/* ---- rows (rows.c) ---- */

enum { GPU_MOST = 6 };

/* What a result counts as: times are for one trip or item, shares are those of the speed of a copy
 * that moves as many bytes. */
typedef struct gpu_row {
	const char *name;
	hop_body   *body;
	int64_t     n[3];              /* its sizes; body gets them as user */
	int         nin;
	hop_spec    in[GPU_MOST];
	int64_t     per;               /* trips, items, calls */
	int64_t     bytes;             /* read and written; 0 = a time counts */
	double      goal;              /* microseconds, or percent */
	const char *unit;
	double      scale;             /* of inputs; 0 = 1 */
} gpu_row;

/* Fills row i, sizes divided by `small`; false: there are no more. */
bool gpu_row_at(int i, int64_t small, gpu_row *out);

/* ---- the machine (clock.c) ---- */

typedef struct gpu_clock gpu_clock;

typedef struct gpu_place {
	hop_ctx    *c;
	const char *target;
	hop_device  at;                /* zero: memory of this process, for trying the benchmark itself */
	hop_stream *stream;
	gpu_clock  *clock;             /* events of the device; NULL: the host's clock */
} gpu_place;

gpu_clock  *gpu_clock_open(hop_stream *s);     /* NULL: the driver has no events */
void        gpu_clock_close(gpu_clock *k);
/* Seconds from start to stop, which waits for all between. */
void        gpu_clock_start(gpu_clock *k);
double      gpu_clock_stop(gpu_clock *k);
/* The driver's own copy; false: it has none. */
bool        gpu_clock_copy(gpu_clock *k, void *to, const void *from, size_t bytes);

/* Of calls back to back: the median of rounds, seconds a call. */
typedef bool gpu_call(void *user, int i);
double      gpu_median(const gpu_place *p, gpu_call *f, void *user);

/* ---- what else is measured (compile.c) ---- */

void gpu_compile_times(const gpu_place *p);
int  gpu_first(const char *target);            /* in a process of its own: to the first result */
void gpu_cold(const char *self, const char *target);

#endif
