/* while.c -- while: a loop that decides for itself when to end. What it means; its
 * derivatives are in while_ad.c, its batching in while_batch.c. */
#include "ad/ad.h"
#include "hops/body.h"

#include <string.h>

enum hop_lead hop_lanes_lead(const hop_graph *body, const hop_type *t)
{
	int last = (int)body->nsym - 1;
	enum hop_lead is = HOP_LEAD_NONE;
	for (int i = 0; i < t->rank; i++)
		if (hop_size_nsym(t->dim[i]) > last)
			is = i == 0 && hop_size_bare(t->dim[0]) == last ? HOP_LEAD_LANES : HOP_LEAD_OTHER;
	return is;
}

/* The carries of lanes, as hops.h promises them. */
static hop_status lanes_fit(hop_infer *f, const struct hop_attr_while *a)
{
	const hop_graph *g = a->body;
	if (!g->nsym || !a->ncarry)
		return hop_infer_fail(f, HOP_ETYPE, "while: lanes need a size parameter that counts "
		                      "them, and a carry that says which of them run");
	if (g->type[0]->dtype != HOP_bool || g->type[0]->rank != 1)
		return hop_infer_fail(f, HOP_ETYPE, "while: carry 0 says which lanes run, a list of "
		                      "bool it must be");
	for (uint32_t k = 0; k < (uint32_t)a->ncarry; k++)
		if (hop_lanes_lead(g, g->type[k]) != HOP_LEAD_LANES)
			return hop_infer_fail(f, HOP_ETYPE, "while: carry %u of the body must have the last "
			                      "size parameter, which counts the lanes, as its first "
			                      "size and nowhere else", k);
	return HOP_OK;
}

/* while carries consts -- repeat body while test holds
 * Results are the carries, the trip count and what each trip left on the tapes. */
hop_status hop_infer_while(hop_infer *f)
{
	const struct hop_attr_while *a = f->attr;
	if (a->ncarry < 0 || a->ncarry > f->nin || a->max_trips < 0)
		return hop_infer_fail(f, HOP_EVALUE, "while: %lld carries of %u operands, at most "
		                      "%lld trips", (long long)a->ncarry, f->nin,
		                      (long long)a->max_trips);
	if (a->slots < 0)
		return hop_infer_fail(f, HOP_EVALUE, "while: slots is %lld: 0 keeps all, n > 0 as many "
		                      "states", (long long)a->slots);
	if (a->how < 0 || a->how >= HOP_NHOW)
		return hop_infer_fail(f, HOP_EVALUE, "while: there is no way %lld to run lanes",
		                      (long long)a->how);
	HOP_TRY(hop_body_takes(f, "test", a->test, a->sargs, f->nin, f->in));
	HOP_TRY(hop_body_takes(f, "body", a->body, a->sargs, f->nin, f->in));
	const hop_type *p = a->test->nout == 1 ? hop_graph_out_type(a->test, 0) : NULL;
	if (!hop_type_is_scalar(p, HOP_bool))
		return hop_infer_fail(f, HOP_ETYPE, "while: test must give one bool scalar");
	if (a->body->nout < a->ncarry)
		return hop_infer_fail(f, HOP_ETYPE, "while: body gives %u results for %lld carries",
		                      a->body->nout, (long long)a->ncarry);
	uint32_t nc = (uint32_t)a->ncarry;
	if (a->lanes)
		HOP_TRY(lanes_fit(f, a));
	hop_infer_outs(f, a->body->nout + 1);
	for (uint32_t k = 0; k < nc; k++) {
		HOP_TRY(hop_body_gives(f, "body", a->body, a->sargs, k, &f->out[k]));
		HOP_TRY(hop_types_agree(f, f->in[k], f->out[k], "carry", k, "the operands",
		                        "the results of body"));
		f->out[k] = f->in[k];
	}
	f->out[nc] = hop_type_scalar(f->env, HOP_i64);
	if (a->body->nout == nc)
		return HOP_OK;
	hop_size cap = hop_size_int(a->max_trips);
	if (!a->max_trips) {
		if (a->sym < f->b->nsym || a->sym >= f->b->nsym + f->b->nlocal)
			return hop_infer_fail(f, HOP_EVALUE, "while: tapes without a bound on trips need "
			                      "a size symbol to bind");
		cap = hop_size_sym(f->env, (int)a->sym);
	}
	for (uint32_t k = nc; k < a->body->nout; k++) {
		const hop_type *t;
		HOP_TRY(hop_body_gives(f, "body", a->body, a->sargs, k, &t));
		if (t->rank == HOP_MAXRANK)
			return hop_infer_fail(f, HOP_ESHAPE, "while: a tape of rank %d is too deep",
			                      HOP_MAXRANK + 1);
		f->out[k + 1] = hop_type_prepend(f->env, t, cap);
	}
	return HOP_OK;
}

/* Tapes while running: a row a trip, gathered into tensors at the end. */
struct tape {
	hop_array **row;
	size_t       n, cap;
};

static void push(hop_interp *p, struct tape *t, hop_array *row)
{
	t->row = hop_arena_grow(&p->env->tmp, t->row, sizeof *t->row, t->n + 1, &t->cap);
	t->row[t->n++] = row;
}

static hop_array *gather_tape(hop_interp *p, struct tape *t, const hop_type *type)
{
	hop_array *y = hop_interp_of(p, type);
	for (size_t i = 0; i < t->n; i++) {
		hop_tensor_put_row(y, (int64_t)i, t->row[i]);
		hop_interp_release(p, t->row[i]);
	}
	return y;
}

static hop_status test(hop_interp *p, const hop_node *n, hop_array *const *val, bool *out)
{
	hop_array *t;
	HOP_TRY(hop_interp_body(p, n, HOP_ATTR(n, while)->test, val, &t));
	*out = hop_array_i(t, 0);
	hop_interp_release(p, t);
	return HOP_OK;
}

hop_status hop_eval_while(hop_interp *p, const hop_node *n, hop_array *const *in,
                          hop_array **out)
{
	const struct hop_attr_while *a = HOP_ATTR(n, while);
	hop_arena *tmp = &p->env->tmp;
	uint32_t nc = (uint32_t)a->ncarry, nt = a->body->nout - nc;
	hop_array **val = HOP_NEWN(tmp, hop_array *, n->nin);
	hop_array **res = HOP_NEWN(tmp, hop_array *, a->body->nout);
	struct tape *tape = HOP_NEWN(tmp, struct tape, nt);
	int64_t trips = 0;
	bool go;
	memcpy(val, in, n->nin * sizeof *val);
	for (uint32_t k = 0; k < nc; k++)
		hop_array_retain(val[k]);
	for (;; trips++) {
		hop_interp_trip(p, trips);
		HOP_TRY(test(p, n, val, &go));
		if (!go || (a->max_trips && trips >= a->max_trips))
			break;
		HOP_TRY(hop_interp_body(p, n, a->body, val, res));
		for (uint32_t k = 0; k < nc; k++) {
			hop_interp_release(p, val[k]);
			val[k] = res[k];
		}
		for (uint32_t k = 0; k < nt; k++)
			push(p, &tape[k], res[nc + k]);
	}
	if (a->sym >= 0)
		hop_interp_bind(p, a->sym, trips);
	for (uint32_t k = 0; k < nc; k++)
		out[k] = val[k];
	out[nc] = hop_tensor_i64(p, trips);
	for (uint32_t k = 0; k < nt; k++)
		out[nc + 1 + k] = gather_tape(p, &tape[k], p->g->type[n->out0.id + nc + 1 + k]);
	return HOP_OK;
}
