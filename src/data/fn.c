/* fn.c -- functions as objects, and their text. */
#include "data/fn.h"

#include <string.h>

#include "text/text.h"

hop_status hop_fn_new(hop_ctx *c, const hop_graph *g, int nin, int nout, int nhidden,
                      hop_array *const *hidden, int nwrote, const int *wrote,
                      hop_fn **out_f)
{
	hop_mem m = hop_ctx_mem(c);
	hop_fn *f = hop_raw_try(&m, sizeof *f);
	hop_array **h = f ? hop_raw_try(&m, (size_t)nhidden * sizeof *h) : NULL;
	int *w = h ? hop_raw_try(&m, (size_t)nwrote * sizeof *w) : NULL;
	size_t names = (size_t)(nin + nout) * sizeof(const char *);
	const char **name = w ? hop_raw_try(&m, names) : NULL;
	*out_f = NULL;
	if (!name) {
		hop_raw_free(&m, w, (size_t)nwrote * sizeof *w);
		hop_raw_free(&m, h, (size_t)nhidden * sizeof *h);
		hop_raw_free(&m, f, sizeof *f);
		hop_ctx_set_message(c, &(hop_diag){ .st = HOP_ENOMEM });
		return HOP_ENOMEM;
	}
	*f = (hop_fn){ .refs = 1, .ctx = c, .nin = nin, .nout = nout, .nhidden = nhidden,
	               .nwrote = nwrote, .hidden = h, .wrote = w, .name = name };
	f->g = hop_graph_retain((hop_graph *)(uintptr_t)g);
	for (int i = 0; i < nhidden; i++)
		h[i] = hop_array_retain(hidden[i]);
	for (int i = 0; i < nwrote; i++)
		w[i] = wrote[i];
	for (int i = 0; i < nin + nout; i++)
		name[i] = NULL;
	*out_f = f;
	return HOP_OK;
}

hop_fn *hop_fn_retain(hop_fn *f)
{
	if (f)
		__atomic_fetch_add(&f->refs, 1, __ATOMIC_RELAXED);
	return f;
}

void hop_fn_release(hop_fn *f)
{
	if (!f || __atomic_fetch_sub(&f->refs, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	hop_mem m = hop_ctx_mem(f->ctx);
	if (f->exec)
		f->drop_exec(f->exec);
	if (f->watched)
		f->drop_exec(f->watched);
	if (f->there)
		f->drop_exec(f->there);
	for (int i = 0; i < f->nhidden; i++)
		hop_array_release(f->hidden[i]);
	hop_graph_release((hop_graph *)(uintptr_t)f->g);
	hop_raw_free(&m, f->hidden, (size_t)f->nhidden * sizeof *f->hidden);
	hop_raw_free(&m, f->wrote, (size_t)f->nwrote * sizeof *f->wrote);
	hop_raw_free(&m, f->name, (size_t)(f->nin + f->nout) * sizeof *f->name);
	hop_raw_free(&m, f->text, f->ntext);
	hop_raw_free(&m, f, sizeof *f);
}

int hop_fn_nin(const hop_fn *f)
{
	return f ? f->nin : 0;
}

int hop_fn_nout(const hop_fn *f)
{
	return f ? f->nout : 0;
}

/* The text as its own piece of memory, or NULL. */
static char *print(hop_fn *f, size_t *out_n)
{
	hop_env e;
	hop_frame fr;
	char *volatile s = NULL;
	hop_env_init(&e, f->ctx, hop_ctx_mem(f->ctx));
	if (HOP_GUARD(&e, &fr)) {
		hop_guard_nomem(&e, &fr);
	} else {
		hop_buf b;
		hop_buf_open(&b, &e);
		hop_graph_print(&b, f->g);
		char *p = hop_raw_new(&e, b.n + 1);
		memcpy(p, b.s, b.n + 1);
		*out_n = b.n + 1;
		s = p;
		hop_buf_free(&b);
		hop_guard_end(&e, &fr);
	}
	hop_env_fini(&e);
	return s;
}

const char *hop_fn_text(hop_fn *f)
{
	if (!f)
		return NULL;
	char *s = __atomic_load_n(&f->text, __ATOMIC_ACQUIRE), *none = NULL;
	if (s)
		return s;
	size_t n = 0;
	s = print(f, &n);
	if (!s)
		return NULL;
	__atomic_store_n(&f->ntext, n, __ATOMIC_RELAXED);     /* the same from any thread */
	if (__atomic_compare_exchange_n(&f->text, &none, s, false, __ATOMIC_ACQ_REL,
	                                __ATOMIC_ACQUIRE))
		return s;
	hop_mem m = hop_ctx_mem(f->ctx);
	hop_raw_free(&m, s, n);
	return none;
}
