/* loop_scalar.h -- values of registers of loop programs, as runners hold them. */
#ifndef HOP_LOOP_SCALAR_H
#define HOP_LOOP_SCALAR_H

#include "loop/loop.h"

typedef union scalar { double f; int64_t i; } scalar;

scalar run_get(hop_dtype d, const void *p);                /* an element in memory */
void   run_set(hop_dtype d, void *p, scalar s);
scalar run_trim(hop_dtype d, scalar s);                    /* what a register of the dtype can hold */
/* An operation that asks neither memory nor sizes; dt: dtypes of registers. */
scalar run_value(const hop_stmt *s, const scalar *a, const hop_dtype *dt);
scalar run_combine(const hop_acc *c, scalar x, scalar y);
hop_dtype *run_types(const hop_lfunc *f);                  /* [nreg + 1]; the caller frees it */

#endif
