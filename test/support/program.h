/* program.h -- random programs: closed, well-typed graphs over the whole table, operators
 * nested in operators. What a program computes is of no interest; that all ways to run it
 * agree is. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "ir/build.h"

enum { GEN_MAXSYM = 3, GEN_IN = 4, GEN_OUT = 3 };

typedef struct gen_opts {
	uint64_t seed;
	const uint8_t *bytes;      /* choices come from here first; NULL = from the seed alone */
	size_t   nbyte;
	int      steps;            /* ops of the outermost graph, about */
	int      depth;            /* operators within operators */
	int      nsym;             /* size parameters */
	int      risks;            /* ops whose sizes need not fit: the program may refuse */
	bool     locals;           /* with sizes that are made from data */
	bool     wide;             /* with constant sizes up to 67, and 0 */
	bool     effects;          /* with prints */
	bool     f32;              /* with f32 among the f64 */
} gen_opts;

/* The same options give the same graph. A failure is a bug of the generator or of
 * inference. Values stay small, and derivatives exist almost everywhere. */
hop_status gen_program(hop_env *e, const gen_opts *o, hop_graph **out_g);

bool gen_has_f32(const hop_graph *g);       /* or less, anywhere, also in bodies */
/* The distance from 1 to the next number of the coarsest float dtype in it; 0 without floats. */
double gen_eps(const hop_graph *g);
/* Has it a loop as long as a size? A long loop makes chaos of the last bit. */
bool gen_loops(const hop_graph *g);
/* Nodes of g and of its bodies, as often as they stand there; counted up to `most`. */
uint32_t gen_weight(const hop_graph *g, uint32_t most);

/* ---- between program.c, program_hop.c and program_size.c ---- */

typedef struct gen {
	hop_env        *e;
	const gen_opts *o;
	uint64_t        state;
	size_t          at;        /* bytes used */
	int             risks;     /* left */
	bool            narrow;    /* a body takes less than it is given */
	hop_range       range[GEN_MAXSYM];
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
hop_val   gen_any_float(gen_scope *s);
hop_val   gen_want(gen_scope *s, const hop_type *t);      /* some value of that type */
hop_val   gen_tame(gen_scope *s, hop_val v);              /* bounded, if a float */
const hop_type *gen_type(gen *g);                         /* float, int or bool */
const hop_type *gen_float(gen *g);
int64_t   gen_count(const hop_type *t);                   /* elements, about */
void      gen_operator(gen_scope *s);                     /* one op with bodies */
void      gen_assoc(gen_scope *s);                        /* associative_scan or reduce */
hop_size  gen_size(gen *g);                               /* a constant or of symbols */
hop_val   gen_risky(gen_scope *s);                        /* an op whose sizes may not fit */
hop_val   gen_local(gen_scope *s);                        /* a size from data; a scalar */
hop_val   gen_guard(gen_scope *s);                        /* a predicate on sizes */

/* ---- for operators. One more is a function that captures, makes bodies, emits the node and adds
 * its results, and its name in `operators` at the end of program_hop.c, from which the judges, the
 * random programs and the deep fuzz target draw ---- */

uint32_t   gen_capture(gen_scope *s, hop_val *in);        /* up to GEN_IN values of s; their number */
uint32_t   gen_types(gen_scope *s, const hop_type **t);   /* of results: one or two */
hop_sizes  gen_sargs(gen_scope *s);                       /* bodies have all sizes of the program */
void       gen_add_all(gen_scope *s, uint32_t n, const hop_val *out);
/* A whole body: parameters of the types of in, results of the types wanted. */
hop_status gen_body(gen_scope *s, uint32_t nin, const hop_val *in, uint32_t nout,
                    const hop_type *const *want, hop_graph **out_g);
/* Its parts: c is the body, in s. */
void       gen_body_open(gen_scope *c, gen_scope *s);
void       gen_body_take(gen_scope *c, gen_scope *s, uint32_t n, const hop_val *in);
hop_status gen_body_close(gen_scope *s, gen_scope *c, uint32_t n, const hop_val *out,
                          hop_graph **out_g);
/* program_root.c */
void       gen_root(gen_scope *s);
void       gen_linear_solve(gen_scope *s);

#endif
