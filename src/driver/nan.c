/* nan.c -- after compiled code has run: do its results tell of a NaN or an infinity that the program
 * made? Where is for the interpreter to say (interp/nan.c), which runs the graph again, as it was
 * before any pass; random numbers are the same numbers. Its effects are silent. A program that asks the
 * host is interpreted from the start, since it must not ask twice. */
#include "driver/compile.h"
#include "opt/opt.h"
#include "rt/once.h"

#include <string.h>

static int say_nothing(void *user, const char *line)
{
	(void)user;
	(void)line;
	return 0;
}

/* Compiled code may sum in another order than the interpreter, which then makes none. */
static hop_status only_compiled(hop_env *e, uint32_t k, int worst)
{
	return hop_fail(e, 0, HOP_ENAN, "run: result %u of compiled code has %s, and interpreted it has "
	                "none: sums in another order, or a bug", k, worst == 2 ? "a NaN" : "an infinity");
}

static hop_status again(hop_interp *p, const hop_graph *g, const int64_t *syms,
                        hop_array *const *in, hop_array *const *out)
{
	hop_env *e = p->env;
	hop_array **y = HOP_NEWN(&e->tmp, hop_array *, g->nout);
	HOP_TRY(hop_opt_mute(e, g, &g));
	hop_print_fn *print = p->print;
	hop_record *record = p->record;
	p->print = say_nothing;
	p->record = NULL;
	hop_status st = hop_interp_graph(p, g, syms, in, y);
	p->print = print;
	p->record = record;
	for (uint32_t k = 0; k < g->nout && !st && out; k++) {
		int64_t at;
		int was = hop_array_worst(out[k], &at);
		if (was > hop_array_worst(y[k], &at))
			st = only_compiled(e, k, was);
	}
	for (uint32_t k = 0; k < g->nout; k++)
		hop_interp_release(p, y[k]);
	return st;
}

/* An assert stopped it: perhaps because of a NaN. If the interpreter finds the same, its message
 * says more. */
static hop_status asserted(hop_interp *p, const hop_graph *g, const int64_t *syms,
                           hop_array *const *in)
{
	hop_env *e = p->env;
	hop_diag was = e->diag;
	e->diag = (hop_diag){ 0 };
	hop_status st = again(p, g, syms, in, NULL);
	hop_diag other = was;
	if (st != HOP_EASSERT) {
		other = e->diag;
		e->diag = was;
	}
	if (other.text)
		hop_raw_free(&e->mem, other.text, other.len + 1);
	return HOP_EASSERT;
}

hop_status hop_nan_exec(hop_interp *p, const hop_exec *x, const int64_t *syms, hop_array *const *in,
                        hop_array **out)
{
	const hop_graph *g = x->own ? x->own : x->once ? x->once->g : x->g;
	int64_t at;
	int worst = 0, least = p->nan == HOP_NAN_ONLY ? 2 : 1;
	if (p->nan && g->holds & HOP_HOLDS_HOST)
		return hop_interp_graph(p, g, syms, in, out);
	hop_status st = hop_exec_arrays(p, x, in, out);
	if (!p->nan || (st && st != HOP_EASSERT))
		return st;
	if (st)
		return asserted(p, g, syms, in);
	for (uint32_t k = 0; k < g->nout && worst < least; k++)
		worst = hop_array_worst(out[k], &at);
	return worst < least ? HOP_OK : again(p, g, syms, in, out);
}
