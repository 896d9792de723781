/* forms.c -- each operator written as a block and with functions: both must record the same graph.
 * Compiled as C11 and as C++17, so it keeps to what both have. Values are checked in
 * test/unit/block_test.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hop/hop.h"

/* What a function form captures. */
struct env {
	hop_value a, b, c;
};

static struct env env3(hop_value a, hop_value b, hop_value c)
{
	struct env e;
	e.a = a;
	e.b = b;
	e.c = c;
	return e;
}

#define BODY(name) static void name(hop_trace *t, const hop_value *in, void *user)
#define E ((struct env *)user)

/* ---- while: x, r are carried, a is captured, k is listed and left alone ---- */

BODY(while_block)
{
	hop_value a = in[0], x = a, r = hop_sub(t, hop_mul(t, x, x), a), k = in[1], n = HOP_NONE;
	(void)user;
	HOP_WHILE(t, hop_gt(t, hop_abs(t, r), hop_f(t, 1e-9)), x, k, r) {
		hop_bound(t, 50);
		hop_slots(t, 8);
		hop_trips(t, &n);
		x = hop_sub(t, x, hop_div(t, r, hop_mul(t, x, k)));
		r = hop_sub(t, hop_mul(t, x, x), a);
	}
	hop_return(t, x, r, n);
}

BODY(while_test)
{
	(void)user;
	hop_return(t, hop_gt(t, hop_abs(t, in[1]), hop_f(t, 1e-9)));
}

BODY(while_body)
{
	hop_value x = hop_sub(t, in[0], hop_div(t, in[1], hop_mul(t, in[0], E->b)));
	hop_return(t, x, hop_sub(t, hop_mul(t, x, x), E->a));
}

BODY(while_form)
{
	hop_value c[2], n;
	struct env e = env3(in[0], in[1], HOP_NONE);
	hop_while_opts o;
	memset(&o, 0, sizeof o);
	o.size = sizeof o;
	o.max_trips = 50;
	o.slots = 8;
	(void)user;
	c[0] = in[0];
	c[1] = hop_sub(t, hop_mul(t, c[0], c[0]), in[0]);
	hop_while(t, while_test, while_body, &e, 2, c, &o, c, &n);
	hop_return(t, c[0], c[1], n);
}

/* ---- a while in a while: Euclid's algorithm by subtraction ---- */

BODY(nest_block)
{
	hop_value x = in[0], y = in[1];
	(void)user;
	HOP_WHILE(t, hop_gt(t, y, hop_f(t, 0.5)), x, y) {
		hop_value r = x;
		HOP_WHILE(t, hop_ge(t, r, y), r)
			r = hop_sub(t, r, y);
		x = y;
		y = r;
	}
	hop_return(t, x, y);
}

BODY(nest_inner_test)
{
	hop_return(t, hop_ge(t, in[0], E->a));
}

BODY(nest_inner_body)
{
	hop_return(t, hop_sub(t, in[0], E->a));
}

BODY(nest_test)
{
	(void)user;
	hop_return(t, hop_gt(t, in[1], hop_f(t, 0.5)));
}

BODY(nest_body)
{
	struct env e = env3(in[1], HOP_NONE, HOP_NONE);
	hop_value r = in[0];
	(void)user;
	hop_while(t, nest_inner_test, nest_inner_body, &e, 1, &r, NULL, &r, NULL);
	hop_return(t, in[1], r);
}

BODY(nest_form)
{
	hop_value c[2];
	(void)user;
	hop_while(t, nest_test, nest_body, NULL, 2, in, NULL, c, NULL);
	hop_return(t, c[0], c[1]);
}

/* ---- cond in cond; y is listed and left alone by all ---- */

BODY(if_block)
{
	hop_value x = in[0], y = in[1], z = HOP_NONE;
	(void)user;
	HOP_IF(t, hop_lt(t, x, y), x, y, z) {
		z = hop_add(t, x, y);
		HOP_IF(t, hop_lt(t, z, hop_f(t, 0)), x)
			x = hop_neg(t, z);
	} else {
		x = hop_mul(t, x, x);
		z = x;
	}
	hop_return(t, x, z);
}

