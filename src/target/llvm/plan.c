/* plan.c -- which loop of a nest becomes vectors, and how wide; a rough count of
 * instructions decides. Reads the program only: nothing is emitted here. */
#include <math.h>

#include "target/llvm/emit.h"

enum { LARGE = 1 << 18 };        /* trips that a loop of unknown extent may well have */

static double trips(const hop_stmt *s)
{
	if (s->bound || !hop_size_const(s->extent))
		return HOP_SIZE_USUAL;
	return s->extent.k > 0 ? (double)s->extent.k : 0;
}

/* ---- classes of registers inside one candidate loop ---- */

/* How an address moves from lane to lane. */
typedef enum stride { ST_SAME, ST_NEXT, ST_FAR } stride;

typedef struct look {
	hop_emit *e;
	uint8_t  *cls;
	hop_reg   var;
	double    cost;              /* of one pass over the body, in vectors */
	double    work;              /* scalar operations in it */
	int       bytes;             /* widest varying value */
	bool      ok;
	bool      inner_red;         /* a reduction inside carries vectors */
	bool      turned;            /* and one runs along its own loop */
} look;

static stride addr_stride(const look *k, const hop_addr *a)
{
	stride s = ST_SAME;
	for (int i = 0; i < a->nterm; i++) {
		enum hop_lane c = k->cls[a->term[i].reg];
		hop_size z = a->term[i].stride;

		if (c == HOP_UNI || hop_size_is(z, 0))
			continue;
		if (c == HOP_VAR || s != ST_SAME || a->term[i].reg != k->var ||
		    !(hop_size_is(z, 1) || hop_size_is(z, -1)))
			s = ST_FAR;
		else
			s = ST_NEXT;
	}
	return s;
}

static enum hop_lane join(const look *k, const hop_stmt *s)
{
	enum hop_lane r = HOP_UNI;
	for (int i = 0; i < s->na; i++)
		if (k->cls[s->a[i]] > r)
			r = (enum hop_lane)k->cls[s->a[i]];
	if (r != HOP_LIN)
		return r;
	/* Sums of a linear and a uniform, products with a uniform. */
	switch (s->sop) {
	case HOP_SOP_add:
	case HOP_SOP_sub:
		return HOP_LIN;
	case HOP_SOP_mul:
		return k->cls[s->a[0]] == HOP_LIN && k->cls[s->a[1]] == HOP_LIN ? HOP_VAR : HOP_LIN;
	default:
		return HOP_VAR;
	}
}

static void widen(look *k, hop_dtype d)
{
	int b = (int)hop_dtype_bytes(d);
	if (b > k->bytes)
		k->bytes = b;
}

static void look_block(look *k, const hop_block *b, double times);

static void look_access(look *k, const hop_stmt *s, double times)
{
	stride st = addr_stride(k, &s->u.addr);
	int mask = s->sop == HOP_SOP_store ? 1 : 0;
	bool masked = s->na > mask && k->cls[s->a[mask]] != HOP_UNI;
	if (s->sop == HOP_SOP_store) {
		if (st == ST_SAME)
			k->ok = false;
		k->cost += times * (st == ST_FAR ? 24 : 1);
	} else {
		k->cls[s->dst] = st == ST_SAME && !masked ? HOP_UNI : HOP_VAR;
		k->cost += times * (st == ST_FAR ? 14 : 1);
	}
	if (st != ST_SAME)
		widen(k, s->dtype);
}

static void look_loop(look *k, const hop_stmt *s, double times)
{
	double n = trips(s), before = k->cost;
	int w = k->e->vbits / 32;
	if ((s->bound && k->cls[s->bound] != HOP_UNI) || s->ncarry)
		k->ok = false;
	k->cls[s->dst] = HOP_UNI;
	k->cost += times * (2 * n + 3);
	look_block(k, &s->body, times * n);
	if (k->ok && hop_plan_turn(k->e, s, k->cls, w)) {
		k->turned = true;
		k->cost = before + times * w * (ceil(n / w) * 3 + 3);
	}
	for (int i = 0; i < s->nacc; i++) {
		const hop_acc *c = &s->acc[i];
		bool v = k->cls[c->init] != HOP_UNI || k->cls[c->value] != HOP_UNI;

		k->cls[c->result] = v ? HOP_VAR : HOP_UNI;
		k->inner_red |= v;
		k->cost += times * n;
		k->work += times * n;
	}
}

