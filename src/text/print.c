/* print.c -- graphs to text, canonically: one graph has one text, whoever built it, and
 * the text reads back as the same graph. Chooses no order of nodes; sealing did. */
#include "ir/rule.h"
#include "text/text.h"

#include <string.h>

enum { DATA_INLINE = 64, HEX_LINE = 32 };

/* A graph that the text contains. Printed in place where it is used iff name is NULL. */
struct item {
	const hop_graph *g;
	const char      *name;
	uint32_t         uses;
};

struct printer {
	hop_buf      *b;
	hop_arena    *tmp;
	int           flags;
	hop_map       item_of;       /* graph pointer -> struct item */
	struct item **item;          /* operands of use first */
	size_t        nitem, itemcap;
	hop_map       names;         /* names taken by graphs */
	hop_map       data_of;       /* content of large data -> 1 + index */
	const hop_data **data;
	size_t        ndata, datacap;
	int64_t       brief;         /* of constants so many elements, none by name; 0 = no */
};

/* What printing a graph needs: its size symbols by name. */
struct scope {
	const hop_graph *g;
	const char     **sym;
	int              nsym;
};

/* ---- first walk: which graphs, how often, which data ---- */

static const void *field_at(const hop_node *n, int i)
{
	return (const char *)n->attr + hop_attr_offset(n->op, i);
}

static bool data_large(const hop_data *d)
{
	return d->nbyte / hop_dtype_bytes((hop_dtype)d->type->dtype) > DATA_INLINE;
}

/* Content as a map key: the type's one pointer and the hash of the bytes. */
struct data_key { const hop_type *t; hop_hash h; };

static uintptr_t *data_slot(struct printer *p, const hop_data *d, struct data_key *k)
{
	*k = (struct data_key){ d->type, hop_hash_bytes(d->bytes, d->nbyte) };
	return hop_map_get(&p->data_of, k, sizeof *k);
}

static void add_data(struct printer *p, const hop_data *d)
{
	struct data_key k;
	if (!data_large(d) || data_slot(p, d, &k))
		return;
	uintptr_t *id = HOP_NEW(p->tmp, uintptr_t);
	*id = p->ndata;
	hop_map_put(&p->data_of, &k, sizeof k, id);
	p->data = hop_arena_grow(p->tmp, p->data, sizeof *p->data, p->ndata + 1, &p->datacap);
	p->data[p->ndata++] = d;
}

static void add_graph(struct printer *p, const hop_graph *g)
{
	struct item *it = hop_map_get(&p->item_of, &g, sizeof g);
	if (it) {
		it->uses++;
		return;
	}
	it = HOP_NEW(p->tmp, struct item);
	*it = (struct item){ g, NULL, 1 };
	hop_map_put(&p->item_of, &g, sizeof g, it);
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		for (int k = 0; k < hop_optab[n->op].nfield; k++) {
			if (hop_optab[n->op].field[k].kind == HOP_AK_data)
				add_data(p, *(const hop_data *const *)field_at(n, k));
		}
		hop_graphs sub = hop_node_subs(n);
		for (int64_t k = 0; k < sub.n; k++)
			if (sub.v[k])
				add_graph(p, sub.v[k]);
	}
	p->item = hop_arena_grow(p->tmp, p->item, sizeof *p->item, p->nitem + 1, &p->itemcap);
	p->item[p->nitem++] = it;
}

/* ---- names ---- */

static bool word_char(char c, bool dots)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || (dots && c == '.');
}

/* A free name near want, and taken from now on: letters the text cannot hold become _,
 * a second use gets a number. */
static const char *take(struct printer *p, hop_map *names, const char *want, bool dots)
{
	size_t n = strlen(want);
	char *s = hop_arena_alloc(p->tmp, n + 24);
	memcpy(s, want, n);
	for (size_t i = 0; i < n; i++)
		if (!word_char(s[i], dots))
			s[i] = '_';
	if (!n || (dots ? s[0] == '.' : s[0] >= '0' && s[0] <= '9'))
		s[0] = '_', n += !n;
	hop_buf t;
	hop_buf_open(&t, p->b->env);
	hop_putn(&t, s, n);
	for (int k = 1; hop_map_get(names, t.s, t.n); k++) {
		t.n = 0;
		hop_putn(&t, s, n);
		hop_putf(&t, "_%d", k);
	}
	hop_map_put(names, t.s, t.n, s);
	s = hop_arena_str(p->tmp, t.s, t.n);
	hop_buf_free(&t);
	return s;
}

