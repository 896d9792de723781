/* native_parts_test.c -- programs compiled in several parts at once: the same results as in
 * one, from the cache too, on several threads, and without memory. Products taken out of
 * their function give the same bits as in it. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "loop/gemm.h"
#include "native_rig.h"
#include "target/llvm/elf.h"
#include "target/llvm/emit.h"

enum { N = 200 };

/* ---- a program of four large functions ---- */

static hop_reg dense(rig *r, hop_reg v, double scale)
{
	static const enum hop_sop chain[] = { HOP_SOP_tanh, HOP_SOP_exp, HOP_SOP_sin,
	                                      HOP_SOP_log, HOP_SOP_cos };

	for (int i = 0; i < 5; i++) {
		v = rig_op2(r, HOP_SOP_mul, HOP_f32, v, hop_l_constf(&r->b, HOP_f32, scale));
		if (chain[i] == HOP_SOP_log)
			v = rig_op2(r, HOP_SOP_add, HOP_f32, v, hop_l_constf(&r->b, HOP_f32, 3));
		v = rig_op1(r, chain[i], HOP_f32, v);
	}
	return v;
}

/* out[i] = rem(dense(in[i]), ten[i % 4]): a constant of the module, and fmodf outside. */
static void map(rig *r, int in, int out, double scale)
{
	static const float ten[4] = { 10, 0.25f, 0.5f, 0.125f };
	int       k = hop_l_buf(&r->b, (hop_lbuf){ .kind = HOP_BUF_CONST, .dtype = HOP_f32,
	                                           .count = K(4), .data = ten });
	hop_stmt *l = rig_loop(r, HOP_LOOP_PAR, K(N / 4)), *m = rig_loop(r, HOP_LOOP_PAR, K(4));
	hop_reg   v = rig_load(r, HOP_f32, rig_at(in, 0, l->dst, K(4), m->dst, K(1), 0));

	v = rig_op2(r, HOP_SOP_rem, HOP_f32, dense(r, v, scale),
	            rig_load(r, HOP_f32, rig_at(k, 0, m->dst, K(1), 0)));
	rig_store(r, HOP_f32, rig_at(out, 0, l->dst, K(4), m->dst, K(1), 0), v);
	rig_end(r);
	rig_end(r);
}

static void call(rig *r, int callee, int from, int to, int64_t frame)
{
	hop_stmt *s = hop_l_stmt(&r->b, HOP_L_CALL);

	s->callee = callee;
	s->nacc = 1;
	s->narg = 2;
	s->args = HOP_NEWN(&r->a, hop_addr, 2);
	s->args[0] = rig_at(from, 0, 0);
	s->args[1] = rig_at(to, 0, 0);
	s->frame = K(frame);
}

static int temp(rig *r, int64_t offset)
{
	return hop_l_buf(&r->b, (hop_lbuf){ .kind = HOP_BUF_TEMP, .dtype = HOP_f32,
	                                    .count = K(N), .offset = K(offset),
	                                    .is_written = true });
}

/* f0 calls f1 and f2, f2 calls f3. */
static void build(rig *r)
{
	rig_up(r, 1, 1, 0);
	for (int f = 3; f >= 0; f--) {
		int t, u;

		rig_func(r, f, 1, 1, 0);
		rig_param(r, 0, HOP_f32, K(N), false);
		rig_param(r, 1, HOP_f32, K(N), true);
		t = temp(r, 0);
		u = temp(r, 1024);
		r->f[f].frame = K(f == 0 ? 8192 : f == 2 ? 4096 : 2048);
		map(r, 0, t, 0.5 + f);
		if (f == 0) {
			call(r, 1, t, u, 2048);
			call(r, 2, u, 1, 2048);
		} else if (f == 2) {
			call(r, 3, t, u, 2048);
			map(r, u, 1, 0.75);
		} else {
			map(r, t, 1, 0.25 * f);
		}
	}
}

