/* scatter_ad.c -- derivatives and batching of scatter. An element of the result is made of the
 * one in the operand and of all updates whose index is there: they are its parts here. What a
 * part gets is found by gathering at the same indices; which have no tangent. */
#include "ops/shape.h"

/* One scatter being differentiated. */
typedef struct sc {
	hop_build *b;
	int        axis, nbatch;
	hop_val    x, idx, u, y;
} sc;

static sc open_rule(hop_build *b, const hop_rule *r)
{
	const struct hop_attr_scatter *a = HOP_ATTR(r->n, scatter);
	return (sc){ b, (int)a->axis, (int)a->nbatch, r->in[0], r->in[1], r->in[2], r->out[0] };
}

static hop_val put(const sc *s, enum hop_mode mode, hop_val x, hop_val u)
{
	return hop_emit_scatter(s->b, mode, x, s->idx, u, s->axis, s->nbatch);
}

static hop_val take(const sc *s, hop_val x)
{
	return hop_emit_gather(s->b, x, s->idx, s->axis, s->nbatch);
}

static hop_val like(const sc *s, hop_val v, double k)
{
	return hop_emit_full(s->b, hop_typeof(s->b, v), k);
}

/* x where p holds, else k. */
static hop_val where(const sc *s, hop_val p, hop_val x, double k)
{
	return hop_emit(s->b, select, p, x, like(s, x, k));
}

static hop_val number(const sc *s, hop_val p)
{
	return hop_emit_cast(s->b, p, (hop_dtype)hop_typeof(s->b, s->x)->dtype);
}

/* t or zeros, in the type of v. */
static hop_val solid(const sc *s, hop_val t, hop_val v)
{
	return hop_emit_solid(s->b, t, hop_typeof(s->b, v));
}

/* ---- set: the last of the updates that meet ---- */

/* Which updates stay: every index writes its number, and sees whether it is still there. */
static hop_val stays(const sc *s)
{
	hop_build *b = s->b;
	const hop_type *t = hop_typeof(b, s->x), *it = hop_typeof(b, s->idx);
	const hop_type *ut = hop_typeof(b, s->u);
	hop_size dim[HOP_MAXDIM], k = hop_size_int(1);
	int64_t axes[HOP_MAXDIM];
	for (int i = 0; i < it->rank; i++) {
		axes[i] = i < s->nbatch ? i : s->axis + i - s->nbatch;
		dim[i] = it->dim[i];
		if (i >= s->nbatch)
			k = hop_size_mul(b->env, k, it->dim[i]);
	}
	dim[s->nbatch] = k;
	hop_val own = hop_emit_iota(b, HOP_i64, s->nbatch + 1, dim, s->nbatch);
	own = hop_emit_reshape(b, own, it->rank, it->dim);
	dim[s->nbatch] = t->dim[s->axis];
	hop_val all = hop_emit_zeros(b, hop_type_get(b->env, HOP_i64, s->nbatch + 1, dim));
	all = hop_emit_scatter(b, HOP_MODE_set, all, s->idx, own, s->nbatch, s->nbatch);
	all = hop_emit_gather(b, all, s->idx, s->nbatch, s->nbatch);
	if (b->st)
		return HOP_BAD;
	return hop_emit_broadcast(b, hop_emit(b, eq, all, own), ut->rank, ut->dim, axes);
}

/* ---- mul: each part gets the product of the others ---- */

/* That is the result divided by the part, if it is not 0. Of one that is 0: the product of all
 * that are not, if it is the only one; times the other one, if there is one; 0 if there are more.
 * So written it is right, and so is its own derivative, whatever parts are 0. */
typedef struct factors {
	hop_val one, two;          /* product without zeros, where there are so many; else 0 */
	hop_val zeros;             /* their sum: 0, but its slope is 1 */
} factors;

static hop_val is_zero(const sc *s, hop_val v)
{
	return hop_emit(s->b, eq, v, like(s, v, 0));
}

static factors factors_of(const sc *s)
{
	hop_build *b = s->b;
	hop_val zx = is_zero(s, s->x), zu = is_zero(s, s->u);
	hop_val n = put(s, HOP_MODE_add, number(s, zx), number(s, zu));
	hop_val q = put(s, HOP_MODE_mul, hop_emit(b, select, zx, like(s, s->x, 1), s->x),
	                hop_emit(b, select, zu, like(s, s->u, 1), s->u));
	hop_val sum = put(s, HOP_MODE_add, where(s, zx, s->x, 0), where(s, zu, s->u, 0));
	return (factors){ where(s, hop_emit(b, eq, n, like(s, n, 1)), q, 0),
	                  where(s, hop_emit(b, eq, n, like(s, n, 2)), q, 0), sum };
}

