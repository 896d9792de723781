/* vmap.c -- batching of functions: what include/hop/fn.h and include/hop/transform.h promise of
 * inputs, keys and writes. How a graph is batched is hops/vmap.c. */
#include "driver/transform.h"

#include <string.h>

#include "hop/transform.h"
#include "hops/transform.h"

/* Inputs that are keys of each lane's own can be so? */
static hop_status own_keys(hop_made *m, const bool *own, const int *in)
{
	hop_fn *f = m->from;
	for (int i = 0; i < f->nin; i++) {
		if (!own[i])
			continue;
		if (in[i] >= 0)
			return hop_fail(&m->e, 0, HOP_EUSE, "vmap: input %s is batched, every lane has its own "
			                "key already", hop_made_input(m, i));
		if (f->g->type[i]->dtype != HOP_i64)
			return hop_fail(&m->e, 0, HOP_ETYPE, "vmap: input %s is %s, a key is i64",
			                hop_made_input(m, i),
			                hop_dtype_name((hop_dtype)f->g->type[i]->dtype));
		for (int k = 0; k < f->nwrote; k++)
			if (f->wrote[k] == i)
				return hop_fail(&m->e, 0, HOP_EREFUSED, "vmap: input %s is written, it cannot be a "
				                "key that lanes share: batch it", hop_made_input(m, i));
	}
	return HOP_OK;
}

/* What is asked of each parameter and result of the graph; writes come out where they went in. */
static hop_status read_axes(hop_made *m, const hop_made_args *a, hop_vmap_ask *q, int *in,
                            bool *own, int *out)
{
	hop_fn *f = m->from;
	bool any = false;
	if (f->nin && !a->batched && !a->in)
		return hop_fail(&m->e, 0, HOP_EUSE, "vmap: it is not said which inputs are batched");
	if (a->size < -1 || a->size > HOP_SIZE_MAX)
		return hop_fail(&m->e, 0, HOP_EVALUE, "vmap: %lld lanes", (long long)a->size);
	for (uint32_t i = 0; i < f->g->nparam; i++)
		in[i] = HOP_VMAP_NONE;
	for (int i = 0; i < f->nin; i++) {
		own[i] = a->in ? a->in[i] == HOP_OWN_KEY : a->own && a->own[i];
		in[i] = !a->in ? (a->batched[i] ? 0 : HOP_VMAP_NONE) : own[i] ? HOP_VMAP_NONE : a->in[i];
		any |= in[i] != HOP_VMAP_NONE || own[i];
	}
	HOP_TRY(own_keys(m, own, in));
	if (!any && (a->size == -1 || a->chunk))
		return hop_fail(&m->e, 0, HOP_EVALUE, a->size == -1 ? "vmap: no input is batched, so nothing "
		                "says how many lanes there are: give n" : "vmap: no input is batched, so "
		                "there is nothing to take in chunks");
	for (int k = 0; k < f->nout; k++)
		out[k] = a->out ? a->out[k] : 0;
	for (int k = 0; k < f->nwrote; k++) {
		out[f->nout + k] = in[f->wrote[k]];
		if (a->chunk && in[f->wrote[k]] < 0)
			return hop_fail(&m->e, 0, HOP_EREFUSED, "vmap: input %s is written, and lanes come in "
			                "chunks: batch it too", hop_made_input(m, f->wrote[k]));
	}
	*q = (hop_vmap_ask){ .in = in, .own = own, .out = out, .size = a->size, .chunk = a->chunk };
	return HOP_OK;
}

static hop_status make_vmap(hop_made *m, const hop_made_args *a, hop_fn **out_f)
{
	hop_fn *f = m->from;
	hop_env *e = &m->e;
	const hop_graph *g = f->g, *h;
	int *in = HOP_NEWN(&e->tmp, int, g->nparam), *out = HOP_NEWN(&e->tmp, int, g->nout);
	bool *own = HOP_NEWN(&e->tmp, bool, g->nparam);
	hop_vmap_ask q;
	uint32_t k = 0;
	HOP_TRY(read_axes(m, a, &q, in, own, out));
	q.out_differs = &k;
	hop_status st = hop_ask_vmap(e, &q, g, &h);
	if (st && !e->diag.st && k < (uint32_t)f->nout)
		return hop_fail(e, 0, HOP_EVALUE, "vmap: result %u differs between lanes and has no axis for "
		                "them: give it one", k);
	if (st && !e->diag.st)
		return hop_fail(e, 0, HOP_EREFUSED, "vmap: input %s is written with what differs between "
		                "lanes: batch it too", hop_made_input(m, f->wrote[k - (uint32_t)f->nout]));
	HOP_TRY(st);
	HOP_TRY(hop_fn_new(f->ctx, h, f->nin, f->nout, f->nhidden, f->hidden, f->nwrote, f->wrote,
	                   out_f));
	hop_names_keep(*out_f, f, true);
	return HOP_OK;
}

hop_status hop_vmap(hop_fn *f, const bool *batched, int64_t n, hop_fn **out_f)
{
	return hop_vmap_own(f, batched, NULL, n, out_f);
}

hop_status hop_vmap_own(hop_fn *f, const bool *batched, const bool *own, int64_t n, hop_fn **out_f)
{
	return hop_made_run(f, make_vmap,
	                    &(hop_made_args){ .batched = batched, .own = own, .size = n }, out_f);
}

static hop_status make_vmap_with(hop_made *m, const hop_made_args *a, hop_fn **out_f)
{
	hop_fn *f = m->from;
	if (a->nwrt != f->nin)
		return hop_fail(&m->e, 0, HOP_EVALUE, "vmap: axes for %d inputs, the function has %d",
		                a->nwrt, f->nin);
	if (a->out && a->results != f->nout)
		return hop_fail(&m->e, 0, HOP_EVALUE, "vmap: axes for %d results, the function has %d",
		                a->results, f->nout);
	return make_vmap(m, a, out_f);
}

hop_status hop_vmap_with(hop_fn *f, const hop_vmap_opts *opts, hop_fn **out_f)
{
	hop_vmap_opts o;
	if (out_f)
		*out_f = NULL;
	if (!f || !out_f)
		return HOP_EUSE;
	HOP_TRY(hop_opts_read(f->ctx, "vmap", opts, &o, sizeof o));
	hop_made_args a = { .in = o.in, .nwrt = o.nin, .out = o.out, .results = o.nout,
	                    .size = o.n ? o.n : -1, .chunk = o.chunk };
	return hop_made_run(f, make_vmap_with, &a, out_f);
}
