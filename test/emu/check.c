/* check.c -- looks at every access of a kernel: is it to memory that the kernel may touch, and has
 * somebody else touched the same bytes, one of the two writing, with nothing between that orders the
 * two? Warps that meet, barriers of a block and atomics order. Remembers the last writer of each four
 * bytes, and one of its readers: it finds most races and invents none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/inside.h"

enum { WARP = 32, MANY = 2048, BUCKETS = 1024 };
enum { ONE, LANES, WARPS };            /* who else has read since: nobody, the warp's, the block's */

typedef struct touch {
	uint32_t block, warps, blocks, site;
	uint32_t stamp;
	uint16_t thread;
} touch;
typedef struct cell { touch write, read; uint8_t wmask, rmask, readers, pad; } cell;

/* What is known of the blocks by those who have touched an atomic: how often each has met, and the
 * thread that said so, which knows of itself. */
typedef struct place { struct place *next; const void *p; uint32_t *seen; } place;

static struct {
	const emu_launch *l;
	uint32_t  stamp;                /* of the launch: what earlier ones did is over */
	uint32_t  nblock;
	uint32_t **known;               /* [nblock], each [nblock]; NULL: nothing yet */
	place    *bucket[BUCKETS];
} C;

void emu_check_begin(const emu_launch *l, uint32_t nblock)
{
	C.l = l;
	C.stamp++;
	C.nblock = nblock;
	C.known = nblock <= MANY ? calloc(nblock, sizeof *C.known) : NULL;
}
void emu_check_end(void)
{
	for (uint32_t i = 0; C.known && i < C.nblock; i++)
		free(C.known[i]);
	free(C.known);
	for (int i = 0; i < BUCKETS; i++)
		for (place *p = C.bucket[i], *next; p; p = next) {
			next = p->next;
			free(p->seen);
			free(p);
		}
	memset(C.bucket, 0, sizeof C.bucket);
}

/* ---- order between blocks ---- */

static uint32_t *row(uint32_t **at)
{
	if (!*at)
		*at = calloc(C.nblock, sizeof **at);
	return *at;
}
static uint32_t *seen_at(const void *p)
{
	place **at = &C.bucket[(uintptr_t)p / 4 % BUCKETS];

	for (; *at; at = &(*at)->next)
		if ((*at)->p == p)
			return (*at)->seen;
	*at = calloc(1, sizeof **at);
	(*at)->p = p;
	return row(&(*at)->seen);
}
static uint32_t said(const emu_who *w)
{
	return (w->blocks << 11) + w->thread + 1;
}
void emu_check_atomic(const emu_who *w, const void *p)
{
	if (!emu_piece_of(p) && !emu_is_pinned(p, 1))
		emu_fail("an atomic at %p, which is not memory of the device", (void *)p);
	if (!C.known)
		return;
	uint32_t *mine = row(&C.known[w->block]), *seen = seen_at(p);
	mine[w->block] = said(w);
	for (uint32_t i = 0; i < C.nblock; i++)
		mine[i] = seen[i] = mine[i] > seen[i] ? mine[i] : seen[i];
}

/* Did a happen before what w does now? */
static bool before(const touch *a, const emu_who *w, int readers)
{
	if (a->stamp != C.stamp)
		return true;
	if (a->block == w->block) {
		bool same = a->thread == w->thread, warp = a->thread / WARP == w->thread / WARP;
		if (readers == WARPS || !warp)
			return a->blocks != w->blocks;
		return (same && readers == ONE) || a->warps != w->warps;
	}
	if (!C.known)
		return true;
	uint32_t k = C.known[w->block] ? C.known[w->block][a->block] : 0;
	return a->blocks < k >> 11 || (a->blocks == k >> 11 && a->thread + 1u == (k & 2047));
}

static void race(const touch *a, const emu_who *w, const void *p, const char *first, const char *then)
{
	fprintf(stderr, "emu: thread %u of block %u %s, then thread %u of block %u %s %p\n", a->thread,
	        a->block, first, w->thread, w->block, then, (void *)p);
	emu_say_line(a->site);
	emu_say_where(p);
	emu_fail("two threads touch the same memory, and nothing orders them");
}

static touch of(const emu_who *w)
{
	return (touch){ .block = w->block, .warps = w->warps, .blocks = w->blocks, .site = w->site,
		        .thread = (uint16_t)w->thread, .stamp = C.stamp };
}
static void reads(cell *c, const emu_who *w, const void *p, uint8_t mask)
{
	if (c->wmask & mask && !before(&c->write, w, ONE))
		race(&c->write, w, p, "wrote", "reads");
	bool now = c->read.stamp == C.stamp && c->read.block == w->block && c->read.warps == w->warps;
	if (now && c->readers == ONE && c->read.thread == w->thread) {
		c->rmask |= mask;
		return;
	}
	if (!(c->rmask & mask) || before(&c->read, w, c->readers) || c->read.block != w->block) {
		c->read = of(w);
		c->rmask = mask;
		c->readers = ONE;
		return;
	}
	/* Several have read what both have read. */
	int who = c->read.thread / WARP == w->thread / WARP ? LANES : WARPS;
	c->rmask &= mask;
	c->readers = who > c->readers ? who : c->readers;
}
static void writes(cell *c, const emu_who *w, const void *p, uint8_t mask)
{
	if (c->wmask & mask && !before(&c->write, w, ONE))
		race(&c->write, w, p, "wrote", "writes");
	if (c->rmask & mask && !before(&c->read, w, c->readers))
		race(&c->read, w, p, "read", "writes");
	if (c->write.stamp == C.stamp && c->write.thread == w->thread && c->write.block == w->block &&
	    c->write.warps == w->warps)
		c->wmask |= mask;
	else
		c->wmask = mask;
	c->write = of(w);
}

static cell *cells(emu_piece *p)
{
	if (!p->shadow) {
		p->nshadow = (p->n / 4 + 2) * sizeof(cell);
		void *s = mmap(NULL, p->nshadow, PROT_READ | PROT_WRITE,
		               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		p->shadow = s == MAP_FAILED ? NULL : s;
	}
	return p->shadow;
}

void emu_check_shared(void *p, size_t n)
{
	emu_piece *piece = emu_piece_of(p);

	if (piece && piece->shadow)
		memset(piece->shadow, 0, (n / 4 + 2) * sizeof(cell));
}

void emu_check_access(const emu_who *w, const void *at, size_t n, bool is_write)
{
	const char *c = at, *end = c + n;
	emu_piece *p = emu_piece_of(at);

	if (!p) {
		if ((c >= C.l->object && c < C.l->object_end) || emu_is_pinned(at, n))
			return;
		emu_say_where(at);
		emu_fail("a kernel %s %zu bytes at %p, which is not memory of the device",
		         is_write ? "writes" : "reads", n, (void *)at);
	}
	if (!p->is_mapped && end > p->base + p->n)
		emu_fail("a kernel touches %zu bytes at byte %zu of a piece of %zu", n,
		         (size_t)(c - p->base), p->n);
	cell *shadow = cells(p);
	if (!shadow)
		return;
	while (c < end && c < p->base + p->n) {
		size_t i = (size_t)(c - p->base), k = i % 4, left = (size_t)(end - c);
		size_t m = 4 - k < left ? 4 - k : left;
		uint8_t mask = (uint8_t)(((1u << m) - 1) << k);
		(is_write ? writes : reads)(&shadow[i / 4], w, c, mask);
		c += m;
	}
}
