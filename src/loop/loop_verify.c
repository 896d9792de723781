/* loop_verify.c -- check that a loop program keeps the rules of loop.h before a target
 * sees it. A failure is a mistake of the lowering, but it is reported and not asserted:
 * a program may come from a file. Does not check that addresses are in bounds. */
#include "loop/loop.h"

/* Registers in scope have a dtype; each is defined once in its function. */
typedef struct scope {
	hop_env         *e;
	const hop_prog  *p;
	const hop_lfunc *f;
	uint8_t         *type;       /* [nreg+1] 1 + dtype while in scope, else 0 */
	uint8_t         *once;       /* [nreg+1] defined somewhere */
	int              depth;
	int              nest;       /* parallel loops around */
	bool             vector, forked;   /* one of them is */
	bool             alone;            /* in a loop that threads share: see hop_place */
} scope;

enum { MAXNEST = 200 };          /* statements in statements: targets recurse over them */

#define bad(v, s, ...) hop_fail((v)->e, (s) ? (s)->loc : 0, HOP_ETARGET, __VA_ARGS__)

static hop_status check_block(scope *v, const hop_block *b);

static hop_status define(scope *v, const hop_stmt *s, hop_reg r, hop_dtype d)
{
	if (r < 1 || r > v->f->nreg)
		return bad(v, s, "loop program: register r%d is out of range", r);
	if (v->once[r])
		return bad(v, s, "loop program: register r%d is defined twice", r);
	v->once[r] = 1;
	v->type[r] = (uint8_t)(d + 1);
	return HOP_OK;
}

static hop_status use(scope *v, const hop_stmt *s, hop_reg r, hop_dtype d)
{
	if (r < 1 || r > v->f->nreg || !v->type[r])
		return bad(v, s, "loop program: register r%d is not in scope", r);
	if (v->type[r] - 1 != (int)d)
		return bad(v, s, "loop program: register r%d is %s, not %s", r,
		           hop_dtype_name((hop_dtype)(v->type[r] - 1)), hop_dtype_name(d));
	return HOP_OK;
}

static hop_status check_size(scope *v, const hop_stmt *s, hop_size z)
{
	if (hop_size_nsym(z) > v->f->nsym + v->f->nlocal)
		return bad(v, s, "loop program: size symbol s%d does not exist",
		           hop_size_nsym(z) - 1);
	return HOP_OK;
}

static hop_status check_addr(scope *v, const hop_stmt *s, const hop_addr *a)
{
	if (a->buf < 0 || a->buf >= v->f->nbuf)
		return bad(v, s, "loop program: buffer b%d does not exist", a->buf);
	if (a->nterm < 0 || a->nterm > HOP_MAXTERM)
		return bad(v, s, "loop program: an address has %d terms", a->nterm);
	HOP_TRY(check_size(v, s, a->offset));
	for (int i = 0; i < a->nterm; i++) {
		HOP_TRY(use(v, s, a->term[i].reg, HOP_i64));
		HOP_TRY(check_size(v, s, a->term[i].stride));
	}
	return HOP_OK;
}

static hop_status check_access(scope *v, const hop_stmt *s, int mask)
{
	HOP_TRY(check_addr(v, s, &s->u.addr));
	if (v->f->buf[s->u.addr.buf].dtype != s->dtype)
		return bad(v, s, "loop program: %s access of buffer b%d", hop_dtype_name(s->dtype),
		           s->u.addr.buf);
	if (s->na > mask)
		HOP_TRY(use(v, s, s->a[mask], HOP_bool));
	return HOP_OK;
}

static hop_status check_args(scope *v, const hop_stmt *s, hop_dtype d, int lo, int hi)
{
	if (s->na < lo || s->na > hi)
		return bad(v, s, "loop program: %d operands, %d wanted", s->na, lo);
	for (int i = 0; i < lo; i++)
		HOP_TRY(use(v, s, s->a[i], d));
	return HOP_OK;
}

static hop_status want(scope *v, const hop_stmt *s, bool ok)
{
	if (ok)
		return HOP_OK;
	return bad(v, s, "loop program: operation %d on %s", s->sop, hop_dtype_name(s->dtype));
}

