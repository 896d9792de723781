/* cuda_driver_test.c -- the run-time half of target cuda with kernels written by hand: lists, tables,
 * grids, staging, leaving and going on, memory, errors. Needs a device, or the emulated one
 * (HOP_CUDA_DRIVER, HOP_NVRTC); without it all but a few are skipped. */
#include <pthread.h>

#include "native_rig.h"

#include "target/cuda/image.h"
#include "target/cuda/pieces.h"

static hop_cuda *dev;
static bool      no_device;

#define NEED_DEVICE() do { if (no_device) skip(); } while (0)

/* ---- programs of texts ---- */

typedef struct loaded {
	rig       r;
	hop_image image;
	hop_cuda_kernel kernel[4];
	hop_cuda_needs  needs;
	hop_bytes bytes;
} loaded;

#define KERNEL(f) "extern \"C\" __global__ void t_" #f \
	"(const hop_word *table, unsigned rec, unsigned at, hop_state *state)\n{\n" \
	"\tconst hop_word *r = table + rec;\n"
#define INDEX "\tlong long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"

static void compile_text(loaded *l, const char *text)
{
	hop_buf all;
	hop_bytes cubin;
	char arch[16];
	hop_cuda_arch(arch);
	hop_buf_open(&all, &l->r.e);
	hop_put(&all, HOP_STATE_TEXT);
	hop_put(&all, text);
	hop_status st = hop_cuda_cubins(&l->r.e, 1, &all, arch, &cubin);
	if (!st)
		st = hop_cuda_pack(&l->r.e, l->r.p.nfunc, l->kernel, &l->needs, arch, 1, &cubin, &l->bytes);
	if (st)
		fprintf(stderr, "%s\n", l->r.e.diag.text);
	assert_int_equal(st, HOP_OK);
	hop_cuda_cubins_free(&l->r.e, 1, &cubin);
	hop_buf_free(&all);
}

static void load_text(loaded *l, const char *text)
{
	compile_text(l, text);
	if (hop_cuda_load(&l->r.e, &l->bytes, &l->r.p, "t", &l->image)) {
		fprintf(stderr, "%s\n", l->r.e.diag.text);
		fail();
	}
}

static void unload(loaded *l)
{
	hop_cuda_unload(&l->image);
	hop_raw_free(&l->r.e.mem, l->bytes.p, l->bytes.n);
	rig_down(&l->r);
}

static void call_part(rig *r, int callee)
{
	hop_stmt *s = hop_l_stmt(&r->b, HOP_L_CALL);
	s->callee = callee;
	s->is_part = true;
}

static void kernel(rig *r, int f, int nin, int nout, int nsym, hop_team team)
{
	rig_func(r, f, nin, nout, nsym);
	for (int i = 0; i < 3; i++)
		if (hop_size_is(team.blocks[i], 0))
			team.blocks[i] = K(1);
	r->f[f].level = HOP_LEVEL_KERNEL;
	r->f[f].name = "by_hand";
	r->f[f].team = team;
}

/* f64 parameters of n elements each. */
static void params(rig *r, int n, hop_size count)
{
	for (int i = 0; i < n; i++)
		rig_param(r, i, HOP_f64, count, i >= r->b.f->nin);
}

/* The run time of a test. */
typedef struct host {
	hop_rt rt;
	int    status, nseen, neffect;
	double seen[256];
	char   text[600];
	int    stop_at;        /* effect that ends the run; 0 = none */
	int    cancel;
} host;

static int host_fail(hop_rt *rt, int status, const char *text)
{
	host *h = rt->user;
	h->status = status;
	snprintf(h->text, sizeof h->text, "%s", text);
	return 1;
}

static int host_effect(hop_rt *rt, int id, void *const *args, const int64_t *syms)
{
	host *h = rt->user;
	double v;
	memcpy(&v, args[0], sizeof v);
	if (h->nseen < 256)
		h->seen[h->nseen] = v;
	h->nseen++;
	if (id == 0) {                         /* y = 10 x + n */
		v = 10 * v + (double)syms[0];
		memcpy(args[1], &v, sizeof v);
	}
	return ++h->neffect == h->stop_at ? 7 : 0;
}

