/* names.c -- the names of a function's inputs and results: asked for, and given to what transforms
 * add. Names are interned, so that equal ones are one pointer. Does not say what is what: the
 * callers do. */
#include "data/fn.h"

#include <stdio.h>
#include <string.h>

const char *hop_fn_input_name(const hop_fn *f, int i)
{
	return f && i >= 0 && i < f->nin ? f->name[i] : NULL;
}

const char *hop_fn_result_name(const hop_fn *f, int i)
{
	return f && i >= 0 && i < f->nout ? f->name[f->nin + i] : NULL;
}

/* ---- finding ---- */

/* Is it that path, or a part of it? */
static bool within(const char *name, const char *path, size_t n)
{
	return name && !strncmp(name, path, n) && (!name[n] || name[n] == '.' || name[n] == '[');
}

static int find(const char *const *name, int n, const char *path)
{
	size_t len = path ? strlen(path) : 0;
	for (int i = 0; i < n && len; i++)
		if (name[i] && !strcmp(name[i], path))
			return i;
	for (int i = 0; i < n && len; i++)
		if (within(name[i], path, len))
			return i;
	return -1;
}

int hop_fn_input(const hop_fn *f, const char *path)
{
	return f ? find(f->name, f->nin, path) : -1;
}

int hop_fn_result(const hop_fn *f, const char *path)
{
	return f ? find(f->name + f->nin, f->nout, path) : -1;
}

/* The next of a list, "a, b": its characters; NULL at its end. */
static const char *next(const char **at, size_t *out_n)
{
	const char *s = *at + strspn(*at, " ,");
	*out_n = strcspn(s, ",");
	*at = s + *out_n;
	while (*out_n && s[*out_n - 1] == ' ')
		--*out_n;
	return *s ? s : NULL;
}

/* Input i is in one of the paths. */
static bool listed(const hop_fn *f, const char *paths, int i)
{
	size_t n;
	for (const char *s; (s = next(&paths, &n));)
		if (within(f->name[i], s, n))
			return true;
	return false;
}

int hop_fn_inputs(const hop_fn *f, const char *paths, int cap, int *out)
{
	int n = 0;
	size_t len;
	if (!f || !paths || (cap > 0 && !out))
		return -1;
	const char *at = paths;
	for (const char *s; (s = next(&at, &len));) {
		int i = 0;
		while (i < f->nin && !within(f->name[i], s, len))
			i++;
		if (i == f->nin)
			return -1;
	}
	for (int i = 0; i < f->nin; i++)
		if (listed(f, paths, i)) {
			if (n < cap)
				out[n] = i;
			n++;
		}
	return n;
}

/* ---- naming ---- */

void hop_names_keep(hop_fn *g, const hop_fn *f, bool results)
{
	memcpy(g->name, f->name, (size_t)f->nin * sizeof *g->name);
	if (results)
		memcpy(g->name + g->nin, f->name + f->nin, (size_t)f->nout * sizeof *g->name);
}

static const char *make(hop_env *e, const hop_fn *f, const char *word, int number,
                        const hop_naming *p, int i)
{
	char nth[16] = "";
	int of = p->of ? p->of[i] : i;
	const char *base = !p->of ? NULL : f->name[p->of_results ? f->nin + of : of];
	hop_buf b;
	if (number > 1)
		snprintf(nth, sizeof nth, "%d", number);
	hop_buf_open(&b, e);
	if (base)
		hop_putf(&b, "%s%s.%s", word, nth, base);
	else
		hop_putf(&b, "%s%s[%d]", word, nth, of);
	const char *s = hop_ctx_name(e, b.s, b.n);
	hop_buf_free(&b);
	return s;
}

static bool taken(const hop_fn *g, bool results, const char *name)
{
	int from = results ? g->nin : 0, to = results ? g->nin + g->nout : g->nin;
	for (int i = from; i < to; i++)
		if (g->name[i] == name)
			return true;
	return false;
}

static void forget(hop_fn *g, int npart, const hop_naming *part)
{
	for (int p = 0; p < npart; p++)
		for (int i = 0; i < part[p].n; i++)
			g->name[(part[p].results ? g->nin : 0) + part[p].at + i] = NULL;
}

/* All with this number; false, and none of them, when one is taken. */
static bool add(hop_env *e, hop_fn *g, const hop_fn *f, const char *word, int number, int npart,
                const hop_naming *part)
{
	for (int p = 0; p < npart; p++)
		for (int i = 0; i < part[p].n; i++) {
			const char *s = make(e, f, word, number, &part[p], i);
			if (taken(g, part[p].results, s)) {
				forget(g, npart, part);
				return false;
			}
			g->name[(part[p].results ? g->nin : 0) + part[p].at + i] = s;
		}
	return true;
}

void hop_names_add(hop_env *e, hop_fn *g, const hop_fn *f, const char *word, int npart,
                   const hop_naming *part)
{
	for (int number = 1; !add(e, g, f, word, number, npart, part);)
		number++;
}

const char *hop_input_text(hop_arena *a, uint32_t i, const char *name)
{
	size_t n = (name ? strlen(name) : 0) + 16;
	char *s = hop_arena_alloc(a, n);
	if (name)
		snprintf(s, n, "%u (%s)", i, name);
	else
		snprintf(s, n, "%u", i);
	return s;
}
