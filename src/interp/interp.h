/* interp.h -- the interpreter: runs the eval column. It is the oracle and the eager mode; its arrays
 * are dense and written only by the rule that fills them, and nothing here is clever. */
#ifndef HOP_INTERP_H
#define HOP_INTERP_H

#include "ctx/meter.h"
#include "data/array.h"
#include "hop/run.h"
#include "ir/rule.h"

/* Where effects go. print: the formatted line. Returns non-zero to stop. */
typedef int hop_print_fn(void *user, const char *line);

/* Told of every node that ran: to count work. */
typedef void hop_watch_fn(void *user, const hop_node *n, hop_array *const *in,
                          hop_array *const *out);

/* A body that is running, of which node, and the trip of that loop: where we are. trip: -1 in what
 * is no loop. */
typedef struct hop_at {
	struct hop_at   *up;
	const hop_node  *n;
	const hop_graph *body;
	int64_t          trip;
	int64_t          ran;          /* trips before this one */
} hop_at;

/* ---- nan.c ---- */

/* A NaN or infinity that was made, as a message that is ready; worst: 1 = an infinity, 2 = a NaN. */
typedef struct hop_birth {
	hop_diag    d;
	const char *op;
	uint8_t     worst;
} hop_birth;

/* One graph that runs, while somebody looks: what its values hold at worst, and which birth, plus
 * one, that came from; 0 = from outside. */
typedef struct hop_births {
	uint8_t  *worst;               /* [nvalue] */
	uint32_t *from;                /* [nvalue] */
	uint32_t  first;               /* births before this graph began */
} hop_births;

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
	hop_record   *record;          /* where watches go; NULL = nowhere */
	int           outer;           /* loops around the graph that runs, which the record knows */
	hop_at       *at;              /* innermost body; NULL = none runs */
	hop_nan       nan;             /* what to look for */
	hop_birth    *born;            /* [nborn] those that may still reach a result */
	uint32_t      nborn, borncap;
	hop_meter     meter;           /* how far loops are */
};

/* Of the loop whose body runs next: its trip; where it has slices, their index. */
static inline void hop_interp_trip(hop_interp *p, int64_t trip)
{
	if (p->at) {
		p->at->trip = trip;
		p->at->ran++;
	}
}

/* The worst that an array holds: 0 = finite, 1 = an infinity, 2 = a NaN; out_at: the first such
 * element. */
int        hop_array_worst(const hop_array *a, int64_t *out_at);
/* Begin a graph; look at what a node made, before = births when it began; end the graph with its
 * status. Only while p->nan. */
void       hop_births_open(hop_interp *p, const hop_graph *g, hop_array *const *in, hop_births *b);
hop_status hop_births_node(hop_interp *p, hop_births *b, const hop_node *n, uint32_t before,
                           hop_array *const *in, hop_array *const *out);
hop_status hop_births_close(hop_interp *p, hop_births *b, const hop_graph *g, hop_status st,
                            hop_array *const *out);
/* The same of a single node: what it makes ends the run. */
hop_status hop_births_single(hop_interp *p, const hop_node *n, hop_array *const *in,
                             hop_array *const *out);
void       hop_births_fini(hop_interp *p);
/* What this run looks for: as its options say, else its context. HOP_EVALUE for no such thing. */
hop_status hop_nan_of(hop_ctx *c, const char *op, hop_run_opts *o);

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
