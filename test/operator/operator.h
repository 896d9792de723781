/* operator.h -- what the matrix is told of an operator. To add one: a line of operators.def, and a
 * file test/operator/NAME.c with the five functions below. Every column of the matrix, and the
 * operator inside and around every other, follow from them; transforms.c and its neighbours know no
 * operator. This is about what a program means: random programs are in support/program_hop.c. */
#ifndef OPERATOR_H
#define OPERATOR_H

#include "support/subject.h"

/* A link of a chain of operators while tracing; the last, of op NOPERATOR, is the base function. */
typedef struct chain {
	int                 op;
	const struct chain *in;        /* what this one is wrapped around */
	const subject      *s;
	hop_value           k;         /* captured, where the operator does not need it as input */
} chain;

/* The same for the reference: the operators from `at` on. */
typedef struct ref {
	const subject *s;
	int            at;
	double         k;
	uint64_t      *path;           /* which ways were gone so far */
} ref;

hop_value chain_inner(hop_trace *t, const chain *c, hop_value x);       /* what is inside c */
void      ref_inner(const ref *r, int n, const double *x, double *out);
void      ref_went(const ref *r, int way);              /* a branch, or a number of trips */
double    ref_total(int n, const double *x);
/* a, a + step, ..: n numbers of the dtype of x. */
hop_value chain_ramp(hop_trace *t, hop_value x, int n, double a, double step);

/* forms.c: a scan, a call, written as s->form says. */
hop_value form_scan(hop_trace *t, const chain *c, hop_value x);
hop_value form_call(hop_trace *t, const chain *c, hop_value x);

/* Of each operator: apply wraps it around chain_inner, on a vector; ref does the same to doubles
 * with ref_inner, by loops of C. Both are continuous almost everywhere. The last three fill the
 * cells of those names: what bodies may do that other systems refuse, or how it is refused. Beside
 * zero, the gradient of no elements is tried of every operator. */
#define OPERATOR(upper, lower) \
	hop_value apply_##lower(hop_trace *t, const chain *c, hop_value x); \
	void      ref_##lower(const ref *r, int n, const double *x, double *out); \
	int       mutation_##lower(hop_ctx *c); \
	int       aliasing_##lower(hop_ctx *c); \
	int       zero_##lower(hop_ctx *c);
#define REFUSE(op, cap, words, reason)
#include "operator/operators.def"
#undef REFUSE
#undef OPERATOR

/* ---- for the last three ---- */

enum { BODY_N = 3, BODY_OUT = 4 };
extern const double body_x[BODY_N];

/* body(x: f64[n]) gives nout results of n numbers: captured and called, and eagerly. */
int body_expect(hop_ctx *c, hop_body *body, void *user, int n, const double *x, int nout,
                double want[][BODY_N]);
/* body(x: f64[3]) is refused with words in the message, captured and eagerly. */
int body_refused(hop_ctx *c, hop_body *body, const char *words);
/* body(x: f64[3]) gives a sum and a vector: value and gradient of the sum. */
int body_gradient(hop_ctx *c, hop_body *body, const double *value, const double *grad);

/* mutation: acc is captured; each run of a body adds 2x to it and doubles element 0 through a
 * view, and adds 1 to x. The operator runs it so many times: run(t, acc, x, out). */
typedef void body_writer(hop_trace *t, hop_value *acc, hop_value x, hop_value *out);
int  body_writes(hop_ctx *c, body_writer *run, int times);
void body_write_all(hop_trace *t, hop_value acc, hop_value x);
hop_body body_write;                   /* user: &acc; x -> x + 1 */
/* aliasing: body(x) gives x and 2x, having passed inputs through. */
int  body_aliases(hop_ctx *c, hop_body *body);
hop_body body_keep;                    /* x -> x */
hop_body body_pair;                    /* x, y -> x, y */
hop_body body_swap;                    /* x, y -> y, x */
hop_body body_twice;                   /* x -> x, x */
hop_body body_square;                  /* x -> x x */

#endif
