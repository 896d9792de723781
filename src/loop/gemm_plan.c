/* gemm_plan.c -- see gemm_plan.h. All ways to share a product among threads are few: each is given
 * a time by a rough model of a multiprocessor, and the shortest is taken. Cuts long sums; writes
 * no code. */
#include "loop/gemm_plan.h"

enum {
	UNKNOWN = 256,              /* a size that is not constant counts as that, or more where it is many
	                               times a parameter */
	LONG = 4096,                /* and as a sum that may be worth parts: of a batch, most of the time */
	SYMS = 32,                  /* parameters that are looked at */
	MANY = 128,                 /* blocks that run at the same time */
	SIDE = 128,                 /* rows or columns of a tile at most */
	ROOM = 46 << 10,            /* bytes of shared memory: what a kernel gets without asking */
	HELD = 76,                  /* words of sums and of what is on its way, of a thread */
	COMING = 32,                /* of what is on its way */
	ALONG = 8,                  /* of k, copied at a time */
	PART = 256,                 /* of k, the least that is worth a part */
	AWAY = 700,                 /* cycles that memory takes, with a barrier */
	FLOW = 32,                  /* bytes a cycle that a multiprocessor gets of it */
	AGAIN = 3000                /* cycles of another kernel */
};

/* What is asked, in plain numbers. */
typedef struct task {
	int64_t m, n, k, beside;    /* so many products are done side by side */
	bool    k_known;
	int     bytes, threads;     /* 0 = any */
	bool    grid, resident;     /* blocks share the tiles; they do not come and go */
} task;

static int64_t usual(hop_size s)
{
	int64_t syms[SYMS], n;
	if (hop_size_const(s))
		return s.k;
	for (int i = 0; i < SYMS; i++)
		syms[i] = HOP_SIZE_USUAL;
	n = hop_size_wrap(s, syms, SYMS);
	return n > UNKNOWN ? n : UNKNOWN;
}

static int64_t up(int64_t a, int64_t b)
{
	return (a + b - 1) / b * b;
}

static int wide(const task *q)
{
	return 16 / q->bytes;
}

/* ---- memory ---- */

static int64_t shared(const task *q, const hop_gemm_plan *p)
{
	int64_t panel = (int64_t)p->stages * p->depth * (p->rows + p->cols + 2 * wide(q));
	return (panel + (p->groups > 1 ? (int64_t)p->groups * p->rows * p->cols : 0)) * q->bytes;
}

/* Words of what a thread fetches ahead. */
static int64_t ahead(const task *q, const hop_gemm_plan *p)
{
	return up((int64_t)(p->rows + p->cols) * p->depth, p->workers) / p->workers * q->bytes / 4;
}

static bool fits(const task *q, hop_gemm_plan *p)
{
	int64_t sums = p->each_row * p->each_col * q->bytes / 4;
	p->shared = shared(q, p);
	return p->shared <= ROOM &&
	       (p->stages == 1 || (ahead(q, p) <= COMING && ahead(q, p) + sums <= HELD));
}

/* ---- time ---- */

/* Cycles that reading one panel takes a warp: words of a bank that are not the same wait. */
static double reads(const task *q, int each, int different)
{
	int few = each < wide(q) ? each : wide(q), bytes = few * q->bytes * different;
	return (double)each / few * (bytes > 128 ? bytes / 128.0 : 1);
}

static double multiplies(const task *q, const hop_gemm_plan *p, int64_t k)
{
	int    across = p->cols / p->each_col, share = across * (p->rows / p->each_row);
	int    x = across < 32 ? across : 32, y = share < 32 ? share / x : 32 / x, g = 32 / (x * y);
	double steps = (double)k / p->groups, warps = p->workers / 32.0;
	double sums = p->each_row * p->each_col * (q->bytes == 8 ? 2.0 : 1.0);
	double issue = (sums + p->each_row / 2.0 + p->each_col / 2.0 + 1) / 4;
	double load = reads(q, p->each_row, y * g) + reads(q, p->each_col, x * g);
	return steps * warps * (issue > load ? issue : load);
}

