/* hpp_test.cpp -- hop.hpp: every operator records the graph that its C form does, also two deep;
 * exceptions of bodies; formulas in C++; what owns something frees it. Prints TAP, as the tests
 * in C do. How ops compute is not asked here. */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "hpp_rig.hpp"

static void c_ops(hop_trace *t, const hop_value *in, void *)
{
	static const int one[] = { 1 };
	hop_value x = in[0], y = in[1];
	hop_value a = hop_sub(t, hop_add(t, hop_mul(t, x, y), hop_i(t, 2)), hop_div(t, hop_f(t, 1.5), y));
	hop_value p = hop_and(t, hop_lt(t, x, y), hop_not(t, hop_ge(t, x, hop_i(t, 0))));
	hop_value b = hop_select(t, p, hop_neg(t, a), hop_pow(t, x, hop_i(t, 2)));
	hop_value d = hop_max(t, hop_tanh(t, b), hop_f(t, 0.5));
	hop_return(t, hop_add(t, d, hop_rem(t, x, hop_i(t, 3))), hop_index(t, x, 0, -1),
	           hop_sum(t, hop_unsqueeze(t, x, 0), 1, one));
}

static void operators(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { "n", }), hop::spec(HOP_f32, { "n" }) };
	hop::fn f = hop::capture(c, in, [](value x, value y) {
		value a = x * y + 2 - 1.5 / y;
		value p = (x < y) & ~(x >= 0);
		value b = where(p, -a, pow(x, 2));
		value d = max(tanh(b), 0.5);
		d += x % 3;
		return std::tuple(d, x[-1], sum(unsqueeze(x, 0), { 1 }));
	});
	same(c, in, f, c_ops);
}

static void c_moves(hop_trace *t, const hop_value *in, void *)
{
	hop_value W = in[0], x = in[1], i = in[2];
	const hop_dim six[] = { hop_n(3), hop_n(2) }, one[] = { hop_n(1), hop_n(2) },
	              none[] = { hop_n(0), hop_n(0) };
	const int axes[] = { 1, 0 };
	hop_value pair[] = { W, W }, at[] = { i, i };
	hop_value a = hop_matmul(t, hop_reshape(t, W, 2, six), x);
	hop_value b = hop_permute(t, W, axes), d = hop_transpose(t, b, -2, -1);
	hop_value e = hop_concat(t, 2, pair, 1), f = hop_slice(t, e, 1, hop_n(1), hop_n(2), 2);
	hop_value g = hop_gather(t, W, 0, i), h = hop_dynslice(t, W, at, one);
	hop_value k = hop_pad(t, h, one, none), l = hop_softmax(t, hop_cast(t, k, HOP_f64), -1);
	hop_value m = hop_layer_norm(t, a, HOP_NONE, HOP_NONE, 1e-5);
	hop_return(t, a, d, f, g, l, m, hop_add(t, hop_size_of(t, W, 1), i),
	           hop_uniform(t, i, HOP_f32, 2, six), hop_argmax(t, W, 1),
	           hop_dynupdate(t, W, h, at), hop_zeros_like(t, hop_full(t, HOP_f64, 2, one, 2)),
	           hop_scatter_add(t, x, 0, i, hop_f(t, 1)));
}

static void moves(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { 2, 3 }), hop::spec(HOP_f32, { 2 }),
	                             hop::spec(HOP_i64) };
	hop::fn f = hop::capture(c, in, [](value W, value x, value i) {
		value a = matmul(reshape(W, { 3, 2 }), x);
		value d = transpose(permute(W, { 1, 0 }));
		value e = hop::concat({ W, W }, 1), s = slice(e, 1, 1, 2, 2);
		value g = W[i], h = dynslice(W, { i, i }, { 1, 2 });
		value k = pad(h, { 1, 2 }, { 0, 0 }), l = softmax(cast(k, HOP_f64), -1);
		value u = hop::full(x.t, HOP_f32, {}, 1);
		return std::tuple(a, d, s, g, l, layer_norm(a), size_of(W, 1) + i,
		                  uniform(i, HOP_f32, { 3, 2 }), argmax(W, 1), dynupdate(W, h, { i, i }),
		                  zeros_like(hop::full(x.t, HOP_f64, { 1, 2 }, 2)),
		                  scatter(x, 0, i, u, HOP_SCATTER_ADD));
	});
	same(c, in, f, c_moves);
}

