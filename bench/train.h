/* train.h -- the training of a transformer. */
#ifndef TRAIN_H
#define TRAIN_H

/* A line for f32 and for bf16: ms to capture and to compile the loop of the training, ms of its 50
 * steps. */
int bench_train(void);

#endif
