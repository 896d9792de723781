/* npy_test.c -- .npy files as hop writes them and as an enemy would. Every refusal has a
 * message with the name of the file and the reason; nothing is read past the end, which the
 * sanitizers see, since each file lies in memory of its exact size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/npy.h"
#include "ctx/ctx.h"

static hop_ctx *ctx;
static hop_env env;
static hop_frame frame;

static int up(void **state)
{
	(void)state;
	if (hop_ctx_new(NULL, &ctx))
		return 1;
	hop_env_init(&env, ctx, hop_ctx_mem(ctx));
	hop_guard_begin(&env, &frame);        /* memory is plenty: the exit is never taken */
	return 0;
}

static int down(void **state)
{
	(void)state;
	hop_guard_end(&env, &frame);
	hop_env_fini(&env);
	hop_ctx_free(ctx);
	return 0;
}

/* A file of a version, with the header's own length unless one is given, and n zeros. */
struct file {
	int         version;
	const char *head;
	size_t      nhead, nzero;
	long        claim;             /* length that the file says its header has; 0 = true */
};

static char *make(const struct file *f, size_t *out_n)
{
	size_t at = f->version == 1 ? 10 : 12, n = at + f->nhead + f->nzero;
	size_t len = f->claim ? (size_t)f->claim : f->nhead;
	char *s = calloc(1, n);
	assert_non_null(s);
	memcpy(s, "\x93NUMPY", 6);
	s[6] = (char)f->version;
	for (size_t i = 8; i < at; i++)
		s[i] = (char)(len >> 8 * (i - 8));
	memcpy(s + at, f->head, f->nhead);
	*out_n = n;
	return s;
}

static hop_status read_bytes(const char *s, size_t n, hop_npy *a)
{
	char *own = malloc(n ? n : 1);             /* so that a byte too far is seen */
	assert_non_null(own);
	memcpy(own, s, n);
	hop_diag_clear(&env);
	hop_status st = hop_npy_read(&env, "file.npy", own, n, a);
	if (!st) {
		size_t w = hop_dtype_bytes(a->dtype);
		assert_true((size_t)(a->bytes - own) + (size_t)a->count * w == n);
		void *to = malloc((size_t)a->count * w + 1);
		assert_non_null(to);
		hop_npy_copy(a, to);
		free(to);
	}
	free(own);
	a->bytes = NULL;
	return st;
}

static void refused(const struct file *f, hop_status st, const char *want)
{
	size_t n;
	hop_npy a;
	char *s = make(f, &n);
	if (read_bytes(s, n, &a) != st || !env.diag.text ||
	    !strstr(env.diag.text, "file.npy: ") || !strstr(env.diag.text, want))
		fail_msg("%s: status %d, %s\nwanted: %s", f->head, env.diag.st,
		         env.diag.text ? env.diag.text : "no text", want);
	free(s);
}

static void accepted(const struct file *f, hop_dtype d, int rank, int64_t count)
{
	size_t n;
	hop_npy a;
	char *s = make(f, &n);
	if (read_bytes(s, n, &a))
		fail_msg("%s: %s", f->head, env.diag.text);
	assert_int_equal(a.dtype, d);
	assert_int_equal(a.rank, rank);
	assert_int_equal(a.count, count);
	free(s);
}

#define HEAD(s) .head = s, .nhead = sizeof s - 1
#define DICT(descr, order, shape) \
	HEAD("{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }   \n")

/* ---- good files ---- */

static void round_trip(void **state)
{
	static const int64_t dim[3] = { 2, 3, 4 };
	unsigned char x[24 * 8], y[24 * 8];
	(void)state;
	for (size_t i = 0; i < sizeof x; i++)
		x[i] = (unsigned char)(i * 37 % 2);
	for (int rank = 0; rank <= 3; rank++)
		for (int k = 0; k < HOP_NDTYPE; k++) {
			hop_dtype dt = (hop_dtype)k;
			hop_buf b;
			hop_npy a;
			int64_t count = 1;
			for (int i = 0; i < rank; i++)
				count *= dim[i];
			hop_buf_open(&b, &env);
			hop_npy_write(&b, dt, rank, dim, x);
			size_t bytes = (size_t)count * hop_dtype_bytes(dt);
			assert_int_equal((b.n - bytes) % 64, 0);       /* elements start aligned */
			assert_int_equal(hop_npy_read(&env, "x", b.s, b.n, &a), HOP_OK);
			assert_int_equal(a.dtype, dt);
			assert_int_equal(a.rank, rank);
			assert_int_equal(a.count, count);
			assert_memory_equal(a.dim, dim, (size_t)rank * sizeof *dim);
			hop_npy_copy(&a, y);
			assert_memory_equal(x, y, bytes);
			hop_buf_free(&b);
		}
}