static void c_composites(hop_trace *t, const hop_value *in, void *)
{
	hop_value x = in[0], y = in[1], pair[] = { x, y }, part[2] = {};
	hop_value a = hop_clamp(t, x, hop_i(t, 0), hop_f(t, 0.5)), b = hop_stack_n(t, 2, pair, 1);
	hop_value s = hop_log_softmax(t, b, 1), u = hop_gelu(t, hop_softplus(t, x));
	hop_split_axis(t, x, 0, 2, nullptr, part);
	hop_value v = hop_add(t, hop_leaky_relu(t, x, 0.1), hop_elu(t, y, 2));
	hop_value n = hop_add(t, hop_norm(t, x, 0, nullptr), hop_variance(t, y, 0, nullptr, 0));
	hop_value m = hop_add(t, hop_mse(t, x, y, HOP_LOSS_SUM),
	                      hop_cross_entropy(t, b, in[2], 1, HOP_LOSS_MEAN));
	hop_value l = hop_add(t, hop_arange(t, HOP_f32, hop_n(4)),
	                      hop_linspace(t, HOP_f32, 0, 1, hop_n(4)));
	hop_return(t, a, s, u, v, n, m, hop_mul(t, l, hop_scalar(t, HOP_f64, 3)), part[1],
	           hop_eye(t, HOP_f32, hop_n(2), hop_n(3)), hop_one_hot(t, HOP_f32, in[2], hop_n(5)),
	           hop_cum(t, HOP_CUM_PROD, x, 0, HOP_CUM_REVERSE), hop_cumsum(t, y, 0),
	           hop_logsumexp(t, x, 0));
}

static void composites(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { 4 }), hop::spec(HOP_f32, { 4 }),
	                             hop::spec(HOP_i64, { 4 }) };
	hop::fn f = hop::capture(c, in, [](value x, value y, value i) {
		value a = clamp(x, 0, 0.5), b = hop::stack({ x, y }, 1);
		value l = hop::arange(x.t, HOP_f32, 4) + hop::linspace(x.t, HOP_f32, 0, 1, 4);
		return std::tuple(a, log_softmax(b, 1), gelu(softplus(x)), leaky_relu(x, 0.1) + elu(y, 2),
		                  norm(x) + variance(y, {}, 0), mse(x, y, HOP_LOSS_SUM) + cross_entropy(b, i, 1),
		                  l * hop::scalar(x.t, HOP_f64, 3), split(x, 0, 2)[1],
		                  hop::eye(x.t, HOP_f32, 2, 3), hop::one_hot(HOP_f32, i, 5),
		                  cum(HOP_CUM_PROD, x, 0, HOP_CUM_REVERSE), cumsum(y, 0), logsumexp(x, 0));
	});
	same(c, in, f, c_composites);
}

static void c_then(hop_trace *t, const hop_value *, void *)
{
	hop_return(t, hop_sin(t, outer[0]), outer[1]);
}
static void c_else(hop_trace *t, const hop_value *, void *)
{
	hop_return(t, hop_mul(t, outer[0], outer[1]), hop_i(t, 0));
}
static void c_cond(hop_trace *t, const hop_value *in, void *)
{
	hop_value out[2] = { in[0], in[0] };
	outer = in;
	hop_cond(t, hop_lt(t, hop_sum_all(t, in[0]), hop_i(t, 0)), c_then, c_else, nullptr, 0, nullptr, 2,
	         out);
	hop_return(t, out[0], out[1]);
}

static void conds(hop::ctx &c)
{
	std::vector<hop_spec> in(2, hop::spec(HOP_f32, { 3 }));
	in[1] = hop::spec(HOP_f32);
	hop::fn f = hop::capture(c, in, [](value x, value y) {
		return cond(sum(x) < 0, [&] { return std::tuple(sin(x), y); },
		            [&] { return std::tuple(x * y, 0); });
	});
	same(c, in, f, c_cond);
}

