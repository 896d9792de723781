/* team_test.c -- the runner of scheduled programs: kernels built by hand give what C gives in any
 * order of threads, and each of them with one barrier left out is caught, in any order too. */
#include "native_rig.h"

#include "support/team_run.h"

enum { SEEDS = 6, N = 200 };

/* Which barrier of the kernel to leave out, and how many it has. */
typedef struct cut { int leave, n; } cut;

static void start_kernel(rig *r, int nout, hop_team team)
{
	rig_up(r, 1, nout, 0);
	r->f[0].level = HOP_LEVEL_HOST;
	hop_stmt *s = hop_l_stmt(&r->b, HOP_L_CALL);
	s->callee = 1;
	s->is_part = true;
	rig_func(r, 1, 1, nout, 0);
	r->f[1].level = HOP_LEVEL_KERNEL;
	for (int i = 0; i < 3; i++)
		if (hop_size_is(team.blocks[i], 0))
			team.blocks[i] = K(1);
	r->f[1].team = team;
}

static void both_params(rig *r, int64_t nin, int64_t nout)
{
	rig_param(r, 0, HOP_f64, K(nin), false);
	rig_param(r, 1, HOP_f64, K(nout), true);
}

static int temporary(rig *r, enum hop_space in, int64_t n, int64_t at)
{
	hop_lfunc *f = r->b.f;
	int64_t    end = at + n * 8;

	if (in == HOP_SPACE_FRAME)
		r->f[0].frame = f->frame = K(end);
	if (in == HOP_SPACE_SHARED)
		f->shared = end;
	if (in == HOP_SPACE_SCRATCH)
		r->f[0].scratch = f->scratch = K(end);
	return hop_l_buf(&r->b, (hop_lbuf){ .kind = HOP_BUF_TEMP, .space = in, .dtype = HOP_f64,
	                                     .count = K(n),
	                                    .offset = K(at), .is_written = true });
}

static hop_stmt *shared_loop(rig *r, enum hop_loop_kind k, int64_t n, enum hop_place p)
{
	hop_stmt *s = rig_loop(r, k, K(n));

	s->bind.place = p & 7;
	return s;
}

static void barrier(rig *r, cut *c, enum hop_barrier b)
{
	if (c->n++ == c->leave)
		return;
	hop_l_stmt(&r->b, HOP_L_BARRIER)->callee = b;
}

static hop_reg load(rig *r, int buf, hop_reg i)
{
	return rig_load(r, HOP_f64, rig_at(buf, 0, i, K(1), 0));
}

static void store(rig *r, int buf, hop_reg i, hop_reg v)
{
	rig_store(r, HOP_f64, rig_at(buf, 0, i, K(1), 0), v);
}

static hop_reg number(rig *r, double v)
{
	return hop_l_constf(&r->b, HOP_f64, v);
}

/* (i + k) mod n of an i64 register below n */
static hop_reg beside(rig *r, hop_reg i, int64_t k, int64_t n)
{
	hop_reg j = rig_op2(r, HOP_SOP_add, HOP_i64, i, hop_l_consti(&r->b, HOP_i64, k));

	return rig_op2(r, HOP_SOP_rem, HOP_i64, j, hop_l_consti(&r->b, HOP_i64, n));
}

/* ---- kernels, and what they give ---- */

typedef void build_fn(rig *r, cut *c);
typedef void want_fn(const double *x, double *y);

