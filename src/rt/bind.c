/* bind.c -- the sizes of a call: size symbols from the caller's dimensions, and every
 * condition on them that can be tested before anything runs. Looks at no data. */
#include "rt/exec.h"

/* Only the second time around, for the message. */
#define REFUSE(e, ...) ((e) ? hop_fail((e), 0, HOP_ESHAPE, __VA_ARGS__) : HOP_ESHAPE)

/* A dimension that is one symbol says what the symbol is. */
static hop_status symbols(const hop_exec *x, const hop_arg *in, int64_t *syms, hop_env *e)
{
	const hop_graph *g = x->g;
	uint32_t nin = g->nparam - (uint32_t)x->nhidden;
	uint64_t known = 0;
	if (g->nsym > HOP_MAXSYM)
		return REFUSE(e, "call: %u size parameters, at most %d can be run", g->nsym,
		              HOP_MAXSYM);
	for (uint32_t i = 0; i < nin; i++)
		for (int k = 0; in[i].dim && k < g->type[i]->rank; k++) {
			int s = hop_size_bare(g->type[i]->dim[k]);
			int64_t d = in[i].dim[k];
			if (s < 0 || known >> s & 1)
				continue;
			known |= (uint64_t)1 << s;
			syms[s] = d;
			if (d < g->range[s].lo || d > g->range[s].hi)
				return REFUSE(e, "call: dimension %d of argument %u is %lld, outside "
				              "%lld..%lld", k, i, (long long)d, (long long)g->range[s].lo,
				              (long long)g->range[s].hi);
		}
	for (uint32_t i = 0; i < g->nsym; i++)
		if (!(known >> i & 1))
			return REFUSE(e, "call: size parameter %u is not a dimension of any argument", i);
	return HOP_OK;
}

static hop_status misfit(hop_env *e, const hop_graph *g, uint32_t i, int k, int64_t got)
{
	if (!e)
		return HOP_ESHAPE;
	hop_buf t;
	hop_buf_open(&t, e);
	hop_type_print(&t, g->type[i], g->symname, (int)g->nsym);
	hop_status st = hop_fail(e, 0, HOP_ESHAPE, "call: parameter %u is %s, but dimension %d of "
	                         "the argument is %lld", i, t.s, k, (long long)got);
	hop_buf_free(&t);
	return st;
}

static hop_status dimensions(const hop_exec *x, const hop_arg *in, const int64_t *syms,
                             hop_env *e)
{
	const hop_graph *g = x->g;
	uint32_t nin = g->nparam - (uint32_t)x->nhidden;
	for (uint32_t i = 0; i < nin; i++) {
		int64_t n = 1, v;
		if (!in[i].dim && !g->nsym)
			continue;                          /* constants: nothing that lowering did not see */
		for (int k = 0; k < g->type[i]->rank; k++) {
			if (!hop_size_eval(g->type[i]->dim[k], syms, (int)g->nsym, &v) || v < 0 ||
			    (in[i].dim && v != in[i].dim[k]))
				return misfit(e, g, i, k, in[i].dim ? in[i].dim[k] : -1);
			if (__builtin_mul_overflow(n, v, &n) || n > HOP_SIZE_MAX)
				return REFUSE(e, "call: argument %u has more than 2^48 elements", i);
		}
	}
	return HOP_OK;
}

hop_status hop_exec_sizes(const hop_exec *x, const hop_arg *in, int64_t *syms, hop_env *e)
{
	int nsym = (int)x->g->nsym;
	HOP_TRY(symbols(x, in, syms, e));
	HOP_TRY(dimensions(x, in, syms, e));
	for (int i = 0; i < x->prog->nentry; i++) {
		if (hop_check_holds(&x->prog->entry[i], syms, nsym))
			continue;
		if (e)
			hop_check_test(e, &x->prog->entry[i], syms, nsym);
		return HOP_ESHAPE;
	}
	return HOP_OK;
}

#undef REFUSE
