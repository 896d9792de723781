/* control.c -- cond, call and the function inside a trace. The bodies get the caller's own
 * handles: what they use is lifted, what they write is written outside. Loops, whose bodies
 * have parameters of their own, are in loop.c. */
#include "trace/trace.h"

#include <string.h>

/* One call of a public operator, through its guarded steps. */
struct call {
	const char      *name;
	hop_value        pred;
	hop_body        *fn[2];
	bool             sized;
	int              nin, cap, n;
	const hop_value *in;
	hop_value       *out;
	hop_trace       *body[2];
	hop_outs         o[2];
	int              taken;
	hop_fn          *func;
};

/* The lists are there, and every input is a value: asked before a body runs, which might
 * look at none of them. */
static bool check_lists(hop_trace *t, const struct call *c)
{
	if (c->nin < 0 || (c->nin && !c->in) || c->cap < 0 || (c->cap && !c->out)) {
		hop_trace_fail(t, HOP_EUSE, "%s: a count is negative or a list is missing", t->op);
		return false;
	}
	for (int i = 0; i < c->nin; i++)
		if (hop_slot_of(t, c->in[i]) < 0)
			return false;
	return true;
}

static bool check_room(hop_trace *t, uint32_t n, int cap)
{
	if (n <= (uint32_t)cap)
		return true;
	hop_trace_fail(t, HOP_EUSE, "%s: gives %u results, there is room for %d", t->op, n, cap);
	return false;
}

/* One element of any dtype: not zero is true. */
static hop_val predicate(hop_trace *t, hop_value pred)
{
	hop_val p = hop_promote_cast(t, pred, HOP_bool);
	if (hop_is_bad(p))
		return p;
	const hop_type *type = hop_typeof(&t->b, p);
	if (!hop_size_is(hop_type_count(hop_env_of(t), type), 1)) {
		hop_trace_fail(t, HOP_ESHAPE, "cond: the predicate is %s, it must have one element",
		               hop_type_text(t, type));
		return HOP_BAD;
	}
	return type->rank ? hop_emit_reshape(&t->b, p, 0, NULL) : p;
}

/* ---- results of two branches ---- */

/* A number takes the dtype of what the other branch returns. */
static void unify(hop_trace *a, uint32_t i, hop_val *v, const hop_type *want)
{
	const hop_cell *s = &a->slot[a->ret[i]];
	if (s->weak && want->rank == 0 && want->dtype != s->type->dtype)
		v[i] = hop_promote_cast(a, (hop_value){ a->serial, a->ret[i] },
		                        (hop_dtype)want->dtype);
}

static bool same_or_fail(hop_trace *t, uint32_t i, const hop_type *a, const hop_type *b,
                         bool sized)
{
	if (a == b)
		return true;
	if (a->dtype == b->dtype && a->rank == b->rank) {
		if (sized)
			return true;
		hop_trace_fail(t, HOP_ESHAPE, "cond: result %u is %s in then, %s in else: give both "
		               "the same sizes, or use hop_cond_sized", i, hop_type_text(t, a),
		               hop_type_text(t, b));
	} else {
		hop_trace_fail(t, HOP_ETYPE, "cond: result %u is %s in then, %s in else: cast or "
		               "reshape one of them", i, hop_type_text(t, a), hop_type_text(t, b));
	}
	return false;
}

/* Pad result i of both to the larger sizes; counts of the axes that differ are added. */
static uint32_t pad_result(struct call *c, uint32_t i, hop_val *v[2], uint32_t ncount)
{
	const hop_type *ty[2];
	hop_env *e = hop_env_of(c->body[0]);
	hop_size cap[HOP_MAXRANK], zero[HOP_MAXRANK];
	for (int k = 0; k < 2; k++)
		ty[k] = hop_typeof(&c->body[k]->b, v[k][i]);
	if (ty[0] == ty[1])
		return ncount;
	for (int d = 0; d < ty[0]->rank; d++) {
		zero[d] = hop_size_of(0);
		cap[d] = hop_size_max(e, ty[0]->dim[d], ty[1]->dim[d]);
		if (hop_size_eq(ty[0]->dim[d], ty[1]->dim[d]))
			continue;
		for (int k = 0; k < 2; k++)
			v[k][ncount] = hop_emit_size(&c->body[k]->b, ty[k]->dim[d]);
		ncount++;
	}
	for (int k = 0; k < 2; k++)
		v[k][i] = hop_emit_pad(&c->body[k]->b, v[k][i], zero, cap, NULL);
	return ncount;
}

