/* every_test.c -- memory modes of scan: gradients do not change, what is kept does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ad/ad.h"
#include "hop/ctx.h"
#include "interp/interp.h"
#include "text/text.h"

/* A carry of 3 numbers; a step makes intermediates that reverse mode needs. */
static const char program[] =
	"hop 1\n"
	"graph @f%s(%%n: i64, %%h: f64[3], %%xs: f64[%s, 3]) {\n"
	"  %%a, %%ys = scan %s%%h, %%xs {ncarry = 1, nx = 1, length = %s, every = %d%s} {\n"
	"    body%s(%%h: f64[3], %%x: f64[3]) {\n"
	"      %%p = mul %%h, %%x\n"
	"      %%q = sin %%p\n"
	"      %%e = exp %%q\n"
	"      %%r = mul %%e, %%h\n"
	"      %%t = tanh %%r\n"
	"      %%y = sum %%t {axes = [0]}\n"
	"      return %%t, %%y\n"
	"    }\n"
	"  }\n"
	"  return %%a, %%ys\n"
	"}\n";

typedef struct rig {
	hop_ctx   *ctx;
	hop_env    env;
	hop_interp p;
} rig;

struct kind {
	int64_t     length;        /* of the run */
	const char *size;          /* as written */
	int         every;
	bool        reverse, counted;
};

static const hop_graph *joint_of(rig *t, struct kind k, int every)
{
	char text[2048], attr[64];
	bool sym = k.size[0] == 's';
	hop_module *m;
	const hop_graph *g, *j;
	snprintf(attr, sizeof attr, "%s%s", k.reverse ? ", reverse = true" : "",
	         k.counted ? ", counted = true" : "");
	snprintf(text, sizeof text, program, sym ? "<s: 1..90>" : "", k.size,
	         k.counted ? "%n, " : "", k.size, every, attr, sym ? "<s: 1..90>" : "");
	if (hop_module_parse(&t->env, text, strlen(text), "every", &m))
		fail_msg("%s", t->env.diag.text);
	g = hop_module_find(m, NULL);
	hop_module_free(m, &t->env.mem);
	const bool ct[] = { true, true }, want[] = { false, true, true };
	if (hop_ad_vjp(&t->env, g, ct, want, &j) || hop_verify(&t->env, j))
		fail_msg("%s", t->env.diag.text);
	return j;
}

/* Bytes that the forward half makes for the reverse half. */
static int64_t kept(rig *t, const hop_graph *j, int64_t s)
{
	const hop_cut *c;
	int64_t sum = 0, n;
	if (hop_ad_cut(&t->env, j, 3, 2, NULL, NULL, HOP_CUT_MIN, 1, &c))
		fail_msg("%s", t->env.diag.text);
	for (uint32_t i = 0; i < c->nextra; i++) {
		const hop_type *y = hop_graph_out_type(c->fwd, 2 + i);
		assert_true(hop_size_eval(hop_type_count(&t->env, y), &s, (int)j->nsym, &n));
		sum += n * (int64_t)hop_dtype_bytes((hop_dtype)y->dtype);
	}
	return sum;
}

static void run(rig *t, const hop_graph *j, int64_t length, int64_t count, hop_array **out)
{
	hop_array *in[5];
	in[0] = hop_interp_new(&t->p, HOP_i64, 0, NULL);
	hop_array_set_i(in[0], 0, count);
	in[1] = hop_interp_new(&t->p, HOP_f64, 1, (const int64_t[]){ 3 });
	in[2] = hop_interp_new(&t->p, HOP_f64, 2, (const int64_t[]){ length, 3 });
	in[3] = hop_interp_new(&t->p, HOP_f64, 1, (const int64_t[]){ 3 });
	in[4] = hop_interp_new(&t->p, HOP_f64, 1, &length);
	for (int i = 1; i < 5; i++)
		for (int64_t k = 0; k < in[i]->count; k++)
			hop_array_set_f(in[i], k, 0.7 + 0.4 * sin((double)(7 * i + k)));
	if (hop_interp_graph(&t->p, j, &length, in, out))
		fail_msg("%s", t->env.diag.text);
	for (int i = 0; i < 5; i++)
		hop_interp_release(&t->p, in[i]);
}

static void compare(rig *t, struct kind k)
{
	const hop_graph *all = joint_of(t, k, 0), *some = joint_of(t, k, k.every);
	for (int64_t n = 0; n <= k.length + 1; n += k.counted ? 1 : k.length + 1) {
		hop_array *a[4], *b[4];
		run(t, all, k.length, n, a);
		run(t, some, k.length, n, b);
		for (int i = 0; i < 4; i++) {
			assert_true(a[i]->count == b[i]->count);
			for (int64_t q = 0; q < a[i]->count; q++)
				assert_true(hop_array_f(a[i], q) == hop_array_f(b[i], q));
			hop_interp_release(&t->p, a[i]);
			hop_interp_release(&t->p, b[i]);
		}
	}
	/* one carry of 24 bytes a chunk, and nothing else */
	int64_t e = k.every > 0 ? k.every : (int64_t)ceil(sqrt((double)k.length));
	if (k.every < 0 && k.size[0] == 's')
		e = 10;                /* the root of its bound, 90 */
	int64_t chunks = (k.length + e - 1) / e;
	assert_true(kept(t, all, k.length) >= 24 * k.length);
	assert_int_equal(kept(t, some, k.length), 24 * chunks);
}

static void test_modes(void **state)
{
	rig *t = *state;
	static const struct { int64_t n; const char *size; } length[] = {
		{ 7, "7" }, { 12, "12" }, { 1, "1" }, { 7, "s" }, { 12, "s" }
	};
	static const int every[] = { 1, 3, 4, 40, -1 };
	hop_frame f;
	if (HOP_GUARD(&t->env, &f))
		fail_msg("no memory");
	for (size_t i = 0; i < sizeof length / sizeof *length; i++)
		for (size_t k = 0; k < sizeof every / sizeof *every; k++)
			for (int m = 0; m < 4; m++)
				compare(t, (struct kind){ length[i].n, length[i].size, every[k], m & 1,
				                          m >> 1 & 1 });
	hop_guard_end(&t->env, &f);
}

static int setup(void **state)
{
	static rig t;
	if (hop_ctx_new(NULL, &t.ctx))
		return -1;
	hop_env_init(&t.env, t.ctx, (hop_mem){ 0 });
	hop_interp_init(&t.p, &t.env);
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	rig *t = *state;
	hop_interp_fini(&t->p);
	hop_env_fini(&t->env);
	hop_ctx_free(t->ctx);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_modes, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
