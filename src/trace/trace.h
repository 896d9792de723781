/* trace.h -- capture, inside: traces, storages, slots, and the joining of captured bodies
 * into their parent. The public view is include/hop/{trace,control,fn}.h.
 *
 * A trace records into a draft: a builder that is never sealed. What it uses from outside are
 * leaves of the draft, found as the body runs. When the operator is complete, the drafts
 * of its bodies are copied into closed graphs whose parameters are those leaves in an order
 * that does not depend on construction, and only then is the parent touched.
 *
 * Size symbols: a child starts with all symbols of its parent under the same numbers, so
 * that types need no translation on the way in; sealing keeps those that are used. */
#ifndef HOP_TRACE_INTERNAL_H
#define HOP_TRACE_INTERNAL_H

#include "data/fn.h"
#include "hops/hops.h"
#include "interp/interp.h"

#include "hop/control.h"
#include "hop/fn.h"
#include "hop/trace.h"
#include "hop/types.h"

enum { HOP_MAXNEST = 256,          /* bodies inside each other */
       HOP_BEYOND = 16 };          /* what a body finds behind its inputs was never set */

/* One step from a storage towards a view: `op` with `attr` on a value of type `in`. */
typedef struct hop_view_step {
	const struct hop_view_step *up;     /* the step before; NULL = the storage itself */
	int                    op;     /* slice, reshape, permute or broadcast */
	const void            *attr;
	const hop_type        *in, *out;
} hop_view_step;

/* A storage as one trace sees it: its own, or the mirror of one of an enclosing trace.
 * version counts writes by this trace. */
typedef struct hop_store {
	struct hop_trace *owner;       /* where it lives; == the trace for its own */
	uint32_t          index;       /* its number there */
	const hop_type   *type;
	hop_val           cur;         /* contents; HOP_BAD = not asked for yet (mirrors) */
	hop_val           entry;       /* mirrors: contents on entry, a leaf; or HOP_BAD */
	uint32_t          version;
	uint32_t          first;       /* number of its first write among those of the trace */
	hop_loc           wloc;        /* of the last write */
	uint32_t          take;        /* it began as what hop_take takes of the loop's xs number
	                                * take - 1; 0 = not so */
} hop_store;

enum hop_weak { HOP_STRONG, HOP_WEAK_BOOL, HOP_WEAK_INT, HOP_WEAK_FLOAT };

/* What a public id stands for: a view of a storage. */
typedef struct hop_cell {
	uint32_t        store;
	const hop_view_step *view;
	const hop_type *type;
	hop_val         val;           /* valid while version is the store's; or HOP_BAD */
	uint32_t        version;
	hop_value       outer;         /* lifted: the handle it came by */
	bool            still;         /* a view that no derivative passes: made under no_grad */
	enum hop_weak   weak;          /* a number: f, or i for BOOL and INT; not a tensor */
	double          f;
	int64_t         i;
} hop_cell;

/* A value of the draft that comes from outside. */
enum hop_leaf_kind { HOP_LEAF_PARAM, HOP_LEAF_STORE, HOP_LEAF_VIEW };
typedef struct hop_leaf {
	enum hop_leaf_kind kind;
	hop_val            val;
	uint32_t           index;      /* parameter number, or store */
	uint32_t           slot;       /* HOP_LEAF_VIEW */
} hop_leaf;

/* A hook on a value of the draft, until the trace is closed (hook.c). */
typedef struct hop_noted {
	hop_val          v;
	hop_loc          loc;
	const hop_graph *body;
	hop_sizes        sargs;
	hop_str          tells;
	uint32_t         ncap;
	hop_val         *cap;          /* what the body uses, as contents here */
} hop_noted;

/* A place where a block stands, and the scopes that it opened when it was last there: what a value
 * that has outlived its scope is told by. */
typedef struct hop_site {
	hop_loc     loc;
	const char *what;              /* "HOP_WHILE" */
	uint32_t    first, last;       /* serials; 0 = none yet */
} hop_site;

