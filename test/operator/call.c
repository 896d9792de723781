/* call: 1.1 f(x), as a region. */
#include "operator/operator.h"

static void body(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, chain_inner(t, user, in[0]));
}

hop_value apply_call(hop_trace *t, const chain *c, hop_value x)
{
	hop_value out = HOP_NONE;

	if (c->s->form == FORM_FOREACH)
		return form_call(t, c, x);
	hop_region(t, "part", body, (void *)c, 1, &x, 1, &out);
	return hop_mulf(t, out, 1.1);
}

void ref_call(const ref *r, int n, const double *x, double *out)
{
	ref_inner(r, n, x, out);
	for (int i = 0; i < n; i++)
		out[i] *= 1.1;
}

static void write_run(hop_trace *t, hop_value *acc, hop_value x, hop_value *out)
{
	hop_region(t, "writer", body_write, acc, 1, &x, 1, out);
}

int mutation_call(hop_ctx *c)
{
	return body_writes(c, write_run, 1);
}

static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2] = { HOP_NONE, HOP_NONE };

	(void)user;
	hop_region(t, "twice", body_twice, NULL, 1, in, 2, out);
	hop_return(t, out[0], hop_mulf(t, out[1], 2));
}

int aliasing_call(hop_ctx *c)
{
	return body_aliases(c, alias);
}

int zero_call(hop_ctx *c)
{
	(void)c;
	return 0;
}
