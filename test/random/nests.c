/* Nests at random: nests COUNT makes that many programs of a few steps over arrays of some thousand
 * elements, whose sizes are those at which code for vectors, rows, tiles and blocks begins to be
 * another, one more and one less. Each, and its gradient, is compared between interpreter and compiled
 * code, in f64 and in f32. Contrast programs.c, whose programs are deep and whose arrays are small.
 * RANDOM_SEED=n makes the one of that seed; RANDOM_SHOW=1 prints it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "hop/hop.h"
#include "support/agree.h"
#include "support/seed.h"

enum { MAXSTEP = 6, MAXRANK = 3, POOL = 1 << 15, MOST = 60000 };

/* ---- programs ---- */

enum kind { POINT, BIAS, CENTER, DROP, SCALE, TURN, SOFTMAX, PRODUCT, CUT, SHIFT, RUNNING, ROWS, BACK,
            BRANCH, LOOP, NKIND };
static const char *const kind_name[] = { "point", "bias", "center", "drop", "scale", "turn", "softmax",
                                         "product", "cut", "shift", "running", "rows", "back", "branch",
                                         "loop" };

struct step { enum kind kind; unsigned a, b; };
struct program {
	uint64_t    seed;
	bool        ties;              /* it has a maximum: rounding decides who gets its gradient */
	hop_dtype   dtype;
	int         rank, nstep;
	int64_t     dim[MAXRANK];
	struct step s[MAXSTEP];
};

static unsigned draw(struct program *p, unsigned n)
{
	p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(p->seed >> 33) % n;
}

static int64_t size_below(struct program *p, int64_t most)
{
	static const int64_t near[] = { 1, 2, 4, 8, 16, 32, 64, 96, 128, 256, 300, 512, 1000, 1024, 2048,
		4096, 5000, 8192, 16384, 30000 };
	int64_t n;
	do
		n = near[draw(p, sizeof near / sizeof *near)] + (int64_t)draw(p, 3) - 1;
	while (n > most);
	return n;
}

static struct program program_of(uint64_t seed)
{
	struct program p = { .seed = seed };
	int64_t left = MOST;
	draw(&p, 2);
	p.dtype = draw(&p, 3) ? HOP_f64 : HOP_f32;
	p.rank = 1 + (int)draw(&p, MAXRANK);
	for (int i = 0; i < p.rank; i++) {
		p.dim[i] = size_below(&p, left);
		left /= p.dim[i] ? p.dim[i] : 1;
	}
	p.nstep = 1 + (int)draw(&p, MAXSTEP);
	for (int i = 0; i < p.nstep; i++)
		p.s[i] = (struct step){ (enum kind)draw(&p, NKIND), draw(&p, 1 << 20), draw(&p, 1 << 20) };
	return p;
}

static void show(const struct program *p)
{
	printf("%s[", p->dtype == HOP_f64 ? "f64" : "f32");
	for (int i = 0; i < p->rank; i++)
		printf("%s%lld", i ? ", " : "", (long long)p->dim[i]);
	printf("]");
	for (int i = 0; i < p->nstep; i++)
		printf(" %s(%u, %u)", kind_name[p->s[i].kind], p->s[i].a, p->s[i].b);
	printf("\n");
}

/* ---- running one ---- */

struct state {
	hop_value v, pool;
	int       rank;
	int64_t   dim[MAXRANK];
	bool     *ties;
};

static int64_t count(const struct state *s)
{
	int64_t n = 1;
	for (int i = 0; i < s->rank; i++)
		n *= s->dim[i];
	return n;
}

/* n numbers of the pool, along an axis of rank axes. */
static hop_value along(hop_trace *t, const struct state *s, int axis, int64_t n)
{
	hop_dim d[MAXRANK];
	for (int i = 0; i < s->rank; i++)
		d[i] = hop_n(i == axis ? n : 1);
	return hop_reshape(t, hop_narrow(t, s->pool, 0, 0, n), s->rank, d);
}

/* A maximum or mean over one axis; it stays with size 1, or goes. */
static hop_value reduced(hop_trace *t, const struct state *s, int axis, bool most)
{
	double n = s->dim[axis] > 0 ? (double)s->dim[axis] : 1;
	*s->ties |= most;
	return most && s->dim[axis] ? hop_amax(t, s->v, 1, &axis)
	                            : hop_mulf(t, hop_sum(t, s->v, 1, &axis), 1 / n);
}

