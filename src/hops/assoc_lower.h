/* assoc_lower.h -- what the two ways to lower associative_scan and reduce share. */
#ifndef HOP_ASSOC_LOWER_H
#define HOP_ASSOC_LOWER_H

#include "hops/hops.h"
#include "hops/loop_lower.h"

typedef struct hop_fold {
	const hop_node *n;
	hop_assoc       a;
	int             nx;
	hop_size        length;
	hop_carries     c;            /* now: what was combined so far */
	hop_view       *ys;           /* [nx] results of a scan */
	bool           *live;         /* [nx] wanted, or what is wanted needs it from step to step */
	bool           *total;        /* [nx] the same, where what several slices give is on the right */
} hop_fold;

/* One place where the combine stands: an instance of it, and where its results go. */
typedef struct hop_combine {
	hop_linst *in;
	hop_view  *dest;              /* [nx] */
} hop_combine;

/* Its operands: left are views; right is slice t of the operands, or views. */
typedef struct hop_combined {
	const hop_view *left, *right;
	const hop_ix   *t;
} hop_combined;

/* Outside of the loop that it will be in: what no step changes goes here. */
hop_status hop_combine_new(hop_lower *l, const hop_fold *s, const hop_combined *of,
                           const hop_view *dest, hop_combine *out);
/* In the loop: the combine of this, to there, and from there over left. */
hop_status hop_combine_step(hop_lower *l, const hop_fold *s, const hop_combine *q,
                            const hop_combined *of, const hop_view *dest);

/* assoc_blocks.c: combines of plain operations on scalars. Slices *from .. in the order of the
 * fold, as many as whole blocks have: they are moved over. */
bool       hop_fold_is_plain(const hop_fold *s);
hop_status hop_fold_blocks(hop_lower *l, const hop_fold *s, hop_size *from);

#endif
