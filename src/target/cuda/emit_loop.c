/* emit_loop.c -- loops by who shares them. A thread takes every T-th iteration, or several at once:
 * then all is loaded before the first store, so that memory is asked for all of them at the same
 * time. Does not decide who shares what. */
#include <string.h>

#include "target/cuda/emit.h"

int64_t hop_cuda_known(const hop_stmt *s)
{
	return s->kind == HOP_L_LOOP && !s->bound && hop_size_const(s->extent) ? s->extent.k : -1;
}

bool hop_cuda_is_simple(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->kind != HOP_L_OP || s->sop == HOP_SOP_count)
			return false;
	return true;
}

/* In a block with points nothing may be declared. */
const char *hop_cuda_extent(hop_cuemit *e, const hop_stmt *s)
{
	if (s->bound)
		return hop_c_reg(e, s->bound);
	return e->cu->high ? hop_c_size(e, s->extent) : hop_c_fixed(e, s->extent, s->dst, "n");
}

const char *hop_cuda_threads(hop_cuemit *e)
{
	int n = e->cu->func[e->index].threads;
	return n ? hop_c_text(e, "%d", n) : "hop_threads()";
}

/* The most iterations, whatever the sizes. */
static int64_t most_of(const hop_stmt *s)
{
	return hop_size_range(s->extent, NULL, 0).hi;
}

/* The largest index and one more round of all threads stay in 31 bits. */
static bool is_narrow(const hop_stmt *s)
{
	return most_of(s) < 1 << 30;
}

const char *hop_cuda_int(const hop_stmt *s)
{
	return is_narrow(s) ? "int" : "int64_t";
}

const char *hop_cuda_var(hop_cuemit *e, const hop_stmt *s)
{
	const char *v = hop_c_var(e, s->dst);
	HOP_ASSERT(e->nvar < HOP_C_MAXVAR);
	e->cu->most[s->dst] = is_narrow(s) ? most_of(s) + 1 : 0;
	return v;
}

/* ---- bodies ---- */

/* Which of two zeros is the larger a reduction leaves open, and the device has a way that is quicker. */
const char *hop_cuda_both(hop_cuemit *e, const hop_acc *c, const char *a, const char *b)
{
	if (c->dtype == HOP_f32 && (c->op == HOP_RED_max || c->op == HOP_RED_min))
		return hop_c_text(e, "hop_%s_f32(%s, %s)", c->op == HOP_RED_max ? "most" : "least", a, b);
	return hop_c_red(e, c->op, c->dtype, a, b);
}

static void combine(hop_cuemit *e, const hop_stmt *s, const char *at)
{
	for (const hop_acc *c = s->acc; s->loop == HOP_LOOP_RED && c < s->acc + s->nacc; c++)
		if (e->uses[c->result]) {
			const char *to = hop_c_text(e, "%s%d", at, c->result);
			hop_cuda_lot_open(e, 1);
			if (e->cu->guard)
				hop_c_line(e, "if (%s)", e->cu->guard);
			e->indent += e->cu->guard != NULL;
			hop_c_line(e, "%s = %s;", to, hop_cuda_both(e, c, hop_c_reg(e, c->value), to));
			e->indent -= e->cu->guard != NULL;
			hop_cuda_lot_close(e);
		}
}

void hop_cuda_pass(hop_cuemit *e, const hop_stmt *s, const char *at)
{
	hop_cuda_block(e, &s->body);
	combine(e, s, at);
	hop_cuda_carries(e, s);
}

