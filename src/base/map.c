/* map.c -- bytes to pointer, in an arena.
 * Has no removal: maps live as long as the pass that fills them. */
#include <string.h>

#include "base/base.h"

struct hop_entry {
	void  *val;
	size_t n;
	char   key[];
};

/* The slot of the key, or the empty one where it belongs. cap is a power of two. */
static struct hop_slot *probe(struct hop_slot *slot, size_t cap, uint64_t h,
                              const void *key, size_t n)
{
	size_t i = h & (cap - 1);
	for (;; i = (i + 1) & (cap - 1)) {
		struct hop_slot *s = &slot[i];
		if (!s->e)
			return s;
		if (s->h == h && s->e->n == n && (!n || !memcmp(s->e->key, key, n)))
			return s;
	}
}

void *hop_map_get(const hop_map *m, const void *key, size_t n)
{
	if (!m->cap)
		return NULL;
	struct hop_entry *e = probe(m->slot, m->cap, hop_hash_bytes(key, n).lo, key, n)->e;
	return e ? e->val : NULL;
}

/* All keys differ: what moves only looks for a free slot. */
static void grow(hop_map *m)
{
	size_t cap = m->cap ? m->cap * 2 : 16;
	struct hop_slot *slot = HOP_NEWN(m->a, struct hop_slot, cap);
	for (size_t i = 0; i < m->cap; i++) {
		size_t k = m->slot[i].h & (cap - 1);
		if (!m->slot[i].e)
			continue;
		while (slot[k].e)
			k = (k + 1) & (cap - 1);
		slot[k] = m->slot[i];
	}
	m->slot = slot;
	m->cap = cap;
}

void hop_map_put(hop_map *m, const void *key, size_t n, void *val)
{
	if ((m->n + 1) * 4 > m->cap * 3)
		grow(m);
	uint64_t h = hop_hash_bytes(key, n).lo;
	struct hop_slot *s = probe(m->slot, m->cap, h, key, n);
	if (!s->e) {
		s->h = h;
		s->e = hop_arena_alloc(m->a, sizeof *s->e + n);
		s->e->n = n;
		if (n)
			memcpy(s->e->key, key, n);
		m->n++;
	}
	s->e->val = val;
}
