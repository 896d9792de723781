/* lower.h -- from graphs to loop programs. The `lower` cells use the second half.
 *
 * A value is virtual (evaluated wherever it is wanted, at an index) or a root (stored in a
 * buffer). decide.c chooses; the cells only say how one element is computed from
 * elements of the operands. Nests are fused afterwards, on the loop program (fuse.c), and
 * loops are bound to a machine (schedule.c) before buffers get their place (plan.c). */
#ifndef HOP_LOWER_H
#define HOP_LOWER_H

#include "ir/rule.h"
#include "loop/walk.h"

typedef struct hop_lower_opts {
	const hop_machine *machine;        /* that the loops are bound to; NULL = none */
	bool     no_fuse;          /* leave one nest a root: for finding mistakes */
	bool     tile_all;         /* epilogues even where they do not pay: for tests */
	bool     room_all;         /* small temporaries in results too: for tests */
	hop_buf *copies;           /* not NULL: gets a line for every copy */
} hop_lower_opts;

/* The program has its own arena; o may be NULL. */
hop_status hop_lower_graph(hop_env *e, const hop_graph *g, const hop_lower_opts *o,
                           hop_prog **out);

/* ---- passes over a finished function (needs: all statements; keeps: meaning) ---- */

/* Fuse sibling loops, forward stores to loads, drop temporaries nobody reads. steps: also nests
 * with loops that go step by step. needs then: fused nests in these. */
void hop_loop_fuse(hop_env *e, hop_arena *a, hop_lfunc *f, const hop_range *r, bool steps);
/* Make loops that finish a tile its epilogue, where the result does not stay in so many bytes of
 * cache and that pays, or all of them. */
void hop_loop_tile(hop_env *e, hop_arena *a, hop_lfunc *f, const hop_range *r, int64_t cache,
                   bool all);
void hop_loop_forward(hop_env *e, hop_arena *a, hop_lfunc *f);
/* Put temporaries into results that replace them element by element. */
void hop_loop_reuse(hop_env *e, hop_lfunc *f);
/* Make whole buffers that a step copies at its end carries of the loop. */
void hop_loop_carries(hop_env *e, hop_arena *a, hop_lfunc *f);
/* Join perfect nests that run through memory in order into one loop. */
void hop_loop_collapse(hop_env *e, hop_lfunc *f);
/* For a device: what steps multiply and then write gets two halves, taken in turns. */
void hop_loop_turn(hop_env *e, hop_arena *a, const hop_machine *m, hop_lfunc *f);
/* For a device: loops whose steps hand on large arrays take two steps at once, the second from where the
 * first has put them. */
void hop_loop_twice(hop_env *e, hop_arena *a, const hop_machine *m, hop_lfunc *f);
/* Find steps whose lanes never meet; each goes step by step alone where that is better. */
void hop_loop_interchange(hop_env *e, hop_arena *a, const hop_machine *m, hop_lfunc *f,
                          const hop_range *r);
/* Bind the loops to the machine (schedule.c). needs: the last form of the nests. */
void hop_loop_schedule(hop_env *e, const hop_machine *m, hop_lfunc *f);
/* Temporaries that live inside an iteration become as large as it needs (shrink.c). */
void hop_loop_shrink(hop_env *e, const hop_machine *m, hop_lfunc *f);
/* Give every TEMP its offset, every CALL its frame; set is_written and the frame. */
struct hop_lfn;
void hop_loop_plan(hop_env *e, const hop_facts *given, const struct hop_lfn *fns,
                   const hop_range *range, hop_lfunc *f, bool room_all);
/* Equal nests become calls of one function, also across functions. */
void hop_loop_equal(hop_lower *l, hop_lfunc *f);
int  hop_lower_add(hop_lower *l, hop_lfunc f);             /* its index */
/* Cut a function that is too long into parts; gives how many. Calls of them have numbers from
 * `first` on. */
int64_t hop_loop_part_weight(void);
int hop_loop_divide(hop_env *e, hop_arena *a, hop_lfunc *f, int first, hop_lfunc **out);

/* ---- index expressions: interned, so equality is pointer equality ---- */

typedef struct hop_ix hop_ix;

/* A register that stays in 0 .. extent-1, or the quotient or remainder of an index. */
typedef struct hop_ixatom {
	enum { HOP_IX_REG, HOP_IX_DIV, HOP_IX_MOD } kind;
	int           id;
	hop_reg       reg;
	const hop_ix *of;
	hop_size      by;
	hop_size      extent;
} hop_ixatom;

