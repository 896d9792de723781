/* linear.h -- what the ops on matrices share: products, transposes, triangles, batching and how they
 * are lowered. Nothing here knows an op by name. */
#ifndef HOP_OPS_LINEAR_H
#define HOP_OPS_LINEAR_H

#include "loop/lower.h"
#include "ops/shape.h"

/* ---- inference ---- */

/* Operand 0 is a square matrix of floats, or a batch of them; `verb` says what its elements cannot
 * be otherwise. The operand 1, if there is one, has as many rows. */
hop_status hop_linear_infer(hop_infer *f, const char *verb);

/* ---- evaluation ---- */

/* One matrix after the other, as doubles, each step rounded to what is computed in. */
typedef struct hop_linear_eval {
	bool    single;                /* every step is rounded to f32 */
	int64_t n, m;
	double *a, *x;                 /* rows after each other: n by n, n by m */
} hop_linear_eval;
static inline double hop_linear_round(const hop_linear_eval *s, double v)
{
	return s->single ? (float)v : v;
}
/* Row i of v, of cols columns, loses f times row k, from column `from` on. */
void       hop_linear_lose(const hop_linear_eval *s, double *v, int64_t cols, int64_t i, int64_t k,
                           double f, int64_t from);
/* Runs `one` on every matrix of the batch: a from operand 0 and x from operand 1, if there is one.
 * The result is x, or a where there is no x; all NaN where it gives false. */
hop_status hop_linear_each(hop_interp *p, const hop_node *n, hop_array *const *in, hop_array **out,
                           bool (*one)(const hop_linear_eval *s, const hop_node *n));

/* ---- derivatives ---- */

/* The product of matrices, summed over axis i of one and k of the other, counted from the
 * first of the matrix. */
hop_val hop_linear_product(hop_build *b, hop_val x, int i, hop_val y, int k);

/* ---- lowering ---- */

/* A node as a template: operand i of the node is operand i of it, and the last one becomes the
 * result. */
typedef struct hop_linear {
	const hop_template *of;
	bool reads;                    /* operand 0 is only read */
	bool turned;                   /* operand 0 is given transposed */
	bool rows;                     /* the library wants rows after each other, not columns */
	bool room;                     /* the template has one more operand: room for its rows */
	/* An element of the result from the last operand: v at x, whose last two axes are those of a
	 * matrix of n rows. NULL = as it is. */
	hop_reg (*element)(hop_lower *l, hop_dtype d, const hop_view *v, int rank,
	                   const hop_ix *const *x, hop_size n);
} hop_linear;
hop_status hop_lower_linear(hop_lower *l, const hop_node *n, const hop_linear *f);

#endif
