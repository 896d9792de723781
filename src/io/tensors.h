/* tensors.h -- the header of a .safetensors file: names, dtypes, sizes, places. Reads the whole of
 * it strictly; the elements are not looked at. */
#ifndef HOP_TENSORS_H
#define HOP_TENSORS_H

#include "ir/type.h"

/* A tensor: bytes from..to of the file. Dtypes of the format that hop does not have are read too,
 * so that the rest of such a file can be used. */
typedef struct hop_tensor {
	const char *name;
	const char *dtype;             /* as the format calls it; static */
	int         rank;
	const int64_t *dim;
	int64_t     count;
	uint64_t    from, to;
} hop_tensor;

typedef struct hop_tensors {
	size_t      n;
	hop_tensor *tensor;            /* in the order of the header */
} hop_tensors;

/* Any bytes are fine; path is for messages. Tensors fill the file behind the header without overlap
 * or holes, and no two have one name. All is made in a. */
hop_status hop_tensors_read(hop_env *e, hop_arena *a, const char *path, const void *p, size_t n,
                            hop_tensors *out);
/* Append a string as JSON has it; s is UTF-8. */
void hop_put_json(hop_buf *b, const char *s);

#endif
