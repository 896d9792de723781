/* team_run.c -- kernels of loop programs by threads that are coroutines: each runs until it waits,
 * then another is drawn. Follows hop_level and hop_place in loop.h to the letter. Knows nothing of
 * how a device does any of it, and has no memory model but barriers. */
#include "support/team_run.h"

#include "loop/gemm.h"
#include "support/coro.h"
#include "support/loop_step.h"
#include "support/team_race.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { WARP = 32, MAXWARPS = 32, SCRATCH = 1 << 28 };

/* Threads that are together: they run the same statements with the same registers. */
enum who { ALL, BLOCK, LANES, ALONE };

/* Where threads wait for each other, all at the same statement. */
typedef struct meeting {
	const hop_stmt *at;
	int             here, want;
	uint64_t        time;        /* of the last one that orders what was before it */
	scalar         *sum;         /* [nsum] what they have together, until all meet again */
	int             nsum;
} meeting;

typedef struct block {
	int     number, at[3];
	int     live;                /* threads */
	bool    last;                /* the others are done, and in order before us */
	bool    last_y;              /* those with our place along x are */
	char   *shared;
	meeting all, warp[MAXWARPS];
} block;

typedef struct team_thread {
	hop_coro     *coro;
	struct team  *of;
	block        *b;
	int           lane;          /* of the block */
	enum who      who;
	meeting      *waits;
	bool          gone;
	scalar       *acc;           /* of a loop that is done together */
	bool          has;
} team_thread;

/* A kernel that is being run. */
typedef struct team {
	struct device    *d;
	const hop_lfunc  *f;
	const run_frame  *host;
	int               fn, threads, grid[3], nblock, slots;
	bool              resident;
	block            *b;         /* [slots] */
	team_thread      *x;         /* [slots * threads] */
	team_thread     **ready;
	int               nready, live, next, arrived, arrived_y[HOP_GROUPS];
	int              *order;     /* [nblock] */
	meeting           all;
} team;

typedef struct device {
	run_machine   m;
	hop_team_opts o;
	uint64_t      rng, clock;
	char         *scratch;
	int64_t       nscratch;      /* filled */
	int64_t       shared;        /* bytes that any function wants */
	team_shadow  *seen;
} device;

static device *device_of(run_frame *t)
{
	return (device *)t->m;
}

static int draw(device *d, int n)
{
	d->rng = d->rng * 6364136223846793005u + 1442695040888963407u;
	return (int)((d->rng >> 33) % (unsigned)n);
}

/* ---- waiting ---- */

static void wake(team_thread *x)
{
	x->waits = NULL;
	x->of->ready[x->of->nready++] = x;
}

/* Everybody of the meeting comes here before anybody goes on. */
static void meet(run_frame *t, meeting *g)
{
	team_thread *x = t->by;
	team        *k = x->of;

	if (run_over(t))
		return;
	if (g->here && g->at != t->now) {
		run_fail(t, "threads wait at different statements");
		return;
	}
	g->at = t->now;
	x->waits = g;
	if (++g->here == g->want) {
		team_thread *first = g == &k->all ? k->x : x - x->lane;
		int          n = g == &k->all ? k->slots * k->threads : k->threads;

		g->here = 0;
		for (int i = 0; i < n; i++)
			if (first[i].waits == g)
				wake(&first[i]);
	}
	hop_coro_stop(x->coro);
}

/* The same, and what was before is before what follows. */
static void barrier(run_frame *t, meeting *g)
{
	if (g->here + 1 == g->want)
		g->time = ++t->by->of->d->clock;
	meet(t, g);
}

static bool is_one(const team *k, const block *b)
{
	return k->nblock == 1 || k->resident || b->last;
}

/* All who are in the kernel; NULL when they are not there at once. */
static meeting *everybody(run_frame *t)
{
	team_thread *x = t->by;

	if (x->who != ALL || !is_one(x->of, x->b)) {
		run_fail(t, "blocks that come and go do something together");
		return NULL;
	}
	return x->of->nblock == 1 || x->b->last ? &x->b->all : &x->of->all;
}

