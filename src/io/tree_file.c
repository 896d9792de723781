/* tree_file.c -- structs of arrays to files and back: an array a leaf, under its path. A file must
 * have what the tree declares, and nothing else. */
#include <string.h>

#include "ctx/ctx.h"
#include "data/tree.h"
#include "hop/file.h"

struct file {
	hop_ctx              *ctx;
	const hop_tree       *tree;
	const hop_named_size *sizes;
	const char           *path;
	hop_file             *from;
	hop_array           **array;
};

typedef hop_status file_do(hop_env *e, struct file *f);

/* ---- loading ---- */

enum { LISTED = 8 };               /* names in a message */

static void list(hop_buf *b, int n, const char *name, const char *word)
{
	if (n < LISTED)
		hop_putf(b, "%s%s", n ? ", " : word, name);
	else if (n == LISTED)
		hop_put(b, " ..");
}

/* Say all that is missing, and all that there is too much. */
static hop_status compare_names(hop_env *e, struct file *f, const char *const *name)
{
	int n = f->tree->count, missing = 0, more = 0;
	hop_buf b;
	hop_map known = { .a = &e->tmp };
	hop_buf_open(&b, e);
	for (int i = 0; i < n; i++) {
		hop_map_put(&known, name[i], strlen(name[i]), e);
		if (hop_file_find(f->from, name[i]) < 0)
			list(&b, missing++, name[i], "it lacks ");
	}
	hop_put(&b, missing ? "; " : "");
	for (int i = 0; i < hop_file_count(f->from); i++) {
		const char *s = hop_file_name(f->from, i);
		if (!hop_map_get(&known, s, strlen(s)))
			list(&b, more++, s, "the struct does not have ");
	}
	if (missing || more)
		hop_fail(e, 0, HOP_ETYPE, "%s: %.*s", f->path, (int)(more ? b.n : b.n - 2), b.s);
	hop_buf_free(&b);
	return e->diag.st;
}

static hop_status load(hop_env *e, struct file *f)
{
	int n = f->tree->count;
	const char **name = HOP_NEWN(&e->tmp, const char *, n);
	hop_spec *type = HOP_NEWN(&e->tmp, hop_spec, n);
	bool *untyped = HOP_NEWN(&e->tmp, bool, n);
	HOP_TRY(hop_tree_names(e, 0, "tree_load", f->tree, name));
	HOP_TRY(hop_tree_types(e, "tree_load", f->tree, f->sizes, type, untyped));
	HOP_TRY(compare_names(e, f, name));
	for (int i = 0; i < n; i++)
		HOP_TRY(hop_file_get(f->from, name[i], &f->array[i]));
	return hop_tree_fits(e, f->path, n, name, type, untyped, f->array);
}

/* ---- saving ---- */

static hop_status save(hop_env *e, struct file *f)
{
	int n = f->tree->count;
	const char **name = HOP_NEWN(&e->tmp, const char *, n);
	hop_spec *type = HOP_NEWN(&e->tmp, hop_spec, n);
	bool *untyped = HOP_NEWN(&e->tmp, bool, n);
	HOP_TRY(hop_tree_names(e, 0, "tree_save", f->tree, name));
	HOP_TRY(hop_tree_types(e, "tree_save", f->tree, NULL, type, untyped));
	for (int i = 0; i < n; i++)
		if (!f->array[i])
			return hop_fail(e, 0, HOP_EUSE, "tree_save: %s is missing", name[i]);
	HOP_TRY(hop_tree_fits(e, "tree_save", n, name, type, untyped, f->array));
	return hop_file_save(f->ctx, f->path, n, name, f->array);
}

/* ---- the doors ---- */

static hop_status guarded(struct file *f, const char *op, file_do *make)
{
	hop_env e;
	hop_frame fr;
	hop_status st;
	hop_env_init(&e, f->ctx, hop_ctx_mem(f->ctx));
	st = hop_tree_good(&e, op, f->tree);
	if (st) {
		f->tree = NULL;
	} else if (HOP_GUARD(&e, &fr)) {
		st = hop_guard_nomem(&e, &fr);
	} else {
		st = make(&e, f);
		hop_guard_end(&e, &fr);
	}
	if (e.diag.st)
		hop_ctx_set_message(f->ctx, &e.diag);
	hop_env_fini(&e);
	return st;
}

hop_status hop_tree_save(hop_ctx *c, const hop_tree *tree, const void *arrays, const char *path)
{
	if (!c || !path || (hop_tree_count(tree) && !arrays))
		return HOP_EUSE;
	struct file f = { .ctx = c, .tree = tree, .path = path, .array = (hop_array **)(uintptr_t)arrays };
	return guarded(&f, "tree_save", save);
}

hop_status hop_tree_from(hop_ctx *c, const hop_tree *tree, const hop_named_size *sizes,
                         hop_file *from, void *out_arrays)
{
	if (!c || !from || (hop_tree_count(tree) && !out_arrays))
		return HOP_EUSE;
	struct file f = { .ctx = c, .tree = tree, .sizes = sizes, .from = from, .array = out_arrays };
	f.path = hop_file_path(from);
	for (int i = 0; tree && i < tree->count && tree->count == hop_tree_count(tree); i++)
		f.array[i] = NULL;
	hop_status st = guarded(&f, "tree_load", load);
	if (st)
		hop_tree_release(f.tree, out_arrays);
	return st;
}

hop_status hop_tree_load(hop_ctx *c, const hop_tree *tree, const hop_named_size *sizes,
                         const char *path, const hop_file_opts *opts, void *out_arrays)
{
	hop_file *from;
	for (int i = 0; out_arrays && tree && i < tree->count; i++)
		((hop_array **)out_arrays)[i] = NULL;
	HOP_TRY(hop_file_load(c, path, opts, &from));
	hop_status st = hop_tree_from(c, tree, sizes, from, out_arrays);
	hop_file_close(from);
	return st;
}
