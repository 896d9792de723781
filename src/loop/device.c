/* device.c -- a program for a CPU becomes one for a host and a device. The entry is a list of kernels:
 *
 *	nest       one large nest: blocks that come and go
 *	small      statements in a row that are nothing for more than one block: operations, small
 *	           nests, branches and loops of those, what the run time is asked
 *	resident   a branch or a loop with large nests in it: all blocks at once
 *	call       a function with large nests: a list of its own
 *	loop       whose trips are kernels of their own (device_list.c): their list
 *
 * What is behind a sum over all blocks, and small, goes to the block that ends it. A function that is
 * called in a kernel is bound for who calls it: one block, or all.
 *
 * needs: planned functions, collected.  breaks: function numbers; fills: levels, teams, places */
#include "loop/device_cut.h"

#include "loop/lower.h"

#include <string.h>

enum {
	THREADS = 256,           /* of a block */
	MANY_THREADS = 512,      /* where all are there at once, and have use for as many */
	SMALL = 4096,            /* elements that one block may well do */
	LONG = 40000,            /* statements a thread that it may not */
	MUCH = 100000, FEW = 32, /* statements that are better done by many blocks, if there are as many */
	HEAVY = 800,             /* weight of a small kernel that is long enough to be compiled */
	AHEAD = 64               /* kernels that a loop of a list may be told at once */
};

typedef enum how { HOW_HOST, HOW_BLOCK, HOW_RESIDENT, NHOW } how;

typedef struct device {
	hop_env   *e;
	hop_prog  *p;
	const hop_machine *m;
	hop_lfunc *old;
	int        nold;
	bool      *big;          /* [nold] has a large nest */
	int       *made;         /* [nold * NHOW] its number; 0 = none yet */
	int64_t   *within;       /* [nold] of a list: `when` and `looped`, when it was made */
	hop_dcost *cost;         /* [nold] */
	bool       looped;       /* the list is a loop's */
	int64_t    when;         /* 1 + the byte of scratch that decides about it, where trips are told that
	                            there may not be; 0 = none are */
	hop_lfunc *out;
	size_t     n, cap;
	int64_t    spill;        /* bytes of scratch that are given away */
	int       *first, *last, run, nspan;     /* [nspan] runs of a host function that use a buffer */
	hop_status st;
} device;

static int make(device *v, int old, how h);

/* ---- what is large ---- */

static bool block_big(const device *v, const hop_block *b);

static bool stmt_big(const device *v, const hop_stmt *s)
{
	if (hop_stmt_is_nest(s)) {
		double w = hop_nest_width(s), t = w < THREADS ? w : THREADS;
		return w > (v->m->small ? v->m->small : SMALL) || hop_nest_work(s) / (t > 1 ? t : 1) > LONG ||
		       block_big(v, &s->body);
	}
	if (s->kind == HOP_L_CALL)
		return v->big[s->callee];
	return block_big(v, &s->body) || block_big(v, &s->other);
}

static bool block_big(const device *v, const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if ((s->kind != HOP_L_OP) && stmt_big(v, s))
			return true;
	return false;
}

/* ---- what kernels do not know ---- */

/* Tiles but products as loops, carries as copies. */
static void plain_block(device *v, hop_lfunc *f, hop_block *b)
{
	hop_block out = { 0 };
	hop_lbuild l = { .env = v->e, .a = v->p->a, .f = f, .block = &out };
	for (hop_stmt *s = b->first, *next; s; s = next) {
		next = s->next;
		s->next = NULL;
		l.loc = s->loc;
		if (s->kind == HOP_L_TILE && s->tile->of != &hop_template_gemm) {
			if (!s->tile->of->expand(&l, s->tile) && !v->st)
				v->st = hop_fail(v->e, s->loc, HOP_ETARGET, "%s: not on a device yet",
				                 s->tile->of->name);
			l.block = &out;
			continue;
		}
		hop_block_append(&out, s);
		plain_block(v, f, &s->body);
		plain_block(v, f, &s->other);
		if (s->ncarry) {
			hop_lbuild in = { .env = v->e, .a = v->p->a, .f = f, .block = &s->body, .loc = s->loc };
			hop_carry_loops(&in, f, s);
			s->ncarry = 0;
			s->carry = NULL;
		}
	}
	*b = out;
}

