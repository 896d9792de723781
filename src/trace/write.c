/* write.c -- writes turned into new contents. A write to a view is undone step by step until
 * the whole storage has new contents; readers derive their views from those. Nothing is
 * mutated: the memory planner finds the writes again. */
#include "trace/mode.h"

#include <stdio.h>

/* ---- undoing one step of a view ---- */

/* Step 1 is a window at a fixed place; other steps need a mask, since the elements between
 * must stay. */
static hop_val undo_slice(hop_build *b, const hop_view_step *w, hop_val whole, hop_val part)
{
	const struct hop_attr_slice *a = w->attr;
	int rank = w->in->rank;
	bool ones = true;
	for (int i = 0; i < rank; i++)
		ones &= !a->step.n || a->step.v[i] == 1;
	if (ones) {
		hop_val in[2 + HOP_MAXRANK] = { whole, part };
		for (int i = 0; i < rank; i++)
			in[2 + i] = hop_emit_size(b, a->start.v[i]);
		return b->st ? HOP_BAD : hop_emit_op(b, HOP_OP_dynupdate, NULL,
		                                     (uint32_t)(2 + rank), in);
	}
	/* A part walked backwards is turned round first: pad only goes forwards. */
	hop_size start[HOP_MAXRANK], first[HOP_MAXRANK];
	int64_t step[HOP_MAXRANK], turn[HOP_MAXRANK];
	bool turned = false;
	for (int i = 0; i < rank; i++) {
		int64_t s = a->step.v[i];
		hop_size last = hop_size_sub(b->env, w->out->dim[i], hop_size_int(1));
		start[i] = a->start.v[i];
		step[i] = s;
		turn[i] = 1;
		first[i] = hop_size_int(0);
		if (s < 0) {
			start[i] = hop_size_add(b->env, start[i],
			                        hop_size_mul(b->env, last, hop_size_int(s)));
			step[i] = -s;
			turn[i] = -1;
			first[i] = last;
			turned = true;
		}
	}
	if (turned)
		part = hop_emit_slice(b, part, first, w->out->dim, turn);
	hop_val mask = hop_emit_full(b, hop_type_with(b->env, w->out, HOP_bool), 1);
	mask = hop_emit_pad(b, mask, start, w->in->dim, step);
	part = hop_emit_pad(b, part, start, w->in->dim, step);
	return b->st ? HOP_BAD : hop_emit(b, select, mask, part, whole);
}

static hop_val undo_permute(hop_build *b, const hop_view_step *w, hop_val part)
{
	const struct hop_attr_permute *a = w->attr;
	int64_t back[HOP_MAXRANK];
	for (int64_t i = 0; i < a->axes.n; i++)
		back[a->axes.v[i]] = i;
	return hop_emit_permute(b, part, back);
}

static bool repeats(const hop_view_step *w)
{
	for (; w; w = w->up)
		if (w->op == HOP_OP_broadcast)
			return true;
	return false;
}

/* New contents of the storage when view w of it is `part`. */
static hop_val undo(hop_build *b, const hop_view_step *w, hop_val store, hop_val part)
{
	for (; w && !b->st; w = w->up) {
		if (w->op == HOP_OP_reshape)
			part = hop_emit_reshape(b, part, w->in->rank, w->in->dim);
		else if (w->op == HOP_OP_permute)
			part = undo_permute(b, w, part);
		else
			part = undo_slice(b, w, hop_view_emit(b, w->up, store), part);
	}
	return b->st ? HOP_BAD : part;
}

/* ---- writing ---- */

void hop_store_set(hop_trace *t, uint32_t store, hop_val v)
{
	hop_store *s = &t->store[store];
	if (!s->version++)
		s->first = t->nwrite++;
	s->cur = v;
	s->wloc = t->b.loc;
}

