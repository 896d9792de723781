/* scan.c -- scan and map, captured. The scanned axis is brought to the front outside the loop, so
 * that the operator itself knows one axis only; nothing is flipped for reverse. */
#include "hops/scan_group.h"
#include "trace/strict.h"

#include <string.h>

hop_val hop_move_axis(hop_trace *t, hop_val x, int axis, bool back)
{
	if (!axis)
		return x;
	int rank = hop_typeof(&t->b, x)->rank;
	int64_t axes[HOP_MAXRANK];
	for (int i = 0; i < rank; i++) {
		int k = i == 0 ? axis : i <= axis ? i - 1 : i;
		if (back)
			axes[k] = i;
		else
			axes[i] = k;
	}
	return hop_emit_permute(&t->b, x, axes);
}

hop_value hop_scan_stacked(hop_trace *t, const struct hop_scan_call *c, hop_val y)
{
	int rank = hop_typeof(&t->b, y)->rank;
	int axis = c->opts.axis < rank ? c->opts.axis : 0;
	return hop_value_new(t, hop_move_axis(t, y, axis, true));
}

static bool scan_xs(hop_trace *t, struct hop_scan_call *c)
{
	for (int i = 0; i < c->nx; i++) {
		hop_val x = hop_value_read(t, c->xs[i]);
		if (hop_is_bad(x))
			return false;
		const hop_type *type = hop_typeof(&t->b, x);
		if (i == 0 && c->opts.axis < 0)
			c->opts.axis += type->rank;
		if (c->opts.axis < 0 || c->opts.axis >= type->rank) {
			hop_trace_fail(t, HOP_ESHAPE, "%s: %s is %s, it has no axis %d", c->op,
			               hop_path_text(t, "x", c->opts.x, i), hop_type_text(t, type),
			               c->opts.axis);
			return false;
		}
		x = hop_move_axis(t, x, c->opts.axis, false);
		if (hop_is_bad(x))
			return false;
		type = hop_typeof(&t->b, x);
		if (i == 0 && !c->opts.has_length)
			c->length = type->dim[0];
		if (hop_size_const(type->dim[0]) && hop_size_const(c->length) &&
		    type->dim[0].k != c->length.k) {
			hop_trace_fail(t, HOP_ESHAPE, "%s: %s has length %lld, the %s has %lld", c->op,
			               hop_path_text(t, "x", c->opts.x, i),
			               (long long)type->dim[0].k, c->op, (long long)c->length.k);
			return false;
		}
		c->val[c->ncarry + i] = x;
		c->type[c->ncarry + i] = hop_type_drop(hop_env_of(t), type);
	}
	return true;
}

