/* driver.h -- the CUDA driver as a table of pointers, found at run time. Our own declarations, so that
 * hop builds where there is none; numbers and layouts below are part of its interface. */
#ifndef HOP_CUDA_DRIVER_H
#define HOP_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned long long hop_cuptr;          /* an address of the device */

enum {                                         /* what its functions give */
	HOP_CU_NOMEM = 2, HOP_CU_DEINIT = 4, HOP_CU_NODEVICE = 100, HOP_CU_NOTREADY = 600,
	HOP_CU_RESOURCES = 701, HOP_CU_TOGETHER = 720, HOP_CU_UNKNOWN = 999
};
enum {                                         /* attributes of a device */
	HOP_CU_SMS = 16, HOP_CU_MAJOR = 75, HOP_CU_MINOR = 76, HOP_CU_COOPERATIVE = 95,
	HOP_CU_SHARED = 97, HOP_CU_PAGES = 100, HOP_CU_VMM = 102, HOP_CU_POOLS = 115
};
enum { HOP_CU_FUNC_THREADS = 0, HOP_CU_FUNC_STATIC = 1, HOP_CU_FUNC_LOCAL = 3, HOP_CU_FUNC_REGS = 4,
       HOP_CU_FUNC_SHARED = 8 };
enum { HOP_CU_POOL_KEEP = 4, HOP_CU_POINTER_TYPE = 2, HOP_CU_HOST = 1, HOP_CU_DEVICE = 2,
       HOP_CU_UNIFIED = 4, HOP_CU_NODE_COOPERATIVE = 2, HOP_CU_NONBLOCKING = 1, HOP_CU_NOTIMING = 2,
       HOP_CU_PORTABLE = 1, HOP_CU_MAPPED = 2, HOP_CU_PINNED = 1, HOP_CU_READWRITE = 3,
       HOP_CU_CAPTURE_RELAXED = 2, HOP_CU_CONDITIONAL = 13, HOP_CU_IF = 0, HOP_CU_WHILE = 1,
       HOP_CU_ASSIGN = 1, HOP_CU_EARLY = 1 };
#define HOP_CU_LEGACY ((void *)1)              /* the stream of users who name none */

typedef struct hop_cucopy {                    /* CUDA_MEMCPY2D */
	size_t from_x, from_y;
	int    from_type;
	const void *from_host;
	hop_cuptr from;
	void  *from_array;
	size_t from_step, to_x, to_y;
	int    to_type;
	void  *to_host;
	hop_cuptr to;
	void  *to_array;
	size_t to_step, bytes, rows;
} hop_cucopy;

typedef struct hop_cuprop {                    /* CUmemAllocationProp */
	int    type, handles;
	int    place, id;                      /* CUmemLocation: 1 = a device; which */
	void  *meta;
	unsigned char flags[8];
} hop_cuprop;

typedef struct hop_cuaccess { int place, id, flags; } hop_cuaccess;

typedef struct hop_cunode {                    /* CUDA_KERNEL_NODE_PARAMS_v2 */
	void    *function;
	unsigned grid[3], block[3], shared;
	void   **params, **extra;
	void    *kernel, *context;
} hop_cunode;

typedef struct hop_cunodes {                   /* CUgraphNodeParams, of a conditional node */
	int      type, pad[3];                 /* HOP_CU_CONDITIONAL */
	unsigned long long handle;
	int      kind;                         /* HOP_CU_IF, HOP_CU_WHILE */
	unsigned size;                         /* graphs in it: 1 */
	void   **graph;                        /* the driver's array of them, once it is made */
	void    *context;
	long long rest[26];
} hop_cunodes;

typedef struct hop_cuedge {                    /* CUgraphEdgeData */
	unsigned char from, to, type, pad[5];  /* HOP_CU_EARLY of both: see graph.c */
} hop_cuedge;

typedef union hop_cuvalue {                    /* CUlaunchAttributeValue */
	char pad[64];
	int  cooperative;
} hop_cuvalue;

typedef struct hop_cu {
#define HOP_CU(name, symbol, params) int (*name) params;
#define HOP_CU_LATE HOP_CU
#include "target/cuda/driver.def"
#undef HOP_CU_LATE
#undef HOP_CU
} hop_cu;

/* Open the library that HOP_CUDA_DRIVER names, else the system's, once a process; NULL: all is well.
 * Texts stay. */
const char *hop_cu_open(const hop_cu **out_cu);
const char *hop_cu_text(const hop_cu *cu, int error);  /* what it means; stays */

#endif
