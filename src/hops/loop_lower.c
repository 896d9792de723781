/* loop_lower.c -- carries of loops. A step reads the old carries and writes the new ones
 * to buffers of their own, then moves them over; where each element depends on the same
 * element only, fusion later makes one loop of both and the second buffer goes away. An
 * update of a part of a carry is done in place at once. Does not know the operators. */
#include "hops/hops.h"
#include "hops/loop_lower.h"

hop_view hop_cell_new(hop_lower *l, hop_dtype d, hop_reg init)
{
	hop_view v = hop_lower_temp(l, hop_type_scalar(l->env, d));
	hop_cell_set(l, d, &v, init);
	return v;
}

hop_reg hop_cell_get(hop_lower *l, hop_dtype d, const hop_view *v)
{
	return hop_lower_load(l, d, v->buf, v->base, l->q.cur);
}

void hop_cell_set(hop_lower *l, hop_dtype d, const hop_view *v, hop_reg r)
{
	hop_lower_put(l, d, v->buf, v->base, r);
}

hop_view hop_view_lead(hop_lower *l, const hop_view *v, const hop_ix *t)
{
	return (hop_view){ v->buf, hop_ix_add(l, v->base, hop_ix_mul(l, t, v->stride[0])),
	                   v->stride + 1 };
}

/* The live permute of value v that has a place of its own, or NULL. */
static const hop_node *placed(const hop_linst *in, uint32_t v)
{
	for (uint32_t k = 0; k < in->g->nnode; k++) {
		const hop_node *p = &in->g->node[k];
		const hop_lval *to = p->nout ? &in->val[p->out0.id] : NULL;
		if (p->op == HOP_OP_permute && p->in[0].id == v && in->live[k] && to->has_dest &&
		    !to->fixed && to->kind == HOP_LV_NODE)
			return p;
	}
	return NULL;
}

hop_view hop_stack_result(hop_lower *l, const hop_node *n, int i)
{
	hop_lval *x = &l->q.inst->val[n->out0.id + (uint32_t)i], *to;
	const hop_node *p = x->has_dest ? NULL : placed(l->q.inst, n->out0.id + (uint32_t)i);
	int order[HOP_MAXRANK];
	if (!p)
		return hop_lower_result(l, n, i);
	to = &l->q.inst->val[p->out0.id];
	hop_ints axes = HOP_ATTR(p, permute)->axes;
	for (int k = 0; k < (int)axes.n; k++)
		order[k] = (int)axes.v[k];
	to->kind = x->kind = HOP_LV_BUF;
	to->scope = x->scope = l->q.cur;
	to->view = to->dest;
	return x->view = hop_view_permuted(l, &to->dest, (int)axes.n, order);
}

/* Debuggers show what is a whole buffer. */
static void name_buffer(hop_lower *l, int buf, const char *name, const hop_type *t, int i)
{
	hop_lbuf *b = &l->q.b.f->buf[buf];
	if (!(hop_look() & HOP_LOOK_GDB) || b->name ||
	    !hop_size_eq(b->count, hop_type_count(l->env, t)))
		return;
	hop_buf text;
	hop_buf_open(&text, l->env);
	hop_putf(&text, "carry%d", i);
	b->name = name ? name : hop_ctx_name(l->env, text.s, text.n);
	b->type = t;
	hop_buf_free(&text);
}

hop_status hop_carries_init(hop_lower *l, const hop_node *n, int first, int ncarry,
                            hop_carries *c)
{
	c->n = ncarry;
	c->now = HOP_NEWN(l->w, hop_view, ncarry);
	c->next = HOP_NEWN(l->w, hop_view, ncarry);
	c->type = HOP_NEWN(l->w, const hop_type *, ncarry);
	const char *const *name = hop_carry_names(l->env, n, ncarry);
	for (int i = 0; i < ncarry; i++) {
		c->type[i] = hop_lower_out(l, n, i);
		c->now[i] = hop_lower_result(l, n, i);
		HOP_TRY(hop_lower_store_arg(l, n, first + i, &c->now[i]));
		name_buffer(l, c->now[i].buf, name ? name[i] : NULL, c->type[i], i);
	}
	return HOP_OK;
}

/* Result i updates a part of parameter i, and everything else that reads the parameter
 * comes before: then the buffer itself may be written. What comes before is stored, so
 * that it is not computed later from the changed buffer. */
static bool in_place(const hop_linst *in, int i)
{
	const hop_graph *g = in->g;
	uint32_t d = g->def[g->out[i].id];
	if (d == UINT32_MAX || g->node[d].nin < 2 || g->node[d].in[0].id != (uint32_t)i)
		return false;
	if (g->node[d].op != HOP_OP_dynupdate && g->node[d].op != HOP_OP_scatter)
		return false;
	for (uint32_t k = 0; k < g->nout; k++)
		if ((int)k != i && (g->out[k].id == (uint32_t)i || g->out[k].id == g->out[i].id))
			return false;
	for (uint32_t k = 0; k < g->nnode; k++)
		for (uint32_t j = 0; j < g->node[k].nin; j++) {
			if (g->node[k].in[j].id != (uint32_t)i || (k == d && j == 0))
				continue;
			if (k >= d)
				return false;
			if (!(hop_optab[g->node[k].op].flags & HOP_F_WHOLE))
				in->val[g->node[k].out0.id].must = true;
		}
	return true;
}

void hop_carries_plan(hop_lower *l, hop_carries *c, const hop_linst *body, hop_view *dest)
{
	for (int i = 0; i < c->n; i++) {
		hop_val v = body->g->out[i];
		if (v.id == (uint32_t)i) {                     /* unchanged */
			c->next[i] = c->now[i];
			dest[i].buf = HOP_VIEW_NONE;
			continue;
		}
		c->next[i] = in_place(body, i) ? c->now[i] : hop_lower_temp(l, c->type[i]);
		dest[i] = c->next[i];
	}
}

void hop_carries_step(hop_lower *l, const hop_node *n, const hop_carries *c)
{
	for (int i = 0; i < c->n; i++) {
		const hop_type *t = c->type[i];
		const hop_ix *x[HOP_MAXRANK];
		if (c->next[i].buf == c->now[i].buf)
			continue;
		int k = hop_lower_open_dims(l, t->rank, t->dim, x);
		hop_reg r = hop_lower_load(l, (hop_dtype)t->dtype, c->next[i].buf,
		                           hop_view_at(l, &c->next[i], t->rank, x), l->q.cur);
		hop_lower_put(l, (hop_dtype)t->dtype, c->now[i].buf,
		              hop_view_at(l, &c->now[i], t->rank, x), r);
		hop_lower_close_n(l, k);
		hop_lower_copied(l, n->loc, c->next[i].buf, "carry", i,
		                 "its new value is computed from other elements of the old one");
	}
}
