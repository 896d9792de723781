/* image.h -- a program loaded onto the device and its runs. Any number of threads may run an image at
 * once: each run has a slot of its own. */
#ifndef HOP_CUDA_IMAGE_H
#define HOP_CUDA_IMAGE_H

#include "target/beside.h"
#include "target/cuda/cublaslt.h"
#include "target/cuda/cuda.h"

/* ---- what is kept of the program: the lists of its HOST functions. Sizes and types are the context's,
 * all else is in the image's arena ---- */

enum hop_cuda_base { HOP_BASE_NONE, HOP_BASE_FRAME, HOP_BASE_SCRATCH, HOP_BASE_TAPE, HOP_BASE_PARAM };

/* An address that a list hands on: offset[0] bytes and offset[1] elements behind a base. */
typedef struct hop_cuda_arg {
	enum hop_cuda_base base;       /* NONE: the constant of the module that `fixed` is */
	int       index;               /* TAPE: slot; PARAM: of the function */
	hop_cuptr fixed;
	int64_t   elem;                /* bytes of an element */
	hop_size  offset[2];
} hop_cuda_arg;

/* Or a loop, or a branch: nbody of them are a trip. */
typedef struct hop_cuda_call {
	int           callee;
	bool          is_part;
	hop_size      frame, *sizes;
	int           narg;
	hop_cuda_arg *arg;
	int           nbody, each;     /* so many trips are told at once; 0: a branch */
	hop_size      trips;           /* of a loop, if sizes tell; 0: they do not */
	struct hop_cuda_call *body;
} hop_cuda_call;

/* A KERNEL that is one product, or a batch of them, and nothing else (product.c): C[m, n] = A[m, k]
 * B[k, n], as hop_gemm has it; step: from one of the batch to the next. Sizes are in elements. */
typedef struct hop_cuda_product {
	hop_size     m, n, k, batch;
	hop_size     as[2], bs[2], cs[2], step[3];
	hop_cuda_arg arg[3];           /* A, B, C */
	hop_dtype    in, out;
	bool         beta;
} hop_cuda_product;

typedef struct hop_cuda_func {
	const char     *name;
	enum hop_level  level;
	int             nsym, nparam;
	hop_size        scratch;
	int             ncall;         /* HOST */
	hop_cuda_call  *call;
	hop_team        team;          /* KERNEL */
	hop_cuda_kernel is;
	void           *function;
	int             room;          /* resident: blocks that are there at once */
	const hop_cuda_product *product;       /* that a library may do instead; NULL = none */
} hop_cuda_func;

typedef struct hop_cuda_param {
	hop_size count;
	int64_t  elem;
	int      alias;                /* as hop_lbuf.alias */
	bool     in, out;              /* copied to the device before, to the host after a run */
} hop_cuda_param;

typedef struct hop_cuda_effect {
	int  narg, nin;
	bool is_progress;
	const hop_type *const *type;
} hop_cuda_effect;

/* ---- plans: what a run of certain sizes launches (plan.c) ---- */

/* A word of the table: v behind a base of the run; enum hop_cuda_base, parameters from there on, and
 * tape t as -1 - t. */
typedef struct hop_cuda_word { int base; int64_t v; } hop_cuda_word;

/* Of a kernel; or, where its operands lie as the library wants them, of that. Or a loop, whose trip is
 * the `body` launches behind it, and about which the kernel before it and the last of a trip decide;
 * or a branch, which is the same without trips. */
typedef struct hop_cuda_launch {
	int      func;
	unsigned grid[3], rec;
	int      body, each;           /* body 0 = it is neither; each 0 = a branch */
	bool     spread;               /* a kernel of a loop that is not there: what it decides is known */
	const hop_lt *lt;              /* NULL: always the kernel */
	hop_cuda_word at[3];           /* its operands: L, R, D */
} hop_cuda_launch;

typedef struct hop_cuda_plan {
	struct hop_cuda_plan *next;
	size_t   size;                 /* of all of it */
	unsigned serial;               /* no other plan of the image has it */
	int      users;                /* runs that go by it */
	int64_t *syms, *bytes;         /* [nsym of function 0], [its parameters] */
	int64_t  frame, scratch, work; /* work: what libraries need for themselves */
	int      nlaunch, nword, nlt;  /* nlt: launches that a library may do */
	hop_cuda_launch *launch;
	hop_cuda_word   *word;
	bool     looks, cancels, leaves;       /* a kernel of it does */
	bool     loops;                /* it has some: then it is a graph always */
} hop_cuda_plan;

