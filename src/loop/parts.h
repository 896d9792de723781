/* parts.h -- what a program is made of. */
#ifndef HOP_LOOP_PARTS_H
#define HOP_LOOP_PARTS_H

#include "loop/walk.h"

/* [p->nfunc] each: nests of a function, and places that call it. */
void hop_prog_parts(const hop_prog *p, int *nests, int *calls);

#endif