/* Of a step over the depth: arithmetic or what comes from memory, whichever is more, and the copies. */
static double step(const task *q, const hop_gemm_plan *p)
{
	double copied = (double)(p->rows + p->cols) * p->depth, work = multiplies(q, p, p->depth);
	double flow = copied * q->bytes / FLOW;
	return (work > flow ? work : flow) + copied / 32 * 1.5;
}

static double ending(const hop_gemm_plan *p)
{
	double sums = (double)p->rows * p->cols;
	return sums / 32 * 2 + (p->groups > 1 ? sums * (p->groups + 1) / 32 + 100 : 0);
}

/* Blocks of a multiprocessor that hide each other's waits. One that has a product for itself does its
 * tiles one after the other. */
static int64_t at_once(const task *q, const hop_gemm_plan *p)
{
	int64_t words = p->each_row * p->each_col + 2 * (p->each_row + p->each_col), most;
	words = words * q->bytes / 4 + ahead(q, p) * (p->stages - 1) + 24;
	most = 65536 / (p->threads * (words < 64 ? 64 : words));
	if (most > (200 << 10) / p->shared)
		most = (200 << 10) / p->shared;
	return q->resident || !q->grid || most < 1 ? 1 : most;
}

static double cycles(const task *q, const hop_gemm_plan *p)
{
	int64_t tiles = up(q->m, p->rows) / p->rows * (up(q->n, p->cols) / p->cols) * q->beside;
	int64_t each = q->grid ? up(tiles, MANY) / MANY : tiles, many = at_once(q, p), turns;
	double  one = step(q, p), steps = (double)(up(q->k, p->depth) / p->depth), wait;
	many = many < each ? many : each ? each : 1;
	turns = (each + many - 1) / many;
	wait = AWAY + (double)p->depth / p->groups * 6 + (p->stages == 1 ? one : 0);
	one *= (double)many;
	return (double)turns * (steps * (one > wait ? one : wait) + (double)many * ending(p) +
	                        (p->stages == 2 ? AWAY : 0));
}

/* ---- all ways ---- */

/* Sums in registers: there are 65536 for all threads. */
static bool holds(const task *q, int er, int ec)
{
	int words = er * ec * q->bytes / 4;
	return words <= (q->threads <= 256 ? 64 : q->threads <= 512 ? 32 : 16);
}

static void judge(const task *q, const hop_gemm_plan *p, hop_gemm_plan *best, double *least)
{
	double t = cycles(q, p);
	if (*least >= 0 && t >= *least)
		return;
	*least = t;
	*best = *p;
}

/* All of k at once, or some of it while more is on its way. */
static void try_depths(const task *q, hop_gemm_plan p, hop_gemm_plan *best, double *least)
{
	int64_t unit = p.groups > ALONG ? p.groups : ALONG, all = up(q->k ? q->k : 1, unit);
	p.stages = 1;
	if (q->k_known && all <= 4096) {
		p.depth = (int)all;
		if (fits(q, &p)) {
			judge(q, &p, best, least);
			if (q->resident || !q->grid)          /* less text, and one wait */
				return;
		}
	}
	p.stages = 2;
	for (p.depth = (int)unit; p.depth <= 64; p.depth *= 2)
		if (fits(q, &p))
			judge(q, &p, best, least);
}

static void try_shares(const task *q, hop_gemm_plan p, hop_gemm_plan *best, double *least)
{
	for (int down = 1; down <= p.workers; down *= 2)
		for (int across = 1; down * across <= p.workers; across *= 2) {
			p.rows = down * p.each_row;
			p.cols = across * p.each_col;
			p.groups = p.workers / (down * across);
			if (p.rows % ALONG == 0 && p.cols % ALONG == 0 && p.rows <= SIDE &&
			    p.cols <= SIDE && p.groups <= 32)
				try_depths(q, p, best, least);
		}
}

