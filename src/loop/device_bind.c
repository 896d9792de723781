/* device_bind.c -- who shares which loop on a device: five ways to run a nest.
 *
 *	map      a loop, or loops right in each other, around operations: an iteration a thread
 *	row      loops around loops along memory: an iteration a block or a warp, whose threads share
 *	         what is in it
 *	lanes    the same where threads side by side are what lies side by side: an iteration a thread
 *	sum      a reduction for all who are together: each thread a part
 *	none     what may not be shared, or does not pay: all run it
 *
 * Bound by its text and by who comes to it, never by the device: sums keep their order. What is
 * shared is what hop_block_owns says: iterations write nothing of each other.
 *
 * needs: no carries, no tiles but products.  keeps: meaning.  fills: place, each */
#include "loop/device.h"
#include "loop/gemm_plan.h"

enum {
	WARP = 32,
	MAP_THREADS = 256,       /* of a block of a map */
	MAP_EACH = 4,            /* elements a thread, loads in flight */
	FEW_SUMS = 1 << 15,      /* loops of a thread each that are not many: of small blocks, so that all */
	FEW_THREADS = 64,        /* multiprocessors have some */
	MANY = 1 << 16,          /* elements from which that pays */
	NARROW = 128,            /* iterations of an innermost loop that fill no block */
	SHORT_ROW = 256,         /* elements that a warp takes */
	FEW_ROWS = 128, LONG_ROW = 1 << 12,  /* rows, operations of each, that are rather blocks' */
	FEW = 16,                /* iterations that all may run for themselves */
	MAXCHAIN = 8,
	FEW_STEPS = 512,         /* blocks that leave room for more threads */
	LARGE = 64 * 64,         /* elements of a product that one block may do */
	MAXBLOCKS = 65535        /* along y and z */
};

/* ---- what a nest is ---- */

double hop_device_trips(hop_size n)
{
	int64_t most = hop_size_range(n, NULL, 0).hi;
	return most < 0 ? 0 : hop_size_const(n) || most < MANY ? (double)most : MANY;
}

static double trips(const hop_stmt *s)
{
	return hop_device_trips(s->extent);
}

static bool is_par(const hop_stmt *s)
{
	return s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_PAR;
}

hop_stmt *hop_device_only(const hop_block *b)
{
	hop_stmt *s = b->first;
	while (s && s->kind == HOP_L_OP && !hop_sop_writes(s->sop))
		s = s->next;
	return s && !s->next ? s : NULL;
}

/* Loops right in each other whose iterations are apart: how many, outermost first. */
static int chain_of(hop_stmt *s, hop_stmt **out)
{
	int n = 0;
	while (s && is_par(s) && n < MAXCHAIN && (!n || !s->bound) &&
	       (s->apart || hop_block_owns(&s->body, s->dst))) {
		out[n++] = s;
		s = s->bound ? NULL : hop_device_only(&s->body);
	}
	return n;
}

double hop_nest_width(const hop_stmt *s)
{
	double n = 1;
	if (s->kind == HOP_L_TILE)
		return hop_device_trips(s->tile->extent[0]) * hop_device_trips(s->tile->extent[1]);
	while (s && s->kind == HOP_L_LOOP && s->loop != HOP_LOOP_SEQ) {
		n *= trips(s);
		if (s->loop == HOP_LOOP_RED)
			break;
		s = hop_device_only(&s->body);
	}
	return n;
}

static double block_work(const hop_block *b)
{
	double n = 0;
	for (const hop_stmt *s = b->first; s; s = s->next)
		n += hop_nest_work(s);
	return n;
}

double hop_nest_work(const hop_stmt *s)
{
	double n = s->kind == HOP_L_OP ? hop_sop_cost(s->sop, s->dtype) : 1;
	if (s->kind == HOP_L_TILE) {
		for (int i = 0; i < s->tile->of->nextent; i++)
			n *= hop_device_trips(s->tile->extent[i]);
		return 2 * n;
	}
	n += block_work(&s->body) + block_work(&s->other);
	return s->kind == HOP_L_LOOP ? n * trips(s) : n;
}

static bool is_straight(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->kind != HOP_L_OP || s->sop == HOP_SOP_count)
			return false;
	return true;
}

