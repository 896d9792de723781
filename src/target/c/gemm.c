/* gemm.c -- the matrix product template. A block of rows and one tile of columns are summed over k
 * by a function of the prelude, then handed to the epilogue element by element. Products with a
 * thin side are loops where the operands lie along k. Does not divide k among threads. */
#include <stdio.h>

#include "loop/gemm.h"
#include "target/c/emit.h"

/* Two shapes of tiles: few rows get wide ones. Sums over DEPTH of k start from zero and are added to
 * those before, so that errors do not grow with k. */
enum { DEPTH = 256, BLOCK = 64, THIN = 4 };

typedef struct shape {
	const char *name;
	int         rows, cols;          /* of a tile */
	int         block;               /* rows that share a packed panel of B */
} shape;

static shape shape_of(hop_dtype d, bool thin)
{
	int w = 64 / (int)hop_dtype_bytes(d);
	return thin ? (shape){ "row", 1, 2 * w, THIN } : (shape){ "rows", 4, w, BLOCK };
}

/* ---- the prelude ---- */

/* A tile: one loop over columns that does all rows, so that every compiler keeps the sums in
 * registers. Rows that are not there are those that are, again. */
static void put_tile(hop_buf *o, hop_dtype d, const shape *h)
{
	const char *n = hop_dtype_name(d), *t = hop_c_type(d);

	hop_putf(o, "HOP_FN void hop_tile_%s_%s(%s (*restrict sum)[%d], const hop_%s *a, int64_t ar, "
	            "int64_t ac,\n\t\tconst hop_%s *b, int64_t br, int64_t m, int64_t k)\n{\n",
	         h->name, n, t, h->cols, n, n);
	for (int r = 0; r < h->rows; r++) {
		hop_putf(o, "\t%s s%d[%d] = { 0 };\n", t, r, h->cols);
		hop_putf(o, "\tconst hop_%s *const a%d = a + (m > %d ? %d : 0) * ar;\n", n, r, r, r);
	}
	hop_putf(o, "\tfor (int64_t q = 0; q < k; q++) {\n\t\tconst hop_%s *const y = b + q * br;\n",
	         n);
	for (int r = 0; r < h->rows; r++)
		hop_putf(o, "\t\tconst %s x%d = a%d[q * ac];\n", t, r, r);
	hop_putf(o, "\t\tfor (int c = 0; c < %d; c++) {\n", h->cols);
	for (int r = 0; r < h->rows; r++)
		hop_putf(o, "\t\t\ts%d[c] += x%d * y[c];\n", r, r);
	hop_put(o, "\t\t}\n\t}\n");
	for (int r = 0; r < h->rows; r++)
		hop_putf(o, "\tfor (int c = 0; c < %d && m > %d; c++)\n\t\tsum[%d][c] += s%d[c];\n",
		         h->cols, r, r, r);
	hop_put(o, "}\n");
}

/* A block: what of B is not next to each other, or is the last columns, is copied to where it is. */
static const char block[] =
	"/* sum[r][c] = sum over q < k of a[r * ar + q * ac] * b[q * br + c * bc], m rows, n columns. */\n"
	"HOP_FN void hop_product_%s_%s(%s (*restrict sum)[%d], const hop_%s *a, int64_t ar, int64_t ac,\n"
	"\t\tconst hop_%s *b, int64_t br, int64_t bc, int64_t m, int64_t n, int64_t k)\n"
	"{\n"
	"\t%s panel[%d][%d];\n"
	"\tfor (int64_t r = 0; r < m; r++)\n"
	"\t\tfor (int c = 0; c < %d; c++)\n"
	"\t\t\tsum[r][c] = 0;\n"
	"\tfor (int64_t q0 = 0; q0 < k; q0 += %d) {\n"
	"\t\tconst int64_t depth = hop_min_i64(k - q0, %d);\n"
	"\t\tconst bool plain = bc == 1 && n == %d;\n"
	"\t\tfor (int64_t q = 0; q < depth && !plain; q++)\n"
	"\t\t\tfor (int64_t c = 0; c < %d; c++)\n"
	"\t\t\t\tpanel[q][c] = c < n ? b[(q0 + q) * br + c * bc] : 0;\n"
	"\t\tfor (int64_t r = 0; r < m; r += %d)\n"
	"\t\t\thop_tile_%s_%s(sum + r, a + r * ar + q0 * ac, ar, ac,\n"
	"\t\t\t\tplain ? b + q0 * br : (const hop_%s *)panel[0], plain ? br : %d, m - r, depth);\n"
	"\t}\n"
	"}\n";

void hop_c_gemm_prelude(hop_buf *o)
{
	for (hop_dtype d = 0; d < HOP_NDTYPE; d++)
		for (int thin = 0; thin < 2 && hop_dtype_real(d) && !hop_dtype_packed(d); thin++) {
			const char *n = hop_dtype_name(d), *t = hop_c_type(d);
			shape       h = shape_of(d, thin);

			hop_put(o, "\n");
			put_tile(o, d, &h);
			hop_putf(o, block, h.name, n, t, h.cols, n, n, t, DEPTH, h.cols, h.cols, DEPTH, DEPTH,
			         h.cols, h.cols, h.rows, h.name, n, n, h.cols);
		}
}

/* ---- one product ---- */

/* The position has registers after the program's. */
enum { ROW, COL };

static hop_reg own(const hop_cemit *e, int i)
{
	return e->f->nreg + 1 + i;
}