/* The dtype of operand 0, whatever it is; HOP_NDTYPE when it is not in scope. */
static hop_dtype first_of(const scope *v, const hop_stmt *s)
{
	if (s->na < 1 || s->a[0] < 1 || s->a[0] > v->f->nreg || !v->type[s->a[0]])
		return HOP_NDTYPE;
	return (hop_dtype)(v->type[s->a[0]] - 1);
}

/* Of packed dtypes there is no arithmetic: they go between memory and what they compute in. */
static bool moves(enum hop_sop s)
{
	return s == HOP_SOP_load || s == HOP_SOP_store || s == HOP_SOP_cast;
}

static bool casts(hop_dtype from, hop_dtype to)
{
	return hop_dtype_computes(from) == to || hop_dtype_computes(to) == from ||
	       !(hop_dtype_packed(from) || hop_dtype_packed(to));
}

static hop_status check_op(scope *v, const hop_stmt *s)
{
	hop_dtype d = first_of(v, s);
	int in = (int)s->sop > 0 && s->sop < HOP_NSOP ? hop_soptab[s->sop].in : 0;
	if ((int)s->sop <= 0 || s->sop >= HOP_NSOP)
		return bad(v, s, "loop program: operation %d does not exist", s->sop);
	HOP_TRY(want(v, s, hop_sop_takes(s->sop, s->dtype)));
	HOP_TRY(want(v, s, moves(s->sop) || (!hop_dtype_packed((hop_dtype)s->dtype) &&
	                                     (d == HOP_NDTYPE || !hop_dtype_packed(d)))));
	switch (s->sop) {
	case HOP_SOP_size:
		HOP_TRY(want(v, s, hop_dtype_bytes((hop_dtype)s->dtype) == 8));
		HOP_TRY(check_size(v, s, s->u.size));
		break;
	case HOP_SOP_load:
		HOP_TRY(check_args(v, s, s->dtype, 0, 1));
		HOP_TRY(check_access(v, s, 0));
		break;
	case HOP_SOP_store:
		HOP_TRY(check_args(v, s, s->dtype, 1, 2));
		return check_access(v, s, 1);
	case HOP_SOP_count:
		HOP_TRY(check_args(v, s, s->dtype, 0, 0));
		HOP_TRY(check_access(v, s, 0));
		HOP_TRY(want(v, s, s->dtype == HOP_i32 && v->f->level >= HOP_LEVEL_KERNEL &&
		             v->f->buf[s->u.addr.buf].space == HOP_SPACE_SCRATCH));
		break;
	case HOP_SOP_cast: case HOP_SOP_bitcast:
		if (s->na != 1 || d == HOP_NDTYPE)
			return bad(v, s, "loop program: cast of a register not in scope");
		HOP_TRY(want(v, s, s->sop == HOP_SOP_cast ? casts(d, (hop_dtype)s->dtype) :
		                   hop_dtype_bytes(d) == hop_dtype_bytes(s->dtype)));
		break;
	case HOP_SOP_eq: case HOP_SOP_ne: case HOP_SOP_lt: case HOP_SOP_le:
		if (s->na != 2 || d == HOP_NDTYPE)
			return bad(v, s, "loop program: comparison of a register not in scope");
		HOP_TRY(use(v, s, s->a[1], d));
		break;
	case HOP_SOP_select:
		if (s->na != 3)
			return bad(v, s, "loop program: select has %d operands", s->na);
		HOP_TRY(use(v, s, s->a[0], HOP_bool));
		HOP_TRY(use(v, s, s->a[1], s->dtype));
		HOP_TRY(use(v, s, s->a[2], s->dtype));
		break;
	case HOP_SOP_mulhi:
		HOP_TRY(want(v, s, hop_dtype_bytes((hop_dtype)s->dtype) == 4));
		HOP_TRY(check_args(v, s, s->dtype, in, in));
		break;
	default:
		HOP_TRY(check_args(v, s, s->dtype, in, in));
	}
	return define(v, s, s->dst, s->dtype);
}

/* Registers of a block leave scope with it. */
static void leave(scope *v, const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		if (s->kind == HOP_L_OP && s->dst > 0 && s->dst <= v->f->nreg)
			v->type[s->dst] = 0;
		for (int i = 0; s->kind == HOP_L_LOOP && i < s->nacc; i++)
			v->type[s->acc[i].result] = 0;
	}
}

