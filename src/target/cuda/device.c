/* device.c -- start the device, keep its context, hear when it broke. Runs nothing on it. */
#include "target/cuda/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fork.h"

static hop_cuda the = { .lock = PTHREAD_MUTEX_INITIALIZER };
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static atomic_int started;

static int attribute(const hop_cuda *d, int which)
{
	int v = 0;
	return d->cu->device_attribute(&v, which, d->dev) ? 0 : v;
}

static void ask(hop_cuda *d)
{
	char name[128] = "";
	hop_cuprop what = { .type = HOP_CU_PINNED, .place = 1, .id = d->dev };
	d->major = attribute(d, HOP_CU_MAJOR);
	d->minor = attribute(d, HOP_CU_MINOR);
	d->sms = attribute(d, HOP_CU_SMS);
	d->shared = attribute(d, HOP_CU_SHARED);
	d->together = attribute(d, HOP_CU_COOPERATIVE) != 0;
	d->pages = attribute(d, HOP_CU_PAGES) != 0;
	d->vmm = attribute(d, HOP_CU_VMM) && !d->cu->granularity(&d->grain, &what, 0) && d->grain;
	d->cu->device_memory(&d->total, d->dev);
	d->cu->device_name(name, sizeof name, d->dev);
	snprintf(d->about, sizeof d->about, "%s, compute capability %d.%d, %d multiprocessors, %zu MiB",
	         name, d->major, d->minor, d->sms, d->total >> 20);
	/* instructions of this architecture alone are named by the letter from 9.0 on */
	snprintf(d->arch, sizeof d->arch, "sm_%d%d%s", d->major, d->minor, d->major >= 9 ? "a" : "");
}

/* What belongs to a context. The driver's pool keeps what is freed: programs come again. */
static int furnish(hop_cuda *d)
{
	uint64_t all = UINT64_MAX;
	int error = d->cu->context_retain(&d->context, d->dev);
	if (error)
		return error;
	bool entered = hop_cuda_enter(d);
	d->pools = attribute(d, HOP_CU_POOLS) && !d->cu->device_pool(&d->pool, d->dev) &&
	           !d->cu->pool_set(d->pool, HOP_CU_POOL_KEEP, &all);
	error = d->cu->stream_new(&d->side, HOP_CU_NONBLOCKING);
	hop_cuda_leave(d, entered);
	return error;
}

/* A child cannot use the device, but lets go of what it has: no lock may be held for ever there. */
static void before_fork(void *user)
{
	pthread_mutex_lock(&((hop_cuda *)user)->lock);
}

static void after_fork(void *user)
{
	pthread_mutex_unlock(&((hop_cuda *)user)->lock);
}

static const char *start(hop_cuda *d)
{
	static hop_fork_hook hook = { before_fork, after_fork, after_fork, &the, NULL, NULL };
	const char *why = hop_cu_open(&d->cu);
	int error, n = 0;
	if (why)
		return why;
	error = d->cu->init(0);
	if (!error)
		error = d->cu->device_count(&n);
	if (!error && !n)
		error = HOP_CU_NODEVICE;
	if (!error)
		error = d->cu->device_get(&d->dev, 0);
	if (!error) {
		ask(d);
		error = furnish(d);
	}
	if (error) {
		snprintf(d->why, sizeof d->why, "there is no CUDA device: %s", hop_cu_text(d->cu, error));
		return d->why;
	}
	if (!hook.at && !hop_fork_add(&hook))
		return "no memory to start the CUDA device";
	d->gen = 1;
	d->pid = (int)getpid();
	return NULL;
}

const char *hop_cuda_open(hop_cuda **out_d)
{
	const char *why = NULL;
	*out_d = &the;
	if (atomic_load_explicit(&started, memory_order_acquire))
		return NULL;
	pthread_mutex_lock(&starting);
	if (!atomic_load(&started)) {
		why = start(&the);
		atomic_store(&started, !why);
	}
	pthread_mutex_unlock(&starting);
	return why;
}

