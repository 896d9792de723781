/* object.c -- build ids of ELF objects, in memory and on disk. Does not load anything,
 * and believes no offset that it reads. */
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/object.h"

enum { NOTES = 4096 };           /* bytes of notes that are looked at */

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_NONE };      /* no file is one of ours */
#endif

static size_t up(size_t n, size_t align)
{
	return (n + align - 1) / align * align;
}

/* Find the build id among notes; each is three numbers, a name, a description. */
static bool find_id(const unsigned char *p, size_t n, size_t align, hop_hash *out_id)
{
	align = align == 8 ? 8 : 4;
	while (n >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) h;
		size_t desc, end;

		memcpy(&h, p, sizeof h);
		if (h.n_namesz > n || h.n_descsz > n)
			return false;
		desc = up(sizeof h + h.n_namesz, align);
		end = desc + h.n_descsz;
		if (end > n)
			return false;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && h.n_descsz &&
		    !memcmp(p + sizeof h, "GNU", 4)) {
			*out_id = hop_hash_bytes(p + desc, h.n_descsz);
			return true;
		}
		end = up(end, align);
		if (end >= n)
			return false;
		p += end;
		n -= end;
	}
	return false;
}

/* ---- in memory ---- */

typedef struct query {
	uintptr_t addr;
	bool      text;              /* wanted: the hash instead of the build id */
	bool      found;
	hop_hash  id;
} query;

static const unsigned char *start(const struct dl_phdr_info *o, const ElfW(Phdr) *h)
{
	return (const unsigned char *)(uintptr_t)(o->dlpi_addr + h->p_vaddr);
}

static bool contains(const struct dl_phdr_info *o, uintptr_t addr)
{
	for (int i = 0; i < o->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &o->dlpi_phdr[i];

		if (h->p_type == PT_LOAD && addr - (uintptr_t)start(o, h) < h->p_memsz)
			return true;
	}
	return false;
}

/* Reads across the gaps that the address sanitizer puts between constants, so it must not
 * be checked by it; hop_hash_bytes is. */
__attribute__((no_sanitize("address")))
static void mix(hop_hash *h, const unsigned char *p, size_t n)
{
	while (n) {
		bool wide = n >= 8 && (uintptr_t)p % 8 == 0;
		uint64_t w = wide ? *(const uint64_t *)(const void *)p : *p;
		h->lo = (h->lo ^ w) * 0x9e3779b97f4a7c15u;
		h->lo ^= h->lo >> 29;
		h->hi = (h->hi + w) * 0xd6e8feb86659fd93u;
		h->hi ^= h->hi >> 32;
		p += wide ? 8 : 1;
		n -= wide ? 8 : 1;
	}
}

static int look(struct dl_phdr_info *o, size_t size, void *user)
{
	query *q = user;
	(void)size;
	if (!contains(o, q->addr))
		return 0;
	for (int i = 0; i < o->dlpi_phnum && !q->found; i++) {
		const ElfW(Phdr) *h = &o->dlpi_phdr[i];

		if (q->text && h->p_type == PT_LOAD && (h->p_flags & (PF_R | PF_W)) == PF_R)
			mix(&q->id, start(o, h), h->p_filesz);
		else if (!q->text && h->p_type == PT_NOTE)
			q->found = find_id(start(o, h), h->p_memsz, h->p_align, &q->id);
	}
	return 1;
}

/* The walk has a lock in the C library that fork() does not reset. */
static void ask(query *q)
{
	hop_nofork_begin();
	dl_iterate_phdr(look, q);
	hop_nofork_end();
}

bool hop_object_id(const void *addr, hop_hash *out_id)
{
	query q = { .addr = (uintptr_t)addr };
	ask(&q);
	*out_id = q.id;
	return q.found;
}

hop_hash hop_object_text(const void *addr)
{
	query q = { .addr = (uintptr_t)addr, .text = true, .id = { 1, 1 } };
	ask(&q);
	return q.id;
}

/* ---- on disk ---- */

static bool read_at(int fd, uint64_t at, void *p, size_t n)
{
	return at <= INT64_MAX && pread(fd, p, n, (off_t)at) == (ssize_t)n;
}

static bool ours(const ElfW(Ehdr) *h)
{
	return !memcmp(h->e_ident, ELFMAG, SELFMAG) &&
	       h->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
	       h->e_machine == MACHINE && h->e_type == ET_DYN &&
	       h->e_phentsize == sizeof(ElfW(Phdr));
}

static bool id_in(int fd, const ElfW(Ehdr) *eh, hop_hash *out_id)
{
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		unsigned char notes[NOTES];
		ElfW(Phdr)    h;
		size_t n;

		if (!read_at(fd, eh->e_phoff + i * sizeof h, &h, sizeof h))
			return false;
		if (h.p_type != PT_NOTE)
			continue;
		n = h.p_filesz < NOTES ? h.p_filesz : NOTES;
		if (read_at(fd, h.p_offset, notes, n) && find_id(notes, n, h.p_align, out_id))
			return true;
	}
	return false;
}

static hop_hash id_of(const struct stat *st)
{
	char text[256];
	int n = snprintf(text, sizeof text, "%ju %ju %jd %jd.%09ld %jd.%09ld",
	                 (uintmax_t)st->st_dev, (uintmax_t)st->st_ino, (intmax_t)st->st_size,
	                 (intmax_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
	                 (intmax_t)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
	return hop_hash_bytes(text, (size_t)n);
}

bool hop_object_file(const char *path, hop_hash *out_id)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ElfW(Ehdr)  h;
	struct stat st;
	bool ok;

	if (fd < 0)
		return false;
	ok = !fstat(fd, &st) && S_ISREG(st.st_mode) && read_at(fd, 0, &h, sizeof h) &&
	     ours(&h);
	if (ok && !id_in(fd, &h, out_id))
		*out_id = id_of(&st);
	close(fd);
	return ok;
}