/* What belongs to the outermost trace and all under it. One thread. */
typedef struct hop_root {
	hop_ctx          *ctx;
	hop_env           env;
	hop_interp        ip;          /* eager: arrays and effects */
	hop_graph         none;        /* what ip runs when it runs single nodes: no symbols */
	struct hop_trace *top;         /* the one that may be used now */
	struct hop_trace *pool;        /* ended ones, to be used again */
	struct hop_trace *base;        /* the outermost */
	size_t            narray, arraycap;
	struct hop_array **array;      /* captured arrays, retained */
	uint32_t         *array_slot;  /* their slots in the outermost trace */
	size_t            nsite, sitecap;
	hop_site         *site;
	bool              twice;       /* loops' blocks are captured twice and compared */
	enum hop_strict   strict;      /* what strict.c refuses */
	bool              again;       /* keyed regions are captured every time and compared */
	const struct hop_keyed *keyed; /* the innermost keyed region whose body is being run */
	hop_arena         arena;       /* of the lists */
} hop_root;

typedef struct hop_modes hop_modes;        /* mode.h */

/* What a rule says of a captured value: its cotangent in bwd, in jvp the parameter that is its
 * tangent. */
typedef struct hop_told {
	hop_value of;
	hop_val   at, d;               /* in the draft of the rule: itself, and that */
} hop_told;

struct hop_trace {
	hop_root    *root;
	hop_trace   *up;               /* enclosing trace; NULL = outermost */
	hop_trace   *next;             /* root->pool */
	hop_trace   *inner;            /* the scope of an open block: this trace means that one */
	struct hop_block_state *block; /* whose scope this is; NULL = a function's body */
	uint32_t     serial;
	int          depth;            /* enclosing traces */
	bool         eager, returned;
	bool         in_scan, in_custom, in_hook;
	enum hop_in_rule { HOP_IN_NO_RULE, HOP_IN_BWD, HOP_IN_JVP } in_rule;     /* of a custom */
	bool         in_grad;          /* reverse mode is taken of it */
	const char  *closed;           /* a keyed region's body: its name. It sees no value of outside */
	const char  *what;             /* "the body of scan", for notes */
	int64_t      trip;             /* eager: of the loop whose body it is, from 1; 0 = of none */
	int64_t      ran;              /* eager: trips before this one, of such a loop */
	const char  *op;               /* the call in progress, for messages */
	const hop_modes *modes;        /* what holds now; NULL = nothing */
	const hop_modes *modes0;       /* what held when it began */
	hop_dtype    cast;             /* what autocast makes of the operands of this call; or
	                                * HOP_NDTYPE */
	hop_map      casts;            /* value, dtype -> slot + 1 */
	size_t       nstill, stillcap;
	uint8_t     *still;            /* per value of the draft: no derivative passes it */
	hop_loc      site;             /* the operator's line; 0 = a function, not a body */
	uint32_t     within;           /* failed bodies inside that are this one again */
	uint32_t     nin;              /* its first stores are parameters, given when it began */
	const char **inname;           /* their names; NULL = they have none */
	hop_arena    arena;
	hop_build    b;
	size_t       nslot, slotcap;
	hop_cell    *slot;
	size_t       nstore, storecap;
	hop_store   *store;
	size_t       nleaf, leafcap;
	hop_leaf    *leaf;
	hop_map      lifted;           /* outer handle -> slot + 1 */
	hop_map      mirrors;          /* owner serial, index -> store + 1 */
	uint32_t     nparam, nwrite;
	uint32_t     nret, nsave;
	uint32_t    *ret;              /* slots returned */
	hop_val     *out;              /* their contents at that moment */
	const char **retname;          /* their names, interned; NULL = none were given */
	hop_val     *save;
	uint32_t     nmark, ntold;
	uint32_t    *mark;             /* fwd of a custom: slots without derivative */
	struct hop_told *told;         /* bwd and jvp of a custom: of values captured */
	size_t       nhook, hookcap;
	hop_noted   *hook;             /* as they were registered */
	hop_val     *swap;             /* [nswap] closed: what readers of a value read; NULL = itself */
	uint32_t     nswap;
	uint32_t     nsaid;            /* the body of a hook: what it tells */
	size_t       saidcap;
	hop_val     *said;
	const char **saidname;
	hop_val      stop;             /* scan: or of the stop conditions; HOP_BAD = none */
	/* eager */
	size_t       nten, tencap;
	hop_array **ten;              /* per draft value; NULL = not computed */
	size_t       ndone;            /* nodes of the draft already run */
};

