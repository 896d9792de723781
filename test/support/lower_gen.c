/* lower_gen.c -- random graphs. Values are f32 of rank 0 to 3 with dims 1 to 5, and i64 scalars
 * and vectors for indices; every value is squashed now and then so that none explodes. */
#include "support/lower_gen.h"

#include "hops/hops.h"

enum { MAXVAL = 64, MAXDIM = 3 };

typedef struct gen {
	hop_env  *e;
	unsigned *seed;
	hop_build b;
	int       nval;
	hop_val   val[MAXVAL];         /* f32 */
	hop_val   idx, vec;            /* i64, i64[3] */
} gen;

static unsigned rnd(gen *g, unsigned n)
{
	*g->seed = *g->seed * 1664525u + 1013904223u;
	return (*g->seed >> 10) % n;
}

static const hop_type *ty(gen *g, hop_val v)
{
	return hop_typeof(&g->b, v);
}

static hop_val pick(gen *g)
{
	return g->val[rnd(g, (unsigned)g->nval)];
}

/* One of the same type; often another one. */
static hop_val like(gen *g, hop_val v)
{
	for (int i = 0; i < 12; i++) {
		hop_val w = pick(g);
		if (ty(g, w) == ty(g, v))
			return w;
	}
	return v;
}

static void keep(gen *g, hop_val v)
{
	if (hop_is_bad(v) || ty(g, v)->dtype != HOP_f32)
		return;
	if (ty(g, v)->rank > MAXDIM)
		return;
	int64_t n = 1;
	for (int i = 0; i < ty(g, v)->rank; i++)
		n *= ty(g, v)->dim[i].k;
	if (n > 4000)
		return;
	if (g->nval < MAXVAL)
		g->val[g->nval++] = v;
	else
		g->val[rnd(g, MAXVAL)] = v;
}

static hop_val point(gen *g)
{
	static const int one[] = { HOP_OP_neg, HOP_OP_sin, HOP_OP_cos, HOP_OP_tanh };
	static const int two[] = { HOP_OP_add, HOP_OP_sub, HOP_OP_mul, HOP_OP_max, HOP_OP_min };
	hop_val x = pick(g), y = like(g, x);
	unsigned k = rnd(g, 8);

	if (k < 3)
		return hop_emit_op(&g->b, one[rnd(g, 4)], NULL, 1, &x);
	if (k < 7)
		return hop_emit_op(&g->b, two[rnd(g, 5)], NULL, 2, (hop_val[]){ x, y });
	hop_val p = hop_emit(&g->b, lt, x, y);
	return hop_emit(&g->b, select, p, y, hop_emit(&g->b, tanh, x));
}

