/* Results, gradients and dtypes beside those of PyTorch, which are in test/data/torch.h. It
 * does not run PyTorch. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hop/hop.h"

#include "data/torch.h"

enum { MAXIN = 4 };

/* One input: its shape, its data, the gradient PyTorch found. */
struct given {
	int           rank;
	int64_t       dim[3];
	const double *x, *dx;
};

static int setup(void **state)
{
	hop_ctx *c;

	if (hop_ctx_new(NULL, &c))
		return 1;
	*state = c;
	return 0;
}

static int teardown(void **state)
{
	hop_ctx_free(*state);
	return 0;
}

static void must(hop_ctx *c, hop_status st)
{
	if (st)
		fail_msg("status %d: %s", (int)st, hop_message(c));
}

static void near(const char *what, const double *want, hop_array *got)
{
	for (int64_t i = 0; i < hop_array_count(got); i++) {
		double g = hop_array_at(got, i);

		if (!(fabs(g - want[i]) <= 1e-11 * (1 + fabs(want[i]))))
			fail_msg("%s: element %d is %.17g, expected %.17g", what, (int)i, g, want[i]);
	}
}

/* The user's body, then the sum that gen.py takes the gradient of. */
struct summed { hop_body *f; int nin; };

static void sum_body(hop_trace *t, const hop_value *in, void *user)
{
	struct summed *s = user;
	hop_value y[1] = { { 0, 0 } };
	hop_dim n = hop_n(1);

	hop_region(t, "f", s->f, NULL, s->nin, in, 1, y);
	for (int i = 0; i < hop_rank(t, y[0]); i++)
		n = hop_dim_mul(t, n, hop_dim_of(t, y[0], i));
	hop_value w = hop_iota(t, HOP_f64, 1, &n, 0);

	w = hop_addf(t, hop_mulf(t, w, 0.5), 1);
	hop_return(t, hop_sum_all(t, hop_mul(t, hop_reshape(t, y[0], 1, &n), w)), y[0]);
}

