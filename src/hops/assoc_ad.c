/* assoc_ad.c -- associative_scan and reduce under vjp.
 *
 * Where combine f works element by element, y_t = f(y_{t-1}, x_t) has the reverse
 *
 *	g_t = ybar_t + A_{t+1}' g_{t+1}        A_t = df/dleft at (y_{t-1}, x_t)
 *
 * with one k x k block an element: an associative_scan of blocks and vectors the other way, in
 * as much memory as the results take. Then dx_t = (df/dright)' g_t for all t at once, and so
 * for what f captures. Only leaves that a cotangent reaches count, and of a block only what a
 * product of blocks can make other than zero: the reverse of this reverse is of its kind.
 * Everything else, and reduce, is differentiated as the graph of assoc_chunk.c. */
#include "hops/assoc.h"

#include <string.h>

#include "ad/ad.h"

enum { MOST = 4 };                 /* leaves in a block */

struct blocks {
	hop_assoc a;
	int       n;
	uint32_t  leaf[MOST];              /* those that have a cotangent, in order */
	bool      dep[MOST][MOST];         /* f's leaf i depends on its left leaf j */
	bool      fill[MOST][MOST];        /* products of blocks may be other than zero there */
	int       nfill;
};

/* ---- is it of this kind? ---- */

/* Nodes that depend on leaves work element by element on values of their shape; the others only
 * spread what is captured. */
static bool is_pointwise(hop_env *e, const hop_graph *g, uint32_t nleaf)
{
	bool *of = HOP_NEWN(&e->tmp, bool, g->nvalue), ok = true;
	const hop_type *t = g->type[0];
	for (uint32_t i = 0; i < nleaf; i++) {
		of[i] = true;
		ok = ok && g->type[i]->rank == t->rank &&
		     !memcmp(g->type[i]->dim, t->dim, (size_t)t->rank * sizeof *t->dim);
	}
	for (uint32_t i = 0; i < g->nnode && ok; i++) {
		const hop_node *n = &g->node[i];
		int flags = hop_optab[n->op].flags;
		bool leaf = false;
		for (uint32_t k = 0; k < n->nin; k++)
			leaf |= of[n->in[k].id];
		for (uint32_t k = 0; k < n->nout; k++)
			of[n->out0.id + k] = leaf;
		ok = flags & HOP_F_E || (!leaf && (flags & HOP_F_V || !n->nin));
	}
	return ok;
}

/* Column j of `to`: which results of f depend on its left leaf j. */
static void depends(hop_env *e, const hop_graph *f, uint32_t j, bool *to)
{
	hop_mark m = hop_mark_at(&e->tmp);
	bool *in = HOP_NEWN(&e->tmp, bool, f->nparam);
	in[j] = true;
	hop_ad_active(e, f, in, to);
	hop_rewind(&e->tmp, m);
}

/* All that products of blocks reach. */
static void close_fill(struct blocks *p)
{
	memcpy(p->fill, p->dep, sizeof p->fill);
	for (int k = 0; k < p->n; k++)
		for (int i = 0; i < p->n; i++)
			for (int j = 0; j < p->n; j++)
				p->fill[i][j] |= p->fill[i][k] && p->fill[k][j];
	for (int i = 0; i < p->n; i++)
		for (int j = 0; j < p->n; j++)
			p->nfill += p->fill[i][j];
}

