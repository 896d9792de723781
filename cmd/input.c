/* input.c -- tensors for the parameters of a graph: from .npy files, or made from a seed.
 * Does not run the graph. */
#include "cmd.h"

#include "io/file.h"
#include "io/npy.h"

#include <stdio.h>
#include <string.h>

bool cmd_input_option(cmd *c, cmd_inputs *in, hop_status *st)
{
	const char *s;
	*st = HOP_OK;
	if (cmd_value(c, "--in", &s)) {
		if (!in->file)
			in->file = HOP_NEWN(&c->env->tmp, const char *, c->argc);
		*st = cmd_need(c, "--in", s);
		in->file[in->nfile++] = s;
	} else if (cmd_value(c, "--size", &s)) {
		*st = cmd_need(c, "--size", s);
		if (in->nsize == CMD_MAXSIZE)
			*st = hop_fail(c->env, 0, HOP_EUSE, "%s: more than %d sizes", c->name,
			               CMD_MAXSIZE);
		else
			in->size[in->nsize++] = s;
	} else if (cmd_value(c, "--seed", &s)) {
		*st = cmd_number(c, "--seed", s, 0, INT64_MAX, &in->seed);
	} else
		return false;
	return true;
}

/* ---- from files ---- */

static hop_status from_bytes(cmd *c, uint32_t i, const hop_type *t, const char *path,
                             const hop_buf *b, hop_array **out)
{
	hop_npy a;
	const char *name = hop_path_name(path);
	HOP_TRY(hop_npy_read(c->env, name, b->n ? b->s : "", b->n, &a));
	if (a.dtype != t->dtype)
		return hop_fail(c->env, 0, HOP_ETYPE, "%s: parameter %u is %s, %s holds %s", c->name,
		                i, hop_dtype_name((hop_dtype)t->dtype), name,
		                hop_dtype_name(a.dtype));
	*out = hop_interp_new(&c->ip, a.dtype, a.rank, a.dim);
	hop_npy_copy(&a, (*out)->data);
	return HOP_OK;
}

/* The buffer is in the env's list while it is open: it must leave before this returns. */
static hop_status from_file(cmd *c, uint32_t i, const hop_type *t, const char *path,
                            hop_array **out)
{
	hop_buf b;
	hop_buf_open(&b, c->env);
	hop_status st = cmd_read(c, path, CMD_ARRAY_MAX, &b);
	if (!st)
		st = from_bytes(c, i, t, path, &b, out);
	hop_buf_free(&b);
	return st;
}

static hop_status from_files(cmd *c, const hop_graph *g, const cmd_inputs *from,
                             hop_array **in, int64_t *syms)
{
	hop_arena *tmp = &c->env->tmp;
	int *rank = HOP_NEWN(tmp, int, g->nparam);
	const int64_t **dim = HOP_NEWN(tmp, const int64_t *, g->nparam);
	if (from->nsize)
		return hop_fail(c->env, 0, HOP_EUSE, "%s: --size %s beside --in: the sizes are those "
		                "of the files", c->name, from->size[0]);
	if (from->nfile != g->nparam)
		return hop_fail(c->env, 0, HOP_EUSE, "%s: the graph has %u parameters, --in gives %u",
		                c->name, g->nparam, from->nfile);
	for (uint32_t i = 0; i < g->nparam; i++) {
		HOP_TRY(from_file(c, i, g->type[i], from->file[i], &in[i]));
		rank[i] = in[i]->rank;
		dim[i] = in[i]->dim;
	}
	return hop_bind_shapes(c->env, g, NULL, rank, dim, syms);
}

/* ---- made ---- */

/* Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014. */
static uint64_t mix(uint64_t *s)
{
	uint64_t z = *s += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* Small numbers with short texts: eighths in -2 .. 2, integers in 0 .. 7. */
static void fill(hop_array *t, uint64_t *s)
{
	for (int64_t i = 0; i < t->count; i++) {
		uint64_t r = mix(s);
		if (hop_dtype_real(t->dtype))
			hop_array_set_f(t, i, ((double)(r % 33) - 16.0) / 8.0);
		else
			hop_array_set_i(t, i, hop_dtype_bool(t->dtype) ? (int64_t)(r & 1) : (int64_t)(r & 7));
	}
}

static int find_sym(const hop_graph *g, const char *s, size_t n)
{
	char own[16];
	for (uint32_t i = 0; i < g->nsym; i++) {
		const char *name = g->symname[i];
		if (!name) {
			snprintf(own, sizeof own, "s%u", i);
			name = own;
		}
		if (strlen(name) == n && !memcmp(name, s, n))
			return (int)i;
	}
	return -1;
}

static hop_status sizes(cmd *c, const hop_graph *g, const cmd_inputs *from, int64_t *syms)
{
	for (uint32_t i = 0; i < g->nsym; i++)
		syms[i] = g->range[i].lo;
	for (int i = 0; i < from->nsize; i++) {
		size_t n = strcspn(from->size[i], "=");
		int k = find_sym(g, from->size[i], n);
		if (k < 0 || !from->size[i][n])
			return hop_fail(c->env, 0, HOP_EUSE, "%s: --size %s: name=value with the name of "
			                "a size of the graph is needed", c->name, from->size[i]);
		HOP_TRY(cmd_number(c, "--size", from->size[i] + n + 1, 0, INT64_MAX, &syms[k]));
		if (syms[k] < g->range[k].lo || syms[k] > g->range[k].hi)
			return hop_fail(c->env, 0, HOP_ESHAPE, "%s: --size %s: outside %lld..%lld",
			                c->name, from->size[i], (long long)g->range[k].lo,
			                (long long)g->range[k].hi);
	}
	return hop_checks_test(c->env, g, syms, 0, (int)g->nsym);
}

/* No more elements than this for one made input: a size may come out of the air. */
enum { MOST = 1 << 28 };

static hop_status made(cmd *c, const hop_graph *g, const cmd_inputs *from,
                       hop_array **in, int64_t *syms)
{
	uint64_t s = (uint64_t)from->seed;
	HOP_TRY(sizes(c, g, from, syms));
	for (uint32_t i = 0; i < g->nparam; i++) {
		const hop_type *t = g->type[i];
		int64_t dim[HOP_MAXRANK], n = 1;
		for (int k = 0; k < t->rank; k++)
			if (!hop_size_eval(t->dim[k], syms, (int)g->nsym, &dim[k]) || dim[k] < 0 ||
			    __builtin_mul_overflow(n, dim[k], &n) || n > MOST)
				return hop_fail(c->env, 0, HOP_ESHAPE, "%s: dimension %d of parameter %u "
				                "cannot be made with these sizes", c->name, k, i);
		in[i] = hop_interp_new(&c->ip, (hop_dtype)t->dtype, t->rank, dim);
		fill(in[i], &s);
	}
	return HOP_OK;
}

hop_status cmd_make_inputs(cmd *c, const hop_graph *g, const cmd_inputs *from,
                           hop_array ***out_in, int64_t **out_syms)
{
	*out_in = HOP_NEWN(&c->env->tmp, hop_array *, g->nparam);
	*out_syms = HOP_NEWN(&c->env->tmp, int64_t, g->nsym);
	if (from->nfile)
		return from_files(c, g, from, *out_in, *out_syms);
	return made(c, g, from, *out_in, *out_syms);
}
