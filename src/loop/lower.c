/* lower.c -- graphs to loop programs: functions, instances of graphs in them, and the
 * order of the passes. How an op is computed is in its cell, not here. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "loop/device.h"
#include "loop/lower.h"

enum { INLINE_NODES = 24 };       /* a body of so many plain nodes is never a function */

/* ---- instances ---- */

static int local_new(hop_lower *l, hop_range r, hop_size *out_sym)
{
	hop_lfunc *f = l->q.b.f;
	hop_lbuf b = { .kind = HOP_BUF_TEMP, .dtype = HOP_i64, .count = hop_size_int(1) };
	int buf = hop_l_buf(&l->q.b, b), at = f->nsym + f->nlocal;
	f->local = hop_arena_grow(l->prog->a, f->local, sizeof *f->local,
	                          (size_t)f->nlocal + 1, &l->localcap);
	l->range = hop_arena_grow(l->w, l->range, sizeof *l->range, (size_t)at + 1,
	                          &l->rangecap);
	l->range[at] = r;
	f->local[f->nlocal++] = buf;
	*out_sym = hop_size_sym(l->env, at);
	return buf;
}

/* smap[0..nsym-1] is given; the locals become symbols of the function. */
static hop_linst *inst_new(hop_lower *l, int op, const hop_graph *g, const hop_size *sargs)
{
	hop_linst *in = HOP_NEW(l->w, hop_linst);
	in->g = g;
	in->op = op;
	in->smap = HOP_NEWN(l->w, hop_size, g->nsym + g->nlocal);
	in->local = HOP_NEWN(l->w, int, g->nlocal);
	in->val = HOP_NEWN(l->w, hop_lval, g->nvalue);
	in->live = HOP_NEWN(l->w, bool, g->nnode);
	in->done = HOP_NEWN(l->w, bool, g->nnode);
	for (uint32_t i = 0; i < g->nsym; i++)
		in->smap[i] = sargs[i];
	for (uint32_t i = 0; i < g->nlocal; i++)
		in->local[i] = local_new(l, g->range[g->nsym + i], &in->smap[g->nsym + i]);
	hop_guard_look(l, in);
	return in;
}

int hop_lower_local(hop_lower *l, hop_linst *in, int sym)
{
	(void)l;
	HOP_ASSERT(sym >= (int)in->g->nsym && sym < (int)(in->g->nsym + in->g->nlocal));
	return in->local[sym - (int)in->g->nsym];
}

hop_linst *hop_lower_body(hop_lower *l, const hop_node *n, const hop_graph *body)
{
	hop_sizes s = hop_node_sargs(n);
	hop_size *v = HOP_NEWN(l->w, hop_size, s.n);
	for (int64_t i = 0; i < s.n; i++)
		v[i] = hop_lower_size(l, s.v[i]);
	HOP_ASSERT((uint32_t)s.n >= body->nsym);
	return inst_new(l, n->op, body, v);
}

void hop_lower_bind_arg(hop_lower *l, const hop_node *n, int k, hop_linst *to, int p,
                        const hop_ix *lead)
{
	hop_lval *x = &to->val[p];
	x->kind = HOP_LV_ALIAS;
	x->inst = l->q.inst;
	x->val = n->in[k];
	x->deep = l->q.inst->val[n->in[k].id].deep;
	x->lead = lead;
}

void hop_lower_bind_view(hop_lower *l, hop_linst *to, int p, const hop_view *v)
{
	hop_lval *x = &to->val[p];
	x->kind = HOP_LV_BUF;
	x->view = *v;
	x->scope = l->q.cur;
}

void hop_lower_copied(hop_lower *l, hop_loc loc, int buf, const char *what, int i,
                      const char *why)
{
	hop_lcopy *c = HOP_NEW(l->w, hop_lcopy);
	*c = (hop_lcopy){ l->all->copies, l->fn, buf, loc, what, why, i };
	l->all->copies = c;
}

/* ---- functions ---- */

typedef struct renumber { hop_lfunc *f; hop_reg *map; } renumber;

static void number(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	renumber *n = user;
	(void)def, (void)t;
	if (!n->map[*r])
		n->map[*r] = ++n->f->nreg;
}

static void apply(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	const renumber *n = user;
	(void)def, (void)t;
	*r = n->map[*r];
}

