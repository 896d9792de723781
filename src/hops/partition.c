/* partition.c -- a choice a lane, where every branch runs on its own lanes only: lanes are sorted
 * by branch into blocks, and each block runs the branch that its lanes have in common.
 *
 *	key  = the branch of each lane
 *	rank = lanes of the same branch before it             (counting sort, stable)
 *	pos  = the first block of its branch * B + rank
 *	out  = rows pos of map over blocks: switch (branch of the block) (rows of its lanes)
 *
 * Sizes depend on the number of lanes alone, so that all of it is differentiated, batched and
 * compiled like any other graph. K branches need at most K - 1 blocks more than n / B. Slots of a
 * block that no lane has compute with the values of its first lane, and nobody reads them. Lanes
 * that are not there have no slot, and blocks without a lane give zeros. */
#include "hops/batch.h"

#include <string.h>

struct parts {
	hop_build   *b;
	hop_rule    *r;
	hop_graphs   sub;
	int64_t      nk, size;         /* branches; lanes of a block */
	hop_size     n, blocks, slots; /* lanes; blocks; blocks * size */
	hop_val      key, pos;         /* i64[n] */
};

static hop_val whole(hop_build *b, int64_t v) { return hop_emit_const_i(b, HOP_i64, v); }
static hop_val wholes(hop_build *b, int64_t v, hop_size n)
{
	return hop_emit_lead(b, whole(b, v), n);
}

/* Blocks so small that those which are not full are little of the whole. */
static int64_t block_size(hop_size lanes, int64_t nk)
{
	enum { MOST = 64, USUAL = 16, SHARE = 8 };
	int64_t size = 1;
	if (!hop_size_const(lanes))
		return USUAL;
	while (size < MOST && 2 * size * nk * SHARE <= lanes.k)
		size *= 2;
	return size;
}

static hop_val keys(const struct parts *p)
{
	hop_build *b = p->b;
	const hop_rule *r = p->r;
	hop_val key;
	if (r->n->op == HOP_OP_cond) {
		key = hop_emit_cast(b, hop_emit(b, not, r->in[0]), HOP_i64);
	} else {
		key = hop_emit(b, min, r->in[0], wholes(b, p->nk - 1, p->n));
		key = hop_emit(b, max, key, wholes(b, 0, p->n));
	}
	if (!hop_is_zero(r->mask))
		key = hop_emit(b, select, r->mask, key, wholes(b, p->nk, p->n));
	return key;
}

/* ---- the sort ---- */

/* (counts, key) -> counts with one more of key, how many there were */
static hop_status count_step(hop_env *e, hop_size bins, hop_graph **out_g)
{
	hop_build b;
	hop_val out[2];
	hop_size one = hop_size_int(1);
	hop_build_open(&b, e);
	hop_val counts = hop_build_param(&b, hop_type_get(e, HOP_i64, 1, &bins));
	hop_val key = hop_build_param(&b, hop_type_scalar(e, HOP_i64));
	out[1] = hop_emit_gather(&b, counts, key, 0, 0);
	hop_val more = hop_emit_lead(&b, hop_emit(&b, add, out[1], whole(&b, 1)), one);
	out[0] = hop_emit(&b, dynupdate, counts, more, key);
	return hop_seal(&b, 2, out, NULL, out_g);
}

