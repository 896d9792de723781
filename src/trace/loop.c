/* loop.c -- while, captured. Bodies have the carries as parameters; what they capture comes
 * as constants, and what they write of it as further carries. Running loops eagerly, op by
 * op, is in eager_loop.c; scan is in scan.c. */
#include "trace/strict.h"

#include <stdio.h>
#include <string.h>

#include "hops/hops.h"

/* ---- shared with scan ---- */

/* What to do about a carry that is `have` at the end of a step. */
static const char *advice(hop_trace *t, const hop_carries *c, int i, const hop_type *have)
{
	char s[96];
	if (c->type[i]->rank == have->rank && c->number && c->number[i]) {
		snprintf(s, sizeof s, "it started as a number: start with hop_scalar(t, HOP_%s, ..)",
		         hop_dtype_name((hop_dtype)have->dtype));
		return hop_arena_str(&t->arena, s, strlen(s));
	}
	return have->dtype == c->type[i]->dtype ? "a carry keeps its sizes: give it a "
	                                              "capacity, and carry a count"
	                                        : "cast it, or start with that dtype";
}

bool hop_carry_check(hop_trace *t, hop_trace *body, const hop_carries *c, hop_val *v)
{
	const hop_type *const *type = c->type;
	for (int i = 0; i < c->n; i++) {
		const hop_cell *s = &body->slot[body->ret[i]];
		if (s->weak && !type[i]->rank)       /* a number takes the carry's dtype */
			v[i] = hop_promote_cast(body, (hop_value){ body->serial, body->ret[i] },
			                        (hop_dtype)type[i]->dtype);
		if (body->b.st)
			return false;
		const hop_type *have = hop_typeof(&body->b, v[i]);
		if (have == type[i])
			continue;
		bool shape = have->dtype == type[i]->dtype;
		t->b.st = hop_fail(hop_env_of(t), body->b.loc, shape ? HOP_ESHAPE : HOP_ETYPE,
		                   "%s: %s is %s when a step begins, %s when it ends: %s", c->op,
		                   hop_path_text(t, c->alone ? NULL : "carry", c->tree, i),
		                   hop_type_text(t, type[i]), hop_type_text(body, have),
		                   advice(t, c, i, have));
		hop_note(hop_env_of(t), body->site, "in %s", body->what);
		return false;
	}
	return true;
}

static void subst_all(hop_val *v, size_t n, const hop_val *map)
{
	for (size_t i = 0; i < n; i++)
		if (!hop_is_bad(v[i]))
			v[i] = map[v[i].id];
}

hop_val *hop_draft_map(hop_trace *body)
{
	hop_val *map = HOP_NEWN(&body->arena, hop_val, body->b.nvalue);
	for (uint32_t v = 0; v < body->b.nvalue; v++)
		map[v] = (hop_val){ v };
	return map;
}

/* The draft's own arena holds the lists of operands. */
void hop_draft_subst(hop_trace *body, const hop_val *map)
{
	for (size_t i = 0; i < body->b.nnode; i++)
		subst_all((hop_val *)body->b.node[i].in, body->b.node[i].nin, map);
	for (size_t i = 0; i < body->nstore; i++)
		subst_all(&body->store[i].cur, 1, map);
	for (size_t i = 0; i < body->nhook; i++) {
		subst_all(&body->hook[i].v, 1, map);
		subst_all(body->hook[i].cap, body->hook[i].ncap, map);
	}
	subst_all(body->out, body->nret, map);
	subst_all(&body->stop, 1, map);
}

void hop_params_renumber(hop_trace *body, const uint32_t *number)
{
	for (size_t i = 0; i < body->nleaf; i++)
		if (body->leaf[i].kind == HOP_LEAF_PARAM)
			body->leaf[i].index = number[body->leaf[i].index];
}

