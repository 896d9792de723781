/* loop_run.c -- a plain interpreter of loop programs. Follows sops.def to the letter and
 * checks that every element is inside its buffer. Knows nothing of threads or vectors. */
#include "support/loop_run.h"

#include "ir/build.h"
#include "loop/gemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef union scalar { double f; int64_t i; } scalar;

typedef struct tape { char *p; size_t bytes; } tape;

typedef struct machine {
	hop_env        *env;
	const hop_prog *prog;
	tape           *tape;
	hop_run_effect *effect;
	void           *user;
	int             stop;
	const char     *why;
} machine;

typedef struct frame {
	machine         *m;
	const hop_lfunc *f;
	void *const     *params;
	const int64_t   *given;
	int64_t         *syms;       /* given, then locals */
	char            *space;
	int64_t          nspace;
	scalar          *reg;
} frame;

static void fail(frame *t, const char *why)
{
	if (!t->m->stop) {
		t->m->stop = -1;
		t->m->why = why;
	}
}

static void locals(frame *t)
{
	for (int i = 0; i < t->f->nlocal; i++) {
		const hop_lbuf *b = &t->f->buf[t->f->local[i]];
		memcpy(&t->syms[t->f->nsym + i], t->space + b->offset.k, sizeof *t->syms);
	}
}

static int64_t size(frame *t, hop_size s)
{
	int64_t v = 0;

	if (hop_size_const(s))
		return s.k;
	locals(t);
	if (!hop_size_eval(s, t->syms, t->f->nsym + t->f->nlocal, &v))
		fail(t, "a size has no value");
	return v;
}

static void *base(frame *t, int buf, int64_t *out_count)
{
	const hop_lbuf *b = &t->f->buf[buf];
	int64_t         bytes = (int64_t)hop_dtype_bytes(b->dtype), at;

	switch (b->kind) {
	case HOP_BUF_PARAM:
		*out_count = size(t, b->count);
		return t->params[b->index];
	case HOP_BUF_TEMP:
		*out_count = size(t, b->count);
		at = size(t, b->offset);
		if (b->space == HOP_SPACE_RESULT) {
			int64_t room = INT64_MAX;         /* a part need not name the result */
			for (int i = 0; i < t->f->nbuf; i++) {
				const hop_lbuf *to = &t->f->buf[i];
				if (to->kind == HOP_BUF_PARAM && to->index == b->index && to->dtype == b->dtype)
					room = size(t, to->count) * bytes;
			}
			if (at < 0 || at + *out_count * bytes > room)
				fail(t, "a temporary leaves the result that it lives in");
			return (char *)t->params[b->index] + at;
		}
		if (at < 0 || at + *out_count * bytes > t->nspace)
			fail(t, "a temporary leaves the frame");
		return t->space + at;
	case HOP_BUF_CONST:
		*out_count = b->count.k;
		return (void *)b->data;
	case HOP_BUF_TAPE:
		*out_count = (int64_t)t->m->tape[b->index].bytes / bytes;
		return t->m->tape[b->index].p;
	}
	return NULL;
}

/* NULL when out of bounds. */
static void *at(frame *t, const hop_addr *a)
{
	int64_t i = size(t, a->offset), n = 0;
	char   *p = base(t, a->buf, &n);

	for (int k = 0; k < a->nterm; k++)
		i += t->reg[a->term[k].reg].i * size(t, a->term[k].stride);
	if (t->m->stop)
		return NULL;
	if (i < 0 || i >= n) {
		fail(t, "an access is out of bounds");
		return NULL;
	}
	return p + (size_t)i * hop_dtype_bytes(t->f->buf[a->buf].dtype);
}

static scalar get(hop_dtype d, const void *p)
{
	scalar s;

	if (hop_dtype_real(d))
		s.f = hop_elem_f(d, p);
	else
		s.i = hop_elem_i(d, p);
	return s;
}

static void set(hop_dtype d, void *p, scalar s)
{
	if (hop_dtype_real(d))
		hop_elem_set_f(d, p, s.f);
	else
		hop_elem_set_i(d, p, s.i);
}

/* What a register of the dtype can hold. */
static scalar trim(hop_dtype d, scalar s)
{
	uint64_t elem;

	if (hop_dtype_bool(d))
		s.i &= 1;
	set(d, &elem, s);
	return get(d, &elem);
}

static int64_t saturate(hop_dtype d, double v)
{
	double least = (double)hop_dtype_least(d);

	if (v != v)
		return 0;
	return v < least ? hop_dtype_least(d) : v >= -least ? hop_dtype_most(d) : (int64_t)v;
}

