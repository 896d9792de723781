/* bodies.c -- mistakes of whole bodies: sizes and types that meet, recursion, missing functions,
 * sizes that only a body knows, bad specs, what is seen only eagerly or only at a call. Prints; the
 * golden file test/golden/messages/bodies.txt holds what. */
#include "support/say.h"
#include "unit/trace_rig.h"

#include "hop/rows.h"

enum { V3, V4, M23, S, K, B, N, NIN };     /* f64[3], f64[4], f64[2, 3], f64, i64, bool, f64[n] */

#define BODY(name, ...) \
	static void name(hop_trace *t, const hop_value *in, void *user) \
	{ (void)t, (void)in, (void)user; hop_value out[4] = { { 0, 0 } }; (void)out; __VA_ARGS__; }
#define DONE hop_return(t, out[0])
#define ONE(name, ...) BODY(name, hop_return(t, __VA_ARGS__))

/* ---- sizes and types that meet ---- */

ONE(add_sizes, hop_add(t, in[V3], in[V4]))
ONE(add_rows, hop_add(t, in[M23], in[V4]))
ONE(add_symbol, hop_add(t, hop_concat(t, 2, (hop_value[]){ in[N], in[V3] }, 0), in[N]))
ONE(gt_sizes, hop_gt(t, in[V3], in[V4]))
ONE(gt_symbol, hop_gt(t, hop_concat(t, 2, (hop_value[]){ in[N], in[V3] }, 0), in[N]))
ONE(select_sizes, hop_select(t, in[B], in[V3], in[V4]))
ONE(where_sizes, hop_where(t, in[B], in[V3], in[V4]))
ONE(clamp_sizes, hop_clamp(t, in[V3], in[V4], HOP_NONE))
ONE(mse_sizes, hop_mse(t, in[V3], in[V4], HOP_LOSS_SUM))
ONE(matmul_columns, hop_matmul(t, in[M23], in[V4]))
ONE(matmul_vectors, hop_matmul(t, in[V3], in[V4]))
ONE(matmul_bools, hop_matmul(t, hop_lt(t, in[V3], in[V3]), hop_lt(t, in[V3], in[V3])))
static hop_value cube(hop_trace *t, int64_t n)
{
	return hop_zeros(t, HOP_f64, 3, ((hop_dim[]){ hop_n(n), hop_n(3), hop_n(3) }));
}
ONE(matmul_batches, hop_matmul(t, cube(t, 2), cube(t, 5)))
ONE(concat_sizes, hop_concat(t, 2, (hop_value[]){ in[M23], hop_unsqueeze(t, in[V4], 0) }, 0))
ONE(stack_sizes, hop_stack_n(t, 2, (hop_value[]){ in[V3], in[V4] }, 0))
ONE(softmax_axis, hop_softmax(t, in[S], 0))
ONE(mean_axis, hop_mean(t, in[V3], 1, (int[]){ 1 }))
ONE(topk_none, hop_topk(t, in[V3], 0, 0, out) ? out[0] : out[1])
ONE(topk_many, hop_topk(t, in[V3], 0, 4, out) ? out[0] : out[1])
BODY(split_sum, hop_split_axis(t, in[V3], 0, 2, (hop_dim[]){ hop_n(1), hop_n(1) }, out); DONE)
BODY(split_negative, hop_split_axis(t, in[V3], 0, 2, (hop_dim[]){ hop_n(4), hop_n(-1) }, out); DONE)

/* Sixteen axes. */
static hop_value deep(hop_trace *t, hop_dtype d)
{
	hop_dim one[16];
	for (int i = 0; i < 16; i++)
		one[i] = hop_n(1);
	return hop_full(t, d, 16, one, 0);
}
ONE(deep_unsqueeze, hop_unsqueeze(t, deep(t, HOP_f64), 0))
ONE(deep_stack, hop_stack_n(t, 1, (hop_value[]){ deep(t, HOP_f64) }, 0))
ONE(deep_one_hot, hop_one_hot(t, HOP_f64, deep(t, HOP_i64), hop_n(2)))
ONE(deep_normal, hop_normal(t, deep(t, HOP_i64), HOP_f64, 0, NULL))
static const hop_dim huge[2] = { { (int64_t)1 << 40, NULL }, { (int64_t)1 << 40, NULL } };
ONE(too_many, hop_expand(t, in[S], 2, huge))

/* ---- writes ---- */

BODY(write_number, hop_add_(t, hop_f(t, 1), in[S]); hop_return(t, in[S]))
BODY(write_expanded, hop_add_(t, hop_expand(t, in[S], 1, (hop_dim[]){ hop_n(3) }), in[S]);
     hop_return(t, in[S]))
