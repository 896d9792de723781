/* walk.h -- what statements hold, for whoever goes through a loop program without asking what
 * each kind is: blocks, addresses, registers. Changes nothing itself. */
#ifndef HOP_WALK_H
#define HOP_WALK_H

#include "loop/loop.h"

bool hop_addr_eq(const hop_addr *a, const hop_addr *b);
int  hop_addr_term(const hop_addr *a, hop_reg r);          /* its position, or -1 */
/* Calls fn once for each address of the statement (not of nested ones). */
typedef void hop_addr_fn(void *user, hop_addr *a, bool is_write);
void hop_stmt_addrs(hop_lfunc *f, hop_stmt *s, hop_addr_fn *fn, void *user);
/* The same with all that is in it. */
void hop_stmt_all_addrs(hop_lfunc *f, hop_stmt *s, hop_addr_fn *fn, void *user);
/* Adds to n, [nbuf], how often that accesses each buffer. */
void hop_stmt_count_addrs(hop_lfunc *f, hop_stmt *s, int *n);
/* The blocks in a statement: 0 to 2 of them. */
_Static_assert(HOP_TILE_HOLES <= 2, "as many as out has room for");
int  hop_stmt_blocks(hop_stmt *s, hop_block **out);
hop_addr *hop_stmt_addr(hop_stmt *s, int i);               /* its i-th address, or NULL */
int       hop_stmt_access(hop_stmt *s, int i);             /* of that: HOP_READ | HOP_WRITE */
int  hop_block_count(const hop_block *b);                  /* statements, nested too */
/* Calls fn for every register: def is NULL for a use, else the statement that defines it. */
typedef void hop_reg_fn(void *user, hop_reg *r, hop_stmt *def, hop_dtype t);
void hop_stmt_uses(hop_stmt *s, hop_reg_fn *fn, void *user);     /* by itself */
void hop_stmt_inner(hop_stmt *s, hop_reg_fn *fn, void *user);    /* made for its blocks */
void hop_stmt_regs(hop_stmt *s, hop_reg_fn *fn, void *user);     /* with all that is in it */
void hop_block_regs(hop_block *b, hop_reg_fn *fn, void *user);
void hop_block_defs(hop_block *b, hop_reg_fn *fn, void *user);   /* what it defines, only */
/* Everything that writes in b moves with var, by a term that shows it: its iterations are apart. */
bool hop_block_owns(const hop_block *b, hop_reg var);

/* copy.c: with registers and buffers as they are */
hop_stmt *hop_stmt_copy(hop_arena *a, const hop_stmt *s);
hop_block hop_block_copy(hop_arena *a, const hop_block *b);

#endif
