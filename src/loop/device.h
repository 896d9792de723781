/* device.h -- programs for a host and a device: what the files device*.c share. Functions that are
 * WHOLE become lists of a host and kernels (loop.h, hop_level); who asks for it is lower.c, where the
 * machine has blocks.
 *
 *	device.c       which functions there are, at which level; lists: which statements are a kernel
 *	device_list.c  loops whose trips are kernels of their own
 *	device_cut.c   a run of statements as a kernel: registers and buffers of its own
 *	device_own.c   temporaries that each step of a map, or each block, has for itself
 *	device_bind.c  who shares which loop
 *	device_join.c  loops in each other as one
 *	device_red.c   sums over all blocks
 *	device_columns.c  sums across memory
 *	device_products.c  long sums of products
 *	device_turn.c  nests that turn their operands
 *	device_order.c sums of rows in order: device_place.c orders their steps, device_rows.c makes them
 *	device_sort.c  numbers in order
 *	device_build.c statements that these make
 *	device_keep.c  what stays in registers
 *	device_alone.c the same of what a thread runs alone
 *	device_wait.c  barriers
 */
#ifndef HOP_DEVICE_H
#define HOP_DEVICE_H

#include "loop/walk.h"

/* Who comes to a statement together. */
typedef enum hop_unit {
	HOP_UNIT_GRID,         /* blocks that come and go: a KERNEL's nest, alone */
	HOP_UNIT_RESIDENT,     /* all blocks, which are there at once */
	HOP_UNIT_BLOCK,        /* the threads of a block */
	HOP_UNIT_WARP,         /* the threads of a warp */
	HOP_UNIT_THREAD        /* one */
} hop_unit;

/* A function on its way to the device. */
typedef struct hop_dfunc {
	hop_env   *e;
	hop_arena *a;              /* of the program */
	hop_prog  *p;
	const hop_machine *m;
	hop_lfunc *f;              /* a copy: its statements and buffers may be changed */
	int        threads;        /* of a block of its team */
	bool       single;         /* the team is one block, or what is left of it: its warps are all
	                              warps there are */
	bool       within;         /* a loop over blocks is around: its warps are those of a block */
	int64_t    scratch;        /* bytes that spilled registers take, of all functions */
	int        nuse;           /* buffers that there were when its statements were complete */
	int       *use;            /* [nuse] accesses to each then */
} hop_dfunc;

/* How many times a loop runs, about: a size that is not known may be large. */
double hop_device_trips(hop_size n);
/* Elements of a nest that may be computed side by side, and statements that it runs, about. */
double hop_nest_width(const hop_stmt *s);
double hop_nest_work(const hop_stmt *s);

/* device_bind.c: give the loops of b their places, for whoever comes to it together. Loops may be
 * joined and divided. */
void hop_device_bind(hop_dfunc *d, hop_block *b, hop_unit u);
/* The kernel's only nest s, blocks that come and go; false: it cannot be one. Fills the team. */
bool hop_device_bind_nest(hop_dfunc *d, hop_block *b, hop_stmt *s, hop_team *team);

/* device_own.c: loose steps of f become parallel loops. What they kept in temporaries that they shared
 * has a slice for each, in SPACE_SCRATCH, at offset -1: nowhere yet. */
void hop_device_own(hop_env *e, hop_arena *a, hop_lfunc *f, bool entry);
/* It has no place yet, and gets one for itself; `index` is what an iteration has, in elements, if
 * that is one piece. */
bool hop_device_is_away(const hop_lbuf *b);
/* Blocks share the iterations of s, each of which is one of the variables' values: slices that fit go to
 * what a block shares. */
void hop_device_share(hop_dfunc *d, hop_stmt *s, const hop_reg *var, int nvar);
/* The same where a thread has an iteration: those of a few elements are its own. */
void hop_device_hold(hop_dfunc *d, hop_stmt *s, const hop_reg *var, int nvar);
/* Before either: all that a kernel does, while no loop of it has a place. */
void hop_device_see(hop_dfunc *d, const hop_block *b);
/* A place for slices of f that have none yet: from byte `from` of scratch, or, where their size is not a
 * constant, of the frame; the end of it. */
void     hop_device_settle_none(hop_lfunc *f);       /* of a list, which uses none */
int64_t  hop_device_settle(hop_lfunc *f, int64_t from);
hop_size hop_device_settle_frame(hop_env *e, hop_lfunc *f, hop_size from);

