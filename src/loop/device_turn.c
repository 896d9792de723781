/* device_turn.c -- a nest whose loads lie side by side along one loop and whose stores along another: by
 * tiles, which a block reads along the one into what it shares and takes from there along the other.
 *
 *	for z, y, x over blocks:
 *	  for t over threads: tile[v][u] = load, u the faster one; all that is turned
 *	  all wait
 *	  for t over threads: the body, v the faster one, with the tile in the place of those loads
 *
 * Without it a store or a load of a warp is 32 pieces of memory: an eighth of the speed.
 * needs: a chain of loops whose iterations are apart.  keeps: meaning.  fills: place, each, shared */
#include "loop/device.h"

enum {
	THREADS = 256,
	MAXTURN = 4,             /* loads that are turned */
	FLIGHT = 32,             /* loads of a thread at once */
	WIDE = 64, SHORT = 32,   /* of a tile, both ways */
	LARGE = 1 << 20,         /* elements from which the wide one leaves no multiprocessor idle */
	LEAST = 1 << 16, THIN = 16,      /* elements of a nest, iterations of a loop, that pay */
	MAXCHAIN = 8,
	MAXBLOCKS = 65535        /* along y and z */
};

typedef struct turn {
	hop_dfunc *d;
	hop_stmt **c;            /* the chain */
	int        n, u, v;      /* loads are along c[u], stores along c[v] */
	int        tile;         /* elements of it, one way */
	hop_block  ops;          /* all of the body, and what stood between the loops */
	hop_stmt  *load[MAXTURN];
	int        buf[MAXTURN], nload, nall;
	hop_reg    from_u, from_v;       /* where the tile starts */
} turn;

/* ---- is it one? ---- */

static bool is_next(const hop_addr *a, hop_reg var)
{
	int i = hop_addr_term(a, var);
	return i >= 0 && hop_size_is(a->term[i].stride, 1);
}

static bool jumps(const hop_addr *a, hop_reg var)
{
	int i = hop_addr_term(a, var);
	return i >= 0 && !hop_size_is(a->term[i].stride, 1) && !hop_size_is(a->term[i].stride, 0);
}

static bool is_op(const hop_stmt *s, enum hop_sop sop)
{
	return s->kind == HOP_L_OP && s->sop == sop;
}

/* All operations, in order, as copies; false: there is more than that, or a load that stood outside of a
 * loop would meet what is stored in it. */
static bool gather(turn *t)
{
	for (int i = 0; i < t->n; i++)
		for (const hop_stmt *s = t->c[i]->body.first; s; s = s->next) {
			if (i < t->n - 1 && s == t->c[i + 1])
				continue;
			if (s->kind != HOP_L_OP)
				return false;
			hop_block_append(&t->ops, hop_stmt_copy(t->d->a, s));
		}
	for (int i = 0; i < t->n - 1; i++)
		for (const hop_stmt *s = t->c[i]->body.first; s != t->c[i + 1]; s = s->next)
			for (const hop_stmt *q = t->ops.first; is_op(s, HOP_SOP_load) && q; q = q->next)
				if (is_op(q, HOP_SOP_store) && hop_device_meet(t->d, s->u.addr.buf, q->u.addr.buf))
					return false;
	return true;
}

/* It reads what its position says, and nothing that the iteration stored before. */
static bool is_plain(const turn *t, const hop_stmt *load)
{
	for (const hop_stmt *s = t->ops.first; s != load; s = s->next) {
		if (is_op(s, HOP_SOP_store) && hop_device_meet(t->d, s->u.addr.buf, load->u.addr.buf))
			return false;
		if (s->dst && hop_addr_term(&load->u.addr, s->dst) >= 0)
			return false;
	}
	return !load->na;
}

static int loads_along(turn *t, int u, int v)
{
	t->nload = t->nall = 0;
	for (hop_stmt *s = t->ops.first; s; s = s->next) {
		const hop_addr *a = &s->u.addr;
		if (!is_op(s, HOP_SOP_load))
			continue;
		t->nall++;
		if (t->nload < MAXTURN && is_next(a, t->c[u]->dst) && jumps(a, t->c[v]->dst) && is_plain(t, s))
			t->load[t->nload++] = s;
	}
	return t->nload;
}

