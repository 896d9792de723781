/* passes.c -- a list of passes as text: `vmap(axis=1,n=8),grad(wrt=0)`. Reads it, runs it, says where
 * it is wrong. What passes do with their arguments is derive.c's.
 *
 *	passes = pass { "," pass }        pass  = name [ "(" [ arg { "," arg } ] ")" ]
 *	arg    = key "=" value            value = item | "[" [ item { "," item } ] "]"
 *	item   = number | "none" | "any"
 *
 * Blanks may stand inside parentheses. */
#include "driver/pipeline.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 4096 };                  /* numbers of a list */

/* What may be written for an argument. lo: the least number. */
static const struct { const char *name; bool list, none, any; int64_t lo; const char *form; } keys[] = {
	[HOP_ARG_WRT]     = { "wrt", true, false, false, 0, "wrt=[0,2]" },
	[HOP_ARG_RESULTS] = { "results", false, false, false, 1, "results=1" },
	[HOP_ARG_AXIS]    = { "axis", true, true, false, 0, "axis=[0,none]" },
	[HOP_ARG_OUT]     = { "out", true, true, false, 0, "out=0" },
	[HOP_ARG_N]       = { "n", false, false, true, 0, "n=4" },
	[HOP_ARG_CHUNK]   = { "chunk", false, false, false, 1, "chunk=2" },
	[HOP_ARG_HALF]    = { "half", false, false, false, 0, "half=0" },
};
_Static_assert(sizeof keys / sizeof *keys == HOP_NARG, "one row for each argument");

struct reader {
	hop_env    *e;
	const char *who, *text, *s;        /* the whole, and where we are */
};

static int place(const struct reader *r)
{
	return (int)(r->s - r->text) + 1;
}

static void blanks(struct reader *r)
{
	while (*r->s == ' ' || *r->s == '\t')
		r->s++;
}

static bool take(struct reader *r, char c)
{
	blanks(r);
	if (*r->s != c)
		return false;
	r->s++;
	blanks(r);
	return true;
}

/* What stands here, for messages. */
static const char *here(const struct reader *r)
{
	char text[32];
	size_t n = strcspn(r->s, ",()[]= ");
	n = !*r->s ? 0 : n ? n : 1;
	snprintf(text, sizeof text, "%.*s%s", (int)(n < 20 ? n : 20), r->s, n > 20 ? ".." : "");
	return !*r->s ? "the end" : hop_arena_str(&r->e->tmp, text, strlen(text));
}

static hop_status expected(const struct reader *r, const char *what)
{
	return hop_fail(r->e, 0, HOP_EVALUE, "%s: passes, character %d: %s is needed, this is %s", r->who,
	                place(r), what, here(r));
}

/* A word of letters and _ at the start of s. */
static size_t word(const char *s)
{
	return strspn(s, "abcdefghijklmnopqrstuvwxyz_");
}

/* ---- one value ---- */

static hop_status item(struct reader *r, int k, int64_t *out)
{
	char what[100];
	size_t n = word(r->s);
	snprintf(what, sizeof what, "a number from %lld%s%s for %s", (long long)keys[k].lo,
	         keys[k].none ? " or none" : "", keys[k].any ? " or any" : "", keys[k].name);
	if (n) {
		bool none = keys[k].none && n == 4 && !memcmp(r->s, "none", n);
		bool any = keys[k].any && n == 3 && !memcmp(r->s, "any", n);
		if (!none && !any)
			return expected(r, what);
		*out = none ? HOP_ARG_NONE : HOP_ARG_ANY;
		r->s += n;
		return HOP_OK;
	}
	n = strspn(r->s, "0123456789");
	int64_t v = 0;
	bool ok = n > 0;
	for (size_t i = 0; ok && i < n; i++)
		ok = !__builtin_mul_overflow(v, (int64_t)10, &v) &&
		     !__builtin_add_overflow(v, (int64_t)(r->s[i] - '0'), &v);
	if (!ok || v < keys[k].lo)
		return expected(r, what);
	*out = v;
	r->s += n;
	return HOP_OK;
}

