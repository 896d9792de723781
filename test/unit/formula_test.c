/* formula_test.c -- formulas: the graph of each is the graph of the calls that it stands for,
 * also with sizes that are symbols; values, captured and eager; names; every mistake with its
 * message; want of memory; threads. How ops compute is not asked here. */
#include "trace_rig.h"

#include <pthread.h>

#include "trace/formula.h"
#include "trace/raw.h"

/* ---- the same graph as the calls ---- */

#define VARS \
	hop_value x = in[0], y = in[1], W = in[2], i = in[3], k = in[4], p = in[5], q = in[6], \
	          c = in[7]; \
	(void)x; (void)y; (void)W; (void)i; (void)k; (void)p; (void)q; (void)c; (void)user;

#define PAIR(name, formula, calls, ...) \
	static void e_##name(hop_trace *t, const hop_value *in, void *user) \
	{ \
		VARS \
		hop_return(t, HOP_E(t, formula, __VA_ARGS__)); \
	} \
	static void c_##name(hop_trace *t, const hop_value *in, void *user) \
	{ \
		VARS \
		hop_return(t, calls); \
	}
#include "formula_pairs.h"

static const struct pair { const char *formula; hop_body *e, *c; } pairs[] = {
#define PAIR(name, formula, calls, ...) { formula, e_##name, c_##name },
#include "formula_pairs.h"
};
enum { NPAIR = sizeof pairs / sizeof *pairs, NIN = 8 };

/* sym: n is a size symbol of at least min. */
static void specs(hop_spec *s, bool sym, int64_t min)
{
	s[0] = s[1] = hop_spec1(HOP_f32, 3);
	s[2] = hop_spec2(HOP_f32, 3, 3);
	s[3] = hop_spec0(HOP_i64);
	s[4] = hop_spec1(HOP_i64, 2);
	s[5] = s[6] = hop_spec1(HOP_bool, 3);
	s[7] = hop_spec1(HOP_i32, 3);
	for (int k = 0; sym && k < NIN; k++)
		for (int a = 0; a < s[k].rank && k != 4; a++)
			s[k] = hop_spec_sym(s[k], a, "n", min, 0);
}

/* What a capture gives: its text, or the first line of its message without the place. */
static char *outcome(hop_body *f, void *user, int nin, const hop_spec *s, hop_status *out_st)
{
	hop_fn *fn;
	*out_st = hop_capture(ctx, f, user, nin, s, &fn);
	char *text;
	if (*out_st) {
		const char *m = strstr(hop_message(ctx), "error: ");
		assert_non_null(m);
		text = strdup(m);
		text[strcspn(text, "\n")] = '\0';
	} else {
		text = strdup(hop_fn_text(fn));
	}
	hop_fn_release(fn);
	return text;
}

static void same_graphs(const hop_spec *s, int *out_good)
{
	*out_good = 0;
	for (int k = 0; k < NPAIR; k++) {
		hop_status one, two;
		char *a = outcome(pairs[k].e, NULL, NIN, s, &one);
		char *b = outcome(pairs[k].c, NULL, NIN, s, &two);
		if (one != two || strcmp(a, b))
			fail_msg("%s\nformula:\n%s\ncalls:\n%s", pairs[k].formula, a, b);
		*out_good += !one;
		free(a);
		free(b);
	}
}

static void graphs(void **state)
{
	hop_spec s[NIN];
	int good;
	(void)state;
	specs(s, false, 0);
	same_graphs(s, &good);
	assert_int_equal(good, NPAIR - 2);          /* outside and crossed are refused */
}

static void symbols(void **state)
{
	hop_spec s[NIN];
	int good;
	(void)state;
	for (int64_t min = 0; min < 4; min++) {
		specs(s, true, min);
		same_graphs(s, &good);
		assert_in_range(good, NPAIR - 8, NPAIR - 1);
	}
}

