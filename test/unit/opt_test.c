/* opt_test.c -- every pass against the interpreter: what a graph gives before and after is
 * the same, effects included, on programs written here, on random ones with operators in
 * operators, and on their derivatives and batches. What a pass makes is pinned by golden
 * files, not here. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ad/ad.h"
#include "driver/pipeline.h"
#include "hops/hops.h"
#include "interp/interp.h"
#include "text/text.h"

enum { LEN = 4, MAXPOOL = 64, MAXOUT = 64, MAXLINES = 4096 };

/* The numbers that a run printed. */
struct lines {
	int    n;
	double v[MAXLINES];
};

struct rig {
	hop_ctx   *c;
	hop_env    e;
	hop_interp p;
	uint64_t   seed;
	struct lines *printed;       /* where lines go now */
	struct lines  before, after;
	int        nprog;
};

static int on_print(void *user, const char *line)
{
	struct lines *l = ((struct rig *)user)->printed;
	if (l->n < MAXLINES)
		l->v[l->n] = strtod(line, NULL);
	l->n++;
	return 0;
}

static int up(void **state)
{
	static struct rig r;
	memset(&r, 0, sizeof r);
	if (hop_ctx_new(NULL, &r.c))
		return -1;
	hop_env_init(&r.e, r.c, hop_ctx_mem(r.c));
	hop_interp_init(&r.p, &r.e);
	r.p.print = on_print;
	r.p.print_user = &r;
	r.seed = 12345;
	*state = &r;
	return 0;
}

static int down(void **state)
{
	struct rig *r = *state;
	r->e.frame = NULL;          /* a failed assertion jumps out of its guard */
	hop_interp_fini(&r->p);
	hop_env_fini(&r->e);
	hop_ctx_free(r->c);
	return 0;
}

static double uniform(struct rig *r)
{
	r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(r->seed >> 11) * 0x1p-53;
}

static int pick(struct rig *r, int n)
{
	return (int)(uniform(r) * n);
}

static void show(struct rig *r, const char *what, const hop_graph *g)
{
	hop_buf b;
	hop_buf_open(&b, &r->e);
	hop_graph_print(&b, g);
	fprintf(stderr, "---- %s\n%s", what, b.s);
	hop_buf_free(&b);
}

/* ---- the same before and after ---- */

static void inputs(struct rig *r, const hop_graph *g, int64_t *syms, hop_array **in)
{
	for (uint32_t i = 0; i < g->nsym; i++)
		syms[i] = g->range[i].lo > 5 ? g->range[i].lo : g->range[i].hi < 5 ? g->range[i].hi : 5;
	for (uint32_t i = 0; i < g->nparam; i++) {
		int64_t dim[HOP_MAXRANK];
		const hop_type *t = g->type[i];
		for (int k = 0; k < t->rank; k++)
			assert_true(hop_size_eval(t->dim[k], syms, (int)g->nsym, &dim[k]));
		in[i] = hop_interp_new(&r->p, (hop_dtype)t->dtype, t->rank, dim);
		for (int64_t k = 0; k < in[i]->count; k++)
			if (hop_dtype_float(in[i]->dtype))
				hop_array_set_f(in[i], k, 2 * uniform(r) - 1);
			else
				hop_array_set_i(in[i], k, pick(r, 2));
	}
}

static bool agrees(double x, double y)
{
	if (x == y || (isnan(x) && isnan(y)) || !(fabs(x) < 1e8))
		return true;
	return fabs(x - y) <= 1e-7 * (1 + fabs(x));
}

static bool tensors_agree(const hop_array *x, const hop_array *y)
{
	if (x->dtype != y->dtype || x->count != y->count || x->rank != y->rank)
		return false;
	for (int64_t i = 0; i < x->count; i++)
		if (hop_dtype_float(x->dtype) ? !agrees(hop_array_f(x, i), hop_array_f(y, i))
		                              : hop_array_i(x, i) != hop_array_i(y, i))
			return false;
	return true;
}

