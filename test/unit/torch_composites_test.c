/* torch_composites_test.c -- every composite against PyTorch: values and gradients, eagerly, by the
 * interpreter and by native code, in all float dtypes; then the same inside the operators with
 * bodies, with symbolic sizes, batched against a loop over lanes, and the second derivative
 * against differences of the first. The data and the script that made it are in test/data. */
#include "trace_rig.h"

#include "data/composites.h"
#include "ir/dtype.h"

enum { NCASE = sizeof torch_composites / sizeof *torch_composites, MAXIN = 4, LANES = 3 };

typedef struct torch_composite tcase;

/* ---- what the cases call ---- */

typedef hop_value form(hop_trace *t, const hop_value *in);
#define FORM(name, ...) \
	static hop_value c_##name(hop_trace *t, const hop_value *in) { return __VA_ARGS__; }
#define X in[0]
#define Y in[1]

static hop_value weighted(hop_trace *t, hop_value x, int axis, int n, const hop_dim *sizes)
{
	hop_value part[4], s = hop_f(t, 0);
	hop_split_axis(t, x, axis, n, sizes, part);
	for (int i = 0; i < n; i++)
		s = hop_add(t, s, hop_mulf(t, hop_sum_all(t, part[i]), i + 1));
	return s;
}

static hop_value top(hop_trace *t, hop_value x, int axis, int k)
{
	hop_value out[2];
	hop_topk(t, x, axis, k, out);
	return hop_concat(t, 2, (hop_value[]){ out[0], hop_cast(t, out[1], hop_dtype_of(t, x)) }, axis);
}

/* Values, then the count and what else was found, flat. */
static hop_value joined(hop_trace *t, hop_value x, int n, const hop_value *out)
{
	hop_value part[4];
	for (int i = 0; i < n; i++) {
		hop_dim all = hop_n(1);
		for (int k = 0; k < hop_rank(t, out[i]); k++)
			all = hop_dim_mul(t, all, hop_dim_of(t, out[i], k));
		part[i] = hop_cast(t, hop_reshape(t, out[i], 1, &all), hop_dtype_of(t, x));
	}
	return hop_concat(t, n, part, 0);
}

static hop_value selected(hop_trace *t, hop_value x, hop_value mask, const hop_count_opts *o)
{
	hop_value out[2];
	return joined(t, x, hop_masked_select(t, x, mask, o, out), out);
}

static hop_value rows_of(hop_trace *t, hop_value x, hop_value mask, const hop_count_opts *o)
{
	hop_value out[2];
	return joined(t, x, hop_compact(t, x, mask, o, out), out);
}

static hop_value indices(hop_trace *t, hop_value x, hop_value of, const hop_count_opts *o)
{
	hop_value out[2];
	return joined(t, x, hop_nonzero(t, of, o, out), out);
}

static hop_value different(hop_trace *t, hop_value x, const hop_count_opts *o)
{
	hop_value out[4];
	return joined(t, x, hop_unique(t, x, o, out), out);
}

static hop_value at(hop_trace *t, hop_value x, int i, int k)
{
	return hop_index(t, hop_index(t, x, 1, i), 1, k);
}

static const int axes02[2] = { 2, 0 }, axes1[1] = { -2 };
static const hop_dim sizes104[3] = { { 1, NULL }, { 0, NULL }, { 4, NULL } };