static hop_status check_carries(scope *v, const hop_stmt *s)
{
	for (int i = 0; i < s->ncarry; i++) {
		const hop_carry *c = &s->carry[i];
		HOP_TRY(check_addr(v, s, &c->now));
		HOP_TRY(check_addr(v, s, &c->next));
		HOP_TRY(check_size(v, s, c->count));
		if (c->now.nterm || c->next.nterm || c->now.buf == c->next.buf ||
		    v->f->buf[c->now.buf].dtype != v->f->buf[c->next.buf].dtype)
			return bad(v, s, "loop program: b%d cannot become b%d", c->now.buf, c->next.buf);
		for (int k = 0; k < i; k++)
			if (c->now.buf == s->carry[k].now.buf || c->now.buf == s->carry[k].next.buf ||
			    c->next.buf == s->carry[k].now.buf || c->next.buf == s->carry[k].next.buf)
				return bad(v, s, "loop program: carries share b%d or b%d", c->now.buf,
				           c->next.buf);
	}
	return HOP_OK;
}

static bool power_of_two(int n)
{
	return n > 0 && !(n & (n - 1));
}

/* As far as its form says. */
static bool is_apart(const hop_stmt *s)
{
	const hop_stmt *b = s->body.first;
	while (b && b->kind == HOP_L_OP && b->sop != HOP_SOP_store)
		b = b->next;
	return s->apart && s->loop == HOP_LOOP_SEQ && !s->ncarry && b && !b->next &&
	       b->kind == HOP_L_LOOP && b->loop == HOP_LOOP_PAR && !b->bound;
}

/* Vectors hold no vectors and forks no forks; a step is a power of two. */
static hop_status check_bind(scope *v, const hop_stmt *s)
{
	const hop_bind *b = &s->bind;
	if (b->place && b->width && (b->place != HOP_PLACE_THREAD || b->each > 1 || b->width < 2))
		return bad(v, s, "loop program: %d in a row of a loop that threads do not share", b->width);
	if (!b->place && b->width && (s->loop == HOP_LOOP_SEQ || v->vector || b->width < 2 ||
	                              !power_of_two(b->width) || !power_of_two(b->jam)))
		return bad(v, s, "loop program: %d x %d lanes here", b->width, b->jam);
	if (b->turned && s->loop != HOP_LOOP_SEQ && (s->loop != HOP_LOOP_RED || s->nacc != 1))
		return bad(v, s, "loop program: a loop turned that is no reduction");
	if ((b->thread && s->loop != HOP_LOOP_PAR && !is_apart(s)) ||
	    (b->blocks && s->loop != HOP_LOOP_RED) ||
	    ((b->thread || b->blocks) && (v->vector || v->forked || b->least < 1)))
		return bad(v, s, "loop program: a loop forked that cannot be");
	if (b->ordered && (b->width || v->vector))
		return bad(v, s, "loop program: lanes that share a temporary");
	if (b->slice && (b->width || !(b->thread || b->blocks)))
		return bad(v, s, "loop program: slices of a loop that is not taken in blocks");
	return HOP_OK;
}

