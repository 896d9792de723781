/* slot.c -- what a run has for itself: a stream, a state, a table, locked memory. Slots are kept with
 * the image, as many as ran at once. */
#include <string.h>

#include "target/cuda/image.h"

enum { RING = 1 << 16, PENDING = 8, LINE = 256 };

/* What the locked memory of a kit is for: the state twice, whether to cancel; words; small arrays. */
enum {
	STATE = (sizeof(hop_state) + LINE - 1) / LINE * LINE,
	CANCEL = 2 * STATE, WORDS = CANCEL + LINE, NWORDS = 8 << 10, SMALL = WORDS + NWORDS,
	NSMALL = HOP_CUDA_LOCKED - SMALL
};
_Static_assert(NSMALL >= 16 << 10, "small arrays have most of it");

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
	return i->d->cu->fill(s->state, 0, state, s->kit.stream);
}

/* want, is and cancel, which the device may read while it runs. */
static void lock_memory(hop_cuda_slot *s)
{
	char *p = s->kit.locked;
	memset(p, 0, WORDS);
	s->want = (hop_state *)(void *)p;
	s->is = (hop_state *)(void *)(p + STATE);
	s->cancel = (int *)(void *)(p + CANCEL);
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

/* Memory that the kit had no room for. */
static void free_words(hop_cuda_image *i, hop_cuda_slot *s)
{
	if (s->words && (char *)s->words != s->kit.locked + WORDS)
		i->d->cu->host_free(s->words);
	s->words = NULL;
}

static void free_locked(hop_cuda_image *i, hop_cuda_slot *s)
{
	if (s->locked && s->locked != s->kit.locked + SMALL)
		i->d->cu->host_free(s->locked);
	s->locked = NULL;
}

static void slot_free(hop_cuda_image *i, hop_cuda_slot *s)
{
	const hop_cu *cu = i->d->cu;
	bool fit = !hop_cuda_unfit(i->d, i->gen);
	if (fit && s->kit.stream)
		cu->stream_wait(s->kit.stream);
	for (int k = 0; fit && k < s->nexec; k++)
		hop_cuda_slot_forget(i, s, k);
	for (int t = 0; fit && t < i->ntape; t++)
		hop_cuda_tape_drop(i, &s->tape[t]);
	if (fit) {
		free_words(i, s);
		free_locked(i, s);
		hop_cuda_kit_give(i->d, i->gen, &s->kit);
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
	int error = hop_cuda_kit_take(i->d, &s->kit);
	if (!error) {
		lock_memory(s);
		error = place(i, s);
	}
	if (!error)                            /* runs may go by other streams */
		error = i->d->cu->stream_wait(s->kit.stream);
	if (error)
		slot_free(i, s);
	*out_s = error ? NULL : s;
	return error;
}

static int word_room(hop_cuda_image *i, hop_cuda_slot *s, int nword)
{
	size_t bytes = (size_t)nword * sizeof(hop_word), room = NWORDS;
	for (int k = 0; k < s->nexec; k++)     /* they have its address */
		hop_cuda_slot_forget(i, s, k);
	s->nexec = s->nword = s->table_cap = 0;
	hop_cuda_give(i->d, i->gen, &s->table);
	free_words(i, s);
	int error = hop_cuda_take(i->d, bytes, &s->table);
	if (error)
		return error;
	if (bytes <= NWORDS)
		s->words = (hop_word *)(void *)(s->kit.locked + WORDS);
	else
		error = i->d->cu->host_alloc((void **)&s->words, room = s->table.bytes, HOP_CU_PORTABLE);
	s->table_cap = error ? 0 : (int)(room / sizeof(hop_word));
	return error;
}

static int small_room(hop_cuda_image *i, hop_cuda_slot *s, size_t bytes)
{
	int error = 0;
	free_locked(i, s);
	s->locked_cap = bytes <= NSMALL ? NSMALL : 2 * bytes;
	if (bytes <= NSMALL)
		s->locked = s->kit.locked + SMALL;
	else
		error = i->d->cu->host_alloc((void **)&s->locked, s->locked_cap, HOP_CU_PORTABLE);
	if (error)
		s->locked_cap = 0;
	return error;
}

int hop_cuda_slot_room(hop_cuda_image *i, hop_cuda_slot *s, int nword, size_t locked)
{
	int error = nword > s->table_cap ? word_room(i, s, nword) : 0;
	return error || locked <= s->locked_cap ? error : small_room(i, s, locked);
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
		if (i->d->cu->event_query(s->kit.event) == HOP_CU_NOTREADY && ++n < PENDING) {
			at = &s->next;
			continue;
		}
		if (n >= PENDING)
			i->d->cu->event_wait(s->kit.event);
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
	int error = i->d->cu->event_record(s->kit.event, stream);
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
			i->d->cu->event_wait(s->kit.event);
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
