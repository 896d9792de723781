/* sort.c -- argsort: the order of the elements along an axis, in all its cells. It has no derivative:
 * an index does not move by little. Sorted values are a gather by it, which has. */
#include "loop/lower.h"
#include "ops/shape.h"

#include <math.h>

/* argsort x {axis down} -- the indices, i64, by which the elements along axis are in order: the
 * smallest first, or with down the largest. Equal ones keep their order; a NaN is larger than all */
hop_status hop_infer_argsort(hop_infer *f)
{
	int64_t axis = ((const struct hop_attr_argsort *)f->attr)->axis;
	const hop_type *t = f->in[0];
	HOP_TRY(hop_shape_axes(f, (hop_ints){ 1, &axis }, t->rank));
	return hop_shape_out(f, HOP_i64, t->rank, t->dim);
}

/* Must element j of x stand before element i? */
static bool before(const hop_array *x, int64_t j, int64_t i, bool down)
{
	if (!hop_dtype_float(x->dtype)) {
		int64_t v = hop_array_i(x, j), w = hop_array_i(x, i);
		return down ? v > w : v < w;
	}
	double v = hop_array_f(x, j), w = hop_array_f(x, i);
	return down ? v > w || (isnan(v) && !isnan(w)) : v < w || (isnan(w) && !isnan(v));
}

/* A line of n elements `step` apart: runs of 1, 2, 4 .. are merged from one half of `work` to the
 * other. Gives the half that is in order. */
static const int64_t *merge_line(const hop_array *x, int64_t first, int64_t step, int64_t n,
                                 bool down, int64_t *work)
{
	int64_t *from = work, *to = work + n;
	for (int64_t k = 0; k < n; k++)
		from[k] = k;
	for (int64_t w = 1; w < n; w *= 2) {
		for (int64_t start = 0; start < n; start += 2 * w) {
			int64_t mid = start + w < n ? start + w : n, end = mid + w < n ? mid + w : n;
			for (int64_t k = start, i = start, j = mid; k < end; k++)
				to[k] = j < end && (i >= mid || before(x, first + from[j] * step,
				                                       first + from[i] * step, down))
				        ? from[j++] : from[i++];
		}
		int64_t *other = from;
		from = to;
		to = other;
	}
	return from;
}

hop_status hop_eval_argsort(hop_interp *p, const hop_node *n, hop_array *const *in,
                            hop_array **out)
{
	const struct hop_attr_argsort *a = n->attr;
	const hop_array *x = in[0];
	int64_t inner = 1, size = x->dim[a->axis], twice = 2 * size;
	for (int i = (int)a->axis + 1; i < x->rank; i++)
		inner *= x->dim[i];
	hop_array *work = hop_interp_new(p, HOP_i64, 1, &twice);
	for (int64_t o = 0; size && o < x->count / size; o++) {
		int64_t first = o / inner * size * inner + o % inner;
		const int64_t *at = merge_line(x, first, inner, size, a->down, work->data);
		for (int64_t k = 0; k < size; k++)
			hop_array_set_i(out[0], first + k * inner, at[k]);
	}
	hop_interp_release(p, work);
	return HOP_OK;
}

hop_status hop_batch_argsort(hop_build *b, hop_rule *r)
{
	struct hop_attr_argsort a = *(const struct hop_attr_argsort *)r->n->attr;
	a.axis++;
	return hop_rule_batched(b, r, hop_emit_op(b, HOP_OP_argsort, &a, 1, r->in));
}

/* ---- code ---- */

/* One line while it is sorted. Rows 0 and 1 of work are what `from` and `to` are above, their
 * roles change from level to level; keys has the elements in the same order, so that memory is
 * read from front to end; next has the heads of the two runs that are being merged. Lines are
 * numbered there, whatever axes they lie along in x. */
struct line {
	hop_dtype     dtype;
	bool          down;
	int           rank, axis;
	hop_size      n;
	hop_view      x, work, keys, next;
	hop_scope    *there;
	const hop_ix *at[HOP_MAXRANK], *number;
};

static hop_reg number(hop_lower *l, int64_t k)
{
	return hop_lower_const(l, HOP_i64, 0, k);
}

/* Element k, below n, of row r, 0 or 1, of work or keys, which are laid out alike. */
static const hop_ix *place(hop_lower *l, struct line *s, hop_reg r, const hop_ix *k)
{
	const hop_ix *x[3] = { s->number, hop_ix_reg(l, r, hop_size_int(2)), k };
	return hop_view_at(l, &s->work, 3, x);
}

