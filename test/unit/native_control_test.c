/* native_control_test.c -- branches, loops that decide, calls, tapes and effects as loop
 * programs built by hand, compiled and compared with C. */
#include <math.h>

#include "native_rig.h"

/* ---- control flow ---- */

/* while (x[0] < 100) x = 2 x + 1 on a vector; a scan forward and one in reverse; a branch
 * by a scalar and one by an element. */
static void test_control(void **state)
{
	double    x[20], o[20], want[20];
	rig       R, *r = &R;
	hop_stmt *w, *l, *s;
	hop_reg   v, c;

	(void)state;
	rig_up(r, 2, 0, 0);
	rig_param(r, 0, HOP_f64, K(20), true);
	rig_param(r, 1, HOP_f64, K(20), true);
	w = hop_l_stmt(&r->b, HOP_L_WHILE);
	rig_into(r, &w->other);
	v = rig_load(r, HOP_f64, rig_at(0, 0, 0));
	w->a[0] = rig_op2(r, HOP_SOP_lt, HOP_bool, v, hop_l_constf(&r->b, HOP_f64, 100));
	rig_end(r);
	rig_into(r, &w->body);
	l = rig_loop(r, HOP_LOOP_PAR, K(20));
	v = rig_load(r, HOP_f64, rig_at(0, 0, l->dst, K(1), 0));
	v = rig_op2(r, HOP_SOP_mul, HOP_f64, v, hop_l_constf(&r->b, HOP_f64, 2));
	v = rig_op2(r, HOP_SOP_add, HOP_f64, v, hop_l_constf(&r->b, HOP_f64, 1));
	rig_store(r, HOP_f64, rig_at(0, 0, l->dst, K(1), 0), v);
	rig_end(r);
	rig_end(r);
	/* o[i] = o[i+1]/2 + x[i], from the end */
	l = rig_loop(r, HOP_LOOP_SEQ, K(19));
	l->reverse = true;
	v = rig_load(r, HOP_f64, rig_at(1, 1, l->dst, K(1), 0));
	v = rig_op2(r, HOP_SOP_mul, HOP_f64, v, hop_l_constf(&r->b, HOP_f64, 0.5));
	v = rig_op2(r, HOP_SOP_add, HOP_f64, v,
	            rig_load(r, HOP_f64, rig_at(0, 0, l->dst, K(1), 0)));
	rig_store(r, HOP_f64, rig_at(1, 0, l->dst, K(1), 0), v);
	rig_end(r);
	/* where o[i] < 150: negate, else halve */
	l = rig_loop(r, HOP_LOOP_PAR, K(20));
	v = rig_load(r, HOP_f64, rig_at(1, 0, l->dst, K(1), 0));
	c = rig_op2(r, HOP_SOP_lt, HOP_bool, v, hop_l_constf(&r->b, HOP_f64, 150));
	s = hop_l_stmt(&r->b, HOP_L_IF);
	s->a[0] = c;
	rig_into(r, &s->body);
	rig_store(r, HOP_f64, rig_at(1, 0, l->dst, K(1), 0),
	          rig_op1(r, HOP_SOP_neg, HOP_f64, v));
	rig_end(r);
	rig_into(r, &s->other);
	rig_store(r, HOP_f64, rig_at(1, 0, l->dst, K(1), 0),
	          rig_op2(r, HOP_SOP_mul, HOP_f64, v, hop_l_constf(&r->b, HOP_f64, 0.5)));
	rig_end(r);
	rig_end(r);
	rig_compile(r);
	for (int i = 0; i < 20; i++)
		x[i] = i * 0.25, o[i] = 8;
	assert_int_equal(rig_run(r, (void *[]){ x, o }, NULL), 0);
	for (int i = 0; i < 20; i++) {
		want[i] = i * 0.25;
		for (int k = 0; k < 7; k++)
			want[i] = want[i] * 2 + 1;
		assert_true(x[i] == want[i]);
	}
	want[19] = 8;
	for (int i = 18; i >= 0; i--)
		want[i] = want[i + 1] * 0.5 + x[i];
	for (int i = 0; i < 20; i++)
		assert_true(o[i] == (want[i] < 150 ? -want[i] : want[i] * 0.5));
	rig_down(r);
}

static int grow(struct hop_rt *rt, int slot, int64_t bytes)
{
	void *p;

	if (bytes > 1 << 20)
		return 7;
	p = realloc(rt->tape[slot].ptr, (size_t)bytes * 2);
	rt->tape[slot].ptr = p;
	rt->tape[slot].bytes = bytes * 2;
	return p ? 0 : 1;
}

