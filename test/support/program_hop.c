/* program_hop.c -- random programs: operators with bodies. Loops end by a counter; carries
 * are bounded at each step; a custom gradient is the true one, so that every law holds. */
#include "support/program.h"

#include <string.h>

#include "ad/ad.h"
#include "hops/body.h"

static bool is_float(const hop_type *t)
{
	return hop_dtype_float((hop_dtype)t->dtype);
}

uint32_t gen_capture(gen_scope *s, hop_val *in)
{
	uint32_t n = 1 + gen_below(s->g, GEN_IN);
	for (uint32_t i = 0; i < n; i++)
		in[i] = gen_any(s);
	return s->b.st ? 0 : n;
}

void gen_body_open(gen_scope *c, gen_scope *s)
{
	gen_open(c, s->g, s->depth - 1);
}

void gen_body_take(gen_scope *c, gen_scope *s, uint32_t n, const hop_val *in)
{
	for (uint32_t i = 0; i < n && !s->b.st; i++)
		gen_add(c, hop_build_param(&c->b, hop_typeof(&s->b, in[i])));
}

hop_status gen_body_close(gen_scope *s, gen_scope *c, uint32_t n, const hop_val *out,
                          hop_graph **out_g)
{
	hop_status st = hop_seal(&c->b, n, out, NULL, out_g);
	if (st && !s->b.st)
		s->b.st = st;
	return st;
}

hop_sizes gen_sargs(gen_scope *s)
{
	int n = s->g->o->nsym;
	hop_size *v = HOP_NEWN(&s->g->e->tmp, hop_size, n);
	for (int i = 0; i < n; i++)
		v[i] = hop_size_sym(s->g->e, i);
	return (hop_sizes){ n, v };
}

void gen_add_all(gen_scope *s, uint32_t n, const hop_val *out)
{
	for (uint32_t i = 0; i < n; i++)
		gen_add(s, out[i]);
}

hop_status gen_body(gen_scope *s, uint32_t nin, const hop_val *in, uint32_t nout,
                    const hop_type *const *want, hop_graph **out_g)
{
	gen_scope c;
	hop_val out[GEN_OUT];
	gen_body_open(&c, s);
	gen_body_take(&c, s, nin, in);
	gen_steps(&c, 1 + (int)gen_below(s->g, 4));
	for (uint32_t i = 0; i < nout; i++)
		out[i] = gen_want(&c, want[i]);
	return gen_body_close(s, &c, nout, out, out_g);
}

uint32_t gen_types(gen_scope *s, const hop_type **t)
{
	uint32_t n = 1 + gen_below(s->g, 2);
	for (uint32_t i = 0; i < n; i++)
		t[i] = gen_type(s->g);
	return n;
}

/* What is saved changes no number: any word may stand anywhere. */
static hop_val make_name(gen_scope *s, hop_val v)
{
	struct hop_attr_name a = { .save = gen_below(s->g, HOP_NSAVE) };
	return hop_emit_op(&s->b, HOP_OP_name, &a, 1, &v);
}

static void make_checkpoint(gen_scope *s)
{
	hop_val in[GEN_IN], out[GEN_OUT];
	const hop_type *t[GEN_OUT] = { NULL };
	hop_graph *g;
	uint32_t n = gen_capture(s, in), no = gen_types(s, t);
	for (uint32_t i = 0; i < n && !s->b.st; i++)
		in[i] = make_name(s, in[i]);
	if (s->b.st || gen_body(s, n, in, no, t, &g))
		return;
	struct hop_attr_checkpoint a = { .budget = gen_below(s->g, 3) / 2.0, .sargs = gen_sargs(s),
	                                 .body = g };
	hop_emit_checkpoint(&s->b, &a, in, out);
	for (uint32_t i = 0; i < no && !s->b.st; i++)
		out[i] = make_name(s, out[i]);
	gen_add_all(s, s->b.st ? 0 : no, out);
}

static void make_call(gen_scope *s)
{
	hop_val in[GEN_IN], out[GEN_OUT];
	const hop_type *t[GEN_OUT] = { NULL };
	hop_graph *g;
	uint32_t n = gen_capture(s, in), no = gen_types(s, t);
	if (gen_body(s, n, in, no, t, &g))
		return;
	struct hop_attr_call like = { .no_inline = !gen_below(s->g, 4), .no_fuse = !gen_below(s->g, 6),
	                              .unroll = gen_below(s->g, 4) };
	hop_emit_call_like(&s->b, &like, g, gen_sargs(s), in, out);
	gen_add_all(s, no, out);
}

