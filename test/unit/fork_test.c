/* fork_test.c -- fork() in a process that uses hop: a child runs what was compiled
 * before, compiles, captures, frees and ends, whatever other threads were doing when it
 * was made. A child that hangs is killed by its alarm and fails the test.
 *
 * The sanitizers know less of fork() than we do. The thread sanitizer does not expect
 * threads in the child of a process with threads: with it, children start none. The
 * allocators of both leave their locks to the child as they were: with them, nobody
 * allocates in another thread during a fork. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hop/compile.h"
#include "hop/hop.h"
#undef hop_size_of                 /* here it is the function of ir/type.h */
#include "device_rig.h"
#include "rt/exec.h"

enum { N = 1 << 16, PATIENCE = 100 };        /* elements; seconds */

#if defined(__SANITIZE_THREAD__)
enum { CHILD_THREADS = 1 };                  /* as in hop_compile_opts: 1 = none */
#else
enum { CHILD_THREADS = 0 };
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MALLOC_FORKS = 0 };
#else
enum { MALLOC_FORKS = 1 };
#endif

/* A context with a function compiled twice, for all threads and for one. */
typedef struct world {
	hop_ctx  *c;
	hop_exec *x, *lone;
	long      delay;                     /* of first_time, in microseconds */
} world;

static void body(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_tanh(t, hop_mulf(t, in[0], *(double *)user)));
}

static bool make(hop_ctx *c, double k, int threads, hop_exec **out_x)
{
	hop_compile_opts o = { .size = sizeof o, .no_cache = true, .threads = threads };
	hop_spec         s = hop_spec1(HOP_f64, N);
	hop_fn          *f;
	hop_status       st = hop_capture(c, body, &k, 1, &s, &f);

	if (!st) {
		st = hop_compile(f, &o, out_x);
		hop_fn_release(f);
	}
	if (st)
		fprintf(stderr, "%s\n", hop_message(c));
	return !st;
}

/* Memory for runs. */
typedef struct room {
	double *in, *out;
	void   *work;
} room;

static bool open_room(room *r, const hop_exec *x)
{
	*r = (room){ malloc(N * sizeof *r->in), malloc(N * sizeof *r->out), NULL };
	int64_t n = hop_exec_workspace(x, &(hop_arg){ .data = r->in });

	r->work = n < 0 ? NULL : aligned_alloc(64, (size_t)(n + 127) / 64 * 64);
	for (int i = 0; r->in && i < N; i++)
		r->in[i] = sin(0.01 * i);
	return r->in && r->out && r->work;
}

static void close_room(room *r)
{
	free(r->in);
	free(r->out);
	free(r->work);
}

static bool run_in(room *r, const hop_exec *x, double k)
{
	bool ok;

	memset(r->out, 0, N * sizeof *r->out);
	ok = !hop_run(x, &(hop_arg){ .data = r->in }, &(hop_arg){ .data = r->out }, r->work);
	for (int i = 0; ok && i < N; i += 61)
		ok = fabs(r->out[i] - tanh(k * r->in[i])) < 1e-14;
	return ok;
}

static bool run(const hop_exec *x, double k)
{
	room r;
	bool ok = open_room(&r, x) && run_in(&r, x, k);

	close_room(&r);
	return ok;
}

static bool open_world(world *w, int threads)
{
	w->x = w->lone = NULL;
	return !hop_ctx_new(NULL, &w->c) && make(w->c, 0.5, threads, &w->x) &&
	       make(w->c, 0.5, 1, &w->lone) && run(w->x, 0.5);
}

static void close_world(world *w)
{
	hop_exec_release(w->x);
	hop_exec_release(w->lone);
	hop_ctx_free(w->c);
}

/* ---- children ---- */

typedef bool child_fn(void *user);

static pid_t start(child_fn *f, void *user)
{
	pid_t p;

	fflush(NULL);
	p = fork();
	if (!p) {
		alarm(PATIENCE);
		_exit(f(user) ? 0 : 1);
	}
	return p;
}

static bool ended_well(pid_t p)
{
	int st;

	if (p < 0 || waitpid(p, &st, 0) != p)
		return false;
	if (WIFSIGNALED(st))
		fprintf(stderr, "a child ended by signal %d\n", WTERMSIG(st));
	return WIFEXITED(st) && !WEXITSTATUS(st);
}

static bool in_child(child_fn *f, void *user)
{
	return ended_well(start(f, user));
}

static bool runs(void *user)
{
	world    *w = user;
	hop_exec *x = CHILD_THREADS == 1 ? w->lone : w->x;

	return run(x, 0.5) && run(x, 0.5) && run(w->lone, 0.5);
}

