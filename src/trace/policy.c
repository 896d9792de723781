/* policy.c -- what is saved of a checkpoint's body: by lists of names, ops and classes, and by asking
 * the user. The answers are made a part of the graph by checkpoint.c. */
#include "trace/checkpoint.h"

#include <string.h>

#define WORDS "there are names of ops (hop ops), the classes heavy, reductions, elementwise, random, " \
	"operators and all, and names of values behind a colon"

static bool is(const char *cell, const char *word)
{
	return !strcmp(cell, word);
}

/* Is an op of the class? */
static bool in_class(int op, const char *word, size_t n)
{
	const hop_opinfo *o = &hop_optab[op];
	static const struct { const char *name; int flag; } by_flag[] = {
		{ "heavy", HOP_F_H }, { "elementwise", HOP_F_E }, { "operators", HOP_F_R },
	};
	for (size_t i = 0; i < sizeof by_flag / sizeof *by_flag; i++)
		if (strlen(by_flag[i].name) == n && !memcmp(word, by_flag[i].name, n))
			return o->flags & by_flag[i].flag;
	if (n == 10 && !memcmp(word, "reductions", n))
		return is(o->cell[0], "reduce") || is(o->cell[0], "argmax");
	if (n == 6 && !memcmp(word, "random", n))
		return is(o->cell[4], "random");
	return n == 3 && !memcmp(word, "all", n);
}

/* The next word of a list, without blanks around it; false at its end. */
static bool next(const char **at, const char **out, size_t *out_n)
{
	const char *s = *at;
	if (!s || !*s)
		return false;
	size_t n = strcspn(s, ",");
	*at = s + n + (s[n] == ',');
	while (n && *s == ' ')
		s++, n--;
	while (n && s[n - 1] == ' ')
		n--;
	*out = s;
	*out_n = n;
	return true;
}

static bool means(const char *word, size_t n)
{
	for (int op = 1; op < HOP_NOPS; op++)
		if ((strlen(hop_optab[op].name) == n && !memcmp(hop_optab[op].name, word, n)) ||
		    in_class(op, word, n))
			return true;
	return n > 1 && *word == ':';
}

struct list { const char *name, *words; hop_saving how; };

static void lists_of(const hop_checkpoint_opts *o, struct list *l)
{
	l[0] = (struct list){ "must_save", o->must_save, HOP_MUST_SAVE };
	l[1] = (struct list){ "prefer_save", o->prefer_save, HOP_PREFER_SAVE };
	l[2] = (struct list){ "must_recompute", o->must_recompute, HOP_MUST_RECOMPUTE };
	l[3] = (struct list){ "prefer_recompute", o->prefer_recompute, HOP_PREFER_RECOMPUTE };
}

/* Does an earlier list have the word? */
static const char *twice(const struct list *l, int k, const char *word, size_t n)
{
	const char *w;
	size_t m;
	for (int i = 0; i < k; i++)
		for (const char *at = l[i].words; next(&at, &w, &m); )
			if (n == m && !memcmp(w, word, n))
				return l[i].name;
	return NULL;
}

bool hop_policy_check(hop_trace *t, const hop_checkpoint_opts *o)
{
	struct list l[4];
	const char *w, *other;
	size_t n;
	lists_of(o, l);
	for (int i = 0; i < 4; i++)
		for (const char *at = l[i].words; next(&at, &w, &n); ) {
			if (!means(w, n)) {
				hop_trace_fail(t, HOP_EVALUE, "%s: %s: %.*s is no word of a policy: %s", t->op,
				               l[i].name, (int)n, n ? w : "nothing", WORDS);
				return false;
			}
			other = twice(l, i, w, n);
			if (other) {
				hop_trace_fail(t, HOP_EVALUE, "%s: %.*s is in %s and in %s", t->op, (int)n, w, other,
				               l[i].name);
				return false;
			}
		}
	if (!(o->budget >= 0 && o->budget <= 1)) {
		hop_trace_fail(t, HOP_EVALUE, "%s: a budget of %g: it must be from 0 to 1", t->op, o->budget);
		return false;
	}
	if (!o->pack != !o->unpack) {
		hop_trace_fail(t, HOP_EUSE, "%s: %s is given without %s", t->op, o->pack ? "pack" : "unpack",
		               o->pack ? "unpack" : "pack");
		return false;
	}
	return true;
}

