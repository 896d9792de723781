/* team_race.h -- who touched which element last, and whether that was before a barrier. */
#ifndef HOP_TEAM_RACE_H
#define HOP_TEAM_RACE_H

#include "support/loop_step.h"

/* One access. Times only grow; a barrier takes one too. */
typedef struct team_touch {
	int              thread;    /* 1 + its number in the kernel; 0: nobody */
	uint64_t         time;
	bool             counts;    /* at once with others that do */
	const hop_lfunc *f;
	const hop_stmt  *s;
} team_touch;

/* When a thread last met others: what these did before is in order for it. */
typedef struct team_seen {
	int      threads;           /* of a block */
	uint64_t warp, block, all;
	int      across;            /* not 0: so many blocks lie along x, and those with our place there */
	uint64_t column;            /* met us here */
} team_seen;

typedef struct team_shadow team_shadow;

team_shadow *team_shadow_new(void);
void         team_shadow_free(team_shadow *w);
void         team_shadow_forget(team_shadow *w);          /* a kernel has ended */
/* Element at key: what it is in conflict with, or NULL. `me` is kept. */
const team_touch *team_shadow_touch(team_shadow *w, uint64_t key, const team_touch *me,
                                    const team_seen *seen, bool write);

#endif
