/* text_test.c -- the text form against graphs built by hand, names that clash, contexts
 * that differ, and memory that runs out. The grammar itself is pinned by test/golden. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/rule.h"
#include "text/text.h"

/* A context and a unit of work; every test ends its own guard. */
struct rig { hop_ctx *c; hop_env e; hop_frame f; };

static void up(struct rig *r)
{
	assert_int_equal(hop_ctx_new(NULL, &r->c), HOP_OK);
	hop_env_init(&r->e, r->c, hop_ctx_mem(r->c));
	hop_guard_begin(&r->e, &r->f);        /* memory is plenty: the exit is never taken */
}

static void down(struct rig *r)
{
	hop_guard_end(&r->e, &r->f);
	hop_env_fini(&r->e);
	hop_ctx_free(r->c);
}

static hop_module *read(struct rig *r, const char *s)
{
	hop_module *m;
	if (hop_module_parse(&r->e, s, strlen(s), "t.hop", &m))
		fail_msg("%s", r->e.diag.text);
	return m;
}

static void prints(struct rig *r, const hop_graph *g, const char *want)
{
	hop_buf b;
	hop_buf_open(&b, &r->e);
	hop_graph_print(&b, g);
	assert_string_equal(b.s, want);
	hop_buf_free(&b);
}

static void refuses(const char *s, size_t n, hop_status st, const char *want)
{
	struct rig r;
	hop_module *m;
	up(&r);
	assert_int_equal(hop_module_parse(&r.e, s, n, "t.hop", &m), st);
	assert_null(m);
	if (!strstr(r.e.diag.text, want))
		fail_msg("%s\n lacks: %s", r.e.diag.text, want);
	down(&r);
}

/* ---- what is built prints, what is printed reads back as the same pointer ---- */

static void built(void **state)
{
	struct rig r;
	hop_build b;
	hop_graph *g;
	(void)state;
	up(&r);
	hop_build_open(&b, &r.e);
	int s = hop_build_sym(&b, (hop_range){ 1, 8 }, "n");
	hop_size dim[2] = { hop_size_sym(&r.e, s), hop_size_int(3) };
	hop_val x = hop_build_param(&b, hop_type_get(&r.e, HOP_f32, 2, dim));
	hop_val y = hop_emit(&b, sin, x);
	int64_t axes[1] = { 1 };
	hop_val z = hop_emit_sum(&b, hop_emit(&b, mul, y, x), 1, axes);
	assert_int_equal(hop_seal(&b, 1, &z, "f", &g), HOP_OK);
	static const char want[] =
		"hop 1\n"
		"graph @f<n: 1..8>(%0: f32[n, 3]) -> f32[n] {\n"
		"  %1 = sin %0 : f32[n, 3]\n"
		"  %2 = mul %1, %0 : f32[n, 3]\n"
		"  %3 = sum %2 {axes = [1]} : f32[n]\n"
		"  return %3\n"
		"}\n";
	prints(&r, g, want);
	assert_int_equal(hop_verify(&r.e, g), HOP_OK);
	hop_module *m = read(&r, want);
	assert_ptr_equal(m->entry[0].g, g);            /* interned: the very same graph */
	hop_module_free(m, &r.e.mem);
	down(&r);
}

/* Names no text can hold, names that clash, sizes without names. */
static void names(void **state)
{
	struct rig r;
	hop_build b;
	hop_graph *g;
	(void)state;
	up(&r);
	hop_build_open(&b, &r.e);
	hop_size dim[5];
	static const char *const name[5] = { NULL, "s0", "batch size", "min", "3d" };
	for (int i = 0; i < 5; i++)
		dim[i] = hop_size_sym(&r.e, hop_build_sym(&b, (hop_range){ 0, HOP_SIZE_MAX }, name[i]));
	hop_val x = hop_build_param(&b, hop_type_get(&r.e, HOP_bool, 5, dim));
	assert_int_equal(hop_seal(&b, 1, &x, "my graph", &g), HOP_OK);
	static const char want[] =
		"hop 1\n"
		"graph @my_graph<s0_1, s0, batch_size, min_1, _d>(%0: bool[s0_1, s0, batch_size, "
		"min_1, _d]) -> bool[s0_1, s0, batch_size, min_1, _d] {\n"
		"  return %0\n"
		"}\n";
	prints(&r, g, want);
	struct rig other;
	up(&other);
	hop_module *m = read(&other, want);
	prints(&other, m->entry[0].g, want);
	assert_true(hop_hash_eq(m->entry[0].g->hash, g->hash));   /* across contexts */
	hop_module_free(m, &other.e.mem);
	down(&other);
	down(&r);
}

