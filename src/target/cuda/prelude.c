/* prelude.c -- what stands before a program: types, the state of a run, what threads do together, and
 * the scalar operations, of which only those are written that the text uses: NVRTC takes its time for
 * each. All that is not C is in the functions under __CUDACC_RTC__; who has no device brings its own. */
#include <ctype.h>
#include <string.h>

#include "target/cuda/emit.h"

static const char device[] =
	"#ifdef __CUDACC_RTC__\n"
	"typedef signed char int8_t;\n"
	"typedef unsigned char uint8_t;\n"
	"typedef short int16_t;\n"
	"typedef unsigned short uint16_t;\n"
	"typedef int int32_t;\n"
	"typedef unsigned uint32_t;\n"
	"typedef long long int64_t;\n"
	"typedef unsigned long long uint64_t;\n"
	"#define INT32_C(x) x\n"
	"#define UINT32_C(x) x##u\n"
	"#define INT64_C(x) x##ll\n"
	"#define UINT64_C(x) x##ull\n"
	"#define INT32_MAX 0x7fffffff\n"
	"#define INT32_MIN (-INT32_MAX - 1)\n"
	"#define INT64_MAX 0x7fffffffffffffffll\n"
	"#define INT64_MIN (-INT64_MAX - 1)\n"
	"#define HOP_FN static __device__ __forceinline__\n"
	"#define HOP_FAR static __device__ __noinline__\n"
	"#define HOP_UNROLL _Pragma(\"unroll\")\n"
	"#define HOP_PRAGMA(x) _Pragma(#x)\n"
	"#define HOP_UNROLL_BY(n) HOP_PRAGMA(unroll n)\n"
	"#define __builtin_fma fma\n"
	"#define __builtin_fmaf fmaf\n"
	"#define __builtin_fabs fabs\n"
	"#define __builtin_fabsf fabsf\n"
	"extern __shared__ __align__(128) unsigned char hop_shared[];\n"
	"#endif\n"
	"#define HOP_LIKELY(x) __builtin_expect(x, 1)\n"
	"#define HOP_RARELY(x) __builtin_expect(x, 0)\n"
	"#define HOP_DATA static __device__ const\n"
	"#define HOP_GIVEN extern \"C\" __device__ const\n"
	"\n";

/* The driver brings it with the program. */
static const char loops[] =
	"#ifdef __CUDACC_RTC__\n"
	"extern \"C\" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned value);\n"
	"#endif\n";

