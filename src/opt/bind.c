/* bind.c -- operands that are known inside: a repeated scalar given to a loop or a cond
 * becomes a constant of its bodies, and an xs whose rows are all equal is no xs.
 *
 * needs: fold before it.  keeps: everything.  What was an operand is left unused: dce takes
 * it away, and fold uses what the body now knows. Bodies of calls are left alone: they are
 * shared between callers, and would be no more. */
#include "opt/opt.h"
#include "opt/fold.h"

#include <string.h>

#include "ir/rule.h"

/* elem[i]: the element that parameter i holds everywhere, or NULL. */
static hop_status bind_body(hop_env *e, const hop_graph *g, const void *const *elem,
                            const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	hop_rw w;
	hop_graph *made = NULL;
	hop_rw_open(&w, e, g);
	for (uint32_t i = 0; i < g->nparam; i++) {
		const hop_type *t = g->type[i];
		if (!elem[i])
			continue;
		hop_val c = hop_emit_data(&w.b, hop_type_scalar(e, (hop_dtype)t->dtype), elem[i]);
		w.map[i] = hop_emit_broadcast(&w.b, c, t->rank, t->dim, NULL);
	}
	for (uint32_t i = 0; i < g->nnode; i++)
		if (hop_rw_copy(&w, &g->node[i]))
			break;
	hop_status st = hop_rw_end(&w, HOP_OK, &made);
	*out_g = made;
	hop_rewind(&e->tmp, m);
	return st;
}

/* The row that x repeats along its first axis, or HOP_BAD. */
static hop_val one_row(hop_rw *w, hop_val x)
{
	const hop_node *n = hop_rw_def(w, x, HOP_OP_broadcast);
	if (!n)
		return HOP_BAD;
	const struct hop_attr_broadcast *a = HOP_ATTR(n, broadcast);
	int64_t axes[HOP_MAXRANK];
	if (a->axes.n && a->axes.v[0] == 0)
		return HOP_BAD;
	for (int64_t i = 0; i < a->axes.n; i++)
		axes[i] = a->axes.v[i] - 1;
	return hop_emit_broadcast(&w->b, n->in[0], (int)a->dims.n - 1, a->dims.v + 1, axes);
}

/* xs of equal rows become the last operands. */
static hop_status move_xs(hop_rw *w, const hop_node *n, hop_val *in, void *attr,
                          const hop_form *f)
{
	hop_env *e = w->env;
	const hop_graph **body = &f->body[f->main], *g = *body;
	uint32_t lead = f->lead, nc = f->nc, nx = f->nx, k = 0, gone = 0;
	int32_t *pmap = HOP_NEWN(&e->tmp, int32_t, g->nparam);
	hop_val *row = HOP_NEWN(&e->tmp, hop_val, nx), *now = HOP_NEWN(&e->tmp, hop_val, n->nin);
	for (uint32_t i = 0; i < nx; i++)
		gone += !hop_is_bad(row[i] = one_row(w, in[lead + nc + i]));
	if (!gone || w->b.st)
		return w->b.st;
	memcpy(now, in, lead * sizeof *now);
	for (int last = 0; last < 2; last++)
		for (uint32_t i = 0; i < g->nparam; i++) {
			bool moves = i >= nc && i < nc + nx && !hop_is_bad(row[i - nc]);
			if (moves != (last == 1))
				continue;
			now[lead + k] = moves ? row[i - nc] : in[lead + i];
			pmap[i] = (int32_t)k++;
		}
	HOP_TRY(hop_rw_reform(e, g, pmap, g->nparam, g->nout, hop_rw_all(e, g->nout), body));
	hop_sig_count(n->op, attr, HOP_R_x, nx - gone);
	memcpy(in, now, n->nin * sizeof *in);
	return HOP_OK;
}

static hop_status node(hop_rw *w, const hop_node *n, const hop_val *old, void *attr,
                       hop_val *out)
{
	hop_env *e = w->env;
	hop_form f;
	bool any = false;
	if (!hop_form_read(n, attr, &f) || !(f.r.loop || f.r.in.pred.n || f.r.in.index.n))
		return hop_rw_keep(w, n, old, attr, out);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, n->nin);
	memcpy(in, old, n->nin * sizeof *in);
	if (f.nx) {
		HOP_TRY(move_xs(w, n, in, attr, &f));
		hop_form_read(n, attr, &f);
	}
	uint32_t np = n->nin - f.lead;
	const void **elem = HOP_NEWN(&e->tmp, const void *, np);
	for (uint32_t i = f.nc + f.nx; i < np; i++)
		any |= (elem[i] = hop_fold_splat(w, in[f.lead + i])) != NULL;
	for (int i = 0; any && i < f.nbody; i++)
		HOP_TRY(bind_body(e, f.body[i], elem, &f.body[i]));
	return hop_rw_keep(w, n, in, attr, out);
}

hop_status hop_opt_bind(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	static const hop_rw_pass pass = { 'O' << 8 | 'b', node, NULL };
	return hop_rw_graph(e, &pass, g, out_g);
}
