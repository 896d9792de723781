/* loop_step.c -- a plain interpreter of statements. Follows sops.def to the letter and checks that
 * every element is inside its buffer. Knows nothing of threads or vectors. */
#include "support/loop_step.h"

#include "ir/build.h"
#include "loop/gemm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool run_over(const run_frame *t)
{
	return t->m->stop || (t->gone && *t->gone);
}

void run_fail(run_frame *t, const char *why)
{
	if (t->m->stop)
		return;
	t->m->stop = -1;
	snprintf(t->m->why, sizeof t->m->why, "@%s: %s", t->f->name ? t->f->name : "", why);
}

/* ---- sizes and addresses ---- */

static bool uses(hop_size s, int sym)
{
	if (hop_size_nsym(s) <= sym)
		return false;
	for (int i = 0; i < hop_sexpr_nterm(s.e); i++)
		for (int k = 0; k < hop_sexpr_natom(s.e, i); k++) {
			const hop_atom *a = hop_sexpr_atom(s.e, i, k);

			if (a->kind == HOP_ATOM_SYM ? a->sym == sym : uses(a->a, sym) || uses(a->b, sym))
				return true;
		}
	return false;
}

static void local(run_frame *t, int i)
{
	const hop_lbuf *b = &t->f->buf[t->f->local[i]];
	const char     *p = t->space + b->offset.k;

	if (t->m->hooks)
		t->m->hooks->touch(t, b, p, false);
	memcpy(&t->syms[t->f->nsym + i], p, sizeof *t->syms);
}

int64_t run_size(run_frame *t, hop_size s)
{
	int64_t v = 0;

	if (hop_size_const(s))
		return s.k;
	for (int i = 0; i < t->f->nlocal; i++)
		if (uses(s, t->f->nsym + i))
			local(t, i);
	if (!hop_size_eval(s, t->syms, t->f->nsym + t->f->nlocal, &v))
		run_fail(t, "a size has no value");
	return v;
}

static void *temporary(run_frame *t, const hop_lbuf *b, int64_t bytes)
{
	int64_t at = run_size(t, b->offset), room = INT64_MAX;
	void   *p;

	if (b->space == HOP_SPACE_FRAME) {
		if (at < 0 || at + bytes > t->nspace)
			run_fail(t, "a temporary leaves the frame");
		return t->space + at;
	}
	if (b->space != HOP_SPACE_RESULT) {
		p = t->m->hooks ? t->m->hooks->space(t, b, at, bytes) : NULL;
		if (!p)
			run_fail(t, "a temporary leaves the space that it is in");
		return p;
	}
	for (int i = 0; i < t->f->nbuf; i++) {                /* a part need not name the result */
		const hop_lbuf *to = &t->f->buf[i];
		if (to->kind == HOP_BUF_PARAM && to->index == b->index && to->dtype == b->dtype)
			room = run_size(t, to->count) * (int64_t)hop_dtype_bytes(b->dtype);
	}
	if (at < 0 || at + bytes > room)
		run_fail(t, "a temporary leaves the result that it lives in");
	return (char *)t->params[b->index] + at;
}

static void *base(run_frame *t, int buf, int64_t *out_count)
{
	const hop_lbuf *b = &t->f->buf[buf];
	int64_t         bytes = (int64_t)hop_dtype_bytes(b->dtype);

	switch (b->kind) {
	case HOP_BUF_PARAM:
		*out_count = run_size(t, b->count);
		return t->params[b->index];
	case HOP_BUF_TEMP:
		*out_count = run_size(t, b->count);
		return temporary(t, b, *out_count * bytes);
	case HOP_BUF_CONST:
		*out_count = b->count.k;
		return (void *)(uintptr_t)b->data;
	case HOP_BUF_TAPE:
		*out_count = (int64_t)t->m->tape[b->index].bytes / bytes;
		return t->m->tape[b->index].p;
	}
	return NULL;
}

/* Position in the buffer, and where that begins. */
static char *place(run_frame *t, const hop_addr *a, int64_t *out_i, int64_t *out_n)
{
	char *p = base(t, a->buf, out_n);

	*out_i = run_size(t, a->offset);
	for (int k = 0; k < a->nterm; k++)
		*out_i += t->reg[a->term[k].reg].i * run_size(t, a->term[k].stride);
	return p;
}

/* NULL when out of bounds, or when another thread does it. */
static void *at(run_frame *t, const hop_addr *a, bool write)
{
	const hop_lbuf *b = &t->f->buf[a->buf];
	int64_t         i, n = 0;
	char           *p = place(t, a, &i, &n);

	if (run_over(t))
		return NULL;
	if (i < 0 || i >= n) {
		char why[100];

		snprintf(why, sizeof why, "an access is out of bounds: element %lld of b%d, which has %lld",
		         (long long)i, a->buf, (long long)n);
		run_fail(t, why);
		return NULL;
	}
	p += (size_t)i * hop_dtype_bytes(b->dtype);
	return !t->m->hooks || t->m->hooks->touch(t, b, p, write) ? p : NULL;
}

