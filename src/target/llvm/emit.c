/* emit.c -- loop programs to LLVM IR: statements, functions, and bodies for threads.
 * Every function has the type of hop_entry. Does not optimise: what is written here is
 * what runs, LLVM only selects instructions and allocates registers. */
#include <stdio.h>
#include <string.h>

#include "loop/lower.h"
#include "target/abi.h"
#include "target/llvm/emit.h"

/* ---- registers ---- */

hop_ev *hop_e_reg(hop_emit *e, hop_reg r)
{
	HOP_ASSERT(r > 0 && r <= e->f->nreg && e->s.reg[r].v);
	return &e->s.reg[r];
}

void hop_e_set(hop_emit *e, hop_reg r, hop_ev v)
{
	e->s.reg[r] = v;
}

/* ---- operations ---- */

/* A sum or product of a linear register stays linear. NULL v = not this way. */
static hop_ev linear(hop_emit *e, const hop_stmt *s)
{
	const hop_ev *a, *b;
	hop_ev r = { .lane = HOP_LIN, .dtype = HOP_i64, .depth = e->s.depth };
	hop_lv *sa, *sb;
	if (s->na != 2 || e->lanes == 1 || e->cls[s->dst] != HOP_LIN)
		return (hop_ev){ 0 };
	a = hop_e_reg(e, s->a[0]);
	b = hop_e_reg(e, s->a[1]);
	sa = a->lane == HOP_LIN ? a->step : hop_e_int(e, 0);
	sb = b->lane == HOP_LIN ? b->step : hop_e_int(e, 0);
	switch (s->sop) {
	case HOP_SOP_add:
		r.v = hop_e_bin(e, LL_ADD, a->v, b->v);
		r.step = hop_e_bin(e, LL_ADD, sa, sb);
		return r;
	case HOP_SOP_sub:
		r.v = hop_e_bin(e, LL_SUB, a->v, b->v);
		r.step = hop_e_bin(e, LL_SUB, sa, sb);
		return r;
	case HOP_SOP_mul:
		r.v = hop_e_bin(e, LL_MUL, a->v, b->v);
		r.step = hop_e_bin(e, LL_MUL, a->lane == HOP_LIN ? sa : sb,
		                   a->lane == HOP_LIN ? b->v : a->v);
		return r;
	default:
		return (hop_ev){ 0 };
	}
}

void hop_e_op(hop_emit *e, const hop_stmt *s)
{
	hop_ev r = { .dtype = s->dtype, .depth = e->s.depth };
	hop_lv *v[3] = { 0 };
	hop_eaddr at;
	int lanes = 1, from = s->sop == HOP_SOP_select ? 1 : 0;
	switch (s->sop) {
	case HOP_SOP_constf:
		r.v = hop_e_constf(e, s->dtype, 1, s->u.f);
		r.depth = 0;
		break;
	case HOP_SOP_consti:
		r.v = hop_e_consti(e, s->dtype, 1, s->u.i);
		r.depth = 0;
		break;
	case HOP_SOP_size:
		r.v = hop_e_size(e, s->u.size);
		if (hop_size_nsym(s->u.size) <= e->f->nsym)
			r.depth = 0;
		break;
	case HOP_SOP_load:
		at = hop_e_addr(e, &s->u.addr);
		r = hop_e_load(e, &at, s->na ? hop_e_reg(e, s->a[0]) : NULL);
		break;
	case HOP_SOP_store:
		at = hop_e_addr(e, &s->u.addr);
		hop_e_store(e, &at, hop_e_reg(e, s->a[0]),
		            s->na > 1 ? hop_e_reg(e, s->a[1]) : NULL);
		return;
	default:
		r = linear(e, s);
		if (r.v)
			break;
		for (int i = 0; i < s->na; i++)
			if (hop_e_reg(e, s->a[i])->lane != HOP_UNI)
				lanes = e->lanes;
		for (int i = 0; i < s->na; i++) {
			const hop_ev *a = hop_e_reg(e, s->a[i]);

			v[i] = lanes > 1 ? hop_e_vec(e, a) : a->v;
		}
		r = (hop_ev){ .dtype = s->dtype, .depth = e->s.depth,
		              .lane = lanes > 1 ? HOP_VAR : HOP_UNI };
		r.v = hop_e_sop(e, s->sop, s->dtype, hop_e_reg(e, s->a[from])->dtype, lanes,
		                v[0], v[1], v[2]);
	}
	hop_e_set(e, s->dst, r);
}

