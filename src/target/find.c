/* find.c -- which build of a library dlopen would open, told without opening it: that takes
 * 20 to 100 ms, and a program from the object cache needs none of it. Looks where the
 * GNU loader looks, in its order. Where it errs only time is lost: what is put into the
 * cache goes by the library that really was opened. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/object.h"
#include "target/find.h"

/* ---- directories ---- */

/* The loader looks into its cache before the directories of the system, but lists all
 * directories in a row: /lib, /usr/lib, with 64 behind or a triplet below. */
static bool is_system(const char *dir)
{
	if (!strncmp(dir, "/usr/", 5))
		dir += 4;
	if (strncmp(dir, "/lib", 4))
		return false;
	dir += strncmp(dir + 4, "64", 2) ? 4 : 6;
	return !*dir || (*dir == '/' && !strchr(dir + 1, '/'));
}

static bool in_dirs(const Dl_serinfo *s, bool system, const char *name, hop_hash *out_id)
{
	char path[4096];
	for (unsigned i = 0; s && i < s->dls_cnt; i++) {
		const char *dir = s->dls_serpath[i].dls_name;
		int n = snprintf(path, sizeof path, "%s/%s", dir, name);

		if (is_system(dir) == system && n > 0 && (size_t)n < sizeof path &&
		    hop_object_file(path, out_id))
			return true;
	}
	return false;
}

/* What the loader searches for us: its own list, since LD_LIBRARY_PATH may have changed
 * after it was read, and since paths in the object that we are part of count too. No exit
 * for want of memory may be taken here: a stretch must end. */
static Dl_serinfo *directories(const hop_mem *m, size_t *out_n)
{
	Dl_serinfo head, *s = NULL;
	struct link_map *map = NULL;
	Dl_info info;
	hop_nofork_begin();
	if (dladdr1(__func__, &info, (void **)&map, RTLD_DL_LINKMAP) && map &&
	    !dlinfo(map, RTLD_DI_SERINFOSIZE, &head)) {
		*out_n = head.dls_size + sizeof head;
		s = hop_raw_try(m, *out_n);
	}
	if (s) {
		*s = head;
		if (dlinfo(map, RTLD_DI_SERINFO, s))
			s->dls_cnt = 0;
	}
	hop_nofork_end();
	return s;
}

/* ---- the loader's cache ---- */

typedef struct ld_head {
	char     magic[20];
	uint32_t nlib, nstring;
	uint32_t unused[5];
} ld_head;

typedef struct ld_entry {
	int32_t  flags;
	uint32_t name, path;         /* from the head on */
	uint32_t unused;
	uint64_t hwcap;
} ld_entry;

_Static_assert(sizeof(ld_head) == 48 && sizeof(ld_entry) == 24, "as ldconfig has them");

static bool in_list(const char *p, size_t n, const char *name, hop_hash *out_id)
{
	const char *at = memmem(p, n, "glibc-ld.so.cache1.1", 20);
	const ld_head *h = (const void *)at;
	size_t len = strlen(name) + 1;
	if (!at || (uintptr_t)at % 8)
		return false;
	n -= (size_t)(at - p);
	if (n < sizeof *h || h->nlib > (n - sizeof *h) / sizeof(ld_entry))
		return false;
	for (uint32_t i = 0; i < h->nlib; i++) {
		const ld_entry *l = (const ld_entry *)(const void *)(h + 1) + i;

		if (l->name < n && n - l->name >= len && !memcmp(at + l->name, name, len) &&
		    l->path < n && memchr(at + l->path, 0, n - l->path) &&
		    hop_object_file(at + l->path, out_id))
			return true;
	}
	return false;
}

static bool in_cache(const char *name, hop_hash *out_id)
{
	int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p = MAP_FAILED;
	bool ok = false;
	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p != MAP_FAILED) {
		ok = in_list(p, (size_t)st.st_size, name, out_id);
		munmap(p, (size_t)st.st_size);
	}
	if (fd >= 0)
		close(fd);
	return ok;
}

/* ---- the search ---- */

static bool find(const Dl_serinfo *s, const char *name, hop_hash *out_id)
{
	if (strchr(name, '/'))
		return hop_object_file(name, out_id);
	return in_dirs(s, false, name, out_id) || in_cache(name, out_id) ||
	       in_dirs(s, true, name, out_id);
}

hop_hash hop_library_expected(hop_env *e, const char *(*name)(int i))
{
	size_t n = 0;
	Dl_serinfo *s = directories(&e->mem, &n);
	hop_hash id = { 0, 0 };
	const char *next;
	for (int i = 0; (next = name(i)) && !find(s, next, &id); i++)
		;
	hop_raw_free(&e->mem, s, n);
	return id;
}

hop_hash hop_library_opened(const void *in_it)
{
	hop_hash id = { 0, 0 };
	Dl_info info;
	if (!hop_object_id(in_it, &id) &&
	    (!dladdr(in_it, &info) || !hop_object_file(info.dli_fname, &id)))
		id = (hop_hash){ 0, 0 };
	return id;
}