static int effect(struct hop_rt *rt, int id, void *const *args, const int64_t *syms)
{
	double *sum = rt->user;

	*sum += id * 1000 + *(const float *)args[0] + (double)syms[0];
	return *sum > 1e5 ? 9 : 0;
}

/* A callee with its own sizes and frame, a temporary, a constant, copies, a tape that
 * grows in a loop, a size bound while running, and effects. */
static void test_calls(void **state)
{
	static const float ten[4] = { 10, 20, 30, 40 };
	hop_leffect     eff[2] = { { .text = "a" }, { .text = "b" } };
	struct hop_tape tape = { 0 };
	float           x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, o[8];
	int64_t         count = 100;
	double          sum = 0;
	hop_rt          rt = { .nthread = 1, .grow = grow, .effect = effect, .tape = &tape,
	                       .user = &sum };
	rig       R, *r = &R;
	hop_stmt *l, *s;
	hop_reg   v;
	int       t, k, tp, c, local;
	hop_size  n;

	(void)state;
	rig_up(r, 1, 1, 1);
	n = hop_size_sym(&r->e, 0);
	/* f1<s>(in, out): tmp = in * const; out = tmp + out */
	rig_func(r, 1, 2, 0, 1);
	rig_param(r, 0, HOP_f32, n, false);
	rig_param(r, 1, HOP_f32, n, true);
	t = hop_l_buf(&r->b, (hop_lbuf){ .kind = HOP_BUF_TEMP, .dtype = HOP_f32, .count = n,
	                                 .offset = K(64), .is_written = true });
	k = hop_l_buf(&r->b, (hop_lbuf){ .kind = HOP_BUF_CONST, .dtype = HOP_f32, .count = K(4),
	                                 .data = ten });
	l = rig_loop(r, HOP_LOOP_PAR, n);
	v = rig_op2(r, HOP_SOP_mul, HOP_f32, rig_load(r, HOP_f32, rig_at(0, 0, l->dst, K(1), 0)),
	            rig_load(r, HOP_f32, rig_at(k, 0, l->dst, K(1), 0)));
	rig_store(r, HOP_f32, rig_at(t, 0, l->dst, K(1), 0), v);
	rig_end(r);
	l = rig_loop(r, HOP_LOOP_PAR, n);
	v = rig_op2(r, HOP_SOP_add, HOP_f32, rig_load(r, HOP_f32, rig_at(t, 0, l->dst, K(1), 0)),
	            rig_load(r, HOP_f32, rig_at(1, 0, l->dst, K(1), 0)));
	rig_store(r, HOP_f32, rig_at(1, 0, l->dst, K(1), 0), v);
	rig_end(r);
	r->f[1].frame = K(256);
	/* f0 */
	r->b = (hop_lbuild){ &r->e, &r->a, &r->f[0], &r->f[0].body, 0 };
	rig_param(r, 0, HOP_f32, n, false);
	rig_param(r, 1, HOP_f32, n, true);
	tp = hop_l_buf(&r->b, (hop_lbuf){ .kind = HOP_BUF_TAPE, .index = 0, .dtype = HOP_f32,
	                                  .count = K(1000), .is_written = true });
	c = hop_l_buf(&r->b, (hop_lbuf){ .kind = HOP_BUF_TEMP, .dtype = HOP_i64, .count = K(1),
	                                 .offset = K(0), .is_written = true });
	local = c;
	r->f[0].nlocal = 1;
	r->f[0].local = &local;
	r->f[0].frame = hop_size_add(&r->e, K(512), n);
	r->p.ntape = 1;
	r->p.neffect = 2;
	r->p.effect = eff;
	const hop_type *real = hop_type_scalar(&r->e, HOP_f32);
	for (int i = 0; i < 2; i++) {
		eff[i].narg = eff[i].nin = 1;
		eff[i].type = &real;
	}
	l = rig_loop(r, HOP_LOOP_PAR, n);
	v = rig_load(r, HOP_f32, rig_at(0, 0, l->dst, K(1), 0));
	rig_store(r, HOP_f32, rig_at(1, 0, l->dst, K(1), 0), v);
	rig_end(r);
	for (int i = 0; i < 2; i++) {
		s = hop_l_stmt(&r->b, HOP_L_CALL);
		s->callee = 1;
		s->narg = 2;
		s->args = HOP_NEWN(&r->a, hop_addr, 2);
		s->args[0] = rig_at(0, 4 * i, 0);
		s->args[1] = rig_at(1, 4 * i, 0);
		s->nsize = 1;
		s->sizes = HOP_NEW(&r->a, hop_size);
		s->sizes[0] = K(4);
		s->frame = K(128);
	}
	/* tape[i] = i for i < 100, growing; then a local size = 100 sums it */
	l = rig_loop(r, HOP_LOOP_SEQ, K(100));
	s = hop_l_stmt(&r->b, HOP_L_GROW);
	s->buf = tp;
	s->a[0] = rig_op2(r, HOP_SOP_add, HOP_i64, l->dst, hop_l_consti(&r->b, HOP_i64, 1));
	{	/* the operand must be defined before the statement that uses it */
		hop_stmt *g = s;
		hop_stmt *first = l->body.first;

		HOP_ASSERT(first == g);
		l->body.first = g->next;
		l->body.last->next = g;
		l->body.last = g;
		g->next = NULL;
	}
	v = rig_op1(r, HOP_SOP_cast, HOP_f32, l->dst);
	rig_store(r, HOP_f32, rig_at(tp, 0, l->dst, K(1), 0), v);
	rig_end(r);
	rig_store(r, HOP_i64, rig_at(c, 0, 0), hop_l_consti(&r->b, HOP_i64, 100));
	v = hop_l_constf(&r->b, HOP_f32, 0);
	l = rig_loop(r, HOP_LOOP_RED, hop_size_sym(&r->e, 1));
	{
		hop_reg q = rig_load(r, HOP_f32, rig_at(tp, 0, l->dst, K(1), 0));

		rig_end(r);
		v = rig_acc(r, l, HOP_RED_add, HOP_f32, v, q);
	}
	rig_store(r, HOP_f32, rig_at(1, 0, 0), v);
	for (int i = 0; i < 2; i++) {
		s = hop_l_stmt(&r->b, HOP_L_EFFECT);
		s->callee = i;
		s->narg = s->nacc = 1;
		s->args = HOP_NEW(&r->a, hop_addr);
		s->args[0] = rig_at(1, i, 0);
	}
	rig_compile(r);
	assert_int_equal(rig_run_rt(r, (void *[]){ x, o }, (int64_t[]){ 8 }, &rt), 0);
	assert_true(o[0] == 4950);
	for (int i = 1; i < 8; i++)
		assert_true(o[i] == x[i] + x[i] * ten[i % 4]);
	assert_true(sum == 1000 + 4950 + o[1] + 16);
	assert_true(on_device() || tape.bytes >= count * 4);   /* there it has its own */
	sum = 1e9;                            /* an effect that says stop */
	assert_int_equal(rig_run_rt(r, (void *[]){ x, o }, (int64_t[]){ 8 }, &rt), 9);
	free(tape.ptr);
	rig_down(r);
}

