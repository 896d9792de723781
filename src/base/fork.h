/* fork.h -- what keeps fork() harmless. A child has one thread, the copy of the one that
 * forked: a lock that another thread held is held for ever, threads are gone, and what
 * another thread was changing stays half changed. Two tools against that:
 *
 *  - a hook, for what has locks or threads of its own: it takes its locks before the
 *    fork and gives them back after it, on both sides, and forgets its threads in the
 *    child;
 *  - a stretch that a fork waits for, around foreign code whose locks we cannot reach:
 *    the dynamic loader and LLVM.
 *
 * vfork, posix_spawn, system and popen run neither and need neither: their child only
 * execs. Does not cover a raw clone(). */
#ifndef HOP_FORK_H
#define HOP_FORK_H

#include <stdbool.h>

/* Lives in its owner; user is passed to the functions, of which any may be NULL. A hook
 * may wait for a lock, but for none under which others add or remove a hook or begin a
 * stretch, and for nothing else. */
typedef struct hop_fork_hook {
	void (*before)(void *user);
	void (*parent)(void *user);
	void (*child)(void *user);
	void  *user;
	struct hop_fork_hook *next, **at;     /* at: what points to this; NULL = not added */
} hop_fork_hook;

bool hop_fork_add(hop_fork_hook *h);              /* false: no memory */
void hop_fork_remove(hop_fork_hook *h);           /* one that was not added is fine */

/* From begin to end no other thread forks; one that wants to waits, and who begins
 * meanwhile waits for it. Not nested, not with a lock held that a hook takes, and not
 * around anything that forks itself. */
void hop_nofork_begin(void);
void hop_nofork_end(void);

#endif
