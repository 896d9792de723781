/* passes_test.c -- lists of passes with arguments: read right, and refused wherever they are broken,
 * with the place. Texts that were changed at random are read to their end or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "driver/pipeline.h"
#include "hop/hop.h"
#include "text/text.h"

static const char text[] =
	"hop 1\n"
	"graph @f(%0: f64[3], %1: f64[2, 3]) -> f64 {\n"
	"  %2 = dot %1, %0 {lbatch = [], rbatch = [], lsum = [1], rsum = [0]}\n"
	"  %3 = sin %2\n"
	"  %4 = sum %3 {axes = [0]}\n"
	"  return %4\n"
	"}\n";

struct rig {
	hop_ctx    *c;
	hop_env     e;
	hop_frame   f;
	hop_module *m;
};

static struct rig *rig_open(void)
{
	static struct rig r;
	memset(&r, 0, sizeof r);
	assert_int_equal(hop_ctx_new(NULL, &r.c), HOP_OK);
	hop_env_init(&r.e, r.c, hop_ctx_mem(r.c));
	if (HOP_GUARD(&r.e, &r.f))
		fail_msg("no memory");
	assert_int_equal(hop_module_parse(&r.e, text, strlen(text), "text", &r.m), HOP_OK);
	return &r;
}

static void rig_close(struct rig *r)
{
	hop_guard_end(&r->e, &r->f);
	hop_module_free(r->m, &r->e.mem);
	hop_env_fini(&r->e);
	hop_ctx_free(r->c);
}

static hop_status run(struct rig *r, const char *passes, const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&r->e.tmp);
	hop_raw_free(&r->e.mem, r->e.diag.text, r->e.diag.len + 1);
	r->e.diag = (hop_diag){ 0 };
	hop_status st = hop_passes_run(&r->e, "test", passes, hop_module_find(r->m, NULL), out_g);
	hop_rewind(&r->e.tmp, m);
	return st;
}

/* How many parameters and results there are then. */
static void reads(void **state)
{
	static const struct { const char *passes; uint32_t nparam, nout; } row[] = {
		{ "grad", 2, 3 }, { "grad()", 2, 3 }, { "grad(wrt=1)", 2, 2 }, { "grad(wrt=[])", 2, 1 },
		{ "grad( wrt = [ 1 , 0 ] )", 2, 3 }, { "cse,grad(wrt=[0]),dce", 2, 2 },
		{ "vjp(wrt=1)", 3, 2 }, { "jvp(wrt=[0,1])", 4, 2 }, { "jacrev(results=1,wrt=0)", 2, 2 },
		{ "jacfwd(chunk=2)", 2, 3 }, { "hessian", 2, 7 }, { "hessian(wrt=1,chunk=1)", 2, 3 },
		{ "hvp(wrt=[1,0])", 4, 5 }, { "vhp(wrt=0)", 3, 3 }, { "linearize", 2, 2 },
		{ "vmap", 2, 1 }, { "vmap(n=any)", 2, 1 }, { "vmap(axis=[1,none],out=0,n=3)", 2, 1 },
		{ "grad(wrt=0),vmap(out=[0,1],chunk=3),vmap_any(axis=1)", 2, 2 },
		{ "grad(wrt=0),vjp(wrt=0),hop", 0, 0 },
	};
	struct rig *r = rig_open();
	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const hop_graph *g;
		hop_status st = run(r, row[i].passes, &g);
		if (!row[i].nparam) {
			assert_int_equal(st, HOP_EVALUE);
			continue;
		}
		if (st)
			fail_msg("%s: %s", row[i].passes, r->e.diag.text);
		assert_int_equal(g->nparam, row[i].nparam);
		assert_int_equal(g->nout, row[i].nout);
	}
	rig_close(r);
}