static void name_items(struct printer *p, uint32_t n, const hop_named *entry)
{
	for (uint32_t i = 0; i < n; i++) {
		const hop_graph *g = entry[i].g;
		struct item *it = hop_map_get(&p->item_of, &g, sizeof g);
		if (!it->name)
			it->name = take(p, &p->names, entry[i].name, true);
	}
	for (size_t i = 0; i < p->nitem; i++) {
		struct item *it = p->item[i];
		if (!it->name && it->g->name)
			it->name = take(p, &p->names, it->g->name, true);
	}
	for (size_t i = 0; i < p->nitem; i++)
		if (!p->item[i]->name && p->item[i]->uses > 1)
			p->item[i]->name = take(p, &p->names, "body", true);
}

static void name_syms(struct printer *p, struct scope *s)
{
	hop_map names = { .a = p->tmp };
	s->nsym = (int)(s->g->nsym + s->g->nlocal);
	s->sym = HOP_NEWN(p->tmp, const char *, s->nsym);
	hop_map_put(&names, "min", 3, p);        /* words of size expressions */
	hop_map_put(&names, "max", 3, p);
	for (int i = 0; i < s->nsym; i++)
		if (s->g->symname[i])
			s->sym[i] = take(p, &names, s->g->symname[i], false);
	for (int i = 0; i < s->nsym; i++) {
		char own[16] = "s";
		int k = 1;
		for (int d = 1000000000; d; d /= 10)
			if (i / d || d == 1)
				own[k++] = (char)('0' + i / d % 10);
		if (!s->sym[i])
			s->sym[i] = take(p, &names, own, false);
	}
}

/* ---- values of attributes ---- */

void hop_data_print(hop_buf *b, hop_dtype d, int rank, const void *bytes, int64_t count,
                    int64_t max)
{
	size_t w = hop_dtype_bytes(d);
	if (rank)
		hop_putc(b, '[');
	for (int64_t i = 0; i < count; i++) {
		if (i)
			hop_put(b, ", ");
		if (i == max) {
			hop_putf(b, "... %lld in all", (long long)count);
			break;
		}
		hop_elem_print(b, d, (const char *)bytes + (size_t)i * w);
	}
	if (rank)
		hop_putc(b, ']');
}

void hop_str_print(hop_buf *b, const char *s, size_t n)
{
	hop_putc(b, '"');
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c == '"' || c == '\\')
			hop_putf(b, "\\%c", c);
		else if (c == '\n')
			hop_put(b, "\\n");
		else if (c == '\t')
			hop_put(b, "\\t");
		else if (c < 32 || c == 127)
			hop_putf(b, "\\x%02x", c);
		else
			hop_putc(b, (char)c);
	}
	hop_putc(b, '"');
}

static void put_range(hop_buf *b, const char *name, hop_range r)
{
	hop_put(b, name);
	if (r.lo == 0 && r.hi == HOP_SIZE_MAX)
		return;
	hop_putf(b, ": %lld..", (long long)r.lo);
	if (r.hi != HOP_SIZE_MAX)
		hop_putf(b, "%lld", (long long)r.hi);
}

static void put_data(struct printer *p, const hop_data *d)
{
	hop_buf *b = p->b;
	struct data_key k;
	if (data_large(d) && !p->brief) {
		hop_putf(b, "$%llu", (unsigned long long)*data_slot(p, d, &k));
		return;
	}
	hop_dtype t = (hop_dtype)d->type->dtype;
	hop_type_print(b, d->type, NULL, 0);
	hop_putc(b, ' ');
	hop_data_print(b, t, d->type->rank, d->bytes,
	               (int64_t)(d->nbyte / hop_dtype_bytes(t)), p->brief ? p->brief : DATA_INLINE);
}