static void make_cond(gen_scope *s)
{
	hop_val in[GEN_IN], out[GEN_OUT];
	const hop_type *t[GEN_OUT];
	hop_graph *x, *y;
	uint32_t n = gen_capture(s, in), no = gen_types(s, t);
	hop_val p = s->g->o->nsym && !gen_below(s->g, 3)
	          ? gen_guard(s) : gen_want(s, hop_type_scalar(s->g->e, HOP_bool));
	if (gen_body(s, n, in, no, t, &x) || gen_body(s, n, in, no, t, &y) || s->b.st)
		return;
	struct hop_attr_cond a = { .partition = !gen_below(s->g, 3) };
	hop_emit_branches(&s->b, &(hop_node){ .op = HOP_OP_cond, .attr = &a },
	                  (const hop_graph *[]){ x, y }, gen_sargs(s), p, in, out);
	gen_add_all(s, no, out);
}

/* One to five branches, some of them the same graph; the index may be out of range. */
static void make_switch(gen_scope *s)
{
	hop_val in[GEN_IN], out[GEN_OUT];
	const hop_type *t[GEN_OUT];
	const hop_graph *branch[5];
	hop_graph *g;
	uint32_t n = gen_capture(s, in), no = gen_types(s, t), nb = 1 + gen_below(s->g, 5);
	hop_val index = gen_want(s, hop_type_scalar(s->g->e, HOP_i64));
	for (uint32_t k = 0; k < nb; k++) {
		if (k && !gen_below(s->g, 4)) {
			branch[k] = branch[gen_below(s->g, k)];
			continue;
		}
		if (gen_body(s, n, in, no, t, &g) || s->b.st)
			return;
		branch[k] = g;
	}
	if (s->b.st)
		return;
	struct hop_attr_switch a = { .partition = !gen_below(s->g, 3), .branch = { nb, branch } };
	hop_emit_branches(&s->b, &(hop_node){ .op = HOP_OP_switch, .attr = &a }, branch,
	                  gen_sargs(s), index, in, out);
	gen_add_all(s, no, out);
}

/* ---- while ---- */

/* counter < limit, and now and then something more. */
static hop_status while_test(gen_scope *s, uint32_t n, const hop_val *in, hop_graph **out_g)
{
	gen_scope c;
	const hop_type *p = hop_type_scalar(s->g->e, HOP_bool);
	gen_body_open(&c, s);
	c.depth = 0;
	hop_val i = hop_build_param(&c.b, hop_type_scalar(s->g->e, HOP_i64));
	gen_body_take(&c, s, n, in);
	hop_val k = hop_emit_const_i(&c.b, HOP_i64, gen_below(s->g, 4));
	hop_val go = c.b.st ? HOP_BAD : hop_emit(&c.b, lt, i, k);
	if (!gen_below(s->g, 3)) {
		gen_steps(&c, 1);
		hop_val more = gen_want(&c, p);
		go = c.b.st ? HOP_BAD : hop_emit(&c.b, and, go, more);
	}
	return gen_body_close(s, &c, 1, &go, out_g);
}

static hop_status while_body(gen_scope *s, uint32_t nc, uint32_t n, const hop_val *in,
                             uint32_t nt, hop_graph **out_g)
{
	gen_scope c;
	hop_val out[GEN_IN + GEN_OUT];
	gen_body_open(&c, s);
	hop_val i = hop_build_param(&c.b, hop_type_scalar(s->g->e, HOP_i64));
	gen_add(&c, i);
	gen_body_take(&c, s, n, in);
	gen_steps(&c, 1 + (int)gen_below(s->g, 3));
	hop_val one = hop_emit_const_i(&c.b, HOP_i64, 1);
	out[0] = c.b.st ? HOP_BAD : hop_emit(&c.b, add, i, one);
	for (uint32_t k = 0; k < nc && !s->b.st; k++)
		out[1 + k] = gen_tame(&c, gen_want(&c, hop_typeof(&s->b, in[k])));
	for (uint32_t k = 0; k < nt; k++)
		out[1 + nc + k] = gen_tame(&c, gen_want(&c, gen_float(s->g)));
	return gen_body_close(s, &c, 1 + nc + nt, out, out_g);
}

