/* parse_attr.c -- the parts of a line: sizes, types, data, attributes by the schema of
 * the row. Knows no op by name. */
#include "text/parse.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static hop_status integer(hop_parser *p, int64_t *out)
{
	bool neg = hop_parse_skip(p, '-');
	hop_tok t = p->lex.tok;
	if (t.kind != HOP_T_INT)
		return hop_parse_want(p, "a whole number");
	if (t.i > (uint64_t)INT64_MAX + neg)
		return hop_parse_fail(p, &t, "this number does not fit in 64 bits");
	*out = neg ? (int64_t)-t.i : (int64_t)t.i;
	hop_lex_next(&p->lex);
	return HOP_OK;
}

/* A float as text: digits, inf or nan. The lexer's text is not terminated. */
static hop_status real(hop_parser *p, hop_dtype d, char *at)
{
	bool neg = hop_parse_skip(p, '-');
	hop_tok t = p->lex.tok;
	char s[64];
	if (hop_parse_word(p, "inf") || hop_parse_word(p, "nan") || t.kind == HOP_T_INT ||
	    t.kind == HOP_T_FLOAT) {
		if (t.n >= sizeof s)
			return hop_parse_fail(p, &t, "this number is too long");
	} else
		return hop_parse_want(p, "a number");
	memcpy(s, t.s, t.n);
	s[t.n] = '\0';
	double v = hop_dtype_row(d)->man > 23 ? strtod(s, NULL) : (double)strtof(s, NULL);
	hop_elem_set_f(d, at, neg ? -v : v);
	hop_lex_next(&p->lex);
	return HOP_OK;
}

/* One element of dtype d into at. */
static hop_status element(hop_parser *p, hop_dtype d, char *at)
{
	hop_tok t = p->lex.tok;
	if (hop_dtype_bool(d)) {
		*at = hop_parse_word(p, "true");
		if (!*at && !hop_parse_word(p, "false"))
			return hop_parse_want(p, "`true` or `false`");
		hop_lex_next(&p->lex);
		return HOP_OK;
	}
	if (hop_dtype_float(d) && t.kind == HOP_T_BITS) {
		int bits = 8 * (int)hop_dtype_bytes(d);
		if (bits < 64 && t.i >> bits)
			return hop_parse_fail(p, &t, "%s has %d bits", hop_dtype_name(d), bits);
		hop_elem_set_bits(d, at, t.i);
		hop_lex_next(&p->lex);
		return HOP_OK;
	}
	if (hop_dtype_float(d))
		return real(p, d, at);
	int64_t v;
	HOP_TRY(integer(p, &v));
	if (v < hop_dtype_least(d) || v > hop_dtype_most(d))
		return hop_parse_fail(p, &t, "this number does not fit in %s", hop_dtype_name(d));
	hop_elem_set_i(d, at, v);
	return HOP_OK;
}

/* ---- sizes: sum of terms of factors ---- */

/* The symbol of this name, or -1. A check may be the first to mention one. */
static int64_t find_sym(hop_parser *p, hop_parse_scope *s, const hop_tok *t)
{
	void *sym = s ? hop_map_get(&s->syms, t->s, t->n) : NULL;
	if (sym)
		return (int64_t)((uintptr_t)sym - 1);
	if (!s || !s->ahead || s->b.nlocal == HOP_PARSE_LOCALS)
		return -1;
	s->unbound |= (uint64_t)1 << s->b.nlocal;
	int k = hop_build_local(&s->b, (hop_range){ 0, HOP_SIZE_MAX },
	                        hop_ctx_name(p->env, t->s, t->n));
	hop_map_put(&s->syms, t->s, t->n, (void *)((uintptr_t)k + 1));
	return k;
}

