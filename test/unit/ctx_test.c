/* ctx_test.c -- the context: interning from two threads, locations, messages, memo,
 * graphs, and want of memory at every single allocation. */
#define _POSIX_C_SOURCE 200809L    /* unsetenv */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctx/ctx.h"
#include "ir/type.h"

struct meter { size_t live; long calls, fail_at; };

static void *metered(void *user, void *ptr, size_t osize, size_t nsize)
{
	struct meter *m = user;
	if (nsize && m->fail_at && ++m->calls >= m->fail_at)
		return NULL;
	m->live += nsize - osize;
	return hop_alloc_default(NULL, ptr, osize, nsize);
}

struct hop_graph { int content; };

static bool graph_equal(const struct hop_graph *a, const struct hop_graph *b)
{
	return a->content == b->content;
}

static int freed;

static void graph_free(hop_ctx *c, struct hop_graph *g)
{
	(void)c;
	(void)g;
	freed++;
}

static void count(struct hop_graph *g, void *user)
{
	*(int *)user = *(int *)user * 10 + g->content;
}

static hop_status guarded_fail(hop_env *e)
{
	hop_frame f;
	if (HOP_GUARD(e, &f))
		return hop_guard_nomem(e, &f);
	hop_loc main_c = hop_loc_get(e, "main.c", 9, 0);
	hop_loc model = hop_loc_get(e, "model.c", 42, main_c);
	hop_loc body = hop_loc_get(e, "model.c", 57, 0);
	hop_guard_end(e, &f);
	hop_fail(e, model, HOP_ESHAPE, "mul: dimension %d is %d", 1, 128);
	hop_fail(e, body, HOP_ETYPE, "not the first");
	return hop_note(e, body, "in the body of %s", "cond");
}

static void test_message(void **state)
{
	(void)state;
	hop_ctx *c;
	hop_env e;
	unsetenv("HOP_DEBUG");
	assert_int_equal(hop_ctx_new(NULL, &c), HOP_OK);
	hop_env_init(&e, c, hop_ctx_mem(c));
	assert_string_equal(hop_message(c), "");
	assert_int_equal(guarded_fail(&e), HOP_ESHAPE);
	hop_ctx_set_message(c, &e.diag);
	assert_string_equal(hop_message(c),
	                    "model.c:42: error: mul: dimension 1 is 128\n"
	                    "  main.c:9: note: called from here\n"
	                    "  model.c:57: note: in the body of cond");
	hop_diag_clear(&e);
	assert_int_equal(hop_fail(&e, 0, HOP_EIO, "no such file"), HOP_EIO);
	hop_ctx_set_message(c, &e.diag);
	assert_string_equal(hop_message(c), "error: no such file");
	hop_env_fini(&e);
	hop_ctx_free(c);
	assert_int_equal(hop_ctx_new(&(hop_ctx_opts){ .size = 1 }, &c), HOP_EVALUE);
	assert_int_equal(hop_ctx_new(HOP_CTX_OPTS(.threads = -1), &c), HOP_EVALUE);
	assert_null(c);
	/* from before there were threads in it */
	size_t old = offsetof(hop_ctx_opts, threads);
	assert_int_equal(hop_ctx_new(&(hop_ctx_opts){ .size = old, .threads = -1 }, &c), HOP_OK);
	hop_ctx_free(c);
}

