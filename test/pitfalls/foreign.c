/* foreign.c -- pitfalls of kernels of users and of regions for engines: what they write, what may be
 * left out, and what is known of them before they run. */
#include <stdio.h>
#include <string.h>

#include "inside.h"

#define IN HOP_KERNEL_IN
#define OUT HOP_KERNEL_OUT
#define INOUT HOP_KERNEL_INOUT
#define ARGS(...) (int)(sizeof((hop_kernel_arg[]){ __VA_ARGS__ }) / sizeof(hop_kernel_arg)), \
	(hop_kernel_arg[]){ __VA_ARGS__ }

static int runs;

static int twice(void *const *arg, const int64_t *const *dim, int64_t lanes)
{
	double *x = arg[0];
	(void)lanes;
	runs++;
	for (int64_t i = 0; i < dim[0][0]; i++)
		x[i] *= 2;
	return 0;
}

static int split(void *const *arg, const int64_t *const *dim, int64_t lanes)
{
	const double *x = arg[0];
	double *up = arg[1], *down = arg[2];
	(void)lanes;
	for (int64_t i = 0; i < dim[0][0]; i++) {
		up[i] = x[i] + 1;
		down[i] = x[i] - 1;
	}
	return 0;
}

static int add_to(void *const *arg, const int64_t *const *dim, int64_t lanes)
{
	const double *x = arg[0];
	double *y = arg[1];
	(void)lanes;
	for (int64_t i = 0; i < dim[0][0]; i++)
		y[i] += x[dim[0][0] - 1 - i];          /* needs all of x as it was */
	return 0;
}

static void kernel(const char *name, hop_kernel_fn *fn, bool unknown, int narg,
                   const hop_kernel_arg *arg)
{
	ok(hop_kernel_add(ctx, HOP_KERNEL_DEF(.name = name, .fn = fn, .narg = narg, .arg = arg,
	                                      .unknown = unknown)));
}

/* ---- kernels ---- */

BODY(two_results)
{
	hop_value out[2] = { HOP_NONE, HOP_NONE };
	hop_kernel(t, "split", 1, in, 0, NULL, 2, out);
	hop_return(t, out[0], out[1], hop_mul(t, out[0], out[1]));
}

PITFALL(411, "a kernel with several results gives each of them")
{
	kernel("split", split, false, ARGS({ "x", IN, HOP_f64, 1, NULL }, { "up", OUT, HOP_f64, 1, "x" },
	                                   { "down", OUT, HOP_f64, 1, "x" }));
	gives(two_results, NULL, LIST(F(1, 5)), LIST(F(2, 6), F(0, 4), F(0, 24)));
	gives(two_results, NULL, LIST(UNKNOWN(F(1, 5, 2), "n")), LIST(F(2, 6, 3), F(0, 4, 1), F(0, 24, 3)));
	lanes(two_results, NULL, LIST(F2(2, 2, 1, 5, 3, 4)), AXES(0));
}

BODY(unread)
{
	hop_value y = HOP_NONE;
	hop_kernel(t, user, 1, in, 0, NULL, 1, &y);
	hop_return(t, in[0]);
}

PITFALL(412, "a kernel of which nothing is known is never left out, and its operands count as written")
{
	hop_spec s = hop_spec1(HOP_f64, 2);
	hop_array *x = array_of((tensor[]){ F(1, 2) }), *y;
	hop_fn *f;
	kernel("pure", twice, false, ARGS({ "x", INOUT, HOP_f64, 1, NULL }));
	kernel("unknown", twice, true, ARGS({ "x", IN, HOP_f64, 1, NULL }));
	for (int unknown = 0; unknown < 2; unknown++) {
		ok(hop_capture(ctx, unread, unknown ? "unknown" : "pure", 1, &s, &f));
		runs = 0;
		ok(hop_call(f, 1, &x, 1, &y));
		must(runs == unknown && hop_array_at(y, 0) == 1 && hop_array_at(x, 0) == 1);
		hop_array_release(y);
		hop_fn_release(f);
	}
	hop_array_release(x);
	gives(unread, "unknown", LIST(F(1, 2)), LIST(F(1, 2)));
}

BODY(views)
{
	hop_value a = hop_slice(t, in[0], 0, hop_n(0), hop_n(2), 1);
	hop_value b = hop_slice(t, in[0], 0, hop_n(1), hop_n(2), 1);
	hop_value y = HOP_NONE;
	hop_kernel(t, "add_to", 2, (hop_value[]){ a, b }, 0, NULL, 1, &y);
	hop_return(t, y, in[0]);
}

BODY(same)
{
	hop_value y = HOP_NONE;
	hop_kernel(t, "add_to", 2, (hop_value[]){ in[0], in[0] }, 0, NULL, 1, &y);
	hop_return(t, y, in[0]);
}

