/* struct_test.c -- structs that are declared once: specs, arrays, captures, calls by name; and every
 * way to declare or use them wrongly. Files are in npz_test.c and safetensors_test.c. */
#include "trace_rig.h"

#define LAYER(has) \
	has(LEAF, w, "f64[d#, d#+1]") \
	has(LEAF, b, "f64[d#+1]")
HOP_STRUCT(layer, LAYER);

#define NET(has) \
	has(NODES, layer, 3, layer) \
	has(LEAF, scale, "f64")
HOP_STRUCT(net, NET);

#define TASK(has) \
	has(NODE, net, net) \
	has(LEAF, x, "f64[batch, d0]") \
	has(LEAF, y, "f64[batch, d3]")
HOP_STRUCT(task, TASK);

#define GRAD(has) has(NODE, net, net)
HOP_STRUCT(grad, GRAD);
#define STEP(has) \
	has(NODE, grad, grad) \
	has(LEAF, loss, NULL)
HOP_STRUCT(step, STEP);

static const hop_named_size small[] = { { "d0", 2 }, { "d1", 4 }, { "d2", 3 }, { "d3", 1 },
	{ "batch", 5 }, { NULL, 0 } };

static void said(hop_status st, hop_status want, const char *words)
{
	if (st != want || !strstr(hop_message(ctx), words))
		fail_msg("%d: %s lacks: %s", st, hop_message(ctx), words);
}

/* ---- declaring ---- */

static void shapes_of_the_struct(void **state)
{
	char path[40];
	(void)state;
	assert_int_equal(sizeof(struct task), 9 * sizeof(hop_value));
	assert_int_equal(sizeof(struct task_arrays), 9 * sizeof(hop_array *));
	assert_int_equal(task_tree.count, 9);
	assert_int_equal(hop_tree_count(&task_tree), 9);
	assert_true(hop_tree_path(&task_tree, 3, path, sizeof path));
	assert_string_equal(path, "net.layer[1].b");
	for (int i = 0; i < 9; i++) {
		assert_true(hop_tree_path(&task_tree, i, path, sizeof path));
		assert_int_equal(hop_tree_find(&task_tree, path), i);
	}
	assert_int_equal(hop_tree_find(&task_tree, "net"), -1);
}

static void specs(void **state)
{
	hop_spec s[9];
	(void)state;
	assert_int_equal(hop_tree_specs(ctx, &task_tree, NULL, s), HOP_OK);
	assert_int_equal(s[2].dtype, HOP_f64);
	assert_int_equal(s[2].rank, 2);
	assert_string_equal(s[2].sym[0], "d1");            /* net.layer[1].w */
	assert_string_equal(s[2].sym[1], "d2");
	assert_ptr_equal(s[2].sym[0], s[0].sym[1]);
	assert_int_equal(s[6].rank, 0);                    /* net.scale */
	assert_string_equal(s[7].sym[0], "batch");
	assert_int_equal(hop_tree_specs(ctx, &task_tree, small, s), HOP_OK);
	assert_null(s[2].sym[0]);
	assert_int_equal(s[2].dim[0], 4);
	assert_int_equal(s[2].dim[1], 3);
	assert_int_equal(hop_tree_specs(ctx, &task_tree, HOP_SIZES({ "batch", 0 }), s), HOP_OK);
	assert_null(s[7].sym[0]);
	assert_int_equal(s[7].dim[0], 0);
	assert_string_equal(s[7].sym[1], "d0");
}

/* Types as text, one leaf a tree. */
static hop_status one(const char *type, int n, const hop_named_size *sizes, hop_spec *out)
{
	hop_field_name field[] = { { "x", NULL, n, type } };
	hop_tree tree = { n ? n : 1, NULL, 1, field };
	return hop_tree_specs(ctx, &tree, sizes, out);
}

