/* users.c -- what users of loops and branches ask for most, in the order in which they ask: bounded
 * memory, early exits, decisions without the host, messages, batches of everything, second
 * derivatives, export. What single operators refuse is in their files. */
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* ---- a while that is trained ---- */

struct how { int bound, slots; };

BODY(halved)                                           /* x, least: a while of data-dependent length */
{
	const struct how *o = user;
	hop_value x = in[0], n;
	HOP_WHILE(t, hop_gt(t, hop_sum_all(t, x), in[1]), x) {
		hop_trips(t, &n);
		if (o->bound)
			hop_bound(t, o->bound);
		if (o->slots)
			hop_slots(t, o->slots);
		x = hop_mul(t, x, hop_sin(t, hop_addf(t, hop_mulf(t, x, 0.1), 0.5)));
	}
	hop_return(t, hop_sum_all(t, hop_mul(t, x, x)), n);
}

PITFALL(150, "a while is trained unbounded, bounded, and in bounded memory, with one result")
{
	struct how o[3] = { { 0, 0 }, { 100, 0 }, { 0, 3 } };
	double x = 5, trips = 0;
	for (; x > 0.1; trips++)
		x *= sin(0.1 * x + 0.5);
	must(trips > 3);
	for (int m = 0; m < 3; m++) {
		gives(halved, &o[m], LIST(F(5), F0(0.1)), LIST(F0(x * x), I0(trips)));
		slopes(halved, &o[m], LIST(F(5), F0(0.1)), WRT(0));
		slopes(halved, &o[m], LIST(F(0.05), F0(0.1)), WRT(0));       /* no trips */
		slopes2(halved, &o[m], LIST(F(5), F0(0.1)), WRT(0));
		lanes(halved, &o[m], LIST(F2(3, 1, 5, 0.01, 2), F(0.1, 0.1, 0.5)), AXES(0, 0));
	}
}

BODY(step_fwd)
{
	hop_return(t, hop_mulf(t, in[0], 0.5));
}
BODY(step_bwd)
{
	hop_print(t, "back", 0, NULL);
	hop_return(t, hop_mulf(t, in[0], 0.5));
}
BODY(bounded)                                          /* x: 3 trips of at most 100000 */
{
	static const hop_custom_rule rule = { .size = sizeof rule, .fwd = step_fwd, .bwd = step_bwd };
	hop_value x = in[0];
	HOP_WHILE(t, hop_gt(t, x, hop_f(t, 1)), x) {
		hop_bound(t, 100000);
		hop_custom(t, &rule, NULL, 1, &x, 1, &x);
	}
	hop_return(t, x);
}
BODY(bounded_back)
{
	hop_value out[2];
	hop_grad_at(t, bounded, NULL, 1, in, WRT(0), 2, out);
	hop_return(t, out[1]);
}

PITFALL(151, "the way back of a bounded while takes the trips that were run, not the bound")
{
	prints(bounded_back, NULL, LIST(F0(6)), "back\nback\nback\n");
	prints(bounded_back, NULL, LIST(F0(0.5)), "");
}

/* ---- the memory of scans ---- */

struct seen { hop_scan_opts opts; int bodies; };

BODY(seen_step)
{
	struct seen *s = user;
	s->bodies++;
	hop_return(t, hop_sin(t, hop_add(t, in[0], in[1])), in[0]);
}
BODY(seen_scan)                                        /* xs */
{
	struct seen *s = user;
	hop_value h = hop_scalar(t, HOP_f64, 0), out[2];
	s->bodies = 0;
	hop_scan(t, seen_step, s, 1, &h, 1, in, &s->opts, 2, out, NULL);
	hop_return(t, hop_add(t, out[0], hop_sum_all(t, out[1])));
}

