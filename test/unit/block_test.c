/* block_test.c -- what blocks compute: captured and native, interpreted and eager, against each
 * other, against the function form and against plain C; once as they are, and once with every loop
 * captured twice. What is refused is in block_err_test.c. */
#include "trace_rig.h"

#define FORMS_ONLY
#include "../block/forms.c"

static int twice(void **state)
{
	setenv("HOP_CHECK", "blocks", 1);
	return rig_up(state);
}

static int once(void **state)
{
	unsetenv("HOP_CHECK");
	return rig_up(state);
}

/* ---- all forms, all ways ---- */

enum { EAGER, INTERP, NATIVE };

static int run(hop_body *f, int way, hop_array **in, hop_array **out)
{
	hop_spec spec[4];
	hop_fn *g;
	for (int i = 0; i < 4; i++)
		spec[i] = spec_of(in[i]);
	spec[3] = hop_spec_sym(spec[3], 0, "n", 0, 0);
	if (hop_capture(ctx, f, NULL, 4, spec, &g))
		fail_msg("capture: %s", hop_message(ctx));
	int n = hop_fn_nout(g);
	hop_status st = way == EAGER ? hop_eager_call(ctx, f, NULL, 4, in, n, out) :
	                hop_call_with(g, 4, in, n, out, HOP_RUN_OPTS(.interpret = way == INTERP));
	if (st)
		fail_msg("%s: %s", way == EAGER ? "eager" : "call", hop_message(ctx));
	hop_fn_release(g);
	return n;
}

static void compare(const char *name, hop_array *a, hop_array *b, bool bits)
{
	size_t bytes = (size_t)hop_array_count(a) * 8;             /* f64 and i64 only */
	assert_int_equal(hop_array_count(a), hop_array_count(b));
	assert_int_equal(hop_array_dtype(a), hop_array_dtype(b));
	assert_true(hop_array_dtype(a) == HOP_f64 || hop_array_dtype(a) == HOP_i64);
	if (bits && memcmp(hop_array_data(a), hop_array_data(b), bytes))
		fail_msg("%s: %g is not %g", name, hop_array_at(a, 0), hop_array_at(b, 0));
	for (int64_t i = 0; i < hop_array_count(a); i++) {
		double x = hop_array_at(a, i), y = hop_array_at(b, i);
		if (fabs(x - y) > 1e-10 * (1 + fabs(x)))
			fail_msg("%s: %g is not %g", name, x, y);
	}
}

static void all_ways_agree(void **state)
{
	(void)state;
	static const double at[4][2] = { { 2, 1.5 }, { -3, 2 }, { 21, 14 }, { 0.25, -1 } };
	double v[5] = { 0.5, -2, 1, 3, 0.25 }, m[12];
	for (int i = 0; i < 12; i++)
		m[i] = 0.3 * i - 1;
	for (int k = 0; k < 4 * (int)(sizeof pairs / sizeof *pairs); k++) {
		const double *x = at[k % 4];
		int64_t dim[2] = { k % 4, 3 };                         /* 0, 1, 2, 3 rows */
		if (k / 4 == 0 && x[0] < 0)
			continue;                                          /* no root */
		if (k / 4 == 1 && x[1] < 0)
			continue;                                          /* would not end */
		if ((k / 4 == 9 || k / 4 == 0) && x[1] <= 0)
			continue;
		for (int form = 0; form < 2; form++) {
			hop_body *f = form ? pairs[k / 4].form : pairs[k / 4].block;
			hop_array *in[4] = { num(x[0]), num(x[1]), vec(5, v), array(HOP_f64, 2, dim, m) };
			hop_array *out[3][4];
			int n = 0;
			for (int way = 0; way < 3; way++)
				n = run(f, way, in, out[way]);
			for (int i = 0; i < n; i++) {
				compare(pairs[k / 4].name, out[INTERP][i], out[EAGER][i], true);
				compare(pairs[k / 4].name, out[INTERP][i], out[NATIVE][i], false);
			}
			for (int way = 0; way < 3; way++)
				for (int i = 0; i < n; i++)
					hop_array_release(out[way][i]);
			for (int i = 0; i < 4; i++)
				hop_array_release(in[i]);
		}
	}
}

/* ---- nothing to run ---- */

