/** Looking inside a run: where a NaN or an infinity was made, and the history of values in loops
 * (docs/looking-inside.md). */
#ifndef HOP_LOOK_H
#define HOP_LOOK_H

#include <stddef.h>
#include <stdint.h>

#include "hop/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hop_ctx;
struct hop_array;

/** What ends a run with HOP_ENAN. A NaN is made by an op none of whose operands has one there, an
 * infinity by an op whose operands are finite there: a mask of -inf makes none. The message names
 * the op that made it, its operands there, the trip of every loop around it and the user's lines.
 *
 * A call that is compiled looks at its results, and runs again by the interpreter where they tell
 * of one; effects happen once. An eager run ends at the first of them, whoever sees it. */
typedef enum hop_nan {
	HOP_NAN_OFF,      /**< nothing; of a run: what the context says */
	HOP_NAN_ONLY,     /**< a NaN that reaches a result */
	HOP_NAN_INF,      /**< or an infinity that does */
	HOP_NAN_ANY       /**< the first of either, if no result shows it too: interpreted */
} hop_nan;

/* ---- watches ---- */

/** What hop_watch saw, by name. One run at a time; runs add to what is there. */
typedef struct hop_record hop_record;

typedef struct hop_record_opts {
	size_t  size;        /**< sizeof in the caller's build; grows at the end only */
	int64_t every;       /**< of each name only row 0, every, 2 * every ..; 0 = all */
	int64_t last;        /**< of those the last so many, in memory for so many; 0 = all */
} hop_record_opts;
#ifndef __cplusplus
#define HOP_RECORD_OPTS(...) (&(hop_record_opts){ .size = sizeof(hop_record_opts), __VA_ARGS__ })
#endif

/** opts NULL = all rows. Give it to a run: .record of hop_run_opts. */
HOP_MUST_USE hop_status hop_record_new(struct hop_ctx *c, const hop_record_opts *opts,
                                       hop_record **out_r);
void        hop_record_free(hop_record *r);            /**< NULL is fine */
void        hop_record_clear(hop_record *r);           /**< forget all rows */
/** How many names it has, and each, in the order they were first seen; NULL = no such. */
int         hop_record_names(const hop_record *r);
const char *hop_record_name(const hop_record *r, int i);
/** All rows of a name, stacked: *out_a has one more axis in front than the value. *out_trips, unless
 * out_trips is NULL: i64 [rows, loops], the trip of each loop around the watch, outermost first, in
 * the order of running. HOP_EVALUE if nothing was recorded under the name. */
HOP_MUST_USE hop_status hop_watched(hop_record *r, const char *name, struct hop_array **out_a,
                                    struct hop_array **out_trips);

#ifdef __cplusplus
}
#endif

#endif