BODY(write_sizes, hop_copy_(t, in[V3], in[V4]); hop_return(t, in[V3]))
BODY(write_rank, hop_copy_(t, in[V3], in[M23]); hop_return(t, in[V3]))
BODY(write_float, hop_add_(t, in[K], in[S]); hop_return(t, in[K]))
BODY(write_symbol, hop_copy_(t, in[N], hop_concat(t, 2, (hop_value[]){ in[N], in[V3] }, 0));
     hop_return(t, in[N]))
BODY(put_indices, hop_index_put_(t, in[V3], 0, hop_cast(t, in[M23], HOP_i64), in[S]);
     hop_return(t, in[V3]))

/* ---- bodies in bodies ---- */

static void again(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out;
	hop_region(t, "again", again, user, 1, in, 1, &out);
	hop_return(t, out);
}

static void pong(hop_trace *t, const hop_value *in, void *user);
BODY(ping, hop_region(t, "pong", pong, user, 1, in, 1, out); DONE)
BODY(pong, hop_cond(t, hop_lt(t, hop_sum_all(t, in[0]), hop_f(t, 1)), ping, ping, user, 1, in, 1,
                    out); DONE)
BODY(alike, hop_return(t, in[0]))
BODY(wrong_inside, hop_return(t, hop_add(t, in[0], *(hop_value *)user)))
BODY(two_deep, hop_region(t, "r", wrong_inside, user, 1, in, 1, out); DONE)
BODY(recursion, hop_region(t, "again", again, NULL, 1, in, 1, out); DONE)
BODY(mutual, hop_region(t, "ping", ping, NULL, 1, in, 1, out); DONE)
BODY(nested, hop_value v = in[V4]; hop_region(t, "q", two_deep, &v, 1, in, 1, out); DONE)

/* Leaves its child open: with longjmp, as a C++ exception does. */
static jmp_buf far_away;
BODY(leaves, longjmp(far_away, 1))
static void left_open(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out;
	(void)user;
	if (!setjmp(far_away))
		hop_region(t, "r", leaves, NULL, 1, in, 1, &out);
	hop_return(t, in[0]);
}
static void forgets(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out;
	(void)user;
	if (!setjmp(far_away))
		hop_region(t, "r", leaves, NULL, 1, in, 1, &out);
}
BODY(left_region_open, hop_region(t, "outer", forgets, NULL, 1, in, 1, out); DONE)
static void left_region(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out;
	(void)user;
	hop_region(t, "outer", left_open, NULL, 1, in, 1, &out);
	hop_return(t, out);
}

BODY(twice, hop_return(t, in[0], in[0]))
BODY(longer, hop_return(t, hop_concat(t, 2, (hop_value[]){ in[0], in[0] }, 0)))
BODY(whole, hop_return(t, hop_cast(t, in[0], HOP_i64)))
BODY(cond_counts, hop_cond(t, in[B], twice, alike, NULL, 1, in, 2, out); DONE)
BODY(cond_sizes, hop_cond(t, in[B], longer, alike, NULL, 1, in, 2, out); DONE)
BODY(cond_dtypes, hop_cond(t, in[B], whole, alike, NULL, 1, in, 2, out); DONE)
static hop_body *const sizes_differ[] = { alike, alike, longer }, *const counts[] = { twice, alike };
BODY(switch_sizes, hop_switch(t, in[K], 3, sizes_differ, NULL, 1, in, 1, out); DONE)
BODY(switch_counts, hop_switch(t, in[K], 2, counts, NULL, 1, in, 2, out); DONE)
BODY(drawn_size, hop_dim n = hop_as_size(t, hop_cast(t, hop_sum_all(t, in[0]), HOP_i64), 0, 3);
     hop_return(t, hop_slice(t, in[0], 0, hop_n(0), n, 1)))
BODY(size_inside, hop_region(t, "r", drawn_size, NULL, 1, in, 1, out); DONE)
static hop_dim kept_dim;
BODY(keep_size, kept_dim = hop_as_size(t, hop_cast(t, hop_sum_all(t, in[0]), HOP_i64), 0, 3);
     hop_return(t, in[0]))
BODY(size_outside, hop_region(t, "r", keep_size, NULL, 1, in, 1, out);
     hop_return(t, hop_full(t, HOP_f64, 1, &kept_dim, 0)))
BODY(stop_vector, hop_stop_if(t, hop_lt(t, in[0], in[0])); hop_return(t, in[0]))
BODY(scan_stop, hop_scan_opts o = { .size = sizeof o, .has_length = true, .length = hop_n(2) };
     hop_scan(t, stop_vector, NULL, 1, in, 0, NULL, &o, 1, out, NULL); DONE)
