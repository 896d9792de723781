/* loop.h -- loop programs: all that a target sees. No ops, no graphs, no strides of users.
 *
 * A program is a list of functions; function 0 is the entry. A function has buffers and a
 * tree of statements. Scalars are SSA registers (hop_reg) of the function: a register is
 * defined by one statement and used by later statements of the same block or of blocks
 * nested in it. Everything that lives longer than a block goes through a buffer, except
 * the accumulators of a reducing loop. A packed dtype (dtypes.def) is stored, loaded and cast to
 * and from what it computes in, nothing else. Contrast ir.h, which says what is computed. */
#ifndef HOP_LOOP_H
#define HOP_LOOP_H

#include "ir/graph.h"
#include "loop/machine.h"

typedef int32_t hop_reg;             /* 0 = none */

enum hop_sop {
	HOP_SOP_none,
#define HOP_SOP(name, in, on, cost) HOP_SOP_##name,
#define HOP_SOP_IN HOP_SOP
#define HOP_SOP_MEM HOP_SOP
#include "loop/sops.def"
	HOP_NSOP
};

/* The dtypes that a row is for: a bit for each class. */
enum {
	HOP_ON_B = 1 << HOP_DC_BOOL, HOP_ON_I = 1 << HOP_DC_INT, HOP_ON_F = 1 << HOP_DC_FLOAT,
	HOP_ON_BI = HOP_ON_B | HOP_ON_I, HOP_ON_IF = HOP_ON_I | HOP_ON_F,
	HOP_ON_BIF = HOP_ON_BI | HOP_ON_F
};

typedef struct hop_soprow {
	const char *name;
	uint8_t     in, on, cost;
} hop_soprow;
extern const hop_soprow hop_soptab[HOP_NSOP];
bool hop_sop_takes(enum hop_sop s, int dtype);         /* gives it as a result */
bool hop_sop_memory(enum hop_sop s);                   /* it has an address */
bool hop_sop_writes(enum hop_sop s);                   /* memory */

/* Rough instructions: 0 for constants, from HOP_SOP_DEAR on for functions of many. */
enum { HOP_SOP_DEAR = 8 };
int hop_sop_cost(enum hop_sop s, int dtype);

/* ---- buffers ---- */

enum hop_buf_kind {
	HOP_BUF_PARAM,     /* pointer argument `index` of the function: inputs, then outputs */
	HOP_BUF_TEMP,      /* at byte `offset` of its space: see hop_space */
	HOP_BUF_CONST,     /* immutable bytes `data`, emitted as a constant of the module */
	HOP_BUF_TAPE       /* grows: its address is in the run-time table, slot `index`;
	                      HOP_L_GROW must precede the first access of each larger count */
};

/* Where a TEMP is. Its content may be gone when another that shares its bytes is written. */
enum hop_space {
	HOP_SPACE_FRAME,   /* the function's frame in the workspace */
	HOP_SPACE_RESULT,  /* PARAM `index`, a result of the same dtype that is not yet written */
	HOP_SPACE_SHARED,  /* of a KERNEL: each block has its own, at byte `offset` of what it shares */
	HOP_SPACE_LOCAL,   /* of a KERNEL: each thread has its own, and stores to it itself, together or
	                      not; `count` is constant and small */
	HOP_SPACE_OWN,     /* of a KERNEL: element i is in a register of the thread whose iteration i is. It
	                      is only used in loops over THREADs, all of one constant extent and width and
	                      without `each`, as [their variable + 0], so that a loop that is unrolled
	                      knows where it is */
	HOP_SPACE_SCRATCH  /* at byte `offset` of what all functions of a program on a device have for
	                      themselves while they run: see hop_lfunc.scratch */
};

/* A flat array of one dtype. Distinct buffers never overlap, except that a PARAM output
 * may be the same address as a PARAM input when `alias` names that input's index (+1). */