PITFALL(152, "checkpoints do not run the user's body again when it is captured")
{
	static const struct { int every, slots, unroll; } mode[] = {
		{ 0, 0, 0 }, { 4, 0, 0 }, { -1, 0, 0 }, { 0, 5, 0 }, { 0, 0, 4 }
	};
	struct seen s = { .opts = { .size = sizeof s.opts } };
	double v[1000];
	for (int i = 0; i < 1000; i++)
		v[i] = 0.001 * i;
	for (int m = 0; m < 5; m++) {
		s.opts.every = mode[m].every;
		s.opts.slots = mode[m].slots;
		s.opts.unroll = mode[m].unroll;
		for (int n = 10; n <= 1000; n *= 100) {
			tensor xs = tensor_of(HOP_f64, 1, n, 0, 0, v);
			int grad = times("= sin ", TRAINED, seen_scan, &s, 1, &xs);
			must(s.bodies == 1 && grad > 0);
		}
	}
}

/* ---- early exit ---- */

BODY(until)                                            /* xs: running sums, up to the first above 4 */
{
	hop_value h = hop_scalar(t, HOP_f64, 0), hs, n;
	HOP_FOR(t, i, hop_dim_of(t, in[0], 0), h) {
		h = hop_add(t, h, hop_take(t, in[0], i));
		hop_stack(t, &hs, hop_mul(t, h, h));
		hop_trips(t, &n);
		hop_stop_if(t, hop_gt(t, h, hop_f(t, 4)));
	}
	hop_return(t, hop_sum_all(t, hs), hs, h, n);
}

PITFALL(153, "a scan ends early, and says when")
{
	gives(until, NULL, LIST(F(1, 2, 3, 4, 5)), LIST(F0(46), F(1, 9, 36, 0, 0), F0(6), I0(3)));
	gradient(until, NULL, LIST(F(1, 2, 3, 4, 5)), WRT(0), LIST(F(20, 18, 12, 0, 0)));
	gives(until, NULL, LIST(F(1, 1)), LIST(F0(5), F(1, 4), F0(2), I0(2)));
	slopes2(until, NULL, LIST(F(1, 2, 3, 4, 5)), WRT(0));
	lanes(until, NULL, LIST(F2(2, 3, 1, 2, 3, 5, 6, 7)), AXES(0));
}

/* ---- decisions without the host ---- */

static long allocations;

static void *counted(void *user, void *p, size_t old, size_t n)
{
	if (n)
		allocations++;
	else
		free(p);
	return n ? realloc(p, n) : NULL;
}

BODY(decides)                                          /* x: Collatz's way to 1, with branches */
{
	hop_value x = in[0], n;
	HOP_WHILE(t, hop_gt(t, x, hop_i(t, 1)), x) {
		hop_trips(t, &n);
		HOP_IF(t, hop_eq(t, hop_rem(t, x, hop_i(t, 2)), hop_i(t, 0)), x)
			x = hop_idiv(t, x, hop_i(t, 2));
		else
			x = hop_add(t, hop_mul(t, x, hop_i(t, 3)), hop_i(t, 1));
	}
	hop_return(t, n);
}

PITFALL(154, "loops and branches decide inside of one compiled call, which allocates nothing")
{
	hop_ctx *c;
	hop_fn *f;
	hop_exec *x;
	hop_spec s = hop_spec0(HOP_i64);
	must(hop_ctx_new(HOP_CTX_OPTS(.alloc = counted, .threads = 1), &c) == HOP_OK);
	must(hop_capture(c, decides, NULL, 1, &s, &f) == HOP_OK);
	must(hop_compile(f, NULL, &x) == HOP_OK);
	must(hop_exec_is_hard(x));
	static const int64_t start[4] = { 1, 6, 7, 27 }, want[4] = { 0, 8, 16, 111 };
	for (int i = 0; i < 4; i++) {
		int64_t from = start[i], trips = -1;
		hop_arg in = { .data = &from }, out = { .data = &trips };
		void *work = aligned_alloc(64, (size_t)(hop_exec_workspace(x, &in) / 64 + 1) * 64);
		long before = allocations;
		must(work && hop_run(x, &in, &out, work) == HOP_OK);
		must(allocations == before && trips == want[i]);
		free(work);
	}
	hop_exec_release(x);
	hop_fn_release(f);
	hop_ctx_free(c);
}

