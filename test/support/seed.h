/* seed.h -- seeds of random tests: RANDOM_SEED names one; else the first half of a run is the
 * same every time and the second half starts from the clock. What failed prints its seed. */
#ifndef SEED_H
#define SEED_H

#include <stdbool.h>
#include <stdint.h>

/* Is there a run i? Not behind *n, nor when RANDOM_SECONDS have passed since the first was asked
 * for: then *n becomes i. */
bool     seed_more(long i, long *n);
/* The seed of run i of n. With RANDOM_NOTE each is said before it runs: the last one is that of what
 * never ended. */
uint64_t seed_of(long i, long n);
/* Every third program is compiled in parts of a few statements (HOP_PART), every fourth with
 * loops and sums of a few iterations shared (HOP_FORK), two of five with associative scans in
 * blocks of a few elements (HOP_PIECE). */
void     seed_parts(uint64_t seed);

/* Runs `one` for the seeds that the command line and the variables say, a hundred if they do not; prints
 * how many of them it was true for, and gives what main is to return. */
int      seed_each(int argc, char **argv, bool (*one)(uint64_t seed));

#endif
