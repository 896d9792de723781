/* device.h -- memory by device. The public view is include/hop/device.h. */
#ifndef HOP_RT_DEVICE_H
#define HOP_RT_DEVICE_H

#include "ctx/ctx.h"
#include "hop/device.h"
#include "target/target.h"

/* NULL = that of this process. A failure is on the context. */
hop_status hop_device_memory(hop_ctx *c, hop_device d, const hop_memory **out_m);

#endif
