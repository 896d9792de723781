/* keyed_test.c -- regions with a key: how often a body is run, what decides that it is run again,
 * and what a body that is not run may not depend on. Values are compared with plain C; derivatives
 * and batches with those of the same region without a key. */
#include "trace_rig.h"

#include "data/fn.h"

enum { LAYERS = 12 };

static int runs, inner_runs;

static hop_fn *capture(hop_body *f, void *user, int nin, const hop_spec *in)
{
	hop_fn *r;
	if (hop_capture(ctx, f, user, nin, in, &r))
		fail_msg("capture: %s", hop_message(ctx));
	return r;
}

static void refused(hop_body *f, void *user, int nin, const hop_spec *in, hop_status st,
                    const char *words)
{
	hop_fn *r;
	assert_int_equal(hop_capture(ctx, f, user, nin, in, &r), st);
	if (!strstr(hop_message(ctx), words))
		fail_msg("%s", hop_message(ctx));
}

static int graphs_named(hop_fn *f, const char *name)
{
	int n = 0;
	for (const char *s = hop_fn_text(f); (s = strstr(s, name)); s++)
		n++;
	return n;
}

/* ---- layers ---- */

struct net {
	bool keyed, check;
	int  depth;                    /* ops of a layer: static data */
};

static void layer(hop_trace *t, const hop_value *in, void *user)
{
	const struct net *net = user;
	hop_value x = in[0];
	runs++;
	for (int i = 0; i < net->depth; i++)
		x = hop_tanh(t, hop_mul(t, x, in[1]));
	hop_return(t, x);
}

static void layers(hop_trace *t, const hop_value *in, void *user)
{
	struct net *net = user;
	hop_value x = in[0];
	for (int i = 0; i < LAYERS; i++) {
		char name[16];
		snprintf(name, sizeof name, "layer%d", i);
		hop_value arg[2] = { x, hop_index(t, in[1], 0, i) };
		if (net->keyed)
			hop_region_keyed(t, name, layer, net,
			                 HOP_REGION_OPTS(.statics = { HOP_STATIC(&net->depth, sizeof(int)) },
			                                 .check = net->check), 2, arg, 1, &x);
		else
			hop_region(t, name, layer, net, 2, arg, 1, &x);
	}
	hop_return(t, hop_sum_all(t, x));
}

static void run_once(void **state)
{
	(void)state;
	double w[LAYERS], x = 0.7, want = x;
	for (int i = 0; i < LAYERS; i++) {
		w[i] = 0.5 + 0.1 * i;
		for (int k = 0; k < 3; k++)
			want = tanh(want * w[i]);
	}
	struct net keyed = { .keyed = true, .depth = 3 }, plain = { .depth = 3 };
	rig_run(&(struct rig){ .f = layers, .user = &keyed, .nin = 2, .nout = 1,
	                       .in = { num(x), vec(LAYERS, w) }, .want = { &want }, .n = { 1 } });
	hop_spec in[2] = { hop_spec0(HOP_f32), hop_spec1(HOP_f32, LAYERS) };
	runs = 0;
	hop_fn *f = capture(layers, &keyed, 2, in);
	assert_int_equal(runs, 1);
	assert_int_equal(graphs_named(f, "graph @layer"), 1);
	hop_fn *g = capture(layers, &keyed, 2, in);          /* another capture of this context */
	assert_int_equal(runs, 1);
	assert_ptr_equal(f->g, g->g);
	hop_fn_release(g);
	g = capture(layers, &plain, 2, in);
	assert_int_equal(runs, 1 + LAYERS);
	assert_ptr_equal(f->g, g->g);                        /* the same, body by body */
	hop_fn_release(f);
	hop_fn_release(g);
	hop_ctx_trim(ctx);                                   /* forgets */
	runs = 0;
	f = capture(layers, &keyed, 2, in);
	assert_int_equal(runs, 1);
	hop_fn_release(f);
}

/* ---- derivatives, batches ---- */

static void derived(void **state)
{
	(void)state;
	struct net net[2] = { { .depth = 3 }, { .keyed = true, .depth = 3 } };
	hop_spec in[2] = { hop_spec0(HOP_f64), hop_spec1(HOP_f64, LAYERS) };
	int wrt[2] = { 0, 1 };
	bool lanes[2] = { true, false };
	const hop_graph *got[2][3];
	for (int k = 0; k < 2; k++) {
		hop_fn *f = capture(layers, &net[k], 2, in), *g, *v, *both;
		assert_int_equal(hop_grad(f, 2, wrt, &g), HOP_OK);
		assert_int_equal(hop_vmap(f, lanes, 4, &v), HOP_OK);
		assert_int_equal(hop_vmap(g, lanes, 4, &both), HOP_OK);
		got[k][0] = g->g;
		got[k][1] = v->g;
		got[k][2] = both->g;
		hop_fn_release(f);
		hop_fn_release(g);
		hop_fn_release(v);
		hop_fn_release(both);
	}
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(got[0][i], got[1][i]);
}