static void finding(void **state)
{
	struct rig r;
	(void)state;
	up(&r);
	hop_module *m = read(&r, "hop 1 graph @a(%0: f32) { return %0 }\n"
	                     "graph @b.c() { return } # the last\n");
	assert_int_equal(m->n, 2);
	assert_ptr_equal(hop_module_find(m, NULL), m->entry[1].g);
	assert_ptr_equal(hop_module_find(m, "a"), m->entry[0].g);
	assert_ptr_equal(hop_module_find(m, "b.c"), m->entry[1].g);
	assert_null(hop_module_find(m, "b"));
	hop_module_free(m, &r.e.mem);
	m = read(&r, "hop 1");
	assert_null(hop_module_find(m, NULL));
	hop_module_free(m, &r.e.mem);
	down(&r);
}

/* Locations of nodes are the lines of the text. */
static void locations(void **state)
{
	struct rig r;
	const char *file;
	int line;
	hop_loc in;
	(void)state;
	up(&r);
	hop_module *m = read(&r, "hop 1\ngraph @a(%0: f32) {\n\n  %1 = sin %0\n return %1 }");
	assert_true(hop_loc_read(r.c, m->entry[0].g->node[0].loc, &file, &line, &in));
	assert_string_equal(file, "t.hop");
	assert_int_equal(line, 4);
	hop_module_free(m, &r.e.mem);
	down(&r);
}

static void refusals(void **state)
{
	static const char zero[] = "hop 1\ngraph\0@f";
	(void)state;
	refuses("", 0, HOP_EPARSE, "t.hop:1:1: error: ");
	refuses(zero, sizeof zero - 1, HOP_EPARSE, "no meaning");
	refuses("hop 1 graph @f(%0: f32[99999999999999999999]) { return }", 56, HOP_EPARSE,
	        "64 bits");
	refuses("hop 1 graph @f(%0: f32[-1]) { return }", 38, HOP_EPARSE, "at least 0");
	refuses("hop 1 data $0 f32[1000000000000] \"00\"", 37, HOP_EPARSE, "too short");
	refuses("hop 1 graph @f(%0: f32[s]) { return }", 37, HOP_EPARSE, "no size is called s");
	refuses("hop 1 graph @f(%0: f32) { %1 = add %0, %0 : f32, f32 return }", 61, HOP_EPARSE,
	        "more types");
	refuses("hop 1 graph @f(%0: f32[2], %1: i64[2]) { %2 = add %0, %1 return }", 65,
	        HOP_ETYPE, "t.hop:1:47: error: add");
}

/* Bodies nested to the limit read and print; one more level is refused. */
static void depth(void **state)
{
	(void)state;
	for (int n = 190; n <= 210; n += 20) {
		struct rig r;
		hop_buf b;
		hop_module *m;
		up(&r);
		hop_buf_open(&b, &r.e);
		hop_put(&b, "hop 1 graph @f() {");
		for (int i = 0; i < n; i++)
			hop_put(&b, "call { body() {");
		for (int i = 0; i < n; i++)
			hop_putf(&b, "%s return } }", i ? "" : "print {text = \"x\"}");
		hop_put(&b, "return }");
		hop_status st = hop_module_parse(&r.e, b.s, b.n, "t.hop", &m);
		assert_int_equal(st, n < 200 ? HOP_OK : HOP_EPARSE);
		if (!st)
			assert_int_equal(hop_verify(&r.e, m->entry[0].g), HOP_OK);
		hop_module_free(m, &r.e.mem);
		hop_buf_free(&b);
		down(&r);
	}
}

