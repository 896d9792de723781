/* build.h -- making graphs. A builder is a graph under construction; sealing renumbers it
 * canonically, drops what nothing needs, hashes and interns it. */
#ifndef HOP_BUILD_H
#define HOP_BUILD_H

#include "ir/graph.h"

/* Emitting infers result types at once. The first failure sticks: later emits give
 * HOP_BAD, and hop_seal returns the status. One thread. */
typedef struct hop_build {
	hop_env    *env;
	hop_arena   arena;         /* becomes the sealed graph's scratch; freed by seal */
	hop_status  st;
	hop_loc     loc;           /* given to emitted nodes */
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

/* Seal: b is consumed. The result is interned in the context and lives as long as it
 * (or until trimmed); *out_g is borrowed from the context. */
hop_status hop_seal(hop_build *b, uint32_t nout, const hop_val *out, const char *name,
                    hop_graph **out_g);

static inline const hop_type *hop_typeof(const hop_build *b, hop_val v)
{
	HOP_ASSERT(v.id < b->nvalue);
	return b->type[v.id];
}

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
hop_val hop_emit_permute(hop_build *b, hop_val x, const int64_t *axes);
hop_val hop_emit_slice(hop_build *b, hop_val x, const hop_size *start, const hop_size *dims,
                       const int64_t *step);                         /* step NULL = 1 */
hop_val hop_emit_pad(hop_build *b, hop_val x, const hop_size *start, const hop_size *dims,
                     const int64_t *step);
hop_val hop_emit_sum(hop_build *b, hop_val x, int naxes, const int64_t *axes);
hop_val hop_emit_amax(hop_build *b, hop_val x, int naxes, const int64_t *axes);
hop_val hop_emit_iota(hop_build *b, hop_dtype d, int rank, const hop_size *dims, int axis);
hop_val hop_emit_size(hop_build *b, hop_size s);                     /* i64 scalar */
hop_val hop_emit_gather(hop_build *b, hop_val x, hop_val idx, int axis, int nbatch);
hop_val hop_emit_scatter_add(hop_build *b, hop_val x, hop_val idx, hop_val u, int axis,
                             int nbatch);
hop_val hop_emit_concat(hop_build *b, int n, const hop_val *x, int axis);
hop_val hop_emit_dot(hop_build *b, hop_val x, hop_val y, hop_ints lbatch, hop_ints rbatch,
                     hop_ints lsum, hop_ints rsum);
/* x + y where either may be HOP_ZERO. */
hop_val hop_emit_acc(hop_build *b, hop_val x, hop_val y);
/* x, or zeros of the type when it is HOP_ZERO. */
hop_val hop_emit_solid(hop_build *b, hop_val x, const hop_type *t);

#endif
