/* jit_new.c -- the jit as an object: options, transforms, what a fork does to it. Captures nothing. */
#include "driver/jit.h"

#include <stdio.h>
#include <string.h>

#include "hop/transform.h"

/* ---- fork() ---- */

static void before_fork(void *user)
{
	hop_jit *j = user;
	pthread_mutex_lock(&j->lock);
}

static void after_fork(void *user)
{
	hop_jit *j = user;
	pthread_mutex_unlock(&j->lock);
}

/* A capture of another thread is lost to the child; what is in the list is whole. */
static void in_child(void *user)
{
	hop_jit *j = user;
	if (j->busy && !pthread_equal(j->who, pthread_self()))
		j->busy = false;
	pthread_cond_init(&j->done, NULL);
	pthread_mutex_unlock(&j->lock);
}

/* ---- the object ---- */

/* Without captures, with room for transforms; o is ours in full. */
static hop_status make_jit(hop_ctx *c, hop_body *f, void *user, const char *name,
                           const hop_jit_opts *o, int room, hop_jit **out_j)
{
	hop_mem m = hop_ctx_mem(c);
	hop_jit *j = hop_raw_try(&m, sizeof *j);
	if (!j) {
		hop_ctx_set_message(c, &(hop_diag){ .st = HOP_ENOMEM });
		return HOP_ENOMEM;
	}
	memset(j, 0, sizeof *j);
	j->refs = 1;
	j->ctx = c;
	j->mem = m;
	j->body = f;
	j->user = user;
	j->o = *o;
	snprintf(j->name, sizeof j->name, "%s", name);
	for (; j->nstatic < HOP_STATICS && o->statics[j->nstatic].data; j->nstatic++)
		j->nbytes += o->statics[j->nstatic].bytes;
	if (o->compile) {
		j->compile = *o->compile;
		j->o.compile = &j->compile;
	}
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->done, NULL);
	j->fork = (hop_fork_hook){ .before = before_fork, .parent = after_fork, .child = in_child,
	                           .user = j };
	j->room = room;
	j->step = hop_raw_try(&m, (size_t)room * sizeof *j->step);
	if (!j->step || !hop_fork_add(&j->fork)) {
		hop_jit_release(j);
		hop_ctx_set_message(c, &(hop_diag){ .st = HOP_ENOMEM });
		return HOP_ENOMEM;
	}
	*out_j = j;
	return HOP_OK;
}

hop_status hop_jit_new(hop_ctx *c, hop_body *f, void *user, const hop_jit_opts *opts,
                       hop_jit **out_j)
{
	static const char no_body[] = "error: jit: no function was given for the body";
	static const char bad_keep[] = "error: jit: keep is negative: how many captures are kept";
	hop_jit_opts o;
	hop_compile_opts compile;
	if (out_j)
		*out_j = NULL;
	if (!c || !out_j)
		return HOP_EUSE;
	HOP_TRY(hop_opts_read(c, "jit", opts, &o, sizeof o));
	HOP_TRY(hop_opts_read(c, "jit: compile", o.compile, &compile, sizeof compile));
	if (!f || o.keep < 0) {
		const char *text = f ? bad_keep : no_body;
		hop_diag d = { .st = f ? HOP_EVALUE : HOP_EUSE, .text = (char *)(uintptr_t)text,
		               .len = strlen(text) };
		hop_ctx_set_message(c, &d);
		return d.st;
	}
	o.compile = o.compile ? &compile : NULL;
	o.keep = o.keep ? o.keep : HOP_JIT_KEEP;
	o.check |= hop_check_asked("jit");
	return make_jit(c, f, user, o.name ? o.name : "jit", &o, 0, out_j);
}

hop_jit *hop_jit_retain(hop_jit *j)
{
	if (j)
		__atomic_fetch_add(&j->refs, 1, __ATOMIC_RELAXED);
	return j;
}

static size_t step_bytes(const hop_jit_step *s)
{
	return sizeof *s + (size_t)s->n * sizeof *s->at;
}

static void drop_first(hop_jit *j)
{
	hop_jit_entry *e = j->list;
	j->list = e->next;
	hop_jit_entry_free(j, e);
}

