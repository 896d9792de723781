/* tree_type.c -- the types that leaves of a tree are declared with: read from their text, compared
 * with arrays, and arrays made from them. Does not look into arrays. */
#include "data/tree.h"

#include <string.h>

#include "ctx/ctx.h"

/* ---- reading "f32[n, d#+1, 4]" ---- */

struct types {
	hop_env              *env;
	const char           *op;
	const hop_named_size *sizes;
	hop_spec             *out;
	bool                 *untyped;
	const hop_tree_leaf  *leaf;
	const char           *p;
};

static bool bad(struct types *t, const char *what)
{
	hop_fail(t->env, 0, HOP_EVALUE, "%s: %s is declared \"%s\": %s", t->op, t->leaf->path,
	         t->leaf->type, what);
	return false;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void blanks(struct types *t)
{
	while (*t->p == ' ')
		t->p++;
}

static bool number(struct types *t, int64_t *out)
{
	int64_t v = 0;
	if (!is_digit(*t->p))
		return bad(t, "a size is a number or a name");
	for (; is_digit(*t->p); t->p++)
		if ((v = v * 10 + (*t->p - '0')) > HOP_SIZE_MAX)
			return bad(t, "a size is too large");
	*out = v;
	return !is_word(*t->p) || bad(t, "a name does not begin with a digit");
}

/* A name; # in it is the index of the array around the leaf, #+2 two more. */
static bool word(struct types *t, hop_buf *b)
{
	while (is_word(*t->p) || *t->p == '#') {
		if (*t->p != '#') {
			hop_putc(b, *t->p++);
			continue;
		}
		int64_t more = 0;
		if (t->leaf->index < 0)
			return bad(t, "# is the index of an array, and it is in none");
		t->p++;
		if (*t->p == '+') {
			t->p++;
			if (!number(t, &more))
				return false;
		}
		hop_putf(b, "%lld", (long long)(t->leaf->index + more));
	}
	return b->n > 0 || bad(t, "a size is a number or a name");
}

/* ": 1..64", ": 2.."; or nothing, and then any. */
static bool bounds(struct types *t, int64_t *lo, int64_t *hi)
{
	*lo = *hi = 0;
	blanks(t);
	if (*t->p != ':')
		return true;
	t->p++;
	blanks(t);
	if (!number(t, lo))
		return false;
	if (t->p[0] != '.' || t->p[1] != '.')
		return bad(t, "bounds are written 1..64 or 1..");
	t->p += 2;
	return !is_digit(*t->p) || number(t, hi);
}

static const hop_named_size *given(const hop_named_size *s, const char *name)
{
	for (; s && s->name; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

static bool size(struct types *t, hop_spec *s, int k)
{
	hop_buf b;
	int64_t lo, hi;
	blanks(t);
	if (is_digit(*t->p))
		return number(t, &s->dim[k]);
	hop_buf_open(&b, t->env);
	bool ok = word(t, &b) && bounds(t, &lo, &hi);
	const hop_named_size *is = ok ? given(t->sizes, b.s) : NULL;
	if (is && (is->n < lo || (hi && is->n > hi) || is->n > HOP_SIZE_MAX)) {
		hop_fail(t->env, 0, HOP_EVALUE, "%s: size %s is %lld, and %s is declared \"%s\"", t->op,
		         b.s, (long long)is->n, t->leaf->path, t->leaf->type);
		ok = false;
	} else if (is) {
		s->dim[k] = is->n;
	} else if (ok) {
		s->sym[k] = hop_ctx_name(t->env, b.s, b.n);
		s->dim[k] = lo;
		s->max[k] = hi;
	}
	hop_buf_free(&b);
	return ok;
}

static bool type(struct types *t, hop_spec *s)
{
	const char *from = t->p = t->leaf->type;
	while (is_word(*t->p))
		t->p++;
	if (!hop_dtype_find(from, (size_t)(t->p - from), &s->dtype))
		return bad(t, "it does not begin with a dtype");
	if (*t->p == '[')
		do {
			t->p++;
			if (s->rank == HOP_RANK)
				return bad(t, "it has too many axes");
			if (!size(t, s, s->rank++))
				return false;
			blanks(t);
		} while (*t->p == ',');
	if (s->rank && *t->p++ != ']')
		return bad(t, "a type is written f32[n, 4]");
	return !*t->p || bad(t, "a type is written f32[n, 4]");
}

static bool read_type(const hop_tree_leaf *l, void *user)
{
	struct types *t = user;
	t->leaf = l;
	t->out[l->i] = (hop_spec){ .dtype = HOP_f32 };
	if (t->untyped)
		t->untyped[l->i] = !l->type;
	if (l->type)
		return type(t, &t->out[l->i]);
	if (!t->untyped)
		hop_fail(t->env, 0, HOP_EUSE, "%s: %s is declared without a type", t->op, l->path);
	return t->untyped;
}

hop_status hop_tree_types(hop_env *e, const char *op, const hop_tree *tree,
                          const hop_named_size *sizes, hop_spec *out, bool *untyped)
{
	struct types t = { .env = e, .op = op, .sizes = sizes, .out = out, .untyped = untyped };
	hop_tree_each(tree, read_type, &t);
	return e->diag.st;
}

/* ---- trees that can be used ---- */

hop_status hop_tree_good(hop_env *e, const char *op, const hop_tree *tree)
{
	if (!tree)
		return hop_fail(e, 0, HOP_EUSE, "%s: no tree was given", op);
	int n = hop_tree_count(tree);
	return n == tree->count ? HOP_OK : hop_fail(e, 0, HOP_EUSE, "%s: the tree names %d values, its "
	                                            "struct has %d", op, n, tree->count);
}

struct names {
	hop_env     *env;
	const char **out;
};

static bool take_name(const hop_tree_leaf *l, void *user)
{
	struct names *n = user;
	n->out[l->i] = hop_ctx_name(n->env, l->path, strlen(l->path));
	return true;
}

hop_status hop_tree_names(hop_env *e, hop_loc at, const char *op, const hop_tree *tree,
                          const char **out)
{
	struct names n = { e, out };
	hop_mark m = hop_mark_at(&e->tmp);
	hop_map seen = { .a = &e->tmp };
	hop_tree_each(tree, take_name, &n);
	int count = hop_tree_count(tree);
	for (int i = 0; i < count && !e->diag.st; i++) {
		if (hop_map_get(&seen, &out[i], sizeof out[i]))
			hop_fail(e, at, HOP_EVALUE, "%s: two values are called %s", op, out[i]);
		hop_map_put(&seen, &out[i], sizeof out[i], e);
	}
	hop_rewind(&e->tmp, m);
	return e->diag.st;
}

/* ---- arrays ---- */

static void put_spec(hop_buf *b, hop_dtype d, int rank, const int64_t *dim, const char *const *sym)
{
	hop_put(b, hop_dtype_name(d));
	for (int k = 0; k < rank; k++) {
		hop_put(b, k ? ", " : "[");
		if (sym && sym[k])
			hop_put(b, sym[k]);
		else
			hop_putf(b, "%lld", (long long)dim[k]);
	}
	hop_put(b, rank ? "]" : "");
}

static hop_status misfit(hop_env *e, const char *what, const char *name, const hop_spec *s,
                         const hop_array *a, const char *more)
{
	hop_buf want, got;
	hop_buf_open(&want, e);
	hop_buf_open(&got, e);
	put_spec(&want, s->dtype, s->rank, s->dim, s->sym);
	put_spec(&got, a->dtype, a->rank, a->dim, NULL);
	hop_status st = hop_fail(e, 0, a->dtype != s->dtype ? HOP_ETYPE : HOP_ESHAPE,
	                         "%s: %s is %s, it should be %s%s", what, name, got.s, want.s, more);
	hop_buf_free(&got);
	hop_buf_free(&want);
	return st;
}

/* The first size that a symbol had; the names of symbols are interned. */
struct known {
	const char *sym;
	int64_t     n;
	int         by;                /* the array it is of */
};

static hop_status fits_one(hop_env *e, const char *what, const char *const *name, int i,
                           const hop_spec *s, const hop_array *a, hop_map *seen)
{
	if (a->dtype != s->dtype || a->rank != s->rank)
		return misfit(e, what, name[i], s, a, "");
	for (int k = 0; k < s->rank; k++) {
		if (!s->sym[k]) {
			if (s->dim[k] != a->dim[k])
				return misfit(e, what, name[i], s, a, "");
			continue;
		}
		if (a->dim[k] < s->dim[k] || (s->max[k] && a->dim[k] > s->max[k]))
			return misfit(e, what, name[i], s, a, ", with a size within its bounds");
		struct known *had = hop_map_get(seen, &s->sym[k], sizeof s->sym[k]);
		if (!had) {
			had = HOP_NEW(&e->tmp, struct known);
			*had = (struct known){ s->sym[k], a->dim[k], i };
			hop_map_put(seen, &s->sym[k], sizeof s->sym[k], had);
		}
		if (had->n == a->dim[k])
			continue;
		hop_status st = misfit(e, what, name[i], s, a, "");
		hop_note(e, 0, "%s has %s = %lld", name[had->by], s->sym[k], (long long)had->n);
		return st;
	}
	return HOP_OK;
}

hop_status hop_tree_fits(hop_env *e, const char *what, int n, const char *const *name,
                         const hop_spec *type, const bool *untyped, hop_array *const *array)
{
	hop_mark m = hop_mark_at(&e->tmp);
	hop_map seen = { .a = &e->tmp };
	for (int i = 0; i < n && !e->diag.st; i++)
		if (!untyped[i])
			fits_one(e, what, name, i, &type[i], array[i], &seen);
	hop_rewind(&e->tmp, m);
	return e->diag.st;
}

/* ---- the doors ---- */

typedef hop_status tree_do(hop_env *e, hop_ctx *c, const hop_tree *tree,
                           const hop_named_size *sizes, void *out);

static hop_status specs(hop_env *e, hop_ctx *c, const hop_tree *tree, const hop_named_size *sizes,
                        void *out)
{
	(void)c;
	HOP_TRY(hop_tree_good(e, "tree_specs", tree));
	return hop_tree_types(e, "tree_specs", tree, sizes, out, NULL);
}

static hop_status zeros(hop_env *e, hop_ctx *c, const hop_tree *tree, const hop_named_size *sizes,
                        void *out)
{
	char path[HOP_PATH];
	hop_array **a = out;
	HOP_TRY(hop_tree_good(e, "tree_new", tree));
	for (int i = 0; i < tree->count; i++)
		a[i] = NULL;
	hop_spec *s = HOP_NEWN(&e->tmp, hop_spec, tree->count);
	HOP_TRY(hop_tree_types(e, "tree_new", tree, sizes, s, NULL));
	for (int i = 0; i < tree->count; i++) {
		for (int k = 0; k < s[i].rank; k++)
			if (s[i].sym[k]) {
				hop_tree_path(tree, i, path, sizeof path);
				return hop_fail(e, 0, HOP_EVALUE, "tree_new: size %s of %s is not given",
				                s[i].sym[k], path);
			}
		HOP_TRY(hop_array_new(c, s[i].dtype, s[i].rank, s[i].dim, NULL, &a[i]));
	}
	return HOP_OK;
}

static hop_status guarded(hop_ctx *c, const hop_tree *tree, const hop_named_size *sizes,
                          tree_do *f, void *out)
{
	hop_env e;
	hop_frame fr;
	hop_status st;
	if (!c || !out)
		return HOP_EUSE;
	hop_env_init(&e, c, hop_ctx_mem(c));
	if (HOP_GUARD(&e, &fr)) {
		st = hop_guard_nomem(&e, &fr);
	} else {
		st = f(&e, c, tree, sizes, out);
		hop_guard_end(&e, &fr);
	}
	if (e.diag.st)
		hop_ctx_set_message(c, &e.diag);
	hop_env_fini(&e);
	return st;
}

hop_status hop_tree_specs(hop_ctx *c, const hop_tree *tree, const hop_named_size *sizes,
                          hop_spec *out)
{
	return guarded(c, tree, sizes, specs, out);
}

hop_status hop_tree_new(hop_ctx *c, const hop_tree *tree, const hop_named_size *sizes,
                        void *out_arrays)
{
	hop_status st = guarded(c, tree, sizes, zeros, out_arrays);
	if (st && c && out_arrays && tree && hop_tree_count(tree) == tree->count)
		hop_tree_release(tree, out_arrays);
	return st;
}

void hop_tree_release(const hop_tree *tree, void *arrays)
{
	hop_array **a = arrays;
	int n = a ? hop_tree_count(tree) : 0;
	for (int i = 0; i < n; i++) {
		hop_array_release(a[i]);
		a[i] = NULL;
	}
}
