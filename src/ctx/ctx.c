/* ctx.c -- the context: interned bytes, locations, graphs, memo, messages; one lock.
 * Does not know what a graph, a size or a type contains. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "ctx/ctx.h"

/* Entries in the order they came, found through an index of open addressing. Bytes are
 * the key, except in the table of graphs, where h and n are the halves of the hash. */
struct entry {
	uint64_t    h;
	size_t      n;
	const void *key;
	void       *val;
};

struct table {
	struct entry *ent;
	size_t        n, cap;
	uint32_t     *slot;         /* [nslot] 1 + index into ent; 0 = empty */
	size_t        nslot;        /* a power of two, or 0 */
};

/* Memory of the context's lifetime: bumped, never given back. */
struct block {
	struct block *prev;
	size_t        cap, used, pad;
	char          data[];
};

/* The last failure of one thread. A thread that takes over the id of a dead one takes
 * over its message, too. */
struct message {
	struct message *next;
	pthread_t       thread;
	hop_status      st;
	char           *text;       /* NULL: no memory for it, or none wanted */
	size_t          len;
};

/* What a location is, as interned: file is an interned name, of one that lives as long as the
 * program. No padding. */
struct loc {
	const char *file;
	const char *of;
	int32_t     line;
	hop_loc     in;
};

_Static_assert(sizeof(struct loc) == 2 * sizeof(char *) + 8, "a location has no padding");

struct own {
	struct own        *next;
	enum hop_own_kind  kind;
	const char        *name;
	void              *p;
	void             (*drop)(void *p);
};

/* Thread safe: all but mem is read and written under the lock. A fork happens with the
 * lock held by the thread that forks, so a child finds whole tables and a free lock. */
struct hop_ctx {
	hop_mem         mem;
	pthread_mutex_t lock;
	hop_fork_hook   fork;
	struct block   *blocks;
	struct table    intern[HOP_NINTERN];
	struct table    memo, graphs;
	void          (*free_graph)(hop_ctx *c, struct hop_graph *g);
	struct message *messages;
	bool            lost;       /* a message found no memory for its slot */
	uint32_t        serial;     /* the last one given */
	int             threads;    /* asked for; 0 = not */
	enum hop_strict strict;     /* never HOP_STRICT_AUTO */
	hop_nan         nan;        /* written once */
	hop_progress_to progress;
	void           *shared;     /* hop_ctx_shared */
	void          (*drop_shared)(void *p);
	hop_shelf       shelf;
	struct own     *own;        /* hop_ctx_own: the newest first */
};

enum { BLOCK = 16384, BLOCK_ALIGN = 16 };

_Static_assert(sizeof(struct block) % BLOCK_ALIGN == 0, "data[] of a block is aligned");

/* ---- under the lock: NULL or false means no memory ---- */

