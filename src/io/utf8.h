/* utf8.h -- is it UTF-8? Knows nothing of what characters mean, but for those that no name has. */
#ifndef HOP_UTF8_H
#define HOP_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Each character the shortest way, no halves of pairs, nothing past the last one. */
bool hop_utf8_ok(const char *s, size_t n);
/* The same without control characters: what may be the name of an array. */
bool hop_name_ok(const char *s, size_t n);

#endif
