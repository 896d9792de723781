/* transforms.c -- derivatives and batches inside a body: it is captured, transformed and called. The
 * same words without _at make functions of functions. */
#include "map.h"

/* The gradient of the block's loss, for w. */
EXAMPLE(grad, IN(V(1, 2)), GIVES(2, 4))
{
	hop_value w = in[0], loss, gw;
	HOP_GRAD(t, loss, 1, w, gw)
		loss = hop_sum_all(t, hop_mul(t, w, w));
	hop_return(t, gw);
}

EXAMPLE(grad_and_value, IN(V(1, 2)), GIVES(2, 4, 5))
{
	hop_value w = in[0], loss, gw;
	HOP_GRAD(t, loss, 1, w, gw)
		loss = hop_sum_all(t, hop_mul(t, w, w));
	hop_return(t, gw, loss);
}

/* A loop in what is differentiated below: x to the third, of each element. */
BODY(cube)
{
	hop_value y = in[0];
	HOP_FOR(t, i, 2, y)
		y = hop_mul(t, y, in[0]);
	hop_return(t, y);
}

static const int first[1] = { 0 };

/* cube(x), then the cotangent of x for the cotangent (1, 10) of the result. */
EXAMPLE(vjp, IN(V(1, 2), V(1, 10)), GIVES(1, 8, 3, 120))
{
	hop_value out[2];
	hop_vjp_at(t, cube, NULL, 1, in, 1, first, 1, &in[1], 2, out);
	hop_return(t, out[0], out[1]);
}

/* cube(x), then the tangent of the result along (1, 10). */
EXAMPLE(jvp, IN(V(1, 2), V(1, 10)), GIVES(1, 8, 3, 120))
{
	hop_value out[2];
	hop_jvp_at(t, cube, NULL, 1, in, 1, first, &in[1], 2, out);
	hop_return(t, out[0], out[1]);
}

/* A loop whose trips depend on the number: each lane ends on its own. */
BODY(halved)
{
	hop_value x = in[0], n;
	HOP_WHILE(t, hop_gt(t, x, hop_f(t, 1)), x) {
		x = hop_mulf(t, x, 0.5);
		hop_trips(t, &n);
	}
	hop_return(t, x, n);
}

EXAMPLE(vmap, IN(V(8, 0.5, 3)), GIVES(1, 0.5, 0.75, 3, 0, 2))
{
	hop_value out[2];
	hop_vmap_at(t, halved, NULL, 1, in, first, 2, out);
	hop_return(t, out[0], out[1]);
}

/* cube(x), then all derivatives of its elements: a reverse pass an element of the result. */
EXAMPLE(jacrev, IN(V(1, 2)), GIVES(1, 8, 3, 0, 0, 12))
{
	hop_value out[2];
	hop_jacrev_at(t, cube, NULL, 1, in, 1, first, NULL, 2, out);
	hop_return(t, out[0], out[1]);
}

/* The same by a forward pass an element of x. */
EXAMPLE(jacfwd, IN(V(1, 2)), GIVES(1, 8, 3, 0, 0, 12))
{
	hop_value out[2];
	hop_jacfwd_at(t, cube, NULL, 1, in, 1, first, NULL, 2, out);
	hop_return(t, out[0], out[1]);
}

BODY(sum_of_cubes)
{
	hop_value y;
	hop_region(t, "cube", cube, NULL, 1, in, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}

/* Value, gradient, Hessian. */
EXAMPLE(hessian, IN(V(1, 2)), GIVES(9, 3, 12, 6, 0, 0, 12))
{
	hop_value out[3];
	hop_hessian_at(t, sum_of_cubes, NULL, 1, in, 1, first, NULL, 3, out);
	hop_return(t, out[0], out[1], out[2]);
}

/* cube(x) once, and its derivative along two directions. */
EXAMPLE(linearize, IN(V(1, 2), V(1, 0), V(0, 1)), GIVES(1, 8, 3, 0, 0, 12))
{
	hop_value y, dy[2];
	hop_linear *at_x;
	hop_linearize_at(t, cube, NULL, 1, in, 1, first, 1, &y, &at_x);
	hop_linear_apply(t, at_x, 1, &in[1], 1, &dy[0]);
	hop_linear_apply(t, at_x, 1, &in[2], 1, &dy[1]);
	hop_return(t, y, dy[0], dy[1]);
}

/* Writes are values when they are captured: what was read before stays. */
EXAMPLE(functionalize, IN(V(1, 2)), GIVES(3, 11, 2))
{
	hop_value x = hop_clone(t, in[0]), before = hop_sum_all(t, x);
	hop_copy_(t, hop_index(t, x, 0, 0), hop_f(t, 11));
	hop_return(t, before, x);
}

/* ---- parameters by name ---- */

#define LINE(has) has(LEAF, w, "f64") has(LEAF, b, "f64") has(LEAF, x, "f64")
HOP_STRUCT(line, LINE);

BODY(line_body)
{
	const struct line *m = HOP_IN(struct line, in);
	hop_return_named(t, "y", hop_add(t, hop_mul(t, m->w, m->x), m->b));
}

static struct line_arrays line_of(hop_ctx *c, double w, double b, double x)
{
	return (struct line_arrays){ scalar(c, w), scalar(c, b), scalar(c, x) };
}

HOP_TREE(answer_tree, hop_value, y);

PROGRAM(functional_call)
{
	struct line_arrays m = line_of(c, 2, 1, 10);
	hop_array *w = scalar(c, 5), *y;
	hop_fn *f;

	must(c, hop_capture_tree(c, line_body, NULL, &line_tree, NULL, &f));
	must(c, hop_functional_call(f, &line_tree, &m, 1, &(hop_replace){ "w", w, NULL, NULL },
	                            &answer_tree, &y));
	expect(c, 1, &y, 51);                                 /* 5 * 10 + 1; m is as it was */
	hop_array_release(w);
	hop_tree_release(&line_tree, &m);
	hop_fn_release(f);
}

PROGRAM(stack_module_state)
{
	struct line_arrays m[2] = { line_of(c, 2, 1, 10), line_of(c, 3, 0, 10) }, all;
	hop_array *y;
	hop_fn *f, *ensemble;

	must(c, hop_capture_tree(c, line_body, NULL, &line_tree, NULL, &f));
	must(c, hop_vmap(f, (bool[]){ true, true, true }, 2, &ensemble));
	must(c, hop_stack_state(c, &line_tree, 2, (const void *[]){ &m[0], &m[1] }, &all));
	must(c, hop_call_tree(ensemble, &line_tree, &all, &answer_tree, &y));
	expect(c, 1, &y, 21, 30);
	hop_tree_release(&line_tree, &m[0]);
	hop_tree_release(&line_tree, &m[1]);
	hop_tree_release(&line_tree, &all);
	hop_fn_release(f);
	hop_fn_release(ensemble);
}
