/* launch.c -- run an image: bind its table, launch its kernels, the first time one by one, then as a
 * graph (graph.c), and go on until the device has nothing more to ask. Products that a library does have
 * their operands' addresses in the graph: it serves as long as these stay. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "target/cuda/image.h"

enum { HEAD = offsetof(hop_state, pad0), BOUND = offsetof(hop_state, arrived) };

/* ---- what a run is given ---- */

hop_cuptr hop_cuda_base_of(const hop_cuda_run *r, int base)
{
	if (base < 0)
		return r->s->tape[-1 - base].p;
	if (base >= HOP_BASE_PARAM)
		return r->s->addr[base - HOP_BASE_PARAM];
	return base == HOP_BASE_FRAME ? r->s->frame.p : base == HOP_BASE_SCRATCH ? r->s->want->scratch : 0;
}

static int bind_table(hop_cuda_run *r)
{
	hop_cuda_slot *s = r->s;
	bool same = s->nword == r->p->nword;
	for (int k = 0; k < r->p->nword; k++) {
		hop_word w = hop_cuda_base_of(r, r->p->word[k].base) + (hop_word)r->p->word[k].v;
		same = same && s->words[k] == w;
		s->words[k] = w;
	}
	if (same)
		return 0;
	s->nword = 0;
	int error = r->i->d->cu->to_device(s->table.p, s->words, (size_t)r->p->nword * sizeof(hop_word),
	                                   r->stream);
	s->nword = error ? 0 : r->p->nword;
	return error;
}

/* The part of the state that is the host's: `is` is what the device has. */
static int bind_state(hop_cuda_run *r)
{
	hop_cuda_slot *s = r->s;
	if (!memcmp(s->is, s->want, BOUND))
		return 0;
	memcpy(s->is, s->want, BOUND);
	return r->i->d->cu->to_device(s->state, s->want, BOUND, r->stream);
}

int hop_cuda_bind(hop_cuda_run *r)
{
	int error = bind_table(r);
	return error ? error : bind_state(r);
}

/* Tapes that were given back between runs. */
static int forget_tapes(hop_cuda_run *r)
{
	size_t n = (size_t)r->i->ntape * sizeof(hop_cuda_tape);
	if (!r->s->dropped)
		return 0;
	r->s->dropped = false;
	return r->i->d->cu->fill(r->s->state + offsetof(hop_state, tape), 0, n, r->stream);
}

/* Scratch is behind the frame, what libraries need behind that. */
static int prepare(hop_cuda_run *r)
{
	hop_cuda_slot *s = r->s;
	hop_state *w = s->want;
	size_t frame = ((size_t)r->p->frame + 255) / 256 * 256;
	size_t scratch = ((size_t)r->p->scratch + 255) / 256 * 256;
	int error = hop_cuda_take(r->i->d, frame + scratch + (size_t)r->p->work, &s->frame);
	if (error)
		return error;
	s->work = s->frame.p + frame + scratch;
	*s->cancel = 0;
	w->code = w->id = 0;
	w->at = w->saved = 0;
	w->ring_head = 0;
	w->skip = r->rt->skip;
	w->turns = s->is->turns;
	w->save = s->save;
	w->request = s->request;
	w->ring = s->ring;
	w->ring_bytes = s->ring_bytes;
	w->scratch = s->frame.p + frame;
	w->cancel = (uintptr_t)r->rt->cancel;
	if (!r->i->d->pages || r->lent) {      /* who called may be gone by then */
		hop_cuptr p = 0;
		error = r->i->d->cu->host_address(&p, s->cancel, 0);
		w->cancel = p;
	}
	if (!error)
		error = forget_tapes(r);
	return error ? error : hop_cuda_bind(r);
}

/* ---- waiting ---- */

/* Many looks without sleep, in which short runs end: a sleep is longer than they are. */
static void pause_a_bit(int turn)
{
	struct timespec t = { 0, turn < 4000 ? 20000 : 200000 };
	if (turn > 2000)
		nanosleep(&t, NULL);
}

/* A host that is told to cancel tells the device. */
static int wait_for(hop_cuda_run *r)
{
	const hop_cu *cu = r->i->d->cu;
	int error;
	if (!r->p->cancels || r->i->d->pages)
		return cu->stream_wait(r->stream);
	for (int turn = 0; (error = cu->stream_query(r->stream)) == HOP_CU_NOTREADY; turn++) {
		if (__atomic_load_n(r->rt->cancel, __ATOMIC_RELAXED))
			__atomic_store_n(r->s->cancel, 1, __ATOMIC_RELAXED);
		pause_a_bit(turn);
	}
	return error;
}

/* ---- launching ---- */

