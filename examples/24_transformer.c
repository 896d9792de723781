/* A transformer learns to go on counting: sentences of words at equal distances. The loop of the
 * training, the gradient in it and its update are one compiled function:
 *	HOP_CHECKPOINT	of a layer only what comes in is kept; reverse mode computes the rest again
 *	HOP_HOOK	gradients between layers are clipped
 *	hop_custom	softmax and cross entropy with a gradient of their own
 *	hop_host	a C function gives the sentences of each step
 *	HOP_AUTOCAST	matrices are multiplied in bf16, if that is asked for
 * test/data/gen_train.py is the same program for PyTorch; test/unit/train_test.c compares the losses. */
#include "example.h"

enum { STEPS = 50, LAYERS = 4, BATCH = 8, TOKENS = 16, WORDS = 64, DIM = 32, HEADS = 4, INNER = 128 };

#define LAYER(has) \
	has(LEAF, gain1, "f32[dim]") has(LEAF, bias1, "f32[dim]") \
	has(LEAF, qkv, "f32[dim, qkv]") has(LEAF, out, "f32[dim, dim]") \
	has(LEAF, gain2, "f32[dim]") has(LEAF, bias2, "f32[dim]") \
	has(LEAF, up, "f32[dim, inner]") has(LEAF, shift, "f32[inner]") has(LEAF, down, "f32[inner, dim]")
HOP_STRUCT(layer, LAYER);
#define NET(has) \
	has(LEAF, words, "f32[words, dim]") has(LEAF, places, "f32[tokens, dim]") \
	has(NODES, layer, LAYERS, layer) \
	has(LEAF, gain, "f32[dim]") has(LEAF, bias, "f32[dim]") has(LEAF, head, "f32[dim, words]")
HOP_STRUCT(net, NET);
#define TRAINED(has) has(NODE, p, net) has(NODE, m, net) has(NODE, v, net)
HOP_STRUCT(trained, TRAINED);
static const hop_named_size sizes[] = { { "dim", DIM }, { "qkv", 3 * DIM }, { "inner", INNER },
	                                    { "words", WORDS }, { "tokens", TOKENS }, { NULL, 0 } };

/* ---- the network ---- */

static hop_value shaped(hop_trace *t, hop_value x, int rank, const int *n)
{
	hop_dim d[4];
	for (int i = 0; i < rank; i++)
		d[i] = hop_n(n[i]);
	return hop_reshape(t, x, rank, d);
}
#define SHAPED(t, x, ...) \
	shaped(t, x, (int)(sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)), (int[]){ __VA_ARGS__ })

/* Query, key or value: [batch, head, token, DIM / HEADS]. */
static hop_value heads(hop_trace *t, hop_value qkv, int which)
{
	hop_value x = hop_narrow(t, qkv, 2, which * DIM, DIM);
	return hop_transpose(t, SHAPED(t, hop_clone(t, x), BATCH, TOKENS, HEADS, DIM / HEADS), 1, 2);
}

/* Every token looks at those before it. */
static hop_value attend(hop_trace *t, const struct layer *w, hop_value x, hop_value mask)
{
	hop_value qkv = hop_matmul(t, hop_layer_norm(t, x, w->gain1, w->bias1, 1e-5), w->qkv);
	hop_value q = heads(t, qkv, 0), k = heads(t, qkv, 1), v = heads(t, qkv, 2), score;

	score = hop_mulf(t, hop_matmul(t, q, hop_transpose(t, k, 2, 3)), 1 / sqrt(DIM / HEADS));
	score = hop_softmax(t, hop_add(t, score, mask), 3);
	x = hop_clone(t, hop_transpose(t, hop_matmul(t, score, v), 1, 2));
	return hop_matmul(t, SHAPED(t, x, BATCH, TOKENS, DIM), w->out);
}

static hop_value think(hop_trace *t, const struct layer *w, hop_value x)
{
	x = hop_matmul(t, hop_layer_norm(t, x, w->gain2, w->bias2, 1e-5), w->up);
	return hop_matmul(t, hop_gelu(t, hop_add(t, x, w->shift)), w->down);
}

