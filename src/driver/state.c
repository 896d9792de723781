/* state.c -- parameters as trees of arrays: a call with some of them replaced, and several of them as
 * one with an axis for the models. Calls by name are call_tree.c's. */
#include <string.h>

#include "ctx/ctx.h"
#include "data/fn.h"
#include "data/tree.h"
#include "hop/transform.h"

/* ---- a call with some inputs replaced ---- */

struct swap {
	hop_env           *e;
	const hop_tree    *tree;       /* of the inputs */
	hop_array        **in;
	bool              *done;       /* [leaves] replaced already */
	const hop_replace *r;
};

static bool put(struct swap *s, const char *path, hop_array *a)
{
	int k = hop_tree_find(s->tree, path);
	if (k < 0)
		hop_fail(s->e, 0, HOP_EUSE, "functional_call: there is no input %s to replace", path);
	else if (s->done[k])
		hop_fail(s->e, 0, HOP_EUSE, "functional_call: %s is replaced twice", path);
	else if (!a)
		hop_fail(s->e, 0, HOP_EUSE, "functional_call: there is no array for %s", path);
	if (s->e->diag.st)
		return false;
	s->done[k] = true;
	s->in[k] = a;
	return true;
}

static bool put_leaf(const hop_tree_leaf *l, void *user)
{
	struct swap *s = user;
	const char *root = s->r->path;
	hop_buf b;
	hop_buf_open(&b, s->e);
	hop_putf(&b, "%s%s%s", root ? root : "", root && *root ? "." : "", l->path);
	bool ok = put(s, b.s, ((hop_array *const *)s->r->arrays)[l->i]);
	hop_buf_free(&b);
	return ok;
}

static hop_status swap_all(struct swap *s, int n, const hop_replace *r)
{
	HOP_TRY(hop_tree_good(s->e, "functional_call", s->tree));
	for (int i = 0; i < n; i++) {
		s->r = &r[i];
		if (!r[i].tree) {
			if (!r[i].path)
				return hop_fail(s->e, 0, HOP_EUSE, "functional_call: replacement %d has neither a "
				                "path nor a tree", i);
			if (!put(s, r[i].path, r[i].a))
				return s->e->diag.st;
			continue;
		}
		HOP_TRY(hop_tree_good(s->e, "functional_call", r[i].tree));
		if (r[i].tree->count && !r[i].arrays)
			return hop_fail(s->e, 0, HOP_EUSE, "functional_call: there are no arrays for %s",
			                r[i].path ? r[i].path : "the tree");
		if (!hop_tree_each(r[i].tree, put_leaf, s))
			return s->e->diag.st;
	}
	return HOP_OK;
}

hop_status hop_functional_call(hop_fn *f, const hop_tree *in_tree, const void *in, int n,
                               const hop_replace *r, const hop_tree *out_tree, void *out)
{
	hop_env e;
	hop_frame fr;
	hop_status st;
	struct swap s = { .e = &e, .tree = in_tree };
	int nin = hop_tree_count(in_tree), nout = hop_tree_count(out_tree);
	if (!f || n < 0 || (n && !r) || (nin && !in) || (nout && !out))
		return HOP_EUSE;
	for (int i = 0; i < nout && nout == out_tree->count; i++)
		((hop_array **)out)[i] = NULL;
	hop_env_init(&e, f->ctx, hop_ctx_mem(f->ctx));
	if (HOP_GUARD(&e, &fr)) {
		st = hop_guard_nomem(&e, &fr);
	} else {
		s.in = HOP_NEWN(&e.tmp, hop_array *, nin);
		s.done = HOP_NEWN(&e.tmp, bool, nin);
		if (nin)
			memcpy(s.in, in, (size_t)nin * sizeof *s.in);
		st = swap_all(&s, n, r);
		hop_guard_end(&e, &fr);
	}
	if (st)
		hop_ctx_set_message(f->ctx, &e.diag);
	else
		st = hop_call_tree(f, in_tree, s.in, out_tree, out);
	hop_env_fini(&e);
	return st;
}

