/* file.c -- whole files in and out of memory. Does not look at what is in them. */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* One block. The descriptor is not held while the buffer grows, which may take the exit
 * for "no memory" and would lose it; so a file is opened anew for each block. */
static ssize_t block(const char *path, off_t at, char *to, size_t n)
{
	ssize_t k;
	if (!strcmp(path, "-")) {
		do
			k = read(STDIN_FILENO, to, n);
		while (k < 0 && errno == EINTR);
		return k;
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	do
		k = pread(fd, to, n, at);
	while (k < 0 && errno == EINTR);
	int why = errno;
	close(fd);
	errno = why;
	return k;
}

hop_status hop_file_read(hop_env *e, const char *path, hop_buf *b)
{
	enum { BLOCK = 1 << 18 };
	hop_mark m = hop_mark_at(&e->tmp);
	char *s = hop_arena_alloc(&e->tmp, BLOCK);
	hop_status st = HOP_OK;
	off_t at = 0;
	for (ssize_t n; (n = block(path, at, s, BLOCK)) != 0; at += n) {
		if (n < 0) {
			st = hop_fail(e, 0, HOP_EIO, "%s: %s", path, strerror(errno));
			break;
		}
		hop_putn(b, s, (size_t)n);
	}
	hop_rewind(&e->tmp, m);
	return st;
}

hop_status hop_file_write(hop_env *e, const char *path, const void *p, size_t n)
{
	hop_buf t;
	hop_buf_open(&t, e);
	hop_putf(&t, "%s.%ld.tmp", path, (long)getpid());
	FILE *f = fopen(t.s, "wb");
	bool ok = f && fwrite(p, 1, n, f) == n;
	int why = errno;
	if (f && fclose(f) && ok) {
		ok = false;
		why = errno;
	}
	if (ok && rename(t.s, path)) {
		ok = false;
		why = errno;
	}
	if (!ok && f)
		remove(t.s);
	hop_buf_free(&t);
	return ok ? HOP_OK : hop_fail(e, 0, HOP_EIO, "%s: %s", path, strerror(why));
}