BODY(if_inner_then)
{
	(void)in;
	hop_return(t, hop_neg(t, E->a));
}

BODY(if_inner_else)
{
	(void)user;
	hop_return(t, in[0]);
}

BODY(if_then)
{
	hop_value z = hop_add(t, in[0], E->b), x;
	struct env e = env3(z, HOP_NONE, HOP_NONE);
	hop_cond(t, hop_lt(t, z, hop_f(t, 0)), if_inner_then, if_inner_else, &e, 1, in, 1, &x);
	hop_return(t, x, z);
}

BODY(if_else)
{
	hop_value x = hop_mul(t, in[0], in[0]);
	(void)user;
	hop_return(t, x, x);
}

BODY(if_form)
{
	hop_value r[2];
	struct env e = env3(in[0], in[1], HOP_NONE);
	(void)user;
	hop_cond(t, hop_lt(t, in[0], in[1]), if_then, if_else, &e, 1, in, 2, r);
	hop_return(t, r[0], r[1]);
}

/* ---- switch in a while ---- */

BODY(switch_block)
{
	hop_value x = in[0], k = hop_mulf(t, x, 0);
	(void)user;
	HOP_WHILE(t, hop_lt(t, k, hop_f(t, 5)), x, k) {
		HOP_SWITCH(t, hop_cast(t, k, HOP_i64), 3, x) {
		case 0:
			x = hop_add(t, x, k);
			break;
		case 1:
			x = hop_mul(t, x, in[1]);
			break;
		default:
			;
		}
		k = hop_addf(t, k, 1);
	}
	hop_return(t, x);
}

BODY(arm0)
{
	hop_return(t, hop_add(t, in[0], E->a));
}

BODY(arm1)
{
	hop_return(t, hop_mul(t, in[0], E->b));
}

BODY(arm2)
{
	(void)user;
	hop_return(t, in[0]);
}

BODY(switch_test)
{
	(void)user;
	hop_return(t, hop_lt(t, in[1], hop_f(t, 5)));
}

BODY(switch_body)
{
	hop_body *const arm[3] = { arm0, arm1, arm2 };
	struct env e = env3(in[1], E->b, HOP_NONE);
	hop_value x;
	hop_switch(t, hop_cast(t, in[1], HOP_i64), 3, arm, &e, 1, in, 1, &x);
	hop_return(t, x, hop_addf(t, in[1], 1));
}

BODY(switch_form)
{
	hop_value c[2];
	struct env e = env3(HOP_NONE, in[1], HOP_NONE);
	(void)user;
	c[0] = in[0];
	c[1] = hop_mulf(t, in[0], 0);
	hop_while(t, switch_test, switch_body, &e, 2, c, NULL, c, NULL);
	hop_return(t, c[0]);
}

/* ---- scan: v is longer than the loop; i is used; a stop; k listed and left alone ---- */

BODY(for_block)
{
	hop_value s = in[0], k = in[1], ys = HOP_NONE, n = HOP_NONE;
	(void)user;
	HOP_FOR(t, i, 4, s, k) {
		hop_every(t, 2);
		hop_trips(t, &n);
		s = hop_add(t, hop_mul(t, s, k), hop_take(t, in[2], i));
		s = hop_add(t, s, hop_cast(t, i, HOP_f64));
		hop_stack(t, &ys, hop_neg(t, s));
		hop_stop_if(t, hop_gt(t, s, hop_f(t, 100)));
	}
	hop_return(t, s, ys, n);
}

BODY(for_body)
{
	hop_value s = hop_add(t, hop_mul(t, in[0], E->b), in[1]);
	s = hop_add(t, s, hop_cast(t, in[2], HOP_f64));
	hop_stop_if(t, hop_gt(t, s, hop_f(t, 100)));
	hop_return(t, s, hop_neg(t, s));
}

static hop_value count_up(hop_trace *t, int64_t n)
{
	hop_dim d = hop_n(n);
	return hop_iota(t, HOP_i64, 1, &d, 0);
}