/* Both ways, eagerly, on arrays: the same bits. */
static void eager(void **state)
{
	static const float x[] = { 0.5f, -1.25f, 2 }, y[] = { 1.5f, 0.25f, -3 },
	                   w[] = { 2, 1, 0.5f, -1, 3, 0.25f, 0.75f, -2, 4 };
	static const int64_t i = 1, k[] = { 2, 0 }, n = 3, two = 2, nn[] = { 3, 3 };
	static const uint8_t p[] = { 1, 0, 1 }, q[] = { 0, 0, 1 };
	static const int32_t c[] = { 5, -7, 2 };
	(void)state;
	hop_array *in[NIN] = { array(HOP_f32, 1, &n, x), array(HOP_f32, 1, &n, y),
	                       array(HOP_f32, 2, nn, w), array(HOP_i64, 0, NULL, &i),
	                       array(HOP_i64, 1, &two, k), array(HOP_bool, 1, &n, p),
	                       array(HOP_bool, 1, &n, q), array(HOP_i32, 1, &n, c) };
	for (int j = 0; j < NPAIR; j++) {
		hop_array *a = NULL, *b = NULL;
		hop_status one = hop_eager_call(ctx, pairs[j].e, NULL, NIN, in, 1, &a);
		hop_status two_ = hop_eager_call(ctx, pairs[j].c, NULL, NIN, in, 1, &b);
		assert_int_equal(one, two_);
		if (!one) {
			assert_int_equal(hop_array_dtype(a), hop_array_dtype(b));
			assert_int_equal(hop_array_count(a), hop_array_count(b));
			size_t bytes = (size_t)hop_array_count(a) * hop_dtype_bytes(hop_array_dtype(a));
			if (bytes)
				assert_memory_equal(hop_array_data(a), hop_array_data(b), bytes);
		}
		hop_array_release(a);
		hop_array_release(b);
	}
	for (int j = 0; j < NIN; j++)
		hop_array_release(in[j]);
}

/* A row that is in no pair is not tested. */
static void every_row(void **state)
{
	(void)state;
	for (int k = 0; hop_fx_row_at(k); k++) {
		char want[64];
		bool found = false;
		snprintf(want, sizeof want, "%s(", hop_fx_row_at(k)->name);
		for (int j = 0; j < NPAIR && !found; j++)
			for (const char *s = pairs[j].formula; (s = strstr(s, want)) && !found; s++)
				found = s == pairs[j].formula || !strchr("_abcdefghijklmnopqrstuvwxyz", s[-1]);
		if (!found)
			fail_msg("%s is in no formula of formula_pairs.h", hop_fx_row_at(k)->name);
	}
}

/* Elementwise rows come out of ops.def: each can be called, on floats or on integers. */
static void by_name(hop_trace *t, const hop_value *in, void *user)
{
	int op = *(const int *)user, n = hop_optab[op].nin;
	char text[64];
	hop_value v[3] = { in[n == 3 ? 2 : 0], in[1], in[0] };
	snprintf(text, sizeof text, n == 1 ? "%s(a)" : n == 2 ? "%s(a, b)" : "%s(a, b, c)",
	         hop_optab[op].name);
	hop_return(t, hop_formula(t, text, n == 1 ? "a" : n == 2 ? "a, b" : "a, b, c", n, v));
}

static void by_row(hop_trace *t, const hop_value *in, void *user)
{
	int op = *(const int *)user, n = hop_optab[op].nin;
	hop_value v[3] = { in[n == 3 ? 2 : 0], in[1], in[0] };
	hop_return(t, hop_at_point(t, __FILE__, __LINE__, op, n, v));
}

static void elementwise(void **state)
{
	(void)state;
	int seen = 0;
	for (int op = 1; op < HOP_NOPS; op++) {
		const hop_opinfo *o = &hop_optab[op];
		if (!(o->flags & HOP_F_E) || o->nfield)
			continue;
		int good = 0;
		for (int kind = 0; kind < 2; kind++) {
			hop_dtype d = kind ? HOP_i64 : HOP_f64;
			hop_spec s[3] = { hop_spec1(d, 2), hop_spec1(d, 2), hop_spec1(HOP_bool, 2) };
			hop_status one, two;
			char *a = outcome(by_name, &op, 3, s, &one), *b = outcome(by_row, &op, 3, s, &two);
			if (one != two || strcmp(a, b))
				fail_msg("%s\n%s\n%s", o->name, a, b);
			good += !one;
			free(a);
			free(b);
		}
		assert_in_range(good, 1, 2);
		seen++;
	}
	assert_in_range(seen, 40, 400);
}

