/** Transforms of a body on top of grad, jvp, vjp and vmap, for C++: inputs are a value or a pack of
 * them, all of which are differentiated. In C: transform.h. */
#ifndef HOP_TRANSFORM_HPP
#define HOP_TRANSFORM_HPP

#include "hop/body.hpp"
#include "hop/checkpoint.h"
#include "hop/transform.h"

namespace hop {

struct jac_opts {
	int64_t chunk = 0;                 /* so many rows at a time; 0 = all */
};

namespace detail {

typedef int jac_fn(hop_trace *, const char *, int, hop_body *, void *, int, const hop_value *, int,
                   const int *, const hop_jac_opts *, int, hop_value *);
typedef int product_fn(hop_trace *, const char *, int, hop_body *, void *, int, const hop_value *,
                       int, const int *, const hop_value *, int, hop_value *);

template <typename X, typename B>
int jac(jac_fn *call, hop_trace *t, const X &inputs, B &body, jac_opts o, place at,
        std::vector<hop_value> &out)
{
	std::vector<hop_value> in = flat(t, inputs);
	int nin = static_cast<int>(in.size());
	std::vector<int> wrt = counted(in.size());
	hop_jac_opts c = {};
	c.size = sizeof c;
	c.chunk = o.chunk;
	auto b = bodies_of(at, { { nin } }, body);
	typedef decltype(b) Bodies;
	int n = call(t, at.file, at.line, &Bodies::template run<0>, &b, nin, in.data(), nin, wrt.data(),
	             &c, cap(out), out.data());
	b.done(t);
	return n;
}

template <typename X, typename V, typename B>
auto product(product_fn *call, const char *none, const X &inputs, const V &v, B &body, place at)
{
	typedef std::tuple<type_of<result_of<B>>, type_of<X>, type_of<X>> R;
	hop_trace *t = inner_of(inputs, v);
	std::vector<hop_value> in = flat(t, inputs), d = flat(t, v), out = room<R>();
	if (d.size() != in.size()) {
		hop_at_fail_here(t, at.file, at.line, none);
		check(t);
	}
	int nin = static_cast<int>(in.size());
	std::vector<int> wrt = counted(in.size());
	auto b = bodies_of(at, { { nin } }, body);
	typedef decltype(b) Bodies;
	int n = call(t, at.file, at.line, &Bodies::template run<0>, &b, nin, in.data(), nin, wrt.data(),
	             d.data(), cap(out), out.data());
	b.done(t);
	return taken<R>(t, out.data(), n);
}

}

/** The results of the body, and the Jacobians of the first for the inputs: by reverse mode, by forward
 * mode. auto [y, j] = hop::jacrev(x, [&](value x) { .. }); */
template <typename X, typename B>
auto jacrev(const X &inputs, B &&body, jac_opts o = jac_opts(), place at = place())
{
	typedef std::tuple<detail::type_of<detail::result_of<B>>, detail::type_of<X>> R;
	hop_trace *t = detail::inner_of(inputs);
	std::vector<hop_value> out = detail::room<R>();
	int n = detail::jac(hop_at_jacrev_at, t, inputs, body, o, at, out);
	return detail::taken<R>(t, out.data(), n);
}
template <typename X, typename B>
auto jacfwd(const X &inputs, B &&body, jac_opts o = jac_opts(), place at = place())
{
	typedef std::tuple<detail::type_of<detail::result_of<B>>, detail::type_of<X>> R;
	hop_trace *t = detail::inner_of(inputs);
	std::vector<hop_value> out = detail::room<R>();
	int n = detail::jac(hop_at_jacfwd_at, t, inputs, body, o, at, out);
	return detail::taken<R>(t, out.data(), n);
}
/** The results, the gradients, and the second derivatives, for each input by each input in turn. */
template <typename X, typename B>
auto hessian(const X &inputs, B &&body, jac_opts o = jac_opts(), place at = place())
{
	typedef detail::type_of<detail::result_of<B>> Y;
	hop_trace *t = detail::inner_of(inputs);
	std::size_t nin = detail::flat(t, inputs).size();
	std::vector<hop_value> out(detail::room<Y>().size() + nin + nin * nin);
	int n = detail::jac(hop_at_hessian_at, t, inputs, body, o, at, out);
	int nx = static_cast<int>(nin), ny = n - nx - nx * nx;
	return std::make_tuple(detail::taken<Y>(t, out.data(), ny),
	                       detail::taken<detail::type_of<X>>(t, out.data() + ny, nx),
	                       detail::taken<std::vector<value>>(t, out.data() + ny + nx, nx * nx));
}

/** The results, of which the first is a float scalar, its gradients, and its Hessian times v, a vector
 * for each input: forward over reverse, reverse over reverse. */
template <typename X, typename V, typename B>
auto hvp(const X &inputs, const V &v, B &&body, place at = place())
{
	return detail::product(hop_at_hvp_at, "hvp: there must be a vector for each input", inputs, v,
	                       body, at);
}
template <typename X, typename V, typename B>
auto vhp(const X &inputs, const V &v, B &&body, place at = place())
{
	return detail::product(hop_at_vhp_at, "vhp: there must be a vector for each input", inputs, v,
	                       body, at);
}

/** A derivative to be applied: Y are the results, all of them floats. */
template <typename Y> class linearized {
public:
	linearized(hop_trace *t, const hop_linear *l) : t_(t), l_(l) {}
	template <typename D> Y operator()(const D &tangents, place at = place()) const
	{
		hop_trace *t = detail::inner(t_);
		std::vector<hop_value> d = detail::flat(t, tangents), out = detail::room<Y>();
		int n = hop_at_linear_apply(t, at.file, at.line, l_, static_cast<int>(d.size()), d.data(),
		                            detail::cap(out), out.data());
		detail::check(t);
		return detail::taken<Y>(t, out.data(), n);
	}
private:
	hop_trace        *t_;
	const hop_linear *l_;
};
/** The results, and the derivative there:
 * auto [y, lin] = hop::linearize(x, body); value dy = lin(dx); */
template <typename X, typename B> auto linearize(const X &inputs, B &&body, place at = place())
{
	typedef detail::type_of<detail::result_of<B>> Y;
	hop_trace *t = detail::inner_of(inputs);
	std::vector<hop_value> in = detail::flat(t, inputs), out = detail::room<Y>();
	int nin = static_cast<int>(in.size());
	std::vector<int> wrt = detail::counted(in.size());
	hop_linear *lin = nullptr;
	auto b = detail::bodies_of(at, { { nin } }, body);
	typedef decltype(b) Bodies;
	int n = hop_at_linearize_at(t, at.file, at.line, &Bodies::template run<0>, &b, nin, in.data(),
	                            nin, wrt.data(), detail::cap(out), out.data(), &lin);
	b.done(t);
	return std::make_tuple(detail::taken<Y>(t, out.data(), n), linearized<Y>(t, lin));
}

struct vmap_opts {
	std::vector<int> out;              /* of each result the axis where lanes come out; empty = 0 */
	int64_t          chunk = 0;        /* so many lanes at a time; 0 = all */
};
/** vmap with the axes of results, and in chunks; inputs as there: along(x, 1), shared(x). */
template <typename X, typename B>
auto vmap(const X &inputs, B &&body, const vmap_opts &o, place at = place())
{
	typedef detail::result_of<B> R;
	hop_trace *t = detail::inner_of(inputs);
	std::vector<hop_value> in = detail::flat(t, inputs), out = detail::room<R>();
	std::vector<int> axis;
	detail::pack_of<X>::each(inputs, detail::axes{ axis });
	int nin = static_cast<int>(in.size());
	hop_vmap_opts c = {};
	c.size = sizeof c;
	c.nin = nin;
	c.in = axis.data();
	c.nout = static_cast<int>(o.out.size());
	c.out = o.out.empty() ? nullptr : o.out.data();
	c.chunk = o.chunk;
	auto b = detail::bodies_of(at, { { nin } }, body);
	typedef decltype(b) Bodies;
	int n = hop_at_vmap_with_at(t, at.file, at.line, &Bodies::template run<0>, &b, nin, in.data(), &c,
	                            detail::cap(out), out.data());
	b.done(t);
	return detail::taken<R>(t, out.data(), n);
}

/** A region whose inside a reverse pass computes again (hop_checkpoint); opts may be nullptr. */
template <typename X, typename B>
auto checkpoint(const hop_checkpoint_opts *opts, const X &inputs, B &&body, place at = place())
{
	typedef detail::result_of<B> R;
	hop_trace *t = detail::inner_of(inputs);
	std::vector<hop_value> in = detail::flat(t, inputs), out = detail::room<R>();
	int nin = static_cast<int>(in.size());
	auto b = detail::bodies_of(at, { { nin } }, body);
	typedef decltype(b) Bodies;
	int n = hop_at_checkpoint(t, at.file, at.line, &Bodies::template run<0>, &b, opts, nin, in.data(),
	                          detail::cap(out), out.data());
	b.done(t);
	return detail::taken<R>(t, out.data(), n);
}

/** x, with a name by which policies and reports call it (hop_name). */
inline value name(const value &x, const char *name, hop_saving how = HOP_SAVING_FREE,
                  place at = place())
{
	return detail::give(x.t, hop_at_name(x.t, at.file, at.line, x.v, name, how));
}

/** x, marked: a gradient gives that of x too. */
inline value retain_grad(const value &x, const char *name, place at = place())
{
	return detail::give(x.t, hop_at_retain_grad(x.t, at.file, at.line, x.v, name));
}

}

#endif
