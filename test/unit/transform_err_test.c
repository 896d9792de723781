/* transform_err_test.c -- what transforms refuse, each by its message; and parameters as trees: calls
 * with some of them replaced, ensembles stacked and batched. */
#include "trace_rig.h"

static const int zero = 0;

static void must(hop_status st)
{
	if (st)
		fail_msg("status %d: %s", (int)st, hop_message(ctx));
}

static void says(hop_status st, hop_status want, const char *text)
{
	if (st != want || !strstr(hop_message(ctx), text))
		fail_msg("status %d: %s\nnot %d: %s", (int)st, hop_message(ctx), (int)want, text);
}

/* x of 3, k -> x * k, sum, key + 1 */
static void three(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], in[1]), hop_sum_all(t, in[0]), hop_add(t, in[2], hop_i(t, 1)));
}

static hop_fn *capture(hop_body *body)
{
	hop_spec s[3] = { hop_spec1(HOP_f64, 3), hop_spec0(HOP_f64), hop_spec0(HOP_i64) };
	hop_fn *f;
	must(hop_capture(ctx, body, NULL, 3, s, &f));
	return f;
}

static void scalars(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sum_all(t, hop_mul(t, in[0], in[1])), in[2]);
}

static void functions(void **state)
{
	hop_fn *f = capture(three), *s = capture(scalars), *g, *h;
	const int twice[2] = { 0, 0 };
	int in[3] = { 0, -1, -1 }, out[3] = { 0, 0, 0 };
	(void)state;
	/* the result is no scalar; arguments out of range, repeated, not floats */
	says(hop_grad(f, 1, &zero, &g), HOP_ENODIFF, "grad: the first result is f64[3], it must be a float "
	     "scalar");
	says(hop_hvp(f, 1, &zero, &g), HOP_ENODIFF, "it must be a float scalar");
	says(hop_jacrev(f, 1, &(int){ 3 }, NULL, &g), HOP_EVALUE,
	     "jacrev: there is no input 3: there are 3");
	says(hop_jacfwd(f, 1, &(int){ -1 }, NULL, &g), HOP_EVALUE, "jacfwd: there is no input -1");
	says(hop_hessian(s, 2, twice, NULL, &g), HOP_EVALUE, "hessian: input 0 is named twice");
	says(hop_vhp(s, 1, &(int){ 2 }, &g), HOP_ENODIFF, "vhp: input 2 is i64: only float inputs");
	says(hop_linearize(s, 2, twice, &g, &h), HOP_EVALUE, "linearize: input 0 is named twice");
	/* which results are differentiated, and which come along */
	says(hop_jacrev(f, 1, &zero, HOP_JAC_OPTS(.results = 4), &g), HOP_EVALUE, "jacrev: 4 results to "
	     "differentiate, the function has 3");
	says(hop_jacrev(f, 1, &zero, HOP_JAC_OPTS(.results = -1), &g), HOP_EVALUE, "-1 results");
	says(hop_jacfwd(f, 1, &zero, HOP_JAC_OPTS(.results = 3), &g), HOP_ENODIFF, "jacfwd: result 2 is "
	     "i64: only float results have derivatives");
	says(hop_hessian(s, 1, &zero, HOP_JAC_OPTS(.results = 2), &g), HOP_EVALUE, "of the first result");
	/* chunks */
	says(hop_jacrev(f, 1, &zero, HOP_JAC_OPTS(.chunk = -2), &g), HOP_EVALUE, "jacrev: a chunk of -2");
	says(hop_vmap_with(f, HOP_VMAP_OPTS(.nin = 3, .in = in, .chunk = -2), &g), HOP_EVALUE,
	     "vmap: a chunk of -2");
	/* axes in and out */
	says(hop_vmap_with(f, HOP_VMAP_OPTS(.nin = 2, .in = in), &g), HOP_EVALUE, "vmap: axes for 2 "
	     "inputs, the function has 3");
	says(hop_vmap_with(f, HOP_VMAP_OPTS(.nin = 3), &g), HOP_EUSE, "which inputs are batched");
	in[0] = 2;
	says(hop_vmap_with(f, HOP_VMAP_OPTS(.nin = 3, .in = in), &g), HOP_EVALUE, "vmap: axis 2 for the "
	     "lanes of input 0, which then has 2 axes");
	in[0] = -2;
	says(hop_vmap_with(f, HOP_VMAP_OPTS(.nin = 3, .in = in), &g), HOP_EVALUE, "vmap: axis -2");
	in[0] = -1;
	says(hop_vmap_with(f, HOP_VMAP_OPTS(.nin = 3, .in = in), &g), HOP_EVALUE, "no input is batched");
	in[0] = 0;
	says(hop_vmap_with(f, HOP_VMAP_OPTS(.nin = 3, .in = in, .nout = 2, .out = out), &g), HOP_EVALUE,
	     "vmap: axes for 2 results, the function has 3");
	out[0] = 2;
	says(hop_vmap_with(f, HOP_VMAP_OPTS(.nin = 3, .in = in, .nout = 3, .out = out), &g), HOP_EVALUE,
	     "vmap: axis 2 for the lanes of result 0");
	out[0] = -1;
	says(hop_vmap_with(f, HOP_VMAP_OPTS(.nin = 3, .in = in, .nout = 3, .out = out), &g), HOP_EVALUE,
	     "vmap: result 0 differs between lanes and has no axis");
	out[0] = 0;
	out[2] = -1;                                   /* this one does not differ */
	must(hop_vmap_with(f, HOP_VMAP_OPTS(.nin = 3, .in = in, .nout = 3, .out = out), &g));
	hop_fn_release(g);
	says(hop_vmap_with(f, HOP_VMAP_OPTS(.nin = 3, .in = in, .nout = 3, .out = out, .chunk = 2), &g),
	     HOP_EVALUE, "vmap: result 2 has no axis for the lanes, and lanes come in chunks");
	/* keys */
	in[1] = HOP_OWN_KEY;
	says(hop_vmap_with(f, HOP_VMAP_OPTS(.nin = 3, .in = in), &g), HOP_ETYPE, "vmap: input 1 is f64, a "
	     "key is i64");
	/* what is missing */
	assert_int_equal(hop_jacrev(NULL, 1, &zero, NULL, &g), HOP_EUSE);
	assert_int_equal(hop_jacfwd(f, 1, &zero, NULL, NULL), HOP_EUSE);
	assert_int_equal(hop_vmap_with(NULL, NULL, &g), HOP_EUSE);
	assert_int_equal(hop_linearize(f, 1, &zero, &g, NULL), HOP_EUSE);
	says(hop_jacrev(f, 1, &zero, &(hop_jac_opts){ .size = 3 }, &g), HOP_EVALUE, "jacrev");
	says(hop_hvp(s, 1, NULL, &g), HOP_EVALUE, "hvp: 1 inputs to differentiate");
	hop_fn_release(f);
	hop_fn_release(s);
}

