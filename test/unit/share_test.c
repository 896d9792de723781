/* share_test.c -- bodies that are equal are one graph, compiled once, whatever they are called and
 * wherever they stand; after derivatives, batches and passes as well. Counts graphs and functions of
 * the loop program; what they compute is compared with the same layers without regions. */
#include "trace_rig.h"

#include "data/fn.h"
#include "driver/pipeline.h"
#include "loop/lower.h"

enum { LAYERS = 12, WIDTH = 48, NIN = 1 + 2 * LAYERS, LANES = 3 };

/* ---- counting ---- */

/* Graphs that calls have as bodies, each once; calls of them in graphs that are each counted once. */
struct tally {
	int              n, calls, nseen;
	const hop_graph *g[64], *seen[256];
};

static bool among(const hop_graph *g, int n, const hop_graph *const *all)
{
	for (int i = 0; i < n; i++)
		if (all[i] == g)
			return true;
	return false;
}

static void tally_graph(struct tally *a, const hop_graph *g)
{
	if (among(g, a->nseen, a->seen))
		return;
	assert_true(a->nseen < 256);
	a->seen[a->nseen++] = g;
	for (uint32_t i = 0; i < g->nnode; i++) {
		hop_graphs sub = hop_node_subs(&g->node[i]);
		for (int64_t k = 0; k < sub.n; k++) {
			if (!sub.v[k])
				continue;
			tally_graph(a, sub.v[k]);
			if (g->node[i].op != HOP_OP_call)
				continue;
			a->calls++;
			assert_true(a->n < 64);
			if (!among(sub.v[k], a->n, a->g))
				a->g[a->n++] = sub.v[k];
		}
	}
}

struct counted { int bodies, calls, opt_bodies, opt_calls, funcs; };

static struct counted count(hop_fn *f)
{
	struct tally before = { 0 }, after = { 0 };
	const hop_graph *opt;
	hop_prog *p;
	hop_env e;
	hop_frame fr;
	struct counted r;
	tally_graph(&before, f->g);
	hop_env_init(&e, ctx, hop_ctx_mem(ctx));
	if (HOP_GUARD(&e, &fr))
		fail_msg("no memory");
	assert_int_equal(hop_pipeline_run(&e, f->g, false, &opt), HOP_OK);
	tally_graph(&after, opt);
	assert_int_equal(hop_lower_graph(&e, opt, &(hop_lower_opts){ 0 }, &p), HOP_OK);
	r = (struct counted){ before.n, before.calls, after.n, after.calls, p->nfunc };
	hop_prog_free(p, &e.mem);
	hop_guard_end(&e, &fr);
	hop_env_fini(&e);
	return r;
}

/* ---- twelve layers ---- */

/* How a layer is written: all of them compute the same. */
struct net {
	bool unused;                   /* every second layer is given more than it uses */
	bool aux;                      /* a second result, which only the last call's reader wants */
	bool constants;                /* every layer has a tensor of its own, of equal contents */
	bool named_alike;              /* one name, else one each */
};

struct layer { hop_value W, b; const struct net *net; };

/* On one line or on two, operands met in this order or that: neither is part of a body. */
static void layer_even(hop_trace *t, const hop_value *in, void *user)
{
	const struct layer *m = user;
	hop_value h = hop_add(t, hop_matmul(t, in[0], m->W), m->b);
	hop_value d = hop_sub(t, h, hop_mean(t, h, 1, (int[]){ 0 }));
	hop_value v = hop_mean(t, hop_mul(t, d, d), 1, (int[]){ 0 });
	hop_value s = hop_mul(t, d, hop_rsqrt(t, hop_add(t, v, hop_f(t, 1e-3))));
	if (m->net->constants)
		s = hop_mul(t, s, hop_full(t, HOP_f64, 1, (hop_dim[]){ hop_n(WIDTH) }, 0.5));
	hop_value y = hop_add(t, in[0], hop_gelu(t, hop_sigmoid(t, s)));
	if (m->net->aux)
		hop_return(t, y, hop_sum_all(t, hop_mul(t, y, y)));
	else
		hop_return(t, y);
}

