/* pool.c -- threads for parallel loops. A fork is a generation number: workers spin on it
 * for a while (a fork then costs a fraction of a microsecond), then sleep on a condition
 * variable. A loop is cut into pieces by its count alone; whoever is free takes the next,
 * the caller too, so that nobody waits for a thread that does not run: at most for the piece
 * that it has begun. Where even that takes longer than the work, the pool stops forking for
 * a while. Does not nest.
 *
 * In this file a fork is that of a loop; fork() is the system's. A child of fork() has
 * the pool but none of its threads: the hook makes it a pool whose threads have not
 * started, and the first loop starts them. A child that only execs pays nothing. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/fork.h"
#include "rt/pool.h"

enum {
	SPIN_NS = 300000,        /* how long a worker waits for the next fork before it sleeps */
	ALONE_NS = 3000,         /* and how long it keeps its processor to itself */
	PIECES = 4,              /* a thread */
	MOST_SKIPPED = 1000      /* loops run alone after forks that did not pay */
};

typedef void body_fn(void *arg, int64_t begin, int64_t end);

typedef struct worker {
	struct hop_pool *pool;
	pthread_t        thread;
	int              index;           /* 1 .. nthread-1; the caller is 0 */
	unsigned         seen;            /* the last generation it knows */
} worker;

struct hop_pool {
	hop_mem          mem;
	int              nthread;
	int              nstarted;        /* workers there are; after hop_pool_new under busy */
	atomic_int       busy;            /* a fork is under way */
	hop_fork_hook    hook;
	_Alignas(64) atomic_uint gen;     /* odd and even alike: a change is a fork */
	_Alignas(64) _Atomic uint64_t ticket;    /* the fork's gen, then pieces to be had */
	_Alignas(64) atomic_int  left;    /* pieces not yet done */
	/* The fork: written before the ticket, read by who has taken a piece. */
	body_fn         *body;
	void            *arg;
	int64_t          n;
	int              npiece;
	int              skip, last_skip; /* forks not to make, now and after the last time */
	atomic_bool      stop;
	/* Sleepers. */
	atomic_int       asleep;
	pthread_mutex_t  lock;
	pthread_cond_t   wake;
	worker           w[];
};

static void relax(void)
{
#if defined(__x86_64__)
	_mm_pause();
#else
	sched_yield();
#endif
}

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void piece(hop_pool *p, int i)
{
	int64_t b = p->n * i / p->npiece, z = p->n * (i + 1) / p->npiece;
	if (b < z)
		p->body(p->arg, b, z);
}

/* Take pieces of the fork while there are any. One of an older fork is never had: its
 * ticket is gone. */
static void take(hop_pool *p, unsigned gen)
{
	uint64_t t = atomic_load_explicit(&p->ticket, memory_order_acquire);
	while (t >> 32 == gen && (t & UINT32_MAX)) {
		if (!atomic_compare_exchange_weak_explicit(&p->ticket, &t, t - 1,
		                                           memory_order_acquire,
		                                           memory_order_acquire))
			continue;
		piece(p, p->npiece - (int)(t & UINT32_MAX));
		atomic_fetch_sub_explicit(&p->left, 1, memory_order_release);
		t = atomic_load_explicit(&p->ticket, memory_order_acquire);
	}
}

/* Once around while waiting. After some microseconds others may have the processor. */
static void wait_a_bit(unsigned i, int64_t since)
{
	relax();
	if ((i & 63) == 63 && now_ns() - since > ALONE_NS)
		sched_yield();
}

/* Wait for gen to differ from seen: spin, then sleep. */
static unsigned next_gen(hop_pool *p, unsigned seen)
{
	int64_t since = now_ns();
	unsigned g;
	for (unsigned i = 0;; i++) {
		g = atomic_load_explicit(&p->gen, memory_order_acquire);
		if (g != seen)
			return g;
		wait_a_bit(i, since);
		if ((i & 255) == 255 && now_ns() - since > SPIN_NS)
			break;
	}
	pthread_mutex_lock(&p->lock);
	atomic_fetch_add(&p->asleep, 1);
	while ((g = atomic_load(&p->gen)) == seen)
		pthread_cond_wait(&p->wake, &p->lock);
	atomic_fetch_sub(&p->asleep, 1);
	pthread_mutex_unlock(&p->lock);
	return g;
}

static void *work(void *arg)
{
	worker *w = arg;
	hop_pool *p = w->pool;
	for (;;) {
		w->seen = next_gen(p, w->seen);
		if (atomic_load(&p->stop))
			return NULL;
		take(p, w->seen);
	}
}

