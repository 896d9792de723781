/** Devices: arrays on them, and calls that nobody waits for.
 *
 *	hop_device gpu;
 *	hop_device_find(c, "cuda", &gpu);
 *	hop_array_to(x, gpu, &dx);               copied there
 *	hop_call(f, 1, &dx, 1, &dy);             compiled for it; the result stays there
 *	hop_array_to(dy, (hop_device){ 0 }, &y);
 *
 * Functions run where their arrays are: with an input, or a captured array, on a device hop_call
 * compiles for it, and other inputs are copied there for the call. What looks at elements from this
 * process (eager traces, the interpreter, hop_array_data) refuses arrays on a device by name; files
 * and hop_array_at copy what they need. docs/gpu.md. */
#ifndef HOP_DEVICE_H
#define HOP_DEVICE_H

#include "hop/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** By name: "cpu", or that of a kind of device, "cuda", with a number behind it or without: "cuda:0".
 * HOP_EVALUE for a kind that there is not, HOP_ETARGET with the reason where none is to be had. */
HOP_MUST_USE hop_status hop_device_find(hop_ctx *c, const char *name, hop_device *out_d);
/** How many of that kind there are; 0 with a message saying why. */
int         hop_device_count(hop_ctx *c, const char *name);
/** One line about it, which stays; NULL, with a message, if it is not there. */
const char *hop_device_about(hop_ctx *c, hop_device d);

/* ---- arrays ---- */

hop_device hop_array_device(const hop_array *a);         /**< zero = the memory of this process */
/** The array in that memory: a copy, or itself with one more reference if it is there. Waits until a
 * is computed. HOP_ENOMEM when the device has no room. */
HOP_MUST_USE hop_status hop_array_to(hop_array *a, hop_device d, hop_array **out_a);
/** A new one there; data is in the memory of this process, NULL = zeros. */
HOP_MUST_USE hop_status hop_array_new_on(hop_ctx *c, hop_device d, hop_dtype t, int rank,
                                         const int64_t *dim, const void *data, hop_array **out_a);
/** hop_array_adopt for memory of a device: that data is there is asked of its driver. */
HOP_MUST_USE hop_status hop_array_adopt_on(hop_ctx *c, hop_device d, hop_dtype t, int rank,
                                           const int64_t *dim, void *data, bool readonly,
                                           hop_drop *drop, void *owner, hop_array **out_a);
/** Its elements, dense, into memory of this process that has so many bytes: exactly as many as they
 * are. From any device. */
HOP_MUST_USE hop_status hop_array_read(hop_array *a, void *to, size_t bytes);
/** The other way: its elements from memory of this process. */
HOP_MUST_USE hop_status hop_array_write(hop_array *a, const void *from, size_t bytes);
/** Its address on its device, or in this process: for kernels of others. What still computes it is
 * hop_array_ready's. */
void *hop_array_address(hop_array *a);

/* ---- streams ---- */

/** Work in order, beside what the caller does: hop_run_opts.stream. A call on a stream returns when it
 * is on its way, with results on the device; arrays know who still computes or reads them, and
 * streams wait for each other where they share some. So does all that looks at elements. A call that
 * needs the host on its way (prints, asserts, loops without a bound) waits for its end.
 *
 * What goes wrong later is told by hop_stream_wait, or by who first looks at a result. Threads may
 * share a stream. */
typedef struct hop_stream hop_stream;

/** On HOP_CPU it is one on which calls run at once. */
HOP_MUST_USE hop_status hop_stream_new(hop_ctx *c, hop_device d, hop_stream **out_s);
/** The caller's own, in the driver's words (a CUstream), which stays the caller's and outlives it. */
HOP_MUST_USE hop_status hop_stream_adopt(hop_ctx *c, hop_device d, void *handle,
                                         hop_stream **out_s);
/** Waits for what is on it. NULL is fine. */
void  hop_stream_free(hop_stream *s);
/** Until all that is on it has been done. HOP_ETARGET with the device's words if something failed:
 * then results of calls on it hold anything. */
HOP_MUST_USE hop_status hop_stream_wait(hop_stream *s);
void *hop_stream_handle(hop_stream *s);                  /**< in the driver's words */
/** What s is given from now on, by whomever, comes after what computes a. s NULL: this thread waits. */
HOP_MUST_USE hop_status hop_array_ready(hop_array *a, hop_stream *s);

#ifdef __cplusplus
}
#endif

#endif
