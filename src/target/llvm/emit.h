/* emit.h -- shared by the files that turn a loop program into LLVM IR.
 *
 * Vectors are made here, not by LLVM: inside a vectorised loop every register has one
 * value per lane. Most need no vector: a register is uniform (same in all lanes), linear
 * (lane 0 plus lane times step: loop variables and addresses) or varying (a vector).
 * Control flow stays uniform; the schedule only picks loops where that holds. */
#ifndef HOP_EMIT_H
#define HOP_EMIT_H

#include "loop/lanes.h"
#include "loop/walk.h"
#include "target/llvm/llvm.h"

/* An emitted register. depth is the number of open loops at its definition: what depends
 * on nothing deeper may be computed before the loop at that depth is entered. */
typedef struct hop_ev {
	hop_lv       *v;          /* scalar if UNI, lane 0 if LIN, vector if VAR */
	hop_lv       *step;       /* LIN: i64 */
	enum hop_lane lane;
	hop_dtype     dtype;
	int           depth;
} hop_ev;

enum { HOP_MAXDEPTH = 512 };     /* twice what loop_verify.c lets through, and a tile's */

/* The function being written. Saved and replaced while a loop body is outlined. */
typedef struct hop_efn {
	hop_lv   *fn, *params, *syms, *ws, *rt;
	hop_lbb  *entry;                 /* ends in a branch; holds what is computed once */
	hop_lbb  *pre[HOP_MAXDEPTH];     /* pre[d]: ends in the branch into the loop at d */
	int       depth;
	hop_ev   *reg;                   /* [nreg+1] */
	hop_lv  **base;                  /* [nbuf] address, once asked for */
	hop_lv  **sym;                   /* [nsym] */
	struct hop_esize { hop_size s; hop_lv *v; struct hop_esize *next; } *size;
	hop_lv   *dummy;                 /* 64 zero bytes, read by masked-off scalar loads */
	hop_lv   *stack[3];              /* gemm.c's panel, sums, tile: one set a function */
	bool      outlined;              /* a body for rt->parallel: cannot fail or fork */
	hop_lv   *args;                  /* the stack array that calls share */
	hop_lv   *sums;                  /* emit_sum.c: an array for results of blocks */
	hop_lv   *cancel;                /* address of the flag, once asked for */
	hop_lbb  *stop;                  /* returns `status`, once asked for */
	hop_lv   *status;
	hop_lv   *seen;                  /* debug.c: the function, if debuggers know it: fn may be one */
	hop_lmd  *scope, *at;            /* beside it; the block and the line we are in */
	hop_lmd  *file;
	int       deep;                  /* bodies of loops that we are in */
	bool     *shown;                 /* [nbuf] carries that are variables here; NULL = none */
	hop_lv  **slot;                  /* [nbuf] where the address of a carry is kept */
} hop_efn;

enum { HOP_XREG = 97 };

typedef struct hop_emit {
	hop_env         *env;
	const hop_llvm  *L;
	const hop_prog  *p;
	const struct hop_split *split;   /* which functions this module has: those of part */
	int              which;          /* `which`; the others are only declared */
	const hop_lfunc *f;
	int              index;          /* of f in p */
	hop_lfunc        own;            /* *f with registers of our own added */
	hop_lcx         *cx;
	hop_lmod        *mod;
	hop_lbld        *b;
	hop_lt          *i1, *i8, *i16, *i32, *i64, *f32, *f64, *ptr, *vd;
	hop_lt          *entry_type, *body_type;
	hop_lv         **fn;             /* [nfunc] */
	const hop_machine *m;            /* that the program was scheduled for */
	int              nest;           /* parallel loops around */
	bool             asks;           /* the outermost of them is long: steps right in it ask
	                                    whether to go on */
	unsigned         md_invariant;
	hop_lv          *md_empty;
	hop_efn          s;
	int              lanes;          /* 1 = scalar code */
	int              wide;           /* lanes of the widest part of the loop vectorised */
	hop_lv          *mask;           /* <lanes x i1>; NULL = all lanes active */
	uint8_t         *cls;            /* [nreg+1] enum hop_lane in the loop vectorised */
	bool            *readonly;       /* [nbuf] nobody writes it while the function runs */
	hop_lv         **data;           /* [nbuf] bytes of a CONST, for outlined parts too */
	hop_reg          xreg;           /* first of HOP_XREG registers kept: all but one for
	                                    tiles as loops, one for emit_sum.c */
	struct hop_epart { const hop_stmt *s; hop_lv *begin, *end; } part;       /* a loop of which
	                                    only these iterations are run; s = NULL: none */
	const hop_stmt  *fresh;          /* a loop that starts from neutral elements, not from
	                                    its inits */
	int              nparallel;
	int              budget;         /* statements that may still be added by unrolling */
	int              nest_math;      /* math functions in the nest we are in; 0 = in none */
	int              ninline, nscalar;       /* those that stand inline, in nests and not */
	hop_lv          *bind, *calls;   /* emit_call.c's helpers, once they are there */
	int              look;           /* hop_look: who is to see the code */
	struct hop_edebug *debug;        /* debug.c; NULL = nobody */
} hop_emit;