/* Rows of 20: y = x - sum of the row; a block a row, blocks come and go, rows more than blocks. */
static void build_rows(rig *r, cut *c)
{
	start_kernel(r, 1, (hop_team){ .threads = 64, .blocks = { K(8) } });
	both_params(r, N, N);
	hop_stmt *row = shared_loop(r, HOP_LOOP_PAR, N / 20, HOP_PLACE_BLOCK_X);
	hop_reg   zero = number(r, 0);
	hop_stmt *l = shared_loop(r, HOP_LOOP_RED, 20, HOP_PLACE_THREAD);
	hop_reg   v = rig_load(r, HOP_f64, rig_at(0, 0, row->dst, K(20), l->dst, K(1), 0));
	rig_end(r);
	hop_reg sum = rig_acc(r, l, HOP_RED_add, HOP_f64, zero, v);
	l = shared_loop(r, HOP_LOOP_PAR, 20, HOP_PLACE_THREAD);
	v = rig_load(r, HOP_f64, rig_at(0, 0, row->dst, K(20), l->dst, K(1), 0));
	rig_store(r, HOP_f64, rig_at(1, 0, row->dst, K(20), l->dst, K(1), 0),
	          rig_op2(r, HOP_SOP_sub, HOP_f64, v, sum));
	rig_end(r);
	rig_end(r);
	(void)c;
}

static void want_rows(const double *x, double *y)
{
	for (int i = 0; i < N; i++) {
		double sum = 0;
		for (int k = 0; k < 20; k++)
			sum += x[i / 20 * 20 + k];
		y[i] = x[i] - sum;
	}
}

/* The same by warps, the sum through shared memory, a word a warp. */
static void build_warps(rig *r, cut *c)
{
	start_kernel(r, 1, (hop_team){ .threads = 64, .blocks = { K(2) } });
	both_params(r, N, N);
	int       to = temporary(r, HOP_SPACE_SHARED, 16, 0);
	hop_stmt *row = shared_loop(r, HOP_LOOP_PAR, N / 20, HOP_PLACE_WARP);
	hop_reg   zero = number(r, 0);
	hop_stmt *l = shared_loop(r, HOP_LOOP_RED, 20, HOP_PLACE_LANE);
	hop_reg   v = rig_load(r, HOP_f64, rig_at(0, 0, row->dst, K(20), l->dst, K(1), 0));
	rig_end(r);
	store(r, to, row->dst, rig_acc(r, l, HOP_RED_add, HOP_f64, zero, v));
	barrier(r, c, HOP_BARRIER_WARP);
	l = shared_loop(r, HOP_LOOP_PAR, 20, HOP_PLACE_LANE);
	v = rig_load(r, HOP_f64, rig_at(0, 0, row->dst, K(20), l->dst, K(1), 0));
	rig_store(r, HOP_f64, rig_at(1, 0, row->dst, K(20), l->dst, K(1), 0),
	          rig_op2(r, HOP_SOP_sub, HOP_f64, v, load(r, to, row->dst)));
	rig_end(r);
	rig_end(r);
}

/* Three steps of y[i] = y[i] / 2 + y[i + 1] with the state in `in`: two nests a step. */
static void build_steps(rig *r, cut *c, hop_team team, enum hop_space in, enum hop_place p,
                        enum hop_barrier w)
{
	start_kernel(r, 1, team);
	both_params(r, N, N);
	int       a = temporary(r, in, N, 0), b = temporary(r, in, N, 64 + (N * 8 + 63) / 64 * 64);
	hop_stmt *l = shared_loop(r, HOP_LOOP_PAR, N, p);
	store(r, a, l->dst, load(r, 0, l->dst));
	rig_end(r);
	barrier(r, c, w);
	rig_loop(r, HOP_LOOP_SEQ, K(3));
	l = shared_loop(r, HOP_LOOP_PAR, N, p);
	hop_reg v = rig_op2(r, HOP_SOP_mul, HOP_f64, load(r, a, l->dst), number(r, 0.5));
	store(r, b, l->dst, rig_op2(r, HOP_SOP_add, HOP_f64, v, load(r, a, beside(r, l->dst, 1, N))));
	rig_end(r);
	barrier(r, c, w);
	l = shared_loop(r, HOP_LOOP_PAR, N, p);
	store(r, a, l->dst, load(r, b, l->dst));
	rig_end(r);
	barrier(r, c, w);
	rig_end(r);
	l = shared_loop(r, HOP_LOOP_PAR, N, p);
	store(r, 1, l->dst, load(r, a, l->dst));
	rig_end(r);
}

