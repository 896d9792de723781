/* tree.c -- names of the parts of structs: of values, of arrays. Knows nothing of what they are;
 * their types are tree_type.c. */
#include "data/tree.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- reading the names: "h, c, w[3]" or a list of members ---- */

struct part {
	const char     *name;
	int             nname;       /* characters */
	int             n;           /* 0 = one, else an array of n */
	const hop_tree *sub;
	const char     *type;        /* of values; or NULL */
};

enum { DEEPEST = 32 };             /* a tree that holds itself ends here */

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
		*p = (struct part){ name, (int)strlen(name), f->n > 0 ? f->n : 0, f->sub,
		                   f->type };
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

static int count(const hop_tree *tree, int depth)
{
	struct part p;
	int n = 0;
	if (depth < DEEPEST)
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
	for (int depth = 0; tree && depth < DEEPEST; depth++) {
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

/* ---- from the first to the last ---- */

struct walk {
	hop_tree_visit *f;
	void           *user;
	hop_tree_leaf   leaf;
	char            path[HOP_PATH];
};

static bool walk(struct walk *w, const hop_tree *tree, size_t used, int depth);

/* More of the path, from `at` on; what does not fit is cut off. Calls walk often: no printf. */
static size_t put(struct walk *w, size_t at, const char *s, int n)
{
	size_t room = HOP_PATH - 1 - at, k = (size_t)n < room ? (size_t)n : room;
	memcpy(w->path + at, s, k);
	w->path[at + k] = 0;
	return at + k;
}

static size_t put_index(struct walk *w, size_t at, int i)
{
	char s[16], *p = s + sizeof s;
	*--p = ']';
	do
		*--p = (char)('0' + i % 10);
	while (i /= 10);
	*--p = '[';
	return put(w, at, p, (int)(s + sizeof s - p));
}

static bool walk_one(struct walk *w, const struct part *p, size_t used, int depth)
{
	if (p->sub)
		return walk(w, p->sub, used, depth + 1);
	w->leaf.path = w->path;
	w->leaf.type = p->type;
	bool go_on = w->f(&w->leaf, w->user);
	w->leaf.i++;
	return go_on;
}

static bool walk(struct walk *w, const hop_tree *tree, size_t used, int depth)
{
	struct part p;
	int index = w->leaf.index;
	if (depth == DEEPEST)
		return true;
	for (int k = 0; part_at(tree, k, &p); k++)
		for (int i = 0; i < (p.n ? p.n : 1); i++) {
			size_t now = put(w, used, ".", used != 0);
			now = put(w, now, p.name, p.nname);
			if (p.n)
				now = put_index(w, now, i);
			w->leaf.index = p.n ? i : index;
			bool go_on = walk_one(w, &p, now, depth);
			w->leaf.index = index;
			if (!go_on)
				return false;
		}
	return true;
}

bool hop_tree_each(const hop_tree *tree, hop_tree_visit *f, void *user)
{
	struct walk w;                     /* its path is large, and written as it is needed */
	w.f = f;
	w.user = user;
	w.leaf = (hop_tree_leaf){ .index = -1 };
	return !tree || walk(&w, tree, 0, 0);
}

struct search {
	const char *path;
	int         at;
};

static bool is_it(const hop_tree_leaf *l, void *user)
{
	struct search *s = user;
	if (strcmp(l->path, s->path))
		return true;
	s->at = l->i;
	return false;
}

int hop_tree_find(const hop_tree *tree, const char *path)
{
	struct search s = { path, -1 };
	if (path)
		hop_tree_each(tree, is_it, &s);
	return s.at;
}
