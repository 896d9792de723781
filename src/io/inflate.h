/* inflate.h -- the deflate format (RFC 1951), one way: packed bytes to what they were. Makes
 * none, and knows nothing of what is around them. */
#ifndef HOP_INFLATE_H
#define HOP_INFLATE_H

#include <stdbool.h>
#include <stddef.h>

/* No stream gives more than this many bytes for one of its own. */
enum { HOP_INFLATE_MOST = 1032 };

/* Exactly `size` bytes from exactly n; false for anything else. Needs no memory but to. */
bool hop_inflate(const void *from, size_t n, void *to, size_t size);

#endif
