/* schedule.c -- what the loops of a function become on a machine: vectors and how wide, forks,
 * sums in blocks. A rough count of instructions decides. A loop is bound by its text and by
 * the loops around it, nothing else: equal nests stay equal, and no bit of a result depends on
 * threads. Moves no statement.
 *
 * needs: nests in their last form.  fills: bind of loops and tiles */
#include <math.h>

#include "loop/lanes.h"
#include "loop/lower.h"

enum { LARGE = 1 << 18 };        /* trips that a loop of unknown extent may well have */

typedef struct sched {
	hop_env           *e;
	const hop_machine *m;
	hop_lanes          lanes;
	uint8_t           *cls;      /* [nreg+1] all HOP_UNI but in the vector loop we are in */
	int                nest;     /* parallel loops around */
	bool               vector;   /* one of them, or the epilogue around, is vectors */
	bool               forked;   /* one of them may be forked */
} sched;

/* ---- cost, from the inside out ---- */

static double bind_loop(sched *c, hop_stmt *s);

static double bind_block(sched *c, hop_block *b)
{
	double n = 0;
	for (hop_stmt *s = b->first; s; s = s->next) {
		switch (s->kind) {
		case HOP_L_OP:
			n += hop_sop_cost(s->sop, s->dtype);
			break;
		case HOP_L_LOOP:
			n += bind_loop(c, s);
			break;
		case HOP_L_IF:
			n += (bind_block(c, &s->body) + bind_block(c, &s->other)) / 2;
			break;
		case HOP_L_WHILE:
			n += 16 * (bind_block(c, &s->body) + bind_block(c, &s->other));
			break;
		case HOP_L_TILE:
			for (int i = 0; i < s->tile->of->nhole; i++)
				bind_block(c, &s->tile->hole[i].body);
			n += 1000;
			break;
		default:
			n += 20;
		}
	}
	return n;
}

/* Several registers at a time: reductions need them to hide latency, small bodies to pay for
 * the loop. */
static int jam_of(const sched *c, const hop_stmt *s, const hop_lane_cost *k, bool light, int width)
{
	int jam = k->inner_red || (light && s->nacc < 3) ? 4 : 1;
	if (k->turned)
		jam = 1;
	if (c->m->nvreg < 32 && s->nacc + k->inner_red)
		jam = jam > 2 ? 2 : jam;
	while (jam > 1 && width * jam > hop_loop_trips(s))
		jam /= 2;
	return jam;
}

/* Instructions of the loop as vectors, if that is less than plain; else plain. */
static double bind_vector(sched *c, hop_stmt *s, double plain)
{
	double n = hop_loop_trips(s);
	if (s->loop == HOP_LOOP_SEQ || n < 2 || !c->m->vbits)
		return plain;
	hop_lane_cost k = hop_lanes_loop(&c->lanes, s, c->cls);
	hop_lanes_clear(s, c->cls);
	if (!k.ok)
		return plain;
	int bytes = k.bytes < 4 ? 4 : k.bytes;
	for (int i = 0; i < s->nacc; i++) {
		int b = (int)hop_dtype_bytes(s->acc[i].dtype);
		bytes = b > bytes ? b : bytes;
	}
	int width = c->m->vbits / 8 / bytes;
	while (width > 2 && width / 2 >= n)
		width /= 2;
	double vec = ceil(n / width) * (k.cost + 2 + s->nacc) + 3 + 14.0 * s->nacc;
	if (vec >= plain)
		return plain;
	s->bind.light = k.work < 16;
	s->bind.width = (uint8_t)width;
	s->bind.jam = (uint8_t)jam_of(c, s, &k, s->bind.light, width);
	return vec;
}

static hop_stmt *lanes_of(const hop_stmt *s)
{
	return s->body.last;
}

/* Threads share the lanes and go through all steps. */
static void bind_steps(sched *c, hop_stmt *s, double cost)
{
	if (!s->apart || c->m->fork <= 0 || !c->m->threads)
		return;
	double n = hop_loop_trips(lanes_of(s)), each = n > 0 ? cost / n : 1;
	bool known = hop_size_const(s->extent) && hop_size_const(lanes_of(s)->extent);
	if (n < 2 || cost * (known ? 1 : LARGE / HOP_SIZE_USUAL) <= c->m->fork)
		return;
	s->bind.thread = true;
	s->bind.least = (int64_t)(c->m->fork / (each > 0.01 ? each : 0.01)) + 1;
}

