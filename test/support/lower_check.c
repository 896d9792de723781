/* lower_check.c -- the interpreter against the loop program. Not a test by itself. */
#include "support/lower_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text/text.h"
#include "opt/opt.h"
#include "target/cuda/cuda.h"
#include "support/loop_run.h"
#include "support/program.h"
#include "support/team_run.h"
#include "support/unsteady.h"

static unsigned next(unsigned *s)
{
	*s = *s * 1664525u + 1013904223u;
	return *s >> 8;
}

static void fill(hop_array *t, unsigned *seed)
{
	for (int64_t i = 0; i < t->count; i++) {
		unsigned r = next(seed);
		if (hop_dtype_float(t->dtype))
			hop_array_set_f(t, i, (double)(r % 4001) / 1000.0 - 2.0);
		else if (t->dtype == HOP_bool)
			hop_array_set_i(t, i, r % 2);
		else
			hop_array_set_i(t, i, (int64_t)(r % 7) - 1);
	}
}

typedef struct effects { int n, asserted; } effects;

static int on_effect(void *user, const hop_leffect *f, void *const *args,
                     const int64_t *syms)
{
	effects *x = user;

	(void)args;
	(void)syms;
	x->n += !f->is_progress;
	x->asserted += f->is_assert;
	return 0;
}

static int quiet(void *user, const char *line)
{
	(void)line;
	++*(int *)user;
	return 0;
}

static bool differs(const hop_array *want, const hop_array *got, int64_t i, double tol)
{
	if (!hop_dtype_float(want->dtype))
		return hop_array_i(want, i) != hop_array_i(got, i);
	double w = hop_array_f(want, i), g = hop_array_f(got, i);
	if (w != w || g != g)
		return (w != w) != (g != g);
	if (isinf(w) || isinf(g))
		return w != g;
	return fabs(w - g) > tol * (1 + fabs(w));
}

static void show(hop_env *e, const hop_graph *g, const hop_prog *p)
{
	hop_buf b;

	hop_buf_open(&b, e);
	hop_graph_print(&b, g);
	if (p)
		hop_prog_print(&b, p);
	fprintf(stderr, "%s\n", b.s);
	hop_buf_free(&b);
}

/* As whoever the program was scheduled for. */
static int run(hop_env *e, const hop_prog *p, void **ptr, const int64_t *syms, effects *fx,
               const char **why)
{
	hop_team_opts o = { .seed = (unsigned)p->nfunc };

	if (p->func[0].level == HOP_LEVEL_WHOLE)
		return hop_loop_run(e, p, ptr, syms, on_effect, fx, why);
	return hop_team_run(e, p, ptr, syms, on_effect, fx, &o, why);
}

/* A program for a device has a text; it is kept where HOP_CUDA_TEXTS says, for NVRTC to compile. */
static int has_text(hop_env *e, const hop_prog *p)
{
	static int     n;
	hop_mark       m = hop_mark_at(&e->tmp);
	hop_cuda_needs needs = { 0 };
	const char    *dir = getenv("HOP_CUDA_TEXTS");
	hop_buf        b;
	int            bad = 0;

	if (p->func[0].level != HOP_LEVEL_HOST)
		return 0;
	hop_buf_open(&b, e);
	if (hop_cuda_text(e, p, "f", &b, HOP_NEWN(&e->tmp, hop_cuda_kernel, p->nfunc), &needs)) {
		fprintf(stderr, "no text: %s\n", e->diag.text ? e->diag.text : "?");
		bad = 1;
	} else if (dir) {
		char  path[512];
		FILE *f;
		snprintf(path, sizeof path, "%s/%d_%d.cu", dir, (int)getpid(), n++);
		if ((f = fopen(path, "w"))) {
			fwrite(b.s, 1, b.n, f);
			fclose(f);
		}
	}
	hop_buf_free(&b);
	hop_rewind(&e->tmp, m);
	return bad;
}

/* Whether a result is another, which it says. */
static bool off(const hop_graph *g, const hop_lower_opts *o, hop_array **want, hop_array **got,
                double tol)
{
	for (uint32_t i = 0; i < g->nout; i++)
		for (int64_t k = 0; k < want[i]->count; k++)
			if (differs(want[i], got[i], k, tol)) {
				fprintf(stderr, "%s: result %u element %lld is %.12g, not %.12g\n",
				        o && o->no_fuse ? "not fused" : "fused", i, (long long)k,
				        hop_array_f(got[i], k), hop_array_f(want[i], k));
				return true;
			}
	return false;
}

