/* host.h -- the machine that this process runs on. */
#ifndef HOP_HOST_H
#define HOP_HOST_H

#include "base/base.h"

/* All that may decide which code is made for it: a line for each leaf of its description. */
void hop_host_cpu(hop_buf *b);

/* Instructions worth a fork of a loop: some tens of microseconds. HOP_FORK=n: others, for tests. */
double hop_host_fork(void);

/* All n bytes to an open file; false if it does not take them. */
bool hop_host_write(int fd, const void *p, size_t n);

#endif
