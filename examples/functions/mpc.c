/* The controller of 11_mpc.c with functions for bodies, to compare: the graphs are the same. It is
 * not a program of its own; test/unit/gallery_test.c includes it after the other. */

struct mpc_scope {
	hop_value s, to;
};

static void mpc_move(hop_trace *t, const hop_value *in, void *user)
{
	const struct mpc_scope *m = user;
	hop_value x = in[0], v = in[1], a = in[2], w = in[3], cost = in[4], f = in[5];
	hop_value h = hop_f(t, tick), l = hop_f(t, rope);
	v = hop_add(t, v, hop_mul(t, h, f));
	x = hop_add(t, x, hop_mul(t, h, v));
	hop_value fall = hop_mul(t, hop_f(t, 9.81), hop_sin(t, a)), push = hop_mul(t, f, hop_cos(t, a));
	w = hop_sub(t, w, hop_div(t, hop_mul(t, h, hop_add(t, fall, push)), l));
	a = hop_add(t, a, hop_mul(t, h, w));
	cost = hop_add(t, cost, hop_pow(t, hop_sub(t, x, m->to), hop_i(t, 2)));
	cost = hop_add(t, cost, hop_mul(t, v, v));
	hop_value swing = hop_add(t, hop_mul(t, a, a), hop_mul(t, w, w));
	cost = hop_add(t, cost, hop_mul(t, hop_i(t, 5), swing));
	cost = hop_add(t, cost, hop_mul(t, hop_mul(t, hop_f(t, 0.1), f), f));
	hop_return(t, x, v, a, w, cost);
}

static void mpc_cost(hop_trace *t, const hop_value *in, void *user)
{
	const struct mpc_scope *m = user;
	hop_value init[5], out[5];
	for (int i = 0; i < 4; i++)
		init[i] = hop_index(t, m->s, 0, i);
	init[4] = out[4] = hop_zeros_like(t, init[0]);
	hop_scan(t, mpc_move, user, 5, init, 1, in, NULL, 5, out, NULL);
	hop_return(t, out[4]);
}

static void mpc_improve(hop_trace *t, const hop_value *in, void *user)
{
	static const int wrt[1] = { 0 };
	hop_value g[2] = { in[0], in[0] };
	hop_grad_at(t, mpc_cost, user, 1, in, 1, wrt, 2, g);
	hop_return(t, hop_sub(t, in[0], hop_mul(t, hop_f(t, 0.05), g[1])));
}

static void plan_crane_functions(hop_trace *t, const hop_value *in, void *user)
{
	struct mpc_scope m = { in[0], in[2] };
	hop_scan_opts opts = { .size = sizeof opts, .has_length = true, .length = hop_n(IMPROVE) };
	hop_value u = in[1];
	(void)user;
	hop_scan(t, mpc_improve, &m, 1, in + 1, 0, NULL, &opts, 1, &u, NULL);
	hop_return(t, u);
}
