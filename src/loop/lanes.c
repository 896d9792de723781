/* lanes.c -- the iterations of a loop as lanes of vectors: which registers are the same in all
 * of them, which are a step apart, and a rough count of instructions. Changes nothing. */
#include <math.h>

#include "loop/lanes.h"
#include "loop/walk.h"

double hop_loop_trips(const hop_stmt *s)
{
	if (!hop_size_const(s->extent))
		return HOP_SIZE_USUAL;
	double n = (double)s->extent.k;
	if (s->bound)                    /* any number up to it */
		n = n > 2 * HOP_SIZE_USUAL ? HOP_SIZE_USUAL : n / 2;
	return n > 0 ? n : 0;
}

/* How an address moves from lane to lane. */
typedef enum stride { ST_SAME, ST_NEXT, ST_FAR } stride;

typedef struct look {
	hop_lanes    *w;
	uint8_t      *cls;
	hop_reg       var;
	hop_lane_cost r;
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
	if (b > k->r.bytes)
		k->r.bytes = b;
}

static void look_block(look *k, const hop_block *b, double times);

static void look_access(look *k, const hop_stmt *s, double times)
{
	stride st = addr_stride(k, &s->u.addr);
	int mask = s->sop == HOP_SOP_store ? 1 : 0;
	bool masked = s->na > mask && k->cls[s->a[mask]] != HOP_UNI;
	if (s->sop == HOP_SOP_store) {
		if (st == ST_SAME)
			k->r.ok = false;
		k->r.cost += times * (st == ST_FAR ? 24 : 1);
	} else {
		k->cls[s->dst] = st == ST_SAME && !masked ? HOP_UNI : HOP_VAR;
		k->r.cost += times * (st == ST_FAR ? 14 : 1);
	}
	if (st != ST_SAME)
		widen(k, s->dtype);
}

/* ---- steps along rows ---- */

enum { STEP_ROWS = 6, STEP_STMTS = 32 };         /* at most */

bool hop_lanes_fixed(const hop_stmt *s, const hop_addr *a)
{
	for (const hop_stmt *b = s->body.first; b; b = b->next)
		for (int i = 0; i < a->nterm; i++)
			if (b->dst == a->term[i].reg)
				return false;
	return true;
}

bool hop_lanes_row(const hop_stmt *s, const hop_stmt *access, const uint8_t *cls)
{
	const hop_addr *a = &access->u.addr;
	bool along = false, far = false;
	for (int i = 0; i < a->nterm; i++) {
		hop_size z = a->term[i].stride;
		if (a->term[i].reg == s->dst)
			along = hop_size_is(z, 1);
		else if (cls[a->term[i].reg] == HOP_VAR)
			return false;
		else if (cls[a->term[i].reg] == HOP_LIN)
			far = !hop_size_is(z, 0) && !hop_size_is(z, 1) && !hop_size_is(z, -1);
	}
	return along && far && hop_lanes_fixed(s, a);
}

static bool is_access(const hop_stmt *s)
{
	return s->sop == HOP_SOP_load || s->sop == HOP_SOP_store;
}

/* Nobody else touches in the step what is written when the square is full, or read before. */
static bool alone(const hop_stmt *s, const hop_stmt *access)
{
	for (const hop_stmt *b = s->body.first; b; b = b->next)
		if (b != access && is_access(b) && b->u.addr.buf == access->u.addr.buf &&
		    (access->sop == HOP_SOP_store || b->sop == HOP_SOP_store))
			return false;
	return true;
}

bool hop_lanes_steps(const hop_stmt *s, const uint8_t *cls)
{
	int rows = 0, n = 0;
	if (s->kind != HOP_L_LOOP || s->loop != HOP_LOOP_SEQ || s->ncarry ||
	    hop_loop_trips(s) < (s->bound ? HOP_TURN_MOST : HOP_TURN_LEAST))
		return false;
	for (const hop_stmt *b = s->body.first; b; b = b->next, n++) {
		if (b->kind != HOP_L_OP)
			return false;
		if (!is_access(b) || !hop_lanes_row(s, b, cls))
			continue;
		if (b->na > (b->sop == HOP_SOP_store) || !alone(s, b))
			return false;
		rows++;
	}
	return rows && rows <= STEP_ROWS && n <= STEP_STMTS;
}