static int host_check(hop_rt *rt, int id, const int64_t *syms)
{
	host *h = rt->user;
	(void)id;
	return syms[0] > 100 ? (h->status = HOP_ESHAPE, 1) : 0;
}

static void host_init(host *h)
{
	*h = (host){ .rt = { .effect = host_effect, .check = host_check, .fail = host_fail, .nthread = 1 } };
	h->rt.user = h;
	h->rt.cancel = &h->cancel;
}

static int launch(loaded *l, host *h, void *const *p, const int64_t *syms)
{
	host_init(h);
	return hop_cuda_launch_image(&l->image, NULL, p, syms, NULL, &h->rt);
}

/* ---- lists ---- */

/* y = 2 x + 1 by a list within a list, whose frame is 64 bytes into ours, then z = y of the frame. */
static const char two[] =
	KERNEL(2) INDEX
	"\tif (i < (long long)r[1])\n\t\t((double *)r[0])[i] = 2 * ((const double *)r[2])[i] + 1;\n}\n"
	KERNEL(3) INDEX
	"\tif (i < (long long)r[1])\n"
	"\t\t((double *)r[3])[i] = ((const double *)r[0])[8 + i] + (double)r[1];\n}\n";

static void make_lists(loaded *l)
{
	memset(l, 0, sizeof *l);
	rig *r = &l->r;
	rig_up(r, 1, 1, 1);
	hop_size n = hop_size_sym(&r->e, 0), bytes = hop_size_mul(&r->e, n, K(8));
	hop_size blocks = hop_size_div(&r->e, hop_size_add(&r->e, n, K(31)), K(32));
	r->f[0].level = HOP_LEVEL_HOST;
	r->f[0].name = "list";
	r->f[0].frame = hop_size_add(&r->e, bytes, K(64));
	params(r, 2, n);
	hop_stmt *s = hop_l_stmt(&r->b, HOP_L_CALL);
	s->callee = 1;
	s->frame = K(64);
	s->nsize = 1;
	s->sizes = HOP_NEW(&r->a, hop_size);
	s->sizes[0] = n;
	s->narg = s->nacc = 1;
	s->args = HOP_NEW(&r->a, hop_addr);
	s->args[0] = rig_at(0, 0, 0);
	call_part(r, 3);
	rig_func(r, 1, 1, 0, 1);
	r->f[1].level = HOP_LEVEL_HOST;
	r->f[1].frame = bytes;
	params(r, 1, n);
	call_part(r, 2);
	kernel(r, 2, 1, 0, 1, (hop_team){ .threads = 32, .blocks = { blocks }, .exact = true });
	params(r, 1, n);
	kernel(r, 3, 1, 1, 1, (hop_team){ .threads = 32, .blocks = { blocks }, .exact = true });
	params(r, 2, n);
}

static void make_two(loaded *l)
{
	make_lists(l);
	load_text(l, two);
}

static void judge_two(loaded *l, int64_t n)
{
	double *x = calloc((size_t)n + 1, sizeof *x), *y = calloc((size_t)n + 1, sizeof *y);
	host h;
	for (int64_t i = 0; i < n; i++)
		x[i] = 0.5 * (double)i;
	y[n] = -1;
	int rc = launch(l, &h, (void *[]){ x, y }, &n);
	if (rc)
		fprintf(stderr, "%s\n", h.text);
	assert_int_equal(rc, 0);
	for (int64_t i = 0; i < n; i++)
		if (y[i] != (double)i + 1 + (double)n)
			fail_msg("n = %lld: y[%lld] is %g", (long long)n, (long long)i, y[i]);
	assert_true(y[n] == -1);
	free(x);
	free(y);
}