static void c_long(hop_trace *t, const hop_value *, void *)
{
	hop_value twice[] = { outer[0], outer[0] };
	hop_return(t, hop_concat(t, 2, twice, 0));
}
static void c_short(hop_trace *t, const hop_value *, void *) { hop_return(t, outer[0]); }
static void c_uneven(hop_trace *t, const hop_value *in, void *)
{
	hop_value a = in[0], b = in[0];
	hop_body *const body[] = { c_long, c_short };
	outer = in;
	hop_cond_exact(t, hop_lt(t, in[1], hop_i(t, 0)), c_long, c_short, nullptr, 0, nullptr, 1, &a);
	hop_switch_exact(t, hop_cast(t, in[1], HOP_i64), 2, body, nullptr, 0, nullptr, 1, &b);
	hop_return(t, a, b);
}

static void unevens(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { 3 }), hop::spec(HOP_f32) };
	hop::fn f = hop::capture(c, in, [](value x, value y) {
		auto both = [&] { return hop::concat({ x, x }, 0); };
		auto one = [&] { return x; };
		value a = cond_exact(y < 0, both, one);
		return std::tuple(a, hop::switch_exact(cast(y, HOP_i64), both, one));
	});
	same(c, in, f, c_uneven);
}

static void c_zero(hop_trace *t, const hop_value *, void *) { hop_return(t, hop_i(t, 0)); }
static void c_one(hop_trace *t, const hop_value *, void *) { hop_return(t, hop_sum_all(t, outer[0])); }
static void c_two(hop_trace *t, const hop_value *, void *) { hop_return(t, outer[1]); }
static void c_switch(hop_trace *t, const hop_value *in, void *)
{
	static hop_body *const body[] = { c_zero, c_one, c_two };
	hop_value out = in[0];
	outer = in;
	hop_switch(t, in[2], 3, body, nullptr, 0, nullptr, 1, &out);
	hop_return(t, out);
}

static void switches(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { 3 }), hop::spec(HOP_f32), hop::spec(HOP_i64) };
	hop::fn f = hop::capture(c, in, [](value x, value y, value i) {
		return switch_(i, [] { return 0; }, [&] { return sum(x); }, [&] { return y; });
	});
	same(c, in, f, c_switch);
}

static void c_test(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_lt(t, in[0], hop_i(t, 5)));
}
static void c_trip(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_add(t, in[0], hop_i(t, 1)), hop_mul(t, in[1], outer[1]));
}
static void c_while(hop_trace *t, const hop_value *in, void *)
{
	hop_value init[2] = { hop_i(t, 0), in[0] }, out[2] = { in[0], in[0] }, trips = in[0];
	hop_while_opts o = {};
	o.size = sizeof o;
	o.max_trips = 9;
	outer = in;
	hop_while(t, c_test, c_trip, nullptr, 2, init, &o, out, &trips);
	hop_return(t, out[0], out[1], trips);
}

static void whiles(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { "n" }), hop::spec(HOP_f32) };
	hop::fn f = hop::capture(c, in, [](value x, value k) {
		value trips;
		auto [i, y] = while_loop(std::tuple(0, x), [](value i, value) { return i < 5; },
		                         [&](value i, value y) { return std::tuple(i + 1, y * k); },
		                         { 9, &trips });
		return std::vector<value>{ i, y, trips };
	});
	same(c, in, f, c_while);
	hop::fn g = hop::capture(c, in, [](value x, value k) {     /* carries as a vector */
		value trips;
		std::vector<value> init = { value(x.t, hop_i(x.t, 0)), x };
		auto out = hop::while_loop(init, [](const std::vector<value> &v) { return v[0] < 5; },
		                           [&](const std::vector<value> &v) {
			return std::vector<value>{ v[0] + 1, v[1] * k };
		}, { 9, &trips });
		return std::tuple(out, trips);
	});
	same(c, in, g, c_while);
}

static void c_step(hop_trace *t, const hop_value *in, void *)
{
	hop_value h = hop_tanh(t, hop_add(t, hop_mul(t, in[0], outer[2]), in[1]));
	hop_stop_if(t, hop_gt(t, hop_sum_all(t, h), hop_i(t, 100)));
	hop_return(t, h, hop_sum_all(t, h));
}
static void c_scan(hop_trace *t, const hop_value *in, void *)
{
	hop_value out[2] = { in[0], in[0] }, steps = in[0];
	hop_scan_opts o = {};
	o.size = sizeof o;
	o.every = -1;
	outer = in;
	hop_scan(t, c_step, nullptr, 1, &in[0], 1, &in[1], &o, 2, out, &steps);
	hop_return(t, out[0], out[1], steps);
}
static void c_count(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_add(t, in[0], outer[2]));
}
static void c_length(hop_trace *t, const hop_value *in, void *)
{
	hop_value out = in[0];
	hop_scan_opts o = {};
	o.size = sizeof o;
	o.has_length = true;
	o.length = hop_dim_of(t, in[1], 0);
	o.reverse = true;
	outer = in;
	hop_scan(t, c_count, nullptr, 1, &in[0], 0, nullptr, &o, 1, &out, nullptr);
	hop_return(t, out);
}

