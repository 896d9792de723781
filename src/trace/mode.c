/* mode.c -- modes: blocks and calls that open and close them, what bodies inherit, and what no_grad
 * does with results and writes. What autocast casts is in autocast.c, what fast-math uses in
 * fast.c. Nothing of a mode is in the graph. */
#include "trace/mode.h"

#include <string.h>

static const struct { const char *name; } kinds[] = {
	[HOP_MODE_NO_GRAD] = { "HOP_NO_GRAD" }, [HOP_MODE_ENABLE_GRAD] = { "HOP_ENABLE_GRAD" },
	[HOP_MODE_AUTOCAST] = { "HOP_AUTOCAST" }, [HOP_MODE_AUTOCAST_CUDA] = { "HOP_AUTOCAST_CUDA" },
	[HOP_MODE_AUTOCAST_OFF] = { "HOP_AUTOCAST_OFF" }, [HOP_MODE_FAST_MATH] = { "HOP_FAST_MATH" },
	[HOP_MODE_FAST_MATH_OFF] = { "HOP_FAST_MATH_OFF" },
	[HOP_MODE_DETERMINISTIC] = { "HOP_DETERMINISTIC" },
};
enum { NKIND = sizeof kinds / sizeof *kinds };

/* ---- opening and closing ---- */

struct opening {
	enum hop_mode_kind kind;
	hop_dtype          dtype;
	bool               block;
	hop_trace         *t;
	hop_modes         *m;
};

static bool cast_ok(hop_trace *t, const char *name, hop_dtype d)
{
	if (d == HOP_bf16 || d == HOP_f16)
		return true;
	const char *had = (unsigned)d < HOP_NDTYPE ? hop_dtype_name(d) : "no dtype";
	hop_trace_fail(t, HOP_EVALUE, "%s: %s is not what products are cast to: bf16 or f16 it may be; "
	               "HOP_AUTOCAST_OFF ends a cast", name, had);
	return false;
}

static void set(hop_modes *m, enum hop_mode_kind kind, hop_dtype d)
{
	switch (kind) {
	case HOP_MODE_NO_GRAD:
	case HOP_MODE_ENABLE_GRAD:
		m->no_grad = kind == HOP_MODE_NO_GRAD;
		m->says_grad = true;
		break;
	case HOP_MODE_AUTOCAST:
	case HOP_MODE_AUTOCAST_CUDA:
		m->cast = d;
		m->cuda = kind == HOP_MODE_AUTOCAST_CUDA;
		break;
	case HOP_MODE_AUTOCAST_OFF:
		m->cast = HOP_NDTYPE;
		break;
	case HOP_MODE_FAST_MATH:
	case HOP_MODE_FAST_MATH_OFF:
		m->fast = kind == HOP_MODE_FAST_MATH;
		break;
	case HOP_MODE_DETERMINISTIC:
		m->deterministic = true;
	}
}

static hop_modes *push(hop_trace *t)
{
	hop_modes *m = HOP_NEW(&t->arena, hop_modes);
	*m = t->modes ? *t->modes : (hop_modes){ .cast = HOP_NDTYPE };
	m->up = t->modes;
	t->modes = m;
	return m;
}

static void make_open(hop_trace *t, void *arg)
{
	struct opening *o = arg;
	if ((unsigned)o->kind >= NKIND) {
		hop_trace_fail(t, HOP_EVALUE, "mode_push: there is no mode %d", (int)o->kind);
		return;
	}
	const char *name = kinds[o->kind].name;
	if ((o->kind == HOP_MODE_AUTOCAST || o->kind == HOP_MODE_AUTOCAST_CUDA) &&
	    !cast_ok(t, name, o->dtype))
		return;
	o->t = t;
	o->m = push(t);
	o->m->name = o->block ? name : "mode_push";
	o->m->loc = t->b.loc;
	set(o->m, o->kind, o->dtype);
}

hop_at_mode hop_mode_open(hop_trace *t, const char *file, int line, enum hop_mode_kind kind,
                          hop_dtype dtype)
{
	struct opening o = { .kind = kind, .dtype = dtype, .block = true };
	bool ok = hop_enter(t, "mode", file, line, make_open, &o);
	return (hop_at_mode){ o.t, ok ? o.m : NULL, 0 };
}

void hop_at_mode_push(hop_trace *t, const char *file, int line, enum hop_mode_kind kind,
                      hop_dtype dtype)
{
	struct opening o = { .kind = kind, .dtype = dtype };
	hop_enter(t, "mode_push", file, line, make_open, &o);
}

static void make_pop(hop_trace *t, void *arg)
{
	(void)arg;
	if (t->modes == t->modes0 || strcmp(t->modes->name, "mode_push")) {
		hop_trace_fail(t, HOP_EUSE, "mode_pop: %s pushed no mode that is still open here", t->what);
		if (t->modes != t->modes0)
			hop_note(hop_env_of(t), t->modes->loc, "this %s is open", t->modes->name);
		return;
	}
	t->modes = t->modes->up;
}

void hop_at_mode_pop(hop_trace *t, const char *file, int line)
{
	hop_enter(t, "mode_pop", file, line, make_pop, NULL);
}

/* ---- the calls of the macros ---- */

static bool is_open(const hop_trace *t, const hop_modes *m)
{
	for (const hop_modes *o = t->modes; o && o != t->modes0; o = o->up)
		if (o == m)
			return true;
	return false;
}

