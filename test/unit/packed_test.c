/* packed_test.c -- floats of 16 bits: every one of them as bits, number and text; f32 rounded to
 * them; ops on them, whose results are the same bits interpreted and compiled; and what must be
 * rounded, or must not, on the way. What PyTorch says of them is in torch_ops_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hop/ctx.h"
#include "text/text.h"
#include "support/native_run.h"
#include "support/retype.h"

enum { ALL = 1 << 16 };

static const hop_dtype packed[] = { HOP_bf16, HOP_f16 };
enum { NPACKED = sizeof packed / sizeof *packed };

static hop_ctx   *ctx;
static hop_env    env;
static hop_frame  frame;
static hop_interp ip;

static int up(void **state)
{
	(void)state;
	assert_int_equal(hop_ctx_new(NULL, &ctx), HOP_OK);
	hop_env_init(&env, ctx, (hop_mem){ 0 });
	if (HOP_GUARD(&env, &frame))
		fail_msg("no memory");
	hop_interp_init(&ip, &env);
	return 0;
}

static int down(void **state)
{
	(void)state;
	hop_interp_fini(&ip);
	hop_guard_end(&env, &frame);
	hop_env_fini(&env);
	hop_ctx_free(ctx);
	return 0;
}

/* ---- the numbers ---- */

/* Bits are a number and it those bits; numbers without sign rise with their bits. */
static void test_bits(void **state)
{
	(void)state;
	for (int k = 0; k < NPACKED; k++) {
		hop_dtype d = packed[k];
		double    last = -1;
		for (unsigned i = 0; i < ALL; i++) {
			uint16_t u = (uint16_t)i, back;
			double   v = hop_elem_f(d, &u);
			hop_elem_set_f(d, &back, v);
			if (isnan(v))
				assert_true(isnan(hop_elem_f(d, &back)));
			else
				assert_int_equal(back, u);
			if (i < ALL / 2 && !isnan(v)) {
				assert_true(v > last);
				last = v;
			}
		}
		assert_true(isinf(last));
	}
	assert_true(hop_elem_f(HOP_bf16, &(uint16_t){ 0x3f80 }) == 1);
	assert_true(hop_elem_f(HOP_bf16, &(uint16_t){ 0x0001 }) == 0x1p-133);
	assert_true(hop_elem_f(HOP_f16, &(uint16_t){ 0xc000 }) == -2);
	assert_true(hop_elem_f(HOP_f16, &(uint16_t){ 0x7bff }) == 65504);
	assert_true(hop_elem_f(HOP_f16, &(uint16_t){ 0x0001 }) == 0x1p-24);
}

/* All of them in one constant, written and read. */
static void test_text(void **state)
{
	(void)state;
	for (int k = 0; k < NPACKED; k++) {
		static uint16_t all[ALL];
		hop_module     *m;
		hop_buf         b;
		for (unsigned i = 0; i < ALL; i++)
			all[i] = (uint16_t)i;
		hop_buf_open(&b, &env);
		hop_putf(&b, "hop 1\ngraph @f() {\n  %%0 = constant {value = %s[%d] ",
		         hop_dtype_name(packed[k]), ALL);
		hop_data_print(&b, packed[k], 1, all, ALL, ALL);
		hop_put(&b, "}\n  return %0\n}\n");
		if (hop_module_parse(&env, b.s, b.n, "all", &m))
			fail_msg("%s", env.diag.text);
		const hop_graph *g = hop_module_find(m, NULL);
		const hop_data  *v = HOP_ATTR(&g->node[0], constant)->value;
		assert_int_equal(v->nbyte, sizeof all);
		assert_memory_equal(v->bytes, all, sizeof all);
		hop_module_free(m, &env.mem);
		hop_buf_free(&b);
	}
}

