/* diag.c -- the text of a failure, with user lines from the context.
 * Does not jump: a failure must be reportable when memory is gone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctx/ctx.h"

/* Add to the diag's text; without memory it stays as it was. */
static void append(hop_env *e, const char *fmt, va_list ap)
{
	hop_diag *d = &e->diag;
	va_list again;
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	size_t had = d->text ? d->len + 1 : 0;
	size_t len = d->len + (size_t)(n < 0 ? 0 : n);
	char *s = n < 0 ? NULL : e->mem.fn(e->mem.user, d->text, had, len + 1);
	if (s) {
		vsnprintf(s + d->len, (size_t)n + 1, fmt, again);
		d->text = s;
		d->len = len;
	}
	va_end(again);
}

__attribute__((format(printf, 2, 3)))
static void say(hop_env *e, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	append(e, fmt, ap);
	va_end(ap);
}

/* "file:line: " when the location is known; gives the call site around it. */
static hop_loc say_at(hop_env *e, hop_loc at)
{
	const char *file;
	int line;
	hop_loc in;
	if (!e->ctx || !hop_loc_read(e->ctx, at, &file, &line, &in))
		return 0;
	say(e, "%s:%d: ", file, line);
	return in;
}

hop_status hop_fail_(hop_env *e, hop_loc at, hop_status st, const char *file, int line,
                     const char *fmt, ...)
{
	HOP_ASSERT(st);
	if (e->diag.st)
		return e->diag.st;
	e->diag = (hop_diag){ .st = st, .loc = at, .cfile = file, .cline = line };
	hop_loc in = say_at(e, at);
	say(e, "error: ");
	va_list ap;
	va_start(ap, fmt);
	append(e, fmt, ap);
	va_end(ap);
	if (getenv("HOP_DEBUG"))
		say(e, " [%s:%d]", file, line);
	while (in) {
		say(e, "\n  ");
		in = say_at(e, in);
		say(e, "note: called from here");
	}
	return st;
}

hop_status hop_note(hop_env *e, hop_loc at, const char *fmt, ...)
{
	if (!e->diag.st)
		return HOP_OK;
	say(e, "\n  ");
	say_at(e, at);
	say(e, "note: ");
	va_list ap;
	va_start(ap, fmt);
	append(e, fmt, ap);
	va_end(ap);
	return e->diag.st;
}