static int stores_along(const turn *t, int v)
{
	int n = 0;
	for (const hop_stmt *s = t->ops.first; s; s = s->next)
		n += is_op(s, HOP_SOP_store) && is_next(&s->u.addr, t->c[v]->dst);
	return n;
}

/* Which two loops: most stores along v, most loads to turn along u. */
static bool choose(turn *t)
{
	int most = 0;
	t->u = t->v = -1;
	for (int i = t->n - 1; i >= 0; i--)
		if (stores_along(t, i) > most) {
			most = stores_along(t, i);
			t->v = i;
		}
	most = 0;
	for (int i = t->n - 1; t->v >= 0 && i >= 0; i--)
		if (i != t->v && loads_along(t, i, t->v) > most) {
			most = t->nload;
			t->u = i;
		}
	return t->u >= 0 && loads_along(t, t->u, t->v);
}

/* Elements from one row of the tile to the next: no two of a column are in one bank of 4 bytes. */
static int pitch(const turn *t, const hop_stmt *load)
{
	int bytes = (int)hop_dtype_bytes((hop_dtype)load->dtype);
	return t->tile + (bytes < 4 ? 4 / bytes : 1);
}

static int64_t bytes_of(const turn *t, const hop_stmt *load)
{
	int64_t n = (int64_t)t->tile * pitch(t, load) * (int64_t)hop_dtype_bytes((hop_dtype)load->dtype);
	return (n + 63) / 64 * 64;
}

static int64_t all_bytes(const turn *t)
{
	int64_t n = 0;
	for (int i = 0; i < t->nload; i++)
		n += bytes_of(t, t->load[i]);
	return n;
}

/* Both ways long enough, and room for the tiles. */
static bool pays(turn *t)
{
	const hop_machine *m = t->d->m;
	double u = hop_device_trips(t->c[t->u]->extent), v = hop_device_trips(t->c[t->v]->extent);
	double thin = m->small ? 2 : THIN, all = hop_nest_width(t->c[0]);
	if (all < (m->small ? (double)m->small : LEAST) || u < thin || v < thin)
		return false;
	t->tile = all >= LARGE && u > SHORT && v > SHORT ? WIDE : SHORT;
	if (all_bytes(t) * 2 > m->shared)
		t->tile = SHORT;
	while (t->nload > 1 && all_bytes(t) > m->shared)
		t->nload--;
	return all_bytes(t) <= m->shared;
}

/* ---- making it ---- */

static hop_reg op2(hop_lbuild *b, enum hop_sop s, hop_reg x, hop_reg y)
{
	return hop_l_op(b, s, HOP_i64, 2, (hop_reg[]){ x, y });
}

static hop_reg test(hop_lbuild *b, enum hop_sop s, hop_reg x, hop_reg y)
{
	return hop_l_op(b, s, HOP_bool, 2, (hop_reg[]){ x, y });
}

/* dst, which the body knows, as an operation of two. */
static void define(hop_lbuild *b, hop_reg dst, enum hop_sop sop, hop_reg x, hop_reg y)
{
	hop_stmt *s = hop_l_stmt(b, HOP_L_OP);
	s->sop = sop;
	s->dtype = HOP_i64;
	s->na = 2;
	s->dst = dst;
	s->a[0] = x;
	s->a[1] = y;
}

/* A place in the tile, and in the nest. */
typedef struct spot { hop_reg in_u, in_v, u, v, mask; } spot;

/* mask and i < n, unless tiles end where the loop does. */
static hop_reg within(turn *t, hop_lbuild *b, hop_reg mask, hop_reg i, hop_size n)
{
	if (hop_size_const(n) && n.k % t->tile == 0)
		return mask;
	hop_reg m = test(b, HOP_SOP_lt, i, hop_l_size(b, n));
	return mask ? test(b, HOP_SOP_and, mask, m) : m;
}

