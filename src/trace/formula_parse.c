/* formula_parse.c -- the text of a formula to its tree: operators by precedence. What they stand
 * between is in formula_atom.c, the arguments of calls in formula_call.c. Nothing is recorded here,
 * and no type is known. */
#include "trace/formula_parse.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- failures ---- */

hop_fx_picture hop_fx_show(const char *text, size_t at, size_t n)
{
	hop_fx_picture p;
	size_t len = strlen(text), from = 0, k = 0;
	if (len > HOP_FX_WIDE && at > HOP_FX_WIDE / 2)
		from = at - HOP_FX_WIDE / 2;
	size_t end = len - from > HOP_FX_WIDE ? from + HOP_FX_WIDE : len;
	memcpy(p.s, "\n    ", 5);
	k = 5;
	for (size_t i = from; i < end; i++)
		p.s[k++] = isspace((unsigned char)text[i]) ? ' ' :
		           (unsigned char)text[i] < 32 || (unsigned char)text[i] > 126 ? '?' : text[i];
	memcpy(p.s + k, "\n    ", 5);
	k += 5;
	for (size_t i = from; i < at; i++)
		p.s[k++] = ' ';
	p.s[k++] = '^';
	for (size_t i = at + 1; i < at + n && i < end; i++)
		p.s[k++] = '~';
	p.s[k] = '\0';
	return p;
}