static void *keep(hop_ctx *c, const void *p, size_t n)
{
	if (n > SIZE_MAX / 4)
		return NULL;
	size_t want = (n + 1 + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN;
	struct block *b = c->blocks;
	if (!b || b->cap - b->used < want) {
		size_t cap = want > BLOCK ? want : BLOCK;
		b = hop_raw_try(&c->mem, sizeof *b + cap);
		if (!b)
			return NULL;
		*b = (struct block){ .prev = c->blocks, .cap = cap };
		c->blocks = b;
	}
	char *q = b->data + b->used;
	b->used += want;
	if (n)
		memcpy(q, p, n);
	memset(q + n, 0, want - n);
	return q;
}

static bool same(const struct entry *x, uint64_t h, const void *key, size_t n)
{
	return x->h == h && x->n == n && (!n || !memcmp(x->key, key, n));
}

static struct entry *find(const struct table *t, uint64_t h, const void *key, size_t n)
{
	if (!t->nslot)
		return NULL;
	size_t mask = t->nslot - 1;
	for (size_t i = h & mask; t->slot[i]; i = (i + 1) & mask) {
		struct entry *x = &t->ent[t->slot[i] - 1];
		if (same(x, h, key, n))
			return x;
	}
	return NULL;
}

static void place(struct table *t, size_t which)
{
	size_t mask = t->nslot - 1;
	size_t i = t->ent[which].h & mask;
	while (t->slot[i])
		i = (i + 1) & mask;
	t->slot[i] = (uint32_t)which + 1;
}

/* Room for one more entry. After it, add cannot fail. */
static bool ready(hop_ctx *c, struct table *t)
{
	if (t->n >= UINT32_MAX / 2)
		return false;
	if (t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 32;
		struct entry *ent = c->mem.fn(c->mem.user, t->ent, t->cap * sizeof *ent,
		                              cap * sizeof *ent);
		if (!ent)
			return false;
		t->ent = ent;
		t->cap = cap;
	}
	if ((t->n + 1) * 4 > t->nslot * 3) {
		size_t nslot = t->nslot ? t->nslot * 2 : 64;
		uint32_t *slot = hop_raw_try(&c->mem, nslot * sizeof *slot);
		if (!slot)
			return false;
		memset(slot, 0, nslot * sizeof *slot);
		hop_raw_free(&c->mem, t->slot, t->nslot * sizeof *slot);
		t->slot = slot;
		t->nslot = nslot;
		for (size_t i = 0; i < t->n; i++)
			place(t, i);
	}
	return true;
}

static struct entry *add(struct table *t, struct entry x)
{
	t->ent[t->n] = x;
	place(t, t->n);
	return &t->ent[t->n++];
}

/* The entry for the key, made when it is new; val NULL = the kept copy of the key. */
static struct entry *find_or_add(hop_ctx *c, struct table *t, const void *key, size_t n,
                                 void *val)
{
	uint64_t h = hop_hash_bytes(key, n).lo;
	struct entry *x = find(t, h, key, n);
	if (x)
		return x;
	if (!ready(c, t))
		return NULL;
	void *copy = keep(c, key, n);
	if (!copy)
		return NULL;
	return add(t, (struct entry){ h, n, copy, val ? val : copy });
}

/* ---- tables ---- */

const void *hop_ctx_intern(hop_env *e, enum hop_intern_kind k, const void *p, size_t n,
                           size_t align)
{
	HOP_ASSERT(align <= BLOCK_ALIGN);
	hop_ctx *c = e->ctx;
	pthread_mutex_lock(&c->lock);
	struct entry *x = find_or_add(c, &c->intern[k], p, n, NULL);
	const void *val = x ? x->val : NULL;
	pthread_mutex_unlock(&c->lock);
	if (!val)
		hop_nomem(e);
	return val;
}

const char *hop_ctx_name(hop_env *e, const char *s, size_t n)
{
	return hop_ctx_intern(e, HOP_IN_NAME, s, n, 1);
}

/* A location's number is one more than its place in the table. */
static hop_loc loc_intern(hop_env *e, const struct loc *l)
{
	hop_ctx *c = e->ctx;
	struct table *t = &c->intern[HOP_IN_LOC];
	pthread_mutex_lock(&c->lock);
	struct entry *x = find_or_add(c, t, l, sizeof *l, NULL);
	hop_loc at = x ? (hop_loc)(x - t->ent) + 1 : 0;
	pthread_mutex_unlock(&c->lock);
	if (!at)
		hop_nomem(e);
	return at;
}

hop_loc hop_loc_get(hop_env *e, const char *file, int line, hop_loc in)
{
	const char *name = hop_ctx_name(e, file, strlen(file));
	return loc_intern(e, &(struct loc){ .file = name, .line = line, .in = in });
}

static const struct loc *loc_find(hop_ctx *c, hop_loc l)
{
	pthread_mutex_lock(&c->lock);
	struct table *t = &c->intern[HOP_IN_LOC];
	const struct loc *x = l && l <= t->n ? t->ent[l - 1].val : NULL;
	pthread_mutex_unlock(&c->lock);
	return x;
}

hop_loc hop_loc_derived(hop_env *e, hop_loc l, const char *of)
{
	const struct loc *x = loc_find(e->ctx, l);
	if (!x || x->of)
		return l;
	struct loc d = *x;
	d.of = of;
	return loc_intern(e, &d);
}

const char *hop_loc_of(hop_ctx *c, hop_loc l)
{
	const struct loc *x = loc_find(c, l);
	return x ? x->of : NULL;
}

bool hop_loc_read(hop_ctx *c, hop_loc l, const char **out_file, int *out_line,
                  hop_loc *out_in)
{
	const struct loc *x = loc_find(c, l);
	if (!x)
		return false;
	*out_file = x->file;
	*out_line = x->line;
	*out_in = x->in;
	return true;
}

void *hop_ctx_memo_get(hop_env *e, const void *key, size_t n)
{
	hop_ctx *c = e->ctx;
	uint64_t h = hop_hash_bytes(key, n).lo;
	pthread_mutex_lock(&c->lock);
	struct entry *x = find(&c->memo, h, key, n);
	void *val = x ? x->val : NULL;
	pthread_mutex_unlock(&c->lock);
	return val;
}

void *hop_ctx_memo_put(hop_env *e, const void *key, size_t n, void *val)
{
	HOP_ASSERT(val);
	hop_ctx *c = e->ctx;
	pthread_mutex_lock(&c->lock);
	struct entry *x = find_or_add(c, &c->memo, key, n, val);
	void *won = x ? x->val : NULL;
	pthread_mutex_unlock(&c->lock);
	if (!won)
		hop_nomem(e);
	return won;
}

/* ---- graphs ---- */

static struct hop_graph *graph_find(const struct table *t, hop_hash h,
                                    const struct hop_graph *g, hop_graph_equal_fn *equal)
{
	if (!t->nslot)
		return NULL;
	size_t mask = t->nslot - 1;
	for (size_t i = h.lo & mask; t->slot[i]; i = (i + 1) & mask) {
		struct entry *x = &t->ent[t->slot[i] - 1];
		if (x->h == h.lo && x->n == h.hi && (x->val == g || equal(x->val, g)))
			return x->val;
	}
	return NULL;
}

_Static_assert(sizeof(size_t) == 8, "half a hash fits into an entry's n");

struct hop_graph *hop_ctx_graph_intern(hop_env *e, hop_hash h, struct hop_graph *g,
                                       hop_graph_equal_fn *equal)
{
	hop_ctx *c = e->ctx;
	pthread_mutex_lock(&c->lock);
	struct hop_graph *won = graph_find(&c->graphs, h, g, equal);
	if (!won && ready(c, &c->graphs))
		won = add(&c->graphs, (struct entry){ h.lo, h.hi, NULL, g })->val;
	pthread_mutex_unlock(&c->lock);
	if (!won)
		hop_nomem(e);
	return won;
}

void hop_ctx_graphs_each(hop_ctx *c, void (*fn)(struct hop_graph *g, void *user),
                         void *user)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->graphs.n; i++)
		fn(c->graphs.ent[i].val, user);
	pthread_mutex_unlock(&c->lock);
}

