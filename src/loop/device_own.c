/* device_own.c -- loose steps side by side: what steps of a map keep on the way in a temporary that all
 * share gets a slice for each, so that the loop is parallel like any other. Where blocks take the
 * steps then, and a slice is small, it goes to what a block shares; where threads do, and it is some
 * numbers, it is the thread's.
 *
 * needs: no carries.  keeps: meaning.  breaks: the plan of temporaries that are given slices; they
 * have no place until hop_device_settle */
#include "loop/device.h"
#include "loop/gemm_plan.h"

enum {
	ALIGN = 64,
	PIECE = 16,                      /* elements that a slice is a multiple of */
	WORDS = 512,                     /* of slices that a thread has for itself; most are not used */
	ROOM = 72 << 10                  /* bytes of a block, with its product's: three are there at once */
};
static const int64_t MUCH = (int64_t)1 << 28;      /* bytes of slices that are too many */

/* What becomes of a temporary that is the loop's alone. The plan may have put another in the place of
 * one that each step has a piece of, when that step is done with it. */
enum { KEEP, MOVE, SLICE };

typedef struct own {
	hop_env   *e;
	hop_arena *a;
	hop_lfunc *f;
	bool       entry;
	int       *all, *in;             /* [nbuf] accesses in the function, in the loop */
	uint8_t   *then;                 /* [nbuf] */
	hop_reg    var;
	bool       ok;
} own;

/* ---- what is written ---- */

bool hop_device_is_away(const hop_lbuf *b)
{
	return b->kind == HOP_BUF_TEMP && b->space == HOP_SPACE_SCRATCH && hop_size_is(b->offset, -1);
}

static bool is_planned(const hop_lbuf *b)
{
	return b->kind == HOP_BUF_TEMP && (b->space == HOP_SPACE_FRAME || b->space == HOP_SPACE_RESULT);
}

static void look(void *user, hop_addr *x, bool is_write)
{
	own *o = user;
	int t = hop_addr_term(x, o->var);
	bool mine = t >= 0 && !hop_size_is(x->term[t].stride, 0);
	o->in[x->buf]++;
	if (is_write)
		o->then[x->buf] = mine && o->then[x->buf] != SLICE ? MOVE : SLICE;
}

/* False: a step writes what others see. */
static bool decide(own *o)
{
	for (int i = 0; i < o->f->nbuf; i++) {
		const hop_lbuf *b = &o->f->buf[i];
		bool mine = o->in[i] == o->all[i] && (is_planned(b) || hop_device_is_away(b));
		if (o->then[i] == SLICE && !mine)
			return false;
		if (o->then[i] == MOVE && (!mine || hop_device_is_away(b)))
			o->then[i] = KEEP;
	}
	return true;
}

/* A slice has room for a term more. */
static void look_room(void *user, hop_addr *x, bool is_write)
{
	own *o = user;
	(void)is_write;
	if (o->then[x->buf] == SLICE)
		o->ok = o->ok && x->nterm < HOP_MAXTERM && hop_addr_term(x, o->var) < 0;
}

static void each_addr(own *o, hop_block *b, hop_addr_fn *fn)
{
	for (hop_stmt *s = b->first; s; s = s->next)
		hop_stmt_all_addrs(o->f, s, fn, o);
}

/* Nothing but computing. */
static bool is_plain(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		bool ok = s->kind == HOP_L_OP || s->kind == HOP_L_LOOP || s->kind == HOP_L_IF ||
		          s->kind == HOP_L_WHILE || s->kind == HOP_L_TILE;
		if (!ok || s->ncarry || !is_plain(&s->body) || !is_plain(&s->other))
			return false;
	}
	return true;
}

/* ---- slices ---- */

static hop_size slice_of(own *o, const hop_lbuf *b)
{
	hop_size n = hop_size_add(o->e, b->count, hop_size_int(PIECE - 1));
	n = hop_size_div(o->e, n, hop_size_int(PIECE));
	return hop_size_mul(o->e, n, hop_size_int(PIECE));
}

/* Sizes that are known when the function begins, or, but in the entry, constants. */
static bool fits(own *o, const hop_stmt *s)
{
	double bytes = 0;
	for (int i = 0; i < o->f->nbuf; i++) {
		const hop_lbuf *b = &o->f->buf[i];
		if (o->then[i] == KEEP)
			continue;
		hop_size n = o->then[i] == MOVE ? b->count : hop_size_mul(o->e, slice_of(o, b), s->extent);
		if (hop_size_nsym(n) > o->f->nsym || (!o->entry && !hop_size_const(n)))
			return false;
		bytes += hop_size_const(n) ? (double)n.k * (double)hop_dtype_bytes(b->dtype) : 0;
	}
	return bytes <= (double)MUCH;
}

static void slice_addr(void *user, hop_addr *x, bool is_write)
{
	own *o = user;
	(void)is_write;
	if (o->then[x->buf] == SLICE && hop_addr_term(x, o->var) < 0)      /* it may be read and written */
		hop_addr_add(o->a, x, o->var, slice_of(o, &o->f->buf[x->buf]));
}

