/* native_gemm_test.c -- matrix products of many shapes and strides against C; threads,
 * which must not change a bit; the object cache and damaged objects. */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "loop/gemm.h"
#include "native_rig.h"
#include "target/llvm/elf.h"
#include "target/llvm/emit.h"

typedef struct shape {
	int  m, n, k;
	bool ta, tb, tc, beta, epi, dyn;
} shape;

/* A template that no target knows: a product all the same, or nothing that loops can say. */
static bool as_loops(hop_lbuild *b, const hop_tile *t)
{
	hop_tile g = *t;

	g.of = &hop_template_gemm;
	return g.of->expand(b, &g);
}

static bool as_nothing(hop_lbuild *b, const hop_tile *t)
{
	(void)b, (void)t;
	return false;
}

static hop_template       other;
static const hop_template *as = &hop_template_gemm;

/* The product, with C = tanh(sum) + row when there is an epilogue. */
static void build(rig *r, const shape *s, hop_dtype d)
{
	hop_gemm G, *g = &G;
	hop_size m, n, k;

	rig_up(r, 3 + s->beta, !s->beta, s->dyn ? 3 : 0);
	m = s->dyn ? hop_size_sym(&r->e, 0) : K(s->m);
	n = s->dyn ? hop_size_sym(&r->e, 1) : K(s->n);
	k = s->dyn ? hop_size_sym(&r->e, 2) : K(s->k);
	rig_param(r, 0, d, hop_size_mul(&r->e, m, k), false);
	rig_param(r, 1, d, hop_size_mul(&r->e, k, n), false);
	rig_param(r, 2, d, n, false);
	rig_param(r, 3, d, hop_size_mul(&r->e, m, n), true);
	*g = (hop_gemm){ .dtype = d, .m = m, .n = n, .k = k, .a = rig_at(0, 0, 0),
	                 .b = rig_at(1, 0, 0), .c = rig_at(3, 0, 0), .beta = s->beta,
	                 .as = { s->ta ? K(1) : k, s->ta ? m : K(1) },
	                 .bs = { s->tb ? K(1) : n, s->tb ? k : K(1) },
	                 .cs = { s->tc ? K(1) : n, s->tc ? m : K(1) } };
	if (s->epi) {
		hop_reg v;

		g->em = hop_l_reg(&r->b);
		g->en = hop_l_reg(&r->b);
		g->ev = hop_l_reg(&r->b);
		rig_into(r, &g->epilogue);
		v = rig_op1(r, HOP_SOP_tanh, d, g->ev);
		v = rig_op2(r, HOP_SOP_add, d, v, rig_load(r, d, rig_at(2, 0, g->en, K(1), 0)));
		rig_store(r, d, rig_at(3, 0, g->em, g->cs[0], g->en, g->cs[1], 0), v);
		rig_end(r);
	}
	hop_l_gemm(&r->b, g)->tile->of = as;
}

static double get(hop_dtype d, const void *p, int i)
{
	return d == HOP_f32 ? ((const float *)p)[i] : ((const double *)p)[i];
}

static void fill(hop_dtype d, void *p, int n, int seed)
{
	for (int i = 0; i < n; i++) {
		double v = ((i * 37 + seed) % 19 - 9) * 0.05;

		if (d == HOP_f32)
			((float *)p)[i] = (float)v;
		else
			((double *)p)[i] = v;
	}
}

