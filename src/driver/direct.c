/* direct.c -- a call on arrays without copies: the code reads the caller's arrays, writes
 * into new ones, and works in memory that is kept from call to call. Only for what fits;
 * whoever calls it goes the long way to say what does not. */
#include "driver/direct.h"

#include <string.h>

enum { FEW = 24 };     /* so many parameters and results take no allocation */

/* ---- the call ---- */

struct call {
	hop_fn           *f;
	hop_exec         *x;
	hop_array *const *in;
	hop_array       **out;
	hop_arg          *ai, *ao;
	hop_array       **wrote;       /* new contents of written arrays, until all went well */
	const hop_memory *mem;         /* of results; NULL = here */
	hop_stream       *stream;      /* NULL = the call waits */
	int64_t           syms[HOP_MAXSYM];
};

static bool inputs_fit(struct call *c)
{
	const hop_graph *g = c->f->g;
	for (uint32_t i = 0; i < g->nparam; i++) {
		const hop_array *a = hop_fn_array(c->f, c->in, i);
		if (!a || a->ctx != c->f->ctx || a->dtype != (hop_dtype)g->type[i]->dtype ||
		    a->rank != g->type[i]->rank)
			return false;
		c->ai[i] = hop_array_arg(a);
	}
	for (int w = 0; w < c->f->nwrote; w++) {
		uint32_t k = (uint32_t)c->f->wrote[w];
		const hop_array *to = hop_fn_array(c->f, c->in, k);
		if (to->readonly)
			return false;
		for (uint32_t i = 0; i < g->nparam; i++) {
			const hop_array *a = hop_fn_array(c->f, c->in, i);
			if (i != k && (a == to || hop_array_meet(a, to)))
				return false;
		}
	}
	return true;
}

/* Where result k is made: new contents of an array, beside that. */
static const hop_memory *memory_of(const struct call *c, uint32_t k)
{
	if (k < (uint32_t)c->f->nout)
		return c->mem;
	return hop_fn_array(c->f, c->in, (uint32_t)c->f->wrote[k - (uint32_t)c->f->nout])->mem;
}

static bool make_outputs(struct call *c)
{
	const hop_graph *g = c->f->g;
	for (uint32_t k = 0; k < g->nout; k++) {
		int64_t dim[HOP_MAXRANK];
		bool own = k < (uint32_t)c->f->nout;
		hop_array **to = own ? &c->out[k] : &c->wrote[k - (uint32_t)c->f->nout];
		int rank = hop_exec_dims(c->x, c->syms, (int)k, dim);
		hop_dtype d = (hop_dtype)hop_graph_out_type(g, k)->dtype;
		const hop_memory *mem = memory_of(c, k);
		if (rank < 0 || (mem ? hop_array_far(c->f->ctx, mem, 0, c->stream, d, rank, dim, to)
		                     : hop_array_raw(c->f->ctx, d, rank, dim, to)))
			return false;
		c->ao[k] = (hop_arg){ .data = (*to)->data, .device = hop_array_device(*to) };
	}
	return true;
}

/* The stream, or this thread, comes after who writes the inputs. */
static hop_status await_inputs(struct call *c)
{
	for (uint32_t i = 0; i < c->f->g->nparam; i++)
		HOP_TRY(hop_array_use(hop_fn_array(c->f, c->in, i), c->stream, false));
	return HOP_OK;
}

/* What became of written arrays to where they are. */
static hop_status write_back(struct call *c)
{
	for (int i = 0; i < c->f->nwrote; i++) {
		hop_array *to = hop_fn_array(c->f, c->in, (uint32_t)c->f->wrote[i]), *from = c->wrote[i];
		if (!to->mem) {
			HOP_TRY(hop_array_unpack(to, from->data));
			continue;
		}
		HOP_TRY(hop_array_use(to, c->stream, true));
		HOP_TRY(hop_far_told(to->ctx, "copy on", to->mem->copy(hop_stream_queue(c->stream), to->data,
		                                                      from->data, to->bytes)));
		hop_array_changed(to);
	}
	return HOP_OK;
}

static void drop_outputs(struct call *c, bool failed)
{
	for (int i = 0; i < c->f->nwrote; i++)
		hop_array_release(c->wrote[i]);
	for (int i = 0; failed && i < c->f->nout; i++) {
		hop_array_release(c->out[i]);
		c->out[i] = NULL;
	}
}

static bool run(struct call *c, const hop_run_opts *o, hop_status *out_st)
{
	const hop_memory *code = hop_code_memory(c->x->code);
	hop_room room;
	if (!inputs_fit(c) || hop_exec_sizes(c->x, c->ai, c->syms, NULL))
		return false;
	c->stream = o ? o->stream : NULL;
	c->mem = code->far ? hop_results_memory(code, hop_fn_memory(c->f, c->in), o) : NULL;
	if (!make_outputs(c)) {
		drop_outputs(c, true);
		return false;
	}
	bool fits = hop_exec_measure(c->x, c->syms, c->ai, c->ao, &room);
	struct hop_spare *s = fits ? hop_spare_take(c->x, room.total) : NULL;
	hop_status st = !s ? HOP_ENOMEM : code->far ? await_inputs(c) : HOP_OK;
	if (!st)
		st = hop_exec_go(c->x, c->syms, c->ai, c->ao, &room, s->p, o);
	if (s)
		hop_spare_give(c->x, s);
	if (!st)
		st = write_back(c);
	drop_outputs(c, st != HOP_OK);
	*out_st = st;
	return s != NULL;
}

bool hop_call_direct(hop_fn *f, hop_exec *x, hop_array *const *in, hop_array **out,
                     const hop_run_opts *o, hop_status *out_st)
{
	hop_arg few[FEW];
	hop_array *wrote[FEW];
	size_t narg = f->g->nparam + f->g->nout, nwrote = (size_t)f->nwrote;
	size_t bytes = narg * sizeof *few + nwrote * sizeof *wrote;
	if (x->own)                    /* its results are cut to size */
		return false;
	hop_arg *a = narg <= FEW ? few : hop_raw_try(&x->mem, bytes);
	if (!a)
		return false;
	struct call c;                 /* syms is large, and mostly not needed */
	c.f = f;
	c.x = x;
	c.in = in;
	c.out = out;
	c.ai = a;
	c.ao = a + f->g->nparam;
	c.wrote = a == few ? wrote : (hop_array **)(a + narg);
	memset(c.wrote, 0, nwrote * sizeof *wrote);
	bool done = run(&c, o, out_st);
	if (a != few)
		hop_raw_free(&x->mem, a, bytes);
	return done;
}
