/* serve.c -- what a program on the device asks of its host: records in the ring, in order, then the
 * request that it left with. Operands are copied to this process, what was written is copied back. */
#include <string.h>

#include "target/cuda/image.h"

/* ---- operands ---- */

/* Bytes of operand k of an effect, filled up to a word. */
static size_t operand_bytes(const hop_cuda_effect *f, int k, const int64_t *syms, int nsym)
{
	int64_t n = 8;
	if (f->is_progress || !f->type)
		return 8;
	const hop_type *t = f->type[k];
	n = (int64_t)hop_dtype_bytes((hop_dtype)t->dtype);
	for (int i = 0; i < t->rank; i++) {
		int64_t d = 0;
		if (!hop_size_eval(t->dim[i], syms, nsym, &d) || d < 0)
			d = 0;
		n *= d;
	}
	return (size_t)n;
}

static size_t filled(size_t n)
{
	return (n + 7) / 8 * 8;
}

static const hop_cuda_effect *effect_of(const hop_cuda_run *r, int id)
{
	return id >= 0 && id < r->i->neffect ? &r->i->effect[id] : NULL;
}

static int damaged(hop_cuda_run *r, const char *what)
{
	return r->rt->fail ? r->rt->fail(r->rt, HOP_ETARGET, what) : 1;
}

static int no_memory(hop_cuda_run *r)
{
	return r->rt->fail ? r->rt->fail(r->rt, HOP_ENOMEM, "no memory for what it asks of the host") : 1;
}

/* ---- the ring ---- */

/* One record: its operands stand in it. */
static int record(hop_cuda_run *r, const char *p, size_t bytes, unsigned id)
{
	const hop_cuda_effect *f = effect_of(r, (int)id);
	const int64_t *w = (const int64_t *)(const void *)p;
	if (!f || bytes < 16 || w[1] < 0 || (size_t)w[1] > (bytes - 16) / 8)
		return damaged(r, "the ring of the device holds a record that is none");
	int nsym = (int)w[1];
	const int64_t *syms = w + 2;
	void **args = hop_raw_try(&r->i->mem, sizeof *args * (size_t)(f->narg + 1));
	size_t at = 16 + 8 * (size_t)nsym;
	if (!args)
		return no_memory(r);
	int rc = 0;
	for (int k = 0; k < f->narg && !rc; k++) {
		size_t n = operand_bytes(f, k, syms, nsym);
		args[k] = (void *)(uintptr_t)(p + at);
		at += filled(n);
		if (at > bytes)
			rc = damaged(r, "the ring of the device holds a record that is too short");
	}
	if (!rc)
		rc = r->rt->effect(r->rt, (int)id, args, syms);
	hop_raw_free(&r->i->mem, args, sizeof *args * (size_t)(f->narg + 1));
	return rc;
}

static int records(hop_cuda_run *r, const char *p, size_t n)
{
	for (size_t at = 0; at < n;) {
		uint32_t head[2] = { 0 };
		if (n - at >= sizeof head)
			memcpy(head, p + at, sizeof head);
		if (head[0] < sizeof head || head[0] % 8 || head[0] > n - at)
			return damaged(r, "the ring of the device is damaged");
		int rc = record(r, p + at, head[0], head[1]);
		if (rc)
			return rc;
		at += head[0];
	}
	return 0;
}

static int drain(hop_cuda_run *r)
{
	int64_t n = r->s->is->ring_head;
	if (!n)
		return 0;
	if (n < 0 || n > r->s->ring_bytes)
		return damaged(r, "the ring of the device is damaged");
	char *p = hop_raw_try(&r->i->mem, (size_t)n);
	if (!p)
		return no_memory(r);
	int error = r->i->d->cu->to_host(p, r->s->ring, (size_t)n, r->stream), rc;
	if (!error)
		error = r->i->d->cu->stream_wait(r->stream);
	rc = error ? hop_cuda_stop(r, error) : records(r, p, (size_t)n);
	hop_raw_free(&r->i->mem, p, (size_t)n);
	return rc;
}

/* ---- requests ---- */

/* The words of a request. */
static int fetch(hop_cuda_run *r, int64_t **out)
{
	size_t n = (size_t)r->i->needs.request * sizeof(hop_word);
	*out = hop_raw_try(&r->i->mem, n + 8);
	if (!*out)
		return no_memory(r);
	int error = n ? r->i->d->cu->to_host(*out, r->s->request, n, r->stream) : 0;
	if (!error)
		error = r->i->d->cu->stream_wait(r->stream);
	return error ? hop_cuda_stop(r, error) : 0;
}

/* The same address is the same memory here, but for what has no bytes. */
static int first_of(const hop_cuda_effect *f, const int64_t *syms, int nsym, const int64_t *at, int k)
{
	int j = 0;
	while (j < k && (at[j] != at[k] || !operand_bytes(f, j, syms, nsym)))
		j++;
	return j;
}

