/* formula_fuzz.c -- any bytes as a formula on a trace, captured and eager: no crash, no leak, both
 * with the same status, and a failure with a message. With HOP_LIBFUZZER a libFuzzer target; else a
 * program: formula_fuzz COUNT SEED makes COUNT formulas, right ones and some with words put in
 * anywhere. It judges no numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hop/hop.h"

static void must(bool ok, const char *what, const char *text, hop_ctx *c)
{
	if (ok)
		return;
	fprintf(stderr, "formula_fuzz: %s: %s\n%s\n", what, text, hop_message(c));
	abort();
}

static void body(hop_trace *t, const hop_value *in, void *user)
{
	const char *text = user;
	static const char *const names[] = { "x", "x, W", "x, W, i", "x, W, i, p", "x, W, i, p, m->b",
	                                     "x, W, i, p, m->b, in[0]" };
	int n = (unsigned char)*text % 6;         /* the first byte says how many values */
	hop_return(t, hop_formula(t, text + (*text != 0), names[n], n + 1, in));
}

enum { NIN = 6 };

static hop_status capture(hop_ctx *c, char *text, bool sym)
{
	hop_fn *f;
	hop_spec s[NIN] = { hop_spec1(HOP_f32, 3), hop_spec2(HOP_f32, 3, 3), hop_spec0(HOP_i64),
	                    hop_spec1(HOP_bool, 3), hop_spec1(HOP_i64, 2), hop_spec2(HOP_f64, 1, 3) };
	if (sym) {
		s[0] = hop_spec_sym(s[0], 0, "n", 0, 0);
		s[1] = hop_spec_sym(hop_spec_sym(s[1], 0, "n", 0, 0), 1, "n", 0, 0);
	}
	hop_status st = hop_capture(c, body, text, NIN, s, &f);
	must(!st == !!f, "a failure with a function", text, c);
	must(!st || *hop_message(c), "a failure without a message", text, c);
	must(!f || hop_fn_text(f), "a function without a text", text, c);
	hop_fn_release(f);
	return st;
}

static hop_status eager(hop_ctx *c, char *text)
{
	static const int64_t n = 3, k = 2, nn[] = { 3, 3 }, one[] = { 1, 3 };
	hop_array *in[NIN], *out = NULL;
	if (hop_array_new(c, HOP_f32, 1, &n, NULL, &in[0]) ||
	    hop_array_new(c, HOP_f32, 2, nn, NULL, &in[1]) ||
	    hop_array_new(c, HOP_i64, 0, NULL, NULL, &in[2]) ||
	    hop_array_new(c, HOP_bool, 1, &n, NULL, &in[3]) ||
	    hop_array_new(c, HOP_i64, 1, &k, NULL, &in[4]) ||
	    hop_array_new(c, HOP_f64, 2, one, NULL, &in[5]))
		abort();
	hop_status st = hop_eager_call(c, body, text, NIN, in, 1, &out);
	hop_array_release(out);
	for (int i = 0; i < NIN; i++)
		hop_array_release(in[i]);
	return st;
}

/* What a formula of few bytes may ask for is large at times: more than this is refused. */
enum { MOST = 1 << 28 };
static size_t live;

static void *metered(void *user, void *ptr, size_t osize, size_t nsize)
{
	(void)user;
	if (!nsize) {
		live -= ptr ? osize : 0;
		free(ptr);
		return NULL;
	}
	if (nsize > MOST || live > MOST)
		return NULL;
	void *p = realloc(ptr, nsize);
	if (p)
		live += nsize - (ptr ? osize : 0);
	return p;
}

static long accepted;

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	hop_ctx *c;
	hop_ctx_opts o = { .size = sizeof o, .alloc = metered, .threads = 1 };
	char *text = malloc(n + 1);
	if (!text || hop_ctx_new(&o, &c))
		abort();
	memcpy(text, p, n);
	text[n] = '\0';
	hop_status one = capture(c, text, false), two = eager(c, text);
	accepted += !one;
	must(one == two || one == HOP_ENOMEM || two == HOP_ENOMEM, "captured and eager disagree", text,
	     c);
	must(capture(c, text, false) == one, "another outcome the second time", text, c);
	capture(c, text, true);
	free(text);
	hop_ctx_free(c);
	must(!live, "memory is left", "", NULL);
	return 0;
}

