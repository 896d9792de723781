/* lanes.h -- loops of lanes that end at different trips, in each of their forms. */
#ifndef LANES_H
#define LANES_H

int bench_lanes(void);

#endif