/* As short as they can be. */
static void test_short(void **state)
{
	static const struct { hop_dtype d; uint16_t bits; const char *text; } want[] = {
		{ HOP_bf16, 0x3dcd, "0.1" }, { HOP_bf16, 0x4049, "3.14" }, { HOP_bf16, 0x7f7f, "3.39e+38" },
		{ HOP_bf16, 0x4380, "256.0" }, { HOP_bf16, 0x7fc0, "nan" }, { HOP_bf16, 0x7fc1, "0x7fc1" },
		{ HOP_bf16, 0xff80, "-inf" }, { HOP_f16, 0x2e66, "0.1" }, { HOP_f16, 0x4248, "3.14" },
		{ HOP_f16, 0x7bff, "65504.0" }, { HOP_f16, 0x0001, "6e-08" }, { HOP_f16, 0x7e00, "nan" },
		{ HOP_f16, 0x8000, "-0.0" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		hop_buf b;
		hop_buf_open(&b, &env);
		hop_elem_print(&b, want[i].d, &want[i].bits);
		assert_string_equal(b.s, want[i].text);
		hop_buf_free(&b);
	}
}

/* ---- programs ---- */

static const hop_graph *graph(hop_dtype d, const char *text, hop_module **m)
{
	if (retype_text(&env, text, strlen(text), "packed", HOP_bf16, d, m))
		fail_msg("%s", env.diag.text);
	return hop_module_find(*m, NULL);
}

static void same_bits(const hop_array *a, const hop_array *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->dtype, b->dtype);
	for (int64_t i = 0; i < a->count; i++) {
		size_t w = hop_dtype_bytes(a->dtype);
		double x = hop_array_f(a, i), y = hop_array_f(b, i);
		bool   same = !memcmp((char *)a->data + (size_t)i * w, (char *)b->data + (size_t)i * w, w);
		if (!same && !(isnan(x) && isnan(y)) && !(x == 0 && y == 0))
			fail_msg("%s element %d: %.9g interpreted, %.9g compiled", hop_dtype_name(a->dtype),
			         (int)i, x, y);
	}
}

/* Both ways on the same inputs; out[] gets the interpreter's results. */
static void both(const hop_graph *g, hop_array *const *in, hop_array **out)
{
	hop_array *code[8];
	if (hop_interp_graph(&ip, g, NULL, in, out) || native_run(&ip, g, NULL, in, code))
		fail_msg("%s", env.diag.text);
	for (uint32_t i = 0; i < g->nout; i++) {
		same_bits(out[i], code[i]);
		hop_interp_release(&ip, code[i]);
	}
}

/* Numbers with the bits of a counter, so that signs, exponents and NaN are all there. */
static uint32_t spread(uint32_t i)
{
	return i * 2654435761u ^ i << 7;
}

/* Ties, the numbers next to them, everything. */
static void test_round(void **state)
{
	static const char text[] =
		"hop 1\ngraph @f(%0: f32[196608], %1: bf16[65536]) {\n"
		"  %2 = cast %0 {dtype = bf16}\n  %3 = cast %1 {dtype = f32}\n"
		"  %4 = cast %3 {dtype = bf16}\n  %5 = cast %0 {dtype = f64}\n"
		"  %6 = cast %5 {dtype = bf16}\n  return %2, %3, %4, %6\n}\n";
	(void)state;
	for (int k = 0; k < NPACKED; k++) {
		hop_module      *m;
		const hop_graph *g = graph(packed[k], text, &m);
		hop_array      *in[2] = { hop_interp_of(&ip, g->type[0]), hop_interp_of(&ip, g->type[1]) };
		hop_array      *out[4];
		float           *x = in[0]->data;
		for (uint32_t i = 0; i < ALL; i++) {
			uint16_t u = (uint16_t)i, next = (uint16_t)(i + 1);
			double   a = hop_elem_f(packed[k], &u), b = hop_elem_f(packed[k], &next);
			uint32_t bits = spread(i);
			x[3 * i] = isfinite(a) && isfinite(b) ? (float)((a + b) / 2) : (float)a;
			x[3 * i + 1] = nextafterf(x[3 * i], i & 1 ? INFINITY : -INFINITY);
			memcpy(&x[3 * i + 2], &bits, sizeof bits);
			((uint16_t *)in[1]->data)[i] = u;
		}
		both(g, in, out);
		same_bits(in[1], out[2]);
		same_bits(out[0], out[3]);          /* f64 by way of f32, as PyTorch does */
		for (int i = 0; i < 4; i++)
			hop_interp_release(&ip, out[i]);
		hop_module_free(m, &env.mem);
	}
}