static void want_steps(const double *x, double *y)
{
	double z[N];

	memcpy(y, x, sizeof z);
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < N; i++)
			z[i] = y[i] * 0.5 + y[(i + 1) % N];
		memcpy(y, z, sizeof z);
	}
}

static void build_block_steps(rig *r, cut *c)
{
	build_steps(r, c, (hop_team){ .threads = 96, .blocks = { K(1) } }, HOP_SPACE_SHARED,
	            HOP_PLACE_THREAD, HOP_BARRIER_BLOCK);
}

static void build_grid_steps(rig *r, cut *c)
{
	build_steps(r, c, (hop_team){ .threads = 32, .blocks = { K(7) }, .resident = true }, HOP_SPACE_FRAME,
	            HOP_PLACE_GRID, HOP_BARRIER_TEAM);
}

/* Parts of 25 by a block each; the last to come adds them by index. */
static void build_last(rig *r, cut *c)
{
	start_kernel(r, 1, (hop_team){ .threads = 64, .blocks = { K(8) }, .exact = true });
	both_params(r, N, 1);
	int       to = temporary(r, HOP_SPACE_SCRATCH, 8, 0);
	hop_stmt *part = shared_loop(r, HOP_LOOP_PAR, 8, HOP_PLACE_BLOCK_X);
	hop_reg   zero = number(r, 0);
	hop_stmt *l = shared_loop(r, HOP_LOOP_RED, 25, HOP_PLACE_THREAD);
	hop_reg   v = rig_load(r, HOP_f64, rig_at(0, 0, part->dst, K(25), l->dst, K(1), 0));
	rig_end(r);
	store(r, to, part->dst, rig_acc(r, l, HOP_RED_add, HOP_f64, zero, v));
	rig_end(r);
	barrier(r, c, HOP_BARRIER_LAST);
	zero = number(r, 0);
	l = shared_loop(r, HOP_LOOP_RED, 8, HOP_PLACE_THREAD);
	v = load(r, to, l->dst);
	rig_end(r);
	v = rig_acc(r, l, HOP_RED_add, HOP_f64, zero, v);
	rig_store(r, HOP_f64, rig_at(1, 0, 0), v);
}

static void want_sum(const double *x, double *y)
{
	y[0] = 0;
	for (int i = 0; i < N; i++)
		y[0] += x[i];
}

/* A scalar that all have is stored by one of them, and read by all; twice. */
static void build_together(rig *r, cut *c)
{
	start_kernel(r, 1, (hop_team){ .threads = 64, .blocks = { K(3) }, .resident = true });
	both_params(r, N, 1);
	int       to = temporary(r, HOP_SPACE_FRAME, 1, 0);
	hop_reg   zero = number(r, 0), v;
	hop_stmt *l = shared_loop(r, HOP_LOOP_RED, N, HOP_PLACE_GRID);
	v = load(r, 0, l->dst);
	rig_end(r);
	v = rig_acc(r, l, HOP_RED_add, HOP_f64, zero, v);
	rig_store(r, HOP_f64, rig_at(to, 0, 0), rig_op2(r, HOP_SOP_mul, HOP_f64, v, number(r, 2)));
	barrier(r, c, HOP_BARRIER_TEAM);
	v = rig_load(r, HOP_f64, rig_at(to, 0, 0));
	barrier(r, c, HOP_BARRIER_TEAM);
	rig_store(r, HOP_f64, rig_at(to, 0, 0), rig_op2(r, HOP_SOP_mul, HOP_f64, v, number(r, 0.5)));
	barrier(r, c, HOP_BARRIER_TEAM);
	rig_store(r, HOP_f64, rig_at(1, 0, 0), rig_load(r, HOP_f64, rig_at(to, 0, 0)));
}