/* Sizes come and go: plain launches, graphs, those that were dropped; small arrays and large ones. */
static void lists(void **state)
{
	static const int64_t sizes[] = { 5, 5, 5, 0, 1, 32, 33, 1000, 5, 20000, 20000, 20000, 3, 5 };
	loaded l;
	(void)state;
	NEED_DEVICE();
	make_two(&l);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		judge_two(&l, sizes[i]);
	for (int64_t n = 1; n < 90; n++)
		judge_two(&l, n);
	unload(&l);
}

static void *many(void *user)
{
	for (int64_t i = 0; i < 30; i++)
		judge_two(user, 10 + i % 5);
	return NULL;
}

static void threads_at_once(void **state)
{
	pthread_t t[4];
	loaded l;
	(void)state;
	NEED_DEVICE();
	make_two(&l);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, many, &l), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	unload(&l);
}

/* Arrays of the device are used where they are, in the order of a queue. */
static void arrays_of_the_device(void **state)
{
	enum { N = 100 };
	const hop_memory *m = &hop_cuda_memory;
	double x[N], y[N] = { 0 };
	int64_t n = N;
	void *q, *far_x, *far_y;
	loaded l;
	host h;
	(void)state;
	NEED_DEVICE();
	make_two(&l);
	for (int i = 0; i < N; i++)
		x[i] = i;
	assert_null(m->far->queue_new(&q));
	far_x = m->alloc(NULL, q, sizeof x);
	far_y = m->alloc(NULL, q, sizeof y);
	assert_non_null(far_x);
	assert_non_null(far_y);
	assert_true(m->far->owns(far_x));
	assert_false(m->far->owns(x));
	for (int turn = 0; turn < 20; turn++) {
		host_init(&h);
		h.rt.there = (const unsigned char[]){ 1, 1 };
		x[0] = turn;
		assert_null(m->copy(q, far_x, x, sizeof x));
		assert_int_equal(hop_cuda_launch_image(&l.image, q, (void *[]){ far_x, far_y }, &n, NULL,
		                                       &h.rt), 0);
	}
	assert_null(m->copy(q, y, far_y, sizeof y));
	assert_null(m->wait(q));
	assert_true(y[0] == 2 * 19 + 1 + N && y[N - 1] == 2 * (N - 1) + 1 + N);
	host_init(&h);                         /* one there, one here */
	h.rt.there = (const unsigned char[]){ 1, 0 };
	memset(y, 0, sizeof y);
	assert_int_equal(hop_cuda_launch_image(&l.image, q, (void *[]){ far_x, y }, &n, NULL, &h.rt), 0);
	assert_true(y[1] == 3 + N);
	m->free(NULL, q, far_x, sizeof x);
	m->free(NULL, q, far_y, sizeof y);
	m->far->queue_free(q);
	unload(&l);
}

/* An output that is its input, and resident blocks that meet through scratch. */
static const char meet[] =
	"static __device__ void all(hop_state *s)\n{\n"
	"\t__syncthreads();\n"
	"\tif (!threadIdx.x) {\n"
	"\t\tunsigned add = blockIdx.x ? 1 : 0x80000000u - (gridDim.x - 1);\n"
	"\t\tunsigned old = atomicAdd(&s->arrived, add);\n"
	"\t\t__threadfence();\n"
	"\t\twhile (!((atomicAdd(&s->arrived, 0u) ^ old) & 0x80000000u))\n\t\t\t;\n"
	"\t\t__threadfence();\n\t}\n"
	"\t__syncthreads();\n}\n"
	KERNEL(1)
	"\tdouble *x = (double *)r[1], *y = (double *)r[2], *part = (double *)state->scratch, sum = 0;\n"
	"\tif (!threadIdx.x)\n\t\tpart[blockIdx.x] = x[blockIdx.x];\n"
	"\tall(state);\n"
	"\tfor (unsigned k = 0; k < gridDim.x; k++)\n\t\tsum += part[k];\n"
	"\tall(state);\n"
	"\tif (!threadIdx.x)\n\t\ty[blockIdx.x] = sum;\n}\n";

