/* host_fns.h -- functions and an object of the host for programs that are judged: they take floats of
 * any width. */
#ifndef HOST_FNS_H
#define HOST_FNS_H

#include <hop/ctx.h>

/* Pure: test.square, x * x; test.host_function, x + x^2 / 8, with rules and a shape; test.same, x.
 * Effects: test.above, how many elements are above one half, i64; test.write, which adds 2 y to x in
 * place and then doubles x[0]. The class test_object: scale, which halves and has a rule; gain; sum,
 * x + 2 y with element 0 doubled. Fails when there is no memory. */
hop_status host_fns_add(hop_ctx *c);
/* The handle of an object of test_object: the first of a context. */
int64_t    host_fns_object(void);

#endif