static hop_status factor(hop_parser *p, hop_parse_scope *s, hop_size *out)
{
	hop_tok t = p->lex.tok;
	if (t.kind == HOP_T_INT) {
		if (t.i > (uint64_t)INT64_MAX)
			return hop_parse_fail(p, &t, "this number does not fit in 64 bits");
		*out = hop_size_int((int64_t)t.i);
		hop_lex_next(&p->lex);
		return HOP_OK;
	}
	if (hop_parse_skip(p, '(')) {
		HOP_TRY(hop_parse_size(p, s, out));
		return hop_parse_char(p, ')');
	}
	if (t.kind != HOP_T_IDENT)
		return hop_parse_want(p, "a size");
	hop_lex_next(&p->lex);
	bool lo = t.n == 3 && !memcmp(t.s, "min", 3), hi = t.n == 3 && !memcmp(t.s, "max", 3);
	if (lo || hi) {
		hop_size a, b;
		HOP_TRY(hop_parse_char(p, '('));
		HOP_TRY(hop_parse_size(p, s, &a));
		HOP_TRY(hop_parse_char(p, ','));
		HOP_TRY(hop_parse_size(p, s, &b));
		*out = lo ? hop_size_min(p->env, a, b) : hop_size_max(p->env, a, b);
		return hop_parse_char(p, ')');
	}
	int64_t sym = find_sym(p, s, &t);
	if (sym < 0)
		return hop_parse_fail(p, &t, "no size is called %.*s in this graph",
		                      hop_parse_width(&t), t.s);
	*out = hop_size_sym(p->env, (int)sym);
	return HOP_OK;
}

static hop_status term(hop_parser *p, hop_parse_scope *s, hop_size *out)
{
	uint32_t line = p->lex.tok.line;
	HOP_TRY(factor(p, s, out));
	for (;;) {
		if (p->lex.tok.kind == HOP_T_VALUE && p->lex.tok.line == line)
			hop_lex_split(&p->lex);          /* a value would start a line */
		char c = p->lex.tok.kind == HOP_T_CHAR ? p->lex.tok.c : '\0';
		hop_size b;
		if (c != '*' && c != '/' && c != '%')
			return HOP_OK;
		hop_lex_next(&p->lex);
		HOP_TRY(factor(p, s, &b));
		*out = c == '*' ? hop_size_mul(p->env, *out, b) :
		       c == '/' ? hop_size_div(p->env, *out, b) : hop_size_mod(p->env, *out, b);
	}
}

hop_status hop_parse_size(hop_parser *p, hop_parse_scope *s, hop_size *out)
{
	hop_tok at = p->lex.tok;
	HOP_TRY(hop_parse_enter(p));
	*out = hop_size_int(0);
	bool neg = hop_parse_skip(p, '-');
	for (;;) {
		hop_size t;
		HOP_TRY(term(p, s, &t));
		*out = neg ? hop_size_sub(p->env, *out, t) : hop_size_add(p->env, *out, t);
		neg = hop_parse_is(p, '-');
		if (!neg && !hop_parse_is(p, '+'))
			break;
		hop_lex_next(&p->lex);
	}
	p->depth--;
	if (hop_size_bad(*out))
		return hop_parse_fail(p, &at, "this size is too large to keep");
	return HOP_OK;
}

/* Give a name its symbol: a new one, or the one that a check has mentioned. */
static int64_t bind_sym(hop_parser *p, hop_parse_scope *s, bool local, const hop_tok *t,
                        hop_range r)
{
	void *had = hop_map_get(&s->syms, t->s, t->n);
	if (had) {
		int64_t sym = (int64_t)((uintptr_t)had - 1);
		s->unbound &= ~((uint64_t)1 << (sym - s->b.nsym));
		s->b.range[sym] = r;
		return sym;
	}
	const char *name = hop_ctx_name(p->env, t->s, t->n);
	int64_t sym = local ? hop_build_local(&s->b, r, name) : hop_build_sym(&s->b, r, name);
	hop_map_put(&s->syms, t->s, t->n, (void *)((uintptr_t)sym + 1));
	return sym;
}

/* Is it bound, by this graph's header or by a node above? */
static bool bound(const hop_parse_scope *s, const hop_tok *t)
{
	void *had = hop_map_get(&s->syms, t->s, t->n);
	uint64_t sym = (uint64_t)(uintptr_t)had - 1;
	return had && !(sym >= s->b.nsym && s->unbound >> (sym - s->b.nsym) & 1);
}

