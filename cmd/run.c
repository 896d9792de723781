/* run.c -- hop run: one graph on given or made inputs; results to the screen or to files.
 * Measures nothing; see bench.c. */
#include "cmd.h"

#include "driver/compile.h"
#include "io/file.h"
#include "io/npy.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN = 64 };                  /* elements of a result on the screen */

static void print_result(cmd *c, const hop_array *t)
{
	hop_buf b;
	hop_buf_open(&b, c->env);
	hop_put(&b, hop_dtype_name(t->dtype));
	for (int i = 0; i < t->rank; i++)
		hop_putf(&b, "%s%lld%s", i ? ", " : "[", (long long)t->dim[i],
		         i == t->rank - 1 ? "]" : "");
	hop_putc(&b, ' ');
	hop_data_print(&b, t->dtype, t->rank, t->data, t->count, SHOWN);
	printf("%s\n", b.s);
	hop_buf_free(&b);
}

/* PREFIX.NAME.npy: a number for a result, the name for what was watched. */
static hop_status write_array(cmd *c, const char *prefix, const char *name, const hop_array *t)
{
	hop_buf b, path;
	hop_buf_open(&b, c->env);
	hop_buf_open(&path, c->env);
	hop_putf(&path, "%s.%s.npy", prefix, name);
	hop_npy_write(&b, t->dtype, t->rank, t->dim, t->data);
	hop_status st = hop_file_write(c->env, path.s, b.s, b.n);
	hop_buf_free(&path);
	hop_buf_free(&b);
	return st;
}

static hop_status give_result(cmd *c, const char *prefix, uint32_t i, const hop_array *t)
{
	char name[16];
	snprintf(name, sizeof name, "%u", i);
	if (prefix)
		return write_array(c, prefix, name, t);
	print_result(c, t);
	return HOP_OK;
}

/* What was recorded under a name; its trips too, where it is written. */
static hop_status give_watched(cmd *c, const char *prefix, const char *name)
{
	hop_array *v, *trips;
	if (hop_watched(c->record, name, &v, &trips))
		return hop_fail(c->env, 0, HOP_EVALUE, "run: --watch %s: nothing was recorded under this "
		                "name", name);
	hop_status st = HOP_OK;
	if (prefix) {
		hop_buf b;
		hop_buf_open(&b, c->env);
		hop_putf(&b, "%s.trips", name);
		st = write_array(c, prefix, name, v);
		if (!st)
			st = write_array(c, prefix, b.s, trips);
		hop_buf_free(&b);
	} else {
		printf("%s: ", name);
		print_result(c, v);
	}
	hop_array_release(v);
	hop_array_release(trips);
	return st;
}

struct how {
	const char *device;            /* NULL = as the environment says */
	bool        interp;
};

/* Where there is no code generator, say so and interpret; not where a device was asked for. */
static hop_status compute(cmd *c, const hop_graph *g, const struct how *how, const int64_t *syms,
                          hop_array *const *in, hop_array **out)
{
	bool interp = how->interp || c->ip.nan == HOP_NAN_ANY;
	hop_compile_opts o = { .watch = c->ip.record != NULL };
	if (how->device)
		HOP_TRY(cmd_target_of(c, how->device, &o.target));
	hop_status st = interp ? HOP_OK : hop_exec_new(c->env, g, &o, &c->exec);
	if (st == HOP_ETARGET && !o.target) {
		fprintf(stderr, "hop: interpreting, slowly: %s\n", c->env->diag.text);
		hop_diag_clear(c->env);
		st = HOP_OK;
	}
	HOP_TRY(st);
	return c->exec ? hop_nan_exec(&c->ip, c->exec, syms, in, out)
	               : hop_interp_graph(&c->ip, g, syms, in, out);
}

static hop_status run(cmd *c, const hop_graph *g, const cmd_inputs *from,
                      const char *prefix, const struct how *how)
{
	hop_array **in, **out = HOP_NEWN(&c->env->tmp, hop_array *, g->nout);
	int64_t *syms;
	HOP_TRY(cmd_make_inputs(c, g, from, &in, &syms));
	HOP_TRY(compute(c, g, how, syms, in, out));
	for (uint32_t i = 0; i < g->nout; i++)
		HOP_TRY(give_result(c, prefix, i, out[i]));
	return HOP_OK;
}

static hop_status read_nan(cmd *c, const char *word)
{
	HOP_TRY(cmd_need(c, "--nan=", word));
	if (hop_nan_read(word, &c->ip.nan))
		return HOP_OK;
	return hop_fail(c->env, 0, HOP_EUSE, "run: --nan=%s: nan, inf or any is needed", word);
}

hop_status cmd_run(cmd *c)
{
	cmd_inputs from = { 0 };
	c->ip.nan = hop_ctx_nan(c->env->ctx);
	const char *prefix = NULL, *passes = NULL, *nan = NULL;
	const char **watch = HOP_NEWN(&c->env->tmp, const char *, c->argc);
	int nwatch = 0;
	struct how how = { 0 };
	hop_status st;
	while (cmd_more(c)) {
		if (cmd_flag(c, "--interp"))
			how.interp = true;
		else if (cmd_value(c, "--device", &how.device))
			HOP_TRY(cmd_need(c, "--device", how.device));
		else if (cmd_flag(c, "--progress"))
			hop_ctx_set_progress(c->env->ctx, (hop_progress_to){ .on = true });
		else if (cmd_input_option(c, &from, &st))
			HOP_TRY(st);
		else if (cmd_value(c, "--out", &prefix))
			HOP_TRY(cmd_need(c, "--out", prefix));
		else if (cmd_value(c, "-p", &passes))
			HOP_TRY(cmd_need(c, "-p", passes));
		else if (cmd_value(c, "--watch", &watch[nwatch]))
			HOP_TRY(cmd_need(c, "--watch", watch[nwatch++]));
		else if (cmd_flag(c, "--nan"))
			c->ip.nan = HOP_NAN_INF;
		else if (cmd_value(c, "--nan", &nan))
			HOP_TRY(read_nan(c, nan));
		else
			HOP_TRY(cmd_other(c));
	}
	if (how.interp && how.device && strcmp(how.device, "cpu"))
		return hop_fail(c->env, 0, HOP_EUSE, "run: --interp works in the memory of this process, not on "
		                "--device=%s", how.device);
	hop_graph *g;
	HOP_TRY(cmd_load(c));
	HOP_TRY(cmd_pick(c, &g));
	const hop_graph *now = g;
	if (passes)
		HOP_TRY(cmd_passes(c, passes, &now));
	if (nwatch) {
		HOP_TRY(hop_record_new(c->env->ctx, NULL, &c->record));
		c->ip.record = c->record;
	}
	HOP_TRY(run(c, now, &from, prefix, &how));
	for (int i = 0; i < nwatch; i++)
		HOP_TRY(give_watched(c, prefix, watch[i]));
	return HOP_OK;
}
