/* krylov.c -- linear equations whose matrix is known by what it does to vectors: by a matrix made of
 * that, by conjugate gradients (Hestenes and Stiefel 1952), or by GMRES (Saad and Schultz 1986). */
#include "trace/solver.h"
#include "hop/linalg.h"

/* One solver at work: what its bodies need. */
struct krylov {
	hop_solver       s;
	const hop_linop *a;
	hop_value        b, enough;      /* the residual to reach, */
	hop_value        most;           /* and the largest that will do */
	/* one cycle of GMRES */
	int              m;
	hop_value        size;           /* of the residual that the cycle starts with */
};

/* The same in the trace of a body. */
static struct krylov here(hop_trace *t, const void *user)
{
	struct krylov k = *(const struct krylov *)user;
	k.s.t = t;
	return k;
}

static hop_value apply(const hop_solver *s, const hop_linop *a, hop_value v)
{
	return a->at_x ? hop_solver_call(s, a->g, a->x, &v) : hop_solver_call(s, a->g, v, NULL);
}

static hop_value zeros(const hop_solver *s, hop_dim rows, hop_dim cols)
{
	return hop_at_full(s->t, s->file, s->line, s->dtype, 2, (hop_dim[]){ rows, cols }, 0);
}

/* ---- by a matrix ---- */

static void dense_row(hop_trace *t, const hop_value *in, void *user)
{
	struct krylov k = here(t, user);
	hop_value y = apply(&k.s, k.a, in[0]);
	hop_at_return_n(t, k.s.file, k.s.line, 1, &y);
}

/* Row i is what A makes of unit vector i. */
static hop_solution dense(struct krylov *k)
{
	hop_solver *s = &k->s;
	hop_dim n = { s->total.k, s->total.e };
	hop_value eye = hop_at_eye(s->t, s->file, s->line, s->dtype, n, n), rows = { 0, 0 };
	hop_value b = k->b, zero = hop_solver_whole(s, 0);
	hop_at_vmap_at(s->t, s->file, s->line, dense_row, k, 1, &eye, (int[]){ 0 }, 1, &rows);
	hop_value x = HOP_SE(s, "solve(transpose(rows), b)", rows, b);
	hop_value found = HOP_SE(s, "all(x - x == 0)", x);
	return (hop_solution){ x, hop_solver_info(s, found, zero) };
}

/* ---- conjugate gradients ---- */

enum { X, R, P, RR, COUNT, GOOD, NCG };

static void cg_test(hop_trace *t, const hop_value *in, void *user)
{
	struct krylov k = here(t, user);
	hop_value rr = in[RR], enough = k.enough, good = in[GOOD];
	hop_value go = HOP_SE(&k.s, "rr > enough * enough && good", rr, enough, good);
	hop_at_return_n(t, k.s.file, k.s.line, 1, &go);
}

static void cg_step(hop_trace *t, const hop_value *in, void *user)
{
	struct krylov k = here(t, user);
	hop_solver *s = &k.s;
	hop_value x = in[X], r = in[R], p = in[P], rr = in[RR], count = in[COUNT];
	hop_value q = apply(s, k.a, p);
	hop_value curve = HOP_SE(s, "p @ q", p, q);
	hop_value good = HOP_SE(s, "curve > 0", curve);
	hop_value a = HOP_SE(s, "good ? rr / curve : 0 * rr", good, rr, curve);
	hop_value r2 = HOP_SE(s, "r - a * q", r, a, q);
	hop_value rr2 = HOP_SE(s, "r2 @ r2", r2);
	hop_value out[NCG] = { HOP_SE(s, "x + a * p", x, a, p), r2,
	                       HOP_SE(s, "r2 + rr2 / rr * p", r2, rr2, rr, p), rr2,
	                       HOP_SE(s, "count + 1", count), good };
	hop_at_return_n(t, s->file, s->line, NCG, out);
}

/* From 0; carry: room for NCG. */
static void cg_run(struct krylov *k, hop_value *carry)
{
	hop_solver *s = &k->s;
	hop_value b = k->b;
	hop_value start[NCG] = { HOP_SE(s, "0 * b", b), b, b, HOP_SE(s, "b @ b", b),
	                         hop_solver_whole(s, 0), HOP_SE(s, "b @ b >= 0", b) };
	for (int i = 0; i < NCG; i++)
		carry[i] = start[i];
	hop_solver_loop(s, cg_test, cg_step, k, NCG, carry, s->products);
}

