/* buf.c -- strings that grow. Floats are in float.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

void hop_buf_open(hop_buf *b, hop_env *e)
{
	*b = (hop_buf){ .env = e, .next = e->bufs };
	e->bufs = b;
}

void hop_buf_free(hop_buf *b)
{
	hop_env *e = b->env;
	if (!e)
		return;
	for (hop_frame *f = e->frame; f; f = f->prev)
		if (f->bufs == b)
			f->bufs = b->next;
	for (hop_buf **p = &e->bufs; *p; p = &(*p)->next)
		if (*p == b) {
			*p = b->next;
			break;
		}
	hop_raw_free(&e->mem, b->s, b->cap);
	*b = (hop_buf){ .env = NULL };
}

/* Room for n more bytes and the terminator. */
static char *room(hop_buf *b, size_t n)
{
	HOP_ASSERT(b->env);
	if (n > SIZE_MAX / 4 - b->n)
		hop_nomem(b->env);
	size_t need = b->n + n + 1;
	if (need > b->cap) {
		size_t cap = b->cap ? b->cap * 2 : 64;
		if (cap < need)
			cap = need;
		hop_mem *m = &b->env->mem;
		char *s = m->fn(m->user, b->s, b->cap, cap);
		if (!s)
			hop_nomem(b->env);
		b->s = s;
		b->cap = cap;
	}
	return b->s + b->n;
}

void hop_putn(hop_buf *b, const char *s, size_t n)
{
	char *at = room(b, n);
	if (n)
		memcpy(at, s, n);
	at[n] = '\0';
	b->n += n;
}

void hop_put(hop_buf *b, const char *s)
{
	hop_putn(b, s, strlen(s));
}

void hop_putc(hop_buf *b, char c)
{
	hop_putn(b, &c, 1);
}

void hop_putf(hop_buf *b, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	HOP_ASSERT(n >= 0);
	/* room may jump past va_end: harmless, nothing is held by a va_list here */
	char *at = room(b, (size_t)n);
	vsnprintf(at, (size_t)n + 1, fmt, again);
	va_end(again);
	b->n += (size_t)n;
}
