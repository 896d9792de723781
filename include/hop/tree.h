/** Names and types for structs of values: a struct whose members are values, arrays of values, and
 * such structs again is an array of values; a tree says what its parts are called, and may say
 * what they are. The same tree serves a struct of the same form whose members are arrays. */
#ifndef HOP_TREE_H
#define HOP_TREE_H

#include "hop/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hop_tree hop_tree;

/** A member: sub NULL = values. n = 0: one of it; n > 0: an array of n. type, of values: NULL,
 * or dtype and sizes as text: "f32", "i64[4]", "f32[n, 4]", "f32[n: 1..64]". Equal names in one
 * tree are one size. In a name, # is the index of the nearest array that the member is in, and
 * #+1 one more: in layer[3] of such members, "f32[d#, d#+1]" is f32[d0, d1], f32[d1, d2],
 * f32[d2, d3]. */
typedef struct hop_field_name {
	const char     *name;
	const hop_tree *sub;
	int             n;
	const char     *type;
} hop_field_name;

/** Either a list of names as written in C ("h, c, w[3]"), or an array of members. */
struct hop_tree {
	int                   count;       /**< values in all */
	const char           *names;
	int                   nfield;
	const hop_field_name *field;
};

/** HOP_TREE(lstm_tree, struct lstm, h, c); with arrays: HOP_TREE(p_tree, struct p, w[3], b); */
#define HOP_TREE(name, type, ...) \
	static const hop_tree name = { (int)(sizeof(type) / sizeof(hop_value)), #__VA_ARGS__, \
	                               0, NULL }
/** With nested structs:
 *	static const hop_field_name net_fields[] = {
 *		HOP_LEAF(x), HOP_NODES(layer, 3, layer_tree) };
 *	HOP_TREE_OF(net_tree, struct net, net_fields); */
#define HOP_LEAF(f)            { #f, NULL, 0, NULL }
#define HOP_LEAVES(f, n)       { #f, NULL, n, NULL }
#define HOP_NODE(f, tree)      { #f, &(tree), 0, NULL }
#define HOP_NODES(f, n, tree)  { #f, &(tree), n, NULL }
#define HOP_TREE_OF(name, type, fields) \
	static const hop_tree name = { (int)(sizeof(type) / sizeof(hop_value)), NULL, \
	                               (int)(sizeof(fields) / sizeof((fields)[0])), fields }

/** A struct declared once, from a list of its members:
 *	#define LAYER(has)  has(LEAF, w, "f32[d#, d#+1]")  has(LEAF, b, "f32[d#+1]")
 *	HOP_STRUCT(layer, LAYER);
 *	#define NET(has)  has(NODES, layer, 3, layer)  has(LEAF, scale, "f32")
 *	HOP_STRUCT(net, NET);
 * gives struct net of values, struct net_arrays of arrays, and net_tree for both. Members are
 * LEAF(f, type), LEAVES(f, n, type), NODE(f, struct) and NODES(f, n, struct); the type of a leaf
 * may be NULL. */
#define HOP_STRUCT(name, LIST) \
	struct name { LIST(HOP_IN_VALUES_) }; \
	struct name##_arrays { LIST(HOP_IN_ARRAYS_) }; \
	static const hop_field_name name##_fields[] = { LIST(HOP_IN_FIELDS_) }; \
	HOP_TREE_OF(name##_tree, struct name, name##_fields)
#define HOP_IN_VALUES_(kind, ...)        HOP_VALUES_##kind##_(__VA_ARGS__)
#define HOP_IN_ARRAYS_(kind, ...)        HOP_ARRAYS_##kind##_(__VA_ARGS__)
#define HOP_IN_FIELDS_(kind, ...)        HOP_FIELDS_##kind##_(__VA_ARGS__)
#define HOP_VALUES_LEAF_(f, type)        hop_value f;
#define HOP_VALUES_LEAVES_(f, n, type)   hop_value f[n];
#define HOP_VALUES_NODE_(f, name)        struct name f;
#define HOP_VALUES_NODES_(f, n, name)    struct name f[n];
#define HOP_ARRAYS_LEAF_(f, type)        hop_array *f;
#define HOP_ARRAYS_LEAVES_(f, n, type)   hop_array *f[n];
#define HOP_ARRAYS_NODE_(f, name)        struct name##_arrays f;
#define HOP_ARRAYS_NODES_(f, n, name)    struct name##_arrays f[n];
#define HOP_FIELDS_LEAF_(f, type)        { #f, NULL, 0, type },
#define HOP_FIELDS_LEAVES_(f, n, type)   { #f, NULL, n, type },
#define HOP_FIELDS_NODE_(f, name)        { #f, &name##_tree, 0, NULL },
#define HOP_FIELDS_NODES_(f, n, name)    { #f, &name##_tree, n, NULL },

/** What a body was given, as the struct that it was captured with:
 *	const struct net *p = HOP_IN(struct net, in); */
#define HOP_IN(type, in) ((const type *)(const void *)(in))

/** Sizes for names; the list ends with a name that is NULL. Names that a tree does not have are
 * fine.
 *	HOP_SIZES({ "d0", 784 }, { "d1", nhidden }) */
typedef struct hop_named_size {
	const char *name;
	int64_t     n;
} hop_named_size;
#ifndef __cplusplus
#define HOP_SIZES(...) ((const hop_named_size[]){ __VA_ARGS__, { NULL, 0 } })
#endif

/** The declared types of all values, with these sizes; others stay symbols. sizes may be NULL. out
 * has a place for each value; names in it are valid as long as the context. */
HOP_MUST_USE hop_status hop_tree_specs(hop_ctx *c, const hop_tree *tree,
                                       const hop_named_size *sizes, hop_spec *out);
/** New arrays of zeros into a struct of arrays; all sizes must be given. After a failure they are
 * all NULL. */
HOP_MUST_USE hop_status hop_tree_new(hop_ctx *c, const hop_tree *tree, const hop_named_size *sizes,
                                     void *out_arrays);
/** Release all arrays of a struct, and make them NULL. */
void hop_tree_release(const hop_tree *tree, void *arrays);

/** The path of value i, as "layer[2].h", into buf (always terminated). False when there is
 * no such value or the tree does not add up to its count. */
bool hop_tree_path(const hop_tree *tree, int i, char *buf, size_t n);
/** The index of a path, or -1. */
int  hop_tree_find(const hop_tree *tree, const char *path);
/** Numbers of values that the names add up to. */
int  hop_tree_count(const hop_tree *tree);

/** out[i] = f(t, in[i], user) for each value. */
typedef hop_value hop_tree_fn(hop_trace *t, hop_value v, const char *path, void *user);
void hop_tree_map(hop_trace *t, const hop_tree *tree, hop_tree_fn *f, void *user,
                  const hop_value *in, hop_value *out);
void hop_at_tree_zeros_like(hop_trace *t, const char *file, int line, const hop_tree *tree,
                       const hop_value *in, hop_value *out);
#define hop_tree_zeros_like(t, ...) hop_at_tree_zeros_like(t, __FILE__, __LINE__, __VA_ARGS__)
/** out = a*x + y, part by part. */
void hop_at_tree_axpy(hop_trace *t, const char *file, int line, const hop_tree *tree,
                      hop_value a, const hop_value *x, const hop_value *y, hop_value *out);
#define hop_tree_axpy(t, ...) hop_at_tree_axpy(t, __FILE__, __LINE__, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
