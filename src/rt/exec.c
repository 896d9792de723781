/* exec.c -- a compiled program as a handle. Does not run it: the caller has the entry
 * and gives pointers, sizes, workspace and run time itself (abi.h). */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "rt/exec.h"
#include "target/llvm/emit.h"

struct hop_code {
	hop_mem    mem;
	atomic_int refs;
	hop_image  image;
	hop_size   frame;
	bool       cached;
};

static hop_status load(hop_env *e, hop_code *c, const void *p, size_t n)
{
	const char *err = hop_elf_load(p, n, "hop_main", &c->image);
	return err ? hop_fail(e, 0, HOP_ETARGET, "object: %s", err) : HOP_OK;
}

/* Filed under the LLVM that was opened, whichever one was expected. */
static void remember(hop_env *e, hop_hash key, const void *obj, size_t n)
{
	hop_hash llvm = hop_llvm_opened();
	if (llvm.lo || llvm.hi)
		hop_cache_put(e, hop_cache_key_llvm(key, llvm), obj, n);
}

static hop_status compile(hop_env *e, const hop_prog *p, const hop_target_opts *o,
                          hop_code *c, const hop_hash *key)
{
	hop_llvm_opts lo = { .level = o->level, .vector_bits = o->vector_bits,
	                     .threads = !o->no_threads, .parts = o->parts };
	hop_status st;
	void *obj = NULL;
	size_t n = 0;
	HOP_TRY(hop_llvm_object(e, p, &lo, &obj, &n));
	st = load(e, c, obj, n);
	if (!st && key)
		remember(e, *key, obj, n);
	hop_raw_free(&e->mem, obj, n);
	return st;
}

/* To look for LLVM takes as long as all the rest of a hit, so the process remembers the
 * first answer and what it was the answer to. No lock: the writer is the one who took the
 * place, and a child forked in between only looks every time. An LLVM that was replaced
 * since is no matter: what the old one made is as good as it was. */
static hop_hash which_llvm(hop_env *e)
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

/* A cached object that does not load is as good as none. */
static bool from_cache(hop_env *e, hop_code *c, hop_hash key)
{
	size_t n = 0;
	void *obj = hop_cache_get(e, hop_cache_key_llvm(key, which_llvm(e)), &n);
	if (!obj)
		return false;
	c->cached = !hop_elf_load(obj, n, "hop_main", &c->image);
	hop_raw_free(&e->mem, obj, n);
	return c->cached;
}

hop_status hop_code_new(hop_env *e, const hop_prog *p, const hop_target_opts *o,
                        hop_code **out_c)
{
	static const hop_target_opts none;
	hop_code *c, made = { .mem = e->mem };
	hop_status st = HOP_OK;
	hop_hash key;
	o = o ? o : &none;
	*out_c = NULL;
	HOP_TRY(hop_prog_verify(e, p));
	made.frame = p->func[0].frame;
	if (!o->no_cache)
		key = hop_cache_key(e, p, o);
	if (o->no_cache || !from_cache(e, &made, key))
		st = compile(e, p, o, &made, o->no_cache ? NULL : &key);
	if (st)
		return st;
	c = hop_raw_try(&e->mem, sizeof *c);
	if (!c) {
		hop_elf_free(&made.image);
		return hop_fail(e, 0, HOP_ENOMEM, "no memory for a program");
	}
	memcpy(c, &made, sizeof *c);
	atomic_init(&c->refs, 1);
	*out_c = c;
	return HOP_OK;
}

hop_code *hop_code_retain(hop_code *c)
{
	atomic_fetch_add(&c->refs, 1);
	return c;
}

void hop_code_release(hop_code *c)
{
	hop_mem m;
	if (!c || atomic_fetch_sub(&c->refs, 1) != 1)
		return;
	m = c->mem;
	hop_elf_free(&c->image);
	hop_raw_free(&m, c, sizeof *c);
}

hop_entry *hop_code_entry(const hop_code *c)
{
	void *p = c->image.entry;
	return *(hop_entry **)&p;
}

bool hop_code_frame(const hop_code *c, const int64_t *syms, int n, int64_t *out_b)
{
	return hop_size_eval(c->frame, syms, n, out_b) && *out_b >= 0;
}

bool hop_code_cached(const hop_code *c)
{
	return c->cached;
}