static hop_addr at(hop_cemit *e, const hop_addr *a, const hop_size *stride, int i, int j)
{
	hop_addr x = *a;
	if (i >= 0)
		hop_addr_add(&e->env->tmp, &x, own(e, i), stride[0]);
	if (j >= 0)
		hop_addr_add(&e->env->tmp, &x, own(e, j), stride[1]);
	return x;
}

static void position(hop_cemit *e, const char *row, const char *col)
{
	hop_c_set(e, own(e, ROW), HOP_i64, row);
	hop_c_set(e, own(e, COL), HOP_i64, col);
}

/* One element, whose sum is a text. */
static void element(hop_cemit *e, const hop_gemm *g, const char *i, const char *j, const char *sum)
{
	const char *c = NULL;
	position(e, i, j);
	if (!g->epilogue.first || g->beta) {
		hop_addr x = at(e, &g->c, g->cs, ROW, COL);
		c = hop_c_at(e, &x);
	}
	if (g->beta)
		sum = hop_c_text(e, "%s + %s", c, sum);
	if (!g->epilogue.first) {
		hop_c_line(e, "%s = %s;", c, sum);
		return;
	}
	if (e->uses[g->ev])
		hop_c_line(e, "const %s r%d = %s;", hop_c_type(g->dtype), g->ev, sum);
	hop_c_set(e, g->em, HOP_i64, i);
	hop_c_set(e, g->en, HOP_i64, j);
	hop_c_set(e, g->ev, g->dtype, hop_c_text(e, "r%d", g->ev));
	hop_c_block(e, &g->epilogue);
}

/* ---- in tiles ---- */

static bool is_thin(hop_size s)
{
	return hop_size_const(s) && s.k < THIN;
}

/* The product's transpose: B's columns are the rows. */
static bool is_turned(const hop_gemm *g)
{
	return is_thin(g->n) && !is_thin(g->m) && hop_size_is(g->as[0], 1);
}

static void call_product(hop_cemit *e, const hop_gemm *g, const shape *h, const char *i,
                         const char *j)
{
	bool     t = is_turned(g);
	hop_addr a, b;

	if (t)
		position(e, hop_c_text(e, "%s0", j), hop_c_text(e, "%s0", i));
	else
		position(e, hop_c_text(e, "%s0", i), hop_c_text(e, "%s0", j));
	a = at(e, &g->a, g->as, ROW, -1);
	b = at(e, &g->b, g->bs, -1, COL);
	hop_c_line(e, "%s sum[%d][%d];", hop_c_type(g->dtype), h->block, h->cols);
	hop_c_line(e, "hop_product_%s_%s(sum, &%s, %s, %s,", h->name, hop_dtype_name(g->dtype),
	           hop_c_at(e, t ? &b : &a), hop_c_size(e, t ? g->bs[1] : g->as[0]),
	           hop_c_size(e, t ? g->bs[0] : g->as[1]));
	hop_c_line(e, "\t&%s, %s, %s,", hop_c_at(e, t ? &a : &b),
	           hop_c_size(e, t ? g->as[1] : g->bs[0]), hop_c_size(e, t ? g->as[0] : g->bs[1]));
	hop_c_line(e, "\t%s1 - %s0, %s1 - %s0, %s);", i, i, j, j, hop_c_size(e, g->k));
}

/* Rows from .. to-1. */
static void tiles(hop_cemit *e, const hop_stmt *s, const char *from, const char *to)
{
	hop_gemm        made = hop_gemm_of(s->tile);
	const hop_gemm *g = &made;
	bool            t = is_turned(g);
	shape           h = shape_of(g->dtype, t || is_thin(g->m));
	const char     *n = hop_c_fixed(e, t ? g->m : g->n, ++e->ngemm, "cols");
	const char     *i = hop_c_var(e, own(e, ROW)), *j = hop_c_var(e, own(e, COL));

	hop_c_open(e, "for (int64_t %s0 = %s; %s0 < %s; %s0 += %d)", i, from, i, to, i, h.block);
	hop_c_line(e, "const int64_t %s1 = hop_min_i64(%s0 + %d, %s);", i, i, h.block, to);
	hop_c_open(e, "for (int64_t %s0 = 0; %s0 < %s; %s0 += %d)", j, j, n, j, h.cols);
	hop_c_line(e, "const int64_t %s1 = hop_min_i64(%s0 + %d, %s);", j, j, h.cols, n);
	call_product(e, g, &h, i, j);
	hop_c_open(e, "for (int64_t %s = %s0; %s < %s1; %s++)", i, i, i, i, i);
	hop_c_line(e, "HOP_PARALLEL");
	hop_c_open(e, "for (int64_t %s = %s0; %s < %s1; %s++)", j, j, j, j, j);
	element(e, g, t ? j : i, t ? i : j, hop_c_text(e, "sum[%s - %s0][%s - %s0]", i, i, j, j));
	for (int q = 0; q < 4; q++)
		hop_c_close(e);
	e->nvar -= 2;
}

void hop_c_gemm(hop_cemit *e, const hop_stmt *s)
{
	hop_gemm    g = hop_gemm_of(s->tile);
	bool        turn = is_turned(&g), along = hop_size_is(g.as[1], 1) && hop_size_is(g.bs[0], 1);
	int64_t     least = turn ? 0 : hop_c_worth(s);
	const char *m;

	if (!turn && along && (is_thin(g.m) || is_thin(g.n)) && hop_c_tile_loops(e, s))
		return;
	m = hop_c_fixed(e, turn ? g.n : g.m, ++e->ngemm, "rows");
	if (least) {
		hop_c_fork(e, s, m, least, shape_of(g.dtype, is_thin(g.m)).rows, tiles);
		return;
	}
	e->nest++;
	tiles(e, s, "0", m);
	e->nest--;
}
