/* type.h -- types. A type is a dtype and sizes; it has no strides. Types are interned in the
 * context, so equality is pointer equality. */
#ifndef HOP_TYPE_H
#define HOP_TYPE_H

#include "ir/dtype.h"
#include "size/size.h"

enum { HOP_MAXRANK = 16 };

typedef struct hop_type {
	uint8_t  dtype;        /* hop_dtype */
	uint8_t  rank;
	hop_size dim[];
} hop_type;

const hop_type *hop_type_get(hop_env *e, hop_dtype d, int rank, const hop_size *dim);
const hop_type *hop_type_scalar(hop_env *e, hop_dtype d);
const hop_type *hop_type_with(hop_env *e, const hop_type *t, hop_dtype d);  /* other dtype */
const hop_type *hop_type_prepend(hop_env *e, const hop_type *t, hop_size n);
const hop_type *hop_type_drop(hop_env *e, const hop_type *t);               /* without dim 0 */
const hop_type *hop_type_subst(hop_env *e, const hop_type *t, const hop_size *args, int n);
hop_size        hop_type_count(hop_env *e, const hop_type *t);              /* elements */
bool            hop_type_diff(const hop_type *t);                           /* has tangents */
/* A scalar of this dtype; false also for NULL. */
bool            hop_type_is_scalar(const hop_type *t, hop_dtype d);
void            hop_type_print(hop_buf *b, const hop_type *t, const char *const *names, int n);

#endif
