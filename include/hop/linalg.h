/** Linear algebra on matrices, and on batches of them along the axes in front, which broadcast as
 * those of hop_matmul do. Matrices of up to 32 rows are loops in compiled code, also inside of
 * loops; LAPACK does the large ones where it is installed: see HOP_LAPACK in README.md. What has
 * no solution is NaN, and stops nothing. */
#ifndef HOP_LINALG_H
#define HOP_LINALG_H

#include "hop/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which triangle of a matrix is read, and how. */
enum {
	HOP_LOWER      = 0,
	HOP_UPPER      = 1,
	HOP_TRANSPOSED = 2,            /**< the equations are those of the transposed matrix */
	HOP_UNIT       = 4             /**< the diagonal is all ones, and not read */
};

/* ---- equations ---- */

/** x such that a x = b, for matrices a and for b a vector, a matrix, or batches of matrices. All of
 * x is NaN where a has no inverse. */
hop_value hop_at_solve(hop_trace *t, const char *file, int line, hop_value a, hop_value b);
#define hop_solve(t, ...) hop_at_solve(t, __FILE__, __LINE__, __VA_ARGS__)
/** The same, by a triangle of a: flags from above, or'ed. All of x is NaN where the diagonal has a
 * 0. */
hop_value hop_at_triangular_solve(hop_trace *t, const char *file, int line, hop_value a,
                                  hop_value b, int flags);
#define hop_triangular_solve(t, ...) \
	hop_at_triangular_solve(t, __FILE__, __LINE__, __VA_ARGS__)
/** HOP_LOWER: l such that a = l l^T, of the lower triangle of a; HOP_UPPER: u such that a = u^T
 * u, of the upper one. All of it is NaN where a is not positive definite. Derivatives are those
 * of the elements that are read: nothing for the other triangle. */
hop_value hop_at_cholesky(hop_trace *t, const char *file, int line, hop_value a, int flags);
#define hop_cholesky(t, ...) hop_at_cholesky(t, __FILE__, __LINE__, __VA_ARGS__)
/** x such that a x = b, given what hop_cholesky made of a with the same flags. */
hop_value hop_at_cho_solve(hop_trace *t, const char *file, int line, hop_value l, hop_value b,
                           int flags);
#define hop_cho_solve(t, ...) hop_at_cho_solve(t, __FILE__, __LINE__, __VA_ARGS__)
/** The logarithm of the determinant of a, given l or u: a number for each matrix. */
hop_value hop_at_cho_logdet(hop_trace *t, const char *file, int line, hop_value l);
#define hop_cho_logdet(t, ...) hop_at_cho_logdet(t, __FILE__, __LINE__, __VA_ARGS__)
/** The inverse of a. To multiply with it, solve. */
hop_value hop_at_inv(hop_trace *t, const char *file, int line, hop_value a);
#define hop_inv(t, ...) hop_at_inv(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- parts of matrices ---- */

/** Of a vector: the matrix with it on the diagonal. Of matrices: their diagonals. */
hop_value hop_at_diag(hop_trace *t, const char *file, int line, hop_value x);
#define hop_diag(t, ...) hop_at_diag(t, __FILE__, __LINE__, __VA_ARGS__)
/** The sum of the diagonal, called the trace. */
hop_value hop_at_diag_sum(hop_trace *t, const char *file, int line, hop_value x);
#define hop_diag_sum(t, ...) hop_at_diag_sum(t, __FILE__, __LINE__, __VA_ARGS__)
/** Elements up to diagonal k, or from it on, and 0 elsewhere; diagonal 1 is above the main one. */
hop_value hop_at_tril(hop_trace *t, const char *file, int line, hop_value x, int64_t k);
hop_value hop_at_triu(hop_trace *t, const char *file, int line, hop_value x, int64_t k);
#define hop_tril(t, ...) hop_at_tril(t, __FILE__, __LINE__, __VA_ARGS__)
#define hop_triu(t, ...) hop_at_triu(t, __FILE__, __LINE__, __VA_ARGS__)
/** The products of all elements of one vector with all of another. */
hop_value hop_at_outer(hop_trace *t, const char *file, int line, hop_value x, hop_value y);
#define hop_outer(t, ...) hop_at_outer(t, __FILE__, __LINE__, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
