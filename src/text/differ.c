/* differ.c -- what keeps two graphs apart: the first difference, in words. Graphs that are equal
 * are one, so this is asked of those that one would expect to be. It looks for no better match:
 * what comes first in evaluation order is what is told. */
#include "ir/rule.h"
#include "text/text.h"

#include <string.h>

enum { NEST = 64 };              /* bodies in bodies that are told of by name */

struct pair { const hop_graph *x, *y; bool *constant; };

static void put_type(hop_buf *b, const hop_graph *g, uint32_t v)
{
	hop_type_print(b, g->type[v], g->symname, (int)(g->nsym + g->nlocal));
}

static void two_types(hop_buf *b, const struct pair *p, uint32_t v, uint32_t w)
{
	put_type(b, p->x, v);
	hop_put(b, " in the one, ");
	put_type(b, p->y, w);
	hop_put(b, " in the other");
}

static void two_counts(hop_buf *b, const char *what, uint32_t n, uint32_t m)
{
	hop_putf(b, "%s: %u in the one, %u in the other", what, n, m);
}

/* Where both stand, if that is known. */
static void two_places(hop_buf *b, const struct pair *p, hop_loc x, hop_loc y)
{
	const char *file;
	int line;
	hop_loc in;
	if (!hop_loc_read(p->x->ctx, x, &file, &line, &in) ||
	    !hop_loc_read(p->y->ctx, y, &file, &line, &in))
		return;
	hop_put(b, " (");
	hop_loc_print(b, p->x->ctx, x);
	if (x != y) {
		hop_put(b, ", ");
		hop_loc_print(b, p->y->ctx, y);
	}
	hop_putc(b, ')');
}

/* "%3 = add", or "print" of what gives nothing. */
static void put_head(hop_buf *b, const hop_node *n)
{
	if (n->nout)
		hop_putf(b, "%%%u = ", n->out0.id);
	hop_put(b, hop_optab[n->op].name);
}

static void put_vals(hop_buf *b, uint32_t n, const hop_val *v)
{
	for (uint32_t i = 0; i < n; i++)
		hop_putf(b, "%s%%%u", i ? ", " : "", v[i].id);
	if (!n)
		hop_put(b, "nothing");
}

/* The first element that is another one. */
static void two_data(hop_buf *b, const hop_data *x, const hop_data *y)
{
	hop_dtype d = (hop_dtype)x->type->dtype;
	size_t w = hop_dtype_bytes(d), i = 0;
	if (x->type != y->type) {
		hop_type_print(b, x->type, NULL, 0);
		hop_put(b, " in the one, ");
		hop_type_print(b, y->type, NULL, 0);
		hop_put(b, " in the other");
		return;
	}
	while (i + w < x->nbyte && !memcmp((const char *)x->bytes + i, (const char *)y->bytes + i, w))
		i += w;
	if (x->nbyte > w)
		hop_putf(b, "element %llu is ", (unsigned long long)(i / w));
	hop_elem_print(b, d, (const char *)x->bytes + i);
	hop_put(b, " in the one, ");
	hop_elem_print(b, d, (const char *)y->bytes + i);
	hop_put(b, " in the other");
}

static bool graphs(hop_buf *b, const struct pair *p, int nest);

/* The first body that is another one, from the inside. */
static void bodies(hop_buf *b, const struct pair *p, const hop_node *n, const hop_node *m,
                   int nest)
{
	hop_graphs x = hop_node_subs(n), y = hop_node_subs(m);
	if (x.n != y.n) {
		two_counts(b, ": bodies", (uint32_t)x.n, (uint32_t)y.n);
		return;
	}
	for (int64_t i = 0; i < x.n; i++) {
		if (x.v[i] == y.v[i])
			continue;
		hop_put(b, ", ");
		hop_field_word(b, hop_node_subfield(n, (int)i)->name);
		if (hop_node_subfield(n, 0)->kind == HOP_AK_graphs)
			hop_putf(b, " %lld", (long long)i);
		if (!x.v[i] || !y.v[i]) {
			hop_putf(b, ": it has one in the %s only", x.v[i] ? "one" : "other");
			return;
		}
		hop_put(b, ": ");
		graphs(b, &(struct pair){ x.v[i], y.v[i], p->constant }, nest + 1);
		return;
	}
}