/* Mistakes of a program are statuses. */
static void test_verify(void **state)
{
	rig R, *r = &R;

	(void)state;
	rig_up(r, 1, 1, 0);
	rig_param(r, 0, HOP_f32, K(4), false);
	rig_param(r, 1, HOP_f32, K(4), true);
	rig_store(r, HOP_f32, rig_at(1, 0, 0), 1);
	r->f[0].nreg = 1;
	assert_int_equal(code_new(&r->e, &r->p, &r->opts, &r->code), HOP_ETARGET);
	assert_null(r->code);
	rig_down(r);
}

/* ---- carries ---- */

enum { M = 37 };

/* next[i] = (now[i] + now[M-1-i]) / 2 + 1, in a loop that hands next over. */
static void turn(rig *r, int now, int next)
{
	hop_stmt *l = rig_loop(r, HOP_LOOP_PAR, K(M));
	hop_reg   v = rig_op2(r, HOP_SOP_add, HOP_f64,
	                      rig_load(r, HOP_f64, rig_at(now, 0, l->dst, K(1), 0)),
	                      rig_load(r, HOP_f64, rig_at(now, M - 1, l->dst, K(-1), 0)));

	v = rig_op2(r, HOP_SOP_mul, HOP_f64, v, hop_l_constf(&r->b, HOP_f64, 0.5));
	v = rig_op2(r, HOP_SOP_add, HOP_f64, v, hop_l_constf(&r->b, HOP_f64, 1));
	rig_store(r, HOP_f64, rig_at(next, 0, l->dst, K(1), 0), v);
	rig_end(r);
}

static void hand(rig *r, hop_stmt *s, int n)
{
	s->ncarry = n;
	s->carry = HOP_NEWN(&r->a, hop_carry, n);
	for (int i = 0; i < n; i++)
		s->carry[i] = (hop_carry){ rig_at(i, 0, 0), rig_at(2 + i, 0, 0), K(M) };
}