/* ---- calls ---- */

static void retarget(device *v, hop_block *b, how h)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		if (s->kind == HOP_L_CALL)
			s->callee = make(v, s->callee, h);
		retarget(v, &s->body, h);
		retarget(v, &s->other, h);
	}
}

static int reserve(device *v, int old, how h)
{
	v->out = hop_arena_grow(&v->e->tmp, v->out, sizeof *v->out, v->n + 1, &v->cap);
	v->made[old * NHOW + h] = (int)v->n;
	return (int)v->n++;
}

static int append(device *v, const hop_lfunc *f)
{
	v->out = hop_arena_grow(&v->e->tmp, v->out, sizeof *v->out, v->n + 1, &v->cap);
	v->out[v->n] = *f;
	return (int)v->n++;
}

static hop_dfunc dfunc(device *v, hop_lfunc *f)
{
	return (hop_dfunc){ .e = v->e, .a = v->p->a, .p = v->p, .m = v->m, .f = f, .threads = THREADS,
	                    .scratch = v->spill };
}

int hop_device_scratch(hop_dfunc *d, hop_dtype t, hop_size count)
{
	hop_lbuild b = { .env = d->e, .a = d->a, .f = d->f };
	hop_lbuf v = { .kind = HOP_BUF_TEMP, .space = HOP_SPACE_SCRATCH, .dtype = t, .count = count,
	               .offset = hop_size_int(d->scratch), .is_written = true };
	HOP_ASSERT(hop_size_const(count));
	d->scratch += (count.k * (int64_t)hop_dtype_bytes(t) + 63) / 64 * 64;
	return hop_l_buf(&b, v);
}

/* ---- what a kernel calls ---- */

static void make_team(device *v, int at, int old, how h)
{
	hop_lfunc f = v->old[old];
	hop_unit u = h == HOW_BLOCK ? HOP_UNIT_BLOCK : HOP_UNIT_RESIDENT;
	hop_dfunc d = dfunc(v, &f);
	hop_cut c;
	f.level = HOP_LEVEL_TEAM;
	hop_cut_open(&c, &d);
	hop_lfunc k = f;
	hop_cut_make(&c, &k, f.body.first, NULL);
	d.f = &k;
	d.single = h == HOW_BLOCK;
	hop_device_see(&d, &k.body);
	hop_device_bind(&d, &k.body, u);
	hop_device_wait(&d, &k.body, u);
	v->spill = d.scratch;
	hop_cut_number(&c, &k);
	retarget(v, &k.body, h);
	v->out[at] = k;
}

/* ---- host lists ---- */

/* A run of statements. */
typedef struct run {
	enum { RUN_SMALL, RUN_NEST, RUN_RESIDENT, RUN_CALL, RUN_LOOP } kind;
	hop_stmt *first, *end;
	int64_t   weight;
	bool      empty;         /* all of it is made again where it is wanted */
	int       no;
	int       nbuf;          /* its kernel's, before it is bound: what they were in the function */
	const int *was;          /* [nbuf] */
} run;

/* Where nothing around it wants one block, many are better. */
static bool is_much(const hop_stmt *s)
{
	return hop_stmt_is_nest(s) && hop_nest_width(s) >= FEW && hop_nest_work(s) > MUCH;
}

/* A trip's call is one of a list if the host knows what it is given. */
static bool is_listed(const device *v, const hop_cut *c, const hop_stmt *s)
{
	int nsym = c->d.f->nsym;
	bool ok = hop_size_nsym(s->frame) <= nsym;
	for (int i = 0; i < s->nsize; i++)
		ok = ok && hop_size_nsym(s->sizes[i]) <= nsym;
	for (int i = 0; i < s->narg; i++)
		ok = ok && !s->args[i].nterm && hop_size_nsym(s->args[i].offset) <= nsym &&
		     hop_size_nsym(c->d.f->buf[s->args[i].buf].offset) <= nsym;
	return ok || !v->looped;
}