static hop_val view(gen *g)
{
	hop_val         x = pick(g);
	const hop_type *t = ty(g, x);
	hop_size        dim[HOP_MAXRANK], start[HOP_MAXRANK];
	int64_t         ax[HOP_MAXRANK], step[HOP_MAXRANK];
	int             r = t->rank;

	switch (rnd(g, 6)) {
	case 0: {                                     /* broadcast: a new axis somewhere */
		int at = (int)rnd(g, (unsigned)r + 1);
		if (r >= MAXDIM)
			return x;
		for (int i = 0, o = 0; i <= r; i++) {
			dim[i] = i == at ? hop_size_of(1 + rnd(g, 4)) : t->dim[o];
			if (i != at)
				ax[o++] = i;
		}
		return hop_emit_broadcast(&g->b, x, r + 1, dim, ax);
	}
	case 1:
		for (int i = 0; i < r; i++)
			ax[i] = i;
		for (int i = r - 1; i > 0; i--) {
			int     j = (int)rnd(g, (unsigned)i + 1);
			int64_t s = ax[i];
			ax[i] = ax[j];
			ax[j] = s;
		}
		return hop_emit_permute(&g->b, x, ax);
	case 2: {                                     /* split or join axes */
		int64_t n = 1;
		for (int i = 0; i < r; i++)
			n *= t->dim[i].k;
		dim[0] = hop_size_of(n);
		int k = 1;
		for (int64_t f = 2; f <= 4 && k < 3; f++)
			if (dim[k - 1].k % f == 0 && rnd(g, 2)) {
				dim[k] = hop_size_of(rnd(g, 2) ? f : dim[k - 1].k / f);
				dim[k - 1] = hop_size_of(dim[k - 1].k / dim[k].k);
				k++;
			}
		return hop_emit_reshape(&g->b, x, k, dim);
	}
	case 3:
		for (int i = 0; i < r; i++) {
			int64_t n = t->dim[i].k, m = 1 + rnd(g, (unsigned)n);
			step[i] = rnd(g, 3) == 0 && 2 * (m - 1) < n ? 2 : 1;
			int64_t lo = rnd(g, (unsigned)(n - step[i] * (m - 1)));
			if (rnd(g, 3) == 0) {
				lo += step[i] * (m - 1);
				step[i] = -step[i];
			}
			start[i] = hop_size_of(lo);
			dim[i] = hop_size_of(m);
		}
		return hop_emit_slice(&g->b, x, start, dim, step);
	case 4:
		for (int i = 0; i < r; i++) {
			step[i] = rnd(g, 3) ? 1 : 2;
			int64_t lo = rnd(g, 2), span = step[i] * (t->dim[i].k - 1);
			start[i] = hop_size_of(lo);
			dim[i] = hop_size_of(lo + span + 1 + rnd(g, 2));
			if (rnd(g, 4) == 0) {
				start[i] = hop_size_of(lo + span);
				step[i] = -step[i];
			}
		}
		return hop_emit_pad(&g->b, x, start, dim, step);
	default: {
		hop_val y[3] = { x, like(g, x), like(g, x) };
		return r ? hop_emit_concat(&g->b, 2 + (int)rnd(g, 2), y, (int)rnd(g, (unsigned)r))
		         : x;
	}
	}
}

static hop_val many(gen *g)
{
	hop_val         x = pick(g), y = pick(g);
	const hop_type *t = ty(g, x), *u = ty(g, y);
	int64_t         ax[HOP_MAXRANK], l[1], r[1];
	int             n = 0;

	if (rnd(g, 3)) {
		for (int i = 0; i < t->rank; i++)
			if (rnd(g, 2))
				ax[n++] = i;
		switch (rnd(g, 8)) {
		case 0:
		case 1:
			return hop_emit_amax(&g->b, x, n, ax);
		case 2:
			return hop_emit(&g->b, sin, hop_emit_reduce(&g->b, HOP_OP_prod, x, n, ax));
		case 3: {
			struct hop_attr_argmin a = { .axis = n ? ax[0] : 0 };
			if (!n)
				return x;
			x = hop_emit_op(&g->b, rnd(g, 2) ? HOP_OP_argmin : HOP_OP_argmax, &a, 1, &x);
			return hop_emit_cast(&g->b, x, (hop_dtype)t->dtype);
		}
		default:
			return hop_emit(&g->b, sin, hop_emit_sum(&g->b, x, n, ax));
		}
	}
	for (int i = 0; i < t->rank; i++)
		for (int j = 0; j < u->rank; j++)
			if (hop_size_eq(t->dim[i], u->dim[j])) {
				hop_ints none = { 0, NULL };
				l[0] = i;
				r[0] = j;
				return hop_emit(&g->b, tanh,
				                hop_emit_dot(&g->b, x, y, none, none,
				                             (hop_ints){ 1, l }, (hop_ints){ 1, r }));
			}
	return x;
}

