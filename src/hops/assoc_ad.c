/* assoc_ad.c -- associative_scan and reduce under vjp. */
#include "hops/body.h"

hop_status hop_fwd_assoc(hop_build *b, hop_rule *r)
{
	return hop_fail(b->env, r->n->loc, HOP_EREFUSED, "%s: has no reverse mode",
	                hop_optab[r->n->op].name);
}

hop_status hop_bwd_assoc(hop_build *b, hop_rule *r)
{
	return hop_fwd_assoc(b, r);
}
