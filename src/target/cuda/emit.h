/* emit.h -- shared by the files that turn a loop program into CUDA C. What a text for a device has in
 * common with one for a CPU (registers, sizes, scalar operations, constants) is of target/c: hop_cuemit
 * is its hop_cemit, and `cu` holds what is beside.
 *
 * Threads, and what they do together, go through these functions of the prelude, which an emulator
 * brings instead of those that stand under #ifdef __CUDACC_RTC__:
 *
 *	types     int8_t .. uint64_t, INT64_C .., HOP_FN (static device function), HOP_FAR (called)
 *	          hop_shared (unsigned char *), HOP_UNROLL (before a `for`)
 *	          __builtin_fma, fabs, copysign, and the same with f
 *	void      hop_barrier_block(), hop_barrier_warp()
 *	void      hop_fence()                          what was written before it, all blocks see
 *	void      hop_pause()                          somebody else is waited for
 *	uint32_t  hop_shuffle_u32(uint32_t v, int m)   of the lane whose number differs by the bits m
 *	uint32_t  hop_arrive(uint32_t *p, uint32_t n)  *p += n, releasing; what it was
 *	uint32_t  hop_look(const uint32_t *p)          *p, acquiring
 *	uint32_t  hop_ticket(uint32_t *p, uint32_t last)   *p = *p == last ? 0 : *p + 1; what it was
 *	int32_t   hop_count(int32_t *p)                *p += 1; what it was, for each who counts another
 *	float     hop_most_f32(float, float)           the larger; NaN if one is, and +0 is more than -0
 *	float     hop_least_f32(float, float)          the smaller, the same way
 *	void      hop_go_on(hop_word loop, bool v)     whether a loop of the graph has another turn, or
 *	                                               a branch is taken
 *	void      hop_early()                          the next kernel may start; the one before has ended
 *	void     *hop_global(hop_word a)               an address in the memory of the device
 *	float     hop_recip_f32(float a)               about 1 / a
 *	          HOP_UNROLL_BY(n)                     before a `for`
 */
#ifndef HOP_CUDA_EMIT_H
#define HOP_CUDA_EMIT_H

#include "target/c/emit.h"
#include "target/cuda/cuda.h"

typedef hop_cemit hop_cuemit;
typedef struct hop_cuda_slices hop_cuda_slices;

enum { HOP_CUDA_WARP = 32 };

/* Who runs a statement with the same values: see hop_level. */
enum hop_who { HOP_WHO_TEAM, HOP_WHO_BLOCK, HOP_WHO_WARP, HOP_WHO_ONE };

/* What callers and the host must know of a function. Found before any text is written (analyse.c). */
typedef struct hop_cufunc {
	bool    leaves;            /* it, or what it calls, can leave: it looks at `saved` */
	bool    polls;             /* it, or what it calls, has loops that may be long, run together */
	bool    watches;           /* the same of loops that a thread runs alone and that may have no end */
	bool    lasts;             /* it has a BARRIER_LAST */
	bool    tells;             /* it decides whether a loop of the host's list goes on */
	bool    ends;              /* it leaves or it polls: its status counts */
	bool    meets;             /* a block reduction or a tile is in it or in what it calls */
	bool    meet;              /* all its threads can wait for each other: one block, or resident ones */
	bool    alone;             /* every kernel that reaches it is one block */
	bool    makes;             /* it makes records for those that it calls */
	int     sites;             /* statements that call it */
	int     calls;             /* 1 + who calls it (enum hop_who); 0 = nobody does */
	int     threads;           /* of a block; 0 = kernels that reach it have different numbers */
	int     rows;              /* most accumulators of a block reduction */
	int64_t shared;            /* where scratch begins, behind all that those which call it share */
	int64_t scratch;           /* bytes of it, once it is written; those of callees too */
	int64_t save;              /* words that it and what it calls push */
} hop_cufunc;

