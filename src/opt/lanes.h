/* lanes.h -- loops of lanes that end at different trips (hops.h, while), written as other loops
 * on fewer lanes at a time. What a lane computes is the same in all forms, bit by bit. */
#ifndef HOP_LANES_H
#define HOP_LANES_H

#include "opt/rewrite.h"

/* Such a loop, read. Sizes and types are those of the bodies. */
typedef struct hop_lanes {
	hop_env         *env;
	const hop_graph *test, *body;
	int64_t          max_trips;
	uint32_t         nc, nk, nt;       /* carries, consts, tapes */
	uint32_t         nrow;             /* consts that have a row a lane */
	const bool      *row;              /* [nc+nk] operand has a row a lane: all carries do */
} hop_lanes;

/* The size arguments of the bodies for another number of lanes. */
hop_sizes hop_lanes_sargs(const hop_lanes *l, hop_sizes sargs, hop_size lanes);
/* The type of operand i of the bodies when they run `lanes` lanes. */
const hop_type *hop_lanes_type(const hop_lanes *l, uint32_t i, hop_size lanes);
/* The rows of x at ids; bool[n] ? x : y, row by row. */
hop_val   hop_lanes_rows(hop_build *b, hop_val x, hop_val ids);
hop_val   hop_lanes_pick(hop_build *b, hop_val p, hop_val x, hop_val y);

/* Both emit the loop into b on the operands in[]; the last of sargs is the number of lanes. */

/* Some lanes run, `slots` of them; when a quarter of those have ended, they go and lanes that wait
 * come in. later: first all lanes run, until many trips are done and half of the lanes have ended.
 * out: carries. There are no tapes. */
hop_status hop_lanes_compact(hop_build *b, const hop_lanes *l, hop_sizes sargs, int64_t slots,
                             bool later, const hop_val *in, hop_val *out);
/* Groups of lanes that stop by themselves: a map over groups of `width`, each of which is
 * compacted to `slots` at once if that is not 0. out: carries, trips, bounded tapes. */
hop_status hop_lanes_groups(hop_build *b, const hop_lanes *l, hop_sizes sargs, int64_t width,
                            int64_t slots, const hop_val *in, hop_val *out);

#endif
