/* implicit.c -- root, fixed_point, minimize and linear_solve: the user's body becomes a function of
 * the unknowns, and the solvers, the user's or ours, bodies that call it. All four are root or
 * linear_solve: a fixed point of f is a root of x - f(x), a minimum one of the gradient, whose
 * derivative is symmetric. Iterates nothing itself. */
#include "ad/ad.h"
#include "hops/body.h"
#include "hops/transpose.h"
#include "trace/implicit.h"

#include <string.h>

static const struct { const char *op, *what[HOP_EQ_NBODY]; } name[] = {
	{ "root", { "the residual of root", "the solver of root", "the tangent solver of root",
	            "the cotangent solver of root" } },
	{ "fixed_point", { "the body of fixed_point", "the solver of fixed_point",
	                   "the tangent solver of fixed_point",
	                   "the cotangent solver of fixed_point" } },
	{ "minimize", { "the loss of minimize", "the solver of minimize",
	                "the tangent solver of minimize", "the cotangent solver of minimize" } },
	{ "linear_solve", { "the product of linear_solve", "the solver of linear_solve", NULL,
	                    "the transposed solver of linear_solve" } },
};

const char *hop_implicit_op(enum hop_equation k)
{
	return name[k].op;
}

/* ---- what is asked for ---- */

static double usual_tolerance(hop_dtype d)
{
	return d == HOP_f64 ? 1e-10 : d == HOP_f32 ? 1e-5 : d == HOP_f16 ? 1e-2 : 5e-2;
}

/* The unknowns: floats, computed with in the widest of them, as exactly as the narrowest allows. */
static void read_unknowns(hop_trace *t, hop_implicit_call *c)
{
	hop_solver *s = &c->s;
	hop_size *count = HOP_NEWN(&t->arena, hop_size, s->n), *at = HOP_NEWN(&t->arena, hop_size, s->n);
	hop_size total = hop_size_int(0);
	c->val = HOP_NEWN(&t->arena, hop_val, s->n);
	c->type = HOP_NEWN(&t->arena, const hop_type *, 2 * s->n);
	s->dtype = HOP_f32;
	for (int i = 0; i < s->n; i++) {
		c->val[i] = hop_value_read(t, c->x0[i]);
		if (hop_is_bad(c->val[i]))
			return;
		const hop_type *type = c->type[i] = c->type[s->n + i] = hop_typeof(&t->b, c->val[i]);
		if (!hop_type_diff(type)) {
			hop_trace_fail(t, HOP_ETYPE, "%s: unknown %d is %s: it must be a float: cast it",
			               name[c->kind].op, i, hop_type_text(t, type));
			return;
		}
		double tol = usual_tolerance((hop_dtype)type->dtype);
		s->tolerance = tol > s->tolerance ? tol : s->tolerance;
		if (type->dtype == HOP_f64)
			s->dtype = HOP_f64;
		count[i] = hop_type_count(hop_env_of(t), type);
		at[i] = total;
		total = hop_size_add(hop_env_of(t), total, count[i]);
	}
	s->type = c->type;
	s->count = count;
	s->at = at;
	s->total = total;
}

/* The method for linear equations. */
static void choose_linear(hop_trace *t, hop_implicit_call *c)
{
	enum { SMALL = 32 };
	hop_solver *s = &c->s;
	bool fixed = hop_size_const(s->total);
	bool symmetric = c->opts.symmetric || c->kind == HOP_EQUATION_MINIMUM;
	s->linear = c->opts.linear;
	if (s->linear == HOP_LINEAR_AUTO)
		s->linear = fixed && s->total.k <= SMALL ? HOP_LINEAR_DENSE
		          : symmetric && c->kind != HOP_EQUATION_ROOT ? HOP_LINEAR_CG : HOP_LINEAR_GMRES;
	if (s->linear < HOP_LINEAR_AUTO || s->linear > HOP_LINEAR_GMRES)
		hop_trace_fail(t, HOP_EVALUE, "%s: there is no method %d for linear equations",
		               name[c->kind].op, s->linear);
	else if (s->linear == HOP_LINEAR_DENSE && !fixed)
		hop_trace_fail(t, HOP_EUSE, "%s: a matrix needs a constant number of elements: use "
		               "HOP_LINEAR_GMRES", name[c->kind].op);
	else if (s->linear == HOP_LINEAR_CG && !symmetric)
		hop_trace_fail(t, HOP_EUSE, "%s: conjugate gradients are for symmetric equations: set "
		               "symmetric, or use HOP_LINEAR_GMRES", name[c->kind].op);
	if (fixed && s->basis > s->total.k)
		s->basis = s->total.k < 1 ? 1 : (int)s->total.k;
}

