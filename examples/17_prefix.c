/* The filter of 09_kalman.c without going step by step: what a stretch of sights says is an element
 * (A, b, C, e, J), two neighbours make one, and all prefixes of such elements are the filtered
 * states; associative_scan may work on many stretches at once. Särkkä and García-Fernández,
 * "Temporal parallelization of Bayesian smoothers". A point on a line is seen with noise. */
#include "example.h"

enum { SEEN = 200, LEAVES = 5 };

static hop_value two_by_two(hop_trace *t, double a, double b, double c, double d)
{
	return hop_data(t, HOP_f64, 2, ((int64_t[]){ 2, 2 }), ((double[]){ a, b, c, d }));
}

/* F moves a place and a speed, H shows the place; q and r are how much it wanders and how badly it
 * is seen. */
struct line { hop_value F, H, I, Q, r; };

static struct line line_model(hop_trace *t, hop_value p)
{
	struct line m = { .F = two_by_two(t, 1, 0.1, 0, 1), .I = two_by_two(t, 1, 0, 0, 1) };
	hop_value W = two_by_two(t, 0.01, 0, 0, 1);
	m.H = hop_narrow(t, m.I, 0, 0, 1);
	m.Q = HOP_E(t, "exp(p[0]) * W", p, W);
	m.r = HOP_E(t, "exp(p[1])", p);
	return m;
}

static void one_sight(hop_trace *t, const hop_value *in, void *user)
{
	struct line *m = user;
	hop_value F = m->F, H = m->H, Q = m->Q, z = in[0];
	hop_value S = HOP_E(t, "H @ Q @ transpose(H) + r", H, Q, HOP_AS(r, m->r));
	hop_value K = HOP_E(t, "Q @ transpose(H) / S", Q, H, S), G = HOP_E(t, "transpose(H @ F)", H, F);
	hop_value N = HOP_E(t, "I - K @ H", HOP_AS(I, m->I), K, H);

	hop_return(t, HOP_E(t, "N @ F", N, F), HOP_E(t, "K * z", K, z), HOP_E(t, "N @ Q", N, Q),
	           HOP_E(t, "G * z / S", G, z, S), HOP_E(t, "G @ transpose(G) / S", G, S));
}

static void neighbours(hop_trace *t, const hop_value *in, void *user)
{
	hop_value A = in[0], b = in[1], C = in[2], e = in[3], J = in[4];
	hop_value B = in[5], c = in[6], D = in[7], f = in[8], L = in[9];
	hop_value M = HOP_E(t, "I + C @ L", HOP_AS(I, ((struct line *)user)->I), C, L);
	hop_value U = HOP_E(t, "transpose(solve(transpose(M), transpose(B)))", M, B);
	hop_value V = HOP_E(t, "transpose(solve(M, A))", M, A);

	hop_return(t, HOP_E(t, "U @ A", U, A), HOP_E(t, "U @ (b + C @ f) + c", U, b, C, f, c),
	           HOP_E(t, "U @ C @ transpose(B) + D", U, C, B, D),
	           HOP_E(t, "V @ (f - L @ b) + e", V, f, L, b, e), HOP_E(t, "V @ L @ A + J", V, L, A, J));
}

/* The filtered places, and how unlike the sights they are. */
static hop_value by_prefixes(hop_trace *t, hop_value z, hop_value p, hop_value *track)
{
	struct line m = line_model(t, p);
	hop_value none = two_by_two(t, 0, 0, 0, 0), zero = hop_narrow(t, none, 1, 0, 1);
	hop_value init[LEAVES] = { none, zero, m.I, zero, none }, all[LEAVES];

	hop_map(t, one_sight, &m, 1, &z, 0, LEAVES, all);
	hop_associative_scan(t, neighbours, &m, LEAVES, all, HOP_ASSOC_OPTS(.init = init), all);
	*track = HOP_E(t, "x[:,0,0]", HOP_AS(x, all[1]));
	return HOP_E(t, "mean((x - z)**2)", HOP_AS(x, *track), z);
}

static hop_value by_steps(hop_trace *t, hop_value z, hop_value p, hop_value *track)
{
	struct line m = line_model(t, p);
	hop_value F = m.F, H = m.H, P = m.I, x = hop_narrow(t, two_by_two(t, 0, 0, 0, 0), 1, 0, 1);

	HOP_FOR(t, i, SEEN, x, P) {
		x = HOP_E(t, "F @ x", F, x);
		P = HOP_E(t, "F @ P @ transpose(F) + Q", F, P, HOP_AS(Q, m.Q));
		hop_value K = HOP_E(t, "P @ transpose(H) / (H @ P @ transpose(H) + r)", P, H, HOP_AS(r, m.r));
		x = HOP_E(t, "x + K * (z - H @ x)", x, K, HOP_AS(z, hop_take(t, z, i)), H);
		P = HOP_E(t, "P - K @ H @ P", P, K, H);
		hop_stack(t, track, HOP_E(t, "x[0,0]", x));
	}
	return HOP_E(t, "mean((x - z)**2)", HOP_AS(x, *track), z);
}

/* in: what was seen, the logarithms of q and r. */
static void both_filters(hop_trace *t, const hop_value *in, void *user)
{
	hop_value p = in[1], a, b, da, db, x, y;
	(void)user;

	HOP_GRAD(t, a, 1, p, da)
		a = by_prefixes(t, in[0], p, &x);
	HOP_GRAD(t, b, 1, p, db)
		b = by_steps(t, in[0], p, &y);
	by_prefixes(t, in[0], p, &x);
	by_steps(t, in[0], p, &y);
	hop_return(t, x, y, da, db);
}

int main(void)
{
	double z[SEEN], worst = 0;
	hop_ctx *c = context();

	for (int i = 0; i < SEEN; i++)
		z[i] = sin(0.05 * i) + 0.2 * sin(37.0 * i * i);
	hop_array *in[2] = { vector(c, SEEN, z), vector(c, 2, (double[]){ -2, -3 }) }, *out[4];
	run(c, both_filters, 2, in, 4, out);
	for (int i = 0; i < SEEN; i++)
		worst = fmax(worst, fabs(numbers(out[0])[i] - numbers(out[1])[i]));
	puts(" seen  filtered");
	for (int i = 0; i < SEEN; i += 40)
		printf("%5.2f  %8.4f\n", z[i], numbers(out[0])[i]);
	printf("by steps the same to 1e-9: %s\n", worst < 1e-9 ? "yes" : "no");
	printf("gradient by prefixes %.6f %.6f\n", numbers(out[2])[0], numbers(out[2])[1]);
	printf("gradient by steps    %.6f %.6f\n", numbers(out[3])[0], numbers(out[3])[1]);
	release(2, in);
	release(4, out);
	hop_ctx_free(c);
	return 0;
}
/* prints
 seen  filtered
 0.00    0.0000
 0.88    0.8485
-0.88   -0.8136
-0.48   -0.4008
 0.91    1.0426
by steps the same to 1e-9: yes
gradient by prefixes -0.002148 0.002189
gradient by steps    -0.002148 0.002189
*/
