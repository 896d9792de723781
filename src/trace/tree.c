/* tree.c -- structs of values in a trace: paths in messages, and loops over the parts. Their names
 * are data/tree.c. */
#include "trace/trace.h"
#include "data/tree.h"
#include "hop/ops.h"
#include "hop/shape.h"

#include <stdio.h>
#include <string.h>

const char *hop_path_text(hop_trace *t, const char *root, const hop_tree *tree, int i)
{
	char path[HOP_PATH], all[HOP_PATH + 50];
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
	char path[HOP_PATH];
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
