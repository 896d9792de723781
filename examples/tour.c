/* A tour in one file, which compiles as C11 and as C++17: capture a function with a loop and
 * a branch in it, call it, differentiate it, batch the derivative, look at the text. What it
 * does not show: writes (see the other examples). */
#include <stdio.h>
#include <stdlib.h>

#include "hop/hop.h"

/* A body gets values, calls constructors, returns values. Blocks list the variables that they
 * change; x and k come from outside, and using them makes them operands of the loop.
 * f(x, k): five trips of damping or kicking, then a sum. */
static void f(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], k = in[1], y = x;

	(void)user;
	HOP_FOR(t, i, 5, y) {
		HOP_IF(t, hop_gt(t, hop_sum_all(t, y), hop_f(t, 1)), y)
			y = hop_mul(t, y, k);
		else
			y = hop_add(t, y, hop_sin(t, x));
	}
	hop_return(t, hop_sum_all(t, y));
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
/* prints
hop 1
graph @main(%0: f64[3], %1: f64) -> f64 {
  %2 = scan %0, %1, %0 {ncarry = 1, nx = 0, length = 5, every = 0, slots = 0} : f64[3] {
    body(%0: f64[3], %1: f64, %2: f64[3]) -> f64[3] {
      %3 = constant {value = f64 1.0} : f64
      %4 = sum %0 {axes = [0]} : f64
      %5 = lt %3, %4 : bool
      %6 = cond %5, %0, %1, %2 : f64[3] {
        then(%0: f64[3], %1: f64, %2: f64[3]) -> f64[3] {
          %3 = broadcast %1 {dims = [3], axes = []} : f64[3]
          %4 = mul %0, %3 : f64[3]
          return %4
        }
        else(%0: f64[3], %1: f64, %2: f64[3]) -> f64[3] {
          %3 = sin %2 : f64[3]
          %4 = add %0, %3 : f64[3]
          return %4
        }
      }
      return %6
    }
  }
  %3 = sum %2 {axes = [0]} : f64
  return %3
}
f         1.189540
df/dx     1.991257 1.965117 1.921839
df/dk     1.788046
two lanes 1.189540 0.573198
df/dx     1.991257 1.965117 1.921839 1.580605 -0.332294 2.255165
df/dk     1.788046 1.146396
*/
