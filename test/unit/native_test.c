/* native_test.c -- loop programs built by hand, compiled and compared with C: scalar
 * operations on every dtype, loops of every kind, sizes around the vector widths, static
 * and symbolic. Branches, loops that decide and calls are in
 * native_control_test.c, products and threads in native_gemm_test.c. */
#include <math.h>

#include "native_rig.h"

enum { MAXN = 1100 };
static const int sizes[] = { 0, 1, 2, 3, 5, 7, 8, 12, 15, 16, 17, 33, 64, 100, 129,
                             1000 };
enum { NSIZE = sizeof sizes / sizeof *sizes };

static hop_size extent(rig *r, bool dynamic, int n)
{
	return dynamic ? hop_size_sym(&r->e, 0) : K(n);
}

/* ---- scalar operations ---- */

/* One element, as it stands in memory. */
typedef union cell { uint64_t bits; double align; } cell;

static double as_f(hop_dtype t, cell c)
{
	return hop_elem_f(t, &c);
}

static int64_t as_i(hop_dtype t, cell c)
{
	return hop_dtype_real(t) ? 0 : hop_elem_i(t, &c);
}

static cell from_f(hop_dtype t, double v)
{
	cell c = { 0 };

	hop_elem_set_f(t, &c, v);
	return c;
}

static cell from_i(hop_dtype t, int64_t v)
{
	cell c = { 0 };

	hop_elem_set_i(t, &c, hop_dtype_bool(t) ? v & 1 : v);
	return c;
}

static int64_t wrap(hop_dtype t, uint64_t v)
{
	return t == HOP_i32 ? (int32_t)(uint32_t)v : (int64_t)v;
}

static cell ref_float(enum hop_sop s, hop_dtype d, double a, double b)
{
	double v = 0;

	switch (s) {
	case HOP_SOP_neg: v = -a; break;
	case HOP_SOP_abs: v = fabs(a); break;
	case HOP_SOP_exp: v = exp(a); break;
	case HOP_SOP_log: v = log(a); break;
	case HOP_SOP_sin: v = sin(a); break;
	case HOP_SOP_cos: v = cos(a); break;
	case HOP_SOP_tanh: v = tanh(a); break;
	case HOP_SOP_sqrt: v = sqrt(a); break;
	case HOP_SOP_floor: v = floor(a); break;
	case HOP_SOP_ceil: v = ceil(a); break;
	case HOP_SOP_trunc: v = trunc(a); break;
	case HOP_SOP_round: v = nearbyint(a); break;
	case HOP_SOP_add: v = a + b; break;
	case HOP_SOP_sub: v = a - b; break;
	case HOP_SOP_mul: v = a * b; break;
	case HOP_SOP_div: v = a / b; break;
	case HOP_SOP_rem: v = fmod(a, b); break;
	case HOP_SOP_pow: v = pow(a, b); break;
	case HOP_SOP_max: v = isnan(a) || isnan(b) ? NAN : a > b ? a : b; break;
	case HOP_SOP_min: v = isnan(a) || isnan(b) ? NAN : a < b ? a : b; break;
	default: fail();
	}
	return from_f(d, v);
}

static cell ref_int(enum hop_sop s, hop_dtype d, int64_t a, int64_t b)
{
	int      w = d == HOP_i32 ? 32 : 64;
	uint64_t ua = d == HOP_i32 ? (uint32_t)a : (uint64_t)a, v = 0;
	uint64_t ub = d == HOP_i32 ? (uint32_t)b : (uint64_t)b;

	switch (s) {
	case HOP_SOP_neg: v = 0 - ua; break;
	case HOP_SOP_abs: v = a < 0 ? 0 - ua : ua; break;
	case HOP_SOP_not: v = ~ua; break;
	case HOP_SOP_add: v = ua + ub; break;
	case HOP_SOP_sub: v = ua - ub; break;
	case HOP_SOP_mul: v = ua * ub; break;
	case HOP_SOP_div: v = b == 0 ? 0 : b == -1 ? 0 - ua : (uint64_t)(a / b); break;
	case HOP_SOP_rem: v = b == 0 ? ua : b == -1 ? 0 : (uint64_t)(a % b); break;
	case HOP_SOP_max: v = (uint64_t)(a > b ? a : b); break;
	case HOP_SOP_min: v = (uint64_t)(a < b ? a : b); break;
	case HOP_SOP_and: v = ua & ub; break;
	case HOP_SOP_or: v = ua | ub; break;
	case HOP_SOP_xor: v = ua ^ ub; break;
	case HOP_SOP_shl: v = ub >= (uint64_t)w ? 0 : ua << ub; break;
	case HOP_SOP_shr: v = ub >= (uint64_t)w ? 0 : ua >> ub; break;
	case HOP_SOP_mulhi: v = (ua * ub) >> 32; break;
	default: fail();
	}
	return from_i(d, d == HOP_bool ? (int64_t)(v & 1) : wrap(d, v));
}

