/* jit_explain.c -- why a jit captured, and what it keeps, in words. Decides nothing. */
#include "driver/jit.h"

#include <stdio.h>
#include <string.h>

#include "driver/direct.h"

/* ---- why: reasons one after the other in a line of limited length ---- */

enum { REASONS = 4 };

struct line {
	const hop_jit *j;
	char          *s;
	size_t         n;
	int            count;          /* reasons; those behind REASONS are only counted */
};

/* What does not fit is cut. */
static void put(struct line *l, const char *fmt, va_list ap)
{
	int n = vsnprintf(l->s + l->n, HOP_JIT_EVENT - l->n, fmt, ap);
	l->n += (size_t)(n < 0 ? 0 : n);
	if (l->n >= HOP_JIT_EVENT) {
		l->n = HOP_JIT_EVENT - 1;
		memcpy(l->s + l->n - 2, "..", 2);
	}
}

__attribute__((format(printf, 2, 3)))
static void add(struct line *l, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	put(l, fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 2, 3)))
static void say(struct line *l, const char *fmt, ...)
{
	va_list ap;
	if (l->count++ >= REASONS)
		return;
	if (l->n)
		add(l, "; ");
	va_start(ap, fmt);
	put(l, fmt, ap);
	va_end(ap);
}

static void say_types(struct line *l, const hop_jit_entry *near, const hop_jit_entry *e)
{
	char name[HOP_JIT_NAME];
	for (int i = 0; i < e->nin; i++) {
		hop_jit_arg_name(l->j, i, name);
		if (e->dtype[i] != near->dtype[i])
			say(l, "dtype of argument %s was %s, now %s", name, hop_dtype_name(near->dtype[i]),
			    hop_dtype_name(e->dtype[i]));
		if (e->rank[i] != near->rank[i])
			say(l, "rank of argument %s was %d, now %d", name, near->rank[i], e->rank[i]);
	}
}

static void say_statics(struct line *l, const hop_jit_entry *near, const hop_jit_entry *e)
{
	size_t at = 0;
	for (int i = 0; i < l->j->nstatic; i++) {
		size_t n = l->j->o.statics[i].bytes, k = 0;
		while (k < n && near->statics[at + k] == e->statics[at + k])
			k++;
		if (k < n)
			say(l, "static data %d changed at byte %zu", i, k);
		at += n;
	}
}

/* What became of a size that changed. */
static const char *outcome(const hop_jit *j, const hop_jit_entry *e, int64_t was, int64_t is,
                           int axis)
{
	if (e->dim[axis] < 0)
		return was < 0 ? ": a symbol of its own" : ": became a symbol";
	if (is < 2 || (was >= 0 && was < 2))
		return ": sizes 0 and 1 are kept apart";
	return j->o.exact || e->pinned ? ": sizes are numbers here" : "";
}

/* A size that was a symbol changed if it is one for which the symbol does not stand. */
static void say_sizes(struct line *l, const hop_jit_entry *near, const hop_jit_entry *e,
                      hop_array *const *in)
{
	int64_t value[HOP_JIT_SYMS];
	char name[HOP_JIT_NAME], had[32];
	int a = 0, n = 0;
	for (int i = 0; i < e->nin; i++)
		for (int k = 0; k < e->rank[i]; k++, a++) {
			int64_t was = near->dim[a], is = in[i]->dim[k];
			if (was == is || (was < 0 && is >= 2 && (~was == n || value[~was] == is))) {
				if (~was == n)
					value[n++] = is;
				continue;
			}
			snprintf(had, sizeof had, was < 0 ? "the symbol s%lld" : "%lld",
			         (long long)(was < 0 ? ~was : was));
			if (~was == n)
				value[n++] = is;
			say(l, "argument %s: axis %d was %s, now %lld%s", hop_jit_arg_name(l->j, i, name), k,
			    had, (long long)is, outcome(l->j, e, was, is, a));
		}
}

static void say_overlap(struct line *l, const hop_jit_entry *e, const char *verb)
{
	char a[HOP_JIT_NAME], b[HOP_JIT_NAME];
	for (int i = 0; i < e->nin; i++)
		if (e->root[i] != i)
			say(l, "arguments %s and %s %s", hop_jit_arg_name(l->j, e->root[i], a),
			    hop_jit_arg_name(l->j, i, b), verb);
}

/* How much of an entry fits what e is for: up to what it is of use to compare them. */
enum fit { NOTHING, COUNT, CLASS, STATICS, SIZES, ALL };