static void scans(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { 3 }), hop::spec(HOP_f32, { { "n", 1, 50 }, 3 }),
	                             hop::spec(HOP_f32) };
	hop::fn f = hop::capture(c, in, [](value h0, value xs, value k) {
		value steps;
		hop::scan_opts o;
		o.every = -1;
		o.steps = &steps;
		auto [h, ys] = scan(h0, xs, [&](value h, value x) {
			h = tanh(h * k + x);
			stop_if(sum(h) > 100);
			return std::pair(h, sum(h));
		}, o);
		return std::tuple(h, ys, steps);
	});
	same(c, in, f, c_scan);
	hop::fn g = hop::capture(c, in, [](value h0, value xs, value k) {
		hop::scan_opts o;
		o.length = xs.dim(0);
		o.reverse = true;
		return scan(h0, std::tuple<>(), [&](value h) { return h + k; }, o);
	});
	same(c, in, g, c_length);
}

static void c_each(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_mul(t, hop_sum_all(t, in[0]), outer[1]));
}
static void c_map(hop_trace *t, const hop_value *in, void *)
{
	hop_value out = in[0];
	outer = in;
	hop_map(t, c_each, nullptr, 1, in, 0, 1, &out);
	hop_return(t, out);
}
static void c_vmap(hop_trace *t, const hop_value *in, void *)
{
	hop_value out = in[0], v[2] = { in[0], in[1] };
	const int axes[] = { 1, -1 };
	outer = in;
	hop_vmap_at(t, c_each, nullptr, 2, v, axes, 1, &out);
	hop_return(t, out);
}

static void maps(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { 4, 3 }), hop::spec(HOP_f32) };
	hop::fn f = hop::capture(c, in, [](value xs, value k) {
		return map(xs, [&](value x) { return sum(x) * k; });
	});
	same(c, in, f, c_map);
	hop::fn g = hop::capture(c, in, [](value xs, value k) {
		return vmap(std::tuple(along(xs, 1), shared(k)), [&](value x, value) { return sum(x) * k; });
	});
	same(c, in, g, c_vmap);
}

static void c_layer(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_tanh(t, hop_matmul(t, in[0], in[1])));
}
static void c_region(hop_trace *t, const hop_value *in, void *)
{
	hop_value x = in[1];
	for (int i = 0; i < 2; i++) {
		hop_value v[2] = { in[0], x };
		hop_region(t, "layer", c_layer, nullptr, 2, v, 1, &x);
	}
	hop_return(t, x);
}

static void regions(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { 3, 3 }), hop::spec(HOP_f32, { 3 }) };
	hop::fn f = hop::capture(c, in, [](value W, value x) {
		for (int i = 0; i < 2; i++)
			x = hop::region("layer", std::tuple(W, x), [](value w, value y) {
				return tanh(matmul(w, y));
			});
		return x;
	});
	same(c, in, f, c_region);
}

static void c_cube(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_sum_all(t, hop_mul(t, in[1], hop_pow(t, in[0], hop_i(t, 3)))));
}
static void c_square(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_mul(t, in[0], hop_mul(t, in[0], outer[1])));
}
static void c_grad(hop_trace *t, const hop_value *in, void *)
{
	hop_value out[8] = {}, d[1] = { in[0] };
	const int wrt[] = { 0, 1 };
	outer = in;
	hop_grad_at(t, c_cube, nullptr, 2, in, 2, wrt, 3, out);
	hop_jvp_at(t, c_square, nullptr, 1, in, 1, wrt, d, 2, out + 3);
	hop_jac_at(t, c_square, nullptr, 1, in, 1, wrt, 1, out + 5);
	hop_vjp_at(t, c_square, nullptr, 1, in, 1, wrt, 1, d, 2, out + 6);
	hop_return_n(t, 8, out);
}

