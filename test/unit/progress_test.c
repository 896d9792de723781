/* progress_test.c -- what hop_progress tells, to whom and how often: in every kind of loop, run in every
 * way, in batches and derivatives; and that nothing of it is left where nobody wants to know. */
#include "trace_rig.h"

#include "data/fn.h"
#include "driver/pipeline.h"
#include "loop/lower.h"
#include "interp/interp.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

/* ---- who is told ---- */

enum { MOST = 8 };

/* One list for each text; a callback may come from several threads, each with texts of its own. */
struct heard {
	const char *text;
	int         calls, finished;   /* how often, and how often done was total */
	int64_t     last, total;
	bool        fell;              /* done became less, other than after the end */
};
static struct heard heard[MOST];
static atomic_int   calls, wrong;

static struct heard *about(const char *text)
{
	for (int i = 0; i < MOST; i++)
		if (heard[i].text && !strcmp(heard[i].text, text))
			return &heard[i];
	for (int i = 0; i < MOST; i++)
		if (!heard[i].text) {
			heard[i] = (struct heard){ .text = strdup(text) };
			return &heard[i];
		}
	fail_msg("too many texts");
	return NULL;
}

static void listen(void *user, const hop_progress_info *p)
{
	struct heard *h = about(p->text);
	assert_string_equal(user, "me");
	h->fell |= p->done < h->last && h->last != h->total && h->total;
	h->last = p->done;
	h->total = p->total;
	h->calls++;
	h->finished += p->total && p->done == p->total;
	calls++;
	if (p->seconds < 0 || p->rate < 0 || p->done < 1 || (p->total && p->done > p->total))
		wrong++;
}

static void forget(void)
{
	for (int i = 0; i < MOST; i++)
		free((char *)heard[i].text);
	memset(heard, 0, sizeof heard);
	calls = wrong = 0;
}

static int up(void **state)
{
	(void)state;
	forget();
	return hop_ctx_new(HOP_CTX_OPTS(.progress_fn = listen, .progress_user = "me"), &ctx) != HOP_OK;
}

static int down(void **state)
{
	rig_down(state);
	forget();
	return 0;
}

/* ---- loops ---- */

enum { TRIPS = 200 };

static void in_for(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, TRIPS, x) {
		x = hop_sin(t, x);
		hop_progress(t, i, hop_i(t, TRIPS), "for");
	}
	hop_return(t, x);
}

static void step(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_progress(t, in[1], hop_i(t, TRIPS), "scan");
	hop_return(t, hop_sin(t, in[0]));
}

static void in_scan(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x, i = hop_iota(t, HOP_i32, 1, (hop_dim[]){ hop_n(TRIPS) }, 0);
	(void)user;
	hop_scan(t, step, NULL, 1, in, 1, &i, NULL, 1, &x, NULL);
	hop_return(t, x);
}

static void in_while(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], i = hop_scalar(t, HOP_i64, 0);
	(void)user;
	HOP_WHILE(t, hop_lt(t, i, hop_i(t, TRIPS)), x, i) {
		x = hop_sin(t, x);
		hop_progress(t, i, hop_i(t, 0), "while");        /* how many is not known */
		i = hop_add(t, i, hop_i(t, 1));
	}
	hop_return(t, x);
}

static void in_nested(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, 20, x) {
		HOP_FOR(t, k, 10, x) {
			x = hop_sin(t, x);
			HOP_IF(t, hop_gt(t, x, hop_f(t, 0)), x)
				hop_progress(t, k, hop_i(t, 10), "inner");
		}
		hop_progress(t, i, hop_i(t, 20), "outer");
	}
	hop_return(t, x);
}

static double sines(double x)
{
	for (int i = 0; i < TRIPS; i++)
		x = sin(x);
	return x;
}

enum way { COMPILED, BY_CC, INTERPRETED, EAGER, NWAY };

