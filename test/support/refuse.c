/* refuse.c -- who refuses what. Compiled code runs on memory between pages that must not be
 * touched; the loop program on the bounds-checking interpreter of support/loop_run.c. */
#include "support/refuse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ad/ad.h"
#include "driver/compile.h"
#include "driver/pipeline.h"
#include "hop/ctx.h"
#include "text/text.h"
#include "loop/lower.h"
#include "support/fence.h"
#include "support/loop_run.h"
#include "support/program.h"
#include "support/seed.h"

enum { LANES = 3, TRIES = 6, MAX_NODES = 1500 };

/* A graph made ready to run in every way. */
typedef struct subject {
	const hop_graph *g, *opt;
	hop_prog        *prog;
	hop_exec        *x;            /* NULL: not compiled */
	const char      *path;
} subject;

typedef struct bench {
	hop_env      *e;
	hop_interp   *p;
	uint64_t      state;
	const refuse_opts *o;
	refuse_count *c;
} bench;

static uint32_t below(bench *b, uint32_t n)
{
	b->state = b->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(b->state >> 33) % n;
}

static void fail(bench *b, const subject *s, const int64_t *syms, const char *what)
{
	b->c->failures++;
	fprintf(stderr, "seed %llu: %s: %s; sizes", (unsigned long long)b->o->seed, s->path, what);
	for (uint32_t i = 0; i < s->g->nsym; i++)
		fprintf(stderr, " %lld", (long long)syms[i]);
	fprintf(stderr, "; %s\n", b->e->diag.text ? b->e->diag.text : "");
	hop_diag_clear(b->e);
	if (getenv("REFUSE_SHOW")) {
		hop_buf t;
		hop_buf_open(&t, b->e);
		hop_graph_print(&t, s->g);
		fputs(t.s, stderr);
		if (getenv("REFUSE_SHOW")[0] == '2') {
			t.n = 0;
			hop_prog_print(&t, s->prog);
			fputs(t.s, stderr);
		}
		hop_buf_free(&t);
	}
}

/* ---- values ---- */

static void fill(bench *b, hop_array *t)
{
	for (int64_t i = 0; i < t->count; i++) {
		if (hop_dtype_float(t->dtype))
			hop_array_set_f(t, i, (double)below(b, 4001) / 1000.0 - 2.0);
		else
			hop_array_set_i(t, i, t->dtype == HOP_bool ? below(b, 2)
			                                            : (int64_t)below(b, 9) - 1);
	}
}

/* NULL: there is no such tensor, so that the input cannot even be made. */
static hop_array *make(bench *b, const hop_type *t, const int64_t *syms, int nsym)
{
	int64_t dim[HOP_MAXRANK];
	for (int i = 0; i < t->rank; i++) {
		HOP_ASSERT(hop_size_eval(t->dim[i], syms, nsym, &dim[i]));
		if (dim[i] < 0)
			return NULL;
	}
	hop_array *v = hop_interp_new(b->p, (hop_dtype)t->dtype, t->rank, dim);
	fill(b, v);
	return v;
}

static void drop(bench *b, uint32_t n, hop_array **t)
{
	for (uint32_t i = 0; i < n; i++) {
		hop_interp_release(b->p, t[i]);
		t[i] = NULL;
	}
}

/* The first element of b that is not that of a; a->count when there is none; -1 when b has
 * another number of them. */
static int64_t differ(const hop_array *a, const hop_array *b, const refuse_opts *o)
{
	double tol = o->loose ? 3e-2 : 1e-8;
	if (a->count != b->count)
		return -1;
	for (int64_t i = 0; i < a->count && !o->any_values; i++) {
		double x = hop_array_f(a, i), y = hop_array_f(b, i);
		if (isnan(x) && isnan(y))
			continue;
		if (!(fabs(x - y) <= tol * (1 + fabs(x))) && x != y)
			return i;
	}
	return a->count;
}

/* Every number a little off, by more than what rounding can do on the way. */
static hop_array *nudged(bench *b, const hop_array *t)
{
	hop_array *r = hop_interp_new(b->p, t->dtype, t->rank, t->dim);
	double e = b->o->loose ? 1e-6 : 1e-13;
	for (int64_t i = 0; i < t->count; i++) {
		if (hop_dtype_float(t->dtype))
			hop_array_set_f(r, i, hop_array_f(t, i) * (1 + (below(b, 2) ? e : -e)));
		else
			hop_array_set_i(r, i, hop_array_i(t, i));
	}
	return r;
}