static bool ref_cmp(enum hop_sop s, double a, double b, int64_t i, int64_t j, bool fl)
{
	switch (s) {
	case HOP_SOP_eq: return fl ? a == b : i == j;
	case HOP_SOP_ne: return fl ? a != b : i != j;
	case HOP_SOP_lt: return fl ? a < b : i < j;
	default: return fl ? a <= b : i <= j;
	}
}

/* Interesting values first, then a spread. */
static cell sample(hop_dtype d, int i, int which)
{
	static const double f[] = { 0, -0.0, 1, -1, 0.5, NAN, INFINITY, -INFINITY, 3.25, -7.75,
	                            1e-30, 88.5, -88, 710, -746, 1e5, 123456.7, 0x1p-140, 2,
	                            100 };
	static const int64_t n[] = { 0, 1, -1, 5, -5, 31, 32, 63, 64, 100, INT32_MIN, INT32_MAX,
	                             INT64_MIN, INT64_MAX, 1000003 };
	int nf = sizeof f / sizeof *f, ni = sizeof n / sizeof *n;

	if (d == HOP_bool)
		return from_i(d, (i >> which) & 1);
	if (hop_dtype_float(d)) {
		int k = which ? i / nf : i;

		return from_f(d, k < nf ? f[k] : (k * 37 % 101 - 50) * 0.173);
	}
	i = which ? i / ni : i % ni;
	return from_i(d, i < ni ? n[i] : (int64_t)i * 7919 - 300000);
}

static cell get(hop_dtype d, const void *p, int i)
{
	cell c = { 0 };

	memcpy(&c, (const char *)p + (size_t)i * hop_dtype_bytes(d), hop_dtype_bytes(d));
	return c;
}

static void put(hop_dtype d, void *p, int i, cell c)
{
	memcpy((char *)p + (size_t)i * hop_dtype_bytes(d), &c, hop_dtype_bytes(d));
}

static bool close_enough(hop_dtype d, cell got, cell want, double tol)
{
	double g, w;

	if (!hop_dtype_float(d))
		return as_i(d, got) == as_i(d, want);
	g = as_f(d, got);
	w = as_f(d, want);
	if (isnan(w) || isnan(g))
		return isnan(w) && isnan(g);
	if (g == w)
		return true;
	return fabs(g - w) <= tol * fabs(w) + (d == HOP_f32 ? 2e-45 : 1e-323);
}