static void blocks_meet(void **state)
{
	loaded l = { 0 };
	double x[4];
	host h;
	(void)state;
	NEED_DEVICE();
	rig_up(&l.r, 1, 1, 0);
	l.r.f[0].level = HOP_LEVEL_HOST;
	l.r.f[0].scratch = K(64);
	params(&l.r, 2, K(4));
	l.r.f[0].buf[1].alias = 1;
	call_part(&l.r, 1);
	kernel(&l.r, 1, 1, 1, 0, (hop_team){ .threads = 32, .blocks = { K(4) }, .resident = true });
	params(&l.r, 2, K(4));
	load_text(&l, meet);
	for (int turn = 0; turn < 4; turn++) {
		for (int i = 0; i < 4; i++)
			x[i] = i + turn;
		assert_int_equal(launch(&l, &h, (void *[]){ x, x }, NULL), 0);
		for (int i = 0; i < 4; i++)
			assert_true(x[i] == 6 + 4 * turn);
	}
	unload(&l);
}

/* ---- leaving and going on ---- */

/* One block, a loop; every step asks something. mode of the element decides what: 0 effect, 1 print, 2 a
 * longer tape, 3 check, 4 assert that fails, 5 wait until canceled. */
static const char leaves[] =
	"static __device__ int leave(hop_state *s, int code, int id, unsigned at, long long i, int point)\n"
	"{\n"
	"\t__syncthreads();\n"
	"\tif (!threadIdx.x) {\n"
	"\t\ts->save[s->saved] = (hop_word)i;\n\t\ts->save[s->saved + 1] = (hop_word)point;\n"
	"\t\ts->saved += 2;\n\t\ts->id = id;\n\t\ts->at = at;\n\t\ts->code = code;\n\t}\n"
	"\treturn code;\n}\n"
	"static __device__ void note(hop_state *s, int id, long long n, double v)\n{\n"
	"\tunsigned char *p = s->ring + s->ring_head;\n"
	"\t((unsigned *)p)[0] = 32;\n\t((unsigned *)p)[1] = (unsigned)id;\n"
	"\t((long long *)p)[1] = 1;\n\t((long long *)p)[2] = n;\n\t((double *)p)[3] = v;\n"
	"\ts->ring_head += 32;\n}\n"
	KERNEL(1)
	"\t__shared__ int told;\n"
	"\tlong long n = (long long)r[1], i = 0, point = 0;\n"
	"\tdouble *mode = (double *)r[2], *x = (double *)r[3], *y = (double *)r[4];\n"
	"\tif (state->code)\n\t\treturn;\n"
	"\tif (state->saved) {\n"
	"\t\ti = (long long)state->save[state->saved - 2];\n"
	"\t\tpoint = (long long)state->save[state->saved - 1];\n"
	"\t\t__syncthreads();\n\t\tif (!threadIdx.x)\n\t\t\tstate->saved -= 2;\n\t\t__syncthreads();\n"
	"\t\tif (point == 1)\n\t\t\tgoto done;\n\t\tgoto again;\n\t}\n"
	"\tfor (; i < n; i++) {\n"
	"again:\n"
	"\t\tif (mode[i] == 0 || mode[i] == 3) {\n"
	"\t\t\tif (!threadIdx.x) {\n\t\t\t\tstate->request[0] = 1;\n"
	"\t\t\t\tstate->request[1] = (hop_word)n;\n"
	"\t\t\t\tstate->request[2] = (hop_word)(x + i);\n"
	"\t\t\t\tstate->request[3] = (hop_word)(y + i);\n\t\t\t}\n"
	"\t\t\tleave(state, mode[i] == 0 ? 2 : 4, 0, at, i, 1);\n\t\t\treturn;\n\t\t}\n"
	"\t\tif (mode[i] == 1 || mode[i] == 4) {\n"
	"\t\t\tif (state->ring_head + 32 > state->ring_bytes) {\n"
	"\t\t\t\tleave(state, 5, 0, at, i, 2);\n\t\t\t\treturn;\n\t\t\t}\n"
	"\t\t\t__syncthreads();\n\t\t\tif (!threadIdx.x)\n"
	"\t\t\t\tnote(state, mode[i] == 1 ? 1 : 2, n, x[i]);\n"
	"\t\t\t__syncthreads();\n"
	"\t\t\tif (mode[i] == 4) {\n\t\t\t\tif (!threadIdx.x)\n"
	"\t\t\t\t\tstate->code = 1;\n\t\t\t\treturn;\n\t\t\t}\n\t\t}\n"
	"\t\tif (mode[i] == 2) {\n"
	"\t\t\tlong long want = (i + 1) * 100000;\n"
	"\t\t\tif (state->tape[0].bytes < want) {\n"
	"\t\t\t\tif (!threadIdx.x)\n\t\t\t\t\tstate->request[0] = (hop_word)want;\n"
	"\t\t\t\tleave(state, 3, 0, at, i, 2);\n\t\t\t\treturn;\n\t\t\t}\n"
	"\t\t\tif (!threadIdx.x) {\n\t\t\t\t((double *)(state->tape[0].ptr + want))[-1] = x[i];\n"
	"\t\t\t\ty[i] = ((double *)(state->tape[0].ptr + 100000))[-1];\n\t\t\t}\n\t\t}\n"
	"\t\twhile (mode[i] == 5) {\n\t\t\t__syncthreads();\n"
	"\t\t\tif (!threadIdx.x)\n\t\t\t\ttold = *state->cancel;\n"
	"\t\t\t__syncthreads();\n\t\t\tif (told)\n\t\t\t\tbreak;\n\t\t}\n"
	"\t\tif (mode[i] == 5) {\n\t\t\tif (!threadIdx.x)\n\t\t\t\tstate->code = 6;\n\t\t\treturn;\n\t\t}\n"
	"done:\n"
	"\t\tif (!threadIdx.x)\n\t\t\ty[i] = mode[i] == 0 || mode[i] == 2 ? y[i] + 1 : 1;\n"
	"\t\t__syncthreads();\n\t}\n}\n"
	/* a later kernel, which must not run when an earlier one has ended the run */
	KERNEL(2)
	"\tif (state->code)\n\t\treturn;\n"
	"\tif (!threadIdx.x)\n\t\t((double *)r[4])[0] += 1000;\n}\n";

