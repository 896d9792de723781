/* jit_key.c -- which calls a capture fits: dtypes, ranks, sizes, static data, and which arguments
 * are one array. Captures nothing. */
#include "driver/jit.h"

#include <string.h>

/* ---- does it fit ---- */

bool hop_jit_class_fits(const hop_jit_entry *e, int nin, hop_array *const *in)
{
	if (e->nin != nin)
		return false;
	for (int i = 0; i < nin; i++)
		if (in[i]->dtype != e->dtype[i] || in[i]->rank != e->rank[i])
			return false;
	return true;
}

bool hop_jit_sizes_fit(const hop_jit_entry *e, hop_array *const *in)
{
	int64_t sym[HOP_JIT_SYMS];
	const int64_t *want = e->dim;
	int n = 0;
	for (int i = 0; i < e->nin; i++)
		for (int k = 0; k < e->rank[i]; k++, want++) {
			int64_t have = in[i]->dim[k];
			if (*want >= 0 ? *want != have : ~*want < n ? sym[~*want] != have : have < 2)
				return false;
			if (~*want == n)
				sym[n++] = have;
		}
	return true;
}

bool hop_jit_statics_fit(const hop_jit *j, const hop_jit_entry *e)
{
	const char *p = e->statics;
	for (int i = 0; i < j->nstatic; i++) {
		const hop_static *s = &j->o.statics[i];
		if (memcmp(p, s->data, s->bytes))
			return false;
		p += s->bytes;
	}
	return true;
}

/* ---- memory ---- */

/* Each element of one is the same element of the other. */
static bool same(const hop_array *a, const hop_array *b)
{
	if (a == b)
		return true;
	if (a->data != b->data || a->dtype != b->dtype || a->rank != b->rank || !a->bytes ||
	    a->dense != b->dense)
		return false;
	for (int k = 0; k < a->rank; k++)
		if (a->dim[k] != b->dim[k] || (!a->dense && a->stride[k] != b->stride[k]))
			return false;
	return true;
}

/* The array of parameter p: an argument, or one that the body captured. */
static hop_array *array_of(const hop_jit_entry *e, hop_array *const *in, int p)
{
	return p < e->nparam ? in[e->param[p]] : e->f->hidden[p - e->nparam];
}

int hop_jit_root(hop_array *const *in, int i)
{
	int r = 0;
	while (!same(in[r], in[i]))
		r++;
	return r;
}

/* Are those arguments one array that were when it was captured, and no others? */
static bool still_same(const hop_jit_entry *e, hop_array *const *in)
{
	for (int i = 0; e->merged && i < e->nin; i++)
		if (hop_jit_root(in, i) != e->root[i])
			return false;
	return true;
}

enum hop_jit_meet hop_jit_meet(const hop_jit *j, const hop_jit_entry *e, hop_array *const *in,
                               int *out_a, int *out_b)
{
	const hop_fn *f = e->f;
	*out_a = *out_b = -1;
	if (!still_same(e, in))
		return HOP_JIT_SAME;
	for (int w = 0; w < f->nwrote; w++) {
		int k = f->wrote[w];
		const hop_array *to = array_of(e, in, k);
		*out_a = k < e->nparam ? e->param[k] : -1;
		*out_b = -1;
		if (to->readonly)
			return HOP_JIT_READONLY;
		for (int p = 0; p < e->nparam + f->nhidden; p++) {
			const hop_array *a = array_of(e, in, p);
			if (p == k || (a != to && !hop_array_meet(a, to)))
				continue;
			*out_b = p < e->nparam ? e->param[p] : -1;
			return *out_a >= 0 && *out_b >= 0 && !j->nstep && same(a, to) ? HOP_JIT_SAME
			                                                             : HOP_JIT_CLASH;
		}
	}
	return HOP_JIT_APART;
}

void hop_jit_merge(hop_jit_entry *e, hop_array *const *in)
{
	e->nparam = 0;
	e->merged = true;
	for (int i = 0; i < e->nin; i++) {
		e->root[i] = hop_jit_root(in, i);
		if (e->root[i] == i)
			e->param[e->nparam++] = i;
	}
}

static bool same_class(const hop_jit_entry *a, const hop_jit_entry *b)
{
	return a->nin == b->nin && !memcmp(a->rank, b->rank, (size_t)a->nin * sizeof *a->rank) &&
	       !memcmp(a->dtype, b->dtype, (size_t)a->nin * sizeof *a->dtype);
}

