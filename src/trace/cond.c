/* cond.c -- cond and switch, captured. Bodies get the caller's own handles, as in control.c;
 * what differs between them is brought together here. */
#include "trace/compose.h"
#include "trace/control.h"
#include "trace/strict.h"

#include <stdio.h>
#include <string.h>

const char *hop_choice_op(const hop_choice *c)
{
	return c->two ? "cond" : "switch";
}

/* fmt with the number of a branch in it, as long as the trace. */
static const char *branch_text(hop_trace *t, const char *fmt, int k)
{
	char s[48];
	int n = snprintf(s, sizeof s, fmt, k);
	return hop_arena_str(&t->arena, s, (size_t)n);
}

/* One element, as the dtype that the operator wants: not zero is true. */
static hop_val selector(hop_trace *t, const hop_choice *c)
{
	const char *name = c->two ? "the predicate" : "the index";
	hop_val p = c->two ? hop_promote_cast(t, c->sel, HOP_bool)
	                   : hop_promote_whole(t, c->sel, name);
	if (hop_is_bad(p))
		return p;
	const hop_type *type = hop_typeof(&t->b, p);
	if (!hop_size_is(hop_type_count(hop_env_of(t), type), 1)) {
		hop_trace_fail(t, HOP_ESHAPE, "%s: %s is %s, it must have one element", hop_choice_op(c),
		               name, hop_type_text(t, type));
		return HOP_BAD;
	}
	return type->rank ? hop_emit_reshape(&t->b, p, 0, NULL) : p;
}

/* ---- results of the branches ---- */

const char *hop_choice_word(hop_trace *t, const hop_choice *c, int k)
{
	return c->two ? k ? "else" : "then" : branch_text(t, "branch %d", k);
}

/* The dtype of result i: that of a branch that returns no number, else the widest. */
static hop_dtype common_dtype(const hop_choice *c, uint32_t i)
{
	hop_dtype d = HOP_bool;
	for (int k = 0; k < c->n; k++) {
		hop_trace *b = c->body[k];
		hop_dtype mine = (hop_dtype)hop_typeof(&b->b, b->out[i])->dtype;
		if (!b->slot[b->ret[i]].weak)
			return mine;
		d = hop_dtype_join(d, mine);
	}
	return d;
}

/* A number takes the dtype of what the other branches return. */
static bool unify(const hop_choice *c, uint32_t i, hop_val **v)
{
	hop_dtype d = common_dtype(c, i);
	for (int k = 0; k < c->n; k++) {
		hop_trace *b = c->body[k];
		if (b->slot[b->ret[i]].weak && hop_typeof(&b->b, v[k][i])->dtype != d)
			v[k][i] = hop_promote_cast(b, (hop_value){ b->serial, b->ret[i] }, d);
		if (b->b.st)
			return false;
	}
	return true;
}

static bool same_or_fail(hop_trace *t, const hop_choice *c, uint32_t i, int k,
                         const hop_type *a, const hop_type *b)
{
	if (a == b)
		return true;
	bool shape = a->dtype == b->dtype && a->rank == b->rank;
	if (shape && c->sized)
		return true;
	const char *more = c->block ? "" : c->two ? ", or use hop_cond_sized" :
	                   ", or use hop_switch_sized";
	const char *name = c->name ? c->name[i] : branch_text(t, "result %d", (int)i);
	hop_trace_fail(t, shape ? HOP_ESHAPE : HOP_ETYPE, "%s: %s is %s in %s, %s in %s: "
	               "%s%s", hop_choice_op(c), name, hop_type_text(t, a), hop_choice_word(t, c, 0),
	               hop_type_text(t, b), hop_choice_word(t, c, k),
	               shape ? "give both the same sizes" : "cast or reshape one of them",
	               shape ? more : "");
	return false;
}

/* The body that has the sizes of branch k as a capture knows them: a run knows more. */
static hop_trace *typed(const hop_choice *c, int k)
{
	return k == c->taken && c->again ? c->again : c->body[k];
}

static hop_size size_in(const hop_choice *c, int k, uint32_t i, int d)
{
	hop_trace *b = typed(c, k);
	return hop_typeof(&b->b, b->out[i])->dim[d];
}

/* The most that axis d of result i can have in branch k. */
static bool most_in(hop_trace *t, const hop_choice *c, int k, uint32_t i, int d, hop_size *out)
{
	if (hop_build_roof(&typed(c, k)->b, size_in(c, k, i, d), out))
		return true;
	hop_trace_fail(t, HOP_EREFUSED, "%s: result %u of %s has on axis %d a size that is only known "
	               "inside it, and nothing bounds it: give hop_as_size a range", hop_choice_op(c), i,
	               hop_choice_word(t, c, k), d);
	return false;
}

