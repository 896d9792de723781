/* transform_test.c -- transforms on top of the four: inside bodies, inside each other and inside
 * loops, with chunks, names and no elements; and what each refuses. Numbers of torch.func are in
 * torch_transforms_test.c. */
#include "device_rig.h"
#include "trace_rig.h"

#include "transform_bodies.h"

static const int both[2] = { 0, 1 };

static void must(hop_status st)
{
	if (st)
		fail_msg("status %d: %s", (int)st, hop_message(ctx));
}

static void near(const char *what, const double *want, int64_t n, const hop_array *got)
{
	if (hop_array_count(got) != n)
		fail_msg("%s: %d elements, not %d", what, (int)hop_array_count(got), (int)n);
	for (int64_t i = 0; i < n; i++)
		if (!(fabs(hop_array_at(got, i) - want[i]) <= 1e-10 * (1 + fabs(want[i]))))
			fail_msg("%s: element %d is %.17g, not %.17g", what, (int)i, hop_array_at(got, i),
			         want[i]);
}

static void let_go(int n, hop_array **a)
{
	for (int i = 0; i < n; i++)
		hop_array_release(a[i]);
}

/* ---- inside bodies, beside PyTorch ---- */

/* x, a, vx, va -> all of it. */
static void inside(hop_trace *t, const hop_value *in, void *user)
{
	hop_value j[3], k[3], h[8], p[6], q[6], y[1], ly[1];
	hop_linear *lin;
	hop_jacrev_at(t, tensor_body, user, 2, in, 2, both, NULL, 3, j);
	hop_jacfwd_at(t, tensor_body, user, 2, in, 2, both, HOP_JAC_OPTS(.chunk = 2), 3, k);
	hop_hessian_at(t, loss_body, user, 2, in, 2, both, NULL, 8, h);
	hop_hvp_at(t, loss_body, user, 2, in, 2, both, in + 2, 6, p);
	hop_vhp_at(t, loss_body, user, 2, in, 2, both, in + 2, 6, q);
	hop_linearize_at(t, tensor_body, user, 2, in, 2, both, 1, y, &lin);
	hop_linear_apply(t, lin, 2, in + 2, 1, ly);
	hop_return(t, j[1], j[2], k[1], k[2], h[4], h[5], h[6], h[7], p[4], p[5], q[4], q[5], ly[0]);
}

enum { NINSIDE = 13 };

static void inside_bodies(void **state)
{
	const int64_t dim[2] = { 2, 3 };
	hop_spec s[4] = { hop_spec1(HOP_f64, 3), hop_spec2(HOP_f64, 2, 3), hop_spec1(HOP_f64, 3),
	                  hop_spec2(HOP_f64, 2, 3) };
	(void)state;
	for (int c = 0; c < NCASE; c++) {
		const struct torch_transform *w = cases[c].want;
		const double *want[NINSIDE] = { w->jx, w->ja, w->fx, w->fa, w->hxx, w->hxa, w->hax, w->haa,
		                                w->hvx, w->hva, w->vhx, w->vha, w->ly };
		int64_t n[NINSIDE] = { 3 * w->ny, 6 * w->ny, 3 * w->ny, 6 * w->ny, 9, 18, 18, 36, 3, 6, 3, 6,
		                       w->ny };
		hop_array *in[4] = { vec(3, w->x), array(HOP_f64, 2, dim, w->a), vec(3, w->vx),
		                     array(HOP_f64, 2, dim, w->va) }, *out[NINSIDE];
		hop_fn *f;
		void *user = (void *)(uintptr_t)&cases[c];
		must(hop_capture(ctx, inside, user, 4, s, &f));
		for (int way = 0; way < 3; way++) {            /* compiled, interpreted, eager */
			if (way < 2)
				must(hop_call_with(f, 4, in, NINSIDE, out, HOP_RUN_OPTS(.interpret = way)));
			else
				must(hop_eager_call(ctx, inside, user, 4, in, NINSIDE, out));
			for (int i = 0; i < NINSIDE; i++)
				near(w->name, want[i], n[i], out[i]);
			let_go(NINSIDE, out);
		}
		hop_fn_release(f);
		let_go(4, in);
	}
}