static void complain(hop_trace *t, const hop_modes *m, const char *how)
{
	hop_env *e = hop_env_of(t);
	hop_frame f;
	if (HOP_GUARD(e, &f)) {
		hop_guard_nomem(e, &f);
		return;
	}
	t->b.st = hop_fail(e, m->loc, HOP_EUSE, "%s: the block was left %s: it ends at its closing "
	                   "brace, or by continue", m->name, how);
	hop_guard_end(e, &f);
}

/* The mode ends, whatever is still open in it; how: what is wrong with that, or NULL. After
 * hop_return too, so this is no call through the door. */
static void end(hop_at_mode *a, const char *how)
{
	const hop_modes *m = a->m;
	hop_trace *t = a->t;
	a->m = NULL;
	if (!is_open(t, m))
		return;
	if (!how && (t->modes != m || t->inner))
		how = "with a mode or a block still open in it";
	t->modes = m->up;
	if (how && !hop_env_of(t)->diag.st)
		complain(t, m, how);
}

bool hop_mode_step(hop_at_mode *a)
{
	if (a->m && a->step++)
		end(a, "by break");
	return a->m;
}

bool hop_mode_more(hop_at_mode *a)
{
	return a->m;
}

void hop_mode_done(hop_at_mode *a)
{
	if (a->m)
		end(a, NULL);
}

void hop_mode_leave(hop_at_mode *a)
{
	if (a->m)
		end(a, "by return or goto");
}

/* ---- bodies ---- */

void hop_modes_inherit(hop_trace *c, const hop_trace *t, const hop_body_args *a)
{
	c->modes = NULL;
	if (t->modes && !a->exempt) {
		hop_modes *m = push(c);
		*m = *t->modes;
		m->quiet |= m->no_grad;
		if (a->in_grad || a->in_jvp)       /* a derivative is of its function, wherever it stands */
			m->no_grad = m->quiet = m->says_grad = false;
		if (a->in_custom)
			m->says_grad = false;
	}
	c->modes0 = c->modes;
}

bool hop_modes_closed(hop_trace *c)
{
	if (c->modes == c->modes0)
		return true;
	c->b.st = hop_fail(hop_env_of(c), c->b.loc, HOP_EUSE, "%s ended inside a mode", c->what);
	hop_note(hop_env_of(c), c->modes->loc, "this %s is open", c->modes->name);
	return false;
}

uint64_t hop_modes_key(const hop_trace *t)
{
	const hop_modes *m = t->modes;
	return !m ? 0 : 1 | (uint64_t)m->no_grad << 1 | (uint64_t)m->quiet << 2 | (uint64_t)m->fast << 3 |
	       (uint64_t)m->cuda << 4 | (uint64_t)m->deterministic << 5 | (uint64_t)m->cast << 8;
}

bool hop_mode_holds(hop_trace *t, enum hop_mode_kind kind)
{
	const hop_modes none = { .cast = HOP_NDTYPE }, *m;
	if (!t || !t->root)
		return false;
	t = hop_here(t);
	m = t->modes ? t->modes : &none;
	switch (kind) {
	case HOP_MODE_NO_GRAD:       return m->no_grad;
	case HOP_MODE_ENABLE_GRAD:   return !m->no_grad;
	case HOP_MODE_AUTOCAST:      return m->cast != HOP_NDTYPE && !m->cuda;
	case HOP_MODE_AUTOCAST_CUDA: return m->cast != HOP_NDTYPE && m->cuda;
	case HOP_MODE_AUTOCAST_OFF:  return m->cast == HOP_NDTYPE;
	case HOP_MODE_FAST_MATH:     return m->fast;
	case HOP_MODE_FAST_MATH_OFF: return !m->fast;
	case HOP_MODE_DETERMINISTIC: return m->deterministic;
	}
	return false;
}

/* ---- no_grad ---- */

static bool still_node(const hop_trace *t, const hop_node *n)
{
	if (n->op == HOP_OP_stop_gradient)
		return true;
	for (uint32_t i = 0; i < n->nin; i++)
		if (!t->still[n->in[i].id])
			return false;
	return true;
}

/* Does no derivative pass v anyway? Numbered as they are made, values know it of those before. */
static bool is_still(hop_trace *t, hop_val v)
{
	const hop_build *b = &t->b;
	t->still = hop_arena_grow(&t->arena, t->still, 1, b->nvalue, &t->stillcap);
	for (size_t i = t->nstill; i < b->nvalue; i++) {
		uint32_t def = b->def[i];
		t->still[i] = !hop_type_diff(b->type[i]) ||
		              (def != UINT32_MAX && still_node(t, &b->node[def]));
	}
	t->nstill = b->nvalue;
	return t->still[v.id];
}

hop_val hop_mode_result(hop_trace *t, hop_val v)
{
	if (hop_is_bad(v) || t->b.st || !hop_mode_stops(t) || is_still(t, v))
		return v;
	return hop_emit(&t->b, stop_gradient, v);
}

hop_val hop_mode_written(hop_trace *t, hop_val old, hop_val v)
{
	if (hop_is_bad(v) || hop_is_bad(old) || t->b.st || !hop_mode_stops(t))
		return v;
	if (is_still(t, old))
		return hop_mode_result(t, v);
	return hop_emit(&t->b, straight, v, old);
}
