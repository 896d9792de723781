/* emit_red.c -- reductions: by one thread in order, by the lanes of a warp, by the threads of a
 * block. Each sharer takes its iterations in order; then lanes exchange what they have, and warps
 * leave a word each, which every thread adds up in the same order. The order depends on numbers of
 * threads and iterations alone. Long sums of floats are taken in chunks, which add up in f64, so that
 * errors do not grow. */
#include "target/cuda/emit.h"

/* Additions to one sum before f64 takes over; as many as that are short. See target/c/emit_loop.c. */
enum { CHAIN = 32, SHORT = 32, ROW = 8 * HOP_CUDA_WARP };

#define EACH(e, s, c) \
	for (const hop_acc *c = (s)->acc; c < (s)->acc + (s)->nacc; c++) \
		if ((e)->uses[c->result])

static bool adds(const hop_acc *c)
{
	return c->op == HOP_RED_add && hop_dtype_real(c->dtype);
}

static hop_dtype wide(const hop_acc *c)
{
	return adds(c) ? HOP_f64 : c->dtype;
}

static const char *op_name(enum hop_red op)
{
	static const char *const name[] = { "add", "max", "min", "mul", "or", "and" };
	return name[op];
}

/* Who shares it: from, step, how many; from "0" and step "1": nobody. */
typedef struct part {
	const char *from, *step;
	int64_t     count;                     /* of sharers; 0 = not known */
} part;

static part part_of(hop_cuemit *e, const hop_stmt *s)
{
	int t = e->cu->func[e->index].threads;
	switch ((enum hop_place)s->bind.place) {
	case HOP_PLACE_THREAD: return (part){ "hop_thread()", hop_cuda_threads(e), t };
	case HOP_PLACE_LANE:   return (part){ "hop_lane()", "32", HOP_CUDA_WARP };
	case HOP_PLACE_NONE:   return (part){ "0", "1", 1 };
	default:
		hop_cuda_refuse(e, s, "a reduction that blocks share");
		return (part){ "0", "1", 1 };
	}
}

static bool is_long(const hop_cuemit *e, const hop_stmt *s, const part *p)
{
	int64_t n = hop_cuda_known(s);
	bool    any = false;
	EACH(e, s, c)
		any |= adds(c);
	return any && (n < 0 || !p->count || n > SHORT * p->count) && !hop_cuda_owns(e, s);
}

/* ---- the iterations of a sharer, into variables of this name ---- */

/* A sum that a thread has for itself: where threads are so many that each should be small, it has some
 * loads in flight and not all of them, which a compiler would take if it knew how many there are. 0: it
 * may. */
static int unroll_of(const hop_cuemit *e, const hop_stmt *s, const part *p)
{
	enum { MANY = 1 << 17 };
	const hop_team *t = &e->f->team;
	double          n = t->threads;
	int64_t         known = hop_cuda_known(s);

	for (int i = 0; i < 3; i++)
		n *= hop_size_const(t->blocks[i]) ? (double)(t->blocks[i].k ? t->blocks[i].k : 1) : 2 * MANY;
	if (s->bind.place || e->f->level != HOP_LEVEL_KERNEL || t->resident || n < MANY ||
	    !hop_cuda_is_simple(&s->body) || (known < 0 ? !is_long(e, s, p) : known <= 16))
		return 0;
	return n < 2 * MANY ? 32 : is_long(e, s, p) ? 8 : 16;
}

static void walk(hop_cuemit *e, const hop_stmt *s, const part *p, const char *from, const char *test,
                 const char *name)
{
	enum hop_who who = e->cu->who;
	const char  *v = hop_cuda_var(e, s);
	bool         owns = hop_cuda_owns(e, s);
	int          each = owns || !s->bind.place ? 0 : hop_cuda_each(e, s);
	int64_t      n = hop_cuda_known(s);
	bool         full = each && p->count && n >= 0 && n % (each * p->count) == 0;
	e->cu->who = s->bind.place ? HOP_WHO_ONE : who;
	if (owns && hop_cuda_lot(e, s, v, name)) {
		e->cu->who = who;
		e->nvar--;
		return;
	}
	if (unroll_of(e, s, p))
		hop_c_line(e, "HOP_UNROLL_BY(%d)", unroll_of(e, s, p));
	if (owns)
		hop_cuda_open_rounds(e, s, v);
	else if (each)
		hop_c_open(e, "for (%s %s = %s; %s < %s; %s += %d * %s)", hop_cuda_int(s), v, from, v, test, v,
		           each, p->step);
	else
		hop_c_open(e, "for (%s %s = %s; %s < %s; %s += %s)", hop_cuda_int(s), v, from, v, test, v,
		           p->step);
	if (each)
		hop_cuda_several(e, s, each, p->step, v, full ? NULL : test, name);
	else
		hop_cuda_pass(e, s, name);
	e->cu->who = who;
	hop_c_close(e);
	if (owns)
		hop_c_close(e);
	e->nvar--;
}

static void declare(hop_cuemit *e, const hop_stmt *s, const char *name, bool init)
{
	EACH(e, s, c)
		hop_c_line(e, "%s %s%d = %s;", hop_c_type(c->dtype), name, c->result,
		           init ? hop_c_reg(e, c->init) : hop_c_red_id(e, c->op, c->dtype));
}

