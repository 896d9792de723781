/* target.h -- what a target is: one that makes code of loop programs and runs it. All that is to
 * the right of here asks these cells and knows no target by name; target.c is the list. */
#ifndef HOP_TARGET_H
#define HOP_TARGET_H

#include "base/memory.h"
#include "loop/loop.h"
#include "loop/machine.h"
#include "target/abi.h"

typedef struct hop_target_opts {
	int  level;            /* of the code generator's own optimisation; 0 = ours */
	int  vector_bits;      /* no wider vectors than this; 0 = as the machine has */
	bool no_cache;         /* neither read nor write the cache of code */
	bool no_threads;       /* emit no forks */
	int  parts;            /* compile in at most so many parts; 0 = as the machine has */
	bool ahead;            /* for `write`: not to be run here */
	const char *triple;    /* ahead: the least machine of that kind; NULL = this one */
} hop_target_opts;

/* A program as bytes, of the env's hook: hop_raw_free(&e->mem, p, n). */
typedef struct hop_bytes { void *p; size_t n; } hop_bytes;

/* A program in memory, ready to run. Only its target knows what the fields hold. */
typedef struct hop_image { void *base; size_t size; void *entry; } hop_image;

/* Of targets whose code runs in this process (code.c): its memory, and a call of the entry. */
extern const hop_memory hop_host_memory;
int hop_host_launch(const hop_image *i, void *queue, void *const *params, const int64_t *syms,
                    void *workspace, hop_rt *rt);

/* Every cell is there, but for `object`. A failure is HOP_ETARGET with a text; others may
 * interpret then. */
typedef struct hop_target {
	const char *name;
	const char *what;          /* one line */
	/* The machine that code is made for; does not open what a cached program can do
	 * without. */
	hop_status (*machine)(hop_env *e, const hop_target_opts *o, hop_machine *out_m);
	/* The program is verified. */
	hop_status (*compile)(hop_env *e, const hop_prog *p, const hop_machine *m,
	                      const hop_target_opts *o, hop_bytes *out_b);
	/* The same of a text in the target's own language, which a user wrote: it has a function of
	 * that name. What its maker says of it goes into the failure. */
	hop_status (*take)(hop_env *e, const char *text, size_t n, const char *entry,
	                   hop_bytes *out_b);
	/* The bytes may come from a file: damaged ones are refused. p: the program they were made of, of
	 * which interned sizes and types are kept, nothing else; NULL = a text that was taken. entry: the
	 * function to start. */
	hop_status (*load)(hop_env *e, const hop_bytes *b, const hop_prog *p, const char *entry,
	                   hop_image *out_i);
	void       (*unload)(hop_image *i);
	/* Where mem is that of a device (mem->far): rt->there says which params are memory of it, the
	 * others are staged; workspace is NULL, it has its own. With a queue it may return while the
	 * program runs, if that will ask nothing of rt: what it wants of rt, params and syms it has
	 * seen by then. Memory of this process is written when it returns. */
	int        (*launch)(const hop_image *i, void *queue, void *const *params,
	                     const int64_t *syms, void *workspace, hop_rt *rt);
	/* For the cache: all that decides the bytes beside program, machine and options, in words;
	 * and which build of the code generator makes them: the one that would be used, or
	 * (opened) the one that was. Zero = cannot be told: nothing is cached. */
	void       (*setting)(hop_buf *out);
	hop_hash   (*maker)(hop_env *e, bool opened);
	const hop_memory *mem;
	/* Ahead of time: verified programs as one file with an entry (abi.h) of that name for each.
	 * It is an object; or, if `object` is not NULL, C text, of which that makes an object. */
	hop_status (*write)(hop_env *e, int n, const hop_prog *const *p, const char *const *name,
	                    const hop_machine *m, const hop_target_opts *o, hop_buf *out);
	hop_status (*object)(hop_env *e, const hop_buf *text, const hop_target_opts *o, hop_buf *out);
} hop_target;

/* ---- the list (target.c) ---- */

/* By name; NULL = as HOP_TARGET says, else the first. HOP_EVALUE names those there are. */
hop_status hop_target_pick(hop_env *e, const char *name, const hop_target **out_t);
/* The one whose code works on this kind of device, and memory of it; NULL = none. One of the context
 * (HOP_OWN_TARGET, for tests) comes before those of the list. */
const hop_target *hop_target_on(hop_ctx *c, const char *name, int type);
/* Number i of all there are; NULL = there are no more. */
const hop_target *hop_target_at(int i);

/* ---- texts of users (take.c) ---- */

/* A text in the language of a target as code in this process: from the cache, or made and put there.
 * t->unload(out_i) when it is no longer called. */
hop_status hop_target_take(hop_env *e, const hop_target *t, const char *text, size_t n,
                           const char *entry, hop_image *out_i);

/* ---- code (code.c) ---- */

/* A compiled program: immutable, may be run by any number of threads at once. */
typedef struct hop_code hop_code;

/* Verify and compile p for the machine, or take its bytes from the cache. o may be NULL. The code
 * keeps interned sizes of p, nothing else: the context outlives it. */
hop_status  hop_code_new(hop_env *e, const hop_target *t, const hop_prog *p,
                         const hop_machine *m, const hop_target_opts *o, hop_code **out_c);
void        hop_code_release(hop_code *c);
/* Run it (abi.h): 0, or what the run time or the program said to stop it. */
int         hop_code_launch(const hop_code *c, void *queue, void *const *params,
                            const int64_t *syms, void *workspace, hop_rt *rt);
/* Bytes of workspace for these size symbols; false if the sizes are out of range. */
bool        hop_code_frame(const hop_code *c, const int64_t *syms, int n, int64_t *out_b);
bool        hop_code_cached(const hop_code *c);      /* its bytes came from the cache */
int64_t     hop_code_bytes(const hop_code *c);       /* as it is loaded; 0 = not known */
const hop_memory *hop_code_memory(const hop_code *c);

#endif