static void slice_buf(own *o, hop_lbuf *b, bool slices, hop_size extent)
{
	hop_size n = slice_of(o, b);
	if (!hop_device_is_away(b))
		b->index = slices && hop_size_const(n) && n.k <= ROOM ? (int)n.k : 0;
	if (slices)
		b->count = hop_size_mul(o->e, n, extent);
	b->space = HOP_SPACE_SCRATCH;
	b->offset = hop_size_int(-1);
}

static void slice(own *o, hop_stmt *s)
{
	each_addr(o, &s->body, slice_addr);
	for (int i = 0; i < o->f->nbuf; i++)
		if (o->then[i] != KEEP)
			slice_buf(o, &o->f->buf[i], o->then[i] == SLICE, s->extent);
	s->loop = HOP_LOOP_PAR;
	s->loose = s->reverse = false;
}

static void own_loop(own *o, hop_stmt *s)
{
	hop_mark m = hop_mark_at(&o->e->tmp);
	o->in = HOP_NEWN(&o->e->tmp, int, o->f->nbuf);
	o->then = HOP_NEWN(&o->e->tmp, uint8_t, o->f->nbuf);
	o->var = s->dst;
	o->ok = is_plain(&s->body);
	if (o->ok)
		each_addr(o, &s->body, look);
	o->ok = o->ok && decide(o);
	if (o->ok)
		each_addr(o, &s->body, look_room);
	if (o->ok && fits(o, s))
		slice(o, s);
	hop_rewind(&o->e->tmp, m);
}

static void own_block(own *o, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		own_block(o, &s->body);
		own_block(o, &s->other);
		if (s->kind == HOP_L_LOOP && s->loose)
			own_loop(o, s);
	}
}

void hop_device_own(hop_env *e, hop_arena *a, hop_lfunc *f, bool entry)
{
	hop_mark m = hop_mark_at(&e->tmp);
	own o = { .e = e, .a = a, .f = f, .entry = entry, .all = HOP_NEWN(&e->tmp, int, f->nbuf) };
	for (hop_stmt *s = f->body.first; s; s = s->next)
		hop_stmt_count_addrs(f, s, o.all);
	for (int i = 0; i < f->nlocal; i++)
		o.all[f->local[i]]++;
	own_block(&o, &f->body);
	hop_rewind(&e->tmp, m);
}

/* ---- what a block shares, and what a thread has ---- */

typedef struct share {
	const hop_reg *var;              /* that say which iteration a block is in */
	int            nvar;
	hop_size      *slice;            /* [nbuf] elements; -1: it is no slice */
	int           *seen;             /* [nbuf] times */
} share;

/* The smallest of the strides along the variables: what one iteration has. */
static hop_size stride_of(const share *h, const hop_addr *x)
{
	hop_size n = hop_size_int(-1);
	for (int i = 0; i < h->nvar; i++) {
		int t = hop_addr_term(x, h->var[i]);
		if (t < 0)
			continue;
		hop_size s = x->term[t].stride;
		if (!hop_size_const(s))
			return hop_size_int(-1);
		n = n.k < 0 || s.k < n.k ? s : n;
	}
	return n;
}

static void share_look(void *user, hop_addr *x, bool is_write)
{
	share *h = user;
	hop_size n = stride_of(h, x);
	(void)is_write;
	if (!h->seen[x->buf]++)
		h->slice[x->buf] = n;
	else if (!hop_size_eq(h->slice[x->buf], n))
		h->slice[x->buf] = hop_size_int(-1);
}

/* What is left is where it is in the slice. Loops around may have had slices of slices: their terms go
 * by more than one has. */
static void share_addr(void *user, hop_addr *x, bool is_write)
{
	share *h = user;
	int64_t n = h->slice[x->buf].k;
	(void)is_write;
	for (int i = x->nterm - 1; n >= 0 && i >= 0; i--) {
		bool out = !hop_size_const(x->term[i].stride) || x->term[i].stride.k >= n;
		for (int k = 0; k < h->nvar; k++)
			out |= x->term[i].reg == h->var[k];
		if (out)
			x->term[i] = x->term[--x->nterm];
	}
}

/* Bytes that the largest product in b has beside. */
static int64_t product_bytes(const hop_block *b, int threads)
{
	int64_t n = 0;
	for (const hop_stmt *s = b->first; s; s = s->next) {
		int64_t x = product_bytes(&s->body, threads), y = product_bytes(&s->other, threads);
		if (s->kind == HOP_L_TILE) {
			hop_stmt one = *s;
			one.bind = (hop_bind){ .place = HOP_PLACE_THREAD };
			x = hop_gemm_plan_of(&one, &(hop_team){ .threads = threads }).shared;
		}
		x = x > y ? x : y;
		n = n > x ? n : x;
	}
	return n;
}

static share look_slices(hop_dfunc *d, hop_stmt *s, const hop_reg *var, int nvar)
{
	hop_lfunc *f = d->f;
	share h = { var, nvar, HOP_NEWN(&d->e->tmp, hop_size, f->nbuf),
	            HOP_NEWN(&d->e->tmp, int, f->nbuf) };
	for (hop_stmt *q = s->body.first; q; q = q->next)
		hop_stmt_all_addrs(f, q, share_look, &h);
	return h;
}