/* Registers in order of definition, without the holes dry runs left. */
static void renumber_func(hop_lower *l, hop_lfunc *f)
{
	renumber n = { f, HOP_NEWN(l->w, hop_reg, f->nreg + 1) };
	f->nreg = 0;
	hop_block_defs(&f->body, number, &n);
	hop_block_regs(&f->body, apply, &n);
}

static void add_fn(hop_lower *l, hop_lfn *fn)
{
	fn->index = l->all->nfn++;
	fn->next = l->all->fns;
	l->all->fns = fn;
}

int hop_lower_add(hop_lower *l, hop_lfunc f)
{
	hop_lfn *fn = HOP_NEW(l->w, hop_lfn);
	fn->f = f;
	add_fn(l, fn);
	return fn->index;
}

/* The parts of a function come before it, like all that it calls. */
static void divide(hop_lower *l, hop_lfunc *f)
{
	hop_lfunc *part;
	int n = hop_loop_divide(l->env, l->q.a, f, l->all->nfn, &part);
	for (int i = 0; i < n; i++)
		hop_lower_add(l, part[i]);
}

/* Loops are bound when the program is whole, and kernels are parts enough (device.c). */
static bool is_device(const hop_lower *l)
{
	return l->opt->machine && l->opt->machine->blocks;
}

/* What is left to do when all statements of the function are there. */
static void finish(hop_lower *l)
{
	hop_lfunc *f = &l->fn->f;
	hop_loop_forward(l->env, l->q.a, f);
	if (l->no_fuse && !l->opt->no_fuse) {
		hop_loop_collapse(l->env, f);
		hop_loop_reuse(l->env, f);
		hop_loop_carries(l->env, l->q.a, f);
	} else if (!l->opt->no_fuse) {
		hop_loop_fuse(l->env, l->q.a, f, l->range, false);
		hop_loop_forward(l->env, l->q.a, f);
		/* what makes the slices of steps, then what takes them */
		for (int i = 0; i < 2 && hop_block_steps(&f->body); i++) {
			hop_loop_fuse(l->env, l->q.a, f, l->range, true);
			hop_loop_forward(l->env, l->q.a, f);
		}
		hop_loop_collapse(l->env, f);
		if (is_device(l))
			hop_loop_turn(l->env, l->q.a, l->opt->machine, f);
		hop_loop_tile(l->env, l->q.a, f, l->range, hop_machine_cache(l->opt->machine),
		              l->opt->tile_all || is_device(l));          /* a kernel or a barrier less */
		hop_loop_forward(l->env, l->q.a, f);
		hop_loop_reuse(l->env, f);
		hop_loop_carries(l->env, l->q.a, f);
		if (l->opt->machine)
			hop_loop_interchange(l->env, l->q.a, l->opt->machine, f, l->range);
	}
	if (is_device(l) && !l->opt->no_fuse)
		hop_loop_twice(l->env, l->q.a, l->opt->machine, f);
	renumber_func(l, f);
	if (l->opt->machine && !is_device(l)) {
		hop_loop_schedule(l->env, l->opt->machine, f);
		hop_loop_shrink(l->env, l->opt->machine, f);
	}
	l->fn->range = l->range;
	hop_loop_plan(l->env, &l->given, l->all->fns, l->range, f, l->opt->room_all);
	if (!l->opt->no_fuse) {
		hop_loop_equal(l, f);
		if (!is_device(l))
			divide(l, f);
	}
	add_fn(l, l->fn);
}

/* What is true when the function is entered: parameters exist, and the caller of the entry
 * has tested its checks. */
static void learn(hop_facts *f, const hop_graph *g, const hop_size *sargs, bool entry)
{
	for (uint32_t i = 0; i < g->nparam; i++)
		hop_facts_learn_type(f, hop_type_subst(f->env, g->type[i], sargs, (int)g->nsym));
	for (uint32_t i = 0; entry && i < g->ncheck; i++)
		if (hop_check_waits(&g->check[i]) <= (int)g->nsym)
			hop_facts_learn(f, g->check[i].rel, g->check[i].a, g->check[i].b);
}

