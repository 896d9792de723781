/* object.h -- which build of an ELF object, a program or a shared library, this is. The
 * answer is about contents, so it is the same wherever the object lies and however the
 * process was started. */
#ifndef HOP_OBJECT_H
#define HOP_OBJECT_H

#include "base/base.h"

/* The build id that the linker left in the loaded object that contains addr. False: it
 * left none. */
bool     hop_object_id(const void *addr, hop_hash *out_id);
/* In its place: a hash over all of that object that is never written, code and constants
 * and relocations. Takes some milliseconds for ten megabytes. */
hop_hash hop_object_text(const void *addr);
/* The build id of a file, as hop_object_id gives it once the file is loaded; without one,
 * size, times and inode stand for it. False: no file, or none that this machine loads. */
bool     hop_object_file(const char *path, hop_hash *out_id);

#endif
