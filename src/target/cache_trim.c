/* cache_trim.c -- keeps the object cache below its bound, the longest unused first out,
 * and sweeps up what killed writers left. Done by those who add files, never by readers.
 *
 * A scan of the directory takes a microsecond or two a file, so it is not made for each
 * file. A file named tally grows by one byte for every 4096 that are added: appending is
 * atomic, so any number of processes count together without a lock, and its length times
 * 4096 is never less than what they added. A scan is made when that passes the bound,
 * when there was no tally yet, and for one key in 256, for what no tally knows: what was
 * left or copied here. It leaves an eighth of the bound free and makes the tally true
 * again. A file that another process adds meanwhile may escape the count until the next
 * scan; one that it just used may be removed. Both only cost time. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "target/cache.h"

enum { BLOCK = 4096, EVERY = 256, STALE = 24 * 60 * 60 };

typedef struct item {
	struct timespec used;
	uint64_t        blocks;
	char            name[HOP_CACHE_NAME + 1];
} item;

typedef struct scan {
	hop_mem  mem;
	item    *item;
	size_t   n, cap;
	uint64_t blocks;             /* of all items */
} scan;

uint64_t hop_cache_bound(void)
{
	const char *s = getenv("HOP_CACHE_MAX");
	char *end;
	uint64_t n;
	if (s && isdigit((unsigned char)*s)) {
		n = strtoull(s, &end, 10);
		if (!*end)
			return n;
	}
	return (uint64_t)512 << 20;
}

/* ---- scanning ---- */

static bool digits(const char *s, int n)
{
	return (int)strspn(s, "0123456789abcdef") >= n;
}

static bool is_object(const char *s)
{
	return strlen(s) == HOP_CACHE_NAME && digits(s, 32) && !strcmp(s + 32, ".o");
}

static bool is_temp(const char *s)
{
	return strlen(s) == HOP_CACHE_TEMP && digits(s, 32) && !strncmp(s + 32, ".o.", 3) &&
	       digits(s + HOP_CACHE_NAME + 1, 16);
}

static bool add(scan *s, const char *name, const struct stat *st)
{
	item *i;
	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 256;

		i = s->mem.fn(s->mem.user, s->item, s->cap * sizeof *i, cap * sizeof *i);
		if (!i)
			return false;
		s->item = i;
		s->cap = cap;
	}
	i = &s->item[s->n++];
	*i = (item){ .used = st->st_mtim,
	             .blocks = ((uint64_t)st->st_size + BLOCK - 1) / BLOCK };
	memcpy(i->name, name, sizeof i->name);
	s->blocks += i->blocks;
	return true;
}

static bool read_dir(scan *s, int dir, DIR *d)
{
	time_t now = time(NULL);
	struct dirent *e;
	struct stat st;
	while ((e = readdir(d))) {
		bool object = is_object(e->d_name);

		if ((!object && !is_temp(e->d_name)) ||
		    fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		if (object && !add(s, e->d_name, &st))
			return false;
		if (!object && now - st.st_mtim.tv_sec > STALE)
			unlinkat(dir, e->d_name, 0);
	}
	return true;
}

static bool collect(scan *s, int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool ok;
	if (!d) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	ok = read_dir(s, dir, d);
	closedir(d);
	return ok;
}

static int by_use(const void *a, const void *b)
{
	const item *x = a, *y = b;
	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	if (x->used.tv_nsec != y->used.tv_nsec)
		return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* What is left is at most `most` blocks, or one file. */
static void remove_oldest(scan *s, int dir, uint64_t most)
{
	if (s->blocks <= most || !s->n)
		return;
	qsort(s->item, s->n, sizeof *s->item, by_use);
	for (size_t i = 0; i + 1 < s->n && s->blocks > most; i++) {
		unlinkat(dir, s->item[i].name, 0);
		s->blocks -= s->item[i].blocks;
	}
}

/* ---- the tally ---- */

/* Its length after adding n; -1: it cannot be used. */
static int64_t count(const hop_cache_dir *d, int fd, uint64_t n, int64_t *out_was)
{
	static const char zero[BLOCK];
	struct stat st;
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    !hop_cache_trusts(d, "tally", &st))
		return -1;
	*out_was = st.st_size;
	while (n) {
		ssize_t k = write(fd, zero, n < BLOCK ? n : BLOCK);
		if (k <= 0)
			return -1;
		n -= (uint64_t)k;
	}
	return fstat(fd, &st) ? -1 : st.st_size;
}

static void scan_now(hop_env *e, const hop_cache_dir *d, int tally, uint64_t most)
{
	scan s = { .mem = e->mem };
	if (collect(&s, d->fd)) {
		if (most)
			remove_oldest(&s, d->fd, (most - most / 8) / BLOCK);
		if (tally >= 0 && ftruncate(tally, (off_t)s.blocks))
			s.blocks = 0;            /* too high a tally only scans again */
	}
	hop_raw_free(&s.mem, s.item, s.cap * sizeof *s.item);
}

void hop_cache_trim(hop_env *e, const hop_cache_dir *d, hop_hash key, uint64_t n)
{
	uint64_t most = hop_cache_bound();
	int fd = openat(d->fd, "tally", O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW |
	                O_NONBLOCK | O_CLOEXEC, 0600);
	int64_t was = 0, now = count(d, fd, (n + BLOCK - 1) / BLOCK, &was);
	bool due = key.lo % EVERY == 0;
	if (now >= 0)
		due = due || !was || (most && (uint64_t)now > most / BLOCK);
	/* One scan at a time is enough. The lock is given back by hand: a child of fork() may
	 * hold a copy of fd, and with it the lock, for as long as it lives. */
	if (due && (now < 0 || !flock(fd, LOCK_EX | LOCK_NB))) {
		scan_now(e, d, now < 0 ? -1 : fd, most);
		if (now >= 0)
			flock(fd, LOCK_UN);
	}
	if (fd >= 0)
		close(fd);
}
