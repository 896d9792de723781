/* memory.c -- device memory: pieces of one range of addresses, each at the end of its pages, with a
 * page that nobody may touch behind it and a pattern in what is left before and after; and ranges that
 * are reserved first and mapped later. What is freed can no longer be touched. Does not know who
 * touches it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/cu.h"
#include "emu/inside.h"

enum { PAGE = 4096, ALIGN = 256, FENCE = 0xa5, FRESH = 0xcb };
static const size_t RANGE = (size_t)4 << 30;

static emu_piece *pieces;              /* newest first */
static emu_piece **of_page;            /* [RANGE / PAGE] */
static char  *range, *cursor;
static size_t used;

static void *pages(void *at, size_t n, int protection)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0);
	void *p = mmap(at, n, protection, flags, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}
static bool init(void)
{
	if (range)
		return true;
	range = cursor = pages(NULL, RANGE, PROT_NONE);
	of_page = pages(NULL, RANGE / PAGE * sizeof *of_page, PROT_READ | PROT_WRITE);
	return range && of_page;
}

static size_t up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* So many free pages in a row and one that stays free, from the cursor on: what was freed is taken
 * late. */
static char *find_pages(size_t n)
{
	size_t run = 0, all = RANGE / PAGE, at = (cursor - range) / PAGE;

	for (size_t tried = 0; tried < 2 * all; tried++, at++) {
		if (at == all)
			at = run = 0;
		run = of_page[at] ? 0 : run + 1;
		if (run == n / PAGE + 2)
			return cursor = range + (at - n / PAGE) * PAGE;
	}
	return NULL;
}

static emu_piece *note(char *base, size_t n, char *map, size_t map_n)
{
	emu_piece *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	*p = (emu_piece){ .next = pieces, .base = base, .n = n, .map = map, .map_n = map_n };
	pieces = p;
	used += n;
	return p;
}

int emu_alloc(size_t n, void **out_p)
{
	size_t whole = up(up(n, ALIGN), PAGE);

	if (!n || !init())
		return CUDA_ERROR_INVALID_VALUE;
	if (used + n > emu_settings()->memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	char *map = find_pages(whole);
	if (!map || !pages(map, whole, PROT_READ | PROT_WRITE))
		return CUDA_ERROR_OUT_OF_MEMORY;
	emu_piece *p = note(map + whole - up(n, ALIGN), n, map, whole);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < whole / PAGE; i++)
		of_page[(map - range) / PAGE + i] = p;
	memset(map, FENCE, p->base - map);
	memset(p->base, FRESH, n);
	memset(p->base + n, FENCE, map + whole - p->base - n);
	*out_p = p->base;
	return CUDA_SUCCESS;
}

static void drop(emu_piece *p)
{
	emu_piece **at = &pieces;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	used -= p->n;
	if (p->shadow)
		munmap(p->shadow, p->nshadow);
	free(p);
}
static bool fence_holds(const emu_piece *p)
{
	const unsigned char *lo = (unsigned char *)p->map, *hi = (unsigned char *)p->base + p->n;

	for (; lo < (unsigned char *)p->base; lo++)
		if (*lo != FENCE)
			return false;
	for (; hi < (unsigned char *)p->map + p->map_n; hi++)
		if (*hi != FENCE)
			return false;
	return true;
}
bool emu_fences_hold(void)
{
	for (const emu_piece *p = pieces; p; p = p->next)
		if (!fence_holds(p))
			return false;
	return true;
}

int emu_free(void *base)
{
	emu_piece *p = emu_piece_of(base);

	if (!p || p->base != base || p->is_mapped)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < p->map_n / PAGE; i++)
		of_page[(p->map - range) / PAGE + i] = NULL;
	cursor = p->map + p->map_n;
	pages(p->map, p->map_n, PROT_NONE);
	drop(p);
	return CUDA_SUCCESS;
}

void emu_free_all(void)
{
	for (emu_piece *p = pieces, *next; p; p = next) {
		next = p->next;
		if (!p->is_mapped)
			emu_free(p->base);
	}
}