FORM(cumsum_0, hop_cumsum(t, X, 0))
FORM(cumsum_1, hop_cumsum(t, X, 1))
FORM(cumsum_2, hop_cumsum(t, X, -1))
FORM(cumsum_vector, hop_cumsum(t, X, 0))
FORM(cumsum_reverse, hop_cum(t, HOP_CUM_SUM, X, 1, HOP_CUM_REVERSE))
FORM(cumsum_exclusive, hop_cum(t, HOP_CUM_SUM, X, 1, HOP_CUM_EXCLUSIVE))
FORM(cumprod, hop_cumprod(t, X, 1))
FORM(cumprod_0, hop_cumprod(t, X, 0))
FORM(cumprod_both, hop_cum(t, HOP_CUM_PROD, X, 1, HOP_CUM_REVERSE | HOP_CUM_EXCLUSIVE))
FORM(cummax, hop_cummax(t, X, 1))
FORM(cummin, hop_cummin(t, X, 1))
FORM(cummax_special, hop_cummax(t, X, 0))
FORM(cummin_special, hop_cummin(t, X, 0))
FORM(logcumsumexp, hop_logcumsumexp(t, X, 1))
FORM(logcumsumexp_far, hop_logcumsumexp(t, X, 0))
FORM(logcumsumexp_special, hop_logcumsumexp(t, X, 1))
FORM(log_softmax, hop_log_softmax(t, X, 1))
FORM(log_softmax_far, hop_log_softmax(t, X, 0))
FORM(logsumexp, hop_logsumexp(t, X, 1))
FORM(logsumexp_far, hop_logsumexp(t, X, 0))
FORM(logsumexp_special, hop_logsumexp(t, X, 1))
FORM(cross_entropy, hop_cross_entropy(t, X, Y, 1, HOP_LOSS_MEAN))
FORM(cross_entropy_sum, hop_cross_entropy(t, X, Y, -1, HOP_LOSS_SUM))
FORM(cross_entropy_each, hop_cross_entropy(t, X, Y, 1, HOP_LOSS_EACH))
FORM(cross_entropy_far, hop_cross_entropy(t, X, Y, 0, HOP_LOSS_MEAN))
FORM(mse, hop_mse(t, X, Y, HOP_LOSS_MEAN))
FORM(mse_sum, hop_mse(t, X, Y, HOP_LOSS_SUM))
FORM(mse_each, hop_mse(t, X, Y, HOP_LOSS_EACH))
FORM(softplus, hop_softplus(t, X))
FORM(gelu, hop_gelu(t, X))
FORM(gelu_tanh, hop_gelu_tanh(t, X))
FORM(leaky_relu, hop_leaky_relu(t, X, 0.125))
FORM(elu, hop_elu(t, X, 1.5))
FORM(clampf, hop_clampf(t, X, -1, 3))
FORM(clamp_low, hop_clamp(t, X, hop_f(t, -0.25), HOP_NONE))
FORM(clamp, hop_clamp(t, X, Y, in[2]))
FORM(clamp_special, hop_clamp(t, X, hop_i(t, -2), hop_i(t, 1)))
FORM(clamp_nan, hop_clamp(t, X, Y, HOP_NONE))
FORM(where, hop_where(t, hop_lt(t, X, Y), X, hop_mulf(t, Y, 2)))
FORM(one_hot, hop_mul(t, X, hop_one_hot(t, hop_dtype_of(t, X), Y, hop_n(5))))
FORM(eye, hop_mul(t, X, hop_eye(t, hop_dtype_of(t, X), hop_dim_of(t, X, 0), hop_dim_of(t, X, 1))))
FORM(stack, hop_stack_n(t, 3, (hop_value[]){ X, Y, X }, 1))
FORM(stack_last, hop_stack_n(t, 2, in, -1))
FORM(split_equal, weighted(t, X, 2, 2, NULL))
FORM(split_sizes, weighted(t, X, 1, 3, sizes104))
FORM(topk, top(t, X, 1, 2))
FORM(topk_0, top(t, X, 0, 3))
FORM(topk_special, top(t, X, 0, 6))
FORM(norm, hop_norm(t, X, 2, axes02))
FORM(norm_zero, hop_norm(t, X, 0, NULL))
FORM(var, hop_variance(t, X, 2, axes02, 1))
FORM(var_all, hop_variance(t, X, 0, NULL, 0))
FORM(std, hop_std(t, X, 1, axes1, 1))
FORM(std_zero, hop_std(t, X, 0, NULL, 1))
FORM(linspace, hop_mul(t, X, hop_linspace(t, hop_dtype_of(t, X), -2, 7, hop_dim_of(t, X, 0))))
FORM(arange, hop_add(t, X, hop_arange(t, hop_dtype_of(t, X), hop_dim_of(t, X, 0))))
FORM(scalar, hop_mul(t, X, hop_scalar(t, hop_dtype_of(t, X), 1.25)))
FORM(stop_gradient, hop_mul(t, X, hop_exp(t, hop_stop_gradient(t, X))))
FORM(linear, hop_linear(t, X, Y, in[2]))
FORM(linear_bare, hop_linear(t, X, Y, HOP_NONE))
FORM(sort, hop_sort(t, X, 1, false))
FORM(sort_down, hop_sort(t, X, 0, true))
FORM(sort_middle, hop_sort(t, X, -2, false))
FORM(sort_ties, hop_sort(t, X, 1, false))
FORM(sort_special, hop_sort(t, X, 0, false))
FORM(argsort_special, hop_cast(t, hop_argsort(t, X, 0, true), hop_dtype_of(t, X)))
FORM(argsort_ties, hop_cast(t, hop_argsort(t, X, 1, false), hop_dtype_of(t, X)))
FORM(masked_select, selected(t, X, hop_gt(t, X, hop_f(t, 0.1)), NULL))
FORM(masked_select_cap, selected(t, X, hop_gt(t, X, hop_f(t, 0.1)),
                                 HOP_COUNT_OPTS(HOP_CAP(3), .fill = hop_f(t, -2))))
