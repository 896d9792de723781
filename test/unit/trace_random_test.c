/* trace_random_test.c -- random programs of views, writes, branches and loops on one storage,
 * captured and eager, against a model that really shares memory: a view is a list of
 * places in the storage. The number of programs is fixed, and so are they. */
#include <pthread.h>
#include <stdlib.h>

#include "trace_rig.h"

enum { N = 24, NSLOT = 12, NCMD = 14, DEPTH = 3, PROGRAMS = 400 };

/* A small generator of our own: the same programs everywhere. */
static uint32_t draw(uint64_t *s, uint32_t n)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*s >> 33) % n;
}

/* A shape and the place of each element in the storage. */
struct view {
	int     rank;
	int64_t dim[4];
	int     n, at[N];
};

struct world {
	uint64_t  seed;
	double    store[N];
	int       nview;
	struct view view[NSLOT * (DEPTH + 1)];
	hop_value val[NSLOT * (DEPTH + 1)];
	hop_trace *t;                    /* NULL: only the model runs */
	hop_value  k;                    /* captured scalar, 2 */
	int        depth;
};

static int count(const struct view *v)
{
	int n = 1;
	for (int i = 0; i < v->rank; i++)
		n *= (int)v->dim[i];
	return n;
}

/* Element (i0, i1, ..) of a view, from its row-major number, after moving axes. */
static void pick(const struct view *v, struct view *r, int axis, int64_t start, int64_t step)
{
	int n = count(r);
	r->n = n;
	for (int e = 0; e < n; e++) {
		int64_t ix[4] = { 0 }, rest = e, flat = 0;
		for (int i = r->rank - 1; i >= 0; i--) {
			ix[i] = rest % r->dim[i];
			rest /= r->dim[i];
		}
		ix[axis] = start + ix[axis] * step;
		for (int i = 0; i < v->rank; i++)
			flat = flat * v->dim[i] + ix[i];
		r->at[e] = v->at[flat];
	}
}

/* ---- commands: the model and, when there is a trace, hop ---- */

static void add_view(struct world *w, const struct view *v, hop_value x)
{
	if (w->nview == NSLOT * (w->depth + 1))
		return;
	w->view[w->nview] = *v;
	w->val[w->nview++] = x;
}

static void do_slice(struct world *w, int i)
{
	struct view v = w->view[i], r = v;
	int axis = (int)draw(&w->seed, (uint32_t)v.rank);
	int64_t len = 1 + draw(&w->seed, (uint32_t)v.dim[axis]);
	int64_t room = len > 1 ? (v.dim[axis] - 1) / (len - 1) : 1;
	int64_t step = 1 + draw(&w->seed, (uint32_t)room);
	int64_t span = (len - 1) * step;
	int64_t start = draw(&w->seed, (uint32_t)(v.dim[axis] - span));
	if (draw(&w->seed, 2)) {
		start += span;
		step = -step;
	}
	r.dim[axis] = len;
	pick(&v, &r, axis, start, step);
	hop_value x = { 0, 0 };
	if (w->t)
		x = hop_slice(w->t, w->val[i], axis, hop_n(start), hop_n(len), step);
	add_view(w, &r, x);
}

static void do_transpose(struct world *w, int i)
{
	struct view v = w->view[i], r = v;
	int a = (int)draw(&w->seed, (uint32_t)v.rank), b = (int)draw(&w->seed, (uint32_t)v.rank);
	r.dim[a] = v.dim[b];
	r.dim[b] = v.dim[a];
	for (int e = 0; e < v.n; e++) {
		int64_t ix[4], rest = e, flat = 0;
		for (int k = r.rank - 1; k >= 0; k--) {
			ix[k] = rest % r.dim[k];
			rest /= r.dim[k];
		}
		int64_t s = ix[a];
		ix[a] = ix[b];
		ix[b] = s;
		for (int k = 0; k < v.rank; k++)
			flat = flat * v.dim[k] + ix[k];
		r.at[e] = v.at[flat];
	}
	hop_value x = { 0, 0 };
	if (w->t)
		x = hop_transpose(w->t, w->val[i], a, b);
	add_view(w, &r, x);
}

