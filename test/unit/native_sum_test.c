/* native_sum_test.c -- sums that are long enough to be taken in blocks, at sizes around
 * the blocks, static and symbolic: along vectors, across them, row by row, nested.
 * Elements are small whole numbers, so results are exact; behind the last is NaN. How
 * near other sums are is in numbers_sum_test.c. */
#include <math.h>

#include "native_rig.h"

enum { MAXX = 17 * 4200 };
static const int lengths[] = { 0, 1, 65, 1024, 1025, 2047, 2048, 2049, 2111, 4133 };
enum { NLENGTH = sizeof lengths / sizeof *lengths };

static double element(int i)
{
	return i * 7 % 13 - 5;
}

static _Alignas(64) double cells[MAXX];        /* or floats */

static void fill(hop_dtype d, int n)
{
	for (int i = 0; i < MAXX; i++) {
		double v = i < n ? element(i) : NAN;
		if (d == HOP_f32)
			((float *)cells)[i] = (float)v;
		else
			cells[i] = v;
	}
}

static double result(hop_dtype d, const void *p, int i)
{
	return d == HOP_f32 ? ((const float *)p)[i] : ((const double *)p)[i];
}

static hop_size extent(rig *r, bool dynamic, int sym, int n)
{
	return dynamic ? hop_size_sym(&r->e, sym) : K(n);
}

/* The sum and the largest of x[0], x[stride] ..., n of them, in one loop. */
static void try_line(hop_dtype d, int n, int stride, bool dynamic)
{
	rig       R, *r = &R;
	hop_stmt *l;
	hop_reg   zero, least, v;
	double    o[2], sum = 3, most = -INFINITY;

	rig_up(r, 1, 1, 1);
	rig_param(r, 0, d, K(MAXX), false);
	rig_param(r, 1, d, K(2), true);
	zero = hop_l_constf(&r->b, d, 3);
	least = hop_l_constf(&r->b, d, -INFINITY);
	l = rig_loop(r, HOP_LOOP_RED, extent(r, dynamic, 0, n));
	v = rig_load(r, d, rig_at(0, 0, l->dst, K(stride), 0));
	rig_end(r);
	rig_store(r, d, rig_at(1, 0, 0), rig_acc(r, l, HOP_RED_add, d, zero, v));
	rig_store(r, d, rig_at(1, 1, 0), rig_acc(r, l, HOP_RED_max, d, least, v));
	rig_compile(r);
	fill(d, n * stride);
	for (int i = 0; i < n; i++) {
		sum += element(i * stride);
		most = fmax(most, element(i * stride));
	}
	assert_int_equal(rig_run(r, (void *[]){ cells, o }, (int64_t[]){ n }), 0);
	if (result(d, o, 0) != sum || result(d, o, 1) != most)
		fail_msg("%d of stride %d: %g and %g, not %g and %g", n, stride, result(d, o, 0),
		         result(d, o, 1), sum, most);
	rig_down(r);
}

/* out[i] = the sum over j of x[i, j], or of x[j, i] when across. */
static void try_table(hop_dtype d, int rows, int n, bool across, bool dynamic)
{
	rig       R, *r = &R;
	hop_stmt *li, *lj;
	hop_reg   zero, v;
	hop_size  sr, sn;
	double    o[128];

	rig_up(r, 1, 1, 2);
	sr = extent(r, dynamic, 0, rows);
	sn = extent(r, dynamic, 1, n);
	rig_param(r, 0, d, K(MAXX), false);
	rig_param(r, 1, d, K(128), true);
	li = rig_loop(r, HOP_LOOP_PAR, sr);
	zero = hop_l_constf(&r->b, d, 0);
	lj = rig_loop(r, HOP_LOOP_RED, sn);
	v = rig_load(r, d, rig_at(0, 0, li->dst, across ? K(1) : sn, lj->dst,
	                          across ? sr : K(1), 0));
	rig_end(r);
	v = rig_acc(r, lj, HOP_RED_add, d, zero, v);
	rig_store(r, d, rig_at(1, 0, li->dst, K(1), 0), v);
	rig_end(r);
	rig_compile(r);
	fill(d, rows * n);
	assert_int_equal(rig_run(r, (void *[]){ cells, o }, (int64_t[]){ rows, n }), 0);
	for (int i = 0; i < rows; i++) {
		double sum = 0;

		for (int j = 0; j < n; j++)
			sum += element(across ? j * rows + i : i * n + j);
		if (result(d, o, i) != sum)
			fail_msg("%d of %d sums of %d, %s: %g, not %g", i, rows, n,
			         across ? "across" : "along", result(d, o, i), sum);
	}
	rig_down(r);
}

/* One sum by two loops. */
static void try_nest(hop_dtype d, int rows, int n, bool dynamic)
{
	rig       R, *r = &R;
	hop_stmt *li, *lj;
	hop_reg   zero, v;
	hop_size  sn;
	double    o[1], sum = 0;

	rig_up(r, 1, 1, 2);
	sn = extent(r, dynamic, 1, n);
	rig_param(r, 0, d, K(MAXX), false);
	rig_param(r, 1, d, K(1), true);
	zero = hop_l_constf(&r->b, d, 0);
	li = rig_loop(r, HOP_LOOP_RED, extent(r, dynamic, 0, rows));
	lj = rig_loop(r, HOP_LOOP_RED, sn);
	v = rig_load(r, d, rig_at(0, 0, li->dst, sn, lj->dst, K(1), 0));
	rig_end(r);
	v = rig_acc(r, lj, HOP_RED_add, d, zero, v);
	rig_end(r);
	rig_store(r, d, rig_at(1, 0, 0), rig_acc(r, li, HOP_RED_add, d, zero, v));
	rig_compile(r);
	fill(d, rows * n);
	for (int i = 0; i < rows * n; i++)
		sum += element(i);
	assert_int_equal(rig_run(r, (void *[]){ cells, o }, (int64_t[]){ rows, n }), 0);
	if (result(d, o, 0) != sum)
		fail_msg("%d x %d: %g, not %g", rows, n, result(d, o, 0), sum);
	rig_down(r);
}

static void test_lines(void **state)
{
	(void)state;
	for (int i = 0; i < NLENGTH; i++)
		for (int k = 0; k < 4; k++) {
			try_line(k & 1 ? HOP_f64 : HOP_f32, lengths[i], 1, k & 2);
			try_line(k & 1 ? HOP_f64 : HOP_f32, lengths[i], 3, k & 2);
		}
}

static void test_tables(void **state)
{
	static const int rows[] = { 1, 5, 17 };

	(void)state;
	for (int i = 0; i < NLENGTH; i += 1 + i % 2)
		for (int k = 0; k < 3; k++)
			for (int f = 0; f < 4; f++)
				try_table(f & 1 ? HOP_f64 : HOP_f32, rows[k], lengths[i], f & 2,
				          (i + k) % 2);
	for (int f = 0; f < 4; f++)
		try_table(HOP_f32, 100, 700 + f, true, f & 1);
}

static void test_nests(void **state)
{
	static const int shape[][2] = { { 64, 5 }, { 65, 5 }, { 200, 33 }, { 1100, 7 },
	                                { 3, 1100 }, { 0, 4 }, { 100, 0 }, { 33, 2049 } };

	(void)state;
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
		for (int f = 0; f < 4; f++)
			try_nest(f & 1 ? HOP_f64 : HOP_f32, shape[i][0], shape[i][1], f & 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines), cmocka_unit_test(test_tables),
		cmocka_unit_test(test_nests),
	};

	return RIG_EACH_WIDTH(tests);
}
