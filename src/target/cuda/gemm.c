/* gemm.c -- the matrix product template by threads that work together: blocks take tiles of C, one after
 * the other, their threads multiply (gemm_text.c), then each hands the sums it has to the epilogue. Who
 * does how much is gemm_plan.h's. Products of a single thread are loops; does not cut k among blocks. */
#include <stdlib.h>

#include "loop/device.h"
#include "loop/gemm_plan.h"
#include "target/cuda/emit.h"

/* The position of an element, and of the tile's first, have registers after the program's. */
enum { ROW, COL, ROW0, COL0 };

static hop_reg own(const hop_cuemit *e, int i)
{
	return e->f->nreg + 1 + i;
}

static hop_addr at(hop_cuemit *e, const hop_addr *a, hop_reg r, hop_size stride)
{
	hop_addr x = *a;
	hop_addr_add(&e->env->tmp, &x, r, stride);
	return x;
}

/* ---- how operands lie ---- */

/* Along k, unless they are next to each other the other way, or nearer. */
static bool along_k(hop_size k, hop_size other)
{
	if (hop_size_is(other, 1) || !hop_size_const(k))
		return false;
	return hop_size_is(k, 1) || !hop_size_const(other) || llabs(k.k) < llabs(other.k);
}

static bool is_near(hop_size stride, int64_t n)
{
	return hop_size_const(stride) && llabs(stride.k) < ((int64_t)1 << 29) / n;
}

/* Positions in a tile fit an int. */
static bool all_near(const hop_gemm *g, const hop_gemm_plan *p)
{
	return is_near(g->as[0], p->rows) && is_near(g->as[1], p->depth) &&
	       is_near(g->bs[0], p->depth) && is_near(g->bs[1], p->cols);
}

/* ---- text ---- */

/* What an operand is in memory, and what it is read by. */
static const char *reader(hop_cuemit *e, const hop_gemm *g, int i)
{
	hop_dtype d = g->stored[i] ? (hop_dtype)(g->stored[i] - 1) : g->dtype;
	return g->stored[i] ? hop_c_text(e, ", hop_%s, hop_widen_%s", hop_dtype_name(d), hop_dtype_name(d))
	                    : hop_c_text(e, ", %s, hop_as_it_is<%s>", hop_c_type(d), hop_c_type(d));
}

static bool is_multiple(hop_size n, int64_t of)
{
	return hop_size_const(n) && n.k % of == 0;
}

/* No tile, and no step down k, has less than the others; and there is a step. */
static bool is_full(const hop_gemm *g, const hop_gemm_plan *p)
{
	return is_multiple(g->m, p->rows) && is_multiple(g->n, p->cols) &&
	       is_multiple(g->k, p->depth) && g->k.k > 0;
}

static void put_type(hop_cuemit *e, const hop_gemm *g, const hop_gemm_plan *p, int threads)
{
	const char *a = "", *b = "";
	if (g->stored[0] || g->stored[1]) {
		a = reader(e, g, 0);
		b = reader(e, g, 1);
	}
	hop_c_line(e, "typedef hop_product<%s, %s, %d, %d, %d, %d, %d, %d, %d, %d, %s, %s, %s%s%s> product;",
	           hop_c_type(g->dtype), all_near(g, p) ? "int" : "int64_t", threads, p->workers, p->rows,
	           p->cols, p->depth, p->each_row, p->each_col, p->stages,
	           along_k(g->as[1], g->as[0]) ? "true" : "false",
	           along_k(g->bs[0], g->bs[1]) ? "true" : "false", is_full(g, p) ? "true" : "false", a, b);
}

/* The sums of the tile at row0, col0. */
static void put_sums(hop_cuemit *e, const hop_gemm *g, const hop_gemm_plan *p)
{
	hop_addr a = at(e, &g->a, own(e, ROW0), g->as[0]), b = at(e, &g->b, own(e, COL0), g->bs[1]);
	const char *t = hop_c_type(g->dtype);
	hop_c_line(e, "%s sum[product::EACH];", t);
	hop_c_line(e, "product::run(sum, (%s *)(%s),", t, hop_cuda_scratch(e, p->shared));
	hop_c_line(e, "\t&%s, %s, %s,", hop_cuda_at(e, &a), hop_c_size(e, g->as[0]),
	           hop_c_size(e, g->as[1]));
	hop_c_line(e, "\t&%s, %s, %s,", hop_cuda_at(e, &b), hop_c_size(e, g->bs[0]),
	           hop_c_size(e, g->bs[1]));
	hop_c_line(e, "\tlast_row - row0, last_col - col0, %s);", hop_c_size(e, g->k));
}

