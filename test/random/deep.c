/* Random bytes through support/deep.c: deep COUNT. With RANDOM_SEED=n the input of that seed
 * alone, or COUNT from there on; DEEP_NATIVE=n compiles one in n (8 unless told; 0 = none). */
#include <stdio.h>
#include <stdlib.h>

#include "support/deep.h"
#include "support/fence.h"
#include "support/seed.h"

static uint64_t draw(uint64_t *s)
{
	uint64_t z = *s += 0x9e3779b97f4a7c15u;      /* splitmix64 */
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void say(const deep_count *c)
{
	printf("%ld inputs, %ld programs lowered, %ld compiled, %ld runs, %ld of them refused, "
	       "%ld unsteady\n", c->inputs, c->programs, c->compiled, c->runs, c->refused,
	       c->unsteady);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *one = getenv("RANDOM_SEED"), *native = getenv("DEEP_NATIVE");
	long count = argc > 1 ? atol(argv[1]) : one ? 1 : 1000, bad = 0;
	deep_count c = { 0 };

	for (long i = 0; seed_more(i, &count); i++) {
		uint64_t seed = seed_of(i, count), s = seed;
		uint8_t b[64];
		char what[40];
		long before = c.failures;
		snprintf(what, sizeof what, "RANDOM_SEED=%llu", (unsigned long long)seed);
		fence_within(what);
		for (size_t k = 0; k < sizeof b; k++)
			b[k] = (uint8_t)draw(&s);
		deep_input(b, 8 + draw(&s) % (sizeof b - 8), native ? (unsigned)atoi(native) : 8, &c);
		if (c.failures > before) {
			bad++;
			printf("FAIL seed %llu\n", (unsigned long long)seed);
			fflush(stdout);
		}
		if (i && i % 10000 == 0)
			say(&c);
	}
	say(&c);
	printf("%ld passed, %ld failed\n", count - bad, bad);
	return bad != 0;
}
