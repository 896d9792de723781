/* emit_sum.c -- loops that threads may share in a few blocks of iterations, each run in order and
 * reduced from the neutral element into a place of its own, the places combined in order.
 * What is a block depends on the number of iterations alone, so that the bits of a result do
 * not depend on how many threads there are, nor on whether there are any. */
#include "target/llvm/emit.h"

enum { SHARED = 4 };               /* results that all sums have room for */

/* What a piece needs besides the registers of the loop: where the blocks' results go. */
static hop_reg place(const hop_emit *e)
{
	return e->xreg + HOP_XREG - 1;
}

static hop_lv *place_of(hop_emit *e, hop_lv *part, int acc, hop_lv *block)
{
	hop_lv *at = hop_e_bin(e, LL_ADD, block, hop_e_int(e, (int64_t)acc * HOP_BLOCKS));
	return e->L->BuildGEP2(e->b, e->i64, part, &at, 1, "");
}

static hop_lv *iterations(hop_emit *e, const hop_stmt *s)
{
	return s->bound ? hop_e_reg(e, s->bound)->v : hop_e_size(e, s->extent);
}

/* Iterations of a block: all of them where a fork does not pay; whole steps of the loop. */
static hop_lv *block_length(hop_emit *e, const hop_stmt *s, hop_lv *n)
{
	int64_t step = hop_e_step(s), all = HOP_BLOCKS * step;
	hop_lv *len = hop_e_bin(e, LL_ADD, n, hop_e_int(e, all - 1));
	len = hop_e_bin(e, LL_SDIV, len, hop_e_int(e, all));
	len = hop_e_bin(e, LL_MUL, len, hop_e_int(e, step));
	return hop_e_sel(e, hop_e_icmp(e, LL_SGE, n, hop_e_int(e, s->bind.least)), len, n);
}

/* Blocks from .. to-1, in a function of their own. */
static void piece(hop_emit *e, const hop_stmt *s, hop_lv *from, hop_lv *to)
{
	hop_lv *n = iterations(e, s), *len = block_length(e, s, n), *begin, *end;
	hop_lv *part = hop_e_cast(e, LL_INTTOPTR, hop_e_reg(e, place(e))->v, e->ptr);
	hop_eloop l;
	hop_e_loop_begin(e, &l, from, to, 1, 0, NULL);
	begin = hop_e_bin(e, LL_MUL, l.iv, len);
	end = hop_e_bin(e, LL_ADD, begin, len);
	end = hop_e_sel(e, hop_e_icmp(e, LL_SLT, end, n), end, n);
	if (s->bind.slice)
		hop_e_set(e, s->bind.slice, (hop_ev){ .v = l.iv, .dtype = HOP_i64, .depth = e->s.depth });
	e->fresh = s;
	hop_e_loop_range(e, s, begin, end);
	e->fresh = NULL;
	for (int i = 0; i < s->nacc; i++) {
		hop_lv *v = hop_e_reg(e, s->acc[i].result)->v;

		v = hop_e_to_mem(e, s->acc[i].dtype, v, 1);
		hop_e_ptr_store(e, v, place_of(e, part, i, l.iv), 0);
	}
	hop_e_loop_end(e, &l, NULL, NULL);
}

/* The results of the blocks, in order; sums of f32 in f64. */
static void combine(hop_emit *e, const hop_stmt *s, hop_lv *part, hop_lv *nblock)
{
	hop_lv **none = HOP_NEWN(&e->env->tmp, hop_lv *, s->nacc);
	hop_lv **acc = HOP_NEWN(&e->env->tmp, hop_lv *, s->nacc);
	hop_eloop l;
	for (int i = 0; i < s->nacc; i++)
		none[i] = hop_e_red_id(e, s->acc[i].op, hop_e_wide(&s->acc[i]), 1);
	hop_e_loop_begin(e, &l, hop_e_int(e, 0), nblock, 1, s->nacc, none);
	for (int i = 0; i < s->nacc; i++) {
		const hop_acc *c = &s->acc[i];
		hop_lv *v = hop_e_ptr_load(e, hop_e_mem(e, c->dtype, 1),
		                           place_of(e, part, i, l.iv), 0);

		v = hop_e_to_reg(e, c->dtype, v, 1);
		if (hop_e_wide(c) != c->dtype)
			v = hop_e_cast(e, LL_FPEXT, v, hop_e_type(e, hop_e_wide(c), 1));
		acc[i] = hop_e_red(e, c->op, hop_e_wide(c), 1, l.phi[i], v);
	}
	hop_e_loop_end(e, &l, acc, acc);
	for (int i = 0; i < s->nacc; i++) {
		const hop_acc *c = &s->acc[i];
		hop_lv *v = acc[i];

		if (hop_e_wide(c) != c->dtype)
			v = hop_e_cast(e, LL_FPTRUNC, v, hop_e_type(e, c->dtype, 1));
		v = hop_e_red(e, c->op, c->dtype, 1, hop_e_reg(e, c->init)->v, v);
		hop_e_set(e, c->result, (hop_ev){ .v = v, .dtype = c->dtype, .depth = e->s.depth });
	}
}

/* Sums come one after another, so they share one array. */
static hop_lv *places(hop_emit *e, const hop_stmt *s)
{
	if (s->nacc > SHARED)
		return hop_e_stack(e, e->i64, s->nacc * HOP_BLOCKS);
	if (!e->s.sums)
		e->s.sums = hop_e_stack(e, e->i64, SHARED * HOP_BLOCKS);
	return e->s.sums;
}

void hop_e_sum(hop_emit *e, const hop_stmt *s, hop_lv *n)
{
	hop_lv *part = s->nacc ? places(e, s) : e->s.ws, *nblock;
	hop_lv *len = block_length(e, s, n), *one = hop_e_int(e, 1);
	len = hop_e_sel(e, hop_e_icmp(e, LL_SGT, len, one), len, one);
	nblock = hop_e_bin(e, LL_ADD, n, hop_e_bin(e, LL_SUB, len, one));
	nblock = hop_e_bin(e, LL_SDIV, nblock, len);
	hop_e_set(e, place(e), (hop_ev){ .v = hop_e_cast(e, LL_PTRTOINT, part, e->i64),
	                                 .dtype = HOP_i64, .depth = e->s.depth });
	hop_e_parallel(e, s, nblock, one, hop_e_icmp(e, LL_SGT, nblock, one), piece, place(e));
	combine(e, s, part, nblock);
}
