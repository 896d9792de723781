/* The filter of 09_kalman.c with functions for bodies, to compare: the graphs are the same. It is
 * not a program of its own; test/unit/gallery_test.c includes it after the other. */

struct kalman_model {
	hop_value A, Q, C, R, p;
};

static hop_value kalman_at(hop_trace *t, hop_value S, int i, int j)
{
	return hop_index(t, hop_index(t, S, 0, i), 0, j);
}

static hop_value kalman_logdet(hop_trace *t, hop_value S)
{
	hop_value a = hop_mul(t, kalman_at(t, S, 0, 0), kalman_at(t, S, 1, 1));
	hop_value b = hop_mul(t, kalman_at(t, S, 0, 1), kalman_at(t, S, 1, 0));
	return hop_log(t, hop_sub(t, a, b));
}

static void kalman_step(hop_trace *t, const hop_value *in, void *user)
{
	const struct kalman_model *m = user;
	hop_value x = hop_matmul(t, m->A, in[0]), P = in[1], ll = in[2], z = in[3];
	hop_value q = hop_exp(t, hop_index(t, m->p, 0, 0)), r = hop_exp(t, hop_index(t, m->p, 0, 1));
	P = hop_matmul(t, hop_matmul(t, m->A, P), hop_transpose(t, m->A, 0, 1));
	P = hop_add(t, P, hop_mul(t, q, m->Q));
	hop_value y = hop_sub(t, z, hop_matmul(t, m->C, x)), CP = hop_matmul(t, m->C, P);
	hop_value S = hop_matmul(t, hop_matmul(t, m->C, P), hop_transpose(t, m->C, 0, 1));
	S = hop_add(t, S, hop_mul(t, r, m->R));
	hop_value K = hop_transpose(t, hop_solve(t, S, CP), 0, 1);
	x = hop_add(t, x, hop_matmul(t, K, y));
	P = hop_sub(t, P, hop_matmul(t, hop_matmul(t, K, m->C), P));
	hop_value unlikely = hop_add(t, hop_matmul(t, y, hop_solve(t, S, y)), kalman_logdet(t, S));
	ll = hop_sub(t, ll, hop_div(t, unlikely, hop_i(t, 2)));
	hop_return(t, x, P, ll, x);
}

static void kalman_filter(hop_trace *t, hop_value z, hop_value p, hop_value *out)
{
	struct kalman_model m;
	hop_value init[3];
	m.A = constant(t, 4, moves);
	m.Q = constant(t, 4, wanders);
	m.C = constant(t, 2, shows);
	m.R = hop_narrow(t, m.C, 1, 0, 2);
	m.p = p;
	init[0] = hop_full(t, HOP_f64, 1, &four, 0);
	init[1] = constant(t, 4, unsure);
	init[2] = hop_scalar(t, HOP_f64, 0);
	hop_scan(t, kalman_step, &m, 3, init, 1, &z, NULL, 4, out, NULL);
}

static void kalman_likelihood(hop_trace *t, const hop_value *in, void *user)
{
	const hop_value *z = user;
	hop_value out[4] = { *z, *z, *z, *z };
	kalman_filter(t, *z, in[0], out);
	hop_return(t, out[2]);
}

static void kalman_ascend(hop_trace *t, const hop_value *in, void *user)
{
	static const int wrt[1] = { 0 };
	hop_value g[2] = { in[0], in[0] };
	hop_grad_at(t, kalman_likelihood, user, 1, in, 1, wrt, 2, g);
	hop_value p = hop_add(t, in[0], hop_mul(t, hop_f(t, 0.02), g[1]));
	hop_return(t, p, g[0], g[1]);
}

static void kalman_functions(hop_trace *t, const hop_value *in, void *user)
{
	hop_scan_opts opts = { .size = sizeof opts, .has_length = true, .length = hop_n(ASCENT) };
	hop_value z = in[0], out[3] = { z, z, z }, end[4] = { z, z, z, z };
	(void)user;
	hop_scan(t, kalman_ascend, &z, 1, in + 1, 0, NULL, &opts, 3, out, NULL);
	kalman_filter(t, z, out[0], end);
	hop_return(t, end[3], out[0], out[1], out[2]);
}
