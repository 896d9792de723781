/* make.c -- ops that make values from attributes, and the bridge between sizes and data.
 * Random numbers are in random.c. */
#include <string.h>

#include "ops/ops.h"

/* constant {value} -- the tensor in the attribute */
hop_status hop_infer_constant(hop_infer *f)
{
	const struct hop_attr_constant *a = f->attr;
	const hop_data *d = a->value;
	size_t n = 1;
	if (!d || !d->type)
		return hop_infer_fail(f, HOP_EVALUE, "constant: no value");
	for (int i = 0; i < d->type->rank; i++) {
		hop_size s = d->type->dim[i];
		if (!hop_size_const(s) || s.k < 0)
			return hop_infer_fail(f, HOP_ESHAPE,
			                      "constant: %s is not a known size", hop_dim_text(i));
		if (__builtin_mul_overflow(n, (size_t)s.k, &n))
			return hop_infer_fail(f, HOP_ESHAPE, "constant: too many elements to count");
	}
	if (__builtin_mul_overflow(n, hop_dtype_bytes(d->type->dtype), &n) || n != d->nbyte)
		return hop_infer_fail(f, HOP_EVALUE, "constant: %zu bytes, its type needs %zu",
		                      d->nbyte, n);
	if (hop_dtype_bool((hop_dtype)d->type->dtype))
		for (size_t i = 0; i < n; i++)
			if (((const uint8_t *)d->bytes)[i] > 1)
				return hop_infer_fail(f, HOP_EVALUE,
				                      "constant: bool element %zu is neither 0 nor 1", i);
	f->out[0] = d->type;
	return HOP_OK;
}

hop_status hop_eval_constant(hop_interp *p, const hop_node *n, hop_array *const *in,
                             hop_array **out)
{
	const hop_data *d = HOP_ATTR(n, constant)->value;
	(void)p, (void)in;
	if (d->nbyte)
		memcpy(out[0]->data, d->bytes, d->nbyte);
	return HOP_OK;
}

/* iota {dtype dims axis} -- each element is its index along axis */
hop_status hop_infer_iota(hop_infer *f)
{
	const struct hop_attr_iota *a = f->attr;
	bool known = a->dtype >= 0 && a->dtype < HOP_NDTYPE;
	if (!known || hop_dtype_bool((hop_dtype)a->dtype))
		return hop_infer_fail(f, HOP_ETYPE, "%s: the dtype must be a number's, not %s",
		                      hop_opname(f), known ? hop_dtype_name((hop_dtype)a->dtype) : "unknown");
	if (a->axis < 0 || a->axis >= a->dims.n)
		return hop_infer_fail(f, HOP_EVALUE, "iota: axis %lld of rank %lld",
		                      (long long)a->axis, (long long)a->dims.n);
	return hop_infer_dims(f, (hop_dtype)a->dtype, NULL, a->dims, &f->out[0]);
}

hop_status hop_eval_iota(hop_interp *p, const hop_node *n, hop_array *const *in,
                         hop_array **out)
{
	hop_array *t = out[0];
	int64_t axis = HOP_ATTR(n, iota)->axis, below = 1;
	(void)p, (void)in;
	for (int k = t->rank - 1; k > axis; k--)
		below *= t->dim[k];
	for (int64_t i = 0; i < t->count; i++) {
		int64_t v = i / below % t->dim[axis];
		hop_array_set_i(t, i, v);
	}
	return HOP_OK;
}

/* size_of {size} -- a size as an i64 scalar; any expression of sizes, modulo 2^64 */
hop_status hop_infer_size_of(hop_infer *f)
{
	const struct hop_attr_size_of *a = f->attr;
	int nsym = (int)(f->b->nsym + f->b->nlocal);
	if (hop_size_bad(a->size))
		return hop_infer_fail(f, HOP_ESHAPE, "size_of: the size is too large to compute");
	if (hop_size_nsym(a->size) > nsym)
		return hop_infer_fail(f, HOP_ESHAPE, "size_of: size symbol %d of %d",
		                      hop_size_nsym(a->size) - 1, nsym);
	f->out[0] = hop_type_scalar(f->env, HOP_i64);
	return HOP_OK;
}

hop_status hop_eval_size_of(hop_interp *p, const hop_node *n, hop_array *const *in,
                            hop_array **out)
{
	int nsym = (int)(p->g->nsym + p->g->nlocal);
	(void)in;
	hop_array_set_i(out[0], 0, hop_size_wrap(HOP_ATTR(n, size_of)->size, p->syms, nsym));
	return HOP_OK;
}

/* as_size x {min max sym} -- x clamped to min..max, and from here on the value of the
 * local size symbol sym, which later types may mention */
hop_status hop_infer_as_size(hop_infer *f)
{
	const struct hop_attr_as_size *a = f->attr;
	const hop_build *b = f->b;
	if (!hop_type_is_scalar(f->in[0], HOP_i64))
		return hop_infer_fail(f, HOP_ETYPE,
		                      "as_size: the operand is %s of rank %d, not an i64 scalar",
		                      hop_dtype_name(f->in[0]->dtype), f->in[0]->rank);
	if (a->min < 0 || a->min > a->max || a->max > HOP_SIZE_MAX)
		return hop_infer_fail(f, HOP_EVALUE, "as_size: bounds %lld..%lld are no sizes",
		                      (long long)a->min, (long long)a->max);
	if (a->sym < (int64_t)b->nsym || a->sym >= (int64_t)b->nsym + b->nlocal)
		return hop_infer_fail(f, HOP_EVALUE, "as_size: %lld is not a local size symbol",
		                      (long long)a->sym);
	hop_range r = b->range[a->sym];
	if (a->min < r.lo || a->max > r.hi)
		return hop_infer_fail(f, HOP_EVALUE,
		                      "as_size: bounds %lld..%lld exceed the symbol's %lld..%lld",
		                      (long long)a->min, (long long)a->max, (long long)r.lo,
		                      (long long)r.hi);
	f->out[0] = f->in[0];
	return HOP_OK;
}

hop_status hop_eval_as_size(hop_interp *p, const hop_node *n, hop_array *const *in,
                            hop_array **out)
{
	const struct hop_attr_as_size *a = n->attr;
	int64_t v = hop_array_i(in[0], 0);
	v = v < a->min ? a->min : v > a->max ? a->max : v;
	hop_array_set_i(out[0], 0, v);
	hop_interp_bind(p, a->sym, v);
	return HOP_OK;
}

hop_status hop_batch_as_size(hop_build *b, hop_rule *r)
{
	if (r->bin[0])
		return hop_fail(b->env, r->n->loc, HOP_EREFUSED,
		                "as_size: a size cannot differ between lanes: "
		                "use the capacity as size and keep the count as data");
	r->out[0] = hop_emit_copy(b, r->g, r->n, r->in, r->smap, r->nsmap);
	r->bout[0] = false;
	return HOP_OK;
}
