/* graph.h -- the data model: nodes, graphs, the table of ops. Nothing here says how a
 * value is computed; see rule.h for the columns and build.h for making graphs. */
#ifndef HOP_GRAPH_H
#define HOP_GRAPH_H

#include "ctx/ctx.h"
#include "ir/type.h"

/* A value of one graph: its parameters first, then node results in order. A struct, so
 * that it cannot be mixed with an int. The public hop_value is another type. */
typedef struct hop_val { uint32_t id; } hop_val;
#define HOP_ZERO ((hop_val){ UINT32_MAX })        /* the symbolic zero tangent */
#define HOP_BAD  ((hop_val){ UINT32_MAX - 1 })    /* after a failure; never in a graph */
static inline bool hop_is_zero(hop_val v) { return v.id == UINT32_MAX; }
static inline bool hop_is_bad(hop_val v) { return v.id == UINT32_MAX - 1; }
static inline bool hop_same(hop_val a, hop_val b) { return a.id == b.id; }

typedef struct hop_graph hop_graph;

/* ---- attributes: typed lists; every C type is a multiple of 8 bytes, so that the
 * offset of a field is the sum of the sizes before it ---- */

typedef struct hop_ints  { int64_t n; const int64_t *v; } hop_ints;
typedef struct hop_sizes { int64_t n; const hop_size *v; } hop_sizes;
typedef struct hop_str   { int64_t n; const char *s; } hop_str;
typedef struct hop_graphs { int64_t n; const hop_graph *const *v; } hop_graphs;
/* Types as the sizes of all of them in a row, and for each its dtype and its rank. */
typedef struct hop_types {
	int64_t         ndim;
	const hop_size *dim;
	int64_t         n;
	const int64_t  *head;
} hop_types;

/* Bytes of a constant, row-major. Sizes of its type are constants. */
typedef struct hop_data {
	const hop_type *type;
	size_t          nbyte;
	const void     *bytes;
} hop_data;

/* length, sargs and sym are sizes with a meaning of their own: the steps of a loop, the size
 * arguments that all bodies of the node take, the local size symbol that the node binds
 * (-1: none). A count is an int that says nothing where it is zero. A row has either graph
 * fields, all in one place, or one field graphs. */
#define HOP_ATTR_KINDS(K) \
	K(int,    int64_t) \
	K(count,  int64_t) \
	K(bool,   int64_t) \
	K(f64,    double) \
	K(dtype,  int64_t) \
	K(mode,   int64_t) \
	K(how,    int64_t) \
	K(save,   int64_t) \
	K(ints,   hop_ints) \
	K(size,   hop_size) \
	K(sizes,  hop_sizes) \
	K(length, hop_size) \
	K(sargs,  hop_sizes) \
	K(sym,    int64_t) \
	K(types,  hop_types) \
	K(str,    hop_str) \
	K(data,   const hop_data *) \
	K(graph,  const hop_graph *) \
	K(graphs, hop_graphs)

#define K(n, t) typedef t hop_attr_c_##n; \
	_Static_assert(sizeof(t) % 8 == 0, "attribute types are multiples of 8 bytes");
HOP_ATTR_KINDS(K)
#undef K
enum hop_attr_kind {
	HOP_AK_none,
#define K(n, t) HOP_AK_##n,
	HOP_ATTR_KINDS(K)
#undef K
};

/* How what is written meets what is there: enum hop_mode, a word in the text form. */
#define HOP_MODES(M) M(set) M(add) M(mul) M(min) M(max)
enum hop_mode {
#define M(name) HOP_MODE_##name,
	HOP_MODES(M)
#undef M
	HOP_NMODE
};

/* How lanes of one loop that end at different trips are run: enum hop_how, a word in the text
 * form, which leaves out auto. */
#define HOP_HOWS(M) M(auto) M(freeze) M(interchange) M(compact)
enum hop_how {
#define M(name) HOP_HOW_##name,
	HOP_HOWS(M)
#undef M
	HOP_NHOW
};

/* What a reverse pass does with a value that it needs: enum hop_save, a word in the text form, which
 * leaves out none. The public hop_saving has the same order. */
#define HOP_SAVES(M) M(none) M(must_save) M(prefer_save) M(must_recompute) M(prefer_recompute)
enum hop_save {
#define M(name) HOP_SAVE_##name,
	HOP_SAVES(M)
#undef M
	HOP_NSAVE
};

/* The words of a kind of attribute that is one of a few; NULL for other kinds. */
const char *const *hop_attr_words(int kind, int *out_n);