BODY(for_form)
{
	hop_value xs[2], out[2], n;
	struct env e = env3(HOP_NONE, in[1], HOP_NONE);
	hop_scan_opts o;
	memset(&o, 0, sizeof o);
	o.size = sizeof o;
	o.every = 2;
	o.has_length = true;
	o.length = hop_n(4);
	(void)user;
	xs[0] = hop_narrow(t, in[2], 0, 0, 4);
	xs[1] = count_up(t, 4);
	hop_scan(t, for_body, &e, 1, in, 2, xs, &o, 2, out, &n);
	hop_return(t, out[0], out[1], n);
}

/* ---- the same downwards, in slots ---- */

BODY(down_block)
{
	hop_value s = in[0], k = in[1], ys = HOP_NONE, n = HOP_NONE;
	(void)user;
	HOP_FOR_DOWN(t, i, 4, s, k) {
		hop_slots(t, 2);
		hop_trips(t, &n);
		s = hop_add(t, hop_mul(t, s, k), hop_take(t, in[2], i));
		s = hop_add(t, s, hop_cast(t, i, HOP_f64));
		hop_stack(t, &ys, hop_neg(t, s));
		hop_stop_if(t, hop_gt(t, s, hop_f(t, 100)));
	}
	hop_return(t, s, ys, n);
}

BODY(down_form)
{
	hop_value xs[2], out[2], n;
	struct env e = env3(HOP_NONE, in[1], HOP_NONE);
	hop_scan_opts o;
	memset(&o, 0, sizeof o);
	o.size = sizeof o;
	o.slots = 2;
	o.reverse = true;
	o.has_length = true;
	o.length = hop_n(4);
	(void)user;
	xs[0] = hop_narrow(t, in[2], 0, 0, 4);
	xs[1] = count_up(t, 4);
	hop_scan(t, for_body, &e, 1, in, 2, xs, &o, 2, out, &n);
	hop_return(t, out[0], out[1], n);
}

/* ---- a scan in a scan, downwards: rows of a matrix, and their elements ---- */

BODY(rows_block)
{
	hop_value s = in[0], ys = HOP_NONE;
	(void)user;
	HOP_FOR_DOWN(t, i, hop_dim_of(t, in[3], 0), s) {
		hop_value row = hop_take(t, in[3], i);
		HOP_FOR(t, j, hop_dim_of(t, in[3], 1), s)
			s = hop_add(t, hop_mul(t, s, in[1]), hop_take(t, row, j));
		hop_stack(t, &ys, s);
	}
	hop_return(t, s, ys);
}

BODY(row_body)
{
	hop_return(t, hop_add(t, hop_mul(t, in[0], E->b), in[1]));
}

BODY(rows_body)
{
	hop_value s;
	hop_scan(t, row_body, user, 1, in, 1, in + 1, NULL, 1, &s, NULL);
	hop_return(t, s, s);
}

BODY(rows_form)
{
	hop_value out[2];
	struct env e = env3(HOP_NONE, in[1], HOP_NONE);
	hop_scan_opts o;
	memset(&o, 0, sizeof o);
	o.size = sizeof o;
	o.reverse = true;
	(void)user;
	hop_scan(t, rows_body, &e, 1, in, 1, in + 3, &o, 2, out, NULL);
	hop_return(t, out[0], out[1]);
}

/* ---- xs that the body writes: read where it stands ---- */

BODY(write_block)
{
	hop_value s = in[0], v = hop_clone(t, in[2]);
	(void)user;
	HOP_FOR(t, i, 3, s) {
		s = hop_add(t, s, hop_take(t, v, i));
		hop_add_(t, v, s);
	}
	hop_return(t, s, v);
}

BODY(write_body)
{
	hop_value s = hop_add(t, in[0], hop_gather(t, E->a, 0, in[1]));
	hop_add_(t, E->a, s);
	hop_return(t, s);
}

BODY(write_form)
{
	hop_value s, xs = count_up(t, 3);
	struct env e = env3(hop_clone(t, in[2]), HOP_NONE, HOP_NONE);
	(void)user;
	hop_scan(t, write_body, &e, 1, in, 1, &xs, NULL, 1, &s, NULL);
	hop_return(t, s, e.a);
}

/* ---- a map in a region, a region in a map ---- */

