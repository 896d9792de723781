/* transform.c -- transforms of functions: the graph is transformed, and its parameters and
 * results put in the order that include/hop/fn.h promises. The rules are elsewhere. */
#include "driver/transform.h"

#include <string.h>

#include "hops/transform.h"
#include "hops/transpose.h"

/* Open the new graph: inputs, nmore parameters of the given types, captured arrays. */
static void open_made(hop_made *m, uint32_t nmore, const hop_type *const *type)
{
	const hop_graph *g = m->from->g;
	hop_arena *tmp = &m->e.tmp;
	uint32_t nin = (uint32_t)m->from->nin;
	hop_build_open(&m->b, &m->e);
	hop_build_syms_of(&m->b, g);
	m->in = HOP_NEWN(tmp, hop_val, g->nparam);
	m->more = HOP_NEWN(tmp, hop_val, nmore);
	m->nmore = nmore;
	for (uint32_t i = 0; i < nin; i++)
		m->in[i] = hop_build_param(&m->b, g->type[i]);
	for (uint32_t i = 0; i < nmore; i++)
		m->more[i] = hop_build_param(&m->b, type[i]);
	for (uint32_t i = nin; i < g->nparam; i++)
		m->in[i] = hop_build_param(&m->b, g->type[i]);
}

static hop_status inline_all(hop_made *m, const hop_graph *g, const hop_val *in,
                             hop_val *out)
{
	hop_size *s = HOP_NEWN(&m->e.tmp, hop_size, g->nsym);
	for (uint32_t i = 0; i < g->nsym; i++)
		s[i] = hop_size_sym(&m->e, (int)i);
	return hop_emit_inline(&m->b, g, s, in, out);
}

/* Seal with results: those of f, n more, then what f wrote. */
static hop_status close_made(hop_made *m, const hop_val *old, uint32_t n,
                             const hop_val *more, hop_fn **out_f)
{
	const hop_fn *f = m->from;
	uint32_t no = (uint32_t)f->nout, nw = f->g->nout - no, k = 0, nin = (uint32_t)f->nin;
	hop_val *out = HOP_NEWN(&m->e.tmp, hop_val, no + n + nw);
	int *wrote = HOP_NEWN(&m->e.tmp, int, nw);
	hop_graph *g;
	for (uint32_t i = 0; i < no; i++)
		out[k++] = old[i];
	for (uint32_t i = 0; i < n; i++)
		out[k++] = more[i];
	for (uint32_t i = 0; i < nw; i++) {
		out[k++] = old[no + i];
		wrote[i] = f->wrote[i] + (f->wrote[i] >= (int)nin ? (int)m->nmore : 0);
	}
	HOP_TRY(hop_seal(&m->b, k, out, NULL, &g));
	return hop_fn_new(f->ctx, g, f->nin + (int)m->nmore, f->nout + (int)n, f->nhidden,
	                  f->hidden, (int)nw, wrote, out_f);
}

/* ---- the transforms, inside the guard ---- */

const char *hop_made_input(hop_made *m, int i)
{
	return hop_input_text(&m->e.tmp, (uint32_t)i, hop_fn_input_name(m->from, i));
}

hop_status hop_made_check(hop_made *m, const char *op, const hop_made_args *a)
{
	const hop_fn *f = m->from;
	hop_status st = hop_ask_check(&m->e, 0, op, f->nin, f->g->type, a->nwrt, a->wrt);
	for (int i = 0; st == HOP_ENODIFF && i < a->nwrt; i++)
		if (!hop_type_diff(f->g->type[a->wrt[i]]) && f->name[a->wrt[i]]) {
			hop_note(&m->e, 0, "input %d is called %s", a->wrt[i], f->name[a->wrt[i]]);
			break;
		}
	return st;
}