void hop_scan_begin(hop_trace *t, void *arg)
{
	struct hop_scan_call *c = arg;
	hop_scan_opts *o = &c->opts;
	if (c->given && !hop_trace_opts(t, c->given, o, sizeof *o))
		return;
	if (c->ncarry < 0 || c->nx < 0 || (c->ncarry && !c->init) || (c->nx && !c->xs) ||
	    c->cap < 0 || (c->cap && !c->out)) {
		hop_trace_fail(t, HOP_EUSE, "%s: a count is negative or a list is missing", c->op);
		return;
	}
	if (o->carry && hop_tree_count(o->carry) != c->ncarry) {
		hop_trace_fail(t, HOP_EUSE, "%s: the tree names %d values, there are %d carries", c->op,
		               hop_tree_count(o->carry), c->ncarry);
		return;
	}
	if (!c->nx && !o->has_length) {
		hop_trace_fail(t, HOP_EUSE, c->unordered ? "%s: without xs there is nothing to map over"
		               : "%s: without xs, give the length in the options", c->op);
		return;
	}
	if (!c->nx && o->axis < 0) {
		hop_trace_fail(t, HOP_EVALUE, "%s: axis %d without xs to count it from", c->op, o->axis);
		return;
	}
	if (o->every < HOP_EVERY_SQRT) {
		hop_trace_fail(t, HOP_EVALUE, "%s: every is %d: 0 keeps all, k each k-th carry, -1 "
		               "about as many as it leaves out", c->op, o->every);
		return;
	}
	if (o->slots < 0 || (o->slots && o->every)) {
		hop_trace_fail(t, HOP_EVALUE, o->slots < 0 ? "%s: slots is %d: 0 keeps all, n > 0 as "
		               "many states" : "%s: slots is %d and every is %d: give one of them",
		               c->op, o->slots, o->every);
		return;
	}
	if (o->unroll < 0 || c->chunk < 0) {
		hop_trace_fail(t, HOP_EVALUE, o->unroll < 0 ? "%s: unroll is %d: it is how many steps of the "
		               "body one step of the loop runs" : "%s: chunk is %d: it is how many slices are "
		               "batched", c->op, o->unroll < 0 ? o->unroll : c->chunk);
		return;
	}
	if (o->x && hop_tree_count(o->x) != c->nx) {
		hop_trace_fail(t, HOP_EUSE, "%s: the tree names %d values, there are %d xs", c->op,
		               hop_tree_count(o->x), c->nx);
		return;
	}
	c->val = HOP_NEWN(&t->arena, hop_val, c->ncarry + c->nx);
	c->type = HOP_NEWN(&t->arena, const hop_type *, c->ncarry + c->nx);
	c->number = HOP_NEWN(&t->arena, bool, c->ncarry);
	for (int i = 0; i < c->ncarry; i++) {
		c->val[i] = hop_value_read(t, c->init[i]);
		if (hop_is_bad(c->val[i]))
			return;
		c->type[i] = hop_typeof(&t->b, c->val[i]);
		c->number[i] = hop_cell_of(t, c->init[i])->weak;
	}
	if (o->has_length) {
		c->length = (hop_size){ o->length.k, o->length.e };
		if (!hop_size_known(t, c->op, c->length))
			return;
		if (hop_size_const(c->length) && (c->length.k < 0 || c->length.k > HOP_SIZE_MAX)) {
			hop_trace_fail(t, HOP_EVALUE, "%s: length %lld", c->op, (long long)c->length.k);
			return;
		}
	}
	c->count = o->counted ? hop_promote_whole(t, o->count, "the count") : HOP_ZERO;
	if (!t->b.st && o->counted && hop_typeof(&t->b, c->count)->rank)
		hop_trace_fail(t, HOP_ESHAPE, "%s: the count is %s, not a scalar", c->op,
		               hop_type_text(t, hop_typeof(&t->b, c->count)));
	if (!t->b.st)
		scan_xs(t, c);
}

bool hop_scan_body_ok(hop_trace *t, struct hop_scan_call *c, hop_trace *body)
{
	if (!hop_strict_scan(t, c, body))
		return false;
	if (body->nret >= (uint32_t)c->ncarry)
		return hop_carry_check(t, body, &(hop_carries){ c->op, c->ncarry, c->type, c->number,
		                                                c->opts.carry, c->block }, body->out);
	t->b.st = hop_fail(hop_env_of(t), body->b.loc, HOP_ETYPE,
	                   "%s: the body gives %u results, fewer than the %d carries", c->op,
	                   body->nret, c->ncarry);
	hop_note(hop_env_of(t), body->site, "in %s", body->what);
	return false;
}

void hop_scan_end(hop_trace *t, void *arg)
{
	struct hop_scan_call *c = arg;
	hop_trace *body = c->body;
	hop_join j;
	struct hop_loop_lists l;
	const hop_graph *g;
	uint32_t nc = (uint32_t)c->ncarry, nx = (uint32_t)c->nx, n = body->nret;
	bool stops = !hop_is_bad(body->stop);
	if (!hop_scan_body_ok(t, c, body))
		return;
	if (n > (uint32_t)c->cap) {
		hop_trace_fail(t, HOP_EUSE, "%s: gives %u results, there is room for %d", c->op, n,
		               c->cap);
		return;
	}
	hop_val *v = HOP_NEWN(&t->arena, hop_val, n + 1);
	memcpy(v, body->out, n * sizeof *v);
	v[n] = body->stop;
	hop_outs o = { body, n + stops, v };
	if (!hop_join_open(&j, t, 1, &o, 0, NULL) || (c->unordered && !hop_join_pure(&j, c->op)))
		return;
	if (c->choose_xs) {
		c->choose_xs(t, c, &j);
		nx = (uint32_t)c->nx;
		if (t->b.st)
			return;
	}
	hop_loop_lists(&j, &l, nc, c->val, nx, c->type + nc);
	hop_join_syms(&j, l.layout.nparam, l.layout.type);
	if (hop_join_seal(&j, 0, &l.layout, n + j.nw + stops,
	                  hop_loop_outs(&j, 0, nc, n, v, body->stop), NULL, &g))
		return;
	hop_scan_args a = { .body = g, .sargs = hop_join_sargs(&j), .ncarry = l.ncarry, .nx = nx,
	                    .nconst = j.nk, .length = c->length, .reverse = c->opts.reverse,
	                    .stops = stops, .unordered = c->unordered, .every = c->opts.every,
	                    .slots = c->opts.slots, .unroll = c->opts.unroll > 0,
	                    .count = c->count, .carry = l.carry, .x = c->val + nc, .konst = j.kval };
	hop_val *res = HOP_NEWN(&t->arena, hop_val, n + j.nw + 1);
	hop_loop_name(t, HOP_OP_scan, a.reverse, a.ncarry, c->opts.carry, c->ncarry);
	if (hop_emit_scan_group(&t->b, &a, c->unordered ? c->chunk : c->opts.unroll, res))
		return;
	hop_join_wrote(&j, res + nc);
	for (uint32_t i = 0; i < n; i++)
		c->out[i] = i < nc ? hop_value_new(t, res[i])
		                   : hop_scan_stacked(t, c, res[i + j.nw]);
	hop_val steps = stops ? res[n + j.nw] : hop_emit_size(&t->b, c->length);
	if (!stops && c->opts.counted && !t->b.st) {
		hop_val zero = hop_emit_const_i(&t->b, HOP_i64, 0);
		steps = hop_emit(&t->b, min, hop_emit(&t->b, max, c->count, zero), steps);
	}
	c->steps = hop_value_new(t, steps);
	c->n = t->b.st ? 0 : (int)n;
}

