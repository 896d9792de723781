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

/* One element: the sum is in ev. */
static void element(hop_cemit *e, const hop_gemm *g, const char *i, const char *j, const char *sum,
                    const char *const *cs)
{
	const char *c = g->epilogue.first && !g->beta ? NULL :
		hop_c_text(e, "((hop_%s *)%s)[%s * %s + %s * %s]", hop_dtype_name(g->dtype),
		           hop_c_ptr(e, &g->c), i, cs[0], j, cs[1]);
	if (g->beta)
		sum = hop_c_text(e, "%s + %s", c, sum);
	if (!g->epilogue.first) {
		hop_c_line(e, "%s = %s;", c, sum);
		return;
	}
	if (e->uses[g->ev])
		hop_c_line(e, "const %s r%d = %s;", hop_c_type(g->dtype), g->ev, sum);
	hop_c_set(e, g->ev, g->dtype, hop_c_text(e, "r%d", g->ev));
	hop_c_block(e, &g->epilogue);
}

/* A stride as a factor: its variable or its number. */
static void strides(hop_cemit *e, const hop_size *s, const char **out)
{
	for (int i = 0; i < 2; i++)
		out[i] = hop_c_text(e, "(%s)", hop_c_size(e, s[i]));
}

void hop_c_gemm(hop_cemit *e, const hop_stmt *s)
{
	const hop_gemm *g = s->gemm;
	const char     *as[2], *bs[2], *cs[2] = { 0 }, *m, *n, *k, *i, *j, *t = hop_dtype_name(g->dtype);

	hop_c_brace(e);
	e->nest++;
	m = hop_c_fixed(e, g->m, g->ev, "mm");
	n = hop_c_fixed(e, g->n, g->ev, "nn");
	k = hop_c_fixed(e, g->k, g->ev, "kk");
	strides(e, g->as, as);
	strides(e, g->bs, bs);
	if (!g->epilogue.first || g->beta)
		strides(e, g->cs, cs);
	i = hop_c_var(e, g->em);
	j = hop_c_var(e, g->en);
	hop_c_open(e, "for (int64_t %s0 = 0; %s0 < %s; %s0 += %d)", i, i, m, i, ROWS);
	hop_c_open(e, "for (int64_t %s0 = 0; %s0 < %s; %s0 += %d)", j, j, n, j, COLS);
	hop_c_line(e, "const int64_t %s1 = %s0 + %d < %s ? %s0 + %d : %s;", i, i, ROWS, m, i, ROWS, m);
	hop_c_line(e, "const int64_t %s1 = %s0 + %d < %s ? %s0 + %d : %s;", j, j, COLS, n, j, COLS, n);
	hop_c_line(e, "%s sum[%d][%d];", hop_c_type(g->dtype), ROWS, COLS);
	hop_c_line(e, "hop_tile_%s(sum, (const hop_%s *)%s + %s0 * %s, %s, %s,", t, t,
	           hop_c_ptr(e, &g->a), i, as[0], as[0], as[1]);
	hop_c_line(e, "\t(const hop_%s *)%s + %s0 * %s, %s, %s, %s1 - %s0, %s1 - %s0, %s);", t,
	           hop_c_ptr(e, &g->b), j, bs[1], bs[0], bs[1], i, i, j, j, k);
	hop_c_open(e, "for (int64_t %s = %s0; %s < %s1; %s++)", i, i, i, i, i);
	hop_c_line(e, "HOP_PARALLEL");
	hop_c_open(e, "for (int64_t %s = %s0; %s < %s1; %s++)", j, j, j, j, j);
	element(e, g, i, j, hop_c_text(e, "sum[%s - %s0][%s - %s0]", i, i, j, j), cs);
	for (int q = 0; q < 4; q++)
		hop_c_close(e);
	e->nvar -= 2;
	e->nest--;
	hop_c_close(e);
}
