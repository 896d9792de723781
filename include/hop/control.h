/** Operators with bodies. A body may use values of enclosing traces (they become operands),
 * write to them (the writes are seen outside), return its inputs, and return one value
 * twice. Functions that return int give the number of results, 0 after a failure; out
 * has room for cap. */
#ifndef HOP_CONTROL_H
#define HOP_CONTROL_H

#include "hop/tree.h"
#include "hop/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One of two bodies, on the same inputs. pred: one element; not bool means not zero. The
 * results of both have equal types. */
int hop_at_cond(hop_trace *t, const char *file, int line, hop_value pred, hop_body *then_,
                hop_body *else_, void *user, int nin, const hop_value *in, int cap,
                hop_value *out);
#define hop_cond(t, ...) hop_at_cond(t, __FILE__, __LINE__, __VA_ARGS__)
/** The same for results whose sizes may differ: each has the larger size on every axis, zeros
 * behind what is there; then one i64 count for each axis that differs, in order. */
int hop_at_cond_sized(hop_trace *t, const char *file, int line, hop_value pred,
                      hop_body *then_, hop_body *else_, void *user, int nin,
                      const hop_value *in, int cap, hop_value *out);
#define hop_cond_sized(t, ...) hop_at_cond_sized(t, __FILE__, __LINE__, __VA_ARGS__)
/** The same without counts: each result is of the size that the branch taken gave it, which only the
 * run knows. Where the predicate differs between lanes there is no such size: use hop_cond_sized. */
int hop_at_cond_exact(hop_trace *t, const char *file, int line, hop_value pred, hop_body *then_,
                      hop_body *else_, void *user, int nin, const hop_value *in, int cap,
                      hop_value *out);
#define hop_cond_exact(t, ...) hop_at_cond_exact(t, __FILE__, __LINE__, __VA_ARGS__)

/** One of nbranch bodies, counted from 0. index: one whole number; one before the first means
 * the first, one past the last the last. */
int hop_at_switch(hop_trace *t, const char *file, int line, hop_value index, int nbranch,
                  hop_body *const *branch, void *user, int nin, const hop_value *in, int cap,
                  hop_value *out);
#define hop_switch(t, ...) hop_at_switch(t, __FILE__, __LINE__, __VA_ARGS__)
/** The same for results whose sizes may differ, as of hop_cond_sized and hop_cond_exact. */
int hop_at_switch_sized(hop_trace *t, const char *file, int line, hop_value index, int nbranch,
                        hop_body *const *branch, void *user, int nin, const hop_value *in, int cap,
                        hop_value *out);
#define hop_switch_sized(t, ...) hop_at_switch_sized(t, __FILE__, __LINE__, __VA_ARGS__)
int hop_at_switch_exact(hop_trace *t, const char *file, int line, hop_value index, int nbranch,
                        hop_body *const *branch, void *user, int nin, const hop_value *in, int cap,
                        hop_value *out);
#define hop_switch_exact(t, ...) hop_at_switch_exact(t, __FILE__, __LINE__, __VA_ARGS__)
/** The same. Batched, lanes are sorted by their branch and each branch runs on its own lanes only;
 * otherwise all branches run on all lanes, and each lane takes the results of its own. Branches
 * with effects run so in any case. */
int hop_at_switch_partition(hop_trace *t, const char *file, int line, hop_value index, int nbranch,
                            hop_body *const *branch, void *user, int nin, const hop_value *in,
                            int cap, hop_value *out);
#define hop_switch_partition(t, ...) hop_at_switch_partition(t, __FILE__, __LINE__, __VA_ARGS__)

/** How a loop of many lanes, made by batching, is run where the lanes end at different trips. What
 * a lane computes is the same in all of them. A loop with effects, or whose gradient keeps all
 * trips of all lanes, is frozen whatever is asked for. On a device small lanes are a thread's each,
 * unless they are to be frozen. */
enum hop_lanes_how {
	HOP_LANES_AUTO,            /**< all lanes; of many, those that run long are compacted */
	HOP_LANES_FREEZE,          /**< all lanes until the last ends; one that has ended stays as it is */
	HOP_LANES_INTERCHANGE,     /**< groups of lanes, each until its last ends */
	HOP_LANES_COMPACT          /**< some lanes at a time: where one ends, the next begins */
};

