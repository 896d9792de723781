/* block_err_test.c -- every misuse of a block is refused by the runs that can see it, captured, eager
 * or captured twice, and leaves nothing behind: the sanitized build runs this, too. What is said is
 * in test/golden/messages/blocks.txt. */
#include "support/wrong_blocks.h"

static void every_misuse(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof wrong_blocks / sizeof *wrong_blocks; i++)
		for (int by = CAPTURED; by <= TWICE; by *= 2) {
			const struct wrong_block *w = &wrong_blocks[i];
			hop_status st = wrong_run(w, by);
			if ((st != HOP_OK) != ((w->by & by) != 0))
				fail_msg("%s: run %d: status %d: %s", w->name, by, st, hop_message(ctx));
			if (st && !*hop_message(ctx))
				fail_msg("%s: run %d: no message", w->name, by);
		}
}

/* Another word of HOP_CHECK asks for something else. */
static void another_check(void **state)
{
	(void)state;
	hop_spec spec[2] = { hop_spec0(HOP_f64), hop_spec1(HOP_f64, 3) };
	hop_fn *f;
	setenv("HOP_CHECK", "jit", 1);
	assert_int_equal(hop_capture(ctx, silent, NULL, 2, spec, &f), HOP_OK);
	unsetenv("HOP_CHECK");
	hop_fn_release(f);
}

static void left_open(void **state)
{
	(void)state;
	hop_trace *t;
	hop_value x;
	assert_int_equal(hop_eager_new(ctx, &t), HOP_OK);
	x = hop_f(t, 1);
	hop_at_block b = hop_block_region(t, __FILE__, __LINE__, "r", NULL, "\"r\", x", 1, &x);
	assert_true(hop_block_step(&b));
	assert_int_equal(hop_eager_free(t), HOP_EUSE);
	assert_non_null(strstr(hop_message(ctx), "it ends inside HOP_REGION"));
}

/* Calls of the macros that no macro makes. */
static void calls_alone(void **state)
{
	(void)state;
	hop_at_block b = { NULL };
	hop_value i = HOP_NONE;
	assert_false(hop_block_step(&b));
	assert_false(hop_block_more(&b));
	assert_false(hop_block_test(&b, i));
	assert_false(hop_block_index(&b, &i));
	assert_int_equal(hop_block_arm(&b), 0);
	hop_block_done(&b);
	hop_block_leave(&b);
	b = hop_block_while(NULL, __FILE__, __LINE__, "", 0);
	assert_null(b.s);
}

/* ---- no memory ---- */

struct meter { long calls, bad, live; };

static void *metered(void *user, void *p, size_t osize, size_t nsize)
{
	struct meter *m = user;
	if (nsize && m->calls++ == m->bad)
		return NULL;
	m->live += (long)nsize - (p ? (long)osize : 0);
	if (nsize)
		return realloc(p, nsize);
	free(p);
	return NULL;
}

BODY(every_block)
{
	struct pair p = { in[0], { in[0], in[0] } };
	hop_value x = in[0], y = in[0], l = HOP_NONE, g = HOP_NONE, ys = HOP_NONE, zs = HOP_NONE;
	(void)user;
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 4)), x, y) {
		HOP_IF(t, hop_lt(t, x, y), x)
			x = hop_mulf(t, x, 2);
		else
			x = hop_addf(t, x, 1);
	}
	HOP_FOR(t, i, 2, x) {
		x = hop_add(t, x, hop_take(t, in[1], i));
		hop_stack(t, &ys, x);
	}
	HOP_MAP(t, i, 2)
		hop_stack(t, &zs, hop_take(t, ys, i));
	HOP_GRAD(t, l, 1, x, g) {
		HOP_REGION_N(t, "r", pair_tree, &p)
			p.first = hop_mul(t, x, x);
		l = p.first;
	}
	hop_return(t, hop_add(t, g, hop_sum_all(t, zs)));
}

static hop_status try_all(struct meter *m, bool eager)
{
	hop_ctx *c;
	hop_array *in[2] = { 0 }, *out = NULL;
	hop_fn *f = NULL;
	double v[3] = { 1, 2, 3 };
	int64_t n = 3;
	hop_spec spec[2] = { hop_spec0(HOP_f64), hop_spec1(HOP_f64, 3) };
	hop_status st = hop_ctx_new(HOP_CTX_OPTS(.alloc = metered, .user = m), &c);
	if (st)
		return st;
	st = hop_array_new(c, HOP_f64, 0, NULL, v, &in[0]);
	if (!st)
		st = hop_array_new(c, HOP_f64, 1, &n, v, &in[1]);
	if (!st)
		st = eager ? hop_eager_call(c, every_block, NULL, 2, in, 1, &out)
		           : hop_capture(c, every_block, NULL, 2, spec, &f);
	if (!st && eager)
		assert_true(hop_array_at(out, 0) == 14 + 12);
	hop_array_release(out);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_fn_release(f);
	hop_ctx_free(c);
	return st;
}

static void no_memory(void **state)
{
	(void)state;
	for (int eager = 0; eager < 2; eager++)
		for (long bad = 0; ; bad++) {
			struct meter m = { .bad = bad };
			hop_status st = try_all(&m, eager);
			if (m.live)
				fail_msg("allocation %ld failing leaks %ld bytes", bad, m.live);
			if (st && st != HOP_ENOMEM)
				fail_msg("allocation %ld failing gives status %d", bad, st);
			if (!st && m.calls <= bad)
				break;
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_misuse),
		cmocka_unit_test(another_check),
		cmocka_unit_test(left_open),
		cmocka_unit_test(calls_alone),
		cmocka_unit_test(no_memory),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
