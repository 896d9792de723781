/* cuda_gemm_test.c -- matrix products as text for a device, run by an emulated one, against plain
 * loops: by the grid, by a block, by resident blocks; sizes of one element and of one more than a
 * tile, strides, epilogues, sums that are cut, packed operands. All products of a dtype are kernels of
 * one text. */
#include <math.h>

#include "emu/cu.h"
#include "loop/gemm_plan.h"
#include "native_rig.h"
#include "target/cuda/cuda.h"

typedef struct program program;
int nvrtcCreateProgram(program **, const char *, const char *, int, const char *const *,
                       const char *const *);
int nvrtcCompileProgram(program *, int, const char *const *);
int nvrtcGetProgramLogSize(program *, size_t *);
int nvrtcGetProgramLog(program *, char *);
int nvrtcGetCUBINSize(program *, size_t *);
int nvrtcGetCUBIN(program *, char *);
int nvrtcDestroyProgram(program **);
CUresult cuInit(unsigned);
CUresult cuDevicePrimaryCtxRetain(void **, int);
CUresult cuCtxPushCurrent_v2(void *);
CUresult cuModuleLoadData(void **, const void *);
CUresult cuModuleGetFunction(void **, void *, const char *);
CUresult cuModuleUnload(void *);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void *, size_t, void *);
CUresult cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, void *);
CUresult cuStreamSynchronize(void *);
CUresult cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        void *, void **, void **);
CUresult cuLaunchCooperativeKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                   unsigned, void *, void **);

enum { GRID, BLOCK, STEPS, CUT, JOINED };     /* who: and two kernels of one product */

typedef struct shape {
	int  m, n, k;
	int  who, threads, blocks;      /* 0: as the plan says */
	bool ta, tb, tc, beta, epi, dyn;
	int  batch;
	hop_dtype pa, pb;               /* what A and B are in memory, if sums are f32; 0: as the sums */
} shape;

enum { MANY = 48, FEW = 3 };
static hop_lfunc func[1 + MANY];

/* ---- programs ---- */

static void kernel(rig *r, int i, const hop_team *team)
{
	func[i] = (hop_lfunc){ .name = "t", .nin = 3, .nout = 1, .nsym = 3, .level = HOP_LEVEL_KERNEL,
	                       .team = *team };
	for (int q = 0; q < 3; q++)
		if (hop_size_is(team->blocks[q], 0))
			func[i].team.blocks[q] = K(1);
	r->b = (hop_lbuild){ &r->e, &r->a, &func[i], &func[i].body, 0 };
	r->nup = 0;
}

static hop_size dim(rig *r, const shape *s, int i, int v)
{
	return s->dyn ? hop_size_sym(&r->e, i) : K(v);
}

static hop_dtype stored(hop_dtype packed, hop_dtype d)
{
	return packed && d == HOP_f32 ? packed : d;
}

/* C = tanh(sum) + row where there is an epilogue. */
static void product(rig *r, const shape *s, hop_dtype d, hop_gemm *g)
{
	hop_size m = dim(r, s, 0, s->m), n = dim(r, s, 1, s->n), k = dim(r, s, 2, s->k);
	hop_size all = K(s->batch + 1);
	hop_reg b = 0, v;
	hop_dtype da = stored(s->pa, d), db = stored(s->pb, d);
	rig_param(r, 0, da, hop_size_mul(&r->e, all, hop_size_mul(&r->e, m, k)), false);
	rig_param(r, 1, db, hop_size_mul(&r->e, all, hop_size_mul(&r->e, k, n)), false);
	rig_param(r, 2, d, n, false);
	rig_param(r, 3, d, hop_size_mul(&r->e, all, hop_size_mul(&r->e, m, n)), true);
	if (s->batch) {
		hop_stmt *l = rig_loop(r, HOP_LOOP_PAR, K(s->batch));
		l->bind.place = s->who == BLOCK ? HOP_PLACE_BLOCK_X : HOP_PLACE_BLOCK_Y;
		b = l->dst;
	}
	*g = (hop_gemm){ .dtype = d, .m = m, .n = n, .k = k, .beta = s->beta,
	                 .stored = { da == d ? 0 : 1 + (int)da, db == d ? 0 : 1 + (int)db },
	                 .a = rig_at(0, 0, b, hop_size_mul(&r->e, m, k), 0),
	                 .b = rig_at(1, 0, b, hop_size_mul(&r->e, k, n), 0),
	                 .c = rig_at(3, 0, b, hop_size_mul(&r->e, m, n), 0),
	                 .as = { s->ta ? K(1) : k, s->ta ? m : K(1) },
	                 .bs = { s->tb ? K(1) : n, s->tb ? k : K(1) },
	                 .cs = { s->tc ? K(1) : n, s->tc ? m : K(1) } };
	if (!s->epi)
		return;
	g->em = hop_l_reg(&r->b);
	g->en = hop_l_reg(&r->b);
	g->ev = hop_l_reg(&r->b);
	rig_into(r, &g->epilogue);
	v = rig_op1(r, HOP_SOP_tanh, d, g->ev);
	v = rig_op2(r, HOP_SOP_add, d, v, rig_load(r, d, rig_at(2, 0, g->en, K(1), 0)));
	hop_addr to = b ? rig_at(3, 0, b, hop_size_mul(&r->e, m, n), g->em, g->cs[0], g->en, g->cs[1], 0)
	                : rig_at(3, 0, g->em, g->cs[0], g->en, g->cs[1], 0);
	rig_store(r, d, to, v);
	rig_end(r);
}

