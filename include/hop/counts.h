/** How many there are is data: results of a capacity and a count. Each has as many elements, or rows,
 * as its capacity; the first ones, up to the count, are what was found, in order, and behind them is
 * a fill. More than the capacity are not kept, the first are; the count says how many there were. */
#ifndef HOP_COUNTS_H
#define HOP_COUNTS_H

#include "hop/block.h"
#include "hop/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hop_count_opts {
	size_t    size;                /**< sizeof in the caller's build; grows at the end only */
	bool      has_cap;             /**< cap is given; else it is the number of elements or rows
	                                * there are, so that nothing is lost */
	hop_dim   cap;
	hop_value fill;                /**< a scalar; HOP_NONE: 0, of hop_nonzero -1 */
	bool      inverse, counts;     /**< of hop_unique: more results */
} hop_count_opts;
#ifndef __cplusplus
#define HOP_COUNT_OPTS(...) (&(hop_count_opts){ .size = sizeof(hop_count_opts), __VA_ARGS__ })
/** In these: a capacity, an integer of C or a size. */
#define HOP_CAP(n) .has_cap = true, .cap = HOP_LENGTH_(n)
#endif

/** out: where x is not 0, as rows of indices, i64[cap, rank of x], in row-major order, a NaN among
 * them; and the count, an i64 scalar. opts NULL = defaults, here and below. Returns 2, or 0 after a
 * failure. */
int hop_at_nonzero(hop_trace *t, const char *file, int line, hop_value x,
                   const hop_count_opts *opts, hop_value *out);
#define hop_nonzero(t, ...) hop_at_nonzero(t, __FILE__, __LINE__, __VA_ARGS__)
/** The count alone. */
hop_value hop_at_count_nonzero(hop_trace *t, const char *file, int line, hop_value x);
#define hop_count_nonzero(t, ...) hop_at_count_nonzero(t, __FILE__, __LINE__, __VA_ARGS__)
/** out: the elements of x where mask, bools, holds, in row-major order; and the count. The two
 * broadcast. The gradient goes back to where they came from. Returns 2. */
int hop_at_masked_select(hop_trace *t, const char *file, int line, hop_value x, hop_value mask,
                         const hop_count_opts *opts, hop_value *out);
#define hop_masked_select(t, ...) hop_at_masked_select(t, __FILE__, __LINE__, __VA_ARGS__)
/** out: the rows of x, along axis 0, where mask, a bool for each, holds; and the count. Returns 2. */
int hop_at_compact(hop_trace *t, const char *file, int line, hop_value x, hop_value mask,
                   const hop_count_opts *opts, hop_value *out);
#define hop_compact(t, ...) hop_at_compact(t, __FILE__, __LINE__, __VA_ARGS__)
/** out: the different elements of x, the smallest first, NaNs last and each different from all; and
 * the count. With inverse: for each element of x which of them it is, i64 of its shape; with counts:
 * how many of each there are, i64[cap], 0 behind the count. The gradient of one goes to the first
 * element of x that is equal to it. Returns 2 to 4. */
int hop_at_unique(hop_trace *t, const char *file, int line, hop_value x,
                  const hop_count_opts *opts, hop_value *out);
#define hop_unique(t, ...) hop_at_unique(t, __FILE__, __LINE__, __VA_ARGS__)

/** The first count (one whole number, clamped to 0 and what there are) rows of x, along axis 0: a
 * view whose size only the run knows. A function that returns it gives an array of that size. */
hop_value hop_at_exact(hop_trace *t, const char *file, int line, hop_value x, hop_value count);
#define hop_exact(t, ...) hop_at_exact(t, __FILE__, __LINE__, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
