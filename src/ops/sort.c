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
	hop_dtype     dtype, kept, index;    /* of x, of keys, of work */
	bool          down;
	int           rank, axis, nline;
	hop_size      n, lines[HOP_MAXRANK];
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
	return hop_lower_load(l, s->index, s->work.buf, place(l, s, r, k), l->q.cur);
}

static hop_reg key(hop_lower *l, struct line *s, hop_reg r, const hop_ix *k)
{
	return hop_lower_load(l, s->kept, s->keys.buf, place(l, s, r, k), l->q.cur);
}

static void put(hop_lower *l, struct line *s, hop_reg r, const hop_ix *k, hop_reg at, hop_reg v)
{
	const hop_ix *to = place(l, s, r, k);
	hop_lower_put(l, s->index, s->work.buf, to, at);
	hop_lower_put(l, s->kept, s->keys.buf, to, v);
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

/* The row that is in order when all levels ran that merge something. */
static hop_reg last_row(hop_lower *l, struct line *s)
{
	hop_reg n = hop_lower_sizereg(l, s->n), one = number(l, 1), ran = number(l, 0);
	const hop_ix *level = hop_lower_open(l, HOP_LOOP_RED, hop_size_int(levels(l, s->n)), NULL);
	hop_reg w = hop_lower_do(l, shl, HOP_i64, one, hop_lower_ixreg(l, level));
	w = hop_lower_to(l, HOP_i64, HOP_bool, hop_lower_do(l, lt, HOP_bool, w, n));
	ran = hop_lower_acc(l, HOP_RED_add, HOP_i64, ran, w);
	hop_lower_close(l);
	return hop_lower_do(l, and, HOP_i64, ran, one);
}

static void put_result(hop_lower *l, struct line *s, const hop_view *to, hop_reg row, const hop_ix *k)
{
	hop_reg r = hop_lower_to(l, HOP_i64, s->index, had(l, s, row, k));
	s->at[s->axis] = k;
	hop_lower_put(l, HOP_i64, to->buf, hop_view_at(l, to, s->rank, s->at), r);
}

/* A level above n merges nothing: its loop has no trips, and the rows keep their roles. */
static void sort_line(hop_lower *l, struct line *s, const hop_view *to)
{
	hop_size many = hop_size_int(levels(l, s->n));
	hop_reg n = hop_lower_sizereg(l, s->n), one = number(l, 1), zero = number(l, 0), w;
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

	row = last_row(l, s);
	k = hop_lower_open(l, HOP_LOOP_SEQ, s->n, NULL);
	put_result(l, s, to, row, k);
	hop_lower_close(l);
}

/* ---- for a device ---- */

/* The same merges, but every place of a level is computed by itself: it searches how many of the
 * elements before it come from the left run. Keys are integers in the order that is wanted, so that a
 * step of the search is one comparison. */

enum { SHORT = 2048 };           /* elements of a line that one block sorts */

static hop_dtype key_dtype(hop_dtype d)
{
	return hop_dtype_bytes(hop_dtype_computes(d)) == 8 ? HOP_i64 : HOP_i32;
}

/* Bits of a float are in its order but for those below zero, where all but the sign turn around. Both
 * zeros are equal; all NaNs are, and above infinity. */
static hop_reg float_key(hop_lower *l, hop_dtype d, hop_dtype t, hop_reg v)
{
	int64_t most = t == HOP_i64 ? INT64_MAX : INT32_MAX;
	hop_reg bits = hop_lower_do(l, bitcast, t, v), max = hop_lower_const(l, t, 0, most);
	hop_reg zero = hop_lower_const(l, t, 0, 0), zerof = hop_lower_const(l, d, 0, 0);
	hop_reg below = hop_lower_do(l, lt, HOP_bool, bits, zero);
	bits = hop_lower_do(l, select, t, below, hop_lower_do(l, xor, t, bits, max), bits);
	bits = hop_lower_do(l, select, t, hop_lower_do(l, eq, HOP_bool, v, zerof), zero, bits);
	return hop_lower_do(l, select, t, hop_lower_do(l, ne, HOP_bool, v, v), max, bits);
}

static hop_reg key_of(hop_lower *l, const struct line *s, hop_reg v)
{
	hop_dtype t = key_dtype(s->dtype), d = hop_dtype_computes(s->dtype);
	if (hop_dtype_bool(s->dtype))
		v = hop_lower_to(l, t, HOP_bool, v);
	else if (hop_dtype_float(s->dtype))
		v = float_key(l, d, t, v);
	return s->down ? hop_lower_do(l, xor, t, v, hop_lower_const(l, t, 0, -1)) : v;
}

static hop_reg count(hop_lower *l, const struct line *s, enum hop_sop sop, hop_reg x, hop_reg y)
{
	return hop_lower_op(l, sop, s->index, 2, (const hop_reg[]){ x, y });
}

static hop_reg known(hop_lower *l, const struct line *s, int64_t k)
{
	return hop_lower_const(l, s->index, 0, k);
}

static const hop_ix *element(hop_lower *l, const struct line *s, hop_reg at)
{
	return hop_ix_reg(l, hop_lower_to(l, HOP_i64, s->index, at), s->n);
}

/* Must the key at a, of the left run, stand before that at b? */
static hop_reg goes_first(hop_lower *l, struct line *s, hop_reg row, hop_reg a, hop_reg b)
{
	hop_reg x = key(l, s, row, element(l, s, a)), y = key(l, s, row, element(l, s, b));
	return hop_lower_do(l, le, HOP_bool, x, y);
}

/* Two runs that are merged: where they begin, how long they are; and a place of what they become. */
struct pair { hop_reg first, mid, left, right, at; };

static struct pair pair_at(hop_lower *l, struct line *s, const hop_ix *kx, hop_reg w)
{
	hop_reg n = hop_lower_to(l, s->index, HOP_i64, hop_lower_sizereg(l, s->n));
	hop_reg k = hop_lower_to(l, s->index, HOP_i64, hop_lower_ixreg(l, kx));
	hop_reg mask = count(l, s, HOP_SOP_sub, count(l, s, HOP_SOP_add, w, w), known(l, s, 1)), end;
	struct pair p = { .at = count(l, s, HOP_SOP_and, k, mask) };
	p.first = count(l, s, HOP_SOP_sub, k, p.at);
	p.mid = count(l, s, HOP_SOP_min, count(l, s, HOP_SOP_add, p.first, w), n);
	end = count(l, s, HOP_SOP_min, count(l, s, HOP_SOP_add, p.mid, w), n);
	p.left = count(l, s, HOP_SOP_sub, p.mid, p.first);
	p.right = count(l, s, HOP_SOP_sub, end, p.mid);
	return p;
}

/* How many of the first p->at are of the left run, which has at least one: i is if it goes before what
 * would be the last of the right one then. By steps h, .., 2, 1 from the least that it can be. */
static hop_reg split(hop_lower *l, struct line *s, hop_reg row, const struct pair *p, int64_t h)
{
	hop_reg zero = known(l, s, 0), one = known(l, s, 1);
	hop_reg none = hop_lower_do(l, le, HOP_bool, p->right, zero);
	/* a right run of none begins at n and is asked for nothing: any element will do */
	hop_reg mid = count(l, s, HOP_SOP_sub, p->mid, hop_lower_to(l, s->index, HOP_bool, none));
	hop_reg last = count(l, s, HOP_SOP_sub, count(l, s, HOP_SOP_add, mid, p->at), one);
	hop_reg most = count(l, s, HOP_SOP_sub, count(l, s, HOP_SOP_min, p->at, p->left), one);
	hop_reg i = count(l, s, HOP_SOP_max, zero, count(l, s, HOP_SOP_sub, p->at, p->right));
	for (; h; h /= 2) {
		hop_reg try = count(l, s, HOP_SOP_add, i, known(l, s, h - 1));
		hop_reg safe = count(l, s, HOP_SOP_max, count(l, s, HOP_SOP_min, try, most), zero);
		hop_reg is = goes_first(l, s, row, count(l, s, HOP_SOP_add, p->first, safe),
		                        count(l, s, HOP_SOP_sub, last, safe));
		is = hop_lower_do(l, and, HOP_bool, is, hop_lower_do(l, le, HOP_bool, try, most));
		hop_reg more = count(l, s, HOP_SOP_add, i, known(l, s, h));
		i = hop_lower_do(l, select, s->index, is, more, i);
	}
	return i;
}

/* Place k of a level that merges runs of w, at most `most`. */
static void merge_place(hop_lower *l, struct line *s, const hop_ix *kx, hop_reg w, hop_reg row,
                        int64_t most)
{
	struct pair p = pair_at(l, s, kx, w);
	hop_reg i = split(l, s, row, &p, most), j = count(l, s, HOP_SOP_sub, p.at, i), one = known(l, s, 1);
	hop_reg ends = hop_lower_do(l, le, HOP_bool, p.left, i);
	hop_reg end = hop_lower_do(l, le, HOP_bool, p.right, j);
	hop_reg a = count(l, s, HOP_SOP_add, p.first, i), b = count(l, s, HOP_SOP_add, p.mid, j), left;
	a = hop_lower_do(l, select, s->index, ends, count(l, s, HOP_SOP_sub, p.mid, one), a);
	b = hop_lower_do(l, select, s->index, end, p.first, b);
	left = hop_lower_do(l, or, HOP_bool, goes_first(l, s, row, a, b), end);
	left = hop_lower_do(l, and, HOP_bool, left, hop_lower_do(l, not, HOP_bool, ends));
	const hop_ix *from = element(l, s, hop_lower_do(l, select, s->index, left, a, b));
	hop_reg at = had(l, s, row, from), v = key(l, s, row, from);
	put(l, s, hop_lower_do(l, sub, HOP_i64, number(l, 1), row), kx, at, v);
}

/* Loops over lines, and which one it is; each time anew where a level is around them. */
static int open_lines(hop_lower *l, struct line *s, bool here)
{
	const hop_ix *x[HOP_MAXRANK];
	int n = here ? hop_lower_open_dims(l, s->nline, s->lines, x) : 0;
	for (int i = 0; here && i < s->nline; i++)
		s->at[i + (i >= s->axis)] = x[i];
	if (here)
		s->number = hop_ix_flat(l, s->nline, s->lines, x);
	return n;
}

static void put_first(hop_lower *l, struct line *s)
{
	int n = hop_lower_open_dims(l, 1, &s->n, &s->at[s->axis]);
	const hop_ix *k = s->at[s->axis];
	hop_reg v = hop_lower_load(l, s->dtype, s->x.buf, hop_view_at(l, &s->x, s->rank, s->at), s->there);
	hop_reg at = hop_lower_to(l, s->index, HOP_i64, hop_lower_ixreg(l, k));
	put(l, s, number(l, 0), k, at, key_of(l, s, v));
	hop_lower_close_n(l, n);
}

static void put_level(hop_lower *l, struct line *s, hop_reg w, hop_reg row, int64_t most,
                      hop_reg trips)
{
	const hop_ix *k = hop_lower_open(l, HOP_LOOP_PAR, s->n, NULL);
	l->q.cur->stmt->bound = trips;
	merge_place(l, s, k, w, row, most);
	hop_lower_close(l);
}

/* Of a number of elements that is not known, at most 2^many: a loop over levels, in which steps that are
 * too long for one find nothing. */
static void put_levels(hop_lower *l, struct line *s, int64_t many)
{
	hop_reg v = hop_lower_ixreg(l, hop_lower_open(l, HOP_LOOP_SEQ, hop_size_int(many), NULL));
	hop_reg n = hop_lower_sizereg(l, s->n), one = number(l, 1);
	hop_reg w = hop_lower_do(l, shl, HOP_i64, one, v);
	hop_reg row = hop_lower_do(l, and, HOP_i64, v, one), runs = hop_lower_do(l, lt, HOP_bool, w, n);
	hop_reg trips = hop_lower_do(l, select, HOP_i64, runs, n, number(l, 0));
	w = hop_lower_to(l, s->index, HOP_i64, w);
	int nloop = open_lines(l, s, true);
	put_level(l, s, w, row, (int64_t)1 << (many - 1), trips);
	hop_lower_close_n(l, nloop + 1);
}

/* A block takes a short line from beginning to end; of long ones all do a level together. */
static void sort_lines(hop_lower *l, struct line *s, const hop_view *to)
{
	int64_t small = l->opt->machine->small ? l->opt->machine->small : SHORT;
	bool is_known = hop_size_const(s->n), each = is_known && s->n.k <= small;
	int64_t many = levels(l, s->n);
	int outer = open_lines(l, s, each), nloop = open_lines(l, s, !each);
	const hop_ix *k;
	put_first(l, s);
	hop_lower_close_n(l, nloop);
	for (int64_t v = 0; is_known && v < many; v++) {
		nloop = open_lines(l, s, !each);
		put_level(l, s, known(l, s, (int64_t)1 << v), number(l, v & 1), (int64_t)1 << v, 0);
		hop_lower_close_n(l, nloop);
	}
	if (!is_known && many)
		put_levels(l, s, many);
	hop_reg row = is_known ? number(l, many & 1) : last_row(l, s);
	nloop = open_lines(l, s, !each) + hop_lower_open_dims(l, 1, &s->n, &k);
	put_result(l, s, to, row, k);
	hop_lower_close_n(l, nloop + outer);
}

static bool is_device(const hop_lower *l)
{
	return l->opt->machine && l->opt->machine->blocks;
}

static hop_status store(hop_lower *l, const hop_node *n)
{
	const struct hop_attr_argsort *a = HOP_ATTR(n, argsort);
	const hop_type *t = hop_lower_in(l, n, 0);
	struct line s = { .dtype = (hop_dtype)t->dtype, .down = a->down, .rank = t->rank,
	                  .axis = (int)a->axis, .n = t->dim[a->axis] };
	hop_view to = l->q.dest;
	hop_size work[3] = { hop_size_int(1), hop_size_int(2), s.n };
	HOP_TRY(hop_lower_arg_view(l, n, 0, false, &s.x));
	for (int i = 0; i < t->rank; i++)
		if (i != s.axis) {
			s.lines[s.nline++] = t->dim[i];
			work[0] = hop_size_mul(l->env, work[0], t->dim[i]);
		}
	s.kept = is_device(l) ? key_dtype(s.dtype) : s.dtype;
	s.index = is_device(l) && levels(l, s.n) < 30 ? HOP_i32 : HOP_i64;
	s.work = hop_lower_temp(l, hop_type_get(l->env, s.index, 3, work));
	s.keys = hop_lower_temp(l, hop_type_get(l->env, s.kept, 3, work));
	s.there = l->q.cur;
	if (is_device(l)) {
		sort_lines(l, &s, &to);
		return HOP_OK;
	}
	s.next = hop_lower_temp(l, hop_type_get(l->env, HOP_i64, 2, work));
	int nloop = open_lines(l, &s, true);
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
