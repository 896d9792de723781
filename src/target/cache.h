/* cache.h -- the cache of compiled programs on disk: what is in it (cache.c), where it is and
 * whether to believe it (cache_dir.c), how large it may get (cache_trim.c). */
#ifndef HOP_CACHE_H
#define HOP_CACHE_H

#include <sys/stat.h>

#include "target/target.h"

/* Identity of what decides the bytes of a program: target, program text, machine, options, the
 * build of this library; and, added last, the build of the code generator. */
hop_hash hop_cache_key(hop_env *e, const hop_target *t, const hop_prog *p,
                       const hop_machine *m, const hop_target_opts *o);
/* The same for a text of a user, without the function that it is called by. */
hop_hash hop_cache_key_text(hop_env *e, const hop_target *t, const char *text, size_t n);
hop_hash hop_cache_key_maker(hop_hash key, hop_hash maker);
/* The bytes, by the env's hook, or NULL. A damaged file is no file; one that others can write
 * is none either, and that is said on standard error. */
void    *hop_cache_get(hop_env *e, hop_hash key, size_t *out_n);
void     hop_cache_put(hop_env *e, hop_hash key, const void *p, size_t n);

/* ---- image.c ---- */

/* The bytes as an image; they are freed, and put into the cache if there is a key. p: NULL = a text that
 * was taken. */
hop_status hop_image_load(hop_env *e, const hop_target *t, hop_bytes b, const hop_prog *p,
                          const char *entry, const hop_hash *key, hop_image *out_i);
/* The same of those in the cache. What does not load is as good as nothing. */
bool       hop_image_cached(hop_env *e, const hop_target *t, const hop_prog *p, const char *entry,
                            hop_hash key, hop_image *out_i);

/* ---- among its files ---- */

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
