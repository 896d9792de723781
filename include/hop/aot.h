/** Functions ahead of time: as an object or as C, with a header, for programs that have neither
 * hop nor a code generator, on this machine or on another. docs/embedding.md shows it. */
#ifndef HOP_AOT_H
#define HOP_AOT_H

#include "hop/fn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hop_aot_opts {
	size_t      size;                /**< sizeof in the caller's build; grow at the end only */
	const char *target;              /**< "llvm" or "c"; NULL = llvm for an object, c for C */
	bool        emit_c;              /**< PATH.c instead of PATH.o; target c only */
	const char *triple;              /**< the machine, as aarch64-linux-gnu: the least of that kind;
	                                    NULL = this very one */
	bool        threads;             /**< large loops ask the caller's parallel hook */
} hop_aot_opts;
#ifndef __cplusplus
#define HOP_AOT_OPTS(...) (&(hop_aot_opts){ .size = sizeof(hop_aot_opts), __VA_ARGS__ })
#endif

/** Write PATH.h and PATH.o or PATH.c. Function i becomes NAME_name[i] in C, where NAME is the last
 * part of the path. Both files are replaced at once, or neither. opts may be NULL. Refused: names
 * that meet in C, functions that captured arrays, results of a size that only the program knows. */
HOP_MUST_USE hop_status hop_aot_write(hop_ctx *c, int n, hop_fn *const *f,
                                      const char *const *name, const char *path,
                                      const hop_aot_opts *opts);

#ifdef __cplusplus
}
#endif

#endif