static void refuses(void **state)
{
	static const struct { const char *passes, *says; } row[] = {
		{ "", "no pass is called nothing" },
		{ "grad,", "no pass is called nothing" },
		{ "Grad", "no pass is called Grad" },
		{ "grad(", "character 6: grad has no argument the end: it takes wrt=[0,2]" },
		{ "grad(wrt", "character 9: = is needed, this is the end" },
		{ "grad(wrt=", "character 10: a number from 0 for wrt is needed, this is the end" },
		{ "grad(wrt=[0", "character 12: a comma or ] is needed, this is the end" },
		{ "grad(wrt=[0,]", "character 13: a number from 0 for wrt is needed, this is ]" },
		{ "grad(wrt=0", "character 11: a comma or ) is needed, this is the end" },
		{ "grad(wrt=0)(", "character 12: a comma is needed, this is (" },
		{ "grad(wrt=none)", "character 10: a number from 0 for wrt is needed, this is none" },
		{ "grad(wrt=-1)", "character 10: a number from 0 for wrt is needed, this is -1" },
		{ "grad(n=1)", "character 6: grad has no argument n: it takes wrt=[0,2]" },
		{ "cse,dce(n=1)", "character 9: dce has no argument n: it takes none" },
		{ "vmap(n=1,n=1)", "character 10: n is given twice" },
		{ "vmap(n=[1])", "character 8: one number and no list is needed, this is [" },
		{ "vmap(n=none)", "character 8: a number from 0 or any for n is needed, this is none" },
		{ "vmap(axis=any)", "a number from 0 or none for axis is needed, this is any" },
		{ "vmap(chunk=0)", "a number from 1 for chunk is needed, this is 0" },
		{ "vmap(n=9223372036854775808)", "a number from 0 or any for n is needed" },
		{ "vmap(n=9223372036854775807)", "lanes, at character 6" },
		{ "vmap(axis=[0])", "axes for 1 parameters, the graph has 2, at character 6" },
		{ "vmap(out=[0,0])", "axes for 2 results, the graph has 1, at character 6" },
		{ "vmap(axis=none,n=any)", "nothing says how many lanes there are" },
		{ "vmap(axis=4)", "vmap: axis 4 for the lanes of input 0, which then has 2 axes" },
		{ "vmap(out=2)", "vmap: axis 2 for the lanes of result 0, which then has 1 axes" },
		{ "vmap(out=none)", "vmap: result 0 differs between lanes and has no axis for them" },
		{ "vmap(out=none,chunk=2)", "vmap: result 0 has no axis for the lanes" },
		{ "grad(wrt=2)", "grad: there is no input 2: there are 2" },
		{ "grad(wrt=9999999999)", "grad: there is no input 9999999999: there are 2, at character 6" },
		{ "cse,grad(wrt=[1,1])", "in wrt of grad, at character 10" },
		{ "vmap,grad", "grad: the first result is f64[4], it must be a float scalar" },
		{ "vmap,hvp", "grad: the first result is f64[4], it must be a float scalar" },
		{ "jacrev(results=2)", "jacrev: 2 results to differentiate, the function has 1" },
		{ "linearize(half=2)", "linearize: half is 0 or 1, at character 11" },
	};
	struct rig *r = rig_open();
	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const hop_graph *g;
		hop_status st = run(r, row[i].passes, &g);
		if (!st || !r->e.diag.text || !strstr(r->e.diag.text, row[i].says))
			fail_msg("'%s' gives %d: %s\nnot: %s", row[i].passes, (int)st,
			         r->e.diag.text ? r->e.diag.text : "", row[i].says);
	}
	rig_close(r);
}

static uint32_t draw(uint64_t *s, uint32_t n)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*s >> 33) % n;
}

static void random_texts(void **state)
{
	static const char *const seed[] = {
		"vmap(axis=[1,none],n=8),grad(wrt=0)", "jacrev(wrt=[0,1],chunk=2)",
		"cse,hvp(wrt=0),linearize(half=1)",
		"grad(wrt=0),vmap(out=[0,1],n=any)"
	};
	static const char with[] = "()[],=0123456789 nogradvmpxiut_-.\t";
	uint64_t s = 42;
	int good = 0, bad = 0;
	struct rig *r = rig_open();
	(void)state;
	for (int i = 0; i < 4000; i++) {
		char t[80];
		const hop_graph *g;
		snprintf(t, sizeof t, "%s", seed[i % 4]);
		for (uint32_t k = draw(&s, 4); k-- > 0;) {
			size_t n = strlen(t), at = draw(&s, (uint32_t)n + 1);
			if (draw(&s, 2) && n < sizeof t - 1) {
				memmove(t + at + 1, t + at, n - at + 1);
				t[at] = with[draw(&s, sizeof with - 1)];
			} else if (at < n) {
				memmove(t + at, t + at + 1, n - at);
			}
		}
		if (run(r, t, &g)) {
			if (!r->e.diag.text || !*r->e.diag.text)
				fail_msg("'%s' is refused without a word", t);
			bad++;
		} else {
			good++;
		}
	}
	assert_true(good > 500 && bad > 500);
	rig_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(reads), cmocka_unit_test(refuses),
		                                cmocka_unit_test(random_texts) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
