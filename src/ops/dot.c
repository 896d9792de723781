/* dot.c -- the product of two arrays, summed over pairs of axes: matrix products, inner
 * products, outer products, batches of them. How it runs fast is the lowering's business. */
#include "ops/shape.h"

/* Mark axes of one side as used; fails on one that is out of range or used before. */
static hop_status use_axes(hop_infer *f, const char *side, hop_ints axes, int rank,
                           bool *used)
{
	for (int64_t i = 0; i < axes.n; i++) {
		int64_t a = axes.v[i];
		if (a < 0 || a >= rank)
			return hop_infer_fail(f, HOP_EVALUE, "dot: %s axis %lld of %d axes", side,
			                      (long long)a, rank);
		if (used[a])
			return hop_infer_fail(f, HOP_EVALUE, "dot: %s axis %lld is named twice", side,
			                      (long long)a);
		used[a] = true;
	}
	return HOP_OK;
}

static hop_status pair_axes(hop_infer *f, const char *what, hop_ints l, hop_ints r)
{
	const hop_type *x = f->in[0], *y = f->in[1];
	if (l.n != r.n)
		return hop_infer_fail(f, HOP_ETYPE, "dot: %lld %s axes on the left, %lld on the "
		                      "right", (long long)l.n, what, (long long)r.n);
	for (int64_t i = 0; i < l.n; i++)
		HOP_TRY(hop_shape_same(f, "left", (int)l.v[i], x->dim[l.v[i]],
		                       "right", (int)r.v[i], y->dim[r.v[i]]));
	return HOP_OK;
}

/* The dtype of the result: wider numbers of the same kind, which nothing is lost in. */
static hop_status out_dtype(hop_infer *f, hop_dtype in, hop_dtype *out)
{
	if (!*out)                             /* left out */
		*out = in;
	if (hop_dtype_class(*out) == hop_dtype_class(in) && hop_dtype_join(in, *out) == *out)
		return HOP_OK;
	hop_buf b;
	hop_buf_open(&b, f->b->env);
	for (int d = 0; d < HOP_NDTYPE; d++)
		if (hop_dtype_class((hop_dtype)d) == hop_dtype_class(in) &&
		    hop_dtype_join(in, (hop_dtype)d) == (hop_dtype)d)
			hop_putf(&b, "%s%s", b.n ? ", " : "", hop_dtype_name((hop_dtype)d));
	hop_status st = hop_infer_fail(f, HOP_ETYPE, "%s: products of %s do not add up to %s: to %s they "
	                               "may", hop_opname(f), hop_dtype_name(in), hop_dtype_name(*out),
	                               b.s);
	hop_buf_free(&b);
	return st;
}

/* dot x y {lbatch rbatch lsum rsum dtype} -- multiply, and sum over pairs of axes
 * Axes lbatch of x go with rbatch of y and stay; lsum of x go with rsum of y and are
 * summed. The result has the batch axes, then what is left of x, then what is left of y. dtype:
 * what is multiplied and added up in, and of the result; that of x and y where left out. */
hop_status hop_infer_dot(hop_infer *f)
{
	const struct hop_attr_dot *a = f->attr;
	const hop_type *x = f->in[0], *y = f->in[1];
	bool lused[HOP_MAXRANK] = { false }, rused[HOP_MAXRANK] = { false };
	hop_dtype out = (hop_dtype)a->dtype;
	HOP_TRY(hop_shape_dtypes(f, x->dtype, y->dtype));
	if (hop_dtype_bool((hop_dtype)x->dtype))
		return hop_infer_fail(f, HOP_ETYPE, "%s: bool cannot be multiplied: cast first",
		                      hop_opname(f));
	HOP_TRY(out_dtype(f, (hop_dtype)x->dtype, &out));
	HOP_TRY(use_axes(f, "left", a->lbatch, x->rank, lused));
	HOP_TRY(use_axes(f, "left", a->lsum, x->rank, lused));
	HOP_TRY(use_axes(f, "right", a->rbatch, y->rank, rused));
	HOP_TRY(use_axes(f, "right", a->rsum, y->rank, rused));
	HOP_TRY(pair_axes(f, "batch", a->lbatch, a->rbatch));
	HOP_TRY(pair_axes(f, "summed", a->lsum, a->rsum));

	hop_size dim[2 * HOP_MAXRANK];
	int n = 0;
	for (int i = 0; i < a->lbatch.n; i++)
		dim[n++] = x->dim[a->lbatch.v[i]];
	for (int i = 0; i < x->rank; i++)
		if (!lused[i])
			dim[n++] = x->dim[i];
	for (int i = 0; i < y->rank; i++)
		if (!rused[i])
			dim[n++] = y->dim[i];
	return hop_shape_out(f, out, n, dim);
}

