/* jit_make.c -- the captures of a jit: from what an entry says of its calls to a function with code,
 * and once more to see whether the body still records the same. Which calls an entry serves is
 * jit_key.c's. */
#include "driver/jit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/direct.h"
#include "hop/transform.h"

/* ---- what the body is given ---- */

enum { BEYOND = 16 };              /* so many behind a body's inputs were never set, as in capture */

/* Working memory of one capture, a block. */
struct plan {
	size_t     bytes;
	int        nin;                /* inputs of the body */
	hop_spec  *spec;               /* [nin]; more while transforms are being taken off */
	int64_t   *lanes;              /* [nstep] of VMAP: how many, -1 = a symbol */
	hop_value *all;                /* the body's inputs, where some are one value */
	char       sym[HOP_JIT_SYMS][16];
};

static struct plan *plan_new(hop_jit *j, const hop_jit_entry *e)
{
	size_t nin = (size_t)e->nin, nstep = (size_t)j->nstep;
	size_t bytes = sizeof(struct plan) + nin * sizeof(hop_spec) + nstep * sizeof(int64_t) +
	               (nin + BEYOND) * sizeof(hop_value);
	struct plan *p = hop_raw_try(&j->mem, bytes);
	if (!p) {
		hop_ctx_set_message(j->ctx, &(hop_diag){ .st = HOP_ENOMEM });
		return NULL;
	}
	memset(p, 0, bytes);
	p->bytes = bytes;
	p->spec = (hop_spec *)(p + 1);
	p->lanes = (int64_t *)(p->spec + nin);
	p->all = (hop_value *)(p->lanes + nstep);
	return p;
}

/* The inputs of f. */
static void call_specs(const hop_jit_entry *e, struct plan *p)
{
	const int64_t *d = e->dim;
	for (int s = 0; s < e->nsym; s++)
		snprintf(p->sym[s], sizeof p->sym[s], "s%d", s);
	p->nin = 0;
	for (int i = 0; i < e->nin; d += e->rank[i++]) {
		if (e->root[i] != i)
			continue;
		hop_spec *t = &p->spec[p->nin++];
		*t = hop_spec_of(e->dtype[i], e->rank[i], NULL);
		for (int k = 0; k < e->rank[i]; k++) {
			t->dim[k] = d[k] < 0 ? 2 : d[k];
			t->sym[k] = d[k] < 0 ? p->sym[~d[k]] : NULL;
		}
	}
}

/* One lane of the batched inputs. Their number is a symbol unless one of them says it. */
static hop_status one_lane(hop_jit *j, const hop_jit_step *s, struct plan *p, int64_t *out_n)
{
	char name[HOP_JIT_NAME];
	*out_n = -1;
	for (int i = 0; i < s->nin; i++) {
		hop_spec *t = &p->spec[i];
		int axis = s->at[i];
		if (axis < 0)
			continue;
		if (!t->rank)
			return hop_jit_fail(j, HOP_ESHAPE, "argument %s is batched and has no axis for the "
			                    "lanes", hop_jit_arg_name(j, i, name));
		if (axis >= t->rank)
			return hop_jit_fail(j, HOP_ESHAPE, "argument %s has %d axes, lanes are on axis %d of it",
			                    hop_jit_arg_name(j, i, name), t->rank, axis);
		if (!t->sym[axis])
			*out_n = t->dim[axis];
		size_t after = (size_t)(--t->rank - axis);
		memmove(t->dim + axis, t->dim + axis + 1, after * sizeof *t->dim);
		memmove(t->sym + axis, t->sym + axis + 1, after * sizeof *t->sym);
	}
	return HOP_OK;
}

/* More arguments, one for each in wrt. */
static bool adds(enum hop_jit_kind k)
{
	return k == HOP_JIT_JVP || k == HOP_JIT_HVP || k == HOP_JIT_VHP;
}

