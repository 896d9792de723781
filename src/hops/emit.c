/* emit.c -- emitting operators with bodies: lays out operands as hops.h says. */
#include "hops/hops.h"

#include <string.h>

static hop_status spread(hop_build *b, hop_val first, uint32_t nout, hop_val *out)
{
	for (uint32_t i = 0; i < nout; i++)
		out[i] = b->st ? HOP_BAD : (hop_val){ first.id + i };
	return b->st;
}

hop_status hop_emit_call(hop_build *b, const hop_graph *body, hop_sizes sargs,
                         const hop_val *in, hop_val *out)
{
	return hop_emit_call_like(b, NULL, body, sargs, in, out);
}

hop_status hop_emit_call_like(hop_build *b, const struct hop_attr_call *like,
                              const hop_graph *body, hop_sizes sargs, const hop_val *in,
                              hop_val *out)
{
	struct hop_attr_call a = like ? *like : (struct hop_attr_call){ 0 };
	a.sargs = sargs;
	a.body = body;
	return spread(b, hop_emit_op(b, HOP_OP_call, &a, body->nparam, in), body->nout, out);
}

hop_status hop_emit_checkpoint(hop_build *b, const struct hop_attr_checkpoint *a, const hop_val *in,
                               hop_val *out)
{
	return spread(b, hop_emit_op(b, HOP_OP_checkpoint, a, a->body->nparam, in), a->body->nout, out);
}

size_t hop_call_engine(const hop_node *n, size_t *io_at, const char **out_name)
{
	hop_str to = HOP_ATTR(n, call)->to;
	size_t len = 0, end = (size_t)to.n;
	while (*io_at < end && strchr(", \t", to.s[*io_at]))
		++*io_at;
	while (*io_at + len < end && !strchr(", \t", to.s[*io_at + len]))
		len++;
	*out_name = to.s + *io_at;
	*io_at += len;
	return len;
}

bool hop_call_ours(const hop_node *n)
{
	const char *name;
	size_t at = 0, len, some = 0;
	while ((len = hop_call_engine(n, &at, &name))) {
		some = 1;
		if (len == 3 && !memcmp(name, "hop", 3))
			return true;
	}
	return !some;
}

bool hop_call_apart(const hop_node *n)
{
	const struct hop_attr_call *a = n->op == HOP_OP_call ? n->attr : NULL;
	return a && (a->no_inline || a->no_fuse || a->to.n);
}

static hop_status choice(hop_build *b, int op, const void *attr, const hop_graph *body,
                         hop_val sel, const hop_val *in, hop_val *out)
{
	hop_mark m = hop_mark_at(&b->env->tmp);
	hop_val *all = HOP_NEWN(&b->env->tmp, hop_val, body->nparam + 1);
	all[0] = sel;
	memcpy(all + 1, in, body->nparam * sizeof *in);
	hop_val v = hop_emit_op(b, op, attr, body->nparam + 1, all);
	hop_rewind(&b->env->tmp, m);
	return spread(b, v, body->nout, out);
}

hop_status hop_emit_cond(hop_build *b, const hop_graph *then, const hop_graph *else_,
                         hop_sizes sargs, hop_val pred, const hop_val *in, hop_val *out)
{
	struct hop_attr_cond a = { .sargs = sargs, .then = then, .else_ = else_ };
	return choice(b, HOP_OP_cond, &a, then, pred, in, out);
}

hop_status hop_emit_branches(hop_build *b, const hop_node *n, const hop_graph *const *body,
                             hop_sizes sargs, hop_val sel, const hop_val *in, hop_val *out)
{
	if (n->op == HOP_OP_cond) {
		struct hop_attr_cond a = { .partition = HOP_ATTR(n, cond)->partition, .sargs = sargs,
		                           .then = body[0], .else_ = body[1] };
		return choice(b, HOP_OP_cond, &a, body[0], sel, in, out);
	}
	const struct hop_attr_switch *s = HOP_ATTR(n, switch);
	struct hop_attr_switch a = { .partition = s->partition, .sargs = sargs,
	                             .branch = { s->branch.n, body } };
	return choice(b, HOP_OP_switch, &a, body[0], sel, in, out);
}

