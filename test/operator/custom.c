/* custom: f(x) with a rule of its own in both modes, which is the right one. What a custom function
 * computes depends only on its inputs, so k is one of them. */
#include <string.h>

#include "operator/operator.h"

/* The rest of the chain with another k. */
static hop_value inner_with(hop_trace *t, const chain *c, hop_value x, hop_value k)
{
	chain own[SUBJECT_DEPTH + 1];
	int i = 0;

	for (const chain *l = c; l; l = l->in, i++) {
		own[i] = *l;
		own[i].k = k;
		own[i].in = l->in ? &own[i + 1] : NULL;
	}
	return chain_inner(t, own, x);
}

static void inner(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, inner_with(t, user, in[0], in[1]));
}

static void fwd(hop_trace *t, const hop_value *in, void *user)
{
	hop_save(t, 2, in);
	inner(t, in, user);
}

/* x, k, ct -> f(x, k) . ct */
static void paired(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = inner_with(t, user, in[0], in[1]);

	hop_return(t, hop_sum_all(t, hop_mul(t, y, in[2])));
}

static void bwd(hop_trace *t, const hop_value *in, void *user)
{
	static const int wrt[2] = { 0, 1 };
	hop_value out[3] = { HOP_NONE, HOP_NONE, HOP_NONE };

	hop_grad_at(t, paired, user, 3, in, 2, wrt, 3, out);
	hop_return(t, out[1], out[2]);
}

static void jvp(hop_trace *t, const hop_value *in, void *user)
{
	static const int wrt[2] = { 0, 1 };
	hop_value out[2] = { HOP_NONE, HOP_NONE };

	hop_jvp_at(t, inner, user, 2, in, 2, wrt, in + 2, 2, out);
	hop_return(t, out[1]);
}

hop_value apply_custom(hop_trace *t, const chain *c, hop_value x)
{
	static const hop_custom_rule rule = { .size = sizeof rule, .fwd = fwd, .bwd = bwd, .jvp = jvp };
	hop_value in[2] = { x, c->k }, out = HOP_NONE;

	hop_custom(t, &rule, (void *)c, 2, in, 1, &out);
	return out;
}

void ref_custom(const ref *r, int n, const double *x, double *out)
{
	ref_inner(r, n, x, out);
}

/* What a custom function captures is constant to it; its inputs it may write. */
static void write_fwd(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	body_write_all(t, in[1], in[0]);
	hop_return(t, hop_addf(t, in[0], 1));
}

static void write_run(hop_trace *t, hop_value *acc, hop_value x, hop_value *out)
{
	static const hop_custom_rule rule = { .size = sizeof rule, .fwd = write_fwd, .bwd = body_pair };
	hop_value in[2] = { x, *acc };

	hop_custom(t, &rule, NULL, 2, in, 1, out);
}

int mutation_custom(hop_ctx *c)
{
	return body_writes(c, write_run, 1);
}

static void twice_bwd(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_add(t, in[0], in[1]));
}

static void alias(hop_trace *t, const hop_value *in, void *user)
{
	static const hop_custom_rule rule = { .size = sizeof rule, .fwd = body_twice, .bwd = twice_bwd };
	hop_value out[2] = { HOP_NONE, HOP_NONE };

	(void)user;
	hop_custom(t, &rule, NULL, 1, in, 2, out);
	hop_return(t, out[0], hop_mulf(t, out[1], 2));
}

int aliasing_custom(hop_ctx *c)
{
	return body_aliases(c, alias);
}

int zero_custom(hop_ctx *c)
{
	(void)c;
	return 0;
}
