/* A region: the same layer many times is one graph, captured and compiled once. The text shows it;
 * and a failing program shows what a message looks like. */
#include "example.h"

static void layers(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	for (int i = 0; i < 4; i++) {                 /* a loop of C: four times the layer */
		hop_value w = hop_index(t, in[1], 0, i);
		HOP_REGION(t, "layer", x)
			x = hop_tanh(t, hop_matmul(t, x, w));
	}
	hop_return(t, hop_sum_all(t, x));
}

int main(void)
{
	hop_ctx *c = context();
	hop_fn *f;
	hop_spec in[2] = { hop_spec2(HOP_f32, 2, 3), hop_spec3(HOP_f32, 4, 3, 3) };
	hop_spec bad[2] = { hop_spec2(HOP_f32, 2, 5), in[1] };

	must(c, hop_capture(c, layers, NULL, 2, in, &f));
	fputs(hop_fn_text(f), stdout);
	hop_fn_release(f);
	if (hop_capture(c, layers, NULL, 2, bad, &f))
		puts(hop_message(c));
	hop_ctx_free(c);
	return 0;
}
/* prints
hop 1
graph @layer(%0: f32[2, 3], %1: f32[3, 3]) -> f32[2, 3] {
  %2 = dot %0, %1 {lbatch = [], rbatch = [], lsum = [1], rsum = [0]} : f32[2, 3]
  %3 = tanh %2 : f32[2, 3]
  return %3
}
graph @main(%0: f32[2, 3], %1: f32[4, 3, 3]) -> f32 {
  %2 = slice %1 {start = [0, 0, 0], dims = [1, 3, 3], step = [1, 1, 1]} : f32[1, 3, 3]
  %3 = reshape %2 {dims = [3, 3]} : f32[3, 3]
  %4 = call %0, %3 {body = @layer} : f32[2, 3]
  %5 = slice %1 {start = [1, 0, 0], dims = [1, 3, 3], step = [1, 1, 1]} : f32[1, 3, 3]
  %6 = reshape %5 {dims = [3, 3]} : f32[3, 3]
  %7 = call %4, %6 {body = @layer} : f32[2, 3]
  %8 = slice %1 {start = [2, 0, 0], dims = [1, 3, 3], step = [1, 1, 1]} : f32[1, 3, 3]
  %9 = reshape %8 {dims = [3, 3]} : f32[3, 3]
  %10 = call %7, %9 {body = @layer} : f32[2, 3]
  %11 = slice %1 {start = [3, 0, 0], dims = [1, 3, 3], step = [1, 1, 1]} : f32[1, 3, 3]
  %12 = reshape %11 {dims = [3, 3]} : f32[3, 3]
  %13 = call %10, %12 {body = @layer} : f32[2, 3]
  %14 = sum %13 {axes = [0, 1]} : f32
  return %14
}
examples/04_region.c:12: error: matmul: f32[2, 5] and f32[3, 3]: the left must have as many columns as the right has rows
  examples/04_region.c:11: note: in HOP_REGION
*/
