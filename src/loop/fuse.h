/* fuse.h -- what the passes over sibling statements share: a statement with everything it
 * reads and writes. Used by fuse.c and tile.c only. */
#ifndef HOP_FUSE_H
#define HOP_FUSE_H

#include "loop/lower.h"

/* at is NULL for a tape that grows. */
typedef struct hop_faccess { hop_addr *at; int buf; bool is_write; } hop_faccess;

/* A statement of the block with all its accesses, nested ones too. */
typedef struct hop_fentry {
	hop_stmt    *s;
	hop_faccess *acc;
	size_t       nacc, cap;
	int          nstmt;
	bool         inner;         /* has loops in it */
	bool         local;         /* writes a size symbol */
} hop_fentry;

typedef struct hop_ftally { int nread, nwrite; } hop_ftally;

typedef struct hop_fpass {
	hop_env   *e;
	hop_arena *a;
	hop_lfunc *f;
	const hop_range *range;
	hop_size  *extent;          /* [nreg+1] of loop variables; k = -1: not one */
	int       *mark;            /* [nreg+1] stamp of "defined inside" */
	int        stamp;
	bool       steps;           /* fuse.c: join nests with steps whose lanes never meet */
	bool       tile_all;        /* epilogues even where they do not pay */
	int64_t    cache;           /* tile.c: bytes that stay near */
	hop_ftally      *tally;        /* [nbuf] tile.c */
} hop_fpass;

/* interchange.c: the step of seq is one parallel loop of lanes that never meet; or NULL. Marks. */
hop_stmt *hop_steps_apart(hop_fpass *p, hop_stmt *seq);

hop_fentry hop_fuse_describe(hop_fpass *p, hop_stmt *s);
/* All statements of a block, described, in scratch memory; *out_n of them. */
hop_fentry *hop_fuse_entries(hop_fpass *p, hop_block *b, int *out_n);
/* May b, which follows a, go before it? */
bool hop_fuse_swaps(hop_fpass *p, const hop_fentry *a, const hop_fentry *b);
/* Does s itself define the register? */
bool hop_fuse_defines(const hop_stmt *s, hop_reg r);
/* Register r[0] becomes r[1] wherever it is used. */
void hop_fuse_rename(hop_fpass *p, hop_block *b, hop_reg *r);
void hop_fuse_relink(hop_block *b, hop_fentry *x, int n);

#endif
