/* The emulated device finds what it is there to find: barriers that not all come to, two threads at
 * the same memory, memory that is not the kernel's, copies that are not waited for; and runs what is
 * right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "emu/cu.h"

typedef struct program program;
int nvrtcCreateProgram(program **, const char *, const char *, int, const char *const *,
                       const char *const *);
int nvrtcCompileProgram(program *, int, const char *const *);
int nvrtcGetCUBINSize(program *, size_t *);
int nvrtcGetCUBIN(program *, char *);
int nvrtcDestroyProgram(program **);
CUresult cuInit(unsigned);
CUresult cuDevicePrimaryCtxRetain(void **, int);
CUresult cuDevicePrimaryCtxReset_v2(int);
CUresult cuCtxPushCurrent_v2(void *);
CUresult cuModuleLoadData(void **, const void *);
CUresult cuModuleGetFunction(void **, void *, const char *);
CUresult cuModuleUnload(void *);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemHostAlloc(void **, size_t, unsigned);
CUresult cuMemFreeHost(void *);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void *, size_t, void *);
CUresult cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, void *);
CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t, void *);
CUresult cuStreamSynchronize(void *);
CUresult cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        void *, void **, void **);
CUresult cuLaunchCooperativeKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                   unsigned, void *, void **);

static void *load(const char *text, void **out_f)
{
	program *p;
	size_t n;
	void *module;

	assert_int_equal(nvrtcCreateProgram(&p, text, "x", 0, NULL, NULL), 0);
	assert_int_equal(nvrtcCompileProgram(p, 0, NULL), 0);
	assert_int_equal(nvrtcGetCUBINSize(p, &n), 0);
	char *bytes = malloc(n);
	assert_int_equal(nvrtcGetCUBIN(p, bytes), 0);
	nvrtcDestroyProgram(&p);
	assert_int_equal(cuModuleLoadData(&module, bytes), 0);
	free(bytes);
	assert_int_equal(cuModuleGetFunction(out_f, module, "k"), 0);
	return module;
}

enum { N = 1000 };

/* A kernel k(unsigned *x, unsigned n, unsigned *counter) over N numbers, 0 1 2 ..; what became of
 * them, and what it said. */
static int run(const char *body, unsigned blocks, unsigned threads, int together, unsigned *x)
{
	char text[4000];
	CUdeviceptr d, counter;
	void *f;
	unsigned n = N;

	strcpy(text, "extern \"C\" __global__ void __launch_bounds__(1024) k(unsigned *x, unsigned n, "
	       "unsigned *counter)\n{\n"
	       "unsigned t = threadIdx.x, b = blockIdx.x, i = b * blockDim.x + t; (void)i;\n");
	strcat(text, body);
	strcat(text, "\n}\n");
	void *module = load(text, &f);
	for (unsigned i = 0; i < N; i++)
		x[i] = i;
	assert_int_equal(cuMemAlloc_v2(&d, N * sizeof *x), 0);
	assert_int_equal(cuMemAlloc_v2(&counter, 4), 0);
	assert_int_equal(cuMemcpyHtoDAsync_v2(d, x, N * sizeof *x, NULL), 0);
	assert_int_equal(cuMemsetD8Async(counter, 0, 4, NULL), 0);
	void *params[] = { &d, &n, &counter };
	int code = together ? cuLaunchCooperativeKernel(f, blocks, 1, 1, threads, 1, 1, 1024, NULL, params)
	           : cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 1024, NULL, params, NULL);
	code = code ? code : cuStreamSynchronize(NULL);
	if (!code)
		code = cuMemcpyDtoHAsync_v2(x, d, N * sizeof *x, NULL);
	cuModuleUnload(module);
	if (!code) {
		cuMemFree_v2(d);
		cuMemFree_v2(counter);
	} else {
		if (code != CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)
			assert_int_equal(cuMemAlloc_v2(&d, 4), code);  /* it stays */
		assert_int_equal(cuDevicePrimaryCtxReset_v2(0), 0);
	}
	return code;
}
static int any_time(const char *body, unsigned blocks, unsigned threads, int together)
{
	unsigned x[N];
	int code = 0;

	for (int i = 0; i < 8 && !code; i++)
		code = run(body, blocks, threads, together, x);
	return code;
}

static void test_right(void **state)
{
	unsigned x[N];

	(void)state;
	assert_int_equal(run("if (i < n) x[i] *= 2;", 8, 128, 0, x), 0);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(x[i], 2 * i);
	/* each block turns its numbers round, through shared memory */
	assert_int_equal(run("unsigned *s = (unsigned *)hop_shared; s[t] = x[i]; __syncthreads(); "
	                     "x[i] = s[blockDim.x - 1 - t];", 5, 128, 0, x), 0);
	for (unsigned i = 0; i < 640; i++)
		assert_int_equal(x[i], i / 128 * 128 + 127 - i % 128);
	/* sums of warps, through a variable that is shared, and a ticket for the last block */
	assert_int_equal(run("__shared__ unsigned last; unsigned v = x[i];\n"
	                     "for (int m = 16; m; m /= 2) v += __shfl_xor_sync(~0u, v, m);\n"
	                     "if (t == 0) x[900 + b] = v;\n"
	                     "if (t == 0) last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;\n"
	                     "__syncthreads();\n"
	                     "if (last && t == 0)\n"
	                     "	for (unsigned k = 1; k < gridDim.x; k++) x[900] += x[900 + k];",
	                     8, 32, 0, x), 0);
	assert_int_equal(x[900], 255 * 128);
}

