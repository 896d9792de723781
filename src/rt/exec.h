/* exec.h -- compiled programs, the object cache, and the threads that run them. */
#ifndef HOP_EXEC_H
#define HOP_EXEC_H

#include "loop/loop.h"
#include "rt/abi.h"

/* ---- code ---- */

/* A compiled program: immutable, counted, may be run by any number of threads at once. */
typedef struct hop_code hop_code;

typedef struct hop_target_opts {
	int  level;            /* LLVM's code generation level; 0 = ours */
	int  vector_bits;      /* no wider vectors than this; 0 = as the machine has */
	bool no_cache;         /* neither read nor write the object cache */
	bool no_threads;       /* emit no forks */
	int  parts;            /* compile in at most so many parts; 0 = as the machine has */
} hop_target_opts;

/* Verify and compile p, or take its object from the cache. HOP_ETARGET when LLVM is
 * missing. The code keeps interned sizes of p, nothing else: the context outlives it. */
hop_status  hop_code_new(hop_env *e, const hop_prog *p, const hop_target_opts *o,
                         hop_code **out_c);
hop_code   *hop_code_retain(hop_code *c);
void        hop_code_release(hop_code *c);
hop_entry  *hop_code_entry(const hop_code *c);
/* Bytes of workspace for these size symbols; false if the sizes are out of range. */
bool        hop_code_frame(const hop_code *c, const int64_t *syms, int n, int64_t *out_b);
bool        hop_code_cached(const hop_code *c);      /* its object came from the cache */

/* ---- objects (elf.c) ---- */

typedef struct hop_image { void *base; size_t size; void *entry; } hop_image;

/* Place the objects of a program (abi.h) in memory as one image and bind them to each
 * other. The text of a failure is static. */
const char *hop_elf_load(const void *p, size_t n, const char *entry, hop_image *out_i);
void        hop_elf_free(hop_image *i);

/* ---- the object cache (cache.c) ---- */

/* Identity of what decides an object: program text, options, CPU, the build of this
 * library; and, added last, the build of LLVM (target/llvm/llvm.h). */
hop_hash hop_cache_key(hop_env *e, const hop_prog *p, const hop_target_opts *o);
hop_hash hop_cache_key_llvm(hop_hash key, hop_hash llvm);
/* The objects' bytes, by the env's hook, or NULL. A damaged file is no file; one that
 * others can write is none either, and that is said on standard error. */
void    *hop_cache_get(hop_env *e, hop_hash key, size_t *out_n);
void     hop_cache_put(hop_env *e, hop_hash key, const void *p, size_t n);

/* ---- threads (pool.c) ---- */

/* Workers that spin a while for work, then sleep. One fork at a time: a second caller,
 * or a fork inside a fork, runs its own pieces itself. A child of fork() has the pool
 * without its workers: its first loop starts new ones, or runs alone if it gets none. */
typedef struct hop_pool hop_pool;
hop_pool *hop_pool_new(const hop_mem *m, int nthread);      /* 0 = as the machine has */
void      hop_pool_free(hop_pool *p);
int       hop_pool_threads(const hop_pool *p);
void      hop_pool_run(hop_pool *p, void (*body)(void *arg, int64_t begin, int64_t end),
                       void *arg, int64_t n);

#endif