/* ---- in loops and under each other ---- */

/* 100 (x1 - x0^2)^2 + (1 - x0)^2 */
static void valley(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value x = in[0];
	hop_return(t, HOP_E(t, "100 * (x[1] - x[0] * x[0]) ** 2 + (1 - x[0]) ** 2", x));
}

/* Newton's method: in each trip the step is solved by conjugate gradients, which ask for H p only. */
static void newton_cg(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], g = hop_mulf(t, x, 0), out[3];
	const int wrt = 0;
	(void)user;
	g = hop_addf(t, g, 1);
	HOP_WHILE(t, HOP_E(t, "sum(g * g) > 1e-24", g), x, g) {
		hop_value v = g, d, r, p, rr;
		hop_hvp_at(t, valley, NULL, 1, &x, 1, &wrt, &v, 3, out);
		r = hop_neg(t, out[1]);
		d = hop_mulf(t, r, 0);
		p = r;
		rr = HOP_E(t, "sum(r * r)", r);
		HOP_FOR(t, i, 2, d, r, p, rr) {
			hop_hvp_at(t, valley, NULL, 1, &x, 1, &wrt, &p, 3, out);
			hop_value hp = out[2], al = HOP_E(t, "rr / (sum(p * hp) + 1e-300)", rr, p, hp);
			d = HOP_E(t, "d + al * p", d, al, p);
			r = HOP_E(t, "r - al * hp", r, al, hp);
			hop_value now = HOP_E(t, "sum(r * r)", r);
			p = HOP_E(t, "r + now / (rr + 1e-300) * p", r, now, rr, p);
			rr = now;
		}
		x = hop_add(t, x, d);
		hop_grad_at(t, valley, NULL, 1, &x, 1, &wrt, 2, out);
		g = out[1];
		hop_bound(t, 50);
	}
	hop_return(t, x);
}

static void hvp_in_a_while(void **state)
{
	const double x[2] = { -1.2, 1 }, want[2] = { 1, 1 };
	struct rig r = { .f = newton_cg, .nin = 1, .nout = 1, .in = { vec(2, x) }, .want = { want },
	                 .n = { 2 } };
	(void)state;
	rig_run(&r);
}

/* y0 = x0 x1 s, y1 = sin x0 */
static void pair_body(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value a = HOP_E(t, "x[0:1] * x[1:2] * s", HOP_AS(x, in[0]), HOP_AS(s, in[1]));
	hop_value b = HOP_E(t, "sin(x[0:1])", HOP_AS(x, in[0]));
	hop_return(t, hop_concat(t, 2, (hop_value[]){ a, b }, 0));
}

/* The product of the Jacobians at s = 1, 2, 3 along a scan. */
static void jac_in_scan(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], m = in[1], ss = in[2], out[2];
	const int wrt = 0;
	(void)user;
	HOP_FOR(t, i, 3, m) {
		hop_value a[2] = { x, hop_take(t, ss, i) };
		hop_jacrev_at(t, pair_body, NULL, 2, a, 1, &wrt, NULL, 2, out);
		m = HOP_E(t, "j @ m", HOP_AS(j, out[1]), m);
	}
	hop_return(t, m);
}

static void jacobian_in_a_scan(void **state)
{
	const double x[2] = { 0.7, -0.4 }, one[4] = { 1, 0, 0, 1 }, s[3] = { 1, 2, 3 };
	const int64_t dim[2] = { 2, 2 };
	double m[4] = { 1, 0, 0, 1 };
	(void)state;
	for (int i = 0; i < 3; i++) {
		double j[4] = { x[1] * s[i], x[0] * s[i], cos(x[0]), 0 }, n[4];
		for (int a = 0; a < 2; a++)
			for (int b = 0; b < 2; b++)
				n[2 * a + b] = j[2 * a] * m[b] + j[2 * a + 1] * m[2 + b];
		memcpy(m, n, sizeof m);
	}
	struct rig r = { .f = jac_in_scan, .nin = 3, .nout = 1, .want = { m }, .n = { 4 },
	                 .in = { vec(2, x), array(HOP_f64, 2, dim, one), vec(3, s) } };
	rig_run(&r);
}

