/* What the examples share: making, showing and checking. Nothing here is part of hop. */
#ifndef HOP_EXAMPLE_H
#define HOP_EXAMPLE_H

#include <stdio.h>
#include <stdlib.h>

#include <hop/hop.h>

/* Every fallible function returns a status; the text is in the context. */
static inline void must(hop_ctx *c, hop_status st)
{
	if (st) {
		fprintf(stderr, "%s\n", hop_message(c));
		exit(1);
	}
}

static inline hop_array *vector(hop_ctx *c, int64_t n, const double *v)
{
	hop_array *a;
	must(c, hop_array_new(c, HOP_f64, 1, &n, v, &a));
	return a;
}

static inline hop_array *scalar(hop_ctx *c, double v)
{
	hop_array *a;
	must(c, hop_array_new(c, HOP_f64, 0, NULL, &v, &a));
	return a;
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

#endif