hop_status hop_made_fit(hop_made *m, const hop_graph *q, hop_fn **out_f)
{
	const hop_graph *g = m->from->g;
	hop_val *in = HOP_NEWN(&m->e.tmp, hop_val, q->nparam);
	hop_val *out = HOP_NEWN(&m->e.tmp, hop_val, q->nout);
	open_made(m, q->nparam - g->nparam, q->type + g->nparam);
	memcpy(in, m->in, g->nparam * sizeof *in);
	memcpy(in + g->nparam, m->more, m->nmore * sizeof *in);
	inline_all(m, q, in, out);
	return close_made(m, out, q->nout - g->nout, out + g->nout, out_f);
}

int *hop_made_floats(hop_made *m, int *out_n)
{
	const hop_fn *f = m->from;
	int *k = HOP_NEWN(&m->e.tmp, int, f->nout), n = 0;
	for (int i = 0; i < f->nout; i++)
		if (hop_type_diff(hop_graph_out_type(f->g, (uint32_t)i)))
			k[n++] = i;
	*out_n = n;
	return k;
}

/* The gradients of marked values are called after them. */
static hop_status name_marks(hop_made *m, hop_fn *f, int at, uint32_t n, const char *const *name)
{
	for (uint32_t k = 0; k < n; k++) {
		hop_buf b;
		hop_buf_open(&b, &m->e);
		hop_putf(&b, "grad.%s", name[k]);
		const char *s = hop_ctx_name(&m->e, b.s, b.n);
		hop_buf_free(&b);
		if (hop_fn_result(f, s) >= 0 && f->name[f->nin + hop_fn_result(f, s)] == s)
			return hop_fail(&m->e, 0, HOP_EVALUE, "grad: a value inside is called %s, and so is an "
			                "input", name[k]);
		f->name[f->nin + at + (int)k] = s;
	}
	return HOP_OK;
}

static hop_status make_grad(hop_made *m, const hop_made_args *a, hop_fn **out_f)
{
	const hop_graph *q;
	const hop_fn *f = m->from;
	const char *const *name;
	uint32_t n;
	HOP_TRY(hop_made_check(m, "grad", a));
	HOP_TRY(hop_ask_grad_marked(&m->e, 0, f->g, a->nwrt, a->wrt, &q, &n, &name));
	HOP_TRY(hop_made_fit(m, q, out_f));
	hop_names_keep(*out_f, f, true);
	hop_naming of = { .results = true, .at = f->nout, .n = a->nwrt, .of = a->wrt };
	hop_names_add(&m->e, *out_f, f, "grad", 1, &of);
	return name_marks(m, *out_f, f->nout + a->nwrt, n, name);
}

static hop_status make_vjp(hop_made *m, const hop_made_args *a, hop_fn **out_f)
{
	const hop_graph *q;
	hop_fn *f = m->from;
	int n, *y = hop_made_floats(m, &n);
	HOP_TRY(hop_made_check(m, "vjp", a));
	HOP_TRY(hop_marks_drop(&m->e, f->g, &q));
	HOP_TRY(hop_ask_vjp(&m->e, q, (uint32_t)f->nout, a->nwrt, a->wrt, &q));
	HOP_TRY(hop_made_fit(m, q, out_f));
	hop_names_keep(*out_f, f, true);
	hop_naming of[2] = { { .of_results = true, .at = f->nin, .n = n, .of = y },
	                     { .results = true, .at = f->nout, .n = a->nwrt, .of = a->wrt } };
	hop_names_add(&m->e, *out_f, f, "cotangent", 2, of);
	return HOP_OK;
}

static hop_status make_jvp(hop_made *m, const hop_made_args *a, hop_fn **out_f)
{
	const hop_graph *q;
	hop_fn *f = m->from;
	int n, *y = hop_made_floats(m, &n);
	HOP_TRY(hop_made_check(m, "jvp", a));
	HOP_TRY(hop_marks_drop(&m->e, f->g, &q));
	HOP_TRY(hop_ask_jvp(&m->e, q, (uint32_t)f->nout, a->nwrt, a->wrt, &q));
	HOP_TRY(hop_made_fit(m, q, out_f));
	hop_names_keep(*out_f, f, true);
	hop_naming of[2] = { { .at = f->nin, .n = a->nwrt, .of = a->wrt },
	                     { .results = true, .of_results = true, .at = f->nout, .n = n, .of = y } };
	hop_names_add(&m->e, *out_f, f, "tangent", 2, of);
	return HOP_OK;
}