/* Bring the results of both branches together; o[] gets them. */
static bool merge(hop_trace *t, struct call *c)
{
	hop_trace *a = c->body[0], *b = c->body[1];
	if (a->nret != b->nret) {
		hop_trace_fail(t, HOP_ETYPE, "cond: then gives %u results, else gives %u", a->nret,
		               b->nret);
		return false;
	}
	uint32_t n = a->nret, total = n;
	hop_val *v[2];
	for (int k = 0; k < 2; k++) {
		v[k] = HOP_NEWN(&t->arena, hop_val, n * (1 + HOP_MAXRANK));
		memcpy(v[k], c->body[k]->out, n * sizeof **v);
	}
	for (uint32_t i = 0; i < n; i++) {
		unify(a, i, v[0], hop_typeof(&b->b, v[1][i]));
		unify(b, i, v[1], hop_typeof(&a->b, v[0][i]));
		if (a->b.st || b->b.st)
			return false;
		if (!same_or_fail(t, i, hop_typeof(&a->b, v[0][i]), hop_typeof(&b->b, v[1][i]),
		                  c->sized))
			return false;
	}
	for (uint32_t i = 0; i < n; i++)
		total = pad_result(c, i, v, total);
	for (int k = 0; k < 2; k++)
		c->o[k] = (hop_outs){ c->body[k], total, v[k] };
	return !a->b.st && !b->b.st;
}

/* ---- cond ---- */

/* Parameters of a body without parameters of its own: w, then k. */
static hop_layout plain_layout(hop_join *j, const hop_val **out_operands)
{
	hop_arena *a = &j->t->arena;
	uint32_t n = j->nw + j->nk;
	hop_val *v = HOP_NEWN(a, hop_val, n);
	const hop_type **ty = HOP_NEWN(a, const hop_type *, n);
	for (uint32_t i = 0; i < n; i++) {
		v[i] = i < j->nw ? j->wval[i] : j->kval[i - j->nw];
		ty[i] = i < j->nw ? j->wtype[i] : j->ktype[i - j->nw];
	}
	*out_operands = v;
	return (hop_layout){ .nparam = n, .type = ty, .w0 = 0, .k0 = j->nw };
}

static hop_val *with_writes(hop_join *j, int k, const hop_outs *o)
{
	hop_val *all = HOP_NEWN(&j->t->arena, hop_val, o->n + j->nw);
	memcpy(all, o->v, o->n * sizeof *all);
	memcpy(all + o->n, j->wout[k], j->nw * sizeof *all);
	return all;
}

static void publish(hop_trace *t, struct call *c, uint32_t n, const hop_val *v)
{
	for (uint32_t i = 0; i < n; i++)
		c->out[i] = hop_value_new(t, v[i]);
	c->n = t->b.st ? 0 : (int)n;
}

static void cond_end(hop_trace *t, void *arg)
{
	struct call *c = arg;
	hop_join j;
	const hop_graph *g[2];
	const hop_val *operands;
	hop_val p = predicate(t, c->pred);
	if (hop_is_bad(p) || !merge(t, c) || !check_room(t, c->o[0].n, c->cap))
		return;
	if (!hop_join_open(&j, t, 2, c->o, c->nin, c->in))
		return;
	hop_join_syms(&j, 0, NULL);
	hop_layout l = plain_layout(&j, &operands);
	uint32_t nout = c->o[0].n + j.nw;
	for (int k = 0; k < 2; k++)
		if (hop_join_seal(&j, k, &l, nout, with_writes(&j, k, &c->o[k]), NULL, &g[k]))
			return;
	hop_val *res = HOP_NEWN(&t->arena, hop_val, nout);
	if (hop_emit_cond(&t->b, g[0], g[1], hop_join_sargs(&j), p, operands, res))
		return;
	hop_join_wrote(&j, res + c->o[0].n);
	publish(t, c, c->o[0].n, res);
}

static const char *const branch[] = { "the then branch of cond", "the else branch of cond" };

/* Both functions must be there, although an eager cond runs only one of them. */
static void cond_begin(hop_trace *t, void *arg)
{
	struct call *c = arg;
	if (!check_lists(t, c))
		return;
	for (int k = 0; k < 2; k++)
		if (!c->fn[k]) {
			hop_trace_fail(t, HOP_EUSE, "no function was given for %s", branch[k]);
			return;
		}
	hop_val p = predicate(t, c->pred);
	if (hop_is_bad(p) || !t->eager)
		return;
	hop_eager_settle(t);
	if (!t->b.st)
		c->taken = hop_tensor_i(hop_eager_tensor(t, p), 0) ? 0 : 1;
}

static void eager_end(hop_trace *t, void *arg)
{
	struct call *c = arg;
	c->n = hop_eager_results(t, c->body[c->taken], c->cap, c->out);
}

