/* regions.c -- graphs that are called: once compiled, however often they are used. */
#include "map.h"

/* A block of its own graph. */
EXAMPLE(wrap, IN(S(3)), GIVES(12))
{
	hop_value x = in[0];
	HOP_REGION(t, "twice", x)
		x = hop_add(t, x, x);
	hop_return(t, hop_add(t, x, x));
}

static int count(const char *text, const char *word)
{
	int n = 0;
	for (const char *at = text; (at = strstr(at, word)); at++)
		n++;
	return n;
}

BODY(four_layers)
{
	hop_value x = in[0];
	for (int i = 0; i < 4; i++)
		HOP_REGION(t, "layer", x)
			x = hop_tanh(t, hop_mul(t, x, in[1]));
	hop_return(t, x);
}

/* Four calls of one graph: the bodies are equal. */
PROGRAM(invoke_subgraph)
{
	hop_spec s[2] = { hop_spec1(HOP_f64, 3), hop_spec1(HOP_f64, 3) };
	hop_fn *f;

	must(c, hop_capture(c, four_layers, NULL, 2, s, &f));
	expect_that(count(hop_fn_text(f), "graph @layer") == 1);
	expect_that(count(hop_fn_text(f), "= call ") == 4);
	printf(" 1 graph, 4 calls");
	hop_fn_release(f);
}

BODY(decay)
{
	int *runs = user;
	++*runs;
	hop_return(t, hop_mulf(t, in[0], 0.5));
}

BODY(sixteen)
{
	hop_value x = in[0];
	for (int i = 0; i < 16; i++)
		hop_region_keyed(t, "decay", decay, user, NULL, 1, &x, 1, &x);
	hop_return(t, x);
}

/* A key that is trusted: the body is captured once, and called sixteen times. */
PROGRAM(nested_compile_region)
{
	hop_array *x = scalar(c, 65536), *y;
	hop_spec s = hop_spec0(HOP_f64);
	hop_fn *f;
	int runs = 0;

	must(c, hop_capture(c, sixteen, &runs, 1, &s, &f));
	must(c, hop_call(f, 1, &x, 1, &y));
	expect(c, 1, &y, 1);
	expect_that(runs == 1);
	hop_array_release(x);
	hop_fn_release(f);
}

BODY(scaled)
{
	hop_return(t, hop_mul(t, in[0], in[1]));
}

/* One body for pairs of any type; pairs of one type share a graph. */
EXAMPLE(foreach_map, IN(V(1, 2), S(10), V(3, 4, 5), S(2)), GIVES(10, 20, 6, 8, 10))
{
	hop_value out[2];
	hop_foreach_map(t, scaled, NULL, 2, 2, in, 2, out);
	hop_return(t, out[0], out[1]);
}

BODY(hinted)
{
	hop_value x = in[0];
	HOP_REGION_WITH(t, "layer", HOP_REGION_OPTS(.hints = "stage=2"), x)
		x = hop_tanh(t, x);
	hop_return(t, x);
}

/* A hint stays with the region: its derivative has it too. */
PROGRAM(hints_wrapper)
{
	hop_spec s = hop_spec0(HOP_f64);
	hop_fn *f, *g;

	must(c, hop_capture(c, hinted, NULL, 1, &s, &f));
	must(c, hop_grad(f, 1, (int[]){ 0 }, &g));
	printf(" %d and %d", count(hop_fn_text(f), "stage=2"), count(hop_fn_text(g), "stage=2"));
	expect_that(count(hop_fn_text(f), "stage=2") == 1 && count(hop_fn_text(g), "stage=2") > 1);
	hop_fn_release(f);
	hop_fn_release(g);
}

/* Whole numbers and a scale for weights; the scheme is a hint, by which an engine may know it. */
EXAMPLE(invoke_quant, IN(V(1, 2), M(2, 2, 3, -4, 5, 6), S(0.5)), GIVES(6.5, 4))
{
	hop_value w = hop_cast(t, in[1], HOP_i32), y = in[0];
	HOP_REGION_WITH(t, "quant", HOP_REGION_OPTS(.hints = "scheme=int8,keep_low=1"), y)
		y = hop_matmul(t, y, hop_mul(t, hop_cast(t, w, HOP_f64), in[2]));
	hop_return(t, y);
}
ALSO(invoke_quant_packed, invoke_quant)