static void compare(hop_ctx *c, hop_body *f, int nin, const struct given *in,
                    const double *want, int64_t nwant)
{
	struct summed s = { f, nin };
	hop_spec spec[MAXIN];
	hop_array *a[MAXIN], *out[2 + MAXIN];
	int wrt[MAXIN];
	hop_fn *fn, *g;

	for (int i = 0; i < nin; i++) {
		wrt[i] = i;
		spec[i] = hop_spec_of(HOP_f64, in[i].rank, in[i].dim);
		must(c, hop_array_new(c, HOP_f64, in[i].rank, in[i].dim, in[i].x, &a[i]));
	}
	must(c, hop_capture(c, sum_body, &s, nin, spec, &fn));
	must(c, hop_grad(fn, nin, wrt, &g));
	must(c, hop_call(g, nin, a, 2 + nin, out));
	assert_int_equal(hop_array_count(out[1]), nwant);
	near("result", want, out[1]);
	for (int i = 0; i < nin; i++)
		near("gradient", in[i].dx, out[2 + i]);
	for (int i = 0; i < 2 + nin; i++)
		hop_array_release(out[i]);
	for (int i = 0; i < nin; i++)
		hop_array_release(a[i]);
	hop_fn_release(g);
	hop_fn_release(fn);
}
#define COMPARE(name, ...) do { \
	static const struct given in_[] = { __VA_ARGS__ }; \
	compare(*state, name, (int)(sizeof in_ / sizeof in_[0]), in_, name##_out, \
	        (int64_t)(sizeof name##_out / sizeof(double))); \
} while (0)

/* ---- one op or composite ---- */

#define BODY(name, expr) \
static void name(hop_trace *t, const hop_value *in, void *user) \
{ \
	(void)user; \
	hop_return(t, expr); \
}
BODY(matmul, hop_matmul(t, in[0], in[1]))
BODY(bmm, hop_matmul(t, in[0], in[1]))
BODY(softmax, hop_softmax(t, in[0], -1))
BODY(norm, hop_layer_norm(t, in[0], in[1], in[2], 1e-5))
BODY(sigmoid, hop_sigmoid(t, in[0]))
BODY(silu, hop_silu(t, in[0]))
#undef BODY

static void amax(hop_trace *t, const hop_value *in, void *user)
{
	static const int axis[1] = { 1 };

	(void)user;
	hop_return(t, hop_amax(t, in[0], 1, axis));
}

static void test_composites(void **state)
{
	COMPARE(matmul, { 2, { 3, 4 }, matmul_a, matmul_da }, { 2, { 4, 2 }, matmul_b, matmul_db });
	COMPARE(bmm, { 3, { 2, 3, 4 }, bmm_a, bmm_da }, { 2, { 4, 2 }, bmm_b, bmm_db });
	COMPARE(softmax, { 2, { 3, 5 }, softmax_x, softmax_dx });
	COMPARE(norm, { 2, { 3, 4 }, norm_x, norm_dx }, { 1, { 4 }, norm_w, norm_dw },
	        { 1, { 4 }, norm_b, norm_db });
	COMPARE(sigmoid, { 1, { 6 }, sigmoid_x, sigmoid_dx });
	COMPARE(silu, { 1, { 6 }, silu_x, silu_dx });
}

/* Equal largest elements share the gradient. */
static void test_ties(void **state)
{
	COMPARE(amax, { 2, { 3, 3 }, amax_x, amax_dx });
}

/* ---- recurrences; the weights are captured by the step ---- */

struct cell { hop_value W, U; };

static void rnn_step(hop_trace *t, const hop_value *in, void *user)
{
	struct cell *c = user;
	hop_value z = hop_add(t, hop_matmul(t, c->W, in[0]), hop_matmul(t, c->U, in[1]));

	hop_return(t, hop_tanh(t, z));
}

static void rnn(hop_trace *t, const hop_value *in, void *user)
{
	struct cell c = { in[0], in[1] };
	hop_value out[1] = { { 0, 0 } };

	(void)user;
	hop_scan(t, rnn_step, &c, 1, in + 3, 1, in + 2, NULL, 1, out, NULL);
	hop_return(t, out[0]);
}

static void test_rnn(void **state)
{
	COMPARE(rnn, { 2, { 3, 3 }, rnn_W, rnn_dW }, { 2, { 3, 2 }, rnn_U, rnn_dU },
	        { 2, { 4, 2 }, rnn_x, rnn_dx }, { 1, { 3 }, rnn_h, rnn_dh });
}

static void gru_step(hop_trace *t, const hop_value *in, void *user)
{
	struct cell *c = user;
	hop_value h = in[0], a = hop_matmul(t, c->W, h), b = hop_matmul(t, c->U, in[1]);
	hop_value ab = hop_add(t, a, b);
	hop_value r = hop_sigmoid(t, hop_narrow(t, ab, 0, 0, 3));
	hop_value z = hop_sigmoid(t, hop_narrow(t, ab, 0, 3, 3));
	hop_value g = hop_mul(t, r, hop_narrow(t, a, 0, 6, 3));

	g = hop_tanh(t, hop_add(t, g, hop_narrow(t, b, 0, 6, 3)));
	h = hop_add(t, hop_sub(t, g, hop_mul(t, z, g)), hop_mul(t, z, h));
	hop_return(t, h, h);
}

static void gru(hop_trace *t, const hop_value *in, void *user)
{
	struct cell c = { in[0], in[1] };
	hop_value out[2] = { { 0, 0 }, { 0, 0 } };

	(void)user;
	hop_scan(t, gru_step, &c, 1, in + 3, 1, in + 2, NULL, 2, out, NULL);
	hop_return(t, out[1]);
}

static void test_gru(void **state)
{
	COMPARE(gru, { 2, { 9, 3 }, gru_W, gru_dW }, { 2, { 9, 2 }, gru_U, gru_dU },
	        { 2, { 4, 2 }, gru_x, gru_dx }, { 1, { 3 }, gru_h, gru_dh });
}

/* ---- a loop whose trips the data decide ---- */

static void newton_test(hop_trace *t, const hop_value *in, void *user)
{
	hop_value r = hop_sub(t, hop_mul(t, in[0], in[0]), *(hop_value *)user);

	r = hop_amax(t, hop_max(t, r, hop_neg(t, r)), 0, NULL);
	hop_return(t, hop_lt(t, hop_f(t, 1e-3), r));
}

static void newton_trip(hop_trace *t, const hop_value *in, void *user)
{
	hop_value q = hop_div(t, *(hop_value *)user, in[0]);

	hop_return(t, hop_mulf(t, hop_add(t, in[0], q), 0.5));
}

static void newton(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], out[1] = { { 0, 0 } };

	(void)user;
	hop_while(t, newton_test, newton_trip, &x, 1, in, NULL, out, NULL);
	hop_return(t, out[0]);
}