static void run(rig *r, float *y)
{
	float x[N];

	for (int i = 0; i < N; i++)
		x[i] = (float)(i % 17) * 0.125f - 1;
	memset(y, 0, N * sizeof *y);
	assert_int_equal(rig_run(r, (void *[]){ x, y }, NULL), 0);
}

/* What one part gives. */
static void expected(float *y)
{
	rig R;

	build(&R);
	R.opts.parts = 1;
	rig_compile(&R);
	run(&R, y);
	rig_down(&R);
	assert_true(y[1] != 0 && y[1] == y[1]);
}

static int count(const unsigned char *p, size_t n)
{
	int k = 0;

	for (uint64_t size; n; k++) {
		memcpy(&size, p, 8);
		size = 8 + ((size + 7) & ~(uint64_t)7);
		assert_true(size <= n);
		p += size;
		n -= size;
	}
	return k;
}

static void test_parts(void **state)
{
	float want[N], got[N];

	(void)state;
	NOT_ON_A_DEVICE("parts are objects of LLVM");
	expected(want);
	for (int parts = 1; parts <= 5; parts++) {
		hop_llvm_opts o = { .parts = parts };
		hop_machine m;
		void  *p[2];
		size_t n[2];
		rig    R;

		build(&R);
		m = rig_schedule(&R);
		for (int i = 0; i < 2; i++)
			assert_int_equal(hop_llvm_object(&R.e, &R.p, &m, &o, &p[i], &n[i]), HOP_OK);
		assert_int_equal(count(p[0], n[0]), parts < 4 ? parts : 4);
		assert_int_equal(n[0], n[1]);
		assert_memory_equal(p[0], p[1], n[0]);        /* the same each time */
		for (int i = 0; i < 2; i++)
			hop_raw_free(&R.e.mem, p[i], n[i]);
		R.opts.parts = parts;
		rig_compile(&R);
		run(&R, got);
		assert_memory_equal(want, got, sizeof want);
		rig_down(&R);
	}
}

/* ---- the cache ---- */

typedef void file_fn(const char *path, long at);

static void each_file(const char *dir, file_fn *f, long at)
{
	DIR           *d = opendir(dir);
	struct dirent *e;
	char           path[512];

	assert_non_null(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.') {
			snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
			f(path, at);
		}
	closedir(d);
}

static long length(const char *path)
{
	FILE *f = fopen(path, "rb");
	long  n;

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	fclose(f);
	return n;
}

/* at: of a thousand parts of the file */
static void cut(const char *path, long at)
{
	assert_int_equal(truncate(path, length(path) * at / 1000), 0);
}

static void spoil(const char *path, long at)
{
	FILE *f;
	int   c;

	at = length(path) * at / 1000;
	f = fopen(path, "r+b");
	assert_non_null(f);
	fseek(f, at, SEEK_SET);
	c = fgetc(f);
	fseek(f, at, SEEK_SET);
	fputc(c ^ 0x41, f);
	fclose(f);
}

static void drop(const char *path, long at)
{
	(void)at;
	unlink(path);
}

static void cached(const float *want, bool from)
{
	float got[N];
	rig   R;

	build(&R);
	R.opts.parts = 4;
	R.opts.no_cache = false;
	rig_compile(&R);
	assert_int_equal(hop_code_cached(R.code), from);
	run(&R, got);
	assert_memory_equal(want, got, sizeof got);
	rig_down(&R);
}

static void test_cache(void **state)
{
	static const long at[] = { 0, 1, 30, 250, 500, 999 };
	char  dir[] = "/tmp/hop-test-XXXXXX";
	float want[N];

	(void)state;
	expected(want);
	assert_non_null(mkdtemp(dir));
	setenv("HOP_CACHE_DIR", dir, 1);
	unsetenv("HOP_CACHE");
	cached(want, false);
	cached(want, true);
	for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
		each_file(dir, cut, at[i]);
		cached(want, false);
		cached(want, true);
		each_file(dir, spoil, at[i]);
		cached(want, false);
		cached(want, true);
	}
	unsetenv("HOP_CACHE_DIR");
	each_file(dir, drop, 0);
	rmdir(dir);
}