/* ---- statements ---- */

static void op(run_frame *t, const hop_stmt *s)
{
	scalar a[3] = { { .i = 0 } }, r = { .i = 0 };
	void  *p;

	for (int i = 0; i < s->na; i++)
		a[i] = t->reg[s->a[i]];
	switch (s->sop) {
	case HOP_SOP_size: r.i = run_size(t, s->u.size); break;
	case HOP_SOP_load:
		if (s->na && !a[0].i) {
			if (hop_dtype_real(s->dtype))
				r.f = 0;
			break;
		}
		if ((p = at(t, &s->u.addr, false)))
			r = run_get(s->dtype, p);
		break;
	case HOP_SOP_count:
		if ((p = at(t, &s->u.addr, true)))
			r.i = (*(int32_t *)p)++;
		break;
	case HOP_SOP_store:
		if (s->na > 1 && !a[1].i)
			return;
		if ((p = at(t, &s->u.addr, true)))
			run_set(s->dtype, p, a[0]);
		return;
	default:
		t->reg[s->dst] = run_value(s, a, t->dt);
		return;
	}
	t->reg[s->dst] = run_trim(s->dtype, r);
}

/* After the body of a step. */
void run_carries(run_frame *t, const hop_stmt *s)
{
	for (int i = 0; i < s->ncarry; i++) {
		hop_dtype d = t->f->buf[s->carry[i].now.buf].dtype;
		int64_t   n = run_size(t, s->carry[i].count);

		for (int64_t k = 0; k < n && !run_over(t); k++) {
			hop_addr x = s->carry[i].now, y = s->carry[i].next;
			void    *to, *from;

			x.offset = y.offset = hop_size_int(k);
			from = at(t, &y, false);
			to = at(t, &x, true);
			if (to && from)
				memcpy(to, from, hop_dtype_bytes(d));
		}
	}
}

static void step_ends(run_frame *t, const hop_stmt *s)
{
	if (!s->ncarry || run_over(t))
		return;
	if (t->m->hooks)
		t->m->hooks->carry(t, s);
	else
		run_carries(t, s);
}

void run_iteration(run_frame *t, const hop_stmt *s, int64_t i, scalar *acc, bool first)
{
	t->reg[s->dst].i = i;
	run_block(t, &s->body);
	if (s->loop == HOP_LOOP_SEQ)
		step_ends(t, s);
	for (int k = 0; k < s->nacc; k++) {
		scalar v = t->reg[s->acc[k].value];

		acc[k] = first ? v : run_combine(&s->acc[k], acc[k], v);
	}
}

static void loop(run_frame *t, const hop_stmt *s)
{
	int64_t n = s->bound ? t->reg[s->bound].i : run_size(t, s->extent);
	int64_t block = (n + HOP_BLOCKS - 1) / HOP_BLOCKS;
	scalar *acc = calloc((size_t)s->nacc + 1, sizeof *acc);

	for (int k = 0; k < s->nacc; k++)
		acc[k] = t->reg[s->acc[k].init];
	for (int64_t i = 0; i < n && !run_over(t); i++) {
		if (s->bind.slice)
			t->reg[s->bind.slice].i = i / block;
		run_iteration(t, s, s->reverse ? n - 1 - i : i, acc, false);
	}
	for (int k = 0; k < s->nacc; k++)
		t->reg[s->acc[k].result] = run_trim(s->acc[k].dtype, acc[k]);
	free(acc);
}

static void repeat(run_frame *t, const hop_stmt *s)
{
	for (;;) {
		run_block(t, &s->other);
		if (run_over(t) || !t->reg[s->a[0]].i)
			return;
		run_block(t, &s->body);
		/* a host tells some ahead: their kernels see that there is no trip */
		for (int i = 1; s->hosted && i < s->bind.each; i++)
			run_block(t, &s->body);
		if (s->once)
			return;
		step_ends(t, s);
	}
}

/* ---- tiles ---- */

/* Address of one element of a matrix operand. */
static void *elem(run_frame *t, const hop_addr *a, const hop_size *st, int64_t i, int64_t j, bool write)
{
	hop_addr x = *a;

	x.offset = hop_size_int(run_size(t, a->offset) + i * run_size(t, st[0]) + j * run_size(t, st[1]));
	return at(t, &x, write);
}