static bool nodes(hop_buf *b, const struct pair *p, uint32_t i, int nest)
{
	const hop_node *n = &p->x->node[i], *m = &p->y->node[i];
	if (n->op != m->op) {
		put_head(b, n);
		hop_putf(b, " in the one, %s in the other", hop_optab[m->op].name);
	} else if (n->nin != m->nin || memcmp(n->in, m->in, n->nin * sizeof *n->in)) {
		put_head(b, n);
		hop_put(b, " of ");
		put_vals(b, n->nin, n->in);
		hop_put(b, " in the one, of ");
		put_vals(b, m->nin, m->in);
		hop_put(b, " in the other");
	} else {
		int f = n->attr ? hop_attr_differ(n->op, n->attr, m->attr) : -1;
		if (f < 0)
			return false;
		const hop_field *field = &hop_optab[n->op].field[f];
		size_t at = hop_attr_offset(n->op, f);
		put_head(b, n);
		if (field->kind == HOP_AK_graph || field->kind == HOP_AK_graphs) {
			bodies(b, p, n, m, nest);
			return true;               /* the places are told inside */
		}
		hop_put(b, ", ");
		hop_field_word(b, field->name);
		hop_put(b, ": ");
		if (field->kind == HOP_AK_data) {
			*p->constant = true;
			two_data(b, *(const hop_data *const *)((const char *)n->attr + at),
			         *(const hop_data *const *)((const char *)m->attr + at));
		} else {
			hop_field_print(b, p->x, n, f);
			hop_put(b, " in the one, ");
			hop_field_print(b, p->y, m, f);
			hop_put(b, " in the other");
		}
	}
	two_places(b, p, n->loc, m->loc);
	return true;
}

/* What is told from outside: parameters, sizes. */
static bool headers(hop_buf *b, const struct pair *p)
{
	const hop_graph *x = p->x, *y = p->y;
	if (x->nparam != y->nparam) {
		two_counts(b, "parameters", x->nparam, y->nparam);
		return true;
	}
	for (uint32_t i = 0; i < x->nparam; i++)
		if (x->type[i] != y->type[i]) {
			hop_putf(b, "parameter %%%u is ", i);
			two_types(b, p, i, i);
			return true;
		}
	if (x->nsym != y->nsym) {
		two_counts(b, "size parameters", x->nsym, y->nsym);
		return true;
	}
	return false;
}

static bool results(hop_buf *b, const struct pair *p)
{
	const hop_graph *x = p->x, *y = p->y;
	if (x->nout != y->nout) {
		two_counts(b, "results", x->nout, y->nout);
		return true;
	}
	for (uint32_t i = 0; i < x->nout; i++)
		if (!hop_same(x->out[i], y->out[i])) {
			hop_putf(b, "result %u is %%%u in the one, %%%u in the other", i, x->out[i].id,
			         y->out[i].id);
			return true;
		}
	for (uint32_t v = x->nparam; v < x->nvalue && v < y->nvalue; v++)
		if (x->type[v] != y->type[v]) {
			hop_putf(b, "%%%u is ", v);
			two_types(b, p, v, v);
			return true;
		}
	return false;
}

/* Bounds of sizes, and the conditions on them that are tested. */
static bool sizes(hop_buf *b, const struct pair *p)
{
	const hop_graph *x = p->x, *y = p->y;
	for (uint32_t i = 0; i < x->nsym + x->nlocal && i < y->nsym + y->nlocal; i++)
		if (x->range[i].lo != y->range[i].lo || x->range[i].hi != y->range[i].hi) {
			hop_putf(b, "size %s is %lld..%lld in the one, %lld..%lld in the other",
			         x->symname[i] ? x->symname[i] : "", (long long)x->range[i].lo,
			         (long long)x->range[i].hi, (long long)y->range[i].lo,
			         (long long)y->range[i].hi);
			return true;
		}
	if (x->ncheck != y->ncheck)
		two_counts(b, "conditions on sizes that are tested", x->ncheck, y->ncheck);
	else
		hop_put(b, "the conditions on sizes that are tested");
	return true;
}

static bool graphs(hop_buf *b, const struct pair *p, int nest)
{
	const hop_graph *x = p->x, *y = p->y;
	if (x == y)
		return false;
	if (nest > NEST) {
		hop_put(b, "bodies further in");
		return true;
	}
	if (headers(b, p))
		return true;
	for (uint32_t i = 0; i < x->nnode && i < y->nnode; i++)
		if (nodes(b, p, i, nest))
			return true;
	if (x->nnode != y->nnode) {
		const hop_graph *g = x->nnode > y->nnode ? x : y;
		const hop_node *n = &g->node[x->nnode > y->nnode ? y->nnode : x->nnode];
		two_counts(b, "ops", x->nnode, y->nnode);
		hop_put(b, "; the first more is ");
		put_head(b, n);
		return true;
	}
	return results(b, p) || sizes(b, p);
}

bool hop_graph_differ(hop_buf *b, const hop_graph *one, const hop_graph *other)
{
	bool constant = false;
	hop_put(b, "");
	graphs(b, &(struct pair){ one, other, &constant }, 0);
	return constant;
}
