/* file.h -- whole files in and out of memory: also those that cannot seek and do not know
 * their size. Streams that do not end are read up to the limit, and refused. */
#ifndef HOP_FILE_H
#define HOP_FILE_H

#include "base/base.h"

/* Append the file to b, at most so many bytes; "-" is standard input. */
hop_status hop_file_read(hop_env *e, const char *path, size_t most, hop_buf *b);
/* What messages call it. */
const char *hop_file_name(const char *path);
/* Replace the file's content at once: a reader sees the old or the new one. */
hop_status hop_file_write(hop_env *e, const char *path, const void *p, size_t n);

#endif