void hop_implicit_begin(hop_trace *t, void *arg)
{
	enum { NEWTON = 100, OTHERS = 1000, BASIS = 20, MEMORY = 5, MOST = 1 << 16 };
	hop_implicit_call *c = arg;
	hop_solver *s = &c->s;
	const hop_implicit_opts *o = &c->opts;
	const char *op = name[c->kind].op;
	if (!hop_trace_opts(t, c->given, &c->opts, sizeof c->opts))
		return;
	if (s->n < 1 || !c->x0 || !c->out) {
		hop_trace_fail(t, HOP_EUSE, "%s: there are no unknowns, or a list is missing", op);
		return;
	}
	if (!(o->tolerance >= 0) || o->max_iterations < 0 || o->restart < 0 || o->restart > MOST) {
		hop_trace_fail(t, HOP_EVALUE, "%s: tolerance %g, max_iterations %lld, restart %d: one of "
		               "them is out of range", op, o->tolerance, (long long)o->max_iterations,
		               o->restart);
		return;
	}
	if (c->kind == HOP_EQUATION_LINEAR && o->tangent) {
		hop_trace_fail(t, HOP_EUSE, "linear_solve: it has no tangent: that is solve");
		return;
	}
	int64_t usual = c->kind == HOP_EQUATION_ROOT || c->kind == HOP_EQUATION_MINIMUM ? NEWTON : OTHERS;
	s->steps = o->max_iterations ? o->max_iterations : usual;
	s->products = c->kind == HOP_EQUATION_LINEAR ? s->steps : OTHERS;
	s->basis = o->restart && c->kind != HOP_EQUATION_FIXED_POINT ? o->restart : BASIS;
	s->memory = o->restart ? o->restart : MEMORY;
	read_unknowns(t, c);
	/* when nobody asks for less, derivatives should be as good as numbers allow */
	s->aim = 0.01 * s->tolerance;
	if (o->tolerance > 0)
		s->aim = s->tolerance = o->tolerance;
	if (!t->b.st)
		choose_linear(t, c);
}

/* ---- the function ---- */

/* What the body gives is like the unknowns; a loss is a float scalar. */
static bool check_results(hop_trace *t, const hop_implicit_call *c)
{
	const hop_trace *b = c->body[HOP_EQ_F];
	const char *op = name[c->kind].op;
	bool loss = c->kind == HOP_EQUATION_MINIMUM;
	uint32_t n = loss ? 1 : (uint32_t)c->s.n;
	if (b->nret != n) {
		hop_trace_fail(t, HOP_ETYPE, "%s: the body gives %u values, it must give %u%s", op, b->nret,
		               n, loss ? ": a float scalar" : ", as many as the unknowns");
		return false;
	}
	for (uint32_t i = 0; i < n; i++) {
		const hop_type *have = hop_typeof(&b->b, b->out[i]);
		if (loss && have->rank == 0 && hop_type_diff(have))
			continue;
		if (!loss && have == c->type[i])
			continue;
		const char *text = hop_type_text(t, have);
		if (loss)
			hop_trace_fail(t, HOP_ETYPE, "minimize: the body gives %s, it must give a float "
			               "scalar: sum it", text);
		else
			hop_trace_fail(t, HOP_ETYPE, "%s: value %u of the body is %s, unknown %u is %s: they "
			               "must be the same", op, i, text, i, hop_type_text(t, c->type[i]));
		return false;
	}
	return true;
}

