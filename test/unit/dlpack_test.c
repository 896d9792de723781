/* dlpack_test.c -- arrays on the memory of others: adopted, from DLPack and to it; and what must
 * be refused. The structs are written here again, as DLPack's header has them. */
#include "numbers_rig.h"

#include "hop/dlpack.h"

typedef struct {
	void    *data;
	int32_t  device_type, device_id, ndim;
	uint8_t  code, bits;
	uint16_t lanes;
	int64_t *shape, *strides;
	uint64_t byte_offset;
} dl_tensor;
struct DLManagedTensor {
	dl_tensor t;
	void     *manager_ctx;
	void    (*deleter)(struct DLManagedTensor *self);
};
struct DLManagedTensorVersioned {
	uint32_t  major, minor;
	void     *manager_ctx;
	void    (*deleter)(struct DLManagedTensorVersioned *self);
	uint64_t  flags;
	dl_tensor t;
};

static int dropped;

static void drop(void *owner)
{
	assert_ptr_equal(owner, &dropped);
	dropped++;
}

static void deleted(struct DLManagedTensorVersioned *m)
{
	assert_ptr_equal(m->manager_ctx, &dropped);
	dropped++;
}

static void deleted0(struct DLManagedTensor *m)
{
	assert_ptr_equal(m->manager_ctx, &dropped);
	dropped++;
}

static void twice(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mulf(t, in[0], 2));
}

static void add_into(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_add_(t, in[0], in[1]);
	hop_return(t, hop_sum_all(t, in[0]));
}

static hop_fn *captured(hop_body *f, int nin, int64_t n)
{
	hop_spec s[2] = { hop_spec1(HOP_f32, n), hop_spec1(HOP_f32, n) };
	hop_fn  *fn;

	ok(hop_capture(ctx, f, NULL, nin, s, &fn));
	return fn;
}

/* ---- adopted memory ---- */

static void test_adopt(void **state)
{
	float      x[6] = { 1, 2, 3, 4, 5, 6 };
	int64_t    n = 6, dim[2] = { 2, 3 };
	hop_array *a, *y;
	hop_fn    *f = captured(twice, 1, 6);

	(void)state;
	dropped = 0;
	ok(hop_array_adopt(ctx, HOP_f32, 1, &n, x, false, drop, &dropped, &a));
	assert_ptr_equal(hop_array_data(a), x);
	for (int i = 0; i < 3; i++) {
		x[2] = (float)i;                        /* seen: there is no copy */
		ok(hop_call(f, 1, &a, 1, &y));
		assert_true(hop_array_at(y, 2) == 2 * i);
		hop_array_release(y);
	}
	hop_array_retain(a);
	hop_array_release(a);
	assert_int_equal(dropped, 0);
	hop_array_release(a);
	assert_int_equal(dropped, 1);
	ok(hop_array_adopt(ctx, HOP_f32, 2, dim, x, false, NULL, NULL, &a));
	hop_array_release(a);
	dim[0] = 0;
	ok(hop_array_adopt(ctx, HOP_f32, 2, dim, NULL, false, drop, &dropped, &a));
	hop_array_release(a);
	assert_int_equal(dropped, 2);
	hop_fn_release(f);
}

static void test_adopt_refused(void **state)
{
	float      x[6] = { 0 };
	int64_t    n = 5, bad = -1;
	hop_array *a = (hop_array *)x;

	(void)state;
	dropped = 0;
	assert_int_equal(hop_array_adopt(ctx, HOP_f32, 1, &n, NULL, false, drop, &dropped, &a), HOP_EUSE);
	assert_null(a);
	assert_int_equal(hop_array_adopt(ctx, HOP_f32, 1, &n, (char *)x + 2, false, drop, &dropped, &a),
	                 HOP_EVALUE);
	assert_non_null(strstr(hop_message(ctx), "aligned"));
	assert_int_equal(hop_array_adopt(ctx, HOP_f32, 1, &bad, x, false, drop, &dropped, &a), HOP_EVALUE);
	assert_int_equal(hop_array_adopt(ctx, HOP_f32, 99, &n, x, false, drop, &dropped, &a), HOP_EVALUE);
	assert_int_equal(hop_array_adopt(ctx, (hop_dtype)77, 1, &n, x, false, drop, &dropped, &a),
	                 HOP_EVALUE);
	assert_int_equal(hop_array_adopt(ctx, HOP_f32, 1, NULL, x, false, drop, &dropped, &a), HOP_EVALUE);
	assert_int_equal(hop_array_adopt(NULL, HOP_f32, 1, &n, x, false, drop, &dropped, &a), HOP_EUSE);
	assert_int_equal(hop_array_adopt(ctx, HOP_f32, 1, &n, x, false, drop, &dropped, NULL), HOP_EUSE);
	assert_int_equal(dropped, 0);
}

