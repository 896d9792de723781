/* A training loop in bf16 with weights in f32: a small network learns which of two spirals a point is
 * on. Products are made in bf16, the loss in f32, as PyTorch's lists have it; gradients come out in
 * f32, and the step is taken without a gradient of its own. The same in f32 is beside it. */
#include "example.h"

enum { POINTS = 96, INNER = 32, STEPS = 400 };

struct net { hop_value w1, b1, w2, b2, w3, b3; };
HOP_TREE(net_tree, struct net, w1, b1, w2, b2, w3, b3);

static hop_value logits(hop_trace *t, hop_value x, const struct net *n)
{
	hop_value h = hop_tanh(t, hop_linear(t, x, n->w1, n->b1));
	h = hop_tanh(t, hop_linear(t, h, n->w2, n->b2));
	return hop_linear(t, h, n->w3, n->b3);
}

/* in: points, labels, then the weights, which are trained; gives losses, and how many are right. */
static void train(hop_trace *t, const hop_value *in, void *user)
{
	struct net n = { in[2], in[3], in[4], in[5], in[6], in[7] }, g;
	hop_value losses = HOP_NONE, loss = HOP_NONE, y = HOP_NONE, right = HOP_NONE;
	bool low = *(bool *)user;
	hop_mode_push(t, low ? HOP_MODE_AUTOCAST : HOP_MODE_AUTOCAST_OFF, HOP_bf16);
	HOP_FOR_N(t, i, STEPS, net_tree, &n) {
		HOP_GRAD_N(t, loss, net_tree, &n, &g) {
			y = logits(t, in[0], &n);
			loss = hop_cross_entropy(t, y, in[1], 1, HOP_LOSS_MEAN);
		}
		HOP_NO_GRAD(t) {
			hop_value *w = &n.w1, *d = &g.w1;
			for (int k = 0; k < 6; k++)
				w[k] = hop_sub(t, w[k], hop_mulf(t, d[k], 0.5));
		}
		hop_stack(t, &losses, loss);
	}
	y = logits(t, in[0], &n);
	right = hop_sum_all(t, hop_cast(t, hop_eq(t, hop_argmax(t, y, 1), in[1]), HOP_f32));
	hop_mode_pop(t);
	hop_return(t, losses, right, hop_cast(t, y, HOP_f32));
}

static hop_array *floats(hop_ctx *c, int rank, int64_t n, int64_t m, const float *v)
{
	hop_array *a;
	must(c, hop_array_new(c, HOP_f32, rank, (int64_t[]){ n, m }, v, &a));
	return a;
}

static hop_array *weight(hop_ctx *c, int64_t n, int64_t m, unsigned seed)
{
	hop_array *a = floats(c, m ? 2 : 1, n, m, NULL);
	float *v = hop_array_data(a);
	for (int64_t i = 0; m && i < n * m; i++) {
		seed = seed * 1664525u + 1013904223u;
		v[i] = (float)(2.0 / sqrt((double)m) * ((double)(seed >> 8) / (1 << 23) - 1));
	}
	return a;
}

int main(void)
{
	float x[POINTS][2];
	int64_t label[POINTS], points = POINTS;
	for (int i = 0; i < POINTS; i++) {
		double r = 0.1 + 0.9 * (i / 2) / (POINTS / 2), a = 4 * r + 3.14159265 * (i % 2);
		x[i][0] = (float)(r * cos(a));
		x[i][1] = (float)(r * sin(a));
		label[i] = i % 2;
	}
	hop_ctx *c = context();
	hop_array *in[8] = { floats(c, 2, POINTS, 2, x[0]), NULL, weight(c, INNER, 2, 1),
		                 weight(c, INNER, 0, 0), weight(c, INNER, INNER, 2), weight(c, INNER, 0, 0),
		                 weight(c, 2, INNER, 3), weight(c, 2, 0, 0) }, *out[2][3];
	must(c, hop_array_new(c, HOP_i64, 1, &points, label, &in[1]));
	for (int low = 0; low < 2; low++) {
		hop_spec s[8];
		hop_fn *f;
		bool ask = low;
		for (int i = 0; i < 8; i++)
			s[i] = hop_spec_of(hop_array_dtype(in[i]), hop_array_rank(in[i]), hop_array_dims(in[i]));
		must(c, hop_capture(c, train, &ask, 8, s, &f));
		must(c, hop_call(f, 8, in, 3, out[low]));
		hop_fn_release(f);
	}
	printf("step    f32   bf16\n");
	for (int i = 0; i < STEPS; i += STEPS / 8)
		printf("%4d   %.2f   %.2f\n", i, hop_array_at(out[0][0], i), hop_array_at(out[1][0], i));
	printf("right %5.0f  %5.0f of %d\n", hop_array_at(out[0][1], 0), hop_array_at(out[1][1], 0), POINTS);
	double far = fabs(hop_array_at(out[0][0], STEPS - 1) - hop_array_at(out[1][0], STEPS - 1));
	bool fine = hop_array_at(out[1][1], 0) >= POINTS - 2 && far < 0.02;
	for (int low = 0; low < 2; low++)
		release(3, out[low]);
	release(8, in);
	hop_ctx_free(c);
	return !fine;
}

/* prints
step    f32   bf16
   0   0.84   0.84
  50   0.09   0.09
 100   0.03   0.03
 150   0.01   0.01
 200   0.01   0.01
 250   0.01   0.01
 300   0.00   0.00
 350   0.00   0.00
right    96     96 of 96
*/
