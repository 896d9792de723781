/* text.hpp -- stands, behind emu.h, before a CUDA text that the host's compiler compiles: the names of
 * CUDA that such texts may use, each asking the emulator (run.c). No other header, so that compiling
 * is quick. It does not say what a device's memory would show late: threads here see all at once. */
extern "C" { hop_emu *hop_emu_now; }

#define __global__ __attribute__((used))
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__
#define __shared__ static __attribute__((section("hop_shared")))
#define EMU_OWN static inline __attribute__((unused, no_sanitize_thread))
#define EMU_CALLED __attribute__((noinline, unused, no_sanitize_thread)) static
#define EMU_SITE __builtin_return_address(0)
EMU_OWN hop_emu_dim emu_thread() { return hop_emu_now->thread; }
EMU_OWN hop_emu_dim emu_block() { return hop_emu_now->block; }
EMU_OWN hop_emu_dim emu_threads() { return hop_emu_now->block_dim; }
EMU_OWN hop_emu_dim emu_blocks() { return hop_emu_now->grid_dim; }
EMU_OWN unsigned char *emu_shared() { return (unsigned char *)hop_emu_now->shared; }
#define threadIdx emu_thread()
#define blockIdx emu_block()
#define blockDim emu_threads()
#define gridDim emu_blocks()
/* The section's ends; what is shared by a block and not dynamic is in it. */
extern char __start_hop_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_hop_shared[] __attribute__((weak, visibility("hidden")));
extern "C" __attribute__((no_sanitize_thread)) void hop_emu_statics(char **from, char **to)
{
	*from = __start_hop_shared;
	*to = __stop_hop_shared;
}

extern "C" {
	double fabs(double); float fabsf(float); double floor(double); float floorf(float);
#define EMU_MATH(m) double m(double); float m##f(float);
	EMU_MATH(ceil) EMU_MATH(trunc) EMU_MATH(rint) EMU_MATH(round) EMU_MATH(sqrt) EMU_MATH(exp)
	EMU_MATH(exp2) EMU_MATH(expm1) EMU_MATH(log) EMU_MATH(log2) EMU_MATH(log10) EMU_MATH(log1p)
	EMU_MATH(sin) EMU_MATH(cos) EMU_MATH(tan) EMU_MATH(asin) EMU_MATH(acos) EMU_MATH(atan)
	EMU_MATH(sinh) EMU_MATH(cosh) EMU_MATH(tanh)
	EMU_MATH(asinh) EMU_MATH(acosh) EMU_MATH(atanh) EMU_MATH(erf) EMU_MATH(erfc) EMU_MATH(cbrt)
	EMU_MATH(lgamma) EMU_MATH(tgamma) EMU_MATH(nearbyint)
#undef EMU_MATH
#define EMU_MATH(m) double m(double, double); float m##f(float, float);
	EMU_MATH(pow) EMU_MATH(fmod) EMU_MATH(atan2) EMU_MATH(fmin) EMU_MATH(fmax) EMU_MATH(copysign)
	EMU_MATH(hypot) EMU_MATH(remainder) EMU_MATH(nextafter)
#undef EMU_MATH
	double fma(double, double, double); float fmaf(float, float, float);
	double ldexp(double, int); float ldexpf(float, int);
	double frexp(double, int *); float frexpf(float, int *);
	void *memcpy(void *, const void *, unsigned long);
	void *memset(void *, int, unsigned long);
}

/* ---- meeting ---- */

#define __syncthreads() emu_syncthreads()
EMU_CALLED void emu_syncthreads()
{
	hop_emu_now->barrier(EMU_SITE);
}
EMU_CALLED const unsigned long long *emu_meet(unsigned mask, unsigned long long v)
{
	return hop_emu_now->meet(mask, v, EMU_SITE);
}
EMU_OWN void __syncwarp(unsigned mask = 0xffffffffu) { emu_meet(mask, 0); }

EMU_OWN unsigned emu_lane() { return hop_emu_now->thread.x & 31; }