hop_status hop_parse_sym(hop_parser *p, hop_parse_scope *s, bool local, int64_t *out_sym)
{
	hop_tok t = p->lex.tok;
	hop_range r = { 0, HOP_SIZE_MAX };
	if (t.kind != HOP_T_IDENT || hop_parse_word(p, "min") || hop_parse_word(p, "max"))
		return hop_parse_want(p, "the name of a size");
	if (bound(s, &t))
		return hop_parse_fail(p, &t, "a size of this name stands above");
	hop_lex_next(&p->lex);
	if (hop_parse_skip(p, ':')) {
		hop_tok at = p->lex.tok;
		HOP_TRY(integer(p, &r.lo));
		if (p->lex.tok.kind != HOP_T_DOTS)
			return hop_parse_want(p, "`..`");
		hop_lex_next(&p->lex);
		if (p->lex.tok.kind == HOP_T_INT)
			HOP_TRY(integer(p, &r.hi));
		if (r.lo < 0 || r.hi < r.lo || r.hi > HOP_SIZE_MAX)
			return hop_parse_fail(p, &at, "a range of sizes is lo..hi with 0 <= lo <= hi "
			                      "<= %lld", (long long)HOP_SIZE_MAX);
	}
	if (local && s->b.nlocal == HOP_PARSE_LOCALS && !hop_map_get(&s->syms, t.s, t.n))
		return hop_parse_fail(p, &t, "a graph binds at most %d sizes", HOP_PARSE_LOCALS);
	*out_sym = bind_sym(p, s, local, &t, r);
	return HOP_OK;
}

/* ---- types and data ---- */

hop_status hop_parse_type(hop_parser *p, hop_parse_scope *s, const hop_type **out)
{
	hop_dtype d;
	hop_size dim[HOP_MAXRANK];
	int rank = 0;
	hop_tok t = p->lex.tok;
	if (t.kind != HOP_T_IDENT || !hop_dtype_find(t.s, t.n, &d))
		return hop_parse_want(p, "a type such as f32[2, 3]");
	hop_lex_next(&p->lex);
	/* `f32 [1.0]` is a scalar's type and then data that does not fit it */
	if (hop_parse_is(p, '[') && p->lex.tok.at == t.at + t.n) {
		hop_lex_next(&p->lex);
		do {
			hop_tok at = p->lex.tok;
			if (rank == HOP_MAXRANK)
				return hop_parse_fail(p, &at, "more than %d dimensions", HOP_MAXRANK);
			HOP_TRY(hop_parse_size(p, s, &dim[rank]));
			if (hop_size_const(dim[rank]) &&
			    (dim[rank].k < 0 || dim[rank].k > HOP_SIZE_MAX))
				return hop_parse_fail(p, &at, "a dimension is at least 0 and at most %lld",
				                      (long long)HOP_SIZE_MAX);
			rank++;
		} while (hop_parse_skip(p, ','));
		HOP_TRY(hop_parse_char(p, ']'));
	}
	*out = hop_type_get(p->env, d, rank, dim);
	return HOP_OK;
}

/* Elements that the type asks for; false when they cannot be so many. */
static bool type_count(hop_env *e, const hop_type *t, int64_t *out)
{
	hop_size n = hop_type_count(e, t);
	*out = n.k;
	return hop_size_const(n) && n.k >= 0 && n.k <= HOP_SIZE_MAX / 16;
}

static hop_status listed(hop_parser *p, const hop_type *t, const hop_data **out)
{
	hop_dtype d = (hop_dtype)t->dtype;
	hop_tok at = p->lex.tok;
	size_t w = hop_dtype_bytes(d), cap = 0;
	int64_t want, n = 0;
	char *s = NULL;
	if (!type_count(p->env, t, &want))
		return hop_parse_fail(p, &at, "this constant is too large");
	if (t->rank)
		HOP_TRY(hop_parse_char(p, '['));
	if (!t->rank || !hop_parse_skip(p, ']')) {
		do {
			s = hop_arena_grow(&p->env->tmp, s, w, (size_t)n + 1, &cap);
			HOP_TRY(element(p, d, s + (size_t)n * w));
			n++;
		} while (t->rank && hop_parse_skip(p, ','));
		if (t->rank)
			HOP_TRY(hop_parse_char(p, ']'));
	}
	if (n != want)
		return hop_parse_fail(p, &at, "the type has %lld elements, %lld are listed",
		                      (long long)want, (long long)n);
	hop_data *r = HOP_NEW(&p->env->tmp, hop_data);
	*r = (hop_data){ t, (size_t)n * w, s ? s : "" };
	*out = r;
	return HOP_OK;
}