/* Pad result i of all to the largest sizes; counts of the axes that differ are added. */
static uint32_t pad_result(hop_trace *t, hop_choice *c, uint32_t i, hop_val **v, uint32_t ncount)
{
	hop_env *e = hop_env_of(t);
	hop_size cap[HOP_MAXRANK], zero[HOP_MAXRANK], most;
	int rank = hop_typeof(&c->body[0]->b, v[0][i])->rank;
	bool any = false;
	for (int d = 0; d < rank; d++) {
		bool differ = false;
		zero[d] = hop_size_int(0);
		for (int k = 0; k < c->n; k++) {
			hop_size mine = size_in(c, k, i, d);
			if (!most_in(t, c, k, i, d, &most))
				return ncount;
			differ |= !hop_size_eq(mine, most) || !hop_size_eq(mine, size_in(c, 0, i, d));
			cap[d] = k ? hop_size_max(e, cap[d], most) : most;
		}
		any |= differ;
		for (int k = 0; k < c->n && differ; k++)
			v[k][ncount] = hop_emit_size(&c->body[k]->b,
			                             hop_typeof(&c->body[k]->b, v[k][i])->dim[d]);
		if (differ)
			c->count[c->ncount++] = (struct hop_uneven){ i, d };
		ncount += differ;
	}
	for (int k = 0; k < c->n && any; k++)
		v[k][i] = hop_emit_pad(&c->body[k]->b, v[k][i], zero, cap, NULL);
	return ncount;
}

/* Bring the results of all branches together; o[] gets them. */
static bool merge(hop_trace *t, hop_choice *c)
{
	uint32_t n = c->body[0]->nret, total = n;
	hop_val **v = HOP_NEWN(&t->arena, hop_val *, c->n);
	for (int k = 0; k < c->n; k++) {
		if (c->body[k]->nret != n) {
			hop_trace_fail(t, HOP_ETYPE, "%s: %s gives %u results, %s gives %u", hop_choice_op(c),
			               hop_choice_word(t, c, 0), n, hop_choice_word(t, c, k),
			               c->body[k]->nret);
			return false;
		}
		v[k] = HOP_NEWN(&t->arena, hop_val, n * (1 + HOP_MAXRANK));
		memcpy(v[k], c->body[k]->out, n * sizeof **v);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!unify(c, i, v))
			return false;
		for (int k = 1; k < c->n; k++)
			if (!same_or_fail(t, c, i, k, hop_typeof(&c->body[0]->b, v[0][i]),
			                  hop_typeof(&c->body[k]->b, v[k][i])))
				return false;
	}
	c->count = HOP_NEWN(&t->arena, struct hop_uneven, n * HOP_MAXRANK);
	for (uint32_t i = 0; i < n && c->sized && !t->b.st; i++)
		total = pad_result(t, c, i, v, total);
	for (int k = 0; k < c->n && !t->b.st; k++) {
		c->o[k] = (hop_outs){ c->body[k], total, v[k] };
		if (c->body[k]->b.st)
			return false;
	}
	return !t->b.st;
}

/* ---- the operator ---- */

static void captured_end(hop_trace *t, void *arg)
{
	hop_choice *c = arg;
	hop_join j;
	const hop_val *operands;
	hop_val p = selector(t, c);
	if (hop_is_bad(p) || !merge(t, c) || !hop_call_room(t, c->o[0].n, c->io.cap))
		return;
	if (!hop_join_open(&j, t, c->n, c->o, c->io.nin, c->io.in))
		return;
	hop_join_syms(&j, 0, NULL);
	hop_layout l = hop_call_layout(&j, &operands);
	uint32_t nout = c->o[0].n + j.nw;
	const hop_graph **g = HOP_NEWN(&t->arena, const hop_graph *, c->n);
	for (int k = 0; k < c->n; k++)
		if (hop_join_seal(&j, k, &l, nout, hop_call_outs(&j, k, &c->o[k]), NULL, &g[k]))
			return;
	hop_val *res = HOP_NEWN(&t->arena, hop_val, nout);
	hop_sizes s = hop_join_sargs(&j);
	struct hop_attr_cond two = { .partition = c->partition };
	struct hop_attr_switch many = { .partition = c->partition, .branch = { c->n, g } };
	hop_node n = { .op = c->two ? HOP_OP_cond : HOP_OP_switch, .attr = &many };
	if (c->two)
		n.attr = &two;
	if (hop_emit_branches(&t->b, &n, g, s, p, operands, res))
		return;
	hop_join_wrote(&j, res + c->o[0].n);
	hop_call_publish(t, &c->io, c->o[0].n, res);
}

