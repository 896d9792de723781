/* direct.h -- calls on arrays without copies. */
#ifndef HOP_DIRECT_H
#define HOP_DIRECT_H

#include "data/fn.h"
#include "driver/compile.h"

/* The array of parameter i: the caller's, then those the function captured. */
static inline hop_array *hop_fn_array(const hop_fn *f, hop_array *const *in, uint32_t i)
{
	return i < (uint32_t)f->nin ? in[i] : f->hidden[i - (uint32_t)f->nin];
}

/* The function's code, made by whoever comes first (call.c). o: as of hop_exec_new. */
hop_status hop_fn_code(hop_env *e, hop_fn *f, const hop_compile_opts *o, hop_exec **out_x);
/* The same for arrays on that device; mem NULL = hop_fn_code. And whether it is there. */
hop_status hop_fn_code_on(hop_env *e, hop_fn *f, const hop_compile_opts *o, const hop_memory *mem,
                          hop_exec **out_x);
bool       hop_fn_has_code(hop_fn *f, const hop_memory *mem);
/* The memory of the device that one of its arrays is on, inputs first; NULL = they are all here.
 * in NULL: of those that it captured. */
const hop_memory *hop_fn_memory(const hop_fn *f, hop_array *const *in);
/* Where the results of a call are: NULL = here. code: of the code. */
const hop_memory *hop_results_memory(const hop_memory *code, const hop_memory *inputs,
                                     const hop_run_opts *o);

/* What is kept of captured arrays, computed anew if they were written (call.c). */
hop_status hop_exec_fresh(hop_env *e, hop_exec *x);
/* False: it does not fit in some way, nothing was run, and out is as it was. Else *out_st is
 * what hop_run_with said, and out[] are new arrays if that is HOP_OK. */
bool hop_call_direct(hop_fn *f, hop_exec *x, hop_array *const *in, hop_array **out,
                     const hop_run_opts *o, hop_status *out_st);

#endif
