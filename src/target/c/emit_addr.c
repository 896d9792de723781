/* emit_addr.c -- types, constants, sizes and addresses as C. Does not check bounds: the lowering
 * made them right, and sums of sizes that it could not bound are checked before they are used. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "target/c/emit.h"

/* ---- types and constants ---- */

const char *hop_c_type(hop_dtype d)
{
	static const char *const type[HOP_NDTYPE] = {
#define HOP_DTYPE(name, T, ...) [HOP_##name] = #T,
#include "ir/dtypes.def"
	};
	HOP_ASSERT((unsigned)d < HOP_NDTYPE);
	return hop_dtype_bool(d) ? "bool" : type[d];
}

const char *hop_c_mem(hop_cemit *e, hop_dtype d)
{
	return hop_c_text(e, "hop_%s", hop_dtype_name(d));
}

const char *hop_c_int(hop_cemit *e, int64_t v)
{
	if (v == INT64_MIN)
		return "INT64_MIN";
	if (v == INT32_MIN)
		return "INT32_MIN";
	if (v > INT32_MAX || v < INT32_MIN)
		return hop_c_text(e, v < 0 ? "(-INT64_C(%" PRId64 "))" : "INT64_C(%" PRId64 ")",
		                  v < 0 ? -v : v);
	return hop_c_text(e, v < 0 ? "(%" PRId64 ")" : "%" PRId64, v);
}

/* A NaN of one pattern: that of a constant is nobody's business. */
const char *hop_c_float(hop_cemit *e, hop_dtype d, double v)
{
	const hop_drow *r = hop_dtype_row(d);
	bool            single = r->bytes == 4;
	const char     *t;
	hop_buf         b;

	if (isnan(v))
		return hop_c_text(e, "hop_nan_%s()", r->name);
	v = hop_float_round(v, r->exp, r->man);
	if (isinf(v))
		return hop_c_text(e, v < 0 ? "(-hop_inf_%s())" : "hop_inf_%s()", r->name);
	hop_buf_open(&b, e->env);
	hop_put_float(&b, v, r->exp, r->man);
	t = hop_c_text(e, signbit(v) ? "(%s%s)" : "%s%s", b.s, single ? "f" : "");
	hop_buf_free(&b);
	return t;
}

/* ---- sizes ---- */

static const char *factor(hop_cemit *e, const char *t)
{
	return strchr(t, ' ') ? hop_c_text(e, "(%s)", t) : t;
}

static const char *symbol(hop_cemit *e, int i)
{
	if (i >= e->f->nsym)
		return hop_c_text(e, "%s[0]", hop_c_base(e, e->f->local[i - e->f->nsym]));
	e->sym[i] = true;
	return hop_c_text(e, "s%d", i);
}

static const char *atom(hop_cemit *e, const hop_atom *t)
{
	static const char *const fn[] = { [HOP_ATOM_DIV] = "hop_size_div", [HOP_ATOM_MOD] = "hop_size_mod",
	                                  [HOP_ATOM_MIN] = "hop_min_i64", [HOP_ATOM_MAX] = "hop_max_i64" };
	if (t->kind == HOP_ATOM_SYM)
		return symbol(e, t->sym);
	return hop_c_text(e, "%s(%s, %s)", fn[t->kind], hop_c_size(e, t->a), hop_c_size(e, t->b));
}

const char *hop_c_size(hop_cemit *e, hop_size s)
{
	const char *t = "";
	for (int i = 0; s.e && i < hop_sexpr_nterm(s.e); i++) {
		int64_t     c = hop_sexpr_coeff(s.e, i);
		const char *m = c == 1 ? "" : hop_c_int(e, c);

		for (int j = 0; j < hop_sexpr_natom(s.e, i); j++)
			m = hop_c_text(e, "%s%s%s", m, *m ? " * " : "", atom(e, hop_sexpr_atom(s.e, i, j)));
		t = hop_c_text(e, "%s%s%s", t, *t ? " + " : "", m);
	}
	if (!*t)
		return hop_c_int(e, s.k);
	if (s.k < 0 && s.k != INT64_MIN)
		return hop_c_text(e, "%s - %s", t, hop_c_int(e, -s.k));
	return s.k ? hop_c_text(e, "%s + %s", t, hop_c_int(e, s.k)) : t;
}

