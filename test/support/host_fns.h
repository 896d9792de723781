/* host_fns.h -- functions of the host for programs that are judged: they take floats of any width. */
#ifndef HOST_FNS_H
#define HOST_FNS_H

#include <hop/ctx.h>

/* test.square (pure): x * x. test.above: an effect that counts elements above one half, i64. Fails
 * when there is no memory. */
hop_status host_fns_add(hop_ctx *c);

#endif