/* ---- names ---- */

struct layer { hop_value w, b; };
struct model { hop_value W; struct layer layer[3], *top; };

static void f_names(hop_trace *t, const hop_value *in, void *user)
{
	struct model one = { in[0], { { in[0], in[1] }, { in[1], in[0] }, { in[1], in[1] } }, NULL };
	struct model *m = &one;
	hop_value x = in[0], x2 = in[1], *at = &one.W;
	(void)user;
	m->top = &one.layer[1];
	hop_value a = HOP_E(t, "m->W * one.layer[2].w + m -> top->b", m->W, one.layer[2].w, m->top->b);
	hop_value b = HOP_E(t, "in[0] * in[1] + in[0]", in[0], in[1]);
	hop_value c = HOP_E(t, "x * x2 + x", x, x2);
	hop_value d = HOP_E(t, "W * y + W", HOP_AS(W, m->W), HOP_AS(y, hop_add(t, in[1], hop_i(t, 0))));
	hop_value e = HOP_E(t, "*at * hop_neg(t, x2) - -*at", *at, hop_neg(t, x2));
	hop_value f = HOP_E(t, "sum * sum(sum)", HOP_AS(sum, x));
	hop_return(t, a, b, c, d, e, f);
}

static void names(void **state)
{
	double x[] = { 1, 2, 3 }, y[] = { 5, 7, 11 }, want[] = { 6, 16, 36 }, neg[] = { -4, -12, -30 },
	       sum[] = { 6, 12, 18 };
	(void)state;
	struct rig r = { .f = f_names, .nin = 2, .nout = 6, .in = { vec(3, x), vec(3, y) },
	                 .want = { want, want, want, want, neg, sum }, .n = { 3, 3, 3, 3, 3, 3 } };
	rig_run(&r);
}

/* ---- inside operators ---- */

struct rnn { hop_value W, U, b; };

static void step_e(hop_trace *t, const hop_value *in, void *user)
{
	const struct rnn *m = user;
	hop_value h = HOP_E(t, "tanh(m->W @ in[0] + m->U @ in[1] + m->b)", m->W, in[0], m->U, in[1],
	                    m->b);
	hop_return(t, h, h);
}

static void step_c(hop_trace *t, const hop_value *in, void *user)
{
	const struct rnn *m = user;
	hop_value h = hop_tanh(t, hop_add(t, hop_add(t, hop_matmul(t, m->W, in[0]),
	                                             hop_matmul(t, m->U, in[1])), m->b));
	hop_return(t, h, h);
}

static void loss(hop_trace *t, const hop_value *in, void *user)
{
	struct rnn m = { in[0], in[1], in[2] };
	hop_value out[2] = { { 0, 0 }, { 0, 0 } }, init = hop_zeros_like(t, m.b);
	bool formula = *(const bool *)user;
	hop_scan(t, formula ? step_e : step_c, &m, 1, &init, 1, &in[3], NULL, 2, out, NULL);
	if (formula)
		hop_return(t, HOP_E(t, "sum(ys ** 2) / 2", HOP_AS(ys, out[1])));
	else
		hop_return(t, hop_div(t, hop_sum_all(t, hop_pow(t, out[1], hop_i(t, 2))), hop_i(t, 2)));
}

static void f_grad(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[4];
	for (int k = 0; k < 4; k++)
		out[k] = in[0];
	hop_grad_at(t, loss, user, 4, in, 3, (int[]){ 0, 1, 2 }, 4, out);
	hop_return(t, out[0], out[1], out[2], out[3]);
}

static void nested(void **state)
{
	bool yes = true, no = false;
	hop_status one, two;
	(void)state;
	hop_spec s[4] = { hop_spec2(HOP_f32, 3, 3), hop_spec2(HOP_f32, 3, 2), hop_spec1(HOP_f32, 3),
	                  hop_spec_sym(hop_spec2(HOP_f32, 5, 2), 0, "steps", 1, 0) };
	char *a = outcome(f_grad, &yes, 4, s, &one), *b = outcome(f_grad, &no, 4, s, &two);
	assert_int_equal(one, HOP_OK);
	assert_string_equal(a, b);
	free(a);
	free(b);
}

/* ---- mistakes ---- */