typedef struct hop_lbuf {
	enum hop_buf_kind kind;
	enum hop_space    space;
	hop_dtype   dtype;
	int         index;
	int         alias;         /* 0 = none; else 1 + index of the input it may equal */
	hop_size    count;         /* elements; over the function's size symbols */
	hop_size    offset;        /* TEMP: bytes, multiple of 64, over the size symbols */
	const void *data;          /* CONST: count (constant) elements */
	bool        is_written;    /* by this function or a callee; false lets a target hoist */
	bool        is_private;    /* TEMP: what one iteration of a loop needs, or a slice of it */
	bool        turns;         /* TEMP: two halves; a step that reads one writes the other (turn.c) */
	bool        decides;       /* TEMP, one bool: whether a loop of a host's list goes on. Who stores
	                              to it is the last before the loop, or the last of a trip */
	bool        counts;        /* TEMP, one i64: the step of such a loop, the same in all of a trip but
	                              its last store */
	const char *name;          /* for debuggers: of the carry that is all of it; NULL = none. Not
	                              part of the text; interned, like the carry's type */
	const hop_type *type;
} hop_lbuf;

/* Element index into a buffer: offset + sum of value(reg) * stride. Registers are i64:
 * loop variables (linear in the loop) or computed (then an access may be a gather). */
enum { HOP_MAXTERM = 8 };
typedef struct hop_term { hop_reg reg; hop_size stride; } hop_term;
typedef struct hop_addr {
	int       buf;
	int       nterm;
	hop_size  offset;
	hop_term *term;                /* no two statements have the same: they are changed
	                                  in place */
} hop_addr;

/* ---- statements ---- */

enum hop_lkind {
	HOP_L_OP,          /* dst = sop(a...) */
	HOP_L_LOOP,        /* for dst (i64) in 0 .. extent-1 */
	HOP_L_IF,          /* if a[0] (bool): body else other */
	HOP_L_WHILE,       /* do { other; if (!a[0]) break; body; } a[0] is defined in other */
	HOP_L_TILE,        /* a template applied to operands, see hop_tile */
	HOP_L_CALL,        /* call function `callee` with buffer arguments; its frame is at
	                      byte `frame` of this one; size symbols are given by `sizes` */
	HOP_L_GROW,        /* make tape buffer `buf` hold a[0] (i64) elements, keeping old ones */
	HOP_L_EFFECT,      /* run-time call: rt->effect(rt, effect id, pointers of `args`, when);
	                      operands, then results */
	HOP_L_CHECK,       /* stop unless check `callee` of the program holds. What follows in
	                      the block may rest on it: no access goes before it */
	HOP_L_BARRIER      /* of a KERNEL: `callee` says which, enum hop_barrier */
};

/* Who waits for whom. What a thread wrote before it others see behind it. */
enum hop_barrier {
	HOP_BARRIER_WARP,  /* the threads of a warp */
	HOP_BARRIER_BLOCK, /* the threads of a block */
	HOP_BARRIER_TEAM,  /* all: blocks are one, or resident */
	HOP_BARRIER_LAST,  /* nobody: the last block to come here goes on, alone; the others are done */
	HOP_BARRIER_LAST_Y /* the same for blocks with the same place along x, of at most HOP_GROUPS such
	                      places: the loops over GRID behind it are theirs */
};
enum { HOP_GROUPS = 32 };

enum hop_loop_kind {
	HOP_LOOP_PAR,      /* iterations independent: may be vectorised, threaded, reordered */
	HOP_LOOP_RED,      /* iterations independent but for the accumulators, which may be
	                      reassociated in a fixed way that does not depend on threads */
	HOP_LOOP_SEQ       /* in order: the steps of a scan */
};

enum hop_red { HOP_RED_add, HOP_RED_max, HOP_RED_min, HOP_RED_mul, HOP_RED_or, HOP_RED_and };

/* One accumulator of a RED loop: init is a register from outside; each iteration
 * combines `value` (a register of the body) into it; `result` is defined after the loop. */
typedef struct hop_acc {
	enum hop_red op;
	hop_dtype    dtype;
	hop_reg      init, value, result;
} hop_acc;

/* What a step of a SEQ loop or WHILE hands to the next: after the body, the first `count` elements
 * of now become those of next, as if by a copy; nothing but the next step's writes is read from
 * next again. Addresses have no terms, and all buffers of a loop's carries are different. */
typedef struct hop_carry { hop_addr now, next; hop_size count; } hop_carry;

typedef struct hop_stmt hop_stmt;
typedef struct hop_block {
	hop_stmt *first, *last;
} hop_block;

/* ---- tiles ---- */