typedef struct hop_while_opts {
	size_t          size;          /**< sizeof in the caller's build; grows at the end only */
	int64_t         max_trips;     /**< 0 = no bound */
	const hop_tree *carry;         /**< names of the carries, for messages; or NULL */
	int             slots;         /**< reverse mode keeps: 0 what every trip needs, n > 0 that of
	                                * n trips and n states, and runs the others again */
	enum hop_lanes_how lanes;      /**< how it is run when it is batched */
} hop_while_opts;
#ifndef __cplusplus
#define HOP_WHILE_OPTS(...) (&(hop_while_opts){ .size = sizeof(hop_while_opts), __VA_ARGS__ })
#endif

/** While test(carries) says true, carries = body(carries). Carries start as copies of init:
 * writes to them stay inside. opts NULL = defaults. out_trips may be NULL. Returns ncarry. */
int hop_at_while(hop_trace *t, const char *file, int line, hop_body *test, hop_body *body,
                 void *user, int ncarry, const hop_value *init, const hop_while_opts *opts,
                 hop_value *out, hop_value *out_trips);
#define hop_while(t, ...) hop_at_while(t, __FILE__, __LINE__, __VA_ARGS__)

/** The same, keeping what every trip gives: the body returns next carries, then what is stacked.
 * out: carries, then stacks of max_trips rows (opts must say it), zero from row out_trips on.
 * Returns how many. */
int hop_at_while_stack_output(hop_trace *t, const char *file, int line, hop_body *test,
                              hop_body *body, void *user, int ncarry, const hop_value *init,
                              const hop_while_opts *opts, int cap, hop_value *out,
                              hop_value *out_trips);
#define hop_while_stack_output(t, ...) \
	hop_at_while_stack_output(t, __FILE__, __LINE__, __VA_ARGS__)

typedef struct hop_scan_opts {
	size_t          size;          /**< sizeof in the caller's build; grows at the end only */
	int             axis;          /**< of the xs, and where the ys are stacked; without xs,
	                                * not negative */
	bool            reverse;       /**< from the last step to the first */
	bool            has_length;    /**< length is given: needed when there are no xs */
	hop_dim         length;
	int             every;         /**< reverse mode keeps: 0 all, k each k-th carry, -1 sqrt */
	bool            counted;       /**< only the first `count` steps (i64 scalar) run */
	hop_value       count;
	const hop_tree *carry, *x;     /**< names, for messages; or NULL */
	int             slots;         /**< as of a while; not together with every */
	int             unroll;        /**< so many steps of the body in one step of the loop; 0, 1:
	                                * one */
} hop_scan_opts;
#ifndef __cplusplus
#define HOP_SCAN_OPTS(...) (&(hop_scan_opts){ .size = sizeof(hop_scan_opts), __VA_ARGS__ })
#endif

/** carries, ys[i] = body(carries, xs[i]). The body gets carries, then slices; it returns next
 * carries, then the outputs of the step. out: carries, then stacked outputs. out_steps
 * (may be NULL): how many steps ran. */
int hop_at_scan(hop_trace *t, const char *file, int line, hop_body *body, void *user,
                int ncarry, const hop_value *init, int nx, const hop_value *xs,
                const hop_scan_opts *opts, int cap, hop_value *out, hop_value *out_steps);
#define hop_scan(t, ...) hop_at_scan(t, __FILE__, __LINE__, __VA_ARGS__)
/** In the body of a scan: this step is the last if pred (bool scalar) holds. */
void hop_at_stop_if(hop_trace *t, const char *file, int line, hop_value pred);
#define hop_stop_if(t, ...) hop_at_stop_if(t, __FILE__, __LINE__, __VA_ARGS__)

/** ys[i] = body(xs[i]) for each slice, in no order. The body gets slices and returns what is
 * stacked; it may not write to what it captures. axis: of the xs, and where results are
 * stacked. */
int hop_at_map(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nx,
               const hop_value *xs, int axis, int cap, hop_value *out);
#define hop_map(t, ...) hop_at_map(t, __FILE__, __LINE__, __VA_ARGS__)
/** The same, `chunk` slices at a time: the body is batched over them (as by hop_vmap_at), and what
 * is left over at the end runs slice by slice. For bodies that are faster batched, where a batch of
 * all slices would take too much memory. Results are those of hop_map. */
int hop_at_map_chunked(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nx,
                       const hop_value *xs, int axis, int chunk, int cap, hop_value *out);
#define hop_map_chunked(t, ...) hop_at_map_chunked(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- on top of them ---- */

