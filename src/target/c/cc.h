/* cc.h -- the C compiler of this machine, as a child process. Its name is HOP_CC, else cc;
 * HOP_CFLAGS are more words for it, after ours. */
#ifndef HOP_CC_H
#define HOP_CC_H

#include "target/target.h"

/* The text of a C file as a shared object, and after it room for so many bytes. HOP_ETARGET with
 * what the compiler said first. */
hop_status hop_cc_shared(hop_env *e, const hop_buf *text, const hop_target_opts *o, size_t room,
                         hop_bytes *out_b);
/* The same as an object; for a triple by TRIPLE-gcc, for the least machine of that kind. */
hop_status hop_cc_object(hop_env *e, const hop_buf *text, const hop_target_opts *o,
                         hop_bytes *out_b);
/* Which file it is and when it was made; zero when it is not found. */
hop_hash   hop_cc_id(void);
void       hop_cc_setting(hop_buf *out);

#endif
