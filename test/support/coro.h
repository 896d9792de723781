/* coro.h -- coroutines: functions that stop in the middle and are gone on with. One at a time, of one
 * thread of the process; they are kept for the next, with their stacks. */
#ifndef HOP_CORO_H
#define HOP_CORO_H

typedef struct hop_coro hop_coro;
typedef void hop_coro_fn(void *user);

hop_coro *hop_coro_new(hop_coro_fn *f, void *user);
void      hop_coro_go(hop_coro *c);        /* until it stops or its function returns */
void      hop_coro_stop(hop_coro *c);      /* from inside: back to whoever let it go on */
void      hop_coro_free(hop_coro *c);      /* its function has returned, or never began */

#endif