/** The end of a count: a size, which is known when a function is captured or called, or data. */
typedef struct hop_limit {
	hop_dim   n;
	hop_value v;                   /**< HOP_NONE = the size n */
} hop_limit;
typedef struct hop_fori_opts {
	size_t          size;          /**< sizeof in the caller's build; grows at the end only */
	int             every, unroll; /**< as in hop_scan_opts, where it is a scan */
	int             slots;         /**< as there */
	int64_t         max_trips;     /**< of limits that are data: no more than so many; 0 = no
	                                * bound */
	const hop_tree *carry;         /**< names of the carries, for messages; or NULL */
} hop_fori_opts;
#ifndef __cplusplus
#define HOP_FORI_OPTS(...) (&(hop_fori_opts){ .size = sizeof(hop_fori_opts), __VA_ARGS__ })
#endif

/** carries = body(i, carries) for i = lower, lower + 1 .. upper - 1, an i64 scalar. lower and upper
 * are integers of C or sizes, and then it is a scan; or one of them is an i64 scalar, and then it is
 * a scan of max_trips steps, of which as many run as there are, or without max_trips a while. opts
 * NULL = defaults. Returns ncarry. In blocks: HOP_FOR, or HOP_WHILE for data. */
int hop_at_fori_loop(hop_trace *t, const char *file, int line, hop_limit lower, hop_limit upper,
                     hop_body *body, void *user, int ncarry, const hop_value *init,
                     const hop_fori_opts *opts, hop_value *out);
#define hop_fori_loop(t, lower, upper, ...) \
	hop_at_fori_loop(t, __FILE__, __LINE__, HOP_LIMIT_(lower), HOP_LIMIT_(upper), __VA_ARGS__)

/** One body for each of n groups of nin tensors, whose types need not be equal: body(in[0] ..
 * in[nin-1]), body(in[nin] ..). Each is a region, so that groups of equal types share one graph,
 * compiled once. out: the results of the first, of the second ..; all give equally many. Returns
 * how many there are in all. In blocks: a loop of C around HOP_REGION. */
int hop_at_foreach_map(hop_trace *t, const char *file, int line, hop_body *body, void *user, int n,
                       int nin, const hop_value *in, int cap, hop_value *out);
#define hop_foreach_map(t, ...) hop_at_foreach_map(t, __FILE__, __LINE__, __VA_ARGS__)

typedef struct hop_assoc_opts {
	size_t           size;         /**< sizeof in the caller's build; grows at the end only */
	int              axis;         /**< of all xs and results */
	bool             reverse;      /**< from the last slice to the first */
	bool             exclusive;    /**< without the slice it stands at; needs init */
	const hop_value *init;         /**< what comes before the first slice, one a leaf; or NULL */
	const hop_tree  *x;            /**< names of the leaves, for messages; or NULL */
} hop_assoc_opts;
#ifndef __cplusplus
#define HOP_ASSOC_OPTS(...) (&(hop_assoc_opts){ .size = sizeof(hop_assoc_opts), __VA_ARGS__ })
#endif

/** All prefixes of the xs under an associative combine: y[0] = x[0], y[i] = combine(y[i-1], x[i]);
 * with init they begin with it, exclusive ones with it alone. Leaves are slices of the xs, along
 * one axis; else they may differ. combine gets the leaves of what comes first, then those of what
 * comes next, and returns leaves of the same types; it may capture values, but neither write to
 * them nor have effects: how its calls are grouped depends on sizes alone. An init that is a number
 * is repeated. Returns nx. */
int hop_at_associative_scan(hop_trace *t, const char *file, int line, hop_body *combine,
                            void *user, int nx, const hop_value *xs,
                            const hop_assoc_opts *opts, hop_value *out);
#define hop_associative_scan(t, ...) hop_at_associative_scan(t, __FILE__, __LINE__, __VA_ARGS__)
/** init and all slices of the xs under an associative combine, as above: of no slices it is init.
 * Returns nx. */
int hop_at_reduce_with(hop_trace *t, const char *file, int line, hop_body *combine, void *user,
                       int nx, const hop_value *init, const hop_value *xs, int axis,
                       hop_value *out);
#define hop_reduce_with(t, ...) hop_at_reduce_with(t, __FILE__, __LINE__, __VA_ARGS__)

/** A body as a graph of its own, called here: equal regions are compiled once. */
int hop_at_region(hop_trace *t, const char *file, int line, const char *name, hop_body *body,
                  void *user, int nin, const hop_value *in, int cap, hop_value *out);
#define hop_region(t, ...) hop_at_region(t, __FILE__, __LINE__, __VA_ARGS__)