static void look_block(look *k, const hop_block *b, double times)
{
	for (const hop_stmt *s = b->first; s && k->ok; s = s->next) {
		switch (s->kind) {
		case HOP_L_OP:
			k->work += times * (hop_sop_cost(s->sop, s->dtype) + 0.5);
			if (s->sop == HOP_SOP_load || s->sop == HOP_SOP_store) {
				look_access(k, s, times);
				break;
			}
			k->cls[s->dst] = (uint8_t)join(k, s);
			k->cost += times * hop_sop_cost(s->sop, s->dtype);
			if (k->cls[s->dst] == HOP_VAR) {
				widen(k, s->dtype);
				/* No instruction: one lane after the other. */
				if ((s->sop == HOP_SOP_rem || s->sop == HOP_SOP_div) &&
				    !(s->sop == HOP_SOP_div && hop_dtype_real(s->dtype)))
					k->cost += times * 16 * 20;
			}
			break;
		case HOP_L_LOOP:
			look_loop(k, s, times);
			break;
		case HOP_L_IF:
			if (k->cls[s->a[0]] != HOP_UNI)
				k->ok = false;
			look_block(k, &s->body, times / 2);
			look_block(k, &s->other, times / 2);
			break;
		case HOP_L_WHILE:
			look_block(k, &s->other, times * 16);
			if (k->ok && k->cls[s->a[0]] != HOP_UNI)
				k->ok = false;
			look_block(k, &s->body, times * 16);
			break;
		default:
			k->ok = false;
		}
	}
}

static look look_at(hop_emit *e, const hop_stmt *s, uint8_t *cls)
{
	look k = { .e = e, .cls = cls, .var = s->dst, .ok = true, .bytes = 1 };
	/* Registers of loops outside are the same in all lanes; cls is zeroed by the caller. */
	cls[s->dst] = HOP_LIN;
	look_block(&k, &s->body, 1);
	return k;
}

void hop_plan_classify(hop_emit *e, const hop_stmt *s)
{
	for (int i = 0; i <= e->f->nreg; i++)
		e->cls[i] = HOP_UNI;
	look_at(e, s, e->cls);
}

/* A single sum whose body is a straight line of loads that are contiguous along s (or
 * do not move) and plain operations, some load being far apart from row to row. */
bool hop_plan_turn(hop_emit *e, const hop_stmt *s, const uint8_t *cls, int lanes)
{
	hop_mark m = hop_mark_at(&e->env->tmp);
	bool ok = s->loop == HOP_LOOP_RED && s->nacc == 1 && !s->bound && lanes <= 16 &&
	          lanes >= 4 && trips(s) >= 8 && hop_dtype_real(s->acc[0].dtype);
	uint8_t *u, *own;
	look k;
	bool far = false;
	if (!ok)
		return false;
	own = HOP_NEWN(&e->env->tmp, uint8_t, e->f->nreg + 1);
	u = HOP_NEWN(&e->env->tmp, uint8_t, e->f->nreg + 1);
	k = look_at(e, s, own);
	ok = k.ok && k.bytes <= 4 && hop_dtype_bytes(s->acc[0].dtype) == 4;
	hop_plan_uses(s, u);
	for (int i = 1; ok && i <= e->f->nreg; i++)
		if (u[i] == 1 && cls[i] == HOP_VAR && i != s->acc[0].init)
			ok = false;
	for (const hop_stmt *b = s->body.first; ok && b; b = b->next) {
		stride along;

		if (b->kind != HOP_L_OP || b->sop == HOP_SOP_store || hop_sop_cost(b->sop, b->dtype) > 1)
			ok = false;
		if (!ok || b->sop != HOP_SOP_load)
			continue;
		along = addr_stride(&k, &b->u.addr);
		ok = along != ST_FAR && b->na == 0;
		for (int i = 0; i < b->u.addr.nterm; i++)
			if (cls[b->u.addr.term[i].reg] == HOP_LIN &&
			    !hop_size_is(b->u.addr.term[i].stride, 1) &&
			    !hop_size_is(b->u.addr.term[i].stride, 0) && along == ST_NEXT)
				far = true;
	}
	hop_rewind(&e->env->tmp, m);
	return ok && far;
}

