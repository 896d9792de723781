/* control.h -- what operators share whose bodies have no parameters of their own. */
#ifndef HOP_TRACE_CONTROL_H
#define HOP_TRACE_CONTROL_H

#include "trace/trace.h"

/* The lists of one public call. */
typedef struct hop_call_io {
	int              nin, cap, n;      /* n: how many results, 0 until there are some */
	const hop_value *in;
	hop_value       *out;
} hop_call_io;

/* The lists are there, and every input is a value: asked before a body runs, which might
 * look at none of them. */
bool hop_call_lists(hop_trace *t, const hop_call_io *c);
bool hop_call_room(hop_trace *t, uint32_t n, int cap);
/* Parameters of such a body: written captures, then the others. */
hop_layout hop_call_layout(hop_join *j, const hop_val **out_operands);
/* Results of body k, then the final contents of written captures. */
hop_val *hop_call_outs(hop_join *j, int k, const hop_outs *o);
void hop_call_publish(hop_trace *t, hop_call_io *c, uint32_t n, const hop_val *v);

#endif
