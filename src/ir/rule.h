/* rule.h -- the columns of ops.def: what a cell is given and what it must do.
 *
 * Transform rules (jvp, vjp, batch) read a sealed source node and write through a builder
 * into a new graph. Operands are already mapped; HOP_ZERO is the symbolic zero, never
 * null. A rule that fails says so with hop_fail; failed emits stick to the builder, so a
 * rule need not test each of them. */
#ifndef HOP_RULE_H
#define HOP_RULE_H

#include "ir/build.h"

/* infer: fill out[] (nout of them) from the types of the operands and the attributes; check both.
 * For rows with out = -1 the rule makes room for its results first, with hop_infer_outs. */
typedef struct hop_infer {
	hop_build       *b;
	hop_env         *env;
	int              op;
	const void      *attr;
	hop_loc          loc;
	uint32_t         nin, nout;
	const hop_type *const *in;
	const hop_type **out;
} hop_infer;
void hop_infer_outs(hop_infer *f, uint32_t nout);
/* A condition that the types rest on: nothing happens when it is known to hold, a failure
 * when it is known not to; else it is recorded as a check of the graph. what is the text of
 * the failure, the op's name is put in front: {0} stands for a, {1} for b. It must live as
 * long as the context: literal, or from hop_infer_text. */
hop_status hop_infer_equal(hop_infer *f, hop_size a, hop_size b, const char *what);
hop_status hop_infer_le(hop_infer *f, hop_size a, hop_size b, const char *what);
/* Known to hold already: no text has to be made. */
bool       hop_infer_holds(hop_infer *f, enum hop_rel rel, hop_size a, hop_size b);
const char *hop_infer_text(hop_infer *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* hop_fail at the node's location. */
#define hop_infer_fail(f, code, ...) hop_fail((f)->env, (f)->loc, (code), __VA_ARGS__)

/* One node being transformed. Which fields are set is said at each column. */
typedef struct hop_rule {
	const hop_graph *g;            /* source graph and node */
	const hop_node  *n;
	const hop_type *const *type;   /* g->type: source types, over the source's symbols */
	hop_size        *smap;         /* source size symbol -> size in the new graph; a rule
	                                  that re-binds a local symbol writes it */
	int              nsmap;
	const hop_val   *in;           /* [nin] mapped operands */
	hop_val         *out;          /* [nout] mapped results */
	/* jvp, vjp */
	hop_val         *din;          /* [nin]  jvp: given tangents. vjp: cotangents to set */
	hop_val         *dout;         /* [nout] jvp: tangents to set. vjp: given cotangents */
	const bool      *act;          /* [nin]  operand depends on a differentiated input */
	const bool      *live;         /* [nout] vjp: result may receive a cotangent */
	void            *save;         /* vjp of operators: fwd leaves what bwd needs */
	/* batch */
	const bool      *bin;          /* [nin]  operand carries the batch axis (axis 0) */
	bool            *bout;         /* [nout] to set */
	hop_size         bsize;        /* size of the batch axis, in the new graph */
	hop_val          mask;         /* bool[bsize] of active lanes, or HOP_ZERO = all */
} hop_rule;

typedef struct hop_interp hop_interp;
typedef struct hop_lower hop_lower;

typedef hop_status hop_infer_fn(hop_infer *f);
/* eval: compute results into out. Plain ops: out[] is allocated. R ops allocate. */
typedef hop_status hop_eval_fn(hop_interp *p, const hop_node *n, hop_array *const *in,
                               hop_array **out);
/* jvp: in, out (already emitted, except for R ops, which emit and set out), din given;
 * set dout (initially all HOP_ZERO). Called only if some din is not zero. */
typedef hop_status hop_jvp_fn(hop_build *b, hop_rule *r);
/* vjp: in, out, dout given (some dout not zero); set din[i] for the i with act[i]
 * (initially all HOP_ZERO); the driver adds it to what is there. Never called for R ops. */
typedef hop_status hop_vjp_fn(hop_build *b, hop_rule *r);
/* batch: in, bin given (some bin true, or X with mask or asking the host, or R); emit, set out and
 * bout.
 * The batch axis of every batched value is axis 0. */
typedef hop_status hop_batch_fn(hop_build *b, hop_rule *r);
typedef hop_status hop_lower_fn(hop_lower *l, const hop_node *n);
typedef void       hop_active_fn(hop_env *e, const hop_node *n, const bool *in, bool *out);
typedef hop_status hop_half_fn(hop_build *b, hop_rule *r);     /* fwd, bwd */

#define HOP_OP(name, in, out, flags, attrs, infer, eval, jvp, vjp, batch, lower) \
	hop_infer_fn hop_infer_##infer;  hop_eval_fn  hop_eval_##eval;  \
	hop_jvp_fn   hop_jvp_##jvp;      hop_vjp_fn   hop_vjp_##vjp;    \
	hop_batch_fn hop_batch_##batch;  hop_lower_fn hop_lower_##lower;
#include "ir/ops.def"
#undef HOP_OP
#define HOP_SIG(...)
#define HOP_BODY(...)
#define HOP_HOP(name, active, fwd, bwd) \
	hop_active_fn hop_active_##active; hop_half_fn hop_fwd_##fwd, hop_bwd_##bwd;
#include "ir/hops.def"
#undef HOP_HOP
#undef HOP_BODY
#undef HOP_SIG
hop_jvp_fn hop_jvp_zero, hop_jvp_none, hop_jvp_todo;
hop_vjp_fn hop_vjp_zero, hop_vjp_none, hop_vjp_todo;
hop_batch_fn hop_batch_todo;
hop_lower_fn hop_lower_todo;

/* A row of the table. */
typedef struct hop_opinfo {
	const char      *name;
	int              nin, nout;       /* -1 = any number */
	int              flags;
	const hop_field *field;
	int              nfield;
	hop_infer_fn    *infer;
	hop_eval_fn     *eval;
	hop_jvp_fn      *jvp;
	hop_vjp_fn      *vjp;
	hop_batch_fn    *batch;
	hop_lower_fn    *lower;
	const char      *cell[6];         /* names of the cells, for docs and make matrix */
} hop_opinfo;
extern const hop_opinfo hop_optab[HOP_NOPS];

/* A second row: operators with bodies only. */
typedef struct hop_hopinfo {
	hop_active_fn *active;
	hop_half_fn   *fwd, *bwd;
} hop_hopinfo;
extern const hop_hopinfo hop_hoptab[HOP_NOPS];

#endif
