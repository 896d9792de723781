/* call.c -- the comfortable door: arrays in, arrays out. Compiles at the first call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/record.h"
#include "driver/direct.h"
#include "opt/opt.h"
#include "rt/once.h"

static void drop_exec(void *x)
{
	hop_exec_release(x);
}

struct run {
	hop_fn           *f;
	hop_array *const *in;
	hop_array       **out;
	bool              interpret, watched;
	const hop_memory *mem;         /* of the device that one of the inputs is on */
	const hop_run_opts *o;
	hop_interp        ip;
	hop_env           e;
};

/* An input in messages. */
static const char *input(struct run *r, uint32_t i)
{
	return hop_input_text(&r->e.tmp, i, hop_fn_input_name(r->f, (int)i));
}

/* Dtypes, and that no written array is passed twice. Shapes are bound later. */
static hop_status check_inputs(struct run *r)
{
	const hop_graph *g = r->f->g;
	for (uint32_t i = 0; i < g->nparam; i++) {
		const hop_array *a = hop_fn_array(r->f, r->in, i);
		if (!a || a->ctx != r->f->ctx)
			return hop_fail(&r->e, 0, HOP_EUSE, "call: input %s is missing or of another "
			                "context", input(r, i));
		if (a->dtype != (hop_dtype)g->type[i]->dtype)
			return hop_fail(&r->e, 0, HOP_ETYPE, "call: input %s is %s, the function takes %s",
			                input(r, i), hop_dtype_name(a->dtype),
			                hop_dtype_name((hop_dtype)g->type[i]->dtype));
	}
	for (int w = 0; w < r->f->nwrote; w++) {
		uint32_t k = (uint32_t)r->f->wrote[w];
		const hop_array *to = hop_fn_array(r->f, r->in, k);
		if (to->readonly)
			return hop_fail(&r->e, 0, HOP_EUSE, "call: input %s is written, and its memory is "
			                "read-only", input(r, k));
		for (uint32_t i = 0; i < g->nparam; i++)
			if (i != k && hop_fn_array(r->f, r->in, i) == to)
				return hop_fail(&r->e, 0, HOP_EUSE, "call: input %s is written and is also "
				                "input %s", input(r, k), input(r, i));
			else if (i != k && hop_array_meet(hop_fn_array(r->f, r->in, i), to))
				return hop_fail(&r->e, 0, HOP_EUSE, "call: input %s is written and shares "
				                "memory with input %s", input(r, k), input(r, i));
	}
	return HOP_OK;
}

/* ---- its code ---- */

const hop_memory *hop_fn_memory(const hop_fn *f, hop_array *const *in)
{
	for (int i = 0; i < f->nin && in; i++)
		if (in[i] && in[i]->mem)
			return in[i]->mem;
	for (int i = 0; i < f->nhidden; i++)
		if (f->hidden[i]->mem)
			return f->hidden[i]->mem;
	return NULL;
}

const hop_memory *hop_results_memory(const hop_memory *code, const hop_memory *inputs,
                                     const hop_run_opts *o)
{
	bool stream = o && o->stream && o->stream->mem;
	if (!o || o->results == HOP_RESULTS_AUTO)
		return inputs || stream ? code : NULL;
	return o->results == HOP_RESULTS_THERE ? code : NULL;
}

static bool is_for(const hop_exec *x, const hop_memory *mem)
{
	return x && hop_code_memory(x->code) == mem;
}

/* Code for arrays on a device has a place of its own, unless all the function's code is for it. */
static _Atomic(struct hop_exec *) *place_of(hop_fn *f, const hop_memory *mem, bool watched)
{
	if (watched)
		return &f->watched;
	return mem && !is_for(atomic_load(&f->exec), mem) ? &f->there : &f->exec;
}

static hop_status fill_place(hop_env *e, hop_fn *f, const hop_compile_opts *o,
                             _Atomic(struct hop_exec *) *at, hop_exec **out_x)
{
	hop_exec *none = NULL;
	*out_x = atomic_load(at);
	if (*out_x)
		return HOP_OK;
	HOP_TRY(hop_exec_of(e, f, o, out_x));
	f->drop_exec = drop_exec;
	if (!atomic_compare_exchange_strong(at, &none, *out_x)) {
		hop_exec_release(*out_x);
		*out_x = none;
	}
	return HOP_OK;
}

