/* env.c -- the unit of work: its frames, and the exit for "no memory".
 * Does not print: the text of a failure is made in ir/diag.c. */
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"

void hop_env_init(hop_env *e, hop_ctx *ctx, hop_mem mem)
{
	*e = (hop_env){ .ctx = ctx, .mem = mem };
	if (!e->mem.fn)
		e->mem.fn = hop_alloc_default;
	e->tmp.env = e;             /* not in the list: it lives as long as the env */
}

/* Free what was opened after the given arena and buffer. */
static void unwind(hop_env *e, hop_arena *arenas, hop_buf *bufs)
{
	while (e->arenas != arenas) {
		HOP_ASSERT(e->arenas);
		hop_arena_free(e->arenas, &e->mem);
	}
	while (e->bufs != bufs) {
		HOP_ASSERT(e->bufs);
		hop_buf_free(e->bufs);
	}
}

void hop_env_fini(hop_env *e)
{
	HOP_ASSERT(!e->frame);
	unwind(e, NULL, NULL);
	e->tmp.env = NULL;
	hop_arena_free(&e->tmp, &e->mem);
	hop_diag_clear(e);
}

jmp_buf *hop_guard_begin(hop_env *e, hop_frame *f)
{
	f->prev = e->frame;
	f->arenas = e->arenas;
	f->bufs = e->bufs;
	f->tmp = hop_mark_at(&e->tmp);
	e->frame = f;
	return &f->jb;
}

void hop_guard_end(hop_env *e, hop_frame *f)
{
	HOP_ASSERT(e->frame == f);
	e->frame = f->prev;
}

/* Frees before it jumps: open arenas and buffers may lie on the part of the stack that
 * the jump gives up. */
_Noreturn void hop_nomem(hop_env *e)
{
	hop_frame *f = e->frame;
	HOP_ASSERT(f);
	unwind(e, f->arenas, f->bufs);
	hop_rewind(&e->tmp, f->tmp);
	longjmp(f->jb, 1);
}

/* The status returned and the failure kept must be the same one, so this replaces any
 * failure recorded before memory ran out. */
hop_status hop_guard_nomem(hop_env *e, hop_frame *f)
{
	hop_guard_end(e, f);
	hop_diag_clear(e);
	e->diag.st = HOP_ENOMEM;
	return HOP_ENOMEM;
}

void hop_diag_clear(hop_env *e)
{
	hop_raw_free(&e->mem, e->diag.text, e->diag.len + 1);
	e->diag = (hop_diag){ .st = HOP_OK };
}

_Noreturn void hop_bug(const char *file, int line, const char *what)
{
	fprintf(stderr, "hop: bug at %s:%d: %s does not hold\n", file, line, what);
	abort();
}
