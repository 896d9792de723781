/* custom.h -- one call of a function with its own derivative: its bodies, and what they gave. */
#ifndef HOP_TRACE_CUSTOM_H
#define HOP_TRACE_CUSTOM_H

#include "trace/trace.h"

enum { HOP_C_FWD, HOP_C_BWD, HOP_C_JVP, HOP_C_BATCH, HOP_C_BODIES };

typedef struct hop_custom_call {
	int              nin, cap, n;
	const hop_value *in;
	hop_value       *out;
	const void      *given;        /* the caller's rule */
	hop_custom_rule  rule;
	hop_val         *val;
	hop_array      **ten;          /* eager: the inputs */
	const hop_type **type;         /* inputs */
	uint32_t         nfloat;       /* float inputs */
	hop_trace       *body[HOP_C_BODIES];       /* NULL where there is none */
	/* known once fwd ran. Results: those it returned, then inputs that it wrote and did not return */
	uint32_t         nres;
	hop_val         *res;          /* in its draft */
	bool            *diff;         /* floats that are not marked */
	uint32_t        *wrote;        /* [nin] 1 + the result that is the new value of an input; 0 = none */
	/* parameters as the user sees them: saved values and cotangents; inputs and tangents; inputs
	 * with lanes, and a bool each */
	uint32_t         nb, nj;
	const hop_type **btype, **jtype, **ltype;
	int              lanes;        /* the symbol of the number of lanes */
} hop_custom_call;

/* Fill in what is known once fwd ran. */
void hop_custom_read(hop_trace *t, hop_custom_call *c);
/* An input that fwd wrote is no other input, and nothing that fwd captured; false after a failure. */
bool hop_custom_apart(hop_trace *t, const hop_custom_call *c);
/* All bodies ran: make the node. */
void hop_custom_close(hop_trace *t, void *arg);

#endif