/* Is the answer of the interpreter still the same when the input is nudged? A program may
 * multiply the last bit a millionfold at every step of a loop: then two answers prove
 * nothing. Only asked when two ways to run it disagree. want NULL: the input was refused. */
static bool steady(bench *b, const hop_graph *g, const int64_t *syms, hop_array **in,
                   hop_array **want)
{
	hop_array **x = HOP_NEWN(&b->e->tmp, hop_array *, g->nparam);
	hop_array **y = HOP_NEWN(&b->e->tmp, hop_array *, g->nout);
	uint64_t state = b->state;
	bool same = true;
	for (int k = 0; k < 4 && same; k++) {
		for (uint32_t i = 0; i < g->nparam; i++)
			x[i] = nudged(b, in[i]);
		hop_status st = hop_interp_graph(b->p, g, syms, x, y);
		hop_diag_clear(b->e);
		same = st == (want ? HOP_OK : HOP_ESHAPE);
		for (uint32_t i = 0; i < g->nout && !st; i++)
			same = same && differ(want[i], y[i], b->o) == want[i]->count;
		if (!st)
			drop(b, g->nout, y);
		drop(b, g->nparam, x);
	}
	b->state = state;
	return same;
}

/* ---- ways to run: a status, and results when it is HOP_OK ---- */

static int quiet(void *user, const hop_leffect *f, void *const *args, const int64_t *syms)
{
	(void)user, (void)f, (void)args, (void)syms;
	return 0;
}

/* Memory for results of the sizes that the types say. Where they say none, the program has
 * to refuse before it writes. */
static hop_array **make_outs(bench *b, const subject *s, const int64_t *syms)
{
	const hop_graph *g = s->g;
	hop_array **y = HOP_NEWN(&b->e->tmp, hop_array *, g->nout);
	for (uint32_t k = 0; k < g->nout; k++) {
		const hop_type *t = hop_graph_out_type(g, k);
		int64_t dim[HOP_MAXRANK];
		for (int i = 0; i < t->rank; i++)
			if (!hop_size_eval(t->dim[i], syms, (int)g->nsym, &dim[i]) || dim[i] < 0)
				dim[i] = 0;
		y[k] = hop_interp_new(b->p, (hop_dtype)t->dtype, t->rank, dim);
	}
	return y;
}

static int run_loops(bench *b, const subject *s, const int64_t *syms, hop_array **in,
                     hop_array **y, const char **why)
{
	const hop_graph *g = s->g;
	void **ptr = HOP_NEWN(&b->e->tmp, void *, g->nparam + g->nout);
	for (uint32_t i = 0; i < g->nparam + g->nout; i++)
		ptr[i] = i < g->nparam ? in[i]->data : y[i - g->nparam]->data;
	return hop_loop_run(b->e, s->prog, ptr, syms, quiet, NULL, why);
}

