/* show.c -- hop show: a text as it is, or as it is after some pass. Changes nothing. */
#include "cmd.h"

#include "driver/pipeline.h"
#include "io/file.h"
#include "loop/lower.h"
#include "loop/parts.h"
#include "page/page.h"
#include "target/c/c.h"
#include "target/target.h"

#include <stdio.h>
#include <string.h>

/* What every compilation does, up to the pass of this name. */
static hop_status up_to(cmd *c, const char *name, const hop_graph **g)
{
	const hop_pass *last = hop_pass_find(name);
	if (!last || last->when == HOP_PASS_ASKED)
		return hop_fail(c->env, 0, HOP_EVALUE, "show: no pass of a compilation is called "
		                "%s: see hop opt --list", name);
	for (size_t i = 0; hop_pass_at(i); i++) {
		const hop_pass *p = hop_pass_at(i);
		if (!hop_pass_runs(p, last->when == HOP_PASS_DEVICE))
			continue;
		HOP_TRY(cmd_passes(c, p->name, g));
		if (p == last)
			break;
	}
	return HOP_OK;
}

/* Machines to look at, whichever one we are on. */
static const struct { const char *name; hop_machine m; } machines[] = {
	{ "none",   { 0 } },
	{ "sse",    { .vbits = 128, .nvreg = 16, .threads = true, .fork = 1 << 16 } },
	{ "avx2",   { .vbits = 256, .nvreg = 16, .halves = true, .threads = true, .fork = 1 << 16 } },
	{ "avx512", { .vbits = 512, .nvreg = 32, .halves = true, .threads = true, .fork = 1 << 16 } },
	{ "neon",   { .vbits = 128, .nvreg = 32, .threads = true, .fork = 1 << 16 } },
	{ "cuda",   { .blocks = 128, .warp = 32, .shared = 96 << 10 } },
};

static hop_status find_machine(cmd *c, const char *name, hop_machine *out)
{
	if (!name) {
		const hop_target *t;
		HOP_TRY(hop_target_pick(c->env, NULL, &t));
		return t->machine(c->env, &(hop_target_opts){ 0 }, out);
	}
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
		if (strcmp(machines[i].name, name))
			continue;
		*out = machines[i].m;
		return HOP_OK;
	}
	return hop_fail(c->env, 0, HOP_EVALUE, "show: no machine is called %s: there are none, sse, "
	                "avx2, avx512, neon and cuda", name);
}

enum lowered { LOOPS, COPIES, C_TEXT, REGIONS, CUDA_TEXT };

/* What is compiled, a function a line. */
static void regions(cmd *c, hop_buf *b)
{
	const hop_prog *p = c->prog;
	int *nests = HOP_NEWN(&c->env->tmp, int, 2 * p->nfunc), *calls = nests + p->nfunc;
	hop_prog_parts(p, nests, calls);
	hop_putf(b, "functions: %d\n", p->nfunc);
	for (int i = 0; i < p->nfunc; i++) {
		const hop_lfunc *f = &p->func[i];
		hop_putf(b, "  %dx f%d @%s: %d nest%s, frame ", calls[i], i, f->name, nests[i],
		         nests[i] == 1 ? "" : "s");
		hop_size_print(b, f->frame, NULL, 0);
		hop_putc(b, '\n');
	}
}

/* The loop program, bound to a machine unless that is NULL; the copies it could not avoid, each with
 * its reason; or the program as C, or as CUDA C. */
static hop_status lowered(cmd *c, enum lowered what, const hop_machine *m)
{
	hop_graph *g;
	const hop_graph *opt;
	hop_buf list, text;
	HOP_TRY(cmd_pick(c, &g));
	HOP_TRY(hop_pipeline_run(c->env, g, m && m->blocks, &opt));
	hop_buf_open(&list, c->env);
	hop_buf_open(&text, c->env);
	hop_status st = hop_lower_graph(c->env, opt, &(hop_lower_opts){ .copies = &list, .machine = m },
	                                &c->prog);
	if (!st && what == LOOPS)
		hop_prog_print(&text, c->prog);
	if (!st && what == C_TEXT)
		st = hop_c_prog(c->env, c->prog, "entry", false, &text);
	if (!st && what == CUDA_TEXT)
		st = cmd_cuda_text(c, c->prog, &text);
	if (!st && what == REGIONS)
		regions(c, &text);
	if (!st && what == COPIES)
		hop_put(&text, list.n ? list.s : "no copies\n");
	if (!st)
		printf("%s", text.s);
	hop_buf_free(&text);
	hop_buf_free(&list);
	return st;
}

/* A pass of the list, which may have words in brackets behind it: up to the comma. */
static size_t pass_length(const char *s)
{
	size_t n = 0;
	for (int deep = 0; s[n] && (deep || s[n] != ','); n++)
		deep += s[n] == '(' ? 1 : s[n] == ')' && deep ? -1 : 0;
	return n;
}

/* The page: the graph as it was read, after each of the passes asked for, and through a
 * compilation of what they made. */
