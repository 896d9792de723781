/* A tour in one file, which compiles as C11 and as C++17: capture a function with a loop and
 * a branch in it, call it, differentiate it, batch the derivative, look at the text. What it
 * does not show: writes (see the other examples). */
#include <stdio.h>
#include <stdlib.h>

#include "hop/hop.h"

/* A body gets values, calls constructors, returns values. x and k come from the trace that
 * holds the loop: using them makes them operands of it. */
struct scope { hop_value x, k; };

static void more(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_lt(t, in[0], hop_i(t, 5)));
}

static void damp(hop_trace *t, const hop_value *in, void *user)
{
	const struct scope *s = (const struct scope *)user;

	hop_return(t, hop_mul(t, in[0], s->k));
}

static void kick(hop_trace *t, const hop_value *in, void *user)
{
	const struct scope *s = (const struct scope *)user;

	hop_return(t, hop_add(t, in[0], hop_sin(t, s->x)));
}

static void trip(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y[1] = { { 0, 0 } };
	hop_value big = hop_lt(t, hop_f(t, 1), hop_sum_all(t, in[1]));

	hop_cond(t, big, damp, kick, user, 1, in + 1, 1, y);
	hop_return(t, hop_add(t, in[0], hop_i(t, 1)), y[0]);
}

/* f(x, k): five trips of damp or kick, then a sum. */
static void f(hop_trace *t, const hop_value *in, void *user)
{
	struct scope s = { in[0], in[1] };
	hop_value init[2] = { hop_full(t, HOP_i64, 0, NULL, 0), in[0] }, out[2];

	(void)user;
	out[1] = in[0];
	hop_while(t, more, trip, &s, 2, init, NULL, out, NULL);
	hop_return(t, hop_sum_all(t, out[1]));
}

static void show(const char *what, hop_array *a)
{
	printf("%s", what);
	for (int64_t i = 0; i < hop_array_count(a); i++)
		printf(" %.6f", hop_array_at(a, i));
	printf("\n");
	hop_array_release(a);
}

/* Every fallible function returns a status; the text is in the context. */
static void must(hop_ctx *c, hop_status st)
{
	if (st) {
		fprintf(stderr, "%s\n", hop_message(c));
		exit(1);
	}
}

int main(void)
{
	const double x[6] = { 0.1, 0.2, 0.3, 1.0, -2.0, 0.5 }, k = 0.5;
	const int64_t vec[1] = { 3 }, mat[2] = { 2, 3 };
	const int wrt[2] = { 0, 1 };
	const bool batched[2] = { true, false };
	hop_spec in[2] = { hop_spec1(HOP_f64, 3), hop_spec0(HOP_f64) };
	hop_array *a[2], *b[2], *out[3];
	hop_fn *fn, *grad, *lanes;
	hop_ctx *c;

	if (hop_ctx_new(NULL, &c))
		return 1;
	must(c, hop_capture(c, f, NULL, 2, in, &fn));
	must(c, hop_grad(fn, 2, wrt, &grad));
	must(c, hop_vmap(grad, batched, 2, &lanes));
	printf("%s", hop_fn_text(fn));

	must(c, hop_array_new(c, HOP_f64, 1, vec, x, &a[0]));
	must(c, hop_array_new(c, HOP_f64, 0, NULL, &k, &a[1]));
	must(c, hop_call(grad, 2, a, 3, out));
	show("f        ", out[0]);
	show("df/dx    ", out[1]);
	show("df/dk    ", out[2]);

	must(c, hop_array_new(c, HOP_f64, 2, mat, x, &b[0]));
	b[1] = a[1];
	must(c, hop_call(lanes, 2, b, 3, out));
	show("two lanes", out[0]);
	show("df/dx    ", out[1]);
	show("df/dk    ", out[2]);

	hop_array_release(a[0]);
	hop_array_release(a[1]);
	hop_array_release(b[0]);
	hop_fn_release(lanes);
	hop_fn_release(grad);
	hop_fn_release(fn);
	hop_ctx_free(c);
	return 0;
}