/* Threads that are together share the copies; all wait before, since others read, and behind. */
void hop_cuda_carries(hop_cuemit *e, const hop_stmt *s)
{
	static const uint8_t place[] = { HOP_PLACE_GRID, HOP_PLACE_THREAD, HOP_PLACE_LANE, HOP_PLACE_NONE };
	static const int     wait[] = { HOP_BARRIER_TEAM, HOP_BARRIER_BLOCK, HOP_BARRIER_WARP };
	enum hop_who         who = e->cu->who;
	bool                 high = e->cu->high;

	if (!s->ncarry)
		return;
	if (who != HOP_WHO_ONE)
		hop_cuda_barrier(e, wait[who]);
	e->cu->high = false;
	for (int i = 0; i < s->ncarry; i++) {
		hop_stmt   one = { .ncarry = 1, .carry = &s->carry[i] };
		hop_lfunc  f = { .nreg = e->f->nreg };
		hop_block  copy = { 0 };
		hop_lbuild b = { .env = e->env, .a = &e->env->tmp, .f = &f, .block = &copy };

		hop_carry_loops(&b, e->f, &one);
		copy.first->bind.place = place[who];
		hop_c_live_own(e, &copy);
		hop_c_brace(e);
		hop_cuda_block(e, &copy);
		hop_c_close(e);
	}
	e->cu->high = high;
	if (who != HOP_WHO_ONE)
		hop_cuda_barrier(e, wait[who]);
}

/* ---- shares ---- */

/* Iterations from, from + step, .. are a sharer's. */
typedef struct share {
	const char  *from, *step, *apart;      /* apart: of those that it takes at once */
	int64_t      all;                      /* that all take in one round; 0 = not known */
	bool         once;                     /* one round is enough */
	enum hop_who who;
} share;

static int64_t blocks_of(const hop_cuemit *e, int axis)
{
	hop_size n = e->f->team.blocks[axis];
	bool     known = e->f->level == HOP_LEVEL_KERNEL && !e->f->team.resident && hop_size_const(n);
	return known ? n.k ? n.k : 1 : e->cu->func[e->index].alone;
}

/* Sharers with numbers block * each + who, `each` of them in a block. */
static share along_x(hop_cuemit *e, const char *wide, int each, const char *each_text, const char *who)
{
	int64_t     n = blocks_of(e, 0);
	const char *t = each ? hop_c_text(e, "%d", each) : each_text;
	if (n == 1)
		return (share){ who, t, NULL, each, false, HOP_WHO_ONE };
	return (share){ hop_c_text(e, "%shop_block_x() * %s + %s", wide, t, who),
	                hop_c_text(e, "hop_blocks_x() * %s", t), NULL, each * n, false, HOP_WHO_ONE };
}

static share of_blocks(hop_cuemit *e, const hop_stmt *s, int axis)
{
	char    c = "xyz"[axis];
	int64_t n = blocks_of(e, axis);
	bool    same = e->f->level == HOP_LEVEL_KERNEL && !e->f->team.resident && !s->bound &&
	               hop_size_eq(e->f->team.blocks[axis], s->extent);
	return (share){ hop_c_text(e, "hop_block_%c()", c), hop_c_text(e, "hop_blocks_%c()", c), NULL,
	                same ? -1 : n, false, HOP_WHO_BLOCK };
}

