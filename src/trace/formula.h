/* formula.h -- formulas, inside: the tree that a text is read to, and the functions that it may
 * call. The public view is include/hop/formula.h. */
#ifndef HOP_FORMULA_INTERNAL_H
#define HOP_FORMULA_INTERNAL_H

#include "trace/trace.h"

enum {
	HOP_FX_TEXT = 4096,            /* bytes of a formula, and of the names */
	HOP_FX_NODES = 1024,
	HOP_FX_DEPTH = 100,            /* expressions inside each other */
	HOP_FX_ARGS = 256,             /* values given to a formula, arguments of a call */
	HOP_FX_PARAMS = 6,             /* of a function */
	HOP_FX_NONE = 0xffff           /* no such node: what was left out */
};

/* ---- the tree ---- */

enum hop_fx_kind {
	HOP_FX_INT, HOP_FX_REAL,       /* numbers */
	HOP_FX_ARG,                    /* value `row` of those given */
	HOP_FX_POINT,                  /* elementwise row `row` of ops.def, on the kids */
	HOP_FX_TRUTH,                  /* the same, on truths only */
	HOP_FX_CALL,                   /* row `row` of formula.def; a kid each parameter, or NONE */
	HOP_FX_INDEX,                  /* kid 0, indexed by the others: INT, values, and these: */
	HOP_FX_SLICE,                  /* kids start, stop, step, or NONE */
	HOP_FX_NEW,                    /* a new axis */
	HOP_FX_REST,                   /* as many axes as are left */
	HOP_FX_LIST,
	HOP_FX_DTYPE                   /* dtype `row` */
};

/* Kids stand before their parent. No padding: the tree is interned as bytes. */
typedef struct hop_fx_node {
	union { int64_t i; double f; } u;
	uint8_t  kind;
	uint8_t  quiet;                /* part of a size, a list, a dtype: no value is made of it */
	uint16_t row;
	uint16_t at, len;              /* its part of the text */
	uint32_t kid;                  /* first of nkid, in the list of kids */
	uint16_t nkid, depth;
} hop_fx_node;

/* nnode nodes, the last of them the root, and behind them the kids. */
typedef struct hop_fx {
	uint32_t    nnode, nkid;
	hop_fx_node node[];
} hop_fx;

static inline const uint16_t *hop_fx_kids(const hop_fx *f, const hop_fx_node *n)
{
	return (const uint16_t *)(f->node + f->nnode) + n->kid;
}

/* ---- formula_parse.c ---- */

/* One of the names that came with the values, without blanks. */
typedef struct hop_fx_name {
	const char *s;
	size_t      n;
} hop_fx_name;

/* Guarded. The tree of a text, interned; NULL after a failure that shows the place. */
const hop_fx *hop_fx_parse(hop_trace *t, const char *text, int narg, const hop_fx_name *arg);

/* The text with a line of marks under n bytes from at, as further lines of a message. */
enum { HOP_FX_WIDE = 72 };
typedef struct hop_fx_picture { char s[2 * HOP_FX_WIDE + 32]; } hop_fx_picture;
hop_fx_picture hop_fx_show(const char *text, size_t at, size_t n);

/* ---- formula_fns.c ---- */

enum hop_fx_param_kind {
	HOP_FXP_VALUE, HOP_FXP_VALUES, HOP_FXP_INT, HOP_FXP_INTS, HOP_FXP_SIZE, HOP_FXP_SIZES,
	HOP_FXP_REAL, HOP_FXP_DTYPE
};

typedef struct hop_fx_param {
	enum hop_fx_param_kind kind;
	const char            *name;   /* and perhaps others: "axes|axis" */
	size_t                 n;
	const char            *other;  /* what it is when left out; NULL = it must be given */
} hop_fx_param;

/* The arguments of a call, one for each parameter. */
typedef struct hop_fx_given {
	hop_value        v;
	int              i;
	double           f;
	hop_dtype        d;
	hop_dim          size;
	int              n;            /* of a list */
	const hop_value *vs;
	int              is[HOP_RANK];
	hop_dim          sizes[HOP_RANK];
} hop_fx_given;

typedef struct hop_fx_call {
	hop_trace   *t;
	const char  *file;
	int          line;
	const char  *name;
	hop_fx_given p[HOP_FX_PARAMS];
} hop_fx_call;

typedef struct hop_fx_row {
	const char *name, *sig;
	hop_value (*call)(hop_fx_call *c);
} hop_fx_row;

/* Row k of formula.def; NULL past the last. */
const hop_fx_row *hop_fx_row_at(int k);
/* The row of this name, in formula.def or, *out_point, elementwise in ops.def; -1 = none. */
int hop_fx_find(const char *s, size_t n, bool *out_point);
/* What an elementwise op takes. */
const char *hop_fx_point_sig(int op);
/* The parameters of a signature; returns their number. */
int hop_fx_params(const char *sig, hop_fx_param *out);
bool hop_fx_param_is(const hop_fx_param *p, const char *s, size_t n);
/* The name most like this one among functions, or among the values given; n 0 = none is. */
hop_fx_name hop_fx_like(const char *s, size_t n, bool call, int narg, const hop_fx_name *arg);

#endif
