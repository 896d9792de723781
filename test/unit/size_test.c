/* size_test.c -- sizes: text of canonical forms, and random expressions whose value must
 * not change by canonicalisation, substitution, nor leave their bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ctx/ctx.h"
#include "ir/type.h"

enum { NSYM = 3 };

struct rig { hop_ctx *c; hop_env e; hop_frame f; };

static int up(void **state)
{
	static struct rig r;
	if (hop_ctx_new(NULL, &r.c))
		return -1;
	hop_env_init(&r.e, r.c, hop_ctx_mem(r.c));
	*state = &r;
	return 0;
}

static int down(void **state)
{
	struct rig *r = *state;
	r->e.frame = NULL;          /* a failed assertion jumps out of its guard */
	hop_env_fini(&r->e);
	hop_ctx_free(r->c);
	return 0;
}

static void check_text(hop_env *e, hop_size a, const char *want)
{
	static const char *const names[] = { "s", "t", "u" };
	hop_buf b;
	hop_buf_open(&b, e);
	hop_size_print(&b, a, names, 3);
	char got[256];
	snprintf(got, sizeof got, "%s", b.s);
	hop_buf_free(&b);           /* before the assertion, which may jump */
	assert_string_equal(got, want);
}

static void test_text(void **state)
{
	struct rig *r = *state;
	hop_env *e = &r->e;
	if (HOP_GUARD(e, &r->f))
		fail();
	hop_size s = hop_size_sym(e, 0), t = hop_size_sym(e, 1), u = hop_size_sym(e, 2);
	hop_size one = hop_size_int(1), two = hop_size_int(2), four = hop_size_int(4), q;
#define K(k) hop_size_int(k)
#define ADD(a, b) hop_size_add(e, a, b)
#define SUB(a, b) hop_size_sub(e, a, b)
#define MUL(a, b) hop_size_mul(e, a, b)
#define DIV(a, b) hop_size_div(e, a, b)
#define MOD(a, b) hop_size_mod(e, a, b)
#define MIN(a, b) hop_size_min(e, a, b)
#define MAX(a, b) hop_size_max(e, a, b)
	check_text(e, ADD(K(3), ADD(MUL(s, two), MUL(t, s))), "s*t+2*s+3");
	check_text(e, SUB(K(3), s), "-s+3");
	check_text(e, SUB(t, t), "0");
	check_text(e, DIV(ADD(s, one), two), "(s+1)/2");
	check_text(e, MUL(two, DIV(s, two)), "2*(s/2)");
	check_text(e, SUB(t, DIV(s, two)), "t-(s/2)");
	check_text(e, DIV(MUL(s, K(6)), K(3)), "2*s");
	check_text(e, DIV(ADD(MUL(s, four), K(7)), four), "s+1");
	check_text(e, DIV(DIV(s, two), two), "s/4");
	check_text(e, DIV(SUB(s, one), two), "(s+1)/2-1");
	check_text(e, DIV(s, s), "s/s");
	check_text(e, DIV(s, K(0)), "0");
	check_text(e, DIV(s, SUB(K(0), two)), "(-s)/2");
	check_text(e, MOD(s, four), "(s%4)");
	check_text(e, MOD(MOD(s, four), two), "(s%2)");
	check_text(e, MOD(MUL(s, two), four), "2*(s%2)");
	check_text(e, MOD(MUL(s, t), t), "0");
	check_text(e, MOD(ADD(MUL(s, t), u), t), "(u%t)");
	check_text(e, MOD(MUL(ADD(s, one), ADD(t, two)), ADD(s, one)), "0");
	check_text(e, MAX(t, s), "max(s,t)");
	check_text(e, MIN(four, s), "min(s,4)");
	check_text(e, MIN(MIN(four, s), two), "min(s,2)");
	check_text(e, MIN(ADD(s, one), s), "s");
	check_text(e, MAX(MAX(u, t), MAX(s, t)), "max(max(s,t),u)");
	assert_true(hop_size_quot(e, MUL(s, MUL(t, four)), MUL(s, two), &q));
	check_text(e, q, "2*t");
	assert_true(hop_size_quot(e, SUB(MUL(s, s), one), ADD(s, one), &q));
	check_text(e, q, "s-1");
	assert_false(hop_size_quot(e, ADD(s, one), t, &q));
	check_text(e, MUL(K(INT64_MAX), two), "overflow");
	check_text(e, ADD(s, MUL(K(INT64_MAX), two)), "overflow");
	check_text(e, MUL(MUL(s, K(INT64_MAX)), two), "overflow");
	hop_size big = ADD(ADD(s, t), u);
	for (int i = 0; i < 12; i++)
		big = MUL(big, big);
	check_text(e, big, "overflow");
	const hop_type *ty = hop_type_get(e, HOP_f32, 2, (hop_size[]){ s, K(256) });
	assert_ptr_equal(ty, hop_type_prepend(e, hop_type_drop(e, ty), s));
	assert_ptr_equal(ty, hop_type_subst(e, ty, &s, 1));
	check_text(e, hop_type_count(e, ty), "256*s");
	hop_guard_end(e, &r->f);
}

/* ---- random expressions ---- */

struct tree { int op; int64_t k; struct tree *a, *b; };

static uint64_t rng = 12345;

static int rnd(int n)
{
	rng = rng * 6364136223846793005u + 1442695040888963407u;
	return (int)((rng >> 33) % (uint64_t)n);
}

