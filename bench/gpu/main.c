/* The benchmark of a device: calls back to back on arrays that are there, in turns so that no cache
 * holds them, by the device's own events; one call that is waited for stands beside. Each row has the
 * goal that it is held to: a ratio of 1 or less is good.
 *
 *	bench_gpu [check | once] [--target=cuda] [--small[=8]] [NAME]
 *
 * check: results beside those of the CPU; once: those alone, nothing is timed. small: sizes are so many
 * times smaller. NAME: only rows that have it in their name. */
#include "gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETS = 32, SPREAD = 200 << 20 };          /* bytes that arrays in turns should have */

typedef struct work {
	const gpu_place *p;
	const gpu_row   *row;
	hop_fn          *f;
	hop_exec        *x;
	int              nset;
	hop_array       *in[SETS][GPU_MOST], *out[SETS];
	hop_arg          ain[SETS][GPU_MOST], aout[SETS];
	void            *space[SETS];
} work;

/* ---- arrays ---- */

/* Numbers in -1 .. 1, or places in rows that there are; trips for a scalar. */
static hop_status give(const gpu_place *p, const gpu_row *r, const hop_spec *s, unsigned seed,
                       hop_array **out)
{
	float    scale = r->scale > 0 ? (float)r->scale : 1;
	int64_t  n = 1;
	unsigned u = seed * 2654435761u + 1;

	for (int i = 0; i < s->rank; i++)
		n *= s->dim[i];
	void *data = malloc((size_t)n * 8);
	for (int64_t i = 0; i < n; i++) {
		u = u * 1664525u + 1013904223u;
		if (s->dtype == HOP_i64)
			((int64_t *)data)[i] = s->rank ? (int64_t)(u >> 4) % r->n[0] : r->per;
		else
			((float *)data)[i] = scale * ((float)(u >> 8) / 8388608.0f - 1.0f);
	}
	hop_status st = hop_array_new_on(p->c, p->at, s->dtype, s->rank, s->dim, data, out);
	free(data);
	return st;
}

static hop_arg arg_of(hop_array *a)
{
	return (hop_arg){ .data = hop_array_address(a), .dim = hop_array_dims(a),
		              .device = hop_array_device(a) };
}

static hop_status result_for(work *w, int i)
{
	const gpu_place *p = w->p;
	int64_t dim[HOP_RANK], n;
	int     rank = hop_exec_result(w->x, w->ain[i], 0, dim);
	hop_status st = hop_array_new_on(p->c, p->at, HOP_f32, rank, dim, NULL, &w->out[i]);
	if (st)
		return st;
	w->aout[i] = arg_of(w->out[i]);
	n = hop_exec_workspace(w->x, w->ain[i]);
	w->space[i] = aligned_alloc(64, (size_t)(n + 127) / 64 * 64);
	return HOP_OK;
}

static int sets_of(const gpu_row *r)
{
	int64_t bytes = r->bytes + 1;

	for (int i = 0; i < r->nin && !r->bytes; i++) {
		int64_t n = 8;
		for (int d = 0; d < r->in[i].rank; d++)
			n *= r->in[i].dim[d];
		bytes += n;
	}
	int64_t n = SPREAD / bytes + 1;
	return n > SETS ? SETS : (int)n;
}

static hop_status prepare(work *w, int sets)
{
	const gpu_row *r = w->row;
	hop_status st = hop_capture(w->p->c, r->body, (void *)(uintptr_t)r->n, r->nin, r->in, &w->f);

	if (!st)
		st = hop_compile(w->f, HOP_COMPILE_OPTS(.target = w->p->target), &w->x);
	w->nset = sets;
	for (int i = 0; i < w->nset && !st; i++) {
		for (int k = 0; k < w->row->nin && !st; k++) {
			st = give(w->p, w->row, &w->row->in[k], (unsigned)(i * 8 + k), &w->in[i][k]);
			if (!st)
				w->ain[i][k] = arg_of(w->in[i][k]);
		}
		if (!st)
			st = result_for(w, i);
	}
	return st;
}

static void drop(work *w)
{
	if (w->p->stream && hop_stream_wait(w->p->stream))
		fprintf(stderr, "%s\n", hop_message(w->p->c));
	for (int i = 0; i < w->nset; i++) {
		for (int k = 0; k < GPU_MOST; k++)
			hop_array_release(w->in[i][k]);
		hop_array_release(w->out[i]);
		free(w->space[i]);
	}
	hop_exec_release(w->x);
	hop_fn_release(w->f);
}

/* ---- times ---- */

static bool go(void *user, int i)
{
	work *w = user;
	int   k = i % w->nset;

	return !hop_run_with(w->x, w->ain[k], &w->aout[k], w->space[k],
	                     HOP_RUN_OPTS(.stream = w->p->stream));
}

static bool go_and_wait(void *user, int i)
{
	work *w = user;
	int   k = i % w->nset;

	return !hop_run(w->x, w->ain[k], &w->aout[k], w->space[k]);
}

/* One call with the host's clock: the way there and back. */
static double waited(work *w)
{
	gpu_place by_host = *w->p;

	by_host.clock = NULL;
	by_host.stream = NULL;
	return gpu_median(&by_host, go_and_wait, w);
}

typedef struct copies { const gpu_place *p; char *a; size_t bytes, all; } copies;

static bool copy(void *user, int i)
{
	copies *c = user;
	size_t  half = c->bytes / 2, n = c->all / c->bytes, at = (size_t)i % (n ? n : 1) * c->bytes;

	if (c->p->clock)
		return gpu_clock_copy(c->p->clock, c->a + at + half, c->a + at, half);
	memcpy(c->a + at + half, c->a + at, half);
	return true;
}

