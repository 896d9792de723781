/* fori.c -- what is made of other operators: fori_loop, a scan where the number of trips is a size
 * and a while where it is data; foreach_map, a region for each of a list. Nothing here closes a
 * body or emits an operator itself. */
#include "trace/loop.h"

#include <string.h>

/* ---- fori_loop ---- */

struct fori {
	hop_body            *fn;
	void                *user;
	const char          *file;
	int                  line, ncarry;
	const hop_value     *init;
	hop_limit            lower, upper;
	const void          *given;
	hop_fori_opts        opts;
	hop_value           *out;
	hop_value           *arg;          /* i, carries, as the body gets them */
	hop_value           *start, *all;  /* of a while, else NULL: carries, i; room for as many */
	hop_value            counts;       /* lower, lower + 1 ..: what a scan goes over */
	hop_value            end;          /* of a while */
	struct hop_scan_call scan;
	bool                 data;         /* a limit is */
};

static hop_size size_of(hop_limit l)
{
	return (hop_size){ l.n.k, l.n.e };
}

static bool known(hop_trace *t, hop_limit l)
{
	return l.v.trace || hop_size_known(t, "fori_loop", size_of(l));
}

static hop_val limit(hop_trace *t, hop_limit l, const char *what)
{
	if (!l.v.trace)
		return hop_emit_size(&t->b, size_of(l));
	hop_val v = hop_promote_whole(t, l.v, what);
	if (t->b.st)
		return HOP_BAD;
	if (hop_typeof(&t->b, v)->rank)
		hop_trace_fail(t, HOP_ESHAPE, "fori_loop: %s is %s, not a scalar", what,
		               hop_type_text(t, hop_typeof(&t->b, v)));
	return v;
}

/* How many trips there are between two sizes. */
static hop_size between(hop_trace *t, hop_size a, hop_size b)
{
	hop_env *e = hop_env_of(t);
	hop_size n = hop_size_sub(e, b, a);
	if (hop_build_holds(&t->b, HOP_LE, a, b) == HOP_ALWAYS)
		return n;
	return hop_size_max(e, n, hop_size_int(0));
}

/* first, first + 1 ..: n numbers. */
static hop_value count_from(hop_trace *t, hop_val first, hop_size n)
{
	hop_val i = hop_emit_iota(&t->b, HOP_i64, 1, &n, 0);
	return hop_value_new(t, hop_emit(&t->b, add, i, hop_emit_lead(&t->b, first, n)));
}

static void fori_begin(hop_trace *t, void *arg)
{
	struct fori *f = arg;
	hop_scan_opts *o = &f->scan.opts;
	if (f->ncarry < 0 || (f->ncarry && (!f->init || !f->out))) {
		hop_trace_fail(t, HOP_EUSE, "fori_loop: a count is negative or a list is missing");
		return;
	}
	if (!f->fn) {
		hop_trace_fail(t, HOP_EUSE, "fori_loop: no function was given for the body of fori_loop");
		return;
	}
	if (!hop_trace_opts(t, f->given, &f->opts, sizeof f->opts))
		return;
	f->data = f->lower.v.trace || f->upper.v.trace;
	if (f->opts.max_trips < 0 || (f->opts.max_trips && !f->data)) {
		hop_trace_fail(t, HOP_EVALUE, f->data ? "fori_loop: max_trips is %lld" : "fori_loop: "
		               "max_trips is %lld, but the limits say how many trips there are",
		               (long long)f->opts.max_trips);
		return;
	}
	if (!known(t, f->lower) || !known(t, f->upper))
		return;
	f->arg = HOP_NEWN(&t->arena, hop_value, f->ncarry + 1 + HOP_BEYOND);
	hop_val first = limit(t, f->lower, "the lower limit");
	hop_val end = limit(t, f->upper, "the upper limit");
	if (t->b.st)
		return;
	o->every = f->opts.every;
	o->unroll = f->opts.unroll;
	o->slots = f->opts.slots;
	o->carry = f->opts.carry;
	if (!f->data) {
		f->counts = count_from(t, first, between(t, size_of(f->lower), size_of(f->upper)));
	} else if (f->opts.max_trips) {
		f->counts = count_from(t, first, hop_size_int(f->opts.max_trips));
		o->counted = true;
		o->count = hop_value_new(t, hop_emit(&t->b, sub, end, first));
	} else {
		f->start = HOP_NEWN(&t->arena, hop_value, f->ncarry + 1);
		f->all = HOP_NEWN(&t->arena, hop_value, f->ncarry + 1);
		if (f->ncarry)
			memcpy(f->start, f->init, (size_t)f->ncarry * sizeof *f->start);
		f->start[f->ncarry] = hop_value_new(t, first);
		f->end = hop_value_new(t, end);
	}
}

