/** All of hop. */
#ifndef HOP_H
#define HOP_H

#include "hop/aot.h"
#include "hop/block.h"
#include "hop/checkpoint.h"
#include "hop/compile.h"
#include "hop/control.h"
#include "hop/counts.h"
#include "hop/ctx.h"
#include "hop/dlpack.h"
#include "hop/file.h"
#include "hop/fn.h"
#include "hop/formula.h"
#include "hop/host.h"
#include "hop/implicit.h"
#include "hop/jit.h"
#include "hop/kernel.h"
#include "hop/linalg.h"
#include "hop/look.h"
#include "hop/nn.h"
#include "hop/old.h"
#include "hop/ops.h"
#include "hop/rows.h"
#include "hop/run.h"
#include "hop/shape.h"
#include "hop/status.h"
#include "hop/trace.h"
#include "hop/transform.h"
#include "hop/tree.h"
#include "hop/types.h"

#endif
