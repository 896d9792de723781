/* store.h -- an open file of arrays, inside. The public view is include/hop/file.h. */
#ifndef HOP_STORE_H
#define HOP_STORE_H

#include "data/array.h"
#include "hop/file.h"
#include "io/bytes.h"
#include "io/tensors.h"
#include "io/zip.h"

/* One of zip and tensors is used: that whose n is count. */
struct hop_file {
	hop_ctx     *ctx;
	hop_arena    arena;            /* sealed; names and the two lists */
	const char  *path;
	hop_bytes   *bytes;
	bool         is_zip, no_checksum;
	hop_zip      zip;
	hop_tensors  tensors;
	size_t       count;
	const char **name;             /* [count] */
	size_t      *order;            /* [count] places in the order of names */
	hop_array  **array;            /* [count] NULL = not asked for yet */
	hop_bytes   *unpacked;         /* of the call in progress, or NULL */
};

/* Open what is in memory; path is for messages. b is retained. Sets the message of c. */
hop_status hop_store_open(hop_ctx *c, const char *path, hop_bytes *b, bool no_checksum,
                          hop_file **out_f);

#endif
