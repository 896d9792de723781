/* random.c -- random programs under random chains of transforms, run in every way there
 * is. Shrinks nothing: the seed and the program are printed. */
#include "support/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/pipeline.h"
#include "hop/ctx.h"
#include "text/text.h"
#include "support/program.h"
#include "support/judge.h"
#include "support/lower_check.h"
#include "support/native_run.h"
#include "support/retype.h"
#include "support/seed.h"

enum { LANES = 3, MAX_NODES = 4000 };

static int silent(void *user, const char *line)
{
	(void)user;
	(void)line;
	return 0;
}

/* ---- text ---- */

/* print(parse(print(g))) = print(g), and it is the same graph. */
static bool reads_back(hop_env *e, const hop_graph *g)
{
	hop_buf a, b;
	hop_module *m = NULL;
	bool same = false;
	hop_buf_open(&a, e);
	hop_buf_open(&b, e);
	hop_graph_print(&a, g);
	if (!hop_module_parse(e, a.s, a.n, "random", &m)) {
		const hop_graph *h = hop_module_find(m, NULL);
		hop_graph_print(&b, h);
		same = !strcmp(a.s, b.s) && hop_graph_equal(g, h);
		hop_module_free(m, &e->mem);
	}
	hop_buf_free(&b);
	hop_buf_free(&a);
	return same;
}

static void show(hop_env *e, const hop_graph *g)
{
	hop_buf b;
	hop_buf_open(&b, e);
	hop_graph_print(&b, g);
	fputs(b.s, stderr);
	hop_buf_free(&b);
}

/* ---- other ways to run ---- */

static hop_status run_optimised(hop_interp *p, const hop_graph *g, const int64_t *syms,
                                hop_array *const *in, hop_array **out)
{
	const hop_graph *o;
	HOP_TRY(hop_pipeline_run(p->env, g, false, &o));
	HOP_TRY(hop_verify(p->env, o));
	return hop_interp_graph(p, o, syms, in, out);
}

static void run_loops(judge *j, const hop_graph *g, const char *path)
{
	hop_env *e = j->p->env;
	int64_t *syms = HOP_NEWN(&e->tmp, int64_t, g->nsym);
	judge_sizes(j, g, syms);
	j->checks++;
	if (!hop_lower_check(e, g, syms, (unsigned)j->seed))
		return;
	j->failures++;
	fprintf(stderr, "%s: loop program of %s differs: %s\n", j->what, path,
	        e->diag.text ? e->diag.text : "values differ");
	hop_diag_clear(e);
}

/* ---- chains of transforms ---- */

static bool has_local(const hop_type *t, uint32_t nsym)
{
	for (int i = 0; i < t->rank; i++)
		if ((uint32_t)hop_size_nsym(t->dim[i]) > nsym)
			return true;
	return false;
}

/* One transform by all floats; *out_g stays as it was when there is nothing to do. */
static hop_status step(hop_env *e, uint32_t which, const hop_graph **g, const char **name)
{
	const hop_graph *f = *g;
	bool *act = HOP_NEWN(&e->tmp, bool, f->nparam), *outs = HOP_NEWN(&e->tmp, bool, f->nout);
	bool *bo = HOP_NEWN(&e->tmp, bool, f->nout), any = false, some = false;
	for (uint32_t i = 0; i < f->nparam; i++)
		any |= act[i] = hop_dtype_float((hop_dtype)f->type[i]->dtype);
	for (uint32_t i = 0; i < f->nout; i++) {
		const hop_type *t = hop_graph_out_type(f, i);
		some |= outs[i] = hop_dtype_float((hop_dtype)t->dtype) && !has_local(t, f->nsym);
	}
	hop_batch_spec spec = { .size = which == 3 ? -1 : LANES, .in = act };
	if (which == 4) {                          /* integers and predicates are batched too */
		memset(act, 1, f->nparam);
		any = f->nparam > 0;
	}
	*name = "f";
	if (!any || (which < 2 && !some))
		return HOP_OK;
	*name = which == 0 ? "vjp" : which == 1 ? "jvp" : "vmap";
	if (which == 0)
		return hop_ad_vjp(e, f, outs, act, g);
	if (which == 1)
		return hop_ad_jvp(e, f, act, outs, g);
	return hop_ad_batch(e, f, &spec, g, bo);
}