static hop_status run_native(bench *b, const subject *s, hop_array **in, hop_array **out)
{
	const hop_graph *g = s->g;
	hop_arena *a = &b->e->tmp;
	hop_arg *ai = HOP_NEWN(a, hop_arg, g->nparam), *ao = HOP_NEWN(a, hop_arg, g->nout);
	fence *f = HOP_NEWN(a, fence, g->nparam + g->nout + 1);
	bool behind = b->state >> 40 & 1;     /* not drawn: inputs are the same without code */
	for (uint32_t i = 0; i < g->nparam; i++) {
		size_t size = hop_dtype_bytes(in[i]->dtype), n = (size_t)in[i]->count * size;
		f[i] = fence_new(n, size, behind);
		if (n)
			memcpy(f[i].p, in[i]->data, n);
		fence_readonly(&f[i]);
		ai[i] = (hop_arg){ .data = f[i].p, .dim = in[i]->dim };
	}
	uint32_t nf = g->nparam;
	int64_t bytes = hop_exec_workspace(s->x, ai), nothing;
	hop_status st = HOP_OK;
	if (bytes < 0)                 /* nothing is touched before the sizes are known to fit */
		st = hop_run(s->x, ai, ao, &nothing);
	for (uint32_t k = 0; k < g->nout && !st; k++) {
		int64_t dim[HOP_MAXRANK], n = 1;
		hop_dtype d = (hop_dtype)hop_graph_out_type(g, k)->dtype;
		int rank = hop_exec_result(s->x, ai, (int)k, dim);
		if (rank < 0) {
			st = HOP_ESHAPE;
			break;
		}
		for (int i = 0; i < rank; i++)
			n *= dim[i];
		f[nf] = fence_new((size_t)n * hop_dtype_bytes(d), hop_dtype_bytes(d), behind);
		ao[k] = (hop_arg){ .data = f[nf++].p };
		out[k] = hop_interp_new(b->p, d, rank, dim);
	}
	if (!st) {
		f[nf] = fence_new((size_t)bytes, 64, behind);
		st = hop_run(s->x, ai, ao, f[nf++].p);
		for (uint32_t k = 0; k < g->nout && !st; k++)
			if (out[k]->count)
				memcpy(out[k]->data, ao[k].data,
				       (size_t)out[k]->count * hop_dtype_bytes(out[k]->dtype));
	}
	while (nf > 0)
		fence_free(&f[--nf]);
	return st;
}

/* One way says st to an input, and y if that is HOP_OK; want, or NULL, says what is right. */
static void compare(bench *b, const subject *s, const int64_t *syms, hop_array **in,
                    hop_array **want, hop_status st, hop_array **y, const char *way)
{
	char what[400], said[200] = "";
	uint32_t k = 0;
	int64_t at = 0;
	if (st && st != HOP_ESHAPE) {
		snprintf(what, sizeof what, "%s fails", way);
		fail(b, s, syms, what);
		return;
	}
	bool bad = (st == HOP_OK) != (want != NULL);
	for (; !bad && want && k < s->g->nout; k++) {
		at = differ(want[k], y[k], b->o);
		if ((bad = at < want[k]->count))
			break;
	}
	if (!bad)
		return;
	if (st && b->e->diag.text)             /* before others say something */
		snprintf(said, sizeof said, ": %s", b->e->diag.text);
	if (!steady(b, s->g, syms, in, want)) {
		b->c->unsteady++;
		return;
	}
	if (st || !want)
		snprintf(what, sizeof what, "%s %s%s", way, st ? "refuses" : "accepts", said);
	else if (at < 0)
		snprintf(what, sizeof what, "%s gives result %u another size", way, k);
	else
		snprintf(what, sizeof what, "%s gives element %lld of result %u as %.17g, not %.17g",
		         way, (long long)at, k, hop_array_f(y[k], at), hop_array_f(want[k], at));
	fail(b, s, syms, what);
}

/* All ways on one input. True if it is refused. */
static bool run_all(bench *b, const subject *s, const int64_t *syms, hop_array **in,
                    hop_array **want)
{
	hop_env *e = b->e;
	hop_mark m = hop_mark_at(&e->tmp);
	const hop_graph *g = s->g;
	hop_array **y = HOP_NEWN(&e->tmp, hop_array *, g->nout), **z;
	const char *why = "";
	hop_status st = hop_interp_graph(b->p, g, syms, in, want);
	bool refused = st == HOP_ESHAPE;
	hop_array **right = refused ? NULL : want;
	b->c->inputs++;
	b->c->refused += refused;
	if (st && !refused)
		fail(b, s, syms, "interpreter fails");
	hop_diag_clear(e);

	st = hop_interp_graph(b->p, s->opt, syms, in, y);
	compare(b, s, syms, in, right, st, y, "the optimised graph");
	hop_diag_clear(e);
	if (!st)
		drop(b, g->nout, y);

	z = make_outs(b, s, syms);
	int rc = run_loops(b, s, syms, in, z, &why);
	if (rc == -1)
		fail(b, s, syms, why);
	else
		compare(b, s, syms, in, right, rc == HOP_LOOP_REFUSED ? HOP_ESHAPE : HOP_OK, z,
		        "the loop program");
	drop(b, g->nout, z);

	if (s->x) {
		st = run_native(b, s, in, y);
		if (st == HOP_ESHAPE && !strstr(hop_message(e->ctx), "error: "))
			fail(b, s, syms, "no message");
		compare(b, s, syms, in, right, st, y, "compiled code");
		for (uint32_t k = 0; k < g->nout; k++)
			if (y[k])
				hop_interp_release(b->p, y[k]);
	}
	hop_rewind(&e->tmp, m);
	return refused;
}

