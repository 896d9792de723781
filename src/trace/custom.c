/* custom.c -- functions with their own derivative: the public call, which runs the bodies. How they
 * become graphs is custom_close.c. An input that fwd writes has its new value outside, too. */
#include "trace/custom.h"

#include <string.h>

static bool rule_there(hop_trace *t, const hop_custom_rule *r)
{
	if (!r->fwd || (!r->bwd && !r->jvp))
		hop_trace_fail(t, HOP_EUSE, "custom: fwd must be given, and bwd or jvp");
	else if (r->batch && r->lanewise)
		hop_trace_fail(t, HOP_EUSE, "custom: batch and lanewise are two ways to be batched: leave "
		               "out one");
	return !t->b.st;
}

static void custom_begin(hop_trace *t, void *arg)
{
	hop_custom_call *c = arg;
	if (!hop_trace_opts(t, c->given, &c->rule, sizeof c->rule) || !rule_there(t, &c->rule))
		return;
	if (c->nin < 0 || (c->nin && !c->in) || c->cap < 0 || (c->cap && !c->out)) {
		hop_trace_fail(t, HOP_EUSE, "custom: a count is negative or a list is missing");
		return;
	}
	c->val = HOP_NEWN(&t->arena, hop_val, c->nin);
	c->type = HOP_NEWN(&t->arena, const hop_type *, c->nin);
	for (int i = 0; i < c->nin; i++) {
		c->val[i] = hop_value_read(t, c->in[i]);
		if (hop_is_bad(c->val[i]))
			return;
		c->type[i] = hop_typeof(&t->b, c->val[i]);
		c->nfloat += hop_type_diff(c->type[i]);
	}
	if (!t->eager) {
		/* a size that no run of t binds, only the batch body mentions; before any body has its own */
		if (c->rule.batch)
			c->lanes = hop_build_local(&t->b, (hop_range){ 0, HOP_SIZE_MAX }, NULL);
		return;
	}
	hop_eager_settle(t);
	c->ten = HOP_NEWN(&t->arena, hop_array *, c->nin);
	for (int i = 0; i < c->nin && !t->b.st; i++)
		c->ten[i] = hop_eager_array(t, c->val[i]);
}

/* ---- what fwd gave ---- */

static bool marked(const hop_trace *f, uint32_t slot)
{
	for (uint32_t i = 0; i < f->nmark; i++)
		if (f->mark[i] == slot)
			return true;
	return false;
}

/* Every value that was marked is returned. Inputs have the first slots, one each. */
static bool marks_fit(hop_trace *t, const hop_custom_call *c)
{
	hop_trace *f = c->body[HOP_C_FWD];
	for (uint32_t i = 0; i < f->nmark; i++) {
		bool there = f->mark[i] < (uint32_t)c->nin && c->wrote[f->mark[i]];
		for (uint32_t k = 0; k < f->nret; k++)
			there |= f->ret[k] == f->mark[i];
		if (!there)
			hop_trace_fail(t, HOP_EUSE, "custom: hop_nondiff names a value that fwd does not "
			               "return");
	}
	return !t->b.st;
}

static void read_results(hop_trace *t, hop_custom_call *c)
{
	hop_trace *f = c->body[HOP_C_FWD];
	hop_arena *a = &t->arena;
	c->nres = f->nret;
	c->res = HOP_NEWN(a, hop_val, f->nret + (uint32_t)c->nin);
	c->diff = HOP_NEWN(a, bool, f->nret + (uint32_t)c->nin);
	c->wrote = HOP_NEWN(a, uint32_t, c->nin);
	for (uint32_t k = 0; k < f->nret; k++) {
		c->res[k] = f->out[k];
		c->diff[k] = hop_type_diff(hop_typeof(&f->b, f->out[k])) && !marked(f, f->ret[k]);
	}
	for (uint32_t i = 0; i < (uint32_t)c->nin; i++) {
		if (!f->store[i].version)
			continue;
		uint32_t k = 0;
		while (k < f->nret && !hop_same(f->out[k], f->store[i].cur))
			k++;
		if (k == f->nret) {
			k = c->nres++;
			c->res[k] = f->store[i].cur;
			c->diff[k] = hop_type_diff(c->type[i]) && !marked(f, i);
		}
		c->wrote[i] = k + 1;
	}
}

