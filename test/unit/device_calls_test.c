/* device_calls_test.c -- thousands of calls in a row on a device take no more of anything than the first
 * few did: its memory, handles of the driver, memory of this process. With arrays of the device and of
 * this process, streams, sizes that come and go, tapes. Every function of the driver that makes or ends
 * something, or waits for something, is counted on its way. On an emulated device there are fewer
 * calls. */
#include <dlfcn.h>
#include <unistd.h>

#include "numbers_rig.h"

#include "target/cuda/device.h"

enum { WARM = 80, MOST = 10000, EMULATED = 110, SIZE = 1000 };
enum { SLACK = 48 << 20 };             /* bytes of this process that the driver may take meanwhile */

/* ---- what there is ---- */

typedef struct stock {
	long blocks, async, locked, mapped, streams, events, graphs, execs, modules;
	long here;                     /* bytes of the context's allocator */
} stock;

static stock  now;
static void  *watched;                 /* a stream, and how often the host waited for it */
static long   waits;
static hop_cu real;                    /* the driver's own */

static int count(long *of, int by, int error)
{
	if (!error)
		__atomic_fetch_add(of, by, __ATOMIC_RELAXED);
	return error;
}

#define BY(n, name, of, params, args) \
	static int w_##name params \
	{ \
		return count(&now.of, n, real.name args); \
	}
#define MADE(...) BY(1, __VA_ARGS__)
#define GONE(...) BY(-1, __VA_ARGS__)
MADE(alloc, blocks, (hop_cuptr *out, size_t n), (out, n))
GONE(free, blocks, (hop_cuptr p), (p))
MADE(alloc_async, async, (hop_cuptr *out, size_t n, void *s), (out, n, s))
GONE(free_async, async, (hop_cuptr p, void *s), (p, s))
MADE(host_alloc, locked, (void **out, size_t n, unsigned flags), (out, n, flags))
GONE(host_free, locked, (void *p), (p))
MADE(create, mapped, (unsigned long long *out, size_t n, const hop_cuprop *p, unsigned long long f),
     (out, n, p, f))
GONE(release, mapped, (unsigned long long h), (h))
MADE(stream_new, streams, (void **out, unsigned flags), (out, flags))
GONE(stream_free, streams, (void *s), (s))
MADE(event_new, events, (void **out, unsigned flags), (out, flags))
GONE(event_free, events, (void *e), (e))
MADE(graph_new, graphs, (void **out, unsigned flags), (out, flags))
GONE(graph_free, graphs, (void *g), (g))
MADE(graph_make, execs, (void **out, void *g, unsigned long long flags), (out, g, flags))
GONE(graph_drop, execs, (void *e), (e))
MADE(module_load, modules, (void **out, const void *image), (out, image))
GONE(module_unload, modules, (void *m), (m))
#define WAITS(name) \
	static int w_##name(void *of) \
	{ \
		waits += of == watched; \
		return real.name(of); \
	}
WAITS(stream_wait)
WAITS(stream_query)
#undef WAITS
#undef MADE
#undef GONE
#undef BY

/* The table is one for the process, and nobody runs yet. */
static void watch(const hop_cu *cu)
{
	hop_cu *t = (hop_cu *)(uintptr_t)cu;
	real = *cu;
#define W(name) t->name = w_##name
	W(alloc), W(free), W(alloc_async), W(free_async), W(host_alloc), W(host_free), W(create), W(release);
	W(stream_new), W(stream_free), W(event_new), W(event_free), W(graph_new), W(graph_free);
	W(graph_make), W(graph_drop), W(module_load), W(module_unload);
	W(stream_wait), W(stream_query);
#undef W
}