hop_status hop_parse_data(hop_parser *p, const hop_data **out)
{
	hop_tok t = p->lex.tok;
	if (t.kind == HOP_T_DATA) {
		*out = hop_map_get(&p->data, t.s, t.n);
		if (!*out)
			return hop_parse_fail(p, &t, "no data of this name stands above");
		hop_lex_next(&p->lex);
		return HOP_OK;
	}
	const hop_type *type;
	HOP_TRY(hop_parse_type(p, NULL, &type));
	return listed(p, type, out);
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One string of hex digits, appended. */
static hop_status hex_line(hop_parser *p, unsigned char *to, size_t *n, size_t want)
{
	hop_tok t = p->lex.tok;
	for (size_t i = 0; i < t.n; i += 2) {
		int h = hex(t.s[i]), l = i + 1 < t.n ? hex(t.s[i + 1]) : -1;
		if (h < 0 || l < 0)
			return hop_parse_fail(p, &t, "data is pairs of the digits 0-9 and a-f");
		if (*n == want)
			return hop_parse_fail(p, &t, "more data than the type has");
		to[(*n)++] = (unsigned char)(h << 4 | l);
	}
	hop_lex_next(&p->lex);
	return HOP_OK;
}

/* data $0 f32[100] "hex" "hex" ... */
hop_status hop_parse_section(hop_parser *p)
{
	hop_lex_next(&p->lex);
	hop_tok name = p->lex.tok;
	const hop_type *t;
	int64_t count;
	if (name.kind != HOP_T_DATA)
		return hop_parse_want(p, "a name such as $0");
	if (hop_map_get(&p->data, name.s, name.n))
		return hop_parse_fail(p, &name, "data of this name stands above");
	hop_lex_next(&p->lex);
	hop_tok at = p->lex.tok;
	HOP_TRY(hop_parse_type(p, NULL, &t));
	size_t w = hop_dtype_bytes((hop_dtype)t->dtype), n = 0;
	/* two digits a byte: what the text cannot hold need not be allocated */
	if (!type_count(p->env, t, &count) ||
	    (size_t)count * w > (size_t)(p->lex.end - p->lex.text) / 2)
		return hop_parse_fail(p, &at, "the text is too short for data of this type");
	unsigned char *s = hop_arena_alloc(p->keep, (size_t)count * w + 1);
	while (p->lex.tok.kind == HOP_T_STR)
		HOP_TRY(hex_line(p, s, &n, (size_t)count * w));
	if (n != (size_t)count * w)
		return hop_parse_fail(p, &at, "the type has %zu bytes, the data %zu",
		                      (size_t)count * w, n);
	for (size_t i = 0; hop_dtype_bool((hop_dtype)t->dtype) && i < n; i++)
		if (s[i] > 1)
			return hop_parse_fail(p, &at, "a bool is 00 or 01");
	hop_data *d = HOP_NEW(p->keep, hop_data);
	*d = (hop_data){ t, n, s };
	hop_map_put(&p->data, name.s, name.n, d);
	return HOP_OK;
}

/* ---- attributes ---- */

/* A field's name that is a C keyword ends in _, which the text does without. */
static int word_len(const char *name)
{
	size_t n = strlen(name);
	return (int)(n && name[n - 1] == '_' ? n - 1 : n);
}

int hop_parse_field(int op, const char *s, size_t n)
{
	for (int i = 0; i < hop_optab[op].nfield; i++) {
		const char *name = hop_optab[op].field[i].name;
		if ((size_t)word_len(name) == n && !memcmp(name, s, n))
			return i;
	}
	return -1;
}

/* [a, b, c] of integers or sizes; s NULL = integers. */
static hop_status list(hop_parser *p, hop_parse_scope *s, void *at)
{
	hop_arena *tmp = &p->env->tmp;
	size_t n = 0, cap = 0;
	int64_t *v = NULL;
	hop_size *w = NULL;
	HOP_TRY(hop_parse_char(p, '['));
	if (!hop_parse_skip(p, ']')) {
		do {
			if (s) {
				w = hop_arena_grow(tmp, w, sizeof *w, n + 1, &cap);
				HOP_TRY(hop_parse_size(p, s, &w[n++]));
			} else {
				v = hop_arena_grow(tmp, v, sizeof *v, n + 1, &cap);
				HOP_TRY(integer(p, &v[n++]));
			}
		} while (hop_parse_skip(p, ','));
		HOP_TRY(hop_parse_char(p, ']'));
	}
	if (s)
		*(hop_sizes *)at = (hop_sizes){ (int64_t)n, w };
	else
		*(hop_ints *)at = (hop_ints){ (int64_t)n, v };
	return HOP_OK;
}

/* [f32[n], i64]: types. */
static hop_status types(hop_parser *p, hop_parse_scope *s, hop_types *out)
{
	hop_arena *tmp = &p->env->tmp;
	size_t n = 0, ndim = 0, headcap = 0, dimcap = 0;
	int64_t *head = NULL;
	hop_size *dim = NULL;
	HOP_TRY(hop_parse_char(p, '['));
	bool some = !hop_parse_skip(p, ']');
	while (some) {
		const hop_type *t;
		HOP_TRY(hop_parse_type(p, s, &t));
		head = hop_arena_grow(tmp, head, sizeof *head, 2 * n + 2, &headcap);
		dim = hop_arena_grow(tmp, dim, sizeof *dim, ndim + HOP_MAXRANK, &dimcap);
		head[2 * n] = t->dtype;
		head[2 * n++ + 1] = t->rank;
		for (int k = 0; k < t->rank; k++)
			dim[ndim++] = t->dim[k];
		some = hop_parse_skip(p, ',');
		if (!some)
			HOP_TRY(hop_parse_char(p, ']'));
	}
	*out = (hop_types){ (int64_t)ndim, dim, (int64_t)n, head };
	return HOP_OK;
}

static hop_status string(hop_parser *p, hop_str *out)
{
	hop_tok t = p->lex.tok;
	if (t.kind != HOP_T_STR)
		return hop_parse_want(p, "a string");
	char *s = hop_arena_alloc(&p->env->tmp, t.n + 1);
	size_t n;
	if (!hop_lex_unescape(&t, s, &n))
		return hop_parse_fail(p, &t, "escapes are \\n \\t \\\\ \\\" and \\x with two digits");
	*out = (hop_str){ (int64_t)n, s };
	hop_lex_next(&p->lex);
	return HOP_OK;
}

hop_status hop_parse_body_name(hop_parser *p, const hop_graph **out)
{
	hop_tok t = p->lex.tok;
	if (t.kind != HOP_T_GRAPH)
		return hop_parse_want(p, "a graph such as @f");
	*out = hop_map_get(&p->graphs, t.s, t.n);
	if (!*out)
		return hop_parse_fail(p, &t, "no graph @%.*s stands above", hop_parse_width(&t), t.s);
	hop_lex_next(&p->lex);
	return HOP_OK;
}

/* One of the words of the kind. */
static hop_status word(hop_parser *p, int kind, int64_t *out)
{
	int n;
	const char *const *w = hop_attr_words(kind, &n);
	for (int i = 0; i < n; i++)
		if (hop_parse_word(p, w[i])) {
			*out = i;
			hop_lex_next(&p->lex);
			return HOP_OK;
		}
	hop_buf b;
	hop_buf_open(&b, p->env);
	hop_put(&b, "one of");
	for (int i = 0; i < n; i++)
		hop_putf(&b, "%s %s", i ? "," : "", w[i]);
	hop_status st = hop_parse_want(p, b.s);
	hop_buf_free(&b);
	return st;
}

static hop_status value(hop_parser *p, hop_parse_scope *s, int kind, void *at)
{
	hop_dtype d;
	switch (kind) {
	case HOP_AK_int:
	case HOP_AK_count:
		return integer(p, at);
	case HOP_AK_bool:
		*(int64_t *)at = hop_parse_word(p, "true");
		if (!*(int64_t *)at && !hop_parse_word(p, "false"))
			return hop_parse_want(p, "`true` or `false`");
		hop_lex_next(&p->lex);
		return HOP_OK;
	case HOP_AK_f64:
		return element(p, HOP_f64, at);
	case HOP_AK_dtype:
		if (p->lex.tok.kind != HOP_T_IDENT ||
		    !hop_dtype_find(p->lex.tok.s, p->lex.tok.n, &d))
			return hop_parse_want(p, "a dtype such as f32");
		*(int64_t *)at = d;
		hop_lex_next(&p->lex);
		return HOP_OK;
	case HOP_AK_mode:
	case HOP_AK_how:
	case HOP_AK_save:
		return word(p, kind, at);
	case HOP_AK_ints:
		return list(p, NULL, at);
	case HOP_AK_size:
	case HOP_AK_length:
		return hop_parse_size(p, s, at);
	case HOP_AK_sizes:
	case HOP_AK_sargs:
		return list(p, s, at);
	case HOP_AK_sym:
		return hop_parse_sym(p, s, true, at);
	case HOP_AK_types:
		return types(p, s, at);
	case HOP_AK_str:
		return string(p, at);
	case HOP_AK_data:
		return hop_parse_data(p, at);
	case HOP_AK_graph:
		return hop_parse_body_name(p, at);
	case HOP_AK_graphs:
		return hop_parse_fail(p, &p->lex.tok, "these bodies stand in braces behind the types, "
		                      "each with the word in front, in place or as @f");
	}
	HOP_ASSERT(!"attribute kind");
	return HOP_OK;
}

hop_status hop_parse_attrs(hop_parser *p, hop_parse_scope *s, hop_draft *d)
{
	hop_lex_next(&p->lex);
	do {
		hop_tok t = p->lex.tok;
		if (t.kind != HOP_T_IDENT)
			return hop_parse_want(p, "the name of an attribute");
		int f = hop_parse_field(d->op, t.s, t.n);
		if (f < 0)
			return hop_parse_fail(p, &t, "%s has no attribute %.*s",
			                      hop_optab[d->op].name, hop_parse_width(&t), t.s);
		if (d->given & 1u << f)
			return hop_parse_fail(p, &t, "this attribute is given twice");
		d->given |= 1u << f;
		hop_lex_next(&p->lex);
		HOP_TRY(hop_parse_char(p, '='));
		const hop_field *fd = &hop_optab[d->op].field[f];
		HOP_TRY(value(p, s, fd->kind, d->attr + hop_attr_offset(d->op, f)));
	} while (hop_parse_skip(p, ','));
	return hop_parse_char(p, '}');
}

/* Size arguments that were not written: none when the bodies take none, else the size
 * parameters of the graph around, each for itself. */
static void own_sizes(hop_parser *p, hop_parse_scope *s, const hop_draft *d, hop_sizes *out)
{
	hop_node n = { .op = (uint16_t)d->op, .attr = d->attr };
	hop_graphs sub = hop_node_subs(&n);
	*out = (hop_sizes){ 0, NULL };
	if (!sub.n || !sub.v[0] || !sub.v[0]->nsym)
		return;
	hop_size *v = HOP_NEWN(&p->env->tmp, hop_size, s->b.nsym);
	for (uint32_t i = 0; i < s->b.nsym; i++)
		v[i] = hop_size_sym(p->env, (int)i);
	*out = (hop_sizes){ s->b.nsym, v };
}

hop_status hop_parse_defaults(hop_parser *p, hop_parse_scope *s, hop_draft *d)
{
	for (int i = 0; i < hop_optab[d->op].nfield; i++) {
		const hop_field *f = &hop_optab[d->op].field[i];
		void *at = d->attr + hop_attr_offset(d->op, i);
		if (d->given & 1u << i)
			continue;
		bool body = f->kind == HOP_AK_graph || f->kind == HOP_AK_graphs;
		if (f->kind == HOP_AK_sym)
			*(int64_t *)at = -1;            /* whether it may be absent, infer says */
		else if (f->kind == HOP_AK_sargs)
			own_sizes(p, s, d, at);
		else if (!f->may_lack)
			return hop_parse_fail(p, &d->at, "%s needs the %s %.*s", hop_optab[d->op].name,
			                      body ? "body" : "attribute", word_len(f->name), f->name);
	}
	return HOP_OK;
}
