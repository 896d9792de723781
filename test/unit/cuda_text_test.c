/* cuda_text_test.c -- texts of kernels that are bound by hand: what stands in them, that NVRTC
 * compiles them where there is one (HOP_NVRTC), and that they run right where there is a device, or
 * the emulated one (HOP_CUDA_DRIVER): then loops by place, sums, calls, and leaving in the middle of
 * everything. */
#include <math.h>

#include "native_rig.h"

#include "target/cuda/cuda.h"
#include "target/cuda/pieces.h"

/* ---- programs ---- */

static rig R;
static hop_cuda_kernel kernels[4];
static hop_cuda_needs  needs;
static hop_buf         text;

static void call(rig *r, int callee)
{
	hop_stmt *s = hop_l_stmt(&r->b, HOP_L_CALL);
	s->callee = callee;
	s->is_part = true;
}

/* Function 0 is a list of one kernel, function 1, which is built next. */
static rig *begin(int nin, int nout, int nsym, hop_team t)
{
	rig *r = &R;
	rig_up(r, nin, nout, nsym);
	r->f[0].level = HOP_LEVEL_HOST;
	call(r, 1);
	rig_func(r, 1, nin, nout, nsym);
	for (int i = 0; i < 3; i++)
		if (hop_size_is(t.blocks[i], 0))
			t.blocks[i] = K(1);
	r->f[1].level = HOP_LEVEL_KERNEL;
	r->f[1].team = t;
	return r;
}

static hop_stmt *share(rig *r, enum hop_loop_kind k, hop_size n, enum hop_place p, int each)
{
	hop_stmt *s = rig_loop(r, k, n);
	s->bind.place = (uint8_t)p;
	s->bind.each = (uint8_t)each;
	return s;
}

static void wait(rig *r, enum hop_barrier which)
{
	hop_l_stmt(&r->b, HOP_L_BARRIER)->callee = which;
}

/* ---- texts ---- */

/* The parameters of function 0 are those of its kernel; all texts compile. */
static void write_text(rig *r)
{
	hop_bytes cubin;
	r->f[0].nbuf = r->f[0].nin + r->f[0].nout;
	r->f[0].buf = r->f[1].buf;
	memset(kernels, 0, sizeof kernels);
	memset(&needs, 0, sizeof needs);
	if (hop_prog_verify(&r->e, &r->p)) {
		fprintf(stderr, "%s\n", r->e.diag.text);
		fail();
	}
	hop_buf_open(&text, &r->e);
	if (hop_cuda_text(&r->e, &r->p, "t", &text, kernels, &needs)) {
		fprintf(stderr, "%s\n", r->e.diag.text);
		fail();
	}
	if (!getenv("HOP_NVRTC"))
		return;
	if (hop_cuda_cubins(&r->e, 1, &text, "sm_90a", &cubin)) {
		fprintf(stderr, "%s\n%s\n", r->e.diag.text, text.s);
		fail();
	}
	hop_cuda_cubins_free(&r->e, 1, &cubin);
}

static void has(const char *what)
{
	if (!strstr(text.s, what))
		fail_msg("%s\nhas no: %s", text.s, what);
}

static void has_no(const char *what)
{
	if (strstr(text.s, what))
		fail_msg("%s\nhas: %s", text.s, what);
}

static int count(const char *what)
{
	int n = 0;
	for (const char *s = text.s; (s = strstr(s, what)); s++)
		n++;
	return n;
}

static void end(rig *r)
{
	hop_buf_free(&text);
	rig_down(r);
}

/* ---- runs ---- */

/* What the program asks of a host that lives in the test. */
typedef struct host {
	hop_rt          rt;
	struct hop_tape tape[2];
	int             never, neffect, status;
	int64_t         seen[64];
} host;

static int on_grow(hop_rt *rt, int slot, int64_t bytes)
{
	struct hop_tape *t = &rt->tape[slot];
	if (bytes > t->bytes) {
		t->ptr = realloc(t->ptr, (size_t)bytes);
		t->bytes = bytes;
	}
	return 0;
}