typedef struct hop_region_opts {
	size_t     size;                   /**< sizeof in the caller's build; grows at the end only */
	hop_static statics[HOP_STATICS];   /**< part of the key, up to the first whose data is NULL */
	bool       check;                  /**< run the body all the same, and refuse one that differs;
	                                    * also if the environment has HOP_CHECK=regions */
	bool       no_inline;              /**< a function of its own in compiled code, also if it is
	                                    * called once or small */
	bool       no_fuse;                /**< every value in it is computed by itself and stored */
	int        unroll;                 /**< n > 1: scans inside run n steps at a time, unless they
	                                    * say otherwise; 1: one; 0: as the region around says */
	const char *hints;                 /**< "key=value,..": kept with it; or NULL */
	const char *to;                    /**< the engine that takes it when it is compiled
	                                    * (hop/delegate.h); "a, b, hop": the first of them that does,
	                                    * where `hop` is the library's own compiler; NULL = that */
} hop_region_opts;
#ifndef __cplusplus
#define HOP_REGION_OPTS(...) (&(hop_region_opts){ .size = sizeof(hop_region_opts), __VA_ARGS__ })
#endif

/** The same with options; of a region without a key, statics and check are refused. They change no
 * value, and stay with the region in derivatives and batches. opts NULL: none. In blocks:
 * HOP_REGION_WITH. docs/regions.md has more. */
int hop_at_region_with(hop_trace *t, const char *file, int line, const char *name, hop_body *body,
                       void *user, const hop_region_opts *opts, int nin, const hop_value *in,
                       int cap, hop_value *out);
#define hop_region_with(t, ...) hop_at_region_with(t, __FILE__, __LINE__, __VA_ARGS__)

/** The same with a key that is trusted: a body that was captured in this context under an equal key
 * is called again, and not run. The key is the function, the contents of the static data, and the
 * types of the inputs; the body must depend on nothing else. So it has parameters of its own, copies
 * of the inputs: it writes to nothing outside, and using a value from outside is refused; a number
 * is a tensor there. Static data of keyed regions inside it must lie within its own. opts NULL: no
 * static data. docs/capture.md has more. */
int hop_at_region_keyed(hop_trace *t, const char *file, int line, const char *name,
                        hop_body *body, void *user, const hop_region_opts *opts, int nin,
                        const hop_value *in, int cap, hop_value *out);
#define hop_region_keyed(t, ...) hop_at_region_keyed(t, __FILE__, __LINE__, __VA_ARGS__)

/** A function with its own derivative; docs/custom.md has examples.
 * fwd: inputs -> results; hop_save keeps values for bwd. An input that it writes (hop_copy_,
 * hop_add_ ..) has the new value outside, too, which is one more result behind those returned, unless
 * it is one of them.
 * bwd: saved values, cotangents of the float results -> cotangents of the float inputs; HOP_NONE
 * stands for zero. NULL = what jvp says, transposed: jvp must then be linear in the tangents.
 * jvp: inputs, tangents of the float inputs -> tangents of the float results. NULL = what bwd says,
 * transposed: the slope of its results by the cotangents, at cotangents of zero.
 * batch: inputs, each with the lanes as a first axis, then a bool scalar for each, whether its lanes
 * differ -> all results, each with the lanes first. It is how fwd is batched, and may capture nothing;
 * the rule stays in force. NULL = fwd is batched op by op, or with `lanewise` run for one lane after
 * the other.
 * Values captured from outside are constants to this derivative, but for hop_give_grad. */
typedef struct hop_custom_rule {
	size_t    size;                /**< sizeof in the caller's build; grows at the end only */
	hop_body *fwd, *bwd, *jvp, *batch;
	bool      lanewise;            /**< batched, it is a loop over the lanes */
	bool      once;                /**< what bwd and jvp give is not differentiated: it is refused */
} hop_custom_rule;
int hop_at_custom(hop_trace *t, const char *file, int line, const hop_custom_rule *rule,
                  void *user, int nin, const hop_value *in, int cap, hop_value *out);
#define hop_custom(t, ...) hop_at_custom(t, __FILE__, __LINE__, __VA_ARGS__)
/** In fwd: bwd gets these, in order. */
void hop_at_save(hop_trace *t, const char *file, int line, int n, const hop_value *v);
#define hop_save(t, ...) hop_at_save(t, __FILE__, __LINE__, __VA_ARGS__)
/** In fwd: these results have no derivative: bwd gets no cotangent of them, jvp gives no tangent. What
 * is no float has none anyway. */
