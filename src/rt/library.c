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
typedef void potrf_fn(const char *uplo, const int *n, void *a, const int *lda, int *info,
                      size_t nuplo);
typedef void trtrs_fn(const char *uplo, const char *trans, const char *diag, const int *n,
                      const int *nrhs, const void *a, const int *lda, void *b, const int *ldb,
                      int *info, size_t nuplo, size_t ntrans, size_t ndiag);

/* The process has one, as it has one libLLVM: see target/llvm/llvm.c. Written once. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct {                     /* f32, f64 */
	getrf_fn *getrf[2];
	getrs_fn *getrs[2];
	potrf_fn *potrf[2];
	trtrs_fn *trtrs[2];
} lapack;
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

/* All of them or none. */
static bool find_lapack(void *h)
{
	static const struct { const char *name[2]; void *at; } want[] = {
		{ { "sgetrf_", "dgetrf_" }, lapack.getrf }, { { "sgetrs_", "dgetrs_" }, lapack.getrs },
		{ { "spotrf_", "dpotrf_" }, lapack.potrf }, { { "strtrs_", "dtrtrs_" }, lapack.trtrs },
	};
	bool ok = h;
	for (size_t i = 0; ok && i < 2 * sizeof want / sizeof *want; i++) {
		void *f = dlsym(h, want[i / 2].name[i % 2]);
		memcpy((char *)want[i / 2].at + i % 2 * sizeof f, &f, sizeof f);
		ok = f;
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
	return t->of->library != HOP_LIBRARY_NONE &&
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

/* ---- doing it ---- */

/* A batch of problems: n rows, m right sides, by the rules of the templates. */
typedef struct problem {
	int    id, n, m;
	int    which;                /* f32, f64 */
	char  *a, *x;
	int   *p;
} problem;

static double at(const problem *q, const char *v, int64_t i)
{
	return q->which ? ((const double *)v)[i] : (double)((const float *)v)[i];
}

static void put_nan(const problem *q, char *v, int64_t from, int64_t to)
{
	for (int64_t i = from; i < to; i++)
		if (q->which)
			((double *)v)[i] = NAN;
		else
			((float *)v)[i] = NAN;
}

static bool has_nan(const problem *q, const char *v, int64_t n, int64_t step)
{
	for (int64_t i = 0; i < n; i++)
		if (isnan(at(q, v, i * step)))
			return true;
	return false;
}

/* A matrix without inverse, or with a NaN, gives nothing but NaN. */
static void solve(const problem *q)
{
	int info = 0;
	lapack.getrf[q->which](&q->n, &q->n, q->a, &q->n, q->p, &info);
	if (info || has_nan(q, q->a, (int64_t)q->n * q->n, 1))
		put_nan(q, q->x, 0, (int64_t)q->n * q->m);
	else
		lapack.getrs[q->which]("N", &q->n, &q->m, q->a, &q->n, q->p, q->x, &q->n, &info, 1);
}

static bool is_unit(int id)
{
	return id == HOP_LIBRARY_UNIT_LOWER || id == HOP_LIBRARY_UNIT_UPPER;
}

static bool is_upper(int id)
{
	return id == HOP_LIBRARY_UPPER || id == HOP_LIBRARY_UNIT_UPPER;
}

/* With an infinity or a NaN in the triangle libraries differ: some do not multiply with zeros. */
static bool finite_triangle(const problem *q)
{
	for (int64_t j = 0; j < q->n; j++) {
		int64_t to = is_upper(q->id) ? j + 1 : q->n;
		for (int64_t i = is_upper(q->id) ? 0 : j; i < to; i++)
			if (!isfinite(at(q, q->a, j * q->n + i)) && !(i == j && is_unit(q->id)))
				return false;
	}
	return true;
}

static void triangle(const problem *q)
{
	int info = 0;
	lapack.trtrs[q->which](is_upper(q->id) ? "U" : "L", "N", is_unit(q->id) ? "U" : "N", &q->n,
	                       &q->m, q->a, &q->n, q->x, &q->n, &info, 1, 1, 1);
	if (info)
		put_nan(q, q->x, 0, (int64_t)q->n * q->m);
}

/* The rows of a lower triangle are the columns of an upper one. */
static void cholesky(const problem *q)
{
	int64_t last = (int64_t)q->n * q->n - 1;
	int info = 0;
	lapack.potrf[q->which]("U", &q->n, q->a, &q->n, &info, 1);
	if (info || has_nan(q, q->a, q->n, q->n + 1))
		put_nan(q, q->a, last, last + 1);
}

static problem of_batch(const problem *q, int64_t i)
{
	int64_t size = q->which ? 8 : 4, n = q->n;
	problem p = *q;
	p.a += i * n * n * size;
	if (p.x)
		p.x += i * n * q->m * size;
	return p;
}

/* False: the loops must do it. Asked before anything is overwritten. */
static bool takes(const problem *q, int64_t batch)
{
	bool all = q->id == HOP_LIBRARY_SOLVE || q->id == HOP_LIBRARY_CHOLESKY;
	for (int64_t i = 0; i < batch && !all; i++) {
		problem p = of_batch(q, i);
		if (!finite_triangle(&p))
			return false;
	}
	return true;
}

int hop_library_run(hop_rt *rt, int id, int dtype, void *const *args, const int64_t *extent)
{
	bool alone = id == HOP_LIBRARY_CHOLESKY;
	int64_t batch = extent[0], n = extent[1], m = alone ? 1 : extent[2];
	(void)rt;
	if (n < LEAST || n > INT_MAX || m < 1 || m > INT_MAX)
		return 0;
	if (!lapack.getrf[0]) {
		say();
		return 0;
	}
	problem q = { .id = id, .n = (int)n, .m = (int)m, .which = dtype == HOP_f64, .a = args[0],
	              .x = alone ? NULL : args[1], .p = id == HOP_LIBRARY_SOLVE ? args[2] : NULL };
	if (!takes(&q, batch))
		return 0;
	for (int64_t i = 0; i < batch; i++) {
		problem p = of_batch(&q, i);
		(id == HOP_LIBRARY_SOLVE ? solve : alone ? cholesky : triangle)(&p);
	}
	return 1;
}
