/* names.c -- names of graphs and of sizes as names of C, and whether two of them meet. Knows no
 * more of what they name. */
#include "aot/aot.h"

#include <stdio.h>
#include <string.h>

const char *hop_aot_fmt(hop_env *e, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	char *s = hop_arena_alloc(&e->tmp, (size_t)n + 1);
	vsnprintf(s, (size_t)n + 1, fmt, again);
	va_end(again);
	va_end(ap);
	return s;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* n bytes of s with _ for what C does not take. */
static char *words(hop_env *e, const char *s, size_t n)
{
	char *w = hop_arena_str(&e->tmp, s, n);
	for (char *p = w; *p; p++)
		if (!is_word(*p))
			*p = '_';
	return w;
}

static const char *upper(hop_env *e, const char *s)
{
	char *w = hop_arena_str(&e->tmp, s, strlen(s));
	for (char *p = w; *p; p++)
		if (*p >= 'a' && *p <= 'z')
			*p = (char)(*p - 'a' + 'A');
	return w;
}

/* ---- parameters ---- */

/* in3, out12: what we call them ourselves. */
static bool is_numbered(const char *s)
{
	size_t n = !strncmp(s, "in", 2) ? 2 : !strncmp(s, "out", 3) ? 3 : 0;
	return n && strspn(s + n, "0123456789") == strlen(s + n);
}

/* Words that C, C++ or their usual headers keep, and ours. */
static bool is_taken(const char *s)
{
	static const char *const list[] = {
		"alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char",
		"class", "compl", "const", "constexpr", "continue", "decltype", "default", "delete", "do",
		"double", "else", "enum", "errno", "explicit", "export", "extern", "false", "float", "for",
		"friend", "goto", "if", "inline", "int", "linux", "long", "mutable", "namespace", "new",
		"noexcept", "not", "nullptr", "operator", "or", "private", "protected", "public",
		"register", "requires", "restrict", "return", "short", "signed", "sizeof", "static",
		"stderr", "stdin", "stdout", "struct", "switch", "template", "this", "throw", "true", "try",
		"typedef", "typeid", "typename", "typeof", "union", "unix", "unsigned", "using", "virtual",
		"void", "volatile", "while", "xor", "workspace", "hooks",
	};
	bool lower = !s[1];
	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (!strcmp(s, list[i]))
			return true;
	for (const char *p = s; *p; p++)
		lower |= *p >= 'a' && *p <= 'z';
	return !lower || *s == '_' || !strncmp(s, "hop_", 4) || is_numbered(s);
}

/* s, or something like it that none of the n names is. */
static const char *unlike(hop_env *e, const char *s, const char *kind, uint32_t n,
                          const char *const *name)
{
	if (is_taken(s))
		s = hop_aot_fmt(e, "%s_%s", kind, s);
	for (uint32_t k = 0; k < n; k++)
		if (!strcmp(name[k], s)) {
			s = hop_aot_fmt(e, "%s_", s);
			k = UINT32_MAX;                /* again from the first */
		}
	return s;
}

/* Inputs and sizes stand in one list of C. */
static void name_params(hop_env *e, const hop_aot_want *want, hop_aot_fn *f)
{
	const hop_graph *g = f->g;
	const char **all = HOP_NEWN(&e->tmp, const char *, g->nparam + g->nsym);
	for (uint32_t i = 0; i < g->nparam; i++) {
		const char *s = i < want->nin ? want->in[i] : "0";
		all[i] = *s >= '0' && *s <= '9' ? hop_aot_fmt(e, "in%u", i) : unlike(e, s, "in", i, all);
	}
	for (uint32_t i = 0; i < g->nsym; i++) {
		const char *s = g->symname[i] ? g->symname[i] : hop_aot_fmt(e, "s%u", i);
		all[g->nparam + i] = unlike(e, s, "size", g->nparam + i, all);
	}
	f->in = all;
	f->sym = all + g->nparam;
}

/* ---- functions ---- */

/* The names that a function takes up, beside its own. */
static const char *const suffix[] = { "", "_raw", "_workspace", "_why", "_effect", "_check" };
enum { NSUFFIX = sizeof suffix / sizeof *suffix };

static hop_status claim(hop_aot *a, hop_map *all, const char *name, const hop_aot_fn *f)
{
	const hop_aot_fn *other = hop_map_get(all, name, strlen(name));
	if (other)
		return hop_fail(a->env, 0, HOP_EVALUE, "build: @%s and @%s would both have the name %s in C",
		                other->from, f->from, name);
	hop_map_put(all, name, strlen(name), (void *)(uintptr_t)f);
	return HOP_OK;
}

static hop_status claim_all(hop_aot *a, hop_map *all, const hop_aot_fn *f)
{
	for (int i = 0; i < NSUFFIX; i++)
		HOP_TRY(claim(a, all, hop_aot_fmt(a->env, "%s%s", f->name, suffix[i]), f));
	HOP_TRY(claim(a, all, hop_aot_fmt(a->env, "%s_WORKSPACE", f->macro), f));
	for (uint32_t k = 0; k < f->g->nout; k++) {
		HOP_TRY(claim(a, all, hop_aot_fmt(a->env, "%s_out%u_count", f->name, k), f));
		HOP_TRY(claim(a, all, hop_aot_fmt(a->env, "%s_OUT%u_COUNT", f->macro, k), f));
	}
	return HOP_OK;
}

hop_status hop_aot_names(hop_aot *a, const hop_aot_want *want, const char *path)
{
	const char *base = strrchr(path, '/');
	hop_map all = { .a = &a->env->tmp };
	base = base ? base + 1 : path;
	if (!*base)
		return hop_fail(a->env, 0, HOP_EUSE, "build: %s has no name of a file at its end", path);
	a->file = base;
	a->name = words(a->env, base, strlen(base));
	if ((*a->name >= '0' && *a->name <= '9') || *a->name == '_')
		a->name = hop_aot_fmt(a->env, "m%s", a->name);
	if (!strncmp(a->name, "hop_", 4) || !strcmp(a->name, "hop"))
		return hop_fail(a->env, 0, HOP_EVALUE, "build: names that begin with hop_ are taken: choose "
		                "another than %s", base);
	a->macro = upper(a->env, a->name);
	for (int i = 0; i < a->n; i++) {
		hop_aot_fn *f = &a->fn[i];
		f->name = hop_aot_fmt(a->env, "%s_%s", a->name, words(a->env, f->from, strlen(f->from)));
		f->macro = upper(a->env, f->name);
		name_params(a->env, &want[i], f);
		HOP_TRY(claim_all(a, &all, f));
	}
	return HOP_OK;
}
