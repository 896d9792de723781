/* refuse.h -- random programs on sizes that fit and on sizes that do not: every way to run
 * them must refuse the same inputs and agree on the others, and their derivatives and
 * batches must refuse what they refuse. */
#ifndef REFUSE_H
#define REFUSE_H

#include "ir/graph.h"

typedef struct refuse_count {
	long programs, graphs, compiled, inputs, refused, failures;
	long unsteady;             /* disagreements that prove nothing: see refuse.c */
} refuse_count;

typedef struct refuse_opts {
	uint64_t seed;
	int      inputs;           /* for each graph */
	int      transforms;       /* one after the other */
	bool     native;           /* compiled code too */
	bool     loose;            /* there is f32 on the way: values need not be so near */
	bool     any_values;       /* do not compare values: rounding may decide a branch */
} refuse_opts;

/* A graph and random transforms of it. Adds to the counts; failures are printed. */
void refuse_graph(hop_env *e, const hop_graph *g, const refuse_opts *o, refuse_count *c);
/* The same for the random program of this seed, in a context of its own. */
void refuse_program(uint64_t seed, int inputs, bool native, refuse_count *c);

#endif