/* ---- memory ---- */

static bool is_first(const team_thread *x, const hop_lbuf *b)
{
	bool shared = b && b->kind == HOP_BUF_TEMP && b->space == HOP_SPACE_SHARED;

	switch (x->who) {
	case ALL: return x->lane == 0 && (shared || x->b->number == 0 || x->b->last);
	case BLOCK: return x->lane == 0;
	case LANES: return x->lane % WARP == 0;
	default: return true;
	}
}

static void say(char *out, size_t n, const hop_lfunc *f, const hop_stmt *s)
{
	static const char *const kind[] = { "", "loop", "if", "while", "tile", "call", "grow", "effect",
	                                    "check", "barrier" };
	if (s->kind != HOP_L_OP)
		snprintf(out, n, "%s in @%s", kind[s->kind], f->name ? f->name : "");
	else if (s->sop == HOP_SOP_store)
		snprintf(out, n, "store r%d to b%d in @%s", s->a[0], s->u.addr.buf, f->name ? f->name : "");
	else
		snprintf(out, n, "r%d = %s in @%s", s->dst, hop_soptab[s->sop].name, f->name ? f->name : "");
}

static void raced(run_frame *t, const hop_lbuf *b, const team_touch *me, const team_touch *it,
                  bool write)
{
	char was[48], is[48], why[200];
	int  n = t->by->of->threads;

	say(was, sizeof was, it->f, it->s);
	say(is, sizeof is, t->f, t->now);
	snprintf(why, sizeof why,
	         "race on b%d: thread %d of block %d, %s; then thread %d of block %d %s it: %s",
	         (int)(b - t->f->buf), (it->thread - 1) % n, (it->thread - 1) / n, was, (me->thread - 1) % n,
	         (me->thread - 1) / n, write ? "writes" : "reads", is);
	run_fail(t, why);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Each thread has one; of an element that is another's it finds NaN. */
static bool is_own(const hop_lbuf *b)
{
	return b->space == HOP_SPACE_LOCAL || b->space == HOP_SPACE_OWN;
}

static bool touch(run_frame *t, const hop_lbuf *b, const void *p, bool write)
{
	team_thread *x = t->by;
	bool         temp = b->kind == HOP_BUF_TEMP;

	if (!x || b->kind == HOP_BUF_CONST || (temp && is_own(b)))
		return true;
	if (write && x->who == ALL && !is_one(x->of, x->b) && !(temp && b->space == HOP_SPACE_SHARED)) {
		run_fail(t, "blocks that come and go store together");
		return false;
	}
	if (write && !is_first(x, b))
		return false;

	team      *k = x->of;
	team_seen  seen = { .threads = k->threads, .all = k->all.time };
	team_touch me = { 1 + x->b->number * k->threads + x->lane, ++k->d->clock,
	                  t->now->sop == HOP_SOP_count, t->f, t->now };
	uint64_t   key = (uint64_t)(uintptr_t)p;
	seen.across = x->b->last_y ? k->grid[0] : 0;
	seen.column = x->b->all.time;
	if (x->b->last)
		seen.all = later(seen.all, x->b->all.time);
	seen.block = later(x->b->all.time, seen.all);
	seen.warp = later(x->b->warp[x->lane / WARP].time, seen.block);
	if (temp && b->space == HOP_SPACE_SHARED)
		key ^= (uint64_t)(x->b->number + 1) << 48;
	for (size_t i = 0; i < hop_dtype_bytes(b->dtype); i += 4) {
		const team_touch *bad = team_shadow_touch(k->d->seen, key + i, &me, &seen, write);
		if (bad) {
			raced(t, b, &me, bad, write);
			return false;
		}
	}
	return true;
}

static void *own_space(run_frame *t, const hop_lbuf *b, int64_t bytes)
{
	int i = (int)(b - t->f->buf);

	if (!t->own)
		t->own = calloc((size_t)t->f->nbuf + 1, sizeof *t->own);
	if (!t->own[i]) {
		t->own[i] = malloc((size_t)bytes + 8);
		memset(t->own[i], 0xff, (size_t)bytes + 8);
	}
	return t->own[i];
}

static void *space(run_frame *t, const hop_lbuf *b, int64_t at, int64_t bytes)
{
	device *d = device_of(t);
	int64_t room;

	if (is_own(b))
		return own_space(t, b, bytes);
	if (b->space == HOP_SPACE_SHARED)
		return t->by && at >= 0 && at + bytes <= t->f->shared ? t->by->b->shared + at : NULL;
	room = run_size(t, t->f->scratch);
	if (at < 0 || at + bytes > room || room > SCRATCH)
		return NULL;
	if (room > d->nscratch) {
		memset(d->scratch + d->nscratch, 0xff, (size_t)(room - d->nscratch));
		d->nscratch = room;
	}
	return d->scratch + at;
}

/* ---- loops that are shared ---- */

/* Iterations of a sharer: from, from + step .., `each` of them at distance `near` each time. */
typedef struct part { int64_t from, step, near; int each; } part;

/* Warps that share a loop are those of one block. */
static bool is_by_block(const team_thread *x)
{
	return x->who == BLOCK || x->b->last;
}

static part part_of(const team_thread *x, const hop_bind *b)
{
	const team *k = x->of;
	int64_t     T = k->threads, each = b->each ? b->each : 1, bx = x->b->at[0], gx = k->grid[0];
	int         axis = b->place - HOP_PLACE_BLOCK_X;

	switch (b->place) {
	case HOP_PLACE_GRID: return (part){ bx * T * each + x->lane, gx * T * each, T, (int)each };
	case HOP_PLACE_THREAD:
		if (b->width > 1)
			return (part){ (int64_t)x->lane * b->width, T * b->width, 1, b->width };
		return (part){ x->lane, T * each, T, (int)each };
	case HOP_PLACE_WARP:
		if (is_by_block(x))
			return (part){ x->lane / WARP, T / WARP, 0, 1 };
		return (part){ bx * (T / WARP) + x->lane / WARP, gx * (T / WARP), 0, 1 };
	case HOP_PLACE_LANE: return (part){ x->lane % WARP, WARP, 0, 1 };
	default: return (part){ x->b->at[axis], k->grid[axis], 0, 1 };
	}
}

/* Who is together in the body, or -1: those who come to the loop cannot share it. */
static int inside(const team_thread *x, enum hop_place p)
{
	bool block = p >= HOP_PLACE_BLOCK_X && p <= HOP_PLACE_BLOCK_Z;
	bool blocks = block || p == HOP_PLACE_GRID || (p == HOP_PLACE_WARP && !is_by_block(x));

	if (x->who == ALONE || (x->who == LANES && p != HOP_PLACE_LANE))
		return -1;
	if (blocks && x->b->last && x->of->nblock > 1)
		return -1;
	if (x->b->last_y && p != HOP_PLACE_GRID)
		return -1;
	return p == HOP_PLACE_WARP ? LANES : block ? BLOCK : ALONE;
}

/* Who makes one result of what they have. */
static meeting *reducers(run_frame *t, enum hop_place p)
{
	team_thread *x = t->by;
	const int   *g = x->of->grid;
	meeting     *m;

	if (p == HOP_PLACE_LANE)
		return &x->b->warp[x->lane / WARP];
	if (p == HOP_PLACE_THREAD || x->of->nblock == 1)
		return &x->b->all;
	m = everybody(t);
	if (m && g[0] != x->of->nblock)
		run_fail(t, "a sum by blocks along one of several axes");
	return m;
}

/* Partial results of those who wait at g, and of who came last, by the order of threads. */
static void total(run_frame *t, const hop_stmt *s, meeting *g)
{
	team        *k = t->by->of;
	team_thread *x = t->by - t->by->lane;
	int          n = k->threads, every = 1;

	if (g == &k->all) {
		x = k->x;
		n *= k->slots;
	} else if (g != &t->by->b->all) {
		x = t->by - t->by->lane % WARP;
		n = WARP;
	}
	if (s->bind.place == HOP_PLACE_WARP)
		every = WARP;
	else if (s->bind.place >= HOP_PLACE_BLOCK_X && s->bind.place <= HOP_PLACE_BLOCK_Z)
		every = k->threads;
	if (g->nsum < s->nacc)
		g->sum = realloc(g->sum, sizeof *g->sum * (size_t)s->nacc);
	g->nsum = g->nsum < s->nacc ? s->nacc : g->nsum;
	for (int j = 0; j < s->nacc; j++) {
		g->sum[j] = t->reg[s->acc[j].init];
		for (int i = 0; i < n; i += every)
			if (x[i].has)
				g->sum[j] = run_combine(&s->acc[j], g->sum[j], x[i].acc[j]);
	}
}

/* All have theirs, all get the same. No barrier: what they wrote to memory is no more in order than
 * before. */
static void reduce(run_frame *t, const hop_stmt *s)
{
	meeting *g = reducers(t, s->bind.place);

	t->now = s;
	if (g && g->here + 1 == g->want)
		total(t, s, g);
	if (g)
		meet(t, g);
	for (int j = 0; j < s->nacc && !run_over(t); j++)
		t->reg[s->acc[j].result] = run_trim(s->acc[j].dtype, g->sum[j]);
}

static void loop(run_frame *t, const hop_stmt *s)
{
	team_thread *x = t->by;
	int64_t      n = s->bound ? t->reg[s->bound].i : run_size(t, s->extent);
	int          in = x ? inside(x, s->bind.place) : -1;
	enum who     was = x ? x->who : ALONE;
	scalar      *acc = calloc((size_t)s->nacc + 1, sizeof *acc);
	bool         has = false;
	part         p;

	if (in < 0) {
		run_fail(t, "a loop is shared by threads that are not together");
		free(acc);
		return;
	}
	p = part_of(x, &s->bind);
	x->who = (enum who)in;
	for (int64_t i = p.from; i < n && !run_over(t); i += p.step)
		for (int j = 0; j < p.each && i + j * p.near < n && !run_over(t); j++) {
			run_iteration(t, s, i + j * p.near, acc, !has);
			has = true;
		}
	x->who = was;
	x->acc = acc;
	x->has = has;
	if (s->nacc && !run_over(t))
		reduce(t, s);
	free(acc);
}

/* Elements of a product that is shared are dealt out in turns, from the last thread on: so that the
 * first has not what a loop would give it. In which order, and by whom each is computed, is open. */
static void deal(run_frame *t, enum hop_place p)
{
	team_thread *x = t->by;
	int64_t      T = x->of->threads, lane = p == HOP_PLACE_LANE ? x->lane % WARP : x->lane;

	t->share = p == HOP_PLACE_LANE ? WARP : p == HOP_PLACE_THREAD ? T : T * x->of->grid[0];
	t->mine = t->share - 1 - (p == HOP_PLACE_GRID ? x->b->at[0] * T + lane : lane);
}

/* Of those that have no place all run the loops that they are, and one stores. */
static void tile(run_frame *t, const hop_stmt *s)
{
	team_thread *x = t->by;
	enum who     was = x ? x->who : ALONE;
	int          in = s->bind.place && x ? inside(x, s->bind.place) : (int)was;

	if (in < 0) {
		run_fail(t, "a template is shared by threads that are not together");
		return;
	}
	if (x)
		x->who = (enum who)in;
	if (s->bind.place && x)
		deal(t, s->bind.place);
	run_tile(t, s->tile);
	if (x)
		x->who = was;
	t->share = 0;
}

static void carry(run_frame *t, const hop_stmt *s)
{
	if (t->by && t->by->who != ALONE)
		run_fail(t, "a carry that many threads have, and nobody copies");
	else
		run_carries(t, s);
}

/* ---- barriers, calls, and what the run time is asked ---- */

static void last(run_frame *t)
{
	team_thread *x = t->by;
	team        *k = x->of;

	barrier(t, &x->b->all);
	if (run_over(t))
		return;
	if (x->lane == 0 && ++k->arrived == k->nblock)
		x->b->last = true;
	barrier(t, &x->b->all);                /* thread 0 has counted, perhaps late */
	x->gone = !x->b->last;
}

/* Those at other places along x are not waited for. */
static void last_y(run_frame *t)
{
	team_thread *x = t->by;
	team        *k = x->of;

	barrier(t, &x->b->all);
	if (run_over(t))
		return;
	if (k->grid[0] > HOP_GROUPS || k->grid[2] != 1) {
		run_fail(t, "the last along y of too many blocks");
		return;
	}
	if (x->lane == 0 && ++k->arrived_y[x->b->at[0]] == k->grid[1])
		x->b->last_y = true;
	barrier(t, &x->b->all);
	x->gone = !x->b->last_y;
}

static void wait(run_frame *t, const hop_stmt *s)
{
	static const char *const wrong = "threads that are not together are at a barrier";
	team_thread *x = t->by;
	enum who     who = x->who;
	meeting     *g;

	switch ((enum hop_barrier)s->callee) {
	case HOP_BARRIER_WARP:
		if (who == ALONE)
			run_fail(t, wrong);
		else
			barrier(t, &x->b->warp[x->lane / WARP]);
		break;
	case HOP_BARRIER_BLOCK:
		if (who > BLOCK)
			run_fail(t, wrong);
		else
			barrier(t, &x->b->all);
		break;
	case HOP_BARRIER_TEAM:
		if ((g = everybody(t)))
			barrier(t, g);
		break;
	case HOP_BARRIER_LAST:
		if (who != ALL || x->b->last)
			run_fail(t, wrong);
		else
			last(t);
		break;
	case HOP_BARRIER_LAST_Y:
		if (who != ALL || x->b->last || x->b->last_y)
			run_fail(t, wrong);
		else
			last_y(t);
	}
}

static void reads_operands(run_frame *t, const hop_stmt *s)
{
	const hop_leffect *f = &t->m->prog->effect[s->callee];
	void             **p = run_pointers(t, s);

	for (int i = 0; i < s->nacc; i++) {
		const hop_type *ty = f->type[i];
		const hop_lbuf *b = &t->f->buf[s->args[i].buf];
		int64_t         n = 1;
		for (int d = 0; d < ty->rank; d++)
			n *= run_size(t, ty->dim[d]);
		for (int64_t k = 0; k < n && !run_over(t); k++)
			touch(t, b, (char *)p[i] + k * (int64_t)hop_dtype_bytes(b->dtype), false);
	}
	free(p);
}

/* Once, while all wait. Whoever gets results has left and come back, which is a barrier. */
static void ask(run_frame *t, const hop_stmt *s)
{
	team_thread *x = t->by;
	meeting     *g = everybody(t);
	bool         order = s->kind == HOP_L_EFFECT && s->nacc < s->narg;

	if (!g)
		return;
	(order ? barrier : meet)(t, g);
	if (is_first(x, NULL) && !run_over(t)) {
		if (s->kind == HOP_L_GROW)
			order = run_grow(t, s);
		else
			reads_operands(t, s);
		if (s->kind == HOP_L_EFFECT && !run_over(t))
			run_effect(t, s);
		if (order)
			g->time = ++x->of->d->clock;
	}
	meet(t, g);
}

/* A function of the device: its frame is in ours. */
static void call(run_frame *t, const hop_stmt *s)
{
	void   **p = run_pointers(t, s);
	int64_t *syms = run_sizes(t, s), at = run_size(t, s->frame), bytes = 0;
	run_frame own;

	run_begin(&own, t->m, s->callee, p, syms);
	own.by = t->by;
	own.gone = t->gone;
	own.space = t->space + at;
	own.nspace = bytes = run_size(&own, own.f->frame);
	if (at < 0 || bytes < 0 || at + bytes > t->nspace)
		run_fail(t, "the frame of a callee leaves ours");
	if (!run_over(t))
		run_block(&own, &own.f->body);
	run_end(&own);
	free(syms);
	free(p);
}

static void launch(run_frame *t, int fn);

static void other(run_frame *t, const hop_stmt *s)
{
	switch (s->kind) {
	case HOP_L_CALL:
		if (!t->by && t->m->prog->func[s->callee].level == HOP_LEVEL_KERNEL)
			launch(t, s->callee);
		else if (!t->by)
			run_calls(t, s);
		else if (s->is_part)
			run_part(t, s->callee);
		else
			call(t, s);
		break;
	case HOP_L_EFFECT:
	case HOP_L_GROW:
		if (t->by)
			ask(t, s);
		else if (s->kind == HOP_L_GROW)
			run_grow(t, s);
		else
			run_effect(t, s);
		break;
	case HOP_L_CHECK: run_check(t, s); break;
	case HOP_L_BARRIER:
		if (t->by)
			wait(t, s);
		break;
	default: break;
	}
}

/* ---- kernels ---- */

static void thread_main(void *user)
{
	team_thread *x = user;
	team        *k = x->of;
	run_frame    t;

	run_begin(&t, &k->d->m, k->fn, k->host->params, k->host->syms);
	t.space = k->host->space;
	t.nspace = k->host->nspace;
	t.by = x;
	t.gone = &x->gone;
	run_block(&t, &t.f->body);
	run_end(&t);
	x->b->live--;
	k->live--;
}

static void start_thread(team *k, team_thread *x, block *b, int lane)
{
	hop_coro *c = x->coro ? x->coro : hop_coro_new(thread_main, x);

	*x = (team_thread){ .coro = c, .of = k, .b = b, .lane = lane, .who = ALL };
	wake(x);
	k->live++;
}

static void forget(block *b)
{
	free(b->all.sum);
	for (int i = 0; i < MAXWARPS; i++)
		free(b->warp[i].sum);
}

static void start_block(team *k, int slot)
{
	block *b = &k->b[slot];
	int    n = k->order[k->next++];
	char  *shared = b->shared ? b->shared : malloc((size_t)k->d->shared + 8);

	forget(b);
	*b = (block){ .number = n, .live = k->threads, .shared = shared };
	memset(shared, 0xff, (size_t)k->d->shared + 8);
	b->at[0] = n % k->grid[0];
	b->at[1] = n / k->grid[0] % k->grid[1];
	b->at[2] = n / k->grid[0] / k->grid[1];
	b->all.want = k->threads;
	for (int i = 0; i < k->threads / WARP; i++)
		b->warp[i].want = WARP;
	for (int i = 0; i < k->threads; i++)
		start_thread(k, &k->x[slot * k->threads + i], b, i);
}

/* One that is ready, until it waits or is done. */
static void turn(team *k)
{
	int          i = draw(k->d, k->nready);
	team_thread *x = k->ready[i];

	k->ready[i] = k->ready[--k->nready];
	hop_coro_go(x->coro);
}

static void stuck(team *k)
{
	run_frame t = { .m = &k->d->m, .f = k->f };

	run_fail(&t, "a barrier that not all threads reach");
	for (int i = 0; i < k->slots * k->threads; i++)
		if (k->x[i].waits)
			wake(&k->x[i]);
}

static void run_team(team *k)
{
	for (int i = 0; i < k->slots; i++)
		start_block(k, i);
	while (k->live) {
		if (!k->nready)
			stuck(k);
		turn(k);
		for (int i = 0; i < k->slots; i++)
			if (!k->b[i].live && k->next < k->nblock && !k->d->m.stop)
				start_block(k, i);
	}
}

/* Blocks along an axis; none is one. */
static int along(run_frame *t, const hop_lfunc *f, const device *d, int axis)
{
	int64_t n = run_size(t, f->team.blocks[axis]), most = d->o.blocks ? d->o.blocks : 3;

	n = n < 1 ? 1 : n;
	return (int)(f->team.exact || n < most ? n : most);
}

/* Resident ones are all there at once: sums go by their numbers. */
static void shuffle(team *k)
{
	for (int i = 0; i < k->nblock; i++) {
		int j = k->resident ? i : draw(k->d, i + 1);

		k->order[i] = k->order[j];
		k->order[j] = i;
	}
}

/* A kernel of a trip that there is not leaves; what it would have decided is that nothing goes on. */
static bool leaves(device *d, const hop_lfunc *f)
{
	int64_t at = f->when ? f->buf[f->when - 1].offset.k : -1;
	if (at < 0 || (at < d->nscratch && d->scratch[at]))
		return false;
	for (int i = 0; i < f->nbuf; i++)
		if (f->buf[i].decides && f->buf[i].offset.k < d->nscratch)
			d->scratch[f->buf[i].offset.k] = 0;
	return true;
}

static void launch(run_frame *t, int fn)
{
	device          *d = device_of(t);
	const hop_lfunc *f = &t->m->prog->func[fn];
	team             k = { .d = d, .f = f, .host = t, .fn = fn, .threads = f->team.threads,
	                       .resident = f->team.resident };
	int              at_once = d->o.at_once ? d->o.at_once : 3;

	if (leaves(d, f))
		return;
	for (int i = 0; i < 3; i++)
		k.grid[i] = along(t, f, d, i);
	k.nblock = k.grid[0] * k.grid[1] * k.grid[2];
	k.slots = k.resident || k.nblock < at_once ? k.nblock : at_once;
	k.all.want = k.nblock * k.threads;
	if (k.threads < WARP || k.threads % WARP || k.threads > WARP * MAXWARPS) {
		run_fail(t, "a block of no whole number of warps");
		return;
	}
	k.b = calloc((size_t)k.slots, sizeof *k.b);
	k.x = calloc((size_t)(k.slots * k.threads), sizeof *k.x);
	k.ready = calloc((size_t)(k.slots * k.threads), sizeof(team_thread *));
	k.order = calloc((size_t)k.nblock, sizeof *k.order);
	shuffle(&k);
	run_team(&k);
	team_shadow_forget(d->seen);
	for (int i = 0; i < k.slots; i++) {
		forget(&k.b[i]);
		free(k.b[i].shared);
	}
	free(k.all.sum);
	for (int i = 0; i < k.slots * k.threads; i++)
		hop_coro_free(k.x[i].coro);
	free(k.b);
	free(k.x);
	free((void *)k.ready);
	free(k.order);
}

int hop_team_run(hop_env *e, const hop_prog *p, void *const *params, const int64_t *syms,
                 hop_run_effect *effect, void *user, const hop_team_opts *o, const char **why)
{
	static const run_hooks hooks = { touch, space, loop, tile, carry, other };
	static _Thread_local char reason[sizeof((run_machine *)0)->why];
	device d = { .o = o ? *o : (hop_team_opts){ 0 } };

	run_open(&d.m, e, p);
	d.m.effect = effect;
	d.m.user = user;
	d.m.hooks = &hooks;
	d.rng = d.o.seed * 2654435761u + 1;
	d.seen = team_shadow_new();
	d.scratch = mmap(NULL, SCRATCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	                 -1, 0);
	for (int i = 0; i < p->nfunc; i++)
		d.shared = p->func[i].shared > d.shared ? p->func[i].shared : d.shared;
	if (run_enters(&d.m, syms))
		run_call(&d.m, 0, params, syms);
	else
		d.m.stop = HOP_LOOP_REFUSED;
	munmap(d.scratch, SCRATCH);
	team_shadow_free(d.seen);
	run_close(&d.m);
	memcpy(reason, d.m.why, sizeof reason);
	if (why)
		*why = reason;
	return d.m.stop;
}