/* ---- inputs as results ---- */

BODY(either)                                           /* x, y, p: one returns x, the other writes y */
{
	hop_value y = hop_clone(t, in[1]), z = in[0];
	HOP_IF(t, in[2], z)
		z = in[0];
	else {
		hop_mul_(t, y, hop_f(t, 2));
		z = y;
	}
	hop_add_(t, y, hop_f(t, 100));                       /* which z does not see */
	hop_return(t, hop_sum_all(t, z), z, y);
}

PITFALL(155, "one branch is the identity, the other returns what it wrote")
{
	gives(either, NULL, LIST(F(1, 2), F(3, 4), B0(1)), LIST(F0(3), F(1, 2), F(103, 104)));
	gives(either, NULL, LIST(F(1, 2), F(3, 4), B0(0)), LIST(F0(14), F(6, 8), F(106, 108)));
	gradient(either, NULL, LIST(F(1, 2), F(3, 4), B0(0)), WRT(0, 1), LIST(F(0, 0), F(2, 2)));
}

/* ---- sizes ---- */

BODY(head)                                             /* x -> its first two */
{
	hop_return(t, hop_narrow(t, in[0], 0, 0, 2));
}
BODY(all_of) { hop_return(t, hop_mulf(t, in[0], 2)); }
BODY(ragged)                                           /* x, p -> padded, count */
{
	hop_value out[2];
	hop_cond_sized(t, in[1], head, all_of, NULL, 1, in, 2, out);
	hop_return(t, hop_sum_all(t, out[0]), out[0], out[1]);
}

PITFALL(156, "lanes of a batch have results of different sizes")
{
	lanes(ragged, NULL, LIST(F2(2, 3, 1, 2, 3, 4, 5, 6), B(1, 0)), AXES(0, 0));
	gives(ragged, NULL, LIST(F(1, 2, 3), B0(1)), LIST(F0(3), F(1, 2, 0), I0(2)));
	slopes(ragged, NULL, LIST(F(1, 2, 3), B0(0)), WRT(0));
}

BODY(found)                                            /* x, p: nonzero in one branch */
{
	hop_value y = in[0], n = hop_scalar(t, HOP_i64, 0);
	HOP_IF(t, in[1], y, n) {
		hop_value out[2];
		hop_masked_select(t, in[0], hop_gt(t, in[0], hop_f(t, 0)), NULL, out);
		y = hop_mul(t, out[0], out[0]);
		n = out[1];
	}
	hop_return(t, hop_sum_all(t, y), y, n);
}

PITFALL(186, "how many there are is data, in a branch, in lanes and under a gradient")
{
	gives(found, NULL, LIST(F(1, -2, 3), B0(1)), LIST(F0(10), F(1, 9, 0), I0(2)));
	gives(found, NULL, LIST(F(1, -2, 3), B0(0)), LIST(F0(2), F(1, -2, 3), I0(0)));
	gradient(found, NULL, LIST(F(1, -2, 3), B0(1)), WRT(0), LIST(F(2, 0, 6)));
	lanes(found, NULL, LIST(F2(2, 3, 1, -2, 3, -1, -1, 4), B(1, 1)), AXES(0, 0));
	lanes(found, NULL, LIST(F2(2, 3, 1, -2, 3, -1, -1, 4), B(1, 0)), AXES(0, 0));
}

/* ---- messages ---- */

BODY(narrower)                                         /* a variable that changes its dtype */
{
	hop_value sum = hop_scalar(t, HOP_f32, 0);
	HOP_FOR(t, i, hop_dim_of(t, in[0], 0), sum)
		sum = hop_add(t, sum, hop_take(t, in[0], i));
	hop_return(t, sum);
}
BODY(longer)
{
	hop_value xs = in[0], i = hop_scalar(t, HOP_i64, 0);
	HOP_WHILE(t, hop_lt(t, i, hop_i(t, 3)), xs, i) {
		xs = hop_concat(t, 2, (hop_value[]){ xs, xs }, 0);
		i = hop_add(t, i, hop_i(t, 1));
	}
	hop_return(t, xs);
}

