/* solver.c -- the unknowns of a solver as one vector, and graphs called on it. Iterates nothing. */
#include "trace/solver.h"

hop_value hop_solver_number(const hop_solver *s, double v)
{
	return hop_at_scalar(s->t, s->file, s->line, s->dtype, v);
}

hop_value hop_solver_whole(const hop_solver *s, int64_t v)
{
	return hop_at_scalar(s->t, s->file, s->line, HOP_i64, (double)v);
}

static hop_dim dim_of(hop_size s)
{
	return (hop_dim){ s.k, s.e };
}

hop_value hop_solver_pack(const hop_solver *s, const hop_value *leaf)
{
	hop_value *all = s->room;
	for (int i = 0; i < s->n; i++) {
		hop_dim n = dim_of(s->count[i]);
		all[i] = hop_at_cast(s->t, s->file, s->line, leaf[i], s->dtype);
		if (s->type[i]->rank != 1)
			all[i] = hop_at_reshape(s->t, s->file, s->line, all[i], 1, &n);
	}
	return s->n == 1 ? all[0] : hop_at_concat(s->t, s->file, s->line, s->n, all, 0);
}

void hop_solver_unpack(const hop_solver *s, hop_value vec, hop_value *leaf)
{
	for (int i = 0; i < s->n; i++) {
		const hop_type *type = s->type[i];
		hop_dim dim[HOP_MAXRANK];
		for (int k = 0; k < type->rank; k++)
			dim[k] = dim_of(type->dim[k]);
		leaf[i] = s->n == 1 ? vec : hop_at_slice(s->t, s->file, s->line, vec, 0, dim_of(s->at[i]),
		                                         dim_of(s->count[i]), 1);
		if (type->rank != 1)
			leaf[i] = hop_at_reshape(s->t, s->file, s->line, leaf[i], type->rank, dim);
		leaf[i] = hop_at_cast(s->t, s->file, s->line, leaf[i], (hop_dtype)type->dtype);
	}
}

struct call {
	const hop_graph *g;
	hop_sizes        sargs;
	uint32_t         n;
	const hop_value *in;
	hop_value       *out;
};

static void make_call(hop_trace *t, void *arg)
{
	struct call *c = arg;
	hop_val *in = HOP_NEWN(&t->arena, hop_val, c->n);
	hop_val *out = HOP_NEWN(&t->arena, hop_val, c->g->nout);
	for (uint32_t i = 0; i < c->n; i++)
		in[i] = hop_value_read(t, c->in[i]);
	if (t->b.st || hop_call_here(t, c->g, c->sargs, in, out))
		return;
	for (uint32_t i = 0; i < c->g->nout; i++)
		c->out[i] = hop_value_new(t, out[i]);
}

hop_value hop_solver_call(const hop_solver *s, const hop_graph *g, hop_value x, const hop_value *v)
{
	uint32_t n = (uint32_t)s->n;
	hop_value *in = s->room + n, *out = in + 2 * n + s->nk;
	struct call c = { g, s->fn.sargs, n + s->nk, in, out };
	hop_solver_unpack(s, x, in);
	for (uint32_t i = 0; i < s->nk; i++)
		in[n + i] = s->k[i];
	if (v) {
		hop_solver_unpack(s, *v, in + c.n);
		c.n += n;
	}
	if (!hop_enter(s->t, NULL, s->file, s->line, make_call, &c))
		return (hop_value){ 0, 0 };
	return g == s->fn.loss ? out[0] : hop_solver_pack(s, out + g->nout - n);
}

void hop_solver_loop(const hop_solver *s, hop_body *test, hop_body *body, void *user, int n,
                     hop_value *carry, int64_t most)
{
	hop_while_opts o = { .size = sizeof o, .max_trips = most };
	hop_root *r = s->t->root;
	enum hop_strict strict = r->strict;
	r->strict = HOP_STRICT_OFF;            /* these bodies are hop's own */
	hop_at_while(s->t, s->file, s->line, test, body, user, n, carry, &o, carry, NULL);
	r->strict = strict;
}

hop_value hop_solver_info(const hop_solver *s, hop_value found, hop_value count)
{
	return HOP_SE(s, "found ? 0 * count : max(count, 1)", found, count);
}