void hop_loop_lists(hop_join *j, struct hop_loop_lists *l, uint32_t ncarry,
                    const hop_val *init, uint32_t nx, const hop_type *const *xtype)
{
	hop_arena *a = &j->t->arena;
	uint32_t nc = ncarry + j->nw, n = nc + nx + j->nk;
	hop_val *carry = HOP_NEWN(a, hop_val, nc);
	const hop_type **ty = HOP_NEWN(a, const hop_type *, n);
	uint32_t *param = HOP_NEWN(a, uint32_t, ncarry + nx);
	for (uint32_t i = 0; i < nc; i++) {
		carry[i] = i < ncarry ? init[i] : j->wval[i - ncarry];
		ty[i] = hop_typeof(&j->t->b, carry[i]);
	}
	for (uint32_t i = 0; i < nx; i++)
		ty[nc + i] = xtype[i];
	for (uint32_t i = 0; i < j->nk; i++)
		ty[nc + nx + i] = j->ktype[i];
	for (uint32_t i = 0; i < ncarry + nx; i++)
		param[i] = i < ncarry ? i : i + j->nw;
	l->ncarry = nc;
	l->carry = carry;
	l->layout = (hop_layout){ .nparam = n, .type = ty, .param = param, .w0 = ncarry,
	                          .k0 = nc + nx };
}

hop_val *hop_loop_outs(hop_join *j, int body, uint32_t ncarry, uint32_t n, const hop_val *v,
                       hop_val stop)
{
	bool stops = !hop_is_bad(stop);
	hop_val *all = HOP_NEWN(&j->t->arena, hop_val, n + j->nw + stops);
	memcpy(all, v, ncarry * sizeof *all);
	memcpy(all + ncarry, j->wout[body], j->nw * sizeof *all);
	memcpy(all + ncarry + j->nw, v + ncarry, (n - ncarry) * sizeof *all);
	if (stops)
		all[n + j->nw] = stop;
	return all;
}

/* ---- while ---- */