struct mistake {
	const char *formula, *names;
	int         n;
	hop_status  st;
	const char *want;                /* what follows "error: " */
};

static const struct mistake *wrong;

static void f_wrong(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_formula(t, wrong->formula, wrong->names, wrong->n, in));
}

#define P HOP_EPARSE
static const struct mistake mistakes[] = {
	{ "x +", "x", 1, P, "formula: it ends where a value is wanted\n    x +\n       ^" },
	{ "", "", 0, P, "formula: it ends where a value is wanted\n    \n    ^" },
	{ "x y", "x, y", 2, P, "formula: `y` stands where an operator or the end is wanted\n"
	  "    x y\n      ^" },
	{ "x = y", "x, y", 2, P, "formula: `=` stands where an operator or the end is wanted: == "
	  "compares\n    x = y\n      ^" },
	{ "(x * y", "x, y", 2, P, "formula: it ends where `)` is wanted\n    (x * y\n          ^" },
	{ "x[1", "x", 1, P, "formula: it ends where `]` is wanted\n    x[1\n       ^" },
	{ "x[", "x", 1, P, "formula: it ends where a value is wanted\n    x[\n      ^" },
	{ "x ? y", "x, y", 2, P, "formula: it ends where `:` is wanted\n    x ? y\n         ^" },
	{ "x & y", "x, y", 2, P, "formula: `&` stands where an operator or the end is wanted\n"
	  "    x & y\n      ^" },
	{ "x + $", "x", 1, P, "formula: `$` stands where a value is wanted\n    x + $\n        ^" },
	{ "x + \xc3\xa4", "x", 1, P, "formula: `?` stands where a value is wanted\n    x + ??\n"
	  "        ^" },
	{ "x + Weight", "x, weight", 2, P, "formula: there is no value `Weight`: did you mean "
	  "`weight`?\n    x + Weight\n        ^~~~~~" },
	{ "x + z", "x", 1, P, "formula: there is no value `z`: list it after the formula\n"
	  "    x + z\n        ^" },
	{ "x + m->w", "x, m", 2, P, "formula: there is no value `m->w`: list it after the formula\n"
	  "    x + m->w\n        ^~~~" },
	{ "x + z", "x, f(x)", 2, P, "formula: there is no value `z`: a value that is a call gets its name "
	  "by HOP_AS(z, ..)\n    x + z\n        ^" },
	{ "x + sum", "x", 1, P, "formula: `sum` is a function: what is it called with?\n"
	  "    x + sum\n        ^~~" },
	{ "tahn(x)", "x", 1, P, "formula: there is no function `tahn`: did you mean `tanh`?\n"
	  "    tahn(x)\n    ^~~~" },
	{ "wonderful(x)", "x", 1, P, "formula: there is no function `wonderful`\n"
	  "    wonderful(x)\n    ^~~~~~~~~" },
	{ "x", "x, y", 2, P, "formula: the value `y` is not in it\n    x\n    ^" },
	{ "exp()", "", 0, P, "formula: exp(x): what is missing is `x`\n    exp()\n    ^~~~~" },
	{ "exp(x, x)", "x", 1, P, "formula: exp(x): too many arguments\n    exp(x, x)\n           ^" },
	{ "softmax(x)", "x", 1, P, "formula: softmax(x, int axis): what is missing is `axis`\n"
	  "    softmax(x)\n    ^~~~~~~~~~" },
	{ "softmax(x, axes=1)", "x", 1, P, "formula: softmax(x, int axis): there is no argument of this "
	  "name\n    softmax(x, axes=1)\n               ^~~~" },
	{ "softmax(x, 1, axis=1)", "x", 1, P, "formula: softmax(x, int axis): twice `axis`\n"
	  "    softmax(x, 1, axis=1)\n               ^" },
	{ "sum(x, axis=0, axes=0)", "x", 1, P, "formula: sum(x, ints axes|axis=): twice `axes|axis`\n"
	  "    sum(x, axis=0, axes=0)\n                   ^~~~~~" },
	{ "softmax(axis=1, x)", "x", 1, P, "formula: softmax(x, int axis): arguments without a name come "
	  "first\n    softmax(axis=1, x)\n                    ^" },
	{ "softmax(x, y)", "x, y", 2, P, "formula: this is not a size: whole numbers are, size_of(x, "
	  "axis), and + - * / min max of them\n    softmax(x, y)\n               ^" },
	{ "softmax(x, 0.5)", "x", 1, P, "formula: this is not a size" },
	{ "cast(x, 3)", "x", 1, P, "formula: cast(x, dtype dtype): `dtype` is a dtype, as f32\n"
	  "    cast(x, 3)\n            ^" },
	{ "full_like(x, x)", "x", 1, P, "formula: full_like(x, real v): `v` is a number\n"
	  "    full_like(x, x)\n                 ^" },
	{ "x + f32", "x", 1, P, "formula: a dtype is not a value\n    x + f32\n        ^~~" },
	{ "(x, x) + 1", "x", 1, P, "formula: a list is not a value\n    (x, x) + 1\n    ^~~~~~" },
	{ "exp((x, x))", "x", 1, P, "formula: a list is not a value" },
	{ "x + ()", "x", 1, P, "formula: a list is not a value" },
	{ "x < y < x", "x, y", 2, P, "formula: comparisons do not follow each other: write a < b && b < c"
	  "\n    x < y < x\n          ^" },
	{ "x == y == x", "x, y", 2, P, "formula: comparisons do not follow each other" },
	{ "x + 1.5f", "x", 1, P, "formula: this is not a number\n    x + 1.5f\n        ^~~~" },
	{ "x + 12e", "x", 1, P, "formula: this is not a number" },
	{ "x + 99999999999999999999", "x", 1, P, "formula: this integer has more than 64 bits" },
	{ "x[y:]", "x, y", 2, P, "formula: this is not a size" },
	{ "x[::0]", "x", 1, P, "formula: a step is a number, and not 0\n    x[::0]\n        ^" },
	{ "x[..., ...]", "x", 1, P, "formula: `...` stands twice" },
	{ "x[0,1]", "x", 1, HOP_EVALUE, "formula: 2 indices of a value of rank 1\n"
	  "  @: note: in this part of a formula\n    x[0,1]\n    ^~~~~~" },
	{ "exp(reshape(x, 1, 3)[k, k])", "x, k", 2, HOP_EVALUE, "formula: two indices that are not "
	  "scalars" },
	{ "1 + (y && y)", "y", 1, HOP_EVALUE, "formula: && || ! are for truths, and this is a number: "
	  "compare it, or call and, or, not for its bits\n  @: note: in this part of a formula\n"
	  "    1 + (y && y)\n        ^~~~~~~~" },
	{ "!1", "", 0, HOP_EVALUE, "formula: && || ! are for truths" },
	{ "sum(x, axis=5)", "x", 1, HOP_EVALUE, "sum: axis 5 of a value of rank 1\n"
	  "  @: note: in this part of a formula\n    sum(x, axis=5)\n    ^~~~~~~~~~~~~~" },
	{ "sum(x, axis=4294967296)", "x", 1, HOP_EVALUE, "formula: 4294967296 is too large" },
	{ "permute(x, 0, 1)", "x", 1, HOP_EVALUE, "permute: a list must have one element for each axis" },
	{ "x", "x, y", 1, HOP_EUSE, "formula: 1 values, and these names: x, y" },
	{ "x", "x", 2, HOP_EUSE, "formula: 2 values, and these names: x" },
	{ "x", "x,", 2, HOP_EUSE, "formula: 2 values, and these names: x," },
	{ NULL, "x", 1, HOP_EUSE, "formula: no text, no names or no values" },
	{ "x", NULL, 1, HOP_EUSE, "formula: no text, no names or no values" },
	{ "x", "x", -1, HOP_EUSE, "formula: no text, no names or no values" },
};
#undef P