#ifndef HOP_LIBFUZZER

/* Marsaglia, "Xorshift RNGs", 2003. */
static uint64_t draw(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static const char *const word[] = {
	"x", "W", "i", "p", "m->b", "in[0]", "x", "W", "+", "-", "*", "/", "%", "@", "**", "<", ">=",
	"==", "&&", "||", "!", "?", ":", "(", ")", "[", "]", "[0]", "[1:]", "[::-1]", "[i]", ",", ", ",
	"=", "axis=", "axis=0", "1", "0", "-1", "2", "0.5", "1e3", "9223372036854775807", "...", "None",
	"sum(", "softmax(", "reshape(", "concat(", "where(", "tanh(", "max(", "cast(", "size_of(",
	"pad(", "permute(", "expand(", "slice(", "dynslice(", "gather(", "f32", "i64", "bool", "pi",
	"mean(", "argmax(", "matmul(", "transpose(", "iota(", "full(", "unsqueeze(", "eps=", "dims=",
	"(0, 1)", "(1,)", " ", "m", "->", ".", "\t", "\xff", "xx", "solve(", "layer_norm(", "not(",
};

static const char *const name[] = { "x", "W", "i", "p", "m->b", "in[0]" };

/* An expression of the first `of` values and numbers. */
static void grow(char *b, size_t cap, int of, int deep, uint64_t *s)
{
	size_t n = strlen(b);
	if (n + 200 > cap)
		return;
	static const char *const op[] = { " + ", " - ", "*", " / ", " @ ", "**", " < ", " == ", " % " };
	static const char *const fn[] = { "tanh(", "sum(", "exp(", "relu(", "sigmoid(", "abs(",
	                                  "mean(" };
	static const char *const at[] = { "[0]", "[-1]", "[1:]", "[::2]", "[None]", "[..., 0]", "[i]",
	                                  "[:, 1]", "[m->b]", "[::-1]" };
	switch (deep ? draw(s) % 6 : 0) {
	case 0:
		strcat(b, draw(s) % 4 ? name[draw(s) % (uint64_t)of] : draw(s) % 2 ? "2" : "0.5");
		break;
	case 1: case 2:
		grow(b, cap, of, deep - 1, s);
		strcat(b, op[draw(s) % 9]);
		grow(b, cap, of, deep - 1, s);
		break;
	case 3:
		strcat(b, fn[draw(s) % 7]);
		grow(b, cap, of, deep - 1, s);
		strcat(b, draw(s) % 4 ? ")" : ", axis=0)");
		break;
	case 4:
		strcat(b, "(");
		grow(b, cap, of, deep - 1, s);
		strcat(b, ")");
		strcat(b, at[draw(s) % 10]);
		break;
	case 5:
		grow(b, cap, of, deep - 1, s);
		strcat(b, " < ");
		grow(b, cap, of, deep - 1, s);
		strcat(b, " ? ");
		grow(b, cap, of, deep - 1, s);
		strcat(b, " : ");
		grow(b, cap, of, deep - 1, s);
		break;
	}
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "formula_fuzz COUNT SEED\n");
		return 2;
	}
	long count = strtol(argv[1], NULL, 10);
	uint64_t s = strtoull(argv[2], NULL, 10) * 2 + 1;
	static char b[8192];
	for (long k = 0; k < count; k++) {
		int of = 1 + (int)(draw(&s) % NIN);
		snprintf(b, sizeof b, "%d", of - 1);
		grow(b, 4000, of, (int)(draw(&s) % 5), &s);
		for (int j = 0; j < of; j++)             /* each must occur */
			sprintf(b + strlen(b), " + sum(%s)", name[j]);
		for (uint64_t j = draw(&s) % 8 * (draw(&s) % 2); j--;) {
			const char *w = word[draw(&s) % (sizeof word / sizeof *word)];
			size_t n = strlen(b), at = 1 + draw(&s) % n, len = strlen(w);
			memmove(b + at + len, b + at, n - at + 1);
			memcpy(b + at, w, len);
		}
		LLVMFuzzerTestOneInput((const uint8_t *)b, strlen(b));
	}
	printf("%ld formulas accepted\n%ld passed, 0 failed\n", accepted, count);
	return 0;
}

#endif