static void versions_and_shapes(void **state)
{
	(void)state;
	for (int v = 1; v <= 3; v++) {
		accepted(&(struct file){ v, DICT("'<f4'", "False", "(2, 3)"), .nzero = 24 }, HOP_f32,
		         2, 6);
		accepted(&(struct file){ v, DICT("\"|b1\"", "False", "(5,)"), .nzero = 5 }, HOP_bool,
		         1, 5);
		accepted(&(struct file){ v, DICT("'<i8'", "False", "()"), .nzero = 8 }, HOP_i64, 0, 1);
		accepted(&(struct file){ v, DICT("'<f2'", "False", "(3,)"), .nzero = 6 }, HOP_f16, 1, 3);
		/* NumPy has no name for it: 2 bytes, as the packages that have one write it */
		accepted(&(struct file){ v, DICT("'<V2'", "False", "(3,)"), .nzero = 6 }, HOP_bf16, 1, 3);
		accepted(&(struct file){ v, DICT("'|V2'", "False", "(3,)"), .nzero = 6 }, HOP_bf16, 1, 3);
		accepted(&(struct file){ v, DICT("'<f8'", "True", "(0,)") }, HOP_f64, 1, 0);
		accepted(&(struct file){ v, DICT("'<f8'", "False", "(3, 0, 99999)") }, HOP_f64, 3, 0);
		accepted(&(struct file){ v, DICT("'<i4'", "False", "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
		         "1, 1, 1, 1, 1)"), .nzero = 4 }, HOP_i32, 16, 1);
	}
	/* any order of the keys, and no blank that need not be there */
	accepted(&(struct file){ 1, HEAD("{'shape':(2,),'fortran_order':False,'descr':'<f4'}\n"),
	         .nzero = 8 }, HOP_f32, 1, 2);
}

/* The first axis fastest: x[i][j][k] is number i + 2 j + 6 k of the file. */
static void fortran(void **state)
{
	struct file f = { 1, DICT("'<i4'", "True", "(2, 3, 4)"), .nzero = 96 };
	size_t n;
	hop_npy a;
	int32_t y[24];
	(void)state;
	char *s = make(&f, &n);
	for (int32_t i = 0; i < 24; i++)
		memcpy(s + n - 96 + 4 * i, &i, 4);
	assert_int_equal(hop_npy_read(&env, "x", s, n, &a), HOP_OK);
	hop_npy_copy(&a, y);
	for (int i = 0; i < 24; i++)
		assert_int_equal(y[i], i / 12 + 2 * (i / 4 % 3) + 6 * (i % 4));
	free(s);
}

static void bools(void **state)
{
	struct file f = { 1, DICT("'|b1'", "False", "(3,)"), .nzero = 3 };
	size_t n;
	hop_npy a;
	unsigned char y[3];
	(void)state;
	char *s = make(&f, &n);
	s[n - 2] = (char)0x80;
	s[n - 1] = 1;
	assert_int_equal(hop_npy_read(&env, "x", s, n, &a), HOP_OK);
	hop_npy_copy(&a, y);
	assert_true(!y[0] && y[1] == 1 && y[2] == 1);
	free(s);
}

/* ---- bad ones ---- */

