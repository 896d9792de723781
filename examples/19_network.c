/* A network of twelve layers, each attention and a small network, with the gradient of its loss for
 * every weight. Regions give the parts names; a page for the browser, written when a path is
 * given, shows them: examples/19_network network.html */
#include "example.h"

enum { LAYERS = 12, TOKENS = 8, DIM = 16, HEADS = 2, INNER = 32 };

/* What a layer has learnt, for all of them: the first axis says which. */
struct weights { hop_value query, key, value, out, up, down; };

static hop_value heads(hop_trace *t, hop_value x)
{
	hop_dim d[3] = { hop_n(TOKENS), hop_n(HEADS), hop_n(DIM / HEADS) };
	return hop_transpose(t, hop_reshape(t, x, 3, d), 0, 1);
}

/* Every token looks at all those before it. */
static hop_value attend(hop_trace *t, hop_value x, const struct weights *w, hop_value mask)
{
	hop_value q = heads(t, hop_matmul(t, x, w->query)), k = heads(t, hop_matmul(t, x, w->key));
	hop_value v = heads(t, hop_matmul(t, x, w->value)), score, mixed;
	hop_dim flat[2] = { hop_n(TOKENS), hop_n(DIM) };

	score = hop_mulf(t, hop_matmul(t, q, hop_transpose(t, k, 1, 2)), 1 / sqrt(DIM / HEADS));
	score = hop_softmax(t, hop_add(t, score, mask), 2);
	mixed = hop_transpose(t, hop_matmul(t, score, v), 0, 1);
	return hop_matmul(t, hop_reshape(t, hop_clone(t, mixed), 2, flat), w->out);
}

static hop_value norm(hop_trace *t, hop_value x)
{
	return hop_layer_norm(t, x, HOP_NONE, HOP_NONE, 1e-5);
}

/* in: x, what is wanted, then the weights */
static void network(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], mask;
	hop_dim square[2] = { hop_n(TOKENS), hop_n(TOKENS) };
	(void)user;

	mask = hop_triu(t, hop_full(t, HOP_f32, 2, square, -1e9), 1);
	for (int i = 0; i < LAYERS; i++) {
		struct weights w;
		hop_value *p = &w.query;
		for (int k = 0; k < 6; k++)
			p[k] = hop_index(t, in[2 + k], 0, i);
		HOP_REGION(t, "layer", x) {
			HOP_REGION(t, "attention", x)
				x = hop_add(t, x, attend(t, norm(t, x), &w, mask));
			HOP_REGION(t, "mlp", x)
				x = hop_add(t, x, hop_matmul(t, hop_gelu_tanh(t, hop_matmul(t, norm(t, x), w.up)),
				                             w.down));
		}
	}
	hop_return(t, hop_mse(t, norm(t, x), in[1], HOP_LOSS_MEAN));
}

static hop_array *filled(hop_ctx *c, const hop_spec *s, unsigned seed, double scale)
{
	int64_t n = 1;
	hop_array *a;
	for (int i = 0; i < s->rank; i++)
		n *= s->dim[i];
	float *v = malloc((size_t)n * sizeof *v);
	for (int64_t i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		v[i] = (float)(scale * ((double)(seed >> 8) / (1 << 23) - 1));
	}
	must(c, hop_array_new(c, HOP_f32, s->rank, s->dim, v, &a));
	free(v);
	return a;
}

int main(int argc, char **argv)
{
	const int wrt[6] = { 2, 3, 4, 5, 6, 7 };
	hop_spec s[8] = { hop_spec2(HOP_f32, TOKENS, DIM), hop_spec2(HOP_f32, TOKENS, DIM) };
	hop_ctx *c = context();
	hop_fn *f[2];
	hop_array *in[8], *out[7];

	for (int i = 2; i < 6; i++)
		s[i] = hop_spec3(HOP_f32, LAYERS, DIM, DIM);
	s[6] = hop_spec3(HOP_f32, LAYERS, DIM, INNER);
	s[7] = hop_spec3(HOP_f32, LAYERS, INNER, DIM);
	must(c, hop_capture(c, network, NULL, 8, s, &f[0]));
	must(c, hop_grad(f[0], 6, wrt, &f[1]));
	if (argc > 1)
		must(c, hop_fn_page(2, f, argv[1]));
	for (int i = 0; i < 8; i++)
		in[i] = filled(c, &s[i], (unsigned)i, i < 2 ? 1 : 0.2);
	must(c, hop_call(f[1], 8, in, 7, out));
	printf("loss %.4f\n", hop_array_at(out[0], 0));
	for (int i = 1; i < 7; i++) {
		double sum = 0;
		for (int64_t k = 0; k < hop_array_count(out[i]); k++)
			sum += hop_array_at(out[i], k) * hop_array_at(out[i], k);
		printf("gradient of weight %d: %.3f long\n", i, sqrt(sum));
	}
	release(8, in);
	release(7, out);
	hop_fn_release(f[0]);
	hop_fn_release(f[1]);
	hop_ctx_free(c);
	return 0;
}
/* prints
loss 1.3149
gradient of weight 1: 0.106 long
gradient of weight 2: 0.108 long
gradient of weight 3: 1.420 long
gradient of weight 4: 1.269 long
gradient of weight 5: 1.199 long
gradient of weight 6: 1.274 long
*/