FORM(masked_select_wide, selected(t, hop_mul(t, X, Y), hop_gt(t, Y, hop_f(t, 0)),
                                  HOP_COUNT_OPTS(.fill = hop_f(t, 9))))
FORM(masked_select_none, selected(t, X, hop_gt(t, X, hop_f(t, 99)), NULL))
FORM(masked_select_all, selected(t, X, hop_lt(t, X, hop_f(t, 99)), NULL))
FORM(compact, rows_of(t, X, hop_gt(t, at(t, X, 0, 0), at(t, X, 1, 1)), NULL))
FORM(compact_cap, rows_of(t, X, hop_gt(t, hop_index(t, X, 1, 0), hop_f(t, -9)),
                          HOP_COUNT_OPTS(HOP_CAP(3))))
FORM(nonzero, indices(t, X, X, NULL))
FORM(nonzero_special, indices(t, X, X, NULL))
FORM(nonzero_cap, indices(t, X, hop_gt(t, X, hop_f(t, 0)),
                          HOP_COUNT_OPTS(HOP_CAP(5), .fill = hop_i(t, 7))))
FORM(unique, different(t, X, HOP_COUNT_OPTS(.inverse = true, .counts = true)))
FORM(unique_cap, different(t, X, HOP_COUNT_OPTS(HOP_CAP(4), .inverse = true, .counts = true)))

/* BENT: a slope jumps at some point of the data. SIZED: its sizes are numbers in the call. FLAT: the
 * derivative is not the limit of differences. */
enum { BENT = 1, SIZED = 2, FLAT = 4 };
static const struct { const char *name; form *make; int is; } forms[] = {
#define F(name, is) { #name, c_##name, is }
	F(cumsum_0, 0), F(cumsum_1, 0), F(cumsum_2, 0), F(cumsum_vector, 0), F(cumsum_reverse, 0),
	F(cumsum_exclusive, 0), F(cumprod, 0), F(cumprod_0, 0), F(cumprod_both, 0), F(cummax, BENT),
	F(cummin, BENT), F(cummax_special, 0), F(cummin_special, 0), F(logcumsumexp, 0),
	F(logcumsumexp_far, 0), F(logcumsumexp_special, 0), F(log_softmax, 0), F(log_softmax_far, 0),
	F(logsumexp, 0), F(logsumexp_far, 0), F(logsumexp_special, 0), F(cross_entropy, 0),
	F(cross_entropy_sum, 0), F(cross_entropy_each, 0), F(cross_entropy_far, 0), F(mse, 0),
	F(mse_sum, 0), F(mse_each, 0), F(softplus, 0), F(gelu, 0), F(gelu_tanh, 0), F(leaky_relu, BENT),
	F(elu, BENT), F(clampf, BENT), F(clamp_low, BENT), F(clamp, 0), F(clamp_special, 0),
	F(clamp_nan, 0), F(where, 0), F(one_hot, SIZED), F(eye, 0), F(stack, 0), F(stack_last, 0),
	F(split_equal, 0), F(split_sizes, SIZED), F(topk, 0), F(topk_0, 0), F(topk_special, 0),
	F(norm, 0), F(norm_zero, BENT), F(var, 0), F(var_all, 0), F(std, 0), F(std_zero, BENT),
	F(sort, 0), F(sort_down, 0), F(sort_middle, 0), F(sort_ties, FLAT), F(sort_special, 0),
	F(argsort_special, 0), F(argsort_ties, 0), F(masked_select, 0), F(masked_select_cap, 0),
	F(masked_select_wide, 0), F(masked_select_none, 0), F(masked_select_all, 0), F(compact, 0),
	F(compact_cap, 0), F(nonzero, 0), F(nonzero_special, 0), F(nonzero_cap, 0), F(unique, FLAT),
	F(unique_cap, FLAT), F(linspace, 0), F(arange, 0), F(scalar, 0), F(stop_gradient, FLAT),
	F(linear, 0), F(linear_bare, 0),
#undef F
};
enum { NFORM = sizeof forms / sizeof *forms };

