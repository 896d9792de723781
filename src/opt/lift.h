/* lift.h -- emitting nodes of a loop body in front of the loop. licm.c lifts what is the
 * same each time, hoist.c what depends on the slice only; both find their nodes here. */
#ifndef HOP_LIFT_H
#define HOP_LIFT_H

#include "opt/rewrite.h"

enum hop_lift_kind {
	HOP_LIFT_NO,             /* depends on carries, or must not move */
	HOP_LIFT_SAME,           /* the same each time */
	HOP_LIFT_SLICE           /* depends on the slices of xs: has one value a step */
};

/* One body of a loop. */
typedef struct hop_lift {
	hop_rw          *w;              /* the graph around the loop */
	const hop_graph *g;              /* the body */
	hop_size        *smap;           /* its size symbols, in the graph around it */
	hop_size         length;         /* of a scan */
	uint8_t         *kind;           /* [nvalue] */
	hop_val         *val;            /* [nvalue] outside: the value, or all of its steps */
} hop_lift;

/* in: operands of the body's parameters. xs are SLICE only if `slices`. */
void hop_lift_open(hop_lift *l, hop_rw *w, const hop_form *f, const hop_graph *body,
                   const hop_val *in, bool slices, hop_size length);
/* Emit everything that want[] (nodes) needs outside, and those nodes. A node whose type
 * comes out otherwise is HOP_LIFT_NO afterwards. */
hop_status hop_lift_emit(hop_lift *l, const bool *want);

/* Costly enough to be worth an operand. */
bool hop_lift_heavy(const hop_graph *g, const hop_node *n);

#endif