static void test_newton(void **state)
{
	COMPARE(newton, { 1, { 4 }, newton_x, newton_dx });
}

/* ---- branches ---- */

static void yes(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, hop_sin(t, in[0]), in[0]));
}

static void no(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_exp(t, hop_neg(t, in[0])));
}

static void branch(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1] = { { 0, 0 } };

	(void)user;
	hop_cond(t, hop_lt(t, hop_f(t, 0), hop_sum_all(t, in[0])), yes, no, NULL, 1, in, 1, out);
	hop_return(t, out[0]);
}

static void test_branch(void **state)
{
	static const struct given a = { 1, { 3 }, branch_then_x, branch_then_dx };
	static const struct given b = { 1, { 3 }, branch_else_x, branch_else_dx };

	compare(*state, branch, 1, &a, branch_then_out, 3);
	compare(*state, branch, 1, &b, branch_else_out, 3);
}

/* ---- associative_scan ---- */

static void affine(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], in[2]), hop_add(t, hop_mul(t, in[1], in[2]), in[3]));
}

static void affine_way(hop_trace *t, const hop_value *in, bool reverse)
{
	hop_value y[2] = { HOP_NONE, HOP_NONE };

	hop_associative_scan(t, affine, NULL, 2, in, HOP_ASSOC_OPTS(.axis = 1, .reverse = reverse), y);
	hop_return(t, y[1]);
}

static void affine_up(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	affine_way(t, in, false);
}

static void affine_down(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	affine_way(t, in, true);
}

static void between(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_matmul(t, hop_matmul(t, in[0], *(const hop_value *)user), in[1]));
}

static void products(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = HOP_NONE, w = in[1];

	(void)user;
	hop_associative_scan(t, between, &w, 1, in, NULL, &y);
	hop_return(t, y);
}

static void test_associative_scan(void **state)
{
	COMPARE(affine_up, { 3, { 2, 7, 3 }, affine_up_a, affine_up_da },
	        { 3, { 2, 7, 3 }, affine_up_b, affine_up_db });
	COMPARE(affine_down, { 3, { 2, 7, 3 }, affine_down_a, affine_down_da },
	        { 3, { 2, 7, 3 }, affine_down_b, affine_down_db });
	COMPARE(products, { 3, { 6, 2, 2 }, products_x, products_dx },
	        { 2, { 2, 2 }, products_w, products_dw });
}

/* ---- map and switch ---- */

static void map_row(hop_trace *t, const hop_value *in, void *user)
{
	const hop_value *shared = user;
	hop_value y = hop_sin(t, hop_matmul(t, shared[0], in[0]));

	hop_return(t, hop_mul(t, y, shared[2]));
}

static void mapped(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1] = { { 0, 0 } };

	(void)user;
	hop_map(t, map_row, (void *)in, 1, in + 1, 0, 1, out);
	hop_return(t, out[0]);
}

static void test_map(void **state)
{
	COMPARE(mapped, { 2, { 3, 3 }, mapped_W, mapped_dW }, { 2, { 4, 3 }, mapped_x, mapped_dx },
	        { 0, { 0 }, mapped_k, mapped_dk });
}

static void cube(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, hop_mul(t, in[0], in[0]), in[0]));
}

static void chosen(hop_trace *t, const hop_value *in, void *user)
{
	hop_body *const branch[3] = { yes, no, cube };
	hop_value out[1] = { { 0, 0 } };

	hop_switch(t, hop_i(t, *(const int *)user), 3, branch, NULL, 1, in, 1, out);
	hop_return(t, out[0]);
}

#define CHOSEN(i, at) \
	static void chosen_##i(hop_trace *t, const hop_value *in, void *user) \
	{ static const int k = at; (void)user; chosen(t, in, (void *)&k); }
CHOSEN(0, -3)
CHOSEN(1, 1)
CHOSEN(2, 9)

