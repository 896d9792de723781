/** Functions given by equations: roots, fixed points, minima, and linear equations whose matrix is
 * known by what it does. Their derivatives are those of the solution, not of the steps that found it:
 * one linear equation each, to any order, and no memory for the steps. Derivatives are for what the
 * body captures; where the search started has none.
 *
 * Functions that return int give the number of unknowns, 0 after a failure. out has as many places;
 * out_info (may be NULL) is an i64 scalar: 0 if the solution was found, else the number of
 * iterations that were spent without, and then out is the last iterate. A derivative whose own
 * equations have no solution is NaN, in a batch only in the lane that has none. */
#ifndef HOP_IMPLICIT_H
#define HOP_IMPLICIT_H

#include "hop/block.h"
#include "hop/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How linear equations are solved. */
enum {
	HOP_LINEAR_AUTO,               /**< a matrix for up to 32 elements, then CG or GMRES */
	HOP_LINEAR_DENSE,              /**< a matrix of all elements, whose number must be constant */
	HOP_LINEAR_CG,                 /**< symmetric and positive definite only */
	HOP_LINEAR_GMRES
};

typedef struct hop_implicit_opts {
	size_t    size;                /**< sizeof in the caller's build; grows at the end only */
	double    tolerance;           /**< relative; 0 = by dtype: 1e-10 for f64, 1e-5 for f32,
	                                * 1e-2 for f16, 5e-2 for bf16 */
	int64_t   max_iterations;      /**< 0 = 100 steps of Newton's kind, 1000 of others */
	int       restart;             /**< vectors that GMRES (0 = 20) or Anderson (0 = 5) keeps */
	int       linear;              /**< HOP_LINEAR_..., also for derivatives */
	bool      symmetric;           /**< the matrix, or the derivative of the residual, is its own
	                                * transposed */
	/** The caller's own solvers, given the same user pointer as the body; NULL = ours. They return
	 * values like the unknowns, and perhaps an info behind them.
	 * solve: x0 -> x; of linear_solve b -> x.
	 * tangent: b, x -> v with J v = b, J being the derivative of the residual at x.
	 * cotangent: the same with the transposed of J; of linear_solve b -> x of the transposed. */
	hop_body *solve, *tangent, *cotangent;
} hop_implicit_opts;
#ifndef __cplusplus
#define HOP_IMPLICIT_OPTS(...) \
	(&(hop_implicit_opts){ .size = sizeof(hop_implicit_opts), __VA_ARGS__ })
#endif

/** x where the body, which returns values like x, is zero: by Newton's method with backtracking.
 * opts NULL = defaults. */
int hop_at_root(hop_trace *t, const char *file, int line, hop_body *residual, void *user, int n,
                const hop_value *x0, const hop_implicit_opts *opts, hop_value *out,
                hop_value *out_info);
#define hop_root(t, ...) hop_at_root(t, __FILE__, __LINE__, __VA_ARGS__)

/** x that the body leaves as it is: by Anderson's iteration. */
int hop_at_fixed_point(hop_trace *t, const char *file, int line, hop_body *f, void *user, int n,
                       const hop_value *x0, const hop_implicit_opts *opts, hop_value *out,
                       hop_value *out_info);
#define hop_fixed_point(t, ...) hop_at_fixed_point(t, __FILE__, __LINE__, __VA_ARGS__)

/** x where the body, which returns a float scalar, is least near x0: by Newton's method with
 * conjugate gradients and backtracking. The body is differentiated twice. */
int hop_at_minimize(hop_trace *t, const char *file, int line, hop_body *loss, void *user, int n,
                    const hop_value *x0, const hop_implicit_opts *opts, hop_value *out,
                    hop_value *out_info);
#define hop_minimize(t, ...) hop_at_minimize(t, __FILE__, __LINE__, __VA_ARGS__)

/** x such that the body, which is linear, makes b of it. */
int hop_at_linear_solve(hop_trace *t, const char *file, int line, hop_body *matvec, void *user,
                        int n, const hop_value *b, const hop_implicit_opts *opts, hop_value *out,
                        hop_value *out_info);
