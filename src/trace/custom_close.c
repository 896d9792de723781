/* custom_close.c -- the bodies of a custom gradient as graphs, and its node. Captured values are
 * operands of the node; what bwd needs of them travels as saved values. To the derivative they are
 * constants, with cotangents of zero, unless bwd gives them one. */
#include "trace/custom.h"

#include "hops/custom.h"

/* Where the bodies stand in the join, and what each is asked for. */
struct close {
	hop_custom_call *c;
	hop_join         j;
	int              at[HOP_C_BODIES];         /* -1 = there is none */
	hop_outs         o[HOP_C_BODIES];
	uint32_t         nw;                       /* symbols of all bodies but batch */
};

/* ---- results ---- */

/* What a rule left out is zero. */
static bool fill_zeros(hop_trace *t, hop_trace *body, uint32_t n, const hop_type *const *type,
                       const char *text)
{
	if (body->nret != n) {
		t->b.st = hop_fail(hop_env_of(t), body->b.loc, HOP_ETYPE, text, body->nret, n);
		return false;
	}
	for (uint32_t i = 0; i < n; i++)
		if (hop_is_zero(body->out[i]))
			body->out[i] = hop_emit_zeros(&body->b, type[i]);
	if (body->b.st)
		t->b.st = body->b.st;
	return !t->b.st;
}

static const hop_type **floats(hop_trace *t, const hop_custom_call *c)
{
	const hop_type **ty = HOP_NEWN(&t->arena, const hop_type *, c->nin);
	uint32_t n = 0;
	for (int i = 0; i < c->nin; i++)
		if (hop_type_diff(c->type[i]))
			ty[n++] = c->type[i];
	return ty;
}

/* What is said of one value by two handles is said once. */
static void merge_told(hop_trace *t, hop_trace *body)
{
	hop_val *v = HOP_NEWN(&t->arena, hop_val, body->ntold);
	for (uint32_t i = 0; i < body->ntold; i++) {
		v[i] = hop_value_read(t, body->told[i].of);
		for (uint32_t k = 0; k < i; k++)
			if (hop_same(v[i], v[k]) && !hop_is_zero(body->told[i].d)) {
				body->told[k].d = hop_emit_acc(&body->b, body->told[k].d, body->told[i].d);
				body->told[i].d = HOP_ZERO;
				break;
			}
	}
}

/* Values of a body's draft: what it returned, more, and the captured ones it spoke of. */
static hop_outs outs_of(hop_trace *t, hop_trace *body, uint32_t n, const hop_val *v, uint32_t nmore,
                        const hop_val *more)
{
	hop_val *all = HOP_NEWN(&t->arena, hop_val, n + nmore + 2 * body->ntold);
	uint32_t k = 0;
	for (uint32_t i = 0; i < n; i++)
		all[k++] = v[i];
	for (uint32_t i = 0; i < nmore; i++)
		all[k++] = more[i];
	for (uint32_t i = 0; i < body->ntold; i++)
		all[k++] = body->told[i].at;
	for (uint32_t i = 0; i < body->ntold && body->in_rule == HOP_IN_BWD; i++)
		if (!hop_is_zero(body->told[i].d))
			all[k++] = body->told[i].d;
	return (hop_outs){ body, k, all };
}

static bool collect(hop_trace *t, struct close *s)
{
	hop_custom_call *c = s->c;
	hop_trace *f = c->body[HOP_C_FWD], *b = c->body[HOP_C_BWD], *d = c->body[HOP_C_JVP];
	const hop_type **rt = HOP_NEWN(&t->arena, const hop_type *, c->nres);
	uint32_t nd = 0;
	for (int k = 0; k < HOP_C_BODIES; k++)
		if (c->body[k] && !hop_body_pure(t, c->body[k], "custom"))
			return false;
	for (uint32_t k = 0; k < c->nres; k++)
		if (c->diff[k])
			rt[nd++] = hop_typeof(&f->b, c->res[k]);
	if (b && !fill_zeros(t, b, c->nfloat, floats(t, c),
	                     "custom: bwd gives %u cotangents for %u float inputs"))
		return false;
	if (d && !fill_zeros(t, d, nd, rt, "custom: jvp gives %u tangents for %u float results"))
		return false;
	if (b)
		merge_told(t, b);
	int n = 0;
	for (int k = 0; k < HOP_C_BODIES; k++) {
		hop_trace *body = c->body[k];
		s->at[k] = body ? n : -1;
		if (!body)
			continue;
		s->o[n++] = k == HOP_C_FWD ? outs_of(t, f, c->nres, c->res, f->nsave, f->save)
		                           : outs_of(t, body, body->nret, body->out, 0, NULL);
	}
	return hop_join_open(&s->j, t, n, s->o, 0, NULL);
}