/* w: of all chunks so far; then m is that. */
static void in_chunks(hop_cuemit *e, const hop_stmt *s, const part *p, const char *n)
{
	const char *t = hop_cuda_int(s), *step = hop_c_text(e, "%s * %d", p->step, CHAIN);
	int         b = s->dst;

	EACH(e, s, c)
		hop_c_line(e, "%s w%d = %s;", hop_c_type(wide(c)), c->result, hop_c_red_id(e, c->op, wide(c)));
	hop_c_open(e, "for (%s b%d = %s; b%d < %s; b%d += %s)", t, b, p->from, b, n, b, step);
	if (p->count && hop_cuda_known(s) >= 0 && hop_cuda_known(s) % (p->count * CHAIN) == 0)
		hop_c_line(e, "const %s e%d = b%d + %s;", t, b, b, step);
	else
		hop_c_line(e, "const %s e%d = b%d + %s < %s ? b%d + %s : (%s)%s;", t, b, b, step, n, b, step, t,
		           n);
	declare(e, s, "m", false);
	walk(e, s, p, hop_c_text(e, "b%d", b), hop_c_text(e, "e%d", b), "m");
	EACH(e, s, c) {
		const char *w = hop_c_text(e, "w%d", c->result);
		hop_c_line(e, "%s = %s;", w, hop_c_red(e, c->op, wide(c), w, hop_c_text(e, "m%d", c->result)));
	}
	hop_c_close(e);
	EACH(e, s, c)
		hop_c_line(e, "%s m%d = (%s)w%d;", hop_c_type(c->dtype), c->result, hop_c_type(c->dtype),
		           c->result);
}

/* ---- together ---- */

/* One barrier is enough: whoever is here again writes to the other row, and cannot come a third time
 * before all have left the first. */
static void of_block(hop_cuemit *e, const hop_stmt *s)
{
	int         i = 0, t = e->cu->func[e->index].threads;
	const char *warps = t ? hop_c_text(e, "%d", t / HOP_CUDA_WARP) : "hop_threads() / 32";

	hop_c_line(e, "row ^= 1;");
	hop_c_line(e, "unsigned char *const q = %s;", hop_cuda_row(e));
	EACH(e, s, c)
		hop_c_line(e, "hop_give_%s_%s(m%d, q + %d);", op_name(c->op), hop_dtype_name(c->dtype),
		           c->result, ROW * i++);
	hop_c_line(e, "hop_barrier_block();");
	i = 0;
	EACH(e, s, c)
		hop_c_line(e, "m%d = hop_take_%s_%s(q + %d, %s);", c->result, op_name(c->op),
		           hop_dtype_name(c->dtype), ROW * i++, warps);
}

static void of_warp(hop_cuemit *e, const hop_stmt *s)
{
	EACH(e, s, c)
		hop_c_line(e, "m%d = hop_warp_%s_%s(m%d);", c->result, op_name(c->op), hop_dtype_name(c->dtype),
		           c->result);
}

/* ---- one reduction ---- */

/* It asks the host while it runs, so all of it is in registers that are saved. */
static void high(hop_cuemit *e, const hop_stmt *s)
{
	int         outer = e->cu->outer;
	const char *n = hop_cuda_extent(e, s);

	if (s->bind.place)
		hop_cuda_refuse(e, s, "a reduction that threads share asks the host");
	EACH(e, s, c) {
		hop_c_line(e, "r%d = %s;", c->result, hop_c_reg(e, c->init));
		hop_cuda_keep(e, c->result, c->dtype);
	}
	int kept = e->cu->nscope;
	hop_cuda_keep(e, s->dst, HOP_i64);
	e->cu->outer = e->cu->nscope;
	hop_c_line(e, "r%d = 0;", s->dst);
	hop_c_open(e, "for (; r%d < %s; r%d++)", s->dst, n, s->dst);
	hop_cuda_pass(e, s, "r");
	hop_c_close(e);
	e->cu->nscope = kept;
	e->cu->outer = outer;
}

/* m: what this thread has. Its result is a variable of the block around. */
static void low(hop_cuemit *e, const hop_stmt *s, bool top)
{
	part        p = part_of(e, s);
	const char *n;

	for (const hop_acc *c = s->acc; !top && c < s->acc + s->nacc; c++)
		if (e->uses[c->result])
			hop_c_line(e, "%s r%d;", hop_c_type(c->dtype), c->result);
	hop_c_brace(e);
	n = hop_cuda_extent(e, s);
	if (is_long(e, s, &p)) {
		in_chunks(e, s, &p, n);
	} else {
		declare(e, s, "m", false);
		walk(e, s, &p, p.from, n, "m");
	}
	hop_cuda_again(e);
	if (s->bind.place == HOP_PLACE_LANE || (s->bind.place && p.count == HOP_CUDA_WARP))
		of_warp(e, s);
	else if (s->bind.place)
		of_block(e, s);
	EACH(e, s, c)
		hop_c_line(e, "r%d = %s;", c->result,
		           hop_c_red(e, c->op, c->dtype, hop_c_reg(e, c->init),
		                     hop_c_text(e, "m%d", c->result)));
	hop_c_close(e);
}

/* A few iterations of one thread: from the start on. */
static void small(hop_cuemit *e, const hop_stmt *s)
{
	part        p = { "0", "1", 1 };
	const char *n = hop_cuda_extent(e, s);

	declare(e, s, "r", true);
	if (hop_cuda_known(s) == 1) {
		hop_c_set(e, s->dst, HOP_i64, "0");
		hop_cuda_pass(e, s, "r");
	} else {
		walk(e, s, &p, "0", n, "r");
	}
}

void hop_cuda_red(hop_cuemit *e, const hop_stmt *s)
{
	bool top = e->cu->result;
	part p = { "0", "1", 1 };

	e->cu->result = false;
	if (e->cu->high)
		high(e, s);
	else if (top || s->bind.place || is_long(e, s, &p))
		low(e, s, top);
	else
		small(e, s);
	EACH(e, s, c) {
		hop_c_set(e, c->result, c->dtype, hop_c_text(e, "r%d", c->result));
		if (top)
			hop_cuda_keep(e, c->result, c->dtype);
	}
	e->cu->result = top;
}
