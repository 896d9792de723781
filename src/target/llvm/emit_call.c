/* emit_call.c -- calls between the functions of a program. A function that mostly calls
 * others (a network of many equal layers) has hundreds of operands, and code that gathers
 * their addresses would cost more to compile than the layers; so where operands are known
 * beforehand their places are data, and a helper in the module makes the pointers. Where
 * many such calls follow each other they are data too. Does not inline anything. */
#include "target/llvm/emit.h"

enum { SHARED = 64 };                /* operands that the array of all calls has room for */

hop_lv *hop_e_stack(hop_emit *e, hop_lt *t, int n)
{
	hop_lbb *back = e->L->GetInsertBlock(e->b);
	hop_lv *v;
	e->L->PositionBuilderBefore(e->b, e->L->GetBasicBlockTerminator(e->s.entry));
	v = e->L->BuildAlloca(e->b, e->L->ArrayType2(t, (uint64_t)(n ? n : 1)), "");
	e->L->SetAlignment(v, 64);
	hop_e_at(e, back);
	return v;
}

/* Calls come one after another, so they share one array. */
static hop_lv *args_array(hop_emit *e, int n)
{
	if (n > SHARED)
		return hop_e_stack(e, e->ptr, n);
	if (!e->s.args)
		e->s.args = hop_e_stack(e, e->ptr, SHARED);
	return e->s.args;
}

hop_lv *hop_e_args(hop_emit *e, const hop_stmt *s)
{
	hop_lv *a = args_array(e, s->narg);
	for (int i = 0; i < s->narg; i++)
		hop_e_ptr_store(e, hop_e_addr(e, &s->args[i]).p, a, 8 * (int64_t)i);
	return a;
}

/* ---- operands as data ---- */

/* Where an operand is: in parameter `index`, or in the workspace (-1); bytes from there. */
static bool place_of(const hop_emit *e, const hop_addr *a, int64_t *index, int64_t *bytes)
{
	const hop_lbuf *b = &e->f->buf[a->buf];
	if (a->nterm || !hop_size_const(a->offset))
		return false;
	*bytes = a->offset.k * (int64_t)hop_dtype_bytes(b->dtype);
	bool in_frame = b->kind == HOP_BUF_TEMP && b->space == HOP_SPACE_FRAME;
	*index = in_frame ? -1 : b->index;
	if (b->kind == HOP_BUF_TEMP && hop_size_const(b->offset))
		*bytes += b->offset.k;
	else if (b->kind != HOP_BUF_PARAM)
		return false;
	return true;
}

static hop_lv *constant(hop_emit *e, hop_lv *c)
{
	hop_lv *g = e->L->AddGlobal(e->mod, e->L->TypeOf(c), "");
	e->L->SetInitializer(g, c);
	e->L->SetGlobalConstant(g, 1);
	e->L->SetLinkage(g, LL_PRIVATE);
	e->L->SetAlignment(g, 64);
	return g;
}

static hop_lv *numbers(hop_emit *e, const int64_t *v, int n)
{
	return constant(e, e->L->ConstStringInContext2(e->cx, (const char *)v, 8 * (size_t)n, 1));
}

/* The places of all operands as a constant of the module, or NULL. */
static hop_lv *places(hop_emit *e, const hop_stmt *s)
{
	int64_t *d = HOP_NEWN(&e->env->tmp, int64_t, 2 * s->narg);
	for (int i = 0; i < s->narg; i++)
		if (!place_of(e, &s->args[i], &d[2 * i], &d[2 * i + 1]))
			return NULL;
	return numbers(e, d, 2 * s->narg);
}

static hop_lv *at(hop_emit *e, hop_lv *p, hop_lv *i)
{
	return e->L->BuildGEP2(e->b, e->i64, p, &i, 1, "");
}

