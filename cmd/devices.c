/* devices.c -- what is known of devices: hop devices, the list of targets and of what they run on; and
 * programs as the text, or the code, of a device, for show and build. Runs nothing. */
#include "cmd.h"

#include "driver/pipeline.h"
#include "hop/device.h"
#include "io/file.h"
#include "loop/lower.h"
#include "target/cuda/emit.h"

#include <stdio.h>
#include <string.h>

/* Of the context, without its first word. */
static const char *message(cmd *c)
{
	const char *text = hop_message(c->env->ctx), *skip = "error: ";
	return !strncmp(text, skip, strlen(skip)) ? text + strlen(skip) : text;
}

static void describe(cmd *c, const hop_target *t)
{
	const hop_far *far = t->mem->far;
	printf("%-6s %s\n", t->name, t->what);
	if (!far)
		return;
	int n = hop_device_count(c->env->ctx, far->name);
	if (!n)
		printf("       %s\n", message(c));
	for (int i = 0; i < n; i++)
		printf("       %s:%d %s\n", far->name, i, far->about(i));
	if (n && far->products)
		printf("       %s\n", far->products());
}

hop_status cmd_devices(cmd *c)
{
	const hop_target *one;
	while (cmd_more(c))
		HOP_TRY(cmd_other(c));
	if (c->file) {
		HOP_TRY(hop_target_pick(c->env, c->file, &one));
		describe(c, one);
		return HOP_OK;
	}
	for (int i = 0; hop_target_at(i); i++)
		describe(c, hop_target_at(i));
	return HOP_OK;
}

hop_status cmd_target_of(cmd *c, const char *device, const char **out_target)
{
	hop_device d;
	*out_target = NULL;
	if (hop_device_find(c->env->ctx, device, &d))
		return hop_fail(c->env, 0, HOP_EVALUE, "%s: %s", c->name, message(c));
	if (d.type)
		*out_target = hop_target_on(c->env->ctx, NULL, d.type)->name;
	return HOP_OK;
}

/* ---- texts ---- */

hop_status cmd_lower_for(cmd *c, const hop_graph *g, const char *target, hop_prog **out_p)
{
	const hop_graph *opt;
	const hop_target *t;
	hop_machine m;
	HOP_TRY(hop_target_pick(c->env, target, &t));
	HOP_TRY(t->machine(c->env, &(hop_target_opts){ 0 }, &m));
	HOP_TRY(hop_pipeline_run(c->env, g, m.blocks > 0, &opt));
	HOP_TRY(hop_lower_graph(c->env, opt, &(hop_lower_opts){ .machine = &m }, out_p));
	return hop_prog_verify(c->env, *out_p);
}

hop_status cmd_cuda_text(cmd *c, const hop_prog *p, hop_buf *out)
{
	hop_cuda_needs needs = { 0 };
	return hop_cuda_prog(c->env, p, "hop_main", out, HOP_NEWN(&c->env->tmp, hop_cuda_kernel, p->nfunc),
	                     &needs, NULL);
}

static hop_status write_one(cmd *c, const char *name, bool cubin, const char *path)
{
	hop_buf b;
	hop_buf_open(&b, c->env);
	hop_status st = cubin ? hop_cuda_emit_cubin(c->env, c->prog, name, &b)
	                      : hop_cuda_emit_text(c->env, c->prog, name, &b);
	if (!st)
		st = hop_file_write(c->env, path, b.s, b.n);
	hop_buf_free(&b);
	return st;
}

hop_status cmd_write_cuda(cmd *c, int n, const char *const *name, const hop_graph *const *g, bool cubin,
                          const char *path)
{
	const char *end = cubin ? "cubin" : "cu";
	hop_status st = HOP_OK;
	for (int i = 0; i < n && !st; i++) {
		size_t room = strlen(path) + strlen(name[i]) + 16;
		char *to = hop_arena_alloc(&c->env->tmp, room);
		snprintf(to, room, n > 1 ? "%s.%s.%s" : "%s%.0s.%s", path, name[i], end);
		st = cmd_lower_for(c, g[i], "cuda", &c->prog);
		if (!st)
			st = write_one(c, name[i], cubin, to);
		if (c->prog)
			hop_prog_free(c->prog, &c->env->mem);
		c->prog = NULL;
	}
	return st;
}