static int kind_of(const device *v, const hop_cut *c, const hop_stmt *s)
{
	if (s->hosted)
		return RUN_LOOP;
	if (s->kind == HOP_L_OP || (!stmt_big(v, s) && !is_much(s)))
		return RUN_SMALL;
	if (s->kind == HOP_L_CALL && is_listed(v, c, s))
		return RUN_CALL;
	return hop_stmt_is_nest(s) ? RUN_NEST : RUN_RESIDENT;
}

/* Parts of sums, and what adds them. */
static bool is_folded(const device *v, const hop_cut *c, const hop_stmt *s)
{
	return s->kind == HOP_L_LOOP && s->parts && kind_of(v, c, s) == RUN_NEST;
}

/* The next run, from s on. */
static run next_run(const device *v, const hop_cut *c, hop_stmt *s)
{
	run r = { .kind = (int)kind_of(v, c, s), .first = s, .end = s->next, .weight = hop_stmt_weight(s) };
	bool sums = r.kind == RUN_NEST && s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_RED;
	r.empty = r.kind == RUN_SMALL && hop_cut_is_again(c, s);
	if (is_folded(v, c, s)) {
		r.weight += hop_stmt_weight(s->next);
		r.end = s->next->next;
		return r;
	}
	if (r.kind != RUN_SMALL && !sums)
		return r;
	for (s = s->next; s && kind_of(v, c, s) == RUN_SMALL && r.weight < HEAVY; s = s->next) {
		r.weight += hop_stmt_weight(s);
		r.empty = r.empty && hop_cut_is_again(c, s);
		r.end = s->next;
	}
	return r;
}

/* Widest nest of the block: as many threads as it has use for. */
static double widest(const hop_block *b)
{
	double w = 1;
	for (const hop_stmt *s = b->first; s; s = s->next) {
		double x = hop_stmt_is_nest(s) ? hop_nest_width(s) : 1;
		double y = widest(&s->body), z = widest(&s->other);
		if (!hop_stmt_is_nest(s) || x < 64)
			x = x > y ? x : y;
		w = w > x ? w : x;
		w = w > z ? w : z;
	}
	return w;
}

/* In a loop that goes step by step threads wait for each other, and fewer wait less. Without one all
 * code is run once, and more threads have less of it. */
static int small_threads(const hop_block *b)
{
	double w = widest(b);
	int n = 32, each = hop_block_steps(b) ? 4 : 1;
	while (n < 512 && n < w && (n < 256 || n * each < w))
		n *= 2;
	return n;
}

/* Who uses which buffer: in which runs of the host function, the first and the last. */
static void span_addr(void *user, hop_addr *a, bool is_write)
{
	device *v = user;
	(void)is_write;
	if (!v->first[a->buf])
		v->first[a->buf] = v->run;
	v->last[a->buf] = v->run;
}

/* In a loop the next trip may. Buffers of the kernel's own nobody else uses. */
static bool *users(device *v, const hop_dfunc *d, const run *r, bool earlier)
{
	bool *used = HOP_NEWN(&v->e->tmp, bool, d->f->nbuf);
	for (int k = 0; k < r->nbuf; k++) {
		int i = r->was[k];
		if (i < v->nspan)
			used[k] = v->looped || v->last[i] > r->no || (earlier && v->first[i] && v->first[i] < r->no);
	}
	return used;
}

static void keep_small(device *v, hop_dfunc *d, hop_block *b, const run *r)
{
	hop_mark m = hop_mark_at(&v->e->tmp);
	hop_device_keep(d, b, users(v, d, r, true), users(v, d, r, false));
	hop_rewind(&v->e->tmp, m);
}

