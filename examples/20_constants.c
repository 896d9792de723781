/* Weights that are stored as whole numbers: a layer scales them by column. What depends on the
 * captured arrays alone is computed once, and again when they have changed. */
#include "example.h"

enum { IN = 6, OUT = 4 };

struct layer {
	hop_array *whole, *scale;          /* i32[IN, OUT], f32[OUT] */
};

static void apply(hop_trace *t, const hop_value *in, void *user)
{
	const struct layer *l = user;
	hop_value w = hop_mul(t, hop_cast(t, hop_use(t, l->whole), HOP_f32), hop_use(t, l->scale));
	hop_return(t, hop_tanh(t, hop_matmul(t, in[0], w)));
}

static void call(hop_ctx *c, hop_fn *f, hop_array *x)
{
	hop_array *y;
	must(c, hop_call(f, 1, &x, 1, &y));
	hop_kept k = hop_fn_kept(f);
	for (int i = 0; i < OUT; i++)
		printf(" %7.4f", hop_array_at(y, i));
	printf("   %d value of %d bytes, computed %d times\n", k.values, (int)k.bytes, (int)k.runs);
	hop_array_release(y);
}

int main(void)
{
	hop_ctx *c = context();
	struct layer l;
	hop_fn *f;
	int32_t b[IN * OUT];
	float s[OUT] = { 0.01f, 0.02f, 0.005f, 0.01f }, in[IN] = { 1, 0.5f, -1, 2, 0, 0.25f };
	hop_array *x;
	hop_spec spec = hop_spec1(HOP_f32, IN);

	for (int i = 0; i < IN * OUT; i++)
		b[i] = i * 37 % 101 - 50;
	must(c, hop_array_new(c, HOP_i32, 2, (int64_t[]){ IN, OUT }, b, &l.whole));
	must(c, hop_array_new(c, HOP_f32, 1, (int64_t[]){ OUT }, s, &l.scale));
	must(c, hop_array_new(c, HOP_f32, 1, (int64_t[]){ IN }, in, &x));
	must(c, hop_capture(c, apply, &l, 1, &spec, &f));
	must(c, hop_fn_compile(f, HOP_COMPILE_OPTS(.constants = HOP_CONSTANTS_ONCE)));
	call(c, f, x);
	call(c, f, x);
	((float *)hop_array_data(l.scale))[0] = 0.04f;
	hop_array_changed(l.scale);        /* written through a pointer: say so */
	call(c, f, x);
	call(c, f, x);
	hop_fn_release(f);
	hop_array_release(x);
	hop_array_release(l.whole);
	hop_array_release(l.scale);
	hop_ctx_free(c);
	return 0;
}
/* prints
 -0.8329  0.9302 -0.4342  0.0873   1 value of 96 bytes, computed 1 times
 -0.8329  0.9302 -0.4342  0.0873   1 value of 96 bytes, computed 1 times
 -0.9999  0.9302 -0.4342  0.0873   1 value of 96 bytes, computed 2 times
 -0.9999  0.9302 -0.4342  0.0873   1 value of 96 bytes, computed 2 times
*/