/* Who has no device brings these. */
static const char primitives[] =
	"HOP_FN void hop_barrier_warp() { __syncwarp(); }\n"
	"HOP_FN void hop_fence() { __threadfence(); }\n"
	"HOP_FN void hop_pause() { __nanosleep(20); }\n"
	"HOP_FN uint32_t hop_shuffle_u32(uint32_t v, int m)\n"
	"{\n"
	"\treturn __shfl_xor_sync(0xffffffffu, v, m);\n"
	"}\n"
	"HOP_FN uint32_t hop_arrive(uint32_t *p, uint32_t n)\n"
	"{\n"
	"\tuint32_t was;\n"
	"\tasm volatile(\"atom.add.release.gpu.global.u32 %0, [%1], %2;\"\n"
	"\t             : \"=r\"(was) : \"l\"(p), \"r\"(n) : \"memory\");\n"
	"\treturn was;\n"
	"}\n"
	"HOP_FN uint32_t hop_look(const uint32_t *p)\n"
	"{\n"
	"\tuint32_t v;\n"
	"\tasm volatile(\"ld.acquire.gpu.global.u32 %0, [%1];\" : \"=r\"(v) : \"l\"(p) : \"memory\");\n"
	"\treturn v;\n"
	"}\n"
	"HOP_FN uint32_t hop_ticket(uint32_t *p, uint32_t last) { return atomicInc(p, last); }\n"
	"/* Lanes that count the same are one access: all of a warp may. Counts are no 4 GB: half of the\n"
	" * address tells them apart. */\n"
	"HOP_FN int32_t hop_count(int32_t *p)\n"
	"{\n"
	"\tconst uint32_t same = __match_any_sync(__activemask(), (uint32_t)(uint64_t)p);\n"
	"\tconst uint32_t before = same & ((1u << (threadIdx.x & 31)) - 1);\n"
	"\tint32_t was = 0;\n"
	"\tif (before == 0)\n"
	"\t\twas = atomicAdd(p, __popc(same));\n"
	"\twas = __shfl_sync(same, was, __ffs(same) - 1);\n"
	"\treturn was + __popc(before);\n"
	"}\n"
	"HOP_FN void hop_early()\n"
	"{\n"
	"#if __CUDA_ARCH__ >= 900\n"
	"\tasm volatile(\"griddepcontrol.launch_dependents;\" ::: \"memory\");\n"
	"\tasm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n"
	"#endif\n"
	"}\n"
	"HOP_FN void hop_go_on(hop_word loop, bool v) { cudaGraphSetConditional(loop, v); }\n"
	"/* +0 is more than -0. */\n"
	"HOP_FN float hop_most_f32(float v, float w)\n"
	"{\n"
	"#if __CUDA_ARCH__ >= 800\n"
	"\tasm(\"max.NaN.f32 %0, %0, %1;\" : \"+f\"(v) : \"f\"(w));\n"
	"\treturn v;\n"
	"#else\n"
	"\tconst float same = __uint_as_float(__float_as_uint(v) & __float_as_uint(w));\n"
	"\treturn v > w ? v : w > v ? w : v == w ? same : v + w;\n"
	"#endif\n"
	"}\n"
	"HOP_FN float hop_least_f32(float v, float w)\n"
	"{\n"
	"#if __CUDA_ARCH__ >= 800\n"
	"\tasm(\"min.NaN.f32 %0, %0, %1;\" : \"+f\"(v) : \"f\"(w));\n"
	"\treturn v;\n"
	"#else\n"
	"\tconst float same = __uint_as_float(__float_as_uint(v) | __float_as_uint(w));\n"
	"\treturn v < w ? v : w < v ? w : v == w ? same : v + w;\n"
	"#endif\n"
	"}\n"
	"HOP_FN void *hop_global(hop_word a) { return __cvta_global_to_generic(a); }\n"
	"HOP_FN float hop_recip_f32(float a)\n"
	"{\n"
	"\tfloat v;\n"
	"\tasm(\"rcp.approx.ftz.f32 %0, %1;\" : \"=f\"(v) : \"f\"(a));\n"
	"\treturn v;\n"
	"}\n";

/* A jump to a point to go on at may enter a loop in its middle. ptxas then takes threads to be together
 * that are not, and __syncthreads, which promises that warps come whole, lets lanes go apart for good:
 * shuffles behind it miss some. The other barrier promises nothing, and looks. */
static const char together[] = "HOP_FN void hop_barrier_block() { __syncthreads(); }\n";
static const char apart[] = "HOP_FN void hop_barrier_block() { __barrier_sync(0); }\n";

/* ---- threads ---- */

/* Several kinds of number go through the lanes as words. */
static const char threads[] =
	"HOP_FN int hop_thread() { return (int)threadIdx.x; }\n"
	"HOP_FN int hop_threads() { return (int)blockDim.x; }\n"
	"HOP_FN int hop_lane() { return (int)threadIdx.x & 31; }\n"
	"HOP_FN int hop_warp() { return (int)threadIdx.x >> 5; }\n"
	"HOP_FN int hop_block_x() { return (int)blockIdx.x; }\n"
	"HOP_FN int hop_block_y() { return (int)blockIdx.y; }\n"
	"HOP_FN int hop_block_z() { return (int)blockIdx.z; }\n"
	"HOP_FN int hop_blocks_x() { return (int)gridDim.x; }\n"
	"HOP_FN int hop_blocks_y() { return (int)gridDim.y; }\n"
	"HOP_FN int hop_blocks_z() { return (int)gridDim.z; }\n"
	"HOP_FN uint32_t hop_blocks() { return gridDim.x * gridDim.y * gridDim.z; }\n"
	"HOP_FN bool hop_first_warp() { return (threadIdx.x & 31) == 0; }\n"
	"HOP_FN bool hop_first_block() { return threadIdx.x == 0; }\n"
	"HOP_FN bool hop_first_team()\n"
	"{\n"
	"\treturn (threadIdx.x | blockIdx.x | blockIdx.y | blockIdx.z) == 0;\n"
	"}\n";