static int form_of(const char *name)
{
	for (int i = 0; i < NFORM; i++)
		if (!strcmp(forms[i].name, name))
			return i;
	fail_msg("%s has no form", name);
	return -1;
}

static void plain(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, (*(form **)user)(t, in));
}

/* ---- arrays ---- */

/* Input i of a case, every element times `by`. */
static hop_array *input(const tcase *c, int i, double by)
{
	const double *from = c->in;
	const struct torch_input *s = &c->shape[i];
	int64_t n = 1;
	hop_dtype d = s->is_float ? c->dtype : HOP_i64;
	for (int k = 0; k < i; k++) {
		int64_t m = 1;
		for (int a = 0; a < c->shape[k].rank; a++)
			m *= c->shape[k].dim[a];
		from += m;
	}
	for (int a = 0; a < s->rank; a++)
		n *= s->dim[a];
	hop_array *x = array(d, s->rank, s->dim, NULL);
	char *to = hop_array_data(x);
	for (int64_t k = 0; k < n; k++)
		hop_elem_set_f(d, to + (size_t)k * hop_dtype_bytes(d), from[k] * (s->is_float ? by : 1));
	return x;
}

static hop_array *cosines(hop_dtype d, const hop_array *like)
{
	hop_array *w = array(d, hop_array_rank(like), hop_array_dims(like), NULL);
	char *to = hop_array_data(w);
	for (int64_t k = 0; k < hop_array_count(like); k++)
		hop_elem_set_f(d, to + (size_t)k * hop_dtype_bytes(d), cos((double)k));
	return w;
}

/* A packed result is rounded once, from one that is right to many more places. Others are sums of
 * rounded terms: a few last places of the largest term. PyTorch's gradients of far numbers go
 * through their logarithms, of a thousand. */
static double bound(const tcase *c, bool grad, double want)
{
	double last = ldexp(1, -hop_dtype_row(c->dtype)->man);
	double far = grad && strstr(c->name, "_far") ? 1000 : 1;
	if (hop_dtype_packed(c->dtype))
		return last * (grad ? 1 + fabs(want) : 1e-3 + fabs(want));
	return last * (grad ? 64 : 16) * far * (1 + fabs(want));
}

static void near(const tcase *c, const char *how, bool grad, const hop_array *a,
                 const double *want, double by)
{
	for (int64_t i = 0; i < hop_array_count(a); i++) {
		double got = hop_array_at(a, i), w = want[i] * by;
		if (!(got == w || (isnan(got) && isnan(w)) || fabs(got - w) <= bound(c, grad, w)))
			fail_msg("%s of %s, %s: %s %d is %.17g, PyTorch says %.17g", c->name,
			         hop_dtype_name(c->dtype), how, grad ? "gradient" : "result", (int)i, got, w);
	}
}

static void ok(hop_status st, const char *what)
{
	if (st)
		fail_msg("%s: %s", what, hop_message(ctx));
}

