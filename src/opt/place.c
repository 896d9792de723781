/* place.c -- pieces put into zeros and added up: one concat. The derivative of taking an array
 * apart adds an array of zeros with one piece in it for every piece taken: the square of the
 * work. Where the pieces lie apart along one axis they are put side by side instead.
 *
 * needs: fold before it.  keeps: everything but the order of additions. Sizes are known; what
 * is added besides such pieces is added to the concat. */
#include "opt/opt.h"
#include "opt/rewrite.h"

#include <stdlib.h>
#include <string.h>

#include "ir/rule.h"

enum { FEW = 2 };                  /* fewer pieces stay as they are */

/* A leaf of a tree of sums. */
typedef struct leaf {
	hop_val v;                     /* in the old graph: the piece, or what is added whole */
	int64_t start, n;              /* along the axis; n < 0 = whole */
} leaf;

/* up[v]: v is a sum whose only reader is a sum. */
static void begin(hop_rw *w)
{
	const hop_graph *g = w->g;
	bool *up = HOP_NEWN(&w->env->tmp, bool, g->nvalue);
	w->user = up;
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		for (uint32_t k = 0; n->op == HOP_OP_add && k < n->nin; k++) {
			uint32_t d = g->def[n->in[k].id];
			up[n->in[k].id] = d != UINT32_MAX && g->node[d].op == HOP_OP_add &&
			                  w->uses[n->in[k].id] == 1;
		}
	}
}

/* The leaves below node n, from left to right. */
static size_t leaves(hop_rw *w, const hop_node *n, leaf **out)
{
	const hop_graph *g = w->g;
	const bool *up = w->user;
	hop_val *todo = NULL;
	size_t ntodo = 0, todocap = 0, nleaf = 0, leafcap = 0;
	hop_arena *a = &w->env->tmp;
	*out = NULL;
	for (const hop_node *d = n;;) {
		if (d) {
			todo = hop_arena_grow(a, todo, sizeof *todo, ntodo + 2, &todocap);
			todo[ntodo++] = d->in[1];
			todo[ntodo++] = d->in[0];
		}
		if (!ntodo)
			return nleaf;
		hop_val v = todo[--ntodo];
		d = up[v.id] ? &g->node[g->def[v.id]] : NULL;
		if (d)
			continue;
		*out = hop_arena_grow(a, *out, sizeof **out, nleaf + 1, &leafcap);
		(*out)[nleaf++] = (leaf){ v, 0, -1 };
	}
}

/* The only axis along which the pad n adds zeros, or -1; step by step without gaps. */
static int axis_of(const hop_graph *g, const hop_node *n)
{
	const struct hop_attr_pad *a = HOP_ATTR(n, pad);
	const hop_type *t = g->type[n->in[0].id];
	int axis = -1;
	for (int i = 0; i < t->rank; i++) {
		if (!hop_size_const(t->dim[i]) || !hop_size_const(a->dims.v[i]) ||
		    !hop_size_const(a->start.v[i]) || a->step.v[i] != 1)
			return -1;
		if (hop_size_eq(t->dim[i], a->dims.v[i]))
			continue;
		if (axis >= 0)
			return -1;
		axis = i;
	}
	return axis;
}

static int by_start(const void *x, const void *y)
{
	const leaf *a = x, *b = y;
	if ((a->n < 0) != (b->n < 0))
		return a->n < 0 ? 1 : -1;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* Find pieces along one axis that do not meet; gives how many. They come first, in order. */
static size_t pieces(hop_rw *w, leaf *x, size_t n, int *out_axis)
{
	const hop_graph *g = w->g;
	size_t found = 0;
	*out_axis = -1;
	for (size_t i = 0; i < n; i++) {
		uint32_t d = g->def[x[i].v.id];
		const hop_node *p = d == UINT32_MAX ? NULL : &g->node[d];
		int axis = p && p->op == HOP_OP_pad && !p->guard ? axis_of(g, p) : -1;
		if (axis < 0 || (*out_axis >= 0 && axis != *out_axis))
			continue;
		*out_axis = axis;
		x[i].start = HOP_ATTR(p, pad)->start.v[axis].k;
		x[i].n = g->type[p->in[0].id]->dim[axis].k;
		found++;
	}
	if (found < FEW)
		return 0;
	qsort(x, n, sizeof *x, by_start);
	for (size_t i = 1; i < found; i++)
		if (x[i].start < x[i - 1].start + x[i - 1].n)
			return 0;
	return found;
}

static hop_val zeros(hop_rw *w, const hop_type *t, int axis, int64_t n)
{
	hop_size dim[HOP_MAXRANK];
	memcpy(dim, t->dim, (size_t)t->rank * sizeof *dim);
	dim[axis] = hop_size_int(n);
	return hop_emit_zeros(&w->b, hop_type_get(w->env, (hop_dtype)t->dtype, t->rank, dim));
}

static hop_val side_by_side(hop_rw *w, const hop_type *t, const leaf *x, size_t n, int axis)
{
	hop_val *part = HOP_NEWN(&w->env->tmp, hop_val, 2 * n + 1);
	int64_t at = 0, end = t->dim[axis].k;
	int k = 0;
	for (size_t i = 0; i < n; i++) {
		if (x[i].start > at)
			part[k++] = zeros(w, t, axis, x[i].start - at);
		part[k++] = w->map[w->g->node[w->g->def[x[i].v.id]].in[0].id];
		at = x[i].start + x[i].n;
	}
	if (end > at)
		part[k++] = zeros(w, t, axis, end - at);
	return hop_emit_concat(&w->b, k, part, axis);
}

static hop_status node(hop_rw *w, const hop_node *n, const hop_val *in, void *attr, hop_val *out)
{
	const bool *up = w->user;
	leaf *x;
	int axis;
	if (n->op != HOP_OP_add || up[n->out0.id])
		return hop_rw_keep(w, n, in, attr, out);
	hop_mark m = hop_mark_at(&w->env->tmp);
	size_t all = leaves(w, n, &x), found = pieces(w, x, all, &axis);
	if (!found) {
		hop_rewind(&w->env->tmp, m);
		return hop_rw_keep(w, n, in, attr, out);
	}
	hop_val v = side_by_side(w, w->g->type[n->out0.id], x, found, axis);
	for (size_t i = found; i < all; i++)
		v = hop_emit(&w->b, add, v, w->map[x[i].v.id]);
	out[0] = v;
	return w->b.st;
}

hop_status hop_opt_place(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	static const hop_rw_pass pass = { 'O' << 8 | 'p', node, begin };
	return hop_rw_graph(e, &pass, g, out_g);
}
