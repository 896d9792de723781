/* array.h -- the one array: of users, of the interpreter, of captured constants. The public view is
 * include/hop/types.h.
 *
 * Elements of one dtype in somebody's memory: in the block of the array itself, or of an owner
 * who is told by drop when the last reference goes. References are counted atomically; who may
 * write the elements is agreed outside. Dense means row-major without gaps, and is what all but
 * arrays from outside are. */
#ifndef HOP_ARRAY_H
#define HOP_ARRAY_H

#include "base/memory.h"
#include "ir/type.h"

enum { HOP_USERS = 4 };            /* streams that an array knows: its writer first, then readers */

struct hop_array {
	uint32_t  refs;
	uint32_t  place;               /* in the list of the interpreter that has it; 0 = in none */
	hop_ctx  *ctx;
	hop_dtype dtype;
	int       rank;
	int       device;              /* which one, of mem's kind */
	bool      readonly, dense;
	int64_t   dim[HOP_RANK];
	int64_t   stride[HOP_RANK];    /* in elements; meaningless if dense */
	int64_t   count;
	size_t    bytes;               /* of so many dense elements */
	void     *data;                /* behind this struct, aligned for any vector unit; or
	                                  another's */
	size_t    room;                /* bytes of this block, with data that is behind it */
	uint64_t  version;             /* how often it was written, as far as we know */
	hop_drop *drop;                /* of another's data; or NULL */
	void     *owner;
	const hop_memory *mem;         /* of a device: data is no address here, and the array is dense;
	                                  NULL = the memory of this process */
	struct hop_stream *user[HOP_USERS];   /* who still works on it: stream.h */
	uint32_t  lock;                /* of user */
	bool      lent;                /* to a user of the device who named no stream */
};
enum { HOP_ARRAY_ALIGN = 64 };

/* Dense; its elements are yet to be written. */
hop_status hop_array_raw(hop_ctx *c, hop_dtype d, int rank, const int64_t *dim,
                         hop_array **out_a);
/* Its elements to dense memory of this process, and back. Only a device fails, with a message. */
hop_status hop_array_pack(const hop_array *a, void *to);
hop_status hop_array_unpack(hop_array *a, const void *from);
uint64_t hop_array_version(const hop_array *a);
/* Whether they may have an element in common. */
bool hop_array_meet(const hop_array *a, const hop_array *b);

/* Element i of a dense array, in row-major order. */
double  hop_array_f(const hop_array *a, int64_t i);
int64_t hop_array_i(const hop_array *a, int64_t i);
void    hop_array_set_f(hop_array *a, int64_t i, double v);
void    hop_array_set_i(hop_array *a, int64_t i, int64_t v);

/* Elements of `size` bytes from one layout to another; strides in elements. */
void hop_copy_strided(size_t size, int rank, const int64_t *dim, void *to, const int64_t *ts,
                      const void *from, const int64_t *fs);
void hop_dense_strides(int rank, const int64_t *dim, int64_t *out);

#endif
