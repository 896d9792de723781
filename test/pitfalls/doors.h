/* doors.h -- what the helpers of the pitfalls share among themselves; tests need pitfall.h only. */
#ifndef DOORS_H
#define DOORS_H

#include "pitfall.h"

enum door { EAGER, INTERPRETED, COMPILED, NDOOR };
extern const char *const door_name[NDOOR];

/* One run of a body on these arrays, which have the types of in. */
hop_status go_through(enum door d, hop_body *f, void *user, int nin, const tensor *in,
                      hop_array **arrays, int nout, hop_array **out);
/* How many results it gives. */
int  results_of(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in);
void release(int n, hop_array **a);
/* Fails unless a is what was written down. */
void compare(const char *file, int line, const char *what, int k, const hop_array *a,
             const tensor *want);

#endif