/* Operands to the host, the effect, results back: those of their own, and operands that it wrote, whose
 * addresses come again among the results. p: room for all of them. */
static int do_effect(hop_cuda_run *r, int id, const int64_t *syms, int nsym, const int64_t *at,
                     void **args, char *p)
{
	const hop_cuda_effect *f = &r->i->effect[id];
	const hop_cu *cu = r->i->d->cu;
	int error = 0;
	for (int k = 0; k < f->narg && !error; k++) {
		size_t n = operand_bytes(f, k, syms, nsym);
		int same = n ? first_of(f, syms, nsym, at, k) : k;
		args[k] = same < k ? args[same] : p;
		p += same < k ? 0 : filled(n);
		if (same == k && k < f->nin && n)
			error = cu->to_host(args[k], (hop_cuptr)at[k], n, r->stream);
	}
	if (!error)
		error = cu->stream_wait(r->stream);
	int rc = error ? hop_cuda_stop(r, error) : r->rt->effect(r->rt, id, args, syms);
	for (int k = f->nin; k < f->narg && !rc; k++) {
		size_t n = operand_bytes(f, k, syms, nsym);
		error = n ? cu->to_device((hop_cuptr)at[k], args[k], n, r->stream) : 0;
		if (error)
			rc = hop_cuda_stop(r, error);
	}
	if (!rc && (error = cu->stream_wait(r->stream)))
		rc = hop_cuda_stop(r, error);
	return rc;
}

static int effect(hop_cuda_run *r, int id, const int64_t *q)
{
	const hop_cuda_effect *f = effect_of(r, id);
	if (!f || q[0] < 0 || 1 + q[0] + f->narg > r->i->needs.request)
		return damaged(r, "the device asks for an effect that is none");
	int nsym = (int)q[0];
	const int64_t *syms = q + 1, *at = syms + nsym;
	size_t n = sizeof(void *) * (size_t)(f->narg + 1);
	for (int k = 0; k < f->narg; k++)
		n += filled(operand_bytes(f, k, syms, nsym));
	void **args = hop_raw_try(&r->i->mem, n);
	if (!args)
		return no_memory(r);
	int rc = do_effect(r, id, syms, nsym, at, args, (char *)(args + f->narg + 1));
	hop_raw_free(&r->i->mem, args, n);
	return rc;
}

/* The new end of a tape is written behind the state. */
static int grow(hop_cuda_run *r, int slot, int64_t bytes)
{
	const hop_cu *cu = r->i->d->cu;
	if (slot < 0 || slot >= r->i->ntape || bytes < 0)
		return damaged(r, "the device asks for a tape that is none");
	hop_cuda_trail *t = &r->s->tape[slot];
	r->who = "a longer tape";
	int error = hop_cuda_tape_grow(r->i, t, (size_t)bytes, r->stream);
	hop_cuda_tape is = { t->p, (int64_t)t->bytes };
	hop_cuptr to = r->s->state + offsetof(hop_state, tape) + (size_t)slot * sizeof is;
	if (!error)
		error = cu->to_device(to, &is, sizeof is, r->stream);
	if (!error)
		error = cu->stream_wait(r->stream);
	return error ? hop_cuda_stop(r, error) : 0;
}

static int request(hop_cuda_run *r, const hop_state *is)
{
	int64_t *q = NULL;
	int rc = fetch(r, &q);
	if (!rc && is->code == HOP_STATE_EFFECT)
		rc = effect(r, is->id, q);
	else if (!rc && is->code == HOP_STATE_GROW)
		rc = grow(r, is->id, q[0]);
	else if (!rc)
		rc = r->rt->check(r->rt, is->id, q + 1);
	hop_raw_free(&r->i->mem, q, q ? (size_t)r->i->needs.request * sizeof(hop_word) + 8 : 0);
	return rc;
}

int hop_cuda_serve(hop_cuda_run *r)
{
	const hop_state *is = r->s->is;
	int rc = drain(r), canceled = __atomic_load_n(r->rt->cancel, __ATOMIC_RELAXED);
	if (rc)
		return rc;
	r->s->want->ring_head = 0;
	switch (is->code) {
	case HOP_STATE_GO:
		return 0;
	case HOP_STATE_RING:
		return canceled;
	case HOP_STATE_STOP:
		return damaged(r, "the device stopped, and left no record why");
	case HOP_STATE_CANCEL:
		return canceled ? canceled : damaged(r, "the device was canceled by nobody");
	case HOP_STATE_EFFECT:
	case HOP_STATE_GROW:
	case HOP_STATE_CHECK:
		return canceled ? canceled : request(r, is);
	default:
		return damaged(r, "the state of the device is damaged");
	}
}