bool hop_plan_hole(hop_emit *e, const hop_tile *t, int i, uint8_t *cls)
{
	hop_mark m = hop_mark_at(&e->env->tmp);
	int npos = t->of->hole[i].npos, n = npos + t->of->hole[i].nval;
	const hop_reg *r = t->hole[i].reg;
	look k = { .e = e, .cls = cls, .var = r[npos - 1], .ok = true };
	if (!cls)
		k.cls = HOP_NEWN(&e->env->tmp, uint8_t, e->f->nreg + 1);
	for (int j = 0; j <= e->f->nreg; j++)
		k.cls[j] = HOP_UNI;
	k.cls[k.var] = HOP_LIN;
	for (int j = npos; j < n; j++)
		k.cls[r[j]] = HOP_VAR;
	look_block(&k, &t->hole[i].body, 1);
	hop_rewind(&e->env->tmp, m);
	return k.ok;
}

/* ---- choosing ---- */

static double scalar_block(hop_emit *e, const hop_block *b)
{
	double c = 0;
	for (const hop_stmt *s = b->first; s; s = s->next) {
		switch (s->kind) {
		case HOP_L_OP:
			c += hop_sop_cost(s->sop, s->dtype);
			break;
		case HOP_L_LOOP:
			c += hop_plan_loop(e, s).cost;
			break;
		case HOP_L_IF:
			c += (scalar_block(e, &s->body) + scalar_block(e, &s->other)) / 2;
			break;
		case HOP_L_WHILE:
			c += 16 * (scalar_block(e, &s->body) + scalar_block(e, &s->other));
			break;
		case HOP_L_TILE:
			c += 1000;
			break;
		default:
			c += 20;
		}
	}
	return c;
}

hop_plan hop_plan_loop(hop_emit *e, const hop_stmt *s)
{
	hop_plan r = { .width = 1, .jam = 1 };
	double n = trips(s), vec;
	hop_mark m;
	look k;
	int jam;
	r.cost = n * (scalar_block(e, &s->body) + 2 + s->nacc) + 3;
	if (s->loop == HOP_LOOP_SEQ || n < 2)
		return r;
	m = hop_mark_at(&e->env->tmp);
	k = look_at(e, s, HOP_NEWN(&e->env->tmp, uint8_t, e->f->nreg + 1));
	hop_rewind(&e->env->tmp, m);
	if (!k.ok)
		return r;
	if (k.bytes < 4)
		k.bytes = 4;
	for (int i = 0; i < s->nacc; i++)
		widen(&k, s->acc[i].dtype);
	r.width = e->vbits / 8 / k.bytes;
	while (r.width > 2 && r.width / 2 >= n)
		r.width /= 2;
	vec = ceil(n / r.width) * (k.cost + 2 + s->nacc) + 3 + 14.0 * s->nacc;
	r.light = k.work < 16;
	if (vec >= r.cost) {
		r.width = 1;
		return r;
	}
	/* Several registers at a time: reductions need them to hide latency, small bodies
	 * to pay for the loop. */
	jam = k.inner_red || (r.light && s->nacc < 3) ? 4 : 1;
	if (k.turned)
		jam = 1;
	if (e->nvreg < 32 && s->nacc + k.inner_red)
		jam = jam > 2 ? 2 : jam;
	while (jam > 1 && r.width * jam > n)
		jam /= 2;
	r.vector = true;
	r.jam = jam;
	r.cost = vec;
	return r;
}

/* ---- threads ---- */

static bool moves_with(const hop_addr *a, hop_reg var)
{
	for (int i = 0; i < a->nterm; i++)
		if (a->term[i].reg == var && !hop_size_is(a->term[i].stride, 0))
			return true;
	return false;
}

static bool owns(const hop_block *b, hop_reg var);

