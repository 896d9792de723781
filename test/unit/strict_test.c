/* strict_test.c -- strict contexts: levels and where they come from, messages by path and line, eager
 * runs, and all programs of strict.def against the table: what is accepted gives the same graph. Their
 * messages are test/golden/strict. */
#include "support/strict_block.h"
#include "unit/trace_rig.h"

static const struct { const char *name; hop_body *f; } programs[] = {
#define STRICT(name) { #name, name },
#include "support/strict.def"
#undef STRICT
};
enum { N = sizeof programs / sizeof *programs };

static hop_ctx *with(enum hop_strict s)
{
	hop_ctx *c;
	assert_int_equal(hop_ctx_new(HOP_CTX_OPTS(.strict = s), &c), HOP_OK);
	return c;
}

/* The text of a program, or NULL: refused. */
static char *text_of(hop_ctx *c, hop_body *f, hop_status *out_st)
{
	hop_fn *fn = NULL;
	char *s = NULL;
	hop_status st = hop_capture_tree(c, f, NULL, &strict_in_tree, NULL, &fn);
	if (!st) {
		s = malloc(strlen(hop_fn_text(fn)) + 1);
		assert_non_null(s);
		strcpy(s, hop_fn_text(fn));
	} else {
		assert_null(fn);
	}
	hop_fn_release(fn);
	if (out_st)
		*out_st = st;
	return s;
}

static hop_status status_of(enum hop_strict s, hop_body *f, const char *words)
{
	hop_status st;
	hop_ctx *c = with(s);
	free(text_of(c, f, &st));
	if (words && !strstr(hop_message(c), words))
		fail_msg("`%s` is not in `%s`", words, hop_message(c));
	hop_ctx_free(c);
	return st;
}

/* ---- what is accepted is the same ---- */

static void test_same_graph(void **state)
{
	hop_ctx *off = with(HOP_STRICT_OFF), *grad = with(HOP_STRICT_GRAD), *no = with(HOP_STRICT_NO_GRAD);
	int accepted = 0, refused = 0;
	(void)state;
	for (int i = 0; i < N; i++) {
		hop_status sg, sn;
		char *a = text_of(off, programs[i].f, NULL), *b = text_of(grad, programs[i].f, &sg),
		     *c = text_of(no, programs[i].f, &sn);
		if ((b && (!a || strcmp(a, b))) || (c && (!a || strcmp(a, c))) || (b && !c))
			fail_msg("%s: another graph, or a mode accepts what a weaker one refuses", programs[i].name);
		/* what only strict refuses is HOP_EREFUSED, and says so */
		if (a && !b && (sg != HOP_EREFUSED || !strstr(hop_message(grad), ": strict: ")))
			fail_msg("%s: %s", programs[i].name, hop_message(grad));
		if (a && !c && (sn != HOP_EREFUSED || !strstr(hop_message(no), "PyTorch")))
			fail_msg("%s: %s", programs[i].name, hop_message(no));
		accepted += b != NULL;
		refused += a && !b;
		free(a), free(b), free(c);
	}
	assert_true(accepted == 27 && refused == 93);
	hop_ctx_free(off), hop_ctx_free(grad), hop_ctx_free(no);
}

/* ---- eager runs ---- */