static void put_value(struct printer *p, const struct scope *s, int kind, const void *at)
{
	hop_buf *b = p->b;
	switch (kind) {
	case HOP_AK_int:
	case HOP_AK_count:
		hop_putf(b, "%lld", (long long)*(const int64_t *)at);
		break;
	case HOP_AK_bool:
		hop_put(b, *(const int64_t *)at ? "true" : "false");
		break;
	case HOP_AK_f64:
		hop_elem_print(b, HOP_f64, at);
		break;
	case HOP_AK_dtype:
		hop_put(b, hop_dtype_name((hop_dtype)*(const int64_t *)at));
		break;
	case HOP_AK_mode:
	case HOP_AK_how:
	case HOP_AK_save: {
		int n;
		const char *const *word = hop_attr_words(kind, &n);
		int64_t v = *(const int64_t *)at;
		HOP_ASSERT(v >= 0 && v < n);
		hop_put(b, word[v]);
		break;
	}
	case HOP_AK_ints: {
		const hop_ints *v = at;
		hop_putc(b, '[');
		for (int64_t i = 0; i < v->n; i++)
			hop_putf(b, "%s%lld", i ? ", " : "", (long long)v->v[i]);
		hop_putc(b, ']');
		break;
	}
	case HOP_AK_size:
	case HOP_AK_length:
		hop_size_print(b, *(const hop_size *)at, s->sym, s->nsym);
		break;
	case HOP_AK_sizes:
	case HOP_AK_sargs: {
		const hop_sizes *v = at;
		hop_putc(b, '[');
		for (int64_t i = 0; i < v->n; i++) {
			hop_put(b, i ? ", " : "");
			hop_size_print(b, v->v[i], s->sym, s->nsym);
		}
		hop_putc(b, ']');
		break;
	}
	case HOP_AK_types: {
		const hop_types *v = at;
		const hop_size *d = v->dim;
		hop_putc(b, '[');
		for (int64_t i = 0; i < v->n; d += v->head[2 * i + 1], i++) {
			hop_put(b, i ? ", " : "");
			hop_type_print(b, hop_type_get(b->env, (hop_dtype)v->head[2 * i],
			                               (int)v->head[2 * i + 1], d), s->sym, s->nsym);
		}
		hop_putc(b, ']');
		break;
	}
	case HOP_AK_str: {
		const hop_str *v = at;
		hop_str_print(b, v->s, (size_t)v->n);
		break;
	}
	case HOP_AK_data:
		put_data(p, *(const hop_data *const *)at);
		break;
	case HOP_AK_sym: {
		int64_t k = *(const int64_t *)at;
		put_range(b, s->sym[k], s->g->range[k]);
		break;
	}
	case HOP_AK_graph: {
		struct item *it = hop_map_get(&p->item_of, at, sizeof(hop_graph *));
		hop_putf(b, "@%s", it->name);
		break;
	}
	default:
		HOP_ASSERT(!"attribute kind");
	}
}

void hop_field_print(hop_buf *b, const hop_graph *g, const hop_node *n, int i)
{
	hop_arena *tmp = &b->env->tmp;
	hop_mark m = hop_mark_at(tmp);
	struct printer p = { .b = b, .tmp = tmp };
	struct scope s = { .g = g };
	name_syms(&p, &s);
	put_value(&p, &s, hop_optab[n->op].field[i].kind, field_at(n, i));
	hop_rewind(tmp, m);
}

/* ---- nodes ---- */

/* The field's word in the text: C keywords have a _ that the text does without. */
void hop_field_word(hop_buf *b, const char *name)
{
	size_t n = strlen(name);
	hop_putn(b, name, n && name[n - 1] == '_' ? n - 1 : n);
}

static const struct item *item_of(struct printer *p, const hop_graph *g)
{
	return g ? hop_map_get(&p->item_of, &g, sizeof g) : NULL;
}

/* Bodies that stand in braces behind the node: those without a name, and all of a list. */
static bool in_place(struct printer *p, const hop_graph *g, int kind)
{
	return g && (kind == HOP_AK_graphs || !item_of(p, g)->name);
}

/* What the parser puts when the attribute is not there, it leaves out. */
static bool left_out(struct printer *p, const struct scope *s, const hop_node *n, int i)
{
	const hop_field *f = &hop_optab[n->op].field[i];
	const void *at = field_at(n, i);
	if (f->kind == HOP_AK_graphs)
		return true;
	if (f->kind == HOP_AK_graph) {
		const hop_graph *g = *(const hop_graph *const *)at;
		return !g || in_place(p, g, f->kind);
	}
	if (f->kind == HOP_AK_bool || f->kind == HOP_AK_how || f->kind == HOP_AK_count ||
	    f->kind == HOP_AK_save || (f->kind == HOP_AK_dtype && f->may_lack))
		return !*(const int64_t *)at;
	if (f->kind == HOP_AK_str && f->may_lack)
		return !((const hop_str *)at)->n;
	if (f->kind == HOP_AK_f64 && f->may_lack)
		return *(const double *)at == 0;
	if (f->kind == HOP_AK_ints && f->may_lack)
		return !((const hop_ints *)at)->n;
	if (f->kind == HOP_AK_sym)
		return *(const int64_t *)at < 0;
	if (f->kind != HOP_AK_sargs)
		return false;
	hop_graphs sub = hop_node_subs(n);
	hop_sizes v = *(const hop_sizes *)at;
	if (!sub.n || !sub.v[0] || !sub.v[0]->nsym)
		return v.n == 0;
	bool same = v.n == s->g->nsym;
	for (int64_t k = 0; same && k < v.n; k++)
		same = hop_size_eq(v.v[k], hop_size_sym(p->b->env, (int)k));
	return same;
}