static int floats_of(const tcase *c, int *wrt)
{
	int n = 0;
	for (int i = 0; i < c->nin; i++)
		if (c->shape[i].is_float)
			wrt[n++] = i;
	return n;
}

static void drop(int n, hop_array **a)
{
	for (int i = 0; i < n; i++)
		hop_array_release(a[i]);
}

/* The result of f on the inputs in[], and behind it the cotangents of the float inputs where c has
 * any, are `by` times those of PyTorch. */
static void judge_run(const tcase *c, hop_fn *f, int nin, hop_array *const *in, bool native,
                      const char *how, double by)
{
	hop_array *out[MAXIN];
	const double *grad = c->grad;
	int nout = hop_fn_nout(f);
	ok(hop_call_with(f, nin, in, nout, out, HOP_RUN_OPTS(.interpret = !native)), c->name);
	assert_int_equal(hop_array_count(out[0]), c->nout);
	near(c, how, false, out[0], c->out, by);
	for (int i = 1; i < nout; i++) {
		near(c, how, true, out[i], grad, by);
		grad += hop_array_count(out[i]);
	}
	drop(nout, out);
}

/* f by the interpreter, and what is compiled of it: its reverse derivative, which has its result
 * too, or f itself where there is none. */
static void judge(const tcase *c, hop_fn *f, const char *how, double by)
{
	hop_array *in[MAXIN], *y;
	int wrt[MAXIN], nwrt = floats_of(c, wrt);
	hop_fn *g;
	for (int i = 0; i < c->nin; i++)
		in[i] = input(c, i, 1);
	judge_run(c, f, c->nin, in, false, how, by);
	if (!c->has_grad) {
		judge_run(c, f, c->nin, in, true, how, by);
		drop(c->nin, in);
		return;
	}
	ok(hop_call_with(f, c->nin, in, 1, &y, HOP_RUN_OPTS(.interpret = true)), c->name);
	in[c->nin] = cosines(c->dtype, y);
	ok(hop_vjp(f, nwrt, wrt, &g), c->name);
	for (int native = 0; native < 2; native++)
		judge_run(c, g, c->nin + 1, in, native, how, by);
	drop(c->nin + 1, in);
	hop_array_release(y);
	hop_fn_release(g);
}

static hop_fn *captured(const tcase *c, hop_body *body, void *user, bool symbolic)
{
	static const char *const name[MAXIN][3] = { { "a", "b", "c" }, { "d", "e", "f" },
	                                            { "g", "h", "i" }, { "j", "k", "l" } };
	hop_spec s[MAXIN];
	hop_fn *f;
	for (int i = 0; i < c->nin; i++) {
		s[i] = hop_spec_of(c->shape[i].is_float ? c->dtype : HOP_i64, c->shape[i].rank,
		                   c->shape[i].dim);
		for (int a = 0; symbolic && a < s[i].rank; a++)
			s[i] = hop_spec_sym(s[i], a, name[i][a], 0, 0);
	}
	ok(hop_capture(ctx, body, user, c->nin, s, &f), c->name);
	return f;
}

static void values_and_gradients(void **state)
{
	(void)state;
	for (int k = 0; k < NCASE; k++) {
		const tcase *c = &torch_composites[k];
		form *make = forms[form_of(c->name)].make;
		hop_array *in[MAXIN], *y;
		hop_fn *f = captured(c, plain, &make, false);
		judge(c, f, "captured", 1);
		hop_fn_release(f);
		for (int i = 0; i < c->nin; i++)
			in[i] = input(c, i, 1);
		ok(hop_eager_call(ctx, plain, &make, c->nin, in, 1, &y), c->name);
		near(c, "eagerly", false, y, c->out, 1);
		hop_array_release(y);
		drop(c->nin, in);
	}
}

static void symbolic_sizes(void **state)
{
	(void)state;
	for (int k = 0; k < NCASE && torch_composites[k].dtype == HOP_f64; k++) {
		const tcase *c = &torch_composites[k];
		int i = form_of(c->name);
		form *make = forms[i].make;
		if (forms[i].is & SIZED)
			continue;
		hop_fn *f = captured(c, plain, &make, true);
		judge(c, f, "symbolic sizes", 1);
		hop_fn_release(f);
	}
}