static share share_of(hop_cuemit *e, const hop_stmt *s, int k)
{
	int         t = e->cu->func[e->index].threads;
	const char *wide = is_narrow(s) ? "" : "(int64_t)", *threads = hop_cuda_threads(e);
	bool        exact = e->f->level == HOP_LEVEL_KERNEL && e->f->team.exact;
	share       x;

	switch ((enum hop_place)s->bind.place) {
	case HOP_PLACE_GRID:
		x = along_x(e, wide, t * k, k > 1 ? hop_c_text(e, "(%s * %d)", threads, k) : threads,
		            "hop_thread()");
		break;
	case HOP_PLACE_WARP:
		if (e->cu->who == HOP_WHO_BLOCK || e->cu->last) {
			x = (share){ "hop_warp()",
			             t ? hop_c_text(e, "%d", t / HOP_CUDA_WARP) : "(hop_threads() / 32)",
			             NULL, t / HOP_CUDA_WARP, false, HOP_WHO_WARP };
			exact = false;
			break;
		}
		x = along_x(e, wide, t / HOP_CUDA_WARP, "(hop_threads() / 32)", "hop_warp()");
		x.who = HOP_WHO_WARP;
		break;
	case HOP_PLACE_BLOCK_X:
	case HOP_PLACE_BLOCK_Y:
	case HOP_PLACE_BLOCK_Z:
		x = of_blocks(e, s, (int)s->bind.place - HOP_PLACE_BLOCK_X);
		break;
	case HOP_PLACE_LANE:
		x = (share){ "hop_lane()", hop_c_text(e, "%d", HOP_CUDA_WARP * k), NULL, HOP_CUDA_WARP * k,
		             false, HOP_WHO_ONE };
		threads = "32";
		exact = false;
		break;
	default:
		x = (share){ "hop_thread()", t ? hop_c_text(e, "%d", t * k) :
		             k > 1 ? hop_c_text(e, "%s * %d", threads, k) : threads,
		             NULL, t * k, false, HOP_WHO_ONE };
		exact = false;
	}
	x.apart = threads;
	x.once = exact || x.all < 0 || (x.all && hop_cuda_known(s) >= 0 && hop_cuda_known(s) <= x.all);
	return x;
}

/* All sharers have an iteration. */
static bool is_full(const share *x, const hop_stmt *s)
{
	return x->once && (x->all < 0 || (x->all && x->all == hop_cuda_known(s)));
}

/* The iterations of a sharer: a loop, or one round of it. Closed by the caller. */
static void open_share(hop_cuemit *e, const hop_stmt *s, const share *x, const char *v, const char *n)
{
	const char *type = hop_cuda_int(s);
	if (!x->once) {
		hop_c_open(e, "for (%s %s = %s; %s < %s; %s += %s)", type, v, x->from, v, n, v, x->step);
		return;
	}
	if (is_full(x, s)) {
		hop_c_brace(e);
		hop_c_line(e, "const %s %s = %s;", type, v, x->from);
		return;
	}
	hop_c_open(e, "if (const %s %s = %s; %s < %s)", type, v, x->from, v, n);
}

/* ---- several at once ---- */

enum { MOST = 16 };

/* Two buffers that may be the same memory. */
bool hop_cuda_meet(const hop_lfunc *f, int a, int b)
{
	const hop_lbuf *x = &f->buf[a], *y = &f->buf[b];
	bool px = x->kind == HOP_BUF_PARAM || (x->kind == HOP_BUF_TEMP && x->space == HOP_SPACE_RESULT);
	bool py = y->kind == HOP_BUF_PARAM || (y->kind == HOP_BUF_TEMP && y->space == HOP_SPACE_RESULT);
	return a == b || (px && py);
}

/* No load waits for a store of the same iteration. */
static bool loads_first(const hop_lfunc *f, const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		for (const hop_stmt *q = s->next; s->sop == HOP_SOP_store && q; q = q->next)
			if (q->sop == HOP_SOP_load && hop_cuda_meet(f, s->u.addr.buf, q->u.addr.buf))
				return false;
	return true;
}

/* Lanes and threads of a block always take every T-th iteration, so that they may take several at once
 * unasked. 0: they do not. */
int hop_cuda_each(const hop_cuemit *e, const hop_stmt *s)
{
	enum { USUAL = 4, MANY = 8, SMALL = 10 };
	bool    block = s->bind.place == HOP_PLACE_THREAD || s->bind.place == HOP_PLACE_LANE;
	int     t = s->bind.place == HOP_PLACE_LANE ? HOP_CUDA_WARP : e->cu->func[e->index].threads;
	int64_t n = hop_cuda_known(s), rounds = t && n >= 0 ? (n + t - 1) / t : USUAL;
	int     most = hop_block_count(&s->body) <= SMALL ? MANY : USUAL;

	if (s->bind.ordered || s->bind.each > MOST || !hop_cuda_is_simple(&s->body) ||
	    !loads_first(e->f, &s->body))
		return 0;
	if (s->bind.each > 1)
		return s->bind.each;
	if (!block || rounds < 2)
		return 0;
	return rounds < most ? (int)rounds : n < 0 ? USUAL : most;
}

