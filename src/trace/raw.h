/* raw.h -- constructors straight from the table; rows.c has one for each row. */
#ifndef HOP_RAW_H
#define HOP_RAW_H

#include "trace/trace.h"

/* One attribute as a caller gives it; which members count is for its kind to say. */
typedef struct hop_raw {
	int64_t     i;               /* a number, or how many p points to */
	double      f;
	hop_dim     d;
	const void *p;
} hop_raw;

/* a: one for each field of the row, in its order. */
int hop_raw_op(hop_trace *t, const char *file, int line, int op, const hop_raw *a, int nin,
               const hop_value *in, int cap, hop_value *out);

/* An elementwise row with what a caller may leave out: dtypes and shapes that fit. */
hop_value hop_at_point(hop_trace *t, const char *file, int line, int op, int n,
                       const hop_value *v);

#endif
