/* size.h -- sizes: integers, or expressions over the size symbols of a graph. Interned in the
 * context, so equality is pointer equality. Knows nothing of types. */
#ifndef HOP_SIZE_H
#define HOP_SIZE_H

#include "base/base.h"

/* A polynomial over size symbols without its constant term, interned: one pointer per
 * value. Atoms of its monomials are symbols or div/mod/min/max of sizes. */
typedef struct hop_sexpr hop_sexpr;

/* k + e. Constant iff e is NULL. Two sizes are equal symbolically iff both fields are.
 * One constant is no size: HOP_SIZE_BAD, the result of arithmetic that leaves 64 bits or
 * makes an expression too large to be worth keeping. Every operation passes it on; being
 * negative, it fails the check of any shape it gets into. */
typedef struct hop_size {
	int64_t          k;
	const hop_sexpr *e;
} hop_size;

/* What is known of a size symbol. */
typedef struct hop_range { int64_t lo, hi; } hop_range;
#define HOP_SIZE_MAX ((int64_t)1 << 48)       /* no size is larger; products are checked */

/* What a size that is not known counts as in rules of thumb, as near as its range allows. */
enum { HOP_SIZE_USUAL = 64 };
static inline int64_t hop_range_usual(hop_range r)
{
	return r.lo > HOP_SIZE_USUAL ? r.lo : r.hi < HOP_SIZE_USUAL ? r.hi : HOP_SIZE_USUAL;
}

#define HOP_SIZE_BAD INT64_MIN
enum { HOP_SIZE_WEIGHT = 4096 };              /* terms and atoms of one size, nested too */

static inline hop_size hop_size_int(int64_t k) { return (hop_size){ k, NULL }; }
static inline bool hop_size_const(hop_size a) { return a.e == NULL; }
static inline bool hop_size_eq(hop_size a, hop_size b) { return a.k == b.k && a.e == b.e; }
static inline bool hop_size_is(hop_size a, int64_t k) { return !a.e && a.k == k; }

static inline bool hop_size_bad(hop_size a) { return !a.e && a.k == HOP_SIZE_BAD; }

hop_size hop_size_sym(hop_env *e, int sym);
hop_size hop_size_add(hop_env *e, hop_size a, hop_size b);
hop_size hop_size_sub(hop_env *e, hop_size a, hop_size b);
hop_size hop_size_mul(hop_env *e, hop_size a, hop_size b);
hop_size hop_size_div(hop_env *e, hop_size a, hop_size b);    /* floor; x div 0 = 0 */
hop_size hop_size_mod(hop_env *e, hop_size a, hop_size b);    /* x - y*(x div y); x mod 0 = 0 */
hop_size hop_size_min(hop_env *e, hop_size a, hop_size b);
hop_size hop_size_max(hop_env *e, hop_size a, hop_size b);
/* The polynomial q with a = b*q, if there is one; a div b is q unless b can be 0, which
 * the caller has to know. */
bool     hop_size_quot(hop_env *e, hop_size a, hop_size b, hop_size *out_q);

/* Replace symbol i by args[i]; i >= nargs is our bug. */
hop_size hop_size_subst(hop_env *e, hop_size a, const hop_size *args, int nargs);
/* The value for given symbols; false when a symbol >= n is used or it overflows. Most sizes
 * of a call are constants, and a call takes as long as its sizes. */
bool     hop_size_eval_expr(hop_size a, const int64_t *syms, int n, int64_t *out_v);
static inline bool hop_size_eval(hop_size a, const int64_t *syms, int n, int64_t *out_v)
{
	*out_v = a.k;
	return a.e ? hop_size_eval_expr(a, syms, n, out_v) : a.k != HOP_SIZE_BAD;
}
/* Bounds, from the symbols' ranges; a symbol >= n is 0..HOP_SIZE_MAX. A bound of
 * +-HOP_SIZE_MAX also stands for all that is farther out. */
hop_range hop_size_range(hop_size a, const hop_range *syms, int n);
/* The value modulo 2^64: what compiled code computes. Symbols >= n count as 0. */
int64_t  hop_size_wrap(hop_size a, const int64_t *syms, int n);
/* Whether every number on the way to its value is below 2^62, whatever the symbols are
 * within their ranges. */
bool     hop_size_fits(hop_size a, const hop_range *syms, int n);
/* Provably at least 0 for all symbols within their ranges. Stronger than hop_size_range: it
 * looks into quotients, minima and maxima. */
bool     hop_size_nonneg(hop_env *e, hop_size a, const hop_range *syms, int n);
/* A total order that is the same in every context: larger monomials first. */
int      hop_size_cmp(hop_size a, hop_size b);
/* One more than the largest symbol used; 0 for a constant. */
int      hop_size_nsym(hop_size a);
/* The symbol, if the size is one symbol and nothing else; -1 if not. */
int      hop_size_bare(hop_size a);
/* The size as text over symbol names (names[i], or s<i> when NULL). Canonical:
 *	size = ["-"] term {("+" | "-") term}
 *	term = prod | value "/" value       a quotient stands alone in its term
 *	prod = value {"*" value}            only the first may be a number
 *	value = number | name | "min(" size "," size ")" | "max(" size "," size ")"
 *	      | "(" size ")" | "(" value "%" value ")"
 * With "/" and "%" as floor and its remainder, and the usual precedences, it reads back. */
void     hop_size_print(hop_buf *b, hop_size a, const char *const *names, int n);
/* For printing, lowering and hashing: walk the parts of the nonconstant polynomial. */
typedef enum hop_atom_kind { HOP_ATOM_SYM, HOP_ATOM_DIV, HOP_ATOM_MOD, HOP_ATOM_MIN,
                             HOP_ATOM_MAX } hop_atom_kind;
typedef struct hop_atom { hop_atom_kind kind; int sym; hop_size a, b; } hop_atom;
int      hop_sexpr_nterm(const hop_sexpr *x);
int64_t  hop_sexpr_coeff(const hop_sexpr *x, int term);
int      hop_sexpr_natom(const hop_sexpr *x, int term);
const hop_atom *hop_sexpr_atom(const hop_sexpr *x, int term, int i);
/* Content hash, equal across contexts. */
uint64_t hop_size_hash(hop_size a);

#endif
