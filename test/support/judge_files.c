/* judge_files.c -- the programs of a folder, judged one after another. */
#include "support/judge_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hop/ctx.h"
#include "support/host_fns.h"
#include "support/native_run.h"
#include "support/retype.h"

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char *judge_read(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *s = malloc(1 << 20);
	HOP_ASSERT(f && s);
	*n = fread(s, 1, (1 << 20) - 1, f);
	s[*n] = 0;
	fclose(f);
	return s;
}

/* A program may ask for less depth in its first lines: "# depth: 1". */
static int depth_of(const char *s)
{
	const char *d = strstr(s, "# depth: ");
	return d ? atoi(d + 9) : 2;
}

/* Effects are kept by transforms; what they say is of no interest here. */
static int silent(void *user, const char *line)
{
	(void)user;
	(void)line;
	return 0;
}

static void judge_graphs(const char *text, size_t n, const char *name, hop_dtype d, int depth,
                         bool last, judge_total *all)
{
	hop_ctx *c;
	hop_env e;
	hop_frame f;
	hop_interp p;
	hop_module *m;
	HOP_ASSERT(!hop_ctx_new(NULL, &c) && !host_fns_add(c));
	hop_env_init(&e, c, (hop_mem){ 0 });
	if (HOP_GUARD(&e, &f))
		hop_bug(__FILE__, __LINE__, "no memory");
	hop_interp_init(&p, &e);
	p.print = silent;
	judge j = { .p = &p, .seed = 1, .what = name, .verbose = getenv("VERBOSE") != NULL,
	            .other = native_run };
	if (retype_text(&e, text, n, name, HOP_f64, d, &m)) {
		fprintf(stderr, "%s\n", e.diag.text);
		all->failures++;
	} else {
		for (uint32_t i = last ? m->n - 1 : 0; i < m->n; i++)
			judge_graph(&j, m->entry[i].g, depth, "");
		hop_module_free(m, &e.mem);
	}
	if (j.failures)
		fprintf(stderr, "%s: %d of %d checks failed\n", name, j.failures, j.checks);
	all->programs++;
	all->checks += j.checks;
	all->failures += j.failures;
	all->astray += j.astray;
	hop_interp_fini(&p);
	hop_guard_end(&e, &f);
	hop_env_fini(&e);
	hop_ctx_free(c);
}

void judge_text(const char *text, const char *name, int depth, judge_total *all)
{
	judge_graphs(text, strlen(text), name, HOP_f64, depth, true, all);
}

void judge_files(const char *folder, hop_dtype d, int most, int part, int parts,
                 judge_total *all)
{
	char *name[256], path[512];
	int n = 0;
	const char *only = getenv("ONLY");
	DIR *dir = opendir(folder);
	HOP_ASSERT(dir);
	for (struct dirent *x; (x = readdir(dir)) && n < 256; )
		if (strstr(x->d_name, ".hop") && (!only || strstr(x->d_name, only)))
			name[n++] = strdup(x->d_name);
	closedir(dir);
	qsort(name, (size_t)n, sizeof *name, by_name);
	for (int i = 0; i < n; i++) {
		size_t size;
		snprintf(path, sizeof path, "%s/%s", folder, name[i]);
		char *text = judge_read(path, &size);
		int depth = depth_of(text);
		snprintf(path, sizeof path, "%s in %s", name[i], hop_dtype_name(d));
		if (i % parts == part)
			judge_graphs(text, size, path, d, depth < most ? depth : most, false, all);
		free(text);
		free(name[i]);
	}
}
