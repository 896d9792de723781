/* device_array_test.c -- arrays on a device, calls on them, streams and DLPack, on a device that is
 * none (support/fake_device.h): what is read here without a copy, or used before it is waited for,
 * shows. Then most of it again on the target cuda, if there is a device, or an emulated one. */
#include "numbers_rig.h"

#include "hop/dlpack.h"
#include "support/fake_device.h"

typedef struct {
	void    *data;
	int32_t  device_type, device_id, ndim;
	uint8_t  code, bits;
	uint16_t lanes;
	int64_t *shape, *strides;
	uint64_t byte_offset;
} dl_tensor;
struct DLManagedTensorVersioned {
	uint32_t  major, minor;
	void     *manager_ctx;
	void    (*deleter)(struct DLManagedTensorVersioned *self);
	uint64_t  flags;
	dl_tensor t;
};

static hop_device far;
static const char *kind;               /* the name of the device, and of its target */
static bool absent;                    /* there is none */
static bool no_cpu;                    /* nothing here compiles for the CPU, nor for what is none */

#define NEED_DEVICE() do { if (absent) skip(); } while (0)
#define NEED_CODE() do { \
		if (absent || (no_cpu && is_fake())) \
			skip_call(); \
	} while (0)

static bool is_fake(void)
{
	return far.type == FAKE_TYPE;
}

static void skip_call(void)
{
	if (!absent)
		print_message("skipped: no LLVM for the device that is none\n");
	skip();
}

static const hop_device here;
static const double some[6] = { 1, -2, 3, -4, 5, -6 };
enum { N = 6 };

static int open_fake(void **state)
{
	if (open_ctx(state))
		return 1;
	fake_device_add(ctx);
	kind = "fake";
	absent = false;
	return hop_device_find(ctx, "fake", &far) != HOP_OK;
}

static int open_cuda(void **state)
{
	if (open_ctx(state))
		return 1;
	kind = "cuda";
	absent = hop_device_find(ctx, "cuda", &far) != HOP_OK;
	if (absent)
		print_message("skipped: no device (%s)\n", hop_message(ctx));
	return 0;
}

/* Whatever a test does, all memory of the device is given back. */
static int close_fake(void **state)
{
	close_ctx(state);
	return fake_device_counts().blocks != 0;
}

static hop_array *there(void)
{
	hop_array *a = vector(HOP_f64, N, some), *b;
	ok(hop_array_to(a, far, &b));
	hop_array_release(a);
	return b;
}

static void expect(hop_array *a, double times, double plus)
{
	double v[N];
	ok(hop_array_read(a, v, sizeof v));
	for (int i = 0; i < N; i++)
		assert_true(v[i] == some[i] * times + plus);
}

static void refused(hop_status st, hop_status want, const char *words)
{
	assert_int_equal(st, want);
	if (!strstr(hop_message(ctx), words))
		fail_msg("'%s' is not in: %s", words, hop_message(ctx));
}

static void twice(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mulf(t, in[0], 2));
}

static void plus(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_add(t, in[0], in[1]));
}

static void add_into(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_add_(t, in[0], in[1]);
	hop_return(t, hop_sum_all(t, in[0]));
}

static hop_fn *captured(hop_body *f, int nin, void *user)
{
	hop_spec s[2] = { hop_spec1(HOP_f64, N), hop_spec1(HOP_f64, N) };
	hop_fn *fn;
	ok(hop_capture(ctx, f, user, nin, s, &fn));
	return fn;
}

static bool is_far(const hop_array *a)
{
	return hop_array_device(a).type == far.type;
}

/* Can the first target compile here? */
static int look(void **state)
{
	hop_exec *x = NULL;
	if (open_ctx(state))
		return 1;
	hop_fn *f = captured(twice, 1, NULL);
	no_cpu = hop_compile(f, NULL, &x) == HOP_ETARGET;
	hop_exec_release(x);
	hop_fn_release(f);
	return close_ctx(state);
}

