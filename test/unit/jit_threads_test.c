/* jit_threads_test.c -- one jit and many threads: each key is captured once, whoever comes; captures
 * are dropped while others run them; a fork in the middle. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jit_rig.h"

enum { THREADS = 4, CALLS = 200 };

static int captured;                       /* how often a body ran, by all threads */

static void slow_twice(hop_trace *t, const hop_value *in, void *user)
{
	__atomic_add_fetch(&captured, 1, __ATOMIC_RELAXED);
	usleep(*(const int *)user);
	hop_return(t, hop_mulf(t, in[0], 2));
}

struct work {
	hop_jit *j;
	int      id, sizes;                    /* how many different sizes */
	int      wrong;
};

static void *worker(void *arg)
{
	struct work *w = arg;
	unsigned seed = (unsigned)w->id * 77 + 5;
	for (int i = 0; i < CALLS; i++) {
		seed = seed * 1664525u + 1013904223u;
		int64_t n = 3 + (seed >> 10) % (unsigned)w->sizes;
		hop_array *x, *y = NULL;
		if (hop_array_new(ctx, HOP_f64, 1, &n, NULL, &x)) {
			w->wrong++;
			continue;
		}
		for (int64_t k = 0; k < n; k++)
			((double *)hop_array_data(x))[k] = (double)(w->id + k);
		w->wrong += hop_jit_call(w->j, 1, &x, 1, &y) != HOP_OK;
		for (int64_t k = 0; y && k < n; k++)
			w->wrong += hop_array_at(y, k) != 2.0 * (double)(w->id + k);
		hop_array_release(x);
		hop_array_release(y);
	}
	return NULL;
}

static void crowd(hop_jit *j, int sizes)
{
	pthread_t t[THREADS];
	struct work w[THREADS];
	for (int i = 0; i < THREADS; i++) {
		w[i] = (struct work){ .j = j, .id = i, .sizes = sizes };
		assert_int_equal(pthread_create(&t[i], NULL, worker, &w[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(t[i], NULL), 0);
		assert_int_equal(w[i].wrong, 0);
	}
}

static void test_once(void **state)
{
	int pause = 20000;
	(void)state;
	hop_jit *j = jit(slow_twice, &pause, NULL);
	captured = 0;
	crowd(j, 1);
	assert_int_equal(captured, 1);
	says(j, "jit: ", "800 calls, 799 hits, 1 captures, 1 kept of at most 8");
	hop_jit_release(j);
	j = jit(slow_twice, &pause, HOP_JIT_OPTS(.exact = true));
	captured = 0;
	crowd(j, 5);
	assert_int_equal(captured, 5);
	hop_jit_release(j);
}

/* Two are kept of three: what one thread drops another may be running. */
static void test_dropping(void **state)
{
	int pause = 0;
	(void)state;
	hop_jit *j = jit(slow_twice, &pause, HOP_JIT_OPTS(.keep = 2, .exact = true));
	assert_int_equal(setenv("HOP_INTERP", "1", 1), 0);
	crowd(j, 3);
	assert_int_equal(unsetenv("HOP_INTERP"), 0);
	hop_jit_release(j);
}

static void test_checked(void **state)
{
	int pause = 0;
	(void)state;
	hop_jit *j = jit(slow_twice, &pause, HOP_JIT_OPTS(.check = true));
	crowd(j, 4);
	hop_jit_release(j);
}

/* ---- fork ---- */

static void *one_call(void *arg)
{
	struct work *w = arg;
	const int64_t n = 9;
	hop_array *x, *y = NULL;
	w->wrong = hop_array_new(ctx, HOP_f64, 1, &n, NULL, &x) || hop_jit_call(w->j, 1, &x, 1, &y);
	hop_array_release(x);
	hop_array_release(y);
	return NULL;
}

/* Fork while another thread captures: the child does what that thread will not. */
static void test_fork(void **state)
{
	int pause = 300000, status;
	pthread_t t;
	(void)state;
	hop_jit *j = jit(slow_twice, &pause, NULL);
	struct work w = { .j = j }, mine = { .j = j };
	captured = 0;
	assert_int_equal(pthread_create(&t, NULL, one_call, &w), 0);
	while (!__atomic_load_n(&captured, __ATOMIC_RELAXED))
		usleep(1000);
	pid_t child = fork();
	assert_true(child >= 0);
	if (!child) {
		alarm(30);
		one_call(&mine);
		_exit(mine.wrong || captured != 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_int_equal(w.wrong, 0);
	assert_int_equal(captured, 1);
	hop_jit_release(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_dropping),
		cmocka_unit_test(test_checked),
		cmocka_unit_test(test_fork),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