/* From the inputs of f to those of the body: transforms are taken off, outermost first. */
static hop_status body_specs(hop_jit *j, const hop_jit_entry *e, struct plan *p)
{
	call_specs(e, p);
	for (int i = j->nstep - 1; i >= 0; i--) {
		const hop_jit_step *s = j->step[i];
		int nin = adds(s->kind) ? p->nin - s->n
		        : s->kind == HOP_JIT_VJP || s->kind == HOP_JIT_VMAP ? s->nin : p->nin;
		if (s->kind == HOP_JIT_VMAP && nin != p->nin)
			return hop_jit_fail(j, HOP_EUSE, "the batched function takes %d arguments, got %d", nin,
			                    p->nin);
		if (nin < 0 || nin > p->nin)
			return hop_jit_fail(j, HOP_EUSE, "got %d arguments: those of the function come first, "
			                    "then %s", p->nin,
			                    s->kind == HOP_JIT_JVP ? "a tangent for each in wrt" :
			                    adds(s->kind) ? "a vector for each in wrt" :
			                    "a cotangent for each float result");
		p->nin = nin;
		if (s->kind == HOP_JIT_VMAP)
			HOP_TRY(one_lane(j, s, p, &p->lanes[i]));
	}
	int got = e->merged ? e->nin : p->nin;
	if (j->o.args && got != hop_tree_count(j->o.args))
		return hop_jit_fail(j, HOP_EUSE, "the body has names for %d arguments, got %d",
		                    hop_tree_count(j->o.args), got);
	return HOP_OK;
}

/* ---- capturing ---- */

struct merged {
	const hop_jit       *j;
	const hop_jit_entry *e;
	hop_value           *all;
};

/* The body where some arguments are one value. */
static void call_merged(hop_trace *t, const hop_value *in, void *user)
{
	const struct merged *m = user;
	for (int p = 0; p < m->e->nparam; p++)
		for (int i = 0; i < m->e->nin; i++)
			if (m->e->root[i] == m->e->param[p])
				m->all[i] = in[p];
	m->j->body(t, m->all, m->j->user);
}

static hop_status capture(hop_jit *j, const hop_jit_entry *e, struct plan *p, hop_fn **out_f)
{
	struct merged m = { .j = j, .e = e, .all = p->all };
	HOP_TRY(body_specs(j, e, p));
	if (e->merged)
		return hop_capture(j->ctx, call_merged, &m, p->nin, p->spec, out_f);
	return hop_capture(j->ctx, j->body, j->user, p->nin, p->spec, out_f);
}

static hop_status apply(const hop_jit_step *s, int64_t lanes, hop_fn *f, hop_fn **out_f)
{
	hop_jac_opts jac = { .size = sizeof jac, .results = s->nout, .chunk = s->chunk };
	hop_vmap_opts vmap = { .size = sizeof vmap, .nin = s->nin, .nout = s->nout, .in = s->at,
	                       .out = s->nout ? s->at + s->nin : NULL, .chunk = s->chunk };
	switch (s->kind) {
	case HOP_JIT_GRAD:    return hop_grad(f, s->n, s->at, out_f);
	case HOP_JIT_JVP:     return hop_jvp(f, s->n, s->at, out_f);
	case HOP_JIT_VJP:     return hop_vjp(f, s->n, s->at, out_f);
	case HOP_JIT_JACREV:  return hop_jacrev(f, s->n, s->at, &jac, out_f);
	case HOP_JIT_JACFWD:  return hop_jacfwd(f, s->n, s->at, &jac, out_f);
	case HOP_JIT_HESSIAN: return hop_hessian(f, s->n, s->at, &jac, out_f);
	case HOP_JIT_HVP:     return hop_hvp(f, s->n, s->at, out_f);
	case HOP_JIT_VHP:     return hop_vhp(f, s->n, s->at, out_f);
	case HOP_JIT_VMAP:    break;
	}
	vmap.n = lanes;
	return hop_vmap_with(f, &vmap, out_f);
}

static hop_status transform(hop_jit *j, const struct plan *p, hop_fn *base, hop_fn **out_f)
{
	hop_fn *f = hop_fn_retain(base), *next = NULL;
	hop_status st = HOP_OK;
	for (int i = 0; !st && i < j->nstep; i++) {
		st = apply(j->step[i], p->lanes[i], f, &next);
		hop_fn_release(f);
		f = next;
	}
	*out_f = f;
	return st;
}

/* The device of its arguments: there are as many inputs, or fewer, where some are one. */
static const hop_memory *memory_of(const hop_fn *f, int nin, hop_array *const *in)
{
	for (int i = 0; i < nin; i++)
		if (in[i]->mem)
			return in[i]->mem;
	return hop_fn_memory(f, NULL);
}

