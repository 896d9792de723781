/* formula.c -- formulas: the names that come with the values, the cache of trees, and their
 * evaluation by the public calls that a reader would have written. It reads no formula itself:
 * formula_parse.c does. */
#include "trace/formula.h"
#include "trace/formula_parse.h"
#include "trace/raw.h"
#include "hop/formula.h"
#include "hop/shape.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- names ---- */

/* Where the argument that starts at s ends: at a comma outside all brackets and quotes. */
static const char *name_end(const char *s)
{
	int deep = 0;
	char quote = 0;
	for (; *s; s++) {
		if (quote) {
			if (*s == '\\' && s[1])
				s++;
			else if (*s == quote)
				quote = 0;
		} else if (*s == '"' || *s == '\'') {
			quote = *s;
		} else if (strchr("([{", *s)) {
			deep++;
		} else if (strchr(")]}", *s)) {
			deep--;
		} else if (*s == ',' && deep <= 0) {
			break;
		}
	}
	return s;
}

/* HOP_AS(name, value) is the name. */
static hop_fx_name renamed(hop_fx_name a)
{
	static const char as[] = "HOP_AS(";
	if (a.n < sizeof as || memcmp(a.s, as, sizeof as - 1))
		return a;
	const char *s = a.s + sizeof as - 1;
	const char *comma = memchr(s, ',', a.n - (sizeof as - 1));
	return comma ? (hop_fx_name){ s, (size_t)(comma - s) } : a;
}

/* The names, without blanks, as many as there are values; NULL after a failure. */
static hop_fx_name *split(hop_trace *t, const char *names, int n)
{
	hop_arena *tmp = &hop_env_of(t)->tmp;
	hop_fx_name *out = HOP_NEWN(tmp, hop_fx_name, n);
	char *to = HOP_NEWN(tmp, char, strlen(names) + 1);
	int k = 0;
	for (const char *s = names; *s || k < n;) {
		const char *end = name_end(s);
		char *from = to;
		for (; s < end; s++)
			if (!isspace((unsigned char)*s))
				*to++ = *s;
		if (to == from || k == n) {
			hop_trace_fail(t, HOP_EUSE, "formula: %d values, and these names: %s", n, names);
			return NULL;
		}
		out[k++] = renamed((hop_fx_name){ from, (size_t)(to - from) });
		s += *s == ',';
	}
	return out;
}

/* ---- the cache ---- */

struct formula {
	const char      *text, *names;
	int              n;
	const hop_value *v;
	const hop_fx    *tree;
};

static bool usable(hop_trace *t, const struct formula *f)
{
	if (!f->text || !f->names || f->n < 0 || (f->n && !f->v))
		hop_trace_fail(t, HOP_EUSE, "formula: no text, no names or no values");
	else if (f->n > HOP_FX_ARGS)
		hop_trace_fail(t, HOP_EVALUE, "formula: %d values: %d are the most", f->n, HOP_FX_ARGS);
	else if (strlen(f->text) > HOP_FX_TEXT || strlen(f->names) > HOP_FX_TEXT)
		hop_trace_fail(t, HOP_EVALUE, "formula: a text of more than %d bytes", HOP_FX_TEXT);
	return !t->b.st;
}

/* A tree stays with the context, as the texts that it was made from do. */
static void find_tree(hop_trace *t, void *arg)
{
	struct formula *f = arg;
	if (!usable(t, f))
		return;
	hop_env *e = hop_env_of(t);
	hop_mark m = hop_mark_at(&e->tmp);
	size_t a = strlen(f->text) + 1, b = strlen(f->names) + 1;
	uint64_t head[2] = { 'e', (uint64_t)f->n };
	char *key = HOP_NEWN(&e->tmp, char, sizeof head + a + b);
	memcpy(key, head, sizeof head);
	memcpy(key + sizeof head, f->text, a);
	memcpy(key + sizeof head + a, f->names, b);
	const hop_fx *tree = hop_ctx_memo_get(e, key, sizeof head + a + b);
	if (!tree) {
		hop_fx_name *names = split(t, f->names, f->n);
		tree = names ? hop_fx_parse(t, f->text, f->n, names) : NULL;
		if (tree)
			tree = hop_ctx_memo_put(e, key, sizeof head + a + b, (void *)tree);
	}
	f->tree = tree;
	hop_rewind(&e->tmp, m);
}

/* ---- evaluation ---- */

struct eval {
	hop_trace      *t;
	const char     *file;
	int             line;
	const struct formula *f;
	hop_value       val[HOP_FX_NODES];
	hop_value       list[HOP_FX_ARGS];
};

#define HERE(e) (e)->t, (e)->file, (e)->line

