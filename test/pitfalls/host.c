/* host.c -- pitfalls of code that programs call and cannot see into: functions of the host, what they
 * write, how often they are asked, and objects that outlive a program or do not. */
#include "pitfall.h"

#include <stdlib.h>
#include <string.h>

/* What functions were asked, in order: the first number of their first input. */
static struct { int n; double x[32]; } told;

static void tell(const hop_host_call *c)
{
	if (told.n < 32)
		told.x[told.n] = c->nin ? ((const double *)c->in[0].data)[0] : 0;
	told.n++;
}

static int64_t count(const hop_host_arg *a)
{
	int64_t n = 1;
	for (int k = 0; k < a->rank; k++)
		n *= a->dim[k];
	return n;
}

static void as_first(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, in[0]);
}

static void add_fn(hop_host_def d)
{
	d.size = sizeof d;
	ok(hop_host_add(ctx, &d));
}

/* y = x + 1 */
static hop_status more(const hop_host_call *c)
{
	tell(c);
	for (int64_t i = 0; i < count(c->in); i++)
		((double *)c->out[0].data)[i] = ((const double *)c->in[0].data)[i] + 1;
	return HOP_OK;
}

static hop_value ask(hop_trace *t, const char *name, int n, const hop_value *in)
{
	hop_value y = HOP_NONE;
	hop_host(t, name, n, in, 1, NULL, &y);
	return y;
}

/* ---- writes ---- */

static hop_status sneaks(const hop_host_call *c)
{
	((double *)c->in[0].data)[0] += 7;
	return more(c);
}

BODY(sneaky) { hop_return(t, ask(t, "sneaks", 1, in)); }

PITFALL(391, "an opaque function writes an input that it did not declare")
{
	setenv("HOP_CHECK", "host", 1);
	add_fn((hop_host_def){ .name = "sneaks", .run = sneaks, .shape = as_first });
	refuses_run(sneaky, NULL, LIST(F(1, 2)), HOP_EVALUE,
	            "host function `sneaks`: undeclared write detected: it changed input 0: name that in "
	            ".writes");
}

static hop_status strays(const hop_host_call *c)
{
	((double *)c->out[0].data)[count(c->out)] = 7;
	return more(c);
}

BODY(straying) { hop_return(t, ask(t, "strays", 1, in)); }

PITFALL(392, "an opaque function makes more than its shape said")
{
	setenv("HOP_CHECK", "host", 1);
	add_fn((hop_host_def){ .name = "strays", .run = strays, .shape = as_first });
	refuses_run(straying, NULL, LIST(F(1, 2)), HOP_EVALUE,
	            "host function `strays`: it wrote outside of result 0: it has the sizes that were "
	            "declared, not others");
}

/* x += y, y = 10 x as x is then. */
static hop_status both(const hop_host_call *c)
{
	double *x = c->in[0].data, *y = c->in[1].data;
	for (int64_t i = 0; i < count(c->in); i++) {
		x[i] += y[i];
		y[i] = 10 * x[i];
	}
	return HOP_OK;
}

static void add_both(void)
{
	static const int writes[2] = { 0, 1 };
	add_fn((hop_host_def){ .name = "both", .run = both, .nwrite = 2, .writes = writes });
}

BODY(two_views)
{
	hop_value x = hop_clone(t, in[0]);
	hop_value part[2] = { hop_narrow(t, x, 0, 0, 2), hop_narrow(t, x, 0, 2, 2) };
	hop_host(t, "both", 2, part, 0, NULL, NULL);
	hop_return(t, x, hop_add(t, part[0], part[1]));
}

PITFALL(393, "two inputs that a function writes are views of one buffer")
{
	add_both();
	gives(two_views, NULL, LIST(F(1, 2, 3, 4)), LIST(F(4, 6, 40, 60), F(44, 66)));
	lanes(two_views, NULL, LIST(F2(2, 4, 1, 2, 3, 4, 5, 6, 7, 8)), AXES(0));
}

BODY(overlapping)
{
	hop_value x = hop_clone(t, in[0]);
	hop_value part[2] = { hop_narrow(t, x, 0, 0, 2), hop_narrow(t, x, 0, 1, 2) };
	hop_host(t, "both", 2, part, 0, NULL, NULL);
	hop_return(t, x);
}

PITFALL(394, "views that a function writes overlap: each begins as it was, the last one stays")
{
	add_both();
	gives(overlapping, NULL, LIST(F(1, 2, 3)), LIST(F(3, 30, 50)));
}