/* Sets key and pos; out_last: i64[nk], behind the last block of each branch. */
static hop_status sort(struct parts *p, hop_val *out_last)
{
	hop_build *b = p->b;
	hop_env *e = b->env;
	hop_size bins = hop_size_int(p->nk + 1), nk = hop_size_int(p->nk), zero = hop_size_int(0);
	hop_graph *count;
	hop_val counted[2], none_yet = wholes(b, 0, bins), all, first;
	p->key = keys(p);
	HOP_TRY(count_step(e, bins, &count));
	hop_scan_args s = { .body = count, .ncarry = 1, .nx = 1, .length = p->n, .carry = &none_yet,
	                    .x = &p->key, .count = HOP_ZERO };
	HOP_TRY(hop_emit_scan(b, &s, counted));
	hop_val up = hop_emit(b, add, hop_emit_slice(b, counted[0], &zero, &nk, NULL),
	                      wholes(b, p->size - 1, nk));
	hop_val blocks = hop_emit(b, div, up, wholes(b, p->size, nk));
	HOP_TRY(hop_emit_before(b, blocks, &all, &first));
	*out_last = hop_emit(b, add, first, blocks);
	hop_val at = hop_emit(b, mul, hop_emit_gather(b, first, p->key, 0, 0),
	                      wholes(b, p->size, p->n));
	at = hop_emit(b, add, at, counted[1]);
	hop_val there = hop_emit(b, lt, p->key, wholes(b, p->nk, p->n));
	hop_val none = hop_emit_lead(b, hop_emit_size(b, p->slots), p->n);
	p->pos = hop_emit(b, select, there, at, none);
	return b->st;
}

/* i64[blocks, size]: the lane of each slot. */
static hop_val lanes_of_slots(const struct parts *p)
{
	hop_build *b = p->b;
	hop_env *e = b->env;
	hop_size room = hop_size_add(e, p->slots, hop_size_int(1)), zero = hop_size_int(0);
	hop_size dim[2] = { p->blocks, hop_size_int(p->size) };
	hop_val at = hop_emit_scatter(b, HOP_MODE_set, wholes(b, -1, room), p->pos,
	                              hop_emit_iota(b, HOP_i64, 1, &p->n, 0), 0, 0);
	at = hop_emit_reshape(b, hop_emit_slice(b, at, &zero, &p->slots, NULL), 2, dim);
	hop_val first = hop_emit_gather(b, at, whole(b, 0), 1, 0);
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, at);
	hop_val is = hop_emit(b, le, hop_emit_zeros(b, t), at);
	return hop_emit(b, select, is, at, hop_emit_match(b, first, t));
}

/* i64[blocks]: the branch of each block; nk where it has no lane. */
static hop_val branch_of_blocks(const struct parts *p, hop_val last)
{
	hop_build *b = p->b;
	hop_size dim[2] = { p->blocks, hop_size_int(p->nk) };
	hop_val j = hop_emit_iota(b, HOP_i64, 2, dim, 0);
	hop_val done = hop_emit(b, le, hop_emit_lead(b, last, p->blocks), j);
	return hop_emit_sum(b, hop_emit_cast(b, done, HOP_i64), 1, (const int64_t[]){ 1 });
}

/* ---- the blocks ---- */

/* Parameters: the branch, rows of operands that differ between lanes, the other operands. */
static hop_status block_body(const struct parts *p, hop_graph **out_g)
{
	const hop_rule *r = p->r;
	hop_env *e = p->b->env;
	const hop_graph *g = p->sub.v[0];
	uint32_t np = g->nparam, no = g->nout;
	const hop_graph **branch = HOP_NEWN(&e->tmp, const hop_graph *, p->nk + 1);
	bool *all = HOP_NEWN(&e->tmp, bool, no), *bo = HOP_NEWN(&e->tmp, bool, no);
	hop_graph *none;
	memset(all, 1, no);
	for (int64_t k = 0; k < p->nk; k++) {
		hop_batch_spec s = { .size = p->size, .in = r->bin + 1, .force = all };
		HOP_TRY(hop_ad_batch(e, p->sub.v[k], &s, &branch[k], bo));
	}
	HOP_TRY(hop_batch_empty(e, branch[0], &none));
	branch[p->nk] = none;
	hop_build b;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, np), *out = HOP_NEWN(&e->tmp, hop_val, no);
	hop_body_open_wide(&b, e, g);
	hop_val key = hop_build_param(&b, hop_type_scalar(e, HOP_i64));
	for (int row = 1; row >= 0; row--)
		for (uint32_t i = 0; i < np; i++)
			if (r->bin[i + 1] == row)
				in[i] = hop_build_param(&b, branch[0]->type[i]);
	struct hop_attr_switch a = { .partition = true, .sargs = hop_own_sizes(e, g->nsym),
	                             .branch = { p->nk + 1, branch } };
	hop_node n = { .op = HOP_OP_switch, .attr = &a };
	hop_emit_branches(&b, &n, branch, a.sargs, key, in, out);
	return hop_seal(&b, no, out, NULL, out_g);
}