hop_status hop_fn_code(hop_env *e, hop_fn *f, const hop_compile_opts *o, hop_exec **out_x)
{
	return fill_place(e, f, o, place_of(f, NULL, o && o->watch), out_x);
}

/* A target that the options name makes all the function's code: then arrays must fit it. */
hop_status hop_fn_code_on(hop_env *e, hop_fn *f, const hop_compile_opts *o, const hop_memory *mem,
                          hop_exec **out_x)
{
	hop_compile_opts own = o ? *o : (hop_compile_opts){ 0 };
	if (!mem || own.target)
		return hop_fn_code(e, f, o, out_x);
	own.target = hop_target_on(f->ctx, NULL, mem->far->type)->name;
	return fill_place(e, f, &own, place_of(f, mem, own.watch), out_x);
}

bool hop_fn_has_code(hop_fn *f, const hop_memory *mem)
{
	return atomic_load(place_of(f, mem, false)) != NULL;
}

/* NULL with a failure recorded, or without one where HOP_INTERP says that nothing new shall be
 * compiled. */
static hop_exec *code_of(struct run *r)
{
	hop_compile_opts o = { .watch = r->watched };
	hop_exec *x = atomic_load(place_of(r->f, r->mem, r->watched));
	if (!x && (r->mem || !getenv("HOP_INTERP")))
		(void)!hop_fn_code_on(&r->e, r->f, &o, r->mem, &x);
	return x;
}

/* Run the code; what cannot be compiled is interpreted, and says so. */
static hop_status compute(struct run *r, const int64_t *syms, hop_array *const *x,
                          hop_array **y)
{
	hop_exec *code = r->interpret ? NULL : code_of(r);
	if (code)
		HOP_TRY(hop_exec_fresh(&r->e, code));
	if (code)
		return hop_nan_exec(&r->ip, code, syms, x, y);
	if (r->mem && r->e.diag.st)
		return r->e.diag.st;
	if (r->e.diag.st) {
		if (r->e.diag.st != HOP_ETARGET && r->e.diag.st != HOP_EREFUSED)
			return r->e.diag.st;
		fprintf(stderr, "hop: interpreting, slowly: %s\n", r->e.diag.text);
		hop_diag_clear(&r->e);
	}
	hop_record_begin(r->ip.record);
	return hop_interp_graph(&r->ip, r->f->g, syms, x, y);
}

/* What a failing device left on the context. */
static hop_status pass_on(struct run *r, hop_status st)
{
	return st ? hop_fail(&r->e, 0, st, "call: %s", hop_message(r->f->ctx)) : HOP_OK;
}

/* The results as arrays there, where they are to be. */
static hop_status move_results(struct run *r)
{
	const hop_exec *x = atomic_load(place_of(r->f, r->mem, r->watched));
	const hop_memory *code = x ? hop_code_memory(x->code) : NULL;
	const hop_memory *to = code && code->far ? hop_results_memory(code, r->mem, r->o) : NULL;
	for (int i = 0; i < r->f->nout && to; i++) {
		hop_array *y = r->out[i];
		HOP_TRY(pass_on(r, hop_array_to(y, (hop_device){ to->far->type, 0 }, &r->out[i])));
		hop_array_release(y);
	}
	return HOP_OK;
}

static hop_status refuse_interpreter(struct run *r)
{
	return hop_fail(&r->e, 0, HOP_EUSE, "call: an input is on %s, and the interpreter works in the "
	                "memory of this process: compile it for the device, or copy it (hop_array_to)",
	                r->mem->far->name);
}