void hop_custom_read(hop_trace *t, hop_custom_call *c)
{
	hop_trace *f = c->body[HOP_C_FWD];
	read_results(t, c);
	if (!hop_custom_apart(t, c) || !marks_fit(t, c))
		return;
	if (f->nsave && !c->rule.bwd) {
		hop_trace_fail(t, HOP_EUSE, "custom: fwd saves %u values, but there is no bwd to take "
		               "them", f->nsave);
		return;
	}
	c->btype = HOP_NEWN(&t->arena, const hop_type *, f->nsave + c->nres);
	for (uint32_t i = 0; i < f->nsave; i++)
		c->btype[c->nb++] = hop_typeof(&f->b, f->save[i]);
	for (uint32_t i = 0; i < c->nres; i++)
		if (c->diff[i])
			c->btype[c->nb++] = hop_typeof(&f->b, c->res[i]);
	c->jtype = HOP_NEWN(&t->arena, const hop_type *, 2 * c->nin);
	for (int i = 0; i < c->nin; i++)
		c->jtype[c->nj++] = c->type[i];
	for (int i = 0; i < c->nin; i++)
		if (hop_type_diff(c->type[i]))
			c->jtype[c->nj++] = c->type[i];
}

bool hop_custom_apart(hop_trace *t, const hop_custom_call *c)
{
	const hop_trace *f = c->body[HOP_C_FWD];
	for (int i = 0; i < c->nin && !t->b.st; i++) {
		if (!c->wrote[i])
			continue;
		int64_t s = hop_slot_of(t, c->in[i]);
		uint32_t mine = t->slot[s].store;
		if (t->slot[s].weak)
			t->b.st = hop_fail(hop_env_of(t), f->store[i].wloc, HOP_EUSE, "custom: fwd writes input "
			                   "%d, which is a number: make a tensor of it with hop_full", i);
		for (int k = 0; k < c->nin && !t->b.st; k++)
			if (k != i && t->slot[hop_slot_of(t, c->in[k])].store == mine)
				t->b.st = hop_fail(hop_env_of(t), f->store[i].wloc, HOP_EREFUSED,
				                   "custom: fwd writes input %d, which is the same memory as input "
				                   "%d: pass a clone of one of them", i, k);
		for (size_t k = 0; k < f->nstore && !t->b.st; k++)
			if (f->store[k].owner != f &&
			    hop_store_mirror(t, f->store[k].owner, f->store[k].index) == mine)
				t->b.st = hop_fail(hop_env_of(t), f->store[i].wloc, HOP_EREFUSED,
				                   "custom: fwd writes input %d, and captures the same memory from "
				                   "outside: use the input, or capture a clone", i);
	}
	return !t->b.st;
}

static void fwd_done(hop_trace *t, void *arg)
{
	hop_custom_read(t, arg);
}

/* Inputs with lanes in front, and a bool for each. */
static void lane_types(hop_trace *t, void *arg)
{
	hop_custom_call *c = arg;
	hop_env *e = hop_env_of(t);
	c->ltype = HOP_NEWN(&t->arena, const hop_type *, 2 * c->nin);
	for (int i = 0; i < c->nin; i++) {
		if (c->type[i]->rank == HOP_MAXRANK) {
			hop_trace_fail(t, HOP_ESHAPE, "custom: input %d is %s: there is no room for lanes", i,
			               hop_type_text(t, c->type[i]));
			return;
		}
		c->ltype[i] = hop_type_prepend(e, c->type[i], hop_size_sym(e, c->lanes));
		c->ltype[c->nin + i] = hop_type_scalar(e, HOP_bool);
	}
}

