/* npy.h -- one array in NumPy's .npy format (versions 1 to 3), from and to memory. Dtypes
 * that hop has not are refused by name. */
#ifndef HOP_NPY_H
#define HOP_NPY_H

#include "ir/type.h"

/* What a file says of itself. bytes points into the file's content. */
typedef struct hop_npy {
	hop_dtype   dtype;
	int         rank;
	int64_t     dim[HOP_MAXRANK];
	int64_t     count;
	const char *bytes;
	bool        swapped;           /* elements in the other byte order */
	bool        fortran;           /* first axis fastest */
} hop_npy;

/* Any bytes are fine; name is for messages. On success all count elements are there, and
 * nothing behind them: a file that is longer than its header says is another file. */
hop_status hop_npy_read(hop_env *e, const char *name, const void *p, size_t n,
                        hop_npy *out);
/* Row-major, in the machine's byte order, bool as 0 or 1; to holds count elements. */
void       hop_npy_copy(const hop_npy *a, void *to);
/* Append to b what stands before the elements; a whole file. */
void       hop_npy_head(hop_buf *b, hop_dtype d, int rank, const int64_t *dim);
void       hop_npy_write(hop_buf *b, hop_dtype d, int rank, const int64_t *dim,
                         const void *data);

#endif