static hop_status everything(hop_env *e)
{
	static struct hop_graph g[3] = { { 1 }, { 2 }, { 1 } };
	static int val[2];
	hop_hash h = { 5, 6 };
	hop_frame f;
	if (HOP_GUARD(e, &f))
		return hop_guard_nomem(e, &f);
	assert_ptr_equal(hop_ctx_name(e, "abc", 3), hop_ctx_name(e, "abcd", 3));
	assert_string_equal(hop_ctx_name(e, "abcd", 3), "abc");
	for (int i = 0; i < 3000; i++) {
		hop_loc l = hop_loc_get(e, "f.c", i, 0);
		const char *file;
		int line;
		hop_loc in;
		assert_int_equal(l, hop_loc_get(e, "f.c", i, 0));
		assert_true(hop_loc_read(e->ctx, l, &file, &line, &in));
		assert_int_equal(line, i);
	}
	assert_null(hop_ctx_memo_get(e, "k", 1));
	assert_ptr_equal(hop_ctx_memo_put(e, "k", 1, &val[0]), &val[0]);
	assert_ptr_equal(hop_ctx_memo_put(e, "k", 1, &val[1]), &val[0]);
	assert_ptr_equal(hop_ctx_memo_get(e, "k", 1), &val[0]);
	hop_ctx_on_free_graph(e->ctx, graph_free);
	assert_ptr_equal(hop_ctx_graph_intern(e, h, &g[0], graph_equal), &g[0]);
	assert_ptr_equal(hop_ctx_graph_intern(e, h, &g[1], graph_equal), &g[1]);
	assert_ptr_equal(hop_ctx_graph_intern(e, h, &g[2], graph_equal), &g[0]);
	int order = 0;
	hop_ctx_graphs_each(e->ctx, count, &order);
	assert_int_equal(order, 12);
	hop_guard_end(e, &f);
	return HOP_OK;
}

static void test_nomem(void **state)
{
	(void)state;
	struct meter m = { .fail_at = 1 };
	hop_status st = HOP_ENOMEM;
	for (; st; m.fail_at++) {
		hop_ctx *c;
		m.calls = 0;
		freed = 0;
		st = hop_ctx_new(HOP_CTX_OPTS(.alloc = metered, .user = &m), &c);
		if (!st) {
			hop_env e;
			hop_env_init(&e, c, hop_ctx_mem(c));
			st = everything(&e);
			if (st) {
				hop_ctx_set_message(c, &e.diag);
				assert_string_equal(hop_message(c), "error: no memory");
			}
			hop_env_fini(&e);
		}
		hop_ctx_free(c);
		assert_int_equal(m.live, 0);
	}
	assert_int_equal(freed, 2);
	assert_true(m.fail_at > 20);
}

/* ---- two threads ---- */

enum { MANY = 3000 };

struct worker {
	hop_ctx        *c;
	bool            down;
	hop_status      st;
	const hop_type *type[MANY];
	hop_loc         loc[MANY];
	char            text[64];
};

static void *run(void *arg)
{
	struct worker *w = arg;
	hop_env e;
	hop_frame f;
	hop_env_init(&e, w->c, hop_ctx_mem(w->c));
	if (HOP_GUARD(&e, &f)) {
		w->st = hop_guard_nomem(&e, &f);
		return NULL;
	}
	for (int n = 0; n < MANY; n++) {
		int i = w->down ? MANY - 1 - n : n;
		hop_size s = hop_size_sym(&e, i % 50);
		hop_size d = hop_size_div(&e, hop_size_add(&e, s, hop_size_int(i)),
		                          hop_size_int(MANY));
		w->type[i] = hop_type_get(&e, HOP_f32, 1, &d);
		w->loc[i] = hop_loc_get(&e, "f.c", i, 0);
	}
	hop_guard_end(&e, &f);
	w->st = hop_fail(&e, 0, HOP_EVALUE, "worker %d", w->down);
	hop_ctx_set_message(w->c, &e.diag);
	snprintf(w->text, sizeof w->text, "%s", hop_message(w->c));
	hop_env_fini(&e);
	return NULL;
}

static void test_threads(void **state)
{
	(void)state;
	static struct worker w[2];
	pthread_t t[2];
	hop_ctx *c;
	assert_int_equal(hop_ctx_new(NULL, &c), HOP_OK);
	for (int i = 0; i < 2; i++) {
		w[i].c = c;
		w[i].down = i;
		assert_int_equal(pthread_create(&t[i], NULL, run, &w[i]), 0);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], NULL);
		assert_int_equal(w[i].st, HOP_EVALUE);
	}
	for (int i = 0; i < MANY; i++) {
		assert_ptr_equal(w[0].type[i], w[1].type[i]);
		assert_int_equal(w[0].loc[i], w[1].loc[i]);
	}
	assert_string_equal(w[0].text, "error: worker 0");
	assert_string_equal(w[1].text, "error: worker 1");
	assert_string_equal(hop_message(c), "");
	hop_ctx_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_message),
		cmocka_unit_test(test_nomem),
		cmocka_unit_test(test_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
