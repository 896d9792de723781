/* loop_step.h -- the statements of loop programs, run one scalar at a time with every access
 * checked. Who runs them is the caller's: loop_run.c is alone, team_run.c has threads. */
#ifndef HOP_LOOP_STEP_H
#define HOP_LOOP_STEP_H

#include "support/loop_run.h"
#include "support/loop_scalar.h"

typedef struct run_frame run_frame;

/* What threads of a device do in their own way. */
typedef struct run_hooks {
	/* An element is about to be read or written; false: somebody else does that. */
	bool  (*touch)(run_frame *t, const hop_lbuf *b, const void *p, bool write);
	/* Where `bytes` at byte `at` of a space of a device are; NULL: they leave it. */
	void *(*space)(run_frame *t, const hop_lbuf *b, int64_t at, int64_t bytes);
	void  (*loop)(run_frame *t, const hop_stmt *s);      /* that has a place */
	void  (*tile)(run_frame *t, const hop_stmt *s);
	void  (*carry)(run_frame *t, const hop_stmt *s);     /* a step has ended */
	/* CALL, EFFECT, GROW, CHECK, BARRIER */
	void  (*other)(run_frame *t, const hop_stmt *s);
} run_hooks;

typedef struct run_tape { char *p; size_t bytes, room; } run_tape;

typedef struct run_machine {
	hop_env         *env;
	const hop_prog  *prog;
	hop_dtype      **types;      /* [nfunc] of registers; NULL: not yet asked for */
	run_tape        *tape;
	hop_run_effect  *effect;
	void            *user;
	const run_hooks *hooks;      /* NULL: one thread */
	int              stop;
	char             why[200];
} run_machine;

/* A function that is being run, by one thread. */
struct run_frame {
	run_machine       *m;
	const hop_lfunc   *f;
	const hop_dtype   *dt;
	void *const       *params;
	int64_t           *syms;     /* given, then locals */
	char              *space;
	int64_t            nspace;
	scalar            *reg;
	const hop_stmt    *now;
	struct team_thread *by;      /* hooks: who */
	bool              *gone;     /* hooks: it has nothing more to do; or NULL */
	/* Of a product, elements whose number mod `share` is not `mine` are of others; 0: all are ours. */
	int64_t            share, mine;
	void             **own;      /* [nbuf] SPACE_LOCAL, made at the first use; NULL: none yet */
};

void    run_open(run_machine *m, hop_env *e, const hop_prog *p);
void    run_close(run_machine *m);
bool    run_enters(const run_machine *m, const int64_t *syms);   /* checks of the entry hold */

/* A frame of function fn with registers and symbols of its own; memory is the caller's. */
void    run_begin(run_frame *t, run_machine *m, int fn, void *const *params, const int64_t *syms);
void    run_end(run_frame *t);
/* The same function's part `fn`, run here: only registers are its own. */
void    run_part(run_frame *t, int fn);

void    run_fail(run_frame *t, const char *why);
bool    run_over(const run_frame *t);                            /* stopped, or gone */
int64_t run_size(run_frame *t, hop_size s);
void    run_block(run_frame *t, const hop_block *b);
/* Iteration i of a loop; the first puts its values into acc, others combine theirs. */
void    run_iteration(run_frame *t, const hop_stmt *s, int64_t i, scalar *acc, bool first);
void    run_tile(run_frame *t, const hop_tile *x);
void    run_carries(run_frame *t, const hop_stmt *s);
/* Of CALL and EFFECT, which the caller frees. An empty buffer has an address too. */
void  **run_pointers(run_frame *t, const hop_stmt *s);
int64_t *run_sizes(run_frame *t, const hop_stmt *s);
void    run_effect(run_frame *t, const hop_stmt *s);
bool    run_grow(run_frame *t, const hop_stmt *s);               /* it moved */
void    run_check(run_frame *t, const hop_stmt *s);
/* All memory of a function that is called from a host, and its statements. */
void    run_call(run_machine *m, int fn, void *const *params, const int64_t *syms);
void    run_calls(run_frame *t, const hop_stmt *s);              /* CALL, as a host does it */

#endif