int hop_scan_run(hop_trace *t, const char *file, int line, struct hop_scan_call *c, hop_body *body,
                 void *user)
{
	hop_body_args a = { .fn = body, .user = user, .what = c->what, .n = c->ncarry + c->nx,
	                    .in_scan = !c->unordered };
	t = hop_here(t);
	if (!hop_enter(t, c->op, file, line, hop_scan_begin, c))
		return 0;
	a.type = c->type;
	if (t->eager) {
		hop_scan_eager(t, file, line, c, &a);
		return c->n;
	}
	c->body = hop_body_run(t, file, line, &a);
	if (c->body)
		hop_enter(t, NULL, file, line, hop_scan_end, c);
	hop_body_drop(c->body);
	return c->n;
}

int hop_at_scan(hop_trace *t, const char *file, int line, hop_body *body, void *user,
                int ncarry, const hop_value *init, int nx, const hop_value *xs,
                const hop_scan_opts *opts, int cap, hop_value *out, hop_value *out_steps)
{
	struct hop_scan_call c = { .op = "scan", .what = "the body of scan", .ncarry = ncarry,
	                           .nx = nx, .cap = cap, .init = init, .xs = xs, .out = out,
	                           .given = opts };
	int n = hop_scan_run(t, file, line, &c, body, user);
	if (out_steps)
		*out_steps = c.steps;
	return n;
}

int hop_at_map(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nx,
               const hop_value *xs, int axis, int cap, hop_value *out)
{
	struct hop_scan_call c = { .op = "map", .what = "the body of map", .unordered = true,
	                           .nx = nx, .cap = cap, .xs = xs, .out = out,
	                           .opts = { .axis = axis } };
	return hop_scan_run(t, file, line, &c, body, user);
}

int hop_at_map_chunked(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nx,
                       const hop_value *xs, int axis, int chunk, int cap, hop_value *out)
{
	struct hop_scan_call c = { .op = "map", .what = "the body of map", .unordered = true,
	                           .nx = nx, .cap = cap, .xs = xs, .out = out, .chunk = chunk,
	                           .opts = { .axis = axis } };
	return hop_scan_run(t, file, line, &c, body, user);
}

/* ---- stop_if ---- */

static void make_stop(hop_trace *t, void *arg)
{
	if (!t->in_scan) {
		hop_trace_fail(t, HOP_EUSE, "stop_if: it belongs into the body of scan, this is %s",
		               t->what);
		return;
	}
	hop_val p = hop_promote_cast(t, *(hop_value *)arg, HOP_bool);
	if (t->b.st)
		return;
	if (hop_typeof(&t->b, p)->rank) {
		hop_trace_fail(t, HOP_ESHAPE, "stop_if: %s is not a scalar",
		               hop_type_text(t, hop_typeof(&t->b, p)));
		return;
	}
	t->stop = hop_is_bad(t->stop) ? p : hop_emit(&t->b, or, t->stop, p);
}

void hop_at_stop_if(hop_trace *t, const char *file, int line, hop_value pred)
{
	hop_enter(t, "stop_if", file, line, make_stop, &pred);
}
