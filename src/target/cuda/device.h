/* device.h -- the device that programs run on, one a process: its context, which other libraries of the
 * process share (the driver's primary one), and its memory. Any thread may call any of this. */
#ifndef HOP_CUDA_DEVICE_H
#define HOP_CUDA_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/memory.h"
#include "target/cuda/driver.h"

/* Memory that runs borrow: frames, scratch, arrays that are staged. */
typedef struct hop_cuda_block { hop_cuptr p; size_t bytes; } hop_cuda_block;
enum { HOP_CUDA_KEPT = 64 };                   /* blocks that are kept for others */

/* Somebody who can give memory of the device back when there is none. */
typedef struct hop_cuda_hoard {
	void (*drop)(void *user);
	void  *user;
	struct hop_cuda_hoard *next, **at;
} hop_cuda_hoard;

/* What a run has for itself beside that: see kit.c. */
enum { HOP_CUDA_LOCKED = 1 << 15 };            /* bytes of locked memory of this process */
typedef struct hop_cuda_kit { void *stream, *event; char *locked; } hop_cuda_kit;
typedef struct hop_cuda_spare hop_cuda_spare;

typedef struct hop_cuda {
	const hop_cu *cu;
	void    *context;
	int      dev, pid;
	unsigned gen;                          /* of the context: what an older one made is gone */
	int      sms, major, minor;
	int64_t  shared;                       /* bytes that a block may have, at most */
	size_t   total, grain;                 /* bytes of memory; of what is mapped at once */
	bool     together;                     /* it starts grids whose blocks wait for each other */
	bool     vmm, pools;                   /* it maps memory at addresses; allocates by streams */
	bool     pages;                        /* it reads any memory of this process */
	void    *pool;                         /* the driver's */
	void    *side;                         /* a stream for what is to happen at once */
	char     about[192], arch[16];
	atomic_int broken;
	char     why[320];                     /* it broke */
	pthread_mutex_t lock;                  /* of what follows */
	int            nkept;
	hop_cuda_block kept[HOP_CUDA_KEPT];    /* the longest kept first */
	hop_cuda_hoard *hoards;
	hop_cuda_spare *spare;                 /* kits that nobody uses */
} hop_cuda;

/* ---- device.c. Texts say what is wrong and stay; NULL = nothing ---- */

/* The device, started at the first call. */
const char *hop_cuda_open(hop_cuda **out_d);
/* The same if it was started; else NULL. */
hop_cuda   *hop_cuda_started(void);
/* Make its context that of this thread; give the result to leave. */
bool        hop_cuda_enter(const hop_cuda *d);
void        hop_cuda_leave(const hop_cuda *d, bool entered);
/* What an answer of the driver means. Some break the context for good: then that is noted, with who
 * was running; all later calls say so until it is renewed. */
const char *hop_cuda_said(hop_cuda *d, int error, const char *who);
/* Why the device cannot be used by what was made in generation gen: it broke, or this is a child. */
const char *hop_cuda_unfit(const hop_cuda *d, unsigned gen);
/* A new context in the place of one that broke. All that was made in it is gone. Where the driver has
 * none for this process any more, that is said. */
const char *hop_cuda_renew(hop_cuda *d);
/* Whom cubins are for: HOP_CUDA_ARCH, else the device, else sm_90a. */
void        hop_cuda_arch(char out[16]);
/* The driver knows loops in graphs, or there is none: then programs are for those that do. */
bool        hop_cuda_loops(void);

/* ---- pool.c ---- */

/* At least n bytes (n = 0: none), aligned to 256: 0, or the driver's error. What is kept for others is
 * given up first when there is no memory. */
int  hop_cuda_take(hop_cuda *d, size_t n, hop_cuda_block *out);
/* Back: nobody uses it any more. gen: when it was taken. */
void hop_cuda_give(hop_cuda *d, unsigned gen, hop_cuda_block *b);
/* Give all that is kept back to the driver. */
void hop_cuda_relieve(hop_cuda *d);
void hop_cuda_hoard_add(hop_cuda *d, hop_cuda_hoard *h);
void hop_cuda_hoard_remove(hop_cuda *d, hop_cuda_hoard *h);

/* ---- kit.c ---- */

/* A kit, all of it or none: 0, or the driver's error. */
int  hop_cuda_kit_take(hop_cuda *d, hop_cuda_kit *out);
/* Back: nothing that its stream was given is left, nothing reads its memory. gen: when it was taken. */
void hop_cuda_kit_give(hop_cuda *d, unsigned gen, hop_cuda_kit *k);

/* ---- memory.c ---- */

extern const hop_memory hop_cuda_memory;

#endif