/* Publish a generation and wake those asleep. */
static void announce(hop_pool *p)
{
	atomic_fetch_add(&p->gen, 1);
	if (!atomic_load(&p->asleep))
		return;
	pthread_mutex_lock(&p->lock);
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
}

/* Start the workers that are missing. Nothing may be announced meanwhile: a worker knows
 * the generation at which it was started. */
static bool start(hop_pool *p)
{
	for (int i = p->nstarted + 1; i < p->nthread; i++) {
		p->w[i] = (worker){ .pool = p, .index = i, .seen = atomic_load(&p->gen) };
		if (pthread_create(&p->w[i].thread, NULL, work, &p->w[i]))
			return false;
		p->nstarted = i;
	}
	return true;
}

/* In a child of fork(): there are no workers, and a loop that another thread was running
 * has nobody left to run it. The lock may be held and the condition waited for by threads
 * that are not here, so both are made anew; nothing is lost with them, since all they
 * guard is set here. */
static void forget(void *user)
{
	hop_pool *p = user;
	p->nstarted = 0;
	p->skip = p->last_skip = 0;
	atomic_store(&p->busy, 0);
	atomic_store(&p->left, 0);
	atomic_store(&p->asleep, 0);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
}

/* HOP_THREADS, else the processors that this process may use. */
static int default_threads(void)
{
	const char *own = getenv("HOP_THREADS");
	int n = own ? atoi(own) : 0;
	n = n > 0 ? n : hop_cpus();
	return n < 256 ? n : 256;
}

hop_pool *hop_pool_new(const hop_mem *m, int nthread)
{
	hop_pool *p;
	size_t size;
	if (nthread <= 0)
		nthread = default_threads();
	size = sizeof *p + (size_t)nthread * sizeof(worker) + 64;
	p = hop_raw_try(m, size);
	if (!p)
		return NULL;
	memset(p, 0, size);
	p->mem = *m;
	p->nthread = nthread;
	p->hook = (hop_fork_hook){ .child = forget, .user = p };
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	if (!start(p) || !hop_fork_add(&p->hook)) {
		hop_pool_free(p);
		return NULL;
	}
	return p;
}

void hop_pool_free(hop_pool *p)
{
	hop_mem m;
	if (!p)
		return;
	m = p->mem;
	hop_fork_remove(&p->hook);
	atomic_store(&p->stop, true);
	announce(p);
	for (int i = 1; i <= p->nstarted; i++)
		pthread_join(p->w[i].thread, NULL);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
	hop_raw_free(&m, p, sizeof *p + (size_t)p->nthread * sizeof(worker) + 64);
}

int hop_pool_threads(const hop_pool *p)
{
	return p->nthread;
}

/* Did it pay? A worker that the system took from its processor in the middle of a piece
 * costs milliseconds, and on a busy machine it will be so again: the next loops run alone,
 * twice as many each time, until a fork goes well. */
static void judge(hop_pool *p, int64_t worked, int64_t waited)
{
	if (waited <= worked || waited < 2 * ALONE_NS) {
		p->last_skip /= 2;
		return;
	}
	p->last_skip = 2 * p->last_skip + 1;
	if (p->last_skip > MOST_SKIPPED)
		p->last_skip = MOST_SKIPPED;
	p->skip = p->last_skip;
}

static void fork_join(hop_pool *p, body_fn *body, void *arg, int64_t n)
{
	int64_t t0 = now_ns(), t1;
	unsigned gen = atomic_load(&p->gen) + 1;
	p->body = body;
	p->arg = arg;
	p->n = n;
	p->npiece = n < PIECES * p->nthread ? (int)n : PIECES * p->nthread;
	atomic_store_explicit(&p->left, p->npiece, memory_order_relaxed);
	atomic_store_explicit(&p->ticket, (uint64_t)gen << 32 | (unsigned)p->npiece,
	                      memory_order_release);
	announce(p);
	take(p, gen);
	t1 = now_ns();
	for (unsigned i = 0; atomic_load_explicit(&p->left, memory_order_acquire); i++)
		wait_a_bit(i, t1);
	judge(p, t1 - t0, now_ns() - t1);
}

void hop_pool_run(hop_pool *p, body_fn *body, void *arg, int64_t n)
{
	int free = 0;
	if (p->nthread == 1 || n < 2 || !atomic_compare_exchange_strong(&p->busy, &free, 1)) {
		body(arg, 0, n);
		return;
	}
	bool alone = p->skip > 0;
	p->skip -= alone;
	/* a child that gets no threads runs alone, too */
	if (alone || (p->nstarted < p->nthread - 1 && !start(p))) {
		atomic_store(&p->busy, 0);
		body(arg, 0, n);
		return;
	}
	fork_join(p, body, arg, n);
	atomic_store(&p->busy, 0);
}