/* ---- arrays ---- */

static void test_devices(void **state)
{
	hop_device d;
	(void)state;
	ok(hop_device_find(ctx, "cpu", &d));
	assert_int_equal(d.type, 0);
	ok(hop_device_find(ctx, "fake:0", &d));
	assert_int_equal(d.type, FAKE_TYPE);
	assert_int_equal(hop_device_count(ctx, "fake"), 2);
	assert_int_equal(hop_device_count(ctx, "cpu"), 1);
	assert_string_equal(hop_device_about(ctx, far), "the first fake");
	assert_non_null(hop_device_about(ctx, here));
	refused(hop_device_find(ctx, "fake:1", &d), HOP_EREFUSED, "first of its devices");
	refused(hop_device_find(ctx, "fake:2", &d), HOP_EVALUE, "from 0 to 1");
	refused(hop_device_find(ctx, "cpu:1", &d), HOP_EVALUE, "one cpu");
	refused(hop_device_find(ctx, "tpu", &d), HOP_EVALUE, "no kind called 'tpu'; there are cpu, cuda");
	static const char *const bad[] = { "", ":0", "fake:", "fake:x", "fake:1x", "fake:-1",
		"a name that is much longer than any device has" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		refused(hop_device_find(ctx, bad[i], &d), HOP_EVALUE, "is no name");
	refused(hop_device_find(ctx, NULL, &d), HOP_EVALUE, "is no name");
	assert_int_equal(hop_device_find(NULL, "cpu", &d), HOP_EUSE);
	assert_int_equal(hop_device_find(ctx, "cpu", NULL), HOP_EUSE);
	assert_int_equal(hop_device_count(ctx, "tpu"), 0);
	assert_null(hop_device_about(ctx, (hop_device){ 99, 0 }));
}

static void test_there_and_back(void **state)
{
	NEED_DEVICE();
	hop_array *a = vector(HOP_f64, N, some), *b, *c, *again;
	(void)state;
	ok(hop_array_to(a, far, &b));
	assert_true(is_far(b));
	assert_int_equal(hop_array_device(a).type, 0);
	assert_null(hop_array_data(b));
	assert_non_null(strstr(hop_message(ctx), is_fake() ? "the array is on fake:0" : "on cuda:0"));
	assert_non_null(hop_array_address(b));
	assert_true(hop_array_at(b, 2) == 3);
	ok(hop_array_to(b, far, &again));
	assert_ptr_equal(again, b);
	ok(hop_array_to(b, here, &c));
	assert_memory_equal(hop_array_data(c), some, sizeof some);
	ok(hop_array_write(b, hop_array_data(a), sizeof some));
	expect(b, 1, 0);
	refused(hop_array_write(b, some, 8), HOP_EVALUE, "48 bytes, not 8");
	refused(hop_array_read(b, hop_array_data(a), 1), HOP_EVALUE, "48 bytes, not 1");
	hop_array_release(c);
	assert_int_equal(hop_array_to(NULL, far, &c), HOP_EUSE);
	assert_int_equal(hop_array_to(a, far, NULL), HOP_EUSE);
	hop_array_release(a);
	ok(hop_array_to(b, here, &a));
	assert_memory_equal(hop_array_data(a), some, sizeof some);
	hop_array_release(a);
	hop_array_release(again);
	hop_array_release(b);
}

static void test_new_on(void **state)
{
	NEED_DEVICE();
	int64_t big[2] = { 100, 1000 }, n = N, none = 0;
	unsigned char yes[3] = { 0, 7, 1 };
	int64_t three = 3;
	hop_array *a;
	(void)state;
	ok(hop_array_new_on(ctx, far, HOP_f64, 1, &n, some, &a));
	expect(a, 1, 0);
	hop_array_release(a);
	ok(hop_array_new_on(ctx, far, HOP_f32, 2, big, NULL, &a));
	for (int i = 0; i < 100000; i += 777)
		assert_true(hop_array_at(a, i) == 0);
	hop_array_release(a);
	ok(hop_array_new_on(ctx, far, HOP_bool, 1, &three, yes, &a));
	assert_true(hop_array_at(a, 1) == 1);
	hop_array_release(a);
	ok(hop_array_new_on(ctx, far, HOP_f64, 1, &none, NULL, &a));
	ok(hop_array_read(a, NULL, 0));
	hop_array_release(a);
	ok(hop_array_new_on(ctx, here, HOP_f64, 1, &n, some, &a));
	assert_non_null(hop_array_data(a));
	hop_array_release(a);
	if (!is_fake())
		return;
	fake_device_room(16);
	refused(hop_array_new_on(ctx, far, HOP_f64, 1, &n, some, &a), HOP_ENOMEM, "no memory on the device");
	assert_null(a);
	fake_device_room(0);
}

static int dropped;

static void drop(void *owner)
{
	assert_ptr_equal(owner, &dropped);
	dropped++;
}

static void test_adopt(void **state)
{
	double mine[N];
	int64_t n = N;
	hop_array *a;
	void *p = fake_device_lend(mine, sizeof mine);
	(void)state;
	memcpy(mine, some, sizeof mine);
	dropped = 0;
	ok(hop_array_adopt_on(ctx, far, HOP_f64, 1, &n, p, false, drop, &dropped, &a));
	expect(a, 1, 0);
	hop_array_release(a);
	assert_int_equal(dropped, 1);
	refused(hop_array_adopt_on(ctx, far, HOP_f64, 1, &n, mine, false, NULL, NULL, &a), HOP_EVALUE,
	        "not memory of fake:0");
	refused(hop_array_adopt_on(ctx, far, HOP_f64, 1, &n, (char *)p + 1, false, NULL, NULL, &a),
	        HOP_EVALUE, "not aligned");
	refused(hop_array_adopt_on(ctx, far, HOP_f64, 1, &n, NULL, false, NULL, NULL, &a), HOP_EUSE,
	        "no data");
	ok(hop_array_adopt_on(ctx, far, HOP_f64, 1, &n, p, true, NULL, NULL, &a));
	refused(hop_array_write(a, some, sizeof some), HOP_EUSE, "read-only");
	hop_array_release(a);
	fake_device_forget(p);
}

/* ---- calls ---- */

static void test_call(void **state)
{
	NEED_CODE();
	hop_fn *f = captured(twice, 1, NULL);
	hop_array *x = there(), *h = vector(HOP_f64, N, some), *y;
	(void)state;
	ok(hop_call(f, 1, &h, 1, &y));                 /* here first, with code for here */
	assert_false(is_far(y));
	hop_array_release(y);
	fake_counts was = fake_device_counts(), is;
	for (int i = 0; i < 3; i++) {
		ok(hop_call(f, 1, &x, 1, &y));
		assert_true(is_far(y));
		if (!i)
			expect(y, 2, 0);
		hop_array_release(y);
	}
	is = fake_device_counts();
	assert_int_equal(is.launches - was.launches, is_fake() ? 3 : 0);
	assert_int_equal(is.staged - was.staged, 0);
	assert_int_equal(is.copies_there - was.copies_there, 0);
	assert_int_equal(is.copies_here - was.copies_here, is_fake() ? 1 : 0);
	ok(hop_call_with(f, 1, &x, 1, &y, HOP_RUN_OPTS(.results = HOP_RESULTS_HERE)));
	assert_false(is_far(y));
	assert_true(hop_array_at(y, 1) == -4);
	hop_array_release(y);
	refused(hop_call_with(f, 1, &x, 1, &y, HOP_RUN_OPTS(.interpret = true)), HOP_EUSE,
	        "compile it for the device, or copy it");
	ok(hop_call_with(f, 1, &x, 1, &y, HOP_RUN_OPTS(.nan = HOP_NAN_ONLY)));
	expect(y, 2, 0);
	assert_true(is_far(y));
	hop_array_release(y);
	hop_array_release(x);
	hop_array_release(h);
	hop_fn_release(f);
}

/* One here, one there; all for the device; and code that is for the device from the start. */
static void test_mixed(void **state)
{
	NEED_CODE();
	hop_fn *f = captured(plus, 2, NULL), *g = captured(plus, 2, NULL);
	hop_array *x[2] = { there(), vector(HOP_f64, N, some) }, *h[2] = { x[1], x[1] }, *y;
	(void)state;
	ok(hop_call(f, 2, x, 1, &y));
	assert_true(is_far(y));
	expect(y, 2, 0);
	hop_array_release(y);
	ok(hop_fn_compile(g, HOP_COMPILE_OPTS(.target = kind)));
	ok(hop_call(g, 2, h, 1, &y));
	assert_false(is_far(y));
	expect(y, 2, 0);
	hop_array_release(y);
	ok(hop_call_with(g, 2, h, 1, &y, HOP_RUN_OPTS(.results = HOP_RESULTS_THERE)));
	assert_true(is_far(y));
	expect(y, 2, 0);
	hop_array_release(y);
	hop_array_release(x[0]);
	hop_array_release(x[1]);
	hop_fn_release(f);
	hop_fn_release(g);
}

static void test_written(void **state)
{
	NEED_CODE();
	hop_fn *f = captured(add_into, 2, NULL);
	hop_array *x[2] = { there(), there() }, *same[2] = { x[0], x[0] }, *y;
	(void)state;
	for (int i = 0; i < 2; i++) {
		ok(hop_call(f, 2, x, 1, &y));
		assert_true(is_far(y));
		assert_true(hop_array_at(y, 0) == -3 * (i + 2));
		hop_array_release(y);
		expect(x[0], i + 2, 0);
	}
	refused(hop_call(f, 2, same, 1, &y), HOP_EUSE, "is also");
	hop_array_release(x[0]);
	hop_array_release(x[1]);
	hop_fn_release(f);
}

static void uses(hop_trace *t, const hop_value *in, void *user)
{
	hop_value w = hop_use(t, user);
	hop_return(t, hop_add(t, in[0], hop_mul(t, w, w)));
}

/* A captured array that is there: so is the call; what is made of it once is kept there. */
static void test_captured(void **state)
{
	NEED_CODE();
	hop_array *w = there(), *x = vector(HOP_f64, N, some), *y;
	(void)state;
	for (int once = 0; once < 2; once++) {
		hop_fn *f = captured(uses, 1, w);
		if (once)
			ok(hop_fn_compile(f, HOP_COMPILE_OPTS(.target = kind, .constants = HOP_CONSTANTS_ONCE)));
		for (int i = 0; i < 2; i++) {
			ok(hop_call(f, 1, &x, 1, &y));
			assert_true(is_far(y));
			assert_true(hop_array_at(y, 1) == -2 + 4);
			hop_array_release(y);
		}
		hop_fn_release(f);
	}
	hop_fn *f = captured(uses, 1, w);
	hop_exec *e;
	double out[N], in[N] = { 0 };
	ok(hop_compile(f, NULL, &e));
	hop_arg a = { .data = in }, r = { .data = out };
	void *work = aligned_alloc(64, 4096);
	assert_true(hop_exec_workspace(e, &a) <= 4096);
	ok(hop_run(e, &a, &r, work));
	assert_true(out[2] == 9);
	free(work);
	hop_exec_release(e);
	hop_fn_release(f);
	hop_array_release(w);
	hop_array_release(x);
}

static void test_jit(void **state)
{
	NEED_CODE();
	hop_array *x = there(), *h = vector(HOP_f64, N, some), *y;
	hop_jit *j;
	(void)state;
	for (int k = 0; k < (no_cpu ? 1 : 2); k++) {  /* options ask for code, here too */
		ok(hop_jit_new(ctx, twice, NULL, k ? HOP_JIT_OPTS(.compile = HOP_COMPILE_OPTS(.no_cache = true))
		                                   : NULL, &j));
		ok(hop_jit_call(j, 1, &x, 1, &y));
		assert_true(is_far(y));
		expect(y, 2, 0);
		hop_array_release(y);
		ok(hop_jit_call(j, 1, &h, 1, &y));
		assert_false(is_far(y));
		expect(y, 2, 0);
		hop_array_release(y);
		hop_jit_release(j);
	}
	hop_array_release(x);
	hop_array_release(h);
}

static void test_door(void **state)
{
	NEED_CODE();
	hop_fn *f = captured(plus, 2, NULL);
	hop_array *x = there(), *y = there();
	double mine[N];
	int64_t stride = 2;
	hop_exec *e, *cpu = NULL;
	(void)state;
	memcpy(mine, some, sizeof mine);
	ok(hop_compile(f, HOP_COMPILE_OPTS(.target = kind), &e));
	if (!no_cpu)
		ok(hop_compile(f, NULL, &cpu));
	hop_arg in[2] = { { .data = hop_array_address(x), .device = far }, { .data = mine } };
	hop_arg out = { .data = hop_array_address(y), .device = far }, wrong[2] = { in[0], in[1] };
	void *work = aligned_alloc(64, 4096);
	ok(hop_run(e, in, &out, work));
	expect(y, 2, 0);
	if (cpu)
		refused(hop_run(cpu, in, &out, work), HOP_EUSE, "compile it for that device");
	wrong[0].device.id = 1;
	refused(hop_run(e, wrong, &out, work), HOP_EUSE, "compile it for that device");
	in[0].stride = &stride;
	int64_t room = hop_exec_workspace_for(e, in, &out);
	assert_true(room > 0 && room <= 4096);
	refused(hop_run(e, in, &out, work), HOP_EREFUSED, "has strides");
	free(work);
	hop_exec_release(e);
	hop_exec_release(cpu);
	hop_array_release(x);
	hop_array_release(y);
	hop_fn_release(f);
}

static void choose(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2] = { HOP_NONE, HOP_NONE };
	(void)user;
	hop_masked_select(t, in[0], hop_gt(t, in[0], hop_f(t, 0)), NULL, out);
	hop_return(t, hop_exact(t, out[0], out[1]));
}

