/* host_fns.c -- functions and an object of the host for programs that are judged. */
#include "support/host_fns.h"

#include "hop/hop.h"
#include "ir/dtype.h"

static int64_t count(const hop_host_arg *a)
{
	int64_t n = 1;
	for (int k = 0; k < a->rank; k++)
		n *= a->dim[k];
	return n;
}

static double get(const hop_host_arg *a, int64_t i)
{
	return hop_elem_f(a->dtype, (const char *)a->data + (size_t)i * hop_dtype_bytes(a->dtype));
}

static void set(const hop_host_arg *a, int64_t i, double v)
{
	hop_elem_set_f(a->dtype, (char *)a->data + (size_t)i * hop_dtype_bytes(a->dtype), v);
}

/* ---- functions ---- */

static hop_status square(const hop_host_call *c)
{
	for (int64_t i = 0, n = count(c->in); i < n; i++)
		set(c->out, i, get(c->in, i) * get(c->in, i));
	return HOP_OK;
}

static hop_status lift(const hop_host_call *c)
{
	for (int64_t i = 0, n = count(c->in); i < n; i++)
		set(c->out, i, get(c->in, i) + get(c->in, i) * get(c->in, i) / 8);
	return HOP_OK;
}

static hop_status same(const hop_host_call *c)
{
	for (int64_t i = 0, n = count(c->in); i < n; i++)
		set(c->out, i, get(c->in, i));
	return HOP_OK;
}

static void add(const hop_host_arg *to, const hop_host_arg *x, const hop_host_arg *y)
{
	for (int64_t i = 0, n = count(x); i < n; i++)
		set(to, i, (get(x, i) + 2 * get(y, i)) * (i ? 1 : 2));
}

static hop_status write_all(const hop_host_call *c)
{
	add(&c->in[0], &c->in[0], &c->in[1]);
	return HOP_OK;
}

static hop_status above(const hop_host_call *c)
{
	int64_t *most = c->out->data;
	*most = 0;
	for (int64_t i = 0, n = count(c->in); i < n; i++)
		*most += get(c->in, i) > 0.5;
	return HOP_OK;
}

/* ---- rules ---- */

static void as_first(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0]);
}

/* (1 + x / 4) d */
static hop_value slope(hop_trace *t, hop_value x, hop_value d)
{
	return hop_mul(t, hop_addf(t, hop_mulf(t, x, 0.25), 1), d);
}

static void lift_vjp(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, slope(t, in[0], in[2]));
}

static void lift_jvp(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, slope(t, in[0], in[1]));
}

/* ---- the object ---- */

static double gain = 0.5;

static hop_status scale(void *self, const hop_host_call *c)
{
	for (int64_t i = 0, n = count(c->in); i < n; i++)
		set(c->out, i, get(c->in, i) * *(const double *)self);
	return HOP_OK;
}

static hop_status sum(void *self, const hop_host_call *c)
{
	(void)self;
	add(c->out, &c->in[0], &c->in[1]);
	return HOP_OK;
}

static void as_second(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[1]);
}

static hop_status get_gain(void *self, const hop_host_call *c)
{
	*(double *)c->out->data = *(const double *)self;
	return HOP_OK;
}

/* object, x, y, ct. A rule is captured with the call, so that it cannot call the method itself. */
static void scale_vjp(hop_trace *t, const hop_value *in, void *user)
{
	hop_result r = hop_result_of(HOP_f64, 0, NULL);
	hop_value g = HOP_NONE;
	(void)user;
	hop_method(t, "test_object.gain", in[0], 0, NULL, 1, &r, &g);
	hop_return(t, hop_mul(t, in[3], hop_cast(t, g, hop_dtype_of(t, in[3]))));
}

int64_t host_fns_object(void)
{
	return (int64_t)1 << 32;
}

hop_status host_fns_add(hop_ctx *c)
{
	static const int first = 0;
	static const hop_method_def m[] = {
		{ .name = "scale", .run = scale, .pure = true, .shape = as_second, .vjp = scale_vjp },
		{ .name = "gain", .run = get_gain, .pure = true },
		{ .name = "sum", .run = sum, .shape = as_second }
	};
	static const hop_host_def f[] = {
		{ .name = "test.square", .run = square, .pure = true },
		{ .name = "test.host_function", .run = lift, .pure = true, .shape = as_first, .vjp = lift_vjp,
		  .jvp = lift_jvp },
		{ .name = "test.same", .run = same, .pure = true, .shape = as_first },
		{ .name = "test.above", .run = above },
		{ .name = "test.write", .run = write_all, .nwrite = 1, .writes = &first }
	};
	hop_status st = HOP_OK;
	int64_t handle;
	for (size_t i = 0; i < sizeof f / sizeof *f && !st; i++) {
		hop_host_def d = f[i];
		d.size = sizeof d;
		st = hop_host_add(c, &d);
	}
	if (!st)
		st = hop_class_add(c, HOP_CLASS_DEF(.name = "test_object", .nmethod = 3, .method = m));
	if (!st)
		st = hop_object_new(c, "test_object", &gain, &handle);
	return st ? st : handle == host_fns_object() ? HOP_OK : HOP_EVALUE;
}
