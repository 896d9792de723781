/* What the examples share: making arrays, running a body, drawing. Nothing here is part of hop. */
#ifndef HOP_EXAMPLE_H
#define HOP_EXAMPLE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hop/hop.h>

/* Every fallible function returns a status; the text is in the context. */
static inline void must(hop_ctx *c, hop_status st)
{
	if (st) {
		fprintf(stderr, "%s\n", hop_message(c));
		exit(1);
	}
}

static inline hop_ctx *context(void)
{
	hop_ctx *c;
	if (hop_ctx_new(NULL, &c))
		exit(1);
	return c;
}

static inline hop_array *scalar(hop_ctx *c, double v)
{
	hop_array *a;
	must(c, hop_array_new(c, HOP_f64, 0, NULL, &v, &a));
	return a;
}

static inline hop_array *vector(hop_ctx *c, int64_t n, const double *v)
{
	hop_array *a;
	must(c, hop_array_new(c, HOP_f64, 1, &n, v, &a));
	return a;
}

static inline hop_array *matrix(hop_ctx *c, int64_t n, int64_t m, const double *v)
{
	hop_array *a;
	must(c, hop_array_new(c, HOP_f64, 2, (int64_t[]){ n, m }, v, &a));
	return a;
}

static inline double *numbers(hop_array *a)
{
	return (double *)hop_array_data(a);
}

static inline void release(int n, hop_array **a)
{
	for (int i = 0; i < n; i++)
		hop_array_release(a[i]);
}

/* The types of arrays, to capture a body for them. */
static inline void specs(int n, hop_array *const *a, hop_spec *s)
{
	for (int i = 0; i < n; i++)
		s[i] = hop_spec_of(hop_array_dtype(a[i]), hop_array_rank(a[i]), hop_array_dims(a[i]));
}

/* Capture a body for these arrays, compile it, call it. */
static inline void run(hop_ctx *c, hop_body *f, int nin, hop_array *const *in, int nout,
                       hop_array **out)
{
	hop_spec s[16];
	hop_fn *fn;
	specs(nin, in, s);
	must(c, hop_capture(c, f, NULL, nin, s, &fn));
	must(c, hop_call(fn, nin, in, nout, out));
	hop_fn_release(fn);
}

/* Prints and releases. */
static inline void show(const char *what, hop_array *a)
{
	printf("%s", what);
	for (int64_t i = 0; i < hop_array_count(a); i++)
		printf(" %g", hop_array_at(a, i));
	printf("\n");
	hop_array_release(a);
}

/* A picture in characters: x and y go from 0 to 1, y upwards. Zero is an empty one. */
enum { WIDE = 64, HIGH = 12 };
struct picture {
	char at[HIGH][WIDE];
};

static inline void dot(struct picture *p, double x, double y, char mark)
{
	if (x >= 0 && x <= 1 && y >= 0 && y <= 1)
		p->at[HIGH - 1 - (int)(y * (HIGH - 1) + 0.5)][(int)(x * (WIDE - 1) + 0.5)] = mark;
}

static inline void draw(const struct picture *p)
{
	for (int i = 0; i < HIGH; i++) {
		int n = WIDE;
		while (n && !p->at[i][n - 1])
			n--;
		for (int k = 0; k < n; k++)
			putchar(p->at[i][k] ? p->at[i][k] : ' ');
		putchar('\n');
	}
}

/* A row of numbers as a curve on a logarithmic scale, from its largest to its smallest. */
static inline void curve(const char *what, hop_array *a)
{
	struct picture p = { { { 0 } } };
	int64_t n = hop_array_count(a);
	double lo = INFINITY, hi = -INFINITY;
	for (int64_t i = 0; i < n; i++) {
		lo = fmin(lo, log(hop_array_at(a, i)));
		hi = fmax(hi, log(hop_array_at(a, i)));
	}
	for (int64_t i = 0; i < n; i++)
		dot(&p, (double)i / (double)(n - 1), (log(hop_array_at(a, i)) - lo) / (hi - lo), '*');
	printf("%s from %.2g to %.2g in %d steps\n", what, hop_array_at(a, 0),
	       hop_array_at(a, n - 1), (int)n);
	draw(&p);
}

#endif
