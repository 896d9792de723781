/* emit_loop.c -- loops. A parallel loop is a `for` that the compiler is told is one. A sum of
 * floats has an order of additions, which the compiler must keep: so it is written with LANES
 * partial sums, which may be done side by side, in an order that depends on the number of
 * iterations alone. Does not unroll and makes no vectors. */
#include <string.h>

#include "target/c/emit.h"

/* A sum of floats that may be long is taken in blocks. Each starts from zero and adds at most CHAIN
 * times to one partial sum, an error of 5e-7 at worst (equal elements) in f32; the blocks add up in
 * f64. What is SHORT goes without, but around other loops blocks cost nothing and begin early. */
enum { LANES = 32, CHAIN = 32, SHORT = 1024, SHORT_AROUND = 64 };

static bool is_simple(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->kind != HOP_L_OP)
			return false;
	return true;
}

/* Iterations, or -1 when that is not known. */
static int64_t known(const hop_stmt *s)
{
	return !s->bound && hop_size_const(s->extent) ? s->extent.k : -1;
}

static const char *extent(hop_cemit *e, const hop_stmt *s)
{
	return s->bound ? hop_c_reg(e, s->bound) : hop_c_fixed(e, s->extent, s->dst, "n");
}

/* ---- accumulators ---- */

static bool is_used(const hop_cemit *e, const hop_acc *c)
{
	return e->uses[c->result] > 0;
}

static bool adds(const hop_acc *c)
{
	return c->op == HOP_RED_add && hop_dtype_real(c->dtype);
}

/* In which the blocks of a long one add up. */
static hop_dtype wide(const hop_acc *c)
{
	return adds(c) ? HOP_f64 : c->dtype;
}

static bool is_long(const hop_cemit *e, const hop_stmt *s, int64_t n)
{
	bool any = false;
	for (int i = 0; i < s->nacc; i++)
		any |= is_used(e, &s->acc[i]) && adds(&s->acc[i]);
	return any && (n < 0 || n > (is_simple(&s->body) ? SHORT : SHORT_AROUND));
}

/* Only floats need them: the compiler reorders integers itself. */
static bool has_lanes(const hop_cemit *e, const hop_stmt *s, int64_t n)
{
	bool real = false;
	for (int i = 0; i < s->nacc; i++)
		real |= is_used(e, &s->acc[i]) && hop_dtype_real(s->acc[i].dtype);
	return real && !s->bind.ordered && is_simple(&s->body) && (n < 0 || n >= LANES);
}

/* For each accumulator that is read, a line from its text; %r is the name of the result. */
#define EACH(e, s, c) \
	for (const hop_acc *c = (s)->acc; c < (s)->acc + (s)->nacc; c++) \
		if (is_used((e), c))

/* The body once, then each value into its place: `at` follows the name of the result. */
static void pass(hop_cemit *e, const hop_stmt *s, const char *at)
{
	hop_c_block(e, &s->body);
	EACH(e, s, c) {
		const char *to = hop_c_text(e, "r%d%s", c->result, at);
		hop_c_line(e, "%s = %s;", to,
		           hop_c_red(e, c->op, c->dtype, hop_c_reg(e, c->value), to));
	}
	hop_c_carries(e, s);
}

/* ---- plain loops ---- */

static void plain_for(hop_cemit *e, const hop_stmt *s, const char *from, const char *to)
{
	bool        strips = hop_c_has_strips(e, s);
	const char *v;

	if (strips) {
		bool whole = !strcmp(from, "0") && known(s) > 0 && known(s) % 32 == 0;
		hop_c_brace(e);
		from = hop_c_strips(e, s, from, to);
		if (whole) {
			hop_c_close(e);
			return;
		}
	}
	v = hop_c_var(e, s->dst);
	if (s->loop == HOP_LOOP_PAR && !s->bind.ordered && is_simple(&s->body))
		hop_c_line(e, "HOP_PARALLEL");
	if (s->reverse)
		hop_c_open(e, "for (int64_t %s = %s - 1; %s >= %s; %s--)", v, to, v, from, v);
	else
		hop_c_open(e, "for (int64_t %s = %s; %s < %s; %s++)", v, from, v, to, v);
	if (s->loop == HOP_LOOP_SEQ)
		hop_c_poll(e);
	pass(e, s, "");
	hop_c_close(e);
	e->nvar--;
	if (strips)
		hop_c_close(e);
}

