/* hook.c -- hook: a value whose gradient goes through a body on its way back. Runs as nothing; what
 * capture makes of hop_hook is in trace/hook.c. */
#include "hops/batch.h"
#include "loop/lower.h"

#include <string.h>

/* How many names a list has: commas are between them. */
static uint32_t names(hop_str s)
{
	uint32_t n = s.n > 0;
	for (int64_t i = 0; i < s.n; i++)
		n += s.s[i] == ',';
	return n;
}

static hop_status check_told(hop_infer *f, const struct hop_attr_hook *a)
{
	uint32_t n = names(a->tells);
	if (a->body->nout != 1 + n)
		return hop_infer_fail(f, HOP_ETYPE, "hook: the body gives %u results: the gradient, and one "
		                      "for each of %u names it should be", a->body->nout, n);
	if (a->ntold && a->ntold != n)
		return hop_infer_fail(f, HOP_EVALUE, "hook: %lld values are told, there are %u names",
		                      (long long)a->ntold, n);
	for (uint32_t k = 0; k < a->ntold; k++) {
		const hop_type *t;
		HOP_TRY(hop_body_gives(f, "body", a->body, a->sargs, 1 + k, &t));
		HOP_TRY(hop_types_agree(f, f->in[1 + k], t, "told value", k, "the operands", "body"));
	}
	return HOP_OK;
}

/* hook x operands {tells body} -- x; its gradient is what body makes of it and the operands */
hop_status hop_infer_hook(hop_infer *f)
{
	const struct hop_attr_hook *a = f->attr;
	const hop_type *g;
	if (!f->nin || a->ntold < 0 || a->ntold >= f->nin)
		return hop_infer_fail(f, HOP_EVALUE, "hook: %u operands, of which one has the hook and %lld "
		                      "are told", f->nin, (long long)a->ntold);
	if (!hop_type_diff(f->in[0]))
		return hop_infer_fail(f, HOP_ENODIFF, "hook: %s is no float: it has no gradient",
		                      hop_dtype_name((hop_dtype)f->in[0]->dtype));
	uint32_t n = f->nin - (uint32_t)a->ntold;
	const hop_type **t = HOP_NEWN(&f->b->arena, const hop_type *, n);
	t[0] = f->in[0];
	memcpy(t + 1, f->in + 1 + a->ntold, (n - 1) * sizeof *t);
	HOP_TRY(hop_body_takes(f, "body", a->body, a->sargs, n, t));
	HOP_TRY(check_told(f, a));
	HOP_TRY(hop_body_gives(f, "body", a->body, a->sargs, 0, &g));
	HOP_TRY(hop_types_agree(f, f->in[0], g, "the gradient of operand", 0, "the operands", "body"));
	f->out[0] = f->in[0];
	return HOP_OK;
}

hop_status hop_eval_hook(hop_interp *p, const hop_node *n, hop_array *const *in, hop_array **out)
{
	(void)p, (void)n;
	out[0] = hop_array_retain(in[0]);
	return HOP_OK;
}

/* The first operand alone: that the body looks at another is no derivative of the value. */
void hop_active_hook(hop_env *e, const hop_node *n, const bool *in, bool *out)
{
	(void)e, (void)n;
	out[0] = in[0];
}

static hop_status emit_again(hop_build *b, hop_rule *r)
{
	r->out[0] = hop_emit_op(b, HOP_OP_hook, hop_rule_attr(b, r), r->n->nin, r->in);
	return b->st;
}

/* Tangents are not seen; the value keeps its hook for a reverse derivative of the tangent. */
hop_status hop_jvp_hook(hop_build *b, hop_rule *r)
{
	HOP_TRY(emit_again(b, r));
	r->dout[0] = r->din[0];
	return HOP_OK;
}

/* The value keeps its hook: it is called again for gradients of gradients. */
hop_status hop_fwd_hook(hop_build *b, hop_rule *r)
{
	return emit_again(b, r);
}

