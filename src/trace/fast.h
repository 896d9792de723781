/* fast.h -- emitting an op as fast-math has it, where that holds; as it is otherwise. */
#ifndef HOP_TRACE_FAST_H
#define HOP_TRACE_FAST_H

#include "trace/trace.h"

hop_val hop_fast_op(hop_trace *t, int op, int n, const hop_val *in);
/* hop_fast(t, div, x, y) */
#define hop_fast(t, op, ...) \
	hop_fast_op((t), HOP_OP_##op, (int)(sizeof((hop_val[]){ __VA_ARGS__ }) / sizeof(hop_val)), \
	            (const hop_val[]){ __VA_ARGS__ })

#endif
