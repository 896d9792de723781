/* slot.c -- what a run has for itself: a stream, a state, a table, locked memory. Slots are kept with
 * the image, as many as ran at once. */
#include <string.h>

#include "target/cuda/image.h"

enum { RING = 1 << 16, PENDING = 8, LINE = 256 };

static size_t aligned(size_t n)
{
	return (n + LINE - 1) / LINE * LINE;
}

/* ---- making ---- */

/* State, save, request and ring, one behind the other. */
static int place(hop_cuda_image *i, hop_cuda_slot *s)
{
	size_t state = aligned(sizeof(hop_state) + (size_t)i->ntape * sizeof(hop_cuda_tape));
	size_t save = aligned((size_t)i->needs.save * sizeof(hop_word));
	size_t request = aligned((size_t)i->needs.request * sizeof(hop_word));
	s->ring_bytes = i->needs.ring ? RING : 0;
	int error = hop_cuda_take(i->d, state + save + request + (size_t)s->ring_bytes, &s->own);
	if (error)
		return error;
	s->state = s->own.p;
	s->save = s->state + state;
	s->request = s->save + save;
	s->ring = s->request + request;
	return i->d->cu->fill(s->state, 0, state, s->stream);
}

/* want, is and cancel, which the device may read while it runs. */
static int lock_memory(hop_cuda_image *i, hop_cuda_slot *s)
{
	void *p = NULL;
	size_t n = aligned(sizeof(hop_state));
	int error = i->d->cu->host_alloc(&p, 2 * n + LINE, HOP_CU_PORTABLE | HOP_CU_MAPPED);
	if (error)
		return error;
	memset(p, 0, 2 * n + LINE);
	s->want = p;
	s->is = (hop_state *)(void *)((char *)p + n);
	s->cancel = (int *)(void *)((char *)p + 2 * n);
	return 0;
}

static size_t slot_bytes(const hop_cuda_image *i)
{
	return sizeof(hop_cuda_slot) + (size_t)i->ntape * sizeof(hop_cuda_trail) +
	       (size_t)i->nparam * (sizeof(hop_cuptr) + sizeof(int64_t) + 1);
}

void hop_cuda_slot_forget(hop_cuda_image *i, hop_cuda_slot *s, int k)
{
	if (s->exec[k].exec)
		i->d->cu->graph_drop(s->exec[k].exec);
	if (s->exec[k].graph)
		i->d->cu->graph_free(s->exec[k].graph);
	s->exec[k].exec = s->exec[k].graph = NULL;
}

static void slot_free(hop_cuda_image *i, hop_cuda_slot *s)
{
	const hop_cu *cu = i->d->cu;
	bool fit = !hop_cuda_unfit(i->d, i->gen);
	if (fit && s->stream)
		cu->stream_wait(s->stream);
	for (int k = 0; fit && k < s->nexec; k++)
		hop_cuda_slot_forget(i, s, k);
	for (int t = 0; fit && t < i->ntape; t++)
		hop_cuda_tape_drop(i, &s->tape[t]);
	if (fit) {
		if (s->stream)
			cu->stream_free(s->stream);
		if (s->event)
			cu->event_free(s->event);
		if (s->want)
			cu->host_free(s->want);
		if (s->words)
			cu->host_free(s->words);
		if (s->locked)
			cu->host_free(s->locked);
		hop_cuda_give(i->d, i->gen, &s->own);
		hop_cuda_give(i->d, i->gen, &s->table);
		hop_cuda_give(i->d, i->gen, &s->frame);
		hop_cuda_give(i->d, i->gen, &s->stage);
	}
	hop_raw_free(&i->mem, s, slot_bytes(i));
}

static int slot_new(hop_cuda_image *i, hop_cuda_slot **out_s)
{
	hop_cuda_slot *s = hop_raw_try(&i->mem, slot_bytes(i));
	if (!s)
		return HOP_CU_NOMEM;
	memset(s, 0, slot_bytes(i));
	s->tape = (hop_cuda_trail *)(void *)(s + 1);
	s->addr = (hop_cuptr *)(void *)(s->tape + i->ntape);
	s->at = (int64_t *)(void *)(s->addr + i->nparam);
	s->kind = (unsigned char *)(s->at + i->nparam);
	int error = i->d->cu->stream_new(&s->stream, HOP_CU_NONBLOCKING);
	if (!error)
		error = i->d->cu->event_new(&s->event, HOP_CU_NOTIMING);
	if (!error)
		error = place(i, s);
	if (!error)
		error = lock_memory(i, s);
	if (!error)                            /* runs may go by other streams */
		error = i->d->cu->stream_wait(s->stream);
	if (error)
		slot_free(i, s);
	*out_s = error ? NULL : s;
	return error;
}

