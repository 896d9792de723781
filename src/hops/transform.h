/* transform.h -- transforms on top of vjp, jvp and batching, graph to graph: for functions, for
 * bodies and for the command alike. Parameters of what they make: those of g, with lanes if it is
 * vmap, then those said below. Results: those of g, then those said below. What wrt may be was
 * checked by hop_ask_check. */
#ifndef HOP_HOPS_TRANSFORM_H
#define HOP_HOPS_TRANSFORM_H

#include "ad/ad.h"

typedef struct hop_jac_ask {
	const char *op;                /* in messages */
	hop_loc     loc;
	uint32_t    from, n;           /* results that are differentiated: n of them */
	int         nwrt;
	const int  *wrt;
	int64_t     chunk;             /* so many rows at a time; 0 = all */
} hop_jac_ask;

/* Then, for each of the n results, its Jacobians by the inputs wrt, of shape [result, input]:
 * a reverse derivative for each element of the result; a forward one for each of the input. */
hop_status hop_ask_jacrev(hop_env *e, const hop_jac_ask *a, const hop_graph *g,
                          const hop_graph **out_g);
hop_status hop_ask_jacfwd(hop_env *e, const hop_jac_ask *a, const hop_graph *g,
                          const hop_graph **out_g);
/* Of the first result: then its Jacobians (gradients, if it is a scalar), and for each of them
 * those by the inputs wrt, [result, input, input]. */
hop_status hop_ask_hessian(hop_env *e, const hop_jac_ask *a, const hop_graph *g,
                           const hop_graph **out_g);
/* Of the first result, a float scalar. More parameters: a vector for each input in wrt. Then its
 * gradients, and the product of its Hessian with the vectors: forward over reverse, or, with
 * `back`, reverse over reverse. */
hop_status hop_ask_hvp(hop_env *e, hop_loc loc, bool back, const hop_graph *g, int nwrt,
                       const int *wrt, const hop_graph **out_g);

/* hop_ask_grad, and then the gradients of what is marked inside by retain_grad, in the order of their
 * names, of which there are *out_n; in scans and maps they are stacked by step. The marks are gone.
 * out_name: of e->tmp. */
hop_status hop_ask_grad_marked(hop_env *e, hop_loc loc, const hop_graph *g, int nwrt, const int *wrt,
                               const hop_graph **out_g, uint32_t *out_n,
                               const char *const **out_name);
/* g without marks, for all other derivatives. */
hop_status hop_marks_drop(hop_env *e, const hop_graph *g, const hop_graph **out_g);

/* The forward derivative in two halves, as a cut: fwd gives the results of g and what is kept, bwd
 * takes what is kept and a tangent for each input in wrt, and gives those of the results with
 * outs[k]. The cut itself is of e->tmp. */
hop_status hop_ask_linearize(hop_env *e, const hop_graph *g, const bool *outs, int nwrt,
                             const int *wrt, const hop_cut **out_cut);

enum { HOP_VMAP_NONE = -1 };

typedef struct hop_vmap_ask {
	hop_loc     loc;
	const int  *in;                /* [nparam] the lanes' axis, or HOP_VMAP_NONE */
	const bool *own;               /* [nparam] keys of each lane's own; or NULL */
	const int  *out;               /* [nout] where lanes come out; HOP_VMAP_NONE = nowhere */
	int64_t     size;              /* how many lanes; -1 = one more size parameter, last */
	int64_t     chunk;             /* so many at a time; 0 = all */
	uint32_t   *out_differs;       /* NULL, or: the result that has no axis and differs between
	                                  lanes, for a message of the caller's; HOP_EREFUSED */
} hop_vmap_ask;
hop_status hop_ask_vmap(hop_env *e, const hop_vmap_ask *a, const hop_graph *g,
                        const hop_graph **out_g);

#endif
