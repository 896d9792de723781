/* engine.h -- engines that a context knows, and regions that they have taken. */
#ifndef HOP_DATA_ENGINE_H
#define HOP_DATA_ENGINE_H

#include "data/foreign.h"
#include "hop/delegate.h"
#include "ir/graph.h"

/* A region that an engine has taken: a function of the host to the compilation that asked, which
 * owns it. Written once, then only read. */
typedef struct hop_taken {
	struct hop_taken *next;
	const hop_engine *engine;
	const char       *name;            /* by which nodes call it; interned */
	const hop_graph  *g;               /* which it was */
	const char       *hints;           /* and with which of them: interned */
	void             *handle;
	hop_foreign       f;
} hop_taken;

/* The engine of this name, or NULL; its fields are ours. */
const hop_engine *hop_engine_find(hop_ctx *c, const char *name, size_t n);
/* The same; NULL is a failure at loc, which tells those that are known. */
const hop_engine *hop_engine_named(hop_env *e, hop_loc loc, const char *what, const char *name,
                                   size_t n);
/* Ask the engine; a refusal is told at loc. name: of the function of the host. */
hop_status hop_engine_take(hop_env *e, const hop_engine *engine, hop_loc loc,
                           const hop_engine_region *r, const char *name, hop_taken **out_t);
/* Free the handles of a list. */
void hop_taken_free(hop_taken *list);

#endif