static void build_one(rig *r, int i, const shape *s, hop_dtype d)
{
	hop_team team = { .threads = s->threads ? s->threads : 32 };
	hop_gemm g;
	hop_stmt *t;
	kernel(r, i, &team);
	product(r, s, d, &g);
	t = hop_l_gemm(&r->b, &g);
	t->bind.place = s->who == GRID ? HOP_PLACE_GRID : HOP_PLACE_THREAD;
	if (s->who == GRID && !s->threads) {
		hop_gemm_plan p = hop_gemm_plan_of(t, &(hop_team){ 0 });
		func[i].team.threads = p.threads;
		func[i].team.blocks[0] = hop_gemm_plan_tiles(&r->e, t, &p);
	}
	func[i].team.blocks[0] = s->blocks ? K(s->blocks) : func[i].team.blocks[0];
	if (s->batch)
		func[i].team.blocks[s->who == GRID] = K(s->batch);
}

/* x <- tanh(x W) a few times: into C, then back. A is x, B is W. */
static void build_steps(rig *r, int i, const shape *s, hop_dtype d)
{
	hop_team team = { .threads = s->threads, .blocks = { K(s->blocks) }, .resident = true };
	hop_gemm g;
	hop_stmt *l;
	kernel(r, i, &team);
	product(r, &(shape){ .m = s->m, .n = s->n, .k = s->k }, d, &g);
	func[i].buf[0].is_written = true;
	g.em = hop_l_reg(&r->b);
	g.en = hop_l_reg(&r->b);
	g.ev = hop_l_reg(&r->b);
	rig_into(r, &g.epilogue);
	rig_store(r, d, rig_at(3, 0, g.em, g.cs[0], g.en, g.cs[1], 0), rig_op1(r, HOP_SOP_tanh, d, g.ev));
	rig_end(r);
	rig_loop(r, HOP_LOOP_SEQ, K(FEW));
	hop_l_gemm(&r->b, &g)->bind.place = HOP_PLACE_GRID;
	hop_l_stmt(&r->b, HOP_L_BARRIER)->callee = HOP_BARRIER_TEAM;
	l = rig_loop(r, HOP_LOOP_PAR, K(s->m * s->n));
	l->bind.place = HOP_PLACE_GRID;
	rig_store(r, d, rig_at(0, 0, l->dst, K(1), 0), rig_load(r, d, rig_at(3, 0, l->dst, K(1), 0)));
	rig_end(r);
	hop_l_stmt(&r->b, HOP_L_BARRIER)->callee = HOP_BARRIER_TEAM;
	rig_end(r);
}

/* Two kernels, i and i + 1: parts, and their sum. What is between is in the frame here. */
static void build_cut(rig *r, int i, const shape *s, hop_dtype d)
{
	hop_team team = { .threads = 64 };
	hop_block none = { 0 }, first = { 0 }, then = { 0 };
	hop_stmt *t;
	hop_gemm g;
	for (int q = 0; q < 2; q++) {
		int parts, room, slots;
		kernel(r, i + q, &team);
		product(r, s, d, &g);
		r->b.block = &none;
		t = hop_l_gemm(&r->b, &g);
		parts = hop_gemm_parts(t);
		assert_true(parts > 1);
		slots = hop_gemm_slots(&r->e, t, parts);
		room = hop_l_buf(&r->b, (hop_lbuf){ .kind = HOP_BUF_TEMP, .dtype = d, .is_written = true,
		                                    .count = K(slots * s->m * s->n) });
		first = then = none = (hop_block){ 0 };
		assert_true(hop_gemm_split(&r->b, t, parts, room, &first, &then));
		func[i + q].body = q ? then : first;
		if (!q) {
			hop_stmt *in = first.first->body.first;
			hop_gemm_plan p = hop_gemm_plan_of(in, &(hop_team){ 0 });
			func[i].team.threads = p.threads;
			func[i].team.blocks[0] = hop_gemm_plan_tiles(&r->e, in, &p);
			func[i].team.blocks[1] = K(parts);
		} else {
			then.first->bind.place = HOP_PLACE_GRID;
		}
	}
}