#define SAME(here, there) \
	_Static_assert((int)HOP_LANES_##here == (int)HOP_HOW_##there, "in one order")
SAME(AUTO, auto);
SAME(FREEZE, freeze);
SAME(INTERCHANGE, interchange);
SAME(COMPACT, compact);
#undef SAME

void hop_while_begin(hop_trace *t, void *arg)
{
	struct hop_while_call *c = arg;
	if (c->ncarry < 0 || (c->ncarry && (!c->init || (!c->out && !c->block)))) {
		hop_trace_fail(t, HOP_EUSE, "while: a count is negative or a list is missing");
		return;
	}
	/* an eager loop might not come to the body */
	if (!c->block && (!c->test_fn || !c->body_fn)) {
		hop_trace_fail(t, HOP_EUSE, "while: no function was given for %s", c->test_fn ?
		               "the body of while" : "the test of while");
		return;
	}
	if (c->given && !hop_trace_opts(t, c->given, &c->opts, sizeof c->opts))
		return;
	if (c->opts.max_trips < 0) {
		hop_trace_fail(t, HOP_EVALUE, "while: max_trips is %lld",
		               (long long)c->opts.max_trips);
		return;
	}
	if (c->opts.slots < 0) {
		hop_trace_fail(t, HOP_EVALUE, "while: slots is %d: 0 keeps all, n > 0 as many states",
		               c->opts.slots);
		return;
	}
	if ((unsigned)c->opts.lanes >= HOP_NHOW) {
		hop_trace_fail(t, HOP_EVALUE, "while: lanes is %d: give one of enum hop_lanes_how",
		               (int)c->opts.lanes);
		return;
	}
	if (c->stacks && !c->block && !c->opts.max_trips) {
		hop_trace_fail(t, HOP_EVALUE, "while: what is stacked needs room: give max_trips in the "
		               "options");
		return;
	}
	if (c->stacks && !c->block && (c->cap < c->ncarry || (c->cap && !c->out))) {
		hop_trace_fail(t, HOP_EUSE, "while: %d carries, there is room for %d results", c->ncarry,
		               c->cap);
		return;
	}
	if (c->opts.carry && hop_tree_count(c->opts.carry) != c->ncarry) {
		hop_trace_fail(t, HOP_EUSE, "while: the tree names %d values, there are %d carries",
		               hop_tree_count(c->opts.carry), c->ncarry);
		return;
	}
	c->val = HOP_NEWN(&t->arena, hop_val, c->ncarry);
	c->type = HOP_NEWN(&t->arena, const hop_type *, c->ncarry);
	c->number = HOP_NEWN(&t->arena, bool, c->ncarry);
	c->store = HOP_NEWN(&t->arena, uint32_t, c->ncarry);
	for (int i = 0; i < c->ncarry && !t->b.st; i++) {
		c->store[i] = (uint32_t)i;
		c->val[i] = hop_value_read(t, c->init[i]);
		if (hop_is_bad(c->val[i]))
			return;
		c->type[i] = hop_typeof(&t->b, c->val[i]);
		c->number[i] = hop_cell_of(t, c->init[i])->weak;
	}
}

bool hop_while_test_ok(hop_trace *t, const struct hop_while_call *c, hop_trace *test)
{
	if (!hop_strict_test(t, c, test))
		return false;
	const hop_type *p = test->nret == 1 ? hop_typeof(&test->b, test->out[0]) : NULL;
	if (hop_type_is_scalar(p, HOP_bool))
		return true;
	if (p)
		t->b.st = hop_fail(hop_env_of(t), test->b.loc, HOP_ETYPE,
		                   "while: the test gives %s, a bool scalar it must be",
		                   hop_type_text(test, p));
	else
		t->b.st = hop_fail(hop_env_of(t), test->b.loc, HOP_ETYPE,
		                   "while: the test gives %u results, not one", test->nret);
	hop_note(hop_env_of(t), test->site, "in %s", test->what);
	return false;
}

bool hop_while_body_ok(hop_trace *t, struct hop_while_call *c, hop_trace *body)
{
	uint32_t nc = (uint32_t)c->ncarry;
	if (!hop_strict_while(t, c, body))
		return false;
	if (c->stacks && body->nret > (uint32_t)c->cap) {
		hop_trace_fail(t, HOP_EUSE, "%s: gives %u results, there is room for %d", c->op, body->nret,
		               c->cap);
		return false;
	}
	if (body->nret == nc || (c->stacks && body->nret > nc))
		return hop_carry_check(t, body, &(hop_carries){ c->op, c->ncarry, c->type, c->number,
		                                                c->opts.carry, c->block }, body->out);
	t->b.st = hop_fail(hop_env_of(t), body->b.loc, HOP_ETYPE,
	                   c->stacks ? "%s: the body gives %u results, fewer than the %d carries"
	                   : "%s: the body gives %u results for %d carries", c->op, body->nret,
	                   c->ncarry);
	hop_note(hop_env_of(t), body->site, "in %s", body->what);
	return false;
}

/* A test that writes: is one of its storages not as it was on entry? Its own parameters
 * count, since the body must see them. */
static bool writes(const hop_trace *test)
{
	for (size_t i = 0; i < test->nstore; i++)
		if (test->store[i].version &&
		    (test->store[i].owner != test || i < test->nparam))
			return true;
	return false;
}

/* Contents of the carries after the test ran. */
static hop_val *after_test(hop_trace *test, const struct hop_while_call *c)
{
	hop_val *v = HOP_NEWN(&test->arena, hop_val, 1 + c->ncarry);
	v[0] = test->out[0];
	for (int i = 0; i < c->ncarry; i++)
		v[1 + i] = test->store[c->store[i]].cur;
	return v;
}

/* The loop of a test that writes. The test runs once before, and then after each body; its
 * answer is one more carry:
 *	go, c = test(c); while (go) { c = body(c); go, c = test(c) }
 * test: (carries, consts) -> go, carries;  body: (carries, consts) -> carries, stacked. */
static hop_status fuse_test(hop_trace *t, const hop_graph *test, const hop_graph *body,
                            uint32_t ncarry, const hop_graph **out_test,
                            const hop_graph **out_body)
{
	hop_env *e = hop_env_of(t);
	hop_arena *a = &t->arena;
	const hop_graph **dst[2] = { out_test, out_body };
	uint32_t n = body->nparam;
	hop_size *s = HOP_NEWN(a, hop_size, body->nsym);
	for (uint32_t i = 0; i < body->nsym; i++)
		s[i] = hop_size_sym(e, (int)i);
	for (int k = 0; k < 2; k++) {
		hop_build b;
		hop_graph *g;
		uint32_t nout = k ? body->nout + 1 : 1;
		hop_val *in = HOP_NEWN(a, hop_val, n), *out = HOP_NEWN(a, hop_val, body->nout + 1);
		hop_val *res = HOP_NEWN(a, hop_val, test->nout);
		hop_build_open(&b, e);
		hop_build_syms_of(&b, body);
		for (uint32_t i = 0; i < ncarry; i++)
			in[i] = hop_build_param(&b, body->type[i]);
		hop_val go = hop_build_param(&b, hop_type_scalar(e, HOP_bool));
		for (uint32_t i = ncarry; i < n; i++)
			in[i] = hop_build_param(&b, body->type[i]);
		if (k) {
			hop_emit_inline(&b, body, s, in, out);
			memcpy(in, out, ncarry * sizeof *in);
			hop_emit_inline(&b, test, s, in, res);
			memmove(out + ncarry + 1, out + ncarry, (body->nout - ncarry) * sizeof *out);
			memcpy(out, res + 1, ncarry * sizeof *out);
			out[ncarry] = res[0];
		} else {
			out[0] = go;
		}
		HOP_TRY(hop_seal(&b, nout, out, NULL, &g));
		*dst[k] = g;
	}
	return HOP_OK;
}

void hop_loop_name(hop_trace *t, int op, bool reverse, uint32_t ncarry, const hop_tree *tree, int n)
{
	if (!tree || !(hop_look() & HOP_LOOK_GDB))
		return;
	const char **name = HOP_NEWN(&t->arena, const char *, n);
	for (int i = 0; i < n; i++) {
		char path[256];
		if (hop_tree_path(tree, i, path, sizeof path))
			name[i] = hop_arena_str(&t->arena, path, strlen(path));
	}
	hop_carry_names_set(hop_env_of(t), t->b.loc, op, reverse, ncarry, (uint32_t)n, name);
}

/* Operands and graphs are ready: emit, and give the results to storages and handles. */
static void emit_while(hop_trace *t, struct hop_while_call *c, hop_join *j,
                       struct hop_loop_lists *l, const hop_graph *test,
                       const hop_graph *body, bool fused)
{
	hop_arena *a = &t->arena;
	hop_sizes sargs = hop_join_sargs(j);
	hop_while_args w = { .test = test, .body = body, .sargs = sargs, .ncarry = l->ncarry,
	                     .nconst = j->nk, .max_trips = c->opts.max_trips, .slots = c->opts.slots,
	                     .how = (int64_t)c->opts.lanes, .konst = j->kval };
	hop_val *carry = HOP_NEWN(a, hop_val, l->ncarry + 1);
	uint32_t nstack = body->nout - l->ncarry;
	hop_val *res = HOP_NEWN(a, hop_val, l->ncarry + 2 + nstack);
	memcpy(carry, l->carry, l->ncarry * sizeof *carry);
	if (fused) {
		hop_val *in = HOP_NEWN(a, hop_val, l->ncarry + j->nk);
		memcpy(in, carry, l->ncarry * sizeof *in);
		memcpy(in + l->ncarry, j->kval, j->nk * sizeof *in);
		if (hop_call_here(t, test, sargs, in, res))
			return;
		memcpy(carry, res + 1, l->ncarry * sizeof *carry);
		carry[l->ncarry] = res[0];
		t->b.st = fuse_test(t, test, body, l->ncarry, &w.test, &w.body);
		w.ncarry++;
	}
	w.carry = carry;
	hop_loop_name(t, HOP_OP_while, false, w.ncarry, c->opts.carry, c->ncarry);
	if (t->b.st || hop_emit_while(&t->b, &w, res))
		return;
	hop_join_wrote(j, res + c->ncarry);
	for (int i = 0; i < c->ncarry; i++)
		c->out[i] = hop_value_new(t, res[i]);
	c->trips = hop_value_new(t, res[w.ncarry]);
	for (uint32_t i = 0; i < nstack; i++)
		c->out[c->ncarry + (int)i] = hop_value_new(t, res[w.ncarry + 1 + i]);
	c->n = t->b.st ? 0 : c->ncarry + (int)nstack;
}

void hop_while_end(hop_trace *t, void *arg)
{
	struct hop_while_call *c = arg;
	hop_trace *test = c->test, *body = c->body;
	hop_join j;
	struct hop_loop_lists l;
	const hop_graph *g[2];
	if (!hop_while_test_ok(t, c, test) || !hop_while_body_ok(t, c, body))
		return;
	bool fused = writes(test);
	uint32_t nc = (uint32_t)c->ncarry, n = body->nret;
	const hop_val *tv = fused ? after_test(test, c) : test->out;
	hop_outs o[2] = { { test, fused ? 1 + nc : 1, tv }, { body, n, body->out } };
	if (!hop_join_open(&j, t, 2, o, 0, NULL))
		return;
	hop_loop_lists(&j, &l, nc, c->val, 0, NULL);
	hop_join_syms(&j, l.layout.nparam, l.layout.type);
	hop_val *to = HOP_NEWN(&t->arena, hop_val, 1 + nc + j.nw);
	memcpy(to, tv, o[0].n * sizeof *to);
	if (fused)
		memcpy(to + 1 + nc, j.wout[0], j.nw * sizeof *to);
	if (hop_join_seal(&j, 0, &l.layout, fused ? 1 + nc + j.nw : 1, to, NULL, &g[0]) ||
	    hop_join_seal(&j, 1, &l.layout, n + j.nw,
	                  hop_loop_outs(&j, 1, nc, n, body->out, HOP_BAD), NULL, &g[1]))
		return;
	emit_while(t, c, &j, &l, g[0], g[1], fused);
}

static bool capture(hop_trace *t, const char *file, int line, struct hop_while_call *c)
{
	hop_body_args a = { .fn = c->test_fn, .user = c->user, .what = "the test of while",
	                    .n = c->ncarry, .type = c->type };
	c->test = hop_body_run(t, file, line, &a);
	a.fn = c->body_fn;
	a.what = c->what;
	if (c->test)
		c->body = hop_body_run(t, file, line, &a);
	bool ok = c->body && hop_enter(t, NULL, file, line, hop_while_end, c);
	hop_body_drop(c->body);
	hop_body_drop(c->test);
	return ok;
}

int hop_while_run(hop_trace *t, const char *file, int line, struct hop_while_call *c)
{
	t = hop_here(t);
	if (!hop_enter(t, c->op, file, line, hop_while_begin, c))
		return 0;
	if (!(t->eager ? hop_while_eager(t, file, line, c) : capture(t, file, line, c)))
		c->trips = HOP_NONE;
	return c->n;
}

int hop_at_while(hop_trace *t, const char *file, int line, hop_body *test, hop_body *body,
                 void *user, int ncarry, const hop_value *init, const hop_while_opts *opts,
                 hop_value *out, hop_value *out_trips)
{
	struct hop_while_call c = { .op = "while", .what = "the body of while", .test_fn = test,
	                            .body_fn = body, .user = user, .ncarry = ncarry, .init = init,
	                            .out = out, .given = opts };
	int n = hop_while_run(t, file, line, &c);
	if (out_trips)
		*out_trips = c.trips;
	return n;
}

int hop_at_while_stack_output(hop_trace *t, const char *file, int line, hop_body *test,
                              hop_body *body, void *user, int ncarry, const hop_value *init,
                              const hop_while_opts *opts, int cap, hop_value *out,
                              hop_value *out_trips)
{
	struct hop_while_call c = { .op = "while", .what = "the body of while", .test_fn = test,
	                            .body_fn = body, .user = user, .ncarry = ncarry, .init = init,
	                            .out = out, .given = opts, .stacks = true, .cap = cap };
	int n = hop_while_run(t, file, line, &c);
	if (out_trips)
		*out_trips = c.trips;
	return n;
}
