/* scan: a recurrent cell over a sequence. The carry is a struct of values with names; the
 * weights belong to the outer trace, and using them makes them operands; the last step says
 * stop when the state has settled. */
#include "example.h"

struct state { hop_value h, c; };                 /* a struct of values is an array of values */
HOP_TREE(state_tree, struct state, h, c);

struct weights { hop_value u, w; };

static void step(hop_trace *t, const hop_value *in, void *user)
{
	const struct weights *m = user;
	const struct state *s = (const void *)in;
	hop_value z = hop_add(t, hop_mul(t, m->u, s->h), hop_mul(t, m->w, in[2]));
	struct state n;
	n.c = hop_add(t, hop_mul(t, hop_sigmoid(t, z), s->c), hop_tanh(t, z));
	n.h = hop_tanh(t, n.c);
	hop_stop_if(t, hop_gt(t, n.h, hop_f(t, 0.9)));
	hop_return(t, n.h, n.c, n.h);                 /* next carry, then the output */
}

static void f(hop_trace *t, const hop_value *in, void *user)
{
	struct weights m = { in[1], in[2] };
	struct state s = { hop_full(t, HOP_f64, 0, NULL, 0), hop_full(t, HOP_f64, 0, NULL, 0) };
	hop_scan_opts opts = { .size = sizeof opts, .carry = &state_tree };
	hop_value out[3], steps;
	(void)user;
	hop_scan(t, step, &m, 2, &s.h, 1, in, &opts, 3, out, &steps);
	hop_return(t, out[0], out[2], steps);
}

int main(void)
{
	hop_ctx *c;
	hop_fn *fn;
	hop_spec in[3] = { hop_spec_sym(hop_spec1(HOP_f64, 1), 0, "n", 1, 100),
	                   hop_spec0(HOP_f64), hop_spec0(HOP_f64) };
	if (hop_ctx_new(NULL, &c))
		return 1;
	must(c, hop_capture(c, f, NULL, 3, in, &fn));         /* once, for every length */
	for (int n = 2; n <= 6; n += 4) {
		hop_array *x[3] = { vector(c, n, (double[]){ 0.5, 1, 1, 0.5, 0, 0 }), scalar(c, 0.9),
		                    scalar(c, 0.7) }, *out[3];
		must(c, hop_call(fn, 3, x, 3, out));
		show("last h", out[0]);
		show("  all h", out[1]);
		show("  steps", out[2]);
		for (int i = 0; i < 3; i++)
			hop_array_release(x[i]);
	}
	hop_fn_release(fn);
	hop_ctx_free(c);
	return 0;
}
