/* engine.c -- engines: made known to a context, found, asked to take a region, and run. Which regions
 * they are asked for is the driver's. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "data/engine.h"

struct record {
	hop_mem    mem;
	hop_engine e;
};

static void drop(void *p)
{
	struct record *r = p;
	hop_mem mem = r->mem;
	if (r->e.drop)
		r->e.drop(r->e.user);
	hop_raw_free(&mem, r, sizeof *r);
}

static hop_status add(hop_env *e, const hop_engine *d)
{
	if (!d->name || !*d->name || !d->prepare || !d->run)
		return hop_fail(e, 0, HOP_EUSE, "engine: one has a name, prepare and run");
	if (strpbrk(d->name, ", \t\n") || !strcmp(d->name, "hop"))
		return hop_fail(e, 0, HOP_EVALUE, "engine `%s`: a name has no blank and no comma in it, and "
		                "`hop` is ours", d->name);
	struct record *r = hop_raw_new(e, sizeof *r);
	*r = (struct record){ .mem = e->mem, .e = *d };
	r->e.name = hop_ctx_name(e, d->name, strlen(d->name));
	if (hop_ctx_own(e, HOP_OWN_DELEGATE, d->name, r, drop))
		return HOP_OK;
	hop_raw_free(&e->mem, r, sizeof *r);
	return hop_fail(e, 0, HOP_EVALUE, "engine: there is one called `%s` already: give this one another "
	                "name", d->name);
}

hop_status hop_engine_add(hop_ctx *c, const hop_engine *engine)
{
	hop_engine d;
	hop_env e;
	hop_frame fr;
	hop_status st;
	if (!c)
		return HOP_EUSE;
	HOP_TRY(hop_opts_read(c, "engine", engine, &d, sizeof d));
	hop_env_init(&e, c, hop_ctx_mem(c));
	if (HOP_GUARD(&e, &fr)) {
		st = hop_guard_nomem(&e, &fr);
	} else {
		st = add(&e, &d);
		hop_guard_end(&e, &fr);
	}
	if (st)
		hop_ctx_set_message(c, &e.diag);
	hop_env_fini(&e);
	return st;
}

const hop_engine *hop_engine_find(hop_ctx *c, const char *name, size_t n)
{
	struct record *r = hop_ctx_owned(c, HOP_OWN_DELEGATE, name, n);
	return r ? &r->e : NULL;
}

const hop_engine *hop_engine_named(hop_env *e, hop_loc loc, const char *what, const char *name,
                                   size_t n)
{
	const hop_engine *engine = hop_engine_find(e->ctx, name, n);
	const char *other;
	hop_buf known;
	if (engine)
		return engine;
	hop_buf_open(&known, e);
	for (int i = 0; (other = hop_ctx_owned_name(e->ctx, HOP_OWN_DELEGATE, i)); i++)
		hop_putf(&known, "%s`%s`", i ? ", " : "", other);
	hop_fail(e, loc, HOP_EVALUE, "%s: engine `%.*s` is not known to this context, which knows %s: "
	         "hop_engine_add makes one known", what, (int)n, name, known.n ? known.s : "none");
	hop_buf_free(&known);
	return NULL;
}

/* ---- regions ---- */

hop_status hop_engine_refuse(const hop_engine_region *r, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(r->message, r->room, fmt, ap);
	va_end(ap);
	return HOP_EREFUSED;
}

static hop_status run(const hop_host_call *c)
{
	const hop_taken *t = c->user;
	return t->engine->run(t->handle, c);
}

hop_status hop_engine_take(hop_env *e, const hop_engine *engine, hop_loc loc,
                           const hop_engine_region *r, const char *name, hop_taken **out_t)
{
	char message[512] = "";
	hop_engine_region ask = *r;
	hop_taken *t = hop_raw_try(&e->mem, sizeof *t);
	if (!t)
		return hop_fail(e, loc, HOP_ENOMEM, "region: no memory for what engine `%s` takes",
		                engine->name);
	*t = (hop_taken){ .engine = engine, .name = name };
	t->f = (hop_foreign){ .mem = e->mem, .name = engine->name, .run = run, .user = t,
	                      .what = "engine" };
	ask.size = sizeof ask;
	ask.user = engine->user;
	ask.message = message;
	ask.room = sizeof message;
	hop_status st = engine->prepare(&ask, &t->handle);
	if (!st) {
		*out_t = t;
		return HOP_OK;
	}
	hop_raw_free(&e->mem, t, sizeof *t);
	return hop_fail(e, loc, st, "engine `%s` refuses region %s: %s", engine->name,
	                r->name ? r->name : "without a name", *message ? message : hop_status_name(st));
}

void hop_taken_free(hop_taken *t)
{
	while (t) {
		hop_taken *next = t->next;
		hop_mem mem = t->f.mem;
		if (t->engine->free)
			t->engine->free(t->handle);
		hop_raw_free(&mem, t, sizeof *t);
		t = next;
	}
}
