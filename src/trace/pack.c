/* pack.c -- names of values, and how a value crosses from the forward to the backward half of a reverse
 * pass. Both are identities; the cut reads them. */
#include "trace/checkpoint.h"

#include <string.h>

_Static_assert((int)HOP_MUST_SAVE == (int)HOP_SAVE_must_save &&
               (int)HOP_PREFER_SAVE == (int)HOP_SAVE_prefer_save &&
               (int)HOP_MUST_RECOMPUTE == (int)HOP_SAVE_must_recompute &&
               (int)HOP_PREFER_RECOMPUTE == (int)HOP_SAVE_prefer_recompute, "the same words");

struct name {
	hop_value   v, r;
	const char *name;
	hop_saving  how;
};

static void make_name(hop_trace *t, void *arg)
{
	struct name *c = arg;
	size_t n = c->name ? strlen(c->name) : 0;
	if (!n && c->how == HOP_SAVING_FREE) {
		hop_trace_fail(t, HOP_EUSE, "name: a name is needed, by which policies and reports call the "
		               "value");
		return;
	}
	if (n && strpbrk(c->name, ",: ")) {
		hop_trace_fail(t, HOP_EVALUE, "name: %s: a name has no commas, colons and blanks: it is a word "
		               "of lists", c->name);
		return;
	}
	if ((int)c->how < 0 || (int)c->how >= HOP_NSAVE) {
		hop_trace_fail(t, HOP_EVALUE, "name: there is no hop_saving %d", (int)c->how);
		return;
	}
	struct hop_attr_name a = { .name = { (int64_t)n, c->name }, .save = c->how };
	hop_val v = hop_value_read(t, c->v);
	if (!hop_is_bad(v))
		c->r = hop_value_new(t, hop_emit_op(&t->b, HOP_OP_name, &a, 1, &v));
}

hop_value hop_at_name(hop_trace *t, const char *file, int line, hop_value v, const char *name,
                      hop_saving how)
{
	struct name c = { .v = v, .name = name, .how = how };
	return hop_enter(t, "name", file, line, make_name, &c) ? c.r : (hop_value){ 0, 0 };
}

/* ---- the two bodies ---- */

enum { PACK, UNPACK };

/* What unpack takes is known when pack has run. */
static void packed_types(hop_trace *t, void *arg)
{
	hop_packing *p = arg;
	const hop_trace *b = p->body[PACK];
	p->nsaved = b->nret;
	p->saved = HOP_NEWN(&t->arena, const hop_type *, b->nret);
	for (uint32_t i = 0; i < b->nret; i++)
		p->saved[i] = hop_typeof(&b->b, b->out[i]);
	if (!b->nret)
		hop_trace_fail(t, HOP_EUSE, "%s: pack returned nothing, from which unpack could make the value "
		               "again", t->op);
}

static bool captures_right(hop_trace *t, const hop_packing *p)
{
	const hop_join *j = &p->j;
	for (uint32_t i = 0; i < j->nk; i++) {
		if (j->used[UNPACK][i]) {
			hop_trace_fail(t, HOP_EREFUSED, "%s: unpack uses a value from outside: it runs in the "
			               "backward half, and has what pack returned: let pack return it", t->op);
			return false;
		}
		if (p->closed) {
			hop_trace_fail(t, HOP_EREFUSED, "%s: pack uses a value from outside: that can only be in "
			               "hop_pack, inside of the checkpoint", t->op);
			return false;
		}
	}
	return true;
}