BODY(scan_options, hop_scan_opts o = { .size = 3 };
     hop_scan(t, alike, NULL, 1, in, 0, NULL, &o, 1, out, NULL); DONE)
BODY(deep_out, hop_return(t, in[0], deep(t, HOP_f64)))
BODY(scan_deep, hop_scan_opts o = { .size = sizeof o, .has_length = true, .length = hop_n(2) };
     hop_scan(t, deep_out, NULL, 1, in, 0, NULL, &o, 2, out, NULL); DONE)
BODY(saves_nothing, hop_save(t, 1, NULL); hop_return(t, in[0]))
BODY(gives_none, hop_return_n(t, 0, NULL))
BODY(gives_other, hop_return(t, hop_f(t, 1)))
#define RULE(...) { .size = sizeof(hop_custom_rule), __VA_ARGS__ }
static const hop_custom_rule save_rule = RULE(.fwd = saves_nothing, .bwd = alike),
	none_rule = RULE(.fwd = alike, .bwd = gives_none),
	type_rule = RULE(.fwd = alike, .bwd = gives_other),
	jvp_rule = RULE(.fwd = alike, .bwd = alike, .jvp = gives_none);
BODY(custom_save, hop_custom(t, &save_rule, NULL, 1, in, 1, out); DONE)
BODY(custom_none, hop_custom(t, &none_rule, NULL, 1, in, 1, out); DONE)
BODY(custom_type, hop_custom(t, &type_rule, NULL, 1, in, 1, out); DONE)
BODY(marks_nothing, hop_nondiff(t, 1, NULL); hop_return(t, in[0]))
BODY(gives_whole, hop_give_grad(t, *(hop_value *)user, in[0]); hop_return(t, in[0]))
BODY(gives_number, hop_give_grad(t, hop_f(t, 1), in[0]); hop_return(t, in[0]))
static const hop_custom_rule mark_rule = RULE(.fwd = marks_nothing, .bwd = alike),
	whole_rule = RULE(.fwd = alike, .bwd = gives_whole),
	number_rule = RULE(.fwd = alike, .bwd = gives_number);
#undef RULE
BODY(custom_mark, hop_custom(t, &mark_rule, NULL, 1, in, 1, out); DONE)
BODY(custom_whole, hop_value k = hop_cast(t, in[0], HOP_i64);
     hop_custom(t, &whole_rule, &k, 1, in, 1, out); DONE)
BODY(custom_number, hop_custom(t, &number_rule, NULL, 1, in, 1, out); DONE)
BODY(custom_jvp, hop_custom(t, &jvp_rule, NULL, 1, in, 1, out); DONE)
BODY(wide, hop_return(t, hop_add(t, in[0], in[0])))
BODY(jac_deep, out[1] = deep(t, HOP_f64);
     hop_jac_at(t, wide, NULL, 1, &out[1], 1, (int[]){ 0 }, 1, out); DONE)
BODY(read_captured, hop_array *a; hop_status st = hop_read(t, in[0], &a); (void)st;
     hop_return(t, in[0]))
BODY(raw_list, hop_op_add(t, __FILE__, __LINE__, 2, NULL, 1, out); DONE)
BODY(raw_count, hop_op_add(t, __FILE__, __LINE__, 1, in, 1, out); DONE)
BODY(raw_room, hop_op_add(t, __FILE__, __LINE__, 2, (hop_value[]){ in[0], in[0] }, 0, NULL); DONE)
BODY(raw_types, hop_op_add(t, __FILE__, __LINE__, 2, (hop_value[]){ in[S], in[K] }, 1, out); DONE)
BODY(raw_shapes, hop_op_add(t, __FILE__, __LINE__, 2, in, 1, out); DONE)
BODY(raw_attribute, hop_op_sum(t, __FILE__, __LINE__, 1, in, 1, out, 1, NULL); DONE)

static hop_fn *of_size;
BODY(says_size, hop_apply(t, of_size, 1, &in[S], 1, out); DONE)