/* A value of any size up to 8 bytes, as it lies in memory. */
template<class T> EMU_OWN T emu_shuffle(unsigned mask, T v, unsigned from)
{
	unsigned long long bits = 0;
	__builtin_memcpy(&bits, &v, sizeof v);
	const unsigned long long *all = emu_meet(mask, bits);
	if (!(mask >> (from & 31) & 1))
		hop_emu_now->trap("a shuffle reads a lane that is not in its mask");
	__builtin_memcpy(&v, &all[from & 31], sizeof v);
	return v;
}
template<class T> EMU_OWN T __shfl_sync(unsigned mask, T v, int from, int width = 32)
{
	return emu_shuffle(mask, v, (emu_lane() & ~(width - 1u)) | (from & (width - 1u)));
}
template<class T> EMU_OWN T __shfl_xor_sync(unsigned mask, T v, int x, int width = 32)
{
	unsigned to = emu_lane() ^ x;
	return emu_shuffle(mask, v, to / width > emu_lane() / width ? emu_lane() : to);
}
template<class T> EMU_OWN T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32)
{
	unsigned to = emu_lane() + by;
	return emu_shuffle(mask, v, to / width != emu_lane() / width ? emu_lane() : to);
}
template<class T> EMU_OWN T __shfl_up_sync(unsigned mask, T v, unsigned by, int width = 32)
{
	unsigned lane = emu_lane();
	return emu_shuffle(mask, v, by > lane % width ? lane : lane - by);
}
EMU_OWN unsigned __ballot_sync(unsigned mask, int p)
{
	const unsigned long long *all = emu_meet(mask, p != 0);
	unsigned out = 0;
	for (int i = 0; i < 32; i++)
		out |= (unsigned)(mask >> i & 1 && all[i]) << i;
	return out;
}
EMU_OWN int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
EMU_OWN int __all_sync(unsigned mask, int p) { return __ballot_sync(mask, p) == mask; }
EMU_OWN unsigned __match_any_sync(unsigned mask, unsigned long long v)
{
	const unsigned long long *all = emu_meet(mask, v);
	unsigned out = 0;
	for (int i = 0; i < 32; i++)
		out |= (unsigned)(mask >> i & 1 && all[i] == v) << i;
	return out;
}
EMU_OWN unsigned __activemask() { return 0xffffffffu; }
#define EMU_REDUCE(name, op) \
	EMU_OWN unsigned __reduce_##name##_sync(unsigned mask, unsigned v) \
	{ \
		const unsigned long long *all = emu_meet(mask, v); \
		for (int i = 0; i < 32; i++) \
			if (mask >> i & 1 && i != (int)emu_lane()) { unsigned w = all[i]; v = op; } \
		return v; \
	}
EMU_REDUCE(add, v + w) EMU_REDUCE(and, v & w) EMU_REDUCE(or, v | w) EMU_REDUCE(xor, v ^ w)
EMU_REDUCE(max, v > w ? v : w) EMU_REDUCE(min, v < w ? v : w)
#undef EMU_REDUCE

/* ---- memory ---- */

EMU_OWN void __threadfence() {}
EMU_OWN void __threadfence_block() {}
EMU_OWN void __threadfence_system() {}
EMU_OWN void __nanosleep(unsigned) {}
EMU_OWN void __trap() { hop_emu_now->trap("__trap"); }

#define EMU_ATOMIC(name, becomes) \
	template<class T> EMU_OWN T atomic##name(T *p, T v) \
	{ \
		hop_emu_now->atomic(p); \
		T old = *p; \
		*p = becomes; \
		return old; \
	}
EMU_ATOMIC(Add, old + v) EMU_ATOMIC(Sub, old - v) EMU_ATOMIC(Exch, v) EMU_ATOMIC(And, old & v)
EMU_ATOMIC(Or, old | v) EMU_ATOMIC(Xor, old ^ v) EMU_ATOMIC(Max, old > v ? old : v)
EMU_ATOMIC(Min, old < v ? old : v) EMU_ATOMIC(Inc, old >= v ? 0 : old + 1)
EMU_ATOMIC(Dec, old == 0 || old > v ? v : old - 1)
#undef EMU_ATOMIC
template<class T> EMU_OWN T atomicCAS(T *p, T expected, T v)
{
	hop_emu_now->atomic(p);
	T old = *p;
	if (old == expected)
		*p = v;
	return old;
}
/* Loads and stores that others may be waiting for or writing: acquire, release, relaxed, volatile. */
template<class T> EMU_OWN T emu_load(const T *p)
{
	hop_emu_now->atomic(p);
	return *(const volatile T *)p;
}
template<class T> EMU_OWN void emu_store(T *p, T v)
{
	hop_emu_now->atomic(p);
	*(volatile T *)p = v;
}
template<class T> EMU_OWN T emu_plain(const T *p)
{
	hop_emu_now->touch(p, sizeof *p, 0, EMU_SITE);
	return *p;
}
template<class T> EMU_OWN T __ldg(const T *p) { return emu_plain(p); }
template<class T> EMU_OWN T __ldcg(const T *p) { return emu_plain(p); }
template<class T> EMU_OWN T __ldcs(const T *p) { return emu_plain(p); }
template<class T> EMU_OWN T __ldcv(const T *p) { return emu_load(p); }

