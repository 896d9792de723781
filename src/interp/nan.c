/* nan.c -- where a NaN or an infinity was made. A value is as bad as the worst of its elements; an op
 * that gives worse than it got made it. What was made waits as a finished message until the run
 * ends, because it may not matter: a select leaves it out, or a lane that is not active had it. So
 * every value knows which birth its badness came from, a body keeps the births that its results
 * tell of and forgets the others, and the outermost graph reports the first. Changes no value. */
#include "interp/interp.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FINE, INFINITE, NANS, MOST = 256 };     /* MOST: births that wait at a time */

static int how_bad(double v)
{
	return isnan(v) ? NANS : isinf(v) ? INFINITE : FINE;
}

/* Is any of these other than finite? Told apart from the rest because it is asked most. */
static bool all_fine(const hop_array *a)
{
	double d = 0;
	float f = 0;
	if (a->dtype == HOP_f64) {
		for (int64_t i = 0; i < a->count; i++)
			d += ((const double *)a->data)[i] * 0;
		return d == 0;
	}
	if (a->dtype == HOP_f32) {
		for (int64_t i = 0; i < a->count; i++)
			f += ((const float *)a->data)[i] * 0;
		return f == 0;
	}
	return !hop_dtype_real(a->dtype);
}

int hop_array_worst(const hop_array *a, int64_t *out_at)
{
	int worst = FINE;
	*out_at = 0;
	if (all_fine(a))
		return FINE;
	for (int64_t i = 0; i < a->count && worst < NANS; i++) {
		int is = how_bad(hop_array_f(a, i));
		if (is > worst) {
			worst = is;
			*out_at = i;
		}
	}
	return worst;
}

/* ---- the message ---- */

static void put_number(hop_buf *b, const hop_array *a, int64_t i)
{
	if (hop_dtype_real(a->dtype))
		hop_dtype_put_float(b, a->dtype, hop_array_f(a, i));
	else
		hop_putf(b, "%lld", (long long)hop_array_i(a, i));
}

/* "element [1, 2] of f64[3, 4]"; not of scalars. */
static void put_place(hop_buf *b, const hop_array *a, int64_t i)
{
	int64_t at[HOP_MAXRANK];
	for (int k = a->rank - 1; k >= 0; k--) {
		at[k] = i % a->dim[k];
		i /= a->dim[k];
	}
	hop_put(b, "element [");
	for (int k = 0; k < a->rank; k++)
		hop_putf(b, k ? ", %lld" : "%lld", (long long)at[k]);
	hop_putf(b, "] of %s", hop_dtype_name(a->dtype));
	for (int k = 0; k < a->rank; k++)
		hop_putf(b, "%s%lld%s", k ? ", " : "[", (long long)a->dim[k], k == a->rank - 1 ? "]" : "");
}

/* What the elements of an operand that is mixed were like. */
static void put_span(hop_buf *b, const hop_array *a)
{
	int64_t lo = 0, hi = 0;
	for (int64_t i = 1; i < a->count; i++) {
		lo = hop_array_f(a, i) < hop_array_f(a, lo) ? i : lo;
		hi = hop_array_f(a, i) > hop_array_f(a, hi) ? i : hi;
	}
	if (!a->count) {
		hop_put(b, "nothing");
		return;
	}
	put_number(b, a, lo);
	if (lo != hi) {
		hop_put(b, " .. ");
		put_number(b, a, hi);
	}
}

static void put_operands(hop_buf *b, const hop_node *n, hop_array *const *in, int64_t at)
{
	bool same = hop_optab[n->op].flags & HOP_F_E;
	for (uint32_t i = 0; i < n->nin; i++) {
		hop_put(b, !i ? "from " : i + 1 < n->nin ? ", " : " and ");
		if (same)
			put_number(b, in[i], at);
		else
			put_span(b, in[i]);
	}
}

/* "branch 2 of switch", "body of scan". */
static void put_body(hop_buf *b, const hop_at *at)
{
	hop_graphs sub = hop_node_subs(at->n);
	const char *op = hop_optab[at->n->op].name, *name = "body";
	int64_t k = 0;
	while (k < sub.n && sub.v[k] != at->body)
		k++;
	const hop_field *f = k < sub.n ? hop_node_subfield(at->n, (int)k) : NULL;
	if (f)
		name = f->name;
	size_t len = strlen(name);
	hop_putn(b, name, len - (name[len - 1] == '_'));
	if (f && f->kind == HOP_AK_graphs)
		hop_putf(b, " %lld", (long long)k);
	hop_putf(b, " of %s", op);
}

static void note_places(hop_interp *p)
{
	for (const hop_at *at = p->at; at; at = at->up) {
		hop_buf b;
		hop_buf_open(&b, p->env);
		hop_put(&b, "in ");
		put_body(&b, at);
		if (at->trip >= 0)
			hop_putf(&b, ", trip %lld", (long long)at->trip);
		hop_note(p->env, at->n->loc, "%s", b.s);
		hop_buf_free(&b);
	}
}

