/* base_test.c -- arenas, frames, strings, maps; and that want of memory leaks nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

/* A hook that counts bytes by the sizes it is told, and fails from call fail_at on. */
struct meter { size_t live; long calls, fail_at; };

static void *metered(void *user, void *ptr, size_t osize, size_t nsize)
{
	struct meter *m = user;
	if (nsize && m->fail_at && ++m->calls >= m->fail_at)
		return NULL;
	m->live += nsize - osize;
	return hop_alloc_default(NULL, ptr, osize, nsize);
}

static void test_arena(void **state)
{
	(void)state;
	struct meter m = { 0 };
	hop_env e;
	hop_frame f;
	hop_arena a;
	hop_env_init(&e, NULL, (hop_mem){ metered, &m });
	if (HOP_GUARD(&e, &f))
		fail();
	hop_arena_open(&a, &e);
	char *p = hop_arena_alloc(&a, 100);
	memset(p, 7, 100);
	hop_mark k = hop_mark_at(&a);
	for (int i = 0; i < 1000; i++) {
		unsigned char *q = hop_arena_alloc(&a, (size_t)i);
		assert_int_equal((uintptr_t)q % 16, 0);
		for (int j = 0; j < i; j++)
			assert_int_equal(q[j], 0);
		memset(q, 0xff, (size_t)i);
	}
	hop_rewind(&a, k);
	unsigned char *q = hop_arena_alloc(&a, 64);
	for (int j = 0; j < 64; j++)
		assert_int_equal(q[j], 0);
	assert_int_equal(p[99], 7);
	assert_string_equal(hop_arena_str(&a, "abcd", 3), "abc");
	int *v = NULL;
	size_t cap = 0;
	for (int i = 0; i < 500; i++) {
		v = hop_arena_grow(&a, v, sizeof *v, (size_t)i + 1, &cap);
		v[i] = i;
	}
	for (int i = 0; i < 500; i++)
		assert_int_equal(v[i], i);
	for (int i = 0; i < 10; i++) {            /* scratch goes back to empty and stays */
		hop_mark t = hop_mark_at(&e.tmp);
		HOP_NEWN(&e.tmp, int64_t, 5000);
		hop_rewind(&e.tmp, t);
	}
	hop_arena_seal(&a);
	assert_null(e.arenas);
	hop_guard_end(&e, &f);
	hop_arena_free(&a, &e.mem);
	hop_env_fini(&e);
	assert_int_equal(m.live, 0);
}

/* Work with everything that can run out; locals lie on the stack that is given up. */
static void work(hop_env *e, int depth)
{
	hop_arena a;
	hop_buf b;
	hop_arena_open(&a, e);
	hop_buf_open(&b, e);
	hop_map map = { .a = &a };
	for (int i = 0; i < 50; i++) {
		hop_putf(&b, "%d,", i);
		hop_map_put(&map, &i, sizeof i, &map);
		HOP_NEWN(&e->tmp, int, 100);
	}
	if (depth)
		work(e, depth - 1);
	hop_buf_free(&b);
	hop_arena_free(&a, &e->mem);
}

static hop_status guarded(hop_env *e)
{
	hop_frame f;
	if (HOP_GUARD(e, &f))
		return hop_guard_nomem(e, &f);
	work(e, 3);
	hop_guard_end(e, &f);
	return HOP_OK;
}

static void test_nomem(void **state)
{
	(void)state;
	struct meter m = { .fail_at = 1 };
	hop_status st = HOP_ENOMEM;
	for (; st; m.fail_at++) {
		hop_env e;
		hop_arena outer;
		m.calls = 0;
		hop_env_init(&e, NULL, (hop_mem){ metered, &m });
		hop_arena_open(&outer, &e);
		st = guarded(&e);
		assert_int_equal(e.diag.st, st);
		assert_ptr_equal(e.arenas, &outer);
		assert_null(e.bufs);
		assert_null(e.frame);
		hop_env_fini(&e);
		assert_int_equal(m.live, 0);
	}
	assert_true(m.fail_at > 20);
}

