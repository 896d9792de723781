/* loop_lower.h -- what while and scan share when lowered: carries in buffers. */
#ifndef HOP_LOWER_LOOP_H
#define HOP_LOWER_LOOP_H

#include "loop/lower.h"

typedef struct hop_carries {
	int        n;
	hop_view  *now;        /* [n] read by a step */
	hop_view  *next;       /* [n] written by it; the same buffer when that is safe */
	const hop_type **type;
} hop_carries;

/* Results 0 .. n-1 of the node hold the carries; they start as operands first .. */
hop_status hop_carries_init(hop_lower *l, const hop_node *n, int first, int ncarry,
                            hop_carries *c);
/* After the body's parameters are bound to now: where its results 0 .. n-1 go. */
void hop_carries_plan(hop_lower *l, hop_carries *c, const hop_linst *body, hop_view *dest);
/* At the end of a step: next becomes now. */
void hop_carries_step(hop_lower *l, const hop_node *n, const hop_carries *c);

/* A counter or flag of one element, and its access. */
hop_view hop_cell_new(hop_lower *l, hop_dtype d, hop_reg init);
hop_reg  hop_cell_get(hop_lower *l, hop_dtype d, const hop_view *v);
void     hop_cell_set(hop_lower *l, hop_dtype d, const hop_view *v, hop_reg r);

/* Result i of the node, which steps write slice by slice: where a permute of it is wanted, so that
 * nothing is rearranged afterwards, else as hop_lower_result. */
hop_view hop_stack_result(hop_lower *l, const hop_node *n, int i);

/* v at leading index t. */
hop_view hop_view_lead(hop_lower *l, const hop_view *v, const hop_ix *t);

#endif
