/** Values in C++: hop::value with operators, and the functions of ops.h, shape.h and nn.h, found by
 * their arguments. Each records in the innermost body that is open where its operands are, at the
 * line it is called from, and throws hop::error when the call fails. Operators with bodies are in
 * hop/body.hpp, contexts, functions and arrays in hop/hop.hpp. */
#ifndef HOP_VALUE_HPP
#define HOP_VALUE_HPP

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "hop/hop.h"

namespace hop {

/** Any failure: its status, and as what() the whole message. */
class error : public std::runtime_error {
public:
	error(hop_status st, const std::string &text) : std::runtime_error(text), status_(st) {}
	hop_status status() const { return status_; }
private:
	hop_status status_;
};

/** The line of a call, as a parameter that is never given. */
struct place {
	const char *file;
	int         line;
	place(const char *f = __builtin_FILE(), int l = __builtin_LINE()) : file(f), line(l) {}
};

namespace detail {

/** Throw what the trace failed with, if it did. */
inline void check(hop_trace *t)
{
	const char *text = "";
	if (!hop_failed(t))
		return;
	hop_status st = hop_failure(t, &text);
	throw error(st, text);
}

inline hop_trace *inner(hop_trace *t)
{
	if (!t)
		throw error(HOP_EUSE, "error: a value that was not set, or numbers alone");
	return hop_innermost(t);
}

}

struct arg;

/** An index or a bound: a number, or a size of a value. */
struct dim : hop_dim {
	template <typename N, typename = std::enable_if_t<std::is_integral<N>::value>>
	dim(N n) : hop_dim(hop_n(static_cast<int64_t>(n))) {}
	dim(hop_dim d) : hop_dim(d) {}
};

/** A value and a trace of its root; it must not be used after them. Assigning makes the variable
 * another value: nothing is written. The default one is not set. */
class value {
public:
	hop_trace *t = nullptr;
	hop_value  v = { 0, 0 };

	value() = default;
	explicit value(hop_trace *trace) : t(trace) {}        /* a variable that a block will set */
	value(hop_trace *trace, hop_value handle) : t(trace), v(handle) {}
	operator hop_value() const { return v; }

	int rank(place at = place()) const
	{
		int r = hop_at_rank(detail::inner(t), at.file, at.line, v);
		detail::check(t);
		return r;
	}
	hop_dtype dtype(place at = place()) const
	{
		hop_dtype d = hop_at_dtype_of(detail::inner(t), at.file, at.line, v);
		detail::check(t);
		return d;
	}
	hop::dim dim(int axis, place at = place()) const
	{
		hop_dim d = hop_at_dim_of(detail::inner(t), at.file, at.line, v, axis);
		detail::check(t);
		return d;
	}
	/** Element i of axis 0: hop_index of a number, hop_gather of a value. */
	value operator[](const arg &i) const;
	value &operator+=(const arg &y);
	value &operator-=(const arg &y);
	value &operator*=(const arg &y);
	value &operator/=(const arg &y);
};

/** An operand: a value or a number, and the line where it stands. */
struct arg {
	value    v;
	enum { VALUE, INT, REAL } kind;
	int64_t  i = 0;
	double   f = 0;
	place    at;

