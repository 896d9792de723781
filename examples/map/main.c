/* main.c -- runs the examples of docs/pytorch-map.md: map [--list] [NAME..]. Each prints its name and
 * the numbers it gave. Does not know what they show. */
#include "map.h"

static example *all;

/* In order of names. */
void example_add(example *e)
{
	example **at = &all;
	while (*at && strcmp((*at)->name, e->name) < 0)
		at = &(*at)->next;
	e->next = *at;
	*at = e;
}

void expect_true(bool ok, const char *what)
{
	if (!ok) {
		printf("\nFAIL: %s\n", what);
		exit(1);
	}
}

static bool same(int n, hop_array *const *out, int nwant, const double *want)
{
	int at = 0;
	for (int i = 0; i < n; i++)
		for (int64_t k = 0; k < hop_array_count(out[i]); k++, at++) {
			double got = hop_array_at(out[i], k);
			if (at >= nwant || !(fabs(got - want[at]) <= 1e-6 * fmax(1, fabs(want[at]))))
				return false;
		}
	return at == nwant;
}

static void show_all(int n, hop_array *const *out)
{
	for (int i = 0; i < n; i++)
		for (int64_t k = 0; k < hop_array_count(out[i]); k++)
			printf(" %.7g", hop_array_at(out[i], k));
}

void expect_n(hop_ctx *c, int n, hop_array **out, int nwant, const double *want)
{
	show_all(n, out);
	if (!same(n, out, nwant, want)) {
		printf("\nFAIL: it should give");
		for (int i = 0; i < nwant; i++)
			printf(" %.7g", want[i]);
		printf("\n");
		exit(1);
	}
	release(n, out);
}

/* Three ways to the same numbers. */
static void run_body(hop_ctx *c, const example *e)
{
	hop_array *in[8], *out[8];
	hop_spec s[8];
	hop_fn *f;
	int nout;

	for (int i = 0; i < e->nin; i++)
		must(c, hop_array_new(c, HOP_f64, e->in[i].rank, e->in[i].dim, e->in[i].v, &in[i]));
	specs(e->nin, in, s);
	must(c, hop_capture(c, e->body, NULL, e->nin, s, &f));
	nout = hop_fn_nout(f);
	must(c, hop_eager_call(c, e->body, NULL, e->nin, in, nout, out));
	expect_true(same(nout, out, e->ngive, e->gives), "eager");
	release(nout, out);
	must(c, hop_call_with(f, e->nin, in, nout, out, HOP_RUN_OPTS(.interpret = true)));
	expect_true(same(nout, out, e->ngive, e->gives), "interpreted");
	release(nout, out);
	must(c, hop_call(f, e->nin, in, nout, out));
	expect_n(c, nout, out, e->ngive, e->gives);
	release(e->nin, in);
	hop_fn_release(f);
}

void example_run(hop_ctx *c, const example *e)
{
	if (e->program)
		e->program(c);
	else
		run_body(c, e);
}

static bool asked(const char *name, int n, char **names)
{
	for (int i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return n == 0;
}

int main(int argc, char **argv)
{
	bool list = argc > 1 && strcmp(argv[1], "--list") == 0;
	int ran = 0;

	for (const example *e = all; e; e = e->next) {
		if (list)
			printf("%s\texamples/map/%s\n", e->name, strrchr(e->file, '/') + 1);
		else if (asked(e->name, argc - 1, argv + 1)) {
			hop_ctx *c = context();
			printf("%-32s", e->name);
			fflush(stdout);
			example_run(c, e);
			printf("\n");
			hop_ctx_free(c);
			ran++;
		}
	}
	if (list)
		return 0;
	printf("%d ran\n", ran);
	return ran == 0;
}
