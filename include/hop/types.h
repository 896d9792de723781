/** Element types, sizes, values, arrays: the nouns of the public interface. No function
 * here computes anything. */
#ifndef HOP_TYPES_H
#define HOP_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hop/ctx.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What each of them is stands in src/ir/dtypes.def. bf16 and f16 are 16 bits in memory; each op on
 * them computes in f32, and its result is rounded to nearest, ties to even. */
typedef enum hop_dtype {
	HOP_bool, HOP_i32, HOP_i64, HOP_f32, HOP_f64, HOP_bf16, HOP_f16,
	HOP_NDTYPE
} hop_dtype;

enum { HOP_RANK = 16 };            /**< no tensor has more axes */

/** A size: the constant k, or k plus an expression over size symbols. */
struct hop_sexpr;
typedef struct hop_dim {
	int64_t                 k;
	const struct hop_sexpr *e;     /**< NULL = the constant k */
} hop_dim;
static inline hop_dim hop_n(int64_t k)
{
	hop_dim d;
	d.k = k;
	d.e = NULL;
	return d;
}

/** A handle of a value of one trace; copy it freely. {0, 0} is the value of a failed call. */
typedef struct hop_value {
	uint32_t trace;
	uint32_t id;
} hop_value;

/** No value. */
#ifdef __cplusplus
#define HOP_NONE (hop_value{ 0, 0 })
#else
#define HOP_NONE ((hop_value){ 0, 0 })
#endif

/** A trace: where the ops go. One thread. */
typedef struct hop_trace hop_trace;

/** What the user writes: reads in[], calls constructors on t, ends with hop_return. It may
 * be called any number of times; what user points to is only read. */
typedef void hop_body(hop_trace *t, const hop_value *in, void *user);

/** Data that decide what a body records: compared by contents at each use, padding included. What
 * pointers inside it point to is not looked at. They are not changed while a call or a capture runs. */
typedef struct hop_static {
	const void *data;
	size_t      bytes;
} hop_static;
#ifdef __cplusplus
#define HOP_STATIC(ptr, len) (hop_static{ (ptr), (len) })
#else
#define HOP_STATIC(ptr, len) ((hop_static){ (ptr), (len) })
#endif

enum { HOP_STATICS = 8 };          /**< so many of them at most */

/* ---- what a function takes ---- */

/** Axis i has size dim[i]; or, when sym[i] is not NULL, the size symbol of that name, of at
 * least dim[i] and at most max[i] (0 = any). Equal names are one symbol. */
typedef struct hop_spec {
	hop_dtype   dtype;
	int         rank;
	int64_t     dim[HOP_RANK];
	int64_t     max[HOP_RANK];
	const char *sym[HOP_RANK];
} hop_spec;

hop_spec hop_spec_of(hop_dtype d, int rank, const int64_t *dim);
hop_spec hop_spec0(hop_dtype d);
hop_spec hop_spec1(hop_dtype d, int64_t n);
hop_spec hop_spec2(hop_dtype d, int64_t n, int64_t m);
hop_spec hop_spec3(hop_dtype d, int64_t n, int64_t m, int64_t k);
/** The same with a named size on one axis. */
hop_spec hop_spec_sym(hop_spec s, int axis, const char *name, int64_t min, int64_t max);

/** The type of a result that its maker declares: sizes may be those of values in the trace. */
typedef struct hop_result {
	hop_dtype dtype;
	int       rank;
	hop_dim   dim[HOP_RANK];
} hop_result;

hop_result hop_result_of(hop_dtype d, int rank, const hop_dim *dim);

/* ---- data ---- */

/** Where memory is, in DLPack's numbers: its type of device, and which of them. Zero, and HOP_CPU, is
 * the memory of this process. hop/device.h. */
enum { HOP_CPU = 1, HOP_CUDA = 2 };
typedef struct hop_device {
	int type, id;
} hop_device;

/** A tensor in memory, dense and row-major unless it was adopted otherwise; counted. Thread safe
 * to share while nobody writes its data. bool elements are bytes, 0 or 1. It may be on a device
 * (hop/device.h). */
typedef struct hop_array hop_array;

/** data NULL = zeros; otherwise it is copied. */
HOP_MUST_USE hop_status hop_array_new(hop_ctx *c, hop_dtype d, int rank, const int64_t *dim,
                                      const void *data, hop_array **out_a);
/** The caller's memory as an array, without a copy: dense, aligned to its elements. It must stay
 * until drop(owner) is called, once, by whichever thread gives the array up last; drop may be
 * NULL. What is readonly cannot be written by a function. After a failure the memory was not
 * adopted, and drop is not called. bool elements must be 0 or 1. */
typedef void hop_drop(void *owner);
HOP_MUST_USE hop_status hop_array_adopt(hop_ctx *c, hop_dtype d, int rank, const int64_t *dim,
                                        void *data, bool readonly, hop_drop *drop, void *owner,
                                        hop_array **out_a);
/** The same for memory with gaps or in another order: element (i, j, ..) is at i * stride[0] +
 * j * stride[1] .. elements from data, which is where element (0, 0, ..) is. Each call that reads
 * it makes a dense copy first. Two elements in one place are only for what is readonly. */
HOP_MUST_USE hop_status hop_array_adopt_strided(hop_ctx *c, hop_dtype d, int rank,
                                                const int64_t *dim, const int64_t *stride,
                                                void *data, bool readonly, hop_drop *drop,
                                                void *owner, hop_array **out_a);
hop_array     *hop_array_retain(hop_array *a);
void           hop_array_release(hop_array *a);          /**< NULL is fine */
/** NULL, with a message, for an array on a device: hop_array_to, hop_array_read. */
void          *hop_array_data(hop_array *a);
/** Say that its elements were written through a pointer, or through another array of the same memory.
 * What functions write they say themselves. Matters to what is kept of captured arrays:
 * HOP_CONSTANTS_ONCE. NULL is fine. */
void           hop_array_changed(hop_array *a);
const int64_t *hop_array_strides(const hop_array *a);    /**< NULL = dense, as all but the above */
hop_dtype      hop_array_dtype(const hop_array *a);
int            hop_array_rank(const hop_array *a);
const int64_t *hop_array_dims(const hop_array *a);
int64_t        hop_array_count(const hop_array *a);
/** Element i in row-major order, as a double; 0 when there is none. On a device it waits for it, and
 * copies the one element. */
double         hop_array_at(const hop_array *a, int64_t i);

#ifdef __cplusplus
}
#endif

#endif
