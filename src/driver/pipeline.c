/* pipeline.c -- the list of passes on one page. Knows no pass from the inside. */
#include "driver/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "text/text.h"
#include "opt/opt.h"

enum { MAX_ROUNDS = 3 };

/* Fold, merge, drop until nothing changes: each uncovers work for the others. */
static hop_status clean(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	const hop_graph *last = NULL;
	*out_g = g;
	for (int i = 0; i < MAX_ROUNDS && last != *out_g; i++) {
		last = *out_g;
		HOP_TRY(hop_opt_fold(e, *out_g, out_g));
		HOP_TRY(hop_opt_bind(e, *out_g, out_g));
		HOP_TRY(hop_opt_cse(e, *out_g, out_g));
		HOP_TRY(hop_opt_dce(e, *out_g, out_g));
	}
	return HOP_OK;
}

enum {                                 /* arguments of passes */
	WRT = 1 << HOP_ARG_WRT,
	JAC = WRT | 1 << HOP_ARG_RESULTS | 1 << HOP_ARG_CHUNK,
	LANES = 1 << HOP_ARG_AXIS | 1 << HOP_ARG_OUT | 1 << HOP_ARG_CHUNK
};

#define PLAIN(name, run, when, help) { name, run, HOP_PASS_##when, help, NULL, 0 }
#define WITH(name, keys, help) { #name, NULL, HOP_PASS_ASKED, help, hop_pass_##name, keys }
static const hop_pass passes[] = {
	PLAIN("unwatch", hop_opt_unwatch,  ALWAYS, "drop watches: no run will record them"),
	PLAIN("plain",   hop_opt_plain,    ALWAYS, "drop names and packing; checkpoints are calls now"),
	PLAIN("quiet",   hop_opt_quiet,    ALWAYS, "drop what hop_progress says, unless it is shown"),
	PLAIN("expand",  hop_opt_expand,   ALWAYS, "replays as the loops that run them"),
	PLAIN("unhook",  hop_opt_unhook,   ALWAYS, "values instead of their hooks: no derivative follows"),
	PLAIN("unroll",  hop_opt_unroll,   ALWAYS, "several steps at a time where scans or regions say so"),
	PLAIN("inline",  hop_opt_inline,   ALWAYS, "put small and single callees where they are called"),
	PLAIN("clean",   clean,            ALWAYS, "fold, bind, cse and dce until nothing changes"),
	PLAIN("place",   hop_opt_place,    ALWAYS, "one concat for pieces put into zeros and added up"),
	PLAIN("licm",    hop_opt_licm,     ALWAYS, "move what is the same each time out of loops"),
	PLAIN("hoist",   hop_opt_hoist,    ALWAYS, "one product in front of a scan for one a step"),
	PLAIN("accum",   hop_opt_accum,    ALWAYS, "one product behind a scan for a sum of products"),
	PLAIN("sink",    hop_opt_sink,     ALWAYS, "one product behind a scan for one a stacked row"),
	PLAIN("lanes",   hop_opt_lanes,    HERE,   "how lanes that end at different trips are run"),
	PLAIN("threads", hop_opt_threads,  DEVICE, "the same on a device"),
	PLAIN("finish",  clean,            ALWAYS, "clean again: what moved leaves things behind"),
	PLAIN("fold",    hop_opt_fold,     ASKED,  "evaluate what is known"),
	PLAIN("bind",    hop_opt_bind,     ASKED,  "operands that are constants become constants inside"),
	PLAIN("cse",     hop_opt_cse,      ASKED,  "merge equal pure nodes"),
	PLAIN("dce",     hop_opt_dce,      ASKED,  "drop what operators compute or take in vain"),
	WITH(grad,      WRT,                      "result 0 and its gradients"),
	WITH(vjp,       WRT,                      "reverse mode: cotangents in, cotangents out"),
	WITH(jvp,       WRT,                      "forward mode: tangents in, tangents out"),
	WITH(jacrev,    JAC,                      "Jacobians, by reverse mode"),
	WITH(jacfwd,    JAC,                      "Jacobians, by forward mode"),
	WITH(hessian,   WRT | 1 << HOP_ARG_CHUNK, "result 0, its Jacobians and theirs"),
	WITH(hvp,       WRT,
	     "Hessian of result 0 times a vector, forward over reverse"),
	WITH(vhp,       WRT,                      "the same, reverse over reverse"),
	WITH(linearize, WRT | 1 << HOP_ARG_HALF,
	     "half 0: results and what is kept; half 1: tangents from that"),
	WITH(vmap,      LANES | 1 << HOP_ARG_N,   "batch parameters, 4 lanes"),
	WITH(vmap_any,  LANES,                    "batch parameters, a size parameter of lanes"),
	PLAIN(NULL, NULL, ASKED, NULL)
};
#undef PLAIN
#undef WITH

const hop_pass *hop_pass_at(size_t i)
{
	size_t n = sizeof passes / sizeof *passes - 1;
	return i < n ? &passes[i] : NULL;
}

const hop_pass *hop_pass_find(const char *name)
{
	for (size_t i = 0; hop_pass_at(i); i++)
		if (!strcmp(hop_pass_at(i)->name, name))
			return hop_pass_at(i);
	return NULL;
}

bool hop_pass_runs(const hop_pass *p, bool device)
{
	return p->when == HOP_PASS_ALWAYS || p->when == (device ? HOP_PASS_DEVICE : HOP_PASS_HERE);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool named(const char *list, const char *name)
{
	return hop_has_word(list, name) || hop_has_word(list, "all");
}

static void dump(hop_env *e, const hop_pass *p, const hop_graph *g)
{
	hop_buf b;
	hop_buf_open(&b, e);
	hop_graph_print(&b, g);
	fprintf(stderr, "# after %s\n%s", p->name, b.s);
	hop_buf_free(&b);
}

static hop_status run_all(hop_env *e, const hop_graph *g, bool device, const hop_pass *first,
                          hop_pass_hook *hook, void *user, const hop_graph **out_g)
{
	const char *dumps = getenv("HOP_DUMP");
	*out_g = g;
	for (const hop_pass *p = first; p->name; p++) {
		if (!hop_pass_runs(p, device))
			continue;
		double t = now();
		if (p->run(e, *out_g, out_g))
			return hop_note(e, 0, "in pass %s", p->name);
#ifndef NDEBUG
		if (hop_verify(e, *out_g))
			return hop_note(e, 0, "after pass %s", p->name);
#endif
		if (hook)
			hook(user, p, *out_g, now() - t);
		if (named(dumps, p->name))
			dump(e, p, *out_g);
	}
	return HOP_OK;
}

hop_status hop_pipeline_mute(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	return hop_opt_mute(e, g, out_g);
}

hop_status hop_pipeline_watch(hop_env *e, const hop_graph *g, hop_pass_hook *hook, void *user,
                              const hop_graph **out_g)
{
	return run_all(e, g, false, passes, hook, user, out_g);
}

/* All but the first pass, which would leave them out. */
hop_status hop_pipeline_looking(hop_env *e, const hop_graph *g, bool device, const hop_graph **out_g)
{
	HOP_TRY(hop_opt_ticks(e, g, &g));
	return run_all(e, g, device, passes + 1, NULL, NULL, out_g);
}

hop_status hop_pipeline_run(hop_env *e, const hop_graph *g, bool device, const hop_graph **out_g)
{
	return run_all(e, g, device, passes, NULL, NULL, out_g);
}