static hop_solution cg(struct krylov *k)
{
	hop_value c[NCG], most = k->most;
	cg_run(k, c);
	hop_value rr = c[RR], found = HOP_SE(&k->s, "rr <= most * most", rr, most);
	return (hop_solution){ c[X], hop_solver_info(&k->s, found, c[COUNT]) };
}

hop_value hop_solver_some_cg(const hop_solver *s, const hop_linop *a, hop_value b, hop_value less)
{
	hop_value c[NCG];
	struct krylov k = { .s = *s, .a = a, .b = b };
	k.enough = HOP_SE(s, "less * norm(b)", less, b);
	cg_run(&k, c);
	/* along b itself when the first direction is no good */
	hop_value x = c[X], count = c[COUNT], good = c[GOOD];
	return HOP_SE(s, "count == 1 && !good ? b : x", count, good, b, x);
}

/* ---- GMRES ----
 * A cycle: the rows of V are an orthonormal basis, column j of H what A makes of row j; Q is the
 * product of the rotations that make Q H = R triangular. The first column of Q then says how large
 * the residual is. */

enum { V, Q, H, J, LEFT, NCYCLE };

static void cycle_test(hop_trace *t, const hop_value *in, void *user)
{
	struct krylov k = here(t, user);
	hop_value left = in[LEFT], enough = k.enough;
	hop_value go = HOP_SE(&k.s, "left > enough", left, enough);
	hop_at_return_n(t, k.s.file, k.s.line, 1, &go);
}

static hop_value put_row(const hop_solver *s, hop_value x, hop_value row, hop_value i)
{
	hop_value u = HOP_SE(s, "unsqueeze(row, 0)", row);
	hop_value at[2] = { i, hop_solver_whole(s, 0) };
	return hop_at_dynupdate(s->t, s->file, s->line, x, u, at);
}

static void cycle_step(hop_trace *t, const hop_value *in, void *user)
{
	struct krylov k = here(t, user);
	hop_solver *s = &k.s;
	hop_value v = in[V], q = in[Q], h = in[H], j = in[J], size = k.size;
	hop_value j1 = HOP_SE(s, "j + 1", j);
	/* once more against the basis: it is orthogonal to rounding only then */
	hop_value w0 = apply(s, k.a, HOP_SE(s, "v[j]", v, j));
	hop_value c0 = HOP_SE(s, "v @ w0", v, w0);
	hop_value w1 = HOP_SE(s, "w0 - c0 @ v", w0, c0, v);
	hop_value c1 = HOP_SE(s, "v @ w1", v, w1);
	hop_value w = HOP_SE(s, "w1 - c1 @ v", w1, c1, v);
	hop_value tiny = hop_solver_number(s, s->dtype == HOP_f64 ? 1e-14 : 1e-6);
	hop_value n0 = HOP_SE(s, "norm(w)", w);
	hop_value more = HOP_SE(s, "n0 > tiny * norm(w0)", n0, tiny, w0);
	hop_value n = HOP_SE(s, "more ? n0 : 0 * n0", more, n0);
	hop_value next = HOP_SE(s, "more ? w / n0 : 0 * w", more, w, n0);
	/* the new column, turned by the rotations so far and then by one that ends it */
	hop_value at = hop_at_arange(s->t, s->file, s->line, HOP_i64, hop_n(k.m + 1));
	hop_value col = HOP_SE(s, "q @ (at == j1 ? n : c0 + c1)", q, at, j1, n, c0, c1);
	hop_value a = HOP_SE(s, "col[j]", col, j), b = HOP_SE(s, "col[j1]", col, j1);
	hop_value l = HOP_SE(s, "sqrt(a * a + b * b)", a, b);
	hop_value cs = HOP_SE(s, "l > 0 ? a / l : 0 * l + 1", l, a);
	hop_value sn = HOP_SE(s, "l > 0 ? b / l : 0 * l", l, b);
	hop_value qj = HOP_SE(s, "q[j]", q, j), qk = HOP_SE(s, "q[j1]", q, j1);
	hop_value q1 = put_row(s, q, HOP_SE(s, "cs * qj + sn * qk", cs, qj, sn, qk), j);
	hop_value last = HOP_SE(s, "cs * qk - sn * qj", cs, qk, sn, qj);
	hop_value out[NCYCLE] = {
		put_row(s, v, next, j1), put_row(s, q1, last, j1),
		put_row(s, h, HOP_SE(s, "at == j ? l : at == j1 ? 0 * l : col", at, j, l, j1, col), j),
		j1, HOP_SE(s, "size * abs(last[0])", size, last)
	};
	hop_at_return_n(t, s->file, s->line, NCYCLE, out);
}