static const char barriers[] =
	"/* What a function is given, of what we are: words of our record, and bytes behind. */\n"
	"HOP_FN void hop_record(hop_word *a, const hop_word *w, const hop_word *how, int n)\n"
	"{\n"
	"\t_Pragma(\"unroll 1\")\n"
	"\tfor (int i = 0; i < n; i++)\n"
	"\t\ta[i] = w[how[2 * i]] + how[2 * i + 1];\n"
	"}\n"
	"/* All blocks, which are there at once. The highest bit changes when the last one comes. What\n"
	" * threads wrote goes with the first thread of their block, and all see it behind. */\n"
	"HOP_FN void hop_barrier_team(hop_state *state)\n"
	"{\n"
	"\thop_barrier_block();\n"
	"\tif (hop_blocks() > 1) {\n"
	"\t\tif (threadIdx.x == 0) {\n"
	"\t\t\tconst uint32_t mine = hop_first_team() ? 0x80000000u - (hop_blocks() - 1) : 1u;\n"
	"\t\t\tconst uint32_t was = hop_arrive(&state->arrived, mine);\n"
	"\t\t\twhile (((was ^ hop_look(&state->arrived)) & 0x80000000u) == 0)\n"
	"\t\t\t\thop_pause();\n"
	"\t\t}\n"
	"\t\thop_barrier_block();\n"
	"\t}\n"
	"}\n"
	"/* For the last of so many blocks that take this ticket. said: a word that the block shares. */\n"
	"HOP_FN bool hop_is_last_of(uint32_t *ticket, uint32_t blocks, unsigned char *said)\n"
	"{\n"
	"\thop_barrier_block();\n"
	"\tif (threadIdx.x == 0) {\n"
	"\t\thop_fence();\n"
	"\t\t*(uint32_t *)said = hop_ticket(ticket, blocks - 1) == blocks - 1;\n"
	"\t\thop_fence();\n"
	"\t}\n"
	"\thop_barrier_block();\n"
	"\treturn *(const uint32_t *)said != 0;\n"
	"}\n"
	"HOP_FN bool hop_is_last(hop_state *state, unsigned char *said)\n"
	"{\n"
	"\treturn hop_is_last_of(state->ticket, hop_blocks(), said);\n"
	"}\n"
	"HOP_FN bool hop_is_last_y(hop_state *state, unsigned char *said)\n"
	"{\n"
	"\treturn hop_is_last_of(state->ticket + blockIdx.x, gridDim.y, said);\n"
	"}\n";

/* ---- reductions ---- */

/* $N is a dtype's name, $T its C type, $O an operation, $X what it makes of v and w. */
static void put(hop_buf *o, const char *text, hop_dtype d, const char *op, const char *expr)
{
	for (; *text; text++) {
		if (*text != '$') {
			hop_putc(o, *text);
			continue;
		}
		switch (*++text) {
		case 'N': hop_put(o, hop_dtype_name(d)); break;
		case 'T': hop_put(o, hop_c_type(d)); break;
		case 'O': hop_put(o, op); break;
		case 'X': hop_put(o, expr); break;
		default: hop_bug(__FILE__, __LINE__, "template");
		}
	}
}

static const char shuffle4[] =
	"HOP_FN $T hop_shuffle_$N($T v, int m)\n"
	"{\n"
	"\tunion { $T a; uint32_t b; } u;\n"
	"\tu.a = v;\n"
	"\tu.b = hop_shuffle_u32(u.b, m);\n"
	"\treturn u.a;\n"
	"}\n";
