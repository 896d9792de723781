/* jit.c -- from a loop program to the bytes of an object file. Does not load them:
 * rt/elf.c does, so that an object from the cache runs without LLVM. */
#include <stdlib.h>
#include <string.h>

#include "target/llvm/emit.h"

/* What LLVM owns during one compilation. */
typedef struct work {
	hop_llvm  L;
	hop_emit  e;
	char     *triple, *cpu, *features;
	void     *machine, *layout, *buffer;
} work;

static void dispose(work *w)
{
	const hop_llvm *L = &w->L;

	if (w->buffer)
		L->DisposeMemoryBuffer(w->buffer);
	if (w->e.b)
		L->DisposeBuilder(w->e.b);
	if (w->e.mod)
		L->DisposeModule(w->e.mod);
	if (w->e.cx)
		L->ContextDispose(w->e.cx);
	if (w->layout)
		L->DisposeTargetData(w->layout);
	if (w->machine)
		L->DisposeTargetMachine(w->machine);
	if (w->triple)
		L->DisposeMessage(w->triple);
	if (w->cpu)
		L->DisposeMessage(w->cpu);
	if (w->features)
		L->DisposeMessage(w->features);
}

static bool has(const work *w, const char *feature)
{
	size_t n = strlen(feature);

	for (const char *p = w->features; (p = strstr(p, feature)); p += n)
		if (p[n] == ',' || p[n] == 0)
			return true;
	return false;
}

static void registers(work *w, int most)
{
	w->e.vbits = 128;
	w->e.nvreg = 16;
#if defined(__aarch64__)
	w->e.nvreg = 32;
#endif
	if (has(w, "+avx2"))
		w->e.vbits = 256;
	if (has(w, "+avx512f") && has(w, "+avx512vl") && has(w, "+avx512bw") &&
	    has(w, "+avx512dq")) {
		w->e.vbits = 512;
		w->e.nvreg = 32;
	}
	if (most >= 128 && most < w->e.vbits) {
		w->e.vbits = most;
		w->e.nvreg = 16;
	}
}

static hop_status setup(hop_env *e, work *w, const hop_llvm_opts *o)
{
	const hop_llvm *L = &w->L;
	void           *target;
	char           *msg = NULL;
	hop_status      st;

	w->triple = L->GetDefaultTargetTriple();
	w->cpu = L->GetHostCPUName();
	w->features = L->GetHostCPUFeatures();
	if (L->GetTargetFromTriple(w->triple, &target, &msg)) {
		st = hop_fail(e, 0, HOP_ETARGET, "LLVM: %s", msg ? msg : "no target");
		L->DisposeMessage(msg);
		return st;
	}
	/* 2 = position independent, 3 = small code model */
	w->machine = L->CreateTargetMachine(target, w->triple, w->cpu, w->features,
	                                    o->level ? o->level : 1, 2, 3);
	if (!w->machine)
		return hop_fail(e, 0, HOP_ETARGET, "LLVM: no machine for %s", w->triple);
	w->layout = L->CreateTargetDataLayout(w->machine);
	registers(w, o->vector_bits);
	w->e.cx = L->ContextCreate();
	w->e.mod = L->ModuleCreateWithNameInContext("hop", w->e.cx);
	w->e.b = L->CreateBuilderInContext(w->e.cx);
	L->SetTarget(w->e.mod, w->triple);
	L->SetModuleDataLayout(w->e.mod, w->layout);
	return HOP_OK;
}

static hop_status codegen(hop_env *e, work *w, void **out_p, size_t *out_n)
{
	const hop_llvm *L = &w->L;
	char           *msg = NULL;
	hop_status      st;

	/* LLVM ends the process on bad IR, so it is checked every time. */
	if (L->VerifyModule(w->e.mod, 2, &msg)) {
		st = hop_fail(e, 0, HOP_ETARGET, "our code for LLVM is wrong: %s", msg);
		L->DisposeMessage(msg);
		return st;
	}
	L->DisposeMessage(msg);
	msg = NULL;
	if (L->TargetMachineEmitToMemoryBuffer(w->machine, w->e.mod, 1, &msg, &w->buffer)) {
		st = hop_fail(e, 0, HOP_ETARGET, "LLVM: %s", msg ? msg : "no code");
		L->DisposeMessage(msg);
		return st;
	}
	*out_n = L->GetBufferSize(w->buffer);
	*out_p = hop_raw_try(&e->mem, *out_n);
	if (!*out_p)
		return hop_fail(e, 0, HOP_ENOMEM, "no memory for %zu bytes of code", *out_n);
	memcpy(*out_p, L->GetBufferStart(w->buffer), *out_n);
	return HOP_OK;
}

static hop_status compile(hop_env *e, work *w, const hop_llvm_opts *o, hop_buf *ir,
                          void **out_p, size_t *out_n)
{
	HOP_TRY(setup(e, w, o));
	hop_emit_prog(&w->e);
	if (ir) {
		char *s = w->L.PrintModuleToString(w->e.mod);

		hop_put(ir, s);
		w->L.DisposeMessage(s);
	}
	return codegen(e, w, out_p, out_n);
}

hop_status hop_llvm_object(hop_env *e, const hop_prog *p, const hop_llvm_opts *o,
                           void **out_p, size_t *out_n, hop_buf *ir)
{
	hop_mark   m = hop_mark_at(&e->tmp);
	work      *w = HOP_NEW(&e->tmp, work);
	hop_frame  f;
	hop_status st;

	st = hop_llvm_load(e, &w->L);
	if (st) {
		hop_rewind(&e->tmp, m);
		return st;
	}
	w->e = (hop_emit){ .env = e, .L = &w->L, .p = p, .threads = o->threads };
	/* LLVM's objects are outside our arenas: catch the exit, free them, go on leaving. */
	if (HOP_GUARD(e, &f)) {
		st = hop_guard_nomem(e, &f);
		(void)st;
		dispose(w);
		hop_nomem(e);
	}
	st = compile(e, w, o, ir, out_p, out_n);
	hop_guard_end(e, &f);
	dispose(w);
	hop_rewind(&e->tmp, m);
	return st;
}
