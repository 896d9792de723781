/* The filter where there is nothing: no C library, no threads, no stdio, its own entry. A board
 * has its reset vector where this has _start, and its port where this has a system call.
 *	hop build kalman.hop -o kalman --entry=@step
 *	cc -ffreestanding -nostdlib -static bare.c kalman.o -o bare */
#include <stddef.h>
#include <stdint.h>

#include "kalman.h"

/* Compilers may call these two even here. */
void *memset(void *to, int c, size_t n)
{
	for (volatile unsigned char *p = to; n--; )
		*p++ = (unsigned char)c;
	return to;
}

void *memcpy(void *to, const void *from, size_t n)
{
	volatile unsigned char *p = to;
	for (const unsigned char *q = from; n--; )
		*p++ = *q++;
	return to;
}

/* Follow what moves at a speed of 1.5; 0 = the filter found that out. */
int follow(void)
{
	static _Alignas(64) unsigned char work[KALMAN_STEP_WORKSPACE];
	float x[2] = { 0, 0 }, p[4] = { 1, 0, 0, 1 }, xn[2], pn[4], y, s;
	const float q = 0.01f, r = 0.1f;
	for (int i = 0; i < 100; i++) {
		float z = 0.15f * (float)i;
		if (kalman_step(x, p, &z, &q, &r, xn, pn, &y, &s, work, NULL))
			return 2;
		x[0] = xn[0], x[1] = xn[1];
		p[0] = pn[0], p[1] = pn[1], p[2] = pn[2], p[3] = pn[3];
	}
	return !(x[0] > 14.8f && x[0] < 14.9f && x[1] > 1.49f && x[1] < 1.51f);
}

static void leave(int status)
{
#if defined(__x86_64__)
	__asm__ volatile("syscall" : : "a" (231L), "D" ((long)status) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long x0 __asm__("x0") = status, x8 __asm__("x8") = 94;
	__asm__ volatile("svc 0" : : "r" (x0), "r" (x8) : "memory");
#else
#error "say here how this machine ends a program"
#endif
}

/* The stack is aligned as a called function would not find it. */
__attribute__((used)) void start(void)
{
	leave(follow());
	for (;;)
		;
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start: and $-16, %rsp\n call start\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start: bl start\n");
#endif
