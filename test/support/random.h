/* random.h -- one random program and everything that must agree about it. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

enum random_way {
	RANDOM_LAWS = 1,           /* derivatives and batching, of a random chain of transforms */
	RANDOM_OPT = 2,            /* the graph after all passes, interpreted */
	RANDOM_LOOPS = 4,          /* its loop program, run one scalar at a time */
	RANDOM_NATIVE = 8,         /* compiled code */
	RANDOM_ALL = 15
};

/* Makes the program of this seed and checks it; returns the number of failures, having
 * printed the program. */
int random_program(uint64_t seed, int ways);

#endif
