/* solver.h -- the solvers that root, fixed_point, minimize and linear_solve have when the user gives
 * none. They are captured like a user's body, as loops over one vector of all unknowns, and nothing
 * ever differentiates them. Nothing here is public. */
#ifndef HOP_SOLVER_H
#define HOP_SOLVER_H

#include "trace/trace.h"
#include "hop/formula.h"
#include "hop/implicit.h"
#include "hop/shape.h"

/* A function of the unknowns as a closed graph of: unknowns, captured values, and then perhaps
 * tangents or cotangents of the unknowns. Its last values are those wanted. NULL = not made. */
typedef struct hop_solver_fns {
	const hop_graph *f;              /* x -> values like x */
	const hop_graph *along, *back;   /* x, v -> J v and x, w -> J^T w, J being that of f at x */
	const hop_graph *mul, *tmul;     /* v -> A v, w -> A^T w */
	const hop_graph *loss;           /* x -> a scalar, whose gradient f is */
	hop_sizes        sargs;
} hop_solver_fns;

/* What a solver is given. A body copies it and sets its own trace. */
typedef struct hop_solver {
	hop_trace             *t;
	const char            *file;     /* the user's call */
	int                    line;
	int                    n;        /* unknowns, */
	const hop_type *const *type;     /* their types, */
	const hop_size        *count;    /* elements, where they begin in the vector, */
	const hop_size        *at;
	hop_size               total;    /* and all elements */
	hop_dtype              dtype;    /* of the vector that is computed with */
	hop_solver_fns         fn;
	uint32_t               nk;
	const hop_value       *k;        /* captured values, handles of the caller's trace */
	double                 tolerance; /* what is accepted, */
	double                 aim;      /* and what linear equations are solved to, if they can */
	int                    linear;   /* HOP_LINEAR_..., decided */
	int64_t                steps;    /* of Newton or Anderson, at most; */
	int64_t                products; /* of one linear equation, at most */
	int                    basis;    /* vectors that GMRES keeps, */
	int                    memory;   /* and Anderson */
	hop_value             *room;     /* [5 * n + nk + 1]: what a call is made of */
} hop_solver;

/* A linear function of vectors: a graph of the solver's, at x if it is asked at a point. */
typedef struct hop_linop {
	const hop_graph *g;
	hop_value        x;
	bool             at_x;
} hop_linop;

/* A solution and its info, an i64 scalar. */
typedef struct hop_solution { hop_value x, info; } hop_solution;

/* HOP_E with the location of the user's call. */
#define HOP_SE(s, formula, ...) \
	hop_at_formula((s)->t, (s)->file, (s)->line, formula, #__VA_ARGS__, \
	               (int)(sizeof((hop_value[]){ __VA_ARGS__ }) / sizeof(hop_value)), \
	               (hop_value[]){ __VA_ARGS__ })

/* ---- solver.c: vectors ---- */

hop_value hop_solver_number(const hop_solver *s, double v);
hop_value hop_solver_whole(const hop_solver *s, int64_t v);
/* Values like the unknowns as one vector, and back: room for n. */
hop_value hop_solver_pack(const hop_solver *s, const hop_value *leaf);
void      hop_solver_unpack(const hop_solver *s, hop_value vec, hop_value *leaf);
/* A graph called on vectors: x, and v if it is asked for a derivative along it; or NULL. */
hop_value hop_solver_call(const hop_solver *s, const hop_graph *g, hop_value x,
                          const hop_value *v);
/* carry[] is what a while starts with, and becomes what it ends with. */
void      hop_solver_loop(const hop_solver *s, hop_body *test, hop_body *body, void *user, int n,
                          hop_value *carry, int64_t most);
/* 0 if found, else how many iterations, at least 1. */
hop_value hop_solver_info(const hop_solver *s, hop_value found, hop_value count);

/* ---- krylov.c ---- */

/* x of A x = b, by a matrix, by conjugate gradients or by GMRES. */
hop_solution hop_solver_linear(const hop_solver *s, const hop_linop *a, hop_value b);
/* Some steps of conjugate gradients from 0, until the residual is `less` times that of 0; ends at a
 * direction along which A is not positive. */
hop_value hop_solver_some_cg(const hop_solver *s, const hop_linop *a, hop_value b, hop_value less);

/* ---- newton.c, anderson.c: from a start vector ---- */

hop_solution hop_solver_newton(const hop_solver *s, hop_value x);
hop_solution hop_solver_minimize(const hop_solver *s, hop_value x);
hop_solution hop_solver_anderson(const hop_solver *s, hop_value x);

#endif