/* out[i] = op(x[i], y[i]) over n elements. */
static void try_op(enum hop_sop s, hop_dtype d, int na, int n, bool dynamic)
{
	static _Alignas(64) char x[MAXN * 8], y[MAXN * 8], o[MAXN * 8];
	bool      cmp = s >= HOP_SOP_eq && s <= HOP_SOP_le;
	hop_dtype od = cmp ? HOP_bool : d;
	rig       R, *r = &R;
	hop_reg   v[2];
	hop_stmt *l;
	int       bx, by, bo;

	rig_up(r, 2, 1, 1);
	bx = rig_param(r, 0, d, extent(r, dynamic, n), false);
	by = rig_param(r, 1, d, extent(r, dynamic, n), false);
	bo = rig_param(r, 2, od, extent(r, dynamic, n), true);
	l = rig_loop(r, HOP_LOOP_PAR, extent(r, dynamic, n));
	v[0] = rig_load(r, d, rig_at(bx, 0, l->dst, K(1), 0));
	v[1] = rig_load(r, d, rig_at(by, 0, l->dst, K(1), 0));
	rig_store(r, od, rig_at(bo, 0, l->dst, K(1), 0), hop_l_op(&r->b, s, od, na, v));
	rig_end(r);
	rig_compile(r);
	for (int i = 0; i < MAXN; i++) {
		put(d, x, i, sample(d, i, 0));
		put(d, y, i, sample(d, i, 1));
	}
	memset(o, 0x55, sizeof o);
	assert_int_equal(rig_run(r, (void *[]){ x, y, o }, (int64_t[]){ n }), 0);
	for (int i = 0; i < n; i++) {
		cell a = get(d, x, i), b = get(d, y, i), got = get(od, o, i), want;

		if (cmp)
			want = from_i(HOP_bool, ref_cmp(s, as_f(d, a), as_f(d, b), as_i(d, a),
			                                as_i(d, b), hop_dtype_float(d)));
		else if (hop_dtype_float(d))
			want = ref_float(s, d, as_f(d, a), as_f(d, b));
		else
			want = ref_int(s, d, as_i(d, a), as_i(d, b));
		if (!close_enough(od, got, want, d == HOP_f32 ? 3e-7 : 1e-14))
			fail_msg("sop %d %s n %d [%d]: %g %g (%lld %lld) got %.9g want %.9g "
			         "(%lld %lld)", s, hop_dtype_name(d), n, i, as_f(d, a), as_f(d, b),
			         (long long)as_i(d, a), (long long)as_i(d, b), as_f(od, got),
			         as_f(od, want), (long long)as_i(od, got), (long long)as_i(od, want));
	}
	for (size_t i = (size_t)n * hop_dtype_bytes(od); i < sizeof o; i++)
		assert_int_equal(o[i], 0x55);
	rig_down(r);
}

/* Of packed dtypes there is no arithmetic, nor a cast but to and from what they compute in. */
static void refuse_op(enum hop_sop s, hop_dtype from, hop_dtype to, int na)
{
	rig     R, *r = &R;
	hop_reg v[2];

	rig_up(r, 2, 1, 0);
	rig_param(r, 0, from, K(1), false);
	rig_param(r, 1, from, K(1), false);
	rig_param(r, 2, to, K(1), true);
	v[0] = rig_load(r, from, rig_at(0, 0, 0));
	v[1] = rig_load(r, from, rig_at(1, 0, 0));
	rig_store(r, to, rig_at(2, 0, 0), hop_l_op(&r->b, s, to, na, v));
	assert_int_equal(code_new(&r->e, &r->p, &r->opts, &r->code), HOP_ETARGET);
	assert_non_null(strstr(r->e.diag.text, "loop program: operation"));
	rig_down(r);
}

static void test_sops(void **state)
{
	(void)state;
	for (int d = 0; d < HOP_NDTYPE; d++)
		for (int s = HOP_SOP_neg; s < HOP_SOP_select; s++) {
			bool fl = hop_dtype_float((hop_dtype)d), ok;

			if (hop_dtype_packed((hop_dtype)d)) {
				bool cmp = s >= HOP_SOP_eq && s <= HOP_SOP_le;

				refuse_op((enum hop_sop)s, (hop_dtype)d, cmp ? HOP_bool : (hop_dtype)d,
				          hop_soptab[s].in);
				continue;
			}

			if ((s >= HOP_SOP_exp && s <= HOP_SOP_round) || s == HOP_SOP_pow)
				ok = fl;
			else if (s == HOP_SOP_not || (s >= HOP_SOP_and && s <= HOP_SOP_xor))
				ok = !fl;
			else if (s == HOP_SOP_shl || s == HOP_SOP_shr)
				ok = d == HOP_i32 || d == HOP_i64;
			else if (s == HOP_SOP_mulhi)
				ok = d == HOP_i32;
			else
				ok = d != HOP_bool || s >= HOP_SOP_eq;
			if (!ok)
				continue;
			try_op((enum hop_sop)s, (hop_dtype)d, hop_soptab[s].in, 419, s & 1);
			try_op((enum hop_sop)s, (hop_dtype)d, hop_soptab[s].in, 1, false);
		}
}

static void test_tails(void **state)
{
	(void)state;
	for (int i = 0; i < NSIZE; i++)
		for (int dyn = 0; dyn < 2; dyn++) {
			try_op(HOP_SOP_mul, HOP_f32, 2, sizes[i], dyn);
			try_op(HOP_SOP_add, HOP_f64, 2, sizes[i], dyn);
			try_op(HOP_SOP_xor, HOP_bool, 2, sizes[i], dyn);
		}
}

