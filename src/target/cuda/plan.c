/* plan.c -- walk the lists of a program for given sizes: which kernels are launched with which grids,
 * and the table of their records. Addresses are left open: a plan serves every run of these sizes. */
#include <string.h>

#include "target/cuda/image.h"

enum { KEPT = 64 };                            /* plans of an image */
enum { SPREAD = 8 };                           /* trips that are launches one after the other */
enum { MAX_X = 0x7fffffff, MAX_YZ = 65535 };   /* blocks along an axis */

/* Walked twice: to count, then to write. */
typedef struct walk {
	hop_cuda_image *i;
	hop_cuda_plan *p;
	hop_cuda_launch *launch;       /* NULL: count */
	hop_cuda_word   *word;
	int  nlaunch, nword;
	bool spread;                   /* in a loop whose trips stand one after the other */
	const char *why;
} walk;

/* The record that a function was given: its words, and its place in the table. */
typedef struct record {
	const hop_cuda_word *word;
	const int64_t *syms;
	int nsym, at;
} record;

static bool refuse(walk *w, const char *why)
{
	w->why = w->why ? w->why : why;
	return false;
}

static bool eval(walk *w, hop_size s, const record *r, int64_t *out)
{
	return hop_size_eval(s, r->syms, r->nsym, out) ||
	       refuse(w, "sizes of its lists are only known while it runs, or are too large");
}

/* ---- grids ---- */

/* Loops that are shared take turns when there are fewer blocks than they have iterations. */
static bool clip(walk *w, const hop_cuda_func *f, int64_t *n, int64_t most)
{
	if (*n < 1)
		*n = 1;
	if (*n > most && f->team.exact)
		return refuse(w, "a kernel needs more blocks than a grid has");
	if (*n > most)
		*n = most;
	return true;
}

static bool grid(walk *w, const hop_cuda_func *f, const record *r, unsigned *out)
{
	static const int64_t most[3] = { MAX_X, MAX_YZ, MAX_YZ };
	int64_t n[3], room = f->room;
	for (int k = 0; k < 3; k++)
		if (!eval(w, f->team.blocks[k], r, &n[k]) || !clip(w, f, &n[k], most[k]))
			return false;
	for (int k = 2; f->team.resident && k >= 0; k--) {
		n[k] = n[k] < room ? n[k] : room;
		room /= n[k];
	}
	for (int k = 0; k < 3; k++)
		out[k] = (unsigned)n[k];
	return true;
}

/* ---- records ---- */

static bool address(walk *w, const hop_cuda_arg *a, const record *r, hop_cuda_word *out)
{
	int64_t bytes, elems;
	if (!eval(w, a->offset[0], r, &bytes) || !eval(w, a->offset[1], r, &elems))
		return false;
	bytes += elems * a->elem;
	switch (a->base) {
	case HOP_BASE_NONE:
		*out = (hop_cuda_word){ HOP_BASE_NONE, (int64_t)a->fixed };
		break;
	case HOP_BASE_FRAME:
		*out = r->word[0];
		break;
	case HOP_BASE_SCRATCH:
		*out = (hop_cuda_word){ HOP_BASE_SCRATCH, 0 };
		break;
	case HOP_BASE_TAPE:
		*out = (hop_cuda_word){ -1 - a->index, 0 };
		break;
	case HOP_BASE_PARAM:
		*out = r->word[1 + r->nsym + a->index];
		break;
	}
	out->v += bytes;
	return true;
}

/* The record of a call; it is appended to the table. */
static bool record_of(walk *w, const hop_cuda_call *c, const record *r, const hop_cuda_func *f,
                      hop_cuda_word *word, int64_t *syms, record *out)
{
	int64_t frame;
	if (!eval(w, c->frame, r, &frame))
		return false;
	word[0] = r->word[0];
	word[0].v += frame;
	for (int k = 0; k < f->nsym; k++) {
		if (!eval(w, c->sizes[k], r, &syms[k]))
			return false;
		word[1 + k] = (hop_cuda_word){ HOP_BASE_NONE, syms[k] };
	}
	for (int k = 0; k < f->nparam; k++)
		if (!address(w, &c->arg[k], r, &word[1 + f->nsym + k]))
			return false;
	*out = (record){ word, syms, f->nsym, w->nword };
	int n = 1 + f->nsym + f->nparam;
	if (w->word)
		memcpy(w->word + w->nword, word, sizeof *word * (size_t)n);
	w->nword += n;
	return true;
}

/* ---- lists ---- */

static bool enter(walk *w, int func, const record *r);

/* A library may do the product instead. Not behind a kernel that can leave: it would run nevertheless,
 * and again when that has gone on. In a run that is canceled it runs for nothing. */