static hop_status check_loop(scope *v, const hop_stmt *s)
{
	bool vector = v->vector, forked = v->forked, alone = v->alone;
	HOP_TRY(check_bind(v, s));
	HOP_TRY(check_size(v, s, s->extent));
	if (s->bound)
		HOP_TRY(use(v, s, s->bound, HOP_i64));
	if (s->nacc && s->loop != HOP_LOOP_RED)
		return bad(v, s, "loop program: accumulators in a loop that is not red");
	if ((s->reverse || s->ncarry) && s->loop != HOP_LOOP_SEQ)
		return bad(v, s, "loop program: %s in a loop that is not seq",
		           s->reverse ? "reverse" : "carries");
	if (s->loose && s->loop != HOP_LOOP_SEQ)
		return bad(v, s, "loop program: loose steps in a loop that is not seq");
	HOP_TRY(check_carries(v, s));
	for (int i = 0; i < s->nacc; i++) {
		enum hop_dclass c = hop_dtype_class(s->acc[i].dtype);
		bool bits = s->acc[i].op >= HOP_RED_or;

		HOP_TRY(use(v, s, s->acc[i].init, s->acc[i].dtype));
		if (bits ? c == HOP_DC_FLOAT : c == HOP_DC_BOOL || hop_dtype_packed(s->acc[i].dtype))
			return bad(v, s, "loop program: reduction %d of %s", s->acc[i].op,
			           hop_dtype_name(s->acc[i].dtype));
	}
	HOP_TRY(define(v, s, s->dst, HOP_i64));
	if (s->bind.slice)
		HOP_TRY(define(v, s, s->bind.slice, HOP_i64));
	v->nest += s->loop != HOP_LOOP_SEQ;
	v->vector |= s->bind.width > 0 && !s->bind.place;
	v->forked |= s->bind.thread || s->bind.blocks;
	v->alone |= s->bind.place == HOP_PLACE_GRID || s->bind.place >= HOP_PLACE_THREAD;
	HOP_TRY(check_block(v, &s->body));
	v->vector = vector;
	v->forked = forked;
	v->alone = alone;
	v->nest -= s->loop != HOP_LOOP_SEQ;
	for (int i = 0; i < s->nacc; i++)
		HOP_TRY(use(v, s, s->acc[i].value, s->acc[i].dtype));
	leave(v, &s->body);
	v->type[s->dst] = v->type[s->bind.slice] = 0;
	for (int i = 0; i < s->nacc; i++)
		HOP_TRY(define(v, s, s->acc[i].result, s->acc[i].dtype));
	return HOP_OK;
}

static hop_status check_operand(scope *v, const hop_stmt *s, int i)
{
	const hop_targ *a = &s->tile->arg[i];
	hop_dtype d = hop_tile_dtype(s->tile, i);
	const char *name = s->tile->of->name;
	HOP_TRY(check_addr(v, s, &a->at));
	for (int k = 0; k < s->tile->of->arg[i].naxis; k++)
		HOP_TRY(check_size(v, s, a->stride[k]));
	if (a->stored && (!s->tile->of->packs || a->access != HOP_READ || !hop_dtype_packed(d) ||
	                  hop_dtype_computes(d) != s->tile->dtype))
		return bad(v, s, "loop program: %s operand b%d may not be packed", name, a->at.buf);
	if (v->f->buf[a->at.buf].dtype != d)
		return bad(v, s, "loop program: %s operand b%d is not %s", name, a->at.buf,
		           hop_dtype_name(d));
	return HOP_OK;
}

static hop_status check_hole(scope *v, const hop_stmt *s, int i)
{
	const hop_hole *h = &s->tile->hole[i];
	int npos = s->tile->of->hole[i].npos, n = npos + s->tile->of->hole[i].nval;
	for (int k = 0; k < n && !h->body.first; k++)
		if (h->reg[k])
			return bad(v, s, "loop program: r%d of a hole that is empty", h->reg[k]);
	if (!h->body.first)
		return HOP_OK;
	for (int k = 0; k < n; k++)
		HOP_TRY(define(v, s, h->reg[k], k < npos ? HOP_i64 : s->tile->dtype));
	HOP_TRY(check_block(v, &h->body));
	leave(v, &h->body);
	for (int k = 0; k < n; k++)
		v->type[h->reg[k]] = 0;
	return HOP_OK;
}

static hop_status check_tile(scope *v, const hop_stmt *s)
{
	const hop_tile *t = s->tile;
	if (s->bind.thread && v->forked)
		return bad(v, s, "loop program: a tile forked in a fork");
	if (!(t->of->on >> hop_dtype_class(t->dtype) & 1) || hop_dtype_packed(t->dtype))
		return bad(v, s, "loop program: %s of %s", t->of->name, hop_dtype_name(t->dtype));
	for (int i = 0; i < t->of->nextent; i++)
		HOP_TRY(check_size(v, s, t->extent[i]));
	for (int i = 0; i < t->of->narg; i++) {
		if (t->arg[i].access)
			HOP_TRY(check_operand(v, s, i));
		else if (i != t->of->out - 1 || !t->hole[0].body.first)
			return bad(v, s, "loop program: %s without operand %s", t->of->name,
			           t->of->arg[i].name);
	}
	for (int i = 0; i < t->of->nhole; i++)
		HOP_TRY(check_hole(v, s, i));
	return HOP_OK;
}

