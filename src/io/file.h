/* file.h -- whole files in and out of memory: also those that cannot seek and do not know
 * their size. Streams that do not end are read up to the limit, and refused. */
#ifndef HOP_IO_FILE_H
#define HOP_IO_FILE_H

#include "base/base.h"

/* Append the file to b, at most so many bytes; "-" is standard input. */
hop_status hop_file_read(hop_env *e, const char *path, size_t most, hop_buf *b);
/* What messages call it. */
const char *hop_path_name(const char *path);

/* A file written piece by piece; at its end it replaces the old one at once: a reader sees the old
 * or the new one. The first failure is kept, and nothing is written after it. */
typedef struct hop_out {
	hop_env    *env;
	const char *path;
	void       *f;                 /* FILE; NULL after a failure to open */
	hop_buf     tmp;               /* where it is until it ends */
	uint64_t    n;                 /* bytes so far */
	int         why;               /* errno of the first failure */
} hop_out;
void       hop_out_open(hop_out *o, hop_env *e, const char *path);
void       hop_out_put(hop_out *o, const void *p, size_t n);
hop_status hop_out_close(hop_out *o);
/* Give it up: the old file stays. */
void       hop_out_drop(hop_out *o);
/* All of that for bytes that are there. */
hop_status hop_file_write(hop_env *e, const char *path, const void *p, size_t n);

#endif
