/* cuda_product_test.c -- matrix products on a device, by a library where there is one, against the
 * interpreter: all float dtypes, operands that are turned, batches, sizes of 0 and 1; the same arrays
 * again (a graph) and others; and all that may go wrong with the library. Needs a device, or the
 * emulated one, whose library can be told to fail; without it all are skipped. */
#include <dlfcn.h>

#include "hop/device.h"
#include "numbers_rig.h"

static hop_device gpu;
static bool absent;
static int (*products)(int captured);  /* of the emulated library; NULL: it is another, or none */

#define NEED_DEVICE() do { if (absent) skip(); } while (0)
#define NEED_EMULATED() do { if (absent || !products) skip(); } while (0)

static int open_gpu(void **state)
{
	setenv("HOP_CUBLASLT_LEAST", "1", 1);
	setenv("HOP_CACHE", "0", 1);
	unsetenv("HOP_EMU_CUBLASLT");
	if (open_ctx(state))
		return 1;
	absent = hop_device_find(ctx, "cuda", &gpu) != HOP_OK;
	if (absent)
		print_message("skipped: no device (%s)\n", hop_message(ctx));
	else
		setenv("HOP_TARGET", "cuda", 1);       /* for arrays of this process too */
	return 0;
}

/* ---- numbers whose sums are exact, whatever their order ---- */

static double number(int64_t i, int seed)
{
	return (double)((i * 37 % 101 * 13 + seed) % 23 - 11) / 16;
}

static uint16_t half(double x)
{
	int e;
	double m = frexp(fabs(x), &e);
	return x == 0 ? 0 : (uint16_t)((x < 0) << 15 | (e + 14) << 10 | (int)(m * 2048) % 1024);
}

static void put(void *to, hop_dtype d, int64_t i, double x)
{
	float f = (float)x;
	uint32_t u;
	memcpy(&u, &f, sizeof u);
	if (d == HOP_f64)
		((double *)to)[i] = x;
	else if (d == HOP_f32)
		((float *)to)[i] = f;
	else
		((uint16_t *)to)[i] = d == HOP_bf16 ? (uint16_t)(u >> 16) : half(x);
}

static size_t width(hop_dtype d)
{
	return d == HOP_f64 ? 8 : d == HOP_f32 ? 4 : 2;
}

static const char *name(hop_dtype d)
{
	return d == HOP_f64 ? "f64" : d == HOP_f32 ? "f32" : d == HOP_bf16 ? "bf16" : "f16";
}

static hop_array *filled(hop_dtype d, const int64_t dim[3], int seed)
{
	int64_t n = dim[0] * dim[1] * dim[2];
	char *v = malloc((size_t)n * 8 + 8);
	hop_array *a;
	for (int64_t i = 0; i < n; i++)
		put(v, d, i, number(i, seed));
	ok(hop_array_new(ctx, d, 3, dim, v, &a));
	free(v);
	return a;
}

/* ---- programs ---- */

typedef struct shape {
	int  b, m, n, k;
	bool ta, tb, tc;
	const char *then;              /* what is done with the product %2, as %3; NULL = nothing */
	hop_dtype   out;               /* of %3 */
	const char *first;             /* before the product */
} shape;

static void dims(const shape *s, int64_t a[3], int64_t b[3])
{
	a[0] = b[0] = s->b;
	a[1] = s->ta ? s->k : s->m;
	a[2] = s->ta ? s->m : s->k;
	b[1] = s->tb ? s->n : s->k;
	b[2] = s->tb ? s->k : s->n;
}

/* tc: the other way around, and the result turned. */
static hop_fn *program(const shape *s, hop_dtype d)
{
	hop_dtype out = s->then ? s->out : d;
	int64_t a[3], b[3];
	char text[2000];
	hop_fn *f;
	dims(s, a, b);
	int la = s->ta ? 1 : 2, lb = s->tb ? 2 : 1, m = s->tc ? s->n : s->m, n = s->tc ? s->m : s->n;
	int len = snprintf(text, sizeof text, "hop 1\ngraph @f(%%0: %s[%d,%d,%d], %%1: %s[%d,%d,%d]) -> "
	                   "%s[%d,%d,%d] {\n%s  %%2 = dot %%%d, %%%d {lbatch=[0], rbatch=[0], lsum=[%d], "
	                   "rsum=[%d]}\n%s%s%s  return %%%d\n}\n", name(d), (int)a[0], (int)a[1], (int)a[2],
	                   name(d), (int)b[0], (int)b[1], (int)b[2], name(out), s->b, m, n,
	                   s->first ? s->first : "", s->tc, !s->tc, s->tc ? lb : la, s->tc ? la : lb,
	                   s->then ? "  " : "", s->then ? s->then : "", s->then ? "\n" : "",
	                   s->then ? 3 : 2);
	ok(hop_fn_parse(ctx, text, (size_t)len, NULL, &f));
	return f;
}