void hop_ctx_on_free_graph(hop_ctx *c, void (*fn)(hop_ctx *c, struct hop_graph *g))
{
	pthread_mutex_lock(&c->lock);
	c->free_graph = fn;
	pthread_mutex_unlock(&c->lock);
}

/* ---- messages ---- */

static struct message *message_find(hop_ctx *c)
{
	for (struct message *m = c->messages; m; m = m->next)
		if (pthread_equal(m->thread, pthread_self()))
			return m;
	return NULL;
}

void hop_ctx_set_message(hop_ctx *c, const hop_diag *d)
{
	pthread_mutex_lock(&c->lock);
	struct message *m = message_find(c);
	if (!m && (m = hop_raw_try(&c->mem, sizeof *m))) {
		*m = (struct message){ .next = c->messages, .thread = pthread_self() };
		c->messages = m;
	}
	if (m) {
		hop_raw_free(&c->mem, m->text, m->len + 1);
		m->st = d->st;
		m->len = d->len;
		m->text = d->text ? hop_raw_try(&c->mem, d->len + 1) : NULL;
		if (m->text)
			memcpy(m->text, d->text, d->len + 1);
	} else {
		c->lost = true;
	}
	pthread_mutex_unlock(&c->lock);
}

const char *hop_message(hop_ctx *c)
{
	if (!c)
		return "";
	pthread_mutex_lock(&c->lock);
	struct message *m = message_find(c);
	const char *s = "";
	if (m && m->text)
		s = m->text;
	else if (m ? m->st == HOP_ENOMEM : c->lost)
		s = "error: no memory";
	else if (m && m->st)
		s = "error: no memory for the message";
	pthread_mutex_unlock(&c->lock);
	return s;
}

