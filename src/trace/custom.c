/* custom.c -- functions with their own derivative. Captured values are operands of the node
 * and constants to the derivative: what bwd needs of them travels as saved values, and
 * their cotangents are zeros. */
#include "trace/trace.h"

#include <string.h>

enum { FWD, BWD, JVP };

struct custom {
	int              nin, cap, n;
	const hop_value *in;
	hop_value       *out;
	const void      *given;        /* the caller's rule */
	hop_custom_rule  rule;
	hop_val         *val;
	hop_array      **ten;          /* eager: the inputs */
	const hop_type **type;         /* inputs */
	uint32_t         nfloat;       /* float inputs */
	const hop_type **btype, **jtype;
	uint32_t         nb, nj;       /* parameters of bwd and jvp as the user sees them */
	hop_trace       *body[3];
};

static void custom_begin(hop_trace *t, void *arg)
{
	struct custom *c = arg;
	if (!hop_trace_opts(t, c->given, &c->rule, sizeof c->rule))
		return;
	if (!c->rule.fwd || !c->rule.bwd) {
		hop_trace_fail(t, HOP_EUSE, "custom: fwd and bwd must be given");
		return;
	}
	if (c->nin < 0 || (c->nin && !c->in) || c->cap < 0 || (c->cap && !c->out)) {
		hop_trace_fail(t, HOP_EUSE, "custom: a count is negative or a list is missing");
		return;
	}
	c->val = HOP_NEWN(&t->arena, hop_val, c->nin);
	c->type = HOP_NEWN(&t->arena, const hop_type *, c->nin);
	c->jtype = HOP_NEWN(&t->arena, const hop_type *, 2 * c->nin);
	for (int i = 0; i < c->nin; i++) {
		c->val[i] = hop_value_read(t, c->in[i]);
		if (hop_is_bad(c->val[i]))
			return;
		c->type[i] = c->jtype[i] = hop_typeof(&t->b, c->val[i]);
		c->nfloat += hop_type_diff(c->type[i]);
	}
	if (t->eager) {
		hop_eager_settle(t);
		c->ten = HOP_NEWN(&t->arena, hop_array *, c->nin);
		for (int i = 0; i < c->nin && !t->b.st; i++)
			c->ten[i] = hop_eager_array(t, c->val[i]);
	}
	c->nj = (uint32_t)c->nin;
	for (int i = 0; i < c->nin; i++)
		if (hop_type_diff(c->type[i]))
			c->jtype[c->nj++] = c->type[i];
}

/* What bwd takes is known once fwd ran: saved values, cotangents of float results. */
static void bwd_types(hop_trace *t, void *arg)
{
	struct custom *c = arg;
	hop_trace *f = c->body[FWD];
	c->btype = HOP_NEWN(&t->arena, const hop_type *, f->nsave + f->nret);
	for (uint32_t i = 0; i < f->nsave; i++)
		c->btype[c->nb++] = hop_typeof(&f->b, f->save[i]);
	for (uint32_t i = 0; i < f->nret; i++)
		if (hop_type_diff(hop_typeof(&f->b, f->out[i])))
			c->btype[c->nb++] = hop_typeof(&f->b, f->out[i]);
}

/* Types, and where the user's parameters go, of: n parameters, k, m more, tangents of the
 * float ones of k. */