static hop_status check_call(scope *v, const hop_stmt *s)
{
	const hop_lfunc *g;
	if (s->callee < 1 || s->callee >= v->p->nfunc)
		return bad(v, s, "loop program: function f%d cannot be called", s->callee);
	g = &v->p->func[s->callee];
	if (s->is_part) {
		if (g->nsym != v->f->nsym || g->nlocal != v->f->nlocal || g->nin != v->f->nin ||
		    g->nout != v->f->nout || s->narg || s->nsize)
			return bad(v, s, "loop program: f%d is no part of this function", s->callee);
		return HOP_OK;
	}
	if (s->narg != g->nin + g->nout || s->nsize != g->nsym)
		return bad(v, s, "loop program: f%d takes %d buffers and %d sizes", s->callee,
		           g->nin + g->nout, g->nsym);
	HOP_TRY(check_size(v, s, s->frame));
	for (int i = 0; i < s->nsize; i++)
		HOP_TRY(check_size(v, s, s->sizes[i]));
	for (int i = 0; i < s->narg; i++)
		HOP_TRY(check_addr(v, s, &s->args[i]));
	return HOP_OK;
}

static bool may_call(enum hop_level me, enum hop_level to, bool alone)
{
	switch (me) {
	case HOP_LEVEL_HOST:   return to == HOP_LEVEL_HOST || to == HOP_LEVEL_KERNEL;
	case HOP_LEVEL_KERNEL:
	case HOP_LEVEL_TEAM:   return to == (alone ? HOP_LEVEL_THREAD : HOP_LEVEL_TEAM);
	default:               return to == me;
	}
}

/* See hop_level. */
static bool on_level(const scope *v, const hop_stmt *s)
{
	enum hop_level me = v->f->level;
	bool device = me == HOP_LEVEL_KERNEL || me == HOP_LEVEL_TEAM;
	bool asks = s->kind == HOP_L_EFFECT || s->kind == HOP_L_CHECK || s->kind == HOP_L_GROW;
	if (s->kind == HOP_L_CALL)
		return may_call(me, v->p->func[s->callee].level, v->alone);
	if (me == HOP_LEVEL_HOST && s->kind == HOP_L_OP)       /* what a loop of the list goes by */
		return s->sop == HOP_SOP_load && v->f->buf[s->u.addr.buf].decides;
	if (me == HOP_LEVEL_HOST)
		return (s->kind == HOP_L_WHILE && s->hosted) ||
		       (s->kind == HOP_L_TILE && s->tile->of->library != HOP_LIBRARY_NONE);
	if (s->kind == HOP_L_BARRIER)
		return device && !v->alone;
	if (s->kind == HOP_L_LOOP && s->bind.place)
		return device && !v->alone;
	return !asks || me == HOP_LEVEL_WHOLE || (device && !v->alone);
}

