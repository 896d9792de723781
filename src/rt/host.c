/* host.c -- what running code asks of its host: longer tapes, threads, effects, checks it leaves to
 * us. Code that runs well asks nothing. */
#include <string.h>

#include "data/foreign.h"
#include "data/record.h"
#include "ops/ops.h"
#include "rt/exec.h"

/* On a device: to new memory there, in the order of the run. */
static void *grow_there(const hop_running *c, const struct hop_tape *t, int64_t cap)
{
	const hop_memory *mem = hop_code_memory(c->x->code);
	const hop_mem *m = &c->x->mem;
	void *p = mem->alloc(m, c->queue, (size_t)cap);
	if (!p || !t->bytes)
		return p;
	if (mem->copy(c->queue, p, t->ptr, (size_t)t->bytes)) {
		mem->free(m, c->queue, p, (size_t)cap);
		return NULL;
	}
	mem->free(m, c->queue, t->ptr, (size_t)t->bytes);
	return p;
}

static int grow(hop_rt *rt, int slot, int64_t bytes)
{
	hop_running *c = rt->user;
	const hop_mem *m = &c->x->mem;
	struct hop_tape *t = &rt->tape[slot];
	if (bytes <= t->bytes)
		return 0;
	int64_t cap = t->bytes ? 2 * t->bytes : 4096;
	cap = cap < bytes ? bytes : cap;
	void *p = hop_code_memory(c->x->code)->far ? grow_there(c, t, cap)
	          : m->fn(m->user, t->ptr, (size_t)t->bytes, (size_t)cap);
	if (!p) {
		c->st = HOP_ENOMEM;
		return 1;
	}
	t->ptr = p;
	t->bytes = cap;
	return 0;
}

static void fork_join(hop_rt *rt, void (*body)(void *, int64_t, int64_t), void *arg, int64_t n)
{
	hop_running *c = rt->user;
	if (c->x->pool)
		hop_pool_run(c->x->pool, body, arg, n);
	else if (c->x->parallel)
		c->x->parallel(c->x->parallel_user, body, arg, n);
	else
		body(arg, 0, n);
}

/* Trip and trips are all there is to it. */
static int progress(hop_rt *rt, const hop_leffect *f, void *const *args)
{
	hop_running *c = rt->user;
	int64_t i, n;
	memcpy(&i, args[0], sizeof i);
	memcpy(&n, args[1], sizeof n);
	hop_meter_tell(&c->meter, f->loc, f->text, i, n);
	rt->skip = c->meter.skip;
	return 0;
}

/* The sizes of argument k of an effect. */
static const int64_t *dims(hop_env *e, const hop_leffect *f, int k, const int64_t *syms)
{
	int64_t *dim = HOP_NEWN(&e->tmp, int64_t, HOP_MAXRANK);
	for (int i = 0; i < f->type[k]->rank; i++)
		if (!hop_size_eval(f->type[k]->dim[i], syms, hop_size_nsym(f->type[k]->dim[i]), &dim[i]))
			dim[i] = 0;
	return dim;
}

static hop_status foreign(hop_env *e, const hop_leffect *f, void *const *args, const int64_t *syms)
{
	hop_host_arg *t = HOP_NEWN(&e->tmp, hop_host_arg, f->narg);
	for (int i = 0; i < f->narg; i++)
		t[i] = (hop_host_arg){ (hop_dtype)f->type[i]->dtype, f->type[i]->rank, dims(e, f, i, syms),
		                     args[i] };
	return hop_foreign_run(e, f->foreign, f->loc, f->nin, t, f->narg - f->nin - f->nwrite,
	                       t + f->nin);
}

static hop_status say(hop_env *e, const hop_leffect *f, void *const *args, const int64_t *syms,
                      hop_record *record)
{
	hop_operand *op = HOP_NEWN(&e->tmp, hop_operand, f->narg);
	for (int i = 0; i < f->narg; i++)
		op[i] = (hop_operand){ (hop_dtype)f->type[i]->dtype, f->type[i]->rank, dims(e, f, i, syms),
		                       args[i] };
	hop_effect what = { .op = f->op, .text = { (int64_t)strlen(f->text), f->text },
	                    .when = f->has_when, .loc = f->loc, .record = record };
	return hop_effect_run(e, &what, (uint32_t)f->narg, op);
}

