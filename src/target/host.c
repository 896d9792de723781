/* host.c -- the machine that this process runs on: its processor in words, for targets whose code
 * is made for it, and its files. */
#include "target/host.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

void hop_host_cpu(hop_buf *b)
{
#if defined(__x86_64__)
	static const unsigned leaf[][2] = { { 0, 0 }, { 1, 0 }, { 7, 0 }, { 7, 1 }, { 0xd, 1 },
	                                    { 0x80000001, 0 } };

	for (size_t i = 0; i < sizeof leaf / sizeof *leaf; i++) {
		unsigned r[4] = { 0 };

		if (!__get_cpuid_count(leaf[i][0], leaf[i][1], &r[0], &r[1], &r[2], &r[3]))
			continue;
		if (leaf[i][0] == 1)
			r[1] = 0;                /* which core asks */
		hop_putf(b, "cpu %x.%x: %08x %08x %08x %08x\n", leaf[i][0], leaf[i][1], r[0],
		         r[1], r[2], r[3]);
	}
#else
	hop_put(b, "cpu unknown\n");
#endif
}

double hop_host_fork(void)
{
	const char *own = getenv("HOP_FORK");
	return own && atof(own) > 0 ? atof(own) : 1 << 16;
}

bool hop_host_write(int fd, const void *p, size_t n)
{
	for (size_t k = 0; k < n;) {
		ssize_t r = write(fd, (const char *)p + k, n - k);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return false;
		k += (size_t)r;
	}
	return true;
}