static void make_while(gen_scope *s)
{
	static const int64_t slots[] = { 0, 0, 1, 2, 4, 9 };
	hop_val in[GEN_IN + 1], out[GEN_IN + GEN_OUT + 2];
	hop_graph *test, *body;
	uint32_t n = gen_capture(s, in + 1), nc = n ? gen_below(s->g, n + 1) : 0;
	uint32_t nt = gen_below(s->g, 3) ? 0 : 1;
	int64_t max = gen_below(s->g, 2) ? 0 : 1 + gen_below(s->g, 4);
	hop_size cap;
	in[0] = hop_emit_const_i(&s->b, HOP_i64, 0);
	if (while_test(s, n, in + 1, &test) || while_body(s, nc, n, in + 1, nt, &body))
		return;
	hop_while_args w = { .test = test, .body = body, .sargs = gen_sargs(s), .ncarry = nc + 1,
	                     .nconst = n - nc, .max_trips = max,
	                     .slots = slots[gen_below(s->g, 6)], .how = gen_below(s->g, HOP_NHOW),
	                     .carry = in, .konst = in + 1 + nc, .trips = { 0, HOP_SIZE_MAX },
	                     .out_cap = nt ? &cap : NULL };
	if (hop_emit_while(&s->b, &w, out))
		return;
	gen_add_all(s, nc + 2, out);
	/* a tape may have a size that only the loop knows: use its sum */
	for (uint32_t k = 0; k < nt; k++)
		gen_add(s, gen_tame(s, hop_emit_sum(&s->b, out[nc + 2 + k], 1, (const int64_t[]){ 0 })));
}

/* ---- scan ---- */

struct steps {
	uint32_t nc, nx, nk, ny;
	bool     stops;
};

static hop_status scan_body(gen_scope *s, struct steps q, const hop_val *in,
                            hop_graph **out_g)
{
	gen_scope c;
	hop_val out[GEN_IN + GEN_OUT + 1];
	uint32_t n = 0;
	gen_body_open(&c, s);
	gen_body_take(&c, s, q.nc, in);
	for (uint32_t i = 0; i < q.nx && !s->b.st; i++)
		gen_add(&c, hop_build_param(&c.b, hop_type_drop(s->g->e,
		                                                hop_typeof(&s->b, in[q.nc + i]))));
	gen_body_take(&c, s, q.nk, in + q.nc + q.nx);
	gen_steps(&c, 1 + (int)gen_below(s->g, 4));
	for (uint32_t i = 0; i < q.nc && !s->b.st; i++)
		out[n++] = gen_tame(&c, gen_want(&c, hop_typeof(&s->b, in[i])));
	for (uint32_t i = 0; i < q.ny; i++)
		out[n++] = gen_want(&c, gen_type(s->g));
	if (q.stops)
		out[n++] = gen_want(&c, hop_type_scalar(s->g->e, HOP_bool));
	return gen_body_close(s, &c, n, out, out_g);
}

/* A scan, or a map: no carries, every step runs. */
static void make_scan(gen_scope *s, bool map)
{
	static const struct { int64_t every, slots; } keep[] = {
		{ 0, 0 }, { 0, 0 }, { 1, 0 }, { 2, 0 }, { -1, 0 }, { 0, 1 }, { 0, 2 }, { 0, 4 }, { 0, 7 }
	};
	gen *g = s->g;
	hop_val in[3 * GEN_IN], out[GEN_IN + GEN_OUT + 1];
	hop_graph *body;
	struct steps q = { .ny = gen_below(g, 3), .nx = gen_below(g, 3) };
	hop_size length = hop_size_int(gen_below(g, 5));
	if (g->o->nsym && gen_below(g, 2))
		length = hop_size_sym(g->e, (int)gen_below(g, (uint32_t)g->o->nsym));
	bool reverse = !map && !gen_below(g, 3), counted = !map && !gen_below(g, 3);
	q.stops = !map && !gen_below(g, 3);
	hop_val rest[GEN_IN];
	uint32_t n = gen_capture(s, rest);
	q.nc = n && !map ? gen_below(g, n + 1) : 0;
	q.nk = n - q.nc;
	memcpy(in, rest, q.nc * sizeof *in);
	for (uint32_t i = 0; i < q.nx; i++)
		in[q.nc + i] = gen_want(s, hop_type_prepend(g->e, gen_type(g), length));
	memcpy(in + q.nc + q.nx, rest + q.nc, q.nk * sizeof *in);
	hop_val count = counted ? gen_want(s, hop_type_scalar(g->e, HOP_i64)) : HOP_ZERO;
	if (q.nc + q.ny + q.stops == 0 || s->b.st || scan_body(s, q, in, &body))
		return;
	uint32_t k = map ? 0 : gen_below(g, sizeof keep / sizeof *keep);
	hop_scan_args w = { .body = body, .sargs = gen_sargs(s), .ncarry = q.nc, .nx = q.nx,
	                    .nconst = q.nk, .length = length, .reverse = reverse,
	                    .stops = q.stops, .unordered = map, .every = keep[k].every,
	                    .slots = keep[k].slots, .count = count,
	                    .carry = in, .x = in + q.nc, .konst = in + q.nc + q.nx };
	if (!hop_emit_scan(&s->b, &w, out))
		gen_add_all(s, body->nout, out);
}

