/* while_slots.h -- the forward half of a while that keeps a few of its states. */
#ifndef HOP_WHILE_SLOTS_H
#define HOP_WHILE_SLOTS_H

#include "hops/replay.h"

/* What it leaves for the replay. */
typedef struct hop_kept {
	hop_val *state;              /* [ncarry] of [rows, t]; NULL = only the first, in no row */
	hop_val  stride, count;
	int64_t  rows, more;         /* rows; states that the replay may have besides */
} hop_kept;

/* Emit the loop of r's node; sets r->out and *out. */
hop_status hop_while_keep(hop_build *b, hop_rule *r, hop_sizes sargs, hop_kept *out);

#endif
