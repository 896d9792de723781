/* formula_atom.c -- what stands between the operators of a formula: names, numbers, parentheses,
 * and the indices behind them. It knows no operator. */
#include "trace/formula_parse.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names of values ---- */

/* The bytes of the text that read as this name, blanks aside; 0 = none. What goes on as a longer
 * name, as a member or as a call is another. */
static size_t reads_as(const hop_fx_parser *p, const hop_fx_name *name)
{
	const char *s = p->s + p->at;
	for (size_t i = 0; i < name->n; i++, s++) {
		while (i && isspace((unsigned char)*s))
			s++;
		if (*s != name->s[i])
			return 0;
	}
	if (hop_fx_word(name->s[name->n - 1]) && hop_fx_word(*s))
		return 0;
	const char *next = s;
	while (isspace((unsigned char)*next))
		next++;
	bool member = (next[0] == '.' && isalpha((unsigned char)next[1])) ||
	              (next[0] == '-' && next[1] == '>');
	return member || *next == '(' ? 0 : (size_t)(s - (p->s + p->at));
}

int hop_fx_arg(const hop_fx_parser *p, size_t *out_n)
{
	int best = -1;
	size_t most = 0;
	for (int k = 0; k < p->narg; k++) {
		size_t n = reads_as(p, &p->arg[k]);
		if (n && p->arg[k].n > most) {
			most = p->arg[k].n;
			best = k;
			*out_n = n;
		}
	}
	return best;
}

/* ---- what stands alone ---- */

static int number(hop_fx_parser *p)
{
	size_t at = p->at, k = at;
	bool real = false;
	while (isdigit((unsigned char)p->s[k]))
		k++;
	if (p->s[k] == '.' && p->s[k + 1] != '.') {
		real = true;
		for (k++; isdigit((unsigned char)p->s[k]); k++)
			;
	}
	size_t e = k + 1 + (p->s[k] && (p->s[k + 1] == '-' || p->s[k + 1] == '+'));
	if ((p->s[k] == 'e' || p->s[k] == 'E') && isdigit((unsigned char)p->s[e])) {
		real = true;
		for (k = e; isdigit((unsigned char)p->s[k]); k++)
			;
	}
	if (hop_fx_word(p->s[k]) || k - at > 64)
		return hop_fx_fail(p, at, k + 1 - at, "this is not a number");
	char text[80];
	memcpy(text, p->s + at, k - at);
	text[k - at] = '\0';
	char *point = strchr(text, '.');
	if (point)
		*point = *localeconv()->decimal_point;
	p->at = k;
	hop_fx_node n = hop_fx_part(real ? HOP_FX_REAL : HOP_FX_INT, 0, at, k);
	errno = 0;
	if (real)
		n.u.f = strtod(text, NULL);
	else
		n.u.i = strtoll(text, NULL, 10);
	if (!real && errno)
		return hop_fx_fail(p, at, k - at, "this integer has more than 64 bits");
	return hop_fx_add(p, n, 0, NULL);
}

/* The name that starts here, members of structs and all. */
static size_t path(const hop_fx_parser *p)
{
	size_t k = p->at;
	for (;;) {
		while (hop_fx_word(p->s[k]))
			k++;
		size_t skip = p->s[k] == '.' ? 1 : p->s[k] == '-' && p->s[k + 1] == '>' ? 2 : 0;
		if (!skip || !(isalpha((unsigned char)p->s[k + skip]) || p->s[k + skip] == '_'))
			return k - p->at;
		k += skip;
	}
}

/* Is a value listed that no formula can name? */
static bool nameless(const hop_fx_parser *p)
{
	for (int i = 0; i < p->narg; i++)
		if (memchr(p->arg[i].s, '(', p->arg[i].n))
			return true;
	return false;
}

static int unknown(hop_fx_parser *p, size_t n, bool call)
{
	const char *s = p->s + p->at;
	bool point;
	hop_fx_name like = hop_fx_like(s, n, call, p->narg, p->arg);
	if (like.n)
		return hop_fx_fail(p, p->at, n, "there is no %s `%.*s`: did you mean `%.*s`?",
		                   call ? "function" : "value", (int)n, s, (int)like.n, like.s);
	if (!call && hop_fx_find(s, n, &point) >= 0)
		return hop_fx_fail(p, p->at, n, "`%.*s` is a function: what is it called with?", (int)n,
		                   s);
	if (!call && nameless(p))
		return hop_fx_fail(p, p->at, n, "there is no value `%.*s`: a value that is a call gets its name "
		                   "by HOP_AS(%.*s, ..)", (int)n, s, (int)n, s);
	return hop_fx_fail(p, p->at, n, call ? "there is no function `%.*s`" :
	                   "there is no value `%.*s`: list it after the formula", (int)n, s);
}

/* A name that no value has: a call, a dtype or a constant. */
static int name(hop_fx_parser *p)
{
	static const struct { const char *name; double v; } constant[] = {
		{ "pi", 3.14159265358979323846 }, { "inf", HUGE_VAL },
	};
	size_t at = p->at, n = path(p);
	const char *s = p->s + at;
	bool point;
	hop_dtype d;
	size_t next = at + n + strspn(s + n, " \t\n");
	if (p->s[next] == '(') {
		int row = hop_fx_find(s, n, &point);
		if (row < 0)
			return unknown(p, n, true);
		p->at = next + 1;
		return hop_fx_call_args(p, row, point, at);
	}
	if (hop_dtype_find(s, n, &d)) {
		p->at += n;
		hop_fx_node x = hop_fx_part(HOP_FX_DTYPE, (int)d, at, p->at);
		x.quiet = true;
		return hop_fx_add(p, x, 0, NULL);
	}
	for (size_t k = 0; k < sizeof constant / sizeof *constant; k++)
		if (strlen(constant[k].name) == n && !memcmp(constant[k].name, s, n)) {
			p->at += n;
			hop_fx_node x = hop_fx_part(HOP_FX_REAL, 0, at, p->at);
			x.u.f = constant[k].v;
			return hop_fx_add(p, x, 0, NULL);
		}
	return unknown(p, n, false);
}