/* Of the function that is being written, beside hop_cemit. */
struct hop_cuda {
	hop_cufunc     *func;      /* [nfunc] */
	hop_cuda_needs *needs;
	bool            looks;     /* kernels look whether the run goes on */
	bool            waits;     /* kernels may have been started before what they rest on has ended */
	hop_status      st;        /* why there is no text: the first reason */
	enum hop_who    who;
	bool            last;      /* behind a BARRIER_LAST: the team is the block that is left */
	bool            apart;     /* lanes of a warp have looked alone, and not met since */
	bool            met;       /* threads of the block have just met: nobody uses scratch */
	const char    **round;     /* [nreg+1+OWN] of an unrolled loop over threads: which round it is */
	bool           *touched;   /* [nbuf] it stands in the text */
	int64_t        *most;      /* [nreg+1+OWN] not 0: the register is an int, less than this */
	const char     *copy;      /* behind names of registers: one of several iterations at once, or "" */
	bool            quiet;     /* lines of the user stand there already */
	const char     *guard;     /* loads are not done where this is false; NULL = they are */
	/* Of several iterations: all but stores, or of those loads and what they need, or the others; or
	 * stores. */
	enum { HOP_CU_ALL, HOP_CU_VALUES, HOP_CU_LOADS, HOP_CU_REST, HOP_CU_STORES } part;
	bool           *early;     /* [nreg+1] a load, or what one needs; NULL = not known */
	/* All rounds of a loop at once (emit_row.c): how many, 0 = none; k_ counts them. */
	int             lot, lot_wide;
	hop_reg         lot_var;
	bool           *packed;    /* [nbuf] accessed by pieces */
	bool           *loaded;    /* [nreg+1+OWN] of a lot: it is */
	bool            row, polls, watches, status, even;   /* used: variables of the head */
	bool            result;    /* what a statement gives is declared at the top */
	struct hop_cudata *data;   /* constants that have a text */
	int             ndata;
	int            *with;      /* hop_cuda_slices.with; NULL = nobody wants to know */
	int64_t         own, below;        /* most words that it pushes, and those that it calls */
	/* Functions that leave: emit_leave.c. */
	bool            high;      /* the block holds points to go on at: no variable is declared in it */
	int             npoint;
	hop_buf        *resume;
	hop_reg        *top;       /* registers declared at the top */
	int             ntop;
	hop_reg        *scope;     /* those of them that have a value here */
	int             nscope, outer;     /* the first `outer` have it since before the innermost loop */
	int            *until;     /* [nreg+1+OWN] the statement, by number, that uses it last */
	int             pos;       /* of the statement */
};

/* analyse.c */
hop_status  hop_cuda_analyse(hop_env *e, const hop_prog *p, hop_cufunc *func);
bool        hop_cuda_polls(const hop_stmt *s);               /* where it is run by all */
bool        hop_cuda_watches(const hop_stmt *s);             /* by a thread alone */
bool        hop_cuda_leaves(const hop_prog *p, const hop_cufunc *func, const hop_stmt *s);
bool        hop_cuda_block_leaves(const hop_prog *p, const hop_cufunc *func, const hop_block *b);

/* emit.c */
void        hop_cuda_block(hop_cuemit *e, const hop_block *b);
/* The same, but registers stay in scope. high: it holds points to go on at. */
void        hop_cuda_all(hop_cuemit *e, const hop_block *b, bool high);
/* There is no text for this: the first reason is what the caller hears. */
void        hop_cuda_refuse(hop_cuemit *e, const hop_stmt *s, const char *why);
bool        hop_cuda_alone(const hop_cuemit *e);             /* the team is one block */
const char *hop_cuda_one(const hop_cuemit *e);               /* the same as text: "true", "false" */
/* A test for one thread of those that are together; NULL: it is alone. */
const char *hop_cuda_first(const hop_cuemit *e);
/* A register, declared where it stands or at the top; %s is what it is. */
void        hop_cuda_define(hop_cuemit *e, hop_reg r, hop_dtype d, const char *value);
/* So many bytes of what the block shares, for a statement: where they begin, an expression.
 * Statements that follow have the same: barriers are the caller's. */
