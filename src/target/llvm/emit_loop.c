/* emit_loop.c -- loops: plain, unrolled, vectorised. A vectorised loop is a main part of
 * whole vectors and a masked rest; a static extent needs only the parts it has. Does not
 * decide: the schedule did. */
#include "loop/lower.h"
#include "target/abi.h"
#include "target/llvm/emit.h"

/* ---- the skeleton: guard, preheader, body, test at the bottom ---- */

/* runs: the caller knows that there is an iteration. */
static void loop_begin(hop_emit *e, hop_eloop *l, hop_lv *begin, hop_lv *end,
                       int64_t step, bool runs, int nphi, hop_lv **init)
{
	int64_t b = hop_e_known(e, begin, INT64_MAX), n = hop_e_known(e, end, INT64_MIN);
	hop_lbb *pre = hop_e_block(e);
	HOP_ASSERT(e->s.depth < HOP_MAXDEPTH);
	l->head = hop_e_block(e);
	l->exit = hop_e_block(e);
	l->from = e->L->GetInsertBlock(e->b);
	l->end = end;
	l->step = step;
	l->guarded = !runs && b >= n;
	l->nphi = nphi;
	l->init = init;
	l->phi = HOP_NEWN(&e->env->tmp, hop_lv *, nphi);
	if (l->guarded)
		e->L->BuildCondBr(e->b, hop_e_icmp(e, LL_SLT, begin, end), pre, l->exit);
	else
		e->L->BuildBr(e->b, pre);
	hop_e_at(e, pre);
	e->L->BuildBr(e->b, l->head);
	hop_e_at(e, l->head);
	e->s.pre[e->s.depth++] = pre;
	l->iv = e->L->BuildPhi(e->b, e->i64, "");
	e->L->AddIncoming(l->iv, &begin, &pre, 1);
	for (int i = 0; i < nphi; i++) {
		l->phi[i] = e->L->BuildPhi(e->b, e->L->TypeOf(init[i]), "");
		e->L->AddIncoming(l->phi[i], &init[i], &pre, 1);
	}
}

void hop_e_loop_begin(hop_emit *e, hop_eloop *l, hop_lv *begin, hop_lv *end, int64_t step,
                      int nphi, hop_lv **init)
{
	loop_begin(e, l, begin, end, step, false, nphi, init);
}

void hop_e_loop_end(hop_emit *e, hop_eloop *l, hop_lv **next, hop_lv **out)
{
	hop_lbb *latch = e->L->GetInsertBlock(e->b);
	hop_lv *iv = hop_e_bin(e, LL_ADD, l->iv, hop_e_int(e, l->step));
	e->L->AddIncoming(l->iv, &iv, &latch, 1);
	for (int i = 0; i < l->nphi; i++)
		e->L->AddIncoming(l->phi[i], &next[i], &latch, 1);
	e->L->BuildCondBr(e->b, hop_e_icmp(e, LL_SLT, iv, l->end), l->head, l->exit);
	e->s.depth--;
	hop_e_at(e, l->exit);
	for (int i = 0; i < l->nphi; i++) {
		hop_lv *in[] = { l->init[i], next[i] };      /* out may be either array */

		out[i] = in[1];
		if (!l->guarded)
			continue;
		out[i] = e->L->BuildPhi(e->b, e->L->TypeOf(in[1]), "");
		e->L->AddIncoming(out[i], in, (hop_lbb *[]){ l->from, latch }, 2);
	}
}

/* ---- one pass over the body ---- */

static void set_var(hop_emit *e, const hop_stmt *s, hop_lv *iv, int depth)
{
	hop_ev v = { .v = iv, .dtype = HOP_i64, .depth = depth };
	if (e->lanes > 1 && e->cls[s->dst] == HOP_LIN) {
		v.lane = HOP_LIN;
		v.step = hop_e_int(e, 1);
	}
	hop_e_set(e, s->dst, v);
}

/* The body once, then each accumulator combined with its value. `n` lanes per
 * accumulator as acc_lanes says. */
