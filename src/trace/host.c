/* host.c -- calls of functions of the host. */
#include "data/foreign.h"
#include "trace/raw.h"
#include "hop/rows.h"

#include <string.h>

int hop_at_host(hop_trace *t, const char *file, int line, const char *name, int nin,
                const hop_value *in, int nout, const hop_result *type, hop_value *out)
{
	hop_trace *h = hop_here(t);
	const hop_foreign *f = h && name ? hop_foreign_find(h->root->ctx, name, strlen(name)) : NULL;
	hop_raw a[] = { { .p = name }, { .i = nout, .p = type } };
	int op = f && f->pure ? HOP_OP_host_pure : HOP_OP_host;
	return hop_raw_op(t, file, line, op, a, nin, in, nout, out);
}
