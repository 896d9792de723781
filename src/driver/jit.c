/* jit.c -- functions that capture themselves: their calls, and what is kept and dropped. Which
 * captures fit is jit_key.c's, how they are made jit_make.c's, the object itself jit_new.c's.
 *
 * Captures take turns: who has the turn may change the list, and reads it without the lock. Users'
 * bodies run with the turn and without the lock; so does the release of functions. */
#include "driver/jit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- messages ---- */

hop_status hop_jit_fail(hop_jit *j, hop_status st, const char *fmt, ...)
{
	char text[1200];
	int n = snprintf(text, sizeof text, "error: %s: ", j->name);
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof text - (size_t)n, fmt, ap);
	va_end(ap);
	hop_ctx_set_message(j->ctx, &(hop_diag){ .st = st, .text = text, .len = strlen(text) });
	return st;
}

const char *hop_jit_arg_name(const hop_jit *j, int i, char buf[HOP_JIT_NAME])
{
	int n = snprintf(buf, HOP_JIT_NAME, "%d", i);
	char *at = buf + n, path[HOP_JIT_NAME - 16];
	if (j->o.args && hop_tree_path(j->o.args, i, path, sizeof path))
		snprintf(at, HOP_JIT_NAME - (size_t)n, " (%s)", path);
	return buf;
}

/* ---- turns ---- */

static hop_status take_turn(hop_jit *j)
{
	pthread_mutex_lock(&j->lock);
	bool mine = j->busy && pthread_equal(j->who, pthread_self());
	while (j->busy && !mine)
		pthread_cond_wait(&j->done, &j->lock);
	if (!mine) {
		j->busy = true;
		j->who = pthread_self();
	}
	pthread_mutex_unlock(&j->lock);
	return mine ? hop_jit_fail(j, HOP_EUSE, "the body calls its own jit, which is capturing it: "
	                           "call the C function instead") : HOP_OK;
}

static void end_turn(hop_jit *j)
{
	pthread_mutex_lock(&j->lock);
	j->busy = false;
	pthread_cond_broadcast(&j->done);
	pthread_mutex_unlock(&j->lock);
}

/* ---- one call ---- */

struct call {
	hop_jit          *j;
	int               nin, nout;   /* nout -1: it is not called */
	hop_array *const *in;
	bool              interpret;
	hop_fn           *f;           /* what serves it, retained */
	int               nparam;      /* fewer than nin where arguments were captured as one */
	int               nsym;        /* symbols of what serves it */
	bool              exact;       /* for these very sizes */
	enum hop_jit_meet meet;        /* why one that fits otherwise does not */
	int               a, b;
};

/* The entry that serves the call, or NULL; c->meet says what is against the one that would. */
static hop_jit_entry *find(struct call *c)
{
	c->meet = HOP_JIT_APART;
	for (hop_jit_entry *e = c->j->list; e; e = e->next) {
		if (!e->f || !hop_jit_class_fits(e, c->nin, c->in) || !hop_jit_sizes_fit(e, c->in) ||
		    !hop_jit_statics_fit(c->j, e))
			continue;
		int a, b;
		enum hop_jit_meet m = !e->f->nwrote && !e->merged ? HOP_JIT_APART
		                                                  : hop_jit_meet(c->j, e, c->in, &a, &b);
		if (m == HOP_JIT_APART) {
			c->meet = m;
			return e;
		}
		if (m > c->meet) {
			c->meet = m;
			c->a = a;
			c->b = b;
		}
	}
	return NULL;
}

static void serve(struct call *c, hop_jit_entry *e)
{
	e->used = c->j->calls;
	c->f = hop_fn_retain(e->f);
	c->nparam = e->nparam;
	c->nsym = e->nsym;
}

/* The way of all calls but a few. */
static void look(struct call *c)
{
	hop_jit *j = c->j;
	pthread_mutex_lock(&j->lock);
	j->calls++;
	hop_jit_entry *e = find(c);
	if (e) {
		e->hits++;
		j->hits++;
		serve(c, e);
	}
	pthread_mutex_unlock(&j->lock);
}