static hop_status value(struct reader *r, int k, hop_pass_arg *a)
{
	a->list = *r->s == '[';
	if (a->list && !keys[k].list)
		return expected(r, "one number and no list");
	int cap = 0;
	for (const char *s = r->s; a->list && *s && *s != ']'; s++)
		cap += *s == ',';
	if (cap >= MOST)
		return expected(r, "a list of fewer numbers");
	a->v = HOP_NEWN(&r->e->tmp, int64_t, cap + 1);
	if (!a->list) {
		a->n = 1;
		return item(r, k, a->v);
	}
	take(r, '[');
	if (take(r, ']'))
		return HOP_OK;
	do {
		HOP_TRY(item(r, k, &a->v[a->n++]));
	} while (take(r, ','));
	return take(r, ']') ? HOP_OK : expected(r, "a comma or ]");
}

/* ---- one pass ---- */

const char *hop_pass_usage(const hop_pass *p, char *buf, size_t n)
{
	size_t at = 0;
	if (n)
		*buf = 0;
	for (int k = 0; k < HOP_NARG; k++)
		if (p->keys & 1u << k && at < n)
			at += (size_t)snprintf(buf + at, n - at, "%s%s", at ? ", " : "", keys[k].form);
	return buf;
}

static hop_status argument(struct reader *r, const hop_pass *p, hop_pass_args *a)
{
	size_t n = word(r->s);
	char usage[200];
	int k = 0;
	while (k < HOP_NARG && (strlen(keys[k].name) != n || memcmp(keys[k].name, r->s, n)))
		k++;
	if (k == HOP_NARG || !(p->keys & 1u << k))
		return hop_fail(r->e, 0, HOP_EVALUE, "%s: passes, character %d: %s has no argument %s: %s%s",
		                r->who, place(r), p->name, here(r), p->keys ? "it takes " : "it takes none",
		                hop_pass_usage(p, usage, sizeof usage));
	if (a->arg[k].given)
		return hop_fail(r->e, 0, HOP_EVALUE, "%s: passes, character %d: %s is given twice", r->who,
		                place(r), keys[k].name);
	a->arg[k].at = place(r);
	a->arg[k].given = true;
	r->s += n;
	if (!take(r, '='))
		return expected(r, "=");
	return value(r, k, &a->arg[k]);
}

static hop_status read_args(struct reader *r, const hop_pass *p, hop_pass_args *a)
{
	if (*r->s != '(')
		return HOP_OK;
	take(r, '(');
	blanks(r);
	if (*r->s != ')')
		do {
			HOP_TRY(argument(r, p, a));
		} while (take(r, ','));
	if (*r->s != ')')
		return expected(r, "a comma or )");
	r->s++;
	return HOP_OK;
}

static hop_status run_one(struct reader *r, const hop_graph **g)
{
	size_t n = strcspn(r->s, ",(");
	bool first = r->s == r->text;
	const char *name = hop_arena_str(&r->e->tmp, r->s, n);
	const hop_pass *p = hop_pass_find(name);
	hop_pass_args a = { .pass = p ? p->name : NULL };
	if (!p)
		return hop_fail(r->e, 0, HOP_EVALUE, "%s: no pass is called %s: see hop opt --list", r->who,
		                n ? name : "nothing");
	r->s += n;
	HOP_TRY(read_args(r, p, &a));
	if (*r->s && *r->s != ',')
		return expected(r, "a comma");
	hop_status st = p->with ? p->with(r->e, *g, &a, g) : p->run(r->e, *g, g);
	if (st)
		return first ? st : hop_note(r->e, 0, "in %s, of what the passes before it gave: they "
		                             "run from left to right", name);
	return hop_verify(r->e, *g) ? hop_note(r->e, 0, "after %s", name) : HOP_OK;
}

hop_status hop_passes_run(hop_env *e, const char *who, const char *text, const hop_graph *g,
                          const hop_graph **out_g)
{
	struct reader r = { .e = e, .who = who, .text = text, .s = text };
	*out_g = g;
	HOP_TRY(run_one(&r, out_g));
	while (*r.s == ',') {
		r.s++;
		HOP_TRY(run_one(&r, out_g));
	}
	return HOP_OK;
}