static inline hop_env *hop_env_of(hop_trace *t) { return &t->root->env; }
/* What a trace means while blocks are open in it. */
static inline hop_trace *hop_here(hop_trace *t)
{
	while (t && t->inner)
		t = t->inner;
	return t;
}
/* A failed draft makes nothing more: what was asked for may be HOP_BAD. */
#define hop_trace_fail(t, code, ...) \
	((t)->b.st = hop_fail(&(t)->root->env, (t)->b.loc, (code), __VA_ARGS__))

/* ---- trace.c: the guarded door, roots and bodies ---- */

/* A caller's options as ours (ctx/ctx.h); false after a failure. */
bool hop_trace_opts(hop_trace *t, const void *given, void *out, size_t ours);

/* Run make(t, arg) as one public call of op at file:line: checks t, guards, and in eager mode
 * runs what was emitted. False when the trace is or becomes failed. Every public function
 * goes through here, so that no other file knows how a call is guarded. op NULL: a further
 * step of the call in progress. */
typedef void hop_make_fn(hop_trace *t, void *arg);
bool hop_enter(hop_trace *t, const char *op, const char *file, int line, hop_make_fn *make,
               void *arg);
/* What n values are in this trace: its results. In a rule HOP_NONE is one, HOP_ZERO. */
bool hop_set_results(hop_trace *t, int n, const hop_value *v);

hop_status hop_root_new(hop_ctx *c, bool eager, hop_trace **out_t);
/* Copies the failure to the context's message. */
hop_status hop_root_free(hop_trace *t);

/* One body of an operator being captured. types: explicit parameters; or NULL, and then the
 * body gets the handles `in` of the caller. */
typedef struct hop_body_args {
	hop_body              *fn;
	void                  *user;
	const char            *what;
	const char            *closed; /* the name of the keyed region that it is the body of */
	bool                   eager, in_scan, in_custom, in_grad, in_hook;
	bool                   in_jvp; /* forward mode is taken of it */
	bool                   exempt; /* a rule of a derivative: no mode around it holds */
	enum hop_in_rule       in_rule;
	int64_t                trip;   /* eager: of the loop, from 1; 0 = of none */
	int64_t                ran;    /* trips before it */
	int                    n;
	const hop_type *const *type;
	hop_array *const     *ten;    /* eager parameters, instead of types */
	const hop_value       *in;
	const char           **name;   /* of parameters, for messages; or NULL */
} hop_body_args;
/* Unguarded: opens a child, calls the user, closes. NULL after a failure, with its note. */
hop_trace *hop_body_run(hop_trace *t, const char *file, int line, const hop_body_args *a);
/* The same in two: open, with the handles of its parameters; close, when it has returned. Both
 * give NULL after a failure, and then there is no child. */
hop_trace *hop_scope_open(hop_trace *t, const char *file, int line, const hop_body_args *a,
                          hop_value **out_in);
hop_trace *hop_scope_close(hop_trace *t, hop_trace *c);
/* Give the child back. */
void       hop_body_drop(hop_trace *child);

/* ---- value.c ---- */

/* A new storage with these contents. {0, 0} for HOP_BAD. */
/* What a call gave, as the modes that hold want it; and a value as it is. */
hop_value hop_value_new(hop_trace *t, hop_val v);
hop_value hop_value_plain(hop_trace *t, hop_val v);
hop_value hop_value_weak(hop_trace *t, enum hop_weak w, double f, int64_t i);
/* The slot of a handle in this trace, lifting it; -1 and a failure when it is none. */
int64_t   hop_slot_of(hop_trace *t, hop_value v);
/* What it is there; valid until the next call here. NULL after a failure. */
const hop_cell *hop_cell_of(hop_trace *t, hop_value v);
/* Contents of a slot; HOP_BAD after a failure. */
hop_val   hop_slot_read(hop_trace *t, uint32_t slot);
hop_val   hop_value_read(hop_trace *t, hop_value v);
const hop_type *hop_value_type(hop_trace *t, hop_value v);      /* NULL after a failure */
/* v as a value of its own: a copy has a gradient, and so hooks, that what it is a copy of has not. */
hop_val   hop_value_apart(hop_trace *t, hop_val v);
/* A view of x by one more step; attr is copied. */
hop_value hop_value_view(hop_trace *t, hop_value x, int op, const void *attr);
hop_val   hop_view_emit(hop_build *b, const hop_view_step *w, hop_val base);
const hop_view_step **hop_view_steps(hop_env *e, const hop_view_step *w, size_t *out_n);
uint32_t  hop_store_mirror(hop_trace *t, hop_trace *owner, uint32_t index);
hop_val   hop_store_cur(hop_trace *t, uint32_t store);
/* Contents of a mirror when the trace began, whatever was written since. */
hop_val   hop_store_entry(hop_trace *t, uint32_t store);
hop_val   hop_param_new(hop_trace *t, const hop_type *type);
/* Type as text into the trace's arena, for messages. */
const char *hop_type_text(hop_trace *t, const hop_type *type);

