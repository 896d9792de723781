/* tiles.c -- which function compiles a tile, by its template. A template that is not in the
 * table is compiled as the loops that it stands for. Emits nothing itself. */
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

static hop_stmt *loops(hop_env *e, const hop_tile *t, hop_reg first)
{
	HOP_ASSERT(t->of->nreg < HOP_XREG);
	return t->of->expand(&e->tmp, t, first);
}

bool hop_e_tile_loops(hop_emit *e, const hop_stmt *s)
{
	const hop_stmt *nest = loops(e->env, s->tile, e->xreg);
	if (nest)
		hop_e_loop(e, nest);
	return nest;
}

void hop_e_tile(hop_emit *e, const hop_stmt *s)
{
	hop_e_template *emit = find(s->tile->of);
	if (emit)
		emit(e, s);
	else
		HOP_ASSERT(hop_e_tile_loops(e, s));
}

static hop_status check_block(hop_env *e, const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks((hop_stmt *)s, sub);
		if (s->kind == HOP_L_TILE && !find(s->tile->of) && !loops(e, s->tile, 1))
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