static void seal_packing(hop_trace *t, void *arg)
{
	hop_packing *p = arg;
	hop_join *j = &p->j;
	hop_trace *a = p->body[PACK], *b = p->body[UNPACK];
	hop_outs o[2] = { { a, a->nret, a->out }, { b, b->nret, b->out } };
	uint32_t n = p->nsaved + 1;
	const hop_type **ty = HOP_NEWN(&t->arena, const hop_type *, n + 1);
	uint32_t *param = HOP_NEWN(&t->arena, uint32_t, n);
	if (!hop_join_open(j, t, 2, o, 0, NULL) || !hop_join_pure(j, t->op) || !captures_right(t, p))
		return;
	ty[0] = p->type;
	for (uint32_t i = 0; i < n; i++) {
		param[i] = i;
		ty[i + 1] = i < p->nsaved ? p->saved[i] : NULL;
	}
	hop_join_syms(j, n, ty);
	const hop_type **pt = HOP_NEWN(&t->arena, const hop_type *, 1 + j->nk);
	pt[0] = p->type;
	for (uint32_t i = 0; i < j->nk; i++)
		pt[1 + i] = j->ktype[i];
	hop_layout l = { .nparam = 1 + j->nk, .type = pt, .param = param, .w0 = 1, .k0 = 1 };
	hop_layout u = { .nparam = p->nsaved, .type = p->saved, .param = param, .w0 = p->nsaved,
	                 .k0 = p->nsaved };
	if (hop_join_seal(j, PACK, &l, a->nret, a->out, "pack", &p->g[PACK]))
		return;
	hop_join_seal(j, UNPACK, &u, b->nret, b->out, "unpack", &p->g[UNPACK]);
}

bool hop_packing_make(hop_trace *t, const char *file, int line, hop_packing *p)
{
	hop_body_args a = { .fn = p->pack, .user = p->user, .what = "the body pack", .n = 1,
	                    .type = &p->type };
	bool ok = (p->body[PACK] = hop_body_run(t, file, line, &a)) &&
	          hop_enter(t, NULL, file, line, packed_types, p);
	if (ok) {
		a = (hop_body_args){ .fn = p->unpack, .user = p->user, .what = "the body unpack",
		                     .n = (int)p->nsaved, .type = p->saved };
		p->body[UNPACK] = hop_body_run(t, file, line, &a);
	}
	ok = ok && p->body[UNPACK] && hop_enter(t, NULL, file, line, seal_packing, p);
	for (int i = UNPACK; i >= PACK; i--)
		hop_body_drop(p->body[i]);
	return ok;
}

/* ---- hop_pack ---- */

struct pack {
	hop_value   v, r;
	hop_val     val;
	hop_packing p;
};

static void pack_begin(hop_trace *t, void *arg)
{
	struct pack *c = arg;
	if (!c->p.pack || !c->p.unpack) {
		hop_trace_fail(t, HOP_EUSE, "pack: pack and unpack must be given");
		return;
	}
	c->val = hop_value_read(t, c->v);
	if (hop_is_bad(c->val))
		return;
	c->p.type = hop_typeof(&t->b, c->val);
	c->r = t->eager ? hop_value_new(t, c->val) : c->r;     /* nothing is saved */
}

static void pack_end(hop_trace *t, void *arg)
{
	struct pack *c = arg;
	hop_join *j = &c->p.j;
	hop_val *in = HOP_NEWN(&t->arena, hop_val, 1 + j->nk);
	in[0] = c->val;
	for (uint32_t i = 0; i < j->nk; i++)
		in[1 + i] = j->kval[i];
	struct hop_attr_packed a = { .sargs = hop_join_sargs(j), .pack = c->p.g[PACK],
	                             .unpack = c->p.g[UNPACK] };
	c->r = hop_value_new(t, hop_emit_op(&t->b, HOP_OP_packed, &a, 1 + j->nk, in));
}

hop_value hop_at_pack(hop_trace *t, const char *file, int line, hop_value v, hop_body *pack,
                      hop_body *unpack, void *user)
{
	struct pack c = { .v = v, .p = { .pack = pack, .unpack = unpack, .user = user } };
	t = hop_here(t);
	bool ok = hop_enter(t, "pack", file, line, pack_begin, &c);
	if (ok && !t->eager)
		ok = hop_packing_make(t, file, line, &c.p) && hop_enter(t, NULL, file, line, pack_end, &c);
	return ok ? c.r : (hop_value){ 0, 0 };
}