PITFALL(413, "two arguments of a kernel are parts of one buffer, or all of it, and one is written")
{
	kernel("add_to", add_to, false,
	       ARGS({ "x", IN, HOP_f64, 1, NULL }, { "y", INOUT, HOP_f64, 1, NULL }));
	leaves(views, NULL, LIST(F(1, 2, 4)), LIST(F(4, 5), F(1, 2, 4)), LIST(F(1, 2, 4)));
	leaves(same, NULL, LIST(F(1, 2, 4)), LIST(F(5, 4, 5), F(1, 2, 4)), LIST(F(1, 2, 4)));
}

BODY(only_out)
{
	hop_result r = hop_result_of(HOP_f64, 1, (hop_dim[]){ hop_n(3) });
	hop_value y = HOP_NONE;
	hop_kernel(t, "ramp", 0, NULL, 1, &r, 1, &y);
	hop_return(t, y);
}

static int ramp(void *const *arg, const int64_t *const *dim, int64_t lanes)
{
	(void)lanes;
	for (int64_t i = 0; i < dim[0][0]; i++)
		((double *)arg[0])[i] = (double)i;
	return 0;
}

PITFALL(414, "an argument that a kernel only writes needs no input")
{
	kernel("ramp", ramp, false, ARGS({ "y", OUT, HOP_f64, 1, NULL }));
	gives(only_out, NULL, NONE, LIST(F(0, 1, 2)));
}

BODY(twice_fwd) { hop_return(t, hop_mulf(t, in[0], 2)); }
BODY(twice_bwd)
{
	hop_value d = HOP_NONE;
	hop_kernel(t, "pure", 1, in, 0, NULL, 1, &d);        /* in place, on the cotangent */
	hop_return(t, d);
}
BODY(cotangent_written)
{
	hop_custom_rule rule = { .size = sizeof rule, .fwd = twice_fwd, .bwd = twice_bwd };
	hop_value y = HOP_NONE, z = HOP_NONE;
	hop_custom(t, &rule, NULL, 1, in, 1, &y);
	hop_custom(t, &rule, NULL, 1, in, 1, &z);
	hop_return(t, hop_sum_all(t, hop_add(t, y, z)));
}

PITFALL(415, "a kernel works in place on the cotangent, which others get too")
{
	kernel("pure", twice, false, ARGS({ "x", INOUT, HOP_f64, 1, NULL }));
	gradient(cotangent_written, NULL, LIST(F(1, 2)), WRT(0), LIST(F(4, 4)));
}

