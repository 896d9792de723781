/** Options of one run, and stopping it from outside. */
#ifndef HOP_RUN_H
#define HOP_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "hop/look.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A flag that stops runs. Zero is ready for use; it must outlive the runs it was given to. */
typedef struct hop_cancel { int flag; } hop_cancel;
/** From any thread, and from a signal handler. Runs stop soon: a loop at its next trip, a
 * long program at its next statement. */
void hop_cancel_set(hop_cancel *c);
void hop_cancel_reset(hop_cancel *c);

/** Where the results of hop_call are, when the code is for a device. */
enum hop_results {
	HOP_RESULTS_AUTO,            /**< there, if an input is there or the call has a stream */
	HOP_RESULTS_HERE,            /**< in the memory of this process */
	HOP_RESULTS_THERE            /**< on the device */
};

struct hop_stream;
typedef struct hop_run_opts {
	size_t            size;      /**< sizeof in the caller's build; grows at the end only */
	const hop_cancel *cancel;    /**< NULL = the run cannot be stopped; else it ends with
	                                HOP_ECANCELED soon after the flag is set */
	bool              interpret; /**< hop_call: op by op, slowly, without compiled code: another
	                                way to the same numbers when some are doubted */
	hop_nan           nan;       /**< hop_call and eager runs: end where a NaN is made */
	hop_record       *record;    /**< where watches of the program go; NULL = nobody watches */
	struct hop_stream *stream;   /**< in whose order code for a device runs, while the caller goes on
	                                (hop/device.h); NULL = the call waits */
	enum hop_results  results;   /**< hop_call: where they are */
} hop_run_opts;
#ifndef __cplusplus
#define HOP_RUN_OPTS(...) (&(hop_run_opts){ .size = sizeof(hop_run_opts), __VA_ARGS__ })
#endif

#ifdef __cplusplus
}
#endif

#endif
