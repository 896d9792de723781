/* Runs cells of the matrix and compares numbers. What the operators should give is in
 * subject.c; this file knows nothing of them. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/cell.h"
#include "support/host_fns.h"

#define REFUSE(op, cap, words, reason)
const char *const cell_op[NOPERATOR] = {
#define OPERATOR(upper, lower) #lower,
#include "operator/operators.def"
#undef OPERATOR
};
#undef REFUSE

/* ---- cells that are refused ---- */

struct refusal { const char *op, *cap, *words; };

#define OPERATOR(upper, lower)
static const struct refusal refusals[] = {
#define REFUSE(op, cap, words, reason) { #op, #cap, words },
#include "operator/operators.def"
#undef REFUSE
	{ NULL, NULL, NULL }
};
#undef OPERATOR

static const char *refused(int op, const char *cap)
{
	for (const struct refusal *r = refusals; r->op; r++)
		if (!strcmp(r->op, cell_op[op]) && !strcmp(r->cap, cap))
			return r->words;
	return NULL;
}

/* In the process of the cell: what it complains of goes to a file, where the words are looked
 * for. */
static int expect_words(hop_ctx *c, int op, cell_fn *f, int arg, const char *words)
{
	FILE *said = tmpfile();
	char text[4096];
	int old = dup(2), st;

	if (!said || old < 0 || dup2(fileno(said), 2) < 0)
		return 1;
	st = f(c, op, arg);
	fflush(stderr);
	dup2(old, 2);
	rewind(said);
	text[fread(text, 1, sizeof text - 1, said)] = 0;
	if (st && strstr(text, words))
		return 0;
	return cell_bad("should be refused with `%s`, %s: %s", words, st ? "says" : "is not", text);
}

/* CELL_SHARE=k/n: every n-th cell from the k-th on is ours. */
static bool is_ours(void)
{
	static long at;
	const char *s = getenv("CELL_SHARE");
	long k, n;
	return !s || sscanf(s, "%ld/%ld", &k, &n) != 2 || n < 1 || at++ % n == k;
}

/* CELL_SECONDS=n: no cell begins after so many. */
static bool is_late(void)
{
	static time_t first;
	const char *s = getenv("CELL_SECONDS");
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	if (!first)
		first = t.tv_sec;
	return s && t.tv_sec - first >= atol(s);
}

static int run_here(int op, const char *cap, cell_fn *f, int arg)
{
	hop_ctx *c;

	alarm(60);
	if (hop_ctx_new(NULL, &c) || host_fns_add(c))
		return 2;
	const char *words = refused(op, cap);
	int st = words ? expect_words(c, op, f, arg, words) : f(c, op, arg);
	hop_ctx_free(c);
	fflush(NULL);
	alarm(0);
	return st != 0;
}

/* In a process of its own, so that one that crashes is one. */
static int run_apart(int op, const char *cap, cell_fn *f, int arg)
{
	int st = 1;

	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		_exit(run_here(op, cap, f, arg));
	if (pid < 0 || waitpid(pid, &st, 0) != pid)
		st = 1;
	if (st && WIFSIGNALED(st))
		fprintf(stderr, "%s %s: signal %d\n", cell_op[op], cap, WTERMSIG(st));
	return st;
}

int cell_run(int op, const char *cap, cell_fn *f, int arg)
{
	const char *apart = getenv("CELL_FORK");
	if (!is_ours())
		return 0;
	if (is_late()) {
		printf("skipped: no time (cell %s %s)\n", cell_op[op], cap);
		return 0;
	}
	int st = apart && *apart == '0' ? run_here(op, cap, f, arg) : run_apart(op, cap, f, arg);
	printf("cell %s %s %s\n", cell_op[op], cap, st ? "FAIL" : "ok");
	fflush(stdout);
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

int cell_same(const char *what, hop_array *want, hop_array *got)
{
	if (!want || !got || hop_array_count(want) != hop_array_count(got))
		return cell_bad("%s: not of one size", what);
	for (int64_t i = 0; i < hop_array_count(want); i++) {
		double w = hop_array_at(want, i), g = hop_array_at(got, i);

		if (memcmp(&w, &g, sizeof w))
			return cell_bad("%s: element %lld is %.17g, expected %.17g, to the bit", what,
			                (long long)i, g, w);
	}
	return 0;
}