static int launch_one(hop_cuda_run *r, int k)
{
	const hop_cu *cu = r->i->d->cu;
	const hop_cuda_launch *l = &r->p->launch[k];
	const hop_cuda_func *f = &r->i->func[l->func];
	if (hop_cuda_by_library(r, l)) {
		int said = hop_cuda_library_run(r, l, r->stream);
		return said || !r->i->careful ? said : wait_for(r);
	}
	unsigned rec = l->rec, at = (unsigned)k, n = (unsigned)f->team.threads;
	unsigned shared = (unsigned)f->is.shared;
	unsigned long long no_loop = 0;
	void *params[] = { &r->s->table.p, &rec, &at, &r->s->state, &no_loop };
	r->who = f->name;
	int error = f->team.resident
		? cu->launch_together(f->function, l->grid[0], l->grid[1], l->grid[2], n, 1, 1, shared,
		                      r->stream, params)
		: cu->launch(f->function, l->grid[0], l->grid[1], l->grid[2], n, 1, 1, shared, r->stream,
		             params, NULL);
	return error || !r->i->careful ? error : wait_for(r);
}

static int launch_list(hop_cuda_run *r, int from, int to);

/* The trips of a loop, as many at once as a graph would take, until the run is canceled; or a branch. */
static int take_trips(hop_cuda_run *r, int k)
{
	const hop_cu *cu = r->i->d->cu;
	const hop_cuda_launch *l = &r->p->launch[k];
	int trips = l->each ? l->each : 1, error;
	bool again;
	do {
		error = cu->to_host(r->s->is, r->s->state, HEAD, r->stream);
		if (!error)
			error = wait_for(r);
		again = !error && r->s->is->again;
		for (int n = 0; again && !error && n < trips; n++)
			error = launch_list(r, k + 1, k + 1 + l->body);
	} while (again && !error && l->each && !__atomic_load_n(r->rt->cancel, __ATOMIC_RELAXED));
	return error;
}

/* One by one. */
static int launch_list(hop_cuda_run *r, int from, int to)
{
	const hop_cuda_launch *l = r->p->launch;
	int error = 0;
	for (int k = from; !error && k < to; k++)
		if (l[k].body) {
			error = take_trips(r, k);
			k += l[k].body;
		} else {
			error = launch_one(r, k);
		}
	return error;
}

/* The slot's place for the plan, and for where libraries find their operands, as the newest. */
static int exec_of(hop_cuda_run *r)
{
	hop_cuda_slot *s = r->s;
	__typeof__(s->exec[0]) x = { .serial = r->p->serial };
	int k = 0;
	if (r->p->nlt)
		x.at = hop_cuda_graph_addresses(r);
	while (k < s->nexec && (s->exec[k].serial != x.serial || !hop_hash_eq(s->exec[k].at, x.at)))
		k++;
	if (k == HOP_CUDA_EXECS) {
		k--;
		hop_cuda_slot_forget(r->i, s, k);
		s->nexec--;
	}
	if (k < s->nexec)
		x = s->exec[k];
	else
		s->nexec++;
	memmove(s->exec + 1, s->exec, sizeof *s->exec * (size_t)k);
	s->exec[0] = x;
	return s->exec[0].plain ? 0 : s->exec[0].runs++;
}

/* What is left when the host was asked, where loops want a graph: for once. */
static int start_rest(hop_cuda_run *r, int first)
{
	r->who = "making a graph";
	int error = hop_cuda_graph_make(r, first, &r->rest, &r->rest_of);
	if (!error)
		error = r->i->d->cu->graph_launch(r->rest, r->stream);
	if (!error)
		r->who = NULL;
	return error;
}

static void end_rest(hop_cuda_run *r)
{
	if (r->rest)
		r->i->d->cu->graph_drop(r->rest);
	if (r->rest_of)
		r->i->d->cu->graph_free(r->rest_of);
	r->rest = r->rest_of = NULL;
}

/* From launch `first` on. A graph is made for sizes that come a second time, or have loops; who is
 * careful takes the trips himself. */
static int start(hop_cuda_run *r, int first)
{
	const hop_cu *cu = r->i->d->cu;
	bool careful = r->i->careful;
	if (r->p->loops && first && !careful)
		return start_rest(r, first);
	int error = 0, runs = first || careful ? 0 : exec_of(r) + r->p->loops;
	if (runs && !r->s->exec[0].exec) {
		r->who = "making a graph";
		error = hop_cuda_graph_make(r, 0, &r->s->exec[0].exec, &r->s->exec[0].graph);
		if (error && r->p->nlt && !r->p->loops) {      /* launch by launch it worked before */
			r->s->exec[0].plain = true;
			error = runs = 0;
		}
	}
	if (runs && !error && r->p->nlaunch)
		error = cu->graph_launch(r->s->exec[0].exec, r->stream);
	if (!runs && !error)
		error = launch_list(r, first, r->p->nlaunch);
	if (!error)                            /* what goes wrong from now on is theirs */
		r->who = r->p->nlaunch == 1 ? r->i->func[r->p->launch[0].func].name : NULL;
	return error;
}

/* ---- running ---- */