static scalar cast(hop_dtype to, hop_dtype from, scalar s)
{
	bool     fl = hop_dtype_real(from);
	uint64_t elem;
	scalar   r;

	if (hop_dtype_bool(to)) {
		r.i = fl ? s.f != 0 : s.i != 0;
	} else if (hop_dtype_real(to) && !fl) {
		hop_elem_set_i(to, &elem, s.i);              /* rounded once */
		return get(to, &elem);
	} else if (hop_dtype_real(to)) {
		r.f = s.f;
	} else {
		r.i = fl ? saturate(to, s.f) : s.i;
	}
	return trim(to, r);
}

static scalar bitcast(hop_dtype to, hop_dtype from, scalar s)
{
	char bytes[8];

	set(from, bytes, s);
	return get(to, bytes);
}

static double fop1(enum hop_sop s, double x)
{
	switch (s) {
	case HOP_SOP_neg: return -x;
	case HOP_SOP_abs: return fabs(x);
	case HOP_SOP_exp: return exp(x);
	case HOP_SOP_log: return log(x);
	case HOP_SOP_sin: return sin(x);
	case HOP_SOP_cos: return cos(x);
	case HOP_SOP_tanh: return tanh(x);
	case HOP_SOP_sqrt: return sqrt(x);
	case HOP_SOP_floor: return floor(x);
	case HOP_SOP_ceil: return ceil(x);
	case HOP_SOP_trunc: return trunc(x);
	case HOP_SOP_round: return nearbyint(x);
	default: return NAN;
	}
}

static double fop2(enum hop_sop s, double x, double y)
{
	switch (s) {
	case HOP_SOP_add: return x + y;
	case HOP_SOP_sub: return x - y;
	case HOP_SOP_mul: return x * y;
	case HOP_SOP_div: return x / y;
	case HOP_SOP_rem: return fmod(x, y);
	case HOP_SOP_pow: return pow(x, y);
	case HOP_SOP_max: return x != x ? x : y != y ? y : x > y ? x : y;
	case HOP_SOP_min: return x != x ? x : y != y ? y : x < y ? x : y;
	default: return NAN;
	}
}

static int64_t iop2(enum hop_sop s, hop_dtype d, int64_t x, int64_t y)
{
	uint64_t a = (uint64_t)x, b = (uint64_t)y, w = 8 * hop_dtype_bytes(d);

	switch (s) {
	case HOP_SOP_add: return (int64_t)(a + b);
	case HOP_SOP_sub: return (int64_t)(a - b);
	case HOP_SOP_mul: return (int64_t)(a * b);
	case HOP_SOP_div: return y == 0 ? 0 : y == -1 ? (int64_t)(0 - a) : x / y;
	case HOP_SOP_rem: return y == 0 ? x : y == -1 ? 0 : x % y;
	case HOP_SOP_max: return x > y ? x : y;
	case HOP_SOP_min: return x < y ? x : y;
	case HOP_SOP_and: return x & y;
	case HOP_SOP_or: return x | y;
	case HOP_SOP_xor: return x ^ y;
	case HOP_SOP_shl: return b >= w ? 0 : (int64_t)(a << b);
	case HOP_SOP_shr: return b >= w ? 0 : (int64_t)((w == 32 ? (uint32_t)a : a) >> b);
	case HOP_SOP_mulhi: return (int64_t)((uint64_t)(uint32_t)a * (uint32_t)b >> 32);
	default: return 0;
	}
}

static bool compare(enum hop_sop s, bool fl, scalar x, scalar y)
{
	switch (s) {
	case HOP_SOP_eq: return fl ? x.f == y.f : x.i == y.i;
	case HOP_SOP_ne: return fl ? x.f != y.f : x.i != y.i;
	case HOP_SOP_lt: return fl ? x.f < y.f : x.i < y.i;
	default: return fl ? x.f <= y.f : x.i <= y.i;
	}
}

/* Registers do not carry their dtype: comparisons and casts look for the definition. */
static hop_dtype *types(const hop_lfunc *f);

static void note(const hop_block *b, hop_dtype *d)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		if (s->kind == HOP_L_OP && s->dst)
			d[s->dst] = s->dtype;
		if (s->kind == HOP_L_LOOP) {
			d[s->dst] = HOP_i64;
			d[s->bind.slice] = HOP_i64;
			for (int i = 0; i < s->nacc; i++)
				d[s->acc[i].result] = s->acc[i].dtype;
		}
		for (int i = 0; s->kind == HOP_L_TILE && i < s->tile->of->nhole; i++) {
			for (int k = 0; k < HOP_TILE_REGS; k++)
				d[s->tile->hole[i].reg[k]] = k < s->tile->of->hole[i].npos ? HOP_i64
				                                                           : s->tile->dtype;
			note(&s->tile->hole[i].body, d);
		}
		note(&s->body, d);
		note(&s->other, d);
	}
}

