/* hops.h -- the operators with bodies: how their operands and results are laid out.
 * This page is the contract between capture, inference, evaluation, transforms and
 * lowering; hops.def says it for machines. All bodies of a node take the node's size
 * arguments `sargs` as their size parameters, so a body's type T reads as T[sargs] in the
 * node's graph.
 *
 * call    in: the body's parameters.           out: its results.
 *         What else it says changes no value, and stays with it and what is derived from it:
 *         no_inline: the body stays a function of its own. no_fuse: every value in it is made by
 *         itself and stored, and nothing is computed across its border. unroll: n > 1: the scans
 *         in it run n steps at a time, unless they say otherwise; 1: none. hints: "key=value,..",
 *         for whoever takes the region over. to: the name of who does.
 *
 * checkpoint  as call. A reverse pass saves its operands and what the names in its body say, and
 *         computes the rest again; with a budget, 0 < budget <= 1, also what is most worth it of that
 *         share of the bytes that it would else save. Its halves are calls with no_inline.
 *
 * packed  in: x, captures.                     out: x.
 *         pack(x, captures) -> saved;  unpack(saved) -> x. A reverse pass that saves x saves what
 *         pack gives instead, and reads what unpack makes of it; they do not run otherwise.
 *
 * cond    in: pred (bool scalar), operands.    out: the results of either body, whose types
 *         must be equal. then(operands), else_(operands). partition: batched by a predicate
 *         that differs between lanes, either body runs on its own lanes only.
 *
 * while   in: ncarry carries, then consts.
 *         test(carries, consts) -> bool scalar;  body(carries, consts) -> carries', tapes.
 *         out: carries, trips (i64 scalar), tapes: each of type [cap, t] for a tape result
 *         of type t. cap is max_trips when max_trips > 0; else, when there are tapes, the
 *         local symbol `sym` of the graph, bound by this node to the trip count; sym is -1
 *         when there is no such symbol. The loop also stops after max_trips trips (0 = no
 *         bound). Tape entries past the trip count are zero.
 *         slots: what reverse mode keeps: 0 = the residuals of every trip, n > 0 = n states
 *         and what n trips save; the rest is run again. A loop with tapes keeps all.
 *         lanes: batching made it of a loop whose lanes end at different trips. The last size
 *         parameter of the bodies counts the lanes. Every carry has it in front and mentions it
 *         nowhere else, and a const in which it stands so has a row a lane. Carry 0, bool, says
 *         which lanes still run, and test whether any does; a lane that does not keeps its
 *         carries and leaves zeros on the tapes. With max_trips a lane ends by itself when it
 *         has run so many. What a lane computes depends on no other lane: this is promised, not
 *         checked. how says which of the forms that give the same a compilation takes; while
 *         there are no lanes yet, it is what batching will ask for.
 *
 * scan    in: count (i64 scalar, only if `counted`), ncarry carries, nx xs of type
 *         [length, t], then consts.
 *         body(carries, slices of xs, consts) -> carries', ys, stop (bool scalar, only if
 *         `stops`).
 *         out: carries, ys of type [length, t], steps (i64 scalar, only if `stops`).
 *         Visits t = 0 .. n-1, or n-1 .. 0 when `reverse`, where n = length, or count clamped
 *         to 0 .. length when counted. When a step says stop, its results are kept and
 *         no later step runs. ys of steps not run are zero. steps = number of steps run.
 *         every: what reverse mode keeps: 0 = all residuals, k > 0 = carries every k steps
 *         and runs the others again, -1 = k near the square root of length. slots: as of while; not
 *         together with every. unroll: so many steps at a time when it is compiled; 1: as it is; 0:
 *         as the region around it says.
 *
 * map     in: nx xs of type [length, t], then consts.   out: ys of type [length, t].
 *         body(slices of xs, consts) -> ys. The steps have no order; otherwise a scan.
 *
 * associative_scan
 *         in: ninit inits (none, or one a leaf), nx xs of type [length, t], then consts.
 *         combine(left leaves, right leaves, consts) -> leaves, all of the types t; it is
 *         associative. out: nx results of type [length, t]. Written o:
 *         inclusive y_t = x_0 o .. o x_t, behind init o if there is one; exclusive y_0 = init,
 *         y_t = init o x_0 o .. o x_{t-1}. `reverse`: the same in flipped order, the first
 *         operand of combine being what comes first in that order. How the leaves are
 *         associated depends on sizes alone; the meaning is the fold from the left.
 *
 * reduce  in: nx inits, nx xs of type [length, t], then consts.   out: nx results of type t,
 *         init o x_0 o .. o x_{length-1}.
 *
 * switch  in: index (i64 scalar), operands.     out: the results of any branch.
 *         branch k runs, k being index clamped to 0 .. number of branches - 1. partition: as
 *         for cond.
 *
 * custom  in: operands.                         out: nouts results, then nres residuals.
 *         fwd(operands) -> nouts results, saved values. nres is 0, or the number of saved
 *         values when reverse mode re-emits the node. nondiff: results that no derivative sees;
 *         the others that are floats are the differentiated ones.
 *         bwd(saved, cotangents of the differentiated results) -> cotangents of the float operands.
 *         jvp(operands, tangents of the float operands) -> tangents of the differentiated
 *         results. One of the two may be absent: without bwd jvp is linear in the tangents, and
 *         nothing is saved. once: what they give is not differentiated again; then both may be
 *         absent, and there is no derivative at all.
 *         batch (may be absent): takes one more size parameter, the number of lanes, last;
 *         operands, each with a leading axis of it, then a bool for each: whether it differs
 *         between lanes -> results, each with the leading axis. lanewise: batched, it runs lane
 *         by lane.
 *
 * hook    in: x (float), ntold zeros, operands.     out: x.
 *         body(the cotangent of x, operands) -> what goes on as the cotangent of x, and a value for each
 *         name in `tells`, which are separated by commas. ntold is 0, or as many as there are names
 *         when a gradient is to give the values out: they are the cotangents of the zeros, whose types
 *         they have. Tangents do not see a hook. The operands get gradients from what the body did with
 *         them, when a gradient is differentiated again, and none before.
 *
 * replay  the reverse of a loop whose states were not kept. Only transforms make it.
 *         in: trips (steps that ran), stride, count (i64 scalars); ncarry carries as the loop
 *         began; nx xs of type [length, t]; consts; for each carry the states kept, of type
 *         [rows, t], that of step i * stride in row i, for i < count (rows = 0: a row for
 *         every `leaf` steps of the length, with the stride `leaf`); cotangents of the
 *         results of the loop that `live` names: of final carries, and of ys [length, t].
 *         step(carries, slices of xs, consts) -> carries', ys: the body without effects.
 *         out: the cotangents of the parameters of step that `wrt` names.
 *         Defined by the plain reverse: the loop run again from its first carries with all
 *         residuals kept, then the reverse scan. What was kept is only a shortcut, and a
 *         constant to every derivative: of the states, `slots` more, and what `leaf` steps
 *         save, are alive at a time. length is a constant or size argument number `size`;
 *         `whole`: trips is the length; with `grow` there are neither xs nor ys, and trips has
 *         no bound.
 *
 * root    in: nx start values x0 (floats), then consts.    out: nx values x, info.
 *         f(x, consts) -> residuals, of the types of x: x is where they are all zero.
 *         solve(x0, consts) -> x, info: what runs.
 *         tangent(b, x, consts) -> v, info with J v = b, where J is the derivative of f in x at
 *         x; cotangent the same with J^T, or NULL where J is symmetric.
 *
 * linear_solve  in: nb right-hand sides b (floats), then consts.    out: nb values x, info.
 *         matvec(v, consts) -> A v, linear in v, of the types of b.
 *         solve(b, consts) -> x, info: what runs. A x = b, or A^T x = b when `transposed`.
 *         tsolve(b, consts) -> x, info for the other of the two; NULL where A is symmetric.
 *
 *         info is i64, 0 where the solution was found; else x is the last iterate, and info says
 *         how many iterations were spent. It is a scalar, or has the leading axes, the batch's,
 *         that all values of x have. A derivative whose own equations were not solved is NaN. */