/* A number that the branch taken returns has the dtype that the other branch returns. */
static bool gives_number(const hop_trace *body)
{
	for (uint32_t i = 0; i < body->nret; i++)
		if (body->slot[body->ret[i]].weak)
			return true;
	return false;
}

/* The branch not taken is captured for its types only, and dropped; then the results of the
 * other are cast and padded as capture would do it. */
static void eager_merged_end(hop_trace *t, void *arg)
{
	struct call *c = arg;
	hop_trace *ran = c->body[c->taken];
	if (!merge(t, c))
		return;
	hop_eager_settle(ran);
	if (ran->b.st) {
		t->b.st = ran->b.st;
		return;
	}
	ran->out = (hop_val *)c->o[c->taken].v;
	ran->nret = c->o[c->taken].n;
	eager_end(t, c);
}

static int cond(hop_trace *t, const char *file, int line, struct call *c, void *user)
{
	c->taken = -1;
	if (!hop_enter(t, "cond", file, line, cond_begin, c))
		return 0;
	bool ok = true, both = true;
	for (int i = 0; i < 2 && ok && both; i++) {
		int k = c->taken < 0 ? i : c->taken ^ i;         /* eager: the one taken first */
		hop_body_args a = { .fn = c->fn[k], .user = user, .what = branch[k], .n = c->nin,
		                    .in = c->in, .eager = c->taken == k };
		ok = (c->body[k] = hop_body_run(t, file, line, &a)) != NULL;
		if (i == 0)
			both = c->taken < 0 || c->sized || (ok && gives_number(c->body[k]));
	}
	if (ok)
		hop_enter(t, NULL, file, line, c->taken < 0 ? cond_end :
		          both ? eager_merged_end : eager_end, c);
	hop_body_drop(c->body[1]);
	hop_body_drop(c->body[0]);
	return c->n;
}

int hop_at_cond(hop_trace *t, const char *file, int line, hop_value pred, hop_body *then_,
                hop_body *else_, void *user, int nin, const hop_value *in, int cap,
                hop_value *out)
{
	struct call c = { .pred = pred, .fn = { then_, else_ }, .nin = nin, .in = in, .cap = cap,
	                  .out = out };
	return cond(t, file, line, &c, user);
}

int hop_at_cond_sized(hop_trace *t, const char *file, int line, hop_value pred,
                      hop_body *then_, hop_body *else_, void *user, int nin,
                      const hop_value *in, int cap, hop_value *out)
{
	struct call c = { .pred = pred, .fn = { then_, else_ }, .sized = true, .nin = nin,
	                  .in = in, .cap = cap, .out = out };
	return cond(t, file, line, &c, user);
}

/* ---- call ---- */

static void region_begin(hop_trace *t, void *arg)
{
	check_lists(t, arg);
}

static void region_end(hop_trace *t, void *arg)
{
	struct call *c = arg;
	hop_join j;
	const hop_graph *g;
	const hop_val *operands;
	hop_trace *b = c->body[0];
	c->o[0] = (hop_outs){ b, b->nret, b->out };
	if (!check_room(t, b->nret, c->cap) ||
	    !hop_join_open(&j, t, 1, c->o, c->nin, c->in))
		return;
	hop_join_syms(&j, 0, NULL);
	hop_layout l = plain_layout(&j, &operands);
	uint32_t nout = b->nret + j.nw;
	if (hop_join_seal(&j, 0, &l, nout, with_writes(&j, 0, &c->o[0]), c->name, &g))
		return;
	hop_val *res = HOP_NEWN(&t->arena, hop_val, nout);
	if (hop_call_here(t, g, hop_join_sargs(&j), operands, res))
		return;
	hop_join_wrote(&j, res + b->nret);
	publish(t, c, b->nret, res);
}

int hop_at_region(hop_trace *t, const char *file, int line, const char *name, hop_body *body,
                  void *user, int nin, const hop_value *in, int cap, hop_value *out)
{
	struct call c = { .name = name, .nin = nin, .in = in, .cap = cap, .out = out };
	if (!hop_enter(t, "region", file, line, region_begin, &c))
		return 0;
	hop_body_args a = { .fn = body, .user = user, .what = "the body of region", .n = nin,
	                    .in = in, .eager = t->eager };
	c.body[0] = hop_body_run(t, file, line, &a);
	if (c.body[0])
		hop_enter(t, NULL, file, line, t->eager ? eager_end : region_end, &c);
	hop_body_drop(c.body[0]);
	return c.n;
}

/* ---- a function inside a trace ---- */

