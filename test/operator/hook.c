/* hook: f(x) with hooks on x and on f(x), whose bodies give the gradient as it came: that of x adds to
 * it what f gives less the same, so that every operator runs inside of a hook, too. */
#include "operator/operator.h"

struct seen {
	const chain *c;
	hop_value    x;
};

static void same_again(hop_trace *t, const hop_value *in, void *user)
{
	const struct seen *s = user;
	hop_value a = chain_inner(t, s->c, s->x);

	hop_return(t, hop_add(t, in[0], hop_sub(t, a, a)));
}

static void turned_twice(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_neg(t, hop_neg(t, in[0])));
}

hop_value apply_hook(hop_trace *t, const chain *c, hop_value x)
{
	hop_value own = hop_clone(t, x), y = chain_inner(t, c, own);
	struct seen s = { c, own };

	hop_hook(t, own, same_again, &s);
	hop_hook(t, y, turned_twice, NULL);
	return y;
}

void ref_hook(const ref *r, int n, const double *x, double *out)
{
	ref_inner(r, n, x, out);
}

/* A hook is on what there was before the write. */
static void write_run(hop_trace *t, hop_value *acc, hop_value x, hop_value *out)
{
	hop_hook(t, *acc, turned_twice, NULL);
	body_write_all(t, *acc, x);
	hop_hook(t, *acc, turned_twice, NULL);
	*out = hop_addf(t, x, 1);
}

int mutation_hook(hop_ctx *c)
{
	return body_writes(c, write_run, 1);
}

static void alias(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_hook(t, in[0], body_keep, NULL);
	hop_return(t, in[0], hop_mulf(t, in[0], 2));
}

int aliasing_hook(hop_ctx *c)
{
	return body_aliases(c, alias);
}

int zero_hook(hop_ctx *c)
{
	(void)c;
	return 0;
}