static void layer_odd(hop_trace *t, const hop_value *in, void *user)
{
	const struct layer *m = user;
	hop_value x = in[0], bias = m->b, eps = hop_f(t, 1e-3);
	hop_exp(t, x);                                       /* nobody asks for it */
	hop_value h = hop_matmul(t, x, m->W);
	h = hop_add(t, h, bias);
	hop_value mean = hop_mean(t, h, 1, (int[]){ 0 });
	hop_value d = hop_sub(t, h, mean);
	hop_value v = hop_mean(t, hop_mul(t, d, d), 1, (int[]){ 0 });
	hop_value s = hop_mul(t, d, hop_rsqrt(t, hop_add(t, v, eps)));
	if (m->net->constants)
		s = hop_mul(t, s, hop_full(t, HOP_f64, 1, (hop_dim[]){ hop_n(WIDTH) }, 0.5));
	hop_value y = hop_add(t, x, hop_gelu(t, hop_sigmoid(t, s)));
	if (m->net->aux)
		hop_return(t, y, hop_sum_all(t, hop_mul(t, y, y)));
	else
		hop_return(t, y);
}

static void forward(hop_trace *t, const hop_value *in, void *user)
{
	const struct net *net = user;
	hop_value x = in[0], out[2] = { { 0, 0 } };
	for (int i = 0; i < LAYERS; i++) {
		char name[16];
		snprintf(name, sizeof name, net->named_alike ? "layer" : "layer%d", i);
		struct layer m = { in[1 + 2 * i], in[2 + 2 * i], net };
		hop_value arg[3] = { x, in[0], in[NIN - 1] };
		hop_region(t, name, i % 2 ? layer_odd : layer_even, &m, net->unused && i % 2 ? 3 : 1, arg,
		           2, out);
		x = out[0];
	}
	hop_return(t, net->aux ? hop_add(t, hop_sum_all(t, x), out[1]) : hop_sum_all(t, x));
}

/* The same, written out. */
static void plain(hop_trace *t, const hop_value *in, void *user)
{
	const struct net *net = user;
	hop_value x = in[0];
	for (int i = 0; i < LAYERS; i++) {
		hop_value h = hop_add(t, hop_matmul(t, x, in[1 + 2 * i]), in[2 + 2 * i]);
		hop_value d = hop_sub(t, h, hop_mean(t, h, 1, (int[]){ 0 }));
		hop_value v = hop_mean(t, hop_mul(t, d, d), 1, (int[]){ 0 });
		hop_value s = hop_mul(t, d, hop_rsqrt(t, hop_add(t, v, hop_f(t, 1e-3))));
		x = hop_add(t, x, hop_gelu(t, hop_sigmoid(t, net->constants ? hop_mulf(t, s, 0.5) : s)));
	}
	hop_value y = hop_sum_all(t, x);
	hop_return(t, net->aux ? hop_add(t, y, hop_sum_all(t, hop_mul(t, x, x))) : y);
}

/* ---- derivatives and batches of it ---- */

enum way { FORWARD, GRAD, VMAP, VMAP_GRAD, GRAD_VMAP, NWAY };

