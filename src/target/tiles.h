/* tiles.h -- templates that a target has no code of its own for: the loops that they stand for. */
#ifndef HOP_TILES_H
#define HOP_TILES_H

#include "loop/loop.h"

/* The loops of a tile, out of the registers behind the first nreg, in the env's scratch; false: it
 * has none. */
bool       hop_tile_expand(hop_env *e, const hop_tile *t, int nreg, hop_block *out);
/* HOP_ETARGET if the program has a template that the target neither knows nor gets loops for. */
typedef bool hop_tile_known(const hop_template *of);
hop_status hop_tiles_check(hop_env *e, const hop_prog *p, const char *target, hop_tile_known *known);

#endif
