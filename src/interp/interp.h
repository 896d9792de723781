/* interp.h -- the interpreter: runs the eval column. It is the oracle and the eager mode; its arrays
 * are dense and written only by the rule that fills them, and nothing here is clever. */
#ifndef HOP_INTERP_H
#define HOP_INTERP_H

#include "data/array.h"
#include "hop/run.h"
#include "ir/rule.h"

/* Where effects go. print: the formatted line. Returns non-zero to stop. */
typedef int hop_print_fn(void *user, const char *line);

/* Told of every node that ran: to count work. */
typedef void hop_watch_fn(void *user, const hop_node *n, hop_array *const *in,
                          hop_array *const *out);

struct hop_interp {
	hop_env      *env;
	hop_array   **kept;            /* [nkept] its arrays: a reference each */
	size_t        nkept, keptcap;
	const hop_graph *g;            /* graph being run, with its size symbols */
	int64_t      *syms;            /* [g->nsym + g->nlocal] */
	hop_print_fn *print;           /* NULL = stdout */
	void         *print_user;
	hop_watch_fn *watch;           /* NULL = nobody */
	void         *watch_user;
	const hop_cancel *cancel;      /* not NULL: stop soon after it is set */
	int64_t      *ran;             /* [HOP_NOPS] how often each op ran; or NULL */
};

/* HOP_OK, or HOP_ECANCELED when the run is to stop. */
hop_status  hop_interp_go_on(hop_interp *p);

void        hop_interp_init(hop_interp *p, hop_env *e);
void        hop_interp_fini(hop_interp *p);        /* lets go of every array it has */

/* ---- keep.c: arrays of an interpreter; one thread, like itself ---- */

/* Never NULL: no memory is the env's exit. Contents are zero. */
hop_array  *hop_interp_new(hop_interp *p, hop_dtype d, int rank, const int64_t *dim);
/* One of the type, its sizes evaluated with the symbols of the running graph. */
hop_array  *hop_interp_of(hop_interp *p, const hop_type *t);
/* A user's array as one of ours: the same memory, or a dense copy. */
hop_array  *hop_interp_hold(hop_interp *p, hop_array *a);
/* One reference less. Others are taken by hop_array_retain. */
void        hop_interp_release(hop_interp *p, hop_array *a);
/* The same contents in memory that no user has, for our reference: before users' arrays are
 * written, since those that we hold are among them. */
hop_array  *hop_interp_own(hop_interp *p, hop_array *a);
/* Our reference becomes the user's: the array itself where nobody else has its memory, else a
 * copy. */
hop_array  *hop_interp_give(hop_interp *p, hop_array *a);

/* Value of a size in the running graph; bind a local symbol. */
int64_t hop_interp_size(hop_interp *p, hop_size s);
void    hop_interp_bind(hop_interp *p, int64_t sym, int64_t value);

/* Run a graph on arrays whose shapes fit. out[] are new references. syms: values of its
 * size parameters. */
hop_status hop_interp_graph(hop_interp *p, const hop_graph *g, const int64_t *syms,
                            hop_array *const *in, hop_array **out);
/* The same for a body of node n of the running graph: evaluates n's size arguments. */
hop_status hop_interp_body(hop_interp *p, const hop_node *n, const hop_graph *body,
                           hop_array *const *in, hop_array **out);
/* Find the size parameters from the shapes of actual inputs; checks every dimension and
 * every recorded condition. Failures name the parameter and both shapes; name, which may be
 * NULL, says what they are called. */
hop_status hop_bind_shapes(hop_env *e, const hop_graph *g, const char *const *name,
                           const int *rank, const int64_t *const *dim, int64_t *syms);

#endif