static void check_same(struct rig *r, const char *what, const hop_graph *g,
                       const hop_graph *h)
{
	int64_t syms[8];
	hop_array *in[MAXOUT], *x[MAXOUT], *y[MAXOUT];
	if (hop_verify(&r->e, h)) {
		show(r, what, h);
		fail_msg("%s: %s", what, r->e.diag.text);
	}
	assert_int_equal(g->nparam, h->nparam);
	assert_int_equal(g->nout, h->nout);
	assert_int_equal(g->nsym, h->nsym);
	assert_true(g->nparam <= MAXOUT && g->nout <= MAXOUT && g->nsym <= 8);
	for (uint32_t i = 0; i < g->nout; i++)
		if (g->nlocal == 0)
			assert_ptr_equal(hop_graph_out_type(g, i), hop_graph_out_type(h, i));
	inputs(r, g, syms, in);
	r->before.n = r->after.n = 0;
	r->printed = &r->before;
	assert_int_equal(hop_interp_graph(&r->p, g, syms, in, x), HOP_OK);
	r->printed = &r->after;
	if (hop_interp_graph(&r->p, h, syms, in, y))
		fail_msg("%s: %s", what, r->e.diag.text);
	bool ok = r->before.n == r->after.n;
	for (int i = 0; ok && i < r->before.n && i < MAXLINES; i++)
		ok = agrees(r->before.v[i], r->after.v[i]);
	for (uint32_t i = 0; i < g->nout; i++)
		ok = ok && tensors_agree(x[i], y[i]);
	if (!ok) {
		show(r, "before", g);
		show(r, what, h);
		fail_msg("%s: program %d gives other results", what, r->nprog);
	}
	for (uint32_t i = 0; i < g->nparam; i++)
		hop_interp_release(&r->p, in[i]);
	for (uint32_t i = 0; i < g->nout; i++) {
		hop_interp_release(&r->p, x[i]);
		hop_interp_release(&r->p, y[i]);
	}
}

static const hop_graph *pass(struct rig *r, const char *name, const hop_graph *g)
{
	const hop_graph *h;
	if (hop_passes_run(&r->e, "test", name, g, &h)) {
		show(r, name, g);
		fail_msg("%s: %s", name, r->e.diag.text);
	}
	return h;
}

/* Each pass alone, then the list, each step against the graph it started from; a pass run
 * again on what the list makes finds nothing to do. */
static void check_passes(struct rig *r, const hop_graph *g)
{
	static const char *const alone[] = { "fold", "cse", "dce", "inline", "licm", "hoist",
	                                     "accum", "sink", "bind", "place", "threads" };
	for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
		check_same(r, alone[i], g, pass(r, alone[i], g));
	const hop_graph *h = g;
	for (size_t i = 0; hop_pass_at(i); i++)
		if (hop_pass_runs(hop_pass_at(i), false)) {
			h = pass(r, hop_pass_at(i)->name, h);
			check_same(r, hop_pass_at(i)->name, g, h);
		}
	assert_ptr_equal(pass(r, "cse", h), h);
}

static const hop_graph *derive(struct rig *r, const hop_graph *g, int how)
{
	static const char *const name[] = { "vjp", "jvp", "vmap", "vmap_any" };
	return pass(r, name[how], g);
}

/* ---- programs written down ---- */

static const hop_graph *parse(struct rig *r, const char *text)
{
	hop_module *m;
	if (hop_module_parse(&r->e, text, strlen(text), "test", &m))
		fail_msg("%s", r->e.diag.text);
	const hop_graph *g = hop_module_find(m, NULL);
	hop_module_free(m, &r->e.mem);
	return g;
}