/* Adds one to what it is given. */
static int on_effect(hop_rt *rt, int id, void *const *args, const int64_t *syms)
{
	host   *h = rt->user;
	int64_t v;
	(void)syms;
	memcpy(&v, args[0], sizeof v);
	h->seen[h->neffect++ % 64] = v;
	v++;
	if (id == 0)
		memcpy(args[1], &v, sizeof v);
	return 0;
}

static int on_check(hop_rt *rt, int id, const int64_t *syms)
{
	(void)rt;
	(void)id;
	(void)syms;
	return 1;
}

static int on_fail(hop_rt *rt, int status, const char *why)
{
	host *h = rt->user;
	h->status = status;
	fprintf(stderr, "%s\n", why);
	return 1;
}

/* -1: there is no device. */
static int run(rig *r, host *h, void *const *params, const int64_t *syms)
{
	const hop_target *t;
	hop_machine       m;
	int               rc = -1;

	*h = (host){ .rt = { .grow = on_grow, .effect = on_effect, .check = on_check, .fail = on_fail,
	                     .nthread = 1 } };
	h->rt.user = h;
	h->rt.cancel = &h->never;
	h->rt.tape = h->tape;
	if (!getenv("HOP_CUDA_DRIVER") || hop_target_pick(&r->e, "cuda", &t) ||
	    t->machine(&r->e, &r->opts, &m) || hop_code_new(&r->e, t, &r->p, &m, &r->opts, &r->code)) {
		print_message("skipped: no device\n");
		hop_diag_clear(&r->e);
	} else {
		rc = hop_code_launch(r->code, NULL, params, syms, NULL, &h->rt);
	}
	free(h->tape[0].ptr);
	free(h->tape[1].ptr);
	return rc;
}

/* ---- loops by place ---- */

static void map_body(rig *r, hop_stmt *l)
{
	hop_reg x = rig_load(r, HOP_f32, rig_at(0, 0, l->dst, K(1), 0));
	hop_reg y = rig_load(r, HOP_f32, rig_at(1, 0, l->dst, K(1), 0));
	rig_store(r, HOP_f32, rig_at(2, 0, l->dst, K(1), 0), rig_op2(r, HOP_SOP_mul, HOP_f32, x, y));
	rig_end(r);
}

static void map_params(rig *r, hop_size n)
{
	for (int i = 0; i < 3; i++)
		rig_param(r, i, HOP_f32, n, i == 2);
}

/* Four at once: all loads before the first store; a guard on each but the first. */
static void several(void **state)
{
	static float x[3000], y[3000], o[3000];
	host         h;
	(void)state;
	for (int all = 0; all < 2; all++) {
		int  n = all ? 2048 : 2999;
		rig *r = begin(2, 1, 0, (hop_team){ .threads = 256, .blocks = { K((n + 1023) / 1024) },
		                                    .exact = true });
		map_params(r, K(n));
		map_body(r, share(r, HOP_LOOP_PAR, K(n), HOP_PLACE_GRID, 4));
		write_text(r);
		if (strstr(text.s, "o0[") < strstr(text.s, "p1[i3]"))
			fail_msg("%s\nstores before it has loaded", text.s);
		assert_int_equal(count("? p0[i"), all ? 0 : 3);
		has(all ? "const int i = hop_block_x() * 1024 + hop_thread();" : "if (i3 < 2999)");
		has_no("for (");
		for (int i = 0; i < n; i++)
			x[i] = (float)i, y[i] = 0.5f, o[i] = -1;
		if (run(r, &h, (void *[]){ x, y, o }, NULL) == 0)
			for (int i = 0; i < n; i++)
				assert_true(o[i] == 0.5f * (float)i);
		end(r);
	}
}