/* ---- what an element needs beside its sum ---- */

/* Numbers that the epilogue loads and that do not rest on the sum, if a thread has few of them: they
 * are on their way while threads multiply. Those of the elements' positions, and what is left. */
enum { AHEAD = 8 };
typedef struct ahead { int n; hop_stmt *load[AHEAD]; hop_block first, then; } ahead;

typedef struct known { bool *late, rests; } known;

static void rests_on(void *user, hop_reg *r, hop_stmt *def, hop_dtype d)
{
	known *k = user;
	(void)d;
	k->rests |= !def && k->late[*r];
}

static void is_late(void *user, hop_reg *r, hop_stmt *def, hop_dtype d)
{
	known *k = user;
	(void)d;
	if (def)
		k->late[*r] = true;
}

/* Registers that rest on the sum, or stand behind a store, which a load must not pass. */
static void find_late(const hop_gemm *g, bool *late)
{
	known k = { .late = late };
	bool  stored = false;
	late[g->ev] = true;
	for (hop_stmt *s = g->epilogue.first; s; s = s->next) {
		bool op = s->kind == HOP_L_OP && s->sop != HOP_SOP_store;
		k.rests = !op || (stored && s->sop == HOP_SOP_load);
		hop_stmt_uses(s, rests_on, &k);
		if (k.rests)
			hop_stmt_regs(s, is_late, &k);
		stored |= !op;
	}
}

/* What the loads need, and they, into `first`; all but they into `then`. */
static void part(hop_cuemit *e, const hop_gemm *g, const bool *late, ahead *x)
{
	hop_arena *a = &e->env->tmp;
	for (hop_stmt *s = g->epilogue.first; s; s = s->next) {
		bool op = s->kind == HOP_L_OP && s->sop != HOP_SOP_store && !late[s->dst];
		if (op)
			hop_block_append(&x->first, hop_stmt_copy(a, s));
		if (op && s->sop == HOP_SOP_load && e->uses[s->dst])
			x->load[x->n++] = s;
		else
			hop_block_append(&x->then, hop_stmt_copy(a, s));
	}
}

static ahead ahead_of(hop_cuemit *e, const hop_gemm *g, const hop_gemm_plan *p)
{
	ahead x = { .then = g->epilogue };
	bool *late = HOP_NEWN(&e->env->tmp, bool, e->f->nreg + 1);
	int   each = p->groups > 1 ? (p->rows * p->cols + p->workers - 1) / p->workers
	                           : p->each_row * p->each_col, n = 0;
	if (!g->epilogue.first)
		return x;
	find_late(g, late);
	for (const hop_stmt *s = g->epilogue.first; s; s = s->next)
		n += s->kind == HOP_L_OP && s->sop == HOP_SOP_load && !late[s->dst] && e->uses[s->dst];
	if (!n || n * each > AHEAD)
		return x;
	x.then = (hop_block){ 0 };
	part(e, g, late, &x);
	return x;
}

static void open_elements(hop_cuemit *e, const hop_gemm *g, bool full)
{
	hop_c_line(e, "HOP_UNROLL");
	hop_c_open(e, "for (int nth = 0; nth < product::EACH; nth++)");
	hop_c_line(e, "const int64_t row = row0 + product::row(nth), col = col0 + product::col(nth);");
	hop_c_open(e, full ? "if (product::has(nth))"
	                   : "if (product::has(nth) && row < last_row && col < last_col)");
	if (!g->epilogue.first)
		return;
	hop_c_set(e, g->em, HOP_i64, "row");
	hop_c_set(e, g->en, HOP_i64, "col");
}

static void close_elements(hop_cuemit *e)
{
	hop_c_close(e);
	hop_c_close(e);
}

static void put_ahead(hop_cuemit *e, const hop_gemm *g, const ahead *x, bool full)
{
	if (!x->n)
		return;
	for (int i = 0; i < x->n; i++)
		hop_c_line(e, "%s ahead%d[product::EACH];", hop_c_type((hop_dtype)x->load[i]->dtype),
		           x->load[i]->dst);
	open_elements(e, g, full);
	hop_cuda_block(e, &x->first);
	for (int i = 0; i < x->n; i++)
		hop_c_line(e, "ahead%d[nth] = %s;", x->load[i]->dst, hop_c_reg(e, x->load[i]->dst));
	close_elements(e);
	for (int i = 0; i < x->n; i++)
		hop_c_set(e, x->load[i]->dst, (hop_dtype)x->load[i]->dtype,
		          hop_c_text(e, "ahead%d[nth]", x->load[i]->dst));
}

