/* implicit.h -- what root and linear_solve share: functions given by equations. */
#ifndef HOP_IMPLICIT_H
#define HOP_IMPLICIT_H

#include "ad/ad.h"
#include "hops/body.h"

/* A body that solves: takes `nlead` times the n unknowns, then consts; gives the unknowns, and
 * info. The types are the operands'. out: NULL, or room for n + 1 types. */
hop_status hop_solver_check(hop_infer *f, const char *which, const hop_graph *g, hop_sizes sargs,
                            uint32_t n, int nlead, const hop_type **out);
/* The unknowns of a node, at least one, are floats; its function takes them and the consts, and
 * gives values like them. */
hop_status hop_unknowns_check(hop_infer *f, const char *which, const hop_graph *g,
                              hop_sizes sargs, int64_t n);

/* Linear equations A(consts) x = b as they are given to linear_solve. */
typedef struct hop_system {
	const hop_graph *matvec, *solve, *tsolve;      /* tsolve NULL: symmetric */
	bool             transposed;
	hop_sizes        sargs;
	uint32_t         n, nk;
	const hop_val   *konst;                        /* [nk] */
} hop_system;
/* For derivatives: without effects, which the node itself has. out: n values, all NaN where no
 * solution was found. HOP_ZERO in b is a zero like[i]. */
hop_status hop_system_solve(hop_build *b, const hop_system *s, const hop_val *rhs,
                            const hop_val *like, hop_val *out);
/* The equations of the transposed matrix. */
hop_system hop_system_turned(const hop_system *s);

/* The derivative of g, called without its effects: a function of nx values x, then nk consts.
 * Along the tangents dk of the consts with act; out: one for each result. */
hop_status hop_along_consts(hop_build *b, const hop_graph *g, hop_sizes sargs, uint32_t nx,
                            const hop_val *x, uint32_t nk, const hop_val *k, const bool *act,
                            const hop_val *dk, hop_val *out);
/* The cotangents dk of the consts with act, given those of the results; others stay. */
hop_status hop_back_to_consts(hop_build *b, const hop_graph *g, hop_sizes sargs, uint32_t nx,
                              const hop_val *x, uint32_t nk, const hop_val *k, const bool *act,
                              const hop_val *ct, hop_val *dk);

#endif