/* Registers of the body are those of copy k again. */
static void recall(hop_cuemit *e, const hop_stmt *s, const char *copy)
{
	for (const hop_stmt *q = s->body.first; q; q = q->next)
		if (q->dst && e->reg[q->dst] && e->reg[q->dst][0] == 'r')
			hop_c_set(e, q->dst, (hop_dtype)e->dtype[q->dst], hop_c_text(e, "r%d%s", q->dst, copy));
}

/* n NULL: it is there for sure. */
static void at_copy(hop_cuemit *e, const hop_stmt *s, int k, const char *v, const char *n)
{
	e->cu->copy = hop_c_text(e, "_%d", k);
	hop_c_set(e, s->dst, HOP_i64, k ? hop_c_text(e, "%s%d", v, k) : v);
	e->cu->guard = k && n ? hop_c_text(e, "%s%d < %s", v, k, n) : NULL;
}

/* Loads and what they need, from the last statement on. */
static void mark_early(hop_cuemit *e, bool *early, const hop_block *b)
{
	int n = 0;
	const hop_stmt **all = HOP_NEWN(&e->env->tmp, const hop_stmt *, hop_block_count(b) + 1);
	for (const hop_stmt *s = b->first; s; s = s->next)
		all[n++] = s;
	while (n--) {
		const hop_stmt *s = all[n];
		if (s->sop == HOP_SOP_load) {
			early[s->dst] = true;
			for (int i = 0; i < s->u.addr.nterm; i++)
				early[s->u.addr.term[i].reg] = true;
		}
		for (int i = 0; i < s->na && s->sop != HOP_SOP_store && early[s->dst]; i++)
			early[s->a[i]] = true;
	}
}

/* A function of many instructions may have a rare branch, and no compiler moves a load before that. */
static bool is_dear(const hop_block *b)
{
	enum { DEAR = 6 };
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (hop_sop_cost(s->sop, s->dtype) >= DEAR)
			return true;
	return false;
}

static void put_part(hop_cuemit *e, const hop_stmt *s, int each, const char *v, const char *n)
{
	e->cu->quiet = false;
	for (int i = 0; i < each; i++) {
		at_copy(e, s, i, v, n);
		recall(e, s, e->cu->copy);
		hop_cuda_block(e, &s->body);
		e->cu->quiet = true;
	}
}

void hop_cuda_several(hop_cuemit *e, const hop_stmt *s, int each, const char *apart,
                      const char *v, const char *n, const char *at)
{
	struct hop_cuda *cu = e->cu;
	hop_loc          loc = e->loc;

	for (int i = 1; i < each; i++)
		hop_c_line(e, "const %s %s%d = %s + %d * %s;", hop_cuda_int(s), v, i, v, i, apart);
	cu->part = HOP_CU_VALUES;
	if (is_dear(&s->body)) {
		cu->early = HOP_NEWN(&e->env->tmp, bool, e->f->nreg + 1);
		mark_early(e, cu->early, &s->body);
		cu->part = HOP_CU_LOADS;
		put_part(e, s, each, v, n);
		cu->part = HOP_CU_REST;
	}
	put_part(e, s, each, v, n);
	cu->part = HOP_CU_STORES;
	for (int i = 0; i < each; i++) {
		at_copy(e, s, i, v, n);
		recall(e, s, cu->copy);
		hop_cuda_block(e, &s->body);
		combine(e, s, at);
	}
	cu->part = HOP_CU_ALL;
	cu->quiet = false;
	cu->copy = "";
	cu->guard = NULL;
	e->loc = loc;
}

