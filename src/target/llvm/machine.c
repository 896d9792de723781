/* machine.c -- the machine that code is made for and run on. Asks the processor itself: a program
 * from the cache runs without LLVM, and opening LLVM takes longer than the rest. */
#include <stdlib.h>

#include "target/llvm/emit.h"

/* Some tens of microseconds. */
static double fork_worth(void)
{
	const char *own = getenv("HOP_FORK");
	return own && atof(own) > 0 ? atof(own) : 1 << 16;
}

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
	m->halves = __builtin_cpu_supports("f16c");
#endif
}

hop_machine hop_llvm_machine(int bits, bool threads)
{
	hop_machine m = { .threads = threads, .fork = fork_worth() };
	registers(&m);
	if (bits >= 128 && bits < m.vbits) {
		m.vbits = bits;
		m.nvreg = 16;
	}
	m.halves = m.halves && m.vbits > 128;
	return m;
}