/* Seconds of a copy that moves so many bytes, read and written. */
static double copy_time(const gpu_place *p, int64_t bytes)
{
	int64_t    all = bytes > SPREAD ? bytes : SPREAD / bytes * bytes, n = all / 4;
	hop_array *a = NULL;
	hop_status st = hop_array_new_on(p->c, p->at, HOP_f32, 1, &n, NULL, &a);
	if (st)
		return -1;
	copies c = { p, hop_array_address(a), (size_t)bytes, (size_t)all };
	double t = gpu_median(p, copy, &c);
	hop_array_release(a);
	return t;
}

/* ---- beside the CPU ---- */

static double difference(work *w)
{
	hop_array *in[GPU_MOST] = { NULL }, *want = NULL, *got = NULL;
	hop_status st = HOP_OK;
	double     most = 0;

	for (int k = 0; k < w->row->nin && !st; k++)
		st = hop_array_to(w->in[0][k], (hop_device){ 0 }, &in[k]);
	if (!st)
		st = go_and_wait(w, 0) ? hop_call(w->f, w->row->nin, in, 1, &want) : HOP_ETARGET;
	if (!st)
		st = hop_array_to(w->out[0], (hop_device){ 0 }, &got);
	for (int64_t i = 0; !st && i < hop_array_count(want); i++) {
		double x = ((float *)hop_array_data(want))[i];
		double d = fabs(x - (double)((float *)hop_array_data(got))[i]);
		d /= 1 + fabs(x);
		most = d > most || d != d ? d : most;
	}
	for (int k = 0; k < w->row->nin; k++)
		hop_array_release(in[k]);
	hop_array_release(want);
	hop_array_release(got);
	return st ? NAN : most;
}

/* ---- rows ---- */

static void look(const gpu_place *p, const gpu_row *r)
{
	work   w = { .p = p, .row = r };
	double d = NAN;

	if (!prepare(&w, 1))
		d = difference(&w);
	if (d == d)
		printf("%-28s %.1e\n", r->name, d);
	else
		printf("%-28s failed: %s\n", r->name, hop_message(p->c));
	fflush(stdout);
	drop(&w);
}

static void measure(const gpu_place *p, const gpu_row *r, bool check)
{
	work   w = { .p = p, .row = r };
	double t = -1, one = -1, here;

	if (prepare(&w, sets_of(r)) || (t = gpu_median(p, go, &w)) < 0 || (one = waited(&w)) < 0) {
		printf("%-28s failed: %s\n", r->name, hop_message(p->c));
		drop(&w);
		return;
	}
	here = r->bytes ? 100 * copy_time(p, r->bytes) / t : t * 1e6 / (double)r->per;
	printf("%-28s %9.3f %-10s %9.2f %7.2f %11.2f %11.2f", r->name, here, r->unit, r->goal,
	       r->bytes ? r->goal / here : here / r->goal, t * 1e6, one * 1e6);
	if (check)
		printf("   %.1e", difference(&w));
	printf("\n");
	fflush(stdout);
	drop(&w);
}

static void measure_all(const gpu_place *p, int64_t small, bool check, const char *only,
                        const char *self)
{
	gpu_row r;

	printf("%-28s %9s %-10s %9s %7s %11s %11s%s\n", "", "here", "", "goal", "ratio", "us a call",
	       "and waited", check ? "   difference" : "");
	for (int i = 0; gpu_row_at(i, small, &r); i++)
		if (!only || strstr(r.name, only))
			measure(p, &r, check);
	if (!only || strstr("compile", only))
		gpu_compile_times(p);
	if (!only || strstr("cold", only))
		gpu_cold(self, p->target);
}

static bool find_place(gpu_place *p)
{
	bool here = strncmp(p->target, "cuda", 4) != 0;

	if (hop_ctx_new(NULL, &p->c))
		return false;
	if (here)
		return true;
	if (hop_device_find(p->c, p->target, &p->at) || hop_stream_new(p->c, p->at, &p->stream)) {
		printf("skipped: no device: %s\n", hop_message(p->c));
		return false;
	}
	p->clock = gpu_clock_open(p->stream);
	printf("%s; times by %s\n\n", hop_device_about(p->c, p->at),
	       p->clock ? "events" : "the host's clock");
	return true;
}

int main(int argc, char **argv)
{
	gpu_place   p = { .target = "cuda" };
	gpu_row     r;
	bool        check = false, once = false;
	int64_t     small = 1;
	const char *only = NULL;

	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "--target=", 9))
			p.target = argv[i] + 9;
		else if (!strncmp(argv[i], "--small", 7))
			small = argv[i][7] ? atoi(argv[i] + 8) : 8;
		else if (!strcmp(argv[i], "once"))
			once = true;
		else if (!strcmp(argv[i], "check"))
			check = true;
		else
			only = argv[i];
	}
	if (only && !strcmp(only, "first"))
		return gpu_first(p.target);
	if (!find_place(&p)) {
		hop_ctx_free(p.c);
		return 0;
	}
	for (int i = 0; once && gpu_row_at(i, small, &r); i++)
		if (!only || strstr(r.name, only))
			look(&p, &r);
	if (!once)
		measure_all(&p, small, check, only, argv[0]);
	gpu_clock_close(p.clock);
	hop_stream_free(p.stream);
	hop_ctx_free(p.c);
	return 0;
}