/* ---- control flow ---- */

static void emit_if(hop_emit *e, const hop_stmt *s)
{
	hop_lbb *then = hop_e_block(e), *other = hop_e_block(e), *join = hop_e_block(e);
	e->L->BuildCondBr(e->b, hop_e_reg(e, s->a[0])->v, then, other);
	hop_e_at(e, then);
	hop_e_block_stmts(e, &s->body);
	e->L->BuildBr(e->b, join);
	hop_e_at(e, other);
	hop_e_block_stmts(e, &s->other);
	e->L->BuildBr(e->b, join);
	hop_e_at(e, join);
}

/* One after the other, so all in the same registers. */
void hop_e_carries(hop_emit *e, const hop_stmt *s)
{
	for (int i = 0; i < s->ncarry; i++) {
		hop_stmt one = { .ncarry = 1, .carry = &s->carry[i] };
		hop_lfunc f = { .nreg = e->xreg - 1 };
		hop_block copy = { 0 };
		hop_lbuild b = { .env = e->env, .a = &e->env->tmp, .f = &f, .block = &copy };
		hop_carry_loops(&b, e->f, &one);
		hop_loop_schedule_block(e->env, e->m, e->f, &copy, e->nest, e->s.outlined);
		hop_e_block_stmts(e, &copy);
	}
}

static void emit_while(hop_emit *e, const hop_stmt *s)
{
	hop_lbb *pre = hop_e_block(e), *head = hop_e_block(e), *body = hop_e_block(e);
	hop_lbb *exit = hop_e_block(e);
	HOP_ASSERT(e->s.depth < HOP_MAXDEPTH);
	e->L->BuildBr(e->b, pre);
	hop_e_at(e, pre);
	e->L->BuildBr(e->b, head);
	e->s.pre[e->s.depth++] = pre;
	hop_e_at(e, head);
	hop_e_poll(e);
	hop_e_block_stmts(e, &s->other);
	e->L->BuildCondBr(e->b, hop_e_reg(e, s->a[0])->v, body, exit);
	hop_e_at(e, body);
	hop_e_block_stmts(e, &s->body);
	hop_e_carries(e, s);
	e->L->BuildBr(e->b, head);
	e->s.depth--;
	hop_e_at(e, exit);
}

/* All ways out meet in one block: a function of a hundred calls would else have a hundred
 * returns, each with the code that leaves a function. */
void hop_e_stop_if(hop_emit *e, hop_lv *st)
{
	hop_lbb *here = e->L->GetInsertBlock(e->b), *go = hop_e_block(e);
	hop_lv *bad = hop_e_icmp(e, LL_NE, st, e->L->ConstInt(e->i32, 0, 0));
	HOP_ASSERT(!e->s.outlined);
	if (!e->s.stop) {
		e->s.stop = hop_e_block(e);
		hop_e_at(e, e->s.stop);
		e->s.status = e->L->BuildPhi(e->b, e->i32, "");
		e->L->BuildRet(e->b, e->s.status);
		hop_e_at(e, here);
	}
	e->L->BuildCondBr(e->b, bad, e->s.stop, go);
	e->L->AddIncoming(e->s.status, &st, &here, 1);
	hop_e_at(e, go);
}

/* The same in a body for rt->parallel, which has no status: who forked looks again. */
static void leave_if(hop_emit *e, hop_lv *flag)
{
	hop_lbb *here = e->L->GetInsertBlock(e->b), *go = hop_e_block(e);
	if (!e->s.stop) {
		e->s.stop = hop_e_block(e);
		hop_e_at(e, e->s.stop);
		e->L->BuildRetVoid(e->b);
		hop_e_at(e, here);
	}
	e->L->BuildCondBr(e->b, hop_e_icmp(e, LL_NE, flag, e->L->ConstInt(e->i32, 0, 0)),
	                  e->s.stop, go);
	hop_e_at(e, go);
}

