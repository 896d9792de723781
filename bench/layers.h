/* layers.h -- the compile-time table: few and many equal layers. */
#ifndef LAYERS_H
#define LAYERS_H

void bench_layers(void);

/* Seconds of one compilation of so many layers, at most 48, for the target that HOP_TARGET names; -1
 * after a failure. */
double bench_layers_total(int layers);

#endif
