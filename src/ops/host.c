/* host.c -- host and host_pure: functions of the host, called by name with operands and results in
 * memory. What one of them changes in place is a further result, which begins as the operand. One row
 * is an effect, the other is not; whose function it is says which. Neither is ever run a second time
 * for a derivative, and neither has one: capture wraps it in a custom node if its maker gave it a
 * rule. */
#include "data/foreign.h"
#include "ops/ops.h"

#include <string.h>

/* The rows have the same attributes, so that one struct reads both. */
_Static_assert(sizeof(struct hop_attr_host) == sizeof(struct hop_attr_host_pure),
               "host and host_pure are read alike");

static hop_status check_writes(hop_infer *f, hop_ints w)
{
	for (int64_t i = 0; i < w.n; i++) {
		if (w.v[i] < 0 || w.v[i] >= f->nin)
			return hop_infer_fail(f, HOP_EVALUE, "%s: writes operand %lld, but there are %u",
			                      hop_opname(f), (long long)w.v[i], f->nin);
		for (int64_t k = 0; k < i; k++)
			if (w.v[k] == w.v[i])
				return hop_infer_fail(f, HOP_EVALUE, "%s: writes operand %lld twice", hop_opname(f),
				                      (long long)w.v[i]);
	}
	return HOP_OK;
}

/* host x... {fn types writes} -- call a function of the host, in order; it gives results of these
 * types, then what it makes of the operands that it writes
 * host_pure x... {fn types writes} -- the same for one that changes nothing else: it may be left
 * out */
hop_status hop_infer_host(hop_infer *f)
{
	const struct hop_attr_host *a = f->attr;
	const hop_size *dim = a->types.dim;
	if (!a->fn.n)
		return hop_infer_fail(f, HOP_EVALUE, "%s: the function has no name", hop_opname(f));
	HOP_TRY(check_writes(f, a->writes));
	hop_infer_outs(f, (uint32_t)(a->types.n + a->writes.n));
	for (int64_t k = 0; k < a->writes.n; k++)
		f->out[a->types.n + k] = f->in[a->writes.v[k]];
	for (uint32_t k = 0; k < a->types.n; k++) {
		hop_sizes dims = { a->types.head[2 * k + 1], dim };
		HOP_TRY(hop_infer_dims(f, (hop_dtype)a->types.head[2 * k], NULL, dims, &f->out[k]));
		dim += dims.n;
	}
	return HOP_OK;
}

const hop_foreign *hop_host_of(hop_env *e, const hop_node *n)
{
	hop_str s = HOP_ATTR(n, host)->fn;
	const hop_foreign *f = hop_foreign_here(e, s.s, (size_t)s.n);
	if (!f)
		hop_fail(e, n->loc, HOP_EUSE, "%s: no function `%.*s` is known to this context: hop_host_add "
		         "makes it known", hop_optab[n->op].name, (int)s.n, s.s);
	return f;
}

static hop_host_arg tensor(const hop_array *a)
{
	return (hop_host_arg){ a->dtype, a->rank, a->dim, a->data };
}

hop_status hop_eval_host(hop_interp *p, const hop_node *n, hop_array *const *in, hop_array **out)
{
	const hop_foreign *f = hop_host_of(p->env, n);
	if (!f)
		return p->env->diag.st;
	hop_mark m = hop_mark_at(&p->env->tmp);
	hop_host_arg *t = HOP_NEWN(&p->env->tmp, hop_host_arg, n->nin + n->nout);
	for (uint32_t i = 0; i < n->nin; i++)
		t[i] = tensor(in[i]);
	for (uint32_t k = 0; k < n->nout; k++)
		t[n->nin + k] = tensor(out[k]);
	hop_ints w = hop_node_writes(n);
	uint32_t nout = n->nout - (uint32_t)w.n;
	for (int64_t k = 0; k < w.n; k++) {
		hop_array *to = out[nout + k];
		if (to->bytes)
			memcpy(to->data, in[w.v[k]]->data, to->bytes);
		t[w.v[k]] = tensor(to);
	}
	hop_status st = hop_foreign_run(p->env, f, n->loc, (int)n->nin, t, (int)nout, t + n->nin);
	hop_rewind(&p->env->tmp, m);
	return st;
}

static hop_status refuse(hop_build *b, const hop_rule *r, const char *what)
{
	hop_str s = HOP_ATTR(r->n, host)->fn;
	return hop_fail(b->env, r->n->loc, HOP_ENODIFF, "%s: the host function `%.*s` has no %s: give it "
	                "one, or stop the gradient at its inputs", hop_optab[r->n->op].name, (int)s.n, s.s,
	                what);
}

/* What gives no float has no derivative to lack. */
hop_status hop_jvp_host(hop_build *b, hop_rule *r)
{
	for (uint32_t k = 0; k < r->n->nout; k++)
		if (hop_type_diff(r->type[r->n->out0.id + k]))
			return refuse(b, r, "derivative");
	return HOP_OK;
}

hop_status hop_vjp_host(hop_build *b, hop_rule *r)
{
	return refuse(b, r, "gradient");
}