/* ---- inputs that cannot even start ---- */

/* A size out of its range, or dimensions that contradict each other. */
static void run_misfit(bench *b, const subject *s, hop_array **in)
{
	const hop_graph *g = s->g;
	hop_array **y = HOP_NEWN(&b->e->tmp, hop_array *, g->nout);
	for (uint32_t i = 0; i < g->nparam; i++) {
		const hop_type *t = g->type[i];
		if (!t->rank)
			continue;
		/* one row more, or less, of parameter i alone */
		int k = (int)below(b, t->rank), sym = hop_size_bare(t->dim[k]);
		int64_t dim[HOP_MAXRANK], was = in[i]->dim[k];
		memcpy(dim, in[i]->dim, sizeof dim);
		dim[k] = was && below(b, 2) ? was - 1 : was + 1;
		if (sym >= 0 && dim[k] >= g->range[sym].lo && dim[k] <= g->range[sym].hi)
			continue;              /* may be what another parameter says, too */
		hop_array *odd = hop_interp_new(b->p, in[i]->dtype, in[i]->rank, dim), *old = in[i];
		in[i] = odd;
		b->c->inputs++;
		b->c->refused++;
		if (run_native(b, s, in, y) != HOP_ESHAPE) {
			int64_t none[GEN_MAXSYM + 4] = { 0 };
			fail(b, s, none, "an argument of the wrong shape is accepted");
		}
		in[i] = old;
		hop_interp_release(b->p, odd);
		break;
	}
}

/* ---- subjects ---- */

static bool open_subject(bench *b, subject *s, const hop_graph *g, const char *path)
{
	hop_compile_opts o = { .size = sizeof o, .no_cache = true, .threads = 1 };
	int64_t none[GEN_MAXSYM + 4] = { 0 };
	/* all that may be forked is */
	static const hop_machine m = { .vbits = 512, .nvreg = 32, .halves = true, .threads = true, .fork = 1,
	                               .cache = 1 << 20 };
	*s = (subject){ .g = g, .path = path };
	if (hop_verify(b->e, g) || hop_pipeline_run(b->e, g, false, &s->opt) ||
	    hop_lower_graph(b->e, s->opt, &(hop_lower_opts){ .machine = &m, .room_all = true }, &s->prog)) {
		fail(b, s, none, "cannot be made ready");
		return false;
	}
	if (b->o->native && hop_exec_new(b->e, g, &o, &s->x)) {
		fail(b, s, none, "cannot be compiled");
		hop_prog_free(s->prog, &b->e->mem);
		return false;
	}
	b->c->graphs++;
	b->c->compiled += s->x != NULL;
	return true;
}

static void close_subject(bench *b, subject *s)
{
	hop_exec_release(s->x);
	hop_prog_free(s->prog, &b->e->mem);
}

static void some_sizes(bench *b, const hop_graph *g, int64_t *syms)
{
	static const int64_t odd[] = { 15, 16, 17, 31, 33, 63, 64, 65, 67 };
	int64_t most = gen_loops(g) ? 8 : 67;
	for (uint32_t i = 0; i < g->nsym; i++) {
		int64_t lo = g->range[i].lo, hi = g->range[i].hi < most ? g->range[i].hi : most;
		syms[i] = below(b, 6) ? (int64_t)below(b, 10) : odd[below(b, 9)];
		if (i && !below(b, 3))
			syms[i] = syms[i - 1];
		syms[i] = syms[i] < lo ? lo : syms[i] > hi ? hi : syms[i];
	}
}

/* ---- transforms: what f refuses, and nothing else ---- */

struct change {
	const hop_graph *g;
	uint32_t         kind;         /* 0 vjp, 1 jvp, 2 vmap */
	bool            *act, *outs, *bo;
	const char      *name;
};

static bool local_type(const hop_type *t, uint32_t nsym)
{
	for (int i = 0; i < t->rank; i++)
		if ((uint32_t)hop_size_nsym(t->dim[i]) > nsym)
			return true;
	return false;
}

