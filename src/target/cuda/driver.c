/* driver.c -- open libcuda and find its functions. It stays loaded for the life of the process. Does not
 * start it: device.c does. */
#include "target/cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fork.h"

_Static_assert(sizeof(hop_cucopy) == 128 && offsetof(hop_cucopy, to_host) == 80, "CUDA_MEMCPY2D");
_Static_assert(sizeof(hop_cuprop) == 32, "CUmemAllocationProp");
_Static_assert(sizeof(hop_cuaccess) == 12, "CUmemAccessDesc");
_Static_assert(sizeof(hop_cunode) == 72 && offsetof(hop_cunode, params) == 40,
               "CUDA_KERNEL_NODE_PARAMS_v2");

_Static_assert(sizeof(hop_cunodes) == 256 && offsetof(hop_cunodes, graph) == 32, "CUgraphNodeParams");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool   is_open;
static hop_cu table;
static char   why[256];

static void *find(void *h, const char *symbol)
{
	void *p = dlsym(h, symbol);
	if (!p)
		snprintf(why, sizeof why, "the CUDA driver has no function %s: it is too old", symbol);
	return p;
}

static bool fill(void)
{
	const char *own = getenv("HOP_CUDA_DRIVER");
	void *h = dlopen(own && *own ? own : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!h) {
		const char *what = dlerror();
		snprintf(why, sizeof why, "there is no CUDA driver: %s", what ? what : "it does not open");
		return false;
	}
#define HOP_CU(name, symbol, params) \
	if (!(*(void **)&table.name = find(h, #symbol))) \
		return false;
#define HOP_CU_LATE(name, symbol, params) *(void **)&table.name = dlsym(h, #symbol);
#include "target/cuda/driver.def"
#undef HOP_CU_LATE
#undef HOP_CU
	return true;
}

const char *hop_cu_open(const hop_cu **out_cu)
{
	hop_nofork_begin();
	pthread_mutex_lock(&lock);
	if (!is_open)
		is_open = fill();
	pthread_mutex_unlock(&lock);
	hop_nofork_end();
	*out_cu = &table;
	return is_open ? NULL : why;
}

const char *hop_cu_text(const hop_cu *cu, int error)
{
	const char *s = NULL;
	if (cu->error_text(error, &s) || !s)
		return "an error that the driver does not know";
	return s;
}