static void valley_hessian(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[3];
	(void)user;
	hop_hessian_at(t, valley, NULL, 1, in, 1, both, NULL, 3, out);
	hop_return(t, out[2]);
}

/* Lanes are columns; Hessians come out with the lanes in the middle. */
static void many_hessians(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1];
	hop_vmap_with_at(t, valley_hessian, NULL, 1, in,
	                 HOP_VMAP_OPTS(.in = (int[]){ 1 }, .nout = 1, .out = (int[]){ 1 },
	                               .chunk = *(int *)user), 1, out);
	hop_return(t, out[0]);
}

static void hessian_under_vmap(void **state)
{
	const double x[6] = { 0.5, -1, 2, 0.25, 1, -0.5 };             /* [2, 3] */
	double want[12];
	const int64_t dim[2] = { 2, 3 };
	(void)state;
	for (int l = 0; l < 3; l++) {
		double a = x[l], b = x[3 + l];
		want[l * 2] = 1200 * a * a - 400 * b + 2;
		want[l * 2 + 1] = want[6 + l * 2] = -400 * a;
		want[6 + l * 2 + 1] = 200;
	}
	for (int chunk = 0; chunk < 5; chunk++) {
		struct rig r = { .f = many_hessians, .user = &chunk, .nin = 1, .nout = 1, .want = { want },
		                 .n = { 12 }, .in = { array(HOP_f64, 2, dim, x) } };
		rig_run(&r);
	}
}

/* The gradient of what contains a Jacobian: sum of squares of J, by x. */
static void norm_of_jacobian(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2];
	(void)user;
	hop_jacfwd_at(t, pair_body, NULL, 2, in, 1, both, NULL, 2, out);
	hop_return(t, HOP_E(t, "sum(j * j)", HOP_AS(j, out[1])));
}

static void gradient_of_a_jacobian(void **state)
{
	const double x[2] = { 0.7, -0.4 }, s = 1.5;
	const double want[2] = { 2 * x[0] * s * s - 2 * sin(x[0]) * cos(x[0]), 2 * x[1] * s * s };
	hop_spec spec[2] = { hop_spec1(HOP_f64, 2), hop_spec0(HOP_f64) };
	hop_array *in[2] = { vec(2, x), num(s) }, *out[2];
	hop_fn *f, *g;
	(void)state;
	must(hop_capture(ctx, norm_of_jacobian, NULL, 2, spec, &f));
	must(hop_grad(f, 1, both, &g));
	for (int way = 0; way < 2; way++) {
		must(hop_call_with(g, 2, in, 2, out, HOP_RUN_OPTS(.interpret = way)));
		near("gradient of a Jacobian", want, 2, out[1]);
		let_go(2, out);
	}
	let_go(2, in);
	hop_fn_release(f);
	hop_fn_release(g);
}

/* The derivative of one point, applied in a loop inside: v <- J v, k times. */
static void apply_often(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y[1], v = in[1], d[1];
	hop_linear *lin;
	hop_value at[2] = { in[0], hop_scalar(t, HOP_f64, 2) };
	(void)user;
	hop_linearize_at(t, pair_body, NULL, 2, at, 1, both, 1, y, &lin);
	HOP_FOR(t, i, 3, v) {
		hop_linear_apply(t, lin, 1, &v, 1, d);
		v = d[0];
	}
	hop_return(t, v, y[0]);
}

