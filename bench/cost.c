/* cost.c -- what compiling costs, by the work; what loading from the object cache costs; and
 * what a call through the hard door costs when there is next to nothing to compute. */
#include <stdio.h>
#include <stdlib.h>

#include "cost.h"
#include "hop/compile.h"

/* The least of several compilations, in seconds by stage; the first of a process also loads
 * LLVM and is not counted. */
static hop_status least(hop_fn *f, bool no_cache, hop_compile_times *out)
{
	hop_compile_opts o = { .size = sizeof o, .threads = 1, .no_cache = no_cache };
	for (int i = 0; i < 20; i++) {
		hop_exec *x;
		hop_status st = hop_compile(f, &o, &x);
		if (st)
			return st;
		hop_compile_times t = hop_exec_times(x);
		if (i < 2 || t.opt + t.lower + t.code < out->opt + out->lower + out->code)
			*out = t;
		hop_exec_release(x);
	}
	return HOP_OK;
}

void bench_cost(hop_ctx *c, const char *name, hop_fn *f)
{
	hop_compile_times fresh, cached;
	if (least(f, true, &fresh) || least(f, false, &cached)) {
		printf("%-18s %s\n", name, hop_message(c));
		return;
	}
	printf("%-18s %9.2f %9.2f %9.2f %9.2f %9.2f%s\n", name, fresh.opt * 1e3,
	       fresh.lower * 1e3, fresh.code * 1e3,
	       (fresh.opt + fresh.lower + fresh.code) * 1e3,
	       (cached.opt + cached.lower + cached.code) * 1e3,
	       cached.from_cache ? "" : " (no cache)");
}

/* ---- the hard door ---- */

struct door {
	hop_exec *x;
	hop_arg   in[2], out[1];
	void     *work;
	double    a[4], b[4], y[4];
};

/* Ten flops: four products, four sums, and two more. */
static void ten(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value s = hop_sum_all(t, hop_mul(t, in[0], in[1]));
	hop_return(t, hop_addf(t, hop_mulf(t, s, 0.5), 1));
}

static void through(void *user)
{
	struct door *d = user;
	(void)!hop_run(d->x, d->in, d->out, d->work);
}

void bench_door(hop_ctx *c)
{
	hop_spec s[2] = { hop_spec1(HOP_f64, 4), hop_spec1(HOP_f64, 4) };
	hop_compile_opts o = { .size = sizeof o, .threads = 1 };
	struct door d = { .a = { 1, 2, 3, 4 }, .b = { 1, 1, 2, 2 } };
	hop_fn *f = NULL;
	if (hop_capture(c, ten, NULL, 2, s, &f) || hop_compile(f, &o, &d.x)) {
		printf("hard door: %s\n", hop_message(c));
		hop_fn_release(f);
		return;
	}
	d.in[0].data = d.a;
	d.in[1].data = d.b;
	d.out[0].data = d.y;
	int64_t n = hop_exec_workspace(d.x, d.in);
	d.work = aligned_alloc(64, (size_t)(n + 127) / 64 * 64);
	through(&d);
	printf("%-18s %.0f ns (result %g, expected 9.5)\n", "ten flops",
	       bench_time(through, &d, 0.003) * 1e9, d.y[0]);
	free(d.work);
	hop_exec_release(d.x);
	hop_fn_release(f);
}