/* Inputs: those of f that are not in wrt, cotangents of all results, captured arrays. */
static hop_status make_linear_transpose(hop_made *m, const hop_made_args *a, hop_fn **out_f)
{
	hop_fn *f = m->from;
	const hop_graph *g = f->g, *q;
	hop_env *e = &m->e;
	uint32_t nct = g->nout, nrest = 0, k = 0;
	bool *lin = HOP_NEWN(&e->tmp, bool, g->nparam);
	int *all = HOP_NEWN(&e->tmp, int, nct);
	HOP_TRY(hop_made_check(m, "linear_transpose", a));
	if (f->nwrote)
		return hop_fail(e, 0, HOP_EREFUSED, "linear_transpose: the function writes input %s",
		                hop_made_input(m, f->wrote[0]));
	for (int i = 0; i < a->nwrt; i++)
		lin[a->wrt[i]] = true;
	HOP_TRY(hop_linear_check(e, "linear_transpose", 0, g, lin));
	HOP_TRY(hop_graph_transpose(e, g, lin, &q));
	hop_build_open(&m->b, e);
	hop_build_syms_of(&m->b, q);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, q->nparam);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, q->nout), *out = HOP_NEWN(&e->tmp, hop_val, q->nout);
	for (int i = 0; i < f->nin; i++)
		if (!lin[i]) {
			in[nct + nrest] = hop_build_param(&m->b, q->type[nct + nrest]);
			nrest++;
		}
	for (uint32_t i = 0; i < nct; i++) {
		in[i] = hop_build_param(&m->b, q->type[i]);
		all[i] = (int)i;
	}
	for (uint32_t i = nct + nrest; i < q->nparam; i++)
		in[i] = hop_build_param(&m->b, q->type[i]);
	inline_all(m, q, in, res);
	for (uint32_t i = 0; i < g->nparam; i++)
		for (int w = 0; lin[i] && w < a->nwrt; w++)
			if (a->wrt[w] == (int)i)
				out[w] = res[k++];
	hop_graph *made;
	HOP_TRY(hop_seal(&m->b, q->nout, out, NULL, &made));
	HOP_TRY(hop_fn_new(f->ctx, made, (int)(nrest + nct), a->nwrt, f->nhidden, f->hidden, 0, NULL,
	                   out_f));
	for (int i = 0, n = 0; i < f->nin; i++)
		if (!lin[i])
			(*out_f)->name[n++] = f->name[i];
	hop_naming of[2] = { { .of_results = true, .at = (int)nrest, .n = (int)nct, .of = all },
	                     { .results = true, .n = a->nwrt, .of = a->wrt } };
	hop_names_add(e, *out_f, f, "cotangent", 2, of);
	return HOP_OK;
}

/* Names of the second half: cotangents of results and then of inputs; tangents the other way. */
static void name_bwd(hop_made *m, const hop_made_args *a, int nsaved, hop_fn *g)
{
	const hop_fn *f = m->from;
	int n, *y = hop_made_floats(m, &n), *all = HOP_NEWN(&m->e.tmp, int, f->nout);
	for (int i = 0; i < f->nout; i++)
		all[i] = i;
	hop_names_keep(g, f, false);
	hop_naming result = { .of_results = true, .at = f->nin, .n = f->nout, .of = all };
	hop_naming saved = { .at = f->nin + f->nout, .n = nsaved };
	hop_naming of_y = { .of_results = true, .n = n, .of = y };
	hop_naming of_x = { .n = a->nwrt, .of = a->wrt };
	hop_naming of[2] = { a->forward ? of_x : of_y, a->forward ? of_y : of_x };
	of[0].at = saved.at + nsaved;
	of[1].results = true;
	hop_names_add(&m->e, g, f, "result", 1, &result);
	hop_names_add(&m->e, g, f, "saved", 1, &saved);
	hop_names_add(&m->e, g, f, a->forward ? "tangent" : "cotangent", 2, of);
}

