/* loops.c -- gradients of long loops in every memory mode: the bytes that a call has at a time, and
 * its time as multiples of the loop itself. The memory is what the context asks its allocator for
 * during the second call; code and graphs are there before. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "hop/hop.h"
#include "loops.h"

enum { WIDTH = 1024 };

struct use { size_t now, most; };

static void *count(void *user, void *ptr, size_t old, size_t size)
{
	struct use *u = user;
	u->now += size - old;
	u->most = u->now > u->most ? u->now : u->most;
	if (size)
		return realloc(ptr, size);
	free(ptr);
	return NULL;
}

struct mode {
	const char *name;
	long        trips;
	int         every, slots;
	bool        bound, scan, value;    /* value: no gradient */
};

/* x + sin(k x) / 100, so many times, summed. Inputs: n, x, k. */
static void loop(hop_trace *t, const hop_value *in, void *user)
{
	const struct mode *m = user;
	hop_value x = in[1], i = hop_full(t, HOP_i64, 0, NULL, 0);
	if (m->scan) {
		HOP_FOR(t, j, (int)m->trips, x) {
			if (m->every)
				hop_every(t, m->every);
			if (m->slots)
				hop_slots(t, m->slots);
			x = hop_add(t, x, hop_mulf(t, hop_sin(t, hop_mul(t, x, in[2])), 0.01));
		}
	} else {
		HOP_WHILE(t, hop_lt(t, i, in[0]), x, i) {
			if (m->bound)
				hop_bound(t, m->trips);
			if (m->slots)
				hop_slots(t, m->slots);
			x = hop_add(t, x, hop_mulf(t, hop_sin(t, hop_mul(t, x, in[2])), 0.01));
			i = hop_add(t, i, hop_i(t, 1));
		}
	}
	hop_return(t, hop_sum_all(t, x));
}

/* Seconds of one call; 0 if it fails. */
static double run(const struct mode *m, size_t *out_bytes)
{
	struct use u = { 0, 0 };
	hop_ctx_opts o = { .size = sizeof o, .alloc = count, .user = &u, .threads = 1 };
	hop_spec s[3] = { hop_spec0(HOP_i64), hop_spec1(HOP_f64, WIDTH), hop_spec1(HOP_f64, WIDTH) };
	int wrt[2] = { 1, 2 };
	double v[WIDTH], time = 0;
	int64_t n = m->trips, width = WIDTH;
	hop_ctx *c;
	hop_fn *f = NULL, *g = NULL;
	hop_array *in[3] = { NULL, NULL, NULL }, *out[3] = { NULL, NULL, NULL };
	if (hop_ctx_new(&o, &c))
		return 0;
	for (int i = 0; i < WIDTH; i++)
		v[i] = 0.2 + i * (1.0 / WIDTH);
	bool ok = !hop_capture(c, loop, (void *)m, 3, s, &f) && !hop_grad(f, 2, wrt, &g) &&
	          !hop_array_new(c, HOP_i64, 0, NULL, &n, &in[0]) &&
	          !hop_array_new(c, HOP_f64, 1, &width, v, &in[1]) &&
	          !hop_array_new(c, HOP_f64, 1, &width, v, &in[2]);
	for (int i = 0; ok && i < 2; i++) {
		size_t before = u.now;
		double start = bench_now();
		u.most = u.now;
		ok = !hop_call(m->value ? f : g, 3, in, m->value ? 1 : 3, out);
		time = bench_now() - start;
		*out_bytes = u.most - before;
		for (int k = 0; k < 3; k++) {
			hop_array_release(out[k]);
			out[k] = NULL;
		}
	}
	if (!ok)
		printf("%s: %s\n", m->name, hop_message(c));
	for (int k = 0; k < 3; k++)
		hop_array_release(in[k]);
	hop_fn_release(g);
	hop_fn_release(f);
	hop_ctx_free(c);
	return ok ? time : 0;
}

static const struct mode modes[] = {
	{ "while, value", 10000, .value = true },
	{ "while, grow", 10000, .slots = 0 },
	{ "while, bound", 10000, .bound = true },
	{ "while, 64 slots", 10000, .slots = 64 },
	{ "while, 16 slots", 10000, .slots = 16 },
	{ "scan, value", 10000, .scan = true, .value = true },
	{ "scan, all", 10000, .scan = true },
	{ "scan, every 10", 10000, .scan = true, .every = 10 },
	{ "scan, sqrt", 10000, .scan = true, .every = -1 },
	{ "scan, 64 slots", 10000, .scan = true, .slots = 64 },
	{ "while, value", 1000000, .value = true },
	{ "while, 256 slots", 1000000, .slots = 256 },
};

int bench_loops(void)
{
	double value = 0;
	printf("\ngradients of long loops over %d f64\n%-18s %9s %9s %9s %9s\n", WIDTH, "", "trips",
	       "MB", "s", "values");
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		size_t bytes = 0;
		double t = run(&modes[i], &bytes);
		value = modes[i].value ? t : value;
		printf("%-18s %9ld %9.2f %9.3f %9.2f\n", modes[i].name, modes[i].trips,
		       (double)bytes * 1e-6, t, value > 0 ? t / value : 0);
	}
	return 0;
}