enum { GX, GR, GCOUNT, GMOVES, NGMRES };

static void gmres_test(hop_trace *t, const hop_value *in, void *user)
{
	struct krylov k = here(t, user);
	hop_value r = in[GR], moves = in[GMOVES], enough = k.enough;
	hop_value go = HOP_SE(&k.s, "norm(r) > enough && moves", r, enough, moves);
	hop_at_return_n(t, k.s.file, k.s.line, 1, &go);
}

/* A cycle from x, and what it leaves. h has the columns as rows, so its transposed is solved. */
static void gmres_step(hop_trace *t, const hop_value *in, void *user)
{
	struct krylov k = here(t, user);
	hop_solver *s = &k.s;
	hop_value x = in[GX], r = in[GR], count = in[GCOUNT], b = k.b;
	hop_dim m = hop_n(k.m), m1 = hop_n(k.m + 1), n = { s->total.k, s->total.e };
	hop_value size = HOP_SE(s, "norm(r)", r), zero = hop_solver_whole(s, 0);
	k.size = size;
	hop_value c[NCYCLE] = { put_row(s, zeros(s, m1, n), HOP_SE(s, "r / size", r, size), zero),
	                        hop_at_eye(s->t, s->file, s->line, s->dtype, m1, m1),
	                        zeros(s, m, m1), zero, size };
	hop_solver_loop(s, cycle_test, cycle_step, &k, NCYCLE, c, k.m);
	hop_value v = c[V], q = c[Q], h = c[H], j = c[J];
	hop_value d = HOP_SE(s, "diag(h[:, :-1])", h);
	hop_value used = HOP_SE(s, "d != 0", d);
	hop_value g = HOP_SE(s, "used ? size * q[:-1, 0] : 0 * d", used, size, q, d);
	hop_value a = HOP_SE(s, "h[:, :-1] + diag(used ? 0 * d : 0 * d + 1)", h, used, d);
	hop_value y = hop_at_triangular_solve(s->t, s->file, s->line, a, g,
	                                      HOP_LOWER | HOP_TRANSPOSED);
	hop_value x2 = HOP_SE(s, "x + y @ v[:-1]", x, y, v);
	hop_value ax = apply(s, k.a, x2);
	hop_value r2 = HOP_SE(s, "b - ax", b, ax);
	/* the same cycle again would leave the same */
	hop_value out[NGMRES] = { x2, r2, HOP_SE(s, "count + j", count, j),
	                          HOP_SE(s, "norm(r2) < 0.999 * size", r2, size) };
	hop_at_return_n(t, s->file, s->line, NGMRES, out);
}

static hop_solution gmres(struct krylov *k)
{
	hop_solver *s = &k->s;
	hop_value b = k->b, most = k->most;
	int64_t cycles = s->products / k->m;
	hop_value c[NGMRES] = { HOP_SE(s, "0 * b", b), b, hop_solver_whole(s, 0),
	                        HOP_SE(s, "norm(b) >= 0", b) };
	hop_solver_loop(s, gmres_test, gmres_step, k, NGMRES, c, cycles < 1 ? 1 : cycles);
	hop_value r = c[GR], found = HOP_SE(s, "norm(r) <= most", r, most);
	return (hop_solution){ c[GX], hop_solver_info(s, found, c[GCOUNT]) };
}

hop_solution hop_solver_linear(const hop_solver *s, const hop_linop *a, hop_value b)
{
	struct krylov k = { .s = *s, .a = a, .b = b, .m = s->basis };
	hop_value tol = hop_solver_number(s, s->tolerance), aim = hop_solver_number(s, s->aim);
	k.enough = HOP_SE(s, "aim * norm(b)", aim, b);
	k.most = HOP_SE(s, "tol * norm(b)", tol, b);
	if (s->linear == HOP_LINEAR_DENSE)
		return dense(&k);
	return s->linear == HOP_LINEAR_CG ? cg(&k) : gmres(&k);
}