/* k + sum of c * atom, atoms in order of id. */
struct hop_ix {
	hop_size k;
	int      n;
	struct hop_ixterm { const hop_ixatom *a; hop_size c; } t[];
};

const hop_ix *hop_ix_size(hop_lower *l, hop_size k);
const hop_ix *hop_ix_reg(hop_lower *l, hop_reg r, hop_size extent);
const hop_ix *hop_ix_add(hop_lower *l, const hop_ix *a, const hop_ix *b);
const hop_ix *hop_ix_mul(hop_lower *l, const hop_ix *a, hop_size c);
const hop_ix *hop_ix_div(hop_lower *l, const hop_ix *a, hop_size c);   /* a >= 0, c > 0 */
const hop_ix *hop_ix_mod(hop_lower *l, const hop_ix *a, hop_size c);
/* Row-major position of an index in dims, and back. */
const hop_ix *hop_ix_flat(hop_lower *l, int rank, const hop_size *dim,
                          const hop_ix *const *x);
void          hop_ix_unflat(hop_lower *l, const hop_ix *p, int rank, const hop_size *dim,
                            const hop_ix **out);
/* Sizes that both lists can be put together from; 0 when there are none. */
int           hop_ix_refine(hop_lower *l, int na, const hop_size *a, int nb,
                            const hop_size *b, hop_size *out);
/* Provably at least 0, with what is known of the symbols. */
bool          hop_lower_nonneg(hop_lower *l, hop_size s);

/* ---- where statements go ---- */

/* A block being filled. The statement that holds it is linked into the outer block only
 * when the scope closes, so what is emitted into an outer scope meanwhile goes before it:
 * that is how invariant code leaves loops. */
typedef struct hop_scope {
	struct hop_scope *up;
	struct hop_scope *back;        /* current scope to return to */
	struct hop_scope *barrier;     /* nothing leaves it: a branch, or the function */
	int               depth;
	bool              is_nest;     /* a PAR or RED loop, not a step or a branch */
	bool              is_shut;
	hop_block        *block;       /* NULL in dry runs: statements are not kept */
	hop_stmt         *stmt;
	const hop_ix     *var;
} hop_scope;

/* Where a whole value is: element x at base + sum of x[i] * stride[i]. */
enum { HOP_VIEW_NONE = -1, HOP_VIEW_REG = -2 };    /* not wanted; wanted as a register */
typedef struct hop_view {
	int           buf;
	const hop_ix *base;
	const hop_size *stride;        /* [rank]; shared */
} hop_view;

typedef struct hop_linst hop_linst;

/* One way in which a virtual value may be wanted. */
typedef struct hop_demand {
	struct hop_demand *next;
	int                home;       /* the nest; -1 = an operator with bodies */
	bool               cond;       /* under a mask */
	bool               need;       /* as a buffer */
	hop_scope         *scope;
	const hop_ix     **ix;         /* [rank], NULL for home -1 */
} hop_demand;

typedef struct hop_lval {
	enum { HOP_LV_NODE, HOP_LV_BUF, HOP_LV_ALIAS, HOP_LV_REG } kind;
	const hop_type *type;          /* over the function's symbols */
	hop_view        view;          /* BUF */
	hop_scope      *scope;         /* BUF, REG: where it became readable */
	hop_reg         reg;           /* REG */
	hop_linst      *inst;          /* ALIAS: that value, */
	hop_val         val;
	const hop_ix   *lead;          /* at this leading index unless NULL */
	/* decisions */
	bool            must;          /* has to be a root: too large, or no expression */
	bool            special;       /* its cell stores the whole value itself */
	bool            heavy;         /* loops to compute one element */
	bool            uniform;       /* every element is the same register */
	const hop_type *split;         /* sizes that would make its index simple; or NULL */
	bool            root;
	bool            fixed;         /* no step changes it, and it can be had before the loop */
	bool            has_dest;
	hop_view        dest;          /* where a root is wanted */
	int             cost, size;
	int             deep;          /* virtual values that stand on each other, up to it */
	int             ndemand;
	hop_demand     *demand;
} hop_lval;

/* An element takes no work of its own: a constant, or a view of something. */
static inline bool hop_lower_is_free(const hop_lval *x)
{
	return !x->cost && !x->heavy && !x->must;
}

