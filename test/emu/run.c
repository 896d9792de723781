/* run.c -- runs a kernel: each thread of each block on a stack of its own, one at a time, in an order
 * drawn from the seed; one goes on until it meets others or touches what is atomic. Blocks that need
 * not be there together come and go, in any order. Finds barriers that not all come to, and waiting
 * for ever. It has no notion of time, and no warp goes in step unless it meets. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/cu.h"
#include "emu/inside.h"

enum { STACK = 128 << 10, WARP = 32, MAXTHREAD = 1024 };
enum { PATIENCE = 1 << 22 };                    /* turns of nothing but atomics */

enum state { READY, AT_BARRIER, AT_WARP, DONE };

typedef struct fiber {
	void       *sp;
	enum state  state;
	int         slot;                       /* of running[] */
	const void *site;
	unsigned    mask;
	uint64_t    value;
	bool        early;                      /* it has not waited for what ran before */
	emu_who     who;
} fiber;

/* A block that runs. */
typedef struct block {
	fiber      *thread;                     /* [l->block] */
	uint32_t    number;
	int         left, waiting;              /* threads that have not ended; that are at a barrier */
	char       *shared, *statics;
	uint64_t    met[MAXTHREAD];             /* what lanes brought when they met */
} block;

static __thread bool is_runner;        /* the thread that runs kernels */
static struct {
	const emu_launch *l;
	block   *running;
	fiber   *fibers;
	char    *stacks;
	size_t   nstack;
	fiber  **ready;
	int      nready, nslot, inside;         /* inside: the slot whose statics are in place */
	fiber   *now;
	void    *scheduler;                     /* its stack pointer */
	uint32_t *order;                        /* blocks, shuffled */
	uint32_t nblock, next;
	uint64_t idle;                          /* turns since something other than an atomic happened */
	hop_emu  emu;
	sigjmp_buf out;
	int      code;
} R;

/* ---- stacks ---- */

#if defined(__x86_64__)
void emu_switch(void **save, void *load);
__asm__(".text\n.globl emu_switch\n.hidden emu_switch\n.type emu_switch,@function\nemu_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");

static void *prepare(char *top, void (*f)(void))
{
	void **sp = (void **)top;

	*--sp = NULL;                           /* what f would return to: it never does */
	*--sp = (void *)f;
	return memset(sp - 6, 0, 6 * sizeof *sp);
}
#else
#include <ucontext.h>
static void emu_switch(void **save, void *load)
{
	ucontext_t here;

	*save = &here;
	swapcontext(&here, load);
}
static void *prepare(char *top, void (*f)(void))
{
	ucontext_t *c = (ucontext_t *)(top - (sizeof(ucontext_t) + 64) / 64 * 64);

	getcontext(c);
	c->uc_stack.ss_sp = top - STACK;
	c->uc_stack.ss_size = (char *)c - (top - STACK);
	c->uc_link = NULL;
	makecontext(c, f, 0);
	return c;
}
#endif

/* ---- when something is wrong ---- */

/* The line of the text that an address in its object was made of, if there is a tool to tell. */
void emu_say_line(uint32_t site)
{
	char command[512], line[512] = "";

	if (!site)
		return;
	snprintf(command, sizeof command, "addr2line -e %s 0x%lx 2>/dev/null", R.l->file,
	         (unsigned long)site - 1);
	FILE *f = popen(command, "r");
	if (!f)
		return;
	if (fgets(line, sizeof line, f) && line[0] != '?')
		fprintf(stderr, "emu:   at %s", line);
	pclose(f);
}

static void say_fiber(const fiber *f, const char *what)
{
	fprintf(stderr, "emu:   thread %u of block %u %s\n", f->who.thread, f->who.block, what);
	if ((const char *)f->site > R.l->object && (const char *)f->site < R.l->object_end)
		emu_say_line((uint32_t)((const char *)f->site - R.l->object));
}

