/* cut_say.c -- a cut in words: what the forward half saves for the reverse, which derivative reads it,
 * why it is not computed again, and what is. Decides nothing. */
#include "ad/cut.h"
#include "ad/flow.h"
#include "ad/work.h"

#include <string.h>

#include "ir/sig.h"

void hop_cuts_enter(hop_cuts *w, const hop_node *n)
{
	if (!w)
		return;
	if (w->depth < HOP_CUTS_DEEP) {
		w->at[w->depth] = n;
		w->nth[w->depth] = 0;
	}
	w->depth++;
}

void hop_cuts_leave(hop_cuts *w)
{
	if (w)
		w->depth--;
}

bool hop_cuts_told(hop_cuts *w, const void *key, size_t n)
{
	if (!w || hop_map_get(&w->seen, key, n))
		return true;
	w->seen.a = w->keep;
	hop_map_put(&w->seen, key, n, w);
	return false;
}

/* ---- words ---- */

static void put_line(hop_cutter *c, hop_buf *b, hop_loc at)
{
	const char *file;
	int line;
	hop_loc in;
	if (hop_loc_read(c->env->ctx, at, &file, &line, &in))
		hop_putf(b, "%s:%d", file, line);
	else
		hop_put(b, "?");
}

static void put_type(const hop_cutter *c, hop_buf *b, const hop_type *t)
{
	hop_type_print(b, t, c->j->symname, (int)(c->j->nsym + c->j->nlocal));
}

static bool is_fixed(const hop_type *t)
{
	for (int i = 0; i < t->rank; i++)
		if (!hop_size_const(t->dim[i]))
			return false;
	return true;
}

/* "96 bytes", "8 bytes for each of [s]": of a type whose sizes are symbols, by its text. */
static void put_bytes(const hop_cutter *c, hop_buf *b, const hop_type *t)
{
	if (is_fixed(t))
		hop_putf(b, "%lld bytes", (long long)hop_cut_bytes(c, t));
	else
		hop_putf(b, "%zu bytes an element", hop_dtype_bytes((hop_dtype)t->dtype));
}

/* The body of an operator that its cut number nth is of: of those that give results. */
static const char *body_name(const hop_node *n, int nth)
{
	hop_graphs sub = hop_node_subs(n);
	for (int i = 0; i < sub.n; i++) {
		hop_roles r;
		if (!sub.v[i])
			continue;
		hop_body_roles(n, i, &r);
		if (r.run && hop_sig_gives(&r) && nth-- == 0)
			return hop_node_subfield(n, i)->name;
	}
	return "body";
}

/* "carry 0", "x 1", "captured 2", "input 3". */
static void put_param(const hop_cutter *c, const hop_node *in, hop_buf *b, uint32_t i)
{
	static const struct { enum hop_role role; const char *word; } words[] = {
		{ HOP_R_carry, "carry" }, { HOP_R_x, "x" }, { HOP_R_same, "captured" },
		{ HOP_R_left, "left" }, { HOP_R_right, "right" },
	};
	(void)c;
	if (in) {
		hop_roles r;
		hop_node_roles(in, &r);
		uint32_t at = i + r.lead;
		for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
			hop_span s = r.in.by[words[k].role];
			if (at >= s.at && at < s.at + s.n) {
				hop_putf(b, "%s %u", words[k].word, at - s.at);
				return;
			}
		}
	}
	hop_putf(b, "input %u", i);
}

static void put_value(hop_cutter *c, const hop_node *in, hop_buf *b, uint32_t v)
{
	if (c->called[v].n)
		hop_putf(b, "%.*s, ", (int)c->called[v].n, c->called[v].s);
	if (v < c->nprimal) {
		put_param(c, in, b, v);
	} else {
		const hop_node *n = &c->j->node[c->j->def[v]];
		put_line(c, b, n->loc);
		hop_putf(b, ": %s", hop_optab[n->op].name);
		if (n->nout > 1)
			hop_putf(b, " (result %u)", v - n->out0.id);
	}
	hop_put(b, ", ");
	put_type(c, b, c->j->type[v]);
}

/* "the derivative of mul (f.hop:7)", or what else reads it. */
static void put_reader(hop_cutter *c, hop_buf *b, const hop_node *n)
{
	const char *of = hop_loc_of(c->env->ctx, n->loc);
	hop_putf(b, "%s%s (", of ? "the derivative of " : "", of ? of : hop_optab[n->op].name);
	put_line(c, b, n->loc);
	hop_put(b, ")");
}

