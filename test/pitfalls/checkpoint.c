/* checkpoint.c -- what is computed again on the way back instead of kept: the numbers must be the
 * same, random ones above all, and the memory must be what was asked for. Bytes are those that
 * compiled code says it needs; time is never looked at. */
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* ---- a reverse derivative in two functions, under a budget ---- */

enum { SAVED = 32 };

/* Zero like a, but one if it is the loss. */
static hop_array *cotangent(const hop_array *a, bool loss)
{
	double one = 1;
	hop_array *c;
	ok(hop_array_new(ctx, HOP_f64, hop_array_rank(a), hop_array_dims(a), loss ? &one : NULL, &c));
	return c;
}

/* The gradient of the first result for input 0 by hop_split, under a budget, is this one. Returns the
 * number of values that were saved; *out_bytes is what they take. */
static int split_gradient(hop_fn *f, double budget, bool interpret, int nin, const tensor *in,
                          const hop_array *want, int64_t *out_bytes)
{
	hop_fn *fwd, *bwd;
	hop_array *a[MAXLIST + 2 * SAVED], *out[SAVED], *back;
	hop_run_opts *o = HOP_RUN_OPTS(.interpret = interpret);
	int wrt = 0, nres = hop_fn_nout(f), n, m;
	ok(hop_split(f, 1, &wrt, budget, &fwd, &bwd));
	n = hop_fn_nout(fwd);
	must(n <= SAVED);
	for (int i = 0; i < nin; i++)
		a[i] = array_of(&in[i]);
	ok(hop_call_with(fwd, nin, a, n, out, o));
	*out_bytes = 0;
	m = nin + n;
	for (int i = 0; i < n; i++) {
		a[nin + i] = out[i];
		if (i >= nres)
			*out_bytes += hop_array_count(out[i]) * (hop_array_dtype(out[i]) == HOP_bool ? 1 : 8);
		else if (hop_array_dtype(out[i]) == HOP_f64)
			a[m++] = cotangent(out[i], i == 0);
	}
	must(hop_fn_nin(bwd) == m);
	ok(hop_call_with(bwd, m, a, 1, &back, o));
	must(hop_array_count(back) == hop_array_count(want));
	for (int64_t i = 0; i < hop_array_count(want); i++) {
		double x = hop_array_at(back, i), y = hop_array_at(want, i);
		if (!(fabs(x - y) <= 1e-10 * (1 + fabs(y))))
			fail("budget %g: element %d is %.17g, not %.17g", budget, (int)i, x, y);
	}
	for (int i = 0; i < m; i++)
		hop_array_release(a[i]);
	hop_array_release(back);
	hop_fn_release(fwd);
	hop_fn_release(bwd);
	return n - nres;
}

/* Under every budget it is what hop_grad gives, and that is what differences give. */
static void budgets(hop_body *body, void *user, int nin, const tensor *in)
{
	hop_fn *f = captured(body, user, nin, in), *g;
	hop_array *a[MAXLIST], *y[MAXLIST];
	int wrt = 0, n = hop_fn_nout(f) + 1;
	int64_t bytes;
	slopes(body, user, nin, in, WRT(0));
	ok(hop_grad(f, 1, &wrt, &g));
	for (int i = 0; i < nin; i++)
		a[i] = array_of(&in[i]);
	ok(hop_call_with(g, nin, a, n, y, HOP_RUN_OPTS(.interpret = true)));
	for (int k = 0; k < 10; k++)
		split_gradient(f, k / 2 / 4.0, k % 2, nin, in, y[n - 1], &bytes);
	for (int i = 0; i < nin; i++)
		hop_array_release(a[i]);
	for (int i = 0; i < n; i++)
		hop_array_release(y[i]);
	hop_fn_release(f);
	hop_fn_release(g);
}

BODY(dropped)                                          /* x, key: half of it, at random, twice */
{
	hop_value h = in[0];
	for (int i = 0; i < 2; i++) {
		hop_value key = hop_fold_in(t, in[1], hop_i(t, i));
		hop_value keep = hop_lt(t, hop_uniform(t, key, HOP_f64, 1, (hop_dim[]){ hop_n(8) }),
		                        hop_f(t, 0.5));
		h = hop_exp(t, hop_sin(t, hop_mulf(t, hop_select(t, keep, h, hop_mulf(t, h, 0.25)), 2)));
	}
	hop_return(t, hop_sum_all(t, h));
}

