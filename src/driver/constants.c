/* constants.c -- code that computes once what depends on captured arrays only. Which nodes those are
 * is opt/constants.c's, how the results are kept is rt/once.c's. */
#include "driver/compile.h"
#include "opt/constants.h"
#include "rt/once.h"

#include <string.h>

/* A captured array that the function writes is another one at its next run. */
static const bool *fixed(hop_env *e, const hop_fn *f)
{
	bool *p = HOP_NEWN(&e->tmp, bool, f->g->nparam);
	for (uint32_t i = (uint32_t)f->nin; i < f->g->nparam; i++)
		p[i] = true;
	for (int i = 0; i < f->nwrote; i++)
		p[f->wrote[i]] = false;
	return p;
}

static int64_t bytes_of(const hop_graph *g)
{
	int64_t sum = 0;
	for (uint32_t k = 0; k < g->nout; k++) {
		const hop_type *t = hop_graph_out_type(g, k);
		int64_t n = (int64_t)hop_dtype_bytes((hop_dtype)t->dtype);
		for (int i = 0; i < t->rank; i++)
			n *= t->dim[i].k;
		sum += n;
	}
	return sum;
}

/* Owned by x from its first line on, so that nothing is lost after a failure. */
static void keep(hop_env *e, hop_fn *f, const hop_graph *was, const hop_once_graphs *d,
                 hop_exec *x)
{
	hop_once *o = hop_raw_new(e, sizeof *o);
	memset(o, 0, sizeof *o);
	o->mem = e->mem;
	pthread_mutex_init(&o->lock, NULL);
	x->once = o;
	o->hidden = f->hidden;
	o->nhidden = f->nhidden;
	o->nkept = (int)d->nkept;
	o->bytes = bytes_of(d->once);
	o->param = hop_raw_new(e, d->nparam * sizeof *o->param);
	o->nparam = d->nparam;
	for (uint32_t i = 0; i < d->nparam; i++)
		o->param[i] = d->param[i] - (uint32_t)f->nin;
	o->g = hop_graph_retain((hop_graph *)(uintptr_t)was);
	o->x = hop_exec_open(e, d->once);
}

hop_status hop_exec_divide(hop_env *e, hop_fn *f, const hop_graph *opt, const hop_target *t,
                           const hop_machine *m, const hop_target_opts *to, hop_exec *x,
                           const hop_graph **out_rest)
{
	hop_once_graphs d;
	HOP_TRY(hop_opt_constants(e, opt, fixed(e, f), &d));
	*out_rest = opt;
	if (!d.once)
		return HOP_OK;
	keep(e, f, x->g, &d, x);
	HOP_TRY(hop_exec_code(e, d.once, t, m, to, x->once->x));
	HOP_TRY(hop_exec_bind(e, x, f->nhidden, f->hidden, (int)d.nkept));
	hop_graph_release(x->g);
	x->g = hop_graph_retain((hop_graph *)(uintptr_t)d.rest);
	*out_rest = d.rest;
	return HOP_OK;
}