static hop_reg had(hop_lower *l, struct line *s, hop_reg r, const hop_ix *k)
{
	return hop_lower_load(l, HOP_i64, s->work.buf, place(l, s, r, k), l->q.cur);
}

static hop_reg key(hop_lower *l, struct line *s, hop_reg r, const hop_ix *k)
{
	return hop_lower_load(l, s->dtype, s->keys.buf, place(l, s, r, k), l->q.cur);
}

static void put(hop_lower *l, struct line *s, hop_reg r, const hop_ix *k, hop_reg at, hop_reg v)
{
	const hop_ix *to = place(l, s, r, k);
	hop_lower_put(l, HOP_i64, s->work.buf, to, at);
	hop_lower_put(l, s->dtype, s->keys.buf, to, v);
}

static const hop_ix *head(hop_lower *l, struct line *s, int which)
{
	const hop_ix *x[2] = { s->number, hop_ix_size(l, hop_size_int(which)) };
	return hop_view_at(l, &s->next, 2, x);
}

/* v < w, a NaN being larger than all; of bools false is. */
static hop_reg is_less(hop_lower *l, struct line *s, hop_reg v, hop_reg w)
{
	if (hop_dtype_bool(s->dtype))
		return hop_lower_do(l, and, HOP_bool, hop_lower_do(l, not, HOP_bool, v), w);
	hop_reg is = hop_lower_do(l, lt, HOP_bool, v, w);
	if (!hop_dtype_float(s->dtype))
		return is;
	hop_reg late = hop_lower_do(l, and, HOP_bool, hop_lower_do(l, ne, HOP_bool, w, w),
	                            hop_lower_do(l, eq, HOP_bool, v, v));
	return hop_lower_do(l, or, HOP_bool, is, late);
}

/* Place k of a level that merges runs of w: the lesser of the two heads, of equal ones the left. */
static void merge_step(hop_lower *l, struct line *s, const hop_ix *kx, hop_reg w, hop_reg row)
{
	hop_reg k = hop_lower_ixreg(l, kx), n = hop_lower_sizereg(l, s->n), one = number(l, 1);
	hop_reg last = hop_lower_do(l, sub, HOP_i64, n, one);
	hop_reg in = hop_lower_do(l, and, HOP_i64, k, hop_lower_do(l, sub, HOP_i64,
	                          hop_lower_do(l, add, HOP_i64, w, w), one));
	hop_reg start = hop_lower_do(l, sub, HOP_i64, k, in);
	hop_reg mid = hop_lower_do(l, min, HOP_i64, hop_lower_do(l, add, HOP_i64, start, w), n);
	hop_reg end = hop_lower_do(l, min, HOP_i64, hop_lower_do(l, add, HOP_i64, mid, w), n);
	hop_reg fresh = hop_lower_do(l, eq, HOP_bool, in, number(l, 0));
	hop_reg i = hop_lower_load(l, HOP_i64, s->next.buf, head(l, s, 0), l->q.cur);
	hop_reg j = hop_lower_load(l, HOP_i64, s->next.buf, head(l, s, 1), l->q.cur);
	i = hop_lower_do(l, select, HOP_i64, fresh, start, i);
	j = hop_lower_do(l, select, HOP_i64, fresh, mid, j);
	hop_reg left = hop_lower_do(l, min, HOP_i64, i, last);
	hop_reg right = hop_lower_do(l, min, HOP_i64, j, last);
	const hop_ix *lx = hop_ix_reg(l, left, s->n), *rx = hop_ix_reg(l, right, s->n);
	hop_reg a = had(l, s, row, lx), b = had(l, s, row, rx);
	hop_reg va = key(l, s, row, lx), vb = key(l, s, row, rx);
	hop_reg less = s->down ? is_less(l, s, va, vb) : is_less(l, s, vb, va);
	less = hop_lower_do(l, or, HOP_bool, less, hop_lower_do(l, le, HOP_bool, mid, i));
	less = hop_lower_do(l, and, HOP_bool, less, hop_lower_do(l, lt, HOP_bool, j, end));
	put(l, s, hop_lower_do(l, sub, HOP_i64, one, row), kx,
	    hop_lower_do(l, select, HOP_i64, less, b, a),
	    hop_lower_do(l, select, hop_dtype_computes(s->dtype), less, vb, va));
	hop_reg step = hop_lower_to(l, HOP_i64, HOP_bool, less);
	hop_lower_put(l, HOP_i64, s->next.buf, head(l, s, 1), hop_lower_do(l, add, HOP_i64, j, step));
	hop_lower_put(l, HOP_i64, s->next.buf, head(l, s, 0),
	              hop_lower_do(l, add, HOP_i64, i, hop_lower_do(l, sub, HOP_i64, one, step)));
}