/* The address of the flag is read once; the flag itself changes behind our back. */
void hop_e_poll(hop_emit *e)
{
	hop_lv *v;
	if (e->nest > e->asks || (e->s.outlined && !e->part.s && !e->asks))
		return;
	if (!e->s.cancel) {
		hop_lbb *back = e->L->GetInsertBlock(e->b);
		e->L->PositionBuilderBefore(e->b, e->L->GetBasicBlockTerminator(e->s.entry));
		e->s.cancel = hop_e_ptr_load(e, e->ptr, e->s.rt, offsetof(hop_rt, cancel));
		hop_e_at(e, back);
	}
	v = e->L->BuildLoad2(e->b, e->i32, e->s.cancel, "");
	e->L->SetVolatile(v, 1);
	if (e->s.outlined)
		leave_if(e, v);
	else
		hop_e_stop_if(e, v);
}

static void emit_grow(hop_emit *e, const hop_stmt *s)
{
	const hop_lbuf *b = &e->f->buf[s->buf];
	hop_lt *t = e->L->FunctionType(e->i32, (hop_lt *[]){ e->ptr, e->i32, e->i64 }, 3, 0);
	hop_lv *bytes = hop_e_bin(e, LL_MUL, hop_e_reg(e, s->a[0])->v,
	                          hop_e_int(e, (int64_t)hop_dtype_bytes(b->dtype)));
	hop_lv *tape = hop_e_ptr_load(e, e->ptr, e->s.rt, offsetof(hop_rt, tape));
	hop_lv *have, *fn, *st;
	hop_lbb *more = hop_e_block(e), *go = hop_e_block(e);
	int64_t at = b->index * (int64_t)sizeof(struct hop_tape);
	have = hop_e_ptr_load(e, e->i64, tape,
	                      at + (int64_t)offsetof(struct hop_tape, bytes));
	e->L->BuildCondBr(e->b, hop_e_icmp(e, LL_SGT, bytes, have), more, go);
	hop_e_at(e, more);
	hop_eline was = hop_e_line_rare(e);
	fn = hop_e_ptr_load(e, e->ptr, e->s.rt, offsetof(hop_rt, grow));
	st = e->L->BuildCall2(e->b, t, fn,
	                      (hop_lv *[]){ e->s.rt,
	                      e->L->ConstInt(e->i32, (unsigned long long)b->index, 0), bytes },
	                      3, "");
	hop_e_stop_if(e, st);
	e->L->BuildBr(e->b, go);
	hop_e_line_back(e, was);
	hop_e_at(e, go);
}

/* All size symbols as an array, those bound while running too. */
static hop_lv *all_symbols(hop_emit *e)
{
	int ns = e->f->nsym + e->f->nlocal;
	hop_lv *syms = e->s.syms;
	if (!e->f->nlocal)
		return syms;
	syms = hop_e_stack(e, e->i64, ns);
	for (int i = 0; i < ns; i++) {
		hop_size z = hop_size_sym(e->env, i);

		hop_e_ptr_store(e, hop_e_size(e, z), syms, 8 * (int64_t)i);
	}
	return syms;
}

/* Usually one comparison; the run time makes the message, and computes what is too large
 * to be computed here. */
static void emit_check(hop_emit *e, const hop_stmt *s)
{
	const hop_lcheck *c = &e->p->check[s->callee];
	hop_lt *t = e->L->FunctionType(e->i32, (hop_lt *[]){ e->ptr, e->i32, e->ptr }, 3, 0);
	hop_lbb *ask = hop_e_block(e), *go = hop_e_block(e);
	hop_lv *fn;
	if (c->wide)
		e->L->BuildBr(e->b, ask);
	else
		e->L->BuildCondBr(e->b, hop_e_icmp(e, c->c.rel == HOP_EQ ? LL_EQ : LL_SLE,
		                                   hop_e_size(e, c->c.a), hop_e_size(e, c->c.b)),
		                  go, ask);
	hop_e_at(e, ask);
	hop_eline was = hop_e_line_rare(e);
	fn = hop_e_ptr_load(e, e->ptr, e->s.rt, offsetof(hop_rt, check));
	hop_e_stop_if(e, e->L->BuildCall2(e->b, t, fn, (hop_lv *[]){ e->s.rt,
	              e->L->ConstInt(e->i32, (unsigned long long)s->callee, 0),
	              all_symbols(e) }, 3, ""));
	e->L->BuildBr(e->b, go);
	hop_e_line_back(e, was);
	hop_e_at(e, go);
}