static void library(walk *w, const hop_cuda_func *f, const record *r, hop_cuda_launch *l)
{
	const char *why = w->why;
	int order[3];
	if (!f->product || w->p->leaves)
		return;
	const hop_lt *lt = hop_cuda_product_way(w->i, f->product, r->syms, r->nsym, order);
	if (!lt)
		return;
	for (int k = 0; k < 3; k++)
		if (!address(w, &f->product->arg[order[k]], r, &l->at[k])) {
			w->why = why;
			return;
		}
	l->lt = lt;
	w->p->nlt++;
	w->p->work = (int64_t)lt->work > w->p->work ? (int64_t)lt->work : w->p->work;
}

static bool kernel(walk *w, int func, const record *r)
{
	const hop_cuda_func *f = &w->i->func[func];
	hop_cuda_launch l = { .func = func, .rec = (unsigned)r->at, .spread = w->spread };
	if (!grid(w, f, r, l.grid))
		return false;
	library(w, f, r, &l);
	if (w->launch)
		w->launch[w->nlaunch] = l;
	w->nlaunch++;
	w->p->looks |= f->is.looks;
	w->p->leaves |= f->is.leaves;
	w->p->cancels |= f->is.cancels;
	return true;
}

static bool call(walk *w, const hop_cuda_call *c, const record *r);

static bool trip(walk *w, const hop_cuda_call *c, const record *r, bool spread)
{
	bool outer = w->spread, ok = true;
	w->spread = spread;
	for (int k = 0; ok && k < c->nbody; k++)
		ok = call(w, &c->body[k], r);
	w->spread = outer;
	return ok;
}

/* Few trips are launches like any other, and there is no node that turns: a graph takes its time with
 * one. What is decided about them, from before the first on, is for kernels alone. */
static bool spread(walk *w, const hop_cuda_call *c, const record *r, int64_t trips)
{
	if (w->launch)
		w->launch[w->nlaunch - 1].spread = true;
	while (trips-- > 0)
		if (!trip(w, c, r, true))
			return false;
	return true;
}

static bool loop(walk *w, const hop_cuda_call *c, const record *r)
{
	int64_t trips;
	if (hop_size_eval(c->trips, r->syms, r->nsym, &trips) && trips > 0 && trips <= SPREAD)
		return spread(w, c, r, trips);
	int at = w->nlaunch++;
	if (!trip(w, c, r, false))
		return false;
	if (w->launch)
		w->launch[at] = (hop_cuda_launch){ .func = -1, .body = w->nlaunch - at - 1, .each = c->each };
	w->p->loops = true;
	return true;
}

static bool call(walk *w, const hop_cuda_call *c, const record *r)
{
	if (c->nbody)
		return loop(w, c, r);
	const hop_cuda_func *f = &w->i->func[c->callee];
	const hop_mem *m = &w->i->mem;
	size_t n = (size_t)(1 + f->nsym + f->nparam);
	size_t bytes = n * sizeof(hop_cuda_word) + (size_t)f->nsym * sizeof(int64_t);
	record own;
	if (c->is_part)
		return enter(w, c->callee, r);
	hop_cuda_word *word = hop_raw_try(m, bytes);
	if (!word)
		return refuse(w, "");
	bool ok = record_of(w, c, r, f, word, (int64_t *)(void *)(word + n), &own) &&
	          enter(w, c->callee, &own);
	hop_raw_free(m, word, bytes);
	return ok;
}

static bool enter(walk *w, int func, const record *r)
{
	const hop_cuda_func *f = &w->i->func[func];
	int64_t scratch;
	if (!eval(w, f->scratch, r, &scratch))
		return false;
	if (scratch > w->p->scratch)
		w->p->scratch = scratch;
	if (f->level == HOP_LEVEL_KERNEL)
		return kernel(w, func, r);
	for (int k = 0; k < f->ncall; k++)
		if (!call(w, &f->call[k], r))
			return false;
	return true;
}

/* ---- plans ---- */

/* The entry's record is the first of the table; word: room for it. */
static bool go(walk *w, hop_cuda_word *word)
{
	const hop_cuda_image *i = w->i;
	const hop_cuda_func *f = &i->func[0];
	record r = { word, w->p->syms, i->nsym, 0 };
	int n = 1 + i->nsym + i->nparam;
	w->nlaunch = 0;
	w->nword = n;
	word[0] = (hop_cuda_word){ HOP_BASE_FRAME, 0 };
	for (int k = 0; k < i->nsym; k++)
		word[1 + k] = (hop_cuda_word){ HOP_BASE_NONE, w->p->syms[k] };
	for (int k = 0; k < f->nparam; k++)
		word[1 + i->nsym + k] = (hop_cuda_word){ HOP_BASE_PARAM + k, 0 };
	if (w->word)
		memcpy(w->word, word, sizeof *word * (size_t)n);
	return enter(w, 0, &r);
}

