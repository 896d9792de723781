/* run.c -- the hard door: binds sizes, lays out the caller's workspace, calls the code.
 * Allocates nothing, except for trails that grow and for the text of effects. */
#include "driver/exec.h"

#include <stdio.h>
#include <string.h>

#include "ops/ops.h"

enum { ALIGN = 64 };

/* ---- sizes ---- */

static bool has_inputs(const hop_exec *x, const hop_arg *in)
{
	return x && (in || x->g->nparam == (uint32_t)x->nhidden);
}

/* The failure's text, made when there is time for it. */
static hop_status refuse(const hop_exec *x, const hop_arg *in)
{
	int64_t syms[HOP_MAXSYM];
	hop_env e;
	hop_frame fr;
	hop_status st;
	hop_env_init(&e, x->ctx, x->mem);
	if (HOP_GUARD(&e, &fr)) {
		st = hop_guard_nomem(&e, &fr);
	} else {
		st = hop_exec_sizes(x, in, syms, &e);
		hop_ctx_set_message(x->ctx, &e.diag);
		hop_guard_end(&e, &fr);
	}
	hop_env_fini(&e);
	return st;
}

/* Bytes of a type, filled up to the next ALIGN; -1 = more than there can be. dim gets its
 * sizes. Those of parameters and results are small enough to be multiplied: bind.c. */