/* x += y, where y may be a part of x */
static hop_status into(const hop_host_call *c)
{
	double *x = c->in[0].data;
	const double *y = c->in[1].data;
	for (int64_t i = count(c->in); i-- > 0; )
		x[i] += y[0];
	return HOP_OK;
}

BODY(reads_it)
{
	hop_value x = hop_clone(t, in[0]), part[2] = { x, hop_narrow(t, x, 0, 1, 1) };
	HOP_FOR(t, i, 2)
		hop_host(t, "into", 2, part, 0, NULL, NULL);
	hop_return(t, x);
}

PITFALL(395, "a function reads what it writes through another input")
{
	static const int first = 0;
	add_fn((hop_host_def){ .name = "into", .run = into, .nwrite = 1, .writes = &first });
	gives(reads_it, NULL, LIST(F(1, 2, 3)), LIST(F(7, 8, 9)));
}

/* ---- gradients ---- */

/* y = w x; v has no part in it. */
static hop_status product(const hop_host_call *c)
{
	const double *x = c->in[0].data, *w = c->in[1].data;
	for (int64_t i = 0; i < count(c->in); i++)
		((double *)c->out[0].data)[i] = x[i] * w[i];
	return HOP_OK;
}

/* x, w, v, y, ct */
static void product_vjp(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mul(t, in[1], in[4]), hop_mul(t, in[0], in[4]), hop_zeros_like(t, in[2]));
}

BODY(learns) { hop_return(t, hop_sum_all(t, ask(t, "product", 3, in))); }

PITFALL(396, "weights of an opaque function are inputs of it, and one that it does not use gets zeros")
{
	add_fn((hop_host_def){ .name = "product", .run = product, .shape = as_first, .pure = true,
	                       .vjp = product_vjp });
	gradient(learns, NULL, LIST(F(1, 2), F(3, 4), F(5, 6)), WRT(0, 1, 2),
	         LIST(F(3, 4), F(1, 2), F(0, 0)));
	slopes(learns, NULL, LIST(F(1, 2), F(3, 4), F(5, 6)), WRT(0, 1, 2));
}

/* ---- how often ---- */

BODY(step) { hop_return(t, ask(t, "more", 1, in)); }

BODY(regions)
{
	hop_value x = in[0];
	for (int i = 0; i < 4; i++)
		hop_region(t, "step", step, NULL, 1, &x, 1, &x);
	hop_return(t, x);
}

PITFALL(397, "a region that asks the host is called N times: N questions, in order")
{
	add_fn((hop_host_def){ .name = "more", .run = more, .shape = as_first });
	gives(regions, NULL, LIST(F(1)), LIST(F(5)));
	must(told.n == 12);                            /* three doors */
	for (int i = 0; i < 12; i++)
		must(told.x[i] == 1 + i % 4);
}

/* y = 3 x, by a function that says how often it was asked; backwards another does. */
static hop_status thrice(const hop_host_call *c)
{
	tell(c);
	*(double *)c->out[0].data = 3 * *(const double *)c->in[c->nin - 1].data;
	return HOP_OK;
}

BODY(inner)
{
	hop_value y = ask(t, "thrice", 1, in);
	hop_return(t, hop_mul(t, hop_sin(t, y), ask(t, "thrice", 1, &y)));
}

BODY(recomputed)
{
	hop_value y = HOP_NONE;
	hop_checkpoint(t, inner, NULL, NULL, 1, in, 1, &y);
	hop_return(t, y);
}

PITFALL(398, "effects in a reverse pass happen once, beside a checkpoint that computes again")
{
	add_fn((hop_host_def){ .name = "back", .run = thrice, .shape = as_first });
	add_fn((hop_host_def){ .name = "thrice", .run = thrice, .shape = as_first, .vjp_host = "back" });
	double x = 0.5, d = 27 * x * cos(3 * x) + 9 * sin(3 * x);
	gradient(recomputed, NULL, LIST(F0(x)), WRT(0), LIST(F0(d)));
	must(told.n % 4 == 0);                         /* two forwards, two backwards, a door each */
	for (int i = 0; i < told.n; i += 4)
		must(told.x[i] == x && told.x[i + 1] == 3 * x && told.x[i + 2] == 3 * x && told.x[i + 3] == x);
}

/* ---- lanes ---- */

static hop_status next(const hop_host_call *c)
{
	*(double *)c->out[0].data = told.n++;
	return HOP_OK;
}

static void number(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_scalar(t, HOP_f64, 0));
}