static void test_switch(void **state)
{
	static const struct given a = { 1, { 4 }, chosen0_x, chosen0_dx };
	static const struct given b = { 1, { 4 }, chosen1_x, chosen1_dx };
	static const struct given c = { 1, { 4 }, chosen2_x, chosen2_dx };

	compare(*state, chosen_0, 1, &a, chosen0_out, 4);
	compare(*state, chosen_1, 1, &b, chosen1_out, 4);
	compare(*state, chosen_2, 1, &c, chosen2_out, 4);
}

/* ---- the Hessian: the Jacobian of the gradient ---- */

static void hess_loss(hop_trace *t, const hop_value *in, void *user)
{
	hop_value back = hop_slice(t, in[0], 0, hop_n(2), hop_n(3), -1);

	(void)user;
	back = hop_mul(t, back, back);
	hop_return(t, hop_sum_all(t, hop_mul(t, hop_tanh(t, in[0]), back)));
}

static void hess_grad(hop_trace *t, const hop_value *in, void *user)
{
	static const int wrt[1] = { 0 };
	hop_value out[2] = { { 0, 0 }, { 0, 0 } };

	(void)user;
	hop_grad_at(t, hess_loss, NULL, 1, in, 1, wrt, 2, out);
	hop_return(t, out[1]);
}

static void hess(hop_trace *t, const hop_value *in, void *user)
{
	static const int wrt[1] = { 0 };
	hop_value out[1] = { { 0, 0 } };

	(void)user;
	hop_jac_at(t, hess_grad, NULL, 1, in, 1, wrt, 1, out);
	hop_return(t, out[0]);
}

static void test_hessian(void **state)
{
	hop_ctx *c = *state;
	hop_spec spec = hop_spec1(HOP_f64, 3);
	int64_t dim[1] = { 3 };
	hop_array *a, *out;
	hop_fn *f;

	must(c, hop_array_new(c, HOP_f64, 1, dim, hess_x, &a));
	must(c, hop_capture(c, hess, NULL, 1, &spec, &f));
	must(c, hop_call(f, 1, &a, 1, &out));
	assert_int_equal(hop_array_count(out), 9);
	near("hessian", hess_out, out);
	hop_array_release(out);
	hop_array_release(a);
	hop_fn_release(f);
}

/* ---- which dtype an operation has ---- */

struct asked { hop_dtype got[3]; };

static void ask(hop_trace *t, const hop_value *in, void *user)
{
	struct asked *q = user;
	hop_value y = hop_max(t, in[0], in[1]);

	q->got[0] = hop_dtype_of(t, y);
	q->got[1] = hop_dtype_of(t, hop_max(t, in[0], hop_i(t, 1)));
	q->got[2] = hop_dtype_of(t, hop_max(t, in[0], hop_f(t, 0.5)));
	hop_return(t, y);
}

/* (The bodies write to user here, which only a test may do.) */
static void test_promotion(void **state)
{
	static const int64_t two[1] = { 2 };
	hop_ctx *c = *state;

	for (size_t i = 0; i < sizeof promote / sizeof promote[0]; i++) {
		struct asked q;
		hop_spec in[2] = { hop_spec_of((hop_dtype)promote[i].a, promote[i].arank, two),
		                   hop_spec_of((hop_dtype)promote[i].b, promote[i].brank, two) };
		hop_fn *f;

		must(c, hop_capture(c, ask, &q, 2, in, &f));
		hop_fn_release(f);
		if ((int)q.got[0] != promote[i].out)
			fail_msg("dtype %d rank %d with dtype %d rank %d: %d, expected %d",
			         promote[i].a, promote[i].arank, promote[i].b, promote[i].brank,
			         (int)q.got[0], promote[i].out);
		for (size_t k = 0; k < sizeof literal / sizeof literal[0]; k++) {
			if (literal[k].a != promote[i].a || literal[k].arank != promote[i].arank)
				continue;
			assert_int_equal(q.got[1], literal[k].with_i);
			assert_int_equal(q.got[2], literal[k].with_f);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_composites), cmocka_unit_test(test_ties),
		cmocka_unit_test(test_rnn),        cmocka_unit_test(test_gru),
		cmocka_unit_test(test_newton),     cmocka_unit_test(test_branch),
		cmocka_unit_test(test_hessian),    cmocka_unit_test(test_promotion),
		cmocka_unit_test(test_map),        cmocka_unit_test(test_switch),
		cmocka_unit_test(test_associative_scan),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