/* A body that is more than operations: one after the other. */
static void in_turn(hop_cuemit *e, const hop_stmt *s, const share *x, const char *v, const char *n)
{
	const char *q = hop_c_text(e, "%s_", v);
	hop_c_open(e, "for (int q_ = 0; q_ < %d; q_++)", s->bind.each);
	hop_c_line(e, "const %s %s = %s + q_ * %s;", hop_cuda_int(s), q, v, x->apart);
	hop_c_open(e, "if (%s < %s)", q, n);
	hop_c_set(e, s->dst, HOP_i64, q);
	hop_cuda_pass(e, s, "r");
	hop_c_close(e);
	hop_c_close(e);
}

typedef struct look { const hop_cuemit *e; bool found; } look;

static void find_own(void *user, hop_addr *a, bool write)
{
	look           *l = user;
	const hop_lbuf *b = &l->e->f->buf[a->buf];
	(void)write;
	l->found |= b->kind == HOP_BUF_TEMP && b->space == HOP_SPACE_OWN;
}

bool hop_cuda_owns(const hop_cuemit *e, const hop_stmt *s)
{
	look l = { e, false };
	if (s->bind.place == HOP_PLACE_THREAD && hop_cuda_known(s) >= 0)
		hop_stmt_all_addrs((hop_lfunc *)(uintptr_t)e->f, (hop_stmt *)(uintptr_t)s, find_own, &l);
	return l.found;
}

/* What a thread has is in an array that becomes registers if every index in it is known. */
void hop_cuda_open_rounds(hop_cuemit *e, const hop_stmt *s, const char *v)
{
	int         w = s->bind.width > 1 ? s->bind.width : 1;
	int64_t     n = hop_cuda_known(s);
	const char *q = hop_c_text(e, "%s_", v);
	const char *base = w > 1 ? hop_c_text(e, "hop_thread() * %d", w) : "hop_thread()";

	hop_c_line(e, "HOP_UNROLL");
	hop_c_open(e, "for (int %s = 0; %s < %d; %s++)", q, q, hop_cuda_rounds(e, s), q);
	hop_c_line(e, "const int %s = %s;", v, hop_cuda_round(e, s, base, q));
	if (n % (e->f->team.threads * w))
		hop_c_open(e, "if (%s < %lld)", v, (long long)n);
	else
		hop_c_brace(e);
	e->cu->round[s->dst] = q;
}

/* ptxas lets lanes that wait for the others at the end of a loop go on without them where the loop looks
 * at what others write (YIELD in SASS), and does not always know later that it did: shuffles would miss
 * lanes. So a warp whose threads looked alone whether the run is to stop meets. */
void hop_cuda_again(hop_cuemit *e)
{
	if (!e->cu->apart || e->cu->who == HOP_WHO_ONE)
		return;
	hop_c_line(e, "hop_barrier_warp();");
	e->cu->apart = false;
}

static void owned_loop(hop_cuemit *e, const hop_stmt *s)
{
	enum hop_who who = e->cu->who;
	const char  *v = hop_cuda_var(e, s);
	e->cu->who = HOP_WHO_ONE;
	if (!hop_cuda_lot(e, s, v, "r")) {
		hop_cuda_open_rounds(e, s, v);
		hop_cuda_pass(e, s, "r");
		hop_c_close(e);
		hop_c_close(e);
	}
	e->cu->who = who;
	hop_cuda_again(e);
	e->nvar--;
}

static void shared_loop(hop_cuemit *e, const hop_stmt *s)
{
	enum hop_who who = e->cu->who;
	int          each = hop_cuda_each(e, s);
	share        x = share_of(e, s, each ? each : s->bind.each > 1 ? s->bind.each : 1);
	const char  *n = hop_cuda_extent(e, s), *v = hop_cuda_var(e, s);
	int64_t      k = hop_cuda_known(s);

	if (hop_cuda_leaves(e->p, e->cu->func, s))
		hop_cuda_refuse(e, s, "a loop that threads share asks the host");
	open_share(e, s, &x, v, n);
	e->cu->who = x.who;
	if (each)
		hop_cuda_several(e, s, each, x.apart, v, x.all > 0 && k >= 0 && k % x.all == 0 ? NULL : n, "r");
	else if (s->bind.each > 1)
		in_turn(e, s, &x, v, n);
	else
		hop_cuda_pass(e, s, "r");
	e->cu->who = who;
	hop_c_close(e);
	hop_cuda_again(e);
	e->nvar--;
}