static void jits(void **state)
{
	hop_array *in[3] = { vec(3, (double[]){ 1, 2, 3 }), num(2), num_i(1) }, *out[4];
	hop_jit *j, *d;
	(void)state;
	assert_int_equal(hop_jit_jacrev(NULL, 1, &zero, NULL, &d), HOP_EUSE);
	assert_int_equal(hop_jit_jacfwd(NULL, 1, &zero, NULL, &d), HOP_EUSE);
	assert_int_equal(hop_jit_hessian(NULL, 1, &zero, NULL, &d), HOP_EUSE);
	assert_int_equal(hop_jit_hvp(NULL, 1, &zero, &d), HOP_EUSE);
	assert_int_equal(hop_jit_vhp(NULL, 1, &zero, &d), HOP_EUSE);
	assert_int_equal(hop_jit_vmap_with(NULL, NULL, &d), HOP_EUSE);
	must(hop_jit_new(ctx, three, NULL, NULL, &j));
	assert_int_equal(hop_jit_jacrev(j, 1, &zero, NULL, NULL), HOP_EUSE);
	says(hop_jit_jacrev(j, 1, NULL, NULL, &d), HOP_EUSE, "a transform without its list of arguments");
	says(hop_jit_jacfwd(j, -1, &zero, NULL, &d), HOP_EUSE, "a transform without its list");
	says(hop_jit_hessian(j, 1, &zero, &(hop_jac_opts){ .size = 3 }, &d), HOP_EVALUE, "jac");
	says(hop_jit_vmap_with(j, HOP_VMAP_OPTS(.nin = 3), &d), HOP_EUSE, "a transform without its list");
	says(hop_jit_vmap_with(j, HOP_VMAP_OPTS(.nin = 3, .in = (int[]){ -1, -1, -1 }), &d), HOP_EVALUE,
	     "no argument is batched");
	must(hop_jit_jacrev(j, 1, &(int){ 5 }, NULL, &d));             /* seen when it captures */
	says(hop_jit_call(d, 3, in, 4, out), HOP_EVALUE, "jacrev: there is no input 5");
	hop_jit_release(d);
	hop_jit_release(j);
	for (int i = 0; i < 3; i++)
		hop_array_release(in[i]);
}