/* A list of objects that was damaged after its checksum is refused or loads. */
static void test_damage(void **state)
{
	hop_llvm_opts o = { .parts = 4 };
	hop_machine   m;
	unsigned      seed = 11;
	size_t        n;
	void         *p;
	char         *copy;
	hop_image     im;
	rig           R;

	(void)state;
	NOT_ON_A_DEVICE("objects of LLVM");
	build(&R);
	m = rig_schedule(&R);
	assert_int_equal(hop_llvm_object(&R.e, &R.p, &m, &o, &p, &n), HOP_OK);
	assert_null(hop_elf_load(p, n, "hop_main", &im));
	hop_elf_free(&im);
	assert_non_null(hop_elf_load(p, 0, "hop_main", &im));
	copy = malloc(n);
	for (int i = 0; i < 2000; i++) {
		memcpy(copy, p, n);
		for (int k = 0; k <= i % 4; k++) {
			seed = seed * 1103515245 + 12345;
			copy[(seed >> 4) % n] = (char)(seed >> 24);
		}
		if (!hop_elf_load(copy, i % 5 ? n : (seed >> 6) % n / 8 * 8, "hop_main", &im))
			hop_elf_free(&im);
	}
	/* without its last object the others call what is not there */
	for (size_t cut = 8; cut < n; cut += 8)
		assert_non_null(hop_elf_load(p, cut, "hop_main", &im));
	free(copy);
	hop_raw_free(&R.e.mem, p, n);
	rig_down(&R);
}

/* ---- threads and memory ---- */

static void *compile_too(void *user)
{
	rig       R, *of = user;
	float    *y = malloc(N * sizeof *y);
	hop_frame f;

	R = (rig){ .c = of->c };
	hop_env_init(&R.e, of->c, hop_ctx_mem(of->c));
	if (HOP_GUARD(&R.e, &f))
		abort();
	if (!code_new(&R.e, &of->p, &of->opts, &R.code))
		run(&R, y);
	hop_code_release(R.code);
	hop_guard_end(&R.e, &f);
	hop_env_fini(&R.e);
	return y;
}

static void test_threads(void **state)
{
	pthread_t t[3];
	float     want[N];
	rig       R;

	(void)state;
	expected(want);
	build(&R);
	R.opts.parts = 4;
	rig_schedule(&R);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&t[i], NULL, compile_too, &R), 0);
	for (int i = 0; i < 3; i++) {
		void *y;

		pthread_join(t[i], &y);
		assert_memory_equal(want, y, sizeof want);
		free(y);
	}
	rig_down(&R);
}

struct meter { atomic_long calls, live; long bad; };

static void *metered(void *user, void *p, size_t osize, size_t nsize)
{
	struct meter *m = user;
	void         *q;

	if (!nsize) {
		atomic_fetch_sub(&m->live, p ? (long)osize : 0);
		free(p);
		return NULL;
	}
	if (atomic_fetch_add(&m->calls, 1) == m->bad)
		return NULL;
	q = realloc(p, nsize);
	if (q)
		atomic_fetch_add(&m->live, (long)nsize - (p ? (long)osize : 0));
	return q;
}

static hop_status guarded(hop_env *e, const rig *r, hop_code **out_c)
{
	hop_status st;
	hop_frame  f;

	if (HOP_GUARD(e, &f))
		return hop_guard_nomem(e, &f);
	st = code_new(e, &r->p, &r->opts, out_c);
	hop_guard_end(e, &f);
	return st;
}