static void pass(hop_emit *e, const hop_stmt *s, hop_lv *iv, hop_lv **acc,
                 const int *lanes)
{
	hop_eline was = hop_e_line_copy(e, iv);
	set_var(e, s, iv, e->s.depth);
	hop_e_block_stmts(e, &s->body);
	hop_e_carries(e, s);
	hop_e_line_back(e, was);
	for (int i = 0; i < s->nacc; i++) {
		const hop_acc *c = &s->acc[i];
		const hop_ev *v = hop_e_reg(e, c->value);
		hop_lv *x = lanes[i] > 1 ? hop_e_vec(e, v) : v->v;

		if (lanes[i] > 1 && e->mask && e->cls[s->dst] == HOP_LIN)
			x = hop_e_sel(e, e->mask, x, hop_e_red_id(e, c->op, c->dtype, lanes[i]));
		acc[i] = hop_e_red(e, c->op, c->dtype, lanes[i], acc[i], x);
	}
}

static int *acc_lanes(hop_emit *e, const hop_stmt *s)
{
	int *n = HOP_NEWN(&e->env->tmp, int, s->nacc);
	for (int i = 0; i < s->nacc; i++)
		n[i] = e->lanes > 1 && e->cls[s->acc[i].result] == HOP_VAR ? e->lanes : 1;
	return n;
}

static int *same_lanes(hop_emit *e, const hop_stmt *s, int lanes)
{
	int *n = HOP_NEWN(&e->env->tmp, int, s->nacc);
	for (int i = 0; i < s->nacc; i++)
		n[i] = lanes;
	return n;
}

/* ---- long sums ---- */

/* A sum of floats that may be long is taken in blocks. Each starts from zero and adds at
 * most CHAIN times to one accumulator, an error of 5e-7 at worst (equal elements) in f32;
 * the blocks add up in f64. What is SHORT goes without, but around other loops blocks
 * cost nothing and begin early. The order of additions depends on the number of
 * iterations only. */
enum { CHAIN = 32, SHORT = 1024, SHORT_AROUND = 64 };

typedef struct blocks {
	const hop_stmt *s;
	const int      *lanes;       /* [nacc] */
	hop_eloop       l;
	hop_lv        **sum;         /* [2 nacc] of the blocks before the last; of the last */
	hop_lv         *from, *to;   /* the iterations of a block */
} blocks;

/* n: iterations, or -1 when that is not known. */
static bool is_long(const hop_stmt *s, int64_t n)
{
	bool adds = false, nest = false;
	for (int i = 0; i < s->nacc; i++)
		adds |= s->acc[i].op == HOP_RED_add && hop_dtype_real(s->acc[i].dtype);
	for (const hop_stmt *b = s->body.first; b; b = b->next)
		nest |= b->kind != HOP_L_OP;
	return adds && (n < 0 || n > (nest ? SHORT_AROUND : SHORT));
}

hop_dtype hop_e_wide(const hop_acc *c)
{
	return c->op == HOP_RED_add && hop_dtype_real(c->dtype) ? HOP_f64 : c->dtype;
}

/* Opens the loop over blocks of `step` iterations of begin .. end-1. A block's sums join
 * those before while the next block runs: where there is only one, nobody waits. */
