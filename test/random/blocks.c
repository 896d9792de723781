/* Blocks at random: blocks COUNT makes that many programs, nested four deep, each of statements
 * over a struct of four vectors and a buffer that is written in place. Each runs eagerly,
 * interpreted and native, with loops captured once and twice, and its gradient is compared between
 * interpreter and native code. RANDOM_SEED=n makes the one of that seed; RANDOM_SHOW=1 prints it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hop/hop.h"
#include "support/seed.h"

enum { NVAR = 4, LEN = 3, MAXSTMT = 64 };

/* ---- programs ---- */

enum kind { ASSIGN, WRITE, TAKE, WHILE, IF, SWITCH, FOR, DOWN, MAP, REGION, GRAD, NKIND };
static const char *const kind_name[] = { "assign", "write", "take", "while", "if", "switch", "for",
                                         "down", "map", "region", "grad" };

struct stmt {
	enum kind kind;
	int       a, b, c;             /* variables */
	int       n;                   /* trips, arms, or the op */
	int       first, last;         /* statements inside: of each arm the same, shifted by c */
};

struct program {
	int         nstmt, top;
	struct stmt s[MAXSTMT];
	uint64_t    seed;
};

static unsigned draw(struct program *p, unsigned n)
{
	p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(p->seed >> 33) % n;
}

/* Statements of one block lie together; what is inside them comes behind. */
static void fill(struct program *p, int depth, int *first, int *last)
{
	int n = 1 + (int)draw(p, depth ? 3 : 5);
	if (p->nstmt + n > MAXSTMT)
		n = MAXSTMT - p->nstmt;
	*first = p->nstmt;
	*last = p->nstmt += n;
	for (int i = *first; i < *last; i++) {
		struct stmt *s = &p->s[i];
		s->kind = (enum kind)draw(p, depth < 4 ? NKIND : WHILE);
		s->a = (int)draw(p, NVAR);
		s->b = (int)draw(p, NVAR);
		s->c = (int)draw(p, NVAR);
		s->n = (int)draw(p, 4);
		if (s->kind >= WHILE)
			fill(p, depth + 1, &s->first, &s->last);
	}
}

static void show(const struct program *p, int first, int last, int depth)
{
	for (int i = first; i < last; i++) {
		const struct stmt *s = &p->s[i];
		printf("%*s%s %d %d %d, %d\n", 2 * depth, "", kind_name[s->kind], s->a, s->b, s->c, s->n);
		if (s->kind >= WHILE)
			show(p, s->first, s->last, depth + 1);
	}
}

/* ---- running one through the macros ---- */

struct vars {
	hop_value v[NVAR];
};
HOP_TREE(vars_tree, struct vars, v[4]);

struct run {
	const struct program *p;
	hop_value             buf, rows;   /* written in place; [4, LEN], read by take */
	bool                  pure;        /* inside what refuses writes */
};

static hop_value compute(hop_trace *t, int op, hop_value a, hop_value b)
{
	switch (op) {
	case 0:
		return hop_tanh(t, hop_add(t, a, b));
	case 1:
		return hop_mul(t, hop_sin(t, a), b);
	case 2:
		return hop_sub(t, hop_mulf(t, a, 0.5), b);
	default:
		return hop_add(t, hop_cos(t, a), hop_sum_all(t, b));
	}
}

static hop_value holds(hop_trace *t, hop_value a)
{
	return hop_gt(t, hop_sum_all(t, a), hop_f(t, 0.1));
}

static void run_all(hop_trace *t, struct run *r, int first, int last, int shift, struct vars *x);

static void run_while(hop_trace *t, struct run *r, const struct stmt *s, struct vars *x)
{
	hop_value k = hop_cast(t, hop_f(t, 0), HOP_f64), old = k, rows = HOP_NONE;
	HOP_WHILE(t, hop_lt(t, k, hop_f(t, s->n)), k, x->v[0], x->v[1], x->v[2], x->v[3], old) {
		hop_bound(t, 2 + s->a);
		run_all(t, r, s->first, s->last, s->c, x);
		hop_stack(t, &rows, x->v[s->a]);
		old = k;
		k = hop_addf(t, k, 1);
	}
	x->v[s->b] = hop_add(t, x->v[s->b], hop_mulf(t, hop_add(t, old, hop_sum_all(t, rows)), 0.1));
}

