/* base.h -- memory, text, hash and status: knows nothing of tensors.
 * Everything here hangs off a hop_env: one unit of work on one thread. */
#ifndef HOP_BASE_H
#define HOP_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hop/ctx.h"
#include "hop/status.h"

/* The one allocator hook (its contract: hop/ctx.h) and its first argument. */
typedef struct hop_mem {
	hop_alloc_fn *fn;
	void         *user;
} hop_mem;

/* A location is an index into the context's table: file, line, and the call site it is
 * nested in. 0 is "unknown". */
typedef uint32_t hop_loc;

/* ---- text ---- */

/* A growing string. Always terminated once anything was written. Memory comes from the
 * hook of the env and is freed by hop_buf_free; an unwound frame frees it too when
 * the buffer was opened with hop_buf_open. */
typedef struct hop_buf {
	struct hop_env *env;
	char           *s;
	size_t          n, cap;
	struct hop_buf *next;      /* env->bufs */
} hop_buf;

/* ---- arenas ---- */

typedef struct hop_chunk hop_chunk;

/* Memory with one lifetime. An open arena grows through its env (no memory = the env's
 * non-local exit); a sealed one has env = NULL and never grows. Not thread safe. */
typedef struct hop_arena {
	struct hop_env   *env;
	hop_chunk        *top;
	hop_chunk        *spare;          /* given up by a rewind, for the next that is wanted */
	struct hop_arena *next, *prev;    /* env->arenas while open */
} hop_arena;

typedef struct hop_mark {
	hop_chunk *top;
	size_t     used;
} hop_mark;

/* ---- the unit of work ---- */

/* Where the first failure is kept: its status and text, with one note a level. */
typedef struct hop_diag {
	hop_status  st;
	char       *text;          /* owned, malloc of the hook; NULL = none */
	size_t      len;
	hop_loc     loc;
	const char *cfile;         /* the line of hop that found it */
	int         cline;
} hop_diag;

typedef struct hop_frame {
	jmp_buf           jb;
	struct hop_frame *prev;
	hop_arena        *arenas;     /* those open before the frame */
	hop_buf          *bufs;
	hop_mark          tmp;        /* the scratch arena is rewound to here */
} hop_frame;

/* One thread's current work on a context: a trace, a parse, a compilation. Carries the
 * scratch arena, the diagnostics and the exit for "no memory". */
typedef struct hop_env {
	hop_ctx   *ctx;
	hop_mem    mem;
	hop_arena  tmp;            /* scratch: mark, use, rewind */
	hop_arena *arenas;         /* open arenas, newest first; freed when a frame unwinds */
	hop_buf   *bufs;
	hop_frame *frame;          /* innermost exit; never NULL while arenas may grow */
	hop_diag   diag;
	struct hop_cuts *cuts;     /* ad/cut_say.c: somebody wants to know what is saved; or NULL */
	struct hop_taken *taken;   /* data/engine.h: regions that engines have taken from the compilation
	                              under way */
} hop_env;

void  hop_env_init(hop_env *e, hop_ctx *ctx, hop_mem mem);
void  hop_env_fini(hop_env *e);

/* Guard a public entry:
 *	hop_frame f;
 *	if (HOP_GUARD(e, &f)) return hop_guard_nomem(e, &f);
 *	...
 *	hop_guard_end(e, &f);
 * Never let a user's body or a foreign frame run between HOP_GUARD and its end: end the
 * guard, call, guard again. Locals changed inside must be volatile to be read after. */
#define HOP_GUARD(e, f) setjmp(*hop_guard_begin((e), (f)))
jmp_buf   *hop_guard_begin(hop_env *e, hop_frame *f);
void       hop_guard_end(hop_env *e, hop_frame *f);
hop_status hop_guard_nomem(hop_env *e, hop_frame *f);    /* always HOP_ENOMEM */
_Noreturn void hop_nomem(hop_env *e);                     /* take the exit */

/* Memory of the C library behind the hook's interface. */
void *hop_alloc_default(void *user, void *ptr, size_t osize, size_t nsize);

/* Processors that this process may keep busy: by affinity and control group. */
int hop_cpus(void);

/* Raw memory from the hook. hop_raw_new jumps on failure; hop_raw_try gives NULL. */
void *hop_raw_new(hop_env *e, size_t n);
void *hop_raw_try(const hop_mem *m, size_t n);
/* The same for elements: much of it is asked of the system in large pages. */
void *hop_raw_data(const hop_mem *m, size_t n);
void  hop_raw_free(const hop_mem *m, void *p, size_t n);

