/* tree.c -- names of the parts of structs of values, for messages and loops over parts.
 * Knows nothing of what a value is. */
#include "trace/trace.h"
#include "hop/ops.h"
#include "hop/shape.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- reading the names: "h, c, w[3]" or a list of members ---- */

struct part {
	const char     *name;
	int             nname;       /* characters */
	int             n;           /* 0 = one, else an array of n */
	const hop_tree *sub;
};

/* The next part of a list as written in C; false at its end. */
static bool next_name(const char **at, struct part *p)
{
	const char *s = *at;
	while (*s == ' ' || *s == ',')
		s++;
	if (!*s)
		return false;
	*p = (struct part){ .name = s };
	while (*s && *s != ',' && *s != '[' && *s != ' ')
		s++;
	p->nname = (int)(s - p->name);
	while (*s == ' ')
		s++;
	if (*s == '[')
		for (s++; *s && *s != ']'; s++)
			if (*s >= '0' && *s <= '9' && p->n < 1 << 20)
				p->n = p->n * 10 + (*s - '0');
	while (*s && *s != ',')
		s++;
	*at = s;
	return true;
}

/* Part number i of a tree; false when there is none. */
static bool part_at(const hop_tree *tree, int i, struct part *p)
{
	if (!tree->names) {
		if (i >= tree->nfield || !tree->field)
			return false;
		const hop_field_name *f = &tree->field[i];
		const char *name = f->name ? f->name : "";
		*p = (struct part){ name, (int)strlen(name), f->n > 0 ? f->n : 0, f->sub };
		return true;
	}
	const char *s = tree->names;
	for (int k = 0; next_name(&s, p); k++)
		if (k == i)
			return true;
	return false;
}

static int count(const hop_tree *tree, int depth);

static int part_count(const struct part *p, int depth)
{
	int each = p->sub ? count(p->sub, depth + 1) : 1, all = each;
	if (p->n && __builtin_mul_overflow(p->n, each, &all))
		return INT_MAX;
	return all;
}

/* A tree that holds itself ends here. */
static int count(const hop_tree *tree, int depth)
{
	struct part p;
	int n = 0;
	if (depth < 32)
		for (int i = 0; part_at(tree, i, &p); i++)
			if (__builtin_add_overflow(n, part_count(&p, depth), &n))
				return INT_MAX;
	return n;
}

int hop_tree_count(const hop_tree *tree)
{
	return tree ? count(tree, 0) : 0;
}

bool hop_tree_path(const hop_tree *tree, int i, char *buf, size_t n)
{
	size_t used = 0;
	struct part p;
	if (n)
		*buf = 0;
	if (!tree || i < 0 || i >= hop_tree_count(tree))
		return false;
	for (int depth = 0; tree && depth < 32; depth++) {
		int k = 0;
		for (; part_at(tree, k, &p) && i >= part_count(&p, depth); k++)
			i -= part_count(&p, depth);
		int each = p.n ? part_count(&p, depth) / p.n : 0;
		int w = snprintf(buf + used, n - used, "%s%.*s", used ? "." : "", p.nname, p.name);
		used += (size_t)w < n - used ? (size_t)w : n - used - !!n;
		if (p.n) {
			w = snprintf(buf + used, n - used, "[%d]", i / each);
			used += (size_t)w < n - used ? (size_t)w : n - used - !!n;
			i %= each;
		}
		tree = p.sub;
	}
	return true;
}

int hop_tree_find(const hop_tree *tree, const char *path)
{
	char buf[256];
	int n = hop_tree_count(tree);
	for (int i = 0; path && i < n; i++)
		if (hop_tree_path(tree, i, buf, sizeof buf) && !strcmp(buf, path))
			return i;
	return -1;
}

const char *hop_path_text(hop_trace *t, const char *root, const hop_tree *tree, int i)
{
	char path[256], all[300];
	if (tree && hop_tree_path(tree, i, path, sizeof path))
		snprintf(all, sizeof all, "%s%s%s", root ? root : "", root ? "." : "", path);
	else
		snprintf(all, sizeof all, "%s[%d]", root, i);
	return hop_arena_str(&t->arena, all, strlen(all));
}

/* ---- part by part ---- */

void hop_tree_map(hop_trace *t, const hop_tree *tree, hop_tree_fn *f, void *user,
                  const hop_value *in, hop_value *out)
{
	char path[256];
	int n = f && in && out ? hop_tree_count(tree) : 0;
	for (int i = 0; i < n; i++) {
		hop_tree_path(tree, i, path, sizeof path);
		out[i] = f(t, in[i], path, user);
	}
}

static void no_list(hop_trace *t, void *arg)
{
	(void)arg;
	hop_trace_fail(t, HOP_EUSE, "%s: a list is missing", t->op);
}

void hop_at_tree_zeros_like(hop_trace *t, const char *file, int line, const hop_tree *tree,
                       const hop_value *in, hop_value *out)
{
	int n = hop_tree_count(tree);
	if (n && (!in || !out)) {
		hop_enter(t, "tree_zeros_like", file, line, no_list, NULL);
		return;
	}
	for (int i = 0; i < n; i++)
		out[i] = hop_at_full_like(t, file, line, in[i], 0);
}

void hop_at_tree_axpy(hop_trace *t, const char *file, int line, const hop_tree *tree,
                      hop_value a, const hop_value *x, const hop_value *y, hop_value *out)
{
	int n = hop_tree_count(tree);
	if (n && (!x || !y || !out)) {
		hop_enter(t, "tree_axpy", file, line, no_list, NULL);
		return;
	}
	for (int i = 0; i < n; i++) {
		hop_value ax = hop_at_mul(t, file, line, a, x[i]);
		out[i] = hop_at_add(t, file, line, ax, y[i]);
	}
}