BODY(no_rule)
{
	hop_value y = HOP_NONE;
	hop_kernel(t, "pure", 1, in, 0, NULL, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}

PITFALL(416, "the gradient of a kernel without a rule is refused, not zero")
{
	hop_spec s = hop_spec1(HOP_f64, 2);
	hop_fn *f, *g;
	kernel("pure", twice, false, ARGS({ "x", INOUT, HOP_f64, 1, NULL }));
	ok(hop_capture(ctx, no_rule, NULL, 1, &s, &f));
	must(hop_grad(f, 1, (int[]){ 0 }, &g) == HOP_ENODIFF);
	must(strstr(hop_message(ctx), "`pure` has no gradient"));
	hop_fn_release(f);
}

/* ---- engines ---- */

static int asked, ran;

static hop_status prepare(const hop_engine_region *r, void **out_handle)
{
	asked++;
	*out_handle = hop_fn_retain(r->fn);
	return HOP_OK;
}

static hop_status run(void *handle, const hop_host_call *c)
{
	hop_array *in[8], *out[8];
	ran++;
	for (int i = 0; i < c->nin; i++)
		ok(hop_array_new(ctx, c->in[i].dtype, c->in[i].rank, c->in[i].dim, c->in[i].data, &in[i]));
	ok(hop_call_with(handle, c->nin, in, c->nout, out, HOP_RUN_OPTS(.interpret = true)));
	for (int i = 0; i < c->nout; i++) {
		for (int k = 0; k < c->nin; k++)
			must(c->out[i].data != c->in[k].data);
		memcpy(c->out[i].data, hop_array_data(out[i]), (size_t)hop_array_count(out[i]) * sizeof(double));
		hop_array_release(out[i]);
	}
	for (int i = 0; i < c->nin; i++)
		hop_array_release(in[i]);
	return HOP_OK;
}

static void let_go(void *handle)
{
	hop_fn_release(handle);
}

static bool no_exp(void *user, const char *op, int nin, const hop_engine_type *in, int nout,
                   const hop_engine_type *out)
{
	return strcmp(op, "exp") != 0;
}

static void engine(void)
{
	ok(hop_engine_add(ctx, HOP_ENGINE(.name = "other", .prepare = prepare, .run = run,
	                                  .free = let_go, .supports = no_exp)));
}

BODY(region)
{
	hop_value y = in[0];
	HOP_REGION_WITH(t, "part", HOP_REGION_OPTS(.to = user), y)
		y = hop_mul(t, hop_sin(t, y), y);
	hop_return(t, hop_sum_all(t, y));
}

PITFALL(417, "the types of a region are known, and it is interpreted, without its engine")
{
	hop_spec s = hop_spec_sym(hop_spec1(HOP_f64, 2), 0, "n", 1, 9), got;
	hop_array *x = array_of((tensor[]){ F(1, 2) }), *y;
	hop_fn *f;
	engine();
	ok(hop_capture(ctx, region, "other", 1, &s, &f));
	must(hop_fn_out_type(f, 0, &got) && got.dtype == HOP_f64 && got.rank == 0);
	ok(hop_call_with(f, 1, &x, 1, &y, HOP_RUN_OPTS(.interpret = true)));
	must(fabs(hop_array_at(y, 0) - (sin(1) + 2 * sin(2))) < 1e-12 && !asked && !ran);
	hop_array_release(x);
	hop_array_release(y);
	hop_fn_release(f);
}

PITFALL(418, "a region for an engine is written down, read again, and still for it")
{
	hop_spec s = hop_spec1(HOP_f64, 2);
	hop_array *x = array_of((tensor[]){ F(1, 2) }), *y;
	hop_fn *f, *g;
	engine();
	ok(hop_capture(ctx, region, "other", 1, &s, &f));
	const char *text = hop_fn_text(f);
	must(strstr(text, "to = \"other\""));
	ok(hop_fn_parse(ctx, text, strlen(text), NULL, &g));
	ok(hop_call(g, 1, &x, 1, &y));
	must(fabs(hop_array_at(y, 0) - (sin(1) + 2 * sin(2))) < 1e-12 && asked == 1 && ran == 1);
	hop_array_release(x);
	hop_array_release(y);
	hop_fn_release(f);
	hop_fn_release(g);
}

PITFALL(419, "an engine that nobody knows, by name, with those that are known")
{
	hop_spec s = hop_spec1(HOP_f64, 2);
	hop_exec *x;
	hop_fn *f;
	engine();
	ok(hop_capture(ctx, region, "npu", 1, &s, &f));
	must(hop_compile(f, NULL, &x) == HOP_EVALUE);
	must(strstr(hop_message(ctx), "region: engine `npu` is not known to this context, which knows "
	            "`other`: "
	            "hop_engine_add makes one known"));
	hop_fn_release(f);
}

BODY(passes)
{
	hop_value y[3] = { in[0], in[0], in[0] };
	HOP_REGION_WITH(t, "part", HOP_REGION_OPTS(.to = "other"), y[0], y[1], y[2]) {
		y[1] = y[0];
		y[2] = hop_mulf(t, y[0], 2);
	}
	hop_return(t, y[0], y[1], y[2]);
}

PITFALL(420, "an engine's region gives its input, one value twice, and none of it is shared")
{
	engine();
	gives(passes, NULL, LIST(F(1, 2)), LIST(F(1, 2), F(1, 2), F(2, 4)));
}

PITFALL(421, "the derivative of a region for an engine is for it too")
{
	engine();
	slopes(region, "other", LIST(F(0.5, 1, 2)), WRT(0));
	must(asked >= 2 && ran >= 2);
	slopes2(region, "other", LIST(F(0.5, 1, 2)), WRT(0));
	lanes(region, "other", LIST(F2(2, 2, 1, 2, 3, 4)), AXES(0));
}

/* exp is between: a region around it would wait for itself. */
BODY(around)
{
	hop_value a = hop_sin(t, in[0]), b = hop_exp(t, a), c = hop_add(t, a, b);
	hop_value d = hop_exp(t, in[0]), e = hop_mul(t, hop_add(t, c, d), a);
	hop_return(t, hop_sum_all(t, hop_mul(t, e, hop_exp(t, hop_mulf(t, c, 0.25)))));
}

PITFALL(422, "regions by what an engine supports are large, and never wait for themselves")
{
	hop_spec s = hop_spec1(HOP_f64, 2);
	double x[] = { 0.5, 1 }, y, want = 0;
	hop_arg in = { .data = x }, out = { .data = &y };
	_Alignas(64) char room[4096];
	hop_exec *e;
	hop_fn *f;
	engine();
	ok(hop_capture(ctx, around, NULL, 1, &s, &f));
	ok(hop_compile(f, HOP_COMPILE_OPTS(.delegate = "other"), &e));
	must(hop_exec_workspace(e, &in) <= (int64_t)sizeof room);
	ok(hop_run(e, &in, &out, room));
	for (int i = 0; i < 2; i++) {
		double a = sin(x[i]), c = a + exp(a);
		want += (c + exp(x[i])) * a * exp(0.25 * c);
	}
	must(fabs(y - want) < 1e-12 && asked == 3 && ran == 3);
	hop_exec_release(e);
	hop_fn_release(f);
}
