/* The network of 08_rnn.c with functions for bodies, to compare: the graphs are the same. It is not
 * a program of its own; test/unit/gallery_test.c includes it after the other. */

struct rnn_weights {
	hop_value W, U;
};

struct rnn_lesson {
	hop_value heard, wanted;
};

static void rnn_cell(hop_trace *t, const hop_value *in, void *user)
{
	const struct rnn_weights *m = user;
	hop_value h = hop_tanh(t, hop_add(t, hop_matmul(t, in[0], m->W), hop_matmul(t, in[1], m->U)));
	hop_return(t, h, hop_narrow(t, h, 1, 0, 1));
}

static hop_value rnn_hear(hop_trace *t, const hop_value *w, hop_value heard)
{
	struct rnn_weights m = { w[0], w[1] };
	hop_value h = hop_zeros(t, HOP_f64, 2, ((hop_dim[]){ hop_n(PUPILS), hop_n(CELLS) }));
	hop_value out[2] = { h, h };
	hop_scan(t, rnn_cell, &m, 1, &h, 1, &heard, NULL, 2, out, NULL);
	return out[1];
}

static void rnn_loss(hop_trace *t, const hop_value *in, void *user)
{
	const struct rnn_lesson *s = user;
	hop_value miss = hop_sub(t, rnn_hear(t, in, s->heard), s->wanted);
	hop_return(t, hop_mean(t, hop_pow(t, miss, hop_i(t, 2)), 0, NULL));
}

static void rnn_step(hop_trace *t, const hop_value *in, void *user)
{
	static const int wrt[2] = { 0, 1 };
	hop_value g[3] = { in[0], in[0], in[0] };
	hop_grad_at(t, rnn_loss, user, 2, in, 2, wrt, 3, g);
	hop_value W = hop_sub(t, in[0], hop_mul(t, hop_f(t, 0.3), g[1]));
	hop_value U = hop_sub(t, in[1], hop_mul(t, hop_f(t, 0.3), g[2]));
	hop_return(t, W, U, g[0]);
}

static void train_rnn_functions(hop_trace *t, const hop_value *in, void *user)
{
	struct rnn_lesson s = { in[2], in[3] };
	hop_scan_opts opts = { .size = sizeof opts, .has_length = true, .length = hop_n(TRAINING) };
	hop_value out[3] = { in[0], in[0], in[0] };
	(void)user;
	hop_scan(t, rnn_step, &s, 2, in, 0, NULL, &opts, 3, out, NULL);
	hop_return(t, rnn_hear(t, out, in[2]), out[2]);
}