static blocks blocks_begin(hop_emit *e, const hop_stmt *s, const int *lanes,
                           hop_lv *begin, hop_lv *end, int64_t step)
{
	int n = s->nacc;
	hop_lv **zero = HOP_NEWN(&e->env->tmp, hop_lv *, 2 * n);
	blocks b = { .s = s, .lanes = lanes };
	b.sum = HOP_NEWN(&e->env->tmp, hop_lv *, 2 * n);
	for (int i = 0; i < n; i++) {
		zero[i] = hop_e_red_id(e, s->acc[i].op, hop_e_wide(&s->acc[i]), lanes[i]);
		zero[n + i] = hop_e_red_id(e, s->acc[i].op, s->acc[i].dtype, lanes[i]);
	}
	hop_e_loop_begin(e, &b.l, begin, end, step, 2 * n, zero);
	for (int i = 0; i < n; i++) {
		const hop_acc *c = &s->acc[i];
		hop_lv *last = b.l.phi[n + i];

		if (hop_e_wide(c) != c->dtype)
			last = hop_e_cast(e, LL_FPEXT, last, hop_e_type(e, hop_e_wide(c), lanes[i]));
		b.sum[i] = hop_e_red(e, c->op, hop_e_wide(c), lanes[i], b.l.phi[i], last);
	}
	b.from = b.l.iv;
	b.to = hop_e_bin(e, LL_ADD, b.from, hop_e_int(e, step));
	b.to = hop_e_sel(e, hop_e_icmp(e, LL_SLT, b.to, end), b.to, end);
	return b;
}

/* part: the sums of one block, and afterwards of all of them. */
static void blocks_end(hop_emit *e, blocks *b, hop_lv **part)
{
	int n = b->s->nacc;
	for (int i = 0; i < n; i++)
		b->sum[n + i] = part[i];
	hop_e_loop_end(e, &b->l, b->sum, b->sum);
	for (int i = 0; i < n; i++) {
		const hop_acc *c = &b->s->acc[i];
		hop_lv *all = b->sum[i];

		if (hop_e_wide(c) != c->dtype)
			all = hop_e_cast(e, LL_FPTRUNC, all, hop_e_type(e, c->dtype, b->lanes[i]));
		part[i] = hop_e_red(e, c->op, c->dtype, b->lanes[i], all, b->sum[n + i]);
	}
}

/* ---- plain loops (inside a vectorised one too) ---- */

/* Steps of `u` iterations with u sets of accumulators, from begin while whole steps fit;
 * acc is combined into. */
static void plain_part(hop_emit *e, const hop_stmt *s, hop_lv *begin, hop_lv *end, int u,
                       bool blocked, hop_lv **acc, const int *lanes, hop_lv *total)
{
	int na = s->nacc;
	hop_lv **init = HOP_NEWN(&e->env->tmp, hop_lv *, na * u);
	hop_lv **next = HOP_NEWN(&e->env->tmp, hop_lv *, na * u);
	hop_eloop l;
	blocks k;
	if (blocked) {
		k = blocks_begin(e, s, lanes, begin, end, CHAIN * u);
		begin = k.from;
		end = k.to;
	}
	for (int j = 0; j < u; j++)
		for (int i = 0; i < na; i++)
			init[j * na + i] = j == 0 && !blocked ? acc[i] :
				hop_e_red_id(e, s->acc[i].op, s->acc[i].dtype, lanes[i]);
	loop_begin(e, &l, begin, end, u, blocked, na * u, init);
	if (s->loop == HOP_LOOP_SEQ)
		hop_e_poll(e);
	for (int i = 0; i < na * u; i++)
		next[i] = l.phi[i];
	for (int j = 0; j < u; j++) {
		hop_lv *iv = hop_e_bin(e, LL_ADD, l.iv, hop_e_int(e, j));

		if (s->reverse)
			iv = hop_e_bin(e, LL_SUB, hop_e_bin(e, LL_SUB, total, hop_e_int(e, 1)), iv);
		pass(e, s, iv, next + j * na, lanes);
	}
	hop_e_loop_end(e, &l, next, init);
	for (int i = 0; i < na; i++)
		for (int j = 1; j < u; j++)
			init[i] = hop_e_red(e, s->acc[i].op, s->acc[i].dtype, lanes[i], init[i],
			                    init[j * na + i]);
	if (blocked)
		blocks_end(e, &k, init);
	for (int i = 0; i < na; i++)
		acc[i] = !blocked ? init[i] :
			hop_e_red(e, s->acc[i].op, s->acc[i].dtype, lanes[i], acc[i], init[i]);
}

/* How many iterations a step of a reducing loop takes, to hide latency: about eight
 * registers of accumulators. As many in all parts of a vectorised loop around it: the order of
 * the sum must not depend on where a lane stands. */