/* A chain that fuses into one loop: in f32 without the roundings in between it is another. */
static void test_chain(void **state)
{
	static const char text[] =
		"hop 1\ngraph @f(%0: bf16[1003], %1: bf16[1003]) {\n"
		"  %2 = mul %0, %1\n  %3 = add %2, %0\n  %4 = sub %3, %1\n  %5 = div %4, %3\n"
		"  %6 = lt %5, %4\n  %7 = select %6, %5, %2\n  %8 = max %7, %1\n  %9 = min %8, %3\n"
		"  %10 = abs %9\n  %11 = sqrt %10\n  %12 = neg %11\n  %13 = rem %12, %1\n"
		"  %14 = floor %4\n  %15 = sign %5\n  %16 = mul %13, %15\n  %17 = add %16, %14\n"
		"  %18 = sum %17 {axes = [0]}\n  %19 = amax %4 {axes = [0]}\n"
		"  return %3, %5, %17, %18, %19\n}\n";
	(void)state;
	for (int k = 0; k < NPACKED; k++) {
		hop_module      *m, *wide;
		const hop_graph *g = graph(packed[k], text, &m);
		hop_array      *in[2] = { hop_interp_of(&ip, g->type[0]), hop_interp_of(&ip, g->type[1]) };
		hop_array      *f32[2], *out[5], *other[5];
		int              differ = 0;
		for (int64_t i = 0; i < 2 * 1003; i++)
			hop_array_set_f(in[i % 2], i / 2, (double)(spread((uint32_t)i) % 4001) / 997 - 2.0);
		both(g, in, out);
		assert_int_equal(retype_graph(&env, g, HOP_f32, &wide), HOP_OK);
		for (int i = 0; i < 2; i++) {
			f32[i] = hop_interp_of(&ip, hop_module_find(wide, NULL)->type[i]);
			for (int64_t j = 0; j < f32[i]->count; j++)
				hop_array_set_f(f32[i], j, hop_array_f(in[i], j));
		}
		assert_int_equal(hop_interp_graph(&ip, hop_module_find(wide, NULL), NULL, f32, other),
		                 HOP_OK);
		for (int64_t i = 0; i < out[1]->count; i++) {
			uint16_t once;
			hop_elem_set_f(packed[k], &once, hop_array_f(other[1], i));
			differ += hop_elem_f(packed[k], &once) != hop_array_f(out[1], i);
		}
		assert_true(differ > 100);
		hop_module_free(wide, &env.mem);
		hop_module_free(m, &env.mem);
	}
}

/* A sum is rounded once; a carry at every step, so that it stops to grow. */
static void test_sums(void **state)
{
	static const char text[] =
		"hop 1\ngraph @f(%0: bf16[4096], %1: bf16, %2: bf16[4096, 2, 2], %3: bf16[2, 2]) {\n"
		"  %4 = sum %0 {axes = [0]}\n"
		"  %5 = dot %0, %0 {lbatch = [], rbatch = [], lsum = [0], rsum = [0]}\n"
		"  %6 = scan %1, %0 {ncarry = 1, nx = 1, length = 4096} {\n"
		"    body(%0: bf16, %1: bf16) {\n      %2 = add %0, %1\n      return %2\n    }\n  }\n"
		"  %7 = scan %3, %2 {ncarry = 1, nx = 1, length = 4096} {\n"
		"    body(%0: bf16[2, 2], %1: bf16[2, 2]) {\n"
		"      %2 = dot %1, %1 {lbatch = [], rbatch = [], lsum = [1], rsum = [0]}\n"
		"      %3 = add %0, %2\n      return %3\n    }\n  }\n"
		"  return %4, %5, %6, %7\n}\n";
	(void)state;
	for (int k = 0; k < NPACKED; k++) {
		hop_module      *m;
		const hop_graph *g = graph(packed[k], text, &m);
		hop_array      *in[4], *out[4];
		double           stop = ldexp(1, hop_dtype_row(packed[k])->man + 1);
		for (int i = 0; i < 4; i++)
			in[i] = hop_interp_of(&ip, g->type[i]);
		for (int64_t i = 0; i < in[0]->count; i++)
			hop_array_set_f(in[0], i, 1);
		for (int64_t i = 0; i < in[2]->count; i++)
			hop_array_set_f(in[2], i, i % 4 == 0);
		both(g, in, out);
		assert_true(hop_array_f(out[0], 0) == 4096 && hop_array_f(out[1], 0) == 4096);
		assert_true(hop_array_f(out[2], 0) == stop && hop_array_f(out[3], 0) == stop);
		hop_module_free(m, &env.mem);
	}
}