/* The threads' loop over the tile, u the faster one or v; both get their values in given registers. */
static spot open_tile(turn *t, hop_lbuild *b, bool fast_u, hop_reg u, hop_reg v, int each)
{
	hop_reg p = hop_l_reg(b);
	hop_stmt *l = hop_l_loop(b, HOP_LOOP_PAR, hop_size_int((int64_t)t->tile * t->tile), p);
	l->bind = (hop_bind){ .place = HOP_PLACE_THREAD, .each = (uint8_t)each };
	b->block = &l->body;
	hop_reg by = hop_l_consti(b, HOP_i64, t->tile);
	hop_reg slow = op2(b, HOP_SOP_div, p, by), fast = op2(b, HOP_SOP_rem, p, by);
	spot s = { .in_u = fast_u ? fast : slow, .in_v = fast_u ? slow : fast, .u = u, .v = v };
	define(b, u, HOP_SOP_add, t->from_u, s.in_u);
	define(b, v, HOP_SOP_add, t->from_v, s.in_v);
	s.mask = within(t, b, 0, u, t->c[t->u]->extent);
	s.mask = within(t, b, s.mask, v, t->c[t->v]->extent);
	return s;
}

static hop_addr in_tile(turn *t, int i, const spot *s)
{
	hop_addr a = { .buf = t->buf[i], .offset = hop_size_int(0) };
	hop_addr_add(t->d->a, &a, s->in_v, hop_size_int(pitch(t, t->load[i])));
	hop_addr_add(t->d->a, &a, s->in_u, hop_size_int(1));
	return a;
}

/* As many elements at once as the loads of each leave room for. */
static int each_of(const turn *t, int loads)
{
	int n = t->tile * t->tile / THREADS;
	while (n > 1 && n * loads > FLIGHT)
		n /= 2;
	return n;
}

static void mask_by(hop_lbuild *b, hop_stmt *s, int at, hop_reg mask)
{
	if (!mask)
		return;
	s->a[at] = s->na > at ? test(b, HOP_SOP_and, mask, s->a[at]) : mask;
	s->na = (uint8_t)(at + 1);
}

/* What is turned, into the tile. */
static void put_loads(turn *t, hop_lbuild b)
{
	spot s = open_tile(t, &b, true, hop_l_reg(&b), hop_l_reg(&b), each_of(t, t->nload));
	hop_reg v[MAXTURN];
	for (int i = 0; i < t->nload; i++) {
		hop_stmt *l = hop_stmt_copy(t->d->a, t->load[i]);
		for (int k = 0; k < l->u.addr.nterm; k++) {
			hop_term *m = &l->u.addr.term[k];
			m->reg = m->reg == t->c[t->u]->dst ? s.u : m->reg == t->c[t->v]->dst ? s.v : m->reg;
		}
		l->dst = v[i] = hop_l_reg(&b);
		mask_by(&b, l, 0, s.mask);
		hop_block_append(b.block, l);
	}
	for (int i = 0; i < t->nload; i++) {
		hop_addr a = in_tile(t, i, &s);
		hop_l_store(&b, (hop_dtype)t->load[i]->dtype, &a, v[i]);
	}
}

/* The body, with the tile in their place. */
static void put_body(turn *t, hop_lbuild b)
{
	spot s = open_tile(t, &b, false, t->c[t->u]->dst, t->c[t->v]->dst, each_of(t, t->nall));
	for (hop_stmt *q = t->ops.first, *next; q; q = next) {
		int i = 0;
		next = q->next;
		q->next = NULL;
		while (i < t->nload && t->load[i] != q)
			i++;
		if (i < t->nload)
			q->u.addr = in_tile(t, i, &s);
		else if (is_op(q, HOP_SOP_load))
			mask_by(&b, q, 0, s.mask);
		else if (is_op(q, HOP_SOP_store))
			mask_by(&b, q, 1, s.mask);
		hop_block_append(b.block, q);
	}
}