static const char *const programs[] = {
	/* a recurrent net with two products a step and a bias */
	"hop 1\ngraph @f<t: 1..9>(%h: f64[6], %x: f64[t, 6], %u: f64[6, 6], %v: f64[6, 6], %b: f64[6]) {\n"
	"  %1, %2 = scan %h, %x, %u, %v, %b {ncarry = 1, nx = 1, length = t} {\n"
	"    body(%h: f64[6], %x: f64[6], %u: f64[6, 6], %v: f64[6, 6], %b: f64[6]) {\n"
	"      %1 = dot %u, %x {lbatch = [], rbatch = [], lsum = [1], rsum = [0]}\n"
	"      %2 = dot %h, %v {lbatch = [], rbatch = [], lsum = [0], rsum = [0]}\n"
	"      %3 = add %1, %2\n      %4 = add %3, %b\n      %5 = tanh %4\n      return %5, %5\n"
	"    }\n  }\n  return %1, %2\n}\n",
	/* the same backwards, with a batch, and the square of the weights in the body */
	"hop 1\ngraph @f(%h: f64[2, 5], %x: f64[4, 2, 5], %u: f64[5, 5]) {\n"
	"  %1, %2 = scan %h, %x, %u {ncarry = 1, nx = 1, length = 4, reverse = true} {\n"
	"    body(%h: f64[2, 5], %x: f64[2, 5], %u: f64[5, 5]) {\n"
	"      %0 = dot %u, %u {lbatch = [], rbatch = [], lsum = [1], rsum = [0]}\n"
	"      %1 = dot %x, %0 {lbatch = [], rbatch = [], lsum = [1], rsum = [1]}\n"
	"      %2 = dot %h, %0 {lbatch = [], rbatch = [], lsum = [1], rsum = [0]}\n"
	"      %3 = add %1, %2\n      %4 = sin %3\n      return %4, %1\n"
	"    }\n  }\n  return %1, %2\n}\n",
	/* a count below the length, and a step that stops */
	"hop 1\ngraph @f(%n: i64, %a: f64[3, 3], %x: f64[5, 3]) {\n"
	"  %1, %2 = scan %n, %a, %x {ncarry = 1, nx = 1, length = 5, counted = true} {\n"
	"    body(%a: f64[3, 3], %x: f64[3]) {\n"
	"      %1 = dot %x, %x {lbatch = [], rbatch = [], lsum = [], rsum = []}\n"
	"      %2 = add %a, %1\n      return %2, %x\n    }\n  }\n"
	"  %3, %4 = scan %1, %2 {ncarry = 1, nx = 1, length = 5, stops = true} {\n"
	"    body(%a: f64[3, 3], %x: f64[3]) {\n"
	"      %1 = sin %x\n      %2 = dot %1, %x {lbatch = [], rbatch = [], lsum = [], rsum = []}\n"
	"      %3 = add %2, %a\n      %4 = sum %x {axes = [0]}\n"
	"      %5 = constant {value = f64 0.0}\n      %6 = lt %4, %5\n      return %3, %6\n"
	"    }\n  }\n  return %3, %4\n}\n",
	/* a while with a tape of unknown length, read by a scan */
	"hop 1\ngraph @f(%0: f64, %w: f64[3, 3], %v: f64[3]) {\n"
	"  %1, %2, %3, %4 = while %0, %v, %w {ncarry = 2, sym = n} {\n"
	"    test(%0: f64, %1: f64[3], %2: f64[3, 3]) {\n      %3 = constant {value = f64 4.0}\n"
	"      %4 = lt %0, %3\n      return %4\n    }\n"
	"    body(%0: f64, %1: f64[3], %2: f64[3, 3]) {\n      %3 = exp %0\n"
	"      %4 = dot %2, %1 {lbatch = [], rbatch = [], lsum = [1], rsum = [0]}\n"
	"      %5 = tanh %4\n      return %3, %5, %5\n    }\n  }\n"
	"  %5 = scan %3, %0, %4 {ncarry = 1, nx = 1, length = n, counted = true} {\n"
	"    body(%0: f64, %1: f64[3]) {\n      %2 = sum %1 {axes = [0]}\n      %3 = mul %0, %2\n"
	"      %4 = add %0, %3\n      return %4\n    }\n  }\n  return %1, %2, %5\n}\n",
	/* operators in operators; a callee used twice with other sizes */
	"hop 1\ngraph @g<n>(%0: f64[n], %1: f64) {\n  %2 = broadcast %1 {dims = [n], axes = []}\n"
	"  %3 = mul %0, %2\n  %4 = sin %3\n  %5 = sum %4 {axes = [0]}\n  return %5, %1\n}\n"
	"graph @f<s: 2..7>(%0: f64[s], %1: f64[3], %2: bool) {\n"
	"  %c = constant {value = f64 1.0}\n"
	"  %3, %4 = call %0, %c {sargs = [s], body = @g}\n"
	"  %5 = cond %2, %1, %3, %1 {\n"
	"    then(%0: f64[3], %1: f64, %2: f64[3]) {\n"
	"      %3, %4 = call %0, %1 {sargs = [3], body = @g}\n"
	"      %5 = scan %3, %2 {ncarry = 1, nx = 1, length = 3} {\n"
	"        body(%0: f64, %1: f64) {\n          %2 = mul %0, %1\n          return %2\n        }\n"
	"      }\n      return %5\n    }\n"
	"    else(%0: f64[3], %1: f64, %2: f64[3]) {\n      return %1\n    }\n  }\n"
	"  %6 = add %5, %4\n  return %6\n}\n",
	/* two sizes that must be equal at run time */
	"hop 1\ngraph @f<s: 5..5, t: 5..5>(%0: f64[s], %1: f64[t], %2: f64[s]) {\n"
	"  %3 = constant {value = f64 0.0}\n  %4 = broadcast %3 {dims = [s], axes = []}\n"
	"  %5 = add %4, %1\n  %6 = add %1, %0\n  %7 = mul %5, %6\n"
	"  %8 = dot %7, %1 {lbatch = [], rbatch = [], lsum = [0], rsum = [0]}\n  return %8, %5\n}\n",
	/* a custom rule */
	"hop 1\ngraph @f(%0: f64[2]) {\n  %1 = custom %0 {nouts = 1} {\n"
	"    fwd(%0: f64[2]) {\n      %1 = sin %0\n      return %1, %0\n    }\n"
	"    bwd(%0: f64[2], %1: f64[2]) {\n      %2 = cos %0\n      %3 = mul %2, %1\n"
	"      return %3\n    }\n  }\n  return %1\n}\n",
};

