/* tiles.c -- which function writes a tile, by its template. A template that is not in the table is a
 * call of the run time's library where there is one, and the loops that it stands for. Knows no
 * template. */
#include "target/c/emit.h"

static const struct known {
	const hop_template *of;
	void              (*emit)(hop_cemit *e, const hop_stmt *s);
} table[] = {
	{ &hop_template_gemm, hop_c_gemm },
};
enum { NKNOWN = sizeof table / sizeof *table };

static const struct known *find(const hop_template *of)
{
	for (int i = 0; i < NKNOWN; i++)
		if (table[i].of == of)
			return &table[i];
	return NULL;
}

/* Its loops, out of the registers behind the first nreg. */
static bool loops(hop_env *e, const hop_tile *t, int nreg, hop_block *out)
{
	hop_lfunc  f = { .nreg = nreg };
	hop_lbuild b = { .env = e, .a = &e->tmp, .f = &f, .block = out };
	HOP_ASSERT(t->of->nreg <= HOP_C_OWN);
	*out = (hop_block){ 0 };
	return t->of->expand(&b, t);
}

/* In braces: the next tile has the same registers. */
bool hop_c_tile_loops(hop_cemit *e, const hop_stmt *s)
{
	hop_block b;
	if (!loops(e->env, s->tile, e->f->nreg, &b))
		return false;
	hop_c_live_own(e, &b);
	hop_c_brace(e);
	hop_c_block(e, &b);
	hop_c_close(e);
	return true;
}

/* The run time is asked first; what it has no library for is done here. */
static void by_library(hop_cemit *e, const hop_stmt *s)
{
	const hop_tile *t = s->tile;
	e->rt = true;
	hop_c_brace(e);
	hop_c_line(e, "void *const a[%d] = {", t->of->narg);
	for (int i = 0; i < t->of->narg; i++)
		hop_c_line(e, "\t%s,", hop_c_ptr(e, &t->arg[i].at));
	hop_c_line(e, "};");
	hop_c_line(e, "const int64_t z[%d] = {", t->of->nextent);
	for (int i = 0; i < t->of->nextent; i++)
		hop_c_line(e, "\t%s,", hop_c_size(e, t->extent[i]));
	hop_c_line(e, "};");
	hop_c_open(e, "if (!rt->library || !rt->library(rt, %d, %d, a, z))", t->of->library, t->dtype);
	HOP_ASSERT(hop_c_tile_loops(e, s));
	hop_c_close(e);
	hop_c_close(e);
}

void hop_c_tile(hop_cemit *e, const hop_stmt *s)
{
	const struct known *k = find(s->tile->of);
	if (k)
		k->emit(e, s);
	else if (s->tile->of->library)
		by_library(e, s);
	else
		HOP_ASSERT(hop_c_tile_loops(e, s));
}

static hop_status check_block(hop_env *e, const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2], own;
		int        k = hop_stmt_blocks((hop_stmt *)(uintptr_t)s, sub);
		if (s->kind == HOP_L_TILE && !find(s->tile->of) && !loops(e, s->tile, 0, &own))
			return hop_fail(e, s->loc, HOP_ETARGET, "c: no code for the template %s",
			                s->tile->of->name);
		for (int i = 0; i < k; i++)
			HOP_TRY(check_block(e, sub[i]));
	}
	return HOP_OK;
}

hop_status hop_c_check_tiles(hop_env *e, const hop_prog *p)
{
	hop_mark   m = hop_mark_at(&e->tmp);
	hop_status st = HOP_OK;
	for (int i = 0; i < p->nfunc && !st; i++)
		st = check_block(e, &p->func[i].body);
	hop_rewind(&e->tmp, m);
	return st;
}
