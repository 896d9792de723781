/* objects.c -- objects of the host: a table of them in the context, handles that are numbers, methods
 * as functions of the host that look their object up. Nothing here knows of graphs. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/fork.h"
#include "data/foreign.h"
#include "hop/object.h"

/* A place in the table. A handle is the place, and in its upper half how often that was taken, from 1
 * on: an old one is not taken for a new one, and 0 is none. */
typedef struct place {
	const char *of;                /* the class, interned; NULL = free */
	void       *self;
	void      (*destroy)(void *self);
	int64_t     refs;              /* holders, and methods that run */
	uint32_t    taken, next;       /* free: the next free place + 1 */
} place;

/* Thread safe: all but mem is read and written under the lock. */
typedef struct table {
	hop_mem         mem;
	pthread_mutex_t lock;
	hop_fork_hook   fork;
	place          *p;
	uint32_t        n, cap, free;  /* free: place + 1 */
} table;

typedef struct class {
	hop_mem      mem;
	const char  *name;             /* interned */
	void       (*destroy)(void *self);
} class;

typedef struct method {
	hop_mem        mem;
	const char    *of;
	hop_method_fn *run;
	table         *t;
} method;

/* The table is owned under a name that no class may have. */
static const char table_name[] = " objects";

/* ---- the table ---- */

static void lock(void *user) { pthread_mutex_lock(&((table *)user)->lock); }
static void unlock(void *user) { pthread_mutex_unlock(&((table *)user)->lock); }

static void drop_table(void *user)
{
	table *t = user;
	hop_mem mem = t->mem;
	hop_fork_remove(&t->fork);
	for (uint32_t i = 0; i < t->n; i++)
		if (t->p[i].of && t->p[i].destroy)
			t->p[i].destroy(t->p[i].self);
	pthread_mutex_destroy(&t->lock);
	hop_raw_free(&mem, t->p, t->cap * sizeof *t->p);
	hop_raw_free(&mem, t, sizeof *t);
}

static table *table_of(hop_ctx *c)
{
	return hop_ctx_owned(c, HOP_OWN_CLASS, table_name, strlen(table_name));
}

/* There is one as soon as there is a class. */
static table *make_table(hop_env *e)
{
	if (table_of(e->ctx))
		return table_of(e->ctx);
	table *t = hop_raw_new(e, sizeof *t);
	*t = (table){ .mem = e->mem, .fork = { .before = lock, .parent = unlock, .child = unlock } };
	t->fork.user = t;
	pthread_mutex_init(&t->lock, NULL);
	if (!hop_fork_add(&t->fork)) {
		drop_table(t);
		hop_nomem(e);
	}
	if (!hop_ctx_own(e, HOP_OWN_CLASS, table_name, t, drop_table))
		drop_table(t);
	return table_of(e->ctx);
}

static int64_t handle_of(const table *t, uint32_t at)
{
	return (int64_t)t->p[at].taken << 32 | at;
}

/* Under the lock: the place of a handle, or NULL. */
static place *find(table *t, int64_t handle)
{
	uint32_t at = (uint32_t)(handle & UINT32_MAX);
	return at < t->n && t->p[at].of && handle_of(t, at) == handle ? &t->p[at] : NULL;
}

static bool grow(table *t)
{
	uint32_t cap = t->cap ? 2 * t->cap : 16;
	place *p = t->mem.fn(t->mem.user, t->p, t->cap * sizeof *p, cap * sizeof *p);
	if (!p)
		return false;
	t->p = p;
	t->cap = cap;
	return true;
}

/* 0: no memory. */
static int64_t put(table *t, const class *k, void *self)
{
	int64_t handle = 0;
	lock(t);
	if (t->free || t->n < t->cap || grow(t)) {
		uint32_t at = t->free ? t->free - 1 : t->n;
		uint32_t taken = t->free ? t->p[at].taken % INT32_MAX + 1 : 1;
		if (t->free)
			t->free = t->p[at].next;
		else
			t->n++;
		t->p[at] = (place){ .of = k->name, .self = self, .destroy = k->destroy, .refs = 1,
		                    .taken = taken };
		handle = handle_of(t, at);
	}
	unlock(t);
	return handle;
}

/* One holder less; the last one destroys, outside of the lock. */
static void let_go(table *t, int64_t handle)
{
	place was = { 0 };
	lock(t);
	place *p = find(t, handle);
	if (p && !--p->refs) {
		was = *p;
		p->of = NULL;
		p->next = t->free;
		t->free = (uint32_t)(p - t->p) + 1;
	}
	unlock(t);
	if (was.destroy)
		was.destroy(was.self);
}

/* One holder more; of: its class, or NULL if there is no such object. */
static void *hold(table *t, int64_t handle, const char **of)
{
	void *self = NULL;
	lock(t);
	place *p = find(t, handle);
	*of = p ? p->of : NULL;
	if (p) {
		p->refs++;
		self = p->self;
	}
	unlock(t);
	return self;
}

/* ---- methods ---- */

static void drop_method(void *user)
{
	method *m = user;
	hop_mem mem = m->mem;
	hop_raw_free(&mem, m, sizeof *m);
}

static hop_status run_method(const hop_host_call *c)
{
	const method *m = c->user;
	const char *of;
	int64_t handle;
	if (!c->nin || c->in[0].dtype != HOP_i64 || c->in[0].rank)
		return hop_host_fail(c, HOP_ETYPE, "the first input is no handle: an i64 scalar is");
	memcpy(&handle, c->in[0].data, sizeof handle);
	void *self = hold(m->t, handle, &of);
	if (!of)
		return hop_host_fail(c, HOP_EVALUE, "%lld is the handle of no object: it was released, or "
		                     "never made", (long long)handle);
	hop_status st;
	if (of != m->of) {
		st = hop_host_fail(c, HOP_ETYPE, "the object is a `%s`, not a `%s`", of, m->of);
	} else {
		hop_host_call inner = *c;
		inner.nin--;
		inner.in++;
		st = m->run(self, &inner);
	}
	let_go(m->t, handle);
	return st;
}

