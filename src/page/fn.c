/* fn.c -- a page of functions: each a stage, and then what a compilation makes of the last one. */
#include "page/page.h"

#include "data/fn.h"
#include "driver/pipeline.h"
#include "io/file.h"

static hop_status write(hop_env *e, int n, hop_fn *const *f, const char *path)
{
	hop_stage stage[HOP_STAGES];
	int k = 0;
	for (int i = 0; i < n; i++) {
		hop_buf name;
		hop_buf_open(&name, e);
		hop_putf(&name, i ? "function %d" : "captured", i + 1);
		stage[k++] = (hop_stage){ hop_arena_str(&e->tmp, name.s, name.n),
		                          i ? "a function made of the one before" : "as it was captured",
		                          f[i]->g };
		hop_buf_free(&name);
	}
	HOP_TRY(hop_page_stages(e, f[n - 1]->g, stage, &k));
	hop_page p = { .title = path, .name = f[0]->g->name ? f[0]->g->name : "main", .nstage = k,
		       .stage = stage };
	hop_buf b;
	hop_buf_open(&b, e);
	hop_page_print(&b, &p);
	hop_status st = hop_file_write(e, path, b.s, b.n);
	hop_buf_free(&b);
	return st;
}

hop_status hop_fn_page(int n, hop_fn *const *f, const char *path)
{
	hop_env e;
	hop_frame fr;
	hop_status st = HOP_OK;
	if (!f || n < 1 || !f[0])
		return HOP_EUSE;
	hop_ctx *c = f[0]->ctx;
	hop_env_init(&e, c, hop_ctx_mem(c));
	if (HOP_GUARD(&e, &fr)) {
		st = hop_guard_nomem(&e, &fr);
	} else {
		if (!path || !*path)
			st = hop_fail(&e, 0, HOP_EUSE, "fn_page: the path of the page is missing");
		if (!st && n > HOP_STAGES / 2)
			st = hop_fail(&e, 0, HOP_EUSE, "fn_page: %d functions: at most %d", n, HOP_STAGES / 2);
		for (int i = 1; i < n && !st; i++)
			if (!f[i] || f[i]->ctx != c)
				st = hop_fail(&e, 0, HOP_EUSE, "fn_page: function %d is %s", i,
				              f[i] ? "of another context" : "missing");
		if (!st)
			st = write(&e, n, f, path);
		hop_guard_end(&e, &fr);
	}
	if (st)
		hop_ctx_set_message(c, &e.diag);
	hop_env_fini(&e);
	return st;
}