/* A size that only the run knows: by way of this process, and back there. */
static void test_exact(void **state)
{
	NEED_CODE();
	hop_fn *f = captured(choose, 1, NULL);
	hop_array *x = there(), *y;
	(void)state;
	for (int i = 0; i < 2; i++) {
		ok(hop_call(f, 1, &x, 1, &y));
		assert_true(is_far(y));
		assert_int_equal(hop_array_count(y), 3);
		assert_true(hop_array_at(y, 2) == 5);
		hop_array_release(y);
	}
	hop_array_release(x);
	hop_fn_release(f);
}

static void test_eager(void **state)
{
	NEED_DEVICE();
	hop_array *x = there(), *y;
	(void)state;
	refused(hop_eager_call(ctx, twice, NULL, 1, &x, 1, &y), HOP_EUSE, "compile it for the device");
	hop_array_release(x);
}

static void test_file(void **state)
{
	NEED_DEVICE();
	static const char *const path[] = { "/tmp/hop-device-array.npz",
	                                    "/tmp/hop-device-array.safetensors" };
	const char *name = "x";
	hop_array *x = there(), *y;
	(void)state;
	for (int i = 0; i < 2; i++) {
		hop_file *f;
		ok(hop_file_save(ctx, path[i], 1, &name, &x));
		ok(hop_file_load(ctx, path[i], NULL, &f));
		ok(hop_file_array(f, 0, &y));
		expect(y, 1, 0);
		hop_array_release(y);
		hop_file_close(f);
		remove(path[i]);
	}
	hop_array_release(x);
}

