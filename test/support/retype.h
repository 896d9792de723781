/* retype.h -- the same program over another float dtype, by way of its text. */
#ifndef RETYPE_H
#define RETYPE_H

#include "text/text.h"

/* Read a text with every `from` (HOP_NDTYPE = every float dtype) replaced by `to`. */
hop_status retype_text(hop_env *e, const char *text, size_t n, const char *name, hop_dtype from,
                       hop_dtype to, hop_module **out_m);
/* The graph g with every float dtype replaced by `to`: the last of the module. */
hop_status retype_graph(hop_env *e, const hop_graph *g, hop_dtype to, hop_module **out_m);

#endif
