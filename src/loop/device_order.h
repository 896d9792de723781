/* device_order.h -- a loop in order that adds to rows, while it becomes nests: what device_order.c,
 * which finds it, device_place.c, which orders its steps, and device_rows.c, which makes the rows,
 * share. */
#ifndef HOP_DEVICE_ORDER_H
#define HOP_DEVICE_ORDER_H

#include "loop/device_build.h"

enum { HOP_ORDER_COLS = 6 };

typedef struct hop_order {
	hop_dfunc *d;
	hop_block *home;
	hop_stmt  *seq, *col[HOP_ORDER_COLS];      /* the loop, those over a row */
	int        ncol;
	hop_block  pre, all;     /* operations of a step, and with those of an element */
	hop_stmt  *store;        /* of all */
	hop_reg    row, lane;    /* numbers that a step computes: its row of a lane, its lane; 0 = there are
	                            no lanes. A row below is one of all lanes */
	int64_t    n, rows, width;
	int64_t    each, lanes;  /* rows of a lane, and how many of those there are: 1 without */
	hop_reg    base, here;   /* where only the run knows how many steps there are they are taken by
	                            rounds of n: the first of a round, and how many it has; else 0 */
	hop_reg    begins;       /* with them, and a fill: it is the first round, in which rows get it */
	hop_size   round;        /* that n, or fewer if sizes say so: what grids are for */
	int        nreg;         /* that the loop may know */
	hop_block  out;
	hop_dbuild b;
	hop_dsort  sort;         /* its buffers, and where the steps of a row begin and end */
	int        from, to;
	hop_reg    many;         /* some row has more steps than are counted, and keys are in order; 0 = they
	                            always are */
	hop_stmt  *fill;         /* the nest that fills x; NULL: none that we know */
} hop_order;

/* Operations with registers of their own, at the end of what is being built; map, [nreg + 1], says what
 * those from outside are now, and then what all of them are. */
hop_reg  *hop_order_map(hop_order *o);
hop_block hop_order_renamed(hop_order *o, const hop_block *b, hop_reg *map);
void      hop_order_append(hop_order *o, hop_block *c);

/* A nest over the steps, of a round if there are such; step i of it among all. */
hop_reg   hop_order_steps(hop_order *o);
hop_reg   hop_order_step(hop_order *o, hop_reg i);

/* What the number of a row means for those that its step computes. */
void      hop_order_put_row(hop_order *o, hop_reg *map, hop_reg row);

/* The row of step i, which goes to sort.key[0]. */
hop_reg   hop_order_key(hop_order *o, hop_reg i);

/* device_place.c: steps, and keys if `many`, in order in the second place, and where those of a row
 * begin and end, by counting; false: there are too few rows for it, and nothing was made. */
bool hop_order_place(hop_order *o);

/* device_rows.c: a slice of at least `each` elements for each of n blocks, which is what it shares if
 * it is small; a loop that threads of a block share, into which what follows goes until the caller puts
 * the block back. */
int     hop_order_slices(hop_order *o, hop_dtype t, int64_t *each, int64_t n);
hop_reg hop_order_share(hop_order *o, int64_t n, hop_reg bound);

/* device_rows.c: every row by its steps in order, which are known now. */
void hop_order_rows(hop_order *o, int keys, int steps);

#endif
