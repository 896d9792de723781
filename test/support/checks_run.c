/* Ways to run a subject that must not show in its results: many lanes, checkpoints, 16 bits. Each is
 * asked compiled and interpreted. Derivatives as such are in checks.c. */
#include <stdlib.h>
#include <string.h>

#include "support/checks.h"

enum { N = CHECK_N, LANES = 9 };

typedef int way_fn(hop_ctx *c, const subject *s);

static int both_ways(hop_ctx *c, const subject *s, way_fn *f)
{
	int bad = f(c, s);

	setenv("HOP_INTERP", "1", 1);
	bad += f(c, s);
	unsetenv("HOP_INTERP");
	return bad;
}

static void drop(int n, hop_array **a)
{
	for (int i = 0; i < n; i++)
		hop_array_release(a[i]);
}

/* ---- divergent lanes ---- */

static const double lane_x[LANES][N] = {
	{ 1.4, 0.9, 1.1 }, { 0.3, -0.2, 0.5 }, { -0.4, 0.1, -0.6 }, { 0.9, 0.7, 1.3 },
	{ 0.5, 0.8, 0.2 }, { 0.05, 0.02, -0.01 }, { 2.2, 1.9, -0.3 }, { -1.5, -0.9, 0.4 },
	{ 0.7, 0.6, 0.8 }
};

static int ways_gone(const subject *s)
{
	uint64_t path[LANES];
	int n = 0;

	for (int p = 0; p < LANES; p++) {
		int k = 0;

		path[n] = subject_path(s, N, lane_x[p], check_k);
		while (path[k] != path[n])
			k++;
		n += k == n;
	}
	return n;
}

/* The batch, then its reverse derivative, in which k is shared by all lanes. */
static int lanes(hop_ctx *c, const subject *s)
{
	static const int wrt[2] = { 0, 1 };
	static const bool batched[2] = { true, false };
	hop_spec in[2] = { hop_spec1(HOP_f64, N), hop_spec0(HOP_f64) };
	double w[LANES][N], want[LANES][N], dx[LANES][N], dk = 0;
	hop_fn *f = NULL, *m = NULL, *d = NULL;
	hop_array *y[3] = { NULL, NULL, NULL };

	for (int p = 0; p < LANES; p++) {
		double one;

		for (int i = 0; i < N; i++)
			w[p][i] = subject_weight(i);
		subject_ref(s, N, lane_x[p], check_k, want[p]);
		subject_grad(s, N, lane_x[p], check_k, dx[p], &one);
		dk += one;
	}
	hop_array *a[3] = { subject_mat(c, LANES, N, lane_x[0]), subject_num(c, check_k),
	                    subject_mat(c, LANES, N, w[0]) };
	int bad = cell_ok(c, hop_capture(c, subject_body, (void *)s, 2, in, &f), "capture") ||
	          cell_ok(c, hop_vmap(f, batched, LANES, &m), "vmap") ||
	          cell_ok(c, hop_vjp(m, 2, wrt, &d), "vjp of vmap") ||
	          cell_ok(c, hop_call(m, 2, a, 1, y), "call of the batch") ||
	          cell_near("lanes", LANES * N, want[0], y[0], 1e-12);

	drop(1, y);
	y[0] = NULL;
	bad = bad || cell_ok(c, hop_call(d, 3, a, 3, y), "call of the derivative") ||
	      cell_near("lanes under vjp", LANES * N, want[0], y[0], 1e-12) ||
	      cell_near("gradients of x", LANES * N, dx[0], y[1], 1e-7) ||
	      cell_near("gradient of k", 1, &dk, y[2], 1e-7 * LANES);
	drop(3, y), drop(3, a);
	hop_fn_release(d), hop_fn_release(m), hop_fn_release(f);
	return bad;
}

int check_divergent_lanes(hop_ctx *c, const subject *s)
{
	static const int inside[3] = { NOPERATOR, OP_COND, OP_WHILE };
	int bad = 0;

	for (int i = 0; i < 3 && !bad; i++) {
		subject deep = *s;

		deep.stops = true;
		if (inside[i] != NOPERATOR)
			deep.ops[deep.n++] = inside[i];
		if (inside[i] != NOPERATOR && ways_gone(&deep) < 2)
			bad += cell_bad("the lanes do not diverge");
		bad += both_ways(c, &deep, lanes);
	}
	return bad;
}

/* ---- checkpointed ---- */

/* What loops may keep for their way back, instead of everything. */
static const struct { int every, slots; } kept[] = {
	{ 1, 0 }, { 3, 0 }, { -1, 0 }, { 0, 1 }, { 0, 2 }, { 0, 4 }
};

