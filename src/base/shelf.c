/* shelf.c -- memory given up, kept for whoever next wants as much: results of calls come and go,
 * and a system's allocator takes longer for a large block than a small call runs. A slot for
 * every power of two, a block a slot; taken and given without a lock. */
#include "base/base.h"

enum { MOST = 32 << 20, SLACK = 4096 };

#ifdef __SANITIZE_ADDRESS__
enum { KEEPS = 0 };                 /* what is used after it was given up shall be seen */
#else
enum { KEEPS = 1 };
#endif

/* A block on the shelf begins with its size. */
typedef struct kept { size_t room; } kept;

static bool keeps(const hop_mem *m, size_t room)
{
	return KEEPS && m->fn == hop_alloc_default && room <= MOST && room >= sizeof(kept);
}

static _Atomic(void *) *slot_of(hop_shelf *s, size_t room)
{
	int log = 0;
	while (room >>= 1)
		log++;
	return &s->slot[log % HOP_SHELF];
}

void *hop_shelf_take(hop_shelf *s, const hop_mem *m, size_t want, size_t *out_room)
{
	kept *k = keeps(m, want) ? atomic_exchange(slot_of(s, want), NULL) : NULL;
	if (k && k->room >= want && k->room <= 2 * want + SLACK) {
		*out_room = k->room;
		return k;
	}
	if (k)
		hop_raw_free(m, k, k->room);
	*out_room = want;
	return hop_raw_data(m, want);
}

void hop_shelf_give(hop_shelf *s, const hop_mem *m, void *p, size_t room)
{
	if (keeps(m, room)) {
		kept *k = p;
		k->room = room;
		p = atomic_exchange(slot_of(s, room), k);
		room = p ? ((kept *)p)->room : 0;
	}
	hop_raw_free(m, p, room);
}

void hop_shelf_clear(hop_shelf *s, const hop_mem *m)
{
	for (int i = 0; i < HOP_SHELF; i++) {
		kept *k = atomic_exchange(&s->slot[i], NULL);
		if (k)
			hop_raw_free(m, k, k->room);
	}
}
