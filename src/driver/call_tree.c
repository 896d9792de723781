/* call_tree.c -- calls with structs of arrays: each array goes to the input of its name, each result
 * comes from the one of its name. The call itself is call.c. */
#include "ctx/ctx.h"
#include "data/fn.h"
#include "data/tree.h"

#include <string.h>

/* ---- structs in the order of the function: nothing has to be moved ---- */

struct order {
	int                n;
	const char *const *name;
};

static bool in_place(const hop_tree_leaf *l, void *user)
{
	struct order *o = user;
	return l->i < o->n && o->name[l->i] && !strcmp(o->name[l->i], l->path);
}

static bool in_order(const hop_tree *tree, int n, const char *const *name)
{
	struct order o = { n, name };
	return tree && tree->count == n && hop_tree_count(tree) == n &&
	       hop_tree_each(tree, in_place, &o);
}

/* ---- structs in another order, and what is wrong with them ---- */

/* For each leaf of a tree, the number of its name among n. */
struct match {
	hop_env           *env;
	const char        *what;       /* "input", "result" */
	int                n;
	const char *const *name;
	int               *at;         /* [leaves] */
	bool              *used;       /* [n] */
};

static bool match_one(const hop_tree_leaf *l, void *user)
{
	struct match *m = user;
	int k = in_place(l, &(struct order){ m->n, m->name }) ? l->i : 0;
	while (k < m->n && (!m->name[k] || strcmp(m->name[k], l->path)))
		k++;
	if (k == m->n) {
		hop_fail(m->env, 0, HOP_EUSE, "call: the function has no %s %s", m->what, l->path);
		return false;
	}
	if (m->used[k]) {
		hop_fail(m->env, 0, HOP_EUSE, "call: two %ss are called %s", m->what, l->path);
		return false;
	}
	m->used[k] = true;
	m->at[l->i] = k;
	return true;
}

static hop_status match(hop_env *e, const char *what, const hop_tree *tree, int n,
                        const char *const *name, int **out_at, bool **out_used)
{
	HOP_TRY(hop_tree_good(e, "call", tree));
	struct match m = { .env = e, .what = what, .n = n, .name = name };
	m.at = *out_at = HOP_NEWN(&e->tmp, int, tree->count);
	m.used = *out_used = HOP_NEWN(&e->tmp, bool, n);
	hop_tree_each(tree, match_one, &m);
	return e->diag.st;
}

struct call {
	hop_fn            *f;
	const hop_tree    *in_tree, *out_tree;
	hop_array *const  *in;
	hop_array        **out;
	hop_array        **x, **y;     /* as the function has them */
	int               *place;      /* of the struct's results among y */
};

static hop_status prepare(hop_env *e, struct call *c)
{
	hop_fn *f = c->f;
	int *at;
	bool *used;
	c->x = HOP_NEWN(&e->tmp, hop_array *, f->nin);
	c->y = HOP_NEWN(&e->tmp, hop_array *, f->nout);
	HOP_TRY(match(e, "input", c->in_tree, f->nin, f->name, &at, &used));
	for (int i = 0; i < c->in_tree->count; i++)
		c->x[at[i]] = c->in[i];
	for (int i = 0; i < f->nin; i++)
		if (!used[i])
			return hop_fail(e, 0, HOP_EUSE, f->name[i] ? "call: the struct has no input %s"
			                : "call: input %s has no name: capture the function with "
			                "hop_capture_tree, or call it with hop_call",
			                f->name[i] ? f->name[i] : hop_input_text(&e->tmp, (uint32_t)i, NULL));
	return c->out_tree ? match(e, "result", c->out_tree, f->nout, f->name + f->nin, &c->place, &used)
	                   : HOP_OK;
}

static void give_results(struct call *c)
{
	for (int i = 0; c->out_tree && i < c->out_tree->count; i++) {
		c->out[i] = c->y[c->place[i]];
		c->y[c->place[i]] = NULL;
	}
	for (int i = 0; i < c->f->nout; i++)
		hop_array_release(c->y[i]);
}

hop_status hop_call_tree(hop_fn *f, const hop_tree *in_tree, const void *in,
                         const hop_tree *out_tree, void *out)
{
	struct call c = { .f = f, .in_tree = in_tree, .out_tree = out_tree, .in = in, .out = out };
	hop_env e;
	hop_frame fr;
	hop_status st;
	int nout = hop_tree_count(out_tree);
	if (!f || (hop_tree_count(in_tree) && !in) || (nout && !out))
		return HOP_EUSE;
	if (in_order(in_tree, f->nin, f->name) && in_order(out_tree, f->nout, f->name + f->nin))
		return hop_call(f, f->nin, c.in, f->nout, c.out);
	for (int i = 0; i < nout && nout == out_tree->count; i++)
		c.out[i] = NULL;
	hop_env_init(&e, f->ctx, hop_ctx_mem(f->ctx));
	if (HOP_GUARD(&e, &fr)) {
		st = hop_guard_nomem(&e, &fr);
	} else {
		st = prepare(&e, &c);
		hop_guard_end(&e, &fr);
	}
	if (st) {
		hop_ctx_set_message(f->ctx, &e.diag);
	} else {
		st = hop_call(f, f->nin, c.x, f->nout, c.y);
		if (!st)
			give_results(&c);
	}
	hop_env_fini(&e);
	return st;
}