static const struct { const char *name; hop_body *f; } bodies[] = {
#define R(name) { #name, name }
	R(add_sizes), R(add_rows), R(add_symbol), R(gt_sizes), R(gt_symbol), R(select_sizes),
	R(where_sizes), R(clamp_sizes), R(mse_sizes), R(matmul_columns), R(matmul_vectors),
	R(matmul_bools), R(matmul_batches), R(concat_sizes), R(stack_sizes), R(softmax_axis),
	R(mean_axis), R(topk_none), R(topk_many), R(split_sum), R(split_negative), R(deep_unsqueeze),
	R(deep_stack), R(deep_one_hot), R(deep_normal), R(too_many), R(write_number),
	R(write_expanded), R(write_sizes), R(write_rank), R(write_float), R(write_symbol),
	R(put_indices), R(recursion), R(mutual), R(nested), R(left_region),
	R(left_region_open), R(cond_counts),
	R(cond_sizes), R(cond_dtypes), R(switch_sizes), R(switch_counts), R(size_inside),
	R(size_outside), R(scan_stop), R(scan_options), R(scan_deep), R(custom_save), R(custom_none),
	R(custom_type), R(custom_jvp), R(custom_mark), R(custom_whole), R(custom_number),
	R(jac_deep), R(read_captured), R(says_size),
	R(raw_list), R(raw_count), R(raw_room), R(raw_types), R(raw_shapes), R(raw_attribute),
#undef R
	{ "no_body", NULL },
};

static void one_body(const char *name, hop_body *f, int nin, const hop_spec *in)
{
	hop_fn *fn = NULL;
	hop_status st = hop_capture(ctx, f, NULL, nin, in, &fn);
	say(name, st ? hop_message(ctx) : "accepted");
	hop_fn_release(fn);
}

/* ---- specs ---- */

static void specs(void)
{
	hop_spec s = hop_spec1(HOP_f64, 3), bad = s;
	one_body("no_types", alike, 1, NULL);
	bad.rank = 17;
	one_body("spec_rank", alike, 1, &bad);
	bad = hop_spec1(HOP_f64, -3);
	one_body("spec_size", alike, 1, &bad);
	bad = hop_spec_sym(s, 0, "n", 5, 4);
	one_body("spec_bounds", alike, 1, &bad);
	hop_spec two[2] = { hop_spec_sym(s, 0, "n", 1, 3), hop_spec_sym(s, 0, "n", 5, 9) };
	one_body("spec_between", alike, 2, two);
}

/* ---- eagerly ---- */

static void step_of(hop_trace *t, const hop_value *in, void *user);
BODY(other_output, bool odd = user && (*(int *)user)++ % 2;
     hop_return(t, in[0], odd ? hop_index(t, in[0], 0, 0) : in[0]))
BODY(other_count, bool odd = user && (*(int *)user)++ % 2;
     hop_return_n(t, odd ? 1 : 2, (hop_value[]){ in[0], in[0] }))
static void step_of(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2];
	int n = 0;
	hop_scan_opts o = { .size = sizeof o, .has_length = true, .length = hop_n(3) };
	hop_scan(t, *(hop_body **)user, &n, 1, in, 0, NULL, &o, 2, out, NULL);
	hop_return(t, out[0]);
}
BODY(eager_room, hop_region(t, "r", twice, NULL, 1, in, 1, out); DONE)
BODY(eager_scan_room, hop_scan_opts o = { .size = sizeof o, .has_length = true,
     .length = hop_n(2) }; hop_scan(t, twice, NULL, 1, in, 0, NULL, &o, 1, out, NULL); DONE)

static void eagerly(const char *name, hop_body *f, void *user, int nout)
{
	hop_array *x = vec(3, (double[]){ 1, 2, 3 }), *out[2];
	hop_status st = hop_eager_call(ctx, f, user, 1, &x, nout, out);
	say(name, st ? hop_message(ctx) : "accepted");
	for (int i = 0; i < nout; i++)
		hop_array_release(out[i]);
	hop_array_release(x);
}

static void eager_ones(void)
{
	hop_body *output = other_output, *count = other_count, *deep_one = deep_out;
	eagerly("eager_results", twice, NULL, 1);
	eagerly("eager_no_body", NULL, NULL, 1);
	eagerly("eager_room", eager_room, NULL, 1);
	eagerly("eager_scan_room", eager_scan_room, NULL, 1);
	eagerly("eager_output", step_of, &output, 1);
	eagerly("eager_count", step_of, &count, 1);
	eagerly("eager_deep", step_of, &deep_one, 1);
	eagerly("eager_recursion", recursion, NULL, 1);
}

/* ---- functions: their transforms and calls ---- */

static void refused(const char *name, hop_status st, hop_fn **f)
{
	say(name, st ? hop_message(ctx) : "accepted");
	hop_fn_release(*f);
}

ONE(sum_of, hop_sum_all(t, in[0]))
ONE(product_of, hop_matmul(t, in[0], in[1]))
ONE(part_of, hop_slice(t, in[0], 0, hop_n(0), hop_as_size(t, hop_cast(t, hop_sum_all(t, in[0]),
                                                                     HOP_i64), 0, 3), 1))