/* Casts between all dtypes. */
static void test_casts(void **state)
{
	static _Alignas(64) char x[MAXN * 8], o[MAXN * 8];

	(void)state;
	for (int f = 0; f < HOP_NDTYPE; f++)
		for (int t = 0; t < HOP_NDTYPE; t++) {
			hop_dtype from = (hop_dtype)f, to = (hop_dtype)t;
			rig       R, *r = &R;
			hop_stmt *l;
			int       n = 100, bx, bo;

			if (hop_dtype_computes(from) != to && hop_dtype_computes(to) != from &&
			    (hop_dtype_packed(from) || hop_dtype_packed(to))) {
				refuse_op(HOP_SOP_cast, from, to, 1);
				continue;
			}
			rig_up(r, 1, 1, 0);
			bx = rig_param(r, 0, from, K(n), false);
			bo = rig_param(r, 1, to, K(n), true);
			l = rig_loop(r, HOP_LOOP_PAR, K(n));
			rig_store(r, to, rig_at(bo, 0, l->dst, K(1), 0), rig_op1(r, HOP_SOP_cast, to,
			          rig_load(r, from, rig_at(bx, 0, l->dst, K(1), 0))));
			rig_end(r);
			rig_compile(r);
			for (int i = 0; i < n; i++)
				put(from, x, i, sample(from, i, 0));
			assert_int_equal(rig_run(r, (void *[]){ x, o }, NULL), 0);
			for (int i = 0; i < n; i++) {
				cell   a = get(from, x, i), want, got = get(to, o, i);
				double v = hop_dtype_float(from) ? as_f(from, a) : (double)as_i(from, a);
				double lim = to == HOP_i32 ? 0x1p31 : 0x1p63;

				if (to == HOP_bool)
					want = from_i(to, hop_dtype_float(from) ? v != 0 : as_i(from, a) != 0);
				else if (hop_dtype_float(to))
					want = hop_dtype_float(from) ? from_f(to, v) : from_i(to, as_i(from, a));
				else if (!hop_dtype_float(from))
					want = from_i(to, wrap(to, (uint64_t)as_i(from, a)));
				else if (isnan(v))
					want = from_i(to, 0);
				else if (v >= lim)
					want = from_i(to, to == HOP_i32 ? INT32_MAX : INT64_MAX);
				else if (v < -lim)
					want = from_i(to, to == HOP_i32 ? INT32_MIN : INT64_MIN);
				else
					want = from_i(to, (int64_t)v);
				if (!close_enough(to, got, want, 0))
					fail_msg("cast %s to %s of %g: got %g/%lld", hop_dtype_name(from),
					         hop_dtype_name(to), v, as_f(to, got),
					         (long long)as_i(to, got));
			}
			rig_down(r);
		}
}

/* Every packed number to what it computes in; the numbers between two of them, and next to those,
 * back. With narrow vectors the machine counts as one that cannot do it itself. */
static void test_packed(void **state)
{
	enum { ALL = 1 << 16 };
	static uint16_t small[ALL], back[3 * ALL];
	static float    wide[ALL], mid[3 * ALL];

	(void)state;
	for (int d = 0; d < HOP_NDTYPE; d++) {
		rig       R, *r = &R;
		hop_stmt *l;
		hop_dtype t = (hop_dtype)d, c = HOP_f32;

		if (!hop_dtype_packed(t))
			continue;
		rig_up(r, 2, 2, 0);
		rig_param(r, 0, t, K(ALL), false);
		rig_param(r, 1, c, K(3 * ALL), false);
		rig_param(r, 2, c, K(ALL), true);
		rig_param(r, 3, t, K(3 * ALL), true);
		l = rig_loop(r, HOP_LOOP_PAR, K(ALL));
		rig_store(r, c, rig_at(2, 0, l->dst, K(1), 0),
		          rig_op1(r, HOP_SOP_cast, c, rig_load(r, t, rig_at(0, 0, l->dst, K(1), 0))));
		rig_end(r);
		l = rig_loop(r, HOP_LOOP_PAR, K(3 * ALL));
		rig_store(r, t, rig_at(3, 0, l->dst, K(1), 0),
		          rig_op1(r, HOP_SOP_cast, t, rig_load(r, c, rig_at(1, 0, l->dst, K(1), 0))));
		rig_end(r);
		rig_compile(r);
		for (int i = 0; i < ALL; i++) {
			uint16_t u = (uint16_t)i, v = (uint16_t)(i + 1);
			double   a = hop_elem_f(t, &u), b = hop_elem_f(t, &v);

			small[i] = u;
			mid[3 * i] = isfinite(a) && isfinite(b) ? (float)((a + b) / 2) : (float)a;
			mid[3 * i + 1] = nextafterf(mid[3 * i], INFINITY);
			mid[3 * i + 2] = nextafterf(mid[3 * i], -INFINITY);
		}
		assert_int_equal(rig_run(r, (void *[]){ small, mid, wide, back }, NULL), 0);
		for (int i = 0; i < ALL; i++) {
			double a = hop_elem_f(t, &small[i]);

			assert_true(isnan(a) ? isnan(wide[i]) : wide[i] == a && !signbit(a) == !signbit(wide[i]));
		}
		for (int i = 0; i < 3 * ALL; i++) {
			uint16_t want;

			hop_elem_set_f(t, &want, (double)mid[i]);
			if (isnan(mid[i]) ? !isnan(hop_elem_f(t, &back[i])) : back[i] != want)
				fail_msg("%s of %.9g: %#x, not %#x", hop_dtype_name(t), (double)mid[i], back[i],
				         want);
		}
		rig_down(r);
	}
}