int hop_cuda_slot_room(hop_cuda_image *i, hop_cuda_slot *s, int nword, size_t locked)
{
	const hop_cu *cu = i->d->cu;
	size_t bytes = (size_t)nword * sizeof(hop_word);
	int error = 0;
	if (nword > s->table_cap) {
		for (int k = 0; k < s->nexec; k++)     /* they have its address */
			hop_cuda_slot_forget(i, s, k);
		s->nexec = s->nword = s->table_cap = 0;
		hop_cuda_give(i->d, i->gen, &s->table);
		if (s->words)
			cu->host_free(s->words);
		s->words = NULL;
		error = hop_cuda_take(i->d, bytes, &s->table);
		if (!error)
			error = cu->host_alloc((void **)&s->words, s->table.bytes, HOP_CU_PORTABLE);
		if (!error)
			s->table_cap = (int)(s->table.bytes / sizeof(hop_word));
	}
	if (!error && locked > s->locked_cap) {
		if (s->locked)
			cu->host_free(s->locked);
		s->locked = NULL;
		s->locked_cap = 0;
		error = cu->host_alloc((void **)&s->locked, 2 * locked, HOP_CU_PORTABLE);
		if (!error)
			s->locked_cap = 2 * locked;
	}
	return error;
}

/* ---- lending ---- */

static void rest(hop_cuda_image *i, hop_cuda_slot *s)
{
	hop_cuda_give(i->d, i->gen, &s->frame);
	hop_cuda_give(i->d, i->gen, &s->stage);
}

/* Those whose run has ended, as a list of their own; if there are too many, wait for the oldest. Called
 * under the lock. */
static hop_cuda_slot *ended(hop_cuda_image *i)
{
	hop_cuda_slot *done = NULL;
	int n = 0;
	for (hop_cuda_slot **at = &i->pending, *s; (s = *at);) {
		if (i->d->cu->event_query(s->event) == HOP_CU_NOTREADY && ++n < PENDING) {
			at = &s->next;
			continue;
		}
		if (n >= PENDING)
			i->d->cu->event_wait(s->event);
		*at = s->next;
		s->next = done;
		done = s;
	}
	return done;
}

int hop_cuda_slot_take(hop_cuda_image *i, hop_cuda_slot **out_s)
{
	pthread_mutex_lock(&i->lock);
	hop_cuda_slot *done = i->pending ? ended(i) : NULL, *s;
	pthread_mutex_unlock(&i->lock);
	while ((s = done)) {
		done = s->next;
		hop_cuda_slot_give(i, s);
	}
	pthread_mutex_lock(&i->lock);
	s = i->idle;
	if (s)
		i->idle = s->next;
	pthread_mutex_unlock(&i->lock);
	*out_s = s;
	return s ? 0 : slot_new(i, out_s);
}

void hop_cuda_slot_give(hop_cuda_image *i, hop_cuda_slot *s)
{
	rest(i, s);
	pthread_mutex_lock(&i->lock);
	s->next = i->idle;
	i->idle = s;
	pthread_mutex_unlock(&i->lock);
}

int hop_cuda_slot_lend(hop_cuda_image *i, hop_cuda_slot *s, void *stream)
{
	int error = i->d->cu->event_record(s->event, stream);
	if (error)
		return error;
	pthread_mutex_lock(&i->lock);
	s->next = i->pending;
	i->pending = s;
	pthread_mutex_unlock(&i->lock);
	return 0;
}

void hop_cuda_slots_free(hop_cuda_image *i)
{
	bool fit = !hop_cuda_unfit(i->d, i->gen), entered = fit && hop_cuda_enter(i->d);
	for (hop_cuda_slot *s = i->pending, *next; s; s = next) {
		next = s->next;
		if (fit)
			i->d->cu->event_wait(s->event);
		s->next = i->idle;
		i->idle = s;
	}
	for (hop_cuda_slot *s = i->idle, *next; s; s = next) {
		next = s->next;
		slot_free(i, s);
	}
	i->idle = i->pending = NULL;
	hop_cuda_leave(i->d, entered);
}
