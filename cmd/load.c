/* load.c -- options, the file and its graph: what every subcommand starts with.
 * Failures go up as statuses; main prints them. */
#include "cmd.h"

#include "driver/pipeline.h"
#include "io/file.h"

#include <stdio.h>
#include <string.h>

/* ---- options ---- */

bool cmd_more(const cmd *c)
{
	return c->next < c->argc;
}

bool cmd_flag(cmd *c, const char *name)
{
	if (strcmp(c->argv[c->next], name))
		return false;
	c->next++;
	return true;
}

bool cmd_value(cmd *c, const char *name, const char **out)
{
	const char *s = c->argv[c->next];
	size_t n = strlen(name);
	if (strncmp(s, name, n) || (s[n] && s[n] != '='))
		return false;
	c->next++;
	if (s[n])
		*out = s + n + 1;
	else
		*out = c->next < c->argc ? c->argv[c->next++] : NULL;
	return true;
}

hop_status cmd_need(cmd *c, const char *name, const char *value)
{
	if (value && *value)
		return HOP_OK;
	return hop_fail(c->env, 0, HOP_EUSE, "%s: %s needs a value", c->name, name);
}

/* Digits and nothing else: no blank, sign or point that strtoll would take. */
hop_status cmd_number(cmd *c, const char *name, const char *value, int64_t lo, int64_t hi,
                      int64_t *out)
{
	HOP_TRY(cmd_need(c, name, value));
	int64_t v = 0;
	bool ok = true;
	for (const char *s = value; ok && *s; s++)
		ok = *s >= '0' && *s <= '9' && !__builtin_mul_overflow(v, (int64_t)10, &v) &&
		     !__builtin_add_overflow(v, (int64_t)(*s - '0'), &v);
	if (!ok || v < lo || v > hi)
		return hop_fail(c->env, 0, HOP_EUSE, "%s: %s %s: a whole number from %lld to %lld is "
		                "needed", c->name, name, value, (long long)lo, (long long)hi);
	*out = v;
	return HOP_OK;
}

hop_status cmd_other(cmd *c)
{
	const char *g;
	if (cmd_value(c, "--graph", &g)) {
		HOP_TRY(cmd_need(c, "--graph", g));
		c->graph = *g == '@' ? g + 1 : g;
		return HOP_OK;
	}
	const char *s = c->argv[c->next++];
	if (!*s)
		return hop_fail(c->env, 0, HOP_EUSE, "%s: a file name is empty", c->name);
	if (*s == '-' && s[1])
		return hop_fail(c->env, 0, HOP_EUSE, "%s: no option %s: see hop %s --help", c->name,
		                s, c->name);
	if (c->file)
		return hop_fail(c->env, 0, HOP_EUSE, "%s: one file, not %s and %s", c->name, c->file,
		                s);
	c->file = s;
	return HOP_OK;
}

/* ---- the file ---- */

hop_status cmd_read(cmd *c, const char *path, size_t most, hop_buf *b)
{
	bool std = !strcmp(path, "-");
	if (std && c->used_stdin)
		return hop_fail(c->env, 0, HOP_EUSE, "%s: standard input is asked for twice: name "
		                "the other file", c->name);
	c->used_stdin |= std;
	return hop_file_read(c->env, path, most, b);
}

hop_status cmd_load(cmd *c)
{
	bool std = !c->file || !strcmp(c->file, "-");
	HOP_TRY(cmd_read(c, std ? "-" : c->file, CMD_TEXT_MAX, &c->text));
	HOP_TRY(hop_module_parse(c->env, c->text.n ? c->text.s : "", c->text.n,
	                         std ? "stdin" : c->file, &c->m));
	for (uint32_t i = 0; i < c->m->n; i++)
		HOP_TRY(hop_verify(c->env, c->m->entry[i].g));
	return HOP_OK;
}

hop_status cmd_pick(cmd *c, hop_graph **out_g)
{
	*out_g = hop_module_find(c->m, c->graph);
	if (*out_g)
		return HOP_OK;
	if (c->graph)
		return hop_fail(c->env, 0, HOP_EVALUE, "%s: the text has no graph @%s", c->name,
		                c->graph);
	return hop_fail(c->env, 0, HOP_EVALUE, "%s: the text has no graph", c->name);
}

/* ---- printing and passes ---- */

void cmd_print(cmd *c, uint32_t n, const hop_named *entry, int flags)
{
	hop_buf b;
	hop_buf_open(&b, c->env);
	hop_entries_print(&b, n, entry, flags);
	fwrite(b.s, 1, b.n, stdout);
	hop_buf_free(&b);
}

void cmd_print_picked(cmd *c, const hop_graph *g, int flags)
{
	hop_named one = { c->graph ? c->graph : c->m->entry[c->m->n - 1].name,
	                  (hop_graph *)(uintptr_t)g };
	cmd_print(c, 1, &one, flags);
}

hop_status cmd_passes(cmd *c, const char *names, const hop_graph **g)
{
	return hop_passes_run(c->env, c->name, names, *g, g);
}