static void types(void **state)
{
	hop_spec s[3];
	(void)state;
	assert_int_equal(one("bf16[ n: 2..8 , 3,m:1..]", 0, NULL, s), HOP_OK);
	assert_int_equal(s->dtype, HOP_bf16);
	assert_int_equal(s->rank, 3);
	assert_string_equal(s->sym[0], "n");
	assert_int_equal(s->dim[0], 2);
	assert_int_equal(s->max[0], 8);
	assert_int_equal(s->dim[1], 3);
	assert_int_equal(s->dim[2], 1);
	assert_int_equal(s->max[2], 0);
	assert_int_equal(one("i64[a_#x, n#+10]", 3, HOP_SIZES({ "a_2x", 7 }), s), HOP_OK);
	assert_string_equal(s[0].sym[0], "a_0x");
	assert_int_equal(s[2].dim[0], 7);
	assert_string_equal(s[2].sym[1], "n12");
	assert_int_equal(one("bool[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", 0, NULL, s), HOP_OK);
	assert_int_equal(s->rank, 16);
}

static void bad_types(void **state)
{
	static const struct { const char *type, *words; } cases[] = {
		{ "", "begin with a dtype" }, { "f33", "begin with a dtype" }, { "[3]", "begin with" },
		{ "f32[", "number or a name" }, { "f32[]", "number or a name" },
		{ "f32[3", "written f32[n, 4]" }, { "f32[3,]", "number or a name" },
		{ "f32[3]x", "written f32[n, 4]" }, { "f32 [3]", "written f32[n, 4]" },
		{ "f32[3 4]", "written f32[n, 4]" }, { "f32[-1]", "number or a name" },
		{ "f32[3n]", "begin with a digit" }, { "f32[n+1]", "written f32[n, 4]" },
		{ "f32[d#]", "it is in none" }, { "f32[n:]", "number or a name" },
		{ "f32[n: 1]", "bounds are written" }, { "f32[n: 1.]", "bounds are written" },
		{ "f32[999999999999999999999]", "too large" }, { "f32[n: 0..99999999999999999999]",
		"too large" },
		{ "f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "too many axes" }, { NULL, "without a type" },
	};
	hop_spec s[1];
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		hop_status st = one(cases[i].type, 0, NULL, s);
		said(st, cases[i].type ? HOP_EVALUE : HOP_EUSE, cases[i].words);
		assert_non_null(strstr(hop_message(ctx), "x is declared"));
	}
	said(one("f32[n: 2..8]", 0, HOP_SIZES({ "n", 9 }), s), HOP_EVALUE, "size n is 9");
	said(one("f32[n: 2..8]", 0, HOP_SIZES({ "n", 1 }), s), HOP_EVALUE, "size n is 1");
	said(one("f32[n]", 0, HOP_SIZES({ "n", -1 }), s), HOP_EVALUE, "size n is -1");
	said(one("f32[n]", 0, HOP_SIZES({ "n", INT64_MAX }), s), HOP_EVALUE, "size n is");
}

static void bad_trees(void **state)
{
	hop_spec s[1];
	hop_array *a[3];
	hop_fn *f;
	hop_tree few = { 3, "a, b", 0, NULL }, twice = { 2, "a, a", 0, NULL };
	(void)state;
	said(hop_tree_specs(ctx, NULL, NULL, s), HOP_EUSE, "no tree was given");
	said(hop_tree_specs(ctx, &few, NULL, s), HOP_EUSE, "names 2 values, its struct has 3");
	said(hop_tree_new(ctx, &few, NULL, a), HOP_EUSE, "names 2 values");
	said(hop_tree_new(ctx, &twice, NULL, a), HOP_EUSE, "a is declared without a type");
	said(hop_capture_tree(ctx, NULL, NULL, NULL, NULL, &f), HOP_EUSE, "capture: no tree");
	said(hop_capture_tree(ctx, NULL, NULL, &few, NULL, &f), HOP_EUSE, "capture: the tree names 2");
	assert_null(f);
	assert_int_equal(hop_tree_specs(NULL, &few, NULL, s), HOP_EUSE);
	assert_int_equal(hop_tree_specs(ctx, &few, NULL, NULL), HOP_EUSE);
	hop_tree_release(NULL, a);
	hop_tree_release(&few, NULL);
	hop_field_name same[] = { { "a", NULL, 0, "f32" }, { "a", NULL, 0, "f32" } };
	hop_tree both = { 2, NULL, 2, same };
	said(hop_capture_tree(ctx, NULL, NULL, &both, NULL, &f), HOP_EVALUE, "two values are called a");
}