static hop_status add_method(hop_env *e, table *t, const char *of, const hop_method_def *d)
{
	char name[256];
	hop_foreign *f;
	snprintf(name, sizeof name, "%s.%s", of, d->name);
	method *m = hop_raw_new(e, sizeof *m);
	*m = (method){ e->mem, of, d->run, t };
	hop_host_def def = { .name = name, .run = run_method, .user = m, .drop = drop_method,
	                     .pure = d->pure, .shape = d->shape, .vjp = d->vjp };
	hop_status st = hop_foreign_add(e, &def, &f);
	if (st)
		drop_method(m);
	return st;
}

/* ---- classes ---- */

static hop_status check(hop_env *e, const hop_class_def *d)
{
	char name[256];
	if (!d->name || !*d->name || strchr(d->name, ' '))
		return hop_fail(e, 0, HOP_EUSE, "class: a class has a name without blanks");
	if (d->nmethod < 0 || (d->nmethod && !d->method))
		return hop_fail(e, 0, HOP_EUSE, "class `%s`: the count of methods is negative or their list is "
		                "missing", d->name);
	for (int i = 0; i < d->nmethod; i++) {
		const hop_method_def *m = &d->method[i];
		if (!m->name || !*m->name || !m->run)
			return hop_fail(e, 0, HOP_EUSE, "class `%s`: method %d has no name or nothing to run",
			                d->name, i);
		size_t n = (size_t)snprintf(name, sizeof name, "%s.%s", d->name, m->name);
		bool twice = n >= sizeof name || hop_foreign_find(e->ctx, name, n);
		for (int k = 0; k < i; k++)
			twice |= !strcmp(d->method[k].name, m->name);
		if (twice)
			return hop_fail(e, 0, HOP_EVALUE, "class `%s`: its method `%s` has a name that is too long "
			                "or taken", d->name, m->name);
	}
	return HOP_OK;
}

static void drop_class(void *user)
{
	class *k = user;
	hop_mem mem = k->mem;
	hop_raw_free(&mem, k, sizeof *k);
}

static hop_status add_class(hop_env *e, const hop_class_def *d)
{
	HOP_TRY(check(e, d));
	table *t = make_table(e);
	const char *name = hop_ctx_name(e, d->name, strlen(d->name));
	class *k = hop_raw_new(e, sizeof *k);
	*k = (class){ e->mem, name, d->destroy };
	if (!hop_ctx_own(e, HOP_OWN_CLASS, name, k, drop_class)) {
		drop_class(k);
		return hop_fail(e, 0, HOP_EVALUE, "class: there is a class `%s` already: give this one another "
		                "name", d->name);
	}
	for (int i = 0; i < d->nmethod; i++)
		HOP_TRY(add_method(e, t, name, &d->method[i]));
	return HOP_OK;
}

static hop_status add_object(hop_env *e, const char *of, void *self, int64_t *out_handle)
{
	const class *k = of ? hop_ctx_owned(e->ctx, HOP_OWN_CLASS, of, strlen(of)) : NULL;
	if (!k || *of == ' ')
		return hop_fail(e, 0, HOP_EUSE, "object: there is no class `%s`: hop_class_add makes one known",
		                of ? of : "");
	*out_handle = put(table_of(e->ctx), k, self);
	if (!*out_handle)
		hop_nomem(e);
	return HOP_OK;
}

/* ---- the doors ---- */

struct asked { const hop_class_def *def; const char *of; void *self; int64_t *handle; };

static hop_status guarded(hop_ctx *c, const struct asked *a)
{
	hop_env e;
	hop_frame fr;
	hop_status st;
	hop_env_init(&e, c, hop_ctx_mem(c));
	if (HOP_GUARD(&e, &fr)) {
		st = hop_guard_nomem(&e, &fr);
	} else {
		st = a->def ? add_class(&e, a->def) : add_object(&e, a->of, a->self, a->handle);
		hop_guard_end(&e, &fr);
	}
	if (st)
		hop_ctx_set_message(c, &e.diag);
	hop_env_fini(&e);
	return st;
}

hop_status hop_class_add(hop_ctx *c, const hop_class_def *def)
{
	hop_class_def d;
	if (!c)
		return HOP_EUSE;
	HOP_TRY(hop_opts_read(c, "class", def, &d, sizeof d));
	return guarded(c, &(struct asked){ .def = &d });
}

hop_status hop_object_new(hop_ctx *c, const char *class_name, void *self, int64_t *out_handle)
{
	if (!c || !out_handle)
		return HOP_EUSE;
	*out_handle = 0;
	return guarded(c, &(struct asked){ .of = class_name, .self = self, .handle = out_handle });
}

hop_status hop_object_retain(hop_ctx *c, int64_t handle)
{
	table *t = c ? table_of(c) : NULL;
	const char *of = NULL;
	if (t)
		hold(t, handle, &of);
	return of ? HOP_OK : HOP_EUSE;
}

void hop_object_release(hop_ctx *c, int64_t handle)
{
	table *t = c ? table_of(c) : NULL;
	if (t)
		let_go(t, handle);
}

void *hop_object_self(hop_ctx *c, const char *class_name, int64_t handle)
{
	table *t = c ? table_of(c) : NULL;
	void *self = NULL;
	if (!t || !class_name)
		return NULL;
	lock(t);
	const place *p = find(t, handle);
	if (p && !strcmp(p->of, class_name))
		self = p->self;
	unlock(t);
	return self;
}