static hop_status func_body(hop_lower *l, const hop_graph *g, const hop_size *sargs)
{
	hop_lfunc *f = &l->fn->f;
	hop_linst *in = inst_new(l, HOP_OP_call, g, sargs);
	hop_view *dest = HOP_NEWN(l->w, hop_view, g->nout);
	l->q.inst = in;
	for (uint32_t i = 0; i < g->nparam + g->nout; i++) {
		hop_val v = i < g->nparam ? (hop_val){ i } : g->out[i - g->nparam];
		const hop_type *t = hop_type_subst(l->env, g->type[v.id], in->smap,
		                                   (int)(g->nsym + g->nlocal));
		hop_lbuf b = { .kind = HOP_BUF_PARAM, .dtype = (hop_dtype)t->dtype,
		               .index = (int)i, .count = hop_type_count(l->env, t) };
		hop_view at = hop_lower_dense(l, hop_l_buf(&l->q.b, b), t);
		if (i < g->nparam)
			hop_lower_bind_view(l, in, (int)i, &at);
		else
			dest[i - g->nparam] = at;
	}
	f->nin = (int)g->nparam;
	f->nout = (int)g->nout;
	f->name = g->name ? hop_arena_str(l->q.a, g->name, strlen(g->name)) : "body";
	HOP_TRY(hop_lower_decide(l, in, dest, NULL));
	HOP_TRY(hop_lower_emit(l, in, dest, false));
	finish(l);
	return HOP_OK;
}