/* The message, its places as @. */
static void message(char *out, size_t n)
{
	const char *s = strstr(hop_message(ctx), "error: ");
	size_t k = 0;
	assert_non_null(s);
	for (s += 7; *s && k + 1 < n;) {
		size_t here = strlen(__FILE__);
		if (!strncmp(s, __FILE__, here) && s[here] == ':') {
			out[k++] = '@';
			s += here + 1 + strspn(s + here + 1, "0123456789");
		} else {
			out[k++] = *s++;
		}
	}
	out[k] = '\0';
}

static void refusals(void **state)
{
	(void)state;
	hop_spec s[2] = { hop_spec1(HOP_f32, 3), hop_spec1(HOP_i64, 2) };
	for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
		hop_fn *fn;
		char got[1024];
		wrong = &mistakes[k];
		hop_status st = hop_capture(ctx, f_wrong, NULL, 2, s, &fn);
		message(got, sizeof got);
		if (st != wrong->st || strncmp(got, wrong->want, strlen(wrong->want)))
			fail_msg("%s\nstatus %d: %s\nwanted %d: %s", wrong->formula ? wrong->formula : "", st,
			         got, wrong->st, wrong->want);
		if (strchr(wrong->want, '^') && strlen(got) != strlen(wrong->want))
			fail_msg("%s: more than %s", got, wrong->want);
	}
}

