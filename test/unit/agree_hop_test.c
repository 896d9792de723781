/* agree_hop_test.c -- operators with bodies, called wrongly, eagerly and captured: both
 * refuse with the same status and a message that names the operator. Then the transforms
 * of functions, and loops that never end, which must not end in any way to run them. */
#include "support/wrong_hops.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void wrong_calls(void **state)
{
	int bad = 0;
	(void)state;
	for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
		hop_array *in[NIN] = { vec(3, (double[]){ 1, 2, 3 }), num(0.5), num_i(2),
		                       array(HOP_bool, 0, NULL, "\0"), array(HOP_bool, 0, NULL, "\1") };
		hop_array *out;
		hop_spec spec[NIN];
		hop_fn *f = NULL;
		hop_status st[2];
		char text[2][400];
		for (int k = 0; k < NIN; k++)
			spec[k] = spec_of(in[k]);
		st[0] = hop_capture(ctx, wrongs[i].f, NULL, NIN, spec, &f);
		snprintf(text[0], sizeof text[0], "%s", st[0] ? hop_message(ctx) : "accepted");
		st[1] = hop_eager_call(ctx, wrongs[i].f, NULL, NIN, in, 1, &out);
		snprintf(text[1], sizeof text[1], "%s", st[1] ? hop_message(ctx) : "accepted");
		if (!st[0] || st[0] != st[1] || !strstr(text[0], wrongs[i].words) ||
		    !strstr(text[1], wrongs[i].words)) {
			bad++;
			print_error("%s: wanted %s\n  captured: status %d %s\n  eager:    status %d %s\n",
			            wrongs[i].name, wrongs[i].words, st[0], text[0], st[1], text[1]);
		}
		hop_fn_release(f);
		hop_array_release(out);
		for (int k = 0; k < NIN; k++)
			hop_array_release(in[k]);
	}
	assert_int_equal(bad, 0);
}

/* ---- transforms of functions ---- */

static void refused(hop_status st, hop_fn **f, const char *words)
{
	assert_null(*f);
	if (!st || !strstr(hop_message(ctx), words))
		fail_msg("status %d: %s\nwanted: %s", st, hop_message(ctx), words);
}

static void wrong_transforms(void **state)
{
	static const int twice[2] = { 0, 0 }, one[1] = { 1 }, back[1] = { -1 };
	const bool no[2] = { false, false }, yes[2] = { true, false };
	hop_spec s[2] = { hop_spec1(HOP_f64, 3), hop_spec0(HOP_i64) };
	hop_fn *f, *g;
	(void)state;
	assert_int_equal(hop_capture(ctx, total_, NULL, 2, s, &f), HOP_OK);
	refused(hop_grad(f, 2, twice, &g), &g, "grad: input 0 is named twice");
	refused(hop_jvp(f, 2, twice, &g), &g, "jvp: input 0 is named twice");
	refused(hop_vjp(f, 2, twice, &g), &g, "vjp: input 0 is named twice");
	refused(hop_grad(f, 1, one, &g), &g, "grad: input 1 is i64");
	refused(hop_grad(f, 1, back, &g), &g, "grad: there is no input -1");
	refused(hop_grad(f, 1, NULL, &g), &g, "grad: 1 inputs");
	refused(hop_grad(f, -1, back, &g), &g, "grad: -1 inputs");
	refused(hop_vmap(f, no, -1, &g), &g, "vmap: no input is batched");
	refused(hop_vmap(f, no, -2, &g), &g, "vmap: -2 lanes");
	refused(hop_vmap(f, yes, INT64_MAX, &g), &g, "vmap: ");
	refused(hop_vmap(f, NULL, 4, &g), &g, "vmap: it is not said");
	assert_int_equal(hop_vmap(f, no, 4, &g), HOP_OK);
	hop_fn_release(g);
	assert_int_equal(hop_vmap(f, yes, -1, &g), HOP_OK);
	hop_fn_release(g);
	hop_fn_release(f);
	hop_spec sym[2] = { hop_spec_sym(hop_spec1(HOP_f64, 1), 0, "n", 1, 3),
	                    hop_spec_sym(hop_spec1(HOP_f64, 1), 0, "n", 5, 9) };
	refused(hop_capture(ctx, total_, NULL, 2, sym, &f), &f, "no size n is within");
}

/* ---- loops that never end, since their results are wanted ---- */

BODY(grows_, hop_return(t, hop_addf(t, in[0], 1)))
BODY(endless_same, hop_while(t, always_, same_, NULL, 1, &in[X], NULL, out, NULL); DONE)
BODY(endless_grows, hop_while(t, always_, grows_, NULL, 1, &in[X], NULL, out, NULL); DONE)
BODY(endless_trips, hop_value n; hop_while(t, always_, same_, NULL, 1, &in[X], NULL, out, &n);
     hop_return(t, n))

enum way { EAGER, INTERP, NATIVE };

/* In a process of its own: comes back only if the loop ended. */
static void go(hop_body *f, enum way w)
{
	hop_ctx *c;
	hop_array *x, *out;
	hop_fn *fn;
	hop_spec s = hop_spec1(HOP_f64, 3);
	int64_t n = 3;
	if (w == INTERP)
		setenv("HOP_INTERP", "1", 1);
	else
		unsetenv("HOP_INTERP");
	alarm(20);                             /* should the parent be gone */
	if (hop_ctx_new(NULL, &c) || hop_array_new(c, HOP_f64, 1, &n, NULL, &x))
		_exit(2);
	if (w == EAGER ? hop_eager_call(c, f, NULL, 1, &x, 1, &out) != HOP_OK :
	    hop_capture(c, f, NULL, 1, &s, &fn) || hop_call(fn, 1, &x, 1, &out))
		_exit(3);
	_exit(1);
}

static void endless(void **state)
{
	static const struct { const char *name; hop_body *f; enum way w; } cases[] = {
		{ "same, eager", endless_same, EAGER }, { "same, interpreted", endless_same, INTERP },
		{ "same, native", endless_same, NATIVE },
		{ "grows, eager", endless_grows, EAGER },
		{ "grows, interpreted", endless_grows, INTERP },
		{ "grows, native", endless_grows, NATIVE },
		{ "trips, eager", endless_trips, EAGER },
		{ "trips, interpreted", endless_trips, INTERP },
		{ "trips, native", endless_trips, NATIVE },
	};
	enum { N = sizeof cases / sizeof *cases };
	pid_t child[N];
	int bad = 0;
	(void)state;
	for (int i = 0; i < N; i++) {
		child[i] = fork();
		assert_true(child[i] >= 0);
		if (!child[i])
			go(cases[i].f, cases[i].w);
	}
	usleep(400000);
	for (int i = 0; i < N; i++) {
		int st;
		if (waitpid(child[i], &st, WNOHANG)) {
			print_error("%s: ended with %d\n", cases[i].name, WEXITSTATUS(st));
			bad++;
			continue;
		}
		kill(child[i], SIGKILL);
		waitpid(child[i], &st, 0);
	}
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_calls),
		cmocka_unit_test(wrong_transforms),
		cmocka_unit_test(endless),
	};
	return cmocka_run_group_tests(tests, up, down);
}
