/* build.h -- making graphs. A builder is a graph under construction; sealing renumbers it
 * canonically, drops what nothing needs, hashes and interns it. */
#ifndef HOP_BUILD_H
#define HOP_BUILD_H

#include "ir/graph.h"

/* What is known of sizes beside the ranges of their symbols. */
typedef struct hop_facts {
	hop_env *env;
	hop_map  le, eq;
} hop_facts;

enum hop_truth { HOP_NEVER, HOP_MAYBE, HOP_ALWAYS };
void hop_facts_init(hop_facts *f, hop_env *e, hop_arena *a);
void hop_facts_learn(hop_facts *f, enum hop_rel rel, hop_size x, hop_size y);
/* The sizes of a value that exists are not negative. */
void hop_facts_learn_type(hop_facts *f, const hop_type *t);
/* Does it hold for all symbols within r[0 .. n-1], given the facts? */
enum hop_truth hop_facts_say(const hop_facts *f, const hop_range *r, int n, enum hop_rel rel,
                             hop_size x, hop_size y);

/* Emitting infers result types at once. The first failure sticks: later emits give
 * HOP_BAD, and hop_seal returns the status. One thread. */
typedef struct hop_build {
	hop_env    *env;
	hop_arena   arena;         /* becomes the sealed graph's scratch; freed by seal */
	hop_status  st;
	hop_loc     loc;           /* given to emitted nodes */
	const char *as;            /* the public call in progress, which failures name instead of
	                              the op; NULL = none */
	uint32_t    nsym, nlocal;
	size_t      symcap;
	hop_range  *range;
	const char **symname;
	uint32_t    nparam;
	size_t      nvalue, valcap;
	const hop_type **type;
	uint32_t   *def;
	size_t      nnode, nodecap;
	hop_node   *node;
	size_t      ncheck, checkcap;
	hop_check  *check;
	size_t      nwordless;     /* checks that came without the words of an op */
	bool        copies;        /* makes a graph from another one */
	bool        firm;          /* inference records nothing more: what is not known to hold
	                              fails */
	hop_facts   facts;
	struct hop_map cse;        /* constants already emitted */
} hop_build;

/* Start a graph; size parameters first (names may be NULL), then parameters. */
void     hop_build_open(hop_build *b, hop_env *e);
int      hop_build_sym(hop_build *b, hop_range r, const char *name);      /* before params */
hop_val  hop_build_param(hop_build *b, const hop_type *t);
/* The same size parameters (not locals) as g. */
void     hop_build_syms_of(hop_build *b, const hop_graph *g);
/* A size symbol bound by a node; returns its index. */
int      hop_build_local(hop_build *b, hop_range r, const char *name);
/* A value from outside at any time, for drafts: a builder that has one cannot be sealed, its
 * nodes are copied into another. */
hop_val  hop_build_leaf(hop_build *b, const hop_type *t);
/* Give up without sealing. */
void     hop_build_drop(hop_build *b);

/* What results, effects and tests need, in the one order that sealing and capture use. */
typedef struct hop_order {
	uint32_t *seq, nseq;           /* nodes */
	hop_val  *leaf;                /* values that no node makes, as they are met */
	uint32_t  nleaf;
} hop_order;
void hop_build_order(const hop_build *b, hop_arena *a, uint32_t nout, const hop_val *out,
                     hop_order *o);

/* Seal: b is consumed. The result is interned in the context and lives as long as it
 * (or until trimmed); *out_g is borrowed from the context. */
hop_status hop_seal(hop_build *b, uint32_t nout, const hop_val *out, const char *name,
                    hop_graph **out_g);

static inline const hop_type *hop_typeof(const hop_build *b, hop_val v)
{
	HOP_ASSERT(v.id < b->nvalue);
	return b->type[v.id];
}

/* ---- conditions on sizes (check.c) ---- */

/* What ranges of symbols, types of parameters and recorded checks say. A recorded check
 * holds: nothing behind it runs otherwise. */
enum hop_truth hop_build_holds(hop_build *b, enum hop_rel rel, hop_size x, hop_size y);
/* Record a check unless it is known to hold. One that is known not to is recorded too: the
 * graph then refuses to run. */
void     hop_build_check(hop_build *b, hop_check c);
/* All checks of g, and that its size arguments are within its ranges: g's nodes are copied
 * into b. map: where g's symbols went; checks with a symbol that is not there yet (a bad
 * size) are left out. */
void     hop_build_checks_of(hop_build *b, const hop_graph *g, const hop_size *map, int nmap);
/* An upper bound of a size that mentions no local symbol (roof.c); false when none is known. */
bool     hop_build_roof(hop_build *b, hop_size s, hop_size *out);
/* Whether a body that node n may run is not known to run: with all that is known now. */
bool     hop_build_guard(hop_build *b, const hop_node *n);
/* Whether graph g would surely refuse to run on these size arguments; would surely not. */
bool     hop_build_refuses(hop_build *b, const hop_graph *g, hop_sizes sargs);
bool     hop_build_accepts(hop_build *b, const hop_graph *g, hop_sizes sargs);
/* A failure with the words of the check, if g would surely refuse. */
hop_status hop_build_refuse(hop_build *b, const hop_graph *g, hop_sizes sargs);

/* Test the checks of g that wait for symbols from .. to-1, given the values of all below
 * `to`. from = 0: those that wait for none, too. */
hop_status hop_checks_test(hop_env *e, const hop_graph *g, const int64_t *syms, int from,
                           int to);