static hop_status eager(enum hop_strict s, hop_body *f, const double *p, char *said, size_t room)
{
	hop_ctx *c = with(s);
	double x[3] = { 1, 2, 3 }, m[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, h = 0.5, v = 5;
	int64_t k = 0, dims[] = { 3, 2, 3, 0, 3 }, square[] = { 3, 3 };
	bool yes = *p != 0;
	hop_array *in[9] = { NULL }, *out = NULL;
	assert_int_equal(hop_array_new(c, HOP_f64, 1, dims, x, &in[0]), HOP_OK);
	assert_int_equal(hop_array_new(c, HOP_f64, 1, dims, x, &in[1]), HOP_OK);
	assert_int_equal(hop_array_new(c, HOP_f64, 2, dims + 1, m, &in[2]), HOP_OK);
	assert_int_equal(hop_array_new(c, HOP_f64, 2, dims + 3, NULL, &in[3]), HOP_OK);
	assert_int_equal(hop_array_new(c, HOP_f64, 0, NULL, &h, &in[4]), HOP_OK);
	assert_int_equal(hop_array_new(c, HOP_f64, 0, NULL, &v, &in[5]), HOP_OK);
	assert_int_equal(hop_array_new(c, HOP_i64, 0, NULL, &k, &in[6]), HOP_OK);
	assert_int_equal(hop_array_new(c, HOP_bool, 0, NULL, &yes, &in[7]), HOP_OK);
	assert_int_equal(hop_array_new(c, HOP_f64, 2, square, m, &in[8]), HOP_OK);
	hop_status st = hop_eager_call(c, f, NULL, 9, in, 1, &out);
	snprintf(said, room, "%s", st ? hop_message(c) : "");
	for (int i = 0; i < 9; i++)
		hop_array_release(in[i]);
	hop_array_release(out);
	hop_ctx_free(c);
	return st;
}

/* Nothing is refused eagerly that a capture accepts; and what is refused is said in its words. */
static void test_eager(void **state)
{
	static const char *const endless[] = { "while_forever", "while_swap", "block_while_swap" };
	char said[2000];
	(void)state;
	for (int i = 0; i < N; i++)
		for (int level = HOP_STRICT_GRAD; level <= HOP_STRICT_NO_GRAD; level++)
			for (double p = 0; p < 2; p++) {
				hop_ctx *c = with((enum hop_strict)level);
				char *a = text_of(c, programs[i].f, NULL);
				hop_ctx_free(c);
				bool skip = false;
				for (size_t e = 0; e < 3 && a; e++)
					skip |= !strcmp(programs[i].name, endless[e]);
				hop_status st = skip || !a ? HOP_OK : eager((enum hop_strict)level, programs[i].f, &p,
				                                            said, sizeof said);
				if (st)
					fail_msg("%s: %s", programs[i].name, said);
				free(a);
			}
	static const struct {
		hop_body   *f;
		double      p;
		const char *words;
	} refused[] = {
		{ cond_identity, 0, "result 0 of else is operand in[0]" }, { cond_identity, 1, "" },
		{ cond_write_capture, 0, "is written" }, { switch_number, 0, "operand in[0] is a float" },
		{ while_unchanged, 0, "carry.b is what it was" },
		{ while_test_alias, 1, "the test is carry[1]" },
		{ while_write_carry, 0, "carry[0] is written" }, { while_float_carry, 0, "starts as a float" },
		{ stack_carry, 0, "share memory" }, { scan_zero, 0, "there are 0 steps" },
		{ scan_no_carry, 0, "no carries" }, { scan_carry_as_y, 0, "carry[0] and y[0] share memory" },
		{ scan_x_as_y, 0, "y[0] is x[0]" }, { scan_write_x, 0, "x[0] is written" },
		{ assoc_left, 0, "y[0] is left[0]" }, { assoc_not_pointwise, 0, "combine uses sum" },
		{ map_identity, 0, "y[0] is x[0]" }, { map_number_y, 0, "y[0] is a number" },
		{ block_if_no_else, 0, "r in else is what it was" }, { block_for_take, 0, "what hop_take gave" },
		{ block_for_stack, 0, "a and stack 0 share memory" }, { block_map, 0, "what hop_take gave" },
		{ nest_scan_cond, 0, "in the body of scan" },
	};
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		hop_status st = eager(HOP_STRICT_GRAD, refused[i].f, &refused[i].p, said, sizeof said);
		if (st != (*refused[i].words ? HOP_EREFUSED : HOP_OK) || !strstr(said, refused[i].words))
			fail_msg("`%s` is not in `%s`", refused[i].words, said);
	}
}

/* ---- lines and paths ---- */

#define DEEP(has)  has(NODE, pair, strict_pair)  has(LEAF, c, "f64")
HOP_STRUCT(deep, DEEP);

static void lined(hop_trace *t, const hop_value *in, void *user)
{
	const struct strict_in *all = HOP_IN(struct strict_in, in);
	struct deep d = { { all->h, all->v }, all->h };
	(void)user;
#line 100 "model.c"
	HOP_WHILE_N(t, hop_lt(t, d.c, all->v), deep_tree, &d) {
#line 110 "model.c"
		d.c = hop_add(t, d.c, d.pair.a);
		d.pair.a = d.pair.b;
		HOP_IF(t, hop_lt(t, d.c, d.pair.a), d.pair.b) {
			hop_add_(t, all->x, d.c);
			d.pair.b = hop_sin(t, d.pair.b);
		} else {
			d.pair.b = hop_cos(t, d.pair.b);
		}
	}
#line 190 "test/unit/strict_test.c"
	hop_return(t, d.c);
}

static void test_lines(void **state)
{
	(void)state;
	status_of(HOP_STRICT_GRAD, lined, "model.c:113: error: cond: strict: input 0 (x) is written");
	status_of(HOP_STRICT_GRAD, lined,
	          "\n  model.c:112: note: in HOP_IF\n  model.c:100: note: in HOP_WHILE");
	status_of(HOP_STRICT_NO_GRAD, lined, "model.c:100: error: while: strict: pair.a is pair.b: PyTorch");
	assert_int_equal(status_of(HOP_STRICT_OFF, lined, NULL), HOP_OK);
}

/* A value without a name is told by where it was made. */
static void unnamed(hop_trace *t, const hop_value *in, void *user)
{
	const struct strict_in *all = HOP_IN(struct strict_in, in);
	(void)user;
#line 70 "model.c"
	hop_value w = hop_sin(t, all->h), r = all->v;
#line 80 "model.c"
	HOP_IF(t, all->p, r) {
		r = w;
	} else {
		r = hop_cos(t, w);
	}
#line 215 "test/unit/strict_test.c"
	hop_return(t, r);
}

