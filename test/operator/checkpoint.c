/* checkpoint: 1.3 f(x), computed again on the way back. */
#include "operator/operator.h"

static void body(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, chain_inner(t, user, in[0]));
}

hop_value apply_checkpoint(hop_trace *t, const chain *c, hop_value x)
{
	hop_value out = HOP_NONE;

	hop_checkpoint(t, body, (void *)(uintptr_t)c, HOP_CHECKPOINT_OPTS(.prefer_save = "sin"), 1, &x, 1,
	               &out);
	return hop_mulf(t, out, 1.3);
}

void ref_checkpoint(const ref *r, int n, const double *x, double *out)
{
	ref_inner(r, n, x, out);
	for (int i = 0; i < n; i++)
		out[i] *= 1.3;
}

static void write_run(hop_trace *t, hop_value *acc, hop_value x, hop_value *out)
{
	hop_checkpoint(t, body_write, acc, NULL, 1, &x, 1, out);
}

int mutation_checkpoint(hop_ctx *c)
{
	return body_writes(c, write_run, 1);
}

static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2] = { HOP_NONE, HOP_NONE };

	(void)user;
	hop_checkpoint(t, body_twice, NULL, NULL, 1, in, 2, out);
	hop_return(t, out[0], hop_mulf(t, out[1], 2));
}

int aliasing_checkpoint(hop_ctx *c)
{
	return body_aliases(c, alias);
}

int zero_checkpoint(hop_ctx *c)
{
	(void)c;
	return 0;
}