/* struct hop_attr_sum { hop_attr_c_ints axes; }; and so on for every row. */
#define A(kind, name) hop_attr_c_##kind name;
#define D(kind, name) hop_attr_c_##kind name;
#define HOP_OP(name, in, out, flags, attrs, ...) \
	struct hop_attr_##name { attrs int64_t end_; };   /* never empty */
#include "ir/ops.def"
#undef HOP_OP
#undef D
#undef A

/* ---- the table ---- */

enum hop_op {
	HOP_OP_nop,
#define HOP_OP(name, ...) HOP_OP_##name,
#include "ir/ops.def"
#undef HOP_OP
	HOP_NOPS
};

enum hop_flag {
	HOP_F_P = 1, HOP_F_C = 2, HOP_F_L = 4, HOP_F_E = 8, HOP_F_V = 16, HOP_F_R = 32,
	HOP_F_X = 64, HOP_F_U = 128, HOP_F_H = 256, HOP_F_F = 512, HOP_F_O = 1024, HOP_F_XO = 1088,
	HOP_F_W = 2048, HOP_F_XW = 2112, HOP_F_PW = 2049,
	HOP_F_PE = 9, HOP_F_PEF = 521, HOP_F_PL = 5, HOP_F_PLV = 21, HOP_F_PCE = 11, HOP_F_PLE = 13,
	HOP_F_PCLE = 15, HOP_F_PH = 257, HOP_F_RU = 160, HOP_F_G = 4096, HOP_F_RG = 4128
};

typedef struct hop_field {
	uint8_t     kind;          /* hop_attr_kind */
	bool        may_lack;      /* not written, it is zero, false or no body */
	const char *name;
} hop_field;

/* Nodes that are statements of their own: all their results are there at once, in memory. */
enum { HOP_F_WHOLE = HOP_F_R | HOP_F_X | HOP_F_W };

/* ---- nodes and graphs ---- */

/* A node applies one op. */
typedef struct hop_node {
	uint16_t       op;         /* HOP_OP_xxx: row of ops.def */
	bool           guard;      /* a body of it tests a condition: it must run if the graph
	                              does, though nobody reads its results */
	uint32_t       nin, nout;
	hop_loc        loc;        /* the user's line that asked for it */
	hop_val        out0;       /* results are out0 .. out0+nout-1 */
	const hop_val *in;         /* [nin] all defined earlier in the same graph */
	const void    *attr;       /* struct hop_attr_<op>, or NULL when the row has none */
} hop_node;

/* One condition on sizes that inference could not decide and that types rest on. It is
 * tested each time the graph runs, as soon as its symbols are bound: at entry, or behind
 * the node that binds the last of them. A body that does not run tests nothing. */
enum hop_rel { HOP_EQ, HOP_LE };
typedef struct hop_check {
	hop_size     a, b;
	enum hop_rel rel;         /* a == b, a <= b */
	uint16_t     op;          /* whose condition it is; HOP_OP_nop = only the text says so */
	hop_loc      loc;
	const char  *what;        /* {0} and {1} stand for the values; outlives the graph */
	const char  *as;          /* the public call that needs it, which its text names instead of
	                             the op; NULL = none. Outlives the graph */
} hop_check;

/* A closed, pure function. Sealed: canonically numbered, immutable, interned in its
 * context. Size symbols 0..nsym-1 are size parameters; nsym..nsym+nlocal-1 are bound by
 * nodes (as_size, while) and may be mentioned by types after them. Thread safe. */
struct hop_graph {
	hop_ctx         *ctx;
	hop_hash         hash;
	uint32_t         nsym, nlocal;
	const hop_range *range;       /* [nsym+nlocal] */
	const char *const *symname;   /* [nsym+nlocal], entries may be NULL; not hashed */
	uint32_t         nparam, nvalue, nnode, nout, ncheck;
	const hop_type *const *type;  /* [nvalue] */
	const hop_node  *node;        /* in evaluation order */
	const uint32_t  *def;         /* [nvalue] defining node, UINT32_MAX for parameters */
	const hop_val   *out;
	const hop_check *check;       /* by the symbols they wait for; none follows from another */
	bool             has_effect;  /* some node, or a node of a body that runs, is an effect */
	bool             acts;        /* the same but for progress: not to be lost, nor done twice */
	bool             has_guard;   /* some node is a guard */
	uint16_t         holds;       /* HOP_HOLDS_*: what it or a body of it has */
	uint32_t         depth;       /* 1 + that of its deepest body */
	const char      *name;        /* as printed; NULL = inline; not hashed */
	uint32_t         refs;        /* outside holders; atomic */
	bool             kept;        /* scratch of hop_ctx_trim: a kept graph holds it */
	hop_arena        arena;
};

