/* raw.c -- constructors straight from the table: attributes as their kinds say, operands as
 * they are. Inference is the check, as it is for text; here only what it could not survive is
 * asked: lists that are there, dtypes that exist, bodies that are closed. */
#include "trace/raw.h"

#include <string.h>

/* One call, through its guarded step. */
struct call {
	int              op, nin, cap, n;
	const hop_raw   *a;
	const hop_value *in;
	hop_value       *out;
};

static bool wrong(hop_trace *t, const char *field, const char *what)
{
	hop_trace_fail(t, HOP_EUSE, "%s: %s: %s", t->op, field, what);
	return false;
}

static bool size_in(hop_trace *t, hop_dim d, hop_size *out)
{
	*out = (hop_size){ d.k, d.e };
	return hop_size_known(t, t->op, *out);
}

static bool sizes_in(hop_trace *t, const hop_raw *a, hop_sizes *out)
{
	hop_size *v = HOP_NEWN(&t->arena, hop_size, (size_t)a->i);
	for (int64_t i = 0; i < a->i; i++)
		if (!size_in(t, ((const hop_dim *)a->p)[i], &v[i]))
			return false;
	*out = (hop_sizes){ a->i, v };
	return true;
}

static bool types_in(hop_trace *t, const hop_raw *a, hop_types *out)
{
	const hop_result *r = a->p;
	int64_t *head = HOP_NEWN(&t->arena, int64_t, 2 * (size_t)a->i);
	size_t n = 0, at = 0;
	for (int64_t i = 0; i < a->i; i++) {
		if ((uint64_t)r[i].dtype >= HOP_NDTYPE || r[i].rank < 0 || r[i].rank > HOP_MAXRANK)
			return wrong(t, "types", "a dtype or a rank that there is not");
		head[2 * i] = r[i].dtype;
		head[2 * i + 1] = r[i].rank;
		n += (size_t)r[i].rank;
	}
	hop_size *dim = HOP_NEWN(&t->arena, hop_size, n);
	for (int64_t i = 0; i < a->i; i++)
		for (int k = 0; k < r[i].rank; k++)
			if (!size_in(t, r[i].dim[k], &dim[at++]))
				return false;
	*out = (hop_types){ (int64_t)n, dim, a->i, head };
	return true;
}

static bool body_in(hop_trace *t, const hop_field *f, const hop_fn *fn, const hop_graph **out)
{
	*out = fn ? fn->g : NULL;
	if (!fn)
		return f->may_lack || wrong(t, f->name, "a function is missing");
	if (fn->ctx != t->root->ctx)
		return wrong(t, f->name, "the function is of another context");
	if (fn->nhidden || fn->nwrote)
		return wrong(t, f->name, "a body captures no arrays and writes no inputs");
	return true;
}

static bool bodies_in(hop_trace *t, const hop_field *f, const hop_raw *a, hop_graphs *out)
{
	const hop_graph **v = HOP_NEWN(&t->arena, const hop_graph *, (size_t)a->i);
	const hop_field must = { .name = f->name };
	for (int64_t i = 0; i < a->i; i++)
		if (!body_in(t, &must, ((const hop_fn *const *)a->p)[i], &v[i]))
			return false;
	*out = (hop_graphs){ a->i, v };
	return true;
}

static bool data_in(hop_trace *t, const hop_field *f, const hop_array *a, const hop_data **out)
{
	hop_data *d = HOP_NEW(&t->arena, hop_data);
	hop_size dim[HOP_MAXRANK];
	if (!a || a->ctx != t->root->ctx)
		return wrong(t, f->name, "an array is missing or of another context");
	if (a->mem)
		return wrong(t, f->name, "the array is on a device: copy it (hop_array_to)");
	for (int i = 0; i < a->rank; i++)
		dim[i] = hop_size_int(a->dim[i]);
	*d = (hop_data){ hop_type_get(hop_env_of(t), a->dtype, a->rank, dim),
	                 (size_t)a->count * hop_dtype_bytes(a->dtype), a->data };
	*out = d;
	return true;
}

/* One attribute into its place. */
static bool field_in(hop_trace *t, const hop_field *f, const hop_raw *a, void *to)
{
	bool list = f->kind == HOP_AK_ints || f->kind == HOP_AK_sizes || f->kind == HOP_AK_sargs ||
	            f->kind == HOP_AK_graphs || f->kind == HOP_AK_types;
	if (list && (a->i < 0 || (a->i && !a->p)))
		return wrong(t, f->name, "a count is negative or a list is missing");
	switch (f->kind) {
	case HOP_AK_f64:
		*(double *)to = a->f;
		return true;
	case HOP_AK_dtype:
		*(int64_t *)to = a->i;
		return (uint64_t)a->i < HOP_NDTYPE || wrong(t, f->name, "there is no such dtype");
	case HOP_AK_mode:
	case HOP_AK_how:
	case HOP_AK_save: {
		int n;
		hop_attr_words(f->kind, &n);
		*(int64_t *)to = a->i;
		return (a->i >= 0 && a->i < n) || wrong(t, f->name, "there is no such mode");
	}
	case HOP_AK_ints:
		*(hop_ints *)to = (hop_ints){ a->i, a->p };
		return true;
	case HOP_AK_size:
	case HOP_AK_length:
		return size_in(t, a->d, to);
	case HOP_AK_sizes:
	case HOP_AK_sargs:
		return sizes_in(t, a, to);
	case HOP_AK_sym:
		*(int64_t *)to = -1;         /* bound last: nothing else may fail between */
		return true;
	case HOP_AK_types:
		return types_in(t, a, to);
	case HOP_AK_str:
		*(hop_str *)to = (hop_str){ a->p ? (int64_t)strlen(a->p) : 0, a->p };
		return a->p || f->may_lack || wrong(t, f->name, "a text is missing");
	case HOP_AK_data:
		return data_in(t, f, a->p, to);
	case HOP_AK_graph:
		return body_in(t, f, a->p, to);
	case HOP_AK_graphs:
		return bodies_in(t, f, a, to);
	default:
		*(int64_t *)to = f->kind == HOP_AK_bool ? a->i != 0 : a->i;
		return true;
	}
}