static void arrays(void **state)
{
	struct net_arrays p;
	(void)state;
	assert_int_equal(hop_tree_new(ctx, &net_tree, small, &p), HOP_OK);
	assert_int_equal(hop_array_rank(p.layer[2].w), 2);
	assert_int_equal(hop_array_dims(p.layer[2].w)[0], 3);
	assert_int_equal(hop_array_count(p.layer[1].w), 12);
	assert_int_equal(hop_array_rank(p.scale), 0);
	assert_true(hop_array_at(p.scale, 0) == 0);
	hop_tree_release(&net_tree, &p);
	assert_null(p.layer[0].w);
	hop_tree_release(&net_tree, &p);                   /* again: nothing to do */
	said(hop_tree_new(ctx, &net_tree, HOP_SIZES({ "d0", 1 }, { "d1", 2 }), &p), HOP_EVALUE,
	     "size d2 of layer[1].w is not given");
	assert_null(p.layer[0].w);
	assert_null(p.scale);
}

/* ---- a network: declared, captured, differentiated, called ---- */

static hop_value forward(hop_trace *t, const struct net *p, hop_value h)
{
	for (int i = 0; i < 3; i++) {
		h = hop_add(t, hop_matmul(t, h, p->layer[i].w), p->layer[i].b);
		if (i < 2)
			h = hop_tanh(t, h);
	}
	return hop_mul(t, h, p->scale);
}

static void loss(hop_trace *t, const hop_value *in, void *user)
{
	const struct task *k = HOP_IN(struct task, in);
	hop_value e = hop_sub(t, forward(t, &k->net, k->x), k->y);
	(void)user;
	hop_return_named(t, "loss, worst", hop_mean(t, hop_mul(t, e, e), 0, NULL),
	                 hop_amax(t, hop_abs(t, e), 0, NULL));
}

static void fill(hop_array *a, unsigned seed)
{
	double *p = hop_array_data(a);
	for (int64_t i = 0; i < hop_array_count(a); i++) {
		seed = seed * 1103515245u + 12345u;
		p[i] = (double)(seed >> 16 & 1023) / 512 - 1;
	}
}

static void make_task(struct task_arrays *k)
{
	hop_array **a = (hop_array **)k;
	assert_int_equal(hop_tree_new(ctx, &task_tree, small, k), HOP_OK);
	for (int i = 0; i < task_tree.count; i++)
		fill(a[i], 7u * (unsigned)i + 1);
}

/* The loss in plain C. */
static double plain(const struct task_arrays *k)
{
	double sum = 0;
	for (int r = 0; r < 5; r++) {
		double h[4] = { hop_array_at(k->x, 2 * r), hop_array_at(k->x, 2 * r + 1) };
		int n = 2;
		for (int l = 0; l < 3; l++) {
			const hop_array *w = k->net.layer[l].w;
			int m = (int)hop_array_dims(w)[1];
			double out[4] = { 0 };
			for (int j = 0; j < m; j++) {
				out[j] = hop_array_at(k->net.layer[l].b, j);
				for (int i = 0; i < n; i++)
					out[j] += h[i] * hop_array_at(w, i * m + j);
				if (l < 2)
					out[j] = tanh(out[j]);
			}
			memcpy(h, out, sizeof h);
			n = m;
		}
		double e = h[0] * hop_array_at(k->net.scale, 0) - hop_array_at(k->y, r);
		sum += e * e;
	}
	return sum / 5;
}