static void try_threads(const task *q, hop_gemm_plan *best, double *least)
{
	hop_gemm_plan p = { .threads = q->threads, .workers = 32 };
	while (2 * p.workers <= q->threads)
		p.workers *= 2;
	for (p.each_row = 1; p.each_row <= 8; p.each_row *= 2)
		for (p.each_col = 1; p.each_col <= 8; p.each_col *= 2)
			if (holds(q, p.each_row, p.each_col))
				try_shares(q, p, best, least);
}

static task task_of(const hop_stmt *s, const hop_team *team)
{
	const hop_tile *t = s->tile;
	return (task){ usual(t->extent[0]), usual(t->extent[1]), usual(t->extent[2]),
	               s->bind.least > 1 ? s->bind.least : 1, hop_size_const(t->extent[2]),
	               (int)hop_dtype_bytes(t->dtype), team->threads,
	               s->bind.place == HOP_PLACE_GRID, team->resident };
}

static hop_gemm_plan best_of(task q, double *least)
{
	hop_gemm_plan best = { 0 };
	int most = q.threads ? q.threads : 256;
	*least = -1;
	for (q.threads = q.threads ? q.threads : 64; q.threads <= most; q.threads *= 2)
		try_threads(&q, &best, least);
	HOP_ASSERT(*least >= 0);
	best.least = best.threads == 256 && best.each_row * best.each_col * q.bytes >= 256 ? 2 : 0;
	return best;
}

hop_gemm_plan hop_gemm_plan_of(const hop_stmt *s, const hop_team *team)
{
	double least;
	return best_of(task_of(s, team), &least);
}

hop_size hop_gemm_plan_tiles(hop_env *e, const hop_stmt *s, const hop_gemm_plan *p)
{
	hop_size r = hop_size_add(e, s->tile->extent[0], hop_size_int(p->rows - 1));
	hop_size c = hop_size_add(e, s->tile->extent[1], hop_size_int(p->cols - 1));
	return hop_size_mul(e, hop_size_div(e, r, hop_size_int(p->rows)),
	                    hop_size_div(e, c, hop_size_int(p->cols)));
}

/* ---- long sums ---- */

/* Another kernel adds the parts; what is left over of k is one for itself, with a kernel of its own. */
int hop_gemm_parts(const hop_stmt *s)
{
	task    q = task_of(s, &(hop_team){ 0 }), part;
	double  least, t, add = (double)q.m * (double)q.n * q.bytes / FLOW / MANY;
	int     best = 1;
	if (!hop_size_const(s->tile->extent[0]) || !hop_size_const(s->tile->extent[1]))
		return 1;
	q.k = q.k_known || q.k > LONG ? q.k : LONG;
	if (q.k < 2 * PART || q.m * q.n >= MANY * SIDE * SIDE)
		return 1;
	q.grid = true;
	part = q;
	best_of(q, &least);
	for (int n = 2; n <= MANY && n * PART <= q.k; n *= 2) {
		part.k = q.k / n;
		part.beside = q.beside * n;
		best_of(part, &t);
		t += AGAIN * (q.k % n || !q.k_known ? 2 : 1) + add * (double)part.beside;
		if (t < least) {
			least = t;
			best = n;
		}
	}
	return best;
}

int hop_gemm_slots(hop_env *e, const hop_stmt *s, int parts)
{
	return parts + !hop_size_is(hop_size_mod(e, s->tile->extent[2], hop_size_int(parts)), 0);
}

static bool add_term(hop_arena *a, hop_addr *x, hop_reg r, hop_size stride)
{
	if (x->nterm == HOP_MAXTERM)
		return false;
	hop_addr_add(a, x, r, stride);
	return true;
}