static const char shuffle8[] =
	"HOP_FN $T hop_shuffle_$N($T v, int m)\n"
	"{\n"
	"\tunion { $T a; uint32_t b[2]; } u;\n"
	"\tu.a = v;\n"
	"\tu.b[0] = hop_shuffle_u32(u.b[0], m);\n"
	"\tu.b[1] = hop_shuffle_u32(u.b[1], m);\n"
	"\treturn u.a;\n"
	"}\n";
static const char shuffle1[] =
	"HOP_FN $T hop_shuffle_$N($T v, int m) { return hop_shuffle_u32(v, m) != 0; }\n";

static const char reduce[] =
	"HOP_FN $T hop_$O2_$N($T v, $T w) { return $X; }\n";

/* All lanes of the warp, the same for each. A maximum of zeros of both signs is the one that stands
 * first: so operands are in the lanes' order, unless the order is all the same. */
static const char in_order[] =
	"HOP_FN $T hop_warp_$O_$N($T v)\n"
	"{\n"
	"\tHOP_UNROLL\n"
	"\tfor (int m = 16; m; m >>= 1) {\n"
	"\t\tconst $T w = hop_shuffle_$N(v, m);\n"
	"\t\tv = hop_lane() & m ? hop_$O2_$N(w, v) : hop_$O2_$N(v, w);\n"
	"\t}\n"
	"\treturn v;\n"
	"}\n";
static const char any_order[] =
	"HOP_FN $T hop_warp_$O_$N($T v)\n"
	"{\n"
	"\tHOP_UNROLL\n"
	"\tfor (int m = 16; m; m >>= 1)\n"
	"\t\tv = hop_$O2_$N(v, hop_shuffle_$N(v, m));\n"
	"\treturn v;\n"
	"}\n";

static const char of_warps[] =
	"/* A word for each warp, then, behind a barrier, all of them in order. */\n"
	"HOP_FN void hop_give_$O_$N($T v, unsigned char *row)\n"
	"{\n"
	"\tv = hop_warp_$O_$N(v);\n"
	"\tif (hop_lane() == 0)\n"
	"\t\t(($T *)row)[hop_warp()] = v;\n"
	"}\n"
	"HOP_FN $T hop_take_$O_$N(const unsigned char *row, int warps)\n"
	"{\n"
	"\t$T v = ((const $T *)row)[0];\n"
	"\tHOP_UNROLL\n"
	"\tfor (int k = 1; k < warps; k++)\n"
	"\t\tv = hop_$O2_$N(v, ((const $T *)row)[k]);\n"
	"\treturn v;\n"
	"}\n";

static void put_one(hop_buf *o, hop_dtype d, const char *op, const char *expr, bool ordered)
{
	put(o, reduce, d, op, expr);
	put(o, ordered ? in_order : any_order, d, op, "");
	put(o, of_warps, d, op, "");
}

static void put_reduce(hop_buf *o, hop_dtype d)
{
	static const char *const wide[] = { "(int64_t)((uint64_t)v + (uint64_t)w)",
	                                    "(int64_t)((uint64_t)v * (uint64_t)w)" };
	static const char *const word[] = { "(int32_t)((uint32_t)v + (uint32_t)w)",
	                                    "(int32_t)((uint32_t)v * (uint32_t)w)" };
	static const char *const real[] = { "v + w", "v * w" };
	int                      n = (int)hop_dtype_bytes(d);
	const char *const       *x = hop_dtype_real(d) ? real : n == 8 ? wide : word;

	put(o, n == 8 ? shuffle8 : n == 4 ? shuffle4 : shuffle1, d, "", "");
	if (!hop_dtype_bool(d)) {
		put_one(o, d, "add", x[0], false);
		put_one(o, d, "mul", x[1], false);
		put_one(o, d, "max", n == 8 ? hop_dtype_real(d) ? "hop_max_f64(v, w)" : "hop_max_i64(v, w)"
		        : hop_dtype_real(d) ? "hop_most_f32(v, w)" : "hop_max_i32(v, w)", d == HOP_f64);
		put_one(o, d, "min", n == 8 ? hop_dtype_real(d) ? "hop_min_f64(v, w)" : "hop_min_i64(v, w)"
		        : hop_dtype_real(d) ? "hop_least_f32(v, w)" : "hop_min_i32(v, w)", d == HOP_f64);
	}
	if (!hop_dtype_real(d)) {
		put_one(o, d, "or", "v | w", false);
		put_one(o, d, "and", "v & w", false);
	}
}