BODY(f_nothing)
{
	hop_value x = in[0], y = in[0], ys = HOP_NONE, k = HOP_NONE;
	(void)user;
	HOP_WHILE(t, hop_gt(t, x, hop_f(t, 100)), x)
		x = hop_mulf(t, x, 2);
	HOP_FOR(t, i, 0, y) {
		hop_trips(t, &k);
		y = hop_add(t, y, hop_take(t, in[1], i));
		hop_stack(t, &ys, hop_add(t, in[1], y));
	}
	hop_return(t, x, y, k, hop_sum_all(t, ys), hop_size_of(t, ys, 0), hop_size_of(t, ys, 1));
}

static void nothing_runs(void **state)
{
	(void)state;
	double v[3] = { 1, 2, 3 }, x = 5, zero = 0, three = 3;
	rig_run(&(struct rig){ .f = f_nothing, .nin = 2, .in = { num(x), vec(3, v) }, .nout = 6,
	                       .want = { &x, &x, &zero, &zero, &zero, &three },
	                       .n = { 1, 1, 1, 1, 1, 1 } });
}

/* ---- writes in place ---- */

/* A loop's variable starts as a copy; a buffer that is not listed is written; an arm and a region
 * write what they are given. */
BODY(f_writes)
{
	hop_value v = in[0], buf = in[0], w = in[1];
	(void)user;
	HOP_FOR(t, i, 2, v)
		hop_add_(t, v, hop_f(t, 10));
	HOP_FOR(t, i, 2)
		hop_add_(t, buf, hop_f(t, 1));
	HOP_IF(t, hop_gt(t, hop_sum_all(t, w), hop_f(t, 0)), w)
		hop_add_(t, w, hop_f(t, 100));
	hop_add_(t, w, hop_f(t, 1000));               /* a value of its own since the block */
	HOP_REGION(t, "r", buf)
		hop_add_(t, buf, hop_f(t, 0.5));
	hop_return(t, v, buf, w);
}

static void writes_in_place(void **state)
{
	(void)state;
	for (int neg = 0; neg < 2; neg++) {
		double a = 1, b = neg ? -2 : 2, v = 21, buf = 3.5, w = b + 1000 + (neg ? 0 : 100);
		double b1 = b + (neg ? 0 : 100);
		rig_run(&(struct rig){ .f = f_writes, .nin = 2, .in = { vec(1, &a), vec(1, &b) },
		                       .nout = 3, .want = { &v, &buf, &w }, .n = { 1, 1, 1 },
		                       .after = { &buf, &b1 } });
	}
}

/* ---- values that no arm has to have, and continue ---- */

static hop_value pick(hop_trace *t, hop_value x)       /* the same t, in another function */
{
	hop_value y = HOP_NONE;
	HOP_IF(t, hop_gt(t, x, hop_f(t, 0)), y)
		y = hop_sqrt(t, x);
	else
		y = hop_f(t, -1);
	return y;
}

BODY(f_pick)
{
	hop_value s = hop_mulf(t, in[0], 0), none = HOP_NONE;
	(void)user;
	HOP_FOR(t, i, 4, s) {
		hop_value x = hop_take(t, in[1], i);
		s = hop_add(t, s, pick(t, x));
		if (!hop_failed(t))
			continue;
		s = hop_f(t, 1e9);                             /* not reached */
	}
	HOP_SWITCH(t, hop_i(t, 7), 2, none) {
	case 0:
		none = hop_f(t, 1);
		break;
	default:
		none = hop_neg(t, s);
	}
	hop_return(t, s, none);
}

static void picks(void **state)
{
	(void)state;
	double v[4] = { 4, -9, 0, 16 }, s = 2 - 1 - 1 + 4, m = -s;
	rig_run(&(struct rig){ .f = f_pick, .nin = 2, .in = { num(3), vec(4, v) }, .nout = 2,
	                       .want = { &s, &m }, .n = { 1, 1 } });
}

/* ---- take: any index, any place ---- */

BODY(f_take)
{
	hop_value a = hop_mulf(t, in[0], 0), b = a, c = a;
	(void)user;
	HOP_FOR_DOWN(t, i, 3, a, b, c) {
		hop_value own = hop_mulf(t, in[1], 2);
		hop_value prev = hop_sub(t, i, hop_i(t, 1));               /* clamped at 0 */
		a = hop_add(t, hop_mulf(t, a, 10), hop_take(t, in[1], prev));
		b = hop_add(t, hop_mulf(t, b, 10), hop_take(t, own, i));
		HOP_IF(t, hop_gt(t, i, hop_i(t, 0)), c)
			c = hop_add(t, hop_mulf(t, c, 10), hop_take(t, in[1], i));
	}
	hop_return(t, a, b, c, hop_take(t, in[1], hop_i(t, 9)));
}

