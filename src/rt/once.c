/* once.c -- what an exec computes once: values that depend on captured arrays only. They lie in a
 * block, which a run reads, and a refresh replaces by another, never changes. Which nodes make them is
 * decided elsewhere (opt/constants.c); so is when they are looked after (driver/).
 *
 * A run counts itself before it looks where the block is, and a refresh looks how many run after it
 * has put the new one there: if none, nobody has the old ones. So a run takes no lock. */
#include "rt/once.h"

#include "ctx/ctx.h"

struct hop_kept_block {
	struct hop_kept_block *older;       /* replaced before this one, and perhaps still read */
	uint64_t         *version;     /* [nhidden] of the arrays, as they were read */
	hop_array       **value;       /* [nkept] */
	hop_arg           arg[];       /* [nhidden + nkept] what a run is given */
};

static size_t block_bytes(const hop_once *o)
{
	size_t h = (size_t)o->nhidden, k = (size_t)o->nkept;
	return sizeof(struct hop_kept_block) + (h + k) * sizeof(hop_arg) + h * sizeof(uint64_t) +
	       k * sizeof(hop_array *);
}

static void block_free(hop_once *o, struct hop_kept_block *b)
{
	for (int i = 0; b && i < o->nkept; i++)
		hop_array_release(b->value[i]);
	if (b)
		hop_raw_free(&o->x->mem, b, block_bytes(o));
}

static hop_status block_new(hop_once *o, struct hop_kept_block **out)
{
	const hop_graph *g = o->x->g;
	struct hop_kept_block *b = hop_raw_try(&o->x->mem, block_bytes(o));
	const hop_memory *mem = hop_code_memory(o->x->code);
	int64_t dim[HOP_MAXRANK];
	hop_status st = b ? HOP_OK : HOP_ENOMEM;
	*out = b;
	if (st)
		return st;
	b->older = NULL;
	b->version = (uint64_t *)(void *)(b->arg + o->nhidden + o->nkept);
	b->value = (hop_array **)(void *)(b->version + o->nhidden);
	for (int i = 0; i < o->nkept; i++)
		b->value[i] = NULL;
	for (int i = 0; i < o->nhidden; i++) {
		const hop_array *a = o->hidden[i];
		b->arg[i] = hop_array_arg(a);
		b->version[i] = hop_array_version(a);
	}
	for (int i = 0; i < o->nkept && !st; i++) {
		const hop_type *t = hop_graph_out_type(g, (uint32_t)i);
		int rank = hop_exec_dims(o->x, NULL, i, dim);
		st = mem->far ? hop_array_far(o->x->ctx, mem, 0, NULL, (hop_dtype)t->dtype, rank, dim,
		                              &b->value[i])
		              : hop_array_raw(o->x->ctx, (hop_dtype)t->dtype, rank, dim, &b->value[i]);
		if (!st)
			b->arg[o->nhidden + i] = hop_array_arg(b->value[i]);
	}
	return st;
}

static hop_status fill(hop_once *o, struct hop_kept_block *b)
{
	hop_exec *x = o->x;
	size_t n = x->g->nparam, bytes = (n + 1) * sizeof(hop_arg);
	hop_arg *in = hop_raw_try(&x->mem, bytes);
	if (!in)
		return HOP_ENOMEM;
	hop_status st = HOP_OK;
	for (size_t i = 0; i < n && !st; i++) {
		in[i] = b->arg[o->param[i]];
		st = hop_array_use(o->hidden[o->param[i]], NULL, false);
	}
	int64_t room = hop_exec_workspace_for(x, in, b->arg + o->nhidden);
	struct hop_spare *s = room < 0 || st ? NULL : hop_spare_take(x, room);
	if (!st)
		st = s ? hop_run(x, in, b->arg + o->nhidden, s->p) : HOP_ENOMEM;
	if (s)
		hop_spare_give(x, s);
	hop_spare_drop(x);             /* it is long until the next time */
	hop_raw_free(&x->mem, in, bytes);
	return st;
}

/* The lock is held. */
static hop_status replace(hop_once *o)
{
	struct hop_kept_block *b, *old;
	hop_status st = block_new(o, &b);
	if (!st)
		st = fill(o, b);
	if (st) {
		block_free(o, b);
		return st;
	}
	b->older = atomic_load(&o->now);
	atomic_store(&o->now, b);
	atomic_fetch_add(&o->runs, 1);
	if (atomic_load(&o->running))
		return HOP_OK;
	for (old = b->older, b->older = NULL; old; ) {
		struct hop_kept_block *next = old->older;
		block_free(o, old);
		old = next;
	}
	return HOP_OK;
}

static bool changed(const hop_once *o, const struct hop_kept_block *b)
{
	for (size_t i = 0; b && i < o->x->g->nparam; i++)
		if (b->version[o->param[i]] != hop_array_version(o->hidden[o->param[i]]))
			return true;
	return !b;
}

hop_status hop_once_refresh(hop_once *o, bool always)
{
	hop_status st = HOP_OK;
	if (!o)
		return HOP_OK;
	if (!always) {
		const struct hop_kept_block *b;
		atomic_fetch_add(&o->running, 1);
		b = atomic_load(&o->now);
		bool is = changed(o, b);
		atomic_fetch_sub(&o->running, 1);
		if (!is)
			return HOP_OK;
	}
	pthread_mutex_lock(&o->lock);
	if (always || changed(o, atomic_load(&o->now)))        /* another may have been first */
		st = replace(o);
	pthread_mutex_unlock(&o->lock);
	return st;
}

const hop_arg *hop_once_enter(hop_once *o, hop_stream *s)
{
	atomic_fetch_add(&o->running, 1);
	struct hop_kept_block *b = atomic_load(&o->now);
	for (int i = 0; i < o->nkept; i++)
		(void)!hop_array_use(b->value[i], s, false);       /* a broken stream tells later */
	return b->arg;
}

void hop_once_leave(hop_once *o)
{
	atomic_fetch_sub(&o->running, 1);
}

void hop_once_free(hop_once *o)
{
	if (!o)
		return;
	hop_mem m = o->mem;
	struct hop_kept_block *b = atomic_load(&o->now);
	while (b) {
		struct hop_kept_block *next = b->older;
		block_free(o, b);
		b = next;
	}
	pthread_mutex_destroy(&o->lock);
	hop_raw_free(&m, o->param, o->nparam * sizeof *o->param);
	hop_exec_release(o->x);
	hop_graph_release(o->g);
	hop_raw_free(&m, o, sizeof *o);
}

hop_status hop_exec_refresh(hop_exec *x)
{
	return x ? hop_once_refresh(x->once, true) : HOP_EUSE;
}

hop_kept hop_exec_kept(const hop_exec *x)
{
	const hop_once *o = x ? x->once : NULL;
	hop_kept k = { 0 };
	if (o)
		k = (hop_kept){ .values = o->nkept, .bytes = o->bytes,
		                .runs = atomic_load(&((hop_once *)(uintptr_t)o)->runs) };
	return k;
}
