/* machine.h -- what loop programs may know of the machine they will run on. A target fills it;
 * the schedule reads it. No target has a name here, and no number changes what is computed. */
#ifndef HOP_MACHINE_H
#define HOP_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: one thread, no vectors. */
typedef struct hop_machine {
	int     vbits;             /* of a vector register; 0 = loops stay plain */
	int     nvreg;             /* vector registers */
	bool    halves;            /* converts floats of 5 and 10 bits itself */
	bool    threads;           /* loops may be forked */
	double  fork;              /* instructions worth a fork */
	int64_t cache;             /* bytes that one core has for itself; 0 = as many as most have */
	int     blocks;            /* of a device that a host drives: so many blocks are there at once, at
	                              least; 0 = no device, and what follows means nothing */
	int     warp;              /* threads that go together */
	int64_t shared;            /* bytes that a block may share */
	int64_t small;             /* elements of a nest that one block may do; 0 = as many as pays */
	int64_t loops;             /* bytes that a trip of a loop moves, at least, for the host's list to
	                              hold the loop; 0 = it cannot */
} hop_machine;

/* m may be NULL. */
static inline int64_t hop_machine_cache(const hop_machine *m)
{
	return m && m->cache ? m->cache : 1 << 20;
}

#endif