/* ---- reductions ---- */

static void try_red(enum hop_red op, hop_dtype d, int n, bool dynamic, int64_t stride)
{
	static _Alignas(64) char x[MAXN * 24], o[8];
	rig       R, *r = &R;
	hop_stmt *l;
	hop_reg   init, v;
	int       bx, bo;
	cell      want;

	rig_up(r, 1, 1, 1);
	bx = rig_param(r, 0, d, K(3 * MAXN), false);
	bo = rig_param(r, 1, d, K(1), true);
	init = hop_dtype_float(d) ? hop_l_constf(&r->b, d, 1) : hop_l_consti(&r->b, d, 1);
	l = rig_loop(r, HOP_LOOP_RED, extent(r, dynamic, n));
	v = rig_load(r, d, rig_at(bx, 0, l->dst, K(stride), 0));
	rig_end(r);
	v = rig_acc(r, l, op, d, init, v);
	rig_store(r, d, rig_at(bo, 0, 0), v);
	rig_compile(r);
	want = hop_dtype_float(d) ? from_f(d, 1) : from_i(d, 1);
	for (int i = 0; i < n * stride; i++) {
		cell c = hop_dtype_float(d) ? from_f(d, 1 + (i % 7 - 3) * 0.01)
		                            : from_i(d, i % 5 == 3 ? 3 : 1);
		put(d, x, i, c);
	}
	for (int i = 0; i < n; i++) {
		cell c = get(d, x, (int)(i * stride));
		static const enum hop_sop sop[] = { HOP_SOP_add, HOP_SOP_max, HOP_SOP_min,
		                                    HOP_SOP_mul, HOP_SOP_or, HOP_SOP_and };

		want = hop_dtype_float(d) ? ref_float(sop[op], HOP_f64, as_f(HOP_f64, want),
		                                      as_f(d, c))
		                          : ref_int(sop[op], d, as_i(d, want), as_i(d, c));
		if (i == 0 && hop_dtype_float(d))
			want = ref_float(sop[op], HOP_f64, 1, as_f(d, c));
	}
	if (hop_dtype_float(d) && d == HOP_f32 && n)
		want = from_f(d, as_f(HOP_f64, want));
	assert_int_equal(rig_run(r, (void *[]){ x, o }, (int64_t[]){ n }), 0);
	if (!close_enough(d, get(d, o, 0), want, d == HOP_f32 ? 2e-5 : 1e-12))
		fail_msg("red %d %s n %d: got %g want %g", op, hop_dtype_name(d), n,
		         as_f(d, get(d, o, 0)), as_f(d, want));
	rig_down(r);
}

