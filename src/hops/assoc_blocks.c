/* assoc_blocks.c -- a long associative scan of scalars, or their reduction, in blocks that stay
 * near: a block is CHAINS pieces of neighbours. Each piece is combined by itself, what they give
 * is folded piece by piece, and each piece is scanned again from where it begins. Pieces are
 * lanes: of vectors, and for threads. A block is read from memory once. How many elements a piece
 * has is a constant, so the association is that of the length alone. Other combines are folds.
 *
 * A piece is no multiple of 4 KiB long: its lanes would all want the same lines of the cache. */
#include <stdlib.h>

#include "hops/assoc_lower.h"

typedef struct level { int chains, piece; } level;
static const level levels[] = { { 256, 1040 }, { 16, 80 } };
enum { LEVELS = sizeof levels / sizeof *levels };

/* HOP_PIECE=n: pieces of n elements and blocks of four, then of two, for tests. */
static level level_at(int i)
{
	const char *own = getenv("HOP_PIECE");
	long n = own ? atol(own) : 0;
	return n > 1 && n < 1000 ? (level){ i ? 2 : 4, (int)n } : levels[i];
}

bool hop_fold_is_plain(const hop_fold *s)
{
	const hop_graph *g = s->a.combine;
	for (int k = 0; k < s->nx; k++)
		if (s->c.type[k]->rank)
			return false;
	for (uint32_t i = 0; i < g->nnode; i++)
		if (hop_optab[g->node[i].op].flags & HOP_F_WHOLE || g->node[i].guard)
			return false;
	for (uint32_t i = 0; i < g->nvalue; i++)
		if (g->type[i]->rank)
			return false;
	return true;
}

typedef struct block {
	const hop_fold *s;
	hop_size        piece, chains, low;
	hop_view       *total;         /* [nx] of a piece, all of them; then what is before it */
	hop_view       *temp;          /* [nx] */
} block;

static hop_view *lead(hop_lower *l, const hop_view *v, int n, const hop_ix *t)
{
	hop_view *to = HOP_NEWN(l->w, hop_view, n);
	for (int k = 0; k < n; k++)
		to[k] = hop_view_lead(l, &v[k], t);
	return to;
}

static const hop_ix *open_steps(hop_lower *l, const hop_fold *s, hop_size n)
{
	const hop_ix *t = hop_lower_open(l, HOP_LOOP_SEQ, n, NULL);
	l->q.cur->stmt->reverse = s->a.reverse;
	return t;
}

/* Element 0 of piece c of the block at `at`. */
static const hop_ix *start_of(hop_lower *l, const block *b, const hop_ix *at, const hop_ix *c)
{
	return hop_ix_add(l, at, hop_ix_mul(l, c, b->piece));
}

/* What each piece gives, into total: more than what is wanted of the slices, for it stands on the
 * right. */
static hop_status fold_pieces(hop_lower *l, const block *b, const hop_ix *at)
{
	hop_fold piece = *b->s;
	const hop_fold *s = &piece;
	piece.live = piece.total;
	hop_size one = hop_size_int(1), more = hop_size_sub(l->env, b->piece, one);
	hop_combined of = { .left = b->total, .t = at };
	hop_combine q;
	HOP_TRY(hop_combine_new(l, s, &of, b->temp, &q));
	const hop_ix *c = hop_lower_open(l, HOP_LOOP_PAR, b->chains, NULL), *x = start_of(l, b, at, c);
	const hop_ix *first = s->a.reverse ? hop_ix_add(l, x, hop_ix_size(l, more)) : x;
	of.left = lead(l, b->total, s->nx, c);
	for (int k = 0; k < s->nx; k++) {
		if (!s->live[k])
			continue;
		hop_reg r = hop_lower_arg(l, s->n, (int)s->a.ninit + k, &first);
		hop_lower_put(l, (hop_dtype)s->c.type[k]->dtype, of.left[k].buf, of.left[k].base, r);
	}
	const hop_ix *t = open_steps(l, s, more);
	of.t = hop_ix_add(l, x, s->a.reverse ? t : hop_ix_add(l, t, hop_ix_size(l, one)));
	HOP_TRY(hop_combine_step(l, s, &q, &of, lead(l, b->temp, s->nx, c)));
	hop_lower_close_n(l, 2);
	return HOP_OK;
}