const char *hop_c_fixed(hop_cemit *e, hop_size s, hop_reg r, const char *what)
{
	const char *t = hop_c_size(e, s), *name;
	if (hop_size_const(s) || (hop_size_bare(s) >= 0 && hop_size_nsym(s) <= e->f->nsym))
		return t;
	name = hop_c_text(e, "%s%d", what, r);
	hop_c_line(e, "const int64_t %s = %s;", name, t);
	return name;
}

/* ---- buffers ---- */

/* It depends on a size that is bound while running. */
static bool is_late(const hop_cemit *e, const hop_lbuf *b)
{
	return b->kind == HOP_BUF_TEMP && hop_size_nsym(b->offset) > e->f->nsym;
}

static const char *param_name(hop_cemit *e, int i)
{
	const hop_lbuf *b = &e->f->buf[i];
	bool            in = b->index < e->f->nin;
	for (int j = 0; j < i; j++)
		if (e->f->buf[j].kind == HOP_BUF_PARAM && e->f->buf[j].index == b->index)
			return hop_c_text(e, "p%d_%d", b->index, i);
	return hop_c_text(e, "%c%d", in ? 'p' : 'o', in ? b->index : b->index - e->f->nin);
}

static const char *data_name(hop_cemit *e, int i)
{
	return e->index ? hop_c_text(e, "%s_%d_c%d", e->name, e->index, i)
	                : hop_c_text(e, "%s_c%d", e->name, i);
}

static const char *late_base(hop_cemit *e, int i)
{
	const hop_lbuf *b = &e->f->buf[i];
	const char     *t = hop_c_mem(e, b->dtype);
	if (b->kind == HOP_BUF_TAPE) {
		e->rt = true;
		return hop_c_text(e, "((%s *)rt->tape[%d].ptr)", t, b->index);
	}
	e->ws = true;
	return hop_c_text(e, "((%s *)(void *)(ws + %s))", t, factor(e, hop_c_size(e, b->offset)));
}

const char *hop_c_base(hop_cemit *e, int i)
{
	const hop_lbuf *b = &e->f->buf[i];
	if (e->base[i])
		return e->base[i];
	if (b->kind == HOP_BUF_TAPE || is_late(e, b))
		return late_base(e, i);
	e->used[i] = true;
	return e->base[i] = b->kind == HOP_BUF_CONST ? data_name(e, i) :
	                    b->kind == HOP_BUF_PARAM ? param_name(e, i) : hop_c_text(e, "t%d", i);
}

static const char *index_of(hop_cemit *e, const hop_addr *a)
{
	const char *t = "";
	for (int i = 0; i < a->nterm; i++) {
		const char *r = hop_c_reg(e, a->term[i].reg), *m = r;
		hop_size    st = a->term[i].stride;

		if (hop_size_is(st, 0) || !strcmp(r, "0"))
			continue;
		if (!hop_size_is(st, 1))
			m = hop_c_text(e, "%s * %s", r, factor(e, hop_c_size(e, st)));
		t = hop_c_text(e, "%s%s%s", t, *t ? " + " : "", m);
	}
	if (!*t)
		return hop_c_size(e, a->offset);
	if (hop_size_is(a->offset, 0))
		return t;
	return hop_c_text(e, "%s + %s", t, hop_c_size(e, a->offset));
}

const char *hop_c_at(hop_cemit *e, const hop_addr *a)
{
	return hop_c_text(e, "%s[%s]", hop_c_base(e, a->buf), index_of(e, a));
}

const char *hop_c_ptr(hop_cemit *e, const hop_addr *a)
{
	const char *i = index_of(e, a), *b = hop_c_base(e, a->buf);
	return strcmp(i, "0") ? hop_c_text(e, "(void *)(%s + %s)", b, i) :
	                        hop_c_text(e, "(void *)%s", b);
}