/* A graph being lowered in place: values and size symbols. */
struct hop_linst {
	const hop_graph *g;
	int              op;           /* whose body it is; call for a function */
	hop_size        *smap;
	hop_lval        *val;
	hop_scope       *scope;        /* where its nests go */
	hop_scope       *outer;        /* around the loop whose step this is; or NULL */
	bool             many;         /* that loop is worth preparing for */
	int             *local;        /* [nlocal] buffers of its local symbols */
	bool             tests;        /* has checks to be tested: nothing of it leaves its block */
	bool             dead;         /* and one of them fails for certain: nothing else of it
	                                  is emitted */
	int             *nuse;         /* [nvalue] nodes that read it */
	bool            *live;         /* [nnode] */
	bool            *done;         /* [nnode] lowered before the loop */
};

enum hop_ask {
	HOP_ASK_AT,        /* emit the element at l->q.ix, set l->reg */
	HOP_ASK_ADDR,      /* views only: say where the element at l->q.ix is */
	HOP_ASK_STORE,     /* store the whole value to l->q.dest; only after hop_lower_special */
	HOP_ASK_NODE       /* operators with bodies and effects: emit the node */
};

/* A function, finished or not. Finished callees come before their callers; the program
 * has them the other way round. */
typedef struct hop_lfn {
	struct hop_lfn *next;
	hop_lfunc       f;
	int             index;         /* in order of finishing */
	hop_range      *range;
	size_t          nlimit, limitcap;
	hop_size       *limit;         /* counts that whoever calls it has to see to */
} hop_lfn;

/* A copy that stays unless a later pass removes the buffer. */
typedef struct hop_lcopy {
	struct hop_lcopy *next;
	hop_lfn          *fn;
	int               buf;
	hop_loc           loc;
	const char       *what, *why;
	int               i;
} hop_lcopy;

/* What all functions of a program share. */
typedef struct hop_lall {
	hop_lfn     *fns;              /* functions, newest first */
	int          nfn;
	size_t       effectcap, checkcap;
	hop_map      callees, ncall;
	hop_map      nests;            /* equal.c */
	hop_lcopy   *copies;
	double       spent;            /* seconds, in functions that are done */
} hop_lall;

/* What is numbered while a function is made. A dry run gives back what it took. */
typedef struct hop_lnames {
	hop_scope  **regscope;         /* [nreg+1] */
	size_t       regcap;
	hop_map      ixs;
	int          natom;
} hop_lnames;

/* What is asked of a cell, and where: saved and restored as a whole. */
typedef struct hop_question {
	hop_linst   *inst;
	enum hop_ask ask;
	const hop_ix *const *ix;
	hop_view     dest;
	hop_reg      mask;             /* loads give 0 where it is false; 0 = no mask */
	hop_scope   *cur;
	hop_lbuild   b;
	hop_arena   *a;                /* of the program; in a dry run of what is thrown away */
	struct {
		bool      on, need;
		hop_lval *val;             /* whose cell runs */
		int       home;
	} dry;
} hop_question;

/* The lowering of one function. */
struct hop_lower {
	hop_env     *env;
	hop_arena   *w;                /* scratch of the lowering */
	hop_arena   *once;             /* scratch of one dry run */
	hop_prog    *prog;
	const hop_lower_opts *opt;
	hop_lall    *all;
	hop_lfn     *fn;
	bool         no_fuse;          /* of a region that says so: every value is stored by a nest
	                                * of its own */
	hop_range   *range;            /* of its symbols */
	size_t       rangecap, localcap;
	hop_facts    given;            /* true when the function is entered: all that the frame
	                                * may rest on */
	hop_facts    facts;            /* with what was tested since */
	hop_map      narrow;           /* register: what it is of, packed */
	hop_map      memo;
	hop_scope   *top;
	hop_lnames   names;
	hop_question q;
	/* answers */
	hop_reg      reg;
	struct { int buf; const hop_ix *at; hop_scope *scope; } addr;
	struct { int cost, size, deep; } found;       /* by a dry run */
};

/* ---- checks (guard.c) ---- */

/* Which checks of the instance have to be tested: fills tests and dead. */
void hop_guard_look(hop_lower *l, hop_linst *in);
/* Emit the tests of what the instance waits for: symbols from .. to-1 of its graph are now
 * bound; from = 0: all that waits for none of its local symbols. */
void hop_guard_emit(hop_lower *l, hop_linst *in, int from, int to);
/* See to it that c is not more than any value may have: by the caller of the function, or
 * here where it mentions a local symbol. */
void hop_guard_limit(hop_lower *l, hop_size c);
/* Elements to reserve for t: sizes that only a check keeps from being negative count as 0,
 * since the check may come later or not at all. */
hop_size hop_guard_room(hop_lower *l, const hop_type *t);
/* The entry's checks and limits are left to whoever calls the program. */
void hop_guard_entry(hop_lower *l, const hop_graph *g, const hop_lfn *fn);
/* What calls of fn ask of their size arguments, which are not its checks. */
void hop_guard_call(hop_lower *l, int op, const hop_graph *g, const hop_size *sargs,
                    const hop_lfn *fn, const hop_size *sizes, int nsize);