enum { HOP_TILE_EXTENTS = 4, HOP_TILE_ARGS = 4, HOP_TILE_AXES = 3, HOP_TILE_HOLES = 2,
       HOP_TILE_REGS = 4 };
enum { HOP_READ = 1, HOP_WRITE = 2 };

/* Element (i, j, ..) is at `at` + i * stride[0] + j * stride[1] ..; the terms of `at` are
 * outer registers. Along which extents it runs is the template's. */
typedef struct hop_targ {
	hop_addr at;
	hop_size stride[HOP_TILE_AXES];
	int16_t  access;                /* HOP_READ | HOP_WRITE; 0: a hole has its place */
	int16_t  stored;                /* 1 + the packed dtype that it is in memory, where the template
	                                   `packs` it: it is widened when it is read; 0 = its own */
} hop_targ;

/* Statements that the template runs for each element: they see its position, a register (i64)
 * for each extent they may be affine in, then values of the tile's dtype, and end in stores.
 * Empty, the template does what it does without. */
typedef struct hop_hole {
	hop_reg   reg[HOP_TILE_REGS];   /* positions, then values */
	hop_block body;
} hop_hole;

/* What a target may do better than loops: a template over a box of extents. Passes know it by
 * its description only. Contrast HOP_L_CALL, whose callee is a loop program. */
typedef struct hop_tile {
	const struct hop_template *of;
	hop_dtype dtype;
	hop_size  extent[HOP_TILE_EXTENTS];
	hop_targ  arg[HOP_TILE_ARGS];
	hop_hole  hole[HOP_TILE_HOLES];
} hop_tile;

/* Where statements are being made. */
typedef struct hop_lbuild {
	hop_env   *env;
	hop_arena *a;
	struct hop_lfunc *f;
	hop_block *block;              /* statements are appended here unless it is NULL */
	hop_loc    loc;
} hop_lbuild;

/* A template: all that loop passes ask of it. Operands that are only read come first. */
typedef struct hop_template {
	const char *name;
	const char *func;           /* of a function that is nothing else */
	uint8_t     on;             /* dtypes that it is for: HOP_ON_xxx, never packed ones */
	uint8_t     nextent, narg, nhole;
	bool        packs;          /* operands that are only read may be packed: on a device */
	uint8_t     out;            /* 1 + the operand that hole 0, filled, is in the place of, and
	                               that may be added to instead of written; 0 = none */
	struct {
		const char *name;
		uint8_t     own;        /* 1 + its dtype; 0 = the tile's */
		uint8_t     naxis, axis[HOP_TILE_AXES];     /* the extents of its strides */
	} arg[HOP_TILE_ARGS];
	struct {
		uint8_t     npos, nval, pos[HOP_TILE_REGS];     /* extents of the positions */
	} hole[HOP_TILE_HOLES];
	int64_t   (*weight)(const hop_tile *t);     /* see hop_stmt_weight */
	bool      (*alone)(const hop_tile *t);      /* worth a function `func`; sizes are known */
	void      (*settle)(hop_tile *t);           /* `out` was moved: choose a form again */
	/* Append the same as loops; false where they cannot say it. A target that does not know the
	 * template compiles them: those of a tile take at most nreg new registers. */
	int         nreg;
	bool      (*expand)(hop_lbuild *b, const hop_tile *t);
	/* What the run time may be asked to do it by, given pointers of the operands and the
	 * extents (hop_rt.library). Operands lie as that wants them. */
	enum hop_library {
		HOP_LIBRARY_NONE, HOP_LIBRARY_SOLVE, HOP_LIBRARY_LOWER, HOP_LIBRARY_UPPER,
		HOP_LIBRARY_UNIT_LOWER, HOP_LIBRARY_UNIT_UPPER, HOP_LIBRARY_CHOLESKY
	} library;
} hop_template;

hop_targ *hop_tile_out(hop_tile *t);            /* NULL: it has none of that kind */
bool      hop_tile_filled(const hop_tile *t);   /* a hole is */
hop_dtype hop_tile_dtype(const hop_tile *t, int i);     /* of operand i */

#define HOP_TEMPLATE(name) extern const hop_template hop_template_##name;
#include "loop/templates.def"
#undef HOP_TEMPLATE

/* How a LOOP runs on the machine that the program was scheduled for (schedule.c), TILE whether
 * it may be forked; all zero = one iteration after the other. A vector loop holds no other:
 * the loops in it do for all lanes what they do for one. */
typedef struct hop_bind {
	uint8_t width;         /* lanes of one register; 0 = no vectors. THREAD: iterations in a row that
	                          are one thread's, so that memory is read in pieces; 0 = 1 */
	uint8_t jam;           /* registers a step: lanes = width * jam */
	bool    light  : 1;    /* the body is small: worth repeating */
	bool    turned : 1;    /* RED in a vector loop: one row after the other, along itself, the
	                          partial sums of all rows turned at the end. SEQ: squares of
	                          steps and rows, turned */
	bool    thread : 1;    /* PAR: threads share the iterations, steps are not divided. SEQ
	                          that is apart: those of its parallel loop, each all steps */
	bool    blocks : 1;    /* RED: taken in blocks, by the number of iterations alone, which
	                          threads may share */
	bool    ordered : 1;   /* iterations, or those of a block, share a private temporary: they
	                          run one after the other, whatever the loop's kind */
	uint8_t place : 3;     /* enum hop_place; of a KERNEL's loops, where all above but a width is zero */
	uint8_t each;          /* GRID, THREAD: iterations that a thread takes at once, as far apart as
	                          there are threads in a block, loads before stores; 0 = 1. A loop in
	                          order: 1 = likely it has few trips, which are told one by one if a list
	                          holds it and not unrolled else; 0 = many, told several at once */
	hop_reg slice;         /* thread, blocks: i64, defined in the loop: which of at most HOP_BLOCKS
	                          blocks, each run in order, the iteration is in; 0 = none wants it */
	int64_t least;         /* thread, blocks: iterations that are worth a fork */
} hop_bind;
enum { HOP_BLOCKS = 32 };

/* Who shares the iterations of a loop in a KERNEL. Iteration i is of sharer i mod their number; with
 * `each` = k > 1, a block of T threads takes k * T iterations in a row, and thread t of it i mod T = t;
 * with `width` = v > 1 it is i / v mod their number, and `each` is 1.
 * What is in the loop is run by that sharer alone. */
enum hop_place {
	HOP_PLACE_NONE,    /* nobody: whoever comes to the loop runs all of it, in order */
	HOP_PLACE_GRID,    /* threads of all blocks (along x) */
	HOP_PLACE_BLOCK_X, /* blocks along an axis of the grid; then threads of the block run the body */
	HOP_PLACE_BLOCK_Y, /* together */
	HOP_PLACE_BLOCK_Z,
	HOP_PLACE_WARP,    /* warps of all blocks (along x), in a loop over blocks and behind a
	                      BARRIER_LAST those of the block; then lanes run the body together */
	HOP_PLACE_THREAD,  /* threads of the block */
	HOP_PLACE_LANE     /* threads of the warp */
};

/* A program has a million of them: what no two kinds need shares its place. */
struct hop_stmt {
	hop_stmt         *next;
	enum hop_lkind    kind;
	enum hop_sop      sop;          /* none but in an OP */
	uint8_t           dtype;        /* OP: of the result (of the stored value for store) */
	uint8_t           loop;         /* LOOP: enum hop_loop_kind */
	uint8_t           na;
	bool              reverse : 1;  /* SEQ: from last to first */
	bool              apart : 1;    /* SEQ: its step is one parallel loop, behind operations
	                                   at most, and two iterations of that never meet, be it
	                                   in other steps. PAR, for a device: its iterations do not
	                                   meet, though addresses do not show it */
	bool              loose : 1;    /* SEQ: in any order, were it not for temporaries that steps
	                                   share: a step writes of them what it reads */
	bool              parts : 1;    /* PAR, for a device: what its iterations give the next statement,
	                                   a loop like the one in it, adds up: both are one kernel */
	bool              is_part : 1;  /* CALL: the callee has our parameters, sizes and frame,
	                                   and nothing is passed */
	bool              hosted : 1;   /* WHILE: of a host's list, see hop_level */
	bool              once : 1;     /* hosted: a branch: its body decides nothing, and is run once */
	bool              rare : 1;     /* IF, for a device: hardly ever taken */
	hop_loc           loc;
	hop_reg           dst;          /* OP result, LOOP variable */
	hop_reg           a[3];
	hop_reg           bound;        /* LOOP: i64 register, at most extent; 0 = extent */
	int               nacc;         /* LOOP; CALL, EFFECT: so many args are read, others written */
	int               narg;
	int               ncarry;       /* SEQ, WHILE */
	union {
		union { double f; int64_t i; hop_size size; hop_addr addr; } u;      /* OP */
		struct {                /* LOOP, TILE, WHILE */
			hop_size extent;        /* LOOP; WHILE, hosted: its trips, if sizes tell, else 0 */
			hop_bind bind;
		};
		int      buf;           /* GROW */
		struct {                /* CALL, EFFECT, CHECK */
			hop_size *sizes;
			hop_size  frame;
			int       nsize;
			int       callee;       /* function index, effect id, check id */
		};
	};
	union {
		hop_acc  *acc;          /* [nacc] LOOP */
		hop_addr *args;         /* [narg] CALL: callee's params in order; EFFECT: operands */
		hop_tile *tile;         /* TILE */
		hop_carry *carry;       /* [ncarry] SEQ, WHILE */
	};
	hop_block         body, other;  /* LOOP, IF, WHILE */
};
_Static_assert(sizeof(hop_stmt) <= 128, "two lines of a cache");

