/* deep.h -- any bytes, all the way: read as text, or as the choices of a random program; made
 * into graphs, transformed, optimised, lowered, run one scalar at a time with every access
 * checked, compiled and run between guard pages; all ways agree on what is refused. */
#ifndef DEEP_H
#define DEEP_H

#include <stddef.h>
#include <stdint.h>

typedef struct deep_count {
	long inputs;               /* given */
	long programs;             /* of which were programs that were lowered, transforms too */
	long compiled;             /* and compiled */
	long runs, refused;
	long unsteady;             /* see refuse.h */
	long failures;
} deep_count;

/* native: one in so many inputs is compiled as well; 0 = none. */
void deep_input(const uint8_t *p, size_t n, unsigned native, deep_count *c);

#endif