/* The second half as a function: parameters in the order that hop_split and hop_linearize promise. */
static hop_status make_bwd(hop_made *m, const hop_made_args *a, const hop_cut *cut,
                           hop_fn **out_f)
{
	const hop_fn *f = m->from;
	const hop_graph *g = f->g;
	hop_env *e = &m->e;
	uint32_t nin = (uint32_t)f->nin, no = (uint32_t)f->nout, n = 0;
	const hop_type **type = HOP_NEWN(&e->tmp, const hop_type *,
	                                 2 * g->nout + cut->nextra + (uint32_t)a->nwrt);
	for (uint32_t k = 0; k < no; k++)
		type[n++] = hop_graph_out_type(g, k);
	for (uint32_t k = 0; k < cut->nextra; k++)
		type[n++] = hop_graph_out_type(cut->fwd, g->nout + k);
	for (uint32_t k = 0; k < no && !a->forward; k++)
		if (hop_type_diff(hop_graph_out_type(g, k)))
			type[n++] = hop_graph_out_type(g, k);
	for (int i = 0; i < a->nwrt && a->forward; i++)
		type[n++] = g->type[a->wrt[i]];
	open_made(m, n, type);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, cut->bwd->nparam);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, cut->bwd->nout);
	for (uint32_t k = 0; k < cut->nres; k++) {
		hop_res r = cut->res[k];
		in[k] = r.kind == HOP_RES_PARAM ? m->in[r.index]
		      : r.kind == HOP_RES_OUT ? m->more[r.index] : m->more[no + r.index];
	}
	for (uint32_t k = no + cut->nextra; k < n; k++)
		in[cut->nres + k - no - cut->nextra] = m->more[k];
	inline_all(m, cut->bwd, in, out);
	hop_graph *made;
	HOP_TRY(hop_seal(&m->b, cut->bwd->nout, out, NULL, &made));
	HOP_TRY(hop_fn_new(f->ctx, made, (int)(nin + n), (int)made->nout, f->nhidden, f->hidden, 0,
	                   NULL, out_f));
	name_bwd(m, a, (int)cut->nextra, *out_f);
	return HOP_OK;
}

static hop_status make_split(hop_made *m, const hop_made_args *a, hop_fn **out_f)
{
	hop_fn *f = m->from;
	const hop_graph *g = f->g, *joint;
	hop_env *e = &m->e;
	const hop_cut *cut;
	if (!(a->budget >= 0 && a->budget <= 1))
		return hop_fail(e, 0, HOP_EVALUE, "split: a budget of %g: it must be from 0 to 1",
		                a->budget);
	if (f->nwrote)
		return hop_fail(e, 0, HOP_EREFUSED, "%s: the function writes input %s: the %s half would "
		                "not see what it was", a->op, hop_made_input(m, f->wrote[0]),
		                a->forward ? "second" : "backward");
	HOP_TRY(hop_made_check(m, a->op, a));
	HOP_TRY(hop_marks_drop(e, g, &g));
	if (a->forward) {
		bool *outs = HOP_NEWN(&e->tmp, bool, g->nout);
		for (uint32_t k = 0; k < g->nout; k++)
			outs[k] = hop_type_diff(hop_graph_out_type(g, k));
		HOP_TRY(hop_ask_linearize(e, g, outs, a->nwrt, a->wrt, &cut));
	} else {
		HOP_TRY(hop_ask_joint(e, g, g->nout, a->nwrt, a->wrt, &joint));
		HOP_TRY(hop_ad_cut(e, joint, g->nparam, g->nout, NULL, NULL, HOP_CUT_MIN, a->budget,
		                   &cut));
	}
	HOP_TRY(make_bwd(m, a, cut, a->out_bwd));
	HOP_TRY(hop_fn_new(f->ctx, cut->fwd, f->nin, f->nout + (int)cut->nextra, f->nhidden, f->hidden,
	                   0, NULL, out_f));
	hop_names_keep(*out_f, f, true);
	hop_naming saved = { .results = true, .at = f->nout, .n = (int)cut->nextra };
	hop_names_add(e, *out_f, f, "saved", 1, &saved);
	return HOP_OK;
}

