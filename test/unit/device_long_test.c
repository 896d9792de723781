/* device_long_test.c -- a long program scheduled for a device on a small stack: however long a chain of
 * operations is, nothing that goes along it calls itself for each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>

#include "text/text.h"
#include "support/lower_check.h"

enum { LONG = 30000 };

/* A chain of sines, each kernel of which needs what the one before made: on a small stack. */
static void lower_chain(hop_env *e)
{
	static const hop_machine grid = { .blocks = 5, .warp = 32, .shared = 48 << 10 };
	hop_buf     text;
	hop_module *m;
	hop_prog   *q;

	hop_buf_open(&text, e);
	hop_put(&text, "hop 1\ngraph @f(%0: f64) {\n");
	for (int i = 1; i <= LONG; i++)
		hop_putf(&text, "  %%%d = sin %%%d\n", i, i - 1);
	hop_putf(&text, "  return %%%d\n}\n", LONG);
	assert_int_equal(hop_module_parse(e, text.s, text.n, "chain", &m), HOP_OK);
	hop_lower_opts o = { .machine = &grid };
	assert_int_equal(hop_lower_graph(e, hop_module_find(m, NULL), &o, &q), HOP_OK);
	assert_true(q->nfunc > 10);
	hop_prog_free(q, &e->mem);
	hop_module_free(m, &e->mem);
	hop_buf_free(&text);
}

static void *guarded_chain(void *user)
{
	hop_env   e;
	hop_frame f;

	hop_env_init(&e, user, hop_ctx_mem(user));
	if (HOP_GUARD(&e, &f))
		return user;
	lower_chain(&e);
	hop_guard_end(&e, &f);
	hop_env_fini(&e);
	return NULL;
}

static void test_long_chain(void **state)
{
	hop_ctx        *ctx;
	pthread_attr_t  a;
	pthread_t       th;
	void           *bad;

	(void)state;
	assert_int_equal(hop_ctx_new(NULL, &ctx), HOP_OK);
	assert_int_equal(pthread_attr_init(&a), 0);
	assert_int_equal(pthread_attr_setstacksize(&a, 1 << 20), 0);
	assert_int_equal(pthread_create(&th, &a, guarded_chain, ctx), 0);
	assert_int_equal(pthread_join(th, &bad), 0);
	assert_null(bad);
	pthread_attr_destroy(&a);
	hop_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_long_chain) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
