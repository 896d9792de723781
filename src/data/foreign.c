/* foreign.c -- functions of the host: made known to a context, found, called. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "data/foreign.h"

static void drop(void *p)
{
	hop_foreign *f = p;
	hop_mem mem = f->mem;
	if (f->drop)
		f->drop(f->user);
	hop_raw_free(&mem, f, sizeof *f);
}

/* A record of its own: dropped with the context, or right here if there is one of its name. */
hop_status hop_foreign_add(hop_env *e, const hop_host_def *d, hop_foreign **out_f)
{
	hop_foreign *f = hop_raw_new(e, sizeof *f);
	*f = (hop_foreign){ .mem = e->mem, .name = hop_ctx_name(e, d->name, strlen(d->name)),
	                    .pure = d->pure, .run = d->run, .user = d->user, .drop = d->drop,
	                    .batch = d->batch };
	*out_f = f;
	if (hop_ctx_own(e, HOP_OWN_HOST, d->name, f, drop))
		return HOP_OK;
	hop_raw_free(&e->mem, f, sizeof *f);
	return hop_fail(e, 0, HOP_EVALUE, "host: there is a function `%s` already: give this one "
	                "another name", d->name);
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
		st = !d.name || !*d.name || !d.run
		     ? hop_fail(&e, 0, HOP_EUSE, "host: a function has a name and something to run")
		     : hop_foreign_add(&e, &d, &f);
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
	hop_status st = f->run(&call);
	if (!st)
		return HOP_OK;
	return hop_fail(e, loc, st, "%s `%s`: %s", f->kernel ? "kernel" : "host function", f->name,
	                *message ? message : hop_status_name(st));
}
