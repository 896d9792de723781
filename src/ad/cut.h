/* cut.h -- what deciding a cut and telling of it share: cut.c, cut_say.c. The cut itself is ad.h. */
#ifndef HOP_CUT_H
#define HOP_CUT_H

#include "ad/ad.h"

typedef struct hop_cutter {
	hop_env         *env;
	const hop_graph *j;
	uint32_t         nprimal, nout;
	const uint8_t   *pcost, *ocost;
	bool             maybe;        /* the graph may not run */
	enum hop_cut_policy policy;
	double           budget;
	bool            *late;         /* [nvalue] depends on a cotangent */
	bool            *needed;       /* [nvalue] forward, read by a late node or a gradient */
	bool            *banned;       /* [nnode] never recomputed */
	bool            *saved;        /* [nvalue] the answer */
	uint32_t        *binder;       /* [nlocal] node that binds the symbol */
	uint8_t         *mention;      /* [nlocal] scratch: symbols that one node mentions */
} hop_cutter;

/* Bytes of a type; sizes that are not known count as hop_range_usual says. */
int64_t hop_cut_bytes(const hop_cutter *c, const hop_type *t);
/* What saving value v costs; 0 = it is there anyway, HOP_FLOW_INF = it cannot leave. */
int64_t hop_cut_cost(const hop_cutter *c, uint32_t v);
bool    hop_cut_local(const hop_cutter *c, const hop_type *t);
bool    hop_cut_late(const hop_cutter *c, const hop_node *n);
/* [nnode] which nodes the backward half has; of those that are not late it computes again. */
const bool *hop_cut_used(hop_cutter *c);

/* ---- cut_say.c ---- */

void hop_cut_say(hop_cutter *c, hop_cuts *w);

#endif
