/* loops.c -- for scripts/check_gdb: loops whose carries are known numbers at every trip, and a nest
 * that runs long enough for perf to meet it. Prints its result. */
#include <stdio.h>
#include <stdlib.h>

#include <hop/hop.h>

/* gdb stops here: all is captured, nothing is compiled. */
void all_captured(void);
__attribute__((noinline)) void all_captured(void)
{
	__asm__ volatile ("" ::: "memory");
}

/* in: h, a vector; x, a scalar */
static void loops(hop_trace *t, const hop_value *in, void *user)
{
	hop_value h = in[0], x = in[1], n = hop_i(t, 0), sum = hop_scalar(t, HOP_f64, 0), table;
	(void)user;

	HOP_WHILE(t, hop_lt(t, n, hop_i(t, 5)), h, x, n) {
		h = hop_cumsum(t, h, 0);                 /* LINE while */
		x = hop_addf(t, hop_sin(t, x), 1);       /* LINE scalar */
		n = hop_add(t, n, hop_i(t, 1));
	}
	HOP_FOR(t, i, 40, sum) {
		hop_value y = hop_take(t, h, hop_rem(t, i, hop_i(t, 4)));
		sum = hop_sub(t, hop_mul(t, y, y), sum);        /* LINE for */
	}
	table = hop_arange(t, HOP_f64, hop_n(1 << 20));
	for (int k = 0; k < 8; k++)
		table = hop_sin(t, hop_mulf(t, table, 1.5));    /* LINE nest */
	hop_return(t, h, x, sum, hop_sum_all(t, table));
}

static void must(hop_ctx *c, hop_status st)
{
	if (st) {
		fprintf(stderr, "%s\n", hop_message(c));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	int64_t four = 4;
	double h[4] = { 1, 0, 0, 2 }, x = 0.5;
	hop_spec s[2] = { hop_spec1(HOP_f64, 4), hop_spec0(HOP_f64) };
	hop_array *in[2], *out[4] = { NULL };
	hop_ctx *c;
	hop_fn *f;
	if (hop_ctx_new(NULL, &c))
		return 1;
	must(c, hop_capture(c, loops, NULL, 2, s, &f));
	must(c, hop_array_new(c, HOP_f64, 1, &four, h, &in[0]));
	must(c, hop_array_new(c, HOP_f64, 0, NULL, &x, &in[1]));
	all_captured();
	for (int n = argc > 1 ? atoi(argv[1]) : 1; n > 0; n--) {
		must(c, hop_call(f, 2, in, 4, out));
		if (n == 1)
			printf("%g %g %.12g %g\n", hop_array_at(out[0], 3), hop_array_at(out[1], 0),
			       hop_array_at(out[2], 0), hop_array_at(out[3], 0));
		for (int i = 0; i < 4; i++)
			hop_array_release(out[i]);
	}
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_fn_release(f);
	hop_ctx_free(c);
	return 0;
}
