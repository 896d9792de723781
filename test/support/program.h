/* program.h -- random programs: closed, well-typed graphs over the whole table, operators
 * nested in operators. What a program computes is of no interest; that all ways to run it
 * agree is. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "ir/build.h"

typedef struct gen_opts {
	uint64_t seed;
	int      steps;            /* ops of the outermost graph, about */
	int      depth;            /* operators within operators */
	bool     sizes;            /* with a size parameter */
	bool     effects;          /* with prints */
	bool     f32;              /* with f32 among the f64 */
} gen_opts;

/* The same options give the same graph. A failure is a bug of the generator or of
 * inference. Values stay small, and derivatives exist almost everywhere. */
hop_status gen_program(hop_env *e, const gen_opts *o, hop_graph **out_g);

/* ---- between program.c and program_hop.c ---- */

typedef struct gen {
	hop_env        *e;
	const gen_opts *o;
	uint64_t        state;
} gen;

/* A graph being made, and the values it has so far. */
typedef struct gen_scope {
	gen      *g;
	hop_build b;
	hop_val  *pool;
	size_t    n, cap;
	int       depth;           /* operators may still nest this deep */
} gen_scope;

uint32_t  gen_below(gen *g, uint32_t n);                  /* 0 .. n-1 */
void      gen_open(gen_scope *s, gen *g, int depth);
void      gen_add(gen_scope *s, hop_val v);               /* to the pool */
void      gen_steps(gen_scope *s, int n);
hop_val   gen_any(gen_scope *s);                          /* from the pool */
hop_val   gen_want(gen_scope *s, const hop_type *t);      /* some value of that type */
hop_val   gen_tame(gen_scope *s, hop_val v);              /* bounded, if a float */
const hop_type *gen_type(gen *g);                         /* float, int or bool */
const hop_type *gen_float(gen *g);
void      gen_operator(gen_scope *s);                     /* one op with bodies */

#endif