/* Two carries in a loop of n steps, then one of them while its first element is small. */
static void test_carries(void **state)
{
	double    x[2][M], want[2][M];
	rig       R, *r = &R;
	hop_stmt *s;

	(void)state;
	rig_up(r, 4, 0, 0);
	for (int i = 0; i < 4; i++)
		rig_param(r, i, HOP_f64, K(M), true);
	s = rig_loop(r, HOP_LOOP_SEQ, K(5));
	turn(r, 0, 2);
	turn(r, 1, 3);
	rig_end(r);
	hand(r, s, 2);
	s = hop_l_stmt(&r->b, HOP_L_WHILE);
	rig_into(r, &s->other);
	s->a[0] = rig_op2(r, HOP_SOP_lt, HOP_bool, rig_load(r, HOP_f64, rig_at(0, 0, 0)),
	                  hop_l_constf(&r->b, HOP_f64, 40));
	rig_end(r);
	rig_into(r, &s->body);
	turn(r, 0, 2);
	rig_end(r);
	hand(r, s, 1);
	rig_compile(r);
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < M; i++)
			want[k][i] = x[k][i] = (k * M + i) * 0.25;
	double spare[2][M];
	assert_int_equal(rig_run(r, (void *[]){ x[0], x[1], spare[0], spare[1] }, NULL), 0);
	for (int k = 0; k < 2; k++)
		for (int n = 0; k ? n < 5 : n < 5 || want[0][0] < 40; n++) {
			double next[M];
			for (int i = 0; i < M; i++)
				next[i] = (want[k][i] + want[k][M - 1 - i]) * 0.5 + 1;
			memcpy(want[k], next, sizeof next);
		}
	assert_memory_equal(x, want, sizeof x);
	rig_down(r);
}

/* What a carry must not be. */
static void test_no_carries(void **state)
{
	for (int k = 0; k < 4; k++) {
		rig       R, *r = &R;
		hop_stmt *s;

		(void)state;
		rig_up(r, 0, 4, 0);
		for (int i = 0; i < 4; i++)
			rig_param(r, i, i == 3 ? HOP_f32 : HOP_f64, K(M), true);
		s = rig_loop(r, k == 3 ? HOP_LOOP_PAR : HOP_LOOP_SEQ, K(5));
		hand(r, s, 1);
		if (k == 0)
			s->carry[0].next.buf = 0;                /* itself */
		if (k == 1)
			s->carry[0].next.buf = 3;                /* another dtype */
		if (k == 2) {
			hand(r, s, 2);
			s->carry[1] = (hop_carry){ rig_at(2, 0, 0), rig_at(1, 0, 0), K(M) };   /* in a row */
		}
		rig_end(r);
		assert_int_equal(hop_prog_verify(&r->e, &r->p), HOP_ETARGET);
		assert_non_null(strstr(r->e.diag.text, k == 3 ? "not seq" : k == 2 ? "share" : "become"));
		rig_down(r);
	}
}

/* ---- bindings ---- */

/* Two loops, one in the other, that store and add up; s: the outer and the inner one. */
static void two_loops(rig *r, hop_stmt **s)
{
	hop_reg zero, x;

	rig_up(r, 1, 1, 0);
	rig_param(r, 0, HOP_f32, K(4), false);
	rig_param(r, 1, HOP_f32, K(4), true);
	zero = hop_l_constf(&r->b, HOP_f32, 0);
	s[0] = rig_loop(r, HOP_LOOP_PAR, K(4));
	s[1] = rig_loop(r, HOP_LOOP_RED, K(4));
	x = rig_load(r, HOP_f32, rig_at(0, 0, s[1]->dst, K(1), 0));
	rig_end(r);
	x = rig_acc(r, s[1], HOP_RED_add, HOP_f32, zero, x);
	rig_store(r, HOP_f32, rig_at(1, 0, s[0]->dst, K(1), 0), x);
	rig_end(r);
}

