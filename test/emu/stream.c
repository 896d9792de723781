/* stream.c -- what the device is told to do and when it does it: streams of things to do, a thread
 * that does them, one at a time, of the streams that can go on any one. So the host runs on meanwhile,
 * and whoever forgets to wait reads what was there before. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emu/cu.h"
#include "emu/device.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  more = PTHREAD_COND_INITIALIZER, less = PTHREAD_COND_INITIALIZER;
static emu_stream *streams;            /* all; the last is the one without a name */
static emu_stream  plain;
static int  sticky;
static bool started, busy;

/* ---- doing ---- */

static int run_graph(const emu_exec *x);

static int run_node(const emu_node *n)
{
	int code = 0;

	if (!n->loop) {
		emu_handles_apart();
		return n->call.code ? n->call.code(n->call.with) : emu_run(&n->launch);
	}
	do {
		if (!n->loop->by)
			emu_fail("the kernel before a loop or a branch does not decide about it");
		code = n->loop->value ? run_graph(n->body) : 0;
	} while (n->loop->value && !n->once && !code);
	return code;
}

/* What its loops begin with. */
static void begin_graph(const emu_exec *x)
{
	for (int i = 0; i < x->nnode; i++)
		if (x->node[i].loop) {
			x->node[i].loop->value = x->node[i].loop->initial;
			begin_graph(x->node[i].body);
		}
}

/* Nodes in an order that their edges allow, drawn from the seed. */
static int run_graph(const emu_exec *x)
{
	int  n = x->nnode, code = 0;
	bool *done = calloc(n ? n : 1, sizeof *done);

	for (int left = n; left && done && !code; left--) {
		int k = (int)emu_below(n), tried = 0;
		for (; tried < n; tried++, k = (k + 1) % n) {
			bool can = !done[k];
			for (int i = 0; can && i < x->node[k].nafter; i++)
				can = done[x->node[k].after[i]];
			if (can)
				break;
		}
		done[k] = true;
		code = tried == n ? CUDA_ERROR_INVALID_VALUE : run_node(&x->node[k]);
	}
	free(done);
	return code;
}
static void copy_rows(const emu_op *o)
{
	for (size_t i = 0; i < o->rows; i++)
		memcpy((char *)o->to + i * o->to_step, (const char *)o->from + i * o->from_step, o->n);
}
static int perform(emu_op *o)
{
	int code = 0;

	if (o->kind == EMU_FREE)               /* a host that is told something meanwhile may still copy */
		emu_lock();
	else
		emu_look();
	switch (o->kind) {
	case EMU_COPY: copy_rows(o); break;
	case EMU_FILL: memset(o->to, o->byte, o->n); break;
	case EMU_FREE: code = emu_free(o->to); break;
	case EMU_KERNEL: code = emu_run(&o->launch); break;
	case EMU_GRAPH:
		begin_graph(o->exec);
		code = run_graph(o->exec);
		break;
	case EMU_CALL: code = o->call.code(o->call.with); break;
	case EMU_NOTHING: break;
	}
	emu_unlock();
	free(o->staged);
	return code;
}

/* One that may go on: not behind an event that has not happened. */
static emu_stream *choose(void)
{
	emu_stream *found = NULL;
	uint64_t n = 0;

	for (emu_stream *s = streams; s; s = s->next) {
		const emu_op *o = s->first;
		if (o && (!o->on || o->on->done >= o->until) && !emu_below(++n))
			found = s;
	}
	return found;
}
static void *work(void *unused)
{
	emu_stream *s;

	(void)unused;
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!(s = choose()))
			pthread_cond_wait(&more, &lock);
		emu_op *o = s->first;
		int code = 0;
		busy = true;
		if (!sticky) {
			pthread_mutex_unlock(&lock);
			code = perform(o);
			pthread_mutex_lock(&lock);
		}
		busy = false;
		s->first = o->next;
		s->done++;
		free(o);
		sticky = sticky ? sticky : code;
		pthread_cond_broadcast(&less);
	}
	return NULL;
}

/* ---- telling ---- */

emu_stream *emu_stream_of(void *handle)
{
	return (uintptr_t)handle < 3 ? &plain : handle;
}
static void start(void)
{
	pthread_t t;

	if (!started) {
		started = true;
		plain.next = streams;
		streams = &plain;
		pthread_create(&t, NULL, work, NULL);
		pthread_detach(t);
	}
}

int emu_tell(emu_stream *s, emu_op o)
{
	emu_op *own, **at;

	if (s->capture)
		return o.kind == EMU_CALL ? emu_capture(s, &o.call) : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	own = malloc(sizeof *own);
	if (!own)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*own = o;
	pthread_mutex_lock(&lock);
	start();
	for (at = &s->first; *at; at = &(*at)->next)
		;
	*at = own;
	s->told++;
	int code = sticky;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
	return emu_settings()->late ? code : emu_await(s, s->told);
}
int emu_await(emu_stream *s, uint64_t until)
{
	pthread_mutex_lock(&lock);
	while (s->done < until)
		pthread_cond_wait(&less, &lock);
	int code = sticky;
	pthread_mutex_unlock(&lock);
	return code;
}
int emu_await_all(void)
{
	pthread_mutex_lock(&lock);
	for (emu_stream *s = streams; s; s = s->next)
		while (s->first)
			pthread_cond_wait(&less, &lock);
	int code = sticky;
	pthread_mutex_unlock(&lock);
	return code;
}
bool emu_is_done(const emu_stream *s, uint64_t until, int *out_code)
{
	pthread_mutex_lock(&lock);
	bool done = s->done >= until;
	*out_code = sticky;
	pthread_mutex_unlock(&lock);
	return done;
}
int emu_sticky(void)
{
	pthread_mutex_lock(&lock);
	int code = sticky;
	pthread_mutex_unlock(&lock);
	return code;
}
void emu_forget(void)
{
	emu_await_all();
	pthread_mutex_lock(&lock);
	if (!emu_settings()->fault_stays)
		sticky = 0;
	pthread_mutex_unlock(&lock);
}

emu_stream *emu_stream_new(void)
{
	emu_stream *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	pthread_mutex_lock(&lock);
	start();
	s->next = streams;
	streams = s;
	pthread_mutex_unlock(&lock);
	return s;
}
int emu_stream_drop(emu_stream *s)
{
	emu_stream **at = &streams;

	if (s == &plain)
		return CUDA_ERROR_INVALID_HANDLE;
	emu_await(s, s->told);
	pthread_mutex_lock(&lock);
	while (*at && *at != s)
		at = &(*at)->next;
	if (*at)
		*at = s->next;
	pthread_mutex_unlock(&lock);
	/* Not freed: an event may name it. */
	return at ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