const char *hop_cuda_scratch(hop_cuemit *e, int64_t bytes);
const char *hop_cuda_row(hop_cuemit *e);                     /* of block reductions: `row` says which */
const char *hop_cuda_word(hop_cuemit *e);                    /* a word that the block shares */
/* Programs as texts without a prelude; kernel and needs are filled. at: see pieces.c; or NULL. */
hop_status  hop_cuda_prog(hop_env *e, const hop_prog *p, const char *name, hop_buf *out,
                          hop_cuda_kernel *kernel, hop_cuda_needs *needs, hop_cuda_slices *at);

/* pieces.c */
/* Where the parts of a text are, and which of them need each other. */
typedef struct hop_cuda_slice { size_t from, to; } hop_cuda_slice;
struct hop_cuda_slices {
	hop_cuda_slice *head, *body;       /* [nfunc+1] of a function; empty: it has none. Bodies, last: of
	                                      the constants that lists hand on */
	int            *with;              /* [nfunc+1] as trees: one that it needs; -1 = none */
};
void        hop_cuda_together(int *with, int a, int b);

/* emit_addr.c */
/* Names of all buffers; constants are put to o. */
void        hop_cuda_bases(hop_cuemit *e, hop_buf *o);
void        hop_cuda_room(hop_cuemit *e);                    /* for all constants of the program */
/* Constants that HOST function i hands on. */
void        hop_cuda_given(hop_cuemit *e, int i, hop_buf *o);
void        hop_cuda_declare(hop_cuemit *e, hop_buf *o);
const char *hop_cuda_index(hop_cuemit *e, const hop_addr *a);
const char *hop_cuda_at(hop_cuemit *e, const hop_addr *a);
const char *hop_cuda_ptr(hop_cuemit *e, const hop_addr *a);  /* as a word */
const char *hop_cuda_value(hop_cuemit *e, const hop_addr *a);

/* emit_loop.c, emit_red.c */
int64_t     hop_cuda_known(const hop_stmt *s);               /* iterations, or -1 */
bool        hop_cuda_is_simple(const hop_block *b);          /* operations, in any order */
bool        hop_cuda_meet(const hop_lfunc *f, int a, int b); /* buffers that may be the same memory */
const char *hop_cuda_extent(hop_cuemit *e, const hop_stmt *s);
const char *hop_cuda_threads(hop_cuemit *e);                 /* of a block */
const char *hop_cuda_int(const hop_stmt *s);                 /* the type of its variable */
const char *hop_cuda_var(hop_cuemit *e, const hop_stmt *s);  /* its name; e->nvar-- ends it */
void        hop_cuda_loop(hop_cuemit *e, const hop_stmt *s);
/* Loops over threads that use what each has for itself (SPACE_OWN): all rounds, unrolled. Opens two
 * blocks. */
bool        hop_cuda_owns(const hop_cuemit *e, const hop_stmt *s);
void        hop_cuda_open_rounds(hop_cuemit *e, const hop_stmt *s, const char *v);
void        hop_cuda_red(hop_cuemit *e, const hop_stmt *s);

/* emit_row.c */
int         hop_cuda_rounds(const hop_cuemit *e, const hop_stmt *s);     /* of a thread */
/* The iteration of round q; base: hop_thread() times the loop's width. */
const char *hop_cuda_round(hop_cuemit *e, const hop_stmt *s, const char *base, const char *q);
/* All rounds of a loop that hop_cuda_owns; false: it is one, or more than operations. */
bool        hop_cuda_lot(hop_cuemit *e, const hop_stmt *s, const char *v, const char *at);
/* Around what is done for each of a lot: nothing if there is none. */
void        hop_cuda_lot_open(hop_cuemit *e, int step);
void        hop_cuda_lot_close(hop_cuemit *e);
void        hop_cuda_lot_define(hop_cuemit *e, hop_reg r, const char *type, hop_dtype d,
                                const char *value);