static int64_t type_bytes(const hop_graph *g, const hop_type *t, const int64_t *syms,
                          int64_t *dim)
{
	int64_t n = (int64_t)hop_dtype_bytes((hop_dtype)t->dtype);
	for (int i = 0; i < t->rank; i++)
		if (!hop_size_eval(t->dim[i], syms, (int)g->nsym, &dim[i]) || dim[i] < 0 ||
		    __builtin_mul_overflow(n, dim[i], &n))
			return -1;
	if (n > INT64_MAX - ALIGN)
		return -1;
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static bool add_bytes(int64_t *sum, int64_t n)
{
	return n >= 0 && !__builtin_add_overflow(*sum, n, sum);
}

bool hop_exec_measure(const hop_exec *x, const int64_t *syms, const hop_arg *in,
                      const hop_arg *out, hop_room *r)
{
	const hop_graph *g = x->g;
	int64_t dim[HOP_MAXRANK];
	uint32_t nin = g->nparam - (uint32_t)x->nhidden;
	r->params = (int64_t)((g->nparam + g->nout) * sizeof(void *) + ALIGN - 1) / ALIGN * ALIGN;
	r->tapes = ((int64_t)x->prog->ntape * (int64_t)sizeof(struct hop_tape) + ALIGN - 1) /
	           ALIGN * ALIGN;
	r->packs = 0;
	for (uint32_t i = 0; i < nin; i++)
		if (in && in[i].stride && !add_bytes(&r->packs, type_bytes(g, g->type[i], syms, dim)))
			return false;
	for (uint32_t k = 0; k < g->nout; k++)      /* out NULL: room for all of them */
		if ((!out || out[k].stride) &&
		    !add_bytes(&r->packs, type_bytes(g, hop_graph_out_type(g, k), syms, dim)))
			return false;
	if (!hop_code_frame(x->code, syms, (int)g->nsym, &r->frame))
		return false;
	r->total = r->params + r->tapes;
	return add_bytes(&r->total, r->packs) && add_bytes(&r->total, r->frame);
}

int64_t hop_exec_workspace_for(const hop_exec *x, const hop_arg *in, const hop_arg *out)
{
	int64_t syms[HOP_MAXSYM];
	hop_room r;
	if (!has_inputs(x, in) || hop_exec_sizes(x, in, syms, NULL) ||
	    !hop_exec_measure(x, syms, in, out, &r))
		return -1;
	return r.total;
}

int64_t hop_exec_workspace(const hop_exec *x, const hop_arg *in)
{
	return hop_exec_workspace_for(x, in, NULL);
}

int hop_exec_dims(const hop_exec *x, const int64_t *syms, int k, int64_t *dim)
{
	const hop_type *t = hop_graph_out_type(x->g, (uint32_t)k);
	return type_bytes(x->g, t, syms, dim) < 0 ? -1 : t->rank;
}

int hop_exec_result(const hop_exec *x, const hop_arg *in, int k, int64_t *dim)
{
	int64_t syms[HOP_MAXSYM];
	if (!has_inputs(x, in) || !dim || k < 0 || (uint32_t)k >= x->g->nout ||
	    hop_exec_sizes(x, in, syms, NULL))
		return -1;
	return hop_exec_dims(x, syms, k, dim);
}

/* ---- running ---- */

struct call {
	hop_rt          rt;
	const hop_exec *x;
	const int64_t  *syms;
	hop_status      st;
};

static int grow(hop_rt *rt, int slot, int64_t bytes)
{
	struct call *c = rt->user;
	const hop_mem *m = &c->x->mem;
	struct hop_tape *t = &rt->tape[slot];
	if (bytes <= t->bytes)
		return 0;
	int64_t cap = t->bytes ? 2 * t->bytes : 4096;
	cap = cap < bytes ? bytes : cap;
	void *p = m->fn(m->user, t->ptr, (size_t)t->bytes, (size_t)cap);
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
	struct call *c = rt->user;
	if (c->x->pool)
		hop_pool_run(c->x->pool, body, arg, n);
	else if (c->x->parallel)
		c->x->parallel(c->x->parallel_user, body, arg, n);
	else
		body(arg, 0, n);
}

/* Print and assert make text, so they need an env; nothing else of a run does. */
static int effect(hop_rt *rt, int id, void *const *args, const int64_t *syms)
{
	struct call *c = rt->user;
	const hop_leffect *f = &c->x->prog->effect[id];
	hop_env e;
	hop_frame fr;
	hop_env_init(&e, c->x->ctx, c->x->mem);
	if (HOP_GUARD(&e, &fr)) {
		c->st = hop_guard_nomem(&e, &fr);
		hop_env_fini(&e);
		return 1;
	}
	hop_operand *op = HOP_NEWN(&e.tmp, hop_operand, f->narg);
	for (int i = 0; i < f->narg; i++) {
		int64_t *dim = HOP_NEWN(&e.tmp, int64_t, HOP_MAXRANK);
		for (int k = 0; k < f->type[i]->rank; k++)
			if (!hop_size_eval(f->type[i]->dim[k], syms, hop_size_nsym(f->type[i]->dim[k]),
			                   &dim[k]))
				dim[k] = 0;
		op[i] = (hop_operand){ (hop_dtype)f->type[i]->dtype, f->type[i]->rank, dim, args[i] };
	}
	hop_effect what = { .op = f->is_assert ? HOP_OP_assert : HOP_OP_print,
	                    .text = { (int64_t)strlen(f->text), f->text }, .when = f->has_when,
	                    .loc = f->loc };
	c->st = hop_effect_run(&e, &what, (uint32_t)f->narg, op);
	if (c->st)
		hop_ctx_set_message(c->x->ctx, &e.diag);
	hop_guard_end(&e, &fr);
	hop_env_fini(&e);
	return c->st != HOP_OK;
}

/* Compiled code found a check that does not hold, or leaves it to us. */
static int check(hop_rt *rt, int id, const int64_t *syms)
{
	struct call *c = rt->user;
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

/* Copy between a strided and a dense tensor, innermost axis in a plain loop. */
static void copy_strided(size_t size, int rank, const int64_t *dim, char *a,
                         const int64_t *as, char *b, const int64_t *bs)
{
	if (!rank) {
		memcpy(a, b, size);
		return;
	}
	for (int64_t i = 0; i < dim[0]; i++)
		copy_strided(size, rank - 1, dim + 1, a + i * as[0] * (int64_t)size, as + 1,
		             b + i * bs[0] * (int64_t)size, bs + 1);
}

static void dense_strides(int rank, const int64_t *dim, int64_t *s)
{
	int64_t n = 1;
	for (int i = rank; i-- > 0; ) {
		s[i] = n;
		n *= dim[i];
	}
}

/* Where each parameter is: the caller's memory, or a dense copy in the workspace. False:
 * there are elements, and no memory was named. */
static bool place(const hop_exec *x, const int64_t *syms, const hop_arg *in,
                  const hop_arg *out, void **p, char *packs)
{
	const hop_graph *g = x->g;
	int64_t dim[HOP_MAXRANK], s[HOP_MAXRANK];
	uint32_t nin = g->nparam - (uint32_t)x->nhidden;
	for (uint32_t i = 0; i < nin; i++) {
		p[i] = in[i].data;
		if (!p[i] && type_bytes(g, g->type[i], syms, dim))
			return false;
		if (!in[i].stride)
			continue;
		const hop_type *t = g->type[i];
		int64_t n = type_bytes(g, t, syms, dim);
		dense_strides(t->rank, dim, s);
		copy_strided(hop_dtype_bytes((hop_dtype)t->dtype), t->rank, dim, packs, s,
		             in[i].data, in[i].stride);
		p[i] = packs;
		packs += n;
	}
	for (int i = 0; i < x->nhidden; i++)
		p[nin + (uint32_t)i] = x->hidden[i];
	for (uint32_t k = 0; k < g->nout; k++) {
		p[g->nparam + k] = out[k].data;
		if (!out[k].data && type_bytes(g, hop_graph_out_type(g, k), syms, dim))
			return false;
		if (!out[k].stride)
			continue;
		p[g->nparam + k] = packs;
		packs += type_bytes(g, hop_graph_out_type(g, k), syms, dim);
	}
	return true;
}

static void unpack(const hop_exec *x, const int64_t *syms, const hop_arg *out, void **p)
{
	const hop_graph *g = x->g;
	int64_t dim[HOP_MAXRANK], s[HOP_MAXRANK];
	for (uint32_t k = 0; k < g->nout; k++) {
		if (!out[k].stride)
			continue;
		const hop_type *t = hop_graph_out_type(g, k);
		type_bytes(g, t, syms, dim);
		dense_strides(t->rank, dim, s);
		copy_strided(hop_dtype_bytes((hop_dtype)t->dtype), t->rank, dim, out[k].data,
		             out[k].stride, p[g->nparam + k], s);
	}
}

void hop_cancel_set(hop_cancel *c)
{
	__atomic_store_n(&c->flag, 1, __ATOMIC_RELAXED);
}

void hop_cancel_reset(hop_cancel *c)
{
	__atomic_store_n(&c->flag, 0, __ATOMIC_RELAXED);
}

hop_status hop_run(const hop_exec *x, const hop_arg *in, const hop_arg *out, void *workspace)
{
	return hop_run_with(x, in, out, workspace, NULL);
}

hop_status hop_run_with(const hop_exec *x, const hop_arg *in, const hop_arg *out,
                        void *workspace, const hop_run_opts *o)
{
	int64_t syms[HOP_MAXSYM];
	hop_room r;
	if (!has_inputs(x, in) || (x->g->nout && !out) || !workspace ||
	    (o && o->size && o->size != sizeof *o))
		return HOP_EUSE;
	if (hop_exec_sizes(x, in, syms, NULL))
		return refuse(x, in);
	if (!hop_exec_measure(x, syms, in, out, &r))
		return HOP_ENOMEM;
	return hop_exec_go(x, syms, in, out, &r, workspace, o);
}

hop_status hop_exec_go(const hop_exec *x, const int64_t *syms, const hop_arg *in,
                       const hop_arg *out, const hop_room *r, void *workspace,
                       const hop_run_opts *o)
{
	static const int never = 0;
	void **p = workspace;
	char *w = workspace;
	struct call c = { .x = x, .syms = syms,
	                  .rt = { .grow = grow, .effect = effect, .check = check,
	                          .parallel = fork_join,
	                          .cancel = o && o->cancel ? &o->cancel->flag : &never,
	                          .nthread = x->nthread,
	                          .tape = (struct hop_tape *)(void *)(w + r->params) } };
	c.rt.user = &c;
	for (int i = 0; i < x->prog->ntape; i++)
		c.rt.tape[i] = (struct hop_tape){ 0 };
	if (!place(x, syms, in, out, p, w + r->params + r->tapes))
		return HOP_EUSE;
	int rc = hop_code_entry(x->code)(p, syms, w + r->params + r->tapes + r->packs, &c.rt);
	for (int i = 0; i < x->prog->ntape; i++)
		hop_raw_free(&x->mem, c.rt.tape[i].ptr, (size_t)c.rt.tape[i].bytes);
	if (!rc)
		unpack(x, syms, out, p);
	if (!rc)
		return HOP_OK;
	return c.st ? c.st : __atomic_load_n(c.rt.cancel, __ATOMIC_RELAXED) ? HOP_ECANCELED
	                                                                    : HOP_ETARGET;
}

/* ---- on tensors ---- */

/* A run that stops has a status and, if an effect or a check stopped it, a message on the
 * context. */
static hop_status pass_on(hop_env *e, hop_status st)
{
	if (st == HOP_ENOMEM || st == HOP_ECANCELED)
		return hop_fail(e, 0, st, st == HOP_ENOMEM ? "run: no memory" : "run: canceled");
	if (st != HOP_EASSERT && st != HOP_ESHAPE)
		return hop_fail(e, 0, st, "run: the program stopped");
	const char *text = hop_message(e->ctx);
	size_t n = strlen(text);
	hop_diag_clear(e);
	e->diag.text = hop_raw_new(e, n + 1);
	memcpy(e->diag.text, text, n + 1);
	e->diag.len = n;
	return e->diag.st = st;
}

hop_status hop_exec_tensors(hop_interp *p, const hop_exec *x, hop_tensor *const *in,
                            hop_tensor **out)
{
	hop_env *e = p->env;
	const hop_graph *g = x->g;
	hop_mark m = hop_mark_at(&e->tmp);
	hop_arg *ai = HOP_NEWN(&e->tmp, hop_arg, g->nparam);
	hop_arg *ao = HOP_NEWN(&e->tmp, hop_arg, g->nout);
	for (uint32_t i = 0; i < g->nparam; i++)
		ai[i] = (hop_arg){ .data = in[i]->data, .dim = in[i]->dim };
	int64_t bytes = hop_exec_workspace(x, ai);
	if (bytes < 0) {
		int64_t syms[HOP_MAXSYM];
		HOP_TRY(hop_exec_sizes(x, ai, syms, e));
		return hop_fail(e, 0, HOP_ENOMEM, "run: more memory is needed than there can be");
	}
	for (uint32_t k = 0; k < g->nout; k++) {
		int64_t dim[HOP_MAXRANK];
		int rank = hop_exec_result(x, ai, (int)k, dim);
		out[k] = hop_tensor_new(p, (hop_dtype)hop_graph_out_type(g, k)->dtype, rank, dim);
		ao[k] = (hop_arg){ .data = out[k]->data };
	}
	hop_tensor *work = hop_tensor_new(p, HOP_bool, 1, &bytes);
	hop_run_opts o = { .size = sizeof o, .cancel = p->cancel };
	hop_status st = hop_run_with(x, ai, ao, work->data, &o);
	hop_tensor_release(p, work);
	hop_rewind(&e->tmp, m);
	return st ? pass_on(e, st) : HOP_OK;
}

hop_status hop_graph_run(hop_interp *p, const hop_graph *g, const int64_t *syms,
                         hop_tensor *const *in, hop_tensor **out)
{
	hop_exec *x;
	hop_status st = hop_exec_new(p->env, g, NULL, &x);
	if (st == HOP_ETARGET) {
		fprintf(stderr, "hop: interpreting, slowly: %s\n", p->env->diag.text);
		hop_diag_clear(p->env);
		return hop_interp_graph(p, g, syms, in, out);
	}
	HOP_TRY(st);
	st = hop_exec_tensors(p, x, in, out);
	hop_exec_release(x);
	return st;
}