/* Size arguments: a parameter's axis that is one symbol says what the symbol is here. */
static hop_sizes solve_sizes(hop_trace *t, const hop_graph *g, const hop_val *in)
{
	hop_env *e = hop_env_of(t);
	hop_size *s = HOP_NEWN(&t->arena, hop_size, g->nsym);
	bool *known = HOP_NEWN(&t->arena, bool, g->nsym);
	for (uint32_t i = 0; i < g->nparam; i++) {
		const hop_type *want = g->type[i], *have = hop_typeof(&t->b, in[i]);
		for (int d = 0; d < want->rank && d < have->rank; d++)
			for (uint32_t k = 0; k < g->nsym; k++)
				if (!known[k] && hop_size_eq(want->dim[d], hop_size_sym(e, (int)k))) {
					known[k] = true;
					s[k] = have->dim[d];
				}
	}
	for (uint32_t k = 0; k < g->nsym; k++)
		if (!known[k])
			hop_trace_fail(t, HOP_ESHAPE, "apply: no input says what size %s is",
			               g->symname[k] ? g->symname[k] : "symbol");
	return (hop_sizes){ g->nsym, s };
}

static bool differ(hop_size a, hop_size b)
{
	return hop_size_const(a) && hop_size_const(b) && a.k != b.k;
}

/* Inputs whose sizes are known not to be those of the function, once its symbols are what
 * they are here: emitting a call would find it, running one would not. */
static bool sizes_fit(hop_trace *t, const hop_graph *g, hop_sizes s, const hop_val *in)
{
	for (uint32_t i = 0; i < g->nparam; i++) {
		const hop_type *want = hop_type_subst(hop_env_of(t), g->type[i], s.v, (int)s.n);
		const hop_type *have = hop_typeof(&t->b, in[i]);
		for (int d = 0; d < want->rank; d++)
			if (differ(want->dim[d], have->dim[d])) {
				hop_trace_fail(t, HOP_ESHAPE, "apply: input %u is %s, the function takes %s",
				               i, hop_type_text(t, have), hop_type_text(t, want));
				return false;
			}
	}
	if (hop_build_refuse(&t->b, g, s)) {           /* also what it asks of them itself */
		t->b.st = HOP_ESHAPE;
		hop_note(hop_env_of(t), t->b.loc, "in the function given to apply");
	}
	return !t->b.st;
}

static void make_apply(hop_trace *t, void *arg)
{
	struct call *c = arg;
	hop_fn *f = c->func;
	if (!check_lists(t, c))
		return;
	if (!f || f->ctx != t->root->ctx) {
		hop_trace_fail(t, HOP_EUSE, "apply: the function is missing or of another context");
		return;
	}
	if (c->nin != f->nin) {
		hop_trace_fail(t, HOP_EUSE, "apply: the function takes %d inputs, got %d", f->nin,
		               c->nin);
		return;
	}
	if (!check_room(t, (uint32_t)f->nout, c->cap))
		return;
	hop_value *h = HOP_NEWN(&t->arena, hop_value, f->g->nparam);
	hop_val *in = HOP_NEWN(&t->arena, hop_val, f->g->nparam);
	hop_val *res = HOP_NEWN(&t->arena, hop_val, f->g->nout);
	for (uint32_t i = 0; i < f->g->nparam; i++) {
		h[i] = i < (uint32_t)f->nin ? c->in[i] :
		       hop_array_here(t, f->hidden[i - (uint32_t)f->nin]);
		in[i] = t->b.st ? HOP_BAD :
		        hop_promote_cast(t, h[i], (hop_dtype)f->g->type[i]->dtype);
		if (hop_is_bad(in[i]))
			return;
		const hop_type *have = hop_typeof(&t->b, in[i]);
		if (have->rank != f->g->type[i]->rank) {
			hop_trace_fail(t, HOP_ESHAPE, "apply: input %u is %s, of rank %d it should be",
			               i, hop_type_text(t, have), f->g->type[i]->rank);
			return;
		}
	}
	hop_sizes s = solve_sizes(t, f->g, in);
	if (t->b.st || !sizes_fit(t, f->g, s, in) || hop_call_here(t, f->g, s, in, res))
		return;
	for (int i = 0; i < f->nwrote; i++) {
		int64_t slot = hop_slot_of(t, h[f->wrote[i]]);
		if (slot >= 0)
			hop_slot_write(t, (uint32_t)slot, res[f->nout + i]);
	}
	publish(t, c, (uint32_t)f->nout, res);
}

int hop_at_apply(hop_trace *t, const char *file, int line, hop_fn *f, int nin,
                 const hop_value *in, int cap, hop_value *out)
{
	struct call c = { .func = f, .nin = nin, .in = in, .cap = cap, .out = out };
	hop_enter(t, "apply", file, line, make_apply, &c);
	return c.n;
}