/* ---- rows ---- */

/* Quotients of many by one, rounded as one alone would be: what is the same for all is found once, and
 * no element takes a branch of its own. low and odd say whether it was right for all of them: divisors
 * and dividends, but 0, are far enough from the ends of the numbers there are, and results too. */
static const char quotients[] =
	"HOP_FN float hop_by_f32(float y)\n"
	"{\n"
	"\tconst float r = hop_recip_f32(y);\n"
	"\treturn hop_fma_f32(r, hop_fma_f32(-y, r, 1.0f), r);\n"
	"}\n"
	"HOP_FN uint32_t hop_by_low(float y) { return y > 0x1p-100f && y < 0x1p20f ? 0xffffffffu : 0; }\n"
	"HOP_FN float hop_over_f32(float x, float y, float r, uint32_t *low, float *odd)\n"
	"{\n"
	"\tfloat q = x * r;\n"
	"\tq = hop_fma_f32(hop_fma_f32(y, q, -x), -r, q);\n"
	"\tconst uint32_t u = (hop_u32_bits_f32(x) << 1) - 1u;\n"
	"\t*low = u < *low ? u : *low;\n"
	"\t*odd = hop_fma_f32(q, 0.0f, *odd);\n"
	"\treturn q;\n"
	"}\n"
	"HOP_FN bool hop_is_odd(uint32_t low, float odd) { return low < 0x1a000000u || odd != odd; }\n";

/* Pieces of memory: N numbers in one access. */
static const char pieces[] =
	"template <typename T, int N> struct alignas(sizeof(T) * N) hop_piece { T v[N]; };\n"
	"template <int N, typename T, typename U> HOP_FN void hop_get(U *r, const T *p)\n"
	"{\n"
	"\tconst hop_piece<T, N> u = *(const hop_piece<T, N> *)p;\n"
	"\tHOP_UNROLL\n"
	"\tfor (int k = 0; k < N; k++)\n"
	"\t\tr[k] = u.v[k];\n"
	"}\n"
	"template <int N, typename T, typename U> HOP_FN void hop_set(T *p, const U *r)\n"
	"{\n"
	"\thop_piece<T, N> u;\n"
	"\tHOP_UNROLL\n"
	"\tfor (int k = 0; k < N; k++)\n"
	"\t\tu.v[k] = r[k];\n"
	"\t*(hop_piece<T, N> *)p = u;\n"
	"}\n";

/* ---- asking the host ---- */

