/* number.c -- numbers: literals, and what ops make of numbers alone. That is a number
 * again, computed here and now by the interpreter's own cells in f64 or i64: no dtype is
 * chosen, and nothing rounded to it, before it meets a tensor. The choice itself is in
 * promote.c. */
#include "trace/trace.h"
#include "hop/shape.h"

/* ---- literals ---- */

struct number {
	enum hop_weak w;
	double        f;
	int64_t       i;
	hop_value     r;
};

static void make_number(hop_trace *t, void *arg)
{
	struct number *n = arg;
	n->r = hop_value_weak(t, n->w, n->f, n->i);
}

static hop_value number(hop_trace *t, const char *file, int line, struct number n)
{
	return hop_enter(t, "number", file, line, make_number, &n) ? n.r : (hop_value){ 0, 0 };
}

hop_value hop_at_f(hop_trace *t, const char *file, int line, double v)
{
	return number(t, file, line, (struct number){ .w = HOP_WEAK_FLOAT, .f = v });
}

hop_value hop_at_i(hop_trace *t, const char *file, int line, int64_t v)
{
	return number(t, file, line, (struct number){ .w = HOP_WEAK_INT, .i = v });
}

/* ---- ops ---- */

/* A scalar of the interpreter. t.data points into itself: not to be copied. */
struct scalar {
	hop_array t;
	union { double f; int64_t i; uint8_t b; } v;
};

static hop_dtype kind_of(enum hop_weak w)
{
	return w == HOP_WEAK_FLOAT ? HOP_f64 : w == HOP_WEAK_INT ? HOP_i64 : HOP_bool;
}

static void give(struct scalar *s, hop_dtype d, const hop_cell *c)
{
	s->t = (hop_array){ .refs = 1, .dtype = d, .count = 1, .data = &s->v };
	if (!c)
		return;
	bool real = c->weak == HOP_WEAK_FLOAT;
	if (hop_dtype_real(d))
		hop_array_set_f(&s->t, 0, real ? c->f : (double)c->i);
	else
		hop_array_set_i(&s->t, 0, real ? c->f != 0 : c->i);
}

static hop_value take(hop_trace *t, const struct scalar *s)
{
	if (hop_dtype_real(s->t.dtype))
		return hop_value_weak(t, HOP_WEAK_FLOAT, s->v.f, 0);
	return hop_value_weak(t, hop_dtype_bool(s->t.dtype) ? HOP_WEAK_BOOL : HOP_WEAK_INT, 0,
	                      hop_array_i(&s->t, 0));
}

/* In what the op computes on numbers of kind d at most, and what it gives; false if the
 * op is not one of numbers, or not of these. Truths count as the integers 0 and 1. */
static bool rule(int op, bool whole, hop_dtype d, hop_dtype *out_in,
                 hop_dtype *out_result)
{
	hop_infer_fn *infer = hop_optab[op].infer;
	*out_in = d;
	if (hop_optab[op].flags & HOP_F_F && !whole)
		*out_in = HOP_f64;
	else if (infer == hop_infer_same && hop_dtype_bool(d))
		*out_in = HOP_i64;
	else if (infer == hop_infer_logic && hop_dtype_float(d))
		return false;
	else if (infer != hop_infer_same && infer != hop_infer_logic &&
	         infer != hop_infer_compare && infer != hop_infer_select &&
	         infer != hop_infer_stop)
		return false;
	*out_result = infer == hop_infer_compare ? HOP_bool : *out_in;
	return true;
}

bool hop_number_op(hop_trace *t, int op, bool whole, int n, const hop_value *v,
                   hop_value *out)
{
	struct scalar in[3], res;
	hop_array *at[3] = { &in[0].t, &in[1].t, &in[2].t }, *to = &res.t;
	hop_cell cell[3];
	hop_dtype d = HOP_bool, result;
	bool choice = op == HOP_OP_select;
	for (int i = 0; i < n; i++) {
		int64_t s = hop_slot_of(t, v[i]);
		if (s < 0 || !t->slot[s].weak)
			return false;
		cell[i] = t->slot[s];
		if (!choice || i)
			d = hop_dtype_join(kind_of(cell[i].weak), d);
	}
	if (!rule(op, whole, d, &d, &result))
		return false;
	for (int i = 0; i < n; i++)
		give(&in[i], choice && !i ? HOP_bool : d, &cell[i]);
	give(&res, result, NULL);
	hop_node node = { .op = (uint16_t)op, .nin = (uint32_t)n, .nout = 1,
	                  .loc = t->b.loc };
	if ((t->b.st = hop_optab[op].eval(&t->root->ip, &node, at, &to)))
		return false;
	*out = take(t, &res);
	return true;
}