/* ---- bits and numbers ---- */

template<class To, class From> EMU_OWN To emu_bits(From v)
{
	To to;
	static_assert(sizeof to == sizeof v, "as many bits");
	__builtin_memcpy(&to, &v, sizeof to);
	return to;
}
EMU_OWN int __float_as_int(float v) { return emu_bits<int>(v); }
EMU_OWN unsigned __float_as_uint(float v) { return emu_bits<unsigned>(v); }
EMU_OWN float __int_as_float(int v) { return emu_bits<float>(v); }
EMU_OWN float __uint_as_float(unsigned v) { return emu_bits<float>(v); }
EMU_OWN long long __double_as_longlong(double v) { return emu_bits<long long>(v); }
EMU_OWN double __longlong_as_double(long long v) { return emu_bits<double>(v); }
EMU_OWN int __popc(unsigned v) { return __builtin_popcount(v); }
EMU_OWN int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
EMU_OWN int __clz(int v) { return v ? __builtin_clz(v) : 32; }
EMU_OWN int __clzll(long long v) { return v ? __builtin_clzll(v) : 64; }
EMU_OWN int __ffs(int v) { return __builtin_ffs(v); }
EMU_OWN int __ffsll(long long v) { return __builtin_ffsll(v); }
EMU_OWN unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
EMU_OWN int __mulhi(int a, int b) { return (long long)a * b >> 32; }
EMU_OWN unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
	return (unsigned __int128)a * b >> 64;
}
EMU_OWN long long __mul64hi(long long a, long long b) { return (__int128)a * b >> 64; }
EMU_OWN float __fadd_rn(float a, float b) { return a + b; }
EMU_OWN float __fsub_rn(float a, float b) { return a - b; }
EMU_OWN float __fmul_rn(float a, float b) { return a * b; }
EMU_OWN float __fdiv_rn(float a, float b) { return a / b; }
EMU_OWN float __frcp_rn(float a) { return 1 / a; }
EMU_OWN float __fsqrt_rn(float a) { return sqrtf(a); }
EMU_OWN float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
EMU_OWN double __dadd_rn(double a, double b) { return a + b; }
EMU_OWN double __dsub_rn(double a, double b) { return a - b; }
EMU_OWN double __dmul_rn(double a, double b) { return a * b; }
EMU_OWN double __ddiv_rn(double a, double b) { return a / b; }
EMU_OWN double __dsqrt_rn(double a) { return sqrt(a); }
EMU_OWN double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
EMU_OWN float rsqrtf(float a) { return 1 / sqrtf(a); }
EMU_OWN double rsqrt(double a) { return 1 / sqrt(a); }
template<class T> EMU_OWN T emu_min(T a, T b) { return a < b ? a : b; }
template<class T> EMU_OWN T emu_max(T a, T b) { return a > b ? a : b; }
#define EMU_MINMAX(T) \
	EMU_OWN T min(T a, T b) { return a < b ? a : b; } \
	EMU_OWN T max(T a, T b) { return a > b ? a : b; }
EMU_MINMAX(int) EMU_MINMAX(unsigned) EMU_MINMAX(long) EMU_MINMAX(unsigned long) EMU_MINMAX(long long)
EMU_MINMAX(unsigned long long)
#undef EMU_MINMAX

