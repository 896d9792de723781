/* subject.h -- the programs that the matrix is filled with: a chain of operators around a
 * small base function of a vector x and a scalar k, once as hop sees it and once as plain
 * loops over doubles, which are the reference. What each operator does is in test/operator. */
#ifndef SUBJECT_H
#define SUBJECT_H

#include "support/cell.h"

enum { SUBJECT_DEPTH = 4, SUBJECT_MAX = 16 };

/* ops[0] is the outermost operator; n = 0 is the base function alone. */
typedef struct subject {
	int  n;
	int  ops[SUBJECT_DEPTH];
	bool scalar;           /* return the weighted sum of the result, not the result */
	/* how scans run: so many steps (0 = as they are), keeping carries, with early exit; slots are
	 * for every loop */
	int  steps, every, slots;
	bool stops;
	int  form;             /* what scans, maps and calls are written as: see below */
} subject;

/* Forms made of other operators, which compute the same. */
enum subject_form {
	FORM_PLAIN,
	FORM_UNROLL,           /* scan, two steps in one */
	FORM_FORI,             /* a scan as fori_loop between numbers; from 2 on */
	FORM_FORI_DATA,        /* the upper limit is data: a while */
	FORM_FORI_BOUND,       /* it is, and there are at most five trips: a counted scan */
	FORM_WHILE_STACK,      /* a scan as while_stack_output */
	FORM_CHUNK,            /* map, two slices at a time */
	FORM_FOREACH,          /* a call as foreach_map of x and a part of x */
	NFORM
};

/* hop_body: inputs x (vector) and k (scalar) of one float dtype, user is a subject. */
hop_body subject_body;
/* The reference. Returns the weighted sum; out may be NULL. */
double subject_ref(const subject *s, int nx, const double *x, double k, double *out);
/* The same for the ways the reference goes: equal numbers, equal branches and trips. */
uint64_t subject_path(const subject *s, int nx, const double *x, double k);
/* Weight of element i in the sum. */
double subject_weight(int i);

/* Derivatives of the weighted sum by central differences. */
void   subject_grad(const subject *s, int nx, const double *x, double k, double *dx,
                    double *dk);
/* Of the derivative along v: d/dx (dx . v). */
void   subject_hess(const subject *s, int nx, const double *x, double k, const double *v,
                    double *out);
/* Derivative of the result along (v, dk). */
void   subject_along(const subject *s, int nx, const double *x, double k, const double *v,
                     double dk, double *out);

hop_array *subject_vec(hop_ctx *c, int n, const double *x);    /* f64[n] */
hop_array *subject_num(hop_ctx *c, double x);                  /* f64 */
hop_array *subject_mat(hop_ctx *c, int n, int m, const double *x);
hop_array *subject_array(hop_ctx *c, hop_dtype dtype, int rank, const int64_t *dim,
                         const double *x);             /* each rounded to dtype: f64 or bf16 */
double     subject_bf16(double x);                     /* the nearest bf16 */

#endif