/* Softmax and cross entropy have a gradient that needs neither logarithm nor division. */
static void entropy_fwd(hop_trace *t, const hop_value *in, void *user)
{
	hop_value hot = hop_one_hot(t, HOP_f32, in[1], hop_n(WORDS));
	hop_value logp = hop_log_softmax(t, in[0], 1);
	(void)user;
	hop_save(t, 1, (hop_value[]){ hop_sub(t, hop_exp(t, logp), hot) });
	hop_return(t, hop_mulf(t, hop_sum_all(t, hop_mul(t, logp, hot)), -1.0 / (BATCH * TOKENS)));
}

static void entropy_bwd(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], hop_mulf(t, in[1], 1.0 / (BATCH * TOKENS))));
}

static hop_value entropy(hop_trace *t, hop_value logits, hop_value wanted)
{
	static const hop_custom_rule rule = { .size = sizeof rule, .fwd = entropy_fwd, .bwd = entropy_bwd };
	hop_value loss;
	hop_custom(t, &rule, NULL, 2, (hop_value[]){ logits, wanted }, 1, &loss);
	return loss;
}

/* The loss of guessing each word of the sentences from those before it. */
static hop_value loss_of(hop_trace *t, const struct net *p, hop_value sentences)
{
	const hop_dim square[2] = { hop_n(TOKENS), hop_n(TOKENS) };
	hop_value mask = hop_triu(t, hop_full(t, HOP_f32, 2, square, -1e9), 1), x;
	hop_value read = hop_narrow(t, sentences, 1, 0, TOKENS);
	hop_value wanted = hop_clone(t, hop_narrow(t, sentences, 1, 1, TOKENS));

	x = hop_add(t, hop_gather(t, p->words, 0, read), p->places);
	for (int i = 0; i < LAYERS; i++) {
		const struct layer *w = &p->layer[i];
		HOP_CHECKPOINT(t, HOP_CHECKPOINT_OPTS(.name = "layer"), x) {
			x = hop_add(t, x, attend(t, w, x, mask));
			x = hop_add(t, x, think(t, w, x));
		}
		HOP_HOOK(t, x, g)                              /* gradients of length 0.02 at most */
			g = HOP_E(t, "g * min(0.02 / sqrt(sum(g * g) + 1e-12), 1)", g);
	}
	x = hop_matmul(t, hop_layer_norm(t, x, p->gain, p->bias, 1e-5), p->head);
	x = hop_cast(t, x, HOP_f32);
	return entropy(t, SHAPED(t, x, BATCH * TOKENS, WORDS), SHAPED(t, wanted, BATCH * TOKENS));
}

/* ---- the training ---- */

/* AdamW in step n, for one array of parameters p; m and v are means of its gradient g and of the
 * square of that. */
static void update(hop_trace *t, hop_value n, hop_value g, hop_value *p, hop_value *m, hop_value *v)
{
	hop_value by;
	*m = HOP_E(t, "0.9 * m + 0.1 * g", HOP_AS(m, *m), g);
	*v = HOP_E(t, "0.99 * v + 0.01 * g * g", HOP_AS(v, *v), g);
	by = HOP_E(t, "m / (1 - 0.9 ** n) / (sqrt(v / (1 - 0.99 ** n)) + 1e-8)", HOP_AS(m, *m),
	           HOP_AS(v, *v), n);
	*p = HOP_E(t, "p - 5e-3 * (by + 0.01 * p)", HOP_AS(p, *p), by);
}

/* The program asks the loader for the sentences of every step. */
static hop_value load(hop_trace *t, hop_value step)
{
	hop_result type = hop_result_of(HOP_i64, 2, (hop_dim[]){ hop_n(BATCH), hop_n(TOKENS + 1) });
	hop_value sentences;
	hop_host(t, "sentences", 1, &step, 1, &type, &sentences);
	return sentences;
}

struct how { int steps; hop_dtype products; };

/* in: what is trained */
static void train(hop_trace *t, const hop_value *in, void *user)
{
	struct trained s = *HOP_IN(struct trained, in);
	struct net g;
	hop_value *p = &s.p.words, *m = &s.m.words, *v = &s.v.words, sentences, loss, losses, step;
	const struct how *how = user;

	HOP_FOR_N(t, i, how->steps, trained_tree, &s) {
		sentences = load(t, i);
		HOP_GRAD_N(t, loss, net_tree, &s.p, &g) {
			if (how->products == HOP_bf16)
				HOP_AUTOCAST(t, HOP_bf16)
					loss = loss_of(t, &s.p, sentences);
			else
				loss = loss_of(t, &s.p, sentences);
		}
		step = hop_cast(t, hop_add(t, i, hop_i(t, 1)), HOP_f32);
		for (int k = 0; k < net_tree.count; k++)
			update(t, step, (&g.words)[k], &p[k], &m[k], &v[k]);
		hop_stack(t, &losses, loss);
	}
	hop_return(t, losses);
}

