/* cache_test.c -- files of the object cache: what is damaged is no file, what others
 * could have written is not run and is named, the bound holds, and any number of
 * processes and threads may use it at once. What is in a key is cache_key_test.c. */
#include <pthread.h>

#include "cache_rig.h"

/* ---- entries ---- */

static hop_hash key_of(uint64_t i)
{
	return hop_hash_bytes(&i, sizeof i);
}

static void path_of(const site *s, hop_hash k, char *out)
{
	snprintf(out, 160, "%s/%016llx%016llx.o", s->dir, (unsigned long long)k.hi,
	         (unsigned long long)k.lo);
}

enum { SIZE = 8000 };                /* two blocks, with the header */

static void fill(unsigned char *p, size_t n, uint64_t i)
{
	for (size_t k = 0; k < n; k++)
		p[k] = (unsigned char)(k * 7 + i);
}

static void put_n(site *s, uint64_t i, size_t n)
{
	unsigned char *p = malloc(n);

	assert_non_null(p);
	fill(p, n, i);
	hop_cache_put(&s->r.e, key_of(i), p, n);
	free(p);
}

static void put(site *s, uint64_t i)
{
	put_n(s, i, SIZE);
}

/* Whether it is there; if so, it must be right. */
static bool get_n(site *s, uint64_t i, size_t n)
{
	size_t         got = 0;
	unsigned char *want = malloc(n), *p = hop_cache_get(&s->r.e, key_of(i), &got);

	assert_non_null(want);
	if (p) {
		fill(want, n, i);
		assert_int_equal(got, n);
		assert_memory_equal(p, want, n);
		hop_raw_free(&s->r.e.mem, p, got);
	}
	free(want);
	return p;
}

static bool get(site *s, uint64_t i)
{
	return get_n(s, i, SIZE);
}

