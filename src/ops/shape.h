/* shape.h -- what the rules of moving, indexing and reducing ops share: checks on axes and
 * sizes, and batching of one operand. Nothing here knows an op by name. */
#ifndef HOP_OPS_SHAPE_H
#define HOP_OPS_SHAPE_H

#include "ops/ops.h"

/* One axis more than fits: batching adds an axis before inference refuses it. */
enum { HOP_MAXDIM = HOP_MAXRANK + 2 };

/* ---- inference ---- */

/* A size as text for a message; lives in the scratch arena. */
const char *hop_shape_text(hop_infer *f, hop_size s);
/* Bounds of a size, from what the builder knows of its symbols. */
hop_range   hop_shape_range(hop_infer *f, hop_size s);
/* Axis i of the operand called `x` must be as large as axis j of the one called `y`. */
hop_status  hop_shape_same(hop_infer *f, const char *x, int i, hop_size a, const char *y,
                           int j, hop_size b);
hop_status  hop_shape_dtypes(hop_infer *f, hop_dtype a, hop_dtype b);
/* Every axis within 0 .. rank-1 and larger than the one before it. */
hop_status  hop_shape_axes(hop_infer *f, hop_ints axes, int rank);
/* The type of the one result, checked by hop_infer_dims. */
hop_status  hop_shape_out(hop_infer *f, hop_dtype d, int rank, const hop_size *dim);

/* ---- rules ---- */

/* A size of the source node, in the new graph. */
static inline hop_size hop_rule_size(hop_build *b, const hop_rule *r, hop_size s)
{
	return r->nsmap >= 0 ? hop_size_subst(b->env, s, r->smap, r->nsmap) : s;
}

/* Operand i with the batch axis, repeated along it if it has none. */
static inline hop_val hop_rule_lead(hop_build *b, const hop_rule *r, uint32_t i)
{
	return r->bin[i] ? r->in[i] : hop_emit_lead(b, r->in[i], r->bsize);
}

/* The one result of a batched node. */
static inline hop_status hop_rule_batched(hop_build *b, hop_rule *r, hop_val v)
{
	r->out[0] = v;
	r->bout[0] = true;
	return b->st;
}

/* The axes of a reduction: its rows have these and no other attributes. */
#define ONE(name) \
	_Static_assert(sizeof(struct hop_attr_##name) == sizeof(struct hop_attr_sum), "axes")
ONE(amax);
ONE(amin);
ONE(prod);
ONE(any);
ONE(all);
#undef ONE
static inline hop_ints hop_reduce_axes(const void *attr)
{
	return ((const struct hop_attr_sum *)attr)->axes;
}

/* Axes behind a new axis 0, which becomes the first of the list when `lead`. */
hop_ints hop_axes_shift(hop_ints axes, bool lead, int64_t *v);
/* The axes 0 .. rank-1 that are not in the list; returns how many. */
int      hop_axes_rest(hop_ints axes, int rank, int64_t *out_v);
/* Bring axis `from` of v, a value with `rank` axes, to the front. */
hop_val  hop_axes_front(hop_build *b, hop_val v, int rank, int from);

/* ---- evaluation ---- */

/* Elements between neighbours along each axis of a dense tensor. */
void hop_strides(const hop_array *t, int64_t *out_s);
/* dst[i . ds] = src[i . ss] for every index i below dim; strides count elements. */
void hop_copy_nd(size_t bytes, int rank, const int64_t *dim, char *dst, const int64_t *ds,
                 const char *src, const int64_t *ss);
/* Offsets of all indices over some axes of t, row-major, in the scratch arena. */
int64_t *hop_offsets(hop_interp *p, const hop_array *t, int n, const int64_t *axes,
                     int64_t *out_n);
static inline int64_t hop_clamp(int64_t i, int64_t lo, int64_t hi)
{
	return i > hi ? (hi < lo ? lo : hi) : i < lo ? lo : i;
}

#endif