/* Counts down what may be left out; the last trip of those there are may not. */
static hop_lv *due(hop_emit *e, const hop_stmt *s)
{
	hop_lv *skip = hop_e_ptr_load(e, e->i64, e->s.rt, offsetof(hop_rt, skip)), *last;
	skip = hop_e_bin(e, LL_SUB, skip, hop_e_int(e, 1));
	hop_e_ptr_store(e, skip, e->s.rt, offsetof(hop_rt, skip));
	hop_lv *i = e->L->BuildLoad2(e->b, e->i64, hop_e_addr(e, &s->args[0]).p, "");
	hop_lv *n = e->L->BuildLoad2(e->b, e->i64, hop_e_addr(e, &s->args[1]).p, "");
	last = hop_e_bin(e, LL_AND, hop_e_icmp(e, LL_SGT, n, hop_e_int(e, 0)),
	                 hop_e_icmp(e, LL_SLE, n, hop_e_bin(e, LL_ADD, i, hop_e_int(e, 1))));
	return hop_e_bin(e, LL_OR, last, hop_e_icmp(e, LL_SLT, skip, hop_e_int(e, 0)));
}

static void emit_effect(hop_emit *e, const hop_stmt *s)
{
	hop_lt *t = e->L->FunctionType(e->i32,
	                (hop_lt *[]){ e->ptr, e->i32, e->ptr, e->ptr }, 4, 0);
	bool some = e->p->effect[s->callee].is_progress;
	hop_lbb *tell = some ? hop_e_block(e) : NULL, *go = some ? hop_e_block(e) : NULL;
	if (some) {
		e->L->BuildCondBr(e->b, due(e, s), tell, go);
		hop_e_at(e, tell);
	}
	hop_lv *args = hop_e_args(e, s), *syms = all_symbols(e), *fn;
	fn = hop_e_ptr_load(e, e->ptr, e->s.rt, offsetof(hop_rt, effect));
	hop_e_stop_if(e, e->L->BuildCall2(e->b, t, fn, (hop_lv *[]){ e->s.rt,
	              e->L->ConstInt(e->i32, (unsigned long long)s->callee, 0), args, syms },
	              4, ""));
	if (some) {
		e->L->BuildBr(e->b, go);
		hop_e_at(e, go);
	}
}

/* A nest, or a tile with what is done to its elements. */
static void emit_nest(hop_emit *e, const hop_stmt *s)
{
	bool first = !e->nest_math;
	hop_block *sub[2];
	int n = first ? hop_stmt_blocks((hop_stmt *)s, sub) : 0;
	for (int i = 0; i < n; i++)
		e->nest_math += hop_e_count_math(sub[i]);
	if (s->kind == HOP_L_TILE)
		hop_e_tile(e, s);
	else
		hop_e_loop(e, s);
	if (first)
		e->nest_math = 0;
}

static void emit_stmt(hop_emit *e, const hop_stmt *s)
{
	hop_eline was = hop_e_line(e, s);
	switch (s->kind) {
	case HOP_L_OP:
		hop_e_op(e, s);
		break;
	case HOP_L_LOOP:
		if (s->loop == HOP_LOOP_SEQ)
			hop_e_loop(e, s);
		else
			emit_nest(e, s);
		break;
	case HOP_L_IF:
		emit_if(e, s);
		break;
	case HOP_L_WHILE:
		emit_while(e, s);
		break;
	case HOP_L_TILE:
		emit_nest(e, s);
		break;
	case HOP_L_CALL:
		hop_e_call(e, s);
		break;
	case HOP_L_GROW:
		emit_grow(e, s);
		break;
	case HOP_L_EFFECT:
		emit_effect(e, s);
		break;
	case HOP_L_CHECK:
		emit_check(e, s);
		break;
	case HOP_L_BARRIER:                /* of kernels, which are not for us */
		break;
	}
	hop_e_line_back(e, was);
}

void hop_e_block_stmts(hop_emit *e, const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		if (!e->nest && hop_nest_is_long(s))
			hop_e_poll(e);
		const hop_stmt *last = s->kind == HOP_L_CALL ? hop_e_calls(e, s) : NULL;

		if (last)
			s = last;
		else
			emit_stmt(e, s);
	}
}

/* ---- functions ---- */