/* What of a step is not as dear as it looked. */
static double steps_gain(const hop_stmt *s, const uint8_t *cls)
{
	double n = 0;
	for (const hop_stmt *b = s->body.first; b; b = b->next)
		if (is_access(b) && hop_lanes_row(s, b, cls))
			n += b->sop == HOP_SOP_store ? 24 - 5 : 14 - 5;
	return n;
}

static void look_loop(look *k, const hop_stmt *s, double times)
{
	double n = hop_loop_trips(s), before = k->r.cost;
	int w = k->w->vbits / 32;
	if ((s->bound && k->cls[s->bound] != HOP_UNI) || s->ncarry)
		k->r.ok = false;
	k->cls[s->dst] = HOP_UNI;
	k->r.cost += times * (2 * n + 3);
	look_block(k, &s->body, times * n);
	if (k->r.ok && w >= HOP_TURN_LEAST && w <= HOP_TURN_MOST && hop_lanes_steps(s, k->cls)) {
		k->r.turned = true;
		k->r.cost -= times * n * steps_gain(s, k->cls);
	}
	if (k->r.ok && w >= HOP_TURN_LEAST && w <= HOP_TURN_MOST &&
	    hop_lanes_turn(k->w, s, k->cls)) {
		k->r.turned = true;
		k->r.cost = before + times * w * (ceil(n / w) * 3 + 3);
	}
	for (int i = 0; i < s->nacc; i++) {
		const hop_acc *c = &s->acc[i];
		bool v = k->cls[c->init] != HOP_UNI || k->cls[c->value] != HOP_UNI;

		k->cls[c->result] = v ? HOP_VAR : HOP_UNI;
		k->r.inner_red |= v;
		k->r.cost += times * n;
		k->r.work += times * n;
	}
}

static void look_block(look *k, const hop_block *b, double times)
{
	for (const hop_stmt *s = b->first; s && k->r.ok; s = s->next) {
		switch (s->kind) {
		case HOP_L_OP:
			k->r.work += times * (hop_sop_cost(s->sop, s->dtype) + 0.5);
			if (s->sop == HOP_SOP_load || s->sop == HOP_SOP_store) {
				look_access(k, s, times);
				break;
			}
			k->cls[s->dst] = (uint8_t)join(k, s);
			k->r.cost += times * hop_sop_cost(s->sop, s->dtype);
			if (k->cls[s->dst] == HOP_VAR) {
				widen(k, s->dtype);
				/* No instruction: one lane after the other. */
				if ((s->sop == HOP_SOP_rem || s->sop == HOP_SOP_div) &&
				    !(s->sop == HOP_SOP_div && hop_dtype_real(s->dtype)))
					k->r.cost += times * 16 * 20;
			}
			break;
		case HOP_L_LOOP:
			look_loop(k, s, times);
			break;
		case HOP_L_IF:
			if (k->cls[s->a[0]] != HOP_UNI)
				k->r.ok = false;
			look_block(k, &s->body, times / 2);
			look_block(k, &s->other, times / 2);
			break;
		case HOP_L_WHILE:
			look_block(k, &s->other, times * 16);
			if (s->ncarry || (k->r.ok && k->cls[s->a[0]] != HOP_UNI))
				k->r.ok = false;
			look_block(k, &s->body, times * 16);
			break;
		default:
			k->r.ok = false;
		}
	}
}

static look look_at(hop_lanes *w, const hop_stmt *s, uint8_t *cls)
{
	look k = { .w = w, .cls = cls, .var = s->dst, .r = { .ok = true, .bytes = 1 } };
	cls[s->dst] = HOP_LIN;
	look_block(&k, &s->body, 1);
	return k;
}