/* ---- streams ---- */

static void test_stream(void **state)
{
	NEED_CODE();
	hop_fn *f = captured(twice, 1, NULL);
	hop_array *x = there(), *y, *z;
	hop_stream *s;
	(void)state;
	ok(hop_stream_new(ctx, far, &s));
	assert_non_null(hop_stream_handle(s));
	ok(hop_call_with(f, 1, &x, 1, &y, HOP_RUN_OPTS(.stream = s)));
	ok(hop_call_with(f, 1, &y, 1, &z, HOP_RUN_OPTS(.stream = s)));
	assert_true(!is_fake() || fake_device_counts().deferred == 2);
	hop_array_release(x);                          /* still to be read */
	hop_array_release(y);
	expect(z, 4, 0);
	ok(hop_stream_wait(s));
	hop_array_release(z);
	hop_stream_free(s);
	hop_fn_release(f);
}

/* Streams that share arrays wait for each other; readers do not wait for readers, but for those that
 * there is no place for. */
static void test_streams(void **state)
{
	NEED_CODE();
	enum { S = 6 };
	hop_fn *f = captured(twice, 1, NULL), *g = captured(add_into, 2, NULL);
	hop_array *x = there(), *y, *r[S], *in[2], *sum;
	hop_stream *s[S];
	(void)state;
	for (int i = 0; i < S; i++)
		ok(hop_stream_new(ctx, far, &s[i]));
	ok(hop_call_with(f, 1, &x, 1, &y, HOP_RUN_OPTS(.stream = s[0])));
	for (int i = 0; i < S; i++)
		ok(hop_call_with(f, 1, &y, 1, &r[i], HOP_RUN_OPTS(.stream = s[i])));
	in[0] = y;
	in[1] = x;
	ok(hop_call_with(g, 2, in, 1, &sum, HOP_RUN_OPTS(.stream = s[3])));
	expect(y, 3, 0);                               /* written after all have read it */
	for (int i = S; i-- > 0;) {
		expect(r[i], 4, 0);
		hop_array_release(r[i]);
	}
	assert_true(hop_array_at(sum, 0) == -9);
	hop_array_release(sum);
	hop_array_release(y);
	hop_array_release(x);
	for (int i = 0; i < S; i++)
		hop_stream_free(s[i]);
	hop_fn_release(f);
	hop_fn_release(g);
}

