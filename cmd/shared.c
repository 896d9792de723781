/* shared.c -- hop show --shared: bodies are compared by what they compute, so that equal ones are one
 * graph and compiled once. This says which are, and of those that are nearly equal why they are not.
 * Merges nothing itself. */
#include "cmd.h"

#include "ir/rule.h"

#include <stdio.h>
#include <string.h>

/* A graph that some node has as a body. */
struct body {
	const hop_graph *g;
	uint32_t         uses;         /* nodes that have it, in graphs that are each counted once */
	const hop_graph *in;           /* where it was met first: a node there, which body of it */
	const hop_node  *n;
	int              sub;
};

struct list {
	cmd         *c;
	hop_arena   *a;
	hop_map      walked;           /* graphs whose nodes were counted */
	hop_map      seen;             /* graph -> struct body */
	size_t       nbody, cap;
	struct body **body;            /* in the order they are met, those inside first */
};

static void walk(struct list *l, const hop_graph *g)
{
	if (hop_map_get(&l->walked, &g, sizeof g))
		return;
	hop_map_put(&l->walked, &g, sizeof g, l);
	for (uint32_t i = 0; i < g->nnode; i++) {
		hop_graphs sub = hop_node_subs(&g->node[i]);
		for (int64_t k = 0; k < sub.n; k++) {
			const hop_graph *s = sub.v[k];
			struct body *b = s ? hop_map_get(&l->seen, &s, sizeof s) : NULL;
			if (!s)
				continue;
			if (!b) {
				b = HOP_NEW(l->a, struct body);
				*b = (struct body){ .g = s, .in = g, .n = &g->node[i], .sub = (int)k };
				hop_map_put(&l->seen, &s, sizeof s, b);
				walk(l, s);
				l->body = hop_arena_grow(l->a, l->body, sizeof *l->body, l->nbody + 1, &l->cap);
				l->body[l->nbody++] = b;
			}
			b->uses++;
		}
	}
}

/* Its names in the text, the first as the one and others behind it; or what a capture called it. */
static bool put_name(const struct list *l, hop_buf *b, const hop_graph *g, bool all)
{
	const hop_module *m = l->c->m;
	uint32_t n = 0;
	for (uint32_t i = 0; i < m->n; i++)
		if (m->entry[i].g == g && (all || !n)) {
			hop_putf(b, n ? " = @%s" : "@%s", m->entry[i].name);
			n++;
		}
	if (!n && g->name)
		hop_putf(b, "@%s", g->name);
	return n || g->name;
}

/* What to call it: its name, or where it stands: "then of %3 = cond, in @f". */
static void put_body(const struct list *l, hop_buf *b, const struct body *y, bool all)
{
	if (put_name(l, b, y->g, all))
		return;
	hop_field_word(b, hop_node_subfield(y->n, y->sub)->name);
	if (hop_node_subfield(y->n, 0)->kind == HOP_AK_graphs)
		hop_putf(b, " %d", y->sub);
	hop_put(b, " of ");
	if (y->n->nout)
		hop_putf(b, "%%%u = ", y->n->out0.id);
	hop_put(b, hop_optab[y->n->op].name);
	const struct body *up = hop_map_get(&l->seen, &y->in, sizeof y->in);
	hop_buf name;
	hop_buf_open(&name, b->env);
	if (put_name(l, &name, y->in, false))
		hop_putf(b, " in %s", name.s);
	hop_buf_free(&name);
	if (up && !y->in->name) {
		hop_put(b, " in ");
		put_body(l, b, up, false);
	}
}

static void put_types(hop_buf *b, const hop_graph *g, uint32_t n, const hop_val *v)
{
	for (uint32_t i = 0; i < n; i++) {
		hop_put(b, i ? ", " : "");
		hop_type_print(b, g->type[v ? v[i].id : i], g->symname, (int)(g->nsym + g->nlocal));
	}
	if (!n)
		hop_put(b, "nothing");
}

static bool same_ops(const hop_graph *x, const hop_graph *y)
{
	if (x->nnode != y->nnode || x->nparam != y->nparam)
		return false;
	for (uint32_t i = 0; i < x->nnode; i++)
		if (x->node[i].op != y->node[i].op)
			return false;
	return x->nnode > 0;
}

/* What one thinks of as one name: @layer_2 is one more @layer. */
static size_t stem(const char *s)
{
	size_t n = s ? strlen(s) : 0;
	while (n && ((s[n - 1] >= '0' && s[n - 1] <= '9') || s[n - 1] == '_'))
		n--;
	return n;
}

static const char *name_of(const struct list *l, const hop_graph *g)
{
	for (uint32_t i = 0; i < l->c->m->n; i++)
		if (l->c->m->entry[i].g == g)
			return l->c->m->entry[i].name;
	return g->name;
}

static bool near(const struct list *l, const hop_graph *x, const hop_graph *y)
{
	const char *a = name_of(l, x), *b = name_of(l, y);
	size_t n = stem(a);
	bool given = n && !(n == 4 && !memcmp(a, "body", n));       /* what the printer calls them */
	return same_ops(x, y) || (given && n == stem(b) && !memcmp(a, b, n));
}

/* Each of them with the first that it is near to: all pairs would be many, and say the same. */
static void put_apart(const struct list *l, hop_buf *b)
{
	bool any = false;
	for (size_t i = 1; i < l->nbody; i++)
		for (size_t k = 0; k < i; k++) {
			const struct body *x = l->body[k], *y = l->body[i];
			if (!near(l, x->g, y->g))
				continue;
			hop_put(b, any ? "" : "kept apart:\n");
			any = true;
			hop_put(b, "  ");
			put_body(l, b, x, false);
			hop_put(b, " and ");
			put_body(l, b, y, false);
			hop_put(b, "\n    ");
			if (hop_graph_differ(b, x->g, y->g))
				hop_put(b, ": as an input it would not keep them apart");
			hop_put(b, "\n");
			break;
		}
}

void cmd_shared(cmd *c, uint32_t n, const hop_named *root)
{
	struct list l = { .c = c, .a = &c->env->tmp, .seen.a = &c->env->tmp,
	                  .walked.a = &c->env->tmp };
	hop_buf b;
	size_t uses = 0, ops = 0;
	hop_mark m = hop_mark_at(l.a);
	for (uint32_t i = 0; i < n; i++)
		walk(&l, root[i].g);
	for (size_t i = 0; i < l.nbody; i++) {
		uses += l.body[i]->uses;
		ops += l.body[i]->g->nnode;
	}
	hop_buf_open(&b, c->env);
	hop_putf(&b, "bodies: %zu, of %zu ops in all, for %zu callers\n", l.nbody, ops, uses);
	for (size_t i = 0; i < l.nbody; i++) {
		const struct body *y = l.body[i];
		hop_putf(&b, "  %ux ", y->uses);
		put_body(&l, &b, y, true);
		hop_putf(&b, ": %u op%s, ", y->g->nnode, y->g->nnode == 1 ? "" : "s");
		put_types(&b, y->g, y->g->nparam, NULL);
		hop_put(&b, " -> ");
		put_types(&b, y->g, y->g->nout, y->g->out);
		hop_putc(&b, '\n');
	}
	put_apart(&l, &b);
	printf("%s", b.s);
	hop_buf_free(&b);
	hop_rewind(l.a, m);
}
