/* device_rig.h -- for tests that run with any HOP_TARGET: what a device lacks is skipped aloud. */
#ifndef DEVICE_RIG_H
#define DEVICE_RIG_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Is HOP_TARGET a device? Then there are no vectors, no threads of ours, no objects of LLVM. */
static inline bool on_device(void)
{
	const char *t = getenv("HOP_TARGET");
	return t && !strncmp(t, "cuda", 4);
}

/* A test of what only other targets have: said, and counted as skipped. */
#define NOT_ON_A_DEVICE(why) do { \
		if (on_device()) { \
			printf("skipped: on a device: %s\n", why); \
			fflush(stdout); \
			skip(); \
		} \
	} while (0)

#endif