static void try_gemm(const shape *s, hop_dtype d)
{
	int      nc = s->m * s->n;
	void    *a = malloc((size_t)s->m * (size_t)s->k * 8 + 8);
	void    *b = malloc((size_t)s->k * (size_t)s->n * 8 + 8);
	void    *row = malloc((size_t)s->n * 8 + 8), *c = malloc((size_t)nc * 8 + 72);
	void    *c0 = malloc((size_t)nc * 8 + 72);
	size_t   sz = hop_dtype_bytes(d);
	rig      R;

	fill(d, a, s->m * s->k, 1);
	fill(d, b, s->k * s->n, 2);
	fill(d, row, s->n, 3);
	fill(d, c, nc, 4);
	memset((char *)c + (size_t)nc * sz, 0x5a, 64);
	memcpy(c0, c, (size_t)nc * sz);
	build(&R, s, d);
	rig_compile(&R);
	assert_int_equal(rig_run(&R, (void *[]){ a, b, row, c },
	                         (int64_t[]){ s->m, s->n, s->k }), 0);
	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			int    at = s->tc ? j * s->m + i : i * s->n + j;
			double v = s->beta ? get(d, c0, at) : 0, got = get(d, c, at);

			for (int k = 0; k < s->k; k++)
				v += get(d, a, s->ta ? k * s->m + i : i * s->k + k) *
				     get(d, b, s->tb ? j * s->k + k : k * s->n + j);
			if (s->epi)
				v = tanh(v) + get(d, row, j);
			if (!(fabs(v - got) <= (d == HOP_f32 ? 2e-5 : 1e-12) * (1 + fabs(v))))
				fail_msg("%s %dx%dx%d ta%d tb%d tc%d beta%d epi%d dyn%d [%d,%d] %g %g",
				         hop_dtype_name(d), s->m, s->n, s->k, s->ta, s->tb, s->tc, s->beta,
				         s->epi, s->dyn, i, j, v, got);
		}
	for (int i = 0; i < 64; i++)
		assert_int_equal(((char *)c)[(size_t)nc * sz + (size_t)i], 0x5a);
	rig_down(&R);
	free(a);
	free(b);
	free(c);
	free(c0);
	free(row);
}

static void test_gemm(void **state)
{
	static const int dim[][3] = {
		{ 1, 1, 1 }, { 0, 5, 5 }, { 5, 0, 5 }, { 5, 5, 0 }, { 1, 64, 64 }, { 64, 1, 64 },
		{ 3, 3, 3 }, { 8, 32, 16 }, { 7, 33, 9 }, { 17, 17, 17 }, { 64, 64, 64 },
		{ 5, 100, 130 }, { 65, 67, 129 }, { 200, 80, 40 }, { 2, 16, 300 }, { 33, 12, 5 },
	};
	unsigned seed = 1;

	(void)state;
	for (size_t i = 0; i < sizeof dim / sizeof *dim; i++)
		for (int v = 0; v < 8; v++) {
			shape s;

			seed = seed * 1103515245 + 12345;
			s = (shape){ dim[i][0], dim[i][1], dim[i][2], .ta = seed >> 20 & 1,
			             .tb = v & 1, .tc = (seed >> 22 & 3) == 3, .beta = seed >> 24 & 1,
			             .epi = v & 2, .dyn = v & 4 };
			try_gemm(&s, (i + (size_t)v) & 1 ? HOP_f64 : HOP_f32);
		}
	/* Past the cache: packed although contiguous. */
	try_gemm(&(shape){ 40, 1100, 1030, .epi = true }, HOP_f32);
}

static void test_unknown(void **state)
{
	rig R;

	(void)state;
	NOT_ON_A_DEVICE("templates that no target knows are a test of targets that know some");
	other = hop_template_gemm;
	other.name = "other";
	other.expand = as_loops;
	as = &other;
	for (int i = 0; i < 8; i++)
		try_gemm(&(shape){ 33, 40, 17, .beta = i & 1, .epi = i & 2, .dyn = i & 4 }, HOP_f32);
	other.expand = as_nothing;
	build(&R, &(shape){ .m = 4, .n = 4, .k = 4 }, HOP_f32);
	assert_int_equal(code_new(&R.e, &R.p, &R.opts, &R.code), HOP_ETARGET);
	assert_non_null(strstr(R.e.diag.text, "no code for the template other"));
	rig_down(&R);
	as = &hop_template_gemm;
}

/* A library that may be there: asked with operands and extents, and left alone. */
static int ask(struct hop_rt *rt, int id, int dtype, void *const *args, const int64_t *extent)
{
	float *c = args[2];

	assert_int_equal(id, 7);
	assert_int_equal(dtype, HOP_f32);
	assert_true(extent[0] == 2 && extent[1] == 3 && extent[2] == 4);
	for (int i = 0; i < 6 && *(int *)rt->user; i++)
		c[i] = 100;
	return *(int *)rt->user;
}

