/** Transforms on top of grad, jvp, vjp and vmap (fn.h, control.h): derivatives in whole, lanes along
 * any axis and in chunks, gradients of what is inside, parameters by name. Each on functions, which
 * gives a new function; on jits, which gives a new jit; and, as hop_x_at, inside a body, which is
 * captured, transformed and called. docs/transforms.md has an example and the cost of each. */
#ifndef HOP_TRANSFORM_H
#define HOP_TRANSFORM_H

#include "hop/control.h"
#include "hop/fn.h"
#include "hop/jit.h"
#include "hop/tree.h"
#include "hop/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Jacobians and Hessians. Results that are not differentiated come along unchanged: hop_grad
 * and all of these are also the value, and what else the function gives ---- */

typedef struct hop_jac_opts {
	size_t  size;                  /**< sizeof in the caller's build; grows at the end only */
	int     results;               /**< the first so many are differentiated, all floats; 0 = the
	                                * first alone */
	int64_t chunk;                 /**< so many rows at a time, which bounds the memory; 0 = all */
} hop_jac_opts;
#ifndef __cplusplus
#define HOP_JAC_OPTS(...) (&(hop_jac_opts){ .size = sizeof(hop_jac_opts), __VA_ARGS__ })
#endif

/** Results: those of f, then for each result that is differentiated its Jacobians for the inputs
 * wrt[0..nwrt), of shape [result, input]. jacrev: a reverse derivative for each element of the
 * result; jacfwd: a forward one for each element of the inputs. opts may be NULL. Names jac.x, with
 * several results jac.y.x. */
HOP_MUST_USE hop_status hop_jacrev(hop_fn *f, int nwrt, const int *wrt, const hop_jac_opts *opts,
                                   hop_fn **out_f);
HOP_MUST_USE hop_status hop_jacfwd(hop_fn *f, int nwrt, const int *wrt, const hop_jac_opts *opts,
                                   hop_fn **out_f);
/** Results: those of f, then the Jacobians of the first for the inputs wrt (the gradients, if it is
 * a scalar), then for each of them its Jacobians for the inputs wrt: [result, input, input]. Forward
 * over reverse. Names grad.x, hessian.x.x. */
HOP_MUST_USE hop_status hop_hessian(hop_fn *f, int nwrt, const int *wrt, const hop_jac_opts *opts,
                                    hop_fn **out_f);
/** The first result must be a float scalar. More inputs: a vector v for each input in wrt. Results:
 * those of f, then its gradients, then H v, H the Hessian, which is never made. hvp: forward over
 * reverse; vhp: the same numbers as v H, reverse over reverse. Names tangent.x, grad.x, hvp.x. */
HOP_MUST_USE hop_status hop_hvp(hop_fn *f, int nwrt, const int *wrt, hop_fn **out_f);
HOP_MUST_USE hop_status hop_vhp(hop_fn *f, int nwrt, const int *wrt, hop_fn **out_f);

/** The forward derivative as two functions, to be run at different times. fwd: the inputs of f ->
 * its results, then n saved values. lin: inputs, results, saved values, tangents of the inputs wrt
 * -> tangents of the float results. What fwd saved, lin does not compute again. */
HOP_MUST_USE hop_status hop_linearize(hop_fn *f, int nwrt, const int *wrt, hop_fn **out_fwd,
                                      hop_fn **out_lin);

/* ---- lanes along any axis ---- */

/** in: of each input the axis of the lanes; -1 = the same for all; HOP_OWN_KEY = a key (i64), of which
 * every lane gets one of its own. Random numbers of keys that lanes share are the same in all. */
typedef struct hop_vmap_opts {
	size_t     size;               /**< sizeof in the caller's build; grows at the end only */
	int        nin, nout;          /**< of inputs and results */
	const int *in;
	const int *out;                /**< where lanes come out, of each result; NULL = axis 0; -1 = not
	                                * at all, for a result that is the same in all lanes */
	int64_t    n;                  /**< of a function: how many lanes; 0, -1 = a new size
	                                * symbol */
	int64_t    chunk;              /**< so many lanes at a time, which bounds the memory; 0 = all */
} hop_vmap_opts;
#ifndef __cplusplus
#define HOP_VMAP_OPTS(...) (&(hop_vmap_opts){ .size = sizeof(hop_vmap_opts), __VA_ARGS__ })
#endif
HOP_MUST_USE hop_status hop_vmap_with(hop_fn *f, const hop_vmap_opts *opts, hop_fn **out_f);

/* ---- jits ---- */

HOP_MUST_USE hop_status hop_jit_jacrev(hop_jit *j, int nwrt, const int *wrt,
                                       const hop_jac_opts *opts, hop_jit **out_j);
HOP_MUST_USE hop_status hop_jit_jacfwd(hop_jit *j, int nwrt, const int *wrt,
                                       const hop_jac_opts *opts, hop_jit **out_j);
HOP_MUST_USE hop_status hop_jit_hessian(hop_jit *j, int nwrt, const int *wrt,
                                        const hop_jac_opts *opts, hop_jit **out_j);
HOP_MUST_USE hop_status hop_jit_hvp(hop_jit *j, int nwrt, const int *wrt, hop_jit **out_j);
HOP_MUST_USE hop_status hop_jit_vhp(hop_jit *j, int nwrt, const int *wrt, hop_jit **out_j);
/** n of the options is not looked at: the arguments say how many lanes there are. */
HOP_MUST_USE hop_status hop_jit_vmap_with(hop_jit *j, const hop_vmap_opts *opts, hop_jit **out_j);

