/* hook.h -- what hook.c and the block of hooks share. */
#ifndef HOP_TRACE_HOOK_H
#define HOP_TRACE_HOOK_H

#include "trace/trace.h"

/* A hook being registered. */
typedef struct hop_hook_call {
	hop_value       v;
	hop_val         val;           /* its contents: the hook belongs to these */
	const hop_type *type;
	hop_trace      *body;
} hop_hook_call;
void hop_hook_begin(hop_trace *t, void *arg);
void hop_hook_end(hop_trace *t, void *arg);

#endif