static void test_library(void **state)
{
	float a[8] = { 1, 1, 1, 1, 1, 1, 1, 1 }, b[12], row[3] = { 0 }, c[6] = { 0 };
	int   there;
	rig   R;

	(void)state;
	NOT_ON_A_DEVICE("no library of this process is asked");
	for (int i = 0; i < 12; i++)
		b[i] = 1;
	other = hop_template_gemm;
	other.expand = as_loops;
	other.library = 7;
	as = &other;
	build(&R, &(shape){ .m = 2, .n = 3, .k = 4 }, HOP_f32);
	rig_compile(&R);
	for (there = 0; there < 2; there++) {
		hop_rt rt = { .nthread = 1, .library = ask, .user = &there };
		assert_int_equal(rig_run_rt(&R, (void *[]){ a, b, row, c }, NULL, &rt), 0);
		for (int i = 0; i < 6; i++)
			assert_true(c[i] == (there ? 100 : 4));
	}
	rig_down(&R);
	as = &hop_template_gemm;
}

/* ---- threads ---- */

static void hook(struct hop_rt *rt, void (*body)(void *, int64_t, int64_t), void *arg,
                 int64_t n)
{
	hop_pool_run(rt->user, body, arg, n);
}

static void run_with(rig *r, void *const *params, int threads)
{
	hop_mem   m = hop_ctx_mem(r->c);
	hop_pool *p = hop_pool_new(&m, threads);
	hop_rt    rt = { .nthread = threads, .parallel = hook, .user = p };

	assert_non_null(p);
	for (int i = 0; i < 20; i++)
		assert_int_equal(rig_run_rt(r, params, NULL, &rt), 0);
	hop_pool_free(p);
}

static void test_threads(void **state)
{
	enum { N = 100003, M = 150 };
	static float x[N], o[2][N], a[M * M], b[M * M], c[2][M * M];
	rig       R, *r = &R;
	hop_stmt *l;
	hop_reg   v, outer;

	(void)state;
	rig_up(r, 1, 1, 0);
	rig_param(r, 0, HOP_f32, K(N), false);
	rig_param(r, 1, HOP_f32, K(N), true);
	outer = rig_load(r, HOP_f32, rig_at(0, 7, 0));
	l = rig_loop(r, HOP_LOOP_PAR, K(N));
	v = rig_load(r, HOP_f32, rig_at(0, 0, l->dst, K(1), 0));
	v = rig_op2(r, HOP_SOP_mul, HOP_f32, rig_op1(r, HOP_SOP_exp, HOP_f32, v), outer);
	v = rig_op2(r, HOP_SOP_add, HOP_f32, v, outer);
	rig_store(r, HOP_f32, rig_at(1, 0, l->dst, K(1), 0), v);
	rig_end(r);
	rig_compile(r);
	for (int i = 0; i < N; i++)
		x[i] = (float)(i % 1001) * 0.01f - 5;
	run_with(r, (void *[]){ x, o[0] }, 1);
	for (int t = 2; t <= 5; t++) {
		memset(o[1], 0, sizeof o[1]);
		run_with(r, (void *[]){ x, o[1] }, t);
		assert_memory_equal(o[0], o[1], sizeof o[0]);
	}
	rig_down(r);

	build(r, &(shape){ .m = M, .n = M, .k = M }, HOP_f32);
	rig_compile(r);
	fill(HOP_f32, a, M * M, 1);
	fill(HOP_f32, b, M * M, 2);
	run_with(r, (void *[]){ a, b, a, c[0] }, 1);
	for (int t = 2; t <= 4; t++) {
		run_with(r, (void *[]){ a, b, a, c[1] }, t);
		assert_memory_equal(c[0], c[1], sizeof c[0]);
	}
	rig_down(r);
}

/* ---- the cache ---- */

static void each_file(const char *dir, void (*f)(const char *path))
{
	DIR           *d = opendir(dir);
	struct dirent *e;
	char           path[512];

	assert_non_null(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.') {
			snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
			f(path);
		}
	closedir(d);
}

static void damage(const char *path)
{
	FILE *f = fopen(path, "r+b");

	assert_non_null(f);
	fseek(f, 300, SEEK_SET);
	fputc(0x77, f);
	fputc(0x78, f);
	fclose(f);
}