hop_lane_cost hop_lanes_loop(hop_lanes *w, const hop_stmt *s, uint8_t *cls)
{
	return look_at(w, s, cls).r;
}

bool hop_lanes_hole(hop_lanes *w, const hop_tile *t, int i, uint8_t *cls)
{
	int npos = t->of->hole[i].npos, n = npos + t->of->hole[i].nval;
	const hop_reg *r = t->hole[i].reg;
	look k = { .w = w, .cls = cls, .var = r[npos - 1], .r = { .ok = true, .bytes = 1 } };
	cls[k.var] = HOP_LIN;
	for (int j = npos; j < n; j++)
		cls[r[j]] = HOP_VAR;
	look_block(&k, &t->hole[i].body, 1);
	return k.r.ok;
}

static void clear(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	(void)t;
	if (def)
		((uint8_t *)user)[*r] = HOP_UNI;
}

void hop_lanes_clear(const hop_stmt *s, uint8_t *cls)
{
	hop_stmt_regs((hop_stmt *)(uintptr_t)s, clear, cls);
}

/* ---- reductions along rows ---- */

/* Loads are contiguous along s or do not move, and some are far apart from row to row. */
static bool turns(const look *k, const hop_stmt *s, const uint8_t *cls)
{
	bool far = false;
	for (const hop_stmt *b = s->body.first; b; b = b->next) {
		if (b->sop == HOP_SOP_store || hop_sop_cost(b->sop, b->dtype) > 1)
			return false;
		if (b->sop != HOP_SOP_load)
			continue;
		stride along = addr_stride(k, &b->u.addr);
		if (along == ST_FAR || b->na)
			return false;
		for (int i = 0; i < b->u.addr.nterm; i++)
			if (cls[b->u.addr.term[i].reg] == HOP_LIN &&
			    !hop_size_is(b->u.addr.term[i].stride, 1) &&
			    !hop_size_is(b->u.addr.term[i].stride, 0) && along == ST_NEXT)
				far = true;
	}
	return far;
}

typedef struct taken {
	uint8_t       *own;         /* 1 for what s defines */
	const uint8_t *cls;
	hop_reg        init;
	bool           ok;
} taken;

static void note_def(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	(void)t;
	if (def)
		((taken *)user)->own[*r] = 1;
}

static void note_use(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	taken *x = user;
	(void)t;
	if (!def && !x->own[*r] && x->cls[*r] == HOP_VAR && *r != x->init)
		x->ok = false;
}

/* Takes nothing that differs between rows but where to begin. */
static bool takes_same(hop_lanes *w, const hop_stmt *s, const uint8_t *cls)
{
	hop_stmt *at = (hop_stmt *)(uintptr_t)s;
	taken x = { w->own, cls, s->acc[0].init, true };
	hop_stmt_regs(at, note_def, &x);
	hop_stmt_regs(at, note_use, &x);
	hop_lanes_clear(s, w->own);
	return x.ok;
}

/* A single sum whose body is a straight line of such loads and plain operations. */
bool hop_lanes_turn(hop_lanes *w, const hop_stmt *s, const uint8_t *cls)
{
	if (s->loop != HOP_LOOP_RED || s->nacc != 1 || s->bound || hop_loop_trips(s) < 8 ||
	    !hop_dtype_real(s->acc[0].dtype) || hop_dtype_bytes(s->acc[0].dtype) != 4)
		return false;
	for (const hop_stmt *b = s->body.first; b; b = b->next)
		if (b->kind != HOP_L_OP)
			return false;
	look k = look_at(w, s, w->own);
	bool ok = k.r.ok && k.r.bytes <= 4 && turns(&k, s, cls);
	hop_lanes_clear(s, w->own);
	return ok && takes_same(w, s, cls);
}

hop_lanes hop_lanes_new(hop_env *e, const hop_lfunc *f, int vbits)
{
	return (hop_lanes){ vbits, HOP_NEWN(&e->tmp, uint8_t, f->nreg + 1) };
}
