/* build.c -- a graph under construction: parameters, symbols, nodes with inferred types.
 * Sealing is in seal.c; the helpers over particular ops are in emit.c. */
#include "ir/rule.h"
#include "ir/sig.h"

#include <string.h>

void hop_build_open(hop_build *b, hop_env *e)
{
	memset(b, 0, sizeof *b);
	b->env = e;
	hop_arena_open(&b->arena, e);
	b->cse.a = &b->arena;
	hop_facts_init(&b->facts, e, &b->arena);
}

void hop_build_drop(hop_build *b)
{
	hop_arena_free(&b->arena, &b->env->mem);
}

static int add_sym(hop_build *b, hop_range r, const char *name)
{
	uint32_t n = b->nsym + b->nlocal;
	size_t cap = b->symcap, cap2 = b->symcap;
	b->range = hop_arena_grow(&b->arena, b->range, sizeof *b->range, n + 1, &cap);
	b->symname = hop_arena_grow(&b->arena, b->symname, sizeof *b->symname, n + 1, &cap2);
	b->symcap = cap;
	b->range[n] = r;
	b->symname[n] = name;
	return (int)n;
}

int hop_build_sym(hop_build *b, hop_range r, const char *name)
{
	HOP_ASSERT(!b->nlocal && !b->nvalue);
	int s = add_sym(b, r, name);
	b->nsym++;
	return s;
}

void hop_build_syms_of(hop_build *b, const hop_graph *g)
{
	b->copies = true;
	for (uint32_t i = 0; i < g->nsym; i++)
		hop_build_sym(b, g->range[i], g->symname[i]);
}

int hop_build_local(hop_build *b, hop_range r, const char *name)
{
	int s = add_sym(b, r, name);
	b->nlocal++;
	return s;
}

static hop_val add_value(hop_build *b, const hop_type *t, uint32_t def)
{
	size_t cap = b->valcap, cap2 = b->valcap;
	b->type = hop_arena_grow(&b->arena, b->type, sizeof *b->type, b->nvalue + 1, &cap);
	b->def = hop_arena_grow(&b->arena, b->def, sizeof *b->def, b->nvalue + 1, &cap2);
	b->valcap = cap;
	b->type[b->nvalue] = t;
	b->def[b->nvalue] = def;
	return (hop_val){ (uint32_t)b->nvalue++ };
}

hop_val hop_build_param(hop_build *b, const hop_type *t)
{
	HOP_ASSERT(b->nvalue == b->nparam);      /* parameters come first */
	b->nparam++;
	hop_facts_learn_type(&b->facts, t);
	return add_value(b, t, UINT32_MAX);
}

hop_val hop_build_leaf(hop_build *b, const hop_type *t)
{
	return add_value(b, t, UINT32_MAX);
}

void hop_infer_outs(hop_infer *f, uint32_t nout)
{
	f->nout = nout;
	f->out = HOP_NEWN(&f->b->arena, const hop_type *, nout);
}

static hop_status arity(hop_build *b, int op, uint32_t nin)
{
	int want = hop_optab[op].nin;
	if (want < 0 || (uint32_t)want == nin)
		return HOP_OK;
	return hop_fail(b->env, b->loc, HOP_ETYPE, "%s: takes %d operands, got %u",
	                hop_optab[op].name, want, nin);
}

/* No size of a result may be negative. */
static hop_status signs(hop_infer *f)
{
	for (uint32_t k = 0; k < f->nout; k++)
		for (int i = 0; i < f->out[k]->rank; i++) {
			hop_size d = f->out[k]->dim[i], zero = hop_size_int(0);
			if (hop_size_const(d) ? d.k < 0 : !hop_infer_holds(f, HOP_LE, zero, d))
				HOP_TRY(hop_infer_le(f, zero, d, hop_infer_text(f, "dimension %d of result "
				                     "%u is {1}", i, k)));
		}
	return HOP_OK;
}

bool hop_build_guard(hop_build *b, const hop_node *n)
{
	hop_graphs sub = hop_node_subs(n);
	hop_sizes sargs = hop_node_sargs(n);
	for (int i = 0; i < sub.n; i++)
		if (hop_sig_runs(n, i) && !hop_build_accepts(b, sub.v[i], sargs))
			return true;
	return false;
}

/* Every transformation recurses over bodies, so they must not nest too deep. */
static hop_status levels(hop_infer *f)
{
	hop_node n = { .op = (uint16_t)f->op, .attr = f->attr };
	hop_graphs sub = hop_node_subs(&n);
	for (int64_t i = 0; i < sub.n; i++)
		if (sub.v[i] && sub.v[i]->depth >= HOP_MAXLEVEL)
			return hop_infer_fail(f, HOP_EREFUSED, "%s: bodies are nested more than %d deep",
			                      hop_optab[f->op].name, HOP_MAXLEVEL);
	return HOP_OK;
}