static void join_at(hop_dfunc *d, hop_stmt **c, int *n, int i)
{
	hop_device_join(d, c[i], c[i + 1]);
	for (int k = i + 1; k + 1 < *n; k++)
		c[k] = c[k + 1];
	--*n;
}

/* ---- which way ---- */

/* How many accesses in b, all that is in it too, are next to each other along var. */
static int along(const hop_block *b, hop_reg var)
{
	int n = 0;
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		hop_addr *a;
		int k = hop_stmt_blocks(s, sub);
		for (int i = 0; (a = hop_stmt_addr(s, i)); i++) {
			int t = hop_addr_term(a, var);
			n += t >= 0 && hop_size_is(a->term[t].stride, 1);
		}
		for (int i = 0; i < k; i++)
			n += along(sub[i], var);
	}
	return n;
}

/* The longest loop right in b; its accesses along memory, against those of the loop around. */
static const hop_stmt *longest(const hop_block *b)
{
	const hop_stmt *l = NULL;
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->kind == HOP_L_LOOP && s->loop != HOP_LOOP_SEQ && (!l || trips(s) > trips(l)))
			l = s;
	return l;
}

static int row_score(const hop_block *b, hop_reg outer)
{
	int n = 0;
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->kind == HOP_L_LOOP && s->loop != HOP_LOOP_SEQ)
			n += along(&s->body, s->dst) - along(&s->body, outer);
	return n;
}

static bool has_tile(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->kind == HOP_L_TILE || has_tile(&s->body) || has_tile(&s->other))
			return true;
	return false;
}

/* Threads should share what is in an iteration of `last`, not the iterations. */
static bool is_row(const hop_stmt *last, double outer, double room)
{
	const hop_stmt *l = longest(&last->body);
	if (has_tile(&last->body))
		return true;
	if (!l || trips(l) < WARP)
		return false;
	int score = row_score(&last->body, last->dst);
	return score > 0 || outer * (score < 0 ? 64 : 4) <= room;
}

/* As many as its longest loop has, or more than a warp's. */
static double row_of(const hop_block *b)
{
	const hop_stmt *l = longest(b);
	double n = l ? trips(l) : 1;
	return has_tile(b) && n <= 4 * SHORT_ROW ? 4 * SHORT_ROW : n;
}

static void place(hop_stmt *s, enum hop_place p)
{
	s->bind = (hop_bind){ .place = p };
}

/* ---- for those who are together ---- */

static enum hop_place alone_in(hop_unit u)
{
	return u == HOP_UNIT_WARP ? HOP_PLACE_LANE : u == HOP_UNIT_BLOCK ? HOP_PLACE_THREAD
	                                                                 : HOP_PLACE_GRID;
}

static double room_of(const hop_dfunc *d, hop_unit u)
{
	double block = d->threads;
	return u == HOP_UNIT_WARP ? WARP : u == HOP_UNIT_BLOCK ? block : block * d->m->blocks;
}

static int vars_of(hop_stmt **c, int n, hop_reg *out)
{
	for (int i = 0; i < n; i++)
		out[i] = c[i]->dst;
	return n;
}

/* Loads in flight: as many as there are rounds for all, which is nothing that the device decides. */
static uint8_t rounds_of(double n, double room)
{
	return n >= MAP_EACH * room ? MAP_EACH : n >= 2 * room ? 2 : 1;
}

/* An iteration of the chain a thread. */
static void bind_map(hop_dfunc *d, hop_stmt **c, int n, hop_unit u)
{
	hop_reg var[MAXCHAIN];
	hop_device_hold(d, c[0], var, vars_of(c, n, var));
	if (u == HOP_UNIT_RESIDENT && n > 1 && trips(c[n - 1]) >= WARP) {
		while (n > 2)
			join_at(d, c, &n, 0);
		if (trips(c[0]) >= d->m->blocks / 2 || trips(c[1]) <= d->threads) {
			place(c[0], HOP_PLACE_BLOCK_X);
			place(c[1], HOP_PLACE_THREAD);
			hop_device_keep_alone(d, c[1]);
			return;
		}
	}
	while (n > 1 && trips(c[n - 1]) < room_of(d, u))
		join_at(d, c, &n, n - 2);
	place(c[n - 1], alone_in(u));
	hop_device_keep_alone(d, c[n - 1]);
	if (u == HOP_UNIT_RESIDENT && is_straight(&c[n - 1]->body))
		c[n - 1]->bind.each = rounds_of(trips(c[n - 1]), room_of(d, u));
}