/* The axes of one side that are neither batch nor summed, in order. */
static int free_axes(hop_ints batch, hop_ints sum, int rank, int64_t *out_v)
{
	int64_t both[2 * HOP_MAXRANK];
	int64_t n = 0;
	for (int64_t i = 0; i < batch.n; i++)
		both[n++] = batch.v[i];
	for (int64_t i = 0; i < sum.n; i++)
		both[n++] = sum.v[i];
	return hop_axes_rest((hop_ints){ n, both }, rank, out_v);
}

/* ---- evaluation ---- */

/* Offsets of the batch, free and summed indices of one operand. */
typedef struct side {
	int64_t       *b, *f, *s;
	int64_t        nb, nf, ns;
} side;

static side side_of(hop_interp *p, const hop_array *t, hop_ints batch, hop_ints sum)
{
	int64_t rest[HOP_MAXDIM];
	side d;
	int n = free_axes(batch, sum, t->rank, rest);
	d.b = hop_offsets(p, t, (int)batch.n, batch.v, &d.nb);
	d.f = hop_offsets(p, t, n, rest, &d.nf);
	d.s = hop_offsets(p, t, (int)sum.n, sum.v, &d.ns);
	return d;
}

/* The elements of x as doubles, or as integers without sign, whose sums wrap. */
typedef union number { double f; uint64_t i; } number;

static number *numbers(hop_interp *p, const hop_array *x)
{
	number *v = HOP_NEWN(&p->env->tmp, number, x->count);
	for (int64_t i = 0; i < x->count; i++)
		if (hop_dtype_real(x->dtype))
			v[i].f = hop_array_f(x, i);
		else
			v[i].i = (uint64_t)hop_array_i(x, i);
	return v;
}

/* Sums of floats are rounded once, at the end. */
static void product(const number *x, const side *l, const number *y, const side *r, hop_array *o)
{
	int64_t at = 0;
	bool real = hop_dtype_real(o->dtype);
	for (int64_t b = 0; b < l->nb; b++)
		for (int64_t i = 0; i < l->nf; i++)
			for (int64_t j = 0; j < r->nf; j++) {
				const number *u = x + l->b[b] + l->f[i], *v = y + r->b[b] + r->f[j];
				double f = 0;
				uint64_t w = 0;
				for (int64_t k = 0; real && k < l->ns; k++)
					f += u[l->s[k]].f * v[r->s[k]].f;
				for (int64_t k = 0; !real && k < l->ns; k++)
					w += u[l->s[k]].i * v[r->s[k]].i;
				if (real)
					hop_array_set_f(o, at++, f);
				else
					hop_array_set_i(o, at++, (int64_t)w);
			}
}

hop_status hop_eval_dot(hop_interp *p, const hop_node *n, hop_array *const *in,
                        hop_array **out)
{
	const struct hop_attr_dot *a = n->attr;
	hop_mark m = hop_mark_at(&p->env->tmp);
	side l = side_of(p, in[0], a->lbatch, a->lsum);
	side r = side_of(p, in[1], a->rbatch, a->rsum);
	hop_status st = HOP_OK;
	if (l.nb != r.nb || l.ns != r.ns || l.nb * l.nf * r.nf != out[0]->count)
		st = hop_fail(p->env, n->loc, HOP_EVALUE, "dot: batch axes of %lld and %lld "
		              "elements, summed axes of %lld and %lld", (long long)l.nb,
		              (long long)r.nb, (long long)l.ns, (long long)r.ns);
	else
		product(numbers(p, in[0]), &l, numbers(p, in[1]), &r, out[0]);
	hop_rewind(&p->env->tmp, m);
	return st;
}

/* ---- derivatives ---- */

static hop_val again(hop_build *b, const hop_rule *r, hop_val x, hop_val y)
{
	return hop_emit_dot_like(b, x, y, r->n->attr);
}

hop_status hop_jvp_dot(hop_build *b, hop_rule *r)
{
	hop_val s = HOP_ZERO;
	if (!hop_is_zero(r->din[0]))
		s = again(b, r, r->din[0], r->in[1]);
	if (!hop_is_zero(r->din[1]))
		s = hop_emit_acc(b, s, again(b, r, r->in[0], r->din[1]));
	r->dout[0] = s;
	return HOP_OK;
}