static hop_status run_graph(struct run *r)
{
	const hop_graph *g = r->f->g;
	hop_arena *a = &r->e.tmp;
	int *rank = HOP_NEWN(a, int, g->nparam);
	const int64_t **dim = HOP_NEWN(a, const int64_t *, g->nparam);
	int64_t *syms = HOP_NEWN(a, int64_t, g->nsym);
	hop_array **x = HOP_NEWN(a, hop_array *, g->nparam);
	hop_array **y = HOP_NEWN(a, hop_array *, g->nout);
	HOP_TRY(check_inputs(r));
	if (r->mem && r->interpret)
		return refuse_interpreter(r);
	for (uint32_t i = 0; i < g->nparam; i++) {
		const hop_array *p = hop_fn_array(r->f, r->in, i);
		rank[i] = p->rank;
		dim[i] = p->dim;
	}
	const char **name = HOP_NEWN(a, const char *, g->nparam);
	for (int i = 0; i < r->f->nin; i++)
		name[i] = r->f->name[i];
	HOP_TRY(hop_bind_shapes(&r->e, g, name, rank, dim, syms));
	for (uint32_t i = 0; i < g->nparam; i++)
		x[i] = hop_interp_hold(&r->ip, hop_fn_array(r->f, r->in, i));
	HOP_TRY(r->e.diag.st);
	HOP_TRY(compute(r, syms, x, y));
	for (int i = 0; i < r->f->nout; i++)
		r->out[i] = hop_interp_give(&r->ip, y[i]);
	for (int i = 0; i < r->f->nwrote; i++)
		y[r->f->nout + i] = hop_interp_own(&r->ip, y[r->f->nout + i]);
	for (int i = 0; i < r->f->nwrote; i++)
		HOP_TRY(pass_on(r, hop_array_unpack(hop_fn_array(r->f, r->in, (uint32_t)r->f->wrote[i]),
		                                    y[r->f->nout + i]->data)));
	return move_results(r);
}

hop_status hop_exec_fresh(hop_env *e, hop_exec *x)
{
	hop_status st = hop_once_refresh(x->once, false);
	return !st ? HOP_OK : hop_fail(e, 0, st, st == HOP_ENOMEM ? "call: no memory for what captured "
	                               "arrays are made into" : "call: what captured arrays are made "
	                               "into cannot be computed");
}

static void say(hop_fn *f, hop_status st)
{
	hop_env e;
	hop_frame fr;
	hop_env_init(&e, f->ctx, hop_ctx_mem(f->ctx));
	if (HOP_GUARD(&e, &fr)) {
		(void)!hop_guard_nomem(&e, &fr);
	} else {
		(void)!hop_fail(&e, 0, st, st == HOP_ECANCELED ? "run: canceled" :
		                st == HOP_ENOMEM ? "run: no memory" : "run: the program stopped");
		hop_guard_end(&e, &fr);
	}
	hop_ctx_set_message(f->ctx, &e.diag);
	hop_env_fini(&e);
}

/* Code that is there and arguments that fit: no copies, and nothing is asked of the
 * environment, which takes as long as a small call. A check or an effect that stopped it
 * has left its message; what does not fit is said by the long way. */
static bool call_directly(hop_fn *f, hop_array *const *in, hop_array **out,
                          const hop_run_opts *o, hop_status *st)
{
	hop_exec *x = atomic_load(place_of(f, hop_fn_memory(f, in), false));
	if (!x || hop_once_refresh(x->once, false) || !hop_call_direct(f, x, in, out, o, st))
		return false;
	if (*st && !hop_run_told(*st))
		say(f, *st);
	return true;
}

/* What is on a device, or is to be there, goes no other way from the first call on. */
static hop_status make_code(struct run *r)
{
	hop_env *e = &r->e;
	hop_frame fr;
	hop_status st = HOP_OK;
	if (atomic_load(place_of(r->f, r->mem, false)))
		return HOP_OK;
	hop_env_init(e, r->f->ctx, hop_ctx_mem(r->f->ctx));
	if (HOP_GUARD(e, &fr)) {
		st = hop_guard_nomem(e, &fr);
	} else {
		(void)!code_of(r);
		st = e->diag.st;
		hop_guard_end(e, &fr);
	}
	if (st)
		hop_ctx_set_message(r->f->ctx, &e->diag);
	hop_env_fini(e);
	return st;
}

hop_status hop_call(hop_fn *f, int nin, hop_array *const *in, int nout, hop_array **out)
{
	return hop_call_with(f, nin, in, nout, out, NULL);
}