int hop_cuda_stop(hop_cuda_run *r, int error)
{
	int st = error == HOP_CU_NOMEM || hop_lt_nomem(error) ? HOP_ENOMEM : HOP_ETARGET;
	char some[256], buf[512];
	snprintf(some, sizeof some, "a kernel of %s (HOP_CUDA_WAIT=1 says which)", r->i->func[0].name);
	const char *who = r->who ? r->who : some;
	const char *text = error < 0 ? hop_lt_text(error) : hop_cuda_said(r->i->d, error, who);
	if (error < 0) {
		snprintf(buf, sizeof buf, "%s: a product by cuBLASLt: %s", who, text);
		text = buf;
	} else if (text != r->i->d->why) {
		snprintf(buf, sizeof buf, "%s: %s", who, text);
		text = buf;
	}
	return r->rt->fail ? r->rt->fail(r->rt, st, text) : 1;
}

/* Threads that were told so left their loops, and did not say it. */
static int canceled(const hop_cuda_run *r)
{
	return r->p->cancels ? __atomic_load_n(r->rt->cancel, __ATOMIC_RELAXED) : 0;
}

/* Until the last kernel has ended, and nothing is left to be served. */
static int legs(hop_cuda_run *r)
{
	hop_cuda_slot *s = r->s;
	for (int first = 0;; first = (int)s->want->at) {
		int error = start(r, first);
		if (!error && r->p->looks)
			error = r->i->d->cu->to_host(s->is, s->state, HEAD, r->stream);
		if (!error && (r->p->looks || r->p->cancels || !r->staged))    /* else what comes back waits */
			error = wait_for(r);
		end_rest(r);
		if (error)
			return hop_cuda_stop(r, error);
		if (!r->p->looks)
			return canceled(r);
		int rc = hop_cuda_serve(r);
		if (rc || !s->is->code)
			return rc ? rc : canceled(r);
		memcpy(s->want, s->is, HEAD);
		s->want->code = 0;
		s->want->ring_head = 0;
		s->want->skip = r->rt->skip;
		error = hop_cuda_bind(r);
		if (error)
			return hop_cuda_stop(r, error);
	}
}

/* The host is needed before the end: it may be asked something, or asked itself to cancel what looks for
 * that. Without either nothing will be in the state. */
static bool waits(const hop_cuda_run *r)
{
	return r->p->leaves || (r->p->cancels && r->rt->may_cancel);
}

static int run(hop_cuda_run *r, void *queue, const unsigned char *there)
{
	r->stream = queue ? queue : r->s->kit.stream;
	int error = hop_cuda_stage_in(r, there), rc;
	r->lent = queue && !r->staged && !waits(r);
	if (!error) {
		r->who = "its workspace";
		error = prepare(r);
	}
	if (error)
		return hop_cuda_stop(r, error);
	if (r->lent) {
		error = start(r, 0);
		if (!error)
			error = hop_cuda_slot_lend(r->i, r->s, queue);
		if (!error)
			r->s = NULL;
		return error ? hop_cuda_stop(r, error) : 0;
	}
	rc = legs(r);
	if (rc)
		return rc;
	error = hop_cuda_stage_out(r);
	return error ? hop_cuda_stop(r, error) : 0;
}

static int fail(hop_rt *rt, int st, const char *who, const char *text)
{
	char buf[512];
	snprintf(buf, sizeof buf, "%s: %s", who, text);
	return rt->fail ? rt->fail(rt, st, buf) : 1;
}

int hop_cuda_launch_image(const hop_image *image, void *queue, void *const *params,
                          const int64_t *syms, void *workspace, hop_rt *rt)
{
	hop_cuda_image *i = image->base;
	hop_cuda_run r = { .i = i, .rt = rt, .params = params };
	const char *why = hop_cuda_unfit(i->d, i->gen);
	int rc = __atomic_load_n(rt->cancel, __ATOMIC_RELAXED);
	(void)workspace;
	if (why)
		return fail(rt, HOP_ETARGET, i->func[0].name, why);
	if (rc)                                /* kernels without loops in order do not look */
		return rc;
	bool entered = hop_cuda_enter(i->d);
	r.p = hop_cuda_plan_take(i, syms, &why);
	if (!r.p) {
		hop_cuda_leave(i->d, entered);
		return fail(rt, *why ? HOP_ETARGET : HOP_ENOMEM, i->func[0].name, why);
	}
	int error = hop_cuda_slot_take(i, &r.s);
	rc = error ? hop_cuda_stop(&r, error) : run(&r, queue, rt->there);
	if (r.s && rc && !hop_cuda_unfit(i->d, i->gen))        /* what it was given may still go on */
		i->d->cu->stream_wait(r.stream);
	if (r.s)
		hop_cuda_slot_give(i, r.s);
	hop_cuda_leave(i->d, entered);
	hop_cuda_plan_give(i, r.p);
	return rc;
}