static void test_reductions(void **state)
{
	(void)state;
	for (int op = 0; op <= HOP_RED_and; op++)
		for (int d = 0; d < HOP_NDTYPE; d++) {
			bool bits = op >= HOP_RED_or;

			if (bits ? hop_dtype_float((hop_dtype)d) : d == HOP_bool)
				continue;
			if (hop_dtype_packed((hop_dtype)d))         /* they add up in what they compute in */
				continue;
			try_red((enum hop_red)op, (hop_dtype)d, 100, false, 1);
			try_red((enum hop_red)op, (hop_dtype)d, 37, true, 2);
		}
	for (int i = 0; i < NSIZE; i++)
		for (int dyn = 0; dyn < 2; dyn++) {
			try_red(HOP_RED_add, HOP_f32, sizes[i], dyn, 1);
			try_red(HOP_RED_max, HOP_f64, sizes[i], dyn, 1);
			try_red(HOP_RED_add, HOP_i64, sizes[i], dyn, 3);
		}
}

/* max passes NaN on, wherever it stands. */
static void test_max_nan(void **state)
{
	(void)state;
	for (int at = 0; at < 40; at++) {
		rig       R, *r = &R;
		float     x[40], o;
		hop_stmt *l;
		hop_reg   init, v;

		rig_up(r, 1, 1, 0);
		rig_param(r, 0, HOP_f32, K(40), false);
		rig_param(r, 1, HOP_f32, K(1), true);
		init = hop_l_constf(&r->b, HOP_f32, -INFINITY);
		l = rig_loop(r, HOP_LOOP_RED, K(40));
		v = rig_load(r, HOP_f32, rig_at(0, 0, l->dst, K(1), 0));
		rig_end(r);
		rig_store(r, HOP_f32, rig_at(1, 0, 0), rig_acc(r, l, HOP_RED_max, HOP_f32, init, v));
		rig_compile(r);
		for (int i = 0; i < 40; i++)
			x[i] = i == at ? NAN : (float)i;
		rig_run(r, (void *[]){ x, &o }, NULL);
		assert_true(isnan(o));
		rig_down(r);
	}
}

/* ---- nests ---- */

/* out[i] = tanh(sum over j of W[i,j] h[j]) with either layout of W. */
static void try_matvec(int n, int m, bool transposed, bool dynamic)
{
	static float W[130 * 130], h[130], o[130];
	rig       R, *r = &R;
	hop_stmt *li, *lj;
	hop_reg   z, p;
	hop_size  sn, sm;

	rig_up(r, 2, 1, 2);
	sn = dynamic ? hop_size_sym(&r->e, 0) : K(n);
	sm = dynamic ? hop_size_sym(&r->e, 1) : K(m);
	rig_param(r, 0, HOP_f32, hop_size_mul(&r->e, sn, sm), false);
	rig_param(r, 1, HOP_f32, sm, false);
	rig_param(r, 2, HOP_f32, sn, true);
	li = rig_loop(r, HOP_LOOP_PAR, sn);
	z = hop_l_constf(&r->b, HOP_f32, 0);
	lj = rig_loop(r, HOP_LOOP_RED, sm);
	p = rig_op2(r, HOP_SOP_mul, HOP_f32,
	            rig_load(r, HOP_f32, rig_at(0, 0, li->dst, transposed ? K(1) : sm, lj->dst,
	                                        transposed ? sn : K(1), 0)),
	            rig_load(r, HOP_f32, rig_at(1, 0, lj->dst, K(1), 0)));
	rig_end(r);
	p = rig_op1(r, HOP_SOP_tanh, HOP_f32, rig_acc(r, lj, HOP_RED_add, HOP_f32, z, p));
	rig_store(r, HOP_f32, rig_at(2, 0, li->dst, K(1), 0), p);
	rig_end(r);
	rig_compile(r);
	for (int i = 0; i < n * m; i++)
		W[i] = (float)(i * 31 % 17 - 8) * 0.03f;
	for (int j = 0; j < m; j++)
		h[j] = (float)(j * 7 % 11 - 5) * 0.1f;
	rig_run(r, (void *[]){ W, h, o }, (int64_t[]){ n, m });
	for (int i = 0; i < n; i++) {
		double s = 0;

		for (int j = 0; j < m; j++)
			s += (double)W[transposed ? j * n + i : i * m + j] * h[j];
		if (fabs(tanh(s) - o[i]) > 2e-6)
			fail_msg("matvec %d %d %d: %g %g", n, m, i, tanh(s), o[i]);
	}
	rig_down(r);
}

static void test_matvec(void **state)
{
	static const int s[][2] = { { 64, 64 }, { 1, 5 }, { 3, 1 }, { 17, 33 }, { 100, 7 },
	                            { 128, 129 }, { 12, 12 } };

	(void)state;
	for (size_t i = 0; i < sizeof s / sizeof *s; i++)
		for (int k = 0; k < 4; k++)
			try_matvec(s[i][0], s[i][1], k & 1, k & 2);
}