static void run_for(hop_trace *t, struct run *r, const struct stmt *s, struct vars *x)
{
	hop_value ys = HOP_NONE;
	if (s->kind == FOR) {
		HOP_FOR_N(t, i, s->n, vars_tree, x) {
			hop_unroll(t, s->c);
			run_all(t, r, s->first, s->last, s->c, x);
			x->v[s->a] = hop_add(t, x->v[s->a], hop_take(t, r->rows, i));
			hop_stack(t, &ys, x->v[s->b]);
		}
	} else {
		HOP_FOR_DOWN_N(t, i, s->n, vars_tree, x) {
			x->v[s->a] = hop_mul(t, x->v[s->a], hop_cast(t, i, HOP_f64));
			run_all(t, r, s->first, s->last, s->c, x);
			hop_stack(t, &ys, hop_sum_all(t, x->v[s->b]));
		}
	}
	x->v[s->c] = hop_add(t, x->v[s->c], hop_sum_all(t, ys));
}

/* Nothing inside is carried, and nothing outside written. */
static void run_map(hop_trace *t, struct run *r, const struct stmt *s, struct vars *x)
{
	hop_value ys = HOP_NONE;
	struct run in = *r;
	in.pure = true;
	HOP_MAP(t, i, s->n) {
		hop_chunk(t, s->b);
		struct vars own = *x;
		own.v[s->a] = hop_add(t, own.v[s->a], hop_take(t, r->rows, i));
		run_all(t, &in, s->first, s->last, s->c, &own);
		hop_stack(t, &ys, own.v[s->b]);
	}
	x->v[s->c] = hop_add(t, x->v[s->c], hop_sum_all(t, ys));
}

static void run_grad(hop_trace *t, struct run *r, const struct stmt *s, struct vars *x)
{
	hop_value loss = HOP_NONE;
	struct vars g;
	struct run in = *r;
	in.pure = true;
	HOP_GRAD_N(t, loss, vars_tree, x, &g) {
		run_all(t, &in, s->first, s->last, s->c, x);
		loss = hop_sum_all(t, hop_mul(t, x->v[s->a], x->v[s->b]));
	}
	for (int i = 0; i < NVAR; i++)
		x->v[i] = hop_tanh(t, hop_add(t, x->v[i], g.v[i]));
}

static void run_arms(hop_trace *t, struct run *r, const struct stmt *s, struct vars *x)
{
	hop_value none = HOP_NONE;
	if (s->kind == IF) {
		HOP_IF(t, holds(t, x->v[s->a]), x->v[0], x->v[1], x->v[2], x->v[3], none) {
			run_all(t, r, s->first, s->last, 0, x);
			none = x->v[s->c];
		} else if (s->n) {
			run_all(t, r, s->first, s->last, s->n, x);
			none = hop_neg(t, x->v[s->b]);
		} else {
			none = hop_mulf(t, x->v[s->b], 2);
		}
	} else {
		hop_value k = hop_cast(t, hop_sum_all(t, x->v[s->a]), HOP_i64);
		HOP_SWITCH(t, k, 3, x->v[0], x->v[1], x->v[2], x->v[3], none) {
		case 0:
			run_all(t, r, s->first, s->last, 0, x);
		/* fall through */
		case 1:
			none = hop_neg(t, x->v[s->b]);
			break;
		default:
			x->v[s->c] = hop_cos(t, x->v[s->c]);
			none = x->v[s->c];
		}
	}
	x->v[s->b] = hop_add(t, x->v[s->b], hop_tanh(t, none));
}

