/* layers.h -- the compile-time table: few and many equal layers. */
#ifndef LAYERS_H
#define LAYERS_H

void bench_layers(void);

#endif
