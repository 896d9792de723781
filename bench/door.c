/* door.c -- what a call costs by each door: hop_run on the caller's memory; hop_call, which finds
 * memory for results and workspace; and hop_jit_call, which looks for the function first. What is
 * promised: at most 0.35 us of hop_call's own, and at most 1.1 times hop_run from 64 KiB on; a jit adds
 * at most 0.1 us. */
#include <stdio.h>
#include <stdlib.h>

#include "cost.h"
#include "hop/compile.h"

/* Ten flops: four products, four sums, and two more. */
static void ten(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value s = hop_sum_all(t, hop_mul(t, in[0], in[0]));
	hop_return(t, hop_addf(t, hop_mulf(t, s, 0.5), 1));
}

static void half(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mulf(t, hop_addf(t, in[0], 1), 0.5));
}

static void all(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sum_all(t, in[0]));
}

static const struct kind {
	const char *name;
	hop_body   *body;
	int64_t     n;
} kinds[] = {
	{ "ten flops", ten, 4 },
	{ "(x + 1) / 2 64 KiB", half, 1 << 14 },
	{ "(x + 1) / 2 4 MiB", half, 1 << 20 },
	{ "sum of 10^7", all, 10000000 },
};

struct door {
	hop_fn    *f;
	hop_jit   *j;
	hop_exec  *x;
	hop_arg    in, out;
	void      *work;
	hop_array *a, *y;
	hop_status st;
};

static void hard(void *user)
{
	struct door *d = user;
	d->st |= hop_run(d->x, &d->in, &d->out, d->work);
}

static void comfortable(void *user)
{
	struct door *d = user;
	hop_array_release(d->y);
	d->st |= hop_call(d->f, 1, &d->a, 1, &d->y);
}

static void finding(void *user)
{
	struct door *d = user;
	hop_array_release(d->y);
	d->st |= hop_jit_call(d->j, 1, &d->a, 1, &d->y);
}

static bool open_door(hop_ctx *c, const struct kind *k, struct door *d)
{
	hop_spec s = hop_spec1(HOP_f32, k->n);
	if (hop_capture(c, k->body, NULL, 1, &s, &d->f) || hop_compile(d->f, NULL, &d->x) ||
	    hop_jit_new(c, k->body, NULL, NULL, &d->j) ||
	    hop_array_new(c, HOP_f32, 1, &k->n, NULL, &d->a) || hop_call(d->f, 1, &d->a, 1, &d->y))
		return false;
	for (int64_t i = 0; i < k->n; i++)
		((float *)hop_array_data(d->a))[i] = 1;
	d->in.data = hop_array_data(d->a);
	d->out.data = aligned_alloc(64, ((size_t)k->n * sizeof(float) + 63) / 64 * 64);
	d->work = aligned_alloc(64, (size_t)(hop_exec_workspace(d->x, &d->in) + 127) / 64 * 64);
	return d->out.data && d->work;
}

static void row(hop_ctx *c, const struct kind *k)
{
	struct door d = { 0 };
	double      best[3] = { 1, 1, 1 };
	if (open_door(c, k, &d))
		for (int i = 0; i < 5; i++) {            /* in turn */
			double t[3] = { bench_time(hard, &d, 0.003), bench_time(comfortable, &d, 0.003),
			                bench_time(finding, &d, 0.003) };
			for (int j = 0; j < 3; j++)
				best[j] = t[j] < best[j] ? t[j] : best[j];
		}
	if (d.st || !d.work)
		printf("%-18s %s\n", k->name, hop_message(c));
	else
		printf("%-18s %9.3f %9.3f  %5.2f %9.3f  %5.2f\n", k->name, best[0] * 1e6, best[1] * 1e6,
		       best[1] / best[0], best[2] * 1e6, best[2] / best[1]);
	hop_array_release(d.a);
	hop_array_release(d.y);
	hop_exec_release(d.x);
	hop_jit_release(d.j);
	hop_fn_release(d.f);
	free(d.out.data);
	free(d.work);
}

void bench_door(hop_ctx *c)
{
	printf("\ncalls, in us\n%-18s %9s %9s  %5s %9s  %5s\n", "", "hop_run", "hop_call", "ratio",
	       "hop_jit", "ratio");
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		row(c, &kinds[i]);
}