/* A bool in memory is any byte; in a register it is 0 or 1. */
const char *hop_c_load(hop_cemit *e, const hop_addr *a)
{
	const char *t = hop_c_at(e, a);
	return hop_dtype_bool(e->f->buf[a->buf].dtype) ? hop_c_text(e, "%s != 0", t) : t;
}

/* ---- pointers that are fixed for a nest ---- */

typedef struct fix {
	hop_cemit *e;
	bool       moves;
	bool      *found;            /* [nbuf] */
} fix;

static void find(void *user, hop_addr *a, bool write)
{
	fix             *x = user;
	const hop_lfunc *f = x->e->f;

	x->found[a->buf] |= f->buf[a->buf].kind == HOP_BUF_TAPE || is_late(x->e, &f->buf[a->buf]);
	for (int i = 0; write && i < f->nlocal; i++)
		x->moves |= f->local[i] == a->buf;
}

static bool may_move(const hop_stmt *s)
{
	hop_block *sub[2];
	int        k = hop_stmt_blocks((hop_stmt *)(uintptr_t)s, sub);
	if (s->kind == HOP_L_GROW || s->kind == HOP_L_CALL || s->kind == HOP_L_EFFECT)
		return true;
	for (int i = 0; i < k; i++)
		for (const hop_stmt *q = sub[i]->first; q; q = q->next)
			if (may_move(q))
				return true;
	return false;
}

void hop_c_fix_bases(hop_cemit *e, const hop_stmt *s)
{
	fix x = { .e = e, .moves = may_move(s), .found = HOP_NEWN(&e->env->tmp, bool, e->f->nbuf) };
	hop_stmt_all_addrs((hop_lfunc *)(uintptr_t)e->f, (hop_stmt *)(uintptr_t)s, find, &x);
	for (int i = 0; !x.moves && i < e->f->nbuf; i++)
		if (x.found[i] && !e->base[i]) {
			const char *t = late_base(e, i);
			e->base[i] = hop_c_text(e, "g%d_%d", i, e->nfix++);
			hop_c_line(e, "%s *const %s = %s;", hop_c_mem(e, e->f->buf[i].dtype), e->base[i], t);
		}
}

void hop_c_free_bases(hop_cemit *e)
{
	for (int i = 0; i < e->f->nbuf; i++)
		if (e->f->buf[i].kind == HOP_BUF_TAPE || is_late(e, &e->f->buf[i]))
			e->base[i] = NULL;
}

/* ---- what stands before a body ---- */

static void declare(hop_cemit *e, hop_buf *o, int i)
{
	const hop_lbuf *b = &e->f->buf[i];
	bool            in = b->kind == HOP_BUF_PARAM && !b->is_written;

	if (b->kind == HOP_BUF_CONST)
		return;
	hop_putf(o, "\t%s%s *const %s = ", in ? "const " : "", hop_c_mem(e, b->dtype), e->base[i]);
	if (b->kind == HOP_BUF_PARAM) {
		e->params = true;
		hop_putf(o, "params[%d];\n", b->index);
	} else if (b->space == HOP_SPACE_RESULT) {
		e->params = true;
		hop_putf(o, "(void *)((char *)params[%d] + %s);\n", b->index,
		         factor(e, hop_c_size(e, b->offset)));
	} else {
		e->ws = true;
		hop_putf(o, "(void *)(ws + %s);\n", factor(e, hop_c_size(e, b->offset)));
	}
}

/* A carry that debuggers show; of one name, the first. */
static bool is_shown(const hop_cemit *e, int i)
{
	const hop_lbuf *b = e->f->buf;
	if (!e->used[i] || !b[i].name || b[i].kind == HOP_BUF_TAPE || b[i].kind == HOP_BUF_CONST)
		return false;
	for (int k = 0; k < i; k++)
		if (e->used[k] && b[k].name && !strcmp(b[k].name, b[i].name))
			return false;
	return true;
}