/* bind(params, workspace, places, n, out): out[i] = base of place i + its bytes. n > 0. */
static void emit_bind(hop_emit *e)
{
	hop_efn outer = e->s;
	hop_lbb *back = e->L->GetInsertBlock(e->b), *top, *end;
	hop_lt *t = e->L->FunctionType(e->vd, (hop_lt *[]){ e->ptr, e->ptr, e->ptr, e->i64,
	                                                    e->ptr }, 5, 0);
	hop_lv *i, *k, *from, *base, *isws, *p, *next, *one = hop_e_int(e, 1);
	e->bind = e->L->AddFunction(e->mod, "bind", t);
	e->L->SetLinkage(e->bind, LL_INTERNAL);
	e->s = (hop_efn){ .fn = e->bind };
	e->s.entry = hop_e_block(e);
	top = hop_e_block(e);
	end = hop_e_block(e);
	hop_e_at(e, e->s.entry);
	e->L->BuildBr(e->b, top);
	hop_e_at(e, top);
	i = e->L->BuildPhi(e->b, e->i64, "");
	k = hop_e_bin(e, LL_ADD, i, i);
	from = e->L->BuildLoad2(e->b, e->i64, at(e, e->L->GetParam(e->bind, 2), k), "");
	isws = hop_e_icmp(e, LL_SLT, from, hop_e_int(e, 0));
	from = hop_e_sel(e, isws, hop_e_int(e, 0), from);
	base = e->L->BuildLoad2(e->b, e->ptr, at(e, e->L->GetParam(e->bind, 0), from), "");
	base = hop_e_sel(e, isws, e->L->GetParam(e->bind, 1), base);
	k = hop_e_bin(e, LL_ADD, k, one);
	p = e->L->BuildLoad2(e->b, e->i64, at(e, e->L->GetParam(e->bind, 2), k), "");
	p = e->L->BuildGEP2(e->b, e->i8, base, &p, 1, "");
	e->L->BuildStore(e->b, p, at(e, e->L->GetParam(e->bind, 4), i));
	next = hop_e_bin(e, LL_ADD, i, one);
	e->L->AddIncoming(i, (hop_lv *[]){ hop_e_int(e, 0), next },
	                  (hop_lbb *[]){ e->s.entry, top }, 2);
	e->L->BuildCondBr(e->b, hop_e_icmp(e, LL_SLT, next, e->L->GetParam(e->bind, 3)), top,
	                  end);
	hop_e_at(e, end);
	e->L->BuildRetVoid(e->b);
	e->s = outer;
	hop_e_at(e, back);
}

static void bind(hop_emit *e, hop_lv *params, hop_lv *ws, hop_lv *place, hop_lv *n,
                 hop_lv *out)
{
	if (!e->bind)
		emit_bind(e);
	e->L->BuildCall2(e->b, e->L->GlobalGetValueType(e->bind), e->bind,
	                 (hop_lv *[]){ params, ws, place, n, out }, 5, "");
}

static hop_lv *bound_args(hop_emit *e, const hop_stmt *s)
{
	enum { WORTH = 8 };                  /* fewer operands are cheaper as code */
	hop_lv *d = s->narg < WORTH ? NULL : places(e, s), *a;

	if (!d)
		return hop_e_args(e, s);
	a = args_array(e, s->narg);
	bind(e, e->s.params, e->s.ws, d, hop_e_int(e, s->narg), a);
	return a;
}

static void call_part(hop_emit *e, const hop_stmt *s)
{
	hop_e_stop_if(e, e->L->BuildCall2(e->b, e->entry_type, e->fn[s->callee],
	              (hop_lv *[]){ e->s.params, e->s.syms, e->s.ws, e->s.rt }, 4, ""));
}

void hop_e_call(hop_emit *e, const hop_stmt *s)
{
	if (s->is_part) {
		call_part(e, s);
		return;
	}
	hop_lv *args = bound_args(e, s), *sizes = e->L->ConstNull(e->ptr);
	hop_lv *frame = hop_e_size(e, s->frame);

	if (s->nsize)
		sizes = hop_e_stack(e, e->i64, s->nsize);
	for (int i = 0; i < s->nsize; i++)
		hop_e_ptr_store(e, hop_e_size(e, s->sizes[i]), sizes, 8 * (int64_t)i);
	frame = e->L->BuildGEP2(e->b, e->i8, e->s.ws, &frame, 1, "");
	hop_e_stop_if(e, e->L->BuildCall2(e->b, e->entry_type, e->fn[s->callee],
	                                  (hop_lv *[]){ args, sizes, frame, e->s.rt }, 4, ""));
}

/* ---- calls as data ---- */

static bool is_plain(const hop_emit *e, const hop_stmt *s)
{
	int64_t index, bytes;
	if (s->kind != HOP_L_CALL || s->nsize || !hop_size_const(s->frame) || s->narg < 1 ||
	    s->narg > SHARED)
		return false;
	for (int i = 0; i < s->narg; i++)
		if (!place_of(e, &s->args[i], &index, &bytes))
			return false;
	return true;
}

