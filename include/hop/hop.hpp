/** All of hop for C++17, header only: what owns something frees it, failures are exceptions. Values
 * and their operators are in hop/value.hpp, operators with bodies in hop/body.hpp. The context
 * must outlive all that was made from it. */
#ifndef HOP_HPP
#define HOP_HPP

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hop/body.hpp"
#include "hop/transform.hpp"
#include "hop/value.hpp"

namespace hop {

namespace detail {

/** Throw unless st is HOP_OK. */
inline void check(hop_ctx *c, hop_status st)
{
	if (!st)
		return;
	const char *text = hop_message(c);
	throw error(st, *text ? text : hop_status_name(st));
}

}

/** A context; not copied. Threads may share it. */
class ctx {
public:
	explicit ctx(int threads = 0, enum hop_strict strict = HOP_STRICT_AUTO)
	{
		hop_ctx_opts o = {};
		o.size = sizeof o;
		o.threads = threads;
		o.strict = strict;
		detail::check(nullptr, hop_ctx_new(&o, &c_));
	}
	ctx(ctx &&x) noexcept : c_(std::exchange(x.c_, nullptr)) {}
	ctx &operator=(ctx &&x) noexcept
	{
		std::swap(c_, x.c_);
		return *this;
	}
	~ctx() { hop_ctx_free(c_); }
	hop_ctx *get() const { return c_; }
private:
	hop_ctx *c_ = nullptr;
};

namespace detail {

/** One count of a thing that C counts. */
template <typename T, T *(*Retain)(T *), void (*Release)(T *)> class counted_ptr {
public:
	counted_ptr() = default;
	explicit counted_ptr(T *p) : p_(p) {}                 /* takes over a count */
	counted_ptr(const counted_ptr &x) : p_(x.p_ ? Retain(x.p_) : nullptr) {}
	counted_ptr(counted_ptr &&x) noexcept : p_(std::exchange(x.p_, nullptr)) {}
	counted_ptr &operator=(counted_ptr x) noexcept
	{
		std::swap(p_, x.p_);
		return *this;
	}
	~counted_ptr() { Release(p_); }
	T *get() const { return p_; }
private:
	T *p_ = nullptr;
};

template <typename T> constexpr hop_dtype dtype_of()
{
	static_assert(std::is_same<T, float>::value || std::is_same<T, double>::value ||
	              std::is_same<T, int32_t>::value || std::is_same<T, int64_t>::value ||
	              std::is_same<T, bool>::value, "float, double, int32_t, int64_t or bool");
	return std::is_same<T, float>::value ? HOP_f32 : std::is_same<T, double>::value ? HOP_f64 :
	       std::is_same<T, int32_t>::value ? HOP_i32 : std::is_same<T, int64_t>::value ? HOP_i64 :
	       HOP_bool;
}

}

/** A tensor in memory; copies share it. */
class array {
public:
	array() = default;
	explicit array(hop_array *a) : p_(a) {}               /* takes over a count */
	/** data NULL = zeros; otherwise it is copied. */
	array(const ctx &c, hop_dtype d, const std::vector<int64_t> &dim, const void *data = nullptr)
	{
		hop_array *a = nullptr;
		detail::check(c.get(), hop_array_new(c.get(), d, static_cast<int>(dim.size()), dim.data(),
		                                     data, &a));
		p_ = ptr(a);
	}
	/** These elements, in row-major order; without sizes, a vector. */
	template <typename T>
	static array of(const ctx &c, const std::vector<T> &x, std::vector<int64_t> dim = {})
	{
		if (dim.empty())
			dim.push_back(static_cast<int64_t>(x.size()));
		array a(c, detail::dtype_of<T>(), dim);
		if (a.count() != static_cast<int64_t>(x.size()))
			throw error(HOP_ESHAPE, "array::of: the sizes do not have as many elements");
		for (std::size_t i = 0; i < x.size(); i++)
			a.data<T>()[i] = x[i];
		return a;
	}
	template <typename T> static array scalar(const ctx &c, T x)
	{
		return array(c, detail::dtype_of<T>(), {}, &x);
	}

