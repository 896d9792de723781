/* cache.h -- shared by the files of the object cache: where it is and whether to believe
 * it (cache_dir.c), how large it may get (cache_trim.c). */
#ifndef HOP_RT_CACHE_H
#define HOP_RT_CACHE_H

#include <sys/stat.h>

#include "base/base.h"

/* A file's name is its key, 32 digits, and ".o"; while it is written, a dot and 16 more
 * digits follow, so that every writer has a name of its own. */
enum { HOP_CACHE_NAME = 32 + 2, HOP_CACHE_TEMP = HOP_CACHE_NAME + 1 + 16 };

typedef struct hop_cache_dir {
	int  fd;                       /* O_PATH */
	char path[4096];               /* as it was asked for */
} hop_cache_dir;

/* Open the directory, make it if wanted. False: caching is off, there is none, or it
 * cannot be trusted, which is said once. Close d->fd. */
bool     hop_cache_open(hop_cache_dir *d, bool make);
/* Whether a file in it is ours alone to write; says once if it is not. */
bool     hop_cache_trusts(const hop_cache_dir *d, const char *name,
                          const struct stat *st);

/* Bytes that the files may take together; 0 = no bound. */
uint64_t hop_cache_bound(void);
/* After a file of n bytes was added: see whether the oldest have to go. */
void     hop_cache_trim(hop_env *e, const hop_cache_dir *d, hop_hash key, uint64_t n);

#endif