/* The verifier sees each kind of damage. */
static void damage(void **state)
{
	struct rig r;
	(void)state;
	up(&r);
	hop_module *m = read(&r, "hop 1 graph @f<s>(%0: f32[s], %1: f32[s]) {\n"
	                     "%2 = sin %0\n %3 = add %2, %1 return %3 }");
	const hop_graph *g = m->entry[0].g;
	hop_graph bad[6];
	hop_node node[2] = { g->node[0], g->node[1] };
	hop_val later[2] = { { 3 }, { 1 } }, out = { 9 };
	const hop_type *type[4] = { g->type[0], g->type[1], hop_type_scalar(&r.e, HOP_f32),
	                            g->type[3] };
	hop_range range = { 5, 2 };
	for (int i = 0; i < 6; i++)
		bad[i] = *g;
	bad[0].has_effect = true;
	node[1].in = later;
	bad[1].node = node;
	bad[2].out = &out;
	bad[3].type = type;
	bad[4].range = &range;
	bad[5].nsym = 0;
	for (int i = 0; i < 6; i++) {
		assert_int_not_equal(hop_verify(&r.e, &bad[i]), HOP_OK);
		hop_diag_clear(&r.e);
	}
	assert_int_equal(hop_verify(&r.e, g), HOP_OK);
	hop_module_free(m, &r.e.mem);
	down(&r);
}

/* ---- no memory: at any allocation the status comes back and nothing is lost ---- */

static void *scarce(void *user, void *p, size_t o, size_t n)
{
	long *left = user;
	if (n && (*left)-- <= 0)
		return NULL;
	return hop_alloc_default(NULL, p, o, n);
}

/* True when it went through. */
static bool attempt(long left)
{
	static const char s[] =
		"hop 1\ngraph @f<s: 1..>(%0: bool, %1: f32[s]) {\n"
		"  %2 = cond %0, %1 {\n    then<s: 1..>(%0: f32[s]) { %1 = sin %0 return %1 }\n"
		"    else<s: 1..>(%0: f32[s]) { return %0 }\n  }\n  return %2\n}\n";
	hop_ctx *c;
	hop_env e;
	hop_frame f;
	hop_module *volatile m = NULL;
	volatile hop_status st;
	hop_ctx_opts o = { .size = sizeof o, .alloc = scarce, .user = &left };
	if (hop_ctx_new(&o, &c))
		return false;
	hop_env_init(&e, c, hop_ctx_mem(c));
	if (HOP_GUARD(&e, &f)) {
		st = hop_guard_nomem(&e, &f);
	} else {
		hop_module *got;
		hop_buf b;
		st = hop_module_parse(&e, s, sizeof s - 1, "t.hop", &got);
		m = got;
		assert_int_equal(st, HOP_OK);          /* no memory is the jump */
		hop_buf_open(&b, &e);
		hop_graph_print(&b, hop_module_find(m, NULL));
		hop_buf_free(&b);
		st = hop_verify(&e, hop_module_find(m, NULL));
		hop_guard_end(&e, &f);
	}
	assert_true(st == HOP_OK || st == HOP_ENOMEM);
	hop_module_free(m, &e.mem);
	hop_env_fini(&e);
	hop_ctx_free(c);
	return st == HOP_OK;
}

static void scarcity(void **state)
{
	long left = 0;
	(void)state;
	while (!attempt(left))
		left++;
	assert_true(left > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(built),
		cmocka_unit_test(names),
		cmocka_unit_test(finding),
		cmocka_unit_test(locations),
		cmocka_unit_test(refusals),
		cmocka_unit_test(depth),
		cmocka_unit_test(damage),
		cmocka_unit_test(scarcity),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