/* Both halves ask; they get the same answer. */
static bool find_blocks(hop_env *e, const hop_rule *r, struct blocks *p)
{
	*p = (struct blocks){ .a = hop_assoc_of(r->n) };
	const hop_assoc *a = &p->a;
	const hop_graph *f = a->combine;
	if (a->whole || r->n->guard || !is_pointwise(e, f, 2 * a->nx))
		return false;
	bool *act = HOP_NEWN(&e->tmp, bool, a->nx), *on = HOP_NEWN(&e->tmp, bool, a->nx);
	bool **dep = HOP_NEWN(&e->tmp, bool *, a->nx);
	hop_active_bodies(e, r->n, r->act, act);
	memcpy(on, r->live, a->nx);
	for (uint32_t j = 0; j < a->nx; j++) {
		dep[j] = HOP_NEWN(&e->tmp, bool, a->nx);
		if (act[j])
			depends(e, f, j, dep[j]);
	}
	for (bool more = true; more; ) {
		more = false;
		for (uint32_t i = 0; i < a->nx; i++)
			for (uint32_t j = 0; on[i] && j < a->nx; j++)
				if (dep[j][i] && !on[j])
					on[j] = more = true;
	}
	for (uint32_t k = 0; k < a->nx; k++) {
		if (!on[k])
			continue;
		if (p->n == MOST || (p->n && f->type[k]->dtype != f->type[p->leaf[0]]->dtype))
			return false;
		p->leaf[p->n++] = k;
	}
	for (int i = 0; i < p->n; i++)
		for (int j = 0; j < p->n; j++)
			p->dep[i][j] = dep[p->leaf[j]][p->leaf[i]];
	close_fill(p);
	return true;
}

/* ---- bodies ---- */

static hop_val *params_of(hop_build *b, const hop_graph *g, uint32_t more)
{
	hop_val *in = HOP_NEWN(&b->env->tmp, hop_val, g->nparam + more);
	for (uint32_t i = 0; i < g->nparam; i++)
		in[i] = hop_build_param(b, g->type[i]);
	return in;
}

/* The blocks of one step: f's parameters -> those df_i/dleft_j that may be other than zero, by
 * columns. */
static hop_status block_body(hop_env *e, const struct blocks *p, hop_graph **out_g)
{
	const hop_graph *f = p->a.combine, *d;
	bool *act = HOP_NEWN(&e->tmp, bool, f->nparam), *outs = HOP_NEWN(&e->tmp, bool, f->nout);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, f->nout + MOST), out[MOST * MOST];
	uint32_t n = 0;
	hop_build b;
	hop_body_open(&b, e, f);
	hop_val *in = params_of(&b, f, 1);
	for (int j = 0; j < p->n; j++) {
		uint32_t many = 0;
		memset(outs, 0, f->nout);
		for (int i = 0; i < p->n; i++)
			many += outs[p->leaf[i]] = p->dep[i][j];
		if (!many)
			continue;
		act[p->leaf[j]] = true;
		HOP_TRY(hop_ad_jvp(e, f, act, outs, &d));
		act[p->leaf[j]] = false;
		in[f->nparam] = hop_emit_full(&b, f->type[p->leaf[j]], 1);
		hop_body_inline(&b, d, in, res);
		memcpy(out + n, res + f->nout, many * sizeof *out);
		n += many;
	}
	return hop_seal(&b, n, out, NULL, out_g);
}

/* (M, v) o (M', v') = (M' M, v' + M' v): what is read later stands on the right. Leaves: M[j][i],
 * the share that the cotangent of leaf j gets of that of leaf i, by columns of A; then v. */
static hop_status block_combine(hop_env *e, const struct blocks *p, hop_graph **out_g)
{
	const hop_graph *f = p->a.combine;
	const hop_type *t = f->type[p->leaf[0]];
	hop_val in[2][MOST][MOST], v[2][MOST], out[MOST * MOST + MOST];
	uint32_t n = 0;
	hop_build b;
	hop_body_open(&b, e, f);
	for (int s = 0; s < 2; s++) {
		for (int j = 0; j < p->n; j++)
			for (int i = 0; i < p->n; i++)
				in[s][j][i] = p->fill[i][j] ? hop_build_param(&b, t) : HOP_ZERO;
		for (int j = 0; j < p->n; j++)
			v[s][j] = hop_build_param(&b, t);
	}
	for (int j = 0; j < p->n; j++)
		for (int i = 0; i < p->n; i++) {
			hop_val sum = HOP_ZERO;
			for (int k = 0; k < p->n; k++)
				if (p->fill[k][j] && p->fill[i][k])
					sum = hop_emit_acc(&b, sum, hop_emit(&b, mul, in[1][j][k], in[0][k][i]));
			if (p->fill[i][j])
				out[n++] = hop_emit_solid(&b, sum, t);
		}
	for (int j = 0; j < p->n; j++) {
		hop_val sum = v[1][j];
		for (int k = 0; k < p->n; k++)
			if (p->fill[k][j])
				sum = hop_emit_acc(&b, sum, hop_emit(&b, mul, in[1][j][k], v[0][k]));
		out[n++] = sum;
	}
	return hop_seal(&b, n, out, NULL, out_g);
}