static void run_one(hop_trace *t, struct run *r, const struct stmt *s, int shift, struct vars *x)
{
	struct stmt own = *s;
	own.a = (s->a + shift) % NVAR;
	s = &own;
	switch (s->kind) {
	case ASSIGN:
		x->v[s->a] = compute(t, s->n, x->v[s->b], x->v[s->c]);
		break;
	case WRITE:
		if (r->pure)
			x->v[s->a] = hop_add(t, x->v[s->a], r->buf);
		else if (s->n < 3)
			hop_add_(t, r->buf, hop_mulf(t, hop_tanh(t, x->v[s->a]), 0.5));
		else
			hop_mul_(t, x->v[s->a], hop_f(t, 0.5));
		break;
	case TAKE:
		x->v[s->a] = hop_add(t, x->v[s->b], hop_take(t, r->rows, hop_i(t, s->n)));
		break;
	case WHILE:
		run_while(t, r, s, x);
		break;
	case FOR:
	case DOWN:
		run_for(t, r, s, x);
		break;
	case MAP:
		run_map(t, r, s, x);
		break;
	case GRAD:
		run_grad(t, r, s, x);
		break;
	case REGION:
		HOP_REGION_N(t, s->n ? "r" : NULL, vars_tree, x)
			run_all(t, r, s->first, s->last, s->c, x);
		break;
	default:
		run_arms(t, r, s, x);
	}
}

static void run_all(hop_trace *t, struct run *r, int first, int last, int shift, struct vars *x)
{
	for (int i = first; i < last && !hop_failed(t); i++)
		run_one(t, r, &r->p->s[i], shift, x);
}

static void body(hop_trace *t, const hop_value *in, void *user)
{
	const struct program *p = user;
	struct run r = { .p = p, .buf = hop_clone(t, in[0]), .rows = in[2] };
	struct vars x;
	for (int i = 0; i < NVAR; i++)
		x.v[i] = hop_mulf(t, i & 1 ? in[0] : in[1], 1 + i);
	run_all(t, &r, 0, p->top, 0, &x);
	hop_value sum = hop_sum_all(t, r.buf);
	for (int i = 0; i < NVAR; i++)
		sum = hop_add(t, sum, hop_sum_all(t, x.v[i]));
	hop_return(t, sum, r.buf, x.v[0], x.v[1], x.v[2], x.v[3]);
}

/* ---- judging ---- */

enum { NIN = 3, NOUT = 2 + NVAR, MAXOUT = NOUT + 2 };

struct judge {
	hop_ctx   *c;
	hop_array *in[NIN];
	uint64_t   seed;
	bool       bad;
};

static void fails(struct judge *j, const char *what)
{
	printf("FAIL seed %llu: %s\n", (unsigned long long)j->seed, what);
	j->bad = true;
}

static bool same(hop_array *a, hop_array *b, bool bits)
{
	int64_t n = hop_array_count(a);
	if (n != hop_array_count(b))
		return false;
	for (int64_t i = 0; i < n; i++) {
		double x = hop_array_at(a, i), y = hop_array_at(b, i);
		if (bits ? memcmp(&x, &y, sizeof x) != 0 : fabs(x - y) > 1e-9 * (1 + fabs(x)))
			return false;
	}
	return true;
}

static void compare(struct judge *j, const char *what, int n, hop_array **a, hop_array **b)
{
	for (int i = 0; i < n; i++)
		if (!j->bad && !same(a[i], b[i], true))
			fails(j, what);
}

static void release(int n, hop_array **a)
{
	for (int i = 0; i < n; i++)
		hop_array_release(a[i]);
}

/* What f gives for inputs that are so much larger is not the same. */
static bool moves(struct judge *j, hop_fn *f, int n, hop_array **want, double by)
{
	hop_array *in[NIN] = { NULL }, *out[MAXOUT] = { NULL };
	bool moved = false;
	for (int i = 0; i < NIN; i++) {
		double v[4 * LEN];
		for (int64_t k = 0; k < hop_array_count(j->in[i]); k++)
			v[k] = hop_array_at(j->in[i], k) * (1 + by);
		int64_t dim[2] = { 4, LEN }, one = LEN;
		if (hop_array_new(j->c, HOP_f64, i == 2 ? 2 : 1, i == 2 ? dim : &one, v, &in[i]))
			in[i] = NULL;
	}
	if (in[0] && in[1] && in[2] &&
	    !hop_call_with(f, NIN, in, n, out, HOP_RUN_OPTS(.interpret = true)))
		for (int i = 0; i < n; i++)
			moved |= !same(want[i], out[i], false);
	release(n, out);
	release(NIN, in);
	return moved;
}

/* Do results that rounding moves this far say anything? Where sines of large numbers go round in loops
 * they do not: then native code, which rounds otherwise, may differ as well. It does so at each of some
 * hundred operations, so that inputs are moved by as many roundings, not by one. */