static bool compiles(void *user)
{
	world    *w = user;
	hop_exec *x;
	bool      ok = make(w->c, 0.25, CHILD_THREADS, &x) && run(x, 0.25) && runs(w);

	if (ok)
		hop_exec_release(x);
	return ok;
}

static bool frees(void *user)
{
	close_world(user);
	return true;
}

static bool frees_after_run(void *user)
{
	return runs(user) && frees(user);
}

static bool starts_over(void *user)
{
	close_world(user);
	return open_world(user, CHILD_THREADS) && frees(user);
}

/* The long way out: buffers, destructors of every library, the check for leaks. */
static bool exits(void *user)
{
	bool ok = compiles(user);

	close_world(user);
	exit(ok ? 0 : 1);
}

static bool forks_at_once(void *user)
{
	return in_child(runs, user) && runs(user);
}

static bool is_mistaken(void *user)
{
	world           *w = user;
	hop_spec         s = hop_spec1(HOP_f64, N);
	hop_compile_opts bad = { .size = 3 };
	double           k = 1;
	hop_exec        *x;
	hop_fn          *f;
	hop_status       st;

	if (hop_capture(w->c, body, &k, 1, &s, &f))
		return false;
	st = hop_compile(f, &bad, &x);
	hop_fn_release(f);
	return st == HOP_EVALUE && strstr(hop_message(w->c), "options");
}

/* ---- tests ---- */

/* NVIDIA's driver does not live on in a child: there test_device says what does. */
static const char no_child[] = "a child cannot use the device of its parent";

static void *compile_once(void *user)
{
	world *w = user;

	return make(w->c, 0.125, 0, &w->x) ? w : NULL;
}

static bool makes_it_too(void *user)
{
	world *w = user, own;

	return open_world(&own, CHILD_THREADS) &&
	       make(w->c, 0.75, CHILD_THREADS, &w->x) && run(w->x, 0.75);
}

static void nap(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

/* In a process without LLVM: fork while another thread opens it and compiles. */
static bool first_time(void *user)
{
	world    *w = user;
	pthread_t t;
	void     *ok = NULL;
	bool      well;

	if (hop_ctx_new(NULL, &w->c) || pthread_create(&t, NULL, compile_once, w))
		return false;
	nap(w->delay);
	well = in_child(makes_it_too, w);
	pthread_join(t, &ok);
	return well && ok && run(w->x, 0.125);
}

/* Runs before anything else here opens LLVM. */
static void test_first(void **state)
{
	world w = { .delay = 0 };

	(void)state;
	NOT_ON_A_DEVICE(no_child);
	if (!MALLOC_FORKS)
		skip();
	for (; w.delay < 40000; w.delay += 5000)
		assert_true(in_child(first_time, &w));
}

static void test_children(void **state)
{
	static child_fn *const all[] = { runs, compiles, frees, frees_after_run, starts_over,
	                                 exits, forks_at_once, is_mistaken };
	world w;

	(void)state;
	NOT_ON_A_DEVICE(no_child);
	assert_true(open_world(&w, 0));
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		assert_true(in_child(all[i], &w));
		assert_true(runs(&w));
	}
	close_world(&w);
}

static bool forks_deep(void *user)
{
	return runs(user) && in_child(compiles, user) && runs(user) &&
	       in_child(forks_at_once, user);
}

static void test_grandchildren(void **state)
{
	world w;

	(void)state;
	NOT_ON_A_DEVICE(no_child);
	assert_true(open_world(&w, 0));
	assert_true(in_child(forks_deep, &w));
	assert_true(runs(&w));
	close_world(&w);
}

/* A child that cannot run is told so, can let go of what it has and end; its parent goes on. */
static bool is_told(void *user)
{
	world    *w = user;
	room      r;
	hop_exec *x = NULL;
	bool      ok = open_room(&r, w->x);

	ok = ok && hop_run(w->x, &(hop_arg){ .data = r.in }, &(hop_arg){ .data = r.out },
	                   r.work) == HOP_ETARGET;
	close_room(&r);
	ok = ok && !make(w->c, 0.25, 1, &x) && strstr(hop_message(w->c), "forked");
	close_world(w);
	return ok;
}

static void test_device(void **state)
{
	static child_fn *const all[] = { is_told, frees, is_mistaken };
	world w;

	(void)state;
	if (!on_device()) {
		printf("skipped: HOP_TARGET is no device\n");
		skip();
	}
	assert_true(open_world(&w, 0));
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		assert_true(in_child(all[i], &w));
		assert_true(runs(&w));
	}
	close_world(&w);
}

/* ---- while others work ---- */

typedef struct crowd {
	world      *w;
	atomic_bool stop;
	atomic_int  ready, failed, done;
} crowd;

