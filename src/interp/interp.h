/* interp.h -- the interpreter: runs the eval column. It is the oracle and the eager mode;
 * tensors are dense, row-major and owned by it, and nothing here is clever. */
#ifndef HOP_INTERP_H
#define HOP_INTERP_H

#include "hop/run.h"
#include "ir/rule.h"

/* Dense, row-major. Counted; a tensor is written only by the rule that fills it. */
struct hop_tensor {
	uint32_t    refs;
	hop_dtype   dtype;
	int         rank;
	int64_t     dim[HOP_MAXRANK];
	int64_t     count;
	void       *data;              /* count elements, 64-byte aligned; bool is 0 or 1 */
	size_t      bytes;             /* of the allocation, header included */
	hop_tensor *next, *prev;       /* the interpreter's live list: freed when it ends */
};

/* Where effects go. print: the formatted line. Returns non-zero to stop. */
typedef int hop_print_fn(void *user, const char *line);

struct hop_interp {
	hop_env      *env;
	hop_tensor    live;            /* list head */
	const hop_graph *g;            /* graph being run, with its size symbols */
	int64_t      *syms;            /* [g->nsym + g->nlocal] */
	hop_print_fn *print;           /* NULL = stdout */
	void         *print_user;
	const hop_cancel *cancel;      /* not NULL: stop soon after it is set */
};

/* HOP_OK, or HOP_ECANCELED when the run is to stop. */
hop_status  hop_interp_go_on(hop_interp *p);

void        hop_interp_init(hop_interp *p, hop_env *e);
void        hop_interp_fini(hop_interp *p);        /* frees every live tensor */
/* Never NULL: no memory is the env's exit. Contents are zero. */
hop_tensor *hop_tensor_new(hop_interp *p, hop_dtype d, int rank, const int64_t *dim);
hop_tensor *hop_tensor_retain(hop_tensor *t);
void        hop_tensor_release(hop_interp *p, hop_tensor *t);
/* A tensor of the type, its sizes evaluated with the symbols of the running graph. */
hop_tensor *hop_tensor_of(hop_interp *p, const hop_type *t);

/* Value of a size in the running graph; bind a local symbol. */
int64_t hop_interp_size(hop_interp *p, hop_size s);
void    hop_interp_bind(hop_interp *p, int64_t sym, int64_t value);

/* Run a graph on tensors whose shapes fit. out[] are new references. syms: values of its
 * size parameters. */
hop_status hop_interp_graph(hop_interp *p, const hop_graph *g, const int64_t *syms,
                            hop_tensor *const *in, hop_tensor **out);
/* The same for a body of node n of the running graph: evaluates n's size arguments. */
hop_status hop_interp_body(hop_interp *p, const hop_node *n, const hop_graph *body,
                           hop_tensor *const *in, hop_tensor **out);
/* Find the size parameters from the shapes of actual inputs; checks every dimension and
 * every recorded condition. Failures name the parameter and both shapes. */
hop_status hop_bind_shapes(hop_env *e, const hop_graph *g, const int *rank,
                           const int64_t *const *dim, int64_t *syms);

/* Element access for rules and tests; i is the row-major index. */
double  hop_tensor_f(const hop_tensor *t, int64_t i);
int64_t hop_tensor_i(const hop_tensor *t, int64_t i);
void    hop_tensor_set_f(hop_tensor *t, int64_t i, double v);
void    hop_tensor_set_i(hop_tensor *t, int64_t i, int64_t v);

#endif