static int red_unroll(hop_emit *e, const hop_stmt *s, const int *lanes, int64_t n)
{
	int regs = 0, u;
	for (int i = 0; i < s->nacc; i++) {
		int n = lanes[i] > 1 && lanes[i] < e->wide ? e->wide : lanes[i];
		int b = (int)hop_dtype_bytes(s->acc[i].dtype) * 8 * n;

		regs += b > e->m->vbits ? b / e->m->vbits : 1;
	}
	if (!regs || hop_block_count(&s->body) > 12)
		return 1;
	u = e->m->nvreg / 4 / regs;
	u = u >= 4 ? 4 : u >= 2 ? 2 : 1;
	while (n >= 0 && u > n)
		u /= 2;
	return u < 1 ? 1 : u;
}

static bool unrollable(hop_emit *e, const hop_stmt *s, int64_t n)
{
	int c = hop_block_count(&s->body);
	if (n > 8 || n * c > 64 || n * c > e->budget)
		return false;
	e->budget -= (int)n * c;
	return true;
}

void hop_e_plain_loop(hop_emit *e, const hop_stmt *s, hop_lv *begin, hop_lv *end)
{
	int *lanes = acc_lanes(e, s);
	hop_lv **acc = HOP_NEWN(&e->env->tmp, hop_lv *, s->nacc);
	int64_t b = hop_e_known(e, begin, -1), n = hop_e_known(e, end, -1);
	for (int i = 0; i < s->nacc; i++) {
		const hop_acc *c = &s->acc[i];

		if (e->fresh == s)
			acc[i] = hop_e_red_id(e, c->op, c->dtype, lanes[i]);
		else
			acc[i] = lanes[i] > 1 ? hop_e_vec(e, hop_e_reg(e, c->init))
			                      : hop_e_reg(e, c->init)->v;
	}
	if (b == 0 && n >= 0 && (n == 1 || unrollable(e, s, n))) {
		for (int64_t i = 0; i < n; i++)
			pass(e, s, hop_e_int(e, s->reverse ? n - 1 - i : i), acc, lanes);
	} else {
		int u = s->loop == HOP_LOOP_RED ? red_unroll(e, s, lanes, b == 0 ? n : -1) : 1;
		bool blocked = is_long(s, b == 0 ? n : -1);
		hop_lv *mid = end;
		if (u > 1) {
			hop_lv *len = hop_e_bin(e, LL_SUB, end, begin);
			hop_lv *rest = hop_e_bin(e, LL_AND, len, hop_e_int(e, u - 1));
			mid = hop_e_bin(e, LL_SUB, end, rest);
			plain_part(e, s, begin, mid, u, blocked, acc, lanes, end);
			begin = mid;
		}
		if (u == 1 || !(n >= 0 && b == 0 && n % u == 0))
			plain_part(e, s, begin, end, 1, blocked && u == 1, acc, lanes, end);
	}
	for (int i = 0; i < s->nacc; i++)
		hop_e_set(e, s->acc[i].result,
		          (hop_ev){ .v = acc[i], .dtype = s->acc[i].dtype, .depth = e->s.depth,
		                    .lane = lanes[i] > 1 ? HOP_VAR : HOP_UNI });
}

/* ---- reductions along rows, for several rows at once ---- */

/* Blocks of b lanes of x and y, each folded to b/2; x's come first. */
static hop_lv *fold(hop_emit *e, const hop_acc *c, hop_lv *x, hop_lv *y, int b)
{
	hop_lv *lo[16], *hi[16];
	int n = e->lanes;
	for (int i = 0; i < n; i++) {
		int at = i / (b / 2) * b + i % (b / 2);

		lo[i] = e->L->ConstInt(e->i32, (unsigned long long)at, 0);
		hi[i] = e->L->ConstInt(e->i32, (unsigned long long)(at + b / 2), 0);
	}
	return hop_e_red(e, c->op, c->dtype, n,
	                 e->L->BuildShuffleVector(e->b, x, y,
	                                          e->L->ConstVector(lo, (unsigned)n), ""),
	                 e->L->BuildShuffleVector(e->b, x, y,
	                                          e->L->ConstVector(hi, (unsigned)n), ""));
}