/* Graph j of g's parameters, and a 1 behind them for a loss: its last n results; or x less them. */
static hop_status around(hop_env *e, const hop_graph *g, const hop_graph *j, uint32_t n,
                         bool less, const hop_graph **out_g)
{
	hop_build b;
	hop_graph *made;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, j->nparam);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, j->nout), *last = out + j->nout - n;
	hop_body_open(&b, e, g);
	for (uint32_t i = 0; i < g->nparam; i++)
		in[i] = hop_build_param(&b, g->type[i]);
	if (j->nparam > g->nparam)
		in[g->nparam] = hop_emit_const_f(&b, (hop_dtype)j->type[g->nparam]->dtype, 1);
	hop_body_inline(&b, j, in, out);
	for (uint32_t i = 0; less && i < n && !b.st; i++)
		last[i] = hop_emit(&b, sub, in[i], last[i]);
	HOP_TRY(hop_seal(&b, n, last, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

/* The functions that solvers call, from the body as a graph. */
static hop_status derive(hop_env *e, hop_loc loc, const hop_implicit_call *c, const hop_graph *g,
                         hop_solver_fns *fn)
{
	uint32_t n = (uint32_t)c->s.n;
	const hop_graph *j, *pure;
	bool *x = HOP_NEWN(&e->tmp, bool, g->nparam), *all = HOP_NEWN(&e->tmp, bool, n);
	memset(x, 1, n);
	memset(all, 1, n);
	fn->f = g;
	HOP_TRY(hop_ad_pure(e, g, &pure));
	if (c->kind == HOP_EQUATION_LINEAR) {
		HOP_TRY(hop_linear_check(e, "linear_solve", loc, g, x));
		fn->mul = g;
		return hop_graph_transpose(e, g, x, &fn->tmul);
	}
	if (c->kind == HOP_EQUATION_FIXED_POINT)
		HOP_TRY(around(e, g, g, n, true, &fn->f));
	if (c->kind == HOP_EQUATION_MINIMUM) {
		fn->loss = g;
		HOP_TRY(hop_ad_vjp(e, pure, &(bool){ true }, x, &j));
		HOP_TRY(around(e, g, j, n, false, &fn->f));
	}
	HOP_TRY(hop_ad_pure(e, fn->f, &pure));
	HOP_TRY(hop_ad_jvp(e, pure, x, all, &fn->along));
	return hop_ad_vjp(e, pure, all, x, &fn->back);
}

/* Parameters: m of the body's own, which have the types of the unknowns; then what is captured. */
static hop_layout layout(hop_join *j, const hop_implicit_call *c, uint32_t m)
{
	hop_arena *a = &j->t->arena;
	const hop_type **ty = HOP_NEWN(a, const hop_type *, m + j->nk);
	uint32_t *param = HOP_NEWN(a, uint32_t, m);
	for (uint32_t i = 0; i < m; i++) {
		param[i] = i;
		ty[i] = c->type[i];
	}
	for (uint32_t i = 0; i < j->nk; i++)
		ty[m + i] = j->ktype[i];
	return (hop_layout){ .nparam = m + j->nk, .type = ty, .param = param, .k0 = m };
}

/* The body alone as a closed graph, what it captures as values to call it with. */
static void close_body(hop_trace *t, void *arg)
{
	hop_implicit_call *c = arg;
	hop_solver *s = &c->s;
	hop_trace *b = c->body[HOP_EQ_F];
	uint32_t n = (uint32_t)s->n;
	hop_join j;
	const hop_graph *g;
	hop_outs o = { b, b->nret, b->out };
	if (!check_results(t, c) || !hop_join_open(&j, t, 1, &o, 0, NULL) ||
	    !hop_join_pure(&j, name[c->kind].op))
		return;
	hop_join_syms(&j, n, c->type);
	hop_layout l = layout(&j, c, n);
	if (hop_join_seal(&j, 0, &l, b->nret, b->out, NULL, &g))
		return;
	hop_value *k = HOP_NEWN(&t->arena, hop_value, j.nk);
	for (uint32_t i = 0; i < j.nk; i++)
		k[i] = hop_value_new(t, j.kval[i]);
	s->nk = j.nk;
	s->k = k;
	s->fn.sargs = hop_join_sargs(&j);
	s->room = HOP_NEWN(&t->arena, hop_value, 5 * n + j.nk + 1);
	if (!t->b.st)
		t->b.st = derive(hop_env_of(t), t->b.loc, c, g, &s->fn);
}

/* ---- the bodies that are ours ---- */

static hop_implicit_call *here(hop_trace *t, void *user, hop_solver *s)
{
	hop_implicit_call *c = user;
	*s = c->s;
	s->t = t;
	return c;
}

static void give(const hop_solver *s, hop_solution r)
{
	hop_value *out = s->room + s->n;
	hop_solver_unpack(s, r.x, out);
	out[s->n] = r.info;
	hop_at_return_n(s->t, s->file, s->line, s->n + 1, out);
}

static void our_f(hop_trace *t, const hop_value *in, void *user)
{
	hop_solver s;
	here(t, user, &s);
	hop_value v = hop_solver_call(&s, s.fn.f, hop_solver_pack(&s, in), NULL);
	hop_solver_unpack(&s, v, s.room + s.n);
	hop_at_return_n(t, s.file, s.line, s.n, s.room + s.n);
}

static void our_solve(hop_trace *t, const hop_value *in, void *user)
{
	hop_solver s;
	const hop_implicit_call *c = here(t, user, &s);
	hop_linop a = { .g = s.fn.mul };
	hop_value x = hop_solver_pack(&s, in);
	switch (c->kind) {
	case HOP_EQUATION_ROOT:        give(&s, hop_solver_newton(&s, x));   break;
	case HOP_EQUATION_FIXED_POINT: give(&s, hop_solver_anderson(&s, x)); break;
	case HOP_EQUATION_MINIMUM:     give(&s, hop_solver_minimize(&s, x)); break;
	case HOP_EQUATION_LINEAR:      give(&s, hop_solver_linear(&s, &a, x));
	}
}

static void our_tangent(hop_trace *t, const hop_value *in, void *user)
{
	hop_solver s;
	here(t, user, &s);
	hop_value b = hop_solver_pack(&s, in);
	hop_linop a = { .g = s.fn.along, .x = hop_solver_pack(&s, in + s.n), .at_x = true };
	give(&s, hop_solver_linear(&s, &a, b));
}

static void our_cotangent(hop_trace *t, const hop_value *in, void *user)
{
	hop_solver s;
	const hop_implicit_call *c = here(t, user, &s);
	hop_value b = hop_solver_pack(&s, in);
	hop_linop a = { .g = s.fn.tmul };
	if (c->kind != HOP_EQUATION_LINEAR)
		a = (hop_linop){ .g = s.fn.back, .x = hop_solver_pack(&s, in + s.n), .at_x = true };
	give(&s, hop_solver_linear(&s, &a, b));
}

/* Body k, the user's or ours; NULL after a failure. */
static bool run_body(hop_trace *t, hop_implicit_call *c, int k, hop_body *own, hop_body *ours,
                     void *user)
{
	int twice = c->kind != HOP_EQUATION_LINEAR && k >= HOP_EQ_TANGENT;
	hop_body_args a = { .fn = own ? own : ours, .user = own ? user : c,
	                    .what = name[c->kind].what[k], .n = c->s.n << twice, .type = c->type };
	c->body[k] = hop_body_run(t, c->s.file, c->s.line, &a);
	return c->body[k] != NULL;
}

/* ---- the node ---- */

static bool seal_all(hop_join *j, const hop_implicit_call *c, const hop_graph **g)
{
	uint32_t n = (uint32_t)c->s.n;
	const hop_type *const i64 = hop_type_scalar(hop_env_of(j->t), HOP_i64);
	for (int k = 0, at = 0; k < HOP_EQ_NBODY; k++) {
		hop_trace *b = c->body[k];
		g[k] = NULL;
		if (!b)
			continue;
		hop_layout l = layout(j, c, k >= HOP_EQ_TANGENT && c->kind != HOP_EQUATION_LINEAR ? 2 * n : n);
		if (k != HOP_EQ_F && b->nret == n) {        /* a solver that says nothing has found it */
			l.nzero = 1;
			l.zero = &i64;
		}
		/* in texts the solver tells what was asked for */
		const char *called = k == HOP_EQ_SOLVE ? name[c->kind].op : NULL;
		if (hop_join_seal(j, at++, &l, b->nret, b->out, called, &g[k]))
			return false;
	}
	return true;
}

static hop_status emit(hop_build *b, const hop_implicit_call *c, hop_sizes sargs,
                       const hop_graph *const *g, uint32_t nin, const hop_val *in, hop_val *out)
{
	struct hop_attr_root r = { .nx = c->s.n, .sargs = sargs, .f = g[HOP_EQ_F], .solve = g[HOP_EQ_SOLVE],
	                           .tangent = g[HOP_EQ_TANGENT], .cotangent = g[HOP_EQ_COTANGENT] };
	struct hop_attr_linear_solve l = { .nb = c->s.n, .sargs = sargs, .matvec = g[HOP_EQ_F],
	                                   .solve = g[HOP_EQ_SOLVE], .tsolve = g[HOP_EQ_COTANGENT] };
	hop_val v = c->kind == HOP_EQUATION_LINEAR ? hop_emit_op(b, HOP_OP_linear_solve, &l, nin, in)
	                                    : hop_emit_op(b, HOP_OP_root, &r, nin, in);
	for (int i = 0; i <= c->s.n; i++)
		out[i] = b->st ? HOP_BAD : (hop_val){ v.id + (uint32_t)i };
	return b->st;
}

/* The node as a graph of its own, run at once: an eager trace runs nodes without bodies only. */
static hop_status run_alone(hop_trace *t, const hop_implicit_call *c, const hop_graph *const *g,
                            uint32_t nin, const hop_val *in, hop_val *out)
{
	hop_build b;
	hop_graph *made;
	hop_val *p = HOP_NEWN(&t->arena, hop_val, nin);
	hop_sizes none = { 0, NULL };
	hop_build_open(&b, hop_env_of(t));
	b.loc = t->b.loc;
	for (uint32_t i = 0; i < nin; i++)
		p[i] = hop_build_param(&b, hop_typeof(&t->b, in[i]));
	emit(&b, c, none, g, nin, p, out);
	if ((t->b.st = hop_seal(&b, (uint32_t)c->s.n + 1, out, NULL, &made)))
		return t->b.st;
	return hop_call_here(t, made, none, in, out);
}

static void end(hop_trace *t, void *arg)
{
	hop_implicit_call *c = arg;
	uint32_t n = (uint32_t)c->s.n;
	hop_join j;
	hop_outs o[HOP_EQ_NBODY];
	int nbody = 0;
	const hop_graph *g[HOP_EQ_NBODY];
	hop_val *res = HOP_NEWN(&t->arena, hop_val, n + 1);
	for (int k = 0; k < HOP_EQ_NBODY; k++)
		if (c->body[k])
			o[nbody++] = (hop_outs){ c->body[k], c->body[k]->nret, c->body[k]->out };
	if (!hop_join_open(&j, t, nbody, o, 0, NULL) || !hop_join_pure(&j, name[c->kind].op))
		return;
	hop_join_syms(&j, n, c->type);
	if (!seal_all(&j, c, g))
		return;
	hop_val *in = HOP_NEWN(&t->arena, hop_val, n + j.nk);
	memcpy(in, c->val, n * sizeof *in);
	for (uint32_t i = 0; i < j.nk; i++)
		in[n + i] = j.kval[i];
	if (t->eager ? run_alone(t, c, g, n + j.nk, in, res)
	             : emit(&t->b, c, hop_join_sargs(&j), g, n + j.nk, in, res))
		return;
	for (uint32_t i = 0; i < n; i++)
		c->out[i] = hop_value_new(t, res[i]);
	c->info = hop_value_new(t, res[n]);
	c->n = t->b.st ? 0 : (int)n;
}

int hop_implicit_end(hop_trace *t, hop_implicit_call *c, void *user)
{
	const char *file = c->s.file;
	int line = c->s.line;
	const hop_implicit_opts *o = &c->opts;
	bool turned = !o->symmetric && c->kind != HOP_EQUATION_MINIMUM;
	bool ok = hop_enter(t, NULL, file, line, close_body, c);
	if (ok && (c->kind == HOP_EQUATION_FIXED_POINT || c->kind == HOP_EQUATION_MINIMUM)) {
		hop_body_drop(c->body[HOP_EQ_F]);
		ok = run_body(t, c, HOP_EQ_F, NULL, our_f, NULL);
	}
	ok = ok && run_body(t, c, HOP_EQ_SOLVE, o->solve, our_solve, user);
	if (ok && c->kind != HOP_EQUATION_LINEAR)
		ok = run_body(t, c, HOP_EQ_TANGENT, o->tangent, our_tangent, user);
	if (ok && turned)
		ok = run_body(t, c, HOP_EQ_COTANGENT, o->cotangent, our_cotangent, user);
	if (ok)
		hop_enter(t, NULL, file, line, end, c);
	for (int k = HOP_EQ_COTANGENT; k >= HOP_EQ_F; k--)
		hop_body_drop(c->body[k]);
	return c->n;
}

static int run(hop_trace *t, hop_implicit_call *c, hop_body *f, void *user, hop_value *out_info)
{
	t = hop_here(t);
	if (hop_enter(t, name[c->kind].op, c->s.file, c->s.line, hop_implicit_begin, c) &&
	    run_body(t, c, HOP_EQ_F, f, f, user))
		hop_implicit_end(t, c, user);
	if (out_info)
		*out_info = c->info;
	return c->n;
}

int hop_at_root(hop_trace *t, const char *file, int line, hop_body *residual, void *user, int n,
                const hop_value *x0, const hop_implicit_opts *opts, hop_value *out,
                hop_value *out_info)
{
	hop_implicit_call c = { .kind = HOP_EQUATION_ROOT, .x0 = x0, .given = opts, .out = out,
	                      .s = { .file = file, .line = line, .n = n } };
	return run(t, &c, residual, user, out_info);
}

int hop_at_fixed_point(hop_trace *t, const char *file, int line, hop_body *f, void *user, int n,
                       const hop_value *x0, const hop_implicit_opts *opts, hop_value *out,
                       hop_value *out_info)
{
	hop_implicit_call c = { .kind = HOP_EQUATION_FIXED_POINT, .x0 = x0, .given = opts, .out = out,
	                      .s = { .file = file, .line = line, .n = n } };
	return run(t, &c, f, user, out_info);
}

int hop_at_minimize(hop_trace *t, const char *file, int line, hop_body *loss, void *user, int n,
                    const hop_value *x0, const hop_implicit_opts *opts, hop_value *out,
                    hop_value *out_info)
{
	hop_implicit_call c = { .kind = HOP_EQUATION_MINIMUM, .x0 = x0, .given = opts, .out = out,
	                      .s = { .file = file, .line = line, .n = n } };
	return run(t, &c, loss, user, out_info);
}

int hop_at_linear_solve(hop_trace *t, const char *file, int line, hop_body *matvec, void *user,
                        int n, const hop_value *b, const hop_implicit_opts *opts, hop_value *out,
                        hop_value *out_info)
{
	hop_implicit_call c = { .kind = HOP_EQUATION_LINEAR, .x0 = b, .given = opts, .out = out,
	                      .s = { .file = file, .line = line, .n = n } };
	return run(t, &c, matvec, user, out_info);
}
