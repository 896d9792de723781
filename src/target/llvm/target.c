/* target.c -- LLVM as a target: objects in memory, run by calling them. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "target/host.h"
#include "target/llvm/elf.h"
#include "target/llvm/emit.h"

static hop_status machine(hop_env *e, const hop_target_opts *o, hop_machine *out_m)
{
	(void)e;
	*out_m = hop_llvm_machine(o->triple, o->vector_bits, !o->no_threads);
	return HOP_OK;
}

static hop_status compile(hop_env *e, const hop_prog *p, const hop_machine *m,
                          const hop_target_opts *o, hop_bytes *out_b)
{
	hop_llvm_opts lo = { .level = o->level, .parts = o->parts, .look = hop_look() };
	return hop_llvm_object(e, p, m, &lo, &out_b->p, &out_b->n);
}

static hop_status take(hop_env *e, const char *text, size_t n, const char *entry, hop_bytes *out_b)
{
	return hop_llvm_take(e, text, n, entry, &out_b->p, &out_b->n);
}

static hop_status load(hop_env *e, const hop_bytes *b, const hop_prog *p, const char *entry,
                       hop_image *out_i)
{
	(void)p;
	const char *err = hop_elf_load(b->p, b->n, entry, out_i);
	return err ? hop_fail(e, 0, HOP_ETARGET, "object: %s", err) : HOP_OK;
}

static void setting(hop_buf *out)
{
	const char *own = getenv("HOP_LLVM");
	hop_putf(out, "llvm %s\n", own ? own : "");
	hop_host_cpu(out);
}

/* To look for LLVM takes as long as all the rest of a hit, so the process remembers the
 * first answer and what it was the answer to. No lock: the writer is the one who took the
 * place, and a child forked in between only looks every time. An LLVM that was replaced
 * since is no matter: what the old one made is as good as it was. */
static hop_hash expected(hop_env *e)
{
	static _Atomic uint64_t asked;                 /* 0 = nothing, BUSY = being written */
	static hop_hash answer;
	enum { BUSY = 1 };
	const char *name = getenv("HOP_LLVM");
	uint64_t ask = hop_hash_bytes(name ? name : "", name ? strlen(name) : 0).lo | 2;
	uint64_t none = 0;
	hop_hash id;

	if (atomic_load_explicit(&asked, memory_order_acquire) == ask)
		return answer;
	id = hop_llvm_expected(e);
	if ((id.lo || id.hi) && atomic_compare_exchange_strong(&asked, &none, BUSY)) {
		answer = id;
		atomic_store_explicit(&asked, ask, memory_order_release);
	}
	return id;
}

static hop_hash maker(hop_env *e, bool opened)
{
	return opened ? hop_llvm_opened() : expected(e);
}

static hop_status write(hop_env *e, int n, const hop_prog *const *p, const char *const *name,
                        const hop_machine *m, const hop_target_opts *o, hop_buf *out)
{
	hop_llvm_opts lo = { .level = o->level, .triple = o->triple };
	for (int i = 0; i < n; i++)
		HOP_TRY(hop_e_check_tiles(e, p[i]));
	return hop_llvm_several(e, n, p, name, m, &lo, out);
}

const hop_target hop_target_llvm = {
	.name = "llvm", .what = "machine code for this processor, by LLVM",
	.machine = machine, .compile = compile, .take = take, .load = load, .unload = hop_elf_free,
	.launch = hop_host_launch, .setting = setting, .maker = maker, .mem = &hop_host_memory,
	.write = write,
};
