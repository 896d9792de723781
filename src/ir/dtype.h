/* dtype.h -- what the rows of dtypes.def say, and elements in memory as numbers. Which dtypes
 * there are is known to that table and to the public enum alone; everyone else asks here. */
#ifndef HOP_DTYPE_H
#define HOP_DTYPE_H

#include "base/base.h"
#include "hop/types.h"

enum hop_dclass { HOP_DC_BOOL, HOP_DC_INT, HOP_DC_FLOAT };

enum { HOP_DF_O = 1, HOP_DF_D = 2, HOP_DF_C = 4, HOP_DF_OD = HOP_DF_O | HOP_DF_D };

typedef struct hop_drow {
	const char *name;
	uint8_t     bytes;
	uint8_t     dclass;          /* enum hop_dclass */
	uint8_t     computes;        /* hop_dtype */
	uint8_t     exp, man;        /* bits */
	uint8_t     flags;           /* HOP_DF_ */
	uint8_t     dlpack;
	const char *npy, *tensors;
} hop_drow;
extern const hop_drow hop_dtab[HOP_NDTYPE];

static inline const hop_drow *hop_dtype_row(hop_dtype d)
{
	HOP_ASSERT((unsigned)d < HOP_NDTYPE);
	return &hop_dtab[d];
}

static inline const char *hop_dtype_name(hop_dtype d)   { return hop_dtype_row(d)->name; }
static inline size_t hop_dtype_bytes(hop_dtype d)       { return hop_dtype_row(d)->bytes; }
static inline enum hop_dclass hop_dtype_class(hop_dtype d)
{
	return (enum hop_dclass)hop_dtype_row(d)->dclass;
}

/* ---- questions; the first three are not the same one, though the answers are ---- */

/* Is it one of the user's floats? Asked by types: infer and promotion. */
static inline bool hop_dtype_float(hop_dtype d) { return hop_dtype_class(d) == HOP_DC_FLOAT; }
/* Is it computed in floating point, or in integers? Asked by the interpreter and targets. */
static inline bool hop_dtype_real(hop_dtype d)  { return hop_dtype_row(d)->man != 0; }
/* Has it tangents? Asked by derivatives. */
static inline bool hop_dtype_diff(hop_dtype d)  { return hop_dtype_row(d)->flags & HOP_DF_D; }
/* Is it truth values? They are numbers 0 and 1, but cannot be added up. */
static inline bool hop_dtype_bool(hop_dtype d)  { return hop_dtype_class(d) == HOP_DC_BOOL; }
static inline bool hop_dtype_ordered(hop_dtype d) { return hop_dtype_row(d)->flags & HOP_DF_O; }
/* What ops on it compute in; another dtype only if it is packed. */
static inline hop_dtype hop_dtype_computes(hop_dtype d)
{
	return (hop_dtype)hop_dtype_row(d)->computes;
}
static inline bool hop_dtype_packed(hop_dtype d) { return hop_dtype_computes(d) != d; }

bool      hop_dtype_find(const char *s, size_t n, hop_dtype *out_d);
/* Every number of a is one of b. */
bool      hop_dtype_holds(hop_dtype b, hop_dtype a);
/* What a and b are promoted to: the one of the higher class; in a class the smallest that holds
 * both. */
hop_dtype hop_dtype_join(hop_dtype a, hop_dtype b);
/* The integer of as many bytes; HOP_NDTYPE when there is none. */
hop_dtype hop_dtype_int_of(hop_dtype d);
/* The least and the greatest number of an integer dtype; bool: 0 and 1. */
int64_t   hop_dtype_least(hop_dtype d);
int64_t   hop_dtype_most(hop_dtype d);
/* The names of all dtypes, "bool, i32, ..." */
void      hop_dtype_list(hop_buf *b);

/* ---- one element in memory ---- */

/* As a number. Of the other kind: as C converts it. */
double    hop_elem_f(hop_dtype d, const void *p);
int64_t   hop_elem_i(hop_dtype d, const void *p);
/* Rounded once to what it computes in, then to the dtype: to nearest, ties to even. Integers
 * are cut to their width; to bool is != 0. */
void      hop_elem_set_f(hop_dtype d, void *p, double v);
void      hop_elem_set_i(hop_dtype d, void *p, int64_t v);
/* Its bits, in the low end. */
uint64_t  hop_elem_bits(hop_dtype d, const void *p);
void      hop_elem_set_bits(hop_dtype d, void *p, uint64_t bits);
/* As the text form has it: reads back as the same bits. */
void      hop_elem_print(hop_buf *b, hop_dtype d, const void *p);
/* A float of the dtype, shortest; NaN is nan. */
void      hop_dtype_put_float(hop_buf *b, hop_dtype d, double v);

#endif
