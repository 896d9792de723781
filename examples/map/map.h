/* map.h -- the examples of docs/pytorch-map.md: each shows what takes the place of one of PyTorch's
 * operators, and is called by that name. `build/map cond` runs one. Nothing here is part of hop.
 *
 *	EXAMPLE(cond, IN(S(-3)), GIVES(9))        a body, its inputs, and the numbers of its results
 *	{
 *		hop_value x = in[0];
 *		HOP_IF(t, hop_lt(t, x, hop_f(t, 0)), x)
 *			x = hop_mul(t, x, x);
 *		hop_return(t, x);
 *	}
 *	PROGRAM(grad) { .. expect(c, 1, &out, 6); }       a function that checks for itself
 *	ALSO(map_impl, map)                               another name for an example
 *
 * A body is run eagerly, interpreted and compiled, and must give the same numbers each time. */
#ifndef MAP_H
#define MAP_H

#include "../example.h"

/* Bodies have three parameters, and few need all of them. */
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

/* Numbers written down: an input in f64, which may be cast inside. */
typedef struct tensor {
	int           rank;
	int64_t       dim[3];
	const double *v;
} tensor;
#define NUMBERS_(...)     ((const double[]){ __VA_ARGS__ })
#define COUNT_(...)       ((int)(sizeof NUMBERS_(__VA_ARGS__) / sizeof(double)))
#define S(x)              { 0, { 0 }, NUMBERS_(x) }
#define V(...)            { 1, { COUNT_(__VA_ARGS__) }, NUMBERS_(__VA_ARGS__) }
#define M(n, m, ...)      { 2, { n, m }, NUMBERS_(__VA_ARGS__) }
#define IN(...)           (int)(sizeof((tensor[]){ __VA_ARGS__ }) / sizeof(tensor)), \
	                      (const tensor[]){ __VA_ARGS__ }
#define GIVES(...)        COUNT_(__VA_ARGS__), NUMBERS_(__VA_ARGS__)

typedef struct example {
	const char     *name, *file;
	hop_body       *body;          /* NULL = a program */
	void            (*program)(hop_ctx *c);
	int             nin;
	const tensor   *in;
	int             ngive;
	const double   *gives;
	struct example *next;
} example;
void example_add(example *e);

/* They make themselves known before main: a new file needs no list. */
#define ADD_(name, ...) \
	static example example_##name = { #name, __FILE__, __VA_ARGS__, NULL }; \
	static void __attribute__((constructor)) example_add_##name(void) \
	{ \
		example_add(&example_##name); \
	}
#define BODY(name) static void name(hop_trace *t, const hop_value *in, void *user)
#define EXAMPLE(name, inputs, numbers) \
	BODY(name##_body); \
	ADD_(name, name##_body, NULL, inputs, numbers) \
	BODY(name##_body)
#define PROGRAM(name) \
	static void name##_program(hop_ctx *c); \
	ADD_(name, NULL, name##_program, 0, NULL, 0, NULL) \
	static void name##_program(hop_ctx *c)
#define ALSO(name, of) \
	static void name##_program(hop_ctx *c) { example_run(c, &example_##of); } \
	ADD_(name, NULL, name##_program, 0, NULL, 0, NULL)

void example_run(hop_ctx *c, const example *e);
/* These arrays hold these numbers, one array after the other, to 1e-6 of their size; they are
 * printed and released. The program ends if they do not. */
void expect_n(hop_ctx *c, int n, hop_array **out, int nwant, const double *want);
#define expect(c, n, out, ...) expect_n(c, n, out, COUNT_(__VA_ARGS__), NUMBERS_(__VA_ARGS__))
/* A program's own condition; the program ends if it does not hold. */
void expect_true(bool ok, const char *what);
#define expect_that(e) expect_true(e, #e)

#endif