/* A linear register of the outer loop, as each row of it sees it. */
typedef struct rowreg {
	hop_reg r;
	hop_ev  outer;
	hop_lv *v[16];
} rowreg;

static int row_regs(hop_emit *e, const uint8_t *use, hop_lv **at, rowreg *out)
{
	int n = 0;
	for (int i = 1; i <= e->f->nreg; i++) {
		const hop_ev *v = &e->s.reg[i];

		if (use[i] != 1 || v->lane != HOP_LIN)
			continue;
		if (out) {
			out[n] = (rowreg){ .r = i, .outer = *v };
			for (int k = 0; k < e->lanes; k++)
				out[n].v[k] = hop_e_bin(e, LL_ADD, v->v,
				                        hop_e_bin(e, LL_MUL, at[k], v->step));
		}
		n++;
	}
	return n;
}

/* Iterations begin..end-1 of s for each row, into part[row]. */
static void turned_part(hop_emit *e, const hop_stmt *s, hop_lv *begin, hop_lv *end,
                        bool runs, bool masked, const rowreg *row, int nrow,
                        hop_lv **part)
{
	hop_lv *next[16];
	int n = e->lanes;
	hop_eloop l;
	loop_begin(e, &l, begin, end, n, runs, n, part);
	if (masked)
		e->mask = hop_e_lane_mask(e, hop_e_bin(e, LL_SUB, end, l.iv), n);
	for (int i = 0; i < n; i++) {
		next[i] = l.phi[i];
		for (int k = 0; k < nrow; k++) {
			hop_ev v = row[k].outer;

			v.lane = HOP_UNI;
			v.v = row[k].v[i];
			hop_e_set(e, row[k].r, v);
		}
		pass(e, s, l.iv, &next[i], &n);
	}
	e->mask = NULL;
	hop_e_loop_end(e, &l, next, part);
}

/* The sums of the rows, a lane each. */
static hop_lv *turn(hop_emit *e, const hop_acc *c, hop_lv **part)
{
	for (int b = e->lanes, m = e->lanes; b > 1; b /= 2, m /= 2)
		for (int i = 0; i < m / 2; i++)
			part[i] = fold(e, c, part[2 * i], part[2 * i + 1], b);
	return part[0];
}

static void no_sums(hop_emit *e, const hop_acc *c, hop_lv **part)
{
	for (int i = 0; i < e->lanes; i++)
		part[i] = hop_e_red_id(e, c->op, c->dtype, e->lanes);
}

/* Whole vectors of a long sum: each block is turned. */
static hop_lv *turned_blocks(hop_emit *e, const hop_stmt *s, hop_lv *end,
                             const rowreg *row, int nrow)
{
	hop_lv *part[16], *sum;
	blocks b = blocks_begin(e, s, &e->lanes, hop_e_int(e, 0), end, CHAIN * e->lanes);
	no_sums(e, s->acc, part);
	turned_part(e, s, b.from, b.to, true, false, row, nrow, part);
	sum = turn(e, s->acc, part);
	blocks_end(e, &b, &sum);
	return sum;
}

