/* size_read.c -- what a size says: its parts, value, bounds and text.
 * Does not make sizes, so it needs no context and cannot fail for memory but in print. */
#include "size/poly.h"

int hop_sexpr_nterm(const hop_sexpr *x)
{
	return x ? x->nterm : 0;
}

int64_t hop_sexpr_coeff(const hop_sexpr *x, int term)
{
	return x->term[term].c;
}

int hop_sexpr_natom(const hop_sexpr *x, int term)
{
	return x->term[term].n;
}

const hop_atom *hop_sexpr_atom(const hop_sexpr *x, int term, int i)
{
	return hop_sexpr_atoms(x)[x->term[term].off + i];
}

int hop_size_nsym(hop_size a)
{
	return a.e ? a.e->nsym : 0;
}

/* ---- value ---- */

bool hop_floor_div(int64_t a, int64_t b, int64_t *out_v)
{
	*out_v = 0;
	if (!b)
		return true;
	if (b == -1)
		return !__builtin_sub_overflow((int64_t)0, a, out_v);
	*out_v = a / b - (a % b && (a < 0) != (b < 0));
	return true;
}

int64_t hop_floor_mod(int64_t a, int64_t b)
{
	if (!b || b == -1)
		return 0;
	int64_t r = a % b;
	return r && (r < 0) != (b < 0) ? r + b : r;
}

static bool eval_atom(const hop_atom *t, const int64_t *syms, int n, int64_t *out_v)
{
	if (t->kind == HOP_ATOM_SYM) {
		if (t->sym >= n)
			return false;
		*out_v = syms[t->sym];
		return true;
	}
	int64_t a, b;
	if (!hop_size_eval(t->a, syms, n, &a) || !hop_size_eval(t->b, syms, n, &b))
		return false;
	switch (t->kind) {
	case HOP_ATOM_DIV: return hop_floor_div(a, b, out_v);
	case HOP_ATOM_MOD: *out_v = hop_floor_mod(a, b); return true;
	case HOP_ATOM_MIN: *out_v = a < b ? a : b; return true;
	case HOP_ATOM_MAX: *out_v = a > b ? a : b; return true;
	case HOP_ATOM_SYM: break;
	}
	hop_bug(__FILE__, __LINE__, "kind of atom");
}

bool hop_size_eval_expr(hop_size a, const int64_t *syms, int n, int64_t *out_v)
{
	int64_t sum = a.k;
	for (int i = 0; i < hop_sexpr_nterm(a.e); i++) {
		int64_t prod = a.e->term[i].c, v;
		for (int j = 0; j < a.e->term[i].n; j++)
			if (!eval_atom(hop_sexpr_atom(a.e, i, j), syms, n, &v) ||
			    __builtin_mul_overflow(prod, v, &prod))
				return false;
		if (__builtin_add_overflow(sum, prod, &sum))
			return false;
	}
	*out_v = sum;
	return true;
}

static int64_t wrap_atom(const hop_atom *t, const int64_t *syms, int n)
{
	if (t->kind == HOP_ATOM_SYM)
		return t->sym < n ? syms[t->sym] : 0;
	int64_t a = hop_size_wrap(t->a, syms, n), b = hop_size_wrap(t->b, syms, n), v;
	switch (t->kind) {
	case HOP_ATOM_DIV: return hop_floor_div(a, b, &v) ? v : a;      /* -INT64_MIN */
	case HOP_ATOM_MOD: return hop_floor_mod(a, b);
	case HOP_ATOM_MIN: return a < b ? a : b;
	case HOP_ATOM_MAX: return a > b ? a : b;
	case HOP_ATOM_SYM: break;
	}
	hop_bug(__FILE__, __LINE__, "kind of atom");
}

int64_t hop_size_wrap(hop_size a, const int64_t *syms, int n)
{
	uint64_t sum = (uint64_t)a.k;
	for (int i = 0; i < hop_sexpr_nterm(a.e); i++) {
		uint64_t prod = (uint64_t)a.e->term[i].c;
		for (int j = 0; j < a.e->term[i].n; j++)
			prod *= (uint64_t)wrap_atom(hop_sexpr_atom(a.e, i, j), syms, n);
		sum += prod;
	}
	return (int64_t)sum;
}

/* ---- bounds ---- */

/* Inside, bounds beyond 64 bits are INF, which sticks: INF - 1 is INF. */
#define INF INT64_MAX

static int64_t sat(__int128 v)
{
	return v >= INF ? INF : v <= -INF ? -INF : (int64_t)v;
}

