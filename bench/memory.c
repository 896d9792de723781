/* memory.c -- bytes of workspace that gradients need, for the same programs as beside_jax.py
 * asks of JAX: a layer norm under tanh, and two layers with gelu between them, both summed, by
 * all their operands. Runs them once, to see that the bytes are enough; measures no time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hop/compile.h"
#include "hop/hop.h"
#include "memory.h"

enum { ROWS = 512, WIDTH = 1024, INNER = 4096, MAX = 5 };

static void norm(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sum_all(t, hop_tanh(t, hop_layer_norm(t, in[0], in[1], in[2], 1e-5))));
}

/* x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */
static hop_value gelu(hop_trace *t, hop_value x)
{
	hop_value cube = hop_mul(t, hop_mul(t, x, x), x);
	hop_value u = hop_mulf(t, hop_add(t, x, hop_mulf(t, cube, 0.044715)), 0.7978845608028654);
	return hop_mul(t, hop_mulf(t, x, 0.5), hop_addf(t, hop_tanh(t, u), 1));
}

static void mlp(hop_trace *t, const hop_value *in, void *user)
{
	hop_value h = gelu(t, hop_add(t, hop_matmul(t, in[0], in[1]), in[2]));
	hop_value y = hop_add(t, hop_matmul(t, h, in[3]), in[4]);
	(void)user;
	hop_return(t, hop_sum_all(t, hop_mul(t, y, y)));
}

static const struct kind {
	const char *name;
	hop_body   *body;
	int         n;
	int64_t     dim[MAX][2];       /* 0: one dimension less */
} kinds[] = {
	{ "norm", norm, 3, { { ROWS, WIDTH }, { WIDTH }, { WIDTH } } },
	{ "mlp", mlp, 5, { { ROWS, WIDTH }, { WIDTH, INNER }, { INNER }, { INNER, WIDTH }, { WIDTH } } },
};

static size_t count(const int64_t *dim)
{
	return (size_t)(dim[0] * (dim[1] ? dim[1] : 1));
}

static hop_status gradient(hop_ctx *c, const struct kind *k, int threads, hop_exec **out)
{
	hop_compile_opts o = { .size = sizeof o, .threads = threads };
	hop_spec s[MAX];
	hop_fn *f = NULL, *g = NULL;
	int all[MAX] = { 0, 1, 2, 3, 4 };
	for (int i = 0; i < k->n; i++)
		s[i] = k->dim[i][1] ? hop_spec2(HOP_f32, k->dim[i][0], k->dim[i][1])
		                    : hop_spec1(HOP_f32, k->dim[i][0]);
	hop_status st = hop_capture(c, k->body, NULL, k->n, s, &f);
	if (!st)
		st = hop_grad(f, k->n, all, &g);
	if (!st)
		st = hop_compile(g, &o, out);
	hop_fn_release(g);
	hop_fn_release(f);
	return st;
}

/* Results are given as dense memory, so that none of the workspace is for them. */
static int64_t row(hop_ctx *c, const struct kind *k, int threads)
{
	hop_arg in[MAX] = { 0 }, out[1 + MAX] = { 0 };
	float loss;
	hop_exec *x = NULL;
	int64_t bytes = -1;
	bool ok = !gradient(c, k, threads, &x);
	out[0].data = &loss;
	for (int i = 0; i < k->n && ok; i++) {
		size_t n = count(k->dim[i]);
		float *v = malloc(n * sizeof *v);
		in[i] = (hop_arg){ .data = v, .dim = k->dim[i] };
		out[1 + i].data = malloc(n * sizeof *v);
		ok = v && out[1 + i].data;
		for (size_t j = 0; ok && j < n; j++)
			v[j] = (float)(j % 1000) * 1e-4f - 0.04f;
	}
	if (ok)
		bytes = hop_exec_workspace_for(x, in, out);
	void *room = bytes >= 0 ? aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64) : NULL;
	if (!room || hop_run(x, in, out, room))
		bytes = -1;
	free(room);
	for (int i = 0; i < k->n; i++) {
		free(in[i].data);
		free(out[1 + i].data);
	}
	hop_exec_release(x);
	return bytes;
}

int bench_memory(void)
{
	hop_ctx *c;
	if (hop_ctx_new(NULL, &c))
		return 1;
	printf("\nworkspace of gradients, in bytes\n%-9s %12s %12s\n", "", "one thread", "threads");
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		printf("%-9s %12lld %12lld\n", kinds[i].name, (long long)row(c, &kinds[i], 1),
		       (long long)row(c, &kinds[i], 2));
	hop_ctx_free(c);
	return 0;
}