/* The product of the others of v, which is x, or u with everything gathered to it. */
static hop_val others(const sc *s, hop_val v, factors f, hop_val y)
{
	hop_build *b = s->b;
	hop_val z = is_zero(s, v), some = hop_emit(b, select, z, like(s, v, 1), v);
	hop_val rest = hop_emit(b, mul, f.two, hop_emit(b, sub, f.zeros, v));
	return hop_emit(b, select, z, hop_emit(b, add, f.one, rest), hop_emit(b, div, y, some));
}

static hop_val others_of_u(const sc *s, factors f)
{
	factors g = { take(s, f.one), take(s, f.two), take(s, f.zeros) };
	return others(s, s->u, g, take(s, s->y));
}

/* ---- min, max: those that tie share ---- */

/* Which parts are the result, and how many; of NaN none, and 1 is said. */
static hop_val extremes(const sc *s, hop_val *out_x, hop_val *out_u)
{
	hop_build *b = s->b;
	*out_x = hop_emit(b, eq, s->x, s->y);
	*out_u = hop_emit(b, eq, s->u, take(s, s->y));
	hop_val n = put(s, HOP_MODE_add, number(s, *out_x), number(s, *out_u));
	return hop_emit(b, max, n, like(s, n, 1));
}

/* ---- the cells ---- */

hop_status hop_jvp_scatter(hop_build *b, hop_rule *r)
{
	enum hop_mode mode = (enum hop_mode)HOP_ATTR(r->n, scatter)->mode;
	sc s = open_rule(b, r);
	hop_val dx = r->din[0], du = r->din[2], is_x, is_u;
	if (mode == HOP_MODE_add && hop_is_zero(du)) {
		r->dout[0] = dx;
		return HOP_OK;
	}
	dx = solid(&s, dx, s.x);
	du = solid(&s, du, s.u);
	if (mode == HOP_MODE_set || mode == HOP_MODE_add) {
		r->dout[0] = put(&s, mode, dx, du);
	} else if (mode == HOP_MODE_mul) {
		factors f = factors_of(&s);
		r->dout[0] = put(&s, HOP_MODE_add, hop_emit(b, mul, dx, others(&s, s.x, f, s.y)),
		                 hop_emit(b, mul, du, others_of_u(&s, f)));
	} else {
		hop_val n = extremes(&s, &is_x, &is_u);
		hop_val sum = put(&s, HOP_MODE_add, where(&s, is_x, dx, 0), where(&s, is_u, du, 0));
		r->dout[0] = hop_emit(b, div, sum, n);
	}
	return HOP_OK;
}

hop_status hop_vjp_scatter(hop_build *b, hop_rule *r)
{
	sc s = open_rule(b, r);
	hop_val t = r->dout[0], is_x, is_u;
	bool x = r->act[0], u = r->act[2];
	switch ((enum hop_mode)HOP_ATTR(r->n, scatter)->mode) {
	case HOP_MODE_set:
		if (x)
			r->din[0] = put(&s, HOP_MODE_set, t, like(&s, s.u, 0));
		if (u)
			r->din[2] = where(&s, stays(&s), take(&s, t), 0);
		break;
	case HOP_MODE_mul: {
		factors f = factors_of(&s);
		if (x)
			r->din[0] = hop_emit(b, mul, t, others(&s, s.x, f, s.y));
		if (u)
			r->din[2] = hop_emit(b, mul, take(&s, t), others_of_u(&s, f));
		break;
	}
	case HOP_MODE_min:
	case HOP_MODE_max:
		t = hop_emit(b, div, t, extremes(&s, &is_x, &is_u));
		if (x)
			r->din[0] = where(&s, is_x, t, 0);
		if (u)
			r->din[2] = where(&s, is_u, take(&s, t), 0);
		break;
	default:
		if (x)
			r->din[0] = t;
		if (u)
			r->din[2] = take(&s, t);
	}
	return HOP_OK;
}

hop_status hop_batch_scatter(hop_build *b, hop_rule *r)
{
	const struct hop_attr_scatter *a = HOP_ATTR(r->n, scatter);
	bool match = r->bin[1] || a->nbatch;         /* else the lanes share their indices */
	hop_val idx = match ? hop_rule_lead(b, r, 1) : r->in[1];
	int nbatch = match ? (int)a->nbatch + 1 : 0;
	return hop_rule_batched(b, r, hop_emit_scatter(b, (enum hop_mode)a->mode,
	                                               hop_rule_lead(b, r, 0), idx,
	                                               hop_rule_lead(b, r, 2), (int)a->axis + 1,
	                                               nbatch));
}