/* A loop of one trip is no loop. */
static void once(hop_cemit *e, const hop_stmt *s)
{
	hop_c_set(e, s->dst, HOP_i64, "0");
	pass(e, s, "");
}

/* ---- partial sums ---- */

/* Iterations v0 .. of at most LANES, one a lane. */
static void lanes_body(hop_cemit *e, const hop_stmt *s, const char *v, const char *head)
{
	hop_c_open(e, "%s", head);
	hop_c_line(e, "const int64_t %s = %s0 + lane;", v, v);
	pass(e, s, "_[lane]");
	hop_c_close(e);
}

/* from .. to-1 into the arrays r_, whole steps first, then what is left. */
static void lanes_part(hop_cemit *e, const hop_stmt *s, const char *from, const char *to)
{
	const char *v = hop_c_var(e, s->dst);
	hop_loc     loc = e->loc;
	int64_t     n = known(s);

	EACH(e, s, c)
		hop_c_line(e, "%s r%d_[%d];", hop_c_type(c->dtype), c->result, LANES);
	hop_c_open(e, "for (int lane = 0; lane < %d; lane++)", LANES);
	EACH(e, s, c)
		hop_c_line(e, "r%d_[lane] = %s;", c->result, hop_c_red_id(e, c->op, c->dtype));
	hop_c_close(e);
	hop_c_line(e, "int64_t %s0 = %s;", v, from);
	hop_c_open(e, "for (; %s0 + %d <= %s; %s0 += %d)", v, LANES, to, v, LANES);
	hop_c_line(e, "HOP_PARALLEL");
	lanes_body(e, s, v, hop_c_text(e, "for (int lane = 0; lane < %d; lane++)", LANES));
	hop_c_close(e);
	e->loc = loc;
	if (n < 0 || n % LANES)
		lanes_body(e, s, v, hop_c_text(e, "for (int lane = 0; %s0 + lane < %s; lane++)", v, to));
	e->nvar--;
	hop_c_open(e, "for (int half = %d; half; half /= 2)", LANES / 2);
	hop_c_open(e, "for (int lane = 0; lane < half; lane++)");
	EACH(e, s, c) {
		const char *a = hop_c_text(e, "r%d_[lane]", c->result);
		hop_c_line(e, "%s = %s;", a, hop_c_red(e, c->op, c->dtype, a,
		                                       hop_c_text(e, "r%d_[lane + half]", c->result)));
	}
	hop_c_close(e);
	hop_c_close(e);
}

/* ---- reductions ---- */

/* The accumulators start as v says of each, and are variables from here on. */
static void start(hop_cemit *e, const hop_stmt *s, bool fresh)
{
	EACH(e, s, c)
		hop_c_line(e, "%s r%d = %s;", hop_c_type(c->dtype), c->result,
		           fresh ? hop_c_red_id(e, c->op, c->dtype) : hop_c_reg(e, c->init));
}

static void reduce_short(hop_cemit *e, const hop_stmt *s, const char *n, bool lanes)
{
	start(e, s, false);
	if (!lanes) {
		plain_for(e, s, "0", n);
		return;
	}
	hop_c_brace(e);
	lanes_part(e, s, "0", n);
	EACH(e, s, c) {
		const char *r = hop_c_text(e, "r%d", c->result);
		hop_c_line(e, "%s = %s;", r,
		           hop_c_red(e, c->op, c->dtype, r, hop_c_text(e, "%s_[0]", r)));
	}
	hop_c_close(e);
}

