/* elf.h -- objects of this target in memory. */
#ifndef HOP_ELF_H
#define HOP_ELF_H

#include "target/target.h"

/* A compiled program as bytes: at most HOP_MAXPART object files, each after its length as
 * a uint64_t and filled up with zeros to a multiple of 8. They refer to each other. */
enum { HOP_MAXPART = 4 };

/* Place the objects of a program in memory as one image and bind them to each other. The
 * text of a failure is static. */
const char *hop_elf_load(const void *p, size_t n, const char *entry, hop_image *out_i);
void        hop_elf_free(hop_image *i);

#endif