static const char asking[] =
	"/* Words of registers. */\n"
	"HOP_FN hop_word hop_word_f32(float v) { return hop_u32_bits_f32(v); }\n"
	"HOP_FN hop_word hop_word_f64(double v) { return (hop_word)hop_i64_bits_f64(v); }\n"
	"HOP_FN float hop_f32_word(hop_word v) { return hop_f32_bits_u32((uint32_t)v); }\n"
	"HOP_FN double hop_f64_word(hop_word v) { return hop_f64_bits_i64((int64_t)v); }\n"
	"/* one: the team is the block. */\n"
	"HOP_FN void hop_meet(hop_state *state, bool one)\n"
	"{\n"
	"\tif (one)\n"
	"\t\thop_barrier_block();\n"
	"\telse\n"
	"\t\thop_barrier_team(state);\n"
	"}\n"
	"HOP_FN bool hop_is_first(bool one) { return one ? hop_first_block() : hop_first_team(); }\n"
	"HOP_FN void hop_push(hop_state *state, hop_word v) { state->save[state->saved++] = v; }\n"
	"/* Those that were pushed are read; whoever is called next finds its own on top. */\n"
	"HOP_FN void hop_drop(hop_state *state, uint32_t n, bool one)\n"
	"{\n"
	"\thop_meet(state, one);\n"
	"\tif (hop_is_first(one))\n"
	"\t\tstate->saved -= n;\n"
	"\thop_meet(state, one);\n"
	"}\n"
	"/* The run is asked to stop: seen by all or by none. */\n"
	"HOP_FN int hop_poll(hop_state *state, bool one)\n"
	"{\n"
	"\thop_meet(state, one);\n"
	"\tif (hop_is_first(one) && *state->cancel)\n"
	"\t\tstate->code = 6;\n"
	"\thop_meet(state, one);\n"
	"\treturn *(volatile int *)&state->code;\n"
	"}\n"
	"/* The graph, or the host where it takes the trips. */\n"
	"HOP_FN void hop_tell(hop_state *state, hop_word loop, bool v)\n"
	"{\n"
	"\tif (loop)\n"
	"\t\thop_go_on(loop, v);\n"
	"\telse\n"
	"\t\tstate->again = v;\n"
	"}\n"
	"/* Whether there is another trip of a loop of the host's list; now and then the run is asked. */\n"
	"HOP_FN void hop_decide(hop_state *state, hop_bool *go, hop_word loop, bool v)\n"
	"{\n"
	"\tif (v && (++state->turns & 255) == 0 && *state->cancel) {\n"
	"\t\tstate->code = 6;\n"
	"\t\tv = false;\n"
	"\t}\n"
	"\t*go = v;\n"
	"\thop_tell(state, loop, v);\n"
	"}\n"
	"/* The run has ended: so does the loop. */\n"
	"HOP_FN bool hop_is_over(hop_state *state, hop_word loop)\n"
	"{\n"
	"\tconst bool over = state->code != 0;\n"
	"\tif (over && hop_first_team())\n"
	"\t\thop_tell(state, loop, false);\n"
	"\treturn over;\n"
	"}\n"
	"/* How many are left to skip, this one counted. */\n"
	"HOP_FN int64_t hop_skip(hop_state *state, bool one)\n"
	"{\n"
	"\thop_meet(state, one);\n"
	"\tif (hop_is_first(one))\n"
	"\t\tstate->skip--;\n"
	"\thop_meet(state, one);\n"
	"\treturn *(volatile long long *)&state->skip;\n"
	"}\n"
	"/* Where a record of so many bytes goes; -1: there is no room. */\n"
	"HOP_FN int64_t hop_ring_room(hop_state *state, int64_t bytes, bool one)\n"
	"{\n"
	"\thop_meet(state, one);\n"
	"\tconst int64_t head = *(volatile long long *)&state->ring_head;\n"
	"\thop_meet(state, one);\n"
	"\treturn head + bytes <= state->ring_bytes ? head : -1;\n"
	"}\n"
	"/* The first block brings an operand. */\n"
	"HOP_FN void hop_ring_put(unsigned char *to, const void *from, int64_t bytes, bool one)\n"
	"{\n"
	"\tif (one || (blockIdx.x | blockIdx.y | blockIdx.z) == 0)\n"
	"\t\tfor (int64_t i = hop_thread(); i < bytes; i += hop_threads())\n"
	"\t\t\tto[i] = ((const unsigned char *)from)[i];\n"
	"}\n"
	"HOP_FN void hop_ring_done(hop_state *state, int64_t head, int64_t bytes, int id, bool one)\n"
	"{\n"
	"\thop_barrier_block();\n"
	"\tif (hop_is_first(one)) {\n"
	"\t\t((uint32_t *)(state->ring + head))[0] = (uint32_t)bytes;\n"
	"\t\t((uint32_t *)(state->ring + head))[1] = (uint32_t)id;\n"
	"\t\tstate->ring_head = head + bytes;\n"
	"\t}\n"
	"}\n"
	"/* All of n lanes that are asked hold, each of `each` elements. */\n"
	"HOP_FN bool hop_holds(const uint8_t *what, const uint8_t *when, int64_t n, int64_t each)\n"
	"{\n"
	"\tfor (int64_t i = 0; i < n; i++)\n"
	"\t\tfor (int64_t k = 0; k < each && (!when || when[i]); k++)\n"
	"\t\t\tif (!what[i * each + k])\n"
	"\t\t\t\treturn false;\n"
	"\treturn true;\n"
	"}\n";
