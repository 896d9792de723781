/* team_race.c -- a table of elements with their last writer and readers. A missing barrier is found
 * whatever the order was: it is enough that two threads touched the element, one of them writing,
 * and met at no barrier since. Knows nothing of statements. */
#include "support/team_race.h"

#include <stdlib.h>

/* Readers that a writer may have to wait for: the last, the last other one of its block, and the
 * last of another block. Whoever is not there read before one of them who is as far away. */
typedef struct element {
	uint64_t   key;
	unsigned   age;
	team_touch writer, reader, beside, far;
} element;

struct team_shadow {
	element *at;
	size_t   n, room;            /* a power of two; elements of other ages count as free */
	unsigned age;
};

enum { WARP = 32, FIRST = 1024 };

team_shadow *team_shadow_new(void)
{
	team_shadow *w = calloc(1, sizeof *w);

	w->room = FIRST;
	w->age = 1;
	w->at = calloc(w->room, sizeof *w->at);
	return w;
}

void team_shadow_free(team_shadow *w)
{
	free(w->at);
	free(w);
}

void team_shadow_forget(team_shadow *w)
{
	w->age++;
	w->n = 0;
}

static element *find(team_shadow *w, uint64_t key)
{
	size_t i = (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & (w->room - 1);

	while (w->at[i].age == w->age && w->at[i].key != key)
		i = (i + 1) & (w->room - 1);
	return &w->at[i];
}

static void widen(team_shadow *w)
{
	element *old = w->at;
	size_t   n = w->room;

	w->room *= 2;
	w->at = calloc(w->room, sizeof *w->at);
	for (size_t i = 0; i < n; i++)
		if (old[i].age == w->age)
			*find(w, old[i].key) = old[i];
	free(old);
}

/* Was it before a barrier that both took part in? */
static bool before(const team_touch *it, const team_touch *me, const team_seen *seen)
{
	int a = it->thread - 1, b = me->thread - 1;

	if (!it->thread || a == b || (it->counts && me->counts))
		return true;
	if (a / seen->threads != b / seen->threads) {
		int apart = a / seen->threads - b / seen->threads;
		return it->time < (seen->across && apart % seen->across == 0 ? seen->column : seen->all);
	}
	return it->time < (a / WARP == b / WARP ? seen->warp : seen->block);
}

static void reads(element *x, const team_touch *me, int threads)
{
	int a = x->reader.thread - 1, b = me->thread - 1;

	if (x->reader.thread && a != b) {
		if (a / threads == b / threads)
			x->beside = x->reader;
		else
			x->far = x->reader;
	}
	x->reader = *me;
}

const team_touch *team_shadow_touch(team_shadow *w, uint64_t key, const team_touch *me,
                                    const team_seen *seen, bool write)
{
	const team_touch *bad = NULL;
	element          *x;

	if (2 * w->n >= w->room)
		widen(w);
	x = find(w, key);
	if (x->age != w->age) {
		*x = (element){ .key = key, .age = w->age };
		w->n++;
	}
	if (!before(&x->writer, me, seen))
		bad = &x->writer;
	for (int i = 0; write && !bad && i < 3; i++) {
		const team_touch *r = i == 0 ? &x->reader : i == 1 ? &x->beside : &x->far;

		if (!before(r, me, seen))
			bad = r;
	}
	if (bad)
		return bad;
	if (write)
		x->writer = *me;
	else
		reads(x, me, seen->threads);
	return NULL;
}
