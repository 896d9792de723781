/* sig.h -- signatures of operators with bodies: where the operands and results of a node,
 * and the parameters and results of its bodies, have which role. Read from hops.def, so that
 * a pass can rewrite an operator without knowing it. */
#ifndef HOP_SIG_H
#define HOP_SIG_H

#include "ir/graph.h"

/* Lead operands, which no body sees: count (steps to run, i64), pred (which of two bodies),
 * index (which of many). Parameters: carry (starts as the operand, then the body's result),
 * x (a slice of the operand each step), same (the operand each time). What a body combines: init
 * (where to start) and x are operands, left and right its parameters: what was combined of
 * neighbours so far. Results: y (slices stacked), left (what combining gave), out (as the body
 * gives it), saved (the same, for a rule), steps (how many ran), info (whether it worked). sol: as
 * an operand what a solver starts from or solves for, as a result the solution. Results of bodies
 * only: stop (this was the last step), go (there is a step to run). Of rules only: dsame, a
 * tangent or cotangent for each of those that is a float, and at, the solution at which a rule is
 * asked, or what it is told of the operands. Cotangents of results stand with saved: which results
 * have one the rule's own attributes say. Of hooks: val, which the result is; told, zeros whose
 * cotangents are what a hook tells. */
#define HOP_ROLES(R) \
	R(count) R(pred) R(index) R(carry) R(init) R(x) R(left) R(right) R(same) \
	R(y) R(out) R(saved) R(steps) R(stop) R(go) R(dsame) R(sol) R(at) R(info) \
	R(val) R(told)

enum hop_role {
	HOP_R_none,
#define R(role) HOP_R_##role,
	HOP_ROLES(R)
#undef R
	HOP_NROLE
};

typedef struct hop_span { uint32_t at, n; } hop_span;

/* One list of values. A role stands in it once; those that do not stand in it have n = 0. */
typedef struct hop_spans {
	union {
		hop_span by[HOP_NROLE];
		struct {
			hop_span none;
#define R(role) hop_span role;
			HOP_ROLES(R)
#undef R
		};
	};
	int     n;                   /* roles in the list, in order */
	uint8_t order[6];
} hop_spans;

typedef struct hop_roles {
	hop_spans in, out;
	uint32_t  lead;              /* of a node: operands in front of the parameters */
	bool      loop;              /* of a node: its bodies run any number of times */
	bool      run;               /* of a body: the node itself may run it */
} hop_roles;

/* False, with nothing to rely on, if the attributes ask for more than there is. */
bool hop_sig_read(int op, const void *attr, uint32_t nin, uint32_t nout, hop_roles *out);
/* Of a node that was accepted. */
void hop_node_roles(const hop_node *n, hop_roles *out);
/* Of its body number i; whether the node itself may run it. */
void hop_body_roles(const hop_node *n, int i, hop_roles *out);
bool hop_sig_runs(const hop_node *n, int i);
/* Set the attribute that says how many operands of a role there are, or whether there is one;
 * REST needs none. */
void hop_sig_count(int op, void *attr, enum hop_role role, uint32_t n);

/* A body that gives results of the node, and not only whether to go on. */
bool hop_sig_gives(const hop_roles *body);
/* Result of the node that is stacked or taken from result k of a body; UINT32_MAX if none. */
uint32_t hop_sig_result(const hop_roles *node, const hop_roles *body, uint32_t k);

#endif
