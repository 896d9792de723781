/* divide.c -- functions that are too long for a target become several. What compilers do
 * with a function grows faster than the function, so a long one is cut into parts of bounded
 * weight. A part has the parameters, sizes and frame of the function it is cut from, and a
 * register that is wanted on the other side of a cut goes through a buffer. Cuts only what
 * runs in order: the body of a function, a branch, a loop that goes step by step.
 *
 * needs: a planned function.  fills: parts, frame */
#include <stdlib.h>
#include <string.h>

#include "loop/lower.h"

enum { PART = 800 };             /* weight of a part; up to twice as much stays whole */

/* HOP_PART=n: other parts, for tests. */
int64_t hop_loop_part_weight(void)
{
	const char *own = getenv("HOP_PART");
	long n = own ? atol(own) : 0;
	return n > 0 ? n : PART;
}

/* Behind `after` in b; at its start when that is NULL. */
typedef struct place { hop_block *b; hop_stmt *after; hop_loc loc; } place;

typedef struct part {
	struct part *next;
	hop_block    body;
	hop_stmt    *call;
	const char  *name;           /* NULL = that of the function */
	int          id;             /* 1, 2, ...: inner ones first; 0 is the function itself */
} part;

typedef struct divide {
	hop_env   *e;
	hop_arena *a, *w;            /* of the program; scratch */
	hop_lfunc *f;
	int64_t    weight;           /* of a part */
	int        look;             /* hop_look: somebody wants the names of nests */
	int        npart;
	part      *parts;            /* newest first */
	/* of registers, [nreg+1] */
	int       *home;             /* the part that defines it */
	uint8_t   *type;
	int       *slot;             /* 1 + its place among those of its dtype; 0 = needs none */
	hop_stmt **def;              /* the statement, when it is an operation */
	int        nslot[HOP_NDTYPE];
	int        slots[HOP_NDTYPE];       /* buffers */
	bool      *aliased;          /* [nbuf] also written under another name */
	/* the part being written */
	int        id;
	hop_lfunc *to;
	int       *reg;              /* [nreg+1] what a register is called there; 0 = nothing */
	int       *buf;              /* [nbuf] 1 + the same of a buffer */
	int       *met;              /* registers named there, to be forgotten */
	int        nmet;
	int       *old;              /* [to->nbuf] buffers there, by their names in f */
	size_t     metcap, bufcap, oldcap;
	place     *at;              /* where what is brought goes */
} divide;

/* ---- cutting ---- */

static bool in_order(const hop_stmt *s)
{
	return s->kind == HOP_L_IF || s->kind == HOP_L_WHILE ||
	       (s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_SEQ);
}

static part *new_part(divide *d)
{
	part *x = HOP_NEW(d->w, part);
	x->id = ++d->npart;
	x->next = d->parts;
	x->call = HOP_NEW(d->a, hop_stmt);
	*x->call = (hop_stmt){ .kind = HOP_L_CALL, .is_part = true, .callee = x->id,
	                       .frame = hop_size_int(0) };
	d->parts = x;
	return x;
}

static void cut_block(divide *d, hop_block *b)
{
	hop_block rest = { 0 };
	hop_stmt *s, *next;
	part *x = NULL;
	int64_t w = 0, has = 0;
	for (s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = in_order(s) ? hop_stmt_blocks(s, sub) : 0;
		for (int i = 0; i < k; i++)
			cut_block(d, sub[i]);
		w += hop_stmt_weight(s);
	}
	if (w <= 2 * d->weight)
		return;
	for (s = b->first; s; s = next) {
		next = s->next;
		w = hop_stmt_weight(s);
		if (!x || has + w > d->weight) {
			x = new_part(d);
			x->call->loc = s->loc;
			hop_block_append(&rest, x->call);
			has = 0;
		}
		has += w;
		hop_block_append(&x->body, s);
	}
	*b = rest;
}

/* ---- cutting for those who look ---- */

/* What is worth a name: a loop that goes step by step, and a nest unless it is tiny. */
static bool has_name(const hop_stmt *s)
{
	enum { TINY = 8 };
	if (s->kind == HOP_L_WHILE || s->kind == HOP_L_TILE)
		return true;
	return s->kind == HOP_L_LOOP && (s->loop == HOP_LOOP_SEQ || s->bound ||
	                                 !hop_size_const(s->extent) || s->extent.k >= TINY);
}

/* Each of them becomes a part of its own. Inside loops that go step by step only if `deep`: a
 * debugger has all of such a loop in one function, with its carries. */
