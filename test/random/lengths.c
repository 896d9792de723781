/* Batches of unknown length at random: lengths COUNT makes that many small models over [s, width] or
 * [s, t, width] with tables that rows are looked up in, where s is a size parameter. Each, and its
 * gradient, is compiled once and compared with the interpreter for several lengths, none and one among
 * them. So there are sums over the batch, of products and of rows looked up, whose length only the run
 * knows. Contrast nests.c, where every size is a number.
 * RANDOM_SEED=n makes the one of that seed; RANDOM_SHOW=1 prints it. */
#include <stdio.h>
#include <stdlib.h>

#include "hop/hop.h"
#include "support/agree.h"
#include "support/seed.h"

enum { MAXSTEP = 5, POOL = 1 << 14, MOST = 40000, TRIES = 4 };

enum kind { LINEAR, BIAS, EMBED, BACK, SOFTMAX, CENTER, MIX, LANES, POINT, NKIND };
static const char *const kind_name[] = { "linear", "bias", "embed", "back", "softmax", "center", "mix",
                                         "lanes", "point" };

struct step { enum kind kind; unsigned how; };
struct program {
	uint64_t    seed;
	hop_dtype   dtype;
	int64_t     inner, width, rows;        /* inner 0: there is no such axis */
	int         nstep;
	struct step s[MAXSTEP];
};

static unsigned draw(struct program *p, unsigned n)
{
	p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(p->seed >> 33) % n;
}

/* As the sizes at which code becomes another, one more, one less. */
static int64_t size_of(struct program *p, int64_t most)
{
	static const int64_t near[] = { 1, 2, 4, 8, 16, 32, 64, 100, 128, 256, 512, 1024, 2048, 8192 };
	int64_t n;
	do
		n = near[draw(p, sizeof near / sizeof *near)] + (int64_t)draw(p, 3) - 1;
	while (n > most);
	return n;
}

static struct program program_of(uint64_t seed)
{
	struct program p = { .seed = seed };
	draw(&p, 2);
	p.dtype = draw(&p, 3) ? HOP_f64 : HOP_f32;
	p.width = 1 + size_of(&p, 127);
	p.inner = draw(&p, 3) ? 0 : 1 + size_of(&p, 20);
	p.rows = 1 + size_of(&p, MOST / p.width);
	p.nstep = 1 + (int)draw(&p, MAXSTEP);
	for (int i = 0; i < p.nstep; i++)
		p.s[i] = (struct step){ (enum kind)draw(&p, NKIND), draw(&p, 1 << 20) };
	return p;
}

static void show(const struct program *p)
{
	printf("%s[s%s, %lld], %lld rows, inner %lld:", p->dtype == HOP_f64 ? "f64" : "f32",
	       p->inner ? ", t" : "", (long long)p->width, (long long)p->rows, (long long)p->inner);
	for (int i = 0; i < p->nstep; i++)
		printf(" %s(%u)", kind_name[p->s[i].kind], p->s[i].how);
	printf("\n");
}

/* ---- a model ---- */

struct state {
	const struct program *p;
	hop_value v, at, pool, table;
};

static hop_value tamed(hop_trace *t, hop_value v)
{
	return hop_mulf(t, hop_tanh(t, v), 0.75);
}

static hop_value linear(hop_trace *t, const struct state *s)
{
	int64_t d = s->p->width;
	if (d * d > POOL)
		return s->v;
	hop_value w = hop_reshape(t, hop_narrow(t, s->pool, 0, 0, d * d), 2,
	                          (const hop_dim[]){ hop_n(d), hop_n(d) });
	return tamed(t, hop_mulf(t, hop_matmul(t, s->v, w), 2 / (double)d));
}

/* All that has the same number added up, and each gets its sum. */
static hop_value back(hop_trace *t, const struct state *s, unsigned how)
{
	hop_dim d[2] = { hop_n(s->p->rows), hop_n(s->p->width) };
	hop_value to = hop_full(t, s->p->dtype, 2, d, how % 2 ? 0 : 0.25);
	hop_value u = hop_mulf(t, s->v, 1.0 / 64);
	to = how % 5 ? hop_scatter_add(t, to, 0, s->at, u) : hop_scatter(t, to, 0, s->at, u);
	return hop_add(t, hop_mulf(t, s->v, 0.5), hop_gather(t, tamed(t, to), 0, s->at));
}

static hop_value center(hop_trace *t, const struct state *s)
{
	const int axes[2] = { 0, 1 };
	hop_value mean = hop_mulf(t, hop_sum(t, s->v, s->p->inner ? 2 : 1, axes), 1.0 / 512);
	return hop_sub(t, s->v, tamed(t, mean));
}

/* By a matrix that is a product over the batch. */
static hop_value mix(hop_trace *t, const struct state *s)
{
	if (s->p->inner)
		return s->v;
	hop_value m = hop_matmul(t, hop_transpose(t, s->v, 0, 1), s->v);
	return tamed(t, hop_matmul(t, s->v, hop_mulf(t, m, 1 / (512 * (double)s->p->width))));
}

/* The same as `back` in a lane, a column of all: with numbers of its own, or those of all. */
static void one_lane(hop_trace *t, const hop_value *in, void *user)
{
	const struct program *p = user;
	hop_value at = hop_add(t, in[1], in[2]);
	hop_value to = hop_zeros(t, p->dtype, 1, (const hop_dim[]){ hop_n(p->rows) });
	to = hop_scatter_add(t, to, 0, at, hop_mulf(t, in[0], 1.0 / 64));
	hop_return(t, hop_add(t, hop_mulf(t, in[0], 0.5), hop_gather(t, tamed(t, to), 0, at)));
}