static void test_unnamed(void **state)
{
	(void)state;
	status_of(HOP_STRICT_GRAD, unnamed, "r in then is a value of type f64: PyTorch");
	status_of(HOP_STRICT_GRAD, unnamed, "model.c:70: note: it is made here");
}

/* ---- custom forwards, solvers, symbols ---- */

BODY(b_forward, hop_value r = hop_sin(t, in[0]); hop_value s;
     hop_cond(t, all->p, b_sin, b_write, user, 1, &r, 1, &s); hop_return(t, hop_add(t, r, s)))
BODY(b_backward, hop_return(t, hop_cos(t, in[0])))
PROGRAM(in_custom, hop_custom_rule rule = { .size = sizeof rule, .fwd = b_forward, .bwd = b_backward };
        hop_custom(t, &rule, USER, TAKES(all->x), 4, out))
FUNCTION(in_grad_block)
{
	hop_value loss = HOP_NONE, w = all->x, gw;
	HOP_GRAD(t, loss, 1, w, gw) {
		hop_value r = hop_sin(t, w), s;
		hop_cond(t, all->p, b_sin, b_write, USER, 1, &r, 1, &s);
		loss = hop_sum_all(t, s);
	}
	return gw;
}
BODY(b_square, hop_return(t, hop_sub(t, hop_mul(t, in[0], in[0]), all->v)))
PROGRAM(in_root, hop_root(t, b_square, USER, TAKES(all->h), NULL, out, NULL))

static void test_modes_inside(void **state)
{
	(void)state;
	assert_int_equal(status_of(HOP_STRICT_GRAD, in_custom, NULL), HOP_OK);
	assert_int_equal(status_of(HOP_STRICT_NO_GRAD, in_grad_block, "in training"), HOP_EREFUSED);
	assert_int_equal(status_of(HOP_STRICT_OFF, in_grad_block, NULL), HOP_OK);
	assert_int_equal(status_of(HOP_STRICT_GRAD, in_root, NULL), HOP_OK);
}

static void symbolic(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y;
	hop_map(t, user ? b_first : b_sin, NULL, 1, in, 0, 1, &y);
	hop_return(t, y);
}

/* A length that may be 0 is not 0. */
static void test_symbols(void **state)
{
	hop_ctx *c = with(HOP_STRICT_GRAD);
	hop_spec n = { .dtype = HOP_f64, .rank = 2, .dim = { 0, 2 }, .sym = { "n" } };
	hop_fn *f = NULL;
	(void)state;
	assert_int_equal(hop_capture(c, symbolic, NULL, 1, &n, &f), HOP_OK);
	hop_fn_release(f);
	assert_int_equal(hop_capture(c, symbolic, &n, 1, &n, &f), HOP_EREFUSED);
	assert_non_null(strstr(hop_message(c), "y[0] is x[0]"));
	hop_ctx_free(c);
}

/* ---- where the level comes from ---- */

static void test_levels(void **state)
{
	static const struct { const char *word; hop_status st; } words[] = {
		{ "", HOP_OK }, { "0", HOP_OK }, { "grad", HOP_EREFUSED }, { "1", HOP_EREFUSED },
		{ "no_grad", HOP_OK },
	};
	hop_ctx *c = (hop_ctx *)&c;
	(void)state;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		assert_int_equal(setenv("HOP_STRICT", words[i].word, 1), 0);
		assert_int_equal(status_of(HOP_STRICT_AUTO, cond_identity, NULL), words[i].st);
		assert_int_equal(status_of(HOP_STRICT_OFF, cond_identity, NULL), HOP_OK);
		assert_int_equal(status_of(HOP_STRICT_GRAD, cond_identity, NULL), HOP_EREFUSED);
		assert_int_equal(status_of(HOP_STRICT_NO_GRAD, while_swap, NULL), HOP_EREFUSED);
	}
	assert_int_equal(unsetenv("HOP_STRICT"), 0);
	assert_int_equal(status_of(HOP_STRICT_AUTO, cond_identity, NULL), HOP_OK);
	assert_int_equal(hop_ctx_new(HOP_CTX_OPTS(.strict = (enum hop_strict)4), &c), HOP_EVALUE);
	assert_null(c);
	assert_int_equal(hop_ctx_new(HOP_CTX_OPTS(.strict = (enum hop_strict)-1), &c), HOP_EVALUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_graph), cmocka_unit_test(test_eager), cmocka_unit_test(test_lines),
		cmocka_unit_test(test_unnamed), cmocka_unit_test(test_modes_inside),
		cmocka_unit_test(test_symbols), cmocka_unit_test(test_levels),
	};
	unsetenv("HOP_STRICT");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
