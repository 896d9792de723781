/* parts.c -- a program as several modules, compiled at the same time. LLVM works on one
 * thread a module and its time is nearly all of a compilation, so a program of several
 * large functions is divided; a small one stays whole and on the caller's thread. Does not
 * divide a function: loop/outline.c took out what can be. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "target/llvm/elf.h"
#include "target/llvm/emit.h"

enum { SHARE = 90 };            /* weight that is worth a module and a thread */

/* ---- dividing ---- */

static int cpus(void)
{
	int n = hop_cpus();
	return n < HOP_MAXPART ? n : HOP_MAXPART;
}

typedef struct heavy { int64_t w; int f; } heavy;

static int by_weight(const void *x, const void *y)
{
	const heavy *a = x, *b = y;
	return a->w != b->w ? (a->w < b->w ? 1 : -1) : a->f < b->f ? -1 : a->f > b->f;
}

/* Heaviest function first, each to the part that has least. Looks at the program and at
 * the number of processors: what they are doing must not show in the objects. */
static hop_split split_of(hop_env *e, const hop_prog *p, int most_parts)
{
	hop_split s = { 1, HOP_NEWN(&e->tmp, uint8_t, p->nfunc) };
	heavy *h = HOP_NEWN(&e->tmp, heavy, p->nfunc);
	int64_t all = 0, most = 1, has[HOP_MAXPART] = { 0 };
	for (int i = 0; i < p->nfunc; i++) {
		h[i] = (heavy){ 1 + hop_block_weight(&p->func[i].body), i };
		all += h[i].w;
		most = h[i].w > most ? h[i].w : most;
	}
	while (s.n < most_parts && s.n < p->nfunc && s.n * most < all &&
	       (s.n + 1) * (int64_t)SHARE <= all)
		s.n++;
	if (s.n > 1)
		qsort(h, (size_t)p->nfunc, sizeof *h, by_weight);
	for (int k = 0; s.n > 1 && k < p->nfunc; k++) {
		int to = 0;

		for (int i = 1; i < s.n; i++)
			if (has[i] < has[to])
				to = i;
		s.part[h[k].f] = (uint8_t)to;
		has[to] += h[k].w;
	}
	return s;
}

/* ---- compiling ---- */

/* One part: a unit of work of its own, whichever thread takes it. */
typedef struct job {
	hop_env    env;
	hop_status st;
	void      *buffer;           /* LLVM's */
} job;

typedef struct work {
	hop_llvm             L;
	const hop_prog      *p;
	const hop_machine   *m;
	const hop_llvm_opts *o;
	hop_split            split;
	job                  job[HOP_MAXPART];
	atomic_int           next;
} work;

static void do_job(work *w, int i)
{
	job *j = &w->job[i];
	hop_frame f;
	if (HOP_GUARD(&j->env, &f)) {
		j->st = hop_guard_nomem(&j->env, &f);
		return;
	}
	j->st = hop_llvm_part(&j->env, &w->L, w->p, w->m, w->o, &w->split, i, &j->buffer);
	hop_guard_end(&j->env, &f);
}

/* LLVM has locks and registries of its own, of which a child of fork() would get the
 * state of the moment: a fork waits for the modules under way, here and elsewhere, and no
 * module is begun before it is over. */
static void *take_jobs(void *user)
{
	work *w = user;
	int i;
	while ((i = atomic_fetch_add(&w->next, 1)) < w->split.n) {
		hop_nofork_begin();
		do_job(w, i);
		hop_nofork_end();
	}
	return NULL;
}

/* Threads only help: with fewer than wanted, or none, the caller does the rest. Signals of
 * the process are not for them. */
static int start(work *w, pthread_t *thread)
{
	int n = 0, want = w->split.n < cpus() ? w->split.n : cpus();
	pthread_attr_t attr;
	sigset_t all, old;
	if (want == 1 || pthread_attr_init(&attr))
		return 0;
	pthread_attr_setstacksize(&attr, (size_t)8 << 20);       /* LLVM recurses */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (n + 1 < want && !pthread_create(&thread[n], &attr, take_jobs, w))
		n++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return n;
}

/* ---- the result ---- */

static size_t padded(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static hop_status join(hop_env *e, const work *w, void **out_p, size_t *out_n)
{
	size_t n = 0;
	unsigned char *at;
	for (int i = 0; i < w->split.n; i++)
		n += 8 + padded(w->L.GetBufferSize(w->job[i].buffer));
	at = hop_raw_try(&e->mem, n);
	if (!at)
		return hop_fail(e, 0, HOP_ENOMEM, "no memory for %zu bytes of code", n);
	memset(at, 0, n);
	*out_p = at;
	*out_n = n;
	for (int i = 0; i < w->split.n; i++) {
		uint64_t size = w->L.GetBufferSize(w->job[i].buffer);

		memcpy(at, &size, 8);
		memcpy(at + 8, w->L.GetBufferStart(w->job[i].buffer), size);
		at += 8 + padded(size);
	}
	return HOP_OK;
}

/* The first part that failed speaks for all. Its text is from the same hook. */
static hop_status failure(hop_env *e, work *w)
{
	for (int i = 0; i < w->split.n; i++) {
		job *j = &w->job[i];

		if (!j->st)
			continue;
		if (!e->diag.st) {
			e->diag = j->env.diag;
			j->env.diag = (hop_diag){ .st = HOP_OK };
		}
		return j->st;
	}
	return HOP_OK;
}

/* As many parts as asked for, else as the machine has CPUs; but a user's own allocator is
 * not called from threads that he did not start. */
static int wanted(const hop_env *e, const hop_llvm_opts *o)
{
	if (o->parts)
		return o->parts < HOP_MAXPART ? o->parts : HOP_MAXPART;
	return e->mem.fn == hop_alloc_default ? cpus() : 1;
}

hop_status hop_llvm_object(hop_env *e, const hop_prog *p, const hop_machine *m,
                           const hop_llvm_opts *o, void **out_p, size_t *out_n)
{
	hop_mark mark = hop_mark_at(&e->tmp);
	work *w = HOP_NEW(&e->tmp, work);
	hop_status st = hop_llvm_load(e, &w->L);
	pthread_t thread[HOP_MAXPART];
	int n;
	if (!st)
		st = hop_e_check_tiles(e, p);
	if (st) {
		hop_rewind(&e->tmp, mark);
		return st;
	}
	w->p = p;
	w->m = m;
	w->o = o;
	w->split = split_of(e, p, wanted(e, o));
	atomic_init(&w->next, 0);
	for (int i = 0; i < w->split.n; i++)
		hop_env_init(&w->job[i].env, e->ctx, e->mem);
	/* From here to the end nothing takes e's exit. */
	n = start(w, thread);
	take_jobs(w);
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	st = failure(e, w);
	if (!st)
		st = join(e, w, out_p, out_n);
	for (int i = 0; i < w->split.n; i++) {
		if (w->job[i].buffer)
			w->L.DisposeMemoryBuffer(w->job[i].buffer);
		hop_env_fini(&w->job[i].env);
	}
	hop_rewind(&e->tmp, mark);
	return st;
}