static struct tree *grow(hop_env *e, int depth)
{
	struct tree *t = HOP_NEW(&e->tmp, struct tree);
	t->op = depth ? rnd(9) : 7 + rnd(2);
	if (t->op == 7)
		t->k = rnd(13) - 4;
	else if (t->op == 8)
		t->k = rnd(NSYM);
	else {
		t->a = grow(e, depth - 1);
		t->b = grow(e, depth - 1);
	}
	return t;
}

static hop_size build(hop_env *e, const struct tree *t)
{
	hop_size a = hop_size_int(0), b = a;
	if (t->op < 7) {
		a = build(e, t->a);
		b = build(e, t->b);
	}
	switch (t->op) {
	case 0: return ADD(a, b);
	case 1: return SUB(a, b);
	case 2: return MUL(a, b);
	case 3: return DIV(a, b);
	case 4: return MOD(a, b);
	case 5: return MIN(a, b);
	case 6: return MAX(a, b);
	case 7: return hop_size_int(t->k);
	}
	return hop_size_sym(e, (int)t->k);
}

static bool value(const struct tree *t, const int64_t *v, int64_t *out)
{
	int64_t a = 0, b = 0;
	if (t->op < 7 && (!value(t->a, v, &a) || !value(t->b, v, &b)))
		return false;
	switch (t->op) {
	case 0: return !__builtin_add_overflow(a, b, out);
	case 1: return !__builtin_sub_overflow(a, b, out);
	case 2: return !__builtin_mul_overflow(a, b, out);
	case 3:
	case 4: {
		int64_t q = 0;
		if (b) {
			if (a == INT64_MIN)
				return false;
			q = a / b;
			if (q * b != a && (a < 0) != (b < 0))
				q--;
		}
		*out = t->op == 3 ? q : b ? a - q * b : 0;
		return true;
	}
	case 5: *out = a < b ? a : b; return true;
	case 6: *out = a > b ? a : b; return true;
	case 7: *out = t->k; return true;
	}
	*out = v[t->k];
	return true;
}

static void test_random(void **state)
{
	struct rig *r = *state;
	hop_env *e = &r->e;
	volatile int known = 0;
	if (HOP_GUARD(e, &r->f))
		fail();
	for (int round = 0; round < 20000; round++) {
		hop_mark m = hop_mark_at(&e->tmp);
		struct tree *t = grow(e, 1 + rnd(4)), *arg[NSYM];
		hop_size s = build(e, t), args[NSYM];
		for (int i = 0; i < NSYM; i++) {
			arg[i] = grow(e, rnd(3));
			args[i] = build(e, arg[i]);
		}
		hop_size put = hop_size_subst(e, s, args, NSYM);
		assert_true(hop_size_nsym(s) <= NSYM);
		for (int k = 0; k < 6; k++) {
			int64_t v[NSYM], w[NSYM], want, got;
			hop_range box[NSYM];
			bool ok = true;
			for (int i = 0; i < NSYM; i++) {
				v[i] = rnd(40) - 10;
				box[i] = (hop_range){ v[i] - rnd(5), v[i] + rnd(5) };
			}
			for (int i = 0; i < NSYM; i++)
				ok = ok && value(arg[i], v, &w[i]);
			if (value(t, v, &want) && hop_size_eval(s, v, NSYM, &got)) {
				assert_int_equal(want, got);
				hop_range h = hop_size_range(s, box, NSYM);
				assert_true(h.lo <= got || h.lo == -HOP_SIZE_MAX);
				assert_true(h.hi >= got || h.hi == HOP_SIZE_MAX);
				known = known + 1;
			}
			if (ok && value(t, w, &want) && hop_size_eval(put, v, NSYM, &got))
				assert_int_equal(want, got);
		}
		hop_rewind(&e->tmp, m);
	}
	assert_true(known > 100000);
	hop_guard_end(e, &r->f);
}

/* Built in another order in another context: same text, same hash. */
static void test_across(void **state)
{
	struct rig *r = *state, other;
	assert_int_equal(hop_ctx_new(NULL, &other.c), HOP_OK);
	hop_env_init(&other.e, other.c, hop_ctx_mem(other.c));
	if (HOP_GUARD(&other.e, &other.f))
		fail();
	if (HOP_GUARD(&r->e, &r->f))
		fail();
	for (int i = 40; i-- > 0;)
		hop_size_div(&other.e, hop_size_sym(&other.e, i), hop_size_int(7));
	for (int round = 0; round < 2000; round++) {
		hop_mark m = hop_mark_at(&r->e.tmp);
		struct tree *t = grow(&r->e, 4);
		hop_size a = build(&r->e, t), b = build(&other.e, t);
		hop_buf x, y;
		hop_buf_open(&x, &r->e);
		hop_buf_open(&y, &other.e);
		hop_size_print(&x, a, NULL, 0);
		hop_size_print(&y, b, NULL, 0);
		bool same = !strcmp(x.s, y.s);
		hop_buf_free(&x);
		hop_buf_free(&y);
		assert_true(same);
		assert_true(hop_size_hash(a) == hop_size_hash(b));
		hop_rewind(&r->e.tmp, m);
	}
	hop_guard_end(&r->e, &r->f);
	hop_guard_end(&other.e, &other.f);
	hop_env_fini(&other.e);
	hop_ctx_free(other.c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_text, up, down),
		cmocka_unit_test_setup_teardown(test_random, up, down),
		cmocka_unit_test_setup_teardown(test_across, up, down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
