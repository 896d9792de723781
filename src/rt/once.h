/* once.h -- what an exec computes once and keeps. */
#ifndef HOP_RT_ONCE_H
#define HOP_RT_ONCE_H

#include <pthread.h>

#include "data/array.h"
#include "rt/exec.h"

/* The exec it belongs to has nhidden hidden parameters for arrays, then nkept for what is kept. */
typedef struct hop_once {
	hop_mem           mem;
	hop_exec         *x;           /* gives the kept values; owned */
	hop_graph        *g;           /* what was divided; retained */
	hop_array *const *hidden;      /* [nhidden] of the function, which outlives this */
	int               nhidden, nkept;
	size_t            nparam;
	uint32_t         *param;       /* [nparam] which of hidden x takes */
	int64_t           bytes;       /* of what is kept */
	pthread_mutex_t   lock;        /* of refreshing */
	_Atomic(struct hop_kept_block *) now;
	atomic_int        running;     /* runs that may look at a block */
	_Atomic int64_t   runs;        /* of x */
} hop_once;

/* Compute it anew: always, or if an array that it is made of was written. NULL: nothing. */
hop_status     hop_once_refresh(hop_once *o, bool always);
/* The hidden parameters of a run, until it leaves; on a stream, until that has come so far. */
const hop_arg *hop_once_enter(hop_once *o, hop_stream *s);
void           hop_once_leave(hop_once *o);
void           hop_once_free(hop_once *o);

#endif
