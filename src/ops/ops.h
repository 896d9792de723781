/* ops.h -- small helpers shared by the rules of first-order ops. Rules themselves are
 * declared by rule.h, from the table; nothing here is a cell. */
#ifndef HOP_OPS_H
#define HOP_OPS_H

#include "interp/interp.h"

/* What messages call the op: the public call that it is a part of, or itself. */
static inline const char *hop_opname(const hop_infer *f)
{
	return f->b->as ? f->b->as : hop_optab[f->op].name;
}

/* "dimension 3", a text that lives for ever. */
const char *hop_dim_text(int axis);

/* The shapes of operands i and j must agree; the words say where each stands: "on the
 * left". */
hop_status hop_infer_shapes(hop_infer *f, uint32_t i, const char *where_i,
                            uint32_t j, const char *where_j);

/* A result type from an attribute's sizes, after the dims of `head` (NULL = none): checks
 * rank, signs, and that elements can be counted. */
hop_status hop_infer_dims(hop_infer *f, hop_dtype d, const hop_type *head, hop_sizes dims,
                          const hop_type **out);

/* ---- effects: one definition for the interpreter and for compiled code ---- */

/* A dense row-major tensor of someone else's. */
typedef struct hop_operand {
	hop_dtype      dtype;
	int            rank;
	const int64_t *dim;
	const void    *data;
} hop_operand;

typedef struct hop_effect {
	int            op;             /* HOP_OP_print, HOP_OP_assert or HOP_OP_watch */
	hop_str        text;
	bool           when;           /* the last operand says in which lanes to act */
	hop_loc        loc;
	hop_print_fn  *print;          /* NULL = stdout */
	void          *print_user;
	hop_record    *record;         /* NULL = nobody watches */
} hop_effect;

/* Act on the operands; needs a frame in the env (it makes text). */
hop_status hop_effect_run(hop_env *e, const hop_effect *f, uint32_t nin,
                          const hop_operand *in);
/* The host function that node n calls; NULL after a failure, which says that there is none. */
const struct hop_foreign *hop_host_of(hop_env *e, const hop_node *n);
/* One tensor as text: 1.5, [1.0, 2.0], nested; large ones are cut. */
void hop_put_tensor(hop_buf *b, const hop_operand *t);

#endif
