/* What the scan and the call of the matrix compute, written with what is made of other operators:
 * fori_loop, while_stack_output, foreach_map. Unrolled scans and chunked maps differ by an option,
 * and are in scan.c and map.c. */
#include <string.h>

#include "operator/operator.h"

static int steps_of(const chain *c)
{
	return c->s->steps ? c->s->steps : 3;
}

/* 0.5 + 0.25 (i - from), of the dtype of x. */
static hop_value weight(hop_trace *t, hop_value i, int from, hop_value x)
{
	return hop_addf(t, hop_mulf(t, hop_cast(t, i, hop_dtype_of(t, x)), 0.25), 0.5 - 0.25 * from);
}

/* i, x, sum -> x', sum' */
static void count_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_value w = weight(t, in[0], 2, in[1]);
	hop_value y = chain_inner(t, user, hop_mul(t, in[1], w));

	hop_return(t, y, hop_add(t, in[2], hop_sum_all(t, y)));
}

static hop_value as_fori(hop_trace *t, const chain *c, hop_value x)
{
	hop_value in[2] = { x, hop_full(t, hop_dtype_of(t, x), 0, NULL, 0) };
	hop_value out[2] = { HOP_NONE, HOP_NONE };
	hop_value end = hop_scalar(t, HOP_i64, 2 + steps_of(c));
	hop_fori_opts o;

	memset(&o, 0, sizeof o);
	o.size = sizeof o;
	o.every = c->s->every;
	o.slots = c->s->slots;
	if (c->s->form == FORM_FORI_BOUND)
		o.max_trips = steps_of(c) + 2;
	if (c->s->form == FORM_FORI)
		hop_fori_loop(t, 2, 2 + steps_of(c), count_body, (void *)c, 2, in, &o, out);
	else
		hop_fori_loop(t, 2, end, count_body, (void *)c, 2, in, &o, out);
	return hop_add(t, out[0], hop_mulf(t, out[1], 0.1));
}

static void stack_test(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_lt(t, in[0], hop_i(t, steps_of(user))));
}

/* i, x -> i + 1, x', sum */
static void stack_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = chain_inner(t, user, hop_mul(t, in[1], weight(t, in[0], 0, in[1])));

	hop_return(t, hop_add(t, in[0], hop_i(t, 1)), y, hop_sum_all(t, y));
}

static hop_value as_while_stack(hop_trace *t, const chain *c, hop_value x)
{
	hop_value in[2] = { hop_scalar(t, HOP_i64, 0), x };
	hop_value out[3] = { HOP_NONE, HOP_NONE, HOP_NONE };
	hop_while_opts o;

	memset(&o, 0, sizeof o);
	o.size = sizeof o;
	o.max_trips = steps_of(c) + 1;
	hop_while_stack_output(t, stack_test, stack_body, (void *)c, 2, in, &o, 3, out, NULL);
	return hop_add(t, out[1], hop_mulf(t, hop_sum_all(t, out[2]), 0.1));
}

hop_value form_scan(hop_trace *t, const chain *c, hop_value x)
{
	return c->s->form == FORM_WHILE_STACK ? as_while_stack(t, c, x) : as_fori(t, c, x);
}

static void each_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, chain_inner(t, user, in[0]), hop_sum_all(t, in[0]));
}

/* 1.1 f(x), from f(x) twice, and the sums of two tensors of unlike shapes, which cancel. */
hop_value form_call(hop_trace *t, const chain *c, hop_value x)
{
	hop_value one = hop_unsqueeze(t, hop_sum_all(t, x), 0), in[3] = { x, one, x }, out[6];

	memset(out, 0, sizeof out);
	hop_foreach_map(t, each_body, (void *)c, 3, 1, in, 6, out);
	hop_value sum = hop_sub(t, out[3], hop_mulf(t, hop_add(t, out[1], out[5]), 0.5));
	return hop_add(t, hop_mulf(t, hop_add(t, out[0], out[4]), 0.55), sum);
}
