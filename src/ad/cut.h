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
	uint32_t        *root;         /* [nvalue] what a name names; else the value itself */
	uint8_t         *tag;          /* [nvalue] of roots: enum hop_save */
	hop_str         *called;       /* [nvalue] of roots: the last of their names */
	const hop_node **packer;       /* [nvalue] of roots: the packed node that says how they cross */
	uint8_t         *mention;      /* [nlocal] scratch: symbols that one node mentions */
} hop_cutter;

/* Bytes of a type; sizes that are not known count as hop_range_usual says. */
int64_t hop_cut_bytes(const hop_cutter *c, const hop_type *t);
/* What saving value v costs, a root; 0 = it is there anyway, HOP_FLOW_INF = it cannot leave. */
int64_t hop_cut_cost(const hop_cutter *c, uint32_t v);
bool    hop_cut_local(const hop_cutter *c, const hop_type *t);
bool    hop_cut_late(const hop_cutter *c, const hop_node *n);
/* [nnode] which nodes the backward half has; of those that are not late it computes again. */
const bool *hop_cut_used(hop_cutter *c);

/* The cheapest cut that bans allow; false if there is none. What it saves, in bytes that cost. */
bool    hop_cut_min(hop_cutter *c);
int64_t hop_cut_saved(const hop_cutter *c);

/* ---- cut_tag.c ---- */

/* Fill in root, tag, called, packer. */
void    hop_cut_tags(hop_cutter *c);
/* A node that is its first operand: name, packed, hook, unless the host is asked by it. */
bool    hop_cut_names(const hop_node *n);
/* What the host does is done once; what packs, and what hooks do, does not run here. */
bool    hop_cut_once(const hop_cutter *c, const hop_node *n);
/* Bytes of root v as it crosses; the type of piece k of what a packed node makes of it. */
int64_t hop_cut_crossing(const hop_cutter *c, uint32_t v);
const hop_type *hop_cut_pack_type(const hop_cutter *c, const hop_node *n, uint32_t k);
/* Is n never computed again? heavy: it is dear; prefer: names that would rather save count. */
bool    hop_cut_banned(const hop_cutter *c, const hop_node *n, bool heavy, bool prefer);
/* Root v must be saved, and can be. */
bool    hop_cut_pinned(const hop_cutter *c, uint32_t v);
hop_status hop_cut_stuck(const hop_cutter *c);

/* ---- cut_budget.c ---- */

/* From the best cut to one that saves a share of its bytes; false if there is none. */
bool    hop_cut_budget(hop_cutter *c);

/* ---- cut_say.c ---- */

void hop_cut_say(hop_cutter *c, hop_cuts *w);

#endif
