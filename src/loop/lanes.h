/* lanes.h -- what the registers of a loop are when its iterations are the lanes of vectors, and
 * what that costs. For the schedule, which asks whether, and for targets, which ask how. */
#ifndef HOP_LANES_H
#define HOP_LANES_H

#include "loop/loop.h"

/* Same in all lanes; lane 0 plus lane times step (loop variables, addresses); a vector. */
enum hop_lane { HOP_UNI, HOP_LIN, HOP_VAR };

typedef struct hop_lane_cost {
	double cost;             /* of one pass over the body, in vectors */
	double work;             /* scalar operations in it */
	int    bytes;            /* widest varying value */
	bool   ok;               /* control flow is the same in all lanes, no store is shared */
	bool   inner_red;        /* a reduction inside carries vectors */
	bool   turned;           /* and one runs along its own loop */
} hop_lane_cost;

/* What it takes to look at the loops of a function, in the env's scratch. */
typedef struct hop_lanes {
	int      vbits;          /* of a vector register */
	uint8_t *own;            /* [nreg+1] all 0 between calls */
} hop_lanes;
hop_lanes hop_lanes_new(hop_env *e, const hop_lfunc *f, int vbits);

/* The body of loop s. cls: [nreg+1] classes, all HOP_UNI before; those of what s defines are
 * filled. */
hop_lane_cost hop_lanes_loop(hop_lanes *w, const hop_stmt *s, uint8_t *cls);
/* Hole i of a tile, the lanes being along its last position. Will vectors do? */
bool hop_lanes_hole(hop_lanes *w, const hop_tile *t, int i, uint8_t *cls);
/* Take back what was filled. */
void hop_lanes_clear(const hop_stmt *s, uint8_t *cls);
/* Inside a loop whose lanes are rows: should reduction s run along its own loop? cls: classes
 * in the outer loop. It may have so many lanes: */
enum { HOP_TURN_LEAST = 4, HOP_TURN_MOST = 16 };
bool hop_lanes_turn(hop_lanes *w, const hop_stmt *s, const uint8_t *cls);
/* Should steps s of rows, in a vector loop, go through squares of steps and lanes that are turned?
 * cls: classes in the vector loop. And which accesses of them: along their row, far from others. */
bool hop_lanes_steps(const hop_stmt *s, const uint8_t *cls);
bool hop_lanes_row(const hop_stmt *s, const hop_stmt *access, const uint8_t *cls);
/* No step of s computes where a is. */
bool hop_lanes_fixed(const hop_stmt *s, const hop_addr *a);

/* schedule.c: bind loops that a target makes of a tile, in so many parallel loops; forked: one of
 * them may be. */
void hop_loop_schedule_block(hop_env *e, const hop_machine *m, const hop_lfunc *f, hop_block *b,
                             int nest, bool forked);

/* Iterations, as far as known, else as many as are usual. */
double hop_loop_trips(const hop_stmt *s);

#endif
