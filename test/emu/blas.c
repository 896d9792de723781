/* blas.c -- the functions of cuBLASLt that the CUDA target calls, by plain loops, when the stream comes
 * to them. Looks at all it is told: layouts, alignment, that the way is the one that it gave for this
 * shape, that operands and workspace are memory of the device.
 *
 * HOP_EMU_CUBLASLT, read at every call, makes it fail: `start` it does not start, `nothing` it knows no
 * way, `run` a product fails, `capture` only one that is captured, `room` a way needs 31 MiB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cu.h"
#include "emu/device.h"

enum { OK, NOT_INITIALIZED = 1, ALLOC_FAILED = 3, INVALID_VALUE = 7, EXECUTION_FAILED = 13,
       NOT_SUPPORTED = 15 };
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14, COMPUTE_32F = 68, COMPUTE_64F = 70 };

typedef struct desc { int compute, scale, turn[2]; } desc;
typedef struct layout {
	int      type;
	uint64_t rows, cols;
	int64_t  lead, step;
	int32_t  batch;
} layout;
typedef struct wish { uint64_t room; uint32_t reduce, align[4]; } wish;
typedef struct way { uint64_t algo[8]; size_t work; int state; float waves; int zero[4]; } way;

/* A product on its way. */
typedef struct product {
	desc   of;
	layout l[4];                   /* A, B, C, D */
	char  *p[4], *work;
	size_t room;
	double alpha, beta;
} product;

static int handle;
static int told[2];                    /* products: to a stream, to a graph */

static bool asked(const char *what)
{
	const char *s = getenv("HOP_EMU_CUBLASLT");
	return s && !strcmp(s, what);
}

/* ---- descriptions ---- */

int cublasLtCreate(void **out)
{
	*out = &handle;
	return asked("start") ? NOT_INITIALIZED : OK;
}
size_t cublasLtGetVersion(void)
{
	return 130000;
}
const char *cublasLtGetStatusString(int status)
{
	switch (status) {
	case NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
	case ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
	case INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
	case EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
	case NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
	default: return "CUBLAS_STATUS_UNKNOWN";
	}
}
static int make(void **out, const void *what, size_t n)
{
	*out = malloc(n);
	if (*out)
		memcpy(*out, what, n);
	return *out ? OK : ALLOC_FAILED;
}
static int drop(void *p)
{
	free(p);
	return OK;
}
static int set(void *to, size_t want, const void *from, size_t n)
{
	if (n != want)
		return INVALID_VALUE;
	memcpy(to, from, n);
	return OK;
}
int cublasLtMatmulDescCreate(void **out, int compute, int scale)
{
	desc d = { compute, scale, { 0, 0 } };
	return make(out, &d, sizeof d);
}
int cublasLtMatmulDescSetAttribute(void *what, int attribute, const void *v, size_t n)
{
	desc *d = what;
	return attribute == 3 || attribute == 4 ? set(&d->turn[attribute - 3], sizeof(int), v, n)
	                                        : INVALID_VALUE;
}
int cublasLtMatmulDescDestroy(void *what)
{
	return drop(what);
}
int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t cols, int64_t lead)
{
	layout l;
	memset(&l, 0, sizeof l);
	l = (layout){ type, rows, cols, lead, 0, 1 };
	return rows && cols && lead >= (int64_t)rows ? make(out, &l, sizeof l) : INVALID_VALUE;
}
int cublasLtMatrixLayoutSetAttribute(void *of, int attribute, const void *v, size_t n)
{
	layout *l = of;
	return attribute == 5 ? set(&l->batch, sizeof l->batch, v, n)
	     : attribute == 6 ? set(&l->step, sizeof l->step, v, n) : INVALID_VALUE;
}
int cublasLtMatrixLayoutDestroy(void *of)
{
	return drop(of);
}
int cublasLtMatmulPreferenceCreate(void **out)
{
	wish w = { 0, 7, { 256, 256, 256, 256 } };
	return make(out, &w, sizeof w);
}
int cublasLtMatmulPreferenceSetAttribute(void *of, int attribute, const void *v, size_t n)
{
	wish *w = of;
	if (attribute == 1)
		return set(&w->room, sizeof w->room, v, n);
	if (attribute == 3)
		return set(&w->reduce, sizeof w->reduce, v, n);
	return attribute >= 5 && attribute <= 8 ? set(&w->align[attribute - 5], sizeof(uint32_t), v, n)
	                                        : INVALID_VALUE;
}
int cublasLtMatmulPreferenceDestroy(void *wish)
{
	return drop(wish);
}