/* ---- the doors ---- */

hop_status hop_made_run(hop_fn *f, hop_made_fn *make, const hop_made_args *a, hop_fn **out_f)
{
	hop_made *m;
	if (out_f)
		*out_f = NULL;
	if (!f || !out_f)
		return HOP_EUSE;
	hop_mem mem = hop_ctx_mem(f->ctx);
	m = hop_raw_try(&mem, sizeof *m);
	if (!m)
		return HOP_ENOMEM;
	memset(m, 0, sizeof *m);
	m->from = f;
	hop_env_init(&m->e, f->ctx, mem);
	hop_status st;
	if (HOP_GUARD(&m->e, &m->f)) {
		st = hop_guard_nomem(&m->e, &m->f);
	} else {
		st = make(m, a, out_f);
		hop_guard_end(&m->e, &m->f);
	}
	if (st)
		hop_ctx_set_message(f->ctx, &m->e.diag);
	for (int i = 0; st && i < 2; i++) {                /* made, but not named */
		hop_fn **made = i ? a->out_bwd : out_f;
		if (made) {
			hop_fn_release(*made);
			*made = NULL;
		}
	}
	hop_env_fini(&m->e);
	hop_raw_free(&mem, m, sizeof *m);
	return st;
}

hop_status hop_grad(hop_fn *f, int nwrt, const int *wrt, hop_fn **out_f)
{
	return hop_made_run(f, make_grad, &(hop_made_args){ .nwrt = nwrt, .wrt = wrt }, out_f);
}

hop_status hop_vjp(hop_fn *f, int nwrt, const int *wrt, hop_fn **out_f)
{
	return hop_made_run(f, make_vjp, &(hop_made_args){ .nwrt = nwrt, .wrt = wrt }, out_f);
}

hop_status hop_jvp(hop_fn *f, int nwrt, const int *wrt, hop_fn **out_f)
{
	return hop_made_run(f, make_jvp, &(hop_made_args){ .nwrt = nwrt, .wrt = wrt }, out_f);
}

hop_status hop_linear_transpose(hop_fn *f, int nwrt, const int *wrt, hop_fn **out_f)
{
	return hop_made_run(f, make_linear_transpose, &(hop_made_args){ .nwrt = nwrt, .wrt = wrt }, out_f);
}

hop_status hop_split(hop_fn *f, int nwrt, const int *wrt, double budget, hop_fn **out_fwd,
                     hop_fn **out_bwd)
{
	if (!out_bwd)
		return HOP_EUSE;
	*out_bwd = NULL;
	hop_made_args a = { .op = "split", .nwrt = nwrt, .wrt = wrt, .budget = budget,
	                    .out_bwd = out_bwd };
	return hop_made_run(f, make_split, &a, out_fwd);
}

hop_status hop_linearize(hop_fn *f, int nwrt, const int *wrt, hop_fn **out_fwd, hop_fn **out_lin)
{
	if (!out_lin)
		return HOP_EUSE;
	*out_lin = NULL;
	hop_made_args a = { .op = "linearize", .nwrt = nwrt, .wrt = wrt, .budget = 1,
	                    .forward = true, .out_bwd = out_lin };
	return hop_made_run(f, make_split, &a, out_fwd);
}
