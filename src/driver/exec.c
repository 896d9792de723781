/* exec.c -- compiled graphs: making them, and the two doors to running them. What the
 * passes do is elsewhere; this file is the list of stages and the call. */
#include "driver/exec.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "driver/pipeline.h"
#include "ir/interp.h"
#include "loop/lower.h"
#include "ops/ops.h"

enum { ALIGN = 64 };

struct hop_exec {
	atomic_int       refs;
	hop_ctx         *ctx;
	hop_mem          mem;
	hop_graph       *g;              /* retained */
	hop_prog        *prog;           /* for its effects */
	hop_code        *code;
	hop_pool        *pool;
	hop_parallel_fn *parallel;
	void            *parallel_user;
	int              nthread;
	hop_compile_times times;
	int              nhidden;
	void           **hidden;
	void           (*drop)(void *);
	void            *drop_user;
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- making ---- */

/* A result whose size only the program knows has no place in the caller's memory. */
static hop_status check_results(hop_env *e, const hop_graph *g)
{
	for (uint32_t k = 0; k < g->nout; k++) {
		const hop_type *t = hop_graph_out_type(g, k);
		for (int i = 0; i < t->rank; i++)
			if ((uint32_t)hop_size_nsym(t->dim[i]) > g->nsym)
				return hop_fail(e, 0, HOP_EREFUSED, "compile: dimension %d of result %u is a "
				                "size that only the program knows: return the capacity and "
				                "a count", i, k);
	}
	return HOP_OK;
}

static hop_status build(hop_env *e, const hop_graph *g, const hop_compile_opts *o,
                        hop_exec *x)
{
	const hop_graph *opt = g;
	hop_target_opts to = { .no_cache = o->no_cache,
	                       .no_threads = o->threads == 1 && !o->parallel };
	double t0 = now();
	HOP_TRY(check_results(e, g));
	HOP_TRY(hop_pipeline_run(e, g, &opt));
	double t1 = now();
	HOP_TRY(hop_lower_graph(e, opt, NULL, &x->prog));
	double t2 = now();
	HOP_TRY(hop_code_new(e, x->prog, &to, &x->code));
	x->times = (hop_compile_times){ .opt = t1 - t0, .lower = t2 - t1, .code = now() - t2,
	                                .from_cache = hop_code_cached(x->code) };
	return HOP_OK;
}

hop_status hop_exec_new(hop_env *e, const hop_graph *g, const hop_compile_opts *o,
                        hop_exec **out_x)
{
	static const hop_compile_opts none;
	*out_x = NULL;
	o = o ? o : &none;
	if (o->size && o->size != sizeof *o)
		return hop_fail(e, 0, HOP_EVALUE, "compile: the options have %zu bytes, this library "
		                "knows %zu: rebuild with its headers", o->size, sizeof *o);
	hop_exec *x = hop_raw_try(&e->mem, sizeof *x);
	if (!x)
		hop_nomem(e);
	memset(x, 0, sizeof *x);
	atomic_init(&x->refs, 1);
	x->ctx = e->ctx;
	x->mem = e->mem;
	x->g = hop_graph_retain((hop_graph *)(uintptr_t)g);
	x->parallel = o->parallel;
	x->parallel_user = o->parallel_user;
	hop_frame f;              /* no memory inside must not leak x */
	if (HOP_GUARD(e, &f)) {
		hop_status st = hop_guard_nomem(e, &f);
		hop_exec_release(x);
		return st;
	}
	hop_status st = build(e, g, o, x);
	hop_guard_end(e, &f);
	if (!st && o->threads != 1 && !o->parallel && !(x->pool = hop_pool_new(&x->mem, o->threads)))
		st = hop_fail(e, 0, HOP_ENOMEM, "compile: no memory for threads");
	if (st) {
		hop_exec_release(x);
		return st;
	}
	x->nthread = x->pool ? hop_pool_threads(x->pool) : o->parallel ? 2 : 1;
	*out_x = x;
	return HOP_OK;
}

void hop_exec_bind(hop_exec *x, int nhidden, void *const *data, void (*drop)(void *),
                   void *user)
{
	x->nhidden = nhidden;
	x->hidden = (void **)(uintptr_t)data;
	x->drop = drop;
	x->drop_user = user;
}

hop_exec *hop_exec_retain(hop_exec *x)
{
	if (x)
		atomic_fetch_add(&x->refs, 1);
	return x;
}

void hop_exec_release(hop_exec *x)
{
	if (!x || atomic_fetch_sub(&x->refs, 1) != 1)
		return;
	hop_mem m = x->mem;
	if (x->drop)
		x->drop(x->drop_user);
	if (x->pool)
		hop_pool_free(x->pool);
	hop_code_release(x->code);
	if (x->prog)
		hop_prog_free(x->prog, &m);
	hop_graph_release(x->g);
	hop_raw_free(&m, x, sizeof *x);
}

hop_compile_times hop_exec_times(const hop_exec *x)
{
	return x->times;
}

const hop_graph *hop_exec_graph(const hop_exec *x)
{
	return x->g;
}

bool hop_exec_is_hard(const hop_exec *x)
{
	return x->prog->ntape == 0;
}

/* ---- sizes ---- */

/* Size symbols from the dims of the arguments; without allocation. */
static bool bind(const hop_exec *x, const hop_arg *in, int64_t *syms)
{
	const hop_graph *g = x->g;
	uint32_t nin = g->nparam - (uint32_t)x->nhidden;
	uint64_t known = 0;
	if (g->nsym > 64)
		return false;
	for (uint32_t i = 0; i < nin; i++) {
		if (!in[i].dim)
			continue;
		for (int k = 0; k < g->type[i]->rank; k++) {
			int s = hop_size_bare(g->type[i]->dim[k]);
			if (s < 0 || known >> s & 1)
				continue;
			known |= (uint64_t)1 << s;
			syms[s] = in[i].dim[k];
			if (syms[s] < g->range[s].lo || syms[s] > g->range[s].hi)
				return false;
		}
	}
	if (g->nsym && known != (g->nsym == 64 ? ~0ull : ((uint64_t)1 << g->nsym) - 1))
		return false;
	for (uint32_t i = 0; i < nin; i++)
		for (int k = 0; in[i].dim && k < g->type[i]->rank; k++) {
			int64_t v;
			if (!hop_size_eval(g->type[i]->dim[k], syms, (int)g->nsym, &v) || v != in[i].dim[k])
				return false;
		}
	for (uint32_t i = 0; i < g->ncheck; i++) {
		int64_t a, b;
		if (hop_size_eval(g->check[i].a, syms, (int)g->nsym, &a) &&
		    hop_size_eval(g->check[i].b, syms, (int)g->nsym, &b) && a != b)
			return false;
	}
	return true;
}

static int64_t type_bytes(const hop_graph *g, const hop_type *t, const int64_t *syms,
                          int64_t *dim)
{
	int64_t n = (int64_t)hop_dtype_bytes((hop_dtype)t->dtype);
	for (int i = 0; i < t->rank; i++) {
		if (!hop_size_eval(t->dim[i], syms, (int)g->nsym, &dim[i]))
			return -1;
		n *= dim[i];
	}
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* The workspace: pointers, tapes, dense copies of strided arguments, the frame. */
struct room { int64_t params, tapes, packs, frame, total; };

static bool measure(const hop_exec *x, const int64_t *syms, const hop_arg *in,
                    const hop_arg *out, struct room *r)
{
	const hop_graph *g = x->g;
	int64_t dim[HOP_MAXRANK], frame;
	uint32_t nin = g->nparam - (uint32_t)x->nhidden;
	r->params = (int64_t)((g->nparam + g->nout) * sizeof(void *) + ALIGN - 1) / ALIGN * ALIGN;
	r->tapes = ((int64_t)x->prog->ntape * (int64_t)sizeof(struct hop_tape) + ALIGN - 1) /
	           ALIGN * ALIGN;
	r->packs = 0;
	for (uint32_t i = 0; i < nin; i++)
		if (in && in[i].stride)
			r->packs += type_bytes(g, g->type[i], syms, dim);
	for (uint32_t k = 0; k < g->nout; k++)      /* out NULL: room for all of them */
		if (!out || out[k].stride)
			r->packs += type_bytes(g, hop_graph_out_type(g, k), syms, dim);
	if (!hop_code_frame(x->code, syms, (int)g->nsym, &frame))
		return false;
	r->frame = frame;
	r->total = r->params + r->tapes + r->packs + r->frame;
	return true;
}

int64_t hop_exec_workspace(const hop_exec *x, const hop_arg *in)
{
	int64_t syms[64];
	struct room r;
	if (!bind(x, in, syms) || !measure(x, syms, in, NULL, &r))
		return -1;
	return r.total;
}

int hop_exec_result(const hop_exec *x, const hop_arg *in, int k, int64_t *dim)
{
	int64_t syms[64];
	if (k < 0 || (uint32_t)k >= x->g->nout || !bind(x, in, syms))
		return -1;
	const hop_type *t = hop_graph_out_type(x->g, (uint32_t)k);
	return type_bytes(x->g, t, syms, dim) < 0 ? -1 : t->rank;
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

/* Where each parameter is: the caller's memory, or a dense copy in the workspace. */
static void place(const hop_exec *x, const int64_t *syms, const hop_arg *in,
                  const hop_arg *out, void **p, char *packs)
{
	const hop_graph *g = x->g;
	int64_t dim[HOP_MAXRANK], s[HOP_MAXRANK];
	uint32_t nin = g->nparam - (uint32_t)x->nhidden;
	for (uint32_t i = 0; i < nin; i++) {
		p[i] = in[i].data;
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
		if (!out[k].stride)
			continue;
		p[g->nparam + k] = packs;
		packs += type_bytes(g, hop_graph_out_type(g, k), syms, dim);
	}
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

hop_status hop_run(const hop_exec *x, const hop_arg *in, const hop_arg *out, void *workspace)
{
	int64_t syms[64];
	struct room r;
	char *w = workspace;
	if (!bind(x, in, syms) || !measure(x, syms, in, out, &r))
		return HOP_ESHAPE;
	void **p = workspace;
	struct call c = { .x = x, .syms = syms,
	                  .rt = { .grow = grow, .effect = effect, .parallel = fork_join,
	                          .nthread = x->nthread,
	                          .tape = (struct hop_tape *)(void *)(w + r.params) } };
	c.rt.user = &c;
	memset(c.rt.tape, 0, (size_t)x->prog->ntape * sizeof *c.rt.tape);
	place(x, syms, in, out, p, w + r.params + r.tapes);
	int rc = hop_code_entry(x->code)(p, syms, w + r.params + r.tapes + r.packs, &c.rt);
	for (int i = 0; i < x->prog->ntape; i++)
		hop_raw_free(&x->mem, c.rt.tape[i].ptr, (size_t)c.rt.tape[i].bytes);
	if (!rc)
		unpack(x, syms, out, p);
	return rc ? (c.st ? c.st : HOP_ETARGET) : HOP_OK;
}
