/* judge_test.c -- every program of test/ad/, and the transforms of its transforms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hop/ctx.h"
#include "ir/text.h"
#include "support/judge.h"
#include "support/native_run.h"

#ifndef HOP_TEST_DIR
#define HOP_TEST_DIR "test"
#endif

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *read_all(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *s = malloc(1 << 20);
	assert_non_null(f);
	*n = fread(s, 1, 1 << 20, f);
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

static void judge_file(const char *path, const char *name, int *checks)
{
	hop_ctx *c;
	hop_env e;
	hop_frame f;
	hop_interp p;
	hop_module *m;
	size_t n;
	char *text = read_all(path, &n);
	text[n] = 0;
	assert_int_equal(hop_ctx_new(NULL, &c), HOP_OK);
	hop_env_init(&e, c, (hop_mem){ 0 });
	if (HOP_GUARD(&e, &f))
		fail_msg("%s: no memory", name);
	hop_interp_init(&p, &e);
	p.print = silent;
	if (hop_module_parse(&e, text, n, name, &m))
		fail_msg("%s", e.diag.text);
	judge j = { .p = &p, .seed = 1, .what = name, .verbose = getenv("VERBOSE") != NULL,
	            .other = native_run };
	for (uint32_t i = 0; i < m->n; i++)
		judge_graph(&j, m->entry[i].g, depth_of(text), "");
	*checks += j.checks;
	if (j.failures)
		print_error("%s: %d of %d checks failed\n", name, j.failures, j.checks);
	assert_int_equal(j.failures, 0);
	hop_module_free(m, &e.mem);
	hop_interp_fini(&p);
	hop_guard_end(&e, &f);
	hop_env_fini(&e);
	hop_ctx_free(c);
	free(text);
}

static void test_programs(void **state)
{
	char *name[256], path[512];
	int n = 0, checks = 0;
	const char *only = getenv("ONLY");
	DIR *d = opendir(HOP_TEST_DIR "/ad");
	(void)state;
	assert_non_null(d);
	for (struct dirent *x; (x = readdir(d)) && n < 256; )
		if (strstr(x->d_name, ".hop") && (!only || strstr(x->d_name, only)))
			name[n++] = strdup(x->d_name);
	closedir(d);
	qsort(name, (size_t)n, sizeof *name, by_name);
	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof path, "%s/ad/%s", HOP_TEST_DIR, name[i]);
		judge_file(path, name[i], &checks);
		free(name[i]);
	}
	print_message("%d programs, %d checks\n", n, checks);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_programs) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