static char *bytes_of(hop_array *y, size_t n)
{
	char *p = malloc(n + 1);
	ok(hop_array_read(y, p, n));
	return p;
}

static hop_array *interpreted(hop_fn *f, hop_array **x)
{
	hop_array *y;
	setenv("HOP_INTERP", "1", 1);
	ok(hop_call(f, 2, x, 1, &y));
	unsetenv("HOP_INTERP");
	return y;
}

typedef struct trial { hop_fn *f; hop_array *here[2], *there[2]; size_t bytes; char *want; } trial;

static void begin(trial *t, const shape *s, hop_dtype d)
{
	int64_t dim[2][3];
	*t = (trial){ .f = program(s, d),
		      .bytes = (size_t)(s->b * s->m * s->n) * width(s->then ? s->out : d) };
	dims(s, dim[0], dim[1]);
	for (int i = 0; i < 2; i++) {
		t->here[i] = filled(d, dim[i], 3 + i);
		ok(hop_array_to(t->here[i], gpu, &t->there[i]));
	}
	hop_array *y = interpreted(t->f, t->here);
	t->want = bytes_of(y, t->bytes);
	hop_array_release(y);
}

static void end(trial *t)
{
	for (int i = 0; i < 2; i++) {
		hop_array_release(t->here[i]);
		hop_array_release(t->there[i]);
	}
	free(t->want);
	hop_fn_release(t->f);
}

static void call(trial *t, hop_array **x)
{
	hop_array *y;
	ok(hop_call(t->f, 2, x, 1, &y));
	char *got = bytes_of(y, t->bytes);
	assert_memory_equal(got, t->want, t->bytes);
	free(got);
	hop_array_release(y);
}

static int count(void)
{
	return products ? products(0) : 0;
}

/* How many products the library did of one call. */
static int judge(const shape *s, hop_dtype d)
{
	trial t;
	int was = count();
	begin(&t, s, d);
	call(&t, t.there);
	end(&t);
	return count() - was;
}

/* ---- which are the library's ---- */

static const hop_dtype all[] = { HOP_f32, HOP_f64, HOP_bf16, HOP_f16 };
enum { NALL = sizeof all / sizeof *all };

static void expect(const shape *s, hop_dtype d, int want)
{
	int got = judge(s, d);
	if (products && got != want)
		fail_msg("%s %d x %d x %d x %d: %d products by the library, not %d", name(d), s->b, s->m, s->n,
		         s->k, got, want);
}

static void turned(void **state)
{
	NEED_DEVICE();
	(void)state;
	for (int d = 0; d < NALL; d++)
		for (int i = 0; i < 8; i += 1 + d % 2 * 2)
			expect(&(shape){ .b = 1, .m = 70, .n = 66 + i, .k = 34, .ta = i & 1, .tb = i & 2,
			                 .tc = i & 4 }, all[d], 1);
}

static void batched(void **state)
{
	NEED_DEVICE();
	(void)state;
	for (int d = 0; d < NALL; d++)
		for (int i = 0; i < 4; i++)
			expect(&(shape){ .b = 3 - i % 2, .m = 80, .n = 72, .k = 20 + i, .ta = i & 1,
			                 .tb = i & 2 }, all[d], 1);
}

/* A matrix of one row or column, or none at all, is none of its. */
static void small(void **state)
{
	NEED_DEVICE();
	(void)state;
	for (int d = 0; d < NALL; d += 2)
		for (int i = 0; i < 3; i++)
			for (int one = 0; one < 2; one++)
				expect(&(shape){ .b = 1, .m = i == 0 ? one : 5000, .n = i == 1 ? one : i ? 10 : 5000,
				                 .k = i == 2 ? one : 10 }, all[d], 0);
}