static void attribute(hop_emit *e, hop_lv *fn, const char *name, size_t n, int at)
{
	unsigned k = e->L->GetEnumAttributeKindForName(name, n);
	e->L->AddAttributeAtIndex(fn, (unsigned)at, e->L->CreateEnumAttribute(e->cx, k, 0));
}

/* LLVM would otherwise use half registers on machines that have whole ones. */
void hop_e_attributes(hop_emit *e, hop_lv *fn)
{
	char bits[16];
	int n = snprintf(bits, sizeof bits, "%d", e->m->vbits);
	e->L->AddAttributeAtIndex(fn, (unsigned)LL_ATTR_FUNC, e->L->CreateStringAttribute(
	                e->cx, "prefer-vector-width", 19, bits, (unsigned)n));
	e->L->AddAttributeAtIndex(fn, (unsigned)LL_ATTR_FUNC, e->L->CreateStringAttribute(
	                e->cx, "min-legal-vector-width", 22, bits, (unsigned)n));
	attribute(e, fn, "nounwind", 8, LL_ATTR_FUNC);
	if (e->look)                           /* perf goes from frame to frame */
		e->L->AddAttributeAtIndex(fn, (unsigned)LL_ATTR_FUNC, e->L->CreateStringAttribute(
		                e->cx, "frame-pointer", 13, "all", 3));
}

/* The entry block is closed at once: code is inserted before its branch. */
static void open_fn(hop_emit *e, hop_lv *fn, const char *name, hop_loc at)
{
	hop_lbb *body;
	e->s.fn = fn;
	hop_e_debug_fn(e, fn, name, at);
	e->s.entry = hop_e_block(e);
	body = hop_e_block(e);
	hop_e_at(e, e->s.entry);
	e->L->BuildBr(e->b, body);
	hop_e_at(e, body);
	e->s.reg = HOP_NEWN(&e->env->tmp, hop_ev, e->f->nreg + 1);
	e->s.base = HOP_NEWN(&e->env->tmp, hop_lv *, e->f->nbuf);
	e->s.sym = HOP_NEWN(&e->env->tmp, hop_lv *, e->f->nsym);
}

/* What nobody writes while the function runs may be read at any time. */
static void find_readonly(hop_emit *e)
{
	const hop_lfunc *f = e->f;
	for (int i = 0; i < f->nbuf; i++)
		e->readonly[i] = !f->buf[i].is_written && f->buf[i].kind != HOP_BUF_TAPE &&
		                 f->buf[i].kind != HOP_BUF_TEMP;
	for (int i = 0; i < f->nbuf; i++)
		for (int j = 0; f->buf[i].alias && j < f->nbuf; j++)
			if (f->buf[j].kind == HOP_BUF_PARAM && f->buf[j].index == f->buf[i].alias - 1)
				e->readonly[j] = false;
}

static void emit_func(hop_emit *e, int i)
{
	hop_mark m = hop_mark_at(&e->env->tmp);
	e->index = i;
	e->own = e->p->func[i];
	e->xreg = e->own.nreg + 1;
	e->own.nreg += HOP_XREG;
	e->f = &e->own;
	e->s = (hop_efn){ 0 };
	e->cls = HOP_NEWN(&e->env->tmp, uint8_t, e->f->nreg + 1);
	e->readonly = HOP_NEWN(&e->env->tmp, bool, e->f->nbuf);
	e->data = HOP_NEWN(&e->env->tmp, hop_lv *, e->f->nbuf);
	e->lanes = 1;
	e->mask = NULL;
	e->budget = 500;
	find_readonly(e);
	open_fn(e, e->fn[i], hop_e_name(e, i), e->f->body.first ? e->f->body.first->loc : 0);
	e->s.params = e->L->GetParam(e->fn[i], 0);
	e->s.syms = e->L->GetParam(e->fn[i], 1);
	e->s.ws = e->L->GetParam(e->fn[i], 2);
	e->s.rt = e->L->GetParam(e->fn[i], 3);
	hop_e_block_stmts(e, &e->f->body);
	e->L->BuildRet(e->b, e->L->ConstInt(e->i32, 0, 0));
	hop_rewind(&e->env->tmp, m);
}

/* ---- threads ---- */

/* The closure of an outlined body: 4 pointers, the count and the grain, then outer registers. */
enum { AT_PARAMS, AT_SYMS, AT_WS, AT_RT, AT_N, AT_GRAIN, AT_REGS };