PITFALL(157, "a carry that changes is named, with both types and what to do, of no steps too")
{
	static const char *const message = "scan: sum is f32 when a step begins, f64 when it ends: "
	                                   "cast it, or start with that dtype";
	refuses(narrower, NULL, LIST(F(1, 2)), HOP_ETYPE, message);
	refuses(narrower, NULL, LIST(EMPTY(HOP_f64)), HOP_ETYPE, message);
	refuses(longer, NULL, LIST(F(1, 2)), HOP_ESHAPE,
	        "while: xs is f64[2] when a step begins, f64[4] when it ends: a carry keeps its "
	        "sizes: give it a capacity, and carry a count");
}

/* ---- looking inside ---- */

BODY(watched)                                          /* x: what a debugger sees of each trip */
{
	double *seen = user;
	hop_value x = in[0];
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 10)), x) {
		if (hop_is_eager(t)) {
			hop_array *a;
			ok(hop_read(t, x, &a));
			seen[(int)++seen[0]] = hop_array_at(a, 0);
			hop_array_release(a);
		}
		x = hop_mulf(t, x, 2);
	}
	hop_return(t, x);
}

PITFALL(158, "a body runs op by op under a debugger, with the values of each trip")
{
	double seen[8] = { 0 };
	tensor in[1] = { F0(2) };
	hop_array *a = array_of(in), *y;
	ok(hop_eager_call(ctx, watched, seen, 1, &a, 1, &y));
	must(seen[0] == 3 && seen[1] == 2 && seen[2] == 4 && seen[3] == 8);
	must(hop_array_at(y, 0) == 16);
	hop_array_release(a);
	hop_array_release(y);
}

BODY(waited_for)                                       /* x, n: a loop that says how far it is */
{
	hop_value x = in[0], i = hop_scalar(t, HOP_i64, 0);
	HOP_WHILE(t, hop_lt(t, i, in[1]), x, i) {
		x = hop_addf(t, hop_mulf(t, x, 0.5), 1);
		hop_progress(t, i, in[1], "steps");
		i = hop_add(t, i, hop_i(t, 1));
	}
	hop_return(t, x);
}

struct told { int64_t done, total; bool rises; };

static void tell(void *user, const hop_progress_info *p)
{
	struct told *o = user;
	o->rises &= p->done >= o->done && !strcmp(p->text, "steps");
	o->done = p->done;
	o->total = p->total;
}

PITFALL(187, "a loop says how far it is, and costs nothing where nobody asks")
{
	struct told o = { .rises = true };
	tensor in[2] = { F0(0), I0(50) };
	hop_ctx *c;
	hop_fn *f;
	hop_array *a[2], *y;
	gives(waited_for, NULL, 2, in, LIST(F0(2 - ldexp(2, -50))));
	gradient(waited_for, NULL, 2, in, WRT(0), LIST(F0(ldexp(1, -50))));
	must(times("progress", CAPTURED, waited_for, NULL, 2, in) > 0);
	must(times("progress", OPTIMISED, waited_for, NULL, 2, in) == 0);
	must(hop_ctx_new(HOP_CTX_OPTS(.progress = true, .progress_fn = tell, .progress_user = &o), &c) ==
	     HOP_OK);
	hop_spec spec[2] = { hop_spec0(HOP_f64), hop_spec0(HOP_i64) };
	must(hop_capture(c, waited_for, NULL, 2, spec, &f) == HOP_OK);
	for (int interpret = 0; interpret < 2; interpret++) {
		o = (struct told){ .rises = true };
		must(hop_array_new(c, HOP_f64, 0, NULL, in[0].v, &a[0]) == HOP_OK);
		must(hop_array_new(c, HOP_i64, 0, NULL, (int64_t[]){ 50 }, &a[1]) == HOP_OK);
		must(hop_call_with(f, 2, a, 1, &y, HOP_RUN_OPTS(.interpret = interpret)) == HOP_OK);
		must(o.rises && o.done == 50 && o.total == 50);
		must(fabs(hop_array_at(y, 0) - 2) < 1e-12);
		hop_array_release(a[0]);
		hop_array_release(a[1]);
		hop_array_release(y);
	}
	hop_fn_release(f);
	hop_ctx_free(c);
}