static hop_status check_stmt(scope *v, const hop_stmt *s)
{
	switch (s->kind) {
	case HOP_L_OP:
		return check_op(v, s);
	case HOP_L_LOOP:
		return check_loop(v, s);
	case HOP_L_IF:
		HOP_TRY(use(v, s, s->a[0], HOP_bool));
		HOP_TRY(check_block(v, &s->body));
		leave(v, &s->body);
		HOP_TRY(check_block(v, &s->other));
		leave(v, &s->other);
		return HOP_OK;
	case HOP_L_WHILE:
		if (s->once && (!s->hosted || s->bind.each > 1))
			return bad(v, s, "loop program: a branch of a list that is none, or has trips");
		HOP_TRY(check_carries(v, s));
		HOP_TRY(check_block(v, &s->other));
		HOP_TRY(use(v, s, s->a[0], HOP_bool));
		HOP_TRY(check_block(v, &s->body));
		leave(v, &s->body);
		leave(v, &s->other);
		return HOP_OK;
	case HOP_L_TILE:
		return check_tile(v, s);
	case HOP_L_CALL:
		return check_call(v, s);
	case HOP_L_GROW:
		if (s->buf < 0 || s->buf >= v->f->nbuf ||
		    v->f->buf[s->buf].kind != HOP_BUF_TAPE)
			return bad(v, s, "loop program: grow of b%d, which is no tape", s->buf);
		return use(v, s, s->a[0], HOP_i64);
	case HOP_L_EFFECT:
		if (s->callee < 0 || s->callee >= v->p->neffect)
			return bad(v, s, "loop program: effect %d does not exist", s->callee);
		for (int i = 0; i < s->narg; i++)
			HOP_TRY(check_addr(v, s, &s->args[i]));
		return HOP_OK;
	case HOP_L_CHECK:
		if (s->callee < 0 || s->callee >= v->p->ncheck)
			return bad(v, s, "loop program: check %d does not exist", s->callee);
		if (v->nest)
			return bad(v, s, "loop program: check %d in a parallel loop", s->callee);
		HOP_TRY(check_size(v, s, v->p->check[s->callee].c.a));
		return check_size(v, s, v->p->check[s->callee].c.b);
	case HOP_L_BARRIER:
		if (s->callee < 0 || s->callee > HOP_BARRIER_LAST_Y)
			return bad(v, s, "loop program: barrier %d does not exist", s->callee);
		return HOP_OK;
	}
	return bad(v, s, "loop program: statement %d does not exist", s->kind);
}

static hop_status check_block(scope *v, const hop_block *b)
{
	if (b->first && ++v->depth > MAXNEST)
		return bad(v, b->first, "loop program: nested more than %d deep", MAXNEST);
	for (const hop_stmt *s = b->first; s; s = s->next) {
		HOP_TRY(check_stmt(v, s));
		if (!on_level(v, s))
			return bad(v, s, "loop program: statement %d is not for a %s", s->kind,
			           v->f->level == HOP_LEVEL_HOST ? "host" : v->f->level == HOP_LEVEL_WHOLE ?
			           "function without a level" : v->alone ? "thread" : "kernel");
	}
	v->depth -= b->first != NULL;
	return HOP_OK;
}

static hop_status check_bufs(scope *v)
{
	const hop_lfunc *f = v->f;
	for (int i = 0; i < f->nbuf; i++) {
		const hop_lbuf *b = &f->buf[i];
		bool in_result = b->kind == HOP_BUF_TEMP && b->space == HOP_SPACE_RESULT;
		int n = b->kind == HOP_BUF_PARAM || in_result ? f->nin + f->nout :
		        b->kind == HOP_BUF_TAPE ? v->p->ntape : 1;

		if (b->index < (in_result ? f->nin : 0) || b->index >= n)
			return bad(v, (hop_stmt *)NULL, "loop program: index %d of b%d", b->index, i);
		if (b->kind == HOP_BUF_CONST && (!hop_size_const(b->count) || !b->data))
			return bad(v, (hop_stmt *)NULL, "loop program: constant b%d has no data", i);
		HOP_TRY(check_size(v, NULL, b->count));
		HOP_TRY(check_size(v, NULL, b->offset));
	}
	for (int i = 0; i < f->nlocal; i++)
		if (f->local[i] < 0 || f->local[i] >= f->nbuf ||
		    f->buf[f->local[i]].dtype != HOP_i64)
			return bad(v, (hop_stmt *)NULL, "loop program: local size %d has no buffer", i);
	return HOP_OK;
}

hop_status hop_prog_verify(hop_env *e, const hop_prog *p)
{
	for (int i = 0; i < p->nfunc; i++) {
		hop_mark m = hop_mark_at(&e->tmp);
		scope v = { .e = e, .p = p, .f = &p->func[i] };
		hop_status st;

		v.type = HOP_NEWN(&e->tmp, uint8_t, v.f->nreg + 1);
		v.once = HOP_NEWN(&e->tmp, uint8_t, v.f->nreg + 1);
		st = check_bufs(&v);
		if (!st)
			st = check_block(&v, &v.f->body);
		hop_rewind(&e->tmp, m);
		if (st)
			return st;
	}
	return p->nfunc ? HOP_OK : hop_fail(e, 0, HOP_ETARGET, "loop program: no function");
}

#undef bad