static void cut_named(divide *d, hop_block *b, bool deep)
{
	hop_block rest = { 0 };
	hop_stmt *next;
	for (hop_stmt *s = b->first; s; s = next) {
		hop_block *sub[2];
		int k = in_order(s) && (deep || s->kind == HOP_L_IF) ? hop_stmt_blocks(s, sub) : 0;
		next = s->next;
		for (int i = 0; i < k; i++)
			cut_named(d, sub[i], deep);
		if (has_name(s)) {
			part *x = new_part(d);
			x->call->loc = s->loc;
			hop_block_append(&rest, x->call);
			hop_block_append(&x->body, s);
		} else {
			hop_block_append(&rest, s);
		}
	}
	*b = rest;
}

/* f.while.3: of which function, what, and the how many-th part. */
static const char *name_of(divide *d, const part *x)
{
	const hop_stmt *s = x->body.first;
	hop_buf b;
	hop_buf_open(&b, d->e);
	hop_putf(&b, "%s.%s.%d", d->f->name, s->kind == HOP_L_WHILE ? "while" : s->kind == HOP_L_TILE ?
	         s->tile->of->name : s->loop == HOP_LOOP_SEQ ? "scan" : "nest", x->id);
	const char *name = hop_arena_str(d->a, b.s, b.n);
	hop_buf_free(&b);
	return name;
}

/* ---- who defines what, and who wants it ---- */

static void note_def(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	divide *d = user;
	if (!def)
		return;
	d->home[*r] = d->id;
	d->type[*r] = (uint8_t)t;
	d->def[*r] = def->kind == HOP_L_OP ? def : NULL;
}

/* Known at once wherever it is wanted: it is said again there. */
static bool is_said_again(const divide *d, hop_reg r)
{
	const hop_stmt *s = d->def[r];
	return s && (s->sop == HOP_SOP_constf || s->sop == HOP_SOP_consti ||
	             (s->sop == HOP_SOP_size && hop_size_nsym(s->u.size) <= d->f->nsym));
}

static void note_use(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	divide *d = user;
	(void)t;
	if (!def && d->home[*r] != d->id && !d->slot[*r] && !is_said_again(d, *r))
		d->slot[*r] = ++d->nslot[d->type[*r]];
}

static void each_body(divide *d, hop_reg_fn *fn)
{
	d->id = 0;
	hop_block_regs(&d->f->body, fn, d);
	for (part *x = d->parts; x; x = x->next) {
		d->id = x->id;
		hop_block_regs(&x->body, fn, d);
	}
}

/* ---- room for what crosses ---- */

/* At the start of the frame, so that the places are constants. All else moves up. */
static void move_up(divide *d, hop_block *b, hop_size by)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		if (s->kind == HOP_L_CALL && !s->is_part)
			s->frame = hop_size_add(d->e, s->frame, by);
		for (int i = 0; i < k; i++)
			move_up(d, sub[i], by);
	}
}

static void make_room(divide *d)
{
	hop_lfunc *f = d->f;
	hop_lbuild b = { .env = d->e, .a = d->a, .f = f };
	int64_t bytes = 0;
	int nbuf = f->nbuf;
	for (int t = 0; t < HOP_NDTYPE; t++) {
		hop_lbuf v = { .kind = HOP_BUF_TEMP, .dtype = (hop_dtype)t, .is_written = true,
		               .count = hop_size_int(d->nslot[t]), .offset = hop_size_int(bytes) };
		if (!d->nslot[t])
			continue;
		d->slots[t] = hop_l_buf(&b, v);
		bytes += (d->nslot[t] * (int64_t)hop_dtype_bytes((hop_dtype)t) + 63) / 64 * 64;
	}
	if (!bytes)
		return;
	hop_size by = hop_size_int(bytes);
	for (int i = 0; i < nbuf; i++)
		if (f->buf[i].kind == HOP_BUF_TEMP && f->buf[i].space == HOP_SPACE_FRAME)
			f->buf[i].offset = hop_size_add(d->e, f->buf[i].offset, by);
	f->frame = hop_size_add(d->e, f->frame, by);
	move_up(d, &f->body, by);
	for (part *x = d->parts; x; x = x->next)
		move_up(d, &x->body, by);
}

static hop_addr slot_addr(const divide *d, hop_reg r)
{
	return (hop_addr){ .buf = d->slots[d->type[r]], .offset = hop_size_int(d->slot[r] - 1) };
}

/* ---- writing a part ---- */

static void name(divide *d, hop_reg r, int as)
{
	d->met = hop_arena_grow(d->w, d->met, sizeof *d->met, (size_t)d->nmet + 1, &d->metcap);
	d->met[d->nmet++] = r;
	d->reg[r] = as;
}

/* In the function itself registers and buffers keep their names. */
static int new_reg(divide *d, hop_reg old)
{
	return d->id || !old ? ++d->to->nreg : old;
}

static void rename_def(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	divide *d = user;
	(void)t;
	if (!def)
		return;
	int as = new_reg(d, *r);
	name(d, *r, as);
}

