/* gemm_plan.h -- how the threads of a device share a matrix product: asked by the schedule, which
 * makes teams, and by the target, which writes the code; both get the same answer. By sizes, dtype
 * and the number of threads alone: no number of the device is in it, since bits of sums would depend
 * on it.
 *
 * A product of its own KERNEL: a TILE at HOP_PLACE_GRID, in no loop but such as are bound to BLOCK_Y
 * and BLOCK_Z (a batch, the parts of a split product): bind.least says how many there are side by side
 * (0 = 1; a guess will do). Blocks along x share the tiles of C.
 *	p = hop_gemm_plan_of(s, &(hop_team){ 0 })
 *	team.threads = p.threads, team.blocks[0] = hop_gemm_plan_tiles(e, s, &p), exact
 * Any other number of blocks is right too.
 *
 * A product of resident blocks, among other statements of a KERNEL: the same at HOP_PLACE_GRID, for
 * the threads that the team has.
 *
 * A product of one block: a TILE at HOP_PLACE_THREAD, in a loop bound to blocks, or in a team of one.
 * A product of one thread: HOP_PLACE_NONE, where nothing around it is shared by more: its loops.
 *
 * All threads of the blocks come to a product together. What of its operands other threads wrote needs
 * the barriers that loops would need. */
#ifndef HOP_LOOP_GEMM_PLAN_H
#define HOP_LOOP_GEMM_PLAN_H

#include "loop/gemm.h"

typedef struct hop_gemm_plan {
	int     threads;               /* of the block */
	int     workers;               /* the first so many multiply: a power of two */
	int     rows, cols;            /* of C, a tile: what a block does at once */
	int     each_row, each_col;    /* of a tile, what a thread does */
	int     groups;                /* of workers that do the same for different k */
	int     depth;                 /* of k that is in shared memory at once */
	int     stages;                /* 2: and so much again, on its way; 1: depth is all of k */
	int     least;                 /* blocks that a multiprocessor should have room for; 0 = any */
	int64_t shared;                /* bytes of each block, beside hop_lfunc.shared */
} hop_gemm_plan;

/* Of a TILE. Of the team only threads counts, a multiple of 32, at most 1024, or 0: as many as are best;
 * and whether it is resident. */
hop_gemm_plan hop_gemm_plan_of(const hop_stmt *s, const hop_team *team);
/* Tiles of C. */
hop_size hop_gemm_plan_tiles(hop_env *e, const hop_stmt *s, const hop_gemm_plan *p);

/* A long sum for few elements: into how many parts of equal length k is worth to be cut; 1 = none. With
 * what is left over of it they are hop_gemm_slots. A k that is not known is taken for a long one.
 * hop_gemm_split appends to `first` a loop over the parts, bound to BLOCK_Y, of products into buffer
 * `scratch` of its dtype and slots * m * n elements, and the product of what is left over; and to
 * `then`, for another kernel, the loops that add them in order and do what is done with the sums.
 * False: an address has no room for it. */
int  hop_gemm_parts(const hop_stmt *s);
int  hop_gemm_slots(hop_env *e, const hop_stmt *s, int parts);
bool hop_gemm_split(hop_lbuild *b, const hop_stmt *s, int parts, int scratch, hop_block *first,
                    hop_block *then);

#endif
