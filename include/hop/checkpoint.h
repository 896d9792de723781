/** Checkpoints: what a reverse pass keeps from the forward pass, and what it computes again
 * (docs/checkpoint.md). */
#ifndef HOP_CHECKPOINT_H
#define HOP_CHECKPOINT_H

#include "hop/block.h"
#include "hop/control.h"
#include "hop/fn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What becomes of a value that a reverse pass needs. must: whatever else it says; prefer: unless a
 * budget below 1 asks for something else. Outside of checkpoints, too. */
typedef enum hop_saving {
	HOP_SAVING_FREE,               /**< nothing is said */
	HOP_MUST_SAVE,
	HOP_PREFER_SAVE,
	HOP_MUST_RECOMPUTE,
	HOP_PREFER_RECOMPUTE
} hop_saving;

/** v, with a name by which policies and reports call it. Go on with what this returns. It costs
 * nothing. */
hop_value hop_at_name(hop_trace *t, const char *file, int line, hop_value v, const char *name,
                      hop_saving how);
#define hop_name(t, v, name) hop_at_name(t, __FILE__, __LINE__, v, name, HOP_SAVING_FREE)
/** The same, and what becomes of it; name may be NULL. */
#define hop_name_as(t, ...) hop_at_name(t, __FILE__, __LINE__, __VA_ARGS__)

/** v; where a reverse pass saves it, it saves what pack(v) returns instead, any number of values, and
 * reads unpack(those), which has the type of v. Each runs once where v is saved, pack in the forward
 * half, unpack in the backward half, and not at all where it is not. pack may use values from outside,
 * unpack none but what pack returned. */
hop_value hop_at_pack(hop_trace *t, const char *file, int line, hop_value v, hop_body *pack,
                      hop_body *unpack, void *user);
#define hop_pack(t, ...) hop_at_pack(t, __FILE__, __LINE__, __VA_ARGS__)

/** A value of a checkpoint's body, as its policy is asked about it. */
typedef struct hop_save_query {
	const char    *op;             /**< "dot", "scan": what made it (docs/ops.md) */
	const char    *name;           /**< by hop_name; or NULL */
	int            index;          /**< counts the calls of the policy for one body, from 0 */
	hop_dtype      dtype;          /**< of the first result of the op */
	int            rank;
	const int64_t *dim;            /**< [rank]; -1 = not known when capturing */
	int64_t        bytes;          /**< of all its results; -1 = not known when capturing */
	hop_saving     how;            /**< what names and lists say */
} hop_save_query;
/** Asked once for every op of the body that depends on what comes in, in an order that depends on
 * what the body computes alone. The answer becomes a part of the graph; HOP_SAVING_FREE: as names and
 * lists say. */
typedef hop_saving hop_save_policy(void *user, const hop_save_query *q);

/** Lists have commas between their words, each the name of an op ("dot"), a class ("heavy": products
 * and solvers, "reductions", "elementwise", "random", "operators": loops, branches, regions, "all"),
 * or a name behind a colon (":attn"). A name says more than an op, an op more than a class. A class
 * saves no views: what they show is saved. */
typedef struct hop_checkpoint_opts {
	size_t           size;         /**< sizeof in the caller's build; grows at the end only */
	const char      *name;         /**< of the region; or NULL */
	const char      *must_save, *prefer_save, *must_recompute, *prefer_recompute; /**< lists, or NULL */
	hop_save_policy *policy;       /**< or NULL */
	void            *policy_user;
	double           budget;       /**< 0: save the inputs and what is to be saved; up to 1: also what is
	                                * most worth it, in that share of what 1 would save */
	hop_body        *pack, *unpack; /**< of every float that is to be saved, as in hop_pack; or NULL.
	                                * Neither may use values from outside */
	void            *pack_user;
} hop_checkpoint_opts;
#ifndef __cplusplus
#define HOP_CHECKPOINT_OPTS(...) \
	(&(hop_checkpoint_opts){ .size = sizeof(hop_checkpoint_opts), __VA_ARGS__ })
#endif

/** A region whose inside a reverse pass computes again: only what comes in is kept, and what the policy
 * says. Effects happen once, random numbers are the same. opts NULL: nothing else is kept. In blocks:
 * HOP_CHECKPOINT. */
int hop_at_checkpoint(hop_trace *t, const char *file, int line, hop_body *body, void *user,
                      const hop_checkpoint_opts *opts, int nin, const hop_value *in, int cap,
                      hop_value *out);
#define hop_checkpoint(t, ...) hop_at_checkpoint(t, __FILE__, __LINE__, __VA_ARGS__)

/** HOP_CHECKPOINT(t, opts, vars..) { }     HOP_CHECKPOINT_N(t, opts, tree, &s) { } */
#define HOP_CHECKPOINT(t, ...) \
	HOP_BLOCK_(hop_block_checkpoint(t, __FILE__, __LINE__, HOP_HEAD_(__VA_ARGS__, 0), \
	                                #__VA_ARGS__, HOP_LIST_(__VA_ARGS__))) \
	for (; hop_block_more(&HOP_B_); hop_block_done(&HOP_B_))
#define HOP_CHECKPOINT_N(t, opts, tree, p) \
	HOP_BLOCK_(hop_block_checkpoint(t, __FILE__, __LINE__, opts, NULL, HOP_TREE_(tree, p))) \
	for (; hop_block_more(&HOP_B_); hop_block_done(&HOP_B_))
hop_at_block hop_block_checkpoint(hop_trace *t, const char *file, int line,
                                  const hop_checkpoint_opts *opts, const char *names, int n, ...);

/* ---- what a split saves, before it runs ---- */

/** One value that crosses from the forward to the backward half, or one that is computed again. */
typedef struct hop_saved_value {
	const char *name;              /**< by hop_name; or NULL */
	const char *op;                /**< what made it; "input" */
	const char *file;              /**< where; or NULL */
	int         line;
	const char *type;              /**< "f32[64, 128]", as it is, packed or not */
	int64_t     bytes;             /**< that cross, or that were not saved; unknown sizes are guessed */
	bool        saved;             /**< false: computed again */
	bool        packed;
	double      work;              /**< operations that computing it again takes */
} hop_saved_value;

typedef struct hop_saved {
	size_t  size;                  /**< set by the caller to sizeof, grows at the end only */
	int     nsaved, nagain;        /**< values that cross, and that are computed again */
	const hop_saved_value *value;  /**< [nsaved + nagain], those that cross first */
	int64_t bytes;                 /**< that the results of the forward half have more than those of the
	                                * function: what crosses and is not there anyway */
	bool    guessed;               /**< some sizes are not known */
	double  work;                  /**< operations of both halves */
	double  work_added;            /**< more than without checkpoints and budget */
	const char *text;              /**< the same in words, with what happens inside operators */
} hop_saved;

/** What hop_split(f, nwrt, wrt, budget) saves and computes again. *out is filled in; hop_saved_free
 * gives its memory back. */
HOP_MUST_USE hop_status hop_saved_report(hop_fn *f, int nwrt, const int *wrt, double budget,
                                         hop_saved *out);
void hop_saved_free(hop_saved *r);

#ifdef __cplusplus
}
#endif

#endif