/* ---- keys of lanes ---- */

static void draws(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_add(t, in[0], hop_uniform(t, in[1], HOP_f64, 0, NULL)));
}

static void keys(void **state)
{
	hop_spec s[2] = { hop_spec0(HOP_f64), hop_spec0(HOP_i64) };
	const double x[3] = { 0, 0, 0 };
	hop_fn *f, *g;
	(void)state;
	must(hop_capture(ctx, draws, NULL, 2, s, &f));
	for (int way = 0; way < 4; way++) {            /* shared or own; at once or in chunks */
		hop_array *in[2] = { vec(3, x), num_i(7) }, *out;
		int axes[2] = { 0, way & 1 ? HOP_OWN_KEY : -1 };
		must(hop_vmap_with(f, HOP_VMAP_OPTS(.nin = 2, .in = axes, .chunk = way & 2), &g));
		must(hop_call(g, 2, in, 1, &out));
		assert_true((hop_array_at(out, 0) == hop_array_at(out, 1)) == !(way & 1));
		assert_true((hop_array_at(out, 1) == hop_array_at(out, 2)) == !(way & 1));
		hop_array_release(out);
		hop_array_release(in[0]);
		hop_array_release(in[1]);
		hop_fn_release(g);
	}
	hop_fn_release(f);
}

/* ---- inside bodies ---- */

static void plain(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], in[0]));
}

struct one { hop_value v; };
HOP_TREE(one_tree, struct one, v);

static void wrong(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[4], bad[2] = { hop_sum_all(t, in[0]), in[0] }, h = in[0];
	const hop_value *models[2] = { in, NULL };
	hop_linear *lin = NULL;
	switch (*(int *)user) {
	case 0: hop_jacrev_at(t, plain, NULL, 1, in, 1, &(int){ 1 }, NULL, 4, out); break;
	case 1: hop_jacfwd_at(t, plain, NULL, 1, in, 1, &zero, HOP_JAC_OPTS(.results = 2), 4, out); break;
	case 2: hop_hvp_at(t, plain, NULL, 1, in, 1, &zero, in, 4, out); break;
	case 3: hop_linearize_at(t, plain, NULL, 1, in, 1, &zero, 1, out, &lin);
		hop_linear_apply(t, lin, 1, bad, 1, out); break;
	case 4: hop_linear_apply(t, NULL, 1, in, 1, out); break;
	case 5: hop_linearize_at(t, plain, NULL, 1, in, 1, &zero, 1, out, &lin);
		hop_linear_apply(t, lin, 2, bad, 1, out); break;
	case 6: hop_vmap_with_at(t, plain, NULL, 1, in, HOP_VMAP_OPTS(.nin = 2, .in = &zero), 4, out); break;
	case 7: hop_vmap_with_at(t, plain, NULL, 1, in, HOP_VMAP_OPTS(.in = &zero, .nout = 2, .out =
		                     (int[]){ 0, 0 }), 4, out); break;
	case 8: hop_jacrev_at(t, plain, NULL, 1, in, 1, &zero, NULL, 1, out); break;
	case 9: hop_hvp_at(t, plain, NULL, 1, in, 1, &zero, NULL, 4, out); break;
	case 10: hop_jacrev_at(t, plain, NULL, 1, in, 1, &zero, HOP_JAC_OPTS(.results = -1), 4, out); break;
	case 11: hop_vmap_with_at(t, plain, NULL, 1, in, NULL, 4, out); break;
	case 12: hop_tree_stack(t, &one_tree, 0, models, out); break;
	case 13: hop_tree_stack(t, &one_tree, 1, NULL, out); break;
	case 14: hop_tree_stack(t, &one_tree, 2, models, out); break;
	case 15:                                       /* it is of the loop's body */
		HOP_FOR(t, i, 2, h) {
			hop_linearize_at(t, plain, NULL, 1, &h, 1, &zero, 1, out, &lin);
			h = out[0];
		}
		hop_linear_apply(t, lin, 1, in, 1, out); break;
	}
	hop_return(t, in[0]);
}