/* What is written has the sizes of where it goes; a check where that is not known. */
static bool fits(hop_trace *t, const hop_type *from, const hop_type *to)
{
	hop_env *e = hop_env_of(t);
	for (int k = 0; from != to && k < to->rank; k++) {
		enum hop_truth same = hop_build_holds(&t->b, HOP_EQ, from->dim[k], to->dim[k]);
		char text[120];
		if (same == HOP_NEVER) {
			hop_trace_fail(t, HOP_ESHAPE, "%s: %s does not fit into %s", t->op,
			               hop_type_text(t, from), hop_type_text(t, to));
			return false;
		}
		int n = snprintf(text, sizeof text, "%.60s: dimension %d of what is written is {0}, "
		                 "there it is {1}", t->op, k);
		hop_build_check(&t->b, (hop_check){ .a = from->dim[k], .b = to->dim[k], .rel = HOP_EQ,
		                                    .loc = t->b.loc,
		                                    .what = hop_ctx_name(e, text, (size_t)n) });
	}
	return true;
}

void hop_slot_write(hop_trace *t, uint32_t slot, hop_val v)
{
	hop_cell s = t->slot[slot];
	if (s.weak) {
		hop_trace_fail(t, HOP_EUSE, "%s: a number cannot be written: make a tensor with "
		               "hop_full", t->op);
		return;
	}
	if (repeats(s.view)) {
		hop_trace_fail(t, HOP_EREFUSED, "%s: an expanded view cannot be written, since "
		               "several of its elements are one: clone it first", t->op);
		return;
	}
	if (t->b.st || hop_is_bad(v))
		return;
	if (!fits(t, hop_typeof(&t->b, v), s.type))
		return;
	v = hop_emit_as(&t->b, v, s.type);     /* a storage keeps its type */
	hop_val all = s.view ? undo(&t->b, s.view, hop_store_cur(t, s.store), v) : v;
	bool stops = hop_mode_stops(t);
	if (stops)
		all = hop_mode_written(t, hop_store_cur(t, s.store), all);
	if (hop_is_bad(all))
		return;
	hop_store_set(t, s.store, all);
	t->slot[slot].val = !s.view ? all : stops || s.still ? HOP_BAD : v;
	t->slot[slot].version = t->store[s.store].version;
}

struct writing {
	enum hop_write w;
	hop_value      x, y;
};

static const struct { const char *name; int op; } kinds[] = {
	[HOP_WRITE_COPY] = { "copy_", HOP_OP_nop },
	[HOP_WRITE_ADD]  = { "add_", HOP_OP_add },
	[HOP_WRITE_SUB]  = { "sub_", HOP_OP_sub },
	[HOP_WRITE_MUL]  = { "mul_", HOP_OP_mul },
	[HOP_WRITE_DIV]  = { "div_", HOP_OP_div },
};

/* What the result of x op y is must fit into x: no float into an integer. */
static hop_val combine(hop_trace *t, const struct writing *w, const hop_type *type)
{
	if (w->w == HOP_WRITE_COPY)
		return hop_value_apart(t, hop_promote_cast(t, w->y, (hop_dtype)type->dtype));
	hop_val v = hop_point(t, kinds[w->w].op, 2, (hop_value[]){ w->x, w->y });
	if (hop_is_bad(v))
		return v;
	hop_dtype d = (hop_dtype)hop_typeof(&t->b, v)->dtype;
	if (hop_dtype_class(d) > hop_dtype_class((hop_dtype)type->dtype)) {
		hop_trace_fail(t, HOP_ETYPE, "%s: the result is %s, which does not go into %s",
		               kinds[w->w].name, hop_dtype_name(d),
		               hop_dtype_name((hop_dtype)type->dtype));
		return HOP_BAD;
	}
	return hop_emit_cast(&t->b, v, (hop_dtype)type->dtype);
}