/* By whatever name. */
static bool reads(const hop_cutter *c, const hop_node *n, uint32_t v)
{
	for (uint32_t k = 0; k < n->nin && !hop_cut_names(n); k++)
		if (c->root[n->in[k].id] == v)
			return true;
	return false;
}

static bool is_needed(const hop_cutter *c, uint32_t v)
{
	for (uint32_t u = 0; u < c->j->nvalue; u++)
		if (c->needed[u] && c->root[u] == v)
			return true;
	return false;
}

/* Who needs it: derivatives that read it, or what is computed again from it. The same place is
 * named once. */
static void put_readers(hop_cutter *c, hop_buf *b, uint32_t v, const bool *used)
{
	enum { MOST = 3 };
	const hop_graph *j = c->j;
	hop_loc said[MOST];
	int n = 0, more = 0;
	bool direct = is_needed(c, v);
	for (uint32_t i = 0; i < j->nnode; i++) {
		const hop_node *r = &j->node[i];
		bool part = hop_cut_late(c, r) || hop_loc_of(c->env->ctx, r->loc), again = false;
		if (!used[i] || !reads(c, r, v) || (!part && direct))
			continue;
		for (int k = 0; k < n; k++)
			again |= said[k] == r->loc;
		if (again)
			continue;
		if (n == MOST) {
			more++;
			continue;
		}
		said[n] = r->loc;
		hop_put(b, n++ ? ", " : part ? ": read by " : ": to compute again ");
		put_reader(c, b, r);
	}
	if (more)
		hop_putf(b, " and %d more", more);
	if (!n)
		hop_put(b, ": it is a gradient");
}

/* Why it is saved, and not what it was computed from. */
static const char *why_saved(const hop_cutter *c, uint32_t v)
{
	if (v < c->nprimal)
		return "it is what the rest is computed from";
	if (hop_cut_once(c, &c->j->node[c->j->def[v]]))
		return "the host is not asked twice";
	if (hop_cut_pinned(c, v))
		return "it must be saved";
	if (c->tag[v] == HOP_SAVE_prefer_save && c->banned[c->j->def[v]])
		return "it would rather be saved";
	if (c->banned[c->j->def[v]])
		return "dear to compute again";
	return "no more bytes than what it is computed from";
}

/* ---- the two lists ---- */

/* Bytes of what is saved at a price; *symbols: some sizes are not known. */
static int64_t price(const hop_cutter *c, uint32_t *out_n, bool *symbols)
{
	int64_t bytes = 0;
	*out_n = 0;
	*symbols = false;
	for (uint32_t v = 0; v < c->j->nvalue; v++)
		if (c->saved[v] && hop_cut_cost(c, v)) {
			++*out_n;
			bytes += hop_cut_crossing(c, v);
			*symbols |= !is_fixed(c->j->type[v]);
		}
	return bytes;
}

static void say_saved(hop_cutter *c, const hop_node *in, hop_buf *b, const bool *used)
{
	for (uint32_t v = 0; v < c->j->nvalue; v++) {
		if (!c->saved[v])
			continue;
		hop_put(b, "  ");
		put_value(c, in, b, v);
		if (!hop_cut_cost(c, v)) {
			hop_putf(b, ", no bytes: %s is there anyway\n", v < c->nprimal ? "it" : "the result");
			continue;
		}
		hop_put(b, ", ");
		if (c->packer[v])
			hop_putf(b, "packed in %lld bytes", (long long)hop_cut_crossing(c, v));
		else
			put_bytes(c, b, c->j->type[v]);
		put_readers(c, b, v, used);
		hop_putf(b, "; %s\n", why_saved(c, v));
	}
}

static const char *why_again(const hop_cutter *c, const hop_node *n)
{
	for (uint32_t k = 0; k < n->nout; k++)
		if (c->tag[n->out0.id + k] == HOP_SAVE_must_recompute)
			return "it must be computed again";
	for (uint32_t k = 0; k < n->nout; k++)
		if (hop_cut_local(c, c->j->type[n->out0.id + k]))
			return "its size is known only there";
	if (c->policy == HOP_CUT_RECOMPUTE)
		return "nothing says that it is to be saved";
	return c->budget < 1 ? "the budget has no room for it"
	                                                        : "cheaper than saving it";
}

/* Is it computed again by the backward half, and not for the derivative alone? */
static bool again(hop_cutter *c, uint32_t i, const bool *used)
{
	const hop_node *n = &c->j->node[i];
	return used[i] && n->nout && n->nin && !hop_cut_late(c, n) && !hop_cut_names(n) &&
	       !hop_loc_of(c->env->ctx, n->loc);
}

