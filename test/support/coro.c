/* coro.c -- coroutines by ucontext, which makes their stacks, and longjmp, which changes between them
 * without asking the kernel. Sanitizers only know the first. */
#include "support/coro.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { JUMPS = false };
#else
enum { JUMPS = true };
#endif
enum { STACK = 256 << 10 };

/* At the lower end of its stack. */
struct hop_coro {
	ucontext_t   in, out;
	jmp_buf      inside, outside;
	hop_coro_fn *f;
	void        *user;
	bool         runs;           /* its loop has begun */
	hop_coro    *next;
};

static _Thread_local hop_coro *spare, *starts;

/* One function after the other, each until it returns. */
static void all(void)
{
	hop_coro *c = starts;

	for (;;) {
		c->f(c->user);
		hop_coro_stop(c);
	}
}

/* Ends of stacks are in different lines of a page: caches have few places for one line of many pages. */
static hop_coro *with_stack(void)
{
	static _Thread_local unsigned number;
	size_t    off = number++ % 30 * 128, own = (sizeof(hop_coro) + 63) / 64 * 64;
	char     *p = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	                   -1, 0);
	hop_coro *c = (hop_coro *)(p + off);

	if (p == MAP_FAILED)
		abort();
	getcontext(&c->in);
	c->in.uc_stack.ss_sp = p + off + own;
	c->in.uc_stack.ss_size = STACK - own - 2 * off;
	makecontext(&c->in, all, 0);
	return c;
}

hop_coro *hop_coro_new(hop_coro_fn *f, void *user)
{
	hop_coro *c = spare;

	if (c)
		spare = c->next;
	else
		c = with_stack();
	c->f = f;
	c->user = user;
	return c;
}

void hop_coro_free(hop_coro *c)
{
	c->next = spare;
	spare = c;
}

void hop_coro_go(hop_coro *c)
{
	bool first = !c->runs;

	c->runs = true;
	starts = c;
	if (!JUMPS) {
		swapcontext(&c->out, &c->in);
	} else if (!_setjmp(c->outside)) {
		if (first)
			setcontext(&c->in);
		_longjmp(c->inside, 1);
	}
}

void hop_coro_stop(hop_coro *c)
{
	if (!JUMPS)
		swapcontext(&c->in, &c->out);
	else if (!_setjmp(c->inside))
		_longjmp(c->outside, 1);
}