/* Sizes that are arguments: 64-bit indices, rounds of all threads that there are. */
static void symbolic(void **state)
{
	static float x[700], y[700], o[700];
	host         h;
	rig         *r = begin(2, 1, 1, (hop_team){ .threads = 64, .blocks = { K(2) } });
	hop_size     n = hop_size_sym(&r->e, 0);
	(void)state;
	map_params(r, n);
	map_body(r, share(r, HOP_LOOP_PAR, n, HOP_PLACE_GRID, 0));
	write_text(r);
	has("for (int64_t i = (int64_t)hop_block_x() * 64 + hop_thread(); i < s0; "
	    "i += hop_blocks_x() * 64)");
	for (int i = 0; i < 700; i++)
		x[i] = (float)i, y[i] = 2;
	if (run(r, &h, (void *[]){ x, y, o }, (int64_t[]){ 700 }) == 0)
		for (int i = 0; i < 700; i++)
			assert_true(o[i] == 2 * (float)i);
	end(r);
}

/* ---- sums ---- */

/* o[i] = sum over j of x[i, j], then y[i, j] = x[i, j] / o[i]: a block or a warp a row. */
static void rows_of(enum hop_place rows, enum hop_place inner, int n, hop_team t)
{
	static float x[20 * 500], o[20], y[20 * 500];
	host         h;
	rig         *r = begin(1, 2, 0, t);
	hop_stmt    *i, *j;
	hop_reg      z, v;

	rig_param(r, 0, HOP_f32, K(20 * n), false);
	rig_param(r, 1, HOP_f32, K(20), true);
	rig_param(r, 2, HOP_f32, K(20 * n), true);
	i = share(r, HOP_LOOP_PAR, K(20), rows, 0);
	z = hop_l_constf(&r->b, HOP_f32, 0);
	j = share(r, HOP_LOOP_RED, K(n), inner, 0);
	v = rig_load(r, HOP_f32, rig_at(0, 0, i->dst, K(n), j->dst, K(1), 0));
	rig_end(r);
	v = rig_acc(r, j, HOP_RED_add, HOP_f32, z, v);
	rig_store(r, HOP_f32, rig_at(1, 0, i->dst, K(1), 0), v);
	j = share(r, HOP_LOOP_PAR, K(n), inner, 0);
	z = rig_load(r, HOP_f32, rig_at(0, 0, i->dst, K(n), j->dst, K(1), 0));
	rig_store(r, HOP_f32, rig_at(2, 0, i->dst, K(n), j->dst, K(1), 0),
	          rig_op2(r, HOP_SOP_div, HOP_f32, z, v));
	rig_end(r);
	rig_end(r);
	write_text(r);
	for (int k = 0; k < 20 * n; k++)
		x[k] = (float)(k % n);
	if (run(r, &h, (void *[]){ x, o, y }, NULL) == 0)
		for (int k = 0; k < 20 * n; k++) {
			assert_true(o[k / n] == (float)(n * (n - 1) / 2));
			assert_true(y[k] == x[k] / o[k / n]);
		}
}

static void rows(void **state)
{
	(void)state;
	rows_of(HOP_PLACE_BLOCK_X, HOP_PLACE_THREAD, 500,
	        (hop_team){ .threads = 128, .blocks = { K(20) }, .exact = true });
	has("hop_give_add_f32(");
	has("{ __syncthreads(); }");
	has("if (hop_first_block())");
	has_no("hop_first_team");
	assert_int_equal(kernels[1].shared, 16 + 2 * 256);
	end(&R);
	rows_of(HOP_PLACE_WARP, HOP_PLACE_LANE, 70, (hop_team){ .threads = 64, .blocks = { K(3) } });
	has("hop_warp_add_f32(");
	has("if (hop_first_warp())");
	has_no("hop_barrier_block");
	assert_int_equal(kernels[1].shared, 0);
	end(&R);
}