/* w: of all blocks so far; r: of this one, then of all. */
static void reduce_long(hop_cemit *e, const hop_stmt *s, const char *n, bool lanes)
{
	int step = CHAIN * (lanes ? LANES : 1), b = s->dst;
	EACH(e, s, c)
		hop_c_line(e, "%s w%d = %s;", hop_c_type(wide(c)), c->result,
		           hop_c_red_id(e, c->op, wide(c)));
	hop_c_open(e, "for (int64_t b%d = 0; b%d < %s; b%d += %d)", b, b, n, b, step);
	hop_c_line(e, "const int64_t e%d = b%d + %d < %s ? b%d + %d : %s;", b, b, step, n, b, step, n);
	if (lanes) {
		lanes_part(e, s, hop_c_text(e, "b%d", b), hop_c_text(e, "e%d", b));
	} else {
		start(e, s, true);
		plain_for(e, s, hop_c_text(e, "b%d", b), hop_c_text(e, "e%d", b));
	}
	EACH(e, s, c) {
		const char *w = hop_c_text(e, "w%d", c->result);
		hop_c_line(e, "%s = %s;", w,
		           hop_c_red(e, c->op, wide(c), w,
		                     hop_c_text(e, lanes ? "r%d_[0]" : "r%d", c->result)));
	}
	hop_c_close(e);
	EACH(e, s, c) {
		const char *w = hop_c_text(e, wide(c) == c->dtype ? "%sw%d" : "(%s)w%d",
		                           wide(c) == c->dtype ? "" : hop_c_type(c->dtype), c->result);
		hop_c_line(e, "const %s r%d = %s;", hop_c_type(c->dtype), c->result,
		           hop_c_red(e, c->op, c->dtype, hop_c_reg(e, c->init), w));
	}
}

static void reduce(hop_cemit *e, const hop_stmt *s)
{
	int64_t     k = known(s);
	const char *n = extent(e, s);
	bool        lanes = has_lanes(e, s, k);

	if (k == 1) {
		start(e, s, false);
		once(e, s);
	} else if (is_long(e, s, k)) {
		reduce_long(e, s, n, lanes);
	} else {
		reduce_short(e, s, n, lanes);
	}
	EACH(e, s, c)
		hop_c_set(e, c->result, c->dtype, hop_c_text(e, "r%d", c->result));
}

/* Threads share it: whole vectors where it is the innermost one, and whole strips: what is behind the
 * last of them adds up in another order, so that it must be the same for any pieces. */
static void share(hop_cemit *e, const hop_stmt *s)
{
	int64_t grain = is_simple(&s->body) ? 4 * LANES : hop_c_has_strips(e, s) ? LANES : 1;
	hop_c_fork(e, s, extent(e, s), s->bind.least, grain, plain_for);
}

/* All steps, for lanes from .. to-1 of the parallel loop in s. */
static void steps(hop_cemit *e, const hop_stmt *s, const char *from, const char *to)
{
	e->part = (struct hop_cpart){ s->body.last, from, to };
	plain_for(e, s, "0", extent(e, s));
	e->part = (struct hop_cpart){ 0 };
}

/* Threads that have seen that the run is canceled have left early. */
static void share_steps(hop_cemit *e, const hop_stmt *s)
{
	const hop_stmt *p = s->body.last;
	int64_t grain = is_simple(&p->body) ? 4 * LANES : hop_c_has_strips(e, p) ? LANES : 1;
	hop_c_fork(e, s, extent(e, p), s->bind.least, grain, steps);
	hop_c_poll(e);
}

void hop_c_loop(hop_cemit *e, const hop_stmt *s)
{
	int nest = s->loop != HOP_LOOP_SEQ && known(s) != 1;

	HOP_ASSERT(e->nvar < HOP_C_MAXVAR);
	bool asks = nest && !e->nest && hop_nest_is_long(s);
	if (s->bind.thread && s->loop == HOP_LOOP_SEQ) {
		share_steps(e, s);
		return;
	}
	e->asks |= asks;
	if (s->bind.thread) {
		share(e, s);
		e->asks &= !asks;
		if (asks && hop_block_steps(&s->body))
			hop_c_poll(e);
		return;
	}
	if (s->bind.slice)                   /* a sum, which is not divided here */
		hop_c_set(e, s->bind.slice, HOP_i64, "0");
	e->nest += nest;
	if (s->loop == HOP_LOOP_RED)
		reduce(e, s);
	else if (s == e->part.s)
		plain_for(e, s, e->part.from, e->part.to);
	else if (known(s) == 1)
		once(e, s);
	else
		plain_for(e, s, "0", extent(e, s));
	e->nest -= nest;
	e->asks &= !asks;
}