hop_status hop_emit_while(hop_build *b, const hop_while_args *w, hop_val *out)
{
	if (b->st)
		return b->st;
	struct hop_attr_while a = { .ncarry = w->ncarry, .max_trips = w->max_trips,
	                            .slots = w->slots, .lanes = w->lanes, .how = w->how, .sym = -1,
	                            .sargs = w->sargs, .test = w->test, .body = w->body };
	if (w->max_trips <= 0 && (w->out_cap || w->body->nout > w->ncarry))
		a.sym = hop_build_local(b, w->trips, NULL);
	if (w->out_cap)
		*w->out_cap = a.sym >= 0 ? hop_size_sym(b->env, (int)a.sym)
		                         : hop_size_int(w->max_trips);
	hop_mark m = hop_mark_at(&b->env->tmp);
	uint32_t n = w->ncarry + w->nconst;
	hop_val *all = HOP_NEWN(&b->env->tmp, hop_val, n);
	memcpy(all, w->carry, w->ncarry * sizeof *all);
	memcpy(all + w->ncarry, w->konst, w->nconst * sizeof *all);
	hop_val v = hop_emit_op(b, HOP_OP_while, &a, n, all);
	hop_rewind(&b->env->tmp, m);
	return spread(b, v, w->body->nout + 1, out);
}

hop_status hop_emit_assoc(hop_build *b, const hop_assoc *a, const hop_val *in, hop_val *out)
{
	struct hop_attr_reduce r = { .nx = a->nx, .length = a->length, .sargs = a->sargs,
	                             .combine = a->combine };
	struct hop_attr_associative_scan s = { .nx = a->nx, .ninit = a->ninit,
	                                       .length = a->length, .reverse = a->reverse,
	                                       .exclusive = a->exclusive, .sargs = a->sargs,
	                                       .combine = a->combine };
	uint32_t n = a->ninit + a->nx + a->nk;
	hop_val v = a->whole ? hop_emit_op(b, HOP_OP_reduce, &r, n, in)
	                     : hop_emit_op(b, HOP_OP_associative_scan, &s, n, in);
	return spread(b, v, a->nx, out);
}

hop_status hop_emit_scan(hop_build *b, const hop_scan_args *s, hop_val *out)
{
	if (b->st)
		return b->st;
	bool counted = !hop_is_zero(s->count);
	struct hop_attr_map m = { .nx = s->nx, .length = s->length, .sargs = s->sargs,
	                          .body = s->body };
	struct hop_attr_scan a = { .ncarry = s->ncarry, .nx = s->nx, .length = s->length,
	                           .reverse = s->reverse, .counted = counted,
	                           .stops = s->stops, .every = s->every, .slots = s->slots,
	                           .unroll = s->unroll,
	                           .sargs = s->sargs, .body = s->body };
	hop_mark mark = hop_mark_at(&b->env->tmp);
	uint32_t n = 0;
	hop_val *all = HOP_NEWN(&b->env->tmp, hop_val, 1 + s->ncarry + s->nx + s->nconst);
	if (counted)
		all[n++] = s->count;
	for (uint32_t i = 0; i < s->ncarry; i++)
		all[n++] = s->carry[i];
	for (uint32_t i = 0; i < s->nx; i++)
		all[n++] = s->x[i];
	for (uint32_t i = 0; i < s->nconst; i++)
		all[n++] = s->konst[i];
	hop_val v = s->unordered ? hop_emit_op(b, HOP_OP_map, &m, n, all)
	                         : hop_emit_op(b, HOP_OP_scan, &a, n, all);
	hop_rewind(&b->env->tmp, mark);
	return spread(b, v, s->body->nout, out);
}