static void run(hop_body *f, enum way way)
{
	hop_spec in = hop_spec0(HOP_f64);
	hop_array *x = num(0.9), *y;
	hop_fn *fn;
	double want = sines(0.9);
	forget();
	if (way == EAGER) {
		assert_int_equal(hop_eager_call(ctx, f, NULL, 1, &x, 1, &y), HOP_OK);
	} else {
		assert_int_equal(setenv("HOP_TARGET", way == BY_CC ? "c" : "llvm", 1), 0);
		assert_int_equal(hop_capture(ctx, f, NULL, 1, &in, &fn), HOP_OK);
		if (hop_call_with(fn, 1, &x, 1, &y, HOP_RUN_OPTS(.interpret = way == INTERPRETED)))
			fail_msg("%s", hop_message(ctx));
		hop_fn_release(fn);
		assert_int_equal(unsetenv("HOP_TARGET"), 0);
	}
	same(y, &want, 1);
	hop_array_release(x);
	hop_array_release(y);
	assert_int_equal(wrong, 0);
}

static void loops(void **state)
{
	(void)state;
	for (enum way w = COMPILED; w < NWAY; w++) {
		const struct { hop_body *f; const char *text; int64_t last, total; } one[] = {
			{ in_for, "for", TRIPS, TRIPS }, { in_scan, "scan", TRIPS, TRIPS },
			{ in_while, "while", TRIPS, 0 }, { in_nested, "outer", 20, 20 },
			{ in_nested, "inner", 10, 10 },
		};
		for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
			run(one[i].f, w);
			struct heard *h = about(one[i].text);
			/* a compiled while may leave out its last trips: none of them is known to be the last */
			if (one[i].total)
				assert_int_equal(h->last, one[i].last);
			assert_in_range(h->last, 1, one[i].last);
			assert_int_equal(h->total, one[i].total);
			assert_true(h->calls >= 1 && !h->fell);
		}
	}
}

/* ---- pace ---- */

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void long_loop(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	int64_t n = *(const int64_t *)user;
	HOP_FOR(t, i, n, x) {
		x = hop_sin(t, x);
		hop_progress(t, i, hop_i(t, n), "long");
	}
	hop_return(t, x);
}

/* Ten times a second and no more, however many trips; the first and the last of them are told. */
static void pace(void **state)
{
	(void)state;
	int64_t n = 1 << 22;
	hop_spec in = hop_spec0(HOP_f64);
	hop_array *x = num(0.9), *y;
	hop_fn *f;
	assert_int_equal(hop_capture(ctx, long_loop, &n, 1, &in, &f), HOP_OK);
	double t = now();
	assert_int_equal(hop_call(f, 1, &x, 1, &y), HOP_OK);
	t = now() - t;
	struct heard *h = about("long");
	assert_int_equal(h->last, n);
	assert_int_equal(h->finished, 1);
	assert_in_range(h->calls, 2, (int)(10 * t) + 3);
	hop_array_release(x);
	hop_array_release(y);
	hop_fn_release(f);
}

/* ---- threads ---- */

struct thread {
	pthread_t  id;
	hop_exec  *x;
	hop_status st;
};

static void listen_threads(void *user, const hop_progress_info *p)
{
	(void)user;
	calls++;
	if (strcmp(p->text, "for") || p->done < 1 || p->done > TRIPS || p->total != TRIPS)
		wrong++;
}

static void *in_thread(void *arg)
{
	struct thread *h = arg;
	double in = 0.9, out;
	hop_arg a = { .data = &in }, r = { .data = &out };
	void *w = aligned_alloc(64, (size_t)(hop_exec_workspace(h->x, &a) + 63) / 64 * 64);
	for (int i = 0; i < 50 && !h->st; i++) {
		h->st = hop_run(h->x, &a, &r, w);
		if (fabs(out - sines(0.9)) > 1e-9)
			wrong++;
	}
	free(w);
	return NULL;
}