/* Four iterations a thread at once: whatever they are, each is run once. */
static void build_map(rig *r, cut *c)
{
	start_kernel(r, 1, (hop_team){ .threads = 32, .blocks = { K(2), K(2) }, .exact = true });
	both_params(r, N, N);
	hop_stmt *row = shared_loop(r, HOP_LOOP_PAR, 2, HOP_PLACE_BLOCK_Y);
	hop_stmt *l = shared_loop(r, HOP_LOOP_PAR, N / 2, HOP_PLACE_GRID);
	l->bind.each = 4;
	hop_reg v = rig_load(r, HOP_f64, rig_at(0, 0, row->dst, K(N / 2), l->dst, K(1), 0));
	rig_store(r, HOP_f64, rig_at(1, 0, row->dst, K(N / 2), l->dst, K(1), 0),
	          rig_op2(r, HOP_SOP_add, HOP_f64, v, v));
	rig_end(r);
	rig_end(r);
	(void)c;
}

static void want_map(const double *x, double *y)
{
	for (int i = 0; i < N; i++)
		y[i] = 2 * x[i];
}

/* What a kernel calls together, on a part of its frame. */
static void build_called(rig *r, cut *c)
{
	start_kernel(r, 1, (hop_team){ .threads = 64, .blocks = { K(1) } });
	both_params(r, N, N);
	int       to = temporary(r, HOP_SPACE_FRAME, N, 0);
	hop_stmt *s = hop_l_stmt(&r->b, HOP_L_CALL);
	s->callee = 2;
	s->narg = 2;
	s->nacc = 1;
	s->frame = K(N * 8);
	s->args = HOP_NEWN(&r->a, hop_addr, 2);
	s->args[0] = rig_at(0, 0, 0);
	s->args[1] = rig_at(to, 0, 0);
	barrier(r, c, HOP_BARRIER_BLOCK);
	hop_stmt *l = shared_loop(r, HOP_LOOP_PAR, N, HOP_PLACE_THREAD);
	store(r, 1, l->dst, load(r, to, l->dst));
	rig_end(r);
	r->f[0].frame = r->f[1].frame = K(N * 16);
	rig_func(r, 2, 1, 1, 0);
	r->f[2].level = HOP_LEVEL_TEAM;
	r->f[2].frame = K(N * 8);
	both_params(r, N, N);
	l = shared_loop(r, HOP_LOOP_PAR, N, HOP_PLACE_THREAD);
	hop_reg v = load(r, 0, beside(r, l->dst, 1, N));
	store(r, 1, beside(r, l->dst, 1, N), rig_op2(r, HOP_SOP_add, HOP_f64, v, v));
	rig_end(r);
}

static const struct kernel { const char *name; build_fn *build; want_fn *want; int ny; } kernels[] = {
	{ "rows",        build_rows,        want_rows,  N },
	{ "warps",       build_warps,       want_rows,  N },
	{ "block steps", build_block_steps, want_steps, N },
	{ "grid steps",  build_grid_steps,  want_steps, N },
	{ "last",        build_last,        want_sum,   1 },
	{ "together",    build_together,    want_sum,   1 },
	{ "map",         build_map,         want_map,   N },
	{ "called",      build_called,      want_map,   N },
};

/* Builds it without barrier `leave` and runs it: what the runner says. */
static int run_one(const struct kernel *k, int leave, unsigned seed, cut *out_c, char *why)
{
	double      x[N], y[N], want[N];
	const char *said = "";
	rig         R, *r = &R;
	int         rc;

	*out_c = (cut){ .leave = leave };
	k->build(r, out_c);
	r->p.nfunc = r->f[2].name ? 3 : 2;
	assert_int_equal(hop_prog_verify(&r->e, &r->p), HOP_OK);
	for (int i = 0; i < N; i++)
		x[i] = i % 17 * 0.25, y[i] = -1;
	rc = hop_team_run(&r->e, &r->p, (void *[]){ x, y }, NULL, NULL, NULL,
	                  &(hop_team_opts){ .seed = seed }, &said);
	snprintf(why, 256, "%s", said);
	k->want(x, want);
	for (int i = 0; i < k->ny && !rc; i++)
		if (y[i] != want[i])
			fail_msg("%s: element %d is %g, not %g", k->name, i, y[i], want[i]);
	rig_down(r);
	return rc;
}

