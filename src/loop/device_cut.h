/* device_cut.h -- kernels out of the statements of a host function: see device_cut.c. */
#ifndef HOP_DEVICE_CUT_H
#define HOP_DEVICE_CUT_H

#include "loop/device.h"

/* Of one host function, for all its kernels. */
typedef struct hop_cut {
	hop_dfunc  d;
	uint8_t   *again;          /* [nreg+1] by how many operations it can be made anywhere; 0 = by none,
	                              or many */
	int        price;          /* of the operation that is looked at */
	hop_stmt **def;            /* [nreg+1] operations right in the list, or in its loops */
	int       *made;           /* [nreg+1] the last kernel that makes it */
	int64_t   *slot;           /* [nreg+1] 1 + its byte behind d.scratch; 0 = none */
	uint8_t   *dtype;          /* [nreg+1] */
	bool      *aliased;        /* [nin+nout] a result may be at its address */
	int        kernel;
	int64_t    spilled;        /* bytes of slots */
	int       *regmap, *regstamp, *bufmap, *bufstamp;
	int       *was;            /* a buffer of the kernel that was numbered last: its number before */
	int        nregcap, nbufcap, nreg, stamp;
} hop_cut;

void hop_cut_open(hop_cut *c, const hop_dfunc *d);
bool hop_cut_is_again(const hop_cut *c, const hop_stmt *s);
/* first: every run of statements that will be a kernel, in order; it may leave gaps where all of a
 * run is made again. */
void hop_cut_note(hop_cut *c, hop_stmt *first, const hop_stmt *end);
/* Then each of them as a function, with the buffers and registers of all. */
void hop_cut_make(hop_cut *c, hop_lfunc *k, hop_stmt *first, const hop_stmt *end);
/* It has those alone that stand in it, by the order in which they do. To be done before it is bound, so
 * that nobody goes through those of the whole program for every kernel, and again when it is. */
void hop_cut_number(hop_cut *c, hop_lfunc *k);

#endif
