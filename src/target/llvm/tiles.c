/* tiles.c -- which function compiles a tile, by its template. A template that is not in the
 * table is a call of the run time's library where there is one, and the loops that it stands
 * for. Knows no template. */
#include <stddef.h>

#include "target/abi.h"
#include "target/llvm/emit.h"

static const struct known {
	const hop_template *of;
	hop_e_template     *emit;
} table[] = {
	{ &hop_template_gemm, hop_e_gemm },
};

static hop_e_template *find(const hop_template *of)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].of == of)
			return table[i].emit;
	return NULL;
}

/* Its loops, out of the registers behind the first nreg. */
static bool loops(hop_env *e, const hop_tile *t, int nreg, hop_block *out)
{
	hop_lfunc f = { .nreg = nreg };
	hop_lbuild b = { .env = e, .a = &e->tmp, .f = &f, .block = out };
	HOP_ASSERT(t->of->nreg < HOP_XREG);
	*out = (hop_block){ 0 };
	return t->of->expand(&b, t);
}

bool hop_e_tile_loops(hop_emit *e, const hop_stmt *s)
{
	hop_block b;
	if (!loops(e->env, s->tile, e->xreg - 1, &b))
		return false;
	hop_loop_schedule_block(e->env, e->m, e->f, &b, e->nest, e->s.outlined);
	hop_e_block_stmts(e, &b);
	return true;
}

/* Pointers of the operands and the extents, in one piece of the stack each. */
static hop_lv *pointers(hop_emit *e, const hop_tile *t)
{
	hop_lv *p = hop_e_stack(e, e->ptr, t->of->narg);
	for (int i = 0; i < t->of->narg; i++)
		hop_e_ptr_store(e, hop_e_addr(e, &t->arg[i].at).p, p, 8 * (int64_t)i);
	return p;
}

static hop_lv *extents(hop_emit *e, const hop_tile *t)
{
	hop_lv *p = hop_e_stack(e, e->i64, t->of->nextent);
	for (int i = 0; i < t->of->nextent; i++)
		hop_e_ptr_store(e, hop_e_size(e, t->extent[i]), p, 8 * (int64_t)i);
	return p;
}

/* The run time is asked first; what it has no library for is done here. */
static void by_library(hop_emit *e, const hop_stmt *s)
{
	const hop_tile *t = s->tile;
	hop_lt *ft = e->L->FunctionType(e->i32,
	                 (hop_lt *[]){ e->ptr, e->i32, e->i32, e->ptr, e->ptr }, 5, 0);
	hop_lv *fn = hop_e_ptr_load(e, e->ptr, e->s.rt, offsetof(hop_rt, library)), *done;
	hop_lbb *ask = hop_e_block(e), *own = hop_e_block(e), *join = hop_e_block(e);
	e->L->BuildCondBr(e->b, hop_e_icmp(e, LL_NE, fn, e->L->ConstNull(e->ptr)), ask, own);
	hop_e_at(e, ask);
	done = e->L->BuildCall2(e->b, ft, fn, (hop_lv *[]){ e->s.rt,
	           e->L->ConstInt(e->i32, (unsigned long long)t->of->library, 0),
	           e->L->ConstInt(e->i32, (unsigned long long)t->dtype, 0),
	           pointers(e, t), extents(e, t) }, 5, "");
	e->L->BuildCondBr(e->b, hop_e_icmp(e, LL_NE, done, e->L->ConstInt(e->i32, 0, 0)), join,
	                  own);
	hop_e_at(e, own);
	HOP_ASSERT(hop_e_tile_loops(e, s));
	e->L->BuildBr(e->b, join);
	hop_e_at(e, join);
}

void hop_e_tile(hop_emit *e, const hop_stmt *s)
{
	hop_e_template *emit = find(s->tile->of);
	if (emit)
		emit(e, s);
	else if (s->tile->of->library)
		by_library(e, s);
	else
		HOP_ASSERT(hop_e_tile_loops(e, s));
}

static hop_status check_block(hop_env *e, const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2], own;
		int k = hop_stmt_blocks((hop_stmt *)s, sub);
		if (s->kind == HOP_L_TILE && !find(s->tile->of) && !loops(e, s->tile, 0, &own))
			return hop_fail(e, s->loc, HOP_ETARGET, "llvm: no code for the template %s",
			                s->tile->of->name);
		for (int i = 0; i < k; i++)
			HOP_TRY(check_block(e, sub[i]));
	}
	return HOP_OK;
}

hop_status hop_e_check_tiles(hop_env *e, const hop_prog *p)
{
	hop_mark m = hop_mark_at(&e->tmp);
	hop_status st = HOP_OK;
	for (int i = 0; i < p->nfunc && !st; i++)
		st = check_block(e, &p->func[i].body);
	hop_rewind(&e->tmp, m);
	return st;
}