/* ---- for cells ---- */

const hop_type *hop_lower_in(hop_lower *l, const hop_node *n, int k);    /* types, with */
const hop_type *hop_lower_out(hop_lower *l, const hop_node *n, int k);   /* our symbols */
hop_size        hop_lower_size(hop_lower *l, hop_size s);

/* Registers have the dtype that is computed in: where a packed dtype is named, as that of a type,
 * its computing dtype is meant. Loads widen, stores narrow, and what a cell gives is rounded to
 * the dtype of the result behind its back. */

/* The element of operand k at an index. In ASK_ADDR it finds the address instead. */
hop_reg hop_lower_arg(hop_lower *l, const hop_node *n, int k, const hop_ix *const *ix);
hop_reg hop_lower_op(hop_lower *l, enum hop_sop s, hop_dtype d, int na, const hop_reg *a);
#define hop_lower_do(l, sop, d, ...) \
	hop_lower_op((l), HOP_SOP_##sop, (d), \
	             (int)(sizeof((hop_reg[]){ __VA_ARGS__ }) / sizeof(hop_reg)), \
	             (const hop_reg[]){ __VA_ARGS__ })
hop_reg hop_lower_const(hop_lower *l, hop_dtype d, double f, int64_t i);
hop_reg hop_lower_sizereg(hop_lower *l, hop_size s);
hop_reg hop_lower_ixreg(hop_lower *l, const hop_ix *x);
/* r rounded to a packed dtype; of any other dtype as it is. */
hop_reg hop_lower_round(hop_lower *l, hop_dtype d, hop_reg r);
hop_reg hop_lower_load(hop_lower *l, hop_dtype d, int buf, const hop_ix *at, hop_scope *s);
void    hop_lower_put(hop_lower *l, hop_dtype d, int buf, const hop_ix *at, hop_reg v);
/* Clamp an i64 register into 0 .. n-1: an index that is safe to load with. */
const hop_ix *hop_lower_clamp(hop_lower *l, hop_reg r, hop_size n);
/* A register of dtype `from` as one of d, not rounded to d if that is packed. */
hop_reg hop_lower_to(hop_lower *l, hop_dtype d, hop_dtype from, hop_reg r);
hop_reg hop_lower_as_i64(hop_lower *l, hop_reg r, hop_dtype d);
hop_reg hop_lower_and(hop_lower *l, hop_reg a, hop_reg b);              /* 0 = true */
/* Where a reducing loop for the element at ix goes: around nothing it does not need. */
hop_scope *hop_lower_red_scope(hop_lower *l, int rank, const hop_ix *const *ix);
hop_addr hop_lower_addr(hop_lower *l, int buf, const hop_ix *at);
hop_scope *hop_lower_reg_scope(hop_lower *l, hop_reg r);
void       hop_lower_note_reg(hop_lower *l, hop_reg r, hop_scope *s);    /* that is it */
bool       hop_lower_visible(hop_lower *l, hop_reg r);      /* from the current scope */
hop_scope *hop_lower_ix_scope(hop_lower *l, const hop_ix *x);
hop_scope *hop_lower_deeper(hop_scope *a, hop_scope *b);

/* Loops. `at` NULL = in the current scope. Close leaves the scope and links the loop.
 * A PAR loop of one trip is no loop: the index is 0 and close must not be called. */
const hop_ix *hop_lower_open(hop_lower *l, enum hop_loop_kind k, hop_size extent,
                             hop_scope *at);
void     hop_lower_close(hop_lower *l);
/* Loops over dims, outermost first; x gets the index. Returns how many to close. */
int      hop_lower_open_dims(hop_lower *l, int rank, const hop_size *dim, const hop_ix **x);
void     hop_lower_close_n(hop_lower *l, int n);
/* Give the innermost open RED loop an accumulator; the result is set on close. */
hop_reg  hop_lower_identity(hop_lower *l, enum hop_red r, hop_dtype d);  /* to start with */
hop_reg  hop_lower_acc(hop_lower *l, enum hop_red r, hop_dtype d, hop_reg init, hop_reg v);
/* Branch and step scopes: the statement's block is filled until close. */
hop_stmt *hop_lower_new(hop_lower *l, enum hop_lkind k);        /* not linked */
void      hop_lower_enter(hop_lower *l, hop_stmt *s, hop_block *b, bool barrier);
void      hop_lower_leave(hop_lower *l, bool link);

