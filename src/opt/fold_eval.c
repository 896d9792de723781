/* fold_eval.c -- evaluating nodes while compiling, by the interpreter's own rules. Knows no
 * identities; those are in fold.c. */
#include "opt/fold.h"

#include <string.h>

#include "interp/interp.h"

static const hop_data *constant(const hop_rw *w, hop_val v)
{
	const hop_node *n = hop_rw_def(w, v, HOP_OP_constant);
	return n ? HOP_ATTR(n, constant)->value : NULL;
}

const void *hop_fold_splat(const hop_rw *w, hop_val v)
{
	const hop_data *d = constant(w, v);
	if (!d) {
		const hop_node *n = hop_rw_def(w, v, HOP_OP_broadcast);
		d = n ? constant(w, n->in[0]) : NULL;
	}
	return d && d->nbyte == hop_dtype_bytes((hop_dtype)d->type->dtype) ? d->bytes : NULL;
}

/* Elements of a type with constant sizes; -1 when they are not, or too many. */
static int64_t small(hop_env *e, const hop_type *t)
{
	hop_size n = hop_type_count(e, t);
	return hop_size_const(n) && n.k >= 0 && n.k <= HOP_FOLD_MAX ? n.k : -1;
}

static bool const_dims(const hop_type *t)
{
	for (int i = 0; i < t->rank; i++)
		if (!hop_size_const(t->dim[i]))
			return false;
	return true;
}

const hop_data *hop_fold_data(hop_rw *w, hop_val v)
{
	const hop_type *t = hop_typeof(&w->b, v);
	int64_t n = const_dims(t) ? small(w->env, t) : -1;
	const hop_data *d = constant(w, v);
	if (n < 0 || d)
		return n < 0 ? NULL : d;
	const void *one = hop_fold_splat(w, v);
	if (!one)
		return NULL;
	size_t size = hop_dtype_bytes((hop_dtype)t->dtype);
	hop_data *made = HOP_NEW(&w->env->tmp, hop_data);
	char *bytes = hop_arena_alloc(&w->env->tmp, (size_t)n * size + 8);
	for (int64_t i = 0; i < n; i++)
		memcpy(bytes + (size_t)i * size, one, size);
	*made = (hop_data){ t, (size_t)n * size, bytes };
	return made;
}

hop_val hop_fold_emit(hop_rw *w, const hop_type *t, const void *bytes)
{
	size_t size = hop_dtype_bytes((hop_dtype)t->dtype);
	hop_size n = hop_type_count(w->env, t);
	int64_t i = 1;
	while (i < n.k && !memcmp(bytes, (const char *)bytes + (size_t)i * size, size))
		i++;
	if (!t->rank || i != n.k)
		return hop_emit_data(&w->b, t, bytes);
	hop_val one = hop_emit_data(&w->b, hop_type_scalar(w->env, (hop_dtype)t->dtype), bytes);
	return hop_emit_broadcast(&w->b, one, t->rank, t->dim, NULL);
}

static hop_array *load(hop_interp *p, const hop_data *d)
{
	hop_array *t = hop_interp_of(p, d->type);
	if (d->nbyte)
		memcpy(t->data, d->bytes, d->nbyte);
	return t;
}

/* What runs under a guard of its own: without memory the tensors must go before the exit
 * of the caller is taken. The job lies in an arena, so the jump leaves it intact. */
struct job {
	hop_interp        p;
	const hop_node   *n;
	const hop_graph  *g;             /* instead of n: run a graph */
	uint32_t          nin;
	const hop_data *const *in;
	const int64_t    *syms;
	hop_array       *out;
};

static hop_status work(struct job *j, const hop_type *t)
{
	hop_interp *p = &j->p;
	hop_array **in = HOP_NEWN(&p->env->tmp, hop_array *, j->nin);
	for (uint32_t k = 0; k < j->nin; k++)
		in[k] = j->in[k] ? load(p, j->in[k]) : NULL;
	if (j->g)
		return hop_interp_graph(p, j->g, j->syms, in, &j->out);
	hop_graph around = { .ctx = p->env->ctx, .nvalue = 1, .type = &t };
	p->g = &around;
	j->out = hop_interp_of(p, t);
	hop_status st = hop_optab[j->n->op].eval(p, j->n, in, &j->out);
	p->g = NULL;
	return st;
}

static bool run(hop_env *e, struct job *j, const hop_type *t)
{
	hop_frame f;
	hop_interp_init(&j->p, e);
	if (HOP_GUARD(e, &f)) {
		hop_guard_nomem(e, &f);
		hop_interp_fini(&j->p);
		hop_nomem(e);
	}
	hop_status st = work(j, t);
	hop_guard_end(e, &f);
	if (st)
		hop_diag_clear(e);       /* it fails when it runs, and then says so */
	return !st;
}

bool hop_fold_eval(hop_rw *w, const hop_node *n, const void *attr,
                   const hop_data *const *in, const hop_type *t, hop_val *out_v)
{
	hop_env *e = w->env;
	if (!const_dims(t) || small(e, t) < 0)
		return false;
	hop_mark m = hop_mark_at(&e->tmp);
	hop_node *copy = HOP_NEW(&e->tmp, hop_node);
	struct job *j = HOP_NEW(&e->tmp, struct job);
	*copy = *n;
	copy->attr = attr;
	copy->out0 = (hop_val){ 0 };
	j->n = copy;
	j->nin = n->nin;
	j->in = in;
	bool ok = run(e, j, t);
	void *bytes = NULL;
	if (ok) {
		size_t nb = (size_t)j->out->count * hop_dtype_bytes(j->out->dtype);
		bytes = hop_arena_alloc(&e->tmp, nb + 8);
		memcpy(bytes, j->out->data, nb);
	}
	hop_interp_fini(&j->p);
	if (ok)
		*out_v = hop_fold_emit(w, t, bytes);
	hop_rewind(&e->tmp, m);
	return ok;
}

bool hop_fold_test(hop_rw *w, const hop_graph *g, const int64_t *syms,
                   const hop_data *const *in, bool *out_b)
{
	hop_env *e = w->env;
	hop_mark m = hop_mark_at(&e->tmp);
	struct job *j = HOP_NEW(&e->tmp, struct job);
	j->g = g;
	j->nin = g->nparam;
	j->in = in;
	j->syms = syms;
	bool ok = run(e, j, NULL);
	if (ok)
		*out_b = hop_array_i(j->out, 0);
	hop_interp_fini(&j->p);
	hop_rewind(&e->tmp, m);
	return ok;
}
