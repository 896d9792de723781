/* names_test.c -- what inputs and results of functions are called: after a capture, and after each
 * transform and transforms of those. That structs are called by name is struct_test.c. */
#include "trace_rig.h"

struct point { hop_value q, p; };
static const hop_field_name point_fields[] = { { "q", NULL, 0, "f64[n]" }, { "p", NULL, 0, "f64[n]" } };
HOP_TREE_OF(point_tree, struct point, point_fields);
static const hop_field_name all_fields[] = { { "at", &point_tree, 2, NULL },
	{ "k", NULL, 0, "i64" }, { "w", NULL, 2, "f64" } };
struct all { struct point at[2]; hop_value k, w[2]; };
HOP_TREE_OF(all_tree, struct all, all_fields);

static void said(hop_status st, hop_status want, const char *words)
{
	if (st != want || !strstr(hop_message(ctx), words))
		fail_msg("%d: %s lacks: %s", st, hop_message(ctx), words);
}

/* The names of inputs, or of results: "a b -", - for those that have none. */
static void named(const hop_fn *f, bool results, const char *want)
{
	char got[1000] = "";
	int n = results ? hop_fn_nout(f) : hop_fn_nin(f);
	for (int i = 0; i < n; i++) {
		const char *s = results ? hop_fn_result_name(f, i) : hop_fn_input_name(f, i);
		snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i ? " " : "", s ? s : "-");
		if (s)
			assert_int_equal(results ? hop_fn_result(f, s) : hop_fn_input(f, s), i);
	}
	assert_string_equal(got, want);
}

/* loss = sum q0*p1*w0 + w1^3, k + 1, p0 */
static void body(hop_trace *t, const hop_value *in, void *user)
{
	const struct all *a = HOP_IN(struct all, in);
	(void)user;
	hop_value s = hop_sum_all(t, hop_mul(t, hop_mul(t, a->at[0].q, a->at[1].p), a->w[0]));
	hop_value c = hop_mul(t, a->w[1], hop_mul(t, a->w[1], a->w[1]));
	hop_return_named(t, "loss, next, p[1]", hop_add(t, s, c), hop_add(t, a->k, hop_i(t, 1)),
	                 a->at[0].p);
}

static hop_fn *captured(void)
{
	hop_fn *f;
	if (hop_capture_tree(ctx, body, NULL, &all_tree, NULL, &f))
		fail_msg("%s", hop_message(ctx));
	return f;
}

#define IN "at[0].q at[0].p at[1].q at[1].p k w[0] w[1]"
#define OUT "loss next p[0]"

static void finding(void **state)
{
	hop_fn *f = captured();
	int at[8] = { 0 };
	(void)state;
	named(f, false, IN);
	named(f, true, OUT);
	assert_int_equal(hop_fn_input(f, "at[1]"), 2);
	assert_int_equal(hop_fn_input(f, "at"), 0);
	assert_int_equal(hop_fn_input(f, "w"), 5);
	assert_int_equal(hop_fn_input(f, "a"), -1);
	assert_int_equal(hop_fn_input(f, "at["), -1);
	assert_int_equal(hop_fn_input(f, ""), -1);
	assert_int_equal(hop_fn_input(f, NULL), -1);
	assert_int_equal(hop_fn_input(NULL, "w"), -1);
	assert_int_equal(hop_fn_result(f, "p"), 2);
	assert_int_equal(hop_fn_result(f, "k"), -1);
	assert_null(hop_fn_result_name(f, 3));
	assert_null(hop_fn_result_name(f, -1));
	assert_null(hop_fn_input_name(f, 7));
	assert_null(hop_fn_input_name(NULL, 0));
	assert_int_equal(hop_fn_inputs(f, "w, at[1]", 8, at), 4);
	assert_true(at[0] == 2 && at[1] == 3 && at[2] == 5 && at[3] == 6);
	assert_int_equal(hop_fn_inputs(f, " at[1].p ,at[1] ", 8, at), 2);
	assert_int_equal(hop_fn_inputs(f, "at, z", 8, at), -1);
	assert_int_equal(hop_fn_inputs(f, "at", 1, at), 4);
	assert_int_equal(hop_fn_inputs(f, "at", 0, NULL), 4);
	assert_int_equal(hop_fn_inputs(f, "", 8, at), 0);
	assert_int_equal(hop_fn_inputs(f, NULL, 8, at), -1);
	assert_int_equal(hop_fn_inputs(f, "at", 8, NULL), -1);
	hop_fn_release(f);
}