/* ---- inside operators: twice the value ---- */

struct inside { form *make; const hop_value *in; };

static void again(hop_trace *t, const hop_value *in, void *user)
{
	struct inside *s = user;
	hop_return(t, hop_add(t, in[0], s->make(t, s->in)));
}

static void in_scan(hop_trace *t, const hop_value *in, void *user)
{
	struct inside s = { *(form **)user, in };
	hop_scan_opts o = { .size = sizeof o, .has_length = true, .length = hop_n(2) };
	hop_value y, zero = hop_zeros_like(t, s.make(t, in));
	hop_scan(t, again, &s, 1, &zero, 0, NULL, &o, 1, &y, NULL);
	hop_return(t, y);
}

static void early(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_lt(t, in[1], hop_i(t, 2)));
}

static void again_counted(hop_trace *t, const hop_value *in, void *user)
{
	struct inside *s = user;
	hop_return(t, hop_add(t, in[0], s->make(t, s->in)), hop_add(t, in[1], hop_i(t, 1)));
}

static void in_while(hop_trace *t, const hop_value *in, void *user)
{
	struct inside s = { *(form **)user, in };
	hop_value y[2], init[2] = { hop_zeros_like(t, s.make(t, in)), hop_scalar(t, HOP_i64, 0) };
	hop_while(t, early, again_counted, &s, 2, init, NULL, y, NULL);
	hop_return(t, y[0]);
}

static void twice(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mulf(t, (*(form **)user)(t, in), 2));
}

static void never(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mulf(t, (*(form **)user)(t, in), 1e9));
}

static void in_cond(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y, p = hop_lt(t, hop_sum_all(t, hop_full_like(t, in[0], 0)), hop_f(t, 1));
	hop_cond(t, p, twice, never, user, 1, in, 1, &y);
	hop_return(t, y);
}

static void in_switch(hop_trace *t, const hop_value *in, void *user)
{
	hop_body *const branch[3] = { never, twice, never };
	hop_value y;
	hop_switch(t, hop_i(t, 1), 3, branch, user, 1, in, 1, &y);
	hop_return(t, y);
}

static void each(hop_trace *t, const hop_value *in, void *user)
{
	struct inside *s = user;
	(void)in;
	hop_return(t, s->make(t, s->in));
}

static void in_map(hop_trace *t, const hop_value *in, void *user)
{
	struct inside s = { *(form **)user, in };
	hop_value y, steps = hop_arange(t, HOP_i64, hop_n(2));
	hop_map(t, each, &s, 1, &steps, 0, 1, &y);
	hop_return(t, hop_sum(t, y, 1, (int[]){ 0 }));
}

static void in_region(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a, b;
	hop_region(t, "form", plain, user, 1, in, 1, &a);
	hop_region(t, "form", plain, user, 1, in, 1, &b);
	hop_return(t, hop_add(t, a, b));
}

/* The operators with bodies that get their inputs as such take cases of one input. */
static void inside_operators(void **state)
{
	static const struct { hop_body *body; const char *how; bool single; } around[] = {
		{ in_scan, "in a scan", false }, { in_while, "in a while", false },
		{ in_map, "in a map", false }, { in_cond, "in a cond", true },
		{ in_switch, "in a switch", true }, { in_region, "in regions", true },
	};
	enum { NAROUND = sizeof around / sizeof *around };
	(void)state;
	for (int k = 0; k < NCASE && torch_composites[k].dtype == HOP_f64; k++)
		for (int a = 0; a < NAROUND; a++) {
			const tcase *c = &torch_composites[k];
			form *make = forms[form_of(c->name)].make;
			if (around[a].single && c->nin > 1)
				continue;
			hop_fn *f = captured(c, around[a].body, &make, false);
			judge(c, f, around[a].how, 2);
			hop_fn_release(f);
		}
}

/* ---- lanes against a loop ---- */