/* An iteration a block, where var are the values that the loop's counts, if it was several. */
static void by_blocks(hop_dfunc *d, hop_stmt *s, const hop_reg *var, int nvar)
{
	bool was = d->within;
	place(s, HOP_PLACE_BLOCK_X);
	if (d->f->level == HOP_LEVEL_KERNEL)
		hop_device_share(d, s, var, nvar);
	d->within = true;
	hop_device_bind(d, &s->body, HOP_UNIT_BLOCK);
	d->within = was;
}

/* An iteration of the chain a warp or a block; or all of them one after the other. */
static void bind_rows(hop_dfunc *d, hop_stmt **c, int n, hop_unit u)
{
	hop_reg var[MAXCHAIN];
	int     nvar = vars_of(c, n, var);
	double  row = row_of(&c[n - 1]->body);
	while (n > 1)
		join_at(d, c, &n, 0);
	bool warps = (u == HOP_UNIT_BLOCK && (d->single || d->within) &&
	              (row <= SHORT_ROW || trips(c[0]) >= 8)) ||
	             (u == HOP_UNIT_RESIDENT && row <= SHORT_ROW);
	warps = warps && !has_tile(&c[0]->body);
	if (!warps && u == HOP_UNIT_RESIDENT) {
		by_blocks(d, c[0], var, nvar);
		return;
	}
	if (warps)
		place(c[0], HOP_PLACE_WARP);
	hop_device_bind(d, &c[0]->body, warps ? HOP_UNIT_WARP : u);
}

static void bind_par(hop_dfunc *d, hop_stmt *s, hop_unit u)
{
	hop_stmt *c[MAXCHAIN];
	int n = chain_of(s, c);
	double outer = 1;
	if (!n) {
		hop_device_bind(d, &s->body, u);
		return;
	}
	for (int i = 0; i < n; i++)
		outer *= trips(c[i]);
	if (is_row(c[n - 1], outer, room_of(d, u)))
		bind_rows(d, c, n, u);
	else
		bind_map(d, c, n, u);
}

/* Operations that write nothing: every block may do them. */
static bool is_harmless(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->kind != HOP_L_OP || hop_sop_writes(s->sop))
			return false;
	return true;
}

/* A sum that goes along a long row of memory in each iteration: how long; else 1. */
static hop_size red_row(const hop_dfunc *d, const hop_stmt *s)
{
	const hop_stmt *l = longest(&s->body);
	bool long_one = l && !l->bound && hop_size_nsym(l->extent) <= d->f->nsym && trips(l) > SHORT_ROW;
	return long_one && row_score(&s->body, s->dst) > 0 ? l->extent : hop_size_int(1);
}

/* By parts. Where an iteration is a row, a block goes along it together, and from row to row in
 * order. */
static void split_red(hop_dfunc *d, hop_block *b, hop_stmt *s, bool resident)
{
	hop_size  row = red_row(d, s);
	hop_stmt *part = hop_device_split_red(d, b, s, row, resident);
	bool      was = d->within;
	if (hop_size_is(row, 1))
		return;
	place(part, HOP_PLACE_NONE);
	d->within = true;
	hop_device_bind(d, &part->body, HOP_UNIT_BLOCK);
	d->within = was;
}

static void bind_red(hop_dfunc *d, hop_block *b, hop_stmt *s, hop_unit u)
{
	if (!hop_block_owns(&s->body, s->dst)) {
		hop_device_bind(d, &s->body, u);
		return;
	}
	hop_device_flatten(d, s);
	if (u == HOP_UNIT_RESIDENT && trips(s) > 4 * d->threads)       /* less all blocks do */
		split_red(d, b, s, true);
	else if (u == HOP_UNIT_RESIDENT && !is_harmless(&s->body))
		split_red(d, b, s, true);
	else
		place(s, u == HOP_UNIT_WARP ? HOP_PLACE_LANE : HOP_PLACE_THREAD);
}