void hop_at_nondiff(hop_trace *t, const char *file, int line, int n, const hop_value *v);
#define hop_nondiff(t, ...) hop_at_nondiff(t, __FILE__, __LINE__, __VA_ARGS__)
/** In bwd: the cotangent of a float that was captured from outside. More than one are added up. */
void hop_at_give_grad(hop_trace *t, const char *file, int line, hop_value captured, hop_value d);
#define hop_give_grad(t, ...) hop_at_give_grad(t, __FILE__, __LINE__, __VA_ARGS__)
/** In jvp: the tangent of such a one. */
hop_value hop_at_tangent_of(hop_trace *t, const char *file, int line, hop_value captured);
#define hop_tangent_of(t, ...) hop_at_tangent_of(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- transforms inside a body: the body is captured, transformed and called ---- */

/** The results of the body (the first a float scalar), then its gradients for the inputs
 * wrt[0..nwrt). */
int hop_at_grad_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
                const hop_value *in, int nwrt, const int *wrt, int cap, hop_value *out);
#define hop_grad_at(t, ...) hop_at_grad_at(t, __FILE__, __LINE__, __VA_ARGS__)
/** The results, then the derivative along tangents[k] of the inputs wrt[k], a float result
 * each. */
int hop_at_jvp_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
               const hop_value *in, int nwrt, const int *wrt, const hop_value *tangents,
               int cap, hop_value *out);
#define hop_jvp_at(t, ...) hop_at_jvp_at(t, __FILE__, __LINE__, __VA_ARGS__)
/** The results, then the cotangents of the inputs wrt[0..nwrt): of the float results they are
 * cotangents[0..nct), in order. */
int hop_at_vjp_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
               const hop_value *in, int nwrt, const int *wrt, int nct,
               const hop_value *cotangents, int cap, hop_value *out);
#define hop_vjp_at(t, ...) hop_at_vjp_at(t, __FILE__, __LINE__, __VA_ARGS__)
/** The transposed of a linear body, applied: in[0..nin) are what the body takes, of which only the
 * types matter for those in wrt; ct are values like its results. Returns values like the inputs wrt.
 * A body that is not linear in them, or adds something else, is refused. */
int hop_at_linear_transpose_at(hop_trace *t, const char *file, int line, hop_body *body, void *user,
                               int nin, const hop_value *in, int nwrt, const int *wrt, int nct,
                               const hop_value *ct, int cap, hop_value *out);
#define hop_linear_transpose_at(t, ...) \
	hop_at_linear_transpose_at(t, __FILE__, __LINE__, __VA_ARGS__)
/** Jacobians of the only result: one a wrt, of shape [result, input]. */
int hop_at_jac_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
               const hop_value *in, int nwrt, const int *wrt, int cap, hop_value *out);
#define hop_jac_at(t, ...) hop_at_jac_at(t, __FILE__, __LINE__, __VA_ARGS__)
/** The body on every element of axis axes[i] of input i; -1 = the same for all; HOP_OWN_KEY = a key
 * (i64), of which every lane gets one of its own, hop_fold_in(key, lane). Results are stacked on
 * axis 0. */
enum { HOP_OWN_KEY = -100 };
int hop_at_vmap_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
                const hop_value *in, const int *axes, int cap, hop_value *out);
#define hop_vmap_at(t, ...) hop_at_vmap_at(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- what hop_fori_loop takes ---- */

static inline hop_limit hop_limit_int(int64_t n)
{
	hop_limit l = { hop_n(n), { 0, 0 } };
	return l;
}
static inline hop_limit hop_limit_dim(hop_dim n)
{
	hop_limit l = { n, { 0, 0 } };
	return l;
}
static inline hop_limit hop_limit_value(hop_value v)
{
	hop_limit l = { hop_n(0), v };
	return l;
}
#ifdef __cplusplus
}
inline hop_limit hop_limit_of(int n) { return hop_limit_int(n); }
inline hop_limit hop_limit_of(int64_t n) { return hop_limit_int(n); }
inline hop_limit hop_limit_of(hop_dim n) { return hop_limit_dim(n); }
inline hop_limit hop_limit_of(hop_value v) { return hop_limit_value(v); }
#define HOP_LIMIT_(n) hop_limit_of(n)
#else
#define HOP_LIMIT_(n) \
	_Generic((n), hop_dim: hop_limit_dim, hop_value: hop_limit_value, default: hop_limit_int)(n)
#endif

#endif