/* Written arrays: in place, unless somebody else would see it. Both ways to call. */
static void test_written(void **state)
{
	float      x[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
	int64_t    n = 6;
	hop_array *a[2], *lap, *ro, *y;
	hop_fn    *f = captured(add_into, 2, 6);

	(void)state;
	ok(hop_array_adopt(ctx, HOP_f32, 1, &n, x, false, NULL, NULL, &a[0]));
	ok(hop_array_adopt(ctx, HOP_f32, 1, &n, x + 6, true, NULL, NULL, &a[1]));
	ok(hop_array_adopt(ctx, HOP_f32, 1, &n, x + 1, false, NULL, NULL, &lap));
	ok(hop_array_adopt(ctx, HOP_f32, 1, &n, x, true, NULL, NULL, &ro));
	for (int round = 0; round < 3; round++) {
		float was = x[0];
		ok(hop_call(f, 2, a, 1, &y));
		assert_true(x[0] == was + x[6]);
		hop_array_release(y);
		assert_int_equal(hop_call(f, 2, (hop_array *[]){ a[0], lap }, 1, &y), HOP_EUSE);
		assert_non_null(strstr(hop_message(ctx), "shares memory with input 1"));
		assert_int_equal(hop_call(f, 2, (hop_array *[]){ a[0], a[0] }, 1, &y), HOP_EUSE);
		assert_non_null(strstr(hop_message(ctx), "is also input 1"));
		assert_int_equal(hop_call(f, 2, (hop_array *[]){ ro, a[1] }, 1, &y), HOP_EUSE);
		assert_non_null(strstr(hop_message(ctx), "read-only"));
		assert_true(x[0] == was + x[6]);
	}
	for (int i = 0; i < 2; i++)
		hop_array_release(a[i]);
	hop_array_release(lap);
	hop_array_release(ro);
	hop_fn_release(f);
}

/* ---- DLPack ---- */

static struct DLManagedTensorVersioned versioned(void *data, int ndim, int64_t *shape, int64_t *strides)
{
	return (struct DLManagedTensorVersioned){ .major = 1, .manager_ctx = &dropped, .deleter = deleted,
		.t = { .data = data, .device_type = 1, .ndim = ndim, .code = 2, .bits = 32, .lanes = 1,
		       .shape = shape, .strides = strides } };
}

static void test_in(void **state)
{
	float      x[12];
	int64_t    shape[2] = { 3, 4 }, dense[2] = { 4, 1 }, turned[2] = { 1, 3 }, back[2] = { -4, 1 };
	hop_array *a;

	(void)state;
	for (int i = 0; i < 12; i++)
		x[i] = (float)i;
	dropped = 0;
	struct DLManagedTensorVersioned m = versioned(x, 2, shape, dense);
	ok(hop_array_from_dlpack(ctx, &m, &a));
	assert_ptr_equal(hop_array_data(a), x);
	assert_int_equal(hop_array_dims(a)[1], 4);
	assert_int_equal(dropped, 0);
	hop_array_release(a);
	assert_int_equal(dropped, 1);
	m.t.strides = NULL;
	m.t.shape = (int64_t[]){ 2, 2 };
	m.t.byte_offset = 8;
	ok(hop_array_from_dlpack(ctx, &m, &a));
	assert_ptr_equal(hop_array_data(a), x + 2);
	hop_array_release(a);
	m = versioned(x, 2, shape, turned);             /* copied: x[i + 3 j] */
	ok(hop_array_from_dlpack(ctx, &m, &a));
	assert_int_equal(dropped, 3);
	assert_true(hop_array_at(a, 1) == 3 && hop_array_at(a, 4) == 1);
	hop_array_release(a);
	assert_int_equal(dropped, 3);
	m = versioned(x + 8, 2, shape, back);           /* from the last row to the first */
	ok(hop_array_from_dlpack(ctx, &m, &a));
	assert_true(hop_array_at(a, 0) == 8 && hop_array_at(a, 11) == 3);
	hop_array_release(a);
	shape[0] = 0;
	m = versioned(NULL, 2, shape, turned);
	ok(hop_array_from_dlpack(ctx, &m, &a));
	assert_int_equal(hop_array_count(a), 0);
	hop_array_release(a);
	assert_int_equal(dropped, 5);
	struct DLManagedTensor old = { .t = versioned(x, 0, NULL, NULL).t, .manager_ctx = &dropped,
	                               .deleter = deleted0 };
	ok(hop_array_from_dlpack0(ctx, &old, &a));
	assert_int_equal(hop_array_rank(a), 0);
	hop_array_release(a);
	assert_int_equal(dropped, 6);
}

static void test_bools(void **state)
{
	uint8_t    x[4] = { 0, 1, 2, 255 };
	int64_t    n = 4, two = 2;
	hop_array *a;

	(void)state;
	dropped = 0;
	struct DLManagedTensorVersioned m = versioned(x, 1, &n, NULL);
	m.t.code = 6;
	m.t.bits = 8;
	ok(hop_array_from_dlpack(ctx, &m, &a));         /* not all 0 or 1: a copy that is */
	assert_int_equal(dropped, 1);
	assert_int_equal(((uint8_t *)hop_array_data(a))[3], 1);
	hop_array_release(a);
	m.t.shape = &two;
	ok(hop_array_from_dlpack(ctx, &m, &a));
	assert_ptr_equal(hop_array_data(a), x);
	hop_array_release(a);
	assert_int_equal(dropped, 2);
}

static void refused(struct DLManagedTensorVersioned m, hop_status st, const char *words)
{
	hop_array *a = NULL;

	assert_int_equal(hop_array_from_dlpack(ctx, &m, &a), st);
	assert_null(a);
	if (!strstr(hop_message(ctx), words))
		fail_msg("%s: not in: %s", words, hop_message(ctx));
	assert_int_equal(dropped, 0);
}

static void test_in_refused(void **state)
{
	float      x[12] = { 0 };
	int64_t    shape[2] = { 3, 4 }, minus[2] = { 3, -4 }, huge[2] = { INT64_MAX, 4 };
	struct DLManagedTensorVersioned good = versioned(x, 2, shape, NULL), m;
	hop_array *a;

	(void)state;
	dropped = 0;
	m = good, m.major = 2, refused(m, HOP_EVALUE, "version 2.0");
	m = good, m.t.device_type = 10, refused(m, HOP_EVALUE, "device type 10");
	m = good, m.t.ndim = -1, refused(m, HOP_EVALUE, "rank -1");
	m = good, m.t.ndim = 1000, refused(m, HOP_EVALUE, "rank 1000");
	m = good, m.t.shape = NULL, refused(m, HOP_EVALUE, "rank 2");
	m = good, m.t.shape = minus, refused(m, HOP_EVALUE, "negative");
	m = good, m.t.shape = huge, refused(m, HOP_EVALUE, "too large");
	m = good, m.t.bits = 8, refused(m, HOP_ETYPE, "float8");
	m = good, m.t.code = 4, m.t.bits = 32, refused(m, HOP_ETYPE, "bfloat32; hop has bool, i32, "
	                                               "i64, f32, f64, bf16, f16: convert");
	m = good, m.t.code = 1, refused(m, HOP_ETYPE, "uint32");
	m = good, m.t.code = 99, refused(m, HOP_ETYPE, "unknown");
	m = good, m.t.lanes = 4, refused(m, HOP_ETYPE, "4 lanes");
	m = good, m.t.data = NULL, refused(m, HOP_EUSE, "no data");
	assert_int_equal(hop_array_from_dlpack(NULL, &good, &a), HOP_EUSE);
	assert_int_equal(hop_array_from_dlpack(ctx, NULL, &a), HOP_EUSE);
	assert_int_equal(hop_array_from_dlpack(ctx, &good, NULL), HOP_EUSE);
	assert_int_equal(hop_array_from_dlpack0(ctx, NULL, &a), HOP_EUSE);
}

/* Every dtype, there and back. */
static void test_dtypes(void **state)
{
	static const struct { uint8_t code, bits; } want[HOP_NDTYPE] = {
		[HOP_bool] = { 6, 8 }, [HOP_i32] = { 0, 32 }, [HOP_i64] = { 0, 64 },
		[HOP_f32] = { 2, 32 }, [HOP_f64] = { 2, 64 }, [HOP_bf16] = { 4, 16 },
		[HOP_f16] = { 2, 16 },
	};
	_Alignas(8) uint8_t x[16] = { 1, 0, 1 };
	int64_t    n = 2;
	hop_array *a, *b;
	struct DLManagedTensorVersioned *m;

	(void)state;
	for (int d = 0; d < HOP_NDTYPE; d++) {
		ok(hop_array_new(ctx, (hop_dtype)d, 1, &n, x, &a));
		ok(hop_array_to_dlpack(a, &m));
		assert_int_equal(m->t.code, want[d].code);
		assert_int_equal(m->t.bits, want[d].bits);
		ok(hop_array_from_dlpack(ctx, m, &b));
		assert_int_equal(hop_array_dtype(b), d);
		assert_ptr_equal(hop_array_data(a), hop_array_data(b));
		hop_array_release(a);
		hop_array_release(b);
	}
}

static void test_out(void **state)
{
	int64_t    dim[2] = { 2, 3 };
	double     x[6] = { 1, 2, 3, 4, 5, 6 };
	hop_array *a, *b;
	struct DLManagedTensorVersioned *m;
	struct DLManagedTensor          *old;

	(void)state;
	ok(hop_array_new(ctx, HOP_f64, 2, dim, x, &a));
	ok(hop_array_to_dlpack(a, &m));
	ok(hop_array_to_dlpack0(a, &old));
	assert_ptr_equal(m->t.data, hop_array_data(a));
	assert_true(m->major == 1 && m->t.code == 2 && m->t.bits == 64 && m->t.lanes == 1 && m->t.ndim == 2);
	assert_true(m->t.shape[1] == 3 && m->t.strides[0] == 3 && m->t.device_type == 1 && !m->flags);
	assert_ptr_equal(old->t.data, m->t.data);
	hop_array_release(a);                           /* the tensors keep it */
	old->deleter(old);
	ok(hop_array_from_dlpack(ctx, m, &b));          /* there and back */
	assert_true(hop_array_at(b, 5) == 6);
	hop_array_release(b);
	ok(hop_array_adopt(ctx, HOP_f64, 2, dim, x, true, NULL, NULL, &a));
	assert_int_equal(hop_array_to_dlpack0(a, &old), HOP_EUSE);
	assert_null(old);
	ok(hop_array_to_dlpack(a, &m));
	assert_int_equal(m->flags & 1, 1);
	m->deleter(m);
	hop_array_release(a);
	assert_int_equal(hop_array_to_dlpack(NULL, &m), HOP_EUSE);
	assert_int_equal(hop_array_to_dlpack0(NULL, &old), HOP_EUSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adopt), cmocka_unit_test(test_adopt_refused),
		cmocka_unit_test(test_written), cmocka_unit_test(test_in), cmocka_unit_test(test_bools),
		cmocka_unit_test(test_in_refused), cmocka_unit_test(test_dtypes), cmocka_unit_test(test_out)
	};
	return cmocka_run_group_tests(tests, open_ctx, close_ctx);
}