/* A failure of an op: its own message, and the part of the formula. */
static void f_shapes(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], k = in[1];
	(void)user;
	hop_return(t, HOP_E(t, "1 + tanh(x * k)", x, k));
}

static void parts(void **state)
{
	(void)state;
	hop_spec s[2] = { hop_spec1(HOP_f32, 3), hop_spec1(HOP_f32, 2) };
	char got[1024];
	hop_fn *fn;
	assert_int_equal(hop_capture(ctx, f_shapes, NULL, 2, s, &fn), HOP_ESHAPE);
	message(got, sizeof got);
	const char *note = strstr(got, "\n  @: note: in this part of a formula\n    1 + tanh(x * k)\n"
	                          "             ^~~~~");
	if (!note || strncmp(got, "mul: ", 5))
		fail_msg("%s", got);
}

/* Only what is near the place is shown of a long text. */
static void long_texts(void **state)
{
	hop_spec s[2] = { hop_spec1(HOP_f32, 3), hop_spec1(HOP_i64, 2) };
	static char text[HOP_FX_TEXT + 2];
	struct mistake m = { text, "x", 1, HOP_EPARSE, "" };
	hop_fn *fn;
	(void)state;
	wrong = &m;
	for (size_t k = 0; k < 600; k++)
		text[k] = k % 2 ? '+' : 'x';
	text[300] = 'z';
	text[599] = '\0';
	assert_int_equal(hop_capture(ctx, f_wrong, NULL, 2, s, &fn), HOP_EPARSE);
	const char *line = strstr(hop_message(ctx), "\n    ");
	assert_non_null(line);
	assert_int_equal(strcspn(line + 5, "\n"), HOP_FX_WIDE);
	assert_int_equal(strlen(strstr(line + 5, "\n")), 1 + 4 + HOP_FX_WIDE / 2 + 1);
	static const struct { char open; size_t n; hop_status st; } deep[] = {
		{ '(', 40, HOP_OK }, { '(', 60, HOP_EPARSE }, { '(', 4000, HOP_EPARSE },
		{ '-', 40, HOP_OK }, { '-', 4000, HOP_EPARSE }, { '+', 2000, HOP_EPARSE },
	};
	for (size_t d = 0; d < sizeof deep / sizeof *deep; d++) {
		memset(text, 0, sizeof text);
		memset(text, deep[d].open, deep[d].n);
		text[deep[d].n] = 'x';
		if (deep[d].open == '(' && deep[d].n < 2000)
			memset(text + deep[d].n + 1, ')', deep[d].n);
		hop_status st = hop_capture(ctx, f_wrong, NULL, 2, s, &fn);
		if (st != deep[d].st)
			fail_msg("%zu of %c: %s", deep[d].n, deep[d].open, hop_message(ctx));
		hop_fn_release(fn);
	}
	/* wide is fine up to the number of parts; the depth of a sum is not that of its text */
	for (size_t k = 0; k < 4000; k++)
		text[k] = k % 2 ? '+' : 'x';
	text[1001] = '\0';
	assert_int_equal(hop_capture(ctx, f_wrong, NULL, 2, s, &fn), HOP_OK);
	hop_fn_release(fn);
	text[1001] = '+';
	text[3999] = '\0';
	assert_int_equal(hop_capture(ctx, f_wrong, NULL, 2, s, &fn), HOP_EPARSE);
	assert_non_null(strstr(hop_message(ctx), "it is too long"));
	memset(text, 'x', HOP_FX_TEXT + 1);
	assert_int_equal(hop_capture(ctx, f_wrong, NULL, 2, s, &fn), HOP_EVALUE);
	assert_non_null(strstr(hop_message(ctx), "more than 4096 bytes"));
}