/* emit_val.c: types, constants, small operations on scalars or vectors alike */
hop_lt *hop_e_type(hop_emit *e, hop_dtype d, int lanes);      /* in registers */
hop_lt *hop_e_mem(hop_emit *e, hop_dtype d, int lanes);       /* in memory */
/* From what memory holds to what a register holds, and back. */
hop_lv *hop_e_to_reg(hop_emit *e, hop_dtype d, hop_lv *v, int lanes);
hop_lv *hop_e_to_mem(hop_emit *e, hop_dtype d, hop_lv *v, int lanes);
hop_lv *hop_e_int(hop_emit *e, int64_t v);                    /* i64 */
hop_lv *hop_e_consti(hop_emit *e, hop_dtype d, int lanes, int64_t v);
hop_lv *hop_e_constf(hop_emit *e, hop_dtype d, int lanes, double v);
hop_lv *hop_e_splat(hop_emit *e, hop_lv *v, int lanes);
hop_lv *hop_e_iota(hop_emit *e, hop_lt *elem, int lanes, int64_t step);
hop_lv *hop_e_bin(hop_emit *e, enum hop_llvm_op op, hop_lv *a, hop_lv *b);
hop_lv *hop_e_fbin(hop_emit *e, enum hop_llvm_op op, hop_lv *a, hop_lv *b);
hop_lv *hop_e_icmp(hop_emit *e, enum hop_llvm_icmp p, hop_lv *a, hop_lv *b);
hop_lv *hop_e_fcmp(hop_emit *e, enum hop_llvm_fcmp p, hop_lv *a, hop_lv *b);
hop_lv *hop_e_sel(hop_emit *e, hop_lv *c, hop_lv *a, hop_lv *b);
hop_lv *hop_e_cast(hop_emit *e, enum hop_llvm_op op, hop_lv *a, hop_lt *t);
hop_lv *hop_e_intrin(hop_emit *e, const char *name, int nt, hop_lt **t, int na,
                     hop_lv **a);
hop_lv *hop_e_fma(hop_emit *e, hop_lv *a, hop_lv *b, hop_lv *c);
hop_lv *hop_e_muladd(hop_emit *e, hop_lv *a, hop_lv *b, hop_lv *c);
hop_lv *hop_e_slice(hop_emit *e, hop_lv *v, int from, int n);
hop_lbb *hop_e_block(hop_emit *e);
void    hop_e_at(hop_emit *e, hop_lbb *b);
int64_t hop_e_known(hop_emit *e, hop_lv *v, int64_t otherwise);  /* value of a constant */

/* emit_sop.c: one scalar operation. A function for each row of sops.def. */
typedef hop_lv *hop_llvm_sop(hop_emit *e, hop_dtype d, hop_dtype from, int lanes,
                             hop_lv *const *a);
#define HOP_SOP(name, in, on, cost) hop_llvm_sop hop_llvm_sop_##name;
#define HOP_SOP_IN HOP_SOP
#define HOP_SOP_MEM(name, in, on, cost)
#include "loop/sops.def"
hop_lv *hop_e_sop(hop_emit *e, enum hop_sop s, hop_dtype d, hop_dtype from, int lanes,
                  hop_lv *a, hop_lv *b, hop_lv *c);
hop_lv *hop_e_red(hop_emit *e, enum hop_red op, hop_dtype d, int lanes, hop_lv *a,
                  hop_lv *b);
hop_lv *hop_e_red_id(hop_emit *e, enum hop_red op, hop_dtype d, int lanes);
hop_lv *hop_e_red_all(hop_emit *e, enum hop_red op, hop_dtype d, int lanes, hop_lv *v);

/* packed.c: a packed float in its computing dtype, and back, rounded */
hop_lv *hop_e_widen(hop_emit *e, hop_dtype d, int lanes, hop_lv *x);
hop_lv *hop_e_narrow(hop_emit *e, hop_dtype d, int lanes, hop_lv *x);