static hop_dtype *types(const hop_lfunc *f)
{
	hop_dtype *d = calloc((size_t)f->nreg + 1, sizeof *d);

	note(&f->body, d);
	return d;
}

static void run(frame *t, const hop_block *b, const hop_dtype *dt);

static void op(frame *t, const hop_stmt *s, const hop_dtype *dt)
{
	scalar a[3] = { { .i = 0 } }, r = { .i = 0 };
	void  *p;
	bool   fl = hop_dtype_real(s->dtype);

	for (int i = 0; i < s->na; i++)
		a[i] = t->reg[s->a[i]];
	switch (s->sop) {
	case HOP_SOP_constf: r.f = s->u.f; break;
	case HOP_SOP_consti: r.i = s->u.i; break;
	case HOP_SOP_size: r.i = size(t, s->u.size); break;
	case HOP_SOP_load:
		if (s->na && !a[0].i) {
			if (fl)
				r.f = 0;
			break;
		}
		if ((p = at(t, &s->u.addr)))
			r = get(s->dtype, p);
		break;
	case HOP_SOP_store:
		if (s->na > 1 && !a[1].i)
			return;
		if ((p = at(t, &s->u.addr)))
			set(s->dtype, p, a[0]);
		return;
	case HOP_SOP_bitcast: r = bitcast(s->dtype, dt[s->a[0]], a[0]); break;
	case HOP_SOP_cast: r = cast(s->dtype, dt[s->a[0]], a[0]); break;
	case HOP_SOP_eq: case HOP_SOP_ne: case HOP_SOP_lt: case HOP_SOP_le:
		r.i = compare(s->sop, hop_dtype_real(dt[s->a[0]]), a[0], a[1]);
		break;
	case HOP_SOP_select: r = a[0].i ? a[1] : a[2]; break;
	case HOP_SOP_not: r.i = hop_dtype_bool((hop_dtype)s->dtype) ? !a[0].i : ~a[0].i; break;
	default:
		if (s->na == 1 && fl)
			r.f = fop1(s->sop, a[0].f);
		else if (s->na == 1)
			r.i = s->sop == HOP_SOP_neg || a[0].i < 0 ? (int64_t)(0 - (uint64_t)a[0].i)
			                                          : a[0].i;
		else if (fl)
			r.f = fop2(s->sop, a[0].f, a[1].f);
		else
			r.i = iop2(s->sop, s->dtype, a[0].i, a[1].i);
	}
	t->reg[s->dst] = trim(s->dtype, r);
}

static scalar combine(const hop_acc *c, scalar x, scalar y)
{
	static const enum hop_sop sop[] = { HOP_SOP_add, HOP_SOP_max, HOP_SOP_min, HOP_SOP_mul,
	                                    HOP_SOP_or, HOP_SOP_and };
	scalar r;

	if (hop_dtype_real(c->dtype))
		r.f = fop2(sop[c->op], x.f, y.f);      /* not rounded to f32: a better sum */
	else
		r = trim(c->dtype, (scalar){ .i = iop2(sop[c->op], c->dtype, x.i, y.i) });
	return r;
}

/* After the body of a step. */
static void carries(frame *t, const hop_stmt *s)
{
	for (int i = 0; i < s->ncarry; i++) {
		hop_dtype d = t->f->buf[s->carry[i].now.buf].dtype;
		int64_t   n = size(t, s->carry[i].count);

		for (int64_t k = 0; k < n && !t->m->stop; k++) {
			hop_addr x = s->carry[i].now, y = s->carry[i].next;
			void    *to, *from;

			x.offset = y.offset = hop_size_int(k);
			to = at(t, &x);
			from = at(t, &y);
			if (to && from)
				memcpy(to, from, hop_dtype_bytes(d));
		}
	}
}