static void keep_row(device *v, hop_dfunc *d, hop_block *b, hop_stmt *row, const run *r)
{
	hop_mark m = hop_mark_at(&v->e->tmp);
	if (row->kind == HOP_L_LOOP && row->bind.place == HOP_PLACE_BLOCK_X)
		hop_device_keep_row(d, b, row, users(v, d, r, true));
	hop_rewind(&v->e->tmp, m);
}

static void bind_small(device *v, hop_dfunc *d, hop_block *b, hop_team *t, const run *r)
{
	d->threads = small_threads(b);
	d->single = true;
	hop_device_bind(d, b, HOP_UNIT_BLOCK);
	keep_small(v, d, b, r);
	hop_device_wait(d, b, HOP_UNIT_BLOCK);
	*t = (hop_team){ .threads = d->threads,
	                 .blocks = { hop_size_int(1), hop_size_int(1), hop_size_int(1) } };
}

/* Products have their own idea of how many are best; what is called was bound for as many as ever. */
static bool is_plain(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->kind == HOP_L_TILE || s->kind == HOP_L_CALL || !is_plain(&s->body) ||
		    !is_plain(&s->other))
			return false;
	return true;
}

static void bind_resident(device *v, hop_dfunc *d, hop_block *b, hop_team *t, const run *r)
{
	if (is_plain(b) && widest(b) >= (double)d->m->blocks * MANY_THREADS)
		d->threads = MANY_THREADS;
	hop_device_bind(d, b, HOP_UNIT_RESIDENT);
	keep_small(v, d, b, r);
	hop_device_wait(d, b, HOP_UNIT_RESIDENT);
	*t = (hop_team){ .threads = d->threads, .resident = true,
	                 .blocks = { hop_size_int(d->m->blocks), hop_size_int(1), hop_size_int(1) } };
}

/* The last block that has made parts of the sums of its threads adds them up. */
static void bind_fold(hop_dfunc *d, hop_block *b, hop_stmt *s)
{
	hop_lbuild l = { .env = d->e, .a = d->a, .f = d->f, .loc = s->loc };
	hop_stmt *last = hop_l_stmt(&l, HOP_L_BARRIER);
	last->callee = HOP_BARRIER_LAST_Y;
	last->next = s->next;
	s->next->bind = (hop_bind){ .place = HOP_PLACE_GRID, .each = 1 };
	s->next = last;
	hop_device_wait(d, b, HOP_UNIT_GRID);
}

/* The nest and what was put around it; behind the last block's barrier it is one block. */
static bool bind_nest(device *v, hop_dfunc *d, hop_block *b, hop_team *t, const run *r)
{
	hop_stmt *s = b->first;
	while (!hop_stmt_is_nest(s))
		s = s->next;
	hop_stmt *rest = s->next;
	if (!hop_device_bind_nest(d, b, s, t))
		return false;
	if (s->kind == HOP_L_LOOP && s->parts) {
		HOP_ASSERT(s->bind.place == HOP_PLACE_BLOCK_Y && t->exact && t->threads * HOP_GROUPS >=
		           rest->extent.k);
		bind_fold(d, b, s);
		return true;
	}
	keep_row(v, d, b, s, r);
	hop_block tail = { rest, b->last };
	if (rest) {
		d->single = true;
		hop_device_bind(d, &tail, HOP_UNIT_BLOCK);
		d->single = false;
		for (hop_stmt *q = b->first; q; q = q->next)
			if (q->next == rest) {
				q->next = tail.first;
				break;
			}
		b->last = tail.last;
	}
	hop_device_wait(d, b, HOP_UNIT_GRID);
	return true;
}

static void bind_run(device *v, hop_dfunc *d, hop_lfunc *k, const run *r)
{
	hop_device_see(d, &k->body);
	bool done = r->kind == RUN_NEST && bind_nest(v, d, &k->body, &k->team, r);
	if (r->kind == RUN_SMALL)
		bind_small(v, d, &k->body, &k->team, r);
	else if (!done)
		bind_resident(v, d, &k->body, &k->team, r);
}

