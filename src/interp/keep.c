/* keep.c -- the arrays that an interpreter has. Whatever way a run ends, by an exit without memory too,
 * hop_interp_fini lets go of all of them. */
#include "interp/interp.h"

#include <string.h>

void hop_interp_init(hop_interp *p, hop_env *e)
{
	memset(p, 0, sizeof *p);
	p->env = e;
	hop_meter_init(&p->meter, e->ctx);
}

void hop_interp_fini(hop_interp *p)
{
	hop_meter_end(&p->meter);
	for (size_t i = 0; i < p->nkept; i++) {
		p->kept[i]->refs = 1;
		p->kept[i]->place = 0;
		hop_array_release(p->kept[i]);
	}
	hop_births_fini(p);
	hop_raw_free(&p->env->mem, p->kept, p->keptcap * sizeof *p->kept);
	p->kept = NULL;
	p->nkept = p->keptcap = 0;
}

/* Before there is anything to put there: with no memory for the list nothing is lost. */
static void make_room(hop_interp *p)
{
	if (p->nkept < p->keptcap)
		return;
	size_t cap = p->keptcap ? 2 * p->keptcap : 64;
	hop_array **more = hop_raw_new(p->env, cap * sizeof *more);
	if (p->nkept)
		memcpy(more, p->kept, p->nkept * sizeof *more);
	hop_raw_free(&p->env->mem, p->kept, p->keptcap * sizeof *p->kept);
	p->kept = more;
	p->keptcap = cap;
}

static hop_array *keep(hop_interp *p, hop_array *a)
{
	p->kept[p->nkept++] = a;
	a->place = (uint32_t)p->nkept;
	return a;
}

static void forget(hop_interp *p, hop_array *a)
{
	hop_array *last = p->kept[--p->nkept];
	p->kept[a->place - 1] = last;
	last->place = a->place;
	a->place = 0;
}

hop_array *hop_interp_new(hop_interp *p, hop_dtype d, int rank, const int64_t *dim)
{
	hop_array *a;
	make_room(p);
	if (hop_array_raw(p->env->ctx, d, rank, dim, &a))
		hop_nomem(p->env);
	memset(a->data, 0, a->bytes);
	return keep(p, a);
}

hop_array *hop_interp_of(hop_interp *p, const hop_type *t)
{
	int64_t dim[HOP_MAXRANK];
	for (int i = 0; i < t->rank; i++)
		dim[i] = hop_interp_size(p, t->dim[i]);
	return hop_interp_new(p, (hop_dtype)t->dtype, t->rank, dim);
}

static void drop_array(void *a)
{
	hop_array_release(a);
}

hop_array *hop_interp_hold(hop_interp *p, hop_array *of)
{
	hop_array *a;
	if (!of->dense || of->mem) {
		a = hop_interp_new(p, of->dtype, of->rank, of->dim);
		if (hop_array_pack(of, a->data))
			hop_fail(p->env, 0, HOP_ETARGET, "%s", hop_message(p->env->ctx));
		return a;
	}
	make_room(p);
	if (hop_array_adopt(p->env->ctx, of->dtype, of->rank, of->dim, of->data, true, drop_array,
	                    of, &a))
		hop_nomem(p->env);
	hop_array_retain(of);
	return keep(p, a);
}

void hop_interp_release(hop_interp *p, hop_array *a)
{
	if (a && a->refs == 1 && a->place)
		forget(p, a);
	hop_array_release(a);
}

static hop_array *copied(hop_interp *p, hop_array *a)
{
	hop_array *own = hop_interp_new(p, a->dtype, a->rank, a->dim);
	(void)!hop_array_pack(a, own->data);            /* it is in the memory of this process */
	hop_interp_release(p, a);
	return own;
}

hop_array *hop_interp_own(hop_interp *p, hop_array *a)
{
	return a->drop ? copied(p, a) : a;
}

hop_array *hop_interp_give(hop_interp *p, hop_array *a)
{
	if (a->refs > 1 || a->drop)
		a = copied(p, a);
	forget(p, a);
	return a;
}
