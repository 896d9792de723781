/* file_test.c -- whole files: those that cannot seek, limits to the byte, and descriptors
 * that must not be lost when memory runs out. What the command says is in
 * scripts/check_command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"
#include "ctx/ctx.h"

enum { LENGTH = 300000 };          /* more than a block */

static char path[] = "/tmp/hop_file_test.XXXXXX", content[LENGTH];
static long allowed;               /* allocations still given */

static void *meter(void *user, void *ptr, size_t osize, size_t nsize)
{
	(void)user;
	if (nsize && allowed-- <= 0)
		return NULL;
	return hop_alloc_default(NULL, ptr, osize, nsize);
}

static int up(void **state)
{
	(void)state;
	int fd = mkstemp(path);
	for (int i = 0; i < LENGTH; i++)
		content[i] = (char)(i * 7 + i / 256);
	return fd < 0 || write(fd, content, LENGTH) != LENGTH || close(fd);
}

static int down(void **state)
{
	(void)state;
	return unlink(path);
}

/* The lowest descriptor that is free. */
static int next_fd(void)
{
	int fd = open("/dev/null", O_RDONLY);
	close(fd);
	return fd;
}

/* Reads with so many allocations; checks what it must leave and hold. */
static hop_status attempt(const char *from, size_t most, long n, const char *words)
{
	hop_ctx *c;
	hop_env e;
	hop_frame f;
	hop_buf b;
	hop_status st;
	int before = next_fd();
	allowed = LONG_MAX;
	assert_int_equal(hop_ctx_new(NULL, &c), HOP_OK);
	hop_env_init(&e, c, (hop_mem){ meter, NULL });
	hop_buf_open(&b, &e);                      /* older than the frame: outlives it */
	allowed = n;
	if (HOP_GUARD(&e, &f)) {
		st = hop_guard_nomem(&e, &f);
	} else {
		st = hop_file_read(&e, from, most, &b);
		hop_guard_end(&e, &f);
	}
	allowed = LONG_MAX;
	if (!st) {
		assert_int_equal(b.n, LENGTH);
		assert_memory_equal(b.s, content, LENGTH);
	} else if (words && (!e.diag.text || !strstr(e.diag.text, words))) {
		fail_msg("%s lacks: %s", e.diag.text, words);
	}
	assert_int_equal(next_fd(), before);
	hop_buf_free(&b);
	hop_env_fini(&e);
	hop_ctx_free(c);
	return st;
}

static void limits(void **state)
{
	(void)state;
	assert_int_equal(attempt(path, LENGTH, LONG_MAX, NULL), HOP_OK);
	assert_int_equal(attempt(path, SIZE_MAX, LONG_MAX, NULL), HOP_OK);
	assert_int_equal(attempt(path, LENGTH - 1, LONG_MAX, "larger than 299999 bytes"), HOP_EIO);
	assert_int_equal(attempt(path, 0, LONG_MAX, path), HOP_EIO);
	assert_int_equal(attempt("/dev/zero", 1 << 20, LONG_MAX, "/dev/zero: the file is larger"),
	                 HOP_EIO);
	assert_int_equal(attempt("/tmp", LENGTH, LONG_MAX, "/tmp: Is a directory"), HOP_EIO);
	assert_int_equal(attempt("/nowhere/x", LENGTH, LONG_MAX, "/nowhere/x: No such"), HOP_EIO);
}

/* Through a named pipe, which knows neither its size nor a position. */
static void pipes(void **state)
{
	char name[64];
	(void)state;
	snprintf(name, sizeof name, "%s.pipe", path);
	for (int k = 0; k < 2; k++) {
		char line[200];
		assert_int_equal(mkfifo(name, 0600), 0);
		snprintf(line, sizeof line, "cat %s >%s &", path, name);
		assert_int_equal(system(line), 0);
		size_t most = k ? 1000 : LENGTH;
		hop_status st = attempt(name, most, LONG_MAX, "larger than 1000 bytes");
		assert_int_equal(st, k ? HOP_EIO : HOP_OK);
		unlink(name);
	}
}

static void no_memory(void **state)
{
	long n = 0;
	(void)state;
	while (attempt(path, LENGTH, n, NULL) == HOP_ENOMEM)
		n++;
	assert_true(n > 2);
	assert_int_equal(attempt(path, LENGTH, n, NULL), HOP_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits),
		cmocka_unit_test(pipes),
		cmocka_unit_test(no_memory),
	};
	return cmocka_run_group_tests(tests, up, down);
}