#ifndef HOP_HOPS_H
#define HOP_HOPS_H

#include "ir/rule.h"

/* Emit an operator; out[] receives its results. For transforms and capture. */
hop_status hop_emit_call(hop_build *b, const hop_graph *body, hop_sizes sargs,
                         const hop_val *in, hop_val *out);
/* The same with what `like` asks for besides its body: how a region is compiled stays with it
 * through every transform. NULL: a plain call. */
hop_status hop_emit_call_like(hop_build *b, const struct hop_attr_call *like,
                              const hop_graph *body, hop_sizes sargs, const hop_val *in,
                              hop_val *out);
hop_status hop_emit_cond(hop_build *b, const hop_graph *then, const hop_graph *else_,
                         hop_sizes sargs, hop_val pred, const hop_val *in, hop_val *out);

hop_status hop_emit_checkpoint(hop_build *b, const struct hop_attr_checkpoint *a, const hop_val *in,
                               hop_val *out);

/* The next of the engines that a call names, from *io_at on; its length, 0 = no more. */
size_t     hop_call_engine(const hop_node *n, size_t *io_at, const char **out_name);
/* May we compile the call ourselves: does it name no engine, or `hop` too? */
bool       hop_call_ours(const hop_node *n);
/* Is it a call whose body stays apart from what is around it? */
bool       hop_call_apart(const hop_node *n);