static void test_programs(void **state)
{
	struct rig *r = *state;
	hop_frame f;
	if (HOP_GUARD(&r->e, &f))
		fail_msg("no memory");
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		const hop_graph *g = parse(r, programs[i]);
		r->nprog = (int)i;
		for (int k = 0; k < 3; k++)
			check_passes(r, g);
		for (int how = 0; how < 4; how++) {
			if (i == 6 && how == 1)      /* no forward rule is given */
				continue;
			check_passes(r, derive(r, g, how));
			if (how == 0 || (how == 2 && i != 6))
				check_passes(r, derive(r, derive(r, g, how), how == 0 ? 2 : 0));
		}
	}
	hop_guard_end(&r->e, &f);
}

/* ---- random programs ---- */

/* The types that values have: scalars, vectors, matrices; with LEN rows or without. */
enum { T_F, T_V, T_M, T_FL, T_VL, T_I, T_B, NT };

static const hop_type *type_no(struct rig *r, int t)
{
	hop_size d[] = { hop_size_int(t == T_FL || t == T_VL ? LEN : 3), hop_size_int(3) };
	static const int rank[NT] = { 0, 1, 2, 1, 2, 0, 0 };
	return hop_type_get(&r->e, t == T_I ? HOP_i64 : t == T_B ? HOP_bool : HOP_f64, rank[t], d);
}