static bool there(const site *s, uint64_t i)
{
	char path[160];

	path_of(s, key_of(i), path);
	return !access(path, F_OK);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

/* ---- what it says on standard error ---- */

static int  err_was;
static char err_text[8192];

static void listen(const site *s)
{
	char path[160];
	int  fd;

	snprintf(path, sizeof path, "%s/stderr", s->top);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	fflush(stderr);
	err_was = dup(2);
	dup2(fd, 2);
	close(fd);
}

/* Number of lines since listen; the text is in err_text. */
static int heard(void)
{
	ssize_t n;
	int     lines = 0;

	fflush(stderr);
	n = pread(2, err_text, sizeof err_text - 1, 0);
	dup2(err_was, 2);
	close(err_was);
	err_text[n < 0 ? 0 : n] = 0;
	for (const char *p = err_text; (p = strchr(p, '\n')); p++)
		lines++;
	return lines;
}

/* Said once however often it is asked, with these words in it. */
static void refused(site *s, const char *word, const char *remedy)
{
	listen(s);
	for (int i = 0; i < 3; i++)
		assert_false(get(s, 1));
	assert_int_equal(heard(), 1);
	assert_non_null(strstr(err_text, s->dir));
	assert_non_null(strstr(err_text, "ignored"));
	assert_non_null(strstr(err_text, word));
	assert_non_null(strstr(err_text, remedy));
}

/* ---- damage ---- */

static size_t read_file(const char *path, unsigned char *p, size_t cap)
{
	FILE  *f = fopen(path, "rb");
	size_t n;

	assert_non_null(f);
	n = fread(p, 1, cap, f);
	fclose(f);
	return n;
}

static void write_file(const char *path, const unsigned char *p, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	fclose(f);
	chmod(path, 0600);
}

static void test_damage(void **state)
{
	enum { SMALL = 150 };
	site         *s = *state;
	char          path[160];
	unsigned char p[512];
	size_t        n;

	put_n(s, 1, SMALL);
	assert_true(get_n(s, 1, SMALL));
	path_of(s, key_of(1), path);
	n = read_file(path, p, sizeof p);
	assert_true(n > SMALL && n < sizeof p - 1);
	for (size_t i = 0; i < n; i++) {             /* each byte: magic, key, length, sum */
		p[i] ^= 0x10;
		write_file(path, p, n);
		assert_false(get_n(s, 1, SMALL));
		p[i] ^= 0x10;
	}
	for (size_t i = 0; i < n; i++) {             /* each length */
		write_file(path, p, i);
		assert_false(get_n(s, 1, SMALL));
	}
	p[n] = 0;
	write_file(path, p, n + 1);
	assert_false(get_n(s, 1, SMALL));
	write_file(path, p, n);
	assert_true(get_n(s, 1, SMALL));
}

/* The contents of one key under the name and the key of another. */
static void test_swapped(void **state)
{
	site         *s = *state;
	hop_hash      k[2] = { key_of(1), key_of(2) };
	char          path[160];
	unsigned char p[SIZE + 100];
	size_t        n;
	int           found = 0;

	put(s, 1);
	path_of(s, k[0], path);
	n = read_file(path, p, sizeof p);
	path_of(s, k[1], path);
	write_file(path, p, n);
	assert_false(get(s, 2));
	for (size_t i = 0; i + sizeof k[0] <= n; i++)
		if (!memcmp(p + i, &k[0], sizeof k[0])) {
			memcpy(p + i, &k[1], sizeof k[1]);
			found++;
		}
	assert_int_equal(found, 1);
	write_file(path, p, n);
	assert_false(get(s, 2));
	put(s, 2);
	assert_true(get(s, 2));
}

/* ---- trust ---- */

static void test_modes(void **state)
{
	site  *s = *state;
	mode_t was = umask(0);
	char   path[160];

	snprintf(s->dir, sizeof s->dir, "%s/a/b/cache", s->top);
	setenv("HOP_CACHE_DIR", s->dir, 1);
	put(s, 1);
	umask(was);
	assert_true(get(s, 1));
	path_of(s, key_of(1), path);
	assert_int_equal(mode_of(path), 0600);
	snprintf(path, sizeof path, "%s/tally", s->dir);
	assert_int_equal(mode_of(path), 0600);
	for (char *p; (p = strrchr(s->dir, '/')) > s->dir + strlen(s->top) - 1; *p = 0)
		assert_int_equal(mode_of(s->dir), 0700);
}

static void test_shared_file(void **state)
{
	site *s = *state;
	char  path[160];

	put(s, 1);
	path_of(s, key_of(1), path);
	chmod(path, 0644);                           /* others may read it */
	assert_true(get(s, 1));
	chmod(path, 0602);
	refused(s, "others can write", "chmod go-w");
	chmod(path, 0620);
	assert_false(get(s, 1));
	put(s, 1);                                   /* replaced by one of ours */
	assert_true(get(s, 1));
	assert_int_equal(mode_of(path), 0600);
}

static void test_shared_dir(void **state)
{
	site *s = *state;

	put(s, 1);
	chmod(s->dir, 0755);
	assert_true(get(s, 1));
	chmod(s->dir, 01777);                        /* sticky or not: anybody may add */
	refused(s, "others can write it", "chmod go-w");
	chmod(s->dir, 0770);
	assert_false(get(s, 1));
	put(s, 2);
	chmod(s->dir, 0700);
	assert_true(get(s, 1));
	assert_false(there(s, 2));
}

static void test_shared_parent(void **state)
{
	site *s = *state;

	put(s, 1);
	chmod(s->top, 01777);                        /* as /tmp */
	assert_true(get(s, 1));
	chmod(s->top, 0770);                         /* a group's, as its members chose */
	assert_true(get(s, 1));
	chmod(s->top, 0777);
	refused(s, "everybody can write", "chmod o-w");
	put(s, 2);
	chmod(s->top, 0700);
	assert_true(get(s, 1));
	assert_false(there(s, 2));
}

/* Root only: it can give files away. */
static void test_owner(void **state)
{
	enum { OTHER = 12345 };
	site *s = *state;
	char  path[160];

	if (geteuid())
		skip();
	put(s, 1);
	path_of(s, key_of(1), path);
	assert_int_equal(chown(path, OTHER, OTHER), 0);
	refused(s, "belongs to user 12345", "rm ");
	put(s, 1);
	assert_true(get(s, 1));
	assert_int_equal(chown(s->dir, OTHER, OTHER), 0);
	assert_false(get(s, 1));
	assert_int_equal(chown(s->dir, 0, 0), 0);
	assert_true(get(s, 1));
	/* A user believes root, and himself. */
	assert_int_equal(chmod(s->top, 0755), 0);
	assert_int_equal(chmod(s->dir, 0755), 0);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(seteuid(OTHER), 0);
	bool ok = get(s, 1);
	assert_int_equal(seteuid(0), 0);
	assert_true(ok);
}

static void test_owner_dir(void **state)
{
	site *s = *state;

	if (geteuid())
		skip();
	put(s, 1);
	assert_int_equal(chown(s->dir, 12345, 12345), 0);
	refused(s, "belongs to user 12345", "HOP_CACHE_DIR");
}

/* In a directory of everybody's, what a stranger put there is not followed. */
static void test_stranger_link(void **state)
{
	site *s = *state;

	if (geteuid())
		skip();
	put(s, 1);
	assert_int_equal(chmod(s->top, 01777), 0);
	snprintf(s->dir, sizeof s->dir, "%s/link", s->top);
	assert_int_equal(symlink("cache", s->dir), 0);
	setenv("HOP_CACHE_DIR", s->dir, 1);
	assert_true(get(s, 1));
	assert_int_equal(lchown(s->dir, 12345, 12345), 0);
	refused(s, "belongs to user 12345", "HOP_CACHE_DIR");
}

/* ---- things that are not what they should be ---- */

static void test_links(void **state)
{
	site *s = *state;
	char  path[160], real[160], link[160];
	int   here;

	put(s, 1);
	path_of(s, key_of(1), path);
	snprintf(real, sizeof real, "%s/real.o", s->top);
	assert_int_equal(rename(path, real), 0);
	assert_int_equal(symlink(real, path), 0);
	assert_false(get(s, 1));                     /* a link in place of a file */
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(get(s, 1));                     /* does not wait for a writer */
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_false(get(s, 1));
	put(s, 1);                                   /* in vain */
	rmdir(path);
	put(s, 1);
	assert_true(get(s, 1));
	/* A user may keep the cache elsewhere. */
	for (int i = 0; i < 2; i++) {
		snprintf(link, sizeof link, "%s/link%d", s->top, i);
		assert_int_equal(symlink(i ? s->dir : "./cache/../cache", link), 0);
		setenv("HOP_CACHE_DIR", link, 1);
		assert_true(get(s, 1));
	}
	snprintf(link, sizeof link, "%s/loop", s->top);
	assert_int_equal(symlink("loop", link), 0);
	setenv("HOP_CACHE_DIR", link, 1);
	assert_false(get(s, 1));
	put(s, 1);
	here = open(".", O_PATH | O_CLOEXEC);
	assert_int_equal(chdir(s->top), 0);
	setenv("HOP_CACHE_DIR", "cache", 1);
	assert_true(get(s, 1));
	assert_int_equal(fchdir(here), 0);
	close(here);
}

/* No directory to be had: silent, and the program is compiled all the same. */
static void test_no_directory(void **state)
{
	static const char *const bad[] = { "/proc/self/status", "/proc/self/status/x",
	                                   "/proc/nothing/cache", "/dev/null" };
	site *s = *state;
	char  path[160];

	listen(s);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		setenv("HOP_CACHE_DIR", bad[i], 1);
		assert_false(use(2));
		assert_false(use(2));
	}
	snprintf(path, sizeof path, "%s/file", s->top);
	write_file(path, (const unsigned char *)"x", 1);
	setenv("HOP_CACHE_DIR", path, 1);
	assert_false(use(2));
	assert_false(use(2));
	assert_int_equal(heard(), 0);
	setenv("HOP_CACHE_DIR", s->dir, 1);
	assert_false(use(2));
	assert_true(use(2));
}