static bool measure(walk *w)
{
	const hop_cuda_image *i = w->i;
	for (int k = 0; k < i->nparam; k++) {
		int64_t n;
		if (!hop_size_eval(i->param[k].count, w->p->syms, i->nsym, &n) || n < 0 ||
		    __builtin_mul_overflow(n, i->param[k].elem, &w->p->bytes[k]))
			return refuse(w, "a parameter is larger than memory");
	}
	return (hop_size_eval(i->frame, w->p->syms, i->nsym, &w->p->frame) && w->p->frame >= 0) ||
	       refuse(w, "its workspace is larger than memory");
}

/* A plan of so many launches and words, all in one piece, with room for one more record of the entry. */
static hop_cuda_plan *blank(const hop_cuda_image *i, const int64_t *syms, int nlaunch, int nword,
                            hop_cuda_word **out_entry)
{
	size_t own = (size_t)(1 + i->nsym + i->nparam);
	size_t ints = (size_t)(i->nsym + i->nparam) * sizeof(int64_t);
	size_t words = ((size_t)nword + own) * sizeof(hop_cuda_word);
	size_t size = sizeof(hop_cuda_plan) + ints + words + (size_t)nlaunch * sizeof(hop_cuda_launch);
	hop_cuda_plan *p = hop_raw_try(&i->mem, size);
	if (!p)
		return NULL;
	memset(p, 0, size);
	p->size = size;
	p->syms = (int64_t *)(void *)(p + 1);
	p->bytes = p->syms + i->nsym;
	p->word = (hop_cuda_word *)(void *)(p->bytes + i->nparam);
	p->launch = (hop_cuda_launch *)(void *)(p->word + nword + own);
	*out_entry = p->word + nword;
	p->nlaunch = nlaunch;
	p->nword = nword;
	if (i->nsym)
		memcpy(p->syms, syms, sizeof *syms * (size_t)i->nsym);
	return p;
}

static hop_cuda_plan *make(hop_cuda_image *i, const int64_t *syms, const char **out_why)
{
	hop_cuda_word *entry;
	walk w = { .i = i, .p = blank(i, syms, 0, 0, &entry) };
	bool ok = w.p && go(&w, entry) && measure(&w);
	if (w.p)
		hop_raw_free(&i->mem, w.p, w.p->size);
	w.p = ok ? blank(i, syms, w.nlaunch, w.nword, &entry) : NULL;
	*out_why = w.why ? w.why : "";
	if (!w.p)
		return NULL;
	w.launch = w.p->launch;
	w.word = w.p->word;
	if (go(&w, entry) && measure(&w))
		return w.p;
	hop_raw_free(&i->mem, w.p, w.p->size);
	return NULL;
}

static hop_cuda_plan *find(hop_cuda_image *i, const int64_t *syms)
{
	for (hop_cuda_plan **at = &i->plans, *p; (p = *at); at = &p->next) {
		if (i->nsym && memcmp(p->syms, syms, sizeof *syms * (size_t)i->nsym))
			continue;
		*at = p->next;                 /* the newest first */
		p->next = i->plans;
		i->plans = p;
		return p;
	}
	return NULL;
}

/* One that nobody uses, the longest not used; NULL = none, or there are not too many. */
static hop_cuda_plan *oldest(hop_cuda_image *i)
{
	hop_cuda_plan **last = NULL, *p;
	if (i->nplan <= KEPT)
		return NULL;
	for (hop_cuda_plan **at = &i->plans; *at; at = &(*at)->next)
		if (!(*at)->users)
			last = at;
	if (!last)
		return NULL;
	p = *last;
	*last = p->next;
	i->nplan--;
	return p;
}

hop_cuda_plan *hop_cuda_plan_take(hop_cuda_image *i, const int64_t *syms, const char **out_why)
{
	hop_cuda_plan *p, *old = NULL;
	pthread_mutex_lock(&i->lock);
	p = find(i, syms);
	if (p)
		p->users++;
	pthread_mutex_unlock(&i->lock);
	if (p)
		return p;
	p = make(i, syms, out_why);            /* two threads may make the same: both are right */
	if (!p)
		return NULL;
	pthread_mutex_lock(&i->lock);
	p->serial = ++i->serial;
	p->users = 1;
	p->next = i->plans;
	i->plans = p;
	i->nplan++;
	old = oldest(i);
	pthread_mutex_unlock(&i->lock);
	if (old)
		hop_raw_free(&i->mem, old, old->size);
	return p;
}

void hop_cuda_plan_give(hop_cuda_image *i, hop_cuda_plan *p)
{
	pthread_mutex_lock(&i->lock);
	p->users--;
	pthread_mutex_unlock(&i->lock);
}

void hop_cuda_plans_free(hop_cuda_image *i)
{
	for (hop_cuda_plan *p = i->plans, *next; p; p = next) {
		next = p->next;
		hop_raw_free(&i->mem, p, p->size);
	}
	i->plans = NULL;
}