hop_cuda *hop_cuda_started(void)
{
	return atomic_load_explicit(&started, memory_order_acquire) ? &the : NULL;
}

bool hop_cuda_enter(const hop_cuda *d)
{
	void *now = NULL;
	if (!d->cu->context_current(&now) && now == d->context)
		return false;
	return !d->cu->context_push(d->context);
}

void hop_cuda_leave(const hop_cuda *d, bool entered)
{
	void *was;
	if (entered)
		d->cu->context_pop(&was);
}

/* ---- errors ---- */

/* After these every call on the context gives the same. */
static bool is_fatal(int error)
{
	switch (error) {
	case 214:                              /* a bit of memory was lost */
	case 226: case 700: case 702: case 709: case 710:
	case 714: case 715: case 716: case 717: case 718: case 719:
		return true;
	default:
		return false;
	}
}

const char *hop_cuda_said(hop_cuda *d, int error, const char *who)
{
	if (!error)
		return NULL;
	const char *what = hop_cu_text(d->cu, error);
	if (!is_fatal(error))
		return what;
	pthread_mutex_lock(&d->lock);
	if (!atomic_load(&d->broken)) {
		snprintf(d->why, sizeof d->why, "%s: %s; the device is lost to this context and to all that it "
		         "compiled: make a new one", who, what);
		atomic_store(&d->broken, 1);
	}
	pthread_mutex_unlock(&d->lock);
	return d->why;
}

const char *hop_cuda_unfit(const hop_cuda *d, unsigned gen)
{
	if (d->pid != (int)getpid())
		return "a process that was forked cannot use the CUDA device of its parent";
	if (atomic_load_explicit(&d->broken, memory_order_relaxed))
		return d->why;
	if (d->gen != gen)
		return "the device was lost to this context, and is another's now: make a new one";
	return NULL;
}

/* Does a new context work? The driver may give one that still has the old one's error. */
static int probe(const hop_cuda *d)
{
	hop_cuptr p = 0;
	bool entered = hop_cuda_enter(d);
	int error = d->cu->alloc(&p, 1);
	if (!error)
		error = d->cu->free(p);
	if (!error)
		error = d->cu->stream_wait(d->side);
	hop_cuda_leave(d, entered);
	return error;
}

/* Nothing of the old context is freed: all of it goes with it. The driver may answer the reset with the
 * error that is to go away. NVIDIA promises no cure: it says that the process must end. */
static int start_over(hop_cuda *d)
{
	pthread_mutex_lock(&d->lock);
	d->nkept = 0;
	d->spare = NULL;
	pthread_mutex_unlock(&d->lock);
	d->cu->context_release(d->dev);
	d->cu->context_reset(d->dev);
	int error = furnish(d);
	return error ? error : probe(d);
}

const char *hop_cuda_renew(hop_cuda *d)
{
	const char *why = NULL;
	pthread_mutex_lock(&starting);
	if (atomic_load(&d->broken)) {
		int error = start_over(d);
		if (error) {
			snprintf(d->why, sizeof d->why, "the device is lost to this process, which the driver gives "
			         "no new context: %s: start it anew", hop_cu_text(d->cu, error));
			why = d->why;
		}
		d->gen += !error;
		atomic_store(&d->broken, error != 0);
	}
	pthread_mutex_unlock(&starting);
	return why;
}

void hop_cuda_arch(char out[16])
{
	const char *own = getenv("HOP_CUDA_ARCH");
	hop_cuda *d;
	if (own && *own)
		snprintf(out, 16, "%s", own);
	else
		snprintf(out, 16, "%s", hop_cuda_open(&d) ? "sm_90a" : d->arch);
}

bool hop_cuda_loops(void)
{
	const hop_cu *cu;
	return hop_cu_open(&cu) || (cu->graph_handle && cu->graph_node);
}