/* What is before each piece, into total; what is before the next block, into the fold's. */
static hop_status fold_totals(hop_lower *l, const block *b)
{
	const hop_fold *s = b->s;
	hop_combined of = { s->c.now, b->total, NULL };
	hop_view *dest = HOP_NEWN(l->w, hop_view, s->nx);
	hop_combine q;
	for (int k = 0; k < s->nx; k++)
		dest[k] = hop_lower_temp(l, s->c.type[k]);
	HOP_TRY(hop_combine_new(l, s, &of, dest, &q));
	const hop_ix *c = open_steps(l, s, b->chains);
	hop_view *total = lead(l, b->total, s->nx, c), *was = lead(l, b->temp, s->nx, c);
	for (int k = 0; k < s->nx; k++)
		if (s->live[k])
			hop_view_copy(l, s->c.type[k], &s->c.now[k], &was[k]);
	of.right = total;
	HOP_TRY(hop_combine_step(l, s, &q, &of, dest));
	hop_lower_close(l);
	return HOP_OK;
}

/* The results of each piece, from what is before it on. */
static hop_status scan_pieces(hop_lower *l, const block *b, const hop_ix *at)
{
	const hop_fold *s = b->s;
	hop_combined of = { .left = b->temp, .t = at };
	hop_combine q;
	HOP_TRY(hop_combine_new(l, s, &of, s->ys, &q));
	const hop_ix *c = hop_lower_open(l, HOP_LOOP_PAR, b->chains, NULL), *x = start_of(l, b, at, c);
	of.left = lead(l, b->temp, s->nx, c);
	of.t = hop_ix_add(l, x, open_steps(l, s, b->piece));
	HOP_TRY(hop_combine_step(l, s, &q, &of, lead(l, s->ys, s->nx, of.t)));
	hop_lower_close_n(l, 2);
	return HOP_OK;
}

static hop_status one_level(hop_lower *l, const hop_fold *s, level v, hop_size *from)
{
	hop_env *e = l->env;
	hop_size each = hop_size_int((int64_t)v.chains * v.piece);
	hop_size left = hop_size_sub(e, s->length, *from);
	hop_size n = hop_size_div(e, hop_size_max(e, hop_size_int(0), left), each);
	hop_size all = hop_size_mul(e, n, each);
	block b = { s, hop_size_int(v.piece), hop_size_int(v.chains), *from,
	            HOP_NEWN(l->w, hop_view, s->nx), HOP_NEWN(l->w, hop_view, s->nx) };
	if (hop_size_is(n, 0))
		return HOP_OK;
	if (s->a.reverse)
		b.low = hop_size_sub(e, left, all);
	for (int k = 0; k < s->nx; k++) {
		const hop_type *t = hop_type_prepend(e, s->c.type[k], b.chains);
		b.total[k] = hop_lower_temp(l, t);
		b.temp[k] = hop_lower_temp(l, t);
	}
	const hop_ix *at = hop_ix_mul(l, open_steps(l, s, n), each);
	at = hop_ix_add(l, at, hop_ix_size(l, b.low));
	HOP_TRY(fold_pieces(l, &b, at));
	HOP_TRY(fold_totals(l, &b));
	if (!s->a.whole)
		HOP_TRY(scan_pieces(l, &b, at));
	hop_lower_close(l);
	*from = hop_size_add(e, *from, all);
	return HOP_OK;
}

hop_status hop_fold_blocks(hop_lower *l, const hop_fold *s, hop_size *from)
{
	for (int i = 0; i < LEVELS; i++)
		HOP_TRY(one_level(l, s, level_at(i), from));
	return HOP_OK;
}