/* ---- batches of everything ---- */

BODY(choose)                                           /* x, y */
{
	hop_value z = in[0];
	HOP_IF(t, hop_lt(t, in[0], in[1]), z)
		z = hop_mul(t, in[0], in[1]);
	else
		z = hop_sub(t, in[0], in[1]);
	hop_return(t, z);
}
BODY(all_y)                                            /* x, ys */
{
	hop_value z;
	hop_vmap_at(t, choose, NULL, 2, in, AXES(-1, 0), 1, &z);
	hop_return(t, z);
}
BODY(all_x_y)                                          /* xs, ys */
{
	hop_value z;
	hop_vmap_at(t, all_y, NULL, 2, in, AXES(0, -1), 1, &z);
	hop_return(t, z);
}

PITFALL(159, "batches of batches do not mix their lanes")
{
	gives(all_x_y, NULL, LIST(F(1, 4, 6), F(2, 5)),
	      LIST(F2(3, 2, 2, 5, 2, 20, 4, 1)));
	lanes(all_x_y, NULL, LIST(F2(2, 3, 1, 4, 3, 0, 6, 2), F2(3, 2, 2, 5, 1, 1, 7, 8)), AXES(1, 0));
}

BODY(safe)                                             /* x: log where it has one */
{
	hop_value y = hop_zeros_like(t, in[0]);
	HOP_IF(t, hop_gt(t, in[0], hop_f(t, 0)), y)
		y = HOP_E(t, "log(x) / x", HOP_AS(x, in[0]));
	hop_return(t, y);
}
BODY(safe_sum)
{
	hop_value y;
	hop_vmap_at(t, safe, NULL, 1, in, AXES(0), 1, &y);
	hop_return(t, hop_sum_all(t, y));
}

PITFALL(160, "a lane's NaN in a branch that it does not take reaches no gradient")
{
	gives(safe_sum, NULL, LIST(F(1, 0, -1)), LIST(F0(0)));
	gradient(safe_sum, NULL, LIST(F(1, 0, -1)), WRT(0), LIST(F(1, 0, 0)));
}

BODY(never)                                            /* x: would not end for x <= 0 */
{
	hop_value y = in[0], n;
	HOP_IF(t, hop_gt(t, y, hop_f(t, 0)), y)
		HOP_WHILE(t, hop_lt(t, y, hop_f(t, 8)), y) {
			hop_trips(t, &n);
			y = hop_mulf(t, y, 2);
		}
	hop_return(t, y);
}

PITFALL(161, "a loop in a branch ends although it would not for the lanes of the other branch")
{
	lanes(never, NULL, LIST(F(1, 0, -1, 3)), AXES(0));
}

/* ---- compile time ---- */

BODY(rnn)                                              /* h, w; *user steps */
{
	hop_value h = in[0];
	HOP_FOR(t, i, *(int *)user, h)
		h = hop_tanh(t, hop_matmul(t, in[1], h));
	hop_return(t, hop_sum_all(t, h));
}

PITFALL(162, "ten and ten million steps are the same program")
{
	for (enum stage s = CAPTURED; s <= TRAINED_LOWERED; s++) {
		int lines[2];
		for (int k = 0; k < 2; k++) {
			int steps = k ? 10000000 : 10;
			lines[k] = times("\n", s, rnn, &steps, LIST(F(1, 2), F2(2, 2, 1, 0, 0, 1)));
		}
		must(lines[0] == lines[1]);
	}
}