hop_status hop_jit_code(hop_jit *j, hop_fn *f, int nin, hop_array *const *in)
{
	hop_env e;
	hop_frame fr;
	hop_exec *x;
	hop_status st;
	const hop_memory *mem = memory_of(f, nin, in);
	if ((mem ? hop_fn_has_code(f, mem) : atomic_load(&f->exec) != NULL) ||
	    (!mem && getenv("HOP_INTERP")))
		return HOP_OK;
	hop_env_init(&e, j->ctx, j->mem);
	if (HOP_GUARD(&e, &fr)) {
		st = hop_guard_nomem(&e, &fr);
	} else {
		st = hop_fn_code_on(&e, f, j->o.compile, mem, &x);
		hop_guard_end(&e, &fr);
	}
	if (st)
		hop_ctx_set_message(j->ctx, &e.diag);
	hop_env_fini(&e);
	return st;
}

/* hop_call interprets what cannot be compiled, and says so; not so if options say how. What is refused
 * with symbols may not be with numbers. */
static hop_status code(hop_jit *j, const hop_jit_entry *e, hop_array *const *in)
{
	hop_status st = hop_jit_code(j, e->f, e->nin, in);
	bool runs = st == HOP_ETARGET || (st == HOP_EREFUSED && !e->nsym);
	return runs && !j->o.compile ? HOP_OK : st;
}

static void let_go(hop_jit_entry *e)
{
	hop_fn_release(e->base);
	hop_fn_release(e->f);
	e->base = e->f = NULL;
}

hop_status hop_jit_make(hop_jit *j, hop_jit_entry *e, hop_array *const *in, bool compile)
{
	struct plan *p = plan_new(j, e);
	int a, b;
	if (!p)
		return HOP_ENOMEM;
	hop_status st = capture(j, e, p, &e->base);
	if (!st)
		st = transform(j, p, e->base, &e->f);
	if (!st && e->f->nin == e->nparam && !e->merged &&
	    hop_jit_meet(j, e, in, &a, &b) == HOP_JIT_SAME) {
		let_go(e);
		hop_jit_merge(e, in);
		st = capture(j, e, p, &e->base);
		e->f = hop_fn_retain(e->base);
	}
	if (!st && e->f->nin != e->nparam)
		st = hop_jit_fail(j, HOP_EUSE, "the function takes %d arguments, got %d", e->f->nin,
		                  e->nin);
	if (!st && compile)
		st = code(j, e, in);
	if (st)
		let_go(e);
	hop_raw_free(&j->mem, p, p->bytes);
	return st;
}

/* ---- capturing again ---- */

static size_t line_end(const char *s)
{
	return strcspn(s, "\n");
}

/* Which line differs first, and what stands there in both. */
static hop_status differ(hop_jit *j, const char *was, const char *is)
{
	int line = 1;
	if (!was || !is)
		return hop_jit_fail(j, HOP_ENOMEM, "no memory");
	for (;; line++) {
		size_t n = line_end(was), m = line_end(is);
		if (n != m || memcmp(was, is, n))
			break;
		if (!was[n])
			return hop_jit_fail(j, HOP_EUSE, "captured again, the body gives another graph with "
			                    "the same text: constants differ. What it depends on must be "
			                    "given as HOP_STATIC");
		was += n + 1;
		is += n + 1;
	}
	return hop_jit_fail(j, HOP_EUSE, "captured again, the body gives another graph: it depends on "
	                    "something that was not given as HOP_STATIC\n"
	                    "  line %d was %.*s\n  line %d is  %.*s", line,
	                    (int)(line_end(was) < 300 ? line_end(was) : 300), was, line,
	                    (int)(line_end(is) < 300 ? line_end(is) : 300), is);
}

/* Graphs are interned: equal ones are one. */
static hop_status compare(hop_jit *j, hop_fn *was, hop_fn *is)
{
	if (was->g != is->g || was->nout != is->nout || was->nhidden != is->nhidden)
		return differ(j, hop_fn_text(was), hop_fn_text(is));
	for (int i = 0; i < was->nhidden; i++)
		if (was->hidden[i] != is->hidden[i])
			return hop_jit_fail(j, HOP_EUSE, "captured again, the body uses another array as its "
			                    "%s%d: give the pointer to it as HOP_STATIC, or pass the array",
			                    "captured array ", i);
	return HOP_OK;
}

hop_status hop_jit_again(hop_jit *j, const hop_jit_entry *e)
{
	hop_fn *is = NULL;
	struct plan *p = plan_new(j, e);
	if (!p)
		return HOP_ENOMEM;
	hop_status st = capture(j, e, p, &is);
	if (!st)
		st = compare(j, e->base, is);
	hop_fn_release(is);
	hop_raw_free(&j->mem, p, p->bytes);
	return st;
}
