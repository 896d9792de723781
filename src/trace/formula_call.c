/* formula_call.c -- the arguments of a call in a formula: by place, then by name, each of the
 * kind that the signature wants. What the function does with them is in formula.def. */
#include "trace/formula_parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A call being read. kid: a node each parameter, -1 = not given yet. */
struct call {
	hop_fx_parser *p;
	const char    *name, *sig;
	size_t         at;                     /* where the call starts */
	int            nparam;
	hop_fx_param   param[HOP_FX_PARAMS];
	int            kid[HOP_FX_PARAMS];
	int            nplace, place[HOP_FX_ARGS];  /* arguments without a name */
};

static int refuse(struct call *c, size_t at, size_t n, const char *what, const hop_fx_param *p)
{
	if (p)
		return hop_fx_fail(c->p, at, n, "%s(%s): %s `%.*s`", c->name, c->sig, what, (int)p->n,
		                   p->name);
	return hop_fx_fail(c->p, at, n, "%s(%s): %s", c->name, c->sig, what);
}

static bool list_kind(const hop_fx_param *p)
{
	return p->kind == HOP_FXP_VALUES || p->kind == HOP_FXP_INTS || p->kind == HOP_FXP_SIZES;
}

/* ---- one argument ---- */

static bool wrong(struct call *c, const hop_fx_param *p, const hop_fx_node *n, const char *what)
{
	hop_fx_fail(c->p, n->at, n->len, "%s(%s): `%.*s` is %s", c->name, c->sig, (int)p->n, p->name,
	            what);
	return false;
}

/* Elements of a list: values, or sizes. */
static bool check_list(struct call *c, const hop_fx_param *p, int k)
{
	const hop_fx_node *n = &c->p->node[k];
	bool values = p->kind == HOP_FXP_VALUES;
	if (!values && n->nkid > HOP_RANK)
		return wrong(c, p, n, "too long: no value has so many axes");
	for (int i = 0; i < n->nkid; i++) {
		int kid = c->p->kid[n->kid + (uint32_t)i];
		if (!(values ? hop_fx_value(c->p, kid) : hop_fx_size(c->p, kid)))
			return false;
	}
	return true;
}

static bool check(struct call *c, const hop_fx_param *p, int k)
{
	hop_fx_node *n = &c->p->node[k];
	switch (p->kind) {
	case HOP_FXP_VALUE:
		return hop_fx_value(c->p, k);
	case HOP_FXP_VALUES: case HOP_FXP_INTS: case HOP_FXP_SIZES:
		return check_list(c, p, k);
	case HOP_FXP_INT: case HOP_FXP_SIZE:
		return hop_fx_size(c->p, k);
	case HOP_FXP_REAL:
		n->quiet = true;
		return n->kind == HOP_FX_REAL || n->kind == HOP_FX_INT ? true :
		       wrong(c, p, n, "a number");
	case HOP_FXP_DTYPE:
		return n->kind == HOP_FX_DTYPE ? true : wrong(c, p, n, "a dtype, as f32");
	}
	return false;
}

/* What stands in the signature for an argument that was left out. */
static int other(struct call *c, const hop_fx_param *p)
{
	if (p->kind != HOP_FXP_INT && p->kind != HOP_FXP_REAL)
		return HOP_FX_NONE;
	hop_fx_node n = hop_fx_part(p->kind == HOP_FXP_INT ? HOP_FX_INT : HOP_FX_REAL, 0, c->at,
	                            c->p->at);
	n.quiet = true;
	if (p->kind == HOP_FXP_INT)
		n.u.i = strtoll(p->other, NULL, 10);
	else
		n.u.f = strtod(p->other, NULL);
	return hop_fx_add(c->p, n, 0, NULL);
}

/* ---- all of them ---- */

static int as_list(struct call *c, int n, const int *kid)
{
	const hop_fx_node *last = &c->p->node[kid[n - 1]];
	hop_fx_node x = hop_fx_part(HOP_FX_LIST, 0, c->p->node[kid[0]].at,
	                            (size_t)last->at + last->len);
	x.quiet = true;
	return hop_fx_add(c->p, x, n, kid);
}

