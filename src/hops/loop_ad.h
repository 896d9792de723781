/* loop_ad.h -- what while and scan share under reverse mode: one step's joint graph is cut,
 * what the step saves is stacked, and the reverse is a scan the other way. */
#ifndef HOP_LOOP_AD_H
#define HOP_LOOP_AD_H

#include "ad/ad.h"
#include "hops/body.h"

/* A loop body: carries, xs (slices), consts -> carries', ys, stop. */
typedef struct hop_loop {
	const hop_graph *body;
	uint32_t         nc, nx, nk;     /* carries, xs, consts */
	uint32_t         ny;             /* ys; a stop flag may follow them */
	bool             stops;
	bool            *act;            /* [nc+nx+nk] active: carries by fix-point */
	bool            *live;           /* [nc+ny(+1)] results of the body with cotangents */
	const hop_cut   *cut;
	hop_graph       *fwd;            /* body that also gives what must be stacked, as ys */
	uint32_t         nstack;         /* how many more ys */
	int32_t         *stack;          /* [nres] index among the stacked, or -1 */
} hop_loop;

/* Which carries become active, given which operands are: sets act and live in b's arena. */
void hop_loop_active(hop_build *b, hop_loop *l, const bool *act, const bool *ylive);
/* Cut one step. act: activity of the operands; ylive: which ys receive cotangents. */
hop_status hop_loop_cut(hop_build *b, hop_loop *l, const bool *act, const bool *ylive,
                        enum hop_cut_policy policy);

/* The values of the outer graph that the reverse scan reads. */
typedef struct hop_loop_vals {
	const hop_val *x, *konst;        /* operands of the loop */
	const hop_val *y;                /* [ny] stacked results */
	const hop_val *stacked;          /* [nstack] */
	const hop_val *dcarry, *dy;      /* cotangents, HOP_ZERO where none */
	const hop_val *dk;               /* [nk] what the sums of consts start with, where they
	                                    are active; NULL = zeros */
	const hop_val *carry;            /* [nc] final carries, for their types */
	hop_val        count;            /* steps that ran, or HOP_ZERO for all */
	hop_size       length;
	bool           reverse;          /* direction of the reverse scan */
	bool           unordered;        /* its steps need no order, if nothing adds up */
	hop_sizes      sargs;
	int64_t        unroll;           /* as of scan */
} hop_loop_vals;
/* Emit the reverse scan; sets cotangents of carries, xs, consts (HOP_ZERO if inactive). */
hop_status hop_loop_reverse(hop_build *b, const hop_loop *l, const hop_loop_vals *v,
                            hop_val *dcarry, hop_val *dx, hop_val *dk);

#endif