static void bad_starts(void **state)
{
	struct file f = { 1, DICT("'<f4'", "False", "(2,)"), .nzero = 8 };
	size_t n;
	hop_npy a;
	char *s = make(&f, &n);
	(void)state;
	for (int i = 0; i < 6; i++) {              /* the magic */
		s[i] ^= 1;
		assert_int_equal(read_bytes(s, n, &a), HOP_EPARSE);
		assert_non_null(strstr(env.diag.text, "magic"));
		s[i] ^= 1;
	}
	for (int v = 0; v < 256; v++) {
		s[6] = (char)v;
		assert_int_equal(read_bytes(s, n, &a), v == 1 ? HOP_OK : HOP_EPARSE);
		s[6] = 1;
		s[7] = (char)v;
		assert_int_equal(read_bytes(s, n, &a), v == 0 ? HOP_OK : HOP_EPARSE);
		s[7] = 0;
	}
	assert_int_equal(read_bytes("", 0, &a), HOP_EPARSE);
	free(s);
	for (int v = 1; v <= 3; v++) {             /* a header that ends behind the file */
		f.version = v;
		f.claim = (long)(f.nhead + f.nzero + 1);
		refused(&f, HOP_EPARSE, "cut off");
		f.claim = v == 1 ? 0xffff : 0xffffffff;
		refused(&f, HOP_EPARSE, "cut off");
		f.claim = (long)f.nhead - 1;
		refused(&f, HOP_EPARSE, "end of the line");
		f.claim = 1;
		refused(&f, HOP_EPARSE, "dict");
	}
}

static void every_length(void **state)
{
	(void)state;
	for (int v = 1; v <= 3; v++) {
		struct file f = { v, DICT("'<f8'", "False", "(2, 2)"), .nzero = 33 };
		size_t n;
		hop_npy a;
		char *s = make(&f, &n);
		for (size_t k = 0; k <= n; k++)
			assert_int_equal(read_bytes(s, k, &a), k == n - 1 ? HOP_OK : HOP_EPARSE);
		assert_non_null(strstr(env.diag.text, "needs 32 bytes of elements, there are 33"));
		free(s);
	}
}

/* Each byte of the header replaced by each other: never a crash, and what is accepted has
 * its elements, which read_bytes asks. */
static void every_byte(void **state)
{
	struct file f = { 1, DICT("'<f4'", "False", "(2, 3)"), .nzero = 24 };
	size_t n, ok = 0;
	hop_npy a;
	char *s = make(&f, &n);
	(void)state;
	for (size_t i = 0; i < n - 24; i++)
		for (int v = 1; v < 256; v++) {
			s[i] = (char)(s[i] ^ v);
			ok += !read_bytes(s, n, &a);
			s[i] = (char)(s[i] ^ v);
		}
	assert_true(ok < 10);                  /* i4 for f4; quotes never, they come in pairs */
	free(s);
}