/* Infer and append. attr already lives in the builder's arena. */
static hop_val append(hop_build *b, int op, void *attr, uint32_t nin, const hop_val *in)
{
	if ((b->st = arity(b, op, nin)))
		return HOP_BAD;
	const hop_type **t = HOP_NEWN(&b->arena, const hop_type *, nin);
	for (uint32_t i = 0; i < nin; i++)
		t[i] = hop_typeof(b, in[i]);
	hop_infer f = { .b = b, .env = b->env, .op = op, .attr = attr, .loc = b->loc,
	                .nin = nin, .in = t };
	if (hop_optab[op].nout >= 0)
		hop_infer_outs(&f, (uint32_t)hop_optab[op].nout);
	bool bodies = hop_optab[op].flags & HOP_F_R;
	if ((b->st = hop_optab[op].infer(&f)) || (b->st = signs(&f)) ||
	    (bodies && (b->st = levels(&f))))
		return HOP_BAD;
	b->node = hop_arena_grow(&b->arena, b->node, sizeof *b->node, b->nnode + 1, &b->nodecap);
	hop_node *n = &b->node[b->nnode];
	*n = (hop_node){ .op = (uint16_t)op, .nin = nin, .nout = f.nout, .loc = b->loc,
	                 .out0 = { (uint32_t)b->nvalue }, .attr = attr,
	                 .in = hop_arena_dup(&b->arena, in, nin * sizeof *in) };
	n->guard = bodies && hop_build_guard(b, n);
	for (uint32_t i = 0; i < f.nout; i++)
		add_value(b, f.out[i], (uint32_t)b->nnode);
	b->nnode++;
	return n->out0;
}

/* A failed builder, or a failed operand, makes nothing. */
static bool can_emit(hop_build *b, uint32_t nin, const hop_val *in)
{
	if (b->st)
		return false;
	for (uint32_t i = 0; i < nin; i++)
		HOP_ASSERT(in[i].id < b->nvalue);
	return true;
}

hop_val hop_emit_op(hop_build *b, int op, const void *attr, uint32_t nin, const hop_val *in)
{
	if (!can_emit(b, nin, in))
		return HOP_BAD;
	return append(b, op, hop_attr_copy(b->env, &b->arena, op, attr, NULL, -1), nin, in);
}

hop_val hop_emit_copy(hop_build *b, const hop_graph *g, const hop_node *n, const hop_val *in,
                      hop_size *map, int nmap)
{
	if (!can_emit(b, n->nin, in))
		return HOP_BAD;
	void *attr = hop_attr_copy(b->env, &b->arena, n->op, n->attr, map, nmap);
	int64_t *sym = hop_attr_sym(n->op, attr);
	if (sym && *sym >= 0) {
		int64_t old = *sym;
		HOP_ASSERT(old >= g->nsym && old < nmap);
		*sym = hop_build_local(b, g->range[old], g->symname[old]);
		map[old] = hop_size_sym(b->env, (int)*sym);
	}
	b->loc = n->loc;
	return append(b, n->op, attr, n->nin, in);
}

hop_status hop_emit_inline(hop_build *b, const hop_graph *g, const hop_size *sargs,
                           const hop_val *in, hop_val *out)
{
	if (b->st)
		return b->st;
	hop_arena *tmp = &b->env->tmp;
	hop_mark m = hop_mark_at(tmp);
	int nsym = (int)(g->nsym + g->nlocal);
	hop_val *map = HOP_NEWN(tmp, hop_val, g->nvalue);
	hop_size *smap = HOP_NEWN(tmp, hop_size, nsym);
	uint32_t most = 0;
	for (uint32_t i = 0; i < g->nnode; i++)
		most = g->node[i].nin > most ? g->node[i].nin : most;
	hop_val *arg = HOP_NEWN(tmp, hop_val, most);
	hop_loc keep = b->loc;

	for (int i = 0; i < nsym; i++)
		smap[i] = i < (int)g->nsym ? sargs[i] : hop_size_int(HOP_SIZE_BAD);
	memcpy(map, in, g->nparam * sizeof *map);
	hop_build_checks_of(b, g, smap, nsym);
	for (uint32_t i = 0; i < g->nnode && !b->st; i++) {
		const hop_node *n = &g->node[i];
		for (uint32_t k = 0; k < n->nin; k++)
			arg[k] = map[n->in[k].id];
		hop_val o = hop_emit_copy(b, g, n, arg, smap, nsym);
		for (uint32_t k = 0; k < n->nout; k++)
			map[n->out0.id + k] = (hop_val){ o.id + k };
		if (!b->st && hop_node_binds(n) >= 0)
			hop_build_checks_of(b, g, smap, nsym);
	}
	for (uint32_t i = 0; i < g->nout; i++)
		out[i] = b->st ? HOP_BAD : map[g->out[i].id];
	b->loc = keep;
	hop_rewind(tmp, m);
	return b->st;
}