static hop_layout layout(hop_join *j, uint32_t n, uint32_t m, const hop_type *const *type,
                         const uint8_t *only, bool tangents)
{
	hop_arena *a = &j->t->arena;
	uint32_t np = 0;
	const hop_type **ty = HOP_NEWN(a, const hop_type *, n + m + 2 * j->nk);
	uint32_t *param = HOP_NEWN(a, uint32_t, n + m);
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
	for (uint32_t i = 0; tangents && i < j->nk; i++)
		if (hop_type_diff(j->ktype[i]))
			ty[np++] = j->ktype[i];
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

static bool seal_bwd(hop_join *j, struct custom *c, const hop_graph **out_g)
{
	hop_trace *f = c->body[FWD], *b = c->body[BWD];
	hop_layout l = layout(j, f->nsave, c->nb - f->nsave, c->btype, j->used[BWD], false);
	const hop_type **zero = HOP_NEWN(&j->t->arena, const hop_type *, j->nk);
	for (uint32_t i = 0; i < j->nk; i++)
		if (hop_type_diff(j->ktype[i]))
			zero[l.nzero++] = j->ktype[i];
	l.zero = zero;
	renumber(j, BWD);
	if (b->nret != c->nfloat) {
		j->t->b.st = hop_fail(hop_env_of(j->t), b->b.loc, HOP_ETYPE,
		                      "custom: bwd gives %u cotangents for %u float inputs",
		                      b->nret, c->nfloat);
		return false;
	}
	return !hop_join_seal(j, BWD, &l, b->nret, b->out, NULL, out_g);
}

static bool seal_fwd(hop_join *j, struct custom *c, const hop_graph **out_g)
{
	hop_trace *f = c->body[FWD];
	hop_layout l = layout(j, (uint32_t)c->nin, 0, c->type, NULL, false);
	uint32_t *extra = HOP_NEWN(&j->t->arena, uint32_t, j->nk);
	hop_val *out = HOP_NEWN(&j->t->arena, hop_val, f->nret + f->nsave);
	memcpy(out, f->out, f->nret * sizeof *out);
	if (f->nsave)
		memcpy(out + f->nret, f->save, f->nsave * sizeof *out);
	for (uint32_t i = 0; i < j->nk; i++)
		if (j->used[BWD][i])
			extra[l.nextra++] = l.k0 + i;
	l.extra = extra;
	return !hop_join_seal(j, FWD, &l, f->nret + f->nsave, out, NULL, out_g);
}

static bool seal_jvp(hop_join *j, struct custom *c, const hop_graph **out_g)
{
	hop_trace *b = c->body[JVP];
	*out_g = NULL;
	if (!c->rule.jvp)
		return true;
	uint32_t n = (uint32_t)c->nin;
	hop_layout l = layout(j, n, c->nj - n, c->jtype, NULL, true);
	return !hop_join_seal(j, JVP, &l, b->nret, b->out, NULL, out_g);
}

static void custom_end(hop_trace *t, void *arg)
{
	struct custom *c = arg;
	hop_trace *f = c->body[FWD];
	hop_join j;
	const hop_graph *g[3];
	hop_val *fo = HOP_NEWN(&t->arena, hop_val, f->nret + f->nsave);
	memcpy(fo, f->out, f->nret * sizeof *fo);
	if (f->nsave)
		memcpy(fo + f->nret, f->save, f->nsave * sizeof *fo);
	hop_outs o[3] = { { f, f->nret + f->nsave, fo },
	                  { c->body[BWD], c->body[BWD]->nret, c->body[BWD]->out } };
	if (c->rule.jvp)
		o[JVP] = (hop_outs){ c->body[JVP], c->body[JVP]->nret, c->body[JVP]->out };
	if (f->nret > (uint32_t)c->cap) {
		hop_trace_fail(t, HOP_EUSE, "custom: gives %u results, there is room for %d",
		               f->nret, c->cap);
		return;
	}
	if (!hop_join_open(&j, t, c->rule.jvp ? 3 : 2, o, 0, NULL) ||
	    !hop_join_pure(&j, "custom"))
		return;
	/* every body has the same size parameters, so all types count */
	uint32_t nt = (uint32_t)c->nin + c->nb;
	const hop_type **ty = HOP_NEWN(&t->arena, const hop_type *, nt);
	for (uint32_t i = 0; i < nt; i++)
		ty[i] = i < (uint32_t)c->nin ? c->type[i] : c->btype[i - (uint32_t)c->nin];
	hop_join_syms(&j, nt, ty);
	if (!seal_fwd(&j, c, &g[FWD]) || !seal_jvp(&j, c, &g[JVP]) || !seal_bwd(&j, c, &g[BWD]))
		return;
	uint32_t n = (uint32_t)c->nin + j.nk;
	hop_val *in = HOP_NEWN(&t->arena, hop_val, n);
	for (uint32_t i = 0; i < n; i++)
		in[i] = i < (uint32_t)c->nin ? c->val[i] : j.kval[i - (uint32_t)c->nin];
	struct hop_attr_custom a = { .nouts = f->nret, .sargs = hop_join_sargs(&j),
	                             .fwd = g[FWD], .bwd = g[BWD], .jvp = g[JVP] };
	hop_val r = hop_emit_op(&t->b, HOP_OP_custom, &a, n, in);
	if (hop_is_bad(r))
		return;
	for (uint32_t i = 0; i < f->nret; i++)
		c->out[i] = hop_value_new(t, (hop_val){ r.id + i });
	c->n = (int)f->nret;
}

/* What capture refuses, since a derivative would not see the write, is refused here too. */
static void eager_end(hop_trace *t, void *arg)
{
	struct custom *c = arg;
	if (!hop_body_pure(t, c->body[FWD], "custom"))
		return;
	c->n = hop_eager_results(t, c->body[FWD], c->cap, c->out);
}

/* Eager traces keep no tape, so only fwd runs. */
int hop_at_custom(hop_trace *t, const char *file, int line, const hop_custom_rule *rule,
                  void *user, int nin, const hop_value *in, int cap, hop_value *out)
{
	struct custom c = { .nin = nin, .in = in, .cap = cap, .out = out, .given = rule };
	t = hop_here(t);
	if (!hop_enter(t, "custom", file, line, custom_begin, &c))
		return 0;
	hop_body_args a = { .fn = c.rule.fwd, .user = user, .what = "the forward body of custom",
	                    .n = nin, .type = c.type, .in_custom = true };
	if (t->eager) {
		a.eager = true;
		a.ten = c.ten;
		c.body[FWD] = hop_body_run(t, file, line, &a);
		if (c.body[FWD])
			hop_enter(t, NULL, file, line, eager_end, &c);
		hop_body_drop(c.body[FWD]);
		return c.n;
	}
	bool ok = (c.body[FWD] = hop_body_run(t, file, line, &a)) &&
	          hop_enter(t, NULL, file, line, bwd_types, &c);
	if (ok) {
		a = (hop_body_args){ .fn = c.rule.bwd, .user = user, .n = (int)c.nb, .type = c.btype,
		                     .what = "the backward body of custom", .exempt = true };
		ok = (c.body[BWD] = hop_body_run(t, file, line, &a)) != NULL;
	}
	if (ok && c.rule.jvp) {
		a = (hop_body_args){ .fn = c.rule.jvp, .user = user, .n = (int)c.nj, .type = c.jtype,
		                     .what = "the jvp body of custom", .exempt = true };
		ok = (c.body[JVP] = hop_body_run(t, file, line, &a)) != NULL;
	}
	if (ok)
		hop_enter(t, NULL, file, line, custom_end, &c);
	for (int k = JVP; k >= FWD; k--)
		hop_body_drop(c.body[k]);
	return c.n;
}
