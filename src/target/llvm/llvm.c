/* llvm.c -- open libLLVM and find its functions. The library stays loaded for the life of
 * the process (it cannot be unloaded safely). Does not use LLVM; emit.c and jit.c do. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fork.h"
#include "target/find.h"
#include "target/llvm/llvm.h"

/* LLVM's registry of targets belongs to the process and is not locked, so the one call
 * that fills it must happen once in the process too. Done in a stretch that fork() waits
 * for: a child finds it done or not begun. */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Tried in order; distributions differ in how they name it. */
static const char *const names[] = {
	"libLLVM.so.19.1", "libLLVM-19.so", "libLLVM-19.so.1", "libLLVM.so.20.1",
	"libLLVM-20.so", "libLLVM.so.21.1", "libLLVM-21.so",
};

const char *hop_llvm_name(int i)
{
	const char *own = getenv("HOP_LLVM");
	if (own)
		return i ? NULL : own;
	return (size_t)i < sizeof names / sizeof *names ? names[i] : NULL;
}

static void *open_lib(void)
{
	const char *name;
	void *h = NULL;
	for (int i = 0; !h && (name = hop_llvm_name(i)); i++)
		h = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
	return h;
}

/* Those that objects are built for: which of them this machine is, LLVM knows. */
static void init_targets(void)
{
	static const char *const arch[] = { "X86", "AArch64" };
	static const char *const part[] = { "TargetInfo", "Target", "TargetMC", "AsmPrinter" };
	void *h = open_lib();

	for (int i = 0; h && i < 8; i++) {
		char name[64];
		void *p;

		snprintf(name, sizeof name, "LLVMInitialize%s%s", arch[i / 4], part[i % 4]);
		p = dlsym(h, name);
		if (p)
			(*(void (**)(void))&p)();
	}
}

static hop_status fill(hop_env *e, hop_llvm *l)
{
	void *h = open_lib();
	if (!h)
		return hop_fail(e, 0, HOP_ETARGET, "LLVM 19 or later not found: install libllvm19");
#define HOP_LLVM(ret, name, params) \
	if (!(*(void **)&l->name = dlsym(h, "LLVM" #name))) \
		return hop_fail(e, 0, HOP_ETARGET, "LLVM has no function LLVM%s", #name);
#include "target/llvm/llvm_syms.def"
#undef HOP_LLVM
	pthread_once(&once, init_targets);
	return HOP_OK;
}

hop_status hop_llvm_load(hop_env *e, hop_llvm *l)
{
	hop_status st;
	hop_nofork_begin();
	st = fill(e, l);
	hop_nofork_end();
	return st;
}

hop_hash hop_llvm_expected(hop_env *e)
{
	return hop_library_expected(e, hop_llvm_name);
}

/* The build id comes from memory: the file may be another one by now. */
hop_hash hop_llvm_opened(void)
{
	void *h, *p = NULL;
	hop_nofork_begin();
	h = open_lib();
	if (h)
		p = dlsym(h, "LLVMContextCreate");
	hop_nofork_end();
	return p ? hop_library_opened(p) : (hop_hash){ 0, 0 };
}
