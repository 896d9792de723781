/* run.c -- the hard door: binds sizes, lays out the caller's workspace, calls the code.
 * Allocates nothing, except for trails that grow and for the text of effects. */
#include <string.h>

#include "rt/once.h"

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

/* Parameter i: the caller's, or one that is bound to the exec. NULL: of the caller, who has not
 * said yet. */
static const hop_arg *param(const hop_exec *x, const hop_arg *in, uint32_t i)
{
	uint32_t nin = x->g->nparam - (uint32_t)x->nhidden;
	return i >= nin ? &x->hidden[i - nin] : in ? &in[i] : NULL;
}

bool hop_exec_measure(const hop_exec *x, const int64_t *syms, const hop_arg *in,
                      const hop_arg *out, hop_room *r)
{
	const hop_graph *g = x->g;
	int64_t dim[HOP_MAXRANK];
	r->params = (int64_t)((g->nparam + g->nout) * (sizeof(void *) + 1) + ALIGN - 1) / ALIGN * ALIGN;
	r->tapes = ((int64_t)x->prog->ntape * (int64_t)sizeof(struct hop_tape) + ALIGN - 1) /
	           ALIGN * ALIGN;
	r->packs = 0;
	for (uint32_t i = 0; i < g->nparam; i++) {
		const hop_arg *a = param(x, in, i);
		if (a && a->stride && !add_bytes(&r->packs, type_bytes(g, g->type[i], syms, dim)))
			return false;
	}
	for (uint32_t k = 0; k < g->nout; k++)      /* out NULL: room for all of them */
		if ((!out || out[k].stride) &&
		    !add_bytes(&r->packs, type_bytes(g, hop_graph_out_type(g, k), syms, dim)))
			return false;
	r->frame = 0;                               /* a device has its own */
	if (!hop_code_memory(x->code)->far && !hop_code_frame(x->code, syms, (int)g->nsym, &r->frame))
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

static hop_status tell(const hop_exec *x, hop_status st, const char *text)
{
	hop_ctx_set_message(x->ctx, &(hop_diag){ .st = st, .text = (char *)(uintptr_t)text,
	                                         .len = strlen(text) });
	return st;
}

/* Memory of this process may be pinned: DLPack has a number for it. */
static bool is_there(const hop_arg *a)
{
	enum { PINNED = 3 };
	return a->device.type && a->device.type != HOP_CPU && a->device.type != PINNED;
}

/* Which arguments are on the code's device; others must be memory of this process. */
static hop_status locate(const hop_exec *x, const hop_arg *in, const hop_arg *hidden,
                         const hop_arg *out, unsigned char *there)
{
	const hop_graph *g = x->g;
	const hop_far *far = hop_code_memory(x->code)->far;
	uint32_t nin = g->nparam - (uint32_t)x->nhidden;
	for (uint32_t i = 0; i < g->nparam + g->nout; i++) {
		const hop_arg *a = i < nin ? &in[i] : i < g->nparam ? &hidden[i - nin] : &out[i - g->nparam];
		there[i] = is_there(a);
		if (!there[i])
			continue;
		if (!far || far->type != a->device.type || a->device.id)
			return tell(x, HOP_EUSE, "error: run: an argument is on a device that the code is not "
			            "for: compile it for that device (.target), or copy it (hop_array_to)");
		if (a->stride)
			return tell(x, HOP_EREFUSED, "error: run: an argument on a device has strides: make it "
			            "dense there first");
	}
	return HOP_OK;
}

/* Where each parameter is: the caller's memory, or a dense copy in the workspace. False:
 * there are elements, and no memory was named. */
static bool place(const hop_exec *x, const int64_t *syms, const hop_arg *in,
                  const hop_arg *hidden, const hop_arg *out, void **p, char *packs)
{
	const hop_graph *g = x->g;
	int64_t dim[HOP_MAXRANK], s[HOP_MAXRANK];
	uint32_t nin = g->nparam - (uint32_t)x->nhidden;
	for (uint32_t i = 0; i < g->nparam; i++) {
		const hop_arg *a = i < nin ? &in[i] : &hidden[i - nin];
		const hop_type *t = g->type[i];
		p[i] = a->data;
		if (!p[i] && type_bytes(g, t, syms, dim))
			return false;
		if (!a->stride)
			continue;
		int64_t n = type_bytes(g, t, syms, dim);
		hop_dense_strides(t->rank, dim, s);
		hop_copy_strided(hop_dtype_bytes((hop_dtype)t->dtype), t->rank, dim, packs, s, a->data,
		                 a->stride);
		p[i] = packs;
		packs += n;
	}
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
		hop_dense_strides(t->rank, dim, s);
		hop_copy_strided(hop_dtype_bytes((hop_dtype)t->dtype), t->rank, dim, out[k].data,
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
	hop_run_opts own;
	if (!has_inputs(x, in) || (x->g->nout && !out) || !workspace)
		return HOP_EUSE;
	HOP_TRY(hop_opts_read(x->ctx, "run", o, &own, sizeof own));
	if (own.record && !x->watch)
		return tell(x, HOP_EUSE, "error: run: a record is given to code without watches: compile it "
		            "with .watch of hop_compile_opts");
	if (hop_exec_sizes(x, in, syms, NULL))
		return refuse(x, in);
	if (!hop_exec_measure(x, syms, in, out, &r))
		return HOP_ENOMEM;
	return hop_exec_go(x, syms, in, out, &r, workspace, &own);
}

/* The stream is one of the code's device, and comes after who writes what is bound. */
static hop_status begin(const hop_exec *x, hop_stream *s)
{
	if (s && s->ended)
		return tell(x, HOP_EUSE, "error: run: the stream has been freed");
	if (s && (s->ctx != x->ctx || (s->mem && s->mem != hop_code_memory(x->code))))
		return tell(x, HOP_EUSE, "error: run: the stream is of another context, or of a device that "
		            "the code is not for");
	for (int i = 0; i < x->nbound; i++)
		HOP_TRY(hop_array_use(x->bound[i], s, false));
	return HOP_OK;
}

/* Why it stopped: we know, or the device does. */
static hop_status stopped(const hop_exec *x, const hop_running *c)
{
	if (c->st)
		return c->st;
	if (__atomic_load_n(c->rt.cancel, __ATOMIC_RELAXED))
		return HOP_ECANCELED;
	hop_status st = hop_far_told(x->ctx, "a run on", hop_code_memory(x->code)->wait(c->queue));
	return st ? st : tell(x, HOP_ETARGET, "error: run: the program stopped");
}

static hop_status go(const hop_exec *x, const int64_t *syms, const hop_arg *in,
                     const hop_arg *hidden, const hop_arg *out, const hop_room *r, void *workspace,
                     const hop_run_opts *o)
{
	const hop_memory *mem = hop_code_memory(x->code);
	void **p = workspace;
	char *w = workspace, *packs = w + r->params + r->tapes;
	unsigned char *there = (unsigned char *)(p + x->g->nparam + x->g->nout);
	hop_running c;
	HOP_TRY(begin(x, o ? o->stream : NULL));
	HOP_TRY(locate(x, in, hidden, out, there));
	hop_running_init(&c, x, (struct hop_tape *)(void *)(w + r->params), o);
	c.rt.there = there;
	if (!place(x, syms, in, hidden, out, p, packs))
		return tell(x, HOP_EUSE, "error: run: an argument has elements, and no data");
	int rc = hop_code_launch(x->code, c.queue, p, syms, mem->far ? NULL : packs + r->packs, &c.rt);
	hop_status st = rc ? stopped(x, &c) : HOP_OK;
	if (!rc && !c.queue)
		st = hop_far_told(x->ctx, "a run on", mem->wait(NULL));
	hop_running_fini(&c);
	if (!st)
		unpack(x, syms, out, p);
	return st;
}

hop_status hop_exec_go(const hop_exec *x, const int64_t *syms, const hop_arg *in,
                       const hop_arg *out, const hop_room *r, void *workspace,
                       const hop_run_opts *o)
{
	if (!x->once)
		return go(x, syms, in, x->hidden, out, r, workspace, o);
	const hop_arg *hidden = hop_once_enter(x->once, o ? o->stream : NULL);
	hop_status st = go(x, syms, in, hidden, out, r, workspace, o);
	hop_once_leave(x->once);
	return st;
}