static void make_leaves(loaded *l)
{
	memset(l, 0, sizeof *l);
	rig *r = &l->r;
	rig_up(r, 2, 1, 1);
	hop_size n = hop_size_sym(&r->e, 0);
	const hop_type **t = HOP_NEWN(&r->a, const hop_type *, 2);
	r->f[0].level = HOP_LEVEL_HOST;
	r->f[0].name = "leaving";
	params(r, 3, n);
	call_part(r, 1);
	call_part(r, 2);
	for (int f = 1; f < 3; f++) {
		kernel(r, f, 2, 1, 1, (hop_team){ .threads = 32 });
		params(r, 3, n);
		l->kernel[f] = (hop_cuda_kernel){ .looks = true, .cancels = true };
	}
	t[0] = t[1] = hop_type_scalar(&r->e, HOP_f64);
	r->p.effect = HOP_NEWN(&r->a, hop_leffect, 3);
	r->p.neffect = 3;
	r->p.effect[0] = (hop_leffect){ .narg = 2, .nin = 1, .type = t };
	r->p.effect[1] = r->p.effect[2] = (hop_leffect){ .narg = 1, .nin = 1, .type = t };
	r->p.ntape = 1;
	l->needs = (hop_cuda_needs){ .save = 2, .request = 4, .ring = true };
	load_text(l, leaves);
}