static bool unsteady(struct judge *j, hop_fn *f, int n, hop_array **want)
{
	return moves(j, f, n, want, 1e-15) || moves(j, f, n, want, 1e-13) || moves(j, f, n, want, -1e-13);
}

/* f interpreted and native; what it gives interpreted. */
static bool both(struct judge *j, const char *what, hop_fn *f, int n, hop_array **out)
{
	hop_array *own[MAXOUT] = { NULL };
	if (hop_call_with(f, NIN, j->in, n, out, HOP_RUN_OPTS(.interpret = true)) ||
	    hop_call(f, NIN, j->in, n, own)) {
		fails(j, hop_message(j->c));
		release(n, out);
		return false;
	}
	bool bad = false;
	for (int i = 0; i < n; i++)
		bad |= !same(out[i], own[i], false);
	if (bad && unsteady(j, f, n, out))
		printf("seed %llu: unsteady\n", (unsigned long long)j->seed);
	else if (bad)
		fails(j, what);
	release(n, own);
	return true;
}

static hop_fn *capture(struct judge *j, struct program *p)
{
	hop_spec in[NIN] = { hop_spec1(HOP_f64, LEN), hop_spec1(HOP_f64, LEN),
	                     hop_spec2(HOP_f64, 4, LEN) };
	hop_fn *f;
	if (hop_capture(j->c, body, p, NIN, in, &f))
		fails(j, hop_message(j->c));
	return f;
}

static void judge(struct judge *j, struct program *p)
{
	hop_array *eager[NOUT] = { NULL }, *out[MAXOUT] = { NULL };
	const int wrt[2] = { 0, 2 };
	unsetenv("HOP_CHECK");
	hop_fn *f = capture(j, p), *g = NULL;
	setenv("HOP_CHECK", "blocks", 1);
	hop_fn *h = capture(j, p);
	if (f && h && strcmp(hop_fn_text(f), hop_fn_text(h)))
		fails(j, "captured twice it is another graph");
	if (f && both(j, "native code differs", f, NOUT, out)) {
		if (hop_eager_call(j->c, body, p, NIN, j->in, NOUT, eager))
			fails(j, hop_message(j->c));
		else
			compare(j, "eager differs", NOUT, out, eager);
		release(NOUT, eager);
		release(NOUT, out);
	}
	if (f && !j->bad && hop_grad(f, 2, wrt, &g))
		fails(j, hop_message(j->c));
	if (g && both(j, "native gradient differs", g, MAXOUT, out))
		release(MAXOUT, out);
	hop_fn_release(g);
	hop_fn_release(h);
	hop_fn_release(f);
}

static bool one(uint64_t seed, bool print)
{
	struct judge j = { .seed = seed };
	struct program p = { .seed = seed };
	const double v[2][LEN] = { { 0.5, -1, 0.25 }, { -0.3, 0.7, 1.1 } };
	double rows[4 * LEN];
	int64_t dim[2] = { 4, LEN }, n = LEN;
	int first;
	for (int i = 0; i < 4 * LEN; i++)
		rows[i] = sin(i);
	fill(&p, 0, &first, &p.top);
	if (print)
		show(&p, 0, p.top, 0);
	if (hop_ctx_new(NULL, &j.c))
		return false;
	bool ok = !hop_array_new(j.c, HOP_f64, 1, &n, v[0], &j.in[0]) &&
	          !hop_array_new(j.c, HOP_f64, 1, &n, v[1], &j.in[1]) &&
	          !hop_array_new(j.c, HOP_f64, 2, dim, rows, &j.in[2]);
	if (ok)
		judge(&j, &p);
	release(NIN, j.in);
	hop_ctx_free(j.c);
	return ok && !j.bad;
}

int main(int argc, char **argv)
{
	const char *only = getenv("RANDOM_SEED");
	long count = argc > 1 ? atol(argv[1]) : only ? 1 : 100, bad = 0;
	for (long i = 0; seed_more(i, &count); i++) {
		bad += !one(seed_of(i, count), getenv("RANDOM_SHOW") != NULL);
		fflush(stdout);
	}
	printf("%ld passed, %ld failed\n", count - bad, bad);
	return bad != 0;
}
