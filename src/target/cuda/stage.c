/* stage.c -- arrays of this process as arrays of the device, for one run. Small ones go together,
 * through locked memory: one copy there, one back. Large ones go by themselves. */
#include <string.h>

#include "target/cuda/image.h"

enum { SMALL = 1 << 16, TOGETHER = 1 << 22, LINE = 256 };

static size_t aligned(int64_t n)
{
	return ((size_t)n + LINE - 1) / LINE * LINE;
}

/* An output that has the address of its input is where that is. */
static int twin(const hop_cuda_run *r, int k)
{
	int a = r->i->param[k].alias;
	return a && r->params[a - 1] == r->params[k] ? a - 1 : -1;
}

/* What has to be done: there and back, or one of them, or (NONE) nothing; LARGE besides. In an order in
 * which those that go one way are neighbours. */
enum { THERE, BOTH, BACK, LARGE = 4, NONE = 8 };

static void sort_out(hop_cuda_run *r, const unsigned char *there)
{
	unsigned char *kind = r->s->kind;
	for (int k = 0; k < r->i->nparam; k++) {
		const hop_cuda_param *p = &r->i->param[k];
		int same = twin(r, k);
		kind[k] = (unsigned char)(!p->in ? BACK : p->out ? BOTH : THERE);
		if ((there && there[k]) || !r->p->bytes[k] || same >= 0)
			kind[k] = NONE;
		if (same >= 0 && kind[same] != NONE)
			kind[same] = BOTH;
	}
	for (int k = 0; k < r->i->nparam; k++)
		if (kind[k] != NONE && r->p->bytes[k] > SMALL)
			kind[k] |= LARGE;
}

static bool comes_back(const hop_cuda_run *r, int k)
{
	return r->s->kind[k] != NONE && (r->s->kind[k] & ~LARGE) != THERE;
}

static void lay_out(hop_cuda_run *r)
{
	hop_cuda_slot *s = r->s;
	size_t at = 0;
	for (int kind = 0; kind <= (BACK | LARGE); kind++) {
		for (int k = 0; k < r->i->nparam; k++) {
			if (s->kind[k] != kind)
				continue;
			s->at[k] = (int64_t)at;
			at += aligned(r->p->bytes[k]);
		}
		if (kind == THERE)
			r->near_begin = at;
		if (kind == BOTH)
			r->near_in = at;
		if (kind == BACK)
			r->near_end = at;
	}
	if (r->near_end > TOGETHER)            /* too many: each by itself */
		r->near_in = r->near_begin = r->near_end = 0;
	r->staged = at;
}

static int send(hop_cuda_run *r)
{
	const hop_cu *cu = r->i->d->cu;
	hop_cuda_slot *s = r->s;
	int error = 0;
	for (int k = 0; k < r->i->nparam && !error; k++) {
		if (s->kind[k] == NONE || (s->kind[k] & ~LARGE) == BACK)
			continue;
		if ((size_t)s->at[k] < r->near_end)
			memcpy(s->locked + s->at[k], r->params[k], (size_t)r->p->bytes[k]);
		else
			error = cu->to_device(s->addr[k], r->params[k], (size_t)r->p->bytes[k], r->stream);
	}
	if (!error && r->near_in)
		error = cu->to_device(s->stage.p, s->locked, r->near_in, r->stream);
	return error;
}

int hop_cuda_stage_in(hop_cuda_run *r, const unsigned char *there)
{
	hop_cuda_slot *s = r->s;
	sort_out(r, there);
	lay_out(r);
	r->who = "room for arrays";
	int error = hop_cuda_take(r->i->d, r->staged, &s->stage);
	if (!error)
		error = hop_cuda_slot_room(r->i, s, r->p->nword, r->near_end);
	if (error)
		return error;
	for (int k = 0; k < r->i->nparam; k++)
		s->addr[k] = s->kind[k] == NONE ? (uintptr_t)r->params[k] :
			             s->stage.p + (hop_cuptr)s->at[k];
	for (int k = 0; k < r->i->nparam; k++)
		if (twin(r, k) >= 0)
			s->addr[k] = s->addr[twin(r, k)];
	r->who = "copying arrays to the device";
	return r->staged ? send(r) : 0;
}

/* The small ones as soon as their one copy has come. */
int hop_cuda_stage_out(hop_cuda_run *r)
{
	const hop_cu *cu = r->i->d->cu;
	hop_cuda_slot *s = r->s;
	size_t near = r->near_end - r->near_begin;
	int error = 0;
	if (!r->staged)
		return 0;
	if (near)
		error = cu->to_host(s->locked + r->near_begin, s->stage.p + r->near_begin, near, r->stream);
	for (int k = 0; k < r->i->nparam && !error; k++)
		if (comes_back(r, k) && (size_t)s->at[k] >= r->near_end)
			error = cu->to_host(r->params[k], s->addr[k], (size_t)r->p->bytes[k], r->stream);
	if (!error)
		error = cu->stream_wait(r->stream);
	for (int k = 0; k < r->i->nparam && !error; k++)
		if (comes_back(r, k) && (size_t)s->at[k] < r->near_end)
			memcpy(r->params[k], s->locked + s->at[k], (size_t)r->p->bytes[k]);
	return error;
}