PITFALL(109, "a random mask is the same when it is drawn again, whatever the budget")
{
	double v[8] = { 1, -1, 0.5, 2, -2, 0.25, 1.5, 3 };
	budgets(dropped, NULL, LIST(tensor_of(HOP_f64, 1, 8, 0, 0, v), I0(42)));
}

BODY(chain)                                            /* x: elementwise, eight times */
{
	hop_value h = in[0];
	for (int i = 0; i < 8; i++)
		h = hop_matmul(t, in[1], hop_tanh(t, h));
	hop_return(t, hop_sum_all(t, h));
}

PITFALL(110, "a smaller budget saves fewer bytes, and none at 0")
{
	const double budget[] = { 0, 0.25, 0.5, 0.75, 1 };
	tensor in[2] = { F(0.5, -1, 2), F2(3, 3, 0.5, 0.1, -0.2, 0.3, 0.7, 0, 0.2, -0.4, 0.6) };
	hop_fn *f = captured(chain, NULL, 2, in);
	double g[3] = { 0 };
	int64_t bytes, before = -1;
	/* one row of ones through the matrices and slopes, from the last to the first */
	double h[9][3], w[3][3], row[3] = { 1, 1, 1 };
	memcpy(w, in[1].v, sizeof w);
	memcpy(h[0], in[0].v, sizeof h[0]);
	for (int k = 0; k < 8; k++)
		for (int i = 0; i < 3; i++) {
			h[k + 1][i] = 0;
			for (int j = 0; j < 3; j++)
				h[k + 1][i] += w[i][j] * tanh(h[k][j]);
		}
	for (int k = 7; k >= 0; k--) {
		for (int j = 0; j < 3; j++) {
			g[j] = 0;
			for (int i = 0; i < 3; i++)
				g[j] += row[i] * w[i][j] * (1 - tanh(h[k][j]) * tanh(h[k][j]));
		}
		memcpy(row, g, sizeof row);
	}
	tensor by_hand = F(g[0], g[1], g[2]);
	hop_array *want = array_of(&by_hand);
	for (int i = 0; i < 5; i++) {
		int saved = split_gradient(f, budget[i], false, 2, in, want, &bytes);
		must(i || (saved == 0 && bytes == 0));
		must(bytes >= before);
		before = bytes;
	}
	must(before >= 7 * 3 * 8);                           /* what each but one of the links needs */
	hop_array_release(want);
	hop_fn_release(f);
}

BODY(twice)                                            /* x: one value returned as two results */
{
	hop_value y = hop_exp(t, hop_sin(t, in[0]));
	hop_return(t, hop_sum_all(t, hop_mul(t, y, y)), y, y);
}

PITFALL(111, "a value is returned twice by what is computed again")
{
	budgets(twice, NULL, LIST(F(0.5, 2)));
}

/* ---- loops ---- */

struct loop { int steps, every, slots; bool nested, random, prints, writes; };

/* x, key: steps of a recurrence, kept as the struct says. */
BODY(loop)
{
	const struct loop *o = user;
	hop_value h = in[0];
	HOP_FOR(t, i, o->steps, h) {
		if (o->every)
			hop_every(t, o->every);
		if (o->slots)
			hop_slots(t, o->slots);
		if (o->prints)
			hop_print(t, "step {}", 1, &i);
		if (o->random) {
			hop_value u = hop_uniform(t, hop_fold_in(t, in[1], i), HOP_f64, 0, NULL);
			h = hop_select(t, hop_lt(t, u, hop_f(t, 0.5)), hop_mulf(t, h, 0.5), h);
		}
		if (o->writes) {
			hop_value buf = hop_clone(t, h);
			hop_mul_(t, hop_narrow(t, buf, 0, 0, 1), hop_f(t, 0.9));
			hop_add_(t, buf, hop_mulf(t, buf, 0.1));
			h = buf;
		}
		if (o->nested)
			HOP_FOR(t, k, 5, h) {
				hop_every(t, 2);
				h = hop_sin(t, hop_mulf(t, h, 1.1));
			}
		h = hop_addf(t, hop_sin(t, hop_mulf(t, h, 1.3)), 0.1);
	}
	hop_return(t, hop_sum_all(t, hop_mul(t, h, h)));
}