static void make_write(hop_trace *t, void *arg)
{
	struct writing *w = arg;
	if ((unsigned)w->w > HOP_WRITE_DIV) {
		hop_trace_fail(t, HOP_EVALUE, "write: there is no write %d", (int)w->w);
		return;
	}
	int64_t s = hop_slot_of(t, w->x);
	if (s < 0)
		return;
	const hop_type *type = t->slot[s].type;
	hop_val v = combine(t, w, type);
	if (hop_is_bad(v))
		return;
	const hop_type *had = hop_typeof(&t->b, v);
	if (had->rank > type->rank) {
		hop_trace_fail(t, HOP_ESHAPE, "%s: %s does not go into %s", kinds[w->w].name,
		               hop_type_text(t, had), hop_type_text(t, type));
		return;
	}
	v = hop_broadcast_to(t, v, type->rank, type->dim);
	if (!hop_is_bad(v))
		hop_slot_write(t, (uint32_t)s, v);
}

void hop_at_write(hop_trace *t, const char *file, int line, enum hop_write w, hop_value x,
                  hop_value y)
{
	const char *op = (unsigned)w > HOP_WRITE_DIV ? "write" : kinds[w].name;
	hop_enter(t, op, file, line, make_write, &(struct writing){ w, x, y });
}

/* ---- index_put ---- */

struct putting {
	hop_value x, idx, u;
	int       axis;
};

/* The type of u for indices of type idx: the axis replaced by the index axes. */
static int part_dims(const hop_type *x, int axis, const hop_type *idx, hop_size *dim)
{
	int n = 0;
	for (int i = 0; i < x->rank; i++)
		if (i != axis)
			dim[n++] = x->dim[i];
		else
			for (int k = 0; k < idx->rank; k++)
				dim[n++] = idx->dim[k];
	return n;
}

static void make_put(hop_trace *t, void *arg)
{
	struct putting *p = arg;
	hop_build *b = &t->b;
	int64_t s = hop_slot_of(t, p->x);
	hop_val idx = s < 0 ? HOP_BAD : hop_promote_whole(t, p->idx, "the index");
	if (hop_is_bad(idx))
		return;
	const hop_type *xt = t->slot[s].type, *it = hop_typeof(b, idx);
	int axis = hop_axis(t, "index_put_", p->axis, xt->rank);
	if (axis < 0)
		return;
	if (it->rank > 1) {
		hop_trace_fail(t, HOP_ESHAPE, "index_put_: the indices are %s, of rank 0 or 1 they "
		               "may be", hop_type_text(t, it));
		return;
	}
	hop_size dim[HOP_MAXRANK + 1];
	int rank = part_dims(xt, axis, it, dim);
	hop_val u = hop_promote_cast(t, p->u, (hop_dtype)xt->dtype);
	if (!hop_is_bad(u) && hop_typeof(b, u)->rank > rank) {
		hop_trace_fail(t, HOP_ESHAPE, "index_put_: %s does not go into rank %d",
		               hop_type_text(t, hop_typeof(b, u)), rank);
		return;
	}
	u = hop_is_bad(u) ? u : hop_broadcast_to(t, u, rank, dim);
	hop_val x = hop_slot_read(t, (uint32_t)s);
	if (hop_is_bad(u) || hop_is_bad(x))
		return;
	if (!it->rank) {                    /* one row: a window at a place that is a value */
		hop_val in[2 + HOP_MAXRANK] = { x };
		hop_size one[HOP_MAXRANK];
		for (int i = 0; i < xt->rank; i++) {
			one[i] = i == axis ? hop_size_int(1) : xt->dim[i];
			in[2 + i] = i == axis ? idx : hop_emit_const_i(b, HOP_i64, 0);
		}
		in[1] = hop_emit_reshape(b, u, xt->rank, one);
		x = b->st ? HOP_BAD : hop_emit_op(b, HOP_OP_dynupdate, NULL,
		                                  (uint32_t)(2 + xt->rank), in);
	} else {
		x = hop_emit_scatter(b, HOP_MODE_set, x, idx, u, axis, 0);
	}
	if (!hop_is_bad(x))
		hop_slot_write(t, (uint32_t)s, x);
}

void hop_at_index_put(hop_trace *t, const char *file, int line, hop_value x, int axis,
                      hop_value idx, hop_value u)
{
	hop_enter(t, "index_put_", file, line, make_put, &(struct putting){ x, idx, u, axis });
}