BODY(map_block)
{
	hop_value ys = HOP_NONE, v = in[2];
	(void)user;
	HOP_REGION(t, "scaled", v) {
		HOP_MAP(t, i, 5) {
			hop_value x = hop_take(t, in[2], i);
			HOP_REGION(t, "square", x)
				x = hop_mul(t, x, x);
			hop_stack(t, &ys, hop_mul(t, x, in[1]));
		}
		v = ys;
	}
	hop_return(t, v);
}

BODY(square)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], in[0]));
}

BODY(map_body)
{
	hop_value x;
	hop_region(t, "square", square, NULL, 1, in, 1, &x);
	hop_return(t, hop_mul(t, x, E->b));
}

BODY(scaled)
{
	hop_value ys;
	hop_map(t, map_body, user, 1, in, 0, 1, &ys);
	hop_return(t, ys);
}

BODY(map_form)
{
	hop_value ys;
	struct env e = env3(HOP_NONE, in[1], HOP_NONE);
	(void)user;
	hop_region(t, "scaled", scaled, &e, 1, in + 2, 1, &ys);
	hop_return(t, ys);
}

/* ---- descent: a gradient in a loop, of a loss with a loop; and a gradient of a gradient ---- */

BODY(grad_block)
{
	hop_value w = in[0], loss = HOP_NONE, g = HOP_NONE, h = HOP_NONE, power = HOP_NONE;
	(void)user;
	HOP_FOR(t, k, 3, w) {
		HOP_GRAD(t, loss, 1, w, g) {
			hop_value p = w;
			HOP_FOR(t, i, 5, p)
				p = hop_add(t, hop_mul(t, p, w), hop_take(t, in[2], i));
			loss = hop_mul(t, p, p);
		}
		w = hop_sub(t, w, hop_mulf(t, g, 0.01));
	}
	HOP_GRAD(t, loss, 1, w, h) {
		hop_value l = HOP_NONE;
		HOP_GRAD(t, l, 1, w, g) {
			l = hop_mul(t, hop_mul(t, w, w), w);
			hop_keep(t, &power, hop_mul(t, w, w));
		}
		loss = hop_add(t, g, power);
	}
	hop_return(t, w, loss, h);
}

BODY(poly)
{
	hop_return(t, hop_add(t, hop_mul(t, in[0], E->a), in[1]));
}

BODY(poly_loss)
{
	hop_value p;
	struct env e = env3(in[0], HOP_NONE, HOP_NONE);
	hop_scan(t, poly, &e, 1, in, 1, &E->c, NULL, 1, &p, NULL);
	hop_return(t, hop_mul(t, p, p));
}

BODY(descend)
{
	hop_value r[2];
	int wrt = 0;
	hop_grad_at(t, poly_loss, user, 1, in, 1, &wrt, 2, r);
	hop_return(t, hop_sub(t, in[0], hop_mulf(t, r[1], 0.01)));
}

BODY(cube)
{
	(void)user;
	hop_return(t, hop_mul(t, hop_mul(t, in[0], in[0]), in[0]), hop_mul(t, in[0], in[0]));
}

BODY(slope)
{
	hop_value r[3];
	int wrt = 0;
	(void)user;
	hop_grad_at(t, cube, NULL, 1, in, 1, &wrt, 3, r);
	hop_return(t, hop_add(t, r[2], r[1]));
}

BODY(grad_form)
{
	hop_value w, r[2];
	struct env e = env3(HOP_NONE, HOP_NONE, in[2]);
	hop_scan_opts o;
	int wrt = 0;
	memset(&o, 0, sizeof o);
	o.size = sizeof o;
	o.has_length = true;
	o.length = hop_n(3);
	(void)user;
	hop_scan(t, descend, &e, 1, in, 0, NULL, &o, 1, &w, NULL);
	hop_grad_at(t, slope, NULL, 1, &w, 1, &wrt, 2, r);
	hop_return(t, w, r[0], r[1]);
}

/* ---- structs ---- */

struct state {
	hop_value q, p[2];
};
HOP_TREE(state_tree, struct state, q, p[2]);

