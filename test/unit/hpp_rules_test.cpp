/* hpp_rules_test.cpp -- hop.hpp: all that a custom gradient may say, and modes, record the graphs that
 * their C forms do. */
#include "hpp_rig.hpp"

/* ---- rules of custom: forward alone, with a batch body, once, lane by lane, of captured values ---- */

static void d_sum(hop_trace *t, const hop_value *in, void *)
{
	hop_value z = hop_mul(t, in[0], in[0]);
	hop_nondiff(t, 1, &z);
	hop_save(t, 1, in);
	hop_return(t, hop_exp(t, in[0]), z);
}
static void d_back(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_mul(t, in[0], in[1]));
}
static void d_lanes(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_exp(t, in[0]), hop_mul(t, in[0], in[0]));
}
static void d_scale(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mul(t, in[0], *static_cast<hop_value *>(user)));
}
static void d_none(hop_trace *t, const hop_value *in, void *user)
{
	hop_give_grad(t, *static_cast<hop_value *>(user), in[0]);
	hop_return(t, HOP_NONE);
}
static void d_along(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mul(t, in[0], hop_tangent_of(t, *static_cast<hop_value *>(user))));
}
static void c_rules(hop_trace *t, const hop_value *in, void *)
{
	hop_custom_rule rule = {};
	hop_value out[8] = {}, w = hop_sin(t, in[0]);
	rule.size = sizeof rule;
	rule.fwd = d_sum;
	rule.bwd = d_back;
	rule.once = true;
	hop_custom(t, &rule, nullptr, 1, in, 2, out);
	rule.once = false;
	rule.lanewise = true;
	hop_custom(t, &rule, nullptr, 1, in, 2, out + 2);
	rule.lanewise = false;
	rule.batch = d_lanes;
	hop_custom(t, &rule, nullptr, 1, in, 2, out + 4);
	rule.batch = nullptr;
	rule.fwd = d_scale;
	rule.bwd = d_none;
	hop_custom(t, &rule, &w, 1, in, 1, out + 6);
	rule.bwd = nullptr;
	rule.jvp = d_along;
	hop_custom(t, &rule, &w, 1, in, 1, out + 7);
	hop_return_n(t, 8, out);
}

static void custom_rules(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { 3 }) };
	auto fwd = [](value x) {
		value z = x * x;
		hop::nondiff(z);
		return hop::keep(std::tuple(exp(x), z), x);
	};
	auto bwd = [](value x, value d) { return x * d; };
	hop::fn f = hop::capture(c, in, [&](value x) {
		value w = sin(x);
		auto a = custom(x, fwd, bwd, hop::once()), b = custom(x, fwd, bwd, hop::lanewise());
		auto l = custom_batched(x, fwd, bwd, [](value xs, value) {
			return std::tuple(exp(xs), xs * xs);
		});
		value g = custom(x, [&](value v) { return hop::keep(v * w); },
		                 [&](value d) { hop::give_grad(w, d); return value(); });
		value j = custom_jvp(x, [&](value v) { return v * w; },
		                     [&](value v, value) { return v * hop::tangent_of(w); });
		return std::tuple(a, b, l, g, j);
	});
	same(c, in, f, c_rules);
}

/* ---- modes ---- */

static void c_modes(hop_trace *t, const hop_value *in, void *)
{
	hop_value y = HOP_NONE, z = HOP_NONE, a = HOP_NONE;
	HOP_AUTOCAST(t, HOP_bf16) {
		y = hop_matmul(t, in[0], in[0]);
		HOP_NO_GRAD(t)
			z = hop_linear(t, y, in[0], HOP_NONE);
	}
	HOP_FAST_MATH(t)
		a = hop_divf(t, in[0], 3);
	hop_return(t, y, z, a, hop_matmul_as(t, y, y, HOP_f32), hop_straight(t, in[0], a));
}

static void modes(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { 2, 2 }) };
	hop::fn f = hop::capture(c, in, [](value x) {
		value y, z, a;
		{
			hop::mode low(x, HOP_MODE_AUTOCAST, HOP_bf16);
			y = matmul(x, x);
			hop::mode still(x, HOP_MODE_NO_GRAD);
			z = linear(y, x);
		}
		HOP_FAST_MATH(x.t)
			a = x / 3;
		return std::tuple(y, z, a, matmul_as(y, y, HOP_f32), straight(x, a));
	});
	same(c, in, f, c_modes);
}

int main()
{
	hop::ctx c;
	test("rules of custom", [&] { custom_rules(c); });
	test("modes", [&] { modes(c); });
	return failures != 0;
}
