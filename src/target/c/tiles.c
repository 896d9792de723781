/* tiles.c -- which function writes a tile, by its template. A template that is not in the table is a
 * call of the run time's library where there is one, and the loops that it stands for. Knows no
 * template. */
#include "target/c/emit.h"
#include "target/tiles.h"

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

/* In braces: the next tile has the same registers. */
bool hop_c_tile_loops(hop_cemit *e, const hop_stmt *s)
{
	hop_block b;
	HOP_ASSERT(s->tile->of->nreg <= HOP_C_OWN);
	if (!hop_tile_expand(e->env, s->tile, e->f->nreg, &b))
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

static bool known(const hop_template *of)
{
	return find(of) != NULL;
}

hop_status hop_c_check_tiles(hop_env *e, const hop_prog *p)
{
	return hop_tiles_check(e, p, "c", known);
}