/* ---- keyed.c ---- */

/* A value of owner, used in t: is there a keyed region between them? Then that is the failure. */
bool      hop_keyed_refuses(hop_trace *t, const hop_trace *owner);

/* ---- write.c ---- */

void hop_slot_write(hop_trace *t, uint32_t slot, hop_val v);    /* v has the slot's type */
void hop_store_set(hop_trace *t, uint32_t store, hop_val v);

/* ---- promote.c ---- */

hop_dtype hop_promote_dtype(hop_trace *t, int n, const hop_value *v);
/* Contents with this dtype; a number becomes a constant of it. */
hop_val   hop_promote_cast(hop_trace *t, hop_value v, hop_dtype d);
/* An index, a key, a count: contents as i64. Neither floats nor bools are that. */
hop_val   hop_promote_whole(hop_trace *t, hop_value v, const char *what);
/* Right-aligned broadcast of contents to a shape. */
hop_val   hop_broadcast_to(hop_trace *t, hop_val x, int rank, const hop_size *dim);
/* Promote and broadcast together; false after a failure. Gives contents of one shape; their
 * dtype is d, or promoted when d is HOP_NDTYPE. */
bool      hop_promote(hop_trace *t, int n, const hop_value *v, hop_dtype d, hop_val *out);
/* The shape that a list of values broadcasts to. */
bool      hop_common_shape(hop_trace *t, int n, const hop_val *v, int *out_rank,
                           hop_size *out_dim);

/* ---- number.c ---- */

/* The op on numbers alone: a number. False, and nothing done, when an operand is a tensor
 * or the op has no meaning for these. whole: quotients of integers are integers. */
bool hop_number_op(hop_trace *t, int op, bool whole, int n, const hop_value *v,
                   hop_value *out);

/* ---- ops.c ---- */

hop_val hop_point(hop_trace *t, int op, int n, const hop_value *v);
/* The axis counted from 0; -1 and a failure when it is out of range. */
int     hop_axis(hop_trace *t, const char *op, int axis, int rank);
/* An i64 scalar, clamped to the range, as a size. */
hop_size hop_sized(hop_trace *t, hop_val v, hop_range r);
/* Are all symbols of the size known here? Fails otherwise. */
bool    hop_size_known(hop_trace *t, const char *op, hop_size s);

/* ---- compose.c ---- */

/* Give two matrices, or batches of them, the same leading axes; how many these are. */
int     hop_same_batch(hop_trace *t, hop_val *x, hop_val *y);

/* ---- join.c: captured bodies to closed graphs ---- */

/* The bodies of one operator and what they share. w: captured storages that some body
 * writes; k: everything else captured, as contents in the parent. */
typedef struct hop_join {
	hop_trace  *t;
	int         n;
	hop_trace **body;              /* [n] */
	uint32_t    nw, nk;
	uint32_t   *w;                 /* stores of the parent, in the order of writes */
	hop_val    *wval, *kval;       /* contents in the parent */
	const hop_type **wtype, **ktype;
	hop_val   **wout;              /* per body: final contents of w */
	uint32_t  **place;             /* per body and leaf: its number in k */
	uint8_t   **used;              /* per body and k: does this body need it */
	uint32_t   *norder, **order;   /* per body: needed leaves, as they are met */
	uint32_t   *nseq, nsym;
	uint32_t  **seq;               /* needed nodes, in an order free of construction */
	int        *sym;               /* the parent's symbols that the bodies take */
	int        *newsym;            /* per symbol of the parent: its number in them or -1 */
} hop_join;

