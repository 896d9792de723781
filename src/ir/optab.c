/* optab.c -- the table of ops, read from ops.def and hops.def, and the generic walk over
 * attributes that the table makes possible. Knows no op by name. */
#include "ir/rule.h"
#include "ir/sig.h"

#include <string.h>

#define A(kind, name) { HOP_AK_##kind, false, #name },
#define D(kind, name) { HOP_AK_##kind, true, #name },
#define HOP_OP(name, in, out, flags, attrs, ...) \
	static const hop_field fields_##name[] = { attrs { HOP_AK_none, false, NULL } };
#include "ir/ops.def"
#undef HOP_OP
#undef D
#undef A

const hop_opinfo hop_optab[HOP_NOPS] = {
	[HOP_OP_nop] = { .name = "nop", .field = fields_add },
#define HOP_OP(name_, in_, out_, flags_, attrs_, infer_, eval_, jvp_, vjp_, batch_, lower_) \
	[HOP_OP_##name_] = { \
		.name = #name_, .nin = in_, .nout = out_, .flags = HOP_F_##flags_, \
		.field = fields_##name_, \
		.nfield = sizeof fields_##name_ / sizeof(hop_field) - 1, \
		.infer = hop_infer_##infer_, .eval = hop_eval_##eval_, \
		.jvp = hop_jvp_##jvp_, .vjp = hop_vjp_##vjp_, .batch = hop_batch_##batch_, \
		.lower = hop_lower_##lower_, \
		.cell = { #infer_, #eval_, #jvp_, #vjp_, #batch_, #lower_ } },
#include "ir/ops.def"
#undef HOP_OP
};

/* Second rows: empty for plain ops. */
const hop_hopinfo hop_hoptab[HOP_NOPS] = {
#define HOP_SIG(...)
#define HOP_BODY(...)
#define HOP_HOP(name_, active_, fwd_, bwd_) \
	[HOP_OP_##name_] = { hop_active_##active_, hop_fwd_##fwd_, hop_bwd_##bwd_ },
#include "ir/hops.def"
#undef HOP_HOP
#undef HOP_BODY
#undef HOP_SIG
};

static const size_t kind_bytes[] = {
#define K(n, t) [HOP_AK_##n] = sizeof(t),
	HOP_ATTR_KINDS(K)
#undef K
};

size_t hop_attr_offset(int op, int field)
{
	size_t at = 0;
	for (int i = 0; i < field; i++)
		at += kind_bytes[hop_optab[op].field[i].kind];
	return at;
}

size_t hop_attr_bytes(int op)
{
	return hop_attr_offset(op, hop_optab[op].nfield) + sizeof(int64_t);
}

/* The rule that makes hop_attr_offset true. */
#define HOP_OP(name, in, out, flags, attrs, ...) \
	_Static_assert(sizeof(struct hop_attr_##name) % 8 == 0, "attribute structs are packed");
#define A(kind, name)
#define D(kind, name)
#include "ir/ops.def"
#undef D
#undef A
#undef HOP_OP

/* The first field that holds bodies, or -1. */
static int first_sub(int op)
{
	if (hop_optab[op].flags & HOP_F_R)
		for (int i = 0; i < hop_optab[op].nfield; i++)
			if (hop_optab[op].field[i].kind == HOP_AK_graph ||
			    hop_optab[op].field[i].kind == HOP_AK_graphs)
				return i;
	return -1;
}

static hop_graphs subs(int op, const void *attr)
{
	int i = first_sub(op), n = 0;
	if (i < 0)
		return (hop_graphs){ 0, NULL };
	const void *p = (const char *)attr + hop_attr_offset(op, i);
	if (hop_optab[op].field[i].kind == HOP_AK_graphs)
		return *(const hop_graphs *)p;
	while (hop_optab[op].field[i + n].kind == HOP_AK_graph)
		n++;
	return (hop_graphs){ n, p };
}

hop_graphs hop_node_subs(const hop_node *n)
{
	return subs(n->op, n->attr);
}

const hop_field *hop_node_subfield(const hop_node *n, int i)
{
	const hop_field *f = &hop_optab[n->op].field[first_sub(n->op)];
	return f->kind == HOP_AK_graphs ? f : f + i;
}

const hop_graph **hop_attr_subs(int op, void *attr, int *out_n)
{
	hop_graphs s = subs(op, attr);
	*out_n = (int)s.n;
	return (const hop_graph **)(uintptr_t)s.v;
}

hop_sizes hop_attr_sizes(int op, const void *attr, int field)
{
	const void *p = (const char *)attr + hop_attr_offset(op, field);
	switch (hop_optab[op].field[field].kind) {
	case HOP_AK_size:
	case HOP_AK_length:
		return (hop_sizes){ 1, p };
	case HOP_AK_sizes:
	case HOP_AK_sargs:
		return *(const hop_sizes *)p;
	case HOP_AK_types:
		return (hop_sizes){ ((const hop_types *)p)->ndim, ((const hop_types *)p)->dim };
	default:
		return (hop_sizes){ 0, NULL };
	}
}

/* The field of this kind, or NULL; only for kinds that a row has once at most. */
static void *only(int op, const void *attr, int kind)
{
	for (int i = 0; i < hop_optab[op].nfield; i++)
		if (hop_optab[op].field[i].kind == kind)
			return (char *)(uintptr_t)attr + hop_attr_offset(op, i);
	return NULL;
}

hop_sizes hop_node_sargs(const hop_node *n)
{
	const hop_sizes *s = only(n->op, n->attr, HOP_AK_sargs);
	return s ? *s : (hop_sizes){ 0, NULL };
}

void hop_attr_set_sargs(int op, void *attr, hop_sizes s)
{
	*(hop_sizes *)only(op, attr, HOP_AK_sargs) = s;
}

const hop_size *hop_attr_length(int op, const void *attr)
{
	return only(op, attr, HOP_AK_length);
}

bool hop_node_effect(const hop_node *n)
{
	hop_graphs sub = hop_node_subs(n);
	if (hop_optab[n->op].flags & HOP_F_X)
		return true;
	for (int i = 0; i < sub.n; i++)
		if (sub.v[i] && sub.v[i]->has_effect && hop_sig_runs(n, i))
			return true;
	return false;
}

bool hop_node_acts(const hop_node *n)
{
	hop_graphs sub = hop_node_subs(n);
	if (hop_optab[n->op].flags & HOP_F_X)
		return n->op != HOP_OP_progress;
	for (int i = 0; i < sub.n; i++)
		if (sub.v[i] && sub.v[i]->acts)
			return true;
	return false;
}

/* What a hook tells is a mark until a gradient has asked for it. */
static uint16_t tells(const hop_node *n)
{
	const struct hop_attr_hook *a = HOP_ATTR(n, hook);
	return a->tells.n && !a->ntold ? HOP_HOLDS_MARK : 0;
}

/* What it holds by itself, as its row says, its traits, and its attributes. */
static uint16_t own_holds(const hop_node *n)
{
	static const uint16_t row[HOP_NOPS] = {
		[HOP_OP_retain_grad] = HOP_HOLDS_MARK, [HOP_OP_watch] = HOP_HOLDS_WATCH,
		[HOP_OP_print] = HOP_HOLDS_PRINT, [HOP_OP_name] = HOP_HOLDS_NAME,
		[HOP_OP_packed] = HOP_HOLDS_NAME, [HOP_OP_checkpoint] = HOP_HOLDS_NAME,
		[HOP_OP_hook] = HOP_HOLDS_HOOK
	};
	int flags = hop_optab[n->op].flags;
	uint16_t holds = row[n->op];
	if (flags & HOP_F_W)
		holds |= flags & HOP_F_X ? HOP_HOLDS_HOST | HOP_HOLDS_ASKS : HOP_HOLDS_HOST;
	if (n->op == HOP_OP_hook)
		holds |= tells(n);
	if ((n->op == HOP_OP_call && HOP_ATTR(n, call)->unroll) ||
	    (n->op == HOP_OP_scan && HOP_ATTR(n, scan)->unroll))
		holds |= HOP_HOLDS_UNROLL;
	return holds;
}

uint16_t hop_node_holds(const hop_node *n)
{
	hop_graphs sub = hop_node_subs(n);
	uint16_t holds = own_holds(n);
	if (hop_optab[n->op].flags & HOP_F_X)
		holds |= HOP_HOLDS_EFFECT;
	for (int i = 0; i < sub.n; i++)
		if (sub.v[i])
			holds |= sub.v[i]->holds;
	return holds;
}

hop_ints hop_node_writes(const hop_node *n)
{
	const hop_opinfo *o = &hop_optab[n->op];
	for (int i = 0; o->flags & HOP_F_W && i < o->nfield; i++)
		if (o->field[i].kind == HOP_AK_ints && !strcmp(o->field[i].name, "writes"))
			return *(const hop_ints *)((const char *)n->attr + hop_attr_offset(n->op, i));
	return (hop_ints){ 0, NULL };
}

int64_t *hop_attr_sym(int op, void *attr)
{
	return only(op, attr, HOP_AK_sym);
}

int64_t hop_node_binds(const hop_node *n)
{
	const int64_t *s = hop_attr_sym(n->op, (void *)(uintptr_t)n->attr);
	return s ? *s : -1;
}

static bool sizes_equal(hop_sizes a, hop_sizes b)
{
	if (a.n != b.n)
		return false;
	for (int64_t i = 0; i < a.n; i++)
		if (!hop_size_eq(a.v[i], b.v[i]))
			return false;
	return true;
}

static bool data_equal(const hop_data *a, const hop_data *b)
{
	return a == b || (a->type == b->type && a->nbyte == b->nbyte &&
	                  !memcmp(a->bytes, b->bytes, a->nbyte));
}

/* One field of kind k at p and q. */
static bool field_equal(int k, const void *p, const void *q)
{
	switch (k) {
	case HOP_AK_ints: {
		const hop_ints *a = p, *b = q;
		return a->n == b->n && !memcmp(a->v, b->v, (size_t)a->n * sizeof *a->v);
	}
	case HOP_AK_size:
	case HOP_AK_length:
		return hop_size_eq(*(const hop_size *)p, *(const hop_size *)q);
	case HOP_AK_sizes:
	case HOP_AK_sargs:
		return sizes_equal(*(const hop_sizes *)p, *(const hop_sizes *)q);
	case HOP_AK_types: {
		const hop_types *a = p, *b = q;
		return a->n == b->n &&
		       !memcmp(a->head, b->head, 2 * (size_t)a->n * sizeof *a->head) &&
		       sizes_equal((hop_sizes){ a->ndim, a->dim }, (hop_sizes){ b->ndim, b->dim });
	}
	case HOP_AK_str: {
		const hop_str *a = p, *b = q;
		return a->n == b->n && (!a->n || !memcmp(a->s, b->s, (size_t)a->n));
	}
	case HOP_AK_data:
		return data_equal(*(const hop_data *const *)p, *(const hop_data *const *)q);
	case HOP_AK_graphs: {
		const hop_graphs *a = p, *b = q;
		return a->n == b->n && !memcmp(a->v, b->v, (size_t)a->n * sizeof *a->v);
	}
	default:
		return !memcmp(p, q, kind_bytes[k]);      /* scalars, and interned graphs */
	}
}

int hop_attr_differ(int op, const void *a, const void *b)
{
	for (int i = 0; i < hop_optab[op].nfield; i++) {
		size_t at = hop_attr_offset(op, i);
		if (!field_equal(hop_optab[op].field[i].kind, (const char *)a + at,
		                 (const char *)b + at))
			return i;
	}
	return -1;
}

bool hop_attr_equal(int op, const void *a, const void *b)
{
	if (!a || !b)
		return a == b;
	return hop_attr_differ(op, a, b) < 0;
}

#define M(name) #name,
static const char *const modes[] = { HOP_MODES(M) };
static const char *const hows[] = { HOP_HOWS(M) };
static const char *const saves[] = { HOP_SAVES(M) };
#undef M

const char *const *hop_attr_words(int kind, int *out_n)
{
	*out_n = kind == HOP_AK_mode ? HOP_NMODE : kind == HOP_AK_how ? HOP_NHOW
	       : kind == HOP_AK_save ? HOP_NSAVE : 0;
	return kind == HOP_AK_mode ? modes : kind == HOP_AK_how ? hows
	     : kind == HOP_AK_save ? saves : NULL;
}

static hop_size subst(hop_env *e, hop_size s, const hop_size *map, int nmap)
{
	return nmap >= 0 ? hop_size_subst(e, s, map, nmap) : s;
}

static const hop_size *sizes_copy(hop_env *e, hop_arena *a, hop_sizes s, const hop_size *map,
                                  int nmap)
{
	hop_size *w = HOP_NEWN(a, hop_size, s.n);
	for (int64_t k = 0; k < s.n; k++)
		w[k] = subst(e, s.v[k], map, nmap);
	return w;
}

static const hop_data *data_copy(hop_arena *a, const hop_data *d)
{
	hop_data *c = HOP_NEW(a, hop_data);
	c->type = d->type;
	c->nbyte = d->nbyte;
	c->bytes = hop_arena_dup(a, d->bytes, d->nbyte);
	return c;
}

void *hop_attr_copy(hop_env *e, hop_arena *a, int op, const void *attr,
                    const hop_size *map, int nmap)
{
	if (!hop_optab[op].nfield)
		return NULL;
	HOP_ASSERT(attr);
	char *c = hop_arena_alloc(a, hop_attr_bytes(op));
	memcpy(c, attr, hop_attr_bytes(op) - sizeof(int64_t));
	for (int i = 0; i < hop_optab[op].nfield; i++) {
		void *p = c + hop_attr_offset(op, i);
		switch (hop_optab[op].field[i].kind) {
		case HOP_AK_ints: {
			hop_ints *v = p;
			v->v = hop_arena_dup(a, v->v, (size_t)v->n * sizeof *v->v);
			break;
		}
		case HOP_AK_str: {
			hop_str *v = p;
			v->s = hop_arena_str(a, v->s, (size_t)v->n);
			break;
		}
		case HOP_AK_size:
		case HOP_AK_length:
			*(hop_size *)p = subst(e, *(hop_size *)p, map, nmap);
			break;
		case HOP_AK_sizes:
		case HOP_AK_sargs:
			((hop_sizes *)p)->v = sizes_copy(e, a, *(hop_sizes *)p, map, nmap);
			break;
		case HOP_AK_types: {
			hop_types *v = p;
			v->dim = sizes_copy(e, a, (hop_sizes){ v->ndim, v->dim }, map, nmap);
			v->head = hop_arena_dup(a, v->head, 2 * (size_t)v->n * sizeof *v->head);
			break;
		}
		case HOP_AK_graphs: {
			hop_graphs *v = p;
			v->v = hop_arena_dup(a, v->v, (size_t)v->n * sizeof *v->v);
			break;
		}
		case HOP_AK_data:
			*(const hop_data **)p = data_copy(a, *(const hop_data **)p);
			break;
		}
	}
	return c;
}