void emu_fail(const char *format, ...)
{
	va_list v;

	fprintf(stderr, "emu: ");
	va_start(v, format);
	vfprintf(stderr, format, v);
	va_end(v);
	fprintf(stderr, "\nemu:   HOP_EMU_SEED=%llu\n", (unsigned long long)emu_settings()->seed);
	if (R.l) {
		fprintf(stderr, "emu:   in %s, %u x %u x %u blocks of %u\n", R.l->name, R.l->grid[0],
		        R.l->grid[1], R.l->grid[2], R.l->block);
		if (R.now)
			say_fiber(R.now, "was running");
	}
	fflush(stderr);
	if (!emu_settings()->fault_is_code || !R.l)
		abort();
	R.code = CUDA_ERROR_LAUNCH_FAILED;
	siglongjmp(R.out, 1);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (is_runner && R.now) {
		fprintf(stderr, "emu: signal %d, at address %p\n", sig, info->si_addr);
		emu_say_where(info->si_addr);
		if (emu_settings()->fault_is_code) {
			R.code = CUDA_ERROR_ILLEGAL_ADDRESS;
			siglongjmp(R.out, 1);
		}
		emu_fail("a kernel touched what is not its own");
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

/* ---- what threads ask ---- */

static void enter(fiber *f)
{
	block *b = &R.running[f->slot];
	uint32_t n = b->number;

	R.now = f;
	R.emu.thread.x = f->who.thread;
	R.emu.block.x = n % R.l->grid[0];
	R.emu.block.y = n / R.l->grid[0] % R.l->grid[1];
	R.emu.block.z = n / R.l->grid[0] / R.l->grid[1];
	R.emu.shared = b->shared;
	size_t statics = R.l->statics_end - R.l->statics;
	if (statics && R.inside != f->slot) {
		if (R.inside >= 0)
			memcpy(R.running[R.inside].statics, R.l->statics, statics);
		memcpy(R.l->statics, b->statics, statics);
		R.inside = f->slot;
	}
}
static void leave(void)
{
	fiber *f = R.now;

	R.now = NULL;
	emu_switch(&f->sp, R.scheduler);
}
static void wake(fiber *f)
{
	f->state = READY;
	R.ready[R.nready++] = f;
	R.idle = 0;
}

static void barrier(const void *site)
{
	fiber *f = R.now;
	block *b = &R.running[f->slot];

	f->state = AT_BARRIER;
	f->site = site;
	if (++b->waiting == b->left) {
		if (b->left != (int)R.l->block)
			emu_fail("a barrier of a block of which %d threads have ended", (int)R.l->block - b->left);
		for (unsigned i = 0; i < R.l->block; i++)
			if (b->thread[i].site != site) {
				say_fiber(&b->thread[i], "waits");
				say_fiber(f, "waits");
				emu_fail("threads of a block wait at different barriers");
			}
		for (unsigned i = 0; i < R.l->block; i++) {
			b->thread[i].who.warps++;
			b->thread[i].who.blocks++;
			wake(&b->thread[i]);
		}
		b->waiting = 0;
	}
	leave();
}

/* The lanes of one mask have all come: each sees what each brought. */
static void warp_met(block *b, unsigned first, unsigned mask, const void *site)
{
	for (unsigned i = 0; i < WARP && first + i < R.l->block; i++) {
		fiber *f = &b->thread[first + i];
		if (!(mask >> i & 1))
			continue;
		if (f->mask != mask || f->site != site) {
			say_fiber(f, "waits");
			emu_fail("lanes meet at different places or with different masks");
		}
	}
	for (unsigned i = 0; i < WARP && first + i < R.l->block; i++)
		if (mask >> i & 1) {
			b->met[first + i] = b->thread[first + i].value;
			if (mask == 0xffffffffu)
				b->thread[first + i].who.warps++;
			wake(&b->thread[first + i]);
		}
}
static const unsigned long long *meet(unsigned mask, unsigned long long value, const void *site)
{
	fiber *f = R.now;
	block *b = &R.running[f->slot];
	unsigned first = f->who.thread / WARP * WARP, lane = f->who.thread % WARP, here = 0;

	if (!(mask >> lane & 1))
		emu_fail("a lane meets others with a mask that it is not in");
	f->state = AT_WARP;
	f->site = site;
	f->mask = mask;
	f->value = value;
	for (unsigned i = 0; i < WARP && first + i < R.l->block; i++) {
		here |= (unsigned)(b->thread[first + i].state == AT_WARP) << i;
		if (mask >> i & 1 && b->thread[first + i].state == DONE)
			emu_fail("lane %u has ended, but is in the mask of those that meet", i);
	}
	if ((here & mask) == mask)
		warp_met(b, first, mask, site);
	leave();
	return (const unsigned long long *)&b->met[first];
}

static void early(void)
{
	R.now->early = false;
}
static void look_early(const fiber *f)
{
	if (f->early)
		emu_fail("a kernel that was started early touches memory before it waits");
}

static void atomic(const void *p)
{
	fiber *f = R.now;

	look_early(f);
	if (++R.idle > PATIENCE)
		emu_fail("nothing happens but that threads wait in loops");
	/* Most often others go first; a thread that goes on now and then finds what needs two steps. */
	if (emu_below(4)) {
		R.ready[R.nready++] = f;
		leave();
	}
	if (emu_settings()->check)
		emu_check_atomic(&f->who, p);
}
static void touch(const void *p, unsigned long n, int writes, const void *site)
{
	fiber *f = R.now;
	const char *at = p, *mine = R.stacks + (size_t)(f - R.fibers) * STACK;

	if (at >= mine && at < mine + STACK)
		return;
	f->site = site;
	f->who.site = (uint32_t)((const char *)site - R.l->object);
	if (at >= R.stacks && at < R.stacks + R.nstack)
		emu_fail("a thread touches the local memory of another");
	look_early(f);
	if (emu_settings()->check)
		emu_check_access(&f->who, p, n, writes);
}
static void trap(const char *why)
{
	emu_fail("%s", why);
}

/* Whoever of a kernel does it, nobody else of it may. */
static void set(unsigned long long handle, unsigned value)
{
	emu_handle *h = emu_handle_of(handle);
	const emu_who *w = &R.now->who;
	uint64_t me = 1 + ((uint64_t)w->block << 32 | w->thread);

	if (!h)
		emu_fail("a loop is set that is in no graph");
	if (h->by && h->by != me)
		emu_fail("two threads of a kernel set the same loop");
	h->by = me;
	h->value = value;
}

/* Of whatever parameters: more are given than it takes. */
typedef void emu_kernel(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
_Static_assert(EMU_PARAMS == 8, "fiber_main hands on as many");
static void fiber_main(void)
{
	const uint64_t *p = R.l->param;

	((emu_kernel *)R.l->code)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]);
	fiber *f = R.now;
	block *b = &R.running[f->slot];
	f->state = DONE;
	R.idle = 0;
	b->left--;
	if (b->left && b->waiting == b->left)
		emu_fail("a thread has ended while %d others wait at a barrier", b->waiting);
	leave();
	abort();
}

/* ---- the scheduler ---- */

static void begin_block(int slot)
{
	block *b = &R.running[slot];
	const emu_launch *l = R.l;

	b->number = R.order[R.next++];
	b->left = (int)l->block;
	b->waiting = 0;
	if (b->shared) {
		memset(b->shared, 0xcb, l->shared);
		emu_check_shared(b->shared, l->shared);
	}
	for (unsigned i = 0; i < l->block; i++) {
		fiber *f = &b->thread[i];
		*f = (fiber){ .slot = slot, .early = R.l->early, .who = { .block = b->number, .thread = i } };
		f->sp = prepare(R.stacks + ((size_t)(f - R.fibers) + 1) * STACK, fiber_main);
		wake(f);
	}
}
static void say_stuck(void)
{
	for (int s = 0; s < R.nslot; s++)
		for (unsigned i = 0, n = 0; i < R.l->block && n < 2; i++) {
			fiber *f = &R.running[s].thread[i];
			if (f->state == AT_BARRIER || f->state == AT_WARP) {
				say_fiber(f, f->state == AT_BARRIER ? "waits at a barrier" : "waits for its warp");
				n++;
			}
		}
	emu_fail("no thread can go on");
}
static void schedule(void)
{
	int left = R.nslot;

	for (int s = 0; s < R.nslot; s++)
		begin_block(s);
	while (left) {
		if (!R.nready)
			say_stuck();
		uint64_t k = emu_below(R.nready);
		fiber *f = R.ready[k];
		R.ready[k] = R.ready[--R.nready];
		enter(f);
		emu_switch(&R.scheduler, f->sp);
		if (f->state == DONE && !R.running[f->slot].left) {
			if (R.next < R.nblock)
				begin_block(f->slot);
			else
				left--;
		}
	}
}

static void shuffle_blocks(void)
{
	for (uint32_t i = 0; i < R.nblock; i++)
		R.order[i] = i;
	for (uint32_t i = R.nblock; i > 1; i--) {
		uint32_t j = (uint32_t)emu_below(i), t = R.order[j];
		R.order[j] = R.order[i - 1];
		R.order[i - 1] = t;
	}
}

/* Stacks stay: a launch takes as many as the largest before it, or makes more. */
static bool room(int nfiber)
{
	if (R.nstack < (size_t)nfiber * STACK) {
		if (R.stacks)
			munmap(R.stacks, R.nstack);
		R.nstack = (size_t)nfiber * STACK;
		R.stacks = mmap(NULL, R.nstack, PROT_READ | PROT_WRITE,
		                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (R.stacks == MAP_FAILED) {
			R.stacks = NULL;
			R.nstack = 0;
			return false;
		}
	}
	R.fibers = calloc(nfiber, sizeof *R.fibers);
	R.ready = calloc(nfiber, sizeof *R.ready);
	R.running = calloc(R.nslot, sizeof *R.running);
	R.order = calloc(R.nblock, sizeof *R.order);
	return R.fibers && R.ready && R.running && R.order;
}
static bool begin(const emu_launch *l)
{
	size_t statics = l->statics_end - l->statics;

	if (!room(R.nslot * (int)l->block))
		return false;
	for (int s = 0; s < R.nslot; s++) {
		block *b = &R.running[s];
		b->thread = R.fibers + (size_t)s * l->block;
		if (l->shared && emu_alloc(l->shared, (void **)&b->shared))
			return false;
		if (statics && !(b->statics = calloc(1, statics)))
			return false;
	}
	shuffle_blocks();
	return true;
}
static void end(void)
{
	for (int s = 0; R.running && s < R.nslot; s++) {
		if (R.running[s].shared)
			emu_free(R.running[s].shared);
		free(R.running[s].statics);
	}
	free(R.fibers);
	free(R.ready);
	free(R.running);
	free(R.order);
	R.l = NULL;
	R.now = NULL;
}

/* Faults of kernels are ours while one runs; a handler needs a stack, the thread's may have ended. */
static void guard(const emu_launch *l)
{
	static char stack[1 << 16];
	stack_t mine = { .ss_sp = stack, .ss_size = sizeof stack }, old;
	struct sigaction act = { .sa_sigaction = on_fault,
		                 .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	struct sigaction was[2];

	sigaltstack(&mine, &old);
	sigaction(SIGSEGV, &act, &was[0]);
	sigaction(SIGBUS, &act, &was[1]);
	is_runner = true;
	emu_check_begin(l, R.nblock);
	if (!sigsetjmp(R.out, 1))
		schedule();
	emu_check_end();
	is_runner = false;
	sigaction(SIGSEGV, &was[0], NULL);
	sigaction(SIGBUS, &was[1], NULL);
	if (old.ss_flags != SS_DISABLE)
		sigaltstack(&old, NULL);
	else
		sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, NULL);
}

int emu_run(const emu_launch *l)
{
	uint64_t n = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];

	if (!n || n > UINT32_MAX || !l->block || l->block > MAXTHREAD)
		return CUDA_ERROR_INVALID_VALUE;
	R.l = l;
	R.nblock = (uint32_t)n;
	R.next = 0;
	R.nready = 0;
	R.inside = -1;
	R.idle = 0;
	R.code = 0;
	R.nslot = l->together ? (int)n : 1 + (int)emu_below(3);
	R.nslot = R.nslot > (int)n ? (int)n : R.nslot;
	R.emu = (hop_emu){
		.block_dim = { l->block, 1, 1 }, .grid_dim = { l->grid[0], l->grid[1], l->grid[2] },
		.barrier = barrier, .meet = meet, .touch = touch, .atomic = atomic, .trap = trap, .set = set,
		.early = early
	};
	*l->now = &R.emu;
	if (!begin(l)) {
		end();
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	guard(l);
	if (!emu_fences_hold())
		emu_fail("a kernel wrote beside the memory that it was given");
	end();
	return R.code;
}