/* Only a bound on its open side is unknown: a lower bound of INF is a number. */
static hop_range range_add(hop_range a, hop_range b)
{
	bool open_lo = a.lo == -INF || b.lo == -INF, open_hi = a.hi == INF || b.hi == INF;
	return (hop_range){ open_lo ? -INF : sat((__int128)a.lo + b.lo),
	                    open_hi ? INF : sat((__int128)a.hi + b.hi) };
}

static hop_range finite(hop_range r)
{
	return (hop_range){ r.lo == INF ? INF - 1 : r.lo, r.hi == -INF ? 1 - INF : r.hi };
}

/* 0 * INF is 0: the other factor is 0 there, however large this one is. */
static int64_t bound_mul(int64_t a, int64_t b)
{
	return sat((__int128)a * b);
}

static int64_t bound_div(int64_t a, int64_t b)
{
	if (a == INF || a == -INF) {
		if (b == INF || b == -INF)
			return (a < 0) != (b < 0) ? -1 : 0;
		return (a < 0) != (b < 0) ? -INF : INF;
	}
	if (b == INF || b == -INF)
		return a && (a < 0) != (b < 0) ? -1 : 0;
	int64_t v;
	return hop_floor_div(a, b, &v) ? v : INF;
}

static hop_range hull(hop_range r, int64_t v)
{
	return (hop_range){ v < r.lo ? v : r.lo, v > r.hi ? v : r.hi };
}

static hop_range corners(hop_range a, hop_range b, int64_t (*f)(int64_t, int64_t))
{
	int64_t v = f(a.lo, b.lo);
	hop_range r = { v, v };
	r = hull(r, f(a.lo, b.hi));
	r = hull(r, f(a.hi, b.lo));
	return hull(r, f(a.hi, b.hi));
}

/* Monotone in each operand as long as the divisor keeps its sign. */
static hop_range range_div(hop_range a, hop_range b)
{
	hop_range r = { INF, -INF };
	if (b.hi > 0) {
		hop_range c = corners(a, (hop_range){ b.lo > 1 ? b.lo : 1, b.hi }, bound_div);
		r = hull(hull(r, c.lo), c.hi);
	}
	if (b.lo < 0) {
		hop_range c = corners(a, (hop_range){ b.lo, b.hi < -1 ? b.hi : -1 }, bound_div);
		r = hull(hull(r, c.lo), c.hi);
	}
	return b.lo <= 0 && b.hi >= 0 ? hull(r, 0) : r;
}

static hop_range range_mod(hop_range a, hop_range b)
{
	if (a.lo >= 0 && b.lo > a.hi)
		return a;
	hop_range r = { 0, 0 };
	if (b.hi > 0)
		r.hi = b.hi == INF ? INF : b.hi - 1;
	if (b.lo < 0)
		r.lo = b.lo == -INF ? -INF : b.lo + 1;
	if (a.lo >= 0 && r.hi > a.hi)
		r.hi = a.hi;
	if (a.hi <= 0 && r.lo < a.lo)
		r.lo = a.lo;
	return r;
}

static hop_range range_size(hop_size a, const hop_range *syms, int n);

static hop_range range_atom(const hop_atom *t, const hop_range *syms, int n)
{
	if (t->kind == HOP_ATOM_SYM) {
		hop_range r = t->sym < n ? syms[t->sym] : (hop_range){ 0, HOP_SIZE_MAX };
		if (r.hi >= HOP_SIZE_MAX)
			r.hi = INF;
		if (r.lo <= -HOP_SIZE_MAX)
			r.lo = -INF;
		return r;
	}
	hop_range a = finite(range_size(t->a, syms, n));
	hop_range b = finite(range_size(t->b, syms, n));
	switch (t->kind) {
	case HOP_ATOM_DIV:
		return range_div(a, b);
	case HOP_ATOM_MOD:
		return range_mod(a, b);
	case HOP_ATOM_MIN:
		return (hop_range){ a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi };
	case HOP_ATOM_MAX:
		return (hop_range){ a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi };
	case HOP_ATOM_SYM:
		break;
	}
	hop_bug(__FILE__, __LINE__, "kind of atom");
}

static hop_range range_size(hop_size a, const hop_range *syms, int n)
{
	hop_range sum = { a.k, a.k };
	for (int i = 0; i < hop_sexpr_nterm(a.e); i++) {
		hop_range prod = { a.e->term[i].c, a.e->term[i].c };
		for (int j = 0; j < a.e->term[i].n; j++)
			prod = corners(prod, range_atom(hop_sexpr_atom(a.e, i, j), syms, n),
			               bound_mul);
		sum = range_add(sum, prod);
	}
	return sum;
}

static int64_t clamp(int64_t v)
{
	return v > HOP_SIZE_MAX ? HOP_SIZE_MAX : v < -HOP_SIZE_MAX ? -HOP_SIZE_MAX : v;
}

