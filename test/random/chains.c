/* Operators nested at random, up to four deep, some written with what is made on top of them: chains
 * COUNT runs that many chains, from a fixed seed, each asked for its value, derivatives and batches
 * against plain loops. What first-order ops do to each other is not its subject. */
#include <stdio.h>
#include <stdlib.h>

#include "support/checks.h"
#include "support/seed.h"
#include "support/host_fns.h"

static uint32_t next(uint32_t *s)
{
	*s = *s * 1664525u + 1013904223u;
	return *s >> 16;
}

static int try(const subject *s, uint32_t which)
{
	static int (*const check[])(hop_ctx *, const subject *) = {
		check_value, check_jvp, check_vjp, check_vmap, check_vmap_vjp, check_jvp_vjp,
		check_vmap_vmap
	};
	hop_ctx *c;
	int bad;

	if (hop_ctx_new(NULL, &c) || host_fns_add(c))
		return 1;
	bad = check[which % (sizeof check / sizeof *check)](c, s);
	hop_ctx_free(c);
	return bad;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 100, pass = 0, fail = 0;
	uint32_t seed = 1;

	for (long i = 0; seed_more(i, &count); i++) {
		subject s = { .n = 1 + (int)(next(&seed) % SUBJECT_DEPTH),
		              .form = next(&seed) % 3 ? FORM_PLAIN : (int)(next(&seed) % NFORM) };

		for (int k = 0; k < s.n; k++)
			s.ops[k] = (int)(next(&seed) % NOPERATOR);
		if (!try(&s, (uint32_t)i)) {
			pass++;
			continue;
		}
		fail++;
		printf("FAIL chain %ld, form %d:", i, s.form);
		for (int k = 0; k < s.n; k++)
			printf(" %s", cell_op[s.ops[k]]);
		printf("\n");
		fflush(stdout);
	}
	printf("%ld passed, %ld failed\n", pass, fail);
	return fail != 0;
}