static void put_bufs(turn *t, hop_lbuild *b)
{
	for (int i = 0; i < t->nload; i++) {
		int64_t n = (int64_t)t->tile * pitch(t, t->load[i]);
		t->buf[i] = hop_l_buf(b, (hop_lbuf){ .kind = HOP_BUF_TEMP, .space = HOP_SPACE_SHARED,
			.dtype = (hop_dtype)t->load[i]->dtype, .count = hop_size_int(n),
			.offset = hop_size_int(t->d->f->shared), .is_written = true });
		t->d->f->shared += bytes_of(t, t->load[i]);
	}
}

/* ---- blocks ---- */

static hop_size tiles(turn *t, hop_size n)
{
	hop_env *e = t->d->e;
	return hop_size_div(e, hop_size_add(e, n, hop_size_int(t->tile - 1)), hop_size_int(t->tile));
}

/* The product of the extents of the other loops; 1 = none. */
static hop_size others(turn *t)
{
	hop_size n = hop_size_int(1);
	for (int i = 0; i < t->n; i++)
		if (i != t->u && i != t->v)
			n = hop_size_mul(t->d->e, n, t->c[i]->extent);
	return n;
}

/* Their variables, from one that counts all. */
static void part_others(turn *t, hop_lbuild *b, hop_reg z)
{
	for (int i = t->n - 1; i >= 0; i--) {
		if (i == t->u || i == t->v)
			continue;
		hop_reg by = hop_l_size(b, t->c[i]->extent);
		define(b, t->c[i]->dst, HOP_SOP_rem, z, by);
		z = op2(b, HOP_SOP_div, z, by);
	}
}

/* A loop over blocks along axis i, in b; the team gets as many of them. */
static hop_reg over_blocks(turn *t, hop_lbuild *b, hop_team *team, int i, hop_size n)
{
	hop_env *e = t->d->e;
	hop_stmt *l = hop_l_loop(b, HOP_LOOP_PAR, n, hop_l_reg(b));
	bool known = hop_size_nsym(n) <= t->d->f->nsym;
	l->bind = (hop_bind){ .place = (uint8_t)(HOP_PLACE_BLOCK_X + i) };
	team->exact &= known && (!i || (hop_size_const(n) && n.k <= MAXBLOCKS));
	n = known ? n : hop_size_int(LEAST);
	n = i ? hop_size_min(e, n, hop_size_int(MAXBLOCKS)) : n;
	team->blocks[i] = hop_size_max(e, n, hop_size_int(1));
	b->block = &l->body;
	return l->dst;
}

bool hop_device_turn(hop_dfunc *d, hop_stmt **c, int n, hop_team *team)
{
	turn t = { .d = d, .c = c, .n = n };
	if (n < 2 || n > MAXCHAIN || !gather(&t) || !choose(&t) || !pays(&t))
		return false;
	hop_block   all = { 0 };
	hop_lbuild  b = { .env = d->e, .a = d->a, .f = d->f, .block = &all, .loc = c[0]->loc };
	hop_size    z = others(&t);
	hop_stmt   *next = c[0]->next;

	*team = (hop_team){ .threads = d->threads = THREADS, .exact = true,
	                    .blocks = { hop_size_int(1), hop_size_int(1), hop_size_int(1) } };
	put_bufs(&t, &b);
	if (n > 2)
		part_others(&t, &b, over_blocks(&t, &b, team, 2, z));
	hop_reg y = over_blocks(&t, &b, team, 1, tiles(&t, c[t.u]->extent));
	hop_reg x = over_blocks(&t, &b, team, 0, tiles(&t, c[t.v]->extent));
	hop_reg by = hop_l_consti(&b, HOP_i64, t.tile);
	t.from_u = op2(&b, HOP_SOP_mul, y, by);
	t.from_v = op2(&b, HOP_SOP_mul, x, by);
	put_loads(&t, b);
	put_body(&t, b);
	*c[0] = *all.first;
	c[0]->next = next;
	return true;
}