static void test_stream_bad(void **state)
{
	NEED_CODE();
	hop_fn *f = captured(twice, 1, NULL);
	hop_array *x = there(), *h = vector(HOP_f64, N, some), *y, *z;
	hop_stream *s, *cpu, *mine, *other;
	(void)state;
	ok(hop_stream_new(ctx, here, &cpu));
	ok(hop_stream_new(ctx, far, &other));
	ok(hop_stream_adopt(ctx, far, hop_stream_handle(other), &mine));
	assert_int_equal(hop_stream_new(NULL, far, &s), HOP_EUSE);
	refused(hop_stream_adopt(ctx, here, &x, &s), HOP_EVALUE, "no handle");
	assert_null(s);
	ok(hop_stream_new(ctx, far, &s));
	ok(hop_call_with(f, 1, &h, 1, &y, HOP_RUN_OPTS(.stream = cpu)));      /* at once */
	assert_true(hop_array_at(y, 0) == 2);
	hop_array_release(y);
	ok(hop_call_with(f, 1, &x, 1, &y, HOP_RUN_OPTS(.stream = cpu)));
	expect(y, 2, 0);
	hop_array_release(y);
	refused(hop_call_with(f, 1, &h, 1, &y, HOP_RUN_OPTS(.stream = s)), HOP_EUSE, "not for");
	ok(hop_call_with(f, 1, &x, 1, &y, HOP_RUN_OPTS(.stream = s)));
	hop_stream_free(s);                            /* y knows it still */
	ok(hop_call(f, 1, &y, 1, &z));
	expect(z, 4, 0);
	hop_array_release(z);
	ok(hop_stream_wait(cpu));
	ok(hop_stream_wait(mine));
	assert_int_equal(hop_stream_wait(NULL), HOP_EUSE);
	hop_stream_free(NULL);
	ok(hop_call_with(f, 1, &x, 1, &z, HOP_RUN_OPTS(.stream = mine)));
	fake_device_break("it melted");
	refused(hop_stream_wait(mine), HOP_ETARGET, "it melted");
	refused(hop_array_ready(z, NULL), HOP_ETARGET, "it melted");
	fake_device_break(NULL);
	expect(z, 2, 0);
	hop_array_release(z);
	hop_array_release(y);
	hop_array_release(x);
	hop_array_release(h);
	hop_stream_free(cpu);
	hop_stream_free(mine);
	hop_stream_free(other);
	hop_fn_release(f);
}