static void *run_on(void *user)
{
	crowd *k = user;
	room   r;

	if (!open_room(&r, k->w->x))
		return NULL;
	atomic_fetch_add(&k->ready, 1);
	while (!atomic_load(&k->stop)) {
		atomic_fetch_add(&k->failed, !run_in(&r, k->w->x, 0.5));
		atomic_fetch_add(&k->done, 1);
	}
	close_room(&r);
	return NULL;
}

static void *compile_on(void *user)
{
	crowd *k = user;

	for (int i = 1; !atomic_load(&k->stop); i++) {
		hop_exec *x = NULL;

		atomic_fetch_add(&k->failed, !make(k->w->c, i, 0, &x));
		hop_exec_release(x);
		atomic_fetch_add(&k->done, 1);
	}
	return NULL;
}

/* Mostly under the context's lock. */
static void *capture_on(void *user)
{
	crowd   *k = user;
	hop_spec s = hop_spec1(HOP_f64, N);
	double   v = 0.5;

	while (!atomic_load(&k->stop)) {
		hop_fn *f;

		v += 1e-6;
		if (hop_capture(k->w->c, body, &v, 1, &s, &f))
			atomic_fetch_add(&k->failed, 1);
		else
			hop_fn_release(f);
	}
	return NULL;
}

/* Contexts come and go while others fork. */
static void *open_on(void *user)
{
	crowd *k = user;

	while (!atomic_load(&k->stop)) {
		hop_ctx *c;

		if (hop_ctx_new(NULL, &c))
			atomic_fetch_add(&k->failed, 1);
		else
			hop_ctx_free(c);
	}
	return NULL;
}

/* A thread allocates when it starts and when it ends: this one is there as long as others
 * fork. */
static void *fork_on(void *user)
{
	crowd *k = user;

	atomic_fetch_add(&k->ready, 1);
	for (int i = 0; i < 12; i++)
		atomic_fetch_add(&k->failed, !in_child(runs, k->w));
	atomic_fetch_add(&k->ready, 1);
	while (!atomic_load(&k->stop))
		nap(1000);
	return NULL;
}

static void test_crowd(void **state)
{
	static void *(*const job[])(void *) = { run_on, run_on, fork_on, compile_on,
	                                        capture_on, open_on };
	enum { JOBS = MALLOC_FORKS ? sizeof job / sizeof *job : 3 };
	pthread_t t[JOBS];
	world     w;
	crowd     k = { .w = &w };

	(void)state;
	NOT_ON_A_DEVICE(no_child);
	assert_true(open_world(&w, 0));
	for (int i = 0; i < JOBS; i++) {
		assert_int_equal(pthread_create(&t[i], NULL, job[i], &k), 0);
		while (i < 3 && atomic_load(&k.ready) <= i)
			nap(1000);
	}
	for (int i = 0; i < 24; i++) {
		assert_true(in_child(i % 4 ? runs : i % 8 ? compiles : forks_at_once, &w));
		nap(i * 300);
	}
	while (atomic_load(&k.ready) < 4)
		nap(1000);
	atomic_store(&k.stop, true);
	for (int i = 0; i < JOBS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(k.failed, 0);
	assert_true(k.done > 0);
	assert_true(runs(&w) && compiles(&w));
	close_world(&w);
}

/* ---- the pool alone: four threads however many processors there are ---- */

static void add(void *arg, int64_t begin, int64_t end)
{
	atomic_int *hit = arg;

	for (int64_t i = begin; i < end; i++)
		atomic_fetch_add(&hit[i], 1);
}

static bool loops(hop_pool *p)
{
	static atomic_int hit[1000];

	for (int k = 0; k < 50; k++) {
		for (int i = 0; i < 1000; i++)
			atomic_store(&hit[i], 0);
		hop_pool_run(p, add, hit, 1000);
		for (int i = 0; i < 1000; i++)
			if (atomic_load(&hit[i]) != 1)
				return false;
	}
	return true;
}

static bool loops_and_drops(void *user)
{
	bool ok = loops(user);

	hop_pool_free(user);
	return ok;
}

static bool drops(void *user)
{
	hop_pool_free(user);
	return true;
}

static void test_pool(void **state)
{
	hop_mem   m = { hop_alloc_default, NULL };
	hop_pool *p = hop_pool_new(&m, 4);

	(void)state;
	assert_non_null(p);
	for (int i = 0; i < 10; i++) {
		/* a child before the first, too, when starting threads may allocate */
		assert_true((!i && MALLOC_FORKS) || loops(p));
		if (i & 1)
			nap(5000);                            /* the workers fall asleep */
		assert_true(in_child(CHILD_THREADS == 1 ? drops : loops_and_drops, p));
		assert_true(in_child(drops, p));
	}
	hop_pool_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first), cmocka_unit_test(test_children),
		cmocka_unit_test(test_grandchildren), cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