/* Root writes everywhere, so it becomes somebody else for this. */
static bool read_only(site *s)
{
	bool ok;

	if (!geteuid() && (chown(s->top, 12345, 12345) || setuid(12345)))
		return false;
	put(s, 1);
	chmod(s->dir, 0500);
	listen(s);
	put(s, 2);
	ok = get(s, 1) && !get(s, 2);
	chmod(s->dir, 0);
	put(s, 2);
	ok = ok && !get(s, 1);
	chmod(s->dir, 0700);
	return ok && get(s, 1) && !heard();
}

static void test_read_only(void **state)
{
	int st;

	fflush(NULL);
	if (!fork())
		_exit(!read_only(*state));
	assert_true(wait(&st) > 0);
	assert_int_equal(st, 0);
}

/* ---- the bound ---- */

static void age(const site *s, uint64_t i, long seconds)
{
	struct timespec t[2] = { { .tv_sec = time(NULL) - seconds } };
	char            path[160];

	t[1] = t[0];
	path_of(s, key_of(i), path);
	assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static void bound(long n)
{
	char text[32];

	snprintf(text, sizeof text, "%ld", n);
	setenv("HOP_CACHE_MAX", text, 1);
}

/* Bytes of the files that hold objects, each in whole blocks; all other files than the
 * tally into *out_rest. */
static long total(const site *s, int *out_rest)
{
	DIR           *d = opendir(s->dir);
	struct dirent *e;
	struct stat    st;
	long           n = 0;

	assert_non_null(d);
	*out_rest = 0;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.' || !strcmp(e->d_name, "tally"))
			continue;
		if (strlen(e->d_name) != 34) {
			++*out_rest;
		} else if (!fstatat(dirfd(d), e->d_name, &st, 0)) {
			n += (st.st_size + 4095) / 4096 * 4096;
		}
	}
	closedir(d);
	return n;
}

static void test_oldest_first(void **state)
{
	site *s = *state;
	int   rest;

	bound(10 * 8192);
	for (uint64_t i = 0; i < 10; i++) {
		put(s, i);
		age(s, i, 1000 - (long)i);
	}
	for (uint64_t i = 0; i < 10; i++)
		assert_true(there(s, i));
	assert_true(get(s, 0));                      /* used just now */
	put(s, 10);
	assert_true(total(s, &rest) <= 10 * 8192);
	assert_true(there(s, 0));
	assert_true(there(s, 10));
	assert_true(there(s, 9));
	assert_false(there(s, 1));
	bool gone = true;                            /* the old ones first */
	for (uint64_t i = 1; i < 10; i++) {
		assert_true(gone || there(s, i));
		gone = gone && !there(s, i);
	}
}