/* ---- what the key is made of ---- */

static void types_and_statics(void **state)
{
	(void)state;
	struct net net = { .keyed = true, .depth = 2 };
	hop_spec in[2] = { hop_spec1(HOP_f32, 2), hop_spec1(HOP_f32, LAYERS) };
	runs = 0;
	hop_fn *f = capture(layers, &net, 2, in);
	assert_int_equal(runs, 1);
	net.depth = 5;                                       /* static data */
	hop_fn *g = capture(layers, &net, 2, in);
	assert_int_equal(runs, 2);
	assert_ptr_not_equal(f->g, g->g);
	hop_fn_release(g);
	net.depth = 2;
	g = capture(layers, &net, 2, in);
	assert_int_equal(runs, 2);
	assert_ptr_equal(f->g, g->g);
	hop_fn_release(g);
	in[0] = hop_spec1(HOP_f32, 3);                       /* a size */
	hop_fn_release(capture(layers, &net, 2, in));
	assert_int_equal(runs, 3);
	in[0] = hop_spec1(HOP_f64, 3);                       /* a dtype; the first layer's x is another */
	hop_fn_release(capture(layers, &net, 2, in));
	assert_int_equal(runs, 4);
	hop_fn_release(f);
}

static void symbols(void **state)
{
	(void)state;
	struct net net = { .keyed = true, .depth = 2 };
	hop_spec in[2] = { hop_spec_sym(hop_spec1(HOP_f64, 2), 0, "n", 1, 100),
		               hop_spec1(HOP_f64, LAYERS) };
	runs = 0;
	hop_fn *f = capture(layers, &net, 2, in);
	assert_int_equal(runs, 1);
	assert_int_equal(graphs_named(f, "graph @layer"), 1);
	double w[LAYERS], x[3] = { 0.1, 0.2, 0.3 }, want = 0;
	for (int i = 0; i < LAYERS; i++)
		w[i] = 0.9;
	for (int k = 0; k < 3; k++) {
		double y = x[k];
		for (int i = 0; i < 2 * LAYERS; i++)
			y = tanh(y * 0.9);
		want += y;
	}
	hop_array *arg[2] = { vec(3, x), vec(LAYERS, w) }, *out;
	assert_int_equal(hop_call(f, 2, arg, 1, &out), HOP_OK);
	same(out, &want, 1);
	hop_array_release(out);
	hop_array_release(arg[0]);
	hop_array_release(arg[1]);
	hop_fn *g = capture(layers, &net, 2, in);            /* another n: run again, and the same */
	assert_int_equal(runs, 2);
	assert_ptr_equal(f->g, g->g);
	hop_fn_release(f);
	hop_fn_release(g);
}

/* ---- regions inside ---- */

struct pair {
	int  inner, outer;             /* what each of them depends on */
	bool listed;                   /* the outer one lists both */
};

static void inner_body(hop_trace *t, const hop_value *in, void *user)
{
	const struct pair *p = user;
	inner_runs++;
	hop_return(t, p->inner ? hop_sin(t, in[0]) : hop_cos(t, in[0]));
}

static void outer_body(hop_trace *t, const hop_value *in, void *user)
{
	const struct pair *p = user;
	hop_value y;
	runs++;
	hop_region_keyed(t, "inner", inner_body, user,
	                 HOP_REGION_OPTS(.statics = { HOP_STATIC(&p->inner, sizeof p->inner) }), 1, in,
	                 1, &y);
	hop_return(t, p->outer ? hop_neg(t, y) : y);
}

static void nested(hop_trace *t, const hop_value *in, void *user)
{
	struct pair *p = user;
	hop_value x = in[0];
	const hop_region_opts both = { .size = sizeof both, .statics = { HOP_STATIC(p, sizeof *p) } };
	const hop_region_opts own = { .size = sizeof own,
	                              .statics = { HOP_STATIC(&p->outer, sizeof p->outer) } };
	for (int i = 0; i < 3; i++)
		hop_region_keyed(t, "outer", outer_body, user, p->listed ? &both : &own, 1, &x, 1, &x);
	hop_return(t, x);
}