static inline const hop_type *hop_graph_out_type(const hop_graph *g, uint32_t i)
{
	return g->type[g->out[i].id];
}

hop_graph *hop_graph_retain(hop_graph *g);
void       hop_graph_release(hop_graph *g);
bool       hop_graph_equal(const hop_graph *a, const hop_graph *b);

/* Bodies in bodies, named ones too. Every transformation recurses over them, so that a
 * node that would exceed this is refused. */
enum { HOP_MAXLEVEL = 400 };

/* ---- walking attributes ---- */

#define HOP_ATTR(n, op) ((const struct hop_attr_##op *)(n)->attr)

size_t      hop_attr_offset(int op, int field);
size_t      hop_attr_bytes(int op);
/* Bodies of a node in attribute order; an optional body may be NULL. */
hop_graphs  hop_node_subs(const hop_node *n);
/* The same of attributes that are being changed: a list to write into. */
const hop_graph **hop_attr_subs(int op, void *attr, int *out_n);
/* The field of body i: all of a list are one field. */
const hop_field *hop_node_subfield(const hop_node *n, int i);
/* The sizes that a field holds, none if it is of another kind. */
hop_sizes   hop_attr_sizes(int op, const void *attr, int field);
/* The size arguments passed to its bodies (empty when none). */
hop_sizes   hop_node_sargs(const hop_node *n);
void        hop_attr_set_sargs(int op, void *attr, hop_sizes s);
/* The number of steps of a loop that has one, else NULL. */
const hop_size *hop_attr_length(int op, const void *attr);
/* The local size symbol that the node binds, or -1. */
int64_t     hop_node_binds(const hop_node *n);
/* Call f for each symbol that a size, or a size of a node, mentions. */
typedef void hop_sym_fn(void *user, int sym);
void        hop_size_syms(hop_size s, hop_sym_fn *f, void *user);
void        hop_node_syms(const hop_node *n, hop_sym_fn *f, void *user);
/* Sets need[s - nsym] for the local symbols s that its sizes mention: whoever binds them
 * must come first. The same for one size. */
void        hop_node_mentions(const hop_node *n, uint32_t nsym, uint8_t *need);
void        hop_size_mentions(hop_size s, uint32_t nsym, uint8_t *need);
/* Is it an effect, or does a body that it runs hold one? */
bool        hop_node_effect(const hop_node *n);
/* One that somebody would miss, which nobody does of progress? */
bool        hop_node_acts(const hop_node *n);
/* Which of these, itself or in a body? MARK: gradients that are to be given out; HOST: a function of the
 * host, which is not run a second time; ASKS: one of them that is an effect, which each lane asks by
 * itself; UNROLL: a call or scan that says how many steps run at a time; NAME: name, packed,
 * checkpoint; EFFECT: in bodies that only derivatives run, too */
enum { HOP_HOLDS_MARK = 1, HOP_HOLDS_WATCH = 2, HOP_HOLDS_PRINT = 4, HOP_HOLDS_HOST = 8,
       HOP_HOLDS_ASKS = 16, HOP_HOLDS_UNROLL = 32, HOP_HOLDS_NAME = 64, HOP_HOLDS_EFFECT = 128,
       HOP_HOLDS_HOOK = 256 };
uint16_t    hop_node_holds(const hop_node *n);
/* Operands that it changes in place: as many of its last results are what they become, in this
 * order. Those of a row with W whose attribute `writes` says so. */
hop_ints    hop_node_writes(const hop_node *n);
/* Where the attribute lies that names the local size symbol a node binds, or NULL. */
int64_t    *hop_attr_sym(int op, void *attr);
bool        hop_attr_equal(int op, const void *a, const void *b);
/* The first field in which they differ, or -1. */
int         hop_attr_differ(int op, const void *a, const void *b);
/* Deep copy into an arena; size expressions are substituted when nsub >= 0. */
void       *hop_attr_copy(hop_env *e, hop_arena *a, int op, const void *attr,
                          const hop_size *subst, int nsubst);

/* ---- verify.c ---- */

/* Check every invariant of a sealed graph and of its bodies; a failure is our bug, told
 * as a status so that tools can show it. */
hop_status hop_verify(hop_env *e, const hop_graph *g);

#endif