/* ---- the reverse ---- */

/* A scan of T results makes `rest` of them, T - 1 or 0, from the one before; `one`, 1 or 0, is
 * the first. Positions are those of the operands, whichever way it runs. */
struct reverse {
	hop_build           *b;
	hop_rule            *r;
	const struct blocks *p;
	hop_sizes            sargs;
	hop_size             length, rest, one;
	hop_size             before, after, read;  /* where the windows of `rest` begin: of states,
	                                              of what they become, of the xs */
	hop_size             first;                /* and the window of `one` */
	hop_val              g[MOST];              /* cotangents of the results, all told */
};

static hop_val window(const struct reverse *v, hop_val x, hop_size at, hop_size n)
{
	if (v->b->st || hop_is_zero(x))
		return x;
	const hop_type *t = hop_typeof(v->b, x);
	hop_size start[HOP_MAXRANK], dim[HOP_MAXRANK];
	for (int i = 0; i < t->rank; i++) {
		start[i] = i ? hop_size_int(0) : at;
		dim[i] = i ? t->dim[i] : n;
	}
	return hop_size_eq(t->dim[0], n) ? x : hop_emit_slice(v->b, x, start, dim, NULL);
}

/* x in a window, zeros around it. */
static hop_val widen(const struct reverse *v, hop_val x, hop_size at)
{
	if (v->b->st || hop_is_zero(x))
		return x;
	const hop_type *t = hop_typeof(v->b, x);
	hop_size start[HOP_MAXRANK], dim[HOP_MAXRANK];
	for (int i = 0; i < t->rank; i++) {
		start[i] = i ? hop_size_int(0) : at;
		dim[i] = i ? t->dim[i] : v->length;
	}
	return hop_size_eq(t->dim[0], v->length) ? x : hop_emit_pad(v->b, x, start, dim, NULL);
}

/* Graph g for n steps at once. Its parameters from .. to-1 and those from `late` on have a value a
 * step; so have all results. */
static hop_status steps(const struct reverse *v, const hop_graph *g, hop_size n, uint32_t from,
                        uint32_t to, uint32_t late, const hop_val *in, hop_val *out)
{
	hop_env *e = v->b->env;
	bool *bin = HOP_NEWN(&e->tmp, bool, g->nparam), *bo = HOP_NEWN(&e->tmp, bool, g->nout);
	bool *force = HOP_NEWN(&e->tmp, bool, g->nout);
	hop_size *s = HOP_NEWN(&e->tmp, hop_size, v->sargs.n + 1);
	const hop_graph *many;
	memset(force, 1, g->nout);
	for (uint32_t i = 0; i < g->nparam; i++)
		bin[i] = (i >= from && i < to) || i >= late;
	hop_batch_spec spec = { .size = hop_size_const(n) ? n.k : -1, .in = bin,
	                        .force = force };
	HOP_TRY(hop_ad_batch(e, g, &spec, &many, bo));
	memcpy(s, v->sargs.v, (size_t)v->sargs.n * sizeof *s);
	s[v->sargs.n] = n;
	return hop_emit_inline(v->b, many, s, in, out);
}