static hop_status refuse_memory(struct call *c)
{
	char a[HOP_JIT_NAME], b[HOP_JIT_NAME];
	hop_jit_arg_name(c->j, c->a, a);
	hop_jit_arg_name(c->j, c->b, b);
	if (c->meet == HOP_JIT_READONLY)
		return c->a < 0 ? hop_jit_fail(c->j, HOP_EUSE, "the body writes an array that it captured, "
		                               "whose memory is read-only")
		                : hop_jit_fail(c->j, HOP_EUSE, "argument %s is written, and its memory is "
		                               "read-only", a);
	if (c->a < 0 && c->b < 0)
		return hop_jit_fail(c->j, HOP_EUSE, "two arrays that the body captured share memory, and "
		                    "one of them is written");
	if (c->a < 0 || c->b < 0)
		return hop_jit_fail(c->j, HOP_EUSE, "argument %s shares memory with an array that the body "
		                    "captured, and one of them is written: pass a copy", c->a < 0 ? b : a);
	return hop_jit_fail(c->j, HOP_EUSE, "argument %s is written and shares memory with argument %s: "
	                    "pass a copy", a, b);
}

/* ---- keeping and dropping; with the turn and the lock ---- */

static void insert(hop_jit *j, hop_jit_entry *e)
{
	hop_jit_entry **at = &j->list;
	while (*at && (*at)->nsym < e->nsym)
		at = &(*at)->next;
	e->next = *at;
	*at = e;
}

/* How many there are with a function, or without; and the longest unused of them. */
static int oldest(hop_jit *j, bool live, hop_jit_entry ***out_at)
{
	int n = 0;
	*out_at = NULL;
	for (hop_jit_entry **at = &j->list; *at; at = &(*at)->next) {
		if (((*at)->f != NULL) != live)
			continue;
		n++;
		if (!*out_at || (*at)->used < (**out_at)->used)
			*out_at = at;
	}
	return n;
}

static hop_jit_entry *take_out(hop_jit_entry **at)
{
	hop_jit_entry *e = *at;
	*at = e->next;
	return e;
}

/* What was dropped and is there again need not be remembered. */
static hop_jit_entry *take_ghost(hop_jit *j, const hop_jit_entry *e)
{
	for (hop_jit_entry **at = &j->list; *at; at = &(*at)->next)
		if (!(*at)->f && hop_jit_equal(j, *at, e))
			return take_out(at);
	return NULL;
}

/* Put e into the list; what is to be freed for it comes back. */
struct gone {
	hop_fn        *base, *f;
	hop_jit_entry *entry[2];
};

static void keep(hop_jit *j, hop_jit_entry *e, const char *why, struct gone *g)
{
	hop_jit_entry **at;
	char *event = j->event[j->ncapture % HOP_JIT_EVENTS];
	e->number = (int)++j->ncapture;
	e->used = j->calls;
	g->entry[0] = take_ghost(j, e);
	snprintf(event, HOP_JIT_EVENT, "%s", why);
	if (oldest(j, true, &at) == j->o.keep) {
		size_t n = strlen(event);
		snprintf(event + n, HOP_JIT_EVENT - n, "; capture %d was dropped: %d %s kept",
		         (*at)->number, j->o.keep, j->o.keep == 1 ? "is" : "are");
		g->base = (*at)->base;
		g->f = (*at)->f;
		(*at)->base = (*at)->f = NULL;
	}
	if (oldest(j, false, &at) > j->o.keep)
		g->entry[1] = take_out(at);
	insert(j, e);
}

/* ---- capturing ---- */

/* What hop_message says, for texts of one line. */
struct reason { char text[200]; };

static struct reason reason_now(hop_jit *j)
{
	struct reason r;
	const char *s = hop_message(j->ctx);
	snprintf(r.text, sizeof r.text, "%.*s", (int)strcspn(s, "\n"), s);
	return r;
}