static void make_refusal(hop_trace *t, void *arg)
{
	hop_trace_fail(t, HOP_EVALUE, "%s", (const char *)arg);
}

__attribute__((format(printf, 2, 3)))
static void refuse(struct eval *e, const char *fmt, ...)
{
	char text[160];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	hop_enter(e->t, "formula", e->file, e->line, make_refusal, text);
}

static const hop_fx_node *node(const struct eval *e, int k)
{
	return &e->f->tree->node[k];
}

static int number(struct eval *e, int k);

/* Its depth is bounded: hop_fx_size looked. */
static hop_dim size_of(struct eval *e, int k)
{
	const hop_fx_node *n = node(e, k);
	const uint16_t *kid = hop_fx_kids(e->f->tree, n);
	if (n->kind == HOP_FX_INT)
		return hop_n(n->u.i);
	if (n->kind == HOP_FX_CALL)
		return hop_at_dim_of(HERE(e), e->val[kid[0]], number(e, kid[1]));
	hop_dim a = n->nkid == 1 ? hop_n(0) : size_of(e, kid[0]);
	hop_dim b = size_of(e, kid[n->nkid - 1]);
	return hop_at_dim_op(HERE(e), (enum hop_dim_op)hop_fx_dim_op(n->row), a, b);
}

/* A size that is a small number: an axis, a step. */
static int number(struct eval *e, int k)
{
	hop_dim d = size_of(e, k);
	if (d.e)
		refuse(e, "formula: a size that is not known here stands where a number must");
	else if (d.k != (int)d.k)
		refuse(e, "formula: %lld is too large", (long long)d.k);
	return d.e ? 0 : (int)d.k;
}

static void give_list(struct eval *e, enum hop_fx_param_kind kind, const hop_fx_node *n,
                      hop_fx_given *out)
{
	const uint16_t *kid = hop_fx_kids(e->f->tree, n);
	out->n = n->nkid;
	out->vs = e->list;
	for (int i = 0; i < n->nkid; i++) {
		if (kind == HOP_FXP_VALUES)
			e->list[i] = e->val[kid[i]];
		else if (kind == HOP_FXP_INTS)
			out->is[i] = number(e, kid[i]);
		else
			out->sizes[i] = size_of(e, kid[i]);
	}
}

static void give(struct eval *e, enum hop_fx_param_kind kind, int k, hop_fx_given *out)
{
	if (k == HOP_FX_NONE)
		return;
	const hop_fx_node *n = node(e, k);
	switch (kind) {
	case HOP_FXP_VALUE:
		out->v = e->val[k];
		break;
	case HOP_FXP_VALUES: case HOP_FXP_INTS: case HOP_FXP_SIZES:
		give_list(e, kind, n, out);
		break;
	case HOP_FXP_INT:
		out->i = number(e, k);
		break;
	case HOP_FXP_SIZE:
		out->size = size_of(e, k);
		break;
	case HOP_FXP_REAL:
		out->f = n->kind == HOP_FX_INT ? (double)n->u.i : n->u.f;
		break;
	case HOP_FXP_DTYPE:
		out->d = (hop_dtype)n->row;
		break;
	}
}

static hop_value call(struct eval *e, const hop_fx_node *n, const uint16_t *kid)
{
	const hop_fx_row *row = hop_fx_row_at(n->row);
	hop_fx_param param[HOP_FX_PARAMS];
	hop_fx_call c = { .t = e->t, .file = e->file, .line = e->line, .name = row->name };
	int np = hop_fx_params(row->sig, param);
	for (int k = 0; k < np; k++)
		give(e, param[k].kind, kid[k], &c.p[k]);
	return hop_failed(e->t) ? (hop_value){ 0, 0 } : row->call(&c);
}

static hop_value point(struct eval *e, const hop_fx_node *n, const uint16_t *kid)
{
	hop_value in[3];
	for (int i = 0; i < n->nkid; i++) {
		in[i] = e->val[kid[i]];
		if (n->kind == HOP_FX_TRUTH && hop_at_dtype_of(HERE(e), in[i]) != HOP_bool &&
		    !hop_failed(e->t))
			refuse(e, "formula: && || ! are for truths, and this is a number: compare it, or call "
			       "and, or, not for its bits");
	}
	if (hop_failed(e->t))
		return (hop_value){ 0, 0 };
	return hop_at_point(HERE(e), n->row, n->nkid, in);
}

/* ---- indices ---- */

static hop_dim plus(struct eval *e, hop_dim a, enum hop_dim_op op, hop_dim b)
{
	return hop_at_dim_op(HERE(e), op, a, b);
}