static void bodies(void **state)
{
	static const char *const text[] = {
		"jacrev: there is no input 1: there are 1",
		"jacfwd: 2 results to differentiate, the function has 1",
		"grad: the first result is f64[3], it must be a float scalar",
		"linear_apply: the tangent of input 0 is f64, the input f64[3]",
		"linear_apply: there is no derivative",
		"linear_apply: 2 tangents for 1 inputs",
		"vmap: axes for 2 inputs, there are 1",
		"vmap: axes for 2 results, the body has 1",
		"jacrev: gives 2 results, there is room for 1",
		"hvp: no vectors were given",
		"jacrev: -1 results to differentiate",
		"vmap: no axes were given",
		"stack_state: 0 models: at least one is needed",
		"stack_state: a list is missing",
		"stack_state: model 1 is missing",
		"linear_apply: ",
	};
	hop_spec s = hop_spec1(HOP_f64, 3);
	hop_fn *f;
	(void)state;
	for (int i = 0; i < (int)(sizeof text / sizeof *text); i++) {
		hop_status st = hop_capture(ctx, wrong, &i, 1, &s, &f);
		if (!st || !strstr(hop_message(ctx), text[i]))
			fail_msg("%d: status %d: %s\nnot: %s", i, (int)st, st ? hop_message(ctx) : "", text[i]);
		assert_non_null(strstr(hop_message(ctx), "transform_err_test.c"));
	}
}

/* ---- trees ---- */

#define LAYER(has) has(LEAF, w, "f64[2]") has(LEAF, b, "f64")
HOP_STRUCT(layer, LAYER);
#define NET(has) has(NODES, layer, 2, layer) has(LEAF, x, "f64[2]")
HOP_STRUCT(net, NET);
struct answer { hop_value y; };
HOP_TREE(answer_tree, struct answer, y);

static void forward(hop_trace *t, const hop_value *in, void *user)
{
	const struct net *p = HOP_IN(struct net, in);
	hop_value h = p->x;
	(void)user;
	for (int i = 0; i < 2; i++)
		h = HOP_E(t, "tanh(h * w + b)", h, HOP_AS(w, p->layer[i].w), HOP_AS(b, p->layer[i].b));
	hop_return_named(t, "y", hop_sum_all(t, h));
}

/* Model m: all its numbers follow from it. */
static struct net_arrays model(int m)
{
	struct net_arrays n;
	for (int i = 0; i < 2; i++) {
		n.layer[i].w = vec(2, (double[]){ 0.1 * m + i, 0.2 - 0.3 * i + m });
		n.layer[i].b = num(0.05 * m - i);
	}
	n.x = vec(2, (double[]){ 0.4, -0.6 });
	return n;
}

static double answer(struct net_arrays *n)
{
	double h[2] = { hop_array_at(n->x, 0), hop_array_at(n->x, 1) };
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 2; k++)
			h[k] = tanh(h[k] * hop_array_at(n->layer[i].w, k) + hop_array_at(n->layer[i].b, 0));
	return h[0] + h[1];
}

