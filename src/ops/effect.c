/* effect.c -- print, assert and watch. The text of the first two has one {} for each operand shown.
 * They have no results, so derivatives pass them by; batching makes one effect of all lanes, with a
 * last operand `when` that says which lanes act. What is said is made here for the
 * interpreter and for compiled code; neither decides here when it runs. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "data/record.h"
#include "ops/ops.h"

/* The rows have the same attributes, so that one struct reads all of them. */
_Static_assert(sizeof(struct hop_attr_print) == sizeof(struct hop_attr_assert) &&
               offsetof(struct hop_attr_print, when) ==
               offsetof(struct hop_attr_assert, when), "print and assert are read alike");
_Static_assert(sizeof(struct hop_attr_print) == sizeof(struct hop_attr_watch) &&
               offsetof(struct hop_attr_print, text) == offsetof(struct hop_attr_watch, name) &&
               offsetof(struct hop_attr_print, when) == offsetof(struct hop_attr_watch, when),
               "print and watch are read alike");

/* The next {} in s[i..n), or n. */
static int64_t find_hole(hop_str s, int64_t i)
{
	for (; i + 1 < s.n; i++)
		if (s.s[i] == '{' && s.s[i + 1] == '}')
			return i;
	return s.n;
}

/* ---- types ---- */

/* The `when` operand has rank 0, or the dims of the lanes, which then lead all others. */
static hop_status check_when(hop_infer *f)
{
	const hop_type *w = f->in[f->nin - 1];
	if (!hop_dtype_bool((hop_dtype)w->dtype))
		return hop_infer_fail(f, HOP_ETYPE, "%s: `when` is %s, not bool", hop_opname(f),
		                      hop_dtype_name(w->dtype));
	for (uint32_t i = 0; i + 1 < f->nin; i++) {
		if (f->in[i]->rank < w->rank)
			return hop_infer_fail(f, HOP_ESHAPE,
			                      "%s: operand %u has rank %d, but `when` has %d",
			                      hop_opname(f), i, f->in[i]->rank, w->rank);
		for (int k = 0; k < w->rank; k++)
			if (!hop_infer_holds(f, HOP_EQ, w->dim[k], f->in[i]->dim[k]))
				HOP_TRY(hop_infer_equal(f, w->dim[k], f->in[i]->dim[k],
				                        hop_infer_text(f, "dimension %d is {0} in `when`, "
				                                       "{1} in operand %u", k, i)));
	}
	return HOP_OK;
}

/* first: operands before those that the text shows. */
static hop_status check_effect(hop_infer *f, uint32_t first)
{
	const struct hop_attr_print *a = f->attr;
	uint32_t want = 0;
	if (f->nin < first + (a->when != 0))
		return hop_infer_fail(f, HOP_ETYPE, "%s: %u operands, at least %u are needed",
		                      hop_opname(f), f->nin, first + (a->when != 0));
	if (a->when)
		HOP_TRY(check_when(f));
	uint32_t have = f->nin - first - (a->when != 0);
	for (int64_t i = find_hole(a->text, 0); i < a->text.n; i = find_hole(a->text, i + 2))
		want++;
	if (want != have)
		return hop_infer_fail(f, HOP_EVALUE, "%s: the text has %u {}, for %u operands",
		                      hop_opname(f), want, have);
	return HOP_OK;
}

/* print x... {text when} -- say the text, each {} replaced by an operand */
hop_status hop_infer_print(hop_infer *f)
{
	return check_effect(f, 0);
}

/* assert ok x... {text when} -- stop with the text unless every element of ok holds */
hop_status hop_infer_assert(hop_infer *f)
{
	HOP_TRY(check_effect(f, 1));
	if (!hop_dtype_bool((hop_dtype)f->in[0]->dtype))
		return hop_infer_fail(f, HOP_ETYPE, "assert: the condition is %s, not bool",
		                      hop_dtype_name(f->in[0]->dtype));
	return HOP_OK;
}

/* watch x {name when} -- record x under this name, in runs that have a record */
hop_status hop_infer_watch(hop_infer *f)
{
	const struct hop_attr_watch *a = f->attr;
	if (f->nin != 1 + (uint32_t)(a->when != 0))
		return hop_infer_fail(f, HOP_ETYPE, "watch: %u operands, but one value is watched at a time",
		                      f->nin);
	if (!a->name.n)
		return hop_infer_fail(f, HOP_EVALUE, "watch: the name is empty");
	return a->when ? check_when(f) : HOP_OK;
}

/* tick {what} -- a loop with watches in it begins (0), a trip of it does (1), it has ended (2)
 * Compilation puts them there, for the trips of what is recorded. */
hop_status hop_infer_tick(hop_infer *f)
{
	int64_t what = ((const struct hop_attr_tick *)f->attr)->what;
	if (what < 0 || what >= HOP_NTICK)
		return hop_infer_fail(f, HOP_EVALUE, "tick: what is %lld: 0, 1 or 2 it must be",
		                      (long long)what);
	return HOP_OK;
}