/* To round sums and store them is the library's, more is the template's. */
static void ends(void **state)
{
	shape s = { .b = 1, .m = 90, .n = 60, .k = 40, .out = HOP_f32,
		    .then = "%3 = cast %2 {dtype = f32}" };
	NEED_DEVICE();
	(void)state;
	judge(&s, HOP_bf16);                   /* rounded, then f32 again: by whomever */
	s.then = "%3 = neg %2";
	s.out = HOP_f32;
	expect(&s, HOP_f32, 0);
	s.out = HOP_f16;
	expect(&s, HOP_f16, 0);
}

/* Behind what can leave it would run too early. */
static void behind_a_print(void **state)
{
	shape s = { .b = 1, .m = 90, .n = 60, .k = 40,
		    .first = "  %9 = sum %0 {axes = [0, 1, 2]}\n  print %9 {text = \"a sum {}\"}\n" };
	NEED_DEVICE();
	(void)state;
	expect(&s, HOP_f32, 0);
}

/* In a branch of the list, which runs where the device has decided so: part of its graph. */
static void in_a_branch(void **state)
{
	static const char text[] =
		"hop 1\n"
		"graph @f(%0: f32[70, 40], %1: f32[40, 66], %2: f32) -> f32[70, 66] {\n"
		"  %3 = constant {value = f32 0.0}\n"
		"  %4 = lt %3, %2\n"
		"  %5 = cond %4, %0, %1, %2 : f32[70, 66] {\n"
		"    then(%0: f32[70, 40], %1: f32[40, 66], %2: f32) -> f32[70, 66] {\n"
		"      %3 = dot %0, %1 {lbatch = [], rbatch = [], lsum = [1], rsum = [0]}\n"
		"      return %3\n"
		"    }\n"
		"    else(%0: f32[70, 40], %1: f32[40, 66], %2: f32) -> f32[70, 66] {\n"
		"      %3 = broadcast %2 {dims = [70, 66], axes = []}\n"
		"      return %3\n"
		"    }\n"
		"  }\n"
		"  return %5\n"
		"}\n";
	const int64_t dim[2][3] = { { 1, 70, 40 }, { 1, 40, 66 } };
	hop_array *x[3], *y, *want;
	hop_fn *f;
	NEED_DEVICE();
	(void)state;
	setenv("HOP_CUDA_LOOPS", "1", 1);
	int was = products ? products(1) : 0;
	ok(hop_fn_parse(ctx, text, sizeof text - 1, NULL, &f));
	for (int i = 0; i < 2; i++) {
		hop_array *a = filled(HOP_f32, dim[i], 3 + i);
		ok(hop_array_new(ctx, HOP_f32, 2, dim[i] + 1, hop_array_data(a), &x[i]));
		hop_array_release(a);
	}
	for (int i = 0; i < 6; i++) {
		float p = i % 2 ? -1 : 1;
		ok(hop_array_new(ctx, HOP_f32, 0, NULL, &p, &x[2]));
		ok(hop_call(f, 3, x, 1, &y));
		ok(hop_call_with(f, 3, x, 1, &want, HOP_RUN_OPTS(.interpret = true)));
		assert_memory_equal(hop_array_data(y), hop_array_data(want), 70 * 66 * 4);
		hop_array_release(y), hop_array_release(want), hop_array_release(x[2]);
	}
	assert_true(!products || products(1) > was);
	hop_array_release(x[0]), hop_array_release(x[1]), hop_fn_release(f);
	unsetenv("HOP_CUDA_LOOPS");
}

/* ---- again ---- */

static void again(void **state)
{
	shape s = { .b = 2, .m = 70, .n = 65, .k = 33, .tb = true };
	hop_array *other[2];
	trial t;
	NEED_DEVICE();
	(void)state;
	begin(&t, &s, HOP_f32);
	int was = products ? products(1) : 0;
	for (int i = 0; i < 4; i++)            /* staged: at the same place every time */
		call(&t, t.here);
	int made = products ? products(1) - was : 1;
	for (int i = 0; i < 2; i++)
		ok(hop_array_to(t.here[i], gpu, &other[i]));
	for (int i = 0; i < 6; i++)
		call(&t, i % 3 == 2 ? t.here : i % 3 ? other : t.there);
	for (int i = 0; i < 2; i++)
		hop_array_release(other[i]);
	end(&t);
	assert_true(made > 0);
}