/* The cotangents of all results, those of later results included. */
static hop_status all_told(struct reverse *v)
{
	hop_build *b = v->b;
	const struct blocks *p = v->p;
	const hop_assoc *a = &p->a;
	uint32_t np = a->combine->nparam, n = 0;
	hop_graph *body, *combine;
	hop_val *in = HOP_NEWN(&b->env->tmp, hop_val, np), res[MOST * MOST];
	hop_val x[MOST * MOST + MOST], y[MOST * MOST + MOST];
	const hop_type *t = NULL;
	for (int j = 0; j < p->n; j++) {
		t = hop_typeof(b, v->r->out[p->leaf[j]]);
		v->g[j] = hop_emit_solid(b, v->r->dout[p->leaf[j]], t);
	}
	if (!p->nfill || hop_size_is(v->rest, 0) || b->st)
		return b->st;
	HOP_TRY(block_body(b->env, p, &body));
	HOP_TRY(block_combine(b->env, p, &combine));
	for (uint32_t k = 0; k < a->nx; k++) {
		in[k] = window(v, v->r->out[k], v->before, v->rest);
		in[a->nx + k] = window(v, v->r->in[a->ninit + k], v->read, v->rest);
	}
	memcpy(in + 2 * a->nx, v->r->in + a->ninit + a->nx, a->nk * sizeof *in);
	HOP_TRY(steps(v, body, v->rest, 0, 2 * a->nx, np, in, res));
	for (int j = 0, k = 0; j < p->n; j++)
		for (int i = 0; i < p->n; i++) {
			hop_val block = p->dep[i][j] ? widen(v, res[k++], v->before) : HOP_ZERO;
			if (p->fill[i][j])
				x[n++] = hop_emit_solid(b, block, t);
		}
	memcpy(x + n, v->g, (size_t)p->n * sizeof *x);
	hop_assoc back = { .combine = combine, .sargs = v->sargs, .length = v->length,
	                   .nx = n + (uint32_t)p->n, .reverse = !a->reverse };
	HOP_TRY(hop_emit_assoc(b, &back, x, y));
	memcpy(v->g, y + n, (size_t)p->n * sizeof *y);
	return b->st;
}

/* What the n steps whose states become those at `at` give their operands: to dx, a value a step;
 * to dk and, if they all start from init, dinit, the sum. */
static hop_status give(struct reverse *v, hop_size at, hop_size read, hop_size n, bool init,
                       hop_val *dinit, hop_val *dx, hop_val *dk)
{
	hop_build *b = v->b;
	const hop_rule *r = v->r;
	const hop_assoc *a = &v->p->a;
	const hop_graph *f = a->combine, *joint;
	hop_env *e = b->env;
	uint32_t np = f->nparam, nx = a->nx, k = nx;
	bool *ct = HOP_NEWN(&e->tmp, bool, nx), *want = HOP_NEWN(&e->tmp, bool, np);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, np + MOST);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, nx + np);
	if (hop_size_is(n, 0))
		return HOP_OK;
	for (uint32_t i = 0; i < nx; i++) {
		want[i] = init && r->act[i];
		want[nx + i] = r->act[a->ninit + i];
		in[i] = init ? r->in[i] : window(v, r->out[i], v->before, n);
		in[nx + i] = window(v, r->in[a->ninit + i], read, n);
	}
	for (uint32_t i = 0; i < a->nk; i++) {
		want[2 * nx + i] = r->act[a->ninit + nx + i];
		in[2 * nx + i] = r->in[a->ninit + nx + i];
	}
	for (int j = 0; j < v->p->n; j++) {
		ct[v->p->leaf[j]] = true;
		in[np + (uint32_t)j] = window(v, v->g[j], at, n);
	}
	HOP_TRY(hop_ad_vjp(e, f, ct, want, &joint));
	HOP_TRY(steps(v, joint, n, init ? nx : 0, 2 * nx, np, in, out));
	for (uint32_t i = 0; i < np; i++) {
		if (!want[i])
			continue;
		hop_val d = out[k++];
		if (i >= nx && i < 2 * nx) {
			dx[i - nx] = d;
			continue;
		}
		d = hop_emit_sum(b, d, 1, (const int64_t[]){ 0 });
		if (i < nx)
			dinit[i] = hop_emit_acc(b, dinit[i], d);
		else
			dk[i - 2 * nx] = hop_emit_acc(b, dk[i - 2 * nx], d);
	}
	return b->st;
}