void hop_device_bind(hop_dfunc *d, hop_block *b, hop_unit u)
{
	for (hop_stmt *s = b->first, *next; s; s = next) {
		next = s->next;
		if (s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_PAR) {
			bind_par(d, s, u);
		} else if (s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_RED) {
			bind_red(d, b, s, u);
		} else if (s->kind == HOP_L_TILE) {
			place(s, u == HOP_UNIT_BLOCK ? HOP_PLACE_THREAD : HOP_PLACE_GRID);
		} else {
			hop_device_bind(d, &s->body, u);
			hop_device_bind(d, &s->other, u);
		}
	}
}

/* ---- a nest that is a kernel ---- */

static hop_size blocks_for(hop_env *e, hop_size n, int64_t each)
{
	n = hop_size_add(e, n, hop_size_int(each - 1));
	n = hop_size_div(e, n, hop_size_int(each));
	return hop_size_max(e, n, hop_size_int(1));
}

static hop_size most(hop_env *e, hop_size n)
{
	return hop_size_max(e, hop_size_min(e, n, hop_size_int(MAXBLOCKS)), hop_size_int(1));
}

/* Blocks are counted by size parameters: a loop over another size, or one that is computed, takes
 * what there is in turns. */
static hop_size counted(const hop_dfunc *d, const hop_stmt *s)
{
	return hop_size_nsym(s->extent) > d->f->nsym ? hop_size_int(MANY) : s->extent;
}

static bool is_exact(const hop_dfunc *d, const hop_stmt *s, int64_t limit)
{
	return hop_size_nsym(s->extent) <= d->f->nsym &&
	       (!limit || (hop_size_const(s->extent) && s->extent.k <= limit));
}

static void grid_map(hop_dfunc *d, hop_stmt **c, int n, hop_team *t)
{
	hop_reg var[MAXCHAIN];
	hop_device_hold(d, c[0], var, vars_of(c, n, var));
	while (n > 1 && trips(c[n - 1]) < NARROW)
		join_at(d, c, &n, n - 2);
	while (n > 3)
		join_at(d, c, &n, 0);
	hop_stmt *x = c[n - 1];
	bool straight = is_straight(&x->body), many = straight && hop_nest_width(c[0]) >= MANY;
	place(x, HOP_PLACE_GRID);
	hop_device_keep_alone(d, x);
	x->bind.each = many ? MAP_EACH : 1;
	bool small = !straight && !c[0]->parts && hop_nest_width(c[0]) <= FEW_SUMS;
	d->threads = small ? FEW_THREADS : MAP_THREADS;
	*t = (hop_team){ .threads = d->threads, .exact = is_exact(d, x, 0) && !x->bound,
	                 .blocks = { blocks_for(d->e, counted(d, x), d->threads * x->bind.each),
	                             hop_size_int(1), hop_size_int(1) } };
	for (int i = n - 2; i >= 0; i--) {
		place(c[i], i == n - 2 ? HOP_PLACE_BLOCK_Y : HOP_PLACE_BLOCK_Z);
		t->blocks[n - 1 - i] = most(d->e, counted(d, c[i]));
		t->exact &= is_exact(d, c[i], MAXBLOCKS) && !c[i]->bound;
	}
}

/* 8 elements a thread, or more of a long row: small blocks, of which several are there at once, load
 * while others compute. */
static int row_threads(double row)
{
	int n = 64;
	while ((n < 128 && n * 8 < row) || (n < 256 && n * 16 < row) || (n < 512 && n * 32 < row))
		n *= 2;
	return n;
}

/* As many as the first product in b is best with. */
static int tile_threads(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		if (s->kind == HOP_L_TILE) {
			hop_stmt one = *s;
			one.bind = (hop_bind){ .place = HOP_PLACE_THREAD };
			return hop_gemm_plan_of(&one, &(hop_team){ 0 }).threads;
		}
		if (has_tile(&s->body))
			return tile_threads(&s->body);
	}
	return MAP_THREADS;
}

/* Of a block that does a product and what comes with it: as many as that is best with, unless there are
 * so few blocks that multiprocessors have little else to do. */
