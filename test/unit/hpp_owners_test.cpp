/* hpp_owners_test.cpp -- contexts, functions and arrays in C++: who owns what, and what is thrown;
 * eager runs. Prints TAP. */
#include "hpp_rig.hpp"

static void owners(hop::ctx &c)
{
	hop::fn f = hop::capture(c, { hop::spec(HOP_f64, { "n" }), hop::spec(HOP_f64) },
	                         [](value x, value k) { return sum(k * x * x); });
	hop::array x = hop::array::of<double>(c, { 1, 2, 3 }), k = hop::array::scalar(c, 2.0);
	hop::array y = f(x, k);
	expect(y[0] == 28 && y.rank() == 0 && y.dtype() == HOP_f64, "28");
	hop::fn g = f.grad({ 0, 1 }), copy = g;
	hop::results r = copy(x, k);
	expect(r.size() == 3 && r[1][2] == 12 && r[2][0] == 14, "gradients");
	g = hop::fn();
	hop::fn lanes = copy.vmap({ false, true });
	hop::results l = lanes(x, hop::array::of<double>(c, { 1, 2 }));
	expect(l[0].dims() == std::vector<int64_t>{ 2 } && l[0][1] == 28 && l[1][5] == 12, "lanes");
	hop::fn two = hop::capture(c, { hop::spec(HOP_f64, { 3 }) }, [&](value v) {
		return f.apply(std::tuple(v, 2.0))[0] + 1;
	});
	expect(hop::array(two(x))[0] == 29, "a function in a function");
	int threw = 0;
	try { hop::array one = r; } catch (const hop::error &e) { threw += e.status() == HOP_ETYPE; }
	try { f(x); } catch (const hop::error &) { threw++; }
	try { f(hop::array::scalar(c, 1.0f), k); } catch (const hop::error &) { threw++; }
	try { x.data<float>(); } catch (const hop::error &e) { threw += e.status() == HOP_ETYPE; }
	try { hop::array::of<float>(c, { 1, 2 }, { 3 }); } catch (const hop::error &) { threw++; }
	try { f.grad({ 7 }); } catch (const hop::error &) { threw++; }
	try { f.vmap({ true }); } catch (const hop::error &) { threw++; }
	expect(threw == 7, "refusals: " + std::to_string(threw));
	expect(x.to(c, x.device()).get() == x.get(), "an array that is there already");
	hop::ctx moved = hop::ctx(1), other(1);
	other = std::move(moved);
	expect(hop::array::of<int64_t>(other, { 5 })[0] == 5, "a context that was moved");
}

static void eagerly(hop::ctx &c)
{
	hop::array x = hop::array::of<double>(c, { 1, -2, 3 });
	{
		hop::eager e(c);
		value v = e.use(x), y = v * 2 + 1;
		y = while_loop(y, [](value a) { return sum(a) < 100; }, [](value a) { return a * 2; });
		hop::array r = e.read(y);
		expect(r[0] == 48 && r[1] == -48 && r[2] == 112, "numbers");
		write(v, v + 1);
		require(all(v > -10), "too small");
	}
	expect(x[0] == 2 && x[2] == 4, "a write reaches the array");
	bool threw = false;
	{
		hop::eager e(c);
		try {
			e.use(x) + e.use(hop::array::of<double>(c, { 1, 2 }));
		} catch (const hop::error &err) {
			threw = err.status() == HOP_ESHAPE && has(err.what(), "hpp_owners_test.cpp:");
		}
	}
	expect(threw, "an eager failure throws at once");
}

int main()
{
	hop::ctx c;
	test("owners", [&] { owners(c); });
	test("eager", [&] { eagerly(c); });
	return failures != 0;
}