/* A bound; numbers below 0 count from the end. */
static hop_dim bound(struct eval *e, int k, hop_dim size, hop_dim other)
{
	if (k == HOP_FX_NONE)
		return other;
	hop_dim d = size_of(e, k);
	return !d.e && d.k < 0 ? plus(e, size, HOP_DIM_ADD, d) : d;
}

/* As Python's, except that bounds outside the axis are refused. */
static hop_value sliced(struct eval *e, hop_value x, int axis, const hop_fx_node *n)
{
	const uint16_t *kid = hop_fx_kids(e->f->tree, n);
	int64_t step = kid[2] == HOP_FX_NONE ? 1 : node(e, kid[2])->u.i;
	if (kid[0] == HOP_FX_NONE && kid[1] == HOP_FX_NONE && step == 1)
		return x;
	hop_dim size = hop_at_dim_of(HERE(e), x, axis), start, len;
	if (step > 0) {
		start = bound(e, kid[0], size, hop_n(0));
		len = plus(e, bound(e, kid[1], size, size), HOP_DIM_SUB, start);
	} else {
		start = bound(e, kid[0], size, plus(e, size, HOP_DIM_SUB, hop_n(1)));
		len = plus(e, start, HOP_DIM_SUB, bound(e, kid[1], size, hop_n(-1)));
	}
	int64_t each = step > 0 ? step : -step;
	if (each > 1) {
		len = plus(e, len, HOP_DIM_ADD, hop_n(each - 1));
		len = plus(e, len, HOP_DIM_DIV, hop_n(each));
	}
	return hop_at_slice(HERE(e), x, axis, start, len, step);
}

static hop_value indexed(struct eval *e, const hop_fx_node *n, const uint16_t *kid)
{
	hop_value x = e->val[kid[0]];
	int rank = hop_at_rank(HERE(e), x), axis = 0, taken = 0, lists = 0;
	for (int k = 1; k < n->nkid; k++) {
		int kind = node(e, kid[k])->kind;
		taken += kind != HOP_FX_NEW && kind != HOP_FX_REST;
	}
	if (taken > rank && !hop_failed(e->t))
		refuse(e, "formula: %d indices of a value of rank %d", taken, rank);
	for (int k = 1; k < n->nkid && !hop_failed(e->t); k++) {
		const hop_fx_node *i = node(e, kid[k]);
		if (i->kind == HOP_FX_REST) {
			axis += rank - taken;
		} else if (i->kind == HOP_FX_NEW) {
			x = hop_at_unsqueeze(HERE(e), x, axis++);
		} else if (i->kind == HOP_FX_SLICE) {
			x = sliced(e, x, axis++, i);
		} else if (i->kind == HOP_FX_INT) {
			x = hop_at_index(HERE(e), x, axis, i->u.i);
		} else {
			int wide = hop_at_rank(HERE(e), e->val[kid[k]]);
			if (wide && lists++)
				refuse(e, "formula: two indices that are not scalars: index in two steps");
			x = hop_at_gather(HERE(e), x, axis, e->val[kid[k]]);
			axis += wide;
		}
	}
	return x;
}

/* ---- the whole ---- */

static hop_value value(struct eval *e, const hop_fx_node *n)
{
	const uint16_t *kid = hop_fx_kids(e->f->tree, n);
	switch (n->kind) {
	case HOP_FX_INT:
		return hop_at_i(HERE(e), n->u.i);
	case HOP_FX_REAL:
		return hop_at_f(HERE(e), n->u.f);
	case HOP_FX_ARG:
		return e->f->v[n->row];
	case HOP_FX_CALL:
		return call(e, n, kid);
	case HOP_FX_INDEX:
		return indexed(e, n, kid);
	default:
		return point(e, n, kid);
	}
}

static hop_value evaluate(struct eval *e)
{
	const hop_fx *f = e->f->tree;
	for (uint32_t k = 0; k < f->nnode; k++) {
		const hop_fx_node *n = &f->node[k];
		if (n->quiet)
			continue;
		e->val[k] = value(e, n);
		if (hop_failed(e->t)) {
			hop_note(hop_env_of(e->t), hop_here(e->t)->b.loc, "in this part of a formula%s",
			         hop_fx_show(e->f->text, n->at, n->len).s);
			return (hop_value){ 0, 0 };
		}
	}
	return e->val[f->nnode - 1];
}

hop_value hop_at_formula(hop_trace *t, const char *file, int line, const char *formula,
                         const char *names, int n, const hop_value *v)
{
	struct formula f = { .text = formula, .names = names, .n = n, .v = v };
	struct eval e;
	if (!hop_enter(t, "formula", file, line, find_tree, &f))
		return (hop_value){ 0, 0 };
	e.t = t;
	e.file = file;
	e.line = line;
	e.f = &f;
	return evaluate(&e);
}

#undef HERE
