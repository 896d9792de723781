/** Operators with bodies in C++: bodies are lambdas, which capture what they use. A body takes its
 * values one by one, or all as a std::vector, and returns a value, a number, a std::tuple, pair,
 * array or vector of them; the operator gives what the body gives. An exception that leaves a
 * body fails the trace and is thrown again where the operator was called. */
#ifndef HOP_BODY_HPP
#define HOP_BODY_HPP

#include <array>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "hop/pack.hpp"
#include "hop/value.hpp"

namespace hop {
namespace detail {

/* ---- calling a lambda with so many values ---- */

template <std::size_t> using a_value = const value &;

template <typename F, std::size_t... I> constexpr bool takes(std::index_sequence<I...>)
{
	return std::is_invocable<F &, a_value<I>...>::value;
}

enum { MOST = 24, MANY = -2, NEVER = -3, ASK = -4 };

/** How many values a lambda takes, MANY if it takes a vector of them. */
template <typename F, int N = 0> constexpr int arity()
{
	if constexpr (takes<F>(std::make_index_sequence<N>()))
		return N;
	else if constexpr (N < MOST)
		return arity<F, N + 1>();
	else
		return std::is_invocable<F &, const std::vector<value> &>::value ? MANY : NEVER;
}

template <typename F, std::size_t... I>
decltype(auto) call_with(F &f, hop_trace *t, const hop_value *in, std::index_sequence<I...>)
{
	(void)t;
	(void)in;
	return f(value(t, in[I])...);
}

template <typename F> decltype(auto) call(F &f, hop_trace *t, const hop_value *in, int n)
{
	constexpr int want = arity<F>();
	static_assert(want != NEVER, "a body takes hop::value, some or none, or a std::vector of them");
	if constexpr (want == MANY) {
		std::vector<value> v;
		for (int i = 0; i < n; i++)
			v.push_back(value(t, in[i]));
		return f(static_cast<const std::vector<value> &>(v));
	} else {
		return call_with(f, t, in, std::make_index_sequence<want>());
	}
}

template <typename F>
using result_of = std::decay_t<decltype(call(std::declval<F &>(), nullptr, nullptr, 0))>;

/* ---- bodies that C calls ---- */

/** The lambdas of one operator, and what left one of them. */
template <typename... F> struct bodies {
	std::tuple<F *...>            f;
	std::array<int, sizeof...(F)> n;       /* values that each is given; ASK = its trace knows */
	place                         at;
	std::exception_ptr            thrown;

	/** Of a custom gradient. */
	template <typename R> void save(hop_trace *t, const kept<R> &r)
	{
		std::vector<hop_value> v = handles(r.saved);
		hop_at_save(t, at.file, at.line, static_cast<int>(v.size()), v.data());
		check(t);
	}
	template <typename R> void save(hop_trace *, const R &) {}

	template <typename F1> void call_one(F1 &f1, hop_trace *t, const hop_value *in, int count)
	{
		std::vector<hop_value> v;
		constexpr int want = arity<F1>();
		if (want != MANY && want != count) {
			fail(t, ("the body takes " + std::to_string(want) + " values, and gets " +
			         std::to_string(count)).c_str());
			return;
		}
		if constexpr (std::is_void<result_of<F1>>::value) {
			call(f1, t, in, count);
		} else {
			auto r = call(f1, t, in, count);
			save(t, r);
			v = flat(t, r);
		}
		hop_at_return_n(t, at.file, at.line, static_cast<int>(v.size()), v.data());
	}

	void fail(hop_trace *t, const char *what)
	{
		hop_at_fail_here(hop_innermost(t), at.file, at.line, what);
	}

	/** Nothing is thrown through C: it is kept, and thrown again by done. An error of this trace is
	 * there already, where notes are added to it. */
	template <std::size_t I> static void run(hop_trace *t, const hop_value *in, void *user)
	{
		bodies *b = static_cast<bodies *>(user);
		try {
			b->call_one(*std::get<I>(b->f), t, in, b->n[I] == ASK ? hop_body_nin(t) : b->n[I]);
		} catch (const error &e) {
			if (hop_failed(t))
				return;
			b->thrown = std::current_exception();
			b->fail(t, e.what());
		} catch (const std::exception &e) {
			b->thrown = std::current_exception();
			b->fail(t, (std::string("an exception left the body: ") + e.what()).c_str());
		} catch (...) {
			b->thrown = std::current_exception();
			b->fail(t, "an exception left the body");
		}
	}

	/** After the C call. */
	void done(hop_trace *t)
	{
		if (thrown)
			std::rethrow_exception(thrown);
		check(t);
	}
};

template <typename... F> bodies<F...> bodies_of(place at, std::array<int, sizeof...(F)> n, F &...f)
{
	return bodies<F...>{ std::tuple<F *...>(&f...), n, at, nullptr };
}

/** Room for the results: as many as the pack has, or so many for a vector. */
template <typename R> std::vector<hop_value> room()
{
	int n = pack_of<R>::count();
	return std::vector<hop_value>(static_cast<std::size_t>(n == ANY ? 256 : n) + 1);
}

inline int cap(const std::vector<hop_value> &v) { return static_cast<int>(v.size()) - 1; }

inline std::vector<int> counted(std::size_t n)
{
	std::vector<int> v(n);
	for (std::size_t i = 0; i < n; i++)
		v[i] = static_cast<int>(i);
	return v;
}

}

/* ---- cond and switch ---- */

namespace detail {

template <typename T, typename E>
auto either(decltype(hop_at_cond) *op, const value &pred, T &then_, E &else_, place at)
{
	typedef result_of<T> R;
	hop_trace *t = inner(pred.t);
	auto b = bodies_of(at, { { 0, 0 } }, then_, else_);
	typedef decltype(b) B;
	std::vector<hop_value> out = room<R>();
	int n = op(t, at.file, at.line, pred.v, &B::template run<0>, &B::template run<1>, &b, 0, nullptr,
	           cap(out), out.data());
	b.done(t);
	return taken<R>(t, out.data(), n);
}

}

/** What the one that runs gives; both are captured. */
template <typename T, typename E>
auto cond(const value &pred, T &&then_, E &&else_, place at = place())
{
	return detail::either(hop_at_cond, pred, then_, else_, at);
}
/** The same for results of different sizes: each is of that which the one that ran gave it. */
template <typename T, typename E>
auto cond_exact(const value &pred, T &&then_, E &&else_, place at = place())
{
	return detail::either(hop_at_cond_exact, pred, then_, else_, at);
}

namespace detail {

template <typename... F, std::size_t... I>
auto branches(decltype(hop_at_switch) *op, const value &which, place at, std::index_sequence<I...>,
              F &...f)
{
	typedef result_of<std::tuple_element_t<0, std::tuple<F...>>> R;
	hop_trace *t = inner(which.t);
	auto b = bodies_of(at, std::array<int, sizeof...(F)>{}, f...);
	typedef decltype(b) B;
	hop_body *const body[] = { &B::template run<I>... };
	std::vector<hop_value> out = room<R>();
	int n = op(t, at.file, at.line, which.v, static_cast<int>(sizeof...(F)), body, &b, 0, nullptr,
	           cap(out), out.data());
	b.done(t);
	return taken<R>(t, out.data(), n);
}

/** An index that knows its line: a pack of lambdas leaves no room for a default. */
struct which {
	value v;
	place at;
	which(const value &x, place p = place()) : v(x), at(p) {}
};

}

/** One of the lambdas, counted from 0; an index past the ends means the end. */
template <typename... F> auto switch_(const detail::which &index, F &&...f)
{
	static_assert(sizeof...(F) > 0, "a switch has branches");
	return detail::branches(hop_at_switch, index.v, index.at, std::index_sequence_for<F...>(), f...);
}
/** The same for results of different sizes, as cond_exact. */
template <typename... F> auto switch_exact(const detail::which &index, F &&...f)
{
	static_assert(sizeof...(F) > 0, "a switch has branches");
	return detail::branches(hop_at_switch_exact, index.v, index.at, std::index_sequence_for<F...>(),
	                        f...);
}

/* ---- loops ---- */

struct while_opts {
	int64_t max_trips = 0;         /* 0 = no bound */
	value  *trips = nullptr;       /* how many there were */
	int     slots = 0;             /* reverse mode: states to keep; 0 = what every trip needs */
	hop_lanes_how lanes = HOP_LANES_AUTO;      /* how it is run when it is batched */
};

/** init is a value or a pack of them; test(carries) -> bool scalar, body(carries) -> carries. */
template <typename C, typename T, typename B>
auto while_loop(const C &init, T &&test, B &&body, while_opts o = {}, place at = place())
{
	hop_trace *t = detail::inner_of(init);
	std::vector<hop_value> in = detail::flat(t, init), out(in.size() + 1);
	int n = static_cast<int>(in.size());
	auto b = detail::bodies_of(at, { { n, n } }, test, body);
	typedef decltype(b) Bodies;
	hop_while_opts opts = {};
	opts.size = sizeof opts;
	opts.max_trips = o.max_trips;
	opts.slots = o.slots;
	opts.lanes = o.lanes;
	hop_value trips = { 0, 0 };
	n = hop_at_while(t, at.file, at.line, &Bodies::template run<0>, &Bodies::template run<1>, &b, n,
	                 in.data(), &opts, out.data(), o.trips ? &trips : nullptr);
	b.done(t);
	if (o.trips)
		*o.trips = value(t, trips);
	return detail::taken<C>(t, out.data(), n);
}

/** The same, keeping what every trip gives: body(carries) -> carries, what is stacked. Gives carries,
 * then stacks of o.max_trips rows, which must be said; rows that no trip came to are zero. */
template <typename C, typename T, typename B>
auto while_stack_output(const C &init, T &&test, B &&body, while_opts o, place at = place())
{
	typedef detail::result_of<B> R;
	hop_trace *t = detail::inner_of(init);
	std::vector<hop_value> in = detail::flat(t, init), out = detail::room<R>();
	int n = static_cast<int>(in.size());
	auto b = detail::bodies_of(at, { { n, n } }, test, body);
	typedef decltype(b) Bodies;
	hop_while_opts opts = {};
	opts.size = sizeof opts;
	opts.max_trips = o.max_trips;
	opts.slots = o.slots;
	hop_value trips = { 0, 0 };
	n = hop_at_while_stack_output(t, at.file, at.line, &Bodies::template run<0>,
	                              &Bodies::template run<1>, &b, n, in.data(), &opts,
	                              detail::cap(out), out.data(), o.trips ? &trips : nullptr);
	b.done(t);
	if (o.trips)
		*o.trips = value(t, trips);
	return detail::taken<R>(t, out.data(), n);
}

/** Where a fori_loop begins and ends: a number, a size, or data. */
struct limit {
	hop_limit l;
	limit(int n) : l(hop_limit_int(n)) {}
	limit(int64_t n) : l(hop_limit_int(n)) {}
	limit(const dim &n) : l(hop_limit_dim(n)) {}
	limit(const value &v) : l(hop_limit_value(v.v)) {}
};
struct fori_opts {
	int     every = 0, unroll = 0, slots = 0;
	int64_t max_trips = 0;         /* where a limit is data */
};

/** body(i, carries) -> carries, for i from lower up to upper - 1. */
template <typename C, typename B>
auto fori_loop(limit lower, limit upper, const C &init, B &&body, fori_opts o = {},
               place at = place())
{
	hop_trace *t = detail::inner_of(init);
	std::vector<hop_value> in = detail::flat(t, init), out(in.size() + 1);
	int n = static_cast<int>(in.size());
	auto b = detail::bodies_of(at, { { n + 1 } }, body);
	typedef decltype(b) Bodies;
	hop_fori_opts opts = {};
	opts.size = sizeof opts;
	opts.every = o.every;
	opts.unroll = o.unroll;
	opts.slots = o.slots;
	opts.max_trips = o.max_trips;
	n = hop_at_fori_loop(t, at.file, at.line, lower.l, upper.l, &Bodies::template run<0>, &b, n,
	                     in.data(), &opts, out.data());
	b.done(t);
	return detail::taken<C>(t, out.data(), n);
}

struct scan_opts {
	int    axis = 0;
	bool   reverse = false;
	int    every = 0;
	std::optional<dim> length;     /* needed when there are no xs */
	value  count;                  /* set: only so many steps run */
	value *steps = nullptr;        /* how many ran */
	int    slots = 0;              /* as of while_opts; not together with every */
	int    unroll = 0;             /* steps of the body in one step of the loop */
};

/** body(carries, slices of xs) -> carries, outputs. Gives carries, then the outputs stacked. init
 * and xs are values or packs of them, std::tuple<>() for none. */
template <typename C, typename X, typename B>
auto scan(const C &init, const X &xs, B &&body, scan_opts o = {}, place at = place())
{
	typedef detail::result_of<B> R;
	hop_trace *t = detail::inner_of(init, xs);
	std::vector<hop_value> in = detail::flat(t, init), x = detail::flat(t, xs);
	int nc = static_cast<int>(in.size()), nx = static_cast<int>(x.size());
	auto b = detail::bodies_of(at, { { nc + nx } }, body);
	typedef decltype(b) Bodies;
	hop_scan_opts opts = {};
	opts.size = sizeof opts;
	opts.axis = o.axis;
	opts.reverse = o.reverse;
	opts.every = o.every;
	opts.slots = o.slots;
	opts.unroll = o.unroll;
	opts.has_length = o.length.has_value();
	if (o.length)
		opts.length = *o.length;
	opts.counted = o.count.t != nullptr;
	opts.count = o.count.v;
	std::vector<hop_value> out = detail::room<R>();
	hop_value steps = { 0, 0 };
	int n = hop_at_scan(t, at.file, at.line, &Bodies::template run<0>, &b, nc, in.data(), nx,
	                    x.data(), &opts, detail::cap(out), out.data(), o.steps ? &steps : nullptr);
	b.done(t);
	if (o.steps)
		*o.steps = value(t, steps);
	return detail::taken<R>(t, out.data(), n);
}

/** In the body of a scan: this step is the last if pred holds. */
inline void stop_if(const value &pred, place at = place())
{
	hop_trace *t = detail::inner(pred.t);
	hop_at_stop_if(t, at.file, at.line, pred.v);
	detail::check(t);
}

struct map_opts {
	int axis, chunk;               /* chunk: so many slices at a time, batched; 0 = one */
	map_opts(int axis_ = 0, int chunk_ = 0) : axis(axis_), chunk(chunk_) {}
};

/** body(slices of xs) -> outputs, stacked; in no order. */
template <typename X, typename B>
auto map(const X &xs, B &&body, map_opts o = map_opts(), place at = place())
{
	typedef detail::result_of<B> R;
	hop_trace *t = detail::inner_of(xs);
	std::vector<hop_value> x = detail::flat(t, xs), out = detail::room<R>();
	int nx = static_cast<int>(x.size());
	auto b = detail::bodies_of(at, { { nx } }, body);
	typedef decltype(b) Bodies;
	int n = hop_at_map_chunked(t, at.file, at.line, &Bodies::template run<0>, &b, nx, x.data(),
	                           o.axis, o.chunk, detail::cap(out), out.data());
	b.done(t);
	return detail::taken<R>(t, out.data(), n);
}

struct assoc_opts {
	int  axis = 0;                 /* of all xs and results */
	bool reverse = false;
	bool exclusive = false;        /* without the slice it stands at; needs init */
	std::vector<value> init;       /* what comes before the first slice, one a leaf */
};

/** All prefixes of the slices of xs under combine(left leaves, right leaves) -> leaves, which is
 * associative. xs is a value or a pack of them; so is what it gives. */
template <typename X, typename B>
auto associative_scan(const X &xs, B &&combine, const assoc_opts &o = {}, place at = place())
{
	hop_trace *t = detail::inner_of(xs);
	std::vector<hop_value> x = detail::flat(t, xs), init = detail::flat(t, o.init),
	                       out(x.size() + 1);
	int nx = static_cast<int>(x.size());
	auto b = detail::bodies_of(at, { { 2 * nx } }, combine);
	typedef decltype(b) Bodies;
	hop_assoc_opts opts = {};
	opts.size = sizeof opts;
	opts.axis = o.axis;
	opts.reverse = o.reverse;
	opts.exclusive = o.exclusive;
	if (!init.empty() && init.size() != x.size())
		b.fail(t, "associative_scan: give one init for each xs, or none");
	opts.init = init.empty() ? nullptr : init.data();
	int n = hop_at_associative_scan(t, at.file, at.line, &Bodies::template run<0>, &b, nx,
	                                x.data(), &opts, out.data());
	b.done(t);
	return detail::taken<X>(t, out.data(), n);
}

/** init and all slices of xs under the combine. */
template <typename I, typename X, typename B>
auto reduce_with(const I &init, const X &xs, B &&combine, int axis = 0, place at = place())
{
	hop_trace *t = detail::inner_of(init, xs);
	std::vector<hop_value> i = detail::flat(t, init), x = detail::flat(t, xs), out(x.size() + 1);
	int nx = static_cast<int>(x.size());
	auto b = detail::bodies_of(at, { { 2 * nx } }, combine);
	typedef decltype(b) Bodies;
	if (i.size() != x.size())
		b.fail(t, "reduce_with: give one init for each xs");
	int n = hop_at_reduce_with(t, at.file, at.line, &Bodies::template run<0>, &b, nx, i.data(),
	                           x.data(), axis, out.data());
	b.done(t);
	return detail::taken<X>(t, out.data(), n);
}

/* ---- regions ---- */

/** A mode (hop/mode.h) of the trace of x, to the end of its life:
 *	{ hop::mode low(x, HOP_MODE_AUTOCAST, HOP_bf16); y = matmul(x, w); } */
class mode {
	hop_at_mode m;
public:
	mode(const value &x, hop_mode_kind kind, hop_dtype dtype = HOP_bf16, place at = place())
		: m(hop_mode_open(detail::inner(x.t), at.file, at.line, kind, dtype))
	{
		detail::check(x.t);
	}
	mode(const mode &) = delete;
	mode &operator=(const mode &) = delete;
	~mode() { hop_mode_done(&m); }
};

/** A body as a graph of its own, with options (hop_region_with); inputs are a value or a pack of them,
 * which the body gets. */
template <typename X, typename B>
auto region(const char *name, const hop_region_opts &opts, const X &inputs, B &&body,
            place at = place())
{
	typedef detail::result_of<B> R;
	hop_trace *t = detail::inner_of(inputs);
	std::vector<hop_value> in = detail::flat(t, inputs), out = detail::room<R>();
	int nin = static_cast<int>(in.size());
	auto b = detail::bodies_of(at, { { nin } }, body);
	typedef decltype(b) Bodies;
	hop_region_opts o = opts;
	o.size = sizeof o;
	int n = hop_at_region_with(t, at.file, at.line, name, &Bodies::template run<0>, &b, &o, nin,
	                           in.data(), detail::cap(out), out.data());
	b.done(t);
	return detail::taken<R>(t, out.data(), n);
}

/** The same without options. */
template <typename X, typename B>
auto region(const char *name, const X &inputs, B &&body, place at = place())
{
	return region(name, hop_region_opts{}, inputs, body, at);
}

/** The same with a key that is trusted (hop_region_keyed): the body is run where none was captured
 * under an equal one. What the lambda captures is no part of the key, static data are. */
template <typename X, typename B>
auto region_keyed(const char *name, std::initializer_list<hop_static> statics, const X &inputs,
                  B &&body, place at = place())
{
	typedef detail::result_of<B> R;
	hop_trace *t = detail::inner_of(inputs);
	std::vector<hop_value> in = detail::flat(t, inputs), out = detail::room<R>();
	int nin = static_cast<int>(in.size());
	auto b = detail::bodies_of(at, { { nin } }, body);
	typedef decltype(b) Bodies;
	hop_region_opts o{};
	size_t k = 0;
	o.size = sizeof o;
	if (statics.size() > HOP_STATICS)
		b.fail(t, "region_keyed: there is more static data than HOP_STATICS");
	for (const hop_static &s : statics)
		if (k < HOP_STATICS)
			o.statics[k++] = s;
	int n = hop_at_region_keyed(t, at.file, at.line, name, &Bodies::template run<0>, &b, &o, nin,
	                            in.data(), detail::cap(out), out.data());
	b.done(t);
	return detail::taken<R>(t, out.data(), n);
}

/** The body on each of a list, as a region: those of equal types share one graph. */
template <typename X, typename B>
auto foreach_map(const std::vector<X> &list, B &&body, place at = place())
{
	typedef detail::result_of<B> R;
	std::vector<detail::type_of<R>> all;
	for (const X &x : list)
		all.push_back(region("foreach_map", x, body, at));
	return all;
}

/* ---- transforms of a body at inputs, a value or a pack of them ---- */

/** The results of the body, of which the first is a float scalar, and its gradients for the inputs:
 * auto [loss, dx] = hop::grad(x, [&](value x) { .. }); */
template <typename X, typename B> auto grad(const X &inputs, B &&body, place at = place())
{
	typedef std::tuple<detail::type_of<detail::result_of<B>>, detail::type_of<X>> R;
	hop_trace *t = detail::inner_of(inputs);
	std::vector<hop_value> in = detail::flat(t, inputs), out = detail::room<R>();
	int nin = static_cast<int>(in.size());
	std::vector<int> wrt = detail::counted(in.size());
	auto b = detail::bodies_of(at, { { nin } }, body);
	typedef decltype(b) Bodies;
	int n = hop_at_grad_at(t, at.file, at.line, &Bodies::template run<0>, &b, nin, in.data(), nin,
	                       wrt.data(), detail::cap(out), out.data());
	b.done(t);
	return detail::taken<R>(t, out.data(), n);
}

/** The results of the body, all of them floats, and their derivatives along the tangents. */
template <typename X, typename D, typename B>
auto jvp(const X &inputs, const D &tangents, B &&body, place at = place())
{
	typedef detail::type_of<detail::result_of<B>> Y;
	typedef std::tuple<Y, Y> R;
	hop_trace *t = detail::inner_of(inputs, tangents);
	std::vector<hop_value> in = detail::flat(t, inputs), d = detail::flat(t, tangents);
	std::vector<hop_value> out = detail::room<R>();
	if (d.size() != in.size()) {
		hop_at_fail_here(t, at.file, at.line, "jvp: there must be a tangent for each input");
		detail::check(t);
	}
	int nin = static_cast<int>(in.size());
	std::vector<int> wrt = detail::counted(in.size());
	auto b = detail::bodies_of(at, { { nin } }, body);
	typedef decltype(b) Bodies;
	int n = hop_at_jvp_at(t, at.file, at.line, &Bodies::template run<0>, &b, nin, in.data(), nin,
	                      wrt.data(), d.data(), detail::cap(out), out.data());
	b.done(t);
	return detail::taken<R>(t, out.data(), n);
}

/** The results of the body, and the cotangents of the inputs for these of its float results. */
template <typename X, typename D, typename B>
auto vjp(const X &inputs, const D &cotangents, B &&body, place at = place())
{
	typedef std::tuple<detail::type_of<detail::result_of<B>>, detail::type_of<X>> R;
	hop_trace *t = detail::inner_of(inputs, cotangents);
	std::vector<hop_value> in = detail::flat(t, inputs), d = detail::flat(t, cotangents);
	std::vector<hop_value> out = detail::room<R>();
	int nin = static_cast<int>(in.size());
	std::vector<int> wrt = detail::counted(in.size());
	auto b = detail::bodies_of(at, { { nin } }, body);
	typedef decltype(b) Bodies;
	int n = hop_at_vjp_at(t, at.file, at.line, &Bodies::template run<0>, &b, nin, in.data(), nin,
	                      wrt.data(), static_cast<int>(d.size()), d.data(), detail::cap(out),
	                      out.data());
	b.done(t);
	return detail::taken<R>(t, out.data(), n);
}

/** Jacobians of the only result, one for each input. */
template <typename X, typename B> auto jac(const X &inputs, B &&body, place at = place())
{
	hop_trace *t = detail::inner_of(inputs);
	std::vector<hop_value> in = detail::flat(t, inputs), out = detail::room<X>();
	int nin = static_cast<int>(in.size());
	std::vector<int> wrt = detail::counted(in.size());
	auto b = detail::bodies_of(at, { { nin } }, body);
	typedef decltype(b) Bodies;
	int n = hop_at_jac_at(t, at.file, at.line, &Bodies::template run<0>, &b, nin, in.data(), nin,
	                      wrt.data(), detail::cap(out), out.data());
	b.done(t);
	return detail::taken<X>(t, out.data(), n);
}

/** Inputs of vmap: along an axis other than 0; the same for every lane. */
inline lane along(const value &x, int axis) { return lane{ x, axis }; }
inline lane shared(const value &x) { return lane{ x, -1 }; }
/** A key, of which every lane gets one of its own. */
inline lane own_key(const value &x) { return lane{ x, HOP_OWN_KEY }; }

/** The body on every element of axis 0 of the inputs; results are stacked on axis 0. */
template <typename X, typename B> auto vmap(const X &inputs, B &&body, place at = place())
{
	typedef detail::result_of<B> R;
	hop_trace *t = detail::inner_of(inputs);
	std::vector<hop_value> in = detail::flat(t, inputs), out = detail::room<R>();
	std::vector<int> axis;
	detail::pack_of<X>::each(inputs, detail::axes{ axis });
	int nin = static_cast<int>(in.size());
	auto b = detail::bodies_of(at, { { nin } }, body);
	typedef decltype(b) Bodies;
	int n = hop_at_vmap_at(t, at.file, at.line, &Bodies::template run<0>, &b, nin, in.data(),
	                       axis.data(), detail::cap(out), out.data());
	b.done(t);
	return detail::taken<R>(t, out.data(), n);
}

/* ---- equations (implicit.h): unknowns are a value or a pack of them, from where to start ---- */

namespace detail {

typedef int equation_fn(hop_trace *, const char *, int, hop_body *, void *, int, const hop_value *,
                        const hop_implicit_opts *, hop_value *, hop_value *);

template <typename X, typename B>
auto equation(equation_fn *call, const X &x0, B &body, const hop_implicit_opts *opts, place at)
{
	typedef std::tuple<type_of<X>, value> R;
	hop_trace *t = inner_of(x0);
	std::vector<hop_value> in = flat(t, x0), out(in.size() + 1);
	int n = static_cast<int>(in.size());
	auto b = bodies_of(at, { { n } }, body);
	typedef decltype(b) Bodies;
	int m = call(t, at.file, at.line, &Bodies::template run<0>, &b, n, in.data(), opts, out.data(),
	             &out[in.size()]);
	b.done(t);
	return taken<R>(t, out.data(), m + 1);
}

}

/** auto [x, info] = hop::root(x0, [&](value x) { return x * x - a; }); info is an i64 scalar, 0 if a
 * root was found. opts: NULL, or of HOP_IMPLICIT_OPTS what bodies of their own do not need. */
template <typename X, typename B>
auto root(const X &x0, B &&body, const hop_implicit_opts *opts = nullptr, place at = place())
{
	return detail::equation(hop_at_root, x0, body, opts, at);
}
/** The same for what body(x) leaves as it is; where it is least; and for x of body(x) = b, whose
 * body is linear. */
template <typename X, typename B>
auto fixed_point(const X &x0, B &&body, const hop_implicit_opts *opts = nullptr,
                 place at = place())
{
	return detail::equation(hop_at_fixed_point, x0, body, opts, at);
}
template <typename X, typename B>
auto minimize(const X &x0, B &&body, const hop_implicit_opts *opts = nullptr, place at = place())
{
	return detail::equation(hop_at_minimize, x0, body, opts, at);
}
template <typename X, typename B>
auto linear_solve(const X &b, B &&body, const hop_implicit_opts *opts = nullptr,
                  place at = place())
{
	return detail::equation(hop_at_linear_solve, b, body, opts, at);
}

/* ---- functions with their own derivative ---- */

/** What a forward body returns: results, and the values that the reverse body is given first. */
template <typename R, typename... V> detail::kept<R> keep(const R &results, const V &...saved)
{
	return detail::kept<R>{ results, std::vector<value>{ saved... } };
}

namespace detail {

template <typename R> struct is_kept : std::false_type {};
template <typename R> struct is_kept<kept<R>> : std::true_type {};

/** f: fwd, then bwd, jvp and batch, those that there are, at the places that are not -1. */
template <int B, int J, int L, typename X, typename... F>
auto custom(place at, hop_custom_rule rule, const X &inputs, F &...f)
{
	typedef result_of<std::tuple_element_t<0, std::tuple<F...>>> R;
	static_assert(B < 0 || is_kept<R>::value,
	              "a forward body returns keep(results, what is saved..)");
	hop_trace *t = inner_of(inputs);
	std::vector<hop_value> in = flat(t, inputs), out = room<R>();
	std::array<int, sizeof...(F)> count;
	count.fill(ASK);
	auto b = bodies_of(at, count, f...);
	typedef decltype(b) Bodies;
	rule.size = sizeof rule;
	rule.fwd = &Bodies::template run<0>;
	if constexpr (B > 0)
		rule.bwd = &Bodies::template run<B>;
	if constexpr (J > 0)
		rule.jvp = &Bodies::template run<J>;
	if constexpr (L > 0)
		rule.batch = &Bodies::template run<L>;
	int n = hop_at_custom(t, at.file, at.line, &rule, &b, static_cast<int>(in.size()), in.data(),
	                      cap(out), out.data());
	b.done(t);
	return taken<R>(t, out.data(), n);
}

}

/** How a custom gradient is batched, and how often its rule may be used, as in hop_custom_rule. */
inline hop_custom_rule lanewise() { hop_custom_rule r = {}; r.lanewise = true; return r; }
inline hop_custom_rule once() { hop_custom_rule r = {}; r.once = true; return r; }

/** fwd(inputs) -> keep(results, saved..). bwd(saved.., cotangents of the float results) ->
 * cotangents of the float inputs, value() for zero. jvp(inputs, tangents of the float inputs) ->
 * tangents of the results. opts: lanewise(), once(). */
template <typename X, typename F, typename B>
auto custom(const X &inputs, F &&fwd, B &&bwd, place at = place())
{
	return detail::custom<1, -1, -1>(at, hop_custom_rule(), inputs, fwd, bwd);
}
template <typename X, typename F, typename B>
auto custom(const X &inputs, F &&fwd, B &&bwd, const hop_custom_rule &opts, place at = place())
{
	return detail::custom<1, -1, -1>(at, opts, inputs, fwd, bwd);
}
template <typename X, typename F, typename B, typename J,
          typename = std::enable_if_t<!std::is_convertible<J, place>::value &&
                                      !std::is_convertible<J, hop_custom_rule>::value>>
auto custom(const X &inputs, F &&fwd, B &&bwd, J &&jvp, place at = place())
{
	return detail::custom<1, 2, -1>(at, hop_custom_rule(), inputs, fwd, bwd, jvp);
}
/** A rule for forward mode, which serves reverse mode too: fwd(inputs) -> results. */
template <typename X, typename F, typename J>
auto custom_jvp(const X &inputs, F &&fwd, J &&jvp, place at = place())
{
	return detail::custom<-1, 1, -1>(at, hop_custom_rule(), inputs, fwd, jvp);
}
/** batch(inputs with lanes first, a bool for each: do its lanes differ) -> results with lanes first. */
template <typename X, typename F, typename B, typename L>
auto custom_batched(const X &inputs, F &&fwd, B &&bwd, L &&batch, place at = place())
{
	return detail::custom<1, -1, 2>(at, hop_custom_rule(), inputs, fwd, bwd, batch);
}

/** In fwd: results without derivative. */
template <typename... V> void nondiff(const value &v, const V &...more)
{
	std::vector<hop_value> all = { v, more... };
	place at;
	hop_at_nondiff(detail::inner(v.t), at.file, at.line, static_cast<int>(all.size()), all.data());
	detail::check(v.t);
}
/** In bwd: the cotangent of a value that was captured. */
inline void give_grad(const value &captured, const value &d, place at = place())
{
	hop_at_give_grad(detail::inner(captured.t), at.file, at.line, captured, d);
	detail::check(captured.t);
}
/** In jvp: the tangent of such a one. */
inline value tangent_of(const value &captured, place at = place())
{
	hop_trace *t = detail::inner(captured.t);
	hop_value d = hop_at_tangent_of(t, at.file, at.line, captured);
	detail::check(t);
	return value(t, d);
}

}

#endif