static hop_status run(const struct parts *p, hop_val lane, hop_val branch)
{
	hop_build *b = p->b;
	hop_rule *r = p->r;
	hop_env *e = b->env;
	uint32_t np = p->sub.v[0]->nparam, no = p->sub.v[0]->nout, n = 0, nx;
	hop_val *v = HOP_NEWN(&e->tmp, hop_val, np + 1), *y = HOP_NEWN(&e->tmp, hop_val, no);
	hop_graph *body;
	HOP_TRY(block_body(p, &body));
	v[n++] = branch;
	for (uint32_t i = 0; i < np; i++)
		if (r->bin[i + 1])
			v[n++] = hop_emit_gather(b, r->in[i + 1], lane, 0, 0);
	nx = n;
	for (uint32_t i = 0; i < np; i++)
		if (!r->bin[i + 1])
			v[n++] = r->in[i + 1];
	hop_scan_args s = { .body = body, .sargs = hop_rule_sargs(b, r), .nx = nx, .nconst = n - nx,
	                    .length = p->blocks, .unordered = true, .count = HOP_ZERO, .x = v,
	                    .konst = v + nx };
	HOP_TRY(hop_emit_scan(b, &s, y));
	for (uint32_t k = 0; k < no && !b->st; k++) {
		const hop_type *t = hop_typeof(b, y[k]);
		hop_size dim[HOP_MAXRANK];
		dim[0] = p->slots;
		memcpy(dim + 1, t->dim + 2, (size_t)(t->rank - 2) * sizeof *dim);
		hop_val all = hop_emit_reshape(b, y[k], t->rank - 1, dim);
		r->out[k] = hop_emit_gather(b, all, p->pos, 0, 0);
	}
	memset(r->bout, 1, no);
	return b->st;
}

bool hop_partition_fits(const hop_rule *r)
{
	hop_graphs sub = hop_node_subs(r->n);
	bool asked = r->n->op == HOP_OP_cond ? HOP_ATTR(r->n, cond)->partition
	                                     : HOP_ATTR(r->n, switch)->partition;
	if (!asked || sub.n < 2 || hop_size_is(r->bsize, 0))
		return false;
	for (int64_t k = 0; k < sub.n; k++)
		if (sub.v[k]->acts)
			return false;
	for (uint32_t i = 0; i < sub.v[0]->nparam + sub.v[0]->nout; i++) {
		const hop_graph *g = sub.v[0];
		const hop_type *t = i < g->nparam ? g->type[i] : hop_graph_out_type(g, i - g->nparam);
		if (t->rank + 2 > HOP_MAXRANK)
			return false;
	}
	return true;
}

hop_status hop_batch_partition(hop_build *b, hop_rule *r)
{
	hop_env *e = b->env;
	struct parts p = { .b = b, .r = r, .sub = hop_node_subs(r->n), .n = r->bsize };
	hop_val last;
	p.nk = p.sub.n;
	p.size = block_size(p.n, p.nk);
	hop_size size = hop_size_int(p.size);
	p.blocks = hop_size_div(e, hop_size_add(e, p.n, hop_size_int(p.nk * (p.size - 1))), size);
	p.slots = hop_size_mul(e, p.blocks, size);
	HOP_TRY(sort(&p, &last));
	return run(&p, lanes_of_slots(&p), branch_of_blocks(&p, last));
}
