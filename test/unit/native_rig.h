/* native_rig.h -- short words to build loop programs by hand and run them. */
#ifndef NATIVE_RIG_H
#define NATIVE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hop/ctx.h"
#include "ctx/ctx.h"
#include "device_rig.h"
#include "loop/device.h"
#include "loop/lower.h"
#include "rt/pool.h"
#include "support/code.h"

typedef struct rig {
	hop_ctx   *c;
	hop_env    e;
	hop_frame  frame;
	hop_arena  a;
	hop_prog   p;
	hop_lfunc  f[4];
	hop_lbuild b;
	hop_block *up[32];
	int        nup;
	hop_code  *code;
	hop_target_opts opts;
} rig;

#define K(k) hop_size_int(k)

static int rig_bits;             /* widest vectors; 0 = as the machine has */

static inline void rig_func(rig *r, int i, int nin, int nout, int nsym)
{
	r->f[i] = (hop_lfunc){ .name = "t", .nin = nin, .nout = nout, .nsym = nsym };
	r->b = (hop_lbuild){ &r->e, &r->a, &r->f[i], &r->f[i].body, 0 };
	r->nup = 0;
	if (i >= r->p.nfunc)
		r->p.nfunc = i + 1;
}

/* Terms of all addresses of the program. */
static hop_term rig_term[4096];
static int      rig_nterm;

static void rig_up(rig *r, int nin, int nout, int nsym)
{
	memset(r, 0, sizeof *r);
	rig_nterm = 0;
	assert_int_equal(hop_ctx_new(NULL, &r->c), HOP_OK);
	hop_env_init(&r->e, r->c, hop_ctx_mem(r->c));
	hop_guard_begin(&r->e, &r->frame);
	hop_arena_open(&r->a, &r->e);
	r->p = (hop_prog){ .a = &r->a, .func = r->f };
	r->opts.no_cache = true;
	r->opts.vector_bits = rig_bits;
	rig_func(r, 0, nin, nout, nsym);
}

/* One that a function writes in part, or reads before it writes it, is an input that is written: of an
 * output that is no input's, what is in it before is nothing, and comes to a device not at all. */
static int rig_param(rig *r, int index, hop_dtype d, hop_size n, bool written)
{
	return hop_l_buf(&r->b, (hop_lbuf){ .kind = HOP_BUF_PARAM, .index = index, .dtype = d,
	                                    .count = n, .is_written = written });
}

static inline hop_stmt *rig_loop(rig *r, enum hop_loop_kind k, hop_size n)
{
	hop_stmt *s = hop_l_stmt(&r->b, HOP_L_LOOP);

	s->loop = k;
	s->extent = n;
	s->dst = hop_l_reg(&r->b);
	r->up[r->nup++] = r->b.block;
	r->b.block = &s->body;
	return s;
}

static inline void rig_into(rig *r, hop_block *b)
{
	r->up[r->nup++] = r->b.block;
	r->b.block = b;
}

static inline void rig_end(rig *r)
{
	r->b.block = r->up[--r->nup];
}

/* An accumulator of loop s; call after its body is built. Gives the result. */
static inline hop_reg rig_acc(rig *r, hop_stmt *s, enum hop_red op, hop_dtype d,
                              hop_reg init, hop_reg value)
{
	hop_acc *a = HOP_NEWN(&r->a, hop_acc, s->nacc + 1);

	if (s->nacc)
		memcpy(a, s->acc, (size_t)s->nacc * sizeof *a);
	a[s->nacc] = (hop_acc){ op, d, init, value, hop_l_reg(&r->b) };
	s->acc = a;
	return a[s->nacc++].result;
}