static hop_stmt *call_kernel(device *v, int callee, hop_loc loc)
{
	hop_stmt *s = HOP_NEW(v->p->a, hop_stmt);
	s->kind = HOP_L_CALL;
	s->is_part = true;
	s->callee = callee;
	s->loc = loc;
	return s;
}

/* All of it rests on a byte that its last statement may write: so that is read by all before. */
static void add_when(device *v, hop_lfunc *k)
{
	hop_block own = { 0 };
	hop_lbuild b = { .env = v->e, .a = v->p->a, .f = k, .block = &own };
	hop_lbuf go = { .kind = HOP_BUF_TEMP, .space = HOP_SPACE_SCRATCH, .dtype = HOP_bool,
	                .count = hop_size_int(1), .offset = hop_size_int(v->when - 1), .is_written = true };
	hop_addr at = { .buf = hop_l_buf(&b, go), .offset = hop_size_int(0) };
	hop_l_load(&b, HOP_bool, &at);
	own.last->next = k->body.first;
	k->body.first = own.first;
	k->body.last = k->body.last ? k->body.last : own.last;
	k->when = 1 + at.buf;
}

static void make_kernel(device *v, hop_cut *c, run *r, hop_block *list)
{
	hop_lfunc k;
	hop_cut_make(c, &k, r->first, r->end);
	hop_cut_number(c, &k);
	r->nbuf = k.nbuf;
	r->was = c->was;
	hop_dfunc d = dfunc(v, &k);
	d.scratch = v->spill;
	k.level = HOP_LEVEL_KERNEL;
	if (v->when)
		add_when(v, &k);
	bind_run(v, &d, &k, r);
	v->spill = d.scratch;
	hop_cut_number(c, &k);
	retarget(v, &k.body, k.team.resident ? HOW_RESIDENT : HOW_BLOCK);
	hop_block_append(list, call_kernel(v, append(v, &k), r->first->loc));
}

/* A host function that is cut. */
typedef struct list {
	hop_cut   c;
	hop_lfunc f, *host;      /* all of it; what is left of it */
	int      *first, *last, nspan;
} list;

static bool has_loops(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->hosted)
			return true;
	return false;
}

static void note_list(device *v, list *l, hop_block *b)
{
	for (hop_stmt *s = b->first; s;) {
		run r = next_run(v, &l->c, s);
		bool was = v->looped;
		if (r.kind == RUN_LOOP) {
			v->looped = true;
			note_list(v, l, &r.first->body);
		} else if (!r.empty) {
			hop_cut_note(&l->c, r.first, r.end);
		}
		v->looped = was;
		s = r.end;
	}
}

static void note_spans(device *v, list *l)
{
	v->run = 0;
	v->nspan = l->nspan = l->f.nbuf;
	v->first = l->first = HOP_NEWN(&v->e->tmp, int, l->nspan);
	v->last = l->last = HOP_NEWN(&v->e->tmp, int, l->nspan);
	for (hop_stmt *s = l->f.body.first; s;) {
		run r = next_run(v, &l->c, s);
		v->run++;
		for (; s != r.end; s = s->next)
			hop_stmt_all_addrs(&l->f, s, span_addr, v);
	}
}

static void make_list(device *v, list *l, const hop_block *b, int no, hop_block *out);

/* Kernels that are told for a trip. */
static int list_length(const device *v, const hop_block *b)
{
	int n = 0;
	for (const hop_stmt *s = b->first; s; s = s->next)
		n += s->hosted ? list_length(v, &s->body) * s->bind.each : s->is_part ? 1 :
		     list_length(v, &v->out[s->callee].body);
	return n;
}