/* A cond or switch like n with other bodies, as many as n has; sel: its first operand. */
hop_status hop_emit_branches(hop_build *b, const hop_node *n, const hop_graph *const *body,
                             hop_sizes sargs, hop_val sel, const hop_val *in, hop_val *out);

typedef struct hop_while_args {
	const hop_graph *test, *body;
	hop_sizes        sargs;
	uint32_t         ncarry, nconst;
	int64_t          max_trips, slots;
	bool             lanes;
	int64_t          how;
	const hop_val   *carry, *konst;
	hop_range        trips;           /* known bounds of the tape symbol */
	hop_size        *out_cap;         /* NULL, or receives the size of the tapes: a symbol
	                                     is then bound even if there are no tapes */
} hop_while_args;
/* out: carries, trips, tapes. A tape symbol is made when one is needed. */
hop_status hop_emit_while(hop_build *b, const hop_while_args *w, hop_val *out);

typedef struct hop_scan_args {
	const hop_graph *body;
	hop_sizes        sargs;
	uint32_t         ncarry, nx, nconst;
	hop_size         length;
	bool             reverse, stops;
	bool             unordered;       /* a map: no carries, not counted, does not stop */
	int64_t          every, slots, unroll;
	hop_val          count;           /* HOP_ZERO = not counted */
	const hop_val   *carry, *x, *konst;
} hop_scan_args;
hop_status hop_emit_scan(hop_build *b, const hop_scan_args *s, hop_val *out);

/* A scan or a map, read. A map is a scan of no carries whose steps have no order. */
typedef struct hop_steps {
	const hop_graph *body;
	hop_sizes        sargs;
	hop_size         length;
	uint32_t         lead, nc, nx, nk, ny;    /* count, carries, xs, consts; ys */
	bool             reverse, stops, unordered;
	int64_t          every, slots, unroll;
} hop_steps;
/* False if the attributes ask for more operands than there are. */
bool      hop_steps_read(int op, const void *attr, uint32_t nin, hop_steps *out);
hop_steps hop_steps_of(const hop_node *n);

/* An associative_scan or a reduce, read. */
typedef struct hop_assoc {
	const hop_graph *combine;
	hop_sizes        sargs;
	hop_size         length;
	uint32_t         ninit, nx, nk;           /* inits, xs: the leaves; consts */
	bool             reverse, exclusive;
	bool             whole;                   /* a reduce: no prefix is wanted but the last */
} hop_assoc;
hop_assoc  hop_assoc_of(const hop_node *n);
/* in: inits, xs, consts as a says; out: one result a leaf. */
hop_status hop_emit_assoc(hop_build *b, const hop_assoc *a, const hop_val *in, hop_val *out);

/* ---- carry_names.c: for debuggers ---- */

/* The first n of the carries of a loop have these names; entries may be NULL. */
void hop_carry_names_set(hop_env *e, hop_loc loc, int op, bool reverse, uint32_t ncarry, uint32_t n,
                         const char *const *name);
/* [ncarry], entries may be NULL; NULL = nothing is known. */
const char *const *hop_carry_names(hop_env *e, const hop_node *n, int ncarry);

enum { HOP_EVERY_SQRT = -1 };        /* of a scan: near the square root of its length */

#endif
