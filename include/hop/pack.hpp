/** Packs: what bodies of hop/body.hpp take and return. A pack is a value, a number, or a
 * std::tuple, pair, array or vector of packs; to C it is the list of its values. It calls no
 * body. */
#ifndef HOP_PACK_HPP
#define HOP_PACK_HPP

#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

#include "hop/value.hpp"

namespace hop {

/** A value with the axis that it is batched along; -1 = the same for all. */
struct lane { value v; int axis; };

namespace detail {

/** Values of a forward body, and what its reverse body needs. */
template <typename R> struct kept { R out; std::vector<value> saved; };

/** type: the pack of values of this form. count: how many they are, ANY for a vector. each: visit
 * the leaves in order. take: such a pack from a list of handles. */
enum { ANY = -1 };
template <typename T, typename = void> struct pack;

[[noreturn]] inline void miscounted()
{
	throw error(HOP_ETYPE, "error: the bodies do not give as many values as were expected");
}

template <typename T> struct leaf {
	typedef value type;
	static int count() { return 1; }
	template <typename V> static void each(const T &x, V &&visit) { visit(x); }
	static value take(hop_trace *t, const hop_value *&from, int &left)
	{
		if (left-- < 1)
			miscounted();
		return value(t, *from++);
	}
};

template <> struct pack<value> : leaf<value> {};
template <> struct pack<lane> : leaf<lane> {};
template <typename N> struct pack<N, std::enable_if_t<std::is_arithmetic<N>::value>> : leaf<N> {};

template <> struct pack<void> {
	typedef void type;
	static int count() { return 0; }
	static void take(hop_trace *, const hop_value *&, int &) {}
};

template <typename T> struct pack<std::vector<T>> {
	typedef std::vector<typename pack<T>::type> type;
	static int count() { return ANY; }
	template <typename V> static void each(const std::vector<T> &x, V &&visit)
	{
		for (const T &e : x)
			pack<T>::each(e, visit);
	}
	static type take(hop_trace *t, const hop_value *&from, int &left)
	{
		type x;
		while (left > 0)
			x.push_back(pack<T>::take(t, from, left));
		return x;
	}
};

template <typename T, std::size_t N> struct pack<std::array<T, N>> {
	typedef std::array<typename pack<T>::type, N> type;
	static int count()
	{
		int n = pack<T>::count();
		return n == ANY ? n : n * static_cast<int>(N);
	}
	template <typename V> static void each(const std::array<T, N> &x, V &&visit)
	{
		for (const T &e : x)
			pack<T>::each(e, visit);
	}
	static type take(hop_trace *t, const hop_value *&from, int &left)
	{
		type x;
		for (auto &e : x)
			e = pack<T>::take(t, from, left);
		return x;
	}
};

template <typename... T> struct pack<std::tuple<T...>> {
	typedef std::tuple<typename pack<T>::type...> type;
	static int count()
	{
		int n = 0;
		((n = n == ANY || pack<T>::count() == ANY ? int(ANY) : n + pack<T>::count()), ...);
		return n;
	}
	template <typename V> static void each(const std::tuple<T...> &x, V &&visit)
	{
		(void)visit;
		std::apply([&](const T &...e) { (pack<T>::each(e, visit), ...); }, x);
	}
	static type take(hop_trace *t, const hop_value *&from, int &left)
	{
		(void)t;
		(void)from;
		(void)left;
		return type{ pack<T>::take(t, from, left)... };      /* braces: from left to right */
	}
};

template <typename A, typename B> struct pack<std::pair<A, B>> {
	typedef std::pair<typename pack<A>::type, typename pack<B>::type> type;
	static int count() { return pack<std::tuple<A, B>>::count(); }
	template <typename V> static void each(const std::pair<A, B> &x, V &&visit)
	{
		pack<A>::each(x.first, visit);
		pack<B>::each(x.second, visit);
	}
	static type take(hop_trace *t, const hop_value *&from, int &left)
	{
		return type{ pack<A>::take(t, from, left), pack<B>::take(t, from, left) };
	}
};

/** What is kept is no result. */
template <typename R> struct pack<kept<R>> : pack<R> {
	template <typename V> static void each(const kept<R> &x, V &&visit)
	{
		pack<R>::each(x.out, visit);
	}
};

template <typename T> using pack_of = pack<std::decay_t<T>>;
template <typename T> using type_of = typename pack_of<T>::type;

/** The handles of a pack, in a trace. */
struct flattener {
	hop_trace              *t;
	std::vector<hop_value> &to;
	void operator()(const value &x) { to.push_back(x.v); }
	void operator()(const lane &x) { to.push_back(x.v.v); }
	template <typename N> void operator()(const N &x) { to.push_back(arg(x).in(t)); }
};

template <typename T> std::vector<hop_value> flat(hop_trace *t, const T &x)
{
	std::vector<hop_value> v;
	pack_of<T>::each(x, flattener{ t, v });
	return v;
}

/** The innermost body of the first value that is set. */
struct finder {
	hop_trace *&t;
	void operator()(const value &x) { t = t ? t : x.t; }
	void operator()(const lane &x) { t = t ? t : x.v.t; }
	template <typename N> void operator()(const N &) {}
};

template <typename... T> hop_trace *inner_of(const T &...x)
{
	hop_trace *t = nullptr;
	(pack_of<T>::each(x, finder{ t }), ...);
	return inner(t);
}

struct axes {
	std::vector<int> &to;
	void operator()(const lane &x) { to.push_back(x.axis); }
	template <typename N> void operator()(const N &) { to.push_back(0); }
};

/** Results that the caller's pack has no place for are a mistake of the bodies. */
template <typename R> type_of<R> taken(hop_trace *t, const hop_value *v, int n)
{
	if (pack_of<R>::count() != ANY && pack_of<R>::count() != n)
		miscounted();
	return pack_of<R>::take(t, v, n);
}

}
}

#endif