/* The first result is x_0, init, or made from both; then xs are put together. */
static hop_status operands(struct reverse *v)
{
	hop_build *b = v->b;
	const hop_assoc *a = &v->p->a;
	hop_val *dinit = v->r->din, *dx = dinit + a->ninit, *dk = dx + a->nx;
	hop_val *one = HOP_NEWN(&b->env->tmp, hop_val, a->nx);
	for (uint32_t k = 0; k < a->nx; k++)
		one[k] = HOP_ZERO;
	HOP_TRY(give(v, v->after, v->read, v->rest, false, NULL, dx, dk));
	if (a->ninit && !a->exclusive)
		HOP_TRY(give(v, v->first, v->first, v->one, true, dinit, one, dk));
	for (int j = 0; j < v->p->n; j++) {
		hop_val g = window(v, v->g[j], v->first, v->one);
		if (a->exclusive && !b->st)
			dinit[v->p->leaf[j]] = hop_emit_sum(b, g, 1, (const int64_t[]){ 0 });
		else if (!a->ninit)
			one[v->p->leaf[j]] = g;
	}
	bool lo = a->exclusive != a->reverse;          /* the window that is read comes first */
	hop_size other = lo ? v->rest : hop_size_int(0);
	for (uint32_t k = 0; k < a->nx && !b->st; k++) {
		hop_val part[2] = { lo ? dx[k] : one[k], lo ? one[k] : dx[k] };
		if (hop_is_zero(dx[k]))
			dx[k] = widen(v, one[k], other);
		else if (hop_is_zero(one[k]))
			dx[k] = widen(v, dx[k], v->read);
		else
			dx[k] = hop_emit_concat(b, 2, part, 0);
	}
	return b->st;
}

static hop_status backward(hop_build *b, hop_rule *r, const struct blocks *p)
{
	hop_env *e = b->env;
	hop_size zero = hop_size_int(0), one = hop_size_int(1);
	struct reverse v = { .b = b, .r = r, .p = p, .sargs = hop_rule_sargs(b, r) };
	v.length = hop_size_subst(e, p->a.length, r->smap, r->nsmap);
	if (hop_size_is(v.length, 0))
		return HOP_OK;
	v.rest = hop_size_sub(e, v.length, one);
	if (hop_build_holds(b, HOP_LE, one, v.length) != HOP_ALWAYS)
		v.rest = hop_size_max(e, zero, v.rest);
	v.one = hop_size_sub(e, v.length, v.rest);
	v.before = p->a.reverse ? v.one : zero;
	v.after = p->a.reverse ? zero : v.one;
	v.read = p->a.exclusive ? v.before : v.after;
	v.first = p->a.reverse ? v.rest : zero;
	HOP_TRY(all_told(&v));
	return operands(&v);
}

/* ---- the two halves ---- */

/* The results are the node's own in either case: to ask for a derivative changes no value. */
hop_status hop_fwd_assoc(hop_build *b, hop_rule *r)
{
	struct blocks p;
	hop_graph *g;
	if (!find_blocks(b->env, r, &p)) {
		HOP_TRY(hop_assoc_chunk(b->env, r->g, r->n, &g));
		hop_sizes s = hop_rule_sargs(b, r);            /* leaves room for one more */
		hop_size length = hop_size_subst(b->env, p.a.length, r->smap, r->nsmap);
		if (!hop_size_const(p.a.length))
			((hop_size *)(uintptr_t)s.v)[s.n++] = length;
		HOP_TRY(hop_fwd_graph(b, r, NULL, g, s));
	}
	hop_val o = hop_emit_copy(b, r->g, r->n, r->in, r->smap, r->nsmap);
	for (uint32_t k = 0; k < r->n->nout; k++)
		r->out[k] = b->st ? HOP_BAD : (hop_val){ o.id + k };
	return b->st;
}

hop_status hop_bwd_assoc(hop_build *b, hop_rule *r)
{
	struct blocks p;
	return find_blocks(b->env, r, &p) ? backward(b, r, &p) : hop_bwd_call(b, r);
}