static double now(void)
{
	struct timespec t;
	timespec_get(&t, TIME_UTC);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Lower g as a function. Size parameter i is the constant sargs[i], or, when that is no
 * constant, a symbol of the function. */
static hop_status func_new(hop_lower *l, const hop_graph *g, const hop_size *sargs,
                           bool entry, bool no_fuse, hop_lfn **out)
{
	double began = now(), before = l->all->spent;
	hop_lower c = { .env = l->env, .w = l->w, .once = l->once, .prog = l->prog, .opt = l->opt,
	                .all = l->all, .fn = HOP_NEW(l->w, hop_lfn), .no_fuse = no_fuse,
	                .q.a = l->q.a };
	hop_size *map = HOP_NEWN(l->w, hop_size, g->nsym);
	hop_scope *top = HOP_NEW(l->w, hop_scope);
	c.names.ixs = c.memo = c.narrow = (hop_map){ .a = l->w };
	c.range = hop_arena_grow(c.w, NULL, sizeof *c.range, g->nsym, &c.rangecap);
	for (uint32_t i = 0; i < g->nsym; i++) {
		map[i] = sargs[i];
		if (hop_size_const(sargs[i]))
			continue;
		c.range[c.fn->f.nsym] = g->range[i];
		map[i] = hop_size_sym(l->env, c.fn->f.nsym++);
	}
	c.q.b = (hop_lbuild){ .env = l->env, .a = l->q.a, .f = &c.fn->f, .block = &c.fn->f.body };
	top->block = &c.fn->f.body;
	top->barrier = top;
	c.q.cur = c.top = top;
	hop_facts_init(&c.given, l->env, l->w);
	hop_facts_init(&c.facts, l->env, l->w);
	learn(&c.given, g, map, entry);
	learn(&c.facts, g, map, entry);
	hop_status st = func_body(&c, g, map);
	c.fn->f.seconds = now() - began - (l->all->spent - before);
	l->all->spent += c.fn->f.seconds;
	*out = c.fn;
	return st;
}

/* ---- calls ---- */

/* How often a body is called in all graphs reachable from g. */
static void count_calls(hop_lower *l, const hop_graph *g)
{
	const void *key[2] = { g, "" };
	if (hop_map_get(&l->all->ncall, key, sizeof key))
		return;
	hop_map_put(&l->all->ncall, key, sizeof key, l);
	for (uint32_t i = 0; i < g->nnode; i++) {
		hop_graphs sub = hop_node_subs(&g->node[i]);
		for (int64_t j = 0; j < sub.n; j++) {
			if (!sub.v[j])
				continue;
			int *n = hop_map_get(&l->all->ncall, &sub.v[j], sizeof sub.v[j]);
			if (!n) {
				n = HOP_NEW(l->w, int);
				hop_map_put(&l->all->ncall, &sub.v[j], sizeof sub.v[j], n);
			}
			++*n;
			count_calls(l, sub.v[j]);
		}
	}
}

static bool inlined(hop_lower *l, const hop_graph *g)
{
	int *n = hop_map_get(&l->all->ncall, &g, sizeof g);
	if (!n || *n <= 1)
		return true;
	for (uint32_t i = 0; i < g->nnode; i++)
		if (hop_optab[g->node[i].op].flags & HOP_F_R)
			return false;
	return g->nnode <= INLINE_NODES;
}

static hop_status inline_body(hop_lower *l, const hop_node *n, const hop_graph *body)
{
	hop_linst *in = hop_lower_body(l, n, body);
	hop_view *dest = HOP_NEWN(l->w, hop_view, body->nout);
	bool *fixed = HOP_NEWN(l->w, bool, body->nparam);
	hop_scope *cur = l->q.cur;
	for (uint32_t i = 0; i < body->nparam; i++) {
		hop_lower_bind_arg(l, n, (int)i, in, (int)i, NULL);
		fixed[i] = l->q.inst->val[n->in[i].id].fixed;
	}
	for (uint32_t i = 0; i < body->nout; i++) {
		dest[i].buf = HOP_VIEW_NONE;
		if (i < n->nout)
			dest[i] = hop_lower_result(l, n, (int)i);
	}
	if (!l->q.inst->outer) {
		HOP_TRY(hop_lower_decide(l, in, dest, NULL));
		return hop_lower_emit(l, in, dest, false);
	}
	/* in a step: what does not change leaves the loop here too */
	in->many = l->q.inst->many;
	HOP_TRY(hop_lower_decide(l, in, dest, fixed));
	l->q.cur = l->q.inst->outer;
	hop_status st = hop_lower_emit(l, in, dest, true);
	l->q.cur = cur;
	return st ? st : hop_lower_emit(l, in, dest, false);
}

/* One function for equal bodies on equal constant sizes. */
static hop_status callee(hop_lower *l, const hop_graph *g, const hop_size *sargs, bool no_fuse,
                         hop_lfn **out)
{
	size_t nb = sizeof(void *) + sizeof(int64_t) * (1 + g->nsym);
	int64_t *key = HOP_NEWN(l->w, int64_t, 2 + g->nsym);
	memcpy(key, &g, sizeof g);
	key[1] = no_fuse;
	for (uint32_t i = 0; i < g->nsym; i++)
		key[2 + i] = hop_size_const(sargs[i]) ? sargs[i].k : -1;
	*out = hop_map_get(&l->all->callees, key, nb);
	if (*out)
		return HOP_OK;
	HOP_TRY(func_new(l, g, sargs, false, no_fuse, out));
	hop_map_put(&l->all->callees, key, nb, *out);
	return HOP_OK;
}

hop_view hop_lower_result_dense(hop_lower *l, const hop_node *n, int i)
{
	const hop_type *t = hop_lower_out(l, n, i);
	hop_view v = hop_lower_result(l, n, i);
	return hop_view_is_dense(l, &v, t) ? v : hop_lower_temp(l, t);
}

void hop_lower_result_settle(hop_lower *l, const hop_node *n, int i, const hop_view *dense)
{
	const hop_view *to = &l->q.inst->val[n->out0.id + (uint32_t)i].view;
	if (dense->buf != to->buf)
		hop_view_copy(l, hop_lower_out(l, n, i), dense, to);
}

hop_status hop_lower_call_body(hop_lower *l, const hop_node *n, const hop_graph *body)
{
	return inlined(l, body) ? inline_body(l, n, body) : hop_lower_call_apart(l, n, body, false);
}

hop_status hop_lower_call_apart(hop_lower *l, const hop_node *n, const hop_graph *body,
                                bool no_fuse)
{
	hop_sizes sa = hop_node_sargs(n);
	hop_size *sargs = HOP_NEWN(l->w, hop_size, sa.n);
	hop_lfn *fn;
	for (int64_t i = 0; i < sa.n; i++)
		sargs[i] = hop_lower_size(l, sa.v[i]);
	HOP_TRY(callee(l, body, sargs, no_fuse || l->no_fuse, &fn));
	hop_stmt *s = hop_lower_new(l, HOP_L_CALL);
	s->sizes = HOP_NEWN(l->q.a, hop_size, fn->f.nsym);
	for (int64_t i = 0; i < sa.n && i < (int64_t)body->nsym; i++)
		if (!hop_size_const(sargs[i]))
			s->sizes[s->nsize++] = sargs[i];
	hop_guard_call(l, n->op, body, sargs, fn, s->sizes, s->nsize);
	s->callee = fn->index;
	s->nacc = fn->f.nin;                /* so many args are read, the others written */
	s->narg = fn->f.nin + fn->f.nout;
	s->args = HOP_NEWN(l->q.a, hop_addr, s->narg);
	hop_view *dense = HOP_NEWN(l->w, hop_view, n->nout);    /* where a result goes first */
	for (int i = 0; i < s->narg; i++) {
		hop_view v;
		if (i < fn->f.nin)
			HOP_TRY(hop_lower_arg_view(l, n, i, true, &v));
		else if (i - fn->f.nin < (int)n->nout)
			v = dense[i - fn->f.nin] = hop_lower_result_dense(l, n, i - fn->f.nin);
		else
			v = hop_lower_temp(l, hop_type_subst(l->env,
				hop_graph_out_type(body, (uint32_t)(i - fn->f.nin)), sargs, (int)sa.n));
		s->args[i] = hop_lower_addr(l, v.buf, v.base);
	}
	hop_lower_enter(l, s, l->q.cur->block, false);       /* only to link it here */
	hop_lower_leave(l, true);
	for (int i = 0; i < (int)n->nout; i++)
		hop_lower_result_settle(l, n, i, &dense[i]);
	return HOP_OK;
}

/* ---- the entry ---- */

static void recall(hop_prog *p, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		if (s->kind == HOP_L_CALL)
			s->callee = p->nfunc - 1 - s->callee;
		for (int i = 0; i < k; i++)
			recall(p, sub[i]);
	}
}

