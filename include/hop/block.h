/** Blocks: branches, loops and regions written as C writes them. A block lists the variables that
 * it changes; what else it reads is captured, and a value made inside is seen outside only through
 * them.
 *
 *	hop_value x = a, r = hop_sub(t, hop_mul(t, x, x), a);
 *	HOP_WHILE(t, hop_gt(t, hop_abs(t, r), hop_f(t, 1e-10)), x, r) {
 *		x = hop_sub(t, x, hop_div(t, r, hop_mulf(t, x, 2)));
 *		r = hop_sub(t, hop_mul(t, x, x), a);
 *	}
 *
 * While capturing, the statements inside run once (an arm each for HOP_IF and HOP_SWITCH);
 * eagerly, as often as C would run them, and those of a loop without trips once, captured, for
 * what they stack and count. t is the same pointer inside and outside. Whatever leaves
 * a block other than by its end (break, return, goto) fails the trace; continue ends it. */
#ifndef HOP_BLOCK_H
#define HOP_BLOCK_H

#include "hop/control.h"
#include "hop/tree.h"
#include "hop/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the blocks; up to 16 variables each, and none is fine ----
 *
 * HOP_WHILE(t, test, vars..) { }      while test, a bool scalar, holds; it may not assign them
 * HOP_IF(t, pred, vars..) { } else { }     no else: variables stay
 * HOP_SWITCH(t, index, n, vars..) { case 0: ..; break; default: ..; }     arms 0 .. n-1, clamped
 * HOP_FOR(t, i, n, vars..) { }        i from 0 to n-1, a value; n an integer or a hop_dim
 * HOP_FOR_DOWN(t, i, n, vars..) { }   i from n-1 to 0
 * HOP_MAP(t, i, n) { }                the same in no order: nothing outside may be written
 * HOP_REGION(t, name, vars..) { }     a graph of its own: equal ones are compiled once
 * HOP_REGION_WITH(t, name, opts, vars..) { }     the same with a hop_region_opts
 * HOP_GRAD(t, loss, 2, w, b, gw, gb) { loss = ..; }     afterwards gw, gb are its gradients
 *
 * The same for a struct of values with its tree (tree.h), in place of the variables:
 * HOP_WHILE_N(t, test, tree, &s), HOP_IF_N, HOP_SWITCH_N, HOP_FOR_N, HOP_FOR_DOWN_N,
 * HOP_REGION_N, HOP_REGION_WITH_N(t, name, opts, tree, &s), and HOP_GRAD_N(t, loss, tree, &w, &gw).
 *
 * A variable that a loop assigns and reads in the next trip must be listed: HOP_CHECK=blocks
 * captures each loop twice and refuses it if that makes a difference. */

