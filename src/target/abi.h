/* abi.h -- what compiled code and the run time say to each other. Plain C; the layout is
 * part of the object cache's key through HOP_ABI. */
#ifndef HOP_ABI_H
#define HOP_ABI_H

#include <stdint.h>

#define HOP_ABI 5

struct hop_tape { void *ptr; int64_t bytes; };

/* Passed to every compiled function. */
typedef struct hop_rt {
	/* Enlarge tape `slot` to hold `bytes`, keeping its contents. 0 = done. */
	int  (*grow)(struct hop_rt *rt, int slot, int64_t bytes);
	/* Run effect `id` on operand pointers; size symbols of the function. 0 = go on. */
	int  (*effect)(struct hop_rt *rt, int id, void *const *args, const int64_t *syms);
	/* Test check `id`: 0 = it holds. Compiled code asks when it has found that it does not,
	 * or when it cannot tell; size symbols of the function. */
	int  (*check)(struct hop_rt *rt, int id, const int64_t *syms);
	/* Do what template `id` (enum hop_library) does, on operands of this dtype at args, by a
	 * library that may be there. 0 = it is not, or it would not pay: compiled code does it
	 * itself. May be NULL. */
	int  (*library)(struct hop_rt *rt, int id, int dtype, void *const *args,
	                const int64_t *extent);
	/* Run body(arg, begin, end) over pieces of 0..n, all threads; returns when done. */
	void (*parallel)(struct hop_rt *rt, void (*body)(void *arg, int64_t begin, int64_t end),
	                 void *arg, int64_t n);
	const int       *cancel;       /* never NULL: read at every trip; not 0 = return it */
	int              nthread;
	struct hop_tape *tape;
	void            *user;
	int64_t          skip;         /* progress effects to leave out, except a last one */
	const unsigned char *there;    /* of params: 1 = memory of the device; NULL = none is */
	/* For launch, not for compiled code: the run ends with this status (hop_status) for that reason.
	 * Gives what launch returns. May be NULL. */
	int  (*fail)(struct hop_rt *rt, int status, const char *text);
	unsigned char may_cancel;      /* for launch: somebody may set *cancel, while the run goes on */
} hop_rt;

/* The entry of a compiled program: pointers of inputs then outputs, size symbols, the
 * workspace (64-byte aligned). Returns 0, or the non-zero value that grow or effect gave:
 * compiled code stops at once and passes it on. */
typedef int hop_entry(void *const *params, const int64_t *syms, void *workspace, hop_rt *rt);

#endif
