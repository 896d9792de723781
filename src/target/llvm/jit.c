/* jit.c -- from some functions of a loop program to an object file in memory. Which ones
 * is decided in parts.c. Does not load it: elf.c does, so that an object from the cache
 * runs without opening LLVM. */
#include <string.h>

#include "base/fork.h"
#include "target/llvm/emit.h"

/* What LLVM owns during one compilation. For another machine cpu and features stay NULL: its
 * triple says all that may be used. */
typedef struct work {
	const hop_llvm *L;
	hop_emit  e;
	char     *triple, *cpu, *features;
	void     *machine, *layout, *buffer;
	bool      users;               /* the module is not of our making */
} work;

static void dispose(work *w)
{
	const hop_llvm *L = w->L;
	if (w->buffer)
		L->DisposeMemoryBuffer(w->buffer);
	hop_e_debug_drop(&w->e);
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

/* Which machine: this one with all it has, or the least that a triple promises. */
static hop_status choose(hop_env *e, work *w, const char *triple, void **out_target)
{
	const hop_llvm *L = w->L;
	char *msg = NULL;
	if (triple) {
		w->triple = L->NormalizeTargetTriple(triple);
	} else {
		w->triple = L->GetDefaultTargetTriple();
		w->cpu = L->GetHostCPUName();
		w->features = L->GetHostCPUFeatures();
	}
	if (!L->GetTargetFromTriple(w->triple, out_target, &msg))
		return HOP_OK;
	hop_status st = hop_fail(e, 0, HOP_ETARGET, "LLVM has no code for %s here, only for x86_64 and "
	                         "aarch64: %s", triple ? triple : w->triple, msg ? msg : "no target");
	L->DisposeMessage(msg);
	return st;
}

static hop_status setup(hop_env *e, work *w, const hop_llvm_opts *o)
{
	const hop_llvm *L = w->L;
	void *target;
	HOP_TRY(choose(e, w, o->triple, &target));
	const char *least = hop_llvm_is_arm(w->triple) ? "generic" : "x86-64";
	/* 2 = position independent, 3 = small code model */
	w->machine = L->CreateTargetMachine(target, w->triple, w->cpu ? w->cpu : least,
	                                    w->features ? w->features : "",
	                                    o->level ? o->level : 1, 2, 3);
	if (!w->machine)
		return hop_fail(e, 0, HOP_ETARGET, "LLVM: no machine for %s", w->triple);
	w->layout = L->CreateTargetDataLayout(w->machine);
	if (L->PointerSize(w->layout) != 8 || L->ByteOrder(w->layout) != 1)
		return hop_fail(e, 0, HOP_ETARGET, "%s: pointers of 64 bits, low byte first, are needed: "
		                "target c has no such bound", w->triple);
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
		st = hop_fail(e, 0, HOP_ETARGET, "%s for LLVM is wrong: %s",
		              w->users ? "the code" : "our code", msg);
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

/* Run `fill` on a module and compile it. LLVM's objects are outside our arenas: catch the exit
 * and free them. */
typedef hop_status fill_fn(work *w, void *user);

static hop_status compile(hop_env *e, const hop_llvm *L, const hop_machine *m,
                          const hop_llvm_opts *o, fill_fn *fill, void *user, void **out_buffer)
{
	hop_mark mark = hop_mark_at(&e->tmp);
	work *w = HOP_NEW(&e->tmp, work);
	hop_frame f;
	w->L = L;
	w->e = (hop_emit){ .env = e, .L = L, .m = m, .look = o->look };
	if (HOP_GUARD(e, &f)) {
		dispose(w);
		return hop_guard_nomem(e, &f);
	}
	hop_status st = setup(e, w, o);
	if (!st)
		st = fill(w, user);
	if (!st)
		st = codegen(e, w);
	hop_guard_end(e, &f);
	if (!st) {
		*out_buffer = w->buffer;
		w->buffer = NULL;
	}
	dispose(w);
	hop_rewind(&e->tmp, mark);
	return st;
}

/* ---- a part of a program ---- */

struct part { const hop_prog *p; const hop_split *split; int which; };

static hop_status fill_part(work *w, void *user)
{
	const struct part *q = user;
	w->e.p = q->p;
	w->e.split = q->split;
	w->e.which = q->which;
	hop_emit_prog(&w->e, "hop_main");
	return HOP_OK;
}

hop_status hop_llvm_part(hop_env *e, const hop_llvm *L, const hop_prog *p,
                         const hop_machine *m, const hop_llvm_opts *o, const hop_split *split,
                         int which, void **out_buffer)
{
	struct part q = { p, split, which };
	return compile(e, L, m, o, fill_part, &q, out_buffer);
}

/* ---- several programs ---- */

struct several { int n; const hop_prog *const *p; const char *const *name; };

static hop_status fill_several(work *w, void *user)
{
	const struct several *q = user;
	for (int i = 0; i < q->n; i++) {
		hop_split whole = { 1, HOP_NEWN(&w->e.env->tmp, uint8_t, q->p[i]->nfunc) };
		w->e.p = q->p[i];
		w->e.split = &whole;
		w->e.ninline = w->e.nscalar = 0;   /* its code does not depend on its neighbours */
		hop_emit_prog(&w->e, q->name[i]);
	}
	return HOP_OK;
}

hop_status hop_llvm_several(hop_env *e, int n, const hop_prog *const *p, const char *const *name,
                            const hop_machine *m, const hop_llvm_opts *o, hop_buf *out)
{
	hop_mark mark = hop_mark_at(&e->tmp);
	hop_llvm *L = HOP_NEW(&e->tmp, hop_llvm);
	struct several q = { n, p, name };
	void *buffer;
	hop_frame f;
	for (int i = 0; i < n; i++)
		HOP_TRY(hop_e_check_tiles(e, p[i]));
	HOP_TRY(hop_llvm_load(e, L));
	hop_nofork_begin();
	hop_status st = compile(e, L, m, o, fill_several, &q, &buffer);
	hop_nofork_end();
	if (st)
		return st;
	if (HOP_GUARD(e, &f)) {
		L->DisposeMemoryBuffer(buffer);
		return hop_guard_nomem(e, &f);
	}
	hop_putn(out, L->GetBufferStart(buffer), L->GetBufferSize(buffer));
	hop_guard_end(e, &f);
	L->DisposeMemoryBuffer(buffer);
	hop_rewind(&e->tmp, mark);
	return HOP_OK;
}

/* ---- a user's module ---- */

struct users { const char *text; size_t n; const char *entry; };

/* It gets our machine and layout, whatever it was written for. */
static hop_status fill_users(work *w, void *user)
{
	const struct users *q = user;
	const hop_llvm *L = w->L;
	hop_env *e = w->e.env;
	char *msg = NULL;
	hop_lmod *mod = NULL;
	void *text = L->CreateMemoryBufferWithMemoryRangeCopy(q->text, q->n, q->entry);
	if (L->ParseIRInContext(w->e.cx, text, &mod, &msg)) {          /* which takes the text */
		hop_status st = hop_fail(e, 0, HOP_ETARGET, "LLVM: %s", msg ? msg : "no module");
		L->DisposeMessage(msg);
		return st;
	}
	L->DisposeModule(w->e.mod);
	w->e.mod = mod;
	w->users = true;
	if (!L->GetNamedFunction(mod, q->entry))
		return hop_fail(e, 0, HOP_ETARGET, "LLVM: the module has no function `%s`", q->entry);
	L->SetTarget(mod, w->triple);
	L->SetModuleDataLayout(mod, w->layout);
	return HOP_OK;
}

/* The object with its length in front, as elf.h wants it. */
static hop_status one_object(hop_env *e, const hop_llvm *L, void *buffer, void **out_p, size_t *out_n)
{
	uint64_t size = L->GetBufferSize(buffer);
	*out_n = 8 + ((size + 7) & ~(uint64_t)7);
	unsigned char *p = hop_raw_try(&e->mem, *out_n);
	if (!p)
		return hop_fail(e, 0, HOP_ENOMEM, "no memory for %zu bytes of code", *out_n);
	memset(p, 0, *out_n);
	memcpy(p, &size, 8);
	memcpy(p + 8, L->GetBufferStart(buffer), size);
	*out_p = p;
	return HOP_OK;
}

hop_status hop_llvm_take(hop_env *e, const char *text, size_t n, const char *entry, void **out_p,
                         size_t *out_n)
{
	hop_mark mark = hop_mark_at(&e->tmp);
	hop_llvm *L = HOP_NEW(&e->tmp, hop_llvm);
	hop_llvm_opts o = { .level = 2 };
	hop_machine m = hop_llvm_machine(NULL, 0, false);
	struct users q = { text, n, entry };
	void *buffer;
	hop_status st = hop_llvm_load(e, L);
	if (!st) {
		hop_nofork_begin();
		st = compile(e, L, &m, &o, fill_users, &q, &buffer);
		hop_nofork_end();
	}
	if (!st) {
		st = one_object(e, L, buffer, out_p, out_n);
		L->DisposeMemoryBuffer(buffer);
	}
	hop_rewind(&e->tmp, mark);
	return st;
}