/* Long sums of one thread stay exact: chunks, which add up in f64. */
static void long_sum(void **state)
{
	enum { N = 100000 };
	static float x[N], o[1];
	host         h;
	rig         *r = begin(1, 1, 0, (hop_team){ .threads = 32, .blocks = { K(1) } });
	hop_stmt    *j;
	hop_reg      z, v;
	(void)state;
	rig_param(r, 0, HOP_f32, K(N), false);
	rig_param(r, 1, HOP_f32, K(1), true);
	z = hop_l_constf(&r->b, HOP_f32, 0);
	j = share(r, HOP_LOOP_RED, K(N), HOP_PLACE_LANE, 0);
	v = rig_load(r, HOP_f32, rig_at(0, 0, j->dst, K(1), 0));
	rig_end(r);
	rig_store(r, HOP_f32, rig_at(1, 0, 0), rig_acc(r, j, HOP_RED_add, HOP_f32, z, v));
	write_text(r);
	has("double w");
	for (int i = 0; i < N; i++)
		x[i] = 0.1f;
	if (run(r, &h, (void *[]){ x, o }, NULL) == 0)
		assert_true(fabsf(o[0] - 0.1f * N) < 2e-6f * 0.1f * N);
	end(r);
}

/* Parts by blocks; the last to come adds them up. */
static void last(void **state)
{
	enum { N = 1000 };
	static int64_t x[N], o[1];
	host           h;
	rig           *r = begin(1, 1, 0, (hop_team){ .threads = 32, .blocks = { K(5) }, .exact = true });
	hop_stmt      *b, *j;
	hop_reg        z, v;
	int            part;
	(void)state;
	rig_param(r, 0, HOP_i64, K(N), false);
	rig_param(r, 1, HOP_i64, K(1), true);
	part = hop_l_buf(&r->b, (hop_lbuf){ .kind = HOP_BUF_TEMP, .space = HOP_SPACE_SCRATCH,
	                                    .dtype = HOP_i64, .count = K(5), .is_written = true });
	r->f[0].scratch = r->f[1].scratch = K(64);
	b = share(r, HOP_LOOP_PAR, K(5), HOP_PLACE_BLOCK_X, 0);
	z = hop_l_consti(&r->b, HOP_i64, 0);
	j = share(r, HOP_LOOP_RED, K(N / 5), HOP_PLACE_THREAD, 0);
	v = rig_load(r, HOP_i64, rig_at(0, 0, b->dst, K(N / 5), j->dst, K(1), 0));
	rig_end(r);
	rig_store(r, HOP_i64, rig_at(part, 0, b->dst, K(1), 0), rig_acc(r, j, HOP_RED_add, HOP_i64, z, v));
	rig_end(r);
	wait(r, HOP_BARRIER_LAST);
	z = hop_l_consti(&r->b, HOP_i64, 0);
	j = share(r, HOP_LOOP_RED, K(5), HOP_PLACE_NONE, 0);
	v = rig_load(r, HOP_i64, rig_at(part, 0, j->dst, K(1), 0));
	rig_end(r);
	rig_store(r, HOP_i64, rig_at(1, 0, 0), rig_acc(r, j, HOP_RED_add, HOP_i64, z, v));
	write_text(r);
	has("if (!hop_is_last(state, hop_shared + 0))");
	for (int i = 0; i < N; i++)
		x[i] = i;
	if (run(r, &h, (void *[]){ x, o }, NULL) == 0)
		assert_int_equal(o[0], N * (N - 1) / 2);
	end(r);
}

/* ---- leaving ---- */

static hop_leffect effect[1];
static const hop_type *types[2];

/* One that adds one to b[from] and leaves it at b[to]. */
static void ask(rig *r, int from, int to)
{
	hop_stmt *s = hop_l_stmt(&r->b, HOP_L_EFFECT);
	s->nacc = 1;
	s->narg = 2;
	s->args = HOP_NEWN(&r->a, hop_addr, 2);
	s->args[0] = rig_at(from, 0, 0);
	s->args[1] = rig_at(to, 0, 0);
}

