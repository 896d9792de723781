/* subject.h -- the programs that the matrix is filled with: a chain of operators around a
 * small base function of a vector x and a scalar k, once as hop sees it and once as plain
 * loops over doubles, which are the reference. k is captured, never passed, except where
 * the operator needs it as an input. */
#ifndef SUBJECT_H
#define SUBJECT_H

#include "support/cell.h"

enum { SUBJECT_DEPTH = 4, SUBJECT_MAX = 16 };

/* ops[0] is the outermost operator; n = 0 is the base function alone. */
typedef struct subject {
	int  n;
	int  ops[SUBJECT_DEPTH];
	bool scalar;           /* return the weighted sum of the result, not the result */
} subject;

/* hop_body: inputs x (f64 vector) and k (f64 scalar), user is a subject. */
hop_body subject_body;
/* The reference. Returns the weighted sum; out may be NULL. */
double subject_ref(const subject *s, int nx, const double *x, double k, double *out);
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

#endif
