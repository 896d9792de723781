/* Operands made in the arguments of a C helper, which captures them in bodies: compilers run
 * the two calls in different orders, and the text must not show it. Also sizes taken from
 * data, and writes, which are statements. Checks no values. */
#include <stdio.h>

#include "hop/hop.h"

struct two { hop_value a, b; };

static void then_body(hop_trace *t, const hop_value *in, void *user)
{
	const struct two *w = user;
	hop_return(t, hop_add(t, hop_mul(t, in[0], w->b), w->a));
}

static void else_body(hop_trace *t, const hop_value *in, void *user)
{
	const struct two *w = user;
	hop_copy_(t, w->b, hop_sub(t, w->b, w->a));
	hop_return(t, hop_sub(t, w->a, in[0]));
}

static hop_value choose(hop_trace *t, hop_value x, hop_value a, hop_value b)
{
	struct two w = { a, b };
	hop_value out[1] = { { 0, 0 } };
	hop_cond(t, hop_lt(t, hop_sum_all(t, b), hop_sum_all(t, a)), then_body, else_body, &w, 1,
	         &x, 1, out);
	return hop_add(t, out[0], b);
}

static void chosen(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, choose(t, in[0], hop_sin(t, in[0]), hop_cos(t, in[1])),
	           choose(t, hop_exp(t, in[1]), hop_neg(t, in[0]), hop_mul(t, in[0], in[1])));
}

static void layer(hop_trace *t, const hop_value *in, void *user)
{
	const struct two *w = user;
	hop_return(t, hop_tanh(t, hop_add(t, hop_mul(t, in[0], w->a), w->b)));
}

static hop_value dense(hop_trace *t, hop_value x, hop_value a, hop_value b)
{
	struct two w = { a, b };
	hop_value out[1] = { { 0, 0 } };
	hop_region(t, "layer", layer, &w, 1, &x, 1, out);
	return out[0];
}

static void layers(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	for (int i = 0; i < 3; i++)
		x = dense(t, hop_mulf(t, x, i + 1), hop_addf(t, in[1], i), hop_mulf(t, in[0], i + 2));
	hop_return(t, x);
}

static hop_value ramp(hop_trace *t, hop_dim a, hop_dim b)
{
	hop_dim d[2] = { a, b };
	return hop_iota(t, HOP_f32, 2, d, 0);
}

static void sized(hop_trace *t, const hop_value *in, void *user)
{
	hop_value n = hop_cast(t, hop_sum_all(t, in[0]), HOP_i64);
	hop_value m = hop_cast(t, hop_sum_all(t, in[1]), HOP_i64);
	(void)user;
	hop_return(t, hop_sum_all(t, ramp(t, hop_as_size(t, n, 1, 8), hop_as_size(t, m, 1, 8))));
}

int main(void)
{
	static hop_body *const all[] = { chosen, layers, sized };
	hop_spec in[2] = { hop_spec1(HOP_f32, 3), hop_spec1(HOP_f32, 3) };
	hop_ctx *c;
	int bad = hop_ctx_new(NULL, &c) != HOP_OK;
	for (int i = 0; !bad && i < 3; i++) {
		hop_fn *f;
		if (hop_capture(c, all[i], NULL, 2, in, &f)) {
			fprintf(stderr, "%s\n", hop_message(c));
			bad = 1;
			continue;
		}
		fputs(hop_fn_text(f), stdout);
		hop_fn_release(f);
	}
	hop_ctx_free(c);
	return bad;
}
