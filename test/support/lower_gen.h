/* lower_gen.h -- random graphs, well typed by construction, for comparing ways to run them. */
#ifndef HOP_LOWER_GEN_H
#define HOP_LOWER_GEN_H

#include "ir/build.h"

/* A sealed graph of about nnode nodes with operators nested up to depth. The same seed
 * gives the same graph. All its numbers stay small. */
hop_status hop_lower_gen(hop_env *e, unsigned seed, int nnode, int depth, hop_graph **out);

#endif