static void transforms(void)
{
	hop_spec s = hop_spec1(HOP_f64, 3), k[2] = { s, hop_spec0(HOP_i64) }, d16;
	const int zero[2] = { 0, 0 }, one[1] = { 1 }, five[1] = { 5 };
	const bool no[2] = { false, false }, yes[2] = { true, true };
	int64_t ones[16];
	hop_fn *f, *g;
	if (hop_capture(ctx, sum_of, NULL, 2, k, &f))
		return;
	refused("grad_twice", hop_grad(f, 2, zero, &g), &g);
	refused("grad_whole", hop_grad(f, 1, one, &g), &g);
	refused("grad_beyond", hop_grad(f, 1, five, &g), &g);
	refused("grad_list", hop_grad(f, 1, NULL, &g), &g);
	refused("grad_count", hop_grad(f, -1, zero, &g), &g);
	refused("jvp_twice", hop_jvp(f, 2, zero, &g), &g);
	refused("vjp_twice", hop_vjp(f, 2, zero, &g), &g);
	refused("vmap_none", hop_vmap(f, no, -1, &g), &g);
	refused("vmap_lanes", hop_vmap(f, no, -2, &g), &g);
	refused("vmap_list", hop_vmap(f, NULL, 4, &g), &g);
	hop_fn_release(f);
	if (hop_capture(ctx, alike, NULL, 1, &s, &f))
		return;
	refused("grad_vector", hop_grad(f, 1, zero, &g), &g);
	hop_fn_release(f);
	for (int i = 0; i < 16; i++)
		ones[i] = 1;
	d16 = hop_spec_of(HOP_f64, 16, ones);
	if (hop_capture(ctx, alike, NULL, 1, &d16, &f))
		return;
	refused("vmap_deep", hop_vmap(f, yes, 2, &g), &g);
	hop_fn_release(f);
	if (hop_capture(ctx, part_of, NULL, 1, &s, &f))
		return;
	refused("vjp_size", hop_vjp(f, 1, zero, &g), &g);
	refused("vmap_size", hop_vmap(f, yes, 2, &g), &g);
	hop_fn_release(f);
}

static void called(const char *name, hop_fn *f, int nin, hop_array *const *in, int nout)
{
	hop_array *out[2] = { NULL, NULL };
	hop_status st = hop_call_with(f, nin, in, nout, out, HOP_RUN_OPTS(.interpret = true));
	say(name, st ? hop_message(ctx) : "accepted");
	hop_array_release(out[0]);
	hop_array_release(out[1]);
}

static void calls(void)
{
	hop_spec s[2] = { hop_spec_sym(hop_spec1(HOP_f64, 1), 0, "n", 2, 5),
	                  hop_spec_sym(hop_spec1(HOP_f64, 1), 0, "m", 0, 0) };
	hop_array *in[2] = { vec(3, (double[]){ 1, 2, 3 }), vec(4, (double[]){ 1, 2, 3, 4 }) };
	hop_array *two[2] = { vec(1, (double[]){ 1 }), in[1] }, *kind[2] = { num_i(1), in[1] };
	hop_array *none[2] = { NULL, in[1] };
	hop_fn *f;
	if (hop_capture(ctx, product_of, NULL, 2, s, &f))
		return;
	called("call_sizes", f, 2, in, 1);
	called("call_range", f, 2, two, 1);
	called("call_type", f, 2, kind, 1);
	called("call_missing", f, 2, none, 1);
	called("call_inputs", f, 1, in, 1);
	called("call_results", f, 2, in, 2);
	hop_fn_release(f);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_array_release(two[0]);
	hop_array_release(kind[0]);
}

int main(void)
{
	static const char text[] = "hop 1\ngraph @f<s>(%0: f64) {\n  return %0\n}\n";
	hop_spec in[NIN] = { hop_spec1(HOP_f64, 3), hop_spec1(HOP_f64, 4), hop_spec2(HOP_f64, 2, 3),
	                     hop_spec0(HOP_f64), hop_spec0(HOP_i64), hop_spec0(HOP_bool),
	                     hop_spec_sym(hop_spec1(HOP_f64, 1), 0, "n", 0, 0) };
	void *none = NULL;
	if (rig_up(&none) || hop_fn_parse(ctx, text, sizeof text - 1, NULL, &of_size))
		return 1;
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
		one_body(bodies[i].name, bodies[i].f, NIN, in);
	specs();
	eager_ones();
	transforms();
	calls();
	hop_fn_release(of_size);
	return rig_down(&none);
}