struct pool {
	hop_val v[MAXPOOL];
	int     t[MAXPOOL];
	int     n;
};

static void put(struct pool *p, hop_val v, int t)
{
	if (p->n < MAXPOOL) {
		p->v[p->n] = v;
		p->t[p->n++] = t;
	}
}

/* A value of the type; late ones more often. Every pool starts with one of each. */
static hop_val any(struct rig *r, const struct pool *p, int t)
{
	for (int tries = 0; tries < 30; tries++) {
		int i = p->n - 1 - (int)(uniform(r) * uniform(r) * p->n);
		if (p->t[i] == t)
			return p->v[i];
	}
	for (int i = 0; ; i++)
		if (p->t[i] == t)
			return p->v[i];
}

static void leaves(struct rig *r, hop_build *b, struct pool *p)
{
	for (int t = 0; t < NT; t++)
		put(p, t == T_I ? hop_emit_const_i(b, HOP_i64, pick(r, 3))
		                : hop_emit_full(b, type_no(r, t), pick(r, 2)), t);
}

static void plain(struct rig *r, hop_build *b, struct pool *p)
{
	static const int un[] = { HOP_OP_sin, HOP_OP_tanh, HOP_OP_neg };
	static const int bin[] = { HOP_OP_add, HOP_OP_add, HOP_OP_sub, HOP_OP_mul, HOP_OP_max };
	static const int64_t swap[] = { 1, 0 }, no[] = { 0 };
	int t = pick(r, T_VL + 1);
	hop_ints none = { 0, NULL }, a0 = { 1, no }, a1 = { 1, swap };
	hop_val x = any(r, p, t), y = any(r, p, t);
	switch (pick(r, 10)) {
	case 0: put(p, hop_emit_op(b, un[pick(r, 3)], NULL, 1, &x), t); break;
	case 1: case 2: case 3:
		put(p, hop_emit_op(b, bin[pick(r, 5)], NULL, 2, (hop_val[]){ x, y }), t);
		break;
	case 4:
		put(p, hop_emit_dot(b, any(r, p, T_M), any(r, p, T_V), none, none,
		                    pick(r, 2) ? a0 : a1, a0), T_V);
		break;
	case 5:
		put(p, hop_emit_dot(b, any(r, p, T_V), any(r, p, T_V), none, none, none, none), T_M);
		break;
	case 6: put(p, hop_emit_permute(b, any(r, p, T_M), swap), T_M); break;
	case 7: put(p, hop_emit_sum(b, any(r, p, T_V), 1, no), T_F); break;
	case 8:
		put(p, hop_emit_match(b, any(r, p, T_F), type_no(r, T_V)), T_V);
		put(p, hop_emit(b, lt, any(r, p, T_F), any(r, p, T_F)), T_B);
		break;
	default: {
		hop_val c = hop_emit_match(b, any(r, p, T_B), hop_type_with(&r->e, type_no(r, t), HOP_bool));
		put(p, hop_emit(b, select, c, x, y), t);
		if (!pick(r, 3)) {
			struct hop_attr_print pr = { .text = { 2, "{}" } };
			hop_val f = any(r, p, T_F);
			hop_emit_op(b, HOP_OP_print, &pr, 1, &f);
		}
	}
	}
}

static void grow(struct rig *r, hop_build *b, struct pool *p, int depth, int n);