static hop_val indexed(gen *g)
{
	hop_val         x = pick(g), in[2 + HOP_MAXRANK];
	const hop_type *t = ty(g, x);
	hop_size        dim[HOP_MAXRANK], zero[HOP_MAXRANK];
	int             r = t->rank, axis;

	if (!r)
		return x;
	axis = (int)rnd(g, (unsigned)r);
	for (int i = 0; i < r; i++) {
		dim[i] = hop_size_of(1 + rnd(g, (unsigned)t->dim[i].k));
		zero[i] = hop_size_of(0);
	}
	switch (rnd(g, 4)) {
	case 0:
		return hop_emit_gather(&g->b, x, rnd(g, 2) ? g->vec : g->idx, axis, 0);
	case 1: {
		hop_val u = hop_emit_gather(&g->b, x, g->vec, axis, 0);
		enum hop_mode mode = (enum hop_mode)rnd(g, HOP_NMODE);
		return hop_emit(&g->b, tanh,
		                hop_emit_scatter(&g->b, mode, like(g, x), g->vec, u, axis, 0));
	}
	case 2: {
		struct hop_attr_dynslice a = { .dims = { r, dim } };
		in[0] = x;
		for (int i = 0; i < r; i++)
			in[1 + i] = g->idx;
		return hop_emit_op(&g->b, HOP_OP_dynslice, &a, (uint32_t)r + 1, in);
	}
	default:
		in[0] = like(g, x);
		in[1] = hop_emit_slice(&g->b, x, zero, dim, NULL);
		for (int i = 0; i < r; i++)
			in[2 + i] = g->idx;
		return hop_emit_op(&g->b, HOP_OP_dynupdate, NULL, (uint32_t)r + 2, in);
	}
}

static hop_status nodes(gen *g, int n, int depth);

/* A body on the types of the given values: its results have the types of the first nout. */
static hop_status body(gen *g, int n, int depth, int nin, const hop_type *const *t,
                       int nout, const hop_type *const *want, bool pred, hop_graph **out)
{
	gen     h = { .e = g->e, .seed = g->seed };
	hop_val res[16];

	hop_build_open(&h.b, g->e);
	for (int i = 0; i < nin; i++) {
		hop_val v = hop_build_param(&h.b, t[i]);
		if (t[i]->dtype == HOP_f32)
			h.val[h.nval++] = v;
		else if (t[i]->rank)
			h.vec = v;
		else
			h.idx = v;
	}
	hop_status st = nodes(&h, n, depth);
	if (st) {
		hop_build_drop(&h.b);
		return st;
	}
	for (int i = 0; i < nout; i++) {
		hop_val v = HOP_BAD;
		for (int k = 0; k < 2 * h.nval && hop_is_bad(v); k++) {
			hop_val w = k < h.nval ? pick(&h) : h.val[k - h.nval];
			if (ty(&h, w) == want[i])
				v = w;
		}
		if (hop_is_bad(v))
			v = hop_emit_zeros(&h.b, want[i]);
		res[i] = v;
	}
	if (pred) {
		hop_val z = hop_emit_const_f(&h.b, HOP_f32, 0.25), s = h.val[0];
		int64_t ax[HOP_MAXRANK];
		for (int i = 0; i < ty(&h, s)->rank; i++)
			ax[i] = i;
		res[nout] = hop_emit(&h.b, lt, z, hop_emit_sum(&h.b, s, ty(&h, s)->rank, ax));
	}
	return hop_seal(&h.b, (uint32_t)(nout + pred), res, NULL, out);
}