/* ---- text of a tensor ---- */

enum { SHOWN = 1000 };      /* elements shown in full */

static void put_element(hop_buf *b, const hop_operand *t, int64_t i)
{
	const void *p = (const char *)t->data + (size_t)i * hop_dtype_bytes(t->dtype);
	if (hop_dtype_real(t->dtype))
		hop_dtype_put_float(b, t->dtype, hop_elem_f(t->dtype, p));
	else
		hop_elem_print(b, t->dtype, p);
}

/* Axis k and those inside it: `count` elements from element `at` on. edge > 0: only so
 * many at either end of a long axis. */
static void put_axis(hop_buf *b, const hop_operand *t, int k, int64_t at, int64_t count,
                     int edge)
{
	if (k == t->rank) {
		put_element(b, t, at);
		return;
	}
	int64_t n = t->dim[k], below = n ? count / n : 0;
	hop_putc(b, '[');
	for (int64_t i = 0; i < n; i++) {
		if (i)
			hop_put(b, ", ");
		if (edge && i == edge && n > 2 * edge) {
			hop_put(b, "..., ");
			i = n - edge;
		}
		put_axis(b, t, k + 1, at + i * below, below, edge);
	}
	hop_putc(b, ']');
}

void hop_put_tensor(hop_buf *b, const hop_operand *t)
{
	int64_t count = 1;
	for (int k = 0; k < t->rank; k++)
		count *= t->dim[k];
	int edge = count <= SHOWN ? 0 : t->rank <= 3 ? 3 : 1;
	put_axis(b, t, 0, 0, count, edge);
}

/* ---- acting ---- */

/* Operand t without its `lead` leading axes, at lane number `lane`. */
static hop_operand in_lane(const hop_operand *t, int lead, int64_t lane)
{
	int64_t inner = 1;
	for (int k = lead; k < t->rank; k++)
		inner *= t->dim[k];
	hop_operand r = *t;
	r.rank = t->rank - lead;
	r.dim = t->dim + lead;
	r.data = (const char *)t->data + (size_t)(inner * lane) * hop_dtype_bytes(t->dtype);
	return r;
}

static bool all_true(const hop_operand *t)
{
	int64_t count = 1;
	for (int k = 0; k < t->rank; k++)
		count *= t->dim[k];
	for (int64_t i = 0; i < count; i++)
		if (!((const uint8_t *)t->data)[i])
			return false;
	return true;
}

/* "lane 3: ", or "lane 1,3: " when batched twice. */
static void put_lane(hop_buf *b, const hop_operand *when, int64_t lane)
{
	int64_t at[HOP_MAXRANK];
	if (!when || !when->rank)
		return;
	for (int k = when->rank - 1; k >= 0; k--) {
		at[k] = lane % when->dim[k];
		lane /= when->dim[k];
	}
	hop_put(b, "lane ");
	for (int k = 0; k < when->rank; k++)
		hop_putf(b, k ? ",%lld" : "%lld", (long long)at[k]);
	hop_put(b, ": ");
}

static void put_text(hop_buf *b, hop_str s, const hop_operand *in, int lead, int64_t lane)
{
	for (int64_t i = 0; i < s.n;) {
		int64_t hole = find_hole(s, i);
		hop_putn(b, s.s + i, (size_t)(hole - i));
		if (hole < s.n) {
			hop_operand t = in_lane(in++, lead, lane);
			hop_put_tensor(b, &t);
		}
		i = hole + 2;
	}
}

static hop_status say(hop_env *e, const hop_effect *f, const char *line)
{
	if (f->print) {
		if (f->print(f->print_user, line))
			return hop_fail(e, f->loc, HOP_EIO, "print: the receiver said stop");
	} else if (printf("%s\n", line) < 0) {
		return hop_fail(e, f->loc, HOP_EIO, "print: cannot write to the standard output");
	}
	return HOP_OK;
}

/* One lane. */
static hop_status act(hop_env *e, const hop_effect *f, const hop_operand *in,
                      const hop_operand *when, int64_t lane)
{
	int lead = when ? when->rank : 0;
	bool print = f->op == HOP_OP_print;
	if (!print) {
		hop_operand ok = in_lane(in, lead, lane);
		if (all_true(&ok))
			return HOP_OK;
	}
	hop_buf b;
	hop_buf_open(&b, e);
	hop_put(&b, "");
	put_lane(&b, when, lane);
	put_text(&b, f->text, print ? in : in + 1, lead, lane);
	hop_status st = print ? say(e, f, b.s)
	                      : hop_fail(e, f->loc, HOP_EASSERT, "assert: %s", b.s);
	hop_buf_free(&b);
	return st;
}

