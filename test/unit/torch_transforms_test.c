/* Transforms of functions with control flow in them beside those of torch.func, which are in
 * test/data/transforms.h: compiled and interpreted, to 1e-10. It does not run PyTorch. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "transform_bodies.h"

static hop_ctx *ctx;
static const int both[2] = { 0, 1 };

static int up(void **state)
{
	(void)state;
	return hop_ctx_new(NULL, &ctx) != HOP_OK;
}

static int down(void **state)
{
	(void)state;
	hop_ctx_free(ctx);
	return 0;
}

static void must(hop_status st)
{
	if (st)
		fail_msg("status %d: %s", (int)st, hop_message(ctx));
}

static hop_array *array(int rank, const int64_t *dim, const double *v)
{
	hop_array *a;
	must(hop_array_new(ctx, HOP_f64, rank, dim, v, &a));
	return a;
}

static void near(const char *name, const char *what, const double *want, const hop_array *got)
{
	assert_true(hop_array_count(got) > 0);
	for (int64_t i = 0; i < hop_array_count(got); i++) {
		double g = hop_array_at(got, i);
		if (!(fabs(g - want[i]) <= 1e-10 * (1 + fabs(want[i]))))
			fail_msg("%s: %s: element %d is %.17g, expected %.17g", name, what, (int)i, g, want[i]);
	}
}

enum { MAX = 40 };

/* Call f both ways; result k must be want[k], unless that is NULL. */
static void compare(const struct torch_transform *w, const char *what, hop_fn *f, int nin,
                    hop_array *const *in, int nout, const double *const *want)
{
	hop_array *out[MAX];
	char text[100];
	assert_int_equal(hop_fn_nin(f), nin);
	assert_int_equal(hop_fn_nout(f), nout);
	for (int way = 0; way < 2; way++) {
		must(hop_call_with(f, nin, in, nout, out, HOP_RUN_OPTS(.interpret = way)));
		for (int k = 0; k < nout; k++) {
			snprintf(text, sizeof text, "%s %s, result %d", way ? "interpreted" : "compiled", what, k);
			if (want[k])
				near(w->name, text, want[k], out[k]);
			hop_array_release(out[k]);
		}
	}
}

/* What a case is called with: x, a, vx, va. */
struct given {
	const struct torch_transform *w;
	hop_fn    *y, *loss;
	hop_array *in[4];
};

static struct given open_case(const struct transform_case *c)
{
	const int64_t dim[2] = { 2, 3 };
	hop_spec spec[2] = { hop_spec1(HOP_f64, 3), hop_spec2(HOP_f64, 2, 3) };
	struct given g = { .w = c->want };
	void *user = (void *)(uintptr_t)c;
	g.in[0] = array(1, dim + 1, c->want->x);
	g.in[1] = array(2, dim, c->want->a);
	g.in[2] = array(1, dim + 1, c->want->vx);
	g.in[3] = array(2, dim, c->want->va);
	must(hop_capture(ctx, tensor_body, user, 2, spec, &g.y));
	must(hop_capture(ctx, loss_body, user, 2, spec, &g.loss));
	return g;
}

static void close_case(struct given *g)
{
	for (int i = 0; i < 4; i++)
		hop_array_release(g->in[i]);
	hop_fn_release(g->y);
	hop_fn_release(g->loss);
}

static void test_jacobians(void **state)
{
	(void)state;
	for (int k = 0; k < NCASE; k++) {
		struct given g = open_case(&cases[k]);
		const double *rev[3] = { g.w->y, g.w->jx, g.w->ja }, *fwd[3] = { g.w->y, g.w->fx, g.w->fa };
		hop_fn *f;
		for (int chunk = 0; chunk < 5; chunk += 2) {
			must(hop_jacrev(g.y, 2, both, HOP_JAC_OPTS(.chunk = chunk), &f));
			compare(g.w, "jacrev", f, 2, g.in, 3, rev);
			hop_fn_release(f);
			must(hop_jacfwd(g.y, 2, both, HOP_JAC_OPTS(.chunk = chunk), &f));
			compare(g.w, "jacfwd", f, 2, g.in, 3, fwd);
			hop_fn_release(f);
		}
		close_case(&g);
	}
}

