/* scan_group.h -- loops whose step does the work of several: a scan unrolled, a map in chunks. */
#ifndef HOP_SCAN_GROUP_H
#define HOP_SCAN_GROUP_H

#include "hops/hops.h"

/* As hop_emit_scan, with `group` steps of the body in one step of the loop, and what is left over
 * after it (before it, in reverse) in a loop of its own. A scan: the body so many times in a row.
 * A map: the body batched. Results are those of the plain form; 0 and 1 are it. */
hop_status hop_emit_scan_group(hop_build *b, const hop_scan_args *s, int64_t group, hop_val *out);

#endif