static void threads(void **state)
{
	(void)state;
	hop_ctx *c;
	hop_fn *f;
	hop_spec in = hop_spec0(HOP_f64);
	struct thread t[4] = { 0 };
	hop_exec *x;
	forget();
	assert_int_equal(hop_ctx_new(HOP_CTX_OPTS(.progress_fn = listen_threads), &c), HOP_OK);
	assert_int_equal(hop_capture(c, in_for, NULL, 1, &in, &f), HOP_OK);
	assert_int_equal(hop_compile(f, NULL, &x), HOP_OK);
	for (int i = 0; i < 4; i++) {
		t[i].x = x;
		assert_int_equal(pthread_create(&t[i].id, NULL, in_thread, &t[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(t[i].id, NULL), 0);
		assert_int_equal(t[i].st, HOP_OK);
	}
	assert_int_equal(wrong, 0);
	assert_true(calls >= 4 * 50);                        /* the end of each run */
	hop_exec_release(x);
	hop_fn_release(f);
	hop_ctx_free(c);
}

/* ---- transforms: how many trips are told, which only the interpreter counts ---- */

static int64_t told(const hop_graph *g, int nin, hop_array *const *in)
{
	int64_t ran[HOP_NOPS] = { 0 };
	hop_array *out[8], *mine[8];
	hop_env e;
	hop_frame fr;
	hop_interp p;
	hop_env_init(&e, ctx, hop_ctx_mem(ctx));
	hop_interp_init(&p, &e);
	p.ran = ran;
	if (HOP_GUARD(&e, &fr))
		fail_msg("no memory");
	assert_int_equal((int)g->nparam, nin);
	for (int i = 0; i < nin; i++)
		mine[i] = hop_interp_hold(&p, in[i]);
	if (hop_interp_graph(&p, g, NULL, mine, out))
		fail_msg("%s", e.diag.text);
	hop_guard_end(&e, &fr);
	hop_interp_fini(&p);
	hop_env_fini(&e);
	return ran[HOP_OP_progress];
}

static void lanes_differ(hop_trace *t, const hop_value *in, void *user)
{
	hop_value i = hop_scalar(t, HOP_i64, 0), x = in[0];
	(void)user;
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 1)), x, i) {
		hop_progress(t, i, hop_i(t, 7), "lanes");
		x = hop_add(t, x, hop_f(t, 0.25));
		i = hop_add(t, i, hop_i(t, 1));
	}
	hop_return(t, x);
}

/* One trip of all lanes is one, and lanes that have ended are not asked. */
static void batches(void **state)
{
	(void)state;
	hop_spec in = hop_spec0(HOP_f64);
	double x[4] = { 0.8, 0.1, 0.6, 2 };
	hop_array *a = vec(4, x), *none = array(HOP_f64, 1, (int64_t[]){ 0 }, NULL), *out;
	hop_body *const f[2] = { in_for, lanes_differ };
	const int64_t trips[2] = { TRIPS, 4 };
	for (int k = 0; k < 2; k++) {
		hop_fn *fn, *v, *any;
		assert_int_equal(hop_capture(ctx, f[k], NULL, 1, &in, &fn), HOP_OK);
		assert_int_equal(hop_vmap(fn, (bool[]){ true }, 4, &v), HOP_OK);
		assert_int_equal(told(v->g, 1, &a), trips[k]);
		forget();
		assert_int_equal(hop_call(v, 1, &a, 1, &out), HOP_OK);
		struct heard *h = about(k ? "lanes" : "for");
		assert_true(h->calls >= 1 && !h->fell && !wrong);
		assert_in_range(h->last, k ? 1 : TRIPS, trips[k]);       /* of 7, which are not reached */
		hop_array_release(out);
		assert_int_equal(hop_vmap(fn, (bool[]){ true }, -1, &any), HOP_OK);
		assert_int_equal(hop_call(any, 1, &none, 1, &out), HOP_OK);    /* no lanes */
		hop_array_release(out);
		hop_fn_release(any);
		hop_fn_release(v);
		hop_fn_release(fn);
	}
	hop_array_release(a);
	hop_array_release(none);
}

static void with_slots(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, TRIPS, x) {
		hop_slots(t, 3);
		x = hop_sin(t, x);
		hop_progress(t, i, hop_i(t, TRIPS), "slots");
	}
	hop_return(t, x);
}