BODY(loop_back)
{
	hop_value out[2];
	hop_grad_at(t, loop, user, 2, in, WRT(0), 2, out);
	hop_return(t, out[1]);
}

/* The gradient of a loop in three elements, interpreted, which is the same to the bit in each mode. */
static void bits(const struct loop *o, double g[3])
{
	tensor in[2] = { F(0.3, 1, -0.7), I0(7) };
	hop_fn *f = captured(loop, (void *)(uintptr_t)o, 2, in), *d;
	hop_array *a[2] = { array_of(&in[0]), array_of(&in[1]) }, *y[2];
	int wrt = 0;
	ok(hop_grad(f, 1, &wrt, &d));
	ok(hop_call_with(d, 2, a, 2, y, HOP_RUN_OPTS(.interpret = true)));
	memcpy(g, hop_array_data(y[1]), 3 * sizeof *g);
	for (int i = 0; i < 2; i++) {
		hop_array_release(a[i]);
		hop_array_release(y[i]);
	}
	hop_fn_release(f);
	hop_fn_release(d);
}

/* All, every third, about the root, seven and two slots: one gradient, to the bit. */
static void modes(struct loop o)
{
	static const struct { int every, slots; } mode[] = { { 3, 0 }, { -1, 0 }, { 0, 7 }, { 0, 2 } };
	double plain[3], g[3];
	bits(&o, plain);
	slopes(loop, &o, LIST(F(0.3, 1, -0.7), I0(7)), WRT(0));
	for (int m = 0; m < 4; m++) {
		o.every = mode[m].every;
		o.slots = mode[m].slots;
		bits(&o, g);
		must(!memcmp(plain, g, sizeof g));
		slopes(loop, &o, LIST(F(0.3, 1, -0.7), I0(7)), WRT(0));
		lanes(loop_back, &o, LIST(F2(2, 3, 0.3, 1, -0.7, 1, 2, 3), I(7, 8)), AXES(0, 0));
	}
	slopes2(loop, &o, LIST(F(0.3, 1, -0.7), I0(7)), WRT(0));
}

PITFALL(112, "random numbers inside of a loop come again when its steps are run again")
{
	modes((struct loop){ .steps = 11, .random = true });
}

PITFALL(113, "writes inside of steps that are run again")
{
	modes((struct loop){ .steps = 11, .writes = true });
}

PITFALL(114, "checkpoints inside of checkpoints")
{
	modes((struct loop){ .steps = 6, .nested = true });
}

PITFALL(115, "effects of steps that are run again do not happen again")
{
	struct loop o = { .steps = 5, .prints = true };
	for (int mode = 0; mode < 3; mode++) {
		o.every = mode == 1 ? 2 : 0;
		o.slots = mode == 2 ? 2 : 0;
		prints(loop_back, &o, LIST(F(0.3, 1), I0(7)), "step 0\nstep 1\nstep 2\nstep 3\nstep 4\n");
	}
}

BODY(consecutive)                                      /* x: two loops with checkpoints in a row */
{
	hop_value h = in[0];
	for (int k = 0; k < 2; k++)
		HOP_FOR(t, i, 9, h) {
			hop_every(t, 3);
			h = hop_addf(t, hop_sin(t, h), 0.3);
		}
	hop_return(t, hop_sum_all(t, hop_mul(t, h, h)));
}

PITFALL(116, "what stands between two checkpoints is kept for both")
{
	double x = 0.4, d = 1;
	for (int i = 0; i < 18; i++) {
		d *= cos(x);
		x = sin(x) + 0.3;
	}
	gradient(consecutive, NULL, LIST(F(0.4)), WRT(0), LIST(F(2 * x * d)));
}