static hop_lv *load_at(hop_emit *e, hop_lt *t, hop_lv *p, hop_lv *i)
{
	return e->L->BuildLoad2(e->b, t, at(e, p, i), "");
}

/* calls(params, workspace, rt, pointers, numbers, n): call i is of function pointers[2i]
 * with operands at the places pointers[2i+1], numbers[2i] of them, its frame at byte
 * numbers[2i+1]. Gives the first status that is not 0. n > 0. */
static void emit_calls(hop_emit *e)
{
	hop_efn outer = e->s;
	hop_lbb *back = e->L->GetInsertBlock(e->b), *top, *end;
	hop_lt *t = e->L->FunctionType(e->i32, (hop_lt *[]){ e->ptr, e->ptr, e->ptr, e->ptr,
	                                                     e->ptr, e->i64 }, 6, 0);
	hop_lv *p[6], *i, *k, *k1, *next, *args, *frame, *st, *stop, *one = hop_e_int(e, 1);
	e->calls = e->L->AddFunction(e->mod, "calls", t);
	e->L->SetLinkage(e->calls, LL_INTERNAL);
	for (unsigned j = 0; j < 6; j++)
		p[j] = e->L->GetParam(e->calls, j);
	e->s = (hop_efn){ .fn = e->calls };
	e->s.entry = hop_e_block(e);
	top = hop_e_block(e);
	end = hop_e_block(e);
	hop_e_at(e, e->s.entry);
	e->L->BuildBr(e->b, top);
	args = hop_e_stack(e, e->ptr, SHARED);
	hop_e_at(e, top);
	i = e->L->BuildPhi(e->b, e->i64, "");
	k = hop_e_bin(e, LL_ADD, i, i);
	k1 = hop_e_bin(e, LL_ADD, k, one);
	bind(e, p[0], p[1], load_at(e, e->ptr, p[3], k1), load_at(e, e->i64, p[4], k), args);
	frame = load_at(e, e->i64, p[4], k1);
	frame = e->L->BuildGEP2(e->b, e->i8, p[1], &frame, 1, "");
	st = e->L->BuildCall2(e->b, e->entry_type, load_at(e, e->ptr, p[3], k),
	                      (hop_lv *[]){ args, e->L->ConstNull(e->ptr), frame, p[2] }, 4, "");
	next = hop_e_bin(e, LL_ADD, i, one);
	e->L->AddIncoming(i, (hop_lv *[]){ hop_e_int(e, 0), next },
	                  (hop_lbb *[]){ e->s.entry, top }, 2);
	stop = hop_e_icmp(e, LL_NE, st, e->L->ConstInt(e->i32, 0, 0));
	stop = hop_e_bin(e, LL_OR, stop, hop_e_icmp(e, LL_SGE, next, p[5]));
	e->L->BuildCondBr(e->b, stop, end, top);
	hop_e_at(e, end);
	e->L->BuildRet(e->b, st);
	e->s = outer;
	hop_e_at(e, back);
}

const hop_stmt *hop_e_calls(hop_emit *e, const hop_stmt *s)
{
	enum { WORTH = 4 };                  /* so many in a row */
	const hop_stmt *last = NULL;
	hop_lv **ptr;
	int64_t *num;
	int n = 0;

	for (const hop_stmt *c = s; c && is_plain(e, c); c = c->next, n++)
		last = c;
	if (n < WORTH)
		return NULL;
	ptr = HOP_NEWN(&e->env->tmp, hop_lv *, 2 * n);
	num = HOP_NEWN(&e->env->tmp, int64_t, 2 * n);
	for (int i = 0; i < n; i++, s = s->next) {
		ptr[2 * i] = e->fn[s->callee];
		ptr[2 * i + 1] = places(e, s);
		num[2 * i] = s->narg;
		num[2 * i + 1] = s->frame.k;
	}
	if (!e->calls)
		emit_calls(e);
	hop_e_stop_if(e, e->L->BuildCall2(e->b, e->L->GlobalGetValueType(e->calls), e->calls,
	              (hop_lv *[]){ e->s.params, e->s.ws, e->s.rt,
	              constant(e, e->L->ConstArray2(e->ptr, ptr, 2 * (uint64_t)n)),
	              numbers(e, num, 2 * n), hop_e_int(e, n) }, 6, ""));
	return last;
}
