/* newton.c -- roots by Newton's method with backtracking, and minima by the same with the steps of
 * conjugate gradients (Steihaug 1983). Both end when a whole step would hardly move x: that is the
 * error of x, in units of x, whatever the residual is measured in. */
#include "trace/solver.h"

/* One solver at work; one step's direction. */
struct newton {
	hop_solver s;
	bool       minimum;
	hop_value  x, d, f, loss, slope;     /* f: the residual at x, or the gradient */
	hop_value  close;                    /* d hardly moves x */
	hop_value  tol;
};

static struct newton here(hop_trace *t, const void *user)
{
	struct newton n = *(const struct newton *)user;
	n.s.t = t;
	return n;
}

/* ---- backtracking: the step is halved until it gains enough ---- */

enum { A, NX, NF, NLOSS, GAIN, NTRY };

/* At x + a d. Of a root the residual must fall; of a minimum the loss, as far as numbers tell,
 * where the gradient decides. */
static void trial(struct newton *n, hop_value a, hop_value *out)
{
	hop_solver *s = &n->s;
	hop_value x = n->x, d = n->d, f = n->f, loss = n->loss, slope = n->slope;
	hop_value x2 = HOP_SE(s, "x + a * d", x, a, d);
	hop_value f2 = hop_solver_call(s, s->fn.f, x2, NULL), loss2 = loss;
	hop_value gain = HOP_SE(s, "norm(f2) < (1 - 1e-4 * a) * norm(f)", f2, a, f);
	if (n->minimum) {
		hop_value eps = hop_solver_number(s, s->dtype == HOP_f64 ? 1e-14 : 1e-6);
		loss2 = hop_solver_call(s, s->fn.loss, x2, NULL);
		hop_value falls = HOP_SE(s, "loss2 < loss + 1e-4 * a * slope", loss2, loss, a, slope);
		hop_value same = HOP_SE(s, "abs(loss2 - loss) <= eps * abs(loss)", loss2, loss, eps);
		gain = HOP_SE(s, "falls || same && gain", falls, same, gain);
	}
	hop_value all[NTRY] = { a, x2, f2, loss2, gain };
	for (int i = 0; i < NTRY; i++)
		out[i] = all[i];
}

static void try_test(hop_trace *t, const hop_value *in, void *user)
{
	struct newton n = here(t, user);
	hop_value gain = in[GAIN], close = n.close, go = HOP_SE(&n.s, "!gain && !close", gain, close);
	hop_at_return_n(t, n.s.file, n.s.line, 1, &go);
}

static void try_half(hop_trace *t, const hop_value *in, void *user)
{
	struct newton n = here(t, user);
	hop_value out[NTRY], a = in[A];
	trial(&n, HOP_SE(&n.s, "0.5 * a", a), out);
	hop_at_return_n(t, n.s.file, n.s.line, NTRY, out);
}

/* ---- steps ---- */

enum { X, F, LOSS, COUNT, FOUND, STUCK, NSTEP };

static void step_test(hop_trace *t, const hop_value *in, void *user)
{
	struct newton n = here(t, user);
	hop_value found = in[FOUND], stuck = in[STUCK];
	hop_value go = HOP_SE(&n.s, "!found && !stuck", found, stuck);
	hop_at_return_n(t, n.s.file, n.s.line, 1, &go);
}

/* Where to: the solution of J d = -f, or what some conjugate gradients make of it, fewer the
 * farther the minimum is. */
static hop_value direction(struct newton *n)
{
	hop_solver *s = &n->s;
	hop_linop a = { .g = s->fn.along, .x = n->x, .at_x = true };
	hop_value f = n->f, b = HOP_SE(s, "-f", f);
	if (!n->minimum)
		return hop_solver_linear(s, &a, b).x;
	return hop_solver_some_cg(s, &a, b, HOP_SE(s, "min(0.1, sqrt(norm(f)))", f));
}

static void step(hop_trace *t, const hop_value *in, void *user)
{
	struct newton n = here(t, user);
	hop_solver *s = &n.s;
	hop_value c[NTRY], count = in[COUNT], tol = n.tol;
	hop_value x = n.x = in[X], f = n.f = in[F], loss = n.loss = in[LOSS];
	hop_value d = n.d = direction(&n);
	hop_value close = n.close = HOP_SE(s, "norm(d) <= tol * (1 + norm(x))", d, tol, x);
	n.slope = HOP_SE(s, "f @ d", f, d);
	trial(&n, hop_solver_number(s, 1), c);
	hop_solver_loop(s, try_test, try_half, &n, NTRY, c, 30);
	hop_value gain = c[GAIN], x2 = c[NX], f2 = c[NF], loss2 = c[NLOSS];
	hop_value out[NSTEP] = { HOP_SE(s, "gain ? x2 : x", gain, x2, x),
	                         HOP_SE(s, "gain ? f2 : f", gain, f2, f),
	                         HOP_SE(s, "gain ? loss2 : loss", gain, loss2, loss),
	                         HOP_SE(s, "count + 1", count),
	                         HOP_SE(s, "close || gain && all(f2 == 0)", close, gain, f2),
	                         HOP_SE(s, "!gain", gain) };
	hop_at_return_n(t, s->file, s->line, NSTEP, out);
}

static hop_solution run(const hop_solver *s, hop_value x, bool minimum)
{
	struct newton n = { .s = *s, .minimum = minimum };
	hop_value f = hop_solver_call(s, s->fn.f, x, NULL);
	n.tol = hop_solver_number(s, s->tolerance);
	hop_value c[NSTEP] = { x, f, minimum ? hop_solver_call(s, s->fn.loss, x, NULL)
	                                     : hop_solver_number(s, 0),
	                       hop_solver_whole(s, 0), HOP_SE(s, "all(f == 0)", f),
	                       HOP_SE(s, "!all(f - f == 0)", f) };
	hop_solver_loop(s, step_test, step, &n, NSTEP, c, s->steps);
	return (hop_solution){ c[X], hop_solver_info(s, c[FOUND], c[COUNT]) };
}

hop_solution hop_solver_newton(const hop_solver *s, hop_value x)
{
	return run(s, x, false);
}

hop_solution hop_solver_minimize(const hop_solver *s, hop_value x)
{
	return run(s, x, true);
}