static hop_array *stacked(int n, hop_array *const *a)
{
	int64_t dim[8] = { n }, count = hop_array_count(a[0]);
	for (int i = 0; i < hop_array_rank(a[0]); i++)
		dim[i + 1] = hop_array_dims(a[0])[i];
	size_t bytes = (size_t)count * hop_dtype_bytes(hop_array_dtype(a[0]));
	hop_array *s = array(hop_array_dtype(a[0]), hop_array_rank(a[0]) + 1, dim, NULL);
	for (int i = 0; i < n; i++)
		memcpy((char *)hop_array_data(s) + (size_t)i * bytes, hop_array_data(a[i]), bytes);
	return s;
}

static void same_lane(const tcase *c, const hop_array *all, int lane, const hop_array *one)
{
	int64_t n = hop_array_count(one);
	for (int64_t i = 0; i < n; i++) {
		double got = hop_array_at(all, lane * n + i), want = hop_array_at(one, i);
		bool is = got == want || (isnan(got) && isnan(want));
		if (!is && !(fabs(got - want) <= 1e-12 * (1 + fabs(want))))
			fail_msg("%s: lane %d, element %d is %.17g, alone %.17g", c->name, lane, (int)i, got,
			         want);
	}
}

/* The function and its reverse derivative, batched, first input only or all. */
static void lanes_of(const tcase *c, hop_fn *f, int nin, int nout, hop_array *(*lane)[MAXIN],
                     bool all)
{
	bool batched[MAXIN] = { true, all, all, all };
	hop_array *in[MAXIN], *out[MAXIN], *one[MAXIN];
	hop_fn *g;
	ok(hop_vmap(f, batched, LANES, &g), c->name);
	for (int i = 0; i < nin; i++) {
		hop_array *of[LANES];
		for (int b = 0; b < LANES; b++)
			of[b] = lane[b][i];
		in[i] = batched[i] ? stacked(LANES, of) : hop_array_retain(lane[0][i]);
	}
	for (int native = 0; native < 2; native++) {
		ok(hop_call_with(g, nin, in, nout, out, HOP_RUN_OPTS(.interpret = !native)), c->name);
		for (int b = 0; b < LANES; b++) {
			hop_array *x[MAXIN];
			for (int i = 0; i < nin; i++)
				x[i] = lane[batched[i] ? b : 0][i];
			ok(hop_call_with(f, nin, x, nout, one, HOP_RUN_OPTS(.interpret = true)), c->name);
			for (int i = 0; i < nout; i++)
				same_lane(c, out[i], b, one[i]);
			drop(nout, one);
		}
		drop(nout, out);
	}
	drop(nin, in);
	hop_fn_release(g);
}

static void lanes(void **state)
{
	(void)state;
	for (int k = 0; k < NCASE && torch_composites[k].dtype == HOP_f64; k++) {
		const tcase *c = &torch_composites[k];
		form *make = forms[form_of(c->name)].make;
		hop_array *lane[LANES][MAXIN], *y;
		int wrt[MAXIN], nwrt = floats_of(c, wrt);
		hop_fn *f = captured(c, plain, &make, false), *g;
		for (int b = 0; b < LANES; b++)
			for (int i = 0; i < c->nin; i++)
				lane[b][i] = input(c, i, 1 - 0.25 * b);
		ok(hop_call(f, c->nin, lane[0], 1, &y), c->name);
		for (int b = 0; b < LANES; b++)
			lane[b][c->nin] = cosines(c->dtype, y);
		ok(hop_vjp(f, nwrt, wrt, &g), c->name);
		for (int all = 0; all < 2; all++) {
			lanes_of(c, f, c->nin, 1, lane, all);
			lanes_of(c, g, c->nin + 1, 1 + nwrt, lane, all);
		}
		for (int b = 0; b < LANES; b++)
			drop(c->nin + 1, lane[b]);
		hop_array_release(y);
		hop_fn_release(f);
		hop_fn_release(g);
	}
}

/* ---- differences ---- */