static void loop(frame *t, const hop_stmt *s, const hop_dtype *dt)
{
	int64_t n = s->bound ? t->reg[s->bound].i : size(t, s->extent);
	int64_t block = (n + HOP_BLOCKS - 1) / HOP_BLOCKS;
	scalar *acc = calloc((size_t)s->nacc + 1, sizeof *acc);

	for (int k = 0; k < s->nacc; k++)
		acc[k] = t->reg[s->acc[k].init];
	for (int64_t i = 0; i < n && !t->m->stop; i++) {
		t->reg[s->dst].i = s->reverse ? n - 1 - i : i;
		if (s->bind.slice)
			t->reg[s->bind.slice].i = i / block;
		run(t, &s->body, dt);
		carries(t, s);
		for (int k = 0; k < s->nacc; k++)
			acc[k] = combine(&s->acc[k], acc[k], t->reg[s->acc[k].value]);
	}
	for (int k = 0; k < s->nacc; k++)
		t->reg[s->acc[k].result] = trim(s->acc[k].dtype, acc[k]);
	free(acc);
}

/* Address of one element of a matrix operand. */
static void *elem(frame *t, const hop_addr *a, const hop_size *st, int64_t i, int64_t j)
{
	hop_addr x = *a;

	x.offset = hop_size_int(size(t, a->offset) + i * size(t, st[0]) + j * size(t, st[1]));
	return at(t, &x);
}

static void gemm(frame *t, const hop_gemm *g, const hop_dtype *dt)
{
	int64_t m = size(t, g->m), n = size(t, g->n), k = size(t, g->k);

	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			scalar s = { .f = 0 };
			void  *c = g->epilogue.first && !g->beta ? NULL : elem(t, &g->c, g->cs, i, j);
			if (g->beta && c)
				s = get(g->dtype, c);
			for (int64_t q = 0; q < k && !t->m->stop; q++) {
				void *a = elem(t, &g->a, g->as, i, q), *b = elem(t, &g->b, g->bs, q, j);
				if (a && b)
					s.f += get(g->dtype, a).f * get(g->dtype, b).f;
			}
			if (t->m->stop)
				return;
			s = trim(g->dtype, s);
			if (!g->epilogue.first) {
				set(g->dtype, c, s);
				continue;
			}
			t->reg[g->em].i = i;
			t->reg[g->en].i = j;
			t->reg[g->ev] = s;
			run(t, &g->epilogue, dt);
		}
}

/* Any other template is the loops that it stands for, as a function that goes on with our
 * registers. */
static void expanded(frame *t, const hop_tile *x)
{
	hop_lfunc  f = *t->f;
	hop_lbuild b = { .env = t->m->env, .a = &t->m->env->tmp, .f = &f, .block = &f.body };
	hop_mark   m = hop_mark_at(&t->m->env->tmp);
	frame      own = *t;
	hop_dtype *dt;

	f.body = (hop_block){ 0 };
	if (!x->of->expand(&b, x) || f.nreg > t->f->nreg + x->of->nreg) {
		fail(t, "a template that loops cannot say, or not in so few registers");
		return;
	}
	own.f = &f;
	own.reg = calloc((size_t)f.nreg + 1, sizeof *own.reg);
	memcpy(own.reg, t->reg, sizeof *own.reg * ((size_t)t->f->nreg + 1));
	dt = types(&f);
	run(&own, &f.body, dt);
	free(dt);
	free(own.reg);
	hop_rewind(&t->m->env->tmp, m);
}

static void tile(frame *t, const hop_tile *x, const hop_dtype *dt)
{
	if (x->of == &hop_template_gemm) {
		hop_gemm g = hop_gemm_of(x);

		gemm(t, &g, dt);
	} else {
		expanded(t, x);
	}
}

static void call(machine *m, int fn, void *const *params, const int64_t *syms);

/* Pointers of arguments; an empty buffer has one too. */
static void **pointers(frame *t, const hop_stmt *s)
{
	void **p = calloc((size_t)s->narg + 1, sizeof *p);

	for (int i = 0; i < s->narg; i++) {
		const hop_addr *a = &s->args[i];
		int64_t         k = size(t, a->offset), n;
		char           *b = base(t, a->buf, &n);
		for (int j = 0; j < a->nterm; j++)
			k += t->reg[a->term[j].reg].i * size(t, a->term[j].stride);
		p[i] = b + k * (int64_t)hop_dtype_bytes(t->f->buf[a->buf].dtype);
	}
	return p;
}

/* A part of the same function: only registers are its own. */
static void call_part(frame *t, const hop_stmt *s)
{
	frame      own = *t;
	hop_dtype *dt;

	own.f = &t->m->prog->func[s->callee];
	own.reg = calloc((size_t)own.f->nreg + 1, sizeof *own.reg);
	dt = types(own.f);
	if (!t->m->stop)
		run(&own, &own.f->body, dt);
	free(dt);
	free(own.reg);
}

