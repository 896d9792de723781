/* target.c -- C as a target: the text goes through the C compiler of this machine, and what comes
 * out is a shared object, loaded from memory. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/c/cc.h"
#include "target/c/emit.h"
#include "target/host.h"

/* Loops stay plain: the compiler knows the machine, and makes vectors of what is counted here one
 * by one. In process, whether there are threads is left to the run: another text is compiled
 * otherwise, fuses other products and sums, and gives other bits. */
static hop_status machine(hop_env *e, const hop_target_opts *o, hop_machine *out_m)
{
	enum { LANES = 8 };
	(void)e;
	*out_m = (hop_machine){ 0 };
	if (!o->ahead || !o->no_threads)
		*out_m = (hop_machine){ .threads = true, .fork = LANES * hop_host_fork() };
	return HOP_OK;
}

/* ---- bytes ---- */

/* The system's loader believes what it reads, so the bytes end in a hash of what comes before. */
static hop_hash *seal_of(const hop_bytes *b)
{
	return (hop_hash *)(void *)((char *)b->p + b->n - sizeof(hop_hash));
}

static void sign(hop_bytes *b)
{
	hop_hash h = hop_hash_bytes(b->p, b->n - sizeof h);
	memcpy(seal_of(b), &h, sizeof h);
}

static bool is_whole(const hop_bytes *b)
{
	hop_hash h;
	if (b->n <= sizeof h)
		return false;
	h = hop_hash_bytes(b->p, b->n - sizeof h);
	return !memcmp(seal_of(b), &h, sizeof h);
}

static hop_status compile(hop_env *e, const hop_prog *p, const hop_machine *m,
                          const hop_target_opts *o, hop_bytes *out_b)
{
	hop_status st;
	hop_buf    text;

	(void)m;
	hop_buf_open(&text, e);
	hop_c_prelude(&text);
	st = hop_c_prog(e, p, "hop_main", hop_look() & HOP_LOOK_GDB, &text);
	if (!st)
		st = hop_cc_shared(e, &text, o, sizeof(hop_hash), out_b);
	hop_buf_free(&text);
	if (!st)
		sign(out_b);
	return st;
}

static hop_status take(hop_env *e, const char *text, size_t n, const char *entry, hop_bytes *out_b)
{
	static const hop_target_opts none;
	hop_buf b;
	(void)entry;
	hop_buf_open(&b, e);
	hop_putn(&b, text, n);
	hop_status st = hop_cc_shared(e, &b, &none, sizeof(hop_hash), out_b);
	hop_buf_free(&b);
	if (!st)
		sign(out_b);
	return st;
}

/* ---- loading ---- */

/* The loader takes a file of the same name for the same file, and numbers of files come again: so
 * a count is in the name, a bit a step that leads nowhere. */
static void spell(char *out, size_t n, int fd)
{
	static atomic_ullong count;
	unsigned long long k = atomic_fetch_add(&count, 1);
	size_t at = (size_t)snprintf(out, n, "/proc/self/fd");

	for (; k; k >>= 1)
		at += (size_t)snprintf(out + at, n - at, k & 1 ? "/." : "/");
	snprintf(out + at, n - at, "/%d", fd);
}

/* A debugger, another process, finds a file by its name only: then it is one on disk. */
static int new_file(char *path, size_t n)
{
	const char *tmp = getenv("TMPDIR");
	*path = 0;
	if (!(hop_look() & HOP_LOOK_GDB))
		return memfd_create("hop", MFD_CLOEXEC);
	snprintf(path, n, "%s/hop-XXXXXX", tmp && *tmp && strlen(tmp) < n - 16 ? tmp : "/tmp");
	return mkostemp(path, O_CLOEXEC);
}

static hop_status load(hop_env *e, const hop_bytes *b, const hop_prog *p, const char *entry,
                       hop_image *out_i)
{
	char path[192];
	int  fd = is_whole(b) ? new_file(path, sizeof path) : -1;
	bool on_disk = fd >= 0 && *path;

	(void)p;
	*out_i = (hop_image){ 0 };
	if (fd < 0 || !hop_host_write(fd, b->p, b->n - sizeof(hop_hash))) {
		if (fd >= 0)
			close(fd);
		if (on_disk)
			unlink(path);
		return hop_fail(e, 0, HOP_ETARGET, "shared object: %s",
		                is_whole(b) ? "no memory for it" : "it is damaged");
	}
	if (!on_disk)
		spell(path, sizeof path, fd);
	out_i->base = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	out_i->entry = out_i->base ? dlsym(out_i->base, entry) : NULL;
	close(fd);
	if (on_disk)                           /* who debugs us was stopped at dlopen, and has read it */
		unlink(path);
	if (out_i->entry)
		return HOP_OK;
	const char *why = dlerror();
	hop_status  st = hop_fail(e, 0, HOP_ETARGET, "shared object: %s", why ? why : "no entry");
	if (out_i->base)
		dlclose(out_i->base);
	return st;
}

static void unload(hop_image *i)
{
	if (i->base)
		dlclose(i->base);
}

/* ---- for the cache ---- */

static void setting(hop_buf *out)
{
	hop_cc_setting(out);
	hop_host_cpu(out);
}

static hop_hash maker(hop_env *e, bool opened)
{
	(void)e;
	(void)opened;
	return hop_cc_id();
}

/* ---- ahead of time ---- */

static hop_status write_c(hop_env *e, int n, const hop_prog *const *p, const char *const *name,
                          const hop_machine *m, const hop_target_opts *o, hop_buf *out)
{
	(void)m;
	(void)o;
	hop_c_prelude(out);
	for (int i = 0; i < n; i++)
		HOP_TRY(hop_c_prog(e, p[i], name[i], false, out));
	return HOP_OK;
}

static hop_status object(hop_env *e, const hop_buf *text, const hop_target_opts *o, hop_buf *out)
{
	hop_bytes b;
	hop_frame f;
	HOP_TRY(hop_cc_object(e, text, o, &b));
	if (HOP_GUARD(e, &f)) {
		hop_raw_free(&e->mem, b.p, b.n);
		return hop_guard_nomem(e, &f);
	}
	hop_putn(out, b.p, b.n);
	hop_guard_end(e, &f);
	hop_raw_free(&e->mem, b.p, b.n);
	return HOP_OK;
}

const hop_target hop_target_c = {
	.name = "c", .what = "C11, by the C compiler of this machine",
	.machine = machine, .compile = compile, .take = take, .load = load, .unload = unload,
	.launch = hop_host_launch, .setting = setting, .maker = maker, .mem = &hop_host_memory,
	.write = write_c, .object = object,
};