static void build(rig *r, const shape *s, int n, hop_dtype d)
{
	rig_up(r, 3, 1, 3);
	func[0] = (hop_lfunc){ .name = "t", .nin = 3, .nout = 1, .nsym = 3, .level = HOP_LEVEL_HOST };
	r->p.func = func;
	r->p.nfunc = 1 + n;
	for (int i = 0; i < n; i++)
		if (s[i].who == STEPS)
			build_steps(r, 1 + i, &s[i], d);
		else if (s[i].who == CUT)
			build_cut(r, 1 + i, &s[i], d);
		else if (s[i].who != JOINED)
			build_one(r, 1 + i, &s[i], d);
}

static void *load(rig *r, hop_cuda_kernel *k)
{
	hop_cuda_needs needs = { 0 };
	hop_buf        out;
	program       *p;
	size_t         n;
	void          *module;
	hop_buf_open(&out, &r->e);
	if (hop_cuda_text(&r->e, &r->p, "t", &out, k, &needs))
		fail_msg("%s", r->e.diag.text);
	assert_int_equal(nvrtcCreateProgram(&p, out.s, "x", 0, NULL, NULL), 0);
	if (nvrtcCompileProgram(p, 0, NULL)) {
		static char log[10000];
		nvrtcGetProgramLogSize(p, &n);
		if (n < sizeof log)
			nvrtcGetProgramLog(p, log);
		fail_msg("%s", log);
	}
	assert_int_equal(nvrtcGetCUBINSize(p, &n), 0);
	char *bytes = malloc(n);
	assert_int_equal(nvrtcGetCUBIN(p, bytes), 0);
	nvrtcDestroyProgram(&p);
	assert_int_equal(cuModuleLoadData(&module, bytes), 0);
	free(bytes);
	hop_buf_free(&out);
	return module;
}

/* ---- runs ---- */

typedef struct data { double *a, *b, *row, *c; int na, nb, nc; } data;

static double *numbers(int n, int seed)
{
	double *x = malloc((size_t)(n + 1) * sizeof *x);
	for (int i = 0; i < n; i++)
		x[i] = (i * 37 % 101 * 13 + seed) % 23 * 0.0625 - 0.6875;
	return x;
}

/* Of a number that the dtype has. */
static uint16_t pack(hop_dtype d, double x)
{
	float f = (float)x;
	uint32_t u;
	int e;
	double m = frexp(fabs(x), &e);
	memcpy(&u, &f, sizeof u);
	if (d == HOP_bf16)
		return (uint16_t)(u >> 16);
	return x == 0 ? 0 : (uint16_t)((x < 0) << 15 | (e + 14) << 10 | (int)(m * 2048) % 1024);
}

static CUdeviceptr up(const double *x, int n, hop_dtype d)
{
	size_t      size = hop_dtype_bytes(d);
	CUdeviceptr p;
	char       *t = malloc((size_t)(n + 1) * size);
	for (int i = 0; i < n; i++)
		if (d == HOP_f32)
			((float *)t)[i] = (float)x[i];
		else if (hop_dtype_packed(d))
			((uint16_t *)t)[i] = pack(d, x[i]);
		else
			((double *)t)[i] = x[i];
	assert_int_equal(cuMemAlloc_v2(&p, (size_t)(n + 1) * size), 0);
	assert_int_equal(cuMemcpyHtoDAsync_v2(p, t, (size_t)n * size, NULL), 0);
	assert_int_equal(cuStreamSynchronize(NULL), 0);
	free(t);
	return p;
}

static void down(double *x, CUdeviceptr p, int n, hop_dtype d)
{
	char *t = malloc((size_t)(n + 1) * 8);
	assert_int_equal(cuMemcpyDtoHAsync_v2(t, p, (size_t)n * hop_dtype_bytes(d), NULL), 0);
	assert_int_equal(cuStreamSynchronize(NULL), 0);
	for (int i = 0; i < n; i++)
		x[i] = d == HOP_f32 ? (double)((float *)t)[i] : ((double *)t)[i];
	free(t);
	cuMemFree_v2(p);
}