static void positive(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_assert(t, hop_gt(t, in[0], hop_f(t, 0)), "all are positive", 0, NULL);
	hop_return(t, hop_mulf(t, in[0], 2));
}

/* What needs the host waits for its end, and tells at once. */
static void test_assert(void **state)
{
	NEED_DEVICE();
	hop_fn *f = captured(positive, 1, NULL);
	hop_array *x = there(), *y;
	hop_stream *s;
	(void)state;
	ok(hop_stream_new(ctx, far, &s));
	refused(hop_call_with(f, 1, &x, 1, &y, HOP_RUN_OPTS(.stream = s)), HOP_EASSERT, "positive");
	assert_null(y);
	refused(hop_call(f, 1, &x, 1, &y), HOP_EASSERT, "positive");
	ok(hop_stream_wait(s));
	hop_stream_free(s);
	hop_array_release(x);
	hop_fn_release(f);
}

/* ---- DLPack ---- */

static void deleted(struct DLManagedTensorVersioned *m)
{
	assert_ptr_equal(m->manager_ctx, &dropped);
	dropped++;
}

static struct DLManagedTensorVersioned tensor(void *p, int rank, int64_t *shape, int64_t *strides)
{
	return (struct DLManagedTensorVersioned){ .major = 1, .manager_ctx = &dropped,
		.deleter = deleted, .t = { .data = p, .device_type = FAKE_TYPE, .ndim = rank, .code = 2,
		                           .bits = 64, .lanes = 1, .shape = shape, .strides = strides } };
}