static void test_bound(void **state)
{
	site *s = *state;
	int   rest;

	bound(20 * 8192);
	for (uint64_t i = 0; i < 300; i++) {
		put(s, i);
		assert_true(get(s, i));
		assert_true(total(s, &rest) <= 20 * 8192);
		assert_int_equal(rest, 0);
	}
	put_n(s, 1000, 21 * 8192);                   /* larger than all: not kept */
	assert_false(there(s, 1000));
	bound(0);
	for (uint64_t i = 0; i < 100; i++)
		put(s, i);
	assert_int_equal(total(s, &rest) / 8192 >= 100, 1);
	setenv("HOP_CACHE_MAX", "plenty", 1);        /* no number: as if it were not set */
	put(s, 100);
	assert_true(there(s, 0) && there(s, 100));
	bound(5 * 8192);                             /* a smaller bound than before */
	put(s, 101);
	assert_true(total(s, &rest) <= 5 * 8192);
}

/* Writers that were killed leave files; strangers' files are not ours to remove. */
static void test_leftovers(void **state)
{
	static const char *const name[] = {
		"0123456789abcdef0123456789abcdef.o.0123456789abcdef",
		"0123456789abcdef0123456789abcdef.o.0123456789abcde0",
		"0123456789abcdef0123456789abcdef.o.x", "notes.txt",
	};
	struct timespec old[2] = { { .tv_sec = time(NULL) - 100000 } };
	site           *s = *state;
	char            path[4][160];

	old[1] = old[0];
	put(s, 0);
	for (int i = 0; i < 4; i++) {
		snprintf(path[i], sizeof path[i], "%s/%s", s->dir, name[i]);
		write_file(path[i], (const unsigned char *)"x", 1);
		if (i != 1)
			utimensat(AT_FDCWD, path[i], old, 0);
	}
	for (uint64_t i = 1; i < 2000 && !access(path[0], F_OK); i++)
		put_n(s, i, 10);
	assert_int_equal(access(path[0], F_OK), -1);
	for (int i = 1; i < 4; i++)
		assert_int_equal(access(path[i], F_OK), 0);
}

/* ---- many at once ---- */

enum { WRITERS = 4, ROUNDS = 150, KEYS = 12 };

static void hammer(site *s, unsigned seed)
{
	for (int i = 0; i < ROUNDS; i++) {
		seed = seed * 1103515245 + 12345;
		put(s, (seed >> 8) % KEYS);
		get(s, (seed >> 16) % KEYS);             /* right or not there */
	}
}

static void test_processes(void **state)
{
	site *s = *state;
	int   rest, st;

	bound(6 * 8192);
	fflush(NULL);
	for (unsigned i = 0; i < WRITERS; i++)
		if (!fork()) {
			hammer(s, i);
			_exit(0);
		}
	for (int i = 0; i < WRITERS; i++) {
		assert_true(wait(&st) > 0);
		assert_int_equal(st, 0);
	}
	put(s, 0);
	assert_true(get(s, 0));
	total(s, &rest);
	assert_int_equal(rest, 0);                   /* no half-written file stays */
	for (uint64_t i = 0; i < 64; i++)
		put(s, i);
	assert_true(total(s, &rest) <= 6 * 8192);
}

struct writer { site *s; unsigned seed; };

/* An env belongs to one thread. */
static void *write_on(void *user)
{
	struct writer *w = user;
	site           own = *w->s;

	hop_env_init(&own.r.e, w->s->r.c, hop_ctx_mem(w->s->r.c));
	hammer(&own, w->seed);
	hop_env_fini(&own.r.e);
	return NULL;
}

static void test_threads(void **state)
{
	site         *s = *state;
	pthread_t     t[WRITERS];
	struct writer w[WRITERS];

	bound(6 * 8192);
	for (unsigned i = 0; i < WRITERS; i++) {
		w[i] = (struct writer){ s, i };
		assert_int_equal(pthread_create(&t[i], NULL, write_on, &w[i]), 0);
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(t[i], NULL);
	put(s, 0);
	assert_true(get(s, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		site_test(test_damage), site_test(test_swapped), site_test(test_modes),
		site_test(test_shared_file), site_test(test_shared_dir),
		site_test(test_shared_parent), site_test(test_owner), site_test(test_owner_dir),
		site_test(test_stranger_link), site_test(test_links),
		site_test(test_no_directory), site_test(test_read_only),
		site_test(test_oldest_first), site_test(test_bound), site_test(test_leftovers),
		site_test(test_processes), site_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
