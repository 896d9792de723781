/* targets.c -- the same programs by every target, run times beside each other. A context of its own
 * for each, so that none runs what another compiled. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "targets.h"

static double time_of(const char *target, enum hop_work_kind kind, const float *const *in)
{
	hop_ctx *c;
	hop_work w;
	double t = NAN;

	setenv("HOP_TARGET", target, 1);
	if (hop_ctx_new(NULL, &c))
		return t;
	if (!hop_work_new(c, &w, kind, in)) {
		hop_work_run(&w);
		if (!w.st)
			t = bench_time(hop_work_run, &w, 0.003);
	}
	hop_work_free(&w);
	hop_ctx_free(c);
	unsetenv("HOP_TARGET");
	return t;
}

void bench_targets(const struct bench_row *row, int n)
{
	const char *was = getenv("HOP_TARGET");

	if (was)                             /* somebody looks at one of them */
		return;
	printf("\ntargets, in us a call\n%-18s %9s %9s %6s\n", "", "llvm", "c", "ratio");
	for (int i = 0; i < n; i++) {
		double a = time_of("llvm", row[i].kind, row[i].in), b = time_of("c", row[i].kind, row[i].in);

		printf("%-18s %9.1f %9.1f %6.2f\n", row[i].name, a * 1e6, b * 1e6, b / a);
	}
}