/* Every element of every gradient against differences; captured with sizes and with symbols. */
static void network(void **state)
{
	(void)state;
	for (int way = 0; way < 2; way++) {
		struct task_arrays k;
		struct step_arrays out;
		hop_fn *f, *g;
		int wrt[9], n;
		make_task(&k);
		if (hop_capture_tree(ctx, loss, NULL, &task_tree, way ? small : NULL, &f))
			fail_msg("%s", hop_message(ctx));
		assert_int_equal(n = hop_fn_inputs(f, "net", 9, wrt), 7);
		assert_int_equal(hop_grad(f, n, wrt, &g), HOP_OK);
		if (hop_call_tree(g, &task_tree, &k, &step_tree, &out))
			fail_msg("%s", hop_message(ctx));
		assert_true(fabs(hop_array_at(out.loss, 0) - plain(&k)) < 1e-12);
		hop_array **p = (hop_array **)&k.net, **d = (hop_array **)&out.grad.net;
		for (int i = 0; i < 7; i++)
			for (int64_t j = 0; j < hop_array_count(p[i]); j++) {
				double *at = (double *)hop_array_data(p[i]) + j, was = *at, eps = 1e-6;
				*at = was + eps;
				double up = plain(&k);
				*at = was - eps;
				double slope = (up - plain(&k)) / (2 * eps);
				*at = was;
				if (fabs(slope - hop_array_at(d[i], j)) > 1e-7 * (1 + fabs(slope)))
					fail_msg("gradient %d[%d]: %g, not %g", i, (int)j, hop_array_at(d[i], j), slope);
			}
		hop_tree_release(&step_tree, &out);
		hop_tree_release(&task_tree, &k);
		hop_fn_release(f);
		hop_fn_release(g);
	}
}

/* Batched and then summed over lanes: the same names, the values of a loop. */
static void batched(void **state)
{
	struct task_arrays k, lane;
	struct { hop_array *loss; } out;
	static const hop_tree loss_tree = { 1, "loss", 0, NULL };
	bool in[9] = { false };
	hop_fn *f, *v;
	(void)state;
	make_task(&k);
	assert_int_equal(hop_capture_tree(ctx, loss, NULL, &task_tree, small, &f), HOP_OK);
	in[hop_fn_input(f, "net.scale")] = true;
	assert_int_equal(hop_vmap(f, in, 3, &v), HOP_OK);
	double scales[3] = { 0.5, -1, 2 };
	lane = k;
	lane.net.scale = vec(3, scales);
	if (hop_call_tree(v, &task_tree, &lane, &loss_tree, &out))
		fail_msg("%s", hop_message(ctx));
	for (int i = 0; i < 3; i++) {
		*(double *)hop_array_data(k.net.scale) = scales[i];
		assert_true(fabs(plain(&k) - hop_array_at(out.loss, i)) < 1e-12);
	}
	hop_array_release(out.loss);
	hop_array_release(lane.net.scale);
	hop_tree_release(&task_tree, &k);
	hop_fn_release(f);
	hop_fn_release(v);
}

/* Inputs that are written; results that are not wanted. */
static void descend(hop_trace *t, const hop_value *in, void *user)
{
	const struct net *p = HOP_IN(struct net, in);
	const hop_value *v = in;
	struct net next;
	hop_tree_axpy(t, &net_tree, hop_f(t, -0.5), v, v, (hop_value *)&next);
	(void)user;
	hop_mul_(t, p->scale, hop_f(t, 3));
	hop_return_tree(t, &net_tree, &next);
}

static void written(void **state)
{
	struct net_arrays p, half;
	hop_fn *f;
	(void)state;
	assert_int_equal(hop_tree_new(ctx, &net_tree, small, &p), HOP_OK);
	fill(p.layer[1].b, 3);
	*(double *)hop_array_data(p.scale) = 1;
	if (hop_capture_tree(ctx, descend, NULL, &net_tree, NULL, &f))
		fail_msg("%s", hop_message(ctx));
	assert_int_equal(hop_call_tree(f, &net_tree, &p, &net_tree, &half), HOP_OK);
	for (int i = 0; i < 3; i++)
		assert_true(hop_array_at(half.layer[1].b, i) == hop_array_at(p.layer[1].b, i) / 2);
	assert_true(hop_array_at(half.scale, 0) == 0.5);
	assert_true(hop_array_at(p.scale, 0) == 3);
	assert_int_equal(hop_call_tree(f, &net_tree, &p, NULL, NULL), HOP_OK);
	assert_true(hop_array_at(p.scale, 0) == 9);
	hop_tree_release(&net_tree, &half);
	hop_tree_release(&net_tree, &p);
	hop_fn_release(f);
}