static void test_nomem(void **state)
{
	rig  R;
	bool done = false;

	(void)state;
	build(&R);
	R.opts.parts = 4;
	rig_schedule(&R);
	for (long bad = 0; !done; bad += on_device() ? 1 + bad / 4 : 1) {      /* NVRTC takes its time */
		struct meter m = { .bad = bad };
		hop_code    *c = NULL;
		hop_env      e;
		hop_status   st;

		hop_env_init(&e, R.c, (hop_mem){ metered, &m });
		st = guarded(&e, &R, &c);
		done = m.calls <= bad;
		assert_true(done ? st == HOP_OK : st == HOP_OK || st == HOP_ENOMEM);
		assert_int_equal(e.diag.st, st);
		hop_code_release(c);
		hop_env_fini(&e);
		assert_int_equal(m.live, 0);
	}
	rig_down(&R);
}

/* ---- calls in a row ---- */

struct tally { int done, limit; };

static int tell(struct hop_rt *rt, int id, void *const *args, const int64_t *syms)
{
	struct tally *t = rt->user;

	(void)id;
	(void)args;
	(void)syms;
	return t->done++ == t->limit ? 5 : 0;
}

/* f1: out[0..3] = 2 in[0..3] + 1 by way of its frame, after an effect. f0: seven calls,
 * each on what the one before left, through a parameter and a temporary in turn. The
 * status of the first effect that stops comes back, and no later call is made. */
static void test_row(void **state)
{
	hop_leffect  eff = { .text = "a" };
	struct tally t = { 0, 100 };
	hop_rt       rt = { .nthread = 1, .effect = tell, .user = &t };
	float        x[4] = { 1, 2, 3, 4 }, y[32];
	hop_stmt    *l, *s;
	hop_reg      v;
	int          b[2];
	rig          R, *r = &R;

	(void)state;
	rig_up(r, 1, 1, 0);
	r->p.neffect = 1;
	r->p.effect = &eff;
	rig_func(r, 1, 1, 1, 0);
	rig_param(r, 0, HOP_f32, K(4), false);
	rig_param(r, 1, HOP_f32, K(4), true);
	b[0] = temp(r, 0);
	r->f[1].frame = K(1024);
	s = hop_l_stmt(&r->b, HOP_L_EFFECT);
	s->narg = 1;
	s->args = HOP_NEW(&r->a, hop_addr);
	s->args[0] = rig_at(0, 0, 0);
	for (int i = 0; i < 2; i++) {
		l = rig_loop(r, HOP_LOOP_PAR, K(4));
		v = rig_load(r, HOP_f32, rig_at(i ? b[0] : 0, 0, l->dst, K(1), 0));
		v = i ? rig_op2(r, HOP_SOP_add, HOP_f32, v, hop_l_constf(&r->b, HOP_f32, 1)) :
		        rig_op2(r, HOP_SOP_add, HOP_f32, v, v);
		rig_store(r, HOP_f32, rig_at(i ? 1 : b[0], 0, l->dst, K(1), 0), v);
		rig_end(r);
	}
	r->b = (hop_lbuild){ &r->e, &r->a, &r->f[0], &r->f[0].body, 0 };
	rig_param(r, 0, HOP_f32, K(4), false);
	b[0] = rig_param(r, 1, HOP_f32, K(32), true);
	b[1] = temp(r, 64);
	r->f[0].frame = K(4096);
	for (int i = 0; i < 7; i++) {
		call(r, 1, i ? b[(i - 1) & 1] : 0, b[i & 1], 2048);
		s = r->b.block->last;
		if (i)
			s->args[0] = rig_at(b[(i - 1) & 1], 4 * (i - 1), 0);
		s->args[1] = rig_at(b[i & 1], 4 * i, 0);
	}
	rig_compile(r);
	assert_int_equal(rig_run_rt(r, (void *[]){ x, y }, NULL, &rt), 0);
	assert_int_equal(t.done, 7);
	for (int i = 0; i < 4; i++)
		assert_true(y[24 + i] == 128 * x[i] + 127);
	y[24] = -1;
	t = (struct tally){ 0, 4 };
	assert_int_equal(rig_run_rt(r, (void *[]){ x, y }, NULL, &rt), 5);
	assert_int_equal(t.done, 5);
	assert_true(y[24] == -1 && y[8] == 8 * x[0] + 7);
	rig_down(r);
}