hop_status hop_bwd_hook(hop_build *b, hop_rule *r)
{
	const struct hop_attr_hook *a = HOP_ATTR(r->n, hook);
	uint32_t nt = (uint32_t)a->ntold;
	hop_val *in = HOP_NEWN(&b->env->tmp, hop_val, a->body->nparam);
	hop_val *out = HOP_NEWN(&b->env->tmp, hop_val, a->body->nout);
	in[0] = hop_emit_as(b, r->dout[0], hop_typeof(b, r->in[0]));
	memcpy(in + 1, r->in + 1 + nt, (r->n->nin - 1 - nt) * sizeof *in);
	if (b->st)
		return b->st;
	HOP_TRY(hop_emit_call(b, a->body, hop_rule_sargs(b, r), in, out));
	for (uint32_t k = 0; k <= nt; k++)
		r->din[k] = out[k];
	return HOP_OK;
}

/* ---- batching ---- */

/* The node on body h, which lanes made of its own; masked: the lanes are its last operand. */
static hop_status emit_lanes(hop_build *b, hop_rule *r, const hop_graph *h, bool masked, bool all)
{
	const struct hop_attr_hook *a = HOP_ATTR(r->n, hook);
	struct hop_attr_hook c = { .ntold = a->ntold, .tells = a->tells, .body = h,
	                           .sargs = hop_batch_sargs(b, r) };
	uint32_t n = r->n->nin;
	hop_val *in = HOP_NEWN(&b->env->tmp, hop_val, n + 1);
	memcpy(in, r->in, n * sizeof *in);
	for (uint32_t k = 0; all && k <= a->ntold; k++)
		in[k] = hop_batch_solid(b, r, in[k], r->bin[k]);
	in[n] = r->mask;
	r->out[0] = hop_emit_op(b, HOP_OP_hook, &c, n + masked, in);
	r->bout[0] = all;
	return b->st;
}

/* Each lane has its own hook on its own gradient, if the value or what the body looks at differs
 * between lanes. What all lanes share has one: it sees the sum over the lanes. */
hop_status hop_batch_hook(hop_build *b, hop_rule *r)
{
	const struct hop_attr_hook *a = HOP_ATTR(r->n, hook);
	const hop_graph *g = a->body, *h;
	hop_env *e = b->env;
	bool masked = !hop_is_zero(r->mask) && hop_ad_needs_mask(g), any = false, some = false;
	bool *bin = HOP_NEWN(&e->tmp, bool, g->nparam), *bo = HOP_NEWN(&e->tmp, bool, g->nout);
	bool *force = HOP_NEWN(&e->tmp, bool, g->nout);
	for (uint32_t i = 0; i < r->n->nin; i++)
		any |= r->bin[i];
	memcpy(bin + 1, r->bin + 1 + a->ntold, (g->nparam - 1) * sizeof *bin);
	if (!any) {
		HOP_TRY(hop_batch_body(b, r, g, masked, bin, NULL, &h, bo));
		for (uint32_t k = 0; k < g->nout; k++)
			some |= bo[k];
		if (!some)
			return emit_lanes(b, r, h, masked, false);
	}
	bin[0] = true;
	memset(force, 1, g->nout);
	HOP_TRY(hop_batch_body(b, r, g, masked, bin, force, &h, bo));
	return emit_lanes(b, r, h, masked, true);
}

/* ---- running ---- */

/* Compilation has dropped hooks (opt/unhook.c); what is lowered without it calls an identity. */
hop_status hop_lower_hook(hop_lower *l, const hop_node *n)
{
	const struct hop_attr_hook *a = HOP_ATTR(n, hook);
	const hop_graph *g = a->body;
	hop_build b;
	hop_graph *same;
	hop_body_open(&b, l->env, g);
	hop_val x = hop_build_param(&b, g->type[0]);
	for (uint32_t k = 0; k < a->ntold; k++)
		hop_build_param(&b, hop_graph_out_type(g, 1 + k));
	for (uint32_t i = 1; i < g->nparam; i++)
		hop_build_param(&b, g->type[i]);
	HOP_TRY(hop_seal(&b, 1, &x, NULL, &same));
	return hop_lower_call_body(l, n, same);
}
