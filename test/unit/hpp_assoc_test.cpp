/* hpp_assoc_test.cpp -- associative_scan and reduce_with of hop.hpp record what their C forms do; an
 * init for one of two xs is refused. Prints TAP. */
#include <cstdio>
#include <string>

#include "hop/hop.hpp"

using hop::value;

static const hop_value *outer;

static void c_affine(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_mul(t, in[0], in[2]), hop_add(t, hop_mul(t, in[1], in[2]), in[3]));
}
static void c_sum(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_add(t, hop_add(t, in[0], in[1]), outer[2]));
}
static void c_prefixes(hop_trace *t, const hop_value *in, void *)
{
	hop_value ab[2] = { in[0], in[1] }, out[2] = { in[0], in[0] }, sum = in[0];
	hop_assoc_opts o = {};
	o.size = sizeof o;
	o.axis = 1;
	o.reverse = true;
	hop_associative_scan(t, c_affine, nullptr, 2, ab, &o, out);
	outer = in;
	hop_reduce_with(t, c_sum, nullptr, 1, &in[2], &in[3], 0, &sum);
	hop_value init = in[2], ex = in[0];
	o.axis = 0;
	o.reverse = false;
	o.exclusive = true;
	o.init = &init;
	hop_associative_scan(t, c_sum, nullptr, 1, &in[3], &o, &ex);
	hop_return(t, out[0], out[1], sum, ex);
}

static std::string in_cpp(hop::ctx &c, const std::vector<hop_spec> &in)
{
	hop::fn f = hop::capture(c, in, [](value a, value b, value k, value x) {
		hop::assoc_opts o, before;
		o.axis = 1;
		o.reverse = true;
		auto [p, q] = associative_scan(std::tuple(a, b), [](value a, value b, value c, value d) {
			return std::pair(a * c, b * c + d);
		}, o);
		auto add = [&](value l, value r) { return l + r + k; };
		value sum = reduce_with(k, x, add);
		before.exclusive = true;
		before.init = { k };
		return std::tuple(p, q, sum, associative_scan(x, add, before));
	});
	return f.text();
}

static bool refuses(hop::ctx &c, const std::vector<hop_spec> &in)
{
	try {
		hop::capture(c, in, [](value a, value b, value k, value) {
			hop::assoc_opts o;
			o.init = { k };
			return associative_scan(std::pair(a, b), [](value p, value q, value, value) {
				return std::pair(p, q);
			}, o);
		});
	} catch (const hop::error &e) {
		return std::string(e.what()).find("one init for each xs") != std::string::npos;
	}
	return false;
}

int main()
{
	hop::ctx c;
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { 4, 3 }), hop::spec(HOP_f32, { 4, 3 }),
	                             hop::spec(HOP_f32), hop::spec(HOP_f32, { 5 }) };
	hop_fn *fn = nullptr;
	bool ok = !hop_capture(c.get(), c_prefixes, nullptr, 4, in.data(), &fn);
	ok = ok && in_cpp(c, in) == hop_fn_text(fn);
	hop_fn_release(fn);
	bool no = refuses(c, in);
	std::printf("1..2\n%sok 1 - the same graph as in C\n%sok 2 - one init for two xs\n",
	            ok ? "" : "not ", no ? "" : "not ");
	return !ok || !no;
}