/* The parameter of a name that = follows; -1 = there is no such name here, -2 after a failure. */
static int keyword(struct call *c)
{
	hop_fx_parser *p = c->p;
	hop_fx_blanks(p);
	size_t at = p->at, n = 0;
	while (hop_fx_word(p->s[at + n]))
		n++;
	size_t eq = at + n;
	while (isspace((unsigned char)p->s[eq]))
		eq++;
	if (!n || p->s[eq] != '=' || p->s[eq + 1] == '=')
		return -1;
	for (int k = 0; k < c->nparam; k++)
		if (hop_fx_param_is(&c->param[k], p->s + at, n)) {
			p->at = eq + 1;
			return k;
		}
	refuse(c, at, n, "there is no argument of this name", NULL);
	return -2;
}

static bool read_args(struct call *c)
{
	hop_fx_parser *p = c->p;
	bool named = false;
	while (!hop_fx_take(p, ")")) {
		size_t at = p->at;             /* the blanks are gone */
		int k = keyword(c);
		if (k == -2)
			return false;
		if (k < 0 && named)
			return refuse(c, at, 1, "arguments without a name come first", NULL), false;
		if (k < 0 && c->nplace == HOP_FX_ARGS)
			return refuse(c, at, 1, "too many arguments", NULL), false;
		int x = hop_fx_expr(p);
		if (x < 0)
			return false;
		if (k >= 0 && c->kid[k] >= 0)
			return refuse(c, at, p->at - at, "twice", &c->param[k]), false;
		if (k < 0)
			c->place[c->nplace++] = x;
		else
			c->kid[k] = x;
		named |= k >= 0;
		if (!hop_fx_take(p, ",") && p->s[p->at] != ')')
			return hop_fx_want(p, "`,` or `)`"), false;
	}
	return true;
}

/* Those without a name go to the parameters in order; a list takes all that are left. */
static bool bind_places(struct call *c)
{
	hop_fx_parser *p = c->p;
	int used = 0;
	for (int k = 0; k < c->nparam && used < c->nplace; k++) {
		int x = c->place[used];
		if (c->kid[k] >= 0)
			return refuse(c, p->node[x].at, p->node[x].len, "twice", &c->param[k]), false;
		if (list_kind(&c->param[k]) && p->node[x].kind != HOP_FX_LIST) {
			if ((c->kid[k] = as_list(c, c->nplace - used, c->place + used)) < 0)
				return false;
			used = c->nplace;
		} else {
			c->kid[k] = x;
			used++;
		}
	}
	if (used == c->nplace)
		return true;
	const hop_fx_node *n = &p->node[c->place[used]];
	return refuse(c, n->at, n->len, "too many arguments", NULL), false;
}

static bool bind(struct call *c)
{
	if (!bind_places(c))
		return false;
	for (int k = 0; k < c->nparam; k++) {
		const hop_fx_param *p = &c->param[k];
		if (c->kid[k] < 0 && !p->other)
			return refuse(c, c->at, c->p->at - c->at, "what is missing is", p), false;
		if (c->kid[k] < 0) {
			if ((c->kid[k] = other(c, p)) < 0)
				return false;
			continue;
		}
		if (list_kind(p) && c->p->node[c->kid[k]].kind != HOP_FX_LIST)
			c->kid[k] = as_list(c, 1, &c->kid[k]);
		if (c->kid[k] < 0 || !check(c, p, c->kid[k]))
			return false;
	}
	return true;
}

int hop_fx_call_args(hop_fx_parser *p, int row, bool point, size_t at)
{
	struct call c = { .p = p, .at = at };
	c.name = point ? hop_optab[row].name : hop_fx_row_at(row)->name;
	c.sig = point ? hop_fx_point_sig(row) : hop_fx_row_at(row)->sig;
	c.nparam = hop_fx_params(c.sig, c.param);
	for (int k = 0; k < HOP_FX_PARAMS; k++)
		c.kid[k] = -1;
	if (!read_args(&c) || !bind(&c))
		return -1;
	return hop_fx_add(p, hop_fx_part(point ? HOP_FX_POINT : HOP_FX_CALL, row, at, p->at), c.nparam,
	                  c.kid);
}
