/* assoc_batch.c -- associative_scan and reduce under batching: the combine of all lanes. */
#include "hops/batch.h"

#include <string.h>

/* Which leaves become batched: those that start so, or that combining makes so. */
static hop_status batched_leaves(hop_build *b, const hop_rule *r, const hop_assoc *a,
                                 bool masked, bool *bin)
{
	bool *bo = HOP_NEWN(&b->env->tmp, bool, a->nx);
	const hop_graph *h;
	for (uint32_t k = 0; k < a->nx; k++)
		bin[k] = (a->ninit && r->bin[k]) || r->bin[a->ninit + k];
	memcpy(bin + 2 * a->nx, r->bin + a->ninit + a->nx, a->nk);
	for (bool more = true; more; ) {
		more = false;
		memcpy(bin + a->nx, bin, a->nx);
		HOP_TRY(hop_batch_body(b, r, a->combine, masked, bin, NULL, &h, bo));
		for (uint32_t k = 0; k < a->nx; k++) {
			more |= bo[k] && !bin[k];
			bin[k] |= bo[k];
		}
	}
	return HOP_OK;
}

hop_status hop_batch_assoc(hop_build *b, hop_rule *r)
{
	hop_assoc a = hop_assoc_of(r->n);
	hop_env *e = b->env;
	bool masked = !hop_is_zero(r->mask) && hop_ad_needs_mask(a.combine);
	bool *bin = HOP_NEWN(&e->tmp, bool, a.combine->nparam);
	bool *bo = HOP_NEWN(&e->tmp, bool, a.nx);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, r->n->nin + 1);
	HOP_TRY(batched_leaves(b, r, &a, masked, bin));
	HOP_TRY(hop_batch_body(b, r, a.combine, masked, bin, bin, &a.combine, bo));
	for (uint32_t i = 0; i < r->n->nin; i++) {
		bool leaf = i < a.ninit + a.nx, init = i < a.ninit;
		in[i] = r->in[i];
		if (leaf && bin[init ? i : i - a.ninit]) {
			in[i] = hop_batch_solid(b, r, in[i], r->bin[i]);
			if (!init)
				in[i] = hop_emit_swap(b, in[i]);
		}
	}
	in[r->n->nin] = r->mask;
	a.nk += masked;
	a.sargs = hop_batch_sargs(b, r);
	a.length = hop_size_subst(e, a.length, r->smap, r->nsmap);
	HOP_TRY(hop_emit_assoc(b, &a, in, r->out));
	for (uint32_t k = 0; k < a.nx; k++) {
		r->bout[k] = bin[k];
		if (bin[k] && !a.whole)
			r->out[k] = hop_emit_swap(b, r->out[k]);
	}
	return b->st;
}
