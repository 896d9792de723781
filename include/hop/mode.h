/** Modes: how the calls behind a block's head are captured. They are decided then and gone from the
 * graph, but for the casts and stops that they put there.
 *
 *	HOP_AUTOCAST(t, HOP_bf16) {
 *		h = hop_relu(t, hop_linear(t, x, w1, b1));
 *		y = hop_linear(t, h, w2, b2);
 *	}
 *	HOP_NO_GRAD(t) {
 *		right = hop_mean_all(t, hop_cast(t, hop_eq(t, hop_argmax(t, y, 1), label), HOP_f32));
 *	}
 *
 * A mode is no scope: what is assigned inside is there behind it, without a list of variables. Modes
 * stand inside each other, the inner one decides; bodies that are captured inside inherit them. The
 * rules that a custom gradient is given have none of the modes around it. break, return and goto out
 * of one fail the trace, as out of every block, and the mode ends all the same; continue ends it. */
#ifndef HOP_MODE_H
#define HOP_MODE_H

#include "hop/block.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hop_mode_kind {
	/** Results of what is called inside are constants to every derivative taken outside, in
	 * forward and in reverse mode; a write changes contents only, and derivatives pass it as if it
	 * had not been. */
	HOP_MODE_NO_GRAD,
	HOP_MODE_ENABLE_GRAD,          /**< not so */
	/** Calls of PyTorch's lists (docs/modes.md) get their f32, bf16 and f16 operands as dtype, or as
	 * f32: those for its CPU, or those for its CUDA. f64 and integers stay. */
	HOP_MODE_AUTOCAST,
	HOP_MODE_AUTOCAST_CUDA,
	HOP_MODE_AUTOCAST_OFF,
	/** What holds for real numbers may be used for floats: docs/modes.md lists it. */
	HOP_MODE_FAST_MATH,
	HOP_MODE_FAST_MATH_OFF,
	/** What could give other bits another time is refused by name. On the CPU there is nothing. */
	HOP_MODE_DETERMINISTIC
};

#define HOP_NO_GRAD(t)               HOP_MODE_(t, HOP_MODE_NO_GRAD, HOP_f32)
#define HOP_ENABLE_GRAD(t)           HOP_MODE_(t, HOP_MODE_ENABLE_GRAD, HOP_f32)
#define HOP_AUTOCAST(t, dtype)       HOP_MODE_(t, HOP_MODE_AUTOCAST, dtype)
#define HOP_AUTOCAST_CUDA(t, dtype)  HOP_MODE_(t, HOP_MODE_AUTOCAST_CUDA, dtype)
#define HOP_AUTOCAST_OFF(t)          HOP_MODE_(t, HOP_MODE_AUTOCAST_OFF, HOP_f32)
#define HOP_FAST_MATH(t)             HOP_MODE_(t, HOP_MODE_FAST_MATH, HOP_f32)
#define HOP_FAST_MATH_OFF(t)         HOP_MODE_(t, HOP_MODE_FAST_MATH_OFF, HOP_f32)
#define HOP_DETERMINISTIC(t)         HOP_MODE_(t, HOP_MODE_DETERMINISTIC, HOP_f32)

/** The same for tools: from here to the pop in the same body. dtype: of autocast, bf16 or f16; what
 * it is for others does not matter. */
void hop_at_mode_push(hop_trace *t, const char *file, int line, enum hop_mode_kind kind,
                      hop_dtype dtype);
#define hop_mode_push(t, ...) hop_at_mode_push(t, __FILE__, __LINE__, __VA_ARGS__)
void hop_at_mode_pop(hop_trace *t, const char *file, int line);
#define hop_mode_pop(t) hop_at_mode_pop(t, __FILE__, __LINE__)
/** Does this mode hold here? The last of its kind around decides. */
bool hop_mode_holds(hop_trace *t, enum hop_mode_kind kind);

/* ---- what the macros call ---- */

typedef struct hop_at_mode {
	hop_trace *t;
	void      *m;                  /**< NULL = over */
	int        step;
} hop_at_mode;
hop_at_mode hop_mode_open(hop_trace *t, const char *file, int line, enum hop_mode_kind kind,
                          hop_dtype dtype);
bool hop_mode_step(hop_at_mode *m);
bool hop_mode_more(hop_at_mode *m);
void hop_mode_done(hop_at_mode *m);
void hop_mode_leave(hop_at_mode *m);           /**< at the end of its life, however that came */

#ifdef __cplusplus
}
struct hop_mode_guard : hop_at_mode {
	explicit hop_mode_guard(hop_at_mode m) : hop_at_mode(m) {}
	hop_mode_guard(const hop_mode_guard &) = delete;
	hop_mode_guard &operator=(const hop_mode_guard &) = delete;
	~hop_mode_guard() { hop_mode_leave(this); }
};
#define HOP_MODE_FOR_(open) for (hop_mode_guard HOP_B_(open); hop_mode_step(&HOP_B_); )
extern "C" {
#elif defined(__GNUC__)
#define HOP_MODE_FOR_(open) \
	for (hop_at_mode HOP_B_ __attribute__((cleanup(hop_mode_leave))) = open; \
	     hop_mode_step(&HOP_B_); )
#else                                      /* what leaves is found when the body around it ends */
#define HOP_MODE_FOR_(open) for (hop_at_mode HOP_B_ = open; hop_mode_step(&HOP_B_); )
#endif
#define HOP_MODE_(t, kind, dtype) \
	HOP_MODE_FOR_(hop_mode_open(t, __FILE__, __LINE__, kind, dtype)) \
	for (; hop_mode_more(&HOP_B_); hop_mode_done(&HOP_B_))

#ifdef __cplusplus
}
#endif

#endif
