/* hpp_counts_test.cpp -- what was found, and how much, in C++: the same graphs as from C. Prints TAP. */
#include "hpp_rig.hpp"

static void c_counts(hop_trace *t, const hop_value *in, void *)
{
	hop_value x = in[0], s[2], m[2], r[2], u[4], n[2];
	hop_count_opts two = {}, four = {}, all = {};
	two.size = four.size = all.size = sizeof two;
	two.has_cap = four.has_cap = all.inverse = all.counts = true;
	two.cap = hop_n(2);
	two.fill = in[1];
	four.cap = hop_dim_of(t, x, 0);
	hop_nonzero(t, x, nullptr, n);
	hop_masked_select(t, x, hop_gt(t, x, hop_i(t, 0)), &two, m);
	hop_compact(t, x, hop_gt(t, x, hop_i(t, 0)), &four, r);
	hop_unique(t, x, &all, u);
	s[0] = hop_sort(t, x, 0, true);
	s[1] = hop_argsort(t, x, 0, false);
	hop_return(t, n[0], n[1], m[0], m[1], r[0], r[1], u[0], u[1], u[2], u[3], s[0], s[1],
	           hop_count_nonzero(t, x), hop_exact(t, m[0], m[1]));
}

static void counts(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { 4 }), hop::spec(HOP_f32) };
	hop::fn f = hop::capture(c, in, [](value x, value y) {
		hop::found n = nonzero(x), m = masked_select(x, x > 0, 2, y);
		hop::found r = compact(x, x > 0, hop_dim_of(x.t, x, 0)), u = unique(x);
		return std::vector<value>{ n.values, n.count, m.values, m.count, r.values, r.count, u.values,
		                           u.count, u.inverse, u.counts, sort(x, 0, true), argsort(x, 0),
		                           count_nonzero(x), exact(m.values, m.count) };
	});
	same(c, in, f, c_counts);
}

int main()
{
	hop::ctx c;
	test("counts", [&] { counts(c); });
	return failures != 0;
}