static void apply(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	divide *d = user;
	(void)def, (void)t;
	*r = d->reg[*r];
}

static void put_addr(divide *d, hop_addr *a)
{
	if (!d->id)
		return;
	if (!d->buf[a->buf]) {
		hop_lfunc *t = d->to;
		t->buf = hop_arena_grow(d->a, t->buf, sizeof *t->buf, (size_t)t->nbuf + 1,
		                        &d->bufcap);
		t->buf[t->nbuf] = d->f->buf[a->buf];
		t->buf[t->nbuf].is_written |= d->aliased[a->buf];
		d->old = hop_arena_grow(d->w, d->old, sizeof *d->old, (size_t)t->nbuf + 1,
		                        &d->oldcap);
		d->old[t->nbuf] = a->buf;
		d->buf[a->buf] = ++t->nbuf;
	}
	a->buf = d->buf[a->buf] - 1;
}

static hop_stmt *insert(divide *d, hop_block *b, hop_stmt *after, hop_stmt v)
{
	hop_stmt *s = HOP_NEW(d->a, hop_stmt);
	*s = v;
	s->next = after ? after->next : b->first;
	if (after)
		after->next = s;
	else
		b->first = s;
	if (!s->next)
		b->last = s;
	return s;
}

static void bring(divide *d, hop_reg r, place *at)
{
	hop_stmt v;
	if (!r || d->reg[r])
		return;
	HOP_ASSERT(d->home[r] != d->id);
	if (is_said_again(d, r)) {
		v = *d->def[r];
	} else {
		v = (hop_stmt){ .kind = HOP_L_OP, .sop = HOP_SOP_load, .loc = at->loc,
		                .dtype = (hop_dtype)d->type[r] };
		v.u.addr = slot_addr(d, r);
		put_addr(d, &v.u.addr);
	}
	v.dst = new_reg(d, 0);
	name(d, r, v.dst);
	at->after = insert(d, at->b, at->after, v);
}

/* r is the old name; it is in scope behind `after`. */
static hop_stmt *keep(divide *d, hop_reg r, hop_block *b, hop_stmt *after)
{
	if (!d->slot[r])
		return after;
	hop_stmt v = { .kind = HOP_L_OP, .sop = HOP_SOP_store, .na = 1,
	               .dtype = (hop_dtype)d->type[r] };
	v.a[0] = d->reg[r];
	v.u.addr = slot_addr(d, r);
	put_addr(d, &v.u.addr);
	return insert(d, b, after, v);
}

static void bring_use(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	divide *d = user;
	(void)t;
	if (!def && d->home[*r] != d->id)
		bring(d, *r, d->at);
}

static void put_addrs(divide *d, hop_stmt *s)
{
	hop_block *sub[2];
	hop_addr *a, tape = { .buf = s->buf };
	int k = hop_stmt_blocks(s, sub);
	for (int i = 0; (a = hop_stmt_addr(s, i)); i++)
		put_addr(d, a);
	if (s->kind == HOP_L_GROW) {
		put_addr(d, &tape);
		s->buf = tape.buf;
	}
	for (int i = 0; i < k; i++)
		for (hop_stmt *q = sub[i]->first; q; q = q->next)
			put_addrs(d, q);
}

static void forget(divide *d, int mark)
{
	while (d->nmet > mark)
		d->reg[d->met[--d->nmet]] = 0;
}

/* An operation or a nest: gives the last statement that it became. */
static hop_stmt *write_plain(divide *d, hop_block *b, hop_stmt *s)
{
	int n = s->kind == HOP_L_LOOP ? s->nacc : 1;
	hop_reg *made = HOP_NEWN(d->w, hop_reg, n + 1);
	for (int i = 0; i < n; i++)
		made[i] = s->kind == HOP_L_LOOP ? s->acc[i].result :
		          s->kind == HOP_L_OP ? s->dst : 0;
	hop_stmt_regs(s, bring_use, d);
	hop_stmt_regs(s, rename_def, d);
	hop_stmt_regs(s, apply, d);
	put_addrs(d, s);
	for (int i = 0; i < n; i++)
		s = made[i] ? keep(d, made[i], b, s) : s;
	return s;
}

static void write_stmts(divide *d, hop_block *b);

/* Carries have no registers. */
static void put_carries(divide *d, hop_stmt *s)
{
	hop_addr *a;
	for (int i = 0; (a = hop_stmt_addr(s, i)); i++)
		put_addr(d, a);
}

static void write_loop(divide *d, hop_stmt *s)
{
	hop_reg var = s->dst;
	int mark = d->nmet;
	hop_stmt_uses(s, bring_use, d);
	hop_stmt_uses(s, apply, d);
	hop_stmt_inner(s, rename_def, d);
	write_stmts(d, &s->body);
	hop_stmt_inner(s, apply, d);
	put_carries(d, s);
	keep(d, var, &s->body, NULL);
	forget(d, mark);
}

