/* replay_rows.c -- replay of a loop that kept a state for every leaf: a scan over the states, from
 * the last to the first. Its step runs the leaf again with a tape and reverses it; the sums of
 * consts are among its carries, so that they go on from leaf to leaf. */
#include "hops/replay.h"

#include <string.h>

#include "hops/scan_chunk.h"

struct rows {
	hop_env   *e;
	hop_replay r;
	hop_chunks c;
	bool       limited;              /* not every leaf runs all its steps */
	hop_sizes  own;
	const hop_type *i64;
};

/* Parameters: dc, dk; [i], states, xs, dy; [trips], consts. Results: dc, dk; dx. */
static hop_status make_step(const struct rows *w, hop_graph **out_g)
{
	const hop_replay *r = &w->r;
	hop_loop l = r->l;
	const hop_type *const *t = l.body->type;
	hop_env *e = w->e;
	hop_build bd, *b = &bd;
	uint32_t np = l.body->nparam, first = l.nc + l.nx, no = 0;
	hop_val *p = HOP_NEWN(&e->tmp, hop_val, np), *dc = HOP_NEWN(&e->tmp, hop_val, l.nc);
	hop_val *dk = HOP_NEWN(&e->tmp, hop_val, l.nk), *dx = HOP_NEWN(&e->tmp, hop_val, l.nx);
	hop_val *dy = HOP_NEWN(&e->tmp, hop_val, l.ny), *out = HOP_NEWN(&e->tmp, hop_val, np);
	hop_val i = HOP_ZERO, count = HOP_ZERO;
	hop_body_open(b, e, l.body);
	for (uint32_t k = 0; k < l.nc; k++)
		dc[k] = l.act[k] ? hop_build_param(b, t[k]) : HOP_ZERO;
	for (uint32_t k = 0; k < l.nk; k++)
		dk[k] = l.act[first + k] ? hop_build_param(b, t[first + k]) : HOP_ZERO;
	if (w->limited)
		i = hop_build_param(b, w->i64);
	for (uint32_t k = 0; k < first; k++)
		p[k] = hop_build_param(b, k < l.nc ? t[k] : hop_type_prepend(e, t[k], w->c.each));
	for (uint32_t k = 0; k < l.ny; k++)
		dy[k] = !l.live[l.nc + k] ? HOP_ZERO : hop_build_param(b, hop_type_prepend(e,
		        hop_graph_out_type(l.body, l.nc + k), w->c.each));
	hop_val trips = w->limited ? hop_build_param(b, w->i64) : HOP_ZERO;
	for (uint32_t k = first; k < np; k++)
		p[k] = hop_build_param(b, t[k]);
	if (w->limited)
		count = hop_chunk_count(b, &w->c, trips, i);
	HOP_TRY(hop_loop_cut(b, &l, l.act, l.live + l.nc, HOP_CUT_MIN));
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, l.fwd->nout);
	hop_scan_args s = { .body = l.fwd, .sargs = w->own, .ncarry = l.nc, .nx = l.nx,
	                    .nconst = l.nk, .length = w->c.each, .count = count, .carry = p,
	                    .x = p + l.nc, .konst = p + first };
	hop_emit_scan(b, &s, res);
	hop_loop_vals v = { .x = s.x, .konst = s.konst, .y = res + l.nc,
	                    .stacked = res + l.nc + l.ny, .dcarry = dc, .dy = dy, .dk = dk,
	                    .carry = res, .count = count, .length = w->c.each, .reverse = true,
	                    .sargs = w->own };
	if (!b->st)
		hop_loop_reverse(b, &l, &v, dc, dx, dk);
	for (uint32_t k = 0; k < np; k++)          /* dx last */
		if (l.act[k] && (k < l.nc || k >= first))
			out[no++] = k < l.nc ? dc[k] : dk[k - first];
	for (uint32_t k = 0; k < l.nx; k++)
		if (l.act[l.nc + k])
			out[no++] = dx[k];
	return hop_seal(b, no, out, NULL, out_g);
}

static void open_rows(struct rows *w, hop_env *e, const hop_node *n)
{
	*w = (struct rows){ .e = e, .i64 = hop_type_scalar(e, HOP_i64) };
	bool ok = hop_replay_read(e, &e->tmp, HOP_ATTR(n, replay), n->nin, &w->r);
	HOP_ASSERT(ok);
	w->own = hop_own_sizes(e, w->r.l.body->nsym);
	w->c = (hop_chunks){ .length = w->r.length, .chunks = w->r.rows, .every = w->r.a->leaf,
	                     .each = hop_size_int(w->r.a->leaf) };
	w->limited = !w->r.a->whole ||
	             !hop_size_eq(w->c.length, hop_size_mul(e, w->c.chunks, w->c.each));
}

hop_status hop_replay_rows(hop_env *e, const hop_node *n, hop_graph **out_g)
{
	struct rows w;
	hop_build bd, *b = &bd;
	hop_graph *step;
	open_rows(&w, e, n);
	const hop_replay *r = &w.r;
	const hop_loop *l = &r->l;
	HOP_TRY(make_step(&w, &step));
	hop_val *p = HOP_NEWN(&e->tmp, hop_val, n->nin), *in = HOP_NEWN(&e->tmp, hop_val, step->nparam);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, step->nout), *out = HOP_NEWN(&e->tmp, hop_val, n->nout);
	uint32_t m = 0, nc = r->nca + r->nka, nx, k = 0;
	hop_body_open(b, e, l->body);
	for (uint32_t i = 0; i < n->nin; i++)
		p[i] = hop_build_param(b, hop_replay_type(e, r, i));
	for (uint32_t i = 0; i < r->nca; i++)
		in[m++] = p[r->dcarry + i];
	for (; m < nc; m++)
		in[m] = hop_emit_zeros(b, step->type[m]);
	if (w.limited)
		in[m++] = hop_emit_iota(b, HOP_i64, 1, &w.c.chunks, 0);
	for (uint32_t i = r->kept; i < r->dcarry; i++)
		in[m++] = p[i];
	for (uint32_t i = r->x; i < r->konst; i++)
		in[m++] = hop_chunk_split(b, &w.c, p[i]);
	for (uint32_t i = r->dy; i < n->nin; i++)
		in[m++] = hop_chunk_split(b, &w.c, p[i]);
	nx = m - nc;
	if (w.limited)
		in[m++] = p[HOP_REPLAY_TRIPS];
	for (uint32_t i = r->konst; i < r->kept; i++)
		in[m++] = p[i];
	hop_scan_args s = { .body = step, .sargs = w.own, .ncarry = nc, .nx = nx,
	                    .nconst = m - nc - nx, .length = w.c.chunks, .reverse = true,
	                    .carry = in, .x = in + nc, .konst = in + nc + nx,
	                    .count = r->a->whole ? HOP_ZERO : p[HOP_REPLAY_COUNT] };
	hop_emit_scan(b, &s, res);
	for (uint32_t i = 0; i < r->nca; i++)
		out[k++] = res[i];
	for (uint32_t i = 0; i < r->nxa; i++)
		out[k++] = hop_chunk_join(b, &w.c, res[nc + i]);
	for (uint32_t i = 0; i < r->nka; i++)
		out[k++] = res[r->nca + i];
	return hop_seal(b, n->nout, out, NULL, out_g);
}
