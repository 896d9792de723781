/* foreign.c -- functions of the host: made known to a context, found, called. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "data/engine.h"

static size_t bytes(int nwrite)
{
	return sizeof(hop_foreign) + (size_t)nwrite * sizeof(int64_t);
}

static void drop(void *p)
{
	hop_foreign *f = p;
	hop_mem mem = f->mem;
	if (f->drop)
		f->drop(f->user);
	hop_raw_free(&mem, f, bytes(f->nwrite));
}

static const char *named(hop_env *e, const char *s)
{
	return s ? hop_ctx_name(e, s, strlen(s)) : NULL;
}

/* A record of its own: dropped with the context, or right here if there is one of its name. What the
 * caller gave is dropped only once it is ours. */
hop_status hop_foreign_add(hop_env *e, const hop_host_def *d, hop_foreign **out_f)
{
	const char *name = named(e, d->name), *vjp = named(e, d->vjp_host), *jvp = named(e, d->jvp_host);
	hop_foreign *f = hop_raw_new(e, bytes(d->nwrite));
	*f = (hop_foreign){ .mem = e->mem, .name = name, .pure = d->pure, .run = d->run, .user = d->user,
	                    .batch = d->batch, .shape = d->shape, .vjp = d->vjp, .jvp = d->jvp,
	                    .vjp_host = vjp, .jvp_host = jvp, .checked = hop_check_asked("host"),
	                    .nwrite = d->nwrite };
	for (int i = 0; i < d->nwrite; i++)
		f->writes[i] = d->writes[i];
	if (hop_ctx_own(e, HOP_OWN_HOST, d->name, f, drop)) {
		f->drop = d->drop;
		*out_f = f;
		return HOP_OK;
	}
	drop(f);
	return hop_fail(e, 0, HOP_EVALUE, "host: there is a function `%s` already: give this one "
	                "another name", d->name);
}

static hop_status check(hop_env *e, const hop_host_def *d)
{
	if (!d->name || !*d->name || !d->run)
		return hop_fail(e, 0, HOP_EUSE, "host: a function has a name and something to run");
	if (d->nwrite < 0 || (d->nwrite && !d->writes))
		return hop_fail(e, 0, HOP_EUSE, "host: `%s`: the count of writes is negative or their list is "
		                "missing", d->name);
	if ((d->vjp && d->vjp_host) || (d->jvp && d->jvp_host))
		return hop_fail(e, 0, HOP_EUSE, "host: `%s`: a rule is a body or a function of the host, not "
		                "both", d->name);
	if ((d->jvp || d->jvp_host) && !d->vjp && !d->vjp_host)
		return hop_fail(e, 0, HOP_EUSE, "host: `%s`: has a jvp, but no vjp", d->name);
	return HOP_OK;
}

hop_status hop_host_add(hop_ctx *c, const hop_host_def *def)
{
	hop_host_def d;
	hop_env e;
	hop_frame fr;
	if (!c)
		return HOP_EUSE;
	HOP_TRY(hop_opts_read(c, "host", def, &d, sizeof d));
	hop_env_init(&e, c, hop_ctx_mem(c));
	hop_status st;
	hop_foreign *f;
	if (HOP_GUARD(&e, &fr)) {
		st = hop_guard_nomem(&e, &fr);
	} else {
		st = check(&e, &d);
		if (!st)
			st = hop_foreign_add(&e, &d, &f);
		hop_guard_end(&e, &fr);
	}
	if (st)
		hop_ctx_set_message(c, &e.diag);
	hop_env_fini(&e);
	return st;
}

const hop_foreign *hop_foreign_find(hop_ctx *c, const char *name, size_t n)
{
	return hop_ctx_owned(c, HOP_OWN_HOST, name, n);
}

const hop_foreign *hop_foreign_here(const hop_env *e, const char *name, size_t n)
{
	for (const hop_taken *t = e->taken; t; t = t->next)
		if (strlen(t->name) == n && !memcmp(t->name, name, n))
			return &t->f;
	return hop_foreign_find(e->ctx, name, n);
}

hop_status hop_host_fail(const hop_host_call *c, hop_status st, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(c->message, c->room, fmt, ap);
	va_end(ap);
	return st;
}

hop_status hop_foreign_run(hop_env *e, const hop_foreign *f, hop_loc loc, int nin,
                           const hop_host_arg *in, int nout, const hop_host_arg *out)
{
	char message[512] = "";
	hop_host_call call = { .size = sizeof call, .name = f->name, .user = f->user, .nin = nin,
	                       .nout = nout, .in = in, .out = out, .message = message,
	                       .room = sizeof message };
	hop_status st = f->checked ? hop_foreign_checked(e, f, &call) : f->run(&call);
	if (!st)
		return HOP_OK;
	return hop_fail(e, loc, st, "%s `%s`: %s", f->what ? f->what : "host function", f->name,
	                *message ? message : hop_status_name(st));
}
