/* tree.h -- trees of names, inside: a walk over their leaves, the types that leaves are declared
 * with, and arrays beside them. The public view is include/hop/tree.h. */
#ifndef HOP_DATA_TREE_H
#define HOP_DATA_TREE_H

#include "data/array.h"
#include "hop/tree.h"

enum { HOP_PATH = 512 };           /* characters of a path; longer ones are cut off */

typedef struct hop_tree_leaf {
	int         i;                 /* its number */
	int         index;             /* in the nearest array around it; -1 = there is none */
	const char *path;
	const char *type;              /* as declared; NULL = any */
} hop_tree_leaf;

/* Call f on each leaf in order, until it says false: then the answer is false. */
typedef bool hop_tree_visit(const hop_tree_leaf *l, void *user);
bool hop_tree_each(const hop_tree *tree, hop_tree_visit *f, void *user);

/* Refuse trees that are missing, or whose names are not those of so many values. */
hop_status hop_tree_good(hop_env *e, const char *op, const hop_tree *tree);
/* The paths of all leaves, interned; two that are equal are refused. */
hop_status hop_tree_names(hop_env *e, hop_loc at, const char *op, const hop_tree *tree,
                          const char **out);
/* The declared types of all leaves, with these sizes filled in; sizes may be NULL. Size symbols
 * have interned names. untyped NULL: a leaf without a type is refused; else untyped[i] is set. */
hop_status hop_tree_types(hop_env *e, const char *op, const hop_tree *tree,
                          const hop_named_size *sizes, hop_spec *out, bool *untyped);
/* Whether arrays are of these types: equal symbols must be equal sizes. name: for messages. */
hop_status hop_tree_fits(hop_env *e, const char *what, int n, const char *const *name,
                         const hop_spec *type, const bool *untyped, hop_array *const *array);

#endif