/* A statement of a lot, if there is a better way than one by one. */
bool        hop_cuda_lot_load(hop_cuemit *e, const hop_stmt *s);
bool        hop_cuda_lot_store(hop_cuemit *e, const hop_stmt *s);
bool        hop_cuda_lot_div(hop_cuemit *e, const hop_stmt *s);

/* emit_loop.c: bodies */
/* How many iterations a sharer takes at once; 0 = one after the other. Then these: v, v + apart, ..
 * as far as they are below n (NULL: they are), all loads first; a reduction's values go to `at`. */
int         hop_cuda_each(const hop_cuemit *e, const hop_stmt *s);
void        hop_cuda_several(hop_cuemit *e, const hop_stmt *s, int each, const char *apart,
                             const char *v, const char *n, const char *at);
/* The body once, and its values into the accumulators: `at` follows their names. */
void        hop_cuda_pass(hop_cuemit *e, const hop_stmt *s, const char *at);
/* Two values of an accumulator. */
const char *hop_cuda_both(hop_cuemit *e, const hop_acc *c, const char *a, const char *b);
void        hop_cuda_carries(hop_cuemit *e, const hop_stmt *s);
void        hop_cuda_again(hop_cuemit *e);                   /* behind what threads do alone */
void        hop_cuda_barrier(hop_cuemit *e, int which);      /* enum hop_barrier */

/* emit_while.c */
void        hop_cuda_while(hop_cuemit *e, const hop_stmt *s);
/* Few instructions, and no thread waits in them: trips of a loop are worth unrolling. */
bool        hop_cuda_is_short(const hop_cuemit *e, const hop_block *b);
#define HOP_CUDA_FEW "_Pragma(\"unroll 8\")"

/* emit_call.c, emit_leave.c */
void        hop_cuda_call(hop_cuemit *e, const hop_stmt *s);
/* Calls from s on, a barrier behind each, that differ in what they are given alone, as a loop: the last
 * statement that is written by then; NULL = none is. */
const hop_stmt *hop_cuda_calls(hop_cuemit *e, const hop_stmt *s);
void        hop_cuda_effect(hop_cuemit *e, const hop_stmt *s);
void        hop_cuda_grow(hop_cuemit *e, const hop_stmt *s);
void        hop_cuda_check(hop_cuemit *e, const hop_stmt *s);
/* Ask now and then whether the run is to stop: every so many trips. trips: the name of how many follow,
 * at most as many, before it is asked again; NULL = one. */
int         hop_cuda_between(const hop_cuemit *e, const hop_stmt *s);
void        hop_cuda_poll(hop_cuemit *e, const hop_stmt *s, const char *trips);
int         hop_cuda_point(hop_cuemit *e);                   /* a label here, to go on at */
void        hop_cuda_label(hop_cuemit *e, int point);        /* the same with a number that it has */
/* That a call, an int expression, gives not 0, which `st` then is. */
const char *hop_cuda_failed(hop_cuemit *e, const char *call);
/* The registers that live, then that point, are saved; the function gives `status`. */
void        hop_cuda_quit(hop_cuemit *e, int point, const char *status);
/* r is declared at the top, and has a value from here on. */
void        hop_cuda_keep(hop_cuemit *e, hop_reg r, hop_dtype d);
void        hop_cuda_lasts(hop_cuemit *e);                   /* fills last */

/* tiles.c; gemm.c: false = it does not do this one, and has written nothing. */
void        hop_cuda_tile(hop_cuemit *e, const hop_stmt *s);
bool        hop_cuda_gemm(hop_cuemit *e, const hop_stmt *s);
void        hop_cuda_gemm_prelude(hop_buf *o);               /* for texts that say hop_product< */
/* Blocks that a multiprocessor should have room for, for the sake of products in kernel f; 1 = any. */
int         hop_cuda_gemm_least(const hop_lfunc *f);

/* prelude.c: what the text uses of it, in front of it. */
void        hop_cuda_prelude(hop_env *e, const hop_buf *text, hop_buf *out);

#endif