static void skewed(void **state)
{
	shape s = { .b = 1, .m = 70, .n = 65, .k = 33 };
	int64_t dim[2][3], more = 8 + 70 * 33;
	hop_array *room, *x[2];
	trial t;
	NEED_DEVICE();
	(void)state;
	begin(&t, &s, HOP_f32);
	dims(&s, dim[0], dim[1]);
	ok(hop_array_new_on(ctx, gpu, HOP_f32, 1, &more, NULL, &room));
	ok(hop_array_adopt_on(ctx, gpu, HOP_f32, 3, dim[0], (char *)hop_array_address(room) + 4, false, NULL,
	                      NULL, &x[0]));
	ok(hop_array_write(x[0], hop_array_data(t.here[0]), (size_t)(70 * 33) * 4));
	x[1] = t.there[1];
	int was = count();
	for (int i = 0; i < 3; i++)
		call(&t, x);
	assert_int_equal(count(), was);
	hop_array_release(x[0]);
	hop_array_release(room);
	end(&t);
}

/* ---- what may go wrong ---- */

static void missing(void **state)
{
	shape s = { .b = 1, .m = 70, .n = 65, .k = 31 };
	char *own = getenv("HOP_CUBLASLT") ? strdup(getenv("HOP_CUBLASLT")) : NULL;
	NEED_DEVICE();
	(void)state;
	setenv("HOP_CUBLASLT", "/nowhere/libcublasLt.so", 1);
	expect(&s, HOP_f32, 0);
	setenv("HOP_CUBLASLT", "0", 1);
	s.k = 32;
	expect(&s, HOP_f32, 0);
	if (own)
		setenv("HOP_CUBLASLT", own, 1);
	else
		unsetenv("HOP_CUBLASLT");
	free(own);
	setenv("HOP_EMU_CUBLASLT", "start", 1);
	s.k = 33;
	if (products)
		expect(&s, HOP_f32, 0);
}

static void no_way(void **state)
{
	shape s = { .b = 1, .m = 70, .n = 65, .k = 35 };
	NEED_EMULATED();
	(void)state;
	setenv("HOP_EMU_CUBLASLT", "nothing", 1);
	expect(&s, HOP_f32, 0);
}

static void fails(trial *t, hop_status want, const char *words)
{
	hop_array *y;
	assert_int_equal(hop_call(t->f, 2, t->there, 1, &y), want);
	if (!strstr(hop_message(ctx), words))
		fail_msg("'%s' is not in: %s", words, hop_message(ctx));
}

static void failing(void **state)
{
	shape s = { .b = 1, .m = 70, .n = 64, .k = 36 };
	trial t;
	NEED_EMULATED();
	(void)state;
	begin(&t, &s, HOP_f32);
	setenv("HOP_EMU_CUBLASLT", "run", 1);
	fails(&t, HOP_ETARGET, "a product by cuBLASLt: CUBLAS_STATUS_EXECUTION_FAILED");
	setenv("HOP_EMU_CUBLASLT", "capture", 1);
	for (int i = 0; i < 4; i++)            /* without a graph */
		call(&t, t.here);
	end(&t);
}

static void no_room(void **state)
{
	shape s = { .b = 1, .m = 70, .n = 64, .k = 37 };
	int64_t most = 5 << 20;
	hop_array *hold;
	trial t;
	NEED_EMULATED();
	(void)state;
	begin(&t, &s, HOP_f32);
	setenv("HOP_EMU_CUBLASLT", "room", 1);
	ok(hop_array_new_on(ctx, gpu, HOP_f64, 1, &most, NULL, &hold));
	fails(&t, HOP_ENOMEM, "memory");
	hop_array_release(hold);
	call(&t, t.there);
	end(&t);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_gpu, close_ctx)
	const struct CMUnitTest tests[] = {
		TEST(missing), TEST(turned), TEST(batched), TEST(small), TEST(ends), TEST(behind_a_print),
		TEST(in_a_branch),
		TEST(again), TEST(skewed), TEST(no_way), TEST(failing), TEST(no_room),
	};
	const char *own = getenv("HOP_CUBLASLT");
	void *h = own && *own ? dlopen(own, RTLD_NOW | RTLD_LOCAL) : NULL;
	*(void **)&products = h ? dlsym(h, "hop_emu_products") : NULL;
	setenv("HOP_EMU_MEMORY", "67108864", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