	arg(const value &x, place p = place()) : v(x), kind(VALUE), at(p) {}
	template <typename N, typename = std::enable_if_t<std::is_arithmetic<N>::value>>
	arg(N x, place p = place()) : kind(std::is_integral<N>::value ? INT : REAL), at(p)
	{
		if (kind == INT)
			i = static_cast<int64_t>(x);
		else
			f = static_cast<double>(x);
	}
	/** A number is one of the trace it meets. */
	hop_value in(hop_trace *t) const
	{
		return kind == VALUE ? v.v : kind == INT ? hop_at_i(t, at.file, at.line, i)
		                                         : hop_at_f(t, at.file, at.line, f);
	}
};

namespace detail {

inline value give(hop_trace *t, hop_value v)
{
	check(t);
	return value(t, v);
}

typedef hop_value call1(hop_trace *, const char *, int, hop_value);
typedef hop_value call2(hop_trace *, const char *, int, hop_value, hop_value);
typedef hop_value call3(hop_trace *, const char *, int, hop_value, hop_value, hop_value);

inline value point(call1 *f, const arg &x)
{
	hop_trace *t = inner(x.v.t);
	return give(t, f(t, x.at.file, x.at.line, x.in(t)));
}

inline value point(call2 *f, const arg &x, const arg &y)
{
	hop_trace *t = inner(x.v.t ? x.v.t : y.v.t);
	hop_value a = x.in(t), b = y.in(t);
	return give(t, f(t, x.at.file, x.at.line, a, b));
}

inline value point(call3 *f, const arg &p, const arg &x, const arg &y)
{
	hop_trace *t = inner(p.v.t ? p.v.t : x.v.t ? x.v.t : y.v.t);
	hop_value a = p.in(t), b = x.in(t), c = y.in(t);
	return give(t, f(t, p.at.file, p.at.line, a, b, c));
}

typedef std::initializer_list<int> ints;
typedef std::initializer_list<dim> dims;

inline std::vector<hop_dim> sizes(dims d)
{
	return std::vector<hop_dim>(d.begin(), d.end());
}

/** The handles of a list, and its trace. */
inline std::vector<hop_value> handles(const std::vector<value> &x)
{
	return std::vector<hop_value>(x.begin(), x.end());
}

inline hop_trace *inner(const std::vector<value> &x)
{
	for (const value &v : x)
		if (v.t)
			return inner(v.t);
	return inner(static_cast<hop_trace *>(nullptr));
}

/** Calls on one value whose other arguments are not values. */
template <typename F, typename... A>
value on(const value &x, place at, F *f, A... a)
{
	hop_trace *t = inner(x.t);
	return give(t, f(t, at.file, at.line, x.v, a...));
}

}

/* ---- operators: numbers may stand on either side ---- */

inline value operator+(const arg &x, const arg &y) { return detail::point(hop_at_add, x, y); }
inline value operator-(const arg &x, const arg &y) { return detail::point(hop_at_sub, x, y); }
inline value operator*(const arg &x, const arg &y) { return detail::point(hop_at_mul, x, y); }
inline value operator/(const arg &x, const arg &y) { return detail::point(hop_at_div, x, y); }
inline value operator%(const arg &x, const arg &y) { return detail::point(hop_at_rem, x, y); }
inline value operator==(const arg &x, const arg &y) { return detail::point(hop_at_eq, x, y); }
inline value operator!=(const arg &x, const arg &y) { return detail::point(hop_at_ne, x, y); }
inline value operator<(const arg &x, const arg &y) { return detail::point(hop_at_lt, x, y); }
inline value operator<=(const arg &x, const arg &y) { return detail::point(hop_at_le, x, y); }
inline value operator>(const arg &x, const arg &y) { return detail::point(hop_at_gt, x, y); }
inline value operator>=(const arg &x, const arg &y) { return detail::point(hop_at_ge, x, y); }
/** Of integers these are the bits. There is no && and no ||: nothing can be left uncomputed. */
inline value operator&(const arg &x, const arg &y) { return detail::point(hop_at_and, x, y); }
inline value operator|(const arg &x, const arg &y) { return detail::point(hop_at_or, x, y); }
inline value operator^(const arg &x, const arg &y) { return detail::point(hop_at_xor, x, y); }
inline value operator~(const arg &x) { return detail::point(hop_at_not, x); }
inline value operator-(const arg &x) { return detail::point(hop_at_neg, x); }
inline value operator+(const arg &x) { return x.v; }

inline value &value::operator+=(const arg &y) { return *this = arg(*this, y.at) + y; }
inline value &value::operator-=(const arg &y) { return *this = arg(*this, y.at) - y; }
inline value &value::operator*=(const arg &y) { return *this = arg(*this, y.at) * y; }
inline value &value::operator/=(const arg &y) { return *this = arg(*this, y.at) / y; }

inline value value::operator[](const arg &i) const
{
	hop_trace *in = detail::inner(t);
	if (i.kind == arg::VALUE)
		return detail::give(in, hop_at_gather(in, i.at.file, i.at.line, v, 0, i.v.v));
	if (i.kind == arg::REAL) {
		hop_at_fail_here(in, i.at.file, i.at.line, "index: an index is a whole number");
		detail::check(in);
	}
	return detail::give(in, hop_at_index(in, i.at.file, i.at.line, v, 0, i.i));
}

/* ---- making values, on the trace of a value or one given ---- */

inline value full(hop_trace *t, hop_dtype d, detail::dims n, double v, place at = place())
{
	t = detail::inner(t);
	std::vector<hop_dim> s = detail::sizes(n);
	return detail::give(t, hop_at_full(t, at.file, at.line, d, static_cast<int>(s.size()), s.data(),
	                                   v));
}
inline value zeros(hop_trace *t, hop_dtype d, detail::dims n, place at = place())
{
	return full(t, d, n, 0, at);
}
inline value full_like(const value &x, double v, place at = place())
{
	return detail::on(x, at, hop_at_full_like, v);
}
inline value zeros_like(const value &x, place at = place()) { return full_like(x, 0, at); }
inline value scalar(hop_trace *t, hop_dtype d, double v, place at = place())
{
	t = detail::inner(t);
	return detail::give(t, hop_at_scalar(t, at.file, at.line, d, v));
}
inline value arange(hop_trace *t, hop_dtype d, dim n, place at = place())
{
	t = detail::inner(t);
	return detail::give(t, hop_at_arange(t, at.file, at.line, d, n));
}
inline value linspace(hop_trace *t, hop_dtype d, double from, double to, dim n, place at = place())
{
	t = detail::inner(t);
	return detail::give(t, hop_at_linspace(t, at.file, at.line, d, from, to, n));
}
inline value eye(hop_trace *t, hop_dtype d, dim n, dim m, place at = place())
{
	t = detail::inner(t);
	return detail::give(t, hop_at_eye(t, at.file, at.line, d, n, m));
}
inline value one_hot(hop_dtype d, const value &index, dim n, place at = place())
{
	hop_trace *t = detail::inner(index.t);
	return detail::give(t, hop_at_one_hot(t, at.file, at.line, d, index.v, n));
}
inline value iota(hop_trace *t, hop_dtype d, detail::dims n, int axis = 0, place at = place())
{
	t = detail::inner(t);
	std::vector<hop_dim> s = detail::sizes(n);
	return detail::give(t, hop_at_iota(t, at.file, at.line, d, static_cast<int>(s.size()), s.data(),
	                                   axis));
}
inline value uniform(const value &key, hop_dtype d, detail::dims n, place at = place())
{
	std::vector<hop_dim> s = detail::sizes(n);
	return detail::on(key, at, hop_at_random, false, d, static_cast<int>(s.size()), s.data());
}
inline value normal(const value &key, hop_dtype d, detail::dims n, place at = place())
{
	std::vector<hop_dim> s = detail::sizes(n);
	return detail::on(key, at, hop_at_normal, d, static_cast<int>(s.size()), s.data());
}
inline value random_bits(const value &key, detail::dims n, place at = place())
{
	std::vector<hop_dim> s = detail::sizes(n);
	return detail::on(key, at, hop_at_random, true, HOP_i32, static_cast<int>(s.size()), s.data());
}
inline value size_of(const value &x, int axis, place at = place())
{
	return detail::on(x, at, hop_at_size_of, axis);
}

/* ---- moving values ---- */

inline value reshape(const value &x, detail::dims n, place at = place())
{
	std::vector<hop_dim> s = detail::sizes(n);
	return detail::on(x, at, hop_at_reshape, static_cast<int>(s.size()), s.data());
}
inline value expand(const value &x, detail::dims n, place at = place())
{
	std::vector<hop_dim> s = detail::sizes(n);
	return detail::on(x, at, hop_at_expand, static_cast<int>(s.size()), s.data());
}

namespace detail {

/** Lists that hop reads by the rank of x must have its length. */
inline void per_axis(const value &x, size_t n, const char *what, place at)
{
	if (static_cast<size_t>(x.rank(at)) == n)
		return;
	hop_at_fail_here(inner(x.t), at.file, at.line,
	                 (std::string(what) + ": a list must have one element for each axis").c_str());
	check(x.t);
}

}

inline value permute(const value &x, detail::ints axes, place at = place())
{
	detail::per_axis(x, axes.size(), "permute", at);
	return detail::on(x, at, hop_at_permute, axes.begin());
}
inline value transpose(const value &x, int a = -2, int b = -1, place at = place())
{
	return detail::on(x, at, hop_at_transpose, a, b);
}
inline value slice(const value &x, int axis, dim start, dim n, int64_t step = 1, place at = place())
{
	return detail::on(x, at, hop_at_slice, axis, hop_dim(start), hop_dim(n), step);
}
inline value index(const value &x, int axis, int64_t i, place at = place())
{
	return detail::on(x, at, hop_at_index, axis, i);
}
inline value unsqueeze(const value &x, int axis, place at = place())
{
	return detail::on(x, at, hop_at_unsqueeze, axis);
}
inline value cast(const value &x, hop_dtype d, place at = place())
{
	return detail::on(x, at, hop_at_cast, d);
}
inline value clone(const value &x, place at = place()) { return detail::on(x, at, hop_at_clone); }
inline value pad(const value &x, detail::dims before, detail::dims after, place at = place())
{
	std::vector<hop_dim> b = detail::sizes(before), a = detail::sizes(after);
	detail::per_axis(x, b.size(), "pad", at);
	detail::per_axis(x, a.size(), "pad", at);
	return detail::on(x, at, hop_at_pad, b.data(), a.data());
}
inline value concat(const std::vector<value> &x, int axis = 0, place at = place())
{
	hop_trace *t = detail::inner(x);
	std::vector<hop_value> v = detail::handles(x);
	return detail::give(t, hop_at_concat(t, at.file, at.line, static_cast<int>(v.size()), v.data(),
	                                     axis));
}
inline value stack(const std::vector<value> &x, int axis = 0, place at = place())
{
	hop_trace *t = detail::inner(x);
	std::vector<hop_value> v = detail::handles(x);
	return detail::give(t, hop_at_stack_n(t, at.file, at.line, static_cast<int>(v.size()), v.data(),
	                                      axis));
}
/** n equal parts of an axis. */
inline std::vector<value> split(const value &x, int axis, int n, place at = place())
{
	hop_trace *t = detail::inner(x.t);
	std::vector<hop_value> v(static_cast<std::size_t>(n > 0 ? n : 0) + 1);
	hop_at_split_axis(t, at.file, at.line, x.v, axis, n, nullptr, v.data());
	detail::check(t);
	std::vector<value> out;
	for (int i = 0; i < n; i++)
		out.push_back(value(t, v[static_cast<std::size_t>(i)]));
	return out;
}
inline value gather(const value &x, int axis, const value &idx, place at = place())
{
	return detail::on(x, at, hop_at_gather, axis, idx.v);
}
inline value dynslice(const value &x, const std::vector<value> &start, detail::dims n,
                      place at = place())
{
	std::vector<hop_value> v = detail::handles(start);
	std::vector<hop_dim> s = detail::sizes(n);
	detail::per_axis(x, v.size(), "dynslice", at);
	detail::per_axis(x, s.size(), "dynslice", at);
	return detail::on(x, at, hop_at_dynslice, v.data(), s.data());
}
inline value dynupdate(const value &x, const value &u, const std::vector<value> &start,
                       place at = place())
{
	std::vector<hop_value> v = detail::handles(start);
	detail::per_axis(x, v.size(), "dynupdate", at);
	return detail::on(x, at, hop_at_dynupdate, u.v, v.data());
}
/** x with u at the indices, as mode says. */
inline value scatter(const value &x, int axis, const value &idx, const value &u,
                     hop_scatter_mode mode = HOP_SCATTER_SET, place at = place())
{
	hop_trace *t = detail::inner(x.t);
	return detail::give(t, hop_at_scatter(t, at.file, at.line, mode, x.v, axis, idx.v, u.v));
}

/* ---- many to one: no axes = all of them ---- */

namespace detail {

inline value reduce(hop_reduce r, const value &x, ints axes, place at)
{
	hop_trace *t = inner(x.t);
	return give(t, hop_at_reduce(t, at.file, at.line, r, x.v, static_cast<int>(axes.size()),
	                             axes.begin()));
}

}

inline value sum(const value &x, detail::ints axes = {}, place at = place())
{
	return detail::reduce(HOP_REDUCE_SUM, x, axes, at);
}
inline value mean(const value &x, detail::ints axes = {}, place at = place())
{
	return detail::reduce(HOP_REDUCE_MEAN, x, axes, at);
}
inline value amax(const value &x, detail::ints axes = {}, place at = place())
{
	return detail::reduce(HOP_REDUCE_MAX, x, axes, at);
}
inline value amin(const value &x, detail::ints axes = {}, place at = place())
{
	return detail::reduce(HOP_REDUCE_MIN, x, axes, at);
}
inline value prod(const value &x, detail::ints axes = {}, place at = place())
{
	return detail::reduce(HOP_REDUCE_PROD, x, axes, at);
}
inline value any(const value &x, detail::ints axes = {}, place at = place())
{
	return detail::reduce(HOP_REDUCE_ANY, x, axes, at);
}
inline value all(const value &x, detail::ints axes = {}, place at = place())
{
	return detail::reduce(HOP_REDUCE_ALL, x, axes, at);
}
inline value norm(const value &x, detail::ints axes = {}, place at = place())
{
	return detail::on(x, at, hop_at_norm, static_cast<int>(axes.size()), axes.begin());
}
inline value variance(const value &x, detail::ints axes = {}, double correction = 1,
                      place at = place())
{
	hop_trace *t = detail::inner(x.t);
	return detail::give(t, hop_at_variance(t, at.file, at.line, false, x.v,
	                                      static_cast<int>(axes.size()), axes.begin(), correction));
}
inline value argmax(const value &x, int axis, place at = place())
{
	return detail::on(x, at, hop_at_argmax, axis);
}
inline value argmin(const value &x, int axis, place at = place())
{
	return detail::on(x, at, hop_at_argmin, axis);
}

inline value argsort(const value &x, int axis, bool down = false, place at = place())
{
	return detail::on(x, at, hop_at_argsort, axis, down);
}
inline value sort(const value &x, int axis, bool down = false, place at = place())
{
	return detail::on(x, at, hop_at_sort, axis, down);
}

/* ---- composites, and other names ---- */

inline value gt(const arg &x, const arg &y) { return detail::point(hop_at_gt, x, y); }
inline value ge(const arg &x, const arg &y) { return detail::point(hop_at_ge, x, y); }
inline value idiv(const arg &x, const arg &y) { return detail::point(hop_at_idiv, x, y); }
inline value where(const arg &p, const arg &x, const arg &y)
{
	return detail::point(hop_at_where, p, x, y);
}
inline value clamp(const arg &x, const arg &low, const arg &high)
{
	return detail::point(hop_at_clamp, x, low, high);
}
inline value matmul(const arg &x, const arg &y) { return detail::point(hop_at_matmul, x, y); }
inline value matmul_as(const value &x, const value &y, hop_dtype dtype, place at = place())
{
	return detail::on(x, at, hop_at_matmul_as, y.v, dtype);
}
inline value mul_as(const value &x, const value &y, hop_dtype dtype, place at = place())
{
	return detail::on(x, at, hop_at_mul_as, y.v, dtype);
}
inline value div_as(const value &x, const value &y, hop_dtype dtype, place at = place())
{
	return detail::on(x, at, hop_at_div_as, y.v, dtype);
}
inline value linear(const value &x, const value &weight, const value &bias = value(),
                    place at = place())
{
	return detail::on(x, at, hop_at_linear, weight.v, bias.v);
}
inline value solve(const arg &a, const arg &b) { return detail::point(hop_at_solve, a, b); }
inline value triangular_solve(const value &a, const value &b, int flags, place at = place())
{
	return detail::on(a, at, hop_at_triangular_solve, b, flags);
}
inline value cholesky(const value &a, int flags = HOP_LOWER, place at = place())
{
	return detail::on(a, at, hop_at_cholesky, flags);
}
inline value cho_solve(const value &l, const value &b, int flags = HOP_LOWER, place at = place())
{
	return detail::on(l, at, hop_at_cho_solve, b, flags);
}
inline value cho_logdet(const arg &l) { return detail::point(hop_at_cho_logdet, l); }
inline value inv(const arg &a) { return detail::point(hop_at_inv, a); }
inline value diag(const arg &x) { return detail::point(hop_at_diag, x); }
inline value diag_sum(const arg &x) { return detail::point(hop_at_diag_sum, x); }
inline value tril(const value &x, int64_t k = 0, place at = place())
{
	return detail::on(x, at, hop_at_tril, k);
}
inline value triu(const value &x, int64_t k = 0, place at = place())
{
	return detail::on(x, at, hop_at_triu, k);
}
inline value outer(const arg &x, const arg &y) { return detail::point(hop_at_outer, x, y); }
inline value sigmoid(const arg &x) { return detail::point(hop_at_sigmoid, x); }
inline value log_sigmoid(const arg &x) { return detail::point(hop_at_log_sigmoid, x); }
inline value relu(const arg &x) { return detail::point(hop_at_relu, x); }
inline value silu(const arg &x) { return detail::point(hop_at_silu, x); }
inline value softplus(const arg &x) { return detail::point(hop_at_softplus, x); }
inline value gelu(const value &x, bool by_tanh = false, place at = place())
{
	return detail::on(x, at, hop_at_gelu, by_tanh);
}
inline value leaky_relu(const value &x, double slope, place at = place())
{
	return detail::on(x, at, hop_at_leaky_relu, slope);
}
inline value elu(const value &x, double alpha, place at = place())
{
	return detail::on(x, at, hop_at_elu, alpha);
}
inline value log_softmax(const value &x, int axis, place at = place())
{
	return detail::on(x, at, hop_at_log_softmax, axis);
}
inline value logsumexp(const value &x, int axis, place at = place())
{
	return detail::on(x, at, hop_at_logsumexp, axis);
}
/** how: bits of enum hop_cum_how. */
inline value cum(hop_cum kind, const value &x, int axis, int how = 0, place at = place())
{
	hop_trace *t = detail::inner(x.t);
	return detail::give(t, hop_at_cum(t, at.file, at.line, kind, x.v, axis, how));
}
inline value cumsum(const value &x, int axis, int how = 0, place at = place())
{
	return cum(HOP_CUM_SUM, x, axis, how, at);
}
inline value cross_entropy(const value &x, const value &target, int axis,
                           hop_loss kind = HOP_LOSS_MEAN, place at = place())
{
	return detail::on(x, at, hop_at_cross_entropy, target.v, axis, kind);
}
inline value mse(const value &x, const value &y, hop_loss kind = HOP_LOSS_MEAN, place at = place())
{
	return detail::on(x, at, hop_at_mse, y.v, kind);
}
inline value softmax(const value &x, int axis, place at = place())
{
	return detail::on(x, at, hop_at_softmax, axis);
}
/** weight and bias may be values that are not set. */
inline value layer_norm(const value &x, const value &weight = value(), const value &bias = value(),
                        double eps = 1e-5, place at = place())
{
	return detail::on(x, at, hop_at_layer_norm, weight.v, bias.v, eps);
}

/* ---- how many there are is data: counts.h ---- */

/** A capacity: an integer, a size, or by default as many as there are. */
struct capacity {
	capacity() : has(false), n(hop_n(0)) {}
	capacity(int64_t k) : has(true), n(hop_n(k)) {}
	capacity(int k) : has(true), n(hop_n(k)) {}
	capacity(hop_dim d) : has(true), n(d) {}
	bool    has;
	hop_dim n;
};
/** What was found, and how many there were. Those that were not asked for are not set. */
struct found {
	value values, count, inverse, counts;
};
namespace detail {
inline hop_count_opts counting(const capacity &cap, const value &fill)
{
	hop_count_opts o = hop_count_opts();
	o.size = sizeof o;
	o.has_cap = cap.has;
	o.cap = cap.n;
	o.fill = fill.v;
	return o;
}
inline found found_of(hop_trace *t, const hop_value *out)
{
	found r;
	r.values = give(t, out[0]);
	r.count = give(t, out[1]);
	return r;
}
}
/** fill: a value that is not set is 0, of nonzero -1. */
inline found nonzero(const value &x, capacity cap = capacity(), const value &fill = value(),
                     place at = place())
{
	hop_trace *t = detail::inner(x.t);
	hop_count_opts o = detail::counting(cap, fill);
	hop_value out[2] = {};
	hop_at_nonzero(t, at.file, at.line, x.v, &o, out);
	return detail::found_of(t, out);
}
inline value count_nonzero(const value &x, place at = place())
{
	return detail::on(x, at, hop_at_count_nonzero);
}
inline found masked_select(const value &x, const value &mask, capacity cap = capacity(),
                           const value &fill = value(), place at = place())
{
	hop_trace *t = detail::inner(x.t);
	hop_count_opts o = detail::counting(cap, fill);
	hop_value out[2] = {};
	hop_at_masked_select(t, at.file, at.line, x.v, mask.v, &o, out);
	return detail::found_of(t, out);
}
inline found compact(const value &x, const value &mask, capacity cap = capacity(),
                     const value &fill = value(), place at = place())
{
	hop_trace *t = detail::inner(x.t);
	hop_count_opts o = detail::counting(cap, fill);
	hop_value out[2] = {};
	hop_at_compact(t, at.file, at.line, x.v, mask.v, &o, out);
	return detail::found_of(t, out);
}
/** With inverse and counts. */
inline found unique(const value &x, capacity cap = capacity(), const value &fill = value(),
                    place at = place())
{
	hop_trace *t = detail::inner(x.t);
	hop_count_opts o = detail::counting(cap, fill);
	hop_value out[4] = {};
	o.inverse = o.counts = true;
	hop_at_unique(t, at.file, at.line, x.v, &o, out);
	found r = detail::found_of(t, out);
	r.inverse = detail::give(t, out[2]);
	r.counts = detail::give(t, out[3]);
	return r;
}
inline value exact(const value &x, const value &count, place at = place())
{
	return detail::on(x, at, hop_at_exact, count.v);
}

/** In a block: element i of xs, which a HOP_FOR or HOP_MAP goes over. */
inline value take(const value &xs, hop_value i, place at = place())
{
	hop_trace *t = detail::inner(xs.t);
	return detail::give(t, hop_at_take(t, at.file, at.line, xs.v, i));
}

/* ---- writes and effects ---- */

/** x keeps its type; all that shares its storage sees the write. */
inline void write(const value &x, const arg &y, hop_write how = HOP_WRITE_COPY)
{
	hop_trace *t = detail::inner(x.t);
	hop_at_write(t, y.at.file, y.at.line, how, x.v, y.in(t));
	detail::check(t);
}
inline void print(const char *text, const std::vector<value> &x, place at = place())
{
	hop_trace *t = detail::inner(x);
	std::vector<hop_value> v = detail::handles(x);
	hop_at_print(t, at.file, at.line, text, static_cast<int>(v.size()), v.data());
	detail::check(t);
}
/** Trip i, counted from 0, of n (0 = not known) is done: hop_progress. */
inline void progress(const value &i, const arg &n, const char *text)
{
	hop_trace *t = detail::inner(i.t);
	hop_at_progress(t, n.at.file, n.at.line, i.v, n.in(t), text);
	detail::check(t);
}
/** Stops the program with the text unless every element of ok holds. */
inline void require(const value &ok, const char *text, const std::vector<value> &x = {},
                    place at = place())
{
	hop_trace *t = detail::inner(ok.t);
	std::vector<hop_value> v = detail::handles(x);
	hop_at_assert(t, at.file, at.line, ok.v, text, static_cast<int>(v.size()), v.data());
	detail::check(t);
}

}

/** Blocks list variables of this type, too. */
inline hop_value *hop_listed(hop::value *x) { return &x->v; }

#include "hop/ops.hpp"

#endif