static void linear_in_a_loop(void **state)
{
	const double x[2] = { 0.7, -0.4 }, v[2] = { 1, 0.5 };
	double a = v[0], b = v[1], y[2] = { x[0] * x[1] * 2, sin(x[0]) };
	(void)state;
	for (int i = 0; i < 3; i++) {
		double n = 2 * (x[1] * a + x[0] * b);
		b = cos(x[0]) * a;
		a = n;
	}
	const double want[2] = { a, b };
	struct rig r = { .f = apply_often, .nin = 2, .nout = 2, .in = { vec(2, x), vec(2, v) },
	                 .want = { want, y }, .n = { 2, 2 } };
	rig_run(&r);
}

/* ---- symbolic sizes, and none at all ---- */

/* y = x * sum(x), and its length as aux. */
static void grown(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], hop_sum_all(t, in[0])), hop_size_of(t, in[0], 0));
}

static void any_size(void **state)
{
	const double x[3] = { 1, -2, 3 };
	hop_spec s = hop_spec_of(HOP_f64, 1, (const int64_t[]){ 0 });
	hop_fn *f, *j[4];
	(void)state;
	s.sym[0] = "n";
	must(hop_capture(ctx, grown, NULL, 1, &s, &f));
	for (int k = 0; k < 4; k++)
		must((k & 1 ? hop_jacfwd : hop_jacrev)(f, 1, both, HOP_JAC_OPTS(.chunk = k & 2), &j[k]));
	for (int64_t n = 0; n <= 3; n++)
		for (int k = 0; k < 8; k++) {
			double want[9], sum = 0;
			hop_array *in = vec(n, x), *out[3];
			for (int i = 0; i < n; i++)
				sum += x[i];
			for (int a = 0; a < n; a++)
				for (int b = 0; b < n; b++)
					want[a * n + b] = x[a] + (a == b ? sum : 0);
			must(hop_call_with(j[k / 2], 1, &in, 3, out, HOP_RUN_OPTS(.interpret = k & 1)));
			assert_int_equal((int)hop_array_at(out[1], 0), (int)n);
			assert_int_equal(hop_array_rank(out[2]), 2);
			near("any size", want, n * n, out[2]);
			let_go(3, out);
			hop_array_release(in);
		}
	for (int k = 0; k < 4; k++)
		hop_fn_release(j[k]);
	hop_fn_release(f);
}

/* Lanes in chunks are lanes; of none, too. */
static void chunks(void **state)
{
	double x[21];
	hop_spec s[2] = { hop_spec1(HOP_f64, 3), hop_spec2(HOP_f64, 2, 3) };
	hop_fn *f, *all, *some;
	(void)state;
	for (int i = 0; i < 21; i++)
		x[i] = sin(i + 1.0);
	must(hop_capture(ctx, tensor_body, (void *)(uintptr_t)&cases[1], 2, s, &f));
	must(hop_vmap(f, (const bool[]){ true, false }, -1, &all));
	for (int chunk = 1; chunk < 9; chunk++) {
		must(hop_vmap_with(f, HOP_VMAP_OPTS(.nin = 2, .in = (int[]){ 0, -1 }, .chunk = chunk), &some));
		for (int64_t n = 0; n <= 7; n += 7) {
			const int64_t dim[2] = { n, 3 }, adim[2] = { 2, 3 };
			hop_array *in[2] = { array(HOP_f64, 2, dim, x), array(HOP_f64, 2, adim, x) }, *y, *z;
			must(hop_call(all, 2, in, 1, &y));
			must(hop_call(some, 2, in, 1, &z));
			assert_int_equal(hop_array_count(y), 2 * n);
			assert_int_equal(hop_array_count(z), 2 * n);
			for (int64_t i = 0; i < 2 * n; i++)
				assert_true(fabs(hop_array_at(y, i) - hop_array_at(z, i)) < 1e-14);
			hop_array_release(y);
			hop_array_release(z);
			let_go(2, in);
		}
		hop_fn_release(some);
	}
	hop_fn_release(all);
	hop_fn_release(f);
}

