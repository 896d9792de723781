/* record.h -- what watches leave: the values of each name, in the order they came, with the trips of
 * the loops they came from. Whoever runs the program says where it is: by counting, or at once. */
#ifndef HOP_DATA_RECORD_H
#define HOP_DATA_RECORD_H

#include "data/array.h"
#include "hop/look.h"

enum { HOP_RECORD_LOOPS = 64 };        /* around a watch; further ones are not counted */

/* What a tick of a program says. */
enum hop_tick { HOP_TICK_ENTER, HOP_TICK_STEP, HOP_TICK_LEAVE, HOP_NTICK };

/* A run begins: it is in no loop. r may be NULL, here and in all others. */
void       hop_record_begin(hop_record *r);
void       hop_record_tick(hop_record *r, int what);
/* The run is here: in n loops more than the first `outer`, the outermost first. */
void       hop_record_place(hop_record *r, int outer, int n, const int64_t *trip);
/* One value. when: NULL, or which of the leading lanes count; the others repeat what they were.
 * loc: of the watch, for what is refused. */
hop_status hop_record_add(hop_record *r, hop_env *e, hop_loc loc, const char *name, size_t len,
                          const hop_array *v, const hop_array *when);

#endif
