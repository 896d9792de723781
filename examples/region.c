/* region: the same layer many times is one graph, captured and compiled once; and a failing
 * program, to see what a message looks like. */
#include "example.h"

static void layer(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_tanh(t, hop_matmul(t, in[0], in[1])));
}

static void f(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	for (int i = 0; i < 4; i++) {
		hop_value arg[2] = { x, hop_index(t, in[1], 0, i) };
		hop_region(t, "layer", layer, NULL, 2, arg, 1, &x);
	}
	hop_return(t, hop_sum_all(t, x));
}

int main(void)
{
	hop_ctx *c;
	hop_fn *fn;
	hop_spec in[2] = { hop_spec2(HOP_f32, 2, 3), hop_spec3(HOP_f32, 4, 3, 3) };
	hop_spec bad[2] = { hop_spec2(HOP_f32, 2, 5), in[1] };
	if (hop_ctx_new(NULL, &c))
		return 1;
	must(c, hop_capture(c, f, NULL, 2, in, &fn));
	fputs(hop_fn_text(fn), stdout);
	hop_fn_release(fn);
	if (hop_capture(c, f, NULL, 2, bad, &fn))
		puts(hop_message(c));
	hop_ctx_free(c);
	return 0;
}