static void collect(hop_lower *l)
{
	hop_prog *p = l->prog;
	p->nfunc = l->all->nfn;
	p->func = HOP_NEWN(l->q.a, hop_lfunc, l->all->nfn);
	for (hop_lfn *f = l->all->fns; f; f = f->next) {
		p->func[l->all->nfn - 1 - f->index] = f->f;
		recall(p, &p->func[l->all->nfn - 1 - f->index].body);
	}
}

hop_status hop_lower_graph(hop_env *e, const hop_graph *g, const hop_lower_opts *o,
                           hop_prog **out)
{
	static const hop_lower_opts none;
	hop_mark m = hop_mark_at(&e->tmp);
	hop_arena a, once;
	hop_lower *l;
	hop_size *sargs = HOP_NEWN(&e->tmp, hop_size, g->nsym);
	hop_lfn *fn;
	*out = NULL;
	hop_arena_open(&a, e);
	hop_arena_open(&once, e);
	l = HOP_NEW(&e->tmp, hop_lower);
	l->env = e;
	l->q.a = &a;
	l->w = &e->tmp;
	l->once = &once;
	l->opt = o ? o : &none;
	l->prog = HOP_NEW(&a, hop_prog);
	l->prog->a = &a;
	l->all = HOP_NEW(l->w, hop_lall);
	l->all->callees.a = l->all->ncall.a = l->all->nests.a = l->w;
	for (uint32_t i = 0; i < g->nsym; i++)
		sargs[i] = hop_size_sym(e, (int)i);
	count_calls(l, g);
	hop_status st = func_new(l, g, sargs, true, false, &fn);
	hop_arena_free(&once, &e->mem);
	if (!st) {
		hop_lower_copies(l, fn);
		hop_guard_entry(l, g, fn);
		collect(l);
		if (!l->opt->no_fuse)
			hop_loop_outline(e, l->prog);
		if (is_device(l))
			st = hop_loop_device(e, l->opt->machine, l->prog);
		st = st ? st : hop_prog_verify(e, l->prog);
	}
	if (st) {
		hop_arena_free(&a, &e->mem);
		hop_rewind(&e->tmp, m);
		return st;
	}
	hop_prog *p = l->prog;
	p->a = HOP_NEW(&a, hop_arena);
	hop_rewind(&e->tmp, m);
	hop_arena_seal(&a);
	*p->a = a;
	*out = p;
	return HOP_OK;
}

void hop_prog_free(hop_prog *p, const hop_mem *m)
{
	if (p)
		hop_arena_free(p->a, m);
}