static double factor(const hop_gemm *g, int i, const void *p)
{
	return run_get(g->stored[i] ? (hop_dtype)(g->stored[i] - 1) : g->dtype, p).f;
}

static void gemm_element(run_frame *t, const hop_gemm *g, int64_t i, int64_t j, int64_t k)
{
	scalar s = { .f = 0 };
	void  *c;

	if (g->beta && (c = elem(t, &g->c, g->cs, i, j, false)))
		s = run_get(g->dtype, c);
	for (int64_t q = 0; q < k && !run_over(t); q++) {
		void *a = elem(t, &g->a, g->as, i, q, false), *b = elem(t, &g->b, g->bs, q, j, false);
		if (a && b)
			s.f += factor(g, 0, a) * factor(g, 1, b);
	}
	if (run_over(t))
		return;
	s = run_trim(g->dtype, s);
	if (!g->epilogue.first) {
		if ((c = elem(t, &g->c, g->cs, i, j, true)))
			run_set(g->dtype, c, s);
		return;
	}
	t->reg[g->em].i = i;
	t->reg[g->en].i = j;
	t->reg[g->ev] = s;
	run_block(t, &g->epilogue);
}

static void gemm(run_frame *t, const hop_gemm *g)
{
	int64_t m = run_size(t, g->m), n = run_size(t, g->n), k = run_size(t, g->k);

	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n && !run_over(t); j++)
			if (!t->share || (i * n + j) % t->share == t->mine)
				gemm_element(t, g, i, j, k);
}

/* Any other template is the loops that it stands for, as a function that goes on with our
 * registers. */
static void expanded(run_frame *t, const hop_tile *x)
{
	hop_lfunc  f = *t->f;
	hop_lbuild b = { .env = t->m->env, .a = &t->m->env->tmp, .f = &f, .block = &f.body };
	hop_mark   m = hop_mark_at(&t->m->env->tmp);
	run_frame  own = *t;
	hop_dtype *dt;

	f.body = (hop_block){ 0 };
	if (!x->of->expand(&b, x) || f.nreg > t->f->nreg + x->of->nreg) {
		run_fail(t, "a template that loops cannot say, or not in so few registers");
		return;
	}
	own.f = &f;
	own.reg = calloc((size_t)f.nreg + 1, sizeof *own.reg);
	memcpy(own.reg, t->reg, sizeof *own.reg * ((size_t)t->f->nreg + 1));
	own.dt = dt = run_types(&f);
	run_block(&own, &f.body);
	t->own = own.own;
	free(dt);
	free(own.reg);
	hop_rewind(&t->m->env->tmp, m);
}

void run_tile(run_frame *t, const hop_tile *x)
{
	if (x->of == &hop_template_gemm) {
		hop_gemm g = hop_gemm_of(x);

		gemm(t, &g);
	} else {
		expanded(t, x);
	}
}

/* ---- what asks for more than statements ---- */

void **run_pointers(run_frame *t, const hop_stmt *s)
{
	void **p = calloc((size_t)s->narg + 1, sizeof *p);

	for (int i = 0; i < s->narg; i++) {
		int64_t k, n;
		char   *b = place(t, &s->args[i], &k, &n);

		p[i] = b + k * (int64_t)hop_dtype_bytes(t->f->buf[s->args[i].buf].dtype);
	}
	return p;
}

int64_t *run_sizes(run_frame *t, const hop_stmt *s)
{
	int64_t *syms = calloc((size_t)s->nsize + 1, sizeof *syms);

	for (int i = 0; i < s->nsize; i++)
		syms[i] = run_size(t, s->sizes[i]);
	return syms;
}

static void all_locals(run_frame *t)
{
	for (int i = 0; i < t->f->nlocal; i++)
		local(t, i);
}

void run_effect(run_frame *t, const hop_stmt *s)
{
	void **p = run_pointers(t, s);

	all_locals(t);
	if (t->m->effect && !t->m->stop)
		t->m->stop = t->m->effect(t->m->user, &t->m->prog->effect[s->callee], p, t->syms);
	free(p);
}

/* Twice as much as before, so that most do not move it; but no more may be touched than asked for. */
bool run_grow(run_frame *t, const hop_stmt *s)
{
	const hop_lbuf *b = &t->f->buf[s->buf];
	run_tape       *p = &t->m->tape[b->index];
	size_t          n = (size_t)t->reg[s->a[0]].i * hop_dtype_bytes(b->dtype);
	size_t          room = n > 2 * p->room ? n : 2 * p->room;
	bool            moves = n > p->room;

	if (n <= p->bytes)
		return false;
	if (moves) {
		p->p = realloc(p->p, room);
		memset(p->p + p->room, 0xff, room - p->room);
		p->room = room;
	}
	p->bytes = n;
	return moves;
}