static void takes(void **state)
{
	(void)state;
	double v[4] = { 1, 2, 3, 4 }, a = 211, b = 642, c = 32, last = 4;
	rig_run(&(struct rig){ .f = f_take, .nin = 2, .in = { num(1), vec(4, v) }, .nout = 4,
	                       .want = { &a, &b, &c, &last }, .n = { 1, 1, 1, 1 } });
}

/* ---- memory of eager loops ---- */

struct meter {
	long live, early, late;
	int  trips;
};

static void *metered(void *user, void *p, size_t osize, size_t nsize)
{
	struct meter *m = user;
	m->live += (long)nsize - (p ? (long)osize : 0);
	if (nsize)
		return realloc(p, nsize);
	free(p);
	return NULL;
}

BODY(f_long)
{
	struct meter *m = user;
	hop_value x = in[0], k = hop_sum_all(t, hop_mulf(t, x, 0));
	HOP_WHILE(t, hop_lt(t, k, hop_f(t, 500)), x, k) {
		HOP_IF(t, hop_lt(t, k, hop_f(t, 250)), x)
			x = hop_add(t, x, k);
		k = hop_addf(t, k, 1);
		m->trips++;
		if (m->trips == 20)
			m->early = m->live;
		if (m->trips == 490)
			m->late = m->live;
	}
	HOP_FOR(t, i, 500, x)
		x = hop_addf(t, x, 1);
	hop_return(t, x);
}

static void trips_hold_no_memory(void **state)
{
	(void)state;
	struct meter m = { 0 };
	hop_ctx *own;
	hop_array *x, *y;
	int64_t n = 1000;
	assert_int_equal(hop_ctx_new(HOP_CTX_OPTS(.alloc = metered, .user = &m), &own), HOP_OK);
	assert_int_equal(hop_array_new(own, HOP_f64, 1, &n, NULL, &x), HOP_OK);
	assert_int_equal(hop_eager_call(own, f_long, &m, 1, &x, 1, &y), HOP_OK);
	assert_int_equal((int)hop_array_at(y, 999), 250 * 249 / 2 + 500);
	assert_int_equal(m.trips, 500);
	if (m.late > m.early + 8192)
		fail_msg("%ld bytes after 20 trips, %ld after 490", m.early, m.late);
	hop_array_release(x);
	hop_array_release(y);
	hop_ctx_free(own);
	assert_int_equal(m.live, 0);
}

/* ---- derivatives and batches of blocks ---- */

BODY(f_power)
{
	hop_value x = in[0], y = in[0];
	(void)user;
	HOP_WHILE(t, hop_lt(t, hop_abs(t, y), hop_f(t, 50)), y)
		y = hop_mul(t, y, x);
	HOP_IF(t, hop_lt(t, y, hop_f(t, 0)), y)
		y = hop_neg(t, y);
	hop_return(t, y);
}

static void derivatives(void **state)
{
	(void)state;
	hop_fn *f, *g, *v;
	hop_spec s = hop_spec0(HOP_f64);
	int wrt = 0;
	bool batched = true;
	double x[4] = { 2, -3, 60, -4 };
	double y[4] = { 64, 81, 60, 64 }, d[4] = { 192, -108, 1, -48 };
	hop_array *in = vec(4, x), *out[2];
	assert_int_equal(hop_capture(ctx, f_power, NULL, 1, &s, &f), HOP_OK);
	assert_int_equal(hop_grad(f, 1, &wrt, &g), HOP_OK);
	assert_int_equal(hop_vmap(g, &batched, 4, &v), HOP_OK);
	if (hop_call(v, 1, &in, 2, out))
		fail_msg("%s", hop_message(ctx));
	same(out[0], y, 4);
	same(out[1], d, 4);
	for (int i = 0; i < 2; i++)
		hop_array_release(out[i]);
	hop_array_release(in);
	hop_fn_release(v);
	hop_fn_release(g);
	hop_fn_release(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_ways_agree),
		cmocka_unit_test(nothing_runs),
		cmocka_unit_test(writes_in_place),
		cmocka_unit_test(picks),
		cmocka_unit_test(takes),
		cmocka_unit_test(trips_hold_no_memory),
		cmocka_unit_test(derivatives),
	};
	return cmocka_run_group_tests_name("once", tests, once, rig_down) |
	       cmocka_run_group_tests_name("twice", tests, twice, rig_down);
}
