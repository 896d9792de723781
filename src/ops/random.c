/* random.c -- random numbers from explicit keys; the bits are defined in philox.h. A key
 * is an i64, and a tensor of keys makes one independent stream an element. No state. */
#include "ops/ops.h"
#include "ops/philox.h"

static hop_status check_key(hop_infer *f, uint32_t i, const char *what)
{
	hop_dtype want = HOP_i64, have = (hop_dtype)f->in[i]->dtype;
	if (have == want)
		return HOP_OK;
	return hop_infer_fail(f, HOP_ETYPE, "%s: %s must be %s, not %s", hop_opname(f), what,
	                      hop_dtype_name(want), hop_dtype_name(have));
}

/* random_bits key {dims} -- 32 random bits an element: i32[key dims, dims] */
hop_status hop_infer_random_bits(hop_infer *f)
{
	const struct hop_attr_random_bits *a = f->attr;
	HOP_TRY(check_key(f, 0, "the key"));
	return hop_infer_dims(f, HOP_i32, f->in[0], a->dims, &f->out[0]);
}

/* uniform key {dtype dims} -- floats in [0, 1): dtype[key dims, dims] */
hop_status hop_infer_uniform(hop_infer *f)
{
	const struct hop_attr_uniform *a = f->attr;
	HOP_TRY(check_key(f, 0, "the key"));
	if (a->dtype < 0 || a->dtype >= HOP_NDTYPE || !hop_dtype_float((hop_dtype)a->dtype))
		return hop_infer_fail(f, HOP_ETYPE, "%s: the dtype must be a float's",
		                      hop_opname(f));
	return hop_infer_dims(f, (hop_dtype)a->dtype, f->in[0], a->dims, &f->out[0]);
}

/* fold_in key i -- a new key for each i, element by element */
hop_status hop_infer_fold_in(hop_infer *f)
{
	HOP_TRY(check_key(f, 0, "the key"));
	HOP_TRY(check_key(f, 1, "the number folded in"));
	HOP_TRY(hop_infer_shapes(f, 0, "in the key", 1, "in the number folded in"));
	f->out[0] = f->in[0];
	return HOP_OK;
}

hop_status hop_eval_random_bits(hop_interp *p, const hop_node *n, hop_array *const *in,
                                hop_array **out)
{
	int64_t nkey = in[0]->count, each = nkey ? out[0]->count / nkey : 0;
	(void)p, (void)n;
	for (int64_t k = 0; k < nkey; k++) {
		uint64_t key = (uint64_t)hop_array_i(in[0], k);
		for (int64_t i = 0; i < each; i++)
			hop_array_set_i(out[0], k * each + i,
			                 (int32_t)hop_philox_word(key, (uint64_t)i));
	}
	return HOP_OK;
}

hop_status hop_eval_uniform(hop_interp *p, const hop_node *n, hop_array *const *in,
                            hop_array **out)
{
	int64_t nkey = in[0]->count, each = nkey ? out[0]->count / nkey : 0;
	int man = hop_dtype_row(out[0]->dtype)->man;
	(void)p, (void)n;
	for (int64_t k = 0; k < nkey; k++) {
		uint64_t key = (uint64_t)hop_array_i(in[0], k);
		for (int64_t i = 0; i < each; i++)
			hop_array_set_f(out[0], k * each + i,
			                 man <= 23 ? hop_philox_small(key, (uint64_t)i, man)
			                           : hop_philox_f64(key, (uint64_t)i));
	}
	return HOP_OK;
}

hop_status hop_eval_fold_in(hop_interp *p, const hop_node *n, hop_array *const *in,
                            hop_array **out)
{
	(void)p, (void)n;
	for (int64_t i = 0; i < out[0]->count; i++) {
		uint64_t key = (uint64_t)hop_array_i(in[0], i);
		uint64_t by = (uint64_t)hop_array_i(in[1], i);
		hop_array_set_i(out[0], i, (int64_t)hop_philox_fold(key, by));
	}
	return HOP_OK;
}

/* A batched key is a tensor of keys with one more leading axis, which is what the op is
 * made for; a key that all lanes share gives all of them the same numbers. */
hop_status hop_batch_random(hop_build *b, hop_rule *r)
{
	r->out[0] = hop_emit_copy(b, r->g, r->n, r->in, r->smap, r->nsmap);
	r->bout[0] = r->bin[0];
	return HOP_OK;
}
