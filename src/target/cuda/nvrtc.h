/* nvrtc.h -- NVRTC, the compiler of CUDA C, found at run time; only for what is not in the cache. */
#ifndef HOP_NVRTC_H
#define HOP_NVRTC_H

#include "target/target.h"

/* It is there, or why it is not: before it is asked for anything. */
hop_status hop_nvrtc_open(hop_env *e);

/* The text, which ends in a zero, as a cubin for an architecture ("sm_90a"), by the env's hook.
 * HOP_ETARGET with what NVRTC says, and the line of the text that it speaks of. On any thread. */
hop_status hop_nvrtc_cubin(hop_env *e, const char *text, size_t n, const char *arch, hop_bytes *out);

/* Which build of NVRTC that is: the one that would be opened, or the one that was. */
hop_hash hop_nvrtc_id(hop_env *e, bool opened);
/* The options beside the architecture, in words. */
const char *hop_nvrtc_setting(void);

#endif
