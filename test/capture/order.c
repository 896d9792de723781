/* Captures that lean on the order in which C evaluates arguments, which compilers choose
 * differently; prints the text of each. scripts/capture_texts compares builds. It checks no
 * values. */
#include <stdio.h>
#include <string.h>

#include "hop/hop.h"

struct outer { hop_value a, b, c; };

/* Every operand is made by a call, and captured values meet in one expression. */
static void then_body(hop_trace *t, const hop_value *in, void *user)
{
	struct outer *o = user;

	hop_return(t,
	           hop_add(t, hop_mul(t, hop_sin(t, o->c), hop_cos(t, o->a)),
	                   hop_sub(t, hop_exp(t, in[0]), hop_mul(t, o->b, hop_tanh(t, o->c)))),
	           hop_max(t, hop_mulf(t, o->b, 2), hop_addf(t, in[0], 3)));
}

static void else_body(hop_trace *t, const hop_value *in, void *user)
{
	struct outer *o = user;

	hop_return(t, hop_sub(t, hop_mul(t, o->b, o->a), hop_mul(t, in[0], o->b)),
	           hop_min(t, hop_neg(t, o->c), hop_sqrt(t, hop_mul(t, o->a, o->a))));
}

static void nested_cond(hop_trace *t, const hop_value *in, void *user)
{
	struct outer o = { hop_sin(t, in[0]), hop_cos(t, in[1]), hop_mul(t, in[0], in[1]) };
	hop_value x = hop_add(t, hop_exp(t, in[1]), hop_exp(t, in[0]));
	hop_value out[2] = { { 0, 0 }, { 0, 0 } };

	(void)user;
	hop_cond(t, hop_lt(t, hop_sum_all(t, o.a), hop_sum_all(t, o.b)), then_body, else_body, &o,
	         1, &x, 2, out);
	hop_return(t, hop_add(t, hop_mul(t, out[0], in[0]), hop_mul(t, out[1], in[1])));
}

static void step(hop_trace *t, const hop_value *in, void *user)
{
	struct outer *o = user;
	hop_value h = hop_tanh(t, hop_add(t, hop_mul(t, o->b, in[0]), hop_mul(t, o->a, in[1])));

	hop_print(t, "h = {}", 1, &h);
	hop_add_(t, o->c, hop_mul(t, hop_sin(t, h), hop_cos(t, in[0])));
	hop_return(t, h, hop_sub(t, hop_exp(t, h), hop_exp(t, in[0])));
}

/* A scan that prints, writes to a captured tensor and captures two more. */
static void scanned(hop_trace *t, const hop_value *in, void *user)
{
	struct outer o = { hop_neg(t, in[0]), hop_sin(t, in[0]), hop_zeros_like(t, in[0]) };
	hop_value out[2] = { { 0, 0 }, { 0, 0 } };

	(void)user;
	o.c = hop_clone(t, o.c);
	hop_scan(t, step, &o, 1, in, 1, in + 1, NULL, 2, out, NULL);
	hop_return(t, hop_add(t, out[0], o.c), out[1]);
}

static int show(hop_ctx *c, hop_body *f, int nin, const hop_spec *in)
{
	hop_fn *fn;

	if (hop_capture(c, f, NULL, nin, in, &fn)) {
		fprintf(stderr, "%s\n", hop_message(c));
		return 1;
	}
	fputs(hop_fn_text(fn), stdout);
	hop_fn_release(fn);
	return 0;
}

int main(void)
{
	hop_spec two[2] = { hop_spec1(HOP_f64, 4), hop_spec1(HOP_f64, 4) };
	hop_spec scan[2] = { hop_spec1(HOP_f64, 4), hop_spec2(HOP_f64, 5, 4) };
	hop_ctx *c;
	int bad;

	if (hop_ctx_new(NULL, &c))
		return 1;
	bad = show(c, nested_cond, 2, two) + show(c, scanned, 2, scan);
	hop_ctx_free(c);
	return bad;
}