/* Reverse mode says nothing, nor does what it runs again. */
static void derivatives(void **state)
{
	(void)state;
	hop_spec in = hop_spec0(HOP_f64);
	hop_array *x = num(0.9), *tangent[2] = { x, x };
	hop_body *const f[] = { in_for, in_while, with_slots };
	for (size_t k = 0; k < sizeof f / sizeof *f; k++) {
		hop_fn *fn, *g, *j, *gg;
		hop_array *out[2];
		assert_int_equal(hop_capture(ctx, f[k], NULL, 1, &in, &fn), HOP_OK);
		assert_int_equal(hop_grad(fn, 1, (int[]){ 0 }, &g), HOP_OK);
		assert_int_equal(hop_jvp(fn, 1, (int[]){ 0 }, &j), HOP_OK);
		assert_int_equal(hop_jvp(g, 1, (int[]){ 0 }, &gg), HOP_OK);
		assert_int_equal(told(fn->g, 1, &x), TRIPS);
		assert_int_equal(told(g->g, 1, &x), TRIPS);
		assert_int_equal(told(j->g, 2, tangent), TRIPS);
		assert_int_equal(told(gg->g, 2, tangent), TRIPS);
		assert_int_equal(hop_call(g, 1, &x, 2, out), HOP_OK);
		double want = 1, y = 0.9;
		for (int i = 0; i < TRIPS; i++, y = sin(y))
			want *= cos(y);
		same(out[1], &want, 1);
		hop_array_release(out[0]);
		hop_array_release(out[1]);
		hop_fn_release(fn);
		hop_fn_release(g);
		hop_fn_release(j);
		hop_fn_release(gg);
	}
	hop_array_release(x);
}

/* ---- it changes nothing else ---- */

static void down_one(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sin(t, in[0]));
}

static void down_other(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	if (user)
		hop_progress(t, hop_i(t, 0), hop_i(t, 1), "branch");
	hop_return(t, hop_exp(t, x));
}

static void chosen(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y, i = hop_cast(t, hop_gt(t, in[0], hop_f(t, 0)), HOP_i64);
	hop_body *const branch[2] = { down_one, down_other };
	hop_switch_partition(t, i, 2, branch, user, 1, in, 1, &y);
	hop_return(t, y);
}

/* Branches that say how far they are are run on their own lanes only, as others are. */
static void partition(void **state)
{
	(void)state;
	hop_spec in = hop_spec0(HOP_f64);
	const hop_graph *g[2];
	for (int says = 0; says < 2; says++) {
		hop_fn *f, *v;
		assert_int_equal(hop_capture(ctx, chosen, says ? &says : NULL, 1, &in, &f), HOP_OK);
		assert_int_equal(hop_vmap(f, (bool[]){ true }, 64, &v), HOP_OK);
		hop_env e;
		hop_frame fr;
		hop_env_init(&e, ctx, hop_ctx_mem(ctx));
		if (HOP_GUARD(&e, &fr))
			fail_msg("no memory");
		assert_true(!says == !v->g->has_effect && !v->g->acts);
		assert_int_equal(hop_pipeline_mute(&e, v->g, &g[says]), HOP_OK);
		assert_int_equal(hop_pipeline_run(&e, g[says], false, &g[says]), HOP_OK);
		hop_guard_end(&e, &fr);
		hop_env_fini(&e);
		hop_fn_release(f);
		hop_fn_release(v);
	}
	assert_ptr_equal(g[0], g[1]);
}

/* x[1:] + y: of two elements one is left, which broadcasts: what the capture with symbols refuses is
 * tried with numbers. */
static void less_one(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_dim n = hop_dim_sub(t, hop_dim_of(t, in[0], 0), hop_n(1));
	hop_progress(t, hop_i(t, 0), hop_i(t, 1), "jit");
	hop_return(t, hop_add(t, hop_slice(t, in[0], 0, hop_n(1), n, 1), in[1]));
}

static void jits(void **state)
{
	static const int64_t sizes[] = { 6, 7, 2 };          /* a number, a symbol, what it refuses */
	double v[7] = { 1, 2, 3, 4, 5, 6, 7 };
	hop_jit *j;
	(void)state;
	assert_int_equal(hop_jit_new(ctx, less_one, NULL, NULL, &j), HOP_OK);
	for (int i = 0; i < 3; i++) {
		hop_array *in[2] = { vec(sizes[i], v), vec(i == 2 ? 5 : sizes[i] - 1, v) }, *out;
		if (hop_jit_call(j, 2, in, 1, &out))
			fail_msg("%s", hop_message(ctx));
		assert_true(fabs(hop_array_at(out, 0) - 3) < 1e-12);
		hop_array_release(in[0]);
		hop_array_release(in[1]);
		hop_array_release(out);
	}
	hop_jit_release(j);
}

