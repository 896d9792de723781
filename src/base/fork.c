/* fork.c -- hooks and stretches for fork.h, behind one pthread_atfork. Does not know what
 * is locked. */
#include <pthread.h>
#include <stddef.h>

#include "base/fork.h"

/* The one variable of the process: pthread_atfork passes no argument, fork() names no
 * context, and the loader and LLVM exist once for all of them. */
static struct {
	pthread_mutex_t lock;       /* of all here; held from before a fork to after it */
	pthread_cond_t  change;
	int             inside;     /* threads in a stretch */
	int             forks;      /* threads that fork or wait to */
	bool            known;      /* to pthread_atfork */
	hop_fork_hook  *first;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER };

/* The order is fixed: stretches, our lock, the hooks' locks. Whoever is in a stretch may
 * take a hook's lock, so hooks come after them. */
static void before(void)
{
	pthread_mutex_lock(&all.lock);
	all.forks++;
	while (all.inside)
		pthread_cond_wait(&all.change, &all.lock);
	for (hop_fork_hook *h = all.first; h; h = h->next)
		if (h->before)
			h->before(h->user);
}

static void parent(void)
{
	for (hop_fork_hook *h = all.first; h; h = h->next)
		if (h->parent)
			h->parent(h->user);
	all.forks--;
	pthread_cond_broadcast(&all.change);
	pthread_mutex_unlock(&all.lock);
}

/* Nobody is inside, and nobody else is there to fork. Those who waited for the condition
 * are not in this process, but it counts them: it is made anew. */
static void child(void)
{
	for (hop_fork_hook *h = all.first; h; h = h->next)
		if (h->child)
			h->child(h->user);
	all.forks = 0;
	pthread_cond_init(&all.change, NULL);
	pthread_mutex_unlock(&all.lock);
}

bool hop_fork_add(hop_fork_hook *h)
{
	bool ok;
	pthread_mutex_lock(&all.lock);
	if (!all.known)
		all.known = !pthread_atfork(before, parent, child);
	ok = all.known;
	if (ok) {
		h->next = all.first;
		h->at = &all.first;
		if (h->next)
			h->next->at = &h->next;
		all.first = h;
	}
	pthread_mutex_unlock(&all.lock);
	return ok;
}

void hop_fork_remove(hop_fork_hook *h)
{
	if (!h->at)
		return;
	pthread_mutex_lock(&all.lock);
	*h->at = h->next;
	if (h->next)
		h->next->at = h->at;
	h->at = NULL;
	pthread_mutex_unlock(&all.lock);
}

void hop_nofork_begin(void)
{
	pthread_mutex_lock(&all.lock);
	while (all.forks)
		pthread_cond_wait(&all.change, &all.lock);
	all.inside++;
	pthread_mutex_unlock(&all.lock);
}

void hop_nofork_end(void)
{
	pthread_mutex_lock(&all.lock);
	if (!--all.inside)
		pthread_cond_broadcast(&all.change);
	pthread_mutex_unlock(&all.lock);
}
