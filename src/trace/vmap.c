/* vmap.c -- batching inside a body: inputs get their lanes in front, the body is captured for one of
 * them, batched and called. How a graph is batched is hops/vmap.c. */
#include "hop/transform.h"
#include "hops/batch.h"
#include "hops/transform.h"
#include "trace/control.h"

#include <string.h>

static void vmap_begin(hop_trace *t, void *arg)
{
	hop_xform *x = arg;
	bool any = false;
	hop_vmap_opts o;
	if (x->opts) {
		if (!hop_trace_opts(t, x->opts, &o, sizeof o))
			return;
		if (o.nin && o.nin != x->nin) {
			hop_trace_fail(t, HOP_EVALUE, "vmap: axes for %d inputs, there are %d", o.nin, x->nin);
			return;
		}
		x->axes = o.in;
		x->out_axes = o.out;
		x->nout_axes = o.nout;
		x->chunk = o.chunk;
	}
	hop_xform_begin(t, x);
	if (t->b.st)
		return;
	if (x->nin && !x->axes) {
		hop_trace_fail(t, HOP_EUSE, "vmap: no axes were given");
		return;
	}
	for (int i = 0; i < x->nin; i++) {
		if (x->axes[i] == -1 || x->axes[i] == HOP_OWN_KEY)
			continue;
		const hop_type *type = x->type[i];
		if (x->axes[i] < 0) {
			hop_trace_fail(t, HOP_EVALUE, "vmap: axis %d of input %d: axes count from 0, "
			               "-1 is none and HOP_OWN_KEY a key of each lane's own", x->axes[i],
			               i);
			return;
		}
		int axis = hop_axis(t, "vmap", x->axes[i], type->rank);
		if (axis < 0)
			return;
		int64_t perm[HOP_MAXRANK];
		for (int k = 0; k < type->rank; k++)
			perm[k] = k == 0 ? axis : k <= axis ? k - 1 : k;
		if (axis)
			x->val[i] = hop_emit_permute(&t->b, x->val[i], perm);
		if (t->b.st)
			return;
		type = hop_typeof(&t->b, x->val[i]);
		if (any && !hop_size_eq(type->dim[0], x->bsize)) {
			hop_trace_fail(t, HOP_ESHAPE, "vmap: input %d is %s, its axis %d has another "
			               "size than those before", i, hop_type_text(t, x->type[i]), axis);
			return;
		}
		x->bsize = type->dim[0];
		any = true;
		x->type[i] = hop_type_drop(hop_env_of(t), type);
	}
	if (!any)
		hop_trace_fail(t, HOP_EUSE, "vmap: no input has an axis to go over");
	for (int i = 0; i < x->nin && !t->b.st; i++) {
		if (x->axes[i] != HOP_OWN_KEY)
			continue;
		if (x->type[i]->dtype != HOP_i64)
			hop_trace_fail(t, HOP_ETYPE, "vmap: input %d is %s, a key is i64", i,
			               hop_type_text(t, x->type[i]));
		else
			x->val[i] = hop_emit_own_keys(&t->b, x->val[i], x->bsize);
	}
}

static void vmap_end(hop_trace *t, void *arg)
{
	hop_xform *x = arg;
	const hop_graph *bg;
	if (!hop_xform_close(t, x) || !hop_xform_room(t, x, x->g->nout))
		return;
	if (x->out_axes && (uint32_t)x->nout_axes != x->g->nout) {
		hop_trace_fail(t, HOP_EVALUE, "vmap: axes for %d results, the body has %u", x->nout_axes,
		               x->g->nout);
		return;
	}
	int *in = HOP_NEWN(&t->arena, int, x->g->nparam), *out = HOP_NEWN(&t->arena, int, x->g->nout);
	for (uint32_t i = 0; i < x->g->nparam; i++)
		in[i] = i < (uint32_t)x->nin && x->axes[i] != -1 ? 0 : HOP_VMAP_NONE;
	for (uint32_t k = 0; k < x->g->nout; k++)
		out[k] = x->out_axes ? x->out_axes[k] : 0;
	hop_vmap_ask a = { .loc = t->b.loc, .in = in, .out = out, .chunk = x->chunk,
	                   .size = hop_size_const(x->bsize) ? x->bsize.k : -1 };
	if ((t->b.st = hop_ask_vmap(hop_env_of(t), &a, x->g, &bg)))
		return;
	if (a.size < 0)
		hop_xform_size(t, x, x->bsize);
	hop_xform_finish(t, x, bg);
}

int hop_at_vmap_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
                const hop_value *in, const int *axes, int cap, hop_value *out)
{
	hop_xform x = { .op = "vmap", .nin = nin, .in = in, .axes = axes, .cap = cap,
	                   .out = out };
	return hop_xform_run(t, file, line, &x, "the body of vmap", body, user, vmap_begin, vmap_end);
}

int hop_at_vmap_with_at(hop_trace *t, const char *file, int line, hop_body *body, void *user,
                        int nin, const hop_value *in, const hop_vmap_opts *opts, int cap,
                        hop_value *out)
{
	hop_xform x = { .op = "vmap", .nin = nin, .in = in, .opts = opts, .cap = cap, .out = out };
	return hop_xform_run(t, file, line, &x, "the body of vmap", body, user, vmap_begin, vmap_end);
}