/* What becomes of an element. */
static void element(hop_cuemit *e, const hop_gemm *g, const ahead *x, const char *sum)
{
	const char *c = NULL;
	if (!g->epilogue.first || g->beta) {
		hop_addr to = at(e, &g->c, own(e, ROW), g->cs[0]);
		to = at(e, &to, own(e, COL), g->cs[1]);
		c = hop_cuda_at(e, &to);
	}
	if (g->beta)
		sum = hop_c_text(e, "%s + %s", c, sum);
	if (!g->epilogue.first) {
		hop_c_line(e, "%s = %s;", c, sum);
		return;
	}
	if (e->uses[g->ev])
		hop_c_line(e, "const %s value = %s;", hop_c_type(g->dtype), sum);
	hop_c_set(e, g->ev, g->dtype, "value");
	hop_cuda_block(e, &x->then);
}

/* Tiles of a row of tiles follow each other. */
static void put_tiles(hop_cuemit *e, const hop_gemm *g, const hop_gemm_plan *p, bool grid)
{
	ahead x = ahead_of(e, g, p);
	enum hop_who who = e->cu->who;
	hop_c_line(e, "const int64_t last_row = %s, last_col = %s;", hop_c_size(e, g->m),
	           hop_c_size(e, g->n));
	hop_c_line(e, "const int64_t across = (last_col + %d) / %d;", p->cols - 1, p->cols);
	hop_c_line(e, "const int64_t tiles = (last_row + %d) / %d * across;", p->rows - 1, p->rows);
	if (!e->cu->met)
		hop_c_line(e, "hop_barrier_block();");
	hop_c_open(e, "for (int64_t tile = %s; tile < tiles; tile += %s)", grid ? "hop_block_x()" : "0",
	           grid ? "hop_blocks_x()" : "1");
	hop_c_line(e, "const int64_t row0 = tile / across * %d, col0 = tile %% across * %d;", p->rows,
	           p->cols);
	e->cu->who = HOP_WHO_ONE;
	put_ahead(e, g, &x, is_full(g, p));
	put_sums(e, g, p);
	open_elements(e, g, is_full(g, p));
	element(e, g, &x, "sum[nth]");
	close_elements(e);
	e->cu->who = who;
	hop_c_close(e);
}

bool hop_cuda_gemm(hop_cuemit *e, const hop_stmt *s)
{
	static const char *const name[] = { "row", "col", "row0", "col0" };
	hop_gemm g = hop_gemm_of(s->tile);
	bool grid = s->bind.place == HOP_PLACE_GRID;
	int threads = e->cu->func[e->index].threads;
	hop_team team = { .threads = threads ? threads : HOP_CUDA_WARP, .resident = true };
	hop_gemm_plan p;
	if ((!grid && s->bind.place != HOP_PLACE_THREAD) || e->cu->who > HOP_WHO_BLOCK ||
	    g.a.nterm == HOP_MAXTERM || g.b.nterm == HOP_MAXTERM || g.c.nterm + 2 > HOP_MAXTERM)
		return false;
	if (hop_size_is(g.m, 0) || hop_size_is(g.n, 0))
		return true;
	if (e->f->level == HOP_LEVEL_KERNEL)
		team = e->f->team;
	p = hop_gemm_plan_of(s, &team);
	for (int i = 0; i < 4; i++)
		hop_c_set(e, own(e, i), HOP_i64, name[i]);
	hop_c_brace(e);
	put_type(e, &g, &p, threads);
	put_tiles(e, &g, &p, grid);
	hop_c_close(e);
	return true;
}

/* ---- for the head of a kernel ---- */

static int least_of(const hop_lfunc *f, const hop_block *b)
{
	int n = 1;
	for (const hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks((hop_stmt *)(uintptr_t)s, sub), m = 0;
		if (s->kind == HOP_L_TILE && s->tile->of == &hop_template_gemm)
			m = hop_gemm_plan_of(s, &f->team).least;
		n = m > n ? m : n;
		for (int i = 0; i < k && s->kind != HOP_L_TILE; i++) {
			m = least_of(f, sub[i]);
			n = m > n ? m : n;
		}
	}
	return n;
}

int hop_cuda_gemm_least(const hop_lfunc *f)
{
	return least_of(f, &f->body);
}
