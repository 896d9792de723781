/* hpp_strict_test.cpp -- strict contexts of hop.hpp: lambdas are bodies as functions are, so the same
 * is refused, in the same words, and thrown; what is accepted is the same graph. Prints TAP. */
#include <cstdio>
#include <functional>
#include <string>

#include "hop/hop.hpp"

using hop::value;
using program = std::function<value(value, value, value)>;

static const std::vector<hop_spec> specs = { hop::spec(HOP_f64, { 3 }), hop::spec(HOP_f64),
	                                     hop::spec(HOP_bool) };

/* The text of the graph, or the message. */
static std::string run(enum hop_strict s, const program &f)
{
	hop::ctx c(0, s);
	try {
		return hop::capture(c, specs, [&](value x, value h, value p) { return f(x, h, p); }).text();
	} catch (const hop::error &e) {
		return e.what();
	}
}

static value identity(value x, value, value p)
{
	return cond(p, [&] { return sin(x); }, [&] { return x; });
}
static value copied(value x, value, value p)
{
	return cond(p, [&] { return sin(x); }, [&] { return clone(x); });
}
static value swapped(value, value h, value)
{
	auto [a, b] = while_loop(std::pair(h, cos(h)), [](value a, value b) { return a < b; },
	                         [](value a, value b) { return std::pair(b, a); });
	return a + b;
}
static value stacked(value x, value h, value)
{
	auto [c, y] = scan(h, x, [](value c, value x) { return std::pair(c + x, x); });
	return y + c;
}
static value mapped(value x, value, value)
{
	return map(x, [](value x) { return x; });
}
static value combined(value x, value, value)
{
	return associative_scan(x, [](value l, value) { return l; });
}

static int count, failed;

static void tell(bool ok, const char *what)
{
	failed += !ok;
	std::printf("%sok %d - %s\n", ok ? "" : "not ", ++count, what);
}

/* Normal mode accepts it, strict says these words, and no_grad is like one of them. */
static void refused(const program &f, const char *words, bool no_grad)
{
	std::string off = run(HOP_STRICT_OFF, f), on = run(HOP_STRICT_GRAD, f);
	std::string no = run(HOP_STRICT_NO_GRAD, f);
	tell(off.find("hop 1\n") == 0, "normal");
	tell(on.find(": strict: ") != std::string::npos && on.find(words) != std::string::npos, words);
	tell(no == (no_grad ? off : on), "no_grad");
}

int main()
{
	refused(identity, "result 0 of else is input 0:", true);
	refused(swapped, "carry[0] is carry[1]:", false);
	refused(stacked, "y[0] is x[0]:", false);
	refused(mapped, "y[0] is x[0]:", false);
	refused(combined, "y[0] is left[0]:", false);
	tell(run(HOP_STRICT_GRAD, copied) == run(HOP_STRICT_OFF, copied), "a clone is accepted");
	std::printf("1..%d\n", count);
	return failed != 0;
}