/* ---- nobody wants to know ---- */

static void off(void **state)
{
	(void)state;
	hop_ctx *on = ctx;
	hop_body *const f[] = { in_for, in_scan, in_while, in_nested };
	hop_spec in = hop_spec0(HOP_f64);
	assert_int_equal(hop_ctx_new(NULL, &ctx), HOP_OK);
	for (enum way w = COMPILED; w < NWAY; w++)
		for (size_t k = 0; k < sizeof f / sizeof *f; k++)
			run(f[k], w);
	assert_int_equal(calls, 0);
	for (size_t k = 0; k < sizeof f / sizeof *f; k++) {
		hop_fn *fn;
		const hop_graph *opt;
		hop_prog *p;
		hop_env e;
		hop_frame fr;
		assert_int_equal(hop_capture(ctx, f[k], NULL, 1, &in, &fn), HOP_OK);
		assert_non_null(strstr(hop_fn_text(fn), "progress"));
		assert_true(fn->g->has_effect);
		hop_env_init(&e, ctx, hop_ctx_mem(ctx));
		if (HOP_GUARD(&e, &fr))
			fail_msg("no memory");
		assert_int_equal(hop_pipeline_run(&e, fn->g, false, &opt), HOP_OK);
		assert_false(opt->has_effect);
		assert_int_equal(hop_lower_graph(&e, opt, &(hop_lower_opts){ 0 }, &p), HOP_OK);
		assert_int_equal(p->neffect, 0);
		hop_prog_free(p, &e.mem);
		hop_guard_end(&e, &fr);
		hop_env_fini(&e);
		hop_fn_release(fn);
	}
	hop_ctx_free(ctx);
	ctx = on;
}

/* ---- on a terminal, and where there is none ---- */

/* Runs with the environment's HOP_PROGRESS and this as standard error; what was written is in text. */
static void shown(int to, int from, char *text, size_t n)
{
	hop_ctx *on = ctx;
	int keep = dup(2);
	size_t got = 0;
	assert_true(keep >= 0 && dup2(to, 2) == 2);
	assert_int_equal(setenv("HOP_PROGRESS", "1", 1), 0);
	assert_int_equal(hop_ctx_new(NULL, &ctx), HOP_OK);
	run(in_for, COMPILED);
	hop_ctx_free(ctx);
	ctx = on;
	assert_int_equal(unsetenv("HOP_PROGRESS"), 0);
	fflush(stderr);
	assert_true(dup2(keep, 2) == 2);
	close(keep);
	for (ssize_t k; got + 1 < n && (k = read(from, text + got, n - 1 - got)) > 0; got += (size_t)k) {
	}
	text[got] = 0;
}

static void lines(void **state)
{
	(void)state;
	int p[2];
	char text[4096];
	assert_int_equal(pipe(p), 0);
	assert_int_equal(fcntl(p[0], F_SETFL, O_NONBLOCK), 0);
	shown(p[1], p[0], text, sizeof text);
	assert_non_null(strstr(text, "for: 200 of 200, "));
	assert_non_null(strstr(text, " a second, "));
	assert_null(strchr(text, '\r'));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);       /* one line, the end */
	close(p[0]);
	close(p[1]);
}

static void bar(void **state)
{
	(void)state;
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	char text[8192];
	assert_true(master >= 0 && !grantpt(master) && !unlockpt(master));
	int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
	assert_true(terminal >= 0);
	assert_int_equal(fcntl(master, F_SETFL, O_NONBLOCK), 0);
	shown(terminal, master, text, sizeof text);
	assert_non_null(strstr(text, "\r\033[Kfor ["));
	assert_non_null(strstr(text, "[########################] 200 of 200, "));
	assert_int_equal(text[strlen(text) - 1], '\n');
	close(terminal);
	close(master);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {
		T(loops), T(pace), T(threads), T(batches), T(derivatives), T(partition), T(jits), T(off),
		T(lines), T(bar),
	};
#undef T
	return cmocka_run_group_tests(tests, NULL, NULL);
}
