/* tiles.c -- which function compiles a tile, by its template. A template that is not in the
 * table is a call of the run time's library where there is one, and the loops that it stands
 * for. Knows no template. */
#include <stddef.h>

#include "target/abi.h"
#include "target/llvm/emit.h"
#include "target/tiles.h"

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

bool hop_e_tile_loops(hop_emit *e, const hop_stmt *s)
{
	hop_block b;
	HOP_ASSERT(s->tile->of->nreg < HOP_XREG);
	if (!hop_tile_expand(e->env, s->tile, e->xreg - 1, &b))
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

static bool known(const hop_template *of)
{
	return find(of) != NULL;
}

hop_status hop_e_check_tiles(hop_env *e, const hop_prog *p)
{
	return hop_tiles_check(e, p, "llvm", known);
}
