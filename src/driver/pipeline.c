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

static const hop_pass passes[] = {
	{ "expand",   hop_opt_expand,    true,  "replays as the loops that run them" },
	{ "inline",   hop_opt_inline,    true,  "put small and single callees where they are called" },
	{ "clean",    clean,             true,  "fold, bind, cse and dce until nothing changes" },
	{ "place",    hop_opt_place,     true,  "one concat for pieces put into zeros and added up" },
	{ "licm",     hop_opt_licm,      true,  "move what is the same each time out of loops" },
	{ "hoist",    hop_opt_hoist,     true,  "one product in front of a scan for one a step" },
	{ "accum",    hop_opt_accum,     true,  "one product behind a scan for a sum of products" },
	{ "sink",     hop_opt_sink,      true,  "one product behind a scan for one a stacked row" },
	{ "lanes",    hop_opt_lanes,     true,  "how lanes that end at different trips are run" },
	{ "finish",   clean,             true,  "clean again: what moved leaves things behind" },
	{ "fold",     hop_opt_fold,      false, "evaluate what is known" },
	{ "bind",     hop_opt_bind,      false, "operands that are constants become constants inside" },
	{ "cse",      hop_opt_cse,       false, "merge equal pure nodes" },
	{ "dce",      hop_opt_dce,       false, "drop what operators compute or take in vain" },
	{ "grad",     hop_pass_grad,     false, "result 0 and its gradients by all float parameters" },
	{ "vjp",      hop_pass_vjp,      false, "reverse mode: cotangents in, cotangents out" },
	{ "jvp",      hop_pass_jvp,      false, "forward mode: tangents in, tangents out" },
	{ "vmap",     hop_pass_vmap,     false, "batch all parameters, 4 lanes" },
	{ "vmap_any", hop_pass_vmap_any, false, "batch all parameters, a size parameter of lanes" },
	{ NULL, NULL, false, NULL }
};

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

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Whether the comma list names the pass. */
static bool named(const char *list, const char *name)
{
	while (list && *list) {
		size_t n = strcspn(list, ",");
		if ((n == strlen(name) && !memcmp(list, name, n)) || (n == 3 && !memcmp(list, "all", 3)))
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

static void dump(hop_env *e, const hop_pass *p, const hop_graph *g)
{
	hop_buf b;
	hop_buf_open(&b, e);
	hop_graph_print(&b, g);
	fprintf(stderr, "# after %s\n%s", p->name, b.s);
	hop_buf_free(&b);
}

hop_status hop_pipeline_watch(hop_env *e, const hop_graph *g, hop_pass_hook *hook, void *user,
                              const hop_graph **out_g)
{
	const char *dumps = getenv("HOP_DUMP");
	*out_g = g;
	for (const hop_pass *p = passes; p->name; p++) {
		if (!p->always)
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

hop_status hop_pipeline_run(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	return hop_pipeline_watch(e, g, NULL, NULL, out_g);
}
