/* machine.c -- the machine that code is made for and run on. Asks the processor itself: a program
 * from the cache runs without LLVM, and opening LLVM takes longer than the rest. */
#include <stdatomic.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "target/host.h"
#include "target/llvm/emit.h"

#if defined(__x86_64__)
/* Not every compiler's __builtin_cpu_supports knows it. To ask takes microseconds in a virtual
 * machine, so the process remembers the answer. */
static bool has_f16c(void)
{
	static atomic_int known;         /* 1 = no, 2 = yes */
	int v = atomic_load_explicit(&known, memory_order_relaxed);
	if (!v) {
		unsigned a, b, c = 0, d;
		v = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) ? 2 : 1;
		atomic_store_explicit(&known, v, memory_order_relaxed);
	}
	return v == 2;
}
#endif

static void registers(hop_machine *m)
{
	m->vbits = 128;
	m->nvreg = 16;
#if defined(__aarch64__)
	m->nvreg = 32;
#elif defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx2"))
		m->vbits = 256;
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
		m->vbits = 512;
		m->nvreg = 32;
	}
	m->halves = has_f16c();
#endif
}

bool hop_llvm_is_arm(const char *triple)
{
	return !strncmp(triple, "aarch64", 7) || !strncmp(triple, "arm64", 5);
}

hop_machine hop_llvm_machine(const char *triple, int bits, bool threads)
{
	hop_machine m = { .threads = threads, .fork = hop_host_fork() };
	if (triple) {
		m.vbits = 128;
		m.nvreg = hop_llvm_is_arm(triple) ? 32 : 16;
	} else {
		registers(&m);
	}
	if (bits >= 128 && bits < m.vbits) {
		m.vbits = bits;
		m.nvreg = 16;
	}
	m.halves = m.halves && m.vbits > 128;
	return m;
}