static hop_value kept(hop_trace *t, const struct state *s, int axis, bool most)
{
	return hop_unsqueeze(t, reduced(t, s, axis, most), axis);
}

static void drop(hop_trace *t, struct state *s, int axis, bool most)
{
	if (s->rank == 1)
		return;
	s->v = reduced(t, s, axis, most);
	s->rank--;
	for (int i = axis; i < s->rank; i++)
		s->dim[i] = s->dim[i + 1];
}

static void turn(hop_trace *t, struct state *s, int a, int b)
{
	int64_t d = s->dim[a];
	s->v = hop_clone(t, hop_transpose(t, s->v, a, b));
	s->dim[a] = s->dim[b];
	s->dim[b] = d;
}

/* By a matrix of the pool, of which every product is as small as its number is large. */
static void product(hop_trace *t, struct state *s, unsigned how)
{
	int64_t k = s->dim[s->rank - 1], n = 1 + how % 130;
	if (s->rank < 2 || !k || k * n > POOL || count(s) / k * n > 2 * MOST)
		return;
	hop_value w = hop_narrow(t, s->pool, 0, 0, k * n);
	w = how % 3 ? hop_reshape(t, w, 2, (const hop_dim[]){ hop_n(k), hop_n(n) })
	            : hop_transpose(t, hop_reshape(t, w, 2, (const hop_dim[]){ hop_n(n), hop_n(k) }), 0, 1);
	s->v = hop_mulf(t, hop_matmul(t, s->v, w), 1 / (double)k);
	s->dim[s->rank - 1] = n;
}

static void cut(hop_trace *t, struct state *s, int axis, unsigned how)
{
	int64_t n = s->dim[axis], from = n ? how % n : 0, step = how % 7 ? 1 : 2;
	int64_t m = (n - from + step - 1) / step;
	s->v = hop_slice(t, s->v, axis, hop_n(how % 2 ? from : from + (m - 1) * step), hop_n(m),
	                 how % 2 ? step : -step);
	s->dim[axis] = m;
}

/* Each by its neighbour, around the end. */
static void shift(hop_trace *t, struct state *s, int axis, unsigned how)
{
	int64_t n = s->dim[axis], k = n ? 1 + how % n : 0;
	if (n < 2 || k == n)
		return;
	hop_value part[2] = { hop_narrow(t, s->v, axis, k, n - k), hop_narrow(t, s->v, axis, 0, k) };
	s->v = hop_add(t, hop_mulf(t, s->v, 0.5), hop_mulf(t, hop_concat(t, 2, part, axis), 0.5));
}

/* Numbers of rows: some twice, some never. */
static hop_value some_rows(hop_trace *t, int64_t n, int64_t of, unsigned how)
{
	hop_value i = hop_arange(t, HOP_i64, hop_n(n));
	i = hop_add(t, hop_mul(t, i, hop_i(t, 1 + how % 13)), hop_i(t, how % 11));
	return hop_rem(t, i, hop_i(t, of));
}

static void rows(hop_trace *t, struct state *s, unsigned how)
{
	int64_t n = 1 + how % 700;
	if (!s->dim[0] || count(s) / s->dim[0] * n > MOST)
		return;
	s->v = hop_gather(t, s->v, 0, some_rows(t, n, s->dim[0], how));
	s->dim[0] = n;
}

static void back(hop_trace *t, struct state *s, unsigned how)
{
	int64_t n = 1 + how % 900;
	hop_dim d[MAXRANK];
	if (!s->dim[0] || count(s) / s->dim[0] * n > MOST)
		return;
	for (int i = 0; i < s->rank; i++)
		d[i] = hop_n(i ? s->dim[i] : n);
	hop_value to = hop_zeros(t, hop_dtype_of(t, s->v), s->rank, d);
	s->v = hop_scatter_add(t, to, 0, some_rows(t, s->dim[0], n, how), hop_mulf(t, s->v, 0.125));
	s->dim[0] = n;
}

/* What the first element says; both sides keep the shape. */
static void branch(hop_trace *t, struct state *s, unsigned how)
{
	hop_value v = s->v, first = hop_sum_all(t, hop_mulf(t, s->v, 1e-3));
	HOP_IF(t, hop_lt(t, first, hop_f(t, how % 2 ? 0.1 : -0.1)), v)
		v = hop_softmax(t, v, s->rank - 1);
	else
		v = hop_mulf(t, hop_sin(t, v), 0.75);
	s->v = v;
}

