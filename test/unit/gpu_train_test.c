/* gpu_train_test.c -- the transformer of the gallery learns on a device as on the CPU, and as PyTorch's
 * does (test/data/train.h): the loss in each of 50 steps, a call a step with all that is trained staying
 * on the device; and as one program, whose loop asks the host for sentences. Without a device it is
 * skipped; on an emulated one there are few steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define main transformer_main
#include "../../examples/24_transformer.c"
#undef main

#include "data/train.h"

#define STEP(has) has(NODE, s, trained) has(LEAF, n, "i64") has(LEAF, sentences, "i64[batch, more]")
HOP_STRUCT(step, STEP);
#define STEPPED(has) has(NODE, s, trained) has(LEAF, loss, "f32")
HOP_STRUCT(stepped, STEPPED);

enum { NSIZE = sizeof sizes / sizeof *sizes };

static hop_ctx   *ctx;
static hop_device gpu;
static bool       absent, emulated;

/* in: what is trained, the number of the step, its sentences. bf16: products, by casts; else f32. */
static void one_step(hop_trace *t, const hop_value *in, void *user)
{
	struct step x = *HOP_IN(struct step, in);
	struct stepped y = { .s = x.s };
	struct net g;
	hop_value *p = &y.s.p.words, *m = &y.s.m.words, *v = &y.s.v.words, loss, n;
	const struct how *how = user;

	HOP_GRAD_N(t, loss, net_tree, &x.s.p, &g) {
		if (how->products == HOP_bf16)
			HOP_AUTOCAST(t, HOP_bf16)
				loss = loss_of(t, &x.s.p, x.sentences);
		else
			loss = loss_of(t, &x.s.p, x.sentences);
	}
	n = hop_cast(t, hop_add(t, x.n, hop_i(t, 1)), HOP_f32);
	for (int k = 0; k < net_tree.count; k++)
		update(t, n, (&g.words)[k], &p[k], &m[k], &v[k]);
	y.loss = loss;
	hop_return_tree(t, &stepped_tree, &y);
}

static void sentences_of(int64_t step, hop_array *to)
{
	hop_host_arg in = { .data = &step }, out = { .data = hop_array_data(to) };
	hop_host_call call = { .in = &in, .out = &out };

	assert_int_equal(write_sentences(&call), HOP_OK);
}

/* Losses of so many steps, each a call; what is trained stays where it is computed. */
static void losses_of(hop_dtype products, hop_device at, int steps, double *out)
{
	struct how how = { steps, products };
	hop_named_size all[NSIZE + 2];
	struct step_arrays x;
	hop_array **state = &x.s.p.words;
	hop_fn *f;

	memcpy(all, sizes, sizeof sizes);
	all[NSIZE - 1] = (hop_named_size){ "batch", BATCH };
	all[NSIZE] = (hop_named_size){ "more", TOKENS + 1 };
	all[NSIZE + 1] = (hop_named_size){ NULL, 0 };
	must(ctx, hop_capture_tree(ctx, one_step, &how, &step_tree, all, &f));
	must(ctx, hop_tree_new(ctx, &step_tree, all, &x));
	begin(&x.s.p);
	for (int k = 0; k < trained_tree.count; k++) {
		hop_array *here = state[k];
		must(ctx, hop_array_to(here, at, &state[k]));
		hop_array_release(here);
	}
	for (int i = 0; i < steps; i++) {
		struct stepped_arrays y;
		*(int64_t *)hop_array_data(x.n) = i;
		sentences_of(i, x.sentences);
		must(ctx, hop_call(f, step_tree.count, &x.s.p.words, stepped_tree.count, &y.s.p.words));
		out[i] = hop_array_at(y.loss, 0);
		hop_tree_release(&trained_tree, &x.s);
		x.s = y.s;
		assert_int_equal(hop_array_device(x.s.p.words).type, at.type);
		hop_array_release(y.loss);
	}
	hop_tree_release(&step_tree, &x);
	hop_fn_release(f);
}

static void near(const char *whose, const double *got, const double *want, int n, double tol)
{
	for (int i = 0; i < n; i++)
		if (!(fabs(got[i] - want[i]) <= tol))
			fail_msg("step %d: %.9g, and %s %.9g", i, got[i], whose, want[i]);
}

static void need_device(void)
{
	if (absent)
		skip();
}

static void as_cpu(hop_dtype products, const double *torch, double tol)
{
	double here[STEPS], there[STEPS], most = 0;
	int steps = emulated ? 2 : STEPS;

	losses_of(products, (hop_device){ 0 }, steps, here);
	losses_of(products, gpu, steps, there);
	near("on the CPU", there, here, steps, tol);
	near("PyTorch", there, torch, steps, tol);
	for (int i = 0; i < steps; i++)
		most = fmax(most, fabs(here[i] - there[i]));
	print_message("%d steps in %s: loss %.4f to %.4f, at most %.1e from the CPU's\n", steps,
	              products == HOP_bf16 ? "bf16" : "f32", there[0], there[steps - 1], most);
}

static void in_f32(void **state)
{
	(void)state;
	need_device();
	as_cpu(HOP_f32, train_f32, 1e-3);
}

static void in_bf16(void **state)
{
	(void)state;
	need_device();
	as_cpu(HOP_bf16, train_bf16, 0.05);
}

/* target NULL: this process, by the interpreter where there is no compiler. */
static hop_array *learn_by(const char *target, int steps)
{
	struct how how = { steps, HOP_f32 };
	struct trained_arrays s;
	hop_array *losses;
	hop_fn *f;

	prepare(ctx, &how, &s, &f);
	if (target)
		must(ctx, hop_fn_compile(f, HOP_COMPILE_OPTS(.target = target)));
	must(ctx, hop_call(f, trained_tree.count, &s.p.words, 1, &losses));
	hop_tree_release(&trained_tree, &s);
	hop_fn_release(f);
	return losses;
}

/* The loop, its gradients and the questions for the host are in the program. */
static void in_one(void **state)
{
	int steps = emulated ? 2 : STEPS;
	hop_array *here, *there;

	(void)state;
	need_device();
	here = learn_by(NULL, steps);
	there = learn_by("cuda", steps);
	for (int i = 0; i < steps; i++)
		assert_true(fabs(hop_array_at(here, i) - hop_array_at(there, i)) <= 1e-3);
	hop_array_release(here);
	hop_array_release(there);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_f32), cmocka_unit_test(in_bf16), cmocka_unit_test(in_one),
	};
	int rc;

	unsetenv("HOP_TARGET");                /* the CPU is to be one */
	ctx = with_loader();
	absent = hop_device_find(ctx, "cuda", &gpu) != HOP_OK;
	if (absent)
		printf("skipped: no device (%s)\n", hop_message(ctx));
	else
		emulated = strstr(hop_device_about(ctx, gpu), "emulated") != NULL;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	hop_ctx_free(ctx);
	return rc;
}
