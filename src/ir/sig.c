/* sig.c -- reading signatures. Knows no operator by name: the rows of hops.def are data. */
#include "ir/sig.h"

#include <stddef.h>

#include "ir/rule.h"

enum how { HOW_END, HOW_ONE, HOW_IF, HOW_N, HOW_REST, HOW_AS, HOW_FLOATS };

struct place {
	uint8_t  role, how;
	uint16_t attr;               /* offset of the attribute, for IF and N */
};

struct list {
	const struct place *in, *out;
	bool                run;
};

/* The attributes of one row, as `T`, give the offsets: a wrong name does not compile. */
#define ONE(r)     { HOP_R_##r, HOW_ONE, 0 },
#define IF(r, a)   { HOP_R_##r, HOW_IF, offsetof(T, a) },
#define N(r, a)    { HOP_R_##r, HOW_N, offsetof(T, a) },
#define REST(r)    { HOP_R_##r, HOW_REST, 0 },
#define AS(r)      { HOP_R_##r, HOW_AS, 0 },
#define ROW(r)     AS(r)
#define FLOATS(r)  { HOP_R_d##r, HOW_FLOATS, 0 },
#define END        { HOP_R_none, HOW_END, 0 }

static struct list node_list(int op)
{
#define HOP_HOP(...)
#define HOP_BODY(...)
#define HOP_SIG(name, in_, out_) \
	if (op == HOP_OP_##name) { \
		typedef struct hop_attr_##name T; \
		static const struct place in[] = { in_ END }, out[] = { out_ END }; \
		(void)sizeof(T); \
		return (struct list){ in, out, true }; \
	}
#include "ir/hops.def"
#undef HOP_SIG
#undef HOP_BODY
	HOP_ASSERT(!"an operator without a signature");
	return (struct list){ NULL, NULL, false };
}

#define WHEN_run true
#define WHEN_rule false

/* at: offset of the field that holds the body. */
static struct list body_list(int op, size_t at)
{
#define HOP_SIG(...)
#define HOP_BODY(name, body, when, in_, out_) \
	if (op == HOP_OP_##name && at == offsetof(struct hop_attr_##name, body)) { \
		typedef struct hop_attr_##name T; \
		static const struct place in[] = { in_ END }, out[] = { out_ END }; \
		(void)sizeof(T); \
		return (struct list){ in, out, WHEN_##when }; \
	}
#include "ir/hops.def"
#undef HOP_BODY
#undef HOP_SIG
#undef HOP_HOP
	HOP_ASSERT(!"a body without a signature");
	return (struct list){ NULL, NULL, false };
}

/* What the counts of a list rest on. */
struct source {
	const void      *attr;
	const hop_roles *node;       /* the node's own lists */
	const hop_graph *first;      /* of a list of a body: the node's first body */
};

static int64_t floats(const struct source *s)
{
	int64_t n = 0;
	hop_span p = s->node->in.same;
	for (uint32_t i = 0; i < p.n; i++)
		n += hop_dtype_float((hop_dtype)s->first->type[i]->dtype);
	return n;
}

/* How many values a place takes, REST counting none. */
static int64_t many(const struct place *p, const struct source *s)
{
	int64_t a = *(const int64_t *)((const char *)s->attr + p->attr);
	const hop_roles *node = s->node;
	switch (p->how) {
	case HOW_ONE:    return 1;
	case HOW_IF:     return a != 0;
	case HOW_N:      return a;
	case HOW_FLOATS: return floats(s);
	case HOW_AS:     return node->in.by[p->role].n ? node->in.by[p->role].n
	                                               : node->out.by[p->role].n;
	default:         return 0;
	}
}

static bool read(const struct place *p, const struct source *s, uint32_t total,
                 hop_spans *out)
{
	int64_t sum = 0, at = 0;
	*out = (hop_spans){ .n = 0 };
	for (const struct place *q = p; q->how; q++) {
		int64_t n = many(q, s);
		if (n < 0 || n > total || (sum += n) > total)
			return false;
	}
	for (const struct place *q = p; q->how; q++) {
		int64_t n = q->how == HOW_REST ? total - sum : many(q, s);
		out->by[q->role] = (hop_span){ (uint32_t)at, (uint32_t)n };
		out->order[out->n++] = q->role;
		at += n;
	}
	return at == total;
}

bool hop_sig_read(int op, const void *attr, uint32_t nin, uint32_t nout, hop_roles *r)
{
	struct list l = node_list(op);
	struct source s = { attr, r, NULL };
	*r = (hop_roles){ .run = true };
	if (!read(l.in, &s, nin, &r->in))
		return false;
	for (const struct place *p = l.in; p->how; p++)
		r->loop |= p->role == HOP_R_carry || p->role == HOP_R_x;
	r->lead = r->in.count.n + r->in.pred.n + r->in.index.n;
	return read(l.out, &s, nout, &r->out);
}

void hop_node_roles(const hop_node *n, hop_roles *r)
{
	bool ok = hop_sig_read(n->op, n->attr, n->nin, n->nout, r);
	HOP_ASSERT(ok);
}

static struct list list_of(const hop_node *n, int i)
{
	const hop_field *f = hop_node_subfield(n, i);
	return body_list(n->op, hop_attr_offset(n->op, (int)(f - hop_optab[n->op].field)));
}

bool hop_sig_runs(const hop_node *n, int i)
{
	return list_of(n, i).run;
}

void hop_body_roles(const hop_node *n, int i, hop_roles *r)
{
	hop_roles node;
	hop_graphs sub = hop_node_subs(n);
	struct list l = list_of(n, i);
	hop_node_roles(n, &node);
	struct source s = { n->attr, &node, sub.v[0] };
	*r = (hop_roles){ .run = l.run };
	if (!sub.v[i])
		return;
	read(l.in, &s, sub.v[i]->nparam, &r->in);
	read(l.out, &s, sub.v[i]->nout, &r->out);
}

void hop_sig_count(int op, void *attr, enum hop_role role, uint32_t n)
{
	for (const struct place *p = node_list(op).in; p->how; p++)
		if (p->role == role && (p->how == HOW_N || p->how == HOW_IF))
			*(int64_t *)((char *)attr + p->attr) = n;
}

bool hop_sig_gives(const hop_roles *body)
{
	return body->run && !body->out.go.n;
}

uint32_t hop_sig_result(const hop_roles *node, const hop_roles *body, uint32_t k)
{
	for (int i = 0; i < body->out.n; i++) {
		hop_span b = body->out.by[body->out.order[i]], n = node->out.by[body->out.order[i]];
		if (k >= b.at && k < b.at + b.n)
			return k - b.at < n.n ? n.at + k - b.at : UINT32_MAX;
	}
	return UINT32_MAX;
}
