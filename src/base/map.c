/* map.c -- bytes to pointer, in an arena.
 * Has no removal: maps live as long as the pass that fills them. */
#include <string.h>

#include "base/base.h"

/* The slot of the key, or the empty one where it belongs. cap is a power of two. */
static struct hop_slot *probe(struct hop_slot *slot, size_t cap, uint64_t h,
                              const void *key, size_t n)
{
	size_t i = h & (cap - 1);
	for (;; i = (i + 1) & (cap - 1)) {
		struct hop_slot *s = &slot[i];
		if (!s->key)
			return s;
		if (s->h == h && s->n == n && (!n || !memcmp(s->key, key, n)))
			return s;
	}
}

void *hop_map_get(const hop_map *m, const void *key, size_t n)
{
	if (!m->cap)
		return NULL;
	return probe(m->slot, m->cap, hop_hash_bytes(key, n).lo, key, n)->val;
}

static void grow(hop_map *m)
{
	size_t cap = m->cap ? m->cap * 2 : 16;
	struct hop_slot *slot = HOP_NEWN(m->a, struct hop_slot, cap);
	for (size_t i = 0; i < m->cap; i++) {
		struct hop_slot *s = &m->slot[i];
		if (s->key)
			*probe(slot, cap, s->h, s->key, s->n) = *s;
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
	if (!s->key) {
		s->h = h;
		s->n = n;
		s->key = hop_arena_dup(m->a, key, n);
		m->n++;
	}
	s->val = val;
}
