/** Arrays from other libraries and to them, by DLPack: no copy where none is needed. The structs
 * are those of DLPack's own header, or what a Python capsule points to. */
#ifndef HOP_DLPACK_H
#define HOP_DLPACK_H

#include "hop/device.h"

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensor;                    /**< before version 1 ("dltensor") */
struct DLManagedTensorVersioned;           /**< from version 1 on ("dltensor_versioned") */

/** An array on m's memory; m belongs to it and is deleted with it. What is not dense, or not
 * aligned to its elements, is copied, and m deleted at once. After a failure m is still the
 * caller's. HOP_ETYPE for elements and HOP_EVALUE for devices that hop does not have. A tensor on a
 * device is ready in the order of the device's default stream, unless another is named: _on. */
HOP_MUST_USE hop_status hop_array_from_dlpack(hop_ctx *c, struct DLManagedTensorVersioned *m,
                                              hop_array **out_a);
HOP_MUST_USE hop_status hop_array_from_dlpack0(hop_ctx *c, struct DLManagedTensor *m,
                                               hop_array **out_a);

/** The same, where its maker was told this stream: the tensor is ready in its order. */
HOP_MUST_USE hop_status hop_array_from_dlpack_on(hop_ctx *c, struct DLManagedTensorVersioned *m,
                                                 hop_stream *s, hop_array **out_a);

/** A tensor on a's memory, which keeps a alive until its deleter is called. The struct before
 * version 1 cannot say that memory is read-only: then it is refused with HOP_EUSE. Waits until a is
 * computed. */
HOP_MUST_USE hop_status hop_array_to_dlpack(hop_array *a, struct DLManagedTensorVersioned **out_m);
HOP_MUST_USE hop_status hop_array_to_dlpack0(hop_array *a, struct DLManagedTensor **out_m);
/** The same for a reader who works on this stream, which waits for a instead of the caller. */
HOP_MUST_USE hop_status hop_array_to_dlpack_on(hop_array *a, hop_stream *s,
                                               struct DLManagedTensorVersioned **out_m);

#ifdef __cplusplus
}
#endif

#endif
