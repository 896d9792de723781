/* while: x = f(x) + 0.3, four times at most, as long as the sum of x is below 3. */
#include <string.h>

#include "operator/operator.h"

static void test(hop_trace *t, const hop_value *in, void *user)
{
	hop_value few = hop_lt(t, in[0], hop_i(t, 4));
	hop_value small = hop_lt(t, hop_sum_all(t, in[1]), hop_f(t, 3));

	(void)user;
	hop_return(t, hop_and(t, few, small));
}

static void trip(hop_trace *t, const hop_value *in, void *user)
{
	hop_value i = hop_add(t, in[0], hop_i(t, 1));

	hop_return(t, i, hop_addf(t, chain_inner(t, user, in[1]), 0.3));
}

hop_value apply_while(hop_trace *t, const chain *c, hop_value x)
{
	hop_value in[2] = { hop_full(t, HOP_i64, 0, NULL, 0), x }, out[2] = { HOP_NONE, HOP_NONE };
	hop_while_opts o;

	memset(&o, 0, sizeof o);
	o.size = sizeof o;
	o.slots = c->s->slots;
	hop_while(t, test, trip, (void *)c, 2, in, &o, out, NULL);
	return out[1];
}

void ref_while(const ref *r, int n, const double *x, double *out)
{
	double b[SUBJECT_MAX];
	int trips = 0;

	memcpy(out, x, sizeof *x * (size_t)n);
	for (; trips < 4 && ref_total(n, out) < 3; trips++) {
		ref_inner(r, n, out, b);
		for (int i = 0; i < n; i++)
			out[i] = b[i] + 0.3;
	}
	ref_went(r, trips);
}

static void three(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_lt(t, in[0], hop_i(t, 3)));
}

static void write_trip(hop_trace *t, const hop_value *in, void *user)
{
	hop_value i = hop_clone(t, in[0]);

	hop_add_(t, i, hop_i(t, 1));
	body_write_all(t, *(hop_value *)user, in[1]);
	hop_add_(t, in[1], hop_f(t, 1));           /* the carry itself is written */
	hop_return(t, i, in[1]);
}

static void write_run(hop_trace *t, hop_value *acc, hop_value x, hop_value *out)
{
	hop_value in[2] = { hop_full(t, HOP_i64, 0, NULL, 0), x }, all[2] = { HOP_NONE, HOP_NONE };

	hop_while(t, three, write_trip, acc, 2, in, NULL, all, NULL);
	*out = all[1];
}

int mutation_while(hop_ctx *c)
{
	return body_writes(c, write_run, 3);
}

static void swap_trip(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_add(t, in[0], hop_i(t, 1)), in[2], in[1]);
}

/* Three swaps are one. */
static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a[3] = { hop_full(t, HOP_i64, 0, NULL, 0), hop_mulf(t, in[0], 2), in[0] };
	hop_value out[3] = { HOP_NONE, HOP_NONE, HOP_NONE };

	(void)user;
	hop_while(t, three, swap_trip, NULL, 3, a, NULL, out, NULL);
	hop_return(t, out[1], out[2]);
}

int aliasing_while(hop_ctx *c)
{
	return body_aliases(c, alias);
}

static void never(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_lt(t, hop_sum_all(t, in[0]), hop_f(t, -100)));
}

static void idle(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out = HOP_NONE;

	(void)user;
	hop_while(t, never, body_square, NULL, 1, in, NULL, &out, NULL);
	hop_return(t, hop_sum_all(t, out), out);
}

/* No trips give back what they got, with gradient one. */
int zero_while(hop_ctx *c)
{
	static const double one[BODY_N] = { 1, 1, 1 };

	return body_gradient(c, idle, body_x, one);
}