/* The outer region is not used again when only what the inner one depends on has changed. */
static void inner_keys(void **state)
{
	(void)state;
	struct pair p = { .inner = 1 };
	hop_spec in = hop_spec0(HOP_f64);
	double x = 0.4, sines = sin(sin(sin(x))), cosines = cos(cos(cos(x)));
	refused(nested, &p, 1, &in, HOP_EUSE, "region_keyed: static data 0 of region inner is not among "
	        "that of region outer");
	p.listed = true;
	runs = inner_runs = 0;
	rig_run(&(struct rig){ .f = nested, .user = &p, .nin = 1, .nout = 1, .in = { num(x) },
	                       .want = { &sines }, .n = { 1 } });
	assert_int_equal(runs, 1 + 3);                       /* captured, and run eagerly */
	p.inner = 0;
	runs = inner_runs = 0;
	rig_run(&(struct rig){ .f = nested, .user = &p, .nin = 1, .nout = 1, .in = { num(x) },
	                       .want = { &cosines }, .n = { 1 } });
	assert_int_equal(runs, 1 + 3);
	assert_int_equal(inner_runs, 1 + 3);
	p.outer = 1;                                         /* the inner one is as it was */
	runs = inner_runs = 0;
	hop_fn_release(capture(nested, &p, 1, &in));
	assert_int_equal(runs, 1);
	assert_int_equal(inner_runs, 0);
	p.listed = false;
	hop_array *a = num(x), *out;
	assert_int_equal(hop_eager_call(ctx, nested, &p, 1, &a, 1, &out), HOP_EUSE);
	hop_array_release(a);
}

/* ---- what a body may not use ---- */

static hop_value around;
static hop_dim   size_around;
static hop_array *held;

static void uses_value(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_add(t, in[0], around));
}

static void uses_deep(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value x = in[0];
	HOP_IF(t, hop_gt(t, x, hop_f(t, 0)), x)
		x = hop_mul(t, x, around);
	hop_return(t, x);
}

static void uses_array(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_add(t, in[0], hop_use(t, held)));
}

static void uses_size(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_add(t, in[0], hop_cast(t, hop_size_value(t, size_around), HOP_f64)));
}

static void writes_in(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_add_(t, in[0], hop_f(t, 1));
	hop_return(t, in[0]);
}

struct inside { hop_body *body; bool number; };

static void around_it(hop_trace *t, const hop_value *in, void *user)
{
	const struct inside *s = user;
	hop_value y;
	around = s->number ? hop_f(t, 2) : in[1];
	size_around = hop_dim_of(t, in[2], 0);
	hop_region_keyed(t, "part", s->body, NULL, NULL, 1, in, 1, &y);
	hop_return(t, hop_sub(t, y, in[0]));
}

static void outside(void **state)
{
	(void)state;
	hop_spec in[3] = { hop_spec0(HOP_f64), hop_spec0(HOP_f64),
		               hop_spec_sym(hop_spec1(HOP_f64, 2), 0, "n", 1, 100) };
	const char *words = "region part has a key, and uses a value from outside that is not among its "
	                    "inputs";
	double v[2] = { 1, 2 }, one = 1;
	held = num(3);
	for (int number = 0; number < 2; number++) {
		refused(around_it, &(struct inside){ uses_value, number }, 3, in, HOP_EREFUSED, words);
		refused(around_it, &(struct inside){ uses_deep, number }, 3, in, HOP_EREFUSED, words);
	}
	refused(around_it, &(struct inside){ uses_array, false }, 3, in, HOP_EREFUSED, words);
	refused(around_it, &(struct inside){ uses_size, false }, 3, in, HOP_EREFUSED, "region part uses "
	        "a size from outside that none of its inputs has");
	hop_array *a[3] = { num(1), num(2), vec(2, v) }, *out;
	assert_int_equal(hop_eager_call(ctx, around_it, &(struct inside){ uses_value, false }, 3, a, 1,
	                                &out), HOP_EREFUSED);
	for (int i = 0; i < 3; i++)
		hop_array_release(a[i]);
	/* a write to an input stays inside */
	rig_run(&(struct rig){ .f = around_it, .user = &(struct inside){ writes_in, false }, .nin = 3,
	                       .in = { num(1), num(2), vec(2, v) }, .nout = 1, .want = { &one },
	                       .n = { 1 } });
	hop_array_release(held);
}

/* ---- check mode ---- */

struct secret { double k; bool check; };

static void secretly(hop_trace *t, const hop_value *in, void *user)
{
	runs++;
	hop_return(t, hop_mulf(t, in[0], ((const struct secret *)user)->k));
}

static void with_secret(hop_trace *t, const hop_value *in, void *user)
{
	struct secret *s = user;
	hop_value x = in[0];
	for (int i = 0; i < 2; i++) {
		hop_region_keyed(t, "part", secretly, s, HOP_REGION_OPTS(.check = s->check), 1, &x, 1, &x);
		s->k++;
	}
	hop_return(t, x);
}