static void has_effect(rig *r)
{
	static hop_type scalar = { .dtype = HOP_i64 };
	types[0] = types[1] = &scalar;
	effect[0] = (hop_leffect){ .narg = 2, .nin = 1, .type = types,
	                           .foreign = (const struct hop_foreign *)effect };
	r->p.effect = effect;
	r->p.neffect = 1;
	r->p.ntape = 1;
}

/* A step of a loop: longer tape, what the host makes of the last step onto it; registers from before
 * the loop, from the step and its number live across both. */
static void step(rig *r, hop_stmt *l, hop_reg before, int out, int tape)
{
	hop_reg   one = hop_l_consti(&r->b, HOP_i64, 1), n, was, now;
	hop_stmt *g;
	n = rig_op2(r, HOP_SOP_add, HOP_i64, l->dst, one);
	was = rig_load(r, HOP_i64, rig_at(out, 0, 0));
	wait(r, HOP_BARRIER_TEAM);
	g = hop_l_stmt(&r->b, HOP_L_GROW);
	g->buf = tape;
	g->a[0] = n;
	ask(r, out, out);
	now = rig_load(r, HOP_i64, rig_at(out, 0, 0));
	wait(r, HOP_BARRIER_TEAM);
	now = rig_op2(r, HOP_SOP_add, HOP_i64, now, rig_op2(r, HOP_SOP_mul, HOP_i64, was, before));
	rig_store(r, HOP_i64, rig_at(tape, 0, l->dst, K(1), 0), now);
	rig_store(r, HOP_i64, rig_at(out, 0, 0), now);
	wait(r, HOP_BARRIER_TEAM);
}

static int64_t expected(int n)
{
	int64_t v = 3;
	for (int i = 0; i < n; i++)
		v = v + 1 + v * 2;
	return v;
}

/* How often the host was asked, and what came of it. */
static void judge(const host *h, int64_t o, int n)
{
	int64_t v = 3;
	assert_int_equal(o, expected(n));
	assert_int_equal(h->neffect, n);
	for (int i = 0; i < n; i++, v = v + 1 + v * 2)
		assert_int_equal(h->seen[i], v);
}

static void steps(rig *r, int n)
{
	int       out = rig_param(r, 0, HOP_i64, K(1), false), tape;
	int       res = rig_param(r, 1, HOP_i64, K(1), true);
	hop_reg   two;
	hop_stmt *l;
	tape = hop_l_buf(&r->b, (hop_lbuf){ .kind = HOP_BUF_TAPE, .dtype = HOP_i64, .count = K(n),
	                                    .is_written = true });
	two = rig_op2(r, HOP_SOP_sub, HOP_i64, rig_load(r, HOP_i64, rig_at(out, 0, 0)),
	              hop_l_consti(&r->b, HOP_i64, 1));
	rig_store(r, HOP_i64, rig_at(res, 0, 0), rig_load(r, HOP_i64, rig_at(out, 0, 0)));
	wait(r, HOP_BARRIER_TEAM);
	l = rig_loop(r, HOP_LOOP_SEQ, K(n));
	step(r, l, two, res, tape);
	rig_end(r);
}

/* By one block, and by three that are there at once. */
static void leaving(void **state)
{
	(void)state;
	for (int many = 0; many < 2; many++) {
		int64_t x = 3, o = 0;
		host    h;
		rig    *r = begin(1, 1, 0, (hop_team){ .threads = 32, .blocks = { K(many ? 3 : 1) },
		                                       .resident = many });
		steps(r, 5);
		has_effect(r);
		write_text(r);
		has("if (state->code)");
		assert_int_equal(count("goto at_"), 2);
		has("{ __barrier_sync(0); }");         /* ptxas does not put lanes together behind a jump */
		has_no("__syncthreads");
		has(many ? "hop_barrier_team(state);" : "hop_drop(state, ");
		assert_int_equal(kernels[1].looks, true);
		assert_in_range(needs.save, 4, 8);
		assert_int_equal(needs.request, 3);
		if (run(r, &h, (void *[]){ &x, &o }, NULL) == 0)
			judge(&h, o, 5);
		end(r);
	}
}

