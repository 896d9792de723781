/* file.c -- whole files in and out of memory. Does not look at what is in them. */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

const char *hop_path_name(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

static hop_status failed(hop_env *e, const char *path)
{
	return hop_fail(e, 0, HOP_EIO, "%s: %s", hop_path_name(path), strerror(errno));
}

static hop_status too_large(hop_env *e, const char *path, size_t most)
{
	return hop_fail(e, 0, HOP_EIO, "%s: the file is larger than %zu bytes",
	                hop_path_name(path), most);
}

/* What a file says of its size is used only to refuse it early: pipes say nothing, files of
 * /proc say 0, and any may grow meanwhile. */
static hop_status read_all(hop_env *e, int fd, const char *path, size_t most, hop_buf *b)
{
	enum { BLOCK = 1 << 18 };
	struct stat about;
	if (fstat(fd, &about))
		return failed(e, path);
	if (S_ISREG(about.st_mode) && about.st_size > 0 && (uint64_t)about.st_size > most)
		return too_large(e, path, most);
	hop_mark m = hop_mark_at(&e->tmp);
	char *s = hop_arena_alloc(&e->tmp, BLOCK);
	hop_status st = HOP_OK;
	size_t got = 0;
	while (!st) {
		ssize_t n = read(fd, s, BLOCK);
		if (!n)
			break;
		if (n < 0) {
			if (errno != EINTR)
				st = failed(e, path);
			continue;
		}
		if ((size_t)n > most - got)
			st = too_large(e, path, most);
		else
			hop_putn(b, s, (size_t)n);
		got += (size_t)n;
	}
	hop_rewind(&e->tmp, m);
	return st;
}

/* A frame of its own: the buffer may grow into the exit for "no memory", which would lose
 * the descriptor. */
hop_status hop_file_read(hop_env *e, const char *path, size_t most, hop_buf *b)
{
	bool std = !strcmp(path, "-");
	int fd = std ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	hop_frame f;
	if (fd < 0)
		return failed(e, path);
	if (HOP_GUARD(e, &f)) {
		hop_guard_end(e, &f);
		if (!std)
			close(fd);
		hop_nomem(e);
	}
	hop_status st = read_all(e, fd, path, most, b);
	hop_guard_end(e, &f);
	if (!std)
		close(fd);
	return st;
}

void hop_out_open(hop_out *o, hop_env *e, const char *path)
{
	*o = (hop_out){ .env = e, .path = path };
	hop_buf_open(&o->tmp, e);
	hop_putf(&o->tmp, "%s.%ld.%zx.tmp", path, (long)getpid(), (size_t)o);   /* a thread's own */
	o->f = fopen(o->tmp.s, "wb");
	o->why = o->f ? 0 : errno;
}

void hop_out_put(hop_out *o, const void *p, size_t n)
{
	if (!o->why && n && fwrite(p, 1, n, o->f) != n)
		o->why = errno ? errno : EIO;
	o->n += n;
}

void hop_out_drop(hop_out *o)
{
	if (o->f) {
		(void)!fclose(o->f);
		remove(o->tmp.s);
	}
	o->f = NULL;
	hop_buf_free(&o->tmp);
}

hop_status hop_out_close(hop_out *o)
{
	if (o->f && fclose(o->f) && !o->why)
		o->why = errno;
	if (!o->why && rename(o->tmp.s, o->path))
		o->why = errno;
	if (o->why && o->f)
		remove(o->tmp.s);
	o->f = NULL;
	hop_buf_free(&o->tmp);
	return o->why ? hop_fail(o->env, 0, HOP_EIO, "%s: %s", o->path, strerror(o->why)) : HOP_OK;
}

hop_status hop_file_write(hop_env *e, const char *path, const void *p, size_t n)
{
	hop_out o;
	hop_out_open(&o, e, path);
	hop_out_put(&o, p, n);
	return hop_out_close(&o);
}
