/* cuda_pieces_test.c -- a program as several texts: each kernel is in one of them, with all that it
 * calls and reads, and each compiles by itself (where there is an NVRTC, or the emulated one). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop/lower.h"
#include "target/cuda/pieces.h"
#include "text/text.h"

/* text: NULL is that of the one before; least, most: pieces */
typedef struct program { const char *name, *text; int least, most; } program;

static const program programs[] = {
	/* three large nests, one behind the other */
	{ "nests",
	  "hop 1\n"
	  "graph @f(%0: f64[70]) {\n"
	  "  %1 = sum %0 {axes = [0]}\n"
	  "  %2 = broadcast %1 {dims = [70], axes = []}\n"
	  "  %3 = sub %0, %2\n"
	  "  %4 = sum %3 {axes = [0]}\n"
	  "  %5 = broadcast %4 {dims = [70], axes = []}\n"
	  "  %6 = mul %3, %5\n"
	  "  %7 = argsort %6 {axis = 0}\n"
	  "  return %6, %7\n"
	  "}\n", 4, 8 },
	{ "nests in three", NULL, 2, 3 },
	{ "nests in one", NULL, 1, 1 },
	/* one table in several kernels */
	{ "table",
	  "hop 1\n"
	  "graph @f(%0: f64[6]) {\n"
	  "  %1 = constant {value = f64[6] [1.5, 2.0, 3.0, 4.0, 5.0, 6.0]}\n"
	  "  %2 = mul %0, %1\n"
	  "  %3 = sum %2 {axes = [0]}\n"
	  "  %4 = broadcast %3 {dims = [6], axes = []}\n"
	  "  %5 = add %4, %1\n"
	  "  return %5\n"
	  "}\n", 1, 8 },
	/* lists that are called with a constant, and a function that two kernels call */
	{ "calls",
	  "hop 1\n"
	  "graph @g(%0: f64[6], %1: f64[6]) -> f64[6] {\n"
	  "  %2 = mul %0, %1\n"
	  "  %3 = sum %2 {axes = [0]}\n"
	  "  %4 = broadcast %3 {dims = [6], axes = []}\n"
	  "  %5 = tanh %4\n"
	  "  %6 = sub %1, %5\n"
	  "  return %6\n"
	  "}\n"
	  "graph @f(%0: f64[6], %1: i64) {\n"
	  "  %2 = constant {value = f64[6] [1.5, 2.0, 3.0, 4.0, 5.0, 6.0]}\n"
	  "  %3 = call %2, %0 {body = @g}\n"
	  "  %4, %5 = while %0, %1, %2 {ncarry = 1} {\n"
	  "    test(%0: f64[6], %1: i64, %2: f64[6]) -> bool {\n"
	  "      %3 = sum %0 {axes = [0]}\n"
	  "      %4 = cast %1 {dtype = f64}\n"
	  "      %5 = lt %3, %4\n"
	  "      return %5\n"
	  "    }\n"
	  "    body(%0: f64[6], %1: i64, %2: f64[6]) -> f64[6] {\n"
	  "      %3 = call %2, %0 {body = @g}\n"
	  "      return %3\n"
	  "    }\n"
	  "  }\n"
	  "  %6 = call %3, %4 {body = @g}\n"
	  "  %7 = scan %6, %2 {ncarry = 1, nx = 0, length = 20} {\n"
	  "    body(%0: f64[6], %1: f64[6]) -> f64[6] {\n"
	  "      %2 = call %1, %0 {body = @g}\n"
	  "      return %2\n"
	  "    }\n"
	  "  }\n"
	  "  return %7, %5\n"
	  "}\n", 2, 8 },
};

static int count(const char *s, const char *what)
{
	int n = 0;
	for (; (s = strstr(s, what)); s++)
		n++;
	return n;
}

/* Its definition stands there. */
static bool defines(const hop_buf *text, int kernel)
{
	char name[64];
	snprintf(name, sizeof name, " t_%d(const hop_word *table", kernel);
	return count(text->s, name) == 1;
}

static int judge(hop_env *e, const program *p, const hop_prog *q)
{
	hop_cuda_kernel *kernel = HOP_NEWN(&e->tmp, hop_cuda_kernel, q->nfunc);
	hop_cuda_needs needs = { 0 };
	hop_buf text[HOP_BESIDE];
	hop_bytes cubin[HOP_BESIDE];
	int n, bad = 0, all = 0, given = 0;
	assert_int_equal(hop_cuda_pieces(e, q, "t", p->most, kernel, &needs, text, &n), HOP_OK);
	if (n < p->least || n > p->most) {
		fprintf(stderr, "%s: %d pieces\n", p->name, n);
		bad = 1;
	}
	for (int i = 0; i < n; i++) {
		all += count(text[i].s, "extern \"C\" __global__");
		given += i && strstr(text[i].s, "\nHOP_GIVEN");
	}
	for (int i = 0; i < q->nfunc; i++) {
		bool is = q->func[i].level == HOP_LEVEL_KERNEL;
		all -= is;
		if (is && (kernel[i].piece >= n || !defines(&text[kernel[i].piece], i))) {
			fprintf(stderr, "%s: kernel %d is not in piece %d\n", p->name, i, kernel[i].piece);
			bad = 1;
		}
	}
	if (all || given) {
		fprintf(stderr, "%s: %d kernels too many, %d constants of lists\n", p->name, all, given);
		bad = 1;
	}
	if (!bad && getenv("HOP_NVRTC")) {
		bad = hop_cuda_cubins(e, n, text, "sm_90a", cubin) != HOP_OK;
		if (bad)
			fprintf(stderr, "%s: %s\n", p->name, e->diag.text);
		else
			hop_cuda_cubins_free(e, n, cubin);
	}
	for (int i = 0; i < n; i++)
		hop_buf_free(&text[i]);
	return bad;
}

static int check(hop_env *e, const program *p, const char *text)
{
	static const hop_machine few = { .blocks = 5, .warp = 32, .shared = 48 << 10, .small = 4,
	                                 .loops = 1 };
	hop_lower_opts o = { .machine = &few };
	hop_module *m;
	hop_prog   *q;
	if (hop_module_parse(e, text, strlen(text), p->name, &m)) {
		fprintf(stderr, "%s\n", e->diag.text);
		return 1;
	}
	assert_int_equal(hop_lower_graph(e, hop_module_find(m, "f"), &o, &q), HOP_OK);
	int bad = judge(e, p, q);
	hop_prog_free(q, &e->mem);
	hop_module_free(m, &e->mem);
	return bad;
}

static void test_programs(void **state)
{
	const char *text = NULL;
	int         bad = 0;
	(void)state;
	setenv("HOP_PART", "1", 1);
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		const program *p = &programs[i];
		hop_ctx   *ctx;
		hop_env    e;
		hop_frame  f;
		text = p->text ? p->text : text;
		assert_int_equal(hop_ctx_new(NULL, &ctx), HOP_OK);
		hop_env_init(&e, ctx, hop_ctx_mem(ctx));
		if (HOP_GUARD(&e, &f))
			fail_msg("no memory");
		bad += check(&e, p, text);
		hop_guard_end(&e, &f);
		hop_env_fini(&e);
		hop_ctx_free(ctx);
	}
	unsetenv("HOP_PART");
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_programs) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