static void put_attrs(struct printer *p, const struct scope *s, const hop_node *n)
{
	bool any = false;
	for (int i = 0; i < hop_optab[n->op].nfield; i++) {
		const hop_field *f = &hop_optab[n->op].field[i];
		if (left_out(p, s, n, i))
			continue;
		hop_put(p->b, any ? ", " : " {");
		any = true;
		hop_field_word(p->b, f->name);
		hop_put(p->b, " = ");
		put_value(p, s, f->kind, field_at(n, i));
	}
	if (any)
		hop_putc(p->b, '}');
}

static void put_indent(hop_buf *b, int depth)
{
	while (depth--)
		hop_put(b, "  ");
}

bool hop_loc_print(hop_buf *b, hop_ctx *c, hop_loc at)
{
	const char *file;
	int line;
	hop_loc in;
	if (!hop_loc_read(c, at, &file, &line, &in))
		return false;
	for (; *file; file++)                      /* it must stay on its line */
		hop_putc(b, *file == '\n' ? ' ' : *file);
	hop_putf(b, ":%d", line);
	return true;
}

static void put_loc(struct printer *p, const struct scope *s, hop_loc at)
{
	const char *file;
	int line;
	hop_loc in;
	if (p->flags & HOP_PRINT_LOCS && hop_loc_read(s->g->ctx, at, &file, &line, &in)) {
		hop_put(p->b, "  # ");
		hop_loc_print(p->b, s->g->ctx, at);
	}
	hop_putc(p->b, '\n');
}

static void put_graph(struct printer *p, const hop_graph *g, int depth);

static void put_bodies(struct printer *p, const hop_node *n, int depth)
{
	hop_graphs sub = hop_node_subs(n);
	const hop_field *f = hop_node_subfield(n, 0);
	for (int64_t i = 0; i < sub.n; i++) {
		if (!in_place(p, sub.v[i], f->kind))
			continue;
		put_indent(p->b, depth);
		hop_field_word(p->b, hop_node_subfield(n, (int)i)->name);
		if (item_of(p, sub.v[i])->name)
			hop_putf(p->b, " @%s\n", item_of(p, sub.v[i])->name);
		else
			put_graph(p, sub.v[i], depth);
	}
}

static void put_vals(hop_buf *b, uint32_t n, const hop_val *v)
{
	for (uint32_t i = 0; i < n; i++)
		hop_putf(b, "%s%%%u", i ? ", " : "", v[i].id);
}

static void put_node(struct printer *p, const struct scope *s, const hop_node *n,
                     int depth)
{
	hop_buf *b = p->b;
	put_indent(b, depth);
	for (uint32_t i = 0; i < n->nout; i++)
		hop_putf(b, "%s%%%u", i ? ", " : "", n->out0.id + i);
	hop_putf(b, "%s%s%s", n->nout ? " = " : "", hop_optab[n->op].name, n->nin ? " " : "");
	put_vals(b, n->nin, n->in);
	put_attrs(p, s, n);
	for (uint32_t i = 0; i < n->nout; i++) {
		hop_put(b, i ? ", " : " : ");
		hop_type_print(b, s->g->type[n->out0.id + i], s->sym, s->nsym);
	}
	bool bodies = false;
	hop_graphs sub = hop_node_subs(n);
	for (int64_t i = 0; i < sub.n; i++)
		bodies |= in_place(p, sub.v[i], hop_node_subfield(n, 0)->kind);
	if (bodies)
		hop_put(b, " {");
	put_loc(p, s, n->loc);
	if (bodies) {
		put_bodies(p, n, depth + 1);
		put_indent(b, depth);
		hop_put(b, "}\n");
	}
}

/* ---- graphs ---- */

static void put_header(struct printer *p, const struct scope *s)
{
	hop_buf *b = p->b;
	const hop_graph *g = s->g;
	for (uint32_t i = 0; i < g->nsym; i++) {
		hop_put(b, i ? ", " : "<");
		put_range(b, s->sym[i], g->range[i]);
	}
	hop_put(b, g->nsym ? ">(" : "(");
	for (uint32_t i = 0; i < g->nparam; i++) {
		hop_putf(b, "%s%%%u: ", i ? ", " : "", i);
		hop_type_print(b, g->type[i], s->sym, s->nsym);
	}
	hop_put(b, g->nout ? ") -> " : ") -> ()");
	for (uint32_t i = 0; i < g->nout; i++) {
		hop_put(b, i ? ", " : "");
		hop_type_print(b, hop_graph_out_type(g, i), s->sym, s->nsym);
	}
	hop_put(b, " {\n");
}