/* How much a word says about a value: 3 by its name, 2 by its op, 1 by its class, 0 nothing. */
static int weight(const hop_ask *a, const char *w, size_t n)
{
	if (*w == ':')
		return a->q.name && strlen(a->q.name) == n - 1 && !memcmp(a->q.name, w + 1, n - 1) ? 3 : 0;
	if (strlen(a->q.op) == n && !memcmp(a->q.op, w, n))
		return 2;
	return in_class(a->n->op, w, n);
}

static hop_saving by_lists(const struct list *l, const hop_ask *a)
{
	int best = 0;
	hop_saving how = HOP_SAVING_FREE;
	bool view = hop_optab[a->n->op].flags & HOP_F_V;
	const char *w;
	size_t n;
	for (int i = 0; i < 4; i++)
		for (const char *at = l[i].words; next(&at, &w, &n); ) {
			int k = weight(a, w, n);
			bool save = l[i].how == HOP_MUST_SAVE || l[i].how == HOP_PREFER_SAVE;
			if (k > best && !(view && save && k == 1)) {     /* what it shows is saved instead */
				best = k;
				how = l[i].how;
			}
		}
	return how;
}

static void fill(hop_trace *t, const hop_graph *g, hop_ask *a)
{
	const hop_type *ty = g->type[a->n->out0.id];
	int64_t *dim = HOP_NEWN(&t->arena, int64_t, ty->rank);
	a->q.op = hop_optab[a->n->op].name;
	a->q.dtype = (hop_dtype)ty->dtype;
	a->q.rank = ty->rank;
	a->q.dim = dim;
	for (int i = 0; i < ty->rank; i++)
		dim[i] = hop_size_const(ty->dim[i]) ? ty->dim[i].k : -1;
	for (uint32_t k = 0; k < a->n->nout; k++) {
		const hop_type *r = g->type[a->n->out0.id + k];
		hop_size n = hop_type_count(hop_env_of(t), r);
		int64_t bytes = (int64_t)hop_dtype_bytes((hop_dtype)r->dtype);
		bool known = a->q.bytes >= 0 && hop_size_const(n);
		a->q.bytes = known ? a->q.bytes + n.k * bytes : -1;
	}
}

/* Names stand behind what they name: what each value is called, and what they say of it. */
static void read_names(hop_trace *t, const hop_graph *g, const char **name, hop_saving *how)
{
	uint32_t *root = HOP_NEWN(&t->arena, uint32_t, g->nvalue);
	for (uint32_t v = 0; v < g->nvalue; v++)
		root[v] = v;
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		if (n->op != HOP_OP_name)
			continue;
		const struct hop_attr_name *a = n->attr;
		uint32_t x = root[n->out0.id] = root[n->in[0].id];
		if (a->name.n)
			name[x] = hop_arena_str(&t->arena, a->name.s, (size_t)a->name.n);
		if (a->save)
			how[x] = (hop_saving)a->save;
	}
}

/* Which values depend on a parameter: others are constants, and made where they are needed. */
static bool *find_made(hop_trace *t, const hop_graph *g)
{
	bool *made = HOP_NEWN(&t->arena, bool, g->nvalue);
	memset(made, 1, g->nparam);
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		bool any = hop_node_holds(n) & HOP_HOLDS_HOST;
		for (uint32_t k = 0; k < n->nin; k++)
			any |= made[n->in[k].id];
		for (uint32_t k = 0; k < n->nout; k++)
			made[n->out0.id + k] = any;
	}
	return made;
}

hop_ask *hop_policy_asks(hop_trace *t, const hop_checkpoint_opts *o, const hop_graph *g,
                         uint32_t *out_n)
{
	struct list l[4];
	const char **name = HOP_NEWN(&t->arena, const char *, g->nvalue);
	hop_saving *how = HOP_NEWN(&t->arena, hop_saving, g->nvalue);
	hop_ask *ask = HOP_NEWN(&t->arena, hop_ask, g->nnode);
	uint32_t n = 0;
	const bool *made = find_made(t, g);
	lists_of(o, l);
	read_names(t, g, name, how);
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *d = &g->node[i];
		if (!d->nout || d->op == HOP_OP_name || d->op == HOP_OP_packed || !made[d->out0.id])
			continue;
		hop_ask *a = &ask[n];
		a->n = d;
		for (uint32_t k = 0; k < d->nout; k++) {
			a->q.name = a->q.name ? a->q.name : name[d->out0.id + k];
			a->q.how = a->q.how ? a->q.how : how[d->out0.id + k];
		}
		fill(t, g, a);
		a->how = by_lists(l, a);
		a->q.how = a->how ? a->how : a->q.how;
		a->q.index = (int)n++;
	}
	*out_n = n;
	return ask;
}

#undef WORDS