BODY(to_half)
{
	hop_return(t, hop_cast(t, in[0], HOP_bf16));
}

BODY(from_half)
{
	hop_return(t, hop_cast(t, in[0], HOP_f64));
}

BODY(product)
{
	hop_value y = hop_pack(t, hop_matmul(t, in[0], in[1]), to_half, from_half, NULL);
	hop_return(t, hop_sum_all(t, hop_mul(t, y, y)));
}

/* Bodies around what reverse mode saves: the product crosses to the backward half in 16 bits. */
PROGRAM(dynamo_bypassing_wrapper)
{
	hop_spec s[2] = { hop_spec2(HOP_f64, 8, 8), hop_spec2(HOP_f64, 8, 8) }, saved;
	hop_fn *f, *fwd, *bwd;

	must(c, hop_capture(c, product, NULL, 2, s, &f));
	must(c, hop_split(f, 1, (int[]){ 0 }, 1, &fwd, &bwd));
	expect_that(hop_fn_nout(fwd) == 2 && hop_fn_out_type(fwd, 1, &saved));
	expect_that(saved.dtype == HOP_bf16);
	hop_fn_release(f);
	hop_fn_release(fwd);
	hop_fn_release(bwd);
}

/* Code that is compiled is called on the program's own memory: no allocation, no lock. */
PROGRAM(inductor_compiled_code)
{
	_Alignas(64) char work[4096];
	double x[2] = { 3, 4 }, by = 10, y[2];
	hop_spec s[2] = { hop_spec1(HOP_f64, 2), hop_spec0(HOP_f64) };
	hop_arg in[2] = { { .data = x }, { .data = &by } }, out = { .data = y };
	hop_fn *f;
	hop_exec *code;

	must(c, hop_capture(c, scaled, NULL, 2, s, &f));
	must(c, hop_compile(f, NULL, &code));
	expect_that(hop_exec_workspace(code, in) <= (int64_t)sizeof work);
	must(c, hop_run(code, in, &out, work));
	expect_that(y[0] == 30 && y[1] == 40);
	printf(" %g %g", y[0], y[1]);
	hop_exec_release(code);
	hop_fn_release(f);
}

#define PART(has) has(LEAF, w, "f64[n]") has(LEAF, x, "f64[n]")
HOP_STRUCT(part, PART);

BODY(part_body)
{
	const struct part *p = HOP_IN(struct part, in);
	hop_return_named(t, "loss", hop_sum_all(t, hop_mul(t, p->w, p->x)));
}

/* Inputs and results have paths, and a gradient has that of what it is for. */
PROGRAM(_export_tracepoint)
{
	hop_fn *f, *g;
	int wrt;

	must(c, hop_capture_tree(c, part_body, NULL, &part_tree, NULL, &f));
	wrt = hop_fn_input(f, "x");
	must(c, hop_grad(f, 1, &wrt, &g));
	expect_that(strcmp(hop_fn_result_name(g, 0), "loss") == 0);
	expect_that(strcmp(hop_fn_result_name(g, 1), "grad.x") == 0);
	printf(" %s %s", hop_fn_result_name(g, 0), hop_fn_result_name(g, 1));
	hop_fn_release(f);
	hop_fn_release(g);
}

/* A struct is a list of values, and its tree says what they are called. */
PROGRAM(flat_apply)
{
	struct part_arrays p = { vector(c, 2, (double[]){ 1, 2 }), vector(c, 2, (double[]){ 3, 4 }) };
	hop_array *loss;
	hop_fn *f;

	must(c, hop_capture_tree(c, part_body, NULL, &part_tree, NULL, &f));
	must(c, hop_call(f, part_tree.count, &p.w, 1, &loss));
	expect(c, 1, &loss, 11);
	hop_tree_release(&part_tree, &p);
	hop_fn_release(f);
}