/* Operations that change nothing, then one statement: that one; else NULL. */
hop_stmt *hop_device_only(const hop_block *b);
/* device_join.c: out with in, the only loop in it, as one: its variable counts both; or where an address
 * goes on from one step of `out` to the next by that alone, so that fewer divide. The same where all
 * that asks for their variables are addresses that go on from one step of `out` to the next, so that no
 * division is needed; false: it is not so. */
void hop_device_join(hop_dfunc *d, hop_stmt *out, hop_stmt *in);
void hop_device_join_along(hop_dfunc *d, hop_stmt *out, hop_stmt *in);
bool hop_device_line_up(hop_dfunc *d, hop_stmt *out, hop_stmt *in);

/* device_red.c: a RED loop that adds up sums and nothing else as one sum over all; or as far as their
 * steps go on along memory, so that it costs nothing. */
void hop_device_flatten(hop_dfunc *d, hop_stmt *s);
void hop_device_flatten_along(hop_dfunc *d, hop_stmt *s);
/* s, a RED loop of b, as partial results of parts and a sum of those; parts by the extent alone, and by
 * how long a row is that an iteration goes along. resident: a barrier between; else the last block goes
 * on. The loop of a part, whose iterations threads share. */
hop_stmt *hop_device_split_red(hop_dfunc *d, hop_block *b, hop_stmt *s, hop_size row, bool resident);
hop_reg hop_device_identity(hop_lbuild *b, const hop_acc *c);       /* what a part begins with */
hop_size hop_device_red_parts(hop_env *e, hop_size extent, hop_size row);
/* Nests right in b, of few iterations with a long sum each that goes across memory, as two: parts of
 * the sums, then their sums. */
void hop_device_split_columns(hop_dfunc *d, hop_block *b);

/* device_order.c: loops right in b that add to rows in order, as nests in which rows are side by side.
 * Their iterations are apart though addresses do not show it: they say so. */
void hop_device_order(hop_dfunc *d, hop_block *b);

/* device_products.c: products right in b of few elements with a long sum each, by parts. */
void hop_device_split_products(hop_dfunc *d, hop_block *b);
int64_t hop_device_settle_parts(hop_lfunc *f, int64_t from);         /* a place for them; its end */

/* device_list.c: all three, of a block that is to be cut. */
void hop_device_prepare(hop_dfunc *d, hop_block *b);
/* Loops right in b, the body of a host's list, whose trips are worth kernels of their own
 * as `hosted` ones, so many trips told at once at most. */
enum { HOP_DEVICE_AHEAD = 8 };
typedef struct hop_dcost { bool asks; double moves; } hop_dcost;     /* of a function */
void hop_device_cost(const hop_machine *m, const hop_prog *p, hop_dcost *out);       /* [nfunc] */
void hop_device_list(hop_dfunc *d, const hop_dcost *cost, hop_block *b);

/* device_turn.c: the chain of n loops by tiles; false: there is nothing to turn. */
bool hop_device_turn(hop_dfunc *d, hop_stmt **c, int n, hop_team *team);

/* device_keep.c: what the threads that run b have for themselves stays in registers: scalars that all
 * compute, and, if they are one block, through a loop, elements that have one owner. used: [nbuf] others
 * than b use it, later: after b. */
void hop_device_keep(hop_dfunc *d, hop_block *b, const bool *used, const bool *later);
/* The same of elements that the statements in `row`, a loop of b over blocks, come to more than once. */
void hop_device_keep_row(hop_dfunc *d, hop_block *b, hop_stmt *row, const bool *used);

/* device_alone.c: the same of what a thread that runs an iteration of s alone comes to at every step of
 * loops in it. */
void hop_device_keep_alone(hop_dfunc *d, hop_stmt *s);

/* device_wait.c: barriers where a thread needs what another did, or takes its place. */
void hop_device_wait(hop_dfunc *d, hop_block *b, hop_unit u);
bool hop_device_meet(const hop_dfunc *d, int a, int b);       /* two buffers may be the same memory */

/* A TEMP in scratch behind what d has, of so many elements; its number. */
int  hop_device_scratch(hop_dfunc *d, hop_dtype t, hop_size count);

/* lower.c calls it: the whole program. */
hop_status hop_loop_device(hop_env *e, const hop_machine *m, hop_prog *p);

#endif