static hop_status make_with(struct call *c, hop_jit_entry *e)
{
	hop_status st = hop_jit_make(c->j, e, c->in, !c->interpret && c->nout >= 0);
	if (!st && c->nout >= 0 && e->f->nout != c->nout)
		st = hop_jit_fail(c->j, HOP_EUSE, "the body gives %d results, %d were asked for",
		                  e->f->nout, c->nout);
	return st;
}

/* The function for e: with sizes that changed as symbols if that works, else with numbers. What
 * failed with symbols is no failure then. */
static hop_status make(struct call *c, hop_jit_entry *e, char *why)
{
	hop_jit *j = c->j;
	struct reason r = reason_now(j);
	bool failed = c->exact;
	if (!failed)
		hop_jit_symbols(j, e, c->in);
	hop_status st = make_with(c, e);
	if (st && st != HOP_ENOMEM && e->nsym) {
		r = reason_now(j);
		failed = e->pinned = true;
		hop_jit_numbers(e, c->in);
		st = make_with(c, e);
	}
	if (st)
		return st;
	if (failed)
		hop_ctx_set_message(j->ctx, &(hop_diag){ .st = HOP_OK });
	pthread_mutex_lock(&j->lock);
	hop_jit_why(j, e, c->in, failed ? r.text : NULL, why);
	pthread_mutex_unlock(&j->lock);
	return HOP_OK;
}

static hop_status capture(struct call *c)
{
	hop_jit *j = c->j;
	struct gone g = { 0 };
	char why[HOP_JIT_EVENT];
	hop_jit_entry *e = hop_jit_entry_new(j, c->nin, c->in);
	hop_status st = e ? make(c, e, why) : hop_jit_fail(j, HOP_ENOMEM, "no memory");
	if (st) {
		hop_jit_entry_free(j, e);
		return st;
	}
	pthread_mutex_lock(&j->lock);
	keep(j, e, why, &g);
	c->meet = hop_jit_meet(j, e, c->in, &c->a, &c->b);
	serve(c, e);
	pthread_mutex_unlock(&j->lock);
	hop_fn_release(g.base);
	hop_fn_release(g.f);
	hop_jit_entry_free(j, g.entry[0]);
	hop_jit_entry_free(j, g.entry[1]);
	return HOP_OK;
}

/* With the turn: another thread may have captured it meanwhile. */
static hop_status turn(struct call *c)
{
	hop_jit *j = c->j;
	pthread_mutex_lock(&j->lock);
	hop_jit_entry *e = find(c);
	if (e && !c->f) {
		e->hits++;
		j->hits++;
		serve(c, e);
	}
	pthread_mutex_unlock(&j->lock);
	if (c->meet == HOP_JIT_CLASH || c->meet == HOP_JIT_READONLY)
		return refuse_memory(c);
	if (e && j->o.check)
		return hop_jit_again(j, e);
	return c->f ? HOP_OK : capture(c);
}

/* The same for sizes that one with symbols serves, and refuses. */
static hop_status exact_turn(struct call *c)
{
	hop_jit *j = c->j;
	hop_fn_release(c->f);
	c->f = NULL;
	c->exact = true;
	pthread_mutex_lock(&j->lock);
	hop_jit_entry *e = find(c);
	if (e && !e->nsym)
		serve(c, e);
	pthread_mutex_unlock(&j->lock);
	return c->f ? HOP_OK : capture(c);
}

/* c->f, or a failure. */
static hop_status get(struct call *c)
{
	look(c);
	if (!c->f || c->j->o.check) {
		HOP_TRY(take_turn(c->j));
		hop_status st = turn(c);
		end_turn(c->j);
		HOP_TRY(st);
	}
	if (c->meet != HOP_JIT_APART)
		return refuse_memory(c);
	return HOP_OK;
}

/* ---- calling ---- */

