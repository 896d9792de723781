/* stream.c -- streams, and which of them still work on an array. Computes nothing, and knows no kind of
 * device: its memory's cells do. */
#include "data/stream.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "ctx/ctx.h"

static hop_status tell(hop_ctx *c, hop_status st, const char *text)
{
	hop_ctx_set_message(c, &(hop_diag){ .st = st, .text = (char *)(uintptr_t)text,
	                                    .len = strlen(text) });
	return st;
}

hop_status hop_far_told(hop_ctx *c, const char *what, const char *words)
{
	char text[400];
	if (!words)
		return HOP_OK;
	snprintf(text, sizeof text, "error: %s the device: %s", what, words);
	return tell(c, HOP_ETARGET, text);
}

const char *hop_array_where(const hop_array *a, char buf[HOP_DEVICE_TEXT])
{
	snprintf(buf, HOP_DEVICE_TEXT, a->mem ? "%s:%d" : "cpu", a->mem ? a->mem->far->name : "",
	         a->device);
	return buf;
}

/* ---- streams ---- */

hop_status hop_stream_open(hop_ctx *c, const hop_memory *mem, int id, bool adopt, void *queue,
                           hop_stream **out_s)
{
	hop_mem m = hop_ctx_mem(c);
	hop_stream *s = hop_raw_try(&m, sizeof *s);
	if (!s)
		return tell(c, HOP_ENOMEM, "error: stream: no memory");
	*s = (hop_stream){ .refs = 1, .ctx = c, .mem = mem, .id = id, .queue = queue,
	                   .own = mem && !adopt };
	const char *words = s->own ? mem->far->queue_new(&s->queue) : NULL;
	if (words) {
		hop_raw_free(&m, s, sizeof *s);
		return hop_far_told(c, "a stream of", words);
	}
	*out_s = s;
	return HOP_OK;
}

static hop_stream *retain(hop_stream *s)
{
	if (s)
		__atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

static void release(hop_stream *s)
{
	if (!s || __atomic_fetch_sub(&s->refs, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	hop_mem m = hop_ctx_mem(s->ctx);
	hop_raw_free(&m, s, sizeof *s);
}

hop_status hop_stream_wait(hop_stream *s)
{
	if (!s)
		return HOP_EUSE;
	return s->mem ? hop_far_told(s->ctx, "a stream of", s->mem->wait(s->queue)) : HOP_OK;
}

/* Arrays may still name it: they see that it has ended, and that there is nothing to wait for. */
void hop_stream_free(hop_stream *s)
{
	if (!s)
		return;
	if (s->mem)
		(void)!s->mem->wait(s->queue);
	if (s->own)
		s->mem->far->queue_free(s->queue);
	__atomic_store_n(&s->ended, true, __ATOMIC_RELEASE);
	release(s);
}

void *hop_stream_handle(hop_stream *s)
{
	return hop_stream_queue(s);
}

/* ---- who works on an array ---- */

static bool busy(const hop_stream *s)
{
	return s && !__atomic_load_n(&s->ended, __ATOMIC_ACQUIRE);
}

/* Held for some calls of a driver at most. */
static void lock(hop_array *a)
{
	while (__atomic_exchange_n(&a->lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void unlock(hop_array *a)
{
	__atomic_store_n(&a->lock, 0, __ATOMIC_RELEASE);
}

/* s, or the caller, comes after user k, who may have done with it then. */
static const char *after(const hop_array *a, const hop_stream *s, int k)
{
	const hop_stream *u = a->user[k];
	if (!busy(u) || (s && s->queue == u->queue))
		return NULL;
	return a->mem->far->after(hop_stream_queue(s), u->queue);
}

static void set(hop_array *a, int k, hop_stream *s)
{
	release(a->user[k]);
	a->user[k] = retain(s);
}

/* The place of one more reader; 0 = it is there, or is the writer. */
static const char *add_reader(hop_array *a, hop_stream *s)
{
	int at = HOP_USERS - 1;
	for (int k = 0; k < HOP_USERS; k++)
		if (a->user[k] == s)
			return NULL;
	for (int k = HOP_USERS - 1; k > 0; k--)
		if (!busy(a->user[k]))
			at = k;
	const char *words = after(a, s, at);
	if (!words)
		set(a, at, s);
	return words;
}

static const char *use(hop_array *a, hop_stream *s, bool write)
{
	const char *words = NULL;
	for (int k = 0; k < (write ? HOP_USERS : 1) && !words; k++)
		words = after(a, s, k);
	if (words)
		return words;
	if (!s && !write)                       /* it has come: nobody else need wait for it */
		set(a, 0, NULL);
	if (!write)
		return s ? add_reader(a, s) : NULL;
	for (int k = 1; k < HOP_USERS; k++)
		set(a, k, NULL);
	set(a, 0, s);
	return NULL;
}

hop_status hop_array_use(hop_array *a, hop_stream *s, bool write)
{
	if (!a->mem || (s && !s->mem))
		return HOP_OK;
	lock(a);
	const char *words = a->lent && write ? a->mem->far->after(hop_stream_queue(s),
	                                                          a->mem->far->common) : NULL;
	words = words ? words : use(a, s, write);
	unlock(a);
	return hop_far_told(a->ctx, "what computes an array on", words);
}

/* All come together in one of them. What a device says against it is told by whoever asks next. */
void hop_array_unuse(hop_array *a, void **out_queue)
{
	const hop_stream *last = NULL;
	for (int k = 0; k < HOP_USERS; k++)
		if (busy(a->user[k]))
			last = a->user[k];
	for (int k = 0; k < HOP_USERS && last; k++)
		(void)!after(a, last, k);
	if (a->lent)
		(void)!a->mem->far->after(hop_stream_queue(last), a->mem->far->common);
	*out_queue = hop_stream_queue(last);
	if ((a->owner || a->drop) && last)      /* another's memory goes back when all is done */
		(void)!a->mem->wait(*out_queue);
	for (int k = 0; k < HOP_USERS; k++)
		set(a, k, NULL);
}

hop_status hop_array_ready(hop_array *a, hop_stream *s)
{
	if (!a)
		return HOP_EUSE;
	return hop_array_use(a, s, false);
}