/* ---- the context ---- */

static void lock_ctx(void *user)
{
	hop_ctx *c = user;
	pthread_mutex_lock(&c->lock);
}

static void unlock_ctx(void *user)
{
	hop_ctx *c = user;
	pthread_mutex_unlock(&c->lock);
}

enum hop_strict hop_ctx_strict(const hop_ctx *c)
{
	return c->strict;
}

hop_status hop_ctx_new(const hop_ctx_opts *opts, hop_ctx **out_c)
{
	hop_ctx_opts o;
	*out_c = NULL;
	const char *nan = getenv("HOP_NAN");
	if (hop_opts_read(NULL, "context", opts, &o, sizeof o) || o.threads < 0 ||
	    (unsigned)o.strict > HOP_STRICT_NO_GRAD ||
	    (unsigned)o.nan > HOP_NAN_ANY || (nan && !o.nan && !hop_nan_read(nan, &o.nan)))
		return HOP_EVALUE;
	hop_mem mem = { hop_alloc_default, NULL };
	if (o.alloc)
		mem = (hop_mem){ o.alloc, o.user };
	hop_ctx *c = hop_raw_try(&mem, sizeof *c);
	if (!c)
		return HOP_ENOMEM;
	memset(c, 0, sizeof *c);
	c->mem = mem;
	c->threads = o.threads;
	c->strict = o.strict ? o.strict : hop_strict_asked();
	c->nan = o.nan;
	const char *show = getenv("HOP_PROGRESS");
	c->progress = (hop_progress_to){ .fn = o.progress_fn, .user = o.progress_user };
	c->progress.on = o.progress || o.progress_fn || (show && *show && strcmp(show, "0"));
	if (pthread_mutex_init(&c->lock, NULL)) {
		hop_raw_free(&mem, c, sizeof *c);
		return HOP_ENOMEM;
	}
	c->fork = (hop_fork_hook){ .before = lock_ctx, .parent = unlock_ctx,
	                           .child = unlock_ctx, .user = c };
	if (!hop_fork_add(&c->fork)) {
		pthread_mutex_destroy(&c->lock);
		hop_raw_free(&mem, c, sizeof *c);
		return HOP_ENOMEM;
	}
	c->serial = (uint32_t)((uintptr_t)c / 16 * 0x9e3779b1u);   /* contexts start apart */
	*out_c = c;
	return HOP_OK;
}

hop_progress_to hop_ctx_progress(const hop_ctx *c)
{
	return c->progress;
}

void hop_ctx_set_progress(hop_ctx *c, hop_progress_to p)
{
	c->progress = p;
}

static void table_free(hop_ctx *c, struct table *t)
{
	hop_raw_free(&c->mem, t->ent, t->cap * sizeof *t->ent);
	hop_raw_free(&c->mem, t->slot, t->nslot * sizeof *t->slot);
}

/* Bodies are older than what holds them: from the newest down, every holder is seen before
 * what it holds. */
void hop_ctx_sweep(hop_ctx *c, bool (*visit)(struct hop_graph *g))
{
	pthread_mutex_lock(&c->lock);
	struct table *t = &c->graphs;
	table_free(c, &c->memo);
	c->memo = (struct table){ 0 };
	for (size_t i = t->n; i-- > 0;)
		if (!visit(t->ent[i].val)) {
			c->free_graph(c, t->ent[i].val);
			t->ent[i].val = NULL;
		}
	size_t n = 0;
	for (size_t i = 0; i < t->n; i++)
		if (t->ent[i].val)
			t->ent[n++] = t->ent[i];
	t->n = n;
	if (t->nslot)
		memset(t->slot, 0, t->nslot * sizeof *t->slot);
	for (size_t i = 0; i < n; i++)
		place(t, i);
	pthread_mutex_unlock(&c->lock);
}

