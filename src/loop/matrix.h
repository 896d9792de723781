/* matrix.h -- loops over matrices, for templates that eliminate: rows, columns, and steps from
 * column to column. Operand A of a template is the matrix that is eliminated with, X the right
 * sides if there are any; all have strides for batch, row and column. Where neighbours of a batch
 * are neighbours in memory they are lanes, the innermost loops; else the batch is the outermost
 * loop. No step allocates or branches. */
#ifndef HOP_LOOP_MATRIX_H
#define HOP_LOOP_MATRIX_H

#include "loop/loop.h"

/* Steps of so few columns are written out one after the other, with sizes that are known. */
enum { HOP_MX_WRITTEN = 4 };

enum { HOP_MX_A, HOP_MX_X };

typedef struct hop_mx {
	hop_lbuild     *b;
	const hop_tile *t;
	hop_dtype       d;
	hop_size        n;                /* rows of A */
	hop_size        lanes;            /* 1 = none */
	hop_reg         lane;             /* which of the batch; 0 = the only one */
	bool            unit;             /* the diagonal of A stands for ones */
} hop_mx;

/* A row or a column: registers added up, and a constant. */
typedef struct hop_mxpos { hop_reg r[2]; int64_t c; } hop_mxpos;

/* n of them after each other, or as many as `bound` says. */
typedef struct hop_mxrun { hop_mxpos from; hop_size n; hop_reg bound; } hop_mxrun;

/* One column, and the rows on both sides of its diagonal element. */
typedef struct hop_mxstep { hop_mxpos k; hop_mxrun above, below; } hop_mxstep;
typedef void hop_mxstep_fn(hop_mx *q, const hop_mxstep *s);

/* The loops of a tile: body for each of the batch. False: an address has no room for them. */
bool      hop_mx_expand(hop_lbuild *b, const hop_tile *t, void (*body)(hop_mx *q));
/* f at every column, from the first on or down from the last. */
void      hop_mx_steps(hop_mx *q, bool down, hop_mxstep_fn *f);

hop_mxrun hop_mx_all(hop_size n);                          /* 0 .. n-1 */
hop_mxrun hop_mx_one(hop_mxpos at);
/* The element of a run that the loop over it is at; the caller puts the block back. */
hop_mxpos hop_mx_open(hop_mx *q, enum hop_loop_kind kind, const hop_mxrun *run);
void      hop_mx_open_lanes(hop_mx *q);                    /* close sets q->lane back to 0 */
void      hop_mx_close_lanes(hop_mx *q, hop_block *out);

hop_reg   hop_mx_get(const hop_mx *q, int arg, hop_mxpos row, hop_mxpos col);
void      hop_mx_set(const hop_mx *q, int arg, hop_mxpos row, hop_mxpos col, hop_reg v);
hop_reg   hop_mx_op(const hop_mx *q, enum hop_sop s, hop_dtype d, hop_reg x, hop_reg y);
hop_reg   hop_mx_choose(const hop_mx *q, hop_reg p, hop_reg x, hop_reg y);
/* A loop of any kind over n, or as many as bound says; gives its variable. */
hop_reg   hop_mx_loop(const hop_mx *q, enum hop_loop_kind k, hop_size n, hop_reg bound);
/* Give the last loop of `out` an accumulator of v, and leave it. */
hop_reg   hop_mx_reduced(const hop_mx *q, hop_block *out, enum hop_red r, hop_dtype d,
                         hop_reg init, hop_reg v);

/* Rows or columns from k on. */
hop_mxrun hop_mx_rest(hop_mx *q, const hop_mxstep *s);

/* The step is one of a loop, and its numbers are no lanes: what it loads may wait in a register. */
bool      hop_mx_waits(const hop_mx *q, const hop_mxstep *s);
/* Column k of A from row k on, divided by d, which takes the place on the diagonal. For steps that
 * wait: threads that do it together need to meet only before and behind. */
void      hop_mx_scale(hop_mx *q, const hop_mxstep *s, hop_reg d);
/* The diagonal element at k becomes what `f` makes of it. */
void      hop_mx_diagonal(hop_mx *q, hop_mxpos k, hop_reg (*f)(hop_mx *q, hop_reg v));
/* Elements of operand arg divided by the diagonal element at k. */
void      hop_mx_divide(hop_mx *q, int arg, hop_mxrun rows, hop_mxrun cols, hop_mxpos k);
/* x[i,j] -= a[i,k] * x[k,j] for these rows and columns of x, operand arg. */
void      hop_mx_lose(hop_mx *q, int arg, hop_mxpos k, hop_mxrun rows, hop_mxrun cols);
/* Solve for X with a triangle of A. */
void      hop_mx_substitute(hop_mx *q, bool upper);

#endif
