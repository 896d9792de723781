/* ad.h -- derivatives and batching, graph to graph, memoised on sealed graphs. The rules
 * live beside the ops; this layer only drives them. */
#ifndef HOP_AD_H
#define HOP_AD_H

#include "ir/rule.h"

/* Which results depend differentiably on which parameters: out[k] from in[i]. */
void hop_ad_active(hop_env *e, const hop_graph *g, const bool *in, bool *out);

/* Forward mode. Parameters: g's, then the tangents of those with act[i] (floats).
 * Results: g's, then the tangents of those with outs[k]; a tangent that is zero is
 * filled in. outs[k] may be set for float results only. */
hop_status hop_ad_jvp(hop_env *e, const hop_graph *g, const bool *act, const bool *outs,
                      const hop_graph **out_g);

/* Reverse mode, joint form. Parameters: g's, then the cotangents of the results with
 * ct[k]. Results: g's, then the cotangents of the parameters with want[i]. */
hop_status hop_ad_vjp(hop_env *e, const hop_graph *g, const bool *ct, const bool *want,
                      const hop_graph **out_g);

/* ---- as callers ask: inputs in a list, derivatives in its order (ask.c) ---- */

/* Are wrt[] float inputs, each named once? */
hop_status hop_ask_check(hop_env *e, hop_loc loc, const char *op, int nin,
                         const hop_type *const *type, int nwrt, const int *wrt);
/* Results: g's, then the gradients of the first, a float scalar. */
hop_status hop_ask_grad(hop_env *e, hop_loc loc, const hop_graph *g, int nwrt, const int *wrt,
                        const hop_graph **out_g);
/* Parameters: g's, then cotangents of the floats among its first nout results. Results: g's,
 * then cotangents of the inputs. */
hop_status hop_ask_vjp(hop_env *e, const hop_graph *g, uint32_t nout, int nwrt, const int *wrt,
                       const hop_graph **out_g);
/* The same, to be cut by the caller: hop_ask_vjp and hop_ask_grad give two halves where names in g say
 * what is saved. */
hop_status hop_ask_joint(hop_env *e, const hop_graph *g, uint32_t nout, int nwrt, const int *wrt,
                         const hop_graph **out_g);
/* Parameters: g's, then tangents of the inputs. Results: g's, then tangents of the floats among
 * its first nout results. */
hop_status hop_ask_jvp(hop_env *e, const hop_graph *g, uint32_t nout, int nwrt, const int *wrt,
                       const hop_graph **out_g);
/* The list as flags of n inputs; where input k is among those with w set. */
bool      *hop_ask_flags(hop_env *e, uint32_t n, int nwrt, const int *wrt);
uint32_t   hop_ask_place(const bool *w, int k);

/* Batching. A batched value has the batch axis first. */
typedef struct hop_batch_spec {
	int64_t     size;          /* the batch size; -1 = one more size parameter, last */
	bool        masked;        /* one more parameter, last: bool[size], the active lanes */
	const bool *in;            /* [nparam] which parameters are batched */
	const bool *force;         /* [nout] results that must be batched; NULL = none */
} hop_batch_spec;
/* out_batched[k]: whether result k is batched. */
hop_status hop_ad_batch(hop_env *e, const hop_graph *g, const hop_batch_spec *s,
                        const hop_graph **out_g, bool *out_batched);
/* True if batching must know the active lanes: loops that might not end, effects. */
bool hop_ad_needs_mask(const hop_graph *g);

/* g without its effects; a node with its bodies so. */
hop_status hop_ad_pure(hop_env *e, const hop_graph *g, const hop_graph **out_g);
hop_status hop_ad_pure_node(hop_env *e, hop_arena *a, const hop_node *n, hop_node *out_n);

/* Where a residual of a cut comes from. */
enum hop_res_kind {
	HOP_RES_PARAM,             /* parameter `index` of the forward graph */
	HOP_RES_OUT,               /* one of its first nout results */
	HOP_RES_EXTRA              /* result nout + index, made for this purpose */
};
typedef struct hop_res { enum hop_res_kind kind; uint32_t index; } hop_res;

/* A joint graph cut in two. fwd: primals -> results, extras. bwd: residuals, cotangents ->
 * gradients; what it recomputes, it recomputes without effects. Owned by the context's
 * memo. */
typedef struct hop_cut {
	const hop_graph *fwd, *bwd;
	uint32_t         nextra, nres;
	hop_res          res[];    /* [nres] what bwd's first parameters are */
} hop_cut;

/* Told of every cut, while it is the env's `cuts`: what is saved and why, what is computed again.
 * Operators are entered and left by who differentiates them. */
typedef struct hop_cut_item {
	bool        saved;                     /* else computed again */
	bool        packed, guessed;           /* guessed: sizes are not known */
	const char *name, *op, *type;          /* name NULL = none; op "input" */
	hop_loc     loc;
	int64_t     bytes;                     /* 0 = it is there anyway */
	double      work;                      /* to compute it again */
} hop_cut_item;
enum { HOP_CUTS_DEEP = 64 };
typedef struct hop_cuts {
	hop_buf        *whole, *bodies;        /* of the graph asked for; of the bodies inside it */
	int             depth;
	const hop_node *at[HOP_CUTS_DEEP];     /* [depth] operators whose bodies are being cut */
	int             nth[HOP_CUTS_DEEP];    /* cuts of each so far */
	hop_arena      *keep;                  /* of what is below */
	hop_map         seen;                  /* derivatives that were made again to be told of */
	size_t          nitem, itemcap;
	hop_cut_item   *item;                  /* of the graph asked for */
} hop_cuts;
/* Has this derivative been told of? Each is made once more, though the memo has it. */
bool hop_cuts_told(hop_cuts *w, const void *key, size_t n);    /* true if w is NULL */
void hop_cuts_enter(hop_cuts *w, const hop_node *n);    /* w may be NULL */
void hop_cuts_leave(hop_cuts *w);

enum hop_cut_policy {
	HOP_CUT_MIN,               /* min-cut; expensive nodes are not recomputed */
	HOP_CUT_RECOMPUTE,         /* save parameters only, recompute everything else */
	HOP_CUT_POLICY = 7,        /* one of the above, with */
	HOP_CUT_MAYBE = 8          /* the graph may not run: only values cross whose sizes are
	                              known not to be negative without its checks */
};
/* joint: nprimal parameters, then cotangents; nout primal results, then gradients.
 * pcost[i], ocost[k]: 0 if saving parameter i, primal result k is free, 1 if it costs its
 * bytes; NULL = all free.
 * budget: 1 = as the min-cut says; 0 = parameters only; between: a share of the bytes. */
hop_status hop_ad_cut(hop_env *e, const hop_graph *joint, uint32_t nprimal, uint32_t nout,
                      const uint8_t *pcost, const uint8_t *ocost,
                      int policy, double budget, const hop_cut **out_cut);

#endif