/* How many levels a line can have at most. */
static int64_t levels(hop_lower *l, hop_size n)
{
	int64_t most = hop_size_range(n, l->range, l->q.b.f->nsym + l->q.b.f->nlocal).hi, k = 0;
	while (k < 48 && ((int64_t)1 << k) < most)
		k++;
	return k;
}

/* A level above n merges nothing: its loop has no trips, and the rows keep their roles. */
static void sort_line(hop_lower *l, struct line *s, const hop_view *to)
{
	hop_size many = hop_size_int(levels(l, s->n));
	hop_reg n = hop_lower_sizereg(l, s->n), one = number(l, 1), zero = number(l, 0), w, ran;
	const hop_ix *k = hop_lower_open(l, HOP_LOOP_SEQ, s->n, NULL);
	s->at[s->axis] = k;
	put(l, s, zero, k, hop_lower_ixreg(l, k),
	    hop_lower_load(l, s->dtype, s->x.buf, hop_view_at(l, &s->x, s->rank, s->at), s->there));
	hop_lower_close(l);

	const hop_ix *level = hop_lower_open(l, HOP_LOOP_SEQ, many, NULL);
	hop_reg v = hop_lower_ixreg(l, level), row = hop_lower_do(l, and, HOP_i64, v, one);
	w = hop_lower_do(l, shl, HOP_i64, one, v);
	hop_reg trips = hop_lower_do(l, select, HOP_i64, hop_lower_do(l, lt, HOP_bool, w, n), n, zero);
	k = hop_lower_open(l, HOP_LOOP_SEQ, s->n, NULL);
	l->q.cur->stmt->bound = trips;
	merge_step(l, s, k, w, row);
	hop_lower_close(l);
	hop_lower_close(l);

	ran = zero;
	level = hop_lower_open(l, HOP_LOOP_RED, many, NULL);
	w = hop_lower_do(l, shl, HOP_i64, one, hop_lower_ixreg(l, level));
	w = hop_lower_to(l, HOP_i64, HOP_bool, hop_lower_do(l, lt, HOP_bool, w, n));
	ran = hop_lower_acc(l, HOP_RED_add, HOP_i64, ran, w);
	hop_lower_close(l);
	row = hop_lower_do(l, and, HOP_i64, ran, one);
	k = hop_lower_open(l, HOP_LOOP_SEQ, s->n, NULL);
	hop_reg r = had(l, s, row, k);
	s->at[s->axis] = k;
	hop_lower_put(l, HOP_i64, to->buf, hop_view_at(l, to, s->rank, s->at), r);
	hop_lower_close(l);
}

static hop_status store(hop_lower *l, const hop_node *n)
{
	const struct hop_attr_argsort *a = HOP_ATTR(n, argsort);
	const hop_type *t = hop_lower_in(l, n, 0);
	struct line s = { .dtype = (hop_dtype)t->dtype, .down = a->down, .rank = t->rank,
	                  .axis = (int)a->axis, .n = t->dim[a->axis] };
	hop_view to = l->q.dest;
	hop_size dim[HOP_MAXRANK], work[3] = { hop_size_int(1), hop_size_int(2), s.n };
	const hop_ix *x[HOP_MAXRANK];
	int rank = 0, nloop;
	HOP_TRY(hop_lower_arg_view(l, n, 0, false, &s.x));
	for (int i = 0; i < t->rank; i++)
		if (i != s.axis) {
			dim[rank++] = t->dim[i];
			work[0] = hop_size_mul(l->env, work[0], t->dim[i]);
		}
	s.work = hop_lower_temp(l, hop_type_get(l->env, HOP_i64, 3, work));
	s.keys = hop_lower_temp(l, hop_type_get(l->env, s.dtype, 3, work));
	s.next = hop_lower_temp(l, hop_type_get(l->env, HOP_i64, 2, work));
	s.there = l->q.cur;
	nloop = hop_lower_open_dims(l, rank, dim, x);
	for (int i = 0; i < rank; i++)
		s.at[i + (i >= s.axis)] = x[i];
	s.number = hop_ix_flat(l, rank, dim, x);
	sort_line(l, &s, &to);
	hop_lower_close_n(l, nloop);
	return HOP_OK;
}

hop_status hop_lower_argsort(hop_lower *l, const hop_node *n)
{
	if (l->q.ask == HOP_ASK_STORE)
		return store(l, n);
	hop_lower_must(l);
	return HOP_OK;
}
