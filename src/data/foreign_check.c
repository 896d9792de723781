/* foreign_check.c -- HOP_CHECK=host: a function of the host is given results, and inputs that it may
 * write, between bytes that it must leave alone, and other inputs are compared with what they were.
 * Finds what was written and not declared; cannot find what was read and is not there. */
#include <string.h>

#include "data/foreign.h"
#include "ir/dtype.h"

enum { GUARD = 64, MARK = 0xa5 };              /* bytes on either side; as aligned as results are */

static size_t bytes(const hop_host_arg *a)
{
	size_t n = hop_dtype_bytes(a->dtype);
	for (int k = 0; k < a->rank; k++)
		n *= (size_t)a->dim[k];
	return n;
}

static bool is_written(const hop_foreign *f, int i)
{
	for (int k = 0; k < f->nwrite; k++)
		if (f->writes[k] == i)
			return true;
	return false;
}

/* The same sizes at a place of its own, with the same contents. */
static hop_host_arg fenced(hop_env *e, const hop_host_arg *a, bool filled)
{
	size_t n = bytes(a);
	char *p = hop_arena_alloc(&e->tmp, n + 3 * GUARD);
	p += GUARD - (uintptr_t)p % GUARD;
	memset(p, MARK, n + 2 * GUARD);
	hop_host_arg r = *a;
	r.data = p + GUARD;
	if (filled && n)
		memcpy(r.data, a->data, n);
	return r;
}

static bool intact(const hop_host_arg *a)
{
	const unsigned char *p = a->data;
	size_t n = bytes(a);
	for (int i = 1; i <= GUARD; i++)
		if (p[-i] != MARK || p[n + (size_t)i - 1] != MARK)
			return false;
	return true;
}

static hop_status past(hop_host_call *c, const char *what, int i)
{
	return hop_host_fail(c, HOP_EVALUE, "it wrote outside of %s %d: it has the sizes that were "
	                     "declared, not others", what, i);
}

hop_status hop_foreign_checked(hop_env *e, const hop_foreign *f, hop_host_call *c)
{
	const hop_host_arg *in = c->in, *out = c->out;
	hop_host_arg *t = HOP_NEWN(&e->tmp, hop_host_arg, c->nin + c->nout);
	hop_hash *was = HOP_NEWN(&e->tmp, hop_hash, c->nin);
	for (int i = 0; i < c->nin; i++) {
		t[i] = is_written(f, i) ? fenced(e, &in[i], true) : in[i];
		was[i] = hop_hash_bytes(in[i].data, bytes(&in[i]));
	}
	for (int k = 0; k < c->nout; k++)
		t[c->nin + k] = fenced(e, &out[k], false);
	c->in = t;
	c->out = t + c->nin;
	hop_status st = f->run(c);
	for (int i = 0; i < c->nin && !st; i++) {
		if (is_written(f, i)) {
			st = intact(&t[i]) ? HOP_OK : past(c, "input", i);
			if (!st && bytes(&t[i]))
				memcpy(in[i].data, t[i].data, bytes(&t[i]));
		} else if (!hop_hash_eq(was[i], hop_hash_bytes(in[i].data, bytes(&in[i])))) {
			st = hop_host_fail(c, HOP_EVALUE, "undeclared write detected: it changed input %d: name "
			                   "that in .writes", i);
		}
	}
	for (int k = 0; k < c->nout && !st; k++) {
		st = intact(&c->out[k]) ? HOP_OK : past(c, "result", k);
		if (!st && bytes(&out[k]))
			memcpy(out[k].data, c->out[k].data, bytes(&out[k]));
	}
	return st;
}