static void mark(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	uint8_t *u = user;
	(void)t;
	u[*r] |= def ? 2 : 1;
}

void hop_e_uses(const hop_stmt *s, uint8_t *u)
{
	hop_stmt_regs((hop_stmt *)(uintptr_t)s, mark, u);
}

void hop_e_classify(hop_emit *e, const hop_stmt *s)
{
	hop_mark m = hop_mark_at(&e->env->tmp);
	hop_lanes w = hop_lanes_new(e->env, e->f, e->m->vbits);
	memset(e->cls, HOP_UNI, (size_t)e->f->nreg + 1);
	hop_lanes_loop(&w, s, e->cls);
	hop_rewind(&e->env->tmp, m);
}

static hop_lv *outline(hop_emit *e, const hop_stmt *s, const uint8_t *use, hop_e_piece *body)
{
	hop_efn outer = e->s;
	hop_lbb *back = e->L->GetInsertBlock(e->b), *start;
	hop_lv *fn, *env, *from, *to, *lim, *g;
	char name[160];
	snprintf(name, sizeof name, "piece%d", e->nparallel++);
	if (e->look)
		snprintf(name, sizeof name, "%.120s.piece%d", hop_e_name(e, e->index), e->nparallel - 1);
	fn = e->L->AddFunction(e->mod, name, e->body_type);
	e->L->SetLinkage(fn, LL_INTERNAL);
	hop_e_attributes(e, fn);
	e->s = (hop_efn){ .outlined = true };
	open_fn(e, fn, name, s->loc);
	start = e->L->GetInsertBlock(e->b);
	e->L->PositionBuilderBefore(e->b, e->L->GetBasicBlockTerminator(e->s.entry));
	env = e->L->GetParam(fn, 0);
	e->s.params = hop_e_ptr_load(e, e->ptr, env, 8 * AT_PARAMS);
	e->s.syms = hop_e_ptr_load(e, e->ptr, env, 8 * AT_SYMS);
	e->s.ws = hop_e_ptr_load(e, e->ptr, env, 8 * AT_WS);
	e->s.rt = hop_e_ptr_load(e, e->ptr, env, 8 * AT_RT);
	lim = hop_e_ptr_load(e, e->i64, env, 8 * AT_N);
	g = hop_e_ptr_load(e, e->i64, env, 8 * AT_GRAIN);
	for (int i = 1, k = AT_REGS; i <= e->f->nreg; i++) {
		hop_ev v = outer.reg[i];

		if (use[i] != 1)
			continue;
		v.v = hop_e_ptr_load(e, hop_e_mem(e, v.dtype, 1), env, 8 * (int64_t)k++);
		v.v = hop_e_to_reg(e, v.dtype, v.v, 1);
		v.depth = 0;
		e->s.reg[i] = v;
	}
	from = hop_e_bin(e, LL_MUL, e->L->GetParam(fn, 1), g);
	to = hop_e_bin(e, LL_MUL, e->L->GetParam(fn, 2), g);
	to = hop_e_sel(e, hop_e_icmp(e, LL_SLT, to, lim), to, lim);
	hop_e_at(e, start);
	hop_e_debug_piece(e, outer.shown, s);
	body(e, s, from, to);
	e->L->BuildRetVoid(e->b);
	e->s = outer;
	hop_e_at(e, back);
	return fn;
}

