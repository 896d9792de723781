/* formula_fns.c -- the functions of formulas: the rows of formula.def, how their signatures
 * read, and which name is like another. It evaluates nothing: formula.c does. */
#include "trace/formula.h"
#include "hop/counts.h"
#include "hop/linalg.h"
#include "hop/nn.h"
#include "hop/ops.h"
#include "hop/shape.h"

#include <ctype.h>
#include <string.h>

/* ---- rows ---- */

static void no_axes(hop_trace *t, void *arg)
{
	const hop_fx_call *c = arg;
	hop_trace_fail(t, HOP_EVALUE, "%s: a list must have one element for each axis of the value",
	               c->name);
}

/* Has the list one element for each axis of the value? */
static bool per_axis(hop_fx_call *c, int value, int list)
{
	int rank = hop_at_rank(c->t, c->file, c->line, c->p[value].v);
	if (!hop_failed(c->t) && rank != c->p[list].n)
		hop_enter(c->t, c->name, c->file, c->line, no_axes, c);
	return !hop_failed(c->t);
}

static void many_caps(hop_trace *t, void *arg)
{
	const hop_fx_call *c = arg;
	hop_trace_fail(t, HOP_EVALUE, "%s: there is one capacity", c->name);
}

/* What a function of counts.h finds, or how many: parameter `cap` is the capacity, if there is
 * one, behind it is the fill. */
enum found { NONZERO, MASKED, ROWS, UNIQUE };
static hop_value found(hop_fx_call *c, enum found what, int cap, int which)
{
	hop_count_opts o = { .size = sizeof o };
	hop_value out[2] = { { 0, 0 }, { 0, 0 } };
	if (cap && c->p[cap].n > 1)
		hop_enter(c->t, c->name, c->file, c->line, many_caps, c);
	if (cap) {
		o.fill = c->p[cap + 1].v;
		o.has_cap = c->p[cap].n == 1;
	}
	if (o.has_cap)
		o.cap = c->p[cap].sizes[0];
	switch (what) {
	case NONZERO:
		hop_at_nonzero(c->t, c->file, c->line, c->p[0].v, &o, out);
		break;
	case MASKED:
		hop_at_masked_select(c->t, c->file, c->line, c->p[0].v, c->p[1].v, &o, out);
		break;
	case ROWS:
		hop_at_compact(c->t, c->file, c->line, c->p[0].v, c->p[1].v, &o, out);
		break;
	case UNIQUE:
		hop_at_unique(c->t, c->file, c->line, c->p[0].v, &o, out);
		break;
	}
	return out[which];
}

#define HERE       c->t, c->file, c->line
#define NOTHING    ((hop_value){ 0, 0 })
#define V(k)       c->p[k].v
#define I(k)       c->p[k].i
#define F(k)       c->p[k].f
#define T(k)       c->p[k].d
#define N(k)       c->p[k].n
#define SIZE(k)    c->p[k].size
#define INTS(k)    c->p[k].is
#define SIZES(k)   c->p[k].sizes
#define VALUES(k)  c->p[k].vs
#define REDUCE(r)  hop_at_reduce(HERE, HOP_REDUCE_##r, V(0), N(1), INTS(1))
#define CUM(r)     hop_at_cum(HERE, HOP_CUM_##r, V(0), I(1), 0)
#define SCATTER(m) hop_at_scatter(HERE, HOP_SCATTER_##m, V(0), I(1), V(2), V(3))

#define HOP_FX(name, sig, e) static hop_value fx_##name(hop_fx_call *c) { return e; }
#include "trace/formula.def"
#undef HOP_FX

static const hop_fx_row rows[] = {
#define HOP_FX(name, sig, e) { #name, sig, fx_##name },
#include "trace/formula.def"
#undef HOP_FX
};
enum { NROW = sizeof rows / sizeof *rows };

#undef HERE
#undef NOTHING
#undef V
#undef I
#undef F
#undef T
#undef N
#undef SIZE
#undef INTS
#undef SIZES
#undef VALUES
#undef REDUCE
#undef CUM
#undef SCATTER

const hop_fx_row *hop_fx_row_at(int k)
{
	return k < NROW ? &rows[k] : NULL;
}

static bool is(const char *name, const char *s, size_t n)
{
	return strlen(name) == n && !memcmp(name, s, n);
}

