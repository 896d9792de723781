/* Runs cells of the matrix and compares numbers. What the operators should give is in
 * subject.c; this file knows nothing of them. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cell.h"

const char *const cell_op[NOPERATOR] = {
	"cond", "while", "scan", "call", "custom", "switch", "map"
};

int cell_run(int op, const char *cap, cell_fn *f, int arg)
{
	int st = 1;

	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		hop_ctx *c;

		alarm(60);
		if (hop_ctx_new(NULL, &c))
			_exit(2);
		st = f(c, op, arg);
		hop_ctx_free(c);
		fflush(NULL);
		_exit(st != 0);
	}
	if (pid < 0 || waitpid(pid, &st, 0) != pid)
		st = 1;
	if (st && WIFSIGNALED(st))
		fprintf(stderr, "%s %s: signal %d\n", cell_op[op], cap, WTERMSIG(st));
	printf("cell %s %s %s\n", cell_op[op], cap, st ? "FAIL" : "ok");
	return st != 0;
}

int cell_bad(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return 1;
}

int cell_ok(hop_ctx *c, hop_status st, const char *what)
{
	return st ? cell_bad("%s: status %d: %s", what, (int)st, hop_message(c)) : 0;
}

int cell_near(const char *what, int64_t n, const double *want, hop_array *got, double tol)
{
	if (!got)
		return cell_bad("%s: no result", what);
	if (hop_array_count(got) != n)
		return cell_bad("%s: %lld elements, expected %lld", what,
		                (long long)hop_array_count(got), (long long)n);
	for (int64_t i = 0; i < n; i++) {
		double g = hop_array_at(got, i);

		if (!(fabs(g - want[i]) <= tol * (1 + fabs(want[i]))))
			return cell_bad("%s: element %lld is %.15g, expected %.15g", what,
			                (long long)i, g, want[i]);
	}
	return 0;
}