static bool used(const struct close *s, int body, uint32_t k)
{
	return s->at[body] >= 0 && s->j.used[s->at[body]][k];
}

/* A batch body sees lanes of inputs only: what is captured may differ between lanes, too. */
static bool closed_batch(hop_trace *t, const struct close *s)
{
	for (uint32_t k = 0; s->at[HOP_C_BATCH] >= 0 && k < s->j.nk && !t->b.st; k++)
		if (used(s, HOP_C_BATCH, k) || used(s, HOP_C_FWD, k))
			hop_trace_fail(t, HOP_EREFUSED, "custom: %s captures a value from outside, and there "
			               "is a batch body, which has no lanes of it: pass it as an input",
			               used(s, HOP_C_BATCH, k) ? "batch" : "fwd");
	return !t->b.st;
}

/* Every body has the same size parameters, so all types count; the number of lanes is the last, and
 * of the batch body only. */
static void close_syms(hop_trace *t, struct close *s)
{
	hop_custom_call *c = s->c;
	uint32_t nt = (uint32_t)c->nin + c->nb;
	const hop_type **ty = HOP_NEWN(&t->arena, const hop_type *, nt);
	for (uint32_t i = 0; i < nt; i++)
		ty[i] = i < (uint32_t)c->nin ? c->type[i] : c->btype[i - (uint32_t)c->nin];
	hop_join *j = &s->j;
	hop_join_syms(j, nt, ty);
	s->nw = j->nsym;
	if (s->at[HOP_C_BATCH] < 0)
		return;
	uint32_t n = 0;
	for (uint32_t i = 0; i < j->nsym; i++)
		if (j->sym[i] != c->lanes)
			j->sym[n++] = j->sym[i];
	j->sym[n] = c->lanes;
	s->nw = n;
	for (uint32_t i = 0; i <= n; i++)
		j->newsym[j->sym[i]] = (int)i;
}

/* ---- graphs ---- */

/* Types, and where the user's parameters go, of: n parameters, k, m more, tangents of the
 * float ones of k. */
static hop_layout layout(hop_join *j, uint32_t n, uint32_t m, const hop_type *const *type,
                         const uint8_t *only, uint32_t more)
{
	hop_arena *a = &j->t->arena;
	uint32_t np = 0;
	const hop_type **ty = HOP_NEWN(a, const hop_type *, n + m + 2 * j->nk);
	uint32_t *param = HOP_NEWN(a, uint32_t, n + m + more);
	for (uint32_t i = 0; i < n; i++) {
		param[i] = np;
		ty[np++] = type[i];
	}
	uint32_t k0 = np;
	for (uint32_t i = 0; i < j->nk; i++)
		if (!only || only[i])
			ty[np++] = j->ktype[i];
	for (uint32_t i = n; i < n + m; i++) {
		param[i] = np;
		ty[np++] = type[i];
	}
	return (hop_layout){ .nparam = np, .type = ty, .param = param, .k0 = k0 };
}

/* bwd gets only the captured values it needs: number them anew. */
static void renumber(hop_join *j, int body)
{
	uint32_t *to = HOP_NEWN(&j->t->arena, uint32_t, j->nk), n = 0;
	for (uint32_t i = 0; i < j->nk; i++)
		if (j->used[body][i])
			to[i] = n++;
	for (size_t i = 0; i < j->body[body]->nleaf; i++)
		if (j->nk)
			j->place[body][i] = to[j->place[body][i]];
}

/* The number among the captured of a value that a rule spoke of. */
static uint32_t place_of(const hop_join *j, int body, hop_val leaf)
{
	const hop_trace *b = j->body[body];
	for (size_t i = 0; i < b->nleaf; i++)
		if (hop_same(b->leaf[i].val, leaf))
			return j->place[body][i];
	HOP_ASSERT(!"a captured value that is no leaf");
	return 0;
}