/* The sums of an element, from where the parts are. */
static bool join(hop_lbuild *b, const hop_gemm *g, int slots, hop_addr at, hop_block *then)
{
	hop_block *top = b->block;
	bool each = g->epilogue.first;
	hop_reg m = each ? g->em : hop_l_reg(b), n = each ? g->en : hop_l_reg(b);
	hop_reg p = hop_l_reg(b), sum = each ? g->ev : hop_l_reg(b), init;
	hop_addr c[2] = { g->c, g->c };        /* read, written */
	for (int i = 0; i < 2; i++)
		if (!add_term(b->a, &c[i], m, g->cs[0]) || !add_term(b->a, &c[i], n, g->cs[1]))
			return false;
	hop_addr_add(b->a, &at, p, hop_size_mul(b->env, g->m, g->n));
	hop_addr_add(b->a, &at, m, g->n);
	hop_addr_add(b->a, &at, n, hop_size_int(1));
	b->block = then;
	hop_l_loop(b, HOP_LOOP_PAR, g->m, m);
	hop_block *in = &hop_l_loop(b, HOP_LOOP_PAR, g->n, n)->body;
	init = g->beta ? hop_l_load(b, g->dtype, &c[0]) : hop_l_constf(b, g->dtype, 0);
	hop_stmt *s = hop_l_loop(b, HOP_LOOP_RED, hop_size_int(slots), p);
	s->nacc = 1;
	s->acc = HOP_NEW(b->a, hop_acc);
	*s->acc = (hop_acc){ HOP_RED_add, g->dtype, init, hop_l_load(b, g->dtype, &at), sum };
	b->block = in;
	if (each) {
		in->last->next = g->epilogue.first;
		in->last = g->epilogue.last;
	} else {
		hop_l_store(b, g->dtype, &c[1], sum);
	}
	b->block = top;
	return true;
}

/* A part of k, from p * its length on, or from the last whole one's end. */
static bool put_part(hop_lbuild *b, hop_gemm g, hop_reg p, hop_size from, hop_size step, hop_addr to,
                     int64_t beside)
{
	if (p && !(add_term(b->a, &g.a, p, hop_size_mul(b->env, step, g.as[1])) &&
	           add_term(b->a, &g.b, p, hop_size_mul(b->env, step, g.bs[0]))))
		return false;
	g.a.offset = hop_size_add(b->env, g.a.offset, hop_size_mul(b->env, from, g.as[1]));
	g.b.offset = hop_size_add(b->env, g.b.offset, hop_size_mul(b->env, from, g.bs[0]));
	g.k = step;
	g.c = to;
	g.cs[0] = g.n;
	g.cs[1] = hop_size_int(1);
	g.beta = false;
	g.em = g.en = g.ev = 0;                /* are the epilogue's, which is not there */
	g.epilogue = (hop_block){ 0 };
	hop_stmt *s = hop_l_gemm(b, &g);
	s->bind = (hop_bind){ .place = HOP_PLACE_GRID, .least = beside };
	return true;
}

bool hop_gemm_split(hop_lbuild *b, const hop_stmt *tile, int parts, int scratch, hop_block *first,
                    hop_block *then)
{
	hop_block *top = b->block;
	hop_gemm   g = hop_gemm_of(tile->tile);
	hop_size   by = hop_size_int(parts), k = hop_size_div(b->env, g.k, by);
	hop_size   left = hop_size_mod(b->env, g.k, by);
	int64_t    n = g.m.k * g.n.k;
	int64_t    beside = tile->bind.least > 1 ? tile->bind.least : 1;
	int        slots = hop_gemm_slots(b->env, tile, parts);
	hop_addr   at = { .buf = scratch, .offset = hop_size_int(0) }, to = at;

	if (!join(b, &g, slots, at, then))
		return false;
	b->block = first;
	hop_stmt *s = hop_l_loop(b, HOP_LOOP_PAR, hop_size_int(parts), hop_l_reg(b));
	s->bind.place = HOP_PLACE_BLOCK_Y;
	hop_addr_add(b->a, &to, s->dst, hop_size_int(n));
	bool ok = put_part(b, g, s->dst, hop_size_int(0), k, to, parts * beside);
	b->block = first;
	at.offset = hop_size_int(parts * n);
	ok = ok && (hop_size_is(left, 0) ||
	            put_part(b, g, 0, hop_size_mul(b->env, k, by), left, at, beside));
	b->block = top;
	return ok;
}
