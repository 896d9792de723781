/* Arrays on the program's own memory: no copy on the way in, and told when hop needs it no
 * longer. The result goes on to another library the same way, by DLPack. */
#include "example.h"

static void norm(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_div(t, in[0], hop_sqrt(t, hop_sum_all(t, hop_mul(t, in[0], in[0])))));
}

static void done(void *owner)
{
	printf("hop no longer needs %s\n", (const char *)owner);
}

int main(void)
{
	static float x[4] = { 1, 2, 2, 4 };
	static char name[] = "x";
	int64_t n = 4;
	hop_spec s = hop_spec1(HOP_f32, n);
	hop_ctx *c;
	hop_fn *f;
	hop_array *a, *y;
	struct DLManagedTensorVersioned *m;

	if (hop_ctx_new(NULL, &c))
		return 1;
	must(c, hop_capture(c, norm, NULL, 1, &s, &f));
	must(c, hop_array_adopt(c, HOP_f32, 1, &n, x, false, done, name, &a));
	must(c, hop_call(f, 1, &a, 1, &y));
	for (int64_t i = 0; i < n; i++)
		printf("%g\n", hop_array_at(y, i));
	hop_array_release(a);
	/* m keeps y alive for whoever takes it; here the next array does */
	must(c, hop_array_to_dlpack(y, &m));
	hop_array_release(y);
	must(c, hop_array_from_dlpack(c, m, &y));
	must(c, hop_call(f, 1, &y, 1, &a));
	printf("again: %g\n", hop_array_at(a, 3));
	hop_array_release(a);
	hop_array_release(y);
	hop_fn_release(f);
	hop_ctx_free(c);
	return 0;
}
/* prints
0.2
0.4
0.4
0.8
hop no longer needs x
again: 0.8
*/
