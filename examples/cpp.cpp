/* C++: lambdas are bodies, operators record, failures are exceptions. A damped oscillator is
 * integrated by a scan, and its stiffness and damping are found again from its path by gradient
 * descent, all of it in one compiled function. Prints, at last: k = 2.000, c = 0.300 */
#include <cstdio>

#include <hop/hop.hpp>

using hop::value;

/* The path of x'' = -k x - c x' from x = 1, in 100 steps of 0.1. */
static value path(value k, value c)
{
	hop::scan_opts o;
	o.length = 100;
	value one = hop::full_like(k, 1), rest = hop::zeros_like(k);
	auto [x, v, xs] = scan(std::tuple(one, rest), std::tuple<>(), [&](value x, value v) {
		v += 0.1 * (-k * x - c * v);
		x += 0.1 * v;
		return std::tuple(x, v, x);
	}, o);
	return xs;
}

int main()
{
	try {
		hop::ctx ctx;
		std::vector<hop_spec> in = { hop::spec(HOP_f64), hop::spec(HOP_f64) };
		hop::fn fit = hop::capture(ctx, in, [](value k0, value c0) {
			value seen = path(k0, c0), k = hop::full_like(k0, 1), c = hop::zeros_like(c0);
			return while_loop(std::tuple(k, c, 0), [](value, value, value i) { return i < 2000; },
			                  [&](value k, value c, value i) {
				auto [loss, d] = hop::grad(std::tuple(k, c), [&](value k, value c) {
					return mean(pow(path(k, c) - seen, 2));
				});
				auto [dk, dc] = d;
				return std::tuple(k - 0.1 * dk, c - 0.1 * dc, i + 1);
			});
		});
		hop::results r = fit(hop::array::scalar(ctx, 2.0), hop::array::scalar(ctx, 0.3));
		std::printf("k = %.3f, c = %.3f after %.0f trips\n", r[0][0], r[1][0], r[2][0]);
		hop::capture(ctx, { hop::spec(HOP_f32, { 3 }), hop::spec(HOP_f32, { 2 }) },
		             [](value x, value y) { return x * y; });
	} catch (const hop::error &e) {
		std::printf("%s\n", e.what());
	}
	return 0;
}