/* An elementwise row of up to three operands without attributes. */
static bool point(int op)
{
	const hop_opinfo *o = &hop_optab[op];
	return o->flags & HOP_F_E && !o->nfield && o->nin > 0 && o->nin <= 3;
}

int hop_fx_find(const char *s, size_t n, bool *out_point)
{
	*out_point = false;
	for (int k = 0; k < NROW; k++)
		if (is(rows[k].name, s, n))
			return k;
	*out_point = true;
	for (int op = 1; op < HOP_NOPS; op++)
		if (point(op) && is(hop_optab[op].name, s, n))
			return op;
	return -1;
}

const char *hop_fx_point_sig(int op)
{
	static const char *const sig[] = { "", "x", "x, y", "p, x, y" };
	return sig[hop_optab[op].nin];
}

/* ---- signatures ---- */

int hop_fx_params(const char *sig, hop_fx_param *out)
{
	static const char *const kind[] = {
		[HOP_FXP_VALUE] = "", [HOP_FXP_VALUES] = "values ", [HOP_FXP_INT] = "int ",
		[HOP_FXP_INTS] = "ints ", [HOP_FXP_SIZE] = "size ", [HOP_FXP_SIZES] = "sizes ",
		[HOP_FXP_REAL] = "real ", [HOP_FXP_DTYPE] = "dtype ",
	};
	int n = 0;
	for (const char *s = sig; *s; n++) {
		HOP_ASSERT(n < HOP_FX_PARAMS);
		size_t len = strcspn(s, ",");
		hop_fx_param p = { .kind = HOP_FXP_VALUE };
		for (int k = HOP_FXP_VALUES; k <= HOP_FXP_DTYPE; k++)
			if (!strncmp(s, kind[k], strlen(kind[k])))
				p.kind = (enum hop_fx_param_kind)k;
		p.name = s + strlen(kind[p.kind]);
		const char *eq = memchr(s, '=', len);
		p.other = eq ? eq + 1 : NULL;
		p.n = (size_t)((eq ? eq : s + len) - p.name);
		out[n] = p;
		s += len + strspn(s + len, ", ");
	}
	return n;
}

bool hop_fx_param_is(const hop_fx_param *p, const char *s, size_t n)
{
	for (const char *q = p->name, *end = p->name + p->n; q < end;) {
		const char *bar = memchr(q, '|', (size_t)(end - q));
		size_t len = (size_t)((bar ? bar : end) - q);
		if (len == n && !memcmp(q, s, n))
			return true;
		q += len + 1;
	}
	return false;
}

/* ---- names alike ---- */

enum { LONGEST = 32 };

/* Letters to change, add or leave out (Wagner and Fischer, 1974); small or large is the same. */
static int distance(const char *a, size_t n, const char *b, size_t m)
{
	int row[LONGEST + 1];
	if (n > LONGEST || m > LONGEST)
		return LONGEST;
	for (size_t j = 0; j <= m; j++)
		row[j] = (int)j;
	for (size_t i = 1; i <= n; i++) {
		int diag = row[0];
		row[0] = (int)i;
		for (size_t j = 1; j <= m; j++) {
			int d = diag +
			        (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
			diag = row[j];
			d = d < row[j] + 1 ? d : row[j] + 1;
			row[j] = d < row[j - 1] + 1 ? d : row[j - 1] + 1;
		}
	}
	return row[m];
}

struct search {
	const char *s;
	size_t      n;
	int         best;
	hop_fx_name like;
};

static void compare(struct search *q, const char *name, size_t n)
{
	int d = distance(q->s, q->n, name, n);
	if (d < q->best) {
		q->best = d;
		q->like = (hop_fx_name){ name, n };
	}
}

/* In half of the letters at most: short names that differ are other names. */
hop_fx_name hop_fx_like(const char *s, size_t n, bool call, int narg, const hop_fx_name *arg)
{
	struct search q = { .s = s, .n = n, .best = n < 3 ? 1 : n < 4 ? 2 : n < 8 ? 3 : 4 };
	for (int k = 0; k < narg && !call; k++)
		compare(&q, arg[k].s, arg[k].n);
	for (int k = 0; k < NROW && call; k++)
		compare(&q, rows[k].name, strlen(rows[k].name));
	for (int op = 1; op < HOP_NOPS && call; op++)
		if (point(op))
			compare(&q, hop_optab[op].name, strlen(hop_optab[op].name));
	return q.like;
}
