/* unsteady.h -- does it say anything that two ways to run a program disagree? It may multiply the last
 * bit a millionfold, or go another way by it: where a sum that was rounded otherwise becomes an integer,
 * and that the key of random numbers. Asked after a disagreement only. */
#ifndef UNSTEADY_H
#define UNSTEADY_H

#include "interp/interp.h"

/* Every element of got that is farther than tol from what the interpreter wants moves about as far when
 * float inputs move by some roundings. */
bool unsteady(hop_interp *p, const hop_graph *g, const int64_t *syms, hop_array *const *in,
              hop_array *const *want, hop_array *const *got, double tol);

#endif