/* ---- data: a hash, so that it is the same everywhere ---- */

static uint32_t hashed(uint32_t seed, uint32_t i)
{
	uint32_t x = i + (seed << 20);
	x = (x ^ x >> 16) * 0x7feb352du;
	x = (x ^ x >> 15) * 0x846ca68bu;
	return x ^ x >> 16;
}

static void fill(hop_array *a, uint32_t seed)
{
	float *v = hop_array_data(a);
	double scale = 1 / sqrt((double)hop_array_dims(a)[0]);
	for (int64_t i = 0; i < hop_array_count(a); i++)
		v[i] = (float)(scale * ((hashed(seed, (uint32_t)i) >> 8) / (double)(1 << 23) - 1));
}

static void ones(hop_array *a)
{
	for (int i = 0; i < DIM; i++)
		((float *)hop_array_data(a))[i] = 1;
}

static void begin(struct net_arrays *p)
{
	fill(p->words, 1);
	fill(p->places, 2);
	for (int i = 0; i < LAYERS; i++) {
		struct layer_arrays *w = &p->layer[i];
		uint32_t seed = 10 * (uint32_t)(i + 1);
		ones(w->gain1);
		ones(w->gain2);
		fill(w->qkv, seed);
		fill(w->out, seed + 1);
		fill(w->up, seed + 2);
		fill(w->down, seed + 3);
	}
	ones(p->gain);
	fill(p->head, 3);
}

/* The loader, a function of C: words at a distance of 1 to 4, from a first one. */
static hop_status write_sentences(const hop_host_call *call)
{
	uint32_t step = 100 + (uint32_t)*(int64_t *)call->in[0].data;
	int64_t *to = call->out[0].data;
	for (uint32_t b = 0; b < BATCH; b++) {
		uint32_t first = hashed(step, b) % WORDS, apart = hashed(step, BATCH + b) % 4 + 1;
		for (uint32_t k = 0; k <= TOKENS; k++)
			*to++ = (first + k * apart) % WORDS;
	}
	return HOP_OK;
}

/* ---- all of it ---- */

static hop_ctx *with_loader(void)
{
	hop_ctx *c = context();
	must(c, hop_host_add(c, HOP_HOST_DEF(.name = "sentences", .run = write_sentences, .pure = true)));
	return c;
}

static void prepare(hop_ctx *c, struct how *how, struct trained_arrays *s, hop_fn **f)
{
	must(c, hop_capture_tree(c, train, how, &trained_tree, sizes, f));
	must(c, hop_tree_new(c, &trained_tree, sizes, s));
	begin(&s->p);
}

static hop_array *learn(hop_ctx *c, struct how how)
{
	struct trained_arrays s;
	hop_array *losses;
	hop_fn *f;

	prepare(c, &how, &s, &f);
	must(c, hop_call(f, trained_tree.count, &s.p.words, 1, &losses));
	hop_tree_release(&trained_tree, &s);
	hop_fn_release(f);
	return losses;
}

int main(void)
{
	hop_ctx *c = with_loader();
	hop_array *f32 = learn(c, (struct how){ STEPS, HOP_f32 });
	hop_array *bf16 = learn(c, (struct how){ STEPS, HOP_bf16 });

	curve("loss", f32);
	printf("\nwith products in bf16 it ends at %.2f\n", hop_array_at(bf16, STEPS - 1));
	hop_array_release(f32);
	hop_array_release(bf16);
	hop_ctx_free(c);
	return 0;
}
/* prints
loss from 4.3 to 2.2 in 50 steps
** ***   *  *
      * * *  *** *
                  ** ****
                          *** ***
                                 * **  *
                                     *  ***
                                            **
                                              * ** *
                                                  *  ***
                                                         **
                                                           ** *
                                                               *

with products in bf16 it ends at 2.21
*/
