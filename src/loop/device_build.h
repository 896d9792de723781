/* device_build.h -- statements that the scheduler of a device makes itself, one line each: nests of
 * their own at the end of a block, in them operations. Contrast hop_lbuild, which it goes through. */
#ifndef HOP_DEVICE_BUILD_H
#define HOP_DEVICE_BUILD_H

#include "loop/device.h"

typedef struct hop_dbuild {
	hop_dfunc *d;
	hop_block *out;        /* nests go there */
	hop_lbuild b;          /* and this is where the next statement goes */
} hop_dbuild;

/* A nest of n iterations that are apart, which addresses do not show; what follows goes into it. bound:
 * as many as it says, n at most; 0 = n. */
hop_reg   hop_d_nest(hop_dbuild *t, int64_t n);
hop_reg   hop_d_nest_to(hop_dbuild *t, hop_size n, hop_reg bound);
hop_stmt *hop_d_seq(hop_dbuild *t, int64_t n);         /* the same, in order, where we are */

hop_reg   hop_d_op(hop_dbuild *t, enum hop_sop s, hop_dtype d, hop_reg x, hop_reg y);
hop_reg   hop_d_test(hop_dbuild *t, enum hop_sop s, hop_reg x, hop_reg y);
hop_reg   hop_d_select(hop_dbuild *t, hop_dtype d, hop_reg which, hop_reg x, hop_reg y);
hop_reg   hop_d_cast(hop_dbuild *t, hop_dtype d, hop_reg x);
hop_reg   hop_d_num(hop_dbuild *t, hop_dtype d, int64_t v);

/* Element i * stride + j; either may be 0. */
hop_addr  hop_d_at(hop_dbuild *t, int buf, hop_reg i, int64_t stride, hop_reg j);
hop_reg   hop_d_load(hop_dbuild *t, hop_dtype d, hop_addr a, hop_reg mask);
void      hop_d_store(hop_dbuild *t, hop_dtype d, hop_addr a, hop_reg v, hop_reg mask);

/* A variable of each thread, and what is in it. */
int       hop_d_own(hop_dbuild *t, hop_dtype d, hop_reg first);
hop_reg   hop_d_get(hop_dbuild *t, int own);
void      hop_d_set(hop_dbuild *t, int own, hop_reg v);

/* device_sort.c: n keys, or as many as bound says if it is not 0, numbers below 2^30, in order by nests,
 * equal ones in theirs; with each goes where it was. Two places for each, all i32; keys begin in the
 * first. Gives which place has them. */
typedef struct hop_dsort { int key[2], was[2]; } hop_dsort;
int       hop_device_sort(hop_dbuild *t, const hop_dsort *s, int64_t n, hop_reg bound);

#endif