static void dtypes(void **state)
{
	static const struct { struct file f; hop_status st; const char *text; } cases[] = {
		{ { 1, DICT("'\0f4'", "False", "(1,)"), .nzero = 4 }, HOP_EPARSE, "simple dtype" },
		{ { 1, DICT("'<f4\0'", "False", "(1,)"), .nzero = 4 }, HOP_EPARSE, "simple dtype" },
		{ { 1, DICT("'<\0f4'", "False", "(1,)"), .nzero = 4 }, HOP_EPARSE, "simple dtype" },
		{ { 1, DICT("'\\x3cf4'", "False", "(1,)"), .nzero = 4 }, HOP_EPARSE, "simple dtype" },
		{ { 1, DICT("'=f4'", "False", "(1,)"), .nzero = 4 }, HOP_ETYPE, "dtype =f4" },
		{ { 1, DICT("'|f4'", "False", "(1,)"), .nzero = 4 }, HOP_ETYPE, "dtype |f4" },
		{ { 1, DICT("'f4'", "False", "(1,)"), .nzero = 4 }, HOP_EPARSE, "simple dtype" },
		{ { 1, DICT("'<b1'", "False", "(1,)"), .nzero = 1 }, HOP_ETYPE, "dtype <b1" },
		{ { 1, DICT("'>b1'", "False", "(1,)"), .nzero = 1 }, HOP_ETYPE, "dtype >b1" },
		{ { 1, DICT("'|b4'", "False", "(1,)"), .nzero = 4 }, HOP_ETYPE, "dtype |b4" },
		{ { 1, DICT("'|f2'", "False", "(1,)"), .nzero = 2 }, HOP_ETYPE, "dtype |f2" },
		{ { 1, DICT("'<V3'", "False", "(1,)"), .nzero = 3 }, HOP_ETYPE,
		  "dtype <V3: hop reads bool, i32, i64, f32, f64, bf16, f16" },
		{ { 1, DICT("'<f44'", "False", "(1,)"), .nzero = 4 }, HOP_ETYPE, "dtype <f44" },
		{ { 1, DICT("'<u4'", "False", "(1,)"), .nzero = 4 }, HOP_ETYPE, "dtype <u4" },
		{ { 1, DICT("'<c8'", "False", "(1,)"), .nzero = 8 }, HOP_ETYPE, "dtype <c8" },
		{ { 1, DICT("'|O'", "False", "(1,)"), .nzero = 8 }, HOP_EPARSE, "simple dtype" },
		{ { 1, DICT("''", "False", "(1,)"), .nzero = 4 }, HOP_EPARSE, "simple dtype" },
		{ { 1, DICT("'<f4\"", "False", "(1,)"), .nzero = 4 }, HOP_ETYPE, "dtype <f4\"" },
		{ { 1, DICT("<f4", "False", "(1,)"), .nzero = 4 }, HOP_EPARSE, "simple dtype" },
		{ { 1, DICT("[('a', '<f4')]", "False", "(1,)"), .nzero = 4 }, HOP_EPARSE,
		  "simple dtype" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		refused(&cases[i].f, cases[i].st, cases[i].text);
}

/* The other byte order: the same numbers. */
static void swapped(void **state)
{
	struct file f = { 1, DICT("'>i4'", "False", "(2,)"), .nzero = 8 };
	size_t n;
	hop_npy a;
	char *s = make(&f, &n);
	int32_t v[2];
	(void)state;
	memcpy(s + n - 8, "\x01\x02\x03\x04\xff\xff\xff\xfe", 8);
	assert_int_equal(hop_npy_read(&env, "file.npy", s, n, &a), HOP_OK);
	hop_npy_copy(&a, v);
	assert_int_equal(v[0], 0x01020304);
	assert_int_equal(v[1], -2);
	free(s);
}

static void shapes(void **state)
{
	static const struct { struct file f; const char *text; } cases[] = {
		{ { 1, DICT("'<f4'", "False", "(-1,)"), .nzero = 4 }, "no number" },
		{ { 1, DICT("'<f4'", "False", "(+1,)"), .nzero = 4 }, "no number" },
		{ { 1, DICT("'<f4'", "False", "(01,)"), .nzero = 4 }, "no number" },
		{ { 1, DICT("'<f4'", "False", "(1.0,)"), .nzero = 4 }, "no tuple" },
		{ { 1, DICT("'<f4'", "False", "(1L,)"), .nzero = 4 }, "no tuple" },
		{ { 1, DICT("'<f4'", "False", "(0x1,)"), .nzero = 4 }, "no tuple" },
		{ { 1, DICT("'<f4'", "False", "(1)"), .nzero = 4 }, "no tuple" },
		{ { 1, DICT("'<f4'", "False", "[1]"), .nzero = 4 }, "no tuple" },
		{ { 1, DICT("'<f4'", "False", "1"), .nzero = 4 }, "no tuple" },
		{ { 1, DICT("'<f4'", "False", "(1 1)"), .nzero = 4 }, "no tuple" },
		{ { 1, DICT("'<f4'", "False", "(1, 1 1)"), .nzero = 4 }, "does not end" },
		{ { 1, DICT("'<f4'", "False", "(1,, 1)"), .nzero = 4 }, "no number" },
		{ { 1, DICT("'<f4'", "False", "(,)"), .nzero = 4 }, "no number" },
		{ { 1, DICT("'<f4'", "False", "(1, 1"), .nzero = 4 }, "no number" },
		{ { 1, DICT("'<f4'", "False", "(1,\0)"), .nzero = 4 }, "no number" },
		{ { 1, DICT("'<f4'", "False", "((1,),)"), .nzero = 4 }, "no number" },
		{ { 1, DICT("'<f4'", "False", "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)"),
		    .nzero = 4 }, "too many" },
		{ { 1, DICT("'<f4'", "False", "(281474976710657,)"), .nzero = 4 }, "too large" },
		{ { 1, DICT("'<f4'", "False", "(99999999999999999999999,)"), .nzero = 4 },
		  "too large" },
		{ { 1, DICT("'<f4'", "False", "(4294967296, 4294967296)"), .nzero = 4 },
		  "more elements" },
		{ { 1, DICT("'<f4'", "False", "(0, 4294967296, 4294967296)") }, "more elements" },
		{ { 1, DICT("'<f4'", "False", "(281474976710656,)"), .nzero = 4 }, "needs" },
		{ { 1, DICT("'<f4'", "False", "(1073741825,)"), .nzero = 4 },
		  "needs 4294967300 bytes of elements, there are 4" },
		{ { 1, DICT("'<f4'", "False", "(0,)"), .nzero = 1 }, "needs 0 bytes" },
		{ { 1, DICT("'<f4'", "False", "()"), .nzero = 8 }, "needs 4 bytes" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		refused(&cases[i].f, HOP_EPARSE, cases[i].text);
}

static void dicts(void **state)
{
#define D "'descr': '<f4'"
#define O "'fortran_order': False"
#define S "'shape': (1,)"
	static const struct { struct file f; const char *text; } cases[] = {
		{ { 1, HEAD(""), .nzero = 4 }, "no dict" },
		{ { 1, HEAD("\n"), .nzero = 4 }, "no dict" },
		{ { 1, HEAD("{}\n"), .nzero = 4 }, "lacks" },
		{ { 1, HEAD("{" D ", " O "}\n"), .nzero = 4 }, "lacks" },
		{ { 1, HEAD("{" D ", " S "}\n"), .nzero = 4 }, "lacks" },
		{ { 1, HEAD("{" O ", " S "}\n"), .nzero = 4 }, "lacks" },
		{ { 1, HEAD("{" D ", " D ", " O ", " S "}\n"), .nzero = 4 }, "second key" },
		{ { 1, HEAD("{" D ", " O ", " S ", 'more': 1}\n"), .nzero = 4 }, "unknown" },
		{ { 1, HEAD("{'Descr': '<f4', " O ", " S "}\n"), .nzero = 4 }, "unknown" },
		{ { 1, HEAD("{'descr\0': '<f4', " O ", " S "}\n"), .nzero = 4 }, "no dict" },
		{ { 1, HEAD("{descr: '<f4', " O ", " S "}\n"), .nzero = 4 }, "no dict" },
		{ { 1, HEAD("{'descr\": '<f4', " O ", " S "}\n"), .nzero = 4 }, "no dict" },
		{ { 1, HEAD("{'descr' '<f4', " O ", " S "}\n"), .nzero = 4 }, "no dict" },
		{ { 1, HEAD("{" D " " O ", " S "}\n"), .nzero = 4 }, "does not end" },
		{ { 1, HEAD("{" D ",, " O ", " S "}\n"), .nzero = 4 }, "no dict" },
		{ { 1, HEAD("{" D ", " O ", " S "\n"), .nzero = 4 }, "does not end" },
		{ { 1, HEAD("{" D ", " O ", " S "}"), .nzero = 4 }, "end of the line" },
		{ { 1, HEAD("{" D ", " O ", " S "} \n \n"), .nzero = 4 }, "end of the line" },
		{ { 1, HEAD("{" D ", " O ", " S "} x\n"), .nzero = 4 }, "end of the line" },
		{ { 1, HEAD("{" D ", " O ", " S "}\0\n"), .nzero = 4 }, "end of the line" },
		{ { 1, HEAD("{" D ", " O ", " S "}}\n"), .nzero = 4 }, "end of the line" },
		{ { 1, HEAD("{" D ",\t" O ", " S "}\n"), .nzero = 4 }, "no dict" },
		{ { 1, HEAD("{" D ", 'fortran_order': Truer, " S "}\n"), .nzero = 4 },
		  "does not end" },
		{ { 1, HEAD("{" D ", 'fortran_order': true, " S "}\n"), .nzero = 4 }, "neither" },
		{ { 1, HEAD("{" D ", 'fortran_order': 'False', " S "}\n"), .nzero = 4 }, "neither" },
		{ { 1, HEAD("{" D ", 'fortran_order': 0, " S "}\n"), .nzero = 4 }, "neither" },
		{ { 1, HEAD("{" D ", 'fortran_order': Fals"), .nzero = 4 }, "neither" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		refused(&cases[i].f, HOP_EPARSE, cases[i].text);
#undef D
#undef O
#undef S
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(versions_and_shapes),
		cmocka_unit_test(fortran),
		cmocka_unit_test(bools),
		cmocka_unit_test(bad_starts),
		cmocka_unit_test(every_length),
		cmocka_unit_test(every_byte),
		cmocka_unit_test(dtypes),
		cmocka_unit_test(swapped), cmocka_unit_test(shapes),
		cmocka_unit_test(dicts),
	};
	return cmocka_run_group_tests(tests, up, down);
}

#undef HEAD
#undef DICT
