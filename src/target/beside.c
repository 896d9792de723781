/* beside.c -- what compilers do beside each other. A compiler of machine code works on one thread, and
 * its time is nearly all of a compilation: so a program of several large functions is divided, a small
 * one stays whole and on the caller's thread. Does not divide a function. */
#include "target/beside.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/fork.h"

int hop_beside_threads(const hop_env *e)
{
	int n = hop_cpus();
	return e->mem.fn != hop_alloc_default ? 1 : n < HOP_BESIDE ? n : HOP_BESIDE;
}

/* ---- dividing ---- */

typedef struct heavy { int64_t w; int i; } heavy;

static int by_weight(const void *x, const void *y)
{
	const heavy *a = x, *b = y;
	return a->w != b->w ? (a->w < b->w ? 1 : -1) : a->i < b->i ? -1 : a->i > b->i;
}

/* Heaviest first, each to the part that has least. */
int hop_beside_parts(hop_env *e, int n, const int64_t *weight, int64_t share, int most, uint8_t *part)
{
	hop_mark m = hop_mark_at(&e->tmp);
	heavy *h = HOP_NEWN(&e->tmp, heavy, n);
	int64_t all = 0, top = 1, has[HOP_BESIDE] = { 0 };
	int parts = 1;
	most = most < HOP_BESIDE ? most : HOP_BESIDE;
	for (int i = 0; i < n; i++) {
		h[i] = (heavy){ weight[i], i };
		part[i] = 0;
		all += weight[i];
		top = weight[i] > top ? weight[i] : top;
	}
	while (parts < most && parts < n && parts * top < all && (parts + 1) * share <= all)
		parts++;
	if (parts > 1)
		qsort(h, (size_t)n, sizeof *h, by_weight);
	for (int k = 0; parts > 1 && k < n; k++) {
		int to = 0;
		for (int i = 1; i < parts; i++)
			if (has[i] < has[to])
				to = i;
		part[h[k].i] = (uint8_t)to;
		has[to] += h[k].w;
	}
	hop_rewind(&e->tmp, m);
	return parts;
}

/* ---- threads ---- */

typedef struct job { hop_env env; hop_status st; } job;

typedef struct work {
	int            n;
	hop_beside_fn *one;
	void          *user;
	job            job[HOP_BESIDE];
	atomic_int     next;
} work;

static void run(work *w, int i)
{
	job *j = &w->job[i];
	hop_frame f;
	if (HOP_GUARD(&j->env, &f)) {
		j->st = hop_guard_nomem(&j->env, &f);
		return;
	}
	j->st = w->one(&j->env, w->user, i);
	hop_guard_end(&j->env, &f);
}

/* Compilers have locks and registries of their own, of which a child of fork() would get the state of
 * the moment: a fork waits for what is under way, here and elsewhere, and nothing is begun before it
 * is over. */
static void *take(void *user)
{
	work *w = user;
	int i;
	while ((i = atomic_fetch_add(&w->next, 1)) < w->n) {
		hop_nofork_begin();
		run(w, i);
		hop_nofork_end();
	}
	return NULL;
}

/* Threads only help: with fewer than wanted, or none, the caller does the rest. Signals of the process
 * are not for them. */
static int start(work *w, int want, pthread_t *thread)
{
	int n = 0;
	pthread_attr_t attr;
	sigset_t all, old;
	if (want < 2 || pthread_attr_init(&attr))
		return 0;
	pthread_attr_setstacksize(&attr, (size_t)8 << 20);       /* compilers recurse */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (n + 1 < want && !pthread_create(&thread[n], &attr, take, w))
		n++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return n;
}

/* Its text is from the same hook. */
static hop_status failure(hop_env *e, work *w)
{
	for (int i = 0; i < w->n; i++) {
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

hop_status hop_beside_do(hop_env *e, int n, hop_beside_fn *one, void *user)
{
	hop_mark m = hop_mark_at(&e->tmp);
	work *w = HOP_NEW(&e->tmp, work);
	pthread_t thread[HOP_BESIDE];
	HOP_ASSERT(n <= HOP_BESIDE);
	w->n = n;
	w->one = one;
	w->user = user;
	atomic_init(&w->next, 0);
	for (int i = 0; i < n; i++)
		hop_env_init(&w->job[i].env, e->ctx, e->mem);
	int most = hop_cpus(), helping = start(w, n < most ? n : most, thread);
	take(w);
	for (int i = 0; i < helping; i++)
		pthread_join(thread[i], NULL);
	hop_status st = failure(e, w);
	for (int i = 0; i < n; i++)
		hop_env_fini(&w->job[i].env);
	hop_rewind(&e->tmp, m);
	return st;
}
