/* checkpoint.h -- what the files of checkpoints share: the call, its policy, packing. */
#ifndef HOP_TRACE_CHECKPOINT_H
#define HOP_TRACE_CHECKPOINT_H

#include "hop/checkpoint.h"
#include "trace/control.h"

/* ---- policy.c ---- */

/* What the policy is asked about one node of a sealed body, and what it said. */
typedef struct hop_ask {
	const hop_node *n;
	hop_save_query  q;
	hop_saving      how;           /* of all its results; HOP_SAVING_FREE = as names say */
} hop_ask;

/* Are the lists made of words that mean something? */
bool     hop_policy_check(hop_trace *t, const hop_checkpoint_opts *o);
/* One for each node that gives results, names aside; lists have answered. */
hop_ask *hop_policy_asks(hop_trace *t, const hop_checkpoint_opts *o, const hop_graph *g,
                         uint32_t *out_n);

/* ---- pack.c ---- */

/* Two bodies as closed graphs: pack takes a value of `type` and what it captures. */
typedef struct hop_packing {
	const hop_type *type;          /* over the symbols of the trace */
	hop_body       *pack, *unpack;
	void           *user;
	bool            closed;        /* pack captures nothing */
	hop_trace      *body[2];
	const hop_type **saved;        /* [nsaved] what pack returns */
	uint32_t        nsaved;
	hop_join        j;
	const hop_graph *g[2];
} hop_packing;
/* Run both bodies and seal them, unguarded and guarded by turns; false after a failure. */
bool hop_packing_make(hop_trace *t, const char *file, int line, hop_packing *p);

/* ---- checkpoint.c: one call, through its guarded steps ---- */

typedef struct hop_checkpoint_call {
	hop_call_io         io;
	const char         *file;
	int                 line;
	const void         *given;     /* options of the caller; or NULL */
	hop_checkpoint_opts opts;
	hop_trace          *body;
	hop_join            j;
	const hop_val      *operand;
	const hop_graph    *g;         /* the body, as it was captured */
	uint32_t            nask, npacking;
	hop_ask            *ask;
	hop_packing        *packing;   /* one for each type that is packed */
} hop_checkpoint_call;
void hop_checkpoint_begin(hop_trace *t, void *arg);
/* The last steps, when the body is there: at: what runs one step. */
typedef bool hop_step_fn(void *at, hop_make_fn *make, void *arg);
bool hop_checkpoint_finish(hop_trace *t, hop_checkpoint_call *c, hop_step_fn *step, void *at);

#endif