/* After the opening parenthesis: one expression, or a list. */
static int parentheses(hop_fx_parser *p, size_t at)
{
	int kid[HOP_FX_ARGS], n = 0;
	bool list = false;
	while (!hop_fx_take(p, ")")) {
		if (n == HOP_FX_ARGS)
			return hop_fx_fail(p, at, 1, "this list has more than %d elements", HOP_FX_ARGS);
		if ((kid[n++] = hop_fx_expr(p)) < 0)
			return -1;
		if (hop_fx_take(p, ","))
			list = true;
		else if (p->s[p->at] != ')')
			return hop_fx_want(p, "`)`");
	}
	if (n == 1 && !list) {
		p->node[kid[0]].at = (uint16_t)at;
		p->node[kid[0]].len = (uint16_t)(p->at - at);
		return kid[0];
	}
	hop_fx_node x = hop_fx_part(HOP_FX_LIST, 0, at, p->at);
	x.quiet = true;
	return hop_fx_add(p, x, n, kid);
}

static int primary(hop_fx_parser *p)
{
	size_t n = 0;
	hop_fx_blanks(p);
	size_t at = p->at;
	int arg = hop_fx_arg(p, &n);
	if (arg >= 0) {
		p->used[arg] = true;
		p->at += n;
		return hop_fx_add(p, hop_fx_part(HOP_FX_ARG, arg, at, p->at), 0, NULL);
	}
	char c = p->s[at];
	if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)p->s[at + 1])))
		return number(p);
	if (hop_fx_word(c))
		return name(p);
	if (hop_fx_take(p, "("))
		return parentheses(p, at);
	return hop_fx_want(p, "a value");
}

/* ---- indices ---- */

/* start:stop:step, of which the start has been read; -1 = there is none. */
static int slice(hop_fx_parser *p, size_t at, int start)
{
	int kid[3] = { start < 0 ? HOP_FX_NONE : start, HOP_FX_NONE, HOP_FX_NONE };
	for (int k = 1; k < 3; k++) {
		hop_fx_blanks(p);
		if (!strchr(":,]", p->s[p->at]) && (kid[k] = hop_fx_expr(p)) < 0)
			return -1;
		if (k == 1 && !hop_fx_take(p, ":"))
			break;
	}
	for (int k = 0; k < 3; k++)
		if (kid[k] != HOP_FX_NONE && !hop_fx_size(p, kid[k]))
			return -1;
	const hop_fx_node *step = kid[2] == HOP_FX_NONE ? NULL : &p->node[kid[2]];
	if (step && (step->kind != HOP_FX_INT || !step->u.i || step->u.i == INT64_MIN))
		return hop_fx_fail(p, step->at, step->len, "a step is a number, and not 0");
	hop_fx_node x = hop_fx_part(HOP_FX_SLICE, 0, at, p->at);
	x.quiet = true;
	return hop_fx_add(p, x, 3, kid);
}

static int item(hop_fx_parser *p)
{
	size_t n;
	hop_fx_blanks(p);
	size_t at = p->at;
	hop_fx_node alone = { 0 };
	if (hop_fx_take(p, "..."))
		alone = hop_fx_part(HOP_FX_REST, 0, at, p->at);
	else if (hop_fx_arg(p, &n) < 0 && path(p) == 4 && hop_fx_take(p, "None"))
		alone = hop_fx_part(HOP_FX_NEW, 0, at, p->at);
	if (alone.kind) {
		alone.quiet = true;
		return hop_fx_add(p, alone, 0, NULL);
	}
	if (hop_fx_take(p, ":"))
		return slice(p, at, -1);
	int k = hop_fx_expr(p);
	if (k < 0)
		return -1;
	if (hop_fx_take(p, ":"))
		return slice(p, at, k);
	if (p->node[k].kind == HOP_FX_INT)
		p->node[k].quiet = true;
	return hop_fx_value(p, k) ? k : -1;
}

int hop_fx_element(hop_fx_parser *p)
{
	hop_fx_blanks(p);
	size_t at = p->at;
	int x = primary(p);
	while (x >= 0 && hop_fx_take(p, "[")) {
		int kid[HOP_RANK * 2 + 1], n = 1, rest = 0;
		if (!hop_fx_value(p, x))
			return -1;
		kid[0] = x;
		do {
			if (n == HOP_RANK * 2 + 1)
				return hop_fx_fail(p, at, p->at - at, "more than %d indices", HOP_RANK * 2);
			if ((kid[n] = item(p)) < 0)
				return -1;
			rest += p->node[kid[n++]].kind == HOP_FX_REST;
		} while (hop_fx_take(p, ","));
		if (!hop_fx_take(p, "]"))
			return hop_fx_want(p, "`]`");
		if (rest > 1)
			return hop_fx_fail(p, at, p->at - at, "`...` stands twice");
		x = hop_fx_add(p, hop_fx_part(HOP_FX_INDEX, 0, at, p->at), n, kid);
	}
	return x;
}