hop_range hop_size_range(hop_size a, const hop_range *syms, int n)
{
	hop_range r = range_size(a, syms, n);
	return (hop_range){ clamp(r.lo), clamp(r.hi) };
}

#undef INF

/* How large any number on the way may be, at most 2^62. */
static int64_t largest(hop_size a, const hop_range *syms, int n)
{
	const __int128 many = (__int128)1 << 62;
	__int128 sum = a.k < 0 ? -(__int128)a.k : a.k;
	for (int i = 0; i < hop_sexpr_nterm(a.e); i++) {
		__int128 prod = a.e->term[i].c < 0 ? -(__int128)a.e->term[i].c : a.e->term[i].c;
		for (int j = 0; j < a.e->term[i].n; j++) {
			const hop_atom *t = hop_sexpr_atom(a.e, i, j);
			int64_t v;
			if (t->kind == HOP_ATOM_SYM) {
				v = t->sym < n ? syms[t->sym].hi : HOP_SIZE_MAX;
			} else {
				int64_t x = largest(t->a, syms, n), y = largest(t->b, syms, n);
				v = x > y ? x : y;
			}
			prod *= v;
			if (prod > many)
				prod = many;
		}
		sum += prod;
	}
	return (int64_t)(sum > many ? many : sum);
}

bool hop_size_fits(hop_size a, const hop_range *syms, int n)
{
	return !hop_size_bad(a) && largest(a, syms, n) < (int64_t)1 << 62;
}

/* ---- text ---- */

struct names { const char *const *at; int n; };

static void put_size(hop_buf *b, hop_size a, struct names names);

/* An operand of / or %: in brackets unless it is one word. */
static void put_value(hop_buf *b, hop_size a, struct names names)
{
	const hop_atom *t = hop_size_pure(a);
	bool word = t ? t->kind != HOP_ATOM_DIV : !a.e && a.k >= 0;
	if (!word)
		hop_putc(b, '(');
	put_size(b, a, names);
	if (!word)
		hop_putc(b, ')');
}

/* alone: the atom is its whole term, so a quotient needs no brackets. */
static void put_atom(hop_buf *b, const hop_atom *t, struct names names, bool alone)
{
	bool call = t->kind == HOP_ATOM_MIN || t->kind == HOP_ATOM_MAX;
	bool bare = t->kind == HOP_ATOM_SYM || (t->kind == HOP_ATOM_DIV && alone);
	if (t->kind == HOP_ATOM_SYM) {
		if (names.at && t->sym < names.n && names.at[t->sym])
			hop_put(b, names.at[t->sym]);
		else
			hop_putf(b, "s%d", t->sym);
		return;
	}
	if (call)
		hop_put(b, t->kind == HOP_ATOM_MIN ? "min" : "max");
	if (!bare)
		hop_putc(b, '(');
	if (call) {
		put_size(b, t->a, names);
		hop_putc(b, ',');
		put_size(b, t->b, names);
	} else {
		put_value(b, t->a, names);
		hop_putc(b, t->kind == HOP_ATOM_DIV ? '/' : '%');
		put_value(b, t->b, names);
	}
	if (!bare)
		hop_putc(b, ')');
}

static void put_size(hop_buf *b, hop_size a, struct names names)
{
	if (!a.e) {
		hop_putf(b, "%lld", (long long)a.k);
		return;
	}
	for (int i = 0; i < a.e->nterm; i++) {
		int64_t c = a.e->term[i].c;
		int n = a.e->term[i].n;
		if (c < 0)
			hop_putc(b, '-');
		else if (i)
			hop_putc(b, '+');
		if (c != 1 && c != -1)
			hop_putf(b, "%lld*", (long long)(c < 0 ? -c : c));
		for (int j = 0; j < n; j++) {
			if (j)
				hop_putc(b, '*');
			put_atom(b, hop_sexpr_atom(a.e, i, j), names, c == 1 && n == 1);
		}
	}
	if (a.k)
		hop_putf(b, "%+lld", (long long)a.k);
}

void hop_size_print(hop_buf *b, hop_size a, const char *const *names, int n)
{
	if (hop_size_bad(a))
		hop_put(b, "overflow");
	else
		put_size(b, a, (struct names){ names, n });
}

int hop_size_bare(hop_size a)
{
	if (!a.e || a.k || hop_sexpr_nterm(a.e) != 1 || hop_sexpr_coeff(a.e, 0) != 1 ||
	    hop_sexpr_natom(a.e, 0) != 1 || hop_sexpr_atom(a.e, 0, 0)->kind != HOP_ATOM_SYM)
		return -1;
	return hop_sexpr_atom(a.e, 0, 0)->sym;
}
