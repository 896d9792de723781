/** Looking inside a run: where a NaN or an infinity was made (docs/looking-inside.md). */
#ifndef HOP_LOOK_H
#define HOP_LOOK_H

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif
