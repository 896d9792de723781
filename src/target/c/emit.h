/* emit.h -- shared by the files that turn a loop program into C.
 *
 * A register is a local variable of the block that defines it, or the text of a constant. The
 * body of a function is written first and what it turned out to need before it: symbols, base
 * pointers, the status. Loops are left to the compiler to vectorise; sums are written so that it
 * may (emit_loop.c). */
#ifndef HOP_C_EMIT_H
#define HOP_C_EMIT_H

#include "loop/walk.h"
#include "target/c/c.h"

enum { HOP_C_OWN = 96 };               /* registers of ours, after the program's: tiles */
enum { HOP_C_MAXVAR = 512 };           /* loops in loops; twice what loop_verify.c lets through */

typedef struct hop_cemit {
	hop_env         *env;
	const hop_prog  *p;
	const char      *name;             /* of the entry; functions are NAME_1 ... */
	const hop_lfunc *f;
	int              index;            /* of f */
	hop_buf         *pieces;           /* functions that stand before f */
	int              npiece;
	hop_buf         *o;                /* where statements go: the body */
	int              indent;
	hop_loc          loc;              /* the last one named in a comment */
	bool             look;             /* lines and carries for debuggers */
	int              nvar;             /* loop variables in scope */
	int              nest;             /* parallel loops around */
	bool             outlined;         /* a piece that threads take */
	bool             asks;             /* the outermost of them is long: steps right in it ask
	                                      whether to go on */
	struct hop_cpart { const hop_stmt *s; const char *from, *to; } part;     /* a loop of which only
	                                      these iterations are run; s = NULL: none */
	int              nfix, ngemm;      /* names given by hop_c_fix_bases and gemm.c */
	const char     **reg;              /* [nreg+1+OWN] text of the register, once defined */
	uint8_t         *dtype;            /* [nreg+1+OWN] */
	int             *uses;             /* [nreg+1+OWN] 0 = nobody reads it: not written */
	const char     **base;             /* [nbuf] what stands for it in the nest we are in */
	bool            *used;             /* [nbuf] declared before the body */
	bool            *sym;              /* [nsym] too */
	bool             strip;            /* results go to arrays of lanes */
	bool             params, syms, ws, rt, status;
	struct hop_cuda *cu;               /* of a text for a device: target/cuda/emit.h; or NULL */
} hop_cemit;

/* emit.c */
void        hop_c_line(hop_cemit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void        hop_c_open(hop_cemit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void        hop_c_brace(hop_cemit *e);                        /* a block of its own */
void        hop_c_close(hop_cemit *e);                        /* of either */
typedef void hop_c_blockfn(hop_cemit *e, const hop_block *b);
hop_c_blockfn hop_c_block;
void        hop_c_if(hop_cemit *e, const hop_stmt *s, hop_c_blockfn *block);
const char *hop_c_text(hop_cemit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *hop_c_reg(const hop_cemit *e, hop_reg r);
/* From now on r is that text. */
void        hop_c_set(hop_cemit *e, hop_reg r, hop_dtype d, const char *text);
const char *hop_c_var(hop_cemit *e, hop_reg r);    /* names a loop variable; e->nvar-- ends it */
/* Leave the function with the status that the call, an int expression, gives unless it is 0. */
void        hop_c_stop_if(hop_cemit *e, const char *call);
void        hop_c_poll(hop_cemit *e);
void        hop_c_carries(hop_cemit *e, const hop_stmt *s);   /* what a step hands to the next */
void        hop_c_put_name(hop_buf *o, const char *s);        /* in a comment */
/* The user's line and those that called for it, where they change. */
void        hop_c_comment(hop_cemit *e, hop_loc loc);
bool        hop_c_is_dead(const hop_cemit *e, const hop_stmt *s);   /* nobody reads what it gives */
bool        hop_c_is_silent(const hop_stmt *s);               /* it is a text, no line */
/* What an operation that is no store gives; NULL: a text, which the register now is. */
const char *hop_c_value(hop_cemit *e, const hop_stmt *s);

/* live.c: fills uses, so that nothing is written that nobody reads. */
void        hop_c_live(hop_cemit *e);
void        hop_c_live_own(hop_cemit *e, const hop_block *b);     /* of our registers in b */

/* emit_addr.c */
const char *hop_c_type(hop_dtype d);                          /* in registers */
const char *hop_c_mem(hop_cemit *e, hop_dtype d);             /* in memory */
const char *hop_c_int(hop_cemit *e, int64_t v);
const char *hop_c_float(hop_cemit *e, hop_dtype d, double v);
const char *hop_c_size(hop_cemit *e, hop_size s);
/* The same once, in a variable where its value might change or take long. */
const char *hop_c_fixed(hop_cemit *e, hop_size s, hop_reg r, const char *what);
const char *hop_c_base(hop_cemit *e, int buf);                /* a pointer */
const char *hop_c_at(hop_cemit *e, const hop_addr *a);        /* an element */
const char *hop_c_ptr(hop_cemit *e, const hop_addr *a);       /* its address, void * */
const char *hop_c_load(hop_cemit *e, const hop_addr *a);      /* as a register has it */
void        hop_c_declare(hop_cemit *e, hop_buf *o);          /* what the body needs */
void        hop_c_data(hop_cemit *e, hop_buf *o);             /* constants of the function */
/* A constant, of the name that stands for it; bits: as whole numbers that have its bits. */
void        hop_c_put_data(hop_cemit *e, hop_buf *o, int buf, const char *head, bool bits);
/* Pointers that change while the function runs, as variables for a nest. */
void        hop_c_fix_bases(hop_cemit *e, const hop_stmt *s);
void        hop_c_free_bases(hop_cemit *e);

/* emit_sop.c: one scalar operation as an expression. A function for each row of sops.def. */
typedef void hop_c_sopfn(hop_cemit *e, hop_buf *o, hop_dtype d, hop_dtype from,
                         const char *const *a);
#define HOP_SOP(name, in, on, cost) hop_c_sopfn hop_c_sop_##name;
#define HOP_SOP_IN HOP_SOP
#define HOP_SOP_MEM(name, in, on, cost)
#include "loop/sops.def"
const char *hop_c_sop(hop_cemit *e, enum hop_sop s, hop_dtype d, hop_dtype from, const char *a,
                      const char *b, const char *c);
const char *hop_c_red(hop_cemit *e, enum hop_red op, hop_dtype d, const char *acc,
                      const char *v);
const char *hop_c_red_id(hop_cemit *e, enum hop_red op, hop_dtype d);

/* emit_strip.c: iterations from .. to-1 of a parallel loop a strip at a time, for loops that it helps;
 * gives where it stopped, a variable of the block. */
bool        hop_c_has_strips(hop_cemit *e, const hop_stmt *s);
const char *hop_c_strips(hop_cemit *e, const hop_stmt *s, const char *from, const char *to);

/* emit_loop.c, emit_call.c, gemm.c */
void        hop_c_loop(hop_cemit *e, const hop_stmt *s);
void        hop_c_call(hop_cemit *e, const hop_stmt *s);
void        hop_c_effect(hop_cemit *e, const hop_stmt *s);
void        hop_c_grow(hop_cemit *e, const hop_stmt *s);
void        hop_c_check(hop_cemit *e, const hop_stmt *s);
void        hop_c_gemm(hop_cemit *e, const hop_stmt *s);

/* tiles.c */
void        hop_c_tile(hop_cemit *e, const hop_stmt *s);
bool        hop_c_tile_loops(hop_cemit *e, const hop_stmt *s);      /* false: it has none */
hop_status  hop_c_check_tiles(hop_env *e, const hop_prog *p);       /* all have code */
void        hop_c_gemm_prelude(hop_buf *out);
/* piece.c: iterations for threads to share. */
typedef void hop_c_piecefn(hop_cemit *e, const hop_stmt *s, const char *from, const char *to);
/* The least first extent of a tile that is worth a fork; 0 = none is. */
int64_t     hop_c_worth(const hop_stmt *s);
/* body for all of 0 .. n-1, in pieces that are multiples of grain; for a loop that wants to know its
 * slice, in blocks. */
void        hop_c_fork(hop_cemit *e, const hop_stmt *s, const char *n, int64_t least,
                       int64_t grain, hop_c_piecefn *body);

/* math.c: functions of floats without an instruction; only the series of those that have one, which
 * rest on hop_fma and what is basic */
void        hop_c_math_prelude(hop_buf *out, hop_dtype d);
void        hop_c_math_series(hop_buf *out, hop_dtype d, bool exp);     /* exp: that, too */

/* prelude.c: the scalar operations that C has no expression for; math: of floats, a dtype at a time */
typedef void hop_c_mathfn(hop_buf *out, hop_dtype d);
void        hop_c_ops_prelude(hop_buf *out, hop_c_mathfn *math);

#endif