static void checked(void **state)
{
	(void)state;
	hop_spec in = hop_spec0(HOP_f64);
	struct secret s = { .k = 2 };
	const char *words = "region_keyed: region part gives another body under the same key: it depends "
	                    "on something that is neither static data of it nor a type of an input\n"
	                    "  %1 = constant, value: 2.0 in the one, 3.0 in the other";
	runs = 0;
	hop_fn_release(capture(with_secret, &s, 1, &in));    /* the promise is the caller's */
	assert_int_equal(runs, 1);
	s = (struct secret){ .k = 2, .check = true };
	refused(with_secret, &s, 1, &in, HOP_EUSE, words);
	assert_int_equal(runs, 3);
	s = (struct secret){ .k = 2 };
	assert_int_equal(setenv("HOP_CHECK", "blocks,regions", 1), 0);
	refused(with_secret, &s, 1, &in, HOP_EUSE, words);
	struct net net = { .keyed = true, .depth = 3 };      /* nothing hidden: nothing to refuse */
	hop_spec two[2] = { hop_spec0(HOP_f64), hop_spec1(HOP_f64, LAYERS) };
	runs = 0;
	hop_fn_release(capture(layers, &net, 2, two));
	assert_int_equal(runs, LAYERS);
	assert_int_equal(unsetenv("HOP_CHECK"), 0);
}

/* ---- inside other operators ---- */

static void in_loop(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	HOP_FOR(t, i, 4, x)
		hop_region_keyed(t, "step", layer, user, NULL, 2, (hop_value[]){ x, in[1] }, 1, &x);
	HOP_IF(t, hop_gt(t, x, hop_f(t, 10)), x)
		hop_region_keyed(t, "step", layer, user, NULL, 2, (hop_value[]){ x, in[1] }, 1, &x);
	hop_region_keyed(t, "step", layer, user, NULL, 2, (hop_value[]){ x, hop_f(t, 0.5) }, 1, &x);
	hop_return(t, x);
}

/* One run serves bodies of loops and of branches; a number is a tensor of its own dtype, f32, so
 * that the last call has other types. */
static void in_others(void **state)
{
	(void)state;
	struct net net = { .depth = 3 };
	double want = 0.7;
	for (int i = 0; i < 12; i++)
		want = tanh(want * 1.1);
	for (int i = 0; i < 3; i++)
		want = tanh(want * 0.5);
	runs = 0;
	hop_spec in[2] = { hop_spec0(HOP_f64), hop_spec0(HOP_f64) };
	hop_fn_release(capture(in_loop, &net, 2, in));
	assert_int_equal(runs, 2);
	rig_run(&(struct rig){ .f = in_loop, .user = &net, .nin = 2, .in = { num(0.7), num(1.1) },
	                       .nout = 1, .want = { &want }, .n = { 1 } });
}

/* ---- strict contexts ---- */

static void as_it_is(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0]);
}

static void negated(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_neg(t, in[0]));
}

static void folded(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y;
	hop_cond(t, hop_gt(t, in[0], hop_f(t, 0)), as_it_is, negated, user, 1, in, 1, &y);
	hop_return(t, y);
}

static void magnitude(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y;
	hop_region_keyed(t, "magnitude", folded, user, NULL, 1, in, 1, &y);
	hop_return(t, y);
}

static void both_modes(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x, y[2];
	hop_region_keyed(t, "magnitude", folded, user, NULL, 1, in, 1, &x);
	hop_grad_at(t, magnitude, user, 1, in, 1, (int[]){ 0 }, 2, y);
	hop_return(t, hop_add(t, x, y[1]));
}

/* A branch returns its operand: PyTorch allows that without gradients only, and a body that was
 * captured so is not taken where they are recorded. */
static void strict(void **state)
{
	(void)state;
	hop_ctx *normal = ctx;
	hop_spec in = hop_spec0(HOP_f64);
	hop_fn_release(capture(both_modes, NULL, 1, &in));
	assert_int_equal(hop_ctx_new(HOP_CTX_OPTS(.strict = HOP_STRICT_NO_GRAD), &ctx), HOP_OK);
	hop_fn_release(capture(magnitude, NULL, 1, &in));
	refused(both_modes, NULL, 1, &in, HOP_EREFUSED, "cond: ");
	hop_ctx_free(ctx);
	ctx = normal;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(run_once), cmocka_unit_test(derived), cmocka_unit_test(types_and_statics),
		cmocka_unit_test(symbols), cmocka_unit_test(inner_keys), cmocka_unit_test(outside),
		cmocka_unit_test(checked), cmocka_unit_test(in_others),
		cmocka_unit_test(strict),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
