/* opt.h -- graph to graph: what each pass promises. A pass reads a sealed graph and gives
 * one with the same parameters, the same results of the same types, and the same effects
 * in the same order; g itself when there is nothing to do. Bodies are visited first, and
 * equal bodies once: results are memoised in the context. */
#ifndef HOP_OPT_H
#define HOP_OPT_H

#include "ir/graph.h"

/* Without what only a derivative reads: names, packing, and that a call is a checkpoint. */
hop_status hop_opt_plain(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* Without what hop_progress says, which is no effect that anything rests on; the other one, unless
 * the context wants to know it. */
hop_status hop_opt_mute(hop_env *e, const hop_graph *g, const hop_graph **out_g);
hop_status hop_opt_quiet(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* The reverse of a loop in bounded memory as the loops that run it. Further derivatives want it
 * as it was: only compilation does this. */
hop_status hop_opt_expand(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* Hooks go: what is compiled is not differentiated any more. */
hop_status hop_opt_unhook(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* Scans run as many steps at a time as they, or the region around them, say. */
hop_status hop_opt_unroll(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* Effects that only look go. */
hop_status hop_opt_unwatch(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* Loops with watches in them count their trips. */
hop_status hop_opt_ticks(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* Evaluate what is known; identities that are exact; loops and conds decided already. */
hop_status hop_opt_fold(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* Put small callees, and those called from one place only, where they are called. */
hop_status hop_opt_inline(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* Equal pure nodes of one graph become one. */
hop_status hop_opt_cse(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* Operands that are repeated scalars become constants of the bodies. */
hop_status hop_opt_bind(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* What operators compute, carry or take without need goes. */
hop_status hop_opt_dce(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* Pieces put into zeros and added up become one concat. */
hop_status hop_opt_place(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* Costly work of a loop body that is the same every time moves in front of the loop. */
hop_status hop_opt_licm(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* Products of a slice with something constant become one product in front of the scan. */
hop_status hop_opt_hoist(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* Products that a scan only adds up become one product behind it. */
hop_status hop_opt_accum(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* Products that a scan only stacks become one product behind it. */
hop_status hop_opt_sink(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* Loops of lanes that end at different trips get the form they run in. */
hop_status hop_opt_lanes(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* The same for a device. */
hop_status hop_opt_threads(hop_env *e, const hop_graph *g, const hop_graph **out_g);

#endif
