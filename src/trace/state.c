/* state.c -- several structs of values as one with an axis for the models, and values whose gradients
 * are kept, in a trace. For arrays see driver/state.c. */
#include "hop/shape.h"
#include "hop/transform.h"
#include "trace/trace.h"

#include <string.h>

struct lists {
	int                     n, leaves;
	const hop_value *const *in;
	const hop_value        *out;
	hop_value              *row;       /* [n] */
};

static void check_lists(hop_trace *t, void *arg)
{
	struct lists *l = arg;
	if (l->n < 1)
		hop_trace_fail(t, HOP_EVALUE, "stack_state: %d models: at least one is needed", l->n);
	else if (!l->in || (l->leaves && !l->out))
		hop_trace_fail(t, HOP_EUSE, "stack_state: a list is missing");
	for (int m = 0; m < l->n && !t->b.st; m++)
		if (l->leaves && !l->in[m])
			hop_trace_fail(t, HOP_EUSE, "stack_state: model %d is missing", m);
	if (!t->b.st)
		l->row = HOP_NEWN(&t->arena, hop_value, l->n);
}

void hop_at_tree_stack(hop_trace *t, const char *file, int line, const hop_tree *tree, int n,
                       const hop_value *const *in, hop_value *out)
{
	struct lists l = { n, hop_tree_count(tree), in, out, NULL };
	if (!hop_enter(t, "stack_state", file, line, check_lists, &l))
		return;
	for (int i = 0; i < l.leaves; i++) {
		for (int m = 0; m < n; m++)
			l.row[m] = in[m][i];
		out[i] = hop_at_stack_n(t, file, line, n, l.row, 0);
	}
}
/* ---- gradients of what is inside ---- */

struct retain {
	hop_value   v, r;
	const char *name;
};

static void make_retain(hop_trace *t, void *arg)
{
	struct retain *c = arg;
	if (!c->name || !*c->name) {
		hop_trace_fail(t, HOP_EUSE, "retain_grad: a name is needed, by which its gradient is found");
		return;
	}
	struct hop_attr_retain_grad a = { .name = { (int64_t)strlen(c->name), c->name } };
	hop_val v = hop_value_read(t, c->v);
	if (!hop_is_bad(v))
		c->r = hop_value_new(t, hop_emit_op(&t->b, HOP_OP_retain_grad, &a, 1, &v));
}

hop_value hop_at_retain_grad(hop_trace *t, const char *file, int line, hop_value v, const char *name)
{
	struct retain c = { .v = v, .name = name };
	return hop_enter(t, "retain_grad", file, line, make_retain, &c) ? c.r : (hop_value){ 0, 0 };
}