static bool open_lists(hop_trace *t, hop_choice *c)
{
	static const char *const two[] = { "the then branch of cond", "the else branch of cond" };
	if (c->n < 1 || (!c->fn && !c->block)) {
		hop_trace_fail(t, HOP_EUSE, "switch: there is no branch to choose from");
		return false;
	}
	c->what = HOP_NEWN(&t->arena, const char *, c->n);
	c->body = HOP_NEWN(&t->arena, hop_trace *, c->n);
	c->o = HOP_NEWN(&t->arena, hop_outs, c->n);
	for (int k = 0; k < c->n; k++) {
		c->what[k] = c->block ? c->block :
		             c->two ? two[k] : branch_text(t, "branch %d of switch", k);
		if (!c->block && !c->fn[k]) {
			hop_trace_fail(t, HOP_EUSE, "%s: no function was given for %s", t->op, c->what[k]);
			return false;
		}
	}
	return true;
}

/* All functions must be there, although an eager call runs only one of them. */
void hop_choice_begin(hop_trace *t, void *arg)
{
	hop_choice *c = arg;
	c->taken = -1;
	if (!hop_call_lists(t, &c->io) || !open_lists(t, c))
		return;
	hop_val p = selector(t, c);
	if (hop_is_bad(p) || !t->eager)
		return;
	hop_eager_settle(t);
	if (t->b.st)
		return;
	int64_t k = hop_array_i(hop_eager_array(t, p), 0);
	c->taken = c->two ? !k : k < 0 ? 0 : k < c->n ? (int)k : c->n - 1;
}

static void eager_end(hop_trace *t, void *arg)
{
	hop_choice *c = arg;
	c->io.n = hop_eager_results(t, c->body[c->taken], c->io.cap, c->io.out);
}

/* A number that the branch taken returns has the dtype that the others return. */
static bool gives_number(const hop_trace *body)
{
	for (uint32_t i = 0; i < body->nret; i++)
		if (body->slot[body->ret[i]].weak)
			return true;
	return false;
}

/* The branches not taken are captured for their types only, and dropped; then the results of
 * the other are cast and padded as capture would do it. */
static void eager_merged_end(hop_trace *t, void *arg)
{
	hop_choice *c = arg;
	hop_trace *ran = c->body[c->taken];
	if (!merge(t, c))
		return;
	hop_eager_settle(ran);
	if (ran->b.st) {
		t->b.st = ran->b.st;
		return;
	}
	ran->out = (hop_val *)c->o[c->taken].v;
	ran->nret = c->o[c->taken].n;
	eager_end(t, c);
}

int hop_choice_next(const hop_choice *c)
{
	int i = c->nrun;
	if (i == c->n || (i && c->taken >= 0 && !c->sized && !gives_number(c->body[c->taken])))
		return -1;
	return c->taken < 0 ? i : i == 0 ? c->taken : i <= c->taken ? i - 1 : i;
}

/* Results that were padded, as views of what is there. */
static void cut(hop_trace *t, hop_choice *c, const hop_call_io *to)
{
	int n = c->io.n - c->ncount;
	hop_value *v = c->io.out;
	c->io.n = 0;
	if (t->b.st || !hop_call_room(t, (uint32_t)n, to->cap))
		return;
	for (int i = 0; i < c->ncount && !t->b.st; i++) {
		struct hop_uneven u = c->count[i];
		hop_range r = hop_size_range(hop_value_type(t, v[u.of])->dim[u.axis], t->b.range,
		                             (int)(t->b.nsym + t->b.nlocal));
		hop_size s = hop_sized(t, hop_value_read(t, v[n + i]), (hop_range){ 0, r.hi });
		v[u.of] = t->b.st ? v[u.of] : hop_narrowed(t, v[u.of], u.axis, hop_size_int(0), s, 1);
	}
	for (int i = 0; i < n; i++)
		to->out[i] = v[i];
	c->io.n = t->b.st ? 0 : n;
}

void hop_choice_end(hop_trace *t, void *arg)
{
	hop_choice *c = arg;
	hop_call_io io = c->io;
	if (!hop_strict_choice(t, c))
		return;
	if (c->exact) {
		c->io.cap = (int)c->body[0]->nret * (1 + HOP_MAXRANK);
		c->io.out = HOP_NEWN(&t->arena, hop_value, c->io.cap);
	}
	if (c->taken < 0)
		captured_end(t, c);
	else if (c->nrun > 1)
		eager_merged_end(t, c);
	else
		eager_end(t, c);
	if (c->exact)
		cut(t, c, &io);
}