/* Cotangents of captured floats: those that bwd gave, zeros of the others. */
static uint32_t told_cotangents(struct close *s, hop_layout *l, hop_val *out)
{
	hop_join *j = &s->j;
	hop_trace *b = s->c->body[HOP_C_BWD];
	int at = s->at[HOP_C_BWD];
	const hop_type **zero = HOP_NEWN(&j->t->arena, const hop_type *, j->nk);
	uint32_t n = 0;
	for (uint32_t k = 0; k < j->nk; k++) {
		if (!hop_type_diff(j->ktype[k]))
			continue;
		hop_val d = HOP_ZERO;
		for (uint32_t i = 0; i < b->ntold; i++)
			if (!hop_is_zero(b->told[i].d) && place_of(j, at, b->told[i].at) == k)
				d = b->told[i].d;
		zero[l->nzero++] = hop_is_zero(d) ? j->ktype[k] : NULL;
		if (!hop_is_zero(d))
			out[n++] = d;
	}
	l->zero = zero;
	return n;
}

static bool seal_bwd(struct close *s, const hop_graph **out_g)
{
	hop_custom_call *c = s->c;
	hop_join *j = &s->j;
	hop_trace *f = c->body[HOP_C_FWD], *b = c->body[HOP_C_BWD];
	int at = s->at[HOP_C_BWD];
	if (at < 0)
		return true;
	hop_layout l = layout(j, f->nsave, c->nb - f->nsave, c->btype, j->used[at], 0);
	hop_val *out = HOP_NEWN(&j->t->arena, hop_val, b->nret + j->nk);
	for (uint32_t i = 0; i < b->nret; i++)
		out[i] = b->out[i];
	told_cotangents(s, &l, out + b->nret);
	renumber(j, at);
	return !hop_join_seal(j, at, &l, b->nret, out, NULL, out_g);
}

static bool seal_fwd(struct close *s, const hop_graph **out_g)
{
	hop_custom_call *c = s->c;
	hop_join *j = &s->j;
	hop_layout l = layout(j, (uint32_t)c->nin, 0, c->type, NULL, 0);
	uint32_t *extra = HOP_NEWN(&j->t->arena, uint32_t, j->nk);
	for (uint32_t i = 0; i < j->nk; i++)
		if (used(s, HOP_C_BWD, i))
			extra[l.nextra++] = l.k0 + i;
	l.extra = extra;
	return !hop_join_seal(j, 0, &l, s->o[0].n, s->o[0].v, NULL, out_g);
}

/* Tangents of captured floats come last; those that jvp asked for are parameters of its draft. */
static bool seal_jvp(struct close *s, const hop_graph **out_g)
{
	hop_custom_call *c = s->c;
	hop_join *j = &s->j;
	hop_trace *b = c->body[HOP_C_JVP];
	int at = s->at[HOP_C_JVP];
	uint32_t n = (uint32_t)c->nin;
	if (at < 0)
		return true;
	hop_layout l = layout(j, n, c->nj - n, c->jtype, NULL, b->ntold);
	const hop_type **ty = (const hop_type **)(uintptr_t)l.type;
	uint32_t *param = (uint32_t *)(uintptr_t)l.param, told = c->nj;
	uint32_t *tangent = HOP_NEWN(&j->t->arena, uint32_t, j->nk);
	for (uint32_t k = 0; k < j->nk; k++)
		if (hop_type_diff(j->ktype[k])) {
			tangent[k] = l.nparam;
			ty[l.nparam++] = j->ktype[k];
		}
	for (uint32_t i = 0; i < b->ntold; i++)
		if (!hop_is_zero(b->told[i].d))
			param[told++] = tangent[place_of(j, at, b->told[i].at)];
	return !hop_join_seal(j, at, &l, b->nret, b->out, NULL, out_g);
}

/* Without bwd the derivative in reverse is jvp turned round, which must be possible. */
static bool linear(hop_trace *t, const struct close *s, const hop_graph *jvp)
{
	if (!s->c->rule.bwd)
		t->b.st = hop_custom_linear(hop_env_of(t), t->b.loc, jvp, (uint32_t)s->c->nin + s->j.nk);
	return !t->b.st;
}

