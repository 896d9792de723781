/* scan.c -- scan: a loop over the leading axis of its xs. What it means; its derivatives
 * are in scan_ad.c, its batching in scan_batch.c. */
#include "ad/ad.h"
#include "hops/body.h"

#include <string.h>

static hop_status counts(hop_infer *f, const struct hop_attr_scan *a)
{
	int64_t lead = a->counted ? 1 : 0;
	if (a->ncarry < 0 || a->nx < 0 || lead + a->ncarry + a->nx > (int64_t)f->nin)
		return hop_infer_fail(f, HOP_EVALUE, "scan: %lld carries and %lld xs of %u operands",
		                      (long long)a->ncarry, (long long)a->nx, f->nin);
	if (a->counted && (f->in[0]->dtype != HOP_i64 || f->in[0]->rank))
		return hop_infer_fail(f, HOP_ETYPE, "scan: the count must be an i64 scalar");
	if (a->stops && a->reverse)
		return hop_infer_fail(f, HOP_EREFUSED, "scan: a scan that stops early runs forward: "
		                      "reverse its xs with a slice of step -1");
	if (a->every < HOP_EVERY_RECOMPUTE)
		return hop_infer_fail(f, HOP_EVALUE, "scan: every is %lld: the number of steps between "
		                      "saved carries, 0 to save all, -1 for their square root",
		                      (long long)a->every);
	if (hop_size_nsym(a->length) > (int)(f->b->nsym + f->b->nlocal))
		return hop_infer_fail(f, HOP_ESHAPE, "scan: length uses an unknown symbol");
	return hop_infer_le(f, hop_size_of(0), a->length, "length is {1}");
}

/* scan [count] carries xs consts {ncarry nx length reverse counted stops every sargs body}
 * -- thread carries through a body applied to each slice of xs; ys are stacked */
hop_status hop_infer_scan(hop_infer *f)
{
	const struct hop_attr_scan *a = f->attr;
	HOP_TRY(counts(f, a));
	uint32_t lead = a->counted ? 1 : 0, nc = (uint32_t)a->ncarry, nx = (uint32_t)a->nx;
	uint32_t np = f->nin - lead;
	const hop_type **t = HOP_NEWN(&f->b->arena, const hop_type *, np);
	for (uint32_t i = 0; i < np; i++) {
		t[i] = f->in[lead + i];
		if (i < nc || i >= nc + nx)
			continue;
		if (!t[i]->rank)
			return hop_infer_fail(f, HOP_ESHAPE, "scan: xs %u is a scalar: it has no axis to "
			                      "scan over", i - nc);
		if (!hop_infer_holds(f, HOP_EQ, t[i]->dim[0], a->length))
			HOP_TRY(hop_infer_equal(f, t[i]->dim[0], a->length,
			                        hop_infer_text(f, "xs %u has {0} slices, the length is "
			                                       "{1}", i - nc)));
		t[i] = hop_type_drop(f->env, t[i]);
	}
	HOP_TRY(hop_body_takes(f, "body", a->body, a->sargs, np, t));
	uint32_t need = nc + (a->stops ? 1 : 0);
	if (a->body->nout < need)
		return hop_infer_fail(f, HOP_ETYPE, "scan: body gives %u results, needs at least %u",
		                      a->body->nout, need);
	hop_infer_outs(f, a->body->nout);
	uint32_t ny = a->body->nout - need;
	for (uint32_t k = 0; k < f->nout; k++) {
		HOP_TRY(hop_body_gives(f, "body", a->body, a->sargs, k, &f->out[k]));
		if (k < nc) {
			HOP_TRY(hop_types_agree(f, t[k], f->out[k], "carry", k, "the operands",
			                        "the results of body"));
			f->out[k] = t[k];
		} else if (k < nc + ny) {
			if (f->out[k]->rank == HOP_MAXRANK)
				return hop_infer_fail(f, HOP_ESHAPE, "scan: a result of rank %d is too deep",
				                      HOP_MAXRANK + 1);
			f->out[k] = hop_type_prepend(f->env, f->out[k], a->length);
		} else {
			if (f->out[k]->dtype != HOP_bool || f->out[k]->rank)
				return hop_infer_fail(f, HOP_ETYPE, "scan: stop must be a bool scalar");
			f->out[k] = hop_type_scalar(f->env, HOP_i64);
		}
	}
	return HOP_OK;
}

hop_status hop_eval_scan(hop_interp *p, const hop_node *n, hop_tensor *const *in,
                         hop_tensor **out)
{
	const struct hop_attr_scan *a = HOP_ATTR(n, scan);
	hop_arena *tmp = &p->env->tmp;
	uint32_t lead = a->counted ? 1 : 0, nc = (uint32_t)a->ncarry, nx = (uint32_t)a->nx;
	uint32_t np = n->nin - lead, ny = a->body->nout - nc - (a->stops ? 1 : 0);
	hop_tensor **val = HOP_NEWN(tmp, hop_tensor *, np);
	hop_tensor **res = HOP_NEWN(tmp, hop_tensor *, a->body->nout);
	int64_t len = hop_interp_size(p, a->length), steps = 0;

	if (a->counted) {
		int64_t c = hop_tensor_i(in[0], 0);
		len = c < 0 ? 0 : c < len ? c : len;
	}
	memcpy(val, in + lead, np * sizeof *val);
	for (uint32_t k = 0; k < nc; k++)
		hop_tensor_retain(val[k]);
	for (uint32_t k = 0; k < ny; k++)
		out[nc + k] = hop_tensor_of(p, p->g->type[n->out0.id + nc + k]);
	for (bool stop = false; steps < len && !stop; steps++) {
		int64_t t = a->reverse ? len - 1 - steps : steps;
		for (uint32_t k = 0; k < nx; k++)
			val[nc + k] = hop_tensor_row(p, in[lead + nc + k], t);
		HOP_TRY(hop_interp_body(p, n, a->body, val, res));
		for (uint32_t k = 0; k < nx; k++)
			hop_tensor_release(p, val[nc + k]);
		for (uint32_t k = 0; k < nc; k++) {
			hop_tensor_release(p, val[k]);
			val[k] = res[k];
		}
		for (uint32_t k = 0; k < ny; k++) {
			hop_tensor_put_row(out[nc + k], t, res[nc + k]);
			hop_tensor_release(p, res[nc + k]);
		}
		if (a->stops) {
			stop = hop_tensor_i(res[nc + ny], 0);
			hop_tensor_release(p, res[nc + ny]);
		}
	}
	for (uint32_t k = 0; k < nc; k++)
		out[k] = val[k];
	if (a->stops)
		out[nc + ny] = hop_tensor_i64(p, steps);
	return HOP_OK;
}