static void check(judge *j, const hop_graph *g, int ways, const char *path)
{
	if (!reads_back(j->p->env, g)) {
		j->failures++;
		fprintf(stderr, "%s: text of %s does not read back: %s\n", j->what, path,
		        j->p->env->diag.text ? j->p->env->diag.text : "it differs");
		hop_diag_clear(j->p->env);
	}
	j->other = ways & RANDOM_OPT ? run_optimised : NULL;
	if (ways & RANDOM_LAWS)
		judge_graph(j, g, 0, path);
	else if (j->other)
		judge_other(j, g, path);
	if (ways & RANDOM_LOOPS)
		run_loops(j, g, path);
	/* compiled code prints on standard output, which cannot be silenced */
	j->other = native_run;
	if (ways & RANDOM_NATIVE && !g->has_effect)
		judge_other(j, g, path);
}

static void chain(judge *j, const hop_graph *g, uint64_t seed, int ways)
{
	char path[64] = "f", longer[64];
	const char *name;
	int depth = (int)(seed / 7 % 3);
	check(j, g, ways, path);
	for (int i = 0; i < depth && !j->failures && gen_weight(g, MAX_NODES) < MAX_NODES; i++) {
		hop_status st = step(j->p->env, (uint32_t)(seed / 31 >> 3 * i) % 5, &g, &name);
		snprintf(longer, sizeof longer, "%s(%.50s)", name, path);
		memcpy(path, longer, sizeof path);
		if (st == HOP_EREFUSED) {          /* a size made from data cannot have lanes */
			hop_diag_clear(j->p->env);
			return;
		}
		if (st || hop_verify(j->p->env, g)) {
			j->failures++;
			fprintf(stderr, "%s: %s: %s\n", j->what, path, j->p->env->diag.text);
			return;
		}
		if (gen_weight(g, MAX_NODES) < MAX_NODES)
			check(j, g, ways, path);
	}
}

int random_program(uint64_t seed, int ways)
{
	gen_opts o = { .seed = seed, .steps = 3 + (int)(seed % 7), .depth = (int)(seed % 4),
	               .nsym = seed % 5 == 0 ? 1 + (int)(seed / 5 % GEN_MAXSYM) : 0,
	               .locals = seed % 9 == 0, .wide = seed % 3 == 0, .effects = seed % 6 == 0,
	               .f32 = seed % 4 == 0 };
	char what[40];
	hop_ctx *c;
	hop_env e;
	hop_frame f;
	seed_parts(seed);
	hop_interp p;
	hop_graph *g = NULL;
	hop_module *m = NULL;
	judge j = { .p = &p, .seed = seed + 1, .what = what };
	snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
	if (hop_ctx_new(NULL, &c))
		return 1;
	hop_env_init(&e, c, (hop_mem){ 0 });
	if (HOP_GUARD(&e, &f)) {
		fprintf(stderr, "%s: no memory\n", what);
		return 1;
	}
	hop_interp_init(&p, &e);
	p.print = silent;
	if (gen_program(&e, &o, &g) || hop_verify(&e, g)) {
		fprintf(stderr, "%s: cannot be made: %s\n", what, e.diag.text ? e.diag.text : "");
		j.failures++;
	} else if (seed % 8 == 2) {            /* all of it in 16 bits: no laws, for it may be chaos */
		if (retype_graph(&e, g, seed % 16 == 2 ? HOP_bf16 : HOP_f16, &m)) {
			fprintf(stderr, "%s: %s\n", what, e.diag.text);
			j.failures++;
		} else {
			chain(&j, g = hop_module_find(m, NULL), seed, ways & ~RANDOM_LAWS);
		}
	} else {
		chain(&j, g, seed, ways);
	}
	if (j.failures && g)
		show(&e, g);
	hop_interp_fini(&p);
	if (m)
		hop_module_free(m, &e.mem);
	hop_guard_end(&e, &f);
	hop_env_fini(&e);
	hop_ctx_free(c);
	return j.failures;
}