/* Rows of softmax: two reductions and a map inside a parallel loop. */
static void try_softmax(int n, int m, bool dynamic)
{
	static float x[9000], o[9000];
	rig       R, *r = &R;
	hop_stmt *lr, *l;
	hop_reg   mx, sum, v, c;
	hop_size  sn, sm;

	rig_up(r, 1, 1, 2);
	sn = dynamic ? hop_size_sym(&r->e, 0) : K(n);
	sm = dynamic ? hop_size_sym(&r->e, 1) : K(m);
	rig_param(r, 0, HOP_f32, K(9000), false);
	rig_param(r, 1, HOP_f32, K(9000), true);
	lr = rig_loop(r, HOP_LOOP_PAR, sn);
	c = hop_l_constf(&r->b, HOP_f32, -INFINITY);
	l = rig_loop(r, HOP_LOOP_RED, sm);
	v = rig_load(r, HOP_f32, rig_at(0, 0, lr->dst, sm, l->dst, K(1), 0));
	rig_end(r);
	mx = rig_acc(r, l, HOP_RED_max, HOP_f32, c, v);
	c = hop_l_constf(&r->b, HOP_f32, 0);
	l = rig_loop(r, HOP_LOOP_RED, sm);
	v = rig_load(r, HOP_f32, rig_at(0, 0, lr->dst, sm, l->dst, K(1), 0));
	v = rig_op1(r, HOP_SOP_exp, HOP_f32, rig_op2(r, HOP_SOP_sub, HOP_f32, v, mx));
	rig_store(r, HOP_f32, rig_at(1, 0, lr->dst, sm, l->dst, K(1), 0), v);
	rig_end(r);
	sum = rig_acc(r, l, HOP_RED_add, HOP_f32, c, v);
	l = rig_loop(r, HOP_LOOP_PAR, sm);
	v = rig_load(r, HOP_f32, rig_at(1, 0, lr->dst, sm, l->dst, K(1), 0));
	v = rig_op2(r, HOP_SOP_div, HOP_f32, v, sum);
	rig_store(r, HOP_f32, rig_at(1, 0, lr->dst, sm, l->dst, K(1), 0), v);
	rig_end(r);
	rig_end(r);
	rig_compile(r);
	for (int i = 0; i < n * m; i++)
		x[i] = (float)(i * 31 % 97 - 40) * 0.1f;
	rig_run(r, (void *[]){ x, o }, (int64_t[]){ n, m });
	for (int i = 0; i < n; i++) {
		double s = 0, big = -INFINITY;

		for (int j = 0; j < m; j++)
			big = fmax(big, x[i * m + j]);
		for (int j = 0; j < m; j++)
			s += exp(x[i * m + j] - big);
		for (int j = 0; j < m; j++)
			assert_true(fabs(exp(x[i * m + j] - big) / s - o[i * m + j]) < 1e-6);
	}
	rig_down(r);
}

static void test_softmax(void **state)
{
	(void)state;
	for (int i = 0; i < NSIZE; i++)
		for (int dyn = 0; dyn < 2; dyn++)
			try_softmax(3, sizes[i], dyn);
}

/* ---- addresses ---- */

/* o[i] = x[index[i]] where ok[i], and o2[n-1-i] = x[3 i] (reversed, strided), and a
 * masked store. */