#define HOP_WHILE(t, ...) \
	HOP_BLOCK_(hop_block_while(t, __FILE__, __LINE__, #__VA_ARGS__, HOP_LIST_(__VA_ARGS__))) \
	for (; hop_block_more(&HOP_B_) && \
	       hop_block_test(&HOP_B_, HOP_HEAD_(__VA_ARGS__, 0)); hop_block_done(&HOP_B_))
#define HOP_WHILE_N(t, test, tree, p) \
	HOP_BLOCK_(hop_block_while(t, __FILE__, __LINE__, NULL, HOP_TREE_(tree, p))) \
	for (; hop_block_more(&HOP_B_) && hop_block_test(&HOP_B_, test); hop_block_done(&HOP_B_))

#define HOP_IF(t, ...) \
	HOP_BLOCK_(hop_block_if(t, __FILE__, __LINE__, HOP_HEAD_(__VA_ARGS__, 0), #__VA_ARGS__, \
	                        HOP_LIST_(__VA_ARGS__))) \
	for (; hop_block_more(&HOP_B_); hop_block_done(&HOP_B_)) \
		if (!hop_block_arm(&HOP_B_))
#define HOP_IF_N(t, pred, tree, p) \
	HOP_BLOCK_(hop_block_if(t, __FILE__, __LINE__, pred, NULL, HOP_TREE_(tree, p))) \
	for (; hop_block_more(&HOP_B_); hop_block_done(&HOP_B_)) \
		if (!hop_block_arm(&HOP_B_))

#define HOP_SWITCH(t, index, ...) \
	HOP_BLOCK_(hop_block_switch(t, __FILE__, __LINE__, index, HOP_HEAD_(__VA_ARGS__, 0), \
	                            #__VA_ARGS__, HOP_LIST_(__VA_ARGS__))) \
	for (; hop_block_more(&HOP_B_); hop_block_done(&HOP_B_)) \
		switch (hop_block_arm(&HOP_B_))
#define HOP_SWITCH_N(t, index, n, tree, p) \
	HOP_BLOCK_(hop_block_switch(t, __FILE__, __LINE__, index, n, NULL, HOP_TREE_(tree, p))) \
	for (; hop_block_more(&HOP_B_); hop_block_done(&HOP_B_)) \
		switch (hop_block_arm(&HOP_B_))

#define HOP_FOR(t, i, ...)      HOP_FOR_(t, i, HOP_UP, __VA_ARGS__)
#define HOP_FOR_DOWN(t, i, ...) HOP_FOR_(t, i, HOP_DOWN, __VA_ARGS__)
#define HOP_FOR_(t, i, way, ...) \
	HOP_BLOCK_(hop_block_for(t, __FILE__, __LINE__, way, HOP_LENGTH_(HOP_HEAD_(__VA_ARGS__, 0)), \
	                         #__VA_ARGS__, HOP_LIST_(__VA_ARGS__))) \
	for (hop_value i = HOP_NONE; hop_block_more(&HOP_B_) && hop_block_index(&HOP_B_, &i); \
	     hop_block_done(&HOP_B_))
#define HOP_FOR_N(t, i, n, tree, p)      HOP_FOR_N_(t, i, HOP_UP, n, tree, p)
#define HOP_FOR_DOWN_N(t, i, n, tree, p) HOP_FOR_N_(t, i, HOP_DOWN, n, tree, p)
#define HOP_FOR_N_(t, i, way, n, tree, p) \
	HOP_BLOCK_(hop_block_for(t, __FILE__, __LINE__, way, HOP_LENGTH_(n), NULL, \
	                         HOP_TREE_(tree, p))) \
	for (hop_value i = HOP_NONE; hop_block_more(&HOP_B_) && hop_block_index(&HOP_B_, &i); \
	     hop_block_done(&HOP_B_))
#define HOP_MAP(t, i, n)        HOP_FOR_(t, i, HOP_UNORDERED, n)

#define HOP_REGION(t, ...) \
	HOP_BLOCK_(hop_block_region(t, __FILE__, __LINE__, HOP_HEAD_(__VA_ARGS__, 0), NULL, \
	                            #__VA_ARGS__, HOP_LIST_(__VA_ARGS__))) \
	for (; hop_block_more(&HOP_B_); hop_block_done(&HOP_B_))
#define HOP_REGION_N(t, name, tree, p) \
	HOP_BLOCK_(hop_block_region(t, __FILE__, __LINE__, name, NULL, NULL, HOP_TREE_(tree, p))) \
	for (; hop_block_more(&HOP_B_); hop_block_done(&HOP_B_))
#define HOP_REGION_WITH(t, name, ...) \
	HOP_BLOCK_(hop_block_region(t, __FILE__, __LINE__, name, HOP_HEAD_(__VA_ARGS__, 0), \
	                            #__VA_ARGS__, HOP_LIST_(__VA_ARGS__))) \
	for (; hop_block_more(&HOP_B_); hop_block_done(&HOP_B_))
#define HOP_REGION_WITH_N(t, name, opts, tree, p) \
	HOP_BLOCK_(hop_block_region(t, __FILE__, __LINE__, name, opts, NULL, HOP_TREE_(tree, p))) \
	for (; hop_block_more(&HOP_B_); hop_block_done(&HOP_B_))

#define HOP_GRAD(t, loss, ...) \
	HOP_BLOCK_(hop_block_grad(t, __FILE__, __LINE__, HOP_VAR_(loss), HOP_HEAD_(__VA_ARGS__, 0), \
	                          #__VA_ARGS__, HOP_LIST_(__VA_ARGS__))) \
	for (; hop_block_more(&HOP_B_); hop_block_done(&HOP_B_))
#define HOP_GRAD_N(t, loss, tree, w, g) \
	HOP_BLOCK_(hop_block_grad(t, __FILE__, __LINE__, HOP_VAR_(loss), -1, NULL, \
	                          HOP_TREE_(tree, w), (hop_value *)(void *)(g))) \
	for (; hop_block_more(&HOP_B_); hop_block_done(&HOP_B_))

/* ---- inside blocks ---- */

/** Element i of xs along axis 0. For the i of an open HOP_FOR or HOP_MAP and xs from outside, which
 * nothing inside writes, xs is what the loop goes over; otherwise i is any whole number, and it is
 * clamped. */
hop_value hop_at_take(hop_trace *t, const char *file, int line, hop_value xs, hop_value i);
#define hop_take(t, ...) hop_at_take(t, __FILE__, __LINE__, __VA_ARGS__)
/** Directly in a loop, once a variable: after the block *ys is the stack of all v. Of a HOP_WHILE it
 * has as many rows as hop_bound says, zero where no trip came. */
void hop_at_stack_to(hop_trace *t, const char *file, int line, hop_value *ys, hop_value v);
#define hop_stack(t, ys, v) hop_at_stack_to(t, __FILE__, __LINE__, ys, v)
/** Directly in HOP_GRAD: after the block *to is v, which is not differentiated. */
void hop_at_keep(hop_trace *t, const char *file, int line, hop_value *to, hop_value v);
#define hop_keep(t, to, v) hop_at_keep(t, __FILE__, __LINE__, to, v)
/** Directly in HOP_WHILE: no more than n trips. */
void hop_at_bound(hop_trace *t, const char *file, int line, int64_t n);
#define hop_bound(t, ...) hop_at_bound(t, __FILE__, __LINE__, __VA_ARGS__)
/** Directly in HOP_WHILE: how it is run when it is batched and its lanes end at different trips. */
void hop_at_lanes(hop_trace *t, const char *file, int line, enum hop_lanes_how how);
#define hop_lanes(t, ...) hop_at_lanes(t, __FILE__, __LINE__, __VA_ARGS__)
/** Directly in HOP_IF or HOP_SWITCH, in any arm: batched, each arm runs on its own lanes only. */
void hop_at_partition(hop_trace *t, const char *file, int line);
#define hop_partition(t) hop_at_partition(t, __FILE__, __LINE__)
/** Directly in HOP_FOR: reverse mode keeps each k-th carry; -1: about as many as it leaves out. */
void hop_at_every(hop_trace *t, const char *file, int line, int k);
#define hop_every(t, ...) hop_at_every(t, __FILE__, __LINE__, __VA_ARGS__)
/** Directly in HOP_WHILE or HOP_FOR: reverse mode keeps n states and what n trips need, however long
 * the loop runs, and runs the other trips again; not together with hop_every. */
void hop_at_slots(hop_trace *t, const char *file, int line, int n);
#define hop_slots(t, ...) hop_at_slots(t, __FILE__, __LINE__, __VA_ARGS__)
/** Directly in HOP_FOR: one step of the loop runs k steps of the block. */
void hop_at_unroll(hop_trace *t, const char *file, int line, int k);
#define hop_unroll(t, ...) hop_at_unroll(t, __FILE__, __LINE__, __VA_ARGS__)
/** Directly in HOP_MAP: k steps at a time, batched. */
void hop_at_chunk(hop_trace *t, const char *file, int line, int k);
#define hop_chunk(t, ...) hop_at_chunk(t, __FILE__, __LINE__, __VA_ARGS__)
/** Directly in a loop: after the block *n is how often it ran, an i64 scalar. */
void hop_at_trips(hop_trace *t, const char *file, int line, hop_value *n);
#define hop_trips(t, ...) hop_at_trips(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- what the macros call ---- */

typedef struct hop_at_block {
	void *s;
} hop_at_block;
enum hop_way { HOP_UP, HOP_DOWN, HOP_UNORDERED };

/** names: the text of the macro's arguments, of which the first is no variable. Then n, and n
 * pointers to variables; or -1, a tree and a pointer to its first value. */
hop_at_block hop_block_while(hop_trace *t, const char *file, int line, const char *names,
                             int n, ...);
hop_at_block hop_block_if(hop_trace *t, const char *file, int line, hop_value pred,
                          const char *names, int n, ...);
hop_at_block hop_block_switch(hop_trace *t, const char *file, int line, hop_value index, int narm,
                              const char *names, int n, ...);
hop_at_block hop_block_for(hop_trace *t, const char *file, int line, enum hop_way way,
                           hop_dim length, const char *names, int n, ...);
hop_at_block hop_block_region(hop_trace *t, const char *file, int line, const char *name,
                              const hop_region_opts *opts, const char *names, int n, ...);
hop_at_block hop_block_grad(hop_trace *t, const char *file, int line, hop_value *loss, int nwrt,
                            const char *names, int n, ...);
bool hop_block_step(hop_at_block *b);
bool hop_block_more(hop_at_block *b);
bool hop_block_test(hop_at_block *b, hop_value test);
bool hop_block_index(hop_at_block *b, hop_value *i);
int  hop_block_arm(hop_at_block *b);
void hop_block_done(hop_at_block *b);
void hop_block_leave(hop_at_block *b);        /**< at the end of its life, however that came */

static inline hop_value *hop_listed(hop_value *v)
{
	return v;
}

#ifdef __cplusplus
}
struct hop_block_guard : hop_at_block {
	explicit hop_block_guard(hop_at_block b) : hop_at_block(b) {}
	hop_block_guard(const hop_block_guard &) = delete;
	hop_block_guard &operator=(const hop_block_guard &) = delete;
	~hop_block_guard() { hop_block_leave(this); }
};
inline hop_dim hop_length(hop_dim n) { return n; }
inline hop_dim hop_length(int64_t n) { return hop_n(n); }
inline hop_dim hop_length(int n) { return hop_n(n); }
#define HOP_LENGTH_(n) hop_length(n)
#define HOP_BLOCK_(open) for (hop_block_guard HOP_B_(open); hop_block_step(&HOP_B_); )
extern "C" {
#else
static inline hop_dim hop_length_dim(hop_dim n)
{
	return n;
}
#define HOP_LENGTH_(n) _Generic((n), hop_dim: hop_length_dim, default: hop_n)(n)
#if defined(__GNUC__)
#define HOP_BLOCK_(open) \
	for (hop_at_block HOP_B_ __attribute__((cleanup(hop_block_leave))) = open; \
	     hop_block_step(&HOP_B_); )
#else                                      /* what leaves is found when the body around it ends */
#define HOP_BLOCK_(open) for (hop_at_block HOP_B_ = open; hop_block_step(&HOP_B_); )
#endif
#endif

#define HOP_B_                HOP_CAT_(hop_block_at_, __LINE__)
#define HOP_CAT_(a, b)        HOP_CAT__(a, b)
#define HOP_CAT__(a, b)       a##b
#define HOP_HEAD_(h, ...)     h
#define HOP_VAR_(v)           hop_listed(&(v))
#define HOP_TREE_(tree, p)    -1, &(tree), (hop_value *)(void *)(p)
/** How many variables follow the head; and that number with their addresses. */
#define HOP_COUNT_(...) \
	HOP_COUNT__(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, )
#define HOP_COUNT__(h, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, v16, n, \
                    ...) n
#define HOP_LIST_(...)        HOP_CAT_(HOP_LIST, HOP_CAT_(HOP_COUNT_(__VA_ARGS__), _))(__VA_ARGS__)
#define HOP_LIST0_(h) 0
#define HOP_LIST1_(h, v1) 1, HOP_VAR_(v1)
#define HOP_LIST2_(h, v1, v2) 2, HOP_VAR_(v1), HOP_VAR_(v2)
#define HOP_LIST3_(h, v1, v2, v3) 3, HOP_VAR_(v1), HOP_VAR_(v2), HOP_VAR_(v3)
#define HOP_LIST4_(h, v1, v2, v3, v4) 4, HOP_VAR_(v1), HOP_VAR_(v2), HOP_VAR_(v3), HOP_VAR_(v4)
#define HOP_LIST5_(h, v1, v2, v3, v4, v5) \
	5, HOP_VAR_(v1), HOP_VAR_(v2), HOP_VAR_(v3), HOP_VAR_(v4), HOP_VAR_(v5)
#define HOP_LIST6_(h, v1, v2, v3, v4, v5, v6) \
	6, HOP_VAR_(v1), HOP_VAR_(v2), HOP_VAR_(v3), HOP_VAR_(v4), HOP_VAR_(v5), HOP_VAR_(v6)
#define HOP_LIST7_(h, v1, v2, v3, v4, v5, v6, v7) \
	7, HOP_VAR_(v1), HOP_VAR_(v2), HOP_VAR_(v3), HOP_VAR_(v4), HOP_VAR_(v5), HOP_VAR_(v6), \
	HOP_VAR_(v7)
#define HOP_LIST8_(h, v1, v2, v3, v4, v5, v6, v7, v8) \
	8, HOP_VAR_(v1), HOP_VAR_(v2), HOP_VAR_(v3), HOP_VAR_(v4), HOP_VAR_(v5), HOP_VAR_(v6), \
	HOP_VAR_(v7), HOP_VAR_(v8)
#define HOP_LIST9_(h, v1, v2, v3, v4, v5, v6, v7, v8, v9) \
	9, HOP_VAR_(v1), HOP_VAR_(v2), HOP_VAR_(v3), HOP_VAR_(v4), HOP_VAR_(v5), HOP_VAR_(v6), \
	HOP_VAR_(v7), HOP_VAR_(v8), HOP_VAR_(v9)
#define HOP_LIST10_(h, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10) \
	10, HOP_VAR_(v1), HOP_VAR_(v2), HOP_VAR_(v3), HOP_VAR_(v4), HOP_VAR_(v5), \
	HOP_VAR_(v6), HOP_VAR_(v7), HOP_VAR_(v8), HOP_VAR_(v9), HOP_VAR_(v10)
#define HOP_LIST11_(h, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11) \
	11, HOP_VAR_(v1), HOP_VAR_(v2), HOP_VAR_(v3), HOP_VAR_(v4), HOP_VAR_(v5), \
	HOP_VAR_(v6), HOP_VAR_(v7), HOP_VAR_(v8), HOP_VAR_(v9), HOP_VAR_(v10), HOP_VAR_(v11)
#define HOP_LIST12_(h, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12) \
	12, HOP_VAR_(v1), HOP_VAR_(v2), HOP_VAR_(v3), HOP_VAR_(v4), HOP_VAR_(v5), \
	HOP_VAR_(v6), HOP_VAR_(v7), HOP_VAR_(v8), HOP_VAR_(v9), HOP_VAR_(v10), HOP_VAR_(v11), \
	HOP_VAR_(v12)
#define HOP_LIST13_(h, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13) \
	13, HOP_VAR_(v1), HOP_VAR_(v2), HOP_VAR_(v3), HOP_VAR_(v4), HOP_VAR_(v5), \
	HOP_VAR_(v6), HOP_VAR_(v7), HOP_VAR_(v8), HOP_VAR_(v9), HOP_VAR_(v10), HOP_VAR_(v11), \
	HOP_VAR_(v12), HOP_VAR_(v13)
#define HOP_LIST14_(h, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14) \
	14, HOP_VAR_(v1), HOP_VAR_(v2), HOP_VAR_(v3), HOP_VAR_(v4), HOP_VAR_(v5), \
	HOP_VAR_(v6), HOP_VAR_(v7), HOP_VAR_(v8), HOP_VAR_(v9), HOP_VAR_(v10), HOP_VAR_(v11), \
	HOP_VAR_(v12), HOP_VAR_(v13), HOP_VAR_(v14)
#define HOP_LIST15_(h, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15) \
	15, HOP_VAR_(v1), HOP_VAR_(v2), HOP_VAR_(v3), HOP_VAR_(v4), HOP_VAR_(v5), \
	HOP_VAR_(v6), HOP_VAR_(v7), HOP_VAR_(v8), HOP_VAR_(v9), HOP_VAR_(v10), HOP_VAR_(v11), \
	HOP_VAR_(v12), HOP_VAR_(v13), HOP_VAR_(v14), HOP_VAR_(v15)
#define HOP_LIST16_(h, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, \
	v16) \
	16, HOP_VAR_(v1), HOP_VAR_(v2), HOP_VAR_(v3), HOP_VAR_(v4), HOP_VAR_(v5), \
	HOP_VAR_(v6), HOP_VAR_(v7), HOP_VAR_(v8), HOP_VAR_(v9), HOP_VAR_(v10), HOP_VAR_(v11), \
	HOP_VAR_(v12), HOP_VAR_(v13), HOP_VAR_(v14), HOP_VAR_(v15), HOP_VAR_(v16)

#ifdef __cplusplus
}
#endif

#endif