static void test_dlpack_in(void **state)
{
	double mine[24];
	int64_t shape[3] = { 2, 2, 3 }, rows[3] = { 8, 4, 1 }, odd[3] = { 12, 4, 2 }, dense[3] = { 6, 3, 1 };
	void *p = fake_device_lend(mine, sizeof mine);
	hop_array *a;
	hop_stream *s;
	(void)state;
	for (int i = 0; i < 24; i++)
		mine[i] = i;
	struct DLManagedTensorVersioned m = tensor(p, 3, shape, dense);
	dropped = 0;
	ok(hop_stream_new(ctx, far, &s));
	ok(hop_array_from_dlpack_on(ctx, &m, s, &a));
	assert_ptr_equal(hop_array_address(a), p);
	assert_true(hop_array_at(a, 11) == 11);
	hop_array_release(a);
	assert_int_equal(dropped, 1);
	m = tensor(p, 3, shape, rows);
	ok(hop_array_from_dlpack(ctx, &m, &a));
	assert_int_equal(dropped, 2);
	assert_true(hop_array_at(a, 4) == 5 && hop_array_at(a, 11) == 14);
	hop_array_release(a);
	m = tensor(p, 3, shape, odd);
	refused(hop_array_from_dlpack(ctx, &m, &a), HOP_EREFUSED, "make it contiguous");
	m = tensor(mine, 3, shape, dense);
	refused(hop_array_from_dlpack(ctx, &m, &a), HOP_EVALUE, "its data are not");
	m = tensor(p, 3, shape, dense);
	m.t.device_id = 1;
	refused(hop_array_from_dlpack(ctx, &m, &a), HOP_EREFUSED, "first of its devices");
	m.t.device_type = 10;
	refused(hop_array_from_dlpack(ctx, &m, &a), HOP_EVALUE, "device type 10");
	assert_int_equal(dropped, 2);
	hop_stream_free(s);
	fake_device_forget(p);
}

