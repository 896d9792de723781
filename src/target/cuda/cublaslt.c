/* cublaslt.c -- open cuBLASLt, ask it once for its way to do a product, do it so. It stays loaded for
 * the life of the process. Does not choose which products are its: plan.c does. */
#include "target/cuda/cublaslt.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "ir/graph.h"

typedef struct hop_lt_way {                    /* cublasLtMatmulHeuristicResult_t */
	uint64_t algo[8];
	size_t   work;
	int      state;
	float    waves;
	int      zero[4];
} hop_lt_way;
_Static_assert(sizeof(hop_lt_way) == 96, "cublasLtMatmulHeuristicResult_t");

enum {                                         /* numbers of its interface */
	R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14,
	COMPUTE_32F = 68, COMPUTE_64F = 70,
	TURN_A = 3, TURN_B = 4,
	BATCH = 5, STEP = 6,
	WORK = 1, REDUCE = 3, ALIGN_A = 5, ALIGN_B = 6, ALIGN_C = 7, ALIGN_D = 8,
	IN_WORKSPACE = 2,                      /* parts of a sum are added in f32, in order */
	NOT_STARTED = 1, NOMEM = 3
};
enum { ROOM = 32 << 20 };                      /* bytes that a way may need, as the library advises */

static struct table {
#define HOP_LT(name, symbol, params) int (*name) params;
#include "target/cuda/cublaslt.def"
#undef HOP_LT
	size_t (*version)(void);
	const char *(*text)(int error);
} lt;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool     is_open;
static void    *handle;                        /* of generation `made` of the device */
static unsigned made;
static char     why[256];

/* ---- opening ---- */

static bool is_off(const char *own)
{
	return own && !strcmp(own, "0");
}