struct float2 { float x, y; } __attribute__((aligned(8)));
struct float4 { float x, y, z, w; } __attribute__((aligned(16)));
struct int2 { int x, y; } __attribute__((aligned(8)));
struct int4 { int x, y, z, w; } __attribute__((aligned(16)));
struct uint2 { unsigned x, y; } __attribute__((aligned(8)));
struct uint4 { unsigned x, y, z, w; } __attribute__((aligned(16)));
struct double2 { double x, y; } __attribute__((aligned(16)));
struct longlong2 { long long x, y; } __attribute__((aligned(16)));
struct ulonglong2 { unsigned long long x, y; } __attribute__((aligned(16)));

/* ---- what hop's prelude leaves to us: see target/cuda/emit.h ---- */

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define INT32_C(x) x
#define UINT32_C(x) x##u
#define INT64_C(x) x##ll
#define UINT64_C(x) x##ull
#define INT32_MAX 0x7fffffff
#define INT32_MIN (-INT32_MAX - 1)
#define INT64_MAX 0x7fffffffffffffffll
#define INT64_MIN (-INT64_MAX - 1)
#define HOP_FN static inline __attribute__((unused))
#define HOP_FAR static __attribute__((noinline, unused))
#define HOP_UNROLL
#define HOP_UNROLL_BY(n)
#define hop_shared emu_shared()
#define hop_barrier_block() emu_syncthreads()
#define hop_barrier_warp() ((void)emu_meet(0xffffffffu, 0))
EMU_OWN void hop_fence() {}
EMU_OWN void hop_pause() {}
#define hop_shuffle_u32(v, m) emu_shuffle_xor(v, m)
EMU_CALLED uint32_t emu_shuffle_xor(uint32_t v, int m)
{
	return (uint32_t)hop_emu_now->meet(0xffffffffu, v, EMU_SITE)[(emu_lane() ^ m) & 31];
}
EMU_OWN uint32_t hop_arrive(uint32_t *p, uint32_t n) { return atomicAdd(p, n); }
EMU_OWN uint32_t hop_look(const uint32_t *p) { return emu_load(p); }
EMU_OWN int32_t hop_count(int32_t *p) { return atomicAdd(p, 1); }
EMU_OWN uint32_t hop_ticket(uint32_t *p, uint32_t last) { return atomicInc(p, last); }
EMU_OWN float hop_most_f32(float v, float w)
{
	return v != v ? v : w != w ? w : v == w && __builtin_signbit(v) ? w : v < w ? w : v;
}
EMU_OWN float hop_least_f32(float v, float w) { return -hop_most_f32(-v, -w); }
EMU_OWN void hop_go_on(unsigned long long loop, bool v) { hop_emu_now->set(loop, v); }
EMU_OWN void hop_early() { hop_emu_now->early(); }
#define hop_global(a) ((void *)(a))
EMU_OWN float hop_recip_f32(float a) { return 1 / a; }

/* ---- accesses: what -fsanitize=thread puts before each, told to the emulator ---- */

extern "C" {
#define EMU_TOUCH(n) \
	EMU_CALL void __tsan_read##n(const void *p) { hop_emu_now->touch(p, n, 0, EMU_SITE); } \
	EMU_CALL void __tsan_write##n(const void *p) { hop_emu_now->touch(p, n, 1, EMU_SITE); } \
	EMU_CALL void __tsan_unaligned_read##n(const void *p) { hop_emu_now->touch(p, n, 0, EMU_SITE); } \
	EMU_CALL void __tsan_unaligned_write##n(const void *p) { hop_emu_now->touch(p, n, 1, EMU_SITE); } \
	EMU_CALL void __tsan_volatile_read##n(const void *p) { hop_emu_now->atomic(p); } \
	EMU_CALL void __tsan_volatile_write##n(const void *p) { hop_emu_now->atomic(p); }
#define EMU_CALL __attribute__((no_sanitize_thread, visibility("hidden")))
EMU_TOUCH(1) EMU_TOUCH(2) EMU_TOUCH(4) EMU_TOUCH(8) EMU_TOUCH(16)
EMU_CALL void __tsan_read_range(const void *p, unsigned long n)
{
	hop_emu_now->touch(p, n, 0, EMU_SITE);
}
EMU_CALL void __tsan_write_range(const void *p, unsigned long n)
{
	hop_emu_now->touch(p, n, 1, EMU_SITE);
}
EMU_CALL void __tsan_func_entry(const void *) {}
EMU_CALL void __tsan_func_exit() {}
EMU_CALL void __tsan_init() {}
#undef EMU_TOUCH
#undef EMU_CALL
}