/* Products that take the tile template: whole ones, batches, operands turned around. */
static void test_products(void **state)
{
	static const char *const text[] = {
		"hop 1\ngraph @f(%0: bf16[65, 33], %1: bf16[33, 70]) {\n"
		"  %2 = dot %0, %1 {lbatch = [], rbatch = [], lsum = [1], rsum = [0]}\n"
		"  %3 = neg %2\n  return %2, %3\n}\n",
		"hop 1\ngraph @f(%0: bf16[3, 20, 40], %1: bf16[3, 50, 40]) {\n"
		"  %2 = dot %0, %1 {lbatch = [0], rbatch = [0], lsum = [2], rsum = [2]}\n"
		"  %3 = mul %2, %2\n  return %2, %3\n}\n",
		"hop 1\ngraph @f(%0: bf16[40, 24], %1: bf16[40, 32]) {\n"
		"  %2 = dot %0, %1 {lbatch = [], rbatch = [], lsum = [0], rsum = [0]}\n"
		"  %3 = sum %2 {axes = [0]}\n  return %2, %3\n}\n",
	};
	(void)state;
	for (int k = 0; k < NPACKED * 3; k++) {
		hop_module      *m;
		const hop_graph *g = graph(packed[k / 3], text[k % 3], &m);
		hop_array      *in[2], *out[2];
		for (int i = 0; i < 2; i++) {
			in[i] = hop_interp_of(&ip, g->type[i]);
			for (int64_t j = 0; j < in[i]->count; j++)      /* sums of them are exact in f32 */
				hop_array_set_f(in[i], j, (double)(spread((uint32_t)(j + i)) % 33) / 16 - 1);
		}
		both(g, in, out);
		hop_module_free(m, &env.mem);
	}
}

/* As many bits as the dtype has, below 1. */
static void test_uniform(void **state)
{
	static const char text[] = "hop 1\ngraph @f(%0: i64) {\n"
	                           "  %1 = uniform %0 {dtype = bf16, dims = [5000]}\n  return %1\n}\n";
	(void)state;
	for (int k = 0; k < NPACKED; k++) {
		hop_module      *m;
		const hop_graph *g = graph(packed[k], text, &m);
		hop_array      *in = hop_interp_of(&ip, g->type[0]), *out;
		double           sum = 0;
		hop_array_set_i(in, 0, 42);
		both(g, &in, &out);
		for (int64_t i = 0; i < out->count; i++) {
			double v = hop_array_f(out, i);
			assert_true(v >= 0 && v < 1);
			sum += v;
		}
		assert_true(fabs(sum / 5000 - 0.5) < 0.02);
		hop_module_free(m, &env.mem);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bits), cmocka_unit_test(test_text), cmocka_unit_test(test_short),
		cmocka_unit_test(test_round), cmocka_unit_test(test_chain), cmocka_unit_test(test_sums),
		cmocka_unit_test(test_products), cmocka_unit_test(test_uniform),
	};
	return cmocka_run_group_tests(tests, up, down);
}
