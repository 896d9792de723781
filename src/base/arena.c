/* arena.c -- raw memory from the hook, and arenas over it.
 * Does not decide what happens without memory: hop_nomem (env.c) does. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/base.h"

/* Blocks handed out start at multiples of ALIGN; chunks double from FIRST to LAST. */
enum { ALIGN = 16, FIRST = 2048, LAST = 1 << 20 };

struct hop_chunk {
	hop_chunk *prev;
	size_t     cap, used;       /* bytes of data[] */
	size_t     pad;
	char       data[];
};

_Static_assert(sizeof(hop_chunk) % ALIGN == 0, "data[] of a chunk is aligned");

void *hop_alloc_default(void *user, void *ptr, size_t osize, size_t nsize)
{
	(void)user;
	(void)osize;
	if (nsize)
		return realloc(ptr, nsize);
	free(ptr);
	return NULL;
}

void *hop_raw_try(const hop_mem *m, size_t n)
{
	return m->fn(m->user, NULL, 0, n ? n : 1);
}

/* The pages of another's allocator are his to arrange. */
void *hop_raw_data(const hop_mem *m, size_t n)
{
	enum { MUCH = 4 << 20, LARGE = 2 << 20 };
	char *p = hop_raw_try(m, n);
#ifdef MADV_HUGEPAGE
	if (p && n >= MUCH && m->fn == hop_alloc_default) {
		uintptr_t from = ((uintptr_t)p + LARGE - 1) / LARGE * LARGE;
		uintptr_t to = ((uintptr_t)p + n) / LARGE * LARGE;
		(void)!madvise((void *)from, to - from, MADV_HUGEPAGE);
	}
#endif
	return p;
}

void *hop_raw_new(hop_env *e, size_t n)
{
	void *p = hop_raw_try(&e->mem, n);
	if (!p)
		hop_nomem(e);
	return p;
}

void hop_raw_free(const hop_mem *m, void *p, size_t n)
{
	if (p)
		m->fn(m->user, p, n ? n : 1, 0);
}

static void chunk_free(const hop_mem *m, hop_chunk *c)
{
	hop_raw_free(m, c, sizeof *c + c->cap);
}

/* Sizes that overflow are an amount of memory nobody has. */
static hop_chunk *chunk_new(hop_arena *a, size_t n)
{
	size_t cap = a->top ? a->top->cap : FIRST / 2;
	if (cap < LAST)
		cap *= 2;
	if (cap < n)
		cap = n;
	if (cap > SIZE_MAX / 2)
		hop_nomem(a->env);
	hop_chunk *c = a->spare;
	if (c && c->cap >= n)
		cap = c->cap;
	else
		c = hop_raw_new(a->env, sizeof *c + cap);
	if (c == a->spare)
		a->spare = NULL;
	*c = (hop_chunk){ .prev = a->top, .cap = cap };
	a->top = c;
	return c;
}

void hop_arena_open(hop_arena *a, hop_env *e)
{
	*a = (hop_arena){ .env = e, .next = e->arenas };
	if (e->arenas)
		e->arenas->prev = a;
	e->arenas = a;
}

static void drop_spare(hop_arena *a, const hop_mem *m)
{
	if (a->spare)
		chunk_free(m, a->spare);
	a->spare = NULL;
}

/* A frame remembers the newest arena that is older than it; when that one leaves the list
 * before the frame ends, the next older takes its place. */
void hop_arena_seal(hop_arena *a)
{
	hop_env *e = a->env;
	if (!e)
		return;
	drop_spare(a, &e->mem);
	for (hop_frame *f = e->frame; f; f = f->prev)
		if (f->arenas == a)
			f->arenas = a->next;
	if (a->next)
		a->next->prev = a->prev;
	if (a->prev)
		a->prev->next = a->next;
	else
		e->arenas = a->next;
	a->env = NULL;
	a->next = a->prev = NULL;
}

/* The arena's own struct may lie in one of its chunks: not touched once they go. */
void hop_arena_free(hop_arena *a, const hop_mem *m)
{
	drop_spare(a, m);
	hop_arena_seal(a);
	hop_chunk *c = a->top;
	a->top = NULL;
	while (c) {
		hop_chunk *prev = c->prev;
		chunk_free(m, c);
		c = prev;
	}
}

void hop_arena_move(hop_arena *to, hop_arena *from)
{
	hop_env *e = from->env;
	*to = *from;
	for (hop_frame *f = e->frame; f; f = f->prev)
		if (f->arenas == from)
			f->arenas = to;
	if (to->next)
		to->next->prev = to;
	if (to->prev)
		to->prev->next = to;
	else
		e->arenas = to;
	*from = (hop_arena){ 0 };
}

void *hop_arena_alloc(hop_arena *a, size_t n)
{
	HOP_ASSERT(a->env);
	if (n > SIZE_MAX / 2)
		hop_nomem(a->env);
	n = (n + !n + ALIGN - 1) / ALIGN * ALIGN;
	hop_chunk *c = a->top;
	if (!c || c->cap - c->used < n)
		c = chunk_new(a, n);
	void *p = c->data + c->used;
	c->used += n;
	return memset(p, 0, n);
}

void *hop_arena_array(hop_arena *a, size_t elem, size_t n)
{
	size_t size;
	if (__builtin_mul_overflow(elem, n, &size))
		hop_nomem(a->env);
	return hop_arena_alloc(a, size);
}

void *hop_arena_dup(hop_arena *a, const void *p, size_t n)
{
	void *q = hop_arena_alloc(a, n);
	if (n)
		memcpy(q, p, n);
	return q;
}

char *hop_arena_str(hop_arena *a, const char *s, size_t n)
{
	char *q = hop_arena_alloc(a, n + 1);
	if (n)
		memcpy(q, s, n);
	return q;
}

/* n elements are wanted; the capacity grows by half as much again. */
void *hop_arena_grow(hop_arena *a, void *p, size_t elem, size_t n, size_t *cap)
{
	if (n <= *cap)
		return p;
	size_t want = *cap + *cap / 2;
	if (want < n)
		want = n;
	if (want < 8)
		want = 8;
	if (elem && want > SIZE_MAX / 2 / elem)
		hop_nomem(a->env);
	void *q = hop_arena_alloc(a, want * elem);
	if (*cap)
		memcpy(q, p, *cap * elem);
	*cap = want;
	return q;
}

hop_mark hop_mark_at(hop_arena *a)
{
	return (hop_mark){ a->top, a->top ? a->top->used : 0 };
}

/* The largest chunk that was given up stays, so that a loop that marks, uses and rewinds does
 * not go to the hook each time. */
static void give_up(hop_arena *a, hop_chunk *c)
{
	hop_chunk *old = a->spare;
	bool larger = !old || c->cap > old->cap;
	a->spare = larger ? c : old;
	if (old)
		chunk_free(&a->env->mem, larger ? old : c);
}

void hop_rewind(hop_arena *a, hop_mark m)
{
	HOP_ASSERT(a->env);
	while (a->top != m.top) {
		hop_chunk *c = a->top;
		HOP_ASSERT(c);
		a->top = c->prev;
		give_up(a, c);
	}
	if (a->top)
		a->top->used = m.used;
}
