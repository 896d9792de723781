/* layers.c -- what many equal layers cost to compile beside a few: a network of one block
 * made a region, its gradient, and every stage on the way to machine code. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "hop/compile.h"
#include "hop/hop.h"
#include "layers.h"

enum { ROWS = 16, WIDTH = 64, WIDE = 256, PER = 6, MOST = 48 };

/* Inputs: x, W1, b1, W2, b2, norm weight, norm bias. Norm, widen, gate, narrow, norm, add. */
static void block(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value x = in[0], none = { 0, 0 };
	hop_value n = hop_layer_norm(t, x, in[5], in[6], 1e-5);
	hop_value h = hop_add(t, hop_matmul(t, n, in[1]), in[2]);
	hop_value g = hop_mul(t, h, hop_sigmoid(t, hop_mulf(t, h, 1.702)));
	hop_value u = hop_mul(t, hop_tanh(t, g), hop_softmax(t, g, 1));
	hop_value y = hop_add(t, hop_matmul(t, u, in[3]), in[4]);
	hop_return(t, hop_add(t, x, hop_layer_norm(t, y, none, none, 1e-5)));
}

struct net { int layers; };

/* Inputs: x, then the weights of each layer. */
static void net(hop_trace *t, const hop_value *in, void *user)
{
	const struct net *n = user;
	hop_value x = in[0], a[1 + PER];
	for (int l = 0; l < n->layers; l++) {
		a[0] = x;
		for (int i = 0; i < PER; i++)
			a[1 + i] = in[1 + l * PER + i];
		hop_region(t, "block", block, NULL, 1 + PER, a, 1, &x);
	}
	hop_return(t, hop_sum_all(t, hop_mul(t, x, x)));
}

/* Seconds by stage; capture, gradient with its partition, passes, lowering, code. */
struct stages { double s[5]; };

static int compile(int layers, struct stages *out)
{
	static hop_spec spec[1 + MOST * PER];
	static int wrt[MOST * PER];
	struct net n = { layers };
	hop_ctx *c;
	hop_fn *f = NULL, *g = NULL;
	hop_exec *x = NULL;
	hop_compile_opts o = { .size = sizeof o, .threads = 1, .no_cache = true };
	spec[0] = hop_spec2(HOP_f32, ROWS, WIDTH);
	for (int l = 0; l < layers; l++) {
		hop_spec *s = spec + 1 + l * PER;
		s[0] = hop_spec2(HOP_f32, WIDTH, WIDE);
		s[1] = hop_spec1(HOP_f32, WIDE);
		s[2] = hop_spec2(HOP_f32, WIDE, WIDTH);
		s[3] = s[4] = s[5] = hop_spec1(HOP_f32, WIDTH);
		for (int i = 0; i < PER; i++)
			wrt[l * PER + i] = 1 + l * PER + i;
	}
	if (hop_ctx_new(NULL, &c))
		return 1;
	double t0 = bench_now();
	hop_status st = hop_capture(c, net, &n, 1 + layers * PER, spec, &f);
	double t1 = bench_now();
	if (!st)
		st = hop_grad(f, layers * PER, wrt, &g);
	double t2 = bench_now();
	if (!st)
		st = hop_compile(g, &o, &x);
	if (st) {
		printf("layers: %s\n", hop_message(c));
	} else {
		hop_compile_times t = hop_exec_times(x);
		*out = (struct stages){ { t1 - t0, t2 - t1, t.opt, t.lower, t.code } };
	}
	hop_exec_release(x);
	hop_fn_release(g);
	hop_fn_release(f);
	hop_ctx_free(c);
	return st != HOP_OK;
}

static double total(const struct stages *s)
{
	return s->s[0] + s->s[1] + s->s[2] + s->s[3] + s->s[4];
}

double bench_layers_total(int layers)
{
	struct stages s;
	return compile(layers, &s) ? -1 : total(&s);
}

/* The best of several tries, few and many in turn: the machine is shared. */
static int best(struct stages *few, struct stages *many)
{
	for (int i = 0; i < 15; i++) {
		struct stages a, b;
		if (compile(4, &a) || compile(MOST, &b))
			return 1;
		if (!i || total(&a) < total(few))
			*few = a;
		if (!i || total(&b) < total(many))
			*many = b;
	}
	return 0;
}

void bench_layers(void)
{
	static const char *const name[] = { "capture", "gradient", "passes", "lowering", "code" };
	struct stages few, many;
	if (best(&few, &many))
		return;
	printf("\ncompiling a network of one block, forward and gradient, in ms\n");
	printf("%-18s %9s %9s %6s\n", "", "4 layers", "48 layers", "ratio");
	for (int i = 0; i < 5; i++)
		printf("%-18s %9.2f %9.2f %6.2f\n", name[i], few.s[i] * 1e3, many.s[i] * 1e3,
		       many.s[i] / few.s[i]);
	printf("%-18s %9.2f %9.2f %6.2f\n", "total", total(&few) * 1e3, total(&many) * 1e3,
	       total(&many) / total(&few));
}