static void first_derivatives(void **state)
{
	hop_fn *f = captured(), *g, *bwd;
	int wrt[3] = { 6, 0, 3 };
	bool lanes[7] = { true };
	(void)state;
	assert_int_equal(hop_grad(f, 3, wrt, &g), HOP_OK);
	named(g, false, IN);
	named(g, true, OUT " grad.w[1] grad.at[0].q grad.at[1].p");
	hop_fn_release(g);
	assert_int_equal(hop_jvp(f, 2, wrt, &g), HOP_OK);
	named(g, false, IN " tangent.w[1] tangent.at[0].q");
	named(g, true, OUT " tangent.loss tangent.p[0]");
	hop_fn_release(g);
	assert_int_equal(hop_vjp(f, 2, wrt, &g), HOP_OK);
	named(g, false, IN " cotangent.loss cotangent.p[0]");
	named(g, true, OUT " cotangent.w[1] cotangent.at[0].q");
	hop_fn_release(g);
	assert_int_equal(hop_vmap(f, lanes, 3, &g), HOP_OK);
	named(g, false, IN);
	named(g, true, OUT);
	hop_fn_release(g);
	assert_int_equal(hop_split(f, 2, wrt, 1, &g, &bwd), HOP_OK);
	named(g, false, IN);
	char want[400] = IN " result.loss result.next result.p[0]", out[200] = OUT;
	for (int i = 0; i < hop_fn_nout(g) - 3; i++) {
		snprintf(want + strlen(want), sizeof want - strlen(want), " saved[%d]", i);
		snprintf(out + strlen(out), sizeof out - strlen(out), " saved[%d]", i);
	}
	strcat(want, " cotangent.loss cotangent.p[0]");
	named(g, true, out);
	named(bwd, false, want);
	named(bwd, true, "cotangent.w[1] cotangent.at[0].q");
	hop_fn_release(g);
	hop_fn_release(bwd);
	hop_fn_release(f);
}

/* d2 loss / dw1^2 = 6 w1 is found by its name, and is that number. */
static void second_derivatives(void **state)
{
	hop_fn *f = captured(), *g, *h, *k;
	int w1 = hop_fn_input(f, "w[1]");
	hop_array *in[8];
	double v[2] = { 3, 4 };
	(void)state;
	assert_int_equal(hop_grad(f, 1, &w1, &g), HOP_OK);
	assert_int_equal(hop_jvp(g, 1, &w1, &h), HOP_OK);
	named(h, false, IN " tangent.w[1]");
	named(h, true, OUT " grad.w[1] tangent.loss tangent.p[0] tangent.grad.w[1]");
	int seven = hop_fn_result(h, "tangent.grad");
	assert_int_equal(seven, 6);
	for (int i = 0; i < 8; i++)
		in[i] = i < 4 ? vec(2, v) : i == 4 ? num_i(1) : num(i == 7 ? 1 : 2.5);
	hop_array *all[7];
	if (hop_call(h, 8, in, 7, all))
		fail_msg("%s", hop_message(ctx));
	assert_true(fabs(hop_array_at(all[seven], 0) - 15) < 1e-12);
	for (int i = 0; i < 7; i++)
		hop_array_release(all[i]);
	for (int i = 0; i < 8; i++)
		hop_array_release(in[i]);
	/* again: the same words would be taken */
	int both[2] = { 6, 7 };
	assert_int_equal(hop_jvp(h, 2, both, &k), HOP_OK);
	named(k, false, IN " tangent.w[1] tangent2.w[1] tangent2.tangent.w[1]");
	named(k, true, OUT " grad.w[1] tangent.loss tangent.p[0] tangent.grad.w[1] tangent2.loss "
	      "tangent2.p[0] tangent2.grad.w[1] tangent2.tangent.loss tangent2.tangent.p[0] "
	      "tangent2.tangent.grad.w[1]");
	hop_fn_release(k);
	hop_fn_release(h);
	assert_int_equal(hop_grad(g, 1, &w1, &h), HOP_OK);
	named(h, true, OUT " grad.w[1] grad2.w[1]");
	hop_fn_release(h);
	assert_int_equal(hop_vjp(g, 1, &w1, &h), HOP_OK);
	named(h, false, IN " cotangent.loss cotangent.p[0] cotangent.grad.w[1]");
	named(h, true, OUT " grad.w[1] cotangent.w[1]");
	hop_fn_release(h);
	hop_fn_release(g);
	hop_fn_release(f);
}

