/* capture.c -- capturing a function, and running a body at once. A function is captured as the only
 * body of an outermost trace that holds nothing but the captured arrays. Compiling one is the
 * driver's business. */
#include "trace/trace.h"
#include "data/tree.h"

#include <string.h>

/* ---- capturing ---- */

struct capture {
	int              nin;
	const hop_spec  *spec;
	bool             by_tree;    /* the two come from these: */
	const hop_tree  *tree;
	const hop_named_size *sizes;
	const char     **name;       /* [nin] NULL = they have none */
	const hop_type **type;
	hop_trace       *body;
	const hop_graph *g;
	int              nout, nhidden, nwrote;
	hop_array      **hidden;
	int             *wrote;
};

/* The symbol of a name, new ones are added; its bounds are those of all who name it. -1 and
 * a failure when there are none. */
static int symbol(hop_trace *t, const char *name, int64_t min, int64_t max)
{
	hop_range r = { min, max ? max : HOP_SIZE_MAX };
	if (r.lo < 0 || r.hi < r.lo || r.hi > HOP_SIZE_MAX) {
		hop_trace_fail(t, HOP_EVALUE, "capture: size %s has the bounds %lld..%lld", name,
		               (long long)r.lo, (long long)r.hi);
		return -1;
	}
	for (uint32_t i = 0; i < t->b.nsym; i++)
		if (!strcmp(t->b.symname[i], name)) {
			hop_range *had = &t->b.range[i];
			had->lo = had->lo < r.lo ? r.lo : had->lo;
			had->hi = had->hi > r.hi ? r.hi : had->hi;
			if (had->lo <= had->hi)
				return (int)i;
			hop_trace_fail(t, HOP_EVALUE, "capture: no size %s is within all its bounds", name);
			return -1;
		}
	return hop_build_sym(&t->b, r, hop_ctx_name(hop_env_of(t), name, strlen(name)));
}

static bool read_tree(hop_trace *t, struct capture *c)
{
	hop_env *e = hop_env_of(t);
	if (!hop_tree_good(e, "capture", c->tree)) {
		c->nin = c->tree->count;
		hop_spec *s = HOP_NEWN(&t->arena, hop_spec, c->nin);
		c->name = HOP_NEWN(&t->arena, const char *, c->nin);
		if (!hop_tree_types(e, "capture", c->tree, c->sizes, s, NULL))
			(void)!hop_tree_names(e, 0, "capture", c->tree, c->name);
		c->spec = s;
	}
	t->b.st = e->diag.st;
	return !t->b.st;
}

static void read_specs(hop_trace *t, void *arg)
{
	struct capture *c = arg;
	if (c->by_tree && !read_tree(t, c))
		return;
	if (c->nin < 0 || (c->nin && !c->spec)) {
		hop_trace_fail(t, HOP_EUSE, "capture: no types of the inputs were given");
		return;
	}
	c->type = HOP_NEWN(&t->arena, const hop_type *, c->nin);
	for (int i = 0; i < c->nin; i++) {
		const hop_spec *s = &c->spec[i];
		hop_size dim[HOP_MAXRANK];
		if (s->rank < 0 || s->rank > HOP_MAXRANK || (unsigned)s->dtype >= HOP_NDTYPE) {
			hop_trace_fail(t, HOP_EVALUE, "capture: input %d has a rank or dtype that is "
			               "none", i);
			return;
		}
		for (int d = 0; d < s->rank; d++) {
			if (s->sym[d]) {
				int k = symbol(t, s->sym[d], s->dim[d], s->max[d]);
				if (k < 0)
					return;
				dim[d] = hop_size_sym(hop_env_of(t), k);
			} else {
				dim[d] = hop_size_int(s->dim[d]);
			}
			if (hop_size_const(dim[d]) && (dim[d].k < 0 || dim[d].k > HOP_SIZE_MAX)) {
				hop_trace_fail(t, HOP_EVALUE, "capture: input %s has size %lld on axis %d",
				               hop_input_text(&t->arena, (uint32_t)i, c->name ? c->name[i] : NULL),
				               (long long)dim[d].k, d);
				return;
			}
		}
		c->type[i] = hop_type_get(hop_env_of(t), s->dtype, s->rank, dim);
	}
}

/* The captured array that a value of the outermost trace is. */
static hop_array *array_of(hop_trace *t, hop_val v)
{
	hop_root *r = t->root;
	for (size_t i = 0; i < r->narray; i++)
		if (hop_same(t->store[t->slot[r->array_slot[i]].store].cur, v))
			return r->array[i];
	HOP_ASSERT(!"a captured value is an array");
	return NULL;
}

/* Parameters: inputs, written arrays, other arrays. Results: the function's, inputs that
 * were written, arrays that were. */