bool hop_jit_equal(const hop_jit *j, const hop_jit_entry *a, const hop_jit_entry *b)
{
	return same_class(a, b) && !memcmp(a->dim, b->dim, (size_t)a->naxis * sizeof *a->dim) &&
	       !memcmp(a->root, b->root, (size_t)a->nin * sizeof *a->root) &&
	       !memcmp(a->statics, b->statics, j->nbytes);
}

/* ---- making one ---- */

hop_jit_entry *hop_jit_entry_new(hop_jit *j, int nin, hop_array *const *in)
{
	size_t n = (size_t)nin, naxis = 0;
	for (int i = 0; i < nin; i++)
		naxis += (size_t)in[i]->rank;
	size_t bytes = sizeof(hop_jit_entry) + naxis * sizeof(int64_t) +
	               n * (3 * sizeof(int) + sizeof(hop_dtype)) + j->nbytes;
	hop_jit_entry *e = hop_raw_try(&j->mem, bytes);
	if (!e)
		return NULL;
	*e = (hop_jit_entry){ .bytes = bytes, .nin = nin, .naxis = (int)naxis, .nparam = nin };
	e->dim = (int64_t *)(e + 1);
	e->param = (int *)(e->dim + naxis);
	e->root = e->param + n;
	e->rank = e->root + n;
	e->dtype = (hop_dtype *)(e->rank + n);
	e->statics = (char *)(e->dtype + n);
	for (int i = 0; i < nin; i++) {
		e->param[i] = e->root[i] = i;
		e->rank[i] = in[i]->rank;
		e->dtype[i] = in[i]->dtype;
	}
	hop_jit_numbers(e, in);
	char *p = e->statics;
	for (int i = 0; i < j->nstatic; i++) {
		memcpy(p, j->o.statics[i].data, j->o.statics[i].bytes);
		p += j->o.statics[i].bytes;
	}
	return e;
}

void hop_jit_entry_free(hop_jit *j, hop_jit_entry *e)
{
	if (!e)
		return;
	hop_fn_release(e->base);
	hop_fn_release(e->f);
	hop_raw_free(&j->mem, e, e->bytes);
}

void hop_jit_numbers(hop_jit_entry *e, hop_array *const *in)
{
	int64_t *d = e->dim;
	for (int i = 0; i < e->nin; i++)
		for (int k = 0; k < e->rank[i]; k++)
			*d++ = in[i]->dim[k];
	e->nsym = 0;
}

/* ---- symbols ---- */

static bool special(int64_t d)
{
	return d == 0 || d == 1;
}

/* Was the axis of e another size than it is now? 0 and 1 say nothing. */
static bool changed(const hop_jit *j, const hop_jit_entry *e, int axis, int64_t size)
{
	if (special(size))
		return false;
	for (const hop_jit_entry *o = j->list; o; o = o->next)
		if (same_class(o, e) && !special(o->dim[axis]) && o->dim[axis] != size)
			return true;
	return false;
}

/* Were two axes of e never seen to differ? */
static bool together(const hop_jit *j, const hop_jit_entry *e, int a, int b)
{
	for (const hop_jit_entry *o = j->list; o; o = o->next)
		if (same_class(o, e) && !special(o->dim[a]) && !special(o->dim[b]) &&
		    o->dim[a] != o->dim[b])
			return false;
	return true;
}

/* The symbol that axis `at` shares: of axes that all are of its size, value[s], and always were. Or a
 * new one. */
static int symbol_of(const hop_jit *j, const hop_jit_entry *e, int at, const int64_t *value)
{
	for (int s = 0; s < e->nsym; s++) {
		bool fits = value[s] == e->dim[at];
		for (int b = 0; fits && b < at; b++)
			fits = e->dim[b] != ~s || together(j, e, at, b);
		if (fits)
			return s;
	}
	return e->nsym;
}

/* Did symbols fail with this static data? */
static bool is_pinned(const hop_jit *j, const hop_jit_entry *e)
{
	for (const hop_jit_entry *o = j->list; o; o = o->next)
		if (o->pinned && same_class(o, e) && !memcmp(o->statics, e->statics, j->nbytes))
			return true;
	return false;
}

void hop_jit_symbols(const hop_jit *j, hop_jit_entry *e, hop_array *const *in)
{
	int64_t value[HOP_JIT_SYMS];
	hop_jit_numbers(e, in);
	if (j->o.exact || (e->pinned = is_pinned(j, e)))
		return;
	for (int a = 0; a < e->naxis; a++) {
		if (!changed(j, e, a, e->dim[a]))
			continue;
		int s = symbol_of(j, e, a, value);
		if (s == HOP_JIT_SYMS)
			continue;
		if (s == e->nsym)
			value[e->nsym++] = e->dim[a];
		e->dim[a] = ~(int64_t)s;
	}
}