static hop_status page(cmd *c, const char *passes, const char *out)
{
	hop_stage stage[HOP_STAGES];
	hop_graph *g;
	int n = 0;
	HOP_TRY(cmd_pick(c, &g));
	const hop_graph *now = g;
	stage[n++] = (hop_stage){ "as read", "the graph of the text", g };
	while (passes && *passes) {
		size_t k = pass_length(passes);
		char *name = hop_arena_str(&c->env->tmp, passes, k);
		if (n == HOP_STAGES / 2)
			return hop_fail(c->env, 0, HOP_EUSE, "show: at most %d passes", n - 1);
		HOP_TRY(cmd_passes(c, name, &now));
		stage[n++] = (hop_stage){ name, "asked for", now };
		passes += k + (passes[k] == ',');
	}
	HOP_TRY(hop_page_stages(c->env, now, stage, &n));
	bool std = !c->file || !strcmp(c->file, "-");
	hop_page p = { .title = std ? "stdin" : c->file, .nstage = n, .stage = stage, .name =
		               c->graph ? c->graph : c->m->entry[c->m->n - 1].name,
		       .file = std ? "stdin" : c->file, .text = c->text.s, .ntext = c->text.n };
	hop_buf b;
	hop_buf_open(&b, c->env);
	hop_page_print(&b, &p);
	hop_status st = HOP_OK;
	if (out)
		st = hop_file_write(c->env, out, b.s, b.n);
	else
		fwrite(b.s, 1, b.n, stdout);
	hop_buf_free(&b);
	return st;
}

hop_status cmd_show(cmd *c)
{
	const char *after = NULL, *machine = NULL, *passes = NULL, *out = NULL, *budget = NULL;
	bool copies = false, shared = false, html = false, saved = false, parts = false;
	int flags = 0;
	while (cmd_more(c)) {
		if (cmd_flag(c, "--locs"))
			flags |= HOP_PRINT_LOCS;
		else if (cmd_flag(c, "--copies"))
			copies = true;
		else if (cmd_flag(c, "--saved"))
			saved = true;
		else if (cmd_value(c, "--budget", &budget))
			HOP_TRY(cmd_need(c, "--budget", budget));
		else if (cmd_flag(c, "--shared"))
			shared = true;
		else if (cmd_flag(c, "--regions"))
			parts = true;
		else if (cmd_flag(c, "--html"))
			html = true;
		else if (cmd_value(c, "-o", &out))
			HOP_TRY(cmd_need(c, "-o", out));
		else if (cmd_value(c, "-p", &passes))
			HOP_TRY(cmd_need(c, "-p", passes));
		else if (cmd_value(c, "--after", &after))
			HOP_TRY(cmd_need(c, "--after", after));
		else if (cmd_value(c, "--machine", &machine))
			HOP_TRY(cmd_need(c, "--machine", machine));
		else
			HOP_TRY(cmd_other(c));
	}
	if (!html && (out || passes))
		return hop_fail(c->env, 0, HOP_EUSE, "show: %s is for --html", out ? "-o" : "-p");
	if (html && (after || machine || copies || shared || parts || flags))
		return hop_fail(c->env, 0, HOP_EUSE, "show: --html shows all stages and lines: %s says no more",
		                after ? "--after" : machine ? "--machine" : copies ? "--copies" :
		                shared ? "--shared" : parts ? "--regions" : "--locs");
	HOP_TRY(cmd_load(c));
	if (html)
		return page(c, passes, out);
	if (shared && after && !hop_pass_find(after))
		return hop_fail(c->env, 0, HOP_EUSE, "show: --shared is of graphs: --after must name a "
		                "pass, %s is none", after);
	if (parts)
		return lowered(c, REGIONS, NULL);
	if (copies || (after && (!strcmp(after, "lower") || !strcmp(after, "c"))))
		return lowered(c, copies ? COPIES : *after == 'c' ? C_TEXT : LOOPS, NULL);
	if (after && (!strcmp(after, "device") || !strcmp(after, "cuda"))) {
		const hop_target *t;
		hop_machine m;
		if (machine)
			return hop_fail(c->env, 0, HOP_EUSE, "show: --after=%s is of the machine that target "
			                "cuda describes: --machine is for schedule", after);
		HOP_TRY(hop_target_pick(c->env, "cuda", &t));
		HOP_TRY(t->machine(c->env, &(hop_target_opts){ 0 }, &m));
		return lowered(c, *after == 'c' ? CUDA_TEXT : LOOPS, &m);
	}
	if (after && !strcmp(after, "schedule")) {
		hop_machine m;
		HOP_TRY(find_machine(c, machine, &m));
		return lowered(c, LOOPS, &m);
	}
	if (budget && !saved)
		return hop_fail(c->env, 0, HOP_EUSE, "show: --budget is of --saved");
	if (!after && !c->graph && !saved) {
		if (shared)
			cmd_shared(c, c->m->n, c->m->entry);
		else
			cmd_print(c, c->m->n, c->m->entry, flags);
		return HOP_OK;
	}
	hop_graph *g;
	HOP_TRY(cmd_pick(c, &g));
	const hop_graph *now = g;
	if (after)
		HOP_TRY(up_to(c, after, &now));
	if (saved)
		return cmd_saved(c, now, budget);
	if (shared) {
		cmd_shared(c, 1, &(hop_named){ NULL, (hop_graph *)(uintptr_t)now });
		return HOP_OK;
	}
	cmd_print_picked(c, now, flags);
	return HOP_OK;
}