/* One check, given its first n symbols; what is too large to compute does not hold. */
bool       hop_check_holds(const hop_check *c, const int64_t *syms, int n);
/* The same: false, with the failure recorded, when it does not hold. */
bool       hop_check_test(hop_env *e, const hop_check *c, const int64_t *syms, int n);
/* Its words, with two texts in the place of its sides. */
void       hop_check_put(hop_buf *b, const hop_check *c, const char *const *side);
/* The symbols that a check waits for are those below this. */
int        hop_check_waits(const hop_check *c);
/* What g asks of its size argument i when op gives it s: 0, 1 or 2 conditions. */
int        hop_graph_ranges(const hop_graph *g, uint32_t i, int op, hop_size s,
                            hop_check *out);
/* Are the size arguments of n within the ranges that its body declares? */
hop_status hop_ranges_test(hop_env *e, const hop_node *n, const hop_graph *body,
                           const int64_t *syms);
/* Bring checks into their order, drop what follows from another; returns how many stay. */
uint32_t   hop_checks_seal(hop_env *e, hop_check *c, uint32_t n);

/* ---- emitting ---- */

/* The first result, or HOP_BAD. attr is copied. */
hop_val hop_emit_op(hop_build *b, int op, const void *attr, uint32_t nin, const hop_val *in);
/* hop_emit(b, mul, x, y): ops without attributes. */
#define hop_emit(b, op, ...) \
	hop_emit_op((b), HOP_OP_##op, NULL, \
	            (uint32_t)(sizeof((hop_val[]){ __VA_ARGS__ }) / sizeof(hop_val)), \
	            (const hop_val[]){ __VA_ARGS__ })
/* Re-emit a node of graph g on mapped operands (size expressions substituted by `map`
 * of g's size symbols). A node that binds a local symbol binds a new one here and
 * writes it to map. Returns the first result. */
hop_val hop_emit_copy(hop_build *b, const hop_graph *g, const hop_node *n, const hop_val *in,
                      hop_size *map, int nmap);
/* Inline a graph: emit all its nodes on the given parameters; out[i] gets result i. */
hop_status hop_emit_inline(hop_build *b, const hop_graph *g, const hop_size *sargs,
                           const hop_val *in, hop_val *out);

/* Helpers over the table, used by rules and composites. All tolerate HOP_BAD. */
hop_val hop_emit_const_f(hop_build *b, hop_dtype d, double v);       /* scalar */
hop_val hop_emit_const_i(hop_build *b, hop_dtype d, int64_t v);      /* scalar */
hop_val hop_emit_data(hop_build *b, const hop_type *t, const void *bytes);
hop_val hop_emit_full(hop_build *b, const hop_type *t, double v);    /* every element v */
hop_val hop_emit_zeros(hop_build *b, const hop_type *t);             /* false for bool */
hop_val hop_emit_cast(hop_build *b, hop_val x, hop_dtype d);         /* x itself if equal */
hop_val hop_emit_broadcast(hop_build *b, hop_val x, int rank, const hop_size *dims,
                           const int64_t *axes);
/* Repeat x along a new leading axis of size n. */
hop_val hop_emit_lead(hop_build *b, hop_val x, hop_size n);
/* Broadcast p (shape = the leading dims of t) to the shape of t. */
hop_val hop_emit_match(hop_build *b, hop_val p, const hop_type *t);
hop_val hop_emit_reshape(hop_build *b, hop_val x, int rank, const hop_size *dims);
/* x under type t, whose sizes are the same although they may be written differently: a
 * check says so. HOP_ZERO stays. */
hop_val hop_emit_as(hop_build *b, hop_val x, const hop_type *t);
hop_val hop_emit_permute(hop_build *b, hop_val x, const int64_t *axes);
hop_val hop_emit_slice(hop_build *b, hop_val x, const hop_size *start, const hop_size *dims,
                       const int64_t *step);                         /* step NULL = 1 */
hop_val hop_emit_pad(hop_build *b, hop_val x, const hop_size *start, const hop_size *dims,
                     const int64_t *step);
/* One of the reductions with axes; x itself if there are none. */
hop_val hop_emit_reduce(hop_build *b, int op, hop_val x, int naxes, const int64_t *axes);
hop_val hop_emit_sum(hop_build *b, hop_val x, int naxes, const int64_t *axes);
hop_val hop_emit_amax(hop_build *b, hop_val x, int naxes, const int64_t *axes);
hop_val hop_emit_amin(hop_build *b, hop_val x, int naxes, const int64_t *axes);
hop_val hop_emit_iota(hop_build *b, hop_dtype d, int rank, const hop_size *dims, int axis);
hop_val hop_emit_size(hop_build *b, hop_size s);                     /* i64 scalar */
hop_val hop_emit_gather(hop_build *b, hop_val x, hop_val idx, int axis, int nbatch);
hop_val hop_emit_scatter(hop_build *b, enum hop_mode mode, hop_val x, hop_val idx, hop_val u,
                         int axis, int nbatch);
hop_val hop_emit_concat(hop_build *b, int n, const hop_val *x, int axis);
hop_val hop_emit_dot(hop_build *b, hop_val x, hop_val y, hop_ints lbatch, hop_ints rbatch,
                     hop_ints lsum, hop_ints rsum);
/* The same with all that the row has: a dtype of its result, too. */
hop_val hop_emit_dot_like(hop_build *b, hop_val x, hop_val y, const struct hop_attr_dot *a);
/* Matrices transposed: the last two axes exchanged. */
hop_val hop_emit_turned(hop_build *b, hop_val x);
/* Whether each element of matrices like x, by its column minus its row, is at most `most`. */
hop_val hop_emit_below(hop_build *b, hop_val x, int64_t most);
/* x + y where either may be HOP_ZERO. */
hop_val hop_emit_acc(hop_build *b, hop_val x, hop_val y);
/* x, or zeros of the type when it is HOP_ZERO. */
hop_val hop_emit_solid(hop_build *b, hop_val x, const hop_type *t);

#endif