/* ---- loops that nobody shares ---- */

/* Many trips between two looks whether the run is to stop. */
static void in_chunks(hop_cuemit *e, const hop_stmt *s)
{
	const char *n = hop_cuda_extent(e, s), *v = hop_cuda_var(e, s), *t = hop_cuda_int(s);
	int         most = hop_cuda_between(e, s);
	hop_c_open(e, "for (%s from = 0; from < %s; from += %d)", t, n, most);
	hop_c_line(e, "const int some = %s - from < %d ? (int)(%s - from) : %d;", n, most, n, most);
	hop_cuda_poll(e, s, "(unsigned)some");
	hop_c_line(e, HOP_CUDA_FEW);
	hop_c_open(e, "for (%s %s = from; %s < from + some; %s++)", t, v, v, v);
	hop_cuda_pass(e, s, "r");
	hop_c_close(e);
	hop_c_close(e);
	e->nvar--;
}

static void plain(hop_cuemit *e, const hop_stmt *s)
{
	const char *n = hop_cuda_extent(e, s), *v = hop_cuda_var(e, s), *t = hop_cuda_int(s);
	if (s->bind.each == 1)
		hop_c_line(e, "HOP_UNROLL_BY(1)");
	if (s->reverse)
		hop_c_open(e, "for (%s %s = %s%s - 1; %s >= 0; %s--)", t, v,
		           s->bound && is_narrow(s) ? "(int)" : "", n, v, v);
	else
		hop_c_open(e, "for (%s %s = 0; %s < %s; %s++)", t, v, v, n, v);
	hop_cuda_poll(e, s, NULL);
	hop_cuda_pass(e, s, "r");
	hop_c_close(e);
	e->nvar--;
}

/* It holds points to go on at, so that its variable is one of the function. */
static void high(hop_cuemit *e, const hop_stmt *s)
{
	int         scope = e->cu->nscope, outer = e->cu->outer;
	const char *n = hop_cuda_extent(e, s);

	hop_cuda_keep(e, s->dst, HOP_i64);
	e->cu->outer = e->cu->nscope;
	if (s->reverse) {
		hop_c_line(e, "r%d = %s - 1;", s->dst, n);
		hop_c_open(e, "for (; r%d >= 0; r%d--)", s->dst, s->dst);
	} else {
		hop_c_line(e, "r%d = 0;", s->dst);
		hop_c_open(e, "for (; r%d < %s; r%d++)", s->dst, n, s->dst);
	}
	hop_cuda_poll(e, s, NULL);
	hop_cuda_pass(e, s, "r");
	hop_c_close(e);
	e->cu->nscope = scope;
	e->cu->outer = outer;
}

void hop_cuda_loop(hop_cuemit *e, const hop_stmt *s)
{
	if (s->bind.slice)
		hop_c_set(e, s->bind.slice, HOP_i64, "0");
	if (s->loop == HOP_LOOP_RED && s->nacc) {
		hop_cuda_red(e, s);
	} else if (hop_cuda_owns(e, s)) {
		owned_loop(e, s);
	} else if (s->bind.place) {
		shared_loop(e, s);
	} else if (hop_cuda_known(s) == 1) {
		hop_c_set(e, s->dst, HOP_i64, "0");
		hop_cuda_pass(e, s, "r");
	} else if (e->cu->high) {
		high(e, s);
	} else if (hop_cuda_polls(s) && e->cu->who == HOP_WHO_TEAM && !s->reverse && !s->ncarry &&
	           hop_cuda_is_short(e, &s->body)) {
		in_chunks(e, s);
	} else {
		plain(e, s);
	}
}
