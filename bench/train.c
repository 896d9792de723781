/* train.c -- the training loop of examples/24_transformer.c, on one thread. beside_train.py runs it in
 * turn with PyTorch. */
#include "bench.h"
#include "train.h"

#define main transformer_main
#include "../examples/24_transformer.c"
#undef main

struct work {
	hop_fn               *f;
	struct trained_arrays s;
	hop_status            st;
};

static void steps(void *user)
{
	struct work *w = user;
	hop_array *losses;
	w->st = hop_call(w->f, trained_tree.count, &w->s.p.words, 1, &losses);
	if (!w->st)
		hop_array_release(losses);
}

static int train_in(const char *name, hop_dtype products)
{
	struct how how = { STEPS, products };
	struct work w;
	hop_ctx *c = with_loader();
	double start = bench_now(), captured, compiled, t;

	prepare(c, &how, &w.s, &w.f);
	captured = bench_now();
	steps(&w);
	compiled = bench_now();
	t = bench_time(steps, &w, 0.1);
	if (w.st)
		printf("train: %s\n", hop_message(c));
	else
		printf("train %s %.0f %.0f %.1f\n", name, (captured - start) * 1e3,
		       (compiled - captured - t) * 1e3, t * 1e3);
	hop_tree_release(&trained_tree, &w.s);
	hop_fn_release(w.f);
	hop_ctx_free(c);
	return w.st != HOP_OK;
}

int bench_train(void)
{
	setenv("HOP_THREADS", "1", 1);
	return train_in("f32", HOP_f32) | train_in("bf16", HOP_bf16);
}
