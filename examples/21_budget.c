/* Memory against work: the gradient of a network of twelve layers, split in two halves under budgets
 * from 0 to 1. What the report says before a run is what crosses from one half to the other in a run.
 * With an argument, the processor time of each, too: examples/21_budget time */
#include "example.h"

#include <time.h>

enum { LAYERS = 12, TOKENS = 64, DIM = 128, INNER = 256, NIN = 4, MOST = 128, REPEATS = 7 };

/* in: x, what is wanted, weights up and down of all layers */
static void network(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	for (int i = 0; i < LAYERS; i++) {
		hop_value up = hop_index(t, in[2], 0, i), down = hop_index(t, in[3], 0, i);
		HOP_REGION(t, "layer", x) {
			hop_value h = hop_layer_norm(t, x, HOP_NONE, HOP_NONE, 1e-5);
			h = hop_gelu_tanh(t, hop_matmul(t, h, up));
			x = hop_add(t, x, hop_matmul(t, h, down));
		}
	}
	hop_return(t, hop_mse(t, x, in[1], HOP_LOSS_MEAN));
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

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One run of both halves: gradients of the weights. Returns the bytes that crossed. */
static int64_t both(hop_ctx *c, hop_fn *fwd, hop_fn *bwd, hop_array **in, hop_array **grad)
{
	hop_array *a[NIN + MOST], *out[MOST];
	int n = hop_fn_nout(fwd);
	int64_t bytes = 0;
	must(c, hop_call(fwd, NIN, in, n, out));
	memcpy(a, in, NIN * sizeof *a);
	memcpy(a + NIN, out, (size_t)n * sizeof *a);
	for (int i = 1; i < n; i++)                        /* all but the loss */
		bytes += hop_array_count(out[i]) * (int64_t)sizeof(float);
	must(c, hop_array_new(c, HOP_f32, 0, NULL, &(float){ 1 }, &a[NIN + n]));
	must(c, hop_call(bwd, NIN + n + 1, a, 2, grad));
	release(n + 1, a + NIN);
	return bytes;
}

struct point { double budget, again, best; int64_t said, crossed; hop_fn *fwd, *bwd; };

/* Split, ask for the report, run once, and compare: with the report, and with the other gradients. */
static void measure(hop_ctx *c, hop_fn *f, hop_array **in, struct point *p, hop_array **first)
{
	const int wrt[2] = { 2, 3 };
	hop_saved s = { .size = sizeof s };
	hop_array *grad[2];
	must(c, hop_split(f, 2, wrt, p->budget, &p->fwd, &p->bwd));
	must(c, hop_saved_report(f, 2, wrt, p->budget, &s));
	p->said = s.bytes;
	p->again = s.work_added;
	p->best = 1e9;
	hop_saved_free(&s);
	p->crossed = both(c, p->fwd, p->bwd, in, grad);
	for (int k = 0; k < 2; k++) {
		for (int64_t i = 0; first[k] && i < hop_array_count(grad[k]); i++)
			if (fabs(hop_array_at(grad[k], i) - hop_array_at(first[k], i)) > 1e-5)
				exit(1);
		if (first[k])
			hop_array_release(grad[k]);
		else
			first[k] = grad[k];
	}
	if (p->said != p->crossed)
		exit(1);
}

int main(int argc, char **argv)
{
	hop_spec s[NIN] = { hop_spec2(HOP_f32, TOKENS, DIM), hop_spec2(HOP_f32, TOKENS, DIM),
		                hop_spec3(HOP_f32, LAYERS, DIM, INNER), hop_spec3(HOP_f32, LAYERS, INNER, DIM) };
	struct point p[11];
	hop_ctx *c = context();
	hop_fn *f;
	hop_array *in[NIN], *first[2] = { NULL, NULL }, *grad[2];
	(void)argv;

	must(c, hop_capture(c, network, NULL, NIN, s, &f));
	for (int i = 0; i < NIN; i++)
		in[i] = filled(c, &s[i], (unsigned)i, i < 2 ? 1 : 0.1);
	for (int i = 0; i <= 10; i++) {
		p[i].budget = i / 10.0;
		measure(c, f, in, &p[i], first);
	}
	for (int k = 0; argc > 1 && k < REPEATS; k++)
		for (int i = 0; i <= 10; i++) {                /* by turns: others may use the machine */
			double t = now();
			both(c, p[i].fwd, p[i].bwd, in, grad);
			t = now() - t;
			p[i].best = t < p[i].best ? t : p[i].best;
			release(2, grad);
		}
	printf("budget  saved    again%s\n", argc > 1 ? "    time" : "");
	for (int i = 0; i <= 10; i++) {
		printf("%4.1f %6lld KiB %5.1f M", p[i].budget, (long long)p[i].crossed / 1024, p[i].again / 1e6);
		if (argc > 1)
			printf("  %5.2f", p[i].best / p[10].best);
		printf("  |%.*s\n", (int)(p[i].crossed * 40 / p[10].crossed),
		       "########################################");
		hop_fn_release(p[i].fwd);
		hop_fn_release(p[i].bwd);
	}
	release(NIN, in);
	release(2, first);
	hop_fn_release(f);
	hop_ctx_free(c);
	return 0;
}
/* prints
budget  saved    again
 0.0      0 KiB 106.3 M  |
 0.1     96 KiB  97.4 M  |###
 0.2    193 KiB  88.6 M  |######
 0.3    289 KiB  79.7 M  |##########
 0.4    386 KiB  70.9 M  |#############
 0.5    579 KiB  53.1 M  |####################
 0.6    675 KiB  44.3 M  |#######################
 0.7    772 KiB  35.4 M  |##########################
 0.8    868 KiB  26.6 M  |##############################
 0.9    965 KiB  17.7 M  |#################################
 1.0   1158 KiB   0.0 M  |########################################
*/