/* ---- combines of every kind ---- */

BODY(compose)                                          /* a, b -> b @ m @ a, m captured */
{
	hop_value m = *(hop_value *)user;
	hop_return(t, hop_matmul(t, hop_matmul(t, in[1], m), in[0]));
}
BODY(composed)                                         /* xs: matrices; m */
{
	hop_value m = in[1], y;
	hop_associative_scan(t, compose, &m, 1, in, NULL, &y);
	hop_return(t, hop_sum_all(t, hop_mul(t, y, y)), y);
}

PITFALL(163, "an associative scan multiplies matrices, with a captured one between them")
{
	double x[3][2][2] = { { { 1, 2 }, { 0.5, 1 } }, { { 0, 1 }, { 1, -1 } }, { { 2, 0.5 }, { 1, 1 } } };
	double m[2][2] = { { 1, 0.25 }, { -0.5, 1 } }, y[3][2][2], sum = 0, u[2][2];
	memcpy(y, x, sizeof y);
	for (int k = 1; k < 3; k++)
		for (int i = 0; i < 4; i++) {
			int r = i / 2, c = i % 2;
			for (int j = 0; j < 2; j++)
				u[r][j] = x[k][r][0] * m[0][j] + x[k][r][1] * m[1][j];
			y[k][r][c] = u[r][0] * y[k - 1][0][c] + u[r][1] * y[k - 1][1][c];
		}
	for (int i = 0; i < 12; i++)
		sum += (&y[0][0][0])[i] * (&y[0][0][0])[i];
	tensor in[2] = { tensor_of(HOP_f64, 3, 3, 2, 2, &x[0][0][0]),
		             tensor_of(HOP_f64, 2, 2, 2, 0, &m[0][0]) };
	tensor want = tensor_of(HOP_f64, 3, 3, 2, 2, &y[0][0][0]);
	gives(composed, NULL, 2, in, LIST(F0(sum), want));
	slopes(composed, NULL, 2, in, WRT(0, 1));
	slopes2(composed, NULL, 2, in, WRT(0, 1));
}

/* ---- second derivatives ---- */

BODY(power)                                            /* x: x^6 by a loop */
{
	hop_value y = in[0];
	HOP_FOR(t, i, 5, y)
		y = hop_mul(t, y, in[0]);
	hop_return(t, y);
}
BODY(once)                                             /* x, dx */
{
	hop_value out[2];
	hop_jvp_at(t, power, NULL, 1, in, WRT(0), in + 1, 2, out);
	hop_return(t, out[1]);
}
BODY(twice)                                            /* x, dx: forwards over forwards */
{
	hop_value out[2];
	hop_jvp_at(t, once, NULL, 2, in, WRT(0), in + 1, 2, out);
	hop_return(t, out[1]);
}
BODY(thrice)
{
	hop_value out[2];
	hop_jvp_at(t, twice, NULL, 2, in, WRT(0), in + 1, 2, out);
	hop_return(t, out[1]);
}
BODY(slope)
{
	hop_value out[2];
	hop_grad_at(t, power, NULL, 1, in, WRT(0), 2, out);
	hop_return(t, out[1]);
}
BODY(mixed)                                            /* x, dx: forwards over backwards */
{
	hop_value out[2];
	hop_jvp_at(t, slope, NULL, 1, in, WRT(0), in + 1, 2, out);
	hop_return(t, out[1]);
}

PITFALL(164, "forwards over backwards, backwards over backwards, of a loop")
{
	gives(mixed, NULL, LIST(F0(2), F0(1)), LIST(F0(30 * 16)));
	gradient(slope, NULL, LIST(F0(2)), WRT(0), LIST(F0(30 * 16)));
	gradient(mixed, NULL, LIST(F0(2), F0(1)), WRT(0), LIST(F0(120 * 8)));
	lanes(mixed, NULL, LIST(F(1, 2, 3), F0(1)), AXES(0, -1));
}