static void loop(hop_trace *t, struct state *s, unsigned how)
{
	hop_value v = s->v;
	int axis = (int)(how % (unsigned)s->rank);
	HOP_FOR(t, i, 2 + how % 3, v) {
		struct state in = *s;
		in.v = v;
		shift(t, &in, axis, how / 7);
		v = hop_sub(t, in.v, hop_mulf(t, kept(t, &in, axis, how % 2), 0.5));
	}
	s->v = v;
}

static void one_step(hop_trace *t, struct state *s, const struct step *p)
{
	int axis = (int)(p->a % (unsigned)s->rank), other = (int)(p->b % (unsigned)s->rank);
	switch (p->kind) {
	case POINT:
		s->v = p->b % 2 ? hop_tanh(t, s->v) : hop_addf(t, hop_mulf(t, hop_sin(t, s->v), 0.75), 0.125);
		break;
	case BIAS:
		s->v = hop_add(t, s->v, along(t, s, axis, s->dim[axis]));
		break;
	case CENTER:
		s->v = hop_sub(t, s->v, kept(t, s, axis, p->b % 2));
		break;
	case DROP:
		drop(t, s, axis, p->b % 2);
		break;
	case SCALE:
		s->v = hop_div(t, s->v, hop_addf(t, kept(t, s, axis, false), 3));
		break;
	case TURN:
		turn(t, s, axis, other);
		break;
	case SOFTMAX:
		s->v = hop_softmax(t, s->v, axis);
		break;
	case PRODUCT:
		product(t, s, p->b);
		break;
	case CUT:
		cut(t, s, axis, p->b);
		break;
	case SHIFT:
		shift(t, s, axis, p->b);
		break;
	case RUNNING:
		s->v = hop_mulf(t, hop_cumsum(t, s->v, axis), 1 / (1 + (double)s->dim[axis]));
		break;
	case ROWS:
		rows(t, s, p->b);
		break;
	case BACK:
		back(t, s, p->b);
		break;
	case BRANCH:
		branch(t, s, p->b);
		break;
	case LOOP:
		loop(t, s, p->b);
		break;
	default:
		break;
	}
}

/* A loss, and what it is of. */
static void body(hop_trace *t, const hop_value *in, void *user)
{
	struct program *p = user;
	struct state s = { in[0], in[1], p->rank, { p->dim[0], p->dim[1], p->dim[2] }, &p->ties };
	for (int i = 0; i < p->nstep; i++)
		one_step(t, &s, &p->s[i]);
	hop_return(t, hop_sum_all(t, hop_mulf(t, hop_sin(t, s.v), 1 / (1 + (double)count(&s)))), s.v);
}

/* ---- judging ---- */

static bool one(uint64_t seed)
{
	struct program p = program_of(seed);
	int64_t pool = POOL;
	double tol = p.dtype == HOP_f64 ? 1e-9 : 2e-4;
	hop_spec in[2] = { hop_spec_of(p.dtype, p.rank, p.dim), hop_spec1(p.dtype, POOL) };
	hop_fn *f = NULL, *g = NULL;
	hop_ctx *c;
	seed_parts(seed);
	if (getenv("RANDOM_SHOW"))
		show(&p);
	if (hop_ctx_new(NULL, &c))
		return false;
	hop_array *x[2] = { agree_input(c, p.dtype, p.rank, p.dim, 0.71),
	                    agree_input(c, p.dtype, 1, &pool, 0.93) };
	bool ok = x[0] && x[1] && !hop_capture(c, body, &p, 2, in, &f);
	if (!ok)
		printf("%s\n", hop_message(c));
	ok = ok && agree(c, f, "values", 2, x, 2, tol);
	if (ok && !p.ties && hop_grad(f, 2, (const int[]){ 0, 1 }, &g)) {
		printf("%s\n", hop_message(c));
		ok = false;
	}
	ok = ok && (!g || agree(c, g, "gradients", 2, x, 4, tol));
	if (!ok) {
		printf("FAIL seed %llu: ", (unsigned long long)seed);
		show(&p);
	}
	hop_fn_release(g);
	hop_fn_release(f);
	hop_array_release(x[0]);
	hop_array_release(x[1]);
	hop_ctx_free(c);
	return ok;
}

int main(int argc, char **argv)
{
	return seed_each(argc, argv, one);
}