void hop_device_see(hop_dfunc *d, const hop_block *b)
{
	d->nuse = d->f->nbuf;
	d->use = HOP_NEWN(&d->e->tmp, int, d->nuse);
	for (hop_stmt *s = b->first; s; s = s->next)
		hop_stmt_count_addrs(d->f, s, d->use);
}

/* Elements of buffer i that an iteration has for itself; -1: it is no slice. Nobody else has them: lanes
 * of a loop around may be as long as the slice of a step. */
static int64_t elements_of(const hop_dfunc *d, const share *h, int i)
{
	const hop_lbuf *b = &d->f->buf[i];
	bool own = h->seen[i] && hop_device_is_away(b) && b->index && h->slice[i].k == b->index &&
	           i < d->nuse && h->seen[i] == d->use[i];
	return own ? b->index : -1;
}

static void move(hop_lbuf *b, enum hop_space space, int64_t n, int64_t at)
{
	b->count = hop_size_int(n);
	b->space = space;
	b->index = 0;
	b->offset = hop_size_int(at);
}

void hop_device_share(hop_dfunc *d, hop_stmt *s, const hop_reg *var, int nvar)
{
	hop_mark m = hop_mark_at(&d->e->tmp);
	hop_lfunc *f = d->f;
	share h = look_slices(d, s, var, nvar);
	int64_t room = d->m->shared < ROOM ? d->m->shared : ROOM;
	room -= product_bytes(&s->body, d->threads) + 4 * 1024;       /* rows of sums */
	for (int i = 0; i < f->nbuf; i++) {
		int64_t n = elements_of(d, &h, i);
		int64_t bytes = (n * (int64_t)hop_dtype_bytes(f->buf[i].dtype) + ALIGN - 1) / ALIGN * ALIGN;
		h.slice[i] = hop_size_int(-1);
		if (n < 0 || f->shared + bytes > room)
			continue;
		h.slice[i] = hop_size_int(n);
		move(&f->buf[i], HOP_SPACE_SHARED, n, f->shared);
		f->shared += bytes;
	}
	for (hop_stmt *q = s->body.first; q; q = q->next)
		hop_stmt_all_addrs(f, q, share_addr, &h);
	hop_rewind(&d->e->tmp, m);
}

void hop_device_hold(hop_dfunc *d, hop_stmt *s, const hop_reg *var, int nvar)
{
	hop_mark m = hop_mark_at(&d->e->tmp);
	share h = look_slices(d, s, var, nvar);
	int64_t words = 0;
	for (int i = 0; i < d->f->nbuf; i++) {
		int64_t n = elements_of(d, &h, i);
		int64_t w = n * (hop_dtype_bytes(d->f->buf[i].dtype) > 4 ? 2 : 1);
		h.slice[i] = hop_size_int(-1);
		if (n < 0 || n > PIECE || words + w > WORDS)
			continue;
		h.slice[i] = hop_size_int(n);
		move(&d->f->buf[i], HOP_SPACE_LOCAL, n, 0);
		words += w;
	}
	for (hop_stmt *q = s->body.first; q; q = q->next)
		hop_stmt_all_addrs(d->f, q, share_addr, &h);
	hop_rewind(&d->e->tmp, m);
}

/* ---- places for the others ---- */

static int64_t bytes_of(const hop_lbuf *b)
{
	return (b->count.k * (int64_t)hop_dtype_bytes(b->dtype) + ALIGN - 1) / ALIGN * ALIGN;
}

void hop_device_settle_none(hop_lfunc *f)
{
	for (int i = 0; i < f->nbuf; i++) {
		hop_lbuf *b = &f->buf[i];
		if (hop_device_is_away(b)) {
			b->offset = b->count = hop_size_int(0);
			b->index = 0;
		}
	}
}

int64_t hop_device_settle(hop_lfunc *f, int64_t from)
{
	for (int i = 0; i < f->nbuf; i++) {
		hop_lbuf *b = &f->buf[i];
		if (!hop_device_is_away(b) || !hop_size_const(b->count))
			continue;
		b->offset = hop_size_int(from);
		b->index = 0;
		from += bytes_of(b);
	}
	return from;
}

hop_size hop_device_settle_frame(hop_env *e, hop_lfunc *f, hop_size from)
{
	for (int i = 0; i < f->nbuf; i++) {
		hop_lbuf *b = &f->buf[i];
		if (!hop_device_is_away(b) || hop_size_const(b->count))
			continue;
		hop_size n = hop_size_mul(e, b->count, hop_size_int((int64_t)hop_dtype_bytes(b->dtype)));
		n = hop_size_div(e, hop_size_add(e, n, hop_size_int(ALIGN - 1)), hop_size_int(ALIGN));
		b->space = HOP_SPACE_FRAME;
		b->offset = from;
		b->index = 0;
		from = hop_size_add(e, from, hop_size_mul(e, n, hop_size_int(ALIGN)));
	}
	return from;
}
