/* cache.c -- compiled programs on disk, one file each with all its objects, named by the
 * hash of what decides them. Files appear by rename, so a reader sees a whole file or none;
 * a header repeats key, length and checksum. Does not remove old files. Every failure is
 * silent: a cache that does not work only costs time. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/object.h"
#include "ir/ctx.h"
#include "rt/exec.h"

typedef struct header {
	char     magic[8];
	hop_hash key, sum;
	uint64_t size;
} header;

static const char magic[8] = "hopobj2";

/* ---- the key ---- */

static void put_cpu(hop_buf *b)
{
#if defined(__x86_64__)
	static const unsigned leaf[][2] = { { 0, 0 }, { 1, 0 }, { 7, 0 }, { 7, 1 }, { 0xd, 1 },
	                                    { 0x80000001, 0 } };

	for (size_t i = 0; i < sizeof leaf / sizeof *leaf; i++) {
		unsigned r[4] = { 0 };

		if (!__get_cpuid_count(leaf[i][0], leaf[i][1], &r[0], &r[1], &r[2], &r[3]))
			continue;
		if (leaf[i][0] == 1)
			r[1] = 0;                /* which core asks */
		hop_putf(b, "cpu %x.%x: %08x %08x %08x %08x\n", leaf[i][0], leaf[i][1], r[0],
		         r[1], r[2], r[3]);
	}
#else
	hop_put(b, "cpu unknown\n");
#endif
}

/* The code generator is part of this library, and the library of a program or of a shared
 * object: its build id stands for all of them. Where the linker was told to leave none,
 * the contents themselves do, hashed once for a context. */
static hop_hash self(hop_env *e)
{
	static const char name[] = "cache.c self";
	const hop_hash   *kept;
	hop_hash          h;

	if (hop_object_id(magic, &h))
		return h;
	kept = hop_ctx_memo_get(e, name, sizeof name);
	if (!kept) {
		h = hop_object_text(magic);
		kept = hop_ctx_intern(e, HOP_IN_NAME, &h, sizeof h, sizeof h.lo);
		hop_ctx_memo_put(e, name, sizeof name, (void *)(uintptr_t)kept);
	}
	return *kept;
}

hop_hash hop_cache_key(hop_env *e, const hop_prog *p, const hop_target_opts *o)
{
	const char *own = getenv("HOP_LLVM");
	hop_hash    h, lib = self(e);
	hop_buf     b;

	hop_buf_open(&b, e);
	hop_putf(&b, "abi %d level %d bits %d threads %d parts %d llvm %s\n", HOP_ABI,
	         o->level, o->vector_bits, !o->no_threads, o->parts, own ? own : "");
	hop_putf(&b, "lib %016llx%016llx\n", (unsigned long long)lib.hi,
	         (unsigned long long)lib.lo);
	put_cpu(&b);
	hop_prog_print(&b, p);
	h = hop_hash_bytes(b.s, b.n);
	hop_buf_free(&b);
	return h;
}

hop_hash hop_cache_key_llvm(hop_hash key, hop_hash llvm)
{
	hop_hash both[2] = { key, llvm };

	return hop_hash_bytes(both, sizeof both);
}

/* ---- files ---- */

/* 0 = caching is off or no directory is known. */
static bool directory(char *out, size_t n)
{
	const char *off = getenv("HOP_CACHE"), *d = getenv("HOP_CACHE_DIR");
	int         k;

	if (off && !strcmp(off, "0"))
		return false;
	if (d && *d)
		k = snprintf(out, n, "%s", d);
	else if ((d = getenv("XDG_CACHE_HOME")) && *d)
		k = snprintf(out, n, "%s/hop", d);
	else if ((d = getenv("HOME")) && *d)
		k = snprintf(out, n, "%s/.cache/hop", d);
	else
		return false;
	return k > 0 && (size_t)k < n;
}

static bool file_name(hop_hash key, char *out, size_t n)
{
	size_t len;

	if (!directory(out, n))
		return false;
	len = strlen(out);
	return (size_t)snprintf(out + len, n - len, "/%016llx%016llx.o",
	                        (unsigned long long)key.hi, (unsigned long long)key.lo) <
	       n - len;
}

static bool read_all(int fd, void *p, size_t n)
{
	for (size_t k = 0; k < n;) {
		ssize_t r = read(fd, (char *)p + k, n - k);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return false;
		k += (size_t)r;
	}
	return true;
}

static bool write_all(int fd, const void *p, size_t n)
{
	for (size_t k = 0; k < n;) {
		ssize_t r = write(fd, (const char *)p + k, n - k);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return false;
		k += (size_t)r;
	}
	return true;
}

void *hop_cache_get(hop_env *e, hop_hash key, size_t *out_n)
{
	char        name[4096];
	header      h;
	struct stat st;
	void       *p = NULL;
	int         fd;

	if (!file_name(key, name, sizeof name))
		return NULL;
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && read_all(fd, &h, sizeof h) &&
	    !memcmp(h.magic, magic, sizeof magic) && hop_hash_eq(h.key, key) &&
	    (uint64_t)st.st_size == h.size + sizeof h && h.size < (uint64_t)1 << 30)
		p = hop_raw_try(&e->mem, h.size);
	if (p && (!read_all(fd, p, h.size) ||
	          !hop_hash_eq(hop_hash_bytes(p, h.size), h.sum))) {
		hop_raw_free(&e->mem, p, h.size);
		p = NULL;
	}
	close(fd);
	*out_n = p ? h.size : 0;
	return p;
}

/* mkdir -p of the directory part. */
static void make_dirs(char *name)
{
	for (char *s = strchr(name + 1, '/'); s; s = strchr(s + 1, '/')) {
		*s = 0;
		mkdir(name, 0777);
		*s = '/';
	}
}

void hop_cache_put(hop_env *e, hop_hash key, const void *p, size_t n)
{
	char   name[4096], tmp[4096 + 16];
	header h = { .key = key, .sum = hop_hash_bytes(p, n), .size = n };
	bool   ok;
	int    fd;

	(void)e;
	memcpy(h.magic, magic, sizeof magic);
	if (!file_name(key, name, sizeof name))
		return;
	make_dirs(name);
	snprintf(tmp, sizeof tmp, "%s.XXXXXX", name);
	fd = mkstemp(tmp);
	if (fd < 0)
		return;
	ok = write_all(fd, &h, sizeof h) && write_all(fd, p, n);
	if (close(fd) || !ok || rename(tmp, name))
		unlink(tmp);
}