/* Print and assert make text, so they need an env; nothing else of a run does. */
static int effect(hop_rt *rt, int id, void *const *args, const int64_t *syms)
{
	hop_running *c = rt->user;
	const hop_leffect *f = &c->x->prog->effect[id];
	hop_env e;
	hop_frame fr;
	if (f->is_progress)
		return progress(rt, f, args);
	if (f->op == HOP_OP_tick) {
		hop_record_tick(c->record, f->tick);
		return 0;
	}
	hop_env_init(&e, c->x->ctx, c->x->mem);
	if (HOP_GUARD(&e, &fr)) {
		c->st = hop_guard_nomem(&e, &fr);
		hop_env_fini(&e);
		return 1;
	}
	c->st = f->foreign ? foreign(&e, f, args, syms) : say(&e, f, args, syms, c->record);
	if (c->st)
		hop_ctx_set_message(c->x->ctx, &e.diag);
	hop_guard_end(&e, &fr);
	hop_env_fini(&e);
	return c->st != HOP_OK;
}

/* Compiled code found a check that does not hold, or leaves it to us. */
static int check(hop_rt *rt, int id, const int64_t *syms)
{
	hop_running *c = rt->user;
	const hop_check *k = &c->x->prog->check[id].c;
	int n = hop_check_waits(k);
	hop_env e;
	hop_frame fr;
	if (hop_check_holds(k, syms, n))
		return 0;
	hop_env_init(&e, c->x->ctx, c->x->mem);
	if (HOP_GUARD(&e, &fr)) {
		c->st = hop_guard_nomem(&e, &fr);
	} else {
		hop_check_test(&e, k, syms, n);
		c->st = e.diag.st;
		hop_ctx_set_message(c->x->ctx, &e.diag);
		hop_guard_end(&e, &fr);
	}
	hop_env_fini(&e);
	return 1;
}

/* A target cannot go on. */
static int fail(hop_rt *rt, int status, const char *text)
{
	hop_running *c = rt->user;
	hop_env e;
	c->st = (hop_status)status;
	hop_env_init(&e, c->x->ctx, c->x->mem);
	hop_fail(&e, 0, c->st, "run: %s", text);
	hop_ctx_set_message(c->x->ctx, &e.diag);
	hop_env_fini(&e);
	return 1;
}

void hop_running_init(hop_running *r, const hop_exec *x, struct hop_tape *tape,
                      const hop_run_opts *o)
{
	static const int never = 0;
	r->record = o ? o->record : NULL;
	hop_record_begin(r->record);
	r->x = x;                              /* lines of the meter stay as they are */
	r->st = HOP_OK;
	r->queue = o ? hop_stream_queue(o->stream) : NULL;
	r->rt = (hop_rt){ .grow = grow, .effect = effect, .check = check,
		              .library = hop_library_run, .parallel = fork_join, .fail = fail,
		              .cancel = o && o->cancel ? &o->cancel->flag : &never,
		              .may_cancel = o && o->cancel,
		              .nthread = x->nthread, .tape = tape, .user = r };
	hop_meter_init(&r->meter, x->ctx);
	for (int i = 0; i < x->prog->ntape; i++)
		tape[i] = (struct hop_tape){ 0 };
}

void hop_running_fini(hop_running *r)
{
	hop_meter_end(&r->meter);
	const hop_memory *mem = hop_code_memory(r->x->code);
	for (int i = 0; i < r->x->prog->ntape; i++) {
		const struct hop_tape *t = &r->rt.tape[i];
		if (!mem->far)
			hop_raw_free(&r->x->mem, t->ptr, (size_t)t->bytes);
		else if (t->bytes)
			mem->free(&r->x->mem, r->queue, t->ptr, (size_t)t->bytes);
	}
}
