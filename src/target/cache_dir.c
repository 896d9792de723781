/* cache_dir.c -- where the object cache is, and whether it may be believed: its files are
 * run. Only the user and root may be able to write there. What is opened is checked, not
 * what is named, and everything after goes through what was opened. Does not look into
 * files. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/cache.h"

enum { PATH = sizeof((hop_cache_dir *)0)->path, LINKS = 16, TOLD = 16 };

/* ---- messages ---- */

/* True the first time for this directory in this process. A variable of the process,
 * because its standard error is: each context, each compilation would say the same. No
 * lock, so fork() is nothing to it; one whose place is taken is silent. */
static bool first_time(const char *path)
{
	static _Atomic uint64_t told[TOLD];
	uint64_t h = hop_hash_bytes(path, strlen(path)).lo | 1;

	for (int i = 0; i < TOLD; i++) {
		uint64_t was = 0;

		if (atomic_compare_exchange_strong(&told[i], &was, h))
			return true;
		if (was == h)
			return false;
	}
	return false;
}

/* Always false. `what` is the cache or a file of it. */
__attribute__((format(printf, 3, 4)))
static bool refuse(const hop_cache_dir *d, const char *what, const char *fmt, ...)
{
	char text[2 * PATH];
	va_list ap;
	if (!first_time(d->path))
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	fprintf(stderr, "hop: %s %s is ignored: %s\n", what, d->path, text);
	return false;
}

/* ---- trust ---- */

static bool ours(const struct stat *st)
{
	return !st->st_uid || st->st_uid == geteuid();
}

static bool shared(const struct stat *st)
{
	return st->st_mode & (S_IWGRP | S_IWOTH);
}

/* Where a directory that was opened is now; for messages. */
static void place(int fd, char *out)
{
	char proc[64];
	ssize_t n;
	snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
	n = readlink(proc, out, PATH - 1);
	if (n > 0)
		out[n] = 0;
	else
		strcpy(out, "a directory on the way there");
}

bool hop_cache_trusts(const hop_cache_dir *d, const char *name, const struct stat *st)
{
	if (!ours(st))
		return refuse(d, "a file of the cache", "it belongs to user %ju: rm %s/%s",
		              (uintmax_t)st->st_uid, d->path, name);
	if (shared(st))
		return refuse(d, "a file of the cache", "others can write it: chmod go-w %s/%s",
		              d->path, name);
	return true;
}

static bool trusts_dir(const hop_cache_dir *d)
{
	struct stat st;
	if (fstat(d->fd, &st))
		return false;
	if (!ours(&st))
		return refuse(d, "the cache", "it belongs to user %ju: set HOP_CACHE_DIR to a "
		              "directory of your own", (uintmax_t)st.st_uid);
	if (shared(&st))
		return refuse(d, "the cache", "others can write it: chmod go-w %s", d->path);
	return true;
}

/* ---- the way there ---- */

/* The walk goes down name by name, because a directory that passes trusts_dir can still
 * be the wrong one: ours, but filled by others (an archive that we unpacked) and moved or
 * linked to the cache's place. For that they must write to a directory on the way. So
 * nothing on the way may be open to everybody, unless it is sticky, as /tmp is: there,
 * what is ours stays in place, and what is not ours is not followed. Other owners and
 * groups on the way are not looked at: a user who puts the cache below a colleague's
 * directory knows whose it is, and the colleague's own files are refused. */
typedef struct walk {
	hop_cache_dir *d;              /* d->fd: where we are */
	bool           make;
	int            links;
	char           rest[PATH];     /* the way still to go */
} walk;

static bool enter(walk *w, int fd)
{
	if (w->d->fd >= 0)
		close(w->d->fd);
	w->d->fd = fd;
	return fd >= 0;
}

static bool follow(walk *w, const char *name)
{
	char to[PATH], rest[PATH];
	ssize_t n = readlinkat(w->d->fd, name, to, sizeof to - 1);
	int k;
	if (n <= 0 || ++w->links > LINKS)
		return false;
	to[n] = 0;
	k = snprintf(rest, sizeof rest, "%s/%s", to, w->rest);
	if (k < 0 || (size_t)k >= sizeof rest)
		return false;
	memcpy(w->rest, rest, (size_t)k + 1);
	return *to != '/' || enter(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static bool step(walk *w, const char *name)
{
	struct stat up, st;
	char at[PATH];
	if (fstat(w->d->fd, &up))
		return false;
	if ((up.st_mode & (S_IWOTH | S_ISVTX)) == S_IWOTH) {
		place(w->d->fd, at);
		return refuse(w->d, "the cache", "everybody can write %s: chmod o-w %s", at, at);
	}
	/* Another process may make it at the same time: only the result counts. */
	if (w->make)
		mkdirat(w->d->fd, name, 0700);
	if (fstatat(w->d->fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return false;
	if ((up.st_mode & S_IWOTH) && !ours(&st)) {
		place(w->d->fd, at);
		return refuse(w->d, "the cache", "%s/%s belongs to user %ju: set HOP_CACHE_DIR "
		              "to a directory of your own", at, name, (uintmax_t)st.st_uid);
	}
	if (S_ISLNK(st.st_mode))
		return follow(w, name);
	return enter(w, openat(w->d->fd, name,
	                       O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

static bool go(walk *w)
{
	char name[256];
	if (!enter(w, open(*w->rest == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC)))
		return false;
	for (;;) {
		size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/");
		if (!n)
			return true;
		if (n >= sizeof name)
			return false;
		memcpy(name, w->rest + skip, n);
		name[n] = 0;
		memmove(w->rest, w->rest + skip + n, strlen(w->rest + skip + n) + 1);
		if (!step(w, name))
			return false;
	}
}

/* ---- the directory ---- */

/* False: caching is off, or no directory is known. */
static bool named(char *out)
{
	const char *off = getenv("HOP_CACHE"), *d = getenv("HOP_CACHE_DIR");
	int k;
	if (off && !strcmp(off, "0"))
		return false;
	if (d && *d)
		k = snprintf(out, PATH, "%s", d);
	else if ((d = getenv("XDG_CACHE_HOME")) && *d)
		k = snprintf(out, PATH, "%s/hop", d);
	else if ((d = getenv("HOME")) && *d)
		k = snprintf(out, PATH, "%s/.cache/hop", d);
	else
		return false;
	return k > 0 && k < PATH;
}

bool hop_cache_open(hop_cache_dir *d, bool make)
{
	walk w = { .d = d, .make = make };
	d->fd = -1;
	if (!named(d->path))
		return false;
	memcpy(w.rest, d->path, sizeof w.rest);
	if (go(&w) && trusts_dir(d))
		return true;
	if (d->fd >= 0)
		close(d->fd);
	return false;
}