#define hop_linear_solve(t, ...) hop_at_linear_solve(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- the same as blocks (block.h), whose statements are the function of the unknowns ----
 *
 * HOP_ROOT(t, opts, x, y, rx, ry) { rx = ..; ry = ..; }       x, y become where rx, ry are zero
 * HOP_FIXED_POINT(t, opts, x, y) { x = ..; y = ..; }          x, y become what the block keeps
 * HOP_MINIMIZE(t, loss, opts, x, y) { loss = ..; }            x, y become where loss is least
 * HOP_LINEAR_SOLVE(t, opts, x, y, ax, ay) { ax = ..; ay = ..; }
 *                                     x, y, which were the right-hand side, become the solution
 *
 * For structs of values with their tree: HOP_ROOT_N(t, opts, tree, &x, &r), HOP_FIXED_POINT_N(t, opts,
 * tree, &x), HOP_MINIMIZE_N(t, loss, opts, tree, &x), HOP_LINEAR_SOLVE_N(t, opts, tree, &x, &ax).
 * opts: HOP_IMPLICIT_OPTS(..) or NULL. The statements run once, eagerly too; what they assign beside
 * the unknowns is gone after the block. The user pointer of own solvers is NULL. */
#define HOP_ROOT(t, ...)         HOP_EQUATION_(t, HOP_EQUATION_ROOT, NULL, __VA_ARGS__)
#define HOP_FIXED_POINT(t, ...)  HOP_EQUATION_(t, HOP_EQUATION_FIXED_POINT, NULL, __VA_ARGS__)
#define HOP_MINIMIZE(t, loss, ...) \
	HOP_EQUATION_(t, HOP_EQUATION_MINIMUM, HOP_VAR_(loss), __VA_ARGS__)
#define HOP_LINEAR_SOLVE(t, ...) HOP_EQUATION_(t, HOP_EQUATION_LINEAR, NULL, __VA_ARGS__)
#define HOP_EQUATION_(t, which, loss, ...) \
	HOP_BLOCK_(hop_block_implicit(t, __FILE__, __LINE__, which, loss, HOP_HEAD_(__VA_ARGS__, 0), \
	                              #__VA_ARGS__, HOP_LIST_(__VA_ARGS__))) \
	for (; hop_block_more(&HOP_B_); hop_block_done(&HOP_B_))

#define HOP_ROOT_N(t, opts, tree, x, r) \
	HOP_EQUATION_N_(t, HOP_EQUATION_ROOT, NULL, opts, HOP_TREE_(tree, x), (hop_value *)(void *)(r))
#define HOP_FIXED_POINT_N(t, opts, tree, x) \
	HOP_EQUATION_N_(t, HOP_EQUATION_FIXED_POINT, NULL, opts, HOP_TREE_(tree, x))
#define HOP_MINIMIZE_N(t, loss, opts, tree, x) \
	HOP_EQUATION_N_(t, HOP_EQUATION_MINIMUM, HOP_VAR_(loss), opts, HOP_TREE_(tree, x))
#define HOP_LINEAR_SOLVE_N(t, opts, tree, x, ax) \
	HOP_EQUATION_N_(t, HOP_EQUATION_LINEAR, NULL, opts, HOP_TREE_(tree, x), \
	                (hop_value *)(void *)(ax))
#define HOP_EQUATION_N_(t, which, loss, opts, ...) \
	HOP_BLOCK_(hop_block_implicit(t, __FILE__, __LINE__, which, loss, opts, NULL, __VA_ARGS__)) \
	for (; hop_block_more(&HOP_B_); hop_block_done(&HOP_B_))

/** Directly in one of these blocks: after it *info is an i64 scalar, 0 if the solution was found. */
void hop_at_info(hop_trace *t, const char *file, int line, hop_value *info);
#define hop_info(t, ...) hop_at_info(t, __FILE__, __LINE__, __VA_ARGS__)

enum hop_equation {
	HOP_EQUATION_ROOT, HOP_EQUATION_FIXED_POINT, HOP_EQUATION_MINIMUM, HOP_EQUATION_LINEAR
};
hop_at_block hop_block_implicit(hop_trace *t, const char *file, int line, enum hop_equation which,
                                hop_value *loss, const hop_implicit_opts *opts, const char *names,
                                int n, ...);

#ifdef __cplusplus
}
#endif

#endif