/* Lanes are of the first input alone: the weights are shared. */
static void lanes_summed(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y, v[NIN];
	memcpy(v, in, sizeof v);
	hop_apply(t, user, NIN, v, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}

static hop_fn *capture(hop_body *f, void *user, bool lanes)
{
	hop_spec in[NIN];
	hop_fn *r;
	in[0] = lanes ? hop_spec2(HOP_f64, LANES, WIDTH) : hop_spec1(HOP_f64, WIDTH);
	for (int i = 0; i < LAYERS; i++) {
		in[1 + 2 * i] = hop_spec2(HOP_f64, WIDTH, WIDTH);
		in[2 + 2 * i] = hop_spec1(HOP_f64, WIDTH);
	}
	if (hop_capture(ctx, f, user, NIN, in, &r))
		fail_msg("capture: %s", hop_message(ctx));
	return r;
}

static hop_fn *made(hop_body *f, struct net *net, enum way way)
{
	static const bool batched[NIN] = { true };
	int wrt[NIN];
	hop_fn *one = capture(f, net, false), *r = one;
	for (int i = 0; i < NIN; i++)
		wrt[i] = i;
	if (way == GRAD || way == VMAP_GRAD) {
		assert_int_equal(hop_grad(one, NIN, wrt, &r), HOP_OK);
		hop_fn_release(one);
		one = r;
	}
	if (way == VMAP || way == VMAP_GRAD || way == GRAD_VMAP) {
		assert_int_equal(hop_vmap(one, batched, LANES, &r), HOP_OK);
		hop_fn_release(one);
		one = r;
	}
	if (way == GRAD_VMAP) {
		hop_fn *sum = capture(lanes_summed, one, true);
		assert_int_equal(hop_grad(sum, NIN, wrt, &r), HOP_OK);
		hop_fn_release(sum);
		hop_fn_release(one);
	}
	return r;
}

static hop_array *filled(int rank, const int64_t *dim, int seed, double scale)
{
	hop_array *a = array(HOP_f64, rank, dim, NULL);
	double *p = hop_array_data(a);
	for (int64_t i = 0; i < hop_array_count(a); i++)
		p[i] = scale * sin(1.7 * (double)i + seed);
	return a;
}

static void agree(hop_fn *a, hop_fn *b, bool lanes)
{
	hop_array *in[NIN], *x[1 + NIN], *y[1 + NIN];
	int n = hop_fn_nout(a);
	assert_int_equal(n, hop_fn_nout(b));
	in[0] = filled(lanes ? 2 : 1, lanes ? (int64_t[]){ LANES, WIDTH } : (int64_t[]){ WIDTH }, 1, 1);
	for (int i = 0; i < LAYERS; i++) {
		in[1 + 2 * i] = filled(2, (int64_t[]){ WIDTH, WIDTH }, 3 + i, 0.2);
		in[2 + 2 * i] = filled(1, (int64_t[]){ WIDTH }, 40 + i, 0.1);
	}
	if (hop_call(a, NIN, in, n, x) || hop_call(b, NIN, in, n, y))
		fail_msg("%s", hop_message(ctx));
	for (int k = 0; k < n; k++) {
		same(x[k], hop_array_data(y[k]), hop_array_count(y[k]));
		hop_array_release(x[k]);
		hop_array_release(y[k]);
	}
	for (int i = 0; i < NIN; i++)
		hop_array_release(in[i]);
}

/* One body forward, one in reverse; more where the layer at an end is asked for something else, or
 * is given something else: in reverse, what comes back is the same for all lanes there. What is left
 * is compiled once: a function each, beside the entry. */
static void one_body(struct net net, const char *what, int more)
{
	for (enum way w = FORWARD; w < NWAY; w++) {
		bool reverse = w == GRAD || w == VMAP_GRAD || w == GRAD_VMAP;
		bool lanes = w == VMAP || w == VMAP_GRAD || w == GRAD_VMAP;
		hop_fn *f = made(forward, &net, w), *g = made(plain, &net, w);
		struct counted c = count(f);
		int most = reverse ? 2 : 1;
		print_message("%s, way %d: %d bodies for %d calls, optimised %d for %d, %d functions\n", what,
		              w, c.bodies, c.calls, c.opt_bodies, c.opt_calls, c.funcs);
		assert_true(c.calls >= most * LAYERS);
		assert_in_range(c.bodies, most, most + 2 * more + (w == VMAP_GRAD) + 2 * (w == GRAD_VMAP));
		assert_in_range(c.opt_bodies, most, most + more);
		assert_true(c.opt_calls >= most * (LAYERS - 2));
		assert_int_equal(c.funcs, 1 + most);
		agree(f, g, lanes);
		hop_fn_release(f);
		hop_fn_release(g);
	}
}

static void layers_are_one(void **state)
{
	(void)state;
	one_body((struct net){ .named_alike = true }, "plain", 0);
}

static void names_and_lines(void **state)
{
	(void)state;
	one_body((struct net){ 0 }, "names", 0);
}

static void unused_arguments(void **state)
{
	(void)state;
	one_body((struct net){ .unused = true }, "unused", 0);
}

static void equal_constants(void **state)
{
	(void)state;
	one_body((struct net){ .constants = true }, "constants", 0);
}

static void unread_results(void **state)
{
	(void)state;
	one_body((struct net){ .aux = true }, "aux", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layers_are_one), cmocka_unit_test(names_and_lines),
		cmocka_unit_test(unused_arguments), cmocka_unit_test(equal_constants),
		cmocka_unit_test(unread_results),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