static void turned_loop(hop_emit *e, const hop_stmt *s, hop_lv *end)
{
	const hop_acc *c = &s->acc[0];
	int n = e->lanes;
	uint8_t *use = HOP_NEWN(&e->env->tmp, uint8_t, e->f->nreg + 1), *cls = e->cls;
	rowreg *row;
	hop_ev *saved;
	int nrow;
	hop_lv *at[16], *part[16], *mid, *mask = e->mask, *init;
	int64_t k = hop_e_known(e, end, -1);
	hop_e_uses(s, use);
	init = hop_e_vec(e, hop_e_reg(e, c->init));
	/* A row past the end reads the first row instead; nobody looks at its sum. */
	for (int i = 0; i < n; i++) {
		at[i] = hop_e_int(e, i);
		if (mask)
			at[i] = hop_e_sel(e, hop_e_slice(e, mask, i, 1), at[i], hop_e_int(e, 0));
	}
	no_sums(e, c, part);
	nrow = row_regs(e, use, at, NULL);
	row = HOP_NEWN(&e->env->tmp, rowreg, nrow);
	row_regs(e, use, at, row);
	saved = HOP_NEWN(&e->env->tmp, hop_ev, nrow);
	for (int k = 0; k < nrow; k++)
		saved[k] = row[k].outer;
	/* The steps above stand before the loop: rows keep the depth they have outside. */
	for (int k = 0; k < nrow; k++)
		row[k].outer.depth = e->s.depth;
	e->mask = NULL;
	e->cls = HOP_NEWN(&e->env->tmp, uint8_t, e->f->nreg + 1);
	hop_e_classify(e, s);
	mid = hop_e_bin(e, LL_AND, end, hop_e_int(e, -(int64_t)n));
	if (is_long(s, k))
		init = hop_e_red(e, c->op, c->dtype, n, init,
		                 turned_blocks(e, s, mid, row, nrow));
	else if (k < 0 || k >= n)
		turned_part(e, s, hop_e_int(e, 0), mid, false, false, row, nrow, part);
	if (k < 0 || k % n)
		turned_part(e, s, mid, end, false, true, row, nrow, part);
	for (int k = 0; k < nrow; k++)
		hop_e_set(e, row[k].r, saved[k]);
	e->cls = cls;
	e->mask = mask;
	hop_e_set(e, c->result,
	          (hop_ev){ .v = hop_e_red(e, c->op, c->dtype, n, init, turn(e, c, part)),
	                    .dtype = c->dtype, .depth = e->s.depth, .lane = HOP_VAR });
}

/* ---- vectorised loops ---- */

/* The lanes of v, n of them, combined by halves down to w. */
static hop_lv *narrow(hop_emit *e, const hop_acc *c, hop_lv *v, int n, int w)
{
	for (; n > w; n /= 2)
		v = hop_e_red(e, c->op, c->dtype, n / 2, hop_e_slice(e, v, 0, n / 2),
		              hop_e_slice(e, v, n / 2, n / 2));
	return v;
}

/* Iterations begin .. end-1 in steps of n lanes; masked if the last may be partial.
 * acc: vectors of w lanes, combined into; they pass from part to part, so that a loop
 * adds up across lanes once. */
static void vector_part(hop_emit *e, const hop_stmt *s, hop_lv *begin, hop_lv *end, int n,
                        bool masked, hop_lv **acc, int w)
{
	hop_lv **vec = HOP_NEWN(&e->env->tmp, hop_lv *, s->nacc);
	hop_lv **out = HOP_NEWN(&e->env->tmp, hop_lv *, s->nacc);
	int64_t b = hop_e_known(e, begin, -1), z = hop_e_known(e, end, -1);
	bool once = b >= 0 && z >= 0 && z - b <= n;
	bool blocked = !once && !masked && is_long(s, b >= 0 && z >= 0 ? z - b : -1);
	hop_eloop l;
	blocks k;
	if (blocked) {
		k = blocks_begin(e, s, same_lanes(e, s, w), begin, end, (int64_t)CHAIN * n);
		begin = k.from;
		end = k.to;
	}
	e->lanes = n;
	for (int i = 0; i < s->nacc; i++)
		vec[i] = n == w && !blocked ? acc[i] :
		         hop_e_red_id(e, s->acc[i].op, s->acc[i].dtype, n);
	if (!once) {
		loop_begin(e, &l, begin, end, n, blocked, s->nacc, vec);
		for (int i = 0; i < s->nacc; i++)
			out[i] = l.phi[i];
	}
	if (masked)
		e->mask = hop_e_lane_mask(e, hop_e_bin(e, LL_SUB, end, once ? begin : l.iv), n);
	pass(e, s, once ? begin : l.iv, once ? vec : out, same_lanes(e, s, n));
	e->mask = NULL;
	if (!once)
		hop_e_loop_end(e, &l, out, vec);
	for (int i = 0; i < s->nacc; i++)
		vec[i] = narrow(e, &s->acc[i], vec[i], n, w);
	if (blocked)
		blocks_end(e, &k, vec);
	for (int i = 0; i < s->nacc; i++)
		acc[i] = n == w && !blocked ? vec[i] :
		         hop_e_red(e, s->acc[i].op, s->acc[i].dtype, w, acc[i], vec[i]);
	e->lanes = 1;
}