/* A body with parameters of the given types whose results have the given types. */
static const hop_graph *body(struct rig *r, int depth, int np, const int *pt, int no,
                             const int *ot, int id)
{
	hop_build b;
	struct pool p = { .n = 0 };
	hop_val out[MAXOUT];
	hop_graph *g;
	hop_build_open(&b, &r->e);
	for (int i = 0; i < np; i++)
		put(&p, hop_build_param(&b, type_no(r, pt[i])), pt[i]);
	struct pool own = p;
	leaves(r, &b, &p);
	grow(r, &b, &p, depth - 1, 3 + pick(r, 8));
	for (int i = 0; i < np; i++)
		if (pt[i] == T_M && !pick(r, 2))     /* a sum of products, sometimes read elsewhere */
			put(&p, hop_emit(&b, add, own.v[i],
			                 hop_emit_dot(&b, any(r, &p, T_V), any(r, &p, T_V), (hop_ints){ 0, NULL },
			                              (hop_ints){ 0, NULL }, (hop_ints){ 0, NULL },
			                              (hop_ints){ 0, NULL })), T_M);
	if (!pick(r, 3))
		grow(r, &b, &p, 0, 3);
	for (int i = 0; i < no; i++) {
		out[i] = any(r, &p, ot[i]);
		if (i < np && own.t[i] == ot[i] && !pick(r, 5))
			out[i] = own.v[i];               /* an unchanged carry, a forwarded operand */
	}
	if (id >= 0)
		out[0] = hop_emit(&b, add, own.v[id], hop_emit_const_i(&b, HOP_i64, 1));
	if (hop_seal(&b, (uint32_t)no, out, NULL, &g))
		fail_msg("%s", r->e.diag.text);
	return g;
}

static const hop_graph *below(struct rig *r, int np, const int *pt)
{
	hop_build b;
	hop_graph *g;
	hop_val first = HOP_BAD;
	hop_build_open(&b, &r->e);
	for (int i = 0; i < np; i++) {
		hop_val v = hop_build_param(&b, type_no(r, pt[i]));
		first = i ? first : v;
	}
	hop_val t = hop_emit(&b, lt, first, hop_emit_const_i(&b, HOP_i64, pick(r, LEN + 1)));
	assert_int_equal(hop_seal(&b, 1, &t, NULL, &g), HOP_OK);
	return g;
}

static void operator(struct rig *r, hop_build *b, struct pool *p, int depth)
{
	int pt[12], ot[12], nc = 1 + pick(r, 3), nx = 1 + pick(r, 2), nk = 1 + pick(r, 4), n = 0;
	hop_val in[12], out[16];
	hop_sizes none = { 0, NULL };
	int kind = pick(r, 4), ny = 1 + pick(r, 2);
	for (int i = 0; i < nc; i++, n++)
		ot[n] = pt[n] = kind == 2 && !i ? T_I : pick(r, T_M + 1);
	for (int i = 0; i < nc; i++)
		in[i] = any(r, p, pt[i]);
	if (kind < 2) {                                 /* call, cond */
		for (int i = 0; i < nk; i++, n++)
			in[n] = any(r, p, pt[n] = pick(r, T_M + 1));
		const hop_graph *a = body(r, depth, n, pt, nc, ot, -1), *z = a;
		if (kind == 1)
			z = body(r, depth, n, pt, nc, ot, -1);
		if (kind == 0)
			hop_emit_call(b, a, none, in, out);
		else
			hop_emit_cond(b, a, z, none, any(r, p, T_B), in, out);
		for (int i = 0; i < nc; i++)
			put(p, out[i], ot[i]);
		return;
	}
	int no = nc;
	if (kind == 2) {                                /* while */
		for (int i = 0; i < nk; i++, n++)
			in[n] = any(r, p, pt[n] = pick(r, T_M + 1));
		in[0] = hop_emit_const_i(b, HOP_i64, pick(r, 2) * 2);
		for (int i = 0; i < ny; i++)
			ot[no++] = pick(r, 2) ? T_F : T_V;
		hop_while_args w = { .test = below(r, n, pt),
		                     .body = body(r, depth, n, pt, no, ot, 0), .ncarry = (uint32_t)nc,
		                     .nconst = (uint32_t)nk, .max_trips = LEN, .carry = in,
		                     .konst = in + nc, .trips = { 0, LEN } };
		hop_emit_while(b, &w, out);
		for (int i = 0; i < no; i++)
			put(p, out[i < nc ? i : i + 1],
			    i < nc ? ot[i] : ot[i] == T_F ? T_FL : T_VL);
		return;
	}
	for (int i = 0; i < nx; i++, n++) {
		pt[n] = pick(r, 2) ? T_F : T_V;
		in[n] = any(r, p, pt[n] == T_F ? T_FL : T_VL);
	}
	for (int i = 0; i < nk; i++, n++)
		in[n] = any(r, p, pt[n] = pick(r, T_M + 1));
	for (int i = 0; i < ny; i++)
		ot[no++] = pick(r, 2) ? T_F : T_V;
	bool stops = !pick(r, 4), counted = !pick(r, 4);
	if (stops)
		ot[no] = T_B;
	hop_scan_args s = { .body = body(r, depth, n, pt, no + stops, ot, -1),
	                    .ncarry = (uint32_t)nc, .nx = (uint32_t)nx, .nconst = (uint32_t)nk,
	                    .length = hop_size_int(LEN), .reverse = !stops && pick(r, 2),
	                    .stops = stops, .count = counted ? any(r, p, T_I) : HOP_ZERO,
	                    .carry = in, .x = in + nc, .konst = in + nc + nx };
	hop_emit_scan(b, &s, out);
	for (int i = 0; i < no; i++)
		put(p, out[i], i < nc ? ot[i] : ot[i] == T_F ? T_FL : T_VL);
}

