/* aot.h -- programs ahead of time: shared by the files that write them. What is written has three
 * parts: the code of a target, C that tests a call and makes it (glue), and declarations. */
#ifndef HOP_AOT_PRIVATE_H
#define HOP_AOT_PRIVATE_H

#include "hop/aot.h"
#include "loop/loop.h"

/* One function to be written. Texts are in the env's scratch memory. */
typedef struct hop_aot_fn {
	const char      *from;         /* its name in the text */
	const hop_graph *g;
	hop_prog        *prog;
	const char      *name, *macro; /* in C: model_f, MODEL_F */
	const char     **in;           /* [nparam] inputs in C */
	const char     **sym;          /* [nsym] size parameters in C */
	bool             tests;        /* sizes may be refused */
} hop_aot_fn;

typedef struct hop_aot {
	hop_env    *env;
	const char *file;              /* the last part of the path */
	const char *name, *macro;      /* that in C: model, MODEL */
	bool        in_c;              /* glue is in a file of its own, not in the header */
	int         n;
	hop_aot_fn *fn;
} hop_aot;

/* Graphs under names to PATH.h and PATH.o or PATH.c. Needs a guard. */
typedef struct hop_aot_want {
	const char        *name;
	const hop_graph   *g;
	uint32_t           nin;            /* so many of its first inputs have names */
	const char *const *in;
} hop_aot_want;
hop_status hop_aot_files(hop_env *e, int n, const hop_aot_want *want, const char *path,
                         const hop_aot_opts *o);

/* names.c: fill in all names of C; refuse those that meet. */
hop_status  hop_aot_names(hop_aot *a, const hop_aot_want *want, const char *path);
const char *hop_aot_fmt(hop_env *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* expr.c: C expressions and types. A size over the texts of its symbols; *bad is set (hop_bad)
 * when it leaves 64 bits. */
void        hop_aot_put_size(hop_buf *o, hop_size s, const char *const *sym);
/* first * each dimension, of which none is negative, at most `most`, a number in C. */
void        hop_aot_put_count(hop_buf *o, const hop_type *t, const char *const *sym,
                              int64_t first, const char *most);
const char *hop_aot_ctype(hop_dtype d);
void        hop_aot_put_str(hop_buf *o, const char *s);       /* a literal */
/* "file:line: ", or nothing. */
void        hop_aot_put_loc(hop_buf *o, hop_env *e, hop_loc l);
bool        hop_aot_count(const hop_type *t, int64_t *out_n);  /* if it is a constant */

/* declare.c: what the user reads. */
void        hop_aot_declare(hop_aot *a, const hop_aot_fn *f, hop_buf *o);
/* (a, b) of a function: all parameters, or only the sizes. */
void        hop_aot_put_params(const hop_aot_fn *f, hop_buf *o, const char *head);
void        hop_aot_put_sizes(const hop_aot_fn *f, hop_buf *o, bool types);
const char *hop_aot_linkage(const hop_aot *a);                 /* before each function */

/* glue.c, effect.c: the functions themselves. */
void        hop_aot_glue(hop_aot *a, const hop_aot_fn *f, hop_buf *o);
void        hop_aot_effects(hop_aot *a, const hop_aot_fn *f, hop_buf *o);

/* kernel.c: what programs call that is not ours. May they? Then: declarations of kernels, the source
 * of those that are C, and the end of the case of an effect that calls one. */
hop_status  hop_aot_may_call(const hop_aot *a, const hop_prog *p);
void        hop_aot_kernels(hop_aot *a, hop_buf *o);
void        hop_aot_sources(hop_aot *a, hop_buf *o);
void        hop_aot_put_kernel(hop_buf *o, const hop_leffect *f);

#endif
