/* loop.h -- what while, scan, map and their eager forms share. */
#ifndef HOP_TRACE_LOOP_H
#define HOP_TRACE_LOOP_H

#include "trace/trace.h"

/* Operands of a loop: user carries, then written captures as carries; and where the
 * parameters of its bodies come from. */
struct hop_loop_lists {
	uint32_t       ncarry;         /* all */
	const hop_val *carry;
	hop_layout     layout;
};
/* Body parameters: carries, written captures, slices of xs, constants. */
void hop_loop_lists(hop_join *j, struct hop_loop_lists *l, uint32_t ncarry,
                    const hop_val *init, uint32_t nx, const hop_type *const *xtype);
/* Results in the same order: carries, written captures, the rest, stop unless HOP_BAD. */
hop_val *hop_loop_outs(hop_join *j, int body, uint32_t ncarry, uint32_t n, const hop_val *v,
                       hop_val stop);
/* Before the loop is emitted: the first n of its carries have the names of a tree, or of NULL. */
void hop_loop_name(hop_trace *t, int op, bool reverse, uint32_t ncarry, const hop_tree *tree, int n);
/* What is known of the carries of a loop when it begins. */
typedef struct hop_carries {
	const char            *op;
	int                    n;
	const hop_type *const *type;
	const bool            *number; /* it started as one; or NULL */
	const hop_tree        *tree;   /* names, for messages; or NULL */
	bool                   alone;  /* names are variables: nothing goes before them */
} hop_carries;
/* Do the carries that a body returns have the types they started with? Numbers are adapted
 * in v. */
bool hop_carry_check(hop_trace *t, hop_trace *body, const hop_carries *c, hop_val *v);
/* Each value of the draft as itself; and value v becomes map[v], wherever it is read. */
hop_val *hop_draft_map(hop_trace *body);
void hop_draft_subst(hop_trace *body, const hop_val *map);
/* Parameter i of the draft becomes number[i]; UINT32_MAX = it is not read. */
void hop_params_renumber(hop_trace *body, const uint32_t *number);

/* Rows that the steps of an eager loop gave, stacked: n outputs, of so many rows each. */
struct hop_rows {
	hop_array **y;
	uint32_t    n;
};

struct hop_while_call {
	const char      *op, *what;    /* while, or what is made of it; its body, for notes */
	hop_body        *test_fn, *body_fn;
	void            *user;
	int              ncarry, n;
	bool             stacks;       /* the body may give more than carries: room for cap results */
	int              cap;
	const hop_value *init;
	const void      *given;        /* the caller's options; NULL = opts are filled in */
	hop_while_opts   opts;
	hop_value       *out, trips;
	hop_val         *val;          /* carries in the parent */
	const hop_type **type;
	bool            *number;
	uint32_t        *store;        /* of each carry in the test */
	hop_trace       *test, *body;
	bool             block;        /* no functions; carries are the user's variables */
	/* eager */
	hop_array     **ten;
	struct hop_rows  ys;
	int64_t          count;
	bool             go;
};
/* All of it, for functions. Returns c->n. */
int  hop_while_run(hop_trace *t, const char *file, int line, struct hop_while_call *c);
void hop_while_begin(hop_trace *t, void *arg);
bool hop_while_test_ok(hop_trace *t, const struct hop_while_call *c, hop_trace *test);
bool hop_while_body_ok(hop_trace *t, struct hop_while_call *c, hop_trace *body);
void hop_while_end(hop_trace *t, void *arg);
bool hop_while_eager(hop_trace *t, const char *file, int line, struct hop_while_call *c);
/* Its steps: start; after the test, which sets go; after the body; after a body captured for its
 * types, when there was no trip; the results. */
void hop_while_arrays(hop_trace *t, void *arg);
void hop_while_tested(hop_trace *t, void *arg);
void hop_while_stepped(hop_trace *t, void *arg);
void hop_while_typed(hop_trace *t, void *arg);
void hop_while_results(hop_trace *t, void *arg);
/* Arrays that a loop held, n of them, given back. */
void hop_loop_release(hop_trace *t, hop_array **x, uint32_t n);

struct hop_scan_call {
	const char      *op, *what;    /* scan or map; its body, for notes */
	bool             unordered;    /* a map */
	int              chunk;        /* of a map: slices at a time; 0 = one */
	int              ncarry, nx, cap, n;
	const hop_value *init, *xs;
	const void      *given;        /* the caller's options; NULL = opts are filled in */
	hop_scan_opts    opts;
	hop_value       *out, steps;
	hop_val         *val;          /* carries, then xs with the scanned axis first */
	const hop_type **type;         /* carries, then slices */
	bool            *number;       /* carries that started as numbers */
	hop_size         length;
	hop_val          count;        /* HOP_ZERO = not counted */
	hop_trace       *body;
	bool             block;        /* carries are the user's variables */
	/* Called when all that the body captures is known: says what the xs are; or NULL. */
	void           (*choose_xs)(hop_trace *t, struct hop_scan_call *c, const hop_join *j);
	/* eager */
	hop_array     **ten;
	struct hop_rows  ys;
	int64_t          step, total, nrun;
	bool             stop;
};
/* x with an axis moved to the front, or the front axis moved back to it. */
hop_val hop_move_axis(hop_trace *t, hop_val x, int axis, bool back);
/* A stacked output, its scanned axis moved to where the user wants it. */
hop_value hop_scan_stacked(hop_trace *t, const struct hop_scan_call *c, hop_val y);
bool hop_scan_body_ok(hop_trace *t, struct hop_scan_call *c, hop_trace *body);
/* All of it, for functions. Returns c->n. */
int  hop_scan_run(hop_trace *t, const char *file, int line, struct hop_scan_call *c, hop_body *body,
                  void *user);
void hop_scan_begin(hop_trace *t, void *arg);
void hop_scan_end(hop_trace *t, void *arg);
bool hop_scan_eager(hop_trace *t, const char *file, int line, struct hop_scan_call *c,
                    const hop_body_args *body);
/* Its steps: start; before the body; after it; after a body captured for its types, when there
 * is nothing to run; the results. */
void hop_scan_arrays(hop_trace *t, void *arg);
void hop_scan_sliced(hop_trace *t, void *arg);
void hop_scan_stepped(hop_trace *t, void *arg);
void hop_scan_typed(hop_trace *t, void *arg);
void hop_scan_results(hop_trace *t, void *arg);

/* The node of an associative_scan or a reduce; eager, a graph of it that is run at once. */
hop_status hop_assoc_here(hop_trace *t, const hop_assoc *a, const hop_val *in, hop_val *out);

#endif