/* ---- custom ---- */

/* fwd: what g does; saves the operands. */
static hop_status custom_fwd(gen_scope *s, const hop_graph *g, hop_graph **out_g)
{
	hop_build b;
	hop_val out[GEN_OUT + GEN_IN], *in = out + g->nout;
	hop_body_open(&b, s->g->e, g);
	for (uint32_t i = 0; i < g->nparam; i++)
		in[i] = hop_build_param(&b, g->type[i]);
	hop_body_inline(&b, g, in, out);
	return hop_seal(&b, g->nout + g->nparam, out, NULL, out_g);
}

/* bwd: the gradients that the library finds for g. */
static hop_status custom_bwd(gen_scope *s, const hop_graph *g, hop_graph **out_g)
{
	const hop_graph *j;
	bool ct[GEN_OUT], want[GEN_IN];
	hop_val in[GEN_IN + GEN_OUT], out[GEN_IN + GEN_OUT];
	hop_build b;
	for (uint32_t i = 0; i < g->nout; i++)
		ct[i] = is_float(hop_graph_out_type(g, i));
	for (uint32_t i = 0; i < g->nparam; i++)
		want[i] = is_float(g->type[i]);
	HOP_TRY(hop_ad_vjp(s->g->e, g, ct, want, &j));
	HOP_TRY(hop_ad_pure(s->g->e, j, &j));
	hop_body_open(&b, s->g->e, j);
	for (uint32_t i = 0; i < j->nparam; i++)
		in[i] = hop_build_param(&b, j->type[i]);
	hop_body_inline(&b, j, in, out);
	return hop_seal(&b, j->nout - g->nout, out + g->nout, NULL, out_g);
}

static hop_status custom_jvp(gen_scope *s, const hop_graph *g, hop_graph **out_g)
{
	const hop_graph *j;
	bool act[GEN_IN], outs[GEN_OUT];
	hop_val in[2 * GEN_IN], out[2 * GEN_OUT];
	hop_build b;
	for (uint32_t i = 0; i < g->nparam; i++)
		act[i] = is_float(g->type[i]);
	for (uint32_t i = 0; i < g->nout; i++)
		outs[i] = is_float(hop_graph_out_type(g, i));
	HOP_TRY(hop_ad_jvp(s->g->e, g, act, outs, &j));
	HOP_TRY(hop_ad_pure(s->g->e, j, &j));
	hop_body_open(&b, s->g->e, j);
	for (uint32_t i = 0; i < j->nparam; i++)
		in[i] = hop_build_param(&b, j->type[i]);
	hop_body_inline(&b, j, in, out);
	return hop_seal(&b, j->nout - g->nout, out + g->nout, NULL, out_g);
}

