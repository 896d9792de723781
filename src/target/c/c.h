/* c.h -- loop programs as portable C11 that a person can read. A file is one prelude and any
 * number of programs. Does not run a compiler: target.c does. */
#ifndef HOP_C_H
#define HOP_C_H

#include "loop/loop.h"

/* Once a file: what abi.h says, and the scalar operations that C has no expression for. Needs no
 * header but <stdint.h>, <stdbool.h> and, where there is a C library, <math.h>. */
void       hop_c_prelude(hop_buf *out);

/* The functions of p, which was verified, as static ones, and its entry
 *	int NAME(void *const *params, const int64_t *syms, void *workspace, struct hop_rt *rt)
 * with the meaning of hop_entry. The text depends on p alone. */
hop_status hop_c_prog(hop_env *e, const hop_prog *p, const char *name, bool look, hop_buf *out);

#endif
