/* inside.h -- what the parts of the emulated device know of each other. The device is one object,
 * guarded by one lock: whoever calls the driver waits until others' calls are over. */
#ifndef HOP_EMU_INSIDE_H
#define HOP_EMU_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/emu.h"

/* ---- what is asked of it by the environment (set.c) ---- */

typedef struct emu_set {
	uint64_t    seed;          /* HOP_EMU_SEED; else from the clock */
	int         sms;           /* HOP_EMU_SMS: so many blocks, times what fits one, are resident */
	size_t      memory;        /* HOP_EMU_MEMORY: bytes that the device has */
	bool        fault_stays;   /* HOP_EMU_FAULT=final: and no reset takes it away */
	bool        fault_is_code; /* HOP_EMU_FAULT=code: what goes wrong is a sticky error; else abort */
	bool        check;         /* HOP_EMU_CHECK=0: accesses of kernels are not looked at */
	bool        late;          /* HOP_EMU_LATE=0: streams do at once what they are told */
	const char *keep;          /* HOP_EMU_KEEP: a folder where texts and objects stay, with lines */
	const char *texts;         /* HOP_EMU_TEXTS: a folder where texts are put instead of compiled */
	const char *cxx;           /* HOP_EMU_CXX: the compiler of texts; else c++ */
} emu_set;
const emu_set *emu_settings(void);
uint64_t emu_random(void);
uint64_t emu_below(uint64_t n);        /* 0 .. n-1 */
void     emu_lock(void);
void     emu_look(void);               /* the same for who only looks, beside others who do */
void     emu_unlock(void);

/* ---- memory (memory.c) ---- */

/* A piece of device memory. shadow: who touched what last (check.c); NULL until somebody has. */
typedef struct emu_piece {
	struct emu_piece *next;
	char  *base, *map;
	size_t n, map_n;
	bool   is_mapped, is_allowed;          /* of a reserved range, and may be touched */
	void  *shadow;
	size_t nshadow;
} emu_piece;

int        emu_alloc(size_t n, void **out_p);          /* a CUresult, as are those below */
int        emu_free(void *p);
void       emu_free_all(void);                         /* a context ends */
emu_piece *emu_piece_of(const void *p);                /* NULL: not live device memory */
bool       emu_is_device(const void *p, size_t n);     /* all of it live */
size_t     emu_memory_free(void);
bool       emu_fences_hold(void);                      /* nobody wrote beside a piece */
void       emu_say_where(const void *p);               /* of an address, on stderr */

int        emu_reserve(size_t n, void **out_p);
int        emu_unreserve(void *p, size_t n);
int        emu_create(size_t n);                       /* counts: there is so much of it */
void       emu_release(size_t n);
int        emu_map(void *p, size_t n);
int        emu_allow(void *p, size_t n);
int        emu_unmap(void *p, size_t n);

int        emu_pin(void *p, size_t n);
int        emu_unpin(void *p);
bool       emu_is_pinned(const void *p, size_t n);     /* host memory that kernels may touch */

/* ---- kernels (run.c) ---- */

enum { EMU_PARAMS = 8 };

typedef struct emu_launch {
	const char *name;
	void      (*code)(void);
	hop_emu   **now;                   /* where the object looks for us */
	char       *statics, *statics_end; /* its __shared__ variables */
	const char *object, *object_end;   /* where it lies, and its file */
	const char *file;
	int         nparam;
	uint8_t     wide[EMU_PARAMS];      /* bytes of each */
	uint64_t    param[EMU_PARAMS];
	unsigned    grid[3], block;
	size_t      shared;
	bool        together;              /* all blocks run at once */
	bool        early;                 /* it may have been started before what is before it ended */
} emu_launch;
int  emu_run(const emu_launch *l);     /* a CUresult */

/* Whether a loop of a graph goes on. It lives as long as the graph that it was made in. by: the thread
 * of the kernel that runs which has set it; 0 = none. */
typedef struct emu_handle {
	struct emu_handle *next;       /* of all */
	unsigned           value, initial;
	uint64_t           by;
	const void        *of;
	int                used;       /* nodes that go by it */
} emu_handle;
emu_handle *emu_handle_of(unsigned long long handle);          /* NULL: there is none */

/* Something is wrong with the program that runs: says so, with the seed; aborts, or ends the launch. */
void emu_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

void emu_say_line(uint32_t site);      /* of the text, if there is a tool to tell */

/* ---- accesses (check.c) ---- */

/* Who does something: a thread, and how many times it has met its warp, its block. site: where it does
 * it, in the object. */
typedef struct emu_who { uint32_t block, thread, warps, blocks, site; } emu_who;

void emu_check_begin(const emu_launch *l, uint32_t nblock);
void emu_check_end(void);
void emu_check_shared(void *p, size_t n);              /* a block begins with it */
void emu_check_access(const emu_who *w, const void *p, size_t n, bool writes);
void emu_check_atomic(const emu_who *w, const void *p);

#endif