/* The least number of lanes, a power of two, that covers n. One element is no vector: LLVM
 * fuses no products in a vector that it sees to be one element, and the same loop forked would
 * round otherwise. */
static int cover(int64_t n)
{
	int w = 1;
	while (w < n)
		w *= 2;
	return w;
}

static void vector_static(hop_emit *e, const hop_stmt *s, const hop_bind *p, int64_t b,
                          int64_t z, hop_lv **acc)
{
	int big = p->width * p->jam;
	if (z - b >= big) {
		int64_t m = b + (z - b) / big * big;

		vector_part(e, s, hop_e_int(e, b), hop_e_int(e, m), big, false, acc, p->width);
		b = m;
	}
	if (p->jam > 1 && z - b >= p->width) {
		int64_t m = b + (z - b) / p->width * p->width;

		vector_part(e, s, hop_e_int(e, b), hop_e_int(e, m), p->width, false, acc,
		            p->width);
		b = m;
	}
	if (z > b) {
		int w = s->nacc ? p->width : cover(z - b);
		vector_part(e, s, hop_e_int(e, b), hop_e_int(e, z), w, w != z - b, acc, p->width);
	}
}

static void vector_loop(hop_emit *e, const hop_stmt *s, const hop_bind *p, hop_lv *begin,
                        hop_lv *end)
{
	hop_lv **acc = HOP_NEWN(&e->env->tmp, hop_lv *, s->nacc);
	int64_t b = hop_e_known(e, begin, -1), z = hop_e_known(e, end, -1);
	e->wide = p->width * p->jam;
	hop_e_classify(e, s);
	for (int i = 0; i < s->nacc; i++)
		acc[i] = hop_e_red_id(e, s->acc[i].op, s->acc[i].dtype, p->width);
	if (b >= 0 && z >= 0) {
		vector_static(e, s, p, b, z, acc);
	} else {
		int big = p->width * p->jam;
		hop_lv *len = hop_e_bin(e, LL_SUB, end, begin), *mid;
		/* When begin > end nothing runs: both guards see it. */
		mid = hop_e_bin(e, LL_SUB, end,
		                hop_e_bin(e, LL_AND, len, hop_e_int(e, big - 1)));
		vector_part(e, s, begin, mid, big, false, acc, p->width);
		mid = hop_e_sel(e, hop_e_icmp(e, LL_SGT, mid, begin), mid, begin);
		if (p->jam > 1 && p->light) {
			hop_lv *last = hop_e_bin(e, LL_AND, hop_e_bin(e, LL_SUB, end, mid),
			                         hop_e_int(e, p->width - 1));
			last = hop_e_bin(e, LL_SUB, end, last);
			vector_part(e, s, mid, last, p->width, false, acc, p->width);
			mid = hop_e_sel(e, hop_e_icmp(e, LL_SGT, last, mid), last, mid);
		}
		vector_part(e, s, mid, end, p->width, true, acc, p->width);
	}
	e->wide = 0;
	for (int i = 0; i < s->nacc; i++) {
		const hop_acc *c = &s->acc[i];
		hop_lv *v = hop_e_red_all(e, c->op, c->dtype, p->width, acc[i]);

		if (e->fresh != s)
			v = hop_e_red(e, c->op, c->dtype, 1, hop_e_reg(e, c->init)->v, v);
		hop_e_set(e, c->result,
		          (hop_ev){ .v = v, .dtype = c->dtype, .depth = e->s.depth });
	}
}