static void expect_one(const shape *s, data *x, int b)
{
	int m = s->m, n = s->n, k = s->k;
	const double *A = x->a + b * m * k, *B = x->b + b * k * n;
	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++) {
			double *c = x->c + b * m * n + (s->tc ? j * m + i : i * n + j), sum = s->beta ? *c : 0;
			for (int q = 0; q < k; q++)
				sum += A[s->ta ? q * m + i : i * k + q] * B[s->tb ? j * k + q : q * n + j];
			*c = s->epi ? tanh(sum) + x->row[j] : sum;
		}
}

static void expect(const shape *s, data *x)
{
	if (s->who != STEPS) {
		for (int b = 0; b < (s->batch ? s->batch : 1); b++)
			expect_one(s, x, b);
		return;
	}
	for (int t = 0; t < FEW; t++) {
		expect_one(s, x, 0);
		for (int i = 0; i < s->m * s->n; i++)
			x->a[i] = x->c[i] = tanh(x->c[i]);
	}
}

static void launch(void *module, const shape *s, int i, const hop_cuda_kernel *k,
                   const CUdeviceptr *args, CUdeviceptr frame)
{
	int64_t     sym[] = { s->m, s->n, s->k }, grid[3];
	uint64_t    rec[8] = { frame, (uint64_t)s->m, (uint64_t)s->n, (uint64_t)s->k, args[0], args[1],
	                       args[2], args[3] };
	static hop_state zero;
	CUdeviceptr table, state;
	unsigned    at = 0;
	char        name[16];
	void       *f;
	assert_int_equal(cuMemAlloc_v2(&table, sizeof rec), 0);
	assert_int_equal(cuMemAlloc_v2(&state, sizeof zero), 0);
	assert_int_equal(cuMemcpyHtoDAsync_v2(table, rec, sizeof rec, NULL), 0);
	assert_int_equal(cuMemcpyHtoDAsync_v2(state, &zero, sizeof zero, NULL), 0);
	for (int q = 0; q < 3; q++)
		assert_true(hop_size_eval(func[i].team.blocks[q], sym, 3, &grid[q]));
	snprintf(name, sizeof name, "t_%d", i);
	assert_int_equal(cuModuleGetFunction(&f, module, name), 0);
	void *param[] = { &table, &at, &at, &state };
	unsigned x = (unsigned)grid[0], y = (unsigned)grid[1], t = (unsigned)func[i].team.threads;
	unsigned shared = (unsigned)k[i].shared;
	if (x && y && func[i].team.resident)
		assert_int_equal(cuLaunchCooperativeKernel(f, x, y, 1, t, 1, 1, shared, NULL, param), 0);
	else if (x && y)
		assert_int_equal(cuLaunchKernel(f, x, y, 1, t, 1, 1, shared, NULL, param, NULL), 0);
	assert_int_equal(cuStreamSynchronize(NULL), 0);
	cuMemFree_v2(table);
	cuMemFree_v2(state);
}

static void check(void *module, const shape *s, int i, hop_dtype d, const hop_cuda_kernel *k)
{
	int         all = s->batch ? s->batch : 1;
	data        x = { .na = all * s->m * s->k, .nb = all * s->k * s->n, .nc = all * s->m * s->n };
	CUdeviceptr args[4], frame = 0;
	double     *got;
	x.a = numbers(x.na, 3);
	x.b = numbers(x.nb, 5);
	x.row = numbers(s->n, 7);
	x.c = numbers(x.nc, 1);
	got = numbers(x.nc, 1);
	args[0] = up(x.a, x.na, stored(s->pa, d));
	args[1] = up(x.b, x.nb, stored(s->pb, d));
	args[2] = up(x.row, s->n, d);
	args[3] = up(x.c, x.nc, d);
	if (s->who == CUT)
		assert_int_equal(cuMemAlloc_v2(&frame, 128 * 8 * (size_t)(s->m * s->n)), 0);
	launch(module, s, 1 + i, k, args, frame);
	if (s->who == CUT)
		launch(module, s, 2 + i, k, args, frame);
	expect(s, &x);
	down(got, args[3], x.nc, d);
	for (int q = 0; q < x.nc; q++)
		if (!(fabs(got[q] - x.c[q]) <= (d == HOP_f32 ? 2e-5 : 1e-12) * (1 + fabs(x.c[q]))))
			fail_msg("product %d of %s, %d x %d x %d: element %d is %.9g, not %.9g", i,
			         hop_dtype_name(d), s->m, s->n, s->k, q, got[q], x.c[q]);
	for (int q = 0; q < 3; q++)
		cuMemFree_v2(args[q]);
	if (frame)
		cuMemFree_v2(frame);
	free(x.a), free(x.b), free(x.row), free(x.c), free(got);
}