static void gradients(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f64, { 3 }), hop::spec(HOP_f64) };
	hop::fn f = hop::capture(c, in, [](value x, value k) {
		auto [loss, g] = grad(std::array<value, 2>{ x, k }, [](value y, value w) {
			return sum(w * pow(y, 3));
		});
		auto square = [&](value y) { return y * (y * k); };
		auto [y, dy] = jvp(x, x, square);
		return std::tuple(loss, g, y, dy, jac(x, square), vjp(x, x, square));
	});
	same(c, in, f, c_grad);
}

static void c_fwd(hop_trace *t, const hop_value *in, void *)
{
	hop_value y = hop_exp(t, in[0]);
	hop_save(t, 1, &y);
	hop_return(t, y);
}
static void c_bwd(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_min(t, hop_mul(t, in[0], in[1]), hop_i(t, 1)));
}
static void c_dot(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_mul(t, hop_exp(t, in[0]), in[1]));
}
static void c_custom(hop_trace *t, const hop_value *in, void *)
{
	hop_custom_rule rule = {};
	hop_value out[2] = {};
	rule.size = sizeof rule;
	rule.fwd = c_fwd;
	rule.bwd = c_bwd;
	hop_custom(t, &rule, nullptr, 1, in, 1, out);
	rule.jvp = c_dot;
	hop_custom(t, &rule, nullptr, 1, in, 1, out + 1);
	hop_return_n(t, 2, out);
}

static void customs(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { 3 }) };
	auto fwd = [](value x) { value y = exp(x); return hop::keep(y, y); };
	auto bwd = [](value y, value dy) { return min(y * dy, 1); };
	hop::fn f = hop::capture(c, in, [&](value x) {
		value y = custom(x, fwd, bwd);
		return std::tuple(y, custom(x, fwd, bwd, [](value v, value dv) { return exp(v) * dv; }));
	});
	same(c, in, f, c_custom);
}

/* ---- two deep: a cond in a scan, whose gradient is taken in a while ---- */

static hop_value deep_k;

static void c_less(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mul(t, *static_cast<hop_value *>(user), deep_k));
	(void)in;
}
static void c_more(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_sin(t, *static_cast<hop_value *>(user)));
	(void)in;
}
static void c_inner(hop_trace *t, const hop_value *in, void *)
{
	hop_value h = in[0], out = h;
	hop_cond(t, hop_lt(t, h, hop_i(t, 1)), c_less, c_more, &h, 0, nullptr, 1, &out);
	hop_return(t, hop_add(t, out, in[1]));
}
static void c_loss(hop_trace *t, const hop_value *in, void *)
{
	hop_value out = in[0];
	hop_scan(t, c_inner, nullptr, 1, in, 1, &outer[1], nullptr, 1, &out, nullptr);
	hop_return(t, out);
}
static void c_small(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_gt(t, hop_abs(t, in[0]), hop_f(t, 0.1)));
}
static void c_descend(hop_trace *t, const hop_value *in, void *)
{
	hop_value out[2] = { in[0], in[0] };
	const int wrt[] = { 0 };
	hop_grad_at(t, c_loss, nullptr, 1, in, 1, wrt, 2, out);
	hop_return(t, hop_sub(t, in[0], hop_mul(t, hop_f(t, 0.1), out[1])));
}
static void c_deep(hop_trace *t, const hop_value *in, void *)
{
	hop_value out = in[0];
	outer = in;
	deep_k = in[2];
	hop_while(t, c_small, c_descend, nullptr, 1, in, nullptr, &out, nullptr);
	hop_return(t, out);
}

static void deep(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f64), hop::spec(HOP_f64, { "n" }), hop::spec(HOP_f64) };
	hop::fn f = hop::capture(c, in, [](value x, value xs, value k) {
		return while_loop(x, [](value x) { return abs(x) > 0.1; }, [&](value x) {
			auto [loss, dx] = grad(x, [&](value h0) {
				return scan(h0, xs, [&](value h, value e) {
					return cond(h < 1, [&] { return h * k; }, [&] { return sin(h); }) + e;
				});
			});
			(void)loss;
			return x - 0.1 * dx;
		});
	});
	same(c, in, f, c_deep);
}

/* ---- formulas ---- */

struct model { value W, b; };

static void c_formula(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_tanh(t, hop_add(t, hop_matmul(t, in[0], in[1]), in[1])));
}