void hop_jit_release(hop_jit *j)
{
	if (!j || __atomic_fetch_sub(&j->refs, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	hop_mem m = j->mem;
	hop_fork_remove(&j->fork);
	while (j->list)
		drop_first(j);
	for (int i = 0; i < j->nstep; i++)
		hop_raw_free(&m, j->step[i], step_bytes(j->step[i]));
	hop_raw_free(&m, j->step, (size_t)j->room * sizeof *j->step);
	hop_raw_free(&m, j->text, j->ntext);
	pthread_cond_destroy(&j->done);
	pthread_mutex_destroy(&j->lock);
	hop_raw_free(&m, j, sizeof *j);
}

/* ---- transforms ---- */

/* A copy of a transform. */
static bool add_step(hop_jit *j, const hop_jit_step *s, const int *at)
{
	hop_jit_step *own = hop_raw_try(&j->mem, step_bytes(s));
	if (!own)
		return false;
	*own = *s;
	if (s->n)
		memcpy(own->at, at, (size_t)s->n * sizeof *own->at);
	j->step[j->nstep++] = own;
	return true;
}

/* at: s->n numbers. */
static hop_status derive(hop_jit *j, const hop_jit_step *s, const int *at, hop_jit **out_j)
{
	hop_jit *d;
	if (out_j)
		*out_j = NULL;
	if (!j || !out_j)
		return HOP_EUSE;
	if (s->n < 0 || s->nin < 0 || (s->n && !at))
		return hop_jit_fail(j, HOP_EUSE, "a transform without its list of arguments");
	HOP_TRY(make_jit(j->ctx, j->body, j->user, j->name, &j->o, j->nstep + 1, &d));
	bool ok = true;
	for (int i = 0; ok && i < j->nstep; i++)
		ok = add_step(d, j->step[i], j->step[i]->at);
	if (ok && add_step(d, s, at)) {
		*out_j = d;
		return HOP_OK;
	}
	hop_jit_release(d);
	return hop_jit_fail(j, HOP_ENOMEM, "no memory");
}

hop_status hop_jit_grad(hop_jit *j, int nwrt, const int *wrt, hop_jit **out_j)
{
	return derive(j, &(hop_jit_step){ .kind = HOP_JIT_GRAD, .n = nwrt }, wrt, out_j);
}

hop_status hop_jit_jvp(hop_jit *j, int nwrt, const int *wrt, hop_jit **out_j)
{
	return derive(j, &(hop_jit_step){ .kind = HOP_JIT_JVP, .n = nwrt }, wrt, out_j);
}

hop_status hop_jit_vjp(hop_jit *j, int nin, int nwrt, const int *wrt, hop_jit **out_j)
{
	return derive(j, &(hop_jit_step){ .kind = HOP_JIT_VJP, .nin = nin, .n = nwrt }, wrt, out_j);
}

/* Jacobians, with their options. */
static hop_status jac(hop_jit *j, enum hop_jit_kind kind, int nwrt, const int *wrt,
                      const hop_jac_opts *opts, hop_jit **out_j)
{
	hop_jac_opts o;
	if (out_j)
		*out_j = NULL;
	if (!j || !out_j)
		return HOP_EUSE;
	HOP_TRY(hop_opts_read(j->ctx, "jit: jac", opts, &o, sizeof o));
	return derive(j, &(hop_jit_step){ .kind = kind, .n = nwrt, .nout = o.results, .chunk = o.chunk },
	              wrt, out_j);
}

hop_status hop_jit_jacrev(hop_jit *j, int nwrt, const int *wrt, const hop_jac_opts *opts,
                          hop_jit **out_j)
{
	return jac(j, HOP_JIT_JACREV, nwrt, wrt, opts, out_j);
}

hop_status hop_jit_jacfwd(hop_jit *j, int nwrt, const int *wrt, const hop_jac_opts *opts,
                          hop_jit **out_j)
{
	return jac(j, HOP_JIT_JACFWD, nwrt, wrt, opts, out_j);
}

hop_status hop_jit_hessian(hop_jit *j, int nwrt, const int *wrt, const hop_jac_opts *opts,
                           hop_jit **out_j)
{
	return jac(j, HOP_JIT_HESSIAN, nwrt, wrt, opts, out_j);
}

hop_status hop_jit_hvp(hop_jit *j, int nwrt, const int *wrt, hop_jit **out_j)
{
	return derive(j, &(hop_jit_step){ .kind = HOP_JIT_HVP, .n = nwrt }, wrt, out_j);
}

hop_status hop_jit_vhp(hop_jit *j, int nwrt, const int *wrt, hop_jit **out_j)
{
	return derive(j, &(hop_jit_step){ .kind = HOP_JIT_VHP, .n = nwrt }, wrt, out_j);
}

/* Axes of arguments and results as one list. */
static hop_status vmap(hop_jit *j, int nin, const bool *batched, const hop_vmap_opts *o,
                       hop_jit **out_j)
{
	int nout = o->out ? o->nout : 0;
	bool any = false;
	if (nin < 0 || nout < 0 || (nin && !batched && !o->in))
		return hop_jit_fail(j, HOP_EUSE, "a transform without its list of arguments");
	size_t bytes = ((size_t)nin + (size_t)nout) * sizeof(int);
	int *at = bytes ? hop_raw_try(&j->mem, bytes) : NULL;
	if (bytes && !at)
		return hop_jit_fail(j, HOP_ENOMEM, "no memory");
	for (int i = 0; i < nin; i++) {
		at[i] = !batched ? o->in[i] : batched[i] ? 0 : -1;
		any |= at[i] >= 0;
	}
	for (int k = 0; k < nout; k++)
		at[nin + k] = o->out[k];
	hop_jit_step s = { .kind = HOP_JIT_VMAP, .nin = nin, .nout = nout, .chunk = o->chunk,
	                   .n = nin + nout };
	hop_status st = any ? derive(j, &s, at, out_j)
	              : hop_jit_fail(j, HOP_EVALUE, "no argument is batched, so that nothing says how "
	                             "many lanes there are");
	hop_raw_free(&j->mem, at, bytes);
	return st;
}

hop_status hop_jit_vmap(hop_jit *j, int nin, const bool *batched, hop_jit **out_j)
{
	if (out_j)
		*out_j = NULL;
	return j && out_j ? vmap(j, nin, batched, &(hop_vmap_opts){ 0 }, out_j) : HOP_EUSE;
}

hop_status hop_jit_vmap_with(hop_jit *j, const hop_vmap_opts *opts, hop_jit **out_j)
{
	hop_vmap_opts o;
	if (out_j)
		*out_j = NULL;
	if (!j || !out_j)
		return HOP_EUSE;
	HOP_TRY(hop_opts_read(j->ctx, "jit: vmap", opts, &o, sizeof o));
	return vmap(j, o.nin, NULL, &o, out_j);
}
