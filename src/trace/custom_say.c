/* custom_say.c -- what the bodies of a custom gradient say beside what they return: values to keep
 * for the way back, results without derivative, and gradients of what they captured. */
#include "trace/trace.h"

struct list {
	int              n;
	const hop_value *v;
};

static bool in_fwd(hop_trace *t, const struct list *l)
{
	if (!t->in_custom)
		hop_trace_fail(t, HOP_EUSE, "%s: it belongs into the forward body of a custom "
		               "gradient, this is %s", t->op, t->what);
	else if (l->n < 0 || (l->n && !l->v))
		hop_trace_fail(t, HOP_EUSE, "%s: no values were given", t->op);
	return !t->b.st;
}

static void make_save(hop_trace *t, void *arg)
{
	struct list *l = arg;
	if (!in_fwd(t, l))
		return;
	hop_val *all = HOP_NEWN(&t->arena, hop_val, t->nsave + (uint32_t)l->n);
	for (uint32_t i = 0; i < t->nsave; i++)
		all[i] = t->save[i];
	for (int i = 0; i < l->n; i++)
		all[t->nsave + (uint32_t)i] = hop_value_read(t, l->v[i]);
	t->save = all;
	t->nsave += (uint32_t)l->n;
}

void hop_at_save(hop_trace *t, const char *file, int line, int n, const hop_value *v)
{
	hop_enter(t, "save", file, line, make_save, &(struct list){ n, v });
}

static void make_nondiff(hop_trace *t, void *arg)
{
	struct list *l = arg;
	if (!in_fwd(t, l))
		return;
	uint32_t *all = HOP_NEWN(&t->arena, uint32_t, t->nmark + (uint32_t)l->n);
	for (uint32_t i = 0; i < t->nmark; i++)
		all[i] = t->mark[i];
	for (int i = 0; i < l->n; i++) {
		int64_t s = hop_slot_of(t, l->v[i]);
		if (s < 0)
			return;
		all[t->nmark + (uint32_t)i] = (uint32_t)s;
	}
	t->mark = all;
	t->nmark += (uint32_t)l->n;
}

void hop_at_nondiff(hop_trace *t, const char *file, int line, int n, const hop_value *v)
{
	hop_enter(t, "nondiff", file, line, make_nondiff, &(struct list){ n, v });
}

/* ---- captured values ---- */

struct captured {
	hop_value of, d, out;
};

/* The record of a captured float, made if there is none; NULL after a failure. */
static hop_told *told(hop_trace *t, hop_value of, enum hop_in_rule in, const char *which)
{
	if (t->in_rule != in) {
		hop_trace_fail(t, HOP_EUSE, "%s: it belongs into the %s body of a custom gradient, this "
		               "is %s", t->op, which, t->what);
		return NULL;
	}
	for (uint32_t i = 0; i < t->ntold; i++)
		if (t->told[i].of.trace == of.trace && t->told[i].of.id == of.id)
			return &t->told[i];
	const hop_cell *s = hop_cell_of(t, of);
	if (!s)
		return NULL;
	if (of.trace == t->serial || s->weak) {
		hop_trace_fail(t, HOP_EUSE, "%s: %s: it is for tensors captured from outside the custom "
		               "gradient", t->op, s->weak ? "a number has no derivative"
		               : "this value was made inside");
		return NULL;
	}
	if (!hop_type_diff(s->type)) {
		hop_trace_fail(t, HOP_ETYPE, "%s: the captured value is %s: only floats have a derivative",
		               t->op, hop_type_text(t, s->type));
		return NULL;
	}
	hop_told *all = HOP_NEWN(&t->arena, hop_told, t->ntold + 1);
	for (uint32_t i = 0; i < t->ntold; i++)
		all[i] = t->told[i];
	all[t->ntold] = (hop_told){ .of = of, .at = hop_value_read(t, of), .d = HOP_ZERO };
	t->told = all;
	return t->b.st ? NULL : &t->told[t->ntold++];
}

static void make_give(hop_trace *t, void *arg)
{
	struct captured *c = arg;
	hop_told *k = told(t, c->of, HOP_IN_BWD, "backward");
	if (!k || !c->d.trace)                 /* HOP_NONE: zero, as when nothing is said */
		return;
	const hop_type *want = hop_typeof(&t->b, k->at);
	const hop_cell *s = hop_cell_of(t, c->d);
	if (!s)
		return;
	const hop_type *had = s->type;
	bool number = s->weak, same = number || (had->dtype == want->dtype && had->rank == want->rank);
	for (int i = 0; same && !number && i < want->rank; i++)
		same = hop_build_holds(&t->b, HOP_EQ, had->dim[i], want->dim[i]) != HOP_NEVER;
	if (!same) {
		hop_trace_fail(t, HOP_ETYPE, "give_grad: the gradient is %s, the captured value is %s",
		               hop_type_text(t, had), hop_type_text(t, want));
		return;
	}
	hop_val d = hop_promote_cast(t, c->d, (hop_dtype)want->dtype);
	if (number && !hop_is_bad(d))
		d = hop_broadcast_to(t, d, want->rank, want->dim);
	if (!hop_is_bad(d))
		k->d = hop_emit_acc(&t->b, k->d, hop_emit_as(&t->b, d, want));
}

void hop_at_give_grad(hop_trace *t, const char *file, int line, hop_value captured, hop_value d)
{
	hop_enter(t, "give_grad", file, line, make_give, &(struct captured){ captured, d, { 0, 0 } });
}

static void make_tangent(hop_trace *t, void *arg)
{
	struct captured *c = arg;
	hop_told *k = told(t, c->of, HOP_IN_JVP, "jvp");
	if (!k)
		return;
	if (hop_is_zero(k->d))
		k->d = hop_param_new(t, hop_typeof(&t->b, k->at));
	c->out = hop_value_new(t, k->d);
}

hop_value hop_at_tangent_of(hop_trace *t, const char *file, int line, hop_value captured)
{
	struct captured c = { captured, { 0, 0 }, { 0, 0 } };
	hop_enter(t, "tangent_of", file, line, make_tangent, &c);
	return c.out;
}