/* batch: g for all lanes, as the library batches it; it does not ask which operands have lanes. */
static hop_status custom_batch(gen_scope *s, const hop_graph *g, hop_graph **out_g)
{
	const hop_graph *h;
	bool all[GEN_IN + GEN_OUT], batched[GEN_OUT];
	hop_val in[GEN_IN], out[GEN_OUT];
	hop_build b;
	memset(all, 1, sizeof all);
	hop_batch_spec spec = { .size = -1, .in = all, .force = all };
	HOP_TRY(hop_ad_batch(s->g->e, g, &spec, &h, batched));
	hop_body_open(&b, s->g->e, h);
	for (uint32_t i = 0; i < h->nparam; i++)
		in[i] = hop_build_param(&b, h->type[i]);
	for (uint32_t i = 0; i < h->nparam; i++)
		hop_build_param(&b, hop_type_scalar(s->g->e, HOP_bool));
	hop_body_inline(&b, h, in, out);
	return hop_seal(&b, h->nout, out, NULL, out_g);
}

static void make_custom(gen_scope *s)
{
	hop_val in[GEN_IN];
	const hop_type *t[GEN_OUT];
	hop_graph *g, *fwd, *bwd, *jvp = NULL, *batch = NULL;
	uint32_t n = gen_capture(s, in), no = gen_types(s, t);
	if (gen_body(s, n, in, no, t, &g))
		return;
	hop_status st = custom_fwd(s, g, &fwd);
	st = st ? st : custom_bwd(s, g, &bwd);
	if (!st && gen_below(s->g, 2))
		st = custom_jvp(s, g, &jvp);
	uint32_t how = gen_below(s->g, 3);             /* it is batched: whole, by its own body, by a loop */
	if (!st && how == 1 && !g->has_effect && custom_batch(s, g, &batch)) {
		hop_diag_clear(s->g->e);       /* a size in it would differ between lanes */
		batch = NULL;
	}
	if (st) {
		s->b.st = st;
		return;
	}
	struct hop_attr_custom a = { .nouts = no, .sargs = gen_sargs(s), .fwd = fwd, .bwd = bwd,
	                             .jvp = jvp, .batch = batch, .lanewise = how == 2 };
	hop_val v = hop_emit_op(&s->b, HOP_OP_custom, &a, n, in);
	for (uint32_t i = 0; i < no && !s->b.st; i++)
		gen_add(s, (hop_val){ v.id + i });
}

/* ---- hook ---- */

/* g, in -> g, or what body makes of in where that is less than itself, which is nowhere: what every law
 * expects of a gradient. */
static hop_status hook_body(gen_scope *s, const hop_type *t, const hop_graph *body, hop_graph **out_g)
{
	hop_build b;
	hop_val in[GEN_IN], v;
	HOP_TRY(hop_ad_pure(s->g->e, body, &body));
	hop_body_open(&b, s->g->e, body);
	hop_val g = hop_build_param(&b, t);
	for (uint32_t i = 0; i < body->nparam; i++)
		in[i] = hop_build_param(&b, body->type[i]);
	hop_body_inline(&b, body, in, &v);
	if (!b.st)
		g = hop_emit(&b, select, hop_emit(&b, lt, v, v), v, g);
	return hop_seal(&b, 1, &g, NULL, out_g);
}

static void make_hook(gen_scope *s)
{
	hop_val in[1 + GEN_IN];
	hop_graph *g;
	struct hop_attr_hook a = { .ntold = 0 };
	in[0] = gen_any_float(s);
	uint32_t n = gen_capture(s, in + 1);
	if (s->b.st)
		return;
	const hop_type *t = hop_typeof(&s->b, in[0]);
	int risks = s->g->risks;
	s->g->risks = 0;               /* a condition of the hook's own is none of the function's */
	hop_status st = gen_body(s, n, in + 1, 1, &t, &g);
	s->g->risks = risks;
	if (st || g->ncheck || g->has_guard)
		return;
	st = hook_body(s, t, g, &g);
	if (st) {
		s->b.st = st;
		return;
	}
	a.body = g;
	a.sargs = gen_sargs(s);
	gen_add(s, hop_emit_op(&s->b, HOP_OP_hook, &a, 1 + n, in));
}

static void make_steps(gen_scope *s)
{
	make_scan(s, false);
}

static void make_map(gen_scope *s)
{
	make_scan(s, true);
}

/* Every operator, as often as it should be drawn. */
static void (*const operators[])(gen_scope *) = {
	make_call, make_checkpoint, make_cond, make_cond, make_switch, make_while, make_steps, make_steps,
	make_map, make_map, make_custom, make_hook, gen_root, gen_linear_solve, gen_assoc,
};

void gen_operator(gen_scope *s)
{
	operators[gen_below(s->g, sizeof operators / sizeof *operators)](s);
}
