/* pieces.c -- the text of a program as several, which are compiled beside each other: NVRTC works on
 * one kernel after the other, and its time is nearly all of a compilation. Functions that call each
 * other, or share a constant, stay together. A text stays one where little would be gained. Does not
 * divide a function. */
#include <stdlib.h>
#include <string.h>

#include "target/beside.h"
#include "target/cuda/emit.h"
#include "target/cuda/nvrtc.h"
#include "target/cuda/pieces.h"

/* Weights are about fifths of milliseconds. A product is a template, which takes more than it has as a
 * tile. */
enum { SHARE = 500, PRODUCT = 500 };

/* HOP_PART=n: another, for tests. */
static int64_t share(void)
{
	const char *own = getenv("HOP_PART");
	return own && *own ? strtoll(own, NULL, 10) : SHARE;
}

/* ---- what stays together ---- */

/* Ways get shorter as they are gone. */
static int root(int *with, int i)
{
	for (; with[i] >= 0; i = with[i])
		if (with[with[i]] >= 0)
			with[i] = with[with[i]];
	return i;
}

void hop_cuda_together(int *with, int a, int b)
{
	a = root(with, a);
	b = root(with, b);
	if (a != b)
		with[a] = b;
}

static void join_calls(int *with, int f, const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		if (s->kind == HOP_L_CALL)
			hop_cuda_together(with, f, s->callee);
		join_calls(with, f, &s->body);
		join_calls(with, f, &s->other);
	}
}

static int64_t products(const hop_block *b)
{
	int64_t n = 0;
	for (const hop_stmt *s = b->first; s; s = s->next)
		n += s->kind == HOP_L_TILE ? 1 : products(&s->body) + products(&s->other);
	return n;
}

/* The part of each function, and last of the constants of lists, which are of part 0. */
static int parts_of(hop_env *e, const hop_prog *p, const hop_cuda_slices *at, int most, uint8_t *part)
{
	int n = p->nfunc, group = 0;
	int *which = HOP_NEWN(&e->tmp, int, n + 1);
	int64_t *weight = HOP_NEWN(&e->tmp, int64_t, n + 1);
	uint8_t *to = HOP_NEWN(&e->tmp, uint8_t, n + 1);
	for (int i = 0; i < n; i++)
		if (p->func[i].level != HOP_LEVEL_HOST)
			join_calls(at->with, i, &p->func[i].body);
	for (int i = 0; i <= n; i++) {
		bool host = i < n && p->func[i].level == HOP_LEVEL_HOST;
		int *first = &which[root(at->with, i)];
		if (!host && !*first)
			*first = ++group;
		if (i < n && !host)
			weight[*first - 1] += 1 + hop_block_weight(&p->func[i].body) +
			                      PRODUCT * products(&p->func[i].body);
	}
	int parts = hop_beside_parts(e, group, weight, share(), most, to);
	int own = to[which[root(at->with, n)] - 1];
	for (int i = 0; i <= n; i++) {
		int g = which[root(at->with, i)];
		int k = g ? to[g - 1] : own;
		part[i] = (uint8_t)(k == own ? 0 : k == 0 ? own : k);
	}
	return parts;
}

/* ---- texts ---- */

static void put_slice(hop_buf *out, const hop_buf *all, hop_cuda_slice s)
{
	if (s.to > s.from)
		hop_putn(out, all->s + s.from, s.to - s.from);
}

/* In the order that they have in the whole. */
static void put_part(hop_env *e, const hop_prog *p, const hop_buf *all, const hop_cuda_slices *at,
                     const uint8_t *part, int k, hop_buf *out)
{
	hop_buf text;
	hop_buf_open(&text, e);
	for (int i = 0; i < p->nfunc; i++)
		if (part[i] == k)
			put_slice(&text, all, at->head[i]);
	for (int i = p->nfunc; i >= 0; i--)
		if (part[i] == k)
			put_slice(&text, all, at->body[i]);
	hop_cuda_prelude(e, &text, out);
	hop_putn(out, text.s ? text.s : "", text.n);
	hop_buf_free(&text);
}

static hop_cuda_slices slices(hop_env *e, int n)
{
	hop_cuda_slices at = { HOP_NEWN(&e->tmp, hop_cuda_slice, n + 1),
	                       HOP_NEWN(&e->tmp, hop_cuda_slice, n + 1), HOP_NEWN(&e->tmp, int, n + 1) };
	for (int i = 0; i <= n; i++)
		at.with[i] = -1;
	return at;
}

hop_status hop_cuda_pieces(hop_env *e, const hop_prog *p, const char *name, int most,
                           hop_cuda_kernel *kernel, hop_cuda_needs *needs, hop_buf *out, int *out_n)
{
	hop_mark m = hop_mark_at(&e->tmp);
	hop_cuda_slices at = slices(e, p->nfunc);
	uint8_t *part = HOP_NEWN(&e->tmp, uint8_t, p->nfunc + 1);
	hop_buf all;
	hop_buf_open(&all, e);
	hop_status st = hop_cuda_prog(e, p, name, &all, kernel, needs, &at);
	*out_n = st ? 0 : parts_of(e, p, &at, most, part);
	for (int k = 0; k < *out_n; k++) {
		hop_buf_open(&out[k], e);
		put_part(e, p, &all, &at, part, k, &out[k]);
	}
	for (int i = 0; !st && i < p->nfunc; i++)
		kernel[i].piece = part[i];
	hop_buf_free(&all);
	hop_rewind(&e->tmp, m);
	return st;
}

/* ---- compiling ---- */

typedef struct work {
	const hop_buf *text;
	const char    *arch;
	hop_bytes     *out;
} work;

static hop_status compile_one(hop_env *e, void *user, int i)
{
	work *w = user;
	return hop_nvrtc_cubin(e, w->text[i].s, w->text[i].n, w->arch, &w->out[i]);
}

hop_status hop_cuda_cubins(hop_env *e, int n, const hop_buf *text, const char *arch, hop_bytes *out)
{
	work w = { text, arch, out };
	memset(out, 0, sizeof *out * (size_t)n);
	HOP_TRY(hop_nvrtc_open(e));
	hop_status st = hop_beside_do(e, n, compile_one, &w);
	if (st)
		hop_cuda_cubins_free(e, n, out);
	return st;
}

void hop_cuda_cubins_free(hop_env *e, int n, hop_bytes *b)
{
	for (int i = 0; i < n; i++)
		hop_raw_free(&e->mem, b[i].p, b[i].n);
}