/* False if there is nothing to do, or it is refused by name. */
static bool transform(bench *b, const hop_graph *f, struct change *c)
{
	hop_arena *a = &b->e->tmp;
	static const char *const names[] = { "vjp", "jvp", "vmap" };
	bool any = false, some = false;
	hop_status st;
	c->act = HOP_NEWN(a, bool, f->nparam);
	c->outs = HOP_NEWN(a, bool, f->nout);
	c->bo = HOP_NEWN(a, bool, f->nout);
	c->kind = below(b, 3);
	c->name = names[c->kind];
	for (uint32_t i = 0; i < f->nparam; i++)
		any |= c->act[i] = hop_dtype_float((hop_dtype)f->type[i]->dtype);
	for (uint32_t i = 0; i < f->nout; i++) {
		const hop_type *t = hop_graph_out_type(f, i);
		some |= c->outs[i] = hop_dtype_float((hop_dtype)t->dtype) && !local_type(t, f->nsym);
	}
	if (!any || (c->kind < 2 && !some))
		return false;
	if (c->kind == 2 && below(b, 2))
		memset(c->act, 1, f->nparam);
	hop_batch_spec spec = { .size = below(b, 2) ? -1 : LANES, .in = c->act };
	st = c->kind == 0 ? hop_ad_vjp(b->e, f, c->outs, c->act, &c->g) :
	     c->kind == 1 ? hop_ad_jvp(b->e, f, c->act, c->outs, &c->g) :
	                    hop_ad_batch(b->e, f, &spec, &c->g, c->bo);
	if (!st)
		return gen_weight(c->g, MAX_NODES) < MAX_NODES;
	subject s = { .g = f, .path = c->name };
	int64_t none[GEN_MAXSYM + 4] = { 0 };
	if (st != HOP_EREFUSED)
		fail(b, &s, none, "the transform fails");
	hop_diag_clear(b->e);
	return false;
}

static hop_array *lane(bench *b, const hop_array *t, int64_t l)
{
	hop_array *r = hop_interp_new(b->p, t->dtype, t->rank - 1, t->dim + 1);
	size_t n = (size_t)r->count * hop_dtype_bytes(t->dtype);
	memcpy(r->data, (const char *)t->data + (size_t)l * n, n);
	return r;
}

static bool refuses(bench *b, const hop_graph *f, const int64_t *syms, hop_array **in)
{
	hop_array **y = HOP_NEWN(&b->e->tmp, hop_array *, f->nout);
	hop_status st = hop_interp_graph(b->p, f, syms, in, y);
	hop_diag_clear(b->e);
	if (!st)
		drop(b, f->nout, y);
	return st == HOP_ESHAPE;
}

/* What f itself says to the inputs of its transform. */
static bool expected(bench *b, const hop_graph *f, const struct change *c,
                     const int64_t *syms, hop_array **in)
{
	if (c->kind < 2)
		return refuses(b, f, syms, in);
	hop_array **x = HOP_NEWN(&b->e->tmp, hop_array *, f->nparam);
	bool any = false;
	for (int64_t l = 0; l < LANES; l++) {
		for (uint32_t i = 0; i < f->nparam; i++)
			x[i] = c->act[i] ? lane(b, in[i], l) : hop_array_retain(in[i]);
		any |= refuses(b, f, syms, x);
		drop(b, f->nparam, x);
	}
	return any;
}

/* Sizes and tensors; false when there are none of these sizes. */
static bool draw(bench *b, const hop_graph *g, int64_t lanes, int64_t *syms, hop_array **in)
{
	bool made = true;
	some_sizes(b, g, syms);
	if (lanes)
		syms[g->nsym - 1] = lanes;
	for (uint32_t i = 0; i < g->nparam; i++)
		made &= (in[i] = make(b, g->type[i], syms, (int)g->nsym)) != NULL;
	if (!made)
		drop(b, g->nparam, in);
	return made;
}

/* Left to chance far more inputs fit than do not: for three in four a few are drawn until one
 * is refused. */
static bool draw_input(bench *b, const hop_graph *g, int64_t lanes, int k, int64_t *syms,
                       hop_array **in)
{
	bool made = draw(b, g, lanes, syms, in);
	for (int i = 0; k % 4 && i < TRIES && made && !refuses(b, g, syms, in); i++) {
		drop(b, g->nparam, in);
		made = draw(b, g, lanes, syms, in);
	}
	return made;
}

