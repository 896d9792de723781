/* packed.c -- packed in all its cells: its first operand as it is. What pack and unpack are for is
 * the cut of a reverse pass (ad/cut.c): a value that crosses is packed by the forward half, and the
 * backward half unpacks it; nobody else runs them. */
#include "hops/batch.h"
#include "loop/lower.h"

#include <string.h>

/* packed x captures {sargs pack unpack} -- x; a reverse pass saves it packed, and unpacks it */
hop_status hop_infer_packed(hop_infer *f)
{
	const struct hop_attr_packed *a = f->attr;
	const hop_type *back;
	if (!f->nin)
		return hop_infer_fail(f, HOP_EVALUE, "packed: it has no operand");
	HOP_TRY(hop_body_takes(f, "pack", a->pack, a->sargs, f->nin, f->in));
	if (!a->pack->nout)
		return hop_infer_fail(f, HOP_EVALUE, "packed: pack gives nothing, from which unpack could "
		                      "make the value again");
	const hop_type **saved = HOP_NEWN(&f->env->tmp, const hop_type *, a->pack->nout);
	for (uint32_t k = 0; k < a->pack->nout; k++)
		HOP_TRY(hop_body_gives(f, "pack", a->pack, a->sargs, k, &saved[k]));
	HOP_TRY(hop_body_takes(f, "unpack", a->unpack, a->sargs, a->pack->nout, saved));
	if (a->unpack->nout != 1)
		return hop_infer_fail(f, HOP_EVALUE, "packed: unpack gives %u values, and should give one",
		                      a->unpack->nout);
	HOP_TRY(hop_body_gives(f, "unpack", a->unpack, a->sargs, 0, &back));
	HOP_TRY(hop_types_agree(f, f->in[0], back, "operand", 0, "the node", "what unpack gives"));
	f->out[0] = f->in[0];
	return HOP_OK;
}

hop_status hop_eval_packed(hop_interp *p, const hop_node *n, hop_array *const *in,
                           hop_array **out)
{
	(void)p, (void)n;
	out[0] = hop_array_retain(in[0]);
	return HOP_OK;
}

/* ---- derivatives: those of x ---- */

void hop_active_packed(hop_env *e, const hop_node *n, const bool *in, bool *out)
{
	(void)e, (void)n;
	out[0] = in[0];
}

hop_status hop_jvp_packed(hop_build *b, hop_rule *r)
{
	r->out[0] = hop_emit_op(b, HOP_OP_packed, hop_rule_attr(b, r), r->n->nin, r->in);
	r->dout[0] = r->din[0];
	return b->st;
}

hop_status hop_fwd_packed(hop_build *b, hop_rule *r)
{
	r->out[0] = hop_emit_op(b, HOP_OP_packed, hop_rule_attr(b, r), r->n->nin, r->in);
	return b->st;
}

hop_status hop_bwd_packed(hop_build *b, hop_rule *r)
{
	(void)b;
	r->din[0] = r->dout[0];
	return HOP_OK;
}

/* ---- batching: lane by lane ---- */

static hop_status batch_one(hop_build *b, const hop_rule *r, const hop_graph *g, bool masked,
                            const bool *bin, const hop_graph **out_g)
{
	bool *all = HOP_NEWN(&b->env->tmp, bool, g->nout), *bo = HOP_NEWN(&b->env->tmp, bool, g->nout);
	memset(all, 1, g->nout);
	return hop_batch_body(b, r, g, masked, bin, all, out_g, bo);
}

/* g, whose last parameter is a mask, with the mask as one more result. */
static hop_status give_mask(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	hop_build c;
	hop_graph *made;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, g->nparam);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->nout + 1);
	hop_body_open(&c, e, g);
	for (uint32_t i = 0; i < g->nparam; i++)
		in[i] = hop_build_param(&c, g->type[i]);
	hop_body_inline(&c, g, in, out);
	out[g->nout] = in[g->nparam - 1];
	HOP_TRY(hop_seal(&c, g->nout + 1, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

/* With inactive lanes and effects the mask is one more capture of pack, and one more value that is
 * saved for unpack. */
hop_status hop_batch_packed(hop_build *b, hop_rule *r)
{
	const struct hop_attr_packed *a = HOP_ATTR(r->n, packed);
	struct hop_attr_packed made = { .pack = NULL };
	uint32_t n = r->n->nin;
	bool masked = !hop_is_zero(r->mask) &&
	              (hop_ad_needs_mask(a->pack) || hop_ad_needs_mask(a->unpack));
	bool *bin = hop_arena_dup(&b->env->tmp, r->bin, n * sizeof *bin);
	bool *saved = HOP_NEWN(&b->env->tmp, bool, a->pack->nout);
	hop_val *in = HOP_NEWN(&b->env->tmp, hop_val, n + 1);
	memset(saved, 1, a->pack->nout);
	memcpy(in, r->in, n * sizeof *in);
	in[0] = hop_batch_solid(b, r, in[0], bin[0]);
	bin[0] = r->bout[0] = true;
	HOP_TRY(batch_one(b, r, a->pack, masked, bin, &made.pack));
	HOP_TRY(batch_one(b, r, a->unpack, masked, saved, &made.unpack));
	if (masked) {
		HOP_TRY(give_mask(b->env, made.pack, &made.pack));
		in[n++] = r->mask;
	}
	made.sargs = hop_batch_sargs(b, r);
	r->out[0] = b->st ? HOP_BAD : hop_emit_op(b, HOP_OP_packed, &made, n, in);
	return b->st;
}

/* ---- code: what the pass `plain` would have left ---- */

hop_status hop_lower_packed(hop_lower *l, const hop_node *n)
{
	const hop_graph *g = HOP_ATTR(n, packed)->pack;
	hop_build c;
	hop_graph *same;
	hop_body_open(&c, l->env, g);
	for (uint32_t i = 0; i < g->nparam; i++)
		hop_build_param(&c, g->type[i]);
	HOP_TRY(hop_seal(&c, 1, &(hop_val){ 0 }, NULL, &same));
	return hop_lower_call_body(l, n, same);
}