_Static_assert(HOP_STATE_CANCEL == 6, "hop_poll says so");

/* ---- what is used ---- */

/* A function of the prelude: from HOP_FN or HOP_FAR, or the comment before it, to the next one. */
typedef struct part { const char *at; size_t n; const char *name; size_t len; bool used; } part;

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Its name: the first word that a parenthesis follows. */
static void find_name(part *p)
{
	const char *open = memchr(p->at, '(', p->n), *s;
	if (p->at[0] == '/')                   /* behind the comment */
		open = strchr(strstr(p->at, "*/"), '(');
	for (s = open; s > p->at && is_word(s[-1]); s--)
		;
	p->name = s;
	p->len = (size_t)(open - s);
}

static bool is_code(const char *s)
{
	return !strncmp(s, "HOP_FN ", 7) || !strncmp(s, "HOP_FAR ", 8);
}

static bool starts(const char *s)
{
	return is_code(s) || (s[0] == '/' && s[1] == '*');
}

static int split(hop_env *e, const char *text, part **out)
{
	part       *p = NULL;
	size_t      cap = 0;
	int         n = 0;
	const char *s = text;
	while (*s) {
		const char *end = s;
		bool        code = is_code(s);
		while ((end = strchr(end, '\n')) != NULL && *++end && (!starts(end) || !code))
			code |= is_code(end);
		end = end ? end : s + strlen(s);
		p = hop_arena_grow(&e->tmp, p, sizeof *p, (size_t)n + 1, &cap);
		p[n] = (part){ .at = s, .n = (size_t)(end - s) };
		find_name(&p[n++]);
		s = end;
	}
	*out = p;
	return n;
}

/* Those that a text calls. */
static void mark(part *p, int n, const char *text, size_t len)
{
	for (const char *s = text, *end = text + len; s < end; s++) {
		const char *from = s;
		while (s < end && is_word(*s))
			s++;
		for (int i = 0; s - from > 4 && !memcmp(from, "hop_", 4) && i < n; i++)
			if (p[i].len == (size_t)(s - from) && !memcmp(p[i].name, from, p[i].len))
				p[i].used = true;
	}
}

/* A function calls those before it only. The first `own` bytes are for devices. */
static void put_used(hop_env *e, const hop_buf *all, size_t own, const hop_buf *text, hop_buf *out)
{
	part *p;
	int   n = split(e, all->s, &p);
	bool  device_only = true;

	mark(p, n, text->s ? text->s : "", text->n);
	for (int i = n - 1; i >= 0; i--)
		if (p[i].used)
			mark(p, i, p[i].at, p[i].n);
	hop_put(out, "#ifdef __CUDACC_RTC__\n");
	for (int i = 0; i < n; i++) {
		if (device_only && p[i].at >= all->s + own) {
			hop_put(out, "#endif\n");
			device_only = false;
		}
		if (p[i].used)
			hop_putn(out, p[i].at, p[i].n);
	}
}

/* ---- all of it ---- */

/* x = i pi/2 + r; the quarter turn i picks sine or cosine of r and the sign. Far from 0 that has too few
 * digits: then the device's own, which is long, and stands in a text once. Both within 1.6 ulp. */
