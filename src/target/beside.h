/* beside.h -- what compilers do beside each other: pieces of a program, and threads for them. Knows no
 * compiler. */
#ifndef HOP_BESIDE_H
#define HOP_BESIDE_H

#include "base/base.h"

enum { HOP_BESIDE = 8 };           /* things, at most */

/* How many threads may do it: as many as there are processors; 1 where memory comes from a user's own
 * allocator, which is not called from threads that he did not start. */
int hop_beside_threads(const hop_env *e);

/* n things of these weights in at most `most` parts, each worth `share` or more: part[i] is the number
 * of thing i's. How many parts there are. By the weights alone: what processors are doing must not show
 * in what is compiled. */
int hop_beside_parts(hop_env *e, int n, const int64_t *weight, int64_t share, int most, uint8_t *part);

/* one(.., 0) .. one(.., n-1), by the caller and by threads that help, each with an env of its own: all
 * are done when it returns. The first that failed speaks for all. Nothing takes the exit of e. A fork
 * waits for those under way. */
typedef hop_status hop_beside_fn(hop_env *e, void *user, int i);
hop_status hop_beside_do(hop_env *e, int n, hop_beside_fn *one, void *user);

#endif
