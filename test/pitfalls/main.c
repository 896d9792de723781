/* main.c -- runs the pitfalls: pitfalls [--list] [NUMBER..]. Each is a process of its own, so that one
 * that dies says which it was. Does not know what is tested. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pitfall.h"

enum { SECONDS = 120 };                /* no pitfall needs more, sanitized neither */

static pitfall *all;

/* In order of numbers; one that is there already is a mistake of ours. */
void pitfall_add(pitfall *p)
{
	pitfall **at = &all;
	while (*at && (*at)->number < p->number)
		at = &(*at)->next;
	if (*at && (*at)->number == p->number) {
		fprintf(stderr, "%s:%d: pitfall %d is in %s:%d already\n", p->file, p->line, p->number,
		        (*at)->file, (*at)->line);
		exit(2);
	}
	p->next = *at;
	*at = p;
}

/* What the library opens once for a process, opened here, is there in all of them. */
static void warm_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_sin(t, in[0]));
}

static hop_ctx *warm(void)
{
	hop_ctx *c;
	hop_fn *f = NULL;
	hop_array *x = NULL, *y = NULL;
	hop_spec s = hop_spec0(HOP_f64);
	double one = 1;
	hop_status st = hop_ctx_new(HOP_CTX_OPTS(.threads = 1), &c);
	if (!st)
		st = hop_array_new(c, HOP_f64, 0, NULL, &one, &x);
	if (!st)
		st = hop_capture(c, warm_body, NULL, 1, &s, &f);
	if (!st)
		st = hop_call(f, 1, &x, 1, &y);
	if (st) {
		fprintf(stderr, "pitfalls: %s\n", c ? hop_message(c) : hop_status_name(st));
		exit(2);
	}
	hop_array_release(x);
	hop_array_release(y);
	hop_fn_release(f);
	return c;
}

static void run_here(const pitfall *p)
{
	alarm(SECONDS);
	if (hop_ctx_new(NULL, &ctx) != HOP_OK)
		fail_at(p->file, p->line, "no context");
	p->run();
	hop_ctx_free(ctx);
	exit(0);
}

static bool run(const pitfall *p, hop_ctx *parents)
{
	int status;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		hop_ctx_free(parents);                       /* the leak checker sees no other way to it */
		run_here(p);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		perror("pitfalls");
		exit(2);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	printf("FAIL %d %s", p->number, p->title);
	if (WIFSIGNALED(status))
		printf(": %s", strsignal(WTERMSIG(status)));
	printf("\n");
	return false;
}

static const pitfall *find(const char *number)
{
	char *end;
	long n = strtol(number, &end, 10);
	const pitfall *p = all;
	while (p && p->number != n)
		p = p->next;
	if (p && !*end)
		return p;
	fprintf(stderr, "pitfalls: there is no pitfall %s\n", number);
	exit(2);
}

int main(int argc, char **argv)
{
	int passed = 0, failed = 0;
	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (const pitfall *p = all; p; p = p->next)
			printf("%d\t%s\n", p->number, p->title);
		return 0;
	}
	hop_ctx *c = warm();
	if (argc > 1) {
		for (int i = 1; i < argc; i++)
			if (run(find(argv[i]), c))
				passed++;
			else
				failed++;
	} else {
		for (const pitfall *p = all; p; p = p->next)
			if (run(p, c))
				passed++;
			else
				failed++;
	}
	hop_ctx_free(c);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
