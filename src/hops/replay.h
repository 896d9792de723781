/* replay.h -- the reverse of a loop whose states were not kept: the node, read, and the two
 * graphs that compute it. Both take the operands of the node and the size parameters of its
 * step. */
#ifndef HOP_REPLAY_H
#define HOP_REPLAY_H

#include "hops/loop_ad.h"

typedef struct hop_replay {
	const struct hop_attr_replay *a;
	hop_loop  l;                     /* the step; act and live as wrt and live say, not cut */
	uint32_t  nca, nxa, nka, nya;    /* carries, xs, consts, ys with derivatives */
	uint32_t  carry, x, konst, kept, dcarry, dy;      /* where the operands begin */
	hop_size  length, rows;          /* over the size parameters of the step */
} hop_replay;
enum { HOP_REPLAY_TRIPS, HOP_REPLAY_STRIDE, HOP_REPLAY_COUNT, HOP_REPLAY_LEAD };

/* False if the attributes name what is not there. Its lists live in a. */
bool hop_replay_read(hop_env *e, hop_arena *a, const struct hop_attr_replay *attr,
                     uint32_t nin, hop_replay *out);
/* The type of operand i, over the size parameters of the step. */
const hop_type *hop_replay_type(hop_env *e, const hop_replay *r, uint32_t i);
/* The cotangents among the operands, where the loop has them; HOP_ZERO where none. */
void hop_replay_spread(const hop_replay *r, const hop_val *in, hop_val *dcarry, hop_val *dy);
/* Cotangents of carries, xs and consts as the results; returns how many. */
uint32_t hop_replay_gather(const hop_replay *r, const hop_val *dcarry, const hop_val *dx,
                           const hop_val *dk, hop_val *out);
/* A graph made from the attributes and the step alone, once. */
hop_status hop_replay_memo(hop_env *e, const hop_node *n, uint64_t kind,
                           hop_status (*make)(hop_env *, const hop_node *, hop_graph **),
                           const hop_graph **out_g);
/* The definition: all is kept. */
hop_status hop_replay_plain(hop_env *e, const hop_node *n, const hop_graph **out_g);
/* The same bits in bounded memory, as loops of other operators: a scan over the states kept if
 * there is one for every leaf (replay_rows.c), else rounds that put more of them on a stack. */
hop_status hop_replay_expand(hop_env *e, const hop_node *n, const hop_graph **out_g);
hop_status hop_replay_rows(hop_env *e, const hop_node *n, hop_graph **out_g);

/* A loop to be reversed by replay: what the rule of while or scan knows of it. */
typedef struct hop_replay_args {
	const hop_loop *l;               /* its step, active and live results known */
	hop_sizes       sargs;           /* with room for one more */
	hop_size        length;          /* of xs and ys; without `grow` */
	bool            grow, whole;     /* trips has no bound; is the length */
	int64_t         rows, slots, leaf;       /* as of the node */
	hop_val         trips, stride, count;
	const hop_val  *carry, *x, *konst;       /* operands of the loop */
	const hop_val  *kept;            /* NULL = the first state only */
	const hop_val  *dcarry, *dy;     /* [nc], [ny] cotangents, HOP_ZERO where none */
	const hop_val  *out;             /* final carries, ys: for their types */
} hop_replay_args;
/* Emit it; sets cotangents of carries, xs, consts (HOP_ZERO if inactive). */
hop_status hop_emit_replay(hop_build *b, const hop_replay_args *a, hop_val *dcarry, hop_val *dx,
                           hop_val *dk);
/* Whether the states of a loop can be kept in rows: they have an axis to spare. */
bool hop_replay_fits(const hop_loop *l);

#endif