static void replaced(void **state)
{
	hop_fn *f;
	struct net_arrays a = model(1), b = model(2), mixed = a;
	hop_array *y;
	(void)state;
	must(hop_capture_tree(ctx, forward, NULL, &net_tree, NULL, &f));
	mixed.layer[1] = b.layer[1];
	hop_replace r[2] = { { "layer[1]", NULL, &layer_tree, &b.layer[1] }, { "x", b.x, NULL, NULL } };
	must(hop_functional_call(f, &net_tree, &a, 2, r, &answer_tree, &y));
	assert_true(fabs(hop_array_at(y, 0) - answer(&mixed)) < 1e-12);
	hop_array_release(y);
	must(hop_functional_call(f, &net_tree, &a, 1, &(hop_replace){ NULL, NULL, &net_tree, &b },
	                         &answer_tree, &y));                   /* all of it */
	assert_true(fabs(hop_array_at(y, 0) - answer(&b)) < 1e-12);
	hop_array_release(y);
	says(hop_functional_call(f, &net_tree, &a, 1, &(hop_replace){ "layer[2].w", b.x, NULL, NULL },
	                         &answer_tree, &y), HOP_EUSE, "there is no input layer[2].w to replace");
	says(hop_functional_call(f, &net_tree, &a, 1, &(hop_replace){ "layer[1]", b.x, NULL, NULL },
	                         &answer_tree, &y), HOP_EUSE, "there is no input layer[1] to replace");
	r[1] = (hop_replace){ "layer[1].w", b.x, NULL, NULL };
	says(hop_functional_call(f, &net_tree, &a, 2, r, &answer_tree, &y), HOP_EUSE,
	     "layer[1].w is replaced twice");
	assert_null(y);
	says(hop_functional_call(f, &net_tree, &a, 1, &(hop_replace){ "x", NULL, NULL, NULL },
	                         &answer_tree, &y), HOP_EUSE, "there is no array for x");
	says(hop_functional_call(f, &net_tree, &a, 1, &(hop_replace){ NULL, NULL, NULL, NULL },
	                         &answer_tree, &y), HOP_EUSE, "neither a path nor a tree");
	assert_int_equal(hop_functional_call(NULL, &net_tree, &a, 0, NULL, NULL, NULL), HOP_EUSE);
	hop_tree_release(&net_tree, &a);
	hop_tree_release(&net_tree, &b);
	hop_fn_release(f);
}

static void sum_both(hop_trace *t, const hop_value *in, void *user)
{
	struct layer s;
	(void)user;
	hop_tree_stack(t, &layer_tree, 2, (const hop_value *const[]){ in, in + 2 }, &s.w);
	hop_return(t, s.w, s.b);
}

static void ensembles(void **state)
{
	enum { N = 5 };
	struct net_arrays m[N], all;
	const void *list[N];
	hop_fn *f, *g;
	hop_array *y;
	(void)state;
	for (int i = 0; i < N; i++) {
		m[i] = model(i);
		list[i] = &m[i];
	}
	must(hop_capture_tree(ctx, forward, NULL, &net_tree, NULL, &f));
	must(hop_vmap(f, (const bool[]){ true, true, true, true, true }, N, &g));
	must(hop_stack_state(ctx, &net_tree, N, list, &all));
	assert_int_equal(hop_array_rank(all.layer[0].w), 2);
	must(hop_call_tree(g, &net_tree, &all, &answer_tree, &y));
	for (int i = 0; i < N; i++)
		assert_true(fabs(hop_array_at(y, i) - answer(&m[i])) < 1e-12);
	hop_array_release(y);
	hop_tree_release(&net_tree, &all);
	/* refused: other sizes, nothing there, no models */
	hop_array *w = m[3].layer[1].w;
	m[3].layer[1].w = m[3].x;
	m[3].x = m[3].layer[1].b;
	says(hop_stack_state(ctx, &net_tree, N, list, &all), HOP_ESHAPE, "x of model 3 has another dtype");
	assert_null(all.layer[0].w);
	m[3].x = NULL;
	says(hop_stack_state(ctx, &net_tree, N, list, &all), HOP_EUSE, "x of model 3 is missing");
	m[3].x = m[3].layer[1].w;
	m[3].layer[1].w = w;
	says(hop_stack_state(ctx, &net_tree, 0, list, &all), HOP_EVALUE, "0 models");
	assert_int_equal(hop_stack_state(NULL, &net_tree, 1, list, &all), HOP_EUSE);
	struct rig r = { .f = sum_both, .nin = 4, .nout = 2,
	                 .in = { vec(2, (double[]){ 1, 2 }), num(3), vec(2, (double[]){ 4, 5 }), num(6) },
	                 .want = { (double[]){ 1, 2, 4, 5 }, (double[]){ 3, 6 } }, .n = { 4, 2 } };
	rig_run(&r);
	for (int i = 0; i < N; i++)
		hop_tree_release(&net_tree, &m[i]);
	hop_fn_release(f);
	hop_fn_release(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions), cmocka_unit_test(jits), cmocka_unit_test(keys),
		cmocka_unit_test(bodies), cmocka_unit_test(replaced), cmocka_unit_test(ensembles),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
