/* cond: two bodies, one runs. The branches return an input, capture a value from outside and
 * write to it: what is written is seen after the branch. */
#include "example.h"

static void calm(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0]);
}

static void alarm_(hop_trace *t, const hop_value *in, void *user)
{
	hop_value *count = user;
	hop_add_(t, *count, hop_f(t, 1));
	hop_return(t, hop_mulf(t, in[0], -1));
}

static void f(hop_trace *t, const hop_value *in, void *user)
{
	hop_value count = hop_full(t, HOP_f64, 0, NULL, 0), out[1];
	(void)user;
	hop_cond(t, hop_lt(t, hop_sum_all(t, in[0]), hop_f(t, 1)), calm, alarm_, &count, 1, in, 1,
	         out);
	hop_return(t, out[0], count);
}

int main(void)
{
	hop_ctx *c;
	hop_fn *fn;
	hop_spec in = hop_spec1(HOP_f64, 2);
	if (hop_ctx_new(NULL, &c))
		return 1;
	must(c, hop_capture(c, f, NULL, 1, &in, &fn));
	fputs(hop_fn_text(fn), stdout);
	for (int i = 0; i < 2; i++) {
		hop_array *x = vector(c, 2, (double[]){ i, 0.5 }), *out[2];
		must(c, hop_call(fn, 1, &x, 2, out));
		show("x", x);
		show("  result", out[0]);
		show("  alarms", out[1]);
	}
	hop_fn_release(fn);
	hop_ctx_free(c);
	return 0;
}
