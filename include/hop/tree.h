/* Names for structs of values: a struct whose members are values, arrays of values, and
 * such structs again is an array of values; a tree says what its parts are called. */
#ifndef HOP_TREE_H
#define HOP_TREE_H

#include "hop/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hop_tree hop_tree;

/* A member: sub NULL = values. n = 0: one of it; n > 0: an array of n. */
typedef struct hop_field_name {
	const char     *name;
	const hop_tree *sub;
	int             n;
} hop_field_name;

/* Either a list of names as written in C ("h, c, w[3]"), or an array of members. */
struct hop_tree {
	int                   count;       /* values in all */
	const char           *names;
	int                   nfield;
	const hop_field_name *field;
};

/* HOP_TREE(lstm_tree, struct lstm, h, c); with arrays: HOP_TREE(p_tree, struct p, w[3], b); */
#define HOP_TREE(name, type, ...) \
	static const hop_tree name = { (int)(sizeof(type) / sizeof(hop_value)), #__VA_ARGS__, \
	                               0, NULL }
/* With nested structs:
 *	static const hop_field_name net_fields[] = {
 *		HOP_LEAF(x), HOP_NODES(layer, 3, layer_tree) };
 *	HOP_TREE_OF(net_tree, struct net, net_fields); */
#define HOP_LEAF(f)            { #f, NULL, 0 }
#define HOP_LEAVES(f, n)       { #f, NULL, n }
#define HOP_NODE(f, tree)      { #f, &(tree), 0 }
#define HOP_NODES(f, n, tree)  { #f, &(tree), n }
#define HOP_TREE_OF(name, type, fields) \
	static const hop_tree name = { (int)(sizeof(type) / sizeof(hop_value)), NULL, \
	                               (int)(sizeof(fields) / sizeof((fields)[0])), fields }

/* The path of value i, as "layer[2].h", into buf (always terminated). False when there is
 * no such value or the tree does not add up to its count. */
bool hop_tree_path(const hop_tree *tree, int i, char *buf, size_t n);
/* The index of a path, or -1. */
int  hop_tree_find(const hop_tree *tree, const char *path);
/* Numbers of values that the names add up to. */
int  hop_tree_count(const hop_tree *tree);

/* out[i] = f(t, in[i], user) for each value. */
typedef hop_value hop_tree_fn(hop_trace *t, hop_value v, const char *path, void *user);
void hop_tree_map(hop_trace *t, const hop_tree *tree, hop_tree_fn *f, void *user,
                  const hop_value *in, hop_value *out);
void hop_at_tree_zeros_like(hop_trace *t, const char *file, int line, const hop_tree *tree,
                       const hop_value *in, hop_value *out);
#define hop_tree_zeros_like(t, ...) hop_at_tree_zeros_like(t, __FILE__, __LINE__, __VA_ARGS__)
/* out = a*x + y, part by part. */
void hop_at_tree_axpy(hop_trace *t, const char *file, int line, const hop_tree *tree,
                      hop_value a, const hop_value *x, const hop_value *y, hop_value *out);
#define hop_tree_axpy(t, ...) hop_at_tree_axpy(t, __FILE__, __LINE__, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