static void do_flatten(struct world *w, int i)
{
	struct view r = w->view[i];
	hop_dim d[2] = { hop_n(r.n), hop_n(1) };
	hop_value x = { 0, 0 };
	r.rank = 2;
	r.dim[0] = r.n;
	r.dim[1] = 1;
	if (w->t)
		x = hop_reshape(w->t, w->val[i], 2, d);
	add_view(w, &r, x);
}

/* view = view * 0.5 + mean-ish of another, or a constant: values stay small. */
static void do_write(struct world *w, int i)
{
	const struct view *v = &w->view[i];
	int kind = (int)draw(&w->seed, 3), j = (int)draw(&w->seed, (uint32_t)w->nview);
	const struct view *o = &w->view[j];
	double c = draw(&w->seed, 9) * 0.25, sum = 0;
	for (int e = 0; e < o->n; e++)
		sum += w->store[o->at[e]];
	for (int e = 0; e < v->n; e++) {
		double *p = &w->store[v->at[e]];
		*p = kind == 0 ? c : kind == 1 ? *p * 0.5 : *p + sum * 0.125 * 2;
	}
	if (!w->t)
		return;
	if (kind == 0)
		hop_copy_(w->t, w->val[i], hop_f(w->t, c));
	else if (kind == 1)
		hop_mul_(w->t, w->val[i], hop_f(w->t, 0.5));
	else
		hop_add_(w->t, w->val[i], hop_mul(w->t, hop_mulf(w->t, hop_sum_all(w->t, w->val[j]),
		                                                 0.125), w->k));
}

static void commands(struct world *w, int n);

/* ---- bodies: run the same commands on a copy of the world with its trace ---- */

struct sub { struct world *w; uint64_t seed[2]; int n; };

static void inside(hop_trace *t, struct sub *s, int which, struct world *mine)
{
	*mine = *s->w;
	mine->t = t;
	mine->seed = s->seed[which];
	mine->depth++;
	commands(mine, s->n);
}

static void then_body(hop_trace *t, const hop_value *in, void *user)
{
	struct world *w = malloc(sizeof *w);
	(void)in;
	inside(t, user, 0, w);
	free(w);
	hop_return_n(t, 0, NULL);
}

static void else_body(hop_trace *t, const hop_value *in, void *user)
{
	struct world *w = malloc(sizeof *w);
	(void)in;
	inside(t, user, 1, w);
	free(w);
	hop_return_n(t, 0, NULL);
}

/* Carries a counter, so that while and scan share it. */
static void loop_body(hop_trace *t, const hop_value *in, void *user)
{
	struct world *w = malloc(sizeof *w);
	inside(t, user, 0, w);
	free(w);
	hop_return(t, hop_add(t, in[0], hop_i(t, 1)));
}

static void loop_test(hop_trace *t, const hop_value *in, void *user)
{
	struct sub *s = user;
	if (s->seed[1] & 1)                              /* a test that writes */
		hop_mul_(t, s->w->val[0], hop_f(t, 0.5));
	hop_return(t, hop_lt(t, in[0], hop_i(t, 2)));
}

static void model(struct world *w, struct sub *s, int which)
{
	struct world *mine = malloc(sizeof *mine);
	inside(NULL, s, which, mine);
	memcpy(w->store, mine->store, sizeof w->store);
	free(mine);
}

static void halve_all(struct world *w)
{
	for (int e = 0; e < N; e++)
		w->store[e] *= 0.5;
}

static void do_body(struct world *w)
{
	struct sub s = { w, { draw(&w->seed, 1u << 30), draw(&w->seed, 1u << 30) }, NCMD / 2 };
	int kind = (int)draw(&w->seed, 4), j = (int)draw(&w->seed, (uint32_t)w->nview);
	double first = w->store[w->view[j].at[0]];
	hop_value zero, out[1], none[1];
	/* hop first: the bodies read the world as it is now */
	if (w->t) {
		hop_trace *t = w->t;
		hop_scan_opts o = { .size = sizeof o, .has_length = true, .length = hop_n(2) };
		hop_value p = w->val[j];
		while (hop_rank(t, p) && !hop_failed(t))
			p = hop_index(t, p, 0, 0);
		zero = hop_full(t, HOP_i64, 0, NULL, 0);
		if (kind == 0)
			hop_cond(t, hop_lt(t, p, hop_f(t, 1)), then_body, else_body, &s, 0, NULL, 0, none);
		else if (kind == 1)
			hop_scan(t, loop_body, &s, 1, &zero, 0, NULL, &o, 1, out, NULL);
		else if (kind == 2)
			hop_while(t, loop_test, loop_body, &s, 1, &zero, NULL, out, NULL);
		else
			hop_region(t, "r", then_body, &s, 0, NULL, 0, none);
	}
	if (kind == 0) {
		model(w, &s, first < 1 ? 0 : 1);
	} else if (kind == 3) {
		model(w, &s, 0);
	} else {
		for (int k = 0; k < 2; k++) {
			if (kind == 2 && s.seed[1] & 1)
				halve_all(w);
			model(w, &s, 0);
		}
		if (kind == 2 && s.seed[1] & 1)
			halve_all(w);
	}
}