/* ---- inside a body: results as those of the functions above. They return how many there are, 0
 * after a failure; out has room for cap ---- */

int hop_at_jacrev_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
                     const hop_value *in, int nwrt, const int *wrt, const hop_jac_opts *opts,
                     int cap, hop_value *out);
#define hop_jacrev_at(t, ...) hop_at_jacrev_at(t, __FILE__, __LINE__, __VA_ARGS__)
int hop_at_jacfwd_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
                     const hop_value *in, int nwrt, const int *wrt, const hop_jac_opts *opts,
                     int cap, hop_value *out);
#define hop_jacfwd_at(t, ...) hop_at_jacfwd_at(t, __FILE__, __LINE__, __VA_ARGS__)
int hop_at_hessian_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
                      const hop_value *in, int nwrt, const int *wrt, const hop_jac_opts *opts,
                      int cap, hop_value *out);
#define hop_hessian_at(t, ...) hop_at_hessian_at(t, __FILE__, __LINE__, __VA_ARGS__)
/** v[k] belongs to input wrt[k]. */
int hop_at_hvp_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
                  const hop_value *in, int nwrt, const int *wrt, const hop_value *v, int cap,
                  hop_value *out);
#define hop_hvp_at(t, ...) hop_at_hvp_at(t, __FILE__, __LINE__, __VA_ARGS__)
int hop_at_vhp_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
                  const hop_value *in, int nwrt, const int *wrt, const hop_value *v, int cap,
                  hop_value *out);
#define hop_vhp_at(t, ...) hop_at_vhp_at(t, __FILE__, __LINE__, __VA_ARGS__)
/** nin of the options may be 0: it is that of the call. */
int hop_at_vmap_with_at(hop_trace *t, const char *file, int line, hop_body *body, void *user,
                        int nin, const hop_value *in, const hop_vmap_opts *opts, int cap,
                        hop_value *out);
#define hop_vmap_with_at(t, ...) hop_at_vmap_with_at(t, __FILE__, __LINE__, __VA_ARGS__)

/** The derivative of a body at its inputs, to be applied as often as one likes: in this trace, and in
 * bodies inside it. It is the trace's. */
typedef struct hop_linear hop_linear;
/** Results: those of the body. out_lin: its derivative for the inputs wrt; NULL after a failure. */
int hop_at_linearize_at(hop_trace *t, const char *file, int line, hop_body *body, void *user,
                        int nin, const hop_value *in, int nwrt, const int *wrt, int cap,
                        hop_value *out, hop_linear **out_lin);
#define hop_linearize_at(t, ...) hop_at_linearize_at(t, __FILE__, __LINE__, __VA_ARGS__)
/** The tangents of the float results, for one tangent each of the inputs wrt. */
int hop_at_linear_apply(hop_trace *t, const char *file, int line, const hop_linear *lin, int n,
                        const hop_value *tangents, int cap, hop_value *out);
#define hop_linear_apply(t, ...) hop_at_linear_apply(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- gradients of what is inside ---- */

/** v, marked: hop_grad and hop_grad_at give its gradient too, behind the others, in the order of the
 * names; of a function it is the result grad.name. Go on with what this returns: the gradient is for
 * what reads that. In the body of a scan or map gradients of all steps are stacked; in a branch that is
 * not taken the gradient is 0; in other bodies, a while among them, it is refused. A name stands once.
 * The innermost gradient takes it; other derivatives do not see it. A value that nothing reads has
 * none. */
hop_value hop_at_retain_grad(hop_trace *t, const char *file, int line, hop_value v, const char *name);
#define hop_retain_grad(t, ...) hop_at_retain_grad(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- parameters as trees (tree.h) ---- */

/** Something to take the place of inputs: one array for the input `path`; or, with a tree, a struct of
 * arrays for all that is in `path`, "" or NULL being the whole: path "layer[1]", leaf w, is the input
 * layer[1].w. */
typedef struct hop_replace {
	const char     *path;
	hop_array      *a;
	const hop_tree *tree;          /**< NULL = a */
	const void     *arrays;
} hop_replace;
/** hop_call_tree with n replacements. Nothing of the caller's struct is changed; arrays of it that are
 * replaced may be NULL. A path that is no input, or is replaced twice, is refused. Inside a body, a
 * struct of values is copied and changed. */
HOP_MUST_USE hop_status hop_functional_call(hop_fn *f, const hop_tree *in_tree, const void *in, int n,
                                            const hop_replace *r, const hop_tree *out_tree,
                                            void *out);
/** n structs of arrays as one: each array of out is new, with the models as its first axis, for
 * hop_vmap. Those of one path have the same dtype and sizes. After a failure they are all NULL. */
HOP_MUST_USE hop_status hop_stack_state(hop_ctx *c, const hop_tree *tree, int n,
                                        const void *const *arrays, void *out_arrays);
/** The same inside a body, of structs of values. */
void hop_at_tree_stack(hop_trace *t, const char *file, int line, const hop_tree *tree, int n,
                       const hop_value *const *in, hop_value *out);
#define hop_tree_stack(t, ...) hop_at_tree_stack(t, __FILE__, __LINE__, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