/* ---- the call ---- */

/* What capture refuses, since a derivative would not see the write, is refused here too. */
static void eager_end(hop_trace *t, void *arg)
{
	hop_custom_call *c = arg;
	hop_trace *f = c->body[HOP_C_FWD];
	if (!hop_body_pure(t, f, "custom"))
		return;
	read_results(t, c);
	if (!hop_custom_apart(t, c) || !marks_fit(t, c))
		return;
	c->n = hop_eager_results(t, f, c->cap, c->out);
	for (int i = 0; i < c->nin && !t->b.st; i++)
		if (c->wrote[i]) {
			hop_array *x = hop_array_retain(hop_eager_array(f, f->store[i].cur));
			hop_slot_write(t, (uint32_t)hop_slot_of(t, c->in[i]), hop_eager_leaf(t, x));
		}
}

/* Eager traces keep no tape, so only fwd runs. */
static void run_eager(hop_trace *t, const char *file, int line, hop_custom_call *c, void *user)
{
	hop_body_args a = { .fn = c->rule.fwd, .user = user, .what = "the forward body of custom",
	                    .n = c->nin, .ten = c->ten, .eager = true, .in_custom = true };
	c->body[HOP_C_FWD] = hop_body_run(t, file, line, &a);
	if (c->body[HOP_C_FWD])
		hop_enter(t, NULL, file, line, eager_end, c);
}

static bool run_body(hop_trace *t, const char *file, int line, hop_custom_call *c, int k,
                     hop_body_args *a)
{
	c->body[k] = hop_body_run(t, file, line, a);
	return c->body[k] != NULL;
}

static void run_bodies(hop_trace *t, const char *file, int line, hop_custom_call *c, void *user)
{
	const hop_custom_rule *r = &c->rule;
	hop_body_args fwd = { .fn = r->fwd, .user = user, .what = "the forward body of custom",
	                      .n = c->nin, .type = c->type, .in_custom = true };
	if (!run_body(t, file, line, c, HOP_C_FWD, &fwd) ||
	    !hop_enter(t, NULL, file, line, fwd_done, c))
		return;
	hop_body_args bwd = { .fn = r->bwd, .user = user, .what = "the backward body of custom",
	                      .n = (int)c->nb, .type = c->btype, .in_rule = HOP_IN_BWD,
	                      .exempt = true };
	if (r->bwd && !run_body(t, file, line, c, HOP_C_BWD, &bwd))
		return;
	hop_body_args jvp = { .fn = r->jvp, .user = user, .what = "the jvp body of custom",
	                      .n = (int)c->nj, .type = c->jtype, .in_rule = HOP_IN_JVP,
	                      .exempt = true };
	if (r->jvp && !run_body(t, file, line, c, HOP_C_JVP, &jvp))
		return;
	if (r->batch) {
		if (!hop_enter(t, NULL, file, line, lane_types, c))
			return;
		hop_body_args batch = { .fn = r->batch, .user = user, .n = 2 * c->nin, .type = c->ltype,
		                        .what = "the batch body of custom" };
		if (!run_body(t, file, line, c, HOP_C_BATCH, &batch))
			return;
	}
	hop_enter(t, NULL, file, line, hop_custom_close, c);
}

int hop_at_custom(hop_trace *t, const char *file, int line, const hop_custom_rule *rule,
                  void *user, int nin, const hop_value *in, int cap, hop_value *out)
{
	hop_custom_call c = { .nin = nin, .in = in, .cap = cap, .out = out, .given = rule };
	t = hop_here(t);
	if (!hop_enter(t, "custom", file, line, custom_begin, &c))
		return 0;
	if (t->eager)
		run_eager(t, file, line, &c, user);
	else
		run_bodies(t, file, line, &c, user);
	for (int k = HOP_C_BODIES - 1; k >= 0; k--)
		hop_body_drop(c.body[k]);
	return c.n;
}
