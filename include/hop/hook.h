/** Hooks: what is done with the gradient of a value on its way back. docs/hooks.md says when they are
 * called and has an example of each use.
 *
 *	HOP_HOOK(t, h, g) {
 *		g = hop_clampf(t, g, -1, 1);
 *	}
 */
#ifndef HOP_HOOK_H
#define HOP_HOOK_H

#include "hop/block.h"
#include "hop/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** From now on, and for what has read v already, the gradient of v is what body makes of it: it takes
 * the sum over all readers and gives a gradient of the same type, or a number. Values it uses from
 * outside are those of the forward pass. v is an input, a result of anything, a carry inside a loop:
 * its contents as they are now; what is written to it later is another value. Several hooks of one
 * value are called in the order in which they were registered. A value from outside the body in which
 * this stands gets its hook outside, once. Forward mode and eager traces do not call it. */
void hop_at_hook(hop_trace *t, const char *file, int line, hop_value v, hop_body *body, void *user);
#define hop_hook(t, ...) hop_at_hook(t, __FILE__, __LINE__, __VA_ARGS__)

/** HOP_HOOK(t, v, g) { }: the same as a block. It declares g, the gradient, which it may assign. */
#define HOP_HOOK(t, v, g) \
	HOP_BLOCK_(hop_block_hook(t, __FILE__, __LINE__, v)) \
	for (hop_value g = HOP_NONE; hop_block_more(&HOP_B_) && hop_block_gradient(&HOP_B_, &g); \
	     hop_block_done(&HOP_B_))

/** Directly in a hook: hop_grad and hop_grad_at give v too, a tensor of floats, as they give what
 * hop_retain_grad asks for (transform.h): behind the gradients, in the order of the names, as the
 * result grad.name. In the body of a scan or map it is stacked by step; where the hook is not called it
 * is 0. */
void hop_at_tell(hop_trace *t, const char *file, int line, hop_value v, const char *name);
#define hop_tell(t, ...) hop_at_tell(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- hooks that are often wanted ---- */

/** The gradient of v no longer than norm, the square root of the sum of its squares; no element of it
 * outside -most .. most. A gradient that is NaN stays so. */
void hop_at_clip_grad_norm(hop_trace *t, const char *file, int line, hop_value v, double norm);
#define hop_clip_grad_norm(t, ...) hop_at_clip_grad_norm(t, __FILE__, __LINE__, __VA_ARGS__)
void hop_at_clip_grad_value(hop_trace *t, const char *file, int line, hop_value v, double most);
#define hop_clip_grad_value(t, ...) hop_at_clip_grad_value(t, __FILE__, __LINE__, __VA_ARGS__)
/** The gradient of v times a number: -1 reverses it, 0 stops it. */
void hop_at_scale_grad(hop_trace *t, const char *file, int line, hop_value v, double by);
#define hop_scale_grad(t, ...) hop_at_scale_grad(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- what the macro calls ---- */

hop_at_block hop_block_hook(hop_trace *t, const char *file, int line, hop_value v);
bool hop_block_gradient(hop_at_block *b, hop_value *g);

#ifdef __cplusplus
}
#endif

#endif