static hop_status check_args(hop_jit *j, int nin, hop_array *const *in)
{
	char name[HOP_JIT_NAME];
	if (nin < 0 || (nin && !in))
		return hop_jit_fail(j, HOP_EUSE, "%d arguments, and no list of them", nin);
	for (int i = 0; i < nin; i++)
		if (!in[i] || in[i]->ctx != j->ctx)
			return hop_jit_fail(j, HOP_EUSE, "argument %s is missing or of another context",
			                    hop_jit_arg_name(j, i, name));
	return HOP_OK;
}

/* Each array once: as arguments that were captured as one are one input. */
static hop_status call_merged(struct call *c, hop_array **out, const hop_run_opts *o)
{
	size_t bytes = (size_t)c->nin * sizeof(hop_array *);
	hop_array **in = hop_raw_try(&c->j->mem, bytes);
	int n = 0;
	if (!in)
		return hop_jit_fail(c->j, HOP_ENOMEM, "no memory");
	for (int i = 0; i < c->nin; i++)
		if (hop_jit_root(c->in, i) == i)
			in[n++] = c->in[i];
	hop_status st = hop_call_with(c->f, n, in, c->nout, out, o);
	hop_raw_free(&c->j->mem, in, bytes);
	return st;
}

static hop_status run_once(struct call *c, hop_array **out, const hop_run_opts *o)
{
	hop_fn *f = c->f;
	if (f->nout != c->nout)
		return hop_jit_fail(c->j, HOP_EUSE, "the body gives %d results, %d were asked for", f->nout,
		                    c->nout);
	if (c->j->o.compile && !c->interpret)
		HOP_TRY(hop_jit_code(c->j, f, c->nin, c->in));
	if (c->nparam != c->nin)
		return call_merged(c, out, o);
	return hop_call_with(f, c->nin, c->in, c->nout, out, o);
}

/* A symbol stands for sizes from 2; what is computed from it may be 1, which broadcasts, and is a
 * refusal where it was taken for more. A capture for the very sizes knows. */
static hop_status run_exactly(struct call *c, hop_array **out, const hop_run_opts *o)
{
	HOP_TRY(take_turn(c->j));
	hop_status st = exact_turn(c);
	end_turn(c->j);
	HOP_TRY(st);
	return c->meet == HOP_JIT_APART ? run_once(c, out, o) : refuse_memory(c);
}

static hop_status run(struct call *c, hop_array **out, const hop_run_opts *o)
{
	hop_status st = run_once(c, out, o);
	bool again = st == HOP_ESHAPE && c->nsym && !c->f->g->acts;
	return again ? run_exactly(c, out, o) : st;
}

hop_status hop_jit_call(hop_jit *j, int nin, hop_array *const *in, int nout, hop_array **out)
{
	return hop_jit_call_with(j, nin, in, nout, out, NULL);
}

hop_status hop_jit_call_with(hop_jit *j, int nin, hop_array *const *in, int nout, hop_array **out,
                             const hop_run_opts *o)
{
	struct call c = { .j = j, .nin = nin, .nout = nout, .in = in };
	hop_run_opts own;
	if (!j)
		return HOP_EUSE;
	if (nout < 0 || (nout && !out))
		return hop_jit_fail(j, HOP_EUSE, "%d results, and no place for them", nout);
	for (int i = 0; i < nout; i++)
		out[i] = NULL;
	HOP_TRY(hop_opts_read(j->ctx, j->name, o, &own, sizeof own));
	own.size = sizeof own;
	c.interpret = own.interpret;
	HOP_TRY(check_args(j, nin, in));
	hop_status st = get(&c);
	if (!st)
		st = run(&c, out, &own);
	hop_fn_release(c.f);
	return st;
}

hop_status hop_jit_fn(hop_jit *j, int nin, hop_array *const *in, hop_fn **out_f)
{
	struct call c = { .j = j, .nin = nin, .nout = -1, .in = in };
	if (out_f)
		*out_f = NULL;
	if (!j || !out_f)
		return HOP_EUSE;
	HOP_TRY(check_args(j, nin, in));
	hop_status st = get(&c);
	if (st)
		hop_fn_release(c.f);
	else
		*out_f = c.f;
	return st;
}
