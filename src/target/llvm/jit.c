/* jit.c -- from some functions of a loop program to an object file in memory. Which ones
 * is decided in parts.c. Does not load it: elf.c does, so that an object from the cache
 * runs without opening LLVM. */
#include "target/llvm/emit.h"

/* What LLVM owns during one compilation. */
typedef struct work {
	const hop_llvm *L;
	hop_emit  e;
	char     *triple, *cpu, *features;
	void     *machine, *layout, *buffer;
} work;

static void dispose(work *w)
{
	const hop_llvm *L = w->L;
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

static hop_status setup(hop_env *e, work *w, const hop_llvm_opts *o)
{
	const hop_llvm *L = w->L;
	void *target;
	char *msg = NULL;
	hop_status st;
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
	w->e.cx = L->ContextCreate();
	w->e.mod = L->ModuleCreateWithNameInContext("hop", w->e.cx);
	w->e.b = L->CreateBuilderInContext(w->e.cx);
	L->SetTarget(w->e.mod, w->triple);
	L->SetModuleDataLayout(w->e.mod, w->layout);
	return HOP_OK;
}

static hop_status codegen(hop_env *e, work *w)
{
	const hop_llvm *L = w->L;
	char *msg = NULL;
	hop_status st;
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
	return HOP_OK;
}

static hop_status compile(hop_env *e, work *w, const hop_llvm_opts *o)
{
	HOP_TRY(setup(e, w, o));
	hop_emit_prog(&w->e);
	return codegen(e, w);
}

hop_status hop_llvm_part(hop_env *e, const hop_llvm *L, const hop_prog *p,
                         const hop_machine *m, const hop_llvm_opts *o, const hop_split *split,
                         int which, void **out_buffer)
{
	hop_mark mark = hop_mark_at(&e->tmp);
	work *w = HOP_NEW(&e->tmp, work);
	hop_frame f;
	hop_status st;
	w->L = L;
	w->e = (hop_emit){ .env = e, .L = L, .p = p, .split = split, .which = which,
	                   .m = m };
	/* LLVM's objects are outside our arenas: catch the exit and free them. */
	if (HOP_GUARD(e, &f)) {
		dispose(w);
		return hop_guard_nomem(e, &f);
	}
	st = compile(e, w, o);
	hop_guard_end(e, &f);
	if (!st) {
		*out_buffer = w->buffer;
		w->buffer = NULL;
	}
	dispose(w);
	hop_rewind(&e->tmp, mark);
	return st;
}
