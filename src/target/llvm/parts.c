/* parts.c -- a program as several modules, compiled beside each other (target/beside.h). Does not
 * divide a function: loop/outline.c took out what can be. */
#include <string.h>

#include "target/beside.h"
#include "target/llvm/elf.h"
#include "target/llvm/emit.h"

enum { SHARE = 90 };            /* weight that is worth a module and a thread */

typedef struct work {
	hop_llvm             L;
	const hop_prog      *p;
	const hop_machine   *m;
	const hop_llvm_opts *o;
	hop_split            split;
	void                *buffer[HOP_MAXPART];      /* LLVM's */
} work;

static hop_split split_of(hop_env *e, const hop_prog *p, int most)
{
	hop_split s = { 1, HOP_NEWN(&e->tmp, uint8_t, p->nfunc) };
	int64_t *w = HOP_NEWN(&e->tmp, int64_t, p->nfunc);
	for (int i = 0; i < p->nfunc; i++)
		w[i] = 1 + hop_block_weight(&p->func[i].body);
	s.n = hop_beside_parts(e, p->nfunc, w, SHARE, most, s.part);
	return s;
}

static hop_status compile_one(hop_env *e, void *user, int i)
{
	work *w = user;
	return hop_llvm_part(e, &w->L, w->p, w->m, w->o, &w->split, i, &w->buffer[i]);
}

/* ---- the result ---- */

static size_t padded(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static hop_status join(hop_env *e, const work *w, void **out_p, size_t *out_n)
{
	size_t n = 0;
	unsigned char *at;
	for (int i = 0; i < w->split.n; i++)
		n += 8 + padded(w->L.GetBufferSize(w->buffer[i]));
	at = hop_raw_try(&e->mem, n);
	if (!at)
		return hop_fail(e, 0, HOP_ENOMEM, "no memory for %zu bytes of code", n);
	memset(at, 0, n);
	*out_p = at;
	*out_n = n;
	for (int i = 0; i < w->split.n; i++) {
		uint64_t size = w->L.GetBufferSize(w->buffer[i]);

		memcpy(at, &size, 8);
		memcpy(at + 8, w->L.GetBufferStart(w->buffer[i]), size);
		at += 8 + padded(size);
	}
	return HOP_OK;
}

static int wanted(const hop_env *e, const hop_llvm_opts *o)
{
	int n = o->parts ? o->parts : hop_beside_threads(e);
	return n < HOP_MAXPART ? n : HOP_MAXPART;
}

hop_status hop_llvm_object(hop_env *e, const hop_prog *p, const hop_machine *m,
                           const hop_llvm_opts *o, void **out_p, size_t *out_n)
{
	hop_mark mark = hop_mark_at(&e->tmp);
	work *w = HOP_NEW(&e->tmp, work);
	hop_status st = hop_llvm_load(e, &w->L);
	if (!st)
		st = hop_e_check_tiles(e, p);
	if (st) {
		hop_rewind(&e->tmp, mark);
		return st;
	}
	w->p = p;
	w->m = m;
	w->o = o;
	w->split = split_of(e, p, wanted(e, o));
	st = hop_beside_do(e, w->split.n, compile_one, w);
	if (!st)
		st = join(e, w, out_p, out_n);
	for (int i = 0; i < w->split.n; i++)
		if (w->buffer[i])
			w->L.DisposeMemoryBuffer(w->buffer[i]);
	hop_rewind(&e->tmp, mark);
	return st;
}