enum { STEPS = 12 };
static int run_modes(loaded *l, host *h, const char *modes, double *y)
{
	double mode[64], x[64];
	int64_t n = (int64_t)strlen(modes);
	for (int64_t i = 0; i < n; i++) {
		mode[i] = modes[i] - '0';
		x[i] = (double)i;
		y[i] = 0;
	}
	return hop_cuda_launch_image(&l->image, NULL, (void *[]){ mode, x, y }, &n, NULL, &h->rt);
}

static void leaving(void **state)
{
	double y[64];
	loaded l;
	host h;
	(void)state;
	NEED_DEVICE();
	make_leaves(&l);
	for (int turn = 0; turn < 3; turn++) {
		host_init(&h);
		int rc = run_modes(&l, &h, "010212013", y);
		if (rc)
			fprintf(stderr, "%s\n", h.text);
		assert_int_equal(rc, 0);
		assert_int_equal(h.neffect, 6);
		static const double seen[] = { 0, 1, 2, 4, 6, 7 };     /* in program order */
		assert_memory_equal(h.seen, seen, sizeof seen);
		static const double want[] = { 1010, 1, 30, 1, 1, 1, 70, 1, 1 };
		for (int i = 0; i < 9; i++)
			if (i != 3 && i != 5 && y[i] != want[i])
				fail_msg("turn %d: y[%d] is %g", turn, i, y[i]);
	}
	unload(&l);
}

static void first_error_wins(void **state)
{
	double y[64];
	loaded l;
	host h;
	(void)state;
	NEED_DEVICE();
	make_leaves(&l);
	for (int turn = 0; turn < 2; turn++) {
		host_init(&h);
		h.stop_at = 2;                 /* the print that was written before the effect that left */
		assert_int_equal(run_modes(&l, &h, "110", y), 7);
		assert_int_equal(h.neffect, 2);
		host_init(&h);
		h.stop_at = 3;                 /* an assert */
		assert_int_equal(run_modes(&l, &h, "1141", y), 7);
		assert_int_equal(h.neffect, 3);
		host_init(&h);                 /* and the next run knows nothing of it */
		assert_int_equal(run_modes(&l, &h, "011", y), 0);
		assert_int_equal(h.neffect, 3);
		assert_true(y[0] == 1000 + 1 + 3);
	}
	unload(&l);
}

/* Many more records than the ring has room for. */
static void full_ring(void **state)
{
	enum { N = 5000 };
	static double mode[N], x[N], y[N];
	int64_t n = N;
	loaded l;
	host h;
	(void)state;
	NEED_DEVICE();
	make_leaves(&l);
	for (int i = 0; i < N; i++) {
		mode[i] = 1;
		x[i] = i;
	}
	host_init(&h);
	void *all[] = { mode, x, y };
	assert_int_equal(hop_cuda_launch_image(&l.image, NULL, all, &n, NULL, &h.rt), 0);
	assert_int_equal(h.nseen, N);
	for (int i = 0; i < 256; i++)
		assert_true(h.seen[i] == i);
	if (y[0] != 1001 || y[N - 1] != 1)
		fail_msg("%g %g", y[0], y[N - 1]);
	host_init(&h);
	x[0] = 0;
	n = 101;                               /* a check that does not hold */
	mode[2] = 3;
	assert_int_equal(hop_cuda_launch_image(&l.image, NULL, all, &n, NULL, &h.rt), 1);
	assert_int_equal(h.status, HOP_ESHAPE);
	assert_int_equal(h.nseen, 2);
	unload(&l);
}

static void *cancel_soon(void *user)
{
	struct timespec t = { 0, 30000000 };
	nanosleep(&t, NULL);
	__atomic_store_n((int *)user, 5, __ATOMIC_RELAXED);
	return NULL;
}