/* The commands depend on the seed alone, never on the data, except which branch is taken. */
static void commands(struct world *w, int n)
{
	for (int c = 0; c < n; c++) {
		int what = (int)draw(&w->seed, 9), i = (int)draw(&w->seed, (uint32_t)w->nview);
		if (what < 2)
			do_slice(w, i);
		else if (what == 2)
			do_transpose(w, i);
		else if (what == 3)
			do_flatten(w, i);
		else if (what < 8 || w->depth == DEPTH)
			do_write(w, i);
		else
			do_body(w);
	}
}

static void world_init(struct world *w, uint64_t seed)
{
	memset(w, 0, sizeof *w);
	w->seed = seed * 7919 + 1;
	for (int i = 0; i < N; i++)
		w->store[i] = i * 0.25 - 2;
	w->nview = 1;
	w->view[0] = (struct view){ 3, { 2, 3, 4 }, N, { 0 } };
	for (int i = 0; i < N; i++)
		w->view[0].at[i] = i;
}

static void program(hop_trace *t, const hop_value *in, void *user)
{
	struct world *w = malloc(sizeof *w);
	world_init(w, *(uint64_t *)user);
	w->t = t;
	w->val[0] = in[0];
	w->k = hop_full(t, HOP_f64, 0, NULL, 2);
	commands(w, NCMD);
	hop_return(t, w->val[w->nview - 1]);
	free(w);
}

static void random_programs(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
		struct world w;
		double last[N];
		double start[N];
		world_init(&w, seed);
		memcpy(start, w.store, sizeof start);
		commands(&w, NCMD);
		const struct view *v = &w.view[w.nview - 1];
		for (int e = 0; e < v->n; e++)
			last[e] = w.store[v->at[e]];
		if (getenv("RIG_TEXT"))
			printf("# program %d\n", (int)seed);
		rig_run(&(struct rig){ .f = program, .user = &seed, .nin = 1,
		        .in = { array(HOP_f64, 3, (int64_t[]){ 2, 3, 4 }, start) }, .nout = 1,
		        .want = { last }, .n = { v->n }, .after = { w.store } });
	}
}

/* ---- threads share a context, not a trace ---- */

static void *capture_many(void *arg)
{
	hop_fn **f = arg;
	hop_spec in = hop_spec3(HOP_f64, 2, 3, 4);
	for (uint64_t seed = 1; seed <= 40; seed++)
		if (hop_capture(ctx, program, &seed, 1, &in, &f[seed - 1]))
			return NULL;
	return arg;
}

static void threads_capture_the_same(void **state)
{
	(void)state;
	pthread_t th[2];
	static hop_fn *f[2][40];
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&th[i], NULL, capture_many, f[i]), 0);
	for (int i = 0; i < 2; i++) {
		void *ok;
		pthread_join(th[i], &ok);
		assert_non_null(ok);
	}
	for (int k = 0; k < 40; k++) {
		assert_string_equal(hop_fn_text(f[0][k]), hop_fn_text(f[1][k]));
		hop_fn_release(f[0][k]);
		hop_fn_release(f[1][k]);
	}
}

static void forever(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1];
	hop_region(t, "r", forever, user, 1, in, 1, out);
	hop_return(t, out[0]);
}

static void bodies_that_call_themselves(void **state)
{
	(void)state;
	hop_spec in = hop_spec0(HOP_f64);
	rig_fails(forever, NULL, 1, &in, HOP_EUSE, "does it call itself");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs),
		cmocka_unit_test(threads_capture_the_same),
		cmocka_unit_test(bodies_that_call_themselves),
	};
	cmocka_set_test_filter(getenv("UNIT_CASES"));         /* NULL: all */
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
