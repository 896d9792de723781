/* The filter of 09_kalman.c with functions for bodies, to compare: the graphs are the same. It is
 * not a program of its own; test/unit/gallery_test.c includes it after the other. */

struct kalman_model {
	hop_value f, g, h, eye2, q, r;
};

static void kalman_step(hop_trace *t, const hop_value *in, void *user)
{
	const struct kalman_model *m = user;
	hop_value x = hop_matmul(t, m->f, in[0]), P = in[1], ll = in[2], z = in[3];
	P = hop_add(t, hop_matmul(t, m->f, hop_matmul(t, P, hop_transpose(t, m->f, 0, 1))),
	            hop_mul(t, m->g, m->q));
	hop_value y = hop_sub(t, z, hop_matmul(t, m->h, x)), hP = hop_matmul(t, m->h, P);
	hop_value S = hop_add(t, hop_matmul(t, hP, hop_transpose(t, m->h, 0, 1)),
	                      hop_mul(t, m->eye2, m->r));
	hop_value K = hop_transpose(t, hop_solve(t, S, hP), 0, 1);
	x = hop_add(t, x, hop_matmul(t, K, y));
	P = hop_sub(t, P, hop_matmul(t, K, hP));
	hop_value unlikely = hop_add(t, hop_matmul(t, y, hop_solve(t, S, y)), logdet(t, S));
	ll = hop_sub(t, ll, hop_mulf(t, unlikely, 0.5));
	hop_return(t, x, P, ll, x);
}

static void kalman_filter(hop_trace *t, hop_value z, hop_value p, hop_value *out)
{
	hop_value eye = constant(t, 4, 4, I);
	struct kalman_model m;
	hop_value init[3];
	m.f = constant(t, 4, 4, F);
	m.g = constant(t, 4, 4, G);
	m.h = constant(t, 2, 4, H);
	m.eye2 = hop_matmul(t, m.h, hop_transpose(t, m.h, 0, 1));
	m.q = hop_exp(t, hop_index(t, p, 0, 0));
	m.r = hop_exp(t, hop_index(t, p, 0, 1));
	init[0] = hop_zeros(t, HOP_f64, 1, ((hop_dim[]){ hop_n(4) }));
	init[1] = hop_mulf(t, eye, 10);
	init[2] = hop_full(t, HOP_f64, 0, NULL, 0);
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
	hop_return(t, hop_add(t, in[0], hop_mulf(t, g[1], 0.02)), in[0], g[0], g[1]);
}

static void kalman_functions(hop_trace *t, const hop_value *in, void *user)
{
	hop_scan_opts opts = { .size = sizeof opts, .has_length = true, .length = hop_n(ASCENT) };
	hop_value z = in[0], out[4] = { z, z, z, z }, end[4] = { z, z, z, z };
	(void)user;
	hop_scan(t, kalman_ascend, &z, 1, in + 1, 0, NULL, &opts, 4, out, NULL);
	kalman_filter(t, z, out[0], end);
	hop_return(t, end[3], out[1], out[2], out[3]);
}