/* Bindings that no schedule makes are refused: they may come from elsewhere. */
static void test_bindings(void **state)
{
	static const struct { hop_bind b[2]; bool ok; } all[] = {
		{ { { 0 }, { 0 } }, true },
		{ { { .width = 4, .jam = 2 }, { .turned = true } }, true },
		{ { { .thread = true, .least = 1 }, { .width = 8, .jam = 1 } }, true },
		{ { { .thread = true, .least = 9 }, { .blocks = true, .least = 1 } }, false },
		{ { { .width = 4, .jam = 1 }, { .width = 4, .jam = 1 } }, false },
		{ { { .width = 3, .jam = 1 }, { 0 } }, false },
		{ { { .width = 4, .jam = 0 }, { 0 } }, false },
		{ { { .thread = true }, { 0 } }, false },
		{ { { .blocks = true, .least = 1 }, { 0 } }, false },
		{ { { 0 }, { .thread = true, .least = 1 } }, false },
		{ { { .turned = true }, { 0 } }, false },
		{ { { .slice = 1 }, { 0 } }, false },
		{ { { .ordered = true }, { .width = 8, .jam = 1 } }, true },
		{ { { .ordered = true, .width = 8, .jam = 1 }, { 0 } }, false },
		{ { { .slice = 99, .thread = true, .least = 1 }, { 0 } }, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		rig       R;
		hop_stmt *s[2];

		two_loops(&R, s);
		s[0]->bind = all[i].b[0];
		s[1]->bind = all[i].b[1];
		if ((hop_prog_verify(&R.e, &R.p) == HOP_OK) != all[i].ok)
			fail_msg("bindings %zu: %s", i, all[i].ok ? R.e.diag.text : "not refused");
		rig_down(&R);
	}
}

/* f0 runs f1 three times in a loop of kind k; f1 doubles its elements. */
static void steps(rig *r, enum hop_loop_kind k)
{
	hop_stmt *l, *s;
	hop_reg   v;

	rig_up(r, 1, 1, 0);
	rig_func(r, 1, 1, 1, 0);
	rig_param(r, 0, HOP_f32, K(4), false);
	rig_param(r, 1, HOP_f32, K(4), true);
	l = rig_loop(r, HOP_LOOP_PAR, K(4));
	v = rig_load(r, HOP_f32, rig_at(0, 0, l->dst, K(1), 0));
	rig_store(r, HOP_f32, rig_at(1, 0, l->dst, K(1), 0), rig_op2(r, HOP_SOP_add, HOP_f32, v, v));
	rig_end(r);
	r->b = (hop_lbuild){ &r->e, &r->a, &r->f[0], &r->f[0].body, 0 };
	rig_param(r, 0, HOP_f32, K(4), false);
	rig_param(r, 1, HOP_f32, K(4), true);
	rig_loop(r, k, K(3));
	s = hop_l_stmt(&r->b, HOP_L_CALL);
	s->callee = 1;
	s->nacc = 1;
	s->narg = 2;
	s->args = HOP_NEWN(&r->a, hop_addr, 2);
	s->args[0] = rig_at(0, 0, 0);
	s->args[1] = rig_at(1, 0, 0);
	rig_end(r);
	r->p.nfunc = 2;
}

/* Lists of a host and kernels: what stands on the wrong side is refused. */
static void test_levels(void **state)
{
	enum { W = HOP_LEVEL_WHOLE, H = HOP_LEVEL_HOST, K = HOP_LEVEL_KERNEL, T = HOP_LEVEL_TEAM,
	       A = HOP_LEVEL_THREAD };
	static const struct { int of[2]; enum hop_loop_kind k; bool shared, ok; } all[] = {
		{ { W, W }, HOP_LOOP_SEQ, false, true },  { { K, T }, HOP_LOOP_SEQ, false, true },
		{ { K, T }, HOP_LOOP_PAR, false, true },  { { K, A }, HOP_LOOP_PAR, true, true },
		{ { T, T }, HOP_LOOP_SEQ, false, true },  { { A, A }, HOP_LOOP_PAR, false, true },
		{ { K, A }, HOP_LOOP_PAR, false, false }, { { K, T }, HOP_LOOP_PAR, true, false },
		{ { W, K }, HOP_LOOP_SEQ, false, false }, { { H, W }, HOP_LOOP_SEQ, false, false },
		{ { K, H }, HOP_LOOP_SEQ, false, false }, { { H, K }, HOP_LOOP_SEQ, false, false },
		{ { W, W }, HOP_LOOP_PAR, true, false },  { { A, A }, HOP_LOOP_PAR, true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		rig R;

		steps(&R, all[i].k);
		R.f[0].level = (enum hop_level)all[i].of[0];
		R.f[1].level = (enum hop_level)all[i].of[1];
		R.f[0].body.first->bind.place = all[i].shared ? HOP_PLACE_THREAD : HOP_PLACE_NONE;
		if ((hop_prog_verify(&R.e, &R.p) == HOP_OK) != all[i].ok)
			fail_msg("levels %zu: %s", i, all[i].ok ? R.e.diag.text : "not refused");
		rig_down(&R);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_control), cmocka_unit_test(test_carries),
		cmocka_unit_test(test_no_carries), cmocka_unit_test(test_calls),
		cmocka_unit_test(test_verify), cmocka_unit_test(test_bindings),
		cmocka_unit_test(test_levels),
	};

	return RIG_EACH_WIDTH(tests);
}