static hop_status operator(gen *g, int depth)
{
	hop_val         in[16], out[16];
	const hop_type *t[16];
	hop_graph      *f, *h;
	hop_sizes       none = { 0, NULL };
	int             nc = 1 + (int)rnd(g, 2), k = 0;
	unsigned        kind = rnd(g, 4);

	for (k = 0; k < nc; k++)
		in[k] = hop_emit(&g->b, tanh, pick(g));
	for (int i = 0; i < 2; i++)
		in[k++] = pick(g);
	in[k++] = g->idx;
	in[k++] = g->vec;
	for (int i = 0; i < k; i++)
		t[i] = ty(g, in[i]);
	if (kind == 0) {
		HOP_TRY(body(g, 6, depth, k, t, nc, t, false, &f));
		HOP_TRY(body(g, 6, depth, k, t, nc, t, false, &h));
		hop_val p = hop_emit(&g->b, lt, hop_emit_const_i(&g->b, HOP_i64, 1), g->idx);
		HOP_TRY(hop_emit_cond(&g->b, f, h, none, p, in, out));
		k = nc;
	} else if (kind == 1) {
		HOP_TRY(body(g, 8, depth, k, t, nc, t, false, &f));
		HOP_TRY(hop_emit_call(&g->b, f, none, in, out));
		k = nc;
	} else if (kind == 2) {
		hop_while_args w = { .ncarry = (uint32_t)nc, .nconst = (uint32_t)(k - nc),
		                     .max_trips = 3, .carry = in, .konst = in + nc };
		const hop_type *res[3] = { t[0], t[1], t[nc] };
		HOP_TRY(body(g, 3, 0, k, t, 0, t, true, &f));
		HOP_TRY(body(g, 7, depth, k, t, nc + 1, nc == 1 ? (const hop_type *[]){ t[0], t[1] }
		                                               : res, false, &h));
		w.test = f;
		w.body = h;
		HOP_TRY(hop_emit_while(&g->b, &w, out));
		out[nc] = out[nc + 1];
		k = nc + 1;
	} else {
		bool stops = rnd(g, 3) == 0;
		hop_size n = hop_size_of(1 + rnd(g, 9));
		hop_val  x = hop_emit_lead(&g->b, pick(g), n);
		const hop_type *bt[16], *res[3];
		hop_val  konst[16];
		int      m = 0;
		x = hop_emit(&g->b, mul, x, like(g, x));
		for (int i = 0; i < nc; i++)
			bt[m++] = t[i];
		bt[m++] = hop_type_drop(g->e, ty(g, x));
		for (int i = nc; i < k; i++) {
			konst[i - nc] = in[i];
			bt[m++] = t[i];
		}
		for (int i = 0; i < nc; i++)
			res[i] = t[i];
		res[nc] = t[nc];
		HOP_TRY(body(g, 8, depth, m, bt, nc + 1, res, stops, &f));
		hop_scan_args s = { .body = f, .ncarry = (uint32_t)nc, .nx = 1,
		                    .nconst = (uint32_t)(k - nc), .length = n,
		                    .reverse = !stops && rnd(g, 2), .stops = stops,
		                    .count = rnd(g, 3) ? HOP_ZERO : g->idx, .carry = in, .x = &x,
		                    .konst = konst };
		HOP_TRY(hop_emit_scan(&g->b, &s, out));
		k = nc + 1;
	}
	for (int i = 0; i < k; i++)
		keep(g, out[i]);
	return HOP_OK;
}

static hop_status nodes(gen *g, int n, int depth)
{
	for (int i = 0; i < n; i++) {
		unsigned k = rnd(g, 20);
		if (k < 8)
			keep(g, point(g));
		else if (k < 13)
			keep(g, view(g));
		else if (k < 16)
			keep(g, many(g));
		else if (k < 18)
			keep(g, indexed(g));
		else if (depth > 0)
			HOP_TRY(operator(g, depth - 1));
		if (g->b.st)
			return g->b.st;
	}
	return HOP_OK;
}

hop_status hop_lower_gen(hop_env *e, unsigned seed, int nnode, int depth, hop_graph **out)
{
	gen      g = { .e = e, .seed = &seed };
	hop_size d[HOP_MAXRANK];
	hop_val  res[5];
	int      nout = 0;

	hop_build_open(&g.b, e);
	g.idx = hop_build_param(&g.b, hop_type_scalar(e, HOP_i64));
	d[0] = hop_size_of(3);
	g.vec = hop_build_param(&g.b, hop_type_get(e, HOP_i64, 1, d));
	for (int i = 0; i < 4; i++) {
		int r = (int)rnd(&g, 4);
		for (int k = 0; k < r; k++)
			d[k] = hop_size_of(rnd(&g, 8) ? 2 + rnd(&g, 4) : 1);
		g.val[g.nval++] = hop_build_param(&g.b, hop_type_get(e, HOP_f32, r, d));
	}
	hop_status st = nodes(&g, nnode, depth);
	if (st) {
		hop_build_drop(&g.b);
		return st;
	}
	while (nout < 4)
		res[nout++] = g.val[g.nval - 1 - (int)rnd(&g, (unsigned)(g.nval + 1) / 2)];
	return hop_seal(&g.b, (uint32_t)nout, res, NULL, out);
}
