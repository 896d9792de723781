/* native_run.h -- runs a graph as compiled code on the interpreter's tensors, so that a
 * judge can compare the two. */
#ifndef NATIVE_RUN_H
#define NATIVE_RUN_H

#include "support/judge.h"

judge_run_fn native_run;

#endif