static void formulas(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { 3, 3 }), hop::spec(HOP_f32, { 3 }) };
	hop::fn f = hop::capture(c, in, [](value W, value x) {
		model one = { W, x }, *m = &one;
		return value(x.t, HOP_E(x.t, "tanh(m->W @ x + one.b)", m->W, x, one.b));
	});
	same(c, in, f, c_formula);
}

/* ---- blocks ---- */

static void c_blocks(hop_trace *t, const hop_value *in, void *)
{
	hop_value x = in[0], xs = in[1], s = in[0], loss = HOP_NONE, d = HOP_NONE;

	HOP_WHILE(t, hop_lt(t, x, hop_i(t, 5)), x) {
		x = hop_mul(t, x, hop_i(t, 2));
		HOP_IF(t, hop_gt(t, x, hop_i(t, 3)), x)
			x = hop_sin(t, x);
		else
			x = HOP_E(t, "x ** 2 + 1", x);
	}
	HOP_FOR(t, i, hop_dim_of(t, xs, 0), s)
		s = hop_add(t, hop_mul(t, s, x), hop_take(t, xs, i));
	HOP_GRAD(t, loss, 1, s, d)
		loss = hop_mul(t, s, s);
	hop_return(t, x, s, loss, hop_mul(t, d, hop_i(t, 1)));
}

static void blocks(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f64), hop::spec(HOP_f64, { "n" }) };
	hop::fn f = hop::capture(c, in, [](value x, value xs) {
		hop_trace *t = x.t;
		value s = x, loss(t), d(t);

		HOP_WHILE(t, x < 5, x) {
			x *= 2;
			HOP_IF(t, x > 3, x)
				x = sin(x);
			else
				x = value(t, HOP_E(t, "x ** 2 + 1", x));
		}
		HOP_FOR(t, i, xs.dim(0), s)
			s = s * x + take(xs, i);
		HOP_GRAD(t, loss, 1, s, d)
			loss = s * s;
		return std::tuple(x, s, loss, d * 1);
	});
	same(c, in, f, c_blocks);
	/* An exception that leaves a block fails the trace, and comes out. */
	int caught = 0;
	try {
		hop::capture(c, in, [](value x, value) -> value {
			hop_trace *t = x.t;
			HOP_WHILE(t, x < 5, x)
				throw std::string("out");
			return x;
		});
	} catch (const std::string &) {
		caught++;
	}
	try {
		hop::capture(c, { hop::spec(HOP_f64), hop::spec(HOP_f64, { 3 }) }, [](value x, value xs) {
			hop_trace *t = x.t;
			HOP_WHILE(t, x < 5, x)
				x = xs + hop::zeros(t, HOP_f64, { 4 });
			return x;
		});
	} catch (const hop::error &e) {
		caught++;
		expect(e.status() == HOP_ESHAPE && has(e.what(), "add: "), e.what());
	}
	expect(caught == 2, "exceptions that leave blocks");
}

/* ---- exceptions ---- */

struct mine : std::exception {
	int n;
	explicit mine(int k) : n(k) {}
	const char *what() const noexcept override { return "the well is dry"; }
};

