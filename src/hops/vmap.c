/* vmap.c -- lanes along any axis, in and out, all at once or in chunks: axes are moved to the front
 * and back around what batching, or a map in chunks, makes of the graph. */
#include <string.h>

#include "hops/batch.h"
#include "hops/scan_group.h"
#include "hops/transform.h"

/* A new axis of size n. */
static const hop_type *widened(hop_env *e, const hop_type *t, int axis, hop_size n)
{
	hop_size d[HOP_MAXRANK + 1];
	for (int i = 0, k = 0; i <= t->rank; i++)
		d[i] = i == axis ? n : t->dim[k++];
	return hop_type_get(e, (hop_dtype)t->dtype, t->rank + 1, d);
}

/* Axis `from` of x becomes axis `to`. */
static hop_val moved(hop_build *b, hop_val x, int from, int to)
{
	int64_t perm[HOP_MAXRANK];
	if (b->st || from == to)
		return b->st ? HOP_BAD : x;
	int rank = hop_typeof(b, x)->rank;
	for (int i = 0, k = 0; i < rank; i++) {
		k += k == from;
		perm[i] = i == to ? from : k++;
	}
	return hop_emit_permute(b, x, perm);
}

static hop_status check_in(hop_env *e, const hop_vmap_ask *a, const hop_graph *g)
{
	for (uint32_t i = 0; i < g->nparam; i++) {
		int rank = g->type[i]->rank;
		if (a->in[i] < HOP_VMAP_NONE || a->in[i] > rank)
			return hop_fail(e, a->loc, HOP_EVALUE, "vmap: axis %d for the lanes of input %u, which "
			                "then has %d axes: they count from 0, -1 is none", a->in[i], i, rank + 1);
		if (a->in[i] >= 0 && rank == HOP_MAXRANK)
			return hop_fail(e, a->loc, HOP_ESHAPE, "vmap: input %u has rank %d already", i, rank);
	}
	return HOP_OK;
}

static hop_status check_out(hop_env *e, const hop_vmap_ask *a, const hop_graph *g)
{
	for (uint32_t k = 0; k < g->nout; k++) {
		int rank = hop_graph_out_type(g, k)->rank;
		if (a->out[k] < HOP_VMAP_NONE || a->out[k] > rank)
			return hop_fail(e, a->loc, HOP_EVALUE, "vmap: axis %d for the lanes of result %u, which "
			                "then has %d axes: they count from 0, -1 is none", a->out[k], k, rank + 1);
		if (a->out[k] < 0 && a->chunk)
			return hop_fail(e, a->loc, HOP_EVALUE, "vmap: result %u has no axis for the lanes, and "
			                "lanes come in chunks: give it an axis, or leave out chunk", k);
	}
	return a->chunk >= 0 ? HOP_OK : hop_fail(e, a->loc, HOP_EVALUE, "vmap: a chunk of %lld: it is "
		"how many lanes are computed at a time, 0 is all of them", (long long)a->chunk);
}

/* Which parameters have a lane's own value. */
static bool *batched(hop_env *e, const hop_vmap_ask *a, const hop_graph *g)
{
	bool *in = HOP_NEWN(&e->tmp, bool, g->nparam);
	for (uint32_t i = 0; i < g->nparam; i++)
		in[i] = a->in[i] >= 0 || (a->own && a->own[i]);
	return in;
}