int64_t hop_e_step(const hop_stmt *s)
{
	return s->bind.width ? (int64_t)s->bind.width * s->bind.jam : 1;
}

/* Part of a loop: begin .. end-1 of its iterations. */
void hop_e_loop_range(hop_emit *e, const hop_stmt *s, hop_lv *begin, hop_lv *end)
{
	if (s->bind.width)
		vector_loop(e, s, &s->bind, begin, end);
	else if (!s->bind.turned || e->lanes < HOP_TURN_LEAST || e->lanes > HOP_TURN_MOST)
		hop_e_plain_loop(e, s, begin, end);
	else if (s->loop == HOP_LOOP_SEQ)
		hop_e_steps(e, s, end);
	else
		turned_loop(e, s, end);
}

/* All steps, for lanes begin .. end-1 of the parallel loop in s. */
static void steps_range(hop_emit *e, const hop_stmt *s, hop_lv *begin, hop_lv *end)
{
	e->part = (struct hop_epart){ s->body.last, begin, end };
	hop_e_plain_loop(e, s, hop_e_int(e, 0),
	           s->bound ? hop_e_reg(e, s->bound)->v : hop_e_size(e, s->extent));
	e->part = (struct hop_epart){ 0 };
}

/* Two pieces a thread, no more: the more lanes go together, the longer are the rows that a step
 * takes from memory. Threads that have seen that the run is canceled have left early. */
static void shared_steps(hop_emit *e, const hop_stmt *s)
{
	const hop_stmt *p = s->body.last;
	hop_lv *n = hop_e_size(e, p->extent), *step = hop_e_int(e, hop_e_step(p)), *grain;
	grain = hop_e_ptr_load(e, e->i32, e->s.rt, offsetof(hop_rt, nthread));
	grain = hop_e_bin(e, LL_MUL, hop_e_cast(e, LL_SEXT, grain, e->i64), hop_e_int(e, 2));
	grain = hop_e_bin(e, LL_SDIV, n, hop_e_bin(e, LL_MUL, grain, step));
	grain = hop_e_sel(e, hop_e_icmp(e, LL_SGT, grain, hop_e_int(e, 1)), grain, hop_e_int(e, 1));
	hop_e_parallel(e, s, n, hop_e_bin(e, LL_MUL, grain, step),
	               hop_e_icmp(e, LL_SGE, n, hop_e_int(e, s->bind.least)), steps_range, 0);
	hop_e_poll(e);
}

static void emit_loop(hop_emit *e, const hop_stmt *s, hop_lv *n)
{
	hop_lv *least = hop_e_int(e, s->bind.least);
	if (s == e->part.s)
		hop_e_loop_range(e, s, e->part.begin, e->part.end);
	else if (s->loop == HOP_LOOP_SEQ && s->bind.thread)
		shared_steps(e, s);
	else if (s->bind.blocks || s->bind.slice)
		hop_e_sum(e, s, n);
	else if (s->bind.thread)
		hop_e_parallel(e, s, n, hop_e_int(e, hop_e_step(s)), hop_e_icmp(e, LL_SGE, n, least),
		               hop_e_loop_range, 0);
	else
		hop_e_loop_range(e, s, hop_e_int(e, 0), n);
}

void hop_e_loop(hop_emit *e, const hop_stmt *s)
{
	hop_lv *n = s->bound ? hop_e_reg(e, s->bound)->v : hop_e_size(e, s->extent);
	int nest = s->loop != HOP_LOOP_SEQ && hop_e_known(e, n, -1) != 1;
	bool asks = nest && !e->nest && !e->s.outlined && hop_nest_is_long(s);
	e->asks |= asks;
	e->nest += nest;
	emit_loop(e, s, n);
	e->nest -= nest;
	if (!asks)
		return;
	e->asks = false;
	if (hop_block_steps(&s->body) && s->bind.thread)
		hop_e_poll(e);
}