/* An operand as an array that is only read. */
static hop_array seen(const hop_operand *t)
{
	hop_array a = { .dtype = t->dtype, .rank = t->rank, .dense = true, .count = 1,
	                .data = (void *)(uintptr_t)t->data };
	for (int k = 0; k < t->rank; k++) {
		a.dim[k] = t->dim[k];
		a.count *= t->dim[k];
	}
	a.bytes = (size_t)a.count * hop_dtype_bytes(t->dtype);
	return a;
}

hop_status hop_effect_run(hop_env *e, const hop_effect *f, uint32_t nin,
                          const hop_operand *in)
{
	const hop_operand *when = f->when ? &in[nin - 1] : NULL;
	if (f->op == HOP_OP_watch) {
		hop_array v = seen(&in[0]), w = seen(when ? when : &in[0]);
		return hop_record_add(f->record, e, f->loc, f->text.s, (size_t)f->text.n, &v,
		                      when ? &w : NULL);
	}
	int64_t lanes = 1;
	for (int k = 0; when && k < when->rank; k++)
		lanes *= when->dim[k];
	for (int64_t i = 0; i < lanes; i++)
		if (!when || ((const uint8_t *)when->data)[i])
			HOP_TRY(act(e, f, in, when, i));
	return HOP_OK;
}

static hop_status eval_effect(hop_interp *p, const hop_node *n, hop_array *const *in)
{
	const struct hop_attr_print *a = n->attr;
	hop_mark m = hop_mark_at(&p->env->tmp);
	hop_operand *arg = HOP_NEWN(&p->env->tmp, hop_operand, n->nin);
	for (uint32_t i = 0; i < n->nin; i++)
		arg[i] = (hop_operand){ in[i]->dtype, in[i]->rank, in[i]->dim, in[i]->data };
	hop_effect f = { .op = n->op, .text = a->text, .when = a->when != 0, .loc = n->loc,
	                 .print = p->print, .print_user = p->print_user, .record = p->record };
	hop_status st = hop_effect_run(p->env, &f, n->nin, arg);
	hop_rewind(&p->env->tmp, m);
	return st;
}

hop_status hop_eval_print(hop_interp *p, const hop_node *n, hop_array *const *in,
                          hop_array **out)
{
	(void)out;
	return eval_effect(p, n, in);
}

hop_status hop_eval_assert(hop_interp *p, const hop_node *n, hop_array *const *in,
                           hop_array **out)
{
	(void)out;
	return eval_effect(p, n, in);
}

/* Where the interpreter is: what was set before it began, and the loops it is in. */
static void place(hop_interp *p)
{
	int64_t trip[HOP_RECORD_LOOPS];
	int n = 0;
	for (const hop_at *at = p->at; at; at = at->up)
		n += at->ran >= 0 && n < HOP_RECORD_LOOPS;
	int k = n;
	for (const hop_at *at = p->at; at && k; at = at->up)
		if (at->ran >= 0)
			trip[--k] = at->ran;
	hop_record_place(p->record, p->outer, n, trip);
}

hop_status hop_eval_watch(hop_interp *p, const hop_node *n, hop_array *const *in, hop_array **out)
{
	(void)out;
	if (!p->record)
		return HOP_OK;
	if (p->at || !p->outer)
		place(p);
	return eval_effect(p, n, in);
}

/* Only compiled code counts; the interpreter knows where it is. */
hop_status hop_eval_tick(hop_interp *p, const hop_node *n, hop_array *const *in, hop_array **out)
{
	(void)p, (void)n, (void)in, (void)out;
	return HOP_OK;
}

/* ---- batching ---- */

/* One effect for all lanes: every operand leads with the batch axis, and `when` is the
 * mask of active lanes; where there was a `when` already, both must hold. */
hop_status hop_batch_effect(hop_build *b, hop_rule *r)
{
	const hop_node *n = r->n;
	struct hop_attr_print a = *(const struct hop_attr_print *)n->attr;
	uint32_t shown = n->nin - (a.when != 0);
	hop_val when;
	hop_mark m = hop_mark_at(&b->env->tmp);
	hop_val *in = HOP_NEWN(&b->env->tmp, hop_val, n->nin + 1);
	for (uint32_t i = 0; i < n->nin; i++)
		in[i] = r->bin[i] ? r->in[i] : hop_emit_lead(b, r->in[i], r->bsize);
	if (a.when) {
		when = in[shown];
		if (!b->st && !hop_is_zero(r->mask))
			when = hop_emit(b, and, when,
			                hop_emit_match(b, r->mask, hop_typeof(b, when)));
	} else if (!hop_is_zero(r->mask)) {
		when = r->mask;
	} else {
		when = hop_emit_full(b, hop_type_get(b->env, HOP_bool, 1, &r->bsize), 1);
	}
	in[shown] = when;
	a.when = 1;
	hop_emit_op(b, n->op, &a, shown + 1, in);
	hop_rewind(&b->env->tmp, m);
	return b->st;
}

hop_status hop_batch_tick(hop_build *b, hop_rule *r)
{
	hop_emit_op(b, r->n->op, r->n->attr, 0, NULL);
	return b->st;
}