/* The cotangent of one operand, of its dtype. ct has the batch axes, then the free axes of this operand
 * and of the other in some order: those of the other begin at axis `skip` of ct. Summing
 * over them leaves batch, free and summed axes, which are put where they came from. */
static hop_val operand_ct(hop_build *b, hop_val ct, int rank, hop_ints batch, hop_ints sum,
                          hop_val other, int orank, hop_ints obatch, hop_ints osum, int skip)
{
	int64_t lead[HOP_MAXDIM], gone[HOP_MAXDIM], rest[HOP_MAXDIM], orest[HOP_MAXDIM];
	int64_t back[HOP_MAXDIM];
	int nfree = free_axes(batch, sum, rank, rest);
	int ofree = free_axes(obatch, osum, orank, orest);
	int n = 0;
	for (int64_t i = 0; i < batch.n; i++) {
		lead[i] = i;
		back[batch.v[i]] = n++;
	}
	for (int i = 0; i < nfree; i++)
		back[rest[i]] = n++;
	/* what the other operand keeps: its summed axes, in the order they have there */
	for (int a = 0; a < orank; a++)
		for (int64_t k = 0; k < osum.n; k++)
			if (osum.v[k] == a)
				back[sum.v[k]] = n++;
	for (int i = 0; i < ofree; i++)
		gone[i] = skip + i;
	hop_dtype d = (hop_dtype)hop_typeof(b, other)->dtype;
	other = hop_emit_cast(b, other, (hop_dtype)hop_typeof(b, ct)->dtype);
	hop_val v = hop_emit_dot(b, ct, other, (hop_ints){ batch.n, lead }, obatch,
	                         (hop_ints){ ofree, gone }, (hop_ints){ ofree, orest });
	v = hop_emit_cast(b, v, d);
	bool still = true;
	for (int i = 0; i < rank; i++)
		still = still && back[i] == i;
	return still ? v : hop_emit_permute(b, v, back);
}

hop_status hop_vjp_dot(hop_build *b, hop_rule *r)
{
	const struct hop_attr_dot *a = r->n->attr;
	int lrank = hop_typeof(b, r->in[0])->rank, rrank = hop_typeof(b, r->in[1])->rank;
	int nb = (int)a->lbatch.n, lfree = lrank - nb - (int)a->lsum.n;
	if (r->act[0])
		r->din[0] = operand_ct(b, r->dout[0], lrank, a->lbatch, a->lsum,
		                       r->in[1], rrank, a->rbatch, a->rsum, nb + lfree);
	if (r->act[1])
		r->din[1] = operand_ct(b, r->dout[0], rrank, a->rbatch, a->rsum,
		                       r->in[0], lrank, a->lbatch, a->lsum, nb);
	return HOP_OK;
}

/* ---- batching ---- */

/* Two batched operands have one more pair of batch axes, in front. If only one has lanes,
 * they are one more free axis of it: the other is read once for all lanes. */
hop_status hop_batch_dot(hop_build *b, hop_rule *r)
{
	const struct hop_attr_dot *a = r->n->attr;
	bool both = r->bin[0] && r->bin[1];
	int64_t v[4][HOP_MAXDIM];
	hop_ints lb = a->lbatch, ls = a->lsum, rb = a->rbatch, rs = a->rsum;
	if (r->bin[0]) {
		lb = hop_axes_shift(lb, both, v[0]);
		ls = hop_axes_shift(ls, false, v[1]);
	}
	if (r->bin[1]) {
		rb = hop_axes_shift(rb, both, v[2]);
		rs = hop_axes_shift(rs, false, v[3]);
	}
	hop_val o = hop_emit_dot_like(b, r->in[0], r->in[1],
	                              &(struct hop_attr_dot){ .lbatch = lb, .rbatch = rb, .lsum = ls,
	                                                      .rsum = rs, .dtype = a->dtype });
	if (both)
		return hop_rule_batched(b, r, o);
	int rank = r->type[r->n->out0.id]->rank + 1, from = (int)a->lbatch.n;
	if (r->bin[1])       /* its lanes come behind what is left of the left operand */
		from += r->type[r->n->in[0].id]->rank - (int)(a->lbatch.n + a->lsum.n);
	return hop_rule_batched(b, r, hop_axes_front(b, o, rank, from));
}
