/* library.c -- functions of libraries that may be there, for compiled code that asks before it
 * does the same by itself. LAPACK is opened at run time and stays open. Computes nothing, and
 * decides for no size that compiled code could not do. */
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "loop/walk.h"
#include "rt/exec.h"

enum { LEAST = 128 };            /* rows of a matrix from which a library is faster */

/* As Fortran passes them: all by address, the length of a text last. */
typedef void getrf_fn(const int *m, const int *n, void *a, const int *lda, int *ipiv, int *info);
typedef void getrs_fn(const char *trans, const int *n, const int *nrhs, const void *a,
                      const int *lda, const int *ipiv, void *b, const int *ldb, int *info,
                      size_t ntrans);

/* The process has one, as it has one libLLVM: see target/llvm/llvm.c. Written once. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct { getrf_fn *getrf[2]; getrs_fn *getrs[2]; } lapack;      /* f32, f64 */
static atomic_bool missing;          /* and nobody has said so yet */

static const char *const names[] = {
	"liblapack.so.3", "libopenblas.so.0", "libflexiblas.so.3", "libmkl_rt.so.2", "liblapack.so",
	"libopenblas.so",
};

static void *open_lapack(const char *own)
{
	void *h = own ? dlopen(own, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE) : NULL;
	for (size_t i = 0; !own && !h && i < sizeof names / sizeof *names; i++)
		h = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
	return h;
}

static bool find_lapack(void *h)
{
	static const char *const trf[] = { "sgetrf_", "dgetrf_" }, *const trs[] = { "sgetrs_", "dgetrs_" };
	bool ok = h;
	for (int i = 0; ok && i < 2; i++) {
		*(void **)&lapack.getrf[i] = dlsym(h, trf[i]);
		*(void **)&lapack.getrs[i] = dlsym(h, trs[i]);
		ok = lapack.getrf[i] && lapack.getrs[i];
	}
	if (!ok)
		memset(&lapack, 0, sizeof lapack);
	return ok;
}

static void load(void)
{
	const char *own = getenv("HOP_LAPACK");
	if (!own || strcmp(own, "0"))
		atomic_store(&missing, !find_lapack(open_lapack(own)));
}

/* Said when it is missed, once. */
static void say(void)
{
	const char *own = getenv("HOP_LAPACK");
	if (!atomic_exchange(&missing, false))
		return;
	if (own)
		fprintf(stderr, "hop: HOP_LAPACK: no LAPACK in %s: solving without, slowly\n", own);
	else
		fprintf(stderr, "hop: LAPACK not found: solving without, slowly: install liblapack3, or "
		        "set HOP_LAPACK\n");
}

/* ---- opening ---- */

/* Sizes that are not known may be large. */
static bool worth(const hop_tile *t)
{
	return t->of->library == HOP_LIBRARY_SOLVE &&
	       (!hop_size_const(t->extent[1]) || t->extent[1].k >= LEAST);
}

static bool asks(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks((hop_stmt *)s, sub);
		if (s->kind == HOP_L_TILE && worth(s->tile))
			return true;
		for (int i = 0; i < k; i++)
			if (asks(sub[i]))
				return true;
	}
	return false;
}

void hop_library_open(const hop_prog *p)
{
	bool any = false;
	for (int i = 0; i < p->nfunc && !any; i++)
		any = asks(&p->func[i].body);
	if (!any)
		return;
	hop_nofork_begin();
	pthread_once(&once, load);
	hop_nofork_end();
}

/* ---- solve ---- */

static bool has_nan(hop_dtype d, const void *a, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (d == HOP_f32 ? isnan(((const float *)a)[i]) : isnan(((const double *)a)[i]))
			return true;
	return false;
}

static void all_nan(hop_dtype d, void *x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (d == HOP_f32)
			((float *)x)[i] = NAN;
		else
			((double *)x)[i] = NAN;
}

/* By the template's rules: a matrix without inverse, or with a NaN, gives nothing but NaN. */
static void solve_one(hop_dtype d, void *a, void *x, int *ipiv, int n, int m)
{
	int which = d == HOP_f64, info = 0;
	lapack.getrf[which](&n, &n, a, &n, ipiv, &info);
	if (info || has_nan(d, a, (int64_t)n * n))
		all_nan(d, x, (int64_t)n * m);
	else
		lapack.getrs[which]("N", &n, &m, a, &n, ipiv, x, &n, &info, 1);
}

static int solve(hop_dtype d, void *const *args, const int64_t *extent)
{
	int64_t batch = extent[0], n = extent[1], m = extent[2];
	size_t size = hop_dtype_bytes(d);
	if (n < LEAST || n > INT_MAX || m < 1 || m > INT_MAX)
		return 0;
	if (!lapack.getrf[0]) {
		say();
		return 0;
	}
	for (int64_t i = 0; i < batch; i++)
		solve_one(d, (char *)args[0] + (size_t)(i * n * n) * size,
		          (char *)args[2] + (size_t)(i * n * m) * size, args[1], (int)n, (int)m);
	return 1;
}

int hop_library_run(hop_rt *rt, int id, int dtype, void *const *args, const int64_t *extent)
{
	(void)rt;
	return id == HOP_LIBRARY_SOLVE ? solve((hop_dtype)dtype, args, extent) : 0;
}