/* Blocks given up, kept to be taken again, by any thread; all zeros is an empty shelf. A block
 * may have more room than was wanted. Only of the system's allocator. */
enum { HOP_SHELF = 8 };
typedef struct hop_shelf { _Atomic(void *) slot[HOP_SHELF]; } hop_shelf;
void *hop_shelf_take(hop_shelf *s, const hop_mem *m, size_t want, size_t *out_room);
void  hop_shelf_give(hop_shelf *s, const hop_mem *m, void *p, size_t room);
void  hop_shelf_clear(hop_shelf *s, const hop_mem *m);

/* Arenas: zeroed memory, never NULL. */
void     hop_arena_open(hop_arena *a, hop_env *e);
void     hop_arena_seal(hop_arena *a);                    /* leaves the env's list */
void     hop_arena_free(hop_arena *a, const hop_mem *m);
void     hop_arena_move(hop_arena *to, hop_arena *from);   /* an open one changes place */
void    *hop_arena_alloc(hop_arena *a, size_t n);
void    *hop_arena_array(hop_arena *a, size_t elem, size_t n);
void    *hop_arena_dup(hop_arena *a, const void *p, size_t n);
char    *hop_arena_str(hop_arena *a, const char *s, size_t n);
hop_mark hop_mark_at(hop_arena *a);
void     hop_rewind(hop_arena *a, hop_mark m);
/* Grow an array that lives in an arena: returns p or a larger copy; *cap is updated. */
void    *hop_arena_grow(hop_arena *a, void *p, size_t elem, size_t n, size_t *cap);

#define HOP_NEW(a, T)      ((T *)hop_arena_alloc((a), sizeof(T)))
#define HOP_NEWN(a, T, n)  ((T *)hop_arena_array((a), sizeof(T), (size_t)(n)))

/* Strings. */
void  hop_buf_open(hop_buf *b, hop_env *e);
void  hop_buf_free(hop_buf *b);
void  hop_put(hop_buf *b, const char *s);
void  hop_putn(hop_buf *b, const char *s, size_t n);
void  hop_putc(hop_buf *b, char c);
void  hop_putf(hop_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Floats of so many bits of exponent and mantissa, at most a double's: the nearest one, ties to
 * even, infinite past the greatest; the shortest text that reads back as v, which is one. */
double hop_float_round(double v, int exp, int man);
void   hop_put_float(hop_buf *b, double v, int exp, int man);

/* ---- failures ---- */

/* Record the first failure (later ones are ignored) and return its status. Never jumps:
 * without memory for the text the status alone is kept. (In src/ctx/diag.c, since
 * the text needs the locations of the context.) */
#define hop_fail(e, at, code, ...) \
	hop_fail_((e), (at), (code), __FILE__, __LINE__, __VA_ARGS__)
hop_status hop_fail_(hop_env *e, hop_loc at, hop_status st, const char *file, int line,
                     const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Add a line to the recorded failure: one per level of nesting on the way up. */
hop_status hop_note(hop_env *e, hop_loc at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void       hop_diag_clear(hop_env *e);

#define HOP_TRY(x) do { hop_status try_ = (x); if (try_) return try_; } while (0)

/* Our own mistake: says so, and aborts. */
#define HOP_ASSERT(x) ((x) ? (void)0 : hop_bug(__FILE__, __LINE__, #x))
_Noreturn void hop_bug(const char *file, int line, const char *what);

/* ---- hash ---- */

typedef struct hop_hash { uint64_t lo, hi; } hop_hash;
hop_hash hop_hash_bytes(const void *p, size_t n);
static inline bool hop_hash_eq(hop_hash a, hop_hash b)
{
	return a.lo == b.lo && a.hi == b.hi;
}

/* ---- map from bytes to a pointer; open addressing; keys are copied into the arena ---- */
typedef struct hop_map {
	hop_arena *a;
	struct hop_slot { uint64_t h; struct hop_entry *e; } *slot;
	size_t     n, cap;
} hop_map;

void  *hop_map_get(const hop_map *m, const void *key, size_t n);        /* NULL = none */
void   hop_map_put(hop_map *m, const void *key, size_t n, void *val);   /* m->a set first */

/* ---- look.c ---- */

/* Is the word in the list, commas between its words? NULL is an empty list. */
bool hop_has_word(const char *list, const char *word);
/* Who is to see compiled code: HOP_DEBUG=gdb, HOP_PERF=1. Either way it is compiled anew, not taken
 * from the cache, and its nests are functions with names. */
enum { HOP_LOOK_GDB = 1, HOP_LOOK_PERF = 2 };
int hop_look(void);

#endif
