/** Names of before, which mean what they meant. */
#ifndef HOP_OLD_H
#define HOP_OLD_H

#include "hop/trace.h"

#define hop_assert_(t, ...) hop_at_assert(t, __FILE__, __LINE__, __VA_ARGS__)
#define hop_at_array        hop_at_use
#define hop_at_return       hop_at_return_n
#define hop_at_dtype        hop_at_dtype_of
#define hop_at_dim          hop_at_dim_of
#define hop_at_size         hop_at_size_value
#define hop_at_narrow       hop_at_slice
#define hop_at_tree_zeros   hop_at_tree_zeros_like
#define hop_at_grad         hop_at_grad_at
#define hop_at_jvp          hop_at_jvp_at
#define hop_at_jac          hop_at_jac_at
#define hop_at_vmap         hop_at_vmap_at

#endif
