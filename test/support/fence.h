/* fence.h -- memory with a page behind it, or before it, that nobody may touch: an access out
 * of bounds ends the program at once. */
#ifndef FENCE_H
#define FENCE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fence {
	char  *map;
	size_t size;           /* of the map */
	void  *p;              /* n bytes, aligned as asked */
} fence;

/* Ends where the page behind it starts, or starts where the page before it ends. Holds
 * 0xff bytes. */
fence fence_new(size_t n, size_t align, bool behind);
void  fence_readonly(fence *f);
void  fence_free(fence *f);

/* Print `what` (up to 200 bytes, copied) when the program dies of a signal. */
void  fence_on_death(const char *what);
void  fence_within(const char *what);      /* a second line of it: up to 60 bytes */

#endif
