/* array.c -- arrays and specs: what goes into a function and comes out. Dense; in memory of
 * their own or of somebody who is told when it is no longer needed. Layout tricks are the
 * compiler's business. */
#include "trace/trace.h"

#include <string.h>

static hop_status refuse(hop_ctx *c, hop_status st, const char *text)
{
	hop_diag d = { .st = st, .text = (char *)(uintptr_t)text, .len = strlen(text) };
	hop_ctx_set_message(c, &d);
	return st;
}

/* With data: of somebody else. */
static hop_status make(hop_ctx *c, hop_dtype d, int rank, const int64_t *dim, void *data,
                       hop_array **out_a)
{
	if (!out_a)
		return HOP_EUSE;
	*out_a = NULL;
	if (!c)
		return HOP_EUSE;
	if ((unsigned)d >= HOP_NDTYPE || rank < 0 || rank > HOP_RANK || (rank && !dim))
		return refuse(c, HOP_EVALUE, "error: array: a dtype or a rank that is none");
	int64_t count = 1;
	for (int i = 0; i < rank; i++)
		if (dim[i] < 0 || dim[i] > HOP_SIZE_MAX ||
		    __builtin_mul_overflow(count, dim[i], &count) || count > HOP_SIZE_MAX)
			return refuse(c, HOP_EVALUE, "error: array: sizes that are negative or too large");
	hop_mem m = hop_ctx_mem(c);
	size_t bytes = (size_t)count * hop_dtype_bytes(d), room;
	size_t behind = data ? 0 : bytes + HOP_ARRAY_ALIGN;
	hop_array *a = hop_shelf_take(hop_ctx_shelf(c), &m, sizeof *a + behind, &room);
	if (!a)
		return refuse(c, HOP_ENOMEM, "error: no memory");
	if (!data)
		data = (void *)(((uintptr_t)(a + 1) + HOP_ARRAY_ALIGN - 1) / HOP_ARRAY_ALIGN *
		                HOP_ARRAY_ALIGN);
	*a = (hop_array){ .refs = 1, .ctx = c, .dtype = d, .rank = rank, .count = count,
	                  .bytes = bytes, .data = data, .room = room };
	for (int i = 0; i < rank; i++)
		a->dim[i] = dim[i];
	*out_a = a;
	return HOP_OK;
}

hop_status hop_array_raw(hop_ctx *c, hop_dtype d, int rank, const int64_t *dim,
                         hop_array **out_a)
{
	return make(c, d, rank, dim, NULL, out_a);
}

hop_status hop_array_adopt(hop_ctx *c, hop_dtype d, int rank, const int64_t *dim, void *data,
                           bool readonly, hop_drop *drop, void *owner, hop_array **out_a)
{
	static char nothing;
	int64_t none = 1;
	for (int i = 0; i < rank && rank <= HOP_RANK && dim; i++)
		none = dim[i] && none;
	if (!data && !none)
		data = &nothing;                    /* of no elements */
	if (out_a)
		*out_a = NULL;
	if (!data || !out_a)
		return c ? refuse(c, HOP_EUSE, "error: adopt: no data, or no place for the array")
		         : HOP_EUSE;
	if ((unsigned)d < HOP_NDTYPE && (uintptr_t)data % hop_dtype_bytes(d) && none)
		return c ? refuse(c, HOP_EVALUE, "error: adopt: the data are not aligned to their "
		                  "elements") : HOP_EUSE;
	hop_status st = make(c, d, rank, dim, data, out_a);
	if (st)
		return st;
	(*out_a)->readonly = readonly;
	(*out_a)->drop = drop;
	(*out_a)->owner = owner;
	return HOP_OK;
}

hop_status hop_array_new(hop_ctx *c, hop_dtype d, int rank, const int64_t *dim,
                         const void *data, hop_array **out_a)
{
	hop_status st = hop_array_raw(c, d, rank, dim, out_a);
	if (st)
		return st;
	uint8_t *p = (*out_a)->data;
	size_t bytes = (*out_a)->bytes;
	if (!data)
		memset(p, 0, bytes);
	else if (bytes)
		memcpy(p, data, bytes);
	if (data && hop_dtype_bool(d))          /* any byte that is not zero is true */
		for (size_t i = 0; i < bytes; i++)
			p[i] = p[i] != 0;
	return HOP_OK;
}

hop_array *hop_array_retain(hop_array *a)
{
	if (a)
		__atomic_fetch_add(&a->refs, 1, __ATOMIC_RELAXED);
	return a;
}