/* Binds s as if it stood alone, and gives its cost. Forks where that many instructions are worth
 * it; where the number of iterations is not known it may be large. */
static double bind_loop(sched *c, hop_stmt *s)
{
	double n = hop_loop_trips(s), cost = n * (bind_block(c, &s->body) + 2 + s->nacc) + 3;
	bool known = hop_size_const(s->extent);
	s->bind = (hop_bind){ 0 };
	cost = bind_vector(c, s, cost);
	if (s->loop == HOP_LOOP_SEQ) {
		bind_steps(c, s, cost);
		return cost;
	}
	if (c->m->fork <= 0 || n < 2 || cost * (known ? 1 : LARGE / HOP_SIZE_USUAL) <= c->m->fork)
		return cost;
	s->bind.thread = s->loop == HOP_LOOP_PAR && c->m->threads;
	s->bind.blocks = s->loop == HOP_LOOP_RED && s->nacc;
	s->bind.least = (int64_t)(c->m->fork / (cost / n > 0.01 ? cost / n : 0.01)) + 1;
	return cost;
}

/* ---- what stands, from the outside in ---- */

static void settle_block(sched *c, hop_block *b);

/* Not in a nest, where threads have other work. */
static void settle_forks(const sched *c, hop_stmt *s)
{
	if (s->bind.thread && s->loop == HOP_LOOP_SEQ)
		s->bind.thread = !c->nest && !c->forked;
	else if (s->bind.thread)
		s->bind.thread = !c->vector && !c->forked && hop_block_owns(&s->body, s->dst);
	if (s->bind.blocks)
		s->bind.blocks = !c->vector && c->nest == 1 && hop_block_owns(&s->body, s->dst);
	if (!s->bind.thread && !s->bind.blocks)
		s->bind.least = 0;
}

static void settle_loop(sched *c, hop_stmt *s)
{
	sched was = *c;
	c->nest += s->loop != HOP_LOOP_SEQ && (s->bound || !hop_size_is(s->extent, 1));
	settle_forks(c, s);
	c->forked |= s->bind.thread || s->bind.blocks;
	if (c->vector) {
		s->bind = (hop_bind){ .turned = hop_lanes_turn(&c->lanes, s, c->cls) ||
		                                 hop_lanes_steps(s, c->cls) };
	} else if (s->bind.width) {
		c->vector = true;
		hop_lanes_loop(&c->lanes, s, c->cls);
	}
	settle_block(c, &s->body);
	if (c->vector && !was.vector)
		hop_lanes_clear(s, c->cls);
	*c = was;
}

static void settle_tile(sched *c, hop_stmt *s)
{
	sched was = *c;
	s->bind = (hop_bind){ .thread = c->m->threads && !c->forked };
	c->forked |= s->bind.thread;
	for (int i = 0; i < s->tile->of->nhole; i++) {
		if (!s->tile->hole[i].body.first)
			continue;
		c->vector = hop_lanes_hole(&c->lanes, s->tile, i, c->cls);
		settle_block(c, &s->tile->hole[i].body);
		hop_lanes_clear(s, c->cls);
	}
	*c = was;
}

static void settle_block(sched *c, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		if (s->kind == HOP_L_LOOP) {
			settle_loop(c, s);
		} else if (s->kind == HOP_L_TILE) {
			settle_tile(c, s);
		} else if (s->kind == HOP_L_IF || s->kind == HOP_L_WHILE) {
			settle_block(c, &s->body);
			settle_block(c, &s->other);
		}
	}
}

void hop_loop_schedule_block(hop_env *e, const hop_machine *m, const hop_lfunc *f, hop_block *b,
                             int nest, bool forked)
{
	hop_mark at = hop_mark_at(&e->tmp);
	sched c = { .e = e, .m = m, .lanes = hop_lanes_new(e, f, m->vbits), .nest = nest,
	            .forked = forked, .cls = HOP_NEWN(&e->tmp, uint8_t, f->nreg + 1) };
	bind_block(&c, b);
	settle_block(&c, b);
	hop_rewind(&e->tmp, at);
}

void hop_loop_schedule(hop_env *e, const hop_machine *m, hop_lfunc *f)
{
	hop_loop_schedule_block(e, m, f, &f->body, 0, false);
}
