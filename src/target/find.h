/* find.h -- which build of a library that is opened at run time it is (base/object.h). */
#ifndef HOP_FIND_H
#define HOP_FIND_H

#include "base/base.h"

/* That of the first of these names that is there, as dlopen would find it; nothing is opened. name(i)
 * is NULL when there are no more. Zero: there is none. */
hop_hash hop_library_expected(hop_env *e, const char *(*name)(int i));
/* That of the loaded library which has this address. */
hop_hash hop_library_opened(const void *in_it);

#endif