static void square(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], in[0]));
}

/* Without names, what is added has numbers; text has no names. */
static void nameless(void **state)
{
	hop_spec s = hop_spec0(HOP_f64);
	hop_fn *f, *g, *h;
	int wrt = 0;
	(void)state;
	assert_int_equal(hop_capture(ctx, square, NULL, 1, &s, &f), HOP_OK);
	named(f, false, "-");
	named(f, true, "-");
	assert_int_equal(hop_fn_result(f, "0"), -1);
	assert_int_equal(hop_grad(f, 1, &wrt, &g), HOP_OK);
	named(g, true, "- grad[0]");
	assert_int_equal(hop_jvp(g, 1, &wrt, &h), HOP_OK);
	named(h, false, "- tangent[0]");
	named(h, true, "- grad[0] tangent[0] tangent.grad[0]");
	hop_fn_release(h);
	const char *text = hop_fn_text(g);
	assert_int_equal(hop_fn_parse(ctx, text, strlen(text), NULL, &h), HOP_OK);
	named(h, true, "- -");
	hop_fn_release(h);
	hop_fn_release(g);
	hop_fn_release(f);
}

/* ---- naming what is returned ---- */

static void tree_body(hop_trace *t, const hop_value *in, void *user)
{
	struct point y = { in[1], in[0] };
	(void)user;
	hop_return_tree(t, &point_tree, &y);
}

static void branch(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return_named(t, "inside", hop_neg(t, in[0]));
}

/* Names of an inner body are its own. */
static void inner_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y;
	(void)user;
	hop_cond(t, hop_gt(t, hop_sum_all(t, in[0]), hop_f(t, 0)), branch, branch, NULL, 1, in, 1, &y);
	hop_return(t, y);
}

static void returned(void **state)
{
	hop_fn *f;
	hop_array *a[2], *y[2];
	double v[2] = { 3, -4 };
	(void)state;
	assert_int_equal(hop_capture_tree(ctx, tree_body, NULL, &point_tree, NULL, &f), HOP_OK);
	named(f, true, "q p");
	hop_fn_release(f);
	assert_int_equal(hop_capture_tree(ctx, inner_body, NULL, &point_tree, NULL, &f), HOP_OK);
	named(f, true, "-");
	hop_fn_release(f);
	a[0] = vec(2, v);
	a[1] = vec(2, v);
	assert_int_equal(hop_eager_call(ctx, tree_body, NULL, 2, a, 2, y), HOP_OK);
	for (int i = 0; i < 2; i++) {
		same(y[i], v, 2);
		hop_array_release(y[i]);
		hop_array_release(a[i]);
	}
}

static int mistake;

