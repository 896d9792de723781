/* jacobians.c -- Jacobians, Hessians and their products with vectors, of functions: options, checks
 * and names. What they are made of is hops/jacobian.c. */
#include "driver/transform.h"

#include "hop/transform.h"
#include "hops/transform.h"

#include <stdio.h>
#include <string.h>

/* The name of result or input i behind a word: "jac.y", "jac[1]". */
static const char *behind(hop_made *m, const char *word, const char *name, int i)
{
	char text[300];
	if (name)
		snprintf(text, sizeof text, "%s.%s", word, name);
	else
		snprintf(text, sizeof text, "%s[%d]", word, i);
	return hop_arena_str(&m->e.tmp, text, strlen(text));
}

/* Which of the results are differentiated. */
static hop_status read_results(hop_made *m, const hop_made_args *a, hop_jac_ask *q)
{
	const hop_fn *f = m->from;
	int n = a->results ? a->results : 1;
	HOP_TRY(hop_made_check(m, a->op, a));
	if (n < 0 || n > f->nout)
		return hop_fail(&m->e, 0, HOP_EVALUE, "%s: %d results to differentiate, the function has %d",
		                a->op, n, f->nout);
	*q = (hop_jac_ask){ .op = a->op, .n = (uint32_t)n, .nwrt = a->nwrt, .wrt = a->wrt,
	                    .chunk = a->chunk };
	return HOP_OK;
}

static hop_status make_jac(hop_made *m, const hop_made_args *a, hop_fn **out_f)
{
	const hop_fn *f = m->from;
	const hop_graph *q;
	hop_jac_ask ask;
	HOP_TRY(read_results(m, a, &ask));
	HOP_TRY((a->forward ? hop_ask_jacfwd : hop_ask_jacrev)(&m->e, &ask, f->g, &q));
	HOP_TRY(hop_made_fit(m, q, out_f));
	hop_names_keep(*out_f, f, true);
	for (int k = 0; k < (int)ask.n; k++) {
		hop_naming of = { .results = true, .at = f->nout + k * a->nwrt, .n = a->nwrt, .of = a->wrt };
		const char *word = ask.n == 1 ? "jac" : behind(m, "jac", hop_fn_result_name(f, k), k);
		hop_names_add(&m->e, *out_f, f, word, 1, &of);
	}
	return HOP_OK;
}

static hop_status make_hessian(hop_made *m, const hop_made_args *a, hop_fn **out_f)
{
	const hop_fn *f = m->from;
	const hop_graph *q;
	hop_jac_ask ask;
	if (a->results > 1)
		return hop_fail(&m->e, 0, HOP_EVALUE, "hessian: of the first result only, not of %d",
		                a->results);
	HOP_TRY(read_results(m, a, &ask));
	HOP_TRY(hop_ask_hessian(&m->e, &ask, f->g, &q));
	HOP_TRY(hop_made_fit(m, q, out_f));
	hop_names_keep(*out_f, f, true);
	hop_naming grads = { .results = true, .at = f->nout, .n = a->nwrt, .of = a->wrt };
	hop_names_add(&m->e, *out_f, f, "grad", 1, &grads);
	for (int i = 0; i < a->nwrt; i++) {
		hop_naming of = { .results = true, .at = f->nout + (1 + i) * a->nwrt, .n = a->nwrt,
		                  .of = a->wrt };
		hop_names_add(&m->e, *out_f, f, behind(m, "hessian", hop_fn_input_name(f, a->wrt[i]),
		                                       a->wrt[i]), 1, &of);
	}
	return HOP_OK;
}

static hop_status make_hvp(hop_made *m, const hop_made_args *a, hop_fn **out_f)
{
	const hop_fn *f = m->from;
	const hop_graph *q;
	HOP_TRY(hop_made_check(m, a->op, a));
	HOP_TRY(hop_ask_hvp(&m->e, 0, a->back, f->g, a->nwrt, a->wrt, &q));
	HOP_TRY(hop_made_fit(m, q, out_f));
	hop_names_keep(*out_f, f, true);
	hop_naming v = { .at = f->nin, .n = a->nwrt, .of = a->wrt };
	hop_naming grads = { .results = true, .at = f->nout, .n = a->nwrt, .of = a->wrt };
	hop_naming hv = { .results = true, .at = f->nout + a->nwrt, .n = a->nwrt, .of = a->wrt };
	hop_names_add(&m->e, *out_f, f, "tangent", 1, &v);
	hop_names_add(&m->e, *out_f, f, "grad", 1, &grads);
	hop_names_add(&m->e, *out_f, f, "hvp", 1, &hv);
	return HOP_OK;
}

/* ---- the doors ---- */

static hop_status jac(hop_fn *f, const char *op, hop_made_fn *make, bool forward, int nwrt,
                      const int *wrt, const hop_jac_opts *opts, hop_fn **out_f)
{
	hop_jac_opts o;
	if (out_f)
		*out_f = NULL;
	if (!f || !out_f)
		return HOP_EUSE;
	HOP_TRY(hop_opts_read(f->ctx, op, opts, &o, sizeof o));
	hop_made_args a = { .op = op, .nwrt = nwrt, .wrt = wrt, .forward = forward,
	                    .results = o.results, .chunk = o.chunk };
	return hop_made_run(f, make, &a, out_f);
}

hop_status hop_jacrev(hop_fn *f, int nwrt, const int *wrt, const hop_jac_opts *opts, hop_fn **out_f)
{
	return jac(f, "jacrev", make_jac, false, nwrt, wrt, opts, out_f);
}

hop_status hop_jacfwd(hop_fn *f, int nwrt, const int *wrt, const hop_jac_opts *opts, hop_fn **out_f)
{
	return jac(f, "jacfwd", make_jac, true, nwrt, wrt, opts, out_f);
}

hop_status hop_hessian(hop_fn *f, int nwrt, const int *wrt, const hop_jac_opts *opts,
                       hop_fn **out_f)
{
	return jac(f, "hessian", make_hessian, false, nwrt, wrt, opts, out_f);
}

hop_status hop_hvp(hop_fn *f, int nwrt, const int *wrt, hop_fn **out_f)
{
	hop_made_args a = { .op = "hvp", .nwrt = nwrt, .wrt = wrt };
	return hop_made_run(f, make_hvp, &a, out_f);
}

hop_status hop_vhp(hop_fn *f, int nwrt, const int *wrt, hop_fn **out_f)
{
	hop_made_args a = { .op = "vhp", .nwrt = nwrt, .wrt = wrt, .back = true };
	return hop_made_run(f, make_hvp, &a, out_f);
}