/* sum(tanh(A A)) with A = x x': 32 KiB of intermediate values for 64 numbers. */
static void wide(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value a = HOP_E(t, "outer(x, x)", HOP_AS(x, in[0]));
	hop_return(t, HOP_E(t, "sum(tanh(a @ a) @ a)", a));
}

/* The workspace of f, which has no size symbols. */
static int64_t workspace(hop_fn *f)
{
	hop_exec *x;
	hop_arg in[2] = { { .data = NULL }, { .data = NULL } };
	must(hop_compile(f, HOP_COMPILE_OPTS(.threads = 1), &x));
	int64_t n = hop_exec_workspace(x, in);
	hop_exec_release(x);
	return n;
}

/* In chunks the memory is that of a chunk. */
static void chunks_bound_memory(void **state)
{
	enum { LANES = 128 };
	hop_spec s = hop_spec1(HOP_f64, 64);
	hop_fn *f, *all, *some, *full, *part;
	(void)state;
	NOT_ON_A_DEVICE("the workspace of this process is not what a program has there");
	must(hop_capture(ctx, wide, NULL, 1, &s, &f));
	must(hop_vmap(f, (const bool[]){ true }, LANES, &all));
	must(hop_vmap_with(f, HOP_VMAP_OPTS(.nin = 1, .in = &(int){ 0 }, .n = LANES, .chunk = 4), &some));
	int64_t a = workspace(all), b = workspace(some);
	if (!(a > 8 * b && b > 0))
		fail_msg("vmap: %lld bytes at once, %lld in chunks", (long long)a, (long long)b);
	must(hop_hessian(f, 1, both, NULL, &full));
	must(hop_hessian(f, 1, both, HOP_JAC_OPTS(.chunk = 2), &part));
	a = workspace(full);
	b = workspace(part);
	if (!(a > 4 * b && b > 0))
		fail_msg("hessian: %lld bytes at once, %lld in chunks", (long long)a, (long long)b);
	hop_fn_release(f);
	hop_fn_release(all);
	hop_fn_release(some);
	hop_fn_release(full);
	hop_fn_release(part);
}

/* ---- names ---- */

struct line { hop_value w, b; };
static const hop_field_name line_fields[] = { { "w", NULL, 0, "f64[2]" }, { "b", NULL, 0, "f64" } };
HOP_TREE_OF(line_tree, struct line, line_fields);

static void line_loss(hop_trace *t, const hop_value *in, void *user)
{
	const struct line *p = HOP_IN(struct line, in);
	(void)user;
	hop_return_named(t, "loss, w2", HOP_E(t, "sum(w * w) * b", HOP_AS(w, p->w), HOP_AS(b, p->b)),
	                 hop_mul(t, p->w, p->w));
}

static void has_names(hop_fn *f, int n, const char *const *name)
{
	assert_int_equal(hop_fn_nout(f), n);
	for (int i = 0; i < n; i++)
		assert_string_equal(hop_fn_result_name(f, i), name[i]);
	hop_fn_release(f);
}

static void names(void **state)
{
	static const char *const jac[] = { "loss", "w2", "jac.w", "jac.b" };
	static const char *const two[] = { "loss", "w2", "jac.loss.w", "jac.w2.w" };
	static const char *const hes[] = { "loss", "w2", "grad.w", "grad.b", "hessian.w.w",
	                                   "hessian.w.b", "hessian.b.w", "hessian.b.b" };
	static const char *const hvp[] = { "loss", "w2", "grad.b", "hvp.b" };
	static const char *const lin[] = { "tangent.loss", "tangent.w2" };
	hop_fn *f, *g, *h;
	(void)state;
	must(hop_capture_tree(ctx, line_loss, NULL, &line_tree, NULL, &f));
	must(hop_jacrev(f, 2, both, NULL, &g));
	has_names(g, 4, jac);
	must(hop_jacfwd(f, 1, both, HOP_JAC_OPTS(.results = 2), &g));
	has_names(g, 4, two);
	must(hop_hessian(f, 2, both, NULL, &g));
	has_names(g, 8, hes);
	must(hop_hvp(f, 1, both + 1, &g));
	assert_string_equal(hop_fn_input_name(g, 2), "tangent.b");
	has_names(g, 4, hvp);
	must(hop_linearize(f, 1, both, &g, &h));
	assert_string_equal(hop_fn_input_name(h, hop_fn_nin(h) - 1), "tangent.w");
	has_names(h, 2, lin);
	hop_fn_release(g);
	hop_fn_release(f);
}