/* Bytes of the device that somebody has: others' too, if there are others. */
static long taken(void)
{
	static int (*info)(size_t *, size_t *);
	const char *own = getenv("HOP_CUDA_DRIVER");
	size_t left = 0, all = 0;
	hop_cuda *d;
	if (!info) {
		void *h = dlopen(own && *own ? own : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
		*(void **)&info = h ? dlsym(h, "cuMemGetInfo_v2") : NULL;
	}
	if (!info || hop_cuda_open(&d))
		return 0;
	bool entered = hop_cuda_enter(d);
	(void)!info(&left, &all);
	hop_cuda_leave(d, entered);
	return (long)(all - left);
}

static void *metered(void *user, void *p, size_t osize, size_t nsize)
{
	(void)user;
	__atomic_fetch_add(&now.here, (long)nsize - (long)(p ? osize : 0), __ATOMIC_RELAXED);
	if (nsize)
		return realloc(p, nsize);
	free(p);
	return NULL;
}

static long resident(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (!f || fscanf(f, "%*s %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

/* ---- calls ---- */

static hop_device gpu;
static bool       absent, emulated;
static int        calls;

#define NEED_DEVICE() do { if (absent) skip(); } while (0)

static void some(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = hop_sin(t, hop_mulf(t, in[0], 2));
	(void)user;
	hop_return(t, y, hop_sum_all(t, hop_mul(t, y, in[0])));
}

/* Trips by the input, so that its gradient needs a tape; and something that the host hears of. */
static void looped(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = in[0];
	(void)user;
	HOP_WHILE(t, hop_lt(t, hop_sum_all(t, y), hop_f(t, SIZE)), y) {
		y = hop_addf(t, hop_sin(t, y), 0.25);
	}
	hop_assert(t, hop_lt(t, hop_f(t, 0), hop_sum_all(t, y)), "positive", 0, NULL);
	hop_return(t, hop_sum_all(t, y));
}

/* All of a block decide together whether to go on. */
static void turning(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = in[0];
	(void)user;
	HOP_WHILE(t, hop_lt(t, hop_sum_all(t, y), hop_f(t, SIZE)), y) {
		y = hop_addf(t, hop_sin(t, y), 0.25);
	}
	hop_return(t, y, hop_sum_all(t, y));
}

/* One call, and its results given up. i: which. */
typedef void once(hop_fn *f, int i, hop_array **x, hop_stream *s);

static void call(hop_fn *f, int i, hop_array **x, hop_stream *s)
{
	hop_array *y[2];
	(void)i;
	ok(hop_call_with(f, 1, x, 2, y, HOP_RUN_OPTS(.stream = s)));
	hop_array_release(y[0]);
	hop_array_release(y[1]);
}

/* Its own arrays, of a size that comes again after a while: more of them than plans are kept. */
static void sized(hop_fn *f, int i, hop_array **x, hop_stream *s)
{
	int64_t n = 1 + i % 70;
	hop_array *h, *d;
	(void)x;
	ok(hop_array_new(ctx, HOP_f64, 1, &n, NULL, &h));
	ok(hop_array_to(h, gpu, &d));
	call(f, i, i % 2 ? &d : &h, i % 2 ? s : NULL);
	hop_array_release(d);
	hop_array_release(h);
}

/* spare: handles that runs on their way may have more of, which depends on who is faster. */
static void same_stock(const stock *a, long spare)
{
	static const char *const name[] = { "blocks", "arrays", "locked blocks", "mapped blocks", "streams",
		                            "events", "graphs", "executable graphs", "modules",
		                            "bytes of this process" };
	const long *was = &a->blocks, *is = &now.blocks;
	for (size_t i = 0; i < sizeof now / sizeof *is; i++)
		if (spare ? is[i] - was[i] > (is + i == &now.here ? spare << 12 : spare) : was[i] != is[i])
			fail_msg("%s: %ld at first, then %ld", name[i], was[i], is[i]);
}

static void many(once *f, hop_fn *fn, hop_array **x, hop_stream *s)
{
	long bytes, far;
	stock before;
	for (int i = 0; i < WARM; i++)
		f(fn, i, x, s);
	if (s)
		ok(hop_stream_wait(s));
	before = now;
	bytes = resident();
	far = taken();
	for (int i = WARM; i < calls; i++)
		f(fn, i, x, s);
	if (s)
		ok(hop_stream_wait(s));
	for (int i = calls; i % 70 != WARM % 70; i++)  /* to where sizes were */
		f(fn, i, x, s);
	if (s)
		ok(hop_stream_wait(s));
	same_stock(&before, !s ? 0 : emulated ? 8 : 128);
	if (resident() > bytes + SLACK)
		fail_msg("%ld KiB at first, then %ld", bytes >> 10, resident() >> 10);
	if (emulated && taken() > far + (1 << 18))
		fail_msg("%ld KiB of the device at first, then %ld", far >> 10, taken() >> 10);
	print_message("%d calls: device %ld KiB, then %ld; here %ld, then %ld\n", calls, far >> 10,
	              taken() >> 10, bytes >> 10, resident() >> 10);
}

static hop_array *numbers(hop_device at)
{
	int64_t n = SIZE;
	hop_array *h, *d;
	ok(hop_array_new(ctx, HOP_f64, 1, &n, NULL, &h));
	for (int i = 0; i < SIZE; i++)
		((double *)hop_array_data(h))[i] = 1e-3 * (i % 5);
	ok(hop_array_to(h, at, &d));
	hop_array_release(h);
	return d;
}

static hop_fn *captured(hop_body *body, hop_spec s)
{
	hop_fn *f;
	ok(hop_capture(ctx, body, NULL, 1, &s, &f));
	return f;
}

/* ---- tests ---- */

static void arrays_there(void **state)
{
	NEED_DEVICE();
	hop_fn *f = captured(some, hop_spec1(HOP_f64, SIZE));
	hop_array *x = numbers(gpu);
	(void)state;
	many(call, f, &x, NULL);
	hop_array_release(x);
	hop_fn_release(f);
}

static void arrays_here(void **state)
{
	NEED_DEVICE();
	hop_fn *f = captured(some, hop_spec1(HOP_f64, SIZE));
	hop_array *x = numbers((hop_device){ 0 });
	(void)state;
	ok(hop_fn_compile(f, HOP_COMPILE_OPTS(.target = "cuda")));
	many(call, f, &x, NULL);
	hop_array_release(x);
	hop_fn_release(f);
}

static void streams(void **state)
{
	NEED_DEVICE();
	hop_fn *f = captured(some, hop_spec1(HOP_f64, SIZE));
	hop_array *x = numbers(gpu);
	hop_stream *s;
	(void)state;
	ok(hop_stream_new(ctx, gpu, &s));
	many(call, f, &x, s);
	hop_stream_free(s);
	hop_array_release(x);
	hop_fn_release(f);
}

/* A loop that looks whether it is to stop is waited for where somebody may say so, and only there. */
static void loops(void **state)
{
	NEED_DEVICE();
	hop_fn *f = captured(turning, hop_spec1(HOP_f64, SIZE));
	hop_array *x = numbers(gpu), *y[2];
	hop_cancel c = { 0 };
	hop_stream *s;
	(void)state;
	ok(hop_stream_new(ctx, gpu, &s));
	watched = hop_stream_handle(s);
	for (int i = 0; i < 3; i++)
		call(f, i, &x, s);
	assert_int_equal(waits, 0);
	ok(hop_call_with(f, 1, &x, 2, y, HOP_RUN_OPTS(.stream = s, .cancel = &c)));
	assert_true(waits > 0);
	hop_array_release(y[0]);
	hop_array_release(y[1]);
	hop_cancel_set(&c);
	assert_int_equal(hop_call_with(f, 1, &x, 2, y, HOP_RUN_OPTS(.stream = s, .cancel = &c)),
	                 HOP_ECANCELED);
	ok(hop_stream_wait(s));
	hop_stream_free(s);
	hop_array_release(x);
	hop_fn_release(f);
}

static void sizes(void **state)
{
	NEED_DEVICE();
	hop_fn *f = captured(some, hop_spec_sym(hop_spec1(HOP_f64, 2), 0, "n", 0, 100));
	hop_stream *s;
	(void)state;
	ok(hop_fn_compile(f, HOP_COMPILE_OPTS(.target = "cuda")));
	ok(hop_stream_new(ctx, gpu, &s));
	many(sized, f, NULL, s);
	hop_stream_free(s);
	hop_fn_release(f);
}

static void tapes(void **state)
{
	NEED_DEVICE();
	hop_fn *f = captured(looped, hop_spec1(HOP_f64, SIZE)), *g;
	hop_array *x = numbers(gpu);
	(void)state;
	ok(hop_grad(f, 1, (const int[]){ 0 }, &g));
	many(call, g, &x, NULL);
	hop_array_release(x);
	hop_fn_release(g);
	hop_fn_release(f);
}

/* Functions that come and go: all of a module is given back. */
static void functions(void **state)
{
	NEED_DEVICE();
	hop_array *x = numbers(gpu);
	stock before = { 0 };
	(void)state;
	for (int i = 0; i < 6; i++) {
		hop_fn *f = captured(some, hop_spec1(HOP_f64, SIZE));
		call(f, 0, &x, NULL);
		call(f, 1, &x, NULL);
		hop_fn_release(f);
		if (i == 2)
			before = now;
	}
	now.here = before.here;                /* types and names stay with the context */
	same_stock(&before, 0);
	hop_array_release(x);
}

/* What is dear to make stays with the device: the first run of a program finds it, unless many others
 * have theirs. */
static void first_runs(void **state)
{
	enum { SOME = 5 };
	NEED_DEVICE();
	hop_array *x = numbers((hop_device){ 0 });
	hop_fn *f[SOME];
	long locked = 0;
	(void)state;
	for (int i = 0; i < SOME; i++) {
		f[i] = captured(some, hop_spec1(HOP_f64, SIZE));
		ok(hop_fn_compile(f[i], HOP_COMPILE_OPTS(.target = "cuda", .no_cache = true)));
		call(f[i], 0, &x, NULL);
		if (!i)
			locked = now.locked;
	}
	assert_true(now.locked <= locked + 1);
	stock before = now;
	for (int i = 0; i < SOME; i++)
		hop_fn_release(f[i]);
	assert_int_equal(before.locked, now.locked);
	assert_int_equal(before.streams, now.streams);
	hop_array_release(x);
}

static int setup(void **state)
{
	const hop_cu *cu;
	(void)state;
	if (!hop_cu_open(&cu))
		watch(cu);
	if (hop_ctx_new(HOP_CTX_OPTS(.alloc = metered), &ctx))
		return 1;
	absent = hop_device_find(ctx, "cuda", &gpu) != HOP_OK;
	if (absent)
		print_message("skipped: no device (%s)\n", hop_message(ctx));
	else
		emulated = strstr(hop_device_about(ctx, gpu), "emulated") != NULL;
	calls = emulated ? EMULATED : MOST;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrays_there), cmocka_unit_test(arrays_here), cmocka_unit_test(streams),
		cmocka_unit_test(loops), cmocka_unit_test(sizes), cmocka_unit_test(tapes),
		cmocka_unit_test(functions), cmocka_unit_test(first_runs),
	};
	unsetenv("HOP_TARGET");                /* tests say where */
	return cmocka_run_group_tests(tests, setup, close_ctx);
}