/* ---- memory, the cache, threads ---- */

struct meter { long left, live; };

static void *metered(void *user, void *ptr, size_t osize, size_t nsize)
{
	struct meter *m = user;
	if (nsize > osize || (!ptr && nsize)) {
		if (m->left == 0)
			return NULL;
		m->left -= m->left > 0;
	}
	if (!nsize) {
		free(ptr);
		m->live -= (long)osize;
		return NULL;
	}
	void *p = realloc(ptr, nsize);
	m->live += (long)nsize - (ptr ? (long)osize : 0);
	return p;
}

static void f_memory(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, HOP_E(t, "tanh(in[0] * 2 + concat(x, x)[1:4])", in[0], HOP_AS(x, in[0])));
}

static void no_memory(void **state)
{
	(void)state;
	hop_spec s = hop_spec1(HOP_f32, 3);
	hop_status st = HOP_ENOMEM;
	long n = 0;
	for (; st; n++) {
		struct meter m = { n, 0 };
		hop_ctx_opts o = { .size = sizeof o, .alloc = metered, .user = &m };
		hop_ctx *c;
		hop_fn *f = NULL;
		st = hop_ctx_new(&o, &c);
		if (!st) {
			st = hop_capture(c, f_memory, NULL, 1, &s, &f);
			hop_fn_release(f);
		}
		hop_ctx_free(c);
		assert_true(st == HOP_OK || st == HOP_ENOMEM);
		assert_int_equal(m.live, 0);
	}
	assert_in_range(n, 10, 10000);
}

/* Read once: what a context keeps does not grow with uses; trimmed, it is read again. */
static void cache(void **state)
{
	struct meter m = { -1, 0 };
	hop_ctx_opts o = { .size = sizeof o, .alloc = metered, .user = &m };
	hop_spec s = hop_spec1(HOP_f32, 3);
	hop_ctx *c;
	hop_fn *f;
	long kept = 0;
	(void)state;
	assert_int_equal(hop_ctx_new(&o, &c), HOP_OK);
	for (int k = 0; k < 200; k++) {
		if (k == 100)
			hop_ctx_trim(c);
		assert_int_equal(hop_capture(c, f_memory, NULL, 1, &s, &f), HOP_OK);
		hop_fn_release(f);
		if (k == 3 || k == 103)
			kept = m.live;
		if (k > 103 || (k > 3 && k < 100))
			assert_int_equal(m.live, kept);
	}
	hop_ctx_free(c);
	assert_int_equal(m.live, 0);
}

static void *work(void *arg)
{
	hop_ctx *c = arg;
	hop_spec s[NIN];
	intptr_t bad = 0;
	specs(s, false, 0);
	for (int k = 0; k < NPAIR; k++) {
		hop_fn *f;
		bad += hop_capture(c, pairs[k].e, NULL, NIN, s, &f) != HOP_OK;
		hop_fn_release(f);
	}
	return (void *)bad;
}

static void threads(void **state)
{
	pthread_t id[4];
	hop_ctx *c;
	(void)state;
	assert_int_equal(hop_ctx_new(NULL, &c), HOP_OK);
	for (int k = 0; k < 4; k++)
		assert_int_equal(pthread_create(&id[k], NULL, work, c), 0);
	for (int k = 0; k < 4; k++) {
		void *bad;
		pthread_join(id[k], &bad);
		assert_int_equal((intptr_t)bad, 2);
	}
	hop_ctx_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(graphs), cmocka_unit_test(symbols), cmocka_unit_test(eager),
		cmocka_unit_test(every_row), cmocka_unit_test(elementwise), cmocka_unit_test(names),
		cmocka_unit_test(nested), cmocka_unit_test(refusals), cmocka_unit_test(parts),
		cmocka_unit_test(long_texts), cmocka_unit_test(no_memory), cmocka_unit_test(cache),
		cmocka_unit_test(threads),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