/* ---- slots: what a run has for itself, kept from one to the next (slot.c) ---- */

enum { HOP_CUDA_PARTS = 40 };
typedef struct hop_cuda_trail {        /* a tape */
	hop_cuptr p;
	size_t    reserved, bytes;
	int       nhandle;                 /* of memory that is mapped one behind the other */
	struct { unsigned long long handle; size_t bytes; } part[HOP_CUDA_PARTS];
} hop_cuda_trail;

enum { HOP_CUDA_EXECS = 8 };
typedef struct hop_cuda_slot {
	struct hop_cuda_slot *next;
	hop_cuda_kit   kit;
	hop_cuda_block own;            /* state, save, request, ring */
	hop_cuda_block table, frame, stage;
	hop_cuptr state, save, request, ring;
	int64_t   ring_bytes;
	/* locked memory of this process: what the device reads and writes. As far as it fits, the kit's */
	hop_state *want, *is;          /* the state's first 256 bytes: to be there, and last known there */
	int       *cancel;
	hop_word  *words;              /* [table_cap] as they are in the table */
	int        nword, table_cap;
	char      *locked;             /* [locked_cap] small arrays on their way */
	size_t     locked_cap;
	hop_cuptr *addr;               /* [parameters] where they are in this run */
	int64_t   *at;                 /* [parameters] in stage */
	unsigned char *kind;           /* [parameters] stage.c: what has to be done with it */
	hop_cuptr  work;               /* in frame: see hop_cuda_plan.work */
	struct {                       /* graphs, newest first */
		unsigned serial;       /* of the plan */
		int      runs;
		void    *exec, *graph; /* what it was made of stays where that has loops */
		hop_hash at;           /* addresses that a library's part of it has for good */
		bool     plain;        /* there is none: its library cannot be part of one */
	} exec[HOP_CUDA_EXECS];
	int        nexec;
	hop_cuda_trail *tape;          /* [ntape] */
	bool       dropped;            /* the state knows tapes that are gone */
} hop_cuda_slot;

typedef struct hop_cuda_image {
	hop_mem   mem;
	hop_arena a;
	hop_cuda *d;
	unsigned  gen;
	int       nmodule;             /* of each text of the program; 0 of what was never loaded */
	void     *module[HOP_BESIDE];
	const char *name;              /* of the entry */
	int       nfunc, nparam, neffect, ntape, nsym;
	hop_size  frame;               /* of the entry */
	hop_cuda_func   *func;
	hop_cuda_param  *param;
	hop_cuda_effect *effect;
	hop_cuda_needs   needs;
	bool      careful;             /* wait for every kernel, to name the one that fails */
	bool      early;               /* its kernels may be started before their time: see graph.c */
	hop_cuda_hoard hoard;
	pthread_mutex_t lock;          /* of what follows */
	unsigned  serial;
	int       nplan;
	hop_cuda_plan *plans;          /* newest first */
	hop_lt   *products;            /* shapes that the library was asked for */
	hop_cuda_slot *idle, *pending; /* pending: their run goes on */
} hop_cuda_image;

/* One run. */
typedef struct hop_cuda_run {
	hop_cuda_image *i;
	hop_cuda_plan  *p;
	hop_cuda_slot  *s;
	hop_rt         *rt;
	void           *stream;
	void *const    *params;
	void           *rest, *rest_of;        /* a graph of what is left, while it runs */
	bool            lent;          /* it goes on without us */
	bool            alone;         /* without libraries */
	bool            in_turn;       /* no kernel starts before the one before it has ended */
	size_t          near_in, near_begin, near_end, staged;     /* stage.c */
	const char     *who;           /* what was tried last, for messages; NULL = one of its kernels */
} hop_cuda_run;

/* ---- load.c ---- */

hop_status hop_cuda_load(hop_env *e, const hop_bytes *b, const hop_prog *p, const char *entry,
                         hop_image *out_i);
