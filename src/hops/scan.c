/* scan.c -- scan: a loop over the leading axis of its xs; map: the same without carries, in
 * any order. What they mean; derivatives are in scan_ad.c, batching in scan_batch.c. */
#include "ad/ad.h"
#include "hops/body.h"

#include <string.h>

bool hop_steps_read(int op, const void *attr, uint32_t nin, hop_steps *s)
{
	hop_node n = { .op = (uint16_t)op, .attr = attr };
	hop_roles r;
	*s = (hop_steps){ .body = hop_node_subs(&n).v[0], .sargs = hop_node_sargs(&n) };
	if (!s->body || !hop_sig_read(op, attr, nin, s->body->nout, &r))
		return false;
	s->lead = r.lead;
	s->nc = r.in.carry.n;
	s->nx = r.in.x.n;
	s->nk = r.in.same.n;
	s->ny = r.out.y.n;
	s->stops = r.out.steps.n;
	if (op == HOP_OP_map) {
		s->length = ((const struct hop_attr_map *)attr)->length;
		s->unordered = true;
		return true;
	}
	const struct hop_attr_scan *a = attr;
	s->length = a->length;
	s->reverse = a->reverse;
	s->every = a->every;
	s->slots = a->slots;
	s->unroll = a->unroll;
	return true;
}

hop_steps hop_steps_of(const hop_node *n)
{
	hop_steps s;
	bool ok = hop_steps_read(n->op, n->attr, n->nin, &s);
	HOP_ASSERT(ok);
	return s;
}

/* The attributes ask for more than there is: of what? */
static hop_status too_many(hop_infer *f, const hop_graph *body)
{
	const struct hop_attr_scan *a = f->op == HOP_OP_scan ? f->attr : NULL;
	const char *op = hop_optab[f->op].name;
	int64_t nc = a ? a->ncarry : 0, lead = a && a->counted;
	int64_t nx = a ? a->nx : ((const struct hop_attr_map *)f->attr)->nx;
	if (nc < 0 || nx < 0 || lead + nc + nx > (int64_t)f->nin)
		return hop_infer_fail(f, HOP_EVALUE, "%s: %lld carries and %lld xs of %u operands",
		                      op, (long long)nc, (long long)nx, f->nin);
	return hop_infer_fail(f, HOP_ETYPE, "%s: body gives %u results, needs at least %lld", op,
	                      body->nout, (long long)(nc + (a && a->stops)));
}

static hop_status check_counts(hop_infer *f, hop_steps *s)
{
	const char *op = hop_optab[f->op].name;
	bool ok = hop_steps_read(f->op, f->attr, f->nin, s);
	if (!s->body)
		return hop_infer_fail(f, HOP_ETYPE, "%s: body is missing", op);
	if (!ok)
		return too_many(f, s->body);
	if (s->lead && !hop_type_is_scalar(f->in[0], HOP_i64))
		return hop_infer_fail(f, HOP_ETYPE, "%s: the count must be an i64 scalar", op);
	if (s->every < HOP_EVERY_SQRT)
		return hop_infer_fail(f, HOP_EVALUE, "%s: every is %lld: the number of steps between "
		                      "saved carries, 0 to save all, -1 for their square root", op,
		                      (long long)s->every);
	if (s->slots < 0)
		return hop_infer_fail(f, HOP_EVALUE, "%s: slots is %lld: 0 keeps all, n > 0 as many "
		                      "states", op, (long long)s->slots);
	if (s->slots && s->every)
		return hop_infer_fail(f, HOP_EVALUE, "%s: slots is %lld and every is %lld: give one of "
		                      "them", op, (long long)s->slots, (long long)s->every);
	if (s->unroll < 0)
		return hop_infer_fail(f, HOP_EVALUE, "%s: unroll is %lld: it is how many steps run at a time",
		                      op, (long long)s->unroll);
	if (hop_size_nsym(s->length) > (int)(f->b->nsym + f->b->nlocal))
		return hop_infer_fail(f, HOP_ESHAPE, "%s: length uses an unknown symbol", op);
	return hop_infer_le(f, hop_size_int(0), s->length, "length is {1}");
}

