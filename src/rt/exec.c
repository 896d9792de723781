/* exec.c -- compiled graphs as objects: their threads, what is bound to them, and letting them go.
 * Making their code is the driver's, running it is run.c. */
#include "data/engine.h"
#include "loop/parts.h"
#include "rt/once.h"

#include <string.h>

static void *make_pool(const hop_mem *m, int threads)
{
	return hop_pool_new(m, threads);
}

static void drop_pool(void *p)
{
	hop_pool_free(p);
}

hop_exec *hop_exec_open(hop_env *e, const hop_graph *g)
{
	hop_exec *x = hop_raw_new(e, sizeof *x);
	memset(x, 0, sizeof *x);
	atomic_init(&x->refs, 1);
	x->ctx = e->ctx;
	x->mem = e->mem;
	x->nthread = 1;
	x->g = hop_graph_retain((hop_graph *)(uintptr_t)g);
	return x;
}

hop_status hop_exec_threads(hop_env *e, hop_exec *x, const hop_compile_opts *o)
{
	if (o->parallel) {
		x->parallel = o->parallel;
		x->parallel_user = o->parallel_user;
		x->nthread = 2;
	} else if (o->threads != 1) {
		x->pool = hop_ctx_shared(e->ctx, make_pool, drop_pool);
		if (!x->pool)
			return hop_fail(e, 0, HOP_ENOMEM, "compile: no memory for threads");
		x->nthread = hop_pool_threads(x->pool);
	}
	return HOP_OK;
}

hop_status hop_exec_bind(hop_env *e, hop_exec *x, int n, hop_array *const *array, int nkept)
{
	size_t bytes = sizeof(hop_arg) * (size_t)(n + nkept);
	hop_arg *arg = hop_raw_try(&x->mem, bytes);
	if (!arg)
		return hop_fail(e, 0, HOP_ENOMEM, "compile: no memory");
	memset(arg, 0, bytes);
	for (int i = 0; i < n; i++)
		arg[i] = hop_array_arg(array[i]);
	x->bound = array;
	x->nbound = n;
	x->nhidden = n + nkept;
	x->hidden = arg;
	return HOP_OK;
}

hop_exec *hop_exec_retain(hop_exec *x)
{
	if (x)
		atomic_fetch_add(&x->refs, 1);
	return x;
}

void hop_exec_release(hop_exec *x)
{
	if (!x || atomic_fetch_sub(&x->refs, 1) != 1)
		return;
	hop_mem m = x->mem;
	hop_spare_drop(x);
	hop_once_free(x->once);
	if (x->drop)
		x->drop(x->drop_user);
	hop_code_release(x->code);
	hop_taken_free(x->taken);
	if (x->prog)
		hop_prog_free(x->prog, &m);
	hop_raw_free(&m, (hop_arg *)(uintptr_t)x->hidden, sizeof(hop_arg) * (size_t)x->nhidden);
	hop_graph_release(x->g);
	hop_graph_release(x->own);
	hop_raw_free(&m, x, sizeof *x);
}

hop_compile_times hop_exec_times(const hop_exec *x)
{
	return x ? x->times : (hop_compile_times){ 0 };
}

int hop_exec_parts(const hop_exec *x, int cap, hop_exec_part *out)
{
	int n = x ? x->prog->nfunc : 0, *count;
	if (!n || cap <= 0 || !out)
		return n;
	count = hop_raw_try(&x->mem, 2 * (size_t)n * sizeof *count);
	if (!count)
		return 0;
	hop_prog_parts(x->prog, count, count + n);
	for (int i = 0; i < n && i < cap; i++)
		out[i] = (hop_exec_part){ .name = x->prog->func[i].name, .calls = count[n + i],
		                          .nests = count[i], .seconds = x->prog->func[i].seconds };
	hop_raw_free(&x->mem, count, 2 * (size_t)n * sizeof *count);
	return n;
}

int hop_exec_counts(const hop_exec *x)
{
	return x && x->own ? (int)(x->g->nout - x->own->nout) : 0;
}

bool hop_exec_is_hard(const hop_exec *x)
{
	return x && x->prog->ntape == 0;
}