/* Have the carries come, and nothing else? Of a while, i + 1 follows them. */
static void closed(hop_trace *t, void *arg)
{
	struct fori *f = arg;
	if (t->nret != (uint32_t)f->ncarry) {
		hop_trace_fail(t, HOP_ETYPE, "fori_loop: the body gives %u results for %d carries", t->nret,
		               f->ncarry);
		return;
	}
	t->returned = true;
	if (!f->start)
		return;
	hop_val i = hop_value_read(t, f->arg[0]), one = hop_emit_const_i(&t->b, HOP_i64, 1);
	for (int k = 0; k < f->ncarry; k++)
		f->all[k] = (hop_value){ t->serial, t->ret[k] };
	if (t->b.st)
		return;
	f->all[f->ncarry] = hop_value_new(t, hop_emit(&t->b, add, i, one));
	hop_set_results(t, f->ncarry + 1, f->all);
}

/* carries, i -> what the user's body gives for i, carries. It has returned already when its results
 * are looked at: they are, so to speak, taken back. */
static void step(hop_trace *t, const hop_value *in, void *user)
{
	struct fori *f = user;
	f->arg[0] = in[f->ncarry];
	if (f->ncarry)
		memcpy(f->arg + 1, in, (size_t)f->ncarry * sizeof *in);
	f->fn(t, f->arg, f->user);
	if (!t->returned)
		return;
	t->returned = false;
	hop_enter(t, NULL, f->file, f->line, closed, f);
}

static void while_go(hop_trace *t, void *arg)
{
	hop_value *ends = arg;
	hop_val i = hop_value_read(t, ends[0]), end = hop_value_read(t, ends[1]);
	if (t->b.st)
		return;
	hop_value go = hop_value_new(t, hop_emit(&t->b, lt, i, end));
	hop_set_results(t, 1, &go);
}

static void while_test(hop_trace *t, const hop_value *in, void *user)
{
	struct fori *f = user;
	hop_value ends[2] = { in[f->ncarry], f->end };
	hop_enter(t, NULL, f->file, f->line, while_go, ends);
}

/* i is the last carry: the others are numbered as the user has them. */
static int as_while(hop_trace *t, struct fori *f)
{
	struct hop_while_call c = { .op = "fori_loop", .what = "the body of fori_loop",
	                            .test_fn = while_test, .body_fn = step, .user = f,
	                            .ncarry = f->ncarry + 1, .init = f->start, .out = f->all,
	                            .opts = { .slots = f->opts.slots } };
	if (!hop_while_run(t, f->file, f->line, &c))
		return 0;
	memcpy(f->out, f->all, (size_t)f->ncarry * sizeof *f->out);
	return f->ncarry;
}

int hop_at_fori_loop(hop_trace *t, const char *file, int line, hop_limit lower, hop_limit upper,
                     hop_body *body, void *user, int ncarry, const hop_value *init,
                     const hop_fori_opts *opts, hop_value *out)
{
	struct fori f = { .fn = body, .user = user, .file = file, .line = line, .ncarry = ncarry,
	                  .init = init, .lower = lower, .upper = upper, .given = opts, .out = out };
	t = hop_here(t);
	if (!hop_enter(t, "fori_loop", file, line, fori_begin, &f))
		return 0;
	if (f.data && !f.opts.max_trips)
		return as_while(t, &f);
	f.scan.op = "fori_loop";
	f.scan.what = "the body of fori_loop";
	f.scan.ncarry = f.scan.cap = ncarry;
	f.scan.nx = 1;
	f.scan.init = init;
	f.scan.xs = &f.counts;
	f.scan.out = out;
	return hop_scan_run(t, file, line, &f.scan, step, &f);
}

/* ---- foreach_map ---- */

struct foreach {
	hop_body *body;
	int n, nin, cap, each, i;          /* each: results of the first */
	const hop_value *in;
	hop_value *out;
};

static void foreach_begin(hop_trace *t, void *arg)
{
	const struct foreach *f = arg;
	if (f->n < 0 || f->nin < 0 || f->cap < 0 || (f->n && f->nin && !f->in) ||
	    (f->cap && !f->out))
		hop_trace_fail(t, HOP_EUSE, "foreach_map: a count is negative or a list is missing");
	else if (!f->body)
		hop_trace_fail(t, HOP_EUSE, "foreach_map: no function was given for the body of foreach_map");
}

static void foreach_differs(hop_trace *t, void *arg)
{
	const struct foreach *f = arg;
	hop_trace_fail(t, HOP_ETYPE, "foreach_map: group %d gives %d results, the first gave %d", f->i,
	               f->n, f->each);
}

int hop_at_foreach_map(hop_trace *t, const char *file, int line, hop_body *body, void *user, int n,
                       int nin, const hop_value *in, int cap, hop_value *out)
{
	struct foreach f = { .body = body, .n = n, .nin = nin, .cap = cap, .in = in, .out = out };
	int done = 0;
	if (!hop_enter(t, "foreach_map", file, line, foreach_begin, &f))
		return 0;
	for (f.i = 0; f.i < n; f.i++) {
		int got = hop_at_region(t, file, line, "foreach_map", body, user, nin, in + f.i * nin,
		                        cap - done, out + done);
		if (hop_failed(t))
			return 0;
		if (f.i && got != f.each) {
			f.n = got;
			hop_enter(t, NULL, file, line, foreach_differs, &f);
			return 0;
		}
		f.each = got;
		done += got;
	}
	return done;
}