static const char turns[] =
	"HOP_FN float hop_quarter_f32(float x, uint32_t from)\n"
	"{\n"
	"\tuint32_t i;\n"
	"\tconst float n = hop_nearest_f32(x, 0.63661977f, &i);\n"
	"\tfloat r = hop_fma_f32(n, -1.57079601f, x);\n"
	"\tr = hop_fma_f32(n, -3.13916473e-07f, r);\n"
	"\tr = hop_fma_f32(n, -5.39030253e-15f, r);\n"
	"\tconst float z = r * r, t = hop_fma_f32(r, z, 0);\n"
	"\tfloat s = hop_fma_f32(-0.000195169778f, z, 0.00833217613f);\n"
	"\ts = hop_fma_f32(hop_fma_f32(s, z, -0.166666552f), t, r);\n"
	"\tfloat c = hop_fma_f32(2.43900431e-05f, z, -0.001388676f);\n"
	"\tc = hop_fma_f32(hop_fma_f32(c, z, 0.0416666232f), z, -0.5f);\n"
	"\tc = hop_fma_f32(c, z, 1);\n"
	"\tunion { float a; uint32_t b; } u;\n"
	"\tu.a = (i + from) & 1 ? c : s;\n"
	"\tu.b ^= ((i + from) & 2) << 30;\n"
	"\treturn u.a;\n"
	"}\n"
	"HOP_FAR float hop_sin_far_f32(float x) { return sinf(x); }\n"
	"HOP_FN float hop_sin_f32(float x)\n"
	"{\n"
	"\tconst float r = hop_quarter_f32(x, 0);\n"
	"\treturn __builtin_fabsf(x) > 1e5f ? hop_sin_far_f32(x) : r;\n"
	"}\n"
	"HOP_FAR float hop_cos_far_f32(float x) { return cosf(x); }\n"
	"HOP_FN float hop_cos_f32(float x)\n"
	"{\n"
	"\tconst float r = hop_quarter_f32(x, 1);\n"
	"\treturn __builtin_fabsf(x) > 1e5f ? hop_cos_far_f32(x) : r;\n"
	"}\n";
static const char turns_of_device[] =
	"HOP_FN $T hop_sin_$N($T x) { return sin(x); }\n"
	"HOP_FN $T hop_cos_$N($T x) { return cos(x); }\n";

/* Powers of floats: the device's own of f32 is not as near as those of CPUs. Its exp of f32 is, and is
 * a third of the instructions. */
static void math(hop_buf *o, hop_dtype d)
{
	bool own = hop_dtype_bytes(d) == 4;

	if (own)
		put(o, "HOP_FN $T hop_exp_$N($T x) { return expf(x); }\n", d, "", "");
	hop_c_math_series(o, d, !own);
	put(o, d == HOP_f32 ? turns : turns_of_device, d, "", "");
	put(o, "HOP_FN $T hop_pow_$N($T x, $T y)\n"
	       "{\n"
	       "\treturn x == 1 || y == 0 ? ($T)1 : ($T)pow((double)x, (double)y);\n"
	       "}\n", d, "", "");
}

void hop_cuda_prelude(hop_env *e, const hop_buf *text, hop_buf *out)
{
	hop_mark m = hop_mark_at(&e->tmp);
	hop_buf  all;

	hop_put(out, device);
	hop_put(out, HOP_STATE_TEXT);
	if (text->s && strstr(text->s, "hop_decide("))
		hop_put(out, loops);
	for (hop_dtype d = 0; d < HOP_NDTYPE; d++)
		hop_putf(out, "typedef %s hop_%s;\n", hop_dtype_bool(d) ? "uint8_t" : hop_c_type(d),
		         hop_dtype_name(d));
	hop_put(out, "\n");
	hop_buf_open(&all, e);
	hop_put(&all, text->s && strstr(text->s, "\tgoto at_") ? apart : together);
	hop_put(&all, primitives);
	size_t own = all.n;
	hop_c_ops_prelude(&all, math);
	hop_put(&all, quotients);
	hop_put(&all, threads);
	hop_put(&all, barriers);
	for (hop_dtype d = 0; d < HOP_NDTYPE; d++)
		if (!hop_dtype_packed(d))
			put_reduce(&all, d);
	hop_put(&all, asking);
	put_used(e, &all, own, text, out);
	if (text->s && (strstr(text->s, "hop_get<") || strstr(text->s, "hop_set<")))
		hop_put(out, pieces);
	if (text->s && strstr(text->s, "hop_product<"))
		hop_cuda_gemm_prelude(out);
	hop_buf_free(&all);
	hop_rewind(&e->tmp, m);
}
