/* inside.h -- what becomes of a body: the text of its graph when it is captured, differentiated,
 * compiled, and how often a word stands in it. Texts are the caller's to free. */
#ifndef INSIDE_H
#define INSIDE_H

#include "pitfall.h"

enum stage {
	CAPTURED,                      /* as it was captured */
	TRAINED,                       /* with the gradients of its first result for input 0 */
	OPTIMISED,                     /* as it was captured, behind all passes of a compilation */
	TRAINED_OPTIMISED,
	LOWERED,                       /* as loops, which is what code is generated from */
	TRAINED_LOWERED,
	COPIES                         /* copies that are left in its loops, each with its reason */
};

char *inside_at(const char *file, int line, enum stage s, hop_body *f, void *user, int nin,
                const tensor *in);
/* The same: how often a word stands in it. */
int times_at(const char *file, int line, const char *word, enum stage s, hop_body *f, void *user,
             int nin, const tensor *in);
#define inside(...) inside_at(__FILE__, __LINE__, __VA_ARGS__)
#define times(...)  times_at(__FILE__, __LINE__, __VA_ARGS__)

/* A function of the body, captured; the caller's to release. */
hop_fn *captured_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in);
#define captured(...) captured_at(__FILE__, __LINE__, __VA_ARGS__)

#endif