hop_status hop_call_with(hop_fn *f, int nin, hop_array *const *in, int nout, hop_array **out,
                         const hop_run_opts *o)
{
	struct run r = { .f = f, .in = in, .out = out };
	hop_status st;
	hop_frame fr;
	hop_run_opts own;
	if (!f || (nin && !in) || (nout && !out))
		return HOP_EUSE;
	for (int i = 0; i < nout; i++)
		out[i] = NULL;
	HOP_TRY(hop_opts_read(f->ctx, "call", o, &own, sizeof own));
	HOP_TRY(hop_nan_of(f->ctx, "call", &own));
	r.interpret = own.interpret || own.nan == HOP_NAN_ANY;
	r.watched = own.record && f->g->holds & HOP_HOLDS_WATCH;
	r.o = &own;
	r.mem = nin == f->nin ? hop_fn_memory(f, in) : NULL;
	if ((r.mem || own.stream || own.results) && !r.interpret && !r.watched)
		HOP_TRY(make_code(&r));
	if (nin == f->nin && nout == f->nout && !r.interpret && !own.nan && !r.watched &&
	    call_directly(f, in, out, &own, &st))
		return st;
	hop_env_init(&r.e, f->ctx, hop_ctx_mem(f->ctx));
	hop_interp_init(&r.ip, &r.e);
	r.ip.cancel = own.cancel;
	r.ip.nan = own.nan;
	r.ip.record = r.watched ? own.record : NULL;
	if (HOP_GUARD(&r.e, &fr)) {
		st = hop_guard_nomem(&r.e, &fr);
	} else {
		if (nin != f->nin || nout != f->nout)
			st = hop_fail(&r.e, 0, HOP_EUSE, "call: the function has %d inputs and %d "
			              "results, got %d and %d", f->nin, f->nout, nin, nout);
		else
			st = run_graph(&r);
		hop_guard_end(&r.e, &fr);
	}
	if (st) {
		hop_ctx_set_message(f->ctx, &r.e.diag);
		for (int i = 0; i < nout; i++) {
			hop_array_release(out[i]);
			out[i] = NULL;
		}
	}
	hop_interp_fini(&r.ip);
	hop_env_fini(&r.e);
	return st;
}

/* ---- the hard door's key ---- */

/* The exec keeps the function alive for its arrays. */
static void drop_fn(void *f)
{
	hop_fn_release(f);
}

static hop_status compiled(hop_env *e, hop_fn *f, const hop_compile_opts *o, hop_exec **out_x)
{
	hop_exec *x;
	hop_compile_opts own = *o;
	const hop_memory *mem = hop_fn_memory(f, NULL);
	if (mem && !own.target)
		own.target = hop_target_on(f->ctx, NULL, mem->far->type)->name;
	HOP_TRY(hop_exec_of(e, f, &own, &x));
	if (!x->once && hop_exec_bind(e, x, f->nhidden, f->hidden, 0)) {
		hop_exec_release(x);
		return e->diag.st;
	}
	x->drop = drop_fn;
	x->drop_user = hop_fn_retain(f);
	*out_x = x;
	return HOP_OK;
}

/* One of the two: out_x NULL = for hop_call. */
static hop_status guarded(hop_fn *f, const hop_compile_opts *opts, hop_exec **out_x)
{
	hop_env e;
	hop_frame fr;
	hop_status st;
	hop_compile_opts own;
	HOP_TRY(hop_opts_read(f->ctx, "compile", opts, &own, sizeof own));
	hop_env_init(&e, f->ctx, hop_ctx_mem(f->ctx));
	if (HOP_GUARD(&e, &fr)) {
		st = hop_guard_nomem(&e, &fr);
	} else {
		hop_exec *x;
		if ((unsigned)own.constants > HOP_CONSTANTS_ONCE)
			st = hop_fail(&e, 0, HOP_EVALUE, "compile: constants is %d: there is "
			              "HOP_CONSTANTS_EACH_RUN and HOP_CONSTANTS_ONCE", (int)own.constants);
		else if (out_x)
			st = compiled(&e, f, &own, out_x);
		else if (atomic_load(own.watch ? &f->watched : &f->exec))
			st = hop_fail(&e, 0, HOP_EUSE, "compile: the function has code already: say how before "
			              "it is called");
		else
			st = hop_fn_code(&e, f, &own, &x);
		hop_guard_end(&e, &fr);
	}
	if (st)
		hop_ctx_set_message(f->ctx, &e.diag);
	hop_env_fini(&e);
	return st;
}

hop_status hop_compile(hop_fn *f, const hop_compile_opts *opts, hop_exec **out_x)
{
	if (!f || !out_x)
		return HOP_EUSE;
	*out_x = NULL;
	return guarded(f, opts, out_x);
}

hop_status hop_fn_compile(hop_fn *f, const hop_compile_opts *opts)
{
	return f ? guarded(f, opts, NULL) : HOP_EUSE;
}

hop_kept hop_fn_kept(const hop_fn *f)
{
	return hop_exec_kept(f ? atomic_load(&((hop_fn *)(uintptr_t)f)->exec) : NULL);
}