void hop_array_release(hop_array *a)
{
	if (!a || __atomic_fetch_sub(&a->refs, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	hop_mem m = hop_ctx_mem(a->ctx);
	if (a->drop)
		a->drop(a->owner);
	hop_shelf_give(hop_ctx_shelf(a->ctx), &m, a, a->room);
}

void *hop_array_data(hop_array *a)
{
	return a ? a->data : NULL;
}

hop_dtype hop_array_dtype(const hop_array *a)
{
	return a ? a->dtype : HOP_f32;
}

int hop_array_rank(const hop_array *a)
{
	return a ? a->rank : 0;
}

const int64_t *hop_array_dims(const hop_array *a)
{
	return a ? a->dim : NULL;
}

int64_t hop_array_count(const hop_array *a)
{
	return a ? a->count : 0;
}

double hop_array_at(const hop_array *a, int64_t i)
{
	if (!a || i < 0 || i >= a->count)
		return 0;
	hop_tensor t = { .dtype = a->dtype, .count = a->count, .data = a->data };
	return hop_tensor_f(&t, i);
}

/* ---- specs ---- */

hop_spec hop_spec_of(hop_dtype d, int rank, const int64_t *dim)
{
	hop_spec s = { .dtype = d, .rank = rank };
	for (int i = 0; i < rank && i < HOP_RANK && dim; i++)
		s.dim[i] = dim[i];
	return s;
}

hop_spec hop_spec0(hop_dtype d)
{
	return hop_spec_of(d, 0, NULL);
}

hop_spec hop_spec1(hop_dtype d, int64_t n)
{
	return hop_spec_of(d, 1, &n);
}

hop_spec hop_spec2(hop_dtype d, int64_t n, int64_t m)
{
	return hop_spec_of(d, 2, (int64_t[]){ n, m });
}

hop_spec hop_spec3(hop_dtype d, int64_t n, int64_t m, int64_t k)
{
	return hop_spec_of(d, 3, (int64_t[]){ n, m, k });
}

hop_spec hop_spec_sym(hop_spec s, int axis, const char *name, int64_t min, int64_t max)
{
	if (axis >= 0 && axis < HOP_RANK) {
		s.sym[axis] = name;
		s.dim[axis] = min;
		s.max[axis] = max;
	}
	return s;
}

/* ---- arrays in traces ---- */

/* The tensor of an array's contents, in the trace's interpreter. */
static hop_tensor *tensor_of(hop_root *r, const hop_array *a)
{
	hop_tensor *x = hop_tensor_new(&r->ip, a->dtype, a->rank, a->dim);
	if (a->bytes)
		memcpy(x->data, a->data, a->bytes);
	return x;
}

/* Arrays belong to the outermost trace, whichever asks: there they are parameters. */
hop_value hop_array_here(hop_trace *t, hop_array *a)
{
	hop_root *r = t->root;
	hop_trace *base = r->base;
	if (!a || a->ctx != r->ctx) {
		hop_trace_fail(t, HOP_EUSE, "%s: the array is missing or of another context", t->op);
		return (hop_value){ 0, 0 };
	}
	for (size_t i = 0; i < r->narray; i++)
		if (r->array[i] == a)
			return (hop_value){ base->serial, r->array_slot[i] };
	size_t cap = r->arraycap;
	r->array_slot = hop_arena_grow(&r->arena, r->array_slot, sizeof *r->array_slot,
	                               r->narray + 1, &cap);
	r->array = hop_arena_grow(&r->arena, r->array, sizeof *r->array, r->narray + 1,
	                          &r->arraycap);
	hop_val v;
	if (base->eager) {
		v = hop_eager_leaf(base, tensor_of(r, a));
	} else {
		hop_size dim[HOP_MAXRANK];
		for (int i = 0; i < a->rank; i++)
			dim[i] = hop_size_int(a->dim[i]);
		v = hop_param_new(base, hop_type_get(&r->env, a->dtype, a->rank, dim));
	}
	hop_value h = hop_value_new(base, v);
	r->array[r->narray] = hop_array_retain(a);
	r->array_slot[r->narray++] = h.id;
	return h;
}

struct using {
	hop_array *a;
	hop_value  v;
};

static void make_use(hop_trace *t, void *arg)
{
	struct using *u = arg;
	u->v = hop_array_here(t, u->a);
}

hop_value hop_at_use(hop_trace *t, const char *file, int line, hop_array *a)
{
	struct using u = { .a = a };
	return hop_enter(t, "use", file, line, make_use, &u) ? u.v : (hop_value){ 0, 0 };
}

struct reading {
	hop_value   v;
	hop_tensor *x;
};

static void make_read(hop_trace *t, void *arg)
{
	struct reading *r = arg;
	if (!t->eager) {
		hop_trace_fail(t, HOP_EUSE, "read: the trace is captured, it has no data yet");
		return;
	}
	hop_val v = hop_value_read(t, r->v);
	if (!t->b.st)
		hop_eager_settle(t);
	if (!t->b.st)
		r->x = hop_eager_tensor(t, v);
}

hop_status hop_at_read(hop_trace *t, const char *file, int line, hop_value v,
                       hop_array **out_a)
{
	struct reading r = { .v = v };
	if (!out_a || !t)
		return HOP_EUSE;
	*out_a = NULL;
	if (!hop_enter(t, "read", file, line, make_read, &r))
		return t->root->env.diag.st;
	return hop_array_new(t->root->ctx, r.x->dtype, r.x->rank, r.x->dim, r.x->data, out_a);
}

/* ---- eager traces ---- */

hop_status hop_eager_new(hop_ctx *c, hop_trace **out_t)
{
	return hop_eager_new_with(c, NULL, out_t);
}

hop_status hop_eager_new_with(hop_ctx *c, const hop_run_opts *o, hop_trace **out_t)
{
	if (!out_t || !c || (o && o->size && o->size != sizeof *o))
		return HOP_EUSE;
	hop_status st = hop_root_new(c, true, out_t);
	if (st)
		return st;
	(*out_t)->what = "this eager trace";
	(*out_t)->root->ip.cancel = o ? o->cancel : NULL;
	return HOP_OK;
}

/* Writes to arrays happen here, and only when nothing failed. */
hop_status hop_eager_free(hop_trace *t)
{
	if (!t || t != t->root->base || !t->eager)       /* a body's trace, or a captured one */
		return HOP_EUSE;
	hop_root *r = t->root;
	hop_trace *base = r->base;
	for (size_t i = 0; !r->env.diag.st && i < r->narray; i++) {
		const hop_store *s = &base->store[base->slot[r->array_slot[i]].store];
		if (s->version)
			memcpy(r->array[i]->data, hop_eager_tensor(base, s->cur)->data,
			       r->array[i]->bytes);
	}
	return hop_root_free(base);
}
