/* write.c -- the public door: functions of C programs, ahead of time. */
#include "aot/aot.h"

#include "data/fn.h"

static hop_status take(hop_env *e, hop_ctx *c, int n, hop_fn *const *f, const char *const *name,
                       hop_aot_want *want)
{
	for (int i = 0; i < n; i++) {
		if (!f[i] || !name[i] || !*name[i] || f[i]->ctx != c)
			return hop_fail(e, 0, HOP_EUSE, "build: function %d is missing, has no name or is of "
			                "another context", i);
		if (f[i]->nhidden)
			return hop_fail(e, 0, HOP_EREFUSED, "build: %s captured %d arrays: make them parameters",
			                name[i], f[i]->nhidden);
		want[i] = (hop_aot_want){ .name = name[i], .g = f[i]->g };
	}
	return HOP_OK;
}

static hop_status write_fns(hop_env *e, hop_ctx *c, int n, hop_fn *const *f,
                            const char *const *name, const char *path, const hop_aot_opts *o)
{
	hop_aot_want *want = HOP_NEWN(&e->tmp, hop_aot_want, n);
	HOP_TRY(take(e, c, n, f, name, want));
	return hop_aot_files(e, n, want, path, o);
}

hop_status hop_aot_write(hop_ctx *c, int n, hop_fn *const *f, const char *const *name,
                         const char *path, const hop_aot_opts *opts)
{
	hop_env e;
	hop_frame fr;
	hop_aot_opts o;
	hop_status st;
	if (!c || n < 0 || (n && (!f || !name)) || !path)
		return HOP_EUSE;
	HOP_TRY(hop_opts_read(c, "build", opts, &o, sizeof o));
	hop_env_init(&e, c, hop_ctx_mem(c));
	if (HOP_GUARD(&e, &fr)) {
		st = hop_guard_nomem(&e, &fr);
	} else {
		st = write_fns(&e, c, n, f, name, path, &o);
		hop_guard_end(&e, &fr);
	}
	if (st)
		hop_ctx_set_message(c, &e.diag);
	hop_env_fini(&e);
	return st;
}