static bool attrs_in(hop_trace *t, int op, const hop_raw *a, void *attr)
{
	const hop_opinfo *o = &hop_optab[op];
	for (int i = 0; i < o->nfield; i++)
		if (!field_in(t, &o->field[i], &a[i], (char *)attr + hop_attr_offset(op, i)))
			return false;
	for (int i = 0; i < o->nfield; i++)
		if (o->field[i].kind == HOP_AK_sym && a[i].i) {
			if (t->eager)
				return wrong(t, o->field[i].name, "what runs at once binds no size");
			*hop_attr_sym(op, attr) = hop_build_local(&t->b, (hop_range){ 0, HOP_SIZE_MAX }, NULL);
		}
	return true;
}

/* The node in the trace. */
static uint32_t emit(hop_trace *t, const struct call *c, const void *attr, const hop_val *in,
                     hop_val **out)
{
	hop_val v = hop_emit_op(&t->b, c->op, attr, (uint32_t)c->nin, in);
	uint32_t n = t->b.st ? 0 : t->b.node[t->b.nnode - 1].nout;
	*out = HOP_NEWN(&t->arena, hop_val, n);
	for (uint32_t k = 0; k < n; k++)
		(*out)[k] = (hop_val){ v.id + k };
	return n;
}

/* An operator in an eager trace: a graph of that node alone, run at once. */
static uint32_t run(hop_trace *t, const struct call *c, const void *attr, const hop_val *in,
                    hop_val **out)
{
	hop_build b;
	hop_graph *g;
	hop_val *p = HOP_NEWN(&t->arena, hop_val, c->nin);
	hop_build_open(&b, hop_env_of(t));
	b.loc = t->b.loc;
	for (int i = 0; i < c->nin; i++)
		p[i] = hop_build_param(&b, hop_typeof(&t->b, in[i]));
	hop_val v = hop_emit_op(&b, c->op, attr, (uint32_t)c->nin, p);
	uint32_t n = b.st ? 0 : b.node[b.nnode - 1].nout;
	*out = HOP_NEWN(&t->arena, hop_val, n);
	for (uint32_t k = 0; k < n; k++)
		(*out)[k] = (hop_val){ v.id + k };
	if ((t->b.st = hop_seal(&b, n, *out, NULL, &g)))
		return 0;
	return hop_call_here(t, g, (hop_sizes){ 0, NULL }, in, *out) ? 0 : n;
}

static void make(hop_trace *t, void *arg)
{
	struct call *c = arg;
	t->cast = HOP_NDTYPE;                  /* operands as the graph has them */
	if (c->nin < 0 || (c->nin && !c->in) || c->cap < 0 || (c->cap && !c->out)) {
		hop_trace_fail(t, HOP_EUSE, "%s: a count is negative or a list is missing", t->op);
		return;
	}
	void *attr = hop_arena_alloc(&t->arena, hop_attr_bytes(c->op));
	hop_val *in = HOP_NEWN(&t->arena, hop_val, c->nin), *out;
	for (int i = 0; i < c->nin && !t->b.st; i++)
		in[i] = hop_value_read(t, c->in[i]);
	if (t->b.st || !attrs_in(t, c->op, c->a, attr))
		return;
	bool alone = t->eager && hop_optab[c->op].flags & HOP_F_R;
	uint32_t n = alone ? run(t, c, attr, in, &out) : emit(t, c, attr, in, &out);
	if (t->b.st)
		return;
	if (n > (uint32_t)c->cap) {
		hop_trace_fail(t, HOP_EUSE, "%s: gives %u results, there is room for %d", t->op, n,
		               c->cap);
		return;
	}
	for (uint32_t k = 0; k < n; k++)
		c->out[k] = hop_value_new(t, out[k]);
	c->n = t->b.st ? 0 : (int)n;
}

int hop_raw_op(hop_trace *t, const char *file, int line, int op, const hop_raw *a, int nin,
               const hop_value *in, int cap, hop_value *out)
{
	struct call c = { .op = op, .nin = nin, .cap = cap, .a = a, .in = in, .out = out };
	hop_enter(t, hop_optab[op].name, file, line, make, &c);
	return c.n;
}
