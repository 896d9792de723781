/* assoc.c -- associative_scan and reduce_with, captured. As for scan, the axis is brought to the
 * front outside; nothing is flipped. Eager, they are run at once as a graph of one node: the
 * order in which combine runs is not the user's to see. */
#include "trace/strict.h"

#include <string.h>

struct call {
	const char      *op;
	bool             whole;        /* reduce_with */
	int              nx, n;
	const hop_value *xs;
	const void      *given;        /* the caller's options; NULL = opts are filled in */
	hop_assoc_opts   opts;
	hop_value       *out;
	hop_val         *val;          /* inits if there are any, xs with the axis first */
	const hop_type **type;         /* of the leaves, twice: left and right */
	hop_size         length;
	hop_trace       *body;
};

static bool read_xs(hop_trace *t, struct call *c, hop_val *val)
{
	for (int i = 0; i < c->nx; i++) {
		hop_val x = hop_value_read(t, c->xs[i]);
		if (hop_is_bad(x))
			return false;
		const hop_type *type = hop_typeof(&t->b, x);
		int *axis = &c->opts.axis;
		if (i == 0 && *axis < 0)
			*axis += type->rank;
		if (*axis < 0 || *axis >= type->rank) {
			hop_trace_fail(t, HOP_ESHAPE, "%s: %s is %s, it has no axis %d", c->op,
			               hop_path_text(t, "x", c->opts.x, i), hop_type_text(t, type), *axis);
			return false;
		}
		if (i == 0)
			c->length = type->dim[*axis];
		if (hop_build_holds(&t->b, HOP_EQ, type->dim[*axis], c->length) == HOP_NEVER) {
			hop_trace_fail(t, HOP_ESHAPE, "%s: axis %d of %s, which is %s, has another size than "
			               "that of %s", c->op, *axis, hop_path_text(t, "x", c->opts.x, i),
			               hop_type_text(t, type), hop_path_text(t, "x", c->opts.x, 0));
			return false;
		}
		val[i] = hop_move_axis(t, x, *axis, false);
		if (hop_is_bad(val[i]))
			return false;
		c->type[i] = c->type[c->nx + i] = hop_type_drop(hop_env_of(t),
		                                                hop_typeof(&t->b, val[i]));
	}
	return true;
}

/* A number takes the type of its leaf. */
static bool read_inits(hop_trace *t, struct call *c, hop_val *val)
{
	for (int i = 0; i < c->nx; i++) {
		const hop_type *want = c->type[i];
		const hop_cell *s = hop_cell_of(t, c->opts.init[i]);
		if (!s)
			return false;
		if (s->weak) {
			val[i] = hop_promote_cast(t, c->opts.init[i], (hop_dtype)want->dtype);
			val[i] = hop_broadcast_to(t, val[i], want->rank, want->dim);
		} else {
			val[i] = hop_value_read(t, c->opts.init[i]);
		}
		if (hop_is_bad(val[i]))
			return false;
		const hop_type *have = hop_typeof(&t->b, val[i]);
		if (have->dtype != want->dtype || have->rank != want->rank) {
			hop_trace_fail(t, HOP_ETYPE, "%s: %s is %s, a slice of %s is %s: make them the same",
			               c->op, hop_path_text(t, "init", c->opts.x, i),
			               hop_type_text(t, have), hop_path_text(t, "x", c->opts.x, i),
			               hop_type_text(t, want));
			return false;
		}
	}
	return true;
}

static void begin(hop_trace *t, void *arg)
{
	struct call *c = arg;
	hop_assoc_opts *o = &c->opts;
	if (c->given && !hop_trace_opts(t, c->given, o, sizeof *o))
		return;
	if (c->nx < 1 || !c->xs || !c->out || (c->whole && !o->init)) {
		hop_trace_fail(t, HOP_EUSE, "%s: there are no xs, or a list is missing", c->op);
		return;
	}
	if (o->exclusive && !o->init) {
		hop_trace_fail(t, HOP_EUSE, "%s: an exclusive scan begins with init: give it in the "
		               "options", c->op);
		return;
	}
	if (o->x && hop_tree_count(o->x) != c->nx) {
		hop_trace_fail(t, HOP_EUSE, "%s: the tree names %d values, there are %d xs", c->op,
		               hop_tree_count(o->x), c->nx);
		return;
	}
	c->val = HOP_NEWN(&t->arena, hop_val, 2 * c->nx);
	c->type = HOP_NEWN(&t->arena, const hop_type *, 2 * c->nx);
	if (read_xs(t, c, c->val + (o->init ? c->nx : 0)) && o->init)
		read_inits(t, c, c->val);
}