int hop_fx_fail(hop_fx_parser *p, size_t at, size_t n, const char *fmt, ...)
{
	char what[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	hop_trace_fail(p->t, HOP_EPARSE, "formula: %s%s", what, hop_fx_show(p->s, at, n).s);
	return -1;
}

/* ---- nodes ---- */

int hop_fx_add(hop_fx_parser *p, hop_fx_node n, int nkid, const int *kid)
{
	if (p->nnode == HOP_FX_NODES || p->nkid + (uint32_t)nkid > HOP_FX_KIDS)
		return hop_fx_fail(p, n.at, 1, "it is too long: %d parts are the most", HOP_FX_NODES);
	n.kid = p->nkid;
	n.nkid = (uint16_t)nkid;
	for (int i = 0; i < nkid; i++) {
		p->kid[p->nkid++] = (uint16_t)kid[i];
		if (kid[i] != HOP_FX_NONE && p->node[kid[i]].depth >= n.depth)
			n.depth = (uint16_t)(p->node[kid[i]].depth + 1);
	}
	p->node[p->nnode] = n;
	return (int)p->nnode++;
}

hop_fx_node hop_fx_part(enum hop_fx_kind kind, int row, size_t at, size_t end)
{
	return (hop_fx_node){ .kind = (uint8_t)kind, .row = (uint16_t)row, .at = (uint16_t)at,
	                      .len = (uint16_t)(end - at) };
}

bool hop_fx_value(hop_fx_parser *p, int k)
{
	const hop_fx_node *n = &p->node[k];
	if (n->kind != HOP_FX_LIST && n->kind != HOP_FX_DTYPE)
		return true;
	hop_fx_fail(p, n->at, n->len, n->kind == HOP_FX_LIST ? "a list is not a value" :
	            "a dtype is not a value");
	return false;
}

bool hop_fx_size(hop_fx_parser *p, int k)
{
	hop_fx_node *n = &p->node[k];
	bool of = n->kind == HOP_FX_CALL && !strcmp(hop_fx_row_at(n->row)->name, "size_of");
	bool op = n->kind == HOP_FX_POINT && hop_fx_dim_op(n->row) >= 0;
	if (n->depth > HOP_FX_DEPTH || (n->kind != HOP_FX_INT && !of && !op)) {
		hop_fx_fail(p, n->at, n->len, "this is not a size: whole numbers are, size_of(x, axis), "
		            "and + - * / min max of them");
		return false;
	}
	n->quiet = true;
	for (int i = 0; op && i < n->nkid; i++)
		if (!hop_fx_size(p, p->kid[n->kid + (uint32_t)i]))
			return false;
	return true;
}

/* ---- tokens ---- */

bool hop_fx_word(int c)
{
	return isalnum((unsigned char)c) || c == '_';
}

void hop_fx_blanks(hop_fx_parser *p)
{
	while (isspace((unsigned char)p->s[p->at]))
		p->at++;
}

bool hop_fx_take(hop_fx_parser *p, const char *what)
{
	hop_fx_blanks(p);
	size_t n = strlen(what);
	if (strncmp(p->s + p->at, what, n))
		return false;
	p->at += n;
	return true;
}

int hop_fx_want(hop_fx_parser *p, const char *what)
{
	hop_fx_blanks(p);
	char c = p->s[p->at];
	if (!c)
		return hop_fx_fail(p, p->at, 1, "it ends where %s is wanted", what);
	return hop_fx_fail(p, p->at, 1, "`%c` stands where %s is wanted%s", c > 31 && c < 127 ? c : '?',
	                   what, c == '=' ? ": == compares" : "");
}

/* ---- operators ---- */

/* The longer of two that start alike first. A level binds tighter than those below it. */
static const struct operator {
	const char *text;
	int         level, row;
	bool        truth, turned;      /* operands are truths; they change places */
} operator[] = {
	{ "||", 1, HOP_OP_or, true, false },    { "&&", 2, HOP_OP_and, true, false },
	{ "==", 3, HOP_OP_eq, false, false },   { "!=", 3, HOP_OP_ne, false, false },
	{ "<=", 4, HOP_OP_le, false, false },   { ">=", 4, HOP_OP_le, false, true },
	{ "<", 4, HOP_OP_lt, false, false },    { ">", 4, HOP_OP_lt, false, true },
	{ "+", 5, HOP_OP_add, false, false },   { "-", 5, HOP_OP_sub, false, false },
	{ "*", 6, HOP_OP_mul, false, false },   { "/", 6, HOP_OP_div, false, false },
	{ "%", 6, HOP_OP_rem, false, false },   { "@", 6, -1, false, false },
};
enum { EQUAL = 3, ORDER = 4 };

int hop_fx_dim_op(int op)
{
	static const struct { int op, dim; } same[] = {
		{ HOP_OP_add, HOP_DIM_ADD }, { HOP_OP_sub, HOP_DIM_SUB }, { HOP_OP_mul, HOP_DIM_MUL },
		{ HOP_OP_div, HOP_DIM_DIV }, { HOP_OP_min, HOP_DIM_MIN }, { HOP_OP_max, HOP_DIM_MAX },
		{ HOP_OP_neg, HOP_DIM_SUB },
	};
	for (size_t k = 0; k < sizeof same / sizeof *same; k++)
		if (same[k].op == op)
			return same[k].dim;
	return -1;
}

/* Whole numbers of a literal sum or product are one: that is what the op makes of them. */
static bool folded(hop_fx_parser *p, int row, int x, int y)
{
	hop_fx_node *a = &p->node[x], *b = &p->node[y];
	int64_t r;
	if (a->kind != HOP_FX_INT || b->kind != HOP_FX_INT)
		return false;
	if (row == HOP_OP_add ? __builtin_add_overflow(a->u.i, b->u.i, &r) :
	    row == HOP_OP_sub ? __builtin_sub_overflow(a->u.i, b->u.i, &r) :
	    row == HOP_OP_mul ? __builtin_mul_overflow(a->u.i, b->u.i, &r) : true)
		return false;
	a->u.i = r;
	a->len = (uint16_t)(b->at + b->len - a->at);
	p->nnode--;
	return true;
}

static int join(hop_fx_parser *p, const struct operator *o, int x, int y)
{
	if (!hop_fx_value(p, x) || !hop_fx_value(p, y))
		return -1;
	if (folded(p, o->row, x, y))
		return x;
	const hop_fx_node *a = &p->node[x], *b = &p->node[y];
	size_t at = a->at, end = (size_t)b->at + b->len;
	bool point;
	int kid[2] = { o->turned ? y : x, o->turned ? x : y };
	if (o->row < 0)
		return hop_fx_add(p, hop_fx_part(HOP_FX_CALL, hop_fx_find("matmul", 6, &point), at, end), 2,
		                  kid);
	return hop_fx_add(p, hop_fx_part(o->truth ? HOP_FX_TRUTH : HOP_FX_POINT, o->row, at, end), 2,
	                  kid);
}

static int unary(hop_fx_parser *p);

static int power(hop_fx_parser *p)
{
	static const struct operator pow = { "**", 7, HOP_OP_pow, false, false };
	int x = hop_fx_element(p);
	if (x < 0 || !hop_fx_take(p, "**"))
		return x;
	int y = unary(p);
	return y < 0 ? -1 : join(p, &pow, x, y);
}

/* A sign of a literal is part of the number; in front of ** it is that of the power. */
static int signed_(hop_fx_parser *p, size_t at, bool neg)
{
	int x = unary(p);
	if (x < 0 || !hop_fx_value(p, x))
		return -1;
	hop_fx_node *n = &p->node[x];
	if (neg && n->kind == HOP_FX_INT)
		n->u.i = (int64_t)(0 - (uint64_t)n->u.i);
	else if (neg && n->kind == HOP_FX_REAL)
		n->u.f = -n->u.f;
	else if (neg)
		return hop_fx_add(p, hop_fx_part(HOP_FX_POINT, HOP_OP_neg, at, (size_t)n->at + n->len), 1,
		                  &x);
	n->len = (uint16_t)(n->at + n->len - at);
	n->at = (uint16_t)at;
	return x;
}

static int unary(hop_fx_parser *p)
{
	hop_fx_blanks(p);
	size_t at = p->at;
	size_t n;
	if (++p->depth > HOP_FX_DEPTH)
		return hop_fx_fail(p, at, 1, "more than %d expressions inside each other",
		                   HOP_FX_DEPTH);
	int x = -1;
	if (hop_fx_arg(p, &n) >= 0) {
		x = power(p);
	} else if (hop_fx_take(p, "-")) {
		x = signed_(p, at, true);
	} else if (hop_fx_take(p, "+")) {
		x = signed_(p, at, false);
	} else if (p->s[at] == '!' && p->s[at + 1] != '=') {
		p->at++;
		if ((x = unary(p)) >= 0)
			x = !hop_fx_value(p, x) ? -1 :
			    hop_fx_add(p, hop_fx_part(HOP_FX_TRUTH, HOP_OP_not, at, p->at), 1, &x);
	} else {
		x = power(p);
	}
	p->depth--;
	return x;
}

static const struct operator *operator_at(hop_fx_parser *p)
{
	hop_fx_blanks(p);
	for (size_t k = 0; k < sizeof operator / sizeof *operator; k++)
		if (!strncmp(p->s + p->at, operator[k].text, strlen(operator[k].text)))
			return &operator[k];
	return NULL;
}

/* Operators of this level and above. */
static int binary(hop_fx_parser *p, int level)
{
	int x = unary(p), last = 0;
	const struct operator *o;
	while (x >= 0 && (o = operator_at(p)) && o->level >= level) {
		if (o->level == last && (last == ORDER || last == EQUAL))
			return hop_fx_fail(p, p->at, strlen(o->text), "comparisons do not follow each other: "
			                   "write a < b && b < c");
		p->at += strlen(o->text);
		int y = binary(p, o->level + 1);
		if (y < 0)
			return -1;
		x = join(p, o, x, y);
		last = o->level;
	}
	return x;
}

int hop_fx_expr(hop_fx_parser *p)
{
	hop_fx_blanks(p);
	size_t at = p->at;
	if (++p->depth > HOP_FX_DEPTH)
		return hop_fx_fail(p, at, 1, "more than %d expressions inside each other",
		                   HOP_FX_DEPTH);
	int kid[3] = { binary(p, 1) };
	if (kid[0] >= 0 && hop_fx_take(p, "?")) {
		if ((kid[1] = hop_fx_expr(p)) < 0)
			return -1;
		if (!hop_fx_take(p, ":"))
			return hop_fx_want(p, "`:`");
		if ((kid[2] = hop_fx_expr(p)) < 0)
			return -1;
		for (int k = 0; k < 3; k++)
			if (!hop_fx_value(p, kid[k]))
				return -1;
		kid[0] = hop_fx_add(p, hop_fx_part(HOP_FX_POINT, HOP_OP_select, at, p->at), 3, kid);
	}
	p->depth--;
	return kid[0];
}

/* ---- the whole ---- */

static bool all_used(hop_fx_parser *p)
{
	for (int k = 0; k < p->narg; k++)
		if (!p->used[k]) {
			hop_fx_fail(p, 0, strlen(p->s), "the value `%.*s` is not in it", (int)p->arg[k].n,
			            p->arg[k].s);
			return false;
		}
	return true;
}

const hop_fx *hop_fx_parse(hop_trace *t, const char *text, int narg, const hop_fx_name *arg)
{
	hop_env *e = hop_env_of(t);
	hop_fx_parser p = { .t = t, .s = text, .narg = narg, .arg = arg };
	p.node = HOP_NEWN(&e->tmp, hop_fx_node, HOP_FX_NODES);
	p.kid = HOP_NEWN(&e->tmp, uint16_t, HOP_FX_KIDS);
	p.used = HOP_NEWN(&e->tmp, bool, narg);
	int root = hop_fx_expr(&p);
	hop_fx_blanks(&p);
	if (root < 0 || !hop_fx_value(&p, root))
		return NULL;
	if (p.s[p.at]) {
		hop_fx_want(&p, "an operator or the end");
		return NULL;
	}
	if (!all_used(&p))
		return NULL;
	size_t nodes = p.nnode * sizeof *p.node, kids = p.nkid * sizeof *p.kid;
	hop_fx *f = hop_arena_alloc(&e->tmp, sizeof *f + nodes + kids);
	f->nnode = p.nnode;
	f->nkid = p.nkid;
	memcpy(f->node, p.node, nodes);
	memcpy((char *)f->node + nodes, p.kid, kids);
	return hop_ctx_intern(e, HOP_IN_FORMULA, f, sizeof *f + nodes + kids, 8);
}
