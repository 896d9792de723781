/* cache_rig.h -- a directory of its own for each test of the object cache, and a small
 * program to compile. */
#ifndef CACHE_RIG_H
#define CACHE_RIG_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "native_rig.h"
#include "target/cache.h"
#include "target/llvm/llvm.h"

/* A folder that nobody else knows, with the cache in "cache" below it. */
typedef struct site {
	char top[64], dir[96];
	rig  r;                          /* for its context */
} site;

static void remove_tree(const char *path)
{
	DIR           *d = opendir(path);
	struct dirent *e;
	struct stat    st;
	char           sub[512];

	while (d && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(sub, sizeof sub, "%s/%s", path, e->d_name);
		if (!lstat(sub, &st) && S_ISDIR(st.st_mode))
			remove_tree(sub);
		else
			unlink(sub);
	}
	if (d)
		closedir(d);
	rmdir(path);
}

/* out[i] = scale * in[i] */
static void build_scale(rig *r, double scale)
{
	hop_stmt *l;
	hop_reg   v;

	rig_up(r, 1, 1, 0);
	r->opts.no_cache = false;
	rig_param(r, 0, HOP_f32, K(8), false);
	rig_param(r, 1, HOP_f32, K(8), true);
	l = rig_loop(r, HOP_LOOP_SEQ, K(8));
	v = rig_load(r, HOP_f32, rig_at(0, 0, l->dst, K(1), 0));
	v = rig_op2(r, HOP_SOP_mul, HOP_f32, v, hop_l_constf(&r->b, HOP_f32, scale));
	rig_store(r, HOP_f32, rig_at(1, 0, l->dst, K(1), 0), v);
	rig_end(r);
}

/* Compile and run it; whether the code came from the cache. */
static inline bool use(double scale)
{
	float x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, y[8];
	bool  cached;
	rig   r;

	build_scale(&r, scale);
	rig_compile(&r);
	cached = hop_code_cached(r.code);
	assert_int_equal(rig_run(&r, (void *[]){ x, y }, NULL), 0);
	for (int i = 0; i < 8; i++)
		assert_true(y[i] == (float)scale * x[i]);
	rig_down(&r);
	return cached;
}

static int site_up(void **state)
{
	site *s = calloc(1, sizeof *s);

	assert_non_null(s);
	strcpy(s->top, "/tmp/hop-test-XXXXXX");
	assert_non_null(mkdtemp(s->top));
	snprintf(s->dir, sizeof s->dir, "%s/cache", s->top);
	setenv("HOP_CACHE_DIR", s->dir, 1);
	unsetenv("HOP_CACHE");
	unsetenv("HOP_CACHE_MAX");
	unsetenv("HOP_LLVM");
	build_scale(&s->r, 1);
	*state = s;
	return 0;
}

static int site_down(void **state)
{
	site *s = *state;

	rig_down(&s->r);
	remove_tree(s->top);
	unsetenv("HOP_CACHE_DIR");
	unsetenv("HOP_CACHE_MAX");
	unsetenv("HOP_LLVM");
	free(s);
	return 0;
}

#define site_test(f) cmocka_unit_test_setup_teardown(f, site_up, site_down)

#endif
