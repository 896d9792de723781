/* refuse.h -- random programs on sizes that fit and on sizes that do not: every way to run
 * them must refuse the same inputs and agree on the others, and their derivatives and
 * batches must refuse what they refuse. */
#ifndef REFUSE_H
#define REFUSE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct refuse_count {
	long programs, graphs, inputs, refused, failures;
} refuse_count;

/* One program: makes it from the seed, and its transforms; runs them on `inputs` inputs
 * each, as compiled code too if `native`. Adds to the counts; failures are printed. */
void refuse_program(uint64_t seed, int inputs, bool native, refuse_count *c);

#endif