static bool owns_tile(const hop_tile *t, hop_reg var)
{
	for (int i = 0; i < t->of->narg; i++)
		if (t->arg[i].access & HOP_WRITE && !moves_with(&t->arg[i].at, var))
			return false;
	for (int i = 0; i < t->of->nhole; i++)
		if (!owns(&t->hole[i].body, var))
			return false;
	return true;
}

/* All that is written must be this iteration's own, by a visible term. */
static bool owns(const hop_block *b, hop_reg var)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		switch (s->kind) {
		case HOP_L_OP:
			if (s->sop == HOP_SOP_store && !moves_with(&s->u.addr, var))
				return false;
			break;
		case HOP_L_LOOP: case HOP_L_IF: case HOP_L_WHILE:
			if (s->ncarry || !owns(&s->body, var) || !owns(&s->other, var))
				return false;
			break;
		case HOP_L_TILE:
			if (!owns_tile(s->tile, var))
				return false;
			break;
		default:
			return false;
		}
	}
	return true;
}

/* Where the number of iterations is not known it may be large. */
static bool worth(hop_emit *e, const hop_stmt *s)
{
	bool known = hop_size_const(s->extent) && !s->bound;
	return hop_plan_loop(e, s).cost * (known ? 1 : LARGE / HOP_SIZE_USUAL) > e->fork;
}

bool hop_plan_threads(hop_emit *e, const hop_stmt *s)
{
	return e->threads && !e->s.outlined && e->lanes == 1 && s->loop == HOP_LOOP_PAR &&
	       trips(s) >= 2 && owns(&s->body, s->dst) &&
	       worth(e, s);
}

/* Not in a nest, where threads have other work; else by the loop alone: what is done without
 * threads has the same bits. */
bool hop_plan_sum(hop_emit *e, const hop_stmt *s)
{
	return e->nest == 1 && e->lanes == 1 && s->loop == HOP_LOOP_RED && s->nacc &&
	       trips(s) >= 2 && owns(&s->body, s->dst) && worth(e, s);
}

int64_t hop_plan_least(hop_emit *e, const hop_stmt *s)
{
	double n = trips(s), each = hop_plan_loop(e, s).cost / n;
	return (int64_t)(e->fork / (each > 0.01 ? each : 0.01)) + 1;
}

int hop_plan_count(const hop_block *b)
{
	int n = 0;
	for (const hop_stmt *s = b->first; s; s = s->next)
		n += 1 + hop_plan_count(&s->body) + hop_plan_count(&s->other);
	return n;
}

/* ---- registers a statement takes from outside ---- */

static void uses_addr(const hop_addr *a, uint8_t *u)
{
	for (int i = 0; i < a->nterm; i++)
		u[a->term[i].reg] |= 1;
}

static void uses_block(const hop_block *b, uint8_t *u)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		hop_plan_uses(s, u);
}

static void uses_tile(const hop_tile *t, uint8_t *u)
{
	for (int i = 0; i < t->of->narg; i++)
		if (t->arg[i].access)
			uses_addr(&t->arg[i].at, u);
	for (int i = 0; i < t->of->nhole; i++) {
		uses_block(&t->hole[i].body, u);
		for (int k = 0; k < HOP_TILE_REGS; k++)
			u[t->hole[i].reg[k]] |= 2;
	}
}

/* Sets bit 0 for a register used, bit 1 for one defined. u[0] is scratch. */
void hop_plan_uses(const hop_stmt *s, uint8_t *u)
{
	for (int i = 0; i < s->na || (s->kind != HOP_L_OP && i < 1); i++)
		u[s->a[i]] |= 1;
	u[s->dst] |= 2;
	u[s->bound] |= 1;
	if (s->kind == HOP_L_OP && (s->sop == HOP_SOP_load || s->sop == HOP_SOP_store))
		uses_addr(&s->u.addr, u);
	for (int i = 0; i < s->nacc; i++) {
		u[s->acc[i].init] |= 1;
		u[s->acc[i].value] |= 1;
		u[s->acc[i].result] |= 2;
	}
	uses_block(&s->body, u);
	uses_block(&s->other, u);
	if (s->kind == HOP_L_TILE)
		uses_tile(s->tile, u);
	for (int i = 0; i < s->narg; i++)
		uses_addr(&s->args[i], u);
}