/* ---- products ---- */

enum { M = 32, SQ = M * M };

static hop_stmt *product(rig *r, int a, int b, int c, bool turned, bool beta)
{
	hop_gemm g = { .dtype = HOP_f32, .m = K(M), .n = K(M), .k = K(M), .beta = beta,
	               .as = { K(M), K(1) }, .cs = { K(M), K(1) },
	               .bs = { K(turned ? 1 : M), K(turned ? M : 1) } };
	g.a = rig_at(a, 0, 0);
	g.b = rig_at(b, 0, 0);
	g.c = rig_at(c, 0, 0);
	return hop_l_gemm(&r->b, &g);
}

static void run_products(rig *r, float *out)
{
	float x[2 * SQ];

	for (int i = 0; i < 2 * SQ; i++)
		x[i] = (float)(i * 7 % 23) * 0.0625f - 0.5f;
	for (int i = 0; i < 6 * SQ; i++)
		out[i] = 1;
	rig_compile(r);
	assert_int_equal(rig_run(r, (void *[]){ x, x + SQ, out, out + SQ, out + 2 * SQ,
	                                        out + 3 * SQ, out + 4 * SQ }, NULL), 0);
	hop_code_release(r->code);
	r->code = NULL;
}

static void test_outline(void **state)
{
	static const enum hop_lkind kind[] = { HOP_L_CALL, HOP_L_CALL, HOP_L_CALL, HOP_L_CALL,
	                                       HOP_L_TILE, HOP_L_LOOP };
	static const int callee[] = { 1, 1, 2, 3 };
	float            want[6 * SQ], got[6 * SQ];
	rig              R, *r = &R;
	hop_stmt        *s;
	int              i = 0;

	(void)state;
	NOT_ON_A_DEVICE("products stay in the kernels that they are in");
	rig_up(r, 2, 5, 0);
	for (int k = 0; k < 7; k++)
		rig_param(r, k, HOP_f32, K(k < 6 ? SQ : 2 * SQ), k > 1);
	product(r, 0, 1, 2, false, false);
	product(r, 2, 1, 3, false, false);           /* as the first */
	product(r, 0, 1, 4, true, false);            /* other strides */
	product(r, 0, 2, 3, false, true);            /* added */
	s = product(r, 6, 1, 6, false, false);       /* from one half of a buffer to the other */
	s->tile->arg[2].at = rig_at(6, SQ, 0);
	rig_loop(r, HOP_LOOP_SEQ, K(2));
	product(r, 4, 1, 5, false, true);            /* in a loop */
	rig_end(r);
	run_products(r, want);
	hop_loop_outline(&r->e, &r->p);
	assert_int_equal(r->p.nfunc, 4);
	for (s = r->p.func[0].body.first; s; s = s->next, i++) {
		assert_int_equal(s->kind, kind[i]);
		if (i < 4)
			assert_int_equal(s->callee, callee[i]);
	}
	assert_int_equal(i, 6);
	run_products(r, got);
	assert_memory_equal(want, got, sizeof want);
	rig_down(r);
}

/* A function that is one product stays as it is. */
static void test_lone(void **state)
{
	rig R, *r = &R;

	(void)state;
	rig_up(r, 2, 1, 0);
	for (int k = 0; k < 3; k++)
		rig_param(r, k, HOP_f32, K(SQ), k > 1);
	product(r, 0, 1, 2, false, false);
	hop_loop_outline(&r->e, &r->p);
	assert_int_equal(r->p.nfunc, 1);
	assert_int_equal(r->p.func[0].body.first->kind, HOP_L_TILE);
	rig_down(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts), cmocka_unit_test(test_cache),
		cmocka_unit_test(test_damage), cmocka_unit_test(test_threads),
		cmocka_unit_test(test_nomem), cmocka_unit_test(test_row),
		cmocka_unit_test(test_outline), cmocka_unit_test(test_lone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