/* Blocks that wait for each other. */
static void test_together(void **state)
{
	unsigned x[N];

	(void)state;
	static const char fine[] =
		"x[i] += 1;\n"
		"__syncthreads();\n"
		"if (t == 0) { hop_arrive(counter, 1); while (hop_look(counter) < gridDim.x) hop_pause(); }\n"
		"__syncthreads();\n"
		"x[512 + i] = x[(i + 64) % 256];\n";
	assert_int_equal(run(fine, 4, 64, 1, x), 0);
	for (unsigned i = 0; i < 256; i++)
		assert_int_equal(x[512 + i], (i + 64) % 256 + 1);
	/* more than can be there at once */
	assert_int_equal(run(fine, 8, 64, 1, x), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

static void test_barriers(void **state)
{
	(void)state;
	assert_int_equal(any_time("if (t < 40) __syncthreads();", 1, 64, 0), CUDA_ERROR_LAUNCH_FAILED);
	assert_int_equal(any_time("if (t & 1) { x[i] = 1; __syncthreads(); } else __syncthreads();",
	                          1, 64, 0),
	                 CUDA_ERROR_LAUNCH_FAILED);
	assert_int_equal(any_time("if (t != 3) x[i] = __shfl_xor_sync(~0u, t, 1);", 1, 64, 0),
	                 CUDA_ERROR_LAUNCH_FAILED);
	assert_int_equal(any_time("if (b == 0) while (!hop_look(counter)); else hop_look(x);", 2, 32, 0),
	                 CUDA_ERROR_LAUNCH_FAILED);
}

static void test_races(void **state)
{
	static const char *const bad[] = {
		"unsigned *s = (unsigned *)hop_shared; s[t] = t; x[i] = s[t ^ 32];",
		"unsigned *s = (unsigned *)hop_shared; s[t] = t; x[i] = s[t ^ 1];",
		"unsigned *s = (unsigned *)hop_shared; s[t] = t; __syncthreads(); x[i] = s[t ^ 33]; s[t] = 0;",
		"x[0] += t;",
		"x[t] = b;",
		"x[i] = 1; if (t == 0) hop_arrive(counter, 1), hop_look(counter); x[(i + 64) % 128] += 1;",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(any_time(bad[i], 2, 64, 0), CUDA_ERROR_LAUNCH_FAILED);
}

static void test_memory(void **state)
{
	unsigned x[N];

	(void)state;
	assert_int_equal(run("x[i] = 1;", 8, 128, 0, x), CUDA_ERROR_LAUNCH_FAILED);    /* 24 too many */
	assert_int_equal(run("if (i == 0) x[-1] = 1;", 1, 32, 0, x), CUDA_ERROR_LAUNCH_FAILED);
	assert_int_equal(run("if (i == 0) *(unsigned *)1 = 1;", 1, 32, 0, x), CUDA_ERROR_LAUNCH_FAILED);
	assert_int_equal(run("if (i == 0) hop_shared[1024] = 1;", 1, 32, 0, x), CUDA_ERROR_LAUNCH_FAILED);
}

/* Pinned memory is written when the stream comes to it, not before somebody waits. */
static void test_late(void **state)
{
	static const char slow[] = "extern \"C\" __global__ void k(unsigned *x)\n"
		"{ for (int i = 0; i < 100000; i++) atomicAdd(x, 1u); }\n";
	unsigned *pinned, x = 1;
	CUdeviceptr d;
	void *f, *module = load(slow, &f);
	void *params[] = { &d };

	(void)state;
	assert_int_equal(cuMemAlloc_v2(&d, 4), 0);
	assert_int_equal(cuMemHostAlloc((void **)&pinned, 4, 0), 0);
	*pinned = 7;
	assert_int_equal(cuMemcpyHtoDAsync_v2(d, &x, 4, NULL), 0);
	assert_int_equal(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL), 0);
	assert_int_equal(cuMemcpyDtoHAsync_v2(pinned, d, 4, NULL), 0);
	assert_int_equal(*(volatile unsigned *)pinned, 7);
	assert_int_equal(cuStreamSynchronize(NULL), 0);
	assert_int_equal(*pinned, 3200001);
	assert_int_equal(cuMemcpyHtoDAsync_v2((CUdeviceptr)(uintptr_t)pinned, &x, 4, NULL),
	                 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemFreeHost(pinned), 0);
	assert_int_equal(cuMemFree_v2(d), 0);
	assert_int_equal(cuModuleUnload(module), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right), cmocka_unit_test(test_together), cmocka_unit_test(test_barriers),
		cmocka_unit_test(test_races), cmocka_unit_test(test_memory), cmocka_unit_test(test_late),
	};
	void *context;

	setenv("HOP_EMU_FAULT", "code", 1);
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxPushCurrent_v2(context))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