/* In a dry run: this value must be a root; its cell wants to store it itself; the cost of
 * one element is a loop. */
void hop_lower_must(hop_lower *l);
/* In a dry run: operand k, if others read it too, is computed once and stored. Computed
 * again in another loop, a float may be rounded otherwise. */
void hop_lower_once(hop_lower *l, const hop_node *n, int k);
void hop_lower_special(hop_lower *l);
void hop_lower_heavy(hop_lower *l);
/* Loops over the sizes of t would make the index simple: t has as many elements. */
void hop_lower_split(hop_lower *l, const hop_type *t);
/* The value is these bytes. */
void hop_lower_is_data(hop_lower *l, const hop_node *n, const hop_data *d);

/* Whole values: store operand k to a view; operand k as a strided view of a buffer
 * (computed into a temporary when it is none). */
hop_status hop_lower_store_arg(hop_lower *l, const hop_node *n, int k, const hop_view *to);
hop_status hop_lower_arg_view(hop_lower *l, const hop_node *n, int k, bool dense,
                              hop_view *out);
/* Operand k with its axes in the given order in memory, rearranged once before the loop
 * that we are in. False when it changes from step to step or there is no loop. */
bool       hop_lower_arg_packed(hop_lower *l, const hop_node *n, int k, const int *order,
                                hop_view *out);
hop_status hop_lower_nest(hop_lower *l, const hop_node *n);     /* ASK_STORE, plainly */
void       hop_lower_fill(hop_lower *l, const hop_type *t, const hop_view *to);  /* zeros */
hop_view   hop_lower_temp(hop_lower *l, const hop_type *t);
hop_view   hop_lower_dense(hop_lower *l, int buf, const hop_type *t);
const hop_ix *hop_view_at(hop_lower *l, const hop_view *v, int rank,
                          const hop_ix *const *x);
/* Elements of t; where from computes in a wider dtype they are rounded. */
void       hop_view_copy(hop_lower *l, const hop_type *t, const hop_view *from,
                         const hop_view *to);
/* With axis i where axis order[i] is wanted. */
hop_view   hop_view_permuted(hop_lower *l, const hop_view *v, int rank, const int *order);
bool       hop_view_is_dense(hop_lower *l, const hop_view *v, const hop_type *t);
/* Result i of an operator: where it must be written; marks it readable. */
hop_view   hop_lower_result(hop_lower *l, const hop_node *n, int i);
/* The same row after row, as functions write whole values; once they have, settle. */
hop_view   hop_lower_result_dense(hop_lower *l, const hop_node *n, int i);
void       hop_lower_result_settle(hop_lower *l, const hop_node *n, int i, const hop_view *dense);
/* A scalar operand or result as a register. */
hop_reg    hop_lower_scalar(hop_lower *l, const hop_node *n, int k);

/* Bodies. Parameters of the instance start unset: alias or buffer each of them. */
hop_linst *hop_lower_body(hop_lower *l, const hop_node *n, const hop_graph *body);
void       hop_lower_bind_arg(hop_lower *l, const hop_node *n, int k, hop_linst *to, int p,
                              const hop_ix *lead);
void       hop_lower_bind_view(hop_lower *l, hop_linst *to, int p, const hop_view *v);
/* Decide and emit; results go to dest. With before = true only what does not depend on
 * the parameters with fixed[p] = false is emitted now. */
hop_status hop_lower_decide(hop_lower *l, hop_linst *in, const hop_view *dest,
                            const bool *fixed);
hop_status hop_lower_emit(hop_lower *l, hop_linst *in, const hop_view *dest, bool before);
/* Result i of a decided body, a scalar, as a register. */
hop_reg    hop_lower_out_reg(hop_lower *l, hop_linst *in, int i);
/* Call body as a function of its own, or inline it; the second never inlines. no_fuse: as of the
 * lowering of a function. */
hop_status hop_lower_call_body(hop_lower *l, const hop_node *n, const hop_graph *body);
hop_status hop_lower_call_apart(hop_lower *l, const hop_node *n, const hop_graph *body,
                                bool no_fuse);
/* The buffer that holds local symbol sym of the instance. */
int        hop_lower_local(hop_lower *l, hop_linst *in, int sym);
/* Carry or other `what` number i takes its new value from buf, a copy each trip; for copies.c,
 * which tells of all copies if they are asked for. */
void       hop_lower_copied(hop_lower *l, hop_loc loc, int buf, const char *what, int i,
                            const char *why);
void       hop_lower_copies(hop_lower *l, const hop_lfn *entry);

#endif