/* math.c: functions without an instruction */
int     hop_e_count_math(const hop_block *b);
hop_lv *hop_e_math(hop_emit *e, enum hop_sop s, hop_dtype d, int lanes, hop_lv *const *a);

/* emit_addr.c: sizes, addresses, memory */
typedef struct hop_eaddr {
	hop_lv       *p;          /* of lane 0 */
	enum hop_lane lane;
	hop_lv       *step;       /* LIN: elements between lanes */
	hop_lv       *idx;        /* VAR: vector of element offsets from p */
	hop_dtype     dtype;
	bool          readonly;
} hop_eaddr;

hop_lv   *hop_e_size(hop_emit *e, hop_size s);
hop_eaddr hop_e_addr(hop_emit *e, const hop_addr *a);
hop_lv   *hop_e_vec(hop_emit *e, const hop_ev *v);           /* as a vector of e->lanes */
hop_ev    hop_e_load(hop_emit *e, const hop_eaddr *a, const hop_ev *mask);
void      hop_e_store(hop_emit *e, const hop_eaddr *a, const hop_ev *v,
                      const hop_ev *mask);
hop_lv   *hop_e_ptr_load(hop_emit *e, hop_lt *t, hop_lv *p, int64_t byte);
void      hop_e_ptr_store(hop_emit *e, hop_lv *v, hop_lv *p, int64_t byte);
hop_lv   *hop_e_lane_mask(hop_emit *e, hop_lv *left, int lanes); /* lane < left */

hop_lv   *hop_e_base(hop_emit *e, int buf);                  /* where a buffer begins */

/* emit_call.c */
hop_lv   *hop_e_stack(hop_emit *e, hop_lt *t, int n);      /* an array, made at entry */
/* Pointers to the operands of a statement, in an array that the next call may reuse. */
hop_lv   *hop_e_args(hop_emit *e, const hop_stmt *s);
void      hop_e_call(hop_emit *e, const hop_stmt *s);
/* Several calls from s on as data; gives the last of them, NULL if it is not worth it. */
const hop_stmt *hop_e_calls(hop_emit *e, const hop_stmt *s);
/* emit.c: leave the function with this status unless it is 0. */
void      hop_e_stop_if(hop_emit *e, hop_lv *status);
/* Leave it if the run is canceled. Nothing in parallel loops, but for steps in a long one. */
void      hop_e_poll(hop_emit *e);

/* emit_loop.c */
typedef struct hop_eloop {
	hop_lbb *from, *head, *exit;
	hop_lv  *iv, *end;
	int64_t  step;
	bool     guarded;
	int      nphi;
	hop_lv **phi, **init;
} hop_eloop;
void hop_e_loop_begin(hop_emit *e, hop_eloop *l, hop_lv *begin, hop_lv *end, int64_t step,
                      int nphi, hop_lv **init);
void hop_e_loop_end(hop_emit *e, hop_eloop *l, hop_lv **next, hop_lv **out);
void hop_e_loop(hop_emit *e, const hop_stmt *s);
void hop_e_plain_loop(hop_emit *e, const hop_stmt *s, hop_lv *begin, hop_lv *end);
int64_t hop_e_step(const hop_stmt *s);         /* iterations of one step */
void hop_e_loop_range(hop_emit *e, const hop_stmt *s, hop_lv *begin, hop_lv *end);
hop_dtype hop_e_wide(const hop_acc *c);        /* in which long ones add up */

/* emit_steps.c: all steps of a loop that is turned in a vector loop. */
void hop_e_steps(hop_emit *e, const hop_stmt *s, hop_lv *end);

/* emit_sum.c: n iterations of a reducing loop, for threads to share. */
void hop_e_sum(hop_emit *e, const hop_stmt *s, hop_lv *n);

/* debug.c: lines, names and carries for debuggers. Without them each does nothing. */
void hop_e_debug_open(hop_emit *e);
void hop_e_debug_close(hop_emit *e);
void hop_e_debug_drop(hop_emit *e);              /* after a failure */
void hop_e_debug_fn(hop_emit *e, hop_lv *fn, const char *name, hop_loc at);
/* A piece of a function shows the carries that the function showed there. */
void hop_e_debug_piece(hop_emit *e, const bool *shown, const hop_stmt *s);
/* The line of a statement, until the answer is given back. */
typedef struct hop_eline { hop_lmd *scope, *at; int deep; bool *shown; } hop_eline;
hop_eline hop_e_line(hop_emit *e, const hop_stmt *s);
void      hop_e_line_back(hop_emit *e, hop_eline was);
/* What comes is hardly ever run, and of no line: gdb stops at the first code of a line, wherever that
 * is. */