static void wrong_body(hop_trace *t, const hop_value *in, void *user)
{
	static const hop_tree one = { 1, "a", 0, NULL }, long_one = { 2, "a", 0, NULL };
	(void)user;
	switch (mistake) {
	case 0: hop_return_named(t, "a, b", in[0]); break;
	case 1: hop_return_named(t, "a", in[0], in[1]); break;
	case 2: hop_return_named(t, "a, a", in[0], in[1]); break;
	case 3: hop_return_named(t, NULL, in[0]); break;
	case 4: hop_return_tree(t, NULL, in); break;
	case 5: hop_return_tree(t, &one, NULL); break;
	case 6: hop_return_tree(t, &long_one, in); break;
	case 7: hop_return_named(t, "a", HOP_NONE); break;
	default: hop_return_named(t, "a", in[0]); hop_return_named(t, "a", in[0]);
	}
}

static void wrong_returns(void **state)
{
	static const char *const words[] = { "there are 2 names for 1 values", "1 names for 2 values",
		"two values are called a", "no names were given", "no tree was given",
		"no values were given", "there are 1 names for 2 values", "return", "nothing may follow" };
	hop_array *a[2], *y[1];
	double v[2] = { 3, -4 };
	hop_fn *f;
	(void)state;
	a[0] = a[1] = vec(2, v);
	for (mistake = 0; mistake < 9; mistake++) {
		hop_status st = hop_capture_tree(ctx, wrong_body, NULL, &point_tree, NULL, &f);
		said(st, st == HOP_EVALUE ? HOP_EVALUE : HOP_EUSE, words[mistake]);
		assert_non_null(strstr(hop_message(ctx), "names_test.c:"));
		assert_null(f);
		assert_int_equal(hop_eager_call(ctx, wrong_body, NULL, 2, a, 1, y), st);
	}
	hop_array_release(a[0]);
}

/* Messages of what is not a call name inputs too. */
static void apply_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2], args[2] = { hop_sum_all(t, in[0]), in[1] };
	hop_apply(t, (hop_fn *)user, 2, args, 2, out);
	hop_return(t, out[0]);
}

static void write_body(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_add_(t, in[1], in[0]);
	hop_return(t, hop_sum_all(t, in[0]));
}

static void messages(void **state)
{
	hop_fn *f, *g, *h;
	(void)state;
	assert_int_equal(hop_capture_tree(ctx, tree_body, NULL, &point_tree, NULL, &f), HOP_OK);
	said(hop_capture_tree(ctx, apply_body, f, &point_tree, NULL, &g), HOP_ESHAPE,
	     "apply: input 0 (q) is f64, of rank 1 it should be");
	hop_fn_release(f);
	int wrt[2] = { 0, 4 };
	f = captured();
	said(hop_grad(f, 2, wrt, &g), HOP_ENODIFF, "input 4 is i64");
	assert_non_null(strstr(hop_message(ctx), "note: input 4 is called k"));
	assert_int_equal(hop_grad(f, 1, (int[]){ 7 }, &g), HOP_EVALUE);
	assert_int_equal(hop_grad(f, -1, wrt, &g), HOP_EVALUE);
	hop_fn_release(f);
	assert_int_equal(hop_capture_tree(ctx, write_body, NULL, &point_tree, NULL, &f), HOP_OK);
	said(hop_split(f, 1, wrt, 1, &g, &h), HOP_EREFUSED, "writes input 1 (p)");
	said(hop_vmap(f, (bool[]){ true, false }, 2, &g), HOP_EREFUSED, "input 1 (p) is written");
	hop_fn_release(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finding), cmocka_unit_test(first_derivatives),
		cmocka_unit_test(second_derivatives), cmocka_unit_test(nameless),
		cmocka_unit_test(returned), cmocka_unit_test(wrong_returns), cmocka_unit_test(messages),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}

#undef IN
#undef OUT