static void canceled(void **state)
{
	double y[64];
	pthread_t t;
	loaded l;
	host h;
	(void)state;
	NEED_DEVICE();
	make_leaves(&l);
	for (int turn = 0; turn < 2; turn++) {
		host_init(&h);
		assert_int_equal(pthread_create(&t, NULL, cancel_soon, &h.cancel), 0);
		assert_int_equal(run_modes(&l, &h, "1151", y), 5);
		pthread_join(t, NULL);
		assert_int_equal(h.nseen, 2);
		host_init(&h);
		assert_int_equal(run_modes(&l, &h, "11", y), 0);
	}
	unload(&l);
}

/* ---- what goes wrong ---- */

/* As whole as its seal says, but for a word. */
enum { HEADER = 64, DESC = 16 };
static void refuse_sealed(loaded *l, size_t at, uint32_t v)
{
	char *p = l->bytes.p;
	size_t n = l->bytes.n - sizeof(hop_hash);
	hop_image image;
	uint32_t was;
	memcpy(&was, p + at, sizeof was);
	for (int turn = 0; turn < 2; turn++) {
		memcpy(p + at, turn ? &was : &v, sizeof v);
		hop_hash seal = hop_hash_bytes(p, n);
		memcpy(p + n, &seal, sizeof seal);
		if (!turn)
			assert_int_equal(hop_cuda_load(&l->r.e, &l->bytes, &l->r.p, "t", &image), HOP_ETARGET);
	}
	hop_diag_clear(&l->r.e);
}

static void damaged_bytes(void **state)
{
	loaded l;
	hop_image image;
	(void)state;
	NEED_DEVICE();
	make_two(&l);
	for (size_t at = 0; at < l.bytes.n; at += 1 + l.bytes.n / 50) {
		((char *)l.bytes.p)[at] ^= 1;
		assert_int_equal(hop_cuda_load(&l.r.e, &l.bytes, &l.r.p, "t", &image), HOP_ETARGET);
		hop_diag_clear(&l.r.e);
		((char *)l.bytes.p)[at] ^= 1;
	}
	for (int k = 0; k < l.r.p.nfunc; k++)  /* no module has the kernel */
		if (l.r.p.func[k].level == HOP_LEVEL_KERNEL) {
			refuse_sealed(&l, HEADER + DESC * (size_t)k + 12, 9);
			refuse_sealed(&l, HEADER + DESC * (size_t)k + 12, 0x80000000u);
		}
	refuse_sealed(&l, HEADER + DESC * (size_t)l.r.p.nfunc, 0x7fffffff);      /* of the first cubin */
	refuse_sealed(&l, HEADER + DESC * (size_t)l.r.p.nfunc, 1);
	hop_bytes part = { l.bytes.p, l.bytes.n / 2 };
	assert_int_equal(hop_cuda_load(&l.r.e, &part, &l.r.p, "t", &image), HOP_ETARGET);
	hop_diag_clear(&l.r.e);
	unload(&l);
}

static void compiler_says(void **state)
{
	rig r;
	hop_buf text;
	hop_bytes out;
	(void)state;
	NEED_DEVICE();
	rig_up(&r, 0, 0, 0);
	hop_buf_open(&text, &r.e);
	hop_put(&text, "__device__ int fine;\n"
	               "__device__ int bad() { return nothing_of_that_name; }\n");
	assert_int_equal(hop_cuda_cubins(&r.e, 1, &text, "sm_90a", &out), HOP_ETARGET);
	assert_non_null(strstr(r.e.diag.text, "nothing_of_that_name"));
	assert_non_null(strstr(r.e.diag.text, "line 2: __device__ int bad"));
	hop_buf_free(&text);
	rig_down(&r);
}

static void out_of_memory(void **state)
{
	int64_t huge = (int64_t)1 << 35;
	loaded l;
	host h;
	(void)state;
	NEED_DEVICE();
	make_two(&l);
	host_init(&h);
	h.rt.there = (const unsigned char[]){ 1, 1 };
	assert_int_equal(hop_cuda_launch_image(&l.image, NULL, (void *[]){ &h, &h }, &huge, NULL, &h.rt), 1);
	assert_int_equal(h.status, HOP_ENOMEM);
	judge_two(&l, 100);
	assert_null(hop_cuda_memory.alloc(NULL, NULL, (size_t)huge * 8));
	judge_two(&l, 100);
	unload(&l);
}