/* ---- mistakes of calls ---- */

static void two(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0], in[1]);
}

static void bad_calls(void **state)
{
	struct task_arrays k;
	struct step_arrays out;
	hop_array *pair[2], *got[2];
	static const hop_tree more_tree = { 3, "loss, grad, worst", 0, NULL };
	static const hop_tree ab = { 2, "a, b", 0, NULL };
	hop_spec s[2] = { hop_spec0(HOP_f64), hop_spec0(HOP_f64) };
	hop_array *more[3] = { (hop_array *)1, (hop_array *)1, (hop_array *)1 };
	hop_fn *f, *plain_fn;
	(void)state;
	make_task(&k);
	assert_int_equal(hop_capture_tree(ctx, loss, NULL, &task_tree, small, &f), HOP_OK);
	said(hop_call_tree(f, &task_tree, &k, &more_tree, more), HOP_EUSE,
	     "the function has no result grad");
	assert_null(more[0]);
	said(hop_call_tree(f, &net_tree, &k.net, NULL, NULL), HOP_EUSE, "has no input layer[0].w");
	said(hop_call_tree(f, NULL, NULL, NULL, NULL), HOP_EUSE, "no tree was given");
	said(hop_call_tree(f, &task_tree, &k, &step_tree, &out), HOP_EUSE,
	     "the function has no result grad.net.layer[0].w");
	assert_int_equal(hop_call_tree(NULL, &task_tree, &k, NULL, NULL), HOP_EUSE);
	assert_int_equal(hop_call_tree(f, &task_tree, NULL, NULL, NULL), HOP_EUSE);
	hop_array *was = k.net.layer[1].w;
	k.net.layer[1].w = num_i(3);
	said(hop_call_tree(f, &task_tree, &k, NULL, NULL), HOP_ETYPE,
	     "input 2 (net.layer[1].w) is i64, the function takes f64");
	hop_array_release(k.net.layer[1].w);
	k.net.layer[1].w = num(3);
	said(hop_call_tree(f, &task_tree, &k, NULL, NULL), HOP_ESHAPE,
	     "parameter 2 (net.layer[1].w) has rank 2");
	hop_array_release(k.net.layer[1].w);
	k.net.layer[1].w = NULL;
	said(hop_call_tree(f, &task_tree, &k, NULL, NULL), HOP_EUSE,
	     "input 2 (net.layer[1].w) is missing");
	k.net.layer[1].w = hop_array_retain(k.net.layer[0].w);
	said(hop_call_tree(f, &task_tree, &k, NULL, NULL), HOP_ESHAPE,
	     "parameter 2 (net.layer[1].w) is f64[4, 3], but dimension 0 of the argument is 2");
	hop_array_release(k.net.layer[1].w);
	k.net.layer[1].w = was;
	assert_int_equal(hop_capture(ctx, two, NULL, 2, s, &plain_fn), HOP_OK);
	pair[0] = pair[1] = k.net.scale;
	said(hop_call_tree(plain_fn, &ab, pair, NULL, NULL), HOP_EUSE, "has no input a");
	static const hop_tree none = { 0, "", 0, NULL };
	said(hop_call_tree(plain_fn, &none, NULL, NULL, NULL), HOP_EUSE, "input 0 has no name");
	assert_int_equal(hop_call(plain_fn, 2, pair, 2, got), HOP_OK);
	hop_array_release(got[0]);
	hop_array_release(got[1]);
	hop_tree_release(&task_tree, &k);
	hop_fn_release(f);
	hop_fn_release(plain_fn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes_of_the_struct), cmocka_unit_test(specs),
		cmocka_unit_test(types), cmocka_unit_test(bad_types), cmocka_unit_test(bad_trees),
		cmocka_unit_test(arrays), cmocka_unit_test(network), cmocka_unit_test(batched),
		cmocka_unit_test(written), cmocka_unit_test(bad_calls),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}

#undef LAYER
#undef NET
#undef TASK
#undef GRAD
#undef STEP
