/* hpp_implicit_test.cpp -- equations in C++: each records the graph that its C form does, as lambdas
 * and as blocks. How they are solved is not asked here. */
#include <cstdio>
#include <cstdlib>
#include <string>

#include "hpp_rig.hpp"

static void c_residual(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_sub(t, hop_mul(t, in[0], in[0]), outer[1]));
}
static void c_next(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_mul(t, hop_cos(t, in[0]), outer[1]));
}
static void c_loss(hop_trace *t, const hop_value *in, void *)
{
	hop_value d = hop_sub(t, in[0], outer[1]);
	hop_return(t, hop_sum_all(t, hop_mul(t, d, d)));
}
static void c_times(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_mul(t, in[0], outer[1]));
}

static void c_all(hop_trace *t, const hop_value *in, void *)
{
	hop_value out[5] = {}, info = {};
	hop_implicit_opts o = {};
	outer = in;
	o.size = sizeof o;
	o.linear = HOP_LINEAR_GMRES;
	hop_root(t, c_residual, nullptr, 1, in, nullptr, out, out + 4);
	hop_fixed_point(t, c_next, nullptr, 1, in, nullptr, out + 1, &info);
	hop_minimize(t, c_loss, nullptr, 1, in, nullptr, out + 2, &info);
	hop_linear_solve(t, c_times, nullptr, 1, in, &o, out + 3, &info);
	hop_return_n(t, 5, out);
}

static void lambdas(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f64, { 3 }), hop::spec(HOP_f64, { 3 }) };
	hop::fn f = hop::capture(c, in, [](value x, value a) {
		hop_implicit_opts o = {};
		o.size = sizeof o;
		o.linear = HOP_LINEAR_GMRES;
		auto [r, info] = hop::root(x, [&](value y) { return y * y - a; });
		value p = std::get<0>(hop::fixed_point(x, [&](value y) { return cos(y) * a; }));
		value m = std::get<0>(hop::minimize(x, [&](value y) {
			value d = y - a;
			return hop::sum(d * d);
		}));
		value s = std::get<0>(hop::linear_solve(x, [&](value y) { return y * a; }, &o));
		return std::tuple(r, p, m, s, info);
	});
	same(c, in, f, c_all);
}

static void c_one(hop_trace *t, const hop_value *in, void *)
{
	hop_value out[1] = {};
	outer = in;
	hop_root(t, c_residual, nullptr, 1, in, nullptr, out, nullptr);
	hop_return(t, out[0]);
}

static void blocks(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f64, { 3 }), hop::spec(HOP_f64, { 3 }) };
	hop::fn f = hop::capture(c, in, [](value x, value a) {
		hop_trace *t = x.t;
		hop_value y = x.v, r = HOP_NONE;
		HOP_ROOT(t, NULL, y, r)
			r = hop_sub(t, hop_mul(t, y, y), a.v);
		return value(t, y);
	});
	same(c, in, f, c_one);
}

int main()
{
	hop::ctx c;
	test("lambdas", [&] { lambdas(c); });
	test("blocks", [&] { blocks(c); });
	return failures != 0;
}