void       hop_cuda_unload(hop_image *i);
/* What load takes: header, kernels' descriptions, cubins each behind its length, seal. */
hop_status hop_cuda_pack(hop_env *e, int nfunc, const hop_cuda_kernel *kernel,
                         const hop_cuda_needs *needs, const char *arch, int n, const hop_bytes *cubin,
                         hop_bytes *out_b);

/* An address of list f, without its terms; HOP_ETARGET where a list cannot name it. */
hop_status hop_cuda_copy_arg(hop_env *e, const hop_lfunc *f, const hop_addr *a, hop_cuda_arg *out);

/* ---- product.c ---- */

/* What kernel f is, if it is nothing but products; else NULL. */
const hop_cuda_product *hop_cuda_product_of(hop_env *e, hop_cuda_image *i, const hop_lfunc *f);
/* How the library does it for these sizes, and which operands are its L, R and D; NULL: it does not. */
const hop_lt *hop_cuda_product_way(hop_cuda_image *i, const hop_cuda_product *q, const int64_t *syms,
                                   int nsym, int order[3]);

/* ---- plan.c ---- */

/* The plan for these sizes, kept for the next run of them; give it back. NULL and a text: there is
 * none. */
hop_cuda_plan *hop_cuda_plan_take(hop_cuda_image *i, const int64_t *syms, const char **out_why);
void           hop_cuda_plan_give(hop_cuda_image *i, hop_cuda_plan *p);
void           hop_cuda_plans_free(hop_cuda_image *i);

/* ---- slot.c. Numbers are the driver's errors ---- */

int  hop_cuda_slot_take(hop_cuda_image *i, hop_cuda_slot **out_s);
/* Back, when its run has ended; or when what its stream was given so far has. */
void hop_cuda_slot_give(hop_cuda_image *i, hop_cuda_slot *s);
int  hop_cuda_slot_lend(hop_cuda_image *i, hop_cuda_slot *s, void *stream);
void hop_cuda_slots_free(hop_cuda_image *i);
void hop_cuda_slot_forget(hop_cuda_image *i, hop_cuda_slot *s, int k);         /* its graph number k */
/* Room for so many words in the table, so many bytes of locked memory. */
int  hop_cuda_slot_room(hop_cuda_image *i, hop_cuda_slot *s, int nword, size_t locked);

/* ---- stage.c ---- */

/* Find a place on the device for each parameter, copy what is read there; back what was written. */
int  hop_cuda_stage_in(hop_cuda_run *r, const unsigned char *there);
int  hop_cuda_stage_out(hop_cuda_run *r);

/* ---- tape.c ---- */

/* Make a tape at least so long; its content stays. */
int  hop_cuda_tape_grow(hop_cuda_image *i, hop_cuda_trail *t, size_t bytes, void *stream);
void hop_cuda_tape_drop(hop_cuda_image *i, hop_cuda_trail *t);

/* ---- graph.c ---- */

/* All launches of the run's plan from one on, ready to be launched at once. out_graph: what it was made
 * of, where that must stay as long; else NULL. */
int      hop_cuda_graph_make(hop_cuda_run *r, int first, void **out_exec, void **out_graph);
/* The addresses that it has for good, of those that a library is given. */
hop_hash hop_cuda_graph_addresses(const hop_cuda_run *r);
/* A library does the product, unless its arrays, which may be others', lie anyhow; it is done. */
bool     hop_cuda_by_library(const hop_cuda_run *r, const hop_cuda_launch *l);
int      hop_cuda_library_run(hop_cuda_run *r, const hop_cuda_launch *l, void *stream);

/* ---- launch.c ---- */

hop_cuptr hop_cuda_base_of(const hop_cuda_run *r, int base);   /* of a hop_cuda_word */
int  hop_cuda_launch_image(const hop_image *i, void *queue, void *const *params, const int64_t *syms,
                           void *workspace, hop_rt *rt);
/* Write what the table and the state should hold, if they do not. */
int  hop_cuda_bind(hop_cuda_run *r);
/* End the run with the driver's error: what launch returns. */
int  hop_cuda_stop(hop_cuda_run *r, int error);

/* ---- serve.c ---- */

/* What the device asked for: everything in the ring, then the request. 0: it may go on, or is done. */
int  hop_cuda_serve(hop_cuda_run *r);

#endif