static void move_to(const tcase *c, hop_array **in, double by, const double *along)
{
	const double *from = c->in;
	for (int i = 0; i < c->nin; i++)
		for (int64_t k = 0; k < hop_array_count(in[i]); k++, from++)
			if (c->shape[i].is_float)
				((double *)hop_array_data(in[i]))[k] = *from + by * along[from - c->in];
}

/* Forward mode of f along a direction against differences of f, for each of its results. */
static void differences(const tcase *c, hop_fn *f, int nout, bool loose)
{
	enum { MOST = 64 };
	int wrt[MAXIN], nwrt = floats_of(c, wrt), nmore = hop_fn_nin(f) - c->nin;
	hop_array *in[2 * MAXIN + 1], *out[4][2 * MAXIN + 1];
	double along[MOST];
	const double h = 1e-5;
	hop_fn *g;
	for (int i = 0; i < MOST; i++)
		along[i] = sin(3.0 * i + 1);
	for (int i = 0; i < c->nin; i++)
		in[i] = input(c, i, 1);
	hop_spec s;
	for (int i = c->nin; i < c->nin + nmore; i++) {
		assert_true(hop_fn_in_type(f, i, &s));
		hop_array *like = array(HOP_f64, s.rank, s.dim, NULL);
		in[i] = cosines(HOP_f64, like);
		hop_array_release(like);
	}
	for (int k = 0; k < 2; k++) {
		move_to(c, in, k ? h : -h, along);
		ok(hop_call_with(f, c->nin + nmore, in, nout, out[k], HOP_RUN_OPTS(.interpret = true)),
		   c->name);
	}
	move_to(c, in, 0, along);
	int at = c->nin + nmore;
	const double *d = along;
	for (int i = 0, k = 0; i < c->nin; i++) {
		if (c->shape[i].is_float) {
			in[at + k] = array(HOP_f64, hop_array_rank(in[i]), hop_array_dims(in[i]), d);
			k++;
		}
		d += hop_array_count(in[i]);
	}
	ok(hop_jvp(f, nwrt, wrt, &g), c->name);
	ok(hop_call_with(g, at + nwrt, in, 2 * nout, out[2], HOP_RUN_OPTS(.interpret = true)), c->name);
	for (int r = 0; r < nout; r++)
		for (int64_t i = 0; i < hop_array_count(out[0][r]); i++) {
			double want = (hop_array_at(out[1][r], i) - hop_array_at(out[0][r], i)) / (2 * h);
			double got = hop_array_at(out[2][nout + r], i);
			if (!(fabs(got - want) <= (loose ? 1e-5 : 1e-7) * (1 + fabs(want))))
				fail_msg("%s: the derivative of result %d, element %d is %.12g, by differences "
				         "%.12g", c->name, r, (int)i, got, want);
		}
	drop(at + nwrt, in);
	for (int k = 0; k < 2; k++)
		drop(nout, out[k]);
	drop(2 * nout, out[2]);
	hop_fn_release(g);
}

static void first_and_second(void **state)
{
	(void)state;
	for (int k = 0; k < NCASE && torch_composites[k].dtype == HOP_f64; k++) {
		const tcase *c = &torch_composites[k];
		int i = form_of(c->name), wrt[MAXIN], nwrt = floats_of(c, wrt);
		form *make = forms[i].make;
		if (forms[i].is & (BENT | FLAT) || !c->has_grad)
			continue;
		hop_fn *f = captured(c, plain, &make, false), *g;
		bool far = strstr(c->name, "_far");            /* 1000 less a difference: fewer digits */
		differences(c, f, 1, far);
		ok(hop_vjp(f, nwrt, wrt, &g), c->name);
		differences(c, g, 1 + nwrt, far);
		hop_fn_release(f);
		hop_fn_release(g);
	}
}

static void all_forms_have_data(void **state)
{
	int n = 0;
	(void)state;
	for (int k = 0; k < NCASE; k++)
		n += torch_composites[k].dtype == HOP_f64;
	assert_int_equal(n, NFORM);
	assert_int_equal(NCASE, 4 * NFORM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_forms_have_data, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(values_and_gradients, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(symbolic_sizes, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(inside_operators, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(lanes, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(first_and_second, rig_up, rig_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
