/* emit_call.c -- calls between the functions of a program. A function that mostly calls
 * others (a network of many equal layers) has hundreds of operands, and code that gathers
 * their addresses would cost more to compile than the layers; so where operands are known
 * beforehand their places are data, and a helper in the module makes the pointers. */
#include "target/llvm/emit.h"

hop_lv *hop_e_stack(hop_emit *e, hop_lt *t, int n)
{
	hop_lbb *back = e->L->GetInsertBlock(e->b);
	hop_lv  *v;

	e->L->PositionBuilderBefore(e->b, e->L->GetBasicBlockTerminator(e->s.entry));
	v = e->L->BuildAlloca(e->b, e->L->ArrayType2(t, (uint64_t)(n ? n : 1)), "");
	e->L->SetAlignment(v, 64);
	hop_e_at(e, back);
	return v;
}

/* Calls come one after another, so they share one array. */
static hop_lv *args_array(hop_emit *e, int n)
{
	enum { SHARED = 64 };

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
	*index = b->kind == HOP_BUF_PARAM ? b->index : -1;
	if (b->kind == HOP_BUF_TEMP && hop_size_const(b->offset))
		*bytes += b->offset.k;
	else if (b->kind != HOP_BUF_PARAM)
		return false;
	return true;
}

/* The places of all operands as a constant of the module, or NULL. */
static hop_lv *places(hop_emit *e, const hop_stmt *s)
{
	int64_t *d = HOP_NEWN(&e->env->tmp, int64_t, 2 * s->narg);
	hop_lv  *c, *g;

	for (int i = 0; i < s->narg; i++)
		if (!place_of(e, &s->args[i], &d[2 * i], &d[2 * i + 1]))
			return NULL;
	c = e->L->ConstStringInContext2(e->cx, (const char *)d, 16 * (size_t)s->narg, 1);
	g = e->L->AddGlobal(e->mod, e->L->TypeOf(c), "");
	e->L->SetInitializer(g, c);
	e->L->SetGlobalConstant(g, 1);
	e->L->SetLinkage(g, LL_PRIVATE);
	e->L->SetAlignment(g, 64);
	return g;
}

static hop_lv *at(hop_emit *e, hop_lv *p, hop_lv *i)
{
	return e->L->BuildGEP2(e->b, e->i64, p, &i, 1, "");
}

/* bind(params, workspace, places, n, out): out[i] = base of place i + its bytes. n > 0. */
static void emit_bind(hop_emit *e)
{
	hop_efn  outer = e->s;
	hop_lbb *back = e->L->GetInsertBlock(e->b), *top, *end;
	hop_lt  *t = e->L->FunctionType(e->vd, (hop_lt *[]){ e->ptr, e->ptr, e->ptr, e->i64,
	                                                     e->ptr }, 5, 0);
	hop_lv  *i, *k, *from, *base, *isws, *p, *next, *one = hop_e_int(e, 1);

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

static hop_lv *bound_args(hop_emit *e, const hop_stmt *s)
{
	enum { WORTH = 8 };                  /* fewer operands are cheaper as code */
	hop_lv *d = s->narg < WORTH ? NULL : places(e, s), *a;

	if (!d)
		return hop_e_args(e, s);
	if (!e->bind)
		emit_bind(e);
	a = args_array(e, s->narg);
	e->L->BuildCall2(e->b, e->L->GlobalGetValueType(e->bind), e->bind,
	                 (hop_lv *[]){ e->s.params, e->s.ws, d, hop_e_int(e, s->narg), a }, 5,
	                 "");
	return a;
}

void hop_e_call(hop_emit *e, const hop_stmt *s)
{
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