/* From after the name on. */
static void put_graph(struct printer *p, const hop_graph *g, int depth)
{
	struct scope s = { .g = g };
	hop_buf *b = p->b;
	name_syms(p, &s);
	put_header(p, &s);
	for (uint32_t i = 0; i < g->ncheck; i++) {
		put_indent(b, depth + 1);
		hop_put(b, "check ");
		hop_size_print(b, g->check[i].a, s.sym, s.nsym);
		hop_put(b, g->check[i].rel == HOP_EQ ? " == " : " <= ");
		hop_size_print(b, g->check[i].b, s.sym, s.nsym);
		put_loc(p, &s, g->check[i].loc);
	}
	for (uint32_t i = 0; i < g->nnode; i++)
		put_node(p, &s, &g->node[i], depth + 1);
	put_indent(b, depth + 1);
	hop_put(b, g->nout ? "return " : "return");
	put_vals(b, g->nout, g->out);
	hop_putc(b, '\n');
	put_indent(b, depth);
	hop_put(b, "}\n");
}

static void put_section(struct printer *p)
{
	for (size_t i = 0; i < p->ndata; i++) {
		const hop_data *d = p->data[i];
		const unsigned char *s = d->bytes;
		hop_putf(p->b, "data $%zu ", i);
		hop_type_print(p->b, d->type, NULL, 0);
		for (size_t k = 0; k < d->nbyte; k++)
			hop_putf(p->b, "%s%02x%s", k % HEX_LINE ? "" : "\n  \"", s[k],
			         k % HEX_LINE == HEX_LINE - 1 || k + 1 == d->nbyte ? "\"" : "");
		hop_putc(p->b, '\n');
	}
}

void hop_entries_print(hop_buf *b, uint32_t n, const hop_named *entry, int flags)
{
	hop_arena *tmp = &b->env->tmp;
	hop_mark m = hop_mark_at(tmp);
	struct printer p = { .b = b, .tmp = tmp, .flags = flags, .item_of.a = tmp,
	                     .names.a = tmp, .data_of.a = tmp };
	for (uint32_t i = 0; i < n; i++)
		add_graph(&p, entry[i].g);
	name_items(&p, n, entry);
	hop_put(b, "hop 1\n");
	put_section(&p);
	for (size_t i = 0; i < p.nitem; i++) {
		if (!p.item[i]->name)
			continue;
		hop_putf(b, "graph @%s", p.item[i]->name);
		put_graph(&p, p.item[i]->g, 0);
	}
	hop_rewind(tmp, m);
}

void hop_graph_print(hop_buf *b, const hop_graph *g)
{
	hop_named one = { g->name ? g->name : "main", (hop_graph *)(uintptr_t)g };
	hop_entries_print(b, 1, &one, 0);
}

/* ---- pieces, for those who print otherwise ---- */

const char *const *hop_graph_symbols(hop_env *e, const hop_graph *g)
{
	struct printer p = { .tmp = &e->tmp };
	struct scope s = { .g = g };
	hop_buf unused;
	hop_buf_open(&unused, e);              /* where take() finds the env */
	p.b = &unused;
	name_syms(&p, &s);
	hop_buf_free(&unused);
	return s.sym;
}

void hop_symbol_print(hop_buf *b, const hop_graph *g, const char *const *sym, uint32_t i)
{
	put_range(b, sym[i], g->range[i]);
}

void hop_attrs_print(hop_buf *b, const hop_graph *g, const char *const *sym, const hop_node *n,
                     int64_t most)
{
	struct printer p = { .b = b, .tmp = &b->env->tmp, .brief = most };
	struct scope s = { .g = g, .sym = (const char **)(uintptr_t)sym,
	                   .nsym = (int)(g->nsym + g->nlocal) };
	bool any = false;
	for (int i = 0; i < hop_optab[n->op].nfield; i++) {
		const hop_field *f = &hop_optab[n->op].field[i];
		if (f->kind == HOP_AK_graph || f->kind == HOP_AK_graphs || left_out(&p, &s, n, i))
			continue;
		hop_put(b, any ? ", " : "");
		any = true;
		hop_field_word(b, f->name);
		hop_put(b, " = ");
		put_value(&p, &s, f->kind, field_at(n, i));
	}
}