emu_piece *emu_piece_of(const void *at)
{
	const char *c = at;

	if (range && c >= range && c < range + RANGE) {
		emu_piece *p = of_page[(c - range) / PAGE];
		return p && c >= p->base && c < p->base + p->n ? p : NULL;
	}
	for (emu_piece *p = pieces; p; p = p->next)
		if (p->is_mapped && c >= p->base && c < p->base + p->n)
			return p;
	return NULL;
}
bool emu_is_device(const void *at, size_t n)
{
	const char *c = at, *end = c + n;

	do {
		const emu_piece *p = emu_piece_of(c);
		if (!p || (p->is_mapped && !p->is_allowed))
			return false;
		c = p->base + p->n;
	} while (c < end);
	return true;
}
size_t emu_memory_free(void)
{
	return emu_settings()->memory - used;
}
void emu_say_where(const void *at)
{
	const emu_piece *p = emu_piece_of(at), *near = NULL;

	if (p) {
		fprintf(stderr, "emu:   byte %zu of a piece of %zu\n", (size_t)((char *)at - p->base), p->n);
		return;
	}
	for (p = pieces; p; p = p->next)
		if (p->base <= (char *)at && (!near || p->base > near->base))
			near = p;
	if (near && (char *)at < near->base + near->n + (1 << 24))
		fprintf(stderr, "emu:   %zu bytes behind a piece of %zu\n",
		        (size_t)((char *)at - near->base - near->n), near->n);
	else
		fprintf(stderr, "emu:   not near any piece of device memory\n");
}

/* ---- reserved first, mapped later ---- */

int emu_reserve(size_t n, void **out_p)
{
	*out_p = pages(NULL, n, PROT_NONE);
	return *out_p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
int emu_unreserve(void *p, size_t n)
{
	if (emu_piece_of(p))
		return CUDA_ERROR_INVALID_VALUE;
	return munmap(p, n) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
int emu_map(void *at, size_t n)
{
	if (emu_piece_of(at) || emu_piece_of((char *)at + n - 1))
		return CUDA_ERROR_INVALID_VALUE;
	if (!pages(at, n, PROT_NONE))
		return CUDA_ERROR_OUT_OF_MEMORY;
	emu_piece *p = note(at, n, at, n);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->is_mapped = true;
	used -= n;                                     /* it counts where it was created */
	return CUDA_SUCCESS;
}
int emu_allow(void *at, size_t n)
{
	for (char *c = at, *end = c + n; c < end; ) {
		emu_piece *p = emu_piece_of(c);
		if (!p || !p->is_mapped || p->base != c || c + p->n > end ||
		    mprotect(c, p->n, PROT_READ | PROT_WRITE))
			return CUDA_ERROR_INVALID_VALUE;
		if (!p->is_allowed)
			memset(c, FRESH, p->n < 1 << 22 ? p->n : 1 << 22);
		p->is_allowed = true;
		c += p->n;
	}
	return CUDA_SUCCESS;
}
int emu_unmap(void *at, size_t n)
{
	for (char *c = at, *end = c + n; c < end; ) {
		emu_piece *p = emu_piece_of(c);
		if (!p || !p->is_mapped || p->base != c || c + p->n > end)
			return CUDA_ERROR_INVALID_VALUE;
		pages(c, p->n, PROT_NONE);
		c += p->n;
		used += p->n;
		drop(p);
	}
	return CUDA_SUCCESS;
}
int emu_create(size_t n)
{
	if (used + n > emu_settings()->memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	used += n;
	return CUDA_SUCCESS;
}
void emu_release(size_t n)
{
	used -= n;
}

/* ---- host memory that kernels may touch ---- */

static struct { char *p; size_t n; } pins[4096];

int emu_pin(void *p, size_t n)
{
	for (size_t i = 0; i < sizeof pins / sizeof *pins; i++)
		if (!pins[i].p) {
			pins[i].p = p;
			pins[i].n = n;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_OUT_OF_MEMORY;
}
int emu_unpin(void *p)
{
	for (size_t i = 0; i < sizeof pins / sizeof *pins; i++)
		if (pins[i].p == p) {
			pins[i].p = NULL;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}
bool emu_is_pinned(const void *p, size_t n)
{
	for (size_t i = 0; i < sizeof pins / sizeof *pins; i++)
		if (pins[i].p && (char *)p >= pins[i].p && (char *)p + n <= pins[i].p + pins[i].n)
			return true;
	return false;
}