static void judge(const shape *s, int n, hop_dtype d)
{
	hop_cuda_kernel k[1 + MANY] = { 0 };
	rig             r;
	void           *module;
	assert_true(n <= MANY);
	build(&r, s, n, d);
	module = load(&r, k);
	for (int i = 0; i < n; i++)
		if (s[i].who != JOINED)
			check(module, &s[i], i, d, k);
	cuModuleUnload(module);
	rig_down(&r);
}

static const shape shapes[] = {
	{ 1, 1, 1, .who = GRID },
	{ 3, 1, 31, .who = GRID, .ta = true },
	{ 1, 33, 3, .who = GRID, .tb = true },
	{ 33, 31, 65, .who = GRID, .beta = true },
	{ 65, 127, 33, .who = GRID, .ta = true, .tb = true, .epi = true },
	{ 129, 65, 31, .who = GRID, .tc = true, .dyn = true },
	{ 127, 129, 9, .who = GRID, .epi = true, .beta = true },
	{ 31, 33, 0, .who = GRID, .epi = true },
	{ 3, 65, 0, .who = GRID, .beta = true, .dyn = true },
	{ 0, 5, 3, .who = GRID, .dyn = true },
	{ 5, 0, 3, .who = GRID, .blocks = 1 },
	{ 129, 130, 300, .who = GRID, .threads = 256, .blocks = 2 },
	{ 40, 24, 16, .who = GRID, .batch = 3 },
	/* nothing is left over at any end */
	{ 128, 128, 64, .who = GRID },
	{ 128, 128, 0, .who = GRID, .epi = true },
	{ 64, 64, 0, .who = BLOCK, .threads = 256 },
	{ 256, 256, 0, .who = GRID, .beta = true },
	{ 128, 64, 128, .who = GRID, .ta = true, .epi = true },
	{ 64, 128, 96, .who = GRID, .tb = true, .beta = true },
	{ 256, 128, 32, .who = GRID, .ta = true, .tb = true, .blocks = 3 },
	{ 32, 64, 256, .who = GRID, .pa = HOP_bf16, .tb = true },
	{ 32, 32, 128, .who = BLOCK, .threads = 128, .ta = true, .tb = true },
	{ 8, 8, 256, .who = BLOCK, .threads = 256, .epi = true },
	{ 64, 64, 64, .who = BLOCK, .threads = 256, .batch = 2 },
	{ 64, 64, 64, .who = BLOCK, .threads = 32, .tb = true },
	{ 33, 65, 31, .who = BLOCK, .threads = 96, .beta = true },
	{ 16, 16, 16, .who = BLOCK, .threads = 1024 },
	{ 65, 3, 127, .who = BLOCK, .threads = 512, .ta = true, .epi = true },
	{ 31, 1, 129, .who = BLOCK, .threads = 160 },
	{ 100, 70, 50, .who = BLOCK, .threads = 64, .dyn = true, .tc = true },
	{ 4, 4, 700, .who = BLOCK, .threads = 128 },
	{ 65, 40, 72, .who = GRID, .pa = HOP_bf16, .pb = HOP_bf16 },
	{ 64, 33, 31, .who = GRID, .pa = HOP_f16, .ta = true, .tb = true, .epi = true },
	{ 33, 129, 200, .who = GRID, .pb = HOP_f16, .beta = true, .dyn = true },
	{ 64, 48, 32, .who = BLOCK, .threads = 128, .pa = HOP_bf16, .pb = HOP_f16, .tb = true, .batch = 2 },
	{ 3, 5, 2, .who = BLOCK, .threads = 64, .pa = HOP_bf16, .pb = HOP_bf16 },
	{ 12, 20, 4096, .who = CUT, .pa = HOP_bf16, .pb = HOP_bf16 }, { .who = JOINED },
	{ 32, 48, 48, .who = STEPS, .threads = 64, .blocks = 3 },
	{ 5, 9, 9, .who = STEPS, .threads = 256, .blocks = 4 },
	{ 12, 20, 4096, .who = CUT, .epi = true }, { .who = JOINED },
	{ 3, 3, 3072, .who = CUT, .beta = true, .ta = true }, { .who = JOINED },
};

static void test_f32(void **state)
{
	(void)state;
	judge(shapes, sizeof shapes / sizeof *shapes, HOP_f32);
}

static void test_f64(void **state)
{
	(void)state;
	judge(shapes, sizeof shapes / sizeof *shapes, HOP_f64);
}

static int start(void **state)
{
	void *context;
	(void)state;
	return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxPushCurrent_v2(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_f32), cmocka_unit_test(test_f64) };
	return cmocka_run_group_tests(tests, start, NULL);
}