/* ---- several structs as one ---- */

struct stack {
	hop_ctx           *c;
	hop_env           *e;
	int                n;
	const void *const *model;      /* [n] structs of arrays */
	hop_array        **out;
};

static bool alike(const hop_array *a, const hop_array *b)
{
	bool same = a->dtype == b->dtype && a->rank == b->rank;
	for (int i = 0; same && i < a->rank; i++)
		same = a->dim[i] == b->dim[i];
	return same;
}

static bool stack_leaf(const hop_tree_leaf *l, void *user)
{
	struct stack *s = user;
	const hop_array *first = NULL;
	int64_t dim[HOP_MAXRANK + 1];
	for (int m = 0; m < s->n; m++) {
		const hop_array *a = s->model[m] ? ((hop_array *const *)s->model[m])[l->i] : NULL;
		first = m ? first : a;
		if (!a)
			hop_fail(s->e, 0, HOP_EUSE, "stack_state: %s of model %d is missing", l->path, m);
		else if (a->rank == HOP_MAXRANK)
			hop_fail(s->e, 0, HOP_ESHAPE, "stack_state: %s has rank %d already", l->path, a->rank);
		else if (!alike(first, a))
			hop_fail(s->e, 0, HOP_ESHAPE, "stack_state: %s of model %d has another dtype or other "
			                              "sizes than that of model 0", l->path, m);
		if (s->e->diag.st)
			return false;
	}
	dim[0] = s->n;
	memcpy(dim + 1, first->dim, (size_t)first->rank * sizeof *dim);
	hop_status st = hop_array_raw(s->c, first->dtype, first->rank + 1, dim, &s->out[l->i]);
	if (st) {
		hop_fail(s->e, 0, st, "stack_state: %s: %s", l->path, hop_message(s->c));
		return false;
	}
	size_t bytes = (size_t)first->count * hop_dtype_bytes(first->dtype);
	for (int m = 0; m < s->n && bytes && !st; m++)
		st = hop_array_pack(((hop_array *const *)s->model[m])[l->i],
		                    (char *)s->out[l->i]->data + (size_t)m * bytes);
	if (st)
		hop_fail(s->e, 0, st, "stack_state: %s: %s", l->path, hop_message(s->c));
	return !st;
}

static hop_status stack_all(struct stack *s, const hop_tree *tree)
{
	HOP_TRY(hop_tree_good(s->e, "stack_state", tree));
	if (s->n < 1)
		return hop_fail(s->e, 0, HOP_EVALUE, "stack_state: %d models: at least one is needed", s->n);
	hop_tree_each(tree, stack_leaf, s);
	return s->e->diag.st;
}

hop_status hop_stack_state(hop_ctx *c, const hop_tree *tree, int n, const void *const *arrays,
                           void *out_arrays)
{
	hop_env e;
	hop_frame fr;
	hop_status st;
	int nleaf = hop_tree_count(tree);
	struct stack s = { .c = c, .e = &e, .n = n, .model = arrays, .out = out_arrays };
	if (!c || (nleaf && !out_arrays) || (n > 0 && !arrays))
		return HOP_EUSE;
	for (int i = 0; i < nleaf && nleaf == tree->count; i++)
		s.out[i] = NULL;
	hop_env_init(&e, c, hop_ctx_mem(c));
	if (HOP_GUARD(&e, &fr)) {
		st = hop_guard_nomem(&e, &fr);
	} else {
		st = stack_all(&s, tree);
		hop_guard_end(&e, &fr);
	}
	if (st) {
		hop_ctx_set_message(c, &e.diag);
		if (tree && nleaf == tree->count)
			hop_tree_release(tree, out_arrays);
	}
	hop_env_fini(&e);
	return st;
}