static void test_dlpack_out(void **state)
{
	NEED_CODE();
	hop_fn *f = captured(twice, 1, NULL);
	hop_array *x = there(), *y, *z;
	struct DLManagedTensorVersioned *m;
	hop_stream *s, *reader, *cpu;
	(void)state;
	ok(hop_stream_new(ctx, far, &s));
	ok(hop_stream_new(ctx, far, &reader));
	ok(hop_stream_new(ctx, here, &cpu));
	ok(hop_call_with(f, 1, &x, 1, &y, HOP_RUN_OPTS(.stream = s)));
	refused(hop_array_to_dlpack_on(y, cpu, &m), HOP_EUSE, "another device");
	ok(hop_array_to_dlpack_on(y, reader, &m));
	assert_int_equal(m->t.device_type, far.type);
	assert_ptr_equal(m->t.data, hop_array_address(y));
	ok(hop_stream_wait(reader));                   /* what the reader does comes after the writer */
	assert_true(!is_fake() || ((double *)fake_device_behind(m->t.data))[1] == -4);
	m->deleter(m);
	ok(hop_call_with(f, 1, &x, 1, &z, HOP_RUN_OPTS(.stream = s)));
	ok(hop_array_to_dlpack(z, &m));
	assert_true(!is_fake() || ((double *)fake_device_behind(m->t.data))[2] == 6);
	hop_array_release(z);
	ok(hop_array_from_dlpack(ctx, m, &z));         /* and home again */
	expect(z, 2, 0);
	hop_array_release(z);
	hop_array_release(y);
	hop_array_release(x);
	hop_stream_free(s);
	hop_stream_free(reader);
	hop_stream_free(cpu);
	hop_fn_release(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_devices, open_fake, close_fake),
		cmocka_unit_test_setup_teardown(test_there_and_back, open_fake, close_fake),
		cmocka_unit_test_setup_teardown(test_new_on, open_fake, close_fake),
		cmocka_unit_test_setup_teardown(test_adopt, open_fake, close_fake),
		cmocka_unit_test_setup_teardown(test_call, open_fake, close_fake),
		cmocka_unit_test_setup_teardown(test_mixed, open_fake, close_fake),
		cmocka_unit_test_setup_teardown(test_written, open_fake, close_fake),
		cmocka_unit_test_setup_teardown(test_captured, open_fake, close_fake),
		cmocka_unit_test_setup_teardown(test_jit, open_fake, close_fake),
		cmocka_unit_test_setup_teardown(test_door, open_fake, close_fake),
		cmocka_unit_test_setup_teardown(test_exact, open_fake, close_fake),
		cmocka_unit_test_setup_teardown(test_eager, open_fake, close_fake),
		cmocka_unit_test_setup_teardown(test_file, open_fake, close_fake),
		cmocka_unit_test_setup_teardown(test_stream, open_fake, close_fake),
		cmocka_unit_test_setup_teardown(test_streams, open_fake, close_fake),
		cmocka_unit_test_setup_teardown(test_stream_bad, open_fake, close_fake),
		cmocka_unit_test_setup_teardown(test_dlpack_in, open_fake, close_fake),
		cmocka_unit_test_setup_teardown(test_dlpack_out, open_fake, close_fake),
		cmocka_unit_test_setup_teardown(test_there_and_back, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_new_on, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_call, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_mixed, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_written, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_captured, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_jit, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_door, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_exact, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_eager, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_file, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_stream, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_streams, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_assert, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_dlpack_out, open_cuda, close_ctx),
	};
	unsetenv("HOP_TARGET");                /* tests say where */
	return cmocka_run_group_tests(tests, look, NULL);
}