/* The failure that element `at` of result `out` of node n is, as the env's. from: the birth that an
 * operand's badness came from, or NULL. */
static void describe(hop_interp *p, const hop_node *n, hop_array *const *in, const hop_array *out,
                     int64_t at, const hop_birth *from)
{
	hop_env *e = p->env;
	const char *of = hop_loc_of(e->ctx, n->loc);
	hop_buf b;
	hop_buf_open(&b, e);
	put_number(&b, out, at);
	if (out->rank) {
		hop_put(&b, " in ");
		put_place(&b, out, at);
		hop_putc(&b, ',');
	}
	hop_putc(&b, ' ');
	put_operands(&b, n, in, at);
	if (of)
		hop_putf(&b, ", in the derivative of %s", of);
	hop_fail(e, n->loc, HOP_ENAN, "%s: makes %s", hop_optab[n->op].name, b.s);
	hop_buf_free(&b);
	note_places(p);
	if (from)
		hop_note(e, from->d.loc, "the infinity was made here, by %s", from->op);
}

/* ---- births ---- */

static void forget(hop_interp *p, hop_birth *b)
{
	if (b->d.text)
		hop_raw_free(&p->env->mem, b->d.text, b->d.len + 1);
	b->d = (hop_diag){ 0 };
}

static void forget_from(hop_interp *p, uint32_t n)
{
	while (p->nborn > n)
		forget(p, &p->born[--p->nborn]);
}

hop_status hop_nan_of(hop_ctx *c, const char *op, hop_run_opts *o)
{
	char text[100];
	if (!o->nan)
		o->nan = hop_ctx_nan(c);
	if ((unsigned)o->nan <= HOP_NAN_ANY)
		return HOP_OK;
	int n = snprintf(text, sizeof text, "error: %s: option nan is %d: it is a hop_nan, at most %d", op,
	                 (int)o->nan, HOP_NAN_ANY);
	hop_ctx_set_message(c, &(hop_diag){ .st = HOP_EVALUE, .text = text, .len = (size_t)n });
	return HOP_EVALUE;
}

void hop_births_fini(hop_interp *p)
{
	forget_from(p, 0);
	hop_raw_free(&p->env->mem, p->born, p->borncap * sizeof *p->born);
	p->born = NULL;
	p->borncap = 0;
}

/* One more that waits: its number plus one. Past MOST of them the first ones are enough. */
static uint32_t add(hop_interp *p, const hop_node *n, hop_array *const *in, const hop_array *out,
                    int64_t at, uint32_t from)
{
	hop_env *e = p->env;
	uint8_t is = (uint8_t)how_bad(hop_array_f(out, at));
	if (p->nborn == MOST)
		return MOST;
	if (!p->born) {
		p->born = hop_raw_new(e, MOST * sizeof *p->born);
		p->borncap = MOST;
	}
	hop_diag before = e->diag;
	e->diag = (hop_diag){ 0 };
	describe(p, n, in, out, at, from && p->born[from - 1].worst < is ? &p->born[from - 1] : NULL);
	p->born[p->nborn] = (hop_birth){ e->diag, hop_optab[n->op].name, is };
	e->diag = before;
	return ++p->nborn;
}

/* The birth becomes the failure of the run. */
static hop_status report(hop_interp *p, uint32_t birth)
{
	hop_diag_clear(p->env);
	p->env->diag = p->born[birth].d;
	p->born[birth].d = (hop_diag){ 0 };
	return HOP_ENAN;
}

/* The first element of result `out` that is worse than what stood at its place in the operands, a
 * NaN before an infinity; or anywhere in them, if the op mixes elements. -1 = none. */
static int64_t find_birth(const hop_node *n, hop_array *const *in, const hop_array *out, int worst)
{
	bool host = hop_optab[n->op].flags & HOP_F_W;  /* makes what it likes, of nothing too */
	int64_t at;
	if ((!n->nin && !host) || !worst)
		return -1;
	if (!(hop_optab[n->op].flags & HOP_F_E)) {
		int64_t any, count = 0;
		hop_array_worst(out, &at);
		for (uint32_t k = 0; k < n->nin; k++) {
			count += in[k]->count;
			if (hop_array_worst(in[k], &any) >= worst)
				return -1;
		}
		return count || host ? at : -1;        /* the greatest of nothing is -inf, and nobody's fault */
	}
	int64_t found = -1;
	for (at = 0; at < out->count; at++) {
		int is = how_bad(hop_array_f(out, at));
		for (uint32_t k = 0; is && k < n->nin; k++)
			if (hop_dtype_real(in[k]->dtype) && how_bad(hop_array_f(in[k], at)) >= is)
				is = FINE;
		if (is == worst)
			return at;
		if (is && found < 0)
			found = at;
	}
	return found;
}

/* Of the births that operands tell of the worst, of those the first; 0 = none. */
static uint32_t from_operands(const hop_interp *p, const hop_births *b, const hop_node *n)
{
	uint32_t from = 0;
	for (uint32_t k = 0; k < n->nin; k++) {
		uint32_t f = b->from[n->in[k].id];
		if (f && (!from || p->born[f - 1].worst > p->born[from - 1].worst ||
		          (p->born[f - 1].worst == p->born[from - 1].worst && f < from)))
			from = f;
	}
	return from;
}