/* The same in a function that the kernel calls, twice, in a branch: it leaves level by level. */
static void chain(void **state)
{
	int64_t   x = 3, o = 0;
	host      h;
	rig      *r = begin(1, 1, 0, (hop_team){ .threads = 64, .blocks = { K(1) } });
	hop_stmt *s;
	hop_reg   v, three, less;
	(void)state;
	rig_param(r, 0, HOP_i64, K(1), false);
	rig_param(r, 1, HOP_i64, K(1), true);
	v = rig_load(r, HOP_i64, rig_at(0, 0, 0));
	three = rig_op2(r, HOP_SOP_add, HOP_i64, v, v);
	less = rig_op2(r, HOP_SOP_lt, HOP_bool, v, three);
	s = hop_l_stmt(&r->b, HOP_L_IF);
	s->a[0] = less;
	rig_into(r, &s->body);
	call(r, 2);
	call(r, 2);
	rig_end(r);
	v = rig_load(r, HOP_i64, rig_at(1, 0, 0));
	wait(r, HOP_BARRIER_TEAM);
	rig_store(r, HOP_i64, rig_at(1, 0, 0), rig_op2(r, HOP_SOP_add, HOP_i64, v, three));
	rig_func(r, 2, 1, 1, 0);
	r->f[2].level = HOP_LEVEL_TEAM;
	steps(r, 3);
	has_effect(r);
	write_text(r);
	assert_int_equal(count("goto at_"), 2 + 2);
	has("if (t_2(w, state) != 0)");
	if (run(r, &h, (void *[]){ &x, &o }, NULL) == 0) {
		assert_int_equal(o, expected(3) + 6);
		assert_int_equal(h.neffect, 6);
	}
	end(r);
}

/* A function that each thread calls alone, with a record of its own. */
static void alone(void **state)
{
	static double x[100], o[100];
	host          h;
	rig          *r = begin(1, 1, 0, (hop_team){ .threads = 32, .blocks = { K(1) } });
	hop_stmt     *l, *c;
	(void)state;
	rig_param(r, 0, HOP_f64, K(100), false);
	rig_param(r, 1, HOP_f64, K(100), true);
	l = share(r, HOP_LOOP_PAR, K(100), HOP_PLACE_THREAD, 0);
	c = hop_l_stmt(&r->b, HOP_L_CALL);
	c->callee = 2;
	c->nsize = 1;
	c->sizes = HOP_NEW(&r->a, hop_size);
	c->sizes[0] = K(7);
	c->nacc = 1;
	c->narg = 2;
	c->args = HOP_NEWN(&r->a, hop_addr, 2);
	c->args[0] = rig_at(0, 0, l->dst, K(1), 0);
	c->args[1] = rig_at(1, 0, l->dst, K(1), 0);
	rig_end(r);
	rig_func(r, 2, 1, 1, 1);
	r->f[2].level = HOP_LEVEL_THREAD;
	rig_param(r, 0, HOP_f64, K(1), false);
	rig_param(r, 1, HOP_f64, K(1), true);
	rig_store(r, HOP_f64, rig_at(1, 0, 0),
	          rig_op2(r, HOP_SOP_mul, HOP_f64, rig_load(r, HOP_f64, rig_at(0, 0, 0)),
	                  rig_op1(r, HOP_SOP_cast, HOP_f64, hop_l_size(&r->b, hop_size_sym(&r->e, 0)))));
	write_text(r);
	has("const hop_word a[4] = {");
	has_no("hop_first");
	for (int i = 0; i < 100; i++)
		x[i] = i;
	if (run(r, &h, (void *[]){ x, o }, NULL) == 0)
		for (int i = 0; i < 100; i++)
			assert_true(o[i] == 7 * i);
	end(r);
}

/* Calls that are alike, a barrier behind each, are a loop over what they are given: each reads what the
 * one before it wrote. The one behind them, without a barrier, stands alone. */