/* An arena older than the frame is sealed under it, then memory runs out: those that are
 * older still must live. */
static void test_seal_under_frame(void **state)
{
	(void)state;
	hop_env e;
	hop_frame f;
	hop_arena old, newer;
	hop_env_init(&e, NULL, (hop_mem){ 0 });
	hop_arena_open(&old, &e);
	hop_arena_open(&newer, &e);
	if (HOP_GUARD(&e, &f)) {
		assert_int_equal(hop_guard_nomem(&e, &f), HOP_ENOMEM);
		assert_ptr_equal(e.arenas, &old);
		hop_arena_free(&newer, &e.mem);
		hop_env_fini(&e);
		return;
	}
	hop_arena_alloc(&old, 10);
	hop_arena_alloc(&newer, 10);
	hop_arena_seal(&newer);
	hop_nomem(&e);
}

static void check_float(hop_env *e, double v, bool single, const char *want)
{
	hop_buf b;
	char got[64];
	hop_buf_open(&b, e);
	hop_put_float(&b, v, single ? 8 : 11, single ? 23 : 52);
	snprintf(got, sizeof got, "%s", b.s);
	hop_buf_free(&b);
	assert_string_equal(got, want);
}

static void test_float(void **state)
{
	(void)state;
	hop_env e;
	hop_frame f;
	hop_env_init(&e, NULL, (hop_mem){ 0 });
	if (HOP_GUARD(&e, &f))
		fail();
	check_float(&e, 0.1, false, "0.1");
	check_float(&e, 0.1f, true, "0.1");
	check_float(&e, 1, false, "1.0");
	check_float(&e, -0.0, false, "-0.0");
	check_float(&e, 100, true, "100.0");
	check_float(&e, 16777216, true, "16777216.0");
	check_float(&e, 1e300, false, "1e+300");
	check_float(&e, 1.0 / 3, false, "0.3333333333333333");
	check_float(&e, INFINITY, false, "inf");
	check_float(&e, -INFINITY, true, "-inf");
	check_float(&e, NAN, true, "nan");
	check_float(&e, 5e-324, false, "5e-324");
	uint64_t r = 1;
	for (int i = 0; i < 20000; i++) {
		double v;
		float w;
		r = r * 6364136223846793005u + 1442695040888963407u;
		memcpy(&v, &r, sizeof v);
		memcpy(&w, &r, sizeof w);
		if (isnan(v) || isnan(w))
			continue;
		hop_buf b;
		hop_buf_open(&b, &e);
		hop_put_float(&b, v, 11, 52);
		bool ok = strtod(b.s, NULL) == v;
		b.n = 0;
		hop_put_float(&b, w, 8, 23);
		ok = ok && strtof(b.s, NULL) == w && strpbrk(b.s, ".ein");
		hop_buf_free(&b);
		assert_true(ok);
	}
	hop_guard_end(&e, &f);
	hop_env_fini(&e);
}

static void test_map(void **state)
{
	(void)state;
	hop_env e;
	hop_frame f;
	hop_env_init(&e, NULL, (hop_mem){ 0 });
	if (HOP_GUARD(&e, &f))
		fail();
	static int vals[1000];
	hop_map m = { .a = &e.tmp };
	assert_null(hop_map_get(&m, "x", 1));
	for (int i = 0; i < 1000; i++)
		hop_map_put(&m, &i, sizeof i, &vals[i]);
	hop_map_put(&m, "", 0, &vals[5]);
	for (int i = 0; i < 1000; i++)
		assert_ptr_equal(hop_map_get(&m, &i, sizeof i), &vals[i]);
	assert_ptr_equal(hop_map_get(&m, "", 0), &vals[5]);
	assert_int_equal(m.n, 1001);
	hop_map_put(&m, "", 0, &vals[6]);
	assert_ptr_equal(hop_map_get(&m, "", 0), &vals[6]);
	hop_guard_end(&e, &f);
	hop_env_fini(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_nomem),
		cmocka_unit_test(test_seal_under_frame),
		cmocka_unit_test(test_float),
		cmocka_unit_test(test_map),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
