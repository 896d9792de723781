/* kernel.c -- kernels of users in programs ahead of time: calls of their functions, by the names that
 * linkers know; and their source, where the rest is C too. Functions of the host that are no kernels
 * are refused by name: they take records that only hop has. */
#include "aot/aot.h"

#include <string.h>

#include "data/kernel.h"

static const char *symbol(const hop_user_kernel *k)
{
	return k->symbol ? k->symbol : k->name;
}

static hop_status may_call(const hop_aot *a, const hop_leffect *f)
{
	const hop_user_kernel *k = f->foreign->kernel;
	if (!k)
		return hop_fail(a->env, f->loc, HOP_EREFUSED, "build: the program calls `%s` of the host, which "
		                "is not there when the program runs elsewhere: make it a kernel with a symbol",
		                f->foreign->name);
	if (k->symbol || (k->c && a->in_c))
		return HOP_OK;
	return hop_fail(a->env, f->loc, HOP_EREFUSED, "build: kernel `%s` %s", k->name,
	                k->c ? "is C source, which goes into C: build with target c, or give it a "
	                       "symbol and link it"
	                     : "has no symbol by which a linker could find it: give it one");
}

hop_status hop_aot_may_call(const hop_aot *a, const hop_prog *p)
{
	for (int i = 0; i < p->neffect; i++)
		if (p->effect[i].foreign)
			HOP_TRY(may_call(a, &p->effect[i]));
	return HOP_OK;
}

/* Call back for each kernel of all programs, once. */
static void each(hop_aot *a, hop_buf *o, void (*put)(hop_buf *o, const hop_user_kernel *k))
{
	hop_map seen = { .a = &a->env->tmp };
	for (int i = 0; i < a->n; i++)
		for (int j = 0; j < a->fn[i].prog->neffect; j++) {
			const hop_leffect *f = &a->fn[i].prog->effect[j];
			const hop_user_kernel *k = f->foreign ? f->foreign->kernel : NULL;
			if (!k || hop_map_get(&seen, &k, sizeof k))
				continue;
			hop_map_put(&seen, &k, sizeof k, a);
			put(o, k);
		}
}

static void put_declaration(hop_buf *o, const hop_user_kernel *k)
{
	hop_putf(o, "\nint %s(void *const *arg, const int64_t *const *dim, int64_t lanes);\n", symbol(k));
}

static void put_source(hop_buf *o, const hop_user_kernel *k)
{
	if (k->c && !k->symbol)
		hop_putf(o, "\n/* ---- kernel %s ---- */\n\n%s", k->name, k->c);
}

void hop_aot_kernels(hop_aot *a, hop_buf *o)
{
	each(a, o, put_declaration);
}

void hop_aot_sources(hop_aot *a, hop_buf *o)
{
	each(a, o, put_source);
}

/* Where the sizes of argument i of the effect begin, among those of all. */
static int first_dim(const hop_leffect *f, int i)
{
	int n = 0;
	while (i-- > 0)
		n += f->type[i]->rank;
	return n;
}

/* Behind hop_dim, the sizes of all arguments. */
void hop_aot_put_kernel(hop_buf *o, const hop_leffect *f)
{
	const hop_user_kernel *k = f->foreign->kernel;
	int narg = k->narg ? k->narg : 1;
	hop_putf(o, "\t\tvoid *hop_k[%d] = { 0 };\n\t\tconst int64_t *hop_kdim[%d] = { 0 };\n"
	         "\t\tint64_t hop_lanes = 1;\n", narg, narg);
	for (int i = 0; i < k->narg; i++) {
		int j = k->at[i] + (k->arg[i].use == HOP_KERNEL_OUT ? f->nin : 0), at = first_dim(f, j);
		int lead = f->type[j]->rank - k->arg[i].rank;
		hop_putf(o, "\t\thop_k[%d] = hop_args[%d];\n\t\thop_kdim[%d] = hop_dim + %d;\n", i, j, i,
		         at + lead);
		for (int d = 0; !i && d < lead; d++)
			hop_putf(o, "\t\thop_lanes *= hop_dim[%d];\n", at + d);
	}
	hop_putf(o, "\t\treturn %s(hop_k, hop_kdim, hop_lanes) ? hop_aot_fail(hop_rt, HOP_AOT_EVALUE) : 0;\n"
	         "\t}\n", symbol(k));
}