static void test_hessians(void **state)
{
	(void)state;
	for (int k = 0; k < NCASE; k++) {
		struct given g = open_case(&cases[k]);
		const struct torch_transform *w = g.w;
		const double *want[8] = { w->loss, w->y, w->gx, w->ga, w->hxx, w->hxa, w->hax, w->haa };
		hop_fn *f;
		must(hop_hessian(g.loss, 2, both, NULL, &f));
		compare(w, "hessian", f, 2, g.in, 8, want);
		hop_fn_release(f);
		must(hop_hessian(g.loss, 2, both, HOP_JAC_OPTS(.chunk = 2), &f));
		compare(w, "hessian in chunks", f, 2, g.in, 8, want);
		hop_fn_release(f);
		close_case(&g);
	}
}

/* Products with vectors; the value, the gradients and y as what comes along. */
static void test_products(void **state)
{
	const int turned[2] = { 1, 0 };
	(void)state;
	for (int k = 0; k < NCASE; k++) {
		struct given g = open_case(&cases[k]);
		const struct torch_transform *w = g.w;
		const double *hv[6] = { w->loss, w->y, w->gx, w->ga, w->hvx, w->hva };
		const double *vh[6] = { w->loss, w->y, w->ga, w->gx, w->vha, w->vhx };
		hop_array *other[4] = { g.in[0], g.in[1], g.in[3], g.in[2] };
		hop_fn *f;
		must(hop_grad(g.loss, 2, both, &f));
		compare(w, "grad", f, 2, g.in, 4, hv);
		hop_fn_release(f);
		must(hop_hvp(g.loss, 2, both, &f));
		compare(w, "hvp", f, 4, g.in, 6, hv);
		hop_fn_release(f);
		must(hop_vhp(g.loss, 2, turned, &f));          /* in the order that was asked for */
		compare(w, "vhp", f, 4, other, 6, vh);
		hop_fn_release(f);
		close_case(&g);
	}
}

static void test_linearize(void **state)
{
	(void)state;
	for (int k = 0; k < NCASE; k++) {
		struct given g = open_case(&cases[k]);
		const double *ly[1] = { g.w->ly };
		hop_fn *fwd, *lin;
		hop_array *all[MAX];
		must(hop_linearize(g.y, 2, both, &fwd, &lin));
		int n = hop_fn_nout(fwd);
		assert_true(n + 4 <= MAX);
		assert_int_equal(hop_fn_nin(lin), 2 + n + 2);
		for (int way = 0; way < 2; way++) {
			all[0] = g.in[0];
			all[1] = g.in[1];
			must(hop_call_with(fwd, 2, g.in, n, all + 2, HOP_RUN_OPTS(.interpret = way)));
			all[2 + n] = g.in[2];
			all[3 + n] = g.in[3];
			near(g.w->name, "linearize: y", g.w->y, all[2]);
			compare(g.w, "linearize", lin, 2 + n + 2, all, 1, ly);
			for (int i = 0; i < n; i++)
				hop_array_release(all[2 + i]);
		}
		hop_fn_release(fwd);
		hop_fn_release(lin);
		close_case(&g);
	}
}

/* Lanes of x along axis 1; they come out last. */
static void test_vmap(void **state)
{
	const int64_t dim[2] = { 3, TORCH_LANES };
	(void)state;
	for (int k = 0; k < NCASE; k++) {
		struct given g = open_case(&cases[k]);
		hop_array *xs = array(2, dim, g.w->xs), *in[2] = { xs, g.in[1] };
		const double *want[1] = { g.w->lanes };
		const int in_axes[2] = { 1, -1 };
		hop_spec y;
		assert_true(hop_fn_out_type(g.y, 0, &y));
		for (int way = 0; way < 8; way++) {            /* lanes known or not; chunks of 0 .. 3 */
			hop_fn *f;
			must(hop_vmap_with(g.y, HOP_VMAP_OPTS(.nin = 2, .in = in_axes, .nout = 1,
			                   .out = &(const int){ y.rank }, .n = way & 1 ? TORCH_LANES : 0,
			                   .chunk = way / 2), &f));
			compare(g.w, "vmap", f, 2, in, 1, want);
			hop_fn_release(f);
		}
		hop_array_release(xs);
		close_case(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jacobians), cmocka_unit_test(test_hessians),
		cmocka_unit_test(test_products), cmocka_unit_test(test_linearize),
		cmocka_unit_test(test_vmap),
	};
	return cmocka_run_group_tests(tests, up, down);
}
