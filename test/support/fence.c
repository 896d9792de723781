/* fence.c -- guard pages by mmap. */
#include "support/fence.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

fence fence_new(size_t n, size_t align, bool behind)
{
	size_t body = (n + PAGE - 1) / PAGE * PAGE;
	fence f = { .size = body + 2 * PAGE };
	f.map = mmap(NULL, f.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f.map == MAP_FAILED || (body && mprotect(f.map + PAGE, body, PROT_READ | PROT_WRITE))) {
		perror("fence");
		abort();
	}
	if (body)
		memset(f.map + PAGE, 0xff, body);
	f.p = f.map + PAGE;
	if (behind)
		f.p = f.map + PAGE + (body - n) / align * align;
	return f;
}

void fence_readonly(fence *f)
{
	mprotect(f->map + PAGE, f->size - 2 * PAGE, PROT_READ);
}

void fence_free(fence *f)
{
	munmap(f->map, f->size);
}

static char last[256], within[64];

static void die(int sig)
{
	ssize_t n = write(2, last, strlen(last));
	n += write(2, within, strlen(within));
	(void)n;
	signal(sig, SIG_DFL);
	raise(sig);
}

void fence_within(const char *what)
{
	snprintf(within, sizeof within, "%.60s\n", what);
}

void fence_on_death(const char *what)
{
	snprintf(last, sizeof last, "died in %.200s\n", what);
	signal(SIGSEGV, die);
	signal(SIGBUS, die);
	signal(SIGILL, die);
	signal(SIGFPE, die);
	signal(SIGABRT, die);
}