void hop_c_declare(hop_cemit *e, hop_buf *o)
{
	hop_buf b;
	hop_buf_open(&b, e->env);
	for (int i = 0; i < e->f->nbuf; i++)
		if (e->used[i])
			declare(e, &b, i);
	for (int i = 0; i < e->f->nsym; i++)
		if (e->sym[i]) {
			e->syms = true;
			hop_putf(o, "\tconst int64_t s%d = syms[%d];\n", i, i);
		}
	if (e->ws)
		hop_put(o, "\tchar *const ws = workspace;\n");
	for (int i = 0; e->look && i < e->f->nbuf; i++)
		if (is_shown(e, i))
			hop_putf(&b, "\t%s *volatile carry_%s = (void *)%s;\n\t(void)carry_%s;\n",
			         hop_c_mem(e, e->f->buf[i].dtype), e->f->buf[i].name, e->base[i],
			         e->f->buf[i].name);
	hop_putn(o, b.s ? b.s : "", b.n);
	hop_buf_free(&b);
	if (e->status)
		hop_put(o, "\tint st;\n");
}

/* ---- constants of a function ---- */

static const char *element(hop_cemit *e, hop_dtype d, const char *p)
{
	if (hop_dtype_real(d) && !hop_dtype_packed(d))
		return hop_c_float(e, d, hop_elem_f(d, p));
	if (hop_dtype_packed(d))
		return hop_c_text(e, "0x%" PRIx64, hop_elem_bits(d, p));
	return hop_c_int(e, hop_elem_i(d, p));
}

/* Floats that C cannot write stand as their bits. */
static bool is_plain(hop_dtype d, const char *p, int64_t n)
{
	for (int64_t i = 0; hop_dtype_real(d) && !hop_dtype_packed(d) && i < n; i++)
		if (!isfinite(hop_elem_f(d, p + (size_t)i * hop_dtype_bytes(d))))
			return false;
	return true;
}

static void put_elements(hop_cemit *e, hop_buf *o, const hop_lbuf *b, bool plain)
{
	size_t   bytes = hop_dtype_bytes(b->dtype);
	hop_mark m = hop_mark_at(&e->env->tmp);
	for (int64_t k = 0; k < b->count.k; k++) {
		const char *p = (const char *)b->data + (size_t)k * bytes;

		hop_put(o, k % 8 ? " " : "\n\t");
		if (plain)
			hop_put(o, element(e, b->dtype, p));
		else
			hop_putf(o, "UINT64_C(0x%" PRIx64 ")", hop_elem_bits(b->dtype, p));
		hop_put(o, ",");
		hop_rewind(&e->env->tmp, m);
	}
	hop_put(o, b->count.k ? "\n};\n" : " 0 };\n");
}

void hop_c_put_data(hop_cemit *e, hop_buf *o, int i, const char *head, bool bits)
{
	const hop_lbuf *b = &e->f->buf[i];
	int             w = 8 * (int)hop_dtype_bytes(b->dtype);
	int64_t         n = b->count.k ? b->count.k : 1;
	const char     *name = hop_c_base(e, i);
	bool            plain = !bits && is_plain(b->dtype, b->data, b->count.k);

	if (plain)
		hop_putf(o, "%s %s ", head, hop_c_mem(e, b->dtype));
	else
		hop_putf(o, "%s uint%d_t ", head, w);
	hop_putf(o, "%s%s[%" PRId64 "] = {", name, plain || bits ? "" : "_bits", n);
	put_elements(e, o, b, plain);
	if (!plain && !bits)
		hop_putf(o, "#define %s ((const hop_%s *)(const void *)%s_bits)\n", name,
		         hop_dtype_name(b->dtype), name);
}

void hop_c_data(hop_cemit *e, hop_buf *o)
{
	for (int i = 0; i < e->f->nbuf; i++)
		if (e->used[i] && e->f->buf[i].kind == HOP_BUF_CONST)
			hop_c_put_data(e, o, i, "HOP_DATA", false);
}