static void grow(struct rig *r, hop_build *b, struct pool *p, int depth, int n)
{
	for (int i = 0; i < n; i++) {
		if (depth > 0 && !pick(r, 4))
			operator(r, b, p, depth);
		else
			plain(r, b, p);
		if (b->st)
			fail_msg("%s", r->e.diag.text);
	}
}

static const hop_graph *random_graph(struct rig *r, int depth)
{
	static const int types[] = { T_F, T_V, T_M, T_FL, T_VL, T_I, T_B };
	static const int outs[] = { T_F, T_V, T_M, T_VL };
	hop_build b;
	struct pool p = { .n = 0 };
	hop_val out[4];
	hop_graph *g;
	hop_build_open(&b, &r->e);
	for (int i = 0; i < 7; i++)
		put(&p, hop_build_param(&b, type_no(r, types[i])), types[i]);
	leaves(r, &b, &p);
	grow(r, &b, &p, depth, 12);
	for (int i = 0; i < 4; i++)
		out[i] = any(r, &p, outs[i]);
	if (hop_seal(&b, 4, out, NULL, &g))
		fail_msg("%s", r->e.diag.text);
	return g;
}

static void randoms(struct rig *r, int n, int how)
{
	hop_frame f;
	if (HOP_GUARD(&r->e, &f))
		fail_msg("no memory");
	for (r->nprog = 0; r->nprog < n; r->nprog++) {
		hop_mark m = hop_mark_at(&r->e.tmp);
		const hop_graph *g = random_graph(r, 1 + r->nprog % 3);
		check_passes(r, how < 0 ? g : derive(r, g, how));
		hop_rewind(&r->e.tmp, m);
	}
	hop_guard_end(&r->e, &f);
}

static int count(int n)
{
	const char *s = getenv("OPT_RANDOM");       /* a factor, for long runs */
	return s ? n * atoi(s) : n;
}

static void test_random(void **state)
{
	randoms(*state, count(300), -1);
}

static void test_random_vjp(void **state)
{
	randoms(*state, count(80), 0);
}

static void test_random_jvp(void **state)
{
	randoms(*state, count(80), 1);
}

static void test_random_vmap(void **state)
{
	randoms(*state, count(80), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_programs, up, down),
		cmocka_unit_test_setup_teardown(test_random, up, down),
		cmocka_unit_test_setup_teardown(test_random_vjp, up, down),
		cmocka_unit_test_setup_teardown(test_random_jvp, up, down),
		cmocka_unit_test_setup_teardown(test_random_vmap, up, down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