BODY(struct_block)
{
	struct state s;
	hop_value loss = HOP_NONE;
	struct state g;
	(void)user;
	s.q = s.p[0] = in[0];
	s.p[1] = in[1];
	HOP_WHILE_N(t, hop_lt(t, s.q, hop_f(t, 9)), state_tree, &s) {
		s.q = hop_add(t, s.q, s.p[1]);
		HOP_IF_N(t, hop_lt(t, s.q, hop_f(t, 4)), state_tree, &s)
			s.p[0] = hop_mul(t, s.p[0], s.q);
	}
	HOP_GRAD_N(t, loss, state_tree, &s, &g)
		loss = hop_mul(t, s.q, hop_add(t, s.p[0], s.p[1]));
	hop_return(t, loss, g.q, g.p[0], g.p[1]);
}

BODY(struct_test)
{
	(void)user;
	hop_return(t, hop_lt(t, in[0], hop_f(t, 9)));
}

BODY(struct_then)
{
	hop_return(t, hop_mul(t, in[0], E->a));
}

BODY(struct_body)
{
	hop_value q = hop_add(t, in[0], E->b), p;
	struct env e = env3(q, HOP_NONE, HOP_NONE);
	hop_cond(t, hop_lt(t, q, hop_f(t, 4)), struct_then, arm2, &e, 1, in + 1, 1, &p);
	hop_return(t, q, p);
}

BODY(struct_loss)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], hop_add(t, in[1], in[2])));
}

BODY(struct_form)
{
	hop_value c[3], r[4];
	struct env e = env3(HOP_NONE, in[1], HOP_NONE);
	const int wrt[3] = { 0, 1, 2 };
	(void)user;
	c[0] = c[1] = in[0];
	hop_while(t, struct_test, struct_body, &e, 2, c, NULL, c, NULL);
	c[2] = in[1];
	hop_grad_at(t, struct_loss, NULL, 3, c, 3, wrt, 4, r);
	hop_return(t, r[0], r[1], r[2], r[3]);
}

/* ---- comparing ---- */

static const struct {
	const char *name;
	hop_body   *block, *form;
} pairs[] = {
	{ "while", while_block, while_form },
	{ "while in while", nest_block, nest_form },
	{ "cond in cond", if_block, if_form },
	{ "switch in while", switch_block, switch_form },
	{ "scan", for_block, for_form },
	{ "scan in scan", rows_block, rows_form },
	{ "scan of what it writes", write_block, write_form },
	{ "map in region, region in map", map_block, map_form },
	{ "grad in scan, grad in grad", grad_block, grad_form },
	{ "structs", struct_block, struct_form },
	{ "scan downwards", down_block, down_form },
};

#ifndef FORMS_ONLY
static hop_fn *captured(hop_ctx *c, hop_body *f, const hop_spec *in, const char *name)
{
	hop_fn *g;
	if (hop_capture(c, f, NULL, 4, in, &g) == HOP_OK)
		return g;
	printf("FAIL %s: %s\n", name, hop_message(c));
	return NULL;
}

int main(void)
{
	int failed = 0, n = (int)(sizeof pairs / sizeof *pairs);
	hop_ctx *c;
	hop_spec in[4];
	if (hop_ctx_new(NULL, &c) != HOP_OK)
		return 1;
	in[0] = in[1] = hop_spec0(HOP_f64);
	in[2] = hop_spec1(HOP_f64, 5);
	in[3] = hop_spec_sym(hop_spec2(HOP_f64, 0, 3), 0, "n", 0, 0);
	for (int i = 0; i < n; i++) {
		hop_fn *a = captured(c, pairs[i].block, in, pairs[i].name);
		hop_fn *b = captured(c, pairs[i].form, in, pairs[i].name);
		bool same = a && b && !strcmp(hop_fn_text(a), hop_fn_text(b));
		if (a && b && !same)
			printf("FAIL %s: the block gives\n%s\nthe functions give\n%s\n", pairs[i].name,
			       hop_fn_text(a), hop_fn_text(b));
		failed += !same;
		hop_fn_release(a);
		hop_fn_release(b);
	}
	hop_ctx_free(c);
	printf("%d passed, %d failed\n", n - failed, failed);
	return failed != 0;
}
#endif