static void test_right(void **state)
{
	char why[256];
	cut  c;

	(void)state;
	for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
		for (unsigned seed = 0; seed < SEEDS; seed++)
			if (run_one(&kernels[k], -1, seed, &c, why))
				fail_msg("%s: %s", kernels[k].name, why);
}

static void test_left_out(void **state)
{
	char why[256];
	cut  c = { .n = 1 };
	int  n = 0;

	(void)state;
	for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
		c.n = 0;
		run_one(&kernels[k], -1, 0, &c, why);
		for (int leave = 0, all = c.n; leave < all; leave++, n++)
			for (unsigned seed = 0; seed < SEEDS; seed++) {
				if (!run_one(&kernels[k], leave, seed, &c, why))
					fail_msg("%s without barrier %d was not caught", kernels[k].name, leave);
				if (!strstr(why, "race on b") && !strstr(why, "come and go"))
					fail_msg("%s without barrier %d: %s", kernels[k].name, leave, why);
			}
	}
	assert_int_equal(n, 12);
}

/* ---- what is wrong in other ways ---- */

static void expect(rig *r, const char *what)
{
	double      x[N] = { 0 }, y[N];
	const char *why = "";

	r->p.nfunc = 2;
	assert_int_equal(hop_team_run(&r->e, &r->p, (void *[]){ x, y }, NULL, NULL, NULL, NULL, &why), -1);
	if (!strstr(why, what))
		fail_msg("'%s', not '%s'", why, what);
	rig_down(r);
}

/* Threads that find different numbers in what is their own part at a barrier. */
static void test_diverge(void **state)
{
	rig R, *r = &R;
	cut c = { .leave = -1 };

	(void)state;
	start_kernel(r, 1, (hop_team){ .threads = 64, .blocks = { K(1) } });
	both_params(r, N, N);
	int       own = temporary(r, HOP_SPACE_LOCAL, 1, 0);
	hop_stmt *l = shared_loop(r, HOP_LOOP_PAR, 64, HOP_PLACE_THREAD);
	rig_store(r, HOP_f64, rig_at(own, 0, 0), rig_op1(r, HOP_SOP_cast, HOP_f64, l->dst));
	rig_end(r);
	hop_reg   v = rig_load(r, HOP_f64, rig_at(own, 0, 0));
	hop_reg   p = rig_op2(r, HOP_SOP_lt, HOP_bool, v, number(r, 5));
	hop_stmt *s = hop_l_stmt(&r->b, HOP_L_IF);
	s->a[0] = p;
	rig_into(r, &s->body);
	barrier(r, &c, HOP_BARRIER_BLOCK);
	rig_end(r);
	expect(r, "not all threads reach");
}

static void test_bounds(void **state)
{
	rig R, *r = &R;

	(void)state;
	start_kernel(r, 1, (hop_team){ .threads = 32, .blocks = { K(1) } });
	both_params(r, N, N);
	hop_stmt *l = shared_loop(r, HOP_LOOP_PAR, N + 1, HOP_PLACE_GRID);
	store(r, 1, l->dst, number(r, 1));
	rig_end(r);
	expect(r, "out of bounds");
}

/* Blocks that all run the same loop of their threads write the same elements. */
static void test_twice(void **state)
{
	rig R, *r = &R;

	(void)state;
	start_kernel(r, 1, (hop_team){ .threads = 32, .blocks = { K(2) }, .exact = true });
	both_params(r, N, N);
	hop_stmt *l = shared_loop(r, HOP_LOOP_PAR, N, HOP_PLACE_THREAD);
	store(r, 1, l->dst, number(r, 1));
	rig_end(r);
	expect(r, "race on b1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right), cmocka_unit_test(test_left_out), cmocka_unit_test(test_diverge),
		cmocka_unit_test(test_bounds), cmocka_unit_test(test_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
