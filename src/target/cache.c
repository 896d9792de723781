/* cache.c -- compiled programs on disk, one file each with all its objects, named by the
 * hash of what decides them. Files appear by rename, so a reader sees a whole file or
 * none; a header repeats the key, and a checksum covers key and contents. Where the files
 * are and whether to believe them is cache_dir.c, which of them go is cache_trim.c. Every
 * failure is silent: a cache that does not work only costs time. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/object.h"
#include "ctx/ctx.h"
#include "target/cache.h"
#include "target/host.h"

typedef struct header {
	char     magic[8];
	hop_hash key;
	uint64_t size;
	hop_hash sum;                /* of the fields above and of the sum of the contents */
} header;

_Static_assert(sizeof(header) == 48, "a header has no padding");

static const char magic[8] = "hopobj3";

/* ---- the key ---- */

/* The code generator is part of this library, and the library of a program or of a shared
 * object: its build id stands for all of them. Where the linker was told to leave none,
 * the contents themselves do, hashed once for a context. */
static hop_hash self(hop_env *e)
{
	static const char name[] = "cache.c self";
	const hop_hash *kept;
	hop_hash h;
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

static void put_machine(hop_buf *b, const hop_machine *m)
{
	hop_putf(b, "machine %d %d %d %d %.17g %lld\n", m->vbits, m->nvreg, m->halves, m->threads,
	         m->fork, (long long)m->cache);
	if (m->blocks)
		hop_putf(b, "device %d %d %lld %lld\n", m->blocks, m->warp, (long long)m->shared,
		         (long long)m->small);
}

hop_hash hop_cache_key(hop_env *e, const hop_target *t, const hop_prog *p,
                       const hop_machine *m, const hop_target_opts *o)
{
	hop_hash h, lib = self(e);
	hop_buf b;
	hop_buf_open(&b, e);
	hop_putf(&b, "%s abi %d level %d parts %d\n", t->name, HOP_ABI, o->level, o->parts);
	hop_putf(&b, "lib %016llx%016llx\n", (unsigned long long)lib.hi,
	         (unsigned long long)lib.lo);
	put_machine(&b, m);
	t->setting(&b);
	hop_prog_print(&b, p);
	h = hop_hash_bytes(b.s, b.n);
	hop_buf_free(&b);
	return h;
}

hop_hash hop_cache_key_text(hop_env *e, const hop_target *t, const char *text, size_t n)
{
	hop_hash h, lib = self(e);
	hop_buf b;
	hop_buf_open(&b, e);
	hop_putf(&b, "%s text %zu\nlib %016llx%016llx\n", t->name, n, (unsigned long long)lib.hi,
	         (unsigned long long)lib.lo);
	t->setting(&b);
	hop_putn(&b, text, n);
	h = hop_hash_bytes(b.s, b.n);
	hop_buf_free(&b);
	return h;
}

hop_hash hop_cache_key_maker(hop_hash key, hop_hash maker)
{
	hop_hash both[2] = { key, maker };
	return hop_hash_bytes(both, sizeof both);
}

/* ---- files ---- */

static void file_name(hop_hash key, char *out)
{
	snprintf(out, HOP_CACHE_NAME + 1, "%016llx%016llx.o", (unsigned long long)key.hi,
	         (unsigned long long)key.lo);
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

static header header_of(hop_hash key, const void *p, size_t n)
{
	header h = { .key = key, .size = n, .sum = hop_hash_bytes(p, n) };
	memcpy(h.magic, magic, sizeof magic);
	h.sum = hop_hash_bytes(&h, sizeof h);
	return h;
}

/* The contents of an open file, or NULL. */
static void *contents(hop_env *e, int fd, const struct stat *st, hop_hash key,
                      size_t *out_n)
{
	header h, want;
	void *p;
	if (!read_all(fd, &h, sizeof h) || memcmp(h.magic, magic, sizeof magic) ||
	    h.size >= (uint64_t)1 << 30 || (uint64_t)st->st_size != h.size + sizeof h)
		return NULL;
	p = hop_raw_try(&e->mem, h.size);
	if (!p)
		return NULL;
	*out_n = h.size;
	if (read_all(fd, p, h.size)) {
		want = header_of(key, p, h.size);
		if (!memcmp(&h, &want, sizeof h))
			return p;
	}
	hop_raw_free(&e->mem, p, h.size);
	return NULL;
}

/* A hit is noted in the file's time, by which cache_trim.c knows what was used last. What
 * is no plain file is not opened for long: O_NONBLOCK keeps a pipe from waiting. */
void *hop_cache_get(hop_env *e, hop_hash key, size_t *out_n)
{
	char name[HOP_CACHE_NAME + 1];
	hop_cache_dir d;
	struct stat st;
	void *p = NULL;
	int fd;
	if (!hop_cache_open(&d, false))
		return NULL;
	file_name(key, name);
	fd = openat(d.fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0) {
		if (!fstat(fd, &st) && S_ISREG(st.st_mode) && hop_cache_trusts(&d, name, &st))
			p = contents(e, fd, &st, key, out_n);
		if (p)
			futimens(fd, NULL);
		close(fd);
	}
	close(d.fd);
	return p;
}

/* Write the file under a name of its own, then give it its real one. */
static bool store(int dir, hop_hash key, const void *p, size_t n)
{
	char name[HOP_CACHE_NAME + 1], temp[HOP_CACHE_TEMP + 1];
	header h = header_of(key, p, n);
	uint64_t r;
	bool ok;
	int fd;
	if (getrandom(&r, sizeof r, GRND_NONBLOCK) != sizeof r)
		return false;
	file_name(key, name);
	snprintf(temp, sizeof temp, "%s.%016llx", name, (unsigned long long)r);
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	ok = hop_host_write(fd, &h, sizeof h) && hop_host_write(fd, p, n);
	if (close(fd) || !ok || renameat(dir, temp, dir, name)) {
		unlinkat(dir, temp, 0);
		return false;
	}
	return true;
}

void hop_cache_put(hop_env *e, hop_hash key, const void *p, size_t n)
{
	uint64_t size = n + sizeof(header), most = hop_cache_bound();
	hop_cache_dir d;
	if ((most && size > most) || !hop_cache_open(&d, true))
		return;
	if (store(d.fd, key, p, n))
		hop_cache_trim(e, &d, key, size);
	close(d.fd);
}