/* What the test needs may be made in a part that the test calls. */
static void write_while(divide *d, hop_stmt *s)
{
	int mark = d->nmet;
	place at;
	write_stmts(d, &s->other);
	at = (place){ &s->other, s->other.last, s->loc };
	if (d->home[s->a[0]] != d->id)
		bring(d, s->a[0], &at);
	s->a[0] = d->reg[s->a[0]];
	write_stmts(d, &s->body);
	put_carries(d, s);
	forget(d, mark);
}

static void write_if(divide *d, hop_stmt *s)
{
	hop_stmt_uses(s, bring_use, d);
	hop_stmt_uses(s, apply, d);
	for (int i = 0; i < 2; i++) {
		int mark = d->nmet;
		write_stmts(d, i ? &s->other : &s->body);
		forget(d, mark);
	}
}

static void write_stmts(divide *d, hop_block *b)
{
	hop_stmt *prev = NULL, *next;
	place *was = d->at;
	for (hop_stmt *s = b->first; s; s = next) {
		place at = { b, prev, s->loc };
		next = s->next;
		d->at = &at;
		prev = s;
		if (!in_order(s))
			prev = write_plain(d, b, s);
		else if (s->kind == HOP_L_WHILE)
			write_while(d, s);
		else if (s->kind == HOP_L_IF)
			write_if(d, s);
		else
			write_loop(d, s);
	}
	d->at = was;
}

static void write_part(divide *d, part *x, hop_lfunc *to)
{
	hop_lfunc *f = d->f;
	*to = (hop_lfunc){ .name = x->name ? x->name : f->name, .nsym = f->nsym, .nlocal = f->nlocal,
	                   .nin = f->nin, .nout = f->nout, .frame = f->frame, .body = x->body };
	d->id = x->id;
	d->to = to;
	d->bufcap = 0;
	to->local = HOP_NEWN(d->a, int, f->nlocal);
	for (int i = 0; i < f->nlocal; i++) {
		hop_addr a = { .buf = f->local[i] };
		put_addr(d, &a);
		to->local[i] = a.buf;
	}
	write_stmts(d, &to->body);
	forget(d, 0);
	for (int i = 0; i < to->nbuf; i++)
		d->buf[d->old[i]] = 0;
}

/* ---- a function ---- */

static void find_aliased(divide *d)
{
	hop_lfunc *f = d->f;
	bool *in = HOP_NEWN(d->w, bool, f->nin + f->nout + 1);
	d->aliased = HOP_NEWN(d->w, bool, f->nbuf);
	for (int i = 0; i < f->nbuf; i++)
		in[f->buf[i].alias] = true;
	for (int i = 0; i < f->nbuf; i++)
		d->aliased[i] = f->buf[i].kind == HOP_BUF_PARAM && in[f->buf[i].index + 1];
}

static part *divided(divide *d)
{
	hop_lfunc *f = d->f;
	if (d->look)
		cut_named(d, &f->body, d->look & HOP_LOOK_PERF);
	else
		cut_block(d, &f->body);
	if (!d->parts)
		return NULL;
	d->home = HOP_NEWN(d->w, int, f->nreg + 1);
	d->slot = HOP_NEWN(d->w, int, f->nreg + 1);
	d->reg = HOP_NEWN(d->w, int, f->nreg + 1);
	d->type = HOP_NEWN(d->w, uint8_t, f->nreg + 1);
	d->def = HOP_NEWN(d->w, hop_stmt *, f->nreg + 1);
	each_body(d, note_def);
	each_body(d, note_use);
	make_room(d);
	find_aliased(d);
	d->buf = HOP_NEWN(d->w, int, f->nbuf);
	return d->parts;
}

int hop_loop_divide(hop_env *e, hop_arena *a, hop_lfunc *f, int first, hop_lfunc **out)
{
	hop_mark m = hop_mark_at(&e->tmp);
	divide d = { .e = e, .a = a, .w = &e->tmp, .f = f, .weight = hop_loop_part_weight(),
		     .look = hop_look() };
	if ((d.look || hop_block_weight(&f->body) > 2 * d.weight) && divided(&d)) {
		*out = HOP_NEWN(a, hop_lfunc, d.npart);
		for (part *x = d.parts; d.look && x; x = x->next)
			x->name = name_of(&d, x);
		for (part *x = d.parts; x; x = x->next)
			x->call->callee = first + x->id - 1;
		for (part *x = d.parts; x; x = x->next)
			write_part(&d, x, &(*out)[x->id - 1]);
		d.id = 0;
		d.to = f;
		write_stmts(&d, &f->body);
	}
	hop_rewind(&e->tmp, m);
	return d.npart;
}