	hop_array *get() const { return p_.get(); }
	hop_dtype dtype() const { return hop_array_dtype(get()); }
	int rank() const { return hop_array_rank(get()); }
	std::vector<int64_t> dims() const
	{
		const int64_t *d = hop_array_dims(get());
		return std::vector<int64_t>(d, d + rank());
	}
	int64_t count() const { return hop_array_count(get()); }
	double operator[](int64_t i) const { return hop_array_at(get(), i); }
	/** The elements; bools are bytes, 0 or 1. */
	template <typename T> T *data() const
	{
		if (dtype() != detail::dtype_of<T>())
			throw error(HOP_ETYPE, "array::data: the elements have another type");
		if (hop_array_device(get()).type)
			throw error(HOP_EUSE, "array::data: the array is on a device: to() copies it");
		return static_cast<T *>(hop_array_data(get()));
	}
	/** Where it is, and the same elements somewhere else: hop/device.h. */
	hop_device device() const { return hop_array_device(get()); }
	array to(const ctx &c, hop_device d) const
	{
		hop_array *a = nullptr;
		detail::check(c.get(), hop_array_to(get(), d, &a));
		return array(a);
	}
private:
	typedef detail::counted_ptr<hop_array, hop_array_retain, hop_array_release> ptr;
	ptr p_;
};

/** What a call gives; if that is one array, it is the array. */
class results : public std::vector<array> {
public:
	operator array() const
	{
		if (size() != 1)
			throw error(HOP_ETYPE, "a function with " + std::to_string(size()) +
			            " results was used as if it had one");
		return front();
	}
};

/* ---- what a function takes ---- */

/** A size of a spec: a number, or the symbol of a name. */
struct size {
	int64_t     n = 0, max = 0;
	const char *name = nullptr;
	template <typename N, typename = std::enable_if_t<std::is_integral<N>::value>>
	size(N k) : n(static_cast<int64_t>(k)) {}
	size(const char *symbol, int64_t least = 0, int64_t most = 0)
		: n(least), max(most), name(symbol) {}
};

/** spec(HOP_f32, {"n", 3}) */
inline hop_spec spec(hop_dtype d, std::initializer_list<size> dims = {})
{
	hop_spec s = hop_spec0(d);
	for (const size &k : dims) {
		if (s.rank == HOP_RANK)
			throw error(HOP_EVALUE, "spec: more axes than any tensor has");
		s.dim[s.rank] = k.n;
		s.max[s.rank] = k.max;
		s.sym[s.rank++] = k.name;
	}
	return s;
}

/* ---- functions ---- */

/** A captured function; copies share it. */
class fn {
public:
	fn() = default;
	fn(hop_ctx *c, hop_fn *f) : c_(c), p_(f) {}           /* takes over a count */
	hop_fn *get() const { return p_.get(); }
	std::string text() const
	{
		const char *s = hop_fn_text(get());
		if (!s)
			throw error(HOP_ENOMEM, "error: no memory");
		return s;
	}
	int nin() const { return hop_fn_nin(get()); }
	int nout() const { return hop_fn_nout(get()); }

	results call(const std::vector<array> &in) const
	{
		std::vector<hop_array *> a, b(static_cast<std::size_t>(nout()) + 1, nullptr);
		for (const array &x : in)
			a.push_back(x.get());
		hop_status st = hop_call(get(), static_cast<int>(a.size()), a.data(), nout(), b.data());
		detail::check(c_, st);
		results r;
		for (int i = 0; i < nout(); i++)
			r.push_back(array(b[static_cast<std::size_t>(i)]));
		return r;
	}
	template <typename... A> results operator()(const A &...in) const
	{
		return call(std::vector<array>{ in... });
	}
	/** Inside a trace. */
	template <typename X> std::vector<value> apply(const X &inputs, place at = place()) const
	{
		hop_trace *t = detail::inner_of(inputs);
		std::vector<hop_value> in = detail::flat(t, inputs);
		std::vector<hop_value> out(static_cast<std::size_t>(nout()) + 1);
		int n = hop_at_apply(t, at.file, at.line, get(), static_cast<int>(in.size()), in.data(),
		                     nout(), out.data());
		detail::check(t);
		return detail::taken<std::vector<value>>(t, out.data(), n);
	}

