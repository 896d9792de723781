/* What functions that hop built ahead of time share: sizes without overflow, and a call of the
 * code. Allocates nothing and needs no library. Text of hop, copied into what it writes. */
#ifndef HOP_AOT_RUN
#define HOP_AOT_RUN

/* ---- sizes: *bad is set when a number leaves 64 bits ---- */

HOP_AOT_FN int64_t hop_aot_mul(int64_t a, int64_t b, int *bad)
{
	if (a && b && (a > 0 ? (b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a)
	                     : (b > 0 ? a < INT64_MIN / b : b < INT64_MAX / a))) {
		*bad = 1;
		return 0;
	}
	return a * b;
}

HOP_AOT_FN int64_t hop_aot_add(int64_t a, int64_t b, int *bad)
{
	if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) {
		*bad = 1;
		return 0;
	}
	return a + b;
}

/* Towards minus infinity; a div 0 = 0. */
HOP_AOT_FN int64_t hop_aot_div(int64_t a, int64_t b, int *bad)
{
	if (!b)
		return 0;
	if (b == -1 && a == INT64_MIN) {
		*bad = 1;
		return 0;
	}
	return a / b - (a % b && (a < 0) != (b < 0));
}

HOP_AOT_FN int64_t hop_aot_mod(int64_t a, int64_t b)
{
	int64_t r = !b || b == -1 ? 0 : a % b;
	return r && (r < 0) != (b < 0) ? r + b : r;
}

HOP_AOT_FN int64_t hop_aot_min(int64_t a, int64_t b) { return a < b ? a : b; }
HOP_AOT_FN int64_t hop_aot_max(int64_t a, int64_t b) { return a > b ? a : b; }

/* n times one more dimension, at most `most`. */
HOP_AOT_FN int64_t hop_aot_dim(int64_t n, int64_t dim, int64_t most, int *bad)
{
	n = hop_aot_mul(n, dim, bad);
	if (dim < 0 || n > most)
		*bad = 1;
	return n;
}

/* ---- a call ---- */

typedef struct hop_aot_call {
	struct hop_rt        rt;
	const hop_aot_hooks *hooks;
	int                  status;       /* why it ended, if not 0 */
} hop_aot_call;

/* All zero: nothing is there. */
HOP_AOT_FN void hop_aot_open(hop_aot_call *c)
{
	static hop_aot_call none;
	*c = none;
}

HOP_AOT_FN int hop_aot_fail(struct hop_rt *rt, int status)
{
	((hop_aot_call *)rt->user)->status = status;
	return 1;
}

HOP_AOT_FN int hop_aot_grow(struct hop_rt *rt, int slot, int64_t bytes)
{
	const hop_aot_hooks *h = ((hop_aot_call *)rt->user)->hooks;
	struct hop_tape *t = &rt->tape[slot];
	int64_t room = t->bytes > INT64_MAX / 2 ? bytes : t->bytes ? 2 * t->bytes : 4096;
	void *p = NULL;
	if (bytes <= t->bytes)
		return 0;
	room = room < bytes ? bytes : room;
	if (h && h->grow)
		p = h->grow(h->user, t->ptr, t->bytes, room);
	if (!p)
		return hop_aot_fail(rt, HOP_AOT_ENOMEM);
	t->ptr = p;
	t->bytes = room;
	return 0;
}

HOP_AOT_FN void hop_aot_parallel(struct hop_rt *rt, void (*body)(void *, int64_t, int64_t),
                                 void *arg, int64_t n)
{
	const hop_aot_hooks *h = ((hop_aot_call *)rt->user)->hooks;
	if (h && h->parallel)
		h->parallel(h->user, body, arg, n);
	else
		body(arg, 0, n);
}

typedef int hop_aot_code(void *const *params, const int64_t *syms, void *workspace,
                         struct hop_rt *rt);

/* The caller opened c, and set what code may ask: rt.effect, rt.check, rt.tape. */
HOP_AOT_FN int hop_aot_run(hop_aot_call *c, hop_aot_code *code, void *const *params,
                           const int64_t *syms, void *workspace, int ntape,
                           const hop_aot_hooks *hooks)
{
	static const int never = 0;
	int i, rc;
	c->rt.grow = hop_aot_grow;
	c->rt.parallel = hop_aot_parallel;
	c->rt.cancel = hooks && hooks->cancel ? hooks->cancel : &never;
	c->rt.nthread = hooks && hooks->parallel ? 2 : 1;
	c->rt.user = c;
	c->hooks = hooks;
	c->status = HOP_AOT_OK;
	for (i = 0; i < ntape; i++) {
		c->rt.tape[i].ptr = NULL;
		c->rt.tape[i].bytes = 0;
	}
	rc = code(params, syms, workspace, &c->rt);
	for (i = 0; i < ntape; i++)
		if (c->rt.tape[i].ptr)
			hooks->grow(hooks->user, c->rt.tape[i].ptr, c->rt.tape[i].bytes, 0);
	return !rc ? HOP_AOT_OK : c->status ? c->status : HOP_AOT_ECANCELED;
}
#endif