static void calls(void **state)
{
	enum { N = 40, TIMES = 7 };
	static double x[N], o[N * TIMES];
	host          h;
	rig          *r = begin(1, 1, 0, (hop_team){ .threads = 64, .blocks = { K(1) } });
	hop_stmt     *l, *c;
	hop_reg       sum, zero;
	(void)state;
	rig_param(r, 0, HOP_f64, K(N), false);
	rig_param(r, 1, HOP_f64, K(N * TIMES), true);
	for (int i = 0; i < TIMES; i++) {
		c = hop_l_stmt(&r->b, HOP_L_CALL);
		c->callee = 2;
		c->nacc = 1;
		c->narg = 2;
		c->args = HOP_NEWN(&r->a, hop_addr, 2);
		c->args[0] = i ? rig_at(1, N * (i - 1), 0) : rig_at(0, 0, 0);
		c->args[1] = rig_at(1, N * i, 0);
		if (i < TIMES - 1)
			wait(r, HOP_BARRIER_BLOCK);
	}
	rig_func(r, 2, 1, 1, 0);
	r->f[2].level = HOP_LEVEL_TEAM;
	rig_param(r, 0, HOP_f64, K(N), false);
	rig_param(r, 1, HOP_f64, K(N), true);
	zero = hop_l_constf(&r->b, HOP_f64, 0);
	l = share(r, HOP_LOOP_RED, K(N), HOP_PLACE_THREAD, 0);
	sum = rig_load(r, HOP_f64, rig_at(0, 0, l->dst, K(1), 0));
	rig_end(r);
	sum = rig_acc(r, l, HOP_RED_add, HOP_f64, zero, sum);
	l = share(r, HOP_LOOP_PAR, K(N), HOP_PLACE_THREAD, 0);
	rig_store(r, HOP_f64, rig_at(1, 0, l->dst, K(1), 0),
	          rig_op2(r, HOP_SOP_add, HOP_f64, sum,
	                  rig_load(r, HOP_f64, rig_at(0, 0, l->dst, K(1), 0))));
	rig_end(r);
	write_text(r);
	has("for (int call = 0; call < 6; call++)");
	assert_int_equal(count("t_2(a, state);"), 2);
	for (int i = 0; i < N; i++)
		x[i] = i;
	if (run(r, &h, (void *[]){ x, o }, NULL) == 0)
		for (int i = 0; i < N * TIMES; i++) {
			const double *from = i < N ? x : o + i / N * N - N;
			double        want = 0;
			for (int k = 0; k < N; k++)
				want += from[k];
			assert_true(o[i] == from[i % N] + want);
		}
	end(r);
}

/* ---- what has no text ---- */

static void refused(void **state)
{
	rig *r = begin(1, 1, 0, (hop_team){ .threads = 32, .blocks = { K(7) } });
	(void)state;
	steps(r, 3);
	has_effect(r);
	r->f[0].nbuf = 2;
	r->f[0].buf = r->f[1].buf;
	hop_buf_open(&text, &r->e);
	assert_int_equal(hop_cuda_text(&r->e, &r->p, "t", &text, kernels, &needs), HOP_ETARGET);
	assert_non_null(strstr(r->e.diag.text, "not all threads are together"));
	hop_diag_clear(&r->e);
	end(r);
	rig_up(r, 0, 0, 0);
	hop_buf_open(&text, &r->e);
	assert_int_equal(hop_cuda_text(&r->e, &r->p, "t", &text, kernels, &needs), HOP_ETARGET);
	assert_non_null(strstr(r->e.diag.text, "is not scheduled"));
	hop_diag_clear(&r->e);
	end(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(several), cmocka_unit_test(symbolic), cmocka_unit_test(rows),
		cmocka_unit_test(long_sum), cmocka_unit_test(last), cmocka_unit_test(leaving),
		cmocka_unit_test(chain), cmocka_unit_test(alone), cmocka_unit_test(calls),
		cmocka_unit_test(refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