/* The results of one captured body, as values of its draft. */
typedef struct hop_outs {
	hop_trace     *body;
	uint32_t       n;
	const hop_val *v;
} hop_outs;

/* Where the parts of a body's parameter list start. */
typedef struct hop_layout {
	uint32_t               nparam;
	const hop_type *const *type;   /* [nparam], over the symbols of the parent */
	const uint32_t        *param;  /* parameter of the draft -> of the graph */
	uint32_t               w0, k0;
	/* more results: parameters as they came, then zeros of these types; where there is NULL
	 * instead of a type, the next of the results that were left out at the end of out */
	uint32_t               nextra, nzero;
	const uint32_t        *extra;
	const hop_type *const *zero;
} hop_layout;

/* first: handles of the parent that come first among k, if captured at all. False after a
 * failure. */
bool hop_join_open(hop_join *j, hop_trace *t, int n, const hop_outs *o, int nfirst,
                   const hop_value *first);
/* Choose the size parameters: those that these types, w, k and the nodes mention. */
void hop_join_syms(hop_join *j, uint32_t n, const hop_type *const *types);
hop_sizes hop_join_sargs(hop_join *j);
hop_status hop_join_seal(hop_join *j, int body, const hop_layout *l, uint32_t nout,
                         const hop_val *out, const char *name, const hop_graph **out_g);
/* Refuse bodies that write to captured storages: unordered or differentiated ones. */
bool hop_join_pure(hop_join *j, const char *op);
bool hop_body_pure(hop_trace *t, const hop_trace *body, const char *op);
/* Is this store of a body one that some body writes? And contents in the parent of what a leaf stands
 * for. */
bool    hop_join_writes(hop_join *j, const hop_trace *body, uint32_t store);
hop_val hop_join_outer(hop_join *j, hop_trace *body, const hop_leaf *l);
/* Give the written storages their new contents, in the parent. */
void hop_join_wrote(hop_join *j, const hop_val *v);
/* Call a closed graph here: emits it, or runs it when eager. out has g->nout places. */
hop_status hop_call_here(hop_trace *t, const hop_graph *g, hop_sizes sargs,
                         const hop_val *in, hop_val *out);
/* The same with what `like` asks for; NULL = nothing. */
hop_status hop_call_like_here(hop_trace *t, const struct hop_attr_call *like, const hop_graph *g,
                              hop_sizes sargs, const hop_val *in, hop_val *out);

/* ---- hook.c ---- */

/* Hooks of a body that is complete: those on values of outside are the parent's from now on, the others
 * become nodes of the draft. False after a failure. What readers of v then read. */
bool    hop_hooks_close(hop_join *j, hop_trace *body);
hop_val hop_hooks_read(const hop_trace *body, hop_val v);

/* ---- eager.c ---- */

void        hop_eager_settle(hop_trace *t);              /* run what was emitted */
hop_array *hop_eager_array(hop_trace *t, hop_val v);   /* borrowed */
hop_val     hop_eager_leaf(hop_trace *t, hop_array *x); /* takes a reference */
const hop_type *hop_eager_type(hop_trace *t, const hop_array *x);
/* Contents of a storage as the nearest enclosing trace has them. */
hop_array *hop_eager_fetch(hop_trace *t, hop_trace *owner, uint32_t index);
/* The writes of a child reach its parent. Guarded by the caller. */
void        hop_eager_commit(hop_trace *t, hop_trace *child);
/* Results of a child as values of its parent; then commit. */
int         hop_eager_results(hop_trace *t, hop_trace *child, int cap, hop_value *out);

/* ---- block.c ---- */

/* The place whose scopes this serial was of; NULL = none that is known. */
const hop_site *hop_site_of(const hop_root *r, uint32_t serial);
/* The name and place of the block whose scope t is: a note to the failure. */
void hop_block_note(hop_trace *t);

/* ---- tree.c ---- */

/* "carry.layer[2].h", or "carry[7]" without a tree; with one and no root "layer[2].h". */
const char *hop_path_text(hop_trace *t, const char *root, const hop_tree *tree, int i);

/* ---- use.c ---- */

/* An array as a value of this trace: captured by the outermost one. */
hop_value  hop_array_here(hop_trace *t, hop_array *a);

#endif
