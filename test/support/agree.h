/* agree.h -- a function called compiled and interpreted, and what it is called with. */
#ifndef AGREE_H
#define AGREE_H

#include "hop/hop.h"

/* Floats in -1 .. 1, others for another step; NULL, with a message of the context, where there is no
 * room. */
hop_array *agree_input(hop_ctx *c, hop_dtype d, int rank, const int64_t *dim, double step);

/* The first n results are the same but for tol, relative where they are large; else what differs is
 * printed behind `what`. */
bool agree(hop_ctx *c, hop_fn *f, const char *what, int nin, hop_array **in, int n, double tol);

#endif