/* A program that refuses its input stops; it is no mistake of the lowering. */
void run_check(run_frame *t, const hop_stmt *s)
{
	all_locals(t);
	if (!hop_check_holds(&t->m->prog->check[s->callee].c, t->syms, t->f->nsym + t->f->nlocal) &&
	    !t->m->stop)
		t->m->stop = HOP_LOOP_REFUSED;
}

void run_part(run_frame *t, int fn)
{
	run_frame own;

	run_begin(&own, t->m, fn, t->params, t->syms);
	own.space = t->space;
	own.nspace = t->nspace;
	own.by = t->by;
	own.gone = t->gone;
	if (!run_over(t))
		run_block(&own, &own.f->body);
	run_end(&own);
}

void run_calls(run_frame *t, const hop_stmt *s)
{
	if (s->is_part) {
		run_part(t, s->callee);
		return;
	}
	void   **p = run_pointers(t, s);
	int64_t *syms = run_sizes(t, s);

	run_call(t->m, s->callee, p, syms);
	free(syms);
	free(p);
}

static void other(run_frame *t, const hop_stmt *s)
{
	switch (s->kind) {
	case HOP_L_CALL: run_calls(t, s); break;
	case HOP_L_EFFECT: run_effect(t, s); break;
	case HOP_L_GROW: run_grow(t, s); break;
	case HOP_L_CHECK: run_check(t, s); break;
	default: break;
	}
}

void run_block(run_frame *t, const hop_block *b)
{
	const run_hooks *h = t->m->hooks;

	for (const hop_stmt *s = b->first; s && !run_over(t); s = s->next) {
		t->now = s;
		switch (s->kind) {
		case HOP_L_OP: op(t, s); break;
		case HOP_L_LOOP: (h && s->bind.place ? h->loop : loop)(t, s); break;
		case HOP_L_IF: run_block(t, t->reg[s->a[0]].i ? &s->body : &s->other); break;
		case HOP_L_WHILE: repeat(t, s); break;
		case HOP_L_TILE:
			if (h)
				h->tile(t, s);
			else
				run_tile(t, s->tile);
			break;
		default: (h ? h->other : other)(t, s); break;
		}
	}
}

/* ---- functions ---- */

void run_begin(run_frame *t, run_machine *m, int fn, void *const *params, const int64_t *syms)
{
	const hop_lfunc *f = &m->prog->func[fn];

	if (!m->types[fn])
		m->types[fn] = run_types(f);
	*t = (run_frame){ .m = m, .f = f, .dt = m->types[fn], .params = params };
	t->syms = calloc((size_t)(f->nsym + f->nlocal) + 1, sizeof *t->syms);
	if (f->nsym)
		memcpy(t->syms, syms, sizeof *syms * (size_t)f->nsym);
	t->reg = calloc((size_t)f->nreg + 1, sizeof *t->reg);
}

void run_end(run_frame *t)
{
	for (int i = 0; t->own && i < t->f->nbuf; i++)
		free(t->own[i]);
	free(t->own);
	free(t->reg);
	free(t->syms);
}

void run_call(run_machine *m, int fn, void *const *params, const int64_t *syms)
{
	const hop_lfunc *f = &m->prog->func[fn];
	run_frame        t;

	run_begin(&t, m, fn, params, syms);
	if (!hop_size_eval(f->frame, t.syms, f->nsym, &t.nspace) || t.nspace < 0) {
		run_fail(&t, "the frame has no size");
		t.nspace = 0;
	}
	t.space = malloc((size_t)t.nspace + 64);
	memset(t.space, 0xff, (size_t)t.nspace + 64);     /* NaN, for what is never written */
	for (int i = 0; i < f->nlocal; i++)
		memset(t.space + f->buf[f->local[i]].offset.k, 0, 8);
	if (!m->stop)
		run_block(&t, &f->body);
	free(t.space);
	run_end(&t);
}

void run_open(run_machine *m, hop_env *e, const hop_prog *p)
{
	*m = (run_machine){ .env = e, .prog = p };
	m->types = calloc((size_t)p->nfunc + 1, sizeof *m->types);
	m->tape = calloc((size_t)p->ntape + 1, sizeof *m->tape);
}

bool run_enters(const run_machine *m, const int64_t *syms)
{
	for (int i = 0; i < m->prog->nentry; i++)
		if (!hop_check_holds(&m->prog->entry[i], syms, m->prog->func[0].nsym))
			return false;
	return true;
}

void run_close(run_machine *m)
{
	for (int i = 0; i < m->prog->ntape; i++)
		free(m->tape[i].p);
	for (int i = 0; i < m->prog->nfunc; i++)
		free(m->types[i]);
	free(m->types);
	free(m->tape);
}
