/* expr.c -- sizes, types and places as C. Sizes are computed with what rt_run.h has, step by step
 * as hop_size_eval does, so that both refuse the same ones. */
#include "aot/aot.h"

#include <string.h>

static void put_number(hop_buf *o, int64_t k)
{
	if (k == INT64_MIN)
		hop_put(o, "INT64_MIN");
	else if (k > INT32_MAX || k < -INT32_MAX)
		hop_putf(o, "INT64_C(%lld)", (long long)k);
	else
		hop_putf(o, "%lld", (long long)k);
}

static void put_atom(hop_buf *o, const hop_atom *t, const char *const *sym)
{
	static const char *const fn[] = { [HOP_ATOM_DIV] = "div", [HOP_ATOM_MOD] = "mod",
	                                  [HOP_ATOM_MIN] = "min", [HOP_ATOM_MAX] = "max" };
	if (t->kind == HOP_ATOM_SYM) {
		hop_put(o, sym[t->sym]);
		return;
	}
	hop_putf(o, "hop_aot_%s(", fn[t->kind]);
	hop_aot_put_size(o, t->a, sym);
	hop_put(o, ", ");
	hop_aot_put_size(o, t->b, sym);
	hop_put(o, t->kind == HOP_ATOM_DIV ? ", &hop_bad)" : ")");
}

static void put_term(hop_buf *o, const hop_sexpr *x, int term, const char *const *sym)
{
	int64_t c = hop_sexpr_coeff(x, term);
	int n = hop_sexpr_natom(x, term), first = c == 1;
	for (int i = first; i < n; i++)
		hop_put(o, "hop_aot_mul(");
	if (first)
		put_atom(o, hop_sexpr_atom(x, term, 0), sym);
	else
		put_number(o, c);
	for (int i = first; i < n; i++) {
		hop_put(o, ", ");
		put_atom(o, hop_sexpr_atom(x, term, i), sym);
		hop_put(o, ", &hop_bad)");
	}
}

void hop_aot_put_size(hop_buf *o, hop_size s, const char *const *sym)
{
	int n = hop_sexpr_nterm(s.e), first = n && !s.k;
	for (int i = first; i < n; i++)
		hop_put(o, "hop_aot_add(");
	if (first)
		put_term(o, s.e, 0, sym);
	else
		put_number(o, s.k);
	for (int i = first; i < n; i++) {
		hop_put(o, ", ");
		put_term(o, s.e, i, sym);
		hop_put(o, ", &hop_bad)");
	}
}

void hop_aot_put_count(hop_buf *o, const hop_type *t, const char *const *sym, int64_t first,
                       const char *most)
{
	for (int i = 0; i < t->rank; i++)
		hop_put(o, "hop_aot_dim(");
	put_number(o, first);
	for (int i = 0; i < t->rank; i++) {
		hop_put(o, ", ");
		hop_aot_put_size(o, t->dim[i], sym);
		hop_putf(o, ", %s, &hop_bad)", most);
	}
}

bool hop_aot_count(const hop_type *t, int64_t *out_n)
{
	*out_n = 1;
	for (int i = 0; i < t->rank; i++)
		if (!hop_size_const(t->dim[i]) ||
		    __builtin_mul_overflow(*out_n, t->dim[i].k, out_n))
			return false;
	return true;
}

const char *hop_aot_ctype(hop_dtype d)
{
	static const char *const name[] = {
#define HOP_DTYPE(name, C, ...) #C,
#include "ir/dtypes.def"
	};
	return name[d];
}

/* Octal digits end after three, hexadecimal ones do not; ?? may begin another character. */
void hop_aot_put_str(hop_buf *o, const char *s)
{
	hop_putc(o, '"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c == '"' || c == '\\' || c == '?')
			hop_putf(o, "\\%c", c);
		else if (c < 32 || c > 126)
			hop_putf(o, "\\%03o", c);
		else
			hop_putc(o, (char)c);
	}
	hop_putc(o, '"');
}

void hop_aot_put_loc(hop_buf *o, hop_env *e, hop_loc l)
{
	const char *file;
	int line;
	hop_loc in;
	if (hop_loc_read(e->ctx, l, &file, &line, &in))
		hop_putf(o, "%s:%d: ", file, line);
}
