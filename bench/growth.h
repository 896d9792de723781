/* growth.h -- programs of any size, and what each stage of compiling one costs. */
#ifndef GROWTH_H
#define GROWTH_H

#include "hop/hop.h"

/* A program of about n nodes: its inputs and its body, which gets n as `long *`. */
typedef struct growth_kind {
	const char *name, *what;
	hop_body   *body;
	int         nin;
	hop_spec    in[12];            /* a size of -1 is n */
	long        least;             /* nodes of the smallest one that is measured */
	bool        is_count;          /* n counts what `what` says, not nodes */
	int         per;               /* so many inputs, the last, are there n times */
} growth_kind;

extern const growth_kind growth_kinds[];           /* ends with name NULL */

struct hop_graph;

enum { CAPTURE, GRADIENT, PASSES, LOWERING, CODE, NSTAGE };
struct growth_cost {
	double s[NSTAGE];          /* CPU seconds, of all threads */
	double mb[NSTAGE];         /* the most so far */
	double since;
	bool   ok;
};
void growth_end(struct growth_cost *c, int stage);
/* The stages from a graph to code, or to a device's text. */
hop_status growth_compile(hop_ctx *c, const struct hop_graph *g, bool device, struct growth_cost *out);

/* The table: 1 x, 10 x and 100 x, value and gradient; or one row of it by name, or
 * one program: name, n, value or grad. `device` before that: for a device. */
int bench_growth(int argc, char **argv);
/* How long a call of one takes: name, n, value or grad. */
int bench_run(int argc, char **argv);

#endif