static void drop(const char *path)
{
	unlink(path);
}

static void compile_small(bool *out_cached)
{
	shape s = { .m = 9, .n = 40, .k = 12 };
	float a[9 * 12], b[12 * 40], c[9 * 40];
	rig   R;

	build(&R, &s, HOP_f32);
	R.opts.no_cache = false;
	rig_compile(&R);
	*out_cached = hop_code_cached(R.code);
	fill(HOP_f32, a, 9 * 12, 1);
	fill(HOP_f32, b, 12 * 40, 2);
	assert_int_equal(rig_run(&R, (void *[]){ a, b, a, c }, NULL), 0);
	rig_down(&R);
}

static void test_cache(void **state)
{
	char dir[] = "/tmp/hop-test-XXXXXX", sub[64];
	bool cached;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(sub, sizeof sub, "%s/a", dir);
	setenv("HOP_CACHE_DIR", sub, 1);
	unsetenv("HOP_CACHE");
	compile_small(&cached);
	assert_false(cached);
	compile_small(&cached);
	assert_true(cached);
	each_file(sub, damage);
	compile_small(&cached);
	assert_false(cached);
	compile_small(&cached);
	assert_true(cached);
	setenv("HOP_CACHE", "0", 1);
	compile_small(&cached);
	assert_false(cached);
	unsetenv("HOP_CACHE");
	unsetenv("HOP_CACHE_DIR");
	each_file(sub, drop);
	rmdir(sub);
	rmdir(dir);
}

/* Without LLVM a program is refused by name. */
static void test_missing(void **state)
{
	rig R;

	(void)state;
	NOT_ON_A_DEVICE("programs without LLVM");
	if (getenv("HOP_TARGET"))
		skip();
	build(&R, &(shape){ .m = 4, .n = 4, .k = 4 }, HOP_f32);
	setenv("HOP_LLVM", "/nowhere/libLLVM.so", 1);
	assert_int_equal(code_new(&R.e, &R.p, &R.opts, &R.code), HOP_ETARGET);
	assert_non_null(strstr(R.e.diag.text, "LLVM 19"));
	unsetenv("HOP_LLVM");
	rig_down(&R);
}

/* A damaged object is refused or loads; it never crashes the loader. */
static void test_damage(void **state)
{
	hop_llvm_opts o = { 0 };
	hop_machine   m;
	unsigned      seed = 7;
	hop_image     im;
	size_t        n;
	void         *obj;
	char         *copy;
	rig           R;

	(void)state;
	NOT_ON_A_DEVICE("objects of LLVM");
	build(&R, &(shape){ .m = 70, .n = 70, .k = 70, .epi = true }, HOP_f32);
	m = hop_llvm_machine(NULL, 0, true);
	rig_bind(&R, &m);
	assert_int_equal(hop_llvm_object(&R.e, &R.p, &m, &o, &obj, &n), HOP_OK);
	assert_null(hop_elf_load(obj, n, "hop_main", &im));
	hop_elf_free(&im);
	assert_non_null(hop_elf_load(obj, n, "no_main", &im));
	copy = malloc(n);
	for (int i = 0; i < 3000; i++) {
		size_t len = n;

		memcpy(copy, obj, n);
		for (int k = 0; k <= i % 4; k++) {
			seed = seed * 1103515245 + 12345;
			copy[(seed >> 4) % (i & 1 ? n : 4096 < n ? 4096 : n)] = (char)(seed >> 24);
		}
		if (i % 5 == 0)
			len = (seed >> 6) % n;
		if (!hop_elf_load(copy, len, "hop_main", &im))
			hop_elf_free(&im);
	}
	free(copy);
	hop_raw_free(&R.e.mem, obj, n);
	rig_down(&R);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gemm), cmocka_unit_test(test_threads),
		cmocka_unit_test(test_cache), cmocka_unit_test(test_missing),
		cmocka_unit_test(test_damage), cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_library),
	};

	cmocka_set_test_filter(getenv("UNIT_CASES"));         /* NULL: all */
	return RIG_EACH_WIDTH(tests);
}