static double work_again(hop_cutter *c, const bool *used)
{
	double w = 0;
	for (uint32_t i = 0; i < c->j->nnode; i++)
		w += again(c, i, used) ? hop_work_node(c->env, c->j, &c->j->node[i]) : 0;
	return w;
}

static void say_again(hop_cutter *c, const hop_node *in, hop_buf *b, const bool *used)
{
	bool any = false;
	for (uint32_t i = 0; i < c->j->nnode; i++) {
		const hop_node *n = &c->j->node[i];
		if (!again(c, i, used))
			continue;
		hop_put(b, any ? "" : "  computed again:\n");
		any = true;
		hop_put(b, "    ");
		put_value(c, in, b, n->out0.id);
		hop_put(b, ", ");
		put_bytes(c, b, c->j->type[n->out0.id]);
		hop_putf(b, ", %.3g operations: %s\n", hop_work_node(c->env, c->j, n), why_again(c, n));
	}
}

/* ---- the same for programs ---- */

static void keep_item(hop_cutter *c, hop_cuts *w, uint32_t v, bool saved)
{
	const hop_node *n = v < c->nprimal ? NULL : &c->j->node[c->j->def[v]];
	hop_buf b;
	w->item = hop_arena_grow(w->keep, w->item, sizeof *w->item, w->nitem + 1, &w->itemcap);
	hop_cut_item *k = &w->item[w->nitem++];
	hop_buf_open(&b, c->env);
	put_type(c, &b, c->j->type[v]);
	*k = (hop_cut_item){ .saved = saved, .packed = saved && c->packer[v],
	                     .guessed = !is_fixed(c->j->type[v]), .op = n ? hop_optab[n->op].name : "input",
	                     .loc = n ? n->loc : 0, .type = hop_arena_str(w->keep, b.s, b.n) };
	hop_buf_free(&b);
	if (c->called[v].n)
		k->name = hop_arena_str(w->keep, c->called[v].s, (size_t)c->called[v].n);
	if (saved)
		k->bytes = hop_cut_cost(c, v) ? hop_cut_crossing(c, v) : 0;
	for (uint32_t i = 0; !saved && i < n->nout; i++)
		k->bytes += hop_cut_bytes(c, c->j->type[n->out0.id + i]);
	k->work = n ? hop_work_node(c->env, c->j, n) : 0;
}

static void keep_items(hop_cutter *c, hop_cuts *w, const bool *used)
{
	for (uint32_t v = 0; v < c->j->nvalue; v++)
		if (c->saved[v])
			keep_item(c, w, v, true);
	for (uint32_t i = 0; i < c->j->nnode; i++)
		if (again(c, i, used))
			keep_item(c, w, c->j->node[i].out0.id, false);
}

static void say_trips(hop_buf *b, const hop_node *n, int64_t bytes, bool symbols)
{
	const hop_size *len = hop_attr_length(n->op, n->attr);
	if (len && hop_size_const(*len) && !symbols)
		hop_putf(b, " a trip, %lld in %lld trips", (long long)(bytes * len->k), (long long)len->k);
	else
		hop_put(b, " a trip");
}

void hop_cut_say(hop_cutter *c, hop_cuts *w)
{
	bool inside = w->depth > 0 && w->depth <= HOP_CUTS_DEEP, symbols;
	const hop_node *in = inside ? w->at[w->depth - 1] : NULL;
	hop_buf *b = inside ? w->bodies : w->whole;
	hop_roles r = { .loop = false };
	uint32_t n;
	int64_t bytes = price(c, &n, &symbols);
	const bool *used = hop_cut_used(c);
	if (inside) {
		const char *name = body_name(in, w->nth[w->depth - 1]++);
		size_t len = strlen(name);
		hop_node_roles(in, &r);
		put_line(c, b, in->loc);
		hop_putf(b, ": %.*s of %s: ", (int)(len - (name[len - 1] == '_')), name,
		         hop_optab[in->op].name);
	}
	hop_putf(b, "%u saved, %s%lld bytes", n, symbols ? "about " : "", (long long)bytes);
	if (r.loop)
		say_trips(b, in, bytes, symbols);
	double work = work_again(c, used);
	if (work > 0)
		hop_putf(b, ", %.3g operations again", work);
	hop_put(b, "\n");
	say_saved(c, in, b, used);
	say_again(c, in, b, used);	if (!inside && w->keep)
		keep_items(c, w, used);
}