/* Made without the lock: it may have a hook of its own for fork(), and a hook is not
 * added under a lock that another one takes. Of two makers the second drops its own. */
void *hop_ctx_shared(hop_ctx *c, void *(*make)(const hop_mem *m, int threads),
                     void (*drop)(void *p))
{
	pthread_mutex_lock(&c->lock);
	void *p = c->shared;
	pthread_mutex_unlock(&c->lock);
	if (p)
		return p;
	void *made = make(&c->mem, c->threads);
	pthread_mutex_lock(&c->lock);
	if (!c->shared && made) {
		c->shared = made;
		c->drop_shared = drop;
		made = NULL;
	}
	p = c->shared;
	pthread_mutex_unlock(&c->lock);
	if (made)
		drop(made);
	return p;
}

static struct own *find_own(const hop_ctx *c, enum hop_own_kind k, const char *name, size_t n)
{
	struct own *o = c->own;
	while (o && (o->kind != k || strlen(o->name) != n || memcmp(o->name, name, n)))
		o = o->next;
	return o;
}

bool hop_ctx_own(hop_env *e, enum hop_own_kind k, const char *name, void *p, void (*drop)(void *p))
{
	hop_ctx *c = e->ctx;
	size_t n = strlen(name);
	const char *kept = hop_ctx_name(e, name, n);
	pthread_mutex_lock(&c->lock);
	bool had = find_own(c, k, name, n);
	struct own *o = had ? NULL : keep(c, &(struct own){ c->own, k, kept, p, drop }, sizeof *o);
	if (o)
		c->own = o;
	pthread_mutex_unlock(&c->lock);
	if (!had && !o) {
		drop(p);
		hop_nomem(e);
	}
	return !had;
}

void *hop_ctx_owned(hop_ctx *c, enum hop_own_kind k, const char *name, size_t n)
{
	pthread_mutex_lock(&c->lock);
	struct own *o = find_own(c, k, name, n);
	pthread_mutex_unlock(&c->lock);
	return o ? o->p : NULL;
}

const char *hop_ctx_owned_name(hop_ctx *c, enum hop_own_kind k, int i)
{
	pthread_mutex_lock(&c->lock);
	struct own *o = c->own;
	while (o && (o->kind != k || i-- > 0))
		o = o->next;
	pthread_mutex_unlock(&c->lock);
	return o ? o->name : NULL;
}

void hop_ctx_free(hop_ctx *c)
{
	if (!c)
		return;
	hop_fork_remove(&c->fork);
	if (c->shared)
		c->drop_shared(c->shared);
	for (struct own *o = c->own; o; o = o->next)           /* compiled code among it holds graphs */
		if (o->drop)
			o->drop(o->p);
	for (size_t i = c->graphs.n; c->free_graph && i-- > 0;)
		c->free_graph(c, c->graphs.ent[i].val);
	table_free(c, &c->graphs);
	table_free(c, &c->memo);
	for (int k = 0; k < HOP_NINTERN; k++)
		table_free(c, &c->intern[k]);
	while (c->blocks) {
		struct block *b = c->blocks;
		c->blocks = b->prev;
		hop_raw_free(&c->mem, b, sizeof *b + b->cap);
	}
	while (c->messages) {
		struct message *m = c->messages;
		c->messages = m->next;
		hop_raw_free(&c->mem, m->text, m->len + 1);
		hop_raw_free(&c->mem, m, sizeof *m);
	}
	pthread_mutex_destroy(&c->lock);
	hop_shelf_clear(&c->shelf, &c->mem);
	hop_mem mem = c->mem;
	hop_raw_free(&mem, c, sizeof *c);
}

hop_nan hop_ctx_nan(hop_ctx *c)
{
	return c->nan;
}

hop_shelf *hop_ctx_shelf(hop_ctx *c)
{
	return &c->shelf;
}

hop_mem hop_ctx_mem(hop_ctx *c)
{
	return c->mem;
}

uint32_t hop_ctx_serial(hop_ctx *c)
{
	pthread_mutex_lock(&c->lock);
	uint32_t n = ++c->serial;
	if (!n)
		n = ++c->serial;
	pthread_mutex_unlock(&c->lock);
	return n;
}