/* Bytes that the compiled gradient of so many steps on 1000 numbers works in. */
static int64_t workspace(int steps, int every, int slots)
{
	struct loop o = { .steps = steps, .every = every, .slots = slots };
	tensor in[2] = { tensor_of(HOP_f64, 1, 1000, 0, 0, NULL), I0(7) };
	hop_fn *f = captured(loop, &o, 2, in), *d;
	hop_exec *x;
	int wrt = 0;
	int64_t key = 7;
	ok(hop_grad(f, 1, &wrt, &d));
	ok(hop_compile(d, NULL, &x));
	double *data = calloc(1000, sizeof *data);
	must(data);
	int64_t n = hop_exec_workspace(x, (hop_arg[]){ { .data = data }, { .data = &key } });
	free(data);
	must(n >= 0);
	hop_exec_release(x);
	hop_fn_release(f);
	hop_fn_release(d);
	return n;
}

PITFALL(117, "later passes do not undo checkpoints: the memory is what was asked for")
{
	enum { ROW = 8000 };
	int64_t all = workspace(400, 0, 0), root = workspace(400, -1, 0), ten = workspace(400, 0, 10);
	must(all >= 400 * ROW);                              /* one row a step at least */
	must(root <= 2 * 21 * 2 * ROW && root >= 20 * ROW);  /* about 20 carries, and 20 rows */
	must(ten <= 10 * 4 * ROW);
	must(workspace(4000, 0, 10) <= ten + ROW);           /* however many steps there are */
	must(workspace(4000, 0, 0) >= 9 * all);
}

BODY(of_any_size)
{
	hop_value h = in[0];
	HOP_FOR(t, i, 7, h) {
		hop_every(t, 3);
		h = HOP_E(t, "0.7 * sin(h + 0.2 * sum(h))", h);
	}
	hop_return(t, hop_sum_all(t, h));
}

PITFALL(118, "what is run again for an unknown size is what ran before")
{
	slopes(of_any_size, NULL, LIST(UNKNOWN(F(0.1, 0.2), "n")), WRT(0));
	slopes(of_any_size, NULL, LIST(UNKNOWN(F(0.1, 0.2, -0.3, 0.05, 0.2), "n")), WRT(0));
}

BODY(mixture)                                          /* xs, key: loops, a branch, writes, a region */
{
	hop_value buf = hop_clone(t, hop_zeros_like(t, in[0])), sum = hop_scalar(t, HOP_f64, 0), n;
	HOP_FOR(t, i, hop_dim_of(t, in[0], 0), sum) {
		hop_value y = hop_take(t, in[0], i);
		hop_value u = hop_uniform(t, hop_fold_in(t, in[1], i), HOP_f64, 0, NULL);
		HOP_IF(t, hop_lt(t, u, hop_f(t, 0.5)), y) {
			HOP_REGION(t, "bent", y)
				y = hop_sin(t, hop_mulf(t, y, 1.5));
		} else {
			HOP_WHILE(t, hop_lt(t, hop_abs(t, y), hop_f(t, 2)), y) {
				hop_trips(t, &n);
				y = hop_addf(t, hop_mulf(t, y, 1.3), 0.4);
			}
		}
		hop_index_put_(t, buf, 0, i, hop_mul(t, y, y));
		sum = hop_add(t, hop_mulf(t, sum, 0.5), hop_sum_all(t, hop_mul(t, buf, y)));
	}
	hop_return(t, sum, buf);
}

PITFALL(179, "every budget gives the gradient of loops, branches, regions, writes and random numbers")
{
	struct loop o = { .steps = 7, .random = true, .writes = true, .nested = true };
	budgets(mixture, NULL, LIST(F(0.5, 1.1, -0.4, 0.9, 0.3), I0(3)));
	budgets(mixture, NULL, LIST(UNKNOWN(F(0.5, 1.1, -0.4, 0.9), "n"), I0(4)));
	budgets(loop, &o, LIST(F(0.3, 1, -0.7), I0(7)));
	o.slots = 2;
	budgets(loop, &o, LIST(F(0.3, 1, -0.7), I0(7)));
	budgets(consecutive, NULL, LIST(F(0.4, 1)));
}
