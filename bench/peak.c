/* The peak of one core: as many multiply-adds a second as it retires when nothing waits for
 * memory. Enough independent chains to cover the latency of two units. It does not measure
 * bandwidth. */
#include "bench.h"

#if defined(__AVX512F__)
enum { BYTES = 64, CHAINS = 20 };
#elif defined(__AVX__)
enum { BYTES = 32, CHAINS = 12 };
#else
enum { BYTES = 16, CHAINS = 12 };
#endif
typedef float  vf __attribute__((vector_size(BYTES)));
typedef double vd __attribute__((vector_size(BYTES)));
enum { ROUNDS = 20000 };

#if defined(__AVX512F__)
#define REG "v"
#elif defined(__x86_64__)
#define REG "x"
#else
#define REG "w"
#endif

/* The empty asm keeps a chain in a register and hides its value from the optimiser. */
#define PEAK(name, T, V) \
static void name(void *user) \
{ \
	V c[CHAINS], a = (V){ 0 } + (T)0.999, b = (V){ 0 } + (T)0.001; \
	_Pragma("GCC unroll 20") \
	for (int k = 0; k < CHAINS; k++) \
		c[k] = (V){ 0 } + (T)k; \
	for (int i = 0; i < ROUNDS; i++) { \
		_Pragma("GCC unroll 20") \
		for (int k = 0; k < CHAINS; k++) { \
			c[k] = c[k] * a + b; \
			__asm__ volatile("" : "+" REG(c[k])); \
		} \
	} \
	V s = c[0]; \
	_Pragma("GCC unroll 20") \
	for (int k = 1; k < CHAINS; k++) \
		s += c[k]; \
	*(T *)user = s[0]; \
}
PEAK(run_f32, float, vf)
PEAK(run_f64, double, vd)
#undef PEAK
#undef REG

static double flops(bench_fn *f, int lanes)
{
	double sink;

	return 2.0 * lanes * CHAINS * ROUNDS / bench_time(f, &sink, 0.002) * 1e-9;
}

double bench_peak_f32(void) { return flops(run_f32, BYTES / (int)sizeof(float)); }
double bench_peak_f64(void) { return flops(run_f64, BYTES / (int)sizeof(double)); }