static void outside(frame *t, const hop_stmt *s)
{
	if (s->kind == HOP_L_CALL && s->is_part) {
		call_part(t, s);
		return;
	}
	void   **p = pointers(t, s);
	int64_t *syms = calloc((size_t)s->nsize + 1, sizeof *syms);

	for (int i = 0; i < s->nsize; i++)
		syms[i] = size(t, s->sizes[i]);
	(void)size(t, hop_size_int(0));
	if (s->kind == HOP_L_CALL)
		call(t->m, s->callee, p, syms);
	else if (t->m->effect && !t->m->stop)
		t->m->stop = t->m->effect(t->m->user, &t->m->prog->effect[s->callee], p, t->syms);
	free(syms);
	free(p);
}

static void grow(frame *t, const hop_stmt *s)
{
	const hop_lbuf *b = &t->f->buf[s->buf];
	tape           *p = &t->m->tape[b->index];
	size_t          n = (size_t)t->reg[s->a[0]].i * hop_dtype_bytes(b->dtype);

	if (n <= p->bytes)
		return;
	p->p = realloc(p->p, n);
	memset(p->p + p->bytes, 0xff, n - p->bytes);
	p->bytes = n;
}

/* A program that refuses its input stops; it is no mistake of the lowering. */
static void check(frame *t, const hop_stmt *s)
{
	locals(t);
	if (!hop_check_holds(&t->m->prog->check[s->callee].c, t->syms,
	                     t->f->nsym + t->f->nlocal))
		t->m->stop = HOP_LOOP_REFUSED;
}

static void run(frame *t, const hop_block *b, const hop_dtype *dt)
{
	for (const hop_stmt *s = b->first; s && !t->m->stop; s = s->next)
		switch (s->kind) {
		case HOP_L_OP: op(t, s, dt); break;
		case HOP_L_LOOP: loop(t, s, dt); break;
		case HOP_L_IF: run(t, t->reg[s->a[0]].i ? &s->body : &s->other, dt); break;
		case HOP_L_WHILE:
			for (;;) {
				run(t, &s->other, dt);
				if (t->m->stop || !t->reg[s->a[0]].i)
					break;
				run(t, &s->body, dt);
				carries(t, s);
			}
			break;
		case HOP_L_TILE: tile(t, s->tile, dt); break;
		case HOP_L_CALL:
		case HOP_L_EFFECT: outside(t, s); break;
		case HOP_L_GROW: grow(t, s); break;
		case HOP_L_CHECK: check(t, s); break;
		case HOP_L_BARRIER: break;
		}
}

static void call(machine *m, int fn, void *const *params, const int64_t *syms)
{
	const hop_lfunc *f = &m->prog->func[fn];
	frame            t = { .m = m, .f = f, .params = params, .given = syms };
	hop_dtype       *dt = types(f);

	t.syms = calloc((size_t)(f->nsym + f->nlocal) + 1, sizeof *t.syms);
	if (f->nsym)
		memcpy(t.syms, syms, sizeof *syms * (size_t)f->nsym);
	if (!hop_size_eval(f->frame, t.syms, f->nsym, &t.nspace) || t.nspace < 0) {
		fail(&t, "the frame has no size");
		t.nspace = 0;
	}
	t.space = malloc((size_t)t.nspace + 64);
	memset(t.space, 0xff, (size_t)t.nspace + 64);     /* NaN, for what is never written */
	t.reg = calloc((size_t)f->nreg + 1, sizeof *t.reg);
	for (int i = 0; i < f->nlocal; i++)
		memset(t.space + f->buf[f->local[i]].offset.k, 0, 8);
	if (!m->stop)
		run(&t, &f->body, dt);
	free(t.reg);
	free(t.space);
	free(t.syms);
	free(dt);
}

int hop_loop_run(hop_env *e, const hop_prog *p, void *const *params, const int64_t *syms,
                 hop_run_effect *effect, void *user, const char **why)
{
	machine m = { .env = e, .prog = p, .effect = effect, .user = user, .why = "" };

	m.tape = calloc((size_t)p->ntape + 1, sizeof *m.tape);
	for (int i = 0; i < p->nentry; i++)
		if (!hop_check_holds(&p->entry[i], syms, p->func[0].nsym))
			m.stop = HOP_LOOP_REFUSED;
	if (!m.stop)
		call(&m, 0, params, syms);
	for (int i = 0; i < p->ntape; i++)
		free(m.tape[i].p);
	free(m.tape);
	if (why)
		*why = m.why;
	return m.stop;
}
