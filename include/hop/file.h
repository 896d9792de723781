/** Arrays in files by name: NumPy's .npz and .safetensors. Nothing in a file is believed: what is
 * malformed is refused with a message that names the array. */
#ifndef HOP_FILE_H
#define HOP_FILE_H

#include "hop/tree.h"
#include "hop/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Write n arrays under these names, as .npz or .safetensors: the path's ending says which. The
 * file is replaced at once, when all of it is written. Names are UTF-8 without control
 * characters, and differ. */
HOP_MUST_USE hop_status hop_file_save(hop_ctx *c, const char *path, int n,
                                      const char *const *names, hop_array *const *arrays);

typedef struct hop_file_opts {
	size_t size;         /**< sizeof in the caller's build; grows at the end only */
	bool   copy;         /**< read the file, do not map it: it may then change or shrink */
	bool   no_checksum;  /**< .npz: do not test that arrays are what was written, which reads all of
	                      * them */
} hop_file_opts;
#ifndef __cplusplus
#define HOP_FILE_OPTS(...) (&(hop_file_opts){ .size = sizeof(hop_file_opts), __VA_ARGS__ })
#endif

/** An open file: names, and an array for each that is asked for. Has one owner; one thread. */
typedef struct hop_file hop_file;

/** Open a file; its content says what it is. It is mapped: arrays stand on its pages where they are
 * dense, aligned and in this machine's byte order, and are copies elsewhere. Either way they may be
 * written, which never reaches the file. A mapped file may be replaced or removed while arrays
 * stand on it, but not shortened. opts may be NULL. */
HOP_MUST_USE hop_status hop_file_load(hop_ctx *c, const char *path, const hop_file_opts *opts,
                                      hop_file **out_f);
/** Arrays that were taken from it live on. NULL is fine. */
void        hop_file_close(hop_file *f);
int         hop_file_count(const hop_file *f);
/** The name of array i, as long as the file is open; NULL when there is none. */
const char *hop_file_name(const hop_file *f, int i);
/** The place of a name, or -1. */
int         hop_file_find(const hop_file *f, const char *name);
/** Array i, the same one each time: release it. HOP_ETYPE for a dtype that hop does not have. */
HOP_MUST_USE hop_status hop_file_array(hop_file *f, int i, hop_array **out_a);
/** The same by name. */
HOP_MUST_USE hop_status hop_file_get(hop_file *f, const char *name, hop_array **out_a);
/** The path that it was opened with. */
const char *hop_file_path(const hop_file *f);

/* ---- structs of arrays (hop/tree.h): an array a leaf, under its path ---- */

/** Arrays must be of the types that the tree declares. */
HOP_MUST_USE hop_status hop_tree_save(hop_ctx *c, const hop_tree *tree, const void *arrays,
                                      const char *path);
/** Every leaf must be there with the declared dtype and sizes, and nothing else; sizes that are not
 * given may be any, equal names being equal. After a failure all arrays are NULL, and the message
 * lists what is missing, too much, or of another type. sizes and opts may be NULL. */
HOP_MUST_USE hop_status hop_tree_load(hop_ctx *c, const hop_tree *tree, const hop_named_size *sizes,
                                      const char *path, const hop_file_opts *opts, void *out_arrays);
/** The same from a file that is open. */
HOP_MUST_USE hop_status hop_tree_from(hop_ctx *c, const hop_tree *tree, const hop_named_size *sizes,
                                      hop_file *f, void *out_arrays);

#ifdef __cplusplus
}
#endif

#endif
