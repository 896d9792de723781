/* tiles.c -- templates as loops, for targets. Knows no template. */
#include "target/tiles.h"

#include "loop/walk.h"

bool hop_tile_expand(hop_env *e, const hop_tile *t, int nreg, hop_block *out)
{
	hop_lfunc f = { .nreg = nreg };
	hop_lbuild b = { .env = e, .a = &e->tmp, .f = &f, .block = out };
	*out = (hop_block){ 0 };
	if (!t->of->expand(&b, t))
		return false;
	HOP_ASSERT(f.nreg - nreg <= t->of->nreg);
	return true;
}

static hop_status check_block(hop_env *e, const hop_block *b, const char *target,
                              hop_tile_known *known)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2], own;
		int k = hop_stmt_blocks((hop_stmt *)(uintptr_t)s, sub);
		if (s->kind == HOP_L_TILE && !known(s->tile->of) && !hop_tile_expand(e, s->tile, 0, &own))
			return hop_fail(e, s->loc, HOP_ETARGET, "%s: no code for the template %s", target,
			                s->tile->of->name);
		for (int i = 0; i < k; i++)
			HOP_TRY(check_block(e, sub[i], target, known));
	}
	return HOP_OK;
}

hop_status hop_tiles_check(hop_env *e, const hop_prog *p, const char *target, hop_tile_known *known)
{
	hop_mark m = hop_mark_at(&e->tmp);
	hop_status st = HOP_OK;
	for (int i = 0; i < p->nfunc && !st; i++)
		st = check_block(e, &p->func[i].body, target, known);
	hop_rewind(&e->tmp, m);
	return st;
}