/* What idle runs keep is given up, and the next run gets it anew. */
static void relief(void **state)
{
	double y[64];
	loaded l;
	host h;
	(void)state;
	NEED_DEVICE();
	make_leaves(&l);
	for (int turn = 0; turn < 3; turn++) {
		host_init(&h);
		assert_int_equal(run_modes(&l, &h, "2222", y), 0);
		assert_true(y[3] == 1 && y[0] == 1001);
		bool entered = hop_cuda_enter(dev);
		hop_cuda_relieve(dev);
		hop_cuda_leave(dev, entered);
	}
	unload(&l);
}

static const char wild[] =
	KERNEL(1)
	"\tif (!threadIdx.x)\n\t\t*(double *)(r[1] * 0 + 64) = 1;\n}\n";

/* A new context has the device again, or is told that this process never will: NVIDIA's driver does not
 * say which errors it gets over. */
static bool is_cured(void)
{
	const char *why = hop_cuda_renew(dev);
	if (!why)
		return true;
	print_message("%s\n", why);
	assert_non_null(strstr(why, "start it anew"));
	loaded l = { 0 };
	make_lists(&l);
	compile_text(&l, two);
	assert_int_equal(hop_cuda_load(&l.r.e, &l.bytes, &l.r.p, "t", &l.image), HOP_ETARGET);
	assert_non_null(strstr(l.r.e.diag.text, "start it anew"));
	assert_null(hop_cuda_memory.alloc(NULL, NULL, 8));
	hop_raw_free(&l.r.e.mem, l.bytes.p, l.bytes.n);
	rig_down(&l.r);
	return false;
}

/* It is said which kernel it was; what the context compiled runs no more. */
static void lost_device(void **state)
{
	loaded l = { 0 }, two_l;
	double x = 0;
	host h;
	(void)state;
	NEED_DEVICE();
	rig_up(&l.r, 1, 0, 0);
	l.r.f[0].level = HOP_LEVEL_HOST;
	l.r.f[0].name = "list";
	params(&l.r, 1, K(1));
	call_part(&l.r, 1);
	kernel(&l.r, 1, 1, 0, 0, (hop_team){ .threads = 32 });
	params(&l.r, 1, K(1));
	load_text(&l, wild);
	assert_int_equal(launch(&l, &h, (void *[]){ &x }, NULL), 1);
	assert_int_equal(h.status, HOP_ETARGET);
	assert_non_null(strstr(h.text, "by_hand"));
	assert_int_equal(launch(&l, &h, (void *[]){ &x }, NULL), 1);
	assert_non_null(strstr(h.text, "make a new one"));
	if (is_cured()) {
		make_two(&two_l);              /* in a context of its own */
		judge_two(&two_l, 77);
		judge_two(&two_l, 77);
		unload(&two_l);
	}
	assert_int_equal(launch(&l, &h, (void *[]){ &x }, NULL), 1);
	assert_int_equal(h.status, HOP_ETARGET);
	unload(&l);
}

static int setup(void **state)
{
	setenv("HOP_EMU_FAULT", "code", 0);   /* the emulated device is to break as a real one does */
	const char *why = hop_cuda_open(&dev);
	(void)state;
	no_device = why != NULL;
	if (why)
		printf("skipped: no device (%s)\n", why);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists), cmocka_unit_test(threads_at_once),
		cmocka_unit_test(arrays_of_the_device), cmocka_unit_test(blocks_meet),
		cmocka_unit_test(leaving), cmocka_unit_test(first_error_wins), cmocka_unit_test(full_ring),
		cmocka_unit_test(canceled), cmocka_unit_test(damaged_bytes), cmocka_unit_test(compiler_says),
		cmocka_unit_test(out_of_memory), cmocka_unit_test(relief), cmocka_unit_test(lost_device),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