/* ---- jits ---- */

static void jits(void **state)
{
	const struct torch_transform *w = cases[0].want;
	const int64_t dim[2] = { 2, 3 }, lanes[2] = { 3, TORCH_LANES };
	hop_array *in[4] = { vec(3, w->x), array(HOP_f64, 2, dim, w->a), vec(3, w->vx),
	                     array(HOP_f64, 2, dim, w->va) }, *out[8];
	void *user = (void *)(uintptr_t)&cases[0];
	hop_jit *j, *loss, *d;
	(void)state;
	must(hop_jit_new(ctx, tensor_body, user, NULL, &j));
	must(hop_jit_new(ctx, loss_body, user, NULL, &loss));
	for (int fwd = 0; fwd < 2; fwd++) {
		must((fwd ? hop_jit_jacfwd : hop_jit_jacrev)(j, 2, both, HOP_JAC_OPTS(.chunk = 2), &d));
		must(hop_jit_call(d, 2, in, 3, out));
		near("jit jac", w->jx, 3 * w->ny, out[1]);
		near("jit jac", w->ja, 6 * w->ny, out[2]);
		let_go(3, out);
		hop_jit_release(d);
		must((fwd ? hop_jit_hvp : hop_jit_vhp)(loss, 2, both, &d));
		must(hop_jit_call(d, 4, in, 6, out));
		near("jit hvp", w->hvx, 3, out[4]);
		near("jit hvp", w->hva, 6, out[5]);
		let_go(6, out);
		assert_int_equal(hop_jit_call(d, 1, in, 6, out), HOP_EUSE);
		assert_non_null(strstr(hop_message(ctx), "a vector for each in wrt"));
		hop_jit_release(d);
	}
	must(hop_jit_hessian(loss, 2, both, NULL, &d));
	must(hop_jit_call(d, 2, in, 8, out));
	near("jit hessian", w->haa, 36, out[7]);
	let_go(8, out);
	hop_jit_release(d);
	must(hop_jit_vmap_with(j, HOP_VMAP_OPTS(.nin = 2, .in = (int[]){ 1, -1 }, .nout = 1,
	                                        .out = (int[]){ 1 }, .chunk = 3), &d));
	hop_array *xs[2] = { array(HOP_f64, 2, lanes, w->xs), in[1] };
	must(hop_jit_call(d, 2, xs, 1, out));
	near("jit vmap", w->lanes, w->ny * TORCH_LANES, out[0]);
	hop_array_release(out[0]);
	assert_int_equal(hop_jit_call(d, 2, in, 1, out), HOP_ESHAPE);
	assert_non_null(strstr(hop_message(ctx), "lanes are on axis 1"));
	hop_array_release(xs[0]);
	hop_jit_release(d);
	hop_jit_release(j);
	hop_jit_release(loss);
	let_go(4, in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inside_bodies), cmocka_unit_test(hvp_in_a_while),
		cmocka_unit_test(jacobian_in_a_scan), cmocka_unit_test(hessian_under_vmap),
		cmocka_unit_test(gradient_of_a_jacobian), cmocka_unit_test(linear_in_a_loop),
		cmocka_unit_test(any_size), cmocka_unit_test(chunks),
		cmocka_unit_test(chunks_bound_memory), cmocka_unit_test(names),
		cmocka_unit_test(jits),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