static int choose(hop_trace *t, const char *file, int line, hop_choice *c, void *user)
{
	t = hop_here(t);
	if (!hop_enter(t, hop_choice_op(c), file, line, hop_choice_begin, c))
		return 0;
	bool ok = true;
	for (int k; ok && (k = hop_choice_next(c)) >= 0; c->nrun++) {
		hop_body_args a = { .fn = c->fn[k], .user = user, .what = c->what[k],
		                    .n = c->io.nin, .in = c->io.in, .eager = c->taken == k };
		ok = (c->body[k] = hop_body_run(t, file, line, &a)) != NULL;
	}
	if (ok && c->sized && c->taken >= 0) {
		hop_body_args a = { .fn = c->fn[c->taken], .user = user, .what = c->what[c->taken],
		                    .n = c->io.nin, .in = c->io.in };
		ok = (c->again = hop_body_run(t, file, line, &a)) != NULL;
	}
	if (ok)
		hop_enter(t, NULL, file, line, hop_choice_end, c);
	hop_body_drop(c->again);
	for (int k = c->n; k-- > 0; )
		hop_body_drop(c->body[k]);
	return c->io.n;
}

int hop_at_cond(hop_trace *t, const char *file, int line, hop_value pred, hop_body *then_,
                hop_body *else_, void *user, int nin, const hop_value *in, int cap,
                hop_value *out)
{
	hop_body *const fn[2] = { then_, else_ };
	hop_choice c = { .io = { .nin = nin, .cap = cap, .in = in, .out = out }, .sel = pred,
	                    .two = true, .n = 2, .fn = fn };
	return choose(t, file, line, &c, user);
}

int hop_at_cond_sized(hop_trace *t, const char *file, int line, hop_value pred,
                      hop_body *then_, hop_body *else_, void *user, int nin,
                      const hop_value *in, int cap, hop_value *out)
{
	hop_body *const fn[2] = { then_, else_ };
	hop_choice c = { .io = { .nin = nin, .cap = cap, .in = in, .out = out }, .sel = pred,
	                    .two = true, .sized = true, .n = 2, .fn = fn };
	return choose(t, file, line, &c, user);
}

int hop_at_switch(hop_trace *t, const char *file, int line, hop_value index, int nbranch,
                  hop_body *const *branch, void *user, int nin, const hop_value *in, int cap,
                  hop_value *out)
{
	hop_choice c = { .io = { .nin = nin, .cap = cap, .in = in, .out = out }, .sel = index,
	                    .n = nbranch, .fn = branch };
	return choose(t, file, line, &c, user);
}

int hop_at_cond_exact(hop_trace *t, const char *file, int line, hop_value pred, hop_body *then_,
                      hop_body *else_, void *user, int nin, const hop_value *in, int cap,
                      hop_value *out)
{
	hop_body *const fn[2] = { then_, else_ };
	hop_choice c = { .io = { .nin = nin, .cap = cap, .in = in, .out = out }, .sel = pred,
	                 .two = true, .sized = true, .exact = true, .n = 2, .fn = fn };
	return choose(t, file, line, &c, user);
}

int hop_at_switch_sized(hop_trace *t, const char *file, int line, hop_value index, int nbranch,
                        hop_body *const *branch, void *user, int nin, const hop_value *in, int cap,
                        hop_value *out)
{
	hop_choice c = { .io = { .nin = nin, .cap = cap, .in = in, .out = out }, .sel = index,
	                 .sized = true, .n = nbranch, .fn = branch };
	return choose(t, file, line, &c, user);
}

int hop_at_switch_exact(hop_trace *t, const char *file, int line, hop_value index, int nbranch,
                        hop_body *const *branch, void *user, int nin, const hop_value *in, int cap,
                        hop_value *out)
{
	hop_choice c = { .io = { .nin = nin, .cap = cap, .in = in, .out = out }, .sel = index,
	                 .sized = true, .exact = true, .n = nbranch, .fn = branch };
	return choose(t, file, line, &c, user);
}

int hop_at_switch_partition(hop_trace *t, const char *file, int line, hop_value index, int nbranch,
                            hop_body *const *branch, void *user, int nin, const hop_value *in,
                            int cap, hop_value *out)
{
	hop_choice c = { .io = { .nin = nin, .cap = cap, .in = in, .out = out }, .sel = index,
	                    .partition = true, .n = nbranch, .fn = branch };
	return choose(t, file, line, &c, user);
}
