/* anderson.c -- fixed points by Anderson's iteration (1965): the next x is the mixture of the last
 * few values of the function whose residuals, mixed the same way, are smallest. */
#include "trace/solver.h"

struct anderson {
	hop_solver s;
	int        m;                    /* how many are remembered */
	hop_value  tol;
};

enum { X, G, R, COUNT, FOUND, NCARRY };    /* G, R: values and residuals, a row each, oldest goes */

static struct anderson here(hop_trace *t, const void *user)
{
	struct anderson a = *(const struct anderson *)user;
	a.s.t = t;
	return a;
}

static void test(hop_trace *t, const hop_value *in, void *user)
{
	struct anderson a = here(t, user);
	hop_value found = in[FOUND], x = in[X];
	hop_value go = HOP_SE(&a.s, "!found && all(x - x == 0)", found, x);
	hop_at_return_n(t, a.s.file, a.s.line, 1, &go);
}

static hop_value put_row(const hop_solver *s, hop_value x, hop_value row, hop_value i)
{
	hop_value u = HOP_SE(s, "unsqueeze(row, 0)", row);
	hop_value at[2] = { i, hop_solver_whole(s, 0) };
	return hop_at_dynupdate(s->t, s->file, s->line, x, u, at);
}

/* f(x), and what follows from it and those before. residual r: x is a fixed point where f(x) - x,
 * which fn.f gives with the other sign, is zero. */
static void step(hop_trace *t, const hop_value *in, void *user)
{
	struct anderson a = here(t, user);
	hop_solver *s = &a.s;
	hop_value x = in[X], count = in[COUNT], tol = a.tol, m = hop_solver_whole(s, a.m);
	hop_value f = hop_solver_call(s, s->fn.f, x, NULL);
	hop_value fx = HOP_SE(s, "x - f", x, f), at = HOP_SE(s, "count % m", count, m);
	hop_value g = put_row(s, in[G], fx, at), r = put_row(s, in[R], f, at);
	/* weights w, of sum 1, that make |w r| least: (r r^T) w = 1 up to a factor; unused rows
	 * have residual 0, and no weight */
	hop_value less = hop_solver_number(s, s->dtype == HOP_f64 ? 1e-14 : 1e-6);
	hop_value row = hop_at_arange(s->t, s->file, s->line, HOP_i64, hop_n(a.m));
	hop_value one = hop_at_cast(s->t, s->file, s->line, HOP_SE(s, "row <= count", row, count),
	                            s->dtype);
	hop_value rr = HOP_SE(s, "r @ transpose(r)", r);
	hop_value e = HOP_SE(s, "diag(0 * one + less * diag_sum(rr))", one, less, rr);
	hop_value w = HOP_SE(s, "solve(rr + e, one)", rr, e, one);
	hop_value mixed = HOP_SE(s, "w @ g / sum(w)", w, g);
	hop_value found = HOP_SE(s, "norm(f) <= tol * (1 + norm(fx))", f, tol, fx);
	hop_value plain = HOP_SE(s, "found || !all(mixed - mixed == 0)", found, mixed);
	hop_value out[NCARRY] = { HOP_SE(s, "plain ? fx : mixed", plain, fx, mixed), g, r,
	                          HOP_SE(s, "count + 1", count), found };
	hop_at_return_n(t, s->file, s->line, NCARRY, out);
}

hop_solution hop_solver_anderson(const hop_solver *s, hop_value x)
{
	struct anderson a = { .s = *s, .m = s->memory };
	hop_dim dim[2] = { hop_n(a.m), { s->total.k, s->total.e } };
	hop_value zero = hop_at_full(s->t, s->file, s->line, s->dtype, 2, dim, 0);
	a.tol = hop_solver_number(s, s->tolerance);
	hop_value c[NCARRY] = { x, zero, zero, hop_solver_whole(s, 0),
	                        hop_at_scalar(s->t, s->file, s->line, HOP_bool, 0) };
	hop_solver_loop(s, test, step, &a, NCARRY, c, s->steps);
	return (hop_solution){ c[X], hop_solver_info(s, c[FOUND], c[COUNT]) };
}