hop_eline hop_e_line_rare(hop_emit *e);
/* What comes is a body of the loop, of maybe several copies, at this index: i0, i1 .. of the loops we
 * are in. gdb stops in each copy only because it is a block with a variable. */
hop_eline hop_e_line_copy(hop_emit *e, hop_lv *index);
/* The builder has gone to b. */
void      hop_e_debug_at(hop_emit *e, hop_lbb *b);
/* What function i of the program is called outside; a name of its own. */
const char *hop_e_name(hop_emit *e, int i);

/* tiles.c: a tile by its template, or as loops; false: they cannot say it. The check comes
 * before anything is emitted. */
typedef void hop_e_template(hop_emit *e, const hop_stmt *s);
hop_e_template hop_e_tile, hop_e_gemm;
bool       hop_e_tile_loops(hop_emit *e, const hop_stmt *s);
hop_status hop_e_check_tiles(hop_env *e, const hop_prog *p);

/* emit.c */
void       hop_e_attributes(hop_emit *e, hop_lv *fn);       /* that each function has */
void       hop_e_op(hop_emit *e, const hop_stmt *s);
void       hop_e_block_stmts(hop_emit *e, const hop_block *b);
void       hop_e_carries(hop_emit *e, const hop_stmt *s);   /* by copying */
/* [nreg+1] sets bit 0 for a register that s uses, bit 1 for one that it defines. */
void       hop_e_uses(const hop_stmt *s, uint8_t *u);
void       hop_e_classify(hop_emit *e, const hop_stmt *s);       /* fills e->cls */
hop_ev    *hop_e_reg(hop_emit *e, hop_reg r);
void       hop_e_set(hop_emit *e, hop_reg r, hop_ev v);
/* Run `body(e, user, begin, end)` over 0..n in pieces, on all threads when there is
 * enough work; pieces are whole multiples of `grain`. They see the registers that s uses,
 * and `also` unless it is 0. */
typedef void hop_e_piece(hop_emit *e, const hop_stmt *s, hop_lv *begin, hop_lv *end);
void       hop_e_parallel(hop_emit *e, const hop_stmt *s, hop_lv *n, hop_lv *grain,
                          hop_lv *enough, hop_e_piece *body, hop_reg also);

/* Options of this target. */
typedef struct hop_llvm_opts {
	int  level;               /* LLVM's code generation level; 0 = ours (1) */
	int  parts;               /* at most so many modules; 0 = as there are processors */
	const char *triple;       /* another machine, the least of its kind; NULL = this one */
	int  look;                /* hop_look */
} hop_llvm_opts;

/* machine.c: the machine we run on, without opening LLVM, or the least that a triple promises; no
 * wider vectors than `bits` unless that is 0. */
hop_machine hop_llvm_machine(const char *triple, int bits, bool threads);
bool        hop_llvm_is_arm(const char *triple);

/* parts.c: the functions of a program divided among modules that are compiled at the
 * same time. */
typedef struct hop_split {
	int      n;
	uint8_t *part;            /* [nfunc] */
} hop_split;

/* Compile to object files, allocated as one piece by the env's hook in the form that elf.h
 * describes: free with hop_raw_free(&e->mem, *out_p, *out_n). */
hop_status hop_llvm_object(hop_env *e, const hop_prog *p, const hop_machine *m,
                           const hop_llvm_opts *o, void **out_p, size_t *out_n);
/* jit.c: one part of it, on any thread; the object is a memory buffer of LLVM's. */
hop_status hop_llvm_part(hop_env *e, const hop_llvm *L, const hop_prog *p,
                         const hop_machine *m, const hop_llvm_opts *o, const hop_split *split,
                         int which, void **out_buffer);
/* jit.c: several programs as the bytes of one object file; function 0 of each has a name. */
hop_status hop_llvm_several(hop_env *e, int n, const hop_prog *const *p, const char *const *name,
                            const hop_machine *m, const hop_llvm_opts *o, hop_buf *out);
/* jit.c: a module that a user wrote, as text or as bitcode, as the bytes of a program. */
hop_status hop_llvm_take(hop_env *e, const char *text, size_t n, const char *entry, void **out_p,
                         size_t *out_n);
/* Add a program to a module. Called by jit.c. */
void       hop_emit_prog(hop_emit *e, const char *entry);

#endif