/* What combine gives are leaves again; numbers are adapted. */
static bool combine_ok(hop_trace *t, struct call *c)
{
	hop_trace *b = c->body;
	if (!c->whole && !hop_strict_assoc(t, c->op, b, c->length, c->opts.x))
		return false;
	if (b->nret != (uint32_t)c->nx) {
		t->b.st = hop_fail(hop_env_of(t), b->b.loc, HOP_ETYPE,
		                   "%s: combine gives %u results for %d leaves", c->op, b->nret, c->nx);
		hop_note(hop_env_of(t), b->site, "in %s", b->what);
		return false;
	}
	for (int i = 0; i < c->nx; i++) {
		const hop_type *want = c->type[i];
		if (b->slot[b->ret[i]].weak && !want->rank)
			b->out[i] = hop_promote_cast(b, (hop_value){ b->serial, b->ret[i] },
			                             (hop_dtype)want->dtype);
		if (b->b.st)
			return false;
		const hop_type *have = hop_typeof(&b->b, b->out[i]);
		if (have == want)
			continue;
		bool shape = have->dtype == want->dtype;
		t->b.st = hop_fail(hop_env_of(t), b->b.loc, shape ? HOP_ESHAPE : HOP_ETYPE,
		                   "%s: a slice of %s is %s, combine gives %s for it: %s", c->op,
		                   hop_path_text(t, "x", c->opts.x, i), hop_type_text(t, want),
		                   hop_type_text(b, have), shape ? "a leaf keeps its sizes"
		                   : "cast what it gives, or the xs");
		hop_note(hop_env_of(t), b->site, "in %s", b->what);
		return false;
	}
	return true;
}

hop_status hop_assoc_here(hop_trace *t, const hop_assoc *a, const hop_val *in, hop_val *out)
{
	uint32_t n = a->ninit + a->nx + a->nk;
	hop_val *p = HOP_NEWN(&t->arena, hop_val, n);
	hop_build b;
	hop_graph *g;
	if (!t->eager)
		return hop_emit_assoc(&t->b, a, in, out);
	hop_build_open(&b, hop_env_of(t));
	b.loc = t->b.loc;
	b.as = t->op;
	for (uint32_t i = 0; i < n; i++)
		p[i] = hop_build_param(&b, hop_typeof(&t->b, in[i]));
	hop_emit_assoc(&b, a, p, out);
	if ((t->b.st = hop_seal(&b, a->nx, out, NULL, &g)))
		return t->b.st;
	return hop_call_here(t, g, (hop_sizes){ 0, NULL }, in, out);
}

static void end(hop_trace *t, void *arg)
{
	struct call *c = arg;
	hop_trace *body = c->body;
	uint32_t nx = (uint32_t)c->nx, ni = c->opts.init ? nx : 0;
	hop_assoc a = { .length = c->length, .ninit = ni, .nx = nx, .reverse = c->opts.reverse,
	                .exclusive = c->opts.exclusive, .whole = c->whole };
	hop_join j;
	if (!combine_ok(t, c))
		return;
	hop_outs o = { body, nx, body->out };
	if (!hop_join_open(&j, t, 1, &o, 0, NULL) || !hop_join_pure(&j, c->op))
		return;
	uint32_t np = 2 * nx + j.nk;
	const hop_type **ty = HOP_NEWN(&t->arena, const hop_type *, np);
	uint32_t *param = HOP_NEWN(&t->arena, uint32_t, 2 * nx);
	hop_val *in = HOP_NEWN(&t->arena, hop_val, ni + nx + j.nk);
	hop_val *res = HOP_NEWN(&t->arena, hop_val, nx);
	memcpy(ty, c->type, 2 * nx * sizeof *ty);
	memcpy(ty + 2 * nx, j.ktype, j.nk * sizeof *ty);
	for (uint32_t i = 0; i < 2 * nx; i++)
		param[i] = i;
	hop_join_syms(&j, np, ty);
	hop_layout l = { .nparam = np, .type = ty, .param = param, .w0 = 2 * nx, .k0 = 2 * nx };
	if (hop_join_seal(&j, 0, &l, nx, body->out, NULL, &a.combine))
		return;
	a.nk = j.nk;
	a.sargs = hop_join_sargs(&j);
	memcpy(in, c->val, (ni + nx) * sizeof *in);
	memcpy(in + ni + nx, j.kval, j.nk * sizeof *in);
	if (hop_assoc_here(t, &a, in, res))
		return;
	for (uint32_t i = 0; i < nx; i++)
		c->out[i] = hop_value_new(t, c->whole ? res[i]
		                             : hop_move_axis(t, res[i], c->opts.axis, true));
	c->n = t->b.st ? 0 : c->nx;
}

static int run(hop_trace *t, const char *file, int line, struct call *c, hop_body *combine,
               void *user)
{
	hop_body_args a = { .fn = combine, .user = user, .what = c->whole ?
		                "the combine of reduce_with" : "the combine of associative_scan",
		                .n = 2 * c->nx };
	t = hop_here(t);
	if (!hop_enter(t, c->op, file, line, begin, c))
		return 0;
	a.type = c->type;
	c->body = hop_body_run(t, file, line, &a);
	if (c->body)
		hop_enter(t, NULL, file, line, end, c);
	hop_body_drop(c->body);
	return c->n;
}

int hop_at_associative_scan(hop_trace *t, const char *file, int line, hop_body *combine,
                            void *user, int nx, const hop_value *xs,
                            const hop_assoc_opts *opts, hop_value *out)
{
	struct call c = { .op = "associative_scan", .nx = nx, .xs = xs, .given = opts,
	                  .out = out };
	return run(t, file, line, &c, combine, user);
}

int hop_at_reduce_with(hop_trace *t, const char *file, int line, hop_body *combine, void *user,
                       int nx, const hop_value *init, const hop_value *xs, int axis,
                       hop_value *out)
{
	struct call c = { .op = "reduce_with", .whole = true, .nx = nx, .xs = xs, .out = out,
	                  .opts = { .axis = axis, .init = init } };
	return run(t, file, line, &c, combine, user);
}
