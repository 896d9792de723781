/* implicit.h -- one call of root, fixed_point, minimize or linear_solve, through its steps: for
 * functions and blocks alike. */
#ifndef HOP_TRACE_IMPLICIT_H
#define HOP_TRACE_IMPLICIT_H

#include "trace/solver.h"

/* The last of linear_solve is tsolve. */
enum { HOP_EQ_F, HOP_EQ_SOLVE, HOP_EQ_TANGENT, HOP_EQ_COTANGENT, HOP_EQ_NBODY };

typedef struct hop_implicit_call {
	enum hop_equation kind;
	const hop_value  *x0;
	const void       *given;         /* the caller's options */
	hop_implicit_opts opts;
	hop_solver        s;             /* file, line and n are the caller's */
	hop_val          *val;
	const hop_type  **type;          /* [2 * n]: of the unknowns, twice */
	hop_trace        *body[HOP_EQ_NBODY];
	hop_value        *out, info;
	int               n;             /* results, 0 until there are some */
} hop_implicit_call;

/* The word of the operator, in messages and texts. */
const char *hop_implicit_op(enum hop_equation k);
/* The first step, guarded: the unknowns and options. */
void hop_implicit_begin(hop_trace *t, void *arg);
/* All others, given body F. Drops the bodies; returns n. */
int  hop_implicit_end(hop_trace *t, hop_implicit_call *c, void *user);

#endif