void hop_births_open(hop_interp *p, const hop_graph *g, hop_array *const *in, hop_births *b)
{
	int64_t at;
	b->worst = HOP_NEWN(&p->env->tmp, uint8_t, g->nvalue);
	b->from = HOP_NEWN(&p->env->tmp, uint32_t, g->nvalue);
	b->first = p->nborn;
	for (uint32_t i = 0; i < g->nparam; i++)
		b->worst[i] = (uint8_t)hop_array_worst(in[i], &at);
}

/* A node with bodies: what they kept is where its results have it from. */
static void from_bodies(hop_interp *p, hop_births *b, const hop_node *n, uint32_t before)
{
	bool bad = false;
	uint32_t from = from_operands(p, b, n);
	if (p->nborn > before && (!from || p->born[from - 1].worst < NANS))
		from = before + 1;
	for (uint32_t k = 0; k < n->nout; k++) {
		bad |= b->worst[n->out0.id + k];
		b->from[n->out0.id + k] = b->worst[n->out0.id + k] ? from : 0;
	}
	if (!bad)
		forget_from(p, before);
}

hop_status hop_births_node(hop_interp *p, hop_births *b, const hop_node *n, uint32_t before,
                           hop_array *const *in, hop_array *const *out)
{
	int64_t at;
	for (uint32_t k = 0; k < n->nout; k++)
		b->worst[n->out0.id + k] = (uint8_t)hop_array_worst(out[k], &at);
	if (hop_optab[n->op].flags & HOP_F_R) {
		from_bodies(p, b, n, before);
		return HOP_OK;
	}
	for (uint32_t k = 0; k < n->nout; k++) {
		uint32_t id = n->out0.id + k, from = b->worst[id] ? from_operands(p, b, n) : 0;
		at = find_birth(n, in, out[k], b->worst[id]);
		b->from[id] = at < 0 ? from : add(p, n, in, out[k], at, from);
		if (at >= 0 && p->nan == HOP_NAN_ANY)
			return report(p, b->from[id] - 1);
	}
	return HOP_OK;
}

/* Births since the graph began of which no result tells are forgotten. */
static void keep_some(hop_interp *p, const hop_births *b, const hop_graph *g)
{
	uint32_t n = b->first;
	for (uint32_t i = b->first; i < p->nborn; i++) {
		bool told = false;
		for (uint32_t k = 0; k < g->nout; k++)
			told |= b->from[g->out[k].id] == i + 1;
		if (!told) {
			forget(p, &p->born[i]);
			continue;
		}
		if (n != i) {
			p->born[n] = p->born[i];
			p->born[i].d = (hop_diag){ 0 };
		}
		n++;
	}
	p->nborn = n;
}

/* The first birth that a result tells of, of what the run looks for. */
static hop_status judge(hop_interp *p, const hop_births *b, const hop_graph *g,
                        hop_array *const *out)
{
	int least = p->nan == HOP_NAN_ONLY ? NANS : INFINITE;
	uint32_t first = 0, result = 0;
	for (uint32_t k = 0; k < g->nout; k++) {
		uint32_t from = b->from[g->out[k].id];
		if (from && b->worst[g->out[k].id] >= least && (!first || from < first)) {
			first = from;
			result = k;
		}
	}
	if (!first)
		return HOP_OK;
	int64_t at;
	hop_buf t;
	hop_status st = report(p, first - 1);
	hop_array_worst(out[result], &at);
	hop_buf_open(&t, p->env);
	put_number(&t, out[result], at);
	if (out[result]->rank) {
		hop_put(&t, " in ");
		put_place(&t, out[result], at);
	}
	hop_note(p->env, 0, "result %u is %s", result, t.s);
	hop_buf_free(&t);
	return st;
}

hop_status hop_births_close(hop_interp *p, hop_births *b, const hop_graph *g, hop_status st,
                            hop_array *const *out)
{
	if (st && p->at)
		return st;
	if (st) {
		if (st != HOP_ENAN && p->nborn)
			hop_note(p->env, 0, "before that, %s", p->born[0].d.text ? p->born[0].d.text : "");
	} else if (p->at) {
		keep_some(p, b, g);
		return HOP_OK;
	} else {
		st = judge(p, b, g, out);
	}
	forget_from(p, b->first);
	return st;
}

hop_status hop_births_single(hop_interp *p, const hop_node *n, hop_array *const *in,
                             hop_array *const *out)
{
	int64_t at;
	for (uint32_t k = 0; k < n->nout; k++) {
		at = find_birth(n, in, out[k], hop_array_worst(out[k], &at));
		if (at < 0 || (p->nan == HOP_NAN_ONLY && !isnan(hop_array_f(out[k], at))))
			continue;
		describe(p, n, in, out[k], at, NULL);
		return HOP_ENAN;
	}
	return HOP_OK;
}