static hop_value lanes(hop_trace *t, const struct state *s, unsigned how)
{
	hop_value lane = hop_arange(t, HOP_i64, hop_n(s->p->width)), out[1] = { s->v };
	hop_value in[3] = { s->v, s->at, how % 2 ? lane : hop_i(t, 0) };
	const int axes[3] = { 1, -1, how % 2 ? 0 : -1 };
	if (s->p->inner || s->p->rows * s->p->width > MOST)
		return s->v;
	hop_vmap_at(t, one_lane, (void *)(uintptr_t)s->p, 3, in, axes, 1, out);
	return hop_transpose(t, out[0], 0, 1);
}

static hop_value one_step(hop_trace *t, const struct state *s, const struct step *p)
{
	switch (p->kind) {
	case LINEAR:  return linear(t, s);
	case BIAS:    return hop_add(t, s->v, hop_narrow(t, s->pool, 0, p->how % 100, s->p->width));
	case EMBED:   return hop_add(t, hop_mulf(t, s->v, 0.5), hop_gather(t, s->table, 0, s->at));
	case BACK:    return back(t, s, p->how);
	case SOFTMAX: return hop_softmax(t, s->v, -1);
	case CENTER:  return center(t, s);
	case MIX:     return mix(t, s);
	case LANES:   return lanes(t, s, p->how);
	default:      return hop_sin(t, s->v);
	}
}

static void body(hop_trace *t, const hop_value *in, void *user)
{
	const struct program *p = user;
	struct state s = { p, in[0], in[1], in[2], in[3] };
	for (int i = 0; i < p->nstep; i++)
		s.v = one_step(t, &s, &p->s[i]);
	hop_return(t, hop_sum_all(t, hop_mulf(t, hop_sin(t, s.v), 1.0 / 256)), s.v);
}

/* ---- judging ---- */

/* Any of the rows, few of them, or mostly one; some numbers are none. */
static hop_array *numbers(hop_ctx *c, struct program *p, int rank, const int64_t *dim)
{
	hop_array *a;
	unsigned how = draw(p, 4), of = how == 0 ? (unsigned)p->rows : how == 1 ? 3 : (unsigned)p->rows + 2;
	if (hop_array_new(c, HOP_i64, rank, dim, NULL, &a))
		return NULL;
	for (int64_t i = 0; i < hop_array_count(a); i++)
		((int64_t *)hop_array_data(a))[i] = how == 2 && draw(p, 8) ? 1
		                                                           : (int64_t)draw(p, of) - (how == 3);
	return a;
}

static int64_t length_of(struct program *p, int i)
{
	int64_t each = p->width * (p->inner ? p->inner : 1);
	return i < 2 ? i : size_of(p, MOST / each);
}

static bool one_length(hop_ctx *c, struct program *p, hop_fn *f, hop_fn *g, int64_t n)
{
	int rank = p->inner ? 2 : 1;
	int64_t x[3] = { n, p->inner ? p->inner : p->width, p->width }, pool = POOL;
	int64_t table[2] = { p->rows, p->width };
	double tol = p->dtype == HOP_f64 ? 1e-9 : 2e-4;
	hop_array *in[4] = { agree_input(c, p->dtype, rank + 1, x, 0.71), numbers(c, p, rank, x),
	                     agree_input(c, p->dtype, 1, &pool, 0.93),
	                     agree_input(c, p->dtype, 2, table, 0.57) };
	bool ok = in[0] && in[1] && in[2] && in[3];
	if (getenv("RANDOM_SHOW"))
		fprintf(stderr, "of length %lld\n", (long long)n);
	ok = ok && agree(c, f, "values", 4, in, 2, tol) && agree(c, g, "gradients", 4, in, 5, tol);
	if (!ok)
		printf("of length %lld\n", (long long)n);
	for (int i = 0; i < 4; i++)
		hop_array_release(in[i]);
	return ok;
}

static hop_spec batch(const struct program *p, hop_dtype d, bool wide)
{
	int64_t n[3] = { 0, p->inner ? p->inner : p->width, p->width };
	hop_spec s = hop_spec_of(d, (p->inner ? 2 : 1) + wide, n);
	return hop_spec_sym(s, 0, "s", 0, 0);
}

static bool one(uint64_t seed)
{
	struct program p = program_of(seed);
	hop_spec in[4] = { batch(&p, p.dtype, true), batch(&p, HOP_i64, false), hop_spec1(p.dtype, POOL),
	                   hop_spec2(p.dtype, p.rows, p.width) };
	hop_fn *f = NULL, *g = NULL;
	hop_ctx *c;
	seed_parts(seed);
	if (getenv("RANDOM_SHOW"))
		show(&p);
	if (hop_ctx_new(NULL, &c))
		return false;
	bool ok = !hop_capture(c, body, &p, 4, in, &f) && !hop_grad(f, 3, (const int[]){ 0, 2, 3 }, &g);
	if (!ok)
		printf("%s\n", hop_message(c));
	for (int i = 0; ok && i < TRIES; i++)
		ok = one_length(c, &p, f, g, length_of(&p, i));
	if (!ok) {
		printf("FAIL seed %llu: ", (unsigned long long)seed);
		show(&p);
	}
	hop_fn_release(g);
	hop_fn_release(f);
	hop_ctx_free(c);
	return ok;
}

int main(int argc, char **argv)
{
	return seed_each(argc, argv, one);
}
