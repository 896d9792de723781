/* cost.c -- what compiling costs, by the work; what loading from the object cache costs. */
#include <stdio.h>

#include "cost.h"
#include "hop/compile.h"

/* The least of several compilations, in seconds by stage; the first of a process also loads
 * LLVM and is not counted. */
static hop_status least(hop_fn *f, bool no_cache, hop_compile_times *out)
{
	hop_compile_opts o = { .size = sizeof o, .threads = 1, .no_cache = no_cache };
	for (int i = 0; i < 20; i++) {
		hop_exec *x;
		hop_status st = hop_compile(f, &o, &x);
		if (st)
			return st;
		hop_compile_times t = hop_exec_times(x);
		if (i < 2 || t.opt + t.lower + t.code < out->opt + out->lower + out->code)
			*out = t;
		hop_exec_release(x);
	}
	return HOP_OK;
}

void bench_cost(hop_ctx *c, const char *name, hop_fn *f)
{
	hop_compile_times fresh, cached;
	if (least(f, true, &fresh) || least(f, false, &cached)) {
		printf("%-18s %s\n", name, hop_message(c));
		return;
	}
	printf("%-18s %9.2f %9.2f %9.2f %9.2f %9.2f%s\n", name, fresh.opt * 1e3,
	       fresh.lower * 1e3, fresh.code * 1e3,
	       (fresh.opt + fresh.lower + fresh.code) * 1e3,
	       (cached.opt + cached.lower + cached.code) * 1e3,
	       cached.from_cache ? "" : " (no cache)");
}
