/* scan: three steps x = f(x (0.5 + 0.25 i)), or as many as the subject says; each gives the sum of
 * x, and a tenth of all these is added at the end. A subject that stops does so after a step whose
 * sum is above 0.6. */
#include <string.h>

#include "operator/operator.h"

enum { STEPS = 3 };

static void step(hop_trace *t, const hop_value *in, void *user)
{
	const chain *c = user;
	hop_value y = chain_inner(t, c, hop_mul(t, in[0], in[1])), sum = hop_sum_all(t, y);

	if (c->s->stops)
		hop_stop_if(t, hop_lt(t, hop_f(t, 0.6), sum));
	hop_return(t, y, sum);
}

hop_value apply_scan(hop_trace *t, const chain *c, hop_value x)
{
	hop_scan_opts o;
	hop_value w = chain_ramp(t, x, c->s->steps ? c->s->steps : STEPS, 0.5, 0.25);
	hop_value out[2] = { HOP_NONE, HOP_NONE };

	if (c->s->form > FORM_UNROLL && c->s->form <= FORM_WHILE_STACK && !c->s->stops)
		return form_scan(t, c, x);
	memset(&o, 0, sizeof o);
	o.size = sizeof o;
	o.every = c->s->every;
	o.slots = c->s->slots;
	o.unroll = c->s->form == FORM_UNROLL ? 2 : 0;
	o.slots = c->s->slots;
	hop_scan(t, step, (void *)c, 1, &x, 1, &w, &o, 2, out, NULL);
	return hop_add(t, out[0], hop_mulf(t, hop_sum_all(t, out[1]), 0.1));
}

void ref_scan(const ref *r, int n, const double *x, double *out)
{
	double b[SUBJECT_MAX], ys = 0, y = 0;
	int steps = r->s->steps ? r->s->steps : STEPS, j = 0;

	memcpy(out, x, sizeof *x * (size_t)n);
	for (; j < steps && !(r->s->stops && y > 0.6); j++) {
		for (int i = 0; i < n; i++)
			b[i] = out[i] * (0.25 * j + 0.5);
		ref_inner(r, n, b, out);
		y = ref_total(n, out);
		ys += y;
	}
	ref_went(r, j);
	for (int i = 0; i < n; i++)
		out[i] += 0.1 * ys;
}

static void some(hop_trace *t, hop_body *body, void *user, int steps, hop_value x, hop_value *out)
{
	hop_scan_opts o;

	memset(&o, 0, sizeof o);
	o.size = sizeof o;
	o.has_length = true;
	o.length = hop_n(steps);
	hop_scan(t, body, user, 1, &x, 0, NULL, &o, 1, out, NULL);
}

static void write_run(hop_trace *t, hop_value *acc, hop_value x, hop_value *out)
{
	some(t, body_write, acc, 3, x, out);
}

int mutation_scan(hop_ctx *c)
{
	return body_writes(c, write_run, 3);
}

/* The carry as it is, and stacked slices of y, which are y. */
static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = hop_mulf(t, in[0], 2), out[2] = { HOP_NONE, HOP_NONE };

	(void)user;
	hop_scan(t, body_pair, NULL, 1, in, 1, &y, NULL, 2, out, NULL);
	hop_return(t, out[0], out[1]);
}

int aliasing_scan(hop_ctx *c)
{
	return body_aliases(c, alias);
}

static void idle(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out = HOP_NONE;

	(void)user;
	some(t, body_square, NULL, 0, in[0], &out);
	hop_return(t, hop_sum_all(t, out), out);
}

/* No steps give back what they got, with gradient one. */
int zero_scan(hop_ctx *c)
{
	static const double one[BODY_N] = { 1, 1, 1 };

	return body_gradient(c, idle, body_x, one);
}
