/* native_run.c -- compile, run once, release. */
#include "support/native_run.h"

#include <stdlib.h>

#include "driver/compile.h"

hop_status native_run(hop_interp *p, const hop_graph *g, const int64_t *syms,
                      hop_array *const *in, hop_array **out)
{
	hop_compile_opts o = { .size = sizeof o, .no_cache = true,
	                       .threads = getenv("HOP_FORK") ? 2 : 1 };
	hop_exec *x;
	(void)syms;
	HOP_TRY(hop_exec_new(p->env, g, &o, &x));
	hop_status st = hop_exec_arrays(p, x, in, out);
	hop_exec_release(x);
	return st;
}
