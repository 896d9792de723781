/* bytes.c -- files as memory. A mapping is private: it shares the pages of the file until they are
 * written. Writes no files. */
#include "io/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

hop_bytes *hop_bytes_new(const hop_mem *m, size_t n)
{
	size_t room;
	if (__builtin_add_overflow(n, sizeof(hop_bytes) + HOP_BYTES_ALIGN, &room))
		return NULL;
	hop_bytes *b = hop_raw_data(m, room);
	if (!b)
		return NULL;
	uintptr_t at = (uintptr_t)(b + 1) + HOP_BYTES_ALIGN - 1;
	*b = (hop_bytes){ .refs = 1, .mem = *m, .n = n, .room = room };
	b->p = (char *)(at / HOP_BYTES_ALIGN * HOP_BYTES_ALIGN);
	return b;
}

hop_bytes *hop_bytes_retain(hop_bytes *b)
{
	__atomic_fetch_add(&b->refs, 1, __ATOMIC_RELAXED);
	return b;
}

void hop_bytes_release(void *p)
{
	hop_bytes *b = p;
	if (!b || __atomic_fetch_sub(&b->refs, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	hop_mem m = b->mem;
	if (b->mapped)
		munmap(b->p, b->n);
	hop_raw_free(&m, b, b->room);
}

static hop_status failed(hop_env *e, const char *path, int why)
{
	return hop_fail(e, 0, HOP_EIO, "%s: %s", path, strerror(why));
}

static hop_status no_memory(hop_env *e, const char *path)
{
	return hop_fail(e, 0, HOP_ENOMEM, "%s: no memory for its content", path);
}

/* Up to n bytes; fewer at the end of the file. -1 with errno after a failure. */
static ssize_t read_up_to(int fd, char *p, size_t n)
{
	size_t got = 0;
	while (got < n) {
		ssize_t k = read(fd, p + got, n - got);
		if (!k)
			break;
		if (k < 0 && errno != EINTR)
			return -1;
		got += k > 0 ? (size_t)k : 0;
	}
	return (ssize_t)got;
}

/* What a file says of its size is where reading begins: pipes say nothing, and any may grow; most
 * stops those that do not end. */
static hop_status read_all(hop_env *e, int fd, const char *path, size_t guess, size_t most,
                           hop_bytes **out_b)
{
	size_t have = 0;
	hop_bytes *b = hop_bytes_new(&e->mem, guess + 1);
	while (b) {
		ssize_t k = read_up_to(fd, b->p + have, b->n - have);
		if (k < 0) {
			int why = errno;
			hop_bytes_release(b);
			return failed(e, path, why);
		}
		have += (size_t)k;
		if (have < b->n) {
			b->n = have;
			*out_b = b;
			return HOP_OK;
		}
		if (have > most) {
			hop_bytes_release(b);
			return hop_fail(e, 0, HOP_EIO, "%s: it has more than %zu bytes and is no plain file: "
			                "make it one first", path, most);
		}
		hop_bytes *more = b->n > SIZE_MAX / 4 ? NULL : hop_bytes_new(&e->mem, 2 * b->n);
		if (more)
			memcpy(more->p, b->p, have);
		hop_bytes_release(b);
		b = more;
	}
	return no_memory(e, path);
}

static hop_status map(hop_env *e, int fd, const char *path, size_t n, hop_bytes **out_b)
{
	hop_bytes *b = hop_raw_try(&e->mem, sizeof *b);
	if (!b)
		return no_memory(e, path);
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED) {
		hop_raw_free(&e->mem, b, sizeof *b);
		return read_all(e, fd, path, n, SIZE_MAX, out_b);
	}
	*b = (hop_bytes){ .refs = 1, .mapped = true, .mem = e->mem, .p = p, .n = n,
	                  .room = sizeof *b };
	*out_b = b;
	return HOP_OK;
}

hop_status hop_bytes_load(hop_env *e, const char *path, bool copy, hop_bytes **out_b)
{
	enum { STREAM = 1 << 28 };                 /* bytes of what does not say how many it has */
	struct stat about;
	*out_b = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &about)) {
		int why = errno;
		if (fd >= 0)
			close(fd);
		return failed(e, path, why);
	}
	bool plain = S_ISREG(about.st_mode) && about.st_size > 0;
	size_t n = plain && (uint64_t)about.st_size < SIZE_MAX / 2 ? (size_t)about.st_size : 0;
	hop_status st = n && !copy ? map(e, fd, path, n, out_b)
	                           : read_all(e, fd, path, n ? n : 1 << 16, n ? SIZE_MAX : STREAM,
	                                      out_b);
	close(fd);
	return st;
}