static int step_threads(const hop_stmt *s)
{
	int n = tile_threads(&s->body);
	bool alone = hop_device_only(&s->body) != NULL;
	return alone || n >= MAP_THREADS ? n : trips(s) <= FEW_STEPS ? MAP_THREADS : 2 * n;
}

/* A large product, or a batch of them: all tiles of all. */
static void grid_product(hop_dfunc *d, hop_stmt **c, int n, hop_stmt *s, hop_team *t)
{
	while (n > 1)
		join_at(d, c, &n, 0);
	place(s, HOP_PLACE_GRID);
	s->bind.least = n ? (int64_t)trips(c[0]) : 0;
	hop_gemm_plan p = hop_gemm_plan_of(s, &(hop_team){ 0 });
	*t = (hop_team){ .threads = p.threads, .exact = true,
	                 .blocks = { hop_gemm_plan_tiles(d->e, s, &p), hop_size_int(1), hop_size_int(1) } };
	for (int i = 0; i < 3; i++)
		t->exact &= hop_size_nsym(s->tile->extent[i]) <= d->f->nsym;
	if (!t->exact)
		t->blocks[0] = hop_size_int(MANY);
	if (!n)
		return;
	place(c[0], HOP_PLACE_BLOCK_Y);
	t->blocks[1] = most(d->e, counted(d, c[0]));
	t->exact &= is_exact(d, c[0], MAXBLOCKS) && !c[0]->bound;
}

/* The product that is all there is in a chain of n loops, or s itself. */
static hop_stmt *product_of(hop_stmt **c, int n, hop_stmt *s)
{
	hop_stmt *q = n ? hop_device_only(&c[n - 1]->body) : s;
	bool large = q && q->kind == HOP_L_TILE && hop_nest_width(q) > (n ? LARGE : 0);
	return large ? q : NULL;
}

/* A warp a row that is short, but for few that have long to go. */
static void grid_rows(hop_dfunc *d, hop_stmt **c, int n, double outer, hop_team *t)
{
	hop_reg var[MAXCHAIN];
	int     nvar = vars_of(c, n, var);
	double  row = row_of(&c[n - 1]->body);
	while (n > 1)
		join_at(d, c, &n, 0);
	bool warps = row <= SHORT_ROW && !(outer <= FEW_ROWS && block_work(&c[0]->body) > LONG_ROW);
	d->threads = warps ? MAP_THREADS : has_tile(&c[0]->body) ? step_threads(c[0]) : row_threads(row);
	if (warps) {
		place(c[0], HOP_PLACE_WARP);
		hop_device_bind(d, &c[0]->body, HOP_UNIT_WARP);
	} else {
		by_blocks(d, c[0], var, nvar);
	}
	*t = (hop_team){ .threads = d->threads, .exact = is_exact(d, c[0], 0) && !c[0]->bound,
	                 .blocks = { blocks_for(d->e, counted(d, c[0]), warps ? d->threads / WARP : 1),
	                             hop_size_int(1), hop_size_int(1) } };
}

bool hop_device_bind_nest(hop_dfunc *d, hop_block *b, hop_stmt *s, hop_team *t)
{
	hop_stmt *c[MAXCHAIN];
	int n = chain_of(s, c);
	double outer = 1;
	if (s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_RED) {
		if (!hop_block_owns(&s->body, s->dst))
			return false;
		hop_device_flatten(d, s);
		d->threads = MAP_THREADS;
		hop_size parts = hop_device_red_parts(d->e, counted(d, s), red_row(d, s));
		*t = (hop_team){ .threads = d->threads, .blocks = { parts, hop_size_int(1), hop_size_int(1) } };
		split_red(d, b, s, false);
		return true;
	}
	hop_stmt *product = product_of(c, n, s);
	if (product) {
		grid_product(d, c, n, product, t);
		return true;
	}
	if (!n)
		return false;
	if (hop_device_turn(d, c, n, t))
		return true;
	for (int i = 0; i < n; i++)
		outer *= trips(c[i]);
	if (is_row(c[n - 1], outer, MANY))
		grid_rows(d, c, n, outer, t);
	else
		grid_map(d, c, n, t);
	return true;
}
