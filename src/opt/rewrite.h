/* rewrite.h -- what the passes share: copying a graph node by node with a say in each, and
 * changing the parameters and results of a body. Decides nothing itself. */
#ifndef HOP_REWRITE_H
#define HOP_REWRITE_H

#include "hops/hops.h"
#include "ir/sig.h"

/* One graph being copied into b. */
typedef struct hop_rw {
	hop_env         *env;
	const hop_graph *g;
	hop_build        b;
	hop_val         *map;        /* [g->nvalue] where each value went */
	hop_size        *smap;       /* [nsmap] where each size symbol went; bad = not yet */
	int              nsmap;
	uint32_t        *uses;       /* [g->nvalue] readers, results included */
	void            *user;       /* the pass's own */
} hop_rw;

/* Decide one node: set out[0 .. n->nout). in: mapped operands. attr: a copy of n's in the
 * new graph's sizes, bodies done, a bound symbol already replaced by a new one. */
typedef hop_status hop_rw_fn(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                             hop_val *out);

typedef struct hop_rw_pass {
	uint64_t   kind;             /* names the pass in the memo */
	hop_rw_fn *node;
	void     (*begin)(hop_rw *w);      /* NULL, or sets w->user from tmp */
} hop_rw_pass;

/* Run a pass on g and its bodies, inside out. */
hop_status hop_rw_graph(hop_env *e, const hop_rw_pass *p, const hop_graph *g,
                        const hop_graph **out_g);

/* The same by hand: open, copy some, seal. hop_rw_open makes the parameters and the checks
 * that mention no local symbol; hop_rw_seal adds the other checks. */
void       hop_rw_open(hop_rw *w, hop_env *e, const hop_graph *g);
/* Without parameters and checks: hop_build_checks_of follows the caller's parameters. */
void       hop_rw_open_bare(hop_rw *w, hop_env *e, const hop_graph *g);
hop_status hop_rw_seal(hop_rw *w, uint32_t nout, const hop_val *out, hop_graph **out_g);
/* The same with the results of the old graph. st: of what was done on the way. */
hop_status hop_rw_end(hop_rw *w, hop_status st, hop_graph **out_g);
/* Copy node n as it is. */
hop_status hop_rw_copy(hop_rw *w, const hop_node *n);
/* Emit n unchanged; a hop_rw_fn. */
hop_rw_fn  hop_rw_keep;

/* The type result k of n must have in the new graph. */
const hop_type *hop_rw_type(hop_rw *w, const hop_node *n, uint32_t k);
/* The node of the new graph that makes v if its op is `op`, else NULL. */
const hop_node *hop_rw_def(const hop_rw *w, hop_val v, int op);
/* Emit the body's nodes in place. False, with nothing emitted, if its operands have other
 * types than it declares, it is known to refuse them, or there are too many nodes. The body
 * must be one that surely runs: its checks become checks of this graph. */
bool hop_rw_inline(hop_rw *w, const hop_graph *body, hop_sizes sargs, const hop_val *in,
                   hop_val *out);

/* ---- bodies ---- */

/* Other parameters and results: old parameter i becomes new parameter pmap[i], or nothing
 * when pmap[i] < 0, which no kept node may use. Results are the old ones listed in sel. */
hop_status hop_rw_reform(hop_env *e, const hop_graph *g, const int32_t *pmap,
                         uint32_t nparam, uint32_t nout, const uint32_t *sel,
                         const hop_graph **out_g);
/* 0 .. n-1: all results. */
const uint32_t *hop_rw_all(hop_env *e, uint32_t n);
/* More parameters, in front of parameter `at`: value v is parameter repl[v] of them instead
 * of what made it, unless repl[v] < 0. */
hop_status hop_rw_widen(hop_env *e, const hop_graph *g, uint32_t at, uint32_t nmore,
                        const hop_type *const *more, const int32_t *repl,
                        const hop_graph **out_g);
/* Which parameters the results with want[k] (NULL = all) and the effects need. */
void hop_rw_needs(hop_env *e, const hop_graph *g, const bool *want, bool *param);

/* ---- operators ---- */

/* An operator that does nothing but run its bodies on its operands, read by its signature. Those
 * with rules of their own, or whose bodies combine, keep the form they have. */
typedef struct hop_form {
	hop_roles         r;         /* of the node */
	uint32_t          lead;      /* operands in front of the bodies' parameters */
	uint32_t          nc, nx;    /* parameters: carries, slices; the rest the same each time */
	uint32_t          ny;        /* stacked results */
	bool              stops;     /* the last result of the body says so */
	bool              all;       /* every step of `length` runs */
	int               nbody;
	const hop_graph **body;      /* [nbody], in the attributes */
	int               main;      /* the first that gives results */
	hop_sizes         sargs;
	const hop_size   *length;    /* of a loop that has one */
} hop_form;
/* False if n is no such operator. attr: its attributes, perhaps changed. */
bool hop_form_read(const hop_node *n, void *attr, hop_form *out);
/* Which result of the node has to do with result k of a body that gives results: stop is
 * where the steps are counted. */
uint32_t hop_form_result(const hop_roles *node, const hop_roles *body, uint32_t k);

/* How many elements, for rules of thumb: by hop_range_usual. */
double hop_rw_guess(const hop_build *b, const hop_type *t);

#endif