PITFALL(165, "forwards over forwards, three levels deep")
{
	gives(once, NULL, LIST(F0(2), F0(1)), LIST(F0(6 * 32)));
	gives(twice, NULL, LIST(F0(2), F0(1)), LIST(F0(30 * 16)));
	gives(thrice, NULL, LIST(F0(2), F0(0.5)), LIST(F0(120 * 8 * 0.125)));
	lanes(twice, NULL, LIST(F(1, 2, 3), F(1, 0.5, 2)), AXES(0, 0));
}

BODY(powers)                                           /* x: (x0^2 x1, x1^3) */
{
	hop_value y = HOP_E(t, "x[0] * x[0] * x[1]", HOP_AS(x, in[0]));
	hop_value z = HOP_E(t, "x[1] ** 3.0", HOP_AS(x, in[0]));
	hop_return(t, hop_stack_n(t, 2, (hop_value[]){ y, z }, 0));
}
BODY(jacobian)
{
	hop_value j;
	hop_jac_at(t, powers, NULL, 1, in, WRT(0), 1, &j);
	hop_return(t, j);
}

PITFALL(166, "a Jacobian is taken of each lane")
{
	gives(jacobian, NULL, LIST(F(2, 3)), LIST(F2(2, 2, 12, 4, 0, 27)));
	lanes(jacobian, NULL, LIST(F2(3, 2, 2, 3, 1, -1, 0.5, 2)), AXES(0));
}

/* ---- export ---- */

BODY(everything)                                       /* xs, x: a loop in a branch in a scan */
{
	hop_value sum = hop_scalar(t, HOP_f64, 0);
	HOP_FOR(t, i, hop_dim_of(t, in[0], 0), sum) {
		hop_value y = hop_take(t, in[0], i);
		HOP_IF(t, hop_gt(t, y, in[1]), y)
			y = hop_sin(t, y);
		else
			HOP_WHILE(t, hop_lt(t, y, in[1]), y)
				y = hop_addf(t, hop_mulf(t, y, 1.5), 0.3);
		sum = hop_add(t, hop_mulf(t, sum, 0.5), y);
	}
	hop_return(t, sum);
}

PITFALL(167, "loops and branches survive being written down and read, and are trained then")
{
	tensor in[2] = { UNKNOWN(F(0.5, 3, 0.1, 7), "n"), F0(2) };
	hop_fn *f = captured(everything, NULL, 2, in), *g, *back, *gb;
	int wrt[2] = { 0, 1 };
	hop_array *a[2] = { array_of(&in[0]), array_of(&in[1]) }, *x[3], *y[3];
	const char *text = hop_fn_text(f);
	ok(hop_grad(f, 2, wrt, &g));
	must(text);
	ok(hop_fn_parse(ctx, text, strlen(text), NULL, &back));
	must(!strcmp(text, hop_fn_text(back)));
	ok(hop_grad(back, 2, wrt, &gb));
	slopes(everything, NULL, 2, in, WRT(0, 1));
	slopes2(everything, NULL, 2, in, WRT(0, 1));
	lanes(everything, NULL, LIST(F2(2, 2, 0.5, 3, 0.1, 7), F(2, 0.3)), AXES(0, 0));
	for (int interpret = 0; interpret < 2; interpret++) {
		hop_run_opts *o = HOP_RUN_OPTS(.interpret = interpret);
		ok(hop_call_with(g, 2, a, 3, x, o));
		ok(hop_call_with(gb, 2, a, 3, y, o));
		for (int k = 0; k < 3; k++) {
			must(hop_array_count(x[k]) == hop_array_count(y[k]));
			for (int64_t i = 0; i < hop_array_count(x[k]); i++)
				must(hop_array_at(x[k], i) == hop_array_at(y[k], i));
			hop_array_release(x[k]);
			hop_array_release(y[k]);
		}
	}
	hop_array_release(a[0]);
	hop_array_release(a[1]);
	hop_fn_release(f);
	hop_fn_release(g);
	hop_fn_release(back);
	hop_fn_release(gb);
}