static int gradient(hop_ctx *c, const subject *s, hop_array **y)
{
	static const int wrt[2] = { 0, 1 };
	hop_spec in[2] = { hop_spec1(HOP_f64, N), hop_spec0(HOP_f64) };
	hop_array *a[2] = { subject_vec(c, N, check_x[0]), subject_num(c, check_k) };
	hop_fn *f = NULL, *g = NULL;
	int bad = cell_ok(c, hop_capture(c, subject_body, (void *)s, 2, in, &f), "capture") ||
	          cell_ok(c, hop_grad(f, 2, wrt, &g), "grad") ||
	          cell_ok(c, hop_call(g, 2, a, 3, y), "call");

	drop(2, a);
	hop_fn_release(g), hop_fn_release(f);
	return bad;
}

/* To the bit by the interpreter. Compiled code rounds once where it fuses a product and a sum, and
 * around another loop it may fuse others. */
static int same(const char *what, hop_array *want, hop_array *got)
{
	double x[N];

	if (getenv("HOP_INTERP"))
		return cell_same(what, want, got);
	for (int i = 0; i < (int)hop_array_count(want); i++)
		x[i] = hop_array_at(want, i);
	return cell_near(what, (int)hop_array_count(want), x, got, 1e-14);
}

/* k is shared by all steps, and what they give is added up in one order. */
static int checkpoints(hop_ctx *c, const subject *s)
{
	hop_array *plain[3] = { NULL, NULL, NULL };
	double want[N], dk;
	int bad = gradient(c, s, plain);

	subject_grad(s, N, check_x[0], check_k, want, &dk);
	bad = bad || cell_near("gradient", N, want, plain[1], 1e-7);
	for (size_t i = 0; i < sizeof kept / sizeof *kept && !bad; i++) {
		subject some = *s;
		hop_array *y[3] = { NULL, NULL, NULL };

		some.every = kept[i].every;
		some.slots = kept[i].slots;
		bad = gradient(c, &some, y) || same("value", plain[0], y[0]) ||
		      same("gradient of x", plain[1], y[1]) ||
		      same("gradient of k", plain[2], y[2]);
		drop(3, y);
	}
	drop(3, plain);
	return bad;
}

int check_checkpointed(hop_ctx *c, const subject *s)
{
	subject around = *s;

	around.ops[0] = OP_SCAN;
	memcpy(around.ops + 1, s->ops, sizeof *s->ops * (size_t)s->n);
	around.n = s->n + 1;
	around.scalar = true;
	around.steps = 7;
	return both_ways(c, &around, checkpoints);
}

/* ---- 16 bits ---- */

static int half(hop_ctx *c, const subject *s)
{
	static const int wrt[2] = { 0, 1 };
	static const int64_t dim[1] = { N };
	const double tol = 8 * 0x1p-8;             /* so many roundings of a number near 1 */
	hop_spec in[2] = { hop_spec1(HOP_bf16, N), hop_spec0(HOP_bf16) };
	hop_fn *f = NULL, *d = NULL;
	int bad = cell_ok(c, hop_capture(c, subject_body, (void *)s, 2, in, &f), "capture") ||
	          cell_ok(c, hop_vjp(f, 2, wrt, &d), "vjp");

	for (int p = 0; p < CHECK_LANES && !bad; p++) {
		double x[N], w[N], y[N], dx[N], dk, k = subject_bf16(check_k);

		for (int i = 0; i < N; i++) {
			x[i] = subject_bf16(check_x[p][i]);
			w[i] = subject_weight(i);
		}
		hop_array *a[3] = { subject_array(c, HOP_bf16, 1, dim, x),
		                    subject_array(c, HOP_bf16, 0, NULL, &k),
		                    subject_array(c, HOP_bf16, 1, dim, w) };
		hop_array *got[3] = { NULL, NULL, NULL };

		subject_ref(s, N, x, k, y);
		subject_grad(s, N, x, k, dx, &dk);
		bad += cell_ok(c, hop_call(d, 3, a, 3, got), "call");
		bad += cell_near("value", N, y, got[0], tol);
		bad += cell_near("gradient of x", N, dx, got[1], tol);
		bad += cell_near("gradient of k", 1, &dk, got[2], tol);
		if (!bad && hop_array_dtype(got[1]) != HOP_bf16)
			bad += cell_bad("the gradient is no bf16");
		drop(3, a), drop(3, got);
	}
	hop_fn_release(d), hop_fn_release(f);
	return bad;
}

int check_bf16(hop_ctx *c, const subject *s)
{
	return both_ways(c, s, half);
}