/* ---- ways ---- */

static size_t width(int type)
{
	return type == R_64F ? 8 : type == R_32F ? 4 : 2;
}
/* m, n, k; false: sizes or dtypes do not go together. */
static bool fits(const desc *d, const layout *a, const layout *b, const layout *c, uint64_t z[3])
{
	bool wide = d->compute == COMPUTE_64F, packed = a->type == R_16F || a->type == R_16BF;

	z[0] = d->turn[0] ? a->cols : a->rows;
	z[1] = d->turn[1] ? b->rows : b->cols;
	z[2] = d->turn[0] ? a->rows : a->cols;
	return (wide || d->compute == COMPUTE_32F) && d->scale == (wide ? R_64F : R_32F) &&
	       a->type == b->type && (a->type == R_64F) == wide && (a->type == R_32F || wide || packed) &&
	       (c->type == a->type || (packed && c->type == R_32F)) &&
	       z[2] == (d->turn[1] ? b->cols : b->rows) && c->rows == z[0] && c->cols == z[1] &&
	       a->batch == b->batch && a->batch == c->batch;
}
/* A number for the shape: what a way is known by. */
static uint64_t number(const desc *d, const layout *a, const layout *b, const layout *c)
{
	uint64_t v[] = { (uint64_t)d->turn[0], (uint64_t)d->turn[1], a->rows, a->cols, (uint64_t)a->lead,
		         (uint64_t)b->lead, (uint64_t)c->lead, c->rows, c->cols, (uint64_t)c->batch,
		         (uint64_t)a->type, (uint64_t)c->type }, h = 1;
	for (size_t i = 0; i < sizeof v / sizeof *v; i++)
		h = (h ^ v[i]) * 0x9e3779b97f4a7c15u;
	return h;
}
static size_t need(const layout *c)
{
	return asked("room") ? (size_t)31 << 20 : c->cols % 2 ? 0 : 4096;
}
int cublasLtMatmulAlgoGetHeuristic(void *of, void *what, void *a, void *b, void *c, void *d,
                                   void *prefer, int most, way *out, int *out_n)
{
	const wish *w = prefer;
	uint64_t z[3];

	*out_n = 0;
	if (of != &handle || most < 1 || !fits(what, a, b, d, z) || memcmp(c, d, sizeof(layout)))
		return INVALID_VALUE;
	if (asked("nothing") || w->room < need(d))
		return NOT_SUPPORTED;
	for (int i = 0; i < 4; i++)
		if (w->reduce & ~2u || w->align[i] > 16) {
			fprintf(stderr, "emu: cublasLt: not the same bits, or lucky addresses are asked for\n");
			return INVALID_VALUE;
		}
	memset(out, 0, sizeof *out);
	out->algo[0] = number(what, a, b, d);
	out->work = need(d);
	*out_n = 1;
	return OK;
}

/* ---- numbers ---- */