BODY(numbered)
{
	hop_value x = in[0];
	HOP_IF(t, hop_gt(t, x, hop_f(t, 0)), x)
		x = ask(t, "next", 0, NULL);
	hop_return(t, x);
}

PITFALL(399, "lanes that are there ask, in their order, though they ask for the same")
{
	hop_spec spec = hop_spec0(HOP_f64);
	hop_fn *f, *v;
	add_fn((hop_host_def){ .name = "next", .run = next, .shape = number });
	ok(hop_capture(ctx, numbered, NULL, 1, &spec, &f));
	ok(hop_vmap(f, (bool[]){ true }, 4, &v));
	for (int interpret = 0; interpret < 2; interpret++) {
		tensor in = F(1, -5, 1, 1);
		hop_array *x = array_of(&in), *y;
		told.n = 0;
		ok(hop_call_with(v, 1, &x, 1, &y, HOP_RUN_OPTS(.interpret = interpret)));
		const double *got = hop_array_data(y);
		must(told.n == 3 && got[0] == 0 && got[1] == -5 && got[2] == 1 && got[3] == 2);
		hop_array_release(x), hop_array_release(y);
	}
	hop_fn_release(f), hop_fn_release(v);
}

/* ---- objects ---- */

static hop_status add_up(void *self, const hop_host_call *c)
{
	double *sum = self;
	*sum += *(const double *)c->in[0].data;
	*(double *)c->out[0].data = *sum;
	return HOP_OK;
}

static void as_second(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, in[1]);
}

static int64_t new_sum(double *self)
{
	static const hop_method_def m = { .name = "add", .run = add_up, .shape = as_second };
	int64_t h;
	if (!hop_object_self(ctx, "sum", 1))
		(void)!hop_class_add(ctx, HOP_CLASS_DEF(.name = "sum", .nmethod = 1, .method = &m));
	ok(hop_object_new(ctx, "sum", self, &h));
	return h;
}

BODY(adds)
{
	const int64_t *h = user;
	hop_value a = hop_object(t, h[0]), b = hop_object(t, h[1]), x = in[0], y = HOP_NONE;
	HOP_FOR(t, i, 3, a, b, x) {
		hop_value was = a;
		hop_method(t, "sum.add", a, 1, &x, 1, NULL, &y);
		x = y;
		a = b;
		b = was;
	}
	hop_return(t, x);
}

PITFALL(400, "objects are carried by a loop that exchanges them, and change in order")
{
	for (int interpret = 0; interpret < 2; interpret++) {
		double sum[2] = { 10, 100 };
		int64_t h[2] = { new_sum(&sum[0]), new_sum(&sum[1]) };
		hop_spec spec = hop_spec0(HOP_f64);
		tensor in = F0(1);
		hop_array *x = array_of(&in), *y;
		hop_fn *f;
		ok(hop_capture(ctx, adds, h, 1, &spec, &f));
		ok(hop_call_with(f, 1, &x, 1, &y, HOP_RUN_OPTS(.interpret = interpret)));
		must(*(const double *)hop_array_data(y) == 122 && sum[0] == 122 && sum[1] == 111);
		hop_array_release(x), hop_array_release(y), hop_fn_release(f);
	}
}

BODY(of_nothing)
{
	hop_value y = HOP_NONE;
	hop_method(t, "sum.add", hop_object(t, *(const int64_t *)user), 1, in, 1, NULL, &y);
	hop_return(t, y);
}

PITFALL(401, "an object is gone when a program asks it")
{
	double sum = 0;
	int64_t h = new_sum(&sum);
	hop_object_release(ctx, h);
	refuses_run(of_nothing, &h, LIST(F0(1)), HOP_EVALUE,
	            "host function `sum.add`: 4294967296 is the handle of no object: it was released, or "
	            "never made");
}

BODY(no_rule) { hop_return(t, hop_sum_all(t, ask(t, "more", 1, in))); }

PITFALL(402, "a gradient through an opaque function that has none")
{
	hop_spec spec = hop_spec1(HOP_f64, 2);
	hop_fn *f, *g;
	add_fn((hop_host_def){ .name = "more", .run = more, .shape = as_first });
	ok(hop_capture(ctx, no_rule, NULL, 1, &spec, &f));
	must(hop_grad(f, 1, (int[]){ 0 }, &g) == HOP_ENODIFF);
	must(strstr(hop_message(ctx), "host: the host function `more` has no gradient: give it one, or stop "
	            "the gradient at its inputs"));
	hop_fn_release(f);
}