/* Inputs and captured values with lanes, then whether each has its own. */
static bool seal_batch(struct close *s, const hop_graph **out_g)
{
	hop_custom_call *c = s->c;
	hop_join *j = &s->j;
	hop_trace *b = c->body[HOP_C_BATCH];
	hop_env *e = hop_env_of(j->t);
	int at = s->at[HOP_C_BATCH];
	uint32_t n = (uint32_t)c->nin, np = 0;
	if (at < 0)
		return true;
	const hop_type **ty = HOP_NEWN(&j->t->arena, const hop_type *, 2 * (n + j->nk));
	uint32_t *param = HOP_NEWN(&j->t->arena, uint32_t, 2 * n);
	for (uint32_t i = 0; i < n; i++) {
		param[i] = np;
		ty[np++] = c->ltype[i];
	}
	for (uint32_t k = 0; k < j->nk; k++)
		ty[np++] = hop_type_prepend(e, j->ktype[k], hop_size_sym(e, c->lanes));
	for (uint32_t i = 0; i < n; i++)
		param[n + i] = np + i;
	for (uint32_t i = 0; i < n + j->nk; i++)
		ty[np++] = hop_type_scalar(e, HOP_bool);
	hop_layout l = { .nparam = np, .type = ty, .param = param };
	if (b->nret != c->nres) {
		j->t->b.st = hop_fail(e, b->b.loc, HOP_ETYPE, "custom: batch gives %u values for %u results "
		                      "of fwd, written inputs among them", b->nret, c->nres);
		return false;
	}
	j->nsym = s->nw + 1;
	bool ok = !hop_join_seal(j, at, &l, b->nret, b->out, NULL, out_g);
	j->nsym = s->nw;
	return ok;
}

/* ---- the node ---- */

static void publish(hop_trace *t, hop_custom_call *c, hop_val r)
{
	uint32_t nret = c->body[HOP_C_FWD]->nret;
	for (uint32_t i = 0; i < nret; i++)
		c->out[i] = hop_value_new(t, (hop_val){ r.id + i });
	for (int i = 0; i < c->nin && !t->b.st; i++)
		if (c->wrote[i])
			hop_slot_write(t, (uint32_t)hop_slot_of(t, c->in[i]),
			               (hop_val){ r.id + c->wrote[i] - 1 });
	c->n = t->b.st ? 0 : (int)nret;
}

void hop_custom_close(hop_trace *t, void *arg)
{
	hop_custom_call *c = arg;
	struct close s = { .c = c };
	const hop_graph *g[HOP_C_BODIES] = { NULL };
	uint32_t nret = c->body[HOP_C_FWD]->nret;
	if (nret > (uint32_t)c->cap) {
		hop_trace_fail(t, HOP_EUSE, "custom: gives %u results, there is room for %d", nret, c->cap);
		return;
	}
	if (!collect(t, &s) || !closed_batch(t, &s))
		return;
	close_syms(t, &s);
	s.j.nsym = s.nw;
	if (!seal_fwd(&s, &g[HOP_C_FWD]) || !seal_jvp(&s, &g[HOP_C_JVP]) ||
	    !seal_bwd(&s, &g[HOP_C_BWD]) || !seal_batch(&s, &g[HOP_C_BATCH]) ||
	    !linear(t, &s, g[HOP_C_JVP]))
		return;
	uint32_t n = (uint32_t)c->nin + s.j.nk;
	hop_val *in = HOP_NEWN(&t->arena, hop_val, n);
	for (uint32_t i = 0; i < n; i++)
		in[i] = i < (uint32_t)c->nin ? c->val[i] : s.j.kval[i - (uint32_t)c->nin];
	int64_t *fixed = HOP_NEWN(&t->arena, int64_t, c->nres);
	struct hop_attr_custom a = { .nouts = c->nres, .once = c->rule.once,
	                             .lanewise = c->rule.lanewise, .sargs = hop_join_sargs(&s.j),
	                             .fwd = g[HOP_C_FWD], .bwd = g[HOP_C_BWD], .jvp = g[HOP_C_JVP],
	                             .batch = g[HOP_C_BATCH] };
	for (uint32_t k = 0; k < c->nres; k++)
		if (!c->diff[k] && hop_type_diff(hop_graph_out_type(a.fwd, k)))
			fixed[a.nondiff.n++] = k;
	a.nondiff.v = fixed;
	hop_val r = hop_emit_op(&t->b, HOP_OP_custom, &a, n, in);
	if (!hop_is_bad(r))
		publish(t, c, r);
}