static float of_bits(uint32_t u)
{
	float f;
	memcpy(&f, &u, sizeof f);
	return f;
}
static float half(uint16_t h)
{
	uint32_t e = h >> 10 & 31, m = h & 1023, s = (uint32_t)(h & 0x8000) << 16;
	if (!e)
		return of_bits(s | 0x33800000) * (float)m;         /* 2^-24 */
	return of_bits(s | (e == 31 ? 0xff : e + 112) << 23 | m << 13);
}
static double get(const char *p, int type, int64_t i)
{
	uint16_t h;
	if (type == R_64F)
		return ((const double *)(const void *)p)[i];
	if (type == R_32F)
		return ((const float *)(const void *)p)[i];
	memcpy(&h, p + 2 * i, 2);
	return type == R_16BF ? of_bits((uint32_t)h << 16) : half(h);
}
static uint16_t to_bf16(float f)
{
	uint32_t u;
	memcpy(&u, &f, sizeof u);
	return f != f ? (uint16_t)(u >> 16 | 64) : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
/* The nearest of those around it; of two the even. */
static uint16_t to_half(float f)
{
	uint32_t u;
	memcpy(&u, &f, sizeof u);
	uint16_t s = u >> 16 & 0x8000;
	float x = of_bits(u & 0x7fffffff);
	if (f != f)
		return s | 0x7e00;
	if (x >= 65520)
		return s | 0x7c00;
	uint16_t low = 0, high = 0x7bff;                           /* the last that is not above */
	while (low < high) {
		uint16_t mid = (uint16_t)((low + high + 1) / 2);
		if (half(mid) <= x)
			low = mid;
		else
			high = mid - 1;
	}
	float down = x - half(low), up = low == 0x7bff ? 65536 - x : half(low + 1) - x;
	return s | (uint16_t)(low + (up < down || (up == down && low & 1)));
}
static void put(char *p, int type, int64_t i, double v)
{
	if (type == R_64F) {
		((double *)(void *)p)[i] = v;
	} else if (type == R_32F) {
		((float *)(void *)p)[i] = (float)v;
	} else {
		uint16_t h = type == R_16BF ? to_bf16((float)v) : to_half((float)v);
		memcpy(p + 2 * i, &h, 2);
	}
}

/* ---- products ---- */

static bool is_there(const char *p, const layout *l)
{
	int64_t last = (l->batch - 1) * l->step + ((int64_t)l->cols - 1) * l->lead + (int64_t)l->rows;
	return emu_is_device(p, (size_t)last * width(l->type));
}
static void multiply(const product *q, const uint64_t z[3], int64_t b)
{
	const layout *A = &q->l[0], *B = &q->l[1], *D = &q->l[3];

	for (int64_t j = 0; j < (int64_t)z[1]; j++)
		for (int64_t i = 0; i < (int64_t)z[0]; i++) {
			int64_t d = b * D->step + j * D->lead + i;
			double sum = 0;
			for (int64_t k = 0; k < (int64_t)z[2]; k++) {
				int64_t x = b * A->step + (q->of.turn[0] ? i * A->lead + k : k * A->lead + i);
				int64_t y = b * B->step + (q->of.turn[1] ? k * B->lead + j : j * B->lead + k);
				sum += get(q->p[0], A->type, x) * get(q->p[1], B->type, y);
			}
			sum = q->alpha * sum + (q->beta != 0 ? q->beta * get(q->p[2], D->type, d) : 0);
			put(q->p[3], D->type, d, sum);
		}
}
static int run(const void *with)
{
	product q;
	uint64_t z[3];

	memcpy(&q, with, sizeof q);
	fits(&q.of, &q.l[0], &q.l[1], &q.l[3], z);
	for (int i = 0; i < 4; i++)
		if (!is_there(q.p[i], &q.l[i]))
			return CUDA_ERROR_ILLEGAL_ADDRESS;
	if (q.room && !emu_is_device(q.work, q.room))
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	memset(q.work, 0xb1, q.room);
	for (int64_t b = 0; b < q.l[3].batch; b++)
		multiply(&q, z, b);
	return CUDA_SUCCESS;
}
int cublasLtMatmul(void *of, void *what, const void *alpha, const void *a, void *al, const void *b,
                   void *bl, const void *beta, const void *c, void *cl, void *d, void *dl,
                   const uint64_t *algo, void *work, size_t room, void *stream)
{
	emu_op o = { .kind = EMU_CALL, .call.code = run };
	product q = { .of = *(desc *)what,
		      .l = { *(layout *)al, *(layout *)bl, *(layout *)cl, *(layout *)dl },
		      .p = { (char *)(uintptr_t)a, (char *)(uintptr_t)b, (char *)(uintptr_t)c, d },
		      .work = work, .room = room };
	bool wide = q.of.scale == R_64F;
	uint64_t z[3];

	_Static_assert(sizeof q <= sizeof o.call.with, "it fits");
	q.alpha = wide ? *(const double *)alpha : *(const float *)alpha;
	q.beta = wide ? *(const double *)beta : *(const float *)beta;
	if (of != &handle || !fits(&q.of, al, bl, dl, z) || algo[0] != number(what, al, bl, dl) || c != d ||
	    room < need(dl) || (uintptr_t)work % 256 || ((uintptr_t)a | (uintptr_t)b | (uintptr_t)d) % 16)
		return INVALID_VALUE;
	if (asked("run") || (asked("capture") && emu_stream_of(stream)->capture))
		return EXECUTION_FAILED;
	memcpy(o.call.with, &q, sizeof q);
	__atomic_add_fetch(&told[emu_stream_of(stream)->capture != NULL], 1, __ATOMIC_RELAXED);
	return emu_tell(emu_stream_of(stream), o) ? EXECUTION_FAILED : OK;
}

/* How many products there were, for tests. */
int hop_emu_products(int captured)
{
	return __atomic_load_n(&told[captured != 0], __ATOMIC_RELAXED);
}