static enum fit fit_of(const hop_jit *j, const hop_jit_entry *o, const hop_jit_entry *e,
                       hop_array *const *in)
{
	if (o->nin != e->nin)
		return NOTHING;
	if (!hop_jit_class_fits(o, e->nin, in))
		return COUNT;
	if (memcmp(o->statics, e->statics, j->nbytes))
		return CLASS;
	if (!hop_jit_sizes_fit(o, in))
		return STATICS;
	return o->merged == e->merged && !o->f ? ALL : SIZES;
}

void hop_jit_why(const hop_jit *j, const hop_jit_entry *e, hop_array *const *in,
                 const char *failed, char text[HOP_JIT_EVENT])
{
	struct line l = { .j = j, .s = text };
	const hop_jit_entry *near = NULL;
	enum fit best = NOTHING;
	for (const hop_jit_entry *o = j->list; o; o = o->next) {
		enum fit f = fit_of(j, o, e, in);
		if (!near || f > best || (f == best && o->used > near->used)) {
			near = o;
			best = f;
		}
	}
	text[0] = '\0';
	if (!near)
		say(&l, "first call");
	else if (best == NOTHING)
		say(&l, "there were %d arguments, now %d", near->nin, e->nin);
	else if (best == COUNT)
		say_types(&l, near, e);
	else if (best == CLASS)
		say_statics(&l, near, e);
	else if (best == STATICS)
		say_sizes(&l, near, e, in);
	else if (best == ALL)
		say(&l, "capture %d, which fits, was dropped", near->number);
	else if (e->merged && !near->merged)
		say_overlap(&l, e, "overlap");
	else if (near->merged && !e->merged)
		say_overlap(&l, near, "overlap no longer");
	else if (e->merged)
		say(&l, "other arguments overlap");
	else
		say(&l, "capture %d refuses these sizes", near->number);
	if (l.count > REASONS)
		add(&l, "; and %d more", l.count - REASONS);
	if (failed)
		add(&l, "; with symbols it fails (%s), so that sizes are numbers", failed);
}

/* ---- all of it ---- */

static void put_entry(hop_buf *b, const hop_jit_entry *e)
{
	const int64_t *d = e->dim;
	hop_putf(b, "  capture %d:", e->number);
	for (int i = 0; i < e->nin; i++) {
		hop_putf(b, "%s %s[", i ? "," : "", hop_dtype_name(e->dtype[i]));
		for (int k = 0; k < e->rank[i]; k++, d++)
			hop_putf(b, *d < 0 ? "%ss%lld" : "%s%lld", k ? ", " : "",
			         (long long)(*d < 0 ? ~*d : *d));
		hop_put(b, "]");
	}
	if (e->nsym)
		hop_put(b, "; symbols are 2 or more");
	for (int i = 0; e->merged && i < e->nin; i++)
		if (e->root[i] != i)
			hop_putf(b, "; %d is %d", i, e->root[i]);
	hop_putf(b, ": %llu hit%s\n", (unsigned long long)e->hits, e->hits == 1 ? "" : "s");
}

static void put_all(hop_buf *b, const hop_jit *j)
{
	int live = 0;
	for (const hop_jit_entry *e = j->list; e; e = e->next)
		live += e->f != NULL;
	hop_putf(b, "%s: %llu calls, %llu hits, %u captures, %d kept of at most %d\n", j->name,
	         (unsigned long long)j->calls, (unsigned long long)j->hits, j->ncapture, live,
	         j->o.keep);
	for (const hop_jit_entry *e = j->list; e; e = e->next)
		if (e->f)
			put_entry(b, e);
	unsigned from = j->ncapture > HOP_JIT_EVENTS ? j->ncapture - HOP_JIT_EVENTS : 0;
	hop_put(b, j->ncapture ? "why\n" : "");
	if (from)
		hop_putf(b, "  captures 1 to %u: forgotten\n", from);
	for (unsigned i = from; i < j->ncapture; i++)
		hop_putf(b, "  capture %u: %s\n", i + 1, j->event[i % HOP_JIT_EVENTS]);
}

const char *hop_explain(hop_jit *j)
{
	hop_env e;
	hop_frame fr;
	if (!j)
		return NULL;
	char *volatile s = NULL;
	hop_env_init(&e, j->ctx, j->mem);
	pthread_mutex_lock(&j->lock);
	if (HOP_GUARD(&e, &fr)) {
		(void)hop_guard_nomem(&e, &fr);
	} else {
		hop_buf b;
		hop_buf_open(&b, &e);
		put_all(&b, j);
		char *p = hop_raw_new(&e, b.n + 1);
		memcpy(p, b.s, b.n + 1);
		hop_raw_free(&j->mem, j->text, j->ntext);
		j->text = s = p;
		j->ntext = b.n + 1;
		hop_buf_free(&b);
		hop_guard_end(&e, &fr);
	}
	pthread_mutex_unlock(&j->lock);
	hop_env_fini(&e);
	return s;
}