static void *open_lib(const char *own)
{
	static const char *const names[] = { "libcublasLt.so.13", "libcublasLt.so.12" };
	void *h = NULL;
	if (own && *own)
		return dlopen(own, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	for (size_t i = 0; !h && i < sizeof names / sizeof *names; i++)
		h = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	return h;
}

static bool find(void *h, const char *symbol, void **out)
{
	*out = dlsym(h, symbol);
	if (!*out)
		snprintf(why, sizeof why, "cuBLASLt has no function %s: it is too old", symbol);
	return *out != NULL;
}

static bool fill(const char *own)
{
	void *h = open_lib(own);
	if (!h) {
		const char *what = dlerror();
		snprintf(why, sizeof why, "there is no cuBLASLt: %s", what ? what : "it does not open");
		return false;
	}
#define HOP_LT(name, symbol, params) \
	if (!find(h, #symbol, (void **)&lt.name)) \
		return false;
#include "target/cuda/cublaslt.def"
#undef HOP_LT
	return find(h, "cublasLtGetVersion", (void **)&lt.version) &&
	       find(h, "cublasLtGetStatusString", (void **)&lt.text);
}

/* A device that broke took what the library had on it along. */
static bool start(const hop_cuda *d)
{
	int error = made == d->gen && handle ? 0 : lt.create(&handle);
	made = error ? 0 : d->gen;
	if (error)
		snprintf(why, sizeof why, "cuBLASLt does not start: %s", lt.text(error));
	return !error;
}

static const char *load(const hop_cuda *d)
{
	const char *own = getenv("HOP_CUBLASLT");
	if (is_off(own))
		return "cuBLASLt is not asked: HOP_CUBLASLT=0";
	hop_nofork_begin();
	pthread_mutex_lock(&lock);
	is_open = is_open || fill(own);
	bool ok = is_open && start(d);
	pthread_mutex_unlock(&lock);
	hop_nofork_end();
	return ok ? NULL : why;
}

double hop_lt_least(int32_t dtype_in)
{
	const char *own = getenv("HOP_CUBLASLT_LEAST");
	return own && *own ? atof(own) : hop_dtype_packed((hop_dtype)dtype_in) ? 0x1p28 : 0x1p31;
}

void hop_lt_about(hop_cuda *d, char *out, size_t n)
{
	bool entered = hop_cuda_enter(d);
	const char *missing = load(d);
	size_t v = missing ? 0 : lt.version(), major = v / (v < 100000 ? 1000 : 10000);
	if (missing)
		snprintf(out, n, "products: by templates; %s", missing);
	else
		snprintf(out, n, "products: large ones by cuBLASLt %zu (%zu), others by templates", major, v);
	hop_cuda_leave(d, entered);
}

const char *hop_lt_text(int error)
{
	return lt.text ? lt.text(-error) : "cuBLASLt is not open";
}

bool hop_lt_nomem(int error)
{
	return error == -NOMEM;
}

/* ---- asking ---- */

static int type_of(int32_t d)
{
	return d == HOP_f64 ? R_64F : d == HOP_f16 ? R_16F : d == HOP_bf16 ? R_16BF : R_32F;
}

static int layout(void **out, int32_t dtype, const hop_lt_operand *o, int64_t batch)
{
	int32_t n = (int32_t)batch;
	int error = lt.layout_new(out, type_of(dtype), (uint64_t)o->rows, (uint64_t)o->cols, o->lead);
	if (!error && batch > 1)
		error = lt.layout_set(*out, BATCH, &n, sizeof n);
	if (!error && batch > 1)
		error = lt.layout_set(*out, STEP, &o->step, sizeof o->step);
	return error;
}

/* f32 is multiplied as f32, packed floats are added in f32. */
static int describe(hop_lt *p)
{
	const hop_lt_shape *s = &p->shape;
	bool wide = s->dtype_in == HOP_f64;
	int error = lt.what_new(&p->what, wide ? COMPUTE_64F : COMPUTE_32F, wide ? R_64F : R_32F);
	if (!error)
		error = lt.what_set(p->what, TURN_A, &s->turn_l, sizeof s->turn_l);
	if (!error)
		error = lt.what_set(p->what, TURN_B, &s->turn_r, sizeof s->turn_r);
	if (!error)
		error = layout(&p->l, s->dtype_in, &s->l, s->batch);
	if (!error)
		error = layout(&p->r, s->dtype_in, &s->r, s->batch);
	return error ? error : layout(&p->d, s->dtype_out, &s->d, s->batch);
}

static int wish(void *w)
{
	static const int aligned[] = { ALIGN_A, ALIGN_B, ALIGN_C, ALIGN_D };
	uint64_t room = ROOM;
	uint32_t reduce = IN_WORKSPACE, align = HOP_LT_ALIGN;
	int error = lt.wish_set(w, WORK, &room, sizeof room);
	if (!error)
		error = lt.wish_set(w, REDUCE, &reduce, sizeof reduce);
	for (int i = 0; !error && i < 4; i++)
		error = lt.wish_set(w, aligned[i], &align, sizeof align);
	return error;
}

static int choose(hop_lt *p)
{
	hop_lt_way way;
	void *w = NULL;
	int n = 0, error = describe(p);
	memset(&way, 0, sizeof way);
	if (!error)
		error = lt.wish_new(&w);
	if (!error)
		error = wish(w);
	if (!error)
		error = lt.ways(handle, p->what, p->l, p->r, p->d, p->d, w, 1, &way, &n);
	if (w)
		lt.wish_free(w);
	p->can = !error && n > 0 && !way.state && way.work <= ROOM;
	p->work = way.work;
	memcpy(p->algo, way.algo, sizeof p->algo);
	return error;
}

const hop_lt *hop_lt_find(hop_cuda *d, const hop_mem *m, const hop_lt_shape *s, hop_lt **list)
{
	hop_lt *p = *list;
	while (p && memcmp(&p->shape, s, sizeof *s))
		p = p->next;
	if (!p) {
		if (load(d) || !(p = hop_raw_try(m, sizeof *p)))
			return NULL;
		memset(p, 0, sizeof *p);
		p->shape = *s;
		choose(p);
		p->next = *list;
		*list = p;
	}
	return p->can ? p : NULL;
}

void hop_lt_free(const hop_mem *m, hop_lt **list)
{
	for (hop_lt *p = *list, *next; p; p = next) {
		next = p->next;
		if (p->what)
			lt.what_free(p->what);
		void *of[] = { p->l, p->r, p->d };
		for (int i = 0; i < 3; i++)
			if (of[i])
				lt.layout_free(of[i]);
		hop_raw_free(m, p, sizeof *p);
	}
	*list = NULL;
}

/* ---- doing ---- */

static void *at(hop_cuptr p)
{
	return (void *)(uintptr_t)p;
}

int hop_lt_run(const hop_lt *p, hop_cuptr l, hop_cuptr r, hop_cuptr d, hop_cuptr work, void *stream)
{
	static const float  one = 1, zero = 0;
	static const double one_wide = 1, zero_wide = 0;
	bool wide = p->shape.dtype_in == HOP_f64, beta = p->shape.beta;
	const void *alpha = wide ? (const void *)&one_wide : &one;
	const void *keep = beta ? alpha : wide ? (const void *)&zero_wide : &zero;
	return -lt.matmul(handle, p->what, alpha, at(l), p->l, at(r), p->r, keep, at(d), p->d, at(d), p->d,
	                  p->algo, p->work ? at(work) : NULL, p->work, stream);
}