/* One lowering against results already computed. */
static int compare(hop_interp *ip, const hop_graph *g, const hop_lower_opts *o,
                   const int64_t *syms, hop_array **in, hop_array **want)
{
	hop_env    *e = ip->env;
	hop_prog   *p;
	void      **ptr = calloc(g->nparam + g->nout + 1, sizeof *ptr);
	hop_array **got = calloc(g->nout + 1, sizeof *got);
	effects     fx = { 0 };
	const char *why = "";
	int         bad = 0;
	/* no nearer than what it is made of; what is rounded to fewer bits than f32 has is the same */
	double      eps = gen_eps(g), tol = eps > 0x1p-23 ? 0 : eps == 0x1p-23 ? 2e-4 : 1e-9;

	if (hop_lower_graph(e, g, o, &p)) {
		fprintf(stderr, "not lowered: %s\n", e->diag.text ? e->diag.text : "?");
		show(e, g, NULL);
		free(ptr);
		free(got);
		return 1;
	}
	for (uint32_t i = 0; i < g->nparam; i++)
		ptr[i] = in[i]->data;
	for (uint32_t i = 0; i < g->nout; i++) {
		got[i] = hop_interp_new(ip, want[i]->dtype, want[i]->rank, want[i]->dim);
		memset(got[i]->data, 0x7f,
		       (size_t)got[i]->count * hop_dtype_bytes(got[i]->dtype));
		ptr[g->nparam + i] = got[i]->data;
	}
	if (run(e, p, ptr, syms, &fx, &why)) {
		fprintf(stderr, "loop program: %s\n", why);
		bad = 1;
	}
	bad |= has_text(e, p);
	if (!bad && off(g, o, want, got, tol)) {
		bad = !unsteady(ip, g, syms, in, want, got, tol);
		fputs(bad ? "" : "it is unsteady\n", stderr);
	}
	if (bad)
		show(e, g, p);
	hop_prog_free(p, &e->mem);
	for (uint32_t i = 0; i < g->nout; i++)
		hop_interp_release(ip, got[i]);
	free(got);
	free(ptr);
	return bad;
}

/* Threads of a device take long: with JUDGE_EVERY, as in sanitized runs, one program in so many. */
static bool is_turn(void)
{
	static int  n;
	const char *every = getenv("JUDGE_EVERY");
	return !every || atoi(every) < 2 || n++ % atoi(every) == 0;
}

/* ---- machines ---- */

/* On machines of a CPU: where all that may be forked is, and where nothing is. */
static int on_cpus(hop_interp *ip, const hop_graph *g, const int64_t *syms, hop_array **in,
                   hop_array **want)
{
	static const hop_machine forks = { .vbits = 512, .nvreg = 32, .halves = true, .threads = true,
	                                   .fork = 1, .cache = 1 << 20 };
	static const hop_machine alone = { .vbits = 256, .nvreg = 16, .halves = true, .fork = 1,
	                                   .cache = 1 << 20 };
	hop_lower_opts plain = { .no_fuse = true }, tiled = { .tile_all = true, .room_all = true };
	hop_lower_opts one = { .machine = &alone }, many = { .machine = &forks, .room_all = true };
	const hop_lower_opts *all[] = { &plain, &tiled, NULL, &one, &many };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		int bad = compare(ip, g, all[i], syms, in, want);
		if (bad)
			return bad;
	}
	return 0;
}

/* Of a device: as it is, where little is much, and where loops and branches are of lists besides. */
enum { DEVICES = 3 };
static int on_device(hop_interp *ip, const hop_graph *g, const int64_t *syms, hop_array **in,
                     hop_array **want, int which)
{
	static const hop_machine device[DEVICES] = {
		{ .blocks = 132, .warp = 32, .shared = 48 << 10 },
		{ .blocks = 5, .warp = 32, .shared = 48 << 10, .small = 4 },
		{ .blocks = 5, .warp = 32, .shared = 48 << 10, .small = 4, .loops = 1 },
	};
	hop_lower_opts o = { .machine = &device[which] };
	if (hop_opt_threads(ip->env, g, &g)) {
		fprintf(stderr, "not for a device: %s\n", ip->env->diag.text ? ip->env->diag.text : "?");
		return 1;
	}
	return compare(ip, g, &o, syms, in, want);
}

/* every: on all devices, else on one that the seed draws. */
static int check(hop_env *e, const hop_graph *g, const int64_t *syms, unsigned seed, bool every)
{
	hop_interp   ip;
	hop_array **in = calloc(g->nparam + 1, sizeof *in);
	hop_array **want = calloc(g->nout + 1, sizeof *want);
	int          bad = 0, lines = 0;

	hop_interp_init(&ip, e);
	ip.print = quiet;
	ip.print_user = &lines;
	for (uint32_t i = 0; i < g->nparam; i++) {
		const hop_type *t = g->type[i];
		int64_t         dim[HOP_MAXRANK];
		for (int d = 0; d < t->rank; d++)
			if (!hop_size_eval(t->dim[d], syms, (int)g->nsym, &dim[d]))
				dim[d] = 1;
		in[i] = hop_interp_new(&ip, (hop_dtype)t->dtype, t->rank, dim);
		fill(in[i], &seed);
	}
	if (hop_interp_graph(&ip, g, syms, in, want)) {
		fprintf(stderr, "interpreter: %s\n", e->diag.text ? e->diag.text : "?");
		hop_diag_clear(e);
		bad = -1;
	} else {
		bad = on_cpus(&ip, g, syms, in, want);
		for (int k = 0; every && !bad && k < DEVICES; k++)
			bad = on_device(&ip, g, syms, in, want, k);
		if (!every && !bad && is_turn())
			bad = on_device(&ip, g, syms, in, want, seed >> 16 & 1 ? 0 : seed >> 17 & 1 ? 1 : 2);
	}
	hop_interp_fini(&ip);
	free(in);
	free(want);
	return bad;
}

int hop_lower_check(hop_env *e, const hop_graph *g, const int64_t *syms, unsigned seed)
{
	return check(e, g, syms, seed, false);
}

int hop_lower_check_all(hop_env *e, const hop_graph *g, const int64_t *syms, unsigned seed)
{
	return check(e, g, syms, seed, true);
}
