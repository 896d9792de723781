/* look.h -- compiled code shown to others: gdb, by the interface that it has for code made while a
 * program runs, and perf, by a file of names. */
#ifndef HOP_TARGET_LOOK_H
#define HOP_TARGET_LOOK_H

#include "base/base.h"

/* An object with the addresses of its sections filled in: copied, and given to gdb. image: whose
 * part it is. Without memory gdb sees nothing. */
void hop_look_gdb(const void *image, const void *object, size_t n);
/* The image goes: what belongs to it is forgotten. */
void hop_look_gone(const void *image);
/* A line of /tmp/perf-PID.map. */
void hop_look_perf(uint64_t at, uint64_t size, const char *name);

#endif
