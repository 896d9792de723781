/* gemm.c -- the matrix product template: tiles of a few rows and columns, each summed over k in
 * local variables by a function of the prelude, then handed to the epilogue element by element.
 * Does not pack its operands. */
#include <stdio.h>

#include "target/c/emit.h"

enum { ROWS = 4, COLS = 16, KB = 512 };

/* A tile of m x n <= ROWS x COLS sums. Sums over KB of k start from zero and are added to those
 * before, so that errors do not grow with k. */
static const char tile[] =
	"\n/* out[r][c] = sum over q < k of a[r * ar + q * ac] * b[q * br + c * bc]. */\n"
	"HOP_FN void hop_tile_%s(%s (*restrict out)[%d], const %s *a, int64_t ar, int64_t ac,\n"
	"\t\tconst %s *b, int64_t br, int64_t bc, int64_t m, int64_t n, int64_t k)\n"
	"{\n"
	"\tfor (int r = 0; r < %d; r++)\n"
	"\t\tfor (int c = 0; c < %d; c++)\n"
	"\t\t\tout[r][c] = 0;\n"
	"\tfor (int64_t q0 = 0; q0 < k; q0 += %d) {\n"
	"\t\tconst int64_t q1 = q0 + %d < k ? q0 + %d : k;\n"
	"\t\t%s s[%d][%d] = { { 0 } };\n"
	"\t\tif (m == %d && n == %d && bc == 1) {\n"
	"\t\t\tfor (int64_t q = q0; q < q1; q++)\n"
	"\t\t\t\tfor (int r = 0; r < %d; r++)\n"
	"\t\t\t\t\tfor (int c = 0; c < %d; c++)\n"
	"\t\t\t\t\t\ts[r][c] += a[r * ar + q * ac] * b[q * br + c];\n"
	"\t\t} else {\n"
	"\t\t\tfor (int64_t q = q0; q < q1; q++)\n"
	"\t\t\t\tfor (int64_t r = 0; r < m; r++)\n"
	"\t\t\t\t\tfor (int64_t c = 0; c < n; c++)\n"
	"\t\t\t\t\t\ts[r][c] += a[r * ar + q * ac] * b[q * br + c * bc];\n"
	"\t\t}\n"
	"\t\tfor (int r = 0; r < %d; r++)\n"
	"\t\t\tfor (int c = 0; c < %d; c++)\n"
	"\t\t\t\tout[r][c] += s[r][c];\n"
	"\t}\n"
	"}\n";

void hop_c_gemm_prelude(hop_buf *o)
{
	for (hop_dtype d = 0; d < HOP_NDTYPE; d++) {
		const char *n = hop_dtype_name(d), *t = hop_c_type(d);
		char        mem[32];

		if (!hop_dtype_real(d) || hop_dtype_packed(d))
			continue;
		snprintf(mem, sizeof mem, "hop_%s", n);
		hop_putf(o, tile, n, t, COLS, mem, mem, ROWS, COLS, KB, KB, KB, t, ROWS, COLS, ROWS, COLS,
		         ROWS, COLS, ROWS, COLS);
	}
}

/* Rows and columns are two registers after the program's. */
static hop_addr at(hop_cemit *e, const hop_addr *a, const hop_size *stride, bool row, bool col)
{
	hop_addr x = *a;
	if (row)
		hop_addr_add(&e->env->tmp, &x, e->f->nreg + 1, stride[0]);
	if (col)
		hop_addr_add(&e->env->tmp, &x, e->f->nreg + 2, stride[1]);
	return x;
}

static void position(hop_cemit *e, const char *row, const char *col)
{
	hop_c_set(e, e->f->nreg + 1, HOP_i64, row);
	hop_c_set(e, e->f->nreg + 2, HOP_i64, col);
}

/* One element, whose sum is a text. */
static void element(hop_cemit *e, const hop_gemm *g, const char *i, const char *j, const char *sum)
{
	const char *c = NULL;
	position(e, i, j);
	if (!g->epilogue.first || g->beta) {
		hop_addr x = at(e, &g->c, g->cs, true, true);
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

static void call_tile(hop_cemit *e, const hop_gemm *g, const char *i, const char *j)
{
	hop_addr a, b;
	position(e, hop_c_text(e, "%s0", i), hop_c_text(e, "%s0", j));
	a = at(e, &g->a, g->as, true, false);
	b = at(e, &g->b, g->bs, false, true);
	hop_c_line(e, "%s sum[%d][%d];", hop_c_type(g->dtype), ROWS, COLS);
	hop_c_line(e, "hop_tile_%s(sum, &%s, %s, %s,", hop_dtype_name(g->dtype), hop_c_at(e, &a),
	           hop_c_size(e, g->as[0]), hop_c_size(e, g->as[1]));
	hop_c_line(e, "\t&%s, %s, %s,", hop_c_at(e, &b), hop_c_size(e, g->bs[0]),
	           hop_c_size(e, g->bs[1]));
	hop_c_line(e, "\t%s1 - %s0, %s1 - %s0, %s);", i, i, j, j, hop_c_size(e, g->k));
}

/* Rows from .. to-1. */
static void rows(hop_cemit *e, const hop_stmt *s, const char *from, const char *to)
{
	const hop_gemm *g = s->gemm;
	const char     *n = hop_c_fixed(e, g->n, e->ngemm++, "cols");
	const char     *i = hop_c_var(e, e->f->nreg + 1), *j = hop_c_var(e, e->f->nreg + 2);

	hop_c_open(e, "for (int64_t %s0 = %s; %s0 < %s; %s0 += %d)", i, from, i, to, i, ROWS);
	hop_c_line(e, "const int64_t %s1 = hop_min_i64(%s0 + %d, %s);", i, i, ROWS, to);
	hop_c_open(e, "for (int64_t %s0 = 0; %s0 < %s; %s0 += %d)", j, j, n, j, COLS);
	hop_c_line(e, "const int64_t %s1 = hop_min_i64(%s0 + %d, %s);", j, j, COLS, n);
	call_tile(e, g, i, j);
	hop_c_open(e, "for (int64_t %s = %s0; %s < %s1; %s++)", i, i, i, i, i);
	hop_c_line(e, "HOP_PARALLEL");
	hop_c_open(e, "for (int64_t %s = %s0; %s < %s1; %s++)", j, j, j, j, j);
	element(e, g, i, j, hop_c_text(e, "sum[%s - %s0][%s - %s0]", i, i, j, j));
	for (int q = 0; q < 4; q++)
		hop_c_close(e);
	e->nvar -= 2;
}

void hop_c_gemm(hop_cemit *e, const hop_stmt *s)
{
	int64_t     least = hop_c_worth(e, s);
	const char *m = hop_c_fixed(e, s->gemm->m, e->ngemm++, "rows");

	if (least) {
		hop_c_fork(e, s, m, least, ROWS, rows);
		return;
	}
	e->nest++;
	rows(e, s, "0", m);
	e->nest--;
}