void hop_e_parallel(hop_emit *e, const hop_stmt *s, hop_lv *n, hop_lv *grain,
                    hop_lv *enough, hop_e_piece *body, hop_reg also)
{
	uint8_t *use = HOP_NEWN(&e->env->tmp, uint8_t, e->f->nreg + 1);
	hop_lv *fn, *env, *blocks, *hook, *many;
	hop_lbb *fork = hop_e_block(e), *serial = hop_e_block(e), *join = hop_e_block(e);
	hop_lt *ht = e->L->FunctionType(e->vd,
	               (hop_lt *[]){ e->ptr, e->ptr, e->ptr, e->i64 }, 4, 0);
	int k = AT_REGS;
	hop_e_uses(s, use);
	use[also] = 1;
	use[0] = 0;
	fn = outline(e, s, use, body);
	for (int i = 1; i <= e->f->nreg; i++)
		k += use[i] == 1;
	env = hop_e_stack(e, e->i64, k);
	hop_e_ptr_store(e, e->s.params, env, 8 * AT_PARAMS);
	hop_e_ptr_store(e, e->s.syms, env, 8 * AT_SYMS);
	hop_e_ptr_store(e, e->s.ws, env, 8 * AT_WS);
	hop_e_ptr_store(e, e->s.rt, env, 8 * AT_RT);
	hop_e_ptr_store(e, n, env, 8 * AT_N);
	hop_e_ptr_store(e, grain, env, 8 * AT_GRAIN);
	k = AT_REGS;
	for (int i = 1; i <= e->f->nreg; i++) {
		const hop_ev *v = &e->s.reg[i];

		if (use[i] == 1)
			hop_e_ptr_store(e, hop_e_to_mem(e, v->dtype, v->v, 1), env,
			                8 * (int64_t)k++);
	}
	blocks = hop_e_bin(e, LL_ADD, n, hop_e_bin(e, LL_SUB, grain, hop_e_int(e, 1)));
	blocks = hop_e_bin(e, LL_SDIV, blocks, grain);
	many = hop_e_ptr_load(e, e->i32, e->s.rt, offsetof(hop_rt, nthread));
	many = hop_e_icmp(e, LL_SGT, many, e->L->ConstInt(e->i32, 1, 0));
	e->L->BuildCondBr(e->b, hop_e_bin(e, LL_AND, many, enough), fork, serial);
	hop_e_at(e, fork);
	hook = hop_e_ptr_load(e, e->ptr, e->s.rt, offsetof(hop_rt, parallel));
	e->L->BuildCall2(e->b, ht, hook, (hop_lv *[]){ e->s.rt, fn, env, blocks }, 4, "");
	e->L->BuildBr(e->b, join);
	hop_e_at(e, serial);
	e->L->BuildCall2(e->b, e->body_type, fn,
	                 (hop_lv *[]){ env, hop_e_int(e, 0), blocks }, 3, "");
	e->L->BuildBr(e->b, join);
	hop_e_at(e, join);
}

/* ---- the module ---- */

void hop_emit_prog(hop_emit *e, const char *entry)
{
	const hop_llvm *L = e->L;
	e->i1 = L->IntTypeInContext(e->cx, 1);
	e->i8 = L->IntTypeInContext(e->cx, 8);
	e->i16 = L->IntTypeInContext(e->cx, 16);
	e->i32 = L->IntTypeInContext(e->cx, 32);
	e->i64 = L->IntTypeInContext(e->cx, 64);
	e->f32 = L->FloatTypeInContext(e->cx);
	e->f64 = L->DoubleTypeInContext(e->cx);
	e->ptr = L->PointerTypeInContext(e->cx, 0);
	e->vd = L->VoidTypeInContext(e->cx);
	e->entry_type = L->FunctionType(e->i32,
	                (hop_lt *[]){ e->ptr, e->ptr, e->ptr, e->ptr }, 4, 0);
	e->body_type = L->FunctionType(e->vd, (hop_lt *[]){ e->ptr, e->i64, e->i64 }, 3, 0);
	e->md_invariant = L->GetMDKindIDInContext(e->cx, "invariant.load", 14);
	e->md_empty = L->MDNodeInContext(e->cx, NULL, 0);
	e->fn = HOP_NEWN(&e->env->tmp, hop_lv *, e->p->nfunc);
	for (int i = 0; i < e->p->nfunc; i++) {
		char name[32];

		snprintf(name, sizeof name, "f%d", i);
		e->fn[i] = L->AddFunction(e->mod, e->look ? hop_e_name(e, i) : i ? name : entry,
		                          e->entry_type);
		if (i && e->split->n == 1)
			L->SetLinkage(e->fn[i], LL_INTERNAL);
		hop_e_attributes(e, e->fn[i]);
		for (int k = 1; k <= 4; k++)
			attribute(e, e->fn[i], "noalias", 7, k);
	}
	hop_e_debug_open(e);
	for (int i = 0; i < e->p->nfunc; i++)
		if (e->split->part[i] == e->which)
			emit_func(e, i);
	hop_e_debug_close(e);
	if (e->look && e->split->part[0] == e->which)
		L->AddAlias2(e->mod, e->entry_type, 0, e->fn[0], entry);
}