static void test_gather(void **state)
{
	static float   x[4000], o[1100], o2[1100], o3[1100];
	static int64_t index[1100];
	static uint8_t ok[1100];

	(void)state;
	for (int k = 0; k < NSIZE * 2; k++) {
		int       n = sizes[k / 2];
		bool      dyn = k & 1;
		rig       R, *r = &R;
		hop_stmt *l;
		hop_reg   i, m, v, ld;
		hop_size  z, last;
		hop_addr  a;

		rig_up(r, 6, 0, 1);
		z = extent(r, dyn, n);
		last = hop_size_sub(&r->e, z, K(1));
		rig_param(r, 0, HOP_f32, K(4000), false);
		rig_param(r, 1, HOP_i64, z, false);
		rig_param(r, 2, HOP_bool, z, false);
		rig_param(r, 3, HOP_f32, z, true);
		rig_param(r, 4, HOP_f32, z, true);
		rig_param(r, 5, HOP_f32, z, true);
		l = rig_loop(r, HOP_LOOP_PAR, z);
		i = rig_load(r, HOP_i64, rig_at(1, 0, l->dst, K(1), 0));
		m = rig_load(r, HOP_bool, rig_at(2, 0, l->dst, K(1), 0));
		v = rig_load(r, HOP_f32, rig_at(0, 0, i, K(1), 0));
		r->b.block->last->na = 1;
		r->b.block->last->a[0] = m;
		rig_store(r, HOP_f32, rig_at(3, 0, l->dst, K(1), 0), v);
		ld = rig_load(r, HOP_f32, rig_at(0, 0, l->dst, K(3), 0));
		a = rig_at(4, 0, l->dst, K(-1), 0);
		a.offset = last;
		rig_store(r, HOP_f32, a, ld);
		rig_store(r, HOP_f32, rig_at(5, 0, l->dst, K(1), 0), ld);
		r->b.block->last->na = 2;
		r->b.block->last->a[1] = m;
		rig_end(r);
		rig_compile(r);
		for (int j = 0; j < 4000; j++)
			x[j] = (float)j;
		for (int j = 0; j < 1100; j++) {
			ok[j] = j % 3 != 1;
			/* Where the mask is off the index is wild: it must not be followed. */
			index[j] = ok[j] ? (j * 37) % 3999 : (int64_t)1 << 45;
			o[j] = o2[j] = o3[j] = -1;
		}
		assert_int_equal(rig_run(r, (void *[]){ x, index, ok, o, o2, o3 },
		                         (int64_t[]){ n }), 0);
		for (int j = 0; j < 1100; j++) {
			float w = j >= n ? -1 : ok[j] ? x[index[j]] : 0;

			assert_true(o[j] == w);
			assert_true(o2[j] == (j >= n ? -1 : x[3 * (n - 1 - j)]));
			assert_true(o3[j] == (j >= n || !ok[j] ? -1 : x[3 * j]));
		}
		rig_down(r);
	}
}

/* Transpose: one side strided whichever loop is vectorised; index arithmetic in
 * registers, and a size with division. */
static void test_transpose(void **state)
{
	static double x[70 * 50], o[70 * 50];
	rig       R, *r = &R;
	hop_stmt *li, *lj;
	hop_reg   at;
	hop_size  n, m, half;

	(void)state;
	rig_up(r, 2, 0, 2);
	n = hop_size_sym(&r->e, 0);
	m = hop_size_sym(&r->e, 1);
	half = hop_size_div(&r->e, hop_size_mul(&r->e, n, K(2)), K(3));
	rig_param(r, 0, HOP_f64, hop_size_mul(&r->e, n, m), false);
	rig_param(r, 1, HOP_f64, hop_size_mul(&r->e, n, m), true);
	li = rig_loop(r, HOP_LOOP_PAR, half);
	lj = rig_loop(r, HOP_LOOP_PAR, m);
	at = rig_op2(r, HOP_SOP_add, HOP_i64,
	             rig_op2(r, HOP_SOP_mul, HOP_i64, li->dst, hop_l_size(&r->b, m)), lj->dst);
	rig_store(r, HOP_f64, rig_at(1, 0, lj->dst, n, li->dst, K(1), 0),
	          rig_load(r, HOP_f64, rig_at(0, 0, at, K(1), 0)));
	rig_end(r);
	rig_end(r);
	rig_compile(r);
	for (int i = 0; i < 70 * 50; i++)
		x[i] = i, o[i] = -1;
	rig_run(r, (void *[]){ x, o }, (int64_t[]){ 70, 50 });
	for (int i = 0; i < 70; i++)
		for (int j = 0; j < 50; j++)
			assert_true(o[j * 70 + i] == (i < 140 / 3 ? x[i * 50 + j] : -1));
	rig_down(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sops), cmocka_unit_test(test_tails),
		cmocka_unit_test(test_casts), cmocka_unit_test(test_packed), cmocka_unit_test(test_reductions),
		cmocka_unit_test(test_max_nan), cmocka_unit_test(test_matvec),
		cmocka_unit_test(test_softmax), cmocka_unit_test(test_gather),
		cmocka_unit_test(test_transpose),
	};

	return RIG_EACH_WIDTH(tests);
}
