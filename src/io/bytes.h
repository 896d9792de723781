/* bytes.h -- the content of a file as memory that arrays can stand on: mapped, or read. Counted,
 * since each such array holds it. Does not look at what is in it. */
#ifndef HOP_BYTES_H
#define HOP_BYTES_H

#include "base/base.h"

/* p is aligned to HOP_BYTES_ALIGN. What is mapped belongs to this process alone: writes do not
 * reach the file. */
typedef struct hop_bytes {
	uint32_t refs;                 /* atomic */
	bool     mapped;
	hop_mem  mem;
	char    *p;
	size_t   n;
	size_t   room;                 /* of the block, with p that is behind it */
} hop_bytes;
enum { HOP_BYTES_ALIGN = 64 };

/* Map the file, or read it if copy is set or it is none that can be mapped. Never jumps. */
hop_status hop_bytes_load(hop_env *e, const char *path, bool copy, hop_bytes **out_b);
/* Memory of n bytes that are yet to be written; NULL without memory. */
hop_bytes *hop_bytes_new(const hop_mem *m, size_t n);
hop_bytes *hop_bytes_retain(hop_bytes *b);
void       hop_bytes_release(void *b);                   /* a hop_drop; NULL is fine */

/* Numbers as files have them: the lowest byte first. */
static inline uint64_t hop_get_le(const void *from, int n)
{
	const unsigned char *p = (const unsigned char *)from;
	uint64_t v = 0;
	while (n--)
		v = v << 8 | p[n];
	return v;
}

#endif