/* What it decides is a buffer of the list; kernels in it know its byte. */
static hop_stmt *make_loop(device *v, list *l, const hop_stmt *s, int no)
{
	int64_t when = v->when;
	bool looped = v->looped;
	hop_lbuf go = l->f.buf[s->other.first->u.addr.buf];
	hop_stmt *w = HOP_NEW(v->p->a, hop_stmt);
	hop_lbuild b = { .env = v->e, .a = v->p->a, .f = l->host, .block = &w->other, .loc = s->loc };
	hop_addr at = { .buf = hop_l_buf(&b, go), .offset = hop_size_int(0) };
	*w = (hop_stmt){ .kind = HOP_L_WHILE, .hosted = true, .once = s->once, .loc = s->loc,
	                 .extent = s->extent, .bind = s->bind };
	w->a[0] = hop_l_load(&b, HOP_bool, &at);
	v->looped = true;
	v->when = w->bind.each > 1 ? 1 + go.offset.k : 0;
	make_list(v, l, &s->body, no, &w->body);
	v->when = when;
	v->looped = looped;
	while (w->bind.each > 1 && list_length(v, &w->body) * w->bind.each > AHEAD)
		w->bind.each--;
	return w;
}

/* no: of the run of the function that b is in; 0 = b is all of it. */
static void make_list(device *v, list *l, const hop_block *b, int no, hop_block *out)
{
	int n = 0;
	for (hop_stmt *s = b->first; s;) {
		run r = next_run(v, &l->c, s);
		s = r.end;
		r.no = no ? no : ++n;
		v->first = l->first;       /* a list that is called has its own */
		v->last = l->last;
		v->nspan = l->nspan;
		if (r.kind == RUN_LOOP) {
			hop_block_append(out, make_loop(v, l, r.first, r.no));
		} else if (r.kind == RUN_CALL) {
			hop_stmt *q = hop_stmt_copy(v->p->a, r.first);
			q->callee = make(v, q->callee, HOW_HOST);
			hop_block_append(out, q);
		} else if (!r.empty) {
			make_kernel(v, &l->c, &r, out);
		}
	}
}

/* Buffers of its own, with room for as many as hop_l_buf takes it to have. */
static void own_bufs(hop_arena *a, hop_lfunc *f)
{
	int n = 1;
	while (n < f->nbuf)
		n *= 2;
	hop_lbuf *all = HOP_NEWN(a, hop_lbuf, n);
	if (f->nbuf)
		memcpy(all, f->buf, (size_t)f->nbuf * sizeof *all);
	f->buf = all;
}

static void make_host(device *v, int at, int old)
{
	hop_lfunc host = v->old[old];
	list l = { .f = v->old[old], .host = &host };
	hop_block out = { 0 };
	hop_dfunc d = dfunc(v, &l.f);
	l.f.body = hop_block_copy(v->p->a, &l.f.body);
	hop_device_prepare(&d, &l.f.body);
	hop_device_list(&d, v->cost, &l.f.body);
	v->spill = d.scratch;
	hop_cut_open(&l.c, &d);
	note_list(v, &l, &l.f.body);
	note_spans(v, &l);
	v->spill += (l.c.spilled + 63) / 64 * 64;
	host.level = HOP_LEVEL_HOST;
	host.nreg = 0;
	if (has_loops(&l.f.body))
		own_bufs(v->p->a, &host);
	make_list(v, &l, &l.f.body, 0, &out);
	host.body = out;
	v->out[at] = host;
}

static int make(device *v, int old, how h)
{
	int at = v->made[old * NHOW + h];
	int64_t within = 2 * v->when + v->looped;
	if (at && (h != HOW_HOST || v->within[old] == within))
		return at;
	at = reserve(v, old, h);
	v->within[old] = h == HOW_HOST ? within : v->within[old];
	if (h == HOW_HOST)
		make_host(v, at, old);
	else
		make_team(v, at, old, h);
	return at;
}

/* ---- all of it ---- */

static void set_frame(device *v, const hop_block *b, hop_size frame)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		if (s->is_part)
			v->out[s->callee].frame = frame;
		set_frame(v, &s->body, frame);
	}
}