	/** The results, then the gradients of the first for the inputs wrt. */
	fn grad(std::initializer_list<int> wrt) const { return wrt_with(hop_grad, wrt); }
	fn jvp(std::initializer_list<int> wrt) const { return wrt_with(hop_jvp, wrt); }
	fn vjp(std::initializer_list<int> wrt) const { return wrt_with(hop_vjp, wrt); }
	/** Of what is linear in the inputs wrt. */
	fn linear_transpose(std::initializer_list<int> wrt) const
	{
		return wrt_with(hop_linear_transpose, wrt);
	}
	/** The results, then Jacobians of the first for the inputs wrt; Hessians; their products with
	 * vectors, which are more inputs. */
	fn jacrev(std::initializer_list<int> wrt, jac_opts o = jac_opts()) const
	{
		return jac_with(hop_jacrev, wrt, o);
	}
	fn jacfwd(std::initializer_list<int> wrt, jac_opts o = jac_opts()) const
	{
		return jac_with(hop_jacfwd, wrt, o);
	}
	fn hessian(std::initializer_list<int> wrt, jac_opts o = jac_opts()) const
	{
		return jac_with(hop_hessian, wrt, o);
	}
	fn hvp(std::initializer_list<int> wrt) const { return wrt_with(hop_hvp, wrt); }
	fn vhp(std::initializer_list<int> wrt) const { return wrt_with(hop_vhp, wrt); }
	/** The forward derivative in two: what is kept, and tangents from that. */
	std::pair<fn, fn> linearize(std::initializer_list<int> wrt) const
	{
		hop_fn *f = nullptr, *l = nullptr;
		detail::check(c_, hop_linearize(get(), static_cast<int>(wrt.size()), wrt.begin(), &f, &l));
		return std::make_pair(fn(c_, f), fn(c_, l));
	}
	/** Lanes on any axis, -1 for none: of inputs, and in o of results. */
	fn vmap_with(std::initializer_list<int> in, const vmap_opts &o, int64_t n = -1) const
	{
		hop_fn *f = nullptr;
		hop_vmap_opts c = {};
		c.size = sizeof c;
		c.nin = static_cast<int>(in.size());
		c.in = in.begin();
		c.nout = static_cast<int>(o.out.size());
		c.out = o.out.empty() ? nullptr : o.out.data();
		c.n = n;
		c.chunk = o.chunk;
		detail::check(c_, hop_vmap_with(get(), &c, &f));
		return fn(c_, f);
	}
	/** n = -1: a size symbol. */
	fn vmap(std::initializer_list<bool> batched, int64_t n = -1) const
	{
		hop_fn *f = nullptr;
		if (static_cast<int>(batched.size()) != nin())
			throw error(HOP_EVALUE, "vmap: there must be an answer for each input");
		detail::check(c_, hop_vmap(get(), batched.begin(), n, &f));
		return fn(c_, f);
	}
private:
	typedef hop_status wrt_fn(hop_fn *, int, const int *, hop_fn **);
	fn wrt_with(wrt_fn *transform, std::initializer_list<int> wrt) const
	{
		hop_fn *f = nullptr;
		detail::check(c_, transform(get(), static_cast<int>(wrt.size()), wrt.begin(), &f));
		return fn(c_, f);
	}
	typedef hop_status jac_fn(hop_fn *, int, const int *, const hop_jac_opts *, hop_fn **);
	fn jac_with(jac_fn *transform, std::initializer_list<int> wrt, jac_opts o) const
	{
		hop_fn *f = nullptr;
		hop_jac_opts c = {};
		c.size = sizeof c;
		c.chunk = o.chunk;
		detail::check(c_, transform(get(), static_cast<int>(wrt.size()), wrt.begin(), &c, &f));
		return fn(c_, f);
	}
	hop_ctx *c_ = nullptr;
	detail::counted_ptr<hop_fn, hop_fn_retain, hop_fn_release> p_;
};

/** Run f once on symbolic inputs: f(values) -> results, as bodies are. */
template <typename F>
fn capture(const ctx &c, const std::vector<hop_spec> &in, F &&f, place at = place())
{
	int n = static_cast<int>(in.size());
	auto b = detail::bodies_of(at, { { n } }, f);
	typedef decltype(b) Bodies;
	hop_fn *out = nullptr;
	hop_status st = hop_capture(c.get(), &Bodies::template run<0>, &b, n, in.data(), &out);
	if (b.thrown)
		std::rethrow_exception(b.thrown);
	detail::check(c.get(), st);
	return fn(c.get(), out);
}

/* ---- eager traces: ops run at once ---- */

/** Not copied. A trace that failed is of no more use. */
class eager {
public:
	explicit eager(const ctx &c) { detail::check(c.get(), hop_eager_new(c.get(), &t_)); }
	eager(const eager &) = delete;
	eager &operator=(const eager &) = delete;
	~eager()
	{
		if (hop_eager_free(t_))
			t_ = nullptr;          /* whoever made it fail was told */
	}
	hop_trace *get() const { return t_; }
	value use(const array &a, place at = place()) const
	{
		return detail::give(t_, hop_at_use(t_, at.file, at.line, a.get()));
	}
	array read(const value &v, place at = place()) const
	{
		hop_array *a = nullptr;
		hop_status st = hop_at_read(t_, at.file, at.line, v.v, &a);
		detail::check(t_);
		if (st)
			throw error(st, hop_status_name(st));
		return array(a);
	}
private:
	hop_trace *t_ = nullptr;
};

}

#endif
