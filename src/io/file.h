/* file.h -- whole files in and out of memory. Streams that do not end are not for it. */
#ifndef HOP_FILE_H
#define HOP_FILE_H

#include "base/base.h"

/* Append the file to b; "-" is standard input. */
hop_status hop_file_read(hop_env *e, const char *path, hop_buf *b);
/* Replace the file's content at once: a reader sees the old or the new one. */
hop_status hop_file_write(hop_env *e, const char *path, const void *p, size_t n);

#endif