/* Slices of loops that were loose: no two kernels need theirs at the same time, but what they call may
 * while they do. */
static void settle(device *v)
{
	int64_t  end;
	hop_size frame = v->out[0].frame;
	for (size_t i = 0; i < v->n; i++)
		if (v->out[i].level == HOP_LEVEL_HOST)
			hop_device_settle_none(&v->out[i]);
	for (size_t i = 0; i < v->n; i++)
		if (v->out[i].level == HOP_LEVEL_TEAM)
			v->spill = hop_device_settle(&v->out[i], v->spill);
	end = v->spill;
	for (size_t i = 0; i < v->n; i++) {
		int64_t n = hop_device_settle(&v->out[i], v->spill);
		end = n > end ? n : end;
		frame = hop_size_max(v->e, frame, hop_device_settle_frame(v->e, &v->out[i], v->out[0].frame));
	}
	int64_t parts = end;
	for (size_t i = 0; i < v->n; i++) {
		int64_t n = hop_device_settle_parts(&v->out[i], parts);
		end = n > end ? n : end;
	}
	for (size_t i = 0; i < v->n; i++)
		v->out[i].scratch = hop_size_int(end);
	set_frame(v, &v->out[0].body, frame);
	v->out[0].frame = frame;
}

/* Functions behind all that call them, so that who looks at a program from callers to callees may go
 * through it once. */
typedef struct sorted { hop_lfunc *f; int *at, next; } sorted;

static void sort_func(sorted *o, int i);

static void sort_calls(sorted *o, const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		if (s->kind == HOP_L_CALL)
			sort_func(o, s->callee);
		sort_calls(o, &s->body);
		sort_calls(o, &s->other);
	}
}

static void sort_func(sorted *o, int i)
{
	if (o->at[i] >= 0)
		return;
	o->at[i] = 0;
	sort_calls(o, &o->f[i].body);
	o->at[i] = --o->next;
}

static void renumber(const int *at, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		if (s->kind == HOP_L_CALL)
			s->callee = at[s->callee];
		renumber(at, &s->body);
		renumber(at, &s->other);
	}
}

static void sort(device *v)
{
	hop_prog *p = v->p;
	sorted o = { v->out, HOP_NEWN(&v->e->tmp, int, (int)v->n), (int)v->n };
	for (size_t i = 0; i < v->n; i++)
		o.at[i] = -1;
	sort_func(&o, 0);              /* it calls all of them */
	HOP_ASSERT(!o.next);
	p->func = HOP_NEWN(p->a, hop_lfunc, v->n);
	p->nfunc = (int)v->n;
	for (size_t i = 0; i < v->n; i++) {
		p->func[o.at[i]] = v->out[i];
		renumber(o.at, &p->func[o.at[i]].body);
	}
}

hop_status hop_loop_device(hop_env *e, const hop_machine *m, hop_prog *p)
{
	hop_mark at = hop_mark_at(&e->tmp);
	device v = { .e = e, .p = p, .m = m, .old = p->func, .nold = p->nfunc };
	v.big = HOP_NEWN(&e->tmp, bool, p->nfunc);
	v.made = HOP_NEWN(&e->tmp, int, p->nfunc * NHOW);
	v.within = HOP_NEWN(&e->tmp, int64_t, p->nfunc);
	v.cost = HOP_NEWN(&e->tmp, hop_dcost, p->nfunc);
	for (int i = p->nfunc - 1; i >= 0; i--)
		plain_block(&v, &v.old[i], &v.old[i].body);
	for (int i = 0; i < p->nfunc; i++)
		hop_device_own(e, p->a, &v.old[i], !i);
	for (int i = p->nfunc - 1; i >= 0; i--)
		v.big[i] = block_big(&v, &v.old[i].body);
	hop_device_cost(m, p, v.cost);
	if (!v.st) {
		make(&v, 0, HOW_HOST);
		settle(&v);
		sort(&v);
	}
	hop_rewind(&e->tmp, at);
	return v.st;
}
