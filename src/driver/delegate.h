/* delegate.h -- regions that engines take, before a program is compiled. */
#ifndef HOP_DELEGATE_PASS_H
#define HOP_DELEGATE_PASS_H

#include "data/engine.h"

/* Calls that name an engine become calls of what the engine runs: functions of the host, one for
 * equal regions, in *io_taken, which is the caller's to free after a failure too. With
 * e->taken = *io_taken they are found. */
hop_status hop_delegate(hop_env *e, const hop_graph *g, hop_taken **io_taken,
                        const hop_graph **out_g);

/* What the engine of this name supports as regions of their own that name it (carve.c): as large as
 * they can be, with no way out of one and back into it. */
hop_status hop_carve(hop_env *e, const hop_graph *g, const char *engine, const hop_graph **out_g);

#endif