static hop_status at_once(hop_build *b, const hop_vmap_ask *a, const hop_graph *g, hop_size n,
                          const hop_val *in, hop_val *out)
{
	hop_env *e = b->env;
	const hop_graph *h;
	bool *force = HOP_NEWN(&e->tmp, bool, g->nout), *got = HOP_NEWN(&e->tmp, bool, g->nout);
	hop_size *s = HOP_NEWN(&e->tmp, hop_size, g->nsym + 1);
	for (uint32_t k = 0; k < g->nout; k++)
		force[k] = a->out[k] >= 0;
	hop_batch_spec spec = { .size = a->size, .in = batched(e, a, g), .force = force };
	HOP_TRY(hop_ad_batch(e, g, &spec, &h, got));
	for (uint32_t k = 0; k < g->nout; k++) {
		if (!got[k] || force[k])
			continue;
		if (a->out_differs) {
			*a->out_differs = k;
			return HOP_EREFUSED;
		}
		return hop_fail(e, a->loc, HOP_EVALUE, "vmap: result %u differs between lanes and has no "
		                "axis for them: give it one", k);
	}
	for (uint32_t i = 0; i < g->nsym; i++)
		s[i] = hop_size_sym(e, (int)i);
	s[g->nsym] = n;
	return hop_emit_inline(b, h, s, in, out);
}

/* g with its parameters in the order of a map: those with lanes, then the others. */
static hop_status step_body(hop_env *e, const hop_graph *g, const bool *bat, hop_graph **out_g)
{
	hop_build b;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, g->nparam);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->nout);
	hop_body_open(&b, e, g);
	for (int part = 1; part >= 0; part--)
		for (uint32_t i = 0; i < g->nparam; i++)
			if (bat[i] == (part == 1))
				in[i] = hop_build_param(&b, g->type[i]);
	hop_body_inline(&b, g, in, out);
	return hop_seal(&b, g->nout, out, NULL, out_g);
}

static hop_status in_chunks(hop_build *b, const hop_vmap_ask *a, const hop_graph *g, hop_size n,
                            const hop_val *in, hop_val *out)
{
	hop_env *e = b->env;
	hop_graph *body;
	bool *bat = batched(e, a, g);
	hop_val *x = HOP_NEWN(&e->tmp, hop_val, g->nparam);
	uint32_t nx = 0, nk = 0;
	HOP_TRY(step_body(e, g, bat, &body));
	for (uint32_t i = 0; i < g->nparam; i++)
		if (bat[i])
			x[nx++] = in[i];
	for (uint32_t i = 0; i < g->nparam; i++)
		if (!bat[i])
			x[nx + nk++] = in[i];
	hop_scan_args s = { .body = body, .sargs = hop_own_sizes(e, g->nsym), .nx = nx, .nconst = nk,
	                    .length = n, .unordered = true, .count = HOP_ZERO, .x = x,
	                    .konst = x + nx };
	return hop_emit_scan_group(b, &s, a->chunk, out);
}

hop_status hop_ask_vmap(hop_env *e, const hop_vmap_ask *a, const hop_graph *g,
                        const hop_graph **out_g)
{
	hop_build b;
	hop_graph *made = NULL;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, g->nparam), *out = HOP_NEWN(&e->tmp, hop_val, g->nout);
	HOP_TRY(check_in(e, a, g));
	HOP_TRY(check_out(e, a, g));
	hop_build_open(&b, e);
	hop_build_syms_of(&b, g);
	hop_size n = a->size >= 0 ? hop_size_int(a->size)
	           : hop_size_sym(e, hop_build_sym(&b, (hop_range){ 0, HOP_SIZE_MAX }, NULL));
	for (uint32_t i = 0; i < g->nparam; i++)
		in[i] = hop_build_param(&b, a->in[i] < 0 ? g->type[i]
		                                         : widened(e, g->type[i], a->in[i], n));
	for (uint32_t i = 0; i < g->nparam; i++)
		in[i] = a->own && a->own[i] ? hop_emit_own_keys(&b, in[i], n)
		      : a->in[i] < 0 ? in[i] : moved(&b, in[i], a->in[i], 0);
	hop_status st = b.st ? b.st : a->chunk ? in_chunks(&b, a, g, n, in, out)
	                                       : at_once(&b, a, g, n, in, out);
	for (uint32_t k = 0; k < g->nout && !st; k++)
		if (a->out[k] > 0)
			out[k] = moved(&b, out[k], 0, a->out[k]);
	if (!b.st)
		b.st = st;
	st = hop_seal(&b, g->nout, out, g->name, &made);
	*out_g = made;
	return st;
}