static void exceptions(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { 3 }), hop::spec(HOP_f32, { 2 }) };
	int caught = 0;
	try {
		hop::capture(c, in, [&](value x, value y) {
			return scan(sum(x), x, [&](value h, value e) {
				return cond(h < 0, [&] { return h; }, [&] { return h + e * sum(x * y); });
			});
		});
	} catch (const hop::error &e) {
		std::string s = e.what();
		caught++;
		expect(e.status() == HOP_ESHAPE, "its status");
		expect(has(s, "hpp_test.cpp:") && has(s, "mul: ") && has(s, "note: in ") && has(s, "scan"), s);
	}
	expect(caught == 1, "a failing op throws");
	/* A user's exception comes out as it is, through every operator, and nothing was captured. */
	for (int k = 0; k < 9; k++) {
		auto dry = [&]() -> value { throw mine(k); };
		auto dry1 = [&](value) -> value { throw mine(k); };
		try {
			hop::fn f = hop::capture(c, in, [&](value x, value y) {
				value s = sum(x);
				switch (k) {
				case 0: return cond(s < 0, dry, [&] { return s; });
				case 1: return cond(s < 0, [&] { return s; }, dry);
				case 2: return switch_(cast(s, HOP_i64), [&] { return s; }, dry);
				case 3: return while_loop(s, dry1, dry1);
				case 4: return scan(s, std::tuple<>(), dry1, { 0, false, 0, 3, {}, nullptr });
				case 5: return map(x, dry1);
				case 6: return hop::region("r", y, dry1);
				case 7: return std::get<1>(grad(s, dry1));
				default: return vmap(x, dry1);
				}
			});
			expect(false, "no exception of case " + std::to_string(k));
		} catch (const mine &e) {
			caught++;
			expect(e.n == k, "another exception");
		}
		expect(has(hop_message(c.get()), "an exception left the body: the well is dry"),
		       hop_message(c.get()));
	}
	expect(caught == 10, "an exception of a body comes out");
	try {                                       /* no std::exception, at the outermost */
		hop::capture(c, in, [](value x, value) -> value { throw 7; return x; });
	} catch (int n) {
		caught += n;
	}
	expect(caught == 17, "an int comes out");
	try {                                       /* caught inside: the trace has failed all the same */
		hop::capture(c, in, [](value x, value y) {
			try {
				x = x + y;
			} catch (const hop::error &) {
			}
			return sin(x);
		});
	} catch (const hop::error &e) {
		caught++;
		expect(e.status() == HOP_ESHAPE, e.what());
	}
	expect(caught == 18, "a failure sticks");
	try {                                       /* an error of another trace is one like others */
		hop::capture(c, in, [&](value x, value) {
			hop::capture(c, in, [](value a, value b) { return a + b; });
			return x;
		});
	} catch (const hop::error &e) {
		caught++;
		expect(e.status() == HOP_ESHAPE, e.what());
	}
	expect(caught == 19, "an error of another trace comes out");
}

static void misuse(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { 3 }) };
	auto fails = [&](hop_status st, const char *text, auto &&f) {
		try {
			hop::capture(c, in, f);
			expect(false, std::string("accepted: ") + text);
		} catch (const hop::error &e) {
			expect(e.status() == st && has(e.what(), text), e.what());
		}
	};
	fails(HOP_EUSE, "the body takes 2 values, and gets 1", [](value x, value y) { return x + y; });
	fails(HOP_EUSE, "a value that was not set", [](value) { value x; return x + 1; });
	fails(HOP_EUSE, "index: an index is a whole number", [](value x) { return x[0.5]; });
	fails(HOP_EUSE, "permute: a list must have one element", [](value x) {
		return permute(x, { 0, 1 });
	});
	fails(HOP_ETYPE, "cond: then gives 1 results, else gives 2", [](value x) {
		return cond(sum(x) < 0, [&] { return std::vector<value>{ x }; },
		            [&] { return std::vector<value>{ x, x }; });
	});
	fails(HOP_EUSE, "the body takes 2 values, and gets 1", [](value x) {
		return map(x, [](value a, value b) { return a + b; });
	});
	fails(HOP_EUSE, "the body takes 1 values, and gets 2", [](value x) {
		return custom(x, [](value v) { return hop::keep(v, v); }, [](value d) { return d; });
	});
	fails(HOP_EUSE, "jvp: there must be a tangent for each input", [](value x) {
		return std::get<0>(jvp(std::tuple(x, x), x, [](value a, value b) { return a + b; }));
	});
	bool threw = false;
	try {
		hop::spec(HOP_f32, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 });
	} catch (const hop::error &e) {
		threw = e.status() == HOP_EVALUE;
	}
	expect(threw, "a spec of rank 17");
}

int main()
{
	hop::ctx c;
	test("operators", [&] { operators(c); });
	test("moves", [&] { moves(c); });
	test("composites", [&] { composites(c); });
	test("cond", [&] { conds(c); });
	test("branches of different sizes", [&] { unevens(c); });
	test("switch", [&] { switches(c); });
	test("while", [&] { whiles(c); });
	test("scan", [&] { scans(c); });
	test("map and vmap", [&] { maps(c); });
	test("region", [&] { regions(c); });
	test("grad, jvp, jac", [&] { gradients(c); });
	test("custom", [&] { customs(c); });
	test("deep", [&] { deep(c); });
	test("formulas", [&] { formulas(c); });
	test("blocks", [&] { blocks(c); });
	test("exceptions", [&] { exceptions(c); });
	test("misuse", [&] { misuse(c); });
	return failures != 0;
}
