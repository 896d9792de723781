/* fake_device.h -- a device of this process: memory whose addresses nobody here can read, queues that
 * do nothing until somebody waits for them, and a target whose code the first real one makes. What a
 * device forgives now and then is always seen: an address that is read here dies, and what was not
 * waited for has not happened. One thread. */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include "hop/ctx.h"

enum { FAKE_TYPE = 77 };               /* its type of device */

/* The context has the target "fake", and devices called "fake". */
void   fake_device_add(hop_ctx *c);

/* What was done so far. */
typedef struct fake_counts {
	int    copies_here, copies_there;  /* from the device, and to it: of users, not of staging */
	int    staged;                     /* parameters of launches that were memory of this process */
	int    launches, deferred;         /* deferred: not done when they returned */
	size_t blocks;                     /* of memory, not yet freed */
} fake_counts;
fake_counts fake_device_counts(void);
/* What the next waits say; NULL = nothing. More allocations than so many bytes fail; 0 = none do. */
void   fake_device_break(const char *words);
void   fake_device_room(size_t bytes);
/* An address of the device for memory of this process, and back: of other libraries on it. */
void  *fake_device_lend(void *p, size_t n);
void  *fake_device_behind(void *p);
void   fake_device_forget(void *p);

#endif
