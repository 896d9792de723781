/* pieces.h -- programs as texts for NVRTC, and its cubins. Contrast hop_cuda_text, which is one and is
 * for readers. */
#ifndef HOP_CUDA_PIECES_H
#define HOP_CUDA_PIECES_H

#include "target/beside.h"
#include "target/cuda/cuda.h"

/* A program as at most `most` texts, which are opened: out has room for HOP_BESIDE. kernel[..].piece
 * says which one a kernel is in; constants that lists hand on are in the first. */
hop_status hop_cuda_pieces(hop_env *e, const hop_prog *p, const char *name, int most,
                           hop_cuda_kernel *kernel, hop_cuda_needs *needs, hop_buf *out, int *out_n);

/* Texts as cubins, by the env's hook; all of them or none. */
hop_status hop_cuda_cubins(hop_env *e, int n, const hop_buf *text, const char *arch, hop_bytes *out);
void       hop_cuda_cubins_free(hop_env *e, int n, hop_bytes *b);

#endif
