/* look.c -- code for gdb and perf. gdb sets a breakpoint in __jit_debug_register_code and reads a
 * list when it is called; both names, the list's form and that it is one for the process are gdb's,
 * hence the only variables of hop that others can see. Does not make what debuggers read. */
#include "target/look.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fork.h"

struct jit_code_entry {
	struct jit_code_entry *next, *prev;
	const char *object;
	uint64_t    size;
	const void *image;             /* ours: behind what gdb reads */
};

struct jit_descriptor {
	uint32_t version;
	uint32_t action;
	struct jit_code_entry *relevant, *first;
};

enum { NOTHING, ADDED, REMOVED };

void __jit_debug_register_code(void);
extern struct jit_descriptor __jit_debug_descriptor;
struct jit_descriptor __jit_debug_descriptor = { 1, NOTHING, NULL, NULL };

/* gdb stops here. */
__attribute__((noinline, used)) void __jit_debug_register_code(void)
{
	__asm__ volatile ("" ::: "memory");
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void tell(uint32_t action, struct jit_code_entry *e)
{
	__jit_debug_descriptor.action = action;
	__jit_debug_descriptor.relevant = e;
	__jit_debug_register_code();
	__jit_debug_descriptor.action = NOTHING;
	__jit_debug_descriptor.relevant = NULL;
}

void hop_look_gdb(const void *image, const void *object, size_t n)
{
	struct jit_code_entry *e = malloc(sizeof *e + n);
	if (!e)
		return;
	memcpy(e + 1, object, n);
	hop_nofork_begin();
	pthread_mutex_lock(&lock);
	*e = (struct jit_code_entry){ .next = __jit_debug_descriptor.first, .object = (char *)(e + 1),
		                      .size = n, .image = image };
	if (e->next)
		e->next->prev = e;
	__jit_debug_descriptor.first = e;
	tell(ADDED, e);
	pthread_mutex_unlock(&lock);
	hop_nofork_end();
}

void hop_look_gone(const void *image)
{
	struct jit_code_entry *e, *next;
	hop_nofork_begin();
	pthread_mutex_lock(&lock);
	for (e = __jit_debug_descriptor.first; e; e = next) {
		next = e->next;
		if (e->image != image)
			continue;
		if (e->prev)
			e->prev->next = next;
		else
			__jit_debug_descriptor.first = next;
		if (next)
			next->prev = e->prev;
		tell(REMOVED, e);
		free(e);
	}
	pthread_mutex_unlock(&lock);
	hop_nofork_end();
}

/* One write a line, so that threads do not mix theirs. The folder is everybody's: what is there
 * under our name is believed only if it is a file of ours and no link. */
void hop_look_perf(uint64_t at, uint64_t size, const char *name)
{
	char path[64], line[512];
	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	int n = snprintf(line, sizeof line - 1, "%llx %llx %s", (unsigned long long)at,
	                 (unsigned long long)size, name);
	if (n > (int)sizeof line - 2)
		n = (int)sizeof line - 2;
	line[n++] = '\n';
	if (fd < 0)
		return;
	ssize_t done = write(fd, line, (size_t)n);
	(void)done;                            /* perf then has fewer names */
	close(fd);
}