static void run_subject(bench *b, const subject *s, const hop_graph *f,
                        const struct change *c, int inputs)
{
	hop_arena *a = &b->e->tmp;
	const hop_graph *g = s->g;
	int64_t *syms = HOP_NEWN(a, int64_t, g->nsym);
	hop_array **in = HOP_NEWN(a, hop_array *, g->nparam);
	hop_array **want = HOP_NEWN(a, hop_array *, g->nout);
	for (int k = 0; k < inputs; k++) {
		hop_mark m = hop_mark_at(a);
		char what[120];
		snprintf(what, sizeof what, "seed %llu: %s, input %d", (unsigned long long)b->o->seed,
		         s->path, k);
		fence_on_death(what);
		if (draw_input(b, g, f && c->kind == 2 && g->nsym > f->nsym ? LANES : 0, k, syms, in)) {
			bool no = run_all(b, s, syms, in, want);
			if (f && expected(b, f, c, syms, in) != no)
				fail(b, s, syms, no ? "refuses what the function accepts"
				                    : "accepts what the function refuses");
			if (!no)
				drop(b, g->nout, want);
			if (s->x && g->nsym && !below(b, 6))
				run_misfit(b, s, in);
			drop(b, g->nparam, in);
		}
		hop_rewind(a, m);
	}
}

static void chain(bench *b, const hop_graph *g)
{
	int inputs = b->o->inputs;
	subject s;
	char path[64] = "f";
	if (!open_subject(b, &s, g, path))
		return;
	run_subject(b, &s, NULL, NULL, inputs);
	close_subject(b, &s);
	for (int i = 0; i < b->o->transforms && !b->c->failures; i++) {
		struct change c = { 0 };
		char longer[64];
		if (!transform(b, g, &c))
			return;
		snprintf(longer, sizeof longer, "%s(%.50s)", c.name, path);
		memcpy(path, longer, sizeof path);
		if (!open_subject(b, &s, c.g, path))
			return;
		run_subject(b, &s, g, &c, inputs);
		close_subject(b, &s);
		g = c.g;
	}
}

static int silent(void *user, const char *line)
{
	(void)user, (void)line;
	return 0;
}

void refuse_graph(hop_env *e, const hop_graph *g, const refuse_opts *o, refuse_count *c)
{
	hop_mark m = hop_mark_at(&e->tmp);
	hop_interp p;
	bench b = { .e = e, .p = &p, .state = o->seed * 77 + 5, .o = o, .c = c };
	seed_parts(o->seed);
	hop_interp_init(&p, e);
	p.print = silent;
	chain(&b, g);
	hop_interp_fini(&p);
	hop_rewind(&e->tmp, m);
}

void refuse_program(uint64_t seed, int inputs, bool native, refuse_count *c)
{
	gen_opts o = { .seed = seed, .steps = 2 + (int)(seed % 5), .depth = (int)(seed % 3),
	               .nsym = 1 + (int)(seed / 3 % GEN_MAXSYM), .risks = 1 + (int)(seed % 2),
	               .locals = seed % 4 == 0, .f32 = seed % 8 == 0 };
	refuse_opts ro = { .seed = seed, .inputs = inputs, .transforms = 2, .native = native,
	                   .loose = o.f32 };
	hop_ctx *ctx;
	hop_env e;
	hop_frame f;
	hop_graph *g = NULL;
	if (hop_ctx_new(NULL, &ctx))
		abort();
	hop_env_init(&e, ctx, (hop_mem){ 0 });
	if (HOP_GUARD(&e, &f)) {
		fprintf(stderr, "seed %llu: no memory\n", (unsigned long long)seed);
		abort();
	}
	c->programs++;
	if (gen_program(&e, &o, &g)) {
		c->failures++;
		fprintf(stderr, "seed %llu: cannot be made: %s\n", (unsigned long long)seed,
		        e.diag.text ? e.diag.text : "");
	} else {
		refuse_graph(&e, g, &ro, c);
	}
	hop_guard_end(&e, &f);
	hop_env_fini(&e);
	hop_ctx_free(ctx);
}