/* Who runs a function. On a CPU all of it is WHOLE. Where a host drives a device (device.c):
 *
 * HOST    a list: calls of kernels and of other lists, libraries, one after the other. A WHILE of a list
 *         has a load as its `other`: what the last kernel before it and the last of each trip decided.
 *         bind.each trips may be told at once: kernels know if there is none (hop_lfunc.when).
 *         One that is `once` is a branch.
 * KERNEL  all threads of its team, which are started together: one block, blocks that are all there
 *         at once (resident), or any number of blocks that come and go. Statements outside of loops
 *         that are shared (hop_place) run in every thread, with the same values of registers; a store
 *         there is done by one thread of those that are together: the team, a block, a warp. A RED
 *         loop that is shared is done together, and its result is the same for all who did it.
 *         What one thread wrote and another reads, or writes again, has a barrier between. Only
 *         teams of one block and resident ones store together or use BARRIER_TEAM.
 *         It asks the run time what WHOLE does, together: see hop_state.
 * TEAM    what a KERNEL calls together. It may do all that a KERNEL does.
 * THREAD  what one thread calls alone: nothing in it is shared.
 *
 * Registers stay within a function. */
enum hop_level { HOP_LEVEL_WHOLE, HOP_LEVEL_HOST, HOP_LEVEL_KERNEL, HOP_LEVEL_TEAM,
                 HOP_LEVEL_THREAD };

/* Of a KERNEL. No number depends on the device: bits of sums would. */
typedef struct hop_team {
	int      threads;              /* of a block: a multiple of a warp (32) */
	hop_size blocks[3];            /* x, y, z; over size parameters; loops that are shared may have
	                                  more iterations */
	bool     resident;             /* all blocks run at once: at most as many as the machine has room
	                                  for, whatever `blocks` says */
	bool     exact;                /* every GRID, WARP and BLOCK loop, but warps of a block, has no more
	                                  iterations than there are threads (times `each`), warps or
	                                  blocks for it */
} hop_team;

/* Size symbols 0 .. nsym-1 are i64 arguments. Symbols nsym .. nsym+nlocal-1 are bound
 * while running: local symbol i has the value last stored in the i64 buffer local[i]. */
typedef struct hop_lfunc {
	const char *name;
	enum hop_level level;
	hop_team    team;              /* KERNEL */
	int         when;              /* KERNEL: 1 + a bool buffer: where that is false it does nothing */
	int64_t     shared;            /* KERNEL, TEAM: bytes of SPACE_SHARED */
	hop_size    scratch;           /* bytes of SPACE_SCRATCH, from its beginning, that it knows of */
	int         nsym, nlocal;
	int        *local;             /* [nlocal] buffer index */
	int         nin, nout;         /* PARAM buffers: index 0..nin-1, nin..nin+nout-1 */
	int         nbuf;
	hop_lbuf   *buf;
	int         nreg;              /* registers are 1 .. nreg */
	hop_size    frame;             /* bytes of workspace, callees' frames included */
	hop_block   body;
	double      seconds;           /* that lowering it took, without the functions it calls */
} hop_lfunc;

