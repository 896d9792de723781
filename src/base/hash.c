/* hash.c -- the one hash function. Equal across runs and machines of one byte order.
 * Not meant to withstand an adversary: a hit is followed by a full compare. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/base.h"

hop_hash hop_hash_bytes(const void *p, size_t n)
{
	XXH128_hash_t h = XXH3_128bits(p, n);
	return (hop_hash){ h.low64, h.high64 };
}