/* The types that body takes: slices of the xs. */
static hop_status slices(hop_infer *f, const hop_steps *s, const hop_type **t)
{
	for (uint32_t i = 0; i < s->nx; i++) {
		const hop_type **x = &t[s->nc + i];
		if (!(*x)->rank)
			return hop_infer_fail(f, HOP_ESHAPE, "%s: xs %u is a scalar: it has no axis to "
			                      "scan over", hop_optab[f->op].name, i);
		if (!hop_infer_holds(f, HOP_EQ, (*x)->dim[0], s->length))
			HOP_TRY(hop_infer_equal(f, (*x)->dim[0], s->length,
			                        hop_infer_text(f, "xs %u has {0} slices, the length is "
			                                       "{1}", i)));
		*x = hop_type_drop(f->env, *x);
	}
	return HOP_OK;
}

/* scan [count] carries xs consts -- thread carries through a body applied to each slice of xs
 * What a step gives besides is stacked.
 * map xs consts -- apply a body to each slice of xs, in no order
 * What it gives is stacked. */
hop_status hop_infer_scan(hop_infer *f)
{
	const char *op = hop_optab[f->op].name;
	hop_steps s;
	HOP_TRY(check_counts(f, &s));
	uint32_t np = f->nin - s.lead;
	const hop_type **t = hop_arena_dup(&f->b->arena, f->in + s.lead, np * sizeof *t);
	HOP_TRY(slices(f, &s, t));
	HOP_TRY(hop_body_takes(f, "body", s.body, s.sargs, np, t));
	hop_infer_outs(f, s.body->nout);
	for (uint32_t k = 0; k < f->nout; k++) {
		HOP_TRY(hop_body_gives(f, "body", s.body, s.sargs, k, &f->out[k]));
		if (k < s.nc) {
			HOP_TRY(hop_types_agree(f, t[k], f->out[k], "carry", k, "the operands",
			                        "the results of body"));
			f->out[k] = t[k];
		} else if (k < s.nc + s.ny) {
			if (f->out[k]->rank == HOP_MAXRANK)
				return hop_infer_fail(f, HOP_ESHAPE, "%s: a result of rank %d is too deep",
				                      op, HOP_MAXRANK + 1);
			f->out[k] = hop_type_prepend(f->env, f->out[k], s.length);
		} else {
			if (!hop_type_is_scalar(f->out[k], HOP_bool))
				return hop_infer_fail(f, HOP_ETYPE, "%s: stop must be a bool scalar", op);
			f->out[k] = hop_type_scalar(f->env, HOP_i64);
		}
	}
	return HOP_OK;
}

hop_status hop_eval_scan(hop_interp *p, const hop_node *n, hop_array *const *in,
                         hop_array **out)
{
	hop_steps s = hop_steps_of(n);
	hop_arena *tmp = &p->env->tmp;
	hop_array **val = HOP_NEWN(tmp, hop_array *, s.nc + s.nx + s.nk);
	hop_array **res = HOP_NEWN(tmp, hop_array *, s.body->nout);
	int64_t len = hop_interp_size(p, s.length), steps = 0;
	if (s.lead) {
		int64_t c = hop_array_i(in[0], 0);
		len = c < 0 ? 0 : c < len ? c : len;
	}
	in += s.lead;
	memcpy(val, in, (s.nc + s.nx + s.nk) * sizeof *val);
	for (uint32_t k = 0; k < s.nc; k++)
		hop_array_retain(val[k]);
	for (uint32_t k = 0; k < s.ny; k++)
		out[s.nc + k] = hop_interp_of(p, p->g->type[n->out0.id + s.nc + k]);
	for (bool stop = false; steps < len && !stop; steps++) {
		int64_t t = s.reverse ? len - 1 - steps : steps;
		for (uint32_t k = 0; k < s.nx; k++)
			val[s.nc + k] = hop_tensor_row(p, in[s.nc + k], t);
		hop_interp_trip(p, t);
		HOP_TRY(hop_interp_body(p, n, s.body, val, res));
		for (uint32_t k = 0; k < s.nx; k++)
			hop_interp_release(p, val[s.nc + k]);
		for (uint32_t k = 0; k < s.nc; k++) {
			hop_interp_release(p, val[k]);
			val[k] = res[k];
		}
		for (uint32_t k = 0; k < s.ny; k++) {
			hop_tensor_put_row(out[s.nc + k], t, res[s.nc + k]);
			hop_interp_release(p, res[s.nc + k]);
		}
		if (s.stops) {
			stop = hop_array_i(res[s.nc + s.ny], 0);
			hop_interp_release(p, res[s.nc + s.ny]);
		}
	}
	for (uint32_t k = 0; k < s.nc; k++)
		out[k] = val[k];
	if (s.stops)
		out[s.nc + s.ny] = hop_tensor_i64(p, steps);
	return HOP_OK;
}
