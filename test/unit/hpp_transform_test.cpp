/* hpp_transform_test.cpp -- transforms of transform.hpp: numbers of x^3 and friends, in bodies and of
 * functions; what they refuse throws. */
#include "hpp_rig.hpp"

#include <cmath>

static bool near(const hop::array &a, std::vector<double> want)
{
	bool ok = a.count() == static_cast<int64_t>(want.size());
	for (std::size_t i = 0; ok && i < want.size(); i++)
		ok = std::fabs(a[static_cast<int64_t>(i)] - want[i]) < 1e-12 * (1 + std::fabs(want[i]));
	return ok;
}

static void use_outer() { (void)outer; }

int main()
{
	use_outer();
	hop::ctx c;
	std::vector<hop_spec> one = { hop::spec(HOP_f64, { 2 }) };
	hop::array x = hop::array::of(c, std::vector<double>{ 2, 3 });
	auto cube = [](value v) { return sum(v * v * v); };
	test("inside a body", [&] {
		hop::fn f = hop::capture(c, one, [&](value v) {
			auto [y, j] = hop::jacrev(v, [](value u) { return u * u; });
			auto [z, k] = hop::jacfwd(v, [](value u) { return u * u; }, { 1 });
			auto [l, g, h] = hop::hessian(v, cube);
			auto [l2, g2, hv] = hop::hvp(v, v, cube);
			auto [l3, g3, vh] = hop::vhp(v, v, cube);
			auto [w, lin] = hop::linearize(v, [](value u) { return u * u; });
			value d = lin(v);
			return std::vector<value>{ j, k, h[0], hv, vh, d, y - z, w - y, g - g2, l - l3 };
		});
		hop::results r = f(x);
		for (int i = 0; i < 2; i++)
			expect(near(r[static_cast<std::size_t>(i)], { 4, 0, 0, 6 }), "Jacobian");
		expect(near(r[2], { 12, 0, 0, 18 }), "Hessian");
		expect(near(r[3], { 24, 54 }) && near(r[4], { 24, 54 }), "products");
		expect(near(r[5], { 8, 18 }), "linearize");
	});
	test("lanes", [&] {
		hop::fn f = hop::capture(c, { hop::spec(HOP_f64, { 2, 3 }) }, [](value v) {
			hop::vmap_opts o;
			o.out = { 1 };
			o.chunk = 2;
			return hop::vmap(hop::along(v, 1), [](value u) { return u * 2; }, o);
		});
		expect(has(f.text(), "map"), "chunks are a map");
		hop::fn g = hop::capture(c, one, [](value v) { return v * 2; });
		expect(g.vmap_with({ 1 }, hop::vmap_opts(), 3).nout() == 1, "function");
	});
	test("of functions", [&] {
		hop::fn f = hop::capture(c, one, cube);
		expect(near(f.hessian({ 0 })(x)[2], { 12, 0, 0, 18 }), "hessian");
		expect(near(f.jacrev({ 0 })(x)[1], { 12, 27 }), "jacrev");
		expect(near(f.jacfwd({ 0 }, { 1 })(x)[1], { 12, 27 }), "jacfwd");
		expect(near(f.hvp({ 0 })(x, x)[2], { 24, 54 }), "hvp");
		expect(near(f.vhp({ 0 })(x, x)[2], { 24, 54 }), "vhp");
		auto [fwd, lin] = f.linearize({ 0 });
		std::vector<hop::array> in = { x };
		for (const hop::array &a : fwd(x))
			in.push_back(a);
		in.push_back(x);
		expect(near(lin.call(in)[0], { 105 }), "linearize");
	});
	test("marks", [&] {
		hop::fn f = hop::capture(c, one, [](value v) {
			value h = hop::retain_grad(v * v, "h");
			return sum(h * h);
		});
		expect(near(f.grad({ 0 })(x)[2], { 8, 18 }), "gradient of what is inside");
	});
	test("refused", [&] {
		hop::fn f = hop::capture(c, one, cube);
		try {
			f.jacrev({ 1 });
			expect(false, "no input 1");
		} catch (const hop::error &e) {
			expect(has(e.what(), "jacrev: there is no input 1"), e.what());
		}
		try {
			f.vmap_with({ 0, 0 }, hop::vmap_opts());
			expect(false, "one input");
		} catch (const hop::error &e) {
			expect(has(e.what(), "axes for 2 inputs"), e.what());
		}
	});
	std::printf("1..%d\n", cases);
	return failures != 0;
}
