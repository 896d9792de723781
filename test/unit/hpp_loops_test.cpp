/* hpp_loops_test.cpp -- what is made of other operators, keys of regions, how far loops are, in C++: the
 * graphs are those of C. */
#include "hpp_rig.hpp"

static void c_scaled(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_mul(t, hop_sum_all(t, in[0]), outer[1]));
}
static void c_add(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_add(t, in[1], hop_mul(t, outer[1], in[0])));
}
static void c_below(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_lt(t, hop_sum_all(t, in[0]), hop_i(t, 9)));
}
static void c_double(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_add(t, in[0], in[0]), hop_sum_all(t, in[0]));
}
static void c_step_two(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_mul(t, in[0], in[1]));
}
static void c_half(hop_trace *t, const hop_value *in, void *)
{
	hop_return(t, hop_mul(t, in[0], hop_f(t, 0.5)));
}
static void c_on_top(hop_trace *t, const hop_value *in, void *)
{
	hop_value x = hop_index(t, in[0], 0, 0), y = x, z = x, out[2] = { x, x }, ys = x, n = x;
	hop_value list[2] = { in[0], in[1] }, each[2] = { x, x };
	hop_while_opts o = {};
	o.size = sizeof o;
	o.max_trips = 5;
	hop_scan_opts s = {};
	s.size = sizeof s;
	s.unroll = 2;
	outer = in;
	hop_fori_loop(t, 1, hop_dim_of(t, in[0], 0), c_add, nullptr, 1, &x, nullptr, &y);
	hop_fori_loop(t, 0, in[2], c_add, nullptr, 1, &x, nullptr, &z);
	hop_while_stack_output(t, c_below, c_double, nullptr, 1, &x, &o, 2, out, &n);
	hop_map_chunked(t, c_scaled, nullptr, 1, in, 0, 2, 1, &ys);
	hop_scan(t, c_step_two, nullptr, 1, &x, 1, in, &s, 1, &x, nullptr);
	hop_foreach_map(t, c_half, nullptr, 2, 1, list, 2, each);
	hop_value all[] = { y, z, out[0], out[1], n, ys, x, each[0], each[1] };
	hop_return_n(t, 9, all);
}

static void on_top(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { 5, 3 }), hop::spec(HOP_f32),
	                             hop::spec(HOP_i64) };
	hop::fn f = hop::capture(c, in, [](value xs, value k, value m) {
		value x = xs[0], trips;
		hop::while_opts o;
		o.max_trips = 5;
		o.trips = &trips;
		hop::scan_opts s;
		s.unroll = 2;
		auto step = [&](value i, value h) { return h + k * i; };
		value y = hop::fori_loop(1, xs.dim(0), x, step), z = hop::fori_loop(0, m, x, step);
		auto [w, ws] = while_stack_output(x, [](value h) { return sum(h) < 9; },
		                                  [](value h) { return std::pair(h + h, sum(h)); }, o);
		value ys = map(xs, [&](value r) { return sum(r) * k; }, { 0, 2 });
		x = scan(x, xs, [](value h, value r) { return h * r; }, s);
		auto each = hop::foreach_map(std::vector<value>{ xs, k }, [](value v) { return v * 0.5; });
		return std::vector<value>{ y, z, w, ws, trips, ys, x, each[0], each[1] };
	});
	same(c, in, f, c_on_top);
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

static void c_again(hop_trace *t, const hop_value *in, void *)
{
	hop_value x, v[2] = { in[0], hop_name(t, in[1], "x") };
	hop_checkpoint_opts o = {};
	o.size = sizeof o;
	o.must_save = "dot";
	hop_checkpoint(t, c_layer, nullptr, &o, 2, v, 1, &x);
	hop_return(t, x);
}

static void again(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { 3, 3 }), hop::spec(HOP_f32, { 3 }) };
	hop::fn f = hop::capture(c, in, [](value W, value x) {
		hop_checkpoint_opts o = {};
		o.size = sizeof o;
		o.must_save = "dot";
		return hop::checkpoint(&o, std::tuple(W, hop::name(x, "x")),
		                       [](value w, value y) { return tanh(matmul(w, y)); });
	});
	same(c, in, f, c_again);
}

static int keyed_runs;

static void keyed(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32, { 3, 3 }), hop::spec(HOP_f32, { 3 }) };
	int depth = 1;
	auto net = [&](value W, value x) {
		for (int i = 0; i < 2; i++)
			x = hop::region_keyed("layer", { HOP_STATIC(&depth, sizeof depth) }, std::tuple(W, x),
			                      [&](value w, value y) {
				keyed_runs++;
				for (int k = 0; k < depth; k++)
					y = tanh(matmul(w, y));
				return y;
			});
		return x;
	};
	hop::fn f = hop::capture(c, in, net);
	expect(keyed_runs == 1, "a trusted key skips the body");
	same(c, in, f, c_region);
	depth = 2;
	hop::fn g = hop::capture(c, in, net);
	expect(keyed_runs == 2, "static data is part of the key");
	try {
		hop::capture(c, in, [](value W, value x) {
			return hop::region_keyed("part", {}, x, [&](value y) { return matmul(W, y); });
		});
		expect(false, "a captured value was let in");
	} catch (const hop::error &e) {
		expect(e.status() == HOP_EREFUSED && has(e.what(), "uses a value from outside"), e.what());
	}
}

static void c_far_step(hop_trace *t, const hop_value *in, void *)
{
	hop_progress(t, in[0], hop_i(t, 9), "nine");
	hop_return(t, hop_sin(t, in[1]));
}
static void c_far(hop_trace *t, const hop_value *in, void *)
{
	hop_value y;
	hop_fori_loop(t, 0, 9, c_far_step, nullptr, 1, in, nullptr, &y);
	hop_return(t, y);
}

static void how_far(hop::ctx &c)
{
	std::vector<hop_spec> in = { hop::spec(HOP_f32) };
	hop::fn f = hop::capture(c, in, [](value x) {
		return hop::fori_loop(0, 9, x, [](value i, value h) {
			progress(i, 9, "nine");
			return sin(h);
		});
	});
	same(c, in, f, c_far);
	try {
		hop::capture(c, in, [](value x) {
			progress(x, 9, "nine");
			return x;
		});
		expect(false, "a float was taken for a trip");
	} catch (const hop::error &e) {
		expect(has(e.what(), "the trip is f32"), e.what());
	}
}

int main()
{
	hop::ctx c;
	test("what is made of other operators", [&] { on_top(c); });
	test("regions that are computed again", [&] { again(c); });
	test("regions with a key", [&] { keyed(c); });
	test("how far a loop is", [&] { how_far(c); });
	return failures != 0;
}