static void close_fn(hop_trace *t, void *arg)
{
	struct capture *c = arg;
	hop_trace *b = c->body;
	hop_arena *a = &t->arena;
	hop_join j;
	hop_outs o = { b, b->nret, NULL };
	uint32_t n = (uint32_t)c->nin;
	hop_val *out = HOP_NEWN(a, hop_val, b->nret + n);
	c->wrote = HOP_NEWN(a, int, n + b->nstore);
	memcpy(out, b->out, b->nret * sizeof *out);
	for (uint32_t i = 0; i < n; i++)
		if (b->store[i].version) {
			out[b->nret + (uint32_t)c->nwrote] = b->store[i].cur;
			c->wrote[c->nwrote++] = (int)i;
		}
	o.n = b->nret + (uint32_t)c->nwrote;
	o.v = out;
	if (!hop_join_open(&j, t, 1, &o, 0, NULL))
		return;
	uint32_t np = n + j.nw + j.nk;
	const hop_type **ty = HOP_NEWN(a, const hop_type *, np);
	uint32_t *param = HOP_NEWN(a, uint32_t, n);
	c->hidden = HOP_NEWN(a, hop_array *, j.nw + j.nk);
	for (uint32_t i = 0; i < n; i++) {
		ty[i] = c->type[i];
		param[i] = i;
	}
	for (uint32_t i = 0; i < j.nw + j.nk; i++) {
		ty[n + i] = i < j.nw ? j.wtype[i] : j.ktype[i - j.nw];
		c->hidden[i] = array_of(t, i < j.nw ? j.wval[i] : j.kval[i - j.nw]);
		if (i < j.nw)
			c->wrote[c->nwrote++] = (int)(n + i);
	}
	hop_join_syms(&j, np, ty);
	hop_layout l = { .nparam = np, .type = ty, .param = param, .w0 = n, .k0 = n + j.nw };
	hop_val *all = HOP_NEWN(a, hop_val, o.n + j.nw);
	memcpy(all, out, o.n * sizeof *all);
	memcpy(all + o.n, j.wout[0], j.nw * sizeof *all);
	hop_join_seal(&j, 0, &l, o.n + j.nw, all, NULL, &c->g);
	c->nout = (int)b->nret;
	c->nhidden = (int)(j.nw + j.nk);
}

/* k says what the inputs are. */
static hop_status capture(hop_ctx *c, hop_body *f, void *user, struct capture k, hop_fn **out_f)
{
	hop_trace *t;
	*out_f = NULL;
	HOP_TRY(hop_root_new(c, false, &t));
	t->what = "the outermost trace";
	if (hop_enter(t, "capture", NULL, 0, read_specs, &k)) {
		hop_body_args a = { .fn = f, .user = user, .what = "the function", .n = k.nin,
		                    .type = k.type, .name = k.name };
		k.body = hop_body_run(t, NULL, 0, &a);
		hop_status st = HOP_OK;
		if (k.body && hop_enter(t, NULL, NULL, 0, close_fn, &k))
			st = hop_fn_new(c, k.g, k.nin, k.nout, k.nhidden, k.hidden, k.nwrote, k.wrote,
			                out_f);
		for (int i = 0; !st && *out_f && k.name && i < k.nin; i++)
			(*out_f)->name[i] = k.name[i];
		for (int i = 0; !st && *out_f && k.body->retname && i < k.nout; i++)
			(*out_f)->name[k.nin + i] = k.body->retname[i];
		if (st) {
			(void)!hop_root_free(t);
			return st;
		}
	}
	return hop_root_free(t);
}

hop_status hop_capture(hop_ctx *c, hop_body *f, void *user, int nin, const hop_spec *in,
                       hop_fn **out_f)
{
	if (!c || !out_f)
		return HOP_EUSE;
	return capture(c, f, user, (struct capture){ .nin = nin, .spec = in }, out_f);
}

hop_status hop_capture_tree(hop_ctx *c, hop_body *f, void *user, const hop_tree *in,
                            const hop_named_size *sizes, hop_fn **out_f)
{
	if (!c || !out_f)
		return HOP_EUSE;
	struct capture k = { .by_tree = true, .tree = in, .sizes = sizes };
	return capture(c, f, user, k, out_f);
}

/* ---- running a body at once ---- */

struct eager {
	int               nin, nout;
	hop_array *const *in;
	hop_value        *h;
	hop_trace        *body;
};

static void eager_inputs(hop_trace *t, void *arg)
{
	struct eager *x = arg;
	x->h = HOP_NEWN(&t->arena, hop_value, x->nin);
	for (int i = 0; i < x->nin; i++)
		x->h[i] = hop_array_here(t, x->in ? x->in[i] : NULL);
}

static void eager_outputs(hop_trace *t, void *arg)
{
	struct eager *x = arg;
	if ((uint32_t)x->nout != x->body->nret)
		hop_trace_fail(t, HOP_EUSE, "eager call: the body gives %u results, there is room "
		               "for %d", x->body->nret, x->nout);
	else
		hop_eager_commit(t, x->body);
}

hop_status hop_eager_call(hop_ctx *c, hop_body *f, void *user, int nin, hop_array *const *in,
                          int nout, hop_array **out)
{
	return hop_eager_call_with(c, f, user, nin, in, nout, out, NULL);
}

hop_status hop_eager_call_with(hop_ctx *c, hop_body *f, void *user, int nin,
                               hop_array *const *in, int nout, hop_array **out,
                               const hop_run_opts *o)
{
	struct eager x = { .nin = nin, .nout = nout, .in = in };
	hop_trace *t;
	hop_status st = HOP_OK;
	if (!c || nin < 0 || nout < 0 || (nout && !out))
		return HOP_EUSE;
	for (int i = 0; i < nout; i++)
		out[i] = NULL;
	HOP_TRY(hop_eager_new_with(c, o, &t));
	if (hop_enter(t, "eager call", NULL, 0, eager_inputs, &x)) {
		hop_body_args a = { .fn = f, .user = user, .what = "the function", .n = nin,
		                    .in = x.h, .eager = true };
		x.body = hop_body_run(t, NULL, 0, &a);
		bool ok = x.body && hop_enter(t, NULL, NULL, 0, eager_outputs, &x);
		for (int i = 0; ok && !st && i < nout; i++) {
			hop_array *y = hop_eager_array(x.body, x.body->out[i]);
			st = hop_array_new(c, y->dtype, y->rank, y->dim, y->data, &out[i]);
		}
		hop_body_drop(x.body);
	}
	hop_status end = st ? (void)!hop_root_free(t), st : hop_eager_free(t);
	for (int i = 0; end && i < nout; i++) {
		hop_array_release(out[i]);
		out[i] = NULL;
	}
	return end;
}