/* What an EFFECT does; the run-time finds it by id. */
typedef struct hop_leffect {
	int          op;               /* HOP_OP_print, assert, progress, watch, tick, host */
	int          is_assert;
	bool         is_progress;      /* operands are trip and trips, i64; may be left out (rt->skip) */
	int          tick;             /* what a tick says */
	const char  *text;             /* format or message */
	hop_loc      loc;
	int          narg, nin;        /* operands and results; operands */
	int          nwrite;           /* so many of the last results are operands that are written, which
	                                * have the same address */
	const hop_type *const *type;   /* of them; sizes over the function's symbols */
	bool         has_when;         /* last operand is a bool scalar: do it? */
	const struct hop_foreign *foreign;     /* host: whom to call */
} hop_leffect;

/* What a CHECK tests; sizes are over the symbols of the function that has the statement. */
typedef struct hop_lcheck {
	hop_check    c;
	bool         wide;             /* its value may not fit 62 bits: the run time computes it */
} hop_lcheck;

typedef struct hop_prog {
	hop_arena    *a;
	int           nfunc;
	hop_lfunc    *func;
	int           neffect;
	hop_leffect  *effect;
	int           ncheck;
	hop_lcheck   *check;
	int           nentry;          /* what the caller of function 0 must test: its code */
	hop_check    *entry;           /* rests on it */
	int           ntape;
} hop_prog;

/* ---- building (loop.c) ---- */

/* One more term, in a new array. */
void      hop_addr_add(hop_arena *a, hop_addr *x, hop_reg r, hop_size stride);
hop_reg   hop_l_op(hop_lbuild *b, enum hop_sop s, hop_dtype d, int na, const hop_reg *a);
hop_reg   hop_l_constf(hop_lbuild *b, hop_dtype d, double v);
hop_reg   hop_l_consti(hop_lbuild *b, hop_dtype d, int64_t v);
hop_reg   hop_l_size(hop_lbuild *b, hop_size s);
hop_reg   hop_l_load(hop_lbuild *b, hop_dtype d, const hop_addr *at);
void      hop_l_store(hop_lbuild *b, hop_dtype d, const hop_addr *at, hop_reg v);
/* At the end of the block; nothing happens if that is NULL. */
void      hop_block_append(hop_block *b, hop_stmt *s);
void      hop_block_join(hop_block *b, const hop_block *what);         /* behind it */
hop_stmt *hop_l_stmt(hop_lbuild *b, enum hop_lkind k);      /* appended, zeroed */
hop_stmt *hop_l_tile(hop_lbuild *b, hop_tile *t);
/* A loop; what follows goes into it until the caller puts the block back. */
hop_stmt *hop_l_loop(hop_lbuild *b, enum hop_loop_kind k, hop_size n, hop_reg var);
hop_reg   hop_l_reg(hop_lbuild *b);                          /* a fresh register */
int       hop_l_buf(hop_lbuild *b, hop_lbuf v);

/* Append the carries of s, a statement of f, as loops that copy: two registers each. */
void      hop_carry_loops(hop_lbuild *b, const hop_lfunc *f, const hop_stmt *s);

/* outline.c: tiles that stand alone become functions, equal ones the same function, so
 * that they are compiled once and beside each other. Weight: how much a target has to do
 * to compile statements, in no unit; by the text of the program only. */
void       hop_loop_outline(hop_env *e, hop_prog *p);
int64_t    hop_block_weight(const hop_block *b);
int64_t    hop_stmt_weight(const hop_stmt *s);

/* nest.c: a tile, or a loop whose iterations have no order; one that may take a fraction of a
 * millisecond, so that a run should ask before it whether it is canceled. */
bool       hop_stmt_is_nest(const hop_stmt *s);
bool       hop_nest_is_long(const hop_stmt *s);
bool       hop_block_steps(const hop_block *b);     /* a statement goes step by step */

/* Print as text (hop show --after=lower), and check that a program keeps the rules above:
 * registers defined before use and in scope, buffers in range, dtypes agreeing. Every
 * program is verified before a target sees it. */
void       hop_prog_print(hop_buf *out, const hop_prog *p);
hop_status hop_prog_verify(hop_env *e, const hop_prog *p);
void       hop_prog_free(hop_prog *p, const hop_mem *m);

#endif