/* buf[offset + r0*s0 + r1*s1 ...]: pairs of register and size, ended by register 0 */
static hop_addr rig_at(int buf, int64_t offset, ...)
{
	hop_addr a = { .buf = buf, .offset = K(offset), .term = &rig_term[rig_nterm] };
	va_list  ap;

	va_start(ap, offset);
	for (;;) {
		hop_reg v = va_arg(ap, int);

		if (!v)
			break;
		HOP_ASSERT(rig_nterm < 4096);
		rig_term[rig_nterm++] = (hop_term){ v, va_arg(ap, hop_size) };
		a.nterm++;
	}
	va_end(ap);
	return a;
}

static inline hop_reg rig_load(rig *r, hop_dtype d, hop_addr a)
{
	return hop_l_load(&r->b, d, &a);
}

static inline void rig_store(rig *r, hop_dtype d, hop_addr a, hop_reg v)
{
	hop_l_store(&r->b, d, &a, v);
}

static inline hop_reg rig_op2(rig *r, enum hop_sop s, hop_dtype d, hop_reg a, hop_reg b)
{
	return hop_l_op(&r->b, s, d, 2, (hop_reg[]){ a, b });
}

static inline hop_reg rig_op1(rig *r, enum hop_sop s, hop_dtype d, hop_reg a)
{
	return hop_l_op(&r->b, s, d, 1, &a);
}

static inline void rig_bind(rig *r, const hop_machine *m)
{
	for (int i = 0; i < r->p.nfunc; i++)
		hop_loop_schedule(&r->e, m, &r->f[i]);
	if (m->blocks)
		assert_int_equal(hop_loop_device(&r->e, m, &r->p), HOP_OK);
}

/* Bind the loops to the machine that the options mean. */
static inline hop_machine rig_schedule(rig *r)
{
	hop_machine m;

	assert_int_equal(code_machine(&r->e, &r->opts, &m), HOP_OK);
	rig_bind(r, &m);
	return m;
}

static inline void rig_compile(rig *r)
{
	rig_schedule(r);
	if (code_new(&r->e, &r->p, &r->opts, &r->code)) {
		fprintf(stderr, "%s\n", r->e.diag.text ? r->e.diag.text : "(no text)");
		fail();
	}
}

static inline int rig_say(struct hop_rt *rt, int status, const char *text)
{
	(void)rt;
	fprintf(stderr, "status %d: %s\n", status, text);
	return 1;
}

static int rig_run_rt(rig *r, void *const *params, const int64_t *syms, hop_rt *rt)
{
	static const int never = 0;
	int64_t n = 0;
	void   *ws = NULL;
	int     st;

	assert_true(hop_code_frame(r->code, syms, r->f[0].nsym, &n));
	assert_int_equal(posix_memalign(&ws, 64, (size_t)n + 64), 0);
	memset(ws, 0xee, (size_t)n);
	rt->cancel = rt->cancel ? rt->cancel : &never;
	rt->fail = rt->fail ? rt->fail : rig_say;
	st = hop_code_launch(r->code, NULL, params, syms, ws, rt);
	free(ws);
	return st;
}

static inline int rig_run(rig *r, void *const *params, const int64_t *syms)
{
	hop_rt rt = { .nthread = 1 };

	return rig_run_rt(r, params, syms, &rt);
}

/* All tests with vectors of each width that a machine may have; their failures. */
#define RIG_EACH_WIDTH(tests) rig_each_width(sizeof(tests) / sizeof *(tests), tests)

static inline int rig_each_width(size_t n, const struct CMUnitTest *tests)
{
	static const int bits[] = { 0, 256, 128 };
	int bad = 0;
	for (int i = 0; i < (on_device() ? 1 : 3); i++) {
		rig_bits = bits[i];
		bad += _cmocka_run_group_tests("tests", tests, n, NULL, NULL);
	}
	return bad;
}

static void rig_down(rig *r)
{
	hop_code_release(r->code);
	hop_arena_free(&r->a, &r->e.mem);
	hop_guard_end(&r->e, &r->frame);
	hop_env_fini(&r->e);
	hop_ctx_free(r->c);
}

#endif
