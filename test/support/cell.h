/* cell.h -- cells of the matrix: an operator, a capability, a function that tries it. Each
 * runs in a process of its own, so that one that dies is one cell and no more. */
#ifndef CELL_H
#define CELL_H

#include "hop/hop.h"

enum {
#define OPERATOR(upper, lower) OP_##upper,
#define REFUSE(op, cap, words, reason)
#include "operator/operators.def"
#undef REFUSE
#undef OPERATOR
	NOPERATOR
};
extern const char *const cell_op[NOPERATOR];

/* 0 if the capability is there; says on stderr what is not. arg: NOPERATOR, or the outer
 * operator of a nest. */
typedef int cell_fn(hop_ctx *c, int op, int arg);

/* Run f as cell `op cap` and print `cell <op> <cap> ok` or `... FAIL`. Returns 1 on FAIL. A cell
 * with a line REFUSE is ok when it fails and says its words. CELL_SHARE=k/n: only every n-th from the
 * k-th on; CELL_FORK=0: in this process, where starting a device takes longer than most cells;
 * CELL_SECONDS=n: what has not begun by then is skipped, and said. */
int cell_run(int op, const char *cap, cell_fn *f, int arg);

/* Say why, count one. */
int cell_bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A status that should be HOP_OK. */
int cell_ok(hop_ctx *c, hop_status st, const char *what);
/* n numbers of any dtype that should agree to tol, relative to 1 + |want|. */
int cell_near(const char *what, int64_t n, const double *want, hop_array *got, double tol);
/* Two arrays that should have the same bits. */
int cell_same(const char *what, hop_array *want, hop_array *got);

#endif
